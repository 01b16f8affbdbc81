/* SPDX-License-Identifier: MIT */
/*
 * pending.h - signatures being traced, and waiting for them.
 *
 * Several threads that need one signature at once get one trace: the first
 * traces, the others wait. A wait that could never end, because the tracing
 * thread waits (perhaps through others) for the one that asks, is a function
 * that needs itself: it becomes a recursion error.
 *
 * All functions are called with the function's table locked.
 */
#ifndef TGI_PENDING_H
#define TGI_PENDING_H

#include "front/call/function_object.h"

/* Announces that the calling thread traces this key. */
tg_status tgi_pending_begin(tg_function *function, const tgi_key *key,
                            tgi_pending **out_pending);

/* Takes it back and wakes those who wait. */
void tgi_pending_end(tg_function *function, tgi_pending *pending);

/*
 * What a call with this key has to wait for, or NULL: the same key, or any
 * while another thread makes the first trace of all (which makes the
 * function's own variables).
 */
tgi_pending *tgi_pending_find(tg_function *function, const tgi_key *key);

/* Waits for its end, unlocking the table meanwhile. */
tg_status tgi_pending_wait(tg_function *function, tgi_pending *pending,
                           tg_site site);

#endif /* TGI_PENDING_H */
