/* SPDX-License-Identifier: MIT */
/*
 * loops_verify.c - checks the rules of loops.h. The code generator relies on
 * them without further checks.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "loop/loops.h"
#include "recipe/reduce_tree.h"

#define REQUIRE(condition, ...) \
    do { \
        if (!(condition)) \
            return report_violation(k, __VA_ARGS__); \
    } while (0)

static tg_status report_violation(const tgi_kernel_loops *k, const char *rule,
                                  size_t number)
{
    return tgi_error_set(TG_ERROR_INTERNAL, TGI_NO_SITE,
                         "loops: kernel %s: %s (%zu)",
                         k && k->name ? k->name : "?", rule, number);
}

static bool has_dim(const tgi_loops *loops, tgi_dim dim)
{
    return tgi_dims_has(loops->dims, dim);
}

static bool has_buffer(const tgi_loops *loops, tgi_buffer_id id)
{
    return !tgi_buffer_id_is_none(id) &&
           tgi_buffer_id_index(id) < loops->buffers.n;
}

static tg_status verify_access(const tgi_loops *loops,
                               const tgi_kernel_loops *k, size_t i)
{
    const tgi_access *access = &k->accesses.data[i];
    REQUIRE(has_buffer(loops, access->buffer), "buffer out of range", i);
    REQUIRE(has_dim(loops, access->offset), "undefined offset", i);
    REQUIRE(!access->panel_width || (k->vectors == TGI_COLUMNS &&
                                     !k->is_straightline && !access->index),
            "panels outside a COLUMNS kernel", i);
    for (int axis = 0; axis < TGI_LOOP_AXES; axis++) {
        REQUIRE(has_dim(loops, access->stride[axis].distance),
                "undefined stride", i);
        REQUIRE(axis <= k->n_outer || access->stride[axis].distance == 0,
                "stride along a missing axis", i);
    }
    REQUIRE(access->index < k->insts.n, "index out of range", i);
    REQUIRE(!access->index || k->insts.data[access->index].dtype == TG_I64,
            "index is not i64", i);
    REQUIRE(access->shift < k->insts.n, "shift out of range", i);
    REQUIRE(!access->shift ||
                (k->insts.data[access->shift].dtype == TG_I64 &&
                 k->insts.data[access->shift].level == TGI_LEVEL_KERNEL),
            "shift is not a kernel-invariant i64", i);
    REQUIRE(has_dim(loops, access->index_stride.distance),
            "undefined index stride", i);
    return TG_OK;
}

/* The axes of an offset table are those of the inner axis. */
static tg_status verify_offset_table(const tgi_loops *loops,
                                     const tgi_kernel_loops *k, size_t i)
{
    const tgi_offset_table *table = &k->offsets.data[i];
    tgi_dim count = 1;
    bool is_known = true;
    REQUIRE(k->vectors == TGI_COLUMNS, "offsets outside a COLUMNS kernel", i);
    REQUIRE(table->n_axes >= 2 && table->n_axes <= TG_MAX_RANK,
            "number of axes of an offset table", i);
    for (int axis = 0; axis < table->n_axes; axis++) {
        REQUIRE(has_dim(loops, table->extent[axis]) &&
                    has_dim(loops, table->stride[axis].distance),
                "undefined axis of an offset table", i);
        is_known &= tgi_dim_is_known(table->stride[axis].distance);
        count = tgi_dim_mul(loops->dims, count, table->extent[axis]);
    }
    REQUIRE(count == k->extent[k->n_outer],
            "an offset table does not cover the inner axis", i);
    REQUIRE(!tgi_buffer_id_is_none(table->memory) ||
                (is_known && tgi_dim_is_known(count) &&
                 count <= TGI_MAX_CONSTANT_OFFSETS),
            "a constant offset table is not known", i);
    if (tgi_buffer_id_is_none(table->memory))
        return TG_OK;
    REQUIRE(has_buffer(loops, table->memory), "buffer out of range", i);
    const tgi_loop_buffer *memory = tgi_loops_buffer(loops, table->memory);
    REQUIRE(memory->place == TGI_PLACE_SCRATCH && memory->dtype == TG_I64 &&
                memory->count == count && !k->is_straightline,
            "memory of an offset table", i);
    return TG_OK;
}

/* An operand precedes its user and is not at a deeper level; at level INNER,
   both are in the same phase. */
static tg_status verify_use(const tgi_kernel_loops *k, uint32_t operand,
                            int level, unsigned phase, size_t user)
{
    REQUIRE(operand > 0 && operand < k->insts.n, "operand out of range", user);
    const tgi_inst *inst = &k->insts.data[operand];
    REQUIRE(inst->level <= level, "operand at a deeper level", user);
    REQUIRE(inst->level != TGI_LEVEL_INNER || inst->phase == phase,
            "operand in another phase", user);
    REQUIRE(inst->phase <= phase || inst->level == TGI_LEVEL_KERNEL,
            "operand in a later phase", user);
    return TG_OK;
}

/* An elementwise op has operands of its type; SELECT's first is a bool. */
static tg_status verify_op(const tgi_kernel_loops *k, size_t i)
{
    const tgi_inst *inst = &k->insts.data[i];
    REQUIRE(inst->op < TGI_OPS && tgi_op_is_elementwise(inst->op),
            "not an elementwise op", i);
    REQUIRE(inst->n_operands == tgi_op_table[inst->op].arity,
            "number of operands", i);
    for (int o = 0; o < inst->n_operands; o++)
        REQUIRE(
            tgi_kernel_dtype(k, inst->operands[o]) ==
                (inst->op == TGI_OP_SELECT && o == 0 ? TG_BOOL : inst->type),
            "operand dtype mismatch", i);
    return TG_OK;
}

static tg_status verify_inst(const tgi_loops *loops, const tgi_kernel_loops *k,
                             size_t i)
{
    const tgi_inst *inst = &k->insts.data[i];
    REQUIRE(inst->kind <= TGI_INST_REDUCED, "unknown inst kind", i);
    REQUIRE(inst->phase < k->n_phases, "inst phase out of range", i);
    REQUIRE(inst->n_operands <= 3, "number of operands", i);
    for (int o = 0; o < inst->n_operands; o++) {
        REQUIRE(inst->operands[o] < i, "operand after its user", i);
        TGI_TRY(verify_use(k, inst->operands[o], inst->level, inst->phase, i));
    }
    switch ((tgi_inst_kind)inst->kind) {
    case TGI_INST_LOAD:
    case TGI_INST_POSITION: {
        REQUIRE(inst->number < k->accesses.n, "access out of range", i);
        const tgi_access *access = &k->accesses.data[inst->number];
        REQUIRE(access->index < i && access->shift < i,
                "index or shift after its user", i);
        if (access->index)
            TGI_TRY(verify_use(k, access->index, inst->level, inst->phase, i));
        int level = TGI_LEVEL_KERNEL;
        for (int axis = 0; axis <= k->n_outer; axis++)
            if (access->stride[axis].distance != 0)
                level = axis < k->n_outer ? TGI_LEVEL_POINT : TGI_LEVEL_INNER;
        REQUIRE(inst->level >= level, "load above its loop level", i);
        REQUIRE(inst->kind != TGI_INST_LOAD ||
                    tgi_loops_buffer(loops, access->buffer)->dtype ==
                        inst->dtype,
                "load dtype mismatch", i);
        break;
    }
    case TGI_INST_OFFSET:
        REQUIRE(inst->number < k->offsets.n, "offset table out of range", i);
        REQUIRE(inst->level == TGI_LEVEL_INNER && inst->dtype == TG_I64,
                "offset is not an i64 of level INNER", i);
        break;
    case TGI_INST_CARRIED:
        REQUIRE(k->vectors == TGI_COLUMNS && k->reductions.n == 0 &&
                    !k->is_straightline && k->has_inner,
                "a carried value outside a scan", i);
        REQUIRE(inst->number > 0 && inst->number < k->insts.n &&
                    k->insts.data[inst->number].dtype == inst->dtype,
                "carried inst out of range", i);
        REQUIRE(inst->level == TGI_LEVEL_INNER &&
                    k->insts.data[inst->number].level == TGI_LEVEL_INNER &&
                    k->insts.data[inst->number].phase == inst->phase,
                "a carried value that is not of level INNER", i);
        break;
    case TGI_INST_REDUCED:
        REQUIRE(inst->number < k->reductions.n, "reduction out of range", i);
        REQUIRE(inst->level >= TGI_LEVEL_POINT, "reduced above level POINT", i);
        REQUIRE(k->reductions.data[inst->number].phase <= inst->phase,
                "reduced before its phase", i);
        break;
    case TGI_INST_OP:
        return verify_op(k, i);
    case TGI_INST_INDEX:
    case TGI_INST_IN_RANGE:
    case TGI_INST_CAST:
        REQUIRE(inst->n_operands == 1, "number of operands", i);
        REQUIRE(tgi_kernel_dtype(k, inst->operands[0]) == inst->type,
                "operand dtype mismatch", i);
        REQUIRE(inst->kind == TGI_INST_CAST || has_dim(loops, inst->dim),
                "undefined extent", i);
        REQUIRE(inst->kind != TGI_INST_CAST || inst->op == TGI_OP_CAST ||
                    (inst->op == TGI_OP_BITCAST &&
                     tgi_dtype_bytes(inst->type) ==
                         tgi_dtype_bytes(inst->dtype)),
                "neither a cast nor a bitcast", i);
        break;
    case TGI_INST_EXTENT:
        REQUIRE(has_dim(loops, inst->dim), "undefined extent", i);
        break;
    case TGI_INST_RANDOM:
        REQUIRE(inst->n_operands == 3, "number of operands", i);
        break;
    case TGI_INST_CONSTANT:
        break;
    }
    return TG_OK;
}

static tg_status verify_reduction(const tgi_kernel_loops *k, size_t i)
{
    const tgi_reduction *r = &k->reductions.data[i];
    REQUIRE(r->op == TGI_OP_SUM || r->op == TGI_OP_PROD ||
                r->op == TGI_OP_REDUCE_MAX || r->op == TGI_OP_REDUCE_MIN ||
                r->op == TGI_OP_MATMUL || r->op == TGI_OP_ARGMAX ||
                r->op == TGI_OP_ARGMIN,
            "not a reduction", i);
    REQUIRE(!r->is_bytes || (r->op == TGI_OP_MATMUL && r->dtype == TG_I32 &&
                             !r->combines_blocks),
            "not a product of bytes", i);
    REQUIRE(r->phase < k->n_phases, "reduction phase out of range", i);
    TGI_TRY(verify_use(k, r->value, TGI_LEVEL_INNER, r->phase, i));
    REQUIRE(tgi_kernel_dtype(k, r->value) == r->dtype,
            "reduction dtype mismatch", i);
    if (r->other)
        TGI_TRY(verify_use(k, r->other, TGI_LEVEL_INNER, r->phase, i));
    REQUIRE(k->has_inner, "reduction without an inner axis", i);
    REQUIRE(k->vectors == TGI_ROWS || r->phase == 0,
            "COLUMNS reduction in a later phase", i);
    for (size_t o = 0; o < i; o++) {
        const tgi_reduction *other = &k->reductions.data[o];
        bool is_wide = tgi_dtype_bytes((tg_dtype)r->dtype) == 8;
        REQUIRE(other->phase != r->phase || k->vectors != TGI_ROWS ||
                    (tgi_dtype_bytes((tg_dtype)other->dtype) == 8) == is_wide,
                "lane counts differ in one phase", i);
    }
    return TG_OK;
}

/* For the operands of the matmul, see choose_matmul.c. */
static tg_status verify_epilogue(const tgi_kernel_loops *k, size_t i)
{
    const tgi_loop_store *store = &k->stores.data[i];
    const tgi_access *access = &k->accesses.data[store->access];
    const int dtype = tgi_kernel_dtype(k, store->value);
    REQUIRE(store->epilogue_op == TGI_OP_SUM ||
                store->epilogue_op == TGI_OP_PROD ||
                store->epilogue_op == TGI_OP_REDUCE_MAX ||
                store->epilogue_op == TGI_OP_REDUCE_MIN,
            "epilogue op is not a reduction", i);
    REQUIRE(k->vectors == TGI_COLUMNS && k->n_outer >= 2 &&
                !k->is_straightline && k->reductions.n == 1 &&
                k->reductions.data[0].op == TGI_OP_MATMUL &&
                !k->reductions.data[0].is_split &&
                !k->reductions.data[0].combines_blocks &&
                tgi_dtype_bytes(k->reductions.data[0].dtype) >= 4,
            "epilogue outside a matmul", i);
    REQUIRE(store->level == TGI_LEVEL_POINT, "epilogue not at level POINT", i);
    REQUIRE(tgi_dtype_bytes(dtype) >= 4, "epilogue of a small dtype", i);
    const int axis = k->n_outer - 1 - !store->along_rows;
    REQUIRE(access->stride[axis].distance == 0 && !access->panel_width &&
                !access->index,
            "epilogue moves along its axis", i);
    REQUIRE(tgi_dim_is_known(k->extent[axis]) && k->extent[axis] > 0 &&
                k->extent[axis] <=
                    tgi_epilogue_reduce_max(store->along_rows, dtype),
            "epilogue of several blocks", i);
    return TG_OK;
}

static tg_status verify_store(const tgi_loops *loops, const tgi_kernel_loops *k,
                              size_t i)
{
    const tgi_loop_store *store = &k->stores.data[i];
    REQUIRE(store->phase < k->n_phases, "store phase out of range", i);
    REQUIRE(store->access < k->accesses.n, "store access out of range", i);
    TGI_TRY(verify_use(k, store->value, store->level, store->phase, i));
    const tgi_access *access = &k->accesses.data[store->access];
    int dtype = tgi_loops_buffer(loops, access->buffer)->dtype;
    REQUIRE(dtype == k->insts.data[store->value].dtype, "store dtype mismatch",
            i);
    /* A scatter applies its indices in order; each is uniform across lanes. */
    REQUIRE(!access->index ||
                (k->vectors == TGI_COLUMNS && k->reductions.n == 0 &&
                 store->level == TGI_LEVEL_INNER),
            "scatter outside a COLUMNS kernel", i);
    REQUIRE(tgi_loops_buffer(loops, access->buffer)->place !=
                TGI_PLACE_CONSTANT,
            "store to a constant", i);
    REQUIRE(store->level == TGI_LEVEL_INNER ||
                access->stride[k->n_outer].distance == 0,
            "store above its loop level", i);
    return store->epilogue_op ? verify_epilogue(k, i) : TG_OK;
}

static tg_status verify_check(const tgi_loops *loops, const tgi_kernel_loops *k,
                              size_t i)
{
    const tgi_loop_check *check = &k->checks.data[i];
    REQUIRE(check->phase < k->n_phases, "check phase out of range", i);
    REQUIRE(check->number < loops->runtime_checks.n,
            "run-time check out of range", i);
    TGI_TRY(verify_use(k, check->value, TGI_LEVEL_INNER, check->phase, i));
    TGI_TRY(verify_use(k, check->position, TGI_LEVEL_INNER, check->phase, i));
    REQUIRE(tgi_kernel_dtype(k, check->value) == TG_BOOL, "check is not bool",
            i);
    REQUIRE(tgi_kernel_dtype(k, check->position) == TG_I64,
            "check position is not i64", i);
    TGI_TRY(verify_use(k, check->index, TGI_LEVEL_INNER, check->phase, i));
    REQUIRE(tgi_dtype_is(tgi_kernel_dtype(k, check->index), TGI_CLASS_INT),
            "check index is not an integer", i);
    return TG_OK;
}

/* Straight-line code is unrolled: extents are known, and a reduction is one
   block. */
static tg_status verify_straightline(const tgi_loops *loops,
                                     const tgi_kernel_loops *k)
{
    for (int axis = 0; axis <= k->n_outer; axis++)
        REQUIRE(tgi_dim_is_known(k->extent[axis]),
                "straight-line kernel of unknown extent", (size_t)axis);
    REQUIRE(k->checks.n == 0, "straight-line kernel with a check", 0);
    for (size_t i = 0; i < k->reductions.n; i++) {
        REQUIRE(!k->reductions.data[i].is_split &&
                    !k->reductions.data[i].combines_blocks,
                "straight-line kernel with split blocks", i);
        REQUIRE(k->extent[k->n_outer] <= TGI_BLOCK_ROWS,
                "straight-line kernel of several blocks", i);
    }
    for (size_t i = 0; i < k->accesses.n; i++) {
        const tgi_access *access = &k->accesses.data[i];
        if (tgi_loops_buffer(loops, access->buffer)->place != TGI_PLACE_SSA)
            continue;
        REQUIRE(!access->index && !access->shift,
                "dynamic access to SSA values", i);
        REQUIRE(tgi_dim_is_known(access->offset),
                "unknown access to SSA values", i);
        for (int axis = 0; axis <= k->n_outer; axis++)
            REQUIRE(tgi_dim_is_known(access->stride[axis].distance),
                    "unknown access to SSA values", i);
    }
    return TG_OK;
}

/* Records the straight-line group in which a kernel accesses each buffer of SSA
   values, and checks that there is only one. */
static tg_status verify_ssa_buffers(const tgi_loops *loops,
                                    const tgi_kernel_loops *k, uint32_t group,
                                    uint32_t *groups)
{
    for (size_t i = 0; i < k->accesses.n; i++) {
        const tgi_buffer_id id = k->accesses.data[i].buffer;
        const uint32_t buffer = tgi_buffer_id_index(id);
        if (loops->buffers.data[buffer].place != TGI_PLACE_SSA)
            continue;
        REQUIRE(k->is_straightline, "SSA values outside straight-line code", i);
        REQUIRE(!groups[buffer] || groups[buffer] == group,
                "SSA values in two groups", i);
        groups[buffer] = group;
    }
    return TG_OK;
}

static tg_status verify_groups(const tgi_loops *loops)
{
    uint32_t *groups = tgi_alloc_zero((loops->buffers.n + 1) * sizeof(*groups));
    if (!groups)
        return tgi_error_memory();
    tg_status status = TG_OK;
    tgi_group_walk walk = {.group = 1};
    for (size_t i = 0; i < loops->steps.n && !status; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        tgi_loops_walk_groups(loops, i, &walk);
        if (k)
            status = verify_ssa_buffers(loops, k, walk.group, groups);
    }
    tgi_free(groups);
    return status;
}

/* A kernel and its twin access corresponding buffers: equal ones where the twin
   accesses equal ones. */
static tg_status verify_pair(const tgi_loops *loops, const tgi_kernel_loops *k,
                             const tgi_kernel_loops *twin, size_t i)
{
    const tgi_buffer_id own = k->accesses.data[i].buffer;
    const tgi_buffer_id other = twin->accesses.data[i].buffer;
    const tgi_loop_buffer *a = tgi_loops_buffer(loops, own);
    const tgi_loop_buffer *b = tgi_loops_buffer(loops, other);
    REQUIRE(a->dtype == b->dtype && a->count == b->count &&
                (a->place == TGI_PLACE_SCRATCH) ==
                    (b->place == TGI_PLACE_SCRATCH) &&
                a->place != TGI_PLACE_STACK && a->place != TGI_PLACE_SSA,
            "twin with another kind of buffer", i);
    for (size_t j = 0; j < i; j++)
        REQUIRE(tgi_buffer_id_equals(own, k->accesses.data[j].buffer) ==
                    tgi_buffer_id_equals(other, twin->accesses.data[j].buffer),
                "twin with other equal buffers", i);
    return TG_OK;
}

static tg_status verify_twin(const tgi_loops *loops, const tgi_kernel_loops *k)
{
    REQUIRE(k->twin.raw <= loops->kernels.n, "twin out of range", 0);
    const tgi_kernel_loops *twin = tgi_loops_kernel(loops, k->twin);
    REQUIRE(twin != k && tgi_kernel_id_is_none(twin->twin) &&
                !twin->is_straightline && !k->is_straightline &&
                twin->checks.n == 0 && k->checks.n == 0,
            "twin without code of its own", 0);
    REQUIRE(twin->accesses.n == k->accesses.n &&
                twin->offsets.n == k->offsets.n &&
                twin->insts.n == k->insts.n && twin->stores.n == k->stores.n,
            "twin of another size", 0);
    for (size_t i = 0; i < k->accesses.n; i++)
        TGI_TRY(verify_pair(loops, k, twin, i));
    return TG_OK;
}

static tg_status verify_kernel(const tgi_loops *loops,
                               const tgi_kernel_loops *k)
{
    REQUIRE(k->n_phases > 0, "no phases", 0);
    REQUIRE(k->n_outer < TGI_LOOP_AXES, "too many axes", k->n_outer);
    REQUIRE(k->vectors != TGI_COLUMNS || k->n_outer > 0,
            "COLUMNS kernel without outer axes", 0);
    for (int axis = 0; axis <= k->n_outer; axis++)
        REQUIRE(has_dim(loops, k->extent[axis]), "undefined extent",
                (size_t)axis);
    for (size_t i = 0; i < k->accesses.n; i++)
        TGI_TRY(verify_access(loops, k, i));
    for (size_t i = 0; i < k->offsets.n; i++)
        TGI_TRY(verify_offset_table(loops, k, i));
    for (size_t i = 1; i < k->insts.n; i++)
        TGI_TRY(verify_inst(loops, k, i));
    for (size_t i = 0; i < k->reductions.n; i++)
        TGI_TRY(verify_reduction(k, i));
    for (size_t i = 0; i < k->stores.n; i++)
        TGI_TRY(verify_store(loops, k, i));
    for (size_t i = 0; i < k->checks.n; i++)
        TGI_TRY(verify_check(loops, k, i));
    REQUIRE(k->memo.raw <= loops->memo_params.n &&
                !(k->memo.raw && k->is_straightline),
            "memo out of range", 0);
    if (k->is_straightline)
        TGI_TRY(verify_straightline(loops, k));
    return tgi_kernel_id_is_none(k->twin) ? TG_OK : verify_twin(loops, k);
}

/* A stack keeps its buffer across iterations. */
static tg_status verify_stacks(const tgi_loops *loops,
                               const tgi_control_flow *c, size_t i)
{
    const tgi_kernel_loops *k = NULL;
    REQUIRE(c->stack_set.raw <= loops->n_stack_sets, "stack set out of range",
            i);
    REQUIRE(tgi_stack_set_id_is_none(c->stack_set) ||
                c->memory_check < loops->runtime_checks.n,
            "run-time check out of range", i);
    REQUIRE(has_buffer(loops, c->base) &&
                (!c->has_base || !tgi_stack_set_id_is_none(c->stack_set)),
            "stack base out of range", i);
    for (uint32_t j = 0; j < c->n_carried && !c->n_cases; j++) {
        const tgi_loop_buffer *b = tgi_loops_buffer(loops, c->carried[j]);
        REQUIRE(b->place != TGI_PLACE_STACK ||
                    tgi_buffer_id_equals(c->next[j], c->carried[j]),
                "stack changes its buffer", i);
    }
    return TG_OK;
}

/* A case or iteration ends with a barrier, also if it has no kernels: epochs,
   and with them the memory plan, count it on every path. */
static tg_status verify_end(const tgi_loops *loops, size_t i)
{
    const tgi_kernel_loops *k = NULL;
    const int kind = loops->steps.data[i].kind;
    const int before = i ? loops->steps.data[i - 1].kind : TGI_STEP_RUN;
    const bool is_end =
        kind == TGI_STEP_LOOP_END || kind == TGI_STEP_SWITCH_END ||
        (kind == TGI_STEP_CASE && before != TGI_STEP_SWITCH);
    REQUIRE(!is_end || before == TGI_STEP_BARRIER,
            "no barrier at the end of a case or iteration", i);
    return TG_OK;
}

/* Only kernels that are not straight-line are in row blocks, as many as these
   have maps. */
static tg_status verify_row_blocks(const tgi_loops *loops, size_t i)
{
    const tgi_kernel_loops *k = NULL;
    const tgi_loop_step *step = &loops->steps.data[i];
    if (step->kind == TGI_STEP_ROWS_END) {
        while (i > 0 && loops->steps.data[i - 1].kind == TGI_STEP_RUN)
            i--;
        REQUIRE(i > 0 && loops->steps.data[i - 1].kind == TGI_STEP_ROWS,
                "end of row blocks without a beginning", i);
        return TG_OK;
    }
    REQUIRE(step->rows.raw - 1 < loops->row_blocks.n, "row blocks out of range",
            i);
    const tgi_row_blocks *rows = tgi_loops_rows(loops, step->rows);
    REQUIRE(rows->block_rows > 0 && has_dim(loops, rows->rows) &&
                has_dim(loops, rows->matrices),
            "undefined rows of row blocks", i);
    REQUIRE(i + rows->n_kernels + 1 < loops->steps.n &&
                loops->steps.data[i + rows->n_kernels + 1].kind ==
                    TGI_STEP_ROWS_END,
            "number of kernels in row blocks", i);
    for (uint32_t j = 0; j < rows->n_kernels; j++) {
        const tgi_kernel_loops *member = tgi_loops_kernel_at(loops, i + 1 + j);
        REQUIRE(member && !member->is_straightline &&
                    tgi_memo_id_is_none(member->memo),
                "a step in row blocks that is not a kernel of its own", i);
        REQUIRE(rows->kernels[j].n_axes > 0 &&
                    rows->kernels[j].n_axes <= member->n_outer + 1 &&
                    rows->kernels[j].rows_per_index > 0 &&
                    has_dim(loops, rows->kernels[j].per_row),
                "rows of a kernel in row blocks", i);
    }
    for (uint32_t j = 0; j < rows->n_buffers; j++)
        REQUIRE(has_buffer(loops, rows->buffers[j].buffer) &&
                    has_dim(loops, rows->buffers[j].row_elements) &&
                    tgi_loops_buffer(loops, rows->buffers[j].buffer)->place ==
                        TGI_PLACE_BLOCK,
                "buffer of row blocks", i);
    return TG_OK;
}

tg_status tgi_loops_verify(const tgi_loops *loops)
{
    const tgi_kernel_loops *k = NULL;
    for (size_t i = 0; i < loops->kernels.n; i++)
        TGI_TRY(verify_kernel(loops, loops->kernels.data[i]));
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_loop_step *step = &loops->steps.data[i];
        if (step->kind == TGI_STEP_RUN)
            REQUIRE(step->kernel.raw - 1 < loops->kernels.n,
                    "step operand out of range", i);
        if (step->kind == TGI_STEP_HOST)
            REQUIRE(step->host.raw - 1 < loops->hosts.n,
                    "step operand out of range", i);
        if (step->kind >= TGI_STEP_LOOP)
            REQUIRE(step->control.raw - 1 < loops->controls.n,
                    "step operand out of range", i);
        if (step->kind == TGI_STEP_ROWS || step->kind == TGI_STEP_ROWS_END)
            TGI_TRY(verify_row_blocks(loops, i));
        TGI_TRY(verify_end(loops, i));
    }
    for (size_t i = 0; i < loops->buffers.n; i++)
        REQUIRE(has_dim(loops, loops->buffers.data[i].count),
                "undefined buffer size", i);
    for (size_t i = 0; i < loops->buffers.n; i++)
        REQUIRE(loops->buffers.data[i].place != TGI_PLACE_STACK ||
                    loops->buffers.data[i].index < loops->n_stack_sets ||
                    loops->buffers.data[i].index == TGI_NO_STACK_SET,
                "stack without a stack set", i);
    for (size_t i = 0; i < loops->controls.n; i++)
        TGI_TRY(verify_stacks(loops, &loops->controls.data[i], i));
    for (size_t i = 0; i < loops->buffers.n; i++)
        REQUIRE(loops->buffers.data[i].place != TGI_PLACE_SSA ||
                    (tgi_dim_is_known(loops->buffers.data[i].count) &&
                     loops->buffers.data[i].count <= TGI_MAX_SSA_ELEMENTS),
                "too many SSA elements", i);
    return verify_groups(loops);
}
