/* SPDX-License-Identifier: MIT */
/*
 * kernel_index.c - kernels that move elements. PAD, CONCAT and DYNAMIC_UPDATE
 * copy into views of the result, DYNAMIC_SLICE from a view of its input. Also
 * IOTA and EXTENT. GATHER and SCATTER have their own files.
 */
#include "interp/kernel.h"
#include "runtime/index_check.h"
#include "interp/kernel_rows.h"
#include "recipe/scalar.h"
#include "recipe/recipe_cast.h"

#define TEMPLATE "interp/kernel_index_type.h"
#include "recipe/recipe_each.h"

static tgi_kernel *const iota_kernels[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = kernel_IOTA_##ID,
#include "base/dtype.def"
#undef DTYPE
};

static tg_status run_extent(const tgi_kernel_args *args)
{
    const tgi_attr_index *attr = args->node->attr;
    *(int64_t *)args->out.data = tgi_dim_value(attr->index, args->values);
    return TG_OK;
}

static tg_status run_pad(const tgi_kernel_args *args)
{
    const tgi_attr_pad *attr = args->node->attr;
    const tgi_view *in = &args->in[0];
    tgi_view value = args->out;
    value.data = args->in[1].data;
    for (int axis = 0; axis < value.rank; axis++)
        value.strides[axis] = 0;
    tgi_view_copy(&args->out, &value);
    if (tgi_view_count(in) == 0)
        return TG_OK;

    tgi_view inside = args->out;
    for (int axis = 0; axis < inside.rank; axis++) {
        int64_t low = tgi_dim_value(attr->low[axis], args->values);
        inside.data +=
            low * inside.strides[axis] * tgi_dtype_bytes(inside.dtype);
        inside.dims[axis] = in->dims[axis];
        inside.strides[axis] *= attr->interior[axis] + 1;
    }
    tgi_view_copy(&inside, in);
    return TG_OK;
}

static tg_status run_concat(const tgi_kernel_args *args)
{
    const tgi_attr_index *attr = args->node->attr;
    int64_t axis = attr->index;
    tgi_view part = args->out;
    for (uint32_t i = 0; i < args->node->n_inputs; i++) {
        part.dims[axis] = args->in[i].dims[axis];
        tgi_view_copy(&part, &args->in[i]);
        part.data += part.dims[axis] * part.strides[axis] *
                     tgi_dtype_bytes(part.dtype);
    }
    return TG_OK;
}

/* The view of `whole` with extents `dims` that begins at `start` (clamped)
   along `axis`. */
static tgi_view slice_at(const tgi_view *whole, int64_t axis,
                         const tgi_view *start, const int64_t *dims)
{
    tgi_view part = *whole;
    for (int i = 0; i < part.rank; i++)
        part.dims[i] = dims[i];
    int64_t offset = tgi_index_reader(start->dtype)(start->data);
    offset = tgi_clamp_index(offset, whole->dims[axis] - dims[axis] + 1);
    part.data += offset * part.strides[axis] * tgi_dtype_bytes(part.dtype);
    return part;
}

static tg_status run_dynamic_slice(const tgi_kernel_args *args)
{
    const tgi_attr_index *attr = args->node->attr;
    tgi_view part =
        slice_at(&args->in[0], attr->index, &args->in[1], args->out.dims);
    tgi_view_copy(&args->out, &part);
    return TG_OK;
}

static tg_status run_dynamic_update(const tgi_kernel_args *args)
{
    const tgi_attr_index *attr = args->node->attr;
    const tgi_view *update = &args->in[1];
    tgi_kernel_begin_update(args);
    tgi_view part =
        slice_at(&args->out, attr->index, &args->in[2], update->dims);
    tgi_view_copy(&part, update);
    return TG_OK;
}

tgi_kernel *tgi_kernel_index(int op, int dtype, int index_dtype)
{
    switch (op) {
    case TGI_OP_IOTA:
        return iota_kernels[dtype];
    case TGI_OP_EXTENT:
        return run_extent;
    case TGI_OP_PAD:
        return run_pad;
    case TGI_OP_CONCAT:
        return run_concat;
    case TGI_OP_GATHER:
        return tgi_kernel_gather(dtype, index_dtype);
    case TGI_OP_SCATTER:
        return tgi_kernel_scatter(dtype, index_dtype);
    case TGI_OP_DYNAMIC_SLICE:
        return run_dynamic_slice;
    case TGI_OP_DYNAMIC_UPDATE:
        return run_dynamic_update;
    default:
        return NULL;
    }
}
