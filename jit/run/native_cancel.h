/* SPDX-License-Identifier: MIT */
/*
 * native_cancel.h - ends runs of compiled code early (base/cancel.h).
 *
 * Compiled code compares the word of the context with its value at the start of
 * the run. If they differ, it asks must_end. A thread that others wait for, or
 * that is alone, decides for itself. The threads of a team must leave at the
 * same place, so the last one to arrive at a barrier decides for all: between
 * two barriers all of them get that answer.
 *
 * A run with a deadline compares with a word that always differs.
 */
#ifndef TGI_NATIVE_CANCEL_H
#define TGI_NATIVE_CANCEL_H

#include "run/native_object.h"

/* Bits of cancel_state: a barrier has decided that the run ends; a thread has
   left the code for that reason. */
enum { TGI_CANCEL_DECIDED = 1, TGI_CANCEL_LEFT = 2 };

extern const tgi_cancel_word tgi_native_no_word; /* never advanced */

/* frame->must_end. */
int32_t tgi_native_must_end(tgi_frame *frame, int64_t how);

/* Begins a run that is part of a call with a deadline. */
void tgi_native_begin_deadline(tgi_native *native);

static inline void tgi_native_begin_cancel(tgi_native *native)
{
    const tgi_cancel_word *word = native->cancel_word;
    const tgi_cancel *current = &tgi_cancel_current;
    native->frame.cancel_word = word;
    native->frame.cancel_seen =
        current->word == word
            ? current->seen
            : atomic_load_explicit(word, memory_order_relaxed);
    atomic_store_explicit(&native->cancel_state, 0, memory_order_relaxed);
    if (__builtin_expect(current->deadline_ns != 0, 0))
        tgi_native_begin_deadline(native);
}

/* True if the run has ended early. */
static inline bool tgi_native_is_cancelled(const tgi_native *native)
{
    return atomic_load_explicit(&native->cancel_state, memory_order_relaxed) &
           TGI_CANCEL_LEFT;
}

/* Fills native->cancel, for a host step or an error. */
void tgi_native_note_cancel(tgi_native *native);

#endif /* TGI_NATIVE_CANCEL_H */
