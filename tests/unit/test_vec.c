/* SPDX-License-Identifier: MIT */
/* test_vec.c - dynamic arrays. */
#include "base/vec.h"

#include "support/support.h"

Test(vec, keeps_the_order_of_pushes)
{
    TGI_VEC(uint32_t) vec = {0};
    for (uint32_t i = 0; i < 10000; i++)
        cr_assert(tgi_vec_push(&vec, i * 3));
    cr_assert_eq(vec.n, 10000);
    cr_assert_geq(vec.capacity, vec.n);
    for (uint32_t i = 0; i < 10000; i++)
        cr_assert_eq(vec.data[i], i * 3);
    tgi_vec_deinit(&vec);
    cr_assert_null(vec.data);
    cr_assert_eq(vec.n, 0);
    check_nothing_is_alive();
}

Test(vec, holds_structs_and_pointers_to_const)
{
    typedef struct pair {
        double x;
        char c;
    } pair;
    TGI_VEC(pair) pairs = {0};
    TGI_VEC(const char *) names = {0};
    cr_assert(tgi_vec_push(&pairs, ((pair){1.5, 'a'})));
    cr_assert(tgi_vec_push(&names, "name"));
    cr_assert_eq(pairs.data[0].c, 'a');
    cr_assert_str_eq(names.data[0], "name");
    tgi_vec_deinit(&pairs);
    tgi_vec_deinit(&names);
    check_nothing_is_alive();
}

Test(vec, reserved_room_needs_no_memory_later)
{
    TGI_VEC(int) vec = {0};
    cr_assert(tgi_vec_reserve(&vec, 100));
    tgi_alloc_inject_failure(0, 1);
    for (int i = 0; i < 100; i++)
        cr_assert(tgi_vec_push(&vec, i));
    tgi_alloc_inject_failure(-1, 0);
    tgi_vec_deinit(&vec);
    check_nothing_is_alive();
}

Test(vec, is_unchanged_when_memory_runs_out)
{
    TGI_VEC(int) vec = {0};
    while (vec.n < 8)
        cr_assert(tgi_vec_push(&vec, 7));
    tgi_alloc_inject_failure(0, 1);
    while (vec.n < vec.capacity)
        cr_assert(tgi_vec_push(&vec, 7));
    size_t n = vec.n;
    cr_assert_not(tgi_vec_push(&vec, 8));
    tgi_alloc_inject_failure(-1, 0);
    cr_assert_eq(vec.n, n);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(vec.data[i], 7);
    cr_assert(tgi_vec_push(&vec, 8));
    tgi_vec_deinit(&vec);
    check_nothing_is_alive();
}

Test(vec, sizes_that_wrap_are_out_of_memory)
{
    TGI_VEC(uint64_t) vec = {0};
    cr_assert_not(tgi_vec_reserve(&vec, SIZE_MAX / 8 + 2));
    cr_assert_not(tgi_vec_reserve(&vec, SIZE_MAX));
    cr_assert_null(vec.data);
    check_nothing_is_alive();
}
