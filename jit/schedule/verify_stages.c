/* SPDX-License-Identifier: MIT */
/*
 * verify_stages.c - data that is staged: tiles, packed panels, slots of loop
 * fission. It is written before it is read, and not overwritten before it is
 * read last. Non-temporal and aligned stores.
 */
#include "schedule/verify.h"

/* -- Tiles ----------------------------------------------------------------- */

static bool has_equal_strides(const tgi_access *a, const tgi_access *b)
{
    for (int axis = 0; axis < TGI_LOOP_AXES; axis++)
        if (a->stride[axis].distance != b->stride[axis].distance ||
            a->stride[axis].is_negative != b->stride[axis].is_negative)
            return false;
    return true;
}

static uint8_t uses_of(const tgi_kernel_loops *loops, size_t access)
{
    uint8_t uses = 0;
    for (uint32_t i = 1; i < loops->insts.n; i++)
        if (loops->insts.data[i].number == access) {
            if (loops->insts.data[i].kind == TGI_INST_LOAD)
                uses |= TGI_IS_LOADED;
            if (loops->insts.data[i].kind == TGI_INST_POSITION)
                uses |= TGI_IS_POSITION;
        }
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].access == access)
            uses |= TGI_IS_STORED;
    return uses;
}

/* An access without a tile is that of the kernel. One with a tile moves along
   a row of it, and its buffer is copied from or to the tile as it is used. */
static tg_status verify_tile(const tgi_schedule *s, size_t i)
{
    const tgi_access *from = &s->original->accesses.data[i];
    const tgi_access *to = &s->loops->accesses.data[i];
    TGI_REQUIRE(from->buffer.raw == to->buffer.raw && from->index == to->index,
                "a tile of another buffer", i);
    if (!s->tiles.uses[i]) {
        TGI_REQUIRE(from->offset == to->offset && from->shift == to->shift &&
                        has_equal_strides(from, to),
                    "an access without a tile is redirected", i);
        return TG_OK;
    }
    TGI_REQUIRE(s->tiles.uses[i] == uses_of(s->original, i),
                "a tile is read before it is loaded, or not stored", i);
    TGI_REQUIRE(!(s->tiles.uses[i] & TGI_IS_POSITION) && !from->index,
                "a tile for a position or gather", i);
    TGI_REQUIRE(from->stride[s->tiles.row_axis].distance == 1,
                "a tile for an access that is not transposed", i);
    tgi_access row = {.buffer = from->buffer};
    row.stride[s->inner].distance = 1;
    TGI_REQUIRE(!to->offset && !to->shift && has_equal_strides(&row, to),
                "an access does not move along its tile", i);
    return TG_OK;
}

tg_status tgi_schedule_verify_tiles(const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    if (!s->tiles.rows) {
        TGI_REQUIRE(loops == s->original, "accesses of missing tiles", 0);
        return TG_OK;
    }
    TGI_REQUIRE(loops->vectors == TGI_ROWS && loops->n_phases == 1 &&
                    loops->reductions.n == 0 && loops->stores.n > 0 &&
                    loops->has_inner && !loops->is_straightline,
                "tiles of a kernel that is not elementwise", 0);
    TGI_REQUIRE(s->tiles.row_axis >= 0 && s->tiles.row_axis < s->inner,
                "axis of the rows of a tile", s->tiles.row_axis);
    /* Rows of a work item are tile after tile; jit/llvm prefetches as if they
       were powers of two. */
    TGI_REQUIRE(tgi_is_power_of_two(s->tiles.rows) &&
                    s->item_extent[s->tiles.row_axis] % s->tiles.rows == 0,
                "work items divide a tile", s->tiles.rows);
    int64_t bytes = 0;
    for (size_t i = 0; i < loops->accesses.n; i++) {
        TGI_TRY(verify_tile(s, i));
        if (s->tiles.uses[i])
            bytes += (int64_t)s->tiles.rows * TGI_ITEM_ELEMENTS * 8;
    }
    TGI_REQUIRE(bytes <= TGI_MAX_STACK_BYTES, "tiles exceed the stack", bytes);
    return TG_OK;
}

/* -- Packed panels --------------------------------------------------------- */

/* A vector lies in one panel or covers several whole ones. */
static tg_status verify_panel(const tgi_schedule *s, size_t i)
{
    const tgi_access *access = &s->loops->accesses.data[i];
    const unsigned width = access->panel_width;
    const unsigned lanes = tgi_phase_lanes(&s->phases[0]);
    if (!width)
        return TG_OK;
    if (uses_of(s->loops, i) & TGI_IS_LOADED)
        TGI_REQUIRE(lanes <= width ? width % lanes == 0 : lanes % width == 0,
                    "a vector reads part of a panel", lanes);
    if (uses_of(s->loops, i) & TGI_IS_STORED)
        TGI_REQUIRE(lanes == 1 || lanes % width == 0,
                    "a vector stores part of a panel", lanes);
    return TG_OK;
}

tg_status tgi_schedule_verify_panels(const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    unsigned width = 0;
    for (size_t i = 0; i < loops->accesses.n; i++)
        TGI_TRY(verify_panel(s, i));
    if (loops->vectors == TGI_COLUMNS && loops->stores.n == 1)
        width = loops->accesses.data[loops->stores.data[0].access].panel_width;
    TGI_REQUIRE(s->pack_width == width, "width of packed panels",
                s->pack_width);
    if (!s->packs_transposed)
        return TG_OK;
    const tgi_inst *value = &loops->insts.data[loops->stores.data[0].value];
    TGI_REQUIRE(
        width && value->kind == TGI_INST_LOAD &&
            !loops->accesses.data[value->number].index &&
            loops->accesses.data[value->number].stride[s->inner].distance == 1,
        "packing transposes what is not contiguous", 0);
    TGI_REQUIRE(s->item_extent[s->vector_axis] == width,
                "work items that transpose are not one panel", width);
    return TG_OK;
}

/* -- Fission --------------------------------------------------------------- */

static bool is_in_body(const tgi_schedule *s, unsigned phase, uint32_t inst)
{
    return s->insts[inst].level == TGI_LEVEL_INNER &&
           s->loops->insts.data[inst].phase == phase;
}

/* True for insts that one part computes; every part that uses a load or a
   position computes it again. */
static bool is_in_a_part(const tgi_schedule *s, unsigned phase, uint32_t inst)
{
    const int kind = s->loops->insts.data[inst].kind;
    return is_in_body(s, phase, inst) && kind != TGI_INST_LOAD &&
           kind != TGI_INST_POSITION;
}

static bool has_unit_stride(const tgi_schedule *s, uint32_t access)
{
    return tgi_stride_is_one(
               s->loops->accesses.data[access].stride[s->inner]) &&
           !s->loops->accesses.data[access].index;
}

/* The part that reads a value last. */
static uint32_t last_reader(const tgi_schedule *s, unsigned phase,
                            uint32_t value)
{
    uint32_t last = s->insts[value].part;
    for (uint32_t i = value + 1; i < s->loops->insts.n; i++) {
        const tgi_inst *inst = &s->loops->insts.data[i];
        for (int j = 0; j < inst->n_operands && is_in_body(s, phase, i); j++)
            if (inst->operands[j] == value && s->insts[i].part > last)
                last = s->insts[i].part;
    }
    for (size_t i = 0; i < s->loops->stores.n; i++)
        if (s->loops->stores.data[i].value == value &&
            s->loops->stores.data[i].phase == phase &&
            s->loops->stores.data[i].level == TGI_LEVEL_INNER)
            last = s->phases[phase].fission.n_parts - 1;
    return last;
}

/* A value is computed before it is used, and in its slot from the part that
   computes it to the one that reads it last. */
static tg_status verify_value(const tgi_schedule *s, unsigned phase, uint32_t i)
{
    const tgi_fission *f = &s->phases[phase].fission;
    const tgi_inst *inst = &s->loops->insts.data[i];
    const uint32_t part = s->insts[i].part, slot = s->insts[i].slot;
    const uint32_t last = last_reader(s, phase, i);
    TGI_REQUIRE(part < f->n_parts, "a part that does not exist", i);
    for (int j = 0; j < inst->n_operands; j++)
        TGI_REQUIRE(!is_in_a_part(s, phase, inst->operands[j]) ||
                        s->insts[inst->operands[j]].part <= part,
                    "a part reads what a later one computes", i);
    TGI_REQUIRE(slot || last == part, "a later part reads a value in no slot",
                i);
    if (!slot)
        return TG_OK;
    TGI_REQUIRE(slot <= f->n_slots, "a slot that does not exist", i);
    TGI_REQUIRE((uint32_t)tgi_dtype_bytes(inst->dtype) <= f->slot_bytes,
                "a slot is too narrow", i);
    for (uint32_t j = 1; j < s->loops->insts.n; j++)
        TGI_REQUIRE(j == i || !is_in_a_part(s, phase, j) ||
                        s->insts[j].slot != slot || s->insts[j].part < part ||
                        s->insts[j].part > last,
                    "a slot is overwritten while its value is live", i);
    return TG_OK;
}

/* jit/llvm asks one inst of a part whether it is a function, and the plan about
   the last part. */
static tg_status verify_function(const tgi_schedule *s, unsigned phase,
                                 uint32_t i)
{
    const tgi_fission *f = &s->phases[phase].fission;
    TGI_REQUIRE(s->insts[i].part != f->n_parts - 1 ||
                    s->insts[i].is_function == f->last_is_function,
                "half of the last part is a function", i);
    for (uint32_t j = 1; j < i; j++)
        TGI_REQUIRE(!is_in_a_part(s, phase, j) ||
                        s->insts[j].part != s->insts[i].part ||
                        s->insts[j].is_function == s->insts[i].is_function,
                    "half of a part is a function", i);
    return TG_OK;
}

/* Elements are independent and unit strides apart, also in padded tails. */
static tg_status verify_body(const tgi_schedule *s, unsigned phase)
{
    const tgi_kernel_loops *loops = s->loops;
    TGI_REQUIRE(loops->vectors == TGI_ROWS && !loops->is_straightline &&
                    s->phases[phase].has_loop && !s->phases[phase].n_reductions,
                "fission of a phase that is not elementwise", phase);
    TGI_REQUIRE(tgi_phase_lanes(&s->phases[phase]) > 1,
                "fission without vectors", phase);
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        if (!is_in_body(s, phase, i))
            continue;
        TGI_REQUIRE(s->insts[i].varies, "fission of a uniform inst", i);
        TGI_REQUIRE(loops->insts.data[i].kind != TGI_INST_LOAD ||
                        has_unit_stride(s, loops->insts.data[i].number),
                    "fission of a strided load", i);
    }
    for (size_t i = 0; i < loops->stores.n; i++)
        TGI_REQUIRE(loops->stores.data[i].phase != phase ||
                        loops->stores.data[i].level != TGI_LEVEL_INNER ||
                        has_unit_stride(s, loops->stores.data[i].access),
                    "fission of a strided store", i);
    for (size_t i = 0; i < loops->checks.n; i++)
        TGI_REQUIRE(loops->checks.data[i].phase != phase, "fission of a check",
                    i);
    return TG_OK;
}

tg_status tgi_schedule_verify_fission(const tgi_schedule *s, unsigned phase)
{
    const tgi_fission *f = &s->phases[phase].fission;
    if (!f->n_parts) {
        TGI_REQUIRE(!f->n_slots && !f->strip, "slots without fission", phase);
        return TG_OK;
    }
    const int64_t lanes = tgi_phase_lanes(&s->phases[phase]);
    TGI_TRY(verify_body(s, phase));
    /* One part runs once over its row, so it has no strips. */
    TGI_REQUIRE((f->n_parts == 1) == (f->strip == 0), "strips of one part",
                f->strip);
    TGI_REQUIRE(f->strip % lanes == 0, "strips divide a vector", f->strip);
    TGI_REQUIRE(f->strip * f->n_slots * f->slot_bytes <= TGI_MAX_STACK_BYTES,
                "slots exceed the stack", f->n_slots);
    TGI_REQUIRE(!s->phases[phase].is_non_temporal,
                "fission of non-temporal stores", phase);
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        if (is_in_a_part(s, phase, i)) {
            TGI_TRY(verify_value(s, phase, i));
            TGI_TRY(verify_function(s, phase, i));
        }
    return TG_OK;
}

/* -- Stores ---------------------------------------------------------------- */

/* Whole vectors of contiguous elements, aligned to a cache line; the kernel
   ends with a fence. */
static tg_status verify_store(const tgi_schedule *s, size_t i)
{
    enum { MIN_STORE_BYTES = 16 }; /* of the narrowest non-temporal store */
    const tgi_loop_store *store = &s->loops->stores.data[i];
    const tgi_phase_schedule *phase = &s->phases[store->phase];
    const unsigned bytes =
        (unsigned)tgi_dtype_bytes(tgi_kernel_dtype(s->loops, store->value));
    TGI_REQUIRE(s->loops->vectors == TGI_ROWS && !s->loops->is_straightline &&
                    !phase->n_reductions && store->level == TGI_LEVEL_INNER &&
                    has_unit_stride(s, store->access),
                "a non-temporal store that is not contiguous", i);
    TGI_REQUIRE(!s->tiles.rows || !s->tiles.uses[store->access],
                "a non-temporal store to a tile", i);
    TGI_REQUIRE(tgi_phase_lanes(phase) * bytes >= MIN_STORE_BYTES,
                "a non-temporal store of a narrow vector", i);
    TGI_REQUIRE(phase->is_non_temporal, "a non-temporal store without a fence",
                i);
    return TG_OK;
}

/* Peeled elements shift the vectors of a row, which its reductions and tiles
   must not notice. */
static tg_status verify_alignment(const tgi_schedule *s, unsigned number)
{
    const tgi_phase_schedule *phase = &s->phases[number];
    const uint32_t i = phase->aligned_store - 1;
    if (!phase->aligned_store)
        return TG_OK;
    TGI_REQUIRE(i < s->loops->stores.n &&
                    s->loops->stores.data[i].phase == number &&
                    s->loops->stores.data[i].level == TGI_LEVEL_INNER &&
                    has_unit_stride(s, s->loops->stores.data[i].access),
                "alignment to a store that is not contiguous", i);
    TGI_REQUIRE(s->loops->vectors == TGI_ROWS && !s->loops->is_straightline &&
                    !phase->n_reductions && !phase->fission.n_parts &&
                    !s->tiles.rows,
                "alignment of a loop that cannot be peeled", i);
    return TG_OK;
}

/* A row of string stores is one run of equal bytes. */
static tg_status verify_string_store(const tgi_schedule *s, unsigned number)
{
    const tgi_phase_schedule *phase = &s->phases[number];
    const tgi_loop_store *found = NULL;
    if (!phase->string_store_bytes)
        return TG_OK;
    for (size_t i = 0; i < s->loops->stores.n; i++)
        if (s->loops->stores.data[i].phase == number) {
            TGI_REQUIRE(!found, "string stores of two results", i);
            found = &s->loops->stores.data[i];
        }
    TGI_REQUIRE(found && found->level == TGI_LEVEL_INNER &&
                    has_unit_stride(s, found->access) &&
                    tgi_schedule_has_equal_bytes(
                        &s->loops->insts.data[found->value]),
                "string stores of elements whose bytes differ", number);
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        TGI_REQUIRE(s->loops->insts.data[i].phase != number ||
                        s->insts[i].level != TGI_LEVEL_INNER,
                    "string stores of a phase that computes", i);
    TGI_REQUIRE(s->loops->vectors == TGI_ROWS && !s->loops->is_straightline &&
                    !s->loops->checks.n && !phase->n_reductions &&
                    !phase->fission.n_parts && !s->tiles.rows &&
                    tgi_schedule_interchanged_axis(s) < 0,
                "string stores of a loop that does more", number);
    return TG_OK;
}

/* The lanes of a vector are stored to different elements. */
static tg_status verify_lanes_of_store(const tgi_schedule *s, size_t i)
{
    const tgi_loop_store *store = &s->loops->stores.data[i];
    const tgi_access *access = &s->loops->accesses.data[store->access];
    const bool is_vector =
        s->loops->vectors == TGI_COLUMNS || store->level == TGI_LEVEL_INNER;
    TGI_REQUIRE(!is_vector || store->epilogue_op || s->loops->is_straightline ||
                    tgi_phase_lanes(&s->phases[store->phase]) == 1 ||
                    !tgi_stride_is_zero(access->stride[s->vector_axis]),
                "lanes that store to one element", i);
    return TG_OK;
}

tg_status tgi_schedule_verify_stores(const tgi_schedule *s)
{
    for (size_t i = 0; i < s->loops->stores.n; i++)
        TGI_TRY(verify_lanes_of_store(s, i));
    for (unsigned i = 0; i < s->loops->n_phases; i++)
        TGI_TRY(verify_alignment(s, i));
    for (unsigned i = 0; i < s->loops->n_phases; i++)
        TGI_TRY(verify_string_store(s, i));
    for (size_t i = 0; i < s->loops->stores.n; i++)
        if (s->non_temporal_stores[i])
            TGI_TRY(verify_store(s, i));
    for (unsigned phase = 0; phase < s->loops->n_phases; phase++) {
        bool has_any = !s->phases[phase].is_non_temporal;
        for (size_t i = 0; i < s->loops->stores.n; i++)
            has_any |= s->non_temporal_stores[i] &&
                       s->loops->stores.data[i].phase == phase;
        TGI_REQUIRE(has_any, "a non-temporal phase without such stores", phase);
    }
    return TG_OK;
}
