/* SPDX-License-Identifier: MIT */
/*
 * file_json.c - JSON in files: read by jansson, written here.
 *
 * jansson's memory is not the library's: its hooks belong to the program, which
 * may use jansson too. So it is limited before it is used; and where jansson
 * runs out of it, the text may be called bad instead.
 */
#include <jansson.h>
#include <string.h>

#include "front/file/archive.h"
#include "front/file/file_error.h"
#include "front/object/context_object.h"

/* Bytes of memory for a byte of text: 31 for many empty objects. */
enum { MEMORY_FACTOR = 32 };

/* -- Reading --------------------------------------------------------------- */

/* jansson has a code for it, but often says nothing at all. */
static bool is_memory_error(const json_error_t *error)
{
    return json_error_code(error) == json_error_out_of_memory || !*error->text;
}

json_t *tgi_json_read_object(const tg_context *ctx, const void *text, size_t n,
                             const char *where)
{
    json_error_t error;
    if (tgi_context_check_memory(ctx, (uint64_t)n * MEMORY_FACTOR, where,
                                 " for a JSON object", TGI_NO_SITE))
        return NULL;
    json_t *object = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (object && json_is_object(object))
        return object;
    if (object)
        tgi_file_error(TG_ERROR_FILE, where, "bad JSON: it is not an object");
    else if (is_memory_error(&error))
        tgi_error_memory();
    else
        tgi_file_error(TG_ERROR_FILE, where, "bad JSON: byte %d: %s",
                       error.position,
                       tgi_quote_name(error.text).text);
    json_decref(object);
    return NULL;
}

tg_status tgi_json_read_metadata(tg_archive *archive, const json_t *object)
{
    const char *key;
    json_t *value, *pairs = json_incref((json_t *)(uintptr_t)object);
    tg_status status = TG_OK;
    if (!json_is_object(pairs))
        status = tgi_file_error(TG_ERROR_FILE, archive->bytes->path,
                                "the metadata is not an object");
    json_object_foreach (pairs, key, value) {
        if (status)
            break;
        if (json_is_string(value))
            status = tgi_archive_push_metadata(
                archive, key, json_string_value(value), TG_ERROR_FILE);
        else
            status = tgi_file_error(TG_ERROR_FILE, archive->bytes->path,
                                    "metadata %s is not a string",
                                    tgi_quote_name(key).text);
    }
    json_decref(pairs);
    return status;
}

/* -- Writing --------------------------------------------------------------- */

void tgi_json_add_metadata(tgi_strbuf *buf, const tg_archive *archive)
{
    tgi_strbuf_add(buf, "{");
    for (size_t i = 0; i < archive->metadata.n; i++) {
        tgi_strbuf_add(buf, i ? "," : "");
        tgi_strbuf_add_json(buf, archive->metadata.data[i].key);
        tgi_strbuf_add(buf, ":");
        tgi_strbuf_add_json(buf, archive->metadata.data[i].value);
    }
    tgi_strbuf_add(buf, "}");
}
