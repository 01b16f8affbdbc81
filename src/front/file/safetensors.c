/* SPDX-License-Identifier: MIT */
/*
 * safetensors.c - .safetensors files: the length of the header (8 bytes), the
 * header, which is a JSON object padded with blanks, and the data:
 *
 *     {"__metadata__": {"key": "text"},
 *      "NAME": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}}
 *
 * Data is little-endian and row-major. The ranges of the tensors cover it
 * without gaps and without overlap.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "front/file/archive.h"
#include "front/file/file_error.h"
#include "front/file/little_endian.h"

enum {
    LENGTH_BYTES = 8,
    MAX_HEADER_BYTES = 100000000, /* as the format says */
    ALIGN = 64                    /* of the data we write */
};

/* Those that the library does not have are known by their size. */
static const struct {
    const char *name;
    tg_dtype dtype;
    unsigned bits;
} dtypes[] = {
    {"BOOL", TG_BOOL, 8}, {"I8", TG_I8, 8},   {"I16", TG_I16, 16},
    {"I32", TG_I32, 32},  {"I64", TG_I64, 64}, {"U8", TG_U8, 8},
    {"U16", TG_U16, 16},  {"U32", TG_U32, 32}, {"U64", TG_U64, 64},
    {"F32", TG_F32, 32},  {"F64", TG_F64, 64}, {"F16", TG_F16, 16},
    {"BF16", TG_BF16, 16}, {"F8_E4M3", 0, 8},  {"F8_E5M2", 0, 8},
    {"F8_E8M0", 0, 8},    {"F6_E2M3", 0, 6},  {"F6_E3M2", 0, 6},
    {"F4", 0, 4},         {"C64", 0, 64},
};

enum { N_DTYPES = sizeof(dtypes) / sizeof(*dtypes) };

/* The format has one byte order; the library's memory has the machine's. */
static tg_status check_machine(const char *where)
{
    if (TGI_IS_BIG_ENDIAN)
        return tgi_file_error(TG_ERROR_UNSUPPORTED, where,
                              ".safetensors files are little-endian, and this "
                              "machine is not");
    return TG_OK;
}

/* -- Reading --------------------------------------------------------------- */

/* Integers from 0 on; the header of a tensor has nothing else. */
static bool read_integer(const json_t *value, int64_t *out_integer)
{
    *out_integer = json_is_integer(value) ? json_integer_value(value) : -1;
    return *out_integer >= 0;
}

/* The shape. All extents are read, also those past TG_MAX_RANK: a tensor of
   more axes is refused only when it is asked for. */
static bool read_shape(const json_t *shape, tgi_spec *spec,
                       int64_t *out_count)
{
    const size_t rank = json_array_size(shape);
    *out_count = 1;
    if (!json_is_array(shape) || rank > INT32_MAX)
        return false;
    spec->rank = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        int64_t extent;
        if (!read_integer(json_array_get(shape, i), &extent) ||
            __builtin_mul_overflow(*out_count, extent, out_count))
            return false;
        if (i < TG_MAX_RANK)
            spec->dims[i] = extent;
    }
    return true;
}

/* The bytes that so many elements take, UINT64_MAX if no whole number; false if
   the dtype is not known. */
static bool size_is_known(const char *dtype, int64_t count,
                          uint64_t *out_bytes)
{
    for (size_t i = 0; i < N_DTYPES; i++)
        if (strcmp(dtypes[i].name, dtype) == 0) {
            const unsigned __int128 bits =
                (unsigned __int128)count * dtypes[i].bits;
            *out_bytes = bits / 8 > UINT64_MAX || bits % 8
                             ? UINT64_MAX
                             : (uint64_t)(bits / 8);
            return true;
        }
    return false;
}

/* Reads the description of a tensor whose data is in the last n_data bytes of
   the file. *out_end: in them, as spec.bytes is only for our dtypes. */
static tg_status read_tensor(const tg_archive *archive, const char *name,
                             const json_t *info, size_t n_data,
                             tgi_stored_tensor *out, size_t *out_end)
{
    const tgi_where where = tgi_where_of(archive->bytes->path, name);
    const json_t *offsets = json_object_get(info, "data_offsets");
    const char *dtype = json_string_value(json_object_get(info, "dtype"));
    int64_t begin, end, count;
    uint64_t bytes;
    *out = (tgi_stored_tensor){.at = 0};
    if (!dtype || strlen(dtype) >= sizeof(out->dtype))
        TGI_FILE_FAIL(where.text, "has no dtype");
    if (!read_shape(json_object_get(info, "shape"), &out->spec, &count))
        TGI_FILE_FAIL(where.text, "has no shape of 64-bit extents");
    if (json_array_size(offsets) != 2 ||
        !read_integer(json_array_get(offsets, 0), &begin) ||
        !read_integer(json_array_get(offsets, 1), &end) || begin > end ||
        (uint64_t)end > n_data)
        TGI_FILE_FAIL(where.text, "its data_offsets are not in 0 … %zu",
                      n_data);
    if (size_is_known(dtype, count, &bytes) &&
        bytes != (uint64_t)(end - begin))
        TGI_FILE_FAIL(where.text, "has %lld bytes, which is not the size of "
                                  "%lld elements of %s",
                      (long long)(end - begin), (long long)count, dtype);
    for (size_t i = 0; i < N_DTYPES; i++)
        if (strcmp(dtypes[i].name, dtype) == 0)
            out->spec.dtype = dtypes[i].dtype;
    strcpy(out->dtype, dtype);
    out->at = archive->bytes->n - n_data + (size_t)begin;
    *out_end = archive->bytes->n - n_data + (size_t)end;
    return TG_OK;
}

typedef struct range {
    size_t begin, end;
} range;

static int compare_ranges(const void *a, const void *b)
{
    const range *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Sorts the ranges: each begins where the one before it ends. */
static tg_status check_ranges(const tg_archive *archive, range *ranges,
                              size_t n, size_t begin)
{
    qsort(ranges, n, sizeof(*ranges), compare_ranges);
    for (size_t i = 0; i <= n; i++) {
        const size_t next = i < n ? ranges[i].begin : archive->bytes->n;
        if (next != begin)
            TGI_FILE_FAIL(archive->bytes->path,
                          next < begin ? "tensors overlap at byte %zu"
                                       : "no tensor has byte %zu",
                          next < begin ? next : begin);
        begin = i < n ? ranges[i].end : begin;
    }
    return TG_OK;
}

static tg_status read_header(tg_archive *archive, json_t *header,
                             size_t n_data, range *ranges)
{
    const char *name;
    json_t *info;
    size_t n = 0;
    json_object_foreach (header, name, info) {
        tgi_stored_tensor stored;
        if (strcmp(name, "__metadata__") == 0) {
            TGI_TRY(tgi_json_read_metadata(archive, info));
            continue;
        }
        TGI_TRY(read_tensor(archive, name, info, n_data, &stored,
                            &ranges[n].end));
        ranges[n++].begin = stored.at;
        TGI_TRY(tgi_archive_push(archive, name, NULL, &stored,
                                 TG_ERROR_FILE));
    }
    return check_ranges(archive, ranges, n, archive->bytes->n - n_data);
}

tg_status tgi_safetensors_read(tg_archive *archive)
{
    const tgi_file_bytes *bytes = archive->bytes;
    TGI_TRY(check_machine(bytes->path));
    const uint64_t length = bytes->n < LENGTH_BYTES
                                ? UINT64_MAX
                                : tgi_le_get(bytes->data, LENGTH_BYTES);
    const bool is_brace = bytes->n > LENGTH_BYTES &&
                          bytes->data[LENGTH_BYTES] == '{';
    if (!is_brace)
        TGI_FILE_FAIL(bytes->path, "is neither a .npz nor a .safetensors file");
    if (length > MAX_HEADER_BYTES)
        TGI_FILE_FAIL(bytes->path, "has a header of %llu bytes; the limit is "
                                   "%d",
                      (unsigned long long)length, MAX_HEADER_BYTES);
    if (length > bytes->n - LENGTH_BYTES)
        TGI_FILE_FAIL(bytes->path, "ends inside of its header");
    json_t *header =
        tgi_json_read_object(archive->ctx, bytes->data + LENGTH_BYTES,
                             (size_t)length, bytes->path);
    if (!header)
        return tg_error_last()->status;
    range *ranges =
        tgi_alloc((json_object_size(header) + 1) * sizeof(*ranges));
    const tg_status status =
        ranges ? read_header(archive, header,
                             bytes->n - LENGTH_BYTES - (size_t)length, ranges)
               : tgi_error_memory();
    tgi_free(ranges);
    json_decref(header);
    return status;
}

tg_status tgi_safetensors_tensor(tg_archive *archive,
                                 const tgi_archive_entry *entry,
                                 tg_tensor **out_tensor)
{
    const tgi_where where = tgi_where_of(archive->bytes->path, entry->name);
    const tgi_stored_tensor *stored = &entry->stored;
    tgi_spec spec;
    *out_tensor = NULL;
    if (!stored->spec.dtype)
        return tgi_file_error(TG_ERROR_DTYPE, where.text,
                              "dtype %s is not supported; convert it before it "
                              "is saved",
                              tgi_quote_name(stored->dtype).text);
    TGI_TRY(tgi_file_spec(&spec, where.text, stored->spec.dtype,
                          stored->spec.rank, stored->spec.dims));
    return tgi_file_bytes_tensor(archive->ctx, archive->bytes, stored->at,
                                 &spec, where.text, out_tensor);
}

/* -- Writing --------------------------------------------------------------- */

static const char *dtype_name(tg_dtype dtype)
{
    size_t i = 0;
    while (dtypes[i].dtype != dtype)
        i++;
    return dtypes[i].name;
}

/*
 * Calls `visit` for every tensor in the order of its data: large elements
 * first. So every tensor lies at a multiple of the size of its elements, though
 * the format allows no padding. 0, or what `visit` returned first.
 */
static int visit_data(const tg_archive *archive,
                      int (*visit)(const tg_tensor *tensor, size_t i,
                                   void *user),
                      void *user)
{
    for (int64_t bytes = 8; bytes > 0; bytes /= 2)
        for (size_t i = 0; i < archive->entries.n; i++) {
            const tg_tensor *tensor = archive->entries.data[i].tensor;
            const int reason = tgi_dtype_bytes(tensor->spec.dtype) == bytes
                                   ? visit(tensor, i, user)
                                   : 0;
            if (reason)
                return reason;
        }
    return 0;
}

typedef struct layout {
    uint64_t *begins; /* of the data of each entry */
    uint64_t end;
} layout;

static int place(const tg_tensor *tensor, size_t i, void *user)
{
    layout *l = user;
    l->begins[i] = l->end;
    return __builtin_add_overflow(l->end, (uint64_t)tensor->spec.bytes,
                                  &l->end)
               ? EFBIG
               : 0;
}

static int write_data(const tg_tensor *tensor, size_t i, void *user)
{
    (void)i;
    return tgi_atomic_file_write(user, tensor->data,
                                 (size_t)tensor->spec.bytes);
}

/* "NAME":{…} */
static void add_tensor(tgi_strbuf *buf, const tgi_archive_entry *entry,
                       uint64_t begin)
{
    const tgi_spec *spec = &entry->tensor->spec;
    tgi_strbuf_add_json(buf, entry->name);
    tgi_strbuf_addf(buf, ":{\"dtype\":\"%s\",\"shape\":[",
                    dtype_name(spec->dtype));
    for (int i = 0; i < spec->rank; i++)
        tgi_strbuf_addf(buf, "%s%lld", i ? "," : "", (long long)spec->dims[i]);
    tgi_strbuf_addf(buf, "],\"data_offsets\":[%llu,%llu]}",
                    (unsigned long long)begin,
                    (unsigned long long)begin + (uint64_t)spec->bytes);
}

/* The length and the header, padded. 0 or an errno. */
static int add_header(const tg_archive *archive, const layout *l,
                      tgi_strbuf *buf)
{
    static const char no_length[LENGTH_BYTES];
    tgi_strbuf_add_bytes(buf, no_length, sizeof(no_length));
    tgi_strbuf_add(buf, "{");
    if (archive->metadata.n > 0) {
        tgi_strbuf_add(buf, "\"__metadata__\":");
        tgi_json_add_metadata(buf, archive);
    }
    for (size_t i = 0; i < archive->entries.n; i++) {
        tgi_strbuf_add(buf, i || archive->metadata.n ? "," : "");
        add_tensor(buf, &archive->entries.data[i], l->begins[i]);
    }
    tgi_strbuf_add(buf, "}");
    while (!buf->failed && buf->n % ALIGN != 0)
        tgi_strbuf_add(buf, " ");
    if (buf->failed)
        return ENOMEM;
    tgi_le_put((unsigned char *)buf->text, buf->n - LENGTH_BYTES,
               LENGTH_BYTES);
    return buf->n - LENGTH_BYTES > MAX_HEADER_BYTES ? EFBIG : 0;
}

int tgi_safetensors_write(const tg_archive *archive, tgi_atomic_file *file)
{
    tgi_strbuf header = {0};
    layout l = {tgi_alloc((archive->entries.n + 1) * sizeof(uint64_t)), 0};
    int reason = TGI_IS_BIG_ENDIAN ? ENOTSUP : l.begins ? 0 : ENOMEM;
    if (!reason)
        reason = visit_data(archive, place, &l);
    if (!reason)
        reason = add_header(archive, &l, &header);
    if (!reason)
        reason = tgi_atomic_file_write(file, header.text, header.n);
    if (!reason)
        reason = visit_data(archive, write_data, file);
    tgi_strbuf_deinit(&header);
    tgi_free(l.begins);
    return reason;
}
