/* SPDX-License-Identifier: MIT */
/*
 * versioned.h - public structs that begin with their size, for compatibility
 * with programs compiled against another version of the headers
 * (versioned.def).
 */
#ifndef TGI_VERSIONED_H
#define TGI_VERSIONED_H

#include "tgjit/base.h"

/*
 * Copies a user's struct of any version to one of this version, whose size is
 * `bytes` and whose type is `name`. Members that the user's version lacks
 * become zero; members that this version lacks must be zero, else UNSUPPORTED.
 * NULL `options` counts as all zero. INVALID_ARGUMENT if struct_bytes is not
 * the size of any version.
 */
tg_status tgi_versioned_read(void *out_options, size_t bytes,
                             const void *options, const char *name);

/* The reverse: fills the members that the user's struct `to` has.
   INVALID_ARGUMENT as above, or if `to` is NULL; messages call it `to_name`. */
tg_status tgi_versioned_write(void *to, const char *to_name, const void *from,
                              size_t bytes, const char *name);

#endif /* TGI_VERSIONED_H */
