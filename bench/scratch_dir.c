/* SPDX-License-Identifier: MIT */
/*
 * scratch_dir.c - see scratch_dir.h.
 */
#include "scratch_dir.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

bool scratch_dir_init(scratch_dir *dir)
{
    const char *parent = getenv("TMPDIR");
    const int n = snprintf(dir->path, sizeof(dir->path),
                           "%s/tgjit-bench-XXXXXX", parent ? parent : "/tmp");
    return n > 0 && n < (int)sizeof(dir->path) && mkdtemp(dir->path);
}

static int remove_entry(const char *path, const struct stat *about, int type,
                        struct FTW *where)
{
    (void)about, (void)type, (void)where;
    (void)remove(path);
    return 0;
}

void scratch_dir_deinit(scratch_dir *dir)
{
    enum { DESCRIPTORS = 8 };
    (void)nftw(dir->path, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}
