/* SPDX-License-Identifier: MIT */
/*
 * error.h - how failures travel. The function that finds a failure fills the
 * thread's record (TGI_FAIL or tgi_error_set) and returns a status; callers
 * pass the status on (TGI_TRY). The record is written once per failure, by
 * the one who knows most; who only knows "a callee failed" stays silent.
 *
 * The record needs no memory, so that "out of memory" can always be told.
 */
#ifndef TGI_ERROR_H
#define TGI_ERROR_H

#include <stdarg.h>

#include "tgjit/base.h"

/*
 * Fills the record: "file:line: " goes in front when the site has a file.
 * Returns `status`.
 */
tg_status tgi_error_set(tg_status status, tg_site site, const char *format,
                        ...) TG_PRINTF(3, 4);
tg_status tgi_error_setv(tg_status status, tg_site site, const char *format,
                         va_list args);

/* The usual words for TG_ERROR_OUT_OF_MEMORY. */
tg_status tgi_error_memory(void);

/* TG_ERROR_FILE: "FUNCTION: PATH cannot be DONE: " and the text of the errno
   `reason`; ENOMEM is TG_ERROR_OUT_OF_MEMORY. */
tg_status tgi_error_file(const char *path, const char *done, int reason);

/*
 * Adds the place, and who failed if that is not NULL, to a record that has no
 * place: what fails below, such as an allocation, does not know it.
 */
void tgi_error_locate(tg_site site, const char *who);

/*
 * API entry points name themselves and their context, so that the record can
 * tell; NULL when there is none. Nests: returns what to restore at the end.
 */
typedef struct tgi_api_frame {
    const tg_context *context;
    const char *function;
} tgi_api_frame;

tgi_api_frame tgi_api_enter(const tg_context *context, const char *function);
void tgi_api_leave(tgi_api_frame frame);

/* The function of the innermost frame, for messages; never NULL. */
const char *tgi_api_function(void);

/* A copy of the record, to set it again after clean-up that may fail too. */
typedef struct tgi_error_copy {
    tg_error_record record;
    char message[1024];
    char file[256];
} tgi_error_copy;

void tgi_error_save(tgi_error_copy *out_copy);
void tgi_error_restore(const tgi_error_copy *copy);

/* The ending of a noun behind a number, in messages. */
#define TGI_PLURAL(n) ((n) == 1 ? "" : "s")
#define TGI_WERE(n) ((n) == 1 ? "was" : "were")

/*
 * Calls clean_up(object), which may fail too, and keeps the record. For
 * functions under which callbacks nest: a copy of their own would cost every
 * level 1.3 KiB of stack.
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
