/* SPDX-License-Identifier: MIT */
/*
 * ping_pong.h - for tests of teams: checks that barriers order the accesses of
 * threads.
 */
#ifndef TGI_TEST_PING_PONG_H
#define TGI_TEST_PING_PONG_H

#include <stdatomic.h>

#include "codegen/entry_abi.h"

/* An entry in which every thread writes its slot and reads all slots after
   the barrier. Counts stale reads. */
static inline void ping_pong(tgi_frame *frame, int64_t thread,
                             int64_t n_threads, int n_rounds, int *slots,
                             atomic_int *n_wrong)
{
    for (int round = 1; round <= n_rounds; round++) {
        slots[thread] = round;
        frame->barrier(frame);
        for (int64_t i = 0; i < n_threads; i++)
            if (slots[i] != round)
                atomic_fetch_add(n_wrong, 1);
        frame->barrier(frame);
    }
}

#endif /* TGI_TEST_PING_PONG_H */
