/* SPDX-License-Identifier: MIT */
/*
 * test_tune.c - the search of measured planning (jit/tune.h), with a timer that
 * makes times up from schedules: no clock is read, and nothing is compiled.
 */
#include "base/hash.h"
#include "cache/code.h"
#include "jit.h"
#include "memory/memory_plan.h"
#include "support/scheduling.h"
#include "tune.h"

/* -- A timer without a clock ----------------------------------------------- */

/* Nanoseconds of a kernel with its current schedule. */
typedef uint64_t time_of(const tgi_kernel_loops *kernel);

static time_of *made_up;
static uint64_t ticks; /* of its clock: one per schedule that is timed */
static int n_begun, n_ended;
static bool can_begin, can_time;

typedef struct fake_bench {
    const tgi_kernel_loops *kernel;
    uint64_t best, last;
} fake_bench;

static void *fake_begin(const tgi_kernel_job *job)
{
    fake_bench *b = can_begin ? malloc(sizeof(*b)) : NULL;
    if (!b)
        return NULL;
    b->kernel = job->loops->kernels.data[job->kernel];
    b->best = made_up(b->kernel);
    n_begun++;
    return b;
}

static bool fake_time(void *bench, uint64_t out_ns[2])
{
    fake_bench *b = bench;
    ticks++;
    cr_assert_eq(tgi_schedule_verify(b->kernel->schedule), TG_OK);
    b->last = out_ns[0] = made_up(b->kernel);
    out_ns[1] = b->best;
    return can_time;
}

static void fake_keep(void *bench)
{
    fake_bench *b = bench;
    b->best = b->last;
}

static void fake_end(void *bench)
{
    n_ended++;
    free(bench);
}

static uint64_t fake_now(void)
{
    return ticks;
}

static int fake_team_size(int wanted)
{
    return wanted;
}

static const tgi_kernel_timer fake_timer = {fake_begin, fake_time, fake_keep,
                                            fake_end,   fake_now,
                                            fake_team_size};

/* -- Tuning ---------------------------------------------------------------- */

static const tgi_jit_options options = {
    .tuning = {.timer = &fake_timer, .budget_ns = 10000, .threads = 1}};

static tgi_target target_named(const char *name)
{
    tgi_target target;
    cr_assert(tgi_target_by_name(name, &target));
    return target;
}

static int64_t *values_of(const fused *fu, const int64_t *symbols)
{
    const tgi_dims *dims = fu->concrete->graph->dims;
    int64_t *values =
        tgi_alloc_zero((tgi_dims_n_values(dims) + 1) * sizeof(*values));
    cr_assert_eq(tgi_dims_evaluate(dims, symbols, values), TG_OK);
    return values;
}

static void expect_times(time_of *time)
{
    made_up = time;
    ticks = 0;
    n_begun = n_ended = 0;
    can_begin = can_time = true;
}

/* Tunes loops whose schedules have been chosen for a target; returns the number
   of schedules timed, and the plan. */
static uint64_t tune(fused *fu, const int64_t *symbols, const char *target_name,
                     const tgi_jit_options *how, tgi_strbuf *out_plan)
{
    const tgi_target target = target_named(target_name);
    int64_t *values = values_of(fu, symbols);
    uint64_t n_timed = 0;
    *out_plan = (tgi_strbuf){0};
    cr_assert_eq(tgi_tune(fu->loops, values, &target, how, out_plan, &n_timed),
                 TG_OK, "%s", tg_error(NULL));
    cr_assert_eq(n_begun, n_ended);
    cr_assert_eq(tgi_schedule_verify_all(fu->loops), TG_OK, "%s",
                 tg_error(NULL));
    tgi_free(values);
    return n_timed;
}

static void print_all(const fused *fu, tgi_strbuf *out)
{
    *out = (tgi_strbuf){0};
    for (size_t i = 0; i < fu->loops->kernels.n; i++)
        tgi_schedule_print(schedule_of(fu, i), out);
    cr_assert_not(out->failed);
}

static const schedule_case *case_named(const char *name)
{
    size_t n;
    const schedule_case *c = schedule_cases(&n);
    while (strcmp(c->name, name) != 0)
        c++;
    return c;
}

/* -- What it finds --------------------------------------------------------- */

static uint64_t narrow_is_fast(const tgi_kernel_loops *kernel)
{
    return kernel->schedule->vector_bits == 256 ? 500 : 1000;
}

Test(tune, keeps_a_faster_schedule)
{
    fused fu;
    tgi_strbuf plan;
    fuse_case(&fu, case_named("softmax"));
    schedule_for(&fu, "avx512");
    cr_assert_eq(schedule_of(&fu, 0)->vector_bits, 512);
    expect_times(narrow_is_fast);
    cr_expect_gt(tune(&fu, NO_SYMBOLS, "avx512", &options, &plan), 0);
    cr_expect_eq(schedule_of(&fu, 0)->vector_bits, 256);
    tgi_strbuf_deinit(&plan);
    fuse_end(&fu);
    check_nothing_is_alive();
}

static uint64_t narrow_is_hardly_faster(const tgi_kernel_loops *kernel)
{
    return kernel->schedule->vector_bits == 256 ? 980 : 1000;
}

Test(tune, keeps_the_estimate_unless_the_gain_exceeds_noise)
{
    fused fu;
    tgi_strbuf plan, before, after;
    fuse_case(&fu, case_named("softmax"));
    schedule_for(&fu, "avx512");
    print_all(&fu, &before);
    expect_times(narrow_is_hardly_faster);
    cr_expect_gt(tune(&fu, NO_SYMBOLS, "avx512", &options, &plan), 0);
    print_all(&fu, &after);
    cr_expect_str_eq(before.text, after.text);
    tgi_strbuf_deinit(&before);
    tgi_strbuf_deinit(&after);
    tgi_strbuf_deinit(&plan);
    fuse_end(&fu);
    check_nothing_is_alive();
}

static uint64_t narrow_tiles_are_fast(const tgi_kernel_loops *kernel)
{
    const tgi_matmul_schedule *m = &kernel->schedule->matmul;
    return 100 + 10 * m->nr + (m->mr == 6 ? 0 : 100);
}

Test(tune, varies_micro_kernels)
{
    fused fu;
    tgi_strbuf plan;
    fuse_case(&fu, case_named("bias_relu"));
    schedule_for(&fu, "avx512");
    const size_t last = fu.loops->kernels.n - 1;
    cr_assert_eq(schedule_of(&fu, last)->matmul.nr, 64);
    expect_times(narrow_tiles_are_fast);
    tune(&fu, NO_SYMBOLS, "avx512", &options, &plan);
    cr_expect_eq(schedule_of(&fu, last)->matmul.mr, 6);
    cr_expect_eq(schedule_of(&fu, last)->matmul.nr, 16);
    tgi_strbuf_deinit(&plan);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* Every schedule has another time, without a pattern. */
static uint64_t times_by_chance(const tgi_kernel_loops *kernel)
{
    tgi_strbuf text = {0};
    tgi_code_key_of_schedule(kernel, &text);
    const uint64_t ns = 1000 + tgi_hash(text.text, text.n, 0) % 1000;
    tgi_strbuf_deinit(&text);
    return ns;
}

static uint64_t last_by_chance;
static uint64_t shortest_by_chance(const tgi_kernel_loops *kernel)
{
    const uint64_t ns = times_by_chance(kernel);
    last_by_chance = ns < last_by_chance ? ns : last_by_chance;
    return ns;
}

/* A plan is applied to other loops of the same program: they get the same
   schedules. Each kind of kernel, for each target. */
Test(tune, a_plan_gives_the_same_schedules_again)
{
    static const char *const targets[] = {"sse", "avx2", "avx512", "neon"};
    size_t n;
    const schedule_case *cases = schedule_cases(&n);
    int n_changed = 0;
    for (size_t i = 0; i < n * 4; i++) {
        const schedule_case *c = &cases[i / 4];
        const tgi_target target = target_named(targets[i % 4]);
        fused fu;
        tgi_strbuf plan, estimated, tuned, again;
        fuse_case(&fu, c);
        schedule_for(&fu, target.name);
        print_all(&fu, &estimated);
        expect_times(times_by_chance);
        tune(&fu, c->symbols, target.name, &options, &plan);
        print_all(&fu, &tuned);
        schedule_for(&fu, target.name);
        cr_assert_eq(tgi_tune_apply(fu.loops, &target, plan.text, plan.n),
                     TG_OK);
        print_all(&fu, &again);
        cr_expect_str_eq(tuned.text, again.text, "%s, %s", c->name,
                         target.name);
        n_changed += strcmp(tuned.text, estimated.text) != 0;
        tgi_strbuf_deinit(&estimated);
        tgi_strbuf_deinit(&tuned);
        tgi_strbuf_deinit(&again);
        tgi_strbuf_deinit(&plan);
        fuse_end(&fu);
    }
    cr_expect_gt(n_changed, (int)n);
    check_nothing_is_alive();
}

/* No schedule that it has timed is faster, by more than the margin, than the
   one it keeps. */
Test(tune, nothing_that_was_timed_is_much_faster)
{
    size_t n;
    const schedule_case *cases = schedule_cases(&n);
    for (size_t i = 0; i < n; i++) {
        fused fu;
        tgi_strbuf plan;
        fuse_case(&fu, &cases[i]);
        if (fu.loops->kernels.n == 1) {
            schedule_for(&fu, "avx512");
            last_by_chance = times_by_chance(fu.loops->kernels.data[0]);
            expect_times(shortest_by_chance);
            tune(&fu, cases[i].symbols, "avx512", &options, &plan);
            cr_expect_leq(97 * times_by_chance(fu.loops->kernels.data[0]),
                          100 * last_by_chance, "%s", cases[i].name);
            tgi_strbuf_deinit(&plan);
        }
        fuse_end(&fu);
    }
    check_nothing_is_alive();
}

/* No two schedules that are timed for a kernel are equal. */
static uint64_t seen[256];
static unsigned n_seen;
static uint64_t time_once(const tgi_kernel_loops *kernel)
{
    tgi_strbuf text = {0};
    tgi_code_key_of_schedule(kernel, &text);
    const uint64_t hash = tgi_hash(text.text, text.n, 0);
    tgi_strbuf_deinit(&text);
    for (unsigned i = 0; i < n_seen; i++)
        cr_expect_neq(seen[i], hash);
    cr_assert_lt(n_seen, 256);
    seen[n_seen++] = hash;
    return 1000 + hash % 1000;
}

Test(tune, no_schedule_is_timed_twice)
{
    size_t n;
    const schedule_case *cases = schedule_cases(&n);
    for (size_t i = 0; i < n; i++) {
        fused fu;
        tgi_strbuf plan;
        fuse_case(&fu, &cases[i]);
        if (fu.loops->kernels.n == 1) {
            schedule_for(&fu, "avx512");
            n_seen = 0;
            expect_times(time_once);
            tune(&fu, cases[i].symbols, "avx512", &options, &plan);
            tgi_strbuf_deinit(&plan);
        }
        fuse_end(&fu);
    }
    check_nothing_is_alive();
}

/* -- What it does not do --------------------------------------------------- */

Test(tune, times_no_more_than_the_budget_allows)
{
    for (uint64_t budget = 0; budget < 12; budget++) {
        fused fu;
        tgi_strbuf plan;
        tgi_jit_options limited = options;
        limited.tuning.budget_ns = budget;
        fuse_case(&fu, case_named("bias_relu"));
        schedule_for(&fu, "avx512");
        expect_times(times_by_chance);
        const uint64_t n_timed =
            tune(&fu, NO_SYMBOLS, "avx512", &limited, &plan);
        cr_expect_eq(n_timed, ticks);
        cr_expect_leq(n_timed, budget);
        cr_expect(budget > 6 || n_timed == budget, "%llu of %llu",
                  (unsigned long long)n_timed, (unsigned long long)budget);
        tgi_strbuf_deinit(&plan);
        fuse_end(&fu);
    }
    check_nothing_is_alive();
}

Test(tune, leaves_kernels_that_cannot_be_timed)
{
    for (int i = 0; i < 2; i++) {
        fused fu;
        tgi_strbuf plan;
        fuse_case(&fu, case_named("softmax"));
        schedule_for(&fu, "avx512");
        const tgi_schedule *before = schedule_of(&fu, 0);
        expect_times(narrow_is_fast);
        can_begin = i != 0;
        can_time = i == 0;
        cr_expect_eq(tune(&fu, NO_SYMBOLS, "avx512", &options, &plan), 0);
        cr_expect_eq(schedule_of(&fu, 0), before);
        tgi_strbuf_deinit(&plan);
        fuse_end(&fu);
    }
    check_nothing_is_alive();
}

Test(tune, leaves_straight_line_kernels)
{
    fused fu;
    tgi_strbuf plan;
    fuse_case(&fu, case_named("straightline"));
    schedule_for(&fu, "avx512");
    expect_times(times_by_chance);
    cr_expect_eq(tune(&fu, NO_SYMBOLS, "avx512", &options, &plan), 0);
    cr_expect_eq(n_begun, 0);
    tgi_strbuf_deinit(&plan);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* Out of memory: the estimated schedules are back, and no plan is left that
   would promise others. */
Test(tune, keeps_the_estimate_when_out_of_memory)
{
    const tgi_target target = target_named("avx512");
    long nth = 0;
    for (bool has_failed = true; has_failed; nth++) {
        fused fu;
        tgi_strbuf plan = {0};
        uint64_t n_timed = 0;
        fuse_case(&fu, case_named("softmax"));
        schedule_for(&fu, "avx512");
        const tgi_schedule *before = schedule_of(&fu, 0);
        int64_t *values = values_of(&fu, NO_SYMBOLS);
        expect_times(narrow_is_fast);
        tgi_alloc_inject_failure(nth, 0);
        const tg_status status = tgi_tune(fu.loops, values, &target, &options,
                                          &plan, &n_timed);
        has_failed = tgi_alloc_inject_failure(-1, 0) > nth;
        cr_assert(has_failed || status == TG_OK);
        if (status) {
            cr_expect_eq(status, TG_ERROR_OUT_OF_MEMORY);
            cr_expect_eq(schedule_of(&fu, 0), before, "allocation %ld", nth);
        }
        cr_expect_eq(n_begun, n_ended);
        tgi_free(values);
        tgi_strbuf_deinit(&plan);
        fuse_end(&fu);
        check_nothing_is_alive();
    }
    cr_expect_gt(nth, 10);
}

/* -- Plans as bytes -------------------------------------------------------- */

/* Applies arbitrary bytes: the schedules verify, whatever they are. */
static void apply_bytes(fused *fu, const void *bytes, size_t n)
{
    const tgi_target target = target_named("avx512");
    void *copy = malloc(n + 1);
    memcpy(copy, bytes, n);
    schedule_for(fu, "avx512");
    cr_assert_eq(tgi_tune_apply(fu->loops, &target, copy, n), TG_OK);
    cr_assert_eq(tgi_schedule_verify_all(fu->loops), TG_OK, "%s",
                 tg_error(NULL));
    free(copy);
}

Test(tune, damaged_plans_are_harmless)
{
    fused fu;
    tgi_strbuf plan;
    fuse_case(&fu, case_named("bias_relu"));
    schedule_for(&fu, "avx512");
    expect_times(narrow_tiles_are_fast);
    tune(&fu, NO_SYMBOLS, "avx512", &options, &plan);
    cr_assert_gt(plan.n, 4);
    for (size_t n = 0; n <= plan.n; n++)
        apply_bytes(&fu, plan.text, n);
    for (size_t i = 0; i < plan.n; i++)
        for (int value = 0; value < 256; value++) {
            const char before = plan.text[i];
            plan.text[i] = (char)value;
            apply_bytes(&fu, plan.text, plan.n);
            plan.text[i] = before;
        }
    tgi_strbuf_deinit(&plan);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* -- Keys ------------------------------------------------------------------ */

static tgi_strbuf key_of(const fused *fu, const int64_t *symbols, int threads)
{
    int64_t *values = values_of(fu, symbols);
    tgi_tuning tuning = options.tuning;
    tgi_strbuf key = {0};
    tuning.threads = threads;
    tgi_tune_key(fu->loops, values, &tuning, &key);
    cr_assert_not(key.failed);
    tgi_free(values);
    return key;
}

static bool are_equal(tgi_strbuf a, tgi_strbuf b)
{
    const bool equal = a.n == b.n && !memcmp(a.text, b.text, a.n);
    tgi_strbuf_deinit(&a);
    tgi_strbuf_deinit(&b);
    return equal;
}

Test(tune, a_key_has_threads_and_orders_of_magnitude)
{
    fused fu;
    fuse_case(&fu, case_named("unknown_extents"));
    schedule_for(&fu, "avx512");
    cr_expect(are_equal(key_of(&fu, SYMBOLS(64, 1000), 1),
                        key_of(&fu, SYMBOLS(100, 600), 1)));
    cr_expect_not(are_equal(key_of(&fu, SYMBOLS(64, 1000), 1),
                            key_of(&fu, SYMBOLS(64, 1000), 2)));
    cr_expect_not(are_equal(key_of(&fu, SYMBOLS(64, 1000), 1),
                            key_of(&fu, SYMBOLS(64, 100000), 1)));
    fuse_end(&fu);
    check_nothing_is_alive();
}
