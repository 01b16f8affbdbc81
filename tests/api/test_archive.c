/* SPDX-License-Identifier: MIT */
/*
 * test_archive.c - archives: names, metadata, both formats, tensors that are
 * read when they are asked for, and ZIP files that are damaged.
 */
#include <pthread.h>

#include "front/file/archive.h"
#include "front/file/crc32.h"
#include "front/file/zip_format.h"
#include "jit.h"
#include "support/files.h"

static const char *const suffixes[] = {"x.npz", "x.safetensors"};

static void add(tg_archive *a, const char *name, tg_tensor *x)
{
    cr_assert_not_null(x);
    check_works(tg_archive_add(a, name, x));
    tg_tensor_release(x);
}

/* Of all sizes of elements, so that nothing is aligned by chance. */
static tg_archive *sample(tg_context *ctx)
{
    tg_archive *a = tg_archive_create(ctx);
    cr_assert_not_null(a);
    add(a, "bytes", tg_tensor_copy(ctx, "abc", TG_U8, TG_DIMS(3)));
    add(a, "w.1/a b", f32_vector(ctx, 1.5f, 2, 3));
    add(a, "\xc3\xa4\xe4\xb8\xad", i32_vector(ctx, 7));
    add(a, "flag", tg_tensor_copy(ctx, "\1", TG_BOOL, TG_SCALAR));
    add(a, "none", tg_tensor_create(ctx, TG_F32, TG_DIMS(0, 4), tg_zeros()));
    add(a, "n", tg_tensor_copy(ctx, &(int64_t){-3}, TG_I64, TG_SCALAR));
    check_works(tg_archive_add_metadata(a, "note", "a \"quoted\"\n\\ text"));
    check_works(tg_archive_add_metadata(a, "", ""));
    return a;
}

static void check_sample(tg_archive *a)
{
    static const char *const names[] = {
        "bytes", "w.1/a b", "\xc3\xa4\xe4\xb8\xad", "flag", "none", "n"};
    cr_assert_eq(tg_archive_count(a), 6);
    for (size_t i = 0; i < 6; i++) {
        cr_assert_str_eq(tg_archive_name(a, i), names[i]);
        cr_assert(tg_archive_has(a, names[i]));
        cr_assert_not_null(tg_archive_get(a, names[i]), "%s", tg_error(NULL));
    }
    cr_assert_null(tg_archive_name(a, 6));
    cr_assert_not(tg_archive_has(a, "byte"));
    check_f32(tg_tensor_retain(tg_archive_get(a, "w.1/a b")), 1.5f, 2, 3);
    check_i64(tg_tensor_retain(tg_archive_get(a, "n")), -3);
    cr_assert_eq(memcmp(tg_tensor_data(tg_archive_get(a, "bytes")), "abc", 3),
                 0);
    cr_assert_eq(tg_tensor_dims(tg_archive_get(a, "none"))[1], 4);
    cr_assert_eq(tg_tensor_dtype(tg_archive_get(a, "flag")), TG_BOOL);
    cr_assert_str_eq(tg_archive_metadata(a, "note"),
                     "a \"quoted\"\n\\ text");
    cr_assert_str_eq(tg_archive_metadata(a, ""), "");
    cr_assert_null(tg_archive_metadata(a, "notes"));
    cr_assert_str_eq(tg_archive_metadata_key(a, 0), "note");
    cr_assert_null(tg_archive_metadata_key(a, 2));
}

/* -- Lists ----------------------------------------------------------------- */

Test(archive, tensors_are_listed_in_order_and_found_by_name)
{
    session s;
    session_begin(&s);
    tg_archive *a = sample(s.ctx);
    check_sample(a);
    tg_archive_retain(a);
    tg_archive_release(a);
    check_sample(a);
    tg_archive_release(a);
    session_end(&s);
}

Test(archive, bad_names_and_repeated_ones_are_refused)
{
    static char long_name[TG_MAX_NAME_BYTES + 2];
    session s, other;
    session_begin(&s);
    session_begin(&other);
    tg_archive *a = sample(s.ctx);
    tg_tensor *x = f32_vector(s.ctx, 1), *foreign = f32_vector(other.ctx, 1);
    memset(long_name, 'x', sizeof(long_name) - 1);
    check_fails(tg_archive_add(a, "n", x), TG_ERROR_STATE,
                "tg_archive_add: the archive: there are two tensors 'n'");
    check_fails(tg_archive_add(a, "", x), TG_ERROR_INVALID_ARGUMENT,
                "a name of 0 bytes");
    check_fails(tg_archive_add(a, long_name, x), TG_ERROR_INVALID_ARGUMENT,
                "a name of 65001 bytes", "xxx...'");
    long_name[TG_MAX_NAME_BYTES] = '\0';
    check_works(tg_archive_add(a, long_name, x));
    check_fails(tg_archive_add(a, "__metadata__", x),
                TG_ERROR_INVALID_ARGUMENT, "is reserved");
    static const char *const not_utf8[] = {
        "\xff", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf", "a\x80"};
    for (size_t i = 0; i < sizeof(not_utf8) / sizeof(*not_utf8); i++)
        check_fails(tg_archive_add(a, not_utf8[i], x),
                    TG_ERROR_INVALID_ARGUMENT, "is not UTF-8");
    check_fails(tg_archive_add(a, NULL, x), TG_ERROR_INVALID_ARGUMENT,
                "the name is NULL");
    check_fails(tg_archive_add(a, "x", NULL), TG_ERROR_INVALID_ARGUMENT,
                "the tensor for 'x' is NULL");
    check_fails(tg_archive_add(a, "x", foreign), TG_ERROR_INVALID_ARGUMENT,
                "another context");
    check_fails(tg_archive_add(NULL, "x", x), TG_ERROR_INVALID_ARGUMENT,
                "the archive is NULL");
    check_fails(tg_archive_add_metadata(a, "note", "x"), TG_ERROR_STATE,
                "there is metadata 'note' already");
    check_fails(tg_archive_add_metadata(a, "k", "\xff"),
                TG_ERROR_INVALID_ARGUMENT, "not UTF-8");
    check_fails(tg_archive_add_metadata(a, "k", NULL),
                TG_ERROR_INVALID_ARGUMENT, "the value is NULL");
    cr_assert_null(tg_archive_get(a, "m"));
    check_record(TG_ERROR_STATE, "tg_archive_get: ", "no tensor 'm'");
    cr_assert_null(tg_archive_get(NULL, "m"));
    cr_assert_null(tg_archive_create(NULL));
    cr_assert_eq(tg_archive_count(NULL), 0);
    cr_assert_eq(tg_archive_count(a), 7);
    tg_tensor_release(x);
    tg_tensor_release(foreign);
    tg_archive_release(a);
    tg_archive_release(NULL);
    tg_context_release(other.ctx);
    session_end(&s);
}

/* -- Files ----------------------------------------------------------------- */

Test(archive, both_formats_keep_tensors_order_and_metadata)
{
    file_session f;
    files_begin(&f);
    for (int i = 0; i < 2; i++) {
        const char *path = file_path(&f, suffixes[i]);
        tg_archive *a = sample(f.ctx);
        check_works(tg_archive_save(a, path));
        tg_archive_release(a);
        tg_load_options options = TG_LOAD_OPTIONS_INIT;
        for (int no_map = 0; no_map < 2; no_map++) {
            options.no_map = no_map;
            a = tg_archive_load_with(f.ctx, path, &options);
            cr_assert_not_null(a, "%s", tg_error(f.ctx));
            check_sample(a);
            /* Over itself, from tensors that are views of it. */
            check_works(tg_archive_save(a, path));
            check_sample(a);
            tg_archive_release(a);
        }
        /* The same bytes for the same archive. */
        size_t n;
        unsigned char *bytes = file_read(path, &n);
        a = tg_archive_load(f.ctx, path);
        check_works(tg_archive_save(a, path));
        cr_assert(same_bytes(path, bytes, n));
        /* Into the other format, and its tensors outlive it. */
        check_works(tg_archive_save_as(a, path, i == 0
                                                    ? TG_ARCHIVE_SAFETENSORS
                                                    : TG_ARCHIVE_NPZ));
        tg_tensor *w = tg_tensor_retain(tg_archive_get(a, "w.1/a b"));
        tg_archive_release(a);
        check_f32(w, 1.5f, 2, 3);
        a = tg_archive_load(f.ctx, path);
        check_sample(a);
        tg_archive_release(a);
        free(bytes);
    }
    files_end(&f, 2);
}

Test(archive, tensors_of_our_files_are_views)
{
    enum { COUNT = 1 << 18 };
    file_session f;
    files_begin(&f);
    for (int i = 0; i < 2; i++) {
        const char *path = file_path(&f, suffixes[i]);
        tg_archive *a = tg_archive_create(f.ctx);
        add(a, "odd", tg_tensor_create(f.ctx, TG_U8, TG_DIMS(COUNT + 1), tg_zeros()));
        add(a, "even", tg_tensor_create(f.ctx, TG_F64, TG_DIMS(COUNT), tg_zeros()));
        check_works(tg_archive_save(a, path));
        tg_archive_release(a);
        const size_t before = tg_live_bytes();
        cr_assert(reads_archive(f.ctx, path));
        a = tg_archive_load(f.ctx, path);
        cr_assert_not_null(tg_archive_get(a, "odd"));
        double *even = tg_tensor_data(tg_archive_get(a, "even"));
        cr_assert_lt(tg_live_bytes(), before + 8192, "%s: elements are copied",
                     path);
        even[0] = 1; /* in memory alone */
        tg_archive_release(a);
        a = tg_archive_load(f.ctx, path);
        cr_assert_eq(*(double *)tg_tensor_data(tg_archive_get(a, "even")), 0);
        tg_archive_release(a);
    }
    files_end(&f, 2);
}

Test(archive, empty_ones_can_be_saved)
{
    file_session f;
    files_begin(&f);
    for (int i = 0; i < 2; i++) {
        tg_archive *a = tg_archive_create(f.ctx);
        check_works(tg_archive_save(a, file_path(&f, suffixes[i])));
        tg_archive_release(a);
        a = tg_archive_load(f.ctx, file_path(&f, suffixes[i]));
        cr_assert_not_null(a, "%s", tg_error(f.ctx));
        cr_assert_eq(tg_archive_count(a), 0);
        tg_archive_release(a);
    }
    files_end(&f, 2);
}

Test(archive, paths_and_formats_are_checked)
{
    file_session f;
    files_begin(&f);
    tg_archive *a = sample(f.ctx);
    check_fails(tg_archive_save(a, "x.pt"), TG_ERROR_INVALID_ARGUMENT,
                "'x.pt' ends neither with .npz nor with .safetensors");
    check_fails(tg_archive_save(a, ".npz"), TG_ERROR_INVALID_ARGUMENT, "");
    check_fails(tg_archive_save_as(a, "x", (tg_archive_format)9),
                TG_ERROR_INVALID_ARGUMENT, "no archive format 9");
    check_fails(tg_archive_save(a, NULL), TG_ERROR_INVALID_ARGUMENT, "path");
    check_fails(tg_archive_save(NULL, "x.npz"), TG_ERROR_INVALID_ARGUMENT,
                "archive");
    cr_assert_null(tg_archive_load(f.ctx, NULL));
    cr_assert_null(tg_archive_load(NULL, "x.npz"));
    cr_assert_null(tg_archive_load(f.ctx, file_path(&f, "x.npz")));
    check_record(TG_ERROR_FILE, "cannot read", "No such file");
    cr_assert_null(tg_archive_load(f.ctx, FILE_TEXT(&f, "x", "something")));
    check_record(TG_ERROR_FILE, "neither a .npz nor a .safetensors file");
    tg_archive_release(a);
    files_end(&f, 1);
}

Test(archive, no_beginning_of_a_file_is_enough)
{
    file_session f;
    files_begin(&f);
    for (int i = 0; i < 2; i++) {
        tg_archive *a = sample(f.ctx);
        check_works(tg_archive_save(a, file_path(&f, suffixes[i])));
        tg_archive_release(a);
        check_truncations(&f, file_path(&f, suffixes[i]), reads_archive);
    }
    files_end(&f, 2);
}

static void *get_all(void *user)
{
    tg_archive *a = user;
    for (int round = 0; round < 100; round++)
        for (size_t i = 0; i < tg_archive_count(a); i++)
            if (!tg_archive_get(a, tg_archive_name(a, i)))
                return a;
    return NULL;
}

Test(archive, threads_share_one)
{
    file_session f;
    files_begin(&f);
    pthread_t threads[4];
    const char *path = file_path(&f, "x.npz");
    tg_archive *a = sample(f.ctx);
    check_works(tg_archive_save(a, path));
    tg_archive_release(a);
    a = tg_archive_load(f.ctx, path);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, get_all, a), 0);
    for (int i = 0; i < 4; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        cr_assert_null(failed);
    }
    check_sample(a);
    tg_archive_release(a);
    files_end(&f, 1);
}

/* -- .npz ------------------------------------------------------------------ */

Test(archive, the_checksum_is_that_of_zip)
{
    cr_assert_eq(tgi_crc32(0, "123456789", 9), 0xcbf43926u);
    cr_assert_eq(tgi_crc32(tgi_crc32(0, "1234", 4), "56789", 5), 0xcbf43926u);
    cr_assert_eq(tgi_crc32(0, NULL, 0), 0);
}

Test(archive, compressed_arrays_are_read)
{
    file_session f;
    files_begin(&f);
    tg_archive *a = tg_archive_load(
        f.ctx, file_write(&f, "x.npz", compressed_npz, sizeof(compressed_npz)));
    cr_assert_not_null(a, "%s", tg_error(f.ctx));
    cr_assert_eq(tg_archive_count(a), 2);
    tg_tensor *x = tg_archive_get(a, "a");
    if (!x) {
        check_record(TG_ERROR_UNSUPPORTED, "'a'", "without zlib");
    } else {
        cr_assert_eq(tg_tensor_rank(x), 2);
        check_f32(tg_tensor_retain(x), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
        cr_assert_eq(memcmp(tg_tensor_data(tg_archive_get(a, "b")), "\1\0", 2),
                     0);
    }
    tg_archive_release(a);
    files_end(&f, 1);
}

Test(archive, names_with_a_nul_are_refused)
{
    unsigned char bytes[sizeof(compressed_npz)];
    file_session f;
    files_begin(&f);
    memcpy(bytes, compressed_npz, sizeof(bytes));
    for (size_t i = 0; i + 5 < sizeof(bytes); i++)
        if (memcmp(bytes + i, "b.npy", 5) == 0)
            bytes[i] = 0;
    cr_assert_null(
        tg_archive_load(f.ctx, file_write(&f, "x.npz", bytes, sizeof(bytes))));
    check_record(TG_ERROR_FILE, "x.npz: ", "a name has a NUL");
    files_end(&f, 1);
}

/* Every size and offset in a field of 64 bits. */
Test(archive, wide_fields_are_written_and_read)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "x.npz");
    tg_tensor *x = f32_vector(f.ctx, 1, 2, 3);
    check_works(tg_npy_save(x, path));
    size_t n;
    unsigned char *npy = file_read(path, &n);
    tgi_atomic_file file;
    cr_assert_eq(tgi_atomic_file_begin(&file, path), 0);
    tgi_zip_writer writer = {.file = &file, .zip64_from = 0};
    cr_assert_eq(tgi_zip_write(&writer, "a.npy", npy, 128, npy + 128, n - 128),
                 0);
    cr_assert_eq(tgi_zip_write(&writer, "b.npy", npy, 128, npy + 128, n - 128),
                 0);
    cr_assert_eq(tgi_zip_write(&writer, "README", "text", 4, "", 0), 0);
    cr_assert_eq(tgi_zip_finish(&writer), 0);
    cr_assert_eq(tgi_atomic_file_end(&file, 0), 0);
    tgi_strbuf_deinit(&writer.directory);
    tg_archive *a = tg_archive_load(f.ctx, path);
    cr_assert_not_null(a, "%s", tg_error(f.ctx));
    cr_assert_eq(tg_archive_count(a), 2); /* others are ignored */
    check_f32(tg_tensor_retain(tg_archive_get(a, "b")), 1, 2, 3);
    tg_archive_release(a);
    check_truncations(&f, path, reads_archive);
    tg_tensor_release(x);
    free(npy);
    files_end(&f, 1);
}

/* -- Damaged ZIP files ----------------------------------------------------- */

/* Where the first record with these four bytes begins, from the end or the
   start. */
static unsigned char *find_record(unsigned char *bytes, size_t n,
                                  uint32_t magic, bool is_last)
{
    unsigned char *found = NULL;
    for (size_t i = 0; i + 4 <= n; i++)
        if (memcmp(bytes + i, &magic, 4) == 0 && (!found || is_last))
            found = bytes + i;
    cr_assert_not_null(found);
    return found;
}

/* A file of two members, a.npy and b.npy; free the bytes. */
static unsigned char *zip_bytes(const file_session *f, size_t *out_n)
{
    const char *path = file_path(f, "x.npz");
    tg_archive *a = tg_archive_create(f->ctx);
    add(a, "a", f32_vector(f->ctx, 1, 2, 3));
    add(a, "b", f32_vector(f->ctx, 1, 2, 3, 4));
    check_works(tg_archive_save(a, path));
    tg_archive_release(a);
    return file_read(path, out_n);
}

Test(archive, damaged_zip_files_are_refused)
{
    static const struct {
        uint32_t magic;
        bool is_last;
        int at;
        size_t bytes;
        uint64_t value;
        const char *says;
    } cases[] = {
        {TGI_ZIP_END_MAGIC, true, 0, 4, 0, "no end record"},
        {TGI_ZIP_END_MAGIC, true, TGI_ZIP_END_COMMENT, 2, 1, "no end record"},
        {TGI_ZIP_END_MAGIC, true, TGI_ZIP_END_DISK, 2, 1, "several volumes"},
        {TGI_ZIP_END_MAGIC, true, TGI_ZIP_END_OFFSET, 4, 1u << 30,
         "directory lies outside"},
        {TGI_ZIP_END_MAGIC, true, TGI_ZIP_END_SIZE, 4, UINT32_MAX,
         "directory lies outside"},
        {TGI_ZIP_END_MAGIC, true, TGI_ZIP_END_COUNT, 2, 3,
         "directory lies outside"},
        {TGI_ZIP_END_MAGIC, true, TGI_ZIP_END_COUNT, 2, 1, "more members"},
        {TGI_ZIP_END_MAGIC, true, TGI_ZIP_END_COUNT, 2, 999,
         "directory lies outside"},
        {TGI_ZIP_CENTRAL_MAGIC, false, 0, 1, 0, "bad directory"},
        {TGI_ZIP_CENTRAL_MAGIC, false, TGI_ZIP_CENTRAL_NAME, 2, 999,
         "bad directory"},
        {TGI_ZIP_CENTRAL_MAGIC, false, TGI_ZIP_CENTRAL_OFFSET, 4, 1u << 30,
         "'a.npy' lies outside"},
        {TGI_ZIP_CENTRAL_MAGIC, false, TGI_ZIP_CENTRAL_OFFSET, 4, 1,
         "'a.npy' lies outside of it, or is not where"},
        {TGI_ZIP_CENTRAL_MAGIC, false, TGI_ZIP_CENTRAL_OFFSET, 4, UINT32_MAX,
         "'a.npy' lies outside"},
        {TGI_ZIP_CENTRAL_MAGIC, true, TGI_ZIP_CENTRAL_OFFSET, 4, 0,
         "'b.npy' does not agree"},
        {TGI_ZIP_CENTRAL_MAGIC, false, TGI_ZIP_CENTRAL_STORED, 4, 1u << 20,
         "'a.npy' lies outside"},
        {TGI_ZIP_CENTRAL_MAGIC, false, TGI_ZIP_CENTRAL_SIZE, 4, 1,
         "'a.npy' does not agree"},
        {TGI_ZIP_CENTRAL_MAGIC, false, TGI_ZIP_CENTRAL_CRC, 4, 1,
         "'a.npy' does not agree"},
        {TGI_ZIP_CENTRAL_MAGIC, false, TGI_ZIP_CENTRAL_METHOD, 2, 8,
         "'a.npy' does not agree"},
        {TGI_ZIP_LOCAL_MAGIC, false, TGI_ZIP_LOCAL_NAME, 2, 4, "not agree"},
        {TGI_ZIP_LOCAL_MAGIC, false, TGI_ZIP_LOCAL_EXTRA, 2, 60000,
         "lies outside"},
        {TGI_ZIP_LOCAL_MAGIC, false, TGI_ZIP_LOCAL_BYTES, 1, 'c',
         "'a.npy' does not agree"},
        {TGI_ZIP_LOCAL_MAGIC, true, TGI_ZIP_LOCAL_METHOD, 2, 12,
         "'b.npy' does not agree"},
    };
    file_session f;
    files_begin(&f);
    size_t n;
    unsigned char *good = zip_bytes(&f, &n), *bad = malloc(n);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        memcpy(bad, good, n);
        memcpy(find_record(bad, n, cases[i].magic, cases[i].is_last) +
                   cases[i].at,
               &cases[i].value, cases[i].bytes);
        tg_archive *a =
            tg_archive_load(f.ctx, file_write(&f, "bad", bad, n));
        cr_assert_null(a, "case %zu was read", i);
        check_record(TG_ERROR_FILE, "tg_archive_load: ", "bad: ",
                     cases[i].says);
    }
    free(good);
    free(bad);
    files_end(&f, 2);
}

/* Changes the same fields of both records of the last member. */
static void change_both(unsigned char *bytes, size_t n, int local, int central,
                        uint64_t value, size_t value_bytes)
{
    memcpy(find_record(bytes, n, TGI_ZIP_LOCAL_MAGIC, true) + local, &value,
           value_bytes);
    memcpy(find_record(bytes, n, TGI_ZIP_CENTRAL_MAGIC, true) + central,
           &value, value_bytes);
}

/* The data of the last member, 144 bytes, ends where the directory begins. */
Test(archive, damaged_zip_members_may_not_reach_into_the_directory)
{
    file_session f;
    files_begin(&f);
    size_t n;
    unsigned char *bytes = zip_bytes(&f, &n);
    change_both(bytes, n, TGI_ZIP_LOCAL_STORED, TGI_ZIP_CENTRAL_STORED, 145,
                4);
    change_both(bytes, n, TGI_ZIP_LOCAL_SIZE, TGI_ZIP_CENTRAL_SIZE, 145, 4);
    cr_assert_null(
        tg_archive_load(f.ctx, file_write(&f, "x.npz", bytes, n)));
    check_record(TG_ERROR_FILE, "'b.npy' lies outside");
    free(bytes);
    files_end(&f, 1);
}

Test(archive, damaged_members_fail_when_they_are_asked_for)
{
    static const struct {
        int local, central;
        uint64_t value;
        tg_status status;
        const char *says;
    } cases[] = {
        {TGI_ZIP_LOCAL_METHOD, TGI_ZIP_CENTRAL_METHOD, 12,
         TG_ERROR_UNSUPPORTED, "method 12"},
        {TGI_ZIP_LOCAL_FLAGS, TGI_ZIP_CENTRAL_FLAGS, TGI_ZIP_ENCRYPTED,
         TG_ERROR_UNSUPPORTED, "encrypted"},
        {TGI_ZIP_LOCAL_SIZE, TGI_ZIP_CENTRAL_SIZE, 140, TG_ERROR_FILE,
         "144 bytes cannot hold 140"},
        {TGI_ZIP_LOCAL_CRC, TGI_ZIP_CENTRAL_CRC, 5, TG_ERROR_FILE,
         "checksum is wrong"},
    };
    file_session f;
    files_begin(&f);
    size_t n;
    unsigned char *good = zip_bytes(&f, &n), *bad = malloc(n);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        memcpy(bad, good, n);
        change_both(bad, n, cases[i].local, cases[i].central, cases[i].value,
                    2);
        tg_archive *a =
            tg_archive_load(f.ctx, file_write(&f, "bad", bad, n));
        cr_assert_not_null(a, "%s", tg_error(f.ctx));
        cr_assert_not_null(tg_archive_get(a, "a"));
        cr_assert_null(tg_archive_get(a, "b"), "case %zu", i);
        check_record(cases[i].status, "tg_archive_get: ", "bad: 'b': ",
                     cases[i].says);
        check_fails(tg_archive_save(a, file_path(&f, "other.npz")),
                    cases[i].status, cases[i].says);
        tg_archive_release(a);
    }
    free(good);
    free(bad);
    files_end(&f, 2);
}

/* A small member cannot claim memory that it cannot fill. */
Test(archive, sizes_that_deflate_cannot_reach_are_refused)
{
    unsigned char bad[sizeof(compressed_npz)];
    file_session f;
    files_begin(&f);
    memcpy(bad, compressed_npz, sizeof(bad));
    /* NumPy writes 64-bit fields in the local records. */
    const uint64_t huge = 1000000;
    unsigned char *local =
        find_record(bad, sizeof(bad), TGI_ZIP_LOCAL_MAGIC, true);
    memcpy(local + TGI_ZIP_LOCAL_BYTES + 5 + TGI_ZIP_EXTRA_BYTES, &huge, 8);
    memcpy(find_record(bad, sizeof(bad), TGI_ZIP_CENTRAL_MAGIC, true) +
               TGI_ZIP_CENTRAL_SIZE,
           &huge, 4);
    tg_archive *a =
        tg_archive_load(f.ctx, file_write(&f, "x.npz", bad, sizeof(bad)));
    cr_assert_not_null(a, "%s", tg_error(f.ctx));
    cr_assert_null(tg_archive_get(a, "b"));
    check_record(TG_ERROR_FILE, "70 bytes cannot hold 1000000");
    tg_archive_release(a);
    files_end(&f, 1);
}

Test(archive, names_twice_in_a_zip_file_are_refused)
{
    file_session f;
    files_begin(&f);
    const char *path = file_path(&f, "x.npz");
    tgi_atomic_file file;
    cr_assert_eq(tgi_atomic_file_begin(&file, path), 0);
    tgi_zip_writer writer = {.file = &file, .zip64_from = TGI_ZIP64_FROM};
    cr_assert_eq(tgi_zip_write(&writer, "a.npy", "x", 1, "", 0), 0);
    cr_assert_eq(tgi_zip_write(&writer, "a.npy", "y", 1, "", 0), 0);
    cr_assert_eq(tgi_zip_finish(&writer), 0);
    cr_assert_eq(tgi_atomic_file_end(&file, 0), 0);
    tgi_strbuf_deinit(&writer.directory);
    cr_assert_null(tg_archive_load(f.ctx, path));
    check_record(TG_ERROR_FILE, "there are two tensors 'a'");
    files_end(&f, 1);
}
