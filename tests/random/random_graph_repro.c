/* SPDX-License-Identifier: MIT */
/*
 * random_graph_repro.c - writes a run as a standalone C program (dump_repro.h),
 * before the run, overwriting the previous one: after a failure or crash, the
 * file reproduces it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "random/random_graph.h"

static void write_file(const char *path, const tgi_strbuf *text)
{
    FILE *file = fopen(path, "w");
    bool good = file && !text->failed && fputs(text->text, file) >= 0;
    if (file)
        good &= fclose(file) == 0;
    if (!good)
        printf("cannot write %s\n", path);
}

/* A standalone program lacks the host functions. */
static bool calls_host(const tgi_graph *graph)
{
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        if (tgi_graph_node(graph, ref)->op == TGI_OP_HOST)
            return true;
    return false;
}

void rg_write_repro(const rg_checker *c, const rg_session *s,
                    const tg_concrete *concrete, int size,
                    const tgi_repro_settings *settings)
{
    const tgi_graph *graph = concrete->graph;
    if (!c->settings->repro || graph->callees.n || calls_host(graph))
        return;
    rg_buffers b;
    rg_buffers_init(&b, s, concrete, graph, size, false, 0);
    int64_t *values = tgi_arena_alloc(
        &b.arena, (tgi_dims_n_values(graph->dims) + 1) * sizeof(*values));
    if (!values)
        abort();
    if (tgi_dims_evaluate(graph->dims, b.symbols, values) == TG_OK) {
        tgi_strbuf text = {0};
        tgi_dump_repro(graph, values, b.params, settings, &text);
        write_file(c->settings->repro, &text);
        tgi_strbuf_deinit(&text);
    }
    rg_buffers_deinit(&b);
}
