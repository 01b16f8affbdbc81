/* SPDX-License-Identifier: MIT */
/*
 * test_bad_input_files.c - archives, arrays, tables and named variables: NULL
 * handles, and texts longer than their limits.
 */
#include "support/files.h"

/* -- NULL handles ---------------------------------------------------------- */

Test(bad_input_files, null_archives_are_empty)
{
    session s;
    session_begin(&s);
    tg_archive *a = tg_archive_create(s.ctx);
    tg_archive_release(NULL);
    cr_assert_null(tg_archive_retain(NULL));
    cr_assert_eq(tg_archive_count(NULL), 0);
    cr_assert_null(tg_archive_name(NULL, 0));
    cr_assert_not(tg_archive_has(NULL, "x"));
    cr_assert_not(tg_archive_has(a, NULL));
    cr_assert_null(tg_archive_metadata(NULL, "x"));
    cr_assert_null(tg_archive_metadata(a, NULL));
    cr_assert_null(tg_archive_metadata_key(NULL, 0));
    tg_archive_release(a);
    session_end(&s);
}

Test(bad_input_files, null_archives_and_names_are_refused)
{
    session s;
    session_begin(&s);
    tg_archive *a = tg_archive_create(s.ctx);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_fails(tg_archive_add(NULL, "x", x), TG_ERROR_INVALID_ARGUMENT,
                "tg_archive_add: ", "archive is NULL");
    check_fails(tg_archive_add(a, NULL, x), TG_ERROR_INVALID_ARGUMENT,
                "name is NULL");
    check_fails(tg_archive_add(a, "x", NULL), TG_ERROR_INVALID_ARGUMENT,
                "'x' is NULL");
    check_fails(tg_archive_add_metadata(NULL, "k", "v"),
                TG_ERROR_INVALID_ARGUMENT, "archive is NULL");
    check_fails(tg_archive_add_metadata(a, NULL, "v"),
                TG_ERROR_INVALID_ARGUMENT, "key is NULL");
    check_fails(tg_archive_add_metadata(a, "k", NULL),
                TG_ERROR_INVALID_ARGUMENT, "value is NULL");
    check_fails(tg_archive_add_metadata(a, "k", "\xff"),
                TG_ERROR_INVALID_ARGUMENT, "not UTF-8");
    cr_assert_null(tg_archive_get(NULL, "x"));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_archive_get: ",
                 "archive is NULL");
    cr_assert_null(tg_archive_create(NULL));
    check_record(TG_ERROR_INVALID_ARGUMENT, "NULL");
    cr_assert_eq(tg_archive_count(a), 0);
    tg_tensor_release(x);
    tg_archive_release(a);
    session_end(&s);
}

Test(bad_input_files, datasets_of_no_files_are_refused)
{
    static const char *const paths[] = {"x.npy"};
    session s;
    session_begin(&s);
    cr_assert_null(tg_dataset_from_npy(NULL, paths, 1));
    check_record(TG_ERROR_INVALID_ARGUMENT, "context is NULL");
    cr_assert_null(tg_dataset_from_npy(s.ctx, NULL, 1));
    check_record(TG_ERROR_INVALID_ARGUMENT, "no files");
    cr_assert_null(tg_dataset_from_npy(s.ctx, paths, 0));
    check_record(TG_ERROR_INVALID_ARGUMENT, "no files");
    session_end(&s);
}

/* -- Named variables ------------------------------------------------------- */

Test(bad_input_files, variables_have_a_context_and_a_name)
{
    session s;
    session_begin(&s);
    cr_assert_null(tg_get_variable(NULL, "v", TG_F32, TG_SCALAR, tg_zeros()));
    check_record(TG_ERROR_INVALID_ARGUMENT, "tg_get_variable", "NULL");
    cr_assert_null(tg_get_variable(s.ctx, NULL, TG_F32, TG_SCALAR, tg_zeros()));
    check_record(TG_ERROR_INVALID_ARGUMENT, "name is empty");
    cr_assert_null(tg_get_variable(s.ctx, "", TG_F32, TG_SCALAR, tg_zeros()));
    check_record(TG_ERROR_INVALID_ARGUMENT, "name is empty");
    cr_assert_eq(tg_function_variables(NULL, TG_ALL_VARIABLES, NULL, 0), 0);
    session_end(&s);
}

/* A tensor keeps the context, but not its variables. */
Test(bad_input_files, released_contexts_have_no_variables)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_SCALAR, tg_zeros());
    tg_context_release(ctx);
    cr_assert_null(tg_get_variable(ctx, "v", TG_F32, TG_SCALAR, tg_zeros()));
    check_record(TG_ERROR_STATE, "has been released");
    tg_tensor_release(x);
    check_nothing_is_alive();
}

static void own_of_nine_axes(tg_trace *t, const tg_value *in, void *user)
{
    static const int64_t dims[TG_MAX_RANK + 1] = {0};
    (void)user;
    cr_assert_null(tg_own_variable(t, "v", TG_F32, TG_MAX_RANK + 1, dims,
                                   tg_zeros()));
    tg_return(t, in[0]);
}

Test(bad_input_files, own_variables_have_at_most_the_largest_rank)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, own_of_nine_axes, NULL, NULL);
    check_fails(tg_call(f, TG_ARGS(1), TG_RESULTS(NULL)), TG_ERROR_OVERFLOW,
                "own variable", "rank 9");
    tg_function_release(f);
    session_end(&s);
}

/* -- Nothing in a variable ------------------------------------------------- */

Test(bad_input_files, variables_of_no_elements_are_saved_and_loaded)
{
    file_session f;
    files_begin(&f);
    tg_variable *all[] = {
        tg_variable_create(f.ctx, "a", TG_F32, TG_DIMS(0), tg_zeros()),
        tg_variable_create(f.ctx, "b", TG_F32, TG_DIMS(2), tg_ones())};
    tg_archive *a = tg_archive_create(f.ctx);
    const char *path = file_path(&f, "x.safetensors");
    check_works(tg_archive_add_variables(a, NULL, all, 2));
    check_works(tg_archive_save(a, path));
    tg_archive_release(a);
    const float other[] = {5, 6};
    check_works(tg_variable_set(all[1], other, sizeof(other)));
    a = tg_archive_load(f.ctx, path);
    check_works(tg_archive_get_variables(a, NULL, all, 2, NULL));
    check_variable(all[1], 1, 1);
    tg_archive_release(a);
    tg_variable_release(all[0]);
    tg_variable_release(all[1]);
    files_end(&f, 1);
}

/* -- Limits ---------------------------------------------------------------- */

/* A file that begins with `head`, followed by `n` bytes of `c`. */
static const char *long_file(const file_session *f, const char *name,
                             const void *head, size_t n_head, int c, size_t n)
{
    char *bytes = malloc(n_head + n);
    memcpy(bytes, head, n_head);
    memset(bytes + n_head, c, n);
    const char *path = file_write(f, name, bytes, n_head + n);
    free(bytes);
    return path;
}

Test(bad_input_files, a_header_of_an_array_has_a_limit)
{
    enum { N = 2 << 20 };
    static const unsigned char head[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 2,
                                         0,    0,   0,   N >> 16, 0};
    file_session f;
    files_begin(&f);
    cr_assert_null(tg_npy_load(
        f.ctx, long_file(&f, "x.npy", head, sizeof(head), ' ', N)));
    check_record(TG_ERROR_FILE, "header of 2097152 bytes",
                 "the limit is 1048576");
    files_end(&f, 1);
}

Test(bad_input_files, a_row_of_a_table_has_a_limit)
{
    file_session f;
    files_begin(&f);
    cr_assert_null(tg_csv_load(
        f.ctx, long_file(&f, "x.csv", "1,2\n", 4, '1', 65 << 20), NULL));
    check_record(TG_ERROR_FILE, "the row has more than 67108864 bytes");
    files_end(&f, 1);
}
