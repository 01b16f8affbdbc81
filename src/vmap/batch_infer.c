/* SPDX-License-Identifier: MIT */
/*
 * batch_infer.c - which values depend on the element: those with an input that
 * does. Of a loop this is a fixed point over its carried values. Recursion is
 * bounded by TG_MAX_NESTING.
 *
 * A stack without a bound, on which a loop with an unknown number of iterations
 * saves values for its gradient, cannot get another axis: then all elements run
 * one after the other.
 */
#include <string.h>

#include "batch.h"

/* -- Effects --------------------------------------------------------------- */

const tgi_graph *tgi_batch_callee(const tgi_node *call)
{
    const tgi_attr_call *attr = call->attr;
    return attr->traced ? attr->traced : attr->callee;
}

const tgi_node *tgi_batch_find_effect(const tgi_graph *in)
{
    for (tgi_ref ref = 1; in->has_effects && ref <= in->n_nodes; ref++) {
        const tgi_node *node = tgi_graph_node(in, ref);
        if (node->op == TGI_OP_HOST
                ? !((const tgi_attr_host *)node->attr)->maps_leading_axes
                : tgi_op_has(node->op, TGI_FLAG_EFFECT))
            return node;
        const tgi_regions regions = tgi_node_regions(node);
        for (size_t i = 0; i < regions.n; i++) {
            const tgi_node *found = tgi_batch_find_effect(regions.graphs[i]);
            if (found)
                return found;
        }
    }
    return NULL;
}

/* -- Nodes that own graphs ------------------------------------------------- */

static tgi_batch_verdict infer_switch(const tgi_node *node, const bool *inputs,
                                      bool is_masked, bool *out_results)
{
    const tgi_attr_regions *attr = node->attr;
    const size_t n = attr->graphs[0]->results.n;
    bool *results = tgi_alloc_zero(n + 1);
    tgi_batch_verdict verdict = results ? TGI_BATCH_OK : TGI_BATCH_FAILED;
    if (!results)
        tgi_error_memory();
    memset(out_results, inputs[0], n);
    for (int64_t i = 0; verdict == TGI_BATCH_OK && i < attr->n_graphs; i++) {
        verdict = tgi_batch_infer(attr->graphs[i], inputs,
                                  is_masked || inputs[0], results);
        for (size_t k = 0; k < n; k++)
            out_results[k] |= results[k];
    }
    tgi_free(results);
    return verdict;
}

/* One step of the fixed point: `params` and *differ grow. */
static tgi_batch_verdict step_loop(const tgi_attr_regions *attr, bool is_masked,
                                   bool *params, bool *results, bool *differ)
{
    const bool has_test = attr->n_graphs > 1;
    bool is_tested = false;
    tgi_batch_verdict verdict = TGI_BATCH_OK;
    if (has_test)
        verdict = tgi_batch_infer(attr->graphs[1], params, is_masked || *differ,
                                  &is_tested);
    *differ |= is_tested;
    if (verdict == TGI_BATCH_OK)
        verdict = tgi_batch_infer(attr->graphs[0], params, is_masked || *differ,
                                  results);
    return verdict;
}

static tgi_batch_verdict infer_loop(const tgi_node *node, const bool *inputs,
                                    bool is_masked, bool *out_results,
                                    bool *out_differ)
{
    const tgi_attr_regions *attr = node->attr;
    bool *params = tgi_alloc_zero((size_t)node->n_inputs + 1);
    if (!params) {
        tgi_error_memory();
        return TGI_BATCH_FAILED;
    }
    memcpy(params, inputs, node->n_inputs);
    params[0] = false; /* the iteration */
    *out_differ = inputs[0] || (is_masked && attr->n_graphs > 1);
    tgi_batch_verdict verdict = TGI_BATCH_OK;
    bool changed = true;
    while (verdict == TGI_BATCH_OK && changed) {
        changed = false;
        verdict = step_loop(attr, is_masked, params, out_results, out_differ);
        for (int64_t k = 0; k < attr->n_carried; k++) {
            const bool depends = out_results[k] || *out_differ;
            changed |= depends && !params[k + 1];
            params[k + 1] |= depends;
        }
    }
    /* With zero iterations, results are the initial values. */
    for (int64_t k = 0; k < attr->n_carried; k++)
        out_results[k] = params[k + 1];
    if (verdict == TGI_BATCH_OK && *out_differ &&
        attr->graphs[0]->results.n > (size_t)attr->n_carried)
        verdict = TGI_BATCH_SEQUENCE;
    tgi_free(params);
    return verdict;
}

tgi_batch_verdict tgi_batch_infer_node(const tgi_node *node, const bool *inputs,
                                       bool is_masked, bool *out_results,
                                       bool *out_differ)
{
    *out_differ = false;
    if (node->op == TGI_OP_LOOP)
        return infer_loop(node, inputs, is_masked, out_results, out_differ);
    if (node->op == TGI_OP_SWITCH)
        return infer_switch(node, inputs, is_masked, out_results);
    if (node->op == TGI_OP_CALL)
        return tgi_batch_infer(tgi_batch_callee(node), inputs, is_masked,
                               out_results);
    bool depends = is_masked;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        depends |= inputs[i];
    memset(out_results, depends, tgi_node_n_results(node));
    return TGI_BATCH_OK;
}

/* -- Graphs ---------------------------------------------------------------- */

/* The results of nodes with results. */
typedef struct inferred {
    uint32_t *first; /* by ref: index + 1 of its first result … */
    TGI_VEC(bool) results; /* … in this list */
    bool *differ;    /* by ref of a LOOP */
} inferred;

static tgi_batch_verdict infer_results(const tgi_graph *in, tgi_ref ref,
                                       const bool *values, bool is_masked,
                                       inferred *known)
{
    const tgi_node *node = tgi_graph_node(in, ref);
    const size_t n = tgi_node_n_results(node);
    bool *inputs = tgi_alloc((size_t)node->n_inputs + 1);
    if (!inputs || !tgi_vec_reserve(&known->results, known->results.n + n)) {
        tgi_free(inputs);
        tgi_error_memory();
        return TGI_BATCH_FAILED;
    }
    for (uint32_t i = 0; i < node->n_inputs; i++)
        inputs[i] = values[node->inputs[i]];
    bool *results = known->results.data + known->results.n;
    memset(results, 0, n);
    known->first[ref] = (uint32_t)known->results.n + 1;
    known->results.n += n;
    const tgi_batch_verdict verdict = tgi_batch_infer_node(
        node, inputs, is_masked, results, &known->differ[ref]);
    tgi_free(inputs);
    return verdict;
}

/* A picked result; its value is unbounded, or tells about iterations. */
static tgi_batch_verdict infer_result(const tgi_graph *in, tgi_ref ref,
                                      const inferred *known, bool *values)
{
    const tgi_node *node = tgi_graph_node(in, ref);
    const tgi_ref region = node->inputs[0];
    const int64_t index = tgi_node_index(node);
    const bool is_batched =
        index < 0 ? known->differ[region]
                  : known->results.data[known->first[region] - 1 +
                                        (size_t)index];
    values[ref] = is_batched;
    if (index == TGI_RESULT_STACK_BASE)
        return TGI_BATCH_SEQUENCE;
    return is_batched && (index < 0 || tgi_graph_is_unbounded(in, ref))
               ? TGI_BATCH_SEQUENCE
               : TGI_BATCH_OK;
}

static tgi_batch_verdict infer_node(const tgi_graph *in, tgi_ref ref,
                                    bool is_masked, inferred *known,
                                    bool *values)
{
    const tgi_node *node = tgi_graph_node(in, ref);
    if (node->op == TGI_OP_RESULT)
        return infer_result(in, ref, known, values);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        values[ref] |= values[node->inputs[i]];
    if (tgi_node_owns_graphs(node) || node->op == TGI_OP_HOST)
        return infer_results(in, ref, values, is_masked, known);
    return values[ref] && node->shape && tgi_graph_is_unbounded(in, ref)
               ? TGI_BATCH_SEQUENCE
               : TGI_BATCH_OK;
}

tgi_batch_verdict tgi_batch_infer(const tgi_graph *in, const bool *params,
                                  bool is_masked, bool *out_results)
{
    const size_t n = (size_t)in->n_nodes + 1;
    bool *values = tgi_alloc_zero(n);
    inferred known = {.first = tgi_alloc_zero(n * sizeof(*known.first)),
                      .differ = tgi_alloc_zero(n)};
    tgi_batch_verdict verdict = TGI_BATCH_OK;
    if (!values || !known.first || !known.differ) {
        tgi_error_memory();
        verdict = TGI_BATCH_FAILED;
    }
    for (size_t i = 0; verdict == TGI_BATCH_OK && i < in->params.n; i++)
        values[in->params.data[i].node] = params[i];
    for (tgi_ref ref = 1; verdict == TGI_BATCH_OK && ref <= in->n_nodes; ref++)
        verdict = infer_node(in, ref, is_masked, &known, values);
    for (size_t i = 0; verdict == TGI_BATCH_OK && i < in->results.n; i++)
        out_results[i] = values[in->results.data[i]];
    tgi_free(values);
    tgi_free(known.first);
    tgi_free(known.differ);
    tgi_vec_deinit(&known.results);
    return verdict;
}
