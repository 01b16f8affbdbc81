/* SPDX-License-Identifier: MIT */
/* pacer.c - see pacer.h. Schedulers give slices of 1 to 6 ms, so a window has to
   be much longer to be representative. */
#include "run/pacer.h"

enum {
    ACTIVATING_DISTURBANCES = 4, /* within ACTIVATING_NS */
    ACTIVATING_NS = 100000000,
    WINDOW_NS = 50000000,
    QUIET_DISTURBANCES = 1, /* at most, in a window of an idle machine */
    FIRST_PERIOD = 1,
    MAX_PERIOD = 16 /* windows: 0.8 s */
};

/* A probe must be faster by this factor to be preferred. */
static const double significant = 0.95;

int tgi_pacer_threads(const tgi_pacer *p, int n_max)
{
    if (!p->is_active || p->n_max != n_max)
        return n_max;
    return p->is_probing ? p->n_probed : p->n_threads;
}

static void begin_window(tgi_pacer *p)
{
    p->n_calls = p->ns = 0;
    p->n_disturbed = 0;
}

static void activate(tgi_pacer *p, int n_max)
{
    *p = (tgi_pacer){.is_active = true,
                     .n_max = n_max,
                     .n_threads = n_max,
                     .n_windows = FIRST_PERIOD,
                     .period = FIRST_PERIOD};
}

static void deactivate(tgi_pacer *p)
{
    *p = (tgi_pacer){0};
}

/* Counts disturbances, and restarts the count if the first is long ago. */
static void add_while_inactive(tgi_pacer *p, int n_max, uint64_t now_ns,
                               uint32_t n_disturbed)
{
    if (n_disturbed == 0)
        return;
    if (p->n_disturbed == 0 || now_ns - p->first_ns > ACTIVATING_NS) {
        p->n_disturbed = 0;
        p->first_ns = now_ns;
    }
    p->n_disturbed += n_disturbed;
    if (p->n_disturbed >= ACTIVATING_DISTURBANCES && n_max > 1)
        activate(p, n_max);
}

/* The next number to try: a quarter more or less. */
static int next_probe(tgi_pacer *p)
{
    const int step = p->n_threads / 4 > 0 ? p->n_threads / 4 : 1;
    const bool goes_up =
        p->n_threads == 1 || (p->n_threads < p->n_max && p->goes_up);
    p->goes_up = !goes_up;
    if (!goes_up)
        return p->n_threads - step;
    return p->n_threads + step < p->n_max ? p->n_threads + step : p->n_max;
}

static void end_probe(tgi_pacer *p, double mean_ns)
{
    p->is_probing = false;
    if (mean_ns < significant * p->best_ns) {
        p->goes_up = p->n_probed > p->n_threads; /* further on */
        p->n_threads = p->n_probed;
        p->best_ns = mean_ns;
        p->period = FIRST_PERIOD;
    } else if (p->period < MAX_PERIOD) {
        p->period *= 2;
    }
    p->n_windows = p->period;
}

static void end_window(tgi_pacer *p)
{
    const double mean_ns = (double)p->ns / (double)p->n_calls;
    const int n_used = p->is_probing ? p->n_probed : p->n_threads;
    if (n_used == p->n_max && p->n_disturbed <= QUIET_DISTURBANCES) {
        deactivate(p);
        return;
    }
    if (p->is_probing) {
        end_probe(p, mean_ns);
    } else {
        p->best_ns = mean_ns;
        if (--p->n_windows <= 0) {
            p->n_probed = next_probe(p);
            p->is_probing = true;
        }
    }
    begin_window(p);
}

void tgi_pacer_add(tgi_pacer *p, int n_max, uint64_t now_ns, uint64_t ns,
                   uint32_t n_disturbed)
{
    if (p->is_active && p->n_max != n_max)
        deactivate(p);
    if (!p->is_active) {
        add_while_inactive(p, n_max, now_ns, n_disturbed);
        return;
    }
    p->n_calls++;
    p->ns += ns;
    p->n_disturbed += n_disturbed;
    if (p->ns >= WINDOW_NS)
        end_window(p);
}
