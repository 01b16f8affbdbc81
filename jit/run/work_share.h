/* SPDX-License-Identifier: MIT */
/*
 * work_share.h - how the items of a kernel are divided among the threads of a team.
 */
#ifndef TGI_WORK_SHARE_H
#define TGI_WORK_SHARE_H

#include "codegen/entry_abi.h"

/*
 * As many threads take part as have the frame's grain to do, one at least, and
 * their shares differ by one item at most; the other threads get nothing. All
 * threads compute the same from the same numbers, so nobody is asked.
 */
tgi_range tgi_work_share(const tgi_frame *frame, int64_t thread,
                         int64_t n_threads, int64_t n_items, int64_t item_cost);

#endif /* TGI_WORK_SHARE_H */
