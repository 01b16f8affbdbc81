/* SPDX-License-Identifier: MIT */
/*
 * optimiser.h - optimisers: rules that update the trainable variables of a
 * bundle from their gradients. The state of an optimiser is a bundle, too, so
 * that it is passed, saved and loaded with the model.
 *
 *     TG_DEFINE_BUNDLE(model, (tg_dense_layer, hidden), (tg_dense_layer, out))
 *     TG_DEFINE_OPTIMISER(model_optimiser, model)
 *     TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, adam))
 *
 * Once, outside of callbacks:
 *
 *     tg_optimiser_create(ctx, "adam", rule, &model_optimiser_type, &r->net,
 *                         &r->adam)
 *
 * In the callback of a training step, with a loss that depends on r->net:
 *
 *     tg_minimise(loss, 1e-3, rule, &model_optimiser_type, &r->net, &r->adam);
 *
 * where `rule` is tg_adam(0.9, 0.999, 1e-8), say. The update of a variable and
 * its state is one pass over them.
 */
#ifndef TGJIT_OPTIMISER_H
#define TGJIT_OPTIMISER_H

#include "bundle.h"
#include "context.h"
#include "ops.h"

TG_BEGIN_DECLS

/* -- Rules ----------------------------------------------------------------- */

typedef enum tg_rule_kind {
    TG_RULE_SGD = 0,
    TG_RULE_MOMENTUM = 1,
    TG_RULE_NESTEROV = 2,
    TG_RULE_ADAM = 3,
    TG_RULE_RMSPROP = 4,
    TG_RULE_ADAGRAD = 5
} tg_rule_kind;

/* Returned by the functions below; its members are not an interface. */
typedef struct tg_update_rule {
    tg_rule_kind kind;
    bool is_decoupled;  /* weight decay acts on the variable */
    double beta1, beta2; /* momentum | decay of first and second moment */
    double epsilon;
    double weight_decay;
    double max_norm; /* of all gradients together; 0: no limit */
} tg_update_rule;

static inline tg_update_rule tg_rule_of(tg_rule_kind kind, double beta1,
                                        double beta2, double epsilon)
{
    tg_update_rule rule;
    rule.kind = kind;
    rule.is_decoupled = false;
    rule.beta1 = beta1;
    rule.beta2 = beta2;
    rule.epsilon = epsilon;
    rule.weight_decay = 0;
    rule.max_norm = 0;
    return rule;
}

/* p -= rate * g */
static inline tg_update_rule tg_sgd(void)
{
    return tg_rule_of(TG_RULE_SGD, 0, 0, 0);
}

/* v = momentum * v + g; p -= rate * v */
static inline tg_update_rule tg_momentum(double momentum)
{
    return tg_rule_of(TG_RULE_MOMENTUM, momentum, 0, 0);
}

/* v = momentum * v + g; p -= rate * (g + momentum * v) */
static inline tg_update_rule tg_nesterov(double momentum)
{
    return tg_rule_of(TG_RULE_NESTEROV, momentum, 0, 0);
}

/*
 * m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g * g;
 * p -= rate / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon), where t
 * counts updates from 1.
 */
static inline tg_update_rule tg_adam(double beta1, double beta2,
                                     double epsilon)
{
    return tg_rule_of(TG_RULE_ADAM, beta1, beta2, epsilon);
}

/* p -= rate * weight_decay * p; then as Adam, whose moments the decay does not
   enter. */
static inline tg_update_rule tg_adamw(double beta1, double beta2,
                                      double epsilon, double weight_decay)
{
    tg_update_rule rule = tg_adam(beta1, beta2, epsilon);
    rule.is_decoupled = true;
    rule.weight_decay = weight_decay;
    return rule;
}

/* v = decay * v + (1 - decay) * g * g; p -= rate * g / (sqrt(v) + epsilon) */
static inline tg_update_rule tg_rmsprop(double decay, double epsilon)
{
    return tg_rule_of(TG_RULE_RMSPROP, 0, decay, epsilon);
}

/* v = v + g * g; p -= rate * g / (sqrt(v) + epsilon) */
static inline tg_update_rule tg_adagrad(double epsilon)
{
    return tg_rule_of(TG_RULE_ADAGRAD, 0, 0, epsilon);
}

/* The rule, with g + weight_decay * p in place of g (L2 regularisation). */
static inline tg_update_rule tg_with_weight_decay(tg_update_rule rule,
                                                  double weight_decay)
{
    rule.is_decoupled = false;
    rule.weight_decay = weight_decay;
    return rule;
}

/* The rule, after tg_clip_by_global_norm of all gradients. */
static inline tg_update_rule tg_with_clipping(tg_update_rule rule,
                                              double max_norm)
{
    rule.max_norm = max_norm;
    return rule;
}

/* -- State ----------------------------------------------------------------- */

/*
 * Defines the bundle `type`, the state of an optimiser of a `model`: for every
 * trainable variable a first and a second moment, as far as the rule has them
 * (else the member is NULL), and `steps`, an i64 scalar that counts updates.
 */
#define TG_DEFINE_OPTIMISER(type, model) \
    TG_DEFINE_BUNDLE(type, (model, first), (model, second), steps)

/*
 * Creates the state for the rule, all zeros and not trainable, in the scope
 * `name`. `type` is that of TG_DEFINE_OPTIMISER, `model` the bundle that it
 * names. tg_bundle_release releases the state. On failure all members are NULL.
 */
TG_API TG_MUST_CHECK tg_status
tg_optimiser_create(tg_context *ctx, const char *name, tg_update_rule rule,
                    const tg_bundle_type *type, const void *model,
                    void *out_state);

/* -- Updates, in a callback ------------------------------------------------ */

/*
 * Updates the trainable variables of `model`, in field order, from as many
 * gradients, and the state. `rate` is a float scalar: a number, an argument, or
 * a schedule (schedules.h).
 */
TG_API void tg_optimiser_apply_at(tg_operand rate, tg_update_rule rule,
                                  const tg_bundle_type *type,
                                  const void *model, const void *state,
                                  const tg_value *gradients,
                                  size_t n_gradients, tg_site site);

/* Updates the trainable variables of `model` from the gradients of `loss`,
   which must depend on each of them. */
TG_API void tg_minimise_at(tg_operand loss, tg_operand rate,
                           tg_update_rule rule, const tg_bundle_type *type,
                           const void *model, const void *state, tg_site site);

/* sqrt(sum(x^2)) over all elements of all values: an f64 scalar. */
TG_API tg_value tg_global_norm_at(const tg_value *values, size_t n_values,
                                  tg_site site);

/*
 * Multiplies all values, in place, by max_norm / max(norm, max_norm), where
 * `norm` is their global norm, which is returned. Values whose norm is not
 * above max_norm keep their bits.
 */
TG_API tg_value tg_clip_by_global_norm_at(tg_value *values, size_t n_values,
                                          double max_norm, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_optimiser_apply(rate, rule, type, model, state, gradients, \
                           n_gradients) \
    tg_optimiser_apply_at(TG_IN(rate), rule, type, model, state, gradients, \
                          n_gradients, TG_HERE)
#define tg_minimise(loss, rate, rule, type, model, state) \
    tg_minimise_at(TG_IN(loss), TG_IN(rate), rule, type, model, state, TG_HERE)
#define tg_global_norm(values, n_values) \
    tg_global_norm_at(values, n_values, TG_HERE)
#define tg_clip_by_global_norm(values, n_values, max_norm) \
    tg_clip_by_global_norm_at(values, n_values, max_norm, TG_HERE)
#else
inline void tg_optimiser_apply(tg_in rate, tg_update_rule rule,
                               const tg_bundle_type *type, const void *model,
                               const void *state, const tg_value *gradients,
                               size_t n_gradients, tg_site site = TG_HERE)
{
    tg_optimiser_apply_at(rate, rule, type, model, state, gradients,
                          n_gradients, site);
}
inline void tg_minimise(tg_in loss, tg_in rate, tg_update_rule rule,
                        const tg_bundle_type *type, const void *model,
                        const void *state, tg_site site = TG_HERE)
{
    tg_minimise_at(loss, rate, rule, type, model, state, site);
}
inline tg_value tg_global_norm(const tg_value *values, size_t n_values,
                               tg_site site = TG_HERE)
{
    return tg_global_norm_at(values, n_values, site);
}
inline tg_value tg_clip_by_global_norm(tg_value *values, size_t n_values,
                                       double max_norm, tg_site site = TG_HERE)
{
    return tg_clip_by_global_norm_at(values, n_values, max_norm, site);
}
#endif

#endif /* TGJIT_OPTIMISER_H */
