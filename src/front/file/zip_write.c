/* SPDX-License-Identifier: MIT */
/*
 * zip_write.c - ZIP files of stored members. Dates are the first one there is,
 * so that the same members give the same bytes.
 */
#include <errno.h>
#include <string.h>

#include "front/file/crc32.h"
#include "front/file/little_endian.h"
#include "front/file/zip.h"
#include "front/file/zip_format.h"

enum {
    ALIGN = 64,
    VERSION = 20,   /* needed to read a member; 45 if it has 64-bit fields */
    VERSION_64 = 45,
    MADE_BY = 3 << 8 | VERSION_64, /* Unix */
    FIRST_DATE = 1 << 5 | 1        /* 1 January 1980 */
};

#define FILE_MODE (0100644u << 16)

static void put(unsigned char *record, int at, uint64_t number, size_t bytes)
{
    tgi_le_put(record + at, number, bytes);
}

/* A number that fits its field, or all ones and a 64-bit field elsewhere. */
static uint64_t narrow(uint64_t number, bool is_wide)
{
    return is_wide ? UINT32_MAX : number;
}

static void add(tgi_strbuf *buf, const unsigned char *bytes, size_t n)
{
    tgi_strbuf_add_bytes(buf, (const char *)bytes, n);
}

/* The 64-bit extra field of some numbers. */
static void add_extra64(tgi_strbuf *buf, const uint64_t *numbers, size_t n)
{
    unsigned char field[TGI_ZIP_EXTRA_BYTES + 3 * 8];
    put(field, 0, TGI_ZIP64_EXTRA, 2);
    put(field, 2, n * 8, 2);
    for (size_t i = 0; i < n; i++)
        put(field, TGI_ZIP_EXTRA_BYTES + (int)i * 8, numbers[i], 8);
    add(buf, field, TGI_ZIP_EXTRA_BYTES + n * 8);
}

/* Padding, so that what follows it lies at a multiple of ALIGN. */
static void add_alignment(tgi_strbuf *buf, uint64_t at)
{
    enum { HEAD = TGI_ZIP_EXTRA_BYTES + 2 };
    unsigned char field[HEAD + ALIGN] = {0};
    const size_t padding = (size_t)(ALIGN - (at + HEAD) % ALIGN) % ALIGN;
    put(field, 0, TGI_ZIP_ALIGN_EXTRA, 2);
    put(field, 2, 2 + padding, 2);
    put(field, TGI_ZIP_EXTRA_BYTES, ALIGN, 2);
    add(buf, field, HEAD + padding);
}

typedef struct member {
    const char *name;
    size_t name_bytes;
    uint64_t begin, bytes;
    uint32_t crc;
    bool is_wide;        /* 64-bit sizes */
    bool begins_far_off; /* 64-bit offset */
} member;

/* The record before a member. */
static void add_local(tgi_strbuf *buf, const member *m)
{
    unsigned char record[TGI_ZIP_LOCAL_BYTES] = {0};
    const uint64_t sizes[] = {m->bytes, m->bytes};
    tgi_strbuf extra = {0};
    if (m->is_wide)
        add_extra64(&extra, sizes, 2);
    add_alignment(&extra, m->begin + sizeof(record) + m->name_bytes + extra.n);
    put(record, 0, TGI_ZIP_LOCAL_MAGIC, 4);
    put(record, TGI_ZIP_LOCAL_NEEDS, m->is_wide ? VERSION_64 : VERSION, 2);
    put(record, TGI_ZIP_LOCAL_FLAGS, TGI_ZIP_UTF8, 2);
    put(record, TGI_ZIP_LOCAL_METHOD, TGI_ZIP_STORED, 2);
    put(record, TGI_ZIP_LOCAL_DATE, FIRST_DATE, 2);
    put(record, TGI_ZIP_LOCAL_CRC, m->crc, 4);
    put(record, TGI_ZIP_LOCAL_STORED, narrow(m->bytes, m->is_wide), 4);
    put(record, TGI_ZIP_LOCAL_SIZE, narrow(m->bytes, m->is_wide), 4);
    put(record, TGI_ZIP_LOCAL_NAME, m->name_bytes, 2);
    put(record, TGI_ZIP_LOCAL_EXTRA, extra.n, 2);
    add(buf, record, sizeof(record));
    tgi_strbuf_add_bytes(buf, m->name, m->name_bytes);
    if (extra.failed)
        buf->failed = true;
    else
        tgi_strbuf_add_bytes(buf, extra.text, extra.n);
    tgi_strbuf_deinit(&extra);
}

/* Its record in the directory. */
static void add_central(tgi_strbuf *buf, const member *m)
{
    unsigned char record[TGI_ZIP_CENTRAL_BYTES] = {0};
    uint64_t wide[3];
    size_t n_wide = 0;
    if (m->is_wide) {
        wide[n_wide++] = m->bytes;
        wide[n_wide++] = m->bytes;
    }
    if (m->begins_far_off)
        wide[n_wide++] = m->begin;
    put(record, 0, TGI_ZIP_CENTRAL_MAGIC, 4);
    put(record, TGI_ZIP_CENTRAL_MADE_BY, MADE_BY, 2);
    put(record, TGI_ZIP_CENTRAL_NEEDS, n_wide ? VERSION_64 : VERSION, 2);
    put(record, TGI_ZIP_CENTRAL_FLAGS, TGI_ZIP_UTF8, 2);
    put(record, TGI_ZIP_CENTRAL_METHOD, TGI_ZIP_STORED, 2);
    put(record, TGI_ZIP_CENTRAL_DATE, FIRST_DATE, 2);
    put(record, TGI_ZIP_CENTRAL_CRC, m->crc, 4);
    put(record, TGI_ZIP_CENTRAL_STORED, narrow(m->bytes, m->is_wide), 4);
    put(record, TGI_ZIP_CENTRAL_SIZE, narrow(m->bytes, m->is_wide), 4);
    put(record, TGI_ZIP_CENTRAL_NAME, m->name_bytes, 2);
    put(record, TGI_ZIP_CENTRAL_EXTRA,
        n_wide ? TGI_ZIP_EXTRA_BYTES + n_wide * 8 : 0, 2);
    put(record, TGI_ZIP_CENTRAL_MODE, FILE_MODE, 4);
    put(record, TGI_ZIP_CENTRAL_OFFSET, narrow(m->begin, m->begins_far_off),
        4);
    add(buf, record, sizeof(record));
    tgi_strbuf_add_bytes(buf, m->name, m->name_bytes);
    if (n_wide)
        add_extra64(buf, wide, n_wide);
}

int tgi_zip_write(tgi_zip_writer *writer, const char *name, const void *head,
                  size_t head_bytes, const void *body, size_t body_bytes)
{
    tgi_strbuf local = {0};
    member m = {.name = name,
                .name_bytes = strlen(name),
                .begin = writer->file->bytes,
                .bytes = (uint64_t)head_bytes + body_bytes};
    m.crc = tgi_crc32(tgi_crc32(0, head, head_bytes), body, body_bytes);
    m.is_wide = m.bytes >= writer->zip64_from;
    m.begins_far_off = m.begin >= writer->zip64_from;
    add_local(&local, &m);
    add_central(&writer->directory, &m);
    writer->n_members++;
    int reason = local.failed || writer->directory.failed ? ENOMEM : 0;
    if (!reason)
        reason = tgi_atomic_file_write(writer->file, local.text, local.n);
    if (!reason)
        reason = tgi_atomic_file_write(writer->file, head, head_bytes);
    if (!reason)
        reason = tgi_atomic_file_write(writer->file, body, body_bytes);
    tgi_strbuf_deinit(&local);
    return reason;
}

/* The end record of 64 bits, and where it is. */
static void add_end64(tgi_strbuf *buf, uint64_t count, uint64_t begin,
                      uint64_t bytes)
{
    unsigned char end[TGI_ZIP_END64_BYTES] = {0};
    unsigned char locator[TGI_ZIP_LOCATOR_BYTES] = {0};
    put(end, 0, TGI_ZIP_END64_MAGIC, 4);
    put(end, TGI_ZIP_END64_REST, sizeof(end) - TGI_ZIP_END64_MADE_BY, 8);
    put(end, TGI_ZIP_END64_MADE_BY, MADE_BY, 2);
    put(end, TGI_ZIP_END64_NEEDS, VERSION_64, 2);
    put(end, TGI_ZIP_END64_COUNT_HERE, count, 8);
    put(end, TGI_ZIP_END64_COUNT, count, 8);
    put(end, TGI_ZIP_END64_SIZE, bytes, 8);
    put(end, TGI_ZIP_END64_OFFSET, begin, 8);
    put(locator, 0, TGI_ZIP_LOCATOR_MAGIC, 4);
    put(locator, TGI_ZIP_LOCATOR_OFFSET, begin + bytes, 8);
    put(locator, TGI_ZIP_LOCATOR_DISKS, 1, 4);
    add(buf, end, sizeof(end));
    add(buf, locator, sizeof(locator));
}

int tgi_zip_finish(tgi_zip_writer *writer)
{
    unsigned char end[TGI_ZIP_END_BYTES] = {0};
    const uint64_t begin = writer->file->bytes;
    const uint64_t bytes = writer->directory.n, count = writer->n_members;
    const bool is_wide = begin >= writer->zip64_from ||
                         bytes >= writer->zip64_from || count >= UINT16_MAX;
    if (is_wide)
        add_end64(&writer->directory, count, begin, bytes);
    put(end, 0, TGI_ZIP_END_MAGIC, 4);
    put(end, TGI_ZIP_END_COUNT_HERE, is_wide ? UINT16_MAX : count, 2);
    put(end, TGI_ZIP_END_COUNT, is_wide ? UINT16_MAX : count, 2);
    put(end, TGI_ZIP_END_SIZE, narrow(bytes, is_wide), 4);
    put(end, TGI_ZIP_END_OFFSET, narrow(begin, is_wide), 4);
    add(&writer->directory, end, sizeof(end));
    return writer->directory.failed
               ? ENOMEM
               : tgi_atomic_file_write(writer->file, writer->directory.text,
                                       writer->directory.n);
}
