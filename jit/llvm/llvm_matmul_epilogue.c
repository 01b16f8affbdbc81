/* SPDX-License-Identifier: MIT */
/*
 * llvm_matmul_epilogue.c - folds of a product (loops.h): reductions of its rows or
 * columns, taken where the results of a row are in registers.
 *
 * An item that folds columns has all rows. It takes them in order, so what a
 * column has come to is one value: a vector beside that of the results, which
 * is in memory only between tiles.
 *
 * An item that folds rows has all columns, and takes them in order, too: lane
 * by lane of the tree. A row that is one vector is folded at once. Of others,
 * an item keeps the lanes of all its rows on the stack while it goes from some
 * columns to the next: as the results of tiles lie, vector below vector, and
 * behind them all those beside them. In the end they become one element for
 * each row.
 *
 * Lanes that a row never reaches, because it is short or because they are
 * masked, keep the start value, which changes nothing.
 */
#include "llvm/llvm_access.h"
#include "llvm/llvm_analysis.h"
#include "llvm/llvm_emit.h"
#include "llvm/llvm_flow.h"
#include "llvm/llvm_inst.h"
#include "llvm/llvm_kernel_state.h"
#include "llvm/llvm_matmul.h"
#include "llvm/llvm_program.h"
#include "llvm/llvm_reduce.h"

/* -- Facts ----------------------------------------------------------------- */

static const tgi_loop_store *store_at(const tgi_llvm_analysis *a, size_t i)
{
    return &a->loops->stores.data[i];
}

static const tgi_access *access_of(const tgi_llvm_kernel *k,
                                   const tgi_loop_store *store)
{
    return &k->loops->accesses.data[store->access];
}

static tg_dtype dtype_of(const tgi_llvm_analysis *a,
                         const tgi_loop_store *store)
{
    return (tg_dtype)a->loops->insts.data[store->value].dtype;
}

static bool folds_row(const tgi_llvm_analysis *a, size_t i)
{
    return store_at(a, i)->epilogue_op && store_at(a, i)->along_rows;
}

static bool folds_column(const tgi_llvm_analysis *a, size_t i)
{
    return store_at(a, i)->epilogue_op && !store_at(a, i)->along_rows;
}

void tgi_llvm_epilogue_classify(tgi_llvm_analysis *a)
{
    a->matmul.reduces_rows = a->matmul.reduces_columns = false;
    for (size_t i = 0; i < a->loops->stores.n; i++) {
        a->matmul.reduces_rows |= folds_row(a, i);
        a->matmul.reduces_columns |= folds_column(a, i);
    }
}

/* Lanes of the tree that a row reaches. */
static unsigned tree_lanes(const tgi_llvm_analysis *a,
                           const tgi_loop_store *store)
{
    const tgi_dim n = a->loops->extent[a->vector_axis];
    unsigned lanes = (unsigned)tgi_tree_lanes((int)dtype_of(a, store));
    while (lanes / 2 >= n)
        lanes /= 2;
    return lanes;
}

/* True if all columns are in the lanes of one vector. */
static bool is_one_vector(const tgi_llvm_analysis *a)
{
    const tgi_dim n = a->loops->extent[a->vector_axis];
    return n == a->phases[0].lanes ||
           (n < a->phases[0].lanes && a->phases[0].can_mask);
}

unsigned tgi_llvm_epilogue_cost(const tgi_llvm_analysis *a)
{
    enum { OF_COLUMN = 1, OF_LANES = 3, OF_VECTOR = 8 };
    unsigned cost = 0;
    for (size_t i = 0; i < a->loops->stores.n; i++)
        if (folds_column(a, i))
            cost += OF_COLUMN;
        else if (folds_row(a, i))
            cost += is_one_vector(a) ? OF_VECTOR : OF_LANES;
    return cost;
}

int64_t tgi_llvm_row_epilogue_bytes(const tgi_llvm_analysis *a)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < a->loops->stores.n && !is_one_vector(a); i++)
        if (folds_row(a, i))
            bytes += tree_lanes(a, store_at(a, i)) *
                     (int64_t)tgi_dtype_bytes((int)dtype_of(a, store_at(a, i)));
    return bytes;
}

/* -- Parts ----------------------------------------------------------------- */

static LLVMValueRef start_of(tgi_llvm_kernel *k, const tgi_loop_store *store)
{
    return tgi_emit_start_of(store->epilogue_op,
                             dtype_of(&k->analysis, store))(&k->e->base);
}

static LLVMValueRef part_at(tgi_llvm_kernel *k, size_t i, LLVMValueRef element)
{
    return LLVMBuildGEP2(
        k->b,
        tgi_llvm_element_type(
            k->e, dtype_of(&k->analysis, store_at(&k->analysis, i))),
        k->matmul.partials[i], &element, 1, "");
}

static LLVMValueRef load_part(tgi_llvm_kernel *k, size_t i,
                              LLVMValueRef element)
{
    const tg_dtype dtype = dtype_of(&k->analysis, store_at(&k->analysis, i));
    LLVMValueRef value = LLVMBuildLoad2(k->b, tgi_llvm_type(k->e, dtype),
                                        part_at(k, i, element), "");
    LLVMSetAlignment(value, (unsigned)tgi_dtype_bytes((int)dtype));
    return value;
}

static void store_part(tgi_llvm_kernel *k, size_t i, LLVMValueRef element,
                       LLVMValueRef value)
{
    LLVMSetAlignment(LLVMBuildStore(k->b, value, part_at(k, i, element)),
                     (unsigned)tgi_dtype_bytes((int)dtype_of(
                         &k->analysis, store_at(&k->analysis, i))));
}

/* What was there and the value at the point, of the current lanes. */
static LLVMValueRef taken(tgi_llvm_kernel *k, const tgi_loop_store *store,
                          LLVMValueRef part)
{
    return tgi_llvm_reduce_combine_op(k, store->epilogue_op,
                                      dtype_of(&k->analysis, store), part,
                                      tgi_llvm_value_of(k, store->value));
}

/* -- Columns --------------------------------------------------------------- */

void tgi_llvm_column_epilogue_begin(tgi_llvm_kernel *k)
{
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        if (!folds_column(&k->analysis, i))
            continue;
        k->matmul.partials[i] = tgi_llvm_stack_array(
            k,
            tgi_llvm_element_type(
                k->e, dtype_of(&k->analysis, store_at(&k->analysis, i))),
            k->e->lanes);
        store_part(k, i, tgi_llvm_const_i64(k->program, 0),
                   start_of(k, store_at(&k->analysis, i)));
    }
}

unsigned tgi_llvm_column_epilogue_load(tgi_llvm_kernel *k, LLVMValueRef *out)
{
    unsigned n = 0;
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (folds_column(&k->analysis, i))
            out[n++] = k->matmul.column_partials[i] =
                load_part(k, i, tgi_llvm_const_i64(k->program, 0));
    return n;
}

void tgi_llvm_column_epilogue_set(tgi_llvm_kernel *k,
                                  const LLVMValueRef *values)
{
    for (size_t i = 0, n = 0; i < k->loops->stores.n; i++)
        if (folds_column(&k->analysis, i))
            k->matmul.column_partials[i] = values[n++];
}

void tgi_llvm_column_epilogue_get(const tgi_llvm_kernel *k, LLVMValueRef *out)
{
    for (size_t i = 0, n = 0; i < k->loops->stores.n; i++)
        if (folds_column(&k->analysis, i))
            out[n++] = k->matmul.column_partials[i];
}

void tgi_llvm_column_epilogue_store(tgi_llvm_kernel *k)
{
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (folds_column(&k->analysis, i))
            store_part(k, i, tgi_llvm_const_i64(k->program, 0),
                       k->matmul.column_partials[i]);
}

void tgi_llvm_column_epilogue_end(tgi_llvm_kernel *k)
{
    if (!k->analysis.matmul.reduces_columns)
        return;
    k->index[k->analysis.matmul.row_axis] = NULL;
    tgi_llvm_point_addresses_emit(k);
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (folds_column(&k->analysis, i))
            tgi_llvm_store_value(
                k, access_of(k, store_at(&k->analysis, i)),
                load_part(k, i, tgi_llvm_const_i64(k->program, 0)));
}

/* -- Rows ------------------------------------------------------------------ */

/* Stores the element that the lanes of n vectors are, at k->index. */
static void store_folded(tgi_llvm_kernel *k, const tgi_loop_store *store,
                         LLVMValueRef *vectors, unsigned n)
{
    const unsigned lanes = k->e->lanes, n_active_lanes = k->n_active_lanes;
    LLVMValueRef mask = k->mask;
    k->mask = NULL;
    k->n_active_lanes = 0;
    LLVMValueRef all = tgi_llvm_horizontal_reduce_op(
        k, store->epilogue_op, dtype_of(&k->analysis, store), vectors, n);
    tgi_llvm_store_value(k, access_of(k, store), all);
    k->e->lanes = lanes;
    k->mask = mask;
    k->n_active_lanes = n_active_lanes;
}

static LLVMValueRef where_counts(tgi_llvm_kernel *k, LLVMValueRef value,
                                 LLVMValueRef otherwise)
{
    return k->mask && k->e->lanes > 1
               ? LLVMBuildSelect(k->b, k->mask, value, otherwise, "")
               : value;
}

/* Where a lane of a row is, among those of all rows. */
static LLVMValueRef place_of(tgi_llvm_kernel *k, LLVMValueRef row,
                             LLVMValueRef lane)
{
    const tgi_llvm_program *program = k->program;
    const int64_t width = k->analysis.phases[0].lanes;
    LLVMValueRef at =
        tgi_llvm_mul(program, LLVMBuildSub(k->b, row, k->matmul.first_row, ""),
                     tgi_llvm_const_i64(program, width));
    LLVMValueRef vector =
        LLVMBuildAnd(k->b, lane, tgi_llvm_const_i64(program, -width), "");
    at = tgi_llvm_add(program, at,
                      tgi_llvm_mul(program, vector,
                                   tgi_llvm_const_i64(
                                       program, k->analysis.matmul.item_rows)));
    return tgi_llvm_add(program, at, LLVMBuildSub(k->b, lane, vector, ""));
}

static void take_row(tgi_llvm_kernel *k, size_t i, LLVMValueRef row)
{
    const tgi_loop_store *store = store_at(&k->analysis, i);
    if (is_one_vector(&k->analysis)) {
        LLVMValueRef start = start_of(k, store);
        LLVMValueRef lanes = where_counts(k, taken(k, store, start), start);
        store_folded(k, store, &lanes, 1);
        return;
    }
    LLVMValueRef lane = LLVMBuildAnd(
        k->b, k->index[k->analysis.vector_axis],
        tgi_llvm_const_i64(k->program, tree_lanes(&k->analysis, store) - 1),
        "");
    LLVMValueRef at = place_of(k, row, lane);
    LLVMValueRef before = load_part(k, i, at);
    store_part(k, i, at, where_counts(k, taken(k, store, before), before));
}

void tgi_llvm_row_epilogue_begin(tgi_llvm_kernel *k)
{
    LLVMValueRef end;
    if (is_one_vector(&k->analysis))
        return;
    tgi_llvm_matmul_item_rows(k, &k->matmul.first_row, &end);
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        if (!folds_row(&k->analysis, i))
            continue;
        const unsigned n = (unsigned)k->analysis.matmul.item_rows *
                           tree_lanes(&k->analysis, store_at(&k->analysis, i));
        tgi_llvm_loop loop;
        k->matmul.partials[i] = tgi_llvm_stack_array(
            k,
            tgi_llvm_element_type(
                k->e, dtype_of(&k->analysis, store_at(&k->analysis, i))),
            n);
        LLVMSetAlignment(k->matmul.partials[i], TGI_PANEL_ROW_BYTES);
        tgi_llvm_loop_begin_nonempty(
            k, &loop, tgi_llvm_const_i64(k->program, 0),
            tgi_llvm_const_i64(k->program, n), k->e->lanes);
        store_part(k, i, loop.index, start_of(k, store_at(&k->analysis, i)));
        tgi_llvm_loop_end(k, &loop, NULL);
    }
}

void tgi_llvm_row_epilogue_end(tgi_llvm_kernel *k)
{
    const unsigned step = k->e->lanes;
    LLVMValueRef block = k->index[k->analysis.matmul.row_axis], first, end;
    tgi_llvm_loop loop;
    if (is_one_vector(&k->analysis))
        return;
    tgi_llvm_matmul_item_rows(k, &first, &end);
    tgi_llvm_loop_begin_nonempty(k, &loop, first, end, 1);
    k->index[k->analysis.matmul.row_axis] = loop.index;
    tgi_llvm_point_addresses_emit(k);
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        LLVMValueRef vectors[TGI_LANES_4];
        if (!folds_row(&k->analysis, i))
            continue;
        const unsigned n =
            tree_lanes(&k->analysis, store_at(&k->analysis, i)) / step;
        for (unsigned j = 0; j < n; j++)
            vectors[j] =
                load_part(k, i,
                          place_of(k, loop.index,
                                   tgi_llvm_const_i64(k->program, j * step)));
        store_folded(k, store_at(&k->analysis, i), vectors, n);
    }
    tgi_llvm_loop_end(k, &loop, NULL);
    k->index[k->analysis.matmul.row_axis] = block;
}

/* -- Both ------------------------------------------------------------------ */

void tgi_llvm_epilogue_accumulate(tgi_llvm_kernel *k, LLVMValueRef row)
{
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (folds_row(&k->analysis, i))
            take_row(k, i, row);
        else if (folds_column(&k->analysis, i))
            k->matmul.column_partials[i] = taken(k, store_at(&k->analysis, i),
                                                 k->matmul.column_partials[i]);
}
