/* SPDX-License-Identifier: MIT */
/*
 * native_profile.c - timed runs of compiled code.
 *
 * Each thread has a clock of its own: the time between two step hooks
 * (entry_abi.h) is that of the step which the second one ends, so that the
 * steps of a thread add up to the time it spent in the entry, and a step costs
 * one reading of the clock. Threads share no memory while they run. After the
 * call, thread 0 adds up the times of all threads.
 *
 * The time of a kernel is that of its slowest thread. Waits at barriers are
 * attributed to the kernel before the barrier. A kernel in row blocks runs once
 * per block; all blocks are one run.
 */
#include "run/native_profile.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "loop/kernel_work.h"
#include "profile/timeline.h"
#include "run/native_object.h"

/* Times of one step on one thread, in one call. */
typedef struct step_time {
    uint64_t n, ns, min_ns;
} step_time;

/* Padded: threads write to neighbouring slots. */
typedef struct thread_times {
    _Alignas(TGI_BUFFER_ALIGN) uint64_t last; /* when the last step ended */
    step_time *steps;
} thread_times;

typedef enum step_role {
    STEP_OTHER, /* control flow */
    STEP_UNIT,
    STEP_WAIT, /* barrier, after unit `unit` */
    STEP_HOST
} step_role;

typedef struct step_info {
    uint8_t role;
    uint32_t unit; /* NO_UNIT: none */
} step_info;

#define NO_UNIT UINT32_MAX

enum { MAX_SITES = 32 }; /* of a unit */

typedef struct unit_info {
    uint32_t step;
    /* In row blocks: their number in a run of the unit, each of which calls the
       hook; else 1. */
    uint64_t n_blocks;
    tgi_profile_unit description;
    const char *site; /* "file:line", for the timeline; or NULL */
    tgi_kernel_work work;
} unit_info;

struct tgi_native_profile {
    tgi_arena arena;
    bool is_single; /* without hooks: the call is its only unit */
    step_info *steps;
    size_t n_steps;
    unit_info *units;
    tgi_profile_sample *samples; /* by unit */
    size_t n_units;
    thread_times *threads;
    int n_slots;   /* of `threads` */
    int n_threads; /* of the current run */
    tgi_profile_trace *trace; /* whose units the samples have; or NULL */
};

/* -- Units ----------------------------------------------------------------- */

static void add_op(tgi_strbuf *ops, bool *seen, int op)
{
    if (!seen[op])
        tgi_strbuf_addf(ops, "%s%s", ops->n ? " " : "", tgi_op_table[op].name);
    seen[op] = true;
}

static void add_ops(tgi_strbuf *ops, bool *seen, const tgi_kernel_loops *k)
{
    for (size_t i = 1; i < k->insts.n; i++)
        if (k->insts.data[i].kind == TGI_INST_OP ||
            k->insts.data[i].kind == TGI_INST_CAST)
            add_op(ops, seen, k->insts.data[i].op);
        else if (k->insts.data[i].kind == TGI_INST_RANDOM)
            add_op(ops, seen, TGI_OP_RANDOM_BITS);
    for (size_t i = 0; i < k->reductions.n; i++)
        add_op(ops, seen, k->reductions.data[i].op);
    for (size_t i = 0; i < k->stores.n; i++)
        if (k->stores.data[i].epilogue_op)
            add_op(ops, seen, k->stores.data[i].epilogue_op);
}

static const char *copy_text(tgi_native_profile *p, const char *text)
{
    return tgi_arena_copy(&p->arena, text, strlen(text) + 1);
}

/* The kernels of a unit: of steps begin … end - 1. */
typedef struct unit_kernels {
    const tgi_kernel_loops *first, *main; /* main: with most operations */
    size_t n;
    tg_site sites[MAX_SITES + 1]; /* those of `main` first */
    size_t n_sites;
} unit_kernels;

static void add_sites(unit_kernels *kernels, const tgi_kernel_loops *k)
{
    for (uint32_t i = 0; i < k->n_sites && kernels->n_sites < MAX_SITES; i++) {
        size_t at = 0;
        while (at < kernels->n_sites &&
               (kernels->sites[at].line != k->sites[i].line ||
                strcmp(kernels->sites[at].file, k->sites[i].file) != 0))
            at++;
        if (at == kernels->n_sites)
            kernels->sites[kernels->n_sites++] = k->sites[i];
    }
}

/* Sums up the work of the kernels. That of a straight-line loop depends on its
   iterations: it is unknown. */
static void sum_kernels(const tgi_native *native, size_t begin, size_t end,
                        unit_kernels *kernels, tgi_strbuf *ops,
                        tgi_kernel_work *sum)
{
    const tgi_loops *loops = native->program->loops;
    bool seen[TGI_OPS] = {false};
    double most = -1;
    for (size_t i = begin; i < end; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        if (!k)
            continue;
        const tgi_kernel_work work =
            tgi_kernel_work_of(loops, k, native->values, native->sizes);
        if (kernels->n++ == 0)
            kernels->first = k;
        if (work.flops > most) {
            most = work.flops;
            kernels->main = k;
        }
        add_ops(ops, seen, k);
        sum->bytes += work.bytes;
        sum->flops += work.flops;
        if (work.element_bytes > sum->element_bytes)
            sum->element_bytes = work.element_bytes;
    }
    if (loops->steps.data[begin].kind != TGI_STEP_RUN)
        sum->bytes = sum->flops = 0;
    if (kernels->main)
        add_sites(kernels, kernels->main);
    for (size_t i = begin; i < end; i++)
        if (tgi_loops_kernel_at(loops, i))
            add_sites(kernels, tgi_loops_kernel_at(loops, i));
}

/* Adds the unit of these steps; false when out of memory. */
static bool describe_unit(const tgi_native *native, tgi_native_profile *p,
                          size_t begin, size_t end)
{
    unit_info *unit = &p->units[p->n_units++];
    unit_kernels kernels = {.first = NULL};
    tgi_strbuf ops = {0};
    char name[256], site[512];
    sum_kernels(native, begin, end, &kernels, &ops, &unit->work);
    const char *first = kernels.first ? kernels.first->name : NULL;
    const size_t more = kernels.n > 1 ? kernels.n - 1 : 0;
    snprintf(name, sizeof(name), more ? "%s +%zu" : "%s",
             first ? first : native->program->loops->name, more);
    snprintf(site, sizeof(site), "%s:%d",
             kernels.n_sites ? kernels.sites[0].file : "",
             kernels.n_sites ? kernels.sites[0].line : 0);
    unit->step = (uint32_t)begin;
    unit->site = kernels.n_sites ? copy_text(p, site) : NULL;
    unit->description = (tgi_profile_unit){
        .name = copy_text(p, name),
        .ops = copy_text(p, ops.text ? ops.text : "copy"),
        .sites = tgi_arena_copy(&p->arena, kernels.sites,
                                (kernels.n_sites + 1) * sizeof(tg_site)),
        .n_sites = kernels.n_sites,
        .element_bytes = unit->work.element_bytes};
    const bool is_good = !ops.failed && unit->description.name &&
                         unit->description.ops && unit->description.sites &&
                         (unit->site || !kernels.n_sites);
    tgi_strbuf_deinit(&ops);
    return is_good;
}

static uint64_t count_blocks(const tgi_native *native,
                             const tgi_row_blocks *rows)
{
    const int64_t n = tgi_dim_value(rows->rows, native->values);
    return (uint64_t)(tgi_dim_value(rows->matrices, native->values) *
                      ((n + rows->block_rows - 1) / rows->block_rows));
}

static bool describe_steps(const tgi_native *native, tgi_native_profile *p)
{
    const tgi_loops *loops = native->program->loops;
    uint32_t last_unit = NO_UNIT;
    uint64_t n_blocks = 1;
    size_t end;
    for (size_t i = 0; i < p->n_steps; i = end > i ? end : i + 1) {
        const tgi_loop_step *step = &loops->steps.data[i];
        if (step->kind == TGI_STEP_ROWS)
            n_blocks = count_blocks(native, tgi_loops_rows(loops, step->rows));
        else if (step->kind == TGI_STEP_ROWS_END)
            n_blocks = 1;
        end = tgi_loops_end_of_unit(loops, i);
        for (size_t k = i; k < end; k++)
            p->steps[k] = (step_info){STEP_OTHER, NO_UNIT};
        if (end > i) {
            last_unit = (uint32_t)p->n_units;
            p->steps[i] = (step_info){STEP_UNIT, last_unit};
            if (!describe_unit(native, p, i, end))
                return false;
            p->units[last_unit].n_blocks = n_blocks;
        } else {
            p->steps[i] = (step_info){
                step->kind == TGI_STEP_HOST ? STEP_HOST : STEP_WAIT, last_unit};
        }
    }
    return true;
}

/* A kernel that packs or copies an operand has no line of its own: it gets that
   of the kernel after it. */
static void inherit_sites(tgi_native_profile *p)
{
    for (size_t i = p->n_units; i-- > 1;) {
        unit_info *unit = &p->units[i - 1];
        if (unit->description.n_sites)
            continue;
        unit->site = unit[1].site;
        unit->description.sites = unit[1].description.sites;
        unit->description.n_sites = unit[1].description.n_sites;
    }
}

/* -- Creation -------------------------------------------------------------- */

static bool alloc_times(tgi_native_profile *p)
{
    const size_t bytes = (p->n_steps + 1) * sizeof(step_time);
    for (int t = 0; t < p->n_slots; t++) {
        /* Whole cache lines: each thread writes its own. */
        const size_t lines =
            (bytes + TGI_BUFFER_ALIGN - 1) / TGI_BUFFER_ALIGN + 1;
        p->threads[t].steps =
            tgi_arena_alloc(&p->arena, lines * TGI_BUFFER_ALIGN);
        if (!p->threads[t].steps)
            return false;
        memset(p->threads[t].steps, 0, bytes);
    }
    return true;
}

void tgi_native_profile_destroy(tgi_native_profile *p)
{
    if (!p)
        return;
    tgi_profile_trace_release(p->trace);
    if (p->threads)
        tgi_buffer_free(p->threads, (size_t)p->n_slots * sizeof(*p->threads));
    tgi_arena_deinit(&p->arena);
    tgi_free(p);
}

/* NULL when out of memory. */
static tgi_native_profile *create_profile(const tgi_native *native)
{
    const tgi_loops *loops = native->program->loops;
    tgi_native_profile *p = tgi_alloc_zero(sizeof(*p));
    if (!p)
        return NULL;
    const size_t n = loops->steps.n + 1;
    p->is_single = tgi_loops_are_single(loops);
    p->n_steps = loops->steps.n;
    p->n_slots = native->n_threads;
    p->steps = tgi_arena_alloc(&p->arena, n * sizeof(*p->steps));
    p->units = tgi_arena_alloc(&p->arena, n * sizeof(*p->units));
    p->samples = tgi_arena_alloc(&p->arena, n * sizeof(*p->samples));
    p->threads = tgi_buffer_alloc((size_t)p->n_slots * sizeof(*p->threads));
    if (p->units)
        memset(p->units, 0, n * sizeof(*p->units));
    if (p->samples)
        memset(p->samples, 0, n * sizeof(*p->samples));
    if (!p->steps || !p->units || !p->samples || !p->threads ||
        !alloc_times(p) || !describe_steps(native, p)) {
        tgi_native_profile_destroy(p);
        return NULL;
    }
    inherit_sites(p);
    return p;
}

/* Connects the units with those of the profile, once per profile. */
static void connect(const tgi_native *native, tgi_native_profile *p,
                    tgi_profile_trace *trace)
{
    if (p->trace == trace)
        return;
    tgi_profile_trace_release(p->trace);
    p->trace = trace ? tgi_profile_trace_retain(trace) : NULL;
    for (size_t i = 0; i < p->n_units; i++)
        p->samples[i].unit =
            trace ? tgi_profile_unit_get(trace, &p->units[i].description)
                  : NULL;
    if (trace && atomic_exchange(&native->program->reported_in,
                                 trace->generation) != trace->generation)
        tgi_profile_add_code(trace, &native->program->stats);
}

/* -- Running --------------------------------------------------------------- */

static void add_time(step_time *time, uint64_t ns)
{
    if (time->n++ == 0 || ns < time->min_ns)
        time->min_ns = ns;
    time->ns += ns;
}

static void add_event(const tgi_native_profile *p, size_t step, uint64_t begin,
                      uint64_t end)
{
    const step_info *info = &p->steps[step];
    const unit_info *unit =
        info->role == STEP_UNIT ? &p->units[info->unit] : NULL;
    if (unit)
        tgi_timeline_add("kernel", unit->description.name, unit->site, begin,
                         end);
    else if (info->role == STEP_HOST)
        tgi_timeline_add("host", "host step", NULL, begin, end);
    else
        tgi_timeline_add("barrier", "barrier", NULL, begin, end);
}

/* frame->step_done. */
static void step_done(tgi_frame *frame, int64_t thread, int64_t step)
{
    const tgi_native *native = frame->user;
    tgi_native_profile *p = native->profile;
    thread_times *times = &p->threads[thread];
    const uint64_t begin = times->last, now = tgi_clock_ns();
    add_time(&times->steps[step], now - begin);
    times->last = now;
    if (tgi_profile_mode_has(TGI_TRACING)) {
        add_event(p, (size_t)step, begin, now);
        times->last = tgi_clock_ns(); /* writing the event is no step's time */
    }
}

static void profiled_entry(tgi_frame *frame, int64_t thread, int64_t n_threads)
{
    const tgi_native *native = frame->user;
    tgi_native_profile *p = native->profile;
    assert(n_threads <= p->n_slots);
    if (thread > 0)
        tgi_timeline_name_thread("tgjit worker");
    else
        p->n_threads = (int)n_threads;
    p->threads[thread].last = tgi_clock_ns();
    native->program->entry(frame, thread, n_threads);
    if (p->is_single)
        step_done(frame, thread, 0);
}

/* Adds up the threads' times of a step: the maximum, which it returns, the sum,
   and how often the step ran on all of them. */
static const step_time *slowest(const tgi_native_profile *p, size_t step,
                                uint64_t *out_sum, uint64_t *out_n)
{
    const step_time *most = &p->threads[0].steps[step];
    *out_sum = *out_n = 0;
    for (int t = 0; t < p->n_threads; t++) {
        const step_time *time = &p->threads[t].steps[step];
        *out_sum += time->ns;
        *out_n += time->n;
        if (time->ns > most->ns)
            most = time;
    }
    return most;
}

/*
 * Fills the samples and the sums of the call. A barrier's own time is what
 * thread 0 waits, without what it waits for kernels of slower threads.
 */
static void sum_up(tgi_native_profile *p, tgi_profile_call *call)
{
    uint64_t waits = 0, kernels = 0, slowest_kernels = 0, sum, n;
    for (size_t i = 0; i < p->n_units; i++) {
        tgi_profile_sample *s = &p->samples[i];
        const unit_info *unit = &p->units[i];
        const step_time *most = slowest(p, unit->step, &sum, &n);
        const bool has_blocks = unit->n_blocks > 1;
        const uint64_t n_runs = has_blocks ? n / unit->n_blocks : most->n;
        *s = (tgi_profile_sample){.unit = s->unit,
                                  .n_runs = n_runs,
                                  .ns = most->ns,
                                  .min_ns = has_blocks && n_runs
                                                ? most->ns / n_runs
                                                : most->min_ns,
                                  .threads_ns = sum,
                                  .bytes = unit->work.bytes,
                                  .flops = unit->work.flops};
        kernels += p->threads[0].steps[unit->step].ns;
        slowest_kernels += most->ns;
    }
    for (size_t i = 0; i < p->n_steps; i++) {
        const step_info *info = &p->steps[i];
        const uint64_t ns = p->threads[0].steps[i].ns;
        if (info->role == STEP_HOST)
            call->host_ns += ns;
        if (info->role != STEP_WAIT)
            continue;
        waits += ns;
        (void)slowest(p, i, &sum, &n);
        if (info->unit != NO_UNIT)
            p->samples[info->unit].wait_ns += sum / (uint64_t)p->n_threads;
    }
    const uint64_t for_kernels = slowest_kernels - kernels;
    call->barrier_ns = waits > for_kernels ? waits - for_kernels : 0;
    call->n_threads = p->n_threads;
    call->samples = p->samples;
    call->n_samples = p->n_units;
    for (int t = 0; t < p->n_threads; t++)
        memset(p->threads[t].steps, 0, p->n_steps * sizeof(step_time));
}

tg_status tgi_native_run_profiled(tgi_native *native, tgi_profile_trace *trace,
                                  tgi_profile_call *call)
{
    const uint64_t begin = tgi_clock_ns();
    call->temporary_bytes = (uint64_t)native->bytes;
    if (!native->profile)
        native->profile = create_profile(native);
    tgi_native_profile *p = native->profile;
    if (!p) /* out of memory: only the call is timed */
        return tgi_native_run(native);
    connect(native, p, trace);
    call->setup_ns = tgi_clock_ns() - begin;
    native->frame.step_done = step_done;
    const tg_status status = tgi_native_run_entry(native, profiled_entry);
    native->frame.step_done = NULL;
    sum_up(p, call);
    return status;
}
