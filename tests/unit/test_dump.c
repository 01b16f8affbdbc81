/* SPDX-License-Identifier: MIT */
/* test_dump.c - dumps of graphs, compared with golden files. */
#include "support/graphs.h"

#include <math.h>

#include "support/golden.h"

/* A node with every kind of attribute. */
static tgi_graph *make_gallery(void)
{
    tgi_graph *g = tgi_graph_create("gallery", NULL);
    tgi_dim n = symbol(g, 0, 0);
    tgi_shape_ref s = shape_of(g, n, 6);
    tgi_ref x = param(g, TG_F32, s);
    tgi_ref v = variable(g, TG_F32, shape_of(g, 3));
    tgi_ref i = param(g, TG_I32, shape_of(g, 2));
    tgi_ref key = param(g, TG_U64, scalar_shape(g));
    tgi_graph_set_name(g, x, "x");

    tgi_ref half = number(g, TG_F32, 0.5);
    tgi_ref y = apply(g, MUL, x, broadcast(g, half, s));
    tgi_graph_set_name(g, y, "it's\thalf\n");
    add_node(g, TGI_OP_IOTA, TG_I64, shape_of(g, 4, 5), NULL,
             ATTR(tgi_attr_index, 1));
    add_node(g, TGI_OP_EXTENT, TG_I64, scalar_shape(g), NULL,
             ATTR(tgi_attr_index, tgi_dim_add(g->dims, n, 1)));
    cast(g, apply(g, LT, y, x), TG_U8);
    reshaped(g, TGI_OP_RESHAPE, y, shape_of(g, n, 2, 3), NO_ATTR);
    reshaped(g, TGI_OP_TRANSPOSE, y, shape_of(g, 6, n),
             ATTR(tgi_attr_perm, {1, 0}));
    reshaped(g, TGI_OP_SLICE, y, shape_of(g, 1, 3),
             ATTR(tgi_attr_slice, {tgi_dim_sub(g->dims, n, 1), 5}, {1, -2}));
    add_node(g, TGI_OP_PAD, TG_F32,
             shape_of(g, tgi_dim_add(g->dims, n, 3), 6), INPUTS(y, half),
             ATTR(tgi_attr_pad, {1, 0}, {2, 0}, {0, 0}));
    add_node(g, TGI_OP_CONCAT, TG_F32, shape_of(g, n, 12), INPUTS(x, y),
             ATTR(tgi_attr_index, 1));
    for (int mode = TG_GATHER_CHECK; mode <= TG_GATHER_ZERO; mode++)
        add_node(g, TGI_OP_GATHER, TG_F32, shape_of(g, n, 2), INPUTS(x, i),
                 ATTR(tgi_attr_gather, 1, mode));
    add_node(g, TGI_OP_DYNAMIC_SLICE, TG_F32, shape_of(g, n, 2),
             INPUTS(x, number(g, TG_U8, 3)), ATTR(tgi_attr_index, 1));
    add_node(g, TGI_OP_DYNAMIC_UPDATE, TG_F32, s,
             INPUTS(x, y, number(g, TG_U8, 3)), ATTR(tgi_attr_index, 1));
    for (int mode = TG_SCATTER_SET; mode <= TG_SCATTER_ADD; mode++)
        add_node(g, TGI_OP_SCATTER, TG_F32, s, INPUTS(x, i, y),
                 ATTR(tgi_attr_scatter, 1, mode, mode));
    tgi_ref sum = reshaped(g, TGI_OP_SUM, y, scalar_shape(g),
                           ATTR(tgi_attr_axes, 3));
    add_node(g, TGI_OP_ARGMAX, TG_I64, shape_of(g, n), INPUTS(y),
             ATTR(tgi_attr_index, 1));
    add_node(g, TGI_OP_MATMUL, TG_F32, shape_of(g, n, n), INPUTS(x, y),
             ATTR(tgi_attr_matmul, TG_TRANSPOSE_B));
    add_node(g, TGI_OP_MATMUL, TG_F32, shape_of(g, 6, n), INPUTS(x, y),
             ATTR(tgi_attr_matmul, TG_TRANSPOSE_A | TG_TRANSPOSE_B));
    tgi_ref images = param(g, TG_F32, shape_of(g, n, 8, 9, 3));
    add_node(g, TGI_OP_WINDOW, TG_F32, shape_of(g, n, 3, 4, 3, 3, 2),
             INPUTS(images),
             ATTR(tgi_attr_window, {0, 3, 2}, {0, 2, 2}, {0, 1, 2}));
    add_node(g, TGI_OP_CONV, TG_F32, shape_of(g, n, 3, 4, 5),
             INPUTS(images, param(g, TG_F32, shape_of(g, 3, 2, 3, 5))),
             ATTR(tgi_attr_conv, 0, {2, 2}, {1, 2}));
    add_node(g, TGI_OP_CONV, TG_F32, shape_of(g, n, 8, 4, 5),
             INPUTS(images, param(g, TG_F32, shape_of(g, n, 6, 3, 5))),
             ATTR(tgi_attr_conv, 1, {1}, {1}));
    add_node(g, TGI_OP_RANDOM_BITS, TG_U32, shape_of(g, 8), INPUTS(key, key),
             NO_ATTR);
    tgi_ref old = read_variable(g, v, 0);
    tgi_ref write = assign(g, v, apply(g, NEG, old));
    tgi_ref now = read_variable(g, v, write);
    add_node(g, TGI_OP_PRINT, TG_DTYPE_NONE, 0, INPUTS(sum, now),
             "sum \"%v\"\nthen %v", sizeof "sum \"%v\"\nthen %v");
    tgi_graph_add_check(g, (tgi_check){.kind = TGI_CHECK_EQUAL,
                                       .op = "matmul",
                                       .file = "lib/user.c",
                                       .line = 3,
                                       .what = "inner dimensions",
                                       .a = 784,
                                       .b = n});
    tgi_graph_add_check(g, (tgi_check){.kind = TGI_CHECK_NOT_ZERO,
                                       .op = "reduce_max",
                                       .what = "extent to reduce",
                                       .a = n});
    tgi_graph_add_result(g, y);
    tgi_graph_add_result(g, now);
    return g;
}

/* Two graphs with one name, one of them called twice. */
static tgi_graph *make_calls(void)
{
    tgi_graph *a = tgi_graph_create("g", NULL);
    tgi_graph *b = tgi_graph_create("g", NULL);
    tgi_graph *outer = tgi_graph_create("f", NULL);
    tgi_ref x = param(a, TG_F32, shape_of(a, symbol(a, 0, 0)));
    tgi_graph_add_result(a, apply(a, SIN, x));
    tgi_ref inner = call(b, a, INPUTS(param(b, TG_F32, shape_of(b, 3))));
    tgi_graph_add_result(b, result(b, inner, TG_F32, shape_of(b, 3), 0));

    tgi_shape_ref s = shape_of(outer, 3);
    tgi_ref y = param(outer, TG_F32, s);
    tgi_ref first = call(outer, b, INPUTS(y));
    y = result(outer, first, TG_F32, s, 0);
    tgi_ref second = call(outer, a, INPUTS(y));
    y = result(outer, second, TG_F32, s, 0);
    tgi_graph_add_result(outer, y);
    tgi_graph_release(a);
    tgi_graph_release(b);
    return outer;
}

static tgi_graph *make_constants(void)
{
    tgi_graph *g = tgi_graph_create("", NULL);
    number(g, TG_F32, 0.1);
    number(g, TG_F64, 0.1);
    number(g, TG_F64, -0.0);
    number(g, TG_F64, 1e300);
    number(g, TG_F32, (double)INFINITY);
    number(g, TG_BOOL, 1);
    number(g, TG_I8, -128);
    int64_t numbers[9] = {INT64_MIN, 1, 2, 3, 4, 5, 6, INT64_MAX, 8};
    const tg_site nowhere = {NULL, 0};
    tgi_graph_add_constant(g, TG_I64, shape_of(g, 2, 4), numbers, 64, 0,
                           nowhere);
    tgi_graph_add_constant(g, TG_I64, shape_of(g, 9), numbers, 72, 0, nowhere);
    tgi_graph_add_constant(g, TG_I64, shape_of(g, 0), numbers, 0, 0, nowhere);
    tgi_graph_add_constant(g, TG_I64, scalar_shape(g), numbers + 1, 8,
                           TGI_NODE_LITERAL, nowhere);
    return g;
}

static void check_dump(tgi_graph *g, unsigned flags, const char *name)
{
    tgi_strbuf text = {0};
    tgi_graph_dump(g, flags, &text);
    cr_assert_not(text.failed);
    check_golden(name, text.text);
    tgi_strbuf_deinit(&text);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

static void check_dot(tgi_graph *g, const char *name)
{
    tgi_strbuf text = {0};
    tgi_graph_dump_dot(g, &text);
    cr_assert_not(text.failed);
    check_golden(name, text.text);
    tgi_strbuf_deinit(&text);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(dump, shows_every_attribute)
{
    check_dump(make_gallery(), 0, "gallery.txt");
}

Test(dump, shows_places_by_base_name_on_request)
{
    check_dump(make_gallery(), TGI_DUMP_SITES, "gallery_sites.txt");
}

Test(dump, prints_each_callee_once)
{
    check_dump(make_calls(), 0, "calls.txt");
}

Test(dump, shortens_long_constants)
{
    check_dump(make_constants(), 0, "constants.txt");
}

Test(dump, an_empty_graph_has_a_text)
{
    tgi_graph *g = tgi_graph_create("nothing", NULL);
    char *text = text_of(g);
    cr_assert_str_eq(text, "graph nothing() {\n  return\n}\n");
    tgi_free(text);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(dump, dot_shows_every_attribute)
{
    check_dot(make_gallery(), "gallery_dot.txt");
}

Test(dump, dot_draws_each_callee_once)
{
    check_dot(make_calls(), "calls_dot.txt");
}

Test(dump, a_deep_nest_of_callees_is_printed_without_recursion)
{
    tgi_graph *g = tgi_graph_create("f", NULL);
    for (int i = 0; i < 2000; i++) {
        tgi_graph *outer = tgi_graph_create("f", g->dims);
        call(outer, g, NULL);
        tgi_graph_release(g);
        g = outer;
    }
    char *text = text_of(g);
    cr_assert_not_null(strstr(text, "graph f#2000() {"));
    tgi_free(text);
    tgi_graph_release(g);
    check_nothing_is_alive();
}

Test(dump, out_of_memory_is_reported)
{
    tgi_graph *g = make_calls();
    tgi_alloc_inject_failure(-1, 0);
    tgi_free(text_of(g));
    long n = tgi_alloc_inject_failure(-1, 0);
    for (long i = 0; i < n; i++) {
        tgi_strbuf text = {0};
        tgi_alloc_inject_failure(i, 0);
        tgi_graph_dump(g, 0, &text);
        tgi_alloc_inject_failure(-1, 0);
        cr_assert(text.failed, "allocation %ld", i);
        tgi_strbuf_deinit(&text);
    }
    tgi_graph_release(g);
    check_nothing_is_alive();
}
