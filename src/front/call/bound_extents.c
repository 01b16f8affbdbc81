/* SPDX-License-Identifier: MIT */
/*
 * bound_extents.c - setting the arguments and results of bound calls, and the
 * launches of a bound call, one per set of extents.
 */
#include <string.h>

#include "base/dtype.h"
#include "front/call/bound.h"

/* Launches that a bound call keeps; then the least recently used is evicted. */
enum { MAX_LAUNCHES = 16 };

/* -- Launches -------------------------------------------------------------- */

void tgi_bound_launch_destroy(const tg_bound *b, tgi_bound_launch *l)
{
    if (!l)
        return;
    if (l->launch.concrete)
        tgi_launch_deinit(&l->launch);
    for (size_t i = 0; l->tensors && i < b->n_results; i++)
        tg_tensor_release(l->tensors[i]);
    tgi_free(l->tensors);
    tgi_free(l->dims);
    tgi_free(l);
}

/*
 * Fills `slots` with those that the launch binds: at first the user's, or one
 * per result if `results` is NULL; later the tensors of the first launch, in
 * `given`, which are replaced where the shape is another.
 */
static void choose_slots(const tg_bound *b, const tg_result *results,
                         tg_result *slots, tg_tensor **given)
{
    const tgi_bound_launch *first = b->launches.n ? b->launches.data[0] : NULL;
    for (size_t i = 0; i < b->n_results; i++) {
        given[i] = first ? first->tensors[i] : NULL;
        if (first ? given[i] != NULL : !results)
            slots[i] = tg_out_fresh(&given[i]);
        else
            slots[i] = first ? b->results[i] : results[i];
    }
}

/* Binds the results; the launch retains their tensors. */
static tg_status bind_results(const tg_bound *b, tgi_bound_launch *l,
                              const tg_result *results)
{
    const size_t n = b->n_results;
    tg_result *slots = tgi_alloc_zero((n + 1) * sizeof(*slots));
    tg_tensor **given = tgi_alloc_zero((n + 1) * sizeof(*given));
    tg_status status = slots && given ? TG_OK : tgi_error_memory();
    if (!status) {
        choose_slots(b, results, slots, given);
        status =
            tgi_launch_bind_results(&l->launch, slots, n, l->tensors, b->site);
        for (size_t i = 0; i < n; i++)
            if (l->tensors[i] && l->tensors[i] == *slots[i].as.tensor)
                tg_tensor_retain(l->tensors[i]);
    }
    tgi_free(slots);
    tgi_free(given);
    return status;
}

static tg_status launch_init(const tg_bound *b, tgi_bound_launch *l,
                             tg_concrete *concrete, const tg_result *results)
{
    const size_t n = b->args.list.n;
    l->tensors = tgi_alloc_zero((b->n_results + 1) * sizeof(*l->tensors));
    l->dims = tgi_alloc_zero((n + 1) * sizeof(*l->dims));
    if (!l->tensors || !l->dims) {
        tg_concrete_release(concrete);
        return tgi_error_memory();
    }
    for (size_t i = 0; i < n; i++)
        memcpy(l->dims[i], b->args.list.data[i].dims, sizeof(*l->dims));
    tg_status status =
        tgi_launch_init(&l->launch, concrete, &b->args, true, b->site);
    if (status) {
        l->launch.concrete = NULL; /* nothing is left to deinit */
        return status;
    }
    return bind_results(b, l, results);
}

tg_status tgi_bound_launch_create(tg_bound *b, tg_concrete *concrete,
                                  const tg_result *results,
                                  tgi_bound_launch **out_launch)
{
    tgi_bound_launch *l = tgi_alloc_zero(sizeof(*l));
    if (!l) {
        tg_concrete_release(concrete);
        return tgi_error_memory();
    }
    const tg_status status = launch_init(b, l, concrete, results);
    if (!status) {
        *out_launch = l;
        return TG_OK;
    }
    tgi_error_copy error;
    tgi_error_save(&error);
    tgi_bound_launch_destroy(b, l);
    tgi_error_restore(&error);
    return status;
}

/* -- Selection ------------------------------------------------------------- */

static bool has_extents(const tg_bound *b, const tgi_bound_launch *l)
{
    for (size_t i = 0; i < b->args.list.n; i++) {
        const tgi_arg *arg = &b->args.list.data[i];
        if (arg->kind == TGI_ARG_TENSOR &&
            memcmp(arg->dims, l->dims[i],
                   (size_t)arg->rank * sizeof(*arg->dims)) != 0)
            return false;
    }
    return true;
}

/* Binds the buffers that were set to a launch for the current extents. */
static tg_status bind_buffers(const tg_bound *b, tgi_bound_launch *l)
{
    tgi_launch *launch = &l->launch;
    const tgi_launch *first = &b->launches.data[0]->launch;
    for (size_t i = 0; i < b->args.list.n; i++) {
        const tgi_arg *arg = &b->args.list.data[i];
        if (arg->kind != TGI_ARG_STATIC && !arg->variable &&
            (arg->tensor || arg->data))
            launch->params[launch->concrete->arg_param[i]] =
                (void *)(uintptr_t)arg->data;
    }
    for (size_t i = 0; i < launch->n_results; i++) {
        if (!b->result_data[i])
            continue;
        if (tgi_runner_results(launch->runner)[i].bytes !=
            tgi_runner_results(first->runner)[i].bytes)
            TGI_FAIL(TG_ERROR_SHAPE, b->site,
                     "%s: result %zu has %lld bytes for these arguments, but "
                     "the memory of tg_bound_set_result has %lld",
                     launch->concrete->name, i,
                     (long long)tgi_runner_results(launch->runner)[i].bytes,
                     (long long)tgi_runner_results(first->runner)[i].bytes);
        launch->results[i] = b->result_data[i];
    }
    TGI_TRY(tgi_launch_check_overlap(launch, b->site));
    return tgi_launch_bind(launch);
}

/* Makes room for one more launch. The active one may go: it is stale. */
static tg_status reserve_launch(tg_bound *b)
{
    if (b->launches.n < MAX_LAUNCHES)
        return tgi_vec_reserve(&b->launches, b->launches.n + 1)
                   ? TG_OK
                   : tgi_error_memory();
    size_t oldest = 1;
    for (size_t i = 2; i < b->launches.n; i++)
        if (b->launches.data[i]->last_use < b->launches.data[oldest]->last_use)
            oldest = i;
    if (b->active == b->launches.data[oldest])
        b->active = b->launches.data[0];
    tgi_bound_launch_destroy(b, b->launches.data[oldest]);
    b->launches.data[oldest] = b->launches.data[--b->launches.n];
    return TG_OK;
}

static tg_status prepare(tg_bound *b, tgi_bound_launch **out_launch)
{
    tg_concrete *concrete;
    TGI_TRY(reserve_launch(b));
    TGI_TRY(
        tgi_function_lookup(b->function, &b->args, false, b->site, &concrete));
    TGI_TRY(tgi_bound_launch_create(b, concrete, NULL, out_launch));
    b->launches.data[b->launches.n++] = *out_launch;
    return TG_OK;
}

tg_status tgi_bound_select(tg_bound *b)
{
    tgi_bound_launch *l = NULL;
    for (size_t i = 0; i < b->launches.n && !l; i++)
        if (has_extents(b, b->launches.data[i]))
            l = b->launches.data[i];
    if (!l)
        TGI_TRY(prepare(b, &l));
    TGI_TRY(bind_buffers(b, l));
    l->last_use = ++b->tick;
    b->active = l;
    b->is_stale = false;
    return TG_OK;
}

/* -- Setting --------------------------------------------------------------- */

static const char *name_of(const tg_bound *b)
{
    return b->active->launch.concrete->name;
}

static tg_status find_arg(tg_bound *b, size_t operand, tgi_arg **out_arg)
{
    if (operand >= b->args.n_operands ||
        b->operand_arg[operand] == TGI_NO_PARAM)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, b->site,
                 "%s: argument %zu is not a tensor or number", name_of(b),
                 operand);
    *out_arg = &b->args.list.data[b->operand_arg[operand]];
    return TG_OK;
}

static tg_status check_memory(const tg_bound *b, const void *data,
                              tg_dtype dtype, const char *what, size_t number)
{
    if (!data || (uintptr_t)data % (uintptr_t)tgi_dtype_bytes(dtype) != 0)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, b->site,
                 "%s: the memory for %s %zu is NULL or not aligned to its "
                 "elements",
                 name_of(b), what, number);
    return TG_OK;
}

/* Where the active launch has the buffer of an argument. */
static void **param_of(const tg_bound *b, const tgi_arg *arg)
{
    const tgi_launch *launch = &b->active->launch;
    return &launch
                ->params[launch->concrete->arg_param[arg - b->args.list.data]];
}

tg_status tgi_bound_end_set(tg_bound *b)
{
    b->has_set = true;
    if (b->is_stale)
        return TG_OK;
    const tg_status status = bind_buffers(b, b->active);
    b->is_stale = status != TG_OK; /* the next run repeats the failure */
    return status;
}

/* Ends the change of one argument; on failure it is as it was `before`. */
static tg_status end_change(tg_bound *b, tgi_arg *arg, const tgi_arg *before,
                            bool was_stale)
{
    void **param = param_of(b, arg), *data = *param;
    const tg_status status = tgi_bound_end_set(b);
    if (status) {
        *param = data;
        *arg = *before;
        b->is_stale = was_stale;
    }
    return status;
}

/* Sets the memory of an argument without changing its extents. */
static tg_status set_memory(tg_bound *b, size_t operand, const void *data)
{
    tgi_arg *arg;
    TGI_TRY(find_arg(b, operand, &arg));
    TGI_TRY(check_memory(b, data, arg->dtype, "argument", operand));
    const tgi_arg before = *arg;
    arg->data = data;
    return end_change(b, arg, &before, b->is_stale);
}

tg_status tgi_bound_set_data(tg_bound *b, size_t operand, const tgi_spec *spec,
                             const void *data)
{
    static const int64_t empty; /* aligned for every dtype */
    tgi_arg *arg;
    TGI_TRY(find_arg(b, operand, &arg));
    if (arg->dtype != spec->dtype || arg->rank != spec->rank) {
        char text[2][256];
        TGI_FAIL(
            arg->dtype != spec->dtype ? TG_ERROR_DTYPE : TG_ERROR_SHAPE,
            b->site,
            "%s: argument %zu is %s, but it is set to %s; only extents "
            "may change",
            name_of(b), operand,
            tgi_spec_text(arg->dtype, arg->rank, arg->dims, text[0], 256),
            tgi_spec_text(spec->dtype, spec->rank, spec->dims, text[1], 256));
    }
    const size_t bytes = (size_t)arg->rank * sizeof(*arg->dims);
    if (bytes && memcmp(arg->dims, spec->dims, bytes) != 0) {
        memcpy(arg->dims, spec->dims, bytes);
        b->is_stale = true;
    }
    arg->data = data ? data : &empty;
    return TG_OK;
}

tg_status tg_bound_set(tg_bound *b, size_t arg, const void *data)
{
    if (!b)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_bound_set: the bound call is NULL");
    tgi_api_frame frame = tgi_api_enter(b->function->ctx, "tg_bound_set");
    const tg_status status = set_memory(b, arg, data);
    tgi_api_leave(frame);
    return status;
}

/* Replaces the argument by the tensor, which the bound call retains. */
static tg_status set_tensor(tg_bound *b, size_t operand, tg_tensor *tensor)
{
    tgi_arg *arg;
    if (!tensor)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, b->site,
                 "%s: the tensor for argument %zu is NULL", name_of(b),
                 operand);
    if (tensor->ctx != b->function->ctx)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, b->site,
                 "%s: argument %zu: the tensor belongs to another context",
                 name_of(b), operand);
    TGI_TRY(find_arg(b, operand, &arg));
    const tgi_arg before = *arg;
    const bool was_stale = b->is_stale;
    TGI_TRY(tgi_bound_set_data(b, operand, &tensor->spec, tensor->data));
    TGI_TRY(end_change(b, arg, &before, was_stale));
    arg->tensor = tg_tensor_retain(tensor);
    tg_tensor_release(before.tensor);
    return TG_OK;
}

tg_status tg_bound_set_tensor(tg_bound *b, size_t arg, tg_tensor *tensor)
{
    if (!b)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_bound_set_tensor: the bound call is NULL");
    tgi_api_frame frame =
        tgi_api_enter(b->function->ctx, "tg_bound_set_tensor");
    const tg_status status = set_tensor(b, arg, tensor);
    tgi_api_leave(frame);
    return status;
}

static tg_status set_result(tg_bound *b, size_t result, void *data)
{
    const tgi_graph *graph = b->active->launch.concrete->graph;
    if (result >= graph->results.n)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, b->site,
                 "%s: there is no result %zu; the function returns %zu",
                 name_of(b), result, graph->results.n);
    TGI_TRY(check_memory(
        b, data, tgi_graph_node(graph, graph->results.data[result])->dtype,
        "result", result));
    void *before = b->result_data[result];
    void *before_active = b->active->launch.results[result];
    b->result_data[result] = data;
    const tg_status status = b->is_stale ? TG_OK : bind_buffers(b, b->active);
    if (status) {
        b->result_data[result] = before;
        b->active->launch.results[result] = before_active;
    }
    return status;
}

tg_status tg_bound_set_result(tg_bound *b, size_t result, void *data)
{
    if (!b)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_bound_set_result: the bound call is NULL");
    tgi_api_frame frame =
        tgi_api_enter(b->function->ctx, "tg_bound_set_result");
    const tg_status status = set_result(b, result, data);
    tgi_api_leave(frame);
    return status;
}
