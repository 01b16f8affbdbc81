/* SPDX-License-Identifier: MIT */
/*
 * cancel.c - see cancel.h.
 */
#include "base/cancel.h"

#include "base/clock.h"
#include "base/error.h"

/* Between two readings of the clock that are closer, this many polls are
   skipped: a poll costs 1 ns, the clock 20. */
enum { CLOSE_NS = 5000, MAX_SKIPS = 15 };

_Thread_local tgi_cancel tgi_cancel_current TGI_INITIAL_EXEC_TLS;

tgi_cancel tgi_cancel_enter(const tgi_cancel_word *word)
{
    const tgi_cancel outer = tgi_cancel_current;
    tgi_cancel_current = tgi_cancel_begin(word);
    return outer;
}

void tgi_cancel_leave(const tgi_cancel *outer)
{
    tgi_cancel_current = *outer;
}

tgi_cancel tgi_cancel_enter_deadline(const tgi_cancel_word *word,
                                     double seconds)
{
    const tgi_cancel outer = tgi_cancel_enter(word);
    const uint64_t now = tgi_clock_ns();
    /* Longer than the clock counts: none. NaN is one that has passed. */
    const uint64_t ns = seconds > 1e9 ? 0
                        : seconds > 0 ? (uint64_t)(seconds * 1e9) + 1
                                      : 1;
    if (ns && (!outer.deadline_ns || now + ns < outer.deadline_ns)) {
        tgi_cancel_current.deadline_ns = now + ns;
        tgi_cancel_current.seconds = (float)seconds;
        tgi_cancel_current.n_skips = 0;
    }
    return outer;
}

void tgi_cancel_set_request(bool (*is_requested)(const void *user),
                            const void *user)
{
    tgi_cancel *current = &tgi_cancel_current;
    current->is_requested = is_requested;
    current->user = user;
    if (!current->deadline_ns)
        current->deadline_ns = TGI_CANCEL_NO_DEADLINE;
}

bool tgi_cancel_is_due(tgi_cancel *cancel)
{
    if (cancel->word &&
        atomic_load_explicit(cancel->word, memory_order_relaxed) !=
            cancel->seen)
        return true;
    if (cancel->is_requested && cancel->is_requested(cancel->user))
        return true;
    if (!cancel->deadline_ns || cancel->deadline_ns == TGI_CANCEL_NO_DEADLINE)
        return false;
    if (cancel->n_skips) {
        cancel->n_skips--;
        return false;
    }
    const uint64_t now = tgi_clock_ns();
    cancel->n_skips = now - cancel->polled_ns < CLOSE_NS ? MAX_SKIPS : 0;
    cancel->polled_ns = now;
    return now >= cancel->deadline_ns;
}

tg_status tgi_cancel_fail(const tgi_cancel *cancel)
{
    if (cancel->is_requested && cancel->is_requested(cancel->user))
        TGI_FAIL(TG_ERROR_CANCELLED, TGI_NO_SITE, "%s: the dataset has ended",
                 tgi_api_function());
    if (cancel->word && atomic_load(cancel->word) != cancel->seen)
        TGI_FAIL(TG_ERROR_CANCELLED, TGI_NO_SITE, "%s: cancelled by tg_cancel",
                 tgi_api_function());
    TGI_FAIL(TG_ERROR_DEADLINE, TGI_NO_SITE,
             "%s: the deadline of %g s has passed", tgi_api_function(),
             (double)cancel->seconds);
}

tg_status tgi_cancel_check(void)
{
    tgi_cancel *current = &tgi_cancel_current;
    if (!tgi_cancel_is_near(current))
        return TG_OK;
    current->n_skips = 0; /* phases are long */
    return tgi_cancel_is_due(current) ? tgi_cancel_fail(current) : TG_OK;
}
