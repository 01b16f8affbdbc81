/* SPDX-License-Identifier: MIT */
/*
 * scope.h - variable scopes: hierarchical names, and variables that several
 * parts of a program share by name.
 *
 * Every thread has a stack of scopes per context. A variable created while
 * scopes are open is named after them: "encoder/fc1/weights".
 *
 *     tg_scope_push(ctx, "fc1", TG_REUSE_AUTO);
 *     tg_variable *w = tg_get_variable(ctx, "weights", TG_F32,
 *                                      TG_DIMS(784, 128), tg_glorot());
 *     tg_scope_pop(ctx);
 *
 * All of it works inside a callback, too. There the stack is empty at first,
 * whichever scopes the caller has open, so that a function names its variables
 * in the same way for every caller and on every trace.
 */
#ifndef TGJIT_SCOPE_H
#define TGJIT_SCOPE_H

#include "context.h"
#include "value.h"

TG_BEGIN_DECLS

/* Whether tg_get_variable creates a variable or finds an existing one. */
typedef enum tg_reuse {
    TG_REUSE_OFF = 0, /* as the enclosing scope; outermost: create only */
    TG_REUSE_ON = 1,  /* find only */
    TG_REUSE_AUTO = 2 /* find, or create */
} tg_reuse;

/*
 * Opens scope `name`, which may contain '/', inside the current one. Fails
 * with TG_ERROR_INVALID_ARGUMENT if the name is empty.
 */
TG_API tg_status tg_scope_push_at(tg_context *ctx, const char *name,
                                  tg_reuse reuse, tg_site site);

/*
 * Opens a scope named `default_name`, or default_name_1, _2 ... if the current
 * scope has given out that name since it was opened. Opening the outer scope
 * again starts from default_name again: the same code finds the same names.
 */
TG_API tg_status tg_scope_push_default_at(tg_context *ctx,
                                          const char *default_name,
                                          tg_reuse reuse, tg_site site);

/* Closes the scope opened last. TG_ERROR_STATE if none is open. */
TG_API tg_status tg_scope_pop_at(tg_context *ctx, tg_site site);

/* Full name of the current scope, "" outside of all. Valid until the calling
   thread opens or closes a scope. */
TG_API const char *tg_scope_name(tg_context *ctx);

/*
 * The variable `name` of the current scope, created or found as the scope's
 * tg_reuse says. The context owns it and lends it to the caller: it lives until
 * tg_context_release has ended the last reference of the program to the
 * context. TG_ERROR_STATE if it exists but must not (TG_REUSE_OFF), does not
 * exist but must (TG_REUSE_ON), or exists with another dtype or shape.
 *
 * Inside a callback, a variable that the first trace of the function creates
 * is found again by its later traces, whatever the scope's tg_reuse; it is an
 * error to create one on a later trace. If the trace fails, the variables it
 * created go, unless something else already uses them.
 *
 * `options` may be NULL. Returns NULL on failure.
 */
TG_API tg_variable *tg_get_variable_at(tg_context *ctx, const char *name,
                                       tg_dtype dtype, int rank,
                                       const int64_t *dims, tg_initial initial,
                                       const tg_variable_options *options,
                                       tg_site site);

TG_END_DECLS

#ifndef __cplusplus

#define tg_scope_push(ctx, name, reuse) \
    tg_scope_push_at(ctx, name, reuse, TG_HERE)
#define tg_scope_push_default(ctx, default_name, reuse) \
    tg_scope_push_default_at(ctx, default_name, reuse, TG_HERE)
#define tg_scope_pop(ctx) tg_scope_pop_at(ctx, TG_HERE)

/* tg_get_variable(ctx, "w", TG_F32, TG_DIMS(784, 128), tg_glorot()) */
#define tg_get_variable(ctx, name, ...) \
    tg_get_variable_at(ctx, name, __VA_ARGS__, NULL, TG_HERE)
/* As above, with a tg_variable_options * as last argument. */
#define tg_get_variable_with(ctx, name, ...) \
    tg_get_variable_at(ctx, name, __VA_ARGS__, TG_HERE)

#else /* __cplusplus */

inline tg_status tg_scope_push(tg_context *ctx, const char *name,
                               tg_reuse reuse, tg_site site = TG_HERE)
{
    return tg_scope_push_at(ctx, name, reuse, site);
}
inline tg_status tg_scope_push_default(tg_context *ctx,
                                       const char *default_name,
                                       tg_reuse reuse, tg_site site = TG_HERE)
{
    return tg_scope_push_default_at(ctx, default_name, reuse, site);
}
inline tg_status tg_scope_pop(tg_context *ctx, tg_site site = TG_HERE)
{
    return tg_scope_pop_at(ctx, site);
}
inline tg_variable *
tg_get_variable(tg_context *ctx, const char *name, tg_dtype dtype,
                tg_dims dims, tg_initial initial,
                const tg_variable_options *options = nullptr,
                tg_site site = TG_HERE)
{
    return tg_get_variable_at(ctx, name, dtype, (int)dims.size(), dims.begin(),
                              initial, options, site);
}
inline tg_variable *
tg_get_variable_with(tg_context *ctx, const char *name, tg_dtype dtype,
                     tg_dims dims, tg_initial initial,
                     const tg_variable_options *options,
                     tg_site site = TG_HERE)
{
    return tg_get_variable(ctx, name, dtype, dims, initial, options, site);
}

#endif /* __cplusplus */

#endif /* TGJIT_SCOPE_H */
