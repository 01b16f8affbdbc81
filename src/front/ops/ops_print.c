/* SPDX-License-Identifier: MIT */
/*
 * ops_print.c - prints and asserts, the operations with a format.
 *
 * An assert is a SWITCH on the number of false elements of its condition. The
 * first branch is empty. The second contains a FAIL node, which formats the
 * message and fails the call. Order, loops, gradients and compiled code thus
 * follow the rules of branches and prints, and a condition that holds costs a
 * branch, not a host call.
 */
#include <string.h>

#include "front/ops/ops_control.h"
#include "ir/dump.h"
#include "tgjit/ops.h"

/* -- Formats --------------------------------------------------------------- */

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

/* Checks the format, operands[0], and the number of values after it; false
   after a failure. */
static bool check_format(const tgi_operation *o, const tg_trace *t,
                         const tg_operand *operands, size_t n_operands)
{
    const char *name = o->b.op_name;
    const tg_site site = o->b.site;
    size_t n_placeholders;
    if (o->t != t)
        tgi_trace_fail(o->t, TG_ERROR_TRACE, site,
                       "%s: the argument is not the trace of this callback",
                       name);
    else if (n_operands == 0 || !operands ||
             operands[0].kind != TG_OPERAND_STRING || !operands[0].as.string)
        tgi_trace_fail(o->t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: the first operand is not a format", name);
    else if (!count_placeholders(operands[0].as.string, &n_placeholders))
        tgi_trace_fail(o->t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: the format may contain only %%v, %%t and %%%%",
                       name);
    else if (n_placeholders != n_operands - 1)
        tgi_trace_fail(o->t, TG_ERROR_INVALID_ARGUMENT, site,
                       "%s: the format takes %zu value%s, but %zu %s given",
                       name, n_placeholders, TGI_PLURAL(n_placeholders),
                       n_operands - 1, TGI_WERE(n_operands - 1));
    else
        return true;
    return false;
}

/* The nodes of the values of a format; false after a failure, which sticks.
   Free *out_refs in both cases. */
static bool convert_values(tgi_operation *o, const tg_operand *operands,
                           size_t n, tgi_ref **out_refs)
{
    tgi_ref *refs = *out_refs = tgi_alloc((n + 1) * sizeof(*refs));
    if (!refs) {
        tgi_error_memory();
        tgi_trace_record_error(o->t);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!(refs[i] = tgi_operation_operand(o, operands[i])))
            return false;
    return true;
}

/* Adds a PRINT or FAIL node; a failure sticks. */
static void add_node(tgi_operation *o, tgi_op op, const char *format,
                     const tgi_ref *refs, size_t n)
{
    if (!tgi_build_node(&o->b, op, TG_DTYPE_NONE,
                        tgi_shape_intern(o->t->graph->dims, 0, NULL), refs, n,
                        format, strlen(format) + 1))
        tgi_trace_record_error(o->t);
}

/* -- Print ----------------------------------------------------------------- */

void tg_print_at(tg_trace *t, const tg_operand *operands, size_t n_operands,
                 tg_site site)
{
    tgi_operation o;
    if (!tgi_operation_begin(&o, "print", site) ||
        !check_format(&o, t, operands, n_operands))
        return;
    tgi_ref *refs;
    if (convert_values(&o, operands + 1, n_operands - 1, &refs))
        add_node(&o, TGI_OP_PRINT, operands[0].as.string, refs,
                 n_operands - 1);
    tgi_free(refs);
}

/* -- Assert ---------------------------------------------------------------- */

/* The message of an assert, for the callback that records it in a branch. */
typedef struct message {
    const tg_trace *outer; /* the trace that contains the values */
    const char *format;
    tgi_ref *refs;
    size_t n;
    tg_site site;
} message;

static void record_nothing(tg_trace *t, const tg_value *in, void *user)
{
    (void)t, (void)in, (void)user;
}

/* The values are captured, which copies constants into the branch. */
static void record_failure(tg_trace *t, const tg_value *in, void *user)
{
    const message *m = user;
    tgi_operation o;
    (void)in;
    if (!tgi_operation_begin(&o, "assert", m->site))
        return;
    for (size_t i = 0; i < m->n; i++) {
        m->refs[i] =
            tgi_trace_capture_value(t, tgi_trace_value(m->outer, m->refs[i]));
        if (!m->refs[i])
            return;
    }
    add_node(&o, TGI_OP_FAIL, m->format, m->refs, m->n);
}

/*
 * The condition; 0 after a failure, which sticks. A plain integer is a
 * condition as in C, because true, false and comparisons have type int there.
 */
static tgi_ref condition_operand(tgi_control *c, tg_operand condition)
{
    if (condition.kind == TG_OPERAND_INT || condition.kind == TG_OPERAND_UINT)
        condition = tg_in_bool(condition.as.u != 0);
    const tgi_ref ref = tgi_operation_operand(&c->o, condition);
    if (!ref || tgi_graph_node(c->o.t->graph, ref)->dtype == TG_BOOL)
        return ref;
    tgi_strbuf text = {0};
    tgi_type_print(c->o.t->graph, ref, &text);
    tgi_control_fail(c, TG_ERROR_DTYPE,
                     "the condition is %s, not bool; compare it, or convert it "
                     "with tg_cast",
                     text.text ? text.text : "?");
    tgi_strbuf_deinit(&text);
    return 0;
}

/* True for a constant that is known to hold while tracing. */
static bool is_always_true(const tgi_graph *graph, tgi_ref condition)
{
    const bool *elements = tgi_graph_constant(graph, condition);
    return elements && tgi_graph_shape(graph, condition)->rank == 0 &&
           *elements;
}

/* The number of false elements, which selects the branch: SWITCH clamps it. */
static tgi_ref count_false(tgi_builder *b, tgi_ref condition)
{
    const tgi_ref is_false = tgi_build_1(b, TGI_OP_NOT, condition);
    const tgi_ref ones = tgi_build_cast(b, is_false, TG_I64);
    return ones && tgi_graph_shape(b->graph, ones)->rank > 0
               ? tgi_build_reduce(b, TGI_OP_SUM, ones, TG_ALL_AXES)
               : ones;
}

void tg_assert_at(tg_trace *t, tg_operand condition, const tg_operand *operands,
                  size_t n_operands, tg_site site)
{
    tgi_control c;
    if (tgi_control_begin(&c, "assert", site) &&
        check_format(&c.o, t, operands, n_operands)) {
        message m = {.outer = c.o.t,
                     .format = operands[0].as.string,
                     .n = n_operands - 1,
                     .site = site};
        const tgi_ref ref = condition_operand(&c, condition);
        if (ref && convert_values(&c.o, operands + 1, m.n, &m.refs) &&
            !is_always_true(c.o.t->graph, ref) &&
            tgi_control_add_input(&c, count_false(&c.o.b, ref)) &&
            tgi_control_branch(&c, "holds", record_nothing, &m) &&
            tgi_control_branch(&c, "fails", record_failure, &m))
            tgi_control_finish(&c, TGI_OP_SWITCH, 0, 0, NULL, 0);
        tgi_free(m.refs);
    }
    tgi_control_end(&c);
}
