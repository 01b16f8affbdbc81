/* SPDX-License-Identifier: MIT */
/*
 * test_share_kernels.c - kernels that run the code of an earlier one: which do,
 * which must not, and that results keep their bits.
 */
#include "support/modes.h"
#include "support/scheduling.h"

enum { LAYERS = 4, SIZE = 64 };

static void share(fused *fu)
{
    tgi_loop_pass_state s = {.loops = fu->loops, .explain = &fu->explain};
    schedule_for(fu, "avx512");
    cr_assert_eq(tgi_loop_pass_share(&s), TG_OK);
    cr_assert_eq(tgi_loops_verify(fu->loops), TG_OK, "%s", tg_error(NULL));
}

static int n_twins(const fused *fu)
{
    int n = 0;
    for (size_t i = 0; i < fu->loops->kernels.n; i++)
        n += !tgi_kernel_id_is_none(fu->loops->kernels.data[i]->twin);
    return n;
}

#define LAYER F32(SIZE, SIZE), F32(SIZE)
#define ALL_LAYERS F32(SIZE, SIZE), LAYER, LAYER, LAYER, LAYER

/* relu(y w + b) for each of the layers. */
static void layers(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = in[0];
    for (int i = 0; i < LAYERS; i++)
        y = tg_relu(tg_add(tg_matmul(y, in[1 + 2 * i]), in[2 + 2 * i]));
    tg_return(t, y);
}

Test(share_kernels, equal_layers_share_code)
{
    fused fu;
    fuse(&fu, layers, NO_SYMBOLS, ALL_LAYERS);
    share(&fu);
    cr_assert_eq(n_kernels(&fu), LAYERS);
    /* The first one, of a parameter, has its insts in another order. */
    cr_assert_eq(n_twins(&fu), LAYERS - 2);
    cr_assert_not_null(strstr(fu.explain.text, ": code of tg_layers_1"), "%s",
                       fu.explain.text);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* relu(y w + z); in the last of four, z is w. */
static void square_layers(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y = in[0];
    for (int i = 0; i < 4; i++)
        y = tg_relu(tg_add(tg_matmul(y, in[1 + 2 * i]),
                           in[i < 3 ? 2 + 2 * i : 1 + 2 * i]));
    tg_return(t, y);
}

Test(share_kernels, buffers_that_are_the_same_are_not_shared_with_others)
{
    fused fu;
    fuse(&fu, square_layers, NO_SYMBOLS, F32(SIZE, SIZE), F32(SIZE, SIZE),
         F32(SIZE, SIZE), F32(SIZE, SIZE), F32(SIZE, SIZE), F32(SIZE, SIZE),
         F32(SIZE, SIZE), F32(SIZE, SIZE));
    share(&fu);
    cr_assert_eq(n_kernels(&fu), 4);
    cr_assert_eq(n_twins(&fu), 1); /* the third layer, of the second */
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* Products that differ in a constant, an extent, a dtype, or in which operands
   are the same. */
static void other_constant(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(tg_matmul(in[0], in[1]), 2),
              tg_mul(tg_matmul(in[1], in[0]), 3));
}

static void other_operands(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(in[0], in[1]), tg_matmul(in[0], in[0]));
}

static void two_products(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(in[0], in[1]), tg_matmul(in[2], in[3]));
}

Test(share_kernels, other_code_is_not_shared)
{
    fused fu;
    fuse(&fu, other_constant, NO_SYMBOLS, F32(SIZE, SIZE), F32(SIZE, SIZE));
    share(&fu);
    cr_assert_eq(n_twins(&fu), 0);
    fuse_end(&fu);
    fuse(&fu, other_operands, NO_SYMBOLS, F32(SIZE, SIZE), F32(SIZE, SIZE));
    share(&fu);
    cr_assert_eq(n_twins(&fu), 0);
    fuse_end(&fu);
    fuse(&fu, two_products, NO_SYMBOLS, F32(SIZE, SIZE), F32(SIZE, SIZE),
         F32(SIZE, SIZE), F32(SIZE, SIZE));
    share(&fu);
    cr_assert_eq(n_twins(&fu), 1);
    fuse_end(&fu);
    fuse(&fu, two_products, NO_SYMBOLS, F32(SIZE, SIZE), F32(SIZE, SIZE),
         F32(SIZE + 1, SIZE), F32(SIZE, SIZE));
    share(&fu);
    cr_assert_eq(n_twins(&fu), 0);
    fuse_end(&fu);
    fuse(&fu, two_products, NO_SYMBOLS, F32(SIZE, SIZE), F32(SIZE, SIZE),
         F64(SIZE, SIZE), F64(SIZE, SIZE));
    share(&fu);
    cr_assert_eq(n_twins(&fu), 0);
    fuse_end(&fu);
    check_nothing_is_alive();
}

Test(share_kernels, other_twins_are_rejected)
{
    fused fu;
    fuse(&fu, other_operands, NO_SYMBOLS, F32(SIZE, SIZE), F32(SIZE, SIZE));
    schedule_for(&fu, "avx512");
    tgi_kernel_loops *last = fu.loops->kernels.data[fu.loops->kernels.n - 1];
    last->twin = tgi_kernel_id_from(0);
    cr_assert_eq(tgi_loops_verify(fu.loops), TG_ERROR_INTERNAL);
    last->twin = tgi_kernel_id_from(fu.loops->kernels.n - 1);
    cr_assert_eq(tgi_loops_verify(fu.loops), TG_ERROR_INTERNAL);
    last->twin = tgi_kernel_id_from(fu.loops->kernels.n);
    cr_assert_eq(tgi_loops_verify(fu.loops), TG_ERROR_INTERNAL);
    fuse_end(&fu);
    check_nothing_is_alive();
}

/* -- Bits ------------------------------------------------------------------ */

typedef struct weights {
    tg_value w[2], b;
} weights;

static tg_value layer(tg_value y, const weights *of, int i)
{
    return tg_tanh(tg_add(tg_matmul(y, of->w[i]), of->b));
}

/* Layers of alternating weights; all but the first have one code. */
static tg_value several_layers(tg_value y, const weights *of)
{
    for (int i = 0; i < LAYERS; i++)
        y = layer(y, of, i % 2);
    return y;
}

/* The loop swaps the buffers of y. */
static void loop_body(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, several_layers(in[1], user));
}

static void layers_in_a_loop(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value square = tg_mul(tg_reshape(in[0], TG_DIMS(SIZE, SIZE)), 0.01);
    weights of = {{square, tg_sub(square, 1)}, tg_slice(in[0], 0, 0, SIZE, 1)};
    tg_value y;
    tg_for(3, loop_body, &of, TG_ARGS(square), &y, 1);
    y = several_layers(y, &of);
    tg_return(t, tg_sum(y, TG_AXES(0)), tg_sum(y, TG_AXES(1)));
}

static void run_layers(session *s, outcome *out)
{
    tg_tensor *x = f32_range(s->ctx, SIZE * SIZE), *y[2] = {NULL, NULL};
    tg_function *f = tg_function_create(s->ctx, layers_in_a_loop, NULL, NULL);
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y[0], &y[1])));
    for (int i = 0; i < 2; i++) {
        note_tensor(out, y[i]);
        tg_tensor_release(y[i]);
    }
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(share_kernels, shared_code_keeps_the_bits)
{
    check_modes(run_layers);
    check_nothing_is_alive();
}
