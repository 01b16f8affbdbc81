/* SPDX-License-Identifier: MIT */
/*
 * ops_shape.c - shapes, order and repetition of elements: reshapes, broadcasts,
 * slices, transposes and gathers.
 *
 * A gather along an axis whose indices are computed from positions moves
 * elements in any order and fuses into the code that uses them.
 */
#include "tgjit/ops_shape.h"

#include "build/build_formula.h"
#include "front/ops/ops_arrange.h"
#include "front/ops/ops_spatial.h"
#include "front/trace/trace_state.h"

#define HAS(mask, axis) ((mask) >> (axis) & 1)

/* The product of the extents from axis `first` up to, but not including,
   `end`. */
static tgi_dim count_of_axes(tgi_builder *b, const tgi_shape *shape, int first,
                             int end)
{
    tgi_dim count = 1;
    for (int i = first; i < end; i++)
        count = tgi_dim_mul(b->graph->dims, count, shape->dims[i]);
    return tgi_build_dim(b, count);
}

/* -- Axes ------------------------------------------------------------------ */

static tgi_ref build_flatten(tgi_builder *b, tgi_ref x, int user_first,
                             int user_last)
{
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK];
    if (shape->rank == 0)
        return tgi_build_insert_axis(b, x, 0);
    const int first = tgi_build_axis(b, x, user_first);
    const int last = first < 0 ? -1 : tgi_build_axis(b, x, user_last);
    if (last < 0)
        return 0;
    if (last < first)
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "the last axis, %d, precedes the first, %d", last,
                              first);
    int rank = 0;
    for (int i = 0; i < first; i++)
        dims[rank++] = shape->dims[i];
    dims[rank++] = count_of_axes(b, shape, first, last + 1);
    for (int i = last + 1; i < shape->rank; i++)
        dims[rank++] = shape->dims[i];
    return dims[first] == TGI_DIM_NONE ? 0
                                       : tgi_build_reshape(b, x, rank, dims);
}

tg_value tg_flatten_at(tg_operand x, int first, int last, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "flatten", site))
        result = build_flatten(&o.b, tgi_operation_operand(&o, x), first, last);
    return tgi_operation_end(&o, result);
}

static tgi_ref build_squeeze(tgi_builder *b, tgi_ref x, tg_axes axes)
{
    uint64_t mask;
    if (!x || !tgi_build_axes_mask(b, x, axes, &mask))
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    tgi_dim dims[TG_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < shape->rank; i++) {
        const tgi_dim extent = shape->dims[i];
        if (axes.n < 0 && !tgi_dim_is_known(extent))
            return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                                  "whether axis %d has extent 1 is unknown; "
                                  "name the axes",
                                  i);
        if (axes.n < 0 ? extent != 1 : !HAS(mask, i))
            dims[rank++] = extent;
        else if (!tgi_build_check(b, TGI_CHECK_EQUAL, extent, 1,
                                  "extent to remove"))
            return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                                  "the extent of axis %d is not 1", i);
    }
    return tgi_build_reshape(b, x, rank, dims);
}

tg_value tg_squeeze_at(tg_operand x, tg_axes axes, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "squeeze", site))
        result = build_squeeze(&o.b, tgi_operation_operand(&o, x), axes);
    return tgi_operation_end(&o, result);
}

tg_value tg_expand_dims_at(tg_operand operand, int axis, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "expand_dims", site)) {
        tgi_ref x = tgi_operation_operand(&o, operand);
        const int rank = x ? tgi_graph_shape(o.t->graph, x)->rank : 0;
        const int at = axis < 0 ? axis + rank + 1 : axis;
        if (x && (at < 0 || at > rank))
            x = tgi_build_fail(
                &o.b, TG_ERROR_SHAPE, &x, 1,
                "axis %d is out of range for a result of rank %d", axis,
                rank + 1);
        result = tgi_build_insert_axis(&o.b, x, at);
    }
    return tgi_operation_end(&o, result);
}

/* -- Split ----------------------------------------------------------------- */

/* The extent of equal parts, or TGI_DIM_NONE and an error. */
static tgi_dim equal_part(tgi_builder *b, tgi_ref x, int axis, size_t n_parts)
{
    tgi_dims *table = b->graph->dims;
    const tgi_dim n = tgi_graph_shape(b->graph, x)->dims[axis];
    const int64_t count = (int64_t)n_parts;
    const tgi_dim part = tgi_build_dim(b, tgi_dim_div(table, n, count));
    if (part != TGI_DIM_NONE &&
        tgi_build_check(b, TGI_CHECK_EQUAL, n, tgi_dim_mul(table, part, count),
                        "extent to split and equal parts"))
        return part;
    tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                   "axis %d is not divisible into %zu equal parts", axis,
                   n_parts);
    return TGI_DIM_NONE;
}

/* False, with an error, if the sizes do not add up to the extent. */
static bool check_sizes(tgi_builder *b, tgi_ref x, int axis, size_t n_parts,
                        const int64_t *sizes)
{
    tgi_dims *table = b->graph->dims;
    tgi_dim sum = 0;
    for (size_t i = 0; i < n_parts; i++) {
        if (!tgi_dims_has(table, sizes[i]))
            return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                                  "size %lld of part %zu is negative",
                                  (long long)sizes[i], i);
        sum = tgi_build_dim(b, tgi_dim_add(table, sum, sizes[i]));
    }
    if (sum == TGI_DIM_NONE)
        return false;
    return tgi_build_check(b, TGI_CHECK_EQUAL,
                           tgi_graph_shape(b->graph, x)->dims[axis], sum,
                           "extent to split and sum of the sizes") ||
           tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                          "the sizes do not add up to the extent of axis %d",
                          axis);
}

/* Ends the operation. */
static void build_split(tgi_operation *o, tgi_ref x, int axis, size_t n_parts,
                        const int64_t *sizes, tg_value *out_parts)
{
    tgi_builder *b = &o->b;
    tgi_dim from = 0;
    const tgi_dim part = sizes ? 0 : equal_part(b, x, axis, n_parts);
    if (part == TGI_DIM_NONE ||
        (sizes && !check_sizes(b, x, axis, n_parts, sizes))) {
        tgi_operation_end(o, 0);
        return;
    }
    for (size_t i = 0; i < n_parts && !o->t->status; i++) {
        const tgi_dim to =
            tgi_dim_add(b->graph->dims, from, sizes ? sizes[i] : part);
        out_parts[i] =
            tgi_operation_end(o, tgi_build_slice(b, x, axis, from, to, 1));
        from = to;
    }
}

void tg_split_at(tg_operand operand, int user_axis, size_t n_parts,
                 const int64_t *sizes, tg_value *out_parts, tg_site site)
{
    tgi_operation o;
    for (size_t i = 0; out_parts && i < n_parts; i++)
        out_parts[i] = (tg_value){0, 0};
    if (!tgi_operation_begin(&o, "split", site))
        return;
    tgi_ref x = tgi_operation_operand(&o, operand);
    if (!out_parts || n_parts == 0 || n_parts > INT32_MAX)
        x = tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                           out_parts ? "there are no parts, or too many"
                                     : "parts are NULL");
    const int axis = x ? tgi_build_axis(&o.b, x, user_axis) : -1;
    if (axis < 0)
        tgi_operation_end(&o, 0);
    else
        build_split(&o, x, axis, n_parts, sizes, out_parts);
    for (size_t i = 0; out_parts && o.t->status && i < n_parts; i++)
        out_parts[i] = (tg_value){0, 0};
}

/* -- Reversal -------------------------------------------------------------- */

tg_value tg_reverse_at(tg_operand operand, tg_axes axes, tg_site site)
{
    tgi_operation o;
    tgi_ref x = 0;
    if (tgi_operation_begin(&o, "reverse", site)) {
        uint64_t mask;
        x = tgi_operation_operand(&o, operand);
        if (x && !tgi_build_axes_mask(&o.b, x, axes, &mask))
            x = 0;
        const int rank = x ? tgi_graph_shape(o.t->graph, x)->rank : 0;
        for (int i = 0; i < rank; i++)
            if (HAS(mask, i))
                x = tgi_build_reverse(&o.b, x, i);
    }
    return tgi_operation_end(&o, x);
}

/* Moves two axes to the front: first, then second, then the others. */
static tgi_ref move_to_front(tgi_builder *b, tgi_ref x, int first, int second,
                             int perm[])
{
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    int n = 0;
    perm[n++] = first;
    perm[n++] = second;
    for (int i = 0; i < rank; i++)
        if (i != first && i != second)
            perm[n++] = i;
    return tgi_build_transpose(b, x, rank, perm);
}

/*
 * Gathers rows of the merged axes [slice, position]: position i of a slice is
 * taken from length - 1 - i, if that is not negative.
 */
static tgi_ref build_reverse_sequence(tgi_builder *b, tgi_ref x,
                                      tgi_ref lengths, int batch_axis,
                                      int sequence_axis)
{
    const tgi_ref pair[] = {x, lengths};
    if (!x || !lengths)
        return 0;
    const int batch = tgi_build_axis(b, x, batch_axis);
    const int sequence = batch < 0 ? -1 : tgi_build_axis(b, x, sequence_axis);
    if (sequence < 0)
        return 0;
    if (!tgi_dtype_is(tgi_graph_node(b->graph, lengths)->dtype, TGI_CLASS_INT))
        return tgi_build_fail(b, TG_ERROR_DTYPE, pair, 2,
                              "lengths need an integer type");
    const tgi_shape *of_lengths = tgi_graph_shape(b->graph, lengths);
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    if (batch == sequence || of_lengths->rank != 1 ||
        !tgi_build_check(b, TGI_CHECK_EQUAL, of_lengths->dims[0],
                         shape->dims[batch], "lengths and slices"))
        return tgi_build_fail(b, TG_ERROR_SHAPE, pair, 2,
                              "needs two axes, and one length per slice of "
                              "the first");
    int perm[TG_MAX_RANK], back[TG_MAX_RANK];
    tgi_ref moved = move_to_front(b, x, batch, sequence, perm);
    for (int i = 0; i < shape->rank; i++)
        back[perm[i]] = i;
    const tgi_dim grid[] = {shape->dims[batch], shape->dims[sequence]};
    tgi_ref n = tgi_build_extent(b, grid[1]);
    tgi_ref length = MIN(tgi_build_cast(b, lengths, TG_I64), n);
    length = tgi_build_insert_axis(b, length, 1);
    tgi_ref slice = tgi_build_iota(b, TG_I64, 2, grid, 0);
    tgi_ref position = tgi_build_iota(b, TG_I64, 2, grid, 1);
    tgi_ref mirrored =
        SUB(SUB(length, position), tgi_build_number_like(b, position, 1));
    tgi_ref from = SELECT(LT(position, length), mirrored, position);
    from = ADD(MUL(slice, n), from);
    tgi_ref rows = build_flatten(b, moved, 0, 1);
    return tgi_build_transpose(
        b, tgi_build_gather(b, rows, from, 0, TG_GATHER_ZERO), shape->rank,
        back);
}

tg_value tg_reverse_sequence_at(tg_operand x, tg_operand lengths,
                                int batch_axis, int sequence_axis, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "reverse_sequence", site)) {
        tgi_ref in = tgi_operation_operand(&o, x);
        result =
            build_reverse_sequence(&o.b, in, tgi_operation_operand(&o, lengths),
                                   batch_axis, sequence_axis);
    }
    return tgi_operation_end(&o, result);
}

/* -- Repetition ------------------------------------------------------------ */

/*
 * x with `axis` repeated: the whole axis `times` times, or each element of it.
 * Through a shape of three axes, of which the middle one is repeated.
 */
static tgi_ref repeat_axis(tgi_builder *b, tgi_ref x, int axis, int64_t times,
                           bool by_element)
{
    tgi_dims *table = b->graph->dims;
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    if (!tgi_dims_has(table, times))
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                              "%lld repeats of axis %d are negative",
                              (long long)times, axis);
    const int split = by_element ? axis + 1 : axis;
    tgi_dim parts[] = {count_of_axes(b, shape, 0, split), 1,
                       count_of_axes(b, shape, split, shape->rank)};
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i < shape->rank; i++)
        dims[i] = shape->dims[i];
    dims[axis] = tgi_build_dim(b, tgi_dim_mul(table, dims[axis], times));
    if (parts[0] == TGI_DIM_NONE || parts[2] == TGI_DIM_NONE ||
        dims[axis] == TGI_DIM_NONE)
        return 0;
    tgi_ref split_x = tgi_build_reshape(b, x, 3, parts);
    parts[1] = times;
    return tgi_build_reshape(b, tgi_build_broadcast(b, split_x, 3, parts),
                             shape->rank, dims);
}

tg_value tg_tile_at(tg_operand operand, int n_repeats, const int64_t *repeats,
                    tg_site site)
{
    tgi_operation o;
    tgi_ref x = 0;
    if (tgi_operation_begin(&o, "tile", site)) {
        x = tgi_operation_operand(&o, operand);
        const int rank = x ? tgi_graph_shape(o.t->graph, x)->rank : 0;
        if (x && (n_repeats != rank || (rank && !repeats)))
            x = tgi_build_fail(&o.b, TG_ERROR_SHAPE, &x, 1,
                               "%d numbers of repeats are given; pass one per "
                               "axis",
                               repeats ? n_repeats : 0);
        for (int i = 0; i < rank && x; i++)
            if (repeats[i] != 1)
                x = repeat_axis(&o.b, x, i, repeats[i], false);
    }
    return tgi_operation_end(&o, x);
}

tg_value tg_repeat_at(tg_operand operand, int64_t repeats, int user_axis,
                      tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "repeat", site)) {
        tgi_ref x = tgi_operation_operand(&o, operand);
        const int axis = x ? tgi_build_axis(&o.b, x, user_axis) : -1;
        if (axis >= 0)
            result = repeat_axis(&o.b, x, axis, repeats, true);
    }
    return tgi_operation_end(&o, result);
}

/* -- Padding from the elements themselves ---------------------------------- */

/* i modulo n, with the sign of n > 0. */
static tgi_ref modulo(tgi_builder *b, tgi_ref i, tgi_ref n)
{
    tgi_ref rest = BUILD_2(REM, i, n);
    tgi_ref zero = tgi_build_number_like(b, i, 0);
    return SELECT(LT(rest, zero), ADD(rest, n), rest);
}

/* The position, from 0 to n - 1, of the element at position `i`, which may be
   outside. Both mirrors have a period: 2 n with the edge, 2 (n - 1) without. */
static tgi_ref mapped_position(tgi_builder *b, tgi_ref i, tgi_ref n,
                               tg_pad_kind kind)
{
    tgi_ref one = tgi_build_number_like(b, i, 1);
    if (kind == TG_PAD_EDGE)
        return i; /* the gather clamps */
    if (kind == TG_PAD_WRAP)
        return modulo(b, i, n);
    const bool with_edge = kind == TG_PAD_SYMMETRIC;
    tgi_ref two_n = ADD(n, n);
    tgi_ref last = with_edge ? SUB(two_n, one) : SUB(SUB(two_n, one), one);
    tgi_ref period = with_edge ? two_n : MAX(last, one);
    tgi_ref at = modulo(b, i, period);
    return MIN(at, SUB(last, at));
}

static tgi_ref pad_axis(tgi_builder *b, tgi_ref x, int axis, int64_t low,
                        int64_t high, tg_pad_kind kind)
{
    tgi_dims *table = b->graph->dims;
    if (!x)
        return 0;
    if (kind > TG_PAD_WRAP || (int)kind < TG_PAD_EDGE)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                              "invalid kind %d", (int)kind);
    if (!tgi_dims_has(table, low) || !tgi_dims_has(table, high))
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "padding of %lld and %lld is negative",
                              (long long)low, (long long)high);
    if (low == 0 && high == 0)
        return x;
    const tgi_dim n = tgi_graph_shape(b->graph, x)->dims[axis];
    const tgi_dim wide =
        tgi_build_dim(b, tgi_dim_add(table, tgi_dim_add(table, n, low), high));
    if (wide == TGI_DIM_NONE)
        return 0;
    tgi_ref position = tgi_build_iota(b, TG_I64, 1, &wide, 0);
    position = SUB(position, tgi_build_extent(b, low));
    position = mapped_position(b, position, tgi_build_extent(b, n), kind);
    return tgi_build_gather(b, x, position, axis, TG_GATHER_CLAMP);
}

tg_value tg_pad_from_at(tg_operand operand, int user_axis, int64_t low,
                        int64_t high, tg_pad_kind kind, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "pad_from", site)) {
        tgi_ref x = tgi_operation_operand(&o, operand);
        const int axis = x ? tgi_build_axis(&o.b, x, user_axis) : -1;
        if (axis >= 0)
            result = pad_axis(&o.b, x, axis, low, high, kind);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_pad_from_axes_at(tg_operand operand, int n_low, const int64_t *low,
                             int n_high, const int64_t *high, tg_pad_kind kind,
                             tg_site site)
{
    tgi_operation o;
    tgi_ref x = 0;
    if (tgi_operation_begin(&o, "pad_from_axes", site)) {
        x = tgi_operation_operand(&o, operand);
        if (x && (n_low != n_high || (n_low && !(low && high))))
            x = tgi_build_fail(&o.b, TG_ERROR_SHAPE, &x, 1,
                               "%d lows and %d highs are given; pass one of "
                               "each per axis",
                               low ? n_low : 0, high ? n_high : 0);
        if (x && !tgi_build_check_n_axes(&o.b, x, n_low))
            x = 0;
        for (int i = 0; i < n_low && x; i++)
            x = pad_axis(&o.b, x, i, low[i], high[i], kind);
    }
    return tgi_operation_end(&o, x);
}

/* -- Blocks ---------------------------------------------------------------- */

/* Fails unless x has four axes and the block is positive. */
static bool check_blocks(tgi_builder *b, tgi_ref x, int64_t block,
                         unsigned flags)
{
    if (!x)
        return false;
    if (flags > (TG_BLOCK_CHANNELS_FIRST | TG_BLOCK_CHANNEL_MAJOR))
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, &x, 1,
                              "invalid flags %u", flags);
    if (tgi_graph_shape(b->graph, x)->rank != 4 || block < 1 ||
        block > INT32_MAX)
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "needs 4 axes and a positive block, not %lld",
                              (long long)block);
    return true;
}

/* [n, h, w, depth] with depth as the axes of block and channel, and the
   permutation that puts the block into the spatial axes. */
static const int *block_order(unsigned flags)
{
    static const int block_major[] = {0, 1, 3, 2, 4, 5};
    static const int channel_major[] = {0, 1, 4, 2, 5, 3};
    return flags & TG_BLOCK_CHANNEL_MAJOR ? channel_major : block_major;
}

static tgi_ref spread_blocks(tgi_builder *b, tgi_ref x, int64_t block,
                             unsigned flags)
{
    tgi_dims *table = b->graph->dims;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tgi_dim depth = shape->dims[3], area = block * block;
    const tgi_dim channels = tgi_build_dim(b, tgi_dim_div(table, depth, area));
    if (channels == TGI_DIM_NONE)
        return 0;
    if (!tgi_build_check(b, TGI_CHECK_EQUAL, depth,
                         tgi_dim_mul(table, channels, area),
                         "channels and those of whole blocks"))
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "blocks of %lld do not divide the channels",
                              (long long)block);
    tgi_dim split[] = {shape->dims[0], shape->dims[1], shape->dims[2],
                       block,          block,          channels};
    if (flags & TG_BLOCK_CHANNEL_MAJOR) {
        split[3] = channels;
        split[5] = block;
    }
    const tgi_dim dims[] = {
        shape->dims[0], tgi_dim_mul(table, shape->dims[1], block),
        tgi_dim_mul(table, shape->dims[2], block), channels};
    if (tgi_build_dim(b, dims[1]) == TGI_DIM_NONE ||
        tgi_build_dim(b, dims[2]) == TGI_DIM_NONE)
        return 0;
    tgi_ref blocks = tgi_build_transpose(b, tgi_build_reshape(b, x, 6, split),
                                         6, block_order(flags));
    return tgi_build_reshape(b, blocks, 4, dims);
}

static tgi_ref collect_blocks(tgi_builder *b, tgi_ref x, int64_t block,
                              unsigned flags)
{
    tgi_dims *table = b->graph->dims;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const int *order = block_order(flags);
    const tgi_dim high =
        tgi_build_dim(b, tgi_dim_div(table, shape->dims[1], block));
    const tgi_dim wide =
        tgi_build_dim(b, tgi_dim_div(table, shape->dims[2], block));
    const tgi_dim depth =
        tgi_build_dim(b, tgi_dim_mul(table, shape->dims[3], block * block));
    if (high == TGI_DIM_NONE || wide == TGI_DIM_NONE || depth == TGI_DIM_NONE)
        return 0;
    if (!tgi_build_check(b, TGI_CHECK_EQUAL, shape->dims[1],
                         tgi_dim_mul(table, high, block),
                         "extent and that of whole blocks") ||
        !tgi_build_check(b, TGI_CHECK_EQUAL, shape->dims[2],
                         tgi_dim_mul(table, wide, block),
                         "extent and that of whole blocks"))
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "blocks of %lld do not divide the extents",
                              (long long)block);
    const tgi_dim split[] = {shape->dims[0], high,  block,
                             wide,           block, shape->dims[3]};
    const tgi_dim dims[] = {shape->dims[0], high, wide, depth};
    int back[6];
    for (int i = 0; i < 6; i++)
        back[order[i]] = i;
    tgi_ref blocks =
        tgi_build_transpose(b, tgi_build_reshape(b, x, 6, split), 6, back);
    return tgi_build_reshape(b, blocks, 4, dims);
}

typedef tgi_ref move_blocks(tgi_builder *b, tgi_ref x, int64_t block,
                            unsigned flags);

static tg_value apply_blocks(const char *name, move_blocks *move,
                             tg_operand operand, int64_t block, unsigned flags,
                             tg_site site)
{
    tgi_operation o;
    tgi_ref x = 0;
    if (tgi_operation_begin(&o, name, site)) {
        const bool is_first = flags & TG_BLOCK_CHANNELS_FIRST;
        x = tgi_operation_operand(&o, operand);
        if (!check_blocks(&o.b, x, block, flags))
            x = 0;
        if (x && is_first)
            x = tgi_build_channels_last(&o.b, x);
        x = x ? move(&o.b, x, block, flags) : 0;
        if (x && is_first)
            x = tgi_build_channels_first(&o.b, x);
    }
    return tgi_operation_end(&o, x);
}

tg_value tg_depth_to_space_at(tg_operand x, int64_t block, unsigned flags,
                              tg_site site)
{
    return apply_blocks("depth_to_space", spread_blocks, x, block, flags, site);
}

tg_value tg_space_to_depth_at(tg_operand x, int64_t block, unsigned flags,
                              tg_site site)
{
    return apply_blocks("space_to_depth", collect_blocks, x, block, flags,
                        site);
}
