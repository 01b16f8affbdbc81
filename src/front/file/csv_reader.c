/* SPDX-License-Identifier: MIT */
/*
 * csv_reader.c - see csv_reader.h.
 */
#include "front/file/csv_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "front/file/file_error.h"

enum {
    BUF_BYTES = 1 << 16,
    MAX_ROW_BYTES = 64 << 20 /* text of a row: more is not a row of numbers */
};

/* -- The file -------------------------------------------------------------- */

tg_status tgi_csv_open(tgi_csv_reader *reader, const char *path,
                       char delimiter)
{
    *reader = (tgi_csv_reader){.fd = -1, .delimiter = delimiter, .line = 1};
    reader->path = tgi_strdup(path);
    reader->buf = tgi_alloc(BUF_BYTES);
    if (!reader->path || !reader->buf)
        return tgi_error_memory();
    reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (reader->fd < 0)
        return tgi_error_file("read", path, errno);
    return TG_OK;
}

void tgi_csv_close(tgi_csv_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    tgi_free(reader->path);
    tgi_free(reader->buf);
    tgi_vec_deinit(&reader->text);
    tgi_vec_deinit(&reader->fields);
    reader->fd = -1;
    reader->path = reader->buf = NULL;
}

tg_status tgi_csv_error(const tgi_csv_reader *reader, const char *format, ...)
{
    char text[1024];
    const tg_site site = {reader->path, reader->row_line < INT_MAX
                                            ? (int)reader->row_line
                                            : INT_MAX};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return tgi_error_set(TG_ERROR_FILE, site, "%s: %s", tgi_api_function(),
                         text);
}

/* Makes sure that there is a byte, or that the file is at its end. */
static tg_status fill(tgi_csv_reader *reader)
{
    while (reader->next == reader->end && !reader->is_at_end) {
        const ssize_t got = read(reader->fd, reader->buf, BUF_BYTES);
        if (got < 0 && errno != EINTR)
            return tgi_error_file("read", reader->path, errno);
        reader->next = 0;
        reader->end = got > 0 ? (size_t)got : 0;
        reader->is_at_end = got == 0;
    }
    return TG_OK;
}

/* The next byte, which fill has made available; -1 at the end. */
static int peek(const tgi_csv_reader *reader)
{
    return reader->next < reader->end
               ? (unsigned char)reader->buf[reader->next]
               : -1;
}

/* -- Fields ---------------------------------------------------------------- */

static tg_status add_text(tgi_csv_reader *reader, const char *text, size_t n)
{
    if (memchr(text, '\0', n))
        return tgi_csv_error(reader, "the row has a NUL byte");
    if (reader->text.n + n > MAX_ROW_BYTES)
        return tgi_csv_error(reader, "the row has more than %d bytes",
                             MAX_ROW_BYTES);
    if (!tgi_vec_reserve(&reader->text, reader->text.n + n + 1))
        return tgi_error_memory();
    memcpy(reader->text.data + reader->text.n, text, n);
    reader->text.n += n;
    return TG_OK;
}

/* A carriage return before a line feed counts as one. */
static bool is_blank(const tgi_csv_reader *reader, int c)
{
    return (c == ' ' || c == '\t' || c == '\r') && c != reader->delimiter;
}

static tg_status skip_blanks(tgi_csv_reader *reader)
{
    for (;;) {
        TGI_TRY(fill(reader));
        if (!is_blank(reader, peek(reader)))
            return TG_OK;
        reader->next++;
    }
}

/* Adds bytes up to one of two, or the end of the file. */
static tg_status add_run(tgi_csv_reader *reader, char stop, char other_stop)
{
    for (;;) {
        TGI_TRY(fill(reader));
        const size_t begin = reader->next;
        size_t at = begin;
        while (at < reader->end && reader->buf[at] != stop &&
               reader->buf[at] != other_stop)
            at++;
        reader->next = at;
        TGI_TRY(add_text(reader, reader->buf + begin, at - begin));
        if (at < reader->end || at == begin)
            return TG_OK;
    }
}

/* Up to the delimiter or the end of the line, without blanks at its end. */
static tg_status read_plain(tgi_csv_reader *reader, size_t begin)
{
    TGI_TRY(add_run(reader, reader->delimiter, '\n'));
    while (reader->text.n > begin &&
           is_blank(reader, reader->text.data[reader->text.n - 1]))
        reader->text.n--;
    return TG_OK;
}

/* Between quotes, where two of them are one. */
static tg_status read_quoted(tgi_csv_reader *reader)
{
    for (;;) {
        reader->next++; /* a quote */
        for (;;) {
            TGI_TRY(add_run(reader, '"', '\n'));
            if (peek(reader) != '\n')
                break;
            TGI_TRY(add_text(reader, "\n", 1));
            reader->next++;
            reader->line++;
        }
        if (peek(reader) < 0)
            return tgi_csv_error(reader, "column %zu: a quoted field does not "
                                         "end",
                                 reader->fields.n);
        reader->next++;
        TGI_TRY(fill(reader));
        if (peek(reader) != '"')
            return skip_blanks(reader);
        TGI_TRY(add_text(reader, "\"", 1));
    }
}

/* Reads a field and stands before what ended it. */
static tg_status read_field(tgi_csv_reader *reader, bool *out_is_quoted)
{
    const size_t begin = reader->text.n;
    TGI_TRY(skip_blanks(reader));
    *out_is_quoted = peek(reader) == '"' && reader->delimiter != '"';
    TGI_TRY(*out_is_quoted ? read_quoted(reader) : read_plain(reader, begin));
    const int c = peek(reader);
    if (c >= 0 && c != '\n' && (char)c != reader->delimiter)
        return tgi_csv_error(reader, "column %zu: text behind a quoted field",
                             reader->fields.n);
    const tgi_csv_field field = {begin, reader->text.n - begin};
    if (!tgi_vec_reserve(&reader->text, reader->text.n + 1) ||
        !tgi_vec_push(&reader->fields, field))
        return tgi_error_memory();
    reader->text.data[reader->text.n++] = '\0';
    return TG_OK;
}

/* -- Rows ------------------------------------------------------------------ */

static tg_status skip_mark(tgi_csv_reader *reader)
{
    static const char mark[] = "\xef\xbb\xbf";
    TGI_TRY(fill(reader));
    if (reader->end - reader->next >= 3 &&
        memcmp(reader->buf + reader->next, mark, 3) == 0)
        reader->next += 3;
    return TG_OK;
}

tg_status tgi_csv_next(tgi_csv_reader *reader, bool *out_has_row)
{
    bool is_empty = true, is_quoted, goes_on = true;
    *out_has_row = false;
    if (reader->row_line == 0)
        TGI_TRY(skip_mark(reader));
    while (is_empty) {
        TGI_TRY(fill(reader));
        if (peek(reader) < 0)
            return TG_OK;
        reader->text.n = reader->fields.n = 0;
        reader->row_line = reader->line;
        for (goes_on = true; goes_on;) {
            TGI_TRY(read_field(reader, &is_quoted));
            const int c = peek(reader);
            goes_on = c >= 0 && c != '\n';
            reader->next += c >= 0;
            reader->line += c == '\n';
        }
        is_empty = reader->fields.n == 1 && reader->fields.data[0].n == 0 &&
                   !is_quoted;
    }
    *out_has_row = true;
    return TG_OK;
}

const char *tgi_csv_text(const tgi_csv_reader *reader, size_t i)
{
    return reader->text.data + reader->fields.data[i].at;
}
