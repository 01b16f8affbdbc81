/* SPDX-License-Identifier: MIT */
/*
 * file_bytes.c - see file_bytes.h. Mappings are private and writable: a tensor
 * over one can be written like any other, and the file does not change.
 */
#include "front/file/file_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/live.h"
#include "front/file/file_error.h"
#include "front/object/context_object.h"

/* -- Objects --------------------------------------------------------------- */

static tgi_file_bytes *bytes_create(const char *path, tgi_bytes_kind kind,
                                    void *data, size_t n)
{
    const size_t path_bytes = strlen(path) + 1;
    tgi_file_bytes *bytes = tgi_alloc(sizeof(*bytes) + path_bytes);
    if (!bytes) {
        tgi_error_memory();
        return NULL;
    }
    tgi_refcount_init(&bytes->refs);
    bytes->kind = kind;
    bytes->data = data;
    bytes->n = n;
    memcpy(bytes->path, path, path_bytes);
    tgi_live_add(TGI_LIVE_FILE, 1);
    return bytes;
}

tgi_file_bytes *tgi_file_bytes_lend(const char *path, void *data, size_t n)
{
    return bytes_create(path, TGI_BYTES_LENT, data, n);
}

tg_status tgi_file_bytes_alloc(const tg_context *ctx, const char *path,
                               size_t n, tgi_file_bytes **out_bytes)
{
    *out_bytes = NULL;
    TGI_TRY(tgi_context_check_memory(ctx, n, path, "", TGI_NO_SITE));
    void *data = tgi_buffer_alloc(n);
    if (!data)
        return tgi_error_memory();
    *out_bytes = bytes_create(path, TGI_BYTES_OWNED, data, n);
    if (*out_bytes)
        return TG_OK;
    tgi_buffer_free(data, n);
    return TG_ERROR_OUT_OF_MEMORY;
}

void tgi_file_bytes_release(tgi_file_bytes *bytes)
{
    if (!bytes || !tgi_refcount_dec(&bytes->refs))
        return;
    if (bytes->kind == TGI_BYTES_MAPPED && bytes->n > 0)
        munmap(bytes->data, bytes->n);
    else if (bytes->kind == TGI_BYTES_OWNED)
        tgi_buffer_free(bytes->data, bytes->n);
    tgi_free(bytes);
    tgi_live_add(TGI_LIVE_FILE, -1);
}

/* -- Opening --------------------------------------------------------------- */

static tg_status map_file(int fd, const char *path, size_t n,
                          tgi_file_bytes **out_bytes)
{
    void *data = NULL;
    if (n > 0) {
        /* Pages that nobody writes need no memory set aside for them. */
        data = mmap(NULL, n, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_NORESERVE, fd, 0);
        if (data == MAP_FAILED)
            return tgi_error_file("read", path, errno);
    }
    *out_bytes = bytes_create(path, TGI_BYTES_MAPPED, data, n);
    if (*out_bytes)
        return TG_OK;
    if (n > 0)
        munmap(data, n);
    return TG_ERROR_OUT_OF_MEMORY;
}

static tg_status read_file(const tg_context *ctx, int fd, const char *path,
                           size_t n, tgi_file_bytes **out_bytes)
{
    TGI_TRY(tgi_file_bytes_alloc(ctx, path, n, out_bytes));
    unsigned char *data = (*out_bytes)->data;
    tg_status status = TG_OK;
    for (size_t done = 0; done < n && !status;) {
        const ssize_t got = read(fd, data + done, n - done);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0)
            status = tgi_file_error(TG_ERROR_FILE, path,
                                    "was cut short while it was read");
        else if (errno != EINTR)
            status = tgi_error_file("read", path, errno);
    }
    if (status) {
        tgi_file_bytes_release(*out_bytes);
        *out_bytes = NULL;
    }
    return status;
}

static tg_status open_regular(const tg_context *ctx, int fd, const char *path,
                              bool no_map, tgi_file_bytes **out_bytes)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return tgi_error_file("read", path, errno);
    if (!S_ISREG(info.st_mode))
        TGI_FILE_FAIL(path, "is not a regular file");
    if ((uintmax_t)info.st_size > PTRDIFF_MAX)
        TGI_FILE_FAIL(path, "is too large for this machine");
    const size_t n = (size_t)info.st_size;
    return no_map ? read_file(ctx, fd, path, n, out_bytes)
                  : map_file(fd, path, n, out_bytes);
}

tg_status tgi_file_bytes_open(const tg_context *ctx, const char *path,
                              bool no_map, tgi_file_bytes **out_bytes)
{
    *out_bytes = NULL;
    /* O_NONBLOCK: a pipe without a writer is refused, not waited for. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tgi_error_file("read", path, errno);
    const tg_status status = open_regular(ctx, fd, path, no_map, out_bytes);
    close(fd);
    return status;
}

/* -- Tensors --------------------------------------------------------------- */

static void release_bytes(void *object)
{
    tgi_file_bytes_release(object);
}

tg_status tgi_file_spec(tgi_spec *out_spec, const char *where, tg_dtype dtype,
                        int rank, const int64_t *dims)
{
    char who[700];
    snprintf(who, sizeof(who), "%s: %.600s", tgi_api_function(), where);
    return tgi_spec_init(out_spec, who, dtype, rank, dims);
}

tg_status tgi_check_bools(const tgi_spec *spec, const void *data,
                          const char *where, tg_status bad)
{
    const unsigned char *element = data;
    unsigned all = 0;
    if (spec->dtype != TG_BOOL)
        return TG_OK;
    for (int64_t i = 0; i < spec->count; i++)
        all |= element[i];
    if (all <= 1)
        return TG_OK;
    int64_t i = 0;
    while (element[i] <= 1)
        i++;
    return tgi_file_error(bad, where, "element %lld is %u, and not a bool",
                          (long long)i, element[i]);
}

tg_status tgi_file_bytes_tensor(tg_context *ctx, tgi_file_bytes *bytes,
                                size_t at, const tgi_spec *spec,
                                const char *where, tg_tensor **out_tensor)
{
    *out_tensor = NULL;
    unsigned char *data = spec->bytes > 0 ? bytes->data + at : NULL;
    TGI_TRY(tgi_check_bools(spec, data, where, TG_ERROR_FILE));
    if (spec->bytes > 0 &&
        (uintptr_t)data % (uintptr_t)tgi_dtype_bytes(spec->dtype) == 0) {
        *out_tensor = tgi_tensor_of_owner(ctx, spec, data,
                                          (tgi_owner){release_bytes, bytes});
        if (*out_tensor)
            tgi_refcount_inc(&bytes->refs);
    } else {
        *out_tensor = tgi_tensor_alloc(ctx, tgi_api_function(), spec);
        if (*out_tensor && spec->bytes > 0)
            memcpy((*out_tensor)->data, data, (size_t)spec->bytes);
    }
    return *out_tensor ? TG_OK : tg_error_last()->status;
}
