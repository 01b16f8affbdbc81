/* SPDX-License-Identifier: MIT */
/* test_hash.c - hashing and the hash index. */
#include "base/hash.h"

#include "support/support.h"

Test(hash, depends_on_bytes_and_seed)
{
    cr_assert_eq(tgi_hash("abc", 3, 0), tgi_hash("abc", 3, 0));
    cr_assert_neq(tgi_hash("abc", 3, 0), tgi_hash("abd", 3, 0));
    cr_assert_neq(tgi_hash("abc", 3, 0), tgi_hash("abc", 2, 0));
    cr_assert_neq(tgi_hash("abc", 3, 0), tgi_hash("abc", 3, 1));
    cr_assert_eq(tgi_hash(NULL, 0, 5), tgi_hash("x", 0, 5));
}

/* Published values of xxHash: other builds must compute the same file names. */
Test(hash, the_long_one_never_changes)
{
    static const unsigned char of_nothing[16] = {
        0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8,
        0x60, 0x01, 0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f};
    const tgi_hash128 hash = tgi_hash_128(NULL, 0);
    cr_assert_arr_eq(hash.bytes, of_nothing, sizeof(of_nothing));
    const tgi_hash128 a = tgi_hash_128("abc", 3), b = tgi_hash_128("abd", 3);
    cr_assert_arr_neq(a.bytes, b.bytes, sizeof(a.bytes));
}

/* The number of entries `position` under `hash`. */
static int occurrences(const tgi_index *index, uint64_t hash, uint32_t position)
{
    int n = 0;
    size_t probe = 0;
    for (uint32_t at; (at = tgi_index_next(index, hash, &probe)) != 0;)
        n += at == position;
    return n;
}

Test(hash, the_index_finds_added_entries)
{
    tgi_index index = {0};
    cr_assert_eq(occurrences(&index, 1, 1), 0);
    for (uint32_t i = 1; i <= 5000; i++)
        cr_assert(tgi_index_add(&index, tgi_hash(&i, sizeof i, 0), i));
    cr_assert_eq(index.n, 5000);
    for (uint32_t i = 1; i <= 5000; i++)
        cr_assert_eq(occurrences(&index, tgi_hash(&i, sizeof i, 0), i), 1);
    for (uint32_t i = 5001; i <= 6000; i++)
        cr_assert_eq(occurrences(&index, tgi_hash(&i, sizeof i, 0), i), 0);
    tgi_index_deinit(&index);
    check_nothing_is_alive();
}

Test(hash, equal_hashes_are_all_walked)
{
    tgi_index index = {0};
    for (uint32_t i = 1; i <= 100; i++) {
        cr_assert(tgi_index_add(&index, UINT64_MAX, i));
        cr_assert(tgi_index_add(&index, (uint64_t)i << 32, 1000 + i));
    }
    for (uint32_t i = 1; i <= 100; i++) {
        cr_assert_eq(occurrences(&index, UINT64_MAX, i), 1);
        cr_assert_eq(occurrences(&index, UINT64_MAX, 1000 + i), 0);
        cr_assert_eq(occurrences(&index, (uint64_t)i << 32, 1000 + i), 1);
    }
    tgi_index_deinit(&index);
    check_nothing_is_alive();
}

Test(hash, a_cleared_index_is_empty_and_usable)
{
    tgi_index index = {0};
    tgi_index_clear(&index);
    for (uint32_t i = 1; i <= 100; i++)
        cr_assert(tgi_index_add(&index, 7, i));
    tgi_index_clear(&index);
    cr_assert_eq(index.n, 0);
    cr_assert_eq(occurrences(&index, 7, 1), 0);
    tgi_alloc_inject_failure(0, 1);
    cr_assert(tgi_index_add(&index, 7, 1), "its memory is kept");
    tgi_alloc_inject_failure(-1, 0);
    cr_assert_eq(occurrences(&index, 7, 1), 1);
    tgi_index_deinit(&index);
    check_nothing_is_alive();
}

Test(hash, the_index_is_unchanged_when_memory_runs_out)
{
    tgi_index index = {0};
    tgi_alloc_inject_failure(0, 1);
    cr_assert_not(tgi_index_add(&index, 1, 1));
    tgi_alloc_inject_failure(-1, 0);
    uint32_t n = 0;
    cr_assert(tgi_index_add(&index, 0, ++n));
    tgi_alloc_inject_failure(0, 1);
    while (tgi_index_add(&index, (uint64_t)n << 40, n + 1))
        n++;
    tgi_alloc_inject_failure(-1, 0);
    cr_assert_eq(index.n, n);
    for (uint32_t i = 1; i <= n; i++)
        cr_assert_eq(occurrences(&index, (uint64_t)(i - 1) << 40, i), 1);
    tgi_index_deinit(&index);
    check_nothing_is_alive();
}
