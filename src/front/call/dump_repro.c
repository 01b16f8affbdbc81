/* SPDX-License-Identifier: MIT */
/*
 * dump_repro.c - see dump_repro.h. Results and variables are compared as
 * random-graphs does: bit by bit, except that all NaNs are equal.
 *
 * If the trace has symbolic extents, the program traces twice: with exact
 * extents, and with all extents unknown. A shape is therefore written with the
 * extents of earlier values where one has the same extent, else as numbers.
 * This is less general than the trace for derived extents (the product of a
 * reshape).
 *
 * Arguments and results are adjacent to guard pages, first to the page after,
 * then to the page before them, so that an access out of bounds faults. The
 * library owns the memory of variables, which has no guard pages.
 */
#include "front/call/dump_repro.h"

#include "ir/dump.h"
#include "tgjit/ops.h"

typedef struct writer {
    const tgi_graph *graph;
    const int64_t *values;
    tgi_strbuf *out;
} writer;

/* The enum constant of an element type. */
static const char *dtype_code(int dtype)
{
    static const char *const codes[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = "TG_" #ID,
#include "base/dtype.def"
#undef DTYPE
    };
    return codes[dtype];
}

/* -- Data ------------------------------------------------------------------ */

static int64_t bytes_of(const writer *w, tgi_ref ref, int64_t *dims)
{
    int64_t bytes;
    return tgi_graph_value_size(w->graph, ref, w->values, dims, &bytes) ? 0
                                                                        : bytes;
}

/* "rank, (const int64_t[]){2, 3, 0}": a shape as C arguments. */
static void write_shape(const writer *w, tgi_ref ref)
{
    int64_t dims[TG_MAX_RANK];
    int rank = tgi_graph_shape(w->graph, ref)->rank;
    bytes_of(w, ref, dims);
    tgi_strbuf_addf(w->out, "%d, (const int64_t[]){", rank);
    for (int axis = 0; axis < rank; axis++)
        tgi_strbuf_addf(w->out, "%lld, ", (long long)dims[axis]);
    tgi_strbuf_add(w->out, "0}");
}

/* An extent of node `ref` in the callback: the extent of an earlier value with
   the same symbolic extent, else its number. */
static void write_extent(const writer *w, tgi_ref ref, tgi_dim dim)
{
    for (tgi_ref from = 1; from < ref && !tgi_dim_is_known(dim); from++) {
        const tgi_node *node = tgi_graph_node(w->graph, from);
        const tgi_shape *shape = tgi_graph_shape(w->graph, from);
        if (node->op == TGI_OP_VARIABLE || node->op == TGI_OP_PRINT)
            continue;
        for (int axis = 0; axis < shape->rank; axis++)
            if (shape->dims[axis] == dim) {
                tgi_strbuf_addf(w->out, "tg_value_dim(v%u, %d), ", from, axis);
                return;
            }
    }
    tgi_strbuf_addf(w->out, "%lld, ", (long long)tgi_dim_value(dim, w->values));
}

/* As write_shape, but for use in the callback. */
static void write_traced_shape(const writer *w, tgi_ref ref)
{
    const tgi_shape *shape = tgi_graph_shape(w->graph, ref);
    tgi_strbuf_addf(w->out, "%d, (const int64_t[]){", shape->rank);
    for (int axis = 0; axis < shape->rank; axis++)
        write_extent(w, ref, shape->dims[axis]);
    tgi_strbuf_add(w->out, "0}");
}

/* The elements of a node as bytes, which are exact. */
static void write_data(const writer *w, tgi_ref ref, const unsigned char *data)
{
    int64_t dims[TG_MAX_RANK], bytes = bytes_of(w, ref, dims);
    tgi_strbuf_addf(w->out,
                    "static _Alignas(64) unsigned char data_%u[] = {", ref);
    for (int64_t i = 0; i < bytes; i++)
        tgi_strbuf_addf(w->out, "%s%u,", i % 16 ? "" : "\n    ", data[i]);
    tgi_strbuf_add(w->out, "0};\n");
}

static void write_all_data(const writer *w, void *const *params)
{
    const tgi_graph *graph = w->graph;
    for (size_t i = 0; i < graph->params.n; i++)
        write_data(w, graph->params.data[i].node, params[i]);
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        if (tgi_graph_node(graph, ref)->op == TGI_OP_CONSTANT)
            write_data(w, ref, tgi_graph_constant(graph, ref));
    for (size_t i = 0; i < graph->params.n; i++) {
        tgi_ref ref = graph->params.data[i].node;
        int64_t dims[TG_MAX_RANK];
        if (tgi_graph_node(graph, ref)->op == TGI_OP_VARIABLE)
            tgi_strbuf_addf(w->out,
                            "static tg_variable *variable_%u;\n"
                            "static _Alignas(64) unsigned char "
                            "after_%u[2][%lld];\n",
                            ref, ref, (long long)bytes_of(w, ref, dims) + 1);
    }
}

/* -- Nodes ----------------------------------------------------------------- */

static void write_slice(const writer *w, tgi_ref ref, const tgi_node *node)
{
    const tgi_attr_slice *attr = node->attr;
    int64_t dims[TG_MAX_RANK];
    bytes_of(w, ref, dims);
    tgi_strbuf_addf(w->out, "v%u", node->inputs[0]);
    int rank = tgi_graph_shape(w->graph, ref)->rank;
    for (int axis = 0; axis < rank; axis++) {
        int64_t start = tgi_dim_value(attr->start[axis], w->values);
        int64_t step = attr->step[axis], stop = start + dims[axis] * step;
        if (dims[axis] == 0)
            start = stop = 0, step = 1;
        else if (step > 0)
            stop -= step - 1;
        tgi_strbuf_addf(w->out, ";\n    v%u = tg_slice(v%u, %d, %lld, ", ref,
                        axis ? ref : node->inputs[0], axis, (long long)start);
        if (stop < 0)
            tgi_strbuf_add(w->out, "TG_END");
        else
            tgi_strbuf_addf(w->out, "%lld", (long long)stop);
        tgi_strbuf_addf(w->out, ", %lld)", (long long)step);
    }
}

/* Elements between those of an axis: a row of padding below each, as part of the
   axis, without that of the last. `dims` are the extents, which change. */
static void write_interior(const writer *w, tgi_ref ref, const tgi_node *node,
                           int axis, int64_t *dims)
{
    const int rank = tgi_graph_shape(w->graph, ref)->rank;
    const int64_t gap = ((const tgi_attr_pad *)node->attr)->interior[axis];
    int64_t outer = 1, inner = 1;
    if (gap == 0 || dims[axis] == 0)
        return;
    for (int i = 0; i < rank; i++)
        *(i <= axis ? &outer : &inner) *= dims[i];
    dims[axis] *= gap + 1;
    tgi_strbuf_addf(w->out,
                    ";\n    v%u = tg_reshape(v%u, TG_DIMS(%lld, 1, %lld))"
                    ";\n    v%u = tg_pad(v%u, 1, 0, %lld, v%u)"
                    ";\n    v%u = tg_reshape(v%u, TG_DIMS(",
                    ref, ref, (long long)outer, (long long)inner, ref, ref,
                    (long long)gap, node->inputs[1], ref, ref);
    for (int i = 0; i < rank; i++)
        tgi_strbuf_addf(w->out, "%s%lld", i ? ", " : "", (long long)dims[i]);
    dims[axis] -= gap;
    tgi_strbuf_addf(w->out, "));\n    v%u = tg_slice(v%u, %d, 0, %lld, 1)",
                    ref, ref, axis, (long long)dims[axis]);
}

static void write_pad(const writer *w, tgi_ref ref, const tgi_node *node)
{
    const tgi_attr_pad *attr = node->attr;
    int rank = tgi_graph_shape(w->graph, ref)->rank;
    int64_t dims[TG_MAX_RANK];
    bytes_of(w, node->inputs[0], dims);
    tgi_strbuf_addf(w->out, "v%u", node->inputs[0]);
    for (int axis = 0; axis < rank; axis++)
        write_interior(w, ref, node, axis, dims);
    for (int axis = 0; axis < rank; axis++)
        tgi_strbuf_addf(
            w->out, ";\n    v%u = tg_pad(v%u, %d, %lld, %lld, v%u)", ref,
            ref, axis,
            (long long)tgi_dim_value(attr->low[axis], w->values),
            (long long)tgi_dim_value(attr->high[axis], w->values),
            node->inputs[1]);
}

/* "tg_add(v1, v2": without the closing parenthesis. */
static void write_call(const writer *w, const tgi_node *node,
                       const char *name)
{
    tgi_strbuf_addf(w->out, "tg_%s(", name);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        tgi_strbuf_addf(w->out, "%sv%u", i ? ", " : "", node->inputs[i]);
}

/* "{2, 1}", or "{0}": the extents or numbers of n axes. */
static void write_list(const writer *w, int n, const int64_t *values)
{
    tgi_strbuf_add(w->out, "{");
    for (int i = 0; i < n; i++)
        tgi_strbuf_addf(w->out, "%s%lld", i ? ", " : "",
                        (long long)tgi_dim_value(values[i], w->values));
    tgi_strbuf_add(w->out, n ? "}" : "0}");
}

static void write_window(const writer *w, const tgi_node *node)
{
    const tgi_attr_window *attr = node->attr;
    int64_t axes[TG_MAX_RANK], lists[3][TG_MAX_RANK];
    int n = 0;
    for (int axis = 0; axis < TG_MAX_RANK; axis++)
        if (attr->size[axis]) {
            axes[n] = axis;
            lists[0][n] = attr->size[axis];
            lists[1][n] = attr->stride[axis];
            lists[2][n++] = attr->dilation[axis];
        }
    tgi_strbuf_addf(w->out, "tg_windows(v%u, %d, (const int[])",
                    node->inputs[0], n);
    write_list(w, n, axes);
    for (int i = 0; i < 3; i++) {
        tgi_strbuf_add(w->out, ", (const int64_t[])");
        write_list(w, n, lists[i]);
    }
    tgi_strbuf_add(w->out, ")");
}

static void write_conv(const writer *w, const tgi_node *node)
{
    const tgi_attr_conv *attr = node->attr;
    const int n = tgi_graph_shape(w->graph, node->inputs[0])->rank - 2 -
                  (int)attr->n_batch;
    write_call(w, node, "conv");
    tgi_strbuf_addf(w->out, ", .batch = %lld, .stride = ",
                    (long long)attr->n_batch);
    write_list(w, n, attr->stride);
    tgi_strbuf_add(w->out, ", .dilation = ");
    write_list(w, n, attr->dilation);
    tgi_strbuf_add(w->out, ")");
}

static void write_reduction(const writer *w, const tgi_node *node)
{
    uint64_t mask = ((const tgi_attr_axes *)node->attr)->mask;
    tgi_strbuf_addf(w->out, "tg_%s(v%u, tg_axes_of(%d, (const int[]){",
                    tgi_op_table[node->op].name, node->inputs[0],
                    __builtin_popcountll(mask));
    for (int axis = 0; axis < TG_MAX_RANK; axis++)
        if (mask >> axis & 1)
            tgi_strbuf_addf(w->out, "%d, ", axis);
    tgi_strbuf_add(w->out, "0}))");
}

/* The expression that builds a node that is not elementwise. */
static void write_other(const writer *w, tgi_ref ref, const tgi_node *node)
{
    tgi_strbuf *out = w->out;
    const char *dtype = dtype_code(node->dtype);
    switch (node->op) {
    case TGI_OP_PARAM:
        tgi_strbuf_addf(out, "in[n_in++]");
        break;
    case TGI_OP_READ:
        tgi_strbuf_addf(out, "tg_read(variable_%u)", node->inputs[0]);
        break;
    case TGI_OP_ASSIGN:
        tgi_strbuf_addf(out, "tg_assign(variable_%u, v%u)", node->inputs[0],
                        node->inputs[1]);
        break;
    case TGI_OP_CONSTANT:
        tgi_strbuf_addf(out, "tg_constant(%s, ", dtype);
        write_shape(w, ref);
        tgi_strbuf_addf(out, ", data_%u)", ref);
        break;
    case TGI_OP_IOTA:
        tgi_strbuf_addf(out, "tg_iota(%s, ", dtype);
        write_traced_shape(w, ref);
        tgi_strbuf_addf(out, ", %lld)", (long long)tgi_node_index(node));
        break;
    case TGI_OP_EXTENT:
        tgi_strbuf_addf(
            out, "tg_scalar(TG_I64, INT64_C(%lld))",
            (long long)tgi_dim_value(tgi_node_index(node), w->values));
        break;
    case TGI_OP_UNSET: /* never read before it is set: zeros do */
        tgi_strbuf_addf(out, "tg_broadcast(tg_scalar(%s, 0), ", dtype);
        write_traced_shape(w, ref);
        tgi_strbuf_add(out, ")");
        break;
    case TGI_OP_CAST:
    case TGI_OP_BITCAST:
        tgi_strbuf_addf(out, "tg_%s(v%u, %s)", tgi_op_table[node->op].name,
                        node->inputs[0], dtype);
        break;
    case TGI_OP_BROADCAST:
    case TGI_OP_RESHAPE:
        write_call(w, node, tgi_op_table[node->op].name);
        tgi_strbuf_add(out, ", ");
        write_traced_shape(w, ref);
        tgi_strbuf_add(out, ")");
        break;
    case TGI_OP_TRANSPOSE: {
        int rank = tgi_graph_shape(w->graph, ref)->rank;
        tgi_strbuf_addf(out, "tg_transpose(v%u, %d, (const int[]){",
                        node->inputs[0], rank);
        for (int axis = 0; axis < rank; axis++)
            tgi_strbuf_addf(out, "%d, ",
                            ((const tgi_attr_perm *)node->attr)->perm[axis]);
        tgi_strbuf_add(out, "0})");
        break;
    }
    case TGI_OP_SLICE:
        write_slice(w, ref, node);
        break;
    case TGI_OP_WINDOW:
        write_window(w, node);
        break;
    case TGI_OP_CONV:
        write_conv(w, node);
        break;
    case TGI_OP_PAD:
        write_pad(w, ref, node);
        break;
    case TGI_OP_CONCAT:
        tgi_strbuf_addf(out, "tg_concat(%lld", (long long)tgi_node_index(node));
        for (uint32_t i = 0; i < node->n_inputs; i++)
            tgi_strbuf_addf(out, ", v%u", node->inputs[i]);
        tgi_strbuf_add(out, ")");
        break;
    case TGI_OP_GATHER: {
        const tgi_attr_gather *attr = node->attr;
        write_call(w, node, "gather_with");
        tgi_strbuf_addf(out, ", %lld, (tg_gather_mode)%lld)",
                        (long long)attr->axis, (long long)attr->mode);
        break;
    }
    case TGI_OP_SCATTER: {
        const tgi_attr_scatter *attr = node->attr;
        write_call(w, node, "scatter_with");
        tgi_strbuf_addf(out,
                        ", %lld, (tg_scatter_mode)%lld, "
                        "(tg_scatter_range)%lld)",
                        (long long)attr->axis, (long long)attr->mode,
                        (long long)attr->range);
        break;
    }
    case TGI_OP_DYNAMIC_SLICE: {
        int64_t dims[TG_MAX_RANK];
        bytes_of(w, ref, dims);
        tgi_strbuf_addf(out, "tg_dynamic_slice(v%u, %lld, v%u, INT64_C(%lld))",
                        node->inputs[0], (long long)tgi_node_index(node),
                        node->inputs[1], (long long)dims[tgi_node_index(node)]);
        break;
    }
    case TGI_OP_DYNAMIC_UPDATE:
        tgi_strbuf_addf(out, "tg_dynamic_update_slice(v%u, v%u, %lld, v%u)",
                        node->inputs[0], node->inputs[1],
                        (long long)tgi_node_index(node), node->inputs[2]);
        break;
    case TGI_OP_ARGMAX:
    case TGI_OP_ARGMIN:
        write_call(w, node, tgi_op_table[node->op].name);
        tgi_strbuf_addf(out, ", %lld)", (long long)tgi_node_index(node));
        break;
    case TGI_OP_MATMUL:
        write_call(w, node, "matmul_with");
        tgi_strbuf_addf(
            out, ", %lld)",
            (long long)((const tgi_attr_matmul *)node->attr)->flags);
        break;
    case TGI_OP_LINEAR_SCAN: {
        const tgi_attr_scan *attr = node->attr;
        write_call(w, node, "linear_scan");
        tgi_strbuf_addf(out, ", %lld, %s)", (long long)attr->axis,
                        attr->starts_at_one ? "true" : "false");
        break;
    }
    case TGI_OP_RANDOM_BITS:
        tgi_strbuf_addf(out, "tg_random_bits(%s, v%u, v%u, ", dtype,
                        node->inputs[0], node->inputs[1]);
        write_traced_shape(w, ref);
        tgi_strbuf_add(out, ")");
        break;
    default:
        write_reduction(w, node);
        break;
    }
}

static void write_print(const writer *w, const tgi_node *node)
{
    tgi_strbuf_add(w->out, "    tg_print(t, ");
    tgi_quote(node->attr, '"', w->out);
    for (uint32_t i = 0; i < node->n_inputs; i++)
        tgi_strbuf_addf(w->out, ", v%u", node->inputs[i]);
    tgi_strbuf_add(w->out, ");\n");
}

static void write_node(const writer *w, tgi_ref ref)
{
    const tgi_node *node = tgi_graph_node(w->graph, ref);
    if (node->op == TGI_OP_VARIABLE)
        return;
    if (node->op == TGI_OP_PRINT) {
        write_print(w, node);
        return;
    }
    tgi_strbuf_addf(w->out, "    __attribute__((unused)) tg_value v%u = ", ref);
    if (tgi_op_is_elementwise(node->op) &&
        tgi_op_table[node->op].cls != TGI_OPCLASS_CAST) {
        write_call(w, node, tgi_op_table[node->op].name);
        tgi_strbuf_add(w->out, ")");
    } else {
        write_other(w, ref, node);
    }
    tgi_strbuf_add(w->out, ";\n");
}

/* -- The program ----------------------------------------------------------- */

static const char head[] =
    "/* One call of libtgjit: interpreted, compiled, compared.\n"
    "   cc repro.c $(pkg-config --cflags --libs tgjit) && ./a.out */\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include <sys/mman.h>\n"
    "#include <tgjit.h>\n"
    "#include <unistd.h>\n"
    "\n"
    "static int n_different;\n"
    "static bool is_at_end; /* of its pages, or at their beginning */\n"
    "\n"
    "static void check(bool good)\n"
    "{\n"
    "    if (good)\n"
    "        return;\n"
    "    printf(\"%s\\n\", tg_error(NULL));\n"
    "    exit(2);\n"
    "}\n"
    "\n";

static const char memory[] =
    "/* A copy of `data`, if any, between two pages that fault: it ends where\n"
    "   the second begins, or begins where the first ends. Never freed. */\n"
    "__attribute__((unused))\n"
    "static void *guarded(const void *data, size_t bytes)\n"
    "{\n"
    "    const size_t page = (size_t)sysconf(_SC_PAGESIZE);\n"
    "    const size_t inside = (bytes + page - 1) / page * page;\n"
    "    char *start = mmap(NULL, inside + 2 * page, PROT_NONE,\n"
    "                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
    "    if (start == MAP_FAILED ||\n"
    "        mprotect(start + page, inside, PROT_READ | PROT_WRITE) != 0)\n"
    "        abort();\n"
    "    start += page + (is_at_end ? inside - bytes : 0);\n"
    "    return data ? memcpy(start, data, bytes) : start;\n"
    "}\n"
    "\n";

static const char comparison[] =
    "static bool is_nan(tg_dtype dtype, const unsigned char *element)\n"
    "{\n"
    "    float x;\n"
    "    double y;\n"
    "    if (dtype == TG_F32)\n"
    "        return memcpy(&x, element, sizeof(x)), x != x;\n"
    "    if (dtype == TG_F64)\n"
    "        return memcpy(&y, element, sizeof(y)), y != y;\n"
    "    uint16_t bits;\n"
    "    int infinity = dtype == TG_F16 ? 0x7c00 : 0x7f80;\n"
    "    return (dtype == TG_F16 || dtype == TG_BF16) &&\n"
    "           (memcpy(&bits, element, sizeof(bits)),\n"
    "            (bits & 0x7fff) > infinity);\n"
    "}\n"
    "\n"
    "static void compare(const char *what, int i, tg_dtype dtype,\n"
    "                    const unsigned char *a, const unsigned char *b,\n"
    "                    size_t bytes)\n"
    "{\n"
    "    size_t size = tg_dtype_bytes(dtype);\n"
    "    for (size_t at = 0; at < bytes; at += size) {\n"
    "        if (memcmp(a + at, b + at, size) == 0 ||\n"
    "            (is_nan(dtype, a + at) && is_nan(dtype, b + at)))\n"
    "            continue;\n"
    "        printf(\"%s %d differs at element %zu\\n\", what, i, at / size);\n"
    "        n_different++;\n"
    "        return;\n"
    "    }\n"
    "}\n"
    "\n";

static const char tail[] =
    "static void run_both(bool is_general)\n"
    "{\n"
    "    tg_tensor *y[2][N_RESULTS + 1] = {{NULL}};\n"
    "    tg_status status[2];\n"
    "    for (int run = 0; run < 2; run++) {\n"
    "        tg_context_options options = TG_CONTEXT_OPTIONS_INIT;\n"
    "        options.jit = run ? \"required\" : \"off\";\n"
    "        options.no_contraction = NO_CONTRACTION;\n"
    "        tg_context *ctx = tg_context_create(&options);\n"
    "        check(ctx);\n"
    "        status[run] = call(ctx, is_general, run, y[run]);\n"
    "        if (status[run])\n"
    "            printf(\"%s\\n\", tg_error(NULL));\n"
    "        tg_context_release(ctx);\n"
    "    }\n"
    "    if (status[0] != status[1])\n"
    "        n_different++;\n"
    "    for (int i = 0; i < N_RESULTS && !status[0] && !status[1]; i++)\n"
    "        compare(\"result\", i, tg_tensor_dtype(y[0][i]),\n"
    "                tg_tensor_data(y[0][i]), tg_tensor_data(y[1][i]),\n"
    "                tg_tensor_bytes(y[0][i]));\n"
    "    compare_variables();\n"
    "    for (int i = 0; i < N_RESULTS; i++) {\n"
    "        tg_tensor_release(y[0][i]);\n"
    "        tg_tensor_release(y[1][i]);\n"
    "    }\n"
    "}\n"
    "\n"
    "int main(void)\n"
    "{\n"
    "    set_up();\n"
    "    for (int i = 0; i < 2; i++) {\n"
    "        is_at_end = i == 0;\n"
    "        run_both(false);\n"
    "        if (IS_GENERAL)\n"
    "            run_both(true);\n"
    "    }\n"
    "    puts(n_different ? \"different\" : \"equal\");\n"
    "    return n_different != 0;\n"
    "}\n";

/* Settings as defaults of environment variables. */
static void write_settings(const writer *w, const tgi_repro_settings *settings)
{
    tgi_strbuf_addf(w->out,
                    "enum { N_RESULTS = %zu, NO_CONTRACTION = %d, "
                    "IS_GENERAL = %d };\n\n"
                    "static void set_up(void)\n{\n",
                    w->graph->results.n, settings->no_contraction,
                    tgi_dims_n_symbols(w->graph->dims) > 0);
    if (settings->threads)
        tgi_strbuf_addf(w->out,
                        "    setenv(\"TGJIT_THREADS\", \"%d\", false);\n",
                        settings->threads);
    if (settings->vector_bits)
        tgi_strbuf_addf(w->out,
                        "    setenv(\"TGJIT_VECTOR_BITS\", \"%u\", false);\n",
                        settings->vector_bits);
    if (settings->ignores_grain)
        tgi_strbuf_add(w->out, "    setenv(\"TGJIT_GRAIN\", \"0\", false);\n");
    tgi_strbuf_add(w->out, "}\n");
}

static void write_callback(const writer *w)
{
    const tgi_graph *graph = w->graph;
    tgi_strbuf_add(w->out,
                   "\nstatic void callback(tg_trace *t, const tg_value *in, "
                   "void *user)\n{\n    int n_in = 0;\n    (void)in, "
                   "(void)user, (void)n_in, (void)t;\n");
    for (tgi_ref ref = 1; ref <= graph->n_nodes; ref++)
        write_node(w, ref);
    if (graph->results.n) {
        tgi_strbuf_add(w->out, "    tg_return(t");
        for (size_t i = 0; i < graph->results.n; i++)
            tgi_strbuf_addf(w->out, ", v%u", graph->results.data[i]);
        tgi_strbuf_add(w->out, ");\n");
    }
    tgi_strbuf_add(w->out, "}\n\n");
}

/* Wraps guarded memory in the tensor of a result. */
static void write_result(const writer *w, size_t i)
{
    const tgi_ref ref = w->graph->results.data[i];
    int64_t dims[TG_MAX_RANK];
    tgi_strbuf_addf(w->out,
                    "    y[%zu] = tg_tensor_wrap(ctx, guarded(NULL, %lld), "
                    "%s, ",
                    i, (long long)bytes_of(w, ref, dims),
                    dtype_code(tgi_graph_node(w->graph, ref)->dtype));
    write_shape(w, ref);
    tgi_strbuf_addf(
        w->out, ");\n    check(y[%zu]);\n    results[%zu] = TG_OUT(&y[%zu]);\n",
        i, i, i);
}

/* A function that creates the arguments and calls the function once. */
static void write_call_function(const writer *w)
{
    const tgi_graph *graph = w->graph;
    tgi_strbuf *out = w->out;
    tgi_strbuf_addf(out,
                    "static tg_status call(tg_context *ctx, bool is_general, "
                    "int run,\n                      tg_tensor **y)\n{\n"
                    "    (void)run, (void)y;\n"
                    "    tg_result results[N_RESULTS + 1];\n"
                    "    tg_operand args[%zu];\n    int n = 0;\n"
                    "    tg_tensor *tensors[%zu] = {NULL};\n",
                    graph->params.n + 1, graph->params.n + 1);
    for (size_t i = 0; i < graph->params.n; i++) {
        tgi_ref ref = graph->params.data[i].node;
        const char *dtype =
            dtype_code(tgi_graph_node(graph, ref)->dtype);
        bool is_variable =
            tgi_graph_node(graph, ref)->op == TGI_OP_VARIABLE;
        if (is_variable)
            tgi_strbuf_addf(out,
                            "    variable_%u = tg_variable_create(ctx, "
                            "\"v%u\", %s, ",
                            ref, ref, dtype);
        else
            tgi_strbuf_addf(out,
                            "    tensors[n] = tg_tensor_wrap(ctx, "
                            "guarded(data_%u, sizeof(data_%u) - 1), %s, ",
                            ref, ref, dtype);
        write_shape(w, ref);
        if (is_variable)
            tgi_strbuf_addf(out,
                            ", tg_zeros());\n    check(variable_%u && "
                            "!tg_variable_set(variable_%u, data_%u, "
                            "tg_variable_bytes(variable_%u)));\n",
                            ref, ref, ref, ref);
        else
            tgi_strbuf_add(out, ");\n    check(tensors[n]);\n"
                                "    args[n] = tg_in_tensor(tensors[n]);\n"
                                "    n++;\n");
    }
    for (size_t i = 0; i < graph->results.n; i++)
        write_result(w, i);
    tgi_strbuf_add(out,
                   "    tg_function_options options = "
                   "TG_FUNCTION_OPTIONS_INIT;\n"
                   "    if (is_general)\n"
                   "        options.policy = TG_RELAXED;\n"
                   "    tg_function *f =\n"
                   "        tg_function_create(ctx, callback, NULL, "
                   "&options);\n"
                   "    tg_status status =\n"
                   "        tg_call_at(f, args, (size_t)n, results, N_RESULTS, "
                   "TG_HERE);\n"
                   "    tg_function_release(f);\n"
                   "    for (int i = 0; i < n; i++)\n"
                   "        tg_tensor_release(tensors[i]);\n");
    for (size_t i = 0; i < graph->params.n; i++) {
        tgi_ref ref = graph->params.data[i].node;
        if (tgi_graph_node(graph, ref)->op == TGI_OP_VARIABLE)
            tgi_strbuf_addf(out,
                            "    check(!tg_variable_get(variable_%u, "
                            "after_%u[run],\n        "
                            "tg_variable_bytes(variable_%u)));\n"
                            "    tg_variable_release(variable_%u);\n",
                            ref, ref, ref, ref);
    }
    tgi_strbuf_add(out, "    return status;\n}\n\n");
}

static void write_compare_variables(const writer *w)
{
    const tgi_graph *graph = w->graph;
    tgi_strbuf_add(w->out, "static void compare_variables(void)\n{\n");
    for (size_t i = 0; i < graph->params.n; i++) {
        tgi_ref ref = graph->params.data[i].node;
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (node->op == TGI_OP_VARIABLE)
            tgi_strbuf_addf(w->out,
                            "    compare(\"variable\", %u, %s, after_%u[0], "
                            "after_%u[1],\n        sizeof(after_%u[0]) - 1);\n",
                            ref, dtype_code(node->dtype), ref, ref, ref);
    }
    tgi_strbuf_add(w->out, "}\n\n");
}

void tgi_dump_repro(const tgi_graph *graph, const int64_t *values,
                    void *const *params, const tgi_repro_settings *settings,
                    tgi_strbuf *out)
{
    writer w = {graph, values, out};
    tgi_strbuf_add(out, head);
    tgi_strbuf_add(out, memory);
    tgi_strbuf_add(out, comparison);
    write_settings(&w, settings);
    tgi_strbuf_add(out, "\n");
    write_all_data(&w, params);
    write_callback(&w);
    write_call_function(&w);
    write_compare_variables(&w);
    tgi_strbuf_add(out, tail);
}
