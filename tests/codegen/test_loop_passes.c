/* SPDX-License-Identifier: MIT */
/*
 * test_loop_passes.c - the list of loop passes and its driver.
 */
#include "support/fusing.h"

static uint32_t bit_of(const char *name)
{
    for (size_t i = 0; i < TGI_N_LOOP_PASSES; i++)
        if (strcmp(tgi_loop_passes[i].name, name) == 0)
            return UINT32_C(1) << i;
    cr_assert_fail("%s", name);
    return 0;
}

/* Has work for each pass: a copy to elide, memory to reuse, and a straight-line
   kernel whose value needs no memory. */
static void some_of_each(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value row =
        tg_sum(tg_matmul(tg_softmax(in[2], -1), in[2]), TG_AXES(0));
    tg_assign(in[1], tg_dynamic_update_slice(in[1], row, 0, in[3]));
    tg_return(t, tg_softmax(in[0], 0));
}

static void begin(fused *fu)
{
    fuse(fu, some_of_each, NO_SYMBOLS, F32(100, 100), V32(1000), F32(3, 3),
         tg_spec_tensor(TG_I64, TG_SCALAR));
}

static tgi_loops *run(const fused *fu, tgi_loop_pass_options options)
{
    tgi_variant variant;
    tgi_loops *loops = NULL;
    cr_assert_eq(tgi_variant_init(&variant, fu->concrete->graph, NULL), TG_OK);
    cr_assert_eq(tgi_loop_passes_run(fu->concrete->graph, &variant, &options,
                                     &loops),
                 TG_OK, "%s", tg_error(NULL));
    tgi_variant_deinit(&variant);
    return loops;
}

static void keep_stage(const char *stage, const tgi_loops *loops, void *user)
{
    cr_assert_not_null(loops);
    strcat(user, stage);
    strcat(user, " ");
}

Test(loop_passes, the_driver_shows_every_stage_and_skips_optional_ones)
{
    static const struct {
        const char *skip, *stages;
    } cases[] = {
        {"", "fuse elide-copies in-place group schedule row-blocks share plan "},
        {"elide-copies", "fuse in-place group schedule row-blocks share plan "},
        {"in-place", "fuse elide-copies group schedule row-blocks share plan "},
        {"group", "fuse elide-copies in-place schedule row-blocks share plan "},
        {"row-blocks", "fuse elide-copies in-place group schedule share plan "},
        {"share", "fuse elide-copies in-place group schedule row-blocks plan "},
        {"fuse", "fuse elide-copies in-place group schedule row-blocks share plan "},
        {"plan", "fuse elide-copies in-place group schedule row-blocks share plan "}};
    fused fu;
    begin(&fu);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char stages[128] = "";
        tgi_loops_destroy(
            run(&fu, (tgi_loop_pass_options){
                         .skip = *cases[i].skip ? bit_of(cases[i].skip) : 0,
                         .verifies = true,
                         .observe = keep_stage,
                         .observe_user = stages}));
        cr_assert_str_eq(stages, cases[i].stages, "without %s", cases[i].skip);
    }
    fuse_end(&fu);
    check_nothing_is_alive();
}

static int n_straightline(const tgi_loops *loops)
{
    int n = 0;
    for (size_t i = 0; i < loops->kernels.n; i++)
        n += loops->kernels.data[i]->is_straightline;
    return n;
}

Test(loop_passes, each_pass_does_its_own_work_only)
{
    fused fu;
    begin(&fu);
    const size_t n_kernels = fu.loops->kernels.n, n = fu.loops->buffers.n;
    cr_assert_gt(n_straightline(fu.loops), 0);
    cr_assert_gt(n_places(&fu, TGI_PLACE_SSA), 0);
    tgi_loops_destroy(fu.loops);
    fu.loops =
        run(&fu, (tgi_loop_pass_options){.skip = bit_of("elide-copies")});
    /* Copies of the variable, and back. */
    cr_assert_eq(fu.loops->kernels.n, n_kernels + 2);
    cr_assert_eq(fu.loops->buffers.n, n + 1);
    tgi_loops_destroy(fu.loops);
    fu.loops = run(&fu, (tgi_loop_pass_options){.skip = bit_of("in-place")});
    cr_assert_eq(fu.loops->kernels.n, n_kernels);
    cr_assert_gt(fu.loops->buffers.n, n);
    tgi_loops_destroy(fu.loops);
    fu.loops = run(&fu, (tgi_loop_pass_options){.skip = bit_of("group")});
    cr_assert_eq(n_straightline(fu.loops), 0);
    cr_assert_eq(n_places(&fu, TGI_PLACE_SSA), 0);
    fuse_end(&fu);
    check_nothing_is_alive();
}

Test(loop_passes, the_driver_logs_times_at_debug_level)
{
    fused fu;
    begin(&fu);
    tgi_log log;
    tgi_log_init(&log, TG_LOG_DEBUG, keep_log, &fu.session);
    tgi_loops_destroy(run(&fu, (tgi_loop_pass_options){.log = &log}));
    const char *logged = fu.session.logged;
    cr_assert_not_null(strstr(logged, "some_of_each: fuse: 0 to "), "%s",
                       logged);
    cr_assert_not_null(strstr(logged, "some_of_each: plan: "), "%s", logged);
    cr_assert_not_null(strstr(logged, " kernels, "), "%s", logged);
    fuse_end(&fu);
    check_nothing_is_alive();
}
