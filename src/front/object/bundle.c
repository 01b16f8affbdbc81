/* SPDX-License-Identifier: MIT */
/*
 * bundle.c - bundles: structs of variables, flattened in the order of their
 * fields.
 */
#include "front/object/bundle.h"

#include <string.h>

#include "front/object/variable_object.h"

/* -- Iteration ------------------------------------------------------------- */

bool tgi_bundle_walk(const tg_bundle_type *type, const void *bundle,
                     tgi_bundle_visit *visit, void *user)
{
    struct {
        const tg_bundle_type *type;
        const char *base;
        size_t next;
    } stack[TGI_BUNDLE_DEPTH];
    tgi_bundle_path path;
    int depth = 0;
    if (!type || !bundle)
        return false;
    stack[0].type = type;
    stack[0].base = bundle;
    stack[0].next = 0;
    while (depth >= 0) {
        const tg_bundle_type *current = stack[depth].type;
        if (stack[depth].next == current->n_fields) {
            depth--;
            continue;
        }
        if (!current->fields)
            return false;
        const tg_bundle_field *field = &current->fields[stack[depth].next++];
        const char *member = stack[depth].base + field->offset;
        path.fields[depth] = field;
        if (!field->bundle) {
            path.n = depth + 1;
            if (!visit(&path, (tg_variable *const *)(const void *)member,
                       (size_t)(member - (const char *)bundle), user))
                return false;
            continue;
        }
        if (++depth == TGI_BUNDLE_DEPTH)
            return false;
        stack[depth].type = field->bundle;
        stack[depth].base = member;
        stack[depth].next = 0;
    }
    return true;
}

bool tgi_bundle_path_text(const tgi_bundle_path *path, tgi_strbuf *out)
{
    for (int i = 0; i < path->n; i++) {
        if (!path->fields[i]->name)
            return false;
        if (i > 0)
            tgi_strbuf_add(out, ".");
        tgi_strbuf_add(out, path->fields[i]->name);
    }
    return true;
}

/* -- Types ----------------------------------------------------------------- */

/* True if equal, or both NULL. */
static bool names_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Recurses as deep as `known` is nested: at most TGI_BUNDLE_DEPTH. */
bool tgi_bundle_types_equal(const tg_bundle_type *known,
                            const tg_bundle_type *other)
{
    if (known == other)
        return true;
    if (!known || !other || known->bytes != other->bytes ||
        known->n_fields != other->n_fields ||
        !names_equal(known->name, other->name))
        return false;
    if (known->fields == other->fields)
        return true;
    if (!known->fields || !other->fields)
        return false;
    for (size_t i = 0; i < known->n_fields; i++) {
        const tg_bundle_field *a = &known->fields[i], *b = &other->fields[i];
        if (a->offset != b->offset || !names_equal(a->name, b->name) ||
            !tgi_bundle_types_equal(a->bundle, b->bundle))
            return false;
    }
    return true;
}

/* -- Lists ----------------------------------------------------------------- */

typedef struct listing {
    tg_variable_filter filter;
    tg_variable **out;
    size_t capacity, n;
    int64_t count;
} listing;

static bool list_one(const tgi_bundle_path *path, tg_variable *const *member,
                     size_t offset, void *user)
{
    listing *list = user;
    (void)path, (void)offset;
    if (!*member || (list->filter == TG_TRAINABLE && !(*member)->is_trainable))
        return true;
    if (list->out && list->n < list->capacity)
        list->out[list->n] = *member;
    list->n++;
    list->count += (*member)->spec.count;
    return true;
}

size_t tg_bundle_variables(const tg_bundle_type *type, const void *bundle,
                           tg_variable_filter filter,
                           tg_variable **out_variables, size_t capacity)
{
    listing list = {filter, out_variables, capacity, 0, 0};
    tgi_bundle_walk(type, bundle, list_one, &list);
    return list.n;
}

int64_t tg_bundle_count(const tg_bundle_type *type, const void *bundle,
                        tg_variable_filter filter)
{
    listing list = {filter, NULL, 0, 0, 0};
    tgi_bundle_walk(type, bundle, list_one, &list);
    return list.count;
}

static bool release_one(const tgi_bundle_path *path,
                        tg_variable *const *member, size_t offset, void *user)
{
    tg_variable **variable = (tg_variable **)(void *)((char *)user + offset);
    (void)path, (void)member;
    tg_variable_release(*variable);
    *variable = NULL;
    return true;
}

void tg_bundle_release(const tg_bundle_type *type, void *bundle)
{
    tgi_bundle_walk(type, bundle, release_one, bundle);
}
