/* SPDX-License-Identifier: MIT */
/*
 * disk_cache_entry.h - the file of one entry: its name, format, reading and
 * writing.
 *
 *     header     magic, version, checksum of everything after it, sizes
 *     key        complete, to detect hash collisions
 *     value
 *
 * The checksum is verified before anything else is used. The file is read into
 * memory, not mapped: a mapped file could change after the check.
 */
#ifndef TGI_DISK_CACHE_ENTRY_H
#define TGI_DISK_CACHE_ENTRY_H

#include <sys/types.h>

#include "cache/disk_cache.h"

enum { TGI_CACHE_ENTRY_NAME_BYTES = 32 + sizeof(".tgjit") };

/* The file name of a key: its hash and a suffix. */
void tgi_cache_entry_name(tgi_byte_span key,
                          char out_name[TGI_CACHE_ENTRY_NAME_BYTES]);
bool tgi_cache_entry_is_name(const char *name);

/* True for the name of a file that is being written; *out_writer is the
   process. */
bool tgi_cache_entry_is_temporary(const char *name, pid_t *out_writer);

typedef enum tgi_cache_entry_state {
    TGI_CACHE_ENTRY_VALID,
    TGI_CACHE_ENTRY_MISSING,       /* no such file */
    TGI_CACHE_ENTRY_OTHER_VERSION, /* another version of the format */
    TGI_CACHE_ENTRY_DAMAGED,       /* wrong contents */
    TGI_CACHE_ENTRY_UNTRUSTED, /* others may write it, or no regular file */
    TGI_CACHE_ENTRY_IO_ERROR   /* errno has the reason */
} tgi_cache_entry_state;

typedef struct tgi_cache_entry {
    unsigned char *file;        /* complete contents; tgi_alloc */
    tgi_byte_span key, value;   /* point into `file` */
    int64_t last_use;           /* seconds since 1970 */
} tgi_cache_entry;

/* Reads and checks a file. out_entry->file, which the caller frees, is NULL
   unless the entry is VALID. */
tgi_cache_entry_state tgi_cache_entry_read(int dir, const char *name,
                                           tgi_cache_entry *out_entry);

/*
 * Reads the first line of the key into `buf`, as at most n bytes including the
 * NUL, with '?' for unprintable characters. Verifies nothing.
 */
void tgi_cache_entry_describe(int dir, const char *name, char *buf, size_t n);

/* The file size of an entry. */
uint64_t tgi_cache_entry_bytes(tgi_byte_span key, tgi_byte_span value);

/* Writes the file atomically; 0 or an errno. */
int tgi_cache_entry_write(int dir, const char *name, tgi_byte_span key,
                          tgi_byte_span value);

#endif /* TGI_DISK_CACHE_ENTRY_H */
