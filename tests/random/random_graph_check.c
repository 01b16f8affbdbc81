/* SPDX-License-Identifier: MIT */
/*
 * random_graph_check.c - a program under test: parts common to all modes, and
 * properties that hold in all of them:
 *
 *   - computed types equal the library's, and every graph verifies;
 *   - no object is alive at the end.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ir/dump.h"
#include "ir/verify.h"
#include "random/random_graph.h"

/* -- Failures -------------------------------------------------------------- */

void rg_failure_deinit(rg_failure *failure)
{
    tgi_free(failure->before);
    tgi_free(failure->after);
}

static char *text_of(const tgi_graph *graph)
{
    tgi_strbuf text = {0};
    tgi_graph_dump(graph, 0, &text);
    return tgi_strbuf_take(&text);
}

bool rg_fail(rg_checker *c, const tgi_graph *before, const tgi_graph *after,
             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->failure->what, sizeof(c->failure->what), format, args);
    va_end(args);
    c->failure->before = before ? text_of(before) : NULL;
    c->failure->after = after ? text_of(after) : NULL;
    return false;
}

bool rg_verify(rg_checker *c, const tgi_graph *before, const tgi_graph *graph,
               const char *stage)
{
    return tgi_graph_verify(graph) == TG_OK ||
           rg_fail(c, before, graph, "%s: %s", stage, tg_error(NULL));
}

/* -- Traces ---------------------------------------------------------------- */

static bool trace_first(rg_checker *c, rg_session *s, rg_generality generality,
                        tg_concrete **out_concrete)
{
    const char *kind = generality == RG_GENERAL ? "general" : "exact";
    tg_status status = rg_session_trace(s, 0, out_concrete);
    if (status)
        return rg_fail(c, NULL, NULL, "the %s trace is refused: %s", kind,
                       tg_error(NULL));
    const tgi_graph *graph = (*out_concrete)->graph;
    if (s->complaint[0])
        return rg_fail(c, graph, NULL, "in the %s trace %s", kind,
                       s->complaint);
    if (s->function->never_generalise)
        return rg_fail(c, graph, NULL, "the trace could not be general: %s",
                       tg_error(NULL));
    for (size_t i = 0; i < s->functions.n; i++)
        if (s->functions.data[i]->never_generalise)
            return rg_fail(c, graph, NULL, "%s could not be general: %s",
                           tg_function_name(s->functions.data[i]),
                           tg_error(NULL));
    return rg_verify(c, NULL, graph, kind);
}

bool rg_begin(rg_checker *c, rg_session *s, rg_generality generality,
              rg_passes passes, const rg_backend *backend,
              tg_concrete **out_concrete)
{
    *out_concrete = NULL;
    if (!rg_session_init(s, c->program, generality, passes, backend))
        return rg_fail(c, NULL, NULL, "no session: %s", tg_error(NULL));
    return trace_first(c, s, generality, out_concrete);
}

/* -- The check ------------------------------------------------------------- */

bool rg_check(const rg_settings *settings, const uint8_t *bytes, size_t n,
              rg_coverage *coverage, rg_failure *failure)
{
    rg_program program;
    *failure = (rg_failure){.before = NULL};
    rg_program_init(&program, bytes, n, settings);
    rg_checker c = {settings, &program, coverage, failure, program.seed};
    bool good =
        settings->mode == RG_JIT ? rg_check_jit(&c) : rg_check_passes(&c);
    rg_program_deinit(&program);
    coverage->n_graphs++;
    tg_profile_clear(); /* TGJIT_PROFILE may be set */
    if (good && (tg_live_objects() || tg_live_bytes()))
        good = rg_fail(&c, NULL, NULL, "%zu objects and %zu bytes are alive",
                       tg_live_objects(), tg_live_bytes());
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    /* The length decides, so that a string keeps its meaning: a compile takes
       as long as a hundred runs of passes. */
    static const rg_settings all[] = {
        {.mode = RG_PASSES},
        {.mode = RG_JIT, .n_teams = 2, .teams = {1, 3}, .n_schedules = 1}};
    const rg_settings settings = all[n % 8 == 7];
    static rg_coverage coverage;
    rg_failure failure;
    if (!rg_check(&settings, bytes, n, &coverage, &failure)) {
        fprintf(stderr, "%s\n", failure.what);
        abort();
    }
    return 0;
}
