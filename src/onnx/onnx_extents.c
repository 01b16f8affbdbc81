/* SPDX-License-Identifier: MIT */
/*
 * onnx_extents.c - arithmetic on extents, which may be symbols, and the
 * operators that models compute shapes with.
 *
 * Sums, products and quotients of symbols are extents of values that are
 * composed for this purpose; nothing else uses them, so they vanish.
 */
#include <string.h>

#include "onnx_known.h"

/* -- Arithmetic ------------------------------------------------------------ */

tgi_onnx_extent tgi_onnx_extent_of(int64_t dim)
{
    return (tgi_onnx_extent){.n = dim, .is_symbol = !tg_dim_is_known(dim)};
}

/* A value of those extents. */
static tg_value of_extents(int rank, const int64_t *dims, tg_site site)
{
    return tg_broadcast_at(tg_in_bool(false), rank, dims, site);
}

static bool take_extent(tg_value x, tgi_onnx_extent *out)
{
    *out = tgi_onnx_extent_of(tg_value_dim(x, 0));
    return tg_is_valid(x);
}

tg_value tgi_onnx_extent_value(tgi_onnx_extent e, tg_site site)
{
    return e.is_symbol
               ? tg_extent_at(TG_IN(of_extents(1, &e.n, site)), 0, site)
               : tg_scalar_at(TG_I64, tg_in_i64(e.n), site);
}

static bool is_number(tgi_onnx_extent e, int64_t n)
{
    return !e.is_symbol && e.n == n;
}

bool tgi_onnx_extent_mul(tgi_onnx_extent a, tgi_onnx_extent b, tg_site site,
                         tgi_onnx_extent *out)
{
    *out = is_number(a, 1) || is_number(b, 0) ? b : a;
    if (is_number(a, 1) || is_number(b, 1) || is_number(a, 0) ||
        is_number(b, 0))
        return true;
    if (!a.is_symbol && !b.is_symbol) {
        out->is_symbol = false;
        return !__builtin_mul_overflow(a.n, b.n, &out->n);
    }
    if ((!a.is_symbol && a.n < 0) || (!b.is_symbol && b.n < 0))
        return false;
    const tg_value x = of_extents(2, (const int64_t[]){a.n, b.n}, site);
    return take_extent(tg_reshape_at(TG_IN(x), 1, (const int64_t[]){-1}, site),
                       out);
}

static int64_t base_of(tgi_onnx_extent e)
{
    return e.base ? e.base : e.n;
}

/* The sum of extents of which at least one is a symbol. */
static bool add_symbol(tgi_onnx_extent a, tgi_onnx_extent b, tg_site site,
                       tgi_onnx_extent *out)
{
    if (!b.is_symbol && b.n < 0)
        return take_extent(tg_slice_at(TG_IN(of_extents(1, &a.n, site)), 0,
                                       -b.n, TG_END, 1, site),
                           out);
    if (!a.is_symbol && a.n < 0)
        return false;
    const tg_operand parts[] = {TG_IN(of_extents(1, &a.n, site)),
                                TG_IN(of_extents(1, &b.n, site))};
    return take_extent(tg_concat_at(0, parts, 2, site), out);
}

bool tgi_onnx_extent_add(tgi_onnx_extent a, tgi_onnx_extent b, tg_site site,
                         tgi_onnx_extent *out)
{
    *out = is_number(a, 0) ? b : a;
    if (is_number(a, 0) || is_number(b, 0))
        return true;
    if (!a.is_symbol && !b.is_symbol) {
        out->is_symbol = false;
        return !__builtin_add_overflow(a.n, b.n, &out->n);
    }
    if (!add_symbol(a, b, site, out))
        return false;
    const tgi_onnx_extent symbol = a.is_symbol ? a : b;
    const tgi_onnx_extent number = a.is_symbol ? b : a;
    if (number.is_symbol || number.n < 0 || !out->is_symbol)
        return true; /* a difference is not below 0 */
    out->base = base_of(symbol);
    return !__builtin_add_overflow(symbol.offset, number.n, &out->offset);
}

bool tgi_onnx_extent_sub(tgi_onnx_extent a, tgi_onnx_extent b, tg_site site,
                         tgi_onnx_extent *out)
{
    if (!b.is_symbol)
        return !__builtin_sub_overflow(0, b.n, &b.n) &&
               tgi_onnx_extent_add(a, b, site, out);
    *out = (tgi_onnx_extent){0};
    if (a.is_symbol && a.n == b.n)
        return true;
    out->n = a.offset - b.offset;
    return a.is_symbol && base_of(a) == base_of(b);
}

bool tgi_onnx_extent_div(tgi_onnx_extent a, tgi_onnx_extent b, tg_site site,
                         tgi_onnx_extent *out)
{
    *out = a;
    if (b.is_symbol || b.n == 0)
        return false;
    if (b.n == 1)
        return true;
    if (!a.is_symbol) {
        if (b.n == -1)
            return !__builtin_sub_overflow(0, a.n, &out->n);
        out->n = a.n / b.n;
        return true;
    }
    if (b.n < 0)
        return false;
    /* Elements b - 1, 2 b - 1, … of an axis of extent a. */
    return take_extent(tg_slice_at(TG_IN(of_extents(1, &a.n, site)), 0, b.n - 1,
                                   TG_END, b.n, site),
                       out);
}

/* -- Operators ------------------------------------------------------------- */

typedef bool arithmetic(tgi_onnx_extent a, tgi_onnx_extent b, tg_site site,
                        tgi_onnx_extent *out);

/* Elementwise, with a scalar or one element broadcast. */
static bool compute_binary(const tgi_onnx_call *c, arithmetic *apply)
{
    tgi_onnx_extents a, b, result;
    if (!tgi_onnx_try_extents(c, 0, &a) || !tgi_onnx_try_extents(c, 1, &b) ||
        a.dtype != b.dtype || (a.n != b.n && a.n != 1 && b.n != 1))
        return false;
    result.dtype = a.dtype;
    result.rank = a.rank > b.rank ? a.rank : b.rank;
    result.n = a.n == 1 ? b.n : a.n;
    for (size_t i = 0; i < result.n; i++)
        if (!apply(a.e[a.n == 1 ? 0 : i], b.e[b.n == 1 ? 0 : i], c->site,
                   &result.e[i]))
            return false;
    tgi_onnx_out_extents(c, 0, &result);
    return true;
}

static bool compute_add(const tgi_onnx_call *c)
{
    return compute_binary(c, tgi_onnx_extent_add);
}

static bool compute_sub(const tgi_onnx_call *c)
{
    return compute_binary(c, tgi_onnx_extent_sub);
}

static bool compute_mul(const tgi_onnx_call *c)
{
    return compute_binary(c, tgi_onnx_extent_mul);
}

static bool compute_div(const tgi_onnx_call *c)
{
    return compute_binary(c, tgi_onnx_extent_div);
}

static bool compute_identity(const tgi_onnx_call *c)
{
    tgi_onnx_extents x;
    if (!tgi_onnx_try_extents(c, 0, &x))
        return false;
    tgi_onnx_out_extents(c, 0, &x);
    return true;
}

static bool compute_cast(const tgi_onnx_call *c)
{
    tgi_onnx_extents x;
    const tg_dtype to = tgi_onnx_dtype((int32_t)tgi_onnx_int(c, "to", 0));
    if (!tgi_onnx_try_extents(c, 0, &x) || (to != TG_I64 && to != TG_I32))
        return false;
    x.dtype = to;
    tgi_onnx_out_extents(c, 0, &x);
    return true;
}

static bool compute_concat(const tgi_onnx_call *c)
{
    tgi_onnx_extents all = {.rank = 1, .n = 0}, x;
    for (size_t i = 0; i < c->node->n_inputs; i++) {
        if (!tgi_onnx_try_extents(c, i, &x) || x.rank != 1 ||
            all.n + x.n > TGI_ONNX_MAX_EXTENTS)
            return false;
        all.dtype = x.dtype;
        memcpy(all.e + all.n, x.e, x.n * sizeof(*x.e));
        all.n += x.n;
    }
    tgi_onnx_out_extents(c, 0, &all);
    return true;
}

static bool compute_gather(const tgi_onnx_call *c)
{
    tgi_onnx_extents x, at, result;
    if (!tgi_onnx_try_extents(c, 0, &x) || !tgi_onnx_try_extents(c, 1, &at) ||
        x.rank != 1)
        return false;
    result = at;
    result.dtype = x.dtype;
    for (size_t i = 0; i < at.n; i++) {
        const int64_t k = at.e[i].n + (at.e[i].n < 0 ? (int64_t)x.n : 0);
        if (at.e[i].is_symbol || k < 0 || (size_t)k >= x.n)
            return false;
        result.e[i] = x.e[k];
    }
    tgi_onnx_out_extents(c, 0, &result);
    return true;
}

/* Of a vector: starts, ends, axes and steps are attributes or inputs. */
static bool compute_slice(const tgi_onnx_call *c)
{
    tgi_onnx_extents x, result = {.rank = 1, .n = 0};
    size_t n_starts, n_ends, n_steps = 0;
    if (!tgi_onnx_try_extents(c, 0, &x) || x.rank != 1)
        return false;
    for (size_t i = 1; i < c->node->n_inputs; i++)
        if (tgi_onnx_has(c, i) && !tgi_onnx_try_known(c, i))
            return false;
    const int64_t *starts = tgi_onnx_ints_of(c, "starts", 1, &n_starts);
    const int64_t *ends = tgi_onnx_ints_of(c, "ends", 2, &n_ends);
    const int64_t *steps = tgi_onnx_ints_of(c, "steps", 4, &n_steps);
    if (n_starts != 1 || n_ends != 1 || n_steps > 1)
        return false;
    const int64_t n = (int64_t)x.n, step = n_steps ? steps[0] : 1;
    int64_t start = starts[0] + (starts[0] < 0 ? n : 0);
    int64_t end = ends[0] + (ends[0] < 0 ? n : 0);
    if (step <= 0)
        return false;
    start = start < 0 ? 0 : start;
    end = end > n ? n : end;
    result.dtype = x.dtype;
    for (int64_t i = start; i < end; i += step)
        result.e[result.n++] = x.e[i];
    tgi_onnx_out_extents(c, 0, &result);
    return true;
}

/* To rank 0 or 1, as Squeeze, Unsqueeze and Reshape do with one element. */
static bool compute_rank(const tgi_onnx_call *c, int rank)
{
    tgi_onnx_extents x;
    if (!tgi_onnx_try_extents(c, 0, &x) || (rank == 0 && x.n != 1) ||
        (rank == 1 && x.rank == 1))
        return false;
    x.rank = rank;
    tgi_onnx_out_extents(c, 0, &x);
    return true;
}

static bool compute_squeeze(const tgi_onnx_call *c)
{
    return compute_rank(c, 0);
}

static bool compute_unsqueeze(const tgi_onnx_call *c)
{
    return compute_rank(c, 1);
}

static bool compute_reshape(const tgi_onnx_call *c)
{
    tgi_onnx_extents x, shape;
    if (!tgi_onnx_try_extents(c, 0, &x) ||
        !tgi_onnx_try_extents(c, 1, &shape) || shape.n > 1)
        return false;
    if (shape.n == 1 && !is_number(shape.e[0], -1) &&
        !is_number(shape.e[0], (int64_t)x.n))
        return false;
    x.rank = (int)shape.n;
    if (x.rank == 0 && x.n != 1)
        return false;
    tgi_onnx_out_extents(c, 0, &x);
    return true;
}

static bool compute_product(const tgi_onnx_call *c)
{
    tgi_onnx_extents x;
    if (!tgi_onnx_try_extents(c, 0, &x) || x.rank != 1)
        return false;
    tgi_onnx_extent all = {.n = 1};
    for (size_t i = 0; i < x.n; i++)
        if (!tgi_onnx_extent_mul(all, x.e[i], c->site, &all))
            return false;
    x.rank = tgi_onnx_int(c, "keepdims", 1) ? 1 : 0;
    x.n = 1;
    x.e[0] = all;
    tgi_onnx_out_extents(c, 0, &x);
    return true;
}

/* An extent is never negative; nothing else is known about symbols. */
static bool compute_equal(const tgi_onnx_call *c)
{
    tgi_onnx_extents a, b;
    bool equal[TGI_ONNX_MAX_EXTENTS];
    tgi_onnx_array *array;
    if (!tgi_onnx_try_extents(c, 0, &a) || !tgi_onnx_try_extents(c, 1, &b) ||
        a.rank != 1 || (b.n != a.n && b.n != 1))
        return false;
    for (size_t i = 0; i < a.n; i++) {
        const tgi_onnx_extent x = a.e[i], y = b.e[b.n == 1 ? 0 : i];
        equal[i] = x.is_symbol == y.is_symbol && x.n == y.n;
        if (!equal[i] && (x.is_symbol || y.is_symbol) &&
            ((x.is_symbol && y.is_symbol) || (x.is_symbol ? y.n : x.n) >= 0))
            return false;
    }
    if (tgi_onnx_array_copy(&c->frame->shared->arena, TG_BOOL, 1,
                            (const int64_t[]){(int64_t)a.n}, equal, &array))
        return false;
    tgi_onnx_out_array(c, 0, array);
    return true;
}

static bool compute_where(const tgi_onnx_call *c)
{
    const tgi_onnx_array *condition = tgi_onnx_try_known(c, 0);
    tgi_onnx_extents a, b;
    if (!condition || !tgi_onnx_try_extents(c, 1, &a) ||
        !tgi_onnx_try_extents(c, 2, &b) || condition->rank != 1 ||
        a.n != condition->count || b.n != a.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (!tgi_onnx_array_int(condition, i))
            a.e[i] = b.e[i];
    tgi_onnx_out_extents(c, 0, &a);
    return true;
}

static const struct {
    const char *op;
    bool (*compute)(const tgi_onnx_call *c);
} rules[] = {
    {"Add", compute_add},
    {"Cast", compute_cast},
    {"Concat", compute_concat},
    {"Div", compute_div},
    {"Equal", compute_equal},
    {"Gather", compute_gather},
    {"Identity", compute_identity},
    {"Mul", compute_mul},
    {"ReduceProd", compute_product},
    {"Reshape", compute_reshape},
    {"Slice", compute_slice},
    {"Squeeze", compute_squeeze},
    {"Sub", compute_sub},
    {"Unsqueeze", compute_unsqueeze},
    {"Where", compute_where},
};

bool tgi_onnx_compute_extents(const tgi_onnx_call *c)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (!strcmp(rules[i].op, c->node->op->name))
            return rules[i].compute(c);
    return false;
}
