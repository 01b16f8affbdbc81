/* SPDX-License-Identifier: MIT */
/*
 * test_schedule.c - the choice of schedules for several targets, none of which
 * need be the host: tests/golden/schedule has them. docs/SCHEDULES.md explains
 * how to read one.
 */
#include "support/scheduling.h"

static void print_for(fused *fu, const char *target, tgi_strbuf *text)
{
    schedule_for(fu, target);
    tgi_strbuf_addf(text, "\ntarget %s\n", target);
    for (size_t i = 0; i < fu->loops->kernels.n; i++)
        tgi_schedule_print(schedule_of(fu, i), text);
}

static void check_case(const schedule_case *c)
{
    tgi_strbuf text = {0};
    char path[256];
    fused fu;
    fuse_case(&fu, c);
    tgi_loops_print(fu.loops, &text);
    print_for(&fu, "sse", &text);
    print_for(&fu, "avx2", &text);
    print_for(&fu, "avx512", &text);
    print_for(&fu, "neon", &text);
    fuse_end(&fu);
    snprintf(path, sizeof(path), "schedule/%s.txt", c->name);
    check_shown(path, &text);
}

Test(schedule, choices_for_each_target)
{
    size_t n;
    const schedule_case *cases = schedule_cases(&n);
    for (size_t i = 0; i < n; i++)
        check_case(&cases[i]);
}
