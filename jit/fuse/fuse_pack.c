/* SPDX-License-Identifier: MIT */
/*
 * fuse_pack.c - buffers for copies of the operands of matmuls and convolutions,
 * and packed panels (loops.h). Panels of a variable that this graph does not
 * write are memoised across calls.
 */
#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_task.h"
#include "fuse/fuse_value.h"

static bool is_view(const tgi_node *node)
{
    return node->op == TGI_OP_TRANSPOSE || node->op == TGI_OP_SLICE;
}

int64_t tgi_fuse_copied_variable(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(s->graph, ref);
    while (is_view(node)) {
        ref = tgi_fuse_resolve(s, node->inputs[0]);
        node = tgi_graph_node(s->graph, ref);
    }
    if (node->op != TGI_OP_READ)
        return -1;
    const size_t param = tgi_fuse_param(s, node->inputs[0]);
    return s->graph->params.data[param].is_written ? -1 : (int64_t)param;
}

int64_t tgi_fuse_unwritten_variable(const tgi_fuse_state *s, tgi_ref ref)
{
    const tgi_fuse_value *value = &s->values[ref];
    while (value->class == TGI_VALUE_INLINED) {
        const tgi_node *node = tgi_graph_node(s->graph, ref);
        if (!is_view(node))
            return -1;
        ref = tgi_fuse_resolve(s, node->inputs[0]);
        value = &s->values[ref];
    }
    return value->class == TGI_VALUE_INPUT || value->is_memoised
               ? tgi_fuse_copied_variable(s, ref)
               : -1;
}

bool tgi_fuse_set_copy_buffer(tgi_fuse_state *s, tgi_task *task, tgi_dim size)
{
    const tgi_ref node = task->value.node;
    for (int axis = task->outer.n - 2; axis >= 0; axis--) {
        task->target.stride[axis].distance = size;
        size = tgi_dim_mul(s->dims, size, task->outer.extent[axis]);
    }
    task->target.buffer =
        tgi_fuse_add_buffer(s, (tgi_loop_buffer){.place = TGI_PLACE_TEMP,
                                                 .dtype = tgi_fuse_dtype(
                                                     s, node),
                                                 .node = node,
                                                 .count = size});
    return !tgi_buffer_id_is_none(task->target.buffer);
}

bool tgi_fuse_set_panels(tgi_fuse_state *s, tgi_task *task)
{
    const int64_t bytes =
        tgi_dtype_bytes((tg_dtype)tgi_fuse_dtype(s, task->value.node));
    const int64_t width = TGI_PANEL_ROW_BYTES / bytes;
    const int columns = task->outer.n - 1;
    tgi_dim size = width; /* of a panel */
    for (int axis = task->inner.n - 1; axis >= 0; axis--) {
        task->target.stride[task->outer.n + axis].distance = size;
        size = tgi_dim_mul(s->dims, size, task->inner.extent[axis]);
    }
    task->target.stride[columns].distance = size;
    task->pack = (tgi_task_pack){.panel_width = (uint32_t)width};
    const tgi_dim n_panels = tgi_dim_div(
        s->dims, tgi_dim_add(s->dims, task->outer.extent[columns], width - 1),
        width);
    const tgi_dim all = tgi_dim_mul(s->dims, size, n_panels);
    if (!tgi_fuse_set_copy_buffer(s, task, all))
        return false;
    const int64_t variable =
        tgi_fuse_unwritten_variable(s, task->value.node);
    if (variable < 0 || s->bound_params || columns > 0 ||
        !tgi_dim_is_known(all) || all > TGI_MAX_MEMO_BYTES / bytes)
        return true;
    task->is_memoised = true;
    task->memo_param = (uint32_t)variable;
    return true;
}
