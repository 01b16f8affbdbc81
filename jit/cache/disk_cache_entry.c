/* SPDX-License-Identifier: MIT */
/*
 * disk_cache_entry.c - see disk_cache_entry.h.
 *
 * A file is written under a temporary name and then renamed, so that readers
 * never see an incomplete one, even if the writer dies. It is not flushed to
 * disk, which would cost milliseconds: after a system crash it may be torn or
 * empty, which the checksum detects.
 */
#include "cache/disk_cache_entry.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/temporary_file.h"

/* In native byte order: entries are not portable between machines. */
typedef struct header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    unsigned char checksum[16]; /* of everything after it */
    uint64_t key_bytes, value_bytes;
} header;

static const char magic[8] = {'t', 'g', 'j', 'i', 't', '\r', '\n', '\x1a'};
enum { VERSION = 1 };

#define CHECKED_FROM offsetof(header, key_bytes)
#define MAX_FILE_BYTES ((uint64_t)1 << 30) /* a larger file is not ours */

_Static_assert(sizeof(header) == 48,
               "no padding, so that every bit is checked");

/* -- Names ----------------------------------------------------------------- */

#define SUFFIX ".tgjit"
enum { HASH_DIGITS = 32 };

void tgi_cache_entry_name(tgi_byte_span key,
                          char out_name[TGI_CACHE_ENTRY_NAME_BYTES])
{
    const tgi_hash128 hash = tgi_hash_128(key.data, key.n);
    for (size_t i = 0; i < sizeof(hash.bytes); i++)
        snprintf(out_name + 2 * i, 3, "%02x", hash.bytes[i]);
    memcpy(out_name + HASH_DIGITS, SUFFIX, sizeof(SUFFIX));
}

bool tgi_cache_entry_is_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == HASH_DIGITS &&
           strcmp(name + HASH_DIGITS, SUFFIX) == 0;
}

bool tgi_cache_entry_is_temporary(const char *name, pid_t *out_writer)
{
    long writer = 0;
    unsigned long number;
    int n = 0;
    if (sscanf(name, TGI_TEMPORARY_FORMAT "%n", &writer, &number, &n) != 2 ||
        name[n] || writer <= 0 || writer != (pid_t)writer)
        return false;
    *out_writer = (pid_t)writer;
    return true;
}

/* -- Reading --------------------------------------------------------------- */

/* Reads up to n bytes at an offset; the number of bytes read, or -1. */
static ssize_t read_at(int fd, void *to, size_t n, size_t offset)
{
    size_t done = 0;
    while (done < n) {
        const ssize_t got =
            pread(fd, (char *)to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* O_NONBLOCK: does not block on a FIFO. Sets errno if it returns -1. */
static int open_entry(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static tgi_cache_entry_state check_file(const struct stat *s)
{
    if (!S_ISREG(s->st_mode) || s->st_uid != geteuid() ||
        (s->st_mode & (S_IWGRP | S_IWOTH)))
        return TGI_CACHE_ENTRY_UNTRUSTED;
    if (s->st_size < 0 || (uint64_t)s->st_size > MAX_FILE_BYTES)
        return TGI_CACHE_ENTRY_DAMAGED;
    return TGI_CACHE_ENTRY_VALID;
}

/* Checks the header, of which n bytes were read, of a file of `size` bytes. */
static tgi_cache_entry_state check_header(const header *h, size_t n,
                                          size_t size)
{
    if (n < offsetof(header, header_bytes) ||
        memcmp(h->magic, magic, sizeof(magic)) != 0)
        return TGI_CACHE_ENTRY_DAMAGED;
    if (h->version != VERSION)
        return TGI_CACHE_ENTRY_OTHER_VERSION;
    if (n < sizeof(*h) || size < sizeof(*h) || h->header_bytes != sizeof(*h) ||
        h->key_bytes > size - sizeof(*h) ||
        h->value_bytes != size - sizeof(*h) - h->key_bytes)
        return TGI_CACHE_ENTRY_DAMAGED;
    return TGI_CACHE_ENTRY_VALID;
}

/* Reads a complete file of `size` bytes and checks it. */
static tgi_cache_entry_state read_file(int fd, size_t size,
                                       unsigned char **out_file)
{
    header h;
    ssize_t n = read_at(fd, &h, sizeof(h), 0);
    if (n < 0)
        return TGI_CACHE_ENTRY_IO_ERROR;
    tgi_cache_entry_state state = check_header(&h, (size_t)n, size);
    if (state != TGI_CACHE_ENTRY_VALID)
        return state;

    unsigned char *file = tgi_alloc(size);
    if (!file) {
        errno = ENOMEM;
        return TGI_CACHE_ENTRY_IO_ERROR;
    }
    n = read_at(fd, file, size, 0);
    if (n < 0) {
        state = TGI_CACHE_ENTRY_IO_ERROR;
    } else if ((size_t)n < size || memcmp(file, &h, sizeof(h)) != 0) {
        state = TGI_CACHE_ENTRY_DAMAGED; /* it has changed meanwhile */
    } else {
        const tgi_hash128 sum =
            tgi_hash_128(file + CHECKED_FROM, size - CHECKED_FROM);
        if (memcmp(sum.bytes, h.checksum, sizeof(h.checksum)) != 0)
            state = TGI_CACHE_ENTRY_DAMAGED;
    }
    if (state == TGI_CACHE_ENTRY_VALID)
        *out_file = file;
    else
        tgi_free(file);
    return state;
}

tgi_cache_entry_state tgi_cache_entry_read(int dir, const char *name,
                                           tgi_cache_entry *out_entry)
{
    *out_entry = (tgi_cache_entry){0};
    const int fd = open_entry(dir, name);
    if (fd < 0)
        return errno == ENOENT  ? TGI_CACHE_ENTRY_MISSING
               : errno == ELOOP ? TGI_CACHE_ENTRY_UNTRUSTED
                                : TGI_CACHE_ENTRY_IO_ERROR;
    struct stat s;
    tgi_cache_entry_state state = TGI_CACHE_ENTRY_IO_ERROR;
    if (fstat(fd, &s) == 0)
        state = check_file(&s);
    if (state == TGI_CACHE_ENTRY_VALID)
        state = read_file(fd, (size_t)s.st_size, &out_entry->file);
    const int reason = errno;
    close(fd);
    errno = reason;
    if (state != TGI_CACHE_ENTRY_VALID)
        return state;

    header h;
    memcpy(&h, out_entry->file, sizeof(h));
    unsigned char *key = out_entry->file + sizeof(h);
    out_entry->key = (tgi_byte_span){key, h.key_bytes};
    out_entry->value = (tgi_byte_span){key + h.key_bytes, h.value_bytes};
    out_entry->last_use = s.st_mtim.tv_sec;
    return TGI_CACHE_ENTRY_VALID;
}

void tgi_cache_entry_describe(int dir, const char *name, char *buf, size_t n)
{
    assert(n > 0);
    header h;
    size_t length = 0;
    const int fd = open_entry(dir, name);
    if (fd >= 0 && read_at(fd, &h, sizeof(h), 0) == sizeof(h)) {
        const ssize_t got = read_at(fd, buf, n - 1, sizeof(h));
        if (got > 0 && memcmp(h.magic, magic, sizeof(magic)) == 0)
            length = (size_t)got < h.key_bytes ? (size_t)got : h.key_bytes;
    }
    if (fd >= 0)
        close(fd);
    buf[length] = '\0';
    buf[strcspn(buf, "\n")] = '\0';
    for (; *buf; buf++)
        if (!isascii(*buf) || !isprint(*buf))
            *buf = '?';
}

/* -- Writing --------------------------------------------------------------- */

uint64_t tgi_cache_entry_bytes(tgi_byte_span key, tgi_byte_span value)
{
    return sizeof(header) + key.n + value.n;
}

static void copy_bytes(unsigned char *to, tgi_byte_span bytes)
{
    if (bytes.n)
        memcpy(to, bytes.data, bytes.n);
}

/* The contents of a file, freed by the caller; NULL when out of memory. */
static unsigned char *build_file(tgi_byte_span key, tgi_byte_span value)
{
    const size_t size = tgi_cache_entry_bytes(key, value);
    unsigned char *file = tgi_alloc(size);
    if (!file)
        return NULL;
    header h = {.version = VERSION,
                .header_bytes = sizeof(h),
                .key_bytes = key.n,
                .value_bytes = value.n};
    memcpy(h.magic, magic, sizeof(magic));
    memcpy(file, &h, sizeof(h));
    copy_bytes(file + sizeof(h), key);
    copy_bytes(file + sizeof(h) + key.n, value);
    const tgi_hash128 sum =
        tgi_hash_128(file + CHECKED_FROM, size - CHECKED_FROM);
    memcpy(file + offsetof(header, checksum), sum.bytes, sizeof(sum.bytes));
    return file;
}

int tgi_cache_entry_write(int dir, const char *name, tgi_byte_span key,
                          tgi_byte_span value)
{
    const uint64_t size = tgi_cache_entry_bytes(key, value);
    if (size > MAX_FILE_BYTES)
        return EFBIG;
    unsigned char *file = build_file(key, value);
    if (!file)
        return ENOMEM;
    char temporary[TGI_TEMPORARY_NAME_BYTES];
    int reason = tgi_temporary_write(dir, file, size, S_IRUSR | S_IWUSR,
                                     temporary);
    tgi_free(file);
    if (!reason && renameat(dir, temporary, dir, name) != 0) {
        reason = errno;
        unlinkat(dir, temporary, 0);
    }
    return reason;
}
