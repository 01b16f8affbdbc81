/* SPDX-License-Identifier: MIT */
/*
 * checkpoint.c - variables, and bundles of them, in archives and files. Both
 * directions take all locks first, in the order in which calls take them, so
 * that a checkpoint is the state between two calls. Reading checks all before
 * it writes any.
 */
#include <string.h>

#include "base/versioned.h"
#include "front/file/archive.h"
#include "front/file/file_error.h"
#include "front/file/variable_list.h"
#include "front/object/context_object.h"

/* All variables belong to the archive's context. */
static tg_status check_context(const tgi_variable_list *list,
                               const tg_context *ctx)
{
    for (size_t i = 0; i < list->n; i++)
        TGI_TRY(tgi_variable_check(list->data[i].variable, ctx,
                                   tgi_api_function(), TGI_NO_SITE));
    return TG_OK;
}

#define BUNDLE(type_of, object) \
    (&(const tgi_variable_source){ \
        .is_bundle = true, .type = (type_of), .bundle = (object)})
#define LIST(array, count) \
    (&(const tgi_variable_source){.variables = (array), .n = (count)})

/* -- Into an archive ------------------------------------------------------- */

/* With all variables mapped. */
static tg_status copy_contents(tg_context *ctx, tgi_variable_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        tgi_named_variable *item = &list->data[i];
        tg_variable *variable = item->variable;
        if (!atomic_load(&variable->is_set))
            return tgi_error_set(TG_ERROR_STATE, TGI_NO_SITE,
                                 "%s: variable '%s' is uninitialised; first "
                                 "run the function that creates it",
                                 tgi_api_function(), variable->name);
        item->tensor =
            tgi_tensor_alloc(ctx, tgi_api_function(), &variable->spec);
        if (!item->tensor)
            return tg_error_last()->status;
        if (variable->spec.bytes > 0)
            memcpy(item->tensor->data, variable->data,
                   (size_t)variable->spec.bytes);
    }
    return TG_OK;
}

/* All or none. */
static tg_status push_list(tg_archive *archive, const tgi_variable_list *list)
{
    tgi_fork_lock_acquire(&archive->lock);
    const size_t before = archive->entries.n;
    tg_status status = TG_OK;
    for (size_t i = 0; i < list->n && !status; i++)
        status = tgi_archive_push(archive, list->data[i].name,
                                  list->data[i].tensor, NULL,
                                  TG_ERROR_INVALID_ARGUMENT);
    if (status)
        tgi_archive_cut(archive, before);
    tgi_fork_lock_release(&archive->lock);
    return status;
}

static tg_status add_list(tg_archive *archive, tgi_variable_list *list)
{
    tgi_mapping m;
    TGI_TRY(check_context(list, archive->ctx));
    TGI_TRY(tgi_mapping_begin(&m, list, TG_READ));
    const tg_status status = copy_contents(archive->ctx, list);
    tgi_mapping_end(&m);
    return status ? status : push_list(archive, list);
}

static tg_status add_source(const char *who, tg_archive *archive,
                            const char *prefix, const tgi_variable_source *from)
{
    tgi_api_frame frame = tgi_api_enter(archive ? archive->ctx : NULL, who);
    tgi_variable_list list = {0};
    tg_status status = archive ? tgi_variable_list_fill(&list, prefix, from)
                               : tgi_bad_argument("the archive is NULL");
    if (!status)
        status = add_list(archive, &list);
    tgi_variable_list_deinit(&list);
    tgi_api_leave(frame);
    return status;
}

tg_status tg_archive_add_bundle(tg_archive *archive, const char *prefix,
                                const tg_bundle_type *type, const void *bundle)
{
    return add_source(__func__, archive, prefix,
                      BUNDLE(type, bundle));
}

tg_status tg_archive_add_variables(tg_archive *archive, const char *prefix,
                                   tg_variable *const *variables,
                                   size_t n_variables)
{
    return add_source(__func__, archive, prefix,
                      LIST(variables, n_variables));
}

/* -- Out of an archive ----------------------------------------------------- */

static tg_status check_spec(const tg_archive *archive,
                            const tgi_named_variable *item)
{
    const tgi_spec *is = &item->tensor->spec, *want = &item->variable->spec;
    char is_text[256], want_text[256];
    if (tgi_spec_equals(is, want))
        return TG_OK;
    return tgi_file_error(
        is->dtype != want->dtype ? TG_ERROR_DTYPE : TG_ERROR_SHAPE,
        tgi_where_of(tgi_archive_path(archive), item->name).text,
        "is %s, but variable '%s' is %s",
        tgi_spec_text(is->dtype, is->rank, is->dims, is_text, sizeof(is_text)),
        item->variable->name,
        tgi_spec_text(want->dtype, want->rank, want->dims, want_text,
                      sizeof(want_text)));
}

/* The earlier item of the same variable, or NULL. */
static const tgi_named_variable *find_variable(const tgi_variable_list *list,
                                               const tgi_index *seen,
                                               const tg_variable *variable,
                                               uint64_t hash)
{
    size_t probe = 0;
    for (uint32_t at; (at = tgi_index_next(seen, hash, &probe));)
        if (list->data[at - 1].variable == variable)
            return &list->data[at - 1];
    return NULL;
}

/* A variable of two names, such as tied weights, gets one value. */
static tg_status check_repeated(const tg_archive *archive,
                                const tgi_variable_list *list)
{
    tgi_index seen = {0};
    tg_status status = TG_OK;
    for (size_t i = 0; i < list->n && !status; i++) {
        const tgi_named_variable *item = &list->data[i];
        const uint64_t hash =
            tgi_hash(&item->variable->id, sizeof(item->variable->id), 0);
        const tgi_named_variable *other =
            find_variable(list, &seen, item->variable, hash);
        if (!item->tensor)
            continue;
        if (!other && !tgi_index_add(&seen, hash, (uint32_t)i + 1))
            status = tgi_error_memory();
        else if (other && item->tensor->spec.bytes > 0 &&
                 memcmp(other->tensor->data, item->tensor->data,
                        (size_t)item->tensor->spec.bytes) != 0)
            status = tgi_file_error(
                TG_ERROR_STATE, tgi_archive_path(archive),
                "variable '%s' has two values: %s and %s differ",
                item->variable->name,
                tgi_quote_name(other->name).text,
                tgi_quote_name(item->name).text);
    }
    tgi_index_deinit(&seen);
    return status;
}

/* Whether a name is under the prefix. */
static bool is_under(const char *name, const char *prefix)
{
    const size_t n = prefix ? strlen(prefix) : 0;
    return n == 0 || (strncmp(name, prefix, n) == 0 && name[n] == '.');
}

/* With the archive's lock. Every name under the prefix has a variable. */
static tg_status check_extra(tg_archive *archive, const char *prefix,
                             const tgi_variable_list *list)
{
    size_t n_found = 0, n_under = 0;
    tg_status status = TG_OK;
    bool *is_used = tgi_alloc_zero(archive->entries.n + 1);
    if (!is_used)
        return tgi_error_memory();
    for (size_t i = 0; i < list->n; i++) {
        const tgi_archive_entry *entry =
            tgi_archive_find(archive, list->data[i].name);
        if (entry)
            is_used[entry - archive->entries.data] = true;
    }
    const char *extra = NULL;
    for (size_t i = 0; i < archive->entries.n; i++) {
        const char *name = archive->entries.data[i].name;
        if (!is_under(name, prefix))
            continue;
        n_under++;
        n_found += is_used[i];
        if (!is_used[i] && !extra)
            extra = name;
    }
    if (extra)
        status = tgi_file_error(
            TG_ERROR_STATE, tgi_where_of(tgi_archive_path(archive), extra).text,
            "there is no such variable (%zu of %zu tensors have none); set "
            "allow_extra to ignore them",
            n_under - n_found, n_under);
    tgi_free(is_used);
    return status;
}

/* With the archive's lock. */
static tg_status find_tensors(tg_archive *archive, const char *prefix,
                              tgi_variable_list *list,
                              const tg_load_options *options)
{
    if (!options->allow_extra)
        TGI_TRY(check_extra(archive, prefix, list));
    for (size_t i = 0; i < list->n; i++) {
        tgi_named_variable *item = &list->data[i];
        tgi_archive_entry *entry = tgi_archive_find(archive, item->name);
        if (!entry && options->allow_missing)
            continue;
        if (!entry)
            return tgi_file_error(TG_ERROR_STATE, tgi_archive_path(archive),
                                  "there is no tensor %s; set allow_missing to "
                                  "leave variables as they are",
                                  tgi_quote_name(item->name).text);
        TGI_TRY(tgi_archive_materialise(archive, entry));
        item->tensor = tg_tensor_retain(entry->tensor);
        TGI_TRY(check_spec(archive, item));
    }
    return check_repeated(archive, list);
}

/* Variables without a tensor are not even locked. */
static void drop_missing(tgi_variable_list *list)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->data[i].tensor)
            list->data[n++] = list->data[i];
        else
            tgi_free(list->data[i].name);
    list->n = n;
}

static tg_status assign_list(tg_archive *archive, const char *prefix,
                             tgi_variable_list *list,
                             const tg_load_options *options)
{
    tgi_mapping m;
    TGI_TRY(check_context(list, archive->ctx));
    tgi_fork_lock_acquire(&archive->lock);
    const tg_status status = find_tensors(archive, prefix, list, options);
    tgi_fork_lock_release(&archive->lock);
    if (status)
        return status;
    drop_missing(list);
    TGI_TRY(tgi_mapping_begin(&m, list, TG_WRITE));
    for (size_t i = 0; i < list->n; i++)
        if (list->data[i].tensor->spec.bytes > 0)
            memcpy(list->data[i].variable->data, list->data[i].tensor->data,
                   (size_t)list->data[i].tensor->spec.bytes);
    tgi_mapping_end(&m);
    return TG_OK;
}

static tg_status get_source(const char *who, tg_archive *archive,
                            const char *prefix, const tgi_variable_source *to,
                            const tg_load_options *user)
{
    tgi_api_frame frame = tgi_api_enter(archive ? archive->ctx : NULL, who);
    tgi_variable_list list = {0};
    tg_load_options options;
    tg_status status = archive ? TG_OK
                               : tgi_bad_argument("the archive is NULL");
    if (!status)
        status = tgi_versioned_read(&options, sizeof(options), user,
                                    "tg_load_options");
    if (!status)
        status = tgi_variable_list_fill(&list, prefix, to);
    if (!status)
        status = assign_list(archive, prefix, &list, &options);
    tgi_variable_list_deinit(&list);
    tgi_api_leave(frame);
    return status;
}

tg_status tg_archive_get_bundle(tg_archive *archive, const char *prefix,
                                const tg_bundle_type *type, const void *bundle,
                                const tg_load_options *options)
{
    return get_source(__func__, archive, prefix,
                      BUNDLE(type, bundle), options);
}

tg_status tg_archive_get_variables(tg_archive *archive, const char *prefix,
                                   tg_variable *const *variables,
                                   size_t n_variables,
                                   const tg_load_options *options)
{
    return get_source(__func__, archive, prefix,
                      LIST(variables, n_variables), options);
}

/* -- Files of their own ---------------------------------------------------- */

/* Lists the variables; their context is that of the first one. */
static tg_status list_for_file(tgi_variable_list *list,
                               const tgi_variable_source *from,
                               const char *path, tg_context **out_ctx)
{
    if (!path)
        return tgi_bad_argument("the path is NULL");
    TGI_TRY(tgi_variable_list_fill(list, NULL, from));
    if (list->n == 0)
        return tgi_bad_argument("there is no variable");
    *out_ctx = list->data[0].variable->ctx;
    return TG_OK;
}

static tg_status save_source(const char *who, const tgi_variable_source *from,
                             const char *path)
{
    tgi_api_frame frame = tgi_api_enter(NULL, who);
    tgi_variable_list list = {0};
    tg_archive *archive = NULL;
    tg_context *ctx = NULL;
    tg_status status = list_for_file(&list, from, path, &ctx);
    if (!status) {
        tgi_api_enter(ctx, who);
        archive = tgi_archive_alloc(ctx);
        status = archive ? add_list(archive, &list) : TG_ERROR_OUT_OF_MEMORY;
    }
    if (!status)
        status = tgi_archive_write(archive, path, TG_ARCHIVE_BY_SUFFIX);
    tg_archive_release(archive);
    tgi_variable_list_deinit(&list);
    tgi_api_leave(frame);
    return status;
}

static tg_status load_source(const char *who, const tgi_variable_source *to,
                             const char *path, const tg_load_options *user)
{
    tgi_api_frame frame = tgi_api_enter(NULL, who);
    tgi_variable_list list = {0};
    tg_archive *archive = NULL;
    tg_context *ctx = NULL;
    tg_load_options options;
    tg_status status = tgi_versioned_read(&options, sizeof(options), user,
                                          "tg_load_options");
    if (!status)
        status = list_for_file(&list, to, path, &ctx);
    if (!status) {
        tgi_api_enter(ctx, who);
        status = tgi_archive_open(ctx, path, &options, &archive);
    }
    if (!status)
        status = assign_list(archive, NULL, &list, &options);
    tg_archive_release(archive);
    tgi_variable_list_deinit(&list);
    tgi_api_leave(frame);
    return status;
}

tg_status tg_bundle_save(const tg_bundle_type *type, const void *bundle,
                         const char *path)
{
    return save_source(__func__, BUNDLE(type, bundle), path);
}

tg_status tg_bundle_load(const tg_bundle_type *type, const void *bundle,
                         const char *path)
{
    return load_source(__func__, BUNDLE(type, bundle), path, NULL);
}

tg_status tg_bundle_load_with(const tg_bundle_type *type, const void *bundle,
                              const char *path,
                              const tg_load_options *options)
{
    return load_source(__func__, BUNDLE(type, bundle), path, options);
}

tg_status tg_variables_save(tg_variable *const *variables, size_t n_variables,
                            const char *path)
{
    return save_source(__func__, LIST(variables, n_variables), path);
}

tg_status tg_variables_load(tg_variable *const *variables, size_t n_variables,
                            const char *path)
{
    return load_source(__func__, LIST(variables, n_variables), path, NULL);
}

tg_status tg_variables_load_with(tg_variable *const *variables,
                                 size_t n_variables, const char *path,
                                 const tg_load_options *options)
{
    return load_source(__func__, LIST(variables, n_variables), path, options);
}
