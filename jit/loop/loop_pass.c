/* SPDX-License-Identifier: MIT */
/*
 * loop_pass.c - the list of loop passes.
 *
 *   fuse          first: it creates the loops
 *   elide-copies  deletes kernels and barriers, so that more buffers die within
 *                 one kernel
 *   in-place      after it: a copy is better removed than made in place
 *   group         promotes buffers to SSA values, which needs the final
 *                 accesses of each; if it is left out, fuse marks no kernel as
 *                 straight-line either, because these need fewer barriers
 *   schedule      decides how kernels run, not what they compute; their bodies
 *                 and accesses are final
 *   row-blocks    needs the work items of schedules; after in-place, which may
 *                 move a value into memory that is not of this call
 *   share         after it: equal code needs equal schedules
 *   plan          last: the memory plan needs final steps and places
 */
#include "loop/loop_pass.h"

#include "base/error.h"
#include "base/pass_driver.h"
#include "profile/timeline.h"

#define REQUIRED(function, name, doc) \
    {name, doc, false, tgi_loop_pass_##function},
#define OPTIONAL(function, name, doc) \
    {name, doc, true, tgi_loop_pass_##function},
const tgi_loop_pass tgi_loop_passes[] = {TGI_LOOP_PASSES(REQUIRED, OPTIONAL)};

/* -- Driver ---------------------------------------------------------------- */

typedef struct job {
    tgi_loop_pass_state state;
    const tgi_loop_pass_options *options;
} job;

static const char *pass_name(size_t pass)
{
    return tgi_loop_passes[pass].name;
}

static tg_status run(size_t pass, void *user)
{
    job *j = user;
    const uint64_t begin = tgi_clock_ns();
    TGI_TRY(tgi_loop_passes[pass].run(&j->state));
    const uint64_t end = tgi_clock_ns();
    tgi_timeline_add("compile", pass_name(pass), j->state.graph->name, begin,
                     end);
    if (j->options->times)
        j->options->times[pass] += end - begin;
    return TG_OK;
}

static size_t size(void *user)
{
    const job *j = user;
    return j->state.loops ? j->state.loops->kernels.n : 0;
}

static tg_status verify(void *user)
{
    const job *j = user;
    return tgi_loops_verify(j->state.loops);
}

static void observe(const char *stage, void *user)
{
    const job *j = user;
    j->options->observe(stage, j->state.loops, j->options->observe_user);
}

tg_status tgi_loop_passes_run(const tgi_graph *graph,
                              const struct tgi_variant *variant,
                              const tgi_loop_pass_options *options,
                              tgi_loops **out_loops)
{
    uint32_t skip = options->skip;
    for (size_t i = 0; i < TGI_N_LOOP_PASSES; i++)
        if (!tgi_loop_passes[i].is_optional)
            skip &= ~(UINT32_C(1) << i);
    job j = {.state = {.graph = graph,
                       .variant = variant,
                       .target = options->target,
                       .schedule_seed = options->schedule_seed,
                       .verifies = options->verifies,
                       .explain = options->explain,
                       .skip = skip},
             .options = options};
    const tgi_pass_driver driver = {.name = graph->name,
                                    .unit = "kernel",
                                    .log = options->log,
                                    .skip = skip,
                                    .verifies = options->verifies,
                                    .user = &j,
                                    .pass_name = pass_name,
                                    .run = run,
                                    .size = size,
                                    .verify = verify,
                                    .observe =
                                        options->observe ? observe : NULL};
    tg_status status = tgi_pass_driver_run(&driver, TGI_N_LOOP_PASSES);
    if (!status && !options->verifies)
        status = verify(&j);
    *out_loops = status ? NULL : j.state.loops;
    if (status)
        tgi_loops_destroy(j.state.loops);
    return status;
}
