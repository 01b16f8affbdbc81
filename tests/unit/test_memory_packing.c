/* SPDX-License-Identifier: MIT */
/* test_memory_packing.c - placing of buffers: no overlap, reuse, limits. */
#include <criterion/criterion.h>

#include "runtime/memory_packing.h"
#include "support/support.h"

static tgi_buffer buffer(int64_t bytes, tgi_ref first, tgi_ref last)
{
    return (tgi_buffer){.bytes = bytes, .first = first, .last = last};
}

static bool overlap(const tgi_buffer *a, const tgi_buffer *b)
{
    bool in_time = a->first <= b->last && b->first <= a->last;
    bool in_space = a->offset < b->offset + b->bytes &&
                    b->offset < a->offset + a->bytes;
    return in_time && in_space && a->bytes && b->bytes;
}

Test(memory_packing, reuses_freed_memory)
{
    tgi_buffer buffers[] = {buffer(100, 1, 2), buffer(100, 2, 3),
                            buffer(100, 3, 4), buffer(100, 4, 4)};
    int64_t end;
    cr_assert_eq(tgi_memory_pack(buffers, 4, 4, 0, &end), TG_OK);
    cr_expect_eq(end, 256);
    cr_expect_eq(buffers[0].offset, buffers[2].offset);
    cr_expect_eq(buffers[1].offset, buffers[3].offset);
    check_nothing_is_alive();
}

Test(memory_packing, merges_free_neighbours_and_extends_the_end)
{
    /* Two small ones make room for a large one that then reaches further. */
    tgi_buffer buffers[] = {buffer(64, 1, 1), buffer(64, 1, 1),
                            buffer(192, 2, 2)};
    int64_t end;
    cr_assert_eq(tgi_memory_pack(buffers, 3, 3, 128, &end), TG_OK);
    cr_expect_eq(buffers[2].offset, 128);
    cr_expect_eq(end, 128 + 192);
    check_nothing_is_alive();
}

Test(memory_packing, places_temporaries_only)
{
    tgi_buffer buffers[] = {buffer(1 << 20, 1, 9), buffer(1 << 20, 1, 9),
                            buffer(0, 1, 9)};
    buffers[0].storage = TGI_STORAGE_PARAM;
    buffers[1].storage = TGI_STORAGE_FIXED;
    int64_t end;
    cr_assert_eq(tgi_memory_pack(buffers, 3, 9, 0, &end), TG_OK);
    cr_expect_eq(end, 0);
    check_nothing_is_alive();
}

Test(memory_packing, never_lets_two_in_use_overlap)
{
    enum { N = 400, ROUNDS = 30 };
    tgi_buffer buffers[N];
    uint32_t seed = 3;
    for (int round = 0; round < ROUNDS; round++) {
        tgi_ref last_ref = 0;
        int64_t sum = 0, end;
        for (int i = 0; i < N; i++) {
            seed = seed * 1664525u + 1013904223u;
            tgi_ref first = (tgi_ref)(1 + i / 3);
            tgi_ref last = first + (seed >> 10) % 40;
            int64_t bytes = (int64_t)((seed >> 16) % 5000) >> (round % 6);
            buffers[i] = buffer(bytes, first, last);
            last_ref = last_ref < last ? last : last_ref;
            sum += bytes + 63;
        }
        cr_assert_eq(tgi_memory_pack(buffers, N, last_ref, 64, &end), TG_OK);
        for (int i = 0; i < N; i++) {
            cr_assert_eq(buffers[i].offset % 64, 0);
            cr_assert(buffers[i].offset >= 64);
            cr_assert(buffers[i].offset + buffers[i].bytes <= end ||
                      buffers[i].bytes == 0);
            for (int k = 0; k < i; k++)
                cr_assert_not(overlap(&buffers[i], &buffers[k]), "%d %d", k,
                              i);
        }
        cr_expect(end < sum / 2, "hardly anything is reused");
    }
    check_nothing_is_alive();
}

Test(memory_packing, reports_a_sum_that_overflows)
{
    tgi_buffer buffers[] = {buffer(INT64_MAX / 2, 1, 3),
                            buffer(INT64_MAX / 2, 1, 3),
                            buffer(INT64_MAX / 2, 1, 3)};
    int64_t end;
    cr_expect_eq(tgi_memory_pack(buffers, 3, 3, 0, &end),
                 TG_ERROR_OUT_OF_MEMORY);
    check_nothing_is_alive();
}

Test(memory_packing, survives_every_lack_of_memory)
{
    tgi_buffer buffers[] = {buffer(100, 1, 2)};
    int64_t end;
    for (long nth = 0; nth < 4; nth++) {
        tgi_alloc_inject_failure(nth, 0);
        cr_expect_eq(tgi_memory_pack(buffers, 1, 2, 0, &end),
                     TG_ERROR_OUT_OF_MEMORY);
        tgi_alloc_inject_failure(-1, 0);
        check_nothing_is_alive();
    }
}
