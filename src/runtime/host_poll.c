/* SPDX-License-Identifier: MIT */
/*
 * host_poll.c - see host_poll.h.
 */
#include "runtime/host_poll.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/fpenv.h"

/* A function is polled at most this often. */
enum { PERIOD_NS = 20000 };

static _Thread_local tgi_host_poller *current;

tgi_host_poller *tgi_host_poller_enter(tgi_host_poller *poller)
{
    tgi_host_poller *before = current;
    current = poller;
    return before;
}

bool tg_host_poll(tg_host_poll_function *function, void *user)
{
    if (!current)
        return false;
    *current = (tgi_host_poller){function, user, tgi_clock_ns()};
    return true;
}

void tgi_host_poller_poll(tgi_host_poller *poller)
{
    if (!poller->function || tgi_clock_ns() - poller->polled_ns < PERIOD_NS)
        return;
    if (!poller->function(poller->user))
        poller->function = NULL;
    tgi_fpenv_begin();
    poller->polled_ns = tgi_clock_ns();
}
