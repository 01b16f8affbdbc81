/* SPDX-License-Identifier: MIT */
/*
 * loops_verify.c - whether loops obey loops.h. Code is generated without
 * further questions, so everything it relies on is asked here.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "loop/loops.h"
#include "recipe/reduce_tree.h"

#define REQUIRE(condition, ...) \
    do { \
        if (!(condition)) \
            return wrong(k, __VA_ARGS__); \
    } while (0)

static tg_status wrong(const tgi_kernel_loops *k, const char *what,
                       size_t number)
{
    return tgi_error_set(TG_ERROR_INTERNAL, TGI_NO_SITE,
                         "loops: kernel %s: %s (%zu)",
                         k && k->name ? k->name : "?", what, number);
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
    REQUIRE(has_buffer(loops, access->buffer), "access of no buffer", i);
    REQUIRE(has_dim(loops, access->offset), "offset has no value", i);
    REQUIRE(!access->panel_width || (k->vectors == TGI_COLUMNS &&
                                     !k->is_straightline && !access->index),
            "slivers of no columns", i);
    for (int axis = 0; axis < TGI_LOOP_AXES; axis++) {
        REQUIRE(has_dim(loops, access->stride[axis].distance),
                "stride has no value", i);
        REQUIRE(axis <= k->n_outer || access->stride[axis].distance == 0,
                "stride along an axis that is not there", i);
    }
    REQUIRE(access->index < k->insts.n, "index of no inst", i);
    REQUIRE(!access->index || k->insts.data[access->index].dtype == TG_I64,
            "index is no i64", i);
    REQUIRE(access->shift < k->insts.n, "shift of no inst", i);
    REQUIRE(!access->shift ||
                (k->insts.data[access->shift].dtype == TG_I64 &&
                 k->insts.data[access->shift].level == TGI_LEVEL_KERNEL),
            "shift is not known in all of a kernel", i);
    REQUIRE(has_dim(loops, access->index_stride.distance),
            "index stride has no value", i);
    return TG_OK;
}

/* An operand comes before its user, at its level or a lower one, in its phase
   if it is at the innermost. */
static tg_status verify_use(const tgi_kernel_loops *k, uint32_t operand,
                            int level, unsigned phase, size_t user)
{
    REQUIRE(operand > 0 && operand < k->insts.n, "operand is no inst", user);
    const tgi_inst *inst = &k->insts.data[operand];
    REQUIRE(inst->level <= level, "operand of a deeper level", user);
    REQUIRE(inst->level != TGI_LEVEL_INNER || inst->phase == phase,
            "operand of another phase", user);
    REQUIRE(inst->phase <= phase || inst->level == TGI_LEVEL_KERNEL,
            "operand of a later phase", user);
    return TG_OK;
}

static int dtype_of(const tgi_kernel_loops *k, uint32_t inst)
{
    return k->insts.data[inst].dtype;
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
            dtype_of(k, inst->operands[o]) ==
                (inst->op == TGI_OP_SELECT && o == 0 ? TG_BOOL : inst->type),
            "operand of another type", i);
    return TG_OK;
}

static tg_status verify_inst(const tgi_loops *loops, const tgi_kernel_loops *k,
                             size_t i)
{
    const tgi_inst *inst = &k->insts.data[i];
    REQUIRE(inst->kind <= TGI_INST_REDUCED, "inst of no kind", i);
    REQUIRE(inst->phase < k->n_phases, "inst of no phase", i);
    REQUIRE(inst->n_operands <= 3, "number of operands", i);
    for (int o = 0; o < inst->n_operands; o++) {
        REQUIRE(inst->operands[o] < i, "operand after its user", i);
        TGI_TRY(verify_use(k, inst->operands[o], inst->level, inst->phase, i));
    }
    switch ((tgi_inst_kind)inst->kind) {
    case TGI_INST_LOAD:
    case TGI_INST_POSITION: {
        REQUIRE(inst->number < k->accesses.n, "inst of no access", i);
        const tgi_access *access = &k->accesses.data[inst->number];
        REQUIRE(access->index < i && access->shift < i, "index after its user",
                i);
        if (access->index)
            TGI_TRY(verify_use(k, access->index, inst->level, inst->phase, i));
        int level = TGI_LEVEL_KERNEL;
        for (int axis = 0; axis <= k->n_outer; axis++)
            if (access->stride[axis].distance != 0)
                level = axis < k->n_outer ? TGI_LEVEL_POINT : TGI_LEVEL_INNER;
        REQUIRE(inst->level >= level, "load above its axes", i);
        REQUIRE(inst->kind != TGI_INST_LOAD ||
                    tgi_loops_buffer(loops, access->buffer)->dtype ==
                        inst->dtype,
                "load of another type", i);
        break;
    }
    case TGI_INST_REDUCED:
        REQUIRE(inst->number < k->reductions.n, "no such reduction", i);
        REQUIRE(inst->level >= TGI_LEVEL_POINT, "reduced above a point", i);
        REQUIRE(k->reductions.data[inst->number].phase <= inst->phase,
                "reduced before its phase", i);
        break;
    case TGI_INST_OP:
        return verify_op(k, i);
    case TGI_INST_INDEX:
    case TGI_INST_IN_RANGE:
    case TGI_INST_CAST:
        REQUIRE(inst->n_operands == 1, "number of operands", i);
        REQUIRE(dtype_of(k, inst->operands[0]) == inst->type,
                "operand of another type", i);
        REQUIRE(inst->kind == TGI_INST_CAST || has_dim(loops, inst->dim),
                "extent has no value", i);
        break;
    case TGI_INST_EXTENT:
        REQUIRE(has_dim(loops, inst->dim), "extent has no value", i);
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
    REQUIRE(r->phase < k->n_phases, "reduction of no phase", i);
    TGI_TRY(verify_use(k, r->value, TGI_LEVEL_INNER, r->phase, i));
    REQUIRE(dtype_of(k, r->value) == r->dtype, "reduction of another type", i);
    if (r->other)
        TGI_TRY(verify_use(k, r->other, TGI_LEVEL_INNER, r->phase, i));
    REQUIRE(k->has_inner, "reduction along nothing", i);
    REQUIRE(k->vectors == TGI_ROWS || r->phase == 0,
            "columns reduced in a later phase", i);
    for (size_t o = 0; o < i; o++) {
        const tgi_reduction *other = &k->reductions.data[o];
        bool is_wide = tgi_dtype_bytes((tg_dtype)r->dtype) == 8;
        REQUIRE(other->phase != r->phase || k->vectors != TGI_ROWS ||
                    (tgi_dtype_bytes((tg_dtype)other->dtype) == 8) == is_wide,
                "reductions of one phase with other lanes", i);
    }
    return TG_OK;
}

/* Code is generated only for tiles of a product that have all that an
   epilogue reduction
   takes: for what is said of its sides, see llvm_matmul_tiling.c. */
static tg_status verify_fold(const tgi_kernel_loops *k, size_t i)
{
    const tgi_loop_store *store = &k->stores.data[i];
    const tgi_access *access = &k->accesses.data[store->access];
    const int dtype = dtype_of(k, store->value);
    REQUIRE(store->epilogue_op == TGI_OP_SUM ||
                store->epilogue_op == TGI_OP_PROD ||
                store->epilogue_op == TGI_OP_REDUCE_MAX ||
                store->epilogue_op == TGI_OP_REDUCE_MIN,
            "epilogue reduction by no reduction", i);
    REQUIRE(k->vectors == TGI_COLUMNS && k->n_outer >= 2 &&
                !k->is_straightline && k->reductions.n == 1 &&
                k->reductions.data[0].op == TGI_OP_MATMUL &&
                !k->reductions.data[0].is_split &&
                !k->reductions.data[0].combines_blocks &&
                tgi_dtype_bytes(k->reductions.data[0].dtype) >= 4,
            "epilogue reduction of no product", i);
    REQUIRE(store->level == TGI_LEVEL_POINT,
            "epilogue reduction that is not at points", i);
    REQUIRE(tgi_dtype_bytes(dtype) >= 4, "epilogue reduction of a small type",
            i);
    const int axis = k->n_outer - 1 - !store->along_rows;
    REQUIRE(access->stride[axis].distance == 0 && !access->panel_width &&
                !access->index,
            "epilogue reduction into many", i);
    REQUIRE(tgi_dim_is_known(k->extent[axis]) && k->extent[axis] > 0 &&
                k->extent[axis] <=
                    tgi_epilogue_reduce_max(store->along_rows, dtype),
            "epilogue reduction of many blocks", i);
    return TG_OK;
}

static tg_status verify_store(const tgi_loops *loops, const tgi_kernel_loops *k,
                              size_t i)
{
    const tgi_loop_store *store = &k->stores.data[i];
    REQUIRE(store->phase < k->n_phases, "store of no phase", i);
    REQUIRE(store->access < k->accesses.n, "store of no access", i);
    TGI_TRY(verify_use(k, store->value, store->level, store->phase, i));
    const tgi_access *access = &k->accesses.data[store->access];
    int dtype = tgi_loops_buffer(loops, access->buffer)->dtype;
    REQUIRE(dtype == k->insts.data[store->value].dtype, "store of another type",
            i);
    /* Indices are taken in order: each is the same for all lanes. */
    REQUIRE(!access->index ||
                (k->vectors == TGI_COLUMNS && k->reductions.n == 0 &&
                 store->level == TGI_LEVEL_INNER),
            "scattered store", i);
    REQUIRE(tgi_loops_buffer(loops, access->buffer)->place !=
                TGI_PLACE_CONSTANT,
            "store into what is only read", i);
    REQUIRE(store->level == TGI_LEVEL_INNER ||
                access->stride[k->n_outer].distance == 0,
            "store above its axes", i);
    return store->epilogue_op ? verify_fold(k, i) : TG_OK;
}

static tg_status verify_check(const tgi_loops *loops, const tgi_kernel_loops *k,
                              size_t i)
{
    const tgi_loop_check *check = &k->checks.data[i];
    REQUIRE(check->phase < k->n_phases, "check of no phase", i);
    REQUIRE(check->number < loops->runtime_checks.n, "check of nothing", i);
    TGI_TRY(verify_use(k, check->value, TGI_LEVEL_INNER, check->phase, i));
    TGI_TRY(verify_use(k, check->position, TGI_LEVEL_INNER, check->phase, i));
    REQUIRE(dtype_of(k, check->value) == TG_BOOL, "check of no bool", i);
    REQUIRE(dtype_of(k, check->position) == TG_I64, "check at no i64", i);
    return TG_OK;
}

/* What is tiny is written out in full: all of it must be known, and a
   reduction is one block. */
static tg_status verify_tiny(const tgi_loops *loops, const tgi_kernel_loops *k)
{
    for (int axis = 0; axis <= k->n_outer; axis++)
        REQUIRE(tgi_dim_is_known(k->extent[axis]), "tiny of unknown extent",
                (size_t)axis);
    REQUIRE(k->checks.n == 0, "tiny with a check", 0);
    for (size_t i = 0; i < k->reductions.n; i++) {
        REQUIRE(!k->reductions.data[i].is_split &&
                    !k->reductions.data[i].combines_blocks,
                "tiny with blocks", i);
        REQUIRE(k->extent[k->n_outer] <= TGI_BLOCK_ROWS,
                "tiny of several blocks", i);
    }
    for (size_t i = 0; i < k->accesses.n; i++) {
        const tgi_access *access = &k->accesses.data[i];
        if (tgi_loops_buffer(loops, access->buffer)->place != TGI_PLACE_SSA)
            continue;
        REQUIRE(!access->index && !access->shift, "index into values", i);
        REQUIRE(tgi_dim_is_known(access->offset), "place among values", i);
        for (int axis = 0; axis <= k->n_outer; axis++)
            REQUIRE(tgi_dim_is_known(access->stride[axis].distance),
                    "place among values", i);
    }
    return TG_OK;
}

/* Notes in which region (by number, from 1 on) a kernel touches values; they
   are those of one region. */
static tg_status verify_values(const tgi_loops *loops,
                               const tgi_kernel_loops *k, uint32_t region,
                               uint32_t *regions)
{
    for (size_t i = 0; i < k->accesses.n; i++) {
        const tgi_buffer_id id = k->accesses.data[i].buffer;
        const uint32_t buffer = tgi_buffer_id_index(id);
        if (loops->buffers.data[buffer].place != TGI_PLACE_SSA)
            continue;
        REQUIRE(k->is_straightline, "values in memory", i);
        REQUIRE(!regions[buffer] || regions[buffer] == region,
                "values of two regions", i);
        regions[buffer] = region;
    }
    return TG_OK;
}

static tg_status verify_regions(const tgi_loops *loops)
{
    uint32_t *regions =
        tgi_alloc_zero((loops->buffers.n + 1) * sizeof(*regions));
    if (!regions)
        return tgi_error_memory();
    tg_status status = TG_OK;
    tgi_group_walk walk = {.group = 1};
    for (size_t i = 0; i < loops->steps.n && !status; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        tgi_loops_walk_groups(loops, i, &walk);
        if (k)
            status = verify_values(loops, k, walk.group, regions);
    }
    tgi_free(regions);
    return status;
}

static tg_status verify_kernel(const tgi_loops *loops,
                               const tgi_kernel_loops *k)
{
    REQUIRE(k->n_phases > 0, "no phase", 0);
    REQUIRE(k->n_outer < TGI_LOOP_AXES, "too many axes", k->n_outer);
    REQUIRE(k->vectors != TGI_COLUMNS || k->n_outer > 0, "no lanes", 0);
    for (int axis = 0; axis <= k->n_outer; axis++)
        REQUIRE(has_dim(loops, k->extent[axis]), "extent has no value",
                (size_t)axis);
    for (size_t i = 0; i < k->accesses.n; i++)
        TGI_TRY(verify_access(loops, k, i));
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
            "kept by nothing", 0);
    if (k->is_straightline)
        TGI_TRY(verify_tiny(loops, k));
    return TG_OK;
}

/* What grows is where it was after each trip. */
static tg_status verify_stacks(const tgi_loops *loops,
                               const tgi_control_flow *c, size_t i)
{
    const tgi_kernel_loops *k = NULL;
    REQUIRE(c->stack_set.raw <= loops->n_stack_sets, "loop of no stacks", i);
    REQUIRE(tgi_stack_set_id_is_none(c->stack_set) ||
                c->memory_check < loops->runtime_checks.n,
            "check of nothing", i);
    REQUIRE(has_buffer(loops, c->base) &&
                (!c->has_base || !tgi_stack_set_id_is_none(c->stack_set)),
            "beginning of nothing", i);
    for (uint32_t j = 0; j < c->n_carried && !c->n_cases; j++) {
        const tgi_loop_buffer *b = tgi_loops_buffer(loops, c->carried[j]);
        REQUIRE(b->place != TGI_PLACE_STACK ||
                    tgi_buffer_id_equals(c->next[j], c->carried[j]),
                "stack that moves", i);
    }
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
            REQUIRE(step->kernel.raw - 1 < loops->kernels.n, "step of nothing",
                    i);
        if (step->kind == TGI_STEP_HOST)
            REQUIRE(step->host.raw - 1 < loops->hosts.n, "step of nothing", i);
        if (step->kind >= TGI_STEP_LOOP)
            REQUIRE(step->control.raw - 1 < loops->controls.n,
                    "step of nothing", i);
    }
    for (size_t i = 0; i < loops->buffers.n; i++)
        REQUIRE(has_dim(loops, loops->buffers.data[i].count),
                "size of a buffer has no value", i);
    for (size_t i = 0; i < loops->buffers.n; i++)
        REQUIRE(loops->buffers.data[i].place != TGI_PLACE_STACK ||
                    loops->buffers.data[i].index < loops->n_stack_sets ||
                    loops->buffers.data[i].index == TGI_NO_STACK_SET,
                "stack of no loop", i);
    for (size_t i = 0; i < loops->controls.n; i++)
        TGI_TRY(verify_stacks(loops, &loops->controls.data[i], i));
    for (size_t i = 0; i < loops->buffers.n; i++)
        REQUIRE(loops->buffers.data[i].place != TGI_PLACE_SSA ||
                    (tgi_dim_is_known(loops->buffers.data[i].count) &&
                     loops->buffers.data[i].count <= TGI_MAX_SSA_ELEMENTS),
                "too many values", i);
    return verify_regions(loops);
}
