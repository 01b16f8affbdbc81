/* SPDX-License-Identifier: MIT */
/*
 * disk_cache_dir.h - the directory of a disk cache: its path, and whether it
 * can be trusted. Its files are executed as code, so it must belong to this
 * user, and no other user may write to it. All files are accessed relative to
 * its descriptor: later changes of the path have no effect.
 */
#ifndef TGI_DISK_CACHE_DIR_H
#define TGI_DISK_CACHE_DIR_H

#include <sys/stat.h>

#include "tgjit/base.h"

/*
 * Opens the directory at a path from tgi_disk_cache_path. If `creates`, creates
 * it and its parents, with access for this user only; else *out_dir is -1 if it
 * is missing. Fails with TG_ERROR_FILE if it cannot be used or trusted.
 */
TG_MUST_CHECK tg_status tgi_disk_cache_dir_open(const char *path, bool creates,
                                                int *out_dir,
                                                struct stat *out_stat);

#endif /* TGI_DISK_CACHE_DIR_H */
