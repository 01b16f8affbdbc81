/* SPDX-License-Identifier: MIT */
/*
 * block_sums.h - splits a kernel that sums over all rows.
 *
 * Such a kernel cannot run by row blocks, because one thread needs all rows in
 * order. If it also stores values of rows that the next kernels read, it stands
 * between kernels that could. It is then split: `rows` computes and stores the
 * values of each row, also those that are summed; `sums` loads and reduces them
 * afterwards, in the order of the original.
 */
#ifndef TGI_BLOCK_SUMS_H
#define TGI_BLOCK_SUMS_H

#include "loop/loops.h"

/* True if a kernel can be split, with `n_rows` rows. */
bool tgi_block_sums_can_split(const tgi_kernel_loops *k, tgi_dim n_rows);

/* Creates the two kernels, which the caller destroys, and temporaries for
   values that are not stored yet. They are not scheduled. */
tg_status tgi_block_sums_split(tgi_loops *loops, const tgi_kernel_loops *k,
                               tgi_kernel_loops **out_rows,
                               tgi_kernel_loops **out_sums);

#endif /* TGI_BLOCK_SUMS_H */
