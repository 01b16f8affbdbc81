/* SPDX-License-Identifier: MIT */
/*
 * temporary_file.h - files under temporary names, to be renamed when they are
 * whole: so nobody sees a part of one, whenever its writer dies.
 */
#ifndef TGI_TEMPORARY_FILE_H
#define TGI_TEMPORARY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of their names: who writes (a long), and a number (an unsigned long). */
#define TGI_TEMPORARY_FORMAT "tmp-%ld-%lu"
#define TGI_TEMPORARY_NAME_BYTES 64 /* bytes for a name */

/* A new file in the open directory, for writing, that is this call's alone;
   -1 and errno. */
int tgi_temporary_create(int dir, mode_t mode,
                         char out_name[TGI_TEMPORARY_NAME_BYTES]);

/* Appends to a file that has `bytes_before` bytes. 0, or an errno; EFBIG
   instead of the signal that a write beyond RLIMIT_FSIZE would raise. */
int tgi_temporary_append(int fd, uint64_t bytes_before, const void *data,
                         size_t bytes);

/*
 * Writes a new file of these bytes into the open directory and gives its
 * name. 0, or the errno of what went wrong; then nothing is left.
 */
int tgi_temporary_write(int dir, const void *data, size_t bytes, mode_t mode,
                        char out_name[TGI_TEMPORARY_NAME_BYTES]);

#endif /* TGI_TEMPORARY_FILE_H */
