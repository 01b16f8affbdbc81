/* SPDX-License-Identifier: MIT */
/*
 * work_share.h - static division of a kernel's work items among a team.
 */
#ifndef TGI_WORK_SHARE_H
#define TGI_WORK_SHARE_H

#include "codegen/entry_abi.h"

/*
 * The work items of one thread. As many threads participate as get at least
 * frame->grain of work each, but at least one; their shares differ by at most
 * one item, the other threads get none. A pure function: no communication.
 */
tgi_range tgi_work_share(const tgi_frame *frame, int64_t thread,
                         int64_t n_threads, int64_t n_items, int64_t item_cost);

#endif /* TGI_WORK_SHARE_H */
