/* SPDX-License-Identifier: MIT */
/*
 * disk_cache_entry.h - one entry of a store as a file: its name, what it looks
 * like inside, how it is read and written.
 *
 *     header     magic, version, sizes, a checksum of all that follows it
 *     key        whole, so that equal hashes do not confuse
 *     value
 *
 * Nothing inside is believed before the checksum fits, and the file is read
 * to memory for that: mapped, it could change behind the checksum's back.
 */
#ifndef TGI_DISK_CACHE_ENTRY_H
#define TGI_DISK_CACHE_ENTRY_H

#include <sys/types.h>

#include "cache/disk_cache.h"

enum { TGI_CACHE_ENTRY_NAME_BYTES = 32 + sizeof(".tgjit") };

/* The name of the file for a key: the key's hash. */
void tgi_cache_entry_name(tgi_byte_span key,
                          char out_name[TGI_CACHE_ENTRY_NAME_BYTES]);
bool tgi_cache_entry_is_name(const char *name);

/* Whether it is the name of a file that is still being written; by whom. */
bool tgi_cache_entry_is_temporary(const char *name, pid_t *out_writer);

typedef enum tgi_cache_entry_state {
    TGI_CACHE_ENTRY_VALID,
    TGI_CACHE_ENTRY_MISSING,       /* there is no file */
    TGI_CACHE_ENTRY_OTHER_VERSION, /* of another version of the format */
    TGI_CACHE_ENTRY_DAMAGED,       /* the contents are wrong */
    TGI_CACHE_ENTRY_UNTRUSTED, /* not a plain file that this user alone writes */
    TGI_CACHE_ENTRY_IO_ERROR   /* errno says why nothing is known */
} tgi_cache_entry_state;

typedef struct tgi_cache_entry {
    unsigned char *file;        /* all of it, in memory of tgi_alloc */
    tgi_byte_span key, value;   /* inside */
    int64_t last_use;           /* seconds since 1970 */
} tgi_cache_entry;

/* Reads and checks the file. Only a good one has an `out_entry->file`, which
   the caller frees. */
tgi_cache_entry_state tgi_cache_entry_read(int dir, const char *name,
                                           tgi_cache_entry *out_entry);

/*
 * Reads the beginning of the key, as text of at most `n` bytes with the
 * ending NUL: its first line, what is not printable as '?'. Nothing is
 * verified.
 */
void tgi_cache_entry_describe(int dir, const char *name, char *buf, size_t n);

/* Bytes of the file of an entry. */
uint64_t tgi_cache_entry_bytes(tgi_byte_span key, tgi_byte_span value);

/* Writes the file, whole or not at all; 0 or an errno. */
int tgi_cache_entry_write(int dir, const char *name, tgi_byte_span key,
                          tgi_byte_span value);

#endif /* TGI_DISK_CACHE_ENTRY_H */
