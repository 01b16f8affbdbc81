/* SPDX-License-Identifier: MIT */
/*
 * bound.c - bound calls: launches prepared once and run many times.
 */
#include "front/call/bound.h"

#include <string.h>

#include "base/cancel.h"
#include "base/live.h"
#include "tgjit/cancel.h"

/* -- Creation -------------------------------------------------------------- */

/* Copies the arguments, retains their tensors, and notes which operands can be
   set. */
static tg_status keep_arguments(tg_bound *b, const tgi_args *args)
{
    b->operand_arg =
        tgi_alloc((args->n_operands + 1) * sizeof(*b->operand_arg));
    if (!b->operand_arg)
        return tgi_error_memory();
    TGI_TRY(tgi_args_copy_spec(args, &b->args));
    for (size_t i = 0; i < args->n_operands; i++)
        b->operand_arg[i] = TGI_NO_PARAM;
    for (size_t i = 0; i < args->list.n; i++) {
        const tgi_arg *from = &args->list.data[i];
        tgi_arg *to = &b->args.list.data[i];
        to->tensor = tg_tensor_retain(from->tensor);
        to->variable = from->variable;
        to->data = from->data;
        memcpy(to->number, from->number, sizeof(to->number));
        if (from->kind != TGI_ARG_STATIC && !from->variable)
            b->operand_arg[from->operand] = (uint32_t)i;
    }
    return TG_OK;
}

/* Stores the tensors of the active launch to slots: to all whose tensor is new
   at first, later to the fresh ones. */
static void store_results(tg_bound *b)
{
    for (size_t i = 0; i < b->n_results; i++) {
        tg_tensor *tensor = b->active->tensors[i];
        const tg_result *slot = &b->results[i];
        if (tensor && slot->kind == TG_RESULT_TENSOR &&
            *slot->as.tensor != tensor)
            tgi_result_store(slot, tg_tensor_retain(tensor), TG_OK);
    }
}

/* Copies the slots; there are none if `results` is NULL. */
static tg_status keep_slots(tg_bound *b, size_t n_function_results,
                            const tg_result *results, size_t n_results)
{
    const size_t n =
        n_results > n_function_results ? n_results : n_function_results;
    b->results = tgi_alloc_zero((n_results + 1) * sizeof(*b->results));
    b->result_data = tgi_alloc_zero((n + 1) * sizeof(*b->result_data));
    if (!b->results || !b->result_data)
        return tgi_error_memory();
    b->n_results = n_results;
    for (size_t i = 0; results && i < n_results; i++)
        b->results[i] = results[i];
    return TG_OK;
}

/* The first launch, with the slots of the user. */
static tg_status init_first(tg_bound *b, tg_concrete *concrete,
                            const tg_result *results, size_t n_results)
{
    tg_status status =
        keep_slots(b, concrete->graph->results.n, results, n_results);
    if (!status && !tgi_vec_reserve(&b->launches, 1))
        status = tgi_error_memory();
    if (status) {
        tg_concrete_release(concrete);
        return status;
    }
    TGI_TRY(tgi_bound_launch_create(b, concrete, results, &b->active));
    b->launches.data[b->launches.n++] = b->active;
    store_results(b);
    /* Addresses of tensors that are not fresh are valid during tg_bind only. */
    for (size_t i = 0; i < n_results; i++)
        if (b->results[i].kind == TG_RESULT_TENSOR && !b->results[i].is_fresh)
            b->results[i].kind = TG_RESULT_NONE;
    return TG_OK;
}

static void release_bound(void *bound)
{
    tg_bound_release(bound);
}

/* Binds; all results go to tensors of the bound call if `wants_all`. */
static tg_status bind(tg_function *function, const tg_operand *operands,
                      size_t n_operands, const tg_result *results,
                      size_t n_results, bool wants_all, tg_site site,
                      tg_bound **out_bound)
{
    tgi_args args = {0};
    tg_concrete *concrete = NULL;
    TGI_TRY(tgi_args_from_operands(function->ctx, operands, n_operands, NULL,
                                   site, NULL, &args));
    tg_bound *b = tgi_alloc_zero(sizeof(*b));
    tg_status status = b ? TG_OK : tgi_error_memory();
    if (b) {
        tgi_live_add(TGI_LIVE_BOUND, 1);
        b->function = tg_function_retain(function);
        b->site = site;
        status = tgi_function_lookup(function, &args, false, site, &concrete);
    }
    if (!status && (status = keep_arguments(b, &args)))
        tg_concrete_release(concrete);
    if (!status)
        status = init_first(b, concrete, results,
                            wants_all ? concrete->graph->results.n : n_results);
    tgi_args_deinit(&args);
    if (status)
        tgi_error_preserve_during(release_bound, b);
    else
        *out_bound = b;
    return status;
}

tg_status tgi_bind_all(tg_function *function, const tg_operand *operands,
                       size_t n_operands, tg_site site, tg_bound **out_bound)
{
    return bind(function, operands, n_operands, NULL, 0, true, site, out_bound);
}

tg_bound *tg_bind_at(tg_function *function, const tg_operand *operands,
                     size_t n_operands, const tg_result *results,
                     size_t n_results, tg_site site)
{
    tgi_api_frame frame =
        tgi_api_enter(function ? function->ctx : NULL, "tg_bind");
    const tgi_cancel outer =
        tgi_cancel_enter(function ? &function->ctx->cancel_word : NULL);
    tg_bound *b = NULL;
    tg_status status = function
                           ? bind(function, operands, n_operands, results,
                                  n_results, false, site, &b)
                           : tgi_error_set(TG_ERROR_INVALID_ARGUMENT, site,
                                           "tg_bind: the function is NULL");
    if (status)
        tgi_error_locate(site, NULL);
    tgi_cancel_leave(&outer);
    tgi_api_leave(frame);
    return b;
}

void tg_bound_release(tg_bound *b)
{
    if (!b)
        return;
    for (size_t i = b->launches.n; i-- > 0;)
        tgi_bound_launch_destroy(b, b->launches.data[i]);
    for (size_t i = 0; i < b->args.list.n; i++)
        tg_tensor_release(b->args.list.data[i].tensor);
    tgi_args_deinit(&b->args);
    tgi_vec_deinit(&b->launches);
    tgi_free(b->operand_arg);
    tgi_free(b->results);
    tgi_free(b->result_data);
    tg_function_release(b->function);
    tgi_free(b);
    tgi_live_add(TGI_LIVE_BOUND, -1);
}

/* -- Running --------------------------------------------------------------- */

/* After arguments have been set. */
TGI_NOINLINE static tg_status prepare_run(tg_bound *b)
{
    if (b->is_stale) {
        const tgi_cancel outer =
            tgi_cancel_enter(&b->function->ctx->cancel_word);
        const tg_status status = tgi_bound_select(b);
        tgi_cancel_leave(&outer);
        TGI_TRY(status);
        store_results(b);
    }
    return b->has_set
               ? tgi_launch_check_numbers(&b->active->launch, b->site)
               : TG_OK;
}

tg_status tgi_bound_run(tg_bound *b)
{
    if (b->has_set || b->is_stale)
        TGI_TRY(prepare_run(b));
    return tgi_launch_run(&b->active->launch);
}

tg_status tg_run(tg_bound *b)
{
    if (!b)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_run: the bound call is NULL");
    tgi_api_frame frame = tgi_api_enter(b->function->ctx, "tg_run");
    tg_status status = tgi_bound_run(b);
    if (status)
        tgi_error_locate(b->site, NULL);
    tgi_api_leave(frame);
    return status;
}

tg_status tg_run_within(tg_bound *b, double seconds)
{
    const tgi_cancel outer = tgi_cancel_enter_deadline(
        b ? &b->function->ctx->cancel_word : NULL, seconds);
    const tgi_api_frame frame =
        tgi_api_enter(b ? b->function->ctx : NULL, "tg_run_within");
    tg_status status = tgi_cancel_check();
    if (status)
        tgi_error_locate(b ? b->site : TGI_NO_SITE, NULL);
    else
        status = tg_run(b);
    tgi_api_leave(frame);
    tgi_cancel_leave(&outer);
    return status;
}

tg_tensor *tg_bound_result(const tg_bound *b, size_t result)
{
    return b && result < b->n_results ? b->active->tensors[result] : NULL;
}

uint64_t tg_bound_bytes(const tg_bound *b, uint64_t *out_peak)
{
    uint64_t bytes = 0, peak = 0;
    for (size_t i = 0; b && i < b->launches.n; i++) {
        uint64_t own_peak;
        bytes +=
            tgi_runner_bytes(b->launches.data[i]->launch.runner, &own_peak);
        if (peak < own_peak)
            peak = own_peak;
    }
    if (out_peak)
        *out_peak = peak;
    return bytes;
}
