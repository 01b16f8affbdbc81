/* SPDX-License-Identifier: MIT */
/*
 * tune.c - see tune.h. The search goes from kernel to kernel, those with most
 * work first, and from hint to hint: it tries the values of one hint with the
 * best values of those before, and keeps what is faster by a margin that noise
 * rarely reaches. That is linear in the number of values, where all
 * combinations would be exponential, and the order of the hints (hints.h) puts
 * first what others depend on.
 */
#include "tune.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/hash.h"
#include "cache/code.h"
#include "compile.h"
#include "jit.h"
#include "loop/leb128.h"
#include "memory/memory_plan.h"

enum {
    /* Per cent of the best time that a schedule must save. Differences below
       are noise of a shared machine, and not worth a plan. */
    MIN_GAIN = 3,
    /* Kernels with less of the work of the program, in per mille, are not worth
       a compile. */
    MIN_SHARE = 20,
    MAX_TRIED = 64 /* schedules of one kernel */
};

/* -- Plans as bytes -------------------------------------------------------- */

/* The number of hints given, then each with its value. */
static void put_hints(tgi_strbuf *out, const tgi_schedule_hints *hints)
{
    unsigned n = 0;
    for (int i = 0; i < TGI_N_HINTS; i++)
        n += hints->values[i] != 0;
    tgi_leb128_put(out, n);
    for (int i = 0; i < TGI_N_HINTS; i++)
        if (hints->values[i]) {
            tgi_leb128_put(out, (uint64_t)i);
            tgi_leb128_put(out, hints->values[i]);
        }
}

static bool get_hints(const unsigned char **at, const unsigned char *end,
                      tgi_schedule_hints *out_hints)
{
    uint64_t n, hint, value;
    *out_hints = (tgi_schedule_hints){{0}};
    if (!tgi_leb128_get(at, end, &n) || n > TGI_N_HINTS)
        return false;
    while (n-- > 0) {
        if (!tgi_leb128_get(at, end, &hint) || hint >= TGI_N_HINTS ||
            !tgi_leb128_get(at, end, &value) || value > UINT16_MAX)
            return false;
        out_hints->values[hint] = (uint16_t)value;
    }
    return true;
}

static bool has_hints(const tgi_schedule_hints *hints)
{
    bool has_any = false;
    for (int i = 0; i < TGI_N_HINTS; i++)
        has_any |= hints->values[i] != 0;
    return has_any;
}

/* -- The search ------------------------------------------------------------ */

typedef struct search {
    tgi_loops *loops;
    const tgi_target *target;
    const tgi_jit_options *options;
    const tgi_kernel_timer *timer;
    const int64_t *values; /* of the loops' extents */
    int n_threads;
    uint64_t begin_ns;
    uint64_t n_timed;
    tgi_arena arena;           /* of schedules that are tried */
    tgi_schedule_hints *hints; /* by kernel: the best */
} search;

/* A kernel under search. */
typedef struct trial {
    search *of;
    size_t number;
    tgi_kernel_loops *kernel;
    void *bench;
    uint64_t tried[MAX_TRIED]; /* hashes of schedules */
    unsigned n_tried;
} trial;

static bool is_over(const search *s)
{
    return s->timer->now() - s->begin_ns >= s->options->tuning.budget_ns ||
           tgi_cancel_check();
}

/* False if the current schedule was tried before, or is one too many. Fails
   when out of memory. */
static tg_status is_new(trial *t, bool *out_is_new)
{
    tgi_strbuf text = {0};
    tgi_code_key_of_schedule(t->kernel, &text);
    const bool failed = text.failed;
    const uint64_t hash = failed ? 0 : tgi_hash(text.text, text.n, 0);
    tgi_strbuf_deinit(&text);
    *out_is_new = t->n_tried < MAX_TRIED;
    for (unsigned i = 0; i < t->n_tried; i++)
        *out_is_new &= t->tried[i] != hash;
    if (*out_is_new)
        t->tried[t->n_tried++] = hash;
    return failed ? tgi_error_memory() : TG_OK;
}

/* Times the current schedule of the kernel, which differs from the best so far
   by the value of a hint. True if it is the best now. */
static bool is_faster(trial *t, tgi_hint hint, uint16_t value)
{
    uint64_t ns[2];
    if (!t->of->timer->time(t->bench, ns))
        return false;
    t->of->n_timed++;
    const bool is_best = ns[0] * 100 <= ns[1] * (100 - MIN_GAIN);
    if (t->of->options->log)
        tgi_log_write(t->of->options->log, TG_LOG_DEBUG, TGI_LOG_JIT,
                      "%s: %s %u: %llu ns, best so far %llu ns%s",
                      t->kernel->name, tgi_hint_names[hint], value,
                      (unsigned long long)ns[0], (unsigned long long)ns[1],
                      is_best ? ": kept" : "");
    if (is_best)
        t->of->timer->keep(t->bench);
    return is_best;
}

/* Tries a value of a hint; the kernel has the best schedule afterwards. */
static tg_status try_value(trial *t, tgi_hint hint, uint16_t value)
{
    search *s = t->of;
    tgi_schedule *best = t->kernel->schedule;
    tgi_schedule_hints hints = s->hints[t->number];
    tgi_error_copy error;
    bool is_worth_it;
    hints.values[hint] = value;
    tgi_error_save(&error);
    const tg_status status = tgi_schedule_choose_hinted(
        s->loops, t->number, s->target, &hints, &s->arena);
    if (status == TG_ERROR_OUT_OF_MEMORY)
        return status;
    tgi_error_restore(&error);
    if (status)
        return TG_OK; /* illegal for this kernel */
    TGI_TRY(is_new(t, &is_worth_it));
    is_worth_it = is_worth_it && is_faster(t, hint, value);
    tgi_error_restore(&error);
    if (is_worth_it)
        s->hints[t->number] = hints;
    else
        t->kernel->schedule = best;
    return TG_OK;
}

static tg_status try_hints(trial *t)
{
    uint16_t values[TGI_MAX_ALTERNATIVES];
    bool unused;
    TGI_TRY(is_new(t, &unused));
    for (int hint = 0; hint < TGI_N_HINTS; hint++) {
        const unsigned n = tgi_hint_alternatives(
            t->kernel->schedule, t->of->target, (tgi_hint)hint, values);
        for (unsigned i = 0; i < n; i++) {
            if (is_over(t->of))
                return TG_OK;
            TGI_TRY(try_value(t, (tgi_hint)hint, values[i]));
        }
    }
    return TG_OK;
}

static tg_status tune_kernel(search *s, size_t number)
{
    const tgi_tuning *tuning = &s->options->tuning;
    const tgi_kernel_job job = {.loops = s->loops,
                                .kernel = number,
                                .values = s->values,
                                .n_threads = s->n_threads,
                                .grain = tuning->grain,
                                .memory_limit = tuning->memory_limit,
                                .options = s->options};
    trial t = {.of = s,
               .number = number,
               .kernel = s->loops->kernels.data[number],
               .bench = s->timer->begin(&job)};
    if (!t.bench)
        return TG_OK;
    const tg_status status = try_hints(&t);
    s->timer->end(t.bench);
    return status;
}

/* -- Order ----------------------------------------------------------------- */

typedef struct share {
    size_t kernel;
    int64_t work;
} share;

static int compare_work(const void *a, const void *b)
{
    const share *left = a, *right = b;
    if (left->work != right->work)
        return left->work > right->work ? -1 : 1;
    return left->kernel < right->kernel ? -1 : left->kernel > right->kernel;
}

/* A kernel with code of its own that runs in work items. Those of row blocks
   have the boundaries of these, and are not timed alone. */
static bool can_tune(const tgi_kernel_loops *kernel)
{
    return !kernel->is_straightline && tgi_rows_id_is_none(kernel->rows) &&
           tgi_kernel_id_is_none(kernel->twin);
}

/* Tunes the kernels with most work, while the budget lasts. */
static tg_status tune_kernels(search *s)
{
    const size_t n = s->loops->kernels.n;
    double total = 0;
    share *shares = tgi_alloc((n + 1) * sizeof(*shares));
    if (!shares)
        return tgi_error_memory();
    for (size_t i = 0; i < n; i++) {
        const tgi_kernel_loops *kernel = s->loops->kernels.data[i];
        const int64_t work = tgi_plan_kernel_work(kernel, s->values);
        shares[i] = (share){i, work};
        if (!tgi_kernel_id_is_none(kernel->twin)) {
            shares[tgi_kernel_id_index(kernel->twin)].work += work;
            shares[i].work = 0;
        }
        total += (double)work;
    }
    qsort(shares, n, sizeof(*shares), compare_work);
    tg_status status = TG_OK;
    for (size_t i = 0; i < n && !status && !is_over(s); i++)
        if (shares[i].work &&
            1000 * (double)shares[i].work >= MIN_SHARE * total &&
            can_tune(s->loops->kernels.data[shares[i].kernel]))
            status = tune_kernel(s, shares[i].kernel);
    tgi_free(shares);
    return status;
}

/* -- Entry points ---------------------------------------------------------- */

/* The values of the loops' extents; NULL when out of memory. */
static int64_t *make_values(const tgi_loops *loops, const int64_t *graph_values)
{
    int64_t *values =
        tgi_alloc((tgi_dims_n_values(loops->dims) + 1) * sizeof(*values));
    if (values && tgi_plan_values(loops, graph_values, values)) {
        tgi_free(values);
        values = NULL;
    }
    return values;
}

static int count_threads(const tgi_loops *loops, const int64_t *values,
                         const tgi_tuning *tuning)
{
    return tgi_plan_threads(tgi_plan_work(loops, values), tuning->grain,
                            tuning->timer->team_size(tuning->threads));
}

static int order_of_magnitude(int64_t value)
{
    return value > 0 ? 64 - __builtin_clzll((unsigned long long)value) : 0;
}

void tgi_tune_key(const tgi_loops *loops, const int64_t *graph_values,
                  const tgi_tuning *tuning, tgi_strbuf *out)
{
    int64_t *values = make_values(loops, graph_values);
    if (!values) {
        out->failed = true;
        return;
    }
    tgi_strbuf_add(out, "measured");
    tgi_leb128_put(out, (uint64_t)count_threads(loops, values, tuning));
    const size_t n = tgi_dims_n_values(loops->dims);
    for (size_t i = 0; i < n; i++)
        tgi_leb128_put(out, (uint64_t)order_of_magnitude(values[i]));
    tgi_free(values);
}

/* Before they are replaced: by kernel. */
static tgi_schedule **save_schedules(const tgi_loops *loops)
{
    const size_t n = loops->kernels.n;
    tgi_schedule **saved = tgi_alloc((n + 1) * sizeof(tgi_schedule *));
    for (size_t i = 0; saved && i < n; i++)
        saved[i] = loops->kernels.data[i]->schedule;
    return saved;
}

static void restore_schedules(tgi_loops *loops, tgi_schedule *const *saved)
{
    for (size_t i = 0; i < loops->kernels.n; i++)
        loops->kernels.data[i]->schedule = saved[i];
}

static void copy_hints_to_twins(const tgi_loops *loops,
                                tgi_schedule_hints *hints)
{
    for (size_t i = 0; i < loops->kernels.n; i++) {
        const tgi_kernel_loops *kernel = loops->kernels.data[i];
        const tgi_kernel_id twin = kernel->twin;
        if (!tgi_kernel_id_is_none(twin) && tgi_rows_id_is_none(kernel->rows))
            hints[i] = hints[tgi_kernel_id_index(twin)];
    }
}

/* A kernel has the hints of its twin, and shares its code unless its schedule is
   another all the same. */
static void settle_twins(tgi_loops *loops)
{
    for (size_t i = 0; i < loops->kernels.n; i++) {
        tgi_kernel_loops *kernel = loops->kernels.data[i];
        tgi_strbuf own = {0}, other = {0};
        if (tgi_kernel_id_is_none(kernel->twin))
            continue;
        tgi_code_key_of_schedule(kernel, &own);
        tgi_code_key_of_schedule(tgi_loops_kernel(loops, kernel->twin), &other);
        if (own.failed || other.failed || own.n != other.n ||
            memcmp(own.text, other.text, own.n) != 0)
            kernel->twin = (tgi_kernel_id){0};
        tgi_strbuf_deinit(&own);
        tgi_strbuf_deinit(&other);
    }
}

/* Chooses the schedules of the hints again, in memory of the loops. */
static tg_status choose_best(tgi_loops *loops, const tgi_target *target,
                             const tgi_schedule_hints *hints)
{
    for (size_t i = 0; i < loops->kernels.n; i++)
        if (has_hints(&hints[i]))
            TGI_TRY(tgi_schedule_choose_hinted(loops, i, target, &hints[i],
                                               &loops->arena));
    return TG_OK;
}

tg_status tgi_tune(tgi_loops *loops, const int64_t *graph_values,
                   const tgi_target *target, const tgi_jit_options *options,
                   tgi_strbuf *out_plan, uint64_t *n_timed)
{
    const tgi_kernel_timer *timer = options->tuning.timer;
    tgi_schedule **estimated = save_schedules(loops);
    int64_t *values = make_values(loops, graph_values);
    search s = {.loops = loops,
                .target = target,
                .options = options,
                .timer = timer,
                .values = values,
                .begin_ns = timer->now(),
                .hints = tgi_alloc_zero((loops->kernels.n + 1) *
                                        sizeof(*s.hints))};
    tg_status status =
        estimated && values && s.hints ? TG_OK : tgi_error_memory();
    if (!status) {
        s.n_threads = count_threads(loops, values, &options->tuning);
        status = tune_kernels(&s);
        restore_schedules(loops, estimated);
    }
    if (!status)
        copy_hints_to_twins(loops, s.hints);
    if (!status && (status = choose_best(loops, target, s.hints)))
        restore_schedules(loops, estimated);
    if (!status)
        settle_twins(loops);
    for (size_t i = 0; i < loops->kernels.n && !status; i++)
        put_hints(out_plan, &s.hints[i]);
    *n_timed += s.n_timed;
    tgi_arena_deinit(&s.arena);
    tgi_free(s.hints);
    tgi_free(values);
    tgi_free(estimated);
    return status;
}

tg_status tgi_tune_apply(tgi_loops *loops, const tgi_target *target,
                         const void *plan, size_t plan_bytes)
{
    const unsigned char *at = plan, *end = at + plan_bytes;
    tgi_error_copy error;
    tgi_schedule_hints hints;
    tgi_error_save(&error);
    for (size_t i = 0; i < loops->kernels.n && get_hints(&at, end, &hints);
         i++) {
        const tg_status status =
            has_hints(&hints)
                ? tgi_schedule_choose_hinted(loops, i, target, &hints,
                                             &loops->arena)
                : TG_OK;
        if (status == TG_ERROR_OUT_OF_MEMORY)
            return status;
    }
    settle_twins(loops);
    tgi_error_restore(&error);
    return TG_OK;
}
