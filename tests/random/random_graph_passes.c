/* SPDX-License-Identifier: MIT */
/*
 * random_graph_passes.c - mode passes: properties that every program must have,
 * interpreted:
 *
 *   - the same bytes give the same graph, as compared by its dump;
 *   - each pass alone, all passes in order, and passes in any order preserve
 *     the observable outcome;
 *   - a trace with unknown extents behaves like the exact one in every size,
 *     and rejects the sizes that the exact one rejects;
 *   - an API call does the same as the interpreter on the graph;
 *   - the loop passes, with any optional ones left out, give valid loops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/variant.h"
#include "ir/dump.h"
#include "loop/loop_pass.h"
#include "pass/pass.h"
#include "program.h"
#include "random/random_graph.h"

enum { MAX_PASSES = TGI_N_PASSES };

static const rg_backend interpreted = {.is_native = false};

/* -- Passes ---------------------------------------------------------------- */

static bool same_node(const tgi_node *a, const tgi_node *b)
{
    return a->op == b->op && a->dtype == b->dtype && a->shape == b->shape &&
           a->n_inputs == b->n_inputs && a->attr_bytes == b->attr_bytes &&
           (a->n_inputs == 0 ||
            memcmp(a->inputs, b->inputs, a->n_inputs * sizeof(tgi_ref)) == 0) &&
           (a->attr_bytes == 0 || memcmp(a->attr, b->attr, a->attr_bytes) == 0);
}

/* Equal graphs need not be run to know that they agree. */
static bool same_graph(const tgi_graph *a, const tgi_graph *b)
{
    bool same =
        a->n_nodes == b->n_nodes && a->checks.n == b->checks.n &&
        a->results.n == b->results.n &&
        (a->results.n == 0 || memcmp(a->results.data, b->results.data,
                                     a->results.n * sizeof(tgi_ref)) == 0);
    for (tgi_ref ref = 1; same && ref <= a->n_nodes; ref++)
        same = same_node(tgi_graph_node(a, ref), tgi_graph_node(b, ref));
    return same;
}

/* A graph and how to run it. */
typedef struct subject {
    rg_session *session;
    const tg_concrete *concrete;
    const tgi_graph *graph;
    int size;
    const rg_outcome *outcome; /* expected outcome */
} subject;

/* True if `graph` has the expected outcome; else writes the difference. */
static bool matches_expected(const subject *of, const tgi_graph *graph,
                             const char **out_difference)
{
    rg_outcome outcome;
    rg_run_graph(of->session, of->concrete, graph, of->size, &outcome);
    *out_difference = rg_outcome_difference(of->outcome, &outcome);
    rg_outcome_deinit(&outcome);
    return !**out_difference;
}

/* Reports the first of these passes that changes the outcome. */
static bool blame_pass(rg_checker *c, const subject *of, const uint8_t *order,
                       size_t n)
{
    tgi_graph *graph = tgi_graph_retain(of->graph);
    char stages[128] = "";
    const char *difference = "";
    for (size_t i = 0; i < n; i++) {
        const tgi_pass *pass = &tgi_passes[order[i]];
        tgi_graph *next = NULL;
        size_t at = strlen(stages);
        snprintf(stages + at, sizeof(stages) - at, "%s%s", i ? "," : "",
                 pass->name);
        if (pass->run(graph, &next) ||
            !matches_expected(of, next, &difference)) {
            rg_fail(c, graph, next, "after %s in size %d: %s", stages, of->size,
                    difference);
            tgi_graph_release(graph);
            tgi_graph_release(next);
            return false;
        }
        tgi_graph_release(graph);
        graph = next;
    }
    rg_fail(c, of->graph, graph, "after %s: it was different before", stages);
    tgi_graph_release(graph);
    return false;
}

/* Runs passes in an order; returns the final graph if requested. */
static bool check_order(rg_checker *c, const subject *of, const uint8_t *order,
                        size_t n, tgi_graph **out_graph)
{
    tgi_graph *graph = tgi_graph_retain(of->graph);
    bool good = true;
    for (size_t i = 0; i < n && good; i++) {
        const tgi_pass *pass = &tgi_passes[order[i]];
        tgi_graph *next = NULL;
        if (pass->run(graph, &next))
            good = rg_fail(c, graph, NULL, "%s fails: %s", pass->name,
                           tg_error(NULL));
        else
            good = rg_verify(c, graph, next, pass->name);
        tgi_graph_release(graph);
        graph = next;
    }
    const char *difference;
    if (good && !same_graph(of->graph, graph) &&
        !matches_expected(of, graph, &difference))
        good = blame_pass(c, of, order, n);
    if (out_graph && good)
        *out_graph = tgi_graph_retain(graph);
    tgi_graph_release(graph);
    return good;
}

static bool check_standard_order(rg_checker *c, const subject *of,
                                 tgi_graph **out_graph)
{
    uint8_t order[MAX_PASSES];
    for (size_t i = 0; i < tgi_n_passes; i++)
        order[i] = (uint8_t)i;
    return check_order(c, of, order, tgi_n_passes, out_graph);
}

static bool check_random_order(rg_checker *c, const subject *of)
{
    uint8_t order[MAX_PASSES];
    size_t n = 2 + rg_random(&c->random) % 4;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint8_t)(rg_random(&c->random) % tgi_n_passes);
    return check_order(c, of, order, n, NULL);
}

static bool check_each_pass(rg_checker *c, const subject *of)
{
    bool good = true;
    for (uint8_t i = 0; i < tgi_n_passes && good; i++)
        good = check_order(c, of, &i, 1, NULL);
    return good;
}

/* -- Loop passes ----------------------------------------------------------- */

/* Verifies the loops of an optimised graph without unknown extents after each
   pass, with all passes and with a random subset. */
static bool check_loop_passes(rg_checker *c, const tgi_graph *graph)
{
    bool good = true;
    tgi_variant variant;
    if (tgi_program_check_no_calls(graph) || tgi_graph_run_checks(graph, NULL))
        return true;
    if (tgi_variant_init(&variant, graph, NULL))
        abort();
    for (int i = 0; i < 2 && good; i++) {
        tgi_loops *loops = NULL;
        const tgi_loop_pass_options options = {
            .skip = i ? (uint32_t)rg_random(&c->random) : 0, .verifies = true};
        if (tgi_loop_passes_run(graph, &variant, &options, &loops))
            good = rg_fail(c, NULL, graph, "loops without passes %#x: %s",
                           options.skip & ((1u << TGI_N_LOOP_PASSES) - 1),
                           tg_error(NULL));
        tgi_loops_destroy(loops);
    }
    tgi_variant_deinit(&variant);
    return good;
}

/* -- Traces ---------------------------------------------------------------- */

static char *text_of(const tgi_graph *graph)
{
    tgi_strbuf text = {0};
    tgi_graph_dump(graph, 0, &text);
    return tgi_strbuf_take(&text);
}

/* The same bytes, traced in another context, must give the same dump. */
static bool check_deterministic(rg_checker *c, const tgi_graph *first)
{
    rg_session s;
    tg_concrete *concrete = NULL;
    bool good =
        rg_session_init(&s, c->program, RG_EXACT, RG_RAW, &interpreted) &&
        !rg_session_trace(&s, 0, &concrete);
    if (!good)
        rg_fail(c, first, NULL, "the second trace is refused: %s",
                tg_error(NULL));
    if (good) {
        char *texts[2] = {text_of(first), text_of(concrete->graph)};
        good = strcmp(texts[0], texts[1]) == 0 ||
               rg_fail(c, first, concrete->graph, "the second trace differs");
        tgi_free(texts[0]);
        tgi_free(texts[1]);
    }
    tg_concrete_release(concrete);
    rg_session_deinit(&s);
    return good;
}

/* -- Other sizes ----------------------------------------------------------- */

/* The outcome of the exact trace for a size, which may be an error. */
static void run_exact(rg_session *s, int size, rg_outcome *out_outcome)
{
    tg_concrete *concrete = NULL;
    tg_status status = rg_session_trace(s, size, &concrete);
    if (status) {
        *out_outcome = (rg_outcome){.status = status};
        return;
    }
    rg_run_graph(s, concrete, concrete->graph, size, out_outcome);
    tg_concrete_release(concrete);
}

/* Checks the general graph as traced, and after passes, in one size. */
static bool check_size(rg_checker *c, rg_session *exact, subject general,
                       const tgi_graph *optimised)
{
    const char *difference = "";
    rg_outcome expected, outcome;
    run_exact(exact, general.size, &expected);
    rg_run_graph(general.session, general.concrete, general.graph, general.size,
                 &outcome);
    if (expected.status != outcome.status || expected.parts.n) /* was traced */
        difference = rg_outcome_difference(&expected, &outcome);
    bool good =
        !*difference || rg_fail(c, general.graph, NULL,
                                "exact and general trace in size %d: %s",
                                general.size, difference);
    general.outcome = &outcome;
    if (good && !matches_expected(&general, optimised, &difference))
        good = rg_fail(c, general.graph, optimised,
                       "the general trace after passes in size %d: %s",
                       general.size, difference);
    if (good && general.size > 0)
        good = check_random_order(c, &general);
    c->coverage->n_other_sizes += general.size > 0;
    c->coverage->n_refused_sizes += expected.status && !expected.parts.n;
    rg_outcome_deinit(&expected);
    rg_outcome_deinit(&outcome);
    return good;
}

static bool check_general(rg_checker *c, rg_session *exact,
                          const rg_outcome *expected)
{
    rg_session s;
    tg_concrete *concrete = NULL;
    tgi_graph *optimised = NULL;
    bool good = rg_begin(c, &s, RG_GENERAL, RG_RAW, &interpreted, &concrete);
    if (good) {
        subject of = {&s, concrete, concrete->graph, 0, expected};
        good = check_standard_order(c, &of, &optimised);
        if (good)
            rg_control_add(c->coverage, optimised);
        for (int size = 0; size < RG_SIZES && good; size++) {
            of.size = size;
            good = check_size(c, exact, of, optimised);
        }
        c->coverage->n_general++;
    }
    tgi_graph_release(optimised);
    tg_concrete_release(concrete);
    rg_session_deinit(&s);
    return good;
}

/* -- Calls ----------------------------------------------------------------- */

static bool check_call(rg_checker *c, rg_session *exact,
                       const rg_outcome *expected)
{
    rg_session s;
    bool is_general = c->program->seed / 8 % 2;
    int n_sizes = is_general ? RG_SIZES : 1;
    bool good =
        rg_session_init(&s, c->program, is_general ? RG_GENERAL : RG_EXACT,
                        RG_OPTIMISED, &interpreted) ||
        rg_fail(c, NULL, NULL, "no session: %s", tg_error(NULL));
    for (int size = 0; size < n_sizes && good; size++) {
        rg_outcome outcome, other = {.status = TG_OK};
        const rg_outcome *wanted = expected;
        if (size > 0) {
            run_exact(exact, size, &other);
            wanted = &other;
        }
        rg_run_call(&s, size, &outcome);
        const char *difference = "";
        if (wanted->status != outcome.status || wanted->parts.n)
            difference = rg_outcome_difference(wanted, &outcome);
        if (*difference)
            good = rg_fail(c, NULL, NULL,
                           "the interpreter and the %s call in size %d: %s",
                           is_general ? "general" : "exact", size, difference);
        rg_outcome_deinit(&other);
        rg_outcome_deinit(&outcome);
    }
    rg_session_deinit(&s);
    return good;
}

/* -- The check ------------------------------------------------------------- */

bool rg_check_passes(rg_checker *c)
{
    rg_session s;
    tg_concrete *concrete = NULL;
    tgi_graph *optimised = NULL;
    rg_outcome outcome = {.status = TG_OK};
    bool good = rg_begin(c, &s, RG_EXACT, RG_RAW, &interpreted, &concrete);
    if (good) {
        const tgi_graph *graph = concrete->graph;
        const subject of = {&s, concrete, graph, 0, &outcome};
        rg_coverage_add(c->coverage, graph);
        rg_run_graph(&s, concrete, graph, 0, &outcome);
        c->coverage->n_failing_runs += outcome.status != TG_OK;
        c->coverage->n_limited_runs += outcome.status == TG_ERROR_LIMIT;
        if (!rg_may_end(outcome.status))
            good = rg_fail(c, graph, NULL, "the graph does not run: %s",
                           tg_error(NULL));
        good = good && check_each_pass(c, &of) &&
               check_standard_order(c, &of, &optimised) &&
               check_loop_passes(c, optimised) && check_random_order(c, &of) &&
               check_random_order(c, &of) && check_deterministic(c, graph);
        if (good && rg_program_has_unknowns(c->program))
            good = check_general(c, &s, &outcome);
        good = good && check_call(c, &s, &outcome);
    }
    tgi_graph_release(optimised);
    rg_outcome_deinit(&outcome);
    tg_concrete_release(concrete);
    rg_session_deinit(&s);
    return good;
}
