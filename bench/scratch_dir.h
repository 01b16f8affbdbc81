/* SPDX-License-Identifier: MIT */
/*
 * scratch_dir.h - a temporary directory: a disk cache, or files that processes
 * exchange. It is removed with its content.
 */
#ifndef BENCH_SCRATCH_DIR_H
#define BENCH_SCRATCH_DIR_H

#include <stdbool.h>

enum { SCRATCH_DIR_BYTES = 256 };

typedef struct scratch_dir {
    char path[SCRATCH_DIR_BYTES];
} scratch_dir;

bool scratch_dir_init(scratch_dir *dir);
void scratch_dir_deinit(scratch_dir *dir);

#endif /* BENCH_SCRATCH_DIR_H */
