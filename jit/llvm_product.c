/* SPDX-License-Identifier: MIT */
/*
 * llvm_product.c - matrix products: kernels of COLUMNS with one MATMUL, one
 * side of which is the same in all lanes, and the other in all rows.
 *
 * A tile of a few rows and one vector of columns has its sums in registers:
 * what is loaded of a side serves all of the other. An item is a block of
 * rows, tile below tile, whose columns of one panel stay in the first cache
 * meanwhile; and what it reads of its rows stays in the second cache for the
 * items beside it. Columns that lie far apart are copied to the stack first,
 * a panel at a time (if there are many blocks, another kernel has packed them
 * for all: fuse_product.c). If there are more panels than one, totals wait on
 * the stack. Whatever comes after the product is done where a tile's sums
 * are: in registers if that is little, else in a loop over their rows.
 */
#include "llvm_lower.h"

enum {
    TILE_BYTES = 64,       /* of a row of a tile: a line, and a sliver */
    SUMS = 12,             /* registers of 16 for sums … */
    SUMS_OF_32 = 24,       /* … or of 32 */
    SUMS_OF_INTEGERS = 8,  /* products take more than one instruction … */
    SUMS_OF_LONGS = 4,     /* … or a dozen */
    BLOCK_BYTES = 256 << 10, /* of an item's rows, that are read again */
    MOST_TILES = 32,       /* of an item, one below the other */
    FEW_ITEMS = 4,         /* threads want some to share */
    SOME_INNER = 1024,     /* if it is not known how many */
    MOST_UNROLLED = 16,    /* steps of a panel without a loop */
    NEAR_BYTES = 96 << 10, /* of columns that are read as they are */
    FEW_TILES = 3,         /* for which columns are not copied */
    MOST_DIRECT = 6        /* words after the product, done in registers */
};

/* Sides of a product, as bits. */
enum { ROW_SIDE = 1, COLUMN_SIDE = 2 };

/* -- Which kernels --------------------------------------------------------- */

static const tgi_reduction *reduction_of(const tgi_llvm_kernel *k)
{
    return &k->loops->reductions.data[0];
}

/* Marks all that an inst of a side is made from: one load, and what is done
   with it. False if there is more. */
static bool mark(tgi_llvm_kernel *k, uint32_t root, uint8_t side)
{
    int n_loads = 0;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        k->values[i].sides &= (uint8_t)~side;
    k->values[root].sides |= side;
    for (uint32_t i = root; i > 0; i--) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if (!(k->values[i].sides & side) ||
            k->values[i].level == TGI_LEVEL_KERNEL)
            continue;
        n_loads += inst->kind == TGI_INST_LOAD;
        if (k->values[i].level == TGI_LEVEL_POINT ||
            (inst->kind == TGI_INST_LOAD &&
             k->loops->accesses.data[inst->number].index) ||
            (inst->kind != TGI_INST_LOAD && inst->kind != TGI_INST_OP &&
             inst->kind != TGI_INST_CAST))
            return false;
        for (int j = 0; j < inst->n_operands; j++)
            k->values[inst->operands[j]].sides |= side;
    }
    return n_loads == 1;
}

/* True if nothing of a side moves along an axis. */
static bool is_still(const tgi_llvm_kernel *k, uint8_t side, int axis)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = &k->loops->insts.data[i];
        if ((k->values[i].sides & side) &&
            inst->kind == TGI_INST_LOAD &&
            k->loops->accesses.data[inst->number].stride[axis].distance != 0)
            return false;
    }
    return true;
}

static bool find_sides(tgi_llvm_kernel *k)
{
    const tgi_reduction *r = reduction_of(k);
    uint32_t row = r->value, column = r->other;
    if (k->values[row].varies) {
        row = r->other;
        column = r->value;
    }
    if (k->values[row].varies || !k->values[column].varies)
        return false;
    k->product.row_axis = k->vector_axis - 1 - r->is_split;
    return k->product.row_axis >= 0 && mark(k, row, ROW_SIDE) &&
           mark(k, column, COLUMN_SIDE) &&
           is_still(k, COLUMN_SIDE, k->product.row_axis);
}

static bool is_product(tgi_llvm_kernel *k)
{
    const tgi_kernel_loops *loops = k->loops;
    return loops->vectors == TGI_COLUMNS && loops->reductions.n == 1 &&
           !loops->is_tiny && reduction_of(k)->op == TGI_OP_MATMUL &&
           !reduction_of(k)->is_cascade &&
           tgi_dtype_bytes(reduction_of(k)->dtype) >= 4 &&
           loops->extent[k->inner] != 0 && loops->extent[k->inner] != 1 &&
           find_sides(k);
}

/* The number of the access of a side. */
static uint32_t access_of(const tgi_llvm_kernel *k, uint8_t side)
{
    uint32_t i = 1;
    while (!(k->values[i].sides & side) ||
           k->values[i].level != TGI_LEVEL_INNER ||
           k->loops->insts.data[i].kind != TGI_INST_LOAD)
        i++;
    return k->loops->insts.data[i].number;
}

/* -- Sizes ----------------------------------------------------------------- */

static int64_t round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

static unsigned registers_for_sums(const tgi_llvm_kernel *k)
{
    const int dtype = reduction_of(k)->dtype;
    if (!tgi_dtype_is(dtype, TGI_CLASS_FLOAT))
        return tgi_dtype_bytes(dtype) == 8 ? SUMS_OF_LONGS
                                           : SUMS_OF_INTEGERS;
    return k->program->target->vector_bits == 512 ? SUMS_OF_32 : SUMS;
}

/* Rows of a tile: as many as registers allow, and tiles alike. */
static unsigned tile_rows(const tgi_llvm_kernel *k, unsigned lanes)
{
    const unsigned bytes =
        lanes * (unsigned)tgi_dtype_bytes(reduction_of(k)->dtype);
    const unsigned registers =
        (bytes * 8 + k->program->target->vector_bits - 1) /
        k->program->target->vector_bits;
    unsigned most = registers_for_sums(k) / registers;
    if (most > TGI_LLVM_TILE_ROWS)
        most = TGI_LLVM_TILE_ROWS;
    const tgi_dim m = k->loops->extent[k->product.row_axis];
    if (!tgi_dim_is_known(m))
        return most;
    const int64_t tiles = (m + most - 1) / most;
    return (unsigned)((m + tiles - 1) / tiles);
}

/* Items if each has so many rows, as far as that is known. */
static int64_t count_items(const tgi_llvm_kernel *k, int64_t rows,
                           unsigned lanes)
{
    int64_t items = 1;
    for (int axis = 0; axis <= k->vector_axis && items < FEW_ITEMS; axis++) {
        const tgi_dim extent = k->loops->extent[axis];
        const int64_t piece = axis == k->vector_axis        ? lanes
                              : axis == k->product.row_axis ? rows
                                                            : 1;
        if (tgi_dim_is_known(extent))
            items *= (extent + piece - 1) / piece;
    }
    return items;
}

/* Rows of an item: whole tiles. */
static int64_t item_rows(const tgi_llvm_kernel *k, unsigned lanes)
{
    const int64_t tile = k->product.rows;
    const tgi_dim inner = k->loops->extent[k->inner];
    const tgi_dim m = k->loops->extent[k->product.row_axis];
    const int64_t row_bytes =
        (tgi_dim_is_known(inner) ? inner : SOME_INNER) *
        tgi_dtype_bytes(reduction_of(k)->dtype);
    int64_t rows = BLOCK_BYTES / row_bytes / tile * tile;
    if (rows > MOST_TILES * tile)
        rows = MOST_TILES * tile;
    if (rows < 4 * tile)
        rows = 4 * tile;
    if (!tgi_dim_is_known(m))
        return rows;
    const int64_t blocks = (m + rows - 1) / rows;
    rows = round_up((m + blocks - 1) / blocks, tile);
    while (rows > tile && count_items(k, rows, lanes) < FEW_ITEMS)
        rows = round_up(rows / 2, tile);
    return rows;
}

/* True if the columns of an item are copied before they are used. */
static bool should_copy(const tgi_llvm_kernel *k)
{
    const tgi_dim n = k->loops->extent[k->vector_axis];
    const tgi_dim inner = k->loops->extent[k->inner];
    const tgi_dim m = k->loops->extent[k->product.row_axis];
    const tgi_access *access =
        &k->loops->accesses.data[access_of(k, COLUMN_SIDE)];
    if (access->sliver ||
        (tgi_dim_is_known(m) && m < FEW_TILES * (int64_t)k->product.rows))
        return false;
    return !tgi_llvm_is_plain(k, access) || !tgi_dim_is_known(n) ||
           !tgi_dim_is_known(inner) ||
           inner * tgi_dtype_bytes(reduction_of(k)->dtype) > NEAR_BYTES / n;
}

unsigned tgi_llvm_product_find(tgi_llvm_kernel *k, bool can_mask)
{
    k->product.rows = 0;
    if (!is_product(k))
        return 0;
    const tgi_dim n = k->loops->extent[k->vector_axis];
    unsigned lanes =
        TILE_BYTES / (unsigned)tgi_dtype_bytes(reduction_of(k)->dtype);
    while (tgi_dim_is_known(n) && lanes > 1 &&
           (can_mask ? lanes / 2 : lanes - 1) >= n)
        lanes /= 2;
    k->product.rows = tile_rows(k, lanes);
    k->product.item_rows = item_rows(k, lanes);
    k->product.copies = should_copy(k);
    return lanes;
}

/* -- Sums ------------------------------------------------------------------ */

/* The address of a side's load at a row, but for what moves in loops. */
static LLVMValueRef head_of(tgi_llvm_kernel *k, uint32_t access)
{
    LLVMValueRef column = k->index[k->vector_axis];
    k->index[k->vector_axis] = k->index[k->inner] = NULL;
    LLVMValueRef head =
        tgi_llvm_address_at(k, &k->loops->accesses.data[access]);
    k->index[k->vector_axis] = column;
    return head;
}

/* Emits a side where k->index is. */
static void emit_side(tgi_llvm_kernel *k, uint8_t side)
{
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if ((k->values[i].sides & side) &&
            k->values[i].level == TGI_LEVEL_INNER)
            tgi_llvm_inst(k, i);
}

static LLVMTypeRef row_type(const tgi_llvm_kernel *k)
{
    return tgi_llvm_type(k->e, reduction_of(k)->dtype);
}

/* A panel of the columns of an item, copied; NULL: they are not. */
typedef struct panel {
    LLVMValueRef memory, first; /* row by row, from the first on */
} panel;

/* A tile while it is computed. */
typedef struct tile {
    const panel *columns;
    unsigned height;
    uint32_t row_access;
    LLVMValueRef heads[TGI_LLVM_TILE_ROWS]; /* of it, by row */
    LLVMValueRef sums[TGI_LLVM_TILE_ROWS];
} tile;

static void find_columns(tgi_llvm_kernel *k)
{
    const uint32_t access = access_of(k, COLUMN_SIDE);
    k->product.heads[access] = head_of(k, access);
}

static void begin_tile(tgi_llvm_kernel *k, tile *t, LLVMValueRef row,
                       unsigned height)
{
    t->row_access = access_of(k, ROW_SIDE);
    t->height = height;
    for (unsigned r = 0; r < height; r++) {
        tgi_llvm_state state;
        tgi_llvm_start(k, 0, false, &state);
        t->sums[r] = state.part[0];
        k->index[k->product.row_axis] = tgi_llvm_add(
            k->program, row, tgi_llvm_number(k->program, r));
        t->heads[r] = head_of(k, t->row_access);
    }
    find_columns(k);
}

/* The inst whose value the column side is. */
static uint32_t column_inst(const tgi_llvm_kernel *k)
{
    const tgi_reduction *r = reduction_of(k);
    return k->values[r->value].varies ? r->value : r->other;
}

static LLVMValueRef panel_row(tgi_llvm_kernel *k, const panel *p,
                              LLVMValueRef at)
{
    LLVMValueRef row = LLVMBuildSub(k->b, at, p->first, "");
    return LLVMBuildGEP2(k->b, row_type(k), p->memory, &row, 1, "");
}

static void emit_columns(tgi_llvm_kernel *k, const panel *p, LLVMValueRef at)
{
    if (!p->memory) {
        emit_side(k, COLUMN_SIDE);
        return;
    }
    LLVMValueRef row =
        LLVMBuildLoad2(k->b, row_type(k), panel_row(k, p, at), "");
    LLVMSetAlignment(row, 4);
    k->values[column_inst(k)].value = row;
}

/* One step of k: the column side once, and the row side for every row. */
static void take_step(tgi_llvm_kernel *k, tile *t, LLVMValueRef at)
{
    k->index[k->inner] = at;
    emit_columns(k, t->columns, at);
    for (unsigned r = 0; r < t->height; r++) {
        tgi_llvm_state state = {{t->sums[r]}};
        k->product.heads[t->row_access] = t->heads[r];
        emit_side(k, ROW_SIDE);
        tgi_llvm_step(k, 0, false, &state);
        t->sums[r] = state.part[0];
    }
    k->index[k->inner] = NULL;
}

/* Sums of a panel. */
static void sum_tile(tgi_llvm_kernel *k, tile *t, LLVMValueRef row,
                     unsigned height, LLVMValueRef from, LLVMValueRef to)
{
    int64_t first, last;
    begin_tile(k, t, row, height);
    k->heads = k->product.heads;
    if (tgi_llvm_is_number(from, &first) && tgi_llvm_is_number(to, &last) &&
        last - first <= MOST_UNROLLED) {
        for (; first < last; first++)
            take_step(k, t, tgi_llvm_number(k->program, first));
    } else {
        tgi_llvm_loop loop;
        tgi_llvm_loop_begin(k, &loop, from, to, 1, t->sums, height);
        for (unsigned r = 0; r < height; r++)
            t->sums[r] = loop.carried[r];
        take_step(k, t, loop.index);
        tgi_llvm_loop_end(k, &loop, t->sums);
        for (unsigned r = 0; r < height; r++)
            t->sums[r] = loop.carried[r];
    }
    k->heads = NULL;
}

/* -- After the product ----------------------------------------------------- */

/* What is done with the results of a row. */
static void finish_row(tgi_llvm_kernel *k, LLVMValueRef row,
                       LLVMValueRef results)
{
    k->index[k->product.row_axis] = row;
    tgi_llvm_point_addresses(k);
    tgi_llvm_set_reduced(k, 0, results);
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        tgi_llvm_point_insts(k, phase, false);
        tgi_llvm_point_insts(k, phase, true);
        tgi_llvm_point_stores(k, phase);
    }
}

static unsigned cost_of_rest(const tgi_llvm_kernel *k)
{
    unsigned cost = 0;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (k->values[i].level == TGI_LEVEL_POINT)
            cost += tgi_llvm_inst_cost(k, &k->loops->insts.data[i]);
    return cost;
}

/* -- Totals on the stack --------------------------------------------------- */

/* Rows of vectors on the stack, from row `first` on. */
typedef struct rows {
    LLVMValueRef memory, first;
} rows;

static rows make_rows(tgi_llvm_kernel *k, int64_t n, LLVMValueRef first)
{
    LLVMTypeRef element =
        tgi_llvm_element_type(k->e, reduction_of(k)->dtype);
    return (rows){tgi_llvm_array(k, element, (unsigned)n * k->e->lanes),
                  first};
}

static LLVMValueRef row_at(tgi_llvm_kernel *k, const rows *s,
                           LLVMValueRef row)
{
    LLVMValueRef at = LLVMBuildSub(k->b, row, s->first, "");
    return LLVMBuildGEP2(k->b, row_type(k), s->memory, &at, 1, "");
}

static LLVMValueRef load_row(tgi_llvm_kernel *k, const rows *s,
                             LLVMValueRef row)
{
    LLVMValueRef value =
        LLVMBuildLoad2(k->b, row_type(k), row_at(k, s, row), "");
    LLVMSetAlignment(value, 4);
    return value;
}

static void store_row(tgi_llvm_kernel *k, const rows *s, LLVMValueRef row,
                      LLVMValueRef value)
{
    LLVMSetAlignment(LLVMBuildStore(k->b, value, row_at(k, s, row)), 4);
}

static void finish_rows(tgi_llvm_kernel *k, const rows *s, LLVMValueRef from,
                        LLVMValueRef to)
{
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, from, to, 1, NULL, 0);
    finish_row(k, loop.index, load_row(k, s, loop.index));
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* -- Items ----------------------------------------------------------------- */

/* What there is to do, in an item. */
typedef struct item {
    LLVMValueRef first, end; /* rows */
    LLVMValueRef from, to;   /* of the inner axis: of a panel, if there are
                                more than one */
    panel columns;
    bool has_totals;
    bool is_direct; /* the rest is done in registers */
    rows totals;    /* has_totals: of all rows; else of a tile, if it is not
                       direct */
} item;

static void run_tile(tgi_llvm_kernel *k, item *it, LLVMValueRef row,
                     unsigned height)
{
    tile t = {.columns = &it->columns};
    sum_tile(k, &t, row, height, it->from, it->to);
    if (!it->has_totals)
        it->totals.first = row;
    for (unsigned r = 0; r < height; r++) {
        LLVMValueRef at = tgi_llvm_add(k->program, row,
                                       tgi_llvm_number(k->program, r));
        if (it->has_totals)
            t.sums[r] = tgi_llvm_combine(
                k, 0, load_row(k, &it->totals, at), t.sums[r]);
        if (it->is_direct)
            finish_row(k, at, t.sums[r]);
        else
            store_row(k, &it->totals, at, t.sums[r]);
    }
    if (!it->has_totals && !it->is_direct)
        finish_rows(k, &it->totals, row,
                    tgi_llvm_add(k->program, row,
                                 tgi_llvm_number(k->program, height)));
}

/* Tiles of a height, one below the other, as far as they go from `row` on.
   Gives the row after them. */
static LLVMValueRef run_tiles(tgi_llvm_kernel *k, item *it, LLVMValueRef row,
                              unsigned height)
{
    LLVMValueRef size = tgi_llvm_number(k->program, height);
    LLVMValueRef n = LLVMBuildSub(k->b, it->end, row, "");
    n = LLVMBuildMul(k->b, LLVMBuildUDiv(k->b, n, size, ""), size, "");
    LLVMValueRef stop = tgi_llvm_add(k->program, row, n);
    int64_t number;
    if (tgi_llvm_is_number(n, &number) && number <= (int64_t)height) {
        if (number)
            run_tile(k, it, row, height);
        return stop;
    }
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, row, stop, height, NULL, 0);
    run_tile(k, it, loop.index, height);
    tgi_llvm_loop_end(k, &loop, NULL);
    return stop;
}

/* -- Copies ---------------------------------------------------------------- */

/* True if columns lie along memory, and nothing is done to them. */
static bool can_turn(const tgi_llvm_kernel *k)
{
    const tgi_inst *inst = &k->loops->insts.data[column_inst(k)];
    const tgi_access *access = &k->loops->accesses.data[inst->number];
    return inst->kind == TGI_INST_LOAD && k->e->lanes > 1 &&
           access->stride[k->inner].distance == 1 &&
           access->stride[k->vector_axis].distance != 1;
}

static void turn_columns(tgi_llvm_kernel *k, const item *it)
{
    const tgi_inst *inst = &k->loops->insts.data[column_inst(k)];
    const tgi_access *access = &k->loops->accesses.data[inst->number];
    LLVMValueRef lanes = tgi_llvm_number(k->program, k->e->lanes);
    LLVMValueRef left = LLVMBuildSub(
        k->b, tgi_llvm_dim(k, k->loops->extent[k->vector_axis]),
        k->index[k->vector_axis], "");
    k->index[k->inner] = it->from;
    const tgi_llvm_turn turn = {
        .k = k,
        .element = tgi_llvm_element_type(k->e, inst->dtype),
        .bytes = (unsigned)tgi_dtype_bytes(inst->dtype),
        .from = {.start = tgi_llvm_address_at(k, access),
                 .line = tgi_llvm_stride(k, access->stride[k->vector_axis]),
                 .is_backwards = access->stride[k->inner].is_negative},
        .to = {.start = it->columns.memory, .line = lanes},
        .n_lines = k->mask ? tgi_llvm_min(k->program, lanes, left) : lanes,
        .n_elements = LLVMBuildSub(k->b, it->to, it->from, ""),
    };
    k->index[k->inner] = NULL;
    tgi_llvm_turn_all(&turn, false);
}

/* The columns beside these are those of the next item. */
static void ask_for_next(tgi_llvm_kernel *k)
{
    const tgi_access *access =
        &k->loops->accesses.data[access_of(k, COLUMN_SIDE)];
    LLVMValueRef line = tgi_llvm_number(k->program, TILE_BYTES);
    if (access->stride[k->vector_axis].distance == 1)
        tgi_llvm_ask(k,
                     LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->e->context),
                                   tgi_llvm_address(k, access), &line, 1, ""),
                     1, false);
}

/* The columns of the panel, row by row. */
static void copy_columns(tgi_llvm_kernel *k, item *it)
{
    tgi_llvm_loop loop;
    it->columns.first = it->from;
    if (can_turn(k)) {
        turn_columns(k, it);
        return;
    }
    find_columns(k);
    k->heads = k->product.heads;
    tgi_llvm_loop_begin(k, &loop, it->from, it->to, 1, NULL, 0);
    k->index[k->inner] = loop.index;
    emit_side(k, COLUMN_SIDE);
    ask_for_next(k);
    LLVMSetAlignment(
        LLVMBuildStore(k->b, tgi_llvm_value_of(k, column_inst(k)),
                       panel_row(k, &it->columns, loop.index)),
        4);
    tgi_llvm_loop_end(k, &loop, NULL);
    k->index[k->inner] = NULL;
    k->heads = NULL;
}

/* All rows of an item. */
static void run_rows(tgi_llvm_kernel *k, item *it)
{
    if (it->columns.memory)
        copy_columns(k, it);
    const tgi_dim m = k->loops->extent[k->product.row_axis];
    unsigned height = k->product.rows;
    LLVMValueRef row = run_tiles(k, it, it->first, height);
    if (tgi_dim_is_known(m)) {
        if (m % height)
            run_tiles(k, it, row, (unsigned)(m % height));
        return;
    }
    while (height > 1) {
        height = height > 3 ? height / 2 : 1;
        row = run_tiles(k, it, row, height);
    }
}

LLVMValueRef tgi_llvm_total_start(tgi_llvm_kernel *k, LLVMValueRef from,
                                  LLVMValueRef to)
{
    const tg_dtype dtype = reduction_of(k)->dtype;
    LLVMValueRef zero = tgi_llvm_constant(k->e, dtype, 0);
    if (!tgi_dtype_is((int)dtype, TGI_CLASS_FLOAT))
        return zero;
    /* x + -0 is x for every x; without any x it is +0. */
    const unsigned bits = 8 * (unsigned)tgi_dtype_bytes((int)dtype);
    LLVMValueRef identity =
        tgi_llvm_constant(k->e, dtype, UINT64_C(1) << (bits - 1));
    LLVMValueRef is_any = LLVMBuildICmp(k->b, LLVMIntSLT, from, to, "");
    return LLVMBuildSelect(k->b, is_any, identity, zero, "");
}

/* Panels one after the other, each for all rows. */
static void run_panels(tgi_llvm_kernel *k, item *it)
{
    LLVMValueRef from = it->from, to = it->to;
    LLVMValueRef size = tgi_llvm_number(k->program, TGI_BLOCK_ROWS);
    tgi_llvm_loop clear, panels;
    it->totals = make_rows(k, k->product.item_rows, it->first);
    it->has_totals = true;
    LLVMValueRef start = tgi_llvm_total_start(k, from, to);
    tgi_llvm_loop_begin(k, &clear, it->first, it->end, 1, NULL, 0);
    store_row(k, &it->totals, clear.index, start);
    tgi_llvm_loop_end(k, &clear, NULL);

    tgi_llvm_loop_begin(k, &panels, from, to, TGI_BLOCK_ROWS, NULL, 0);
    it->from = panels.index;
    it->to = tgi_llvm_min(k->program, to,
                          tgi_llvm_add(k->program, panels.index, size));
    run_rows(k, it);
    tgi_llvm_loop_end(k, &panels, NULL);
    finish_rows(k, &it->totals, it->first, it->end);
}

void tgi_llvm_product_run(tgi_llvm_kernel *k, LLVMValueRef block,
                          LLVMValueRef from, LLVMValueRef to)
{
    LLVMValueRef size =
        tgi_llvm_number(k->program, k->product.item_rows);
    LLVMValueRef m =
        tgi_llvm_dim(k, k->loops->extent[k->product.row_axis]);
    item it = {.first = tgi_llvm_mul(k->program, block, size),
               .from = from,
               .to = to};
    int64_t n;
    it.end = tgi_llvm_min(k->program, m,
                          tgi_llvm_add(k->program, it.first, size));
    if (k->product.copies)
        it.columns.memory = tgi_llvm_array(
            k, tgi_llvm_element_type(k->e, reduction_of(k)->dtype),
            TGI_BLOCK_ROWS * k->e->lanes);
    if (!k->is_split &&
        !(tgi_llvm_is_number(to, &n) && n <= TGI_BLOCK_ROWS)) {
        run_panels(k, &it);
        return;
    }
    it.is_direct = cost_of_rest(k) <= MOST_DIRECT;
    if (!it.is_direct)
        it.totals = make_rows(k, k->product.rows, it.first);
    run_rows(k, &it);
}
