/* SPDX-License-Identifier: MIT */
/*
 * cancel.h - when a call must end early: because of tg_cancel or of a deadline.
 *
 * A context has a word that tg_cancel advances. A call notes the word when it
 * begins; it is cancelled once the word differs. So nothing has to be reset,
 * and later calls are not affected. What is on a thread now is in `current`:
 * calls inside of a call (of host functions and callbacks) end with it.
 */
#ifndef TGI_CANCEL_H
#define TGI_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/initial_exec_tls.h"
#include "tgjit/base.h"

/* Of a context. Advanced by signal handlers: must be lock-free. */
typedef _Atomic int64_t tgi_cancel_word;
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "tg_cancel is async-signal-safe");

/* When a call must end. All 0: never. */
typedef struct tgi_cancel {
    const tgi_cancel_word *word; /* of its context; NULL: none */
    int64_t seen;                /* the word when the call began */
    uint64_t deadline_ns;        /* of tgi_clock_ns; 0: none … */
#define TGI_CANCEL_NO_DEADLINE UINT64_MAX /* … but polls call is_requested */
    float seconds;               /* that it was given */
    uint32_t n_skips;            /* polls until the clock is read again */
    uint64_t polled_ns;          /* when it was read last */
    /* Another reason; NULL: none. Needs a deadline_ns that is not 0. */
    bool (*is_requested)(const void *user);
    const void *user;
} tgi_cancel;

/* Of the call on this thread, except inside tg_run. */
extern _Thread_local tgi_cancel tgi_cancel_current TGI_INITIAL_EXEC_TLS;

/* Begins a call in the context of `word`, part of the current one if that has
   the same context. tgi_cancel_leave takes the returned state. */
tgi_cancel tgi_cancel_enter(const tgi_cancel_word *word);
void tgi_cancel_leave(const tgi_cancel *outer);

/* The same for a call that ends `seconds` from now, unless the current one has
   an earlier deadline. */
tgi_cancel tgi_cancel_enter_deadline(const tgi_cancel_word *word,
                                     double seconds);

/* As tgi_cancel_enter, for a run that passes its state on by itself. `word` may
   be NULL. */
static inline tgi_cancel tgi_cancel_begin(const tgi_cancel_word *word)
{
    tgi_cancel now = tgi_cancel_current;
    if (now.word != word) {
        now.word = word;
        now.seen =
            word ? atomic_load_explicit(word, memory_order_relaxed) : 0;
    }
    return now;
}

/* Ends the calls of this thread also when a function says so. */
void tgi_cancel_set_request(bool (*is_requested)(const void *user),
                            const void *user);

/* True if the call must end. The clock is read at most every 5 us. */
bool tgi_cancel_is_due(tgi_cancel *cancel);

/* Cheap: false unless the word has advanced or there is a deadline. */
static inline bool tgi_cancel_is_near(const tgi_cancel *cancel)
{
    return cancel->deadline_ns ||
           (cancel->word &&
            atomic_load_explicit(cancel->word, memory_order_relaxed) !=
                cancel->seen);
}

/* Records and returns TG_ERROR_CANCELLED or TG_ERROR_DEADLINE. */
tg_status tgi_cancel_fail(const tgi_cancel *cancel);

/* Fails if the current call of the thread must end: between the phases of a
   trace or compile. */
tg_status tgi_cancel_check(void);

/* True for the two statuses: no reason to try something else instead. */
static inline bool tgi_status_is_cancelled(tg_status status)
{
    return status == TG_ERROR_CANCELLED || status == TG_ERROR_DEADLINE;
}

#endif /* TGI_CANCEL_H */
