// The work-items of one work-group of an emulated NVIDIA GPU, one after the other on a stack of
// their own: whoever needs others waits until they have come.
#ifndef FCL_TESTS_EMULATED_ITEMS_H
#define FCL_TESTS_EMULATED_ITEMS_H

#include <stddef.h>
#include <stdint.h>

#define WARP 32
#define ITEMS_LIMIT 1024

// Runs `entry(arguments)` as each of `items` items of work-group `group`. Returns NULL, or what
// went wrong: items that wait for others that never come, local memory that does not suffice, or an
// address outside of it. `early`: what may arrive at any time arrives at once, else as late as it
// may.
const char *items_run(void (*entry)(void **arguments), void **arguments, size_t items, size_t group,
                      size_t groups, size_t local_limit, int early);

// ---- for instructions (warp.c, hopper.c)

// Those who meet: a warp, the group. `generation` counts complete meetings.
struct circle {
    size_t members, come;
    unsigned generation;
};

size_t item_number(void); // of the item that runs, in its group
int items_early(void);
void item_fail(const char *what); // ends the launch
void item_progress(void);         // others may get on by what this one has done

// 1 for the member who comes last, and does what is to be done before circle_part lets all go on.
int circle_meet(struct circle *circle, unsigned *generation);
void circle_part(struct circle *circle, int last, unsigned generation);

// Comes without waiting.
void circle_come(struct circle *circle);

// Lets every other item go on once.
void item_pause(void);

// Waits until `ready(what)`.
void item_wait(int (*ready)(void *what), void *what);

// Bytes of local memory by their address in it.
unsigned char *local_at(uint32_t address, size_t bytes);

// Before a group runs; and when none of its items gets on: whether something has happened that they
// may wait for.
void warps_begin(size_t items);
void hopper_begin(size_t items);
int hopper_stalled(void);

#endif
