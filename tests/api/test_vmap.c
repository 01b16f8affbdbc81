/* SPDX-License-Identifier: MIT */
/*
 * test_vmap.c - a callback over a batch has the bits of the callback called for
 * each element, interpreted and compiled, with known and unknown extents.
 */
#include <math.h>

#include "support/vmaps.h"

/* -- Elementwise operations and views -------------------------------------- */

BODY(elementwise)
{
    const tg_value y = tg_add(tg_mul(in[0], 2), in[1]);
    RETURN(t, tg_exp(y), tg_select(tg_gt(y, 0), y, in[1]), tg_sin(in[1]),
              tg_cast(tg_round(y), TG_I32));
}

BODY(views)
{
    const tg_value x = in[0]; /* [3, 4] */
    const int axis = 1;
    const int64_t size = 2, stride = 1;
    RETURN(t, tg_reshape(x, TG_DIMS(2, 6)), tg_transpose(x, TG_PERM(1, 0)),
              tg_slice(x, 1, -1, TG_END, -2),
              tg_windows(x, 1, &axis, &size, &stride, NULL),
              tg_broadcast(tg_slice(x, 0, 0, 1, 1), TG_DIMS(2, 5, 4)),
              tg_concat(0, x, in[1], x), tg_pad(x, 1, 2, 1, 7.5),
              tg_pad(in[1], 0, 1, 2, tg_sum(x, TG_ALL_AXES)));
}

BODY(reductions)
{
    const tg_value x = in[0];
    RETURN(t, tg_sum(x, TG_ALL_AXES), tg_sum(x, TG_AXES(0)),
              tg_prod(x, TG_AXES(1)), tg_reduce_max(x, tg_keep(TG_AXES(1))),
              tg_argmax(x, 0), tg_softmax(x, 1), tg_cumsum(x, 0),
              tg_mean(x, TG_AXES(0, 1)));
}

Test(vmap, views_and_reductions_have_the_bits_of_single_calls)
{
    in_both(check_body, elementwise, F32(3, 4), UNBATCHED_F32(4));
    in_both(check_body, elementwise, UNBATCHED_F32(3, 4), F32(4));
    in_both(check_body, views, F32(3, 4), UNBATCHED_F32(3, 4));
    in_both(check_body, reductions, F32(5, 70));
    in_both(check_body_relaxed, elementwise, F32(3, 4), UNBATCHED_F32(3, 4));
    in_both(check_body_relaxed, reductions, F32(5, 7));
}

/* -- Indices --------------------------------------------------------------- */

/* x [3, 4, 2], two indices of range 4, one start. */
BODY(gathers)
{
    const tg_value x = in[0], at = in[1], start = tg_slice(at, 0, 0, 1, 1);
    const tg_value scalar = tg_reshape(start, TG_SCALAR);
    const tg_value wide = tg_sub(tg_mul(at, 3), 2);
    RETURN(t, tg_gather(x, at, 1), tg_gather_with(x, wide, 1,
                                                     TG_GATHER_CLAMP),
              tg_gather_with(x, wide, 0, TG_GATHER_ZERO),
              tg_dynamic_slice(x, 1, scalar, 2),
              tg_dynamic_update_slice(x, tg_neg(tg_slice(x, 1, 0, 3, 1)), 1,
                                      scalar),
              tg_gather(x, tg_reshape(at, TG_DIMS(2, 1)), 1));
}

BODY(scatters)
{
    const tg_value x = in[0], at = in[1];
    const tg_value updates = tg_mul(tg_gather(x, at, 1), -2);
    const tg_value wide = tg_sub(tg_mul(at, 3), 2);
    RETURN(t, tg_scatter(x, at, updates, 1, TG_SCATTER_SET),
              tg_scatter(x, at, updates, 1, TG_SCATTER_ADD),
              tg_scatter_with(x, wide, updates, 1, TG_SCATTER_MAX,
                              TG_SCATTER_DROP));
}

BODY(sorts)
{
    const tg_value x = in[0];
    tg_value positions;
    const tg_value first = tg_top_k(x, 3, 0, &positions);
    RETURN(t, tg_sort(x, 0), tg_argsort(x, 0), first, positions,
              tg_one_hot(tg_argmax(x, 0), 9, TG_F32),
              tg_nonzero(tg_gt(x, 0), 4));
}

Test(vmap, gathers_and_scatters_select_within_an_element)
{
    for (int i = 0; i < 3; i++) {
        const vmap_arg x = i == 1 ? UNBATCHED_F32(3, 4, 2) : F32(3, 4, 2);
        const vmap_arg at = i == 2 ? UNBATCHED_I32(2) : I32(2);
        in_both(check_body, gathers, x, at);
        in_both(check_body, scatters, x, at);
    }
    in_both(check_body, sorts, F32(9));
}

static void gather_out_of_range(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_gather(in[0], tg_add(in[1], 2), 0));
}

static void vmap_out_of_range(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y;
    tg_vmap(gather_out_of_range, NULL, TG_ARGS(in[0], in[1]), &y, 1);
    tg_return(t, y);
}

Test(vmap, an_index_out_of_range_of_its_element_fails_the_call)
{
    session s;
    session_begin(&s);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 3), tg_zeros());
    tg_tensor *at = i32_vector(s.ctx, 1, 0), *y = NULL;
    tg_function *f = tg_function_create(s.ctx, vmap_out_of_range, NULL, NULL);
    check_fails(tg_call(f, TG_ARGS(x, at), TG_RESULTS(&y)), TG_ERROR_INDEX,
                "test_vmap.c:", "gather");
    tg_tensor_release(x);
    tg_tensor_release(at);
    tg_function_release(f);
    session_end(&s);
}

/* -- Products and random numbers ------------------------------------------- */

BODY(products)
{
    const tg_value x = in[0], w = in[1]; /* [3, 5], [5, 4] */
    RETURN(t, tg_matmul(x, w),
              tg_matmul_with(w, x, TG_TRANSPOSE_A | TG_TRANSPOSE_B),
              tg_einsum("ij,jk->ki", x, w),
              tg_matmul(tg_reshape(x, TG_DIMS(1, 3, 5)),
                        tg_broadcast(w, TG_DIMS(2, 5, 4))));
}

BODY(convolutions)
{
    RETURN(t, tg_conv2d(in[0], in[1], .padding = TG_PADDING_SAME));
}

BODY(streams)
{
    const tg_value key = tg_cast(in[0], TG_U64);
    RETURN(t, tg_random_uniform(key, TG_F32, TG_DIMS(3, 2)),
              tg_random_bits(TG_U64, 7, key, TG_DIMS(5)));
}

Test(vmap, products_have_the_bits_of_products_of_matrices)
{
    in_both(check_body, products, F32(3, 5), UNBATCHED_F32(5, 4));
    in_both(check_body, products, UNBATCHED_F32(3, 5), F32(5, 4));
    in_both(check_body, products, F32(3, 5), F32(5, 4));
    in_both(check_body, convolutions, F32(2, 5, 6, 3), UNBATCHED_F32(3, 3, 3, 4));
    in_both(check_body, convolutions, UNBATCHED_F32(2, 5, 6, 3), F32(3, 3, 3, 4));
    in_both(check_body, convolutions, F32(2, 5, 6, 3), F32(3, 3, 3, 4));
    in_both(check_body, streams, I32());
}

/* The order of sums differs: a product of matrices, not of vectors. */
BODY(vectors)
{
    RETURN(t, tg_matmul(in[1], in[0]), tg_matmul(in[0], in[1]),
              tg_matmul_with(in[0], in[1], TG_TRANSPOSE_B));
}

Test(vmap, products_with_vectors_become_products_of_matrices)
{
    in_both(check_body_about, vectors, F32(5), UNBATCHED_F32(5, 5));
    in_both(check_body_about, vectors, UNBATCHED_F32(5), F32(5, 5));
}

/* -- Branches -------------------------------------------------------------- */

CALLBACK(then_gather)
{
    (void)user;
    tg_return(t, tg_gather(in[0], tg_cast(tg_floor(in[1]), TG_I32), 0),
              tg_mul(in[1], 2));
}

CALLBACK(else_sum)
{
    (void)user;
    tg_return(t, tg_sum(in[0], TG_ALL_AXES), tg_scalar(TG_F32, 3));
}

/* The index is out of range for elements that take the other branch. */
BODY(branches)
{
    const tg_value x = in[0], n = in[1];
    tg_value r[2];
    const tg_value fits = tg_and(tg_ge(n, 0), tg_lt(n, 3));
    tg_cond(fits, then_gather, else_sum, NULL, TG_ARGS(x, n), r, 2);
    RETURN(t, r[0], r[1]);
}

CALLBACK(negate)
{
    (void)user;
    tg_return(t, tg_neg(in[0]));
}

CALLBACK(square)
{
    (void)user;
    tg_return(t, tg_mul(in[0], in[0]));
}

CALLBACK(keep)
{
    (void)user;
    tg_return(t, in[0]);
}

BODY(switches)
{
    tg_callback *const cases[] = {negate, square, keep};
    tg_value r;
    tg_switch(in[1], cases, 3, NULL, TG_ARGS(in[0]), &r, 1);
    RETURN(t, r);
}

Test(vmap, branches_select_by_element)
{
    in_both(check_body, branches, F32(3), F32());
    in_both(check_body, branches, UNBATCHED_F32(3), F32());
    in_both(check_body, branches, F32(3), UNBATCHED_F32());
    in_both(check_body_relaxed, branches, F32(3), F32());
    in_both(check_body, switches, F32(4), I32());
    in_both(check_body, switches, UNBATCHED_F32(4), I32());
    in_both(check_body, switches, F32(4), UNBATCHED_I32());
}

/* -- Loops ----------------------------------------------------------------- */

CALLBACK(is_large)
{
    (void)user;
    tg_return(t, tg_gt(tg_sum(tg_abs(in[0]), TG_ALL_AXES), 0.5));
}

CALLBACK(halve)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 0.5), tg_add(in[1], 1));
}

BODY(whiles)
{
    tg_value r[2];
    tg_while(is_large, halve, NULL, TG_ARGS(in[0], 0), r, 2);
    RETURN(t, r[0], r[1]);
}

/* A number of iterations by element, or the same for all. */
CALLBACK(step_one)
{
    (void)user;
    tg_return(t, tg_add(tg_mul(in[1], 0.5), tg_cast(in[0], TG_F32)));
}

BODY(counted)
{
    tg_value r;
    tg_for(in[1], step_one, NULL, TG_ARGS(in[0]), &r, 1);
    RETURN(t, r);
}

CALLBACK(scan_step)
{
    (void)user;
    const tg_value h = tg_tanh(tg_add(in[0], in[1]));
    tg_return(t, h, tg_mul(h, h));
}

BODY(scans)
{
    tg_value h, all;
    tg_scan(scan_step, NULL, TG_ARGS(in[1]), TG_ARGS(in[0]), &h, 1, &all, 1);
    RETURN(t, h, all);
}

/* A loop in a branch that would not end for the elements that do not take
   it. */
CALLBACK(is_not_done)
{
    (void)user;
    tg_return(t, tg_gt(in[0], 1));
}

CALLBACK(shrink_it)
{
    (void)user;
    /* Positive numbers fall below 1, others stay. */
    tg_return(t, tg_select(tg_gt(in[0], 50), in[0], tg_mul(in[0], 0.5)));
}

CALLBACK(run_loop)
{
    (void)user;
    tg_value r;
    tg_while(is_not_done, shrink_it, NULL, TG_ARGS(in[0]), &r, 1);
    tg_return(t, r);
}

BODY(loops_in_branches)
{
    const tg_value x = tg_mul(in[0], 30);
    tg_value r;
    tg_cond(tg_lt(x, 50), run_loop, keep, NULL, TG_ARGS(x), &r, 1);
    RETURN(t, r);
}

/* An outer loop whose elements run different inner ones. */
CALLBACK(outer_step)
{
    (void)user;
    tg_value r[2];
    tg_while(is_large, halve, NULL, TG_ARGS(tg_add(in[1], 2), in[2]), r, 2);
    tg_return(t, r[0], r[1]);
}

BODY(nested_loops)
{
    tg_value r[2];
    tg_for(in[1], outer_step, NULL, TG_ARGS(in[0], 0), r, 2);
    RETURN(t, r[0], r[1]);
}

Test(vmap, loops_run_until_the_last_element_is_done)
{
    in_both(check_body, whiles, F32(3));
    in_both(check_body, whiles, F32());
    in_both(check_body, counted, F32(3), I32());
    in_both(check_body, counted, UNBATCHED_F32(3), I32());
    in_both(check_body, counted, F32(3), UNBATCHED_I32());
    in_both(check_body, scans, F32(4, 2), F32(2));
    in_both(check_body, scans, F32(4, 2), UNBATCHED_F32(2));
    in_both(check_body, scans, UNBATCHED_F32(4, 2), F32(2));
    in_both(check_body, loops_in_branches, F32());
    in_both(check_body, nested_loops, F32(2), I32());
    in_both(check_body_relaxed, whiles, F32(3));
    in_both(check_body_relaxed, counted, F32(3), I32());
}

/* -- Gradients ------------------------------------------------------------- */

static tg_value penalty(tg_value x, tg_value y)
{
    const tg_value z = tg_tanh(tg_mul(x, y));
    return tg_sum(tg_mul(z, tg_softmax(z, -1)), TG_ALL_AXES);
}

BODY(gradients_inside)
{
    const tg_value loss = penalty(in[0], in[1]);
    RETURN(t, tg_gradient(loss, in[0]), tg_gradient(loss, in[1]));
}

/* Of a loop with a known number of iterations, which saves values. */
BODY(gradients_of_scans)
{
    tg_value h, all;
    tg_scan(scan_step, NULL, TG_ARGS(in[1]), TG_ARGS(in[0]), &h, 1, &all, 1);
    const tg_value loss = tg_add(tg_sum(all, TG_ALL_AXES),
                                 tg_sum(h, TG_ALL_AXES));
    RETURN(t, tg_gradient(loss, in[0]), tg_gradient(loss, in[1]));
}

/* Of a loop that each element runs differently often. */
CALLBACK(sharpen)
{
    (void)user;
    tg_return(t, tg_mul(tg_sin(in[0]), 0.7), tg_add(in[1], 1));
}

BODY(gradients_of_whiles)
{
    tg_value r[2];
    tg_while(is_large, sharpen, NULL, TG_ARGS(in[0], 0), r, 2);
    const tg_value loss = tg_sum(tg_mul(r[0], in[0]), TG_ALL_AXES);
    RETURN(t, tg_gradient(loss, in[0]), r[1]);
}

BODY(jacobians)
{
    RETURN(t, tg_jacobian(tg_tanh(tg_matmul(in[1], in[0])), in[0]));
}

Test(vmap, gradients_inside_are_those_of_the_element)
{
    in_both(check_body, gradients_inside, F32(4), F32(4));
    in_both(check_body, gradients_inside, F32(4), UNBATCHED_F32(4));
    in_both(check_body, gradients_of_scans, F32(4, 2), F32(2));
    in_both(check_body, gradients_of_whiles, F32(3));
    in_both(check_body_relaxed, gradients_of_whiles, F32(3));
    in_both(check_body_relaxed, gradients_inside, F32(4), F32(4));
    in_both(check_body_about, jacobians, F32(3), UNBATCHED_F32(2, 3));
}

/* The gradient of the sum of a vmap, by element, and that of the element. */
BODY(gradient_outside)
{
    const tg_value loss = penalty(in[0], in[1]);
    RETURN(t, loss);
}

BODY(whiles_outside)
{
    tg_value r[2];
    tg_while(is_large, sharpen, NULL, TG_ARGS(in[0], 0), r, 2);
    RETURN(t, tg_sum(tg_mul(r[0], in[0]), TG_ALL_AXES));
}

BODY(scans_outside)
{
    tg_value h, all;
    tg_scan(scan_step, NULL, TG_ARGS(in[1]), TG_ARGS(in[0]), &h, 1, &all, 1);
    RETURN(t, tg_add(tg_sum(all, TG_ALL_AXES), tg_sum(h, TG_ALL_AXES)));
}

BODY(branches_outside)
{
    tg_value r[2];
    const tg_value n = tg_reshape(tg_slice(in[1], 0, 0, 1, 1), TG_SCALAR);
    const tg_value fits = tg_and(tg_ge(n, 0), tg_lt(n, 3));
    tg_cond(fits, then_gather, else_sum, NULL, TG_ARGS(in[0], n), r, 2);
    RETURN(t, tg_add(r[0], r[1]));
}

static tg_value cube_value(tg_value x)
{
    return tg_mul(tg_mul(x, x), x);
}

CALLBACK(cube)
{
    (void)user;
    tg_return(t, tg_mul(cube_value(in[0]), in[1]));
}

/* Not the gradient of the cube, so that it can be told apart. */
CALLBACK(not_the_gradient)
{
    (void)user;
    tg_return(t, tg_mul(in[3], in[1]), tg_mul(in[3], tg_add(in[0], 10)));
}

BODY(custom_gradients)
{
    tg_value y;
    tg_custom_gradient(cube, not_the_gradient, NULL, TG_ARGS(in[0], in[1]), &y,
                       1);
    RETURN(t, tg_sum(y, TG_ALL_AXES));
}

Test(vmap, gradients_outside_are_those_of_all_elements)
{
    in_both(check_gradients, gradient_outside, F32(4), F32(4));
    in_both(check_gradients, gradient_outside, F32(4), UNBATCHED_F32(4));
    in_both(check_gradients, whiles_outside, F32(3));
    in_both(check_gradients, scans_outside, F32(4, 2), F32(2));
    in_both(check_gradients, branches_outside, F32(3), F32(2));
    in_both(check_gradients, custom_gradients, F32(3), F32(3));
    in_both(check_gradients, custom_gradients, F32(3), UNBATCHED_F32(3));
}

BODY(gradients_of_custom_calls)
{
    tg_value y;
    tg_custom_gradient(cube, not_the_gradient, NULL, TG_ARGS(in[0], in[1]), &y,
                       1);
    RETURN(t, tg_gradient(tg_sum(y, TG_ALL_AXES), in[0]), y);
}

CALLBACK(checkpointed)
{
    (void)user;
    tg_return(t, tg_tanh(tg_mul(in[0], in[1])));
}

BODY(checkpoints)
{
    tg_value y;
    tg_checkpoint(checkpointed, NULL, TG_ARGS(in[0], in[1]), &y, 1);
    RETURN(t, tg_gradient(tg_sum(y, TG_ALL_AXES), in[0]));
}

Test(vmap, custom_gradients_and_checkpoints_are_batched)
{
    in_both(check_body, gradients_of_custom_calls, F32(3), UNBATCHED_F32(3));
    in_both(check_body, checkpoints, F32(3), UNBATCHED_F32(3));
}

/* -- Functions, variables, nesting ----------------------------------------- */

static tg_function *applied;
static tg_variable *weight;

CALLBACK(weighted)
{
    (void)user;
    tg_return(t, tg_add(tg_mul(in[0], weight), in[1]),
              tg_sum(in[1], TG_ALL_AXES));
}

BODY(calls)
{
    tg_value r[2], again[2];
    tg_apply(applied, TG_ARGS(in[0], in[1]), r, 2);
    tg_apply(applied, TG_ARGS(in[1], r[0]), again, 2);
    RETURN(t, r[0], r[1], again[0], tg_mul(again[1], weight));
}

CALLBACK(dot)
{
    (void)user;
    tg_return(t, tg_sum(tg_mul(in[0], in[1]), TG_ALL_AXES));
}

/* All pairs of rows. */
CALLBACK(dot_with_all)
{
    (void)user;
    tg_value y;
    tg_vmap_axes(dot, NULL, ((int[]){TG_UNBATCHED, 0}), NULL,
                 TG_ARGS(in[0], in[1]), &y, 1);
    tg_return(t, y);
}

BODY(nested)
{
    tg_value y;
    tg_vmap_axes(dot_with_all, NULL, ((int[]){0, TG_UNBATCHED}), NULL,
                 TG_ARGS(in[0], in[1]), &y, 1);
    RETURN(t, y, tg_gradient(tg_sum(y, TG_ALL_AXES), in[1]));
}

static void check_calls(session *s)
{
    weight = f32_scalar_variable(s->ctx, "weight", 1.5);
    applied = tg_function_create(s->ctx, weighted, NULL, NULL);
    check_body(s, calls, (vmap_arg[]){F32(3), F32(3)}, 2);
    check_body(s, calls, (vmap_arg[]){UNBATCHED_F32(3), F32(3)}, 2);
    tg_function_release(applied);
    tg_variable_release(weight);
}

Test(vmap, functions_and_variables_may_be_used)
{
    in_sessions(check_calls);
}

Test(vmap, nests)
{
    in_both(check_body, nested, F32(3, 4), F32(2, 4));
    in_both(check_body, nested, UNBATCHED_F32(3, 4), F32(2, 4));
}

/* -- Host operations ------------------------------------------------------- */

/* Square roots of vectors; negative elements fail. */
static tg_status roots(const tg_host_buffer *in, size_t n_in,
                       const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)n_in, (void)n_out, (void)user;
    int64_t n = 1;
    for (int i = 0; i < in->rank; i++)
        n *= in->dims[i];
    for (int64_t i = 0; i < n; i++) {
        const float x = ((const float *)in->data)[i];
        if (x < 0)
            return tg_host_fail("%g is negative", (double)x);
        ((float *)out->data)[i] = sqrtf(x);
    }
    return TG_OK;
}

static void gradient_of_roots(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_div(in[2], tg_mul(in[1], 2)));
}

static tg_value root(tg_value x)
{
    const tg_host_op op = {.struct_bytes = sizeof(op),
                           .name = "roots",
                           .function = roots,
                           .backward = gradient_of_roots,
                           .maps_leading_axes = true};
    int64_t dims[TG_MAX_RANK];
    const int rank = tg_value_rank(x);
    for (int i = 0; i < rank; i++)
        dims[i] = tg_value_dim(x, i);
    const tg_operand operand = tg_in_value(x);
    const tg_host_spec spec = {TG_F32, rank, dims};
    tg_value y;
    tg_host_op_at(&op, &operand, 1, &spec, &y, 1, TG_HERE);
    return y;
}

BODY(hosts)
{
    const tg_value y = root(tg_abs(in[0])), z = root(tg_abs(in[1]));
    const tg_value loss = tg_sum(tg_mul(y, z), TG_ALL_AXES);
    RETURN(t, y, z, tg_gradient(loss, in[0]));
}

CALLBACK(root_of_branch)
{
    (void)user;
    tg_return(t, root(in[0]), root(in[1]));
}

CALLBACK(same_branch)
{
    (void)user;
    tg_return(t, in[0], in[1]);
}

/* It is not called for the elements that would fail; if all would, never. */
BODY(hosts_in_branches)
{
    tg_value r[2];
    const tg_value least = tg_reduce_min(in[0], TG_ALL_AXES);
    tg_cond(tg_ge(least, 0), root_of_branch, same_branch, NULL,
            TG_ARGS(in[0], tg_abs(in[1])), r, 2);
    RETURN(t, r[0], r[1]);
}

BODY(hosts_that_never_run)
{
    tg_value r[2];
    const tg_value least = tg_reduce_min(in[0], TG_ALL_AXES);
    tg_cond(tg_ge(least, 10), root_of_branch, same_branch, NULL,
            TG_ARGS(in[0], in[1]), r, 2);
    RETURN(t, r[0], r[1]);
}

static void plain_host(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    int64_t n = tg_value_dim(in[0], 0);
    const tg_host_spec spec = {TG_F32, 1, &n};
    tg_value y;
    tg_host_call(t, roots, NULL, TG_ARGS(in[0]), &spec, &y, 1);
    tg_return(t, y);
}

static void vmap_plain_host(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y;
    tg_vmap(plain_host, NULL, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

Test(vmap, host_operations_that_treat_axes_alike_are_batched)
{
    in_both(check_body, hosts, F32(3), F32(3));
    in_both(check_body, hosts, F32(3), UNBATCHED_F32(3));
    in_both(check_body, hosts_in_branches, F32(1), F32(1));
    in_both(check_body, hosts_in_branches, F32(1), UNBATCHED_F32(1));
    in_both(check_body, hosts_that_never_run, F32(2), F32(3));
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, vmap_plain_host, NULL, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 3), tg_zeros());
    tg_tensor *y = NULL;
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)), TG_ERROR_STATE,
                "vmap: host_call at ");
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

/* -- Axes ------------------------------------------------------------------ */

static void subtract_axes(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sub(in[0], in[1]), tg_mul(in[1], 2));
}

static void vmap_axes(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value r[2];
    tg_vmap_axes(subtract_axes, NULL, ((int[]){-1, TG_UNBATCHED}),
                 ((int[]){1, TG_UNBATCHED}), TG_ARGS(in[0], in[1]), r, 2);
    tg_return(t, r[0], r[1]);
}

static void check_axes(session *s)
{
    const float data[] = {1, 2, 3, 4, 5, 6};
    tg_tensor *x = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(2, 3));
    tg_tensor *y = f32_vector(s->ctx, 10, 20), *r[2];
    for (tg_policy policy = TG_EXACT; policy <= TG_RELAXED; policy++) {
        tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
        options.policy = policy;
        tg_function *f =
            tg_function_create(s->ctx, vmap_axes, NULL, &options);
        r[0] = r[1] = NULL;
        check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&r[0], &r[1])));
        check_f32(r[0], -9, -8, -7, -16, -15, -14);
        check_f32(r[1], 20, 40);
        tg_function_release(f);
    }
    tg_tensor_release(x);
    tg_tensor_release(y);
}

Test(vmap, axes_of_arguments_and_results_are_chosen)
{
    in_sessions(check_axes);
}

Test(vmap, an_empty_batch_has_empty_results)
{
    session s;
    session_begin(&s);
    n_elements = 0;
    check_body(&s, elementwise, (vmap_arg[]){F32(3, 4), UNBATCHED_F32(4)}, 2);
    check_body(&s, whiles, (vmap_arg[]){F32(3)}, 1);
    check_body(&s, counted, (vmap_arg[]){F32(3), I32()}, 2);
    check_body(&s, gradients_of_whiles, (vmap_arg[]){F32(3)}, 1);
    n_elements = DEFAULT_ELEMENTS;
    session_end(&s);
}

/* -- Errors ---------------------------------------------------------------- */

static tg_variable *state;

CALLBACK(assign_inside)
{
    (void)user;
    tg_assign_add(state, 1.0);
    tg_return(t, in[0]);
}

CALLBACK(assert_inside)
{
    (void)user;
    tg_assert(t, tg_gt(in[0], 0), "not positive");
    tg_return(t, in[0]);
}

CALLBACK(return_two)
{
    (void)user;
    tg_return(t, in[0], in[0]);
}

typedef struct misuse {
    tg_callback *body;
    const int *in_axes, *out_axes;
    size_t n_results;
} misuse;

static void vmap_misused(tg_trace *t, const tg_value *in, void *user)
{
    const misuse *m = user;
    tg_value r[3];
    tg_vmap_at(m->body, NULL, m->in_axes, m->out_axes, TG_ARGS(in[0], in[1]),
               r, m->n_results, TG_HERE);
    tg_return(t, r[0]);
}

static tg_status call_misused(session *s, misuse m, int64_t n)
{
    tg_function *f = tg_function_create(s->ctx, vmap_misused, &m, NULL);
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(2), tg_zeros());
    tg_tensor *y = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(n), tg_zeros());
    tg_tensor *r = NULL;
    const tg_status status = tg_call(f, TG_ARGS(x, y), TG_RESULTS(&r));
    tg_tensor_release(r);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    return status;
}

Test(vmap, misuse_is_an_error_of_the_trace)
{
    session s;
    session_begin(&s);
    state = f32_scalar_variable(s.ctx, "state", 0);
    const int none[] = {TG_UNBATCHED, TG_UNBATCHED}, two[] = {0, 1};
    check_fails(call_misused(&s, (misuse){assign_inside, NULL, NULL, 1}, 2),
                TG_ERROR_STATE, "vmap: assign at ", "test_vmap.c:",
                "cannot be batched");
    check_fails(call_misused(&s, (misuse){assert_inside, NULL, NULL, 1}, 2),
                TG_ERROR_STATE, "vmap: assert at ");
    check_fails(call_misused(&s, (misuse){keep, none, NULL, 1}, 2),
                TG_ERROR_INVALID_ARGUMENT, "vmap: no argument is batched");
    check_fails(call_misused(&s, (misuse){keep, two, NULL, 1}, 2),
                TG_ERROR_SHAPE, "vmap: f32[2]: axis 1 is out of range");
    check_fails(call_misused(&s, (misuse){keep, NULL, NULL, 1}, 3),
                TG_ERROR_SHAPE, "vmap:", "argument 1 has another extent");
    check_fails(call_misused(&s, (misuse){keep, NULL, none, 1}, 2),
                TG_ERROR_INVALID_ARGUMENT, "vmap:", "result 0 depends");
    check_fails(call_misused(&s, (misuse){return_two, NULL, NULL, 3}, 2),
                TG_ERROR_INVALID_ARGUMENT, "vmap: the body returns 2 values");
    check_fails(call_misused(&s, (misuse){NULL, NULL, NULL, 1}, 2),
                TG_ERROR_INVALID_ARGUMENT, "vmap: a callback is NULL");
    tg_variable_release(state);
    session_end(&s);
}
