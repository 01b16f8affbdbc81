/* SPDX-License-Identifier: MIT */
/*
 * gradient_rule.h - what the gradient of one operation is: between the walk
 * back through a graph (gradient.c), which knows in what order and where, and
 * the rules, which know the mathematics.
 *
 * A rule is handed a node whose value has a gradient, and adds to the
 * gradients of those inputs that somebody wants. All it builds goes to
 * rule->b->graph, which need not be the graph of the node: values of the
 * forward computation are asked for by tgi_rule_input and tgi_rule_value, and
 * what is not asked for is never kept.
 */
#ifndef TGI_GRADIENT_RULE_H
#define TGI_GRADIENT_RULE_H

#include "build/build.h"

typedef struct tgi_tape tgi_tape;

typedef struct tgi_rule {
    tgi_builder *b;
    const tgi_graph *graph; /* of the node */
    tgi_ref ref;
    const tgi_node *node;
    tgi_ref gradient; /* of its value; in b->graph */
    tgi_tape *tape;
} tgi_rule;

/* False after a failure, which is recorded. */
typedef bool tgi_gradient_rule(tgi_rule *rule);

/* By op; NULL: it has none. */
extern tgi_gradient_rule *const tgi_gradient_rules[TGI_OPS];

/* True if anybody asks for the gradient of input i. */
bool tgi_rule_wants(const tgi_rule *rule, uint32_t i);

/* The value of input i, and that of the node, in b->graph; 0 on failure. */
tgi_ref tgi_rule_input(tgi_rule *rule, uint32_t i);
tgi_ref tgi_rule_value(tgi_rule *rule);

/* Adds to the gradient of input i, which has its type; 0 is a failure that is
   recorded, and gives false. */
bool tgi_rule_add(tgi_rule *rule, uint32_t i, tgi_ref gradient);

/*
 * For what changes only some elements of the gradient of input i: that
 * gradient so far (zeros if there is none yet), to be replaced by `set`.
 */
tgi_ref tgi_rule_accumulated(tgi_rule *rule, uint32_t i);
bool tgi_rule_replace(tgi_rule *rule, uint32_t i, tgi_ref gradient);

/* -- What rules are made of ------------------------------------------------ */

/* A scalar of the type of the node's gradient. */
tgi_ref tgi_rule_number(tgi_rule *rule, double number);

/* Zeros of the type of input i. */
tgi_ref tgi_rule_zeros(tgi_rule *rule, uint32_t i);

#endif /* TGI_GRADIENT_RULE_H */
