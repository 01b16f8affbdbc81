/* SPDX-License-Identifier: MIT */
/*
 * test_gradient.c - gradients through calls, branches and loops, custom
 * gradients, checkpoints and other derivatives, with numbers that can be
 * checked by hand. Every scenario runs interpreted, with and without passes,
 * and compiled.
 */
#include "support/control.h"

/* -- Helpers --------------------------------------------------------------- */

static void check_calls_at(int line, session *s, tg_callback *callback,
                           void *user, const char *wanted)
{
    tg_function *f = tg_function_create(s->ctx, callback, user, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2, 3);
    check_works_at(line, tg_call(f, TG_ARGS(x), TG_RESULTS()));
    cr_assert_str_eq(s->printed, wanted, "line %d: %s", line, s->printed);
    s->printed[0] = '\0';
    tg_tensor_release(x);
    tg_function_release(f);
}
#define check_calls(...) check_calls_at(__LINE__, __VA_ARGS__)

/* What a callback prints for x = [1 2 3], in all modes of check_control. */
#define GRADIENT_TEST(name, callback, wanted) \
    static void check_##name(session *s) \
    { \
        check_calls(s, callback, NULL, wanted); \
    } \
    Test(gradient, name) \
    { \
        check_control(check_##name); \
    }

/* Prints the gradient and the gradient of its sum. */
static void print_both(tg_trace *t, tg_value y, tg_value x)
{
    const tg_value first = tg_gradient(y, x);
    tg_print(t, "%v %v", first, tg_gradient(first, x));
}

/* -- Loops ----------------------------------------------------------------- */

CALLBACK(times_outside)
{
    tg_return(t, tg_mul(in[1], *(const tg_value *)user));
}

CALLBACK(cube)
{
    tg_value x = in[0], y;
    tg_for(2, times_outside, &x, TG_ARGS(x), &y, 1);
    print_both(t, y, x);
}

GRADIENT_TEST(of_a_loop_also_of_what_it_captures, cube,
              "[3 12 27] [6 12 18]\n")

CALLBACK(cube_by_run_time)
{
    tg_value x = in[0], y;
    const tg_value iterations = tg_cast(tg_slice(x, 0, 1, 2, 1), TG_I32);
    tg_for(tg_reshape(iterations, TG_SCALAR), times_outside, &x, TG_ARGS(x),
           &y, 1);
    print_both(t, y, x);
}

GRADIENT_TEST(of_a_loop_whose_iterations_the_run_decides, cube_by_run_time,
              "[3 12 27] [6 12 18]\n")

CALLBACK(square_it)
{
    tg_return(t, tg_square(in[0]));
}

CALLBACK(is_below_100)
{
    tg_return(t, tg_lt(tg_reduce_max(in[0], TG_ALL_AXES), 80.0));
}

/* 3 to 9 to 81: x to the fourth. */
CALLBACK(squared_until_large)
{
    tg_value y;
    tg_while(is_below_100, square_it, NULL, TG_ARGS(in[0]), &y, 1);
    print_both(t, y, in[0]);
}

GRADIENT_TEST(of_a_loop_that_ends_by_what_it_computes, squared_until_large,
              "[4 32 108] [12 48 108]\n")

CALLBACK(no_iteration)
{
    tg_value y, x = in[0];
    tg_for(0, times_outside, &x, TG_ARGS(x), &y, 1);
    tg_print(t, "%v", tg_gradient(y, x));
}

GRADIENT_TEST(of_a_loop_without_iterations, no_iteration,
              "[1 1 1]\n")

CALLBACK(outer_iteration)
{
    tg_value y;
    tg_for(2, times_outside, user, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

/* x * x^2 * x^2 */
CALLBACK(fifth_power)
{
    tg_value x = in[0], y;
    tg_for(2, outer_iteration, &x, TG_ARGS(x), &y, 1);
    print_both(t, y, x);
}

GRADIENT_TEST(of_loops_in_loops, fifth_power,
              "[5 80 405] [20 160 540]\n")

CALLBACK(while_inside)
{
    tg_value y;
    tg_while(is_below_100, square_it, NULL, TG_ARGS(in[1]), &y, 1);
    tg_return(t, y);
}

/* The second iteration of the outer loop has no inner iterations. */
CALLBACK(while_in_for)
{
    tg_value y;
    tg_for(2, while_inside, NULL, TG_ARGS(in[0]), &y, 1);
    print_both(t, y, in[0]);
}

GRADIENT_TEST(of_a_loop_inside_runs_it_once_more, while_in_for,
              "[4 32 108] [12 48 108]\n")

CALLBACK(running_product)
{
    const tg_value y = tg_mul(in[0], in[1]);
    tg_return(t, y, y);
}

/* 1, 1*2, 1*2*3: the gradient of their sum with respect to each. */
CALLBACK(products_by_scan)
{
    tg_value last, all;
    tg_scan(running_product, NULL, TG_ARGS(tg_scalar(TG_F32, 1)),
            TG_ARGS(in[0]), &last, 1, &all, 1);
    print_both(t, all, in[0]);
}

GRADIENT_TEST(of_a_scan_by_its_sequence, products_by_scan,
              "[9 4 2] [6 5 3]\n")

/* -- Branches -------------------------------------------------------------- */

CALLBACK(keep_it)
{
    tg_return(t, in[0]);
}

CALLBACK(branch_by_sum)
{
    tg_value y;
    const tg_value sum = tg_sum(in[0], TG_ALL_AXES);
    tg_cond(tg_gt(sum, 5.0), square_it, keep_it, NULL, TG_ARGS(in[0]), &y, 1);
    print_both(t, y, in[0]);
    tg_cond(tg_gt(sum, 7.0), square_it, keep_it, NULL, TG_ARGS(in[0]), &y, 1);
    tg_print(t, "%v", tg_gradient(y, in[0]));
}

GRADIENT_TEST(of_the_branch_that_is_taken, branch_by_sum,
              "[2 4 6] [2 2 2]\n[1 1 1]\n")

/* -- Calls ----------------------------------------------------------------- */

CALLBACK(cube_with_stop)
{
    tg_return(t, tg_mul(tg_square(in[0]), tg_stop_gradient(in[0])),
              tg_square(in[0]));
}

CALLBACK(apply_both)
{
    tg_value y[2];
    tg_apply(user, TG_ARGS(in[0]), y, 2);
    tg_print(t, "%v %v", tg_gradient(y[0], in[0]), tg_gradient(y[1], in[0]));
    tg_apply(user, TG_ARGS(y[1]), y, 1);
    tg_print(t, "%v", tg_gradient(y[0], in[0]));
}

/* x^2 * |x|; the outer one: y^2 * |y| of y = x^2, so 2 * x^4 * 2x. */
static void check_applied(session *s)
{
    tg_function *f = tg_function_create(s->ctx, cube_with_stop, NULL, NULL);
    check_calls(s, apply_both, f, "[2 8 18] [2 4 6]\n[4 128 972]\n");
    tg_function_release(f);
}

Test(gradient, of_a_function_that_is_applied)
{
    check_control(check_applied);
}

/* -- Variables ------------------------------------------------------------- */

CALLBACK(step_by_variable)
{
    tg_return(t, tg_mul(in[1], (tg_variable *)user));
}

CALLBACK(loop_by_variable)
{
    tg_variable *v = user;
    tg_value y;
    tg_for(2, step_by_variable, v, TG_ARGS(in[0]), &y, 1);
    const tg_value g = tg_gradient(y, v);
    tg_assign(v, 7.0);
    tg_print(t, "%v %v", g, tg_gradient(y, in[0]));
}

static void check_by_variable(session *s)
{
    tg_variable *v =
        tg_variable_create(s->ctx, "v", TG_F32, TG_SCALAR, tg_fill(5));
    /* (1 + 2 + 3) * 2v; after the assignment it is still v^2 = 25. */
    check_calls(s, loop_by_variable, v, "60 [25 25 25]\n");
    tg_variable_release(v);
}

Test(gradient, by_a_variable_that_a_loop_reads)
{
    check_control(check_by_variable);
}

CALLBACK(assign_in_iteration)
{
    tg_variable *v = user;
    const tg_value y = tg_mul(in[1], v);
    tg_assign_add(v, 1.0);
    tg_return(t, y);
}

/* x * 5 * 6 * 7 */
CALLBACK(loop_that_assigns)
{
    tg_value y;
    tg_for(3, assign_in_iteration, user, TG_ARGS(in[0]), &y, 1);
    tg_print(t, "%v", tg_gradient(y, in[0]));
}

static void check_assigned(session *s)
{
    tg_variable *v =
        tg_variable_create(s->ctx, "v", TG_F32, TG_SCALAR, tg_fill(5));
    check_calls(s, loop_that_assigns, v, "[210 210 210]\n");
    tg_variable_release(v);
}

Test(gradient, of_a_loop_that_assigns_variables_it_reads)
{
    check_control(check_assigned);
}

typedef struct pair {
    tg_variable *a, *b;
} pair;

static const tg_bundle_field pair_fields[] = {
    TG_FIELD(pair, a),
    TG_FIELD(pair, b),
};
static const tg_bundle_type pair_type = TG_BUNDLE(pair, pair_fields);

CALLBACK(by_bundle)
{
    const pair *p = user;
    tg_value g[3];
    const tg_value y = tg_mul(tg_mul(p->a, p->b), in[0]);
    const tg_operand sources[] = {tg_bundle_of(&pair_type, p), TG_IN(in[0])};
    tg_gradients(y, sources, 2, g);
    tg_print(t, "%v %v %v", g[0], g[1], g[2]);
}

static void check_bundle(session *s)
{
    pair p = {
        tg_variable_create(s->ctx, "a", TG_F32, TG_SCALAR, tg_fill(5)),
        tg_variable_create(s->ctx, "b", TG_F32, TG_SCALAR, tg_fill(7)),
    };
    check_calls(s, by_bundle, &p, "42 30 [35 35 35]\n");
    tg_bundle_release(&pair_type, &p);
}

Test(gradient, by_all_variables_of_a_bundle)
{
    check_control(check_bundle);
}

/* -- Custom gradients ------------------------------------------------------ */

CALLBACK(own_forward)
{
    tg_return(t, tg_mul(in[0], in[1]), tg_add(in[0], in[1]));
}

/* Prints its inputs: two arguments, two results, their gradients. */
CALLBACK(own_backward)
{
    tg_print(t, "%v %v %v %v %v %v", in[0], in[1], in[2], in[3], in[4], in[5]);
    tg_return(t, tg_mul(in[4], 10.0), tg_sum(in[5], TG_ALL_AXES));
}

CALLBACK(own_gradient)
{
    tg_value y[2], g[2];
    tg_custom_gradient(own_forward, own_backward, NULL,
                       TG_ARGS(in[0], tg_scalar(TG_F32, 2)), y, 2);
    tg_gradients(tg_mul(y[0], 3), in, 1, g);
    tg_print(t, "%v", g[0]);
}

GRADIENT_TEST(given_by_a_callback, own_gradient,
              "[1 2 3] 2 [2 4 6] [3 4 5] [3 3 3] [0 0 0]\n[30 30 30]\n")

static tg_status twice(const tg_host_buffer *in, size_t n_in,
                       const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)n_in, (void)n_out, (void)user;
    for (int64_t i = 0; i < in[0].dims[0]; i++)
        ((float *)out[0].data)[i] = 2 * ((const float *)in[0].data)[i];
    return TG_OK;
}

CALLBACK(twice_backward)
{
    tg_return(t, tg_mul(in[2], 2));
}

CALLBACK(host_call)
{
    tg_value y;
    const tg_host_spec spec = {TG_F32, TG_DIMS(3)};
    tg_host_call_with_gradient(t, twice, twice_backward, NULL,
                               TG_ARGS(tg_square(in[0])), &spec, &y, 1);
    tg_print(t, "%v", tg_gradient(y, in[0]));
}

GRADIENT_TEST(of_a_host_call, host_call,
              "[4 8 12]\n")

/* -- Checkpoints ----------------------------------------------------------- */

CALLBACK(checkpointed)
{
    tg_value y, x = in[0];
    tg_checkpoint(outer_iteration, &x, TG_ARGS(tg_scalar(TG_I64, 0), x), &y, 1);
    print_both(t, y, x);
}

GRADIENT_TEST(of_a_checkpoint_is_the_same, checkpointed,
              "[3 12 27] [6 12 18]\n")

/* Sixteen layers, four per checkpoint. */
enum { N_LAYERS = 16, N_PARTS = 4 };

typedef struct network {
    bool has_checkpoints;
    tg_variable *weights[N_LAYERS];
} network;

CALLBACK(part_of_network)
{
    tg_variable *const *weights = user;
    tg_value x = in[0];
    for (int i = 0; i < N_LAYERS / N_PARTS; i++)
        x = tg_tanh(tg_matmul(x, tg_read(weights[i])));
    tg_return(t, x);
}

CALLBACK(trained_network)
{
    network *n = user;
    tg_value x = in[0], gradients[N_LAYERS];
    for (int i = 0; i < N_LAYERS; i += N_LAYERS / N_PARTS) {
        if (n->has_checkpoints) {
            tg_checkpoint(part_of_network, &n->weights[i], TG_ARGS(x), &x, 1);
            continue;
        }
        for (int k = i; k < i + N_LAYERS / N_PARTS; k++)
            x = tg_tanh(tg_matmul(x, tg_read(n->weights[k])));
    }
    tg_gradients(tg_sum(x, TG_ALL_AXES), n->weights, N_LAYERS, gradients);
    for (int i = 0; i < N_LAYERS; i++)
        tg_assign_sub(n->weights[i], tg_mul(gradients[i], 0.01));
    tg_return(t, x);
}

/* Bytes of a run; also writes the weights of the last layer after it. */
static uint64_t bytes_of_training(session *s, bool has_checkpoints,
                                  float *out_weights)
{
    network n = {.has_checkpoints = has_checkpoints};
    for (int i = 0; i < N_LAYERS; i++) {
        n.weights[i] = tg_variable_create(s->ctx, "w", TG_F32, TG_DIMS(8, 8),
                                          tg_fill(0.125));
        cr_assert_not_null(n.weights[i]);
    }
    tg_function *f = tg_function_create(s->ctx, trained_network, &n, NULL);
    tg_tensor *x =
        tg_tensor_create(s->ctx, TG_F32, TG_DIMS(256, 8), tg_zeros());
    for (int i = 0; i < 256 * 8; i++)
        ((float *)tg_tensor_data(x))[i] = (float)(i % 7) * 0.25f;
    tg_tensor *y = NULL;
    tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    cr_assert_not_null(b, "%s", tg_error(s->ctx));
    const uint64_t bytes = tg_bound_bytes(b, NULL);
    check_works(tg_run(b));
    check_works(tg_variable_get(n.weights[N_LAYERS - 1], out_weights,
                                64 * sizeof(float)));
    tg_bound_release(b);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    for (int i = 0; i < N_LAYERS; i++)
        tg_variable_release(n.weights[i]);
    return bytes;
}

static void check_less_memory(const char *jit)
{
    session s;
    float with[64], without[64];
    session_begin_with(&s, (tg_context_options){.jit = jit});
    const uint64_t less = bytes_of_training(&s, true, with),
                   more = bytes_of_training(&s, false, without);
    cr_assert_lt(less * 4, more * 3, "%s: %llu bytes, %llu without them", jit,
                 (unsigned long long)less, (unsigned long long)more);
    cr_assert_arr_eq(with, without, sizeof(with));
    session_end(&s);
}

Test(gradient, checkpoints_save_memory_interpreted_and_compiled)
{
    char text[1024];
    check_less_memory("off");
    check_less_memory("auto");
    if (tgi_jit_describe(text, sizeof(text)))
        check_less_memory(CONTROL_JIT);
}

/* -- Other derivatives ----------------------------------------------------- */

CALLBACK(others)
{
    const tg_value x = in[0], y = tg_mul(tg_square(x), x);
    tg_print(t, "%v", tg_jvp(y, x, tg_iota(TG_F32, TG_DIMS(3), 0)));
    tg_print(t, "%v", tg_jacobian(y, x));
    tg_print(t, "%v", tg_hessian_vector(y, x, tg_scalar(TG_F32, 2)));
    tg_print(t, "%v", tg_jvp(tg_scalar(TG_F32, 1), x, x));
}

GRADIENT_TEST(along_directions_and_all_of_them, others,
              "[0 12 54]\n[[3 0 0]\n [0 12 0]\n [0 0 27]]\n[12 24 36]\n0\n")

/* The Jacobian of repeated squaring, through a loop. */
CALLBACK(jacobian_of_loop)
{
    tg_value y, x = in[0];
    tg_for(1, times_outside, &x, TG_ARGS(x), &y, 1);
    tg_print(t, "%v", tg_jacobian(tg_sum(y, TG_ALL_AXES), x));
    tg_print(t, "%v", tg_jacobian(y, x));
}

GRADIENT_TEST(jacobians_of_loops, jacobian_of_loop,
              "[2 4 6]\n[[2 0 0]\n [0 4 0]\n [0 0 6]]\n")

/* -- Bits ------------------------------------------------------------------ */

enum { N_BITS = 100 };

/* Adds to a gradient that is a product, or a sum of one if the extents may
   differ. */
CALLBACK(add_to_gradient)
{
    const tg_value y = tg_mul(tg_mul(in[0], in[1]), in[2]);
    tg_value g[3];
    tg_gradients(y, in, 3, g);
    tg_return(t, tg_add(tg_add(g[0], g[1]), tg_sub(in[0], g[2])));
}

static tg_tensor *add_with(session *s, tg_policy policy)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = policy;
    tg_function *f =
        tg_function_create(s->ctx, add_to_gradient, NULL, &options);
    tg_tensor *in[3], *y = NULL;
    for (int k = 0; k < 3; k++) {
        float data[N_BITS];
        for (int i = 0; i < N_BITS; i++)
            data[i] = 1.0f / (float)(3 * i + k + 1);
        in[k] = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(N_BITS));
    }
    check_works(tg_call(f, TG_ARGS(in[0], in[1], in[2]), TG_RESULTS(&y)));
    for (int k = 0; k < 3; k++)
        tg_tensor_release(in[k]);
    tg_function_release(f);
    return y;
}

static void check_bits(session *s)
{
    tg_tensor *known = add_with(s, TG_EXACT);
    tg_tensor *unknown = add_with(s, TG_RELAXED);
    check_floats_at(__LINE__, tg_tensor_data(unknown), tg_tensor_data(known),
                    N_BITS);
    tg_tensor_release(known);
    tg_tensor_release(unknown);
}

Test(gradient, has_the_same_bits_if_extents_are_unknown)
{
    check_control(check_bits);
}
