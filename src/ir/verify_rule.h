/* SPDX-License-Identifier: MIT */
/*
 * verify_rule.h - shared by verify.c (walks the graph), verify_shape.c (shape
 * rules) and verify_unbounded.c (rules for unbounded stacks).
 */
#ifndef TGI_VERIFY_RULE_H
#define TGI_VERIFY_RULE_H

#include "ir/graph.h"

typedef struct tgi_verifier {
    const tgi_graph *graph;
    tgi_ref ref; /* the current node; 0: the graph itself */
    const tgi_node *node;
    const tgi_shape *shape; /* of the node; NULL if it has no value */
    /* By parameter number: the last node that wrote the variable, the last
       region it was an input of, and whether it is read or written. */
    struct tgi_verifier_variable {
        tgi_ref last_write, last_call;
        bool is_read, is_written;
    } *variables;
    bool has_effects;
} tgi_verifier;

/* Records an error of the current node; returns false. */
bool tgi_verify_fail(const tgi_verifier *v, const char *format, ...)
    TG_PRINTF(2, 3);

/* Checks shape and attribute of a node whose inputs, dtypes and attribute size
   are valid. */
typedef bool tgi_verify_rule(tgi_verifier *v);

tgi_verify_rule tgi_verify_elementwise, tgi_verify_cast, tgi_verify_bitcast,
    tgi_verify_iota, tgi_verify_extent,
    tgi_verify_broadcast, tgi_verify_reshape, tgi_verify_transpose,
    tgi_verify_slice, tgi_verify_window, tgi_verify_pad, tgi_verify_concat, tgi_verify_gather,
    tgi_verify_dynamic_slice, tgi_verify_dynamic_update, tgi_verify_scatter,
    tgi_verify_reduce, tgi_verify_scan, tgi_verify_matmul, tgi_verify_conv,
    tgi_verify_random_bits;

/* verify_unbounded.c: the rules for unbounded stacks of a node, a result of the
   graph, the graphs of a LOOP, and the graphs of a SWITCH or CALL. */
bool tgi_verify_unbounded(const tgi_verifier *v);
bool tgi_verify_unbounded_result(const tgi_verifier *v, tgi_ref ref);
bool tgi_verify_unbounded_loop(const tgi_verifier *v);
bool tgi_verify_unbounded_switch(const tgi_verifier *v);

/* Equal, or not known before the call. */
static inline bool tgi_verify_may_equal(tgi_dim a, tgi_dim b)
{
    return a == b || !tgi_dim_is_known(a) || !tgi_dim_is_known(b);
}

#endif /* TGI_VERIFY_RULE_H */
