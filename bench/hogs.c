/* SPDX-License-Identifier: MIT */
/*
 * hogs.c - see hogs.h.
 */
#include "hogs.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine.h"

enum { MAX_HOGS = 1024, MAX_SECONDS = 60 };

static pid_t hogs[MAX_HOGS];
static int n_hogs;

/* Only calls that are allowed in the child of a process with threads. */
static void compute_until_killed(pid_t parent)
{
    volatile double x = 1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    alarm(MAX_SECONDS);
    for (;;)
        x = x * 0.999 + 0.001;
}

bool hogs_start(reason *out_why)
{
    const pid_t parent = getpid();
    const int wanted = machine_processors();
    for (n_hogs = 0; n_hogs < wanted && n_hogs < MAX_HOGS; n_hogs++) {
        hogs[n_hogs] = fork();
        if (hogs[n_hogs] == 0)
            compute_until_killed(parent);
        if (hogs[n_hogs] < 0) {
            reason_set(out_why, "cannot create a process: %s", strerror(errno));
            hogs_stop();
            return false;
        }
    }
    return true;
}

void hogs_stop(void)
{
    for (int i = 0; i < n_hogs; i++) {
        kill(hogs[i], SIGKILL);
        while (waitpid(hogs[i], NULL, 0) < 0 && errno == EINTR)
            ;
    }
    n_hogs = 0;
}
