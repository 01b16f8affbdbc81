/* SPDX-License-Identifier: MIT */
/*
 * page_source.c - the source lines of a page: those that traced operations,
 * with some lines around them, linked to their nodes and kernels.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "front/inspect/page.h"

enum {
    CONTEXT = 3,              /* lines shown around a used one */
    MAX_LINKS = 12,           /* nodes linked from a line */
    MAX_FILE_BYTES = 4 << 20, /* of a source file */
    MAX_LEVELS = 4            /* directories above the working directory */
};

uint32_t tgi_page_find_file(const tgi_page *page, const char *path)
{
    for (uint32_t i = 0; i < page->files.n; i++)
        if (strcmp(page->files.data[i].path, path) == 0)
            return i;
    return UINT32_MAX;
}

/* -- Reading --------------------------------------------------------------- */

/* A relative name is looked for in the working directory and in those above
   it: programs often run in a build directory. -1: there is none. */
static int open_source(const char *path)
{
    char above[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    for (int level = 1; fd < 0 && path[0] != '/' && level <= MAX_LEVELS;
         level++) {
        size_t n = 0;
        for (int i = 0; i < level; i++)
            n += (size_t)snprintf(above + n, sizeof(above) - n, "../");
        if ((size_t)snprintf(above + n, sizeof(above) - n, "%s", path) <
            sizeof(above) - n)
            fd = open(above, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    return fd;
}

/* NULL if it is no regular file, too large or unreadable; *out_is_good is false
   when out of memory. */
static char *read_text(const char *path, bool *out_is_good)
{
    struct stat about;
    *out_is_good = true;
    const int fd = open_source(path);
    if (fd < 0)
        return NULL;
    char *text = NULL;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
        about.st_size <= MAX_FILE_BYTES) {
        const size_t bytes = (size_t)about.st_size;
        text = tgi_alloc(bytes + 1);
        *out_is_good = text != NULL;
        size_t n = 0;
        for (ssize_t got = 1; text && n < bytes && got > 0;) {
            got = read(fd, text + n, bytes - n);
            n += got > 0 ? (size_t)got : 0;
        }
        if (text)
            text[n] = 0;
    }
    close(fd);
    return text;
}

static bool find_lines(tgi_page_file *file)
{
    size_t n = 1;
    for (const char *at = file->text; (at = strchr(at, '\n')); at++)
        n++;
    file->lines = tgi_alloc((n + 1) * sizeof(*file->lines));
    if (!file->lines)
        return false;
    for (size_t at = 0;;) {
        file->lines[file->n_lines++] = at;
        const char *end = strchr(file->text + at, '\n');
        if (!end)
            break;
        at = (size_t)(end + 1 - file->text);
    }
    return true;
}

bool tgi_page_read_sources(tgi_page *page)
{
    for (size_t i = 0; i < page->files.n; i++) {
        tgi_page_file *file = &page->files.data[i];
        bool is_good;
        file->text = read_text(file->path, &is_good);
        if (!is_good || (file->text && !find_lines(file))) {
            tgi_error_memory();
            return false;
        }
    }
    return true;
}

/* A line with its indentation, without its end. */
static const char *whole_line(const tgi_page_file *file, int line,
                              size_t *out_n)
{
    if (!file->text || line < 1 || (size_t)line > file->n_lines)
        return NULL;
    const char *text = file->text + file->lines[line - 1];
    *out_n = strcspn(text, "\r\n");
    return text;
}

const char *tgi_page_line(const tgi_page *page, uint32_t file, int line,
                          size_t *out_n)
{
    const char *text = file < page->files.n
                           ? whole_line(&page->files.data[file], line, out_n)
                           : NULL;
    while (text && *out_n && (*text == ' ' || *text == '\t'))
        text++, --*out_n;
    return text;
}

/* -- Printing -------------------------------------------------------------- */

/* The uses of one line. */
typedef struct line_uses {
    const tgi_page_use *first;
    size_t n;
} line_uses;

static line_uses uses_of(const tgi_page *p, const tgi_page_file *file, int line)
{
    line_uses found = {NULL, 0};
    for (size_t i = 0; i < file->n_uses; i++) {
        const tgi_page_use *use = &p->uses.data[file->first_use + i];
        if (use->line != line)
            continue;
        if (!found.n++)
            found.first = use;
    }
    return found;
}

/* Links to the kernels of a line, each once. */
static void link_kernels(const tgi_page *p, line_uses uses)
{
    for (uint32_t kernel = 1; p->loops && kernel <= p->loops->kernels.n;
         kernel++) {
        bool is_used = false;
        for (size_t i = 0; i < uses.n && !is_used; i++) {
            const tgi_page_node *node =
                &p->nodes[uses.first[i].graph][uses.first[i].node];
            for (uint32_t k = 0;
                 k < node->n_kernels && k < TGI_PAGE_NODE_KERNELS; k++)
                is_used |= node->kernels[k] == kernel;
        }
        if (is_used)
            tgi_page_link_kernel(p, kernel);
    }
}

static void link_nodes(const tgi_page *p, line_uses uses)
{
    for (size_t i = 0; i < uses.n && i < MAX_LINKS; i++) {
        tgi_strbuf_add(p->out, i ? " " : "");
        tgi_page_link_node(p, uses.first[i].graph, uses.first[i].node);
    }
    if (uses.n > MAX_LINKS)
        tgi_strbuf_addf(p->out, " <span class=\"d\">+%zu</span>",
                        uses.n - MAX_LINKS);
}

/* The time of the kernels that this line dominates. */
static uint64_t time_of_line(const tgi_page *p, const char *path, int line)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; p->loops && i < p->loops->kernels.n; i++) {
        const tgi_kernel_loops *k = p->loops->kernels.data[i];
        const tgi_page_unit *unit = tgi_page_unit_of(p, i + 1);
        if (unit && k->n_sites && k->sites[0].line == line &&
            k->sites[0].file && strcmp(k->sites[0].file, path) == 0)
            ns += unit->total_ns;
    }
    return ns;
}

static void print_time(const tgi_page *p, uint64_t ns)
{
    if (!p->profile.is_known)
        return;
    tgi_strbuf_add(p->out, "<td class=\"r d\">");
    if (ns && p->profile.total_ns)
        tgi_strbuf_addf(p->out, "%.1f %%",
                        100 * (double)ns / (double)p->profile.total_ns);
    tgi_strbuf_add(p->out, "</td>");
}

static void print_line(const tgi_page *p, uint32_t number, int line)
{
    const tgi_page_file *file = &p->files.data[number];
    const line_uses uses = uses_of(p, file, line);
    size_t n = 0;
    const char *text = whole_line(file, line, &n);
    tgi_strbuf_addf(p->out, "<tr id=\"l%u-%d\"", number, line);
    if (uses.n)
        tgi_strbuf_addf(p->out, " class=\"u\" data-l=\"%u-%d\"", number, line);
    tgi_strbuf_addf(p->out, "><td class=\"l m\">%d</td><td><code>", line);
    tgi_html_text_bytes(p->out, text ? text : "", n);
    tgi_strbuf_add(p->out, "</code></td>");
    print_time(p, uses.n ? time_of_line(p, file->path, line) : 0);
    tgi_strbuf_add(p->out, "<td class=\"x\">");
    link_kernels(p, uses);
    tgi_strbuf_add(p->out, "</td><td class=\"x\">");
    link_nodes(p, uses);
    tgi_strbuf_add(p->out, "</td></tr>\n");
}

/* True if the line is within CONTEXT of one that is used or called from. */
static bool is_shown(const tgi_page *p, const tgi_page_file *file, int line)
{
    if (p->of->file && strcmp(p->of->file, file->path) == 0 &&
        line >= p->of->line - 1 && line <= p->of->line + 1)
        return true;
    for (size_t i = 0; i < file->n_uses; i++) {
        const int used = p->uses.data[file->first_use + i].line;
        if (line >= used - CONTEXT && line <= used + CONTEXT)
            return true;
    }
    return false;
}

static void print_file(const tgi_page *p, uint32_t number)
{
    const tgi_page_file *file = &p->files.data[number];
    tgi_strbuf_add(p->out, "<p class=\"m d\">");
    tgi_html_text(p->out, file->path);
    tgi_strbuf_add(p->out, "</p>\n");
    if (!file->text) {
        tgi_strbuf_add(p->out,
                       "<p class=\"w\">This file could not be read. Relative "
                       "names are looked for in the working directory of the "
                       "program, and in the directories above it.</p>\n");
        return;
    }
    tgi_strbuf_add(p->out, "<div class=\"s\"><table class=\"src\">\n");
    bool was_shown = true;
    for (int line = 1; (size_t)line <= file->n_lines; line++) {
        const bool shown = is_shown(p, file, line);
        if (shown)
            print_line(p, number, line);
        else if (was_shown)
            tgi_strbuf_addf(
                p->out, "<tr><td class=\"gap\" colspan=\"%d\">⋮</td></tr>\n",
                p->profile.is_known ? 5 : 4);
        was_shown = shown;
    }
    tgi_strbuf_add(p->out, "</table></div>\n");
}

void tgi_page_print_sources(const tgi_page *page)
{
    tgi_strbuf_add(page->out,
                   "<section id=\"source\"><h2>Source</h2><p class=\"d\">The "
                   "lines that traced operations, with the kernels and nodes "
                   "they became.");
    if (page->profile.is_known)
        tgi_strbuf_add(page->out, " Percentages: the time of kernels whose "
                                  "work is mostly of that line.");
    tgi_strbuf_add(page->out, "</p>\n");
    if (page->files.n == 0)
        tgi_strbuf_add(page->out, "<p>No operation has a source line.</p>\n");
    for (uint32_t i = 0; i < page->files.n; i++)
        print_file(page, i);
    tgi_strbuf_add(page->out, "</section>\n");
}
