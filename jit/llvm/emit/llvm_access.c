/* SPDX-License-Identifier: MIT */
/*
 * llvm_access.c - addresses, loads and stores.
 *
 * An address is computed in two steps: the outer axes once per point, the
 * vector axis and the inner axis in the loops. Unit strides along the vector
 * axis give one vector access, loads of stride 2 two vectors and a shuffle,
 * other strides one access per lane: a gather instruction takes twice as long
 * on Zen 3. Only the alignment of an element is assumed.
 */
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_cache_hints.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_quirks.h"
#include "llvm/emit/llvm_store_forwarding.h"

#include <assert.h>
#include <string.h>

/* -- Lanes ----------------------------------------------------------------- */

LLVMValueRef tgi_llvm_iota(const tgi_llvm_kernel *k, LLVMTypeRef element)
{
    LLVMValueRef lanes[TGI_MAX_LANES];
    for (unsigned i = 0; i < k->e->lanes; i++)
        lanes[i] = LLVMConstInt(element, i, false);
    return k->e->lanes == 1 ? lanes[0] : LLVMConstVector(lanes, k->e->lanes);
}

LLVMValueRef tgi_llvm_tail_mask(tgi_llvm_kernel *k, LLVMValueRef n)
{
    LLVMTypeRef element = k->program->i32;
    LLVMValueRef count = LLVMBuildTrunc(k->b, n, element, "");
    return LLVMBuildICmp(k->b, LLVMIntSLT, tgi_llvm_iota(k, element),
                         tgi_llvm_splat(k->e, count), "");
}

static LLVMValueRef reverse_lanes(tgi_llvm_kernel *k, LLVMValueRef vector)
{
    LLVMValueRef order[TGI_MAX_LANES];
    for (unsigned i = 0; i < k->e->lanes; i++)
        order[i] = tgi_llvm_lane_index(k->program, k->e->lanes - 1 - i);
    return LLVMBuildShuffleVector(k->b, vector,
                                  LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(order, k->e->lanes), "");
}

/* -- Addresses ------------------------------------------------------------- */

static bool is_unit_stride(tgi_stride stride, bool is_negative)
{
    return stride.distance == 1 && stride.is_negative == is_negative;
}

static tg_dtype access_dtype(const tgi_llvm_kernel *k, const tgi_access *access)
{
    return tgi_loops_buffer(k->program->loops, access->buffer)->dtype;
}

static LLVMValueRef offset_address(const tgi_llvm_kernel *k,
                                   const tgi_access *access,
                                   LLVMValueRef address, LLVMValueRef elements)
{
    int64_t n;
    if (tgi_llvm_is_const_i64(elements, &n) && n == 0)
        return address;
    return LLVMBuildGEP2(k->b,
                         tgi_llvm_element_type(k->e, access_dtype(k, access)),
                         address, &elements, 1, "");
}

/* Stride between lanes; the columns of a packed panel are adjacent. */
static tgi_stride lane_stride(const tgi_llvm_kernel *k,
                              const tgi_access *access)
{
    return access->panel_width ? (tgi_stride){1, false}
                               : access->stride[k->schedule->vector_axis];
}

/* sum + stride * index of an axis, if the index is set. */
static LLVMValueRef add_axis_offset(tgi_llvm_kernel *k,
                                    const tgi_access *access, int axis,
                                    LLVMValueRef sum)
{
    if (tgi_stride_is_zero(access->stride[axis]) || !k->index[axis])
        return sum;
    LLVMValueRef distance = tgi_llvm_stride(k, access->stride[axis]);
    LLVMValueRef index = k->index[axis];
    if (access->panel_width && axis == k->schedule->vector_axis) {
        LLVMValueRef width =
            tgi_llvm_const_i64(k->program, access->panel_width);
        sum = tgi_llvm_add(k->program, sum,
                           LLVMBuildURem(k->b, index, width, ""));
        index = LLVMBuildUDiv(k->b, index, width, "");
    }
    return tgi_llvm_add(k->program, sum,
                        tgi_llvm_mul(k->program, distance, index));
}

/* The part of an offset that is uniform across the kernel. */
static LLVMValueRef uniform_offset(tgi_llvm_kernel *k, const tgi_access *access)
{
    LLVMValueRef offset = tgi_llvm_dim(k, access->offset);
    return access->shift ? tgi_llvm_add(k->program, offset,
                                        k->values[access->shift].value)
                         : offset;
}

LLVMValueRef tgi_llvm_address_from_indices(tgi_llvm_kernel *k,
                                           const tgi_access *access)
{
    LLVMValueRef offset = uniform_offset(k, access);
    for (int axis = 0; axis <= k->schedule->inner; axis++)
        offset = add_axis_offset(k, access, axis, offset);
    return offset_address(
        k, access, tgi_llvm_buffer(k, tgi_buffer_id_index(access->buffer)),
        offset);
}

static bool is_loop_axis(const tgi_llvm_kernel *k, int axis)
{
    return axis == k->schedule->vector_axis || axis == k->schedule->inner ||
           axis == tgi_schedule_interchanged_axis(k->schedule);
}

void tgi_llvm_point_addresses_emit(tgi_llvm_kernel *k)
{
    for (size_t i = 0; i < k->loops->accesses.n; i++) {
        const tgi_access *access = &k->loops->accesses.data[i];
        LLVMValueRef offset = uniform_offset(k, access);
        for (int axis = 0; axis <= k->schedule->inner; axis++)
            if (!is_loop_axis(k, axis))
                offset = add_axis_offset(k, access, axis, offset);
        /* An offset, not an address: POSITION insts have no buffer. */
        k->point_bases[i] = offset;
    }
}

static LLVMValueRef loop_offset(tgi_llvm_kernel *k, const tgi_access *access)
{
    LLVMValueRef offset = tgi_llvm_const_i64(k->program, 0);
    for (int axis = 0; axis <= k->schedule->inner; axis++)
        if (is_loop_axis(k, axis))
            offset = add_axis_offset(k, access, axis, offset);
    return offset;
}

/* The offset at the current point; at level KERNEL there is no point. */
static LLVMValueRef point_offset(tgi_llvm_kernel *k, const tgi_access *access)
{
    LLVMValueRef base = k->point_bases[access - k->loops->accesses.data];
    return base ? base : uniform_offset(k, access);
}

LLVMValueRef tgi_llvm_position(tgi_llvm_kernel *k, const tgi_access *access)
{
    return tgi_llvm_add(k->program, point_offset(k, access),
                        loop_offset(k, access));
}

/* The offset that a gather index adds. */
static LLVMValueRef gather_offset(tgi_llvm_kernel *k, const tgi_access *access,
                                  LLVMValueRef index)
{
    return tgi_llvm_mul(k->program, tgi_llvm_stride(k, access->index_stride),
                        index);
}

static bool index_varies(const tgi_llvm_kernel *k, const tgi_access *access)
{
    return access->index && k->schedule->insts[access->index].varies;
}

/* The buffer of an access, or its transposed tile. */
static LLVMValueRef access_memory(tgi_llvm_kernel *k, const tgi_access *access)
{
    const size_t number = (size_t)(access - k->loops->accesses.data);
    if (k->schedule->tiles.rows && k->schedule->tiles.uses[number])
        return k->tile_memory[number];
    return tgi_llvm_buffer(k, tgi_buffer_id_index(access->buffer));
}

/* The offset of the point is added first: the sum is loop-invariant. */
LLVMValueRef tgi_llvm_address(tgi_llvm_kernel *k, const tgi_access *access)
{
    LLVMValueRef head =
        k->row_starts ? k->row_starts[access - k->loops->accesses.data] : NULL;
    LLVMValueRef address =
        head ? head
             : offset_address(k, access, access_memory(k, access),
                              point_offset(k, access));
    if (access->index && !index_varies(k, access))
        address = offset_address(
            k, access, address,
            gather_offset(k, access, k->values[access->index].value));
    return offset_address(k, access, address, loop_offset(k, access));
}

/* A constant of zeros, as large as any vector. */
static LLVMValueRef zeros_global(tgi_llvm_program *program)
{
    if (!program->zeros) {
        LLVMTypeRef type = LLVMArrayType2(program->i64, TGI_MAX_LANES);
        program->zeros = LLVMAddGlobal(program->emitter.module, type, "zeros");
        LLVMSetInitializer(program->zeros, LLVMConstNull(type));
        LLVMSetGlobalConstant(program->zeros, true);
        LLVMSetLinkage(program->zeros, LLVMPrivateLinkage);
    }
    return program->zeros;
}

/* A gather from an empty buffer loads zeros instead. */
static LLVMValueRef guard_empty_gather(tgi_llvm_kernel *k,
                                       const tgi_access *access,
                                       LLVMValueRef address)
{
    const tgi_dim count =
        tgi_loops_buffer(k->program->loops, access->buffer)->count;
    if (!access->index || (tgi_dim_is_known(count) && count > 0))
        return address;
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    LLVMValueRef is_any =
        LLVMBuildICmp(k->b, LLVMIntSGT, tgi_llvm_dim(k, count),
                      tgi_llvm_const_i64(k->program, 0), "");
    tgi_llvm_position_restore(k, block);
    return LLVMBuildSelect(k->b, is_any, address, zeros_global(k->program), "");
}

/* The vector of pairs of i32 from which an index was extended, or NULL. */
static LLVMValueRef narrow_index(const tgi_llvm_kernel *k, LLVMValueRef index)
{
    if (k->e->lanes % 2 != 0 || !LLVMIsAInstruction(index) ||
        LLVMGetInstructionOpcode(index) != LLVMSExt)
        return NULL;
    LLVMValueRef from = LLVMGetOperand(index, 0);
    return LLVMGetElementType(LLVMTypeOf(from)) == k->program->i32 ? from
                                                                   : NULL;
}

/*
 * The index of each lane, as i64. Moving a lane to a register takes two
 * instructions, so i32 ones are moved in pairs: the first is in the lower half.
 * They are in range, so not negative.
 */
static void extract_indices(tgi_llvm_kernel *k, LLVMValueRef indices,
                            LLVMValueRef *out_indices)
{
    const unsigned lanes = k->e->lanes;
    LLVMTypeRef i64 = k->program->i64;
    LLVMValueRef narrow = narrow_index(k, indices);
    LLVMValueRef from =
        narrow ? LLVMBuildBitCast(k->b, narrow, LLVMVectorType(i64, lanes / 2),
                                  "")
               : indices;
    for (unsigned i = 0; i < lanes; i++) {
        const bool is_second = narrow && i % 2;
        LLVMValueRef at = tgi_llvm_lane_index(k->program, narrow ? i / 2 : i);
        LLVMValueRef both =
            is_second ? out_indices[i - 1]
                      : LLVMBuildExtractElement(k->b, from, at, "");
        out_indices[i] = both;
        if (!is_second)
            continue;
        LLVMTypeRef i32 = k->program->i32;
        out_indices[i - 1] = LLVMBuildZExt(
            k->b, LLVMBuildTrunc(k->b, both, i32, ""), i64, "");
        out_indices[i] = LLVMBuildLShr(
            k->b, both, tgi_llvm_const_i64(k->program, 32), "");
    }
}

/* The address of each lane. */
static void lane_addresses(tgi_llvm_kernel *k, const tgi_access *access,
                           LLVMValueRef *out_addresses)
{
    const tgi_stride stride = lane_stride(k, access);
    LLVMValueRef step = tgi_llvm_stride(k, stride);
    LLVMValueRef next = tgi_llvm_address(k, access);
    LLVMValueRef indices[TGI_MAX_LANES];
    const bool is_gather = index_varies(k, access);
    if (is_gather)
        extract_indices(k, tgi_llvm_value_of(k, access->index), indices);
    for (unsigned i = 0; i < k->e->lanes; i++) {
        LLVMValueRef address = next;
        if (is_gather)
            address = offset_address(k, access, address,
                                     gather_offset(k, access, indices[i]));
        out_addresses[i] = guard_empty_gather(k, access, address);
        if (!tgi_stride_is_zero(stride))
            next = offset_address(k, access, next, step);
    }
}

/* -- Masked vectors -------------------------------------------------------- */

static LLVMValueRef call_masked_intrinsic(tgi_llvm_kernel *k, const char *name,
                                          LLVMTypeRef vector,
                                          LLVMValueRef *operands)
{
    LLVMTypeRef types[] = {vector, k->program->pointer};
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function =
        LLVMGetIntrinsicDeclaration(k->e->module, id, types, 2);
    return LLVMBuildCall2(k->b,
                          LLVMIntrinsicGetType(k->e->context, id, types, 2),
                          function, operands, 4, "");
}

static LLVMValueRef element_alignment(const tgi_llvm_kernel *k, tg_dtype dtype)
{
    return LLVMConstInt(k->program->i32, (unsigned)tgi_dtype_bytes((int)dtype),
                        false);
}

/* -- Loads ----------------------------------------------------------------- */

static LLVMValueRef load_element_aligned(tgi_llvm_kernel *k, LLVMTypeRef type,
                                         tg_dtype dtype, LLVMValueRef address)
{
    LLVMValueRef value = LLVMBuildLoad2(k->b, type, address, "");
    if (k->keeps_loads)
        tgi_llvm_quirk_keep_load(value);
    LLVMSetAlignment(value, (unsigned)tgi_dtype_bytes((int)dtype));
    return value;
}

static LLVMValueRef load_lanes(tgi_llvm_kernel *k, const tgi_access *access,
                               tg_dtype dtype)
{
    LLVMValueRef addresses[TGI_MAX_LANES];
    LLVMTypeRef element = tgi_llvm_element_type(k->e, dtype);
    LLVMValueRef vector = LLVMGetPoison(tgi_llvm_type(k->e, dtype));
    lane_addresses(k, access, addresses);
    for (unsigned i = 0; i < k->e->lanes; i++)
        vector = LLVMBuildInsertElement(
            k->b, vector, load_element_aligned(k, element, dtype, addresses[i]),
            tgi_llvm_lane_index(k->program, i), "");
    return vector;
}

/* Stride 2 or -2: shuffles two vectors, the second of which ends with the last
   element, so that nothing beyond it is read. */
static LLVMValueRef load_stride_two(tgi_llvm_kernel *k,
                                    const tgi_access *access, tg_dtype dtype)
{
    const int lanes = (int)k->e->lanes;
    const bool is_negative =
        access->stride[k->schedule->vector_axis].is_negative;
    LLVMTypeRef type = tgi_llvm_type(k->e, dtype);
    LLVMValueRef order[TGI_MAX_LANES];
    LLVMValueRef address = tgi_llvm_address(k, access);
    if (is_negative)
        address = offset_address(k, access, address,
                                 tgi_llvm_const_i64(k->program, 2 - 2 * lanes));
    LLVMValueRef first = load_element_aligned(k, type, dtype, address);
    address = offset_address(k, access, address,
                             tgi_llvm_const_i64(k->program, lanes - 1));
    LLVMValueRef second = load_element_aligned(k, type, dtype, address);
    for (int i = 0; i < lanes; i++)
        order[i] = tgi_llvm_lane_index(
            k->program, (unsigned)(2 * i < lanes ? 2 * i : 2 * i + 1));
    LLVMValueRef all = LLVMBuildShuffleVector(
        k->b, first, second, LLVMConstVector(order, k->e->lanes), "");
    return is_negative ? reverse_lanes(k, all) : all;
}

/* Loads a vector from several packed panels side by side. The memory of each
   panel has its full width, so no mask is needed. */
static LLVMValueRef load_panels(tgi_llvm_kernel *k, const tgi_access *access,
                                tg_dtype dtype)
{
    LLVMValueRef parts[TGI_MAX_LANES];
    const unsigned width = access->panel_width, n = k->e->lanes / width;
    LLVMTypeRef type =
        LLVMVectorType(tgi_llvm_element_type(k->e, dtype), width);
    LLVMValueRef address = tgi_llvm_address(k, access);
    LLVMValueRef step =
        tgi_llvm_stride(k, access->stride[k->schedule->vector_axis]);
    assert(k->e->lanes % width == 0);
    for (unsigned i = 0; i < n; i++) {
        parts[i] = load_element_aligned(k, type, dtype, address);
        address = offset_address(k, access, address, step);
    }
    return tgi_llvm_concat(k->e, parts, n);
}

LLVMValueRef tgi_llvm_load(tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_access *access = &k->loops->accesses.data[number];
    const tgi_stride stride = lane_stride(k, access);
    const tg_dtype dtype = access_dtype(k, access);
    LLVMTypeRef type = tgi_llvm_type(k->e, dtype);
    LLVMValueRef forwarded =
        k->straightline ? tgi_llvm_forwarded_load(k, access) : NULL;
    k->keeps_loads =
        k->straightline &&
        tgi_llvm_straightline_is_stored(k, tgi_buffer_id_index(access->buffer));
    if (forwarded)
        return forwarded;
    if (k->e->lanes == 1) {
        LLVMValueRef address = tgi_llvm_address(k, access);
        if (index_varies(k, access))
            address = offset_address(
                k, access, address,
                gather_offset(k, access, tgi_llvm_value_of(k, access->index)));
        return load_element_aligned(k, type, dtype,
                                    guard_empty_gather(k, access, address));
    }
    if (index_varies(k, access) ||
        !(is_unit_stride(stride, false) || is_unit_stride(stride, true))) {
        assert(!k->mask);
        return stride.distance == 2 && !access->index
                   ? load_stride_two(k, access, dtype)
                   : load_lanes(k, access, dtype);
    }
    if (access->panel_width && k->e->lanes > access->panel_width)
        return load_panels(k, access, dtype);
    LLVMValueRef address = tgi_llvm_address(k, access);
    if (is_unit_stride(stride, true))
        address = offset_address(
            k, access, address,
            tgi_llvm_const_i64(k->program, 1 - (int)k->e->lanes));
    address = guard_empty_gather(k, access, address);
    if (k->mask) {
        LLVMValueRef operands[] = {address, element_alignment(k, dtype),
                                   k->mask, LLVMConstNull(type)};
        assert(is_unit_stride(stride, false));
        return call_masked_intrinsic(k, "llvm.masked.load", type, operands);
    }
    LLVMValueRef vector = load_element_aligned(k, type, dtype, address);
    return is_unit_stride(stride, true) ? reverse_lanes(k, vector) : vector;
}

/* -- Stores ---------------------------------------------------------------- */

static LLVMValueRef store_element_aligned(tgi_llvm_kernel *k, tg_dtype dtype,
                                          LLVMValueRef value,
                                          LLVMValueRef address)
{
    LLVMValueRef store = LLVMBuildStore(k->b, value, address);
    LLVMSetAlignment(store, (unsigned)tgi_dtype_bytes((int)dtype));
    return store;
}

/*
 * Stores retire in order, so each would wait for the cache line of the previous
 * one. Lines of strided stores are prefetched one vector ahead.
 */
static void prefetch_next_vector(tgi_llvm_kernel *k, const tgi_access *access,
                                 tg_dtype dtype, const LLVMValueRef *addresses)
{
    enum { LINE = 64 };
    const tgi_stride stride = lane_stride(k, access);
    if (tgi_dim_is_known(stride.distance) &&
        stride.distance < LINE / tgi_dtype_bytes((int)dtype))
        return;
    LLVMValueRef vector =
        tgi_llvm_mul(k->program, tgi_llvm_stride(k, stride),
                     tgi_llvm_const_i64(k->program, k->e->lanes));
    for (unsigned i = 0; i < k->e->lanes; i++)
        tgi_llvm_prefetch(k, offset_address(k, access, addresses[i], vector), 1,
                          true);
}

static void store_lanes(tgi_llvm_kernel *k, const tgi_access *access,
                        tg_dtype dtype, LLVMValueRef value)
{
    LLVMValueRef addresses[TGI_MAX_LANES];
    lane_addresses(k, access, addresses);
    prefetch_next_vector(k, access, dtype, addresses);
    for (unsigned i = 0; i < k->e->lanes; i++)
        store_element_aligned(
            k, dtype,
            LLVMBuildExtractElement(k->b, value,
                                    tgi_llvm_lane_index(k->program, i), ""),
            addresses[i]);
}

/* Stores a vector to one or more packed panels; the memory of the last panel
   has its full width. */
static void store_panels(tgi_llvm_kernel *k, const tgi_access *access,
                         tg_dtype dtype, LLVMValueRef value)
{
    LLVMValueRef address = tgi_llvm_address(k, access);
    LLVMValueRef step =
        tgi_llvm_stride(k, access->stride[k->schedule->vector_axis]);
    for (unsigned at = 0; at < k->e->lanes; at += access->panel_width) {
        store_element_aligned(
            k, dtype,
            tgi_llvm_extract_lanes(k->e, value, at, access->panel_width),
            address);
        address = offset_address(k, access, address, step);
    }
}

/* Stores the n_active_lanes first lanes, with one vector per bit of their
   number: a masked store takes ten times as long as a plain one. */
static void store_active_lanes(tgi_llvm_kernel *k, const tgi_access *access,
                               tg_dtype dtype, LLVMValueRef value,
                               LLVMValueRef address)
{
    unsigned at = 0;
    for (unsigned n = k->e->lanes / 2; n > 0; n /= 2) {
        if (!(k->n_active_lanes & n))
            continue;
        store_element_aligned(
            k, dtype, tgi_llvm_extract_lanes(k->e, value, at, n),
            offset_address(k, access, address,
                           tgi_llvm_const_i64(k->program, at)));
        at += n;
    }
}

LLVMValueRef tgi_llvm_store_value(tgi_llvm_kernel *k, const tgi_access *access,
                                  LLVMValueRef value)
{
    const tgi_stride stride = lane_stride(k, access);
    const tg_dtype dtype = access_dtype(k, access);
    assert(!index_varies(k, access));
    if (k->straightline && tgi_llvm_forwarded_store(k, access, value))
        return NULL;
    if (k->e->lanes == 1) {
        store_element_aligned(k, dtype, value, tgi_llvm_address(k, access));
        return NULL;
    }
    if (access->panel_width) {
        assert(k->e->lanes % access->panel_width == 0);
        store_panels(k, access, dtype, value);
        return NULL;
    }
    if (!is_unit_stride(stride, false) && !is_unit_stride(stride, true)) {
        assert(!k->mask && !tgi_stride_is_zero(stride));
        store_lanes(k, access, dtype, value);
        return NULL;
    }
    LLVMValueRef address = tgi_llvm_address(k, access);
    if (k->mask && k->n_active_lanes) {
        store_active_lanes(k, access, dtype, value, address);
        return NULL;
    }
    if (k->mask) {
        assert(is_unit_stride(stride, false));
        LLVMValueRef operands[] = {value, address, element_alignment(k, dtype),
                                   k->mask};
        call_masked_intrinsic(k, "llvm.masked.store", LLVMTypeOf(value),
                              operands);
        return NULL;
    }
    if (is_unit_stride(stride, true)) {
        value = reverse_lanes(k, value);
        address = offset_address(
            k, access, address,
            tgi_llvm_const_i64(k->program, 1 - (int)k->e->lanes));
    }
    return store_element_aligned(k, dtype, value, address);
}

void tgi_llvm_store(tgi_llvm_kernel *k, const tgi_loop_store *store)
{
    const tgi_access *access = &k->loops->accesses.data[store->access];
    LLVMMetadataRef before = tgi_llvm_debug_set_store(k, store);
    LLVMValueRef done =
        tgi_llvm_store_value(k, access, tgi_llvm_value_of(k, store->value));
    if (done && tgi_llvm_is_non_temporal(k, store))
        tgi_llvm_non_temporal_mark(
            k, done,
            k->e->lanes *
                (unsigned)tgi_dtype_bytes((int)access_dtype(k, access)));
    tgi_llvm_debug_restore(k->program, before);
}
