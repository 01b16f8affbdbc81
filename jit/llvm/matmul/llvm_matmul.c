/* SPDX-License-Identifier: MIT */
/*
 * llvm_matmul.c - matmul C = A B: the loops around the micro-kernel, inside
 * out:
 *
 *   micro-kernel  at most mr rows of A x one vector of columns of B, the
 *                 accumulators in registers
 *   matrices      those that share B, if a work item has several
 *   k-block       TGI_BLOCK_ROWS steps of k, whose panel of B stays in L1; or
 *                 inside of the micro-kernel function, if L2 holds B
 *   work item     a block of rows, which stays in L2 for the next columns of B:
 *                 those of other work items or, with many k-blocks and a packed
 *                 B, other panels of this one
 *
 * Columns of B that are far apart are packed on the stack, per k-block, unless
 * another kernel has packed B for all work items (fuse_matmul.c). With several
 * k-blocks, C accumulates on the stack. A cheap epilogue (bias, activation …)
 * runs on the accumulators in registers, any other in a loop over rows.
 *
 * Most matmuls call a micro-kernel function that the program shares. It always
 * accumulates in memory, so the epilogue is a loop over the rows of the item.
 */
#include "llvm/matmul/llvm_matmul.h"
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_poll.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_quirks.h"
#include "llvm/emit/llvm_target.h"
#include "llvm/loops/llvm_columns_step.h"
#include "llvm/loops/llvm_phases.h"
#include "llvm/reduce/llvm_reduce.h"

/* -- Epilogue -------------------------------------------------------------- */

/* Emits everything that consumes a row of C. */
static void emit_row_epilogue(tgi_llvm_kernel *k, LLVMValueRef row,
                              LLVMValueRef results)
{
    k->index[k->schedule->matmul.row_axis] = row;
    tgi_llvm_point_addresses_emit(k);
    tgi_llvm_set_reduced(k, 0, results);
    tgi_llvm_phases_emit(k, NULL, NULL);
    tgi_llvm_epilogue_accumulate(k, row);
}

/* -- C on the stack -------------------------------------------------------- */

/* Rows of C on the stack, from first_row on, each of `width` elements; the
   current lanes begin at `column`. */
typedef struct c_buffer {
    LLVMValueRef memory, first_row, column;
    unsigned width;
} c_buffer;

static c_buffer allocate_c(tgi_llvm_kernel *k, int64_t n,
                           LLVMValueRef first_row)
{
    LLVMTypeRef element = tgi_llvm_element_type(k->e, tgi_llvm_matmul_dtype(k));
    return (c_buffer){
        .memory = tgi_llvm_stack_array(k, element, (unsigned)n * k->e->lanes),
        .first_row = first_row,
        .column = tgi_llvm_const_i64(k->program, 0),
        .width = k->e->lanes};
}

static LLVMValueRef c_row_address(tgi_llvm_kernel *k, const c_buffer *c,
                                  LLVMValueRef row)
{
    LLVMTypeRef element = tgi_llvm_element_type(k->e, tgi_llvm_matmul_dtype(k));
    LLVMValueRef at =
        tgi_llvm_mul(k->program, LLVMBuildSub(k->b, row, c->first_row, ""),
                     tgi_llvm_const_i64(k->program, c->width));
    at = tgi_llvm_add(k->program, at, c->column);
    return LLVMBuildGEP2(k->b, element, c->memory, &at, 1, "");
}

static LLVMValueRef load_c_row(tgi_llvm_kernel *k, const c_buffer *c,
                               LLVMValueRef row)
{
    LLVMValueRef value =
        LLVMBuildLoad2(k->b, tgi_llvm_type(k->e, tgi_llvm_matmul_dtype(k)),
                       c_row_address(k, c, row), "");
    LLVMSetAlignment(value, 4);
    return value;
}

static void store_c_row(tgi_llvm_kernel *k, const c_buffer *c, LLVMValueRef row,
                        LLVMValueRef value)
{
    LLVMSetAlignment(LLVMBuildStore(k->b, value, c_row_address(k, c, row)), 4);
}

/* Emits the epilogue of rows from … to - 1. */
static void emit_rows_epilogue(tgi_llvm_kernel *k, const c_buffer *c,
                               LLVMValueRef from, LLVMValueRef to)
{
    LLVMValueRef partials[TGI_LLVM_MAX_CARRIED];
    const unsigned n = tgi_llvm_column_epilogue_load(k, partials);
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, from, to, 1, partials, n);
    tgi_llvm_column_epilogue_set(k, loop.carried);
    emit_row_epilogue(k, loop.index, load_c_row(k, c, loop.index));
    tgi_llvm_column_epilogue_get(k, partials);
    tgi_llvm_loop_end(k, &loop, partials);
    tgi_llvm_column_epilogue_set(k, loop.carried);
    tgi_llvm_column_epilogue_store(k);
}

/* -- Work items ------------------------------------------------------------ */

/* A work item, while it is emitted. */
typedef struct item {
    LLVMValueRef first_row, end_row;
    LLVMValueRef k_from, k_to; /* of the current k-block */
    tgi_llvm_packed_panel b_panel;
    bool calls_function; /* a micro-kernel function */
    bool has_k_blocks;   /* more than one, outside of the function */
    bool accumulates;    /* adds to `c`, which is initialised */
    bool epilogue_in_registers;
    /* All rows if it accumulates or calls a function; else those of one
       micro-kernel, unless the epilogue is in registers. */
    c_buffer c;
    /* calls_function: a row of start values for the first k-block. */
    LLVMValueRef c_start;
    /* Of several matrices: the index of the item, and first … end - 1. */
    LLVMValueRef matrix_item, first_matrix, end_matrix;
    tgi_llvm_micro_kernel_args args; /* calls_function */
} item;

static void emit_micro_kernel(tgi_llvm_kernel *k, item *it, LLVMValueRef row,
                              unsigned height)
{
    tgi_llvm_micro_kernel t = {.b_panel = &it->b_panel};
    if (!it->accumulates)
        tgi_llvm_micro_kernel_prefetch(k, &t, row, height);
    tgi_llvm_micro_kernel_emit(k, &t, row, height, it->k_from, it->k_to);
    if (!it->accumulates)
        it->c.first_row = row;
    LLVMValueRef partials[TGI_LLVM_MAX_CARRIED];
    if (it->epilogue_in_registers)
        tgi_llvm_column_epilogue_load(k, partials);
    for (unsigned r = 0; r < height; r++) {
        LLVMValueRef at =
            tgi_llvm_add(k->program, row, tgi_llvm_const_i64(k->program, r));
        if (it->accumulates)
            t.acc[r] = tgi_llvm_reduce_combine(k, 0, load_c_row(k, &it->c, at),
                                               t.acc[r]);
        if (it->epilogue_in_registers)
            emit_row_epilogue(k, at, t.acc[r]);
        else
            store_c_row(k, &it->c, at, t.acc[r]);
    }
    if (it->epilogue_in_registers)
        tgi_llvm_column_epilogue_store(k);
    if (!it->accumulates && !it->epilogue_in_registers)
        emit_rows_epilogue(
            k, &it->c, row,
            tgi_llvm_add(k->program, row,
                         tgi_llvm_const_i64(k->program, height)));
}

/* Micro-kernels between polls: fewer if each has several k-blocks. */
static int64_t polled_calls(const tgi_llvm_kernel *k)
{
    const int64_t all = k->loops->extent[k->schedule->inner];
    if (!k->schedule->matmul.blocks_in_rows)
        return TGI_LLVM_POLLED_MICRO_KERNELS;
    const int64_t blocks = (all + TGI_BLOCK_ROWS - 1) / TGI_BLOCK_ROWS;
    return (TGI_LLVM_POLLED_MICRO_KERNELS + blocks - 1) / blocks;
}

/* Calls the micro-kernel function for n micro-kernels, with polls in between:
   the function leaves the arguments of the next ones. */
static void emit_calls(tgi_llvm_kernel *k, const item *it, unsigned height,
                       LLVMValueRef n)
{
    const int64_t polled = polled_calls(k);
    LLVMValueRef size = tgi_llvm_const_i64(k->program, polled);
    int64_t number;
    tgi_llvm_loop loop;
    if (!k->program->has_polls ||
        (tgi_llvm_is_const_i64(n, &number) && number <= polled)) {
        tgi_llvm_micro_kernel_call(k, &it->args, height, n);
        tgi_llvm_poll(k);
        return;
    }
    tgi_llvm_loop_begin(k, &loop, tgi_llvm_const_i64(k->program, 0), n, polled,
                        NULL, 0);
    LLVMValueRef rest = LLVMBuildSub(k->b, n, loop.index, "");
    tgi_llvm_micro_kernel_call(k, &it->args, height,
                               tgi_llvm_min(k->program, rest, size));
    tgi_llvm_poll(k);
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* A loop over the micro-kernels from `row` to `stop`. */
static void emit_loop(tgi_llvm_kernel *k, item *it, LLVMValueRef row,
                      LLVMValueRef stop, unsigned height)
{
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, row, stop, height, NULL, 0);
    emit_micro_kernel(k, it, loop.index, height);
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* The same with polls. */
static void emit_polled_loop(tgi_llvm_kernel *k, item *it, LLVMValueRef row,
                             LLVMValueRef stop, unsigned height)
{
    const int64_t size = TGI_LLVM_POLLED_MICRO_KERNELS * (int64_t)height;
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, row, stop, size, NULL, 0);
    LLVMValueRef next = tgi_llvm_add(k->program, loop.index,
                                     tgi_llvm_const_i64(k->program, size));
    emit_loop(k, it, loop.index, tgi_llvm_min(k->program, next, stop), height);
    tgi_llvm_poll(k);
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* Emits micro-kernels of `height` rows, as many as fit from `row` to `end`;
   returns the row after them. */
static LLVMValueRef emit_micro_kernels(tgi_llvm_kernel *k, item *it,
                                       LLVMValueRef row, LLVMValueRef end,
                                       unsigned height)
{
    LLVMValueRef size = tgi_llvm_const_i64(k->program, height);
    LLVMValueRef n_calls =
        LLVMBuildUDiv(k->b, LLVMBuildSub(k->b, end, row, ""), size, "");
    LLVMValueRef n = LLVMBuildMul(k->b, n_calls, size, "");
    LLVMValueRef stop = tgi_llvm_add(k->program, row, n);
    int64_t number;
    if (it->calls_function) {
        if (!tgi_llvm_is_const_i64(n, &number) || number)
            emit_calls(k, it, height, n_calls);
        return stop;
    }
    if (tgi_llvm_is_const_i64(n, &number) && number <= (int64_t)height) {
        if (number)
            emit_micro_kernel(k, it, row, height);
        return stop;
    }
    if (k->program->has_polls)
        emit_polled_loop(k, it, row, stop, height);
    else
        emit_loop(k, it, row, stop, height);
    return stop;
}

/* Emits all m rows, in micro-kernels whose heights differ by at most one: a low
   one has too few accumulators to be fast. */
static void emit_all_rows(tgi_llvm_kernel *k, item *it, int64_t m)
{
    const int64_t n = (m + k->schedule->matmul.mr - 1) / k->schedule->matmul.mr;
    const int64_t low = m / n, n_high = m % n;
    LLVMValueRef middle = tgi_llvm_const_i64(k->program, n_high * (low + 1));
    emit_micro_kernels(k, it, tgi_llvm_const_i64(k->program, 0), middle,
                       (unsigned)low + 1);
    emit_micro_kernels(k, it, middle, tgi_llvm_const_i64(k->program, m),
                       (unsigned)low);
}

/* Emits an item's share of m rows, in micro-kernels of mr rows. Only the last
   item may have a remainder; its heights are balanced if two suffice. */
static void emit_block_rows(tgi_llvm_kernel *k, item *it, int64_t m)
{
    const int64_t height = k->schedule->matmul.mr;
    const int64_t last = m % k->schedule->matmul.item_rows;
    const int64_t n_last = (last + height - 1) / height;
    int64_t low = last % height, high_rows = last - low;
    if (low && (last / n_last == height - 1 || last % n_last == 0)) {
        low = last / n_last;
        high_rows = last % n_last * height;
    }
    LLVMValueRef middle = it->end_row;
    if (low) {
        LLVMValueRef size =
            tgi_llvm_const_i64(k->program, k->schedule->matmul.item_rows);
        LLVMValueRef n = LLVMBuildSub(k->b, it->end_row, it->first_row, "");
        middle = tgi_llvm_add(k->program, it->first_row,
                              tgi_llvm_const_i64(k->program, high_rows));
        middle =
            LLVMBuildSelect(k->b, LLVMBuildICmp(k->b, LLVMIntEQ, n, size, ""),
                            it->end_row, middle, "");
    }
    emit_micro_kernels(k, it, it->first_row, middle, (unsigned)height);
    if (low)
        emit_micro_kernels(k, it, middle, it->end_row, (unsigned)low);
}

/* Sets the arguments of the micro-kernel function for the current k-block. */
static void set_args(tgi_llvm_kernel *k, item *it)
{
    tgi_llvm_micro_kernel_args *args = &it->args;
    LLVMValueRef zero = tgi_llvm_const_i64(k->program, 0);
    args->b_panel = &it->b_panel;
    args->row = it->first_row;
    args->from = it->k_from;
    args->to = it->k_to;
    args->c_out = c_row_address(k, &it->c, it->first_row);
    args->c_in = it->c_start;
    args->c_in_stride = zero;
    args->c_width = it->c.width;
    if (it->has_k_blocks) {
        LLVMValueRef is_first =
            LLVMBuildICmp(k->b, LLVMIntEQ, it->k_from, zero, "");
        args->c_in =
            LLVMBuildSelect(k->b, is_first, it->c_start, args->c_out, "");
        args->c_in_stride =
            LLVMBuildSelect(k->b, is_first, zero,
                            tgi_llvm_const_i64(k->program, it->c.width), "");
    }
    tgi_llvm_micro_kernel_args_set(k, args);
}

/* A loop over the matrices of an item, unless there is one. */
typedef struct matrix_loop {
    tgi_llvm_loop loop;
    LLVMValueRef column; /* of C, in the first one */
} matrix_loop;

static bool has_matrices(const tgi_llvm_kernel *k)
{
    return k->schedule->matmul.item_matrices > 1;
}

/* Begins the loop: k->index and C are those of one matrix. Its results follow
   those of the one before. */
static void begin_matrices(tgi_llvm_kernel *k, item *it, matrix_loop *m)
{
    const tgi_matmul_schedule *s = &k->schedule->matmul;
    if (!has_matrices(k))
        return;
    const int64_t size = (s->n_panels > 1 ? s->n_panels : 1) * s->item_rows *
                         (int64_t)it->c.width;
    m->column = it->c.column;
    tgi_llvm_loop_begin(k, &m->loop, it->first_matrix, it->end_matrix, 1, NULL,
                        0);
    LLVMValueRef number =
        LLVMBuildSub(k->b, m->loop.index, it->first_matrix, "");
    it->c.column = tgi_llvm_add(
        k->program, m->column,
        tgi_llvm_mul(k->program, number,
                     tgi_llvm_const_i64(k->program, size)));
    k->index[s->row_axis - 1] = m->loop.index;
}

static void end_matrices(tgi_llvm_kernel *k, item *it, matrix_loop *m)
{
    if (!has_matrices(k))
        return;
    tgi_llvm_loop_end(k, &m->loop, NULL);
    it->c.column = m->column;
    k->index[k->schedule->matmul.row_axis - 1] = it->matrix_item;
}

/* Emits all rows of a matrix, for the current k-block. */
static void emit_matrix_rows(tgi_llvm_kernel *k, item *it)
{
    if (it->calls_function)
        set_args(k, it);
    const tgi_dim m = k->loops->extent[k->schedule->matmul.row_axis];
    unsigned height = k->schedule->matmul.mr;
    if (tgi_dim_is_known(m) && m <= k->schedule->matmul.item_rows) {
        emit_all_rows(k, it, m);
        return;
    }
    if (tgi_dim_is_known(m)) {
        emit_block_rows(k, it, m);
        return;
    }
    LLVMValueRef row =
        emit_micro_kernels(k, it, it->first_row, it->end_row, height);
    while (height > 1) {
        height = height > 3 ? height / 2 : 1;
        row = emit_micro_kernels(k, it, row, it->end_row, height);
    }
}

/* Emits all rows of an item, for the current k-block. */
static void emit_rows(tgi_llvm_kernel *k, item *it)
{
    matrix_loop matrices;
    if (it->b_panel.memory)
        tgi_llvm_panel_pack(k, &it->b_panel, it->k_from, it->k_to);
    begin_matrices(k, it, &matrices);
    emit_matrix_rows(k, it);
    end_matrices(k, it, &matrices);
}

static void init_c(tgi_llvm_kernel *k, item *it, LLVMValueRef start)
{
    matrix_loop matrices;
    tgi_llvm_loop loop;
    begin_matrices(k, it, &matrices);
    tgi_llvm_loop_begin(k, &loop, it->c.first_row, it->end_row, 1, NULL, 0);
    store_c_row(k, &it->c, loop.index, start);
    tgi_llvm_loop_end(k, &loop, NULL);
    end_matrices(k, it, &matrices);
}

/* Emits the epilogue of all rows of an item, whose C is complete. */
static void emit_item_epilogue(tgi_llvm_kernel *k, item *it)
{
    matrix_loop matrices;
    begin_matrices(k, it, &matrices);
    emit_rows_epilogue(k, &it->c, it->first_row, it->end_row);
    end_matrices(k, it, &matrices);
}

/* C of an item on the stack, for its columns in n vectors. */
static c_buffer allocate_item_c(tgi_llvm_kernel *k, const item *it, int64_t n)
{
    const tgi_matmul_schedule *s = &k->schedule->matmul;
    return allocate_c(k,
                      s->item_rows * n *
                          (s->item_matrices > 1 ? s->item_matrices : 1),
                      it->first_row);
}

/* A row that the first k-block adds to without changing a bit: -0, the identity
   of sums; +0 if there is no k. */
static LLVMValueRef make_c_start(tgi_llvm_kernel *k, LLVMValueRef from,
                                 LLVMValueRef to)
{
    const c_buffer row = allocate_c(k, 1, tgi_llvm_const_i64(k->program, 0));
    store_c_row(k, &row, row.first_row, tgi_llvm_matmul_start(k, from, to));
    return row.memory;
}

/* Begins the loop over k-blocks. The function initialises C in the first one,
   which therefore runs even if there is no k. */
static void begin_k_blocks(tgi_llvm_kernel *k, item *it,
                           tgi_llvm_loop *k_blocks)
{
    LLVMValueRef size = tgi_llvm_const_i64(k->program, TGI_BLOCK_ROWS);
    LLVMValueRef to = it->k_to;
    if (it->calls_function)
        tgi_llvm_loop_begin_nonempty(k, k_blocks, it->k_from, to,
                                     TGI_BLOCK_ROWS);
    else
        tgi_llvm_loop_begin(k, k_blocks, it->k_from, to, TGI_BLOCK_ROWS, NULL,
                            0);
    it->k_from = k_blocks->index;
    it->k_to = tgi_llvm_min(k->program, to,
                            tgi_llvm_add(k->program, k_blocks->index, size));
}

/* Emits a loop over k-blocks, each for all rows. */
static void emit_k_blocks(tgi_llvm_kernel *k, item *it)
{
    tgi_llvm_loop k_blocks;
    it->c = allocate_item_c(k, it, 1);
    it->accumulates = true;
    init_c(k, it, tgi_llvm_matmul_start(k, it->k_from, it->k_to));
    begin_k_blocks(k, it, &k_blocks);
    emit_rows(k, it);
    tgi_llvm_loop_end(k, &k_blocks, NULL);
    emit_item_epilogue(k, it);
}

/* Emits calls of the micro-kernel function, for one k-block or all. */
static void emit_with_function(tgi_llvm_kernel *k, item *it)
{
    tgi_llvm_loop k_blocks;
    it->c = allocate_item_c(k, it, 1);
    it->c_start = make_c_start(k, it->k_from, it->k_to);
    tgi_llvm_micro_kernel_args_init(k, &it->args, it->b_panel.memory != NULL);
    if (it->has_k_blocks)
        begin_k_blocks(k, it, &k_blocks);
    emit_rows(k, it);
    if (it->has_k_blocks)
        tgi_llvm_loop_end(k, &k_blocks, NULL);
    emit_item_epilogue(k, it);
}

void tgi_llvm_matmul_item_rows(tgi_llvm_kernel *k, LLVMValueRef *out_first,
                               LLVMValueRef *out_end)
{
    LLVMValueRef size =
        tgi_llvm_const_i64(k->program, k->schedule->matmul.item_rows);
    LLVMValueRef m =
        tgi_llvm_dim(k, k->loops->extent[k->schedule->matmul.row_axis]);
    *out_first =
        tgi_llvm_mul(k->program, k->index[k->schedule->matmul.row_axis], size);
    *out_end =
        tgi_llvm_min(k->program, m, tgi_llvm_add(k->program, *out_first, size));
}

/* Sets the matrices of the work item at k->index. */
static void find_matrices(tgi_llvm_kernel *k, item *it)
{
    const int axis = k->schedule->matmul.row_axis - 1;
    LLVMValueRef size =
        tgi_llvm_const_i64(k->program, k->schedule->matmul.item_matrices);
    if (!has_matrices(k))
        return;
    it->matrix_item = k->index[axis];
    it->first_matrix = tgi_llvm_mul(k->program, it->matrix_item, size);
    it->end_matrix =
        tgi_llvm_min(k->program, tgi_llvm_dim(k, k->loops->extent[axis]),
                     tgi_llvm_add(k->program, it->first_matrix, size));
}

static item begin_item(tgi_llvm_kernel *k, LLVMValueRef from, LLVMValueRef to)
{
    item it = {.k_from = from,
               .k_to = to,
               .calls_function = tgi_llvm_micro_kernel_is_function(k)};
    it.has_k_blocks = tgi_nest_has_blocks(&k->schedule->phases[0].nest,
                                          k->schedule->inner, TGI_BLOCK_ROWS) &&
                      !k->schedule->matmul.blocks_in_rows;
    tgi_llvm_matmul_item_rows(k, &it.first_row, &it.end_row);
    find_matrices(k, &it);
    if (it.calls_function && k->schedule->matmul.epilogue_in_registers)
        tgi_llvm_quirk_skip_post_ra_scheduler(k->e->isa, k->function);
    return it;
}

void tgi_llvm_matmul_item_emit(tgi_llvm_kernel *k, LLVMValueRef from,
                               LLVMValueRef to)
{
    LLVMValueRef block = k->index[k->schedule->matmul.row_axis];
    item it = begin_item(k, from, to);
    tgi_llvm_column_epilogue_begin(k);
    if (k->schedule->matmul.packs_b ||
        (it.calls_function && tgi_llvm_micro_kernel_needs_packing(k)))
        it.b_panel.memory = tgi_llvm_stack_array(
            k, tgi_llvm_element_type(k->e, tgi_llvm_matmul_dtype(k)),
            TGI_BLOCK_ROWS * k->e->lanes);
    if (it.calls_function) {
        emit_with_function(k, &it);
    } else if (it.has_k_blocks) {
        emit_k_blocks(k, &it);
    } else {
        it.epilogue_in_registers = k->schedule->matmul.epilogue_in_registers;
        if (!it.epilogue_in_registers)
            it.c = allocate_c(k, k->schedule->matmul.mr, it.first_row);
        emit_rows(k, &it);
    }
    tgi_llvm_column_epilogue_end(k);
    k->index[k->schedule->matmul.row_axis] = block;
}

/* -- Several panels -------------------------------------------------------- */

/* C of all panels of a work item, panel by panel. */
typedef struct panels_c {
    item *it;
    LLVMValueRef column; /* the first of all */
    c_buffer all;
} panels_c;

/* C of the panel that holds `column`; the current lanes begin there. */
static c_buffer panel_c(tgi_llvm_kernel *k, const panels_c *s,
                        LLVMValueRef column)
{
    const tgi_llvm_program *program = k->program;
    LLVMValueRef width = tgi_llvm_const_i64(program, s->all.width);
    LLVMValueRef from_first = LLVMBuildSub(k->b, column, s->column, "");
    LLVMValueRef size = tgi_llvm_const_i64(
        program, k->schedule->matmul.item_rows * (int64_t)s->all.width);
    c_buffer at = s->all;
    at.column = tgi_llvm_add(
        program,
        tgi_llvm_mul(program, LLVMBuildUDiv(k->b, from_first, width, ""), size),
        LLVMBuildURem(k->b, from_first, width, ""));
    return at;
}

/* Emits all rows of the current lanes, for the current k-block. */
static void emit_panel_rows(tgi_llvm_kernel *k, LLVMValueRef column, void *user)
{
    const panels_c *s = user;
    k->index[k->schedule->vector_axis] = column;
    s->it->c = panel_c(k, s, column);
    emit_rows(k, s->it);
}

static void emit_panel_epilogue(tgi_llvm_kernel *k, LLVMValueRef column,
                                void *user)
{
    const panels_c *s = user;
    s->it->c = panel_c(k, s, column);
    k->index[k->schedule->vector_axis] = column;
    tgi_llvm_column_epilogue_begin(k);
    emit_item_epilogue(k, s->it);
    tgi_llvm_column_epilogue_end(k);
}

void tgi_llvm_matmul_panels_emit(tgi_llvm_kernel *k, LLVMValueRef column,
                                 LLVMValueRef n)
{
    const unsigned lanes = k->e->lanes, n_panels = k->schedule->matmul.n_panels;
    LLVMValueRef zero = tgi_llvm_const_i64(k->program, 0);
    LLVMValueRef to = tgi_llvm_dim(k, k->loops->extent[k->schedule->inner]);
    LLVMValueRef block = k->index[k->schedule->matmul.row_axis];
    LLVMValueRef end = tgi_llvm_min(
        k->program, n,
        tgi_llvm_add(k->program, column,
                     tgi_llvm_const_i64(k->program, n_panels * lanes)));
    item it = begin_item(k, zero, to);
    panels_c s = {.it = &it,
                  .column = column,
                  .all = allocate_item_c(k, &it, n_panels)};
    LLVMValueRef start = tgi_llvm_matmul_start(k, zero, to);
    tgi_llvm_loop k_blocks, along;
    it.accumulates = true;
    if (it.calls_function) {
        it.c_start = make_c_start(k, zero, to);
        tgi_llvm_micro_kernel_args_init(k, &it.args, false);
    } else {
        tgi_llvm_loop_begin(k, &along, column, end, lanes, NULL, 0);
        it.c = panel_c(k, &s, along.index);
        init_c(k, &it, start);
        tgi_llvm_loop_end(k, &along, NULL);
    }

    if (it.has_k_blocks)
        begin_k_blocks(k, &it, &k_blocks);
    tgi_llvm_loop_begin(k, &along, column, end, lanes, NULL, 0);
    if (lanes > tgi_schedule_panel_lanes(k->schedule))
        tgi_llvm_columns_step(k, along.index, n, emit_panel_rows, &s);
    else
        emit_panel_rows(k, along.index, &s); /* the last panel is padded */
    k->e->lanes = lanes;
    tgi_llvm_loop_end(k, &along, NULL);
    if (it.has_k_blocks)
        tgi_llvm_loop_end(k, &k_blocks, NULL);

    tgi_llvm_loop_begin(k, &along, column, end, lanes, NULL, 0);
    tgi_llvm_columns_step(k, along.index, n, emit_panel_epilogue, &s);
    k->e->lanes = lanes;
    tgi_llvm_loop_end(k, &along, NULL);
    k->index[k->schedule->vector_axis] = NULL;
    k->index[k->schedule->matmul.row_axis] = block;
}
