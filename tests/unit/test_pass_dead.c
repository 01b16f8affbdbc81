/* SPDX-License-Identifier: MIT */
/*
 * test_pass_dead.c - results of branches and loops that nobody takes are not
 * computed, nor is what only they need, inside and outside; but what effects,
 * failures, tests and other values depend on is.
 */
#include "front/call/function_object.h"
#include "support/api.h"

/* Nodes of a graph and of the graphs that its nodes own. */
static int count_ops(const tgi_graph *graph, int op)
{
    int n = 0;
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        n += node->op == op;
        if (tgi_node_has_regions(node))
            for (size_t i = 0; i < tgi_node_regions(node).n; i++)
                n += count_ops(tgi_node_regions(node).graphs[i], op);
    }
    return n;
}

static const tgi_node *first_region(const tgi_graph *graph)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        if (tgi_node_has_regions(tgi_graph_node(graph, ref)))
            return tgi_graph_node(graph, ref);
    return NULL;
}

/* -- Loops ----------------------------------------------------------------- */

/* Which of the values x, y, z a loop carries: x depends on itself, y on x and
   itself, z on all. */
typedef struct wanted {
    bool x, y, z;
    bool asserts_y;
} wanted;

static void step(tg_trace *t, const tg_value *in, void *user)
{
    const wanted *w = user;
    const tg_value x = tg_tanh(in[1]), y = tg_sin(tg_add(in[2], in[1]));
    if (w->asserts_y)
        tg_assert(t, tg_lt(tg_reduce_max(y, TG_ALL_AXES), 2), "y is %v", y);
    tg_return(t, x, y, tg_cos(tg_add(tg_add(in[3], in[2]), in[1])));
}

static void loop(tg_trace *t, const tg_value *in, void *user)
{
    const wanted *w = user;
    tg_value end[3];
    tg_for(10, step, user, TG_ARGS(in[0], tg_exp(in[0]), tg_sqrt(in[0])), end,
           3);
    tg_return(t, w->x ? end[0] : in[0], w->y ? end[1] : in[0],
              w->z ? end[2] : in[0]);
}

/* Traces and passes; checks how many values are carried, and how many of exp,
   sqrt (initial values), tanh, sin and cos (steps) are left. */
static void check_loop(wanted w, int64_t n_carried, const int n[5])
{
    static const int ops[] = {TGI_OP_EXP, TGI_OP_SQRT, TGI_OP_TANH, TGI_OP_SIN,
                              TGI_OP_COS};
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, loop, &w, NULL);
    const tg_spec x = tg_spec_tensor(TG_F32, TG_DIMS(100));
    tg_concrete *c = tg_function_concrete(f, &x, 1);
    cr_assert_not_null(c, "%s", tg_error(s.ctx));
    const tgi_node *node = first_region(c->graph);
    cr_assert_eq(node != NULL, n_carried > 0);
    if (node) {
        const tgi_attr_regions *attr = node->attr;
        cr_expect_eq(attr->n_carried, n_carried);
        cr_expect_eq(attr->graphs[0]->results.n, (size_t)n_carried);
    }
    for (int i = 0; i < 5; i++)
        cr_expect_eq(count_ops(c->graph, ops[i]), n[i], "%s: %d times",
                     tgi_op_table[ops[i]].name, count_ops(c->graph, ops[i]));
    tg_concrete_release(c);
    tg_function_release(f);
    session_end(&s);
}

Test(pass_dead, carried_values_that_nobody_needs_are_removed)
{
    check_loop((wanted){.x = true}, 1, (int[]){0, 0, 1, 0, 0});
    check_loop((wanted){.y = true}, 2, (int[]){1, 0, 1, 1, 0});
    check_loop((wanted){.z = true}, 3, (int[]){1, 1, 1, 1, 1});
    check_loop((wanted){.x = true, .z = true}, 3, (int[]){1, 1, 1, 1, 1});
    check_loop((wanted){0}, 0, (int[]){0, 0, 0, 0, 0});
}

Test(pass_dead, what_asserts_depend_on_is_carried)
{
    check_loop((wanted){.x = true, .asserts_y = true}, 2,
               (int[]){1, 0, 1, 1, 0});
    check_loop((wanted){.asserts_y = true}, 2, (int[]){1, 0, 1, 1, 0});
}

/* -- Branches -------------------------------------------------------------- */

static void two(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_tanh(in[0]), tg_sin(in[1]));
}

static void two_others(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_neg(in[0]), tg_cos(in[1]));
}

static void branch(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y[2];
    tg_cond(in[1], two, two_others, user, TG_ARGS(in[0], tg_exp(in[0])), y, 2);
    tg_return(t, y[*(const int *)user]);
}

Test(pass_dead, results_of_branches_that_nobody_takes_are_removed)
{
    for (int taken = 0; taken < 2; taken++) {
        session s;
        session_begin(&s);
        tg_function *f = tg_function_create(s.ctx, branch, &taken, NULL);
        const tg_spec specs[] = {tg_spec_tensor(TG_F32, TG_DIMS(100)),
                                 tg_spec_tensor(TG_BOOL, TG_DIMS())};
        tg_concrete *c = tg_function_concrete(f, specs, 2);
        cr_assert_not_null(c, "%s", tg_error(s.ctx));
        cr_expect_eq(count_ops(c->graph, TGI_OP_TANH), !taken);
        cr_expect_eq(count_ops(c->graph, TGI_OP_NEG), !taken);
        cr_expect_eq(count_ops(c->graph, TGI_OP_SIN), taken);
        cr_expect_eq(count_ops(c->graph, TGI_OP_COS), taken);
        cr_expect_eq(count_ops(c->graph, TGI_OP_EXP), taken);
        tg_concrete_release(c);
        tg_function_release(f);
        session_end(&s);
    }
}
