/* SPDX-License-Identifier: MIT */
/*
 * tgjit_cache.c - tgjit-cache: lists, verifies, measures and clears the disk
 * cache of compiled code. Uses public headers only.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tgjit.h"

enum { EXIT_USAGE = 2 };

static const char usage[] =
    "Usage: tgjit-cache [--dir=DIR] COMMAND\n"
    "\n"
    "Administers libtgjit's disk cache of compiled code.\n"
    "\n"
    "  list               print the entries, least recently used first: last\n"
    "                     use, bytes, file, description\n"
    "  verify [--delete]  read all entries, count good and bad ones; with\n"
    "                     --delete, remove the bad ones\n"
    "  size               print the number of entries and their bytes\n"
    "  clear              remove all entries\n"
    "\n"
    "  --dir=DIR          the directory; default: TGJIT_CACHE_DIR, else\n"
    "                     $XDG_CACHE_HOME/tgjit, else ~/.cache/tgjit\n"
    "  --help, --version\n"
    "\n"
    "Exit status: 0 on success, 1 if a command failed or bad entries remain,\n"
    "2 if the command line is wrong.\n";

typedef struct options {
    const char *dir;
    bool deletes;
} options;

static int failed(void)
{
    fprintf(stderr, "tgjit-cache: %s\n", tg_error(NULL));
    return EXIT_FAILURE;
}

/* -- Commands: each returns the exit status -------------------------------- */

static bool print_entry(const tg_cache_entry *entry, void *user)
{
    (void)user;
    char when[32] = "?";
    const time_t seconds = (time_t)entry->last_use;
    struct tm parts;
    if (localtime_r(&seconds, &parts))
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &parts);
    printf("%s %10" PRIu64 "  %s  %s\n", when, entry->bytes, entry->name,
           entry->description);
    return !ferror(stdout);
}

static int list(const options *o)
{
    return tg_cache_list(o->dir, print_entry, NULL) ? failed() : EXIT_SUCCESS;
}

static int verify(const options *o)
{
    tg_cache_report report = TG_CACHE_REPORT_INIT;
    if (tg_cache_verify(o->dir, o->deletes, &report))
        return failed();
    printf("%" PRIu64 " good, %" PRIu64 " bad%s", report.good, report.bad,
           o->deletes && report.bad ? " (removed)" : "");
    if (report.foreign)
        printf(", %" PRIu64 " of another version", report.foreign);
    if (report.unread)
        printf(", %" PRIu64 " cannot be read", report.unread);
    printf("\n");
    return report.unread || (report.bad && !o->deletes) ? EXIT_FAILURE
                                                        : EXIT_SUCCESS;
}

static int size(const options *o)
{
    size_t n_entries;
    uint64_t bytes;
    if (tg_cache_size(o->dir, &n_entries, &bytes))
        return failed();
    printf("%zu %s, %" PRIu64 " bytes\n", n_entries,
           n_entries == 1 ? "entry" : "entries", bytes);
    return EXIT_SUCCESS;
}

static int clear(const options *o)
{
    return tg_cache_clear(o->dir) ? failed() : EXIT_SUCCESS;
}

static const struct command {
    const char *name;
    int (*run)(const options *o);
} commands[] = {
    {"list", list},
    {"verify", verify},
    {"size", size},
    {"clear", clear},
};

/* -- The command line ------------------------------------------------------ */

/* The command named by the only remaining argument; NULL after an error
   message. */
static const struct command *find_command(int argc, char **argv,
                                          const options *o)
{
    if (argc - optind != 1) {
        if (argc == optind)
            fprintf(stderr, "tgjit-cache: no command; see --help\n");
        else
            fprintf(stderr,
                    "tgjit-cache: unexpected argument '%s' after '%s'; see "
                    "--help\n",
                    argv[optind + 1], argv[optind]);
        return NULL;
    }
    const char *name = argv[optind];
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0) {
            if (!o->deletes || commands[i].run == verify)
                return &commands[i];
            fprintf(stderr,
                    "tgjit-cache: --delete applies to verify, not to %s\n",
                    name);
            return NULL;
        }
    fprintf(stderr,
            "tgjit-cache: unknown command '%s'; use list, verify, size or "
            "clear\n",
            name);
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"dir", required_argument, NULL, 'd'},
        {"delete", no_argument, NULL, 'D'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    options o = {0};
    int letter;
    while ((letter = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        switch (letter) {
        case 'd':
            o.dir = optarg;
            break;
        case 'D':
            o.deletes = true;
            break;
        case 'h':
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        case 'V':
            printf("tgjit-cache %s\n", tg_version());
            return EXIT_SUCCESS;
        default: /* getopt has printed a message */
            return EXIT_USAGE;
        }
    const struct command *command = find_command(argc, argv, &o);
    if (!command)
        return EXIT_USAGE;
    int status = command->run(&o);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("tgjit-cache");
        status = EXIT_FAILURE;
    }
    return status;
}
