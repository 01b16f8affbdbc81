/* SPDX-License-Identifier: MIT */
/*
 * merge_buffers.h - merges buffers that can share storage: copy elision, then
 * in-place reuse.
 */
#ifndef TGI_MERGE_BUFFERS_H
#define TGI_MERGE_BUFFERS_H

#include "base/strbuf.h"
#include "loop/loops.h"

/*
 * Merges buffers, deletes the stores, kernels, steps and barriers that have
 * become redundant, and renumbers the rest. If `explain` is not NULL, a line
 * per merge is appended to it.
 *
 * Requires:    steps, epochs, live ranges.
 * Preserves:   results and effects; keeps epochs and live ranges current.
 * Invalidates: ids of buffers and kernels, step numbers.
 */
tg_status tgi_merge_buffers(tgi_loops *loops, tgi_strbuf *explain);

#endif /* TGI_MERGE_BUFFERS_H */
