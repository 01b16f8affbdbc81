/* SPDX-License-Identifier: MIT */
/*
 * log.c - reads log settings and writes messages. A message needs memory only
 * if it is long; without it, it is cut.
 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"

static const char *const level_names[] = {
    [TG_LOG_OFF] = "off",
    [TG_LOG_WARN] = "warn",
    [TG_LOG_INFO] = "info",
    [TG_LOG_DEBUG] = "debug",
};
#define LEVELS (sizeof level_names / sizeof *level_names)

static const char *const component_names[TGI_LOG_COMPONENTS] = {
    [TGI_LOG_TRACE] = "trace", [TGI_LOG_PASS] = "pass",
    [TGI_LOG_CALL] = "call",   [TGI_LOG_MEMORY] = "memory",
    [TGI_LOG_JIT] = "jit",     [TGI_LOG_CACHE] = "cache",
    [TGI_LOG_CONFIG] = "config",
};

/* -- Settings -------------------------------------------------------------- */

/* A part of the setting, not terminated. */
typedef struct word {
    const char *text;
    size_t n;
} word;

/* The next word between commas, blanks around it gone; false at the end. */
static bool next_word(const char **rest, word *out_word)
{
    const char *text = *rest + strspn(*rest, ", \t");
    size_t n = strcspn(text, ",");
    *rest = text + n;
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    *out_word = (word){text, n};
    return n > 0;
}

static bool are_equal(word a, word b)
{
    return a.n == b.n && memcmp(a.text, b.text, a.n) == 0;
}

/* Position among the names, or -1. */
static int find(const char *const *names, size_t n_names, word wanted)
{
    for (size_t i = 0; i < n_names; i++)
        if (are_equal(wanted, (word){names[i], strlen(names[i])}))
            return (int)i;
    return -1;
}

/* False if the word means nothing. */
static bool apply(tgi_log *log, word setting)
{
    if (setting.text[0] == '+') {
        const word name = {setting.text + 1, setting.n - 1};
        const int component = find(component_names, TGI_LOG_COMPONENTS, name);
        if (component >= 0)
            log->components |= 1u << component;
        return component >= 0;
    }
    const int level = find(level_names, LEVELS, setting);
    if (level >= 0)
        log->level = (tg_log_level)level;
    return level >= 0;
}

static bool occurs_before(const char *setting, word wanted)
{
    word seen;
    while (next_word(&setting, &seen) && seen.text != wanted.text)
        if (are_equal(seen, wanted))
            return true;
    return false;
}

void tgi_log_init(tgi_log *log, const char *setting, tg_log_callback *callback,
                  void *user)
{
    *log = (tgi_log){TG_LOG_WARN, 0, callback, user};
    if (!setting)
        return;
    word part;
    const char *rest = setting;
    while (next_word(&rest, &part))
        apply(log, part);

    /* A second time, as the level is known only now. */
    tgi_log seen = *log;
    rest = setting;
    while (next_word(&rest, &part))
        if (!apply(&seen, part) && !occurs_before(setting, part))
            tgi_log_write(log, TG_LOG_WARN, TGI_LOG_CONFIG,
                          "unknown word \"%.*s\" in the log setting",
                          (int)part.n, part.text);
}

/* -- Messages -------------------------------------------------------------- */

bool tgi_log_wants(const tgi_log *log, tg_log_level level,
                   tgi_log_component component)
{
    return level != TG_LOG_OFF &&
           (level <= log->level || (log->components >> component & 1) != 0);
}

static void emit(const tgi_log *log, tg_log_level level,
                 tgi_log_component component, const char *message)
{
    if (log->callback)
        log->callback(level, component_names[component], message, log->user);
    else
        fprintf(stderr, "tgjit: %s: %s: %s\n", level_names[level],
                component_names[component], message);
}

void tgi_log_write(const tgi_log *log, tg_log_level level,
                   tgi_log_component component, const char *format, ...)
{
    if (!tgi_log_wants(log, level, component))
        return;
    char small[512];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(small, sizeof small, format, args);
    char *large = NULL;
    if (n >= (int)sizeof small)
        large = tgi_alloc((size_t)n + 1);
    if (large)
        vsnprintf(large, (size_t)n + 1, format, again);
    if (n >= 0)
        emit(log, level, component, large ? large : small);
    tgi_free(large);
    va_end(again);
    va_end(args);
}
