/* SPDX-License-Identifier: MIT */
/*
 * ops_state.c - reads and assignments of variables, and prints.
 */
#include <string.h>

#include "front/trace/trace_state.h"
#include "ir/dump.h"
#include "tgjit/ops.h"

tg_value tg_read_at(tg_operand variable, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "read", site)) {
        tgi_ref node = tgi_trace_variable_operand(o.t, variable, "read", site);
        if (node)
            result = tgi_trace_read(o.t, node, site);
    }
    return tgi_operation_end(&o, result);
}

/* Converts a value to the variable's type: numbers to its dtype, scalars to its
   shape. 0 with an error if the types differ. */
static tgi_ref convert_to_variable(tgi_operation *o, tgi_ref variable,
                                   tgi_ref value)
{
    if (!value)
        return 0;
    const tgi_node *target = tgi_graph_node(o->t->graph, variable);
    const tgi_node *actual = tgi_graph_node(o->t->graph, value);
    const tgi_shape *shape = tgi_graph_shape(o->t->graph, variable);
    bool is_weak = actual->flags & TGI_NODE_WEAK;
    if (actual->dtype == target->dtype || is_weak) {
        value = tgi_build_adapt(&o->b, value, target->dtype);
        if (!value || tgi_graph_node(o->t->graph, value)->shape ==
                          target->shape)
            return value;
        if (tgi_graph_shape(o->t->graph, value)->rank == 0)
            return tgi_build_broadcast(&o->b, value, shape->rank, shape->dims);
    }
    tgi_strbuf text = {0};
    tgi_strbuf_addf(&text, "variable '%s' is ",
                    target->name ? target->name : "argument");
    tgi_type_print(o->t->graph, variable, &text);
    tgi_strbuf_add(&text, ", but the value is ");
    tgi_type_print(o->t->graph, value, &text);
    tgi_build_fail(
        &o->b, actual->dtype != target->dtype ? TG_ERROR_DTYPE : TG_ERROR_SHAPE,
        NULL, 0, "%s", text.text ? text.text : "?");
    tgi_strbuf_deinit(&text);
    return 0;
}

/* assign (TGI_OP_NONE), assign_add and assign_sub. */
static tg_value build_assign(const char *name, tgi_op op, tg_operand variable,
                             tg_operand operand, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, name, site)) {
        tgi_ref node = tgi_trace_variable_operand(o.t, variable, name, site);
        tgi_ref value = node ? tgi_operation_operand(&o, operand) : 0;
        value = node ? convert_to_variable(&o, node, value) : 0;
        if (value && op != TGI_OP_NONE)
            value = tgi_build_2(&o.b, op, tgi_trace_read(o.t, node, site),
                                value);
        if (value)
            result = tgi_trace_write(o.t, node, value, site);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_assign_at(tg_operand variable, tg_operand value, tg_site site)
{
    return build_assign("assign", TGI_OP_NONE, variable, value, site);
}

tg_value tg_assign_add_at(tg_operand variable, tg_operand value, tg_site site)
{
    return build_assign("assign_add", TGI_OP_ADD, variable, value, site);
}

tg_value tg_assign_sub_at(tg_operand variable, tg_operand value, tg_site site)
{
    return build_assign("assign_sub", TGI_OP_SUB, variable, value, site);
}

/* -- Print ----------------------------------------------------------------- */

/* Counts the values that a format takes; false if it is malformed. */
static bool count_placeholders(const char *format, size_t *out_n)
{
    *out_n = 0;
    for (const char *at = strchr(format, '%'); at; at = strchr(at + 2, '%')) {
        if (at[1] == 'v' || at[1] == 't')
            ++*out_n;
        else if (at[1] != '%')
            return false;
    }
    return true;
}

static void record_print(tgi_operation *o, const char *format,
                         const tg_operand *operands, size_t n)
{
    TGI_VEC(tgi_ref) refs = {0};
    if (!tgi_vec_reserve(&refs, n + 1)) {
        tgi_error_memory();
        tgi_trace_record_error(o->t);
        return;
    }
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        ok = (refs.data[i] = tgi_operation_operand(o, operands[i])) != 0;
    if (ok && !tgi_build_node(&o->b, TGI_OP_PRINT, TG_DTYPE_NONE,
                              tgi_shape_intern(o->t->graph->dims, 0, NULL),
                              refs.data, n, format, strlen(format) + 1))
        tgi_trace_record_error(o->t);
    tgi_vec_deinit(&refs);
}

void tg_print_at(tg_trace *t, const tg_operand *operands, size_t n_operands,
                 tg_site site)
{
    tgi_operation o;
    size_t n_placeholders;
    if (!tgi_operation_begin(&o, "print", site))
        return;
    if (o.t != t)
        tgi_trace_fail(o.t, TG_ERROR_TRACE, site,
                       "print: the argument is not the trace of this callback");
    else if (n_operands == 0 || !operands ||
             operands[0].kind != TG_OPERAND_STRING || !operands[0].as.string)
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "print: the first operand is not a format");
    else if (!count_placeholders(operands[0].as.string, &n_placeholders))
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "print: the format may contain only %%v, %%t and %%%%");
    else if (n_placeholders != n_operands - 1)
        tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                       "print: the format takes %zu value%s, but %zu %s "
                       "given",
                       n_placeholders, TGI_PLURAL(n_placeholders),
                       n_operands - 1, TGI_WERE(n_operands - 1));
    else
        record_print(&o, operands[0].as.string, operands + 1, n_operands - 1);
}
