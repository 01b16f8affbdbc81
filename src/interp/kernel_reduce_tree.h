/* SPDX-License-Identifier: MIT */
/*
 * kernel_reduce_tree.h - template of kernel_reduce_type.h: the tree of
 * reduce_tree.h for the op ID and the current type, from the leaves up.
 */
#include "interp/kernel_pairwise.h"

#define NAMED(piece) CAT4(piece, ID, _, DT)
#define STEP(a, b) R(ID)(a, b)

/* -- Runs ------------------------------------------------------------------ */

/* Takes n elements into the lanes, from position `at` of a block on. */
static void NAMED(take_)(T *lane, int64_t at, const char *data, int64_t stride,
                         int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        T *own = &lane[(at + i) % LANES];
        *own = STEP(*own, *(const T *)(data + i * stride));
    }
}

static T NAMED(run_)(const group *g, const char *data)
{
    if (g->rank == 0)
        return *(const T *)data;
    if (g->count == 0)
        return EMPTY(ID)();
    NAMED(cascade_) blocks = {.n_blocks = 0};
    T lane[LANES];
    int inner = g->rank - 1;
    int64_t at = 0, left = g->count, position[TG_MAX_RANK] = {0};
    while (left > 0) {
        for (int64_t i = 0; i < g->dims[inner];) {
            if (at == 0)
                for (int j = 0; j < LANES; j++)
                    lane[j] = START(ID)();
            int64_t n = g->dims[inner] - i;
            if (n > BLOCK - at)
                n = BLOCK - at;
            NAMED(take_)(lane, at, data + i * g->strides[inner],
                         g->strides[inner], n);
            i += n;
            at += n;
            left -= n;
            if (at == BLOCK || left == 0) {
                NAMED(push_)(&blocks, NAMED(fold_)(lane));
                at = 0;
            }
        }
        data += group_step(g, inner, position);
    }
    return NAMED(total_)(&blocks);
}

/* -- Rows ------------------------------------------------------------------ */

/* `n` results whose first elements are `stride` bytes apart. */
static void NAMED(chunk_)(const reduction *r, char *out, int64_t out_stride,
                          const char *data, int64_t stride, int n)
{
    NAMED(cascade_) blocks[CHUNK];
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
                STEP(block[j], NAMED(run_)(&r->run, data + j * stride));
        if ((row + 1) % TGI_BLOCK_ROWS == 0 || row + 1 == r->rows.count)
            for (int j = 0; j < n; j++)
                NAMED(push_)(&blocks[j], block[j]);
        data += group_step(&r->rows, r->rows.rank, position);
    }
    for (int j = 0; j < n; j++)
        *(T *)(out + j * out_stride) =
            r->rows.count ? NAMED(total_)(&blocks[j]) : EMPTY(ID)();
}

static void LOOP(ID)(tgi_run run)
{
    for (int64_t i = 0; i < run.n; i += CHUNK)
        NAMED(chunk_)(run.user, &AT(char, 0), run.strides[0], &AT(char, 1),
                      run.strides[1],
                      run.n - i < CHUNK ? (int)(run.n - i) : CHUNK);
}

static tg_status KERNEL(ID)(const tgi_kernel_args *args)
{
    return reduce(args, LOOP(ID));
}

#undef NAMED
#undef STEP
#undef ID
