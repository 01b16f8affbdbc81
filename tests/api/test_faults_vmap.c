/* SPDX-License-Identifier: MIT */
/*
 * test_faults_vmap.c - fault injection while a vmap is traced and run: every
 * allocation fails in turn.
 */
#include "support/control.h"

CALLBACK(is_large)
{
    (void)user;
    tg_return(t, tg_gt(tg_sum(tg_abs(in[0]), TG_ALL_AXES), 0.5));
}

CALLBACK(halve)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 0.5));
}

CALLBACK(pick)
{
    (void)user;
    const tg_value at = tg_cast(tg_reduce_max(in[0], TG_ALL_AXES), TG_I32);
    tg_return(t, tg_mul(in[0], tg_gather(in[0], tg_mul(at, 0), 0)));
}

static tg_status copy_elements(const tg_host_buffer *in, size_t n_in,
                               const tg_host_buffer *out, size_t n_out,
                               void *user)
{
    (void)n_in, (void)n_out, (void)user;
    memcpy(out->data, in->data, (size_t)(in->dims[0] * in->dims[1]) * 4);
    return TG_OK;
}

CALLBACK(times_two)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

CALLBACK(half_gradient)
{
    (void)user;
    tg_return(t, tg_mul(in[2], 0.5));
}

/* Branches, a loop with different numbers of iterations, custom gradients and
   a host operation. */
CALLBACK(all_rules)
{
    const tg_value sum = tg_sum(in[0], TG_ALL_AXES);
    tg_value y, z;
    tg_cond(tg_gt(sum, 2), pick, halve, user, TG_ARGS(in[0]), &y, 1);
    tg_while(is_large, halve, user, TG_ARGS(y), &y, 1);
    tg_custom_gradient(times_two, half_gradient, NULL, TG_ARGS(y), &z, 1);
    int64_t n = tg_value_dim(z, 0);
    const tg_host_spec spec = {TG_F32, 1, &n};
    const tg_host_op op = {.struct_bytes = sizeof(op),
                           .function = copy_elements,
                           .maps_leading_axes = true};
    const tg_operand operand = tg_in_value(z);
    tg_host_op_at(&op, &operand, 1, &spec, &y, 1, TG_HERE);
    tg_return(t, tg_matmul(tg_reshape(y, TG_DIMS(1, 3)),
                           tg_reshape(in[1], TG_DIMS(3, 1))),
              y);
}

/* The gradient of a loop that each element runs differently often. */
CALLBACK(sequential)
{
    tg_value y;
    tg_while(is_large, halve, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, tg_gradient(tg_sum(y, TG_ALL_AXES), in[0]));
}

CALLBACK(batch)
{
    tg_value r[2], s;
    tg_vmap_axes(all_rules, user, ((int[]){0, TG_UNBATCHED}), NULL,
                 TG_ARGS(in[0], tg_mul(in[1], 1)), r, 1);
    tg_vmap(sequential, user, TG_ARGS(in[0]), &s, 1);
    tg_return(t, r[0], s, tg_gradient(tg_sum(r[0], TG_ALL_AXES), in[1]));
}

static void ignore_log(tg_log_level level, const char *component,
                       const char *message, void *user)
{
    (void)level, (void)component, (void)message, (void)user;
}

static bool vmap_scenario(void)
{
    const tg_context_options options = {.struct_bytes = sizeof(options),
                                        .jit = "off",
                                        .log_callback = ignore_log};
    const float data[] = {1, 2, 3, 0, 1, 0};
    tg_context *ctx = tg_context_create(&options);
    tg_tensor *x = NULL, *w = NULL, *r[3] = {0};
    tg_function *f = NULL;
    bool ok = ctx && (x = tg_tensor_copy(ctx, data, TG_F32, TG_DIMS(2, 3))) &&
              (w = tg_tensor_copy(ctx, data, TG_F32, TG_DIMS(3))) &&
              (f = tg_function_create(ctx, batch, NULL, NULL)) &&
              !tg_call(f, TG_ARGS(x, w),
                       TG_RESULTS(&r[0], &r[1], &r[2]));
    for (int i = 0; i < 3; i++)
        tg_tensor_release(r[i]);
    tg_tensor_release(x);
    tg_tensor_release(w);
    tg_function_release(f);
    tg_context_release(ctx);
    return ok;
}

Test(faults, vmap)
{
    check_every_fault(vmap_scenario);
}
