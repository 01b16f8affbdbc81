/* SPDX-License-Identifier: MIT */
/*
 * roof.c - see roof.h.
 */
#include "roof.h"

#include <math.h>
#include <stdlib.h>

#include "inputs.h"
#include "machine.h"
#include "peers.h"
#include "statistics.h"

typedef double roof_kernel(void *memory, size_t bytes, int64_t times);

static roof_kernel *const fma_kernels[] = {plain_roof_fma_f32,
                                           plain_roof_fma_f64};
static roof_kernel *const move_kernels[] = {plain_roof_read, plain_roof_copy,
                                            plain_roof_update};
enum { N_MOVES = sizeof(move_kernels) / sizeof(*move_kernels) };

/* The best rate of several attempts of `seconds` each: units per second. An
   attempt that was disturbed must not decide how long the next ones are. */
static double rate_of(roof_kernel *run, void *memory, size_t bytes,
                      double seconds)
{
    enum { ATTEMPTS = 5, MAX_ATTEMPTS = 50 };
    int64_t times = 1;
    double best = 0;
    for (int i = 0, n_long = 0; i < MAX_ATTEMPTS && n_long < ATTEMPTS; i++) {
        const double began = seconds_now();
        const double units = run(memory, bytes, times);
        const double took = seconds_now() - began;
        if (!(units > 0 && took > 0))
            continue;
        best = fmax(best, units / took);
        const double needed = seconds * best / (units / (double)times);
        n_long += (double)times >= needed / 2;
        times = (int64_t)fmin(fmax(needed, 1), 8.0 * (double)times);
    }
    return best;
}

/* The caches, as levels with their capacity for all threads. */
static void find_levels(roof *r)
{
    for (int level = 1; level <= 3; level++) {
        const double bytes = (double)machine_cache_bytes(level);
        /* The last level is shared. */
        const double all = level == 3 ? bytes : bytes * r->threads;
        if (bytes > 0)
            r->levels[r->n_levels++].bytes = all;
    }
    r->levels[r->n_levels++].bytes = (double)INFINITY;
}

/* Much more than the last caches hold: threads may have one each, of which the
   machine tells only the size. */
static size_t most_bytes(const roof *r)
{
    const double last = r->n_levels > 1 ? r->levels[r->n_levels - 2].bytes : 0;
    const double most = fmax(3 * last, fmin(8 * last, 512 << 20));
    return (size_t)fmax(most, 48 << 20);
}

static void measure_levels(roof *r, void *memory)
{
    for (int i = 0; i < r->n_levels; i++) {
        const double capacity = r->levels[i].bytes;
        const size_t bytes =
            isinf(capacity) ? most_bytes(r) : (size_t)(capacity / 2);
        for (int k = 0; k < N_MOVES; k++)
            r->levels[i].rate =
                fmax(r->levels[i].rate,
                     rate_of(move_kernels[k], memory, bytes, 2e-3));
    }
}

/* New threads may begin on the CPU of another one, and CPUs with a low
   frequency; both takes a while to change. */
static void warm_up(void)
{
    const double end = seconds_now() + 0.05;
    while (seconds_now() < end)
        (void)plain_roof_fma_f32(NULL, 0, 100);
}

static void measure_round(roof *r, void *memory)
{
    warm_up();
    r->f32_flops = fmax(r->f32_flops, rate_of(fma_kernels[0], NULL, 0, 4e-3));
    r->f64_flops = fmax(r->f64_flops, rate_of(fma_kernels[1], NULL, 0, 4e-3));
    measure_levels(r, memory);
}

/* No rate is 0 or has grown since `before`. */
static bool is_settled(const roof *before, const roof *r)
{
    const double grown = 1.03;
    bool is = r->f32_flops > 0 && r->f32_flops < grown * before->f32_flops &&
              r->f64_flops > 0 && r->f64_flops < grown * before->f64_flops;
    for (int i = 0; i < r->n_levels; i++)
        is = is && r->levels[i].rate > 0 &&
             r->levels[i].rate < grown * before->levels[i].rate;
    return is;
}

/* False if fewer threads compute as fast: these had to share CPUs, perhaps with
   other programs. */
static bool has_gain(const roofs *rs, const roof *r)
{
    const double gain = 1.1;
    for (int i = 0; i < rs->n; i++)
        if (rs->all[i].threads < r->threads &&
            (r->f32_flops < gain * rs->all[i].f32_flops ||
             r->f64_flops < gain * rs->all[i].f64_flops))
            return false;
    return true;
}

/* The larger rates of both; of the levels, those that `r` has. */
static void keep_larger(roof *r, const roof *other)
{
    r->f32_flops = fmax(r->f32_flops, other->f32_flops);
    r->f64_flops = fmax(r->f64_flops, other->f64_flops);
    for (int k = 0; k < r->n_levels; k++)
        r->levels[k].rate = fmax(r->levels[k].rate, other->levels[k].rate);
}

/* More threads can do what fewer can; a lower rate was disturbed. */
static void raise_to_fewer_threads(const roofs *rs, roof *r)
{
    for (int i = 0; i < rs->n; i++) {
        const roof *other = &rs->all[i];
        if (other->threads >= r->threads)
            continue;
        keep_larger(r, other);
    }
}

void roofs_measure(roofs *rs, int threads)
{
    enum { MAX_ROUNDS = 6 };
    roof *r = NULL;
    for (int i = 0; i < rs->n; i++)
        if (rs->all[i].threads == threads)
            r = &rs->all[i];
    if (!r) {
        if (rs->n == MAX_ROOFS)
            return;
        r = &rs->all[rs->n++];
        *r = (roof){.threads = threads};
        find_levels(r);
    }
    const size_t bytes = most_bytes(r);
    void *memory = memory_create(bytes);
    if (!memory)
        return;
    fill_uniform(memory, TG_F32, (int64_t)(bytes / sizeof(float)), 1, 0, 1);
    backend_set_threads(threads);
    roof before;
    int n_rounds = 0;
    do {
        before = *r;
        measure_round(r, memory);
    } while (++n_rounds < MAX_ROUNDS &&
             !(is_settled(&before, r) && has_gain(rs, r)));
    free(memory);
    raise_to_fewer_threads(rs, r);
}

void roofs_add(roofs *rs, const roofs *more)
{
    for (int i = 0; i < more->n; i++) {
        int k = 0;
        while (k < rs->n && rs->all[k].threads != more->all[i].threads)
            k++;
        if (k < rs->n)
            keep_larger(&rs->all[k], &more->all[i]);
        else if (rs->n < MAX_ROOFS)
            rs->all[rs->n++] = more->all[i];
    }
}

const roof *roofs_find(const roofs *rs, int threads)
{
    for (int i = 0; i < rs->n; i++)
        if (rs->all[i].threads == threads)
            return &rs->all[i];
    return NULL;
}

double roof_rate(const roof *r, double working_set_bytes)
{
    int i = 0;
    while (i + 1 < r->n_levels && working_set_bytes > r->levels[i].bytes)
        i++;
    return r->n_levels ? r->levels[i].rate : 0;
}

void roofs_apply(const roofs *rs, row *to)
{
    const roof *r = roofs_find(rs, to->threads);
    const double best = row_best(to);
    if (!r || !(best > 0) || to->is_overhead)
        return;
    const double peak = to->is_f64 ? r->f64_flops : r->f32_flops;
    const double rate = roof_rate(r, to->bytes);
    const double computing = peak > 0 ? to->flops / peak : 0;
    const double moving = rate > 0 ? to->bytes / rate : 0;
    const double least = fmax(computing, moving);
    to->roof_share = least / best;
    to->roof = !(least > 0)         ? ROOF_NONE
               : computing > moving ? ROOF_FMA
                                    : ROOF_MEMORY;
}
