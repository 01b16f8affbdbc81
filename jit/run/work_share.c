/* SPDX-License-Identifier: MIT */
/*
 * work_share.c - see work_share.h. A function that compiled code calls: to compile its
 * divisions with every kernel would take LLVM a millisecond.
 */
#include "run/work_share.h"

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Work that does not fit 64 bits is enough for everyone. */
static int64_t n_parts(const tgi_frame *frame, int64_t n_threads,
                       int64_t n_items, int64_t item_cost)
{
    const int64_t most = min(n_threads, n_items);
    int64_t work;
    if (frame->grain > 1 && !__builtin_mul_overflow(n_items, item_cost, &work))
        return min(most, work / frame->grain);
    return most;
}

tgi_range tgi_work_share(const tgi_frame *frame, int64_t thread,
                         int64_t n_threads, int64_t n_items, int64_t item_cost)
{
    int64_t parts = n_parts(frame, n_threads, n_items, item_cost);
    if (parts < 1)
        parts = 1;
    if (thread >= parts)
        return (tgi_range){0, 0};
    const int64_t size = n_items / parts, rest = n_items % parts;
    const int64_t begin = thread * size + min(thread, rest);
    return (tgi_range){begin, begin + size + (thread < rest)};
}
