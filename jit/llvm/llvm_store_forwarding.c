/* SPDX-License-Identifier: MIT */
/*
 * llvm_store_forwarding.c - values instead of memory. What straightline kernels have stored
 * is known element by element; later ones take these values instead of loading
 * them. Buffers that are nothing but such values (TGI_PLACE_SSA) have no
 * memory at all.
 *
 * Of what is stored to, such as a variable, loads are volatile: LLVM 19 for x86
 * may repeat the load of a vector when it needs one of its lanes in all of
 * another, behind stores that have changed it. What a loop does not store to
 * is loaded in front of it.
 */
#include <string.h>

#include "llvm/llvm_straightline.h"

unsigned tgi_llvm_vector_width(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind
               ? LLVMGetVectorSize(type)
               : 1;
}

/* -- Known elements -------------------------------------------------------- */

tgi_llvm_forwarded *
tgi_llvm_forwarded_elements(tgi_llvm_straightline *straightline,
                            uint32_t buffer)
{
    tgi_llvm_program *program = straightline->program;
    const tgi_dim count = program->loops->buffers.data[buffer].count;
    if (straightline->forwarded[buffer] || !tgi_dim_is_known(count) ||
        count == 0 || count > TGI_MAX_SSA_ELEMENTS)
        return straightline->forwarded[buffer];
    const size_t bytes = (size_t)count * sizeof(tgi_llvm_forwarded);
    straightline->forwarded[buffer] = program->alloc(bytes);
    if (straightline->forwarded[buffer]) {
        memset(straightline->forwarded[buffer], 0, bytes);
    } else {
        program->is_out_of_memory = true;
        tgi_llvm_fail(program, "out of memory");
    }
    return straightline->forwarded[buffer];
}

static LLVMValueRef lane_number(const tgi_llvm_straightline *straightline,
                                unsigned lane)
{
    return LLVMConstInt(straightline->program->i32, lane, false);
}

static LLVMValueRef element(const tgi_llvm_straightline *straightline,
                            tgi_llvm_forwarded from)
{
    return tgi_llvm_vector_width(from.value) == 1
               ? from.value
               : LLVMBuildExtractElement(
                     straightline->program->emitter.builder, from.value,
                     lane_number(straightline, from.lane), "");
}

/* Lanes of at most two vectors of one type by a shuffle; NULL: they are from
   elsewhere. */
static LLVMValueRef shuffled(const tgi_llvm_straightline *straightline,
                             const tgi_llvm_forwarded *lanes, unsigned n)
{
    LLVMValueRef first = lanes[0].value, second = NULL;
    LLVMValueRef order[TGI_LLVM_MAX_LANES];
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
        order[i] =
            lane_number(straightline,
                        lanes[i].lane + (lanes[i].value == first ? 0 : width));
    }
    if (second && tgi_llvm_vector_width(second) != width)
        return NULL;
    return is_same ? first
                   : LLVMBuildShuffleVector(
                         straightline->program->emitter.builder, first,
                         second ? second : LLVMGetPoison(LLVMTypeOf(first)),
                         LLVMConstVector(order, n), "");
}

LLVMValueRef tgi_llvm_forwarded_vector(tgi_llvm_straightline *straightline,
                                       const tgi_llvm_forwarded *elements,
                                       unsigned lanes)
{
    LLVMBuilderRef b = straightline->program->emitter.builder;
    if (lanes == 1)
        return element(straightline, elements[0]);
    LLVMValueRef vector = shuffled(straightline, elements, lanes);
    if (vector)
        return vector;
    LLVMTypeRef type = LLVMTypeOf(elements[0].value);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
        type = LLVMGetElementType(type);
    vector = LLVMGetPoison(LLVMVectorType(type, lanes));
    for (unsigned i = 0; i < lanes; i++)
        vector = LLVMBuildInsertElement(b, vector,
                                        element(straightline, elements[i]),
                                        lane_number(straightline, i), "");
    return vector;
}

/* -- Accesses -------------------------------------------------------------- */

static int64_t distance_of(tgi_stride stride)
{
    return stride.is_negative ? -stride.distance : stride.distance;
}

/* The element of lane 0, and the step to the next lane; false: they are not
   known. */
static bool find_element(const tgi_llvm_kernel *k, const tgi_access *access,
                         int64_t *out_first, int64_t *out_step)
{
    if (access->index || access->shift ||
        !tgi_dim_is_known(access->offset))
        return false;
    int64_t at = access->offset, index;
    for (int axis = 0; axis <= k->inner; axis++) {
        const tgi_stride stride = access->stride[axis];
        if (stride.distance == 0 || !k->index[axis])
            continue;
        if (!tgi_dim_is_known(stride.distance) ||
            !tgi_llvm_is_const_i64(k->index[axis], &index))
            return false;
        at += distance_of(stride) * index;
    }
    const tgi_stride step = access->stride[k->vector_axis];
    if (!tgi_dim_is_known(step.distance))
        return false;
    *out_first = at;
    *out_step = distance_of(step);
    return true;
}

bool tgi_llvm_straightline_is_stored(const tgi_llvm_kernel *k, uint32_t buffer)
{
    return k->straightline->is_stored[buffer];
}

/* Elements from `first` on as they were before the loop; NULL: they are
   loaded where they are used. */
static LLVMValueRef load_ahead(tgi_llvm_kernel *k, uint32_t buffer,
                               int64_t first)
{
    tgi_llvm_straightline *straightline = k->straightline;
    const unsigned lanes = k->e->lanes;
    for (unsigned i = 0; i < straightline->n_hoisted; i++) {
        const tgi_llvm_hoisted_load *ahead = &straightline->hoisted[i];
        if (ahead->buffer == buffer && ahead->lanes == lanes &&
            ahead->first == first)
            return ahead->value;
    }
    if (straightline->n_hoisted == TGI_LLVM_MAX_HOISTED_LOADS)
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
    straightline->hoisted[straightline->n_hoisted++] =
        (tgi_llvm_hoisted_load){buffer, lanes, first, value};
    return value;
}

LLVMValueRef tgi_llvm_forwarded_load(tgi_llvm_kernel *k,
                                     const tgi_access *access)
{
    tgi_llvm_straightline *straightline = k->straightline;
    const tgi_llvm_forwarded *elements =
        straightline->forwarded[tgi_buffer_id_index(access->buffer)];
    const unsigned n = k->e->lanes;
    tgi_llvm_forwarded lanes[TGI_LLVM_MAX_LANES];
    int64_t first, step;
    if (!find_element(k, access, &first, &step))
        return NULL;
    if (!elements)
        return straightline->hoists_loads &&
                       !straightline
                            ->is_stored[tgi_buffer_id_index(access->buffer)] &&
                       (step == 1 || n == 1)
                   ? load_ahead(k, tgi_buffer_id_index(access->buffer), first)
                   : NULL;
    for (unsigned i = 0; i < n; i++) {
        lanes[i] = elements[first + i * step];
        if (!lanes[i].value)
            return NULL;
    }
    return tgi_llvm_forwarded_vector(straightline, lanes, n);
}

/* How many elements from lane 0 on are lanes, in order, of one vector. */
static unsigned run_of(const tgi_llvm_kernel *k, const tgi_access *access)
{
    const tgi_llvm_forwarded *elements =
        k->straightline->forwarded[tgi_buffer_id_index(access->buffer)];
    int64_t first, step;
    if (!elements || !find_element(k, access, &first, &step) || step != 1 ||
        !elements[first].value)
        return TGI_LLVM_MAX_LANES;
    const tgi_llvm_forwarded *at = &elements[first];
    const tgi_dim count =
        tgi_loops_buffer(k->program->loops, access->buffer)->count;
    unsigned n = 1;
    while (n < TGI_LLVM_MAX_LANES && first + n < count &&
           at[n].value == at->value && at[n].lane == at->lane + n)
        n++;
    return n;
}

unsigned tgi_llvm_forwarded_run(const tgi_llvm_kernel *k, unsigned phase)
{
    unsigned run = TGI_LLVM_MAX_LANES;
    for (size_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if (inst->kind != TGI_INST_LOAD || inst->phase != phase ||
            inst->level != TGI_LEVEL_INNER)
            continue;
        const unsigned n =
            run_of(k, &k->loops->accesses.data[inst->number]);
        run = n < run ? n : run;
    }
    return run;
}

/* Something is stored, nobody knows where. */
static void forget(tgi_llvm_kernel *k, uint32_t buffer)
{
    const tgi_dim count = k->program->loops->buffers.data[buffer].count;
    memset(k->straightline->forwarded[buffer], 0,
           (size_t)count * sizeof(tgi_llvm_forwarded));
}

bool tgi_llvm_forwarded_store(tgi_llvm_kernel *k, const tgi_access *access,
                              LLVMValueRef value)
{
    const uint32_t buffer = tgi_buffer_id_index(access->buffer);
    const bool is_value =
        k->straightline->is_value[buffer] ||
        k->program->loops->buffers.data[buffer].place == TGI_PLACE_SSA;
    int64_t first, step;
    tgi_llvm_forwarded *elements =
        tgi_llvm_forwarded_elements(k->straightline, buffer);
    if (elements && find_element(k, access, &first, &step))
        for (unsigned i = 0; i < k->e->lanes; i++)
            elements[first + i * step] = (tgi_llvm_forwarded){value, i};
    else if (is_value)
        tgi_llvm_fail(k->program, "a value has no place");
    else if (elements)
        forget(k, buffer);
    return is_value;
}
