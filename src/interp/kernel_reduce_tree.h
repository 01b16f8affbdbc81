/* SPDX-License-Identifier: MIT */
/*
 * kernel_reduce_tree.h - template of kernel_reduce_type.h: the reduction tree
 * of reduce_tree.h for the op ID and the current dtype, from the leaves up.
 */
#include "interp/kernel_pairwise.h"

#define NAMED(piece) CAT4(piece, ID, _, DT)
#define STEP(a, b) R(ID)(a, b)

/* -- Runs ------------------------------------------------------------------ */

/* Accumulates n elements into the lanes, from position `at` of a block on. */
static void NAMED(accumulate_)(T *lane, int64_t at, const char *data,
                               int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        T *accumulator = &lane[(at + i) % LANES];
        *accumulator = STEP(*accumulator, *(const T *)(data + i * stride));
    }
}

static T NAMED(reduce_run_)(const axis_group *g, const char *data)
{
    if (g->rank == 0)
        return *(const T *)data;
    if (g->count == 0)
        return EMPTY(ID)();
    NAMED(pairwise_) blocks = {.n_blocks = 0};
    T lane[LANES];
    int inner = g->rank - 1;
    int64_t at = 0, n_left = g->count, position[TG_MAX_RANK] = {0};
    while (n_left > 0) {
        for (int64_t i = 0; i < g->dims[inner];) {
            if (at == 0)
                for (int j = 0; j < LANES; j++)
                    lane[j] = START(ID)();
            int64_t n = g->dims[inner] - i;
            if (n > BLOCK - at)
                n = BLOCK - at;
            NAMED(accumulate_)(lane, at, data + i * g->strides[inner],
                               g->strides[inner], n);
            i += n;
            at += n;
            n_left -= n;
            if (at == BLOCK || n_left == 0) {
                NAMED(add_block_)(&blocks, NAMED(reduce_lanes_)(lane));
                at = 0;
            }
        }
        data += axis_group_step(g, inner, position);
    }
    return NAMED(total_)(&blocks);
}

/* -- Rows ------------------------------------------------------------------ */

/* Computes `n` results whose first elements are `stride` bytes apart. */
static void NAMED(reduce_rows_)(const reduction *r, char *out,
                                int64_t out_stride, const char *data,
                                int64_t stride, int n)
{
    NAMED(pairwise_) blocks[CHUNK];
    int64_t position[TG_MAX_RANK] = {0};
    T block[CHUNK];
    for (int j = 0; j < n; j++)
        blocks[j].n_blocks = 0;
    for (int64_t row = 0; row < r->rows.count; row++) {
        if (row % TGI_BLOCK_ROWS == 0)
            for (int j = 0; j < n; j++)
                block[j] = START(ID)();
        for (int j = 0; j < n; j++)
            block[j] =
                STEP(block[j], NAMED(reduce_run_)(&r->run, data + j * stride));
        if ((row + 1) % TGI_BLOCK_ROWS == 0 || row + 1 == r->rows.count)
            for (int j = 0; j < n; j++)
                NAMED(add_block_)(&blocks[j], block[j]);
        data += axis_group_step(&r->rows, r->rows.rank, position);
    }
    for (int j = 0; j < n; j++)
        *(T *)(out + j * out_stride) =
            r->rows.count ? NAMED(total_)(&blocks[j]) : EMPTY(ID)();
}

static void LOOP(ID)(tgi_run run)
{
    for (int64_t i = 0; i < run.n; i += CHUNK)
        NAMED(reduce_rows_)(run.user, &AT(char, 0), run.strides[0],
                            &AT(char, 1), run.strides[1],
                            run.n - i < CHUNK ? (int)(run.n - i) : CHUNK);
}

static tg_status KERNEL(ID)(const tgi_kernel_args *args)
{
    return run_reduce(args, LOOP(ID));
}

#undef NAMED
#undef STEP
#undef ID
