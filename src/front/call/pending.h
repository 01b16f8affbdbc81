/* SPDX-License-Identifier: MIT */
/*
 * pending.h - signatures being traced, and waiting for them.
 *
 * If several threads need one signature, the first traces it and the others
 * wait. A wait that would deadlock, because the tracing thread waits (perhaps
 * through others) for the waiting one, is a recursive trace and fails with
 * TG_ERROR_RECURSION.
 *
 * All functions require that the caller holds the function's table lock.
 */
#ifndef TGI_PENDING_H
#define TGI_PENDING_H

#include "front/call/function_object.h"

/* Registers that the calling thread traces this key, which is copied. */
tg_status tgi_pending_begin(tg_function *function, const tgi_key *key,
                            tgi_pending **out_pending);

/* Unregisters it and wakes the waiting threads. */
void tgi_pending_end(tg_function *function, tgi_pending *pending);

/*
 * The pending trace that a call with this key must wait for, or NULL: one of
 * the same key, or any while another thread makes the function's first trace,
 * which creates the function's variables.
 */
tgi_pending *tgi_pending_find(tg_function *function, const tgi_key *key);

/* In a forked child: removes the traces of threads that it does not have. */
void tgi_pending_forget(tg_function *function);

/* Waits for its end; releases the table lock meanwhile. */
tg_status tgi_pending_wait(tg_function *function, tgi_pending *pending,
                           tg_site site);

#endif /* TGI_PENDING_H */
