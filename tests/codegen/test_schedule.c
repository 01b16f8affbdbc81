/* SPDX-License-Identifier: MIT */
/*
 * test_schedule.c - the choice of schedules for several targets, none of which
 * need be the host: tests/golden/schedule has them. docs/SCHEDULES.md explains
 * how to read one.
 */
#include "schedule/schedule_random.h"
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
    tgi_loops_print(fu.loops, 0, &text);
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

/* -- Random schedules ------------------------------------------------------ */

static void check_variations(const schedule_case *c, const char *name)
{
    tgi_target target;
    fused fu;
    cr_assert(tgi_target_by_name(name, &target));
    fuse_case(&fu, c);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        schedule_for(&fu, name);
        cr_expect_eq(tgi_schedule_randomise(fu.loops, &target, seed), TG_OK,
                     "%s, %s, seed %llu: %s", c->name, name,
                     (unsigned long long)seed, tg_error(NULL));
    }
    fuse_end(&fu);
}

/* Most variations are legal, so tests compile what they are meant to. */
Test(schedule, random_variations_verify)
{
    size_t n;
    uint64_t n_accepted, n_rejected;
    const schedule_case *cases = schedule_cases(&n);
    for (size_t i = 0; i < n; i++) {
        check_variations(&cases[i], "avx2");
        check_variations(&cases[i], "neon");
    }
    tgi_schedule_random_counts(&n_accepted, &n_rejected);
    cr_expect_gt(n_accepted, n_rejected, "%llu accepted, %llu rejected",
                 (unsigned long long)n_accepted,
                 (unsigned long long)n_rejected);
    check_nothing_is_alive();
}

/* Variations drop tiles and add them again. */
Test(schedule, random_variations_add_tiles)
{
    size_t n;
    tgi_target target;
    fused fu;
    const schedule_case *c = schedule_cases(&n);
    int n_dropped = 0, n_added = 0;
    cr_assert(tgi_target_by_name("avx2", &target));
    while (strcmp(c->name, "transpose_add"))
        c++;
    fuse_case(&fu, c);
    for (uint64_t seed = 1; seed <= 100; seed++) {
        schedule_for(&fu, "avx2");
        const tgi_schedule *s = fu.loops->kernels.data[0]->schedule;
        bool had_tiles = s->tiles.rows > 0;
        cr_assert(had_tiles);
        for (uint64_t i = 1; i <= 2; i++) {
            cr_assert_eq(
                tgi_schedule_randomise(fu.loops, &target, seed + 1000 * i),
                TG_OK, "%s", tg_error(NULL));
            n_dropped += had_tiles && !s->tiles.rows;
            n_added += !had_tiles && s->tiles.rows;
            had_tiles = s->tiles.rows > 0;
        }
    }
    cr_expect_gt(n_dropped, 10);
    cr_expect_gt(n_added, 5);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* The same seed gives the same schedules, another one gives others. */
Test(schedule, random_variations_differ)
{
    size_t n;
    tgi_target target;
    fused fu;
    tgi_strbuf text[3] = {{0}};
    static const uint64_t seeds[] = {1, 1, 2};
    cr_assert(tgi_target_by_name("avx2", &target));
    fuse_case(&fu, &schedule_cases(&n)[0]);
    for (int i = 0; i < 3; i++) {
        schedule_for(&fu, "avx2");
        cr_assert_eq(tgi_schedule_randomise(fu.loops, &target, seeds[i]),
                     TG_OK);
        tgi_schedule_print(schedule_of(&fu, 0), &text[i]);
    }
    cr_expect_str_eq(text[0].text, text[1].text);
    cr_expect_str_neq(text[0].text, text[2].text);
    for (int i = 0; i < 3; i++)
        tgi_strbuf_deinit(&text[i]);
    fuse_end(&fu);
    check_nothing_is_alive();
}
