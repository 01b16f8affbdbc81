/* SPDX-License-Identifier: MIT */
/*
 * native_cancel.c - see native_cancel.h.
 */
#include "run/native_cancel.h"

const tgi_cancel_word tgi_native_no_word;

/* Differs from the cancel_seen of runs with a deadline. */
static const tgi_cancel_word always_differs = 1;

static bool has_deadline(const tgi_native *native)
{
    return native->frame.cancel_word == &always_differs;
}

void tgi_native_begin_deadline(tgi_native *native)
{
    native->cancel = tgi_cancel_begin(native->cancel_word);
    native->cancel.n_skips = 0;
    native->frame.cancel_word = &always_differs;
    native->frame.cancel_seen = 0;
}

void tgi_native_note_cancel(tgi_native *native)
{
    if (!has_deadline(native))
        native->cancel = (tgi_cancel){.word = native->cancel_word,
                                      .seen = native->frame.cancel_seen};
}

int32_t tgi_native_must_end(tgi_frame *frame, int64_t how)
{
    tgi_native *native = frame->user;
    bool is_due;
    if (how == TGI_CANCEL_AGREED)
        is_due = atomic_load_explicit(&native->cancel_state,
                                      memory_order_relaxed) &
                 TGI_CANCEL_DECIDED;
    else if (has_deadline(native))
        is_due = tgi_cancel_is_due(&native->cancel);
    else
        is_due = atomic_load_explicit(frame->cancel_word,
                                      memory_order_relaxed) !=
                 frame->cancel_seen;
    if (is_due)
        atomic_fetch_or_explicit(&native->cancel_state,
                                 how == TGI_CANCEL_AT_BARRIER
                                     ? TGI_CANCEL_DECIDED
                                     : TGI_CANCEL_LEFT,
                                 memory_order_relaxed);
    return is_due;
}
