/* SPDX-License-Identifier: MIT */
/*
 * choose_lanes.c - the phases of a kernel: the lanes of their vectors, how
 * tails run, where accumulators are, and the nests that follow.
 */
#include "base/error.h"
#include "schedule/choose.h"

/*
 * Registers per value. Four hide loop overhead and latencies; very heavy
 * bodies need registers for intermediate values and take two. Measured: exp,
 * log and tanh are 8 to 12 % faster with four than with two; tanh(x) *
 * sigmoid(x) is not, and is 1.4 times as slow with one.
 */
enum { VERY_HEAVY = 60, MAX_REGISTERS = 4, MIN_REGISTERS = 2 };

/* Registers per value of a single cheap reduction down columns. With four, a
   sum over a matrix of 4096 x 4096 takes 1.5 times as long. */
enum { COLUMN_REGISTERS = 8 };

/* Vectors that the loop over a reassociated row accumulates at a time: native
   min and max take two at 1.5 times the cost of one. */
enum { REASSOCIATED_VECTORS = 2 };

/* With fewer lanes, vectors are at once followed by a scalar tail. */
enum { MIN_NARROWED_LANES = 16 };

/* -- Statistics ------------------------------------------------------------ */

/* Statistics of a phase, by which its lanes are chosen. */
typedef struct phase_stats {
    unsigned bytes; /* of the widest element that varies */
    unsigned cost;
    bool has_args, has_minmax; /* whose accumulators have several values */
    unsigned n_reductions;
    unsigned max_registers; /* per value, of an interchanged loop; or 0 */
} phase_stats;

static void count_dtype(phase_stats *c, int dtype)
{
    const unsigned bytes = (unsigned)tgi_dtype_bytes(dtype);
    if (bytes > c->bytes)
        c->bytes = bytes;
}

static void count_inst(const tgi_scheduler *r, tgi_schedule *s, uint32_t number,
                       phase_stats *stats)
{
    const tgi_inst *inst = &s->loops->insts.data[number];
    const tgi_inst_schedule *facts = &s->insts[number];
    tgi_phase_schedule *phase = &s->phases[inst->phase];
    phase_stats *c = &stats[inst->phase];
    if (facts->level == TGI_LEVEL_INNER)
        phase->has_loop = true;
    if (!facts->varies)
        return;
    count_dtype(c, inst->dtype);
    if (inst->kind == TGI_INST_LOAD)
        phase->can_mask &= tgi_schedule_is_maskable(
            r, s, &s->loops->accesses.data[inst->number]);
}

static void count_store(const tgi_scheduler *r, tgi_schedule *s,
                        const tgi_loop_store *store)
{
    tgi_phase_schedule *phase = &s->phases[store->phase];
    if (store->level == TGI_LEVEL_INNER)
        phase->has_loop = true;
    if (store->level == TGI_LEVEL_INNER || s->loops->vectors == TGI_COLUMNS)
        phase->can_mask &= tgi_schedule_is_maskable(
            r, s, &s->loops->accesses.data[store->access]);
}

static tg_status count_reduction(const tgi_scheduler *r, tgi_schedule *s,
                                 uint32_t number, phase_stats *stats)
{
    const tgi_reduction *reduction = &s->loops->reductions.data[number];
    tgi_phase_schedule *phase = &s->phases[reduction->phase];
    phase_stats *c = &stats[reduction->phase];
    if (phase->n_reductions == TGI_MAX_PHASE_REDUCTIONS)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "cannot compile '%s': a phase has too many reductions",
                 r->program->name);
    phase->reductions[phase->n_reductions++] = number;
    const tgi_reduction *first =
        &s->loops->reductions.data[phase->reductions[0]];
    if (first->combines_blocks != reduction->combines_blocks)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "cannot compile '%s': a phase mixes first and second stages "
                 "of reductions",
                 r->program->name);
    phase->has_loop = true;
    if (reduction->is_split)
        s->split_block =
            s->loops->vectors == TGI_COLUMNS
                ? TGI_BLOCK_ROWS
                : TGI_BLOCK_STEPS * (int64_t)tgi_tree_lanes(first->dtype);
    const bool is_arg = tgi_reduction_is_arg(reduction);
    count_dtype(c, is_arg ? TG_I64 : reduction->dtype);
    c->has_args |= is_arg;
    c->has_minmax |= tgi_reduction_is_native_minmax(reduction);
    c->n_reductions++;
    return TG_OK;
}

static tg_status count_all(const tgi_scheduler *r, tgi_schedule *s,
                           phase_stats *stats)
{
    const tgi_kernel_loops *loops = s->loops;
    for (unsigned i = 0; i < loops->n_phases; i++)
        s->phases[i].can_mask = true;
    for (uint32_t i = 1; i < loops->insts.n; i++)
        count_inst(r, s, i, stats);
    for (size_t i = 0; i < loops->stores.n; i++)
        count_store(r, s, &loops->stores.data[i]);
    for (size_t i = 0; i < loops->checks.n; i++)
        s->phases[loops->checks.data[i].phase].has_loop = true;
    for (uint32_t i = 0; i < loops->reductions.n; i++)
        TGI_TRY(count_reduction(r, s, i, stats));
    for (unsigned i = 0; i < loops->n_phases; i++)
        stats[i].cost = tgi_schedule_body_cost(s, i);
    return TG_OK;
}

/* -- Lanes ----------------------------------------------------------------- */

static unsigned registers_per_value(const tgi_scheduler *r,
                                    const tgi_schedule *s, const phase_stats *c)
{
    if (r->hints->values[TGI_HINT_REGISTERS])
        return r->hints->values[TGI_HINT_REGISTERS];
    if (c->max_registers)
        return c->max_registers;
    /* Wide columns combine floats by the recipe, into one value. */
    if (c->cost > VERY_HEAVY || c->has_args ||
        (c->has_minmax && !s->wide_columns))
        return MIN_REGISTERS;
    return s->loops->vectors == TGI_COLUMNS && !s->wide_columns &&
                   c->n_reductions == 1 && c->cost <= TGI_HEAVY_COST
               ? COLUMN_REGISTERS
               : MAX_REGISTERS;
}

/* Lanes of the widest element that fill a register. */
static unsigned lanes_per_register(const tgi_schedule *s, const phase_stats *c)
{
    return s->vector_bits / 8 / (c->bytes ? c->bytes : 8);
}

/* A vector covers one packed panel; but a kernel that packs contiguous rows
   fills several panels with one vector. */
static unsigned limit_to_panels(const tgi_schedule *s, unsigned lanes)
{
    bool is_contiguous = true;
    unsigned panel_width = 0;
    for (size_t i = 0; i < s->loops->accesses.n; i++) {
        const tgi_access *access = &s->loops->accesses.data[i];
        is_contiguous &= tgi_schedule_is_contiguous(s, access);
        panel_width = access->panel_width ? access->panel_width : panel_width;
    }
    if (!panel_width)
        return lanes;
    return is_contiguous && s->pack_width && !s->packs_transposed
               ? TGI_MAX_LANES
               : panel_width;
}

static unsigned choose_lanes(const tgi_scheduler *r, const tgi_schedule *s,
                             const phase_stats *c, bool can_mask,
                             unsigned min_lanes)
{
    unsigned lanes = registers_per_value(r, s, c) * lanes_per_register(s, c);
    if (lanes > TGI_MAX_LANES)
        lanes = TGI_MAX_LANES;
    lanes = limit_to_panels(s, lanes);
    /* Inactive lanes cost as much as active ones, and without masks a vector
       that is not full is not used at all. */
    const tgi_dim extent = s->loops->extent[s->vector_axis];
    while (tgi_dim_is_known(extent) && lanes > min_lanes &&
           (can_mask ? lanes / 2 : lanes - 1) >= extent)
        lanes /= 2;
    return lanes;
}

/* -- Nests ----------------------------------------------------------------- */

static void add_loop(tgi_nest *nest, tgi_loop_kind kind, int axis, int64_t step)
{
    nest->loops[nest->n++] = (tgi_nest_loop){
        .kind = (uint8_t)kind, .axis = (uint8_t)axis, .step = step};
}

/*
 * Lanes of the loop between full vectors and a scalar tail: a register of them,
 * unless fewer lanes halve the iterations of both (the most there can be, if
 * the extent is unknown). Of 62 bytes after vectors of 64, one vector of 32
 * leaves 30 scalars, 7 of 8 leave 6.
 */
static unsigned lanes_before_scalars(tgi_dim extent, unsigned lanes,
                                     unsigned register_lanes)
{
    const unsigned rest = tgi_dim_is_known(extent)
                              ? (unsigned)(extent % (int64_t)lanes)
                              : lanes - 1;
    unsigned best = register_lanes < lanes ? register_lanes : lanes / 2;
    for (unsigned n = best / 2; n > 1 && rest > 0; n /= 2)
        if (2 * (rest / n + rest % n) <= rest / best + rest % best)
            best = n;
    return best;
}

static void add_vector_loop(const tgi_schedule *s, tgi_phase_schedule *phase,
                            const phase_stats *c, unsigned lanes)
{
    unsigned register_lanes = lanes_per_register(s, c);
    if (register_lanes > lanes)
        register_lanes = lanes;
    add_loop(&phase->nest, TGI_LOOP_VECTOR, s->vector_axis, lanes);
    tgi_nest_loop *loop = &phase->nest.loops[phase->nest.n - 1];
    loop->tail = phase->can_mask ? TGI_TAIL_MASK : TGI_TAIL_SCALAR;
    loop->tail_lanes = (uint16_t)(phase->can_mask ? register_lanes : 1);
    if (register_lanes < lanes && c->cost <= TGI_HEAVY_COST)
        loop->narrow_lanes = (uint16_t)register_lanes;
    if (loop->tail == TGI_TAIL_SCALAR && lanes >= MIN_NARROWED_LANES &&
        c->cost <= TGI_HEAVY_COST && s->loops->vectors == TGI_ROWS &&
        !s->loops->is_straightline && !phase->n_reductions)
        loop->narrow_lanes = (uint16_t)lanes_before_scalars(
            s->loops->extent[s->vector_axis], lanes, register_lanes);
}

/* The points of a straight-line kernel. */
static void add_unrolled_axes(tgi_nest *nest, int end)
{
    for (int axis = 0; axis < end; axis++)
        add_loop(nest, TGI_LOOP_UNROLL, axis, 1);
}

/* True if a reduction along the inner axis has one block of `size`. */
static bool is_one_block(const tgi_schedule *s, int64_t size)
{
    const tgi_dim extent = s->loops->extent[s->inner];
    return s->split_block || (tgi_dim_is_known(extent) && extent <= size);
}

/* -- Rows ------------------------------------------------------------------ */

/* Cost of a straight-line body that does not justify assembling wide vectors
   from narrow operands. */
enum { MAX_CHEAP_COST = 4 };

static bool is_cheap(const tgi_schedule *s, unsigned phase)
{
    unsigned cost = 0;
    for (uint32_t i = 1; i < s->loops->insts.n; i++) {
        const tgi_inst *inst = &s->loops->insts.data[i];
        if (inst->phase == phase && inst->level == TGI_LEVEL_INNER &&
            inst->kind != TGI_INST_LOAD)
            cost += s->insts[i].cost;
    }
    return cost <= MAX_CHEAP_COST;
}

static const tgi_reduction *phase_reduction(const tgi_schedule *s,
                                            const tgi_phase_schedule *phase,
                                            unsigned i)
{
    return &s->loops->reductions.data[phase->reductions[i]];
}

/*
 * Lanes of the reduction tree. Lanes beyond the end of a short row keep the
 * start value, the identity of the reduction, so they can be omitted. Not for
 * MATMUL: it starts from +0, and -0 + +0 is +0.
 */
static unsigned tree_lanes(const tgi_schedule *s,
                           const tgi_phase_schedule *phase)
{
    const tgi_dim extent = s->loops->extent[s->inner];
    unsigned lanes =
        (unsigned)tgi_tree_lanes(phase_reduction(s, phase, 0)->dtype);
    for (unsigned i = 0; i < phase->n_reductions; i++)
        if (phase_reduction(s, phase, i)->op == TGI_OP_MATMUL)
            return lanes;
    while (tgi_dim_is_known(extent) && lanes > 1 && lanes / 2 >= extent)
        lanes /= 2;
    return lanes;
}

static bool is_reassociable(const tgi_schedule *s,
                            const tgi_phase_schedule *phase)
{
    for (unsigned i = 0; i < phase->n_reductions; i++)
        if (!tgi_reduction_is_reassociable(phase_reduction(s, phase, i)))
            return false;
    return true;
}

/*
 * True if the accumulators of a row stay in registers: in at most half of them,
 * with enough left for the body. Softmax of 1024 x 1024 with 32 registers of 512
 * bits: 331 us, with the sums on the stack 347 (Zen 4).
 */
static bool fits_registers(const tgi_scheduler *r, const tgi_schedule *s,
                           const tgi_phase_schedule *phase,
                           const phase_stats *c, unsigned tree, unsigned lanes)
{
    enum { MAX_CARRIED = 64, MIN_HEAVY_REGISTERS = 24 };
    unsigned bits = 0;
    for (unsigned i = 0; i < phase->n_reductions; i++)
        bits += tree * 8 *
                (unsigned)tgi_dtype_bytes(phase_reduction(s, phase, i)->dtype);
    const unsigned registers = (bits + s->vector_bits - 1) / s->vector_bits;
    return phase->n_reductions * (tree / lanes) <= MAX_CARRIED &&
           registers <= r->target->n_registers / 2 &&
           (c->cost <= TGI_HEAVY_COST ||
            (c->cost <= VERY_HEAVY &&
             registers + MIN_HEAVY_REGISTERS <= r->target->n_registers));
}

static void choose_row_reduction(const tgi_scheduler *r, tgi_schedule *s,
                                 tgi_phase_schedule *phase,
                                 const phase_stats *c, unsigned lanes)
{
    const int64_t block =
        TGI_BLOCK_STEPS *
        (int64_t)tgi_tree_lanes(phase_reduction(s, phase, 0)->dtype);
    const unsigned tree = tree_lanes(s, phase);
    tgi_accumulators *acc = &phase->accumulators;
    acc->n_vectors = tree / lanes;
    if (phase_reduction(s, phase, 0)->combines_blocks) {
        acc->n_vectors = 1;
    } else if (is_reassociable(s, phase)) {
        acc->is_reassociated = true;
        acc->n_vectors = 1;
        if (c->cost <= TGI_HEAVY_COST) {
            add_loop(&phase->nest, TGI_LOOP_SERIAL, s->inner,
                     REASSOCIATED_VECTORS * (int64_t)lanes);
            add_loop(&phase->nest, TGI_LOOP_UNROLL, s->inner, lanes);
        }
    } else {
        if (!is_one_block(s, block))
            add_loop(&phase->nest, TGI_LOOP_SERIAL, s->inner, block);
        if (!fits_registers(r, s, phase, c, tree, lanes)) {
            acc->storage = TGI_ON_STACK;
        } else {
            add_loop(&phase->nest, TGI_LOOP_SERIAL, s->inner, tree);
            if (tree > lanes)
                add_loop(&phase->nest, TGI_LOOP_UNROLL, s->inner, lanes);
        }
    }
}

static void choose_row_phase(const tgi_scheduler *r, tgi_schedule *s,
                             unsigned number, phase_stats *c)
{
    tgi_phase_schedule *phase = &s->phases[number];
    unsigned max_registers;
    const int interchanged =
        tgi_schedule_choose_interchange(r, s, &max_registers);
    c->max_registers = interchanged >= 0 ? max_registers : 0;
    const bool is_second_stage =
        phase->n_reductions && phase_reduction(s, phase, 0)->combines_blocks;
    const unsigned tree = phase->n_reductions ? tree_lanes(s, phase) : 1;
    const unsigned lanes =
        is_second_stage ? 1
                        : choose_lanes(r, s, c, phase->can_mask,
                                       tree < TGI_MAX_TREE_VECTORS
                                           ? 1
                                           : tree / TGI_MAX_TREE_VECTORS);
    if (s->loops->is_straightline) {
        phase->accumulators.n_vectors = tree > lanes ? tree / lanes : 1;
        phase->keeps_operand_widths = is_cheap(s, number);
        add_unrolled_axes(&phase->nest, s->inner);
    } else if (phase->n_reductions) {
        choose_row_reduction(r, s, phase, c, lanes);
    }
    add_vector_loop(s, phase, c, lanes);
    if (interchanged >= 0)
        add_loop(&phase->nest, TGI_LOOP_SERIAL, interchanged, 1);
}

/* -- Columns --------------------------------------------------------------- */

/* Rows of a column, or steps of k of a micro-kernel, without a loop. */
enum { MAX_UNROLLED_ROWS = 16 };

/* Rows of a single column without reductions, in one iteration: a scatter of
   elements. Its misses of L2 overlap as far as the reorder buffer reaches, and
   instructions of the loop take a third of that. */
enum { UNROLLED_STEPS = 4 };

static void add_column_loops(const tgi_scheduler *r, tgi_schedule *s,
                             tgi_phase_schedule *phase, const phase_stats *all,
                             unsigned lanes)
{
    const bool is_row_order = tgi_schedule_choose_row_order(r, s, lanes);
    const bool is_exact = !s->matmul.mr && !s->wide_columns &&
                          !s->loops->is_straightline && phase->n_reductions &&
                          is_reassociable(s, phase);
    const bool has_blocks = phase->n_reductions && !is_exact &&
                            !phase_reduction(s, phase, 0)->combines_blocks &&
                            !is_one_block(s, TGI_BLOCK_ROWS);
    const tgi_dim rows = s->loops->extent[s->inner];
    const bool is_unrolled = tgi_dim_is_known(rows) &&
                             rows <= MAX_UNROLLED_ROWS &&
                             !s->matmul.calls_function;
    phase->accumulators.n_vectors = 1;
    phase->accumulators.is_reassociated = is_exact;
    if (s->matmul.mr) {
        if (has_blocks && !s->matmul.blocks_in_rows)
            add_loop(&phase->nest, TGI_LOOP_SERIAL, s->inner, TGI_BLOCK_ROWS);
        if (s->matmul.item_matrices > 1)
            add_loop(&phase->nest, TGI_LOOP_SERIAL, s->matmul.row_axis - 1, 1);
        add_loop(&phase->nest, TGI_LOOP_SERIAL, s->matmul.row_axis,
                 s->matmul.mr);
        if (has_blocks && s->matmul.blocks_in_rows)
            add_loop(&phase->nest, TGI_LOOP_SERIAL, s->inner, TGI_BLOCK_ROWS);
        add_loop(&phase->nest, is_unrolled ? TGI_LOOP_UNROLL : TGI_LOOP_SERIAL,
                 s->inner, 1);
        add_loop(&phase->nest, TGI_LOOP_UNROLL, s->matmul.row_axis, 1);
        add_vector_loop(s, phase, all, lanes);
        phase->accumulators.n_vectors = s->matmul.mr;
    } else if (is_row_order) {
        add_loop(&phase->nest, TGI_LOOP_SERIAL, s->inner, 1);
        add_vector_loop(s, phase, all, lanes);
        tgi_schedule_hoist(s, s->vector_axis);
    } else if (s->wide_columns) {
        if (has_blocks)
            add_loop(&phase->nest, TGI_LOOP_SERIAL, s->inner, TGI_BLOCK_ROWS);
        add_loop(&phase->nest, TGI_LOOP_SERIAL, s->inner, TGI_WIDE_ROWS);
        add_vector_loop(s, phase, all, lanes);
        add_loop(&phase->nest, TGI_LOOP_UNROLL, s->inner, 1);
        phase->accumulators.storage = TGI_ON_STACK;
    } else if (s->loops->is_straightline) {
        add_unrolled_axes(&phase->nest, s->vector_axis);
        add_vector_loop(s, phase, all, lanes);
        add_loop(&phase->nest, TGI_LOOP_UNROLL, s->inner, 1);
    } else {
        const bool is_scalar = lanes == 1 && phase->has_loop &&
                               !phase->n_reductions &&
                               all->cost <= TGI_HEAVY_COST;
        add_vector_loop(s, phase, all, lanes);
        if (has_blocks)
            add_loop(&phase->nest, TGI_LOOP_SERIAL, s->inner, TGI_BLOCK_ROWS);
        if (is_scalar) {
            add_loop(&phase->nest, TGI_LOOP_SERIAL, s->inner, UNROLLED_STEPS);
            add_loop(&phase->nest, TGI_LOOP_UNROLL, s->inner, 1);
        } else if (phase->has_loop)
            add_loop(&phase->nest,
                     is_unrolled && phase->n_reductions ? TGI_LOOP_UNROLL
                                                        : TGI_LOOP_SERIAL,
                     s->inner, 1);
    }
}

/* All phases of a COLUMNS kernel share one vector of columns. */
static tg_status choose_columns(const tgi_scheduler *r, tgi_schedule *s,
                                const phase_stats *stats)
{
    phase_stats all = {0};
    for (unsigned i = 0; i < s->loops->n_phases; i++) {
        if (stats[i].bytes > all.bytes)
            all.bytes = stats[i].bytes;
        if (stats[i].cost > all.cost)
            all.cost = stats[i].cost;
        all.has_args |= stats[i].has_args;
        all.has_minmax |= stats[i].has_minmax;
        all.n_reductions += stats[i].n_reductions;
        s->phases[0].can_mask &= s->phases[i].can_mask;
    }
    unsigned lanes;
    TGI_TRY(tgi_schedule_choose_matmul(r, s, &lanes));
    if (!lanes && all.cost <= TGI_HEAVY_COST &&
        r->hints->values[TGI_HINT_WIDE_COLUMNS] != TGI_HINT_NO)
        s->wide_columns = tgi_schedule_wide_columns(
            s, MAX_REGISTERS * lanes_per_register(s, &all));
    if (!lanes)
        lanes = choose_lanes(r, s, &all, s->phases[0].can_mask, 1);
    for (unsigned i = 0; i < s->loops->n_phases; i++) {
        s->phases[i].can_mask = s->phases[0].can_mask;
        add_column_loops(r, s, &s->phases[i], &all, lanes);
    }
    return TG_OK;
}

/* -- Entry point ----------------------------------------------------------- */

tg_status tgi_schedule_choose_lanes(const tgi_scheduler *r, tgi_schedule *s)
{
    const unsigned n = s->loops->n_phases;
    phase_stats *stats = tgi_alloc_zero(n * sizeof(*stats));
    if (!stats)
        return tgi_error_memory();
    tg_status status = count_all(r, s, stats);
    if (!status && s->loops->vectors == TGI_COLUMNS)
        status = choose_columns(r, s, stats);
    else
        for (unsigned i = 0; !status && i < n; i++)
            choose_row_phase(r, s, i, &stats[i]);
    tgi_free(stats);
    return status;
}
