/* SPDX-License-Identifier: MIT */
/*
 * llvm_row_blocks.c - row blocks (loops.h): a loop over blocks in the entry,
 * which calls each kernel for the work items of a block.
 *
 * Threads divide the blocks. A buffer of place BLOCK has the address at which
 * row 0 would be in the thread's table, so kernels address rows as in a whole
 * buffer. The first row of the block is at the beginning of the thread's
 * memory, but for the distance to a cache line that it had in a whole buffer.
 */
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_quirks.h"
#include "llvm/llvm_kernel_step.h"

/* Row blocks, while they are emitted. */
typedef struct emitter {
    tgi_llvm_entry *n;
    const tgi_row_blocks *blocks;
    LLVMValueRef matrices, rows, per_matrix; /* blocks per matrix */
    /* Of the current block: its matrix, and its rows there. */
    LLVMValueRef matrix, first, end;
} emitter;

static LLVMValueRef constant(const emitter *e, int64_t value)
{
    return tgi_llvm_const_i64(e->n->k.program, value);
}

static LLVMValueRef dim(const emitter *e, tgi_dim value)
{
    return tgi_llvm_frame_dim(e->n->k.program, e->n->frame, value);
}

static LLVMValueRef mul(const emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return tgi_llvm_mul(e->n->k.program, a, b);
}

/* -- Work items ------------------------------------------------------------ */

/* Items along the axis of the rows for the first n rows of a matrix, rounded
   up. */
static LLVMValueRef items_of_rows(const emitter *e, const tgi_row_kernel *map,
                                  const tgi_kernel_loops *k, LLVMValueRef n)
{
    return tgi_llvm_ceil_div(e->n->k.program, mul(e, n, dim(e, map->per_row)),
                             map->rows_per_index *
                                 k->schedule->item_extent[map->n_axes - 1]);
}

/* The items of a kernel in the current block. */
static tgi_llvm_item_range items_of_block(const emitter *e,
                                          const tgi_row_kernel *map,
                                          const tgi_kernel_loops *k)
{
    const tgi_llvm_program *program = e->n->k.program;
    LLVMValueRef before = mul(e, e->matrix, items_of_rows(e, map, k, e->rows));
    LLVMValueRef of_item = tgi_llvm_n_items(e->n, k, map->n_axes);
    return (tgi_llvm_item_range){
        mul(e,
            tgi_llvm_add(program, before, items_of_rows(e, map, k, e->first)),
            of_item),
        mul(e, tgi_llvm_add(program, before, items_of_rows(e, map, k, e->end)),
            of_item)};
}

/* Picoseconds of a block. */
static LLVMValueRef block_cost(const emitter *e, size_t at)
{
    const tgi_loops *loops = e->n->k.program->loops;
    LLVMValueRef cost = constant(e, 0);
    for (uint32_t i = 0; i < e->blocks->n_kernels; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, at + i);
        const tgi_row_kernel *map = &e->blocks->kernels[i];
        LLVMValueRef n = mul(
            e,
            items_of_rows(e, map, k,
                          tgi_llvm_min(e->n->k.program, e->rows,
                                       constant(e, e->blocks->block_rows))),
            tgi_llvm_n_items(e->n, k, map->n_axes));
        cost = tgi_llvm_add(e->n->k.program, cost,
                            mul(e, n, tgi_llvm_item_cost(e->n, k)));
    }
    return cost;
}

/* -- Blocks ---------------------------------------------------------------- */

static void set_block(emitter *e, LLVMValueRef number)
{
    const tgi_llvm_program *program = e->n->k.program;
    LLVMBuilderRef b = e->n->k.b;
    int64_t n;
    const bool is_one = tgi_llvm_is_const_i64(e->matrices, &n) && n == 1;
    e->matrix = is_one ? constant(e, 0)
                       : LLVMBuildUDiv(b, number, e->per_matrix, "");
    LLVMValueRef in_matrix =
        is_one ? number : LLVMBuildURem(b, number, e->per_matrix, "");
    LLVMValueRef size = constant(e, e->blocks->block_rows);
    e->first = mul(e, in_matrix, size);
    e->end =
        tgi_llvm_min(program, e->rows, tgi_llvm_add(program, e->first, size));
}

/* The address that row 0 of a buffer would have. */
static void set_address(const emitter *e, const tgi_block_buffer *block)
{
    tgi_llvm_entry *n = e->n;
    const tgi_llvm_program *program = n->k.program;
    LLVMBuilderRef b = n->k.b;
    const uint32_t number = tgi_buffer_id_index(block->buffer);
    const tgi_loop_buffer *buffer = &program->loops->buffers.data[number];
    LLVMValueRef address = LLVMBuildLoad2(
        b, program->pointer,
        tgi_llvm_buffer_table_entry(
            program, tgi_llvm_frame_load(program, n->frame, TGI_FRAME_BUFFERS),
            number),
        "");
    address = tgi_llvm_thread_part(&n->k, buffer, dim(e, buffer->count),
                                   address);
    LLVMValueRef first =
        tgi_llvm_add(program, mul(e, e->matrix, e->rows), e->first);
    LLVMValueRef offset =
        mul(e, mul(e, first, dim(e, block->row_elements)),
            constant(e, (int64_t)tgi_dtype_bytes(buffer->dtype)));
    offset = LLVMBuildNeg(
        b, LLVMBuildAnd(b, offset, constant(e, -TGI_BUFFER_ALIGN), ""), "");
    address = LLVMBuildGEP2(b, LLVMInt8TypeInContext(n->k.e->context), address,
                            &offset, 1, "");
    tgi_llvm_quirk_store_address(
        b, address,
        tgi_llvm_buffer_table_entry(program, n->k.table, number));
}

size_t tgi_llvm_row_blocks_emit(tgi_llvm_entry *n, size_t at)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_loops *loops = program->loops;
    emitter e = {.n = n,
                 .blocks = tgi_loops_rows(loops, loops->steps.data[at].rows)};
    e.matrices = dim(&e, e.blocks->matrices);
    e.rows = dim(&e, e.blocks->rows);
    e.per_matrix =
        tgi_llvm_ceil_div(program, e.rows, e.blocks->block_rows);
    at++;
    const tgi_llvm_item_range share = tgi_llvm_share(
        n, mul(&e, e.matrices, e.per_matrix), block_cost(&e, at));
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(&n->k, &loop, share.begin, share.end, 1, NULL, 0);
    set_block(&e, loop.index);
    for (uint32_t i = 0; i < e.blocks->n_buffers; i++)
        set_address(&e, &e.blocks->buffers[i]);
    for (uint32_t i = 0; i < e.blocks->n_kernels; i++, at++) {
        const tgi_kernel_id id = loops->steps.data[at].kernel;
        n->step = at;
        tgi_llvm_debug_set(program, tgi_loops_kernel(loops, id)->main_site);
        tgi_llvm_kernel_items_emit(
            n, tgi_kernel_id_index(id),
            items_of_block(&e, &e.blocks->kernels[i],
                           tgi_loops_kernel(loops, id)));
    }
    tgi_llvm_loop_end(&n->k, &loop, NULL);
    return at + 1;
}
