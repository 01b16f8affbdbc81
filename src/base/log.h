/* SPDX-License-Identifier: MIT */
/*
 * log.h - log messages, to a callback or stderr, never stdout. A setting is
 * "level" or "level,+component,…". Levels are off, warn, info and debug;
 * +component enables all messages of a component at any level.
 */
#ifndef TGI_LOG_H
#define TGI_LOG_H

#include "base/keyword.h"
#include "tgjit/base.h"

typedef enum tgi_log_component {
    TGI_LOG_TRACE,
    TGI_LOG_PASS,
    TGI_LOG_CALL,
    TGI_LOG_MEMORY,
    TGI_LOG_JIT,
    TGI_LOG_CACHE,
    TGI_LOG_CONFIG,
    TGI_LOG_COMPONENTS
} tgi_log_component;

typedef struct tgi_log {
    tg_log_level level;
    unsigned components; /* bits of the components enabled with + */
    tg_log_callback *callback;
    void *user;
} tgi_log;

/* Keywords of a setting: levels, each overriding an earlier one, and
   "+component". */
extern const tgi_keyword tgi_log_keywords[];

/* `setting` is a level or the bits of tgi_log_keywords. */
void tgi_log_init(tgi_log *log, uint32_t setting, tg_log_callback *callback,
                  void *user);

bool tgi_log_is_enabled(const tgi_log *log, tg_log_level level,
                        tgi_log_component component);
void tgi_log_write(const tgi_log *log, tg_log_level level,
                   tgi_log_component component, const char *format, ...)
    TG_PRINTF(4, 5);

#endif /* TGI_LOG_H */
