/* SPDX-License-Identifier: MIT */
/*
 * variable_list.c - see variable_list.h.
 */
#include "front/file/variable_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "front/file/file_error.h"
#include "front/object/bundle.h"

/* -- Lists ----------------------------------------------------------------- */

void tgi_variable_list_deinit(tgi_variable_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        tgi_free(list->data[i].name);
        tg_tensor_release(list->data[i].tensor);
    }
    tgi_vec_deinit(list);
}

/* Takes the text of `name` over. */
static tg_status list_push(tgi_variable_list *list, tgi_strbuf *name,
                           tg_variable *variable)
{
    const tgi_named_variable item = {tgi_strbuf_take(name), variable, NULL};
    if (item.name && tgi_vec_push(list, item))
        return TG_OK;
    tgi_free(item.name);
    return tgi_error_memory();
}

static void add_prefix(tgi_strbuf *name, const char *prefix)
{
    if (prefix && *prefix)
        tgi_strbuf_addf(name, "%s.", prefix);
}

static tg_status list_variables(tgi_variable_list *list, const char *prefix,
                                tg_variable *const *variables, size_t n)
{
    if (n > 0 && !variables)
        return tgi_bad_argument("the list of variables is NULL");
    for (size_t i = 0; i < n; i++) {
        tgi_strbuf name = {0};
        TGI_TRY(tgi_variable_check(variables[i], NULL, tgi_api_function(),
                                   TGI_NO_SITE));
        add_prefix(&name, prefix);
        tgi_strbuf_add(&name, variables[i]->name);
        TGI_TRY(list_push(list, &name, variables[i]));
    }
    return TG_OK;
}

typedef struct bundle_walk {
    tgi_variable_list *list;
    const char *prefix;
    const tg_bundle_type *type;
    tg_status status;
} bundle_walk;

static tg_status push_member(bundle_walk *walk, const tgi_bundle_path *path,
                             tg_variable *variable)
{
    tgi_strbuf name = {0};
    TGI_TRY(tgi_variable_check(variable, NULL, tgi_api_function(),
                               TGI_NO_SITE));
    add_prefix(&name, walk->prefix);
    if (!tgi_bundle_path_text(path, &name)) {
        tgi_strbuf_deinit(&name);
        return tgi_bad_argument("bundle '%.200s': a field has no name",
                                walk->type->name ? walk->type->name : "");
    }
    return list_push(walk->list, &name, variable);
}

static bool visit_member(const tgi_bundle_path *path,
                         tg_variable *const *member, size_t offset, void *user)
{
    bundle_walk *walk = user;
    if (offset + sizeof(*member) > walk->type->bytes)
        walk->status = tgi_bad_argument("a field lies outside of a bundle of "
                                        "%zu bytes",
                                        walk->type->bytes);
    else if (*member)
        walk->status = push_member(walk, path, *member);
    return walk->status == TG_OK;
}

static tg_status list_bundle(tgi_variable_list *list, const char *prefix,
                             const tg_bundle_type *type, const void *bundle)
{
    bundle_walk walk = {list, prefix, type, TG_OK};
    if (!type || !bundle)
        return tgi_bad_argument("the %s is NULL", type ? "bundle" : "type");
    if (tgi_bundle_walk(type, bundle, visit_member, &walk))
        return TG_OK;
    return walk.status ? walk.status
                       : tgi_bad_argument("a bundle has no fields, or is "
                                          "nested deeper than %d",
                                          TGI_BUNDLE_DEPTH);
}

tg_status tgi_variable_list_fill(tgi_variable_list *list, const char *prefix,
                             const tgi_variable_source *from)
{
    return from->is_bundle
               ? list_bundle(list, prefix, from->type, from->bundle)
               : list_variables(list, prefix, from->variables, from->n);
}

/* -- Locks ----------------------------------------------------------------- */

static int compare_groups(const void *a, const void *b)
{
    const uint64_t x = (*(tg_variable *const *)a)->group->id;
    const uint64_t y = (*(tg_variable *const *)b)->group->id;
    return (x > y) - (x < y);
}

void tgi_mapping_end(tgi_mapping *m)
{
    while (m->n > 0)
        tg_variable_unmap(m->sorted[--m->n]);
    tgi_free(m->sorted);
}

tg_status tgi_mapping_begin(tgi_mapping *m, const tgi_variable_list *list,
                               tg_access access)
{
    *m = (tgi_mapping){.sorted = tgi_alloc(list->n * sizeof(*m->sorted) + 1)};
    if (!m->sorted)
        return tgi_error_memory();
    for (size_t i = 0; i < list->n; i++)
        m->sorted[i] = list->data[i].variable;
    qsort(m->sorted, list->n, sizeof(*m->sorted), compare_groups);
    for (; m->n < list->n; m->n++)
        if (!tg_variable_map(m->sorted[m->n], access)) {
            tgi_mapping_end(m);
            return tg_error_last()->status;
        }
    return TG_OK;
}
