/* SPDX-License-Identifier: MIT */
/*
 * test_safetensors.c - headers of .safetensors files: what the format allows,
 * and what it does not. test_archive.c has the round trips.
 */
#include "support/files.h"

/* A file of this header and so many bytes of data: 0, 1, 2 … */
static const char *file_of(const file_session *f, const char *header, size_t n)
{
    unsigned char bytes[2048] = {0};
    const size_t length = strlen(header);
    cr_assert(8 + length + n <= sizeof(bytes));
    bytes[0] = (unsigned char)length;
    bytes[1] = (unsigned char)(length >> 8);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < n; i++)
        bytes[8 + length + i] = (unsigned char)i;
    return file_write(f, "x.safetensors", bytes, 8 + length + n);
}

#define TENSOR(name, dtype, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape \
    "],\"data_offsets\":[" #begin "," #end "]}"

Test(safetensors, headers_that_the_format_allows_are_read)
{
    static const struct {
        const char *header;
        size_t n_data, n_tensors;
    } cases[] = {
        {"{}", 0, 0},
        {"{}      ", 0, 0},
        {"{\"__metadata__\":{}}", 0, 0},
        {"{" TENSOR("a", "U8", "4", 0, 4) "}", 4, 1},
        {"{" TENSOR("a", "U8", "", 0, 1) "}", 1, 1},
        /* In any order, and empty tensors anywhere. */
        {"{" TENSOR("a", "U8", "2", 3, 5) "," TENSOR("b", "I8", "3", 0, 3)
         "," TENSOR("c", "F32", "0", 3, 3) "," TENSOR("d", "F64", "0,9", 5, 5)
         "}",
         5, 4},
        /* Elements that are not aligned, other fields, escapes. */
        {"{\"\\u0061\":{\"x\":null,\"dtype\":\"F32\",\"shape\":[1],"
         "\"data_offsets\":[1,5]}," TENSOR("b", "U8", "1", 0, 1) "}",
         5, 2},
    };
    file_session f;
    files_begin(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tg_archive *a = tg_archive_load(
            f.ctx, file_of(&f, cases[i].header, cases[i].n_data));
        cr_assert_not_null(a, "%s: %s", cases[i].header, tg_error(f.ctx));
        cr_assert_eq(tg_archive_count(a), cases[i].n_tensors);
        for (size_t k = 0; k < cases[i].n_tensors; k++)
            cr_assert_not_null(tg_archive_get(a, tg_archive_name(a, k)),
                               "%s", tg_error(f.ctx));
        tg_archive_release(a);
    }
    files_end(&f, 1);
}

Test(safetensors, bad_headers_are_refused)
{
    static const struct {
        const char *header, *says;
    } cases[] = {
        {"{", "bad JSON"},
        {"{\"a\"}", "bad JSON"},
        {"{} x", "bad JSON"},
        {"{\"a\":1,\"a\":2}", "bad JSON"},
        {"{\"a\\u0000\":1}", "bad JSON"},
        {"{\"\xff\":1}", "bad JSON"},
        {"{\"a\":[[[[[[[[[[[[", "bad JSON"},
        {"{\"a\":1}", "'a': has no dtype"},
        {"{\"a\":{}}", "'a': has no dtype"},
        {"{\"a\":{\"dtype\":3}}", "'a': has no dtype"},
        {"{\"a\":{\"dtype\":\"ABCDEFGHIJKLMNOPQ\"}}", "'a': has no dtype"},
        {"{\"a\":{\"dtype\":\"U8\"}}", "'a': has no shape"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":4}}", "'a': has no shape"},
        {"{" TENSOR("a", "U8", "-4", 0, 4) "}", "'a': has no shape"},
        {"{" TENSOR("a", "U8", "4.0", 0, 4) "}", "'a': has no shape"},
        {"{" TENSOR("a", "U8", "\\\"4\\\"", 0, 4) "}", "bad JSON"},
        {"{" TENSOR("a", "U8", "4294967296,4294967296", 0, 4) "}",
         "'a': has no shape of 64-bit"},
        {"{" TENSOR("a", "U8", "99999999999999999999", 0, 4) "}", "bad JSON"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", "data_offsets"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0]}}",
         "data_offsets"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4,4]}}",
         "data_offsets"},
        {"{" TENSOR("a", "U8", "4", 4, 0) "}", "'a': its data_offsets"},
        {"{" TENSOR("a", "U8", "4", -4, 0) "}", "'a': its data_offsets"},
        {"{" TENSOR("a", "U8", "5", 0, 5) "}", "are not in 0 … 4"},
        {"{" TENSOR("a", "U8", "3", 0, 4) "}", "has 4 bytes"},
        {"{" TENSOR("a", "F16", "4", 0, 4) "}",
         "not the size of 4 elements of F16"},
        {"{" TENSOR("a", "F4", "3", 0, 4) "}", "elements of F4"},
        {"{" TENSOR("a", "U64", "4611686018427387905", 0, 4) "}",
         "not the size of"},
        {"{}", "no tensor has byte 10"},
        {"{" TENSOR("a", "U8", "3", 0, 3) "}", "no tensor has byte"},
        {"{" TENSOR("a", "U8", "3", 1, 4) "}", "no tensor has byte"},
        {"{" TENSOR("a", "U8", "2", 0, 2) "," TENSOR("b", "U8", "1", 3, 4)
         "}", "no tensor has byte"},
        {"{" TENSOR("a", "U8", "3", 0, 3) "," TENSOR("b", "U8", "2", 2, 4)
         "}", "tensors overlap"},
        {"{" TENSOR("a", "U8", "4", 0, 4) "," TENSOR("b", "U8", "4", 0, 4)
         "}", "tensors overlap"},
        {"{" TENSOR("a", "U8", "4", 0, 4) "," TENSOR("b", "U8", "0", 2, 2)
         "}", "tensors overlap"},
        {"{" TENSOR("", "U8", "4", 0, 4) "}", "a name of 0 bytes"},
        {"{\"__metadata__\":1}", "the metadata is not an object"},
        {"{\"__metadata__\":{\"a\":1}}", "metadata 'a' is not a string"},
        {"{" TENSOR("a\\u001b[2J", "U8", "5", 0, 5) "}", "'a\\x1b[2J'"},
    };
    file_session f;
    files_begin(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *path = file_of(&f, cases[i].header, 4);
        cr_assert_null(tg_archive_load(f.ctx, path), "%s", cases[i].header);
        check_record(TG_ERROR_FILE, "tg_archive_load: ", "x.safetensors: ",
                     cases[i].says);
    }
    files_end(&f, 1);
}

Test(safetensors, the_length_of_the_header_is_checked)
{
    file_session f;
    files_begin(&f);
    cr_assert_null(tg_archive_load(
        f.ctx, FILE_TEXT(&f, "x", "\3\0\0\0\0\0\0\0{}")));
    check_record(TG_ERROR_FILE, "ends inside of its header");
    cr_assert_null(tg_archive_load(
        f.ctx, FILE_TEXT(&f, "x", "\1\xe1\xf5\5\0\0\0\0{}")));
    check_record(TG_ERROR_FILE, "header of 100000001 bytes; the limit is");
    cr_assert_null(tg_archive_load(
        f.ctx, FILE_TEXT(&f, "x", "\xff\xff\xff\xff\xff\xff\xff\xff{}")));
    check_record(TG_ERROR_FILE, "the limit is");
    cr_assert_null(
        tg_archive_load(f.ctx, FILE_TEXT(&f, "x", "\2\0\0\0\0\0\0\0[]")));
    check_record(TG_ERROR_FILE, "neither a .npz nor a .safetensors");
    cr_assert_null(tg_archive_load(f.ctx, FILE_TEXT(&f, "x", "")));
    check_record(TG_ERROR_FILE, "neither a .npz nor a .safetensors");
    files_end(&f, 1);
}

Test(safetensors, other_dtypes_fail_only_when_they_are_asked_for)
{
    static const char header[] =
        "{" TENSOR("byte", "F8_E4M3", "4", 0, 4) ","
        TENSOR("new", "F3_X", "9", 4, 5) ","
        TENSOR("b", "U8", "3", 5, 8) ","
        TENSOR("deep", "U8", "1,1,1,1,1,1,1,1,1", 8, 9) ","
        TENSOR("flag", "BOOL", "1", 9, 10) "}";
    file_session f;
    files_begin(&f);
    tg_archive *a = tg_archive_load(f.ctx, file_of(&f, header, 10));
    cr_assert_not_null(a, "%s", tg_error(f.ctx));
    cr_assert_eq(tg_archive_count(a), 5);
    cr_assert(tg_archive_has(a, "byte"));
    cr_assert_not_null(tg_archive_get(a, "b"));
    cr_assert_null(tg_archive_get(a, "byte"));
    check_record(TG_ERROR_DTYPE, "tg_archive_get: ", "x.safetensors: 'byte'",
                 "dtype 'F8_E4M3' is not supported");
    cr_assert_null(tg_archive_get(a, "new"));
    check_record(TG_ERROR_DTYPE, "'new'", "dtype 'F3_X' is not supported");
    cr_assert_null(tg_archive_get(a, "deep"));
    check_record(TG_ERROR_OVERFLOW, "'deep'", "rank 9");
    cr_assert_null(tg_archive_get(a, "flag"));
    check_record(TG_ERROR_FILE, "'flag'", "element 0 is 9, and not a bool");
    tg_archive_release(a);
    files_end(&f, 1);
}

Test(safetensors, headers_stay_within_the_memory_limit)
{
    file_session f;
    files_begin(&f);
    tg_context_options small = TG_CONTEXT_OPTIONS_INIT;
    small.memory_limit = 1000;
    tg_context *ctx = tg_context_create(&small);
    const char *path = file_of(&f, "{" TENSOR("a", "U8", "4", 0, 4) "}", 4);
    cr_assert_null(tg_archive_load(ctx, path));
    check_record(TG_ERROR_OUT_OF_MEMORY, "for a JSON object", "1000");
    tg_context_release(ctx);
    files_end(&f, 1);
}
