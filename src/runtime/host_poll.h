/* SPDX-License-Identifier: MIT */
/*
 * host_poll.h - the function that a call polls while it runs (tg_host_poll). A
 * host function registers it with the poller of the call that it is part of.
 */
#ifndef TGI_HOST_POLL_H
#define TGI_HOST_POLL_H

#include "tgjit/host.h"

typedef struct tgi_host_poller {
    tg_host_poll_function *function; /* NULL: none */
    void *user;
    uint64_t polled_ns; /* the last time */
} tgi_host_poller;

/* Makes the poller (NULL: none) that of host functions on this thread; returns
   the one before. */
tgi_host_poller *tgi_host_poller_enter(tgi_host_poller *poller);

/* Calls the function if it has not been called for a while. */
void tgi_host_poller_poll(tgi_host_poller *poller);

#endif /* TGI_HOST_POLL_H */
