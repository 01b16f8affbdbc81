/* SPDX-License-Identifier: MIT */
/*
 * ops_sort.c - positions that sort rows.
 *
 * Elements are compared by integer keys. The key of a float is its bits, with
 * those of negative numbers inverted but for the sign, so that signed integers
 * are in the order of the floats; a bitcast gives all NaNs the same bits, of
 * the largest key. Inverting a key reverses the order, and keeps it stable.
 *
 * The rank of an element among few others is the number of those that precede
 * it, so short rows are sorted by comparing all pairs. Longer rows are cut into
 * blocks that are sorted so; then a loop merges neighbouring runs, of twice the
 * length in every round. The new position of an element is its position in its
 * own run, plus the number of elements of the other run that precede it, which
 * a binary search finds. On ties the left run comes first.
 */
#include "front/ops/ops_sort.h"

#include "build/build_formula.h"
#include "front/ops/ops_index.h"
#include "tgjit/control.h"

enum {
    MAX_PAIRS = 48, /* extent of a row that is sorted by all its pairs */
    LOG2_BLOCK = 5  /* of the blocks of longer rows that are */
};

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
    if (tgi_dtype_is(dtype, TGI_CLASS_REAL)) {
        const tg_dtype integer = tgi_signed_like((int)dtype);
        const int unused_bits = 64 - 8 * (int)tgi_dtype_bytes((int)dtype);
        tgi_ref bits = tgi_build_bitcast(b, key, integer);
        tgi_ref all_but_sign = tgi_build_number(
            b, integer, TG_I64,
            (tgi_number){TGI_NUMBER_INT, {.i = INT64_MAX >> unused_bits}});
        tgi_ref is_negative = LT(bits, tgi_build_number_like(b, bits, 0));
        key = SELECT(is_negative, XOR(bits, all_but_sign), bits);
    }
    return is_descending ? NOT(key) : key;
}

/* -- Rows ------------------------------------------------------------------ */

typedef struct rows {
    tg_site site;
    tgi_dim dims[2], count; /* rows, n; and their product */
    tg_dtype index;         /* dtype of positions: narrow ones are faster */
    int n_steps;            /* of a search; 0: unknown */
    tg_value keys;          /* of all elements, [count] */
} rows;

static tgi_ref index_number(tgi_builder *b, const rows *r, int64_t value)
{
    return tgi_build_number(b, r->index, TG_I64,
                            (tgi_number){TGI_NUMBER_INT, {.i = value}});
}

static tgi_ref row_extent(tgi_builder *b, const rows *r)
{
    return tgi_build_cast(b, tgi_build_extent(b, r->dims[1]), r->index);
}

/* The position of every element in its row, or the one at which its row
   begins; [count]. */
static tgi_ref positions(tgi_builder *b, const rows *r)
{
    return tgi_build_reshape(b, tgi_build_iota(b, r->index, 2, r->dims, 1), 1,
                             &r->count);
}

static tgi_ref row_begins(tgi_builder *b, const rows *r)
{
    tgi_ref row = tgi_build_iota(b, r->index, 2, r->dims, 0);
    return tgi_build_reshape(b, MUL(row, row_extent(b, r)), 1, &r->count);
}

/* `order` with each element moved to the position `to` of its row. */
static tgi_ref permute(tgi_builder *b, const rows *r, tgi_ref order, tgi_ref to)
{
    return tgi_build_scatter(b, order, ADD(to, row_begins(b, r)), order, 0,
                             TG_SCATTER_SET, TG_SCATTER_DROP);
}

/* -- Blocks: all pairs ----------------------------------------------------- */

/* The keys, with the largest one as padding up to whole blocks; equal keys of
   elements precede it. */
static tgi_ref pad_keys(tgi_builder *b, tgi_ref keys, tgi_dim n, tgi_dim padded)
{
    static const uint64_t largest[] = {INT8_MAX, INT16_MAX, INT32_MAX,
                                       INT64_MAX};
    const int dtype = tgi_graph_node(b->graph, keys)->dtype;
    const int log2_bytes = __builtin_ctz((unsigned)tgi_dtype_bytes(dtype));
    const bool is_unsigned = tgi_dtype_is(dtype, TGI_CLASS_UINT);
    const uint64_t most =
        largest[log2_bytes] * (is_unsigned ? 2 : 1) + (is_unsigned ? 1 : 0);
    if (n == padded)
        return keys;
    tgi_ref padding = tgi_build_number(
        b, (tg_dtype)dtype, TG_U64, (tgi_number){TGI_NUMBER_UINT, {.u = most}});
    return tgi_build_pad(b, keys, 1, 0, tgi_dim_sub(b->graph->dims, padded, n),
                         padding);
}

/* The order in which every block of `block` elements of a row is sorted: the
   rank of an element is the number of elements that precede it. */
static tgi_ref sort_blocks(tgi_builder *b, const rows *r, tgi_ref keys,
                           tgi_dim block)
{
    tgi_dims *table = b->graph->dims;
    const tgi_dim n = r->dims[1];
    const tgi_dim n_blocks =
        tgi_dim_div(table, tgi_dim_add(table, n, block - 1), block);
    const tgi_dim padded =
        tgi_build_dim(b, tgi_dim_mul(table, n_blocks, block));
    if (padded == TGI_DIM_NONE)
        return 0;
    const tgi_dim own[] = {r->dims[0], n_blocks, block, 1};
    const tgi_dim other[] = {r->dims[0], n_blocks, 1, block};
    const tgi_dim square[] = {block, block};
    const tgi_dim whole[] = {r->dims[0], padded};
    keys = pad_keys(b, keys, n, padded);
    tgi_ref mine = tgi_build_reshape(b, keys, 4, own);
    tgi_ref theirs = tgi_build_reshape(b, keys, 4, other);
    tgi_ref row = tgi_build_iota(b, TG_I32, 2, square, 0);
    tgi_ref is_earlier = LT(tgi_build_iota(b, TG_I32, 2, square, 1), row);
    tgi_ref precedes = AND(EQ(theirs, mine), is_earlier);
    precedes = OR(precedes, LT(theirs, mine));
    tgi_ref rank =
        tgi_build_reduce(b, TGI_OP_SUM, tgi_build_cast(b, precedes, TG_I32),
                         tg_axes_of(1, &(int){3}));
    rank = tgi_build_reshape(b, rank, 2, whole);
    rank = tgi_build_slice(b, rank, 1, 0, n, 1);
    rank =
        tgi_build_cast(b, tgi_build_reshape(b, rank, 1, &r->count), r->index);
    tgi_ref position = positions(b, r);
    tgi_ref size = index_number(b, r, block);
    tgi_ref begin = MUL(DIV(position, size), size);
    return permute(b, r, position, ADD(begin, rank));
}

/* -- Merging --------------------------------------------------------------- */

/* What a search compares with: constant during a round. */
typedef struct search {
    const rows *r;
    tg_value keys;    /* in the order so far */
    tg_value is_left; /* the element is of the left run */
    tg_value before;  /* position before the first element of the other run */
    tg_value length;  /* of the other run */
} search;

static tgi_ref ref_of(tgi_operation *o, tg_value value)
{
    return tgi_trace_ref(o->t, value, o->b.op_name, o->b.site);
}

/* `found` elements of the other run precede the own one: takes `width` more if
   they do as well. */
static tgi_ref widen(tgi_operation *o, const search *s, tgi_ref found,
                     tgi_ref width)
{
    tgi_builder *b = &o->b;
    tgi_ref wider = ADD(found, width);
    tgi_ref mine = ref_of(o, s->keys);
    tgi_ref theirs = tgi_build_gather(b, mine, ADD(wider, ref_of(o, s->before)),
                                      0, TG_GATHER_ZERO);
    tgi_ref precedes =
        SELECT(ref_of(o, s->is_left), LT(theirs, mine), LE(theirs, mine));
    precedes = AND(precedes, LE(wider, ref_of(o, s->length)));
    return SELECT(precedes, wider, found);
}

/* Body of the search: iteration, found, width. */
static void search_step(tg_trace *t, const tg_value *in, void *user)
{
    const search *s = user;
    tgi_operation o;
    if (!tgi_operation_begin(&o, "argsort", s->r->site))
        return;
    tgi_builder *b = &o.b;
    tgi_ref found = ref_of(&o, in[1]), width = ref_of(&o, in[2]);
    found = widen(&o, s, found, width);
    width = BUILD_2(SHR, width, index_number(b, s->r, 1));
    const tg_value next[] = {tgi_operation_end(&o, found),
                             tgi_operation_end(&o, width)};
    tg_return_at(t, (tg_operand[]){tg_in_value(next[0]), tg_in_value(next[1])},
                 2, s->r->site);
}

/*
 * The number of elements of the other run that precede each element, bit by bit
 * from the highest: in one expression if the number of bits is known, else in a
 * loop.
 */
static tgi_ref run_search(tgi_operation *o, search *s, tgi_ref round)
{
    tgi_builder *b = &o->b;
    const rows *r = s->r;
    tgi_ref found = tgi_build_broadcast(b, index_number(b, r, 0), 1, &r->count);
    for (int i = r->n_steps - 1; i >= 0; i--)
        found = widen(o, s, found, index_number(b, r, INT64_C(1) << i));
    if (r->n_steps)
        return found;
    tg_value results[2];
    tgi_ref one = index_number(b, r, 1);
    tgi_ref width = BUILD_2(SHL, one, round);
    const tg_value count = tgi_operation_end(o, ADD(round, one));
    const tg_operand initial[] = {tg_in_value(tgi_operation_end(o, found)),
                                  tg_in_value(tgi_operation_end(o, width))};
    tg_for_at(tg_in_value(count), search_step, s, initial, 2, results, 2,
              r->site);
    return ref_of(o, results[0]);
}

/* Body of the rounds: round, order so far. */
static void merge_round(tg_trace *t, const tg_value *in, void *user)
{
    const rows *r = user;
    tgi_operation o;
    if (!tgi_operation_begin(&o, "argsort", r->site))
        return;
    tgi_builder *b = &o.b;
    tgi_ref round = tgi_build_cast(b, ref_of(&o, in[0]), r->index);
    round = ADD(round, index_number(b, r, LOG2_BLOCK));
    tgi_ref order = ref_of(&o, in[1]);
    tgi_ref one = index_number(b, r, 1), zero = index_number(b, r, 0);
    tgi_ref n = row_extent(b, r), position = positions(b, r);
    tgi_ref first = row_begins(b, r);
    tgi_ref keys = tgi_build_gather(b, ref_of(&o, r->keys), ADD(order, first),
                                    0, TG_GATHER_ZERO);
    tgi_ref run = BUILD_2(SHR, position, round);
    tgi_ref is_left = EQ(AND(run, one), zero);
    tgi_ref other = XOR(run, one);
    tgi_ref begin = MIN(BUILD_2(SHL, other, round), n);
    tgi_ref length = SUB(MIN(BUILD_2(SHL, ADD(other, one), round), n), begin);
    tgi_ref before = SUB(ADD(first, begin), one);
    search s = {r, tgi_operation_end(&o, keys), tgi_operation_end(&o, is_left),
                tgi_operation_end(&o, before), tgi_operation_end(&o, length)};
    tgi_ref found = run_search(&o, &s, round);
    /* The merged run begins where the left one does. */
    tgi_ref to = ADD(position, found);
    to = SELECT(is_left, to, SUB(to, BUILD_2(SHL, one, round)));
    const tg_value next = tgi_operation_end(&o, permute(b, r, order, to));
    tg_return_at(t, (tg_operand[]){tg_in_value(next)}, 1, r->site);
}

/* The number of rounds that merge blocks: ceil(log2(n)) - LOG2_BLOCK, if it is
   positive. */
static tgi_ref count_rounds(tgi_builder *b, tgi_dim n)
{
    const tgi_dim powers = 62 - LOG2_BLOCK;
    tgi_ref power = BUILD_2(SHL, i64_number(b, INT64_C(1) << LOG2_BLOCK),
                            tgi_build_iota(b, TG_I64, 1, &powers, 0));
    tgi_ref is_below = LT(power, tgi_build_extent(b, n));
    return tgi_build_reduce(b, TGI_OP_SUM, tgi_build_cast(b, is_below, TG_I64),
                            (tg_axes){.n = -1});
}

static tgi_ref sort_by_merging(tgi_operation *o, rows *r, tgi_ref keys)
{
    tgi_builder *b = &o->b;
    const tgi_dim n = r->dims[1];
    while (tgi_dim_is_known(n) && r->n_steps < 62 &&
           (INT64_C(1) << r->n_steps) < n)
        r->n_steps++;
    tgi_ref rounds = tgi_dim_is_known(n)
                         ? i64_number(b, r->n_steps - LOG2_BLOCK)
                         : count_rounds(b, n);
    tgi_ref blocks = sort_blocks(b, r, keys, 1 << LOG2_BLOCK);
    r->keys = tgi_operation_end(o, tgi_build_reshape(b, keys, 1, &r->count));
    const tg_operand initial[] = {tg_in_value(tgi_operation_end(o, blocks))};
    const tg_operand count = tg_in_value(tgi_operation_end(o, rounds));
    tg_value order;
    const char *name = b->op_name;
    tg_for_at(count, merge_round, r, initial, 1, &order, 1, b->site);
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
    rows r = {.site = b->site, .dims = {shape->dims[0], shape->dims[1]}};
    r.count =
        tgi_build_dim(b, tgi_dim_mul(b->graph->dims, r.dims[0], r.dims[1]));
    tgi_ref keys = build_keys(b, x, is_descending);
    if (r.count == TGI_DIM_NONE || !keys)
        return 0;
    if (r.count == 0) /* blocks need an extent */
        return tgi_build_broadcast(b, i64_number(b, 0), 2, r.dims);
    /* A search adds at most two numbers up to `count`. */
    const bool is_narrow = tgi_dim_is_known(r.count) && r.count < 1 << 30;
    r.index = is_narrow ? TG_I32 : TG_I64;
    tgi_ref order = tgi_dim_is_known(r.dims[1]) && r.dims[1] <= MAX_PAIRS
                        ? sort_blocks(b, &r, keys, r.dims[1])
                        : sort_by_merging(o, &r, keys);
    order = tgi_build_cast(b, order, TG_I64);
    return tgi_build_reshape(b, order, 2, r.dims);
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
    tgi_ref matrix = tgi_build_merge_first(b, moved, shape->rank - 1);
    tgi_ref order = tgi_build_argsort_rows(o, matrix, is_descending);
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
