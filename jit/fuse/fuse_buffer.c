/* SPDX-License-Identifier: MIT */
/*
 * fuse_buffer.c - buffers of values. Each parameter and literal has one;
 * materialised values get theirs on first use.
 */
#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_value.h"

tgi_buffer_id tgi_fuse_add_buffer(tgi_fuse_state *s, tgi_loop_buffer buffer)
{
    if (buffer.count == TGI_DIM_NONE)
        return (tgi_buffer_id){0};
    buffer.graph = s->graph;
    if (!tgi_vec_push(&s->loops->buffers, buffer)) {
        tgi_error_memory();
        return (tgi_buffer_id){0};
    }
    return tgi_buffer_id_from(s->loops->buffers.n - 1);
}

tgi_dim tgi_fuse_n_elements(tgi_fuse_state *s, tgi_ref ref)
{
    tgi_dim count = 1;
    int rank = tgi_fuse_rank(s, ref);
    for (int axis = tgi_fuse_is_unbounded(s, ref); axis < rank; axis++)
        count = tgi_dim_mul(s->dims, count, tgi_fuse_extent(s, ref, axis));
    return count;
}

void tgi_fuse_strides(tgi_fuse_state *s, tgi_ref ref, tgi_dim *out_strides)
{
    const int rank = tgi_fuse_rank(s, ref);
    tgi_dim stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        int axis = i;
        if (s->values[ref].swaps_last && i >= rank - 2)
            axis = 2 * rank - 3 - i;
        out_strides[axis] = stride;
        if (i > 0) /* the first may be unbounded */
            stride =
                tgi_dim_mul(s->dims, stride, tgi_fuse_extent(s, ref, axis));
    }
}

static tgi_buffer_id param_buffer(tgi_fuse_state *s, tgi_ref ref)
{
    size_t param = tgi_fuse_param(s, ref);
    if (tgi_buffer_id_is_none(s->param_buffer[param]))
        s->param_buffer[param] = tgi_fuse_add_buffer(
            s, (tgi_loop_buffer){.place = TGI_PLACE_PARAM,
                                 .dtype = tgi_fuse_dtype(s, ref),
                                 .index = (uint32_t)param,
                                 .node = ref,
                                 .count = tgi_fuse_n_elements(s, ref)});
    return s->param_buffer[param];
}

tgi_buffer_id tgi_fuse_stack_of(tgi_fuse_state *s, tgi_ref region,
                                int64_t input)
{
    for (size_t i = 0; i < s->stacks.n; i++)
        if (s->stacks.data[i].region == region &&
            s->stacks.data[i].input == input)
            return s->stacks.data[i].buffer;
    const tgi_ref ref = tgi_graph_node(s->graph, region)->inputs[input];
    const tgi_buffer_id buffer = tgi_fuse_add_buffer(
        s, (tgi_loop_buffer){.place = TGI_PLACE_STACK,
                             .dtype = tgi_fuse_dtype(s, ref),
                             .index = TGI_NO_STACK_SET,
                             .is_pinned = true,
                             .node = ref,
                             .count = tgi_fuse_n_elements(s, ref)});
    if (!tgi_buffer_id_is_none(buffer) &&
        !tgi_vec_push(&s->stacks, ((tgi_fuse_stack){region, input, buffer}))) {
        tgi_error_memory();
        return (tgi_buffer_id){0};
    }
    return buffer;
}

tgi_buffer_id tgi_fuse_carried_buffer(const tgi_fuse_state *s, tgi_ref loop,
                                      uint32_t k)
{
    return tgi_buffer_id_from(tgi_buffer_id_index(s->values[loop].buffer) + k);
}

tgi_buffer_id tgi_fuse_buffer_of_input(tgi_fuse_state *s, tgi_ref region,
                                       uint32_t i)
{
    const tgi_ref input = tgi_graph_node(s->graph, region)->inputs[i];
    if (tgi_fuse_is_unbounded(s, input) &&
        tgi_graph_node(s->graph, input)->op == TGI_OP_UNSET)
        return tgi_fuse_stack_of(s, region, i);
    return tgi_fuse_buffer_of(s, tgi_fuse_storage_root(s, input));
}

/* A stack has the buffer of its origin. */
static tgi_buffer_id unbounded_buffer(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_origin origin = tgi_stack_origin(s->graph, ref);
    return origin.param < 0
               ? tgi_fuse_stack_of(s, origin.region, origin.input)
               : param_buffer(s, s->graph->params.data[origin.param].node);
}

tgi_buffer_id tgi_fuse_buffer_of(tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    tgi_fuse_value *value = &s->values[ref];
    if (tgi_fuse_is_unbounded(s, ref))
        return unbounded_buffer(s, ref);
    if (node->op == TGI_OP_PARAM || node->op == TGI_OP_VARIABLE)
        return param_buffer(s, ref);
    if (value->class == TGI_VALUE_ALIAS)
        return tgi_fuse_buffer_of(s, tgi_fuse_storage_root(s, ref));
    if (value->class == TGI_VALUE_INPUT && node->op == TGI_OP_READ)
        return param_buffer(s, node->inputs[0]);
    if (tgi_buffer_id_is_none(value->buffer))
        value->buffer = tgi_fuse_add_buffer(
            s, (tgi_loop_buffer){.place = value->class == TGI_VALUE_INPUT
                                              ? TGI_PLACE_CONSTANT
                                              : TGI_PLACE_TEMP,
                                 .dtype = node->dtype,
                                 .node = ref,
                                 .count = tgi_fuse_n_elements(s, ref)});
    return value->buffer;
}
