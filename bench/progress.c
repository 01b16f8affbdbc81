/* SPDX-License-Identifier: MIT */
/*
 * progress.c - see progress.h.
 */
#include "progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "measure.h"

static struct {
    bool is_terminal, is_shown;
    size_t n_rows, n_done;
    double began, row_seconds;
} progress;

void progress_begin(size_t n_rows, double row_seconds)
{
    progress.is_terminal = isatty(STDERR_FILENO);
    progress.n_rows = n_rows;
    progress.n_done = 0;
    progress.row_seconds = row_seconds;
    progress.began = seconds_now();
}

/* The estimate counts as much as a few measured rows. */
static double seconds_left(void)
{
    enum { WEIGHT = 8 };
    const double spent = seconds_now() - progress.began;
    const double per_row = (spent + WEIGHT * progress.row_seconds) /
                           (double)(progress.n_done + WEIGHT);
    return per_row * (double)(progress.n_rows - progress.n_done);
}

void progress_show(const char *case_name, const char *size_label)
{
    if (!progress.is_terminal)
        return;
    const int left = (int)(seconds_left() + 0.5);
    fprintf(stderr, "\r\033[K[%zu/%zu] %.40s %.24s, %d:%02d left",
            progress.n_done, progress.n_rows, case_name, size_label, left / 60,
            left % 60);
    fflush(stderr);
    progress.is_shown = true;
}

void progress_advance(size_t n_rows)
{
    progress.n_done += n_rows;
    if (progress.n_done > progress.n_rows)
        progress.n_done = progress.n_rows;
}

void progress_hide(void)
{
    if (progress.is_shown)
        fputs("\r\033[K", stderr);
    progress.is_shown = false;
}
