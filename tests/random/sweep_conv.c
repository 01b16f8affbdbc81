/* SPDX-License-Identifier: MIT */
/*
 * sweep_conv.c - sweep-conv: checks random convolutions and poolings.
 *
 *   --seed S       a case is identified by its seed and number
 *   --count N      number of cases
 *   --only K       only case K, which is printed
 *   --failures N   stop after N failures
 *   --jobs N       processes; default: one per CPU
 *
 * A case has 1 to 3 spatial axes, windows of 1 to 7 elements, and any stride,
 * dilation, padding, groups, layout, dtype, known or unknown extents, and use of
 * its result; most have gradients. Its interpreted result has the bits of the
 * definition in docs/NUMERICS.md, written down again here; compiled results, of
 * 1, 2, 3 and 7 threads and all vector widths, have those of the interpreter.
 * The last line is "N passed, N failed".
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "jit.h"
#include "run/team.h"
#include "support/arguments.h"
#include "support/instrument.h"
#include "support/watched.h"
#include "support/workers.h"
#include "tgjit.h"

enum {
    SKIPPED = 77,
    MAX_SECONDS = 120,
    MAX_STEPS = 1 << 20, /* multiply-adds of a case */
    MAX_RESULTS = 3,
    MAX_LENGTH = 70, /* of the last axis of some images: several vectors */
    K_BLOCK = 256
};

typedef enum conv_end {
    END_NONE,
    END_BIAS_RELU,
    END_RESIDUAL,
    END_POOL,
    END_SUM,
    N_ENDS
} conv_end;

typedef enum case_kind {
    KIND_CONV,
    KIND_TRANSPOSE,
    KIND_MAX_POOL,
    KIND_AVG_POOL,
    KIND_LP_POOL,
    KIND_WINDOWS
} case_kind;

typedef struct conv_case {
    case_kind kind;
    conv_end end;
    tg_dtype dtype;
    int n_spatial;
    int64_t n, channels, filters;
    int64_t extent[3], window[3];
    tg_conv_options conv;
    tg_pool_options pool;
    bool has_gradient, is_open;
    bool is_variable; /* the filters are: their panels may be memoised */
    int64_t x_dims[5], w_dims[5];
    int n_results;
} conv_case;

/* -- Random numbers -------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int64_t pick(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(next_random(state) % (uint64_t)(high - low + 1));
}

static int64_t pick_of(uint64_t *state, const int64_t *list, size_t n)
{
    return list[next_random(state) % n];
}

/* -- Cases ----------------------------------------------------------------- */

static void set_dims(conv_case *c)
{
    const int d = c->n_spatial;
    const bool is_first = c->conv.layout == TG_CHANNELS_FIRST;
    const bool is_transpose = c->kind == KIND_TRANSPOSE;
    const int64_t of_group = c->channels / c->conv.groups;
    c->x_dims[0] = c->n;
    c->x_dims[is_first ? 1 : d + 1] = is_transpose ? c->filters : c->channels;
    for (int i = 0; i < d; i++) {
        c->x_dims[i + 1 + is_first] = c->extent[i];
        c->w_dims[i + (is_first ? 2 : 0)] = c->window[i];
    }
    c->w_dims[is_first ? 1 : d] = of_group;
    c->w_dims[is_first ? 0 : d + 1] = c->filters;
}

/* True if windows fit the padded operand, and no result would have a negative
   extent. */
static bool fits(const conv_case *c)
{
    for (int i = 0; i < c->n_spatial; i++) {
        const int64_t covered = (c->window[i] - 1) * c->conv.dilation[i];
        if (c->kind == KIND_TRANSPOSE) {
            const int64_t cut = c->conv.low[i] + c->conv.high[i];
            if (c->conv.low[i] > covered || c->conv.high[i] > covered ||
                (c->extent[i] - 1) * c->conv.stride[i] + covered + 1 < cut)
                return false;
            continue;
        }
        if (c->conv.padding != TG_PADDING_SAME &&
            covered >= c->extent[i] + c->conv.low[i] + c->conv.high[i])
            return false;
    }
    return true;
}

static int64_t count_steps(const conv_case *c)
{
    int64_t steps = c->n * c->channels * c->filters;
    for (int i = 0; i < c->n_spatial; i++)
        steps *= (c->extent[i] + c->conv.low[i] + c->conv.high[i]) *
                 c->window[i] *
                 (c->kind == KIND_TRANSPOSE ? c->conv.stride[i] : 1);
    return steps;
}

static void draw_case(uint64_t *state, conv_case *c)
{
    static const int64_t channels[] = {1, 2, 3, 4, 5, 8, 16, 17, 33, 64};
    static const int64_t filters[] = {1, 2, 3, 8, 10, 16, 17, 32, 40, 65};
    static const tg_dtype dtypes[] = {TG_F32, TG_F32, TG_F32, TG_F64, TG_I32};
    static const case_kind kinds[] = {
        KIND_CONV,     KIND_CONV,      KIND_CONV,     KIND_CONV,
        KIND_CONV,     KIND_TRANSPOSE, KIND_MAX_POOL, KIND_AVG_POOL,
        KIND_LP_POOL,  KIND_WINDOWS};
    *c = (conv_case){0};
    c->kind = kinds[next_random(state) % 10];
    c->end = next_random(state) % N_ENDS;
    c->dtype = dtypes[next_random(state) % 5];
    if (c->kind != KIND_CONV && c->kind != KIND_TRANSPOSE)
        c->dtype = TG_F32;
    c->n_spatial = (int)pick(state, 1, 3);
    c->n = pick(state, 0, 3);
    c->channels = pick_of(state, channels, 10);
    c->filters = pick_of(state, filters, 10);
    c->conv.struct_bytes = sizeof(c->conv);
    c->conv.padding = (tg_padding)(next_random(state) % 3);
    c->conv.layout = (tg_layout)(next_random(state) % 4 == 0);
    c->conv.groups = 1;
    const int64_t max_extent = c->n_spatial == 1   ? 40
                               : c->n_spatial == 2 ? 13
                                                   : 6;
    for (int i = 0; i < c->n_spatial; i++) {
        c->extent[i] = pick(state, 1, max_extent);
        c->window[i] = pick(state, 1, c->n_spatial == 3 ? 3 : 7);
        c->conv.stride[i] = pick(state, 1, 3);
        c->conv.dilation[i] = pick(state, 0, 4) ? 1 : pick(state, 2, 3);
        if (c->conv.padding == TG_PADDING_EXPLICIT) {
            c->conv.low[i] = pick(state, 0, 3);
            c->conv.high[i] = pick(state, 0, 3);
        }
    }
    switch (next_random(state) % 5) {
    case 0:
        c->conv.groups = c->channels; /* depthwise */
        c->filters = c->channels * (c->kind == KIND_CONV ? pick(state, 1, 2)
                                                         : 1);
        break;
    case 1:
        c->conv.groups = c->channels % 2 == 0 ? 2 : 1;
        c->filters += c->filters % c->conv.groups;
        break;
    default:
        break;
    }
    c->has_gradient = c->dtype != TG_I32 && next_random(state) % 3;
    c->is_open = next_random(state) % 3 == 0;
    c->is_variable = next_random(state) % 4 == 0;
    c->n_results = c->has_gradient ? 3 : 1;
    c->pool.struct_bytes = sizeof(c->pool);
    memcpy(c->pool.window, c->window, sizeof(c->window));
    memcpy(c->pool.stride, c->conv.stride, sizeof(c->conv.stride));
    memcpy(c->pool.dilation, c->conv.dilation, sizeof(c->conv.dilation));
    memcpy(c->pool.low, c->conv.low, sizeof(c->conv.low));
    memcpy(c->pool.high, c->conv.high, sizeof(c->conv.high));
    c->pool.padding = c->conv.padding;
    c->pool.layout = c->conv.layout;
    c->pool.counts_padding = next_random(state) % 2;
    c->pool.p = (double)pick(state, 0, 3);
}

/* Makes the last axis longer, unless the case would be too large. */
static void lengthen(uint64_t *state, conv_case *c)
{
    const conv_case before = *c;
    c->extent[c->n_spatial - 1] = pick(state, 1, MAX_LENGTH);
    if (!fits(c) || count_steps(c) > MAX_STEPS)
        *c = before;
}

static void make_case(uint64_t seed, uint64_t number, conv_case *c,
                      uint64_t *state)
{
    *state = seed * 0x2545f4914f6cdd1du ^ number;
    do
        draw_case(state, c);
    while (!fits(c) || count_steps(c) > MAX_STEPS);
    if (next_random(state) % 4 == 0)
        lengthen(state, c);
    set_dims(c);
}

static void print_case(const conv_case *c)
{
    static const char *const kinds[] = {"conv",     "transpose", "max_pool",
                                        "avg_pool", "lp_pool",   "windows"};
    printf("%s %s n=%" PRId64 " c=%" PRId64 " f=%" PRId64 " groups=%" PRId64
           " padding=%d layout=%d end=%d gradient=%d open=%d variable=%d",
           kinds[c->kind], tg_dtype_name(c->dtype), c->n, c->channels,
           c->filters, c->conv.groups, c->conv.padding, c->conv.layout, c->end,
           c->has_gradient, c->is_open, c->is_variable);
    for (int i = 0; i < c->n_spatial; i++)
        printf(" [%" PRId64 " window %" PRId64 " stride %" PRId64
               " dilation %" PRId64 " +%" PRId64 "+%" PRId64 "]",
               c->extent[i], c->window[i], c->conv.stride[i],
               c->conv.dilation[i], c->conv.low[i], c->conv.high[i]);
    printf("\n");
}

/* -- The traced function --------------------------------------------------- */

static tg_value build_windows(const conv_case *c, tg_value x)
{
    int axes[3];
    for (int i = 0; i < c->n_spatial; i++)
        axes[i] = i + 1 + (c->conv.layout == TG_CHANNELS_FIRST);
    tg_value padded = x;
    for (int i = 0; i < c->n_spatial; i++)
        padded = tg_pad(padded, axes[i], c->window[i] * c->conv.dilation[i],
                        c->conv.high[i], 0);
    return tg_windows(padded, c->n_spatial, axes, c->window, c->conv.stride,
                      c->conv.dilation);
}

static tg_value build_main(const conv_case *c, tg_value x, tg_value w)
{
    switch (c->kind) {
    case KIND_CONV:
        return tg_conv_at(TG_IN(x), TG_IN(w), c->n_spatial, &c->conv, TG_HERE);
    case KIND_TRANSPOSE:
        return tg_conv_transpose_at(TG_IN(x), TG_IN(w), c->n_spatial, &c->conv,
                                    TG_HERE);
    case KIND_MAX_POOL:
        return tg_max_pool_at(TG_IN(x), &c->pool, TG_HERE);
    case KIND_AVG_POOL:
        return tg_avg_pool_at(TG_IN(x), &c->pool, TG_HERE);
    case KIND_LP_POOL:
        return tg_lp_pool_at(TG_IN(x), &c->pool, TG_HERE);
    default:
        return build_windows(c, x);
    }
}

static tg_value build_end(const conv_case *c, tg_value y)
{
    switch (c->end) {
    case END_BIAS_RELU:
        return tg_max(tg_add(y, 1), 0);
    case END_RESIDUAL:
        return tg_add(tg_mul(y, 2), y);
    case END_POOL:
        return tg_add(y, tg_reduce_max(y, tg_keep(TG_AXES(1))));
    case END_SUM:
        return tg_sum(y, TG_AXES(0, -1));
    default:
        return y;
    }
}

static void callback(tg_trace *t, const tg_value *in, void *user)
{
    const conv_case *c = user;
    tg_value y = build_end(c, build_main(c, in[0], in[1]));
    if (!c->has_gradient) {
        tg_return(t, y);
        return;
    }
    /* Every element has another weight. */
    tg_value g[2], loss = tg_sum(tg_mul(y, tg_sin(tg_mul(y, 3))), TG_ALL_AXES);
    const tg_operand sources[] = {TG_IN(in[0]), TG_IN(in[1])};
    const tg_operand target = TG_IN(loss);
    tg_gradients_with_at(&target, 1, NULL, TG_UNCONNECTED_ZEROS, sources, 2, g,
                         TG_HERE);
    tg_return(t, y, g[0], g[1]);
}

/* -- Contents -------------------------------------------------------------- */

static size_t count_elements(int rank, const int64_t *dims)
{
    size_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= (size_t)dims[i];
    return n;
}

static tg_tensor *make_tensor(const conv_case *c, tg_context *ctx,
                              const int64_t *dims, uint64_t *state)
{
    const int rank = c->n_spatial + 2;
    tg_tensor *x = tg_tensor_create(ctx, c->dtype, rank, dims, tg_zeros());
    if (!x)
        return NULL;
    const size_t n = count_elements(rank, dims);
    for (size_t i = 0; i < n; i++) {
        const int64_t number = pick(state, -64, 64);
        if (c->dtype == TG_F32)
            ((float *)tg_tensor_data(x))[i] = (float)number / 37;
        else if (c->dtype == TG_F64)
            ((double *)tg_tensor_data(x))[i] = (double)number / 37;
        else
            ((int32_t *)tg_tensor_data(x))[i] = (int32_t)number;
    }
    return x;
}

/* -- The definition -------------------------------------------------------- */

static double element_at(const conv_case *c, const void *data, int64_t at)
{
    return c->dtype == TG_F32   ? (double)((const float *)data)[at]
           : c->dtype == TG_F64 ? ((const double *)data)[at]
                                : ((const int32_t *)data)[at];
}

/* One more step of a sum: block + a * b, or the wrapped sum of integers. */
static double accumulate(const conv_case *c, double a, double b, double sum)
{
    if (c->dtype == TG_F32)
        return (double)fmaf((float)a, (float)b, (float)sum);
    if (c->dtype == TG_F64)
        return fma(a, b, sum);
    return (double)(int32_t)((uint32_t)(int32_t)a * (uint32_t)(int32_t)b +
                             (uint32_t)(int32_t)sum);
}

static double add_block(const conv_case *c, double a, double b)
{
    if (c->dtype == TG_F32)
        return (double)((float)a + (float)b);
    return c->dtype == TG_F64
               ? a + b
               : (double)(int32_t)((uint32_t)(int32_t)a + (uint32_t)(int32_t)b);
}

/* The strides of [example, spatial …, channel], by layout. */
static void find_strides(const conv_case *c, const int64_t *dims,
                         int64_t *strides)
{
    const int d = c->n_spatial;
    int64_t in_memory[5], stride = 1;
    for (int i = d + 1; i >= 0; i--) {
        in_memory[i] = stride;
        stride *= dims[i];
    }
    const bool is_first = c->conv.layout == TG_CHANNELS_FIRST;
    strides[0] = in_memory[0];
    strides[d + 1] = in_memory[is_first ? 1 : d + 1];
    for (int i = 0; i < d; i++)
        strides[i + 1] = in_memory[i + 1 + is_first];
}

/* Element (example, point, filter) of a convolution. */
static double conv_element(const conv_case *c, const void *x, const void *w,
                           const int64_t *low, int64_t example,
                           const int64_t *point, int64_t filter)
{
    const int d = c->n_spatial;
    const bool is_first = c->conv.layout == TG_CHANNELS_FIRST;
    const int64_t of_group = c->channels / c->conv.groups;
    const int64_t group = filter / (c->filters / c->conv.groups);
    int64_t strides[5], elements = 1, k = 0;
    find_strides(c, c->x_dims, strides);
    for (int i = 0; i < d; i++)
        elements *= c->window[i];
    double sum = 0, block = 0;
    for (int64_t e = 0; e < elements; e++)
        for (int64_t channel = 0; channel < of_group; channel++, k++) {
            int64_t at = example * strides[0] +
                         (group * of_group + channel) * strides[d + 1];
            int64_t rest = e;
            bool is_inside = true;
            for (int i = d - 1; i >= 0; i--) {
                const int64_t position =
                    point[i] * c->conv.stride[i] +
                    rest % c->window[i] * c->conv.dilation[i] - low[i];
                is_inside &= position >= 0 && position < c->extent[i];
                at += position * strides[i + 1];
                rest /= c->window[i];
            }
            const int64_t of_w =
                is_first
                    ? (filter * of_group + channel) * elements + e
                    : (e * of_group + channel) * c->filters + filter;
            if (k % K_BLOCK == 0 && k > 0) {
                sum = k == K_BLOCK ? block : add_block(c, sum, block);
                block = 0;
            }
            block = accumulate(c, is_inside ? element_at(c, x, at) : 0,
                               element_at(c, w, of_w), block);
        }
    return k <= K_BLOCK ? block : add_block(c, sum, block);
}

/* True if the result of a plain convolution has the bits of its definition. */
static bool check_definition(const conv_case *c, const void *x, const void *w,
                             tg_tensor *y)
{
    const int d = c->n_spatial;
    int64_t dims[5], strides[5], low[3] = {0}, counts[3], points = 1;
    if (tg_tensor_rank(y) != d + 2)
        return false;
    for (int i = 0; i < d + 2; i++)
        dims[i] = tg_tensor_dims(y)[i];
    find_strides(c, dims, strides);
    for (int i = 0; i < d; i++) {
        const int64_t covered = (c->window[i] - 1) * c->conv.dilation[i] + 1;
        int64_t padding = c->conv.low[i] + c->conv.high[i];
        low[i] = c->conv.low[i];
        if (c->conv.padding == TG_PADDING_SAME) {
            const int64_t n = (c->extent[i] + c->conv.stride[i] - 1) /
                              c->conv.stride[i];
            padding = (n - 1) * c->conv.stride[i] + covered - c->extent[i];
            if (padding < 0)
                padding = 0;
            low[i] = padding / 2;
        }
        counts[i] =
            (c->extent[i] + padding - covered) / c->conv.stride[i] + 1;
        points *= counts[i];
        if (dims[i + 1 + (c->conv.layout == TG_CHANNELS_FIRST)] != counts[i])
            return false;
    }
    const size_t bytes = (size_t)tg_dtype_bytes(c->dtype);
    for (int64_t example = 0; example < c->n; example++)
        for (int64_t p = 0; p < points; p++)
            for (int64_t filter = 0; filter < c->filters; filter++) {
                int64_t point[3], rest = p;
                int64_t at = example * strides[0] + filter * strides[d + 1];
                for (int i = d - 1; i >= 0; i--) {
                    point[i] = rest % counts[i];
                    rest /= counts[i];
                    at += point[i] * strides[i + 1];
                }
                const double wanted =
                    conv_element(c, x, w, low, example, point, filter);
                const float as_float = (float)wanted;
                const int32_t as_integer = (int32_t)wanted;
                const void *bits = c->dtype == TG_F32 ? (const void *)&as_float
                                   : c->dtype == TG_F64
                                       ? (const void *)&wanted
                                       : (const void *)&as_integer;
                if (memcmp((const char *)tg_tensor_data(y) +
                               (size_t)at * bytes,
                           bits, bytes) != 0)
                    return false;
            }
    return true;
}

/* -- Checking -------------------------------------------------------------- */

typedef struct outcome {
    tg_context *ctx;
    tg_function *function;
    tg_tensor *x, *w, *results[MAX_RESULTS];
    tg_variable *variable; /* with the contents of w; or NULL */
} outcome;

static void release_outcome(outcome *o)
{
    for (int i = 0; i < MAX_RESULTS; i++)
        tg_tensor_release(o->results[i]);
    tg_tensor_release(o->x);
    tg_tensor_release(o->w);
    tg_variable_release(o->variable);
    tg_function_release(o->function);
    tg_context_release(o->ctx);
}

static bool call_case(const conv_case *c, outcome *o)
{
    const tg_operand args[] = {
        TG_IN(o->x), o->variable ? TG_IN(o->variable) : TG_IN(o->w)};
    if (c->n_results == 1)
        return tg_call(o->function, args, 2, TG_RESULTS(&o->results[0])) ==
               TG_OK;
    return tg_call(o->function, args, 2,
                   TG_RESULTS(&o->results[0], &o->results[1],
                              &o->results[2])) == TG_OK;
}

/* Makes the filters a variable. */
static bool make_variable(const conv_case *c, outcome *o)
{
    o->variable = tg_variable_create(o->ctx, "w", c->dtype, c->n_spatial + 2,
                                     c->w_dims, tg_zeros());
    return o->variable &&
           tg_variable_set(o->variable, tg_tensor_data(o->w),
                           tg_tensor_bytes(o->w)) == TG_OK;
}

static bool run_case(conv_case *c, uint64_t contents, const char *jit,
                     int threads, int bits, outcome *o)
{
    *o = (outcome){0};
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = jit;
    options.threads = threads;
    options.vector_bits = bits;
    options.cache = "off";
    options.compile = "eager";
    o->ctx = tg_context_create(&options);
    if (!o->ctx)
        return false;
    tg_spec specs[2];
    int64_t open[5];
    const int rank = c->n_spatial + 2;
    const bool is_first = c->conv.layout == TG_CHANNELS_FIRST;
    for (int i = 0; i < rank; i++)
        open[i] = c->is_open && i != (is_first ? 1 : rank - 1)
                      ? TG_UNKNOWN
                      : c->x_dims[i];
    specs[0] = tg_spec_tensor(c->dtype, rank, open);
    specs[1] = c->is_variable ? tg_spec_variable(c->dtype, rank, c->w_dims)
                              : tg_spec_tensor(c->dtype, rank, c->w_dims);
    tg_function_options function = TG_FUNCTION_OPTIONS_INIT;
    function.signature = specs;
    function.n_signature = 2;
    o->function = tg_function_create(o->ctx, callback, c, &function);
    o->x = make_tensor(c, o->ctx, c->x_dims, &contents);
    o->w = make_tensor(c, o->ctx, c->w_dims, &contents);
    if (!o->function || !o->x || !o->w)
        return false;
    if (!c->is_variable)
        return call_case(c, o);
    /* Twice: the second call finds memoised panels. */
    return make_variable(c, o) && call_case(c, o) && call_case(c, o);
}

/* Of a NaN, which the mean of padding is, only that it is one. */
static bool has_same_bits(tg_tensor *a, tg_tensor *b)
{
    if (tg_tensor_dtype(a) == TG_F32 &&
        tg_tensor_bytes(a) == tg_tensor_bytes(b)) {
        const float *x = tg_tensor_data(a), *y = tg_tensor_data(b);
        for (size_t i = 0; i < tg_tensor_bytes(a) / sizeof(*x); i++)
            if (memcmp(&x[i], &y[i], sizeof(*x)) != 0 &&
                !(isnan(x[i]) && isnan(y[i]))) {
                printf("element %zu: %a, not %a\n", i, (double)x[i],
                       (double)y[i]);
                return false;
            }
        return true;
    }
    return tg_tensor_bytes(a) == tg_tensor_bytes(b) &&
           memcmp(tg_tensor_data(a), tg_tensor_data(b),
                  tg_tensor_bytes(a)) == 0;
}

static bool compare_with(conv_case *c, uint64_t contents,
                         const outcome *wanted, int threads, int bits)
{
    outcome o;
    bool is_ok = run_case(c, contents, "required", threads, bits, &o);
    if (!is_ok)
        printf("%d threads, %d bits: %s\n", threads, bits, tg_error(NULL));
    for (int i = 0; is_ok && i < c->n_results; i++) {
        is_ok = has_same_bits(o.results[i], wanted->results[i]);
        if (!is_ok)
            printf("%d threads, %d bits: result %d differs\n", threads, bits,
                   i);
    }
    release_outcome(&o);
    return is_ok;
}

static bool check_case(conv_case *c, uint64_t contents)
{
    static const int threads[] = {1, 2, 3, 7};
    static const int widths[] = {128, 256, 512};
    outcome wanted;
    const int n_widths = __builtin_cpu_supports("avx512dq") ? 3 : 2;
    bool is_ok = run_case(c, contents, "off", 1, 0, &wanted);
    if (!is_ok)
        printf("interpreted: %s\n", tg_error(NULL));
    if (is_ok && c->kind == KIND_CONV && c->end == END_NONE &&
        !check_definition(c, tg_tensor_data(wanted.x), tg_tensor_data(wanted.w),
                          wanted.results[0])) {
        printf("the interpreted result is not that of the definition\n");
        is_ok = false;
    }
    for (int i = 0; is_ok && i < n_widths; i++)
        is_ok = compare_with(c, contents, &wanted,
                             threads[(contents + (uint64_t)i) % 4], widths[i]);
    release_outcome(&wanted);
    return is_ok;
}

typedef struct options {
    uint64_t seed, count, only, max_failures;
    bool is_only;
    int n_jobs;
} options;

static bool check_number(const void *user, uint64_t number, void *tally)
{
    const options *o = user;
    conv_case c;
    uint64_t state;
    make_case(o->seed, number, &c, &state);
    ++*(uint64_t *)tally;
    if (o->is_only)
        print_case(&c);
    if (check_case(&c, state))
        return true;
    print_case(&c);
    printf("FAILED sweep-conv --seed %" PRIu64 " --only %" PRIu64 "\n", o->seed,
           number);
    fflush(stdout);
    return false;
}

static void report_crash(const void *user, uint64_t number, int status)
{
    const options *o = user;
    if (!WIFEXITED(status) || number == o->count)
        printf("FAILED sweep-conv --seed %" PRIu64 " --only %" PRIu64
               "   # status %d\n",
               o->seed, number, status);
}

static void add_tally(void *sum, const void *tally)
{
    *(uint64_t *)sum += *(const uint64_t *)tally;
}

/* -- The program ----------------------------------------------------------- */

static int usage(void)
{
    fputs("usage: sweep-conv [--seed S] [--count N] [--only K] [--failures N]\n"
          "           [--jobs N]\n",
          stderr);
    return 2;
}

static bool parse_value(const char *name, const char *value, options *o)
{
    if (strcmp(name, "--seed") == 0)
        o->seed = strtoull(value, NULL, 0);
    else if (strcmp(name, "--count") == 0)
        o->count = strtoull(value, NULL, 0);
    else if (strcmp(name, "--only") == 0)
        o->only = strtoull(value, NULL, 0), o->is_only = true;
    else if (strcmp(name, "--failures") == 0)
        o->max_failures = strtoull(value, NULL, 0);
    else if (strcmp(name, "--jobs") == 0)
        return (o->n_jobs = atoi(value)) >= 1 && o->n_jobs <= WORKERS_MAX;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    options o = {.seed = 1,
                 .count = 300,
                 .max_failures = 20,
                 .n_jobs = workers_default_jobs()};
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc || !parse_value(argv[i], argv[i + 1], &o)) {
            argument_is_wrong("sweep-conv", argc, argv, i);
            return usage();
        }
    uint64_t n_passed = 0, n_failed = 0, tally = 0;
    wait_passively(argv);
    char text[1024];
    if (!tgi_jit_describe(text, sizeof(text))) {
        printf("%s\n", text);
        return SKIPPED;
    }
    setenv("TGJIT_GRAIN", "0", true);
    setenv("TGJIT_VERIFY", "1", true);
    instrument_compiled_code();
    if (o.is_only) {
        n_failed = !check_number(&o, o.only, &tally);
        n_passed = !n_failed;
    } else {
        const workers w = {.count = o.count,
                           .max_failures = o.max_failures,
                           .n_jobs = o.n_jobs,
                           .seconds = MAX_SECONDS,
                           .user = &o,
                           .check = check_number,
                           .tally_bytes = sizeof(tally),
                           .report = report_crash,
                           .add = add_tally};
        workers_run(&w, &tally, &n_passed, &n_failed);
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", n_passed, n_failed);
    return n_failed ? 1 : 0;
}
