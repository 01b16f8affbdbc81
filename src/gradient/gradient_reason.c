/* SPDX-License-Identifier: MIT */
/*
 * gradient_reason.c - why a target has no gradient with respect to a source:
 * the last place on the way from the one to the other that lets none pass.
 */
#include <string.h>

#include "gradient/gradient_reason.h"

#include "base/error.h"
#include "ir/dump.h"

/* Marks all that depends on `source`, whether or not by a derivative. */
static void mark_users(const tgi_graph *graph, tgi_ref n, bool *marks)
{
    for (tgi_ref ref = 1; ref <= n; ref++) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        for (uint32_t i = 0; i < node->n_inputs && !marks[ref]; i++)
            marks[ref] = marks[node->inputs[i]];
    }
}

/* Whether a node is the end of a way on which there is a derivative. */
static bool is_end(const tgi_node *node, const bool *is_active)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (is_active[node->inputs[i]])
            return true;
    return false;
}

static void add_place(tgi_strbuf *text, const tgi_node *node)
{
    if (node->file)
        tgi_strbuf_addf(text, " at %s:%d", node->file, node->line);
}

/* What is said of the node where it ends. */
static void blame(const tgi_graph *graph, tgi_ref ref, tgi_strbuf *text)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    if (node->op == TGI_OP_RESULT)
        node = tgi_graph_node(graph, node->inputs[0]);
    const char *name = tgi_op_table[node->op].name;
    if (node->op == TGI_OP_ASSIGN) {
        const tgi_node *variable = tgi_graph_node(graph, node->inputs[0]);
        tgi_strbuf_addf(text, "variable '%s' is assigned",
                        variable->name ? variable->name : "argument");
        add_place(text, node);
        tgi_strbuf_add(text, ", and assignments let no gradient pass");
    } else if (node->op == TGI_OP_HOST) {
        tgi_strbuf_add(text, "the host call");
        add_place(text, node);
        tgi_strbuf_add(text, " has no gradient");
    } else if (tgi_node_owns_graphs(node)) {
        tgi_strbuf_add(text, "what happens inside the call, branch or loop");
        add_place(text, node);
        tgi_strbuf_add(text, " lets no gradient pass");
    } else if (!tgi_dtype_is(node->dtype, TGI_CLASS_FLOAT)) {
        tgi_strbuf_addf(text, "%s", name);
        add_place(text, node);
        tgi_strbuf_add(text, " gives ");
        tgi_type_print(graph, ref, text);
        tgi_strbuf_add(text, ", which has no gradient");
    } else {
        tgi_strbuf_addf(text, "%s", name);
        add_place(text, node);
        tgi_strbuf_add(text, " lets no gradient pass");
    }
}

/* The last node before the targets at which derivatives end; 0: none. */
static tgi_ref find_end(const tgi_graph *graph, tgi_ref n,
                        const bool *is_active, const bool *marks,
                        bool *is_needed)
{
    for (tgi_ref ref = n; ref > 0; ref--) {
        if (!is_needed[ref] || !marks[ref])
            continue;
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (!is_active[ref] && is_end(node, is_active))
            return ref;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            is_needed[node->inputs[i]] = true;
    }
    return 0;
}

static bool describe(const tgi_tape *tape, const tgi_ref *targets,
                     size_t n_targets, tgi_ref source, tgi_strbuf *text)
{
    const tgi_graph *graph = tape->graph;
    const size_t n = (size_t)tape->n + 1;
    bool *marks = tgi_alloc_zero(n), *is_needed = tgi_alloc_zero(n);
    if (!marks || !is_needed) {
        tgi_free(marks);
        tgi_free(is_needed);
        tgi_error_memory();
        return false;
    }
    marks[source] = true;
    mark_users(graph, tape->n, marks);
    bool depends = false;
    for (size_t i = 0; i < n_targets; i++) {
        depends |= marks[targets[i]];
        is_needed[targets[i]] = true;
    }
    tgi_ref end = 0;
    if (depends)
        end = find_end(graph, tape->n, tape->is_active, marks, is_needed);
    if (end)
        blame(graph, end, text);
    else
        tgi_strbuf_addf(text, "the %s depend on it",
                        n_targets == 1 ? "target does not"
                                       : "targets do not");
    tgi_free(marks);
    tgi_free(is_needed);
    return true;
}

/* Keeps the text as a reason of the trace. */
static tg_value reason_value(tgi_tape *tape, tgi_strbuf *text)
{
    tg_trace *root = tgi_trace_root(tape->t);
    const char *own =
        text->text ? tgi_graph_intern(root->graph, text->text) : NULL;
    if (!own || !tgi_vec_push(&root->reasons, own)) {
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
    if (!tgi_dtype_is(node->dtype, TGI_CLASS_FLOAT)) {
        tgi_strbuf_add(&text, "it is ");
        tgi_type_print(graph, source, &text);
        tgi_strbuf_add(&text, ", and only float types have gradients");
    } else {
        ok = describe(tape, targets, n_targets, source, &text);
    }
    const tg_value value =
        ok ? reason_value(tape, &text) : (tg_value){0, 0};
    tgi_strbuf_deinit(&text);
    return value;
}
