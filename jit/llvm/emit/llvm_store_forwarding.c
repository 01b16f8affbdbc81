/* SPDX-License-Identifier: MIT */
/*
 * llvm_store_forwarding.c - store-to-load forwarding in straight-line groups.
 * Elements that a kernel stores are remembered as SSA values, which later
 * kernels use instead of loads. SSA buffers (TGI_PLACE_SSA) have no memory.
 *
 * Loads from buffers that the group stores to stay where they are
 * (tgi_llvm_quirk_keep_load). Loads from other buffers are hoisted out of
 * loops.
 */
#include <string.h>

#include "llvm/emit/llvm_store_forwarding.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"

unsigned tgi_llvm_vector_width(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type)
                                                       : 1;
}

/* -- Elements -------------------------------------------------------------- */

tgi_llvm_forwarded *tgi_llvm_forwarded_elements(tgi_llvm_straightline *group,
                                                uint32_t buffer)
{
    tgi_llvm_program *program = group->program;
    const tgi_dim count = program->loops->buffers.data[buffer].count;
    if (group->forwarded[buffer] || !tgi_dim_is_known(count) || count == 0 ||
        count > TGI_MAX_SSA_ELEMENTS)
        return group->forwarded[buffer];
    const size_t bytes = (size_t)count * sizeof(tgi_llvm_forwarded);
    group->forwarded[buffer] = program->alloc(bytes);
    if (group->forwarded[buffer]) {
        memset(group->forwarded[buffer], 0, bytes);
    } else {
        tgi_llvm_fail_memory(program);
    }
    return group->forwarded[buffer];
}

static LLVMValueRef extract_element(const tgi_llvm_straightline *group,
                                    tgi_llvm_forwarded from)
{
    return tgi_llvm_vector_width(from.value) == 1
               ? from.value
               : LLVMBuildExtractElement(
                     group->program->emitter.builder, from.value,
                     tgi_llvm_lane_index(group->program, from.lane), "");
}

/* n elements of at most two vectors of one type, by a shuffle; NULL: they have
   other sources. */
static LLVMValueRef shuffle_vectors(const tgi_llvm_straightline *group,
                                    const tgi_llvm_forwarded *lanes, unsigned n)
{
    LLVMValueRef first = lanes[0].value, second = NULL;
    LLVMValueRef order[TGI_MAX_LANES];
    const unsigned width = tgi_llvm_vector_width(first);
    bool is_same = width == n;
    if (width == 1)
        return NULL;
    for (unsigned i = 0; i < n; i++) {
        if (lanes[i].value != first && !second)
            second = lanes[i].value;
        if (lanes[i].value != first && lanes[i].value != second)
            return NULL;
        is_same &= lanes[i].value == first && lanes[i].lane == i;
        order[i] = tgi_llvm_lane_index(
            group->program,
            lanes[i].lane + (lanes[i].value == first ? 0 : width));
    }
    if (second && tgi_llvm_vector_width(second) != width)
        return NULL;
    return is_same ? first
                   : LLVMBuildShuffleVector(
                         group->program->emitter.builder, first,
                         second ? second : LLVMGetPoison(LLVMTypeOf(first)),
                         LLVMConstVector(order, n), "");
}

LLVMValueRef tgi_llvm_forwarded_vector(tgi_llvm_straightline *group,
                                       const tgi_llvm_forwarded *elements,
                                       unsigned lanes)
{
    LLVMBuilderRef b = group->program->emitter.builder;
    if (lanes == 1)
        return extract_element(group, elements[0]);
    LLVMValueRef vector = shuffle_vectors(group, elements, lanes);
    if (vector)
        return vector;
    LLVMTypeRef type = LLVMTypeOf(elements[0].value);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        type = LLVMGetElementType(type);
    vector = LLVMGetPoison(LLVMVectorType(type, lanes));
    for (unsigned i = 0; i < lanes; i++)
        vector = LLVMBuildInsertElement(
            b, vector, extract_element(group, elements[i]),
            tgi_llvm_lane_index(group->program, i), "");
    return vector;
}

/* -- Accesses -------------------------------------------------------------- */

static int64_t signed_stride(tgi_stride stride)
{
    return stride.is_negative ? -stride.distance : stride.distance;
}

/* The element of lane 0, and the step to the next lane; false: not constant. */
static bool find_static_element(const tgi_llvm_kernel *k,
                                const tgi_access *access, int64_t *out_first,
                                int64_t *out_step)
{
    if (access->index || access->shift || !tgi_dim_is_known(access->offset))
        return false;
    int64_t at = access->offset, index;
    for (int axis = 0; axis <= k->schedule->inner; axis++) {
        const tgi_stride stride = access->stride[axis];
        if (stride.distance == 0 || !k->index[axis])
            continue;
        if (!tgi_dim_is_known(stride.distance) ||
            !tgi_llvm_is_const_i64(k->index[axis], &index))
            return false;
        at += signed_stride(stride) * index;
    }
    const tgi_stride step = access->stride[k->schedule->vector_axis];
    if (!tgi_dim_is_known(step.distance))
        return false;
    *out_first = at;
    *out_step = signed_stride(step);
    return true;
}

bool tgi_llvm_straightline_is_stored(const tgi_llvm_kernel *k, uint32_t buffer)
{
    return k->straightline->is_stored[buffer];
}

/* A load in front of the loop of elements from `first` on; NULL: too many such
   loads. */
static LLVMValueRef load_hoisted(tgi_llvm_kernel *k, uint32_t buffer,
                                 int64_t first)
{
    tgi_llvm_straightline *group = k->straightline;
    const unsigned lanes = k->e->lanes;
    for (unsigned i = 0; i < group->n_hoisted; i++) {
        const tgi_llvm_hoisted_load *hoisted = &group->hoisted[i];
        if (hoisted->buffer == buffer && hoisted->lanes == lanes &&
            hoisted->first == first)
            return hoisted->value;
    }
    if (group->n_hoisted == TGI_LLVM_MAX_HOISTED_LOADS)
        return NULL;
    const tg_dtype dtype =
        (tg_dtype)k->program->loops->buffers.data[buffer].dtype;
    LLVMValueRef base = tgi_llvm_buffer(k, buffer);
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    LLVMValueRef offset =
        tgi_llvm_const_i64(k->program, first * tgi_dtype_bytes((int)dtype));
    LLVMValueRef address = LLVMBuildGEP2(
        k->b, LLVMInt8TypeInContext(k->e->context), base, &offset, 1, "");
    LLVMValueRef value =
        LLVMBuildLoad2(k->b, tgi_llvm_type(k->e, dtype), address, "");
    LLVMSetAlignment(value, (unsigned)tgi_dtype_bytes((int)dtype));
    tgi_llvm_position_restore(k, block);
    group->hoisted[group->n_hoisted++] =
        (tgi_llvm_hoisted_load){buffer, lanes, first, value};
    return value;
}

LLVMValueRef tgi_llvm_forwarded_load(tgi_llvm_kernel *k,
                                     const tgi_access *access)
{
    tgi_llvm_straightline *group = k->straightline;
    const tgi_llvm_forwarded *elements =
        group->forwarded[tgi_buffer_id_index(access->buffer)];
    const unsigned n = k->e->lanes;
    tgi_llvm_forwarded lanes[TGI_MAX_LANES];
    int64_t first, step;
    if (!find_static_element(k, access, &first, &step))
        return NULL;
    if (!elements)
        return group->hoists_loads &&
                       !group->is_stored[tgi_buffer_id_index(access->buffer)] &&
                       (step == 1 || n == 1)
                   ? load_hoisted(k, tgi_buffer_id_index(access->buffer), first)
                   : NULL;
    for (unsigned i = 0; i < n; i++) {
        lanes[i] = elements[first + i * step];
        if (!lanes[i].value)
            return NULL;
    }
    return tgi_llvm_forwarded_vector(group, lanes, n);
}

/* The number of elements from lane 0 on that are consecutive lanes of one
   vector. */
static unsigned access_run(const tgi_llvm_kernel *k, const tgi_access *access)
{
    const tgi_llvm_forwarded *elements =
        k->straightline->forwarded[tgi_buffer_id_index(access->buffer)];
    int64_t first, step;
    if (!elements || !find_static_element(k, access, &first, &step) ||
        step != 1 || !elements[first].value)
        return TGI_MAX_LANES;
    const tgi_llvm_forwarded *at = &elements[first];
    const tgi_dim count =
        tgi_loops_buffer(k->program->loops, access->buffer)->count;
    unsigned n = 1;
    while (n < TGI_MAX_LANES && first + n < count && at[n].value == at->value &&
           at[n].lane == at->lane + n)
        n++;
    return n;
}

unsigned tgi_llvm_forwarded_run(const tgi_llvm_kernel *k, unsigned phase)
{
    unsigned run = TGI_MAX_LANES;
    for (size_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if (inst->kind != TGI_INST_LOAD || inst->phase != phase ||
            inst->level != TGI_LEVEL_INNER)
            continue;
        const unsigned n =
            access_run(k, &k->loops->accesses.data[inst->number]);
        run = n < run ? n : run;
    }
    return run;
}

/* Forgets the elements of a buffer, after a store at an unknown position. */
static void invalidate(tgi_llvm_kernel *k, uint32_t buffer)
{
    const tgi_dim count = k->program->loops->buffers.data[buffer].count;
    memset(k->straightline->forwarded[buffer], 0,
           (size_t)count * sizeof(tgi_llvm_forwarded));
}

bool tgi_llvm_forwarded_store(tgi_llvm_kernel *k, const tgi_access *access,
                              LLVMValueRef value)
{
    const uint32_t buffer = tgi_buffer_id_index(access->buffer);
    const bool in_registers =
        k->straightline->in_registers[buffer] ||
        k->program->loops->buffers.data[buffer].place == TGI_PLACE_SSA;
    int64_t first, step;
    tgi_llvm_forwarded *elements =
        tgi_llvm_forwarded_elements(k->straightline, buffer);
    if (elements && find_static_element(k, access, &first, &step))
        for (unsigned i = 0; i < k->e->lanes; i++)
            elements[first + i * step] = (tgi_llvm_forwarded){value, i};
    else if (in_registers)
        tgi_llvm_fail(k->program,
                      "store to an SSA buffer at an unknown position");
    else if (elements)
        invalidate(k, buffer);
    return in_registers;
}
