/* SPDX-License-Identifier: MIT */
/*
 * profile.c - see profile.h. One lock guards everything that traces and units
 * hold.
 */
#include "profile/profile.h"

#include <string.h>

#include "base/alloc.h"
#include "base/at_fork.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/live.h"

atomic_uint tgi_profile_mode;

#define PHASE_NAME(phase, name) name,
const char *const tgi_profile_phase_names[] = {TGI_PROFILE_PHASES(PHASE_NAME)};

static struct {
    pthread_mutex_t lock;
    unsigned generation; /* changes with each profile */
    TGI_VEC(tgi_profile_trace *) traces;
    size_t n_units;
    uint64_t n_dropped;
    uint64_t start; /* nonzero while profiling is on */
    uint64_t wall_ns;
} profile = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A child continues with the profile of its parent. */
TGI_LOCK_ACROSS_FORK(&profile.lock, (void)0)

/* -- Histograms ------------------------------------------------------------ */

enum { LOG2_STEPS = 4 };
_Static_assert(1 << LOG2_STEPS == TGI_HISTOGRAM_STEPS, "");

/* Durations below 16 ns have buckets of their own. */
static size_t bucket_of(uint64_t ns)
{
    if (ns < TGI_HISTOGRAM_STEPS)
        return (size_t)ns;
    const unsigned exponent = 63 - (unsigned)__builtin_clzll(ns);
    const size_t step =
        (ns >> (exponent - LOG2_STEPS)) & (TGI_HISTOGRAM_STEPS - 1);
    const size_t bucket =
        (exponent - LOG2_STEPS + 1) * TGI_HISTOGRAM_STEPS + step;
    return bucket < TGI_HISTOGRAM_BUCKETS ? bucket : TGI_HISTOGRAM_BUCKETS - 1;
}

static uint64_t bucket_middle(size_t bucket)
{
    const size_t power = bucket / TGI_HISTOGRAM_STEPS;
    if (power == 0)
        return bucket;
    const uint64_t width = UINT64_C(1) << (power - 1);
    return (TGI_HISTOGRAM_STEPS + bucket % TGI_HISTOGRAM_STEPS) * width +
           width / 2;
}

void tgi_histogram_add(tgi_histogram *histogram, uint64_t ns, uint64_t n)
{
    uint32_t *count = &histogram->counts[bucket_of(ns)];
    if (n > UINT32_MAX - *count)
        n = UINT32_MAX - *count;
    *count += (uint32_t)n;
    histogram->n += n;
}

uint64_t tgi_histogram_median(const tgi_histogram *histogram)
{
    uint64_t below = 0;
    for (size_t i = 0; i < TGI_HISTOGRAM_BUCKETS; i++) {
        below += histogram->counts[i];
        if (2 * below >= histogram->n && below)
            return bucket_middle(i);
    }
    return 0;
}

/* -- Traces; lock held ----------------------------------------------------- */

static const char *copy_text(tgi_profile_trace *trace, const char *text)
{
    return tgi_arena_copy(&trace->arena, text, strlen(text) + 1);
}

/* False when out of memory. */
static bool copy_site(tgi_profile_trace *trace, tg_site site, tg_site *out_site)
{
    *out_site = (tg_site){site.file ? copy_text(trace, site.file) : NULL,
                          site.line};
    return !site.file || out_site->file;
}

static void trace_destroy(tgi_profile_trace *trace)
{
    for (size_t i = 0; i < trace->units.n; i++)
        tgi_free(trace->units.data[i]);
    tgi_vec_deinit(&trace->units);
    tgi_arena_deinit(&trace->arena);
    tgi_free(trace);
    tgi_live_add(TGI_LIVE_PROFILE, -1);
}

static void trace_release(tgi_profile_trace *trace)
{
    if (--trace->n_refs == 0)
        trace_destroy(trace);
}

static bool same_site(tg_site a, tg_site b)
{
    return a.line == b.line &&
           (a.file && b.file ? strcmp(a.file, b.file) == 0 : a.file == b.file);
}

static tgi_profile_trace *find_trace(const tgi_profile_key *key)
{
    for (size_t i = 0; i < profile.traces.n; i++) {
        tgi_profile_trace *trace = profile.traces.data[i];
        if (trace->number == key->number && same_site(trace->site, key->site) &&
            strcmp(trace->function, key->function) == 0)
            return trace;
    }
    return NULL;
}

static tgi_profile_trace *add_trace(const tgi_profile_key *key)
{
    if (profile.traces.n == TGI_PROFILE_MAX_TRACES ||
        !tgi_vec_reserve(&profile.traces, profile.traces.n + 1))
        return NULL;
    tgi_profile_trace *trace = tgi_alloc_zero(sizeof(*trace));
    if (!trace)
        return NULL;
    tgi_live_add(TGI_LIVE_PROFILE, 1);
    trace->generation = profile.generation;
    trace->number = key->number;
    trace->reason = "";
    trace->n_refs = 1; /* of the list */
    trace->function = copy_text(trace, key->function);
    if (!trace->function || !copy_site(trace, key->site, &trace->site)) {
        trace_destroy(trace);
        return NULL;
    }
    profile.traces.data[profile.traces.n++] = trace;
    return trace;
}

/* -- Units; lock held ------------------------------------------------------ */

static uint64_t hash_name(const tgi_profile_unit *unit)
{
    return tgi_hash(unit->name, strlen(unit->name), 0);
}

static tgi_profile_unit *find_unit(const tgi_profile_trace *trace,
                                   const tgi_profile_unit *like)
{
    const uint64_t hash = hash_name(like);
    for (size_t i = 0; i < trace->units.n; i++) {
        tgi_profile_unit *unit = trace->units.data[i];
        if (unit->hash == hash &&
            unit->is_interpreted == like->is_interpreted &&
            unit->n_sites == like->n_sites &&
            (!unit->n_sites || same_site(unit->sites[0], like->sites[0])) &&
            strcmp(unit->name, like->name) == 0)
            return unit;
    }
    return NULL;
}

static tgi_profile_unit *add_unit(tgi_profile_trace *trace,
                                  const tgi_profile_unit *like)
{
    if (profile.n_units == TGI_PROFILE_MAX_UNITS ||
        !tgi_vec_reserve(&trace->units, trace->units.n + 1))
        return NULL;
    tgi_profile_unit *unit = tgi_alloc_zero(sizeof(*unit));
    tg_site *sites = tgi_arena_alloc(&trace->arena,
                                     (like->n_sites + 1) * sizeof(*sites));
    bool is_good = unit && sites;
    for (size_t i = 0; is_good && i < like->n_sites; i++)
        is_good = copy_site(trace, like->sites[i], &sites[i]);
    if (is_good) {
        unit->name = copy_text(trace, like->name);
        unit->ops = copy_text(trace, like->ops);
        is_good = unit->name && unit->ops;
    }
    if (!is_good) {
        tgi_free(unit);
        return NULL;
    }
    unit->hash = hash_name(like);
    unit->sites = sites;
    unit->n_sites = like->n_sites;
    unit->is_interpreted = like->is_interpreted;
    unit->element_bytes = like->element_bytes;
    unit->min_ns = UINT64_MAX;
    profile.n_units++;
    trace->units.data[trace->units.n++] = unit;
    return unit;
}

static void add_sample(const tgi_profile_sample *s, int n_threads)
{
    tgi_profile_unit *unit = s->unit;
    const double n = (double)s->n_runs;
    unit->n_runs += s->n_runs;
    unit->total_ns += s->ns;
    if (s->min_ns < unit->min_ns)
        unit->min_ns = s->min_ns;
    tgi_histogram_add(&unit->times, s->ns / s->n_runs, s->n_runs);
    unit->bytes += n * s->bytes;
    unit->flops += n * s->flops;
    unit->threads_ns += s->threads_ns;
    unit->thread_runs += n * n_threads;
    unit->wait_ns += s->wait_ns;
    if (n_threads > unit->threads)
        unit->threads = n_threads;
}

/* -- Interface ------------------------------------------------------------- */

tgi_profile_trace *tgi_profile_trace_get(const tgi_profile_key *key,
                                         tgi_profile_trace **cached,
                                         bool *out_is_new)
{
    pthread_mutex_lock(&profile.lock);
    tgi_profile_trace *trace = *cached;
    *out_is_new = false;
    if (!trace || trace->generation != profile.generation) {
        if (trace)
            trace_release(trace);
        trace = find_trace(key);
        *out_is_new = !trace;
        if (!trace)
            trace = add_trace(key);
        if (trace)
            trace->n_refs++; /* of *cached */
        *cached = trace;
    }
    if (trace)
        trace->n_refs++;
    pthread_mutex_unlock(&profile.lock);
    return trace;
}

tgi_profile_trace *tgi_profile_trace_retain(tgi_profile_trace *trace)
{
    pthread_mutex_lock(&profile.lock);
    trace->n_refs++;
    pthread_mutex_unlock(&profile.lock);
    return trace;
}

void tgi_profile_trace_release(tgi_profile_trace *trace)
{
    if (!trace)
        return;
    pthread_mutex_lock(&profile.lock);
    trace_release(trace);
    pthread_mutex_unlock(&profile.lock);
}

void tgi_profile_describe(tgi_profile_trace *trace, const char *reason,
                          const uint64_t phase_ns[TGI_N_PHASES])
{
    pthread_mutex_lock(&profile.lock);
    const char *copy = copy_text(trace, reason);
    if (copy)
        trace->reason = copy;
    for (int i = 0; i < TGI_N_PHASES; i++)
        trace->phase_ns[i] += phase_ns[i];
    pthread_mutex_unlock(&profile.lock);
}

void tgi_profile_add_code(tgi_profile_trace *trace,
                          const tgi_compile_stats *stats)
{
    pthread_mutex_lock(&profile.lock);
    for (int i = 0; i < TGI_N_PHASES; i++)
        trace->phase_ns[i] += stats->phase_ns[i];
    trace->n_codes[stats->source]++;
    pthread_mutex_unlock(&profile.lock);
}

tgi_profile_unit *tgi_profile_unit_get(tgi_profile_trace *trace,
                                       const tgi_profile_unit *description)
{
    pthread_mutex_lock(&profile.lock);
    tgi_profile_unit *unit = find_unit(trace, description);
    if (!unit)
        unit = add_unit(trace, description);
    pthread_mutex_unlock(&profile.lock);
    return unit;
}

void tgi_profile_add_call(tgi_profile_trace *trace,
                          const tgi_profile_call *call)
{
    pthread_mutex_lock(&profile.lock);
    if (!trace) {
        profile.n_dropped++;
    } else {
        trace->n_calls++;
        trace->n_interpreted += call->is_interpreted;
        trace->total_ns += call->total_ns;
        trace->barrier_ns += call->barrier_ns;
        trace->host_ns += call->host_ns;
        if (call->temporary_bytes > trace->temporary_bytes)
            trace->temporary_bytes = call->temporary_bytes;
        for (size_t i = 0; i < call->n_samples; i++)
            if (call->samples[i].unit && call->samples[i].n_runs)
                add_sample(&call->samples[i], call->n_threads);
    }
    pthread_mutex_unlock(&profile.lock);
}

/* -- Control --------------------------------------------------------------- */

/* Lock held. */
static void clear(void)
{
    for (size_t i = 0; i < profile.traces.n; i++)
        trace_release(profile.traces.data[i]);
    tgi_vec_deinit(&profile.traces);
    profile.n_units = 0;
    profile.n_dropped = 0;
    profile.wall_ns = 0;
    profile.generation++;
}

void tgi_profile_begin(void)
{
    pthread_mutex_lock(&profile.lock);
    clear();
    profile.start = tgi_clock_ns();
    atomic_fetch_or(&tgi_profile_mode, TGI_PROFILING);
    pthread_mutex_unlock(&profile.lock);
}

/* Time since profiling was turned on; 0 while it is off. Lock held. */
static uint64_t running_ns(void)
{
    return profile.start ? tgi_clock_ns() - profile.start : 0;
}

void tgi_profile_end(void)
{
    pthread_mutex_lock(&profile.lock);
    atomic_fetch_and(&tgi_profile_mode, ~(unsigned)TGI_PROFILING);
    profile.wall_ns += running_ns();
    profile.start = 0;
    pthread_mutex_unlock(&profile.lock);
}

void tgi_profile_clear(void)
{
    pthread_mutex_lock(&profile.lock);
    clear();
    if (profile.start)
        profile.start = tgi_clock_ns();
    pthread_mutex_unlock(&profile.lock);
}

void tgi_profile_read(void (*read)(const tgi_profile_view *view, void *user),
                      void *user)
{
    pthread_mutex_lock(&profile.lock);
    const tgi_profile_view view = {.traces = profile.traces.data,
                                   .n_traces = profile.traces.n,
                                   .wall_ns = profile.wall_ns + running_ns(),
                                   .n_dropped = profile.n_dropped};
    read(&view, user);
    pthread_mutex_unlock(&profile.lock);
}
