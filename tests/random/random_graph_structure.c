/* SPDX-License-Identifier: MIT */
/*
 * random_graph_structure.c - coverage of the structures of compiled programs,
 * of their graphs and their loops: those likely to reveal bugs, which random
 * programs must therefore produce.
 */
#include <stdio.h>
#include <string.h>

#include "program.h"
#include "random/random_graph.h"
#include "recipe/reduce_tree.h"

/* A compiled program, and the values of its extents. */
typedef struct place {
    const tgi_graph *graph;
    const tgi_loops *loops;
    const int64_t *graph_values, *values;
} place;

/* -- Graphs ---------------------------------------------------------------- */

static const tgi_node *input(const place *p, const tgi_node *node, uint32_t i)
{
    return tgi_graph_node(p->graph, node->inputs[i]);
}

static void get_type(const place *p, const tgi_node *node, rg_type *type)
{
    const tgi_shape *shape = tgi_shape_of(p->graph->dims, node->shape);
    type->rank = (int8_t)shape->rank;
    for (int i = 0; i < shape->rank; i++)
        type->dims[i] = tgi_dim_value(shape->dims[i], p->graph_values);
}

static int64_t count_of(const place *p, const tgi_node *node)
{
    rg_type type;
    get_type(p, node, &type);
    return rg_count(&type);
}

static bool is_reduction(const tgi_node *node)
{
    return tgi_op_table[node->op].cls == TGI_OPCLASS_REDUCE;
}

static bool is_map(const tgi_node *node)
{
    int cls = tgi_op_table[node->op].cls;
    return cls == TGI_OPCLASS_UNARY || cls == TGI_OPCLASS_BINARY ||
           cls == TGI_OPCLASS_TERNARY || cls == TGI_OPCLASS_CAST;
}

/* Bit a: axis a is reduced. */
static uint64_t reduced_axes(const tgi_node *node)
{
    if (node->op == TGI_OP_ARGMAX || node->op == TGI_OP_ARGMIN)
        return UINT64_C(1) << ((const tgi_attr_index *)node->attr)->index;
    return ((const tgi_attr_axes *)node->attr)->mask;
}

static bool is_over_several(const place *p, const tgi_node *node)
{
    (void)p;
    return is_reduction(node) && __builtin_popcountll(reduced_axes(node)) > 1;
}

static bool is_over_axes_apart(const place *p, const tgi_node *node)
{
    if (!is_over_several(p, node))
        return false;
    uint64_t axes = reduced_axes(node) >> __builtin_ctzll(reduced_axes(node));
    return (axes & (axes + 1)) != 0;
}

/* The reduced operand; casts are fused into the loop. */
static const tgi_node *reduced(const place *p, const tgi_node *node)
{
    const tgi_node *value = input(p, node, 0);
    return value->op == TGI_OP_CAST ? input(p, value, 0) : value;
}

static bool reduces(const place *p, const tgi_node *node, tgi_op op)
{
    return is_reduction(node) && reduced(p, node)->op == op;
}

#define REDUCES(name, OP_)                                                     \
    static bool reduces_##name(const place *p, const tgi_node *node)           \
    {                                                                          \
        return reduces(p, node, TGI_OP_##OP_);                                 \
    }
REDUCES(transposed, TRANSPOSE)
REDUCES(sliced, SLICE)
REDUCES(broadcast, BROADCAST)
REDUCES(reshaped, RESHAPE)
REDUCES(joined, CONCAT)
REDUCES(padded, PAD)
REDUCES(gathered, GATHER)
REDUCES(dynamic, DYNAMIC_SLICE)
REDUCES(updated, DYNAMIC_UPDATE)
REDUCES(reduced, SUM)

static bool is_reversed(const tgi_node *node)
{
    const tgi_attr_slice *slice = node->attr;
    if (node->op == TGI_OP_SLICE)
        for (int i = 0; i < TG_MAX_RANK; i++)
            if (slice->step[i] < 0)
                return true;
    return false;
}

static bool reduces_reversed(const place *p, const tgi_node *node)
{
    return is_reduction(node) && is_reversed(reduced(p, node));
}

/* Elements along the trailing reduced axes; 1 if there are none. */
static int64_t reduced_run_length(const place *p, const tgi_node *node)
{
    rg_type type;
    int64_t run = 1;
    get_type(p, input(p, node, 0), &type);
    for (int i = type.rank - 1; i >= 0 && reduced_axes(node) >> i & 1; i--)
        run *= type.dims[i];
    return run;
}

static int64_t rows_of(const place *p, const tgi_node *node)
{
    int64_t all = count_of(p, input(p, node, 0)), each = count_of(p, node);
    int64_t run = reduced_run_length(p, node);
    return each && run ? all / each / run : 0;
}

static bool has_long_runs(const place *p, const tgi_node *node)
{
    return is_reduction(node) && reduced_run_length(p, node) > 8192;
}

static bool has_many_rows(const place *p, const tgi_node *node)
{
    return is_reduction(node) && rows_of(p, node) > 2 * TGI_BLOCK_ROWS;
}

static bool has_runs_and_rows(const place *p, const tgi_node *node)
{
    return is_reduction(node) && rows_of(p, node) > 1 &&
           reduced_run_length(p, node) > 1;
}

static bool is_long_map(const place *p, const tgi_node *node)
{
    return is_map(node) && count_of(p, node) > 10000;
}

static bool maps(const place *p, const tgi_node *node, tgi_op op)
{
    for (uint32_t i = 0; is_map(node) && i < node->n_inputs; i++)
        if (input(p, node, i)->op == op)
            return true;
    return false;
}

static bool maps_joined(const place *p, const tgi_node *node)
{
    return maps(p, node, TGI_OP_CONCAT);
}

static bool maps_padded(const place *p, const tgi_node *node)
{
    return maps(p, node, TGI_OP_PAD);
}

static bool maps_gathered(const place *p, const tgi_node *node)
{
    return maps(p, node, TGI_OP_GATHER);
}

static bool maps_dynamic(const place *p, const tgi_node *node)
{
    return maps(p, node, TGI_OP_DYNAMIC_SLICE);
}

static bool maps_updated(const place *p, const tgi_node *node)
{
    return maps(p, node, TGI_OP_DYNAMIC_UPDATE);
}

static bool gathers(const tgi_node *node, tg_gather_mode mode)
{
    return node->op == TGI_OP_GATHER &&
           ((const tgi_attr_gather *)node->attr)->mode == mode;
}

static bool scatters(const tgi_node *node, tg_scatter_mode mode,
                     tg_scatter_range range)
{
    const tgi_attr_scatter *attr = node->attr;
    return node->op == TGI_OP_SCATTER && attr->mode == mode &&
           attr->range == range;
}

#define SCATTERS(name, mode, range)                                            \
    static bool name(const place *p, const tgi_node *node)                     \
    {                                                                          \
        (void)p;                                                               \
        return scatters(node, mode, range);                                    \
    }
SCATTERS(sets_checked, TG_SCATTER_SET, TG_SCATTER_CHECK)
SCATTERS(sets_in_range, TG_SCATTER_SET, TG_SCATTER_DROP)
SCATTERS(adds_checked, TG_SCATTER_ADD, TG_SCATTER_CHECK)
SCATTERS(adds_in_range, TG_SCATTER_ADD, TG_SCATTER_DROP)

static bool scatters_products(const place *p, const tgi_node *node)
{
    (void)p;
    return scatters(node, TG_SCATTER_MUL, TG_SCATTER_DROP) ||
           scatters(node, TG_SCATTER_MUL, TG_SCATTER_CHECK);
}

static bool scatters_extremes(const place *p, const tgi_node *node)
{
    (void)p;
    return node->op == TGI_OP_SCATTER &&
           ((const tgi_attr_scatter *)node->attr)->mode >= TG_SCATTER_MAX;
}

static bool gathers_checked(const place *p, const tgi_node *node)
{
    (void)p;
    return gathers(node, TG_GATHER_CHECK);
}

static bool gathers_clamped(const place *p, const tgi_node *node)
{
    (void)p;
    return gathers(node, TG_GATHER_CLAMP);
}

static bool gathers_zeros(const place *p, const tgi_node *node)
{
    (void)p;
    return gathers(node, TG_GATHER_ZERO);
}

/* -- Products -------------------------------------------------------------- */

static bool has_flags(const tgi_node *node, int flags)
{
    return node->op == TGI_OP_MATMUL &&
           ((const tgi_attr_matmul *)node->attr)->flags == flags;
}

static bool multiplies_a_flipped(const place *p, const tgi_node *node)
{
    (void)p;
    return has_flags(node, TG_TRANSPOSE_A);
}

static bool multiplies_b_flipped(const place *p, const tgi_node *node)
{
    (void)p;
    return has_flags(node, TG_TRANSPOSE_B);
}

static bool multiplies_both_flipped(const place *p, const tgi_node *node)
{
    (void)p;
    return has_flags(node, TG_TRANSPOSE_A | TG_TRANSPOSE_B);
}

/* Number of products summed per element. */
static int64_t matmul_depth(const place *p, const tgi_node *node)
{
    rg_type a;
    get_type(p, input(p, node, 0), &a);
    bool flipped =
        ((const tgi_attr_matmul *)node->attr)->flags & TG_TRANSPOSE_A;
    return a.dims[a.rank - 1 - (flipped && a.rank > 1)];
}

static bool multiplies_nothing(const place *p, const tgi_node *node)
{
    return node->op == TGI_OP_MATMUL && count_of(p, node) > 0 &&
           matmul_depth(p, node) == 0;
}

static bool multiplies_deep(const place *p, const tgi_node *node)
{
    return node->op == TGI_OP_MATMUL && count_of(p, node) > 0 &&
           matmul_depth(p, node) > 256;
}

static bool multiplies_vector(const place *p, const tgi_node *node)
{
    if (node->op != TGI_OP_MATMUL)
        return false;
    rg_type type;
    get_type(p, node, &type);
    for (int i = type.rank - 1; i >= 0 && i >= type.rank - 2; i--)
        if (type.dims[i] == 1)
            return true;
    return type.rank < 2;
}

static bool multiplies_batch(const place *p, const tgi_node *node)
{
    rg_type type;
    get_type(p, node, &type);
    return node->op == TGI_OP_MATMUL && type.rank > 2 &&
           rg_count(&type) >
               type.dims[type.rank - 1] * type.dims[type.rank - 2];
}

/* -- Empty values ---------------------------------------------------------- */

/* A non-empty value whose first input is empty. */
static bool is_made_from_none(const place *p, const tgi_node *node)
{
    return count_of(p, node) > 0 && node->n_inputs > 0 &&
           count_of(p, input(p, node, 0)) == 0;
}

static bool slices_none(const place *p, const tgi_node *node)
{
    return node->op == TGI_OP_DYNAMIC_SLICE && count_of(p, node) == 0 &&
           count_of(p, input(p, node, 0)) > 0;
}

static bool reduces_none(const place *p, const tgi_node *node)
{
    return is_reduction(node) && is_made_from_none(p, node);
}

static bool reduces_no_slice(const place *p, const tgi_node *node)
{
    return reduces_none(p, node) && slices_none(p, reduced(p, node));
}

static bool multiplies_no_slice(const place *p, const tgi_node *node)
{
    return node->op == TGI_OP_MATMUL && is_made_from_none(p, node) &&
           slices_none(p, input(p, node, 0));
}

static bool pads_none(const place *p, const tgi_node *node)
{
    return node->op == TGI_OP_PAD && is_made_from_none(p, node);
}

/* -- State ----------------------------------------------------------------- */

static bool has_odd_offset(const place *p, const tgi_node *node)
{
    if (node->op != TGI_OP_RANDOM_BITS)
        return false;
    const uint64_t *offset = tgi_graph_constant(p->graph, node->inputs[1]);
    return offset && *offset % 4;
}

/* True if a variable is assigned contents of a variable through this view. */
static bool assigns_view(const place *p, const tgi_node *node, tgi_op op)
{
    if (node->op != TGI_OP_ASSIGN || input(p, node, 1)->op != op)
        return false;
    const tgi_node *view = input(p, node, 1);
    return view->n_inputs > 0 && input(p, view, 0)->op == TGI_OP_READ;
}

static bool assigns_transposed(const place *p, const tgi_node *node)
{
    const tgi_node *value =
        node->op == TGI_OP_ASSIGN ? input(p, node, 1) : NULL;
    if (value && value->op == TGI_OP_RESHAPE)
        return input(p, value, 0)->op == TGI_OP_TRANSPOSE;
    return assigns_view(p, node, TGI_OP_TRANSPOSE);
}

static bool assigns_reversed(const place *p, const tgi_node *node)
{
    return assigns_view(p, node, TGI_OP_SLICE) &&
           is_reversed(input(p, node, 1));
}

static bool assigns_other(const place *p, const tgi_node *node)
{
    if (node->op != TGI_OP_ASSIGN)
        return false;
    const tgi_node *read = input(p, node, 1);
    return read->op == TGI_OP_READ && read->inputs[0] != node->inputs[0];
}

/* -- Loops ----------------------------------------------------------------- */

static int64_t extent(const place *p, const tgi_kernel_loops *k, int axis)
{
    return tgi_dim_value(k->extent[axis], p->values);
}

typedef enum part { ANY, SPLIT, PAIRWISE } part;

static bool reduces_along(const tgi_kernel_loops *k, tgi_vectors vectors,
                          part which)
{
    for (size_t i = 0; k->vectors == vectors && i < k->reductions.n; i++) {
        const tgi_reduction *r = &k->reductions.data[i];
        if (which == ANY || (which == SPLIT ? r->is_split : r->combines_blocks))
            return true;
    }
    return false;
}

#define ALONG(name, VECTORS, PART)                                             \
    static bool name(const place *p, const tgi_kernel_loops *k)                \
    {                                                                          \
        (void)p;                                                               \
        return reduces_along(k, TGI_##VECTORS, PART);                          \
    }
ALONG(reduces_rows, ROWS, ANY)
ALONG(reduces_split_rows, ROWS, SPLIT)
ALONG(reduces_row_blocks, ROWS, PAIRWISE)
ALONG(reduces_columns, COLUMNS, ANY)
ALONG(reduces_split_columns, COLUMNS, SPLIT)
ALONG(reduces_column_blocks, COLUMNS, PAIRWISE)

static bool has_phases(const place *p, const tgi_kernel_loops *k)
{
    (void)p;
    return k->vectors == TGI_ROWS && k->n_phases > 1 && k->reductions.n > 0;
}

static bool has_index(const place *p, const tgi_kernel_loops *k)
{
    (void)p;
    for (size_t i = 0; i < k->accesses.n; i++)
        if (k->accesses.data[i].index)
            return true;
    return false;
}

static bool has_offsets(const tgi_kernel_loops *kernel, bool is_computed)
{
    for (size_t i = 0; i < kernel->offsets.n; i++)
        if (tgi_buffer_id_is_none(kernel->offsets.data[i].memory) !=
            is_computed)
            return true;
    return false;
}

static bool has_constant_offsets(const place *p, const tgi_kernel_loops *kernel)
{
    (void)p;
    return has_offsets(kernel, false);
}

static bool has_computed_offsets(const place *p, const tgi_kernel_loops *kernel)
{
    (void)p;
    return has_offsets(kernel, true);
}

static bool has_shift(const place *p, const tgi_kernel_loops *k)
{
    (void)p;
    for (size_t i = 0; i < k->accesses.n; i++)
        if (k->accesses.data[i].shift)
            return true;
    return false;
}

static bool stores_shifted(const place *p, const tgi_kernel_loops *k)
{
    (void)p;
    for (size_t i = 0; i < k->stores.n; i++)
        if (k->accesses.data[k->stores.data[i].access].shift)
            return true;
    return false;
}

static bool is_straightline_and_stores_shifted(const place *p,
                                               const tgi_kernel_loops *k)
{
    return k->is_straightline && stores_shifted(p, k);
}

static bool stores_scattered(const place *p, const tgi_kernel_loops *k)
{
    (void)p;
    for (size_t i = 0; i < k->stores.n; i++)
        if (k->accesses.data[k->stores.data[i].access].index)
            return true;
    return false;
}

static bool is_straightline_and_stores_scattered(const place *p,
                                                 const tgi_kernel_loops *k)
{
    return k->is_straightline && stores_scattered(p, k);
}

/* Updates some elements of a buffer, and loads them from it. */
static bool changes_in_place(const place *p, const tgi_kernel_loops *k)
{
    (void)p;
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_access *to = &k->accesses.data[k->stores.data[i].access];
        for (size_t j = 1; to->shift && j < k->insts.n; j++)
            if (k->insts.data[j].kind == TGI_INST_LOAD &&
                tgi_buffer_id_equals(
                    k->accesses.data[k->insts.data[j].number].buffer,
                    to->buffer))
                return true;
    }
    return false;
}

static bool goes_backwards(const place *p, const tgi_kernel_loops *k)
{
    (void)p;
    for (size_t i = 0; i < k->accesses.n; i++)
        if (k->accesses.data[i].stride[k->n_outer].is_negative)
            return true;
    return false;
}

static bool has_check(const place *p, const tgi_kernel_loops *k)
{
    (void)p;
    return k->checks.n > 0;
}

static bool has_siblings(const place *p, const tgi_kernel_loops *k)
{
    (void)p;
    return k->stores.n > 1;
}

static bool has_a_tail(const place *p, const tgi_kernel_loops *k)
{
    int64_t n = extent(p, k, k->n_outer);
    return k->vectors == TGI_ROWS && n > 64 && n % 64;
}

static bool has_a_column_tail(const place *p, const tgi_kernel_loops *k)
{
    int64_t n = k->n_outer ? extent(p, k, k->n_outer - 1) : 0;
    return k->vectors == TGI_COLUMNS && n > 64 && n % 64;
}

static bool is_straightline(const place *p, const tgi_kernel_loops *k)
{
    (void)p;
    return k->is_straightline;
}

/* Loads values that another kernel keeps in registers. */
static bool reads_ssa_values(const place *p, const tgi_kernel_loops *k)
{
    for (size_t i = 1; i < k->insts.n; i++)
        if (k->insts.data[i].kind == TGI_INST_LOAD &&
            tgi_loops_buffer(p->loops,
                             k->accesses.data[k->insts.data[i].number].buffer)
                    ->place == TGI_PLACE_SSA)
            return true;
    return false;
}

/* Stores to a temporary or result that it loads in the same or an earlier
   phase. */
static bool is_in_place(const place *p, const tgi_kernel_loops *k)
{
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind != TGI_INST_LOAD)
            continue;
        const uint32_t buffer =
            tgi_buffer_id_index(k->accesses.data[inst->number].buffer);
        const int where = p->loops->buffers.data[buffer].place;
        for (size_t j = 0; j < k->stores.n; j++)
            if ((where == TGI_PLACE_TEMP || where == TGI_PLACE_RESULT) &&
                tgi_buffer_id_index(
                    k->accesses.data[k->stores.data[j].access].buffer) ==
                    buffer &&
                k->stores.data[j].phase >= inst->phase)
                return true;
    }
    return false;
}

/*
 * True if threads share the kernel: it has several points, more than MAX_LANES
 * columns, or long rows.
 */
static bool is_split(const place *p, const tgi_kernel_loops *k)
{
    enum { MAX_LANES = 512, UNIT = 64 };
    const int64_t n = extent(p, k, k->n_outer);
    int64_t points = 1;
    for (int axis = 0; axis < k->n_outer; axis++) {
        int64_t along = extent(p, k, axis);
        if (k->vectors == TGI_COLUMNS && axis == k->n_outer - 1 && along > 1)
            along = along > MAX_LANES ? 2 : 1;
        points *= along;
    }
    bool is_one_loop = k->vectors == TGI_ROWS && k->n_phases == 1 &&
                       k->reductions.n == 0 && k->has_inner;
    return !k->is_straightline &&
           (points > 1 || (is_one_loop && points == 1 && n > UNIT));
}

bool rg_structure_is_split(const tgi_program *program, const int64_t *values)
{
    const place p = {.loops = program->loops, .values = values};
    for (size_t i = 0; i < p.loops->kernels.n; i++)
        if (is_split(&p, p.loops->kernels.data[i]))
            return true;
    return false;
}

/* -- Row blocks ------------------------------------------------------------ */

static bool has_row_blocks(const place *p)
{
    return p->loops->row_blocks.n > 0;
}

static bool has_block_buffers(const place *p)
{
    for (size_t i = 0; i < p->loops->row_blocks.n; i++)
        if (p->loops->row_blocks.data[i].n_buffers)
            return true;
    return false;
}

/* The last block of a matrix is smaller. */
static bool has_last_block(const place *p)
{
    for (size_t i = 0; i < p->loops->row_blocks.n; i++) {
        const tgi_row_blocks *rows = &p->loops->row_blocks.data[i];
        const int64_t n = tgi_dim_value(rows->rows, p->values);
        if (n > rows->block_rows && n % rows->block_rows)
            return true;
    }
    return false;
}

static bool has_blocks_of_matrices(const place *p)
{
    for (size_t i = 0; i < p->loops->row_blocks.n; i++)
        if (tgi_dim_value(p->loops->row_blocks.data[i].matrices, p->values) > 1)
            return true;
    return false;
}

static bool has_blocks_of_unknown_rows(const place *p)
{
    for (size_t i = 0; i < p->loops->row_blocks.n; i++)
        if (!tgi_dim_is_known(p->loops->row_blocks.data[i].rows))
            return true;
    return false;
}

static bool has_row_kernel(const place *p, bool is_split)
{
    for (size_t i = 0; i < p->loops->row_blocks.n; i++) {
        const tgi_row_blocks *rows = &p->loops->row_blocks.data[i];
        for (uint32_t j = 0; j < rows->n_kernels; j++)
            if (is_split ? rows->kernels[j].rows_per_index != 1
                         : rows->kernels[j].per_row != 1)
                return true;
    }
    return false;
}

static bool has_blocks_of_split_sums(const place *p)
{
    return has_row_kernel(p, true);
}

static bool has_blocks_of_merged_axes(const place *p)
{
    return has_row_kernel(p, false);
}

/* A kernel that computes rows for sums behind the blocks (block_sums.c). */
static bool has_sums_behind_blocks(const place *p)
{
    for (size_t i = 0; i < p->loops->kernels.n; i++) {
        const char *name = p->loops->kernels.data[i]->name;
        const size_t n = strlen(name);
        if (n > 5 && strcmp(name + n - 5, "_rows") == 0)
            return true;
    }
    return false;
}

/* -- All structures -------------------------------------------------------- */

typedef bool node_is(const place *p, const tgi_node *node);
typedef bool kernel_is(const place *p, const tgi_kernel_loops *kernel);
typedef bool loops_are(const place *p);

static const struct structure {
    const char *name;
    node_is *of_node;
    kernel_is *of_kernel;
    loops_are *of_loops; /* with random schedules only: small programs have no
                            use for row blocks */
} structures[] = {
    {"reduction over several axes", is_over_several, NULL, NULL},
    {"reduction over axes apart", is_over_axes_apart, NULL, NULL},
    {"reduction of a transpose", reduces_transposed, NULL, NULL},
    {"reduction of a slice", reduces_sliced, NULL, NULL},
    {"reduction backwards", reduces_reversed, NULL, NULL},
    {"reduction of a broadcast", reduces_broadcast, NULL, NULL},
    {"reduction of a reshape", reduces_reshaped, NULL, NULL},
    {"reduction of a concat", reduces_joined, NULL, NULL},
    {"reduction of a pad", reduces_padded, NULL, NULL},
    {"reduction of a gather", reduces_gathered, NULL, NULL},
    {"reduction of a dynamic slice", reduces_dynamic, NULL, NULL},
    {"reduction of an update", reduces_updated, NULL, NULL},
    {"reduction of a reduction", reduces_reduced, NULL, NULL},
    {"reduction of > 8192 in a run", has_long_runs, NULL, NULL},
    {"reduction of > 512 rows", has_many_rows, NULL, NULL},
    {"reduction of runs and rows", has_runs_and_rows, NULL, NULL},
    {"map of > 10000", is_long_map, NULL, NULL},
    {"map of a concat", maps_joined, NULL, NULL},
    {"map of a pad", maps_padded, NULL, NULL},
    {"map of a gather", maps_gathered, NULL, NULL},
    {"map of a dynamic slice", maps_dynamic, NULL, NULL},
    {"map of an update", maps_updated, NULL, NULL},
    {"gather, checked", gathers_checked, NULL, NULL},
    {"gather, clamped", gathers_clamped, NULL, NULL},
    {"gather with zeros", gathers_zeros, NULL, NULL},
    {"scatter, set, checked", sets_checked, NULL, NULL},
    {"scatter, set in range", sets_in_range, NULL, NULL},
    {"scatter, add, checked", adds_checked, NULL, NULL},
    {"scatter, add in range", adds_in_range, NULL, NULL},
    {"scatter, multiply", scatters_products, NULL, NULL},
    {"scatter, maximum or minimum", scatters_extremes, NULL, NULL},
    {"matmul, a transposed", multiplies_a_flipped, NULL, NULL},
    {"matmul, b transposed", multiplies_b_flipped, NULL, NULL},
    {"matmul, both transposed", multiplies_both_flipped, NULL, NULL},
    {"matmul of nothing", multiplies_nothing, NULL, NULL},
    {"matmul of > 256 terms", multiplies_deep, NULL, NULL},
    {"matmul of a vector", multiplies_vector, NULL, NULL},
    {"matmul, batched", multiplies_batch, NULL, NULL},
    {"dynamic slice of size 0", slices_none, NULL, NULL},
    {"reduction of nothing", reduces_none, NULL, NULL},
    {"reduction of an empty slice", reduces_no_slice, NULL, NULL},
    {"matmul of an empty slice", multiplies_no_slice, NULL, NULL},
    {"pad of nothing", pads_none, NULL, NULL},
    {"random bits, odd offset", has_odd_offset, NULL, NULL},
    {"assign of a transpose", assigns_transposed, NULL, NULL},
    {"assign backwards", assigns_reversed, NULL, NULL},
    {"assign of another variable", assigns_other, NULL, NULL},
    {"loops: reduction of rows", NULL, reduces_rows, NULL},
    {"loops: blocks of rows", NULL, reduces_split_rows, NULL},
    {"loops: pairwise combine of rows", NULL, reduces_row_blocks, NULL},
    {"loops: reduction of columns", NULL, reduces_columns, NULL},
    {"loops: blocks of columns", NULL, reduces_split_columns, NULL},
    {"loops: pairwise combine of columns", NULL, reduces_column_blocks, NULL},
    {"loops: phases over rows", NULL, has_phases, NULL},
    {"loops: index", NULL, has_index, NULL},
    {"loops: offsets, constant", NULL, has_constant_offsets, NULL},
    {"loops: offsets, computed", NULL, has_computed_offsets, NULL},
    {"loops: shift", NULL, has_shift, NULL},
    {"loops: shifted store", NULL, stores_shifted, NULL},
    {"loops: shifted store, straight-line", NULL,
     is_straightline_and_stores_shifted, NULL},
    {"loops: scattered store", NULL, stores_scattered, NULL},
    {"loops: scattered store, straight-line", NULL,
     is_straightline_and_stores_scattered, NULL},
    {"loops: change in place", NULL, changes_in_place, NULL},
    {"loops: backwards", NULL, goes_backwards, NULL},
    {"loops: check", NULL, has_check, NULL},
    {"loops: several stores", NULL, has_siblings, NULL},
    {"loops: tail of a row", NULL, has_a_tail, NULL},
    {"loops: tail of columns", NULL, has_a_column_tail, NULL},
    {"loops: straight-line", NULL, is_straightline, NULL},
    {"loops: values without memory", NULL, reads_ssa_values, NULL},
    {"loops: in place", NULL, is_in_place, NULL},
    {"loops: shared by threads", NULL, is_split, NULL},
    {"row blocks", NULL, NULL, has_row_blocks},
    {"row blocks, per-thread memory", NULL, NULL, has_block_buffers},
    {"row blocks, a smaller last one", NULL, NULL, has_last_block},
    {"row blocks of matrices", NULL, NULL, has_blocks_of_matrices},
    {"row blocks of unknown rows", NULL, NULL, has_blocks_of_unknown_rows},
    {"row blocks of merged axes", NULL, NULL, has_blocks_of_merged_axes},
    {"row blocks of split sums", NULL, NULL, has_blocks_of_split_sums},
    {"row blocks before sums", NULL, NULL, has_sums_behind_blocks},
};

enum { N_STRUCTURES = sizeof(structures) / sizeof(structures[0]) };

_Static_assert((int)N_STRUCTURES <= (int)RG_MAX_STRUCTURES, "structures");

static bool program_is(const place *p, const struct structure *what)
{
    for (tgi_ref ref = 1; what->of_node && ref <= p->graph->n_nodes; ref++)
        if (what->of_node(p, tgi_graph_node(p->graph, ref)))
            return true;
    for (size_t i = 0; what->of_kernel && i < p->loops->kernels.n; i++)
        if (what->of_kernel(p, p->loops->kernels.data[i]))
            return true;
    return what->of_loops && what->of_loops(p);
}

void rg_structure_add(rg_coverage *coverage, const tgi_program *program,
                      const int64_t *graph_values, const int64_t *values)
{
    const place p = {program->graph, program->loops, graph_values, values};
    for (int i = 0; i < N_STRUCTURES; i++)
        coverage->structures[i] += program_is(&p, &structures[i]);
}

void rg_structure_print(const rg_coverage *coverage)
{
    for (int i = 0; i < N_STRUCTURES; i++)
        printf("%-32s %8llu\n", structures[i].name,
               (unsigned long long)coverage->structures[i]);
}

size_t rg_structure_holes(const rg_coverage *coverage)
{
    size_t n = 0;
    for (int i = 0; i < N_STRUCTURES; i++)
        if (!coverage->structures[i] &&
            (!structures[i].of_loops || coverage->n_scheduled)) {
            printf("never met: %s\n", structures[i].name);
            n++;
        }
    return n;
}
