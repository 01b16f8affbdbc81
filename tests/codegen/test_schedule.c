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

/* -- Targets --------------------------------------------------------------- */

/* An AVX-512 CPU, with units of that width and a last-level cache. */
static tgi_target wide_target(unsigned unit_bits, int64_t last_level_bytes)
{
    tgi_target target;
    cr_assert(tgi_target_by_name("avx512", &target));
    target.unit_bits = unit_bits;
    target.last_level_bytes = last_level_bytes;
    return target;
}

/* Fuses a case and schedules its last kernel for a target. */
static const tgi_schedule *last_schedule(fused *fu, const schedule_case *c,
                                         tgi_target target)
{
    fuse_case(fu, c);
    cr_assert_eq(tgi_schedule_choose(fu->loops, &target), TG_OK, "%s",
                 tg_error(NULL));
    cr_assert_eq(tgi_schedule_verify_all(fu->loops), TG_OK, "%s",
                 tg_error(NULL));
    return schedule_of(fu, fu->loops->kernels.n - 1);
}

/* Full-width units are faster than the loads of a narrow micro-kernel, and
   packing takes twice the time of one, in relation. */
Test(schedule, matmuls_depend_on_the_width_of_units)
{
    const schedule_case batch = SCHEDULE_CASE("", times, NO_SYMBOLS,
                                              F32(1000, 32, 32),
                                              F32(1000, 32, 32));
    const schedule_case layer = SCHEDULE_CASE("", times, NO_SYMBOLS,
                                              F32(64, 784), F32(784, 128));
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        const tgi_target target = wide_target(is_wide ? 512 : 256, 0);
        fused fu;
        const tgi_schedule *s = last_schedule(&fu, &batch, target);
        cr_expect_gt(s->matmul.prefetched_b_bytes, 0);
        cr_expect_eq(s->matmul.nr, is_wide ? 32 : 16);
        fuse_end(&fu);
        s = last_schedule(&fu, &layer, target);
        cr_expect_eq(s->matmul.packs_b, !is_wide);
        fuse_end(&fu);
    }
    check_nothing_is_alive();
}

/* Rows of an image read filters that are larger than half of L2 once for all. */
Test(schedule, images_with_few_pixels_share_large_filters)
{
    const schedule_case large =
        SCHEDULE_CASE("", padded_conv, NO_SYMBOLS, F32(1, 7, 7, 512),
                      F32(3, 3, 512, 512));
    const schedule_case small =
        SCHEDULE_CASE("", padded_conv, NO_SYMBOLS, F32(1, 7, 7, 64),
                      F32(3, 3, 64, 64));
    fused fu;
    const tgi_schedule *s = last_schedule(&fu, &large, wide_target(512, 0));
    cr_expect_eq(s->matmul.item_matrices, 7);
    cr_expect_eq(s->matmul.mr, 7);
    fuse_end(&fu);
    s = last_schedule(&fu, &small, wide_target(512, 0));
    cr_expect_leq(s->matmul.item_matrices, 1);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* Operand and result of 16 MiB: the cache holds neither both nor the result
   for a later reader. */
Test(schedule, results_that_fill_the_cache_with_operands_are_non_temporal)
{
    const schedule_case c =
        SCHEDULE_CASE("", scale, NO_SYMBOLS, F32(4 << 20), F32(1));
    static const struct {
        int64_t last_level_bytes;
        bool is_non_temporal;
    } cases[] = {{0, false}, {32 << 20, true}, {36 << 20, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        fused fu;
        const tgi_schedule *s = last_schedule(
            &fu, &c, wide_target(512, cases[i].last_level_bytes));
        cr_expect_eq(s->non_temporal_stores[0], cases[i].is_non_temporal,
                     "cache of %lld bytes",
                     (long long)cases[i].last_level_bytes);
        fuse_end(&fu);
    }
    check_nothing_is_alive();
}

/* A row of 126 elements from the second on: each vector of 64 bytes straddles
   two lines. */
static void inner_of_rows(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value inner = tg_add(tg_slice(in[0], 1, 0, -2, 1),
                                  tg_slice(in[0], 1, 2, TG_END, 1));
    tg_return(t, tg_pad(inner, 1, 1, 1, 0));
}

Test(schedule, stores_that_straddle_lines_are_narrower)
{
    static const struct {
        int64_t columns;
        unsigned bits;
    } cases[] = {{128, 256}, {1024, 512}};
    for (size_t i = 0; i < 2; i++) {
        const schedule_case c = SCHEDULE_CASE("", inner_of_rows, NO_SYMBOLS,
                                              F32(500, cases[i].columns));
        fused fu;
        const tgi_schedule *s = last_schedule(&fu, &c, wide_target(512, 0));
        cr_expect_eq(s->vector_bits, cases[i].bits, "%lld columns",
                     (long long)cases[i].columns);
        fuse_end(&fu);
    }
    check_nothing_is_alive();
}

static void inner_of_bytes(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_neg(tg_slice(in[0], 1, 1, TG_END, 1)));
}

/* AVX2 has no masks for bytes, and one vector of 32 would leave up to 31. */
Test(schedule, few_bytes_are_left_for_a_scalar_tail)
{
    static const struct {
        int64_t columns;
        unsigned narrow_lanes;
    } cases[] = {{513, 32}, {545, 32}, {547, 32}, {511, 8}, {529, 16}};
    tgi_target avx2;
    cr_assert(tgi_target_by_name("avx2", &avx2));
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const tg_spec bytes =
            tg_spec_tensor(TG_U8, TG_DIMS(40, cases[i].columns));
        const schedule_case c =
            SCHEDULE_CASE("", inner_of_bytes, NO_SYMBOLS, bytes);
        fused fu;
        const tgi_schedule *s = last_schedule(&fu, &c, avx2);
        const tgi_nest_loop *loop = tgi_nest_vector(&s->phases[0].nest);
        cr_expect_eq(loop->narrow_lanes, cases[i].narrow_lanes,
                     "%lld columns: %d", (long long)cases[i].columns,
                     loop->narrow_lanes);
        fuse_end(&fu);
    }
    check_nothing_is_alive();
}

static void sum_of_each_pair(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], in[1]));
}

/* A result of 16 MiB. A row of 32 bytes has no whole line, one of 512 eight. */
Test(schedule, choices_of_non_temporal_stores_need_whole_lines)
{
    static const int64_t columns[] = {8, 128};
    for (int i = 0; i < 2; i++) {
        const schedule_case c = SCHEDULE_CASE(
            "", sum_of_each_pair, NO_SYMBOLS, F32((4 << 20) / columns[i], 1),
            F32(columns[i]));
        fused fu;
        const tgi_schedule *s =
            last_schedule(&fu, &c, wide_target(512, 16 << 20));
        cr_expect_eq(s->non_temporal_stores[0], i == 1, "%lld columns",
                     (long long)columns[i]);
        fuse_end(&fu);
    }
    check_nothing_is_alive();
}
