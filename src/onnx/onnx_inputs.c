/* SPDX-License-Identifier: MIT */
/*
 * onnx_inputs.c - the types that a model declares for its inputs and outputs.
 */
#include "onnx_inputs.h"

#include <string.h>

enum { MAX_NAMED = 256 };

/* Names of unknown extents, numbered from 1. */
typedef struct symbols {
    const char *name[MAX_NAMED];
    int n;
} symbols;

static int64_t symbol(symbols *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->name[i], name))
            return TG_SAME(i + 1);
    if (s->n == MAX_NAMED)
        return TG_UNKNOWN;
    s->name[s->n++] = name;
    return TG_SAME(s->n);
}

/* The tensor type of an input or output. */
static tg_status tensor_type(const tg_onnx_model *m,
                             const Onnx__ValueInfoProto *info,
                             const Onnx__TypeProto__Tensor **out)
{
    const tg_site site = {m->name, 0};
    const char *name = info->name ? info->name : "";
    const Onnx__TypeProto *type = info->type;
    *out = NULL;
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return tg_error_set(m->ctx, TG_ERROR_UNSUPPORTED, site,
                            "'%s' is not a tensor: sequences, maps and "
                            "optional values are unsupported",
                            name);
    *out = type->tensor_type;
    if (!tgi_onnx_dtype((*out)->elem_type))
        return tg_error_set(m->ctx, TG_ERROR_DTYPE, site,
                            "'%s' has the unsupported dtype %s (%d)", name,
                            tgi_onnx_dtype_name((*out)->elem_type),
                            (int)(*out)->elem_type);
    return TG_OK;
}

static tg_status read_input(tg_onnx_model *m, const Onnx__ValueInfoProto *info,
                            symbols *s, tg_spec *spec)
{
    const Onnx__TypeProto__Tensor *type;
    const tg_status status = tensor_type(m, info, &type);
    if (status)
        return status;
    spec->kind = TG_SPEC_TENSOR;
    spec->dtype = tgi_onnx_dtype(type->elem_type);
    if (!type->shape || m->shapes == TG_ONNX_ANY) {
        spec->rank = -1;
        if (m->shapes == TG_ONNX_DECLARED)
            m->shapes = TG_ONNX_EXACT;
        return TG_OK;
    }
    if (type->shape->n_dim > TG_MAX_RANK)
        return tg_error_set(m->ctx, TG_ERROR_UNSUPPORTED, (tg_site){m->name, 0},
                            "'%s' has %zu axes; the maximum is %d", info->name,
                            type->shape->n_dim, TG_MAX_RANK);
    spec->rank = (int)type->shape->n_dim;
    for (int i = 0; i < spec->rank; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[i];
        spec->dims[i] = TG_UNKNOWN;
        if (dim->value_case ==
                ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
            dim->dim_param && *dim->dim_param)
            spec->dims[i] = symbol(s, dim->dim_param);
        else if (dim->value_case ==
                     ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                 dim->dim_value >= 0)
            spec->dims[i] = dim->dim_value;
    }
    return TG_OK;
}

tg_status tgi_onnx_read_types(tg_onnx_model *m, const Onnx__GraphProto *graph)
{
    const tgi_onnx_graph *g = &m->body->graph;
    symbols *s = tgi_onnx_alloc(&m->arena, 1, sizeof(*s));
    m->specs = tgi_onnx_alloc(&m->arena, g->n_inputs + 1, sizeof(*m->specs));
    m->set = tgi_onnx_alloc(&m->arena, g->n_inputs + 1, sizeof(*m->set));
    if (!s || !m->specs || !m->set)
        return TG_ERROR_OUT_OF_MEMORY;
    tg_status status = TG_OK;
    for (size_t i = 0, k = 0; !status && i < graph->n_input; i++)
        if (k < g->n_inputs && graph->input[i]->name &&
            graph->input[i]->name == m->body->names[g->inputs[k]])
            status = read_input(m, graph->input[i], s, &m->specs[k++]);
    for (size_t i = 0; !status && i < graph->n_output; i++) {
        const Onnx__TypeProto__Tensor *type;
        if (graph->output[i]->type)
            status = tensor_type(m, graph->output[i], &type);
    }
    return status;
}
