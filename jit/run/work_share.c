/* SPDX-License-Identifier: MIT */
/*
 * work_share.c - see work_share.h. Compiled code calls this function, because
 * LLVM would need a millisecond per kernel to compile its divisions.
 */
#include "run/work_share.h"

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The number of participating threads. All participate if the work overflows
   64 bits. */
static int64_t count_parts(const tgi_frame *frame, int64_t n_threads,
                           int64_t n_items, int64_t item_cost)
{
    const int64_t max_parts = min(n_threads, n_items);
    int64_t work;
    if (frame->grain > 1 && !__builtin_mul_overflow(n_items, item_cost, &work))
        return min(max_parts, work / frame->grain);
    return max_parts;
}

tgi_range tgi_work_share(const tgi_frame *frame, int64_t thread,
                         int64_t n_threads, int64_t n_items, int64_t item_cost)
{
    int64_t parts = count_parts(frame, n_threads, n_items, item_cost);
    if (parts < 1)
        parts = 1;
    if (thread >= parts)
        return (tgi_range){0, 0};
    const int64_t size = n_items / parts, n_larger = n_items % parts;
    const int64_t begin = thread * size + min(thread, n_larger);
    return (tgi_range){begin, begin + size + (thread < n_larger)};
}
