/* SPDX-License-Identifier: MIT */
/*
 * npz.c - .npz archives: a ZIP file with a member NAME.npy for each array.
 * NumPy has no metadata; ours is one more member, METADATA_NAME, which NumPy
 * returns as bytes. Other members are ignored.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "front/file/archive.h"
#include "front/file/file_error.h"
#include "front/file/npy.h"

#define METADATA_NAME "__metadata__.json"
#define SUFFIX ".npy"

enum {
    SUFFIX_BYTES = sizeof(SUFFIX) - 1,
    MAX_METADATA_BYTES = 100 << 20 /* as in .safetensors files */
};

/* -- Reading --------------------------------------------------------------- */

static tg_status read_metadata(tg_archive *archive,
                               const tgi_zip_member *member)
{
    const tgi_where where = tgi_where_of(archive->bytes->path, METADATA_NAME);
    tgi_file_bytes *contents;
    size_t at;
    if (member->bytes > MAX_METADATA_BYTES)
        TGI_FILE_FAIL(where.text, "has %llu bytes; the limit is %d",
                      (unsigned long long)member->bytes, MAX_METADATA_BYTES);
    TGI_TRY(tgi_zip_contents(archive->ctx, archive->bytes, member, where.text,
                             &contents, &at));
    json_t *object =
        tgi_json_read_object(archive->ctx, contents->data + at,
                             (size_t)member->bytes, where.text);
    const tg_status status = object ? tgi_json_read_metadata(archive, object)
                                    : tg_error_last()->status;
    json_decref(object);
    tgi_file_bytes_release(contents);
    return status;
}

/* Names of members are cut off before their suffix. */
static tg_status push_member(tg_archive *archive, const tgi_zip_member *member)
{
    const size_t n = member->name_bytes - SUFFIX_BYTES;
    const tgi_stored_tensor stored = {.member = *member};
    if (memchr(member->name, '\0', n))
        TGI_FILE_FAIL(archive->bytes->path, "a name has a NUL: %s",
                      tgi_quote_bytes(member->name, n).text);
    tgi_strbuf name = {0};
    tgi_strbuf_add_bytes(&name, member->name, n);
    const tg_status status =
        name.failed ? tgi_error_memory()
                    : tgi_archive_push(archive, name.text ? name.text : "",
                                       NULL, &stored, TG_ERROR_FILE);
    tgi_strbuf_deinit(&name);
    return status;
}

static tg_status read_members(tg_archive *archive,
                              const tgi_zip_members *members)
{
    for (size_t i = 0; i < members->n; i++) {
        const tgi_zip_member *member = &members->data[i];
        const char *end = member->name + member->name_bytes;
        if (member->name_bytes >= SUFFIX_BYTES &&
            memcmp(end - SUFFIX_BYTES, SUFFIX, SUFFIX_BYTES) == 0)
            TGI_TRY(push_member(archive, member));
        else if (member->name_bytes == strlen(METADATA_NAME) &&
                 memcmp(member->name, METADATA_NAME, member->name_bytes) == 0)
            TGI_TRY(read_metadata(archive, member));
    }
    return TG_OK;
}

tg_status tgi_npz_read(tg_archive *archive)
{
    tgi_zip_members members = {0};
    tg_status status = tgi_zip_read(archive->bytes, &members);
    if (!status)
        status = read_members(archive, &members);
    tgi_vec_deinit(&members);
    return status;
}

tg_status tgi_npz_tensor(tg_archive *archive, const tgi_archive_entry *entry,
                         tg_tensor **out_tensor)
{
    const tgi_where where = tgi_where_of(archive->bytes->path, entry->name);
    const tgi_zip_member *member = &entry->stored.member;
    tgi_file_bytes *contents;
    size_t at;
    *out_tensor = NULL;
    TGI_TRY(tgi_zip_contents(archive->ctx, archive->bytes, member, where.text,
                             &contents, &at));
    const tg_status status =
        tgi_npy_tensor(archive->ctx, contents, at, (size_t)member->bytes,
                       where.text, out_tensor);
    tgi_file_bytes_release(contents);
    return status;
}

/* -- Writing --------------------------------------------------------------- */

static int write_entry(tgi_zip_writer *writer, const tgi_archive_entry *entry)
{
    const tg_tensor *tensor = entry->tensor;
    tgi_strbuf name = {0}, header = {0};
    tgi_strbuf_addf(&name, "%s" SUFFIX, entry->name);
    tgi_npy_header_write(&tensor->spec, &header);
    const int reason =
        name.failed || header.failed
            ? ENOMEM
            : tgi_zip_write(writer, name.text, header.text, header.n,
                            tensor->data, (size_t)tensor->spec.bytes);
    tgi_strbuf_deinit(&name);
    tgi_strbuf_deinit(&header);
    return reason;
}

static int write_metadata(tgi_zip_writer *writer, const tg_archive *archive)
{
    tgi_strbuf text = {0};
    if (archive->metadata.n == 0)
        return 0;
    tgi_json_add_metadata(&text, archive);
    const int reason = text.failed ? ENOMEM
                                   : tgi_zip_write(writer, METADATA_NAME,
                                                   text.text, text.n, "", 0);
    tgi_strbuf_deinit(&text);
    return reason;
}

int tgi_npz_write(const tg_archive *archive, tgi_atomic_file *file)
{
    tgi_zip_writer writer = {.file = file, .zip64_from = TGI_ZIP64_FROM};
    int reason = 0;
    for (size_t i = 0; i < archive->entries.n && !reason; i++)
        reason = write_entry(&writer, &archive->entries.data[i]);
    if (!reason)
        reason = write_metadata(&writer, archive);
    if (!reason)
        reason = tgi_zip_finish(&writer);
    tgi_strbuf_deinit(&writer.directory);
    return reason;
}
