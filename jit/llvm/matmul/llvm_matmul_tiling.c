/* SPDX-License-Identifier: MIT */
/*
 * llvm_matmul_tiling.c - which kernels are matmuls, and the sizes of their
 * micro-kernels, work items and panels. None of this changes a result bit.
 */
#include "llvm/emit/llvm_analysis.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/matmul/llvm_matmul.h"

#include <limits.h>

enum {
    NR_BYTES = 64, /* nr: one cache line, the width of a packed panel */
    /* Accumulator registers: of 16, and of 32 with AVX-512; fewer for integers,
       whose multiply-add takes two instructions, or a dozen in 64 bits. */
    ACC_REGISTERS = 12,
    ACC_REGISTERS_AVX512 = 24,
    ACC_REGISTERS_I32 = 8,
    ACC_REGISTERS_I64 = 4,
    /* Work items: bytes of their rows of A, which are reread from L2; rows in
       micro-kernels; bytes of the partial results of row epilogues. */
    A_BLOCK_BYTES = 256 << 10,
    MAX_MICRO_KERNELS = 64,
    ROW_PARTIALS_BYTES = 64 << 10,
    ENOUGH_ITEMS = 16, /* exact numbers above do not matter */
    ASSUMED_K = 1024,  /* if the extent is unknown */
    /* Packing of B: bytes that need none; rows, in micro-kernels, from which it
       pays, and from which it pays for rows of B that collide in L1. */
    UNPACKED_B_BYTES = 96 << 10,
    MIN_PACKING_TILES = 3,
    MIN_COLLISION_TILES = 12,
    L1_SETS = 64,
    L1_WAYS_FOR_B = 4,
    /* Several panels per work item: k-blocks from which that pays, number of
       panels, and bytes of C on the stack. */
    MIN_K_BLOCKS = 3,
    MAX_PANELS = 16,
    C_BYTES = 60 << 10
};

/* -- Operands -------------------------------------------------------------- */

/* Marks the insts of an operand. False unless it is one load, with elementwise
   insts applied to it. */
static bool mark_operand(tgi_llvm_analysis *a, uint32_t root, uint8_t operand)
{
    int n_loads = 0;
    for (uint32_t i = 1; i < a->loops->insts.n; i++)
        a->insts[i].operands &= (uint8_t)~operand;
    a->insts[root].operands |= operand;
    for (uint32_t i = root; i > 0; i--) {
        const tgi_inst *inst = &a->loops->insts.data[i];
        if (!(a->insts[i].operands & operand) ||
            a->insts[i].level == TGI_LEVEL_KERNEL)
            continue;
        n_loads += inst->kind == TGI_INST_LOAD;
        if ((inst->kind == TGI_INST_LOAD &&
             a->loops->accesses.data[inst->number].index) ||
            (inst->kind != TGI_INST_LOAD && inst->kind != TGI_INST_OP &&
             inst->kind != TGI_INST_CAST))
            return false;
        for (int j = 0; j < inst->n_operands; j++)
            a->insts[inst->operands[j]].operands |= operand;
    }
    return n_loads == 1;
}

/* True if an operand is invariant along an axis. */
static bool is_invariant(const tgi_llvm_analysis *a, uint8_t operand, int axis)
{
    for (uint32_t i = 1; i < a->loops->insts.n; i++) {
        const tgi_inst *inst = &a->loops->insts.data[i];
        if ((a->insts[i].operands & operand) && inst->kind == TGI_INST_LOAD &&
            a->loops->accesses.data[inst->number].stride[axis].distance != 0)
            return false;
    }
    return true;
}

static bool find_operands(tgi_llvm_analysis *a)
{
    const tgi_reduction *r = tgi_llvm_matmul_reduction(a);
    uint32_t uniform = r->value, varying = r->other;
    if (a->insts[uniform].varies) {
        uniform = r->other;
        varying = r->value;
    }
    if (a->insts[uniform].varies || !a->insts[varying].varies)
        return false;
    a->matmul.row_axis = a->vector_axis - 1 - r->is_split;
    return a->matmul.row_axis >= 0 &&
           mark_operand(a, uniform, TGI_LLVM_OPERAND_A) &&
           mark_operand(a, varying, TGI_LLVM_OPERAND_B) &&
           is_invariant(a, TGI_LLVM_OPERAND_B, a->matmul.row_axis);
}

static bool is_nonempty(const tgi_llvm_analysis *a)
{
    bool has_any = true;
    for (int axis = 0; axis <= a->inner; axis++)
        has_any &= a->loops->extent[axis] != 0;
    return has_any;
}

static bool find_matmul(tgi_llvm_analysis *a)
{
    const tgi_kernel_loops *loops = a->loops;
    return loops->vectors == TGI_COLUMNS && loops->reductions.n == 1 &&
           !loops->is_straightline &&
           tgi_llvm_matmul_reduction(a)->op == TGI_OP_MATMUL &&
           !tgi_llvm_matmul_reduction(a)->combines_blocks &&
           tgi_dtype_bytes(tgi_llvm_matmul_reduction(a)->dtype) >= 4 &&
           loops->extent[a->inner] != 1 && is_nonempty(a) && find_operands(a);
}

const tgi_access *tgi_llvm_operand_access(const tgi_llvm_analysis *a,
                                          uint8_t operand)
{
    uint32_t i = 1;
    while (!(a->insts[i].operands & operand) ||
           a->insts[i].level == TGI_LEVEL_KERNEL ||
           a->loops->insts.data[i].kind != TGI_INST_LOAD)
        i++;
    return &a->loops->accesses.data[a->loops->insts.data[i].number];
}

/* True if C is known to have fewer than n micro-kernels of rows. */
static bool has_fewer_tiles(const tgi_llvm_analysis *a, int64_t n)
{
    const tgi_dim m = a->loops->extent[a->matmul.row_axis];
    return tgi_dim_is_known(m) && m < n * a->matmul.mr;
}

bool tgi_llvm_matmul_has_few_rows(const tgi_llvm_analysis *a)
{
    return has_fewer_tiles(a, MIN_PACKING_TILES);
}

/* -- Sizes ----------------------------------------------------------------- */

static int64_t round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

static unsigned accumulator_registers(const tgi_llvm_analysis *a)
{
    const int dtype = tgi_llvm_matmul_reduction(a)->dtype;
    if (!tgi_dtype_is(dtype, TGI_CLASS_FLOAT))
        return tgi_dtype_bytes(dtype) == 8 ? ACC_REGISTERS_I64
                                           : ACC_REGISTERS_I32;
    return a->program->target->vector_bits == 512 ? ACC_REGISTERS_AVX512
                                                  : ACC_REGISTERS;
}

/* Rows of the micro-kernel: as many as registers allow, balanced over m. */
static unsigned choose_mr(const tgi_llvm_analysis *a, unsigned lanes)
{
    const unsigned bytes =
        lanes * (unsigned)tgi_dtype_bytes(tgi_llvm_matmul_reduction(a)->dtype);
    const unsigned registers =
        (bytes * 8 + a->program->target->vector_bits - 1) /
        a->program->target->vector_bits;
    unsigned max = accumulator_registers(a) / registers;
    if (max > TGI_LLVM_MAX_MR)
        max = TGI_LLVM_MAX_MR;
    const tgi_dim m = a->loops->extent[a->matmul.row_axis];
    if (!tgi_dim_is_known(m))
        return max;
    const int64_t tiles = (m + max - 1) / max;
    return (unsigned)((m + tiles - 1) / tiles);
}

/* The number of work items of `rows` x `columns`, counting known extents only;
   exact only below ENOUGH_ITEMS. */
static int64_t count_items(const tgi_llvm_analysis *a, int64_t rows,
                           unsigned columns)
{
    int64_t items = 1;
    for (int axis = 0; axis <= a->vector_axis && items < ENOUGH_ITEMS; axis++) {
        const tgi_dim extent = a->loops->extent[axis];
        const int64_t piece = axis == a->vector_axis       ? columns
                              : axis == a->matmul.row_axis ? rows
                                                           : 1;
        const bool is_whole = axis == a->vector_axis && a->matmul.reduces_rows;
        if (tgi_dim_is_known(extent) && !is_whole)
            items *= (extent + piece - 1) / piece;
    }
    return items;
}

static bool has_enough_items(const tgi_llvm_analysis *a, int64_t rows,
                             unsigned columns)
{
    return count_items(a, rows, columns) >= TGI_MIN_SHARED_ITEMS;
}

/* Rows of an item, a multiple of mr: at most `max`, balanced over m. If items
   have all columns and are few, their number divides among two or four threads.
   Items with column epilogues have all rows. */
static int64_t balance_rows(const tgi_llvm_analysis *a, int64_t m, int64_t max)
{
    const int64_t matrices = count_items(a, m, UINT_MAX);
    int64_t blocks = (m + max - 1) / max;
    if (a->matmul.reduces_columns)
        blocks = 1;
    while (a->matmul.reduces_rows && !a->matmul.reduces_columns &&
           matrices * blocks % TGI_MIN_SHARED_ITEMS &&
           matrices * blocks < ENOUGH_ITEMS)
        blocks++;
    return round_up((m + blocks - 1) / blocks, a->matmul.mr);
}

/* Rows of an item, a multiple of mr. */
static int64_t choose_item_rows(const tgi_llvm_analysis *a, unsigned lanes)
{
    const int64_t tile = a->matmul.mr;
    const tgi_dim inner = a->loops->extent[a->inner];
    const tgi_dim m = a->loops->extent[a->matmul.row_axis];
    const int64_t row_bytes =
        (tgi_dim_is_known(inner) ? inner : ASSUMED_K) *
        tgi_dtype_bytes(tgi_llvm_matmul_reduction(a)->dtype);
    int64_t rows = A_BLOCK_BYTES / row_bytes / tile * tile;
    if (rows > MAX_MICRO_KERNELS * tile)
        rows = MAX_MICRO_KERNELS * tile;
    const int64_t partials_bytes = tgi_llvm_row_epilogue_bytes(a);
    if (partials_bytes &&
        rows > ROW_PARTIALS_BYTES / partials_bytes / tile * tile)
        rows = ROW_PARTIALS_BYTES / partials_bytes / tile * tile;
    if (rows < 4 * tile)
        rows = 4 * tile;
    if (!tgi_dim_is_known(m))
        return rows;
    rows = balance_rows(a, m, rows);
    while (!a->matmul.reduces_columns && rows > tile &&
           !has_enough_items(a, rows, lanes))
        rows = round_up(rows / 2, tile);
    return rows;
}

static const tgi_access *b_access(const tgi_llvm_analysis *a)
{
    return tgi_llvm_operand_access(a, TGI_LLVM_OPERAND_B);
}

/* True if the stride between rows of B maps a k-block to so few sets of L1 that
   its lines evict each other. Measured there: 86 to 99 GFLOP/s, depending on
   addresses; packed, 97 to 99. */
static bool rows_collide_in_l1(const tgi_llvm_analysis *a,
                               const tgi_access *access)
{
    const tgi_dim inner = a->loops->extent[a->inner];
    const tgi_dim stride = access->stride[a->inner].distance;
    if (!tgi_dim_is_known(inner) || !tgi_dim_is_known(stride))
        return false;
    const int64_t bytes = stride % (L1_SETS * NR_BYTES) *
                          tgi_dtype_bytes(tgi_llvm_matmul_reduction(a)->dtype);
    if (bytes % NR_BYTES != 0)
        return false;
    const int64_t lines = bytes / NR_BYTES % L1_SETS;
    const int64_t sets = lines ? L1_SETS / (lines & -lines) : 1;
    return inner > sets * L1_WAYS_FOR_B;
}

/* True if B is packed on the stack, per k-block. */
static bool should_pack(const tgi_llvm_analysis *a)
{
    const tgi_dim n = a->loops->extent[a->vector_axis];
    const tgi_dim inner = a->loops->extent[a->inner];
    const tgi_access *access = b_access(a);
    if (a->matmul.transposes_b)
        return true;
    if (access->panel_width || tgi_llvm_matmul_has_few_rows(a))
        return false;
    if (!has_fewer_tiles(a, MIN_COLLISION_TILES) &&
        rows_collide_in_l1(a, access))
        return true;
    return !tgi_llvm_is_contiguous(a, access) || !tgi_dim_is_known(n) ||
           !tgi_dim_is_known(inner) ||
           inner * tgi_dtype_bytes(tgi_llvm_matmul_reduction(a)->dtype) >
               UNPACKED_B_BYTES / n;
}

/* True if B is a plain load whose columns are contiguous in memory. */
static bool can_transpose(const tgi_llvm_analysis *a)
{
    const tgi_access *access = b_access(a);
    return a->loops->insts.data[tgi_llvm_operand_b_inst(a)].kind ==
               TGI_INST_LOAD &&
           access->stride[a->inner].distance == 1 &&
           !tgi_llvm_is_contiguous(a, access);
}

/* True if all accesses but that of B, whose packing needs no mask, can be
   masked. */
static bool are_others_maskable(const tgi_llvm_analysis *a)
{
    const tgi_kernel_loops *loops = a->loops;
    const tgi_access *transposed = b_access(a);
    bool can_mask = true;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        if (inst->kind == TGI_INST_LOAD && a->insts[i].varies &&
            &loops->accesses.data[inst->number] != transposed)
            can_mask &=
                tgi_llvm_is_maskable(a, &loops->accesses.data[inst->number]);
    }
    for (size_t i = 0; i < loops->stores.n; i++)
        can_mask &= tgi_llvm_is_maskable(
            a, &loops->accesses.data[loops->stores.data[i].access]);
    return can_mask;
}

/* True if a work item may have several panels of B. */
static bool can_have_panels(const tgi_llvm_analysis *a)
{
    const tgi_dim inner = a->loops->extent[a->inner];
    return b_access(a)->panel_width && !a->is_split &&
           !(tgi_dim_is_known(inner) &&
             inner <= (MIN_K_BLOCKS - 1) * TGI_BLOCK_ROWS);
}

/* Stack bytes of a row of an item of n_panels. */
static int64_t c_row_bytes(const tgi_llvm_analysis *a, unsigned n_panels)
{
    return n_panels * NR_BYTES + tgi_llvm_row_epilogue_bytes(a);
}

/* Rows of an item of n_panels: as many as fit C_BYTES, balanced. */
static int64_t panels_item_rows(const tgi_llvm_analysis *a, unsigned n_panels)
{
    const int64_t tile = a->matmul.mr;
    const tgi_dim m = a->loops->extent[a->matmul.row_axis];
    const int64_t max = C_BYTES / c_row_bytes(a, n_panels) / tile * tile;
    if (!tgi_dim_is_known(m))
        return max;
    return balance_rows(a, m, max);
}

/* True if items of n_panels are too large for the stack, or too few. */
static bool are_too_many_panels(const tgi_llvm_analysis *a, unsigned n_panels,
                                unsigned lanes)
{
    const int64_t rows = panels_item_rows(a, n_panels);
    if (rows > C_BYTES / c_row_bytes(a, n_panels))
        return true;
    return tgi_dim_is_known(a->loops->extent[a->vector_axis]) &&
           !a->matmul.reduces_rows &&
           !has_enough_items(a, rows, n_panels * lanes);
}

static void choose_panels(tgi_llvm_analysis *a, unsigned lanes)
{
    const tgi_dim n = a->loops->extent[a->vector_axis];
    unsigned n_panels = MAX_PANELS;
    while (tgi_dim_is_known(n) && n_panels > 1 && n_panels / 2 * lanes >= n)
        n_panels /= 2;
    while (n_panels > 1 && are_too_many_panels(a, n_panels, lanes))
        n_panels /= 2;
    if (n_panels == 1)
        return;
    a->matmul.n_panels = n_panels;
    a->matmul.item_rows = panels_item_rows(a, n_panels);
}

unsigned tgi_llvm_matmul_classify(tgi_llvm_analysis *a)
{
    a->matmul.mr = 0;
    tgi_llvm_epilogue_classify(a);
    if (!find_matmul(a)) {
        if (a->matmul.reduces_rows || a->matmul.reduces_columns)
            tgi_llvm_fail(a->program, "reduction epilogue without a matmul");
        return 0;
    }
    a->matmul.transposes_b = can_transpose(a);
    if (a->matmul.transposes_b)
        a->phases[0].can_mask = are_others_maskable(a);
    const bool can_mask = a->phases[0].can_mask;
    const tgi_dim n = a->loops->extent[a->vector_axis];
    unsigned lanes = NR_BYTES / (unsigned)tgi_dtype_bytes(
                                    tgi_llvm_matmul_reduction(a)->dtype);
    while (tgi_dim_is_known(n) && lanes > 1 &&
           (can_mask ? lanes / 2 : lanes - 1) >= n)
        lanes /= 2;
    a->phases[0].lanes = lanes;
    a->matmul.mr = choose_mr(a, lanes);
    a->matmul.item_rows = choose_item_rows(a, lanes);
    a->matmul.packs_b = should_pack(a);
    a->matmul.n_panels = 0;
    if (can_have_panels(a))
        choose_panels(a, lanes);
    return lanes;
}
