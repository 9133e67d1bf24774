// The sizes of what a tile declares, bytes.
kernel FCL_TILE_GROUP void test_sizes(global int *sizes)
{
    sizes[0] = sizeof(fcl_left);
    sizes[1] = sizeof(fcl_tile);
    sizes[2] = sizeof(fcl_scores);
    sizes[3] = sizeof(fcl_out);
    sizes[4] = sizeof(fcl_softmax);
    sizes[5] = sizeof(fcl_rows);
}
