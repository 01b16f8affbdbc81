/* SPDX-License-Identifier: MIT */
/*
 * test_pass_random.c - passes in random order preserve the bits of random
 * graphs with state, calls and unknown extents. A failure prints the seed:
 * PASS_SEED=n runs only that one, PASS_GRAPHS=n sets the number of graphs.
 */
#include "support/passes.h"

#include <stdio.h>
#include <stdlib.h>

#include "build/build.h"

/* -- Random numbers -------------------------------------------------------- */

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)random_below(&state, (int)below);
}

/* -- Graphs ---------------------------------------------------------------- */

typedef struct maker {
    tgi_builder b;
    tgi_ref pool[64];
    uint32_t n;
    tgi_ref v, last_write; /* the variable */
    tgi_graph *callee;
} maker;

/* Prefers recent values: rules match chains. */
static tgi_ref pick(const maker *m)
{
    uint32_t young = m->n < 4 ? m->n : 4;
    return m->pool[draw(2) ? m->n - 1 - draw(young) : draw(m->n)];
}

/* A value of that dtype, cast if necessary. */
static tgi_ref pick_of(maker *m, tg_dtype dtype)
{
    return tgi_build_cast(&m->b, pick(m), dtype);
}

/* Adds a value to the pool unless it is too large. */
static void keep(maker *m, tgi_ref ref)
{
    if (!ref)
        return;
    const tgi_shape *shape = tgi_graph_shape(m->b.graph, ref);
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++)
        count *= tgi_dim_is_known(shape->dims[i]) ? shape->dims[i] : 4;
    if (shape->rank > 4 || count > 512)
        return;
    m->pool[m->n < N_OF(m->pool) ? m->n++ : draw(m->n)] = ref;
}

static tgi_ref make_number(maker *m)
{
    static const double numbers[] = {0, -0.0, 1, -1, 2, 0.5};
    tg_dtype dtype = draw(2) ? TG_F32 : TG_F64;
    if (draw(3) == 0)
        return tgi_build_number(
            &m->b, TG_I32, TG_I32,
            (tgi_number){TGI_NUMBER_INT, {.i = (int)draw(3) - 1}});
    return tgi_build_number(
        &m->b, dtype, dtype,
        (tgi_number){TGI_NUMBER_FLOAT, {.f = numbers[draw(N_OF(numbers))]}});
}

static tgi_ref make_elementwise(maker *m)
{
    int op;
    do
        op = 1 + (int)draw(TGI_OPS - 1);
    while (!tgi_op_is_elementwise(op) || tgi_op_table[op].cls == TGI_OPCLASS_CAST);
    const tgi_op_info *info = &tgi_op_table[op];
    tg_dtype dtype;
    do
        dtype = (tg_dtype[]){TG_BOOL, TG_I8, TG_I32, TG_U32,
                             TG_F32,  TG_F32, TG_F64}[draw(7)];
    while (!tgi_dtype_is(dtype, info->types));
    tgi_ref in[3];
    for (int i = 0; i < info->arity; i++) {
        tg_dtype own = op == TGI_OP_SELECT && i == 0 ? TG_BOOL : dtype;
        in[i] = draw(4) == 0            ? tgi_build_cast(&m->b, make_number(m),
                                                         own)
                : draw(4) == 0 && i > 0 ? tgi_build_cast(&m->b, in[i - 1], own)
                                        : pick_of(m, own);
    }
    return tgi_build_elementwise(&m->b, (tgi_op)op, in, (size_t)info->arity);
}

static tgi_ref make_view(maker *m)
{
    tgi_ref x = pick(m);
    const tgi_shape *shape = tgi_graph_shape(m->b.graph, x);
    int rank = shape->rank, axis = rank ? (int)draw((uint32_t)rank) : 0;
    int64_t dims[TG_MAX_RANK];
    memcpy(dims, shape->dims, (size_t)rank * sizeof *dims);
    switch (draw(7)) {
    case 0: { /* new leading axes */
        int64_t more[TG_MAX_RANK] = {1 + draw(2)};
        memcpy(more + 1, dims, (size_t)rank * sizeof *dims);
        return rank < 4 ? tgi_build_broadcast(&m->b, x, rank + 1, more) : 0;
    }
    case 1:
        return tgi_build_reshape(&m->b, x, 1, (int64_t[]){-1});
    case 2: { /* reversed, two axes swapped */
        int perm[TG_MAX_RANK];
        for (int i = 0; i < rank; i++)
            perm[i] = (i + axis) % rank;
        if (rank > 1) {
            int first = perm[0];
            perm[0] = perm[1];
            perm[1] = first;
        }
        return tgi_build_transpose(&m->b, x, rank, perm);
    }
    case 3:
        return rank ? tgi_build_slice(&m->b, x, axis, draw(2), TG_END,
                                      1 + draw(2))
                    : 0;
    case 4:
        return rank ? tgi_build_slice(&m->b, x, axis, -1, TG_END,
                                      -1 - (int)draw(2))
                    : 0;
    case 5:
        return rank ? tgi_build_pad(&m->b, x, axis, draw(2), draw(2),
                                    tgi_build_cast(
                                        &m->b, make_number(m),
                                        (tg_dtype)tgi_graph_node(m->b.graph, x)
                                            ->dtype))
                    : 0;
    default:
        return rank ? tgi_build_concat(&m->b, axis, (tgi_ref[]){x, x},
                                       1 + draw(2))
                    : 0;
    }
}

static tgi_ref make_reduction(maker *m)
{
    static const tgi_op ops[] = {TGI_OP_SUM, TGI_OP_PROD, TGI_OP_REDUCE_MAX,
                                 TGI_OP_REDUCE_MIN};
    tgi_ref x = draw(2) ? pick_of(m, TG_F32) : pick(m);
    int rank = tgi_graph_shape(m->b.graph, x)->rank;
    if (rank == 0)
        return 0;
    int axis = (int)draw((uint32_t)rank);
    if (draw(5) == 0)
        return tgi_build_arg_reduce(&m->b, TGI_OP_ARGMAX, x, axis);
    if (draw(5) == 0)
        return tgi_build_matmul(&m->b, x, x, TG_TRANSPOSE_B);
    tg_axes axes = tg_axes_of(1, &axis);
    return tgi_build_reduce(&m->b, ops[draw(N_OF(ops))], x,
                            draw(2) ? tg_keep(axes) : axes);
}

static tgi_ref make_gather(maker *m)
{
    tgi_ref x = pick(m), i = pick_of(m, TG_I32);
    const tgi_shape *shape = tgi_graph_shape(m->b.graph, x);
    if (shape->rank == 0)
        return 0;
    /* Clamps, or rarely fails at run time. */
    tg_gather_mode mode = draw(40) == 0 ? TG_GATHER_CHECK
                          : draw(2)     ? TG_GATHER_CLAMP
                                        : TG_GATHER_ZERO;
    return tgi_build_gather(&m->b, x, i, 0, mode);
}

static tgi_ref make_state(maker *m)
{
    tgi_graph *graph = m->b.graph;
    tgi_ref now = read_variable(graph, m->v, m->last_write);
    if (draw(2) == 0)
        return now;
    tgi_ref value = pick_of(m, TG_F32);
    if (tgi_graph_node(graph, value)->shape !=
        tgi_graph_node(graph, m->v)->shape)
        value = apply(graph, NEG, now);
    return m->last_write = assign(graph, m->v, value);
}

/* Calls the callee with the first parameter, whose extents match. */
static tgi_ref make_call(maker *m)
{
    tgi_graph *graph = m->b.graph;
    const tgi_graph *callee = m->callee;
    if (!callee)
        return 0;
    tgi_ref x = m->pool[0];
    if (tgi_graph_node(graph, x)->op != TGI_OP_PARAM)
        return 0;
    tgi_ref c = call(graph, m->callee, INPUTS(x, m->v));
    if (callee->params.data[1].is_written)
        m->last_write = c;

    tgi_dim symbols[16], map[4096];
    cr_assert_leq(tgi_dims_n_values(callee->dims), N_OF(map));
    for (size_t k = 0; k < tgi_dims_n_symbols(callee->dims); k++)
        symbols[k] = tgi_graph_shape(graph, x)
                         ->dims[tgi_dims_symbol(callee->dims, k).axis];
    cr_assert_eq(tgi_dims_translate(graph->dims, callee->dims, symbols, map),
                 TG_OK);
    for (size_t i = 0; i < callee->results.n; i++) {
        const tgi_node *node =
            tgi_graph_node(callee, callee->results.data[i]);
        const tgi_shape *shape = tgi_shape_of(callee->dims, node->shape);
        tgi_dim dims[TG_MAX_RANK];
        for (int a = 0; a < shape->rank; a++)
            dims[a] = tgi_dim_value(shape->dims[a], map);
        keep(m, result(graph, c, (tg_dtype)node->dtype,
                       tgi_shape_intern(graph->dims, shape->rank, dims),
                       (int64_t)i));
    }
    return 0;
}

/* A graph of (f32[?,4], variable f32[3,4]); the outermost has more. */
static tgi_graph *make_graph(int n_steps, tgi_graph *callee)
{
    tgi_graph *graph = tgi_graph_create("f", NULL);
    maker m = {.b = {.graph = graph, .op_name = "op"}, .callee = callee};
    tgi_dim n = draw(2) ? symbol(graph, 0, 0) : 3;
    keep(&m, param(graph, TG_F32,
                   shape_of(graph, callee ? n : symbol(graph, 0, 0), 4)));
    m.v = variable(graph, TG_F32, shape_of(graph, 3, 4));
    if (callee) {
        keep(&m, param(graph, TG_I32, shape_of(graph, 3, 4)));
        keep(&m, param(graph, TG_BOOL, shape_of(graph, 3, 1)));
        keep(&m, param(graph, TG_F64, scalar_shape(graph)));
    }
    static tgi_ref (*const makers[])(maker *) = {
        make_elementwise, make_elementwise, make_elementwise, make_number,
        make_view,        make_view,        make_reduction,   make_gather,
        make_state,       make_call};
    for (int i = 0; i < n_steps; i++)
        keep(&m, makers[draw(N_OF(makers))](&m));
    for (int i = 0; i < 12; i++)
        tgi_graph_add_result(graph, pick(&m));
    return graph;
}

/* -- The test -------------------------------------------------------------- */

static void try_seed(uint64_t seed)
{
    state = seed;
    tgi_graph *callee = make_graph(8, NULL);
    tgi_graph *before = make_graph(24, callee);
    tgi_graph_release(callee);
    cr_assert_eq(tgi_graph_verify(before), TG_OK, "PASS_SEED=%llu: %s",
                 (unsigned long long)seed, tg_error(NULL));

    tgi_graph *after = tgi_graph_retain(before);
    char what[200];
    int at = snprintf(what, sizeof what, "PASS_SEED=%llu:",
                      (unsigned long long)seed);
    for (int i = 0; i < 6; i++) {
        const tgi_pass *pass = &tgi_passes[draw((uint32_t)tgi_n_passes)];
        at += snprintf(what + at, sizeof what - (size_t)at, " %s",
                       pass->name);
        tgi_graph *next = NULL;
        cr_assert_eq(pass->run(after, &next), TG_OK, "%s: %s", what,
                     tg_error(NULL));
        tgi_graph_release(after);
        after = next;
        cr_assert_eq(tgi_graph_verify(after), TG_OK, "%s: %s", what,
                     tg_error(NULL));
    }
    for (int64_t extent = 0; extent <= 3; extent++)
        check_same_bits(before, after, extent, what);
    tgi_graph_release(before);
    tgi_graph_release(after);
    check_nothing_is_alive();
}

Test(pass_random, passes_in_any_order_keep_the_bits)
{
    const char *seed = getenv("PASS_SEED");
    const char *n_graphs = getenv("PASS_GRAPHS");
    if (seed)
        try_seed(strtoull(seed, NULL, 10));
    else
        for (uint64_t i = 0; i < (n_graphs ? strtoull(n_graphs, NULL, 10)
                                           : 2000);
             i++)
            try_seed(i);
}
