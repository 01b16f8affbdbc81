/* SPDX-License-Identifier: MIT */
/*
 * test_work_share.c - the division of work items among threads (work_share.h).
 */
#include <criterion/criterion.h>

#include "run/work_share.h"

enum { MAX_THREADS = 9 };

/* Checks that the shares of all threads are consecutive; returns how many
   threads have one, and by how much the shares differ. */
static int64_t check(int64_t grain, int64_t n_threads, int64_t n_items,
                     int64_t item_cost)
{
    const tgi_frame frame = {.grain = grain};
    int64_t reached = 0, n_parts = 0, least = INT64_MAX, most = 0;
    for (int64_t thread = 0; thread < n_threads; thread++) {
        const tgi_range r =
            tgi_work_share(&frame, thread, n_threads, n_items, item_cost);
        if (r.begin == r.end)
            continue;
        cr_assert_eq(r.begin, reached);
        cr_assert_gt(r.end, r.begin);
        const int64_t size = r.end - r.begin;
        reached = r.end;
        n_parts++;
        least = size < least ? size : least;
        most = size > most ? size : most;
    }
    cr_assert_eq(reached, n_items);
    cr_assert(n_items == 0 || most - least <= 1);
    return n_parts;
}

Test(work_share, every_item_is_done_once)
{
    for (int64_t n_threads = 1; n_threads <= MAX_THREADS; n_threads++)
        for (int64_t n_items = 0; n_items < 40; n_items++)
            for (int64_t grain = 0; grain < 50; grain += 7)
                check(grain, n_threads, n_items, 3);
}

Test(work_share, a_grain_of_0_uses_all_threads)
{
    cr_assert_eq(check(0, 7, 100, 1), 7);
    cr_assert_eq(check(0, 7, 5, 1), 5);
}

Test(work_share, threads_below_the_grain_get_no_work)
{
    cr_assert_eq(check(1000, 4, 100, 9), 1);
    cr_assert_eq(check(1000, 4, 100, 20), 2);
    cr_assert_eq(check(1000, 4, 100, 1000), 4);
    cr_assert_eq(check(1000, 4, 1, 1000000), 1);
}

Test(work_share, work_of_any_size_is_divided)
{
    cr_assert_eq(check(1000, 4, INT64_MAX / 2, INT64_MAX), 4);
}
