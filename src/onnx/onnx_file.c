/* SPDX-License-Identifier: MIT */
/*
 * onnx_file.c - reading files. Paths of external data come from the model and
 * are untrusted: they are opened one component at a time, below the folder of
 * the model, and links are not followed.
 */
#include "onnx_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_SITE ((tg_site){NULL, 0})

static tg_status cannot(const char *action, const char *path, tg_site site)
{
    char buf[128];
    const int reason = errno;
    return tg_error_set(NULL, TG_ERROR_FILE, site, "cannot %s %.600s: %s",
                        action, path, strerror_r(reason, buf, sizeof(buf)));
}

static tg_status read_at(int file, const char *path, tg_site site,
                         size_t offset, size_t bytes, unsigned char *data)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t n =
            pread(file, data + done, bytes - done, (off_t)(offset + done));
        if (n > 0)
            done += (size_t)n;
        else if (n == 0)
            return tg_error_set(NULL, TG_ERROR_FILE, site,
                                "%.600s has become shorter", path);
        else if (errno != EINTR)
            return cannot("read", path, site);
    }
    return TG_OK;
}

/* The size of an open file, which is closed on failure. */
static tg_status regular_size(int file, const char *path, tg_site site,
                              size_t *out_bytes)
{
    struct stat about;
    tg_status status = TG_OK;
    if (fstat(file, &about))
        status = cannot("read", path, site);
    else if (!S_ISREG(about.st_mode))
        status = tg_error_set(NULL, TG_ERROR_FILE, site,
                              "%.600s is not a regular file", path);
    if (status)
        close(file);
    else
        *out_bytes = (size_t)about.st_size;
    return status;
}

/* -- Sources --------------------------------------------------------------- */

enum { WINDOW_BYTES = 1 << 16 };

tgi_onnx_source tgi_onnx_source_memory(const char *path, const void *data,
                                       size_t bytes)
{
    return (tgi_onnx_source){.path = path,
                             .window = data,
                             .to = bytes,
                             .bytes = bytes,
                             .file = -1};
}

tg_status tgi_onnx_source_open(tgi_onnx_source *source, const char *path)
{
    size_t bytes;
    *source = tgi_onnx_source_memory(path, NULL, 0);
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return cannot("open", path, NO_SITE);
    const tg_status status = regular_size(file, path, NO_SITE, &bytes);
    if (status)
        return status;
    source->file = file;
    source->bytes = bytes;
    source->buffer = malloc(WINDOW_BYTES);
    source->window = source->buffer;
    return source->buffer ? TG_OK
                          : tg_error_set(NULL, TG_ERROR_OUT_OF_MEMORY, NO_SITE,
                                         "out of memory");
}

void tgi_onnx_source_close(tgi_onnx_source *source)
{
    if (source->file >= 0)
        close(source->file);
    free(source->buffer);
    source->file = -1;
    source->buffer = NULL;
}

tg_status tgi_onnx_source_read(tgi_onnx_source *source, size_t offset,
                               size_t bytes, void *out_data)
{
    if (source->file >= 0)
        return read_at(source->file, source->path, NO_SITE, offset, bytes,
                       out_data);
    if (bytes)
        memcpy(out_data, source->window + offset, bytes);
    return TG_OK;
}

tg_status tgi_onnx_source_move(tgi_onnx_source *source, size_t offset)
{
    const size_t left = source->bytes - offset;
    const size_t n = left < WINDOW_BYTES ? left : WINDOW_BYTES;
    if (source->file < 0)
        return TG_OK;
    source->from = offset;
    source->to = offset + n;
    return read_at(source->file, source->path, NO_SITE, offset, n,
                   source->buffer);
}

/* -- External data --------------------------------------------------------- */

/* Opens a path below a folder, following no links; -1 with errno set. */
static int open_below(const char *folder, const char *path)
{
    char part[256];
    int at = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    while (at >= 0) {
        const size_t n = strcspn(path, "/");
        const bool is_last = path[n] == 0;
        if (n >= sizeof(part) || n == 0 || (n == 2 && !memcmp(path, "..", 2))) {
            close(at);
            errno = EINVAL;
            return -1;
        }
        memcpy(part, path, n);
        part[n] = 0;
        const int next =
            openat(at, part,
                   O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
                       (is_last ? 0 : O_DIRECTORY));
        const int reason = errno;
        close(at);
        errno = reason;
        if (is_last)
            return next;
        at = next;
        path += n + 1;
    }
    return at;
}

/* A number from 0 on, in decimal. */
static bool parse_size(const char *text, size_t *out)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    errno = 0;
    const uintmax_t number = strtoumax(text, &end, 10);
    *out = (size_t)number;
    return !errno && !*end && number < SIZE_MAX / 2;
}

tg_status tgi_onnx_file_external(tgi_onnx_arena *arena,
                                 const Onnx__TensorProto *tensor,
                                 const char *folder, tg_site site,
                                 size_t bytes, const void **out_data)
{
    const char *location = NULL, *offset_text = "0", *length_text = NULL;
    const char *name = tensor->name ? tensor->name : "";
    size_t offset, length = 0, size;
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const Onnx__StringStringEntryProto *e = tensor->external_data[i];
        if (!e->key || !e->value)
            continue;
        if (!strcmp(e->key, "location"))
            location = e->value;
        else if (!strcmp(e->key, "offset"))
            offset_text = e->value;
        else if (!strcmp(e->key, "length"))
            length_text = e->value;
    }
    if (!location || !parse_size(offset_text, &offset) ||
        (length_text && !parse_size(length_text, &length)))
        return tg_error_set(NULL, TG_ERROR_FILE, site,
                            "tensor '%s': the place of its external data is "
                            "invalid",
                            name);
    if (!folder)
        return tg_error_set(NULL, TG_ERROR_UNSUPPORTED, site,
                            "tensor '%s' has external data in %.300s, but the "
                            "model was not loaded from a file",
                            name, location);
    const int file = open_below(folder, location);
    if (file < 0) {
        char buf[128];
        return tg_error_set(
            NULL, TG_ERROR_FILE, site,
            "tensor '%s': cannot open external data %.300s: %s", name, location,
            errno == ELOOP    ? "it is a symbolic link"
            : errno == EINVAL ? "not a path below the model"
                              : strerror_r(errno, buf, sizeof(buf)));
    }
    tg_status status = regular_size(file, location, site, &size);
    if (status)
        return status;
    if (offset > size || bytes > size - offset ||
        (length_text && length != bytes)) {
        close(file);
        return tg_error_set(NULL, TG_ERROR_FILE, site,
                            "tensor '%s': %zu bytes from %zu on are not the "
                            "external data in %.300s, which has %zu",
                            name, bytes, offset, location, size);
    }
    unsigned char *data = tgi_onnx_alloc_bytes(arena, bytes + 1);
    status = data ? read_at(file, location, site, offset, bytes, data)
                  : TG_ERROR_OUT_OF_MEMORY;
    close(file);
    *out_data = data;
    return status;
}
