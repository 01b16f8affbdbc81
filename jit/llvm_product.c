/* SPDX-License-Identifier: MIT */
/*
 * llvm_product.c - matrix products: kernels of COLUMNS with one MATMUL, one
 * side of which is the same in all lanes, and the other in all rows.
 *
 * A tile of a few rows and one vector of columns has its sums in registers:
 * what is loaded of a side serves all of the other. An item is a block of
 * rows, tile below tile, whose columns of one panel stay in the first cache
 * meanwhile; and what it reads of its rows stays in the second cache for the
 * columns beside them. Those are other items, or if there are many panels
 * other slivers of this one, panel by panel.
 *
 * Columns that lie far apart are copied to the stack first, a panel at a time
 * (if there are many blocks, another kernel has packed them for all:
 * fuse_product.c). If there are more panels than one, totals wait on the
 * stack. Whatever comes after the product is done where a tile's sums are: in
 * registers if that is little, else in a loop over their rows.
 */
#include "llvm_lower.h"

enum {
    LINE = 64,          /* bytes */
    SMALL_BYTES = 64 << 10, /* of a matrix that is asked for as a whole … */
    LEAST_STEPS = 1 << 14,  /* … by a product of so many steps at least */
    MOST_UNROLLED = 16, /* steps of a panel without a loop */
    MOST_DIRECT = 6     /* words after the product, done in registers */
};

static const tgi_reduction *reduction_of(const tgi_llvm_kernel *k)
{
    return &k->loops->reductions.data[0];
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
            k->values[i].level != TGI_LEVEL_KERNEL)
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
    const uint32_t access = tgi_llvm_product_access(k, TGI_LLVM_COLUMN_SIDE);
    k->product.heads[access] = head_of(k, access);
}

static void begin_tile(tgi_llvm_kernel *k, tile *t, LLVMValueRef row,
                       unsigned height)
{
    t->row_access = tgi_llvm_product_access(k, TGI_LLVM_ROW_SIDE);
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
        emit_side(k, TGI_LLVM_COLUMN_SIDE);
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
        emit_side(k, TGI_LLVM_ROW_SIDE);
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

/* Rows of elements on the stack, from row `first` on, so many in each; the
   current lanes begin at `column`. */
typedef struct rows {
    LLVMValueRef memory, first, column;
    unsigned width;
} rows;

static rows make_rows(tgi_llvm_kernel *k, int64_t n, LLVMValueRef first)
{
    LLVMTypeRef element =
        tgi_llvm_element_type(k->e, reduction_of(k)->dtype);
    return (rows){.memory = tgi_llvm_array(k, element,
                                           (unsigned)n * k->e->lanes),
                  .first = first,
                  .column = tgi_llvm_number(k->program, 0),
                  .width = k->e->lanes};
}

static LLVMValueRef row_at(tgi_llvm_kernel *k, const rows *s,
                           LLVMValueRef row)
{
    LLVMTypeRef element =
        tgi_llvm_element_type(k->e, reduction_of(k)->dtype);
    LLVMValueRef at = tgi_llvm_mul(
        k->program, LLVMBuildSub(k->b, row, s->first, ""),
        tgi_llvm_number(k->program, s->width));
    at = tgi_llvm_add(k->program, at, s->column);
    return LLVMBuildGEP2(k->b, element, s->memory, &at, 1, "");
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

/* -- Asking ahead ---------------------------------------------------------- */

/* Bytes of a side of one matrix of a batch, if the next one is to be asked
   for; else 0. */
static int64_t bytes_to_ask(const tgi_llvm_kernel *k, uint8_t side)
{
    const int axis = k->product.row_axis;
    const tgi_dim m = k->loops->extent[axis];
    const tgi_dim n = k->loops->extent[k->vector_axis];
    const tgi_dim inner = k->loops->extent[k->inner];
    const tgi_access *access =
        &k->loops->accesses.data[tgi_llvm_product_access(k, side)];
    if (axis == 0 || k->is_split || access->sliver || !tgi_dim_is_known(m) ||
        !tgi_dim_is_known(n) || !tgi_dim_is_known(inner) ||
        m > SMALL_BYTES || n > SMALL_BYTES || inner > SMALL_BYTES ||
        m * n * inner < LEAST_STEPS)
        return 0;
    const tgi_dim kept = side == TGI_LLVM_ROW_SIDE ? m : n;
    const int64_t bytes =
        kept * inner * tgi_dtype_bytes(reduction_of(k)->dtype);
    const tgi_stride stride = access->stride[axis - 1];
    return bytes <= SMALL_BYTES && !stride.is_negative &&
                   stride.distance == kept * inner
               ? bytes
               : 0;
}

/* Each tile of a product asks for its part of the next matrix: what is read
   of a small one is too little for the CPU to find out where it goes on. */
static void ask_for_matrix(tgi_llvm_kernel *k, uint8_t side, LLVMValueRef row)
{
    const tgi_llvm_program *program = k->program;
    const int64_t bytes = bytes_to_ask(k, side);
    if (!bytes)
        return;
    const int64_t lanes = k->phases[0].lanes, height = k->product.rows;
    const int64_t m = k->loops->extent[k->product.row_axis];
    const int64_t n = k->loops->extent[k->vector_axis];
    const int64_t tiles = (m + height - 1) / height;
    const int64_t chunks = (n + lanes - 1) / lanes;
    const int64_t lines = (bytes + LINE - 1) / LINE;
    const int64_t share = (lines + tiles * chunks - 1) / (tiles * chunks);
    LLVMValueRef column = k->index[k->vector_axis];
    LLVMValueRef part = tgi_llvm_add(
        program,
        tgi_llvm_mul(program,
                     LLVMBuildUDiv(k->b, column,
                                   tgi_llvm_number(program, lanes), ""),
                     tgi_llvm_number(program, tiles)),
        LLVMBuildUDiv(k->b, row, tgi_llvm_number(program, height), ""));
    k->index[k->product.row_axis] = tgi_llvm_number(program, 0);
    LLVMValueRef matrix = head_of(k, tgi_llvm_product_access(k, side));
    LLVMValueRef from = tgi_llvm_add(
        program, tgi_llvm_number(program, bytes),
        tgi_llvm_mul(program, part, tgi_llvm_number(program, share * LINE)));
    tgi_llvm_ask(k,
                 LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->e->context),
                               matrix, &from, 1, ""),
                 share * LINE, false);
}

/* Asks for the lines that the results of a tile go to, while it is computed:
   stores end in order, each would wait for its line. */
static void ask_for_results(tgi_llvm_kernel *k, LLVMValueRef row,
                            unsigned height)
{
    const tgi_dim inner = k->loops->extent[k->inner];
    if (tgi_dim_is_known(inner) && inner < MOST_UNROLLED)
        return;
    k->index[k->inner] = NULL;
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_access *access =
            &k->loops->accesses.data[k->loops->stores.data[i].access];
        for (unsigned r = 0; r < height; r++) {
            k->index[k->product.row_axis] = tgi_llvm_add(
                k->program, row, tgi_llvm_number(k->program, r));
            tgi_llvm_ask(k, tgi_llvm_address_at(k, access), 1, true);
        }
    }
}

static void run_tile(tgi_llvm_kernel *k, item *it, LLVMValueRef row,
                     unsigned height)
{
    tile t = {.columns = &it->columns};
    if (!it->has_totals) {
        ask_for_results(k, row, height);
        ask_for_matrix(k, TGI_LLVM_ROW_SIDE, row);
        ask_for_matrix(k, TGI_LLVM_COLUMN_SIDE, row);
    }
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

/* Tiles of a height, one below the other, as far as they go from `row` to
   `end`. Gives the row after them. */
static LLVMValueRef run_tiles(tgi_llvm_kernel *k, item *it, LLVMValueRef row,
                              LLVMValueRef end, unsigned height)
{
    LLVMValueRef size = tgi_llvm_number(k->program, height);
    LLVMValueRef n = LLVMBuildSub(k->b, end, row, "");
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

/* Columns that lie along memory, into rows of the panel. */
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
    const uint32_t number =
        tgi_llvm_product_access(k, TGI_LLVM_COLUMN_SIDE);
    const tgi_access *access = &k->loops->accesses.data[number];
    LLVMValueRef line = tgi_llvm_number(k->program, LINE);
    if (access->stride[k->vector_axis].distance == 1)
        tgi_llvm_ask(k,
                     LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->e->context),
                                   tgi_llvm_address(k, access), &line, 1, ""),
                     1, false);
}

/* Rows of the panel from `from` on, so many at a time. */
static void copy_rows(tgi_llvm_kernel *k, const item *it, LLVMValueRef from,
                      LLVMValueRef to, int step)
{
    tgi_llvm_loop loop;
    if (tgi_llvm_are_same(from, to))
        return;
    tgi_llvm_loop_begin(k, &loop, from, to, step, NULL, 0);
    for (int i = 0; i < step; i++) {
        LLVMValueRef row = tgi_llvm_add(k->program, loop.index,
                                        tgi_llvm_number(k->program, i));
        k->index[k->inner] = row;
        emit_side(k, TGI_LLVM_COLUMN_SIDE);
        ask_for_next(k);
        LLVMSetAlignment(
            LLVMBuildStore(k->b, tgi_llvm_value_of(k, column_inst(k)),
                           panel_row(k, &it->columns, row)),
            4);
    }
    tgi_llvm_loop_end(k, &loop, NULL);
    k->index[k->inner] = NULL;
}

/* The columns of the panel, row by row. */
static void copy_columns(tgi_llvm_kernel *k, item *it)
{
    enum { STEP = 4 };
    it->columns.first = it->from;
    if (k->product.turns) {
        turn_columns(k, it);
        return;
    }
    find_columns(k);
    k->heads = k->product.heads;
    LLVMValueRef last = tgi_llvm_full_end(k, it->from, it->to, STEP);
    copy_rows(k, it, it->from, last, STEP);
    copy_rows(k, it, last, it->to, 1);
    k->heads = NULL;
}

/* All rows there are, by tiles that differ by one row at most: a low tile has
   too few sums to be quick. */
static void run_all_rows(tgi_llvm_kernel *k, item *it, int64_t m)
{
    const int64_t tiles = (m + k->product.rows - 1) / k->product.rows;
    const int64_t low = m / tiles, n_high = m % tiles;
    LLVMValueRef middle =
        tgi_llvm_number(k->program, n_high * (low + 1));
    run_tiles(k, it, tgi_llvm_number(k->program, 0), middle,
              (unsigned)low + 1);
    run_tiles(k, it, middle, tgi_llvm_number(k->program, m), (unsigned)low);
}

/* All rows of an item. */
static void run_rows(tgi_llvm_kernel *k, item *it)
{
    if (it->columns.memory)
        copy_columns(k, it);
    const tgi_dim m = k->loops->extent[k->product.row_axis];
    unsigned height = k->product.rows;
    if (tgi_dim_is_known(m) && m <= k->product.item_rows) {
        run_all_rows(k, it, m);
        return;
    }
    LLVMValueRef row = run_tiles(k, it, it->first, it->end, height);
    if (tgi_dim_is_known(m)) {
        if (m % height)
            run_tiles(k, it, row, it->end, (unsigned)(m % height));
        return;
    }
    while (height > 1) {
        height = height > 3 ? height / 2 : 1;
        row = run_tiles(k, it, row, it->end, height);
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

static void clear_rows(tgi_llvm_kernel *k, const rows *s, LLVMValueRef end,
                       LLVMValueRef start)
{
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, s->first, end, 1, NULL, 0);
    store_row(k, s, loop.index, start);
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* Begins a loop over panels; the item is that of one of them. */
static void begin_panels(tgi_llvm_kernel *k, item *it, tgi_llvm_loop *panels)
{
    LLVMValueRef size = tgi_llvm_number(k->program, TGI_BLOCK_ROWS);
    LLVMValueRef to = it->to;
    tgi_llvm_loop_begin(k, panels, it->from, to, TGI_BLOCK_ROWS, NULL, 0);
    it->from = panels->index;
    it->to = tgi_llvm_min(k->program, to,
                          tgi_llvm_add(k->program, panels->index, size));
}

/* Panels one after the other, each for all rows. */
static void run_panels(tgi_llvm_kernel *k, item *it)
{
    tgi_llvm_loop panels;
    it->totals = make_rows(k, k->product.item_rows, it->first);
    it->has_totals = true;
    clear_rows(k, &it->totals, it->end,
               tgi_llvm_total_start(k, it->from, it->to));
    begin_panels(k, it, &panels);
    run_rows(k, it);
    tgi_llvm_loop_end(k, &panels, NULL);
    finish_rows(k, &it->totals, it->first, it->end);
}

static item begin_item(tgi_llvm_kernel *k, LLVMValueRef from, LLVMValueRef to)
{
    LLVMValueRef size =
        tgi_llvm_number(k->program, k->product.item_rows);
    LLVMValueRef m =
        tgi_llvm_dim(k, k->loops->extent[k->product.row_axis]);
    item it = {.first = tgi_llvm_mul(k->program,
                                     k->index[k->product.row_axis], size),
               .from = from,
               .to = to};
    it.end = tgi_llvm_min(k->program, m,
                          tgi_llvm_add(k->program, it.first, size));
    return it;
}

void tgi_llvm_product_run(tgi_llvm_kernel *k, LLVMValueRef from,
                          LLVMValueRef to)
{
    LLVMValueRef block = k->index[k->product.row_axis];
    item it = begin_item(k, from, to);
    int64_t n;
    if (k->product.copies)
        it.columns.memory = tgi_llvm_array(
            k, tgi_llvm_element_type(k->e, reduction_of(k)->dtype),
            TGI_BLOCK_ROWS * k->e->lanes);
    if (!k->is_split &&
        !(tgi_llvm_is_number(to, &n) && n <= TGI_BLOCK_ROWS)) {
        run_panels(k, &it);
    } else {
        it.is_direct = cost_of_rest(k) <= MOST_DIRECT;
        if (!it.is_direct)
            it.totals = make_rows(k, k->product.rows, it.first);
        run_rows(k, &it);
    }
    k->index[k->product.row_axis] = block;
}

/* -- Many slivers ---------------------------------------------------------- */

/* Totals of all slivers, one after the other. */
typedef struct sliver_totals {
    item *it;
    LLVMValueRef column; /* the first of all */
    rows all;
} sliver_totals;

/* Where the totals of a column are; all lanes of a sliver, or fewer. */
static rows totals_at(tgi_llvm_kernel *k, const sliver_totals *s,
                      LLVMValueRef column)
{
    const tgi_llvm_program *program = k->program;
    LLVMValueRef width = tgi_llvm_number(program, s->all.width);
    LLVMValueRef from_first = LLVMBuildSub(k->b, column, s->column, "");
    LLVMValueRef size = tgi_llvm_number(
        program, k->product.item_rows * (int64_t)s->all.width);
    rows at = s->all;
    at.column = tgi_llvm_add(
        program,
        tgi_llvm_mul(program, LLVMBuildUDiv(k->b, from_first, width, ""),
                     size),
        LLVMBuildURem(k->b, from_first, width, ""));
    return at;
}

static void finish_columns(tgi_llvm_kernel *k, LLVMValueRef column,
                           void *user)
{
    const sliver_totals *s = user;
    const rows totals = totals_at(k, s, column);
    k->index[k->vector_axis] = column;
    finish_rows(k, &totals, s->it->first, s->it->end);
}

void tgi_llvm_product_slivers(tgi_llvm_kernel *k, LLVMValueRef column,
                              LLVMValueRef n)
{
    const unsigned lanes = k->e->lanes, slivers = k->product.slivers;
    LLVMValueRef zero = tgi_llvm_number(k->program, 0);
    LLVMValueRef to = tgi_llvm_dim(k, k->loops->extent[k->inner]);
    LLVMValueRef block = k->index[k->product.row_axis];
    LLVMValueRef end = tgi_llvm_min(
        k->program, n,
        tgi_llvm_add(k->program, column,
                     tgi_llvm_number(k->program, slivers * lanes)));
    item it = begin_item(k, zero, to);
    sliver_totals s = {
        .it = &it,
        .column = column,
        .all = make_rows(k, k->product.item_rows * slivers, it.first)};
    LLVMValueRef start = tgi_llvm_total_start(k, zero, to);
    tgi_llvm_loop panels, along;
    it.has_totals = true;
    tgi_llvm_loop_begin(k, &along, column, end, lanes, NULL, 0);
    it.totals = totals_at(k, &s, along.index);
    clear_rows(k, &it.totals, it.end, start);
    tgi_llvm_loop_end(k, &along, NULL);

    begin_panels(k, &it, &panels);
    tgi_llvm_loop_begin(k, &along, column, end, lanes, NULL, 0);
    k->index[k->vector_axis] = along.index;
    it.totals = totals_at(k, &s, along.index);
    run_rows(k, &it);
    tgi_llvm_loop_end(k, &along, NULL);
    tgi_llvm_loop_end(k, &panels, NULL);

    tgi_llvm_loop_begin(k, &along, column, end, lanes, NULL, 0);
    tgi_llvm_at_columns(k, along.index, n, finish_columns, &s);
    k->e->lanes = lanes;
    tgi_llvm_loop_end(k, &along, NULL);
    k->index[k->vector_axis] = NULL;
    k->index[k->product.row_axis] = block;
}
