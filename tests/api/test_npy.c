/* SPDX-License-Identifier: MIT */
/*
 * test_npy.c - .npy files: round trips, conversions, mappings, and headers that
 * are wrong. check-python-files.sh compares with NumPy.
 */
#include <sys/resource.h>

#include "support/files.h"

/* -- Files by hand --------------------------------------------------------- */

enum { ROOM = 512 };

/* Writes a file of a version with this header and these elements. */
static const char *npy_file(const file_session *f, int version,
                            const char *header, const void *data, size_t n)
{
    unsigned char bytes[ROOM] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    const size_t length = strlen(header), head = version == 1 ? 10 : 12;
    cr_assert(head + length + n <= sizeof(bytes));
    bytes[6] = (unsigned char)version;
    bytes[8] = (unsigned char)length;
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + head, header, length);
    if (n > 0)
        memcpy(bytes + head + length, data, n);
    return file_write(f, "x.npy", bytes, head + length + n);
}

static bool reads_npy(tg_context *ctx, const char *path)
{
    tg_tensor *x = tg_npy_load(ctx, path);
    const bool is_good = x != NULL;
    tg_tensor_release(x);
    return is_good;
}

static const float six[] = {1, 2, 3, 4, 5, 6};

/* -- Round trips ----------------------------------------------------------- */

Test(npy, a_tensor_comes_back_as_it_was)
{
    static const tg_dtype dtypes[] = {TG_BOOL, TG_I8,  TG_I16, TG_I32,
                                      TG_I64,  TG_U8,  TG_U16, TG_U32,
                                      TG_U64,  TG_F32, TG_F64};
    static const int64_t dims[][3] = {{2, 3, 5}, {1, 0, 4}, {7, 1, 1}};
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "x.npy");
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++)
        for (int rank = 0; rank <= 3; rank++)
            for (int k = 0; k < 3; k++) {
                tg_tensor *x =
                    tg_tensor_create(f.ctx, dtypes[i], rank, dims[k], tg_zeros());
                char *data = tg_tensor_data(x);
                for (size_t b = 0; b < tg_tensor_bytes(x); b++)
                    data[b] = dtypes[i] == TG_BOOL ? b % 3 == 0 : (char)b;
                check_works(tg_npy_save(x, path));
                tg_tensor *y = tg_npy_load(f.ctx, path);
                cr_assert_not_null(y, "%s", tg_error(f.ctx));
                cr_assert_eq(tg_tensor_dtype(y), dtypes[i]);
                cr_assert_eq(tg_tensor_rank(y), rank);
                cr_assert_eq(memcmp(tg_tensor_dims(y), dims[k],
                                    (size_t)rank * sizeof(int64_t)), 0);
                cr_assert_eq(memcmp(tg_tensor_data(y), data,
                                    tg_tensor_bytes(x)), 0);
                tg_tensor_release(x);
                tg_tensor_release(y);
            }
    files_end(&f, 1);
}

Test(npy, the_header_is_what_numpy_writes)
{
    static const char want[] =
        "\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': "
        "(6,), }";
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "x.npy");
    tg_tensor *x = f32_vector(f.ctx, 1, 2, 3, 4, 5, 6);
    check_works(tg_npy_save(x, path));
    size_t n;
    unsigned char *bytes = file_read(path, &n);
    cr_assert_eq(n, 128 + sizeof(six));
    cr_assert_eq(memcmp(bytes, want, sizeof(want) - 1), 0);
    cr_assert_eq(bytes[127], '\n');
    cr_assert_eq(memcmp(bytes + 128, six, sizeof(six)), 0);
    free(bytes);
    tg_tensor_release(x);
    files_end(&f, 1);
}

/* -- Mapping --------------------------------------------------------------- */

Test(npy, a_mapped_tensor_outlives_its_file_and_can_be_written)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "x.npy");
    tg_tensor *x = f32_vector(f.ctx, 1, 2, 3, 4, 5, 6);
    check_works(tg_npy_save(x, path));
    const size_t before = tg_live_bytes();
    tg_tensor *y = tg_npy_load(f.ctx, path);
    cr_assert_lt(tg_live_bytes(), before + 1024, "the elements were copied");
    ((float *)tg_tensor_data(y))[0] = 7;
    ((float *)tg_tensor_data(x))[1] = 9;
    check_works(tg_npy_save(x, path)); /* replaces the file */
    check_f32(tg_npy_load(f.ctx, path), 1, 9, 3, 4, 5, 6);
    unlink(path);
    check_f32(y, 7, 2, 3, 4, 5, 6);
    tg_tensor_release(x);
    files_end(&f, 0);
}

Test(npy, a_file_can_be_read_instead)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "x.npy");
    tg_tensor *x = f32_vector(f.ctx, 1, 2, 3);
    check_works(tg_npy_save(x, path));
    tg_load_options options = TG_LOAD_OPTIONS_INIT;
    options.no_map = true;
    tg_tensor *y = tg_npy_load_with(f.ctx, path, &options);
    cr_assert_eq(truncate(path, 0), 0); /* would be fatal for a mapping */
    check_f32(y, 1, 2, 3);
    options.struct_bytes = 3;
    cr_assert_null(tg_npy_load_with(f.ctx, path, &options));
    check_record(TG_ERROR_INVALID_ARGUMENT, "struct_bytes is 3");
    tg_tensor_release(x);
    files_end(&f, 1);
}

static void double_it(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

Test(npy, a_mapped_tensor_is_an_argument_and_a_result)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "x.npy");
    tg_tensor *x = f32_vector(f.ctx, 1, 2, 3);
    check_works(tg_npy_save(x, path));
    tg_tensor *y = tg_npy_load(f.ctx, path);
    tg_function *g = tg_function_create(f.ctx, double_it, NULL, NULL);
    check_works(tg_call(g, TG_ARGS(y), TG_RESULTS(&y)));
    check_f32(y, 2, 4, 6);
    check_f32(tg_npy_load(f.ctx, path), 1, 2, 3);
    tg_function_release(g);
    tg_tensor_release(x);
    files_end(&f, 1);
}

/* -- Conversions ----------------------------------------------------------- */

Test(npy, fortran_order_is_converted)
{
    file_session f;
    files_begin(&f);
    const char *path = npy_file(
        &f, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", six,
        sizeof(six));
    check_f32(tg_npy_load(f.ctx, path), 1, 3, 5, 2, 4, 6);
    path = npy_file(
        &f, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3, 2)}",
        six, sizeof(six));
    check_f32(tg_npy_load(f.ctx, path), 1, 4, 2, 5, 3, 6);
    files_end(&f, 1);
}

Test(npy, large_arrays_in_fortran_order_are_converted)
{
    enum { PLANES = 3, ROWS = 70, COLUMNS = 45 };
    static const char head[] = "\x93NUMPY\1\0\x3d\0{'descr': '<i2', "
                               "'fortran_order': True, 'shape': (3, 70, 45)}";
    enum { HEAD = sizeof(head) - 1, COUNT = PLANES * ROWS * COLUMNS };
    static char bytes[HEAD + COUNT * sizeof(int16_t)];
    file_session f;
    files_begin(&f);
    memcpy(bytes, head, HEAD);
    for (int i = 0; i < COUNT; i++)
        memcpy(bytes + HEAD + 2 * i, &(int16_t){(int16_t)i}, 2);
    tg_tensor *x =
        tg_npy_load(f.ctx, file_write(&f, "x.npy", bytes, sizeof(bytes)));
    cr_assert_not_null(x, "%s", tg_error(f.ctx));
    const int16_t *is = tg_tensor_data(x);
    for (int p = 0; p < PLANES; p++)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++)
                cr_assert_eq(*is++, (int16_t)(p + PLANES * (r + ROWS * c)));
    tg_tensor_release(x);
    files_end(&f, 1);
}

Test(npy, big_endian_is_converted)
{
    static const unsigned char big[] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0};
    file_session f;
    files_begin(&f);
    check_f32(tg_npy_load(f.ctx, npy_file(&f, 1,
                                          "{'descr': '>f4', 'fortran_order': "
                                          "False, 'shape': (2,)}",
                                          big, sizeof(big))),
              1, 2);
    files_end(&f, 1);
}

Test(npy, elements_that_are_not_aligned_are_copied)
{
    file_session f;
    files_begin(&f);
    /* 10 + 55 bytes before them. */
    check_f32(tg_npy_load(f.ctx, npy_file(&f, 1,
                                          "{'descr': '<f4', 'fortran_order': "
                                          "False, 'shape': (6,)}",
                                          six, sizeof(six))),
              1, 2, 3, 4, 5, 6);
    files_end(&f, 1);
}

/* -- Headers --------------------------------------------------------------- */

Test(npy, headers_may_vary_as_python_allows)
{
    static const char *const headers[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}   \n",
        (" { 'shape' : ( 2L , 3L , ) , 'descr' : '=f4' , 'fortran_order' :"
         " False , } "),
        "{'descr': 'f4', 'fortran_order': False, 'shape': (2, 3)}",
    };
    file_session f;
    files_begin(&f);
    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
        for (int version = 1; version <= 3; version++) {
            tg_tensor *x = tg_npy_load(
                f.ctx, npy_file(&f, version, headers[i], six, sizeof(six)));
            cr_assert_not_null(x, "%s: %s", headers[i], tg_error(f.ctx));
            cr_assert_eq(tg_tensor_rank(x), 2);
            check_f32(x, 1, 2, 3, 4, 5, 6);
        }
    files_end(&f, 1);
}

Test(npy, bad_headers_are_refused)
{
    static const struct {
        const char *header, *says;
        tg_status status;
    } cases[] = {
        {"", "no '{'", TG_ERROR_FILE},
        {"{}", "is missing", TG_ERROR_FILE},
        {"{'descr': '<f4', 'fortran_order': False}", "is missing",
         TG_ERROR_FILE},
        {"{'descr': '<f4', 'descr': '<f4'}", "'descr' is there twice",
         TG_ERROR_FILE},
        {"{'extra': 1}", "'extra' is unknown", TG_ERROR_FILE},
        {"{'descr' '<f4'}", "no ':'", TG_ERROR_FILE},
        {"{'descr': '<f4", "a string does not end", TG_ERROR_FILE},
        {"{'de\\x73cr': '<f4'}", "a string does not end", TG_ERROR_FILE},
        {"{'fortran_order': 0}", "neither True nor False", TG_ERROR_FILE},
        {"{'shape': 6}", "no '('", TG_ERROR_FILE},
        {"{'shape': (6)}", "no ',' in the shape", TG_ERROR_FILE},
        {"{'shape': (6 1)}", "no ',' in the shape", TG_ERROR_FILE},
        {"{'shape': (,)}", "no extent", TG_ERROR_FILE},
        {"{'shape': (-6,)}", "no extent", TG_ERROR_FILE},
        {"{'shape': (6.0,)}", "no ',' in the shape", TG_ERROR_FILE},
        {"{'shape': (9223372036854775808,)}", "exceeds 64 bits",
         TG_ERROR_FILE},
        {"{'shape': (1,1,1,1,1,1,1,1,1)}", "more than 8 axes", TG_ERROR_FILE},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x",
         "text behind", TG_ERROR_FILE},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)",
         "no ',' behind", TG_ERROR_FILE},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}",
         "has 24 bytes of elements, but f32[7] needs 28", TG_ERROR_FILE},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}",
         "has 24 bytes of elements, but f32[5] needs 20", TG_ERROR_FILE},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': "
         "(4294967296,4294967296)}",
         "too many elements", TG_ERROR_OVERFLOW},
        {"{'descr': '<f3', 'fortran_order': False, 'shape': (12,)}",
         "dtype '<f3' is not supported", TG_ERROR_DTYPE},
        {"{'descr': '|f4', 'fortran_order': False, 'shape': (6,)}",
         "dtype '|f4' is not supported", TG_ERROR_DTYPE},
        {"{'descr': '<U12345678901234567', 'shape': (6,)}", "not supported",
         TG_ERROR_DTYPE},
        {"{'descr': [('a', '<f4')], 'shape': (6,)}", "structured",
         TG_ERROR_DTYPE},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (24,)}",
         "element 2 is 128, and not a bool", TG_ERROR_FILE},
        {"{'descr': '|b1', 'fortran_order': True, 'shape': (4, 6)}",
         "and not a bool", TG_ERROR_FILE},
    };
    file_session f;
    files_begin(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *path = npy_file(&f, 1, cases[i].header, six, sizeof(six));
        cr_assert_null(tg_npy_load(f.ctx, path), "%s", cases[i].header);
        check_record(cases[i].status, "tg_npy_load: ", "x.npy: ",
                     cases[i].says);
    }
    files_end(&f, 1);
}

Test(npy, other_files_are_refused)
{
    file_session f;
    files_begin(&f);
    cr_assert_null(tg_npy_load(f.ctx, FILE_TEXT(&f, "x.npy", "")));
    check_record(TG_ERROR_FILE, "is not a .npy file");
    cr_assert_null(tg_npy_load(f.ctx, FILE_TEXT(&f, "x.npy", "\x93NUMPY\4\0"
                                                             "\0\0\0\0")));
    check_record(TG_ERROR_FILE, "has version 4.0");
    cr_assert_null(tg_npy_load(f.ctx, FILE_TEXT(&f, "x.npy", "\x93NUMPY\2\0"
                                                "\xff\xff\xff\xff{")));
    check_record(TG_ERROR_FILE, "ends inside of its .npy header");
    cr_assert_null(tg_npy_load(f.ctx, file_path(&f, "missing")));
    check_record(TG_ERROR_FILE, "tg_npy_load: cannot read ", "missing: No ");
    cr_assert_null(tg_npy_load(f.ctx, f.folder));
    check_record(TG_ERROR_FILE, "is not a regular file");
    cr_assert_null(tg_npy_load(f.ctx, NULL));
    check_record(TG_ERROR_INVALID_ARGUMENT, "the path is NULL");
    cr_assert_null(tg_npy_load(NULL, "x.npy"));
    check_record(TG_ERROR_INVALID_ARGUMENT, "the context is NULL");
    files_end(&f, 1);
}

Test(npy, no_beginning_of_a_file_is_enough)
{
    file_session f;
    files_begin(&f);
    tg_tensor *x = f32_vector(f.ctx, 1, 2, 3);
    check_works(tg_npy_save(x, file_path(&f, "x.npy")));
    check_truncations(&f, file_path(&f, "x.npy"), reads_npy);
    tg_tensor_release(x);
    files_end(&f, 1);
}

/* A pipe without a writer would block an ordinary open. */
Test(npy, a_pipe_is_refused_at_once, .timeout = 30)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "pipe");
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_null(tg_npy_load(f.ctx, path));
    check_record(TG_ERROR_FILE, "is not a regular file");
    tg_tensor *x = f32_vector(f.ctx, 1);
    check_fails(tg_npy_save(x, path), TG_ERROR_FILE, "cannot write");
    tg_tensor_release(x);
    files_end(&f, 1);
}

Test(npy, conversions_stay_within_the_memory_limit)
{
    file_session f;
    files_begin(&f);
    tg_context_options small = TG_CONTEXT_OPTIONS_INIT;
    small.memory_limit = 16;
    tg_context *ctx = tg_context_create(&small);
    const char *path = npy_file(
        &f, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", six,
        sizeof(six));
    cr_assert_null(tg_npy_load(ctx, path));
    check_record(TG_ERROR_OUT_OF_MEMORY, "24");
    tg_load_options options = TG_LOAD_OPTIONS_INIT;
    options.no_map = true;
    cr_assert_null(tg_npy_load_with(ctx, path, &options));
    check_record(TG_ERROR_OUT_OF_MEMORY, "limit");
    tg_context_release(ctx);
    files_end(&f, 1);
}

/* -- Writing --------------------------------------------------------------- */

Test(npy, a_file_that_cannot_be_written_stays_as_it_was)
{
    file_session f;
    files_begin(&f);
    const char *path = FILE_TEXT(&f, "x.npy", "as it was");
    tg_tensor *x = f32_vector(f.ctx, 1, 2, 3);
    struct rlimit limit, low;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    low = limit;
    low.rlim_cur = 130; /* the header fits, the elements do not */
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
    const tg_status status = tg_npy_save(x, path);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    check_fails(status, TG_ERROR_FILE, "cannot write ", "x.npy: File too");
    cr_assert(same_bytes(path, "as it was", 9));
    check_fails(tg_npy_save(x, file_path(&f, "none/x.npy")), TG_ERROR_FILE,
                "cannot write", "No such file");
    check_fails(tg_npy_save(x, f.folder), TG_ERROR_FILE, "cannot write");
    check_fails(tg_npy_save(x, file_path(&f, "")), TG_ERROR_FILE,
                "cannot write");
    check_fails(tg_npy_save(NULL, path), TG_ERROR_INVALID_ARGUMENT,
                "the tensor is NULL");
    check_fails(tg_npy_save(x, NULL), TG_ERROR_INVALID_ARGUMENT,
                "the path is NULL");
    tg_tensor_release(x);
    files_end(&f, 1);
}

Test(npy, a_new_file_has_the_permissions_of_the_old_one)
{
    struct stat info;
    file_session f;
    files_begin(&f);
    const char *path = FILE_TEXT(&f, "x.npy", "private");
    const mode_t mask = umask(022);
    tg_tensor *x = f32_vector(f.ctx, 1);
    cr_assert_eq(chmod(path, 0600), 0);
    check_works(tg_npy_save(x, path));
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_mode & 0777, 0600);
    cr_assert_eq(chmod(path, 0664), 0);
    check_works(tg_npy_save(x, path));
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_mode & 0777, 0664);
    unlink(path);
    check_works(tg_npy_save(x, path));
    cr_assert_eq(stat(path, &info), 0);
    cr_assert_eq(info.st_mode & 0777, 0644);
    umask(mask);
    tg_tensor_release(x);
    files_end(&f, 1);
}

Test(npy, a_symbolic_link_is_replaced)
{
    struct stat info;
    file_session f;
    files_begin(&f);
    const char *target = FILE_TEXT(&f, "target", "kept");
    const char *path = file_path(&f, "x.npy");
    cr_assert_eq(symlink(target, path), 0);
    tg_tensor *x = f32_vector(f.ctx, 1);
    check_works(tg_npy_save(x, path));
    cr_assert_eq(lstat(path, &info), 0);
    cr_assert(S_ISREG(info.st_mode));
    cr_assert(same_bytes(target, "kept", 4));
    tg_tensor_release(x);
    files_end(&f, 2);
}
