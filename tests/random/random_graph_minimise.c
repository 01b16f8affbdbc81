/* SPDX-License-Identifier: MIT */
/*
 * random_graph_minimise.c - shortens and simplifies a failing string: removes
 * parts of it, then sets parts to 0, from large parts to single bytes, as long
 * as it still fails. Each attempt runs in a child process, so that a crash is
 * just another failure.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random/random_graph.h"
#include "support/workers.h"

enum { MAX_SECONDS = 20 };

bool rg_check_apart(const rg_settings *settings, const uint8_t *bytes, size_t n)
{
    pid_t child = fork();
    if (child == 0) {
        static rg_coverage coverage;
        rg_failure failure;
        workers_limit_time(MAX_SECONDS);
        _exit(!rg_check(settings, bytes, n, &coverage, &failure));
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return true;
    return status == 0;
}

/* Removes `span` bytes at a time. */
static bool try_without(const rg_settings *settings, uint8_t *bytes, size_t *n,
                        size_t span, uint8_t *candidate)
{
    bool changed = false;
    for (size_t at = 0; at + span <= *n;) {
        memcpy(candidate, bytes, at);
        memcpy(candidate + at, bytes + at + span, *n - at - span);
        if (!rg_check_apart(settings, candidate, *n - span)) {
            *n -= span;
            memcpy(bytes, candidate, *n);
            changed = true;
        } else {
            at += span;
        }
    }
    return changed;
}

/* Sets `span` bytes at a time to 0. */
static bool try_zeros(const rg_settings *settings, uint8_t *bytes, size_t n,
                      size_t span, uint8_t *candidate)
{
    bool changed = false;
    for (size_t at = 0; at + span <= n; at += span) {
        memcpy(candidate, bytes, n);
        memset(candidate + at, 0, span);
        if (memcmp(candidate, bytes, n) != 0 &&
            !rg_check_apart(settings, candidate, n)) {
            memcpy(bytes, candidate, n);
            changed = true;
        }
    }
    return changed;
}

size_t rg_minimise(const rg_settings *settings, uint8_t *bytes, size_t n)
{
    uint8_t *candidate = malloc(n + 1);
    if (!candidate)
        return n;
    for (size_t span = n / 2 ? n / 2 : 1; span > 0;) {
        bool changed = try_without(settings, bytes, &n, span, candidate);
        changed |= try_zeros(settings, bytes, n, span, candidate);
        if (!changed || span > 1)
            span /= 2;
    }
    free(candidate);
    return n;
}
