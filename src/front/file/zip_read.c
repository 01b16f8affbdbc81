/* SPDX-License-Identifier: MIT */
/*
 * zip_read.c - the directory of a ZIP file, and the contents of its members.
 * The directory is what counts; the record before each member must agree with
 * it. Members may not overlap: no byte of the file is inflated twice.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#ifdef TGJIT_HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>
#endif

#include "front/file/crc32.h"
#include "front/file/file_error.h"
#include "front/file/little_endian.h"
#include "front/file/zip.h"
#include "front/file/zip_format.h"

/* Deflate cannot do better: a block of 258 bytes takes two bits. */
enum { MAX_DEFLATE_RATIO = 1032 };

/* -- Finding the directory ------------------------------------------------- */

typedef struct directory {
    uint64_t count, begin, bytes;
    size_t end; /* of what may lie before it, and of itself */
} directory;

static uint64_t get(const unsigned char *record, int at, size_t bytes)
{
    return tgi_le_get(record + at, bytes);
}

/* The last record, before a comment that ends with the file; or NULL. */
static const unsigned char *find_end(const tgi_file_bytes *file)
{
    if (file->n < TGI_ZIP_END_BYTES)
        return NULL;
    const size_t last = file->n - TGI_ZIP_END_BYTES;
    for (size_t comment = 0; comment <= last && comment <= UINT16_MAX;
         comment++) {
        const unsigned char *end = file->data + last - comment;
        if (get(end, 0, 4) == TGI_ZIP_END_MAGIC &&
            get(end, TGI_ZIP_END_COMMENT, 2) == comment)
            return end;
    }
    return NULL;
}

/* The record of 64 bits before the end, if there is one. */
static tg_status read_end64(const tgi_file_bytes *file, directory *d)
{
    if (d->end < TGI_ZIP_LOCATOR_BYTES)
        return TG_OK;
    const size_t locator_at = d->end - TGI_ZIP_LOCATOR_BYTES;
    const unsigned char *locator = file->data + locator_at;
    if (get(locator, 0, 4) != TGI_ZIP_LOCATOR_MAGIC)
        return TG_OK;
    const uint64_t at = get(locator, TGI_ZIP_LOCATOR_OFFSET, 8);
    if (locator_at < TGI_ZIP_END64_BYTES ||
        at > locator_at - TGI_ZIP_END64_BYTES)
        TGI_FILE_FAIL(file->path, "damaged ZIP file: its 64-bit end record "
                                  "lies outside of the file");
    const unsigned char *end = file->data + at;
    if (get(end, 0, 4) != TGI_ZIP_END64_MAGIC ||
        get(locator, TGI_ZIP_LOCATOR_DISK, 4) != 0 ||
        get(end, TGI_ZIP_END64_DISK, 4) != 0 ||
        get(end, TGI_ZIP_END64_DIRECTORY_DISK, 4) != 0)
        TGI_FILE_FAIL(file->path, "damaged ZIP file: bad 64-bit end record");
    *d = (directory){.count = get(end, TGI_ZIP_END64_COUNT, 8),
                     .begin = get(end, TGI_ZIP_END64_OFFSET, 8),
                     .bytes = get(end, TGI_ZIP_END64_SIZE, 8),
                     .end = (size_t)at};
    return TG_OK;
}

static tg_status find_directory(const tgi_file_bytes *file, directory *out)
{
    const unsigned char *end = find_end(file);
    if (!end)
        TGI_FILE_FAIL(file->path, "damaged ZIP file: it has no end record, or "
                                  "was cut short");
    if (get(end, TGI_ZIP_END_DISK, 2) != 0 ||
        get(end, TGI_ZIP_END_DIRECTORY_DISK, 2) != 0)
        TGI_FILE_FAIL(file->path, "ZIP files of several volumes are not "
                                  "supported");
    *out = (directory){.count = get(end, TGI_ZIP_END_COUNT, 2),
                       .begin = get(end, TGI_ZIP_END_OFFSET, 4),
                       .bytes = get(end, TGI_ZIP_END_SIZE, 4),
                       .end = (size_t)(end - file->data)};
    TGI_TRY(read_end64(file, out));
    if (out->begin > out->end || out->bytes > out->end - out->begin ||
        out->count > out->bytes / TGI_ZIP_CENTRAL_BYTES)
        TGI_FILE_FAIL(file->path, "damaged ZIP file: its directory lies "
                                  "outside of the file");
    return TG_OK;
}

/* -- Members --------------------------------------------------------------- */

/* Replaces fields that are all ones by those of the 64-bit extra field, which
   has only these, in this order. False if it is too short. */
static bool read_extra64(const unsigned char *extra, size_t n,
                         uint64_t *const *fields, size_t n_fields)
{
    while (n >= TGI_ZIP_EXTRA_BYTES) {
        const size_t length = (size_t)tgi_le_get(extra + 2, 2);
        const bool is_wanted = tgi_le_get(extra, 2) == TGI_ZIP64_EXTRA;
        extra += TGI_ZIP_EXTRA_BYTES;
        n -= TGI_ZIP_EXTRA_BYTES;
        if (length > n)
            return false;
        size_t used = 0;
        for (size_t i = 0; is_wanted && i < n_fields; i++) {
            if (*fields[i] != UINT32_MAX)
                continue;
            if (length - used < 8)
                return false;
            *fields[i] = tgi_le_get(extra + used, 8);
            used += 8;
        }
        if (is_wanted)
            return true;
        extra += length;
        n -= length;
    }
    return true;
}

/* The record before a member agrees with the directory; finds its data. */
static tg_status read_local(const tgi_file_bytes *file, uint64_t limit,
                            uint64_t begin, uint64_t stored,
                            tgi_zip_member *member)
{
    const tgi_quoted name = tgi_quote_bytes(member->name, member->name_bytes);
    if (limit < TGI_ZIP_LOCAL_BYTES || begin > limit - TGI_ZIP_LOCAL_BYTES)
        TGI_FILE_FAIL(file->path, "damaged ZIP file: %s lies outside of it",
                      name.text);
    const unsigned char *local = file->data + begin;
    const uint64_t name_bytes = get(local, TGI_ZIP_LOCAL_NAME, 2);
    const uint64_t at = begin + TGI_ZIP_LOCAL_BYTES + name_bytes +
                        get(local, TGI_ZIP_LOCAL_EXTRA, 2);
    if (get(local, 0, 4) != TGI_ZIP_LOCAL_MAGIC || at > limit ||
        stored > limit - at)
        TGI_FILE_FAIL(file->path, "damaged ZIP file: %s lies outside of it, or "
                                  "is not where the directory says",
                      name.text);
    uint64_t sizes[] = {get(local, TGI_ZIP_LOCAL_SIZE, 4),
                        get(local, TGI_ZIP_LOCAL_STORED, 4)};
    uint64_t *const fields[] = {&sizes[0], &sizes[1]};
    const unsigned char *extra = local + TGI_ZIP_LOCAL_BYTES + name_bytes;
    const bool has_sizes =
        !(get(local, TGI_ZIP_LOCAL_FLAGS, 2) & TGI_ZIP_DESCRIPTOR);
    if (name_bytes != member->name_bytes ||
        memcmp(local + TGI_ZIP_LOCAL_BYTES, member->name, name_bytes) != 0 ||
        get(local, TGI_ZIP_LOCAL_METHOD, 2) != member->method ||
        !read_extra64(extra, (size_t)(file->data + at - extra), fields, 2) ||
        (has_sizes && (sizes[0] != member->bytes || sizes[1] != stored ||
                       get(local, TGI_ZIP_LOCAL_CRC, 4) != member->crc)))
        TGI_FILE_FAIL(file->path, "damaged ZIP file: %s does not agree with "
                                  "the directory",
                      name.text);
    member->begin = (size_t)begin;
    member->at = (size_t)at;
    member->stored_bytes = (size_t)stored;
    return TG_OK;
}

/* Reads a record of the directory, of which n bytes are left. */
static tg_status read_member(const tgi_file_bytes *file, uint64_t limit,
                             const unsigned char *record, size_t n,
                             tgi_zip_member *out, size_t *out_bytes)
{
    if (n < TGI_ZIP_CENTRAL_BYTES || get(record, 0, 4) != TGI_ZIP_CENTRAL_MAGIC)
        TGI_FILE_FAIL(file->path, "damaged ZIP file: bad directory");
    const size_t name_bytes = (size_t)get(record, TGI_ZIP_CENTRAL_NAME, 2);
    const size_t extra_bytes = (size_t)get(record, TGI_ZIP_CENTRAL_EXTRA, 2);
    const size_t bytes = TGI_ZIP_CENTRAL_BYTES + name_bytes + extra_bytes +
                         (size_t)get(record, TGI_ZIP_CENTRAL_COMMENT, 2);
    uint64_t size = get(record, TGI_ZIP_CENTRAL_SIZE, 4);
    uint64_t stored = get(record, TGI_ZIP_CENTRAL_STORED, 4);
    uint64_t begin = get(record, TGI_ZIP_CENTRAL_OFFSET, 4);
    uint64_t *const fields[] = {&size, &stored, &begin};
    if (bytes > n ||
        !read_extra64(record + TGI_ZIP_CENTRAL_BYTES + name_bytes, extra_bytes,
                      fields, 3))
        TGI_FILE_FAIL(file->path, "damaged ZIP file: bad directory");
    *out = (tgi_zip_member){
        .name = (const char *)record + TGI_ZIP_CENTRAL_BYTES,
        .name_bytes = name_bytes,
        .bytes = size,
        .crc = (uint32_t)get(record, TGI_ZIP_CENTRAL_CRC, 4),
        .method = (uint16_t)get(record, TGI_ZIP_CENTRAL_METHOD, 2),
        .flags = (uint16_t)get(record, TGI_ZIP_CENTRAL_FLAGS, 2)};
    *out_bytes = bytes;
    return read_local(file, limit, begin, stored, out);
}

static int compare_begins(const void *a, const void *b)
{
    const tgi_zip_member *const *x = a, *const *y = b;
    return ((*x)->begin > (*y)->begin) - ((*x)->begin < (*y)->begin);
}

static tg_status check_overlap(const tgi_file_bytes *file,
                               const tgi_zip_members *members)
{
    const tgi_zip_member **sorted =
        tgi_alloc(members->n * sizeof(*sorted) + 1);
    tg_status status = sorted ? TG_OK : tgi_error_memory();
    for (size_t i = 0; i < members->n && !status; i++)
        sorted[i] = &members->data[i];
    if (!status)
        qsort(sorted, members->n, sizeof(*sorted), compare_begins);
    for (size_t i = 1; i < members->n && !status; i++)
        if (sorted[i - 1]->at + sorted[i - 1]->stored_bytes >
            sorted[i]->begin)
            status = tgi_file_error(
                TG_ERROR_FILE, file->path,
                "damaged ZIP file: %s overlaps another member",
                tgi_quote_bytes(sorted[i]->name, sorted[i]->name_bytes).text);
    tgi_free(sorted);
    return status;
}

tg_status tgi_zip_read(const tgi_file_bytes *bytes,
                       tgi_zip_members *out_members)
{
    directory d = {0};
    TGI_TRY(find_directory(bytes, &d));
    const unsigned char *record = bytes->data + d.begin;
    size_t left = (size_t)d.bytes;
    if (!tgi_vec_reserve(out_members, (size_t)d.count))
        return tgi_error_memory();
    for (uint64_t i = 0; i < d.count; i++) {
        tgi_zip_member member;
        size_t n = 0;
        TGI_TRY(read_member(bytes, d.begin, record, left, &member, &n));
        out_members->data[out_members->n++] = member;
        record += n;
        left -= n;
    }
    if (left > 0)
        TGI_FILE_FAIL(bytes->path, "damaged ZIP file: its directory has more "
                                   "members than it says");
    return check_overlap(bytes, out_members);
}

/* -- Contents -------------------------------------------------------------- */

#ifdef TGJIT_HAVE_ZLIB

static voidpf inflate_alloc(voidpf user, uInt items, uInt bytes)
{
    (void)user;
    return tgi_alloc((size_t)items * bytes);
}

static void inflate_free(voidpf user, voidpf memory)
{
    (void)user;
    tgi_free(memory);
}

/* zlib counts in 32 bits. */
static uInt at_most(size_t n)
{
    return n < UINT32_MAX ? (uInt)n : UINT32_MAX;
}

/* Z_STREAM_END if all of `from` gives all of `to`. */
static int run_inflate(z_stream *z, const unsigned char *from, size_t n_from,
                       unsigned char *to, size_t n_to)
{
    int result = Z_OK;
    while (result == Z_OK) {
        const uInt in = at_most(n_from), out = at_most(n_to);
        z->next_in = from;
        z->avail_in = in;
        z->next_out = to;
        z->avail_out = out;
        result = inflate(z, Z_NO_FLUSH);
        from += in - z->avail_in;
        n_from -= in - z->avail_in;
        to += out - z->avail_out;
        n_to -= out - z->avail_out;
        if (result == Z_OK && z->avail_in == in && z->avail_out == out)
            break;
    }
    return result == Z_STREAM_END && (n_from > 0 || n_to > 0) ? Z_DATA_ERROR
                                                              : result;
}

static tg_status inflate_member(const tgi_zip_member *member,
                                const unsigned char *from, unsigned char *to,
                                const char *where)
{
    z_stream z = {.zalloc = inflate_alloc, .zfree = inflate_free};
    enum { RAW_WINDOW = -15 };
    if (inflateInit2(&z, RAW_WINDOW) != Z_OK)
        return tgi_error_memory();
    const int result = run_inflate(&z, from, member->stored_bytes, to,
                                   (size_t)member->bytes);
    inflateEnd(&z);
    if (result == Z_MEM_ERROR)
        return tgi_error_memory();
    if (result != Z_STREAM_END)
        TGI_FILE_FAIL(where, "damaged: its compressed data does not give %llu "
                             "bytes",
                      (unsigned long long)member->bytes);
    return TG_OK;
}

#else

static tg_status inflate_member(const tgi_zip_member *member,
                                const unsigned char *from, unsigned char *to,
                                const char *where)
{
    (void)member, (void)from, (void)to;
    return tgi_file_error(TG_ERROR_UNSUPPORTED, where,
                          "is compressed, and the library was built without "
                          "zlib; write the file with numpy.savez");
}

#endif

static tg_status check_method(const tgi_zip_member *member, const char *where)
{
    if (member->flags & TGI_ZIP_ENCRYPTED)
        return tgi_file_error(TG_ERROR_UNSUPPORTED, where, "is encrypted");
    if (member->method != TGI_ZIP_STORED && member->method != TGI_ZIP_DEFLATED)
        return tgi_file_error(TG_ERROR_UNSUPPORTED, where,
                              "is compressed by method %u, which is neither "
                              "stored (0) nor deflated (8)",
                              member->method);
    const uint64_t limit =
        member->method == TGI_ZIP_STORED
            ? member->stored_bytes
            : (uint64_t)member->stored_bytes * MAX_DEFLATE_RATIO;
    if (member->bytes > limit ||
        (member->method == TGI_ZIP_STORED && member->bytes != limit))
        TGI_FILE_FAIL(where, "damaged: %zu bytes cannot hold %llu",
                      member->stored_bytes, (unsigned long long)member->bytes);
    return TG_OK;
}

tg_status tgi_zip_contents(const tg_context *ctx, tgi_file_bytes *bytes,
                           const tgi_zip_member *member, const char *where,
                           tgi_file_bytes **out_bytes, size_t *out_at)
{
    tgi_file_bytes *contents = bytes;
    tg_status status = TG_OK;
    *out_bytes = NULL;
    *out_at = member->at;
    TGI_TRY(check_method(member, where));
    if (member->method == TGI_ZIP_STORED) {
        tgi_refcount_inc(&bytes->refs);
    } else {
        *out_at = 0;
        TGI_TRY(tgi_file_bytes_alloc(ctx, bytes->path, (size_t)member->bytes,
                                     &contents));
        status = inflate_member(member, bytes->data + member->at,
                                contents->data, where);
    }
    if (!status && tgi_crc32(0, contents->data + *out_at,
                             (size_t)member->bytes) != member->crc)
        status = tgi_file_error(TG_ERROR_FILE, where,
                                "damaged: its checksum is wrong");
    if (status)
        tgi_file_bytes_release(contents);
    else
        *out_bytes = contents;
    return status;
}
