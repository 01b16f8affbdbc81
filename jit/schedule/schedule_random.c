/* SPDX-License-Identifier: MIT */
/*
 * schedule_random.c - random variations of chosen schedules, for tests. A
 * variation draws one kind of choice anew, and is undone if the verifier
 * rejects the result. So what remains is legal and must give the same bits,
 * and tests reach schedules that no target would choose.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "schedule/choose.h"
#include "schedule/schedule_random.h"

#include <stdatomic.h>
#include <string.h>

/* -- Random numbers -------------------------------------------------------- */

typedef struct variation {
    tgi_schedule *s;
    const tgi_scheduler *scheduler; /* program and target */
    uint64_t state;
    bool is_out_of_memory;
} variation;

/* SplitMix64. Returns a number below n > 0. */
static unsigned draw(variation *v, unsigned n)
{
    uint64_t z = v->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (unsigned)((z ^ z >> 31) % n);
}

static bool flip(variation *v)
{
    return draw(v, 2);
}

/* A power of two from 1 to `max`, which is one. */
static unsigned draw_power(variation *v, unsigned max)
{
    unsigned n = 1;
    while (2 * n <= max)
        n *= 2;
    return n >> draw(v, 1 + (unsigned)__builtin_ctz(n));
}

/* -- Vectors --------------------------------------------------------------- */

static tgi_nest_loop *vector_loop(tgi_phase_schedule *phase)
{
    unsigned i = 0;
    while (phase->nest.loops[i].kind != TGI_LOOP_VECTOR)
        i++;
    return &phase->nest.loops[i];
}

static void add_loop(tgi_phase_schedule *phase, tgi_loop_kind kind, int axis,
                     int64_t step)
{
    phase->nest.loops[phase->nest.n++] = (tgi_nest_loop){
        .kind = (uint8_t)kind, .axis = (uint8_t)axis, .step = step};
}

/* The tail and narrow loop of a vector loop. */
static void draw_tail(variation *v, tgi_phase_schedule *phase)
{
    tgi_nest_loop *loop = vector_loop(phase);
    const unsigned lanes = (unsigned)loop->step;
    loop->tail = phase->fission.n_parts ? TGI_TAIL_STACK
                 : phase->can_mask      ? TGI_TAIL_MASK
                                        : TGI_TAIL_SCALAR;
    loop->tail_lanes = (uint16_t)(phase->can_mask ? draw_power(v, lanes) : 1);
    loop->narrow_lanes = 0;
    if (lanes > 1 && flip(v))
        loop->narrow_lanes = (uint16_t)draw_power(v, lanes / 2);
}

static void vary_width(variation *v)
{
    static const unsigned bits[] = {128, 256, 512};
    const unsigned max = v->scheduler->target->max_vector_bits;
    v->s->vector_bits = bits[draw(v, max == 512 ? 3 : max == 256 ? 2 : 1)];
}

static void vary_masks(variation *v)
{
    const bool can_mask = v->s->phases[0].can_mask && flip(v);
    for (unsigned i = 0; i < v->s->loops->n_phases; i++) {
        tgi_phase_schedule *phase = &v->s->phases[i];
        phase->can_mask = v->s->loops->vectors == TGI_COLUMNS
                              ? can_mask
                              : phase->can_mask && flip(v);
        draw_tail(v, phase);
    }
}

/* -- Rows ------------------------------------------------------------------ */

static bool is_one_block(const tgi_schedule *s, int64_t size)
{
    const tgi_dim extent = s->loops->extent[s->inner];
    return s->split_block || (tgi_dim_is_known(extent) && extent <= size);
}

static const tgi_reduction *first_reduction(const tgi_schedule *s,
                                            const tgi_phase_schedule *phase)
{
    return &s->loops->reductions.data[phase->reductions[0]];
}

/* A reduction in any order. */
static void draw_any_order(variation *v, tgi_phase_schedule *phase,
                           unsigned lanes)
{
    phase->accumulators =
        (tgi_accumulators){.is_reassociated = true, .n_vectors = 1};
    if (flip(v)) {
        add_loop(phase, TGI_LOOP_SERIAL, v->s->inner, 2 * (int64_t)lanes);
        add_loop(phase, TGI_LOOP_UNROLL, v->s->inner, lanes);
    }
}

/* A reduction in the order of the tree. */
static void draw_tree(variation *v, tgi_phase_schedule *phase, unsigned lanes)
{
    const tgi_schedule *s = v->s;
    const unsigned all =
        (unsigned)tgi_tree_lanes(first_reduction(s, phase)->dtype);
    const unsigned tree = flip(v) ? all : draw_power(v, all);
    tgi_accumulators *acc = &phase->accumulators;
    *acc = (tgi_accumulators){.n_vectors = tree / lanes};
    if (!is_one_block(s, TGI_BLOCK_STEPS * (int64_t)all))
        add_loop(phase, TGI_LOOP_SERIAL, s->inner,
                 TGI_BLOCK_STEPS * (int64_t)all);
    if (flip(v)) {
        acc->storage = TGI_ON_STACK;
        return;
    }
    add_loop(phase, TGI_LOOP_SERIAL, s->inner, tree);
    if (tree > lanes)
        add_loop(phase, TGI_LOOP_UNROLL, s->inner, lanes);
}

static void undo_interchange(tgi_schedule *s)
{
    const int axis = tgi_schedule_interchanged_axis(s);
    if (axis < 0)
        return;
    tgi_schedule_hoist(s, -1);
    s->item_extent[axis] = 1;
    s->phases[0].nest.n--;
}

static void draw_row_phase(variation *v, tgi_phase_schedule *phase)
{
    tgi_schedule *s = v->s;
    undo_interchange(s);
    const unsigned lanes = draw_power(v, TGI_MAX_LANES);
    const bool is_reduction =
        phase->n_reductions && !first_reduction(s, phase)->combines_blocks;
    if (phase->n_reductions && !is_reduction)
        return; /* second stages have one lane */
    phase->nest.n = 0;
    if (s->loops->is_straightline) {
        phase->keeps_operand_widths = flip(v);
        for (int axis = 0; axis < s->inner; axis++)
            add_loop(phase, TGI_LOOP_UNROLL, axis, 1);
        if (is_reduction)
            phase->accumulators.n_vectors =
                (unsigned)tgi_tree_lanes(first_reduction(s, phase)->dtype) /
                lanes;
    } else if (is_reduction && flip(v)) {
        draw_any_order(v, phase, lanes);
    } else if (is_reduction) {
        draw_tree(v, phase, lanes);
    }
    add_loop(phase, TGI_LOOP_VECTOR, s->inner, lanes);
    draw_tail(v, phase);
}

static void vary_row_phase(variation *v)
{
    if (v->s->loops->vectors == TGI_ROWS)
        draw_row_phase(v, &v->s->phases[draw(v, v->s->loops->n_phases)]);
}

/* True if an inst of the loop that is not hoisted computes an operand. */
static bool needs_loop(const tgi_schedule *s, const tgi_inst *inst)
{
    bool is_needed = false;
    for (int i = 0; i < inst->n_operands; i++) {
        const tgi_inst_schedule *operand = &s->insts[inst->operands[i]];
        is_needed |= operand->level == TGI_LEVEL_INNER && !operand->is_hoisted;
    }
    return is_needed;
}

/* A loop along any outer axis inside the vector loop; some insts that do not
   depend on the axis stay in it. */
static void vary_interchange(variation *v)
{
    enum { MAX_POINTS = 70 };
    tgi_schedule *s = v->s;
    undo_interchange(s);
    if (s->inner == 0 || s->loops->vectors != TGI_ROWS ||
        s->loops->is_straightline || s->tiles.rows)
        return;
    const int axis = (int)draw(v, (unsigned)s->inner);
    const bool hoists_all = flip(v);
    tgi_schedule_hoist(s, axis);
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        s->insts[i].is_hoisted &= (hoists_all || draw(v, 4)) &&
                                  !needs_loop(s, &s->loops->insts.data[i]);
    for (size_t i = 0; i < s->loops->stores.n; i++)
        s->non_temporal_stores[i] = false;
    s->phases[0].is_non_temporal = false;
    s->phases[0].aligned_store = 0;
    s->item_extent[axis] = 1 + draw(v, MAX_POINTS);
    add_loop(&s->phases[0], TGI_LOOP_SERIAL, axis, 1);
}

static void vary_row_items(variation *v)
{
    tgi_schedule *s = v->s;
    if (s->loops->vectors == TGI_ROWS && !s->tiles.rows)
        s->item_extent[s->inner] =
            draw(v, 4)
                ? (int64_t)tgi_phase_lanes(&s->phases[0]) * (1 + draw(v, 8))
                : 0;
}

/* Tiles where none were chosen. The transposed accesses are contiguous then. */
static void add_tiles(variation *v)
{
    tgi_schedule *s = v->s;
    if (s->inner == 0 || s->loops->vectors != TGI_ROWS)
        return;
    const int axis = (int)draw(v, (unsigned)s->inner);
    v->is_out_of_memory |=
        !tgi_schedule_add_tiles(v->scheduler, s, axis, draw_power(v, 64));
    if (!s->tiles.rows)
        return;
    s->item_extent[s->inner] = TGI_ITEM_ELEMENTS;
    s->phases[0].aligned_store = 0;
    s->phases[0].can_mask = flip(v);
    draw_tail(v, &s->phases[0]);
}

static void vary_tiles(variation *v)
{
    tgi_schedule *s = v->s;
    if (!s->tiles.rows) {
        add_tiles(v);
        return;
    }
    if (draw(v, 3)) {
        s->tiles.rows = draw_power(v, 64);
        s->item_extent[s->tiles.row_axis] =
            s->tiles.rows * (int64_t)(1 + draw(v, 9));
        return;
    }
    /* No tiles: strided accesses, which have neither masks nor fission. */
    s->item_extent[s->tiles.row_axis] = 1;
    s->tiles.rows = 0;
    s->loops = s->original;
    s->phases[0].can_mask = false;
    s->phases[0].fission = (tgi_fission){0};
    draw_tail(v, &s->phases[0]);
}

/* -- Columns --------------------------------------------------------------- */

/* True if a loop along an axis may be unrolled without much code. */
static bool has_small_extent(const tgi_schedule *s, int axis)
{
    enum { MAX_UNROLLED = 24 };
    const tgi_dim extent = s->loops->extent[axis];
    return tgi_dim_is_known(extent) && extent <= MAX_UNROLLED;
}

/* The loops of a phase around and in its vector loop. */
static void draw_column_phase(variation *v, tgi_phase_schedule *phase,
                              unsigned lanes, unsigned rows)
{
    tgi_schedule *s = v->s;
    const bool is_reduction =
        phase->n_reductions && !first_reduction(s, phase)->combines_blocks;
    const bool is_exact =
        is_reduction && flip(v) &&
        tgi_reduction_is_reassociable(first_reduction(s, phase)) &&
        !s->wide_columns && !s->matmul.mr && !s->loops->is_straightline;
    const bool has_blocks =
        is_reduction && !is_exact && !is_one_block(s, TGI_BLOCK_ROWS);
    phase->nest.n = 0;
    phase->accumulators =
        (tgi_accumulators){.is_reassociated = is_exact, .n_vectors = 1};
    if (s->loops->is_straightline)
        for (int axis = 0; axis < s->vector_axis; axis++)
            add_loop(phase, TGI_LOOP_UNROLL, axis, 1);
    if (has_blocks && (s->wide_columns ||
                       (s->matmul.mr && !s->matmul.blocks_in_rows)))
        add_loop(phase, TGI_LOOP_SERIAL, s->inner, TGI_BLOCK_ROWS);
    if (s->matmul.mr) {
        phase->accumulators.n_vectors = s->matmul.mr;
        if (s->matmul.item_matrices > 1)
            add_loop(phase, TGI_LOOP_SERIAL, s->matmul.row_axis - 1, 1);
        add_loop(phase, TGI_LOOP_SERIAL, s->matmul.row_axis, s->matmul.mr);
        if (s->matmul.blocks_in_rows)
            add_loop(phase, TGI_LOOP_SERIAL, s->inner, TGI_BLOCK_ROWS);
        add_loop(phase,
                 flip(v) && has_small_extent(s, s->inner) ? TGI_LOOP_UNROLL
                                                          : TGI_LOOP_SERIAL,
                 s->inner, 1);
        add_loop(phase, TGI_LOOP_UNROLL, s->matmul.row_axis, 1);
    }
    if (s->wide_columns) {
        phase->accumulators.storage = TGI_ON_STACK;
        add_loop(phase, TGI_LOOP_SERIAL, s->inner, rows);
    }
    add_loop(phase, TGI_LOOP_VECTOR, s->vector_axis, lanes);
    if (has_blocks && !s->wide_columns && !s->matmul.mr)
        add_loop(phase, TGI_LOOP_SERIAL, s->inner, TGI_BLOCK_ROWS);
    if (s->wide_columns || s->loops->is_straightline)
        add_loop(phase, TGI_LOOP_UNROLL, s->inner, 1);
    else if (!s->matmul.mr && phase->has_loop && !phase->n_reductions &&
             flip(v)) {
        add_loop(phase, TGI_LOOP_SERIAL, s->inner, draw_power(v, 8));
        add_loop(phase, TGI_LOOP_UNROLL, s->inner, 1);
    } else if (!s->matmul.mr && phase->has_loop)
        add_loop(phase,
                 is_reduction && flip(v) && has_small_extent(s, s->inner)
                     ? TGI_LOOP_UNROLL
                     : TGI_LOOP_SERIAL,
                 s->inner, 1);
    draw_tail(v, phase);
}

/* Vectors and work items of all phases. */
static void draw_columns(variation *v, unsigned lanes)
{
    tgi_schedule *s = v->s;
    const unsigned rows = draw_power(v, 8);
    s->item_extent[s->vector_axis] =
        s->matmul.reduces_rows   ? s->loops->extent[s->vector_axis]
        : s->wide_columns        ? s->wide_columns
        : s->matmul.n_panels > 1 ? s->matmul.n_panels * (int64_t)lanes
                                 : lanes;
    for (unsigned i = 0; i < s->loops->n_phases; i++)
        draw_column_phase(v, &s->phases[i], lanes, rows);
}

static void vary_columns(variation *v)
{
    tgi_schedule *s = v->s;
    const unsigned lanes = draw_power(v, TGI_MAX_LANES);
    if (s->loops->vectors != TGI_COLUMNS || s->matmul.mr)
        return;
    s->wide_columns =
        s->loops->reductions.n && flip(v) ? lanes * (1 + draw(v, 40)) : 0;
    draw_columns(v, lanes);
}

/* Rows outside of columns, or the other way round. */
static void vary_row_order(variation *v)
{
    tgi_schedule *s = v->s;
    if (s->loops->vectors != TGI_COLUMNS || s->loops->reductions.n ||
        s->loops->is_straightline || s->loops->n_phases != 1)
        return;
    const unsigned lanes = draw_power(v, TGI_MAX_LANES);
    s->wide_columns = 0;
    draw_columns(v, lanes);
    tgi_schedule_hoist(s, flip(v) ? s->vector_axis : -1);
    tgi_nest *nest = &s->phases[0].nest;
    const tgi_nest_loop vectors = nest->loops[0];
    if (nest->n != 2 || !flip(v))
        return;
    nest->loops[0] = nest->loops[1];
    nest->loops[1] = vectors;
    s->wide_columns = draw(v, 4) ? lanes * (1 + draw(v, 40)) : 0;
}

static int64_t round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

/* Runs of A, where it has any, of 1 step too. */
static void draw_run(variation *v)
{
    tgi_matmul_schedule *m = &v->s->matmul;
    const unsigned longest = tgi_schedule_longest_run(v->s);
    m->a_run =
        longest && !m->looks_ahead && flip(v) ? draw_power(v, longest) : 0;
}

static void draw_matmul_options(variation *v)
{
    tgi_matmul_schedule *m = &v->s->matmul;
    m->packs_b = m->transposes_b || flip(v);
    m->epilogue_in_registers = flip(v);
    m->calls_function = flip(v);
    m->packs_for_function |= flip(v);
    m->packs_masked_for_function |= flip(v);
    m->has_few_rows = flip(v);
    m->prefetches_panels = flip(v);
    m->looks_ahead =
        v->s->loops->accesses.data[m->a_access].index && flip(v);
    draw_run(v);
    if (flip(v))
        m->prefetched_a_bytes = m->prefetched_b_bytes = 0;
    m->n_panels = flip(v) ? 1 + draw(v, 6) : 0;
    if (m->n_panels > 1)
        m->packs_b = false;
}

/* Matrices of a work item, where their loop is legal. */
static void draw_matrices(variation *v)
{
    tgi_schedule *s = v->s;
    tgi_matmul_schedule *m = &s->matmul;
    if (m->item_matrices <= 1 &&
        (m->row_axis <= 0 || s->loops->reductions.data[0].is_split ||
         s->loops->accesses.data[m->b_access]
             .stride[m->row_axis - 1]
             .distance))
        return;
    m->item_matrices = flip(v) ? 1 + draw(v, 5) : 0;
    s->item_extent[m->row_axis - 1] =
        m->item_matrices > 1 ? m->item_matrices : 1;
}

/* k-blocks inside of rows, where the function can run through them. */
static void draw_blocks_in_rows(variation *v)
{
    const tgi_schedule *s = v->s;
    tgi_matmul_schedule *m = &v->s->matmul;
    m->blocks_in_rows =
        m->a_run && m->calls_function && m->item_matrices <= 1 &&
        s->loops->accesses.data[m->b_access].panel_width && !s->split_block &&
        tgi_dim_is_known(s->loops->extent[s->inner]) &&
        s->loops->extent[s->inner] > TGI_BLOCK_ROWS && flip(v);
    if (m->blocks_in_rows)
        m->packs_for_function = m->packs_masked_for_function = false;
}

static void vary_matmul(variation *v)
{
    tgi_schedule *s = v->s;
    tgi_matmul_schedule *m = &s->matmul;
    if (!m->mr)
        return;
    if (draw(v, 8) == 0) { /* columns that are reduced one by one */
        s->item_extent[m->row_axis] = 1;
        if (m->item_matrices > 1)
            s->item_extent[m->row_axis - 1] = 1;
        s->phases[0].can_mask &= !m->transposes_b;
        *m = (tgi_matmul_schedule){0};
        draw_columns(v, draw_power(v, TGI_MAX_LANES));
        return;
    }
    if (flip(v))
        draw_matmul_options(v);
    if (flip(v))
        m->nr = draw_power(v, 16);
    m->mr = 1 + draw(v, 12);
    m->item_rows = m->mr * (int64_t)(1 + draw(v, 12));
    const tgi_dim rows = s->loops->extent[m->row_axis];
    if (m->reduces_columns && m->item_rows < rows)
        m->item_rows = round_up(rows, m->mr);
    s->item_extent[m->row_axis] = m->item_rows;
    draw_matrices(v);
    draw_blocks_in_rows(v);
    draw_columns(v, m->nr);
}

/* -- Fission --------------------------------------------------------------- */

static bool is_in_part(const tgi_schedule *s, unsigned phase, uint32_t i)
{
    const tgi_inst *inst = &s->loops->insts.data[i];
    return s->insts[i].level == TGI_LEVEL_INNER && inst->phase == phase &&
           inst->kind != TGI_INST_LOAD && inst->kind != TGI_INST_POSITION;
}

/* True if a part after `part` uses a value. */
static bool is_read_after(const tgi_schedule *s, unsigned phase, uint32_t value,
                          uint32_t part)
{
    for (uint32_t i = value + 1; i < s->loops->insts.n; i++)
        for (int j = 0; j < s->loops->insts.data[i].n_operands; j++)
            if (s->loops->insts.data[i].operands[j] == value &&
                is_in_part(s, phase, i) && s->insts[i].part > part)
                return true;
    for (size_t i = 0; i < s->loops->stores.n; i++)
        if (s->loops->stores.data[i].value == value &&
            s->loops->stores.data[i].level == TGI_LEVEL_INNER &&
            part + 1 < s->phases[phase].fission.n_parts)
            return true;
    return false;
}

/* A slot whose values are dead in the part of an inst, or a new one. */
static uint32_t draw_slot(variation *v, unsigned phase, uint32_t inst)
{
    const tgi_schedule *s = v->s;
    tgi_fission *f = &v->s->phases[phase].fission;
    const uint32_t part = s->insts[inst].part;
    for (uint32_t slot = 1; slot <= f->n_slots && flip(v); slot++) {
        bool is_free = part > 0;
        for (uint32_t i = 1; i < inst; i++)
            if (is_in_part(s, phase, i) && s->insts[i].slot == slot)
                is_free &= s->insts[i].part < part &&
                           !is_read_after(s, phase, i, part - 1);
        if (is_free)
            return slot;
    }
    return ++f->n_slots;
}

static void draw_slots(variation *v, unsigned phase)
{
    tgi_schedule *s = v->s;
    tgi_fission *f = &s->phases[phase].fission;
    for (uint32_t i = 1; i < s->loops->insts.n; i++) {
        if (!is_in_part(s, phase, i) ||
            !is_read_after(s, phase, i, s->insts[i].part))
            continue;
        const uint32_t bytes =
            (uint32_t)tgi_dtype_bytes(s->loops->insts.data[i].dtype);
        s->insts[i].slot = draw_slot(v, phase, i);
        if (bytes > f->slot_bytes)
            f->slot_bytes = bytes;
    }
}

/* Cuts the body after random insts. */
static void draw_parts(variation *v, unsigned phase)
{
    tgi_schedule *s = v->s;
    tgi_fission *f = &s->phases[phase].fission;
    bool is_function = flip(v);
    f->n_parts = 1;
    for (uint32_t i = 1; i < s->loops->insts.n; i++) {
        if (!is_in_part(s, phase, i))
            continue;
        s->insts[i].part = f->n_parts - 1;
        s->insts[i].is_function = is_function;
        if (draw(v, 4) == 0) {
            f->n_parts++;
            is_function = flip(v);
        }
    }
    f->last_is_function = is_function;
    if (f->n_parts > 1)
        f->strip =
            tgi_phase_lanes(&s->phases[phase]) * (int64_t)(1 + draw(v, 16));
    draw_slots(v, phase);
}

static void vary_fission(variation *v)
{
    tgi_schedule *s = v->s;
    const unsigned number = draw(v, s->loops->n_phases);
    tgi_phase_schedule *phase = &s->phases[number];
    if (s->loops->vectors != TGI_ROWS || s->loops->is_straightline)
        return;
    phase->fission = (tgi_fission){0};
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        if (s->loops->insts.data[i].phase == number) {
            s->insts[i].part = s->insts[i].slot = 0;
            s->insts[i].is_function = false;
        }
    if (draw(v, 3))
        draw_parts(v, number);
    draw_tail(v, phase);
}

/* -- Stores ---------------------------------------------------------------- */

static void vary_stores(variation *v)
{
    static const int64_t thresholds[] = {0, 64, 500, 4096};
    tgi_schedule *s = v->s;
    if (flip(v))
        s->non_temporal_bytes = thresholds[draw(v, 4)];
    s->prefetch_bytes = 64 * (int64_t)draw(v, 20);
    for (unsigned i = 0; i < s->loops->n_phases; i++) {
        s->phases[i].is_non_temporal = false;
        s->phases[i].aligned_store = 0;
    }
    for (uint32_t i = 0; i < s->loops->stores.n; i++) {
        tgi_phase_schedule *phase = &s->phases[s->loops->stores.data[i].phase];
        s->non_temporal_stores[i] = flip(v);
        phase->is_non_temporal |= s->non_temporal_stores[i];
        if (!s->tiles.rows && (s->non_temporal_stores[i] || flip(v)))
            phase->aligned_store = i + 1;
    }
}

static void vary_string_stores(variation *v)
{
    static const int64_t sizes[] = {0, 1, 64, 500};
    for (unsigned i = 0; i < v->s->loops->n_phases; i++)
        v->s->phases[i].string_store_bytes = sizes[draw(v, 4)];
}

/* -- Kernels --------------------------------------------------------------- */

/* What a variation changes. */
typedef struct snapshot {
    tgi_schedule schedule;
    char *arrays; /* phases, insts, stores */
    size_t phases_bytes, insts_bytes, stores_bytes;
} snapshot;

static bool save(const tgi_schedule *s, snapshot *saved)
{
    saved->schedule = *s;
    saved->phases_bytes = s->loops->n_phases * sizeof(*s->phases);
    saved->insts_bytes = (s->loops->insts.n + 1) * sizeof(*s->insts);
    saved->stores_bytes = s->loops->stores.n;
    saved->arrays = tgi_alloc(saved->phases_bytes + saved->insts_bytes +
                              saved->stores_bytes);
    if (!saved->arrays)
        return false;
    memcpy(saved->arrays, s->phases, saved->phases_bytes);
    memcpy(saved->arrays + saved->phases_bytes, s->insts, saved->insts_bytes);
    memcpy(saved->arrays + saved->phases_bytes + saved->insts_bytes,
           s->non_temporal_stores, saved->stores_bytes);
    return true;
}

static void restore(tgi_schedule *s, const snapshot *saved)
{
    *s = saved->schedule;
    memcpy(s->phases, saved->arrays, saved->phases_bytes);
    memcpy(s->insts, saved->arrays + saved->phases_bytes, saved->insts_bytes);
    memcpy(s->non_temporal_stores,
           saved->arrays + saved->phases_bytes + saved->insts_bytes,
           saved->stores_bytes);
}

static _Atomic uint64_t n_accepted, n_rejected;

/* Applies a variation, unless the verifier rejects its result. */
static bool try_variation(variation *v, void vary(variation *))
{
    snapshot saved;
    tgi_error_copy error;
    if (!save(v->s, &saved))
        return false;
    tgi_error_save(&error);
    vary(v);
    const bool is_legal = tgi_schedule_verify(v->s) == TG_OK;
    if (!is_legal) {
        restore(v->s, &saved);
        tgi_error_restore(&error);
    }
    atomic_fetch_add(is_legal ? &n_accepted : &n_rejected, 1);
    tgi_free(saved.arrays);
    return !v->is_out_of_memory;
}

static bool vary_kernel(variation *v)
{
    static void (*const variations[])(variation *) = {
        vary_width,     vary_tiles,   vary_matmul,    vary_columns,
        vary_row_phase, vary_masks,   vary_row_phase, vary_fission,
        vary_row_items, vary_stores,  vary_row_phase, vary_fission,
        vary_matmul,    vary_columns, vary_masks,     vary_tiles,
        vary_interchange, vary_row_order, vary_string_stores};
    for (size_t i = 0; i < sizeof(variations) / sizeof(variations[0]); i++)
        if (draw(v, 4) && !try_variation(v, variations[i]))
            return false;
    return true;
}

tg_status tgi_schedule_randomise(tgi_loops *loops, const tgi_target *target,
                                 uint64_t seed)
{
    const tgi_schedule_hints no_hints = {{0}};
    const tgi_scheduler scheduler = {.program = loops,
                                     .target = target,
                                     .arena = &loops->arena,
                                     .hints = &no_hints};
    for (size_t i = 0; i < loops->kernels.n; i++) {
        variation v = {.s = loops->kernels.data[i]->schedule,
                       .scheduler = &scheduler,
                       .state = seed ^ (i + 1) << 32};
        if (!vary_kernel(&v))
            return tgi_error_memory();
    }
    return tgi_schedule_verify_all(loops);
}

void tgi_schedule_random_counts(uint64_t *out_accepted, uint64_t *out_rejected)
{
    *out_accepted = n_accepted;
    *out_rejected = n_rejected;
}
