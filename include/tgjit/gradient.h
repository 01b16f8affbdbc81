/* SPDX-License-Identifier: MIT */
/*
 * gradient.h - derivatives, recorded as operations of the callback that
 * requests them. They are fused and compiled with the rest and can be
 * differentiated again.
 *
 *     tg_value loss = ...;
 *     tg_variable *wrt[] = {m->w, m->b};
 *     tg_value g[2];
 *     tg_gradients(loss, wrt, 2, g);
 *     tg_assign_sub(m->w, tg_mul(g[0], 0.1));
 *
 * A source is a value of the current trace, a variable (every read of it in
 * this trace counts), or a bundle, which stands for its variables in field
 * order. A target that is not a scalar stands for the sum of its elements.
 *
 * If no target depends differentiably on a source, its gradient does not
 * exist: the value is invalid (tg_is_valid is false) and tg_gradient_reason
 * gives the reason. TG_UNCONNECTED_ZEROS requests zeros instead. Gradients do
 * not flow through integers, assignments and tg_stop_gradient.
 */
#ifndef TGJIT_GRADIENT_H
#define TGJIT_GRADIENT_H

#include "function.h"
#include "host.h"
#include "ops.h"

TG_BEGIN_DECLS

typedef enum tg_unconnected {
    TG_UNCONNECTED_NONE = 0, /* an invalid value */
    TG_UNCONNECTED_ZEROS = 1
} tg_unconnected;

/*
 * Gradients of the sum of all targets. seeds[i] is the gradient of target i and
 * has its type; NULL stands for ones. Writes one value per source, for a bundle
 * one per variable.
 */
TG_API void tg_gradients_with_at(const tg_operand *targets, size_t n_targets,
                                 const tg_operand *seeds,
                                 tg_unconnected unconnected,
                                 const tg_operand *sources, size_t n_sources,
                                 tg_value *out_gradients, tg_site site);

/* Gradients of one target with respect to an array of sources. */
TG_API void tg_gradients_of_variables_at(tg_operand target,
                                         tg_variable *const *sources,
                                         size_t n_sources,
                                         tg_value *out_gradients,
                                         tg_site site);
TG_API void tg_gradients_of_values_at(tg_operand target,
                                      const tg_value *sources,
                                      size_t n_sources,
                                      tg_value *out_gradients, tg_site site);
TG_API void tg_gradients_of_operands_at(tg_operand target,
                                        const tg_operand *sources,
                                        size_t n_sources,
                                        tg_value *out_gradients,
                                        tg_site site);

/*
 * Gradients of one target with respect to the trainable variables of a bundle,
 * in field order. Writes the variables (borrowed) and their gradients to arrays
 * of length `capacity`, and returns how many there are:
 *
 *     tg_variable *v[8];
 *     tg_value g[8];
 *     size_t n = tg_bundle_gradients(loss, &model_type, m, v, g, 8);
 *     for (size_t i = 0; i < n; i++)
 *         tg_assign_sub(v[i], tg_mul(g[i], 0.1));
 *
 * Fails the trace and returns 0 if there are more than `capacity`.
 */
TG_API size_t tg_bundle_gradients_at(tg_operand target,
                                     const tg_bundle_type *type,
                                     const void *bundle,
                                     tg_variable **out_variables,
                                     tg_value *out_gradients, size_t capacity,
                                     tg_site site);

/* Gradient of one target with respect to one source. */
TG_API tg_value tg_gradient_at(tg_operand target, tg_operand source,
                               tg_site site);

/* Returns the reason why a gradient does not exist, with the source location
   responsible; "" if it exists. Valid until the trace ends. */
TG_API const char *tg_gradient_reason(tg_value gradient);

/* -- Other derivatives ----------------------------------------------------- */

/*
 * Jacobian-vector product. `direction` has the type of `source`, the result
 * that of `target`.
 */
TG_API tg_value tg_jvp_at(tg_operand target, tg_operand source,
                          tg_operand direction, tg_site site);

/* Jacobian. Its axes are those of `target`, followed by those of `source`. */
TG_API tg_value tg_jacobian_at(tg_operand target, tg_operand source,
                               tg_site site);

/* Hessian-vector product of the sum of `target`. `vector` and the result have
   the type of `source`. */
TG_API tg_value tg_hessian_vector_at(tg_operand target, tg_operand source,
                                     tg_operand vector, tg_site site);

/* -- Custom gradients ------------------------------------------------------ */

/*
 * Runs `forward` on `args`, with `backward` as its gradient. `backward`
 * receives the arguments, the results, and the gradient of each result (zeros
 * where it does not exist), in this order, and returns one value per argument,
 * of its type. `user` is passed to both; it must remain valid as long as other
 * traces can apply a function traced with it. `forward` may use its arguments
 * and variables, but no other value of the enclosing callback; gradients do
 * not flow to these variables.
 */
TG_API void tg_custom_gradient_at(tg_callback *forward, tg_callback *backward,
                                  void *user, const tg_operand *args,
                                  size_t n_args, tg_value *out_results,
                                  size_t n_results, tg_site site);

/* tg_host_call with a custom gradient. Gradients do not flow through a plain
   tg_host_call. */
TG_API void tg_host_call_with_gradient_at(
    tg_trace *t, tg_host_function *function, tg_callback *backward, void *user,
    const tg_operand *inputs, size_t n_inputs, const tg_host_spec *specs,
    tg_value *out_results, size_t n_results, tg_site site);

/*
 * Runs `body` on `args`. The backward pass recomputes its intermediate values
 * instead of saving them, which trades time for memory. `body` must not
 * assign, print, assert or call the host.
 */
TG_API void tg_checkpoint_at(tg_callback *body, void *user,
                             const tg_operand *args, size_t n_args,
                             tg_value *out_results, size_t n_results,
                             tg_site site);

TG_END_DECLS

#ifndef __cplusplus

/* Example: tg_gradients(loss, sources, n, g), where `sources` is an array of
   variables, values or operands. */
#define tg_gradients(target, sources, n_sources, out_gradients) \
    _Generic((sources), \
        tg_variable **: tg_gradients_of_variables_at, \
        tg_variable *const *: tg_gradients_of_variables_at, \
        tg_value *: tg_gradients_of_values_at, \
        const tg_value *: tg_gradients_of_values_at, \
        tg_operand *: tg_gradients_of_operands_at, \
        const tg_operand *: tg_gradients_of_operands_at)( \
        TG_IN(target), sources, n_sources, out_gradients, TG_HERE)
/* Example:
   tg_gradients_with(TG_ARGS(y), NULL, TG_UNCONNECTED_ZEROS, TG_ARGS(x), g) */
#define tg_gradients_with(...) tg_gradients_with_at(__VA_ARGS__, TG_HERE)
#define tg_bundle_gradients(target, type, bundle, out_variables, \
                            out_gradients, capacity) \
    tg_bundle_gradients_at(TG_IN(target), type, bundle, out_variables, \
                           out_gradients, capacity, TG_HERE)
#define tg_gradient(target, source) \
    tg_gradient_at(TG_IN(target), TG_IN(source), TG_HERE)
#define tg_jvp(target, source, direction) \
    tg_jvp_at(TG_IN(target), TG_IN(source), TG_IN(direction), TG_HERE)
#define tg_jacobian(target, source) \
    tg_jacobian_at(TG_IN(target), TG_IN(source), TG_HERE)
#define tg_hessian_vector(target, source, vector) \
    tg_hessian_vector_at(TG_IN(target), TG_IN(source), TG_IN(vector), TG_HERE)
/* Example: tg_custom_gradient(f, df, user, TG_ARGS(x), &y, 1) */
#define tg_custom_gradient(forward, backward, user, ...) \
    TG_WITH_ARGS(tg_custom_gradient_at, __VA_ARGS__) \
    (forward, backward, user, __VA_ARGS__, TG_HERE)
#define tg_host_call_with_gradient(t, function, backward, user, ...) \
    TG_WITH_ARGS(tg_host_call_with_gradient_at, __VA_ARGS__) \
    (t, function, backward, user, __VA_ARGS__, TG_HERE)
#define tg_checkpoint(body, user, ...) \
    TG_WITH_ARGS(tg_checkpoint_at, __VA_ARGS__) \
    (body, user, __VA_ARGS__, TG_HERE)

#else /* __cplusplus */

inline void tg_gradients(tg_in target, tg_variable *const *sources,
                         size_t n_sources, tg_value *out_gradients,
                         tg_site site = TG_HERE)
{
    tg_gradients_of_variables_at(target, sources, n_sources, out_gradients,
                                 site);
}
inline void tg_gradients(tg_in target, const tg_value *sources,
                         size_t n_sources, tg_value *out_gradients,
                         tg_site site = TG_HERE)
{
    tg_gradients_of_values_at(target, sources, n_sources, out_gradients, site);
}
inline void tg_gradients_with(tg_ins targets, const tg_operand *seeds,
                              tg_unconnected unconnected, tg_ins sources,
                              tg_value *out_gradients, tg_site site = TG_HERE)
{
    tg_gradients_with_at(targets.begin(), targets.size(), seeds, unconnected,
                         sources.begin(), sources.size(), out_gradients, site);
}
inline size_t tg_bundle_gradients(tg_in target, const tg_bundle_type *type,
                                  const void *bundle,
                                  tg_variable **out_variables,
                                  tg_value *out_gradients, size_t capacity,
                                  tg_site site = TG_HERE)
{
    return tg_bundle_gradients_at(target, type, bundle, out_variables,
                                  out_gradients, capacity, site);
}
inline tg_value tg_gradient(tg_in target, tg_in source, tg_site site = TG_HERE)
{
    return tg_gradient_at(target, source, site);
}
inline tg_value tg_jvp(tg_in target, tg_in source, tg_in direction,
                       tg_site site = TG_HERE)
{
    return tg_jvp_at(target, source, direction, site);
}
inline tg_value tg_jacobian(tg_in target, tg_in source, tg_site site = TG_HERE)
{
    return tg_jacobian_at(target, source, site);
}
inline tg_value tg_hessian_vector(tg_in target, tg_in source, tg_in vector,
                                  tg_site site = TG_HERE)
{
    return tg_hessian_vector_at(target, source, vector, site);
}
inline void tg_custom_gradient(tg_callback *forward, tg_callback *backward,
                               void *user, tg_ins args, tg_value *out_results,
                               size_t n_results, tg_site site = TG_HERE)
{
    tg_custom_gradient_at(forward, backward, user, args.begin(), args.size(),
                          out_results, n_results, site);
}
inline void tg_host_call_with_gradient(
    tg_trace *t, tg_host_function *function, tg_callback *backward, void *user,
    tg_ins inputs, const tg_host_spec *specs, tg_value *out_results,
    size_t n_results, tg_site site = TG_HERE)
{
    tg_host_call_with_gradient_at(t, function, backward, user, inputs.begin(),
                                  inputs.size(), specs, out_results, n_results,
                                  site);
}
inline void tg_checkpoint(tg_callback *body, void *user, tg_ins args,
                          tg_value *out_results, size_t n_results,
                          tg_site site = TG_HERE)
{
    tg_checkpoint_at(body, user, args.begin(), args.size(), out_results,
                     n_results, site);
}

#endif /* __cplusplus */

#endif /* TGJIT_GRADIENT_H */
