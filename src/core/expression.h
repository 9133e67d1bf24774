// The tree of an expression: expression_parse.c builds it, expression.c evaluates it.
#ifndef FCL_CORE_EXPRESSION_H
#define FCL_CORE_EXPRESSION_H

#include "value.h"

#define FCL_EXPRESSION_DEPTH 100 // levels of nesting
#define FCL_EXPRESSION_LOCALS 4  // comprehensions inside each other
#define FCL_NO_NODE UINT32_MAX

enum fcl_node_kind {
    FCL_NODE_VALUE,   // `value`
    FCL_NODE_NAME,    // `index` of a name
    FCL_NODE_LOCAL,   // `index` of a comprehension's variable
    FCL_NODE_OR,      // any number of operands
    FCL_NODE_AND,     //
    FCL_NODE_NOT,     //
    FCL_NODE_COMPARE, // any number of operands; `link` of each but the first compares it with the
                      // one before
    FCL_NODE_CHOICE,  // condition, value if true, value if false
    FCL_NODE_UNARY,   // `code` is an fcl_operation
    FCL_NODE_BINARY,
    FCL_NODE_CALL,  // `code` is an fcl_function
    FCL_NODE_FOLD,  // `code` is an fcl_fold, of one list or text
    FCL_NODE_ITEMS, // lists from here on
    FCL_NODE_RANGE,
    FCL_NODE_COMPREHENSION, // element, list, perhaps a condition; variable `index`
    FCL_NODE_JOINED
};

enum fcl_fold { FCL_MIN, FCL_MAX, FCL_SUM, FCL_LENGTH, FCL_ANY, FCL_ALL };

enum fcl_comparison_kind {
    FCL_EQUAL,
    FCL_NOT_EQUAL,
    FCL_LESS,
    FCL_LESS_EQUAL,
    FCL_GREATER,
    FCL_GREATER_EQUAL,
    FCL_IN,
    FCL_NOT_IN
};

struct fcl_node {
    unsigned char kind, code, link;
    unsigned char depth;
    uint32_t at;          // where in the text it stands, from 0
    uint32_t child, last; // first and last operand; FCL_NO_NODE: none
    uint32_t next;        // next operand of the same parent
    union {
        struct fcl_value value;
        uint32_t index;
    };
};

struct fcl_expression {
    char *text;
    char *texts; // a copy of `text` in which a 0 stands behind each literal
    struct fcl_node *nodes;
    uint32_t node_count, node_capacity;
    uint32_t root;
};

static inline int fcl_node_is_list(const struct fcl_node *node)
{
    return node->kind >= FCL_NODE_ITEMS;
}

// Builds the tree. `as_list`: the text is a list, or items with commas between where a word that
// stands alone is a text; the root is then a list, otherwise one value.
enum fcl_status fcl_expression_parse(const char *text, const char *const *names, size_t name_count,
                                     int as_list, fcl_expression **expression, char *reason,
                                     size_t size);

// Receives the elements of a list; returns 0 to stop.
typedef int (*fcl_value_visit)(void *user, const struct fcl_value *value);

// Visits the elements of a list at the root. Errors as fcl_expression_evaluate.
enum fcl_status fcl_expression_visit(const fcl_expression *expression, fcl_value_visit visit,
                                     void *user, char *reason, size_t size);

#endif
