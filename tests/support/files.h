/* SPDX-License-Identifier: MIT */
/*
 * files.h - for tests of files: a folder of their own, files of given bytes,
 * and mutants of them: cut short at every byte, or with one byte changed.
 */
#ifndef TGI_TEST_FILES_H
#define TGI_TEST_FILES_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/api.h"
#include "support/file_samples.h"
#include "support/folders.h"

/* A session with a folder. */
typedef struct file_session {
    session s;
    tg_context *ctx;
    char folder[64];
} file_session;

static inline void files_begin(file_session *f)
{
    session_begin_with(&f->s, (tg_context_options){0});
    f->ctx = f->s.ctx;
    snprintf(f->folder, sizeof(f->folder), "/tmp/tgjit-files-XXXXXX");
    cr_assert_not_null(mkdtemp(f->folder));
}

/* `n_files` files are in the folder: no temporary one is left. */
static inline void files_end(file_session *f, int n_files)
{
    const int n = remove_folder(f->folder);
    cr_assert_eq(n, n_files, "%d files are left, not %d", n, n_files);
    session_end(&f->s);
}

/* The path of a file; good until the call after the next three. */
static inline const char *file_path(const file_session *f, const char *name)
{
    static char paths[4][128];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", f->folder, name);
    return path;
}

static inline const char *file_write(const file_session *f, const char *name,
                                     const void *data, size_t n)
{
    const char *path = file_path(f, name);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, n, file), n);
    cr_assert_eq(fclose(file), 0);
    return path;
}

/* Text that may have a NUL in it. */
#define FILE_TEXT(f, name, text) file_write(f, name, text, sizeof(text) - 1)

/* The bytes of a file; free them. */
static inline unsigned char *file_read(const char *path, size_t *out_n)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    *out_n = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*out_n + 1);
    cr_assert_eq(fread(bytes, 1, *out_n, file), *out_n);
    fclose(file);
    return bytes;
}

/* Whether a file can be used; releases what it was given. */
typedef bool file_reader(tg_context *ctx, const char *path);

/* All of an archive can be read. */
static inline bool reads_archive(tg_context *ctx, const char *path)
{
    tg_archive *a = tg_archive_load(ctx, path);
    bool is_good = a != NULL;
    for (size_t i = 0; is_good && i < tg_archive_count(a); i++)
        is_good = tg_archive_get(a, tg_archive_name(a, i)) != NULL;
    tg_archive_release(a);
    return is_good;
}

/* No beginning of the file is taken for the whole. */
static inline void check_truncations(const file_session *f, const char *path,
                                     file_reader *reads)
{
    size_t n;
    unsigned char *bytes = file_read(path, &n);
    cr_assert(reads(f->ctx, path), "%s", tg_error(NULL));
    for (size_t cut = 0; cut < n; cut++) {
        const char *other = file_write(f, "cut", bytes, cut);
        tg_error_clear();
        cr_assert_not(reads(f->ctx, other), "%zu of %zu bytes were read", cut,
                      n);
        cr_assert_neq(tg_error_last()->status, TG_OK);
    }
    unlink(file_path(f, "cut"));
    free(bytes);
}

static inline bool same_bytes(const char *path, const void *want, size_t n)
{
    size_t n_is;
    unsigned char *is = file_read(path, &n_is);
    const bool is_same = n_is == n && memcmp(is, want, n) == 0;
    free(is);
    return is_same;
}

#endif /* TGI_TEST_FILES_H */
