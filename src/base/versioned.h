/* SPDX-License-Identifier: MIT */
/*
 * versioned.h - public structs that begin with their size, so that programs
 * compiled against another version of the header work (versioned.def).
 */
#ifndef TGI_VERSIONED_H
#define TGI_VERSIONED_H

#include "tgjit/base.h"

/*
 * Copies a user's struct of `bytes` bytes, as this version has it; `name` is
 * that of its type. Members that the user's version lacks are zero, members
 * that we lack must be (else UNSUPPORTED). A NULL `options` is all zero.
 * INVALID_ARGUMENT if struct_bytes is not the size of any version.
 */
tg_status tgi_versioned_read(void *out_options, size_t bytes,
                             const void *options, const char *name);

/* The other way: fills the members that the user's struct `to` has.
   INVALID_ARGUMENT as above, or if `to`, which messages call `to_name`, is
   NULL. */
tg_status tgi_versioned_write(void *to, const char *to_name, const void *from,
                              size_t bytes, const char *name);

#endif /* TGI_VERSIONED_H */
