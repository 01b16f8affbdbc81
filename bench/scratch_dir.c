/* SPDX-License-Identifier: MIT */
/*
 * scratch_dir.c - see scratch_dir.h.
 */
#include "scratch_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tgjit.h"

bool scratch_dir_init(scratch_dir *dir)
{
    const char *parent = getenv("TMPDIR");
    const int n = snprintf(dir->path, sizeof(dir->path),
                           "%s/tgjit-bench-XXXXXX", parent ? parent : "/tmp");
    return n > 0 && n < (int)sizeof(dir->path) && mkdtemp(dir->path);
}

void scratch_dir_deinit(scratch_dir *dir)
{
    if (tg_cache_clear(dir->path) == TG_OK)
        (void)rmdir(dir->path);
}
