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
 * it, so short rows are sorted by comparing all pairs.
 *
 * Longer rows are sorted by radix: a loop moves elements by one digit of their
 * keys in each iteration, the lowest one first. The new position of an element
 * is the number of smaller digits in its row, plus the number of equal ones
 * before it. Counting these one after the other would be serial, so rows are
 * cut into blocks: a table has the number of each digit in each block, its
 * running sums along the blocks count those of all blocks before, and pairs of
 * elements are compared only within a block.
 */
#include "front/ops/ops_sort.h"

#include "build/build_formula.h"
#include "front/ops/ops_index.h"
#include "tgjit/control.h"

enum {
    LOG2_BLOCK = 6,
    BLOCK = 1 << LOG2_BLOCK, /* elements whose pairs are compared: an AVX-512
                                register of digits; u8 counts them */
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS
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
    tgi_dim table[3];       /* rows, blocks + 1, digits: numbers of digits */
    tgi_dim table_count;
} rows;

static tgi_ref index_number(tgi_builder *b, const rows *r, int64_t value)
{
    return tgi_build_number(b, r->index, TG_I64,
                            (tgi_number){TGI_NUMBER_INT, {.i = value}});
}

/* The row (axis 0) of every element, or its position in it (1); [count]. */
static tgi_ref positions(tgi_builder *b, const rows *r, int axis)
{
    return tgi_build_reshape(b, tgi_build_iota(b, r->index, 2, r->dims, axis),
                             1, &r->count);
}

/* x with each element moved to the position `to` of its row. */
static tgi_ref permute(tgi_builder *b, const rows *r, tgi_ref x, tgi_ref to)
{
    tgi_ref n =
        tgi_build_cast(b, tgi_build_extent(b, r->dims[1]), r->index);
    tgi_ref begin = MUL(positions(b, r, 0), n);
    return tgi_build_scatter(b, x, ADD(begin, to), x, 0, TG_SCATTER_SET,
                             TG_SCATTER_DROP);
}

/*
 * For each element, the number of elements of its block that precede it: equal
 * ones at earlier positions, and, if `counts_smaller`, smaller ones; [count].
 */
static tgi_ref rank_in_blocks(tgi_builder *b, const rows *r, tgi_ref keys,
                              tgi_dim block, bool counts_smaller)
{
    tgi_dims *table = b->graph->dims;
    const tgi_dim n = r->dims[1];
    const tgi_dim n_blocks =
        tgi_dim_div(table, tgi_dim_add(table, n, block - 1), block);
    const tgi_dim padded =
        tgi_build_dim(b, tgi_dim_mul(table, n_blocks, block));
    if (padded == TGI_DIM_NONE || !keys)
        return 0;
    const tgi_dim first[] = {r->dims[0], n_blocks, block, 1};
    const tgi_dim second[] = {r->dims[0], n_blocks, 1, block};
    const tgi_dim square[] = {block, block};
    const tgi_dim whole[] = {r->dims[0], padded};
    keys = tgi_build_reshape(b, keys, 2, r->dims);
    if (n != padded) /* what is last precedes nothing */
        keys = tgi_build_pad(b, keys, 1, 0, tgi_dim_sub(table, padded, n),
                             tgi_build_number_like(b, keys, 0));
    tgi_ref theirs = tgi_build_reshape(b, keys, 4, first);
    tgi_ref mine = tgi_build_reshape(b, keys, 4, second);
    tgi_ref their_position = tgi_build_iota(b, TG_U8, 2, square, 0);
    tgi_ref is_earlier =
        LT(their_position, tgi_build_iota(b, TG_U8, 2, square, 1));
    tgi_ref precedes = AND(EQ(theirs, mine), is_earlier);
    if (counts_smaller)
        precedes = OR(precedes, LT(theirs, mine));
    tgi_ref rank =
        tgi_build_reduce(b, TGI_OP_SUM, tgi_build_cast(b, precedes, TG_U8),
                         tg_axes_of(1, &(int){2}));
    rank = tgi_build_reshape(b, rank, 2, whole);
    rank = tgi_build_slice(b, rank, 1, 0, n, 1);
    return tgi_build_cast(b, tgi_build_reshape(b, rank, 1, &r->count),
                          r->index);
}

/* -- One digit ------------------------------------------------------------- */

/* The position that sorts each element by its digit, stably. */
static tgi_ref rank_digits(tgi_builder *b, const rows *r, tgi_ref digits)
{
    tgi_ref rank = rank_in_blocks(b, r, digits, BLOCK, false);
    tgi_ref digit = tgi_build_cast(b, digits, r->index);
    tgi_ref row = positions(b, r, 0), one = index_number(b, r, 1);
    tgi_ref n_digits = index_number(b, r, DIGITS);
    tgi_ref block = BUILD_2(SHR, positions(b, r, 1),
                            index_number(b, r, LOG2_BLOCK));

    /* Counts of the block before: running sums there exclude the own block. */
    tgi_ref n_blocks =
        tgi_build_cast(b, tgi_build_extent(b, r->table[1]), r->index);
    tgi_ref before = ADD(MUL(ADD(MUL(row, n_blocks), block), n_digits), digit);
    tgi_ref zeros = tgi_build_broadcast(b, index_number(b, r, 0), 1,
                                        &r->table_count);
    tgi_ref ones = tgi_build_broadcast(b, one, 1, &r->count);
    tgi_ref counts =
        tgi_build_scatter(b, zeros, ADD(before, n_digits), ones, 0,
                          TG_SCATTER_ADD, TG_SCATTER_DROP);
    counts = tgi_build_reshape(b, counts, 3, r->table);
    counts = tgi_build_linear_scan(b, one, counts, 1, false);

    const tgi_dim by_row[] = {r->dims[0], DIGITS};
    const tgi_dim all_rows =
        tgi_build_dim(b, tgi_dim_mul(b->graph->dims, r->dims[0], DIGITS));
    const tgi_dim last =
        tgi_dim_sub(b->graph->dims, r->table[1], 1);
    if (all_rows == TGI_DIM_NONE || !counts)
        return 0;
    tgi_ref totals = tgi_build_reshape(
        b, tgi_build_slice(b, counts, 1, last, r->table[1], 1), 2, by_row);
    tgi_ref smaller =
        SUB(tgi_build_linear_scan(b, one, totals, 1, false), totals);
    smaller = tgi_build_reshape(b, smaller, 1, &all_rows);
    counts = tgi_build_reshape(b, counts, 1, &r->table_count);
    tgi_ref equal = tgi_build_gather(b, counts, before, 0, TG_GATHER_ZERO);
    smaller = tgi_build_gather(b, smaller, ADD(MUL(row, n_digits), digit), 0,
                               TG_GATHER_ZERO);
    return ADD(ADD(smaller, equal), rank);
}

static tgi_ref ref_of(tgi_operation *o, tg_value value)
{
    return tgi_trace_ref(o->t, value, o->b.op_name, o->b.site);
}

/* Body of the loop: number of the digit, keys and order so far. */
static void sort_digit(tg_trace *t, const tg_value *in, void *user)
{
    const rows *r = user;
    tgi_operation o;
    if (!tgi_operation_begin(&o, "argsort", r->site))
        return;
    tgi_builder *b = &o.b;
    tgi_ref keys = ref_of(&o, in[1]), order = ref_of(&o, in[2]);
    if (!keys || !order)
        return;
    tgi_ref shift = MUL(ref_of(&o, in[0]), i64_number(b, DIGIT_BITS));
    shift = tgi_build_cast(b, shift, tgi_graph_node(b->graph, keys)->dtype);
    tgi_ref digits = tgi_build_cast(b, BUILD_2(SHR, keys, shift), TG_U8);
    tgi_ref to = rank_digits(b, r, digits);
    const tg_value next[] = {tgi_operation_end(&o, permute(b, r, keys, to)),
                             tgi_operation_end(&o, permute(b, r, order, to))};
    tg_return_at(t, (tg_operand[]){tg_in_value(next[0]), tg_in_value(next[1])},
                 2, r->site);
}

/* -- The whole ------------------------------------------------------------- */

static tgi_ref sort_by_radix(tgi_operation *o, rows *r, tgi_ref keys)
{
    tgi_builder *b = &o->b;
    const tg_dtype dtype = (tg_dtype)tgi_graph_node(b->graph, keys)->dtype;
    const int n_digits = (int)tgi_dtype_bytes((int)dtype);
    if (tgi_dtype_is(dtype, TGI_CLASS_SINT)) { /* digits are unsigned */
        const int64_t least = -2 * (INT64_C(1) << (8 * n_digits - 2));
        tgi_ref sign =
            tgi_build_number(b, dtype, TG_I64,
                             (tgi_number){TGI_NUMBER_INT, {.i = least}});
        keys = XOR(keys, sign);
    }
    keys = tgi_build_reshape(b, keys, 1, &r->count);
    const tg_operand initial[] = {
        tg_in_value(tgi_operation_end(o, keys)),
        tg_in_value(tgi_operation_end(o, positions(b, r, 1)))};
    const tg_operand count =
        tg_in_value(tgi_operation_end(o, i64_number(b, n_digits)));
    tg_value results[2];
    const char *name = b->op_name;
    tg_for_at(count, sort_digit, r, initial, 2, results, 2, b->site);
    o->t->op_name = name;
    return ref_of(o, results[1]);
}

/* Sets the extents of the table; false and an error if they overflow. */
static bool size_table(tgi_builder *b, rows *r)
{
    tgi_dims *table = b->graph->dims;
    r->table[0] = r->dims[0];
    r->table[1] = tgi_dim_add(
        table,
        tgi_dim_div(table, tgi_dim_add(table, r->dims[1], BLOCK - 1), BLOCK),
        1);
    r->table[2] = DIGITS;
    r->table_count = tgi_build_dim(
        b, tgi_dim_mul(table, tgi_dim_mul(table, r->table[0], r->table[1]),
                       DIGITS));
    return r->table_count != TGI_DIM_NONE;
}

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
    if (r.count == TGI_DIM_NONE || !keys || !size_table(b, &r))
        return 0;
    if (r.count == 0) /* blocks need an extent */
        return tgi_build_broadcast(b, i64_number(b, 0), 2, r.dims);
    const bool is_narrow =
        tgi_dim_is_known(r.table_count) && r.table_count < INT32_MAX;
    r.index = is_narrow ? TG_I32 : TG_I64;
    tgi_ref order;
    if (tgi_dim_is_known(r.dims[1]) && r.dims[1] <= BLOCK)
        order = permute(b, &r, positions(b, &r, 1),
                        rank_in_blocks(b, &r, keys, r.dims[1], true));
    else
        order = sort_by_radix(o, &r, keys);
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
