/* SPDX-License-Identifier: MIT */
/*
 * ops_einsum.c - tg_einsum and tg_dot_general, two notations for contractions.
 * Both become terms of labels (einsum.h).
 */
#include <assert.h>

#include "base/vec.h"
#include "build/einsum.h"
#include "front/trace/trace_state.h"
#include "ir/dump.h"

/* -- Einsum ---------------------------------------------------------------- */

typedef struct inputs {
    TGI_VEC(tgi_ref) refs;
    TGI_VEC(int) ranks;
    TGI_VEC(tgi_einsum_term) terms;
} inputs;

static void inputs_deinit(inputs *list)
{
    tgi_vec_deinit(&list->refs);
    tgi_vec_deinit(&list->ranks);
    tgi_vec_deinit(&list->terms);
}

/* Converts operands to nodes and allocates their terms. */
static bool add_operands(tgi_operation *o, const tg_operand *in, size_t n,
                         inputs *list)
{
    if (!tgi_vec_reserve(&list->refs, n) || !tgi_vec_reserve(&list->ranks, n) ||
        !tgi_vec_reserve(&list->terms, n)) {
        tgi_error_memory();
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        list->refs.data[i] = tgi_operation_operand(o, in[i]);
        if (!list->refs.data[i])
            return false;
        list->ranks.data[i] =
            tgi_graph_shape(o->t->graph, list->refs.data[i])->rank;
    }
    return true;
}

static void fail_spec(tgi_builder *b, const char *spec, const inputs *list,
                      size_t n, const tgi_einsum_error *error)
{
    tgi_strbuf text = {0};
    tgi_quote(spec, '"', &text);
    tgi_build_fail(b, error->status, list->refs.data, n, "%s: %s",
                   text.text ? text.text : "?", error->text);
    tgi_strbuf_deinit(&text);
}

static tgi_ref build_einsum_of(tgi_operation *o, const char *spec,
                               const tg_operand *in, size_t n)
{
    if (!spec)
        return tgi_build_fail(&o->b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              "the labels are NULL");
    if (!n || !in)
        return tgi_build_fail(&o->b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              n ? "operands are NULL"
                                : "there are no operands");
    inputs list = {0};
    tgi_einsum_term result;
    tgi_einsum_error error;
    tgi_ref ref = 0;
    if (add_operands(o, in, n, &list)) {
        if (tgi_einsum_parse(spec, list.ranks.data, n, list.terms.data, &result,
                             &error))
            ref = tgi_build_einsum(&o->b, list.refs.data, list.terms.data, n,
                                   &result, spec);
        else
            fail_spec(&o->b, spec, &list, n, &error);
    }
    inputs_deinit(&list);
    return ref;
}

tg_value tg_einsum_at(const char *spec, const tg_operand *operands,
                      size_t n_operands, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "einsum", site))
        result = build_einsum_of(&o, spec, operands, n_operands);
    return tgi_operation_end(&o, result);
}

/* -- Dot general ----------------------------------------------------------- */

static_assert(2 * TG_MAX_RANK <= TGI_LETTERS, "a label for every axis");

/* Assigns the labels first, first + 1 … to axes of an operand. False and an
   error if an axis is invalid or already has a label. */
static bool label_axes(tgi_builder *b, tgi_ref x, tg_axes axes, int first,
                       uint64_t *labelled, tgi_einsum_term *term)
{
    if (axes.n < 0 || axes.n > TG_MAX_RANK || axes.keep) {
        tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                       axes.n > TG_MAX_RANK ? "too many axes"
                                            : "axes must be listed explicitly");
        return false;
    }
    for (int i = 0; i < axes.n; i++) {
        const int axis = tgi_build_axis(b, x, axes.axis[i]);
        if (axis < 0)
            return false;
        if (*labelled >> axis & 1) {
            tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1, "axis %d is repeated",
                           axis);
            return false;
        }
        *labelled |= UINT64_C(1) << axis;
        term->label[axis] = (uint8_t)(first + i);
    }
    return true;
}

/*
 * Labels, in order: batch axes, contracted axes, other axes of a, other axes of
 * b.
 */
static tgi_ref build_dot_general(tgi_builder *b, tgi_ref x, tgi_ref y,
                                 const tg_dot_axes *axes)
{
    tgi_ref pair[] = {x, y};
    tgi_einsum_term terms[2] = {{0}}, result = {0};
    const tg_axes batch[] = {axes->batch_a, axes->batch_b};
    const tg_axes inner[] = {axes->contract_a, axes->contract_b};
    if (!x || !y)
        return 0;
    if (batch[0].n != batch[1].n || inner[0].n != inner[1].n)
        return tgi_build_fail(
            b, TG_ERROR_SHAPE, pair, 2, "numbers of %s axes differ",
            batch[0].n != batch[1].n ? "batch" : "contracted");

    int next = batch[0].n + inner[0].n, n_result = batch[0].n;
    for (int i = 0; i < 2; i++) {
        uint64_t labelled = 0;
        const int rank = tgi_graph_shape(b->graph, pair[i])->rank;
        if (!label_axes(b, pair[i], batch[i], 0, &labelled, &terms[i]) ||
            !label_axes(b, pair[i], inner[i], batch[i].n, &labelled, &terms[i]))
            return 0;
        terms[i].rank = rank;
        for (int axis = 0; axis < rank; axis++)
            if (!(labelled >> axis & 1)) {
                if (n_result < TG_MAX_RANK)
                    result.label[n_result] = (uint8_t)next;
                terms[i].label[axis] = (uint8_t)next++;
                n_result++;
            }
    }
    if (n_result > TG_MAX_RANK)
        return tgi_build_fail(b, TG_ERROR_OVERFLOW, pair, 2,
                              "the result has %d axes, more than %d", n_result,
                              TG_MAX_RANK);
    for (int i = 0; i < batch[0].n; i++)
        result.label[i] = (uint8_t)i;
    result.rank = n_result;
    return tgi_build_einsum(b, pair, terms, 2, &result, NULL);
}

tg_value tg_dot_general_at(tg_operand a, tg_operand b, tg_dot_axes axes,
                           tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "dot_general", site)) {
        tgi_ref left = tgi_operation_operand(&o, a);
        result =
            build_dot_general(&o.b, left, tgi_operation_operand(&o, b), &axes);
    }
    return tgi_operation_end(&o, result);
}
