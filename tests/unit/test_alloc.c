/* SPDX-License-Identifier: MIT */
/* test_alloc.c - blocks, buffers, user allocators and fault injection. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/live.h"
#include "support/support.h"

Test(alloc, counts_the_bytes_that_are_out)
{
    char *block = tgi_alloc(100);
    cr_assert_not_null(block);
    cr_assert_eq((uintptr_t)block % 16, 0);
    cr_assert_geq(tg_live_bytes(), 100);
    memset(block, 1, 100);
    tgi_free(block);
    check_nothing_is_alive();
}

Test(alloc, zeroed_blocks_are_zero)
{
    char *block = tgi_alloc_zero(1000);
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(block[i], 0);
    tgi_free(block);
    check_nothing_is_alive();
}

Test(alloc, empty_requests_get_memory_too)
{
    void *block = tgi_alloc(0), *buffer = tgi_buffer_alloc(0);
    cr_assert_not_null(block);
    cr_assert_not_null(buffer);
    tgi_free(block);
    tgi_buffer_free(buffer, 0);
    tgi_free(NULL);
    tgi_buffer_free(NULL, 0);
    check_nothing_is_alive();
}

Test(alloc, buffers_are_aligned)
{
    for (size_t bytes = 1; bytes < 300; bytes += 37) {
        char *buffer = tgi_buffer_alloc(bytes);
        cr_assert_eq((uintptr_t)buffer % TGI_BUFFER_ALIGN, 0);
        memset(buffer, 1, bytes);
        tgi_buffer_free(buffer, bytes);
    }
    check_nothing_is_alive();
}

Test(alloc, realloc_keeps_the_contents)
{
    char *block = tgi_realloc(NULL, 4);
    memcpy(block, "abc", 4);
    block = tgi_realloc(block, 4000);
    cr_assert_str_eq(block, "abc");
    block = tgi_realloc(block, 2);
    cr_assert_eq(memcmp(block, "ab", 2), 0);
    tgi_free(block);
    check_nothing_is_alive();
}

Test(alloc, a_failed_realloc_leaves_the_block_alone)
{
    char *block = tgi_strdup("kept");
    tgi_alloc_inject_failure(0, 0);
    cr_assert_null(tgi_realloc(block, 100));
    tgi_alloc_inject_failure(-1, 0);
    cr_assert_str_eq(block, "kept");
    tgi_free(block);
    check_nothing_is_alive();
}

Test(alloc, requests_beyond_the_address_space_fail)
{
    cr_assert_null(tgi_alloc(SIZE_MAX));
    cr_assert_null(tgi_alloc(SIZE_MAX - 15));
    cr_assert_null(tgi_alloc(PTRDIFF_MAX));
    cr_assert_null(tgi_alloc_zero(SIZE_MAX / 2));
    cr_assert_null(tgi_buffer_alloc(SIZE_MAX));
    check_nothing_is_alive();
}

/* -- Fault injection ------------------------------------------------------- */

/* Tries n allocations; bit i is set if allocation i failed. */
static unsigned failures_among(int n)
{
    unsigned failed = 0;
    for (int i = 0; i < n; i++) {
        void *block = tgi_alloc(8);
        failed |= (unsigned)!block << i;
        tgi_free(block);
    }
    return failed;
}

Test(alloc, only_the_requested_allocation_fails)
{
    tgi_alloc_inject_failure(2, 0);
    cr_assert_eq(failures_among(5), 0x4);
    cr_assert_eq(tgi_alloc_inject_failure(-1, 0), 5);
    cr_assert_eq(failures_among(5), 0);
    cr_assert_eq(tgi_alloc_inject_failure(-1, 0), 5);
    check_nothing_is_alive();
}

Test(alloc, a_fault_can_last)
{
    tgi_alloc_inject_failure(1, 1);
    cr_assert_eq(failures_among(4), 0xe);
    cr_assert_null(tgi_buffer_alloc(8));
    tgi_alloc_inject_failure(-1, 1);
    cr_assert_eq(failures_among(4), 0);
    check_nothing_is_alive();
}

/* -- User allocators ------------------------------------------------------- */

typedef struct meter {
    size_t bytes;
    int n_allocated, n_released;
} meter;

static void *meter_allocate(size_t bytes, size_t align, void *user)
{
    meter *m = user;
    m->bytes += bytes;
    m->n_allocated++;
    void *memory = NULL;
    cr_assert_eq(posix_memalign(&memory, align, bytes), 0);
    return memory;
}

static void meter_release(void *memory, size_t bytes, size_t align, void *user)
{
    meter *m = user;
    cr_assert_eq((uintptr_t)memory % align, 0);
    m->bytes -= bytes;
    m->n_released++;
    free(memory);
}

Test(alloc, a_user_allocator_handles_every_block)
{
    meter m = {0};
    tg_allocator mine = {meter_allocate, meter_release, &m};
    cr_assert_eq(tg_allocator_set(&mine), TG_OK);
    void *block = tgi_realloc(tgi_alloc(10), 20);
    void *buffer = tgi_buffer_alloc(30);
    cr_assert_eq(m.bytes, tg_live_bytes());
    cr_assert_eq(m.n_allocated, 3);
    tgi_free(block);
    tgi_buffer_free(buffer, 30);
    cr_assert_eq(m.bytes, 0);
    cr_assert_eq(m.n_released, 3);
    check_nothing_is_alive();
    cr_assert_eq(tg_allocator_set(NULL), TG_OK);
    tgi_free(tgi_alloc(1));
    cr_assert_eq(m.n_allocated, 3);
}

Test(alloc, the_allocator_stays_while_something_is_alive)
{
    meter m = {0};
    tg_allocator mine = {meter_allocate, meter_release, &m};
    void *block = tgi_alloc(1);
    cr_assert_eq(tg_allocator_set(&mine), TG_ERROR_BUSY);
    cr_assert_str_eq(tg_error_last()->function, "tg_allocator_set");
    tgi_free(block);
    tgi_live_add(TGI_LIVE_TENSOR, 1);
    cr_assert_eq(tg_live_objects(), 1);
    cr_assert_eq(tgi_live_count(TGI_LIVE_TENSOR), 1);
    cr_assert_eq(tg_allocator_set(&mine), TG_ERROR_BUSY);
    tgi_live_add(TGI_LIVE_TENSOR, -1);
    check_nothing_is_alive();
    cr_assert_eq(m.n_allocated, 0);
}

Test(alloc, half_an_allocator_is_refused)
{
    meter m = {0};
    tg_allocator no_release = {meter_allocate, NULL, &m};
    tg_allocator no_allocate = {NULL, meter_release, &m};
    cr_assert_eq(tg_allocator_set(&no_release), TG_ERROR_INVALID_ARGUMENT);
    cr_assert_eq(tg_allocator_set(&no_allocate), TG_ERROR_INVALID_ARGUMENT);
    tgi_free(tgi_alloc(1));
    cr_assert_eq(m.n_allocated, 0);
}
