/* SPDX-License-Identifier: MIT */
/*
 * llvm_matmul_epilogue.c - reduction epilogues of a matmul (tgi_loop_store):
 * reductions of the rows or columns of C, while C is in registers.
 *
 * Columns. A work item has all rows, in order, so the partial result of each
 * column is one value: a vector beside that of C, in memory only between
 * micro-kernels.
 *
 * Rows. A work item has all columns, in order, and accumulates them in lanes of
 * the reduction tree. A row of one vector is reduced at once. For longer rows,
 * the lanes of all rows of the item are on the stack: the first vector of every
 * row, then the second of every row, and so on. At the end, each row is reduced
 * horizontally.
 *
 * Lanes that a row does not reach, or that are masked off, keep the start
 * value, which does not change the result.
 */
#include "llvm/emit/llvm_access.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/matmul/llvm_matmul.h"
#include "llvm/reduce/llvm_reduce.h"

/* -- Facts ----------------------------------------------------------------- */

static const tgi_loop_store *store_at(const tgi_schedule *s, size_t i)
{
    return &s->loops->stores.data[i];
}

static tg_dtype value_dtype(const tgi_schedule *s, const tgi_loop_store *store)
{
    return (tg_dtype)s->loops->insts.data[store->value].dtype;
}

static bool reduces_row(const tgi_schedule *s, size_t i)
{
    return store_at(s, i)->epilogue_op && store_at(s, i)->along_rows;
}

static bool reduces_column(const tgi_schedule *s, size_t i)
{
    return store_at(s, i)->epilogue_op && !store_at(s, i)->along_rows;
}

/* -- Partial results ------------------------------------------------------- */

static LLVMValueRef start_value(tgi_llvm_kernel *k, const tgi_loop_store *store)
{
    return tgi_emit_start_of(store->epilogue_op,
                             value_dtype(k->schedule, store))(&k->e->base);
}

static LLVMValueRef partial_address(tgi_llvm_kernel *k, size_t i,
                                    LLVMValueRef element)
{
    return LLVMBuildGEP2(
        k->b,
        tgi_llvm_element_type(
            k->e, value_dtype(k->schedule, store_at(k->schedule, i))),
        k->matmul.partials[i], &element, 1, "");
}

static LLVMValueRef load_partial(tgi_llvm_kernel *k, size_t i,
                                 LLVMValueRef element)
{
    const tg_dtype dtype = value_dtype(k->schedule, store_at(k->schedule, i));
    LLVMValueRef value = LLVMBuildLoad2(k->b, tgi_llvm_type(k->e, dtype),
                                        partial_address(k, i, element), "");
    LLVMSetAlignment(value, (unsigned)tgi_dtype_bytes((int)dtype));
    return value;
}

static void store_partial(tgi_llvm_kernel *k, size_t i, LLVMValueRef element,
                          LLVMValueRef value)
{
    LLVMSetAlignment(
        LLVMBuildStore(k->b, value, partial_address(k, i, element)),
        (unsigned)tgi_dtype_bytes(
            (int)value_dtype(k->schedule, store_at(k->schedule, i))));
}

/* A partial result, and the value at k->index, of the current lanes. */
static LLVMValueRef combine_value(tgi_llvm_kernel *k,
                                  const tgi_loop_store *store,
                                  LLVMValueRef part)
{
    return tgi_llvm_reduce_combine_op(k, store->epilogue_op,
                                      value_dtype(k->schedule, store), part,
                                      tgi_llvm_value_of(k, store->value));
}

/* -- Columns --------------------------------------------------------------- */

void tgi_llvm_column_epilogue_begin(tgi_llvm_kernel *k)
{
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        if (!reduces_column(k->schedule, i))
            continue;
        k->matmul.partials[i] = tgi_llvm_stack_array(
            k,
            tgi_llvm_element_type(
                k->e, value_dtype(k->schedule, store_at(k->schedule, i))),
            k->e->lanes);
        store_partial(k, i, tgi_llvm_const_i64(k->program, 0),
                      start_value(k, store_at(k->schedule, i)));
    }
}

unsigned tgi_llvm_column_epilogue_load(tgi_llvm_kernel *k, LLVMValueRef *out)
{
    unsigned n = 0;
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (reduces_column(k->schedule, i))
            out[n++] = k->matmul.column_partials[i] =
                load_partial(k, i, tgi_llvm_const_i64(k->program, 0));
    return n;
}

void tgi_llvm_column_epilogue_set(tgi_llvm_kernel *k,
                                  const LLVMValueRef *values)
{
    for (size_t i = 0, n = 0; i < k->loops->stores.n; i++)
        if (reduces_column(k->schedule, i))
            k->matmul.column_partials[i] = values[n++];
}

void tgi_llvm_column_epilogue_get(const tgi_llvm_kernel *k, LLVMValueRef *out)
{
    for (size_t i = 0, n = 0; i < k->loops->stores.n; i++)
        if (reduces_column(k->schedule, i))
            out[n++] = k->matmul.column_partials[i];
}

void tgi_llvm_column_epilogue_store(tgi_llvm_kernel *k)
{
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (reduces_column(k->schedule, i))
            store_partial(k, i, tgi_llvm_const_i64(k->program, 0),
                          k->matmul.column_partials[i]);
}

static void store_column(tgi_llvm_kernel *k, size_t i)
{
    const tgi_loop_store *store = store_at(k->schedule, i);
    LLVMMetadataRef before = tgi_llvm_debug_set_store(k, store);
    tgi_llvm_store_value(k, tgi_llvm_store_access(k, store),
                         load_partial(k, i, tgi_llvm_const_i64(k->program, 0)));
    tgi_llvm_debug_restore(k->program, before);
}

void tgi_llvm_column_epilogue_end(tgi_llvm_kernel *k)
{
    if (!k->schedule->matmul.reduces_columns)
        return;
    k->index[k->schedule->matmul.row_axis] = NULL;
    tgi_llvm_point_addresses_emit(k);
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (reduces_column(k->schedule, i))
            store_column(k, i);
}

/* -- Rows ------------------------------------------------------------------ */

/* Reduces n vectors to one element, and stores it at k->index. */
static void store_reduced(tgi_llvm_kernel *k, const tgi_loop_store *store,
                          LLVMValueRef *vectors, unsigned n)
{
    const unsigned lanes = k->e->lanes, n_active_lanes = k->n_active_lanes;
    LLVMValueRef mask = k->mask;
    LLVMMetadataRef before = tgi_llvm_debug_set_store(k, store);
    k->mask = NULL;
    k->n_active_lanes = 0;
    LLVMValueRef all = tgi_llvm_horizontal_reduce_op(
        k, store->epilogue_op, value_dtype(k->schedule, store), vectors, n);
    tgi_llvm_store_value(k, tgi_llvm_store_access(k, store), all);
    k->e->lanes = lanes;
    k->mask = mask;
    k->n_active_lanes = n_active_lanes;
    tgi_llvm_debug_restore(k->program, before);
}

static LLVMValueRef select_active(tgi_llvm_kernel *k, LLVMValueRef value,
                                  LLVMValueRef otherwise)
{
    return k->mask && k->e->lanes > 1
               ? LLVMBuildSelect(k->b, k->mask, value, otherwise, "")
               : value;
}

/* Offset of a lane of a row in the partial results of all rows. */
static LLVMValueRef lane_offset(tgi_llvm_kernel *k, LLVMValueRef row,
                                LLVMValueRef lane)
{
    const tgi_llvm_program *program = k->program;
    const int64_t width = tgi_phase_lanes(&k->schedule->phases[0]);
    LLVMValueRef at =
        tgi_llvm_mul(program, LLVMBuildSub(k->b, row, k->matmul.first_row, ""),
                     tgi_llvm_const_i64(program, width));
    LLVMValueRef vector =
        LLVMBuildAnd(k->b, lane, tgi_llvm_const_i64(program, -width), "");
    at =
        tgi_llvm_add(program, at,
                     tgi_llvm_mul(program, vector,
                                  tgi_llvm_const_i64(
                                      program, k->schedule->matmul.item_rows)));
    return tgi_llvm_add(program, at, LLVMBuildSub(k->b, lane, vector, ""));
}

static void accumulate_row(tgi_llvm_kernel *k, size_t i, LLVMValueRef row)
{
    const tgi_loop_store *store = store_at(k->schedule, i);
    if (tgi_schedule_row_fits_vector(k->schedule)) {
        LLVMValueRef start = start_value(k, store);
        LLVMValueRef lanes =
            select_active(k, combine_value(k, store, start), start);
        store_reduced(k, store, &lanes, 1);
        return;
    }
    LLVMValueRef lane = LLVMBuildAnd(
        k->b, k->index[k->schedule->vector_axis],
        tgi_llvm_const_i64(k->program,
                           tgi_schedule_epilogue_lanes(k->schedule, store) - 1),
        "");
    LLVMValueRef at = lane_offset(k, row, lane);
    LLVMValueRef before = load_partial(k, i, at);
    store_partial(k, i, at,
                  select_active(k, combine_value(k, store, before), before));
}

void tgi_llvm_row_epilogue_begin(tgi_llvm_kernel *k)
{
    LLVMValueRef end;
    if (tgi_schedule_row_fits_vector(k->schedule))
        return;
    tgi_llvm_matmul_item_rows(k, &k->matmul.first_row, &end);
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        if (!reduces_row(k->schedule, i))
            continue;
        const unsigned n =
            (unsigned)k->schedule->matmul.item_rows *
            tgi_schedule_epilogue_lanes(k->schedule, store_at(k->schedule, i));
        tgi_llvm_loop loop;
        k->matmul.partials[i] = tgi_llvm_stack_array(
            k,
            tgi_llvm_element_type(
                k->e, value_dtype(k->schedule, store_at(k->schedule, i))),
            n);
        LLVMSetAlignment(k->matmul.partials[i], TGI_PANEL_ROW_BYTES);
        tgi_llvm_loop_begin_nonempty(
            k, &loop, tgi_llvm_const_i64(k->program, 0),
            tgi_llvm_const_i64(k->program, n), k->e->lanes);
        store_partial(k, i, loop.index,
                      start_value(k, store_at(k->schedule, i)));
        tgi_llvm_loop_end(k, &loop, NULL);
    }
}

void tgi_llvm_row_epilogue_end(tgi_llvm_kernel *k)
{
    const unsigned step = k->e->lanes;
    LLVMValueRef block = k->index[k->schedule->matmul.row_axis], first, end;
    tgi_llvm_loop loop;
    if (tgi_schedule_row_fits_vector(k->schedule))
        return;
    tgi_llvm_matmul_item_rows(k, &first, &end);
    tgi_llvm_loop_begin_nonempty(k, &loop, first, end, 1);
    k->index[k->schedule->matmul.row_axis] = loop.index;
    tgi_llvm_point_addresses_emit(k);
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        LLVMValueRef vectors[TGI_LANES_4];
        if (!reduces_row(k->schedule, i))
            continue;
        const unsigned n =
            tgi_schedule_epilogue_lanes(k->schedule, store_at(k->schedule, i)) /
            step;
        for (unsigned j = 0; j < n; j++)
            vectors[j] = load_partial(
                k, i,
                lane_offset(k, loop.index,
                            tgi_llvm_const_i64(k->program, j * step)));
        store_reduced(k, store_at(k->schedule, i), vectors, n);
    }
    tgi_llvm_loop_end(k, &loop, NULL);
    k->index[k->schedule->matmul.row_axis] = block;
}

/* -- Both ------------------------------------------------------------------ */

void tgi_llvm_epilogue_accumulate(tgi_llvm_kernel *k, LLVMValueRef row)
{
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_loop_store *store = store_at(k->schedule, i);
        LLVMMetadataRef before = tgi_llvm_debug_set_store(k, store);
        if (reduces_row(k->schedule, i))
            accumulate_row(k, i, row);
        else if (reduces_column(k->schedule, i))
            k->matmul.column_partials[i] =
                combine_value(k, store, k->matmul.column_partials[i]);
        tgi_llvm_debug_restore(k->program, before);
    }
}
