/* SPDX-License-Identifier: MIT */
/*
 * tgjit_inspect.c - tgjit-inspect: runs a program with TGJIT_INSPECT and a
 * profile, then lists the pages it has written and makes an index of them. It
 * finds what it lists in the <meta> elements of the pages.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tgjit.h"

enum {
    EXIT_USAGE = 2,
    EXIT_NOT_RUN = 127, /* as shells */
    EXIT_SIGNAL = 128,
    HEAD_BYTES = 8192 /* of a page: its facts are in there */
};

static const char usage[] =
    "Usage: tgjit-inspect [OPTION]... PROGRAM [ARGUMENT]...\n"
    "       tgjit-inspect --list [OPTION]...\n"
    "\n"
    "Runs a program that uses libtgjit and writes an HTML page about each of\n"
    "its functions: graph, fusion, loops, memory plan, assembly beside source\n"
    "lines, profile. Then lists the pages, the one with most time first.\n"
    "\n"
    "  -o, --output=DIR  directory of the pages (tgjit-inspect.out); pages of\n"
    "                    an earlier run in it are removed\n"
    "  --no-profile      do not profile the calls\n"
    "  --list            run nothing, list the pages of an earlier run\n"
    "  --open            open the index in the browser (xdg-open)\n"
    "  --help, --version\n"
    "\n"
    "Exit status: that of the program; 128 + N if signal N ended it, 127 if "
    "it\n"
    "could not be run, 1 if pages cannot be listed, 2 if the command line is\n"
    "wrong.\n";

typedef struct options {
    const char *dir;
    bool lists, opens, no_profile;
} options;

static int failed(const char *what, const char *path)
{
    fprintf(stderr, "tgjit-inspect: cannot %s %s: %s\n", what, path,
            strerror(errno));
    return EXIT_FAILURE;
}

/* -- Pages ----------------------------------------------------------------- */

typedef struct page {
    char *file;  /* in the directory */
    char *title; /* as in the page, with entities */
    unsigned long long nodes, kernels, is_interpreted, calls, time_ns;
} page;

typedef struct page_list {
    page *all;
    size_t n, capacity;
} page_list;

/* The number in <meta name="tgjit-NAME" content="…">; 0 without one. */
static unsigned long long meta_number(const char *head, const char *name)
{
    char start[64];
    snprintf(start, sizeof(start), "<meta name=\"tgjit-%s\" content=\"", name);
    const char *at = strstr(head, start);
    return at ? strtoull(at + strlen(start), NULL, 10) : 0;
}

/* The beginning of a file, if it is a page; else false. */
static bool read_head(const char *path, char head[HEAD_BYTES])
{
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    const size_t n = fread(head, 1, HEAD_BYTES - 1, file);
    head[n] = 0;
    fclose(file);
    return strstr(head, "<meta name=\"generator\" content=\"tgjit-inspect\">");
}

static char *copy_between(const char *text, const char *begin, const char *end)
{
    const char *first = strstr(text, begin);
    const char *last = first ? strstr(first, end) : NULL;
    if (!last)
        return strdup("?");
    first += strlen(begin);
    return strndup(first, (size_t)(last - first));
}

static bool add_page(page_list *list, const char *file, const char *head)
{
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 16;
        page *all = realloc(list->all, capacity * sizeof(*all));
        if (!all)
            return false;
        list->all = all;
        list->capacity = capacity;
    }
    page *p = &list->all[list->n];
    *p = (page){.file = strdup(file),
                .title = copy_between(head, "<title>", "</title>"),
                .nodes = meta_number(head, "nodes"),
                .kernels = meta_number(head, "kernels"),
                .is_interpreted = meta_number(head, "interpreted"),
                .calls = meta_number(head, "calls"),
                .time_ns = meta_number(head, "time-ns")};
    list->n++;
    return p->file && p->title;
}

static void free_pages(page_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->all[i].file);
        free(list->all[i].title);
    }
    free(list->all);
}

static bool is_html(const char *name)
{
    const size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".html") == 0 &&
           strcmp(name, "index.html") != 0;
}

/* Calls `visit` for each page of the directory until it returns false. */
static bool visit_pages(const char *dir,
                        bool visit(const char *path, const char *name,
                                   const char *head, void *user),
                        void *user)
{
    char path[PATH_MAX], head[HEAD_BYTES];
    DIR *folder = opendir(dir);
    bool goes_on = folder != NULL;
    for (const struct dirent *entry;
         goes_on && (entry = readdir(folder)) != NULL;) {
        if (!is_html(entry->d_name) ||
            snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) >=
                (int)sizeof(path) ||
            !read_head(path, head))
            continue;
        goes_on = visit(path, entry->d_name, head, user);
    }
    if (folder)
        closedir(folder);
    return goes_on;
}

static bool collect_page(const char *path, const char *name, const char *head,
                         void *user)
{
    (void)path;
    return add_page(user, name, head);
}

static bool remove_page(const char *path, const char *name, const char *head,
                        void *user)
{
    (void)name, (void)head, (void)user;
    return unlink(path) == 0;
}

static int compare_pages(const void *a, const void *b)
{
    const page *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    return strcmp(x->file, y->file);
}

/* -- Output ---------------------------------------------------------------- */

/* "12.3 ms"; "-" for 0. */
static const char *time_text(unsigned long long ns, char text[32])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double time = (double)ns;
    size_t unit = 0;
    while (time >= 999.5 && unit < 3) {
        time /= 1000;
        unit++;
    }
    if (ns)
        snprintf(text, 32, "%.3g %s", time, units[unit]);
    return ns ? text : "-";
}

/* Replaces the entities that pages have, for a terminal. */
static void print_title(const char *title)
{
    static const char *const entities[][2] = {{"&lt;", "<"},
                                              {"&gt;", ">"},
                                              {"&amp;", "&"},
                                              {"&quot;", "\""},
                                              {"&#39;", "'"}};
    while (*title) {
        size_t n = 1;
        const char *text = NULL;
        for (size_t i = 0; i < 5 && !text; i++)
            if (strncmp(title, entities[i][0], strlen(entities[i][0])) == 0) {
                n = strlen(entities[i][0]);
                text = entities[i][1];
            }
        putchar(text ? *text : *title);
        title += n;
    }
}

static void print_pages(const options *o, const page_list *list)
{
    char text[32];
    printf("    time   calls kernels  nodes  page\n");
    for (size_t i = 0; i < list->n; i++) {
        const page *p = &list->all[i];
        printf("%8s %7llu ", time_text(p->time_ns, text), p->calls);
        if (p->is_interpreted)
            printf("      - ");
        else
            printf("%7llu ", p->kernels);
        printf("%6llu  %s/%s  ", p->nodes, o->dir, p->file);
        print_title(p->title);
        puts(p->is_interpreted ? " (interpreted)" : "");
    }
}

/* Text of an attribute or element; titles are escaped already. */
static void write_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            putc(*text, out);
        }
}

static const char index_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<title>tgjit-inspect</title>\n<style>\n"
    ":root{color-scheme:light dark;--bg:#f6f7f9;--panel:#fff;--text:#1c2330;"
    "--muted:#667085;--line:#dfe3ea;--accent:#2358d6}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#12151b;--panel:#1a1f28;"
    "--text:#dfe5ee;--muted:#93a0b4;--line:#2c3442;--accent:#7ea6ff}}\n"
    "body{margin:0 auto;max-width:1000px;padding:28px 20px;"
    "background:var(--bg);color:var(--text);"
    "font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,sans-serif}\n"
    "table{border-collapse:collapse;width:100%;background:var(--panel);"
    "border:1px solid var(--line);border-radius:10px}"
    "th,td{padding:8px 14px;text-align:right;"
    "border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums}"
    "th{color:var(--muted);font-size:12px}"
    "th:last-child,td:last-child{text-align:left;overflow-wrap:anywhere}"
    "a{color:var(--accent);text-decoration:none}\n</style></head>\n"
    "<body><h1>Functions</h1>\n<table><tr><th>time</th><th>calls</th>"
    "<th>kernels</th><th>nodes</th><th>function</th></tr>\n";

static bool write_index(const char *path, const page_list *list)
{
    char text[32];
    FILE *out = fopen(path, "w");
    if (!out)
        return false;
    fputs(index_head, out);
    for (size_t i = 0; i < list->n; i++) {
        const page *p = &list->all[i];
        fprintf(out, "<tr><td>%s</td><td>%llu</td>",
                time_text(p->time_ns, text), p->calls);
        if (p->is_interpreted)
            fputs("<td>interpreted</td>", out);
        else
            fprintf(out, "<td>%llu</td>", p->kernels);
        fprintf(out, "<td>%llu</td><td><a href=\"", p->nodes);
        write_escaped(out, p->file);
        fprintf(out, "\">%s</a></td></tr>\n", p->title);
    }
    fputs("</table></body></html>\n", out);
    const bool is_good = !ferror(out);
    return fclose(out) == 0 && is_good;
}

/* Starts the browser, whose output does not matter. */
static void open_in_browser(const char *path)
{
    const pid_t child = fork();
    if (child == 0) {
        execlp("xdg-open", "xdg-open", path, (char *)NULL);
        failed("run", "xdg-open");
        _exit(EXIT_NOT_RUN);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

/* Returns the exit status. */
static int report(const options *o)
{
    page_list list = {NULL, 0, 0};
    char index[PATH_MAX];
    int status = EXIT_SUCCESS;
    errno = 0;
    if (!visit_pages(o->dir, collect_page, &list)) {
        status = failed("read", o->dir);
    } else if (list.n == 0) {
        printf("no pages in %s: the program has called no function of "
               "libtgjit\n",
               o->dir);
    } else {
        qsort(list.all, list.n, sizeof(*list.all), compare_pages);
        print_pages(o, &list);
        snprintf(index, sizeof(index), "%s/index.html", o->dir);
        if (!write_index(index, &list))
            status = failed("write", index);
        else
            printf("index: %s\n", index);
        if (!status && o->opens)
            open_in_browser(index);
    }
    free_pages(&list);
    return status;
}

/* -- Running --------------------------------------------------------------- */

/* In the child: replaces it by the program. */
static void execute(const options *o, char **command)
{
    char dir[PATH_MAX], profile[PATH_MAX + 16];
    if (!realpath(o->dir, dir)) {
        failed("find", o->dir);
        _exit(EXIT_NOT_RUN);
    }
    snprintf(profile, sizeof(profile), "%s/profile.txt", dir);
    setenv("TGJIT_INSPECT", dir, 1);
    if (!o->no_profile)
        setenv("TGJIT_PROFILE", profile, 0);
    execvp(command[0], command);
    failed("run", command[0]);
    _exit(EXIT_NOT_RUN);
}

/* The exit status of the program, or of this one if it cannot be run. */
static int run(const options *o, char **command)
{
    int status;
    if (mkdir(o->dir, 0777) != 0 && errno != EEXIST)
        return failed("create", o->dir);
    errno = 0;
    if (!visit_pages(o->dir, remove_page, NULL))
        return failed("clear", o->dir);
    const pid_t child = fork();
    if (child == 0)
        execute(o, command);
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return failed("run", command[0]);
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    fprintf(stderr, "tgjit-inspect: %s was ended by signal %d\n", command[0],
            WTERMSIG(status));
    return EXIT_SIGNAL + WTERMSIG(status);
}

/* -- Command line ---------------------------------------------------------- */

static int use_wrongly(void)
{
    fputs(usage, stderr);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"output", required_argument, NULL, 'o'},
        {"no-profile", no_argument, NULL, 'n'},
        {"list", no_argument, NULL, 'l'},
        {"open", no_argument, NULL, 'b'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0}};
    options o = {.dir = "tgjit-inspect.out"};
    int option;
    while ((option = getopt_long(argc, argv, "+o:", known, NULL)) != -1)
        switch (option) {
        case 'o':
            o.dir = optarg;
            break;
        case 'n':
            o.no_profile = true;
            break;
        case 'l':
            o.lists = true;
            break;
        case 'b':
            o.opens = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        case 'v':
            printf("tgjit-inspect %s\n", tg_version());
            return EXIT_SUCCESS;
        default:
            return use_wrongly();
        }
    if (o.lists ? optind != argc : optind == argc)
        return use_wrongly();
    const int status = o.lists ? EXIT_SUCCESS : run(&o, argv + optind);
    if (status == EXIT_NOT_RUN)
        return status;
    const int reported = report(&o);
    return status ? status : reported;
}
