/* SPDX-License-Identifier: MIT */
/*
 * versioned.c - versioned structs, see versioned.h. A size that ends inside a
 * member is rejected, as part of a pointer would be read as a pointer. Sizes of
 * later versions are unknown; they must be multiples of the alignment of size_t
 * and at most MAX_BYTES.
 */
#include "base/versioned.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "tgjit/cache.h"
#include "tgjit/calibration.h"
#include "tgjit/context.h"
#include "tgjit/export.h"
#include "tgjit/extend.h"
#include "tgjit/file.h"
#include "tgjit/function.h"
#include "tgjit/losses.h"
#include "tgjit/ops_conv.h"
#include "tgjit/ops_norm.h"
#include "tgjit/ops_resize.h"
#include "tgjit/profile.h"
#include "tgjit/variable.h"

enum { MAX_BYTES = 4096 };

/* The size of a struct that ends with that member. */
#define BYTES_UP_TO(type, member) \
    ((offsetof(type, member) + sizeof(((type *)0)->member) + \
      _Alignof(type) - 1) / \
     _Alignof(type) * _Alignof(type))

static const struct {
    const char *name;
    size_t bytes;
} versions[] = {
#define CURRENT(type, member) {#type, BYTES_UP_TO(type, member)},
#define EARLIER(type, member) {#type, BYTES_UP_TO(type, member)},
#include "base/versioned.def"
#undef CURRENT
#undef EARLIER
};

#define CURRENT(type, member) \
    _Static_assert(BYTES_UP_TO(type, member) == sizeof(type), \
                   #type " has a new last member: see versioned.def");
#define EARLIER(type, member) \
    _Static_assert(BYTES_UP_TO(type, member) < sizeof(type), \
                   #type " was no larger: see versioned.def");
#include "base/versioned.def"
#undef CURRENT
#undef EARLIER

/* True if an earlier, the current or a later version can have that size. */
static bool is_version_size(const char *name, size_t current, size_t given)
{
    if (given > current)
        return given <= MAX_BYTES && given % _Alignof(size_t) == 0;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (versions[i].bytes == given && strcmp(versions[i].name, name) == 0)
            return true;
    return false;
}

static tg_status read_struct_bytes(const void *user, size_t bytes,
                                   const char *name, size_t *out_given)
{
    memcpy(out_given, user, sizeof *out_given);
    if (!is_version_size(name, bytes, *out_given))
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "%s: struct_bytes is %zu, the size of no version of the "
                 "struct; this library's is %zu",
                 name, *out_given, bytes);
    return TG_OK;
}

tg_status tgi_versioned_read(void *out_options, size_t bytes,
                             const void *options, const char *name)
{
    size_t given;
    memset(out_options, 0, bytes);
    if (!options)
        return TG_OK;
    TGI_TRY(read_struct_bytes(options, bytes, name, &given));
    const char *from = options;
    for (size_t i = bytes; i < given; i++)
        if (from[i])
            TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                     "%s: the struct is newer than the library and sets a "
                     "member that the library lacks",
                     name);
    memcpy(out_options, options, given < bytes ? given : bytes);
    return TG_OK;
}

tg_status tgi_versioned_write(void *to, const char *to_name, const void *from,
                              size_t bytes, const char *name)
{
    size_t given;
    if (!to)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE, "%s is NULL", to_name);
    TGI_TRY(read_struct_bytes(to, bytes, name, &given));
    memcpy((char *)to + sizeof given, (const char *)from + sizeof given,
           (given < bytes ? given : bytes) - sizeof given);
    return TG_OK;
}
