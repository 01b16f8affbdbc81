/* SPDX-License-Identifier: MIT */
/*
 * test_faults_control.c - fault injection while branches and loops are traced,
 * optimised, prepared and run: every allocation fails in turn, once or
 * persistently.
 */
#include "support/control.h"

typedef struct world {
    tg_context *ctx;
    tg_variable *v;
    tg_function *inner, *f;
    tg_tensor *x, *y;
    tg_bound *bound;
    char *text;
    tg_value outside;
} world;

static void ignore_print(const char *text, void *user)
{
    (void)text, (void)user;
}

static void ignore_log(tg_log_level level, const char *component,
                       const char *message, void *user)
{
    (void)level, (void)component, (void)message, (void)user;
}

/* Creates an interpreted function of the callback, with the given passes. */
static bool world_begin(world *w, tg_callback *callback, tg_callback *inner,
                        const char *skip_passes)
{
    *w = (world){.ctx = NULL};
    tg_context_options options = {.struct_bytes = sizeof(options),
                                  .jit = "off",
                                  .skip_passes = skip_passes,
                                  .print_callback = ignore_print,
                                  .log_callback = ignore_log};
    tg_function_options relaxed = TG_FUNCTION_OPTIONS_INIT;
    relaxed.policy = TG_RELAXED;
    const float data[] = {1, 2, 3};
    if (!(w->ctx = tg_context_create(&options)))
        return false;
    w->v = tg_variable_create(w->ctx, "v", TG_F32, TG_SCALAR, tg_fill(1));
    w->x = tg_tensor_copy(w->ctx, data, TG_F32, TG_DIMS(3));
    w->inner = tg_function_create(w->ctx, inner, w, &relaxed);
    w->f = tg_function_create(w->ctx, callback, w, &relaxed);
    return w->v && w->x && w->inner && w->f;
}

static bool world_end(world *w, bool went_well)
{
    tg_bound_release(w->bound);
    tg_text_free(w->text);
    tg_tensor_release(w->x);
    tg_tensor_release(w->y);
    tg_function_release(w->f);
    tg_function_release(w->inner);
    tg_variable_release(w->v);
    tg_context_release(w->ctx);
    return went_well;
}

/* -- A bit of everything --------------------------------------------------- */

static tg_status copy_elements(const tg_host_buffer *in, size_t n_in,
                               const tg_host_buffer *out, size_t n_out,
                               void *user)
{
    (void)n_in, (void)n_out, (void)user;
    memcpy(out[0].data, in[0].data,
           (size_t)in[0].dims[0] * tg_dtype_bytes(in[0].dtype));
    return TG_OK;
}

CALLBACK(scale)
{
    const world *w = user;
    tg_value same;
    tg_assign_add(w->v, 1.0);
    const tg_host_spec spec = {TG_F32, TG_DIMS(tg_value_dim(in[0], 0))};
    tg_host_call(t, copy_elements, NULL, TG_ARGS(in[0]), &spec, &same, 1);
    tg_return(t, tg_mul(same, tg_cast(tg_extent(in[0], 0), TG_F32)));
}

CALLBACK(apply_scale)
{
    const world *w = user;
    tg_value y;
    tg_apply(w->inner, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_add(y, w->outside));
}

CALLBACK(print_and_keep)
{
    const world *w = user;
    tg_print(t, "%v", w->v);
    tg_return(t, in[0]);
}

CALLBACK(iteration)
{
    tg_value y, is_first = tg_eq(in[0], 0);
    tg_variable *n = tg_own_variable(t, "n", TG_F32, TG_SCALAR, tg_zeros());
    tg_assign_add(n, 1.0);
    tg_cond(is_first, apply_scale, print_and_keep, user, TG_ARGS(in[1]), &y,
            1);
    tg_return(t, y);
}

CALLBACK(is_small)
{
    const world *w = user;
    tg_return(t, tg_lt(tg_add(tg_sum(in[0], TG_ALL_AXES), w->v), 50.0));
}

CALLBACK(grow)
{
    tg_return(t, tg_add(in[0], in[1]), in[1]);
}

CALLBACK(one_more)
{
    tg_return(t, tg_add(in[1], 1.0));
}

CALLBACK(all_kinds)
{
    world *w = user;
    tg_callback *const branches[] = {print_and_keep, print_and_keep,
                                     apply_scale};
    tg_value y, z[2];
    w->outside = tg_exp(in[0]);
    tg_for(2, iteration, user, TG_ARGS(in[0]), &y, 1);
    tg_while_limit(100, is_small, grow, user, TG_ARGS(y, in[0]), z, 2);
    tg_switch(tg_cast(w->v, TG_I32), branches, 3, user, TG_ARGS(z[0]), &y, 1);
    tg_for_unrolled(2, one_more, user, TG_ARGS(y), &y, 1);
    tg_return(t, y);
}

static bool call_scenario(void)
{
    world w;
    return world_end(&w, world_begin(&w, all_kinds, scale, "") &&
                             !tg_call(w.f, TG_ARGS(w.x), TG_RESULTS(&w.y)) &&
                             !tg_call(w.f, TG_ARGS(w.x), TG_RESULTS(&w.y)));
}

Test(faults, branches_and_loops)
{
    check_every_fault(call_scenario);
}

static bool raw_scenario(void)
{
    world w;
    bool good =
        world_begin(&w, all_kinds, scale,
                    "inline,layout,crop,distribute,fold,simplify,hoist,"
                    "shape,dead") &&
        (w.bound = tg_bind(w.f, TG_ARGS(w.x), TG_RESULTS(&w.y))) &&
        !tg_run(w.bound) && (w.text = tg_function_text(w.f, TG_TEXT_GRAPH));
    return world_end(&w, good);
}

Test(faults, branches_and_loops_without_passes)
{
    check_every_fault(raw_scenario);
}

/* -- Functions with loops, inlined ----------------------------------------- */

CALLBACK(loop_inside)
{
    tg_value y;
    tg_for(3, one_more, user, TG_ARGS(in[0]), &y, 1);
    tg_cond(tg_gt(tg_sum(y, TG_ALL_AXES), 3.0), print_and_keep,
            print_and_keep, user, TG_ARGS(y), &y, 1);
    tg_return(t, y);
}

CALLBACK(apply_twice)
{
    const world *w = user;
    tg_value y;
    tg_apply(w->inner, TG_ARGS(in[0]), &y, 1);
    tg_apply(w->inner, TG_ARGS(tg_concat(0, y, y)), &y, 1);
    tg_return(t, y);
}

static bool inline_scenario(void)
{
    world w;
    return world_end(&w, world_begin(&w, apply_twice, loop_inside, "") &&
                             !tg_call(w.f, TG_ARGS(w.x), TG_RESULTS(&w.y)));
}

Test(faults, branches_and_loops_in_inlined_functions)
{
    check_every_fault(inline_scenario);
}

/* -- A run needs no memory ------------------------------------------------- */

CALLBACK(one_of)
{
    tg_return(t, in[0]);
}

CALLBACK(loop_quietly)
{
    world *w = user;
    tg_value y, z[2];
    w->outside = tg_exp(in[0]);
    tg_for(2, one_more, user, TG_ARGS(in[0]), &y, 1);
    tg_while_limit(100, is_small, grow, user, TG_ARGS(y, in[0]), z, 2);
    tg_cond(tg_gt(w->v, 0.0), apply_scale, one_of, user, TG_ARGS(z[0]), &y,
            1);
    tg_return(t, y);
}

Test(faults, a_bound_loop_runs_without_memory)
{
    world w;
    cr_assert(world_begin(&w, loop_quietly, scale, ""));
    w.bound = tg_bind(w.f, TG_ARGS(w.x), TG_RESULTS(&w.y));
    cr_assert_not_null(w.bound, "%s", tg_error(NULL));
    tgi_alloc_inject_failure(0, 1);
    const tg_status status = tg_run(w.bound);
    cr_assert_eq(tgi_alloc_inject_failure(-1, 0), 0);
    cr_assert_eq(status, TG_OK);
    world_end(&w, true);
    check_nothing_is_alive();
}
