// Building the tree of an expression. Functions return nodes; after a failure, FCL_NO_NODE, which
// all of them accept and pass on.
#ifndef FCL_CORE_EXPRESSION_TREE_H
#define FCL_CORE_EXPRESSION_TREE_H

#include "expression.h"
#include "expression_scan.h"

struct fcl_parser {
    fcl_expression *out;
    struct fcl_scanner scan;
    const char *const *names;
    size_t name_count;
    struct fcl_token locals[FCL_EXPRESSION_LOCALS]; // variables of comprehensions
    size_t local_count;
    int depth;
    int bare; // 1: a word that stands alone is a text
};

// Fails at a token or at the next one, saying what is allowed there.
uint32_t fcl_tree_fail_at(struct fcl_parser *parser, const struct fcl_token *token,
                          const char *allowed);
uint32_t fcl_tree_fail(struct fcl_parser *parser, const char *allowed);

uint32_t fcl_tree_add(struct fcl_parser *parser, enum fcl_node_kind kind, int code, size_t at);

// Puts `child` behind the parent's other operands. A tree that becomes too deep fails.
void fcl_tree_add_child(struct fcl_parser *parser, uint32_t parent, uint32_t child);

uint32_t fcl_tree_add_parent(struct fcl_parser *parser, enum fcl_node_kind kind, int code,
                             size_t at, uint32_t child);

// Fail unless the node is one value, or a list; return it.
uint32_t fcl_tree_value(struct fcl_parser *parser, uint32_t node);
uint32_t fcl_tree_list(struct fcl_parser *parser, uint32_t node);

#endif
