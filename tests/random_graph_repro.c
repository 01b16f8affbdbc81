/* SPDX-License-Identifier: MIT */
/*
 * random_graph_repro.c - a run as a C program of its own (dump_repro.h). It is
 * written before the run, over that of the run before: the one that is left
 * when a check fails, or dies, is the program of what did it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "random_graph.h"

static void write_file(const char *path, const tgi_strbuf *text)
{
    FILE *file = fopen(path, "w");
    bool good = file && !text->failed && fputs(text->text, file) >= 0;
    if (file)
        good &= fclose(file) == 0;
    if (!good)
        printf("cannot write %s\n", path);
}

void rg_write_repro(const rg_checker *c, const rg_session *s,
                    const tg_concrete *concrete, int size,
                    const tgi_repro_settings *settings)
{
    const tgi_graph *graph = concrete->graph;
    if (!c->settings->repro || graph->callees.n)
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
