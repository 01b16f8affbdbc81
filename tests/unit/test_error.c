/* SPDX-License-Identifier: MIT */
/* test_error.c - the error record. */
#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"

/* The record only compares context pointers. */
static char first_object, second_object;
#define FIRST ((const tg_context *)(const void *)&first_object)
#define SECOND ((const tg_context *)(const void *)&second_object)

Test(error, is_empty_before_any_failure)
{
    cr_assert_str_eq(tg_error(NULL), "");
    cr_assert_str_eq(tg_error(FIRST), "");
    cr_assert_eq(tg_error_last()->status, TG_OK);
    cr_assert_str_eq(tg_error_last()->message, "");
    cr_assert_null(tg_error_last()->file);
}

Test(error, records_location_function_and_context)
{
    tgi_api_frame frame = tgi_api_enter(FIRST, "tg_something");
    tg_status status = tgi_error_set(TG_ERROR_SHAPE, (tg_site){"model.c", 42},
                                     "add: %d and %d", 3, 4);
    tgi_api_leave(frame);
    cr_assert_eq(status, TG_ERROR_SHAPE);
    const tg_error_record *record = tg_error_last();
    cr_assert_eq(record->status, TG_ERROR_SHAPE);
    cr_assert_str_eq(record->message, "model.c:42: add: 3 and 4");
    cr_assert_str_eq(record->file, "model.c");
    cr_assert_eq(record->line, 42);
    cr_assert_str_eq(record->function, "tg_something");
    cr_assert_eq(record->context, FIRST);
    cr_assert_str_eq(tg_error(FIRST), record->message);
    cr_assert_str_eq(tg_error(NULL), record->message);
    cr_assert_str_eq(tg_error(SECOND), "");
}

Test(error, without_a_site_has_no_prefix)
{
    tgi_error_set(TG_ERROR_STATE, TGI_NO_SITE, "plain");
    cr_assert_str_eq(tg_error(NULL), "plain");
    cr_assert_null(tg_error_last()->file);
    cr_assert_eq(tg_error_last()->line, 0);
    cr_assert_null(tg_error_last()->function);
    cr_assert_null(tg_error_last()->context);
}

Test(error, frames_nest)
{
    tgi_api_frame outer = tgi_api_enter(FIRST, "tg_outer");
    tgi_api_frame inner = tgi_api_enter(SECOND, "tg_inner");
    tgi_error_memory();
    cr_assert_str_eq(tg_error_last()->function, "tg_inner");
    cr_assert_eq(tg_error_last()->context, SECOND);
    tgi_api_leave(inner);
    tgi_error_memory();
    cr_assert_str_eq(tg_error_last()->function, "tg_outer");
    cr_assert_eq(tg_error_last()->context, FIRST);
    tgi_api_leave(outer);
    tgi_error_memory();
    cr_assert_null(tg_error_last()->function);
    cr_assert_eq(tg_error_last()->status, TG_ERROR_OUT_OF_MEMORY);
}

Test(error, may_quote_the_record_it_replaces)
{
    tgi_error_set(TG_ERROR_INDEX, (tg_site){"a.c", 1}, "inner");
    tgi_error_set(TG_ERROR_CALLBACK,
                  (tg_site){tg_error_last()->file, tg_error_last()->line},
                  "while tracing: %s", tg_error(NULL));
    cr_assert_str_eq(tg_error(NULL), "a.c:1: while tracing: a.c:1: inner");
    cr_assert_str_eq(tg_error_last()->file, "a.c");
}

Test(error, truncates_long_messages)
{
    char file[2000], text[3000];
    memset(file, 'f', sizeof file);
    memset(text, 't', sizeof text);
    file[sizeof file - 1] = text[sizeof text - 1] = '\0';
    tgi_error_set(TG_ERROR_INTERNAL, (tg_site){file, 1}, "%s", text);
    cr_assert_eq(strlen(tg_error(NULL)), 1023);
    cr_assert_eq(strlen(tg_error_last()->file), 255);
    cr_assert_eq(tg_error(NULL)[1022], 't');
}

Test(error, is_forgotten_when_cleared)
{
    tgi_error_set(TG_ERROR_INDEX, (tg_site){"a.c", 1}, "gone");
    tg_error_clear();
    cr_assert_str_eq(tg_error(NULL), "");
    cr_assert_eq(tg_error_last()->status, TG_OK);
    cr_assert_null(tg_error_last()->file);
}

Test(error, a_copy_survives_later_failures)
{
    tgi_error_copy copy, empty;
    tgi_error_save(&empty);
    tgi_error_set(TG_ERROR_INDEX, (tg_site){"a.c", 1}, "first");
    tgi_error_save(&copy);
    tgi_error_set(TG_ERROR_STATE, TGI_NO_SITE, "second");
    cr_assert_str_eq(copy.record.message, "a.c:1: first");
    tgi_error_restore(&copy);
    memset(&copy, 'x', sizeof copy);
    cr_assert_str_eq(tg_error(NULL), "a.c:1: first");
    cr_assert_str_eq(tg_error_last()->file, "a.c");
    cr_assert_eq(tg_error_last()->status, TG_ERROR_INDEX);
    tgi_error_restore(&empty);
    cr_assert_str_eq(tg_error(NULL), "");
    cr_assert_eq(tg_error_last()->status, TG_OK);
}

static void *fail_elsewhere(void *argument)
{
    (void)argument;
    cr_assert_str_eq(tg_error(NULL), "");
    tgi_error_memory();
    return NULL;
}

Test(error, belongs_to_its_thread)
{
    tgi_error_set(TG_ERROR_INDEX, TGI_NO_SITE, "mine");
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    cr_assert_str_eq(tg_error(NULL), "mine");
}

static tg_status try_and_fail(tg_status status, int *n_passed)
{
    TGI_TRY(status);
    ++*n_passed;
    TGI_FAIL(TG_ERROR_TRACE, TGI_NO_SITE, "number %d", *n_passed);
}

Test(error, the_returning_macros_return)
{
    int n_passed = 0;
    cr_assert_eq(try_and_fail(TG_ERROR_BUSY, &n_passed), TG_ERROR_BUSY);
    cr_assert_eq(n_passed, 0);
    cr_assert_eq(try_and_fail(TG_OK, &n_passed), TG_ERROR_TRACE);
    cr_assert_str_eq(tg_error(NULL), "number 1");
}

Test(error, needs_no_memory)
{
    tgi_alloc_inject_failure(0, 1);
    tgi_error_memory();
    cr_assert_eq(tgi_alloc_inject_failure(-1, 0), 0);
    cr_assert_str_eq(tg_error(NULL), "out of memory");
}

Test(error, every_status_has_a_name_of_its_own)
{
    for (int i = 0; i <= TG_ERROR_ASSERT; i++)
        for (int k = 0; k < i; k++)
            cr_assert_str_neq(tg_status_name((tg_status)i),
                              tg_status_name((tg_status)k));
    cr_assert_str_eq(tg_status_name(TG_ERROR_SHAPE), "shape error");
    cr_assert_not_null(tg_status_name((tg_status)1000));
    cr_assert_not_null(tg_status_name((tg_status)-1));
}

Test(error, the_version_is_that_of_the_headers)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", TG_VERSION_MAJOR, TG_VERSION_MINOR,
             TG_VERSION_PATCH);
    cr_assert_str_eq(tg_version(), text);
}
