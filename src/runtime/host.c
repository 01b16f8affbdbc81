/* SPDX-License-Identifier: MIT */
/*
 * host.c - prints, failed asserts, and calls of user functions during a run. A
 * function may change the floating-point mode, or leave a handled error in the
 * thread's record.
 */
#include "runtime/host.h"

#include "base/error.h"
#include "base/fpenv.h"
#include "runtime/format.h"

/* -- Before a run ---------------------------------------------------------- */

/* Buffer i of the node; `dims` has space for TG_MAX_RANK extents. */
static tg_host_buffer make_buffer(const tgi_graph *graph, const tgi_node *node,
                                  uint32_t i, const int64_t *extents,
                                  int64_t *dims)
{
    const tgi_attr_host *attr = node->attr;
    const tgi_host_output type =
        i < node->n_inputs
            ? (tgi_host_output){
                  tgi_graph_node(graph, node->inputs[i])->dtype,
                  tgi_graph_node(graph, node->inputs[i])->shape}
            : attr->outputs[i - node->n_inputs];
    const tgi_shape *shape = tgi_shape_of(graph->dims, type.shape);
    for (int axis = 0; axis < shape->rank; axis++)
        dims[axis] = tgi_dim_value(shape->dims[axis], extents);
    return (tg_host_buffer){NULL, (tg_dtype)type.dtype, shape->rank, dims};
}

tg_host_buffer *tgi_host_prepare(const tgi_graph *graph, const tgi_node *node,
                                 const int64_t *extents, tgi_arena *arena)
{
    const uint32_t n = node->n_inputs + (uint32_t)tgi_node_n_results(node);
    const size_t n_allocated = (size_t)n + 1;
    tg_host_buffer *buffers =
        tgi_arena_alloc(arena, n_allocated * sizeof(*buffers));
    int64_t *dims =
        tgi_arena_alloc(arena, n_allocated * TG_MAX_RANK * sizeof(*dims));
    if (!buffers || !dims) {
        tgi_error_memory();
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        buffers[i] = make_buffer(graph, node, i, extents,
                                 dims + (size_t)i * TG_MAX_RANK);
    return buffers;
}

/* -- In a run -------------------------------------------------------------- */

/* Records the function's failure as a failure of the host call. */
static tg_status fail_host_call(const tgi_node *node, tg_status status)
{
    const tg_error_record *record = tg_error_last();
    const tg_site site = tgi_node_site(node);
    const char *own_name = ((const tgi_attr_host *)node->attr)->name;
    const char *name = own_name ? own_name : tgi_op_table[node->op].name;
    if (record->status == status)
        TGI_FAIL(status, site, "%s: %s", name, record->message);
    if ((int)status < 0 || status > TG_ERROR_DEADLINE ||
        status == TG_END_OF_DATA)
        TGI_FAIL(TG_ERROR_CALLBACK, site,
                 "%s: the function returned %d, which is not a tg_status",
                 name, (int)status);
    TGI_FAIL(status, site, "%s: the function failed: %s", name,
             tg_status_name(status));
}

tg_status tgi_host_call(const tgi_host *host, const tgi_node *node,
                        const tg_host_buffer *buffers)
{
    const tgi_attr_host *attr = node->attr;
    const tg_host_buffer *outputs = buffers + node->n_inputs;
    const size_t n_outputs = (size_t)attr->n_outputs;
    const tgi_host_log_entry *recorded = tgi_host_log_next(host->log);
    if (recorded) {
        tgi_host_log_replay(recorded, outputs, n_outputs);
        return TG_OK;
    }
    if (!tgi_host_log_begin(host->log, outputs, n_outputs))
        return TG_ERROR_OUT_OF_MEMORY;
    tgi_error_copy before;
    tgi_error_save(&before);
    tg_error_clear();
    tgi_host_poller *outer = tgi_host_poller_enter(host->poller);
    const tgi_cancel outer_cancel = tgi_cancel_current;
    if (host->cancel)
        tgi_cancel_current = *host->cancel;
    tg_status status = attr->function(buffers, node->n_inputs, outputs,
                                      n_outputs, attr->user);
    tgi_cancel_leave(&outer_cancel);
    tgi_host_poller_enter(outer);
    tgi_fpenv_begin();
    tgi_host_log_end(host->log, status != TG_OK, outputs, n_outputs);
    if (status)
        return fail_host_call(node, status);
    /* On success, the record is left as it was before the call. */
    if (tg_error_last()->status == TG_OK)
        tgi_error_restore(&before);
    return TG_OK;
}

/* -- Prints and asserts ---------------------------------------------------- */

tg_status tgi_host_print(const tgi_host *host, const tgi_node *node,
                         const tgi_view *values)
{
    const bool prints = node->op == TGI_OP_PRINT;
    if (prints && (!host->print || tgi_host_log_next(host->log)))
        return TG_OK;
    tgi_strbuf text = {0};
    tgi_format_print(node->attr, values, node->n_inputs, &text);
    const char *formatted = text.text ? text.text : "";
    tg_status status = TG_OK;
    if (text.failed)
        status = tgi_error_memory();
    else if (prints && !tgi_host_log_begin(host->log, NULL, 0))
        status = TG_ERROR_OUT_OF_MEMORY;
    else if (prints)
        host->print(formatted, host->user);
    else
        status = tgi_error_set(TG_ERROR_ASSERT, tgi_node_site(node),
                               "assert: %s", formatted);
    tgi_strbuf_deinit(&text);
    return status;
}

/* -- Loops with a limit ---------------------------------------------------- */

tg_status tgi_loop_limit_fail(const tgi_node *loop, int64_t limit)
{
    TGI_FAIL(TG_ERROR_LIMIT, tgi_node_site(loop),
             "while: condition still true after the limit of %lld "
             "iteration%s",
             (long long)limit, TGI_PLURAL(limit));
}
