/* SPDX-License-Identifier: MIT */
/*
 * variable_list.h - the variables of a bundle or list with their names in a
 * file, and all of them mapped at once.
 */
#ifndef TGI_VARIABLE_LIST_H
#define TGI_VARIABLE_LIST_H

#include "base/vec.h"
#include "front/object/variable_object.h"

typedef struct tgi_named_variable {
    char *name;            /* in the file */
    tg_variable *variable; /* lent */
    tg_tensor *tensor;     /* its contents, retained; NULL: there are none */
} tgi_named_variable;

typedef TGI_VEC(tgi_named_variable) tgi_variable_list;

/* What a user gave: a bundle, or an array of variables. */
typedef struct tgi_variable_source {
    bool is_bundle;
    const tg_bundle_type *type;
    const void *bundle;
    tg_variable *const *variables;
    size_t n;
} tgi_variable_source;

/* Lists the variables as "PREFIX.NAME", without members that are NULL. The
   caller deinits the list, on failure too. */
tg_status tgi_variable_list_fill(tgi_variable_list *list, const char *prefix,
                                 const tgi_variable_source *source);
void tgi_variable_list_deinit(tgi_variable_list *list);

/* All variables of a list mapped. */
typedef struct tgi_mapping {
    tg_variable **sorted;
    size_t n;
} tgi_mapping;

/* Maps them in the order in which calls lock; all, or none and an error. */
tg_status tgi_mapping_begin(tgi_mapping *mapping,
                            const tgi_variable_list *list, tg_access access);
void tgi_mapping_end(tgi_mapping *mapping);

#endif /* TGI_VARIABLE_LIST_H */
