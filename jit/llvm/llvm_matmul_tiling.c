/* SPDX-License-Identifier: MIT */
/*
 * llvm_matmul_tiling.c - which kernels are matrix products by tiles, and how
 * large their tiles and items are. None of it changes a bit.
 */
#include "llvm/llvm_analysis.h"
#include "llvm/llvm_matmul.h"
#include "llvm/llvm_program.h"

#include <limits.h>

enum {
    TILE_BYTES = 64,         /* of a row of a tile: a line, and a sliver */
    SUMS = 12,               /* registers of 16 for sums … */
    SUMS_OF_32 = 24,         /* … or of 32 */
    SUMS_OF_INTEGERS = 8,    /* products take more than one instruction … */
    SUMS_OF_LONGS = 4,       /* … or a dozen */
    BLOCK_BYTES = 256 << 10, /* of an item's rows, that are read again */
    MOST_TILES = 64,         /* of an item, one below the other */
    FOLD_BYTES = 64 << 10,   /* of lanes of folded rows, that wait for others */
    SOME_INNER = 1024,       /* if it is not known how many */
    NEAR_BYTES = 96 << 10,   /* of columns that are read as they are */
    MANY_ITEMS = 16,         /* no matter how many there are exactly */
    FEW_TILES = 3,           /* for which columns are not copied */
    SOME_TILES = 12,         /* for which those that collide are: */
    SETS = 64,               /* of lines, in the first cache … */
    WAYS = 4,                /* … that have room for so many of one side */
    MANY_PANELS = 3,         /* for which an item has more slivers … */
    MOST_SLIVERS = 16,       /* … so many of them … */
    TOTAL_BYTES = 60 << 10   /* … with so much for totals */
};

/* -- Which kernels --------------------------------------------------------- */

/* Marks all that an inst of a side is made from: one load, and what is done
   with it. False if there is more. */
static bool mark(tgi_llvm_analysis *a, uint32_t root, uint8_t side)
{
    int n_loads = 0;
    for (uint32_t i = 1; i < a->loops->insts.n; i++)
        a->insts[i].operands &= (uint8_t)~side;
    a->insts[root].operands |= side;
    for (uint32_t i = root; i > 0; i--) {
        const tgi_inst *inst = &a->loops->insts.data[i];
        if (!(a->insts[i].operands & side) ||
            a->insts[i].level == TGI_LEVEL_KERNEL)
            continue;
        n_loads += inst->kind == TGI_INST_LOAD;
        if ((inst->kind == TGI_INST_LOAD &&
             a->loops->accesses.data[inst->number].index) ||
            (inst->kind != TGI_INST_LOAD && inst->kind != TGI_INST_OP &&
             inst->kind != TGI_INST_CAST))
            return false;
        for (int j = 0; j < inst->n_operands; j++)
            a->insts[inst->operands[j]].operands |= side;
    }
    return n_loads == 1;
}

/* True if nothing of a side moves along an axis. */
static bool is_still(const tgi_llvm_analysis *a, uint8_t side, int axis)
{
    for (uint32_t i = 1; i < a->loops->insts.n; i++) {
        const tgi_inst *inst = &a->loops->insts.data[i];
        if ((a->insts[i].operands & side) && inst->kind == TGI_INST_LOAD &&
            a->loops->accesses.data[inst->number].stride[axis].distance != 0)
            return false;
    }
    return true;
}

static bool find_sides(tgi_llvm_analysis *a)
{
    const tgi_reduction *r = tgi_llvm_matmul_reduction(a);
    uint32_t row = r->value, column = r->other;
    if (a->insts[row].varies) {
        row = r->other;
        column = r->value;
    }
    if (a->insts[row].varies || !a->insts[column].varies)
        return false;
    a->matmul.row_axis = a->vector_axis - 1 - r->is_split;
    return a->matmul.row_axis >= 0 && mark(a, row, TGI_LLVM_OPERAND_A) &&
           mark(a, column, TGI_LLVM_OPERAND_B) &&
           is_still(a, TGI_LLVM_OPERAND_B, a->matmul.row_axis);
}

static bool has_elements(const tgi_llvm_analysis *a)
{
    bool has_any = true;
    for (int axis = 0; axis <= a->inner; axis++)
        has_any &= a->loops->extent[axis] != 0;
    return has_any;
}

static bool is_product(tgi_llvm_analysis *a)
{
    const tgi_kernel_loops *loops = a->loops;
    return loops->vectors == TGI_COLUMNS && loops->reductions.n == 1 &&
           !loops->is_straightline &&
           tgi_llvm_matmul_reduction(a)->op == TGI_OP_MATMUL &&
           !tgi_llvm_matmul_reduction(a)->combines_blocks &&
           tgi_dtype_bytes(tgi_llvm_matmul_reduction(a)->dtype) >= 4 &&
           loops->extent[a->inner] != 1 && has_elements(a) && find_sides(a);
}

const tgi_access *tgi_llvm_operand_access(const tgi_llvm_analysis *a,
                                          uint8_t side)
{
    uint32_t i = 1;
    while (!(a->insts[i].operands & side) ||
           a->insts[i].level == TGI_LEVEL_KERNEL ||
           a->loops->insts.data[i].kind != TGI_INST_LOAD)
        i++;
    return &a->loops->accesses.data[a->loops->insts.data[i].number];
}

static bool has_fewer_tiles(const tgi_llvm_analysis *a, int64_t n)
{
    const tgi_dim m = a->loops->extent[a->matmul.row_axis];
    return tgi_dim_is_known(m) && m < n * a->matmul.mr;
}

bool tgi_llvm_matmul_has_few_rows(const tgi_llvm_analysis *a)
{
    return has_fewer_tiles(a, FEW_TILES);
}

/* -- Sizes ----------------------------------------------------------------- */

static int64_t round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

static unsigned registers_for_sums(const tgi_llvm_analysis *a)
{
    const int dtype = tgi_llvm_matmul_reduction(a)->dtype;
    if (!tgi_dtype_is(dtype, TGI_CLASS_FLOAT))
        return tgi_dtype_bytes(dtype) == 8 ? SUMS_OF_LONGS : SUMS_OF_INTEGERS;
    return a->program->target->vector_bits == 512 ? SUMS_OF_32 : SUMS;
}

/* Rows of a tile: as many as registers allow, and tiles alike. */
static unsigned tile_rows(const tgi_llvm_analysis *a, unsigned lanes)
{
    const unsigned bytes =
        lanes * (unsigned)tgi_dtype_bytes(tgi_llvm_matmul_reduction(a)->dtype);
    const unsigned registers =
        (bytes * 8 + a->program->target->vector_bits - 1) /
        a->program->target->vector_bits;
    unsigned most = registers_for_sums(a) / registers;
    if (most > TGI_LLVM_MAX_MR)
        most = TGI_LLVM_MAX_MR;
    const tgi_dim m = a->loops->extent[a->matmul.row_axis];
    if (!tgi_dim_is_known(m))
        return most;
    const int64_t tiles = (m + most - 1) / most;
    return (unsigned)((m + tiles - 1) / tiles);
}

/* How many items there are if each has so many rows and columns, as far as that
   is known, and as long as they are few. */
static int64_t count_items(const tgi_llvm_analysis *a, int64_t rows,
                           unsigned columns)
{
    int64_t items = 1;
    for (int axis = 0; axis <= a->vector_axis && items < MANY_ITEMS; axis++) {
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

static bool are_enough(const tgi_llvm_analysis *a, int64_t rows,
                       unsigned columns)
{
    return count_items(a, rows, columns) >= TGI_MIN_SHARED_ITEMS;
}

/* Of m rows those of an item, whole tiles: `most`, or fewer, so that items are
   alike. Where they have all columns, and are few, so that two threads or four
   have the same number of them. Items that fold columns have all rows. */
static int64_t rows_alike(const tgi_llvm_analysis *a, int64_t m, int64_t most)
{
    const int64_t matrices = count_items(a, m, UINT_MAX);
    int64_t blocks = (m + most - 1) / most;
    if (a->matmul.reduces_columns)
        blocks = 1;
    while (a->matmul.reduces_rows && !a->matmul.reduces_columns &&
           matrices * blocks % TGI_MIN_SHARED_ITEMS &&
           matrices * blocks < MANY_ITEMS)
        blocks++;
    return round_up((m + blocks - 1) / blocks, a->matmul.mr);
}

/* Rows of an item: whole tiles. */
static int64_t item_rows(const tgi_llvm_analysis *a, unsigned lanes)
{
    const int64_t tile = a->matmul.mr;
    const tgi_dim inner = a->loops->extent[a->inner];
    const tgi_dim m = a->loops->extent[a->matmul.row_axis];
    const int64_t row_bytes =
        (tgi_dim_is_known(inner) ? inner : SOME_INNER) *
        tgi_dtype_bytes(tgi_llvm_matmul_reduction(a)->dtype);
    int64_t rows = BLOCK_BYTES / row_bytes / tile * tile;
    if (rows > MOST_TILES * tile)
        rows = MOST_TILES * tile;
    const int64_t fold_bytes = tgi_llvm_row_epilogue_bytes(a);
    if (fold_bytes && rows > FOLD_BYTES / fold_bytes / tile * tile)
        rows = FOLD_BYTES / fold_bytes / tile * tile;
    if (rows < 4 * tile)
        rows = 4 * tile;
    if (!tgi_dim_is_known(m))
        return rows;
    rows = rows_alike(a, m, rows);
    while (!a->matmul.reduces_columns && rows > tile &&
           !are_enough(a, rows, lanes))
        rows = round_up(rows / 2, tile);
    return rows;
}

static const tgi_access *column_access(const tgi_llvm_analysis *a)
{
    return tgi_llvm_operand_access(a, TGI_LLVM_OPERAND_B);
}

/* True if the rows of a panel lie so that their lines push each other out of
   the first cache: some sets take all of them. Measured where they do: 86 to
   99 GFLOP/s as they are, with luck; copied, 97 to 99. */
static bool lines_collide(const tgi_llvm_analysis *a, const tgi_access *access)
{
    const tgi_dim inner = a->loops->extent[a->inner];
    const tgi_dim apart = access->stride[a->inner].distance;
    if (!tgi_dim_is_known(inner) || !tgi_dim_is_known(apart))
        return false;
    const int64_t bytes = apart % (SETS * TILE_BYTES) *
                          tgi_dtype_bytes(tgi_llvm_matmul_reduction(a)->dtype);
    if (bytes % TILE_BYTES != 0)
        return false;
    const int64_t lines = bytes / TILE_BYTES % SETS;
    const int64_t sets = lines ? SETS / (lines & -lines) : 1;
    return inner > sets * WAYS;
}

/* True if the columns of an item are copied before they are used. */
static bool should_copy(const tgi_llvm_analysis *a)
{
    const tgi_dim n = a->loops->extent[a->vector_axis];
    const tgi_dim inner = a->loops->extent[a->inner];
    const tgi_access *access = column_access(a);
    if (a->matmul.transposes_b)
        return true;
    if (access->panel_width || tgi_llvm_matmul_has_few_rows(a))
        return false;
    if (!has_fewer_tiles(a, SOME_TILES) && lines_collide(a, access))
        return true;
    return !tgi_llvm_is_contiguous(a, access) || !tgi_dim_is_known(n) ||
           !tgi_dim_is_known(inner) ||
           inner * tgi_dtype_bytes(tgi_llvm_matmul_reduction(a)->dtype) >
               NEAR_BYTES / n;
}

/* True if columns lie along memory, and nothing is done to them. */
static bool can_turn(const tgi_llvm_analysis *a)
{
    const tgi_access *access = column_access(a);
    return a->loops->insts.data[tgi_llvm_operand_b_inst(a)].kind ==
               TGI_INST_LOAD &&
           access->stride[a->inner].distance == 1 &&
           !tgi_llvm_is_contiguous(a, access);
}

/* What is turned needs no mask: only so many columns are. */
static bool can_mask_others(const tgi_llvm_analysis *a)
{
    const tgi_kernel_loops *loops = a->loops;
    const tgi_access *turned = column_access(a);
    bool can_mask = true;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        if (inst->kind == TGI_INST_LOAD && a->insts[i].varies &&
            &loops->accesses.data[inst->number] != turned)
            can_mask &=
                tgi_llvm_is_maskable(a, &loops->accesses.data[inst->number]);
    }
    for (size_t i = 0; i < loops->stores.n; i++)
        can_mask &= tgi_llvm_is_maskable(
            a, &loops->accesses.data[loops->stores.data[i].access]);
    return can_mask;
}

/* True if slivers of an item go along with each other, panel by panel. */
static bool can_have_slivers(const tgi_llvm_analysis *a)
{
    const tgi_dim inner = a->loops->extent[a->inner];
    return column_access(a)->panel_width && !a->is_split &&
           !(tgi_dim_is_known(inner) &&
             inner <= (MANY_PANELS - 1) * TGI_BLOCK_ROWS);
}

/* Of a row of an item of so many slivers. */
static int64_t total_bytes(const tgi_llvm_analysis *a, unsigned slivers)
{
    return slivers * TILE_BYTES + tgi_llvm_row_epilogue_bytes(a);
}

/* Rows of an item of so many slivers: as many as have room for totals, in
   blocks alike. */
static int64_t rows_of_slivers(const tgi_llvm_analysis *a, unsigned slivers)
{
    const int64_t tile = a->matmul.mr;
    const tgi_dim m = a->loops->extent[a->matmul.row_axis];
    const int64_t most = TOTAL_BYTES / total_bytes(a, slivers) / tile * tile;
    if (!tgi_dim_is_known(m))
        return most;
    return rows_alike(a, m, most);
}

/* True if an item of so many slivers is too large: because there are too few
   of them, or because all rows have no room. */
static bool are_too_many(const tgi_llvm_analysis *a, unsigned slivers,
                         unsigned lanes)
{
    const int64_t rows = rows_of_slivers(a, slivers);
    if (rows > TOTAL_BYTES / total_bytes(a, slivers))
        return true;
    return tgi_dim_is_known(a->loops->extent[a->vector_axis]) &&
           !a->matmul.reduces_rows && !are_enough(a, rows, slivers * lanes);
}

static void choose_slivers(tgi_llvm_analysis *a, unsigned lanes)
{
    const tgi_dim n = a->loops->extent[a->vector_axis];
    unsigned slivers = MOST_SLIVERS;
    while (tgi_dim_is_known(n) && slivers > 1 && slivers / 2 * lanes >= n)
        slivers /= 2;
    while (slivers > 1 && are_too_many(a, slivers, lanes))
        slivers /= 2;
    if (slivers == 1)
        return;
    a->matmul.n_panels = slivers;
    a->matmul.item_rows = rows_of_slivers(a, slivers);
}

unsigned tgi_llvm_matmul_classify(tgi_llvm_analysis *a)
{
    a->matmul.mr = 0;
    tgi_llvm_epilogue_classify(a);
    if (!is_product(a)) {
        if (a->matmul.reduces_rows || a->matmul.reduces_columns)
            tgi_llvm_fail(a->program, "a fold of what is no product");
        return 0;
    }
    a->matmul.transposes_b = can_turn(a);
    if (a->matmul.transposes_b)
        a->phases[0].can_mask = can_mask_others(a);
    const bool can_mask = a->phases[0].can_mask;
    const tgi_dim n = a->loops->extent[a->vector_axis];
    unsigned lanes = TILE_BYTES / (unsigned)tgi_dtype_bytes(
                                      tgi_llvm_matmul_reduction(a)->dtype);
    while (tgi_dim_is_known(n) && lanes > 1 &&
           (can_mask ? lanes / 2 : lanes - 1) >= n)
        lanes /= 2;
    a->phases[0].lanes = lanes;
    a->matmul.mr = tile_rows(a, lanes);
    a->matmul.item_rows = item_rows(a, lanes);
    a->matmul.packs_b = should_copy(a);
    a->matmul.n_panels = 0;
    if (can_have_slivers(a))
        choose_slivers(a, lanes);
    return lanes;
}
