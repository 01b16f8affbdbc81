/* SPDX-License-Identifier: MIT */
/*
 * ops_distribution.c - random numbers of other distributions, computed from
 * uniform and normal ones. Every element uses its own words of the stream, so
 * that draws do not depend on threads or on how the work is divided. A
 * rejection draws a fixed number of candidates, because a generator advances by
 * a number of words that is known before.
 */
#include <math.h>

#include "build/build_formula.h"
#include "front/ops/ops_random.h"
#include "front/ops/ops_sort.h"
#include "tgjit/ops_random.h"

enum { TRUNCATED_DRAWS = 6, GAMMA_DRAWS = 8 };

/* A draw of several numbers per element, of one shape. */
typedef struct draws {
    tgi_operation *o;
    tgi_random_stream stream;
    tg_dtype dtype;
    int rank;
    const int64_t *dims;
    tgi_dim used; /* words, of all elements */
} draws;

static bool begin_draws(draws *d, tgi_operation *o, tg_operand source,
                        tg_dtype dtype, int64_t words_per_element, int rank,
                        const int64_t *dims)
{
    *d = (draws){.o = o, .dtype = dtype, .rank = rank, .dims = dims};
    return tgi_random_draw(o, source, words_per_element, rank, dims,
                           &d->stream);
}

/* Uniform or normal numbers from the words that follow those used. */
static tgi_ref next_draw(draws *d, bool is_normal)
{
    tgi_builder *b = &d->o->b;
    tgi_dims *table = b->graph->dims;
    const tgi_shape_ref shape = tgi_build_shape(b, d->rank, d->dims);
    if (!shape)
        return 0;
    tgi_ref offset = d->stream.offset;
    if (d->used)
        offset = ADD(offset,
                     tgi_build_cast(b, tgi_build_extent(b, d->used), TG_U64));
    const tgi_dim words =
        tgi_dim_mul(table, tgi_dim_product(table, tgi_shape_of(table, shape)),
                    tgi_random_words(d->dtype, is_normal));
    d->used = tgi_build_dim(b, tgi_dim_add(table, d->used, words));
    if (d->used == TGI_DIM_NONE)
        return 0;
    return tgi_build_random(b, is_normal, d->dtype, d->stream.key, offset,
                            d->rank, d->dims);
}

/* A parameter as f32 or f64 of the shape; 0 on error. Sets the dtype: that of
   the parameter, f32 for a plain number. */
static tgi_ref shaped_parameter(tgi_operation *o, tg_operand operand, int rank,
                                const int64_t *dims, tg_dtype *out_dtype)
{
    tgi_builder *b = &o->b;
    tgi_ref x = tgi_operation_operand(o, operand);
    if (!x)
        return 0;
    if (tgi_build_weakness(b, x))
        x = tgi_build_adapt(b, x, TG_F32);
    if (!tgi_build_require_float(b, x))
        return 0;
    *out_dtype = (tg_dtype)tgi_graph_node(b->graph, x)->dtype;
    return BUILD_1(STOP, tgi_build_broadcast(b, x, rank, dims));
}

/* -- Normal and uniform ---------------------------------------------------- */

static tgi_ref build_truncated(draws *d)
{
    tgi_builder *b = &d->o->b;
    tgi_ref candidates[TRUNCATED_DRAWS];
    for (int i = 0; i < TRUNCATED_DRAWS; i++)
        if (!(candidates[i] = next_draw(d, true)))
            return 0;
    tgi_ref value = candidates[TRUNCATED_DRAWS - 1];
    tgi_ref high = tgi_build_number_like(b, value, 2);
    value = MIN(MAX(value, NEG(high)), high);
    for (int i = TRUNCATED_DRAWS - 1; i-- > 0;)
        value = SELECT(LE(ABS(candidates[i]), high), candidates[i], value);
    return value;
}

tg_value tg_random_truncated_normal_at(tg_operand source, tg_dtype dtype,
                                       int rank, const int64_t *dims,
                                       tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    draws d;
    if (tgi_operation_begin_wide(&o, "random_truncated_normal", site) &&
        tgi_random_check_dtype(&o, dtype) &&
        begin_draws(&d, &o, source, dtype,
                    TRUNCATED_DRAWS * tgi_random_words(dtype, true), rank,
                    dims))
        result = build_truncated(&d);
    return tgi_operation_end(&o, result);
}

tg_value tg_random_bernoulli_at(tg_operand source, tg_operand p, int rank,
                                const int64_t *dims, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    draws d;
    if (tgi_operation_begin_wide(&o, "random_bernoulli", site)) {
        tgi_builder *b = &o.b;
        tg_dtype dtype;
        tgi_ref limit = shaped_parameter(&o, p, rank, dims, &dtype);
        if (limit && begin_draws(&d, &o, source, dtype,
                                 tgi_random_words(dtype, false), rank, dims))
            result = LT(next_draw(&d, false), limit);
    }
    return tgi_operation_end(&o, result);
}

/* -- Integers -------------------------------------------------------------- */

/*
 * The upper 32 bits of 64 random bits, as a fraction, times the number of
 * integers n <= 2^32: of high n + (low n >> 32), which fits 64 bits.
 */
static tgi_ref build_integers(tgi_operation *o, const tgi_random_stream *s,
                              tg_dtype dtype, int64_t low, uint64_t n, int rank,
                              const int64_t *dims)
{
    tgi_builder *b = &o->b;
    tgi_ref bits =
        tgi_build_random_bits(b, TG_U64, s->key, s->offset, rank, dims);
    if (!bits)
        return 0;
    tgi_ref count = tgi_build_number(b, TG_U64, TG_U64,
                                     (tgi_number){TGI_NUMBER_UINT, {.u = n}});
    tgi_ref shift = tgi_build_number_like(b, bits, 32);
    tgi_ref mask = tgi_build_number_like(b, bits, UINT32_MAX);
    tgi_ref lower = BUILD_2(SHR, MUL(AND(bits, mask), count), shift);
    tgi_ref upper = MUL(BUILD_2(SHR, bits, shift), count);
    tgi_ref position = BUILD_2(SHR, ADD(upper, lower), shift);
    tgi_ref first = tgi_build_number(b, TG_I64, TG_I64,
                                     (tgi_number){TGI_NUMBER_INT, {.i = low}});
    return tgi_build_cast(b, ADD(tgi_build_cast(b, position, TG_I64), first),
                          dtype);
}

/* True if the dtype holds low and high - 1; else an error. */
static bool check_range(tgi_builder *b, tg_dtype dtype, int64_t low,
                        int64_t high)
{
    char element[8];
    if (!tgi_dtype_is_valid((int)dtype) ||
        !tgi_dtype_is((int)dtype, TGI_CLASS_INT))
        return tgi_build_fail(b, TG_ERROR_DTYPE, NULL, 0,
                              "needs an integer type, not %s",
                              tg_dtype_name(dtype));
    if (low >= high || (uint64_t)high - (uint64_t)low > UINT64_C(1) << 32 ||
        !tgi_dtype_store(dtype, (tgi_number){TGI_NUMBER_INT, {.i = low}},
                         element) ||
        !tgi_dtype_store(dtype, (tgi_number){TGI_NUMBER_INT, {.i = high - 1}},
                         element))
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              "%s has no 1 to 2^32 integers from %lld to below "
                              "%lld",
                              tg_dtype_name(dtype), (long long)low,
                              (long long)high);
    return true;
}

tg_value tg_random_integers_at(tg_operand source, tg_dtype dtype, int64_t low,
                               int64_t high, int rank, const int64_t *dims,
                               tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    tgi_random_stream s;
    if (tgi_operation_begin_wide(&o, "random_integers", site) &&
        check_range(&o.b, dtype, low, high) &&
        tgi_random_draw(&o, source, 2, rank, dims, &s))
        result = build_integers(&o, &s, dtype, low,
                                (uint64_t)high - (uint64_t)low, rank, dims);
    return tgi_operation_end(&o, result);
}

tg_value tg_random_permutation_at(tg_operand source, int64_t n, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    tgi_random_stream s;
    if (tgi_operation_begin_wide(&o, "random_permutation", site) &&
        tgi_build_shape(&o.b, 1, &n) &&
        tgi_random_draw(&o, source, 2, 1, &n, &s)) {
        tgi_ref bits =
            tgi_build_random_bits(&o.b, TG_U64, s.key, s.offset, 1, &n);
        result = tgi_build_argsort(&o, bits, 0, false);
    }
    return tgi_operation_end(&o, result);
}

/* -- Classes --------------------------------------------------------------- */

/* The maximum of logits plus Gumbel noise, -log(-log(u)) with u in (0, 1). */
tg_value tg_random_categorical_at(tg_operand source, tg_operand logits,
                                  tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    draws d;
    if (tgi_operation_begin_wide(&o, "random_categorical", site)) {
        tgi_builder *b = &o.b;
        tgi_ref x =
            tgi_build_require_float(b, tgi_operation_operand(&o, logits));
        if (x && tgi_build_axis(b, x, -1) >= 0) {
            const tgi_shape *shape = tgi_graph_shape(b->graph, x);
            const tg_dtype dtype = (tg_dtype)tgi_graph_node(b->graph, x)->dtype;
            if (begin_draws(&d, &o, source, dtype,
                            tgi_random_words(dtype, false), shape->rank,
                            shape->dims)) {
                tgi_ref u = next_draw(&d, false);
                /* Half a unit keeps 0 and 1 out. */
                const double half = dtype == TG_F32 ? 0x1p-25 : 0x1p-54;
                tgi_ref noise = NEG(
                    LOG(NEG(LOG(MAX(u, tgi_build_number_like(b, x, half))))));
                result =
                    tgi_build_arg_reduce(b, TGI_OP_ARGMAX, ADD(x, noise), -1);
            }
        }
    }
    return tgi_operation_end(&o, result);
}

/* -- Gamma ----------------------------------------------------------------- */

/*
 * Marsaglia and Tsang: with d = a - 1/3 and c = 1 / (3 sqrt(d)), a normal x
 * gives d v, v = (1 + c x)³, if v > 0 and log(u) < x²/2 + d - d v + d log(v).
 * That is for a >= 1; smaller ones take a + 1, and u^(1/a) as a factor.
 */
static tgi_ref build_gamma(draws *s, tgi_ref alpha)
{
    tgi_builder *b = &s->o->b;
    tgi_ref zero = tgi_build_number_like(b, alpha, 0);
    tgi_ref one = tgi_build_number_like(b, alpha, 1);
    tgi_ref half = tgi_build_number_like(b, alpha, 0.5);
    tgi_ref is_small = LT(alpha, one);
    tgi_ref a = SELECT(is_small, ADD(alpha, one), alpha);
    tgi_ref d = SUB(a, tgi_build_number_like(b, alpha, 1.0 / 3));
    tgi_ref c = DIV(tgi_build_number_like(b, alpha, 1.0 / 3), SQRT(d));
    tgi_ref value = 0, candidates[GAMMA_DRAWS], accepted[GAMMA_DRAWS];
    for (int i = 0; i < GAMMA_DRAWS; i++) {
        tgi_ref x = next_draw(s, true);
        tgi_ref u = SUB(one, next_draw(s, false)); /* in (0, 1] */
        tgi_ref root = ADD(MUL(c, x), one);
        tgi_ref v = MUL(MUL(root, root), root);
        tgi_ref is_positive = LT(zero, v);
        tgi_ref safe = SELECT(is_positive, v, one);
        tgi_ref limit = MUL(MUL(x, x), half);
        limit = ADD(limit, MUL(d, ADD(SUB(one, safe), LOG(safe))));
        candidates[i] = MUL(d, safe);
        accepted[i] = AND(is_positive, LT(LOG(u), limit));
    }
    value = candidates[GAMMA_DRAWS - 1];
    for (int i = GAMMA_DRAWS - 1; i-- > 0;)
        value = SELECT(accepted[i], candidates[i], value);
    tgi_ref u = SUB(one, next_draw(s, false));
    value = MUL(value, SELECT(is_small, POW(u, DIV(one, alpha)), one));
    return SELECT(LT(zero, alpha), value, tgi_build_number_like(b, alpha, (double)NAN));
}

tg_value tg_random_gamma_at(tg_operand source, tg_operand alpha, int rank,
                            const int64_t *dims, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    draws d;
    if (tgi_operation_begin_wide(&o, "random_gamma", site)) {
        tg_dtype dtype;
        tgi_ref a = shaped_parameter(&o, alpha, rank, dims, &dtype);
        if (a &&
            begin_draws(&d, &o, source, dtype,
                        GAMMA_DRAWS * tgi_random_words(dtype, true) +
                            (GAMMA_DRAWS + 1) * tgi_random_words(dtype, false),
                        rank, dims))
            result = build_gamma(&d, a);
    }
    return tgi_operation_end(&o, result);
}
