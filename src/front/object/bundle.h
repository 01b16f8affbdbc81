/* SPDX-License-Identifier: MIT */
/*
 * bundle.h - iteration over the members of a bundle, a struct of variables.
 */
#ifndef TGI_BUNDLE_H
#define TGI_BUNDLE_H

#include "base/strbuf.h"
#include "tgjit/variable.h"

#define TGI_BUNDLE_DEPTH 16 /* maximum nesting of bundles */

/* The fields that lead to a member, the outermost first. */
typedef struct tgi_bundle_path {
    const tg_bundle_field *fields[TGI_BUNDLE_DEPTH];
    int n;
} tgi_bundle_path;

/* Appends "first.weights". Returns false if a field has no name. */
bool tgi_bundle_path_text(const tgi_bundle_path *path, tgi_strbuf *out);

/* Called with each member and its offset in the outermost struct; returns false
   to stop. */
typedef bool tgi_bundle_visit(const tgi_bundle_path *path,
                              tg_variable *const *member, size_t offset,
                              void *user);

/* False if stopped, nested too deeply, or a pointer is NULL. */
bool tgi_bundle_walk(const tg_bundle_type *type, const void *bundle,
                     tgi_bundle_visit *visit, void *user);

/* True if names, sizes and fields are equal, recursively. `known` must have
   been walked by tgi_bundle_walk; `other` may be anything, or NULL. */
bool tgi_bundle_types_equal(const tg_bundle_type *known,
                            const tg_bundle_type *other);

#endif /* TGI_BUNDLE_H */
