/* SPDX-License-Identifier: MIT */
/*
 * optimiser_state.h - the trainable variables of a bundle, each with its state
 * in the bundle of an optimiser (TG_DEFINE_OPTIMISER).
 */
#ifndef TGI_OPTIMISER_STATE_H
#define TGI_OPTIMISER_STATE_H

#include "base/vec.h"
#include "front/trace/trace_state.h"
#include "tgjit/optimiser.h"

/* A trainable variable. A variable that the bundle holds a second time has no
   state there. */
typedef struct tgi_parameter {
    tg_variable *variable;
    tg_variable *first, *second; /* or NULL */
    bool is_repeated;
} tgi_parameter;

typedef TGI_VEC(tgi_parameter) tgi_parameters;

/* Which moments a rule has. */
static inline bool tgi_rule_has_first(const tg_update_rule *rule)
{
    return rule->kind == TG_RULE_MOMENTUM || rule->kind == TG_RULE_NESTEROV ||
           rule->kind == TG_RULE_ADAM;
}

static inline bool tgi_rule_has_second(const tg_update_rule *rule)
{
    return rule->kind == TG_RULE_ADAM || rule->kind == TG_RULE_RMSPROP ||
           rule->kind == TG_RULE_ADAGRAD;
}

/* NULL if the rule is valid, else the reason why not. */
const char *tgi_rule_error(const tg_update_rule *rule);

/* The type of the model, or NULL if `type` is not that of an optimiser. */
const tg_bundle_type *tgi_optimiser_model(const tg_bundle_type *type);

/*
 * Lists the trainable variables of `model` in field order; `state` may be NULL.
 * The caller deinitialises the list in any case. False when out of memory
 * (recorded).
 */
bool tgi_parameters_list(const tg_bundle_type *type, const void *model,
                         const void *state, tgi_parameters *out_list);

/* True if the arguments of an update are valid; else an error. */
bool tgi_optimiser_check(tgi_operation *o, const tg_update_rule *rule,
                         const tg_bundle_type *type, const void *model,
                         const void *state);

/* The gradients of the loss, one per parameter; false on error, which sticks,
   for instance if one does not exist. */
bool tgi_parameters_differentiate(tgi_operation *o, tg_operand loss,
                                  const tgi_parameters *list, tg_value *out);

/* The member `steps` of a state. */
static inline tg_variable *tgi_optimiser_steps(const tg_bundle_type *type,
                                               const void *state)
{
    return *(tg_variable *const *)(const void *)((const char *)state +
                                                 type->fields[2].offset);
}

#endif /* TGI_OPTIMISER_STATE_H */
