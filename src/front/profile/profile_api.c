/* SPDX-License-Identifier: MIT */
/*
 * profile_api.c - tg_profile_*, and the reports that are written at exit.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/versioned.h"
#include "front/profile/profile_report.h"
#include "front/profile/profile_session.h"
#include "profile/timeline.h"
#include "tgjit/profile.h"

/* -- Reports --------------------------------------------------------------- */

typedef struct report {
    tg_profile_format format;
    const tgi_roof *roof;
    tgi_strbuf text;
} report;

static void print_report(const tgi_profile_view *view, void *user)
{
    report *r = user;
    if (r->format == TG_PROFILE_JSON)
        tgi_profile_print_json(view, r->roof, &r->text);
    else
        tgi_profile_print_table(view, r->roof, &r->text);
}

/* NULL when out of memory. */
static char *make_report(tg_profile_format format)
{
    report r = {.format = format, .roof = tgi_roof_get()};
    tgi_profile_read(print_report, &r);
    return tgi_strbuf_take(&r.text);
}

/* -- State ----------------------------------------------------------------- */

/* Without a lock: the store and the timeline have theirs. */
static struct {
    atomic_bool has_profile, has_timeline; /* of settings, or had one */
    atomic_bool owns_timeline;             /* tg_profile_start has opened it */
    /* If has_profile: where the report goes, and the process that writes it. A
       forked child does not. */
    int fd;
    tg_profile_format format;
    pid_t writer;
} session;

/* -- Public functions ------------------------------------------------------ */

tg_status tg_profile_start(const tg_profile_options *user_options)
{
    tgi_api_frame frame = tgi_api_enter(NULL, __func__);
    tg_profile_options options;
    tg_status status = tgi_versioned_read(&options, sizeof(options),
                                          user_options, "tg_profile_options");
    if (!status && options.trace_file &&
        !(status = tgi_timeline_open(options.trace_file)))
        atomic_store(&session.owns_timeline, true);
    if (!status)
        tgi_profile_begin();
    tgi_api_leave(frame);
    return status;
}

tg_status tg_profile_stop(void)
{
    tgi_api_frame frame = tgi_api_enter(NULL, __func__);
    tgi_profile_end();
    /* One that TGJIT_TRACE has opened goes on until exit. */
    const tg_status status = atomic_exchange(&session.owns_timeline, false)
                                 ? tgi_timeline_close()
                                 : TG_OK;
    tgi_api_leave(frame);
    return status;
}

void tg_profile_clear(void)
{
    tgi_profile_clear();
}

char *tg_profile_report(tg_profile_format format)
{
    tgi_api_frame frame = tgi_api_enter(NULL, __func__);
    char *text = NULL;
    if (format != TG_PROFILE_TABLE && format != TG_PROFILE_JSON)
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "tg_profile_report: %d is not a format", (int)format);
    else if (!(text = make_report(format)))
        tgi_error_memory();
    tgi_api_leave(frame);
    return text;
}

/* -- Sessions -------------------------------------------------------------- */

/* What a full disk refuses is lost: there is nobody to tell. */
static void write_text(int fd, const char *text)
{
    size_t n = strlen(text);
    while (n) {
        const ssize_t written = write(fd, text, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        text += written;
        n -= (size_t)written;
    }
}

static void write_report_at_exit(void)
{
    tgi_profile_end();
    if (getpid() != session.writer)
        return;
    char *text = make_report(session.format);
    if (text)
        write_text(session.fd, text);
    tgi_free(text);
    tgi_profile_clear(); /* the process may check that nothing is allocated */
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static tg_status begin_profile(const char *target)
{
    const bool is_json = strcmp(target, "json") == 0;
    session.fd = STDERR_FILENO;
    session.writer = getpid();
    session.format = is_json || ends_with(target, ".json") ? TG_PROFILE_JSON
                                                           : TG_PROFILE_TABLE;
    if (!is_json && strcmp(target, "table") != 0)
        session.fd =
            open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (session.fd < 0)
        return tgi_error_file("create", target, errno);
    if (atexit(write_report_at_exit) != 0)
        return tgi_error_memory();
    tgi_profile_begin();
    return TG_OK;
}

/* Calls `begin` unless it has succeeded before, as *has_begun says. */
static tg_status begin_once(atomic_bool *has_begun,
                            tg_status (*begin)(const char *text),
                            const char *text)
{
    if (atomic_exchange(has_begun, true))
        return TG_OK;
    const tg_status status = begin(text);
    if (status)
        atomic_store(has_begun, false);
    return status;
}

tg_status tgi_profile_session_begin(const char *target)
{
    return begin_once(&session.has_profile, begin_profile, target);
}

tg_status tgi_timeline_session_begin(const char *path)
{
    return begin_once(&session.has_timeline, tgi_timeline_open, path);
}

/* -- Spans of the program -------------------------------------------------- */

bool tg_timeline_is_on(void)
{
    return tgi_profile_mode_has(TGI_TRACING);
}

uint64_t tg_timeline_now(void)
{
    return tgi_clock_ns();
}

void tg_timeline_span(const char *track, const char *name, uint64_t begin,
                      uint64_t end)
{
    tgi_timeline_add_span(track ? track : "", name ? name : "", begin, end);
}
