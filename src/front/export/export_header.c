/* SPDX-License-Identifier: MIT */
/*
 * export_header.c - see export_header.h. Parameters are named in0, var1, out0;
 * the names of variables, which need not be C identifiers, are in a comment.
 */
#include "front/export/export_header.h"

#include <ctype.h>
#include <string.h>

#include "front/object/variable_object.h"

typedef struct writer {
    const tg_concrete *c;
    const tgi_export_options *options;
    const tgi_exported *exported;
    tgi_strbuf *out;
} writer;

static const char *c_type(int dtype)
{
    static const char *const types[TGI_DTYPES] = {
#define DTYPE(ID, NAME, TYPE, ...) [TG_##ID] = #TYPE,
#include "base/dtype.def"
#undef DTYPE
    };
    return types[dtype];
}

/* Replaces characters that could end the comment. */
static void write_name(const writer *w, const char *name)
{
    for (; *name; name++) {
        const bool is_plain =
            isalnum((unsigned char)*name) || strchr("_-.:[] ", *name);
        tgi_strbuf_add_bytes(w->out, is_plain ? name : "_", 1);
    }
}

/* -- Parameters ------------------------------------------------------------ */

static bool is_variable_param(const writer *w, size_t param)
{
    const tgi_graph *graph = w->c->graph;
    return tgi_graph_node(graph, graph->params.data[param].node)->op ==
           TGI_OP_VARIABLE;
}

static void write_spec(const writer *w, const char *kind, size_t number,
                       tgi_ref ref)
{
    const tgi_graph *graph = w->c->graph;
    const tgi_shape *shape = tgi_graph_shape(graph, ref);
    tgi_strbuf_addf(w->out, " *   %s%zu: %s", kind, number,
                    tgi_dtype_table[tgi_graph_node(graph, ref)->dtype].name);
    tgi_shape_print(graph->dims, shape, w->out);
}

/* Names the argument or captured variable of a parameter. */
static void write_origin(const writer *w, size_t param)
{
    const tg_concrete *c = w->c;
    if (param >= c->n_arg_params) {
        tgi_strbuf_add(w->out, ", captured variable ");
        write_name(w, c->captures.data[param - c->n_arg_params]->name);
        return;
    }
    const tgi_arg *arg = &c->spec.list.data[c->param_arg[param]];
    tgi_strbuf_addf(w->out, ", argument %u", arg->operand);
    if (arg->member) {
        tgi_strbuf_add(w->out, ", member ");
        write_name(w, arg->member);
    }
}

static void describe_param(const writer *w, size_t i)
{
    const tgi_param *param = &w->c->graph->params.data[i];
    write_spec(w, is_variable_param(w, i) ? "var" : "in", i, param->node);
    write_origin(w, i);
    if (is_variable_param(w, i))
        tgi_strbuf_addf(w->out, " (%s)",
                        !param->is_written ? "read"
                        : param->is_read   ? "read and written"
                                           : "written");
    tgi_strbuf_add(w->out, "\n");
}

static void declare_param(const writer *w, size_t i)
{
    const tgi_param *param = &w->c->graph->params.data[i];
    const int dtype = tgi_graph_node(w->c->graph, param->node)->dtype;
    if (tgi_export_is_by_value(w->c->graph, i))
        tgi_strbuf_addf(w->out, "%s in%zu", c_type(dtype), i);
    else
        tgi_strbuf_addf(w->out, "%s%s *%s%zu",
                        param->is_written ? "" : "const ", c_type(dtype),
                        is_variable_param(w, i) ? "var" : "in", i);
}

/* -- Text ------------------------------------------------------------------ */

static void write_description(const writer *w)
{
    const tgi_graph *graph = w->c->graph;
    tgi_strbuf_add(w->out, "/*\n");
    for (size_t i = 0; i < graph->params.n; i++)
        describe_param(w, i);
    for (size_t i = 0; i < graph->results.n; i++) {
        write_spec(w, "out", i, graph->results.data[i]);
        tgi_strbuf_addf(w->out, ", result %zu\n", i);
    }
    tgi_strbuf_addf(
        w->out,
        " *\n"
        " * Elements are in row-major order. Memory that is written must not "
        "overlap other\n"
        " * memory. A pointer may be NULL only if it has no elements.\n");
    if (w->exported->memory_bytes && !w->options->takes_memory)
        tgi_strbuf_addf(w->out,
                        " * Temporaries (%lld bytes) are static: calls must "
                        "not be concurrent.\n",
                        (long long)w->exported->memory_bytes);
    if (w->options->takes_memory)
        tgi_strbuf_addf(w->out,
                        " * memory: %s_memory_bytes\n"
                        " * bytes, aligned to %d, not shared by concurrent "
                        "calls; NULL if 0.\n",
                        w->options->symbol, TGI_BUFFER_ALIGN);
    if (w->exported->threads > 1)
        tgi_strbuf_addf(w->out,
                        " * A call uses up to %d threads: link -ltgjit-aot "
                        "(pkg-config tgjit-aot).\n",
                        w->exported->threads);
    tgi_strbuf_add(w->out,
                   graph->may_fail
                       ? " * Returns 0, or 1 if an index is out of range; then "
                         "results are undefined.\n"
                       : " * Returns 0.\n");
    tgi_strbuf_add(w->out, " */\n");
}

static void write_declaration(const writer *w)
{
    const tgi_graph *graph = w->c->graph;
    const char *between = "\n    ";
    tgi_strbuf_addf(w->out, "int %s(", w->options->symbol);
    for (size_t i = 0; i < graph->params.n; i++, between = ",\n    ") {
        tgi_strbuf_add(w->out, between);
        declare_param(w, i);
    }
    for (size_t i = 0; i < graph->results.n; i++, between = ",\n    ")
        tgi_strbuf_addf(
            w->out, "%s%s *out%zu", between,
            c_type(tgi_graph_node(graph, graph->results.data[i])->dtype), i);
    if (w->options->takes_memory)
        tgi_strbuf_addf(w->out, "%svoid *memory", between);
    else if (graph->params.n + graph->results.n == 0)
        tgi_strbuf_add(w->out, "void");
    tgi_strbuf_add(w->out, ");\n");
}

void tgi_export_header(const tg_concrete *concrete,
                       const tgi_export_options *options,
                       const tgi_exported *exported, tgi_strbuf *out)
{
    const writer w = {concrete, options, exported, out};
    const char *symbol = options->symbol;
    tgi_strbuf_add(out, "/* Function ");
    write_name(&w, concrete->name);
    tgi_strbuf_addf(out,
                    ", compiled by libtgjit %s for %s. */\n"
                    "#ifndef TGJIT_EXPORT_OF_%s\n"
                    "#define TGJIT_EXPORT_OF_%s\n\n"
                    "#include <stdint.h>\n\n",
                    tg_version(), options->cpu ? options->cpu : "host", symbol,
                    symbol);
    if (options->takes_memory)
        tgi_strbuf_addf(out, "#define %s_memory_bytes INT64_C(%lld)\n\n",
                        symbol, (long long)exported->memory_bytes);
    tgi_strbuf_add(out, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    write_description(&w);
    write_declaration(&w);
    tgi_strbuf_addf(out,
                    "\n#ifdef __cplusplus\n}\n#endif\n\n"
                    "#endif /* TGJIT_EXPORT_OF_%s */\n",
                    symbol);
}
