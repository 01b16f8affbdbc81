/* SPDX-License-Identifier: MIT */
/*
 * atomic_file.h - replaces a file as a whole. The new one is written under a
 * temporary name in the same directory, synchronised with the disk and then
 * renamed: readers, and a machine that loses power, see the old file or the
 * new one, never a part.
 */
#ifndef TGI_ATOMIC_FILE_H
#define TGI_ATOMIC_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/temporary_file.h"

/* Behind the last slash of a path. */
const char *tgi_path_base(const char *path);

/* The directory a path is in, opened; -1 and errno. */
int tgi_path_open_folder(const char *path);

typedef struct tgi_atomic_file {
    const char *path; /* lent */
    int dir, fd;
    uint64_t bytes; /* written so far */
    char temporary[TGI_TEMPORARY_NAME_BYTES];
} tgi_atomic_file;

/*
 * Begins the file that will be at `path`. A file already there gives the new
 * one its permissions; anything there but a file or a symbolic link, which
 * would be replaced, is EEXIST. 0, or an errno and nothing to end.
 */
int tgi_atomic_file_begin(tgi_atomic_file *file, const char *path);

/* 0 or an errno. */
int tgi_atomic_file_write(tgi_atomic_file *file, const void *data,
                          size_t bytes);

/* Puts the file in its place if `reason` is 0, else removes it. Returns
   `reason`, or the errno of what went wrong. */
int tgi_atomic_file_end(tgi_atomic_file *file, int reason);

#endif /* TGI_ATOMIC_FILE_H */
