/* SPDX-License-Identifier: MIT */
/*
 * call.c - tg_call and tg_concrete_call.
 */
#include "base/cancel.h"
#include "front/call/launch.h"
#include "profile/timeline.h"
#include "tgjit/cancel.h"

/* Runs a concrete function once and stores new tensors to their slots. Takes
   over the caller's reference to the concrete function. */
static tg_status call_concrete(tg_concrete *concrete, const tgi_args *args,
                               const tg_result *results, size_t n_results,
                               tg_site site)
{
    tgi_launch launch;
    TGI_TRY(tgi_launch_init(&launch, concrete, args, false, site));
    tg_tensor *storage[8] = {NULL};
    bool is_inline = n_results <= sizeof(storage) / sizeof(storage[0]);
    tg_tensor **tensors =
        is_inline ? storage : tgi_alloc_zero(n_results * sizeof(*tensors));
    tg_status status = tensors ? tgi_launch_bind_results(
                                     &launch, results, n_results, tensors, site)
                               : tgi_error_memory();
    if (!status)
        status = tgi_launch_run(&launch);
    for (size_t i = 0; tensors && i < n_results; i++)
        if (tensors[i] && tensors[i] != *results[i].as.tensor)
            tgi_result_store(&results[i], tensors[i], status);
    if (!is_inline)
        tgi_free(tensors);
    tgi_launch_end(&launch);
    return status;
}

/* What tg_call was given. The site is not part of it, so that it is passed in
   registers: a copy in memory of the program's two words as one would wait for
   their stores, 6 ns. */
typedef struct request {
    tg_function *function;
    const tg_operand *operands;
    size_t n_operands;
    const tg_result *results;
    size_t n_results;
} request;

static tg_status call_function(const request *r, tg_site site,
                               tgi_inline_args *storage)
{
    tgi_args args;
    tg_concrete *concrete = NULL;
    const uint64_t begin = tgi_timeline_begin();
    TGI_TRY(tgi_args_from_operands(r->function->ctx, r->operands, r->n_operands,
                                   NULL, site, storage, &args));
    tg_status status =
        tgi_function_lookup(r->function, &args, false, site, &concrete);
    if (!status)
        status = call_concrete(concrete, &args, r->results, r->n_results, site);
    tgi_args_deinit(&args);
    tgi_timeline_end("call", "tg_call", begin);
    return status;
}

/* Arguments on the stack, for calls outside of callbacks: nested callbacks must
   use little of it. */
TGI_NOINLINE static tg_status call_with_inline_args(const request *r,
                                                    tg_site site)
{
    tgi_inline_args storage;
    return call_function(r, site, &storage);
}

tg_status tg_call_at(tg_function *function, const tg_operand *operands,
                     size_t n_operands, const tg_result *results,
                     size_t n_results, tg_site site)
{
    tgi_api_frame frame =
        tgi_api_enter(function ? function->ctx : NULL, "tg_call");
    const tgi_cancel outer =
        tgi_cancel_enter(function ? &function->ctx->cancel_word : NULL);
    const request r = {function, operands, n_operands, results, n_results};
    tg_status status;
    if (!function)
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, site,
                               "tg_call: the function is NULL");
    else if (tgi_trace_current())
        status = call_function(&r, site, NULL);
    else
        status = call_with_inline_args(&r, site);
    if (status)
        tgi_error_locate(site, NULL);
    tgi_cancel_leave(&outer);
    tgi_api_leave(frame);
    return status;
}

tg_status tg_call_within_at(tg_function *function, double seconds,
                            const tg_operand *operands, size_t n_operands,
                            const tg_result *results, size_t n_results,
                            tg_site site)
{
    const tgi_cancel outer = tgi_cancel_enter_deadline(
        function ? &function->ctx->cancel_word : NULL, seconds);
    const tgi_api_frame frame =
        tgi_api_enter(function ? function->ctx : NULL, "tg_call_within");
    tg_status status = tgi_cancel_check();
    if (status)
        tgi_error_locate(site, NULL);
    else
        status = tg_call_at(function, operands, n_operands, results, n_results,
                            site);
    tgi_api_leave(frame);
    tgi_cancel_leave(&outer);
    return status;
}

tg_status tg_concrete_call_at(tg_concrete *concrete,
                              const tg_operand *operands, size_t n_operands,
                              const tg_result *results, size_t n_results,
                              tg_site site)
{
    tgi_api_frame frame =
        tgi_api_enter(concrete ? concrete->ctx : NULL, "tg_concrete_call");
    const tgi_cancel outer =
        tgi_cancel_enter(concrete ? &concrete->ctx->cancel_word : NULL);
    tgi_inline_args storage;
    tgi_args args;
    tg_status status =
        concrete ? tgi_args_from_operands(concrete->ctx, operands, n_operands,
                                          NULL, site, &storage, &args)
                 : tgi_error_set(TG_ERROR_INVALID_ARGUMENT, site,
                                 "tg_concrete_call: the function is NULL");
    if (!status) {
        status = tgi_args_conform(&args, &concrete->spec, concrete->name,
                                  site);
        if (!status && (!tgi_args_fit(&args, &concrete->spec) ||
                        !tgi_concrete_fits_captures(concrete, &args)))
            status = tgi_error_set(
                TG_ERROR_SIGNATURE, site,
                "%s: this trace was made for another pattern of equal or "
                "captured variables",
                concrete->name);
        if (!status)
            status = call_concrete(tg_concrete_retain(concrete), &args,
                                   results, n_results, site);
        tgi_args_deinit(&args);
    }
    if (status)
        tgi_error_locate(site, NULL);
    tgi_cancel_leave(&outer);
    tgi_api_leave(frame);
    return status;
}
