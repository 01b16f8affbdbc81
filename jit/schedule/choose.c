/* SPDX-License-Identifier: MIT */
/*
 * choose.c - see choose.h.
 *
 * Requires:  verified loops.
 * Computes:  the schedule of every kernel.
 * Preserves: the loops.
 */
#include "schedule/choose.h"

#include "base/alloc.h"
#include "base/error.h"
#include "loop/loop_pass.h"
#include "schedule/schedule_random.h"

#include <string.h>

/* -- Panels ---------------------------------------------------------------- */

/* Kernels that pack a matrix into panels (tgi_access). */
static void find_packing(tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    if (loops->vectors != TGI_COLUMNS || loops->stores.n != 1)
        return;
    const tgi_loop_store *store = &loops->stores.data[0];
    s->pack_width = loops->accesses.data[store->access].panel_width;
    const tgi_inst *inst = &loops->insts.data[store->value];
    if (!s->pack_width || inst->kind != TGI_INST_LOAD)
        return;
    const tgi_access *from = &loops->accesses.data[inst->number];
    s->packs_transposed = !from->index &&
                          from->stride[s->inner].distance == 1 &&
                          from->stride[s->vector_axis].distance != 1;
}

/* -- Width ----------------------------------------------------------------- */

/* Bytes along the vector axis, if they are known; else a large number. */
static int64_t row_bytes(const tgi_scheduler *r, const tgi_schedule *s)
{
    const tgi_dim extent = s->loops->extent[s->vector_axis];
    int64_t bytes = 1;
    for (size_t i = 0; i < s->loops->accesses.n; i++) {
        const int dtype =
            tgi_loops_buffer(r->program, s->loops->accesses.data[i].buffer)
                ->dtype;
        if (tgi_dtype_bytes(dtype) > bytes)
            bytes = tgi_dtype_bytes(dtype);
    }
    return tgi_dim_is_known(extent) && extent < INT32_MAX ? extent * bytes
                                                          : INT32_MAX;
}

/* The widest registers, except where they gain nothing: rows that fit half of
   one, straight-line code, and register transposes, whose shuffles take as
   long for half as many elements. See also narrow_straddling. */
static unsigned choose_width(const tgi_scheduler *r, const tgi_schedule *s)
{
    const unsigned max = r->target->max_vector_bits;
    const unsigned hint = r->hints->values[TGI_HINT_WIDTH];
    if (hint)
        return hint;
    return s->loops->is_straightline || s->tiles.rows ||
                   2 * row_bytes(r, s) <= max / 8
               ? r->target->min_vector_bits
               : max;
}

/* Of vectors half as wide, only every other one straddles two lines. Measured on
   Zen 5, a stencil of 128 x 128 x 128 f32: 336 us instead of 415. */
static void narrow_straddling(const tgi_scheduler *r, tgi_schedule *s)
{
    if (r->hints->values[TGI_HINT_WIDTH] ||
        s->vector_bits == r->target->min_vector_bits ||
        !tgi_schedule_straddles_lines(r, s))
        return;
    s->vector_bits = r->target->min_vector_bits;
    tgi_schedule_find_costs(s);
}

/* -- Work items ------------------------------------------------------------ */

/* True if rows can be divided: nothing is computed once per row. */
static bool can_divide_rows(const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    if (loops->vectors != TGI_ROWS || loops->n_phases != 1 ||
        loops->reductions.n > 0 || !s->phases[0].has_loop)
        return false;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].level != TGI_LEVEL_INNER)
            return false;
    return true;
}

static int64_t item_columns(const tgi_schedule *s)
{
    if (s->matmul.reduces_rows)
        return s->loops->extent[s->vector_axis];
    if (s->matmul.n_panels > 1)
        return s->matmul.n_panels * (int64_t)s->matmul.nr;
    return s->wide_columns && !tgi_schedule_is_row_order(s)
               ? s->wide_columns
               : tgi_phase_lanes(&s->phases[0]);
}

static void choose_items(tgi_schedule *s)
{
    for (int axis = 0; axis < s->inner; axis++)
        if (!s->item_extent[axis])
            s->item_extent[axis] = 1;
    s->item_extent[s->inner] = can_divide_rows(s) ? TGI_ITEM_ELEMENTS : 0;
    if (s->loops->vectors == TGI_COLUMNS)
        s->item_extent[s->vector_axis] = item_columns(s);
    if (s->matmul.mr)
        s->item_extent[s->matmul.row_axis] = s->matmul.item_rows;
    if (s->matmul.item_matrices > 1)
        s->item_extent[s->matmul.row_axis - 1] = s->matmul.item_matrices;
}

/* -- Kernels --------------------------------------------------------------- */

static bool make_arrays(tgi_arena *arena, tgi_schedule *s)
{
    const size_t n_insts = s->loops->insts.n + 1;
    const size_t phases_bytes = s->loops->n_phases * sizeof(*s->phases);
    const size_t insts_bytes = n_insts * sizeof(*s->insts);
    const size_t bytes = phases_bytes + insts_bytes + s->loops->stores.n;
    char *memory = tgi_arena_alloc(arena, bytes);
    if (!memory)
        return false;
    memset(memory, 0, bytes);
    s->phases = (tgi_phase_schedule *)memory;
    s->insts = (tgi_inst_schedule *)(memory + phases_bytes);
    s->non_temporal_stores = (bool *)(memory + phases_bytes + insts_bytes);
    return true;
}

static tg_status choose_kernel(const tgi_scheduler *r,
                               const tgi_kernel_loops *kernel,
                               tgi_schedule **out_schedule)
{
    tgi_schedule *s = tgi_arena_alloc(r->arena, sizeof(*s));
    if (!s)
        return tgi_error_memory();
    *s = (tgi_schedule){
        .original = kernel,
        .loops = kernel,
        .inner = kernel->n_outer,
        .vector_axis =
            kernel->vectors == TGI_ROWS ? kernel->n_outer : kernel->n_outer - 1,
    };
    if (s->vector_axis < 0)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "cannot compile '%s': a COLUMNS kernel without outer axes",
                 r->program->name);
    const bool tries_tiles =
        !kernel->is_straightline &&
        r->hints->values[TGI_HINT_TILES] != TGI_HINT_NO;
    if (!make_arrays(r->arena, s) ||
        (tries_tiles && !tgi_schedule_choose_tiles(r, s)))
        return tgi_error_memory();
    s->vector_bits = choose_width(r, s);
    tgi_schedule_find_facts(s);
    tgi_schedule_find_costs(s);
    narrow_straddling(r, s);
    find_packing(s);
    TGI_TRY(tgi_schedule_choose_lanes(r, s));
    for (unsigned i = 0; i < kernel->n_phases; i++)
        if (!tgi_schedule_choose_fission(r, s, i))
            return tgi_error_memory();
    tgi_schedule_choose_stores(r, s);
    choose_items(s);
    s->cost = tgi_schedule_kernel_cost(s);
    *out_schedule = s;
    return TG_OK;
}

/* -- Programs -------------------------------------------------------------- */

static void count_op_uses(tgi_scheduler *r)
{
    for (size_t i = 0; i < r->program->kernels.n; i++) {
        const tgi_kernel_loops *kernel = r->program->kernels.data[i];
        for (uint32_t j = 1; j < kernel->insts.n; j++) {
            const tgi_inst *inst = &kernel->insts.data[j];
            if (inst->kind == TGI_INST_OP)
                r->op_uses[inst->op][inst->type]++;
        }
    }
}

static const tgi_schedule_hints no_hints;

/* NULL when out of memory; tgi_free. */
static tgi_scheduler *create_scheduler(tgi_loops *loops,
                                       const tgi_target *target)
{
    tgi_scheduler *r = tgi_alloc_zero(sizeof(*r) + loops->buffers.n + 1);
    if (!r)
        return NULL;
    r->program = loops;
    r->target = target;
    r->arena = &loops->arena;
    r->hints = &no_hints;
    r->is_read = (bool *)(r + 1);
    tgi_schedule_find_reads(r);
    count_op_uses(r);
    return r;
}

tg_status tgi_schedule_choose(tgi_loops *loops, const tgi_target *target)
{
    tgi_scheduler *r = create_scheduler(loops, target);
    if (!r)
        return tgi_error_memory();
    tg_status status = TG_OK;
    for (size_t i = 0; !status && i < loops->kernels.n; i++)
        status = choose_kernel(r, loops->kernels.data[i],
                               &loops->kernels.data[i]->schedule);
    tgi_free(r);
    return status;
}

tg_status tgi_schedule_choose_kernel(tgi_loops *loops, const tgi_target *target,
                                     tgi_kernel_loops *kernel)
{
    tgi_scheduler *r = create_scheduler(loops, target);
    if (!r)
        return tgi_error_memory();
    const tg_status status = choose_kernel(r, kernel, &kernel->schedule);
    tgi_free(r);
    return status;
}

tg_status tgi_schedule_choose_hinted(tgi_loops *loops, size_t kernel,
                                     const tgi_target *target,
                                     const tgi_schedule_hints *hints,
                                     tgi_arena *arena)
{
    tgi_schedule *s = NULL;
    if (!tgi_hints_are_valid(hints, target) ||
        !tgi_rows_id_is_none(loops->kernels.data[kernel]->rows))
        TGI_FAIL(TG_ERROR_INTERNAL, TGI_NO_SITE, "schedule: invalid hints");
    tgi_scheduler *r = create_scheduler(loops, target);
    if (!r)
        return tgi_error_memory();
    r->arena = arena;
    r->hints = hints;
    tg_status status = choose_kernel(r, loops->kernels.data[kernel], &s);
    tgi_free(r);
    if (!status)
        status = tgi_schedule_verify(s);
    if (!status)
        loops->kernels.data[kernel]->schedule = s;
    return status;
}

tg_status tgi_loop_pass_schedule(tgi_loop_pass_state *s)
{
    if (!s->target)
        return TG_OK;
    TGI_TRY(tgi_schedule_choose(s->loops, s->target));
    if (s->schedule_seed)
        TGI_TRY(tgi_schedule_randomise(s->loops, s->target, s->schedule_seed));
    return s->verifies ? tgi_schedule_verify_all(s->loops) : TG_OK;
}
