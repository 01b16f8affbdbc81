/* SPDX-License-Identifier: MIT */
/*
 * bound.c - bound calls: a launch prepared once and run many times.
 */
#include "base/dtype.h"
#include "base/live.h"
#include "front/call/launch.h"

struct tg_bound {
    tgi_launch launch;
    tg_site site;
    tg_tensor **tensors; /* results, retained or NULL */
    size_t n_tensors;
    TGI_VEC(tg_tensor *) inputs; /* retained; the launch retains variables */
    uint32_t *operand_param;     /* by operand: parameter, or TGI_NO_PARAM */
    size_t n_operands;
    bool has_set; /* tg_bound_set was called: numbers may change per run */
};

/* Retains tensor arguments and maps operands to parameters. */
static tg_status retain_arguments(tg_bound *b, const tgi_args *args)
{
    b->n_operands = args->n_operands;
    b->operand_param =
        tgi_alloc((args->n_operands + 1) * sizeof(*b->operand_param));
    if (!b->operand_param || !tgi_vec_reserve(&b->inputs, args->list.n + 1))
        return tgi_error_memory();
    for (size_t i = 0; i < args->n_operands; i++)
        b->operand_param[i] = TGI_NO_PARAM;
    for (size_t i = 0; i < args->list.n; i++) {
        const tgi_arg *arg = &args->list.data[i];
        if (arg->kind == TGI_ARG_STATIC || arg->variable)
            continue;
        if (arg->tensor)
            b->inputs.data[b->inputs.n++] = tg_tensor_retain(arg->tensor);
        b->operand_param[arg->operand] =
            b->launch.concrete->arg_param[i];
    }
    return TG_OK;
}

static tg_status bound_init(tg_bound *b, const tgi_args *args,
                            tg_tensor **const *results, size_t n_results)
{
    b->tensors = tgi_alloc_zero((n_results + 1) * sizeof(*b->tensors));
    if (!b->tensors)
        return tgi_error_memory();
    b->n_tensors = n_results;
    TGI_TRY(retain_arguments(b, args));
    tg_status status = tgi_launch_bind_results(&b->launch, results, n_results,
                                               b->tensors, b->site);
    for (size_t i = 0; i < n_results; i++)
        if (b->tensors[i] && b->tensors[i] == *results[i])
            tg_tensor_retain(b->tensors[i]);
        else if (b->tensors[i] && !*results[i] && !status)
            *results[i] = tg_tensor_retain(b->tensors[i]);
    return status;
}

static void release_bound(void *bound)
{
    tg_bound_release(bound);
}

tg_bound *tg_bind_at(tg_function *function, const tg_operand *operands,
                     size_t n_operands, tg_tensor **const *results,
                     size_t n_results, tg_site site)
{
    tgi_api_frame frame =
        tgi_api_enter(function ? function->ctx : NULL, "tg_bind");
    tg_concrete *concrete = NULL;
    tg_bound *b = NULL;
    tgi_args args = {0};
    tg_status status =
        function ? tgi_args_from_operands(function->ctx, operands, n_operands,
                                          NULL, site, NULL, &args)
                 : tgi_error_set(TG_ERROR_INVALID_ARGUMENT, site,
                                 "tg_bind: the function is NULL");
    if (status)
        goto done;
    b = tgi_alloc_zero(sizeof(*b));
    status = b ? tgi_function_lookup(function, &args, false, site, &concrete)
               : tgi_error_memory();
    if (!status)
        status = tgi_launch_init(&b->launch, concrete, &args, true, site);
    if (status) {
        tgi_free(b);
        b = NULL;
    } else {
        b->site = site;
        tgi_live_add(TGI_LIVE_BOUND, 1);
        if (bound_init(b, &args, results, n_results)) {
            tgi_error_preserve_during(release_bound, b);
            b = NULL;
        }
    }
    tgi_args_deinit(&args);
done:
    if (!b)
        tgi_error_locate(site, NULL);
    tgi_api_leave(frame);
    return b;
}

void tg_bound_release(tg_bound *b)
{
    if (!b)
        return;
    tgi_launch_deinit(&b->launch);
    for (size_t i = 0; i < b->n_tensors; i++)
        tg_tensor_release(b->tensors[i]);
    for (size_t i = 0; i < b->inputs.n; i++)
        tg_tensor_release(b->inputs.data[i]);
    tgi_vec_deinit(&b->inputs);
    tgi_free(b->tensors);
    tgi_free(b->operand_param);
    tgi_free(b);
    tgi_live_add(TGI_LIVE_BOUND, -1);
}

tg_status tg_run(tg_bound *b)
{
    if (!b)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_run: the bound call is NULL");
    tgi_api_frame frame = tgi_api_enter(b->launch.concrete->ctx, "tg_run");
    tg_status status =
        b->has_set ? tgi_launch_check_numbers(&b->launch, b->site) : TG_OK;
    if (!status)
        status = tgi_launch_run(&b->launch);
    if (status)
        tgi_error_locate(b->site, NULL);
    tgi_api_leave(frame);
    return status;
}

uint64_t tg_bound_bytes(const tg_bound *b, uint64_t *out_peak)
{
    if (b)
        return tgi_runner_bytes(b->launch.runner, out_peak);
    if (out_peak)
        *out_peak = 0;
    return 0;
}

/* Replaces the pointer to one buffer; on failure the old one stays. */
static tg_status set_buffer(tg_bound *b, void **pointer, void *data,
                            tg_dtype dtype, const char *what, size_t number)
{
    if (!data || (uintptr_t)data % (uintptr_t)tgi_dtype_bytes(dtype) != 0)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, b->site,
                 "%s: the memory for %s %zu is NULL or not aligned to its "
                 "elements",
                 b->launch.concrete->name, what, number);
    void *before = *pointer;
    *pointer = data;
    tg_status status = tgi_launch_check_overlap(&b->launch, b->site);
    if (!status)
        status = tgi_launch_bind(&b->launch);
    if (status)
        *pointer = before;
    return status;
}

tg_status tg_bound_set(tg_bound *b, size_t arg, const void *data)
{
    if (!b)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_bound_set: the bound call is NULL");
    const tg_concrete *c = b->launch.concrete;
    tgi_api_frame frame = tgi_api_enter(c->ctx, "tg_bound_set");
    tg_status status;
    if (arg >= b->n_operands || b->operand_param[arg] == TGI_NO_PARAM) {
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, b->site,
                               "%s: argument %zu is not a tensor or number",
                               c->name, arg);
    } else {
        uint32_t param = b->operand_param[arg];
        tg_dtype dtype =
            tgi_graph_node(c->graph, c->graph->params.data[param].node)
                ->dtype;
        status = set_buffer(b, &b->launch.params[param],
                            (void *)(uintptr_t)data, dtype, "argument", arg);
        b->has_set |= status == TG_OK;
    }
    tgi_api_leave(frame);
    return status;
}

tg_status tg_bound_set_result(tg_bound *b, size_t result, void *data)
{
    if (!b)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_bound_set_result: the bound call is NULL");
    const tg_concrete *c = b->launch.concrete;
    tgi_api_frame frame = tgi_api_enter(c->ctx, "tg_bound_set_result");
    tg_status status;
    if (result >= b->launch.n_results)
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, b->site,
                               "%s: there is no result %zu; the function "
                               "returns %zu",
                               c->name, result, b->launch.n_results);
    else
        status = set_buffer(
            b, &b->launch.results[result], data,
            tgi_graph_node(c->graph, c->graph->results.data[result])->dtype,
            "result", result);
    tgi_api_leave(frame);
    return status;
}
