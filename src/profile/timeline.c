/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - see timeline.h.
 *
 * Events are formatted on the stack and appended to one buffer of fixed size
 * under a lock, about 150 ns together. A full buffer is written. Each write
 * ends with the bracket that closes the array, which the next write overwrites:
 * the file is valid JSON also if the process ends without closing it. The rest
 * of the buffer is written at exit.
 *
 * A forked child has no timeline: two processes cannot write one array.
 */
#include "profile/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/at_fork.h"
#include "base/error.h"
#include "base/temporary_file.h"

enum {
    BUFFER_BYTES = 1 << 16,
    EVENT_BYTES = 512, /* at most, of one event */
    NAME_BYTES = 128   /* at most, of one string */
};

static const char closing[] = "\n]\n";

static struct {
    pthread_mutex_t lock;
    int fd;            /* -1: no timeline */
    unsigned number;   /* of timelines opened so far */
    uint64_t pid;
    uint64_t start;    /* time 0 of the events */
    uint64_t n_bytes;  /* written, without the closing bracket */
    int failure;       /* errno of a failed write, or 0 */
    bool has_exit_handler;
    size_t n;          /* bytes in `buffer` */
    char buffer[BUFFER_BYTES];
} timeline = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static _Thread_local const char *thread_name;
static _Thread_local uint64_t thread_id; /* gettid(), or 0 */
/* The last timeline in which the thread has been named. */
static _Thread_local unsigned named_in;

static void forget_in_child(void)
{
    thread_id = 0;
    atomic_fetch_and(&tgi_profile_mode, ~(unsigned)TGI_TRACING);
    if (timeline.fd >= 0)
        (void)close(timeline.fd);
    timeline.fd = -1;
    timeline.n = 0;
}

TGI_LOCK_ACROSS_FORK(&timeline.lock, forget_in_child())

/* -- Text of an event ------------------------------------------------------ */

typedef struct text {
    char bytes[EVENT_BYTES];
    size_t n;
} text;

/* Sizes are such that everything fits: see EVENT_BYTES. */
static void put(text *t, const char *string)
{
    const size_t n = strlen(string);
    memcpy(t->bytes + t->n, string, n);
    t->n += n;
}

static void put_number(text *t, uint64_t number)
{
    char digits[20];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n)
        t->bytes[t->n++] = digits[--n];
}

/* Microseconds, with three decimals. */
static void put_time(text *t, uint64_t ns)
{
    put_number(t, ns / 1000);
    t->bytes[t->n++] = '.';
    t->bytes[t->n++] = (char)('0' + ns / 100 % 10);
    t->bytes[t->n++] = (char)('0' + ns / 10 % 10);
    t->bytes[t->n++] = (char)('0' + ns % 10);
}

/* Bytes that JSON would need to escape become '?'. */
static void put_quoted(text *t, const char *string)
{
    t->bytes[t->n++] = '"';
    for (size_t i = 0; string[i] && i < NAME_BYTES; i++) {
        const unsigned char c = (unsigned char)string[i];
        t->bytes[t->n++] =
            c < 0x20 || c >= 0x7f || c == '"' || c == '\\' ? '?' : (char)c;
    }
    t->bytes[t->n++] = '"';
}

/* The fixed parts of an event take less than 128 bytes. */
_Static_assert(3 * (NAME_BYTES + 2) + 122 <= EVENT_BYTES, "events fit");

/* -- The file; lock held --------------------------------------------------- */

static void write_buffer(void)
{
    if (timeline.fd < 0 || timeline.failure)
        return;
    memcpy(timeline.buffer + timeline.n, closing, sizeof(closing) - 1);
    if (lseek(timeline.fd, (off_t)timeline.n_bytes, SEEK_SET) < 0)
        timeline.failure = errno;
    else
        timeline.failure =
            tgi_temporary_append(timeline.fd, timeline.n_bytes, timeline.buffer,
                                 timeline.n + sizeof(closing) - 1);
    timeline.n_bytes += timeline.n;
    timeline.n = 0;
}

static void append_event(const text *t)
{
    if (timeline.fd < 0 || timeline.failure)
        return;
    if (timeline.n + t->n + sizeof(closing) > BUFFER_BYTES)
        write_buffer();
    memcpy(timeline.buffer + timeline.n, t->bytes, t->n);
    timeline.n += t->n;
}

static void write_at_exit(void)
{
    pthread_mutex_lock(&timeline.lock);
    write_buffer();
    pthread_mutex_unlock(&timeline.lock);
}

static void put_process_name(text *t)
{
    put(t, "[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":");
    put_number(t, timeline.pid);
    put(t, ",\"args\":{\"name\":\"tgjit\"}}");
}

tg_status tgi_timeline_open(const char *path)
{
    tg_status status = TG_OK;
    pthread_mutex_lock(&timeline.lock);
    const bool is_busy = timeline.fd >= 0;
    if (!is_busy) {
        timeline.fd =
            open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        timeline.number++;
        timeline.start = tgi_clock_ns();
        timeline.n_bytes = timeline.n = 0;
        timeline.failure = 0;
        timeline.pid = (uint64_t)getpid();
        text t;
        t.n = 0;
        put_process_name(&t);
        append_event(&t);
        write_buffer();
        if (timeline.fd < 0)
            status = tgi_error_file("create", path, errno);
        else if (timeline.failure)
            status = tgi_error_file("write", path, timeline.failure);
        if (status && timeline.fd >= 0) {
            (void)close(timeline.fd);
            timeline.fd = -1;
        }
        if (!status && !timeline.has_exit_handler)
            timeline.has_exit_handler = atexit(write_at_exit) == 0;
    }
    pthread_mutex_unlock(&timeline.lock);
    if (is_busy)
        TGI_FAIL(TG_ERROR_BUSY, TGI_NO_SITE,
                 "%s: a timeline is being written already", tgi_api_function());
    if (!status)
        atomic_fetch_or(&tgi_profile_mode, TGI_TRACING);
    return status;
}

tg_status tgi_timeline_close(void)
{
    pthread_mutex_lock(&timeline.lock);
    atomic_fetch_and(&tgi_profile_mode, ~(unsigned)TGI_TRACING);
    const bool is_open = timeline.fd >= 0;
    write_buffer();
    int failure = timeline.failure;
    if (is_open && close(timeline.fd) != 0 && !failure)
        failure = errno;
    timeline.fd = -1;
    timeline.failure = 0;
    pthread_mutex_unlock(&timeline.lock);
    return is_open && failure ? tgi_error_file("write", "the timeline", failure)
                              : TG_OK;
}

/* -- Events ---------------------------------------------------------------- */

void tgi_timeline_name_thread(const char *name)
{
    thread_name = name;
}

static void put_thread(text *t)
{
    put(t, ",\"pid\":");
    put_number(t, timeline.pid);
    put(t, ",\"tid\":");
    put_number(t, thread_id);
}

static void append_thread_name(void)
{
    const bool is_main = thread_id == timeline.pid;
    text t;
    t.n = 0;
    put(&t, ",\n{\"ph\":\"M\",\"name\":\"thread_name\"");
    put_thread(&t);
    put(&t, ",\"args\":{\"name\":");
    put_quoted(&t, thread_name ? thread_name : is_main ? "main" : "thread");
    put(&t, "}}");
    append_event(&t);
}

void tgi_timeline_add(const char *category, const char *name,
                      const char *detail, uint64_t begin, uint64_t end)
{
    if (!tgi_profile_mode_has(TGI_TRACING))
        return;
    if (!thread_id)
        thread_id = (uint64_t)syscall(SYS_gettid);
    text t;
    t.n = 0;
    put(&t, ",\n{\"ph\":\"X\",\"cat\":");
    put_quoted(&t, category);
    put(&t, ",\"name\":");
    put_quoted(&t, name);
    if (detail) {
        put(&t, ",\"args\":{\"detail\":");
        put_quoted(&t, detail);
        put(&t, "}");
    }
    pthread_mutex_lock(&timeline.lock);
    /* An event that began before the timeline is not part of it. */
    if (begin >= timeline.start && timeline.fd >= 0) {
        if (named_in != timeline.number)
            append_thread_name();
        named_in = timeline.number;
        put_thread(&t);
        put(&t, ",\"ts\":");
        put_time(&t, begin - timeline.start);
        put(&t, ",\"dur\":");
        put_time(&t, end - begin);
        put(&t, "}");
        append_event(&t);
    }
    pthread_mutex_unlock(&timeline.lock);
}

/* One end of an asynchronous event: `phase` is b or e. */
static void append_end(const char *phase, const char *track, const char *name,
                       uint64_t id, uint64_t at)
{
    text t;
    t.n = 0;
    put(&t, ",\n{\"ph\":\"");
    put(&t, phase);
    put(&t, "\",\"cat\":");
    put_quoted(&t, track);
    put(&t, ",\"name\":");
    put_quoted(&t, name);
    put(&t, ",\"id\":");
    put_number(&t, id);
    put_thread(&t);
    put(&t, ",\"ts\":");
    put_time(&t, at - timeline.start);
    put(&t, "}");
    append_event(&t);
}

void tgi_timeline_add_span(const char *track, const char *name, uint64_t begin,
                           uint64_t end)
{
    static uint64_t n_spans; /* lock held */
    if (!tgi_profile_mode_has(TGI_TRACING))
        return;
    if (!thread_id)
        thread_id = (uint64_t)syscall(SYS_gettid);
    pthread_mutex_lock(&timeline.lock);
    if (begin >= timeline.start && end >= begin && timeline.fd >= 0) {
        n_spans++;
        append_end("b", track, name, n_spans, begin);
        append_end("e", track, name, n_spans, end);
    }
    pthread_mutex_unlock(&timeline.lock);
}
