/* SPDX-License-Identifier: MIT */
/*
 * ops_state.c - reads and assignments of variables.
 */
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
