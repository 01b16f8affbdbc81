/* SPDX-License-Identifier: MIT */
/*
 * gradient_reason.c - explains why a target has no gradient with respect to a
 * source: names the last node on the path between them that blocks gradients.
 */
#include <string.h>

#include "gradient/gradient_reason.h"

#include "base/error.h"
#include "ir/dump.h"

/* Marks all dependents of `source`, differentiable or not. */
static void mark_dependents(const tgi_graph *graph, tgi_ref n,
                            bool *depends_on_source)
{
    for (tgi_ref ref = 1; ref <= n; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        for (uint32_t i = 0; i < node->n_inputs && !depends_on_source[ref]; i++)
            depends_on_source[ref] = depends_on_source[node->inputs[i]];
    }
}

static void add_site(tgi_strbuf *text, const tgi_node *node)
{
    if (node->site)
        tgi_strbuf_addf(text, " at %s:%d", node->site->file, node->site->line);
}

/* Describes the node that blocks the gradient. */
static void describe_barrier(const tgi_graph *graph, tgi_ref ref,
                             tgi_strbuf *text)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    if (node->op == TGI_OP_RESULT)
        node = tgi_graph_node(graph, node->inputs[0]);
    const char *name = tgi_op_table[node->op].name;
    if (node->op == TGI_OP_ASSIGN) {
        const tgi_node *variable = tgi_graph_node(graph, node->inputs[0]);
        tgi_strbuf_addf(text, "variable '%s' is assigned",
                        variable->name ? variable->name : "argument");
        add_site(text, node);
        tgi_strbuf_add(text, "; gradients do not flow through assignments");
    } else if (node->op == TGI_OP_HOST) {
        tgi_strbuf_add(text, "the host call");
        add_site(text, node);
        tgi_strbuf_add(text, " has no gradient");
    } else if (tgi_node_owns_graphs(node)) {
        tgi_strbuf_add(text, "the call, branch or loop");
        add_site(text, node);
        tgi_strbuf_add(text, " blocks gradients");
    } else if (!tgi_dtype_is(node->dtype, TGI_CLASS_REAL)) {
        tgi_strbuf_addf(text, "%s", name);
        add_site(text, node);
        tgi_strbuf_add(text, " returns ");
        tgi_type_print(graph, ref, text);
        tgi_strbuf_add(text, ", which has no gradient");
    } else {
        tgi_strbuf_addf(text, "%s", name);
        add_site(text, node);
        tgi_strbuf_add(text, " blocks gradients");
    }
}

/* The last node before the targets that blocks the gradient; 0: none. */
static tgi_ref find_barrier(const tgi_graph *graph, tgi_ref n,
                            const bool *is_active,
                            const bool *depends_on_source, bool *is_needed)
{
    for (tgi_ref ref = n; ref > 0; ref--) {
        if (!is_needed[ref] || !depends_on_source[ref])
            continue;
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (!is_active[ref] && tgi_node_has_active_input(node, is_active))
            return ref;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            is_needed[node->inputs[i]] = true;
    }
    return 0;
}

static bool describe_reason(const tgi_tape *tape, const tgi_ref *targets,
                            size_t n_targets, tgi_ref source, tgi_strbuf *text)
{
    const tgi_graph *graph = tape->graph;
    const size_t n = (size_t)tape->n + 1;
    bool *depends_on_source = tgi_alloc_zero(n), *is_needed = tgi_alloc_zero(n);
    if (!depends_on_source || !is_needed) {
        tgi_free(depends_on_source);
        tgi_free(is_needed);
        tgi_error_memory();
        return false;
    }
    depends_on_source[source] = true;
    mark_dependents(graph, tape->n, depends_on_source);
    bool does_depend = false;
    for (size_t i = 0; i < n_targets; i++) {
        does_depend |= depends_on_source[targets[i]];
        is_needed[targets[i]] = true;
    }
    tgi_ref barrier = 0;
    if (does_depend)
        barrier = find_barrier(graph, tape->n, tape->is_active,
                               depends_on_source, is_needed);
    if (barrier)
        describe_barrier(graph, barrier, text);
    else
        tgi_strbuf_addf(text, "the %s depend on it",
                        n_targets == 1 ? "target does not"
                                       : "targets do not");
    tgi_free(depends_on_source);
    tgi_free(is_needed);
    return true;
}

/* Records the text as a reason of the trace. */
static tg_value reason_value(tgi_tape *tape, tgi_strbuf *text)
{
    tg_trace *root = tgi_trace_root(tape->t);
    const char *interned =
        text->text ? tgi_graph_intern(root->graph, text->text) : NULL;
    if (!interned || !tgi_vec_push(&root->reasons, interned)) {
        tgi_error_memory();
        tgi_trace_record_error(tape->t);
        return (tg_value){0, 0};
    }
    return (tg_value){(uint32_t)root->reasons.n, 0};
}

tg_value tgi_gradient_missing_value(tgi_tape *tape, const tgi_ref *targets,
                                    size_t n_targets, tgi_ref source, size_t i)
{
    const tgi_graph *graph = tape->graph;
    const tgi_node *node = tgi_graph_node(graph, source);
    const tg_site site = tape->b.site;
    tgi_strbuf text = {0};
    if (site.file)
        tgi_strbuf_addf(&text, "%s:%d: ", site.file, site.line);
    tgi_strbuf_addf(&text, "gradients: source %zu", i);
    if (node->name)
        tgi_strbuf_addf(&text, " ('%s')", node->name);
    tgi_strbuf_add(&text, ": ");
    bool ok = true;
    if (!tgi_dtype_is(node->dtype, TGI_CLASS_REAL)) {
        tgi_strbuf_add(&text, "it is ");
        tgi_type_print(graph, source, &text);
        tgi_strbuf_add(&text, ", and only float types have gradients");
    } else {
        ok = describe_reason(tape, targets, n_targets, source, &text);
    }
    const tg_value value =
        ok ? reason_value(tape, &text) : (tg_value){0, 0};
    tgi_strbuf_deinit(&text);
    return value;
}
