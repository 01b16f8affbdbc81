/* SPDX-License-Identifier: MIT */
/*
 * random_graph_jit.c - mode jit: properties that every program must have,
 * traced exactly or with unknown extents, in every size:
 *
 *   - it is compiled, unless it has branches or loops that cannot be;
 *   - an API call, bound or not, does the same as the interpreter on the graph
 *     as traced;
 *   - so does the same code with teams of all sizes, with all kernels split
 *     that can be, and fails with the same message;
 *   - nothing outside its buffers is touched, and no argument is written;
 *   - with a cache, all of this again, and nothing is compiled again; with a
 *     filled one, which has the code of another machine (random_graph_emit.c),
 *     all of this once.
 *
 * Mode loops is the same with a random subset of the optional loop passes left
 * out of each program.
 *
 * Teams run the code that the call compiled: each program is compiled once.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "random/random_graph.h"

static const rg_backend interpreted = {.is_native = false};

/* Limit of a value in other sizes, as a multiple of the first size's. */
enum { MAX_GROWTH = 4 };

/* A trace, interpreted as traced and compiled. */
typedef struct subject {
    rg_checker *c;
    const char *kind;
    rg_session raw, native;
    tg_concrete *raw_trace, *trace;
    tgi_repro_settings settings; /* of the current run */
} subject;

/* Values of a table's extents in a size; NULL if they are invalid for it. To be
   freed. */
static int64_t *values_of(const rg_session *s, const tg_concrete *trace,
                          const tgi_dims *dims, int size)
{
    rg_buffers b;
    int64_t *values =
        tgi_alloc((tgi_dims_n_values(dims) + 1) * sizeof(*values));
    if (!values)
        abort();
    rg_buffers_init(&b, s, trace, trace->graph, size, false, 0);
    tg_status status = tgi_dims_evaluate(dims, b.symbols, values);
    rg_buffers_deinit(&b);
    if (!status)
        return values;
    tgi_free(values);
    return NULL;
}

static bool has_large_values(const tgi_graph *graph, const int64_t *values,
                             int64_t limit)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_shape *shape = tgi_graph_shape(graph, ref);
        int64_t count = 1;
        for (int i = 0; i < shape->rank; i++)
            if (__builtin_mul_overflow(
                    count, tgi_dim_value(shape->dims[i], values), &count))
                return true;
        if (count > limit)
            return true;
    }
    for (size_t i = 0; i < graph->callees.n; i++)
        if (graph->callees.data[i]->dims == graph->dims &&
            has_large_values(graph->callees.data[i], values, limit))
            return true;
    return false;
}

/* Products of extents that are small in the first size may be large. */
static bool is_too_large(const rg_session *s, const tg_concrete *trace,
                         int size)
{
    int64_t *values = values_of(s, trace, trace->graph->dims, size);
    bool is_large = !values || has_large_values(trace->graph, values,
                                                MAX_GROWTH * s->program->limit);
    tgi_free(values);
    return is_large;
}

static void write_repro(subject *of, int size, int n_threads)
{
    of->settings.threads = n_threads;
    rg_write_repro(of->c, &of->native, of->trace, size, &of->settings);
}

/* -- Teams ----------------------------------------------------------------- */

/* The program that the call compiled for these extents. */
static tgi_program *find_program(const subject *of, const int64_t *values)
{
    const tgi_variant_table *table = &of->trace->variants;
    for (size_t i = 0; i < table->list.n; i++)
        if (tgi_variant_is_same(of->trace->graph, values,
                                table->list.data[i].values))
            return table->list.data[i].program;
    return NULL;
}

/* Interprets the compiled graph, to tell whether passes caused a difference. */
static const char *blame_passes(const subject *of, int size,
                                const rg_outcome *expected)
{
    rg_outcome outcome;
    rg_run_graph(&of->native, of->trace, of->trace->graph, size, &outcome);
    bool is_right = !*rg_outcome_difference(expected, &outcome);
    rg_outcome_deinit(&outcome);
    return is_right ? "" : " (interpreted after passes, too)";
}

static bool fail(const subject *of, int size, const rg_outcome *expected,
                 const char *who, const char *wrong)
{
    char words[640];
    snprintf(words, sizeof(words), "%s", wrong);
    return rg_fail(of->c, of->raw_trace->graph, of->trace->graph,
                   "the interpreter and %s, %s trace, size %d: %s%s", who,
                   of->kind, size, words, blame_passes(of, size, expected));
}

static bool check_team(subject *of, const rg_native *native,
                       const rg_outcome *expected, int *out_team)
{
    rg_outcome outcome;
    const char *wrong = rg_run_native(native, &outcome, out_team);
    if (!*wrong)
        wrong = rg_outcome_difference(expected, &outcome);
    char words[2 * sizeof(outcome.message) + 32];
    if (!*wrong && strcmp(expected->message, outcome.message) != 0) {
        snprintf(words, sizeof(words), "\"%s\" becomes \"%s\"",
                 expected->message, outcome.message);
        wrong = words;
    }
    char who[32];
    snprintf(who, sizeof(who), "a team of %d", native->n_threads);
    bool good = !*wrong || fail(of, native->size, expected, who, wrong);
    rg_outcome_deinit(&outcome);
    return good;
}

static bool check_teams(subject *of, int size, const rg_outcome *expected)
{
    rg_checker *c = of->c;
    rg_coverage *coverage = c->coverage;
    const tgi_graph *graph = of->trace->graph;
    int64_t *graph_values =
        values_of(&of->native, of->trace, graph->dims, size);
    rg_native native = {.session = &of->native,
                        .concrete = of->trace,
                        .program = find_program(of, graph_values),
                        .size = size};
    if (!native.program) {
        tgi_free(graph_values);
        return rg_fail(c, NULL, graph,
                       "the %s trace is not compiled for size %d", of->kind,
                       size);
    }
    int64_t *values =
        values_of(&of->native, of->trace, native.program->loops->dims, size);
    rg_structure_add(coverage, native.program, graph_values, values);
    bool is_split = rg_structure_is_split(native.program, values);
    bool good = true;
    for (int i = 0; i < c->settings->n_teams && good; i++) {
        int team = 0;
        native.n_threads = c->settings->teams[i];
        native.random = rg_random(&c->random);
        write_repro(of, size, native.n_threads);
        good = check_team(of, &native, expected, &team);
        coverage->n_runs++;
        coverage->n_elements += expected->n_elements;
        coverage->n_team_runs += team > 1;
        coverage->n_parallel_runs += team > 1 && is_split;
    }
    tgi_free(graph_values);
    tgi_free(values);
    return good;
}

/* -- Sizes ----------------------------------------------------------------- */

/* Fails or crashes as `planted` requests. */
static bool check_planted(subject *of)
{
    const rg_settings *settings = of->c->settings;
    const tgi_graph *graph = of->trace->graph;
    for (tgi_ref ref = 1; ref <= graph->n_nodes && settings->planted; ref++) {
        if (tgi_graph_node(graph, ref)->op != settings->planted)
            continue;
        if (settings->plants_crash)
            raise(SIGSEGV);
        return rg_fail(of->c, of->raw_trace->graph, graph, "a planted failure");
    }
    return true;
}

static bool check_call(subject *of, int size, const rg_outcome *expected)
{
    write_repro(of, size, of->native.ctx->threads);
    if (!check_planted(of))
        return false;
    rg_outcome outcome;
    rg_run_call(&of->native, size, &outcome);
    const char *difference = rg_outcome_difference(expected, &outcome);
    if (of->native.ctx->checks && !*difference &&
        strcmp(expected->message, outcome.message) != 0)
        difference = outcome.message;
    bool good = !*difference || fail(of, size, expected, "a call", difference);
    rg_outcome_deinit(&outcome);
    return good;
}

/* Compiles for another machine, as check_size would for this one. */
static bool emit_size(subject *of, int size)
{
    if (is_too_large(&of->raw, of->raw_trace, size) ||
        is_too_large(&of->native, of->trace, size))
        return true;
    rg_outcome expected;
    rg_run_graph(&of->raw, of->raw_trace, of->raw_trace->graph, size,
                 &expected);
    const bool is_refused = !rg_may_end(expected.status);
    rg_outcome_deinit(&expected);
    if (is_refused)
        return true;
    int64_t *values =
        values_of(&of->native, of->trace, of->trace->graph->dims, size);
    const bool good = !values || rg_emit(of->c, of->trace, values);
    tgi_free(values);
    return good;
}

static bool check_size(subject *of, int size)
{
    rg_coverage *coverage = of->c->coverage;
    /* With TGJIT_CHECK, calls of the same graph fail alike. Passes remove
       operations that make NaNs, and programs themselves do not check. */
    const bool checks = of->native.ctx->checks != 0;
    const tg_concrete *trace = checks ? of->trace : of->raw_trace;
    rg_outcome expected;
    rg_outcome_init(&expected);
    /* In the first size, too: the sum over an axis of extent 0 of a value
       without elements has some. The interpreter also needs memory for values
       that compiled code does not store. */
    bool is_large = is_too_large(&of->raw, of->raw_trace, size) ||
                    is_too_large(&of->native, of->trace, size);
    if (!is_large) {
        rg_run_graph(checks ? &of->native : &of->raw, trace, trace->graph, size,
                     &expected);
        is_large = expected.status == TG_ERROR_OUT_OF_MEMORY;
    }
    bool is_refused = !rg_may_end(expected.status);
    bool good = is_large || check_call(of, size, &expected);
    if (good && !is_large && !is_refused && !checks)
        good = check_teams(of, size, &expected);
    coverage->n_large_sizes += is_large;
    coverage->n_failing_runs += expected.status && !is_refused;
    coverage->n_limited_runs += expected.status == TG_ERROR_LIMIT;
    coverage->n_other_sizes += size > 0 && !is_large;
    coverage->n_refused_sizes += is_refused && !is_large;
    rg_outcome_deinit(&expected);
    return good;
}

/* -- Traces ---------------------------------------------------------------- */

static tg_code_counters code_counts(void)
{
    tg_code_counters counts = TG_CODE_COUNTERS_INIT;
    if (tg_code_counts(&counts))
        abort();
    return counts;
}

/* Checks the cache counters at the end: the code of each program was in memory,
   shared with another program, or on disk; new code was saved. */
static bool check_found(subject *of, const tg_code_counters *before,
                        bool is_warm)
{
    const tg_code_counters after = code_counts();
    const uint64_t n_asked = after.misses - before->misses;
    const uint64_t n_all = n_asked + after.hits - before->hits;
    tg_cache_counters counts = TG_CACHE_COUNTERS_INIT;
    if (tg_cache_counts(of->native.ctx, &counts))
        abort();
    if (is_warm)
        of->c->coverage->n_found += counts.hits;
    const bool is_right =
        n_all == of->trace->variants.list.n &&
        counts.hits + counts.misses == n_asked &&
        counts.misses == counts.saves && (!is_warm || counts.misses == 0);
    return is_right ||
           rg_fail(of->c, NULL, of->trace->graph,
                   "the cache, %s: %llu found, %llu not found, %llu saved",
                   is_warm ? "warm" : "cold", (unsigned long long)counts.hits,
                   (unsigned long long)counts.misses,
                   (unsigned long long)counts.saves);
}

/* True for branches and loops that cannot be compiled. */
static bool is_refused_control(const tgi_graph *graph)
{
    bool has_control = false;
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        has_control |= tgi_node_has_regions(tgi_graph_node(graph, ref));
    return has_control && tgi_program_check_no_calls(graph) != TG_OK;
}

static bool check_trace(rg_checker *c, rg_generality generality, bool is_warm,
                        bool *out_native)
{
    const rg_settings *settings = c->settings;
    uint64_t random = c->program->seed;
    const rg_backend backend = {
        .skip = settings->skips_loop_passes ? (uint32_t)rg_random(&random) : 0,
        .is_native = true,
        .n_threads =
            settings
                ->teams[c->program->seed / 32 % (unsigned)settings->n_teams],
        .vector_bits = settings->vector_bits,
        .cache = settings->cache};
    const bool is_general = generality == RG_GENERAL;
    const tg_code_counters before = code_counts();
    subject of = {.c = c,
                  .kind = is_general ? "general" : "exact",
                  .settings = {.threads = backend.n_threads,
                               .vector_bits = backend.vector_bits,
                               .ignores_grain = true,
                               .no_contraction = c->program->no_contraction}};
    bool good =
        rg_begin(c, &of.raw, generality, RG_RAW, &interpreted, &of.raw_trace);
    if (good) {
        rg_write_repro(c, &of.raw, of.raw_trace, 0, &of.settings);
        of.settings.no_contraction = true; /* already contracted */
        good = rg_begin(c, &of.native, generality, RG_OPTIMISED, &backend,
                        &of.trace);
        if (good)
            rg_coverage_add(c->coverage, of.trace->graph);
        const bool is_refused = good && is_refused_control(of.trace->graph);
        const int n_sizes = is_refused ? 0 : is_general ? RG_SIZES : 1;
        *out_native = good && !is_refused;
        for (int size = 0; size < n_sizes && good; size++)
            good = settings->emits_for ? emit_size(&of, size)
                                       : check_size(&of, size);
        if (good && settings->cache && !settings->emits_for)
            good = check_found(&of, &before, is_warm);
        if (good && (!is_warm || settings->is_filled))
            c->coverage->n_programs += of.trace->variants.list.n;
        c->coverage->n_general += is_general;
        tg_concrete_release(of.trace);
        rg_session_deinit(&of.native);
    }
    tg_concrete_release(of.raw_trace);
    rg_session_deinit(&of.raw);
    return good;
}

/* Repeats the check with a random schedule for each kernel. */
static bool check_schedule(rg_checker *c, rg_generality generality, int number)
{
    const unsigned seed =
        1 + (unsigned)(c->program->seed * 1000003 + (unsigned)number) % 1000000;
    char text[16];
    bool is_native;
    snprintf(text, sizeof(text), "%u", seed);
    setenv("TGJIT_SCHEDULE_SEED", text, true);
    const bool good =
        check_trace(c, generality, c->settings->is_filled, &is_native);
    unsetenv("TGJIT_SCHEDULE_SEED");
    c->coverage->n_scheduled++;
    const size_t n = strlen(c->failure->what);
    if (!good)
        snprintf(c->failure->what + n, sizeof(c->failure->what) - n,
                 " (TGJIT_SCHEDULE_SEED=%u)", seed);
    return good;
}

bool rg_check_jit(rg_checker *c)
{
    /* Only one of the two, since compiling dominates the run time; mode passes
       checks that they agree when interpreted. */
    bool is_general =
        c->program->seed / 8 % 2 && rg_program_has_unknowns(c->program);
    const rg_generality generality = is_general ? RG_GENERAL : RG_EXACT;
    bool is_native = false;
    const bool is_filled = c->settings->is_filled;
    const bool has_again =
        c->settings->cache && !is_filled && !c->settings->emits_for;
    bool good = check_trace(c, generality, is_filled, &is_native) &&
                (!has_again || check_trace(c, generality, true, &is_native));
    for (int i = 0; i < c->settings->n_schedules && good && is_native; i++)
        good = check_schedule(c, generality, i);
    c->coverage->n_native += good && is_native;
    c->coverage->n_refused_graphs += good && !is_native;
    return good;
}
