/* SPDX-License-Identifier: MIT */
/*
 * build.c - shared by all builders: messages, axes, shapes and checks of
 * extents; and the builders of leaves.
 */
#include "build/build.h"

#include <stdarg.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "ir/dump.h"

/* -- Messages -------------------------------------------------------------- */

tgi_ref tgi_build_fail(tgi_builder *b, tg_status status,
                       const tgi_ref *operands, size_t n_operands,
                       const char *format, ...)
{
    if (b->has_error)
        return 0;
    b->has_error = true;
    tgi_strbuf text = {0};
    for (size_t i = 0; i < n_operands; i++) {
        const char *name = tgi_graph_node(b->graph, operands[i])->name;
        tgi_strbuf_add(&text, i ? " x " : "");
        if (name)
            tgi_strbuf_addf(&text, "'%s' ", name);
        tgi_type_print(b->graph, operands[i], &text);
    }
    if (n_operands)
        tgi_strbuf_add(&text, ": ");

    va_list args;
    va_start(args, format);
    tgi_strbuf_addv(&text, format, args);
    va_end(args);

    if (text.failed)
        tgi_error_memory();
    else
        tgi_error_set(status, b->site, "%s: %s", b->op_name, text.text);
    tgi_strbuf_deinit(&text);
    return 0;
}

/* -- Nodes ----------------------------------------------------------------- */

tgi_ref tgi_build_node(tgi_builder *b, tgi_op op, int dtype,
                       tgi_shape_ref shape, const tgi_ref *inputs,
                       size_t n_inputs, const void *attr, size_t attr_bytes)
{
    const tgi_site_chain site = tgi_builder_site(b);
    const tgi_node node = {
        .op = (uint8_t)op,
        .dtype = (uint8_t)dtype,
        .shape = shape,
        .n_inputs = (uint32_t)n_inputs,
        .inputs = inputs,
        .attr = attr,
        .attr_bytes = (uint32_t)attr_bytes,
        .site = &site,
    };
    return tgi_build_added(b, shape ? tgi_graph_add(b->graph, &node) : 0);
}

tgi_ref tgi_build_added(tgi_builder *b, tgi_ref added)
{
    b->has_error |= !added;
    return added;
}

int tgi_build_axis(tgi_builder *b, tgi_ref x, int axis)
{
    int rank = tgi_graph_shape(b->graph, x)->rank;
    if (axis >= -rank && axis < rank)
        return axis < 0 ? axis + rank : axis;
    tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                   "axis %d is out of range for rank %d", axis, rank);
    return -1;
}

bool tgi_build_check_n_axes(tgi_builder *b, tgi_ref x, int n)
{
    int rank = tgi_graph_shape(b->graph, x)->rank;
    if (n < 0 || n > rank)
        tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                       "%d axes are given for rank %d", n, rank);
    return n >= 0 && n <= rank;
}

tgi_ref tgi_build_require_float(tgi_builder *b, tgi_ref x)
{
    if (x && !tgi_dtype_is(tgi_graph_node(b->graph, x)->dtype,
                           TGI_CLASS_REAL))
        return tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1, "needs a float type");
    return x;
}

bool tgi_build_same_shape(tgi_builder *b, tgi_ref x, tgi_ref y,
                          const char *what)
{
    if (!x || !y)
        return false;
    const tgi_shape *left = tgi_graph_shape(b->graph, x);
    const tgi_shape *right = tgi_graph_shape(b->graph, y);
    bool is_same = left->rank == right->rank;
    tgi_build_compare(b, tgi_graph_node(b->graph, x)->shape,
                      tgi_graph_node(b->graph, y)->shape, false);
    for (int i = 0; is_same && i < left->rank; i++)
        is_same = tgi_build_check(b, TGI_CHECK_EQUAL, left->dims[i],
                                  right->dims[i], "extents");
    tgi_build_compare(b, 0, 0, false);
    if (!is_same)
        tgi_build_fail(b, TG_ERROR_SHAPE, (tgi_ref[]){x, y}, 2,
                       "the shapes of %s differ", what);
    return is_same;
}

tgi_shape_ref tgi_build_shape(tgi_builder *b, int rank, const int64_t *dims)
{
    if (rank < 0 || rank > TG_MAX_RANK)
        return tgi_build_fail(b, TG_ERROR_OVERFLOW, NULL, 0,
                              "rank %d is not in 0 … %d", rank, TG_MAX_RANK);
    if (rank > 0 && !dims)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              "extents are NULL");

    int64_t known[TG_MAX_RANK], count;
    int n_known = 0;
    for (int i = 0; i < rank; i++) {
        if (!tgi_dims_has(b->graph->dims, dims[i]))
            return tgi_build_fail(b, TG_ERROR_SHAPE, NULL, 0,
                                  "extent %lld of axis %d is negative",
                                  (long long)dims[i], i);
        if (tgi_dim_is_known(dims[i]))
            known[n_known++] = dims[i];
    }
    if (!tgi_checked_bytes(n_known, known, 8, &count))
        return tgi_build_fail(b, TG_ERROR_OVERFLOW, NULL, 0,
                              "the shape has too many elements");
    return tgi_shape_intern(b->graph->dims, rank, dims);
}

/* -- Checks of extents ----------------------------------------------------- */

tgi_dim tgi_build_dim(tgi_builder *b, tgi_dim dim)
{
    b->has_error |= dim == TGI_DIM_NONE;
    return dim;
}

bool tgi_build_check(tgi_builder *b, tgi_check_kind kind, tgi_dim x, tgi_dim y,
                     const char *what)
{
    if (tgi_build_dim(b, x) == TGI_DIM_NONE ||
        tgi_build_dim(b, y) == TGI_DIM_NONE)
        return false;

    tgi_check check = {
        .kind = (uint8_t)kind,
        .line = b->site.line,
        .file = b->site.file,
        .op = b->op_name,
        .what = what,
        .a = x,
        .b = y,
        .shapes = {b->compared[0], b->compared[1]},
        .is_target = b->is_target,
    };
    int decided = tgi_check_decide(b->graph->dims, &check);
    if (decided >= 0)
        return decided;
    bool is_added = tgi_graph_add_check(b->graph, check);
    b->has_error |= !is_added;
    return is_added;
}

void tgi_build_compare(tgi_builder *b, tgi_shape_ref x, tgi_shape_ref y,
                       bool is_target)
{
    b->compared[0] = x;
    b->compared[1] = y;
    b->is_target = is_target;
}

bool tgi_build_common_dim(tgi_builder *b, tgi_dim x, tgi_dim y,
                          tgi_dim *out_dim)
{
    static const char what[] = "extents";
    if (x == y || y == 1) {
        *out_dim = x;
        return true;
    }
    if (x == 1) {
        *out_dim = y;
        return true;
    }
    if (tgi_dim_is_known(x) || tgi_dim_is_known(y)) {
        /* A known extent other than 1 is the result. */
        *out_dim = tgi_dim_is_known(x) ? x : y;
        tgi_dim other = tgi_dim_is_known(x) ? y : x;
        return tgi_build_check(b, TGI_CHECK_EXPANDS, other, *out_dim, what);
    }
    *out_dim = tgi_build_dim(b, tgi_dim_broadcast(b->graph->dims, x, y));
    return *out_dim != TGI_DIM_NONE &&
           tgi_build_check(b, TGI_CHECK_BROADCAST, x, y, what);
}

/* -- Leaves ---------------------------------------------------------------- */

tgi_ref tgi_build_constant(tgi_builder *b, tg_dtype dtype, int rank,
                           const int64_t *dims, const void *data)
{
    if (!tgi_dtype_is_valid(dtype))
        return tgi_build_fail(b, TG_ERROR_DTYPE, NULL, 0,
                              "%d is not an element type", (int)dtype);
    tgi_shape_ref shape = tgi_build_shape(b, rank, dims);
    if (!shape)
        return tgi_build_added(b, 0);
    if (!tgi_shape_is_static(tgi_shape_of(b->graph->dims, shape)))
        return tgi_build_fail(b, TG_ERROR_SHAPE, NULL, 0,
                              "a constant cannot have unknown extents");
    int64_t bytes;
    if (!tgi_checked_bytes(rank, dims, tgi_dtype_bytes(dtype), &bytes))
        return tgi_build_fail(b, TG_ERROR_OVERFLOW, NULL, 0,
                              "the shape has too many elements");
    if (bytes > 0 && !data)
        return tgi_build_fail(b, TG_ERROR_INVALID_ARGUMENT,
                              NULL, 0, "data is NULL");
    return tgi_build_added(b, tgi_graph_add_constant(b->graph, dtype, shape,
                                                     data, (size_t)bytes, 0,
                                                     b->site));
}

tgi_ref tgi_build_iota(tgi_builder *b, tg_dtype dtype, int rank,
                       const int64_t *dims, int axis)
{
    if (tgi_dtype_is_valid(dtype) && tgi_dtype_is(dtype, TGI_CLASS_HALF))
        return tgi_build_cast(b, tgi_build_iota(b, TG_F64, rank, dims, axis),
                              dtype);
    if (!tgi_dtype_is_valid(dtype) ||
        !tgi_dtype_is(dtype, tgi_op_table[TGI_OP_IOTA].types))
        return tgi_build_fail(b, TG_ERROR_DTYPE, NULL, 0,
                              "needs a number type, not %s",
                              tg_dtype_name(dtype));
    tgi_shape_ref shape = tgi_build_shape(b, rank, dims);
    if (!shape)
        return 0;
    if (axis < -rank || axis >= rank)
        return tgi_build_fail(b, TG_ERROR_SHAPE, NULL, 0,
                              "axis %d is out of range for rank %d", axis,
                              rank);
    tgi_attr_index attr = {axis < 0 ? axis + rank : axis};
    return tgi_build_node(b, TGI_OP_IOTA, dtype, shape, NULL, 0, &attr,
                          sizeof(attr));
}

tgi_ref tgi_build_extent(tgi_builder *b, tgi_dim dim)
{
    if (dim == TGI_DIM_NONE)
        return 0;
    tgi_attr_index attr = {dim};
    return tgi_build_node(b, TGI_OP_EXTENT, TG_I64,
                          tgi_shape_intern(b->graph->dims, 0, NULL), NULL, 0,
                          &attr, sizeof(attr));
}

tgi_ref tgi_build_unset(tgi_builder *b, tg_dtype dtype, int rank,
                        const tgi_dim *dims)
{
    return tgi_build_node(b, TGI_OP_UNSET, dtype,
                          tgi_shape_intern(b->graph->dims, rank, dims), NULL,
                          0, NULL, 0);
}
