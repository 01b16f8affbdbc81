/* SPDX-License-Identifier: MIT */
/*
 * llvm_matmul.c - matrix products: kernels of COLUMNS with one MATMUL, one
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
 * fuse_matmul.c). If there are more panels than one, totals wait on the
 * stack. Whatever comes after the product is done where a tile's sums are: in
 * registers if that is little, else in a loop over their rows.
 *
 * Most products have their tiles from functions, which all of a program share:
 * those add to totals, also if there is one panel only, and what comes after is
 * a loop over the rows of the item.
 */
#include "llvm/llvm_matmul.h"
#include "llvm/llvm_access.h"
#include "llvm/llvm_columns_step.h"
#include "llvm/llvm_cost.h"
#include "llvm/llvm_emit.h"
#include "llvm/llvm_flow.h"
#include "llvm/llvm_frame.h"
#include "llvm/llvm_inst.h"
#include "llvm/llvm_kernel_state.h"
#include "llvm/llvm_program.h"
#include "llvm/llvm_reduce.h"
#include "llvm/llvm_target.h"

/* Words after the product that are done in registers, at most. */
enum { MOST_DIRECT = 6 };

/* -- After the product ----------------------------------------------------- */

/* What is done with the results of a row. */
static void finish_row(tgi_llvm_kernel *k, LLVMValueRef row,
                       LLVMValueRef results)
{
    k->index[k->analysis.matmul.row_axis] = row;
    tgi_llvm_point_addresses_emit(k);
    tgi_llvm_set_reduced(k, 0, results);
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        tgi_llvm_point_insts_emit(k, phase, false);
        tgi_llvm_point_insts_emit(k, phase, true);
        tgi_llvm_point_stores_emit(k, phase);
    }
    tgi_llvm_epilogue_accumulate(k, row);
}

static unsigned cost_of_rest(const tgi_llvm_kernel *k)
{
    unsigned cost = tgi_llvm_epilogue_cost(&k->analysis);
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (k->analysis.insts[i].level == TGI_LEVEL_POINT)
            cost += tgi_llvm_inst_cost(&k->analysis, &k->loops->insts.data[i]);
    return cost;
}

/* -- Totals on the stack --------------------------------------------------- */

/* Rows of elements on the stack, from row `first` on, so many in each; the
   current lanes begin at `column`. */
typedef struct rows {
    LLVMValueRef memory, first, column;
    unsigned width;
} rows;

static tg_dtype dtype_of(const tgi_llvm_kernel *k)
{
    return (tg_dtype)tgi_llvm_matmul_reduction(&k->analysis)->dtype;
}

static rows make_rows(tgi_llvm_kernel *k, int64_t n, LLVMValueRef first)
{
    LLVMTypeRef element = tgi_llvm_element_type(k->e, dtype_of(k));
    return (rows){
        .memory = tgi_llvm_stack_array(k, element, (unsigned)n * k->e->lanes),
        .first = first,
        .column = tgi_llvm_const_i64(k->program, 0),
        .width = k->e->lanes};
}

static LLVMValueRef row_at(tgi_llvm_kernel *k, const rows *s, LLVMValueRef row)
{
    LLVMTypeRef element = tgi_llvm_element_type(k->e, dtype_of(k));
    LLVMValueRef at =
        tgi_llvm_mul(k->program, LLVMBuildSub(k->b, row, s->first, ""),
                     tgi_llvm_const_i64(k->program, s->width));
    at = tgi_llvm_add(k->program, at, s->column);
    return LLVMBuildGEP2(k->b, element, s->memory, &at, 1, "");
}

static LLVMValueRef load_row(tgi_llvm_kernel *k, const rows *s,
                             LLVMValueRef row)
{
    LLVMValueRef value = LLVMBuildLoad2(k->b, tgi_llvm_type(k->e, dtype_of(k)),
                                        row_at(k, s, row), "");
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
    LLVMValueRef parts[TGI_LLVM_MAX_CARRIED];
    const unsigned n = tgi_llvm_column_epilogue_load(k, parts);
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, from, to, 1, parts, n);
    tgi_llvm_column_epilogue_set(k, loop.carried);
    finish_row(k, loop.index, load_row(k, s, loop.index));
    tgi_llvm_column_epilogue_get(k, parts);
    tgi_llvm_loop_end(k, &loop, parts);
    tgi_llvm_column_epilogue_set(k, loop.carried);
    tgi_llvm_column_epilogue_store(k);
}

/* -- Items ----------------------------------------------------------------- */

/* What there is to do, in an item. */
typedef struct item {
    LLVMValueRef first, end; /* rows */
    LLVMValueRef from, to;   /* of the inner axis: of a panel, if there are
                                more than one */
    tgi_llvm_packed_panel columns;
    bool is_shared;  /* tiles are functions */
    bool has_panels; /* more than one */
    bool has_totals;
    bool is_direct; /* the rest is done in registers */
    rows totals;    /* has_totals: of all rows; else of a tile, if it is not
                       direct */
    LLVMValueRef nothing; /* is_shared: a row that the first panel adds to */
    tgi_llvm_micro_kernel_args tiles; /* is_shared */
} item;

static void run_tile(tgi_llvm_kernel *k, item *it, LLVMValueRef row,
                     unsigned height)
{
    tgi_llvm_micro_kernel t = {.columns = &it->columns};
    if (!it->has_totals)
        tgi_llvm_micro_kernel_prefetch(k, row, height);
    tgi_llvm_micro_kernel_emit(k, &t, row, height, it->from, it->to);
    if (!it->has_totals)
        it->totals.first = row;
    LLVMValueRef parts[TGI_LLVM_MAX_CARRIED];
    if (it->is_direct)
        tgi_llvm_column_epilogue_load(k, parts);
    for (unsigned r = 0; r < height; r++) {
        LLVMValueRef at =
            tgi_llvm_add(k->program, row, tgi_llvm_const_i64(k->program, r));
        if (it->has_totals)
            t.sums[r] = tgi_llvm_reduce_combine(
                k, 0, load_row(k, &it->totals, at), t.sums[r]);
        if (it->is_direct)
            finish_row(k, at, t.sums[r]);
        else
            store_row(k, &it->totals, at, t.sums[r]);
    }
    if (it->is_direct)
        tgi_llvm_column_epilogue_store(k);
    if (!it->has_totals && !it->is_direct)
        finish_rows(k, &it->totals, row,
                    tgi_llvm_add(k->program, row,
                                 tgi_llvm_const_i64(k->program, height)));
}

/* Tiles of a height, one below the other, as far as they go from `row` to
   `end`. Gives the row after them. */
static LLVMValueRef run_tiles(tgi_llvm_kernel *k, item *it, LLVMValueRef row,
                              LLVMValueRef end, unsigned height)
{
    LLVMValueRef size = tgi_llvm_const_i64(k->program, height);
    LLVMValueRef n_tiles =
        LLVMBuildUDiv(k->b, LLVMBuildSub(k->b, end, row, ""), size, "");
    LLVMValueRef n = LLVMBuildMul(k->b, n_tiles, size, "");
    LLVMValueRef stop = tgi_llvm_add(k->program, row, n);
    int64_t number;
    if (it->is_shared) {
        if (!tgi_llvm_is_const_i64(n, &number) || number)
            tgi_llvm_micro_kernel_call(k, &it->tiles, height, n_tiles);
        return stop;
    }
    if (tgi_llvm_is_const_i64(n, &number) && number <= (int64_t)height) {
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

/* All rows there are, by tiles that differ by one row at most: a low tile has
   too few sums to be quick. */
static void run_all_rows(tgi_llvm_kernel *k, item *it, int64_t m)
{
    const int64_t tiles =
        (m + k->analysis.matmul.mr - 1) / k->analysis.matmul.mr;
    const int64_t low = m / tiles, n_high = m % tiles;
    LLVMValueRef middle = tgi_llvm_const_i64(k->program, n_high * (low + 1));
    run_tiles(k, it, tgi_llvm_const_i64(k->program, 0), middle,
              (unsigned)low + 1);
    run_tiles(k, it, middle, tgi_llvm_const_i64(k->program, m), (unsigned)low);
}

/* Of m rows those of an item. All items have whole tiles but the last, whose
   tiles are alike if that takes no third height. */
static void run_some_rows(tgi_llvm_kernel *k, item *it, int64_t m)
{
    const int64_t height = k->analysis.matmul.mr;
    const int64_t last = m % k->analysis.matmul.item_rows;
    const int64_t tiles = (last + height - 1) / height;
    int64_t low = last % height, high_rows = last - low;
    if (low && (last / tiles == height - 1 || last % tiles == 0)) {
        low = last / tiles;
        high_rows = last % tiles * height;
    }
    LLVMValueRef middle = it->end;
    if (low) {
        LLVMValueRef size =
            tgi_llvm_const_i64(k->program, k->analysis.matmul.item_rows);
        LLVMValueRef n = LLVMBuildSub(k->b, it->end, it->first, "");
        middle = tgi_llvm_add(k->program, it->first,
                              tgi_llvm_const_i64(k->program, high_rows));
        middle =
            LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, n, size, ""),
                            it->end, middle, "");
    }
    run_tiles(k, it, it->first, middle, (unsigned)height);
    if (low)
        run_tiles(k, it, middle, it->end, (unsigned)low);
}

/* Tells shared tiles where their panel is. */
static void begin_tiles(tgi_llvm_kernel *k, item *it)
{
    tgi_llvm_micro_kernel_args *tiles = &it->tiles;
    LLVMValueRef zero = tgi_llvm_const_i64(k->program, 0);
    tiles->columns = &it->columns;
    tiles->row = it->first;
    tiles->from = it->from;
    tiles->to = it->to;
    tiles->out = row_at(k, &it->totals, it->first);
    tiles->totals = it->nothing;
    tiles->total_stride = zero;
    if (it->has_panels) {
        LLVMValueRef is_first =
            LLVMBuildICmp(k->b, LLVMIntEQ, it->from, zero, "");
        tiles->totals =
            LLVMBuildSelect(k->b, is_first, it->nothing, tiles->out, "");
        tiles->total_stride = LLVMBuildSelect(
            k->b, is_first, zero,
            tgi_llvm_const_i64(k->program, it->totals.width), "");
    }
    tgi_llvm_micro_kernel_args_set(k, tiles);
}

/* All rows of an item. */
static void run_rows(tgi_llvm_kernel *k, item *it)
{
    if (it->columns.memory)
        tgi_llvm_panel_pack(k, &it->columns, it->from, it->to);
    if (it->is_shared)
        begin_tiles(k, it);
    const tgi_dim m = k->loops->extent[k->analysis.matmul.row_axis];
    unsigned height = k->analysis.matmul.mr;
    if (tgi_dim_is_known(m) && m <= k->analysis.matmul.item_rows) {
        run_all_rows(k, it, m);
        return;
    }
    if (tgi_dim_is_known(m)) {
        run_some_rows(k, it, m);
        return;
    }
    LLVMValueRef row = run_tiles(k, it, it->first, it->end, height);
    while (height > 1) {
        height = height > 3 ? height / 2 : 1;
        row = run_tiles(k, it, row, it->end, height);
    }
}

static void clear_rows(tgi_llvm_kernel *k, const rows *s, LLVMValueRef end,
                       LLVMValueRef start)
{
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, s->first, end, 1, NULL, 0);
    store_row(k, s, loop.index, start);
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* A row to which sums are added, and stay as they are; if there are none, they
   are 0. */
static LLVMValueRef make_nothing(tgi_llvm_kernel *k, LLVMValueRef from,
                                 LLVMValueRef to)
{
    const rows row = make_rows(k, 1, tgi_llvm_const_i64(k->program, 0));
    store_row(k, &row, row.first, tgi_llvm_matmul_start(k, from, to));
    return row.memory;
}

/* Begins a loop over panels; the item is that of one of them. Totals of shared
   tiles come from the first, which there is even of no elements. */
static void begin_panels(tgi_llvm_kernel *k, item *it, tgi_llvm_loop *panels)
{
    LLVMValueRef size = tgi_llvm_const_i64(k->program, TGI_BLOCK_ROWS);
    LLVMValueRef to = it->to;
    if (it->is_shared)
        tgi_llvm_loop_begin_nonempty(k, panels, it->from, to, TGI_BLOCK_ROWS);
    else
        tgi_llvm_loop_begin(k, panels, it->from, to, TGI_BLOCK_ROWS, NULL, 0);
    it->from = panels->index;
    it->to = tgi_llvm_min(k->program, to,
                          tgi_llvm_add(k->program, panels->index, size));
}

/* Panels one after the other, each for all rows. */
static void run_panels(tgi_llvm_kernel *k, item *it)
{
    tgi_llvm_loop panels;
    it->totals = make_rows(k, k->analysis.matmul.item_rows, it->first);
    it->has_totals = true;
    clear_rows(k, &it->totals, it->end,
               tgi_llvm_matmul_start(k, it->from, it->to));
    begin_panels(k, it, &panels);
    run_rows(k, it);
    tgi_llvm_loop_end(k, &panels, NULL);
    finish_rows(k, &it->totals, it->first, it->end);
}

/* Tiles from functions, of one panel or of all. */
static void run_shared(tgi_llvm_kernel *k, item *it)
{
    tgi_llvm_loop panels;
    it->totals = make_rows(k, k->analysis.matmul.item_rows, it->first);
    it->nothing = make_nothing(k, it->from, it->to);
    tgi_llvm_micro_kernel_args_init(k, &it->tiles, it->columns.memory != NULL);
    if (it->has_panels)
        begin_panels(k, it, &panels);
    run_rows(k, it);
    if (it->has_panels)
        tgi_llvm_loop_end(k, &panels, NULL);
    finish_rows(k, &it->totals, it->first, it->end);
}

void tgi_llvm_matmul_item_rows(tgi_llvm_kernel *k, LLVMValueRef *out_first,
                               LLVMValueRef *out_end)
{
    LLVMValueRef size =
        tgi_llvm_const_i64(k->program, k->analysis.matmul.item_rows);
    LLVMValueRef m =
        tgi_llvm_dim(k, k->loops->extent[k->analysis.matmul.row_axis]);
    *out_first =
        tgi_llvm_mul(k->program, k->index[k->analysis.matmul.row_axis], size);
    *out_end =
        tgi_llvm_min(k->program, m, tgi_llvm_add(k->program, *out_first, size));
}

static item begin_item(tgi_llvm_kernel *k, LLVMValueRef from, LLVMValueRef to)
{
    item it = {.from = from,
               .to = to,
               .is_shared = tgi_llvm_micro_kernel_is_function(k)};
    int64_t n;
    it.has_panels = !k->analysis.is_split &&
                    !(tgi_llvm_is_const_i64(to, &n) && n <= TGI_BLOCK_ROWS);
    tgi_llvm_matmul_item_rows(k, &it.first, &it.end);
    if (it.is_shared && cost_of_rest(k) <= MOST_DIRECT)
        tgi_llvm_target_skip_post_ra_scheduler(k->function);
    return it;
}

void tgi_llvm_matmul_item_emit(tgi_llvm_kernel *k, LLVMValueRef from,
                               LLVMValueRef to)
{
    LLVMValueRef block = k->index[k->analysis.matmul.row_axis];
    item it = begin_item(k, from, to);
    tgi_llvm_column_epilogue_begin(k);
    if (k->analysis.matmul.packs_b ||
        (it.is_shared && tgi_llvm_micro_kernel_needs_packing(k)))
        it.columns.memory =
            tgi_llvm_stack_array(k, tgi_llvm_element_type(k->e, dtype_of(k)),
                                 TGI_BLOCK_ROWS * k->e->lanes);
    if (it.is_shared) {
        run_shared(k, &it);
    } else if (it.has_panels) {
        run_panels(k, &it);
    } else {
        it.is_direct = cost_of_rest(k) <= MOST_DIRECT;
        if (!it.is_direct)
            it.totals = make_rows(k, k->analysis.matmul.mr, it.first);
        run_rows(k, &it);
    }
    tgi_llvm_column_epilogue_end(k);
    k->index[k->analysis.matmul.row_axis] = block;
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
    LLVMValueRef width = tgi_llvm_const_i64(program, s->all.width);
    LLVMValueRef from_first = LLVMBuildSub(k->b, column, s->column, "");
    LLVMValueRef size = tgi_llvm_const_i64(
        program, k->analysis.matmul.item_rows * (int64_t)s->all.width);
    rows at = s->all;
    at.column = tgi_llvm_add(
        program,
        tgi_llvm_mul(program, LLVMBuildUDiv(k->b, from_first, width, ""), size),
        LLVMBuildURem(k->b, from_first, width, ""));
    return at;
}

static void finish_columns(tgi_llvm_kernel *k, LLVMValueRef column, void *user)
{
    const sliver_totals *s = user;
    const rows totals = totals_at(k, s, column);
    k->index[k->analysis.vector_axis] = column;
    tgi_llvm_column_epilogue_begin(k);
    finish_rows(k, &totals, s->it->first, s->it->end);
    tgi_llvm_column_epilogue_end(k);
}

void tgi_llvm_matmul_panels_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                 LLVMValueRef n)
{
    const unsigned lanes = k->e->lanes, slivers = k->analysis.matmul.n_panels;
    LLVMValueRef zero = tgi_llvm_const_i64(k->program, 0);
    LLVMValueRef to = tgi_llvm_dim(k, k->loops->extent[k->analysis.inner]);
    LLVMValueRef block = k->index[k->analysis.matmul.row_axis];
    LLVMValueRef end = tgi_llvm_min(
        k->program, n,
        tgi_llvm_add(k->program, column,
                     tgi_llvm_const_i64(k->program, slivers * lanes)));
    item it = begin_item(k, zero, to);
    sliver_totals s = {
        .it = &it,
        .column = column,
        .all = make_rows(k, k->analysis.matmul.item_rows * slivers, it.first)};
    LLVMValueRef start = tgi_llvm_matmul_start(k, zero, to);
    tgi_llvm_loop panels, along;
    it.has_totals = true;
    if (it.is_shared) {
        it.nothing = make_nothing(k, zero, to);
        tgi_llvm_micro_kernel_args_init(k, &it.tiles, false);
    } else {
        tgi_llvm_loop_begin(k, &along, column, end, lanes, NULL, 0);
        it.totals = totals_at(k, &s, along.index);
        clear_rows(k, &it.totals, it.end, start);
        tgi_llvm_loop_end(k, &along, NULL);
    }

    begin_panels(k, &it, &panels);
    tgi_llvm_loop_begin(k, &along, column, end, lanes, NULL, 0);
    k->index[k->analysis.vector_axis] = along.index;
    it.totals = totals_at(k, &s, along.index);
    run_rows(k, &it);
    tgi_llvm_loop_end(k, &along, NULL);
    tgi_llvm_loop_end(k, &panels, NULL);

    tgi_llvm_loop_begin(k, &along, column, end, lanes, NULL, 0);
    tgi_llvm_columns_step(k, along.index, n, finish_columns, &s);
    k->e->lanes = lanes;
    tgi_llvm_loop_end(k, &along, NULL);
    k->index[k->analysis.vector_axis] = NULL;
    k->index[k->analysis.matmul.row_axis] = block;
}
