/* SPDX-License-Identifier: MIT */
/*
 * disk_cache_dir.h - the directory of a store: where it is, and whether it can be
 * trusted. What lies in it is run as code, so it must be a directory of this
 * user's that nobody else may write to. It is opened once; all that follows
 * goes by the descriptor, and a path that changes its meaning later changes
 * nothing.
 */
#ifndef TGI_DISK_CACHE_DIR_H
#define TGI_DISK_CACHE_DIR_H

#include <sys/stat.h>

#include "tgjit/base.h"

/*
 * Opens the directory at a path of tgi_disk_cache_path; if it `creates`, also makes it,
 * with its parents, for this user alone. FILE if it cannot be used. A directory
 * that is missing is no failure, but its descriptor is -1.
 */
TG_MUST_CHECK tg_status tgi_disk_cache_dir_open(const char *path, bool creates,
                                                int *out_dir,
                                                struct stat *out_stat);

#endif /* TGI_DISK_CACHE_DIR_H */
