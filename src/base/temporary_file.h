/* SPDX-License-Identifier: MIT */
/*
 * temporary_file.h - files with temporary names. Callers rename a complete
 * file to its final name, so readers never see a partial one, even if the
 * writer is killed.
 */
#ifndef TGI_TEMPORARY_FILE_H
#define TGI_TEMPORARY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Names: process id (long) and a counter (unsigned long). */
#define TGI_TEMPORARY_FORMAT "tmp-%ld-%lu"
#define TGI_TEMPORARY_NAME_BYTES 64

/* A new file in the open directory, for writing, that is this call's alone;
   -1 and errno. */
int tgi_temporary_create(int dir, mode_t mode,
                         char out_name[TGI_TEMPORARY_NAME_BYTES]);

/* Appends to a file that has `bytes_before` bytes. 0, or an errno; EFBIG
   instead of the signal that a write beyond RLIMIT_FSIZE would raise. */
int tgi_temporary_append(int fd, uint64_t bytes_before, const void *data,
                         size_t bytes);

/*
 * Writes a new file with these contents into the directory `dir` (an open file
 * descriptor) and returns its name. Returns 0 or an errno; on failure the file
 * is deleted.
 */
int tgi_temporary_write(int dir, const void *data, size_t bytes, mode_t mode,
                        char out_name[TGI_TEMPORARY_NAME_BYTES]);

#endif /* TGI_TEMPORARY_FILE_H */
