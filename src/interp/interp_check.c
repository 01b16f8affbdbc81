/* SPDX-License-Identifier: MIT */
/*
 * interp_check.c - see interp_check.h.
 */
#include "interp/interp_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "runtime/format.h"
#include "runtime/walk.h"

/* -- Searching ------------------------------------------------------------- */

/* The first element of one of the kinds, in row-major order, and the range of
   the others. */
typedef struct search {
    uint8_t dtype;
    unsigned kinds;
    int64_t n_seen;
    int64_t position; /* -1: none */
    double value;     /* of that element */
    double min, max;
} search;

static unsigned kind_of(double value)
{
    return isnan(value) ? TGI_CHECK_NAN : isinf(value) ? TGI_CHECK_INF : 0;
}

static double load(uint8_t dtype, const char *data)
{
    if (dtype == TG_F64) {
        double value;
        memcpy(&value, data, sizeof(value));
        return value;
    }
    float value;
    memcpy(&value, data, sizeof(value));
    return (double)value;
}

static void search_run(tgi_run run)
{
    search *s = run.user;
    for (int64_t i = 0; i < run.n; i++) {
        const double value = load(s->dtype, run.data[0] + i * run.strides[0]);
        if (s->position < 0 && kind_of(value) & s->kinds) {
            s->position = s->n_seen + i;
            s->value = value;
        }
        s->min = fmin(s->min, value); /* ignores NaN */
        s->max = fmax(s->max, value);
    }
    s->n_seen += run.n;
}

static search search_view(const tgi_view *view, unsigned kinds)
{
    search s = {.dtype = view->dtype,
                .kinds = kinds,
                .position = -1,
                .min = HUGE_VAL,
                .max = -HUGE_VAL};
    if (view->dtype == TG_F32 || view->dtype == TG_F64)
        tgi_walk_views(1, (const tgi_view *const[]){view}, search_run, &s);
    return s;
}

/* -- Messages -------------------------------------------------------------- */

/* The indices of an element, "[2,7]"; its address is returned. */
static const char *add_position(const tgi_view *view, int64_t position,
                                tgi_strbuf *out)
{
    int64_t indices[TG_MAX_RANK], offset = 0;
    for (int axis = view->rank; axis-- > 0;) {
        indices[axis] = position % view->dims[axis];
        position /= view->dims[axis];
        offset += indices[axis] * view->strides[axis];
    }
    tgi_strbuf_add(out, "[");
    for (int axis = 0; axis < view->rank; axis++)
        tgi_strbuf_addf(out, "%s%lld", axis ? "," : "",
                        (long long)indices[axis]);
    tgi_strbuf_add(out, "]");
    return view->data + offset * tgi_dtype_bytes(view->dtype);
}

static bool has_same_extents(const tgi_view *a, const tgi_view *b)
{
    bool is_same = a->rank == b->rank;
    for (int axis = 0; axis < a->rank && is_same; axis++)
        is_same = a->dims[axis] == b->dims[axis];
    return is_same;
}

/* The operand's element at the position, if it has the result's extents; else
   its range. */
static void add_operand(const tgi_view *operand, const tgi_view *result,
                        int64_t position, tgi_strbuf *out)
{
    char number[40];
    tgi_strbuf ignored = {0};
    if (has_same_extents(operand, result)) {
        const char *element = add_position(operand, position, &ignored);
        tgi_strbuf_deinit(&ignored);
        tgi_strbuf_add(out,
                       tgi_number_format(
                           tgi_dtype_load(operand->dtype, element), number,
                           sizeof(number)));
        return;
    }
    const search range = search_view(operand, 0);
    tgi_format_type(operand, out);
    if (range.min <= range.max)
        tgi_strbuf_addf(out, " from %g to %g", range.min, range.max);
}

static tg_status fail(const tgi_instance *instance, const tgi_node *node,
                      const tgi_view *result, const search *found)
{
    tgi_strbuf text = {0};
    tgi_strbuf_addf(&text, "%s: makes %s ", tgi_op_table[node->op].name,
                    isnan(found->value)  ? "NaN"
                    : found->value > 0 ? "infinity"
                                         : "-infinity");
    if (result->rank) {
        tgi_strbuf_add(&text, "at ");
        (void)add_position(result, found->position, &text);
    }
    tgi_strbuf_add(&text, result->rank ? " of " : "in ");
    tgi_format_type(result, &text);
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        tgi_strbuf_add(&text, i ? ", " : "; operands: ");
        add_operand(&instance->values[node->inputs[i]].view, result,
                    found->position, &text);
    }
    const tg_status status =
        text.failed ? tgi_error_memory()
                    : tgi_error_set(TG_ERROR_ASSERT, tgi_node_site(node), "%s",
                                    text.text);
    tgi_strbuf_deinit(&text);
    return status;
}

tg_status tgi_interp_check_step(const tgi_instance *instance,
                                const tgi_interp_step *step, unsigned kinds)
{
    const tgi_node *node = tgi_graph_node(instance->graph, step->ref);
    const tgi_view *result = &instance->values[step->ref].view;
    if (step->kind != TGI_INTERP_STEP_KERNEL)
        return TG_OK;
    const search found = search_view(result, kinds);
    if (found.position < 0)
        return TG_OK;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (search_view(&instance->values[node->inputs[i]].view,
                        kind_of(found.value))
                .position >= 0)
            return TG_OK; /* it came from there */
    return fail(instance, node, result, &found);
}
