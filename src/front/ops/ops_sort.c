/* SPDX-License-Identifier: MIT */
/*
 * ops_sort.c - positions that sort rows.
 *
 * Elements are compared by integer keys. The key of a float is its bits, with
 * those of negative numbers inverted but for the sign, so that signed integers
 * are in the order of the floats; a bitcast gives all NaNs the same bits, of
 * the largest key. Inverting a key reverses the order, and keeps it stable.
 *
 * Rows longer than MAX_PAIRS elements are sorted bottom-up, in a loop of
 * log2(n) rounds. A round merges pairs of neighbouring runs: the new position
 * of an element is its position in its own run, plus the number of elements of
 * the other run that precede it, which a binary search finds. On ties the left
 * run comes first.
 */
#include "front/ops/ops_sort.h"

#include "build/build_formula.h"
#include "front/ops/ops_index.h"
#include "tgjit/control.h"

/* A comparison of all pairs of a row is cheaper up to this extent. */
enum { MAX_PAIRS = 48 };

static tgi_ref i64_number(tgi_builder *b, int64_t value)
{
    return tgi_build_number(b, TG_I64, TG_I64,
                            (tgi_number){TGI_NUMBER_INT, {.i = value}});
}

/* -- Keys ------------------------------------------------------------------ */

static tgi_ref build_keys(tgi_builder *b, tgi_ref x, bool is_descending)
{
    const tg_dtype dtype = (tg_dtype)tgi_graph_node(b->graph, x)->dtype;
    tgi_ref key = dtype == TG_BOOL
                      ? tgi_build_cast(b, x, TG_U8)
                      : tgi_build_cast(b, x, dtype); /* of plain numbers */
    if (tgi_dtype_is(dtype, TGI_CLASS_FLOAT)) {
        const bool is_f32 = dtype == TG_F32;
        tgi_ref bits = tgi_build_bitcast(b, key, is_f32 ? TG_I32 : TG_I64);
        tgi_ref all_but_sign = tgi_build_number(
            b, is_f32 ? TG_I32 : TG_I64, TG_I64,
            (tgi_number){TGI_NUMBER_INT,
                         {.i = is_f32 ? INT32_MAX : INT64_MAX}});
        tgi_ref is_negative = LT(bits, tgi_build_number_like(b, bits, 0));
        key = SELECT(is_negative, XOR(bits, all_but_sign), bits);
    }
    return is_descending ? NOT(key) : key;
}

/* -- Short rows ------------------------------------------------------------ */

/* The positions of elements whose ranks are a permutation of 0 … n - 1, of all
   rows: `to` are their new positions among all elements. */
static tgi_ref invert_ranks(tgi_builder *b, tgi_ref order, tgi_ref to)
{
    return tgi_build_scatter(b, order, to, order, 0, TG_SCATTER_SET,
                             TG_SCATTER_DROP);
}

/* The rank of an element is the number of elements that precede it. */
static tgi_ref sort_by_pairs(tgi_builder *b, tgi_ref keys,
                             const tgi_dim dims[2], tgi_dim count)
{
    const tgi_dim own[] = {dims[0], dims[1], 1},
                  other[] = {dims[0], 1, dims[1]};
    const tgi_dim square[] = {dims[1], dims[1]};
    tgi_ref mine = tgi_build_reshape(b, keys, 3, own);
    tgi_ref theirs = tgi_build_reshape(b, keys, 3, other);
    tgi_ref row = tgi_build_iota(b, TG_I64, 2, square, 0);
    tgi_ref is_earlier = LT(tgi_build_iota(b, TG_I64, 2, square, 1), row);
    tgi_ref precedes = AND(EQ(theirs, mine), is_earlier);
    precedes = OR(precedes, LT(theirs, mine));
    tgi_ref rank =
        tgi_build_reduce(b, TGI_OP_SUM, tgi_build_cast(b, precedes, TG_I64),
                         tg_axes_of(1, &(int){2}));
    tgi_ref first = MUL(tgi_build_iota(b, TG_I64, 2, dims, 0),
                        tgi_build_extent(b, dims[1]));
    tgi_ref to = tgi_build_reshape(b, ADD(rank, first), 1, &count);
    tgi_ref position =
        tgi_build_reshape(b, tgi_build_iota(b, TG_I64, 2, dims, 1), 1, &count);
    return invert_ranks(b, position, to);
}

/* -- Long rows ------------------------------------------------------------- */

typedef struct merge {
    tg_site site;
    tgi_dim dims[2], count; /* rows, n; and their product */
    int n_steps;            /* of a search; 0: unknown */
    tg_value keys;          /* of all elements, [count] */
} merge;

/* What a search compares with: constant during a round. */
typedef struct search {
    const merge *m;
    tg_value keys, is_left, first; /* keys: in the order so far; first:
                                      position of the row */
} search;

static tgi_ref ref_of(tgi_operation *o, tg_value value)
{
    return tgi_trace_ref(o->t, value, o->b.op_name, o->b.site);
}

/* Halves the range low … high in which the number of preceding elements lies,
   unless it is a single number. */
static void halve_range(tgi_operation *o, const search *s, tgi_ref *low,
                        tgi_ref *high)
{
    tgi_builder *b = &o->b;
    tgi_ref one = i64_number(b, 1);
    tgi_ref middle = BUILD_2(SHR, ADD(*low, *high), one);
    tgi_ref at = ADD(middle, ref_of(o, s->first));
    tgi_ref mine = ref_of(o, s->keys);
    tgi_ref theirs = tgi_build_gather(b, mine, at, 0, TG_GATHER_ZERO);
    tgi_ref is_before = AND(ref_of(o, s->is_left), EQ(theirs, mine));
    is_before = AND(LE(theirs, mine), NOT(is_before));
    tgi_ref is_open = LT(*low, *high);
    tgi_ref is_after = AND(is_open, NOT(is_before));
    is_before = AND(is_open, is_before);
    *low = SELECT(is_before, ADD(middle, one), *low);
    *high = SELECT(is_after, middle, *high);
}

/* Body of the search: iteration, low, high. */
static void search_step(tg_trace *t, const tg_value *in, void *user)
{
    const search *s = user;
    tgi_operation o;
    if (!tgi_operation_begin(&o, "argsort", s->m->site))
        return;
    tgi_ref low = ref_of(&o, in[1]), high = ref_of(&o, in[2]);
    halve_range(&o, s, &low, &high);
    const tg_value next[] = {tgi_operation_end(&o, low),
                             tgi_operation_end(&o, high)};
    tg_return_at(t, (tg_operand[]){tg_in_value(next[0]), tg_in_value(next[1])},
                 2, s->m->site);
}

/* The end of the range, by a loop or, if the number of steps is known, in one
   expression. */
static tgi_ref run_search(tgi_operation *o, search *s, tgi_ref low,
                          tgi_ref high, tgi_ref round)
{
    if (s->m->n_steps) {
        for (int i = 0; i < s->m->n_steps; i++)
            halve_range(o, s, &low, &high);
        return low;
    }
    tgi_builder *b = &o->b;
    tg_value found[2];
    const tg_value count = tgi_operation_end(o, ADD(round, i64_number(b, 1)));
    const tg_operand range[] = {tg_in_value(tgi_operation_end(o, low)),
                                tg_in_value(tgi_operation_end(o, high))};
    tg_for_at(tg_in_value(count), search_step, s, range, 2, found, 2,
              s->m->site);
    return ref_of(o, found[0]);
}

/* Body of the rounds: round, order so far. */
static void merge_round(tg_trace *t, const tg_value *in, void *user)
{
    const merge *m = user;
    tgi_operation o;
    if (!tgi_operation_begin(&o, "argsort", m->site))
        return;
    tgi_builder *b = &o.b;
    tgi_ref round = ref_of(&o, in[0]), order = ref_of(&o, in[1]);
    tgi_ref one = i64_number(b, 1), zero = i64_number(b, 0);
    tgi_ref n = tgi_build_extent(b, m->dims[1]);
    tgi_ref position = tgi_build_reshape(
        b, tgi_build_iota(b, TG_I64, 2, m->dims, 1), 1, &m->count);
    tgi_ref first = tgi_build_reshape(
        b, MUL(tgi_build_iota(b, TG_I64, 2, m->dims, 0), n), 1, &m->count);
    tgi_ref keys = tgi_build_gather(b, ref_of(&o, m->keys), ADD(order, first),
                                    0, TG_GATHER_ZERO);
    tgi_ref run = BUILD_2(SHR, position, round);
    tgi_ref is_left = EQ(AND(run, one), zero);
    tgi_ref sibling = XOR(run, one);
    tgi_ref low = MIN(BUILD_2(SHL, sibling, round), n);
    tgi_ref high = MIN(BUILD_2(SHL, ADD(sibling, one), round), n);
    search s = {m, tgi_operation_end(&o, keys), tgi_operation_end(&o, is_left),
                tgi_operation_end(&o, first)};
    tgi_ref found = run_search(&o, &s, low, high, round);
    /* The pair begins at the left run; low is the begin of the sibling. */
    tgi_ref to = ADD(position, SUB(found, low));
    to = SELECT(is_left, to, SUB(to, BUILD_2(SHL, one, round)));
    tgi_ref next = tgi_build_scatter(b, order, ADD(to, first), order, 0,
                                     TG_SCATTER_SET, TG_SCATTER_DROP);
    const tg_value result = tgi_operation_end(&o, next);
    tg_return_at(t, (tg_operand[]){tg_in_value(result)}, 1, m->site);
}

/* ceil(log2(n)), of an extent that may be unknown. */
static tgi_ref count_rounds(tgi_builder *b, tgi_dim n)
{
    const tgi_dim powers = 62;
    tgi_ref power = BUILD_2(SHL, i64_number(b, 1),
                            tgi_build_iota(b, TG_I64, 1, &powers, 0));
    tgi_ref is_below = LT(power, tgi_build_extent(b, n));
    return tgi_build_reduce(b, TGI_OP_SUM, tgi_build_cast(b, is_below, TG_I64),
                            (tg_axes){.n = -1});
}

static tgi_ref sort_by_merging(tgi_operation *o, tgi_ref keys,
                               const tgi_dim dims[2], tgi_dim count)
{
    tgi_builder *b = &o->b;
    merge m = {.site = b->site, .dims = {dims[0], dims[1]}, .count = count};
    tgi_ref rounds;
    if (tgi_dim_is_known(dims[1])) {
        while (m.n_steps < 62 && (INT64_C(1) << m.n_steps) < dims[1])
            m.n_steps++;
        rounds = i64_number(b, m.n_steps);
    } else {
        rounds = count_rounds(b, dims[1]);
    }
    tgi_ref position =
        tgi_build_reshape(b, tgi_build_iota(b, TG_I64, 2, dims, 1), 1, &count);
    keys = tgi_build_reshape(b, keys, 1, &count);
    m.keys = tgi_operation_end(o, keys);
    const tg_operand initial[] = {tg_in_value(tgi_operation_end(o, position))};
    const tg_operand n = tg_in_value(tgi_operation_end(o, rounds));
    tg_value order;
    const char *name = b->op_name;
    tg_for_at(n, merge_round, &m, initial, 1, &order, 1, b->site);
    o->t->op_name = name;
    return ref_of(o, order);
}

/* -- The whole ------------------------------------------------------------- */

tgi_ref tgi_build_argsort_rows(tgi_operation *o, tgi_ref x, bool is_descending)
{
    tgi_builder *b = &o->b;
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tgi_dim dims[] = {shape->dims[0], shape->dims[1]};
    const tgi_dim count =
        tgi_build_dim(b, tgi_dim_mul(b->graph->dims, dims[0], dims[1]));
    tgi_ref keys = build_keys(b, x, is_descending);
    if (count == TGI_DIM_NONE || !keys)
        return 0;
    /* An empty value needs no loop. */
    if (count == 0)
        return tgi_build_broadcast(b, i64_number(b, 0), 2, dims);
    tgi_ref order = tgi_dim_is_known(dims[1]) && dims[1] <= MAX_PAIRS
                        ? sort_by_pairs(b, keys, dims, count)
                        : sort_by_merging(o, keys, dims, count);
    return tgi_build_reshape(b, order, 2, dims);
}

/* Moves an axis to the end, or back. */
static tgi_ref move_axis(tgi_builder *b, tgi_ref x, int axis, bool to_end)
{
    if (!x)
        return 0;
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    int perm[TG_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        const int from = i < axis ? i : i + 1 < rank ? i + 1 : axis;
        if (to_end)
            perm[i] = from;
        else
            perm[from] = i;
    }
    return axis == rank - 1 ? x : tgi_build_transpose(b, x, rank, perm);
}

tgi_ref tgi_build_argsort(tgi_operation *o, tgi_ref x, int axis,
                          bool is_descending)
{
    tgi_builder *b = &o->b;
    tgi_ref moved = move_axis(b, x, axis, true);
    if (!moved)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, moved);
    tgi_ref rows = tgi_build_merge_first(b, moved, shape->rank - 1);
    tgi_ref order = tgi_build_argsort_rows(o, rows, is_descending);
    order = tgi_build_reshape(b, order, shape->rank, shape->dims);
    return move_axis(b, order, axis, false);
}

tgi_ref tgi_build_merge_axes_last(tgi_builder *b, tgi_ref x, uint64_t mask)
{
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    int perm[TG_MAX_RANK], n = 0;
    tgi_dim dims[TG_MAX_RANK + 1], merged = 1;
    for (int i = 0; i < shape->rank; i++)
        if (!(mask >> i & 1)) {
            dims[n] = shape->dims[i];
            perm[n++] = i;
        }
    const int kept = n;
    for (int i = 0; i < shape->rank; i++)
        if (mask >> i & 1) {
            merged = tgi_dim_mul(b->graph->dims, merged, shape->dims[i]);
            perm[n++] = i;
        }
    dims[kept] = tgi_build_dim(b, merged);
    if (dims[kept] == TGI_DIM_NONE)
        return 0;
    return tgi_build_reshape(b, tgi_build_transpose(b, x, n, perm), kept + 1,
                             dims);
}

tgi_ref tgi_build_keep_axes(tgi_builder *b, tgi_ref reduced, tgi_ref x,
                            uint64_t mask, bool keeps)
{
    if (!reduced || !keeps)
        return reduced;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i < shape->rank; i++)
        dims[i] = mask >> i & 1 ? 1 : shape->dims[i];
    return tgi_build_reshape(b, reduced, shape->rank, dims);
}
