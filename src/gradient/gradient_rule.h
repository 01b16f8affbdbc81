/* SPDX-License-Identifier: MIT */
/*
 * gradient_rule.h - the interface between the backward sweep (gradient.c),
 * which determines order and place, and the gradient rules of the ops.
 *
 * A rule gets a node whose value has a gradient, and adds to the gradients of
 * those inputs that are needed. It builds in rule->b->graph, which may differ
 * from the graph of the node: forward values are obtained by tgi_rule_input and
 * tgi_rule_value, and only values obtained this way are saved.
 */
#ifndef TGI_GRADIENT_RULE_H
#define TGI_GRADIENT_RULE_H

#include "build/build.h"

typedef struct tgi_tape tgi_tape;

typedef struct tgi_rule {
    tgi_builder *b;
    const tgi_graph *graph; /* of the differentiated node */
    tgi_ref ref;
    const tgi_node *node;
    tgi_ref gradient; /* of the node's value; in b->graph */
    tgi_tape *tape;
} tgi_rule;

/* False after a failure (recorded). */
typedef bool tgi_gradient_rule(tgi_rule *rule);

/* By op; NULL: no rule. */
extern tgi_gradient_rule *const tgi_gradient_rules[TGI_OPS];

/* True if the gradient of input i is needed. */
bool tgi_rule_wants(const tgi_rule *rule, uint32_t i);

/* The value of input i, and that of the node, in b->graph; 0 on failure. */
tgi_ref tgi_rule_input(tgi_rule *rule, uint32_t i);
tgi_ref tgi_rule_value(tgi_rule *rule);

/* Adds to the gradient of input i, which has the input's type. A gradient of 0
   stands for a failure (recorded), and returns false. */
bool tgi_rule_add(tgi_rule *rule, uint32_t i, tgi_ref gradient);

/*
 * For rules that change only some elements of the gradient of input i: the
 * gradient accumulated so far (zeros if none), and its replacement.
 */
tgi_ref tgi_rule_accumulated(tgi_rule *rule, uint32_t i);
bool tgi_rule_replace(tgi_rule *rule, uint32_t i, tgi_ref gradient);

/* -- Constants ------------------------------------------------------------- */

/* A scalar of the dtype of the node's gradient. */
tgi_ref tgi_rule_number(tgi_rule *rule, double number);

/* Zeros of the type of input i. */
tgi_ref tgi_rule_zeros(tgi_rule *rule, uint32_t i);

#endif /* TGI_GRADIENT_RULE_H */
