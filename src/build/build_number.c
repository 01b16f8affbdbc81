/* SPDX-License-Identifier: MIT */
/*
 * build_number.c - dtypes of plain numbers (weak typing).
 *
 * Operands have one of three type ranks, and the highest rank present
 * determines the dtype: tensors, variables and values computed from them, whose
 * dtypes must be equal; then numbers that are arguments of the function
 * (TGI_NODE_NUMBER); then literals (TGI_NODE_LITERAL). Within the ranks of
 * numbers and literals, tgi_dtype_promote gives the dtype. An elementwise
 * operation on plain numbers only returns a plain number of the highest rank.
 *
 * Conversion of a number to a dtype that may not represent it is checked: for a
 * constant while building, for a parameter at the call, before it runs
 * (number_checks). A number computed from parameters is unknown at both times,
 * so it is converted only to a float dtype, or to one that represents every
 * value of its own dtype.
 */
#include "base/error.h"
#include "build/build.h"

/* -- Leaves ---------------------------------------------------------------- */

static tgi_ref fail_not_representable(tgi_builder *b, tg_dtype dtype,
                                      tgi_number number)
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
        return fail_not_representable(b, dtype, number);
    tgi_shape_ref scalar = tgi_shape_intern(b->graph->dims, 0, NULL);
    if (!scalar)
        return tgi_build_added(b, 0);
    return tgi_build_added(
        b, tgi_graph_add_constant(b->graph, dtype, scalar, element,
                                  (size_t)tgi_dtype_bytes(dtype), flags,
                                  b->site));
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
 * Checks, now or at the call, that a weakly typed `x` fits `check.dtype`. An
 * error detected now has the builder's site.
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
               fail_not_representable(b, dtype, number);
    }
    if (node->op == TGI_OP_PARAM) {
        check.param = x;
        const bool is_added = tgi_graph_add_number_check(b->graph, check);
        b->has_error |= !is_added;
        return is_added;
    }
    if (tgi_dtype_is(dtype, TGI_CLASS_REAL))
        return true; /* overflows to infinity, as arithmetic does */
    tgi_build_fail(b, TG_ERROR_DTYPE, &x, 1,
                   "a number computed from arguments is not converted to %s "
                   "implicitly; use tg_cast",
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
    return tgi_build_cast(b, x, dtype);
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

/* -- The common dtype ------------------------------------------------------ */

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
        const tg_dtype other = tgi_graph_node(b->graph, in[i])->dtype;
        if (type_rank(b, in[i]) < highest || other == dtype)
            continue;
        const tg_dtype common = dtype == TG_DTYPE_NONE ? other
                                : highest == TGI_TYPE_RANK_TENSOR
                                    ? TG_DTYPE_NONE
                                    : tgi_dtype_promote(dtype, other);
        if (common == TG_DTYPE_NONE) {
            tgi_build_fail(b, TG_ERROR_DTYPE, in, n,
                           "dtypes %s and %s differ; convert one with tg_cast",
                           tg_dtype_name(dtype), tg_dtype_name(other));
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

tgi_ref tgi_build_number_like(tgi_builder *b, tgi_ref x, double value)
{
    if (!x)
        return 0;
    const tg_dtype dtype = tgi_graph_node(b->graph, x)->dtype;
    return tgi_build_number(b, dtype, dtype,
                            (tgi_number){TGI_NUMBER_FLOAT, {.f = value}});
}

tgi_ref tgi_build_f64(tgi_builder *b, double value)
{
    return tgi_build_number(b, TG_F64, TG_F64,
                            (tgi_number){TGI_NUMBER_FLOAT, {.f = value}});
}
