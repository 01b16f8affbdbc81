/* SPDX-License-Identifier: MIT */
/*
 * choose_matmul.c - which kernels are matmuls, and the sizes of their work
 * items and panels.
 */
#include "base/error.h"
#include "schedule/choose.h"

#include <limits.h>

enum {
    /* Work items: rows in micro-kernels; bytes of the partial results of row
       epilogues. */
    MIN_MICRO_KERNELS = 4,
    MAX_MICRO_KERNELS = 64,
    ROW_PARTIALS_BYTES = 64 << 10,
    ASSUMED_K = 1024,  /* if the extent is unknown */
    /* Packing of B: bytes that need none; rows, in micro-kernels, from which it
       pays, and from which it pays for rows of B that collide in L1. */
    UNPACKED_B_BYTES = 96 << 10,
    MIN_PACKING_TILES = 3,
    /* The same with units as wide as registers of 512 bits, which take half as
       long for a micro-kernel. Measured on Zen 5, 64 x 784 x 128 and 64 x 256 x
       128, 8 micro-kernels: not packed 0.93 times as long as packed. */
    MIN_PACKING_TILES_512 = 9,
    MIN_COLLISION_TILES = 12,
    LINE_BYTES = 64,
    L1_SETS = 64,
    L1_WAYS_FOR_B = 4,
    /* Several vectors of panels per work item: k-blocks from which that pays,
       bytes of a row of C, and bytes of C on the stack. */
    MIN_K_BLOCKS = 3,
    MAX_C_ROW_BYTES = 1 << 10,
    MAX_C_BYTES = 124 << 10,
    /* Extents of k from which a micro-kernel function pays: C in memory costs 2
       to 4 % if k is 128, and 3 % if it is 256 (measured on Zen 5). That is
       acceptable if several matmuls share it, or if C is in memory anyway, for
       several k-blocks. */
    MIN_K = TGI_BLOCK_ROWS + 1,
    MIN_K_SHARED = 128,
    MIN_COLD_RATIO = 64,
    /* Steps of k that share a lookup of an offset: powers of two, which divide
       a k-block. */
    MIN_RUN = 16,
    MAX_RUN = 64,
    MAX_BLOCKS_IN_ROWS = 4, /* k-blocks inside of the loop over rows */
    /* Cost of an epilogue that runs in registers, at most. */
    MAX_REGISTER_EPILOGUE = 6
};

/* -- Operands -------------------------------------------------------------- */

/* The OFFSET of an access, or 0. */
static uint32_t offset_of(const tgi_schedule *s, const tgi_access *access)
{
    const tgi_inst *index = &s->loops->insts.data[access->index];
    return access->index && index->kind == TGI_INST_OFFSET ? access->index : 0;
}

/* Marks the insts of an operand. False unless it is one load, which may have an
   OFFSET, with elementwise insts applied to it. */
static bool mark_operand(tgi_schedule *s, uint32_t root, uint8_t operand)
{
    int n_loads = 0;
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        s->insts[i].operands &= (uint8_t)~operand;
    s->insts[root].operands |= operand;
    for (uint32_t i = root; i > 0; i--) {
        const tgi_inst *inst = &s->loops->insts.data[i];
        if (!(s->insts[i].operands & operand) ||
            s->insts[i].level == TGI_LEVEL_KERNEL)
            continue;
        n_loads += inst->kind == TGI_INST_LOAD;
        if (inst->kind == TGI_INST_LOAD) {
            const tgi_access *access = &s->loops->accesses.data[inst->number];
            const uint32_t offset = offset_of(s, access);
            if (access->index != offset)
                return false;
            if (offset)
                s->insts[offset].operands |= operand;
        } else if (inst->kind != TGI_INST_OP && inst->kind != TGI_INST_CAST &&
                   inst->kind != TGI_INST_OFFSET) {
            return false;
        }
        for (int j = 0; j < inst->n_operands; j++)
            s->insts[inst->operands[j]].operands |= operand;
    }
    return n_loads == 1;
}

/* True if an operand is invariant along an axis. */
static bool is_invariant(const tgi_schedule *s, uint8_t operand, int axis)
{
    for (uint32_t i = 1; i < s->loops->insts.n; i++) {
        const tgi_inst *inst = &s->loops->insts.data[i];
        if ((s->insts[i].operands & operand) && inst->kind == TGI_INST_LOAD &&
            s->loops->accesses.data[inst->number].stride[axis].distance != 0)
            return false;
    }
    return true;
}

static bool find_operands(tgi_schedule *s)
{
    const tgi_reduction *r = tgi_schedule_matmul_reduction(s);
    uint32_t uniform = r->value, varying = r->other;
    if (s->insts[uniform].varies) {
        uniform = r->other;
        varying = r->value;
        if (r->is_bytes) /* the bytes of one are signed */
            return false;
    }
    if (s->insts[uniform].varies || !s->insts[varying].varies)
        return false;
    s->matmul.row_axis = s->vector_axis - 1 - r->is_split;
    return s->matmul.row_axis >= 0 && mark_operand(s, uniform, TGI_OPERAND_A) &&
           mark_operand(s, varying, TGI_OPERAND_B) &&
           is_invariant(s, TGI_OPERAND_B, s->matmul.row_axis);
}

static bool is_nonempty(const tgi_schedule *s)
{
    bool has_any = true;
    for (int axis = 0; axis <= s->inner; axis++)
        has_any &= s->loops->extent[axis] != 0;
    return has_any;
}

static bool find_matmul(tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    return loops->vectors == TGI_COLUMNS && loops->reductions.n == 1 &&
           !loops->is_straightline &&
           tgi_schedule_matmul_reduction(s)->op == TGI_OP_MATMUL &&
           !tgi_schedule_matmul_reduction(s)->combines_blocks &&
           tgi_dtype_bytes(tgi_schedule_matmul_reduction(s)->dtype) >= 4 &&
           loops->extent[s->inner] != 1 && is_nonempty(s) && find_operands(s);
}

const tgi_access *tgi_schedule_operand(const tgi_schedule *s, uint8_t operand)
{
    uint32_t i = 1;
    while (!(s->insts[i].operands & operand) ||
           s->insts[i].level == TGI_LEVEL_KERNEL ||
           s->loops->insts.data[i].kind != TGI_INST_LOAD)
        i++;
    return &s->loops->accesses.data[s->loops->insts.data[i].number];
}

/* True if C is known to have fewer than n micro-kernels of rows. */
static bool has_fewer_tiles(const tgi_schedule *s, int64_t n)
{
    const tgi_dim m = s->loops->extent[s->matmul.row_axis];
    return tgi_dim_is_known(m) && m < n * s->matmul.mr;
}

static bool has_few_rows(const tgi_scheduler *r, const tgi_schedule *s)
{
    return has_fewer_tiles(s, r->target->unit_bits == 512 &&
                                      s->vector_bits == 512
                                  ? MIN_PACKING_TILES_512
                                  : MIN_PACKING_TILES);
}

/* -- Work items ------------------------------------------------------------ */

static int64_t round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

/* The number of work items of `rows` x `columns`, counting known extents only;
   exact only below TGI_ENOUGH_ITEMS. */
static int64_t count_items(const tgi_schedule *s, int64_t rows,
                           unsigned columns)
{
    int64_t items = 1;
    for (int axis = 0; axis <= s->vector_axis && items < TGI_ENOUGH_ITEMS;
         axis++) {
        const tgi_dim extent = s->loops->extent[axis];
        const int64_t piece = axis == s->vector_axis       ? columns
                              : axis == s->matmul.row_axis ? rows
                                                           : 1;
        const bool is_whole = axis == s->vector_axis && s->matmul.reduces_rows;
        if (tgi_dim_is_known(extent) && !is_whole)
            items *= (extent + piece - 1) / piece;
    }
    return items;
}

bool tgi_schedule_has_enough_items(const tgi_schedule *s, int64_t rows,
                                   unsigned columns)
{
    return count_items(s, rows, columns) >= TGI_MIN_SHARED_ITEMS;
}

/* Rows of an item, a multiple of mr: from 3/4 `max` to `max`, such that the last
   item is as large as possible. */
static int64_t even_rows(const tgi_schedule *s, int64_t m, int64_t max)
{
    int64_t best = max;
    for (int64_t rows = max; 4 * rows >= 3 * max; rows -= s->matmul.mr)
        if (round_up(m, rows) < round_up(m, best))
            best = rows;
    return best;
}

/* Rows of an item, a multiple of mr: at most `max`, balanced over m. If items
   have all columns and are few, their number divides among two or four threads.
   Items with column epilogues have all rows. */
static int64_t balance_rows(const tgi_schedule *s, int64_t m, int64_t max)
{
    const int64_t matrices = count_items(s, m, UINT_MAX);
    int64_t blocks = (m + max - 1) / max;
    if (s->matmul.reduces_columns)
        blocks = 1;
    while (s->matmul.reduces_rows && !s->matmul.reduces_columns &&
           matrices * blocks % TGI_MIN_SHARED_ITEMS &&
           matrices * blocks < TGI_ENOUGH_ITEMS)
        blocks++;
    const int64_t rows = round_up((m + blocks - 1) / blocks, s->matmul.mr);
    return blocks == 1 || s->matmul.reduces_rows ? rows : even_rows(s, m, rows);
}

/* Stack bytes of a row of an item of n_panels vectors. */
static int64_t c_row_bytes(const tgi_schedule *s, unsigned n_panels)
{
    return n_panels * s->matmul.nr *
               (int64_t)tgi_dtype_bytes(
                   tgi_schedule_matmul_reduction(s)->dtype) +
           tgi_schedule_row_epilogue_bytes(s);
}

int64_t tgi_schedule_max_c_rows(const tgi_scheduler *r, const tgi_schedule *s,
                                unsigned n_panels)
{
    enum { OTHER_BYTES = 4 << 10 }; /* rows of A and B take three times C */
    int64_t bytes = r->target->l2_bytes / 8 - OTHER_BYTES;
    if (bytes > MAX_C_BYTES)
        bytes = MAX_C_BYTES;
    return bytes / c_row_bytes(s, n_panels);
}

/* Rows of an item, a multiple of mr: half of L2 holds its rows of A, which are
   reread for each vector of columns. If k is so large that it holds hardly any,
   A comes from memory in any case, and so does B, but once per item: then as
   many rows as fit the stack. Measured on Zen 5, 576 x 25088 x 64 by 4x64: items
   of 16 rows take 7.6 ms, of 96 rows 7.1. */
static int64_t choose_item_rows(const tgi_scheduler *r, const tgi_schedule *s)
{
    const int64_t tile = s->matmul.mr;
    const tgi_dim inner = s->loops->extent[s->inner];
    const tgi_dim m = s->loops->extent[s->matmul.row_axis];
    const int64_t row_bytes =
        (tgi_dim_is_known(inner) ? inner : ASSUMED_K) *
        tgi_dtype_bytes(tgi_schedule_matmul_reduction(s)->dtype);
    int64_t rows = r->target->l2_bytes / 2 / row_bytes / tile * tile;
    if (rows < MIN_MICRO_KERNELS * tile)
        rows = tgi_schedule_max_c_rows(r, s, 1) / tile * tile;
    if (r->hints->values[TGI_HINT_ITEM_ROWS])
        rows = r->hints->values[TGI_HINT_ITEM_ROWS] * tile;
    if (rows > MAX_MICRO_KERNELS * tile)
        rows = MAX_MICRO_KERNELS * tile;
    const int64_t partials_bytes = tgi_schedule_row_epilogue_bytes(s);
    if (partials_bytes &&
        rows > ROW_PARTIALS_BYTES / partials_bytes / tile * tile)
        rows = ROW_PARTIALS_BYTES / partials_bytes / tile * tile;
    if (rows < MIN_MICRO_KERNELS * tile)
        rows = MIN_MICRO_KERNELS * tile;
    if (!tgi_dim_is_known(m))
        return rows;
    rows = balance_rows(s, m, rows);
    while (!s->matmul.reduces_columns && rows > tile &&
           !tgi_schedule_has_enough_items(s, rows, s->matmul.nr))
        rows = round_up(rows / 2, tile);
    return rows;
}

static const tgi_access *b_access(const tgi_schedule *s)
{
    return tgi_schedule_operand(s, TGI_OPERAND_B);
}

/* True if the stride between rows of B maps a k-block to so few sets of L1 that
   its lines evict each other. Measured there: 86 to 99 GFLOP/s, depending on
   addresses; packed, 97 to 99. */
static bool rows_collide_in_l1(const tgi_schedule *s, const tgi_access *access)
{
    const tgi_dim inner = s->loops->extent[s->inner];
    const tgi_dim stride = access->stride[s->inner].distance;
    if (!tgi_dim_is_known(inner) || !tgi_dim_is_known(stride))
        return false;
    const int64_t bytes =
        stride % (L1_SETS * LINE_BYTES) *
        tgi_dtype_bytes(tgi_schedule_matmul_reduction(s)->dtype);
    if (bytes % LINE_BYTES != 0)
        return false;
    const int64_t lines = bytes / LINE_BYTES % L1_SETS;
    const int64_t sets = lines ? L1_SETS / (lines & -lines) : 1;
    return inner > sets * L1_WAYS_FOR_B;
}

/* True if B is packed on the stack, per k-block. */
static bool should_pack(const tgi_scheduler *r, const tgi_schedule *s)
{
    const tgi_dim n = s->loops->extent[s->vector_axis];
    const tgi_dim inner = s->loops->extent[s->inner];
    const tgi_access *access = b_access(s);
    if (s->matmul.transposes_b)
        return true;
    if (access->panel_width || offset_of(s, access))
        return false;
    if (r->hints->values[TGI_HINT_PACKS_B])
        return r->hints->values[TGI_HINT_PACKS_B] == TGI_HINT_YES;
    if (has_few_rows(r, s))
        return false;
    if (!has_fewer_tiles(s, MIN_COLLISION_TILES) &&
        rows_collide_in_l1(s, access))
        return true;
    return !tgi_schedule_is_contiguous(s, access) || !tgi_dim_is_known(n) ||
           !tgi_dim_is_known(inner) ||
           inner * tgi_dtype_bytes(tgi_schedule_matmul_reduction(s)->dtype) >
               UNPACKED_B_BYTES / n;
}

/* True if B is a plain load whose columns are contiguous in memory. */
static bool can_transpose(const tgi_schedule *s)
{
    const tgi_access *access = b_access(s);
    return s->loops->insts.data[tgi_schedule_operand_b(s)].kind ==
               TGI_INST_LOAD &&
           access->stride[s->inner].distance == 1 && !offset_of(s, access) &&
           !tgi_schedule_is_contiguous(s, access);
}

/* True if all accesses but that of B, whose packing needs no mask, can be
   masked. */
static bool are_others_maskable(const tgi_scheduler *r, const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    const tgi_access *transposed = b_access(s);
    bool can_mask = true;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        if (inst->kind == TGI_INST_LOAD && s->insts[i].varies &&
            &loops->accesses.data[inst->number] != transposed)
            can_mask &= tgi_schedule_is_maskable(
                r, s, &loops->accesses.data[inst->number]);
    }
    for (size_t i = 0; i < loops->stores.n; i++)
        can_mask &= tgi_schedule_is_maskable(
            r, s, &loops->accesses.data[loops->stores.data[i].access]);
    return can_mask;
}

/* True if a work item may have several panels of B. */
static bool can_have_panels(const tgi_schedule *s)
{
    const tgi_dim inner = s->loops->extent[s->inner];
    return b_access(s)->panel_width && !s->split_block &&
           !(tgi_dim_is_known(inner) &&
             inner <= (MIN_K_BLOCKS - 1) * TGI_BLOCK_ROWS);
}

/* Rows of an item of n_panels: as many as fit the stack, balanced. */
static int64_t panels_item_rows(const tgi_scheduler *r, const tgi_schedule *s,
                                unsigned n_panels)
{
    const int64_t tile = s->matmul.mr;
    const tgi_dim m = s->loops->extent[s->matmul.row_axis];
    const int64_t max = tgi_schedule_max_c_rows(r, s, n_panels) / tile * tile;
    if (!tgi_dim_is_known(m))
        return max;
    return balance_rows(s, m, max);
}

/* True if items of n_panels are too large for the stack, or too few. */
static bool are_too_many_panels(const tgi_scheduler *r, const tgi_schedule *s,
                                unsigned n_panels)
{
    if (tgi_schedule_max_c_rows(r, s, n_panels) < s->matmul.mr)
        return true;
    const int64_t rows = panels_item_rows(r, s, n_panels);
    if (rows > tgi_schedule_max_c_rows(r, s, n_panels))
        return true;
    return tgi_dim_is_known(s->loops->extent[s->vector_axis]) &&
           !s->matmul.reduces_rows &&
           !tgi_schedule_has_enough_items(s, rows, n_panels * s->matmul.nr);
}

static void choose_panels(const tgi_scheduler *r, tgi_schedule *s)
{
    const unsigned nr = s->matmul.nr;
    const tgi_dim n = s->loops->extent[s->vector_axis];
    unsigned n_panels =
        MAX_C_ROW_BYTES / (nr * (unsigned)tgi_dtype_bytes(
                                    tgi_schedule_matmul_reduction(s)->dtype));
    while (tgi_dim_is_known(n) && n_panels > 1 && n_panels / 2 * nr >= n)
        n_panels /= 2;
    const unsigned hint = r->hints->values[TGI_HINT_PANELS];
    if (hint && n_panels > hint)
        n_panels = hint;
    while (n_panels > 1 && are_too_many_panels(r, s, n_panels))
        n_panels /= 2;
    if (n_panels == 1)
        return;
    s->matmul.n_panels = n_panels;
    s->matmul.item_rows = panels_item_rows(r, s, n_panels);
}

/* -- Micro-kernels --------------------------------------------------------- */

static bool is_load(const tgi_schedule *s, uint32_t inst)
{
    return s->loops->insts.data[inst].kind == TGI_INST_LOAD;
}

/* True if lanes beyond the last column read the next row of B, and no k-block
   consists only of the last row, which is replaced by a copy. */
static bool can_overread(const tgi_schedule *s)
{
    const tgi_dim n = s->loops->extent[s->vector_axis];
    const tgi_dim inner = s->loops->extent[s->inner];
    const tgi_stride row = b_access(s)->stride[s->inner];
    return tgi_dim_is_known(n) && tgi_dim_is_known(inner) &&
           tgi_dim_is_known(row.distance) && !row.is_negative &&
           row.distance >= n && inner % TGI_BLOCK_ROWS != 1;
}

static bool is_product(const tgi_kernel_loops *kernel)
{
    return kernel->vectors == TGI_COLUMNS && kernel->reductions.n == 1 &&
           kernel->reductions.data[0].op == TGI_OP_MATMUL;
}

static bool has_several_matmuls(const tgi_loops *loops)
{
    int n = 0;
    for (size_t i = 0; i < loops->kernels.n; i++)
        n += is_product(loops->kernels.data[i]);
    return n > 1;
}

/* Multiply-adds of a kernel; INT64_MAX: unknown, or more. */
static int64_t count_fmas(const tgi_kernel_loops *kernel)
{
    int64_t n = 1;
    for (int axis = 0; axis <= kernel->n_outer; axis++)
        if (!tgi_dim_is_known(kernel->extent[axis]) ||
            __builtin_mul_overflow(n, kernel->extent[axis], &n))
            return INT64_MAX;
    return n;
}

/* True if a matmul takes so little of the program's time that the time to
   compile its code counts more: every kernel runs once, and another product is
   MIN_COLD_RATIO times as large. */
static bool is_cold(const tgi_scheduler *r, const tgi_schedule *s)
{
    const tgi_loops *loops = r->program;
    const int64_t own = count_fmas(s->loops);
    int64_t largest = 0;
    for (size_t i = 0; i < loops->kernels.n; i++) {
        const tgi_kernel_loops *kernel = loops->kernels.data[i];
        if (is_product(kernel) && count_fmas(kernel) > largest)
            largest = count_fmas(kernel);
    }
    return !loops->controls.n && own <= largest / MIN_COLD_RATIO;
}

static bool has_small_k(const tgi_scheduler *r, const tgi_schedule *s)
{
    const tgi_dim inner = s->loops->extent[s->inner];
    if (!tgi_dim_is_known(inner) || is_cold(r, s))
        return false;
    return inner < (has_several_matmuls(r->program) ? MIN_K_SHARED : MIN_K);
}

/* True if the micro-kernel can read B only from a packed panel. */
static bool needs_packing(const tgi_schedule *s, bool is_masked)
{
    return !b_access(s)->panel_width &&
           (!tgi_schedule_is_contiguous(s, b_access(s)) ||
            (is_masked && !can_overread(s)));
}

/* True if the micro-kernel can be a function: both operands are plain loads,
   that of B without an OFFSET, k is large enough, and there is nothing to
   prefetch. */
static bool is_function(const tgi_scheduler *r, const tgi_schedule *s)
{
    const tgi_reduction *reduction = tgi_schedule_matmul_reduction(s);
    const uint32_t b = tgi_schedule_operand_b(s);
    return is_load(s, b == reduction->value ? reduction->other
                                            : reduction->value) &&
           (s->matmul.packs_b || is_load(s, b)) && !has_small_k(r, s) &&
           !offset_of(s, b_access(s)) &&
           !s->matmul.prefetched_a_bytes && !s->matmul.prefetched_b_bytes;
}

static unsigned epilogue_cost(const tgi_schedule *s)
{
    unsigned cost = tgi_schedule_epilogue_cost(s);
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        if (s->insts[i].level == TGI_LEVEL_POINT)
            cost += s->insts[i].cost;
    return cost;
}

unsigned tgi_schedule_longest_run(const tgi_schedule *s)
{
    const uint32_t offset =
        offset_of(s, &s->loops->accesses.data[s->matmul.a_access]);
    if (!offset)
        return 0;
    const tgi_offset_table *table =
        &s->loops->offsets.data[s->loops->insts.data[offset].number];
    const tgi_dim extent = table->extent[table->n_axes - 1];
    if (!tgi_stride_is_one(table->stride[table->n_axes - 1]) ||
        !tgi_dim_is_known(extent))
        return 0;
    unsigned run = MAX_RUN;
    while (extent % run)
        run /= 2;
    return run;
}

/* True if A has an offset table, and its elements in a step of k, a row of B
   and the accumulators need more registers than there are. Measured on Zen 5:
   6x64 takes 0.87 of the time; 8x4, where that is not so, 1.1 times as long. */
static bool should_look_ahead(const tgi_scheduler *r, const tgi_schedule *s)
{
    const unsigned mr = s->matmul.mr;
    const unsigned width = tgi_schedule_nr_registers(s, s->matmul.nr);
    return offset_of(s, tgi_schedule_operand(s, TGI_OPERAND_A)) &&
           mr + (mr + 1) * width > r->target->n_registers;
}

/* Steps of k per lookup of A's offset; 0: one. Measured on Zen 5: 8x32 takes
   0.97 of the time; 5x16 with registers of 256 bits, which looks ahead, 1.02 to
   1.05 times as long. */
static unsigned choose_run(const tgi_schedule *s)
{
    const unsigned run = tgi_schedule_longest_run(s);
    return s->matmul.calls_function && !s->matmul.looks_ahead && run >= MIN_RUN
               ? run
               : 0;
}

/* True if each micro-kernel should run through all of k. Rows of B then come
   from L2 for every one of them, which must hold B beside A and C. Measured on
   Zen 5 with 1 MiB of L2: 0.96 of the time for 147 KB of B and eight images,
   1.00 for one; 1.02 for 295 KB. */
static bool should_have_blocks_in_rows(const tgi_scheduler *r,
                                       const tgi_schedule *s)
{
    const tgi_matmul_schedule *m = &s->matmul;
    const tgi_dim k = s->loops->extent[s->inner];
    const tgi_dim n = s->loops->extent[s->vector_axis];
    return m->a_run && m->item_matrices <= 1 && b_access(s)->panel_width &&
           !s->split_block && !m->packs_for_function &&
           !m->packs_masked_for_function && tgi_dim_is_known(k) &&
           tgi_dim_is_known(n) && k > TGI_BLOCK_ROWS &&
           k <= MAX_BLOCKS_IN_ROWS * TGI_BLOCK_ROWS &&
           k * tgi_dtype_bytes(tgi_schedule_matmul_reduction(s)->dtype) <=
               r->target->l2_bytes / 4 / n;
}

static void describe_micro_kernel(const tgi_scheduler *r, tgi_schedule *s)
{
    tgi_matmul_schedule *m = &s->matmul;
    m->a_access = (uint32_t)(tgi_schedule_operand(s, TGI_OPERAND_A) -
                             s->loops->accesses.data);
    m->b_access = (uint32_t)(b_access(s) - s->loops->accesses.data);
    m->calls_function = is_function(r, s);
    m->packs_for_function = needs_packing(s, false);
    m->packs_masked_for_function = needs_packing(s, true);
    m->has_few_rows = has_few_rows(r, s);
    m->looks_ahead = m->calls_function && should_look_ahead(r, s);
    m->a_run = choose_run(s);
    m->blocks_in_rows = should_have_blocks_in_rows(r, s);
    m->epilogue_in_registers = epilogue_cost(s) <= MAX_REGISTER_EPILOGUE;
}

tg_status tgi_schedule_choose_matmul(const tgi_scheduler *r, tgi_schedule *s,
                                     unsigned *out_lanes)
{
    *out_lanes = 0;
    tgi_schedule_find_epilogues(s);
    if (!find_matmul(s)) {
        if (s->matmul.reduces_rows || s->matmul.reduces_columns)
            TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                     "cannot compile '%s': a reduction epilogue without a "
                     "matmul",
                     r->program->name);
        return TG_OK;
    }
    s->matmul.transposes_b = can_transpose(s);
    if (s->matmul.transposes_b)
        s->phases[0].can_mask = are_others_maskable(r, s);
    tgi_schedule_choose_micro_kernel(r, s);
    s->matmul.item_rows = choose_item_rows(r, s);
    s->matmul.packs_b = should_pack(r, s);
    if (can_have_panels(s))
        choose_panels(r, s);
    tgi_schedule_choose_matrices(r, s);
    describe_micro_kernel(r, s);
    *out_lanes = s->matmul.nr;
    return TG_OK;
}
