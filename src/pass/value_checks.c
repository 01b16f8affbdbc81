/* SPDX-License-Identifier: MIT */
/*
 * value_checks.c - see value_checks.h.
 *
 * A value that an operation can make a NaN or infinity of is *pending* until a
 * check tests it. If an operation passes on the NaNs of a pending operand, its
 * result is tested instead: of layer normalisation, only the last value is. Any
 * other elementwise operation takes over a *flag* of a pending operand of its
 * own shape, a bool per element, so that flags fuse with it. A *check* reduces
 * the flags of all pending values and fails if one is set: a SWITCH with a FAIL
 * node, as tg_assert makes it. Reducing a flag also makes the code compute all
 * elements of the value.
 *
 * Checks precede everything that cannot be undone (prints and host calls), and
 * loops, which a NaN may keep from ending.
 */
#include "pass/value_checks.h"

#include <math.h>

#include "base/error.h"
#include "build/build.h"
#include "interp/interp.h"
#include "ir/rebuild.h"

typedef struct pending_value {
    tgi_ref value;
    bool is_tested; /* an element of the value may be one */
    tgi_ref flag;   /* of operands of its shape; 0: of none */
} pending_value;

typedef struct checker {
    unsigned kinds;
    TGI_VEC(pending_value) pending;
} checker;

/* -- Flags ----------------------------------------------------------------- */

/* True unless the results are elements of operands, perhaps negated. */
static bool can_make_value(const tgi_node *node)
{
    switch (node->op) {
    case TGI_OP_NEG:
    case TGI_OP_ABS:
    case TGI_OP_STOP:
    case TGI_OP_MIN:
    case TGI_OP_MAX:
    case TGI_OP_SELECT:
    case TGI_OP_PAD:
    case TGI_OP_CONCAT:
    case TGI_OP_GATHER:
    case TGI_OP_DYNAMIC_SLICE:
    case TGI_OP_DYNAMIC_UPDATE:
        return false;
    default:
        break;
    }
    switch (tgi_op_table[node->op].cls) {
    case TGI_OPCLASS_LEAF:
    case TGI_OPCLASS_VIEW:
    case TGI_OPCLASS_RANDOM:
    case TGI_OPCLASS_STATE:
    case TGI_OPCLASS_EFFECT:
    case TGI_OPCLASS_REGION:
        return false;
    default:
        return node->dtype == TG_F32 || node->dtype == TG_F64;
    }
}

static tgi_ref build_flag(tgi_builder *b, tgi_ref value, unsigned kinds)
{
    if (kinds == TGI_CHECK_NAN)
        return tgi_build_2(b, TGI_OP_NE, value, value);
    const tgi_ref magnitude = tgi_build_1(b, TGI_OP_ABS, value);
    const tgi_ref infinity = tgi_build_number_like(b, value, HUGE_VAL);
    if (kinds == TGI_CHECK_INF)
        return tgi_build_2(b, TGI_OP_EQ, magnitude, infinity);
    return tgi_build_1(b, TGI_OP_NOT,
                       tgi_build_2(b, TGI_OP_LT, magnitude, infinity));
}

/* -- Operands -------------------------------------------------------------- */

/* True if an element of the result is a NaN wherever the element of that
   operand is, or, if `kinds` has both, a NaN or infinite wherever it is. */
static bool passes_on(const tgi_node *node, uint32_t operand, unsigned kinds)
{
    if (node->dtype != TG_F32 && node->dtype != TG_F64)
        return false;
    switch (node->op) {
    case TGI_OP_NEG:
    case TGI_OP_ABS:
    case TGI_OP_STOP:
    case TGI_OP_SQRT:
    case TGI_OP_CAST:
    case TGI_OP_ADD:
    case TGI_OP_SUB:
    case TGI_OP_MUL:
    case TGI_OP_FMA:
    case TGI_OP_SUM:
    case TGI_OP_PROD:
    case TGI_OP_MATMUL:
        return (kinds & TGI_CHECK_NAN) != 0;
    case TGI_OP_DIV:
        return kinds == TGI_CHECK_NAN ||
               (kinds != TGI_CHECK_INF && operand == 0);
    case TGI_OP_MIN:
    case TGI_OP_MAX:
    case TGI_OP_REDUCE_MAX:
    case TGI_OP_REDUCE_MIN:
        return kinds == TGI_CHECK_NAN;
    case TGI_OP_BITCAST:
        return false;
    default:
        return kinds == TGI_CHECK_NAN &&
               (tgi_op_table[node->op].cls == TGI_OPCLASS_UNARY);
    }
}

/* True if the result has elements whenever the operand has. */
static bool is_empty_only_with(const tgi_graph *graph, tgi_ref result,
                               tgi_ref operand)
{
    const tgi_shape *of = tgi_graph_shape(graph, result);
    const tgi_shape *in = tgi_graph_shape(graph, operand);
    for (int axis = 0; axis < of->rank; axis++) {
        bool is_safe = of->dims[axis] > 0;
        for (int i = 0; i < in->rank && !is_safe; i++)
            is_safe = in->dims[i] == of->dims[axis];
        if (!is_safe)
            return false;
    }
    return true;
}

/* The value of which `ref` is a view that has all its elements. */
static tgi_ref viewed(const tgi_graph *graph, tgi_ref ref)
{
    for (;;) {
        const tgi_node *node = tgi_graph_node(graph, ref);
        if (node->op != TGI_OP_BROADCAST && node->op != TGI_OP_RESHAPE &&
            node->op != TGI_OP_TRANSPOSE)
            return ref;
        ref = node->inputs[0];
    }
}

typedef enum use { USE_NONE, USE_OTHER, USE_PASSES_ON } use;

static use use_of(const checker *c, const tgi_graph *graph, tgi_ref ref,
                  tgi_ref value)
{
    const tgi_node *node = tgi_graph_node(graph, ref);
    use found = USE_NONE;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (viewed(graph, node->inputs[i]) == value &&
            passes_on(node, i, c->kinds) &&
            is_empty_only_with(graph, ref, value))
            return USE_PASSES_ON;
        if (node->inputs[i] == value)
            found = USE_OTHER;
    }
    return found;
}

/* The flag of a pending value; 0 on failure (recorded). */
static tgi_ref flag_of(const checker *c, tgi_builder *b, const pending_value *p)
{
    const tgi_ref own =
        p->is_tested ? build_flag(b, p->value, c->kinds) : p->flag;
    return own && p->is_tested && p->flag
               ? tgi_build_2(b, TGI_OP_OR, own, p->flag)
               : own;
}

/* Moves what is to be tested from the operands of to->value to it; false on
   failure (recorded). */
static bool take_over_operands(checker *c, tgi_builder *b, pending_value *to)
{
    const tgi_node node = *tgi_graph_node(b->graph, to->value);
    size_t n = 0;
    bool is_good = true;
    for (size_t i = 0; i < c->pending.n; i++) {
        pending_value p = c->pending.data[i];
        const use how = use_of(c, b->graph, to->value, p.value);
        if (how == USE_PASSES_ON) {
            to->is_tested = true;
            p.is_tested = false;
        }
        if ((p.is_tested || p.flag) && how != USE_NONE &&
            tgi_op_is_elementwise(node.op) &&
            tgi_graph_node(b->graph, p.value)->shape == node.shape) {
            tgi_ref flag = flag_of(c, b, &p);
            if (flag && to->flag)
                flag = tgi_build_2(b, TGI_OP_OR, to->flag, flag);
            is_good = is_good && flag;
            to->flag = flag;
            p = (pending_value){.value = p.value};
        }
        if (p.is_tested || p.flag)
            c->pending.data[n++] = p;
    }
    c->pending.n = n;
    return is_good;
}

static bool is_pending(const checker *c, tgi_ref value)
{
    for (size_t i = 0; i < c->pending.n; i++)
        if (c->pending.data[i].value == value)
            return true;
    return false;
}

/* Notes what a node that has been added as `ref` needs; false on failure
   (recorded). */
static bool note_value(checker *c, tgi_graph *out, tgi_ref ref)
{
    const tgi_node node = *tgi_graph_node(out, ref);
    tgi_builder b = {.graph = out,
                     .site = tgi_node_site(&node),
                     .op_name = "check",
                     .no_contraction = true};
    if (is_pending(c, ref)) /* an equal node has been visited */
        return true;
    pending_value p = {.value = ref, .is_tested = can_make_value(&node)};
    if (!take_over_operands(c, &b, &p))
        return false;
    if ((!p.is_tested && !p.flag) || tgi_vec_push(&c->pending, p))
        return true;
    tgi_error_memory();
    return false;
}

/* -- Checks ---------------------------------------------------------------- */

/* A bool: an element is set. The elements are added as floats: integers of
   their width could wrap to 0. Those of a row are added first, which fuses with
   a kernel of rows, so that flags are not stored. */
static tgi_ref reduce_flag(tgi_builder *b, tgi_ref flag)
{
    const int rank = tgi_graph_shape(b->graph, flag)->rank;
    if (rank == 0)
        return flag;
    tgi_ref sum = tgi_build_cast(b, flag, TG_F32);
    if (rank > 1)
        sum = tgi_build_reduce(b, TGI_OP_SUM, sum, TG_AXES(rank - 1));
    sum = tgi_build_reduce(b, TGI_OP_SUM, sum, TG_ALL_AXES);
    return tgi_build_2(b, TGI_OP_LT, tgi_build_number_like(b, sum, 0), sum);
}

/* A branch of the check: empty, or with a FAIL node. NULL on failure
   (recorded). */
static tgi_graph *create_branch(tgi_graph *out, bool fails)
{
    static const char format[] = "a value is NaN or infinite";
    const tgi_shape_ref scalar = tgi_shape_intern(out->dims, 0, NULL);
    const tgi_node node = {.op = TGI_OP_FAIL,
                           .dtype = TG_DTYPE_NONE,
                           .shape = scalar,
                           .attr = format,
                           .attr_bytes = sizeof(format)};
    tgi_graph *branch =
        scalar ? tgi_graph_create(fails ? "fails" : "holds", out->dims) : NULL;
    if (branch &&
        tgi_graph_add_param(branch, TGI_OP_PARAM, TG_I64, scalar, 0) &&
        (!fails || tgi_graph_add(branch, &node)))
        return branch;
    tgi_graph_release(branch);
    return NULL;
}

static bool add_switch(tgi_builder *b, tgi_ref selector)
{
    union {
        tgi_attr_regions attr;
        char bytes[sizeof(tgi_attr_regions) + 2 * sizeof(tgi_graph *)];
    } regions = {.attr = {.n_graphs = 2}};
    tgi_graph *holds = create_branch(b->graph, false);
    tgi_graph *fails = create_branch(b->graph, true);
    regions.attr.graphs[0] = holds;
    regions.attr.graphs[1] = fails;
    const tgi_ref ref =
        holds && fails && selector
            ? tgi_build_node(b, TGI_OP_SWITCH, TG_DTYPE_NONE,
                             tgi_shape_intern(b->graph->dims, 0, NULL),
                             &selector, 1, &regions, sizeof(regions))
            : 0;
    tgi_graph_release(holds);
    tgi_graph_release(fails);
    return ref != 0;
}

/* Checks all pending values; false on failure (recorded). */
static bool add_check(checker *c, tgi_graph *out)
{
    tgi_builder b = {.graph = out, .op_name = "check", .no_contraction = true};
    if (c->pending.n == 0)
        return true;
    tgi_ref is_set = 0;
    for (size_t i = 0; i < c->pending.n; i++) {
        const pending_value *p = &c->pending.data[i];
        b.site = tgi_node_site(tgi_graph_node(out, p->value));
        const tgi_ref flags = flag_of(c, &b, p);
        const tgi_ref flag = flags ? reduce_flag(&b, flags) : 0;
        is_set = i ? tgi_build_2(&b, TGI_OP_OR, is_set, flag) : flag;
    }
    c->pending.n = 0;
    return add_switch(&b, tgi_build_cast(&b, is_set, TG_I64));
}

/* -- Graphs ---------------------------------------------------------------- */

static tg_status check_graph(const tgi_graph *in, void *user,
                             tgi_graph **out_graph);

/* True if values must be checked before the node. */
static bool is_barrier(const tgi_node *node)
{
    const tgi_regions regions = tgi_node_regions(node);
    bool has_effects = node->op == TGI_OP_LOOP || node->op == TGI_OP_PRINT ||
                       node->op == TGI_OP_HOST;
    for (size_t i = 0; i < regions.n; i++)
        has_effects |= regions.graphs[i]->has_effects;
    return has_effects;
}

static tgi_ref copy_and_note(tgi_rebuild *rebuild, tgi_ref old,
                              const tgi_node *original)
{
    checker *c = rebuild->user;
    tgi_graph *out = rebuild->out;
    tgi_node node = *original;
    tgi_attr_regions *regions = NULL;
    /* The node as it was: its new regions have checks, which are effects. */
    if (is_barrier(tgi_graph_node(rebuild->in, old)) && !add_check(c, out))
        return 0;
    if (tgi_node_has_regions(&node)) {
        regions = tgi_rebuild_regions(&node, out, &c->kinds, check_graph);
        if (!regions)
            return 0;
        node.attr = regions;
    }
    const tgi_ref ref = tgi_graph_add(out, &node);
    tgi_rebuild_regions_free(regions);
    return ref && note_value(c, out, ref) ? ref : 0;
}

static tg_status check_graph(const tgi_graph *in, void *user,
                             tgi_graph **out_graph)
{
    checker c = {.kinds = *(const unsigned *)user};
    tgi_rebuild rebuild = {.in = in, .visit = copy_and_note, .user = &c};
    tg_status status = tgi_rebuild_run(&rebuild);
    if (!status && !add_check(&c, rebuild.out)) {
        tgi_graph_release(rebuild.out);
        rebuild.out = NULL;
        status = tg_error_last()->status;
    }
    tgi_vec_deinit(&c.pending);
    *out_graph = rebuild.out;
    return status;
}

tg_status tgi_graph_add_value_checks(const tgi_graph *in, unsigned kinds,
                                     tgi_graph **out_graph)
{
    return check_graph(in, &kinds, out_graph);
}
