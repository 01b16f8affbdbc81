/* SPDX-License-Identifier: MIT */
/*
 * log.c - log settings and messages. Messages of 512 bytes or more need an
 * allocation; if it fails, they are truncated.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define LEVELS(X) \
    X(TG_LOG_OFF, "off") \
    X(TG_LOG_WARN, "warn") \
    X(TG_LOG_INFO, "info") \
    X(TG_LOG_DEBUG, "debug")

#define COMPONENTS(X) \
    X(TGI_LOG_TRACE, "trace") \
    X(TGI_LOG_PASS, "pass") \
    X(TGI_LOG_CALL, "call") \
    X(TGI_LOG_MEMORY, "memory") \
    X(TGI_LOG_JIT, "jit") \
    X(TGI_LOG_CACHE, "cache") \
    X(TGI_LOG_CONFIG, "config")

#define NAME(number, name) [number] = name,
static const char *const level_names[] = {LEVELS(NAME)};
static const char *const component_names[] = {COMPONENTS(NAME)};
_Static_assert(sizeof component_names / sizeof *component_names ==
                   TGI_LOG_COMPONENTS,
               "every component has a name");

/* A setting: the level in the lower bits, component bits above it. */
enum { LEVEL_MASK = 3, COMPONENT_SHIFT = 2 };

/* -- Settings -------------------------------------------------------------- */

const tgi_keyword tgi_log_keywords[] = {
#define LEVEL_KEYWORD(level, name) {name, level, LEVEL_MASK},
    LEVELS(LEVEL_KEYWORD)
#define COMPONENT_KEYWORD(component, name) \
    {"+" name, UINT32_C(1) << (COMPONENT_SHIFT + component), 0},
    COMPONENTS(COMPONENT_KEYWORD)
    {NULL, 0, 0},
};

void tgi_log_init(tgi_log *log, uint32_t setting, tg_log_callback *callback,
                  void *user)
{
    *log = (tgi_log){(tg_log_level)(setting & LEVEL_MASK),
                     setting >> COMPONENT_SHIFT, callback, user};
}

/* -- Messages -------------------------------------------------------------- */

bool tgi_log_is_enabled(const tgi_log *log, tg_log_level level,
                        tgi_log_component component)
{
    return level != TG_LOG_OFF &&
           (level <= log->level || (log->components >> component & 1) != 0);
}

static void deliver_message(const tgi_log *log, tg_log_level level,
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
    if (!tgi_log_is_enabled(log, level, component))
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
        deliver_message(log, level, component, large ? large : small);
    tgi_free(large);
    va_end(again);
    va_end(args);
}
