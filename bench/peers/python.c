/* SPDX-License-Identifier: MIT */
/*
 * python.c - see python.h.
 */
#include "python.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MAX_ARGUMENTS = 8 };

struct python {
    pid_t process;
    int socket; /* standard input and output of the process */
    bool is_paused, has_failed;
};

static double timeout_seconds = 300;

void python_set_timeout(double seconds)
{
    timeout_seconds = seconds;
}

/* -- The interpreter ------------------------------------------------------- */

/* NULL if there is none. */
static const char *interpreter(void)
{
    static char path[512];
    const char *named = getenv("TGJIT_BENCH_PYTHON");
    if (named && *named)
        return named;
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool has_cache = cache && *cache;
    if (!has_cache && !home)
        return NULL;
    const int n = snprintf(path, sizeof(path),
                           "%s%s/tgjit-peers/bin/python",
                           has_cache ? cache : home,
                           has_cache ? "" : "/.cache");
    return n > 0 && n < (int)sizeof(path) && access(path, X_OK) == 0 ? path
                                                                     : NULL;
}

static bool spawn(const char *const *argv, int fd, pid_t *out_process)
{
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return false;
    const bool did =
        !posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO) &&
        !posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO) &&
        !posix_spawnp(out_process, argv[0], &actions, NULL,
                      (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return did;
}

/* -- Processes ------------------------------------------------------------- */

static void set_timeout(int fd)
{
    const double whole = floor(timeout_seconds);
    const struct timeval time = {
        .tv_sec = (time_t)whole,
        .tv_usec = (suseconds_t)((timeout_seconds - whole) * 1e6),
    };
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
}

python *python_start(const char *const *arguments, reason *out_why)
{
    const char *argv[MAX_ARGUMENTS + 2] = {interpreter()};
    if (!argv[0]) {
        reason_set(out_why, "no Python: run bench/peers/setup, or set "
                            "TGJIT_BENCH_PYTHON");
        return NULL;
    }
    for (size_t i = 0; i < MAX_ARGUMENTS && arguments[i]; i++)
        argv[i + 1] = arguments[i];
    return python_start_program(argv, out_why);
}

python *python_start_program(const char *const *argv, reason *out_why)
{
    int ends[2];
    python *p = calloc(1, sizeof(*p));
    if (!p || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        reason_set(out_why, "out of memory or descriptors");
        free(p);
        return NULL;
    }
    const bool did = spawn(argv, ends[1], &p->process);
    close(ends[1]);
    set_timeout(ends[0]);
    p->socket = ends[0];
    if (did)
        return p;
    reason_set(out_why, "cannot run %s", argv[0]);
    close(ends[0]);
    free(p);
    return NULL;
}

void python_pause(python *p)
{
    (void)kill(p->process, SIGSTOP);
    p->is_paused = true;
}

void python_resume(python *p)
{
    if (p->is_paused)
        (void)kill(p->process, SIGCONT);
    p->is_paused = false;
}

void python_stop(python *p)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    if (!p)
        return;
    if (p->has_failed)
        (void)kill(p->process, SIGKILL);
    python_resume(p);
    close(p->socket); /* the program ends with its input */
    bool has_exited = false;
    for (int i = 0; i < 300 && !has_exited; i++) {
        has_exited = waitpid(p->process, NULL, WNOHANG) != 0;
        if (!has_exited)
            nanosleep(&moment, NULL);
    }
    if (!has_exited) {
        (void)kill(p->process, SIGKILL);
        (void)waitpid(p->process, NULL, 0);
    }
    free(p);
}

/* -- Requests -------------------------------------------------------------- */

static const char exited[] = "the process has exited";

static bool fail(python *p, reason *out_why, const char *what)
{
    p->has_failed = true;
    reason_set(out_why, "%s", what);
    return false;
}

/* Writing to a process that has exited fails, without a signal. */
static bool send_text(const python *p, const char *text, size_t bytes)
{
    return send(p->socket, text, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

bool python_send(python *p, const char *line, reason *out_why)
{
    if (!p->has_failed && send_text(p, line, strlen(line)) &&
        send_text(p, "\n", 1))
        return true;
    return fail(p, out_why, exited);
}

/* Fails if there is more than a line. A process that was stopped and continues
   is interrupted. */
bool python_receive(python *p, char *out_answer, size_t bytes, reason *out_why)
{
    size_t used = 0;
    while (used < bytes - 1) {
        const ssize_t n =
            recv(p->socket, out_answer + used, bytes - 1 - used, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            reason_set(out_why, "no answer within %g seconds",
                       timeout_seconds);
            p->has_failed = true;
            return false;
        }
        if (n <= 0)
            return fail(p, out_why, exited);
        used += (size_t)n;
        out_answer[used] = '\0';
        char *end = strchr(out_answer, '\n');
        if (!end)
            continue;
        *end = '\0';
        return end + 1 == out_answer + used ||
               fail(p, out_why, "answers with more than a line");
    }
    return fail(p, out_why, "the answer is too long");
}

bool python_ask(python *p, const char *line, char *out_answer, size_t bytes,
                reason *out_why)
{
    return python_send(p, line, out_why) &&
           python_receive(p, out_answer, bytes, out_why);
}

bool python_time(python *p, const char *line, double *out_seconds,
                 reason *out_why)
{
    char answer[128], *end;
    if (!python_ask(p, line, answer, sizeof(answer), out_why))
        return false;
    *out_seconds = strtod(answer, &end);
    if (end != answer && !*end && isfinite(*out_seconds) && *out_seconds > 0)
        return true;
    fail(p, out_why, "");
    reason_set(out_why, "answers '%.60s' instead of seconds", answer);
    return false;
}

bool python_has_module(const char *module, reason *out_why)
{
    static const char program[] =
        "import importlib.util, sys\n"
        "for line in sys.stdin:\n"
        "    found = importlib.util.find_spec(line.strip())\n"
        "    print('yes' if found else 'no', flush=True)\n";
    const char *const arguments[] = {"-c", program, NULL};
    char answer[8];
    python *p = python_start(arguments, out_why);
    const bool did =
        p && python_ask(p, module, answer, sizeof(answer), out_why);
    python_stop(p);
    if (did && strcmp(answer, "yes") == 0)
        return true;
    if (did)
        reason_set(out_why, "%s has no module %s", interpreter(), module);
    return false;
}
