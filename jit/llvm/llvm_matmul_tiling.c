/* SPDX-License-Identifier: MIT */
/*
 * llvm_matmul_tiling.c - which kernels are matrix products by tiles, and how
 * large their tiles and items are. None of it changes a bit.
 */
#include "llvm/llvm_matmul.h"

#include <limits.h>

enum {
    TILE_BYTES = 64,       /* of a row of a tile: a line, and a sliver */
    SUMS = 12,             /* registers of 16 for sums … */
    SUMS_OF_32 = 24,       /* … or of 32 */
    SUMS_OF_INTEGERS = 8,  /* products take more than one instruction … */
    SUMS_OF_LONGS = 4,     /* … or a dozen */
    BLOCK_BYTES = 256 << 10, /* of an item's rows, that are read again */
    MOST_TILES = 64,       /* of an item, one below the other */
    FOLD_BYTES = 64 << 10, /* of lanes of folded rows, that wait for others */
    SOME_INNER = 1024,     /* if it is not known how many */
    NEAR_BYTES = 96 << 10, /* of columns that are read as they are */
    MANY_ITEMS = 16,       /* no matter how many there are exactly */
    FEW_TILES = 3,         /* for which columns are not copied */
    SOME_TILES = 12,       /* for which those that collide are: */
    SETS = 64,             /* of lines, in the first cache … */
    WAYS = 4,              /* … that have room for so many of one side */
    MANY_PANELS = 3,       /* for which an item has more slivers … */
    MOST_SLIVERS = 16,     /* … so many of them … */
    TOTAL_BYTES = 60 << 10 /* … with so much for totals */
};

/* -- Which kernels --------------------------------------------------------- */

/* Marks all that an inst of a side is made from: one load, and what is done
   with it. False if there is more. */
static bool mark(tgi_llvm_kernel *k, uint32_t root, uint8_t side)
{
    int n_loads = 0;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        k->values[i].operands &= (uint8_t)~side;
    k->values[root].operands |= side;
    for (uint32_t i = root; i > 0; i--) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if (!(k->values[i].operands & side) ||
            k->values[i].level == TGI_LEVEL_KERNEL)
            continue;
        n_loads += inst->kind == TGI_INST_LOAD;
        if ((inst->kind == TGI_INST_LOAD &&
             k->loops->accesses.data[inst->number].index) ||
            (inst->kind != TGI_INST_LOAD && inst->kind != TGI_INST_OP &&
             inst->kind != TGI_INST_CAST))
            return false;
        for (int j = 0; j < inst->n_operands; j++)
            k->values[inst->operands[j]].operands |= side;
    }
    return n_loads == 1;
}

/* True if nothing of a side moves along an axis. */
static bool is_still(const tgi_llvm_kernel *k, uint8_t side, int axis)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if ((k->values[i].operands & side) && inst->kind == TGI_INST_LOAD &&
            k->loops->accesses.data[inst->number].stride[axis].distance != 0)
            return false;
    }
    return true;
}

static bool find_sides(tgi_llvm_kernel *k)
{
    const tgi_reduction *r = tgi_llvm_matmul_reduction(k);
    uint32_t row = r->value, column = r->other;
    if (k->values[row].varies) {
        row = r->other;
        column = r->value;
    }
    if (k->values[row].varies || !k->values[column].varies)
        return false;
    k->matmul.row_axis = k->vector_axis - 1 - r->is_split;
    return k->matmul.row_axis >= 0 && mark(k, row, TGI_LLVM_OPERAND_A) &&
           mark(k, column, TGI_LLVM_OPERAND_B) &&
           is_still(k, TGI_LLVM_OPERAND_B, k->matmul.row_axis);
}

static bool has_elements(const tgi_llvm_kernel *k)
{
    bool has_any = true;
    for (int axis = 0; axis <= k->inner; axis++)
        has_any &= k->loops->extent[axis] != 0;
    return has_any;
}

static bool is_product(tgi_llvm_kernel *k)
{
    const tgi_kernel_loops *loops = k->loops;
    return loops->vectors == TGI_COLUMNS && loops->reductions.n == 1 &&
           !loops->is_straightline &&
           tgi_llvm_matmul_reduction(k)->op == TGI_OP_MATMUL &&
           !tgi_llvm_matmul_reduction(k)->combines_blocks &&
           tgi_dtype_bytes(tgi_llvm_matmul_reduction(k)->dtype) >= 4 &&
           loops->extent[k->inner] != 1 && has_elements(k) && find_sides(k);
}

const tgi_access *tgi_llvm_operand_access(const tgi_llvm_kernel *k,
                                          uint8_t side)
{
    uint32_t i = 1;
    while (!(k->values[i].operands & side) ||
           k->values[i].level == TGI_LEVEL_KERNEL ||
           k->loops->insts.data[i].kind != TGI_INST_LOAD)
        i++;
    return &k->loops->accesses.data[k->loops->insts.data[i].number];
}

static bool has_fewer_tiles(const tgi_llvm_kernel *k, int64_t n)
{
    const tgi_dim m = k->loops->extent[k->matmul.row_axis];
    return tgi_dim_is_known(m) && m < n * k->matmul.mr;
}

bool tgi_llvm_matmul_has_few_rows(const tgi_llvm_kernel *k)
{
    return has_fewer_tiles(k, FEW_TILES);
}

/* -- Sizes ----------------------------------------------------------------- */

static int64_t round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

static unsigned registers_for_sums(const tgi_llvm_kernel *k)
{
    const int dtype = tgi_llvm_matmul_reduction(k)->dtype;
    if (!tgi_dtype_is(dtype, TGI_CLASS_FLOAT))
        return tgi_dtype_bytes(dtype) == 8 ? SUMS_OF_LONGS
                                           : SUMS_OF_INTEGERS;
    return k->program->target->vector_bits == 512 ? SUMS_OF_32 : SUMS;
}

/* Rows of a tile: as many as registers allow, and tiles alike. */
static unsigned tile_rows(const tgi_llvm_kernel *k, unsigned lanes)
{
    const unsigned bytes =
        lanes * (unsigned)tgi_dtype_bytes(tgi_llvm_matmul_reduction(k)->dtype);
    const unsigned registers =
        (bytes * 8 + k->program->target->vector_bits - 1) /
        k->program->target->vector_bits;
    unsigned most = registers_for_sums(k) / registers;
    if (most > TGI_LLVM_MAX_MR)
        most = TGI_LLVM_MAX_MR;
    const tgi_dim m = k->loops->extent[k->matmul.row_axis];
    if (!tgi_dim_is_known(m))
        return most;
    const int64_t tiles = (m + most - 1) / most;
    return (unsigned)((m + tiles - 1) / tiles);
}

/* How many items there are if each has so many rows and columns, as far as that
   is known, and as long as they are few. */
static int64_t count_items(const tgi_llvm_kernel *k, int64_t rows,
                           unsigned columns)
{
    int64_t items = 1;
    for (int axis = 0; axis <= k->vector_axis && items < MANY_ITEMS;
         axis++) {
        const tgi_dim extent = k->loops->extent[axis];
        const int64_t piece = axis == k->vector_axis       ? columns
                              : axis == k->matmul.row_axis ? rows
                                                           : 1;
        const bool is_whole = axis == k->vector_axis && k->matmul.reduces_rows;
        if (tgi_dim_is_known(extent) && !is_whole)
            items *= (extent + piece - 1) / piece;
    }
    return items;
}

static bool are_enough(const tgi_llvm_kernel *k, int64_t rows,
                       unsigned columns)
{
    return count_items(k, rows, columns) >= TGI_MIN_SHARED_ITEMS;
}

/* Of m rows those of an item, whole tiles: `most`, or fewer, so that items are
   alike. Where they have all columns, and are few, so that two threads or four
   have the same number of them. Items that fold columns have all rows. */
static int64_t rows_alike(const tgi_llvm_kernel *k, int64_t m, int64_t most)
{
    const int64_t matrices = count_items(k, m, UINT_MAX);
    int64_t blocks = (m + most - 1) / most;
    if (k->matmul.reduces_columns)
        blocks = 1;
    while (k->matmul.reduces_rows && !k->matmul.reduces_columns &&
           matrices * blocks % TGI_MIN_SHARED_ITEMS &&
           matrices * blocks < MANY_ITEMS)
        blocks++;
    return round_up((m + blocks - 1) / blocks, k->matmul.mr);
}

/* Rows of an item: whole tiles. */
static int64_t item_rows(const tgi_llvm_kernel *k, unsigned lanes)
{
    const int64_t tile = k->matmul.mr;
    const tgi_dim inner = k->loops->extent[k->inner];
    const tgi_dim m = k->loops->extent[k->matmul.row_axis];
    const int64_t row_bytes =
        (tgi_dim_is_known(inner) ? inner : SOME_INNER) *
        tgi_dtype_bytes(tgi_llvm_matmul_reduction(k)->dtype);
    int64_t rows = BLOCK_BYTES / row_bytes / tile * tile;
    if (rows > MOST_TILES * tile)
        rows = MOST_TILES * tile;
    const int64_t fold_bytes = tgi_llvm_row_epilogue_bytes(k);
    if (fold_bytes && rows > FOLD_BYTES / fold_bytes / tile * tile)
        rows = FOLD_BYTES / fold_bytes / tile * tile;
    if (rows < 4 * tile)
        rows = 4 * tile;
    if (!tgi_dim_is_known(m))
        return rows;
    rows = rows_alike(k, m, rows);
    while (!k->matmul.reduces_columns && rows > tile &&
           !are_enough(k, rows, lanes))
        rows = round_up(rows / 2, tile);
    return rows;
}

static const tgi_access *column_access(const tgi_llvm_kernel *k)
{
    return tgi_llvm_operand_access(k, TGI_LLVM_OPERAND_B);
}

/* True if the rows of a panel lie so that their lines push each other out of
   the first cache: some sets take all of them. Measured where they do: 86 to
   99 GFLOP/s as they are, with luck; copied, 97 to 99. */
static bool lines_collide(const tgi_llvm_kernel *k, const tgi_access *access)
{
    const tgi_dim inner = k->loops->extent[k->inner];
    const tgi_dim apart = access->stride[k->inner].distance;
    if (!tgi_dim_is_known(inner) || !tgi_dim_is_known(apart))
        return false;
    const int64_t bytes = apart % (SETS * TILE_BYTES) *
                          tgi_dtype_bytes(tgi_llvm_matmul_reduction(k)->dtype);
    if (bytes % TILE_BYTES != 0)
        return false;
    const int64_t lines = bytes / TILE_BYTES % SETS;
    const int64_t sets = lines ? SETS / (lines & -lines) : 1;
    return inner > sets * WAYS;
}

/* True if the columns of an item are copied before they are used. */
static bool should_copy(const tgi_llvm_kernel *k)
{
    const tgi_dim n = k->loops->extent[k->vector_axis];
    const tgi_dim inner = k->loops->extent[k->inner];
    const tgi_access *access = column_access(k);
    if (k->matmul.transposes_b)
        return true;
    if (access->panel_width || tgi_llvm_matmul_has_few_rows(k))
        return false;
    if (!has_fewer_tiles(k, SOME_TILES) && lines_collide(k, access))
        return true;
    return !tgi_llvm_is_contiguous(k, access) || !tgi_dim_is_known(n) ||
           !tgi_dim_is_known(inner) ||
           inner * tgi_dtype_bytes(tgi_llvm_matmul_reduction(k)->dtype) >
               NEAR_BYTES / n;
}

/* True if columns lie along memory, and nothing is done to them. */
static bool can_turn(const tgi_llvm_kernel *k)
{
    const tgi_access *access = column_access(k);
    return k->loops->insts.data[tgi_llvm_operand_b_inst(k)].kind ==
               TGI_INST_LOAD &&
           access->stride[k->inner].distance == 1 &&
           !tgi_llvm_is_contiguous(k, access);
}

/* What is turned needs no mask: only so many columns are. */
static bool can_mask_others(const tgi_llvm_kernel *k)
{
    const tgi_kernel_loops *loops = k->loops;
    const tgi_access *turned = column_access(k);
    bool can_mask = true;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        if (inst->kind == TGI_INST_LOAD && k->values[i].varies &&
            &loops->accesses.data[inst->number] != turned)
            can_mask &=
                tgi_llvm_is_maskable(k, &loops->accesses.data[inst->number]);
    }
    for (size_t i = 0; i < loops->stores.n; i++)
        can_mask &= tgi_llvm_is_maskable(
            k, &loops->accesses.data[loops->stores.data[i].access]);
    return can_mask;
}

/* True if slivers of an item go along with each other, panel by panel. */
static bool can_have_slivers(const tgi_llvm_kernel *k)
{
    const tgi_dim inner = k->loops->extent[k->inner];
    return column_access(k)->panel_width && !k->is_split &&
           !(tgi_dim_is_known(inner) &&
             inner <= (MANY_PANELS - 1) * TGI_BLOCK_ROWS);
}

/* Of a row of an item of so many slivers. */
static int64_t total_bytes(const tgi_llvm_kernel *k, unsigned slivers)
{
    return slivers * TILE_BYTES + tgi_llvm_row_epilogue_bytes(k);
}

/* Rows of an item of so many slivers: as many as have room for totals, in
   blocks alike. */
static int64_t rows_of_slivers(const tgi_llvm_kernel *k, unsigned slivers)
{
    const int64_t tile = k->matmul.mr;
    const tgi_dim m = k->loops->extent[k->matmul.row_axis];
    const int64_t most =
        TOTAL_BYTES / total_bytes(k, slivers) / tile * tile;
    if (!tgi_dim_is_known(m))
        return most;
    return rows_alike(k, m, most);
}

/* True if an item of so many slivers is too large: because there are too few
   of them, or because all rows have no room. */
static bool are_too_many(const tgi_llvm_kernel *k, unsigned slivers,
                         unsigned lanes)
{
    const int64_t rows = rows_of_slivers(k, slivers);
    if (rows > TOTAL_BYTES / total_bytes(k, slivers))
        return true;
    return tgi_dim_is_known(k->loops->extent[k->vector_axis]) &&
           !k->matmul.reduces_rows && !are_enough(k, rows, slivers * lanes);
}

static void choose_slivers(tgi_llvm_kernel *k, unsigned lanes)
{
    const tgi_dim n = k->loops->extent[k->vector_axis];
    unsigned slivers = MOST_SLIVERS;
    while (tgi_dim_is_known(n) && slivers > 1 && slivers / 2 * lanes >= n)
        slivers /= 2;
    while (slivers > 1 && are_too_many(k, slivers, lanes))
        slivers /= 2;
    if (slivers == 1)
        return;
    k->matmul.n_panels = slivers;
    k->matmul.item_rows = rows_of_slivers(k, slivers);
}

unsigned tgi_llvm_matmul_classify(tgi_llvm_kernel *k)
{
    k->matmul.mr = 0;
    tgi_llvm_epilogue_classify(k);
    if (!is_product(k)) {
        if (k->matmul.reduces_rows || k->matmul.reduces_columns)
            tgi_llvm_fail(k->program, "a fold of what is no product");
        return 0;
    }
    k->matmul.transposes_b = can_turn(k);
    if (k->matmul.transposes_b)
        k->phases[0].can_mask = can_mask_others(k);
    const bool can_mask = k->phases[0].can_mask;
    const tgi_dim n = k->loops->extent[k->vector_axis];
    unsigned lanes = TILE_BYTES / (unsigned)tgi_dtype_bytes(
                                      tgi_llvm_matmul_reduction(k)->dtype);
    while (tgi_dim_is_known(n) && lanes > 1 &&
           (can_mask ? lanes / 2 : lanes - 1) >= n)
        lanes /= 2;
    k->phases[0].lanes = lanes;
    k->matmul.mr = tile_rows(k, lanes);
    k->matmul.item_rows = item_rows(k, lanes);
    k->matmul.packs_b = should_copy(k);
    k->matmul.n_panels = 0;
    if (can_have_slivers(k))
        choose_slivers(k, lanes);
    return lanes;
}
