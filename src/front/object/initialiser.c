/* SPDX-License-Identifier: MIT */
/*
 * initialiser.c - initial contents of variables and tensors. Everything but
 * zeros and given data is a small graph run by the interpreter: a variable
 * filled with random numbers holds what the operations would return.
 */
#include "front/object/initialiser.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/fpenv.h"
#include "base/hash.h"
#include "build/build.h"
#include "front/object/context_object.h"
#include "interp/interp.h"

enum {
    /* Draws for a truncated normal value. All of them exceed two deviations
       with probability 9e-9; then the last one is clamped. */
    TRUNCATED_DRAWS = 6
};

/* Standard deviation of a standard normal truncated to [-2, 2]. */
#define TRUNCATED_DEVIATION 0.87962566103423978

/* -- Graphs ---------------------------------------------------------------- */

static tgi_ref float_constant(tgi_builder *b, tg_dtype dtype, double value)
{
    return tgi_build_number(b, dtype, dtype,
                            (tgi_number){TGI_NUMBER_FLOAT, {.f = value}});
}

static tgi_ref u64_constant(tgi_builder *b, uint64_t value)
{
    return tgi_build_number(b, TG_U64, TG_U64,
                            (tgi_number){TGI_NUMBER_UINT, {.u = value}});
}

/* Random numbers of the shape of `spec`: those of draw number `draw`. */
static tgi_ref random_draw(tgi_builder *b, bool is_normal,
                           const tgi_spec *spec, uint64_t seed, int draw)
{
    const uint64_t offset = (uint64_t)draw * (uint64_t)spec->count *
                            (uint64_t)tgi_random_words(spec->dtype, is_normal);
    const tgi_ref key = u64_constant(b, seed);
    return tgi_build_random(b, is_normal, spec->dtype, key,
                            u64_constant(b, offset), spec->rank, spec->dims);
}

/* random * scale + shift */
static tgi_ref scaled(tgi_builder *b, const tgi_spec *spec, tgi_ref random,
                      double scale, double shift)
{
    const tgi_ref product = tgi_build_2(b, TGI_OP_MUL, random,
                                        float_constant(b, spec->dtype, scale));
    return tgi_build_2(b, TGI_OP_ADD, product,
                       float_constant(b, spec->dtype, shift));
}

/* Standard normal numbers in [-2, 2]: the first draw that lies there. */
static tgi_ref truncated_normal(tgi_builder *b, const tgi_spec *spec,
                                uint64_t seed)
{
    const tgi_ref low = float_constant(b, spec->dtype, -2);
    const tgi_ref high = float_constant(b, spec->dtype, 2);
    tgi_ref value =
        random_draw(b, true, spec, seed, TRUNCATED_DRAWS - 1);
    value = tgi_build_2(b, TGI_OP_MIN, tgi_build_2(b, TGI_OP_MAX, value, low),
                        high);
    for (int draw = TRUNCATED_DRAWS - 1; draw-- > 0;) {
        const tgi_ref random = random_draw(b, true, spec, seed, draw);
        const tgi_ref is_inside = tgi_build_2(
            b, TGI_OP_LE, tgi_build_1(b, TGI_OP_ABS, random), high);
        value = tgi_build_3(b, TGI_OP_SELECT, is_inside, random, value);
    }
    return value;
}

/* The variance that an initialiser with variance scaling gives. */
static double scaled_variance(const tgi_spec *spec, const tg_initial *initial)
{
    double field = 1; /* receptive field of a convolution kernel */
    for (int axis = 0; axis + 2 < spec->rank; axis++)
        field *= (double)spec->dims[axis];
    const double last = spec->rank ? (double)spec->dims[spec->rank - 1] : 1;
    const double fan_out = field * last;
    const double fan_in =
        spec->rank > 1 ? field * (double)spec->dims[spec->rank - 2] : last;
    const double fan = (int)initial->b == TG_FAN_AVERAGE
                           ? (fan_in + fan_out) / 2
                           : fan_in;
    return initial->a / fmax(fan, 1);
}

/* The node that computes the initial value, or 0. */
static tgi_ref build_initial(tgi_builder *b, const tgi_spec *spec,
                             const tg_initial *initial, uint64_t seed)
{
    const double low = initial->a, high = initial->b;
    switch (initial->kind) {
    case TG_INITIAL_UNIFORM:
        return scaled(b, spec, random_draw(b, false, spec, seed, 0),
                      high - low, low);
    case TG_INITIAL_NORMAL:
        return scaled(b, spec, random_draw(b, true, spec, seed, 0),
                      initial->b, initial->a);
    case TG_INITIAL_TRUNCATED_NORMAL:
        return scaled(b, spec, truncated_normal(b, spec, seed), initial->b,
                      initial->a);
    case TG_INITIAL_SCALED_UNIFORM: {
        const double limit = sqrt(3 * scaled_variance(spec, initial));
        return scaled(b, spec, random_draw(b, false, spec, seed, 0),
                      2 * limit, -limit);
    }
    case TG_INITIAL_SCALED_NORMAL: {
        const tgi_ref random = truncated_normal(b, spec, seed);
        return tgi_build_2(
            b, TGI_OP_MUL, random,
            float_constant(b, spec->dtype,
                           sqrt(scaled_variance(spec, initial)) /
                               TRUNCATED_DEVIATION));
    }
    default: /* TG_INITIAL_NUMBER */
        return tgi_build_broadcast(
            b, float_constant(b, spec->dtype, initial->a), spec->rank,
            spec->dims);
    }
}

/* Builds the graph of an initialiser and runs it. */
static tg_status run_initial(tg_context *ctx, const char *who,
                             const tgi_spec *spec, const tg_initial *initial,
                             uint64_t seed, void *out_data)
{
    tgi_graph *graph = tgi_graph_create("initial", NULL);
    if (!graph)
        return TG_ERROR_OUT_OF_MEMORY;
    tgi_builder b = {.graph = graph, .op_name = who};
    tgi_interp *interp = NULL;
    uint32_t mode = tgi_fpenv_begin();
    tgi_ref ref = build_initial(&b, spec, initial, seed);
    tg_status status = ref && tgi_graph_add_result(graph, ref)
                           ? TG_OK
                           : tg_error_last()->status;
    if (!status)
        status = tgi_interp_create(graph, NULL, &ctx->host, ctx->memory_limit,
                                   &interp);
    if (!status)
        status = tgi_interp_run(interp, NULL, &out_data);
    tgi_fpenv_end(mode);
    tgi_interp_destroy(interp);
    tgi_graph_release(graph);
    return status;
}

/* -- Orthogonal matrices --------------------------------------------------- */

static tg_status fill_orthogonal(tg_context *ctx, const char *who,
                                 const tgi_spec *spec,
                                 const tg_initial *initial, uint64_t seed,
                                 void *out_data)
{
    if (!spec->count)
        return TG_OK;
    const int64_t columns = spec->dims[spec->rank - 1];
    tgi_spec wide = *spec;
    wide.dtype = TG_F64;
    double *matrix = tgi_alloc((size_t)spec->count * sizeof(*matrix));
    if (!matrix)
        return tgi_error_memory();
    const tg_initial normal = tg_normal(0, 1);
    tg_status status = run_initial(ctx, who, &wide, &normal, seed, matrix);
    const uint32_t mode = tgi_fpenv_begin();
    if (!status && !tgi_orthogonalise(matrix, spec->count / columns, columns,
                                      initial->a))
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                               "%s: the random matrix of seed %llu is "
                               "singular; use another seed",
                               who, (unsigned long long)seed);
    for (int64_t i = 0; i < spec->count && !status; i++)
        tgi_dtype_store(spec->dtype,
                        (tgi_number){TGI_NUMBER_FLOAT, {.f = matrix[i]}},
                        (char *)out_data + i * tgi_dtype_bytes(spec->dtype));
    tgi_fpenv_end(mode);
    tgi_free(matrix);
    return status;
}

/* -- Filling --------------------------------------------------------------- */

static tg_status check_initial(const char *who, const tgi_spec *spec,
                               const tg_initial *initial)
{
    if ((unsigned)initial->kind > TG_INITIAL_UNSET)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "%s: %d is not a kind of initial value", who,
                 (int)initial->kind);
    if (initial->kind == TG_INITIAL_DATA && !initial->data && spec->bytes)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "%s: the initial data is NULL", who);
    if (initial->kind >= TG_INITIAL_UNIFORM &&
        initial->kind <= TG_INITIAL_ORTHOGONAL &&
        !tgi_dtype_is(spec->dtype, TGI_CLASS_REAL))
        TGI_FAIL(TG_ERROR_DTYPE, TGI_NO_SITE,
                 "%s: a random initial value needs a float dtype, not %s", who,
                 tg_dtype_name(spec->dtype));
    if (initial->kind == TG_INITIAL_ORTHOGONAL && spec->rank < 2)
        TGI_FAIL(TG_ERROR_SHAPE, TGI_NO_SITE,
                 "%s: an orthogonal initial value needs rank 2 or more, not "
                 "%d",
                 who, spec->rank);
    return TG_OK;
}

tg_status tgi_initial_fill(tg_context *ctx, const char *who,
                           const tgi_spec *spec, const tg_initial *initial,
                           const char *name, void *out_data)
{
    TGI_TRY(check_initial(who, spec, initial));
    const uint64_t seed = initial->has_seed
                              ? initial->seed
                              : tgi_hash(name, strlen(name), ctx->seed);
    switch (initial->kind) {
    case TG_INITIAL_ZEROS:
        memset(out_data, 0, (size_t)spec->bytes);
        return TG_OK;
    case TG_INITIAL_UNSET:
        return TG_OK;
    case TG_INITIAL_DATA:
        if (spec->bytes)
            memcpy(out_data, initial->data, (size_t)spec->bytes);
        return TG_OK;
    case TG_INITIAL_ORTHOGONAL:
        return fill_orthogonal(ctx, who, spec, initial, seed, out_data);
    default:
        return run_initial(ctx, who, spec, initial, seed, out_data);
    }
}
