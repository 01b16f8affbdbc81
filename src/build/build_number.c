/* SPDX-License-Identifier: MIT */
/*
 * build_number.c - plain numbers: which element type they take, and whether
 * it can hold them.
 *
 * There are three ranks of operands, and the highest one present decides the
 * element type: tensors, variables and all that is computed from them, whose
 * types must be equal; then numbers that are arguments of the function
 * (TGI_NODE_NUMBER); then literals (TGI_NODE_LITERAL). Numbers, or literals,
 * among themselves take the type of tgi_dtype_promote. An elementwise
 * operation on plain numbers alone gives a plain number of the rank that
 * decided.
 *
 * A number converted to a type that may not hold it is checked: a constant
 * now, a parameter by a condition that the call decides before it runs
 * (number_checks). The value of a number computed from parameters is known at
 * neither time, so it is converted only to a type that holds every value of
 * its own, or to a float type.
 */
#include "base/error.h"
#include "build/build.h"

/* -- Leaves ---------------------------------------------------------------- */

static tgi_ref fail_to_hold(tgi_builder *b, tg_dtype dtype, tgi_number number)
{
    char text[40];
    return tgi_build_fail(
        b, TG_ERROR_DTYPE, NULL, 0, "the number %s is not representable in %s",
        tgi_number_format(number, text, sizeof(text)), tg_dtype_name(dtype));
}

static tgi_ref add_number(tgi_builder *b, tg_dtype dtype, tgi_number number,
                          uint16_t flags)
{
    char element[8] = {0};
    if (!tgi_dtype_store(dtype, number, element))
        return fail_to_hold(b, dtype, number);
    tgi_shape_ref scalar = tgi_shape_intern(b->graph->dims, 0, NULL);
    if (!scalar)
        return 0;
    return tgi_graph_add_constant(b->graph, dtype, scalar, element,
                                  (size_t)tgi_dtype_bytes(dtype), flags,
                                  b->site);
}

tgi_ref tgi_build_number(tgi_builder *b, tg_dtype dtype, tg_dtype c_dtype,
                         tgi_number number)
{
    return dtype == TG_DTYPE_NONE
               ? add_number(b, c_dtype, number, TGI_NODE_LITERAL)
               : add_number(b, dtype, number, 0);
}

tgi_ref tgi_build_static_number(tgi_builder *b, tg_dtype dtype,
                                tgi_number number)
{
    return add_number(b, dtype, number, TGI_NODE_NUMBER);
}

/* -- Conversions ----------------------------------------------------------- */

/*
 * Makes sure that weak `x` fits `check->dtype`, if only by a condition. The
 * error, if it is known not to, is one of the builder's site.
 */
static bool check_number(tgi_builder *b, tgi_ref x, tgi_number_check check)
{
    const tgi_node *node = tgi_graph_node(b->graph, x);
    const tg_dtype dtype = (tg_dtype)check.dtype;
    if (tgi_dtype_holds_all(dtype, node->dtype))
        return true;
    const void *constant = tgi_graph_constant(b->graph, x);
    if (constant) {
        char element[8];
        const tgi_number number = tgi_dtype_load(node->dtype, constant);
        return tgi_dtype_store(dtype, number, element) ||
               fail_to_hold(b, dtype, number);
    }
    if (node->op == TGI_OP_PARAM) {
        check.param = x;
        const bool is_added = tgi_graph_add_number_check(b->graph, check);
        b->has_error |= !is_added;
        return is_added;
    }
    if (tgi_dtype_is(dtype, TGI_CLASS_FLOAT))
        return true; /* overflows to infinity, as arithmetic does */
    tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1,
                   "computed from numbers, it does not become %s by itself: "
                   "use tg_cast",
                   tg_dtype_name(dtype));
    return false;
}

tgi_ref tgi_build_adapt(tgi_builder *b, tgi_ref x, tg_dtype dtype)
{
    if (!x)
        return 0;
    const tgi_node *node = tgi_graph_node(b->graph, x);
    if (node->dtype == dtype)
        return x;
    if (!tgi_build_weakness(b, x))
        return tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1,
                              "needs %s", tg_dtype_name(dtype));

    const void *element = tgi_graph_constant(b->graph, x);
    if (element)
        return tgi_build_number(b, dtype, dtype,
                                tgi_dtype_load(node->dtype, element));
    const tgi_number_check check = {.dtype = (uint8_t)dtype,
                                    .line = b->site.line,
                                    .file = b->site.file,
                                    .op = b->op_name};
    if (!check_number(b, x, check))
        return 0;
    return tgi_build_node(b, TGI_OP_CAST, dtype, node->shape, &x, 1, NULL, 0);
}

bool tgi_build_lift_number_checks(tgi_builder *b, const tgi_graph *inner,
                                  const tgi_ref *inputs)
{
    for (size_t i = 0; i < inner->number_checks.n; i++) {
        const tgi_number_check *check = &inner->number_checks.data[i];
        const tgi_attr_index *attr = tgi_graph_node(inner, check->param)->attr;
        tgi_builder at = *b;
        at.site = (tg_site){check->file, check->line};
        at.op_name = check->op;
        if (!check_number(&at, inputs[attr->index], *check))
            return false;
    }
    return true;
}

/* -- The common type ------------------------------------------------------- */

static int type_rank(const tgi_builder *b, tgi_ref x)
{
    return tgi_node_type_rank(tgi_graph_node(b->graph, x));
}

static tg_dtype common_dtype(tgi_builder *b, const tgi_ref *in, size_t n)
{
    int highest = 0;
    for (size_t i = 0; i < n; i++)
        if (type_rank(b, in[i]) > highest)
            highest = type_rank(b, in[i]);

    tg_dtype dtype = TG_DTYPE_NONE;
    for (size_t i = 0; i < n; i++) {
        const tg_dtype own = tgi_graph_node(b->graph, in[i])->dtype;
        if (type_rank(b, in[i]) < highest || own == dtype)
            continue;
        const tg_dtype common = dtype == TG_DTYPE_NONE ? own
                                : highest == TGI_TYPE_RANK_TENSOR
                                    ? TG_DTYPE_NONE
                                    : tgi_dtype_promote(dtype, own);
        if (common == TG_DTYPE_NONE) {
            tgi_build_fail(b, TG_ERROR_DTYPE, in, n,
                           "element types %s and %s differ",
                           tg_dtype_name(dtype), tg_dtype_name(own));
            return TG_DTYPE_NONE;
        }
        dtype = common;
    }
    return dtype;
}

tg_dtype tgi_build_unify(tgi_builder *b, tgi_ref *in, size_t n)
{
    const tg_dtype dtype = common_dtype(b, in, n);
    if (dtype == TG_DTYPE_NONE)
        return TG_DTYPE_NONE;
    for (size_t i = 0; i < n; i++)
        if (!(in[i] = tgi_build_adapt(b, in[i], dtype)))
            return TG_DTYPE_NONE;
    return dtype;
}
