/* SPDX-License-Identifier: MIT */
/*
 * vmaps.h - compares a vmap of a body with the body called for each element:
 * all bits, or about; and the gradients of both.
 */
#ifndef TGI_TEST_VMAPS_H
#define TGI_TEST_VMAPS_H

#include <math.h>

#include "support/api.h"

#define CALLBACK(name) \
    static void name(tg_trace *t, const tg_value *in, void *user)
#define BODY(name) \
    static void name(tg_trace *t, const tg_value *in, \
                     void *user __attribute__((unused)))

enum { DEFAULT_ELEMENTS = 5, MAX_ARGS = 3, MAX_RESULTS = 8 };

static int64_t n_elements = DEFAULT_ELEMENTS;

/* An argument: its type for one element. */
typedef struct vmap_arg {
    tg_dtype dtype;
    bool is_batched;
    int rank;
    int64_t dims[TG_MAX_RANK];
} vmap_arg;

#define VMAP_ARG(dtype, is_batched, ...) \
    (vmap_arg) \
    { \
        dtype, is_batched, \
            (int)(sizeof((const int64_t[]){0, ##__VA_ARGS__}) / \
                  sizeof(int64_t)) - 1, \
        { \
            __VA_ARGS__ \
        } \
    }
#define F32(...) VMAP_ARG(TG_F32, true, ##__VA_ARGS__)
#define I32(...) VMAP_ARG(TG_I32, true, ##__VA_ARGS__)
#define UNBATCHED_F32(...) VMAP_ARG(TG_F32, false, ##__VA_ARGS__)
#define UNBATCHED_I32(...) VMAP_ARG(TG_I32, false, ##__VA_ARGS__)

/* -- Sessions -------------------------------------------------------------- */

/* Interpreted, and compiled for one thread and for three. */
static inline void in_sessions(void check(session *s))
{
    static const char *const modes[] = {"off", "required", "required"};
    for (int i = 0; i < 3; i++) {
        session s;
        session_begin_with(&s, (tg_context_options){.jit = modes[i],
                                                    .threads = i == 2 ? 3 : 1});
        check(&s);
        session_end(&s);
    }
}

typedef void vmap_check(session *s, tg_callback *body, const vmap_arg *args,
                        size_t n_args);

static inline void in_both_sessions(vmap_check *check, tg_callback *body,
                                    const vmap_arg *args, size_t n_args)
{
    static const char *const modes[] = {"off", "required"};
    for (int i = 0; i < 2; i++) {
        session s;
        session_begin_with(&s, (tg_context_options){.jit = modes[i]});
        check(&s, body, args, n_args);
        session_end(&s);
    }
}

#define in_both(check, body, ...) \
    in_both_sessions(check, body, (const vmap_arg[]){__VA_ARGS__}, \
                     sizeof((const vmap_arg[]){__VA_ARGS__}) / \
                         sizeof(vmap_arg))

/* -- Data ------------------------------------------------------------------ */

static inline int64_t arg_count(const vmap_arg *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->rank; i++)
        n *= a->dims[i];
    return n;
}

/* Floats in -2 … 4 without a pattern; integers 0 … 3 in i32. */
static inline void fill_arg(const vmap_arg *a, int64_t n, size_t seed,
                            void *out)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = sin(12.9 * (double)i + 78.2 * (double)seed);
        const double fraction = x * 43758.5 - floor(x * 43758.5);
        if (a->dtype == TG_F32)
            ((float *)out)[i] = (float)(fraction * 6 - 2);
        else
            ((int32_t *)out)[i] = (int32_t)(fraction * 4);
    }
}

/* The argument for all elements. */
static inline tg_tensor *make_arg(session *s, const vmap_arg *a, size_t i)
{
    int64_t dims[TG_MAX_RANK + 1] = {n_elements};
    for (int k = 0; k < a->rank; k++)
        dims[k + a->is_batched] = a->dims[k];
    tg_tensor *x = tg_tensor_create(s->ctx, a->dtype, a->rank + a->is_batched,
                                    dims, tg_zeros());
    cr_assert_not_null(x, "%s", tg_error(s->ctx));
    fill_arg(a, tg_tensor_count(x), i, tg_tensor_data(x));
    return x;
}

/* That for one. */
static inline tg_tensor *make_element(session *s, const vmap_arg *a,
                                      tg_tensor *all, int64_t element)
{
    const char *data = tg_tensor_data(all);
    if (a->is_batched)
        data += (size_t)(element * arg_count(a)) * 4;
    return tg_tensor_copy(s->ctx, data, a->dtype, a->rank, a->dims);
}

/* -- Calls ----------------------------------------------------------------- */

/* Returns from a body, and counts its results. */
static size_t n_returned;
#define RETURN(t, ...) \
    (n_returned = (size_t)TG_COUNT(__VA_ARGS__), tg_return(t, __VA_ARGS__))

typedef struct vmapped {
    tg_callback *body;
    const vmap_arg *args;
    size_t n_args, n_results;
    tg_function *element; /* applied instead of a vmap, or NULL */
    bool is_gradient;     /* of the sum of the results */
} vmapped;

static inline void run_vmapped(tg_trace *t, const tg_value *in, void *user)
{
    const vmapped *v = user;
    int axes[MAX_ARGS];
    tg_value r[MAX_RESULTS], sum = tg_scalar(TG_F32, 0);
    tg_operand operands[MAX_RESULTS];
    for (size_t i = 0; i < v->n_args; i++) {
        operands[i] = tg_in_value(in[i]);
        axes[i] = v->args[i].is_batched ? 0 : TG_UNBATCHED;
    }
    if (v->element)
        tg_apply_at(v->element, operands, v->n_args, r, v->n_results, TG_HERE);
    else
        tg_vmap_at(v->body, NULL, axes, NULL, operands, v->n_args, r,
                   v->n_results, TG_HERE);
    for (size_t i = 0; v->is_gradient && i < v->n_results; i++)
        sum = tg_add(sum, tg_sum(r[i], TG_ALL_AXES));
    for (size_t i = 0; v->is_gradient && i < v->n_args; i++)
        r[i] = tg_gradient(sum, in[i]);
    const size_t n = v->is_gradient ? v->n_args : v->n_results;
    for (size_t i = 0; i < n; i++)
        operands[i] = tg_in_value(r[i]);
    tg_return_at(t, operands, n, TG_HERE);
}

/* Calls run_vmapped; `out` receives its results. */
static inline void call_vmapped(session *s, vmapped *v, tg_policy policy,
                                tg_tensor *const *args, tg_tensor **out)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f = tg_function_create(s->ctx, run_vmapped, v, &options);
    tg_operand operands[MAX_ARGS];
    tg_result results[MAX_RESULTS];
    for (size_t i = 0; i < v->n_args; i++)
        operands[i] = tg_in_tensor(args[i]);
    const size_t n = v->is_gradient ? v->n_args : v->n_results;
    for (size_t i = 0; i < n; i++) {
        out[i] = NULL;
        results[i] = tg_out_tensor(&out[i]);
    }
    check_works(tg_call_at(f, operands, v->n_args, results, n, TG_HERE));
    tg_function_release(f);
}

/* -- Comparison ------------------------------------------------------------ */

static inline void compare_bytes(tg_tensor *is, int64_t element,
                                 tg_tensor *want, size_t result, bool is_about)
{
    const size_t size = tg_dtype_bytes(tg_tensor_dtype(want));
    const size_t n = (size_t)tg_tensor_count(want);
    const char *data = (const char *)tg_tensor_data(is) +
                       (size_t)element * n * size;
    cr_assert_eq(tg_tensor_dtype(is), tg_tensor_dtype(want));
    if (!is_about) {
        cr_assert_eq(memcmp(data, tg_tensor_data(want), n * size), 0,
                     "result %zu differs for element %lld: %g, not %g", result,
                     (long long)element, (double)*(const float *)data,
                     (double)*(const float *)tg_tensor_data(want));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const float a = ((const float *)data)[i];
        const float b = ((const float *)tg_tensor_data(want))[i];
        cr_assert_lt(fabsf(a - b), 2e-5f * (1 + fabsf(b)),
                     "result %zu of element %lld is %g, not %g", result,
                     (long long)element, (double)a, (double)b);
    }
}

/* The results of the vmap `v` and of its body for each element. A gradient of
   an argument without a batch is the sum of those of all elements. */
static inline void compare_elements(session *s, vmapped *v, tg_policy policy,
                                    bool is_about)
{
    tg_tensor *all[MAX_ARGS], *out[MAX_RESULTS], *want[MAX_RESULTS];
    tg_tensor *some[MAX_ARGS];
    float sums[MAX_ARGS][64] = {{0}};
    for (size_t i = 0; i < v->n_args; i++)
        all[i] = make_arg(s, &v->args[i], i);
    v->element = NULL;
    v->n_results = 0;
    const bool is_gradient = v->is_gradient;
    v->is_gradient = false;
    n_returned = 0;
    call_vmapped(s, v, policy, all, out); /* counts the results */
    v->is_gradient = is_gradient;
    v->n_results = n_returned;
    cr_assert(n_returned > 0 && n_returned <= MAX_RESULTS);
    call_vmapped(s, v, policy, all, out);
    v->element = tg_function_create(s->ctx, v->body, NULL, NULL);
    const size_t n = v->is_gradient ? v->n_args : v->n_results;
    for (int64_t e = 0; e < n_elements; e++) {
        for (size_t i = 0; i < v->n_args; i++)
            some[i] = make_element(s, &v->args[i], all[i], e);
        call_vmapped(s, v, TG_EXACT, some, want);
        for (size_t i = 0; i < n; i++) {
            const bool is_sum = v->is_gradient && !v->args[i].is_batched;
            if (!is_sum)
                compare_bytes(out[i], e, want[i], i, is_about);
            for (int64_t k = 0; is_sum && k < tg_tensor_count(want[i]); k++)
                sums[i][k] += ((const float *)tg_tensor_data(want[i]))[k];
            tg_tensor_release(want[i]);
        }
        for (size_t i = 0; i < v->n_args; i++)
            tg_tensor_release(some[i]);
    }
    for (size_t i = 0; v->is_gradient && i < n; i++)
        for (int64_t k = 0;
             !v->args[i].is_batched && k < tg_tensor_count(out[i]); k++)
            cr_assert_float_eq(((const float *)tg_tensor_data(out[i]))[k],
                               sums[i][k], 1e-4);
    for (size_t i = 0; i < n; i++)
        tg_tensor_release(out[i]);
    for (size_t i = 0; i < v->n_args; i++)
        tg_tensor_release(all[i]);
    tg_function_release(v->element);
}

static inline void check_vmap(session *s, tg_callback *body,
                              const vmap_arg *args, size_t n_args,
                              bool is_gradient, bool is_about)
{
    vmapped v = {.body = body,
                 .args = args,
                 .n_args = n_args,
                 .is_gradient = is_gradient};
    compare_elements(s, &v, TG_EXACT, is_about);
}

/* The bits of a vmap. */
static inline void check_body(session *s, tg_callback *body,
                              const vmap_arg *args, size_t n_args)
{
    check_vmap(s, body, args, n_args, false, false);
}

static inline void check_body_about(session *s, tg_callback *body,
                                    const vmap_arg *args, size_t n_args)
{
    check_vmap(s, body, args, n_args, false, true);
}

/* The gradients of a vmap; the sums of rounding errors differ. */
static inline void check_gradients(session *s, tg_callback *body,
                                   const vmap_arg *args, size_t n_args)
{
    check_vmap(s, body, args, n_args, true, true);
}

/* With an unknown extent of the batch; others must be known to the body. */
static inline void check_body_relaxed(session *s, tg_callback *body,
                                      const vmap_arg *args, size_t n_args)
{
    vmapped v = {.body = body, .args = args, .n_args = n_args};
    compare_elements(s, &v, TG_RELAXED, false);
}

#endif /* TGI_TEST_VMAPS_H */
