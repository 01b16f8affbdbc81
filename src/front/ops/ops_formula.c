/* SPDX-License-Identifier: MIT */
/*
 * ops_formula.c - see ops_formula.h.
 */
#include "front/ops/ops_formula.h"

/* True if the dtype of x is of one of the classes; else an error. */
static bool has_class(tgi_builder *b, const tgi_ref *in, size_t n,
                      unsigned classes)
{
    if (tgi_dtype_is(tgi_graph_node(b->graph, in[0])->dtype, classes))
        return true;
    tgi_build_fail(b, TG_ERROR_DTYPE, in, n,
                   classes & TGI_CLASS_FLOAT && !(classes & TGI_CLASS_INT)
                       ? "needs a float type"
                                              : "needs a number type");
    return false;
}

tg_value tgi_formula_apply(const char *name, tgi_formula *formula,
                           unsigned classes, const tg_operand *operands,
                           size_t n, tg_site site)
{
    tgi_operation o;
    tgi_ref in[3] = {0}, result = 0;
    if (tgi_operation_begin(&o, name, site)) {
        bool is_valid = true;
        o.real = TG_DTYPE_NONE;
        o.is_wide = (classes & TGI_CLASS_REAL) == TGI_CLASS_FLOAT &&
                    classes != TGI_CLASS_ANY;
        for (size_t i = 0; i < n; i++) {
            in[i] = tgi_operation_operand(&o, operands[i]);
            is_valid &= in[i] != 0;
        }
        if (is_valid && classes != TGI_CLASS_ANY)
            is_valid =
                tgi_build_unify(&o.b, in, n) && has_class(&o.b, in, n, classes);
        if (is_valid)
            result = formula(&o.b, in);
    }
    return tgi_operation_end(&o, result);
}
