/* SPDX-License-Identifier: MIT */
/*
 * variable.h - variables: named buffers that outlive calls and that functions
 * read and assign. Bundles: C structs of variables.
 *
 * Locking. Every variable belongs to a group, which has one lock. A call locks
 * the groups of all variables it uses, in a fixed order, so calls are atomic
 * with respect to each other. The group of a variable never changes. If another
 * thread is using a group when the process forks, its variables may be in the
 * middle of a call: in the child, all uses of them fail with TG_ERROR_BUSY.
 */
#ifndef TGJIT_VARIABLE_H
#define TGJIT_VARIABLE_H

#include "base.h"
#include "initial.h"

TG_BEGIN_DECLS

/* -- Groups ---------------------------------------------------------------- */

/* Creates a group. Variables that share a group cost a call one lock. */
TG_API TG_MUST_CHECK tg_group *tg_group_create(tg_context *ctx);
TG_API tg_group *tg_group_retain(tg_group *group);
TG_API void tg_group_release(tg_group *group);
TG_DEFINE_AUTO(tg_group)

/* -- Variables ------------------------------------------------------------- */

/* Selects the variables of a list. */
typedef enum tg_variable_filter {
    TG_ALL_VARIABLES = 0,
    TG_TRAINABLE = 1
} tg_variable_filter;

typedef struct tg_variable_options {
    size_t struct_bytes; /* sizeof(tg_variable_options) */
    tg_group *group;     /* NULL: a group of its own */
    bool untrainable;    /* omitted from TG_TRAINABLE lists */
} tg_variable_options;

#define TG_VARIABLE_OPTIONS_INIT TG_OPTIONS_INIT(tg_variable_options)

/*
 * Creates a variable with a 64-byte aligned buffer that never moves. Names are
 * unique in a context: if `name` is in use, a suffix _1, _2, … is appended (see
 * tg_variable_name). NULL and "" stand for "variable".
 */
TG_API TG_MUST_CHECK tg_variable *
tg_variable_create(tg_context *ctx, const char *name, tg_dtype dtype, int rank,
                   const int64_t *dims, tg_initial initial);

TG_API TG_MUST_CHECK tg_variable *
tg_variable_create_with(tg_context *ctx, const char *name, tg_dtype dtype,
                        int rank, const int64_t *dims, tg_initial initial,
                        const tg_variable_options *options);

TG_API tg_variable *tg_variable_retain(tg_variable *variable);
TG_API void tg_variable_release(tg_variable *variable);
TG_DEFINE_AUTO(tg_variable)

TG_API const char *tg_variable_name(const tg_variable *variable);
TG_API tg_dtype tg_variable_dtype(const tg_variable *variable);
TG_API int tg_variable_rank(const tg_variable *variable);
TG_API const int64_t *tg_variable_dims(const tg_variable *variable);
TG_API int64_t tg_variable_count(const tg_variable *variable);
TG_API size_t tg_variable_bytes(const tg_variable *variable);
TG_API bool tg_variable_is_trainable(const tg_variable *variable);

/* A counter that increases whenever the contents may have changed. */
TG_API uint64_t tg_variable_version(const tg_variable *variable);

/* -- Host access to the contents ------------------------------------------- */

typedef enum tg_access { TG_READ = 0, TG_WRITE = 1 } tg_access;

/*
 * Locks the variable's group for the calling thread and returns the buffer;
 * NULL on failure. A thread may map several variables, including several of one
 * group. Until it unmaps them, a call on that thread that uses their groups
 * fails with TG_ERROR_BUSY. After TG_WRITE, unmapping increases the version.
 */
TG_API TG_MUST_CHECK void *tg_variable_map(tg_variable *variable,
                                           tg_access access);

/* Ends one tg_variable_map of the calling thread. */
TG_API tg_status tg_variable_unmap(tg_variable *variable);

/* Copy the contents out or in; `bytes` must equal the size of the variable. */
TG_API TG_MUST_CHECK tg_status tg_variable_get(tg_variable *variable,
                                               void *out_data, size_t bytes);
TG_API TG_MUST_CHECK tg_status tg_variable_set(tg_variable *variable,
                                               const void *data, size_t bytes);

/* -- Bundles --------------------------------------------------------------- */

typedef struct tg_bundle_type tg_bundle_type;

/* One member: a nested bundle if `bundle` is set, else a tg_variable *. */
typedef struct tg_bundle_field {
    const char *name;
    size_t offset;
    const tg_bundle_type *bundle;
} tg_bundle_field;

/*
 * Describes a struct of variables:
 *
 *     typedef struct { tg_variable *w, *b; } layer;
 *     static const tg_bundle_field layer_fields[] = {
 *         TG_FIELD(layer, w), TG_FIELD(layer, b) };
 *     static const tg_bundle_type layer_type = TG_BUNDLE(layer, layer_fields);
 *
 * A member may be NULL; it is left out of lists, files and arguments.
 */
struct tg_bundle_type {
    const char *name;
    size_t bytes; /* size of the struct */
    const tg_bundle_field *fields;
    size_t n_fields;
};

#define TG_FIELD(type, member) {#member, offsetof(type, member), NULL}
#define TG_FIELD_BUNDLE(type, member, member_type) \
    {#member, offsetof(type, member), member_type}
#define TG_BUNDLE(type, fields) \
    {#type, sizeof(type), fields, sizeof(fields) / sizeof((fields)[0])}

/*
 * Writes up to `capacity` variables of a bundle to `out_variables` (borrowed),
 * in field order with nested bundles in place, and returns how many there are.
 */
TG_API size_t tg_bundle_variables(const tg_bundle_type *type,
                                  const void *bundle, tg_variable_filter filter,
                                  tg_variable **out_variables, size_t capacity);

/* Total number of elements of the selected variables of a bundle. */
TG_API int64_t tg_bundle_count(const tg_bundle_type *type, const void *bundle,
                               tg_variable_filter filter);

/* Releases every variable of the bundle and sets the members to NULL. */
TG_API void tg_bundle_release(const tg_bundle_type *type, void *bundle);

TG_END_DECLS

#endif /* TGJIT_VARIABLE_H */
