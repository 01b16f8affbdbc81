/* SPDX-License-Identifier: MIT */
/*
 * op_random.c - random numbers. A node with a seed draws the same numbers in
 * every call, those of a stream of its own; other nodes draw from the generator
 * of the model, which each call advances. The numbers are not those of other
 * implementations.
 */
#include <string.h>

#include "onnx_known.h"

/* A key, or the generator. */
static tg_operand source(const tgi_onnx_call *c)
{
    if (!tgi_onnx_attribute(c, "seed"))
        return tg_in_variable(c->frame->shared->generator);
    const Onnx__AttributeProto *seed = tgi_onnx_attribute(c, "seed");
    uint32_t bits;
    memcpy(&bits, &seed->f, sizeof(bits)); /* of Dropout: an integer */
    return tg_in_u64((uint64_t)bits + (uint64_t)seed->i);
}

/* The dtype that the attribute names, or `otherwise`; of floats. */
static tg_dtype float_dtype(const tgi_onnx_call *c, tg_dtype otherwise)
{
    const int32_t code = (int32_t)tgi_onnx_int(c, "dtype", 0);
    const tg_dtype dtype = code ? tgi_onnx_dtype(code) : otherwise;
    if (!tgi_onnx_is_float(dtype))
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "random numbers of dtype %s",
                      tg_dtype_name(dtype));
    return dtype;
}

typedef tg_value draw(tg_operand source, tg_dtype dtype, int rank,
                      const int64_t *dims, tg_site site);

/* first + factor * the random numbers */
static void build_random(const tgi_onnx_call *c, draw *f, tg_dtype dtype,
                         int rank, const int64_t *dims, double first,
                         double factor)
{
    if (tgi_onnx_failed(c))
        return;
    const tg_value x = f(source(c), dtype, rank, dims, c->site);
    tgi_onnx_out(c, 0,
                 F2(add, F2(mul, x, tgi_onnx_scalar_like(c, x, factor)),
                    tgi_onnx_scalar_like(c, x, first)));
}

static void build_normal(const tgi_onnx_call *c, tg_dtype dtype, int rank,
                         const int64_t *dims)
{
    build_random(c, tg_random_normal_at, dtype, rank, dims,
                 tgi_onnx_float(c, "mean", 0), tgi_onnx_float(c, "scale", 1));
}

static void build_uniform(const tgi_onnx_call *c, tg_dtype dtype, int rank,
                          const int64_t *dims)
{
    const double low = tgi_onnx_float(c, "low", 0);
    build_random(c, tg_random_uniform_at, dtype, rank, dims, low,
                 tgi_onnx_float(c, "high", 1) - low);
}

typedef void build_numbers(const tgi_onnx_call *c, tg_dtype dtype, int rank,
                           const int64_t *dims);

static void build_shaped(const tgi_onnx_call *c, build_numbers *build)
{
    size_t n;
    const int64_t *dims = tgi_onnx_ints(c, "shape", &n);
    if (n > TG_MAX_RANK)
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "%zu axes", n);
    else
        build(c, float_dtype(c, TG_F32), (int)n, dims);
}

static void build_like(const tgi_onnx_call *c, build_numbers *build)
{
    const tg_value x = tgi_onnx_in(c, 0);
    int64_t dims[TG_MAX_RANK];
    const int rank = tgi_onnx_dims(x, dims);
    if (!tgi_onnx_failed(c))
        build(c, float_dtype(c, tg_value_dtype(x)), rank, dims);
}

void tgi_onnx_build_random_normal(const tgi_onnx_call *c)
{
    build_shaped(c, build_normal);
}

void tgi_onnx_build_random_normal_like(const tgi_onnx_call *c)
{
    build_like(c, build_normal);
}

void tgi_onnx_build_random_uniform(const tgi_onnx_call *c)
{
    build_shaped(c, build_uniform);
}

void tgi_onnx_build_random_uniform_like(const tgi_onnx_call *c)
{
    build_like(c, build_uniform);
}

void tgi_onnx_build_bernoulli(const tgi_onnx_call *c)
{
    const tg_value p = tgi_onnx_in(c, 0);
    const int32_t code = (int32_t)tgi_onnx_int(c, "dtype", 0);
    const tg_dtype dtype = code ? tgi_onnx_dtype(code) : tg_value_dtype(p);
    int64_t dims[TG_MAX_RANK];
    const int rank = tgi_onnx_dims(p, dims);
    if (!dtype)
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "dtype %s is unsupported",
                      tgi_onnx_dtype_name(code));
    if (tgi_onnx_failed(c))
        return;
    const tg_value drawn =
        tg_random_bernoulli_at(source(c), TG_IN(p), rank, dims, c->site);
    tgi_onnx_out(c, 0, tg_cast_at(TG_IN(drawn), dtype, c->site));
}

/* Classes by unnormalised log-probabilities [batch, class]. */
void tgi_onnx_build_multinomial(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    const int64_t n = tgi_onnx_int(c, "sample_size", 1);
    const tg_dtype dtype = tgi_onnx_dtype((int32_t)tgi_onnx_int(c, "dtype", 6));
    if (tgi_onnx_in_rank(c, 0) != 2 || (dtype != TG_I32 && dtype != TG_I64)) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "the input is not a matrix, or the "
                                         "dtype neither i32 nor i64");
        return;
    }
    const int64_t dims[] = {tg_value_dim(x, 0), n, tg_value_dim(x, 1)};
    const tg_value all = tg_broadcast_at(
        TG_IN(tg_expand_dims_at(TG_IN(x), 1, c->site)), 3, dims, c->site);
    const tg_value drawn =
        tg_random_categorical_at(source(c), TG_IN(all), c->site);
    tgi_onnx_out(c, 0, tg_cast_at(TG_IN(drawn), dtype, c->site));
}

/* -- Dropout --------------------------------------------------------------- */

static bool is_training(const tgi_onnx_call *c)
{
    if (c->opset >= 12)
        return tgi_onnx_has(c, 2) && tgi_onnx_known_int(c, 2);
    return c->opset < 7 && !tgi_onnx_int(c, "is_test", 0) &&
           tgi_onnx_attribute(c, "is_test");
}

/* x / (1 - ratio) where a random number says so, else 0; while training. */
void tgi_onnx_build_dropout(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    int64_t dims[TG_MAX_RANK];
    const int rank = tgi_onnx_dims(x, dims);
    const tg_dtype mask_dtype = c->opset < 10 ? tg_value_dtype(x) : TG_BOOL;
    const tg_value yes = tg_scalar_at(TG_BOOL, tg_in_bool(true), c->site);
    tg_value y = x;
    tg_value mask = tg_broadcast_at(TG_IN(yes), rank, dims, c->site);
    if (is_training(c) && !tgi_onnx_failed(c)) {
        const tg_value ratio =
            c->opset >= 12 && tgi_onnx_has(c, 1)
                ? tg_cast_at(TG_IN(tg_reshape_at(TG_IN(tgi_onnx_in(c, 1)), 0,
                                                 NULL, c->site)),
                             tg_value_dtype(x), c->site)
                : tgi_onnx_scalar_like(c, x, tgi_onnx_float(c, "ratio", 0.5));
        const tg_value kept =
            F2(sub, tgi_onnx_scalar_like(c, x, 1), ratio);
        mask = tg_random_bernoulli_at(source(c), TG_IN(kept), rank, dims,
                                      c->site);
        y = F3(select, mask, F2(div, x, kept), tgi_onnx_scalar_like(c, x, 0));
    }
    tgi_onnx_out(c, 0, y);
    tgi_onnx_out(c, 1, tg_cast_at(TG_IN(mask), mask_dtype, c->site));
}
