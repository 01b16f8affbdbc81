/* SPDX-License-Identifier: MIT */
/*
 * loop_builder.c - emits the expressions of tasks as insts, each (node, map)
 * once per kernel, or once per phase if it depends on the inner axis.
 */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "fuse/fuse_buffer.h"
#include "fuse/fuse_value.h"
#include "fuse/loop_builder.h"
#include "tgjit/ops.h"

/* -- Insts ----------------------------------------------------------------- */

/* Appends an inst; 0 when out of memory (recorded). */
static uint32_t add_inst(tgi_loop_builder *b, tgi_inst inst, uint32_t axes)
{
    inst.phase = b->phase;
    if (!tgi_vec_push(&b->loops->insts, inst) ||
        !tgi_vec_push(&b->axes, axes)) {
        tgi_error_memory();
        return 0;
    }
    return (uint32_t)b->loops->insts.n - 1;
}

static uint32_t axes_of(const tgi_loop_builder *b, uint32_t inst)
{
    return b->axes.data[inst];
}

uint32_t tgi_loop_builder_access(tgi_loop_builder *b, const tgi_access *access)
{
    if (!tgi_vec_push(&b->loops->accesses, *access)) {
        tgi_error_memory();
        return UINT32_MAX;
    }
    return (uint32_t)b->loops->accesses.n - 1;
}

/* The axes that an address depends on. */
static uint32_t axes_of_access(const tgi_loop_builder *b,
                               const tgi_access *access)
{
    uint32_t axes = access->index ? axes_of(b, access->index) : 0;
    for (int axis = 0; axis < TGI_LOOP_AXES; axis++)
        if (access->stride[axis].distance != 0)
            axes |= UINT32_C(1) << axis;
    return axes;
}

/* LOAD or POSITION. */
static uint32_t add_access_inst(tgi_loop_builder *b, int kind, int dtype,
                                tgi_ref node, const tgi_access *access)
{
    uint32_t number = tgi_loop_builder_access(b, access);
    if (number == UINT32_MAX)
        return 0;
    return add_inst(b,
                    (tgi_inst){.kind = (uint8_t)kind,
                               .dtype = (uint8_t)dtype,
                               .number = number,
                               .node = node},
                    axes_of_access(b, access));
}

static uint32_t add_constant(tgi_loop_builder *b, int dtype, uint64_t bits,
                             tgi_ref node)
{
    return add_inst(b,
                    (tgi_inst){.kind = TGI_INST_CONSTANT,
                               .dtype = (uint8_t)dtype,
                               .bits = bits,
                               .node = node},
                    0);
}

static uint32_t add_operation(tgi_loop_builder *b, tgi_inst inst)
{
    uint32_t axes = 0;
    for (int i = 0; i < inst.n_operands; i++)
        axes |= axes_of(b, inst.operands[i]);
    return add_inst(b, inst, axes);
}

uint32_t tgi_loop_builder_cast(tgi_loop_builder *b, tgi_op op,
                               uint32_t operand, int dtype, tgi_ref node)
{
    int type = b->loops->insts.data[operand].dtype;
    if (type == dtype)
        return operand;
    return add_operation(b, (tgi_inst){.kind = TGI_INST_CAST,
                                       .op = (uint8_t)op,
                                       .dtype = (uint8_t)dtype,
                                       .type = (uint8_t)type,
                                       .n_operands = 1,
                                       .operands = {operand},
                                       .node = node});
}

uint32_t tgi_loop_builder_reduced(tgi_loop_builder *b, uint32_t reduction)
{
    const tgi_reduction *r = &b->loops->reductions.data[reduction];
    bool gives_position = r->op == TGI_OP_ARGMAX || r->op == TGI_OP_ARGMIN;
    return add_inst(b,
                    (tgi_inst){.kind = TGI_INST_REDUCED,
                               .dtype = gives_position ? TG_I64 : r->dtype,
                               .number = reduction},
                    TGI_AXES_POINT);
}

/* -- Offsets --------------------------------------------------------------- */

/* The inst of an offset table with these axes, existing or new; 0 when out of
   memory (recorded). */
static uint32_t find_offset(tgi_loop_builder *b, const tgi_offset_table *table)
{
    tgi_kernel_loops *loops = b->loops;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        if (inst->kind != TGI_INST_OFFSET || inst->phase != b->phase)
            continue;
        const tgi_offset_table *known = &loops->offsets.data[inst->number];
        if (memcmp(known->extent, table->extent, sizeof(table->extent)) == 0 &&
            memcmp(known->stride, table->stride, sizeof(table->stride)) == 0)
            return i;
    }
    tgi_offset_table added = *table;
    bool is_known = true;
    tgi_dim count = 1;
    for (int i = 0; i < table->n_axes; i++) {
        is_known &= tgi_dim_is_known(table->stride[i].distance);
        count = tgi_dim_mul(b->state->dims, count, table->extent[i]);
    }
    if (!is_known || !tgi_dim_is_known(count) ||
        count > TGI_MAX_CONSTANT_OFFSETS) {
        added.memory = tgi_fuse_add_buffer(
            b->state, (tgi_loop_buffer){.place = TGI_PLACE_SCRATCH,
                                        .dtype = TG_I64,
                                        .is_pinned = true,
                                        .count = count});
        if (tgi_buffer_id_is_none(added.memory))
            return 0;
    }
    if (!tgi_vec_push(&loops->offsets, added)) {
        tgi_error_memory();
        return 0;
    }
    return add_inst(b,
                    (tgi_inst){.kind = TGI_INST_OFFSET,
                               .dtype = TG_I64,
                               .number = (uint32_t)loops->offsets.n - 1},
                    b->inner_axes);
}

/* If the inner axes are not one axis for an access, replaces its strides along
   them by an OFFSET. False when out of memory (recorded). */
static bool nest_inner_axes(tgi_loop_builder *b, tgi_access *access)
{
    if (b->loops->vectors != TGI_COLUMNS || b->n_inner < 2 || access->index)
        return true;
    tgi_offset_table table = {.n_axes = b->n_inner};
    bool is_one_axis = true;
    for (int i = 0; i < b->n_inner; i++) {
        const int axis = b->first_inner + i;
        table.extent[i] = b->loops->extent[axis];
        table.stride[i] = access->stride[axis];
        is_one_axis &=
            i == 0 ||
            (table.stride[i - 1].distance ==
                 tgi_dim_mul(b->state->dims, table.stride[i].distance,
                             table.extent[i]) &&
             table.stride[i - 1].is_negative == table.stride[i].is_negative);
    }
    if (is_one_axis)
        return true;
    access->index = find_offset(b, &table);
    access->index_stride = (tgi_stride){1, false};
    for (int i = 0; i < b->n_inner; i++)
        access->stride[b->first_inner + i] = (tgi_stride){0};
    return access->index != 0;
}

/* -- Loads ----------------------------------------------------------------- */

/* A load from an empty buffer is the constant 0. */
static uint32_t add_load(tgi_loop_builder *b, int dtype, tgi_ref node,
                         const tgi_access *access)
{
    tgi_access nested = *access;
    if (tgi_loops_buffer(b->state->loops, access->buffer)->count == 0)
        return add_constant(b, dtype, 0, node);
    if (!nest_inner_axes(b, &nested))
        return 0;
    return add_access_inst(b, TGI_INST_LOAD, dtype, node, &nested);
}

uint32_t tgi_loop_builder_load(tgi_loop_builder *b, int dtype,
                               const tgi_access *access)
{
    return add_load(b, dtype, 0, access);
}

/* A POSITION has no buffer. Its access names the first one, so that passes over
   accesses need no special case; they may take that one for accessed. */
static uint32_t add_position(tgi_loop_builder *b, tgi_ref node,
                             const tgi_access *access)
{
    tgi_access position = *access;
    position.buffer = tgi_buffer_id_from(0);
    return add_access_inst(b, TGI_INST_POSITION, TG_I64, node, &position);
}

uint32_t tgi_loop_builder_position(tgi_loop_builder *b,
                                   const tgi_access *access)
{
    return add_position(b, 0, access);
}

/* INDEX or IN_RANGE. */
static uint32_t add_index(tgi_loop_builder *b, int kind, uint32_t operand,
                          tgi_dim extent, tgi_ref node)
{
    return add_operation(
        b, (tgi_inst){.kind = (uint8_t)kind,
                      .dtype = kind == TGI_INST_INDEX ? TG_I64 : TG_BOOL,
                      .type = b->loops->insts.data[operand].dtype,
                      .n_operands = 1,
                      .operands = {operand},
                      .dim = extent,
                      .node = node});
}

uint32_t tgi_loop_builder_in_range(tgi_loop_builder *b, uint32_t operand,
                                   tgi_dim extent, tgi_ref node)
{
    return add_index(b, TGI_INST_IN_RANGE, operand, extent, node);
}

uint32_t tgi_loop_builder_index(tgi_loop_builder *b, uint32_t operand,
                                tgi_dim extent, tgi_ref node)
{
    return add_index(b, TGI_INST_INDEX, operand, extent, node);
}

uint32_t tgi_loop_builder_op(tgi_loop_builder *b, int op, int n,
                             const uint32_t *operands, tgi_ref node)
{
    const int dtype = b->loops->insts.data[operands[n - 1]].dtype;
    tgi_inst inst = {.kind = TGI_INST_OP,
                     .op = (uint8_t)op,
                     .dtype = (uint8_t)dtype,
                     .type = (uint8_t)dtype,
                     .n_operands = (uint8_t)n,
                     .node = node};
    memcpy(inst.operands, operands, (size_t)n * sizeof(*operands));
    return add_operation(b, inst);
}

/* The bits of -0 (integers: 0) or 1. */
static uint64_t start_bits(int dtype, bool is_one)
{
    union {
        float f32;
        double f64;
        uint64_t bits;
    } start = {.bits = 0};
    if (dtype == TG_F32)
        start.f32 = is_one ? 1.0f : -0.0f;
    else if (dtype == TG_F64)
        start.f64 = is_one ? 1.0 : -0.0;
    else
        start.bits = is_one;
    return start.bits;
}

uint32_t tgi_loop_builder_linear_step(tgi_loop_builder *b, uint32_t factor,
                                      uint32_t addend, bool starts_at_one,
                                      bool has_steps, tgi_ref node)
{
    const int dtype = b->loops->insts.data[addend].dtype;
    const uint64_t bits = start_bits(dtype, starts_at_one);
    const uint32_t previous =
        has_steps ? add_inst(b,
                             (tgi_inst){.kind = TGI_INST_CARRIED,
                                        .dtype = (uint8_t)dtype,
                                        .bits = bits,
                                        .node = node},
                             b->inner_axes)
                  : add_constant(b, dtype, bits, node);
    if (!previous)
        return 0;
    uint32_t result;
    if (tgi_dtype_is(dtype, TGI_CLASS_FLOAT)) {
        result = tgi_loop_builder_op(
            b, TGI_OP_FMA, 3, (const uint32_t[]){factor, previous, addend},
            node);
    } else {
        const uint32_t product = tgi_loop_builder_op(
            b, TGI_OP_MUL, 2, (const uint32_t[]){factor, previous}, node);
        result = product ? tgi_loop_builder_op(
                               b, TGI_OP_ADD, 2,
                               (const uint32_t[]){product, addend}, node)
                         : 0;
    }
    if (has_steps)
        b->loops->insts.data[previous].number = result;
    return result;
}

uint32_t tgi_loop_builder_reload(tgi_loop_builder *b, uint32_t number,
                                 tgi_ref node)
{
    const tgi_buffer_id buffer = b->loops->accesses.data[number].buffer;
    return add_inst(
        b,
        (tgi_inst){.kind = TGI_INST_LOAD,
                   .dtype = tgi_loops_buffer(b->state->loops, buffer)->dtype,
                   .number = number,
                   .node = node},
        b->inner_axes);
}

/* -- Shifts ---------------------------------------------------------------- */

static uint32_t find_cached(tgi_loop_builder *b, const tgi_expr_node *expr_node,
                            uint64_t hash);

static uint64_t hash_of(const tgi_expr_node *expr_node)
{
    return tgi_hash(&expr_node->map, sizeof(expr_node->map), expr_node->node);
}

/* A kernel-invariant i64. Equal ones are one inst, so that addresses with the
   same shift compare equal. */
static uint32_t add_scalar(tgi_loop_builder *b, tgi_inst inst)
{
    inst.dtype = TG_I64;
    for (uint32_t i = 1; i < b->loops->insts.n; i++) {
        const tgi_inst *known = &b->loops->insts.data[i];
        if (known->kind == inst.kind && known->op == inst.op &&
            known->dtype == inst.dtype && known->type == inst.type &&
            known->bits == inst.bits && known->number == inst.number &&
            memcmp(known->operands, inst.operands, sizeof(inst.operands)) == 0)
            return i;
    }
    return add_operation(b, inst);
}

static uint32_t add_i64_op(tgi_loop_builder *b, int op, uint32_t x, uint32_t y)
{
    return x && y ? add_scalar(b, (tgi_inst){.kind = TGI_INST_OP,
                                             .op = (uint8_t)op,
                                             .type = TG_I64,
                                             .n_operands = 2,
                                             .operands = {x, y}})
                  : 0;
}

/* sum + factor * x; `sum` 0: there are no terms yet. */
static uint32_t add_scaled(tgi_loop_builder *b, uint32_t sum, uint32_t x,
                           tgi_stride factor)
{
    if (factor.distance != 1)
        x = add_i64_op(b, TGI_OP_MUL, x,
                       add_scalar(b, (tgi_inst){.kind = TGI_INST_EXTENT,
                                                .dim = factor.distance}));
    if (!sum && !factor.is_negative)
        return x;
    if (!sum)
        sum = add_scalar(b, (tgi_inst){.kind = TGI_INST_CONSTANT});
    return add_i64_op(b, factor.is_negative ? TGI_OP_SUB : TGI_OP_ADD, sum, x);
}

static tgi_stride stride_of_step(int64_t step)
{
    return (tgi_stride){step < 0 ? -step : step, step < 0};
}

/* The value of a shift. Its starts have been emitted already (fuse_expr.c). */
static uint32_t build_shift(tgi_loop_builder *b, tgi_shift_id id)
{
    tgi_fuse_state *s = b->state;
    uint32_t sum = 0;
    for (int64_t step = 1; !tgi_shift_id_is_none(id);) {
        const tgi_shift *shift = &s->shifts.data[tgi_shift_id_index(id)];
        tgi_expr_node start = {.node = shift->start};
        tgi_map_init(s, start.node, &start.map);
        const uint32_t inst = find_cached(b, &start, hash_of(&start));
        assert(inst);
        const uint32_t index =
            add_scalar(b, (tgi_inst){.kind = TGI_INST_INDEX,
                                     .type = b->loops->insts.data[inst].dtype,
                                     .n_operands = 1,
                                     .operands = {inst},
                                     .dim = shift->n_starts});
        sum = index ? add_scaled(b, sum, index, stride_of_step(step)) : 0;
        if (!sum)
            return 0;
        step *= shift->outer_step;
        id = shift->outer;
    }
    return sum;
}

/* Adds the shift of one axis with this stride. */
static bool add_shift(tgi_loop_builder *b, const tgi_map_axis *at,
                      tgi_dim stride, tgi_access *access)
{
    if (tgi_shift_id_is_none(at->shift) || stride == 0)
        return true;
    tgi_stride factor = stride_of_step(at->shift_step);
    factor.distance = tgi_dim_mul(b->state->dims, factor.distance, stride);
    uint32_t shift = build_shift(b, at->shift);
    if (!shift || factor.distance == TGI_DIM_NONE)
        return false;
    access->shift = add_scaled(b, access->shift, shift, factor);
    return access->shift != 0;
}

bool tgi_loop_builder_shift(tgi_loop_builder *b, const tgi_task *task,
                            tgi_access *access)
{
    const tgi_map_axis at = {.shift = task->target.shift, .shift_step = 1};
    return add_shift(b, &at, task->target.shift_stride, access);
}

/* The address of an expression node, with shifts. */
static bool build_access(tgi_loop_builder *b, const tgi_expr_node *expr_node,
                         tgi_access *out_access)
{
    tgi_dim strides[TG_MAX_RANK];
    if (!tgi_fuse_leaf_access(b->state, expr_node, out_access))
        return false;
    tgi_fuse_strides(b->state, expr_node->node, strides);
    for (int32_t axis = 0; axis < expr_node->map.rank; axis++)
        if (!add_shift(b, &expr_node->map.axis[axis], strides[axis],
                       out_access))
            return false;
    return true;
}

/* -- Expression nodes ------------------------------------------------------ */

/* The index of an element in the dense form of its node. */
static uint32_t position_of(tgi_loop_builder *b, const tgi_expr_node *expr_node)
{
    tgi_access access;
    if (!build_access(b, expr_node, &access))
        return 0;
    return add_position(b, expr_node->node, &access);
}

static uint32_t build_constant(tgi_loop_builder *b,
                               const tgi_expr_node *expr_node,
                               const tgi_node *node)
{
    uint64_t bits = 0;
    memcpy(&bits, tgi_graph_constant(b->state->graph, expr_node->node),
           (size_t)tgi_dtype_bytes((tg_dtype)node->dtype));
    return add_constant(b, node->dtype, bits, expr_node->node);
}

static uint32_t build_iota(tgi_loop_builder *b, const tgi_expr_node *expr_node,
                           const tgi_node *node)
{
    const tgi_attr_index *attr = node->attr;
    const tgi_map_axis *at = &expr_node->map.axis[attr->index];
    tgi_access access = {.offset = at->start};
    if (at->axis >= 0)
        access.stride[at->axis] = stride_of_step(at->step);
    if (at->window_step != 0)
        access.stride[at->window] = stride_of_step(at->window_step);
    if (!add_shift(b, at, 1, &access))
        return 0;
    uint32_t position = add_position(b, expr_node->node, &access);
    return position ? tgi_loop_builder_cast(b, TGI_OP_CAST, position, node->dtype,
                                            expr_node->node)
                    : 0;
}

/* A load; `index` is the inst of a GATHERED axis. */
static uint32_t build_load(tgi_loop_builder *b, const tgi_task *task,
                           const tgi_expr_node *expr_node, uint32_t index)
{
    tgi_fuse_state *s = b->state;
    const tgi_node *node = tgi_graph_node(s->graph, expr_node->node);
    /* The task that takes a snapshot of a variable loads the variable. */
    tgi_ref from =
        tgi_task_materialises(task, expr_node->node) && node->op == TGI_OP_READ
            ? node->inputs[0]
            : expr_node->node;
    const tgi_buffer_id buffer = tgi_fuse_buffer_of(s, from);
    tgi_access access;
    if (tgi_buffer_id_is_none(buffer) || !build_access(b, expr_node, &access))
        return 0;
    access.buffer = buffer;
    access.index = access.index ? index : 0;
    /* Scratch holds the row of one point. */
    if (tgi_loops_buffer(s->loops, buffer)->place == TGI_PLACE_SCRATCH)
        for (int axis = 0; axis < TGI_LOOP_AXES; axis++)
            if (!(b->inner_axes >> axis & 1))
                access.stride[axis] = (tgi_stride){0};
    return add_load(b, node->dtype, expr_node->node, &access);
}

/* A load through the index, and through views in between. */
static uint32_t build_gather(tgi_loop_builder *b, const tgi_task *task,
                             const tgi_expr_node *expr_node,
                             const tgi_node *node)
{
    tgi_fuse_state *s = b->state;
    const tgi_attr_gather *attr = node->attr;
    tgi_ref data = tgi_fuse_resolve(s, node->inputs[0]);
    tgi_dim extent = tgi_fuse_extent(s, data, (int)attr->axis);
    if (extent == 0)
        return add_constant(b, node->dtype, 0, expr_node->node);

    uint32_t operand = tgi_loop_builder_inst_of(b, expr_node->operands[0]);
    const bool was_checked = tgi_fuse_is_in_range(
        s, tgi_fuse_resolve(s, node->inputs[1]), extent, task->kernel);
    uint32_t index =
        was_checked
            ? tgi_loop_builder_cast(b, TGI_OP_CAST, operand, TG_I64,
                                    expr_node->node)
            : add_index(b, TGI_INST_INDEX, operand, extent, expr_node->node);
    /* Skip views down to the gathered load, unless they make it invariant. */
    tgi_expr_id id = expr_node->operands[1];
    const tgi_expr_node *leaf = tgi_expr_at(&task->expr, id);
    while (!tgi_expr_id_is_none(leaf->map.index) && leaf->n_operands) {
        id = leaf->operands[0];
        leaf = tgi_expr_at(&task->expr, id);
    }
    uint32_t element = tgi_loop_builder_inst_of(b, id);
    if (!tgi_expr_id_is_none(leaf->map.index))
        element = index ? build_load(b, task, leaf, index) : 0;
    if (!element || attr->mode != TG_GATHER_ZERO || was_checked)
        return element;

    uint32_t is_in_range =
        tgi_loop_builder_in_range(b, operand, extent, expr_node->node);
    uint32_t zero = add_constant(b, node->dtype, 0, expr_node->node);
    if (!is_in_range || !zero)
        return 0;
    return tgi_loop_builder_op(b, TGI_OP_SELECT, 3,
                               (const uint32_t[]){is_in_range, element, zero},
                               expr_node->node);
}

static uint32_t build_random(tgi_loop_builder *b,
                             const tgi_expr_node *expr_node,
                             const tgi_node *node)
{
    uint32_t position = position_of(b, expr_node);
    if (!position)
        return 0;
    return add_operation(
        b, (tgi_inst){
               .kind = TGI_INST_RANDOM,
               .dtype = node->dtype,
               .n_operands = 3,
               .operands = {tgi_loop_builder_inst_of(b, expr_node->operands[0]),
                            tgi_loop_builder_inst_of(b, expr_node->operands[1]),
                            position},
               .node = expr_node->node});
}

static uint32_t build_operation(tgi_loop_builder *b,
                                const tgi_expr_node *expr_node,
                                const tgi_node *node)
{
    tgi_inst inst = {.kind = TGI_INST_OP,
                     .op = node->op,
                     .dtype = node->dtype,
                     .n_operands = (uint8_t)expr_node->n_operands,
                     .node = expr_node->node};
    for (uint32_t i = 0; i < expr_node->n_operands; i++)
        inst.operands[i] = tgi_loop_builder_inst_of(b, expr_node->operands[i]);
    uint32_t last = inst.operands[expr_node->n_operands - 1];
    inst.type = b->loops->insts.data[last].dtype;
    return add_operation(b, inst);
}

/* A node that is computed, not loaded. */
static uint32_t build_computed(tgi_loop_builder *b, const tgi_task *task,
                               const tgi_expr_node *expr_node)
{
    const tgi_node *node = tgi_graph_node(b->state->graph, expr_node->node);
    if (tgi_fuse_is_empty(b->state, expr_node->node))
        return add_constant(b, node->dtype, 0, expr_node->node);
    switch (node->op) {
    case TGI_OP_CONSTANT:
        return build_constant(b, expr_node, node);
    case TGI_OP_IOTA:
        return build_iota(b, expr_node, node);
    case TGI_OP_EXTENT: {
        const tgi_attr_index *attr = node->attr;
        tgi_dim dim = tgi_variant_dim(b->state->variant, attr->index);
        return add_inst(b,
                        (tgi_inst){.kind = TGI_INST_EXTENT,
                                   .dtype = TG_I64,
                                   .dim = dim,
                                   .node = expr_node->node},
                        0);
    }
    case TGI_OP_UNSET: /* any value will do */
        return add_constant(b, node->dtype, 0, expr_node->node);
    case TGI_OP_GATHER:
        return build_gather(b, task, expr_node, node);
    case TGI_OP_RANDOM_BITS:
        return build_random(b, expr_node, node);
    case TGI_OP_CAST:
    case TGI_OP_BITCAST:
        return tgi_loop_builder_cast(
            b, (tgi_op)node->op,
            tgi_loop_builder_inst_of(b, expr_node->operands[0]), node->dtype,
            expr_node->node);
    default:
        break;
    }
    if (tgi_fuse_is_view(node))
        return tgi_loop_builder_inst_of(b, expr_node->operands[0]);
    return build_operation(b, expr_node, node);
}

/* -- Common subexpressions ------------------------------------------------- */

/* An inst of the same node and map that is valid in this phase; 0: none. */
static uint32_t find_cached(tgi_loop_builder *b, const tgi_expr_node *expr_node,
                            uint64_t hash)
{
    size_t probe = 0;
    uint32_t position;
    while ((position = tgi_index_next(&b->index, hash, &probe))) {
        const tgi_cached_inst *cached = &b->cached.data[position - 1];
        bool is_inner = (axes_of(b, cached->inst) & b->inner_axes) != 0;
        if (cached->node->node == expr_node->node &&
            memcmp(&cached->node->map, &expr_node->map,
                   sizeof(expr_node->map)) == 0 &&
            (!is_inner || cached->phase == b->phase))
            return cached->inst;
    }
    return 0;
}

static bool cache_inst(tgi_loop_builder *b, const tgi_expr_node *expr_node,
                       uint64_t hash, uint32_t inst)
{
    tgi_cached_inst cached = {expr_node, inst, b->phase};
    if (tgi_vec_push(&b->cached, cached) &&
        tgi_index_add(&b->index, hash, (uint32_t)b->cached.n))
        return true;
    tgi_error_memory();
    return false;
}

/* The value that a task of this kernel has computed at the same point. */
static uint32_t build_local(tgi_loop_builder *b, const tgi_task *writer,
                            const tgi_task *task,
                            const tgi_expr_node *expr_node)
{
    if (writer->kind == TGI_TASK_REDUCE)
        return tgi_loop_builder_reduced(b, writer->reduce.reduction);
    if (writer->level == TGI_LEVEL_POINT || writer->phase == task->phase)
        return writer->map.inst;
    return build_load(b, task, expr_node, 0);
}

uint32_t tgi_loop_builder_expand(tgi_loop_builder *b, const tgi_task *task,
                                 tgi_expr_id root)
{
    const tgi_expr *x = &task->expr;
    for (size_t n = 0; n < x->order.n; n++) {
        const tgi_expr_id i = x->order.data[n];
        const tgi_expr_node *expr_node = tgi_expr_at(x, i);
        /* The gather itself loads gathered nodes. */
        if (!tgi_expr_id_is_none(expr_node->map.index)) {
            b->inst_of[tgi_expr_id_index(i)] = 0;
            continue;
        }
        uint64_t hash = hash_of(expr_node);
        uint32_t inst = find_cached(b, expr_node, hash);
        if (!inst) {
            const tgi_task *writer = tgi_fuse_writer(b->state, task, i);
            if (writer &&
                tgi_fuse_kernel_id_equals(writer->kernel, task->kernel))
                inst = build_local(b, writer, task, expr_node);
            else if (tgi_expr_node_is_loaded(b->state, task, i))
                inst = build_load(b, task, expr_node, 0);
            else
                inst = build_computed(b, task, expr_node);
            if (!inst || !cache_inst(b, expr_node, hash, inst))
                return 0;
        }
        b->inst_of[tgi_expr_id_index(i)] = inst;
    }
    return tgi_loop_builder_inst_of(b, root);
}
