/* SPDX-License-Identifier: MIT */
/*
 * dump.c - a graph as text, one node per line:
 *
 *     graph norm(%1: f32[64,?0], %2: variable f32[784]) {
 *       %3 = constant f32[] 0.5
 *       %4 'half' = broadcast f32[64,?0] %3
 *       %5 = call scale#1 %1, %2
 *       check equal 784 ?0 "inner dimensions"
 *       return %4
 *     }
 *
 * Callees and regions follow as separate graphs. A table of printers by op
 * formats attributes, here and in dump_dot.c.
 */
#include "ir/dump.h"

#include <string.h>

#include "tgjit/ops.h"

/* Constants print this many elements; longer ones end with a hash. */
#define SHOWN_ELEMENTS 8

/* -- Lists of graphs ------------------------------------------------------- */

static uint64_t hash_pointer(const tgi_graph *graph)
{
    return tgi_hash(&graph, sizeof graph, 0);
}

/* The position in the list, from 1; 0 if absent. */
static uint32_t list_position(const tgi_graph_list *list,
                              const tgi_graph *graph)
{
    uint64_t hash = hash_pointer(graph);
    size_t probe = 0;
    uint32_t position;
    while ((position = tgi_index_next(&list->index, hash, &probe)))
        if (list->graphs.data[position - 1] == graph)
            return position;
    return 0;
}

static bool list_add(tgi_graph_list *list, const tgi_graph *graph)
{
    return list_position(list, graph) ||
           (tgi_vec_push(&list->graphs, graph) &&
            tgi_index_add(&list->index, hash_pointer(graph),
                          (uint32_t)list->graphs.n));
}

bool tgi_graph_list_init(tgi_graph_list *list, const tgi_graph *graph)
{
    *list = (tgi_graph_list){0};
    bool ok = list_add(list, graph);
    /* The list is also the queue of the breadth-first search. */
    for (size_t i = 0; ok && i < list->graphs.n; i++) {
        const tgi_graph *caller = list->graphs.data[i];
        for (size_t k = 0; ok && k < caller->callees.n; k++)
            ok = list_add(list, caller->callees.data[k]);
    }
    if (!ok)
        tgi_graph_list_deinit(list);
    return ok;
}

size_t tgi_graph_list_find(const tgi_graph_list *list, const tgi_graph *graph)
{
    return list_position(list, graph) - 1;
}

void tgi_graph_list_deinit(tgi_graph_list *list)
{
    tgi_vec_deinit(&list->graphs);
    tgi_index_deinit(&list->index);
}

void tgi_graph_label(const tgi_graph_list *list, size_t i, tgi_strbuf *out)
{
    const char *name = list->graphs.data[i]->name;
    tgi_strbuf_add(out, *name ? name : "graph");
    if (i > 0)
        tgi_strbuf_addf(out, "#%zu", i);
}

void tgi_regions_print(const tgi_graph_list *list, const tgi_node *node,
                       tgi_strbuf *out)
{
    const tgi_regions regions = tgi_node_regions(node);
    for (size_t i = 0; i < regions.n; i++) {
        tgi_strbuf_add(out, " ");
        tgi_graph_label(list, tgi_graph_list_find(list, regions.graphs[i]),
                        out);
    }
}

/* -- Text ------------------------------------------------------------------ */

void tgi_quote(const char *text, char quote, tgi_strbuf *out)
{
    tgi_strbuf_add_bytes(out, &quote, 1);
    for (const char *c = text; *c; c++) {
        if (*c == quote || *c == '\\')
            tgi_strbuf_addf(out, "\\%c", *c);
        else if (*c == '\n')
            tgi_strbuf_add(out, "\\n");
        else if ((unsigned char)*c < ' ' || *c == 0x7f)
            tgi_strbuf_addf(out, "\\x%02x", (unsigned char)*c);
        else
            tgi_strbuf_add_bytes(out, c, 1);
    }
    tgi_strbuf_add_bytes(out, &quote, 1);
}

void tgi_type_print(const tgi_graph *graph, tgi_ref ref, tgi_strbuf *out)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    tgi_strbuf_add(out, tg_dtype_name((tg_dtype)node->dtype));
    if (node->shape)
        tgi_shape_print(graph->dims, tgi_graph_shape(graph, ref), out);
}

static void print_dims(const tgi_graph *graph, const char *label, int rank,
                       const tgi_dim *dims, tgi_strbuf *out)
{
    tgi_strbuf_addf(out, " %s=[", label);
    for (int i = 0; i < rank; i++) {
        tgi_strbuf_add(out, i ? "," : "");
        tgi_dim_print(graph->dims, dims[i], out);
    }
    tgi_strbuf_add(out, "]");
}

static void print_numbers(const char *label, int n, const int64_t *numbers,
                          tgi_strbuf *out)
{
    tgi_strbuf_addf(out, " %s=[", label);
    for (int i = 0; i < n; i++)
        tgi_strbuf_addf(out, "%s%lld", i ? "," : "", (long long)numbers[i]);
    tgi_strbuf_add(out, "]");
}

/* -- Attributes ------------------------------------------------------------ */

/* The arguments of an attribute printer. */
typedef struct attr_context {
    const tgi_graph *graph;
    const tgi_node *node;
    int rank; /* of the result */
} attr_context;

typedef void attr_printer(const attr_context *s, tgi_strbuf *out);

static void print_axis(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_index *attr = s->node->attr;
    tgi_strbuf_addf(out, " axis=%lld", (long long)attr->index);
}

static void print_index(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_index *attr = s->node->attr;
    tgi_strbuf_addf(out, " index=%lld", (long long)attr->index);
}

static void print_extent(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_index *attr = s->node->attr;
    tgi_strbuf_add(out, " ");
    tgi_dim_print(s->graph->dims, attr->index, out);
}

static void print_axes(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_axes *attr = s->node->attr;
    int64_t axes[64];
    int n = 0;
    for (int axis = 0; axis < 64; axis++)
        if (attr->mask >> axis & 1)
            axes[n++] = axis;
    print_numbers("axes", n, axes, out);
}

static void print_perm(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_perm *attr = s->node->attr;
    int64_t perm[TG_MAX_RANK];
    for (int i = 0; i < s->rank; i++)
        perm[i] = attr->perm[i];
    print_numbers("perm", s->rank, perm, out);
}

static void print_slice(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_slice *attr = s->node->attr;
    print_dims(s->graph, "start", s->rank, attr->start, out);
    print_numbers("step", s->rank, attr->step, out);
}

static void print_pad(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_pad *attr = s->node->attr;
    print_dims(s->graph, "low", s->rank, attr->low, out);
    print_dims(s->graph, "high", s->rank, attr->high, out);
    print_numbers("interior", s->rank, attr->interior, out);
}

static void print_gather(const attr_context *s, tgi_strbuf *out)
{
    static const char *const modes[] = {
        [TG_GATHER_CHECK] = "check",
        [TG_GATHER_CLAMP] = "clamp",
        [TG_GATHER_ZERO] = "zero",
    };
    const tgi_attr_gather *attr = s->node->attr;
    bool is_known = attr->mode >= 0 && attr->mode <= TG_GATHER_ZERO;
    tgi_strbuf_addf(out, " axis=%lld mode=%s", (long long)attr->axis,
                    is_known ? modes[attr->mode] : "?");
}

static void print_scatter(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_scatter *attr = s->node->attr;
    tgi_strbuf_addf(out, " axis=%lld mode=%s range=%s", (long long)attr->axis,
                    attr->mode < TG_SCATTER_SET || attr->mode > TG_SCATTER_MIN
                        ? "?"
                    : attr->mode == TG_SCATTER_SET
                        ? "set"
                        : tgi_op_table[tgi_scatter_op(attr->mode)].name,
                    attr->range == TG_SCATTER_CHECK  ? "check"
                    : attr->range == TG_SCATTER_DROP ? "drop"
                                                     : "?");
}

static void print_matmul(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_matmul *attr = s->node->attr;
    if (attr->flags & TG_TRANSPOSE_A)
        tgi_strbuf_add(out, " transpose_a");
    if (attr->flags & TG_TRANSPOSE_B)
        tgi_strbuf_add(out, " transpose_b");
    if (attr->flags & TG_MATMUL_BYTES)
        tgi_strbuf_add(out, " bytes");
}

static void print_window(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_window *attr = s->node->attr;
    const int rank = tgi_graph_shape(s->graph, s->node->inputs[0])->rank;
    print_dims(s->graph, "size", rank, attr->size, out);
    print_numbers("stride", rank, attr->stride, out);
    print_numbers("dilation", rank, attr->dilation, out);
}

static void print_scan(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_scan *attr = s->node->attr;
    tgi_strbuf_addf(out, " axis=%lld%s", (long long)attr->axis,
                    attr->starts_at_one ? " from 1" : "");
}

static void print_conv(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_conv *attr = s->node->attr;
    const int n_spatial = s->rank - (int)attr->n_batch - 2;
    if (attr->n_batch)
        tgi_strbuf_addf(out, " batch=%lld", (long long)attr->n_batch);
    print_numbers("stride", n_spatial, attr->stride, out);
    print_numbers("dilation", n_spatial, attr->dilation, out);
}

static void print_elements(const attr_context *s, tgi_strbuf *out)
{
    const tgi_literal *literal =
        ((const tgi_attr_literal *)s->node->attr)->literal;
    size_t bytes = tg_dtype_bytes((tg_dtype)s->node->dtype);
    size_t n = bytes ? literal->bytes / bytes : 0;
    for (size_t i = 0; i < n && i < SHOWN_ELEMENTS; i++) {
        char text[64];
        tgi_dtype_format(s->node->dtype,
                         (const char *)literal->data + i * bytes, text,
                         sizeof text);
        tgi_strbuf_addf(out, "%s %s", i ? "," : "", text);
    }
    if (n > SHOWN_ELEMENTS)
        tgi_strbuf_addf(out, ", … #%016llx", (unsigned long long)literal->hash);
}

static void print_format(const attr_context *s, tgi_strbuf *out)
{
    tgi_strbuf_add(out, " ");
    tgi_quote(s->node->attr, '"', out);
}

/* Omits the function's address, which differs from run to run. */
static void print_host(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_host *attr = s->node->attr;
    if (attr->is_start)
        tgi_strbuf_add(out, " starts");
    if (attr->name)
        tgi_strbuf_addf(out, " %s", attr->name);
    for (int64_t i = 0; i < attr->n_outputs; i++) {
        const tgi_host_output *output = &attr->outputs[i];
        tgi_strbuf_addf(out, "%s%s", i ? ", " : " gives ",
                        tg_dtype_name((tg_dtype)output->dtype));
        tgi_shape_print(s->graph->dims,
                        tgi_shape_of(s->graph->dims, output->shape), out);
    }
}

static void print_loop(const attr_context *s, tgi_strbuf *out)
{
    const tgi_attr_regions *attr = s->node->attr;
    tgi_strbuf_addf(out, " carries %lld", (long long)attr->n_carried);
    if (attr->flags & TGI_LOOP_LIMITED)
        tgi_strbuf_add(out, " limited");
}

static attr_printer *const attr_printers[TGI_OPS] = {
    [TGI_OP_CONSTANT] = print_elements, [TGI_OP_IOTA] = print_axis,
    [TGI_OP_EXTENT] = print_extent,     [TGI_OP_TRANSPOSE] = print_perm,
    [TGI_OP_SLICE] = print_slice,       [TGI_OP_PAD] = print_pad,
    [TGI_OP_CONCAT] = print_axis,       [TGI_OP_GATHER] = print_gather,
    [TGI_OP_DYNAMIC_SLICE] = print_axis,
    [TGI_OP_DYNAMIC_UPDATE] = print_axis,
    [TGI_OP_SCATTER] = print_scatter,
    [TGI_OP_SUM] = print_axes,          [TGI_OP_PROD] = print_axes,
    [TGI_OP_REDUCE_MAX] = print_axes,   [TGI_OP_REDUCE_MIN] = print_axes,
    [TGI_OP_ARGMAX] = print_axis,       [TGI_OP_ARGMIN] = print_axis,
    [TGI_OP_MATMUL] = print_matmul,     [TGI_OP_PRINT] = print_format,
    [TGI_OP_LINEAR_SCAN] = print_scan,
    [TGI_OP_WINDOW] = print_window,     [TGI_OP_CONV] = print_conv,
    [TGI_OP_RESULT] = print_index,      [TGI_OP_LOOP] = print_loop,
    [TGI_OP_HOST] = print_host,         [TGI_OP_FAIL] = print_format,
};

void tgi_attr_print(const tgi_graph *graph, const tgi_node *node,
                    tgi_strbuf *out)
{
    if (node->attr && attr_printers[node->op]) {
        const attr_context s = {
            .graph = graph,
            .node = node,
            .rank =
                node->shape ? tgi_shape_of(graph->dims, node->shape)->rank : 0,
        };
        attr_printers[node->op](&s, out);
    }
    if (node->flags & TGI_NODE_WEAK)
        tgi_strbuf_add(out, " weak");
}

/* -- Lines ----------------------------------------------------------------- */

static void print_refs(const tgi_ref *refs, size_t n, tgi_strbuf *out)
{
    for (size_t i = 0; i < n; i++)
        tgi_strbuf_addf(out, "%s%%%u", i ? ", " : " ", refs[i]);
}

/* "%5 'hidden'" */
static void print_target(const tgi_node *node, tgi_ref ref, tgi_strbuf *out)
{
    tgi_strbuf_addf(out, "%%%u", ref);
    if (node->name) {
        tgi_strbuf_add(out, " ");
        tgi_quote(node->name, '\'', out);
    }
}

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

void tgi_site_print_calls(const tgi_site_chain *site, tgi_strbuf *out)
{
    for (; site && site->caller; site = site->caller)
        tgi_strbuf_addf(out, " in %s, called at %s:%d", site->function,
                        base_name(site->caller->file), site->caller->line);
}

void tgi_site_print(const tgi_site_chain *site, tgi_strbuf *out)
{
    if (!site || !site->file)
        return;
    tgi_strbuf_addf(out, " ; %s:%d", base_name(site->file), site->line);
    tgi_site_print_calls(site, out);
}

static void print_node(const tgi_graph_list *list, const tgi_graph *graph,
                       tgi_ref ref, unsigned flags, tgi_strbuf *out)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    tgi_strbuf_add(out, "  ");
    print_target(node, ref, out);
    tgi_strbuf_addf(out, " = %s", tgi_op_table[node->op].name);
    if (node->dtype) {
        tgi_strbuf_add(out, " ");
        tgi_type_print(graph, ref, out);
    }
    tgi_regions_print(list, node, out);
    print_refs(node->inputs, node->n_inputs, out);
    tgi_attr_print(graph, node, out);
    if (flags & TGI_DUMP_SITES)
        tgi_site_print(node->site, out);
    tgi_strbuf_add(out, "\n");
}

static void print_check(const tgi_graph *graph, const tgi_check *check,
                        unsigned flags, tgi_strbuf *out)
{
    static const char *const kinds[] = {
        [TGI_CHECK_EQUAL] = "equal",       [TGI_CHECK_BROADCAST] = "broadcast",
        [TGI_CHECK_EXPANDS] = "expands",   [TGI_CHECK_AT_MOST] = "at_most",
        [TGI_CHECK_NOT_ZERO] = "not_zero",
    };
    tgi_strbuf_addf(out, "  check %s ", kinds[check->kind]);
    tgi_dim_print(graph->dims, check->a, out);
    if (check->kind != TGI_CHECK_NOT_ZERO) {
        tgi_strbuf_add(out, " ");
        tgi_dim_print(graph->dims, check->b, out);
    }
    tgi_strbuf_add(out, " ");
    tgi_quote(check->what ? check->what : "", '"', out);
    if (flags & TGI_DUMP_SITES)
        tgi_site_print(
            &(tgi_site_chain){.file = check->file, .line = check->line}, out);
    tgi_strbuf_add(out, "\n");
}

static void print_params(const tgi_graph *graph, tgi_strbuf *out)
{
    tgi_strbuf_add(out, "(");
    for (size_t i = 0; i < graph->params.n; i++) {
        tgi_ref ref = graph->params.data[i].node;
        const tgi_node *node = tgi_graph_node(graph, ref);
        tgi_strbuf_add(out, i ? ", " : "");
        print_target(node, ref, out);
        tgi_strbuf_add(out, node->op == TGI_OP_VARIABLE ? ": variable " : ": ");
        tgi_type_print(graph, ref, out);
    }
    tgi_strbuf_add(out, ")");
}

static void print_graph(const tgi_graph_list *list, size_t i, unsigned flags,
                        tgi_strbuf *out)
{
    const tgi_graph *graph = list->graphs.data[i];
    tgi_strbuf_add(out, "graph ");
    tgi_graph_label(list, i, out);
    print_params(graph, out);
    tgi_strbuf_add(out, " {\n");
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++) {
        int op = tgi_graph_node(graph, ref)->op;
        if (op != TGI_OP_PARAM && op != TGI_OP_VARIABLE)
            print_node(list, graph, ref, flags, out);
    }
    for (size_t k = 0; k < graph->checks.n; k++)
        print_check(graph, &graph->checks.data[k], flags, out);
    tgi_strbuf_add(out, "  return");
    print_refs(graph->results.data, graph->results.n, out);
    tgi_strbuf_add(out, "\n}\n");
}

void tgi_graph_dump(const tgi_graph *graph, unsigned flags, tgi_strbuf *out)
{
    tgi_graph_list list;
    if (!tgi_graph_list_init(&list, graph)) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < list.graphs.n; i++) {
        if (i > 0)
            tgi_strbuf_add(out, "\n");
        print_graph(&list, i, flags, out);
    }
    tgi_graph_list_deinit(&list);
}
