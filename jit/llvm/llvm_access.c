/* SPDX-License-Identifier: MIT */
/*
 * llvm_access.c - addresses, loads and stores.
 *
 * An address is made in two steps: at a point for the axes that stand still
 * there, in the loops for the axis of vectors and the inner axis. Along the
 * axis of vectors neighbours are read as one vector, and so is every second
 * element; else elements one by one: measured on Zen 3, a gather instruction
 * takes twice as long. Nothing is assumed about alignment but that of an
 * element.
 */
#include "llvm/llvm_lower.h"

#include <assert.h>
#include <string.h>

/* -- Lanes ----------------------------------------------------------------- */

LLVMValueRef tgi_llvm_iota(const tgi_llvm_kernel *k, LLVMTypeRef element)
{
    LLVMValueRef lanes[TGI_LLVM_MAX_LANES];
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

static LLVMValueRef lane_number(const tgi_llvm_kernel *k, unsigned lane)
{
    return LLVMConstInt(k->program->i32, lane, false);
}

static LLVMValueRef reversed(tgi_llvm_kernel *k, LLVMValueRef vector)
{
    LLVMValueRef order[TGI_LLVM_MAX_LANES];
    for (unsigned i = 0; i < k->e->lanes; i++)
        order[i] = lane_number(k, k->e->lanes - 1 - i);
    return LLVMBuildShuffleVector(k->b, vector,
                                  LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(order, k->e->lanes), "");
}

/* -- Addresses ------------------------------------------------------------- */

static bool is_still(tgi_stride stride)
{
    return stride.distance == 0;
}

static bool is_step(tgi_stride stride, bool is_negative)
{
    return stride.distance == 1 && stride.is_negative == is_negative;
}

static tg_dtype dtype_of(const tgi_llvm_kernel *k, const tgi_access *access)
{
    return tgi_loops_buffer(k->program->loops, access->buffer)->dtype;
}

static LLVMValueRef moved(const tgi_llvm_kernel *k, const tgi_access *access,
                          LLVMValueRef address, LLVMValueRef elements)
{
    int64_t n;
    if (tgi_llvm_is_const_i64(elements, &n) && n == 0)
        return address;
    return LLVMBuildGEP2(k->b,
                         tgi_llvm_element_type(k->e, dtype_of(k, access)),
                         address, &elements, 1, "");
}

/* Along the axis of vectors; columns of a sliver lie side by side. */
static tgi_stride lane_stride(const tgi_llvm_kernel *k,
                              const tgi_access *access)
{
    return access->panel_width ? (tgi_stride){1, false}
                               : access->stride[k->vector_axis];
}

/* sum + stride * index of an axis. */
static LLVMValueRef along(tgi_llvm_kernel *k, const tgi_access *access,
                          int axis, LLVMValueRef sum)
{
    if (is_still(access->stride[axis]) || !k->index[axis])
        return sum;
    LLVMValueRef distance = tgi_llvm_stride(k, access->stride[axis]);
    LLVMValueRef index = k->index[axis];
    if (access->panel_width && axis == k->vector_axis) {
        LLVMValueRef width =
            tgi_llvm_const_i64(k->program, access->panel_width);
        sum = tgi_llvm_add(k->program, sum,
                           LLVMBuildURem(k->b, index, width, ""));
        index = LLVMBuildUDiv(k->b, index, width, "");
    }
    return tgi_llvm_add(k->program, sum,
                        tgi_llvm_mul(k->program, distance, index));
}

/* What is added everywhere. */
static LLVMValueRef offset_of(tgi_llvm_kernel *k, const tgi_access *access)
{
    LLVMValueRef offset = tgi_llvm_dim(k, access->offset);
    return access->shift ? tgi_llvm_add(k->program, offset,
                                        k->values[access->shift].value)
                         : offset;
}

LLVMValueRef tgi_llvm_address_from_indices(tgi_llvm_kernel *k,
                                           const tgi_access *access)
{
    LLVMValueRef offset = offset_of(k, access);
    for (int axis = 0; axis <= k->inner; axis++)
        offset = along(k, access, axis, offset);
    return moved(k, access,
                 tgi_llvm_buffer(k, tgi_buffer_id_index(access->buffer)),
                 offset);
}

static bool is_in_loops(const tgi_llvm_kernel *k, int axis)
{
    return axis == k->vector_axis || axis == k->inner;
}

void tgi_llvm_point_addresses_emit(tgi_llvm_kernel *k)
{
    for (size_t i = 0; i < k->loops->accesses.n; i++) {
        const tgi_access *access = &k->loops->accesses.data[i];
        LLVMValueRef offset = offset_of(k, access);
        for (int axis = 0; axis <= k->inner; axis++)
            if (!is_in_loops(k, axis))
                offset = along(k, access, axis, offset);
        /* POSITIONs have no buffer: the number itself is their base. */
        k->point_bases[i] = offset;
    }
}

static LLVMValueRef in_loops(tgi_llvm_kernel *k, const tgi_access *access)
{
    LLVMValueRef offset = tgi_llvm_const_i64(k->program, 0);
    for (int axis = 0; axis <= k->inner; axis++)
        if (is_in_loops(k, axis))
            offset = along(k, access, axis, offset);
    return offset;
}

/* What stands still at a point; at the level of the kernel no point is. */
static LLVMValueRef base_of(tgi_llvm_kernel *k, const tgi_access *access)
{
    LLVMValueRef base = k->point_bases[access - k->loops->accesses.data];
    return base ? base : offset_of(k, access);
}

LLVMValueRef tgi_llvm_position(tgi_llvm_kernel *k, const tgi_access *access)
{
    return tgi_llvm_add(k->program, base_of(k, access), in_loops(k, access));
}

/* What a gather adds for one index. */
static LLVMValueRef gathered(tgi_llvm_kernel *k, const tgi_access *access,
                             LLVMValueRef index)
{
    return tgi_llvm_mul(k->program, tgi_llvm_stride(k, access->index_stride),
                        index);
}

static bool index_varies(const tgi_llvm_kernel *k, const tgi_access *access)
{
    return access->index && k->values[access->index].varies;
}

/* Where elements are: in their buffer, or in a tile of it. */
static LLVMValueRef memory_of(tgi_llvm_kernel *k, const tgi_access *access)
{
    const size_t number = (size_t)(access - k->loops->accesses.data);
    if (k->transpose && k->transpose->tiles[number].uses)
        return k->transpose->tiles[number].memory;
    return tgi_llvm_buffer(k, tgi_buffer_id_index(access->buffer));
}

/* What is the same at a point is added first: it can stay in a register. */
LLVMValueRef tgi_llvm_address(tgi_llvm_kernel *k, const tgi_access *access)
{
    LLVMValueRef head =
        k->row_starts ? k->row_starts[access - k->loops->accesses.data] : NULL;
    if (head)
        return moved(k, access, head, in_loops(k, access));
    LLVMValueRef address = moved(k, access, memory_of(k, access),
                                 base_of(k, access));
    if (access->index && !index_varies(k, access))
        address = moved(k, access, address,
                        gathered(k, access,
                                 k->values[access->index].value));
    return moved(k, access, address, in_loops(k, access));
}

/* Zeros: as many as a vector has lanes, of any type. */
static LLVMValueRef zeros(tgi_llvm_program *program)
{
    if (!program->zeros) {
        LLVMTypeRef type = LLVMArrayType2(program->i64, TGI_LLVM_MAX_LANES);
        program->zeros =
            LLVMAddGlobal(program->emitter.module, type, "zeros");
        LLVMSetInitializer(program->zeros, LLVMConstNull(type));
        LLVMSetGlobalConstant(program->zeros, true);
        LLVMSetLinkage(program->zeros, LLVMPrivateLinkage);
    }
    return program->zeros;
}

/* A gather from nothing has no element to read: it reads zeros instead. */
static LLVMValueRef guarded(tgi_llvm_kernel *k, const tgi_access *access,
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
    return LLVMBuildSelect(k->b, is_any, address, zeros(k->program), "");
}

/* Addresses of all lanes, one by one. */
static void lane_addresses(tgi_llvm_kernel *k, const tgi_access *access,
                           LLVMValueRef *out_addresses)
{
    const tgi_stride stride = lane_stride(k, access);
    LLVMValueRef step = tgi_llvm_stride(k, stride);
    LLVMValueRef next = tgi_llvm_address(k, access), indices = NULL;
    if (index_varies(k, access))
        indices = tgi_llvm_value_of(k, access->index);
    for (unsigned i = 0; i < k->e->lanes; i++) {
        LLVMValueRef address = next;
        if (indices)
            address = moved(k, access, address,
                            gathered(k, access,
                                     LLVMBuildExtractElement(
                                         k->b, indices, lane_number(k, i),
                                         "")));
        out_addresses[i] = guarded(k, access, address);
        if (!is_still(stride))
            next = moved(k, access, next, step);
    }
}

/* -- Masked vectors -------------------------------------------------------- */

static LLVMValueRef call_masked(tgi_llvm_kernel *k, const char *name,
                                LLVMTypeRef vector, LLVMValueRef *operands)
{
    LLVMTypeRef types[] = {vector, k->program->pointer};
    const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function =
        LLVMGetIntrinsicDeclaration(k->e->module, id, types, 2);
    return LLVMBuildCall2(
        k->b, LLVMIntrinsicGetType(k->e->context, id, types, 2), function,
        operands, 4, "");
}

static LLVMValueRef alignment(const tgi_llvm_kernel *k, tg_dtype dtype)
{
    return LLVMConstInt(k->program->i32,
                        (unsigned)tgi_dtype_bytes((int)dtype), false);
}

/* -- Loads ----------------------------------------------------------------- */

static LLVMValueRef load_at(tgi_llvm_kernel *k, LLVMTypeRef type,
                            tg_dtype dtype, LLVMValueRef address)
{
    LLVMValueRef value = LLVMBuildLoad2(k->b, type, address, "");
    LLVMSetVolatile(value, k->loads_are_volatile);
    LLVMSetAlignment(value, (unsigned)tgi_dtype_bytes((int)dtype));
    return value;
}

static LLVMValueRef load_lanes(tgi_llvm_kernel *k, const tgi_access *access,
                               tg_dtype dtype)
{
    LLVMValueRef addresses[TGI_LLVM_MAX_LANES];
    LLVMTypeRef element = tgi_llvm_element_type(k->e, dtype);
    LLVMValueRef vector = LLVMGetPoison(tgi_llvm_type(k->e, dtype));
    lane_addresses(k, access, addresses);
    for (unsigned i = 0; i < k->e->lanes; i++)
        vector = LLVMBuildInsertElement(
            k->b, vector, load_at(k, element, dtype, addresses[i]),
            lane_number(k, i), "");
    return vector;
}

/* Every second element from two vectors, the second of which ends with the
   last one: nothing beyond it is read. */
static LLVMValueRef load_seconds(tgi_llvm_kernel *k, const tgi_access *access,
                                 tg_dtype dtype)
{
    const int lanes = (int)k->e->lanes;
    const bool is_negative = access->stride[k->vector_axis].is_negative;
    LLVMTypeRef type = tgi_llvm_type(k->e, dtype);
    LLVMValueRef order[TGI_LLVM_MAX_LANES];
    LLVMValueRef address = tgi_llvm_address(k, access);
    if (is_negative)
        address = moved(k, access, address,
                        tgi_llvm_const_i64(k->program, 2 - 2 * lanes));
    LLVMValueRef first = load_at(k, type, dtype, address);
    address =
        moved(k, access, address, tgi_llvm_const_i64(k->program, lanes - 1));
    LLVMValueRef second = load_at(k, type, dtype, address);
    for (int i = 0; i < lanes; i++)
        order[i] = lane_number(
            k, (unsigned)(2 * i < lanes ? 2 * i : 2 * i + 1));
    LLVMValueRef all =
        LLVMBuildShuffleVector(k->b, first, second,
                               LLVMConstVector(order, k->e->lanes), "");
    return is_negative ? reversed(k, all) : all;
}

LLVMValueRef tgi_llvm_load(tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_access *access = &k->loops->accesses.data[number];
    const tgi_stride stride = lane_stride(k, access);
    const tg_dtype dtype = dtype_of(k, access);
    LLVMTypeRef type = tgi_llvm_type(k->e, dtype);
    LLVMValueRef known =
        k->straightline ? tgi_llvm_forwarded_load(k, access) : NULL;
    k->loads_are_volatile =
        k->straightline &&
        tgi_llvm_straightline_is_stored(k, tgi_buffer_id_index(access->buffer));
    if (known)
        return known;
    if (k->e->lanes == 1) {
        LLVMValueRef address = tgi_llvm_address(k, access);
        if (index_varies(k, access))
            address = moved(k, access, address,
                            gathered(k, access,
                                     tgi_llvm_value_of(k, access->index)));
        return load_at(k, type, dtype, guarded(k, access, address));
    }
    if (index_varies(k, access) ||
        !(is_step(stride, false) || is_step(stride, true))) {
        assert(!k->mask);
        return stride.distance == 2 && !access->index
                   ? load_seconds(k, access, dtype)
                   : load_lanes(k, access, dtype);
    }
    LLVMValueRef address = tgi_llvm_address(k, access);
    if (is_step(stride, true))
        address = moved(k, access, address,
                        tgi_llvm_const_i64(k->program, 1 - (int)k->e->lanes));
    address = guarded(k, access, address);
    if (k->mask) {
        LLVMValueRef operands[] = {address, alignment(k, dtype), k->mask,
                                   LLVMConstNull(type)};
        assert(is_step(stride, false));
        return call_masked(k, "llvm.masked.load", type, operands);
    }
    LLVMValueRef vector = load_at(k, type, dtype, address);
    return is_step(stride, true) ? reversed(k, vector) : vector;
}

/* -- Stores ---------------------------------------------------------------- */

static LLVMValueRef store_at(tgi_llvm_kernel *k, tg_dtype dtype,
                             LLVMValueRef value, LLVMValueRef address)
{
    LLVMValueRef store = LLVMBuildStore(k->b, value, address);
    LLVMSetAlignment(store, (unsigned)tgi_dtype_bytes((int)dtype));
    return store;
}

/*
 * Stores end in order, so each would wait for the line of the one before it:
 * lines far from each other are asked for one vector ahead.
 */
static void ask_for_next(tgi_llvm_kernel *k, const tgi_access *access,
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
        tgi_llvm_prefetch(k, moved(k, access, addresses[i], vector), 1, true);
}

static void store_lanes(tgi_llvm_kernel *k, const tgi_access *access,
                        tg_dtype dtype, LLVMValueRef value)
{
    LLVMValueRef addresses[TGI_LLVM_MAX_LANES];
    lane_addresses(k, access, addresses);
    ask_for_next(k, access, dtype, addresses);
    for (unsigned i = 0; i < k->e->lanes; i++)
        store_at(k, dtype,
                 LLVMBuildExtractElement(k->b, value, lane_number(k, i), ""),
                 addresses[i]);
}

static LLVMValueRef lanes_from(tgi_llvm_kernel *k, LLVMValueRef vector,
                               unsigned first, unsigned n)
{
    LLVMValueRef order[TGI_LLVM_MAX_LANES];
    for (unsigned i = 0; i < n; i++)
        order[i] = lane_number(k, first + i);
    return LLVMBuildShuffleVector(k->b, vector,
                                  LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(order, n), "");
}

/* A vector into one or more slivers; all of the last one is there to be
   stored to. */
static void store_slivers(tgi_llvm_kernel *k, const tgi_access *access,
                          tg_dtype dtype, LLVMValueRef value)
{
    LLVMValueRef address = tgi_llvm_address(k, access);
    LLVMValueRef step =
        tgi_llvm_stride(k, access->stride[k->vector_axis]);
    for (unsigned at = 0; at < k->e->lanes; at += access->panel_width) {
        store_at(k, dtype, lanes_from(k, value, at, access->panel_width),
                 address);
        address = moved(k, access, address, step);
    }
}

/* The first lanes, as many as the mask has, by as few vectors as there are
   bits in their number: a masked store takes ten times as long as a plain
   one. */
static void store_first(tgi_llvm_kernel *k, const tgi_access *access,
                        tg_dtype dtype, LLVMValueRef value,
                        LLVMValueRef address)
{
    unsigned at = 0;
    for (unsigned n = k->e->lanes / 2; n > 0; n /= 2) {
        if (!(k->n_active_lanes & n))
            continue;
        store_at(k, dtype,
                 n == 1 ? LLVMBuildExtractElement(k->b, value,
                                                  lane_number(k, at), "")
                        : lanes_from(k, value, at, n),
                 moved(k, access, address, tgi_llvm_const_i64(k->program, at)));
        at += n;
    }
}

LLVMValueRef tgi_llvm_store_value(tgi_llvm_kernel *k, const tgi_access *access,
                                  LLVMValueRef value)
{
    const tgi_stride stride = lane_stride(k, access);
    const tg_dtype dtype = dtype_of(k, access);
    assert(!index_varies(k, access));
    if (k->straightline && tgi_llvm_forwarded_store(k, access, value))
        return NULL;
    if (k->e->lanes == 1) {
        store_at(k, dtype, value, tgi_llvm_address(k, access));
        return NULL;
    }
    if (access->panel_width) {
        assert(k->e->lanes % access->panel_width == 0);
        store_slivers(k, access, dtype, value);
        return NULL;
    }
    if (!is_step(stride, false) && !is_step(stride, true)) {
        assert(!k->mask && !is_still(stride));
        store_lanes(k, access, dtype, value);
        return NULL;
    }
    LLVMValueRef address = tgi_llvm_address(k, access);
    if (k->mask && k->n_active_lanes) {
        store_first(k, access, dtype, value, address);
        return NULL;
    }
    if (k->mask) {
        assert(is_step(stride, false));
        LLVMValueRef operands[] = {value, address, alignment(k, dtype),
                                   k->mask};
        call_masked(k, "llvm.masked.store", LLVMTypeOf(value), operands);
        return NULL;
    }
    if (is_step(stride, true)) {
        value = reversed(k, value);
        address = moved(k, access, address,
                        tgi_llvm_const_i64(k->program, 1 - (int)k->e->lanes));
    }
    return store_at(k, dtype, value, address);
}

void tgi_llvm_store(tgi_llvm_kernel *k, const tgi_loop_store *store)
{
    const tgi_access *access = &k->loops->accesses.data[store->access];
    LLVMValueRef done = tgi_llvm_store_value(
        k, access, tgi_llvm_value_of(k, store->value));
    if (done && tgi_llvm_is_non_temporal(k, store))
        tgi_llvm_non_temporal_mark(
            k, done,
            k->e->lanes * (unsigned)tgi_dtype_bytes((int)dtype_of(k, access)));
}
