/* SPDX-License-Identifier: MIT */
/*
 * bundle.h - walking the members of a struct of variables.
 */
#ifndef TGI_BUNDLE_H
#define TGI_BUNDLE_H

#include "base/strbuf.h"
#include "tgjit/variable.h"

#define TGI_BUNDLE_DEPTH 16 /* of nested bundles */

/* The fields that lead to a member, the outermost first. */
typedef struct tgi_bundle_path {
    const tg_bundle_field *fields[TGI_BUNDLE_DEPTH];
    int n;
} tgi_bundle_path;

/* Adds "first.weights", as C would write it. False if a field has no name. */
bool tgi_bundle_path_text(const tgi_bundle_path *path, tgi_strbuf *out);

/* Gets each member and its offset in the outermost struct; false stops. */
typedef bool tgi_bundle_visit(const tgi_bundle_path *path,
                              tg_variable *const *member, size_t offset,
                              void *user);

/* False if stopped, if nested too deep, or if a pointer is NULL. */
bool tgi_bundle_walk(const tg_bundle_type *type, const void *bundle,
                     tgi_bundle_visit *visit, void *user);

/* Same names, sizes and fields, nested ones too. `known` is a type that
   tgi_bundle_walk has walked; `other` may be any, or NULL. */
bool tgi_bundle_types_equal(const tg_bundle_type *known,
                            const tg_bundle_type *other);

#endif /* TGI_BUNDLE_H */
