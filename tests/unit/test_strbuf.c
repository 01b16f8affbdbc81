/* SPDX-License-Identifier: MIT */
/* test_strbuf.c - the string builder. */
#include "base/strbuf.h"

#include <string.h>

#include "support/support.h"

Test(strbuf, joins_its_parts)
{
    tgi_strbuf buf = {0};
    tgi_strbuf_add(&buf, "a");
    tgi_strbuf_add_bytes(&buf, "bcd", 2);
    tgi_strbuf_add_bytes(&buf, NULL, 0);
    tgi_strbuf_addf(&buf, "-%d-%s", 12, "x");
    cr_assert_str_eq(buf.text, "abc-12-x");
    cr_assert_eq(buf.n, 8);
    cr_assert_not(buf.failed);
    tgi_strbuf_deinit(&buf);
    cr_assert_null(buf.text);
    check_nothing_is_alive();
}

Test(strbuf, grows_as_far_as_needed)
{
    tgi_strbuf buf = {0};
    for (int i = 0; i < 5000; i++)
        tgi_strbuf_addf(&buf, "%04d", i);
    tgi_strbuf_addf(&buf, "%2000d", 1);
    cr_assert_eq(buf.n, 22000);
    cr_assert_eq(strlen(buf.text), 22000);
    cr_assert_eq(memcmp(buf.text + 4 * 1234, "1234", 4), 0);
    tgi_strbuf_deinit(&buf);
    check_nothing_is_alive();
}

Test(strbuf, taking_hands_the_text_over)
{
    tgi_strbuf buf = {0};
    char *nothing = tgi_strbuf_take(&buf);
    cr_assert_str_eq(nothing, "");
    tgi_strbuf_add(&buf, "text");
    char *text = tgi_strbuf_take(&buf);
    cr_assert_str_eq(text, "text");
    cr_assert_null(buf.text);
    cr_assert_eq(buf.n, 0);
    tgi_free(nothing);
    tgi_free(text);
    check_nothing_is_alive();
}

Test(strbuf, a_failure_sticks)
{
    tgi_strbuf buf = {0};
    tgi_strbuf_add(&buf, "kept");
    tgi_alloc_inject_failure(0, 0);
    tgi_strbuf_addf(&buf, "%100d", 1);
    tgi_alloc_inject_failure(-1, 0);
    tgi_strbuf_add(&buf, "!");
    cr_assert(buf.failed);
    cr_assert_str_eq(buf.text, "kept");
    cr_assert_null(tgi_strbuf_take(&buf));
    cr_assert_not(buf.failed, "taking makes a new, empty string");
    check_nothing_is_alive();
}

Test(strbuf, the_end_can_be_taken_back)
{
    tgi_strbuf buf = {0};
    tgi_strbuf_truncate(&buf, 0);
    cr_assert_null(buf.text);
    tgi_strbuf_add(&buf, "kept, gone");
    tgi_strbuf_truncate(&buf, 10);
    cr_assert_str_eq(buf.text, "kept, gone");
    tgi_strbuf_truncate(&buf, 4);
    tgi_strbuf_add(&buf, "!");
    cr_assert_str_eq(buf.text, "kept!");
    tgi_strbuf_deinit(&buf);
    check_nothing_is_alive();
}
