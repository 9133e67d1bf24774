// Building the tree of an expression.
#include "expression_tree.h"

#include <stdlib.h>
#include <string.h>

uint32_t fcl_tree_fail_at(struct fcl_parser *p, const struct fcl_token *token, const char *allowed)
{
    fcl_scan_fail(&p->scan, token->at, token->length, allowed);
    return FCL_NO_NODE;
}

uint32_t fcl_tree_fail(struct fcl_parser *p, const char *allowed)
{
    return fcl_tree_fail_at(p, &p->scan.token, allowed);
}

static uint32_t fail_node(struct fcl_parser *p, uint32_t node, const char *allowed)
{
    const size_t at = p->out->nodes[node].at;
    const size_t word = strspn(p->out->text + at, FCL_WORD_CHARACTERS);
    fcl_scan_fail(&p->scan, at, word > 0 ? word : 1, allowed);
    return FCL_NO_NODE;
}

uint32_t fcl_tree_add(struct fcl_parser *p, enum fcl_node_kind kind, int code, size_t at)
{
    fcl_expression *e = p->out;
    if (p->scan.status != FCL_OK)
        return FCL_NO_NODE;
    if (e->node_count == e->node_capacity) {
        const uint32_t capacity = e->node_capacity > 0 ? 2 * e->node_capacity : 16;
        struct fcl_node *nodes = realloc(e->nodes, capacity * sizeof *nodes);
        if (nodes == NULL) {
            p->scan.status =
                fcl_fail(p->scan.reason, p->scan.size, FCL_OUT_OF_MEMORY, "memory is out");
            return FCL_NO_NODE;
        }
        e->nodes = nodes;
        e->node_capacity = capacity;
    }
    e->nodes[e->node_count] = (struct fcl_node){.kind = (unsigned char)kind,
                                                .code = (unsigned char)code,
                                                .at = (uint32_t)at,
                                                .child = FCL_NO_NODE,
                                                .last = FCL_NO_NODE,
                                                .next = FCL_NO_NODE};
    return e->node_count++;
}

void fcl_tree_add_child(struct fcl_parser *p, uint32_t parent, uint32_t child)
{
    if (parent == FCL_NO_NODE || child == FCL_NO_NODE)
        return;
    struct fcl_node *nodes = p->out->nodes;
    const uint32_t last = nodes[parent].last;
    *(last == FCL_NO_NODE ? &nodes[parent].child : &nodes[last].next) = child;
    nodes[parent].last = child;
    if (nodes[parent].depth <= nodes[child].depth)
        nodes[parent].depth = (unsigned char)(nodes[child].depth + 1);
    if (nodes[parent].depth > FCL_EXPRESSION_DEPTH)
        fail_node(p, parent, "at most 100 levels of nesting are allowed");
}

uint32_t fcl_tree_add_parent(struct fcl_parser *p, enum fcl_node_kind kind, int code, size_t at,
                             uint32_t child)
{
    const uint32_t parent = fcl_tree_add(p, kind, code, at);
    fcl_tree_add_child(p, parent, child);
    return parent;
}

uint32_t fcl_tree_value(struct fcl_parser *p, uint32_t node)
{
    if (node != FCL_NO_NODE && fcl_node_is_list(&p->out->nodes[node]))
        return fail_node(p, node, "a list stands where one value is needed");
    return node;
}

uint32_t fcl_tree_list(struct fcl_parser *p, uint32_t node)
{
    if (node != FCL_NO_NODE && !fcl_node_is_list(&p->out->nodes[node]))
        return fail_node(p, node, "a list is needed here, such as [1, 2] or range(4)");
    return node;
}
