/* SPDX-License-Identifier: MIT */
/*
 * value_checks.c - see value_checks.h.
 *
 * Every operation that can make a NaN or infinity gets a *flag*, a bool per
 * element. Where an elementwise operation uses a flagged value of its own
 * shape, it takes over the flag, so that a chain of operations has one flag,
 * which fuses with it. A *check* reduces all pending flags and fails if one is
 * set: a SWITCH with a FAIL node, as tg_assert makes it. Reducing a flag also
 * makes the code compute all elements of the value.
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

typedef struct flagged {
    tgi_ref value; /* 0: its flag has been taken over */
    tgi_ref flag;
} flagged;

typedef struct checker {
    unsigned kinds;
    TGI_VEC(flagged) pending;
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

/* The flags of the node's operands, which `node` takes over if it is
   elementwise, or'ed to `flag`; `flag` may be 0. Sets *out_is_good to false on
   failure (recorded). */
static tgi_ref take_over_flags(checker *c, tgi_builder *b, const tgi_node *node,
                               tgi_ref flag, bool *out_is_good)
{
    *out_is_good = true;
    if (!tgi_op_is_elementwise(node->op))
        return flag;
    for (size_t i = 0; i < c->pending.n; i++) {
        flagged *f = &c->pending.data[i];
        bool is_operand = false;
        for (uint32_t k = 0; k < node->n_inputs; k++)
            is_operand |= node->inputs[k] == f->value;
        if (!f->value || !is_operand ||
            tgi_graph_node(b->graph, f->value)->shape != node->shape)
            continue;
        flag = flag ? tgi_build_2(b, TGI_OP_OR, flag, f->flag) : f->flag;
        f->value = 0;
        if (!flag)
            *out_is_good = false;
    }
    return flag;
}

/* Drops the flags that have been taken over. */
static void compact(checker *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->pending.n; i++)
        if (c->pending.data[i].value)
            c->pending.data[n++] = c->pending.data[i];
    c->pending.n = n;
}

static bool is_pending(const checker *c, tgi_ref value)
{
    for (size_t i = 0; i < c->pending.n; i++)
        if (c->pending.data[i].value == value)
            return true;
    return false;
}

/* Flags a node that has been added as `ref`; false on failure (recorded). */
static bool flag_value(checker *c, tgi_graph *out, tgi_ref ref)
{
    const tgi_node node = *tgi_graph_node(out, ref);
    tgi_builder b = {.graph = out,
                     .site = tgi_node_site(&node),
                     .op_name = "check",
                     .no_contraction = true};
    tgi_ref flag = 0;
    bool is_good;
    if (is_pending(c, ref)) /* an equal node has been visited */
        return true;
    if (can_make_value(&node) && !(flag = build_flag(&b, ref, c->kinds)))
        return false;
    flag = take_over_flags(c, &b, &node, flag, &is_good);
    compact(c);
    if (!is_good)
        return false;
    const flagged f = {ref, flag};
    if (!flag || tgi_vec_push(&c->pending, f))
        return true;
    tgi_error_memory();
    return false;
}

/* -- Checks ---------------------------------------------------------------- */

/* A bool: an element is set. The elements are added as floats: integers of
   their width could wrap to 0. */
static tgi_ref reduce_flag(tgi_builder *b, tgi_ref flag)
{
    if (tgi_graph_shape(b->graph, flag)->rank == 0)
        return flag;
    const tgi_ref ones = tgi_build_cast(b, flag, TG_F32);
    const tgi_ref sum = tgi_build_reduce(b, TGI_OP_SUM, ones, TG_ALL_AXES);
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

/* Checks all pending flags; false on failure (recorded). */
static bool add_check(checker *c, tgi_graph *out)
{
    tgi_builder b = {.graph = out, .op_name = "check", .no_contraction = true};
    if (c->pending.n == 0)
        return true;
    tgi_ref is_set = 0;
    for (size_t i = 0; i < c->pending.n; i++) {
        const tgi_ref flag = reduce_flag(&b, c->pending.data[i].flag);
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

static tgi_ref copy_with_flag(tgi_rebuild *rebuild, tgi_ref old,
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
    return ref && flag_value(c, out, ref) ? ref : 0;
}

static tg_status check_graph(const tgi_graph *in, void *user,
                             tgi_graph **out_graph)
{
    checker c = {.kinds = *(const unsigned *)user};
    tgi_rebuild rebuild = {.in = in, .visit = copy_with_flag, .user = &c};
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
