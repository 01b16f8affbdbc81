/* SPDX-License-Identifier: MIT */
/*
 * error.c - the calling thread's error record. Its strings are in fixed
 * buffers, so recording a failure cannot fail; long strings are truncated.
 */
#include "base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/initial_exec_tls.h"

/* Its pointers refer to the literal "", to its own buffers, or to static
   text. */
static _Thread_local tgi_error_copy last = {.record = {.message = ""}};
static _Thread_local tgi_api_frame current TGI_INITIAL_EXEC_TLS;

tg_status tgi_error_setv(tg_status status, tg_site site, const char *format,
                         va_list args)
{
    assert(status != TG_OK);

    /* Not built in place: the arguments may point into the record. */
    tgi_error_copy next = {0};
    int used = 0;
    if (site.file) {
        snprintf(next.file, sizeof next.file, "%s", site.file);
        used = snprintf(next.message, sizeof next.message, "%s:%d: ", next.file,
                        site.line);
    }
    vsnprintf(next.message + used, sizeof next.message - (size_t)used, format,
              args);
    next.record = (tg_error_record){
        .status = status,
        .message = next.message,
        .file = site.file ? next.file : NULL,
        .line = site.file ? site.line : 0,
        .function = current.function,
        .context = current.context,
    };
    tgi_error_restore(&next);
    return status;
}

tg_status tgi_error_set(tg_status status, tg_site site, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tgi_error_setv(status, site, format, args);
    va_end(args);
    return status;
}

tg_status tgi_error_memory(void)
{
    return tgi_error_set(TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE, "out of memory");
}

tg_status tgi_error_file(const char *action, const char *path, int reason)
{
    char buf[128];
    if (reason == ENOMEM)
        return tgi_error_memory();
    return tgi_error_set(TG_ERROR_FILE, TGI_NO_SITE, "%s: cannot %s %.600s: %s",
                         tgi_api_function(), action, path,
                         strerror_r(reason, buf, sizeof(buf)));
}

void tgi_error_locate(tg_site site, const char *who)
{
    if (last.record.status != TG_OK && !last.record.file && site.file)
        tgi_error_set(last.record.status, site, "%s%s%s", who ? who : "",
                      who ? ": " : "", last.record.message);
}

/* -- API frames ------------------------------------------------------------ */

tgi_api_frame tgi_api_enter(const tg_context *context, const char *function)
{
    tgi_api_frame outer = current;
    current = (tgi_api_frame){context, function};
    return outer;
}

void tgi_api_leave(tgi_api_frame frame)
{
    current = frame;
}

const char *tgi_api_function(void)
{
    return current.function ? current.function : "tgjit";
}

/* -- Copies ---------------------------------------------------------------- */

/* Copies a record; pointers to its buffers become pointers to the copy's. */
static void copy_record(tgi_error_copy *to, const tgi_error_copy *from)
{
    *to = *from;
    if (from->record.message == from->message)
        to->record.message = to->message;
    if (from->record.file)
        to->record.file = to->file;
}

void tgi_error_save(tgi_error_copy *out_copy)
{
    copy_record(out_copy, &last);
}

void tgi_error_restore(const tgi_error_copy *copy)
{
    copy_record(&last, copy);
}

void tgi_error_preserve_during(void (*clean_up)(void *object), void *object)
{
    tgi_error_copy error;
    tgi_error_save(&error);
    clean_up(object);
    tgi_error_restore(&error);
}

/* -- Public ---------------------------------------------------------------- */

tg_status tg_error_set(const tg_context *ctx, tg_status status, tg_site site,
                       const char *format, ...)
{
    const tgi_api_frame frame = tgi_api_enter(ctx, NULL);
    va_list args;
    va_start(args, format);
    status = tgi_error_setv(status == TG_OK ? TG_ERROR_INTERNAL : status, site,
                            format ? format : "failed", args);
    va_end(args);
    tgi_api_leave(frame);
    return status;
}

const char *tg_error(const tg_context *ctx)
{
    return !ctx || last.record.context == ctx ? last.record.message : "";
}

const tg_error_record *tg_error_last(void)
{
    return &last.record;
}

void tg_error_clear(void)
{
    last.record = (tg_error_record){.message = ""};
}

const char *tg_status_name(tg_status status)
{
    static const char *const names[] = {
        [TG_OK] = "ok",
        [TG_ERROR_INVALID_ARGUMENT] = "invalid argument",
        [TG_ERROR_OUT_OF_MEMORY] = "out of memory",
        [TG_ERROR_OVERFLOW] = "overflow",
        [TG_ERROR_DTYPE] = "dtype error",
        [TG_ERROR_SHAPE] = "shape error",
        [TG_ERROR_INDEX] = "index error",
        [TG_ERROR_TRACE] = "trace error",
        [TG_ERROR_RECURSION] = "recursion",
        [TG_ERROR_SIGNATURE] = "signature error",
        [TG_ERROR_STATE] = "state error",
        [TG_ERROR_BUSY] = "busy",
        [TG_ERROR_CALLBACK] = "callback failed",
        [TG_ERROR_UNSUPPORTED] = "unsupported",
        [TG_ERROR_INTERNAL] = "internal error",
        [TG_ERROR_FILE] = "file error",
        [TG_ERROR_LIMIT] = "limit reached",
        [TG_ERROR_ASSERT] = "assertion failed",
        [TG_END_OF_DATA] = "end of data",
        [TG_ERROR_CANCELLED] = "cancelled",
        [TG_ERROR_DEADLINE] = "deadline passed",
    };
    const size_t n = sizeof names / sizeof *names;
    return (size_t)status < n ? names[status] : "unknown status";
}
