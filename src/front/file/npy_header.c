/* SPDX-License-Identifier: MIT */
/*
 * npy_header.c - the header of .npy files. The reader takes the part of
 * Python's literals that NumPy writes, and nothing else: a dictionary of
 * exactly three keys in any order, strings without escapes, True and False,
 * tuples of integers, commas at ends.
 */
#include <string.h>

#include "base/dtype.h"
#include "front/file/file_error.h"
#include "front/file/little_endian.h"
#include "front/file/npy.h"

static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

enum {
    VERSION_AT = 6,
    LENGTH_AT = 8,
    ALIGN = 64,
    MAX_HEADER_BYTES = 1 << 20 /* of the literal: NumPy refuses 10,000 */
};

/* -- Element types --------------------------------------------------------- */

/* NumPy's letter of a class of types. It has none for bf16: the elements of
   ml_dtypes.bfloat16 are saved as 'V', two bytes without a meaning. */
static char letter_of(tg_dtype dtype)
{
    switch (tgi_dtype_table[dtype].cls) {
    case TGI_CLASS_BOOL:
        return 'b';
    case TGI_CLASS_SINT:
        return 'i';
    case TGI_CLASS_UINT:
        return 'u';
    default:
        return dtype == TG_BF16 ? 'V' : 'f';
    }
}

/* "<f4", "|b1", "=i8" …; one byte has no order. */
static void read_descr(tgi_npy_header *header)
{
    const char *text = header->descr;
    header->is_big_endian = TGI_IS_BIG_ENDIAN;
    if (*text && strchr("<>|=", *text)) {
        if (*text == '<' || *text == '>')
            header->is_big_endian = *text == '>';
        text++;
    }
    for (int dtype = 1; dtype < TGI_DTYPES; dtype++)
        if (tgi_dtype_is_valid(dtype) && strlen(text) == 2 &&
            text[0] == letter_of((tg_dtype)dtype) &&
            text[1] == '0' + (int)tgi_dtype_bytes(dtype) &&
            (header->descr[0] != '|' || tgi_dtype_bytes(dtype) == 1 ||
             dtype == TG_BF16))
            header->dtype = (tg_dtype)dtype;
}

/* -- Python literals ------------------------------------------------------- */

typedef struct cursor {
    const char *next, *end;
    const char *where;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->next < c->end && (*c->next == ' ' || *c->next == '\n'))
        c->next++;
}

static bool is_next(const cursor *c, char wanted)
{
    return c->next < c->end && *c->next == wanted;
}

/* Takes a character and the blanks behind it. */
static bool take(cursor *c, char wanted)
{
    if (!is_next(c, wanted))
        return false;
    c->next++;
    skip_blanks(c);
    return true;
}

/* For messages. */
static tgi_quoted rest_of(const cursor *c)
{
    return tgi_quote_bytes(c->next, (size_t)(c->end - c->next));
}

static tg_status expect(cursor *c, char wanted)
{
    if (!take(c, wanted))
        TGI_FILE_FAIL(c->where, "bad .npy header: no '%c' before %s", wanted,
                      rest_of(c).text);
    return TG_OK;
}

/* A string in either sort of quotes; not terminated. */
static tg_status read_string(cursor *c, const char **out_text, size_t *out_n)
{
    const char quote = c->next < c->end ? *c->next : '\0';
    if (quote != '\'' && quote != '"')
        TGI_FILE_FAIL(c->where, "bad .npy header: no string at %s",
                      rest_of(c).text);
    const char *begin = ++c->next;
    while (c->next < c->end && *c->next != quote && *c->next != '\\' &&
           *c->next != '\n')
        c->next++;
    if (!is_next(c, quote))
        TGI_FILE_FAIL(c->where, "bad .npy header: a string does not end");
    *out_text = begin;
    *out_n = (size_t)(c->next - begin);
    take(c, quote);
    return TG_OK;
}

static tg_status read_bool(cursor *c, bool *out_bool)
{
    static const char *const words[] = {"False", "True"};
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(words[i]);
        if ((size_t)(c->end - c->next) >= n &&
            memcmp(c->next, words[i], n) == 0) {
            c->next += n;
            skip_blanks(c);
            *out_bool = i == 1;
            return TG_OK;
        }
    }
    TGI_FILE_FAIL(c->where, "bad .npy header: fortran_order is neither True "
                            "nor False");
}

/* An extent; files of Python 2 may have an L behind it. */
static tg_status read_extent(cursor *c, int64_t *out_extent)
{
    int64_t extent = 0;
    const char *begin = c->next;
    while (c->next < c->end && *c->next >= '0' && *c->next <= '9')
        if (__builtin_mul_overflow(extent, 10, &extent) ||
            __builtin_add_overflow(extent, *c->next++ - '0', &extent))
            TGI_FILE_FAIL(c->where, "an extent of the shape exceeds 64 bits");
    if (c->next == begin)
        TGI_FILE_FAIL(c->where, "bad .npy header: no extent at %s",
                      rest_of(c).text);
    if (is_next(c, 'L'))
        c->next++;
    skip_blanks(c);
    *out_extent = extent;
    return TG_OK;
}

/* (), (3,) or (3, 4): one extent alone needs its comma. */
static tg_status read_shape(cursor *c, tgi_npy_header *header)
{
    TGI_TRY(expect(c, '('));
    while (!is_next(c, ')')) {
        int64_t extent = 0;
        TGI_TRY(read_extent(c, &extent));
        if (header->rank == TG_MAX_RANK)
            TGI_FILE_FAIL(c->where, "has more than %d axes", TG_MAX_RANK);
        header->dims[header->rank++] = extent;
        if (!take(c, ',') && (header->rank == 1 || !is_next(c, ')')))
            TGI_FILE_FAIL(c->where, "bad .npy header: no ',' in the shape");
    }
    return expect(c, ')');
}

static tg_status read_type(cursor *c, tgi_npy_header *header)
{
    const char *text;
    size_t n;
    if (is_next(c, '['))
        return tgi_file_error(TG_ERROR_DTYPE, c->where,
                              "structured dtypes are not supported");
    TGI_TRY(read_string(c, &text, &n));
    if (n >= sizeof(header->descr) || !tgi_is_utf8(text, n))
        return tgi_file_error(TG_ERROR_DTYPE, c->where,
                              "dtype %s is not supported",
                              tgi_quote_bytes(text, n).text);
    memcpy(header->descr, text, n);
    read_descr(header);
    return TG_OK;
}

static tg_status read_pair(cursor *c, tgi_npy_header *header, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *key;
    size_t n;
    unsigned which = 0;
    TGI_TRY(read_string(c, &key, &n));
    TGI_TRY(expect(c, ':'));
    while (which < 3 &&
           (strlen(keys[which]) != n || memcmp(keys[which], key, n) != 0))
        which++;
    if (which == 3 || *seen & 1u << which)
        TGI_FILE_FAIL(c->where, "bad .npy header: key %s is %s",
                      tgi_quote_bytes(key, n).text,
                      which == 3 ? "unknown" : "there twice");
    *seen |= 1u << which;
    return which == 0   ? read_type(c, header)
           : which == 1 ? read_bool(c, &header->is_fortran)
                        : read_shape(c, header);
}

static tg_status read_dictionary(cursor *c, tgi_npy_header *header)
{
    unsigned seen = 0;
    skip_blanks(c);
    TGI_TRY(expect(c, '{'));
    while (!is_next(c, '}')) {
        TGI_TRY(read_pair(c, header, &seen));
        if (!take(c, ',') && !is_next(c, '}'))
            TGI_FILE_FAIL(c->where, "bad .npy header: no ',' behind a value");
    }
    TGI_TRY(expect(c, '}'));
    if (c->next != c->end)
        TGI_FILE_FAIL(c->where, "bad .npy header: text behind the '}'");
    if (seen != 7)
        TGI_FILE_FAIL(c->where, "bad .npy header: descr, fortran_order or "
                                "shape is missing");
    return TG_OK;
}

/* -- The whole header ------------------------------------------------------ */

tg_status tgi_npy_header_read(const unsigned char *data, size_t n,
                              const char *where, tgi_npy_header *out_header)
{
    tgi_npy_header header = {.dtype = TG_DTYPE_NONE};
    if (n < LENGTH_AT + 2 || memcmp(data, magic, sizeof(magic)) != 0)
        TGI_FILE_FAIL(where, "is not a .npy file");
    const unsigned major = data[VERSION_AT], minor = data[VERSION_AT + 1];
    if (major < 1 || major > 3 || minor != 0)
        TGI_FILE_FAIL(where, "has version %u.%u of the .npy format, which is "
                             "not 1.0, 2.0 or 3.0",
                      major, minor);
    const size_t length_bytes = major == 1 ? 2 : 4;
    const size_t begin = LENGTH_AT + length_bytes;
    const uint64_t length =
        n < begin ? UINT64_MAX : tgi_le_get(data + LENGTH_AT, length_bytes);
    if (length == UINT64_MAX || length > n - begin)
        TGI_FILE_FAIL(where, "ends inside of its .npy header");
    if (length > MAX_HEADER_BYTES)
        TGI_FILE_FAIL(where, "has a .npy header of %llu bytes; the limit is %d",
                      (unsigned long long)length, MAX_HEADER_BYTES);
    const char *text = (const char *)data + begin;
    TGI_TRY(read_dictionary(&(cursor){text, text + length, where}, &header));
    header.bytes = begin + (size_t)length;
    *out_header = header;
    return TG_OK;
}

void tgi_npy_header_write(const tgi_spec *spec, tgi_strbuf *out)
{
    static const unsigned char version_1[] = {1, 0, 0, 0};
    const size_t before = out->n;
    const size_t element = (size_t)tgi_dtype_bytes(spec->dtype);
    tgi_strbuf_add_bytes(out, (const char *)magic, sizeof(magic));
    tgi_strbuf_add_bytes(out, (const char *)version_1, sizeof(version_1));
    tgi_strbuf_addf(out, "{'descr': '%c%c%zu', 'fortran_order': False, "
                         "'shape': (",
                    element == 1 ? '|' : TGI_IS_BIG_ENDIAN ? '>' : '<',
                    letter_of(spec->dtype), element);
    for (int i = 0; i < spec->rank; i++)
        tgi_strbuf_addf(out, "%s%lld%s", i ? " " : "", (long long)spec->dims[i],
                        i + 1 < spec->rank || spec->rank == 1 ? "," : "");
    tgi_strbuf_add(out, "), }");
    while (!out->failed && (out->n - before + 1) % ALIGN != 0)
        tgi_strbuf_add(out, " ");
    tgi_strbuf_add(out, "\n");
    if (!out->failed)
        tgi_le_put((unsigned char *)out->text + before + LENGTH_AT,
                   out->n - before - LENGTH_AT - 2, 2);
}
