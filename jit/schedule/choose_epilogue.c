/* SPDX-License-Identifier: MIT */
/*
 * choose_epilogue.c - reduction epilogues of a matmul (tgi_loop_store):
 * reductions of the rows or columns of C, while C is in registers.
 */
#include "loop/inst_cost.h"
#include "schedule/choose.h"

static const tgi_loop_store *store_at(const tgi_schedule *s, size_t i)
{
    return &s->loops->stores.data[i];
}

static bool reduces_row(const tgi_schedule *s, size_t i)
{
    return store_at(s, i)->epilogue_op && store_at(s, i)->along_rows;
}

static bool reduces_column(const tgi_schedule *s, size_t i)
{
    return store_at(s, i)->epilogue_op && !store_at(s, i)->along_rows;
}

void tgi_schedule_find_epilogues(tgi_schedule *s)
{
    s->matmul.reduces_rows = s->matmul.reduces_columns = false;
    for (size_t i = 0; i < s->loops->stores.n; i++) {
        s->matmul.reduces_rows |= reduces_row(s, i);
        s->matmul.reduces_columns |= reduces_column(s, i);
    }
}

unsigned tgi_schedule_epilogue_cost(const tgi_schedule *s)
{
    unsigned cost = 0;
    for (size_t i = 0; i < s->loops->stores.n; i++)
        if (reduces_column(s, i))
            cost += TGI_COST_EPILOGUE_COLUMNS;
        else if (reduces_row(s, i))
            cost += tgi_schedule_row_fits_vector(s) ? TGI_COST_EPILOGUE_VECTOR
                                                    : TGI_COST_EPILOGUE_LANES;
    return cost;
}

unsigned tgi_schedule_max_epilogue_lanes(const tgi_schedule *s)
{
    unsigned max = TGI_MAX_LANES;
    for (size_t i = 0; i < s->loops->stores.n; i++) {
        const unsigned lanes = (unsigned)tgi_tree_lanes(
            tgi_kernel_dtype(s->loops, store_at(s, i)->value));
        if (reduces_row(s, i) && lanes < max)
            max = lanes;
    }
    return max;
}

int64_t tgi_schedule_row_epilogue_bytes(const tgi_schedule *s)
{
    int64_t bytes = 0;
    for (size_t i = 0;
         i < s->loops->stores.n && !tgi_schedule_row_fits_vector(s); i++)
        if (reduces_row(s, i))
            bytes += tgi_schedule_epilogue_lanes(s, store_at(s, i)) *
                     (int64_t)tgi_dtype_bytes(
                         tgi_kernel_dtype(s->loops, store_at(s, i)->value));
    return bytes;
}
