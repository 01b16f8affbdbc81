/* SPDX-License-Identifier: MIT */
/*
 * cancel.h - calls that end early: on request, or at a deadline.
 *
 * A call ends before the next iteration of a loop, the next kernel, the next
 * phase of a trace or compile, or the next element of a dataset, with
 * TG_ERROR_CANCELLED or TG_ERROR_DEADLINE. It then is a call that has failed:
 * assignments before that point have happened, later ones have not, and no
 * result is stored or changed. Nothing needs to be reset: the same call works
 * again. These are not interrupted: one kernel, a call without loops that has
 * begun to assign variables, a loop of at most 16 iterations known in advance,
 * the code generator (LLVM), callbacks and host functions.
 *
 * Polling costs compiled code a load and a predicted branch per iteration. A
 * call with a deadline also reads the clock, at most every 5 us.
 */
#ifndef TGJIT_CANCEL_H
#define TGJIT_CANCEL_H

#include "function.h"

TG_BEGIN_DECLS

/*
 * Cancels all calls that run in the context at this moment, on whatever thread,
 * also calls and steps of datasets, calls that compile, and those that compute
 * the elements of a new tensor or variable: they fail with TG_ERROR_CANCELLED.
 * Calls that host functions and callbacks make inside of
 * these count as part of them; background compiles go on. Later calls are not
 * affected. An element that a dataset was producing is lost: the tg_next that
 * it was for fails.
 *
 * Thread-safe and async-signal-safe. NULL is ignored.
 */
TG_API void tg_cancel(tg_context *ctx);

/*
 * As tg_call_at, but fails with TG_ERROR_DEADLINE if it has not returned
 * `seconds` from now, including the trace and the compile; a nested call has the
 * earliest deadline of those around it. 0 or less, or NaN, has passed already.
 * More than 1e9 is none.
 */
TG_API tg_status tg_call_within_at(tg_function *function, double seconds,
                                   const tg_operand *args, size_t n_args,
                                   const tg_result *results, size_t n_results,
                                   tg_site site);

/* As tg_run, with such a deadline. */
TG_API tg_status tg_run_within(tg_bound *bound, double seconds);

TG_END_DECLS

#ifndef __cplusplus

/* From here on compilers omit the expansions of macros from their messages. */
#pragma GCC system_header

/* Example: tg_call_within(f, 0.5, TG_ARGS(x), TG_RESULTS(&y)) */
#define tg_call_within(function, seconds, ...) \
    TG_WITH_LISTS(tg_call_within_at, tg_lists_expected, __VA_ARGS__) \
    (function, seconds, __VA_ARGS__ __VA_OPT__(, ) TG_HERE)

#else /* __cplusplus */

inline tg_status tg_call_within(tg_function *function, double seconds,
                                tg_ins args, tg_outs results,
                                tg_site site = TG_HERE)
{
    return tg_call_within_at(function, seconds, args.begin(), args.size(),
                             results.begin(), results.size(), site);
}

#endif /* __cplusplus */

#endif /* TGJIT_CANCEL_H */
