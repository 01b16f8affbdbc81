/* SPDX-License-Identifier: MIT */
/*
 * choose_matrices.c - matmuls with few rows that share B with their neighbours,
 * such as the rows of a small image with its filters. Each of them reads all of
 * B. If that does not stay in L2, a work item has several of them, and all use
 * a k-block of B before the next one is read.
 */
#include "schedule/choose.h"

enum {
    /* Rows of a work item, at most: the loads of B then hide behind their
       multiply-adds. Measured on Zen 5, 7 x 7 pixels, 512 to 512 channels, 3 x
       3: 7 rows and micro-kernels of 4x64 1.46 ms, 49 rows and 7x32 1.24. */
    MAX_ROWS = 112,
    /* Registers of a row of B, a line each, that micro-kernels prefetch. There,
       two lines per step: 1.21 ms, with prefetches 1.08. Four lines, 14 x 14
       pixels and 256 channels by 5x64: 0.97, with prefetches 1.03. */
    MAX_PREFETCHED_REGISTERS = 2
};

/* The axis of the matrices. */
static int matrix_axis(const tgi_schedule *s)
{
    return s->matmul.row_axis - 1;
}

/* True if matrices share a B of several k-blocks that exceeds half of L2, and a
   work item has all rows of a matrix. */
static bool should_share_b(const tgi_scheduler *r, const tgi_schedule *s)
{
    const tgi_matmul_schedule *m = &s->matmul;
    const tgi_reduction *reduction = tgi_schedule_matmul_reduction(s);
    const tgi_dim *extent = s->loops->extent;
    const int axis = matrix_axis(s);
    if (axis < 0 || s->split_block || reduction->is_split || m->reduces_rows ||
        m->reduces_columns || !tgi_dim_is_known(extent[axis]) ||
        !tgi_dim_is_known(extent[s->inner]) ||
        !tgi_dim_is_known(extent[s->vector_axis]) ||
        extent[s->vector_axis] == 0 ||
        !tgi_dim_is_known(extent[m->row_axis]))
        return false;
    return tgi_schedule_operand(s, TGI_OPERAND_B)->stride[axis].distance == 0 &&
           extent[m->row_axis] <= m->item_rows &&
           extent[s->inner] > TGI_BLOCK_ROWS &&
           extent[s->inner] >
               r->target->l2_bytes / 2 /
                   (extent[s->vector_axis] *
                    (int64_t)tgi_dtype_bytes(reduction->dtype));
}

/* Matrices of a work item, at most `max`: a divisor of `all` if one is more
   than half of that. */
static int64_t even_matrices(int64_t all, int64_t max)
{
    for (int64_t n = max; 2 * n > max; n--)
        if (all % n == 0)
            return n;
    const int64_t items = (all + max - 1) / max;
    return (all + items - 1) / items;
}

/* The most matrices of n_panels whose C fits the stack; 0: not even one. */
static int64_t most_matrices(const tgi_scheduler *r, const tgi_schedule *s,
                             unsigned n_panels)
{
    const tgi_dim all = s->loops->extent[matrix_axis(s)];
    int64_t rows = tgi_schedule_max_c_rows(r, s, n_panels);
    if (rows > MAX_ROWS)
        rows = MAX_ROWS;
    int64_t max = rows / s->matmul.item_rows;
    if (max > all)
        max = all;
    return max ? even_matrices(all, max) : 0;
}

/* True if items of n matrices and n_panels divide evenly among two or four
   threads. */
static bool divides_evenly(const tgi_schedule *s, int64_t n, unsigned n_panels)
{
    const unsigned columns = n_panels * s->matmul.nr;
    int64_t items = 1;
    for (int axis = 0; axis <= s->vector_axis && items < TGI_ENOUGH_ITEMS;
         axis++) {
        const tgi_dim extent = s->loops->extent[axis];
        const int64_t size = axis == s->vector_axis       ? columns
                             : axis == s->matmul.row_axis ? s->matmul.item_rows
                             : axis == matrix_axis(s)     ? n
                                                          : 1;
        if (tgi_dim_is_known(extent))
            items *= (extent + size - 1) / size;
    }
    return items >= TGI_ENOUGH_ITEMS || items % TGI_MIN_SHARED_ITEMS == 0;
}

void tgi_schedule_choose_matrices(const tgi_scheduler *r, tgi_schedule *s)
{
    if (!should_share_b(r, s))
        return;
    unsigned n_panels = s->matmul.n_panels > 1 ? s->matmul.n_panels : 1;
    int64_t n = most_matrices(r, s, n_panels);
    while (n_panels > 1 && (n <= 1 || !divides_evenly(s, n, n_panels))) {
        n_panels /= 2;
        n = most_matrices(r, s, n_panels);
    }
    while (n > 1 && !divides_evenly(s, n, n_panels))
        n = even_matrices(s->loops->extent[matrix_axis(s)], n / 2);
    if (n <= 1)
        return;
    s->matmul.item_matrices = n;
    s->matmul.n_panels = n_panels > 1 ? n_panels : 0;
    s->matmul.prefetches_panels =
        tgi_schedule_operand(s, TGI_OPERAND_B)->panel_width &&
        tgi_schedule_nr_registers(s, s->matmul.nr) <= MAX_PREFETCHED_REGISTERS;
}
