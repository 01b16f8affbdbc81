/* SPDX-License-Identifier: MIT */
/* test_literal.c - reference-counted elements of constants. */
#include "ir/literal.h"

#include <string.h>

#include "base/live.h"
#include "support/support.h"

Test(literal, copies_its_elements)
{
    float data[] = {1, 2, 3};
    tgi_literal *literal = tgi_literal_create(data, sizeof data);
    data[0] = 9;
    cr_assert_eq(literal->bytes, sizeof data);
    cr_assert_eq((uintptr_t)literal->data % TGI_BUFFER_ALIGN, 0);
    cr_assert_eq(((const float *)literal->data)[0], 1);
    cr_assert_eq(tgi_live_count(TGI_LIVE_LITERAL), 1);
    tgi_literal_release(literal);
    check_nothing_is_alive();
}

Test(literal, of_nothing_is_zeros)
{
    const char zeros[10] = {0};
    tgi_literal *literal = tgi_literal_create(NULL, 10);
    cr_assert_eq(memcmp(literal->data, zeros, 10), 0);
    tgi_literal *empty = tgi_literal_create(NULL, 0);
    cr_assert_not_null(empty->data);
    tgi_literal_release(literal);
    tgi_literal_release(empty);
    tgi_literal_release(NULL);
    check_nothing_is_alive();
}

Test(literal, equal_contents_have_equal_hashes)
{
    tgi_literal *a = tgi_literal_create("abc", 3);
    tgi_literal *b = tgi_literal_create("abc", 3);
    tgi_literal *c = tgi_literal_create("abd", 3);
    cr_assert_eq(a->hash, b->hash);
    cr_assert_neq(a->hash, c->hash);
    tgi_literal_release(a);
    tgi_literal_release(b);
    tgi_literal_release(c);
    check_nothing_is_alive();
}

Test(literal, lives_until_its_last_reference)
{
    void *buffer = tgi_buffer_alloc(5);
    memcpy(buffer, "data", 5);
    tgi_literal *literal = tgi_literal_adopt(buffer, 5);
    cr_assert_eq(literal->data, buffer);
    cr_assert_eq(tgi_literal_retain(literal), literal);
    tgi_literal_release(literal);
    cr_assert_str_eq(literal->data, "data");
    tgi_literal_release(literal);
    check_nothing_is_alive();
}

static bool create_one(void)
{
    tgi_literal *literal = tgi_literal_create("abc", 3);
    const bool is_made = literal != NULL;
    tgi_literal_release(literal);
    return is_made;
}

Test(literal, survives_every_fault)
{
    check_every_fault(create_one);
}
