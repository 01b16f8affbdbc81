/* SPDX-License-Identifier: MIT */
/*
 * assembly.c - see assembly.h. A function begins with a label that has no dot
 * and ends with .size; constants, which are outside, are left out.
 */
#include "front/inspect/assembly.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef struct parser {
    tgi_assembly *out;
    bool is_inside; /* a function */
    uint32_t file;  /* of the last .loc */
    int line;
} parser;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool begins_with(tgi_assembly_span s, const char *word)
{
    const size_t n = strlen(word);
    return s.n >= n && memcmp(s.text, word, n) == 0;
}

static bool equals(tgi_assembly_span s, const char *text)
{
    return strlen(text) == s.n && memcmp(s.text, text, s.n) == 0;
}

static void trim(tgi_assembly_span *s)
{
    while (s->n && is_blank(s->text[0]))
        s->text++, s->n--;
    while (s->n && is_blank(s->text[s->n - 1]))
        s->n--;
}

/* The first word of a line before a colon; empty if it is no label. */
static tgi_assembly_span label_of(tgi_assembly_span s)
{
    size_t n = 0;
    while (n < s.n && !is_blank(s.text[n]) && s.text[n] != ':')
        n++;
    const bool is_label = n && n < s.n && s.text[n] == ':';
    return (tgi_assembly_span){s.text, is_label ? n : 0};
}

/* The next number of a directive; removes it. */
static long take_number(tgi_assembly_span *s)
{
    long number = 0;
    while (s->n && (s->text[0] < '0' || s->text[0] > '9'))
        s->text++, s->n--;
    for (; s->n && s->text[0] >= '0' && s->text[0] <= '9'; s->text++, s->n--)
        if (number < 100000000)
            number = 10 * number + (s->text[0] - '0');
    return number;
}

/* The next quoted string of a directive; removes it. */
static tgi_assembly_span take_string(tgi_assembly_span *s)
{
    const char *begin = s->n ? memchr(s->text, '"', s->n) : NULL;
    if (!begin)
        return (tgi_assembly_span){s->text, 0};
    begin++;
    size_t n = s->n - (size_t)(begin - s->text);
    const char *end = n ? memchr(begin, '"', n) : NULL;
    if (!end)
        return (tgi_assembly_span){s->text, 0};
    n = (size_t)(end - begin);
    s->n -= (size_t)(end + 1 - s->text);
    s->text = end + 1;
    return (tgi_assembly_span){begin, n};
}

/* .file NUMBER "FOLDER" "NAME", or without the folder. */
static bool add_file(parser *p, tgi_assembly_span rest)
{
    tgi_assembly_file file = {.number = (uint32_t)take_number(&rest)};
    file.folder = take_string(&rest);
    file.name = take_string(&rest);
    if (!file.name.n) {
        file.name = file.folder;
        file.folder.n = 0;
    }
    return tgi_vec_push(&p->out->files, file);
}

static bool parse_directive(parser *p, tgi_assembly_span s)
{
    if (begins_with(s, ".loc\t") || begins_with(s, ".loc ")) {
        p->file = (uint32_t)take_number(&s);
        p->line = (int)take_number(&s);
    } else if (begins_with(s, ".size")) {
        p->is_inside = false;
    } else if ((begins_with(s, ".file\t") || begins_with(s, ".file ")) &&
               s.n > 6 && s.text[6] >= '0' && s.text[6] <= '9') {
        return add_file(p, s);
    }
    return true;
}

static bool add_line(parser *p, tgi_assembly_span s)
{
    tgi_assembly *out = p->out;
    if (!p->is_inside)
        return true;
    const tgi_assembly_line line = {s, p->file, p->line};
    out->functions.data[out->functions.n - 1].n_lines++;
    return tgi_vec_push(&out->lines, line);
}

static bool parse_line(parser *p, tgi_assembly_span s)
{
    const bool is_indented = s.n && is_blank(s.text[0]);
    trim(&s);
    if (s.n == 0 || s.text[0] == '#')
        return true;
    const tgi_assembly_span label = label_of(s);
    if (label.n && !is_indented && s.text[0] != '.') {
        const tgi_assembly_function function = {.name = label,
                                                .first_line = p->out->lines.n};
        p->is_inside = true;
        p->line = 0;
        return tgi_vec_push(&p->out->functions, function);
    }
    /* Labels of blocks; those of debug information say nothing. */
    if (label.n)
        return !begins_with(label, ".LBB") ||
               add_line(p, (tgi_assembly_span){s.text, label.n + 1});
    return s.text[0] == '.' ? parse_directive(p, s) : add_line(p, s);
}

bool tgi_assembly_parse(tgi_assembly *assembly, const char *text)
{
    parser p = {.out = assembly};
    while (*text) {
        const size_t n = strcspn(text, "\n");
        if (!parse_line(&p, (tgi_assembly_span){text, n})) {
            tgi_error_memory();
            return false;
        }
        text += n + (text[n] != 0);
    }
    return true;
}

void tgi_assembly_deinit(tgi_assembly *assembly)
{
    tgi_vec_deinit(&assembly->lines);
    tgi_vec_deinit(&assembly->functions);
    tgi_vec_deinit(&assembly->files);
}

const tgi_assembly_function *tgi_assembly_find(const tgi_assembly *assembly,
                                               const char *name)
{
    for (size_t i = 0; i < assembly->functions.n; i++)
        if (equals(assembly->functions.data[i].name, name))
            return &assembly->functions.data[i];
    return NULL;
}

bool tgi_assembly_is_file(const tgi_assembly *assembly, uint32_t number,
                          const char *path)
{
    for (size_t i = 0; i < assembly->files.n; i++) {
        const tgi_assembly_file *file = &assembly->files.data[i];
        if (file->number != number)
            continue;
        const size_t n = file->folder.n;
        return equals(file->name, path) ||
               (n &&
                begins_with((tgi_assembly_span){path, strlen(path)}, "/") &&
                strlen(path) == n + 1 + file->name.n &&
                memcmp(path, file->folder.text, n) == 0 && path[n] == '/' &&
                memcmp(path + n + 1, file->name.text, file->name.n) == 0);
    }
    return false;
}
