/* SPDX-License-Identifier: MIT */
/*
 * python.c - see python.h.
 */
#include "python.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MAX_ARGUMENTS = 8 };

struct python {
    pid_t process;
    FILE *lines; /* a socket that is standard input and output of the process */
};

/* Writing to a process that has exited fails, without a signal. */
static bool send_line(python *p, const char *line)
{
    char text[128];
    const int n = snprintf(text, sizeof(text), "%s\n", line);
    return n > 0 && (size_t)n < sizeof(text) &&
           send(fileno(p->lines), text, (size_t)n, MSG_NOSIGNAL) == n;
}

static bool spawn(const char *interpreter, const char *program,
                  const char *const *arguments, int fd, pid_t *out_process)
{
    const char *argv[MAX_ARGUMENTS + 4] = {interpreter, "-c", program};
    for (size_t i = 0; i < MAX_ARGUMENTS && arguments[i]; i++)
        argv[i + 3] = arguments[i];
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return false;
    const bool did =
        !posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO) &&
        !posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO) &&
        !posix_spawnp(out_process, interpreter, &actions, NULL,
                      (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return did;
}

python *python_start(const char *program, const char *const *arguments,
                     reason *out_why)
{
    const char *interpreter = getenv("TGJIT_BENCH_PYTHON");
    int ends[2];
    if (!interpreter) {
        reason_set(out_why, "TGJIT_BENCH_PYTHON is not set");
        return NULL;
    }
    python *p = calloc(1, sizeof(*p));
    if (!p || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        reason_set(out_why, "out of memory or descriptors");
        free(p);
        return NULL;
    }
    const bool did =
        spawn(interpreter, program, arguments, ends[1], &p->process);
    close(ends[1]);
    p->lines = did ? fdopen(ends[0], "r") : NULL;
    if (p->lines)
        return p;
    reason_set(out_why, "cannot run %s", interpreter);
    close(ends[0]);
    free(p);
    return NULL;
}

void python_stop(python *p)
{
    if (!p)
        return;
    fclose(p->lines); /* the program ends with its input */
    (void)waitpid(p->process, NULL, 0);
    free(p);
}

bool python_ask(python *p, const char *line, char *out_answer, size_t bytes,
                reason *out_why)
{
    if (!send_line(p, line) || !fgets(out_answer, (int)bytes, p->lines)) {
        reason_set(out_why, "the Python program has exited");
        return false;
    }
    out_answer[strcspn(out_answer, "\n")] = '\0';
    return true;
}

bool python_has_module(const char *module, reason *out_why)
{
    static const char program[] =
        "import importlib.util, sys\n"
        "for line in sys.stdin:\n"
        "    found = importlib.util.find_spec(line.strip())\n"
        "    print('yes' if found else 'no', flush=True)\n";
    const char *const none[] = {NULL};
    char answer[8];
    python *p = python_start(program, none, out_why);
    const bool did =
        p && python_ask(p, module, answer, sizeof(answer), out_why);
    python_stop(p);
    if (did && strcmp(answer, "yes") == 0)
        return true;
    if (did)
        reason_set(out_why, "%s has no module %s", getenv("TGJIT_BENCH_PYTHON"),
                   module);
    return false;
}
