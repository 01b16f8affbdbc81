/* SPDX-License-Identifier: MIT */
/*
 * test_pass_hoist.c - which loop-invariant values are computed in front of a
 * loop: those that are not cheap by the cost model, and small ones.
 */
#include "front/call/function_object.h"
#include "support/api.h"

typedef enum invariant {
    ONE_OP,
    MINIMUM,
    LONG_CHAIN,
    DIVISION,
    EXPONENTIAL
} invariant;

static tg_value invariant_of(invariant kind, tg_value x, tg_value y)
{
    switch (kind) {
    case ONE_OP:
        return tg_sub(x, y);
    case MINIMUM:
        return tg_min(x, y);
    case LONG_CHAIN:
        for (int i = 0; i < 9; i++)
            x = tg_sub(x, y);
        return x;
    case DIVISION:
        return tg_div(x, y);
    case EXPONENTIAL:
        return tg_exp(x);
    }
    return x;
}

typedef struct loop_case {
    invariant kind;
    const tg_value *in;
} loop_case;

static void body(tg_trace *t, const tg_value *in, void *user)
{
    const loop_case *c = user;
    tg_return(t, tg_add(in[1], invariant_of(c->kind, c->in[0], c->in[1])));
}

static void loop(tg_trace *t, const tg_value *in, void *user)
{
    loop_case c = {*(const invariant *)user, in};
    tg_value sum;
    tg_for(10, body, &c, TG_ARGS(in[0]), &sum, 1);
    tg_return(t, sum);
}

/* The number of nodes outside of the loop that compute. */
static int count_hoisted(invariant kind, int64_t extent)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, loop, &kind, NULL);
    const tg_spec x = tg_spec_tensor(TG_F32, TG_DIMS(extent));
    const tg_spec specs[] = {x, x};
    tg_concrete *c = tg_function_concrete(f, specs, 2);
    cr_assert_not_null(c, "%s", tg_error(s.ctx));
    int n = 0;
    for (tgi_ref ref = 1; ref <= c->graph->n_nodes; ref++)
        n += tgi_op_is_elementwise(tgi_graph_node(c->graph, ref)->op);
    tg_concrete_release(c);
    tg_function_release(f);
    session_end(&s);
    return n;
}

Test(pass_hoist, cheap_values_stay_in_the_loop)
{
    cr_expect_eq(count_hoisted(ONE_OP, 1000), 0);
    cr_expect_eq(count_hoisted(MINIMUM, 1000), 0);
}

Test(pass_hoist, expensive_values_and_long_chains_move_out_of_the_loop)
{
    cr_expect_eq(count_hoisted(DIVISION, 1000), 1);
    cr_expect_eq(count_hoisted(EXPONENTIAL, 1000), 1);
    cr_expect_eq(count_hoisted(LONG_CHAIN, 1000), 9);
}

Test(pass_hoist, small_values_always_move_out_of_the_loop)
{
    cr_expect_eq(count_hoisted(ONE_OP, 8), 1);
}
