/* SPDX-License-Identifier: MIT */
/*
 * test_code_serialise.c - serialised code. The disk cache has a checksum, but
 * no input may do harm as long as the code is not run.
 */
#include "cache/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "loop/leb128.h"
#include "support/image_objects.h"
#include "support/support.h"

#if defined(__x86_64__)

enum { N_KERNELS = 3 };

/* Serialises the sample object; its entry is at the start of the code or
   inside it. */
static tgi_strbuf write_sample(const char *entry)
{
    const object_bytes object = object_sample();
    const tgi_codegen codegen = {.object = object.data,
                                 .object_bytes = object.n,
                                 .entry = entry,
                                 .n_kernels = N_KERNELS};
    tgi_strbuf bytes = {0};
    tgi_code_serialise(&codegen, NULL, 0, &bytes);
    cr_assert_not(bytes.failed);
    free(object.data);
    return bytes;
}

/* Deserialises a copy that ends at the end of its allocation, and releases
   the result. */
static tg_status read_copy(const void *bytes, size_t n)
{
    void *copy = malloc(n ? n : 1);
    tgi_code *code;
    cr_assert_not_null(copy);
    if (n)
        memcpy(copy, bytes, n);
    const tg_status status = tgi_code_deserialise(copy, n, N_KERNELS, &code);
    cr_assert_eq(status == TG_OK, code != NULL);
    cr_assert(status == TG_OK || tg_error_last()->status == status);
    tgi_code_release(code);
    free(copy);
    return status;
}

Test(code_bytes, reads_back_the_written_bytes)
{
    static const char *const entries[] = {"answer", "answer_1"};
    for (int i = 0; i < 2; i++) {
        tgi_strbuf bytes = write_sample(entries[i]);
        tgi_code *code;
        cr_assert_eq(
            tgi_code_deserialise(bytes.text, bytes.n, N_KERNELS, &code), TG_OK,
            "%s", tg_error(NULL));
        tgi_strbuf_deinit(&bytes); /* the code does not refer to it */
        const union {
            tgi_entry *entry;
            int (*call)(void);
        } as = {code->entry};
        cr_assert_eq(as.call(), SAMPLE_ANSWER + i);
        tgi_code_release(code);
    }
    check_nothing_is_alive();
}

/* A plan is kept with its code, and its size is validated. */
Test(code_bytes, a_plan_is_read_back)
{
    static const char plan[] = "\1\0\2";
    const object_bytes object = object_sample();
    const tgi_codegen codegen = {.object = object.data,
                                 .object_bytes = object.n,
                                 .entry = "answer",
                                 .n_kernels = N_KERNELS};
    tgi_strbuf bytes = {0};
    tgi_code *code;
    tgi_code_serialise(&codegen, plan, sizeof(plan), &bytes);
    cr_assert_eq(tgi_code_deserialise(bytes.text, bytes.n, N_KERNELS, &code),
                 TG_OK, "%s", tg_error(NULL));
    cr_assert_eq(code->plan_bytes, sizeof(plan));
    cr_expect_arr_eq(code->plan, plan, sizeof(plan));
    tgi_code_release(code);
    for (int size = 0; size < 128; size++) {
        bytes.text[1] = (char)size;
        cr_expect_eq(read_copy(bytes.text, bytes.n) == TG_OK,
                     size == sizeof(plan), "a plan of %d bytes", size);
    }
    tgi_strbuf_deinit(&bytes);
    free(object.data);
    check_nothing_is_alive();
}

Test(code_bytes, code_without_kernels_is_code)
{
    const object_bytes object = object_sample();
    const tgi_codegen codegen = {.object = object.data,
                                 .object_bytes = object.n,
                                 .entry = "load"};
    tgi_strbuf bytes = {0};
    tgi_code *code;
    tgi_code_serialise(&codegen, NULL, 0, &bytes);
    cr_assert_eq(tgi_code_deserialise(bytes.text, bytes.n, 0, &code), TG_OK);
    tgi_code_release(code);
    tgi_strbuf_deinit(&bytes);
    free(object.data);
    check_nothing_is_alive();
}

/* -- Errors ---------------------------------------------------------------- */

Test(code_bytes, another_number_of_kernels_is_refused)
{
    tgi_strbuf bytes = write_sample("answer");
    static const size_t others[] = {0, N_KERNELS - 1, N_KERNELS + 1, SIZE_MAX};
    for (int i = 0; i < 4; i++) {
        tgi_code *code;
        cr_assert_eq(
            tgi_code_deserialise(bytes.text, bytes.n, others[i], &code),
            TG_ERROR_INVALID_ARGUMENT);
        cr_assert_null(code);
    }
    tgi_strbuf_deinit(&bytes);
    check_nothing_is_alive();
}

Test(code_bytes, a_missing_entry_symbol_is_refused)
{
    tgi_strbuf bytes = write_sample("question");
    cr_assert_eq(read_copy(bytes.text, bytes.n), TG_ERROR_INTERNAL);
    cr_assert_not_null(strstr(tg_error(NULL), "'question'"));
    tgi_strbuf_deinit(&bytes);
    check_nothing_is_alive();
}

Test(code_bytes, sizes_of_names_are_validated)
{
    static const uint64_t sizes[] = {0,          1,         7,
                                     8,          1000,      UINT32_MAX,
                                     INT64_MAX,  UINT64_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        tgi_strbuf bytes = {0};
        tgi_leb128_put(&bytes, N_KERNELS);
        tgi_leb128_put(&bytes, 0);
        tgi_leb128_put(&bytes, sizes[i]);
        tgi_strbuf_add_bytes(&bytes, "answer", 7);
        cr_assert_eq(read_copy(bytes.text, bytes.n),
                     TG_ERROR_INVALID_ARGUMENT);
        tgi_strbuf_deinit(&bytes);
    }
    check_nothing_is_alive();
}

/* -- Damage ---------------------------------------------------------------- */

Test(code_bytes, every_truncation_is_refused)
{
    tgi_strbuf bytes = write_sample("answer");
    for (size_t n = 0; n < bytes.n; n++)
        cr_assert_neq(read_copy(bytes.text, n), TG_OK, "%zu of %zu bytes", n,
                      bytes.n);
    cr_assert_eq(read_copy(bytes.text, bytes.n), TG_OK);
    tgi_strbuf_deinit(&bytes);
    check_nothing_is_alive();
}

Test(code_bytes, no_flipped_bit_does_harm)
{
    tgi_strbuf bytes = write_sample("answer");
    size_t n_refused = 0;
    for (size_t bit = 0; bit < bytes.n * 8; bit++) {
        bytes.text[bit / 8] ^= (char)(1u << bit % 8);
        n_refused += read_copy(bytes.text, bytes.n) != TG_OK;
        bytes.text[bit / 8] ^= (char)(1u << bit % 8);
    }
    cr_assert_gt(n_refused, bytes.n, "%zu of %zu", n_refused, bytes.n * 8);
    tgi_strbuf_deinit(&bytes);
    check_nothing_is_alive();
}

Test(code_bytes, no_random_damage_does_harm)
{
    tgi_strbuf bytes = write_sample("answer");
    char *damaged = malloc(bytes.n);
    uint64_t random = 5;
    cr_assert_not_null(damaged);
    for (int round = 0; round < 20000; round++) {
        memcpy(damaged, bytes.text, bytes.n);
        /* Mutates the header more often than the object. */
        const int room = round % 2 ? 40 : (int)bytes.n;
        for (int i = 0; i < 4; i++)
            damaged[random_below(&random, room)] =
                (char)random_below(&random, 256);
        (void)read_copy(damaged, bytes.n);
    }
    free(damaged);
    tgi_strbuf_deinit(&bytes);
    check_nothing_is_alive();
}

/* -- Memory that runs out -------------------------------------------------- */

static tgi_strbuf written;

static bool read_it(void)
{
    tgi_code *code;
    const bool went_well = tgi_code_deserialise(written.text, written.n,
                                                N_KERNELS, &code) == TG_OK;
    tgi_code_release(code);
    return went_well;
}

Test(code_bytes, memory_may_run_out)
{
    /* Not counted as alive. */
    tgi_strbuf bytes = write_sample("answer");
    written = (tgi_strbuf){.text = malloc(bytes.n), .n = bytes.n};
    cr_assert_not_null(written.text);
    memcpy(written.text, bytes.text, bytes.n);
    tgi_strbuf_deinit(&bytes);
    check_every_fault(read_it);
    free(written.text);
}

#endif
