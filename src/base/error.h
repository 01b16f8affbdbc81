/* SPDX-License-Identifier: MIT */
/*
 * error.h - error propagation. The function that detects a failure fills the
 * thread's error record (TGI_FAIL or tgi_error_set) and returns a status.
 * Callers propagate the status (TGI_TRY) and leave the record alone.
 *
 * The record is not allocated, so "out of memory" can always be reported.
 */
#ifndef TGI_ERROR_H
#define TGI_ERROR_H

#include <stdarg.h>

#include "tgjit/base.h"

/*
 * Fills the record. The message starts with "file:line: " if the site has a
 * file. Returns `status`.
 */
tg_status tgi_error_set(tg_status status, tg_site site, const char *format,
                        ...) TG_PRINTF(3, 4);
tg_status tgi_error_setv(tg_status status, tg_site site, const char *format,
                         va_list args);

/* Records and returns TG_ERROR_OUT_OF_MEMORY. */
tg_status tgi_error_memory(void);

/* Records and returns TG_ERROR_FILE: "FUNCTION: cannot ACTION PATH: " and the
   text of the errno `reason`. ENOMEM is TG_ERROR_OUT_OF_MEMORY. */
tg_status tgi_error_file(const char *action, const char *path, int reason);

/*
 * Prefixes the site and, if not NULL, `who` to a record without a site, such as
 * that of a failed allocation.
 */
void tgi_error_locate(tg_site site, const char *who);

/*
 * Every public function sets its name and its context (or NULL) for error
 * records. Calls nest: tgi_api_enter returns the frame to pass to
 * tgi_api_leave.
 */
typedef struct tgi_api_frame {
    const tg_context *context;
    const char *function;
} tgi_api_frame;

tgi_api_frame tgi_api_enter(const tg_context *context, const char *function);
void tgi_api_leave(tgi_api_frame frame);

/* The function of the innermost frame, for messages; never NULL. */
const char *tgi_api_function(void);

/* A copy of the record, to restore it after clean-up that may fail itself. */
typedef struct tgi_error_copy {
    tg_error_record record;
    char message[1024];
    char file[256];
} tgi_error_copy;

void tgi_error_save(tgi_error_copy *out_copy);
void tgi_error_restore(const tgi_error_copy *copy);

/* For messages: the plural ending of a noun, and the verb. */
#define TGI_PLURAL(n) ((n) == 1 ? "" : "s")
#define TGI_WERE(n) ((n) == 1 ? "was" : "were")

/*
 * Calls clean_up(object), which may fail, and preserves the record. For
 * functions that call callbacks: a tgi_error_copy in their frame would cost
 * 1.3 KiB of stack per nesting level.
 */
void tgi_error_preserve_during(void (*clean_up)(void *object), void *object);

#define TGI_NO_SITE ((tg_site){NULL, 0})

/* The only macros that return. */
#define TGI_TRY(expr) \
    do { \
        tg_status tgi_status_ = (expr); \
        if (tgi_status_ != TG_OK) \
            return tgi_status_; \
    } while (0)

#define TGI_FAIL(status, site, ...) \
    return tgi_error_set((status), (site), __VA_ARGS__)

#endif /* TGI_ERROR_H */
