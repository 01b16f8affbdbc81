/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_reassign.c - a variable that is assigned several times in a
 * graph, also in branches and loops, with reads between. Its contents are
 * values with overlapping live ranges, which copy elision must not unite.
 */
#include "random/random_graph.h"

enum { MAX_ROUNDS = 4, MAX_ITERATIONS = 3 };

/* One assignment. */
typedef struct assignment {
    rg_operand variable;
    tg_operand earlier; /* contents that it had before */
    unsigned choice;
} assignment;

/* New contents: some keep elements in place, some move them, some restore what
   the variable had. */
static tg_value next_contents(const assignment *a)
{
    const bool has_axes = a->variable.type.rank > 0;
    const tg_value now = tg_read(a->variable.operand);
    switch (a->choice % 8) {
    case 0:
        return tg_add(now, now);
    case 1:
        return tg_sub(now, a->earlier);
    case 2:
        return tg_add(tg_mul(now, a->earlier), now);
    case 3:
    case 4:
        return a->earlier.as.value;
    case 5:
        return has_axes ? tg_slice(now, 0, -1, TG_END, -1) : tg_neg(now);
    case 6:
        return has_axes ? tg_slice(tg_add(now, a->earlier), 0, -1, TG_END, -1)
                        : tg_mul(now, a->earlier);
    default:
        return tg_max(now, a->earlier);
    }
}

static void assign_callback(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)in;
    const assignment *a = user;
    tg_assign(a->variable.operand, next_contents(a));
}

static void empty_callback(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)in, (void)user;
}

/* Assigns once, in a branch, or in a loop. */
static void assign(rg_maker *m, assignment *a)
{
    const unsigned how =
        m->program->has_control ? a->choice / 8 % 4 : 0;
    if (how == 1) {
        tg_value sum = tg_sum(tg_cast(a->earlier, TG_I64), TG_ALL_AXES);
        tg_cond_at(tg_in_value(tg_eq(tg_and(sum, 1), 0)), assign_callback,
                   a->choice & 32 ? assign_callback : empty_callback, a, NULL,
                   0, NULL, 0, TG_HERE);
    } else if (how == 2 && m->iterations >= MAX_ITERATIONS) {
        tg_for_at(tg_in_i64(a->choice / 32 % (MAX_ITERATIONS + 1)),
                  assign_callback, a, NULL, 0, NULL, 0, TG_HERE);
    } else {
        assign_callback(m->trace, NULL, a);
    }
}

void rg_make_reassign(rg_maker *m, tgi_op op)
{
    (void)op;
    const rg_operand *variable = rg_pick_variable(m);
    if (!variable || !tgi_dtype_is(variable->type.dtype, rg_classes(TGI_CLASS_NUM)))
        return;
    assignment a = {.variable = *variable};
    const int n = 2 + rg_below(&m->bytes, MAX_ROUNDS - 1);
    tg_value reads[MAX_ROUNDS + 1] = {
        RG_DO(m, tg_read(variable->operand))};
    rg_keep(m, variable->type, reads[0]);
    for (int i = 0; i < n; i++) {
        a.choice = rg_take(&m->bytes);
        a.earlier = tg_in_value(reads[a.choice / 64 % (unsigned)(i + 1)]);
        if (m->session)
            assign(m, &a);
        reads[i + 1] = RG_DO(m, tg_read(variable->operand));
        /* Some are used later, some only by the next assignments. */
        if (a.choice & 16 || i + 1 == n)
            rg_keep(m, variable->type, reads[i + 1]);
    }
    rg_keep(m, variable->type, RG_DO(m, tg_add(reads[0], reads[n - 1])));
}
