/* SPDX-License-Identifier: MIT */
/* test_arena.c - the arena allocator. */
#include "base/arena.h"

#include <string.h>

#include "support/support.h"

Test(arena, pieces_are_aligned_and_do_not_overlap)
{
    enum { N = 2000 };
    static char *pieces[N];
    static size_t sizes[N];
    uint64_t seed = 1;
    tgi_arena arena = {0};
    for (int i = 0; i < N; i++) {
        sizes[i] = (size_t)random_below(&seed, i % 50 == 0 ? 40000 : 100);
        pieces[i] = tgi_arena_alloc(&arena, sizes[i]);
        cr_assert_not_null(pieces[i]);
        cr_assert_eq((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], i % 251, sizes[i]);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            cr_assert_eq((unsigned char)pieces[i][k], i % 251);
    tgi_arena_deinit(&arena);
    check_nothing_is_alive();
}

Test(arena, copies_bytes)
{
    tgi_arena arena = {0};
    const char *copy = tgi_arena_copy(&arena, "text", 5);
    cr_assert_str_eq(copy, "text");
    cr_assert_not_null(tgi_arena_copy(&arena, NULL, 0));
    cr_assert_not_null(tgi_arena_alloc(&arena, 0));
    tgi_arena_deinit(&arena);
    check_nothing_is_alive();
}

Test(arena, a_large_piece_does_not_end_the_block_in_use)
{
    tgi_arena arena = {0};
    char *first = tgi_arena_alloc(&arena, 16);
    cr_assert_not_null(tgi_arena_alloc(&arena, 100000));
    char *next = tgi_arena_alloc(&arena, 16);
    cr_assert_eq(next - first, 16);
    tgi_arena_deinit(&arena);
    check_nothing_is_alive();
}

Test(arena, counts_its_bytes)
{
    tgi_arena arena = {0};
    cr_assert_eq(arena.bytes, 0);
    tgi_arena_alloc(&arena, 100000);
    cr_assert_geq(arena.bytes, 100000);
    cr_assert_leq(arena.bytes, tg_live_bytes());
    tgi_arena_deinit(&arena);
    cr_assert_eq(arena.bytes, 0);
    check_nothing_is_alive();
}

Test(arena, stays_usable_when_memory_runs_out)
{
    tgi_arena arena = {0};
    tgi_alloc_inject_failure(0, 1);
    cr_assert_null(tgi_arena_alloc(&arena, 10));
    cr_assert_null(tgi_arena_alloc(&arena, 100000));
    tgi_alloc_inject_failure(-1, 0);
    char *piece = tgi_arena_copy(&arena, "here", 5);
    tgi_alloc_inject_failure(0, 1);
    cr_assert_not_null(tgi_arena_alloc(&arena, 16), "room is left");
    cr_assert_null(tgi_arena_alloc(&arena, 5000));
    tgi_alloc_inject_failure(-1, 0);
    cr_assert_str_eq(piece, "here");
    tgi_arena_deinit(&arena);
    check_nothing_is_alive();
}

Test(arena, sizes_beyond_the_address_space_fail)
{
    tgi_arena arena = {0};
    cr_assert_null(tgi_arena_alloc(&arena, SIZE_MAX));
    cr_assert_null(tgi_arena_alloc(&arena, PTRDIFF_MAX));
    cr_assert_not_null(tgi_arena_alloc(&arena, 1));
    tgi_arena_deinit(&arena);
    check_nothing_is_alive();
}
