/* SPDX-License-Identifier: MIT */
/*
 * llvm_micro_kernel_function.c - tiles of a matrix product, one below the other, as a
 * function: all products of a program call it that have its type, its height
 * and its width. Most of the time that a product takes to compile is that of
 * its tiles, and a network has many products.
 *
 * For each row r of the tiles: out[r] = totals[r] + the sum of rows[r][i] *
 * columns[i] over so many steps. What is done with it is where the call is.
 *
 * It reads as many columns as there are lanes. If there are fewer, the others
 * are whatever comes after them in memory, which in the last row is past the
 * end: that row is a copy.
 *
 * The loop over k carries addresses as integers, that over tiles nothing at
 * all: for LLVM there are a few numbers that move, and not a form to weigh for
 * every load.
 */
#include "llvm/llvm_access.h"
#include "llvm/llvm_analysis.h"
#include "llvm/llvm_emit.h"
#include "llvm/llvm_flow.h"
#include "llvm/llvm_frame.h"
#include "llvm/llvm_kernel_state.h"
#include "llvm/llvm_matmul.h"
#include "llvm/llvm_program.h"
#include "llvm/llvm_reduce.h"
#include "llvm/llvm_target.h"

#include <stdio.h>
#include <string.h>

/* Steps of k below which sums in memory take too long: they cost 2 to 4 % of
   128. If they are shared with other products, that is worth it. */
enum { FEW_STEPS = 256, FEW_STEPS_OF_MANY = 128 };

/*
 * What such a function is given, in an array of 64-bit numbers. Distances (of
 * rows) and steps (of k) are bytes; rows of OUT are as wide as the tile. After
 * step number LAST_AT columns are at LAST. There is at least one tile. In the
 * end TILES is 0, and ROWS, TOTALS and OUT are those below the last tile.
 */
enum {
    ROWS,
    ROW_DISTANCE,
    ROW_STEP,
    COLUMNS,
    COLUMN_STEP,
    STEPS,
    LAST,
    LAST_AT,
    TOTALS,
    TOTAL_DISTANCE,
    OUT,
    TILES,
    PARAMETERS
};

static tg_dtype dtype_of(const tgi_llvm_kernel *k)
{
    return (tg_dtype)tgi_llvm_matmul_reduction(&k->analysis)->dtype;
}

static int64_t element_bytes(const tgi_llvm_kernel *k)
{
    return tgi_dtype_bytes((int)dtype_of(k));
}

static LLVMValueRef row_bytes(const tgi_llvm_kernel *k)
{
    return tgi_llvm_const_i64(k->program, k->e->lanes * element_bytes(k));
}

/* -- Which products -------------------------------------------------------- */

static bool is_load(const tgi_llvm_kernel *k, uint32_t inst)
{
    return k->loops->insts.data[inst].kind == TGI_INST_LOAD;
}

/* True if lanes behind the last column are in the next row, and a panel has
   more rows than the last. */
static bool can_read_over(const tgi_llvm_kernel *k)
{
    const tgi_dim n = k->loops->extent[k->analysis.vector_axis];
    const tgi_dim inner = k->loops->extent[k->analysis.inner];
    const tgi_stride row =
        tgi_llvm_operand_access(&k->analysis, TGI_LLVM_OPERAND_B)
            ->stride[k->analysis.inner];
    return tgi_dim_is_known(n) && tgi_dim_is_known(inner) &&
           tgi_dim_is_known(row.distance) && !row.is_negative &&
           row.distance >= n && inner % TGI_BLOCK_ROWS != 1;
}

bool tgi_llvm_micro_kernel_needs_packing(const tgi_llvm_kernel *k)
{
    const tgi_access *columns =
        tgi_llvm_operand_access(&k->analysis, TGI_LLVM_OPERAND_B);
    return !columns->panel_width && k->e->lanes > 1 &&
           (!tgi_llvm_is_contiguous(&k->analysis, columns) ||
            (k->mask && !can_read_over(k)));
}

static bool has_many_products(const tgi_loops *loops)
{
    int n = 0;
    for (size_t i = 0; i < loops->kernels.n; i++) {
        const tgi_kernel_loops *kernel = loops->kernels.data[i];
        n += kernel->vectors == TGI_COLUMNS && kernel->reductions.n == 1 &&
             kernel->reductions.data[0].op == TGI_OP_MATMUL;
    }
    return n > 1;
}

static bool has_few_steps(const tgi_llvm_kernel *k)
{
    const tgi_dim inner = k->loops->extent[k->analysis.inner];
    return tgi_dim_is_known(inner) &&
           inner < (has_many_products(k->program->loops) ? FEW_STEPS_OF_MANY
                                                         : FEW_STEPS);
}

bool tgi_llvm_micro_kernel_is_function(const tgi_llvm_kernel *k)
{
    const tgi_reduction *r = tgi_llvm_matmul_reduction(&k->analysis);
    const uint32_t column = tgi_llvm_operand_b_inst(&k->analysis);
    return is_load(k, column == r->value ? r->other : r->value) &&
           (k->analysis.matmul.packs_b ||
            (is_load(k, column) &&
             !(tgi_llvm_micro_kernel_needs_packing(k) &&
               tgi_llvm_matmul_has_few_rows(&k->analysis)))) &&
           !has_few_steps(k) &&
           !tgi_llvm_matmul_prefetch_bytes(&k->analysis, TGI_LLVM_OPERAND_A) &&
           !tgi_llvm_matmul_prefetch_bytes(&k->analysis, TGI_LLVM_OPERAND_B);
}

/* -- The function ---------------------------------------------------------- */

typedef struct tile_code {
    tgi_llvm_kernel *k;
    unsigned height;
    LLVMTypeRef element, row;
    LLVMValueRef array, given[PARAMETERS];
    LLVMValueRef sums[TGI_LLVM_MAX_MR];
} tile_code;

/* The address that a number is. */
static LLVMValueRef pointer(const tile_code *t, LLVMValueRef number)
{
    return LLVMBuildIntToPtr(t->k->b, number, t->k->program->pointer, "");
}

/* What is r times a distance away. */
static LLVMValueRef address(const tile_code *t, LLVMValueRef start, unsigned r,
                            LLVMValueRef distance)
{
    const tgi_llvm_program *program = t->k->program;
    LLVMValueRef bytes =
        tgi_llvm_mul(program, distance, tgi_llvm_const_i64(program, r));
    return r ? LLVMBuildGEP2(t->k->b, LLVMInt8TypeInContext(t->k->e->context),
                             start, &bytes, 1, "")
             : start;
}

static LLVMValueRef load(const tile_code *t, LLVMTypeRef type,
                         LLVMValueRef from)
{
    LLVMValueRef value = LLVMBuildLoad2(t->k->b, type, from, "");
    LLVMSetAlignment(value, (unsigned)element_bytes(t->k));
    return value;
}

static void take_step(tile_code *t, LLVMValueRef rows, LLVMValueRef columns)
{
    tgi_llvm_kernel *k = t->k;
    LLVMValueRef column = load(t, t->row, columns);
    for (unsigned r = 0; r < t->height; r++) {
        LLVMValueRef element =
            load(t, t->element, address(t, rows, r, t->given[ROW_DISTANCE]));
        const tgi_emitted in[] = {tgi_llvm_splat(k->e, element), column,
                                  t->sums[r]};
        t->sums[r] =
            tgi_emit_step_of(TGI_OP_MATMUL, dtype_of(k))(&k->e->base, in);
    }
}

static LLVMValueRef next_columns(const tile_code *t, LLVMValueRef step,
                                 LLVMValueRef columns)
{
    LLVMBuilderRef b = t->k->b;
    return LLVMBuildSelect(
        b, LLVMBuildICmp(b, LLVMIntEQ, step, t->given[LAST_AT], ""),
        t->given[LAST], LLVMBuildAdd(b, columns, t->given[COLUMN_STEP], ""),
        "");
}

/* The sums of a tile. The loop carries two addresses, then the sums. */
static void sum(tile_code *t)
{
    enum { AT_ROWS, AT_COLUMNS, SUMS };
    tgi_llvm_kernel *k = t->k;
    LLVMValueRef carried[SUMS + TGI_LLVM_MAX_MR] = {t->given[ROWS],
                                                    t->given[COLUMNS]};
    for (unsigned r = 0; r < t->height; r++) {
        tgi_llvm_accumulator state;
        tgi_llvm_reduce_start(k, 0, false, &state);
        carried[SUMS + r] = state.part[0];
    }
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, tgi_llvm_const_i64(k->program, 0),
                        t->given[STEPS], 1, carried, SUMS + t->height);
    memcpy(t->sums, loop.carried + SUMS, sizeof(t->sums));
    take_step(t, pointer(t, loop.carried[AT_ROWS]),
              pointer(t, loop.carried[AT_COLUMNS]));
    memcpy(carried + SUMS, t->sums, sizeof(t->sums));
    carried[AT_ROWS] =
        LLVMBuildAdd(k->b, loop.carried[AT_ROWS], t->given[ROW_STEP], "");
    carried[AT_COLUMNS] = next_columns(t, loop.index, loop.carried[AT_COLUMNS]);
    tgi_llvm_loop_end(k, &loop, carried);
    memcpy(t->sums, loop.carried + SUMS, sizeof(t->sums));
}

static void store_sums(const tile_code *t)
{
    tgi_llvm_kernel *k = t->k;
    LLVMValueRef totals = pointer(t, t->given[TOTALS]);
    LLVMValueRef out = pointer(t, t->given[OUT]);
    for (unsigned r = 0; r < t->height; r++) {
        LLVMValueRef total =
            load(t, t->row, address(t, totals, r, t->given[TOTAL_DISTANCE]));
        LLVMValueRef store = LLVMBuildStore(
            k->b, tgi_llvm_reduce_combine(k, 0, total, t->sums[r]),
            address(t, out, r, row_bytes(k)));
        LLVMSetAlignment(store, (unsigned)element_bytes(k));
    }
}

/* Where a number of the array is. */
static LLVMValueRef place_of(const tgi_llvm_kernel *k, LLVMValueRef array,
                             unsigned number)
{
    LLVMValueRef at = tgi_llvm_const_i64(k->program, number);
    return LLVMBuildGEP2(k->b, k->program->i64, array, &at, 1, "");
}

static void take(tile_code *t, unsigned number)
{
    t->given[number] = LLVMBuildLoad2(t->k->b, t->k->program->i64,
                                      place_of(t->k, t->array, number), "");
}

static LLVMValueRef move(const tile_code *t, unsigned number,
                         LLVMValueRef distance)
{
    LLVMValueRef moved =
        tgi_llvm_add(t->k->program, t->given[number], distance);
    LLVMBuildStore(t->k->b, moved, place_of(t->k, t->array, number));
    return moved;
}

static LLVMValueRef below(const tile_code *t, LLVMValueRef distance)
{
    return tgi_llvm_mul(t->k->program, distance,
                        tgi_llvm_const_i64(t->k->program, t->height));
}

static void run_tiles(tile_code *t)
{
    tgi_llvm_kernel *k = t->k;
    LLVMBasicBlockRef body = tgi_llvm_block_append(k, "tile");
    LLVMBasicBlockRef done = tgi_llvm_block_append(k, "done");
    for (unsigned i = 0; i < PARAMETERS; i++)
        if (i != ROWS && i != TOTALS && i != OUT && i != TILES)
            take(t, i);
    LLVMBuildBr(k->b, body);
    LLVMPositionBuilderAtEnd(k->b, body);
    take(t, ROWS);
    sum(t);
    take(t, TOTALS);
    take(t, OUT);
    store_sums(t);
    move(t, ROWS, below(t, t->given[ROW_DISTANCE]));
    move(t, TOTALS, below(t, t->given[TOTAL_DISTANCE]));
    move(t, OUT, below(t, row_bytes(k)));
    take(t, TILES);
    LLVMValueRef left = move(t, TILES, tgi_llvm_const_i64(k->program, -1));
    LLVMBuildCondBr(k->b,
                    LLVMBuildICmp(k->b, LLVMIntSGT, left,
                                  tgi_llvm_const_i64(k->program, 0), ""),
                    body, done);
    LLVMPositionBuilderAtEnd(k->b, done);
    LLVMBuildRetVoid(k->b);
}

/* Defines the function; the builder stands where it stood. */
static void define(tgi_llvm_kernel *k, LLVMValueRef function, unsigned height)
{
    LLVMBasicBlockRef block = LLVMGetInsertBlock(k->b);
    LLVMValueRef kernel = k->function;
    tile_code t = {.k = k,
                   .height = height,
                   .element = tgi_llvm_element_type(k->e, dtype_of(k)),
                   .row = tgi_llvm_type(k->e, dtype_of(k)),
                   .array = LLVMGetParam(function, 0)};
    k->function = function;
    LLVMPositionBuilderAtEnd(k->b, tgi_llvm_block_append(k, "entry"));
    run_tiles(&t);
    k->function = kernel;
    LLVMPositionBuilderAtEnd(k->b, block);
}

static LLVMTypeRef function_type(tgi_llvm_program *program)
{
    return LLVMFunctionType(program->void_type, &program->pointer, 1, false);
}

/* The function of a height, for the current lanes. */
static LLVMValueRef find(tgi_llvm_kernel *k, unsigned height)
{
    char name[64];
    snprintf(name, sizeof(name), "tg_tiles_%s_%ux%u",
             tgi_dtype_table[dtype_of(k)].name, height, k->e->lanes);
    LLVMValueRef function = LLVMGetNamedFunction(k->e->module, name);
    if (function)
        return function;
    function = LLVMAddFunction(k->e->module, name, function_type(k->program));
    LLVMSetLinkage(function, LLVMInternalLinkage);
    tgi_llvm_target_set_function(k->program->target, function);
    tgi_llvm_target_skip_post_ra_scheduler(function);
    define(k, function, height);
    return function;
}

/* -- Calls ----------------------------------------------------------------- */

static void give(tgi_llvm_kernel *k, const tgi_llvm_micro_kernel_args *tiles,
                 unsigned number, LLVMValueRef value)
{
    if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind)
        value = LLVMBuildPtrToInt(k->b, value, k->program->i64, "");
    LLVMBuildStore(k->b, value, place_of(k, tiles->array, number));
}

/* Bytes of a step of a side along an axis. */
static LLVMValueRef step_of(tgi_llvm_kernel *k, uint8_t side, int axis)
{
    const tgi_access *access = tgi_llvm_operand_access(&k->analysis, side);
    return tgi_llvm_mul(k->program, tgi_llvm_stride(k, access->stride[axis]),
                        tgi_llvm_const_i64(k->program, element_bytes(k)));
}

void tgi_llvm_micro_kernel_args_init(tgi_llvm_kernel *k,
                                     tgi_llvm_micro_kernel_args *tiles,
                                     bool is_copied)
{
    LLVMValueRef none = tgi_llvm_const_i64(k->program, -1);
    tiles->array = tgi_llvm_stack_array(k, k->program->i64, PARAMETERS);
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    give(k, tiles, ROW_DISTANCE,
         step_of(k, TGI_LLVM_OPERAND_A, k->analysis.matmul.row_axis));
    give(k, tiles, ROW_STEP, step_of(k, TGI_LLVM_OPERAND_A, k->analysis.inner));
    give(k, tiles, COLUMN_STEP,
         is_copied ? row_bytes(k)
                   : step_of(k, TGI_LLVM_OPERAND_B, k->analysis.inner));
    give(k, tiles, LAST, none);
    give(k, tiles, LAST_AT, none);
    tgi_llvm_position_restore(k, block);
    tiles->last = (tgi_llvm_packed_panel){0};
    if (!k->mask || is_copied ||
        tgi_llvm_operand_access(&k->analysis, TGI_LLVM_OPERAND_B)->panel_width)
        return;
    LLVMValueRef end = tgi_llvm_dim(k, k->loops->extent[k->analysis.inner]);
    tiles->last.memory = tgi_llvm_stack_array(
        k, tgi_llvm_element_type(k->e, dtype_of(k)), k->e->lanes);
    tgi_llvm_panel_pack(
        k, &tiles->last,
        LLVMBuildSub(k->b, end, tgi_llvm_const_i64(k->program, 1), ""), end);
    give(k, tiles, LAST, tiles->last.memory);
}

void tgi_llvm_micro_kernel_args_set(tgi_llvm_kernel *k,
                                    const tgi_llvm_micro_kernel_args *tiles)
{
    k->index[k->analysis.matmul.row_axis] = tiles->row;
    k->index[k->analysis.inner] = tiles->from;
    give(k, tiles, ROWS,
         tgi_llvm_address_from_indices(
             k, tgi_llvm_operand_access(&k->analysis, TGI_LLVM_OPERAND_A)));
    give(k, tiles, COLUMNS,
         tiles->columns->memory
             ? tiles->columns->memory
             : tgi_llvm_address_from_indices(
                   k,
                   tgi_llvm_operand_access(&k->analysis, TGI_LLVM_OPERAND_B)));
    k->index[k->analysis.inner] = NULL;
    give(k, tiles, STEPS, LLVMBuildSub(k->b, tiles->to, tiles->from, ""));
    if (tiles->last.memory)
        give(k, tiles, LAST_AT,
             LLVMBuildSub(k->b,
                          tgi_llvm_add(k->program, tiles->last.first,
                                       tgi_llvm_const_i64(k->program, -1)),
                          tiles->from, ""));
    give(k, tiles, TOTALS, tiles->totals);
    give(k, tiles, TOTAL_DISTANCE,
         tgi_llvm_mul(k->program, tiles->total_stride,
                      tgi_llvm_const_i64(k->program, element_bytes(k))));
    give(k, tiles, OUT, tiles->out);
}

void tgi_llvm_micro_kernel_call(tgi_llvm_kernel *k,
                                const tgi_llvm_micro_kernel_args *tiles,
                                unsigned height, LLVMValueRef n)
{
    LLVMValueRef array = tiles->array;
    tgi_llvm_branch any;
    tgi_llvm_branch_begin(k, &any,
                          LLVMBuildICmp(k->b, LLVMIntSGT, n,
                                        tgi_llvm_const_i64(k->program, 0), ""));
    give(k, tiles, TILES, n);
    LLVMBuildCall2(k->b, function_type(k->program), find(k, height), &array, 1,
                   "");
    tgi_llvm_branch_end(k, &any);
}
