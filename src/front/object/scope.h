/* SPDX-License-Identifier: MIT */
/*
 * scope.h - the calling thread's stack of variable scopes (tgjit/scope.h), one
 * for all contexts. A trace begins with a frame of its own: the scopes below
 * it are not seen from inside the callback.
 */
#ifndef TGI_SCOPE_H
#define TGI_SCOPE_H

#include "base/strbuf.h"
#include "tgjit/scope.h"

/* Adds the name of the current scope and a '/' to `out`; nothing outside of
   all scopes. */
void tgi_scope_add_prefix(const tg_context *ctx, tgi_strbuf *out);

/* What the current scope says of reuse; TG_REUSE_OFF outside of all. */
tg_reuse tgi_scope_reuse(const tg_context *ctx);

/* tg_scope_push_at and so on, with the error prefix `who`. */
tg_status tgi_scope_push(tg_context *ctx, const char *name, tg_reuse reuse,
                         const char *who, tg_site site);
tg_status tgi_scope_push_default(tg_context *ctx, const char *name,
                                 tg_reuse reuse, const char *who,
                                 tg_site site);
tg_status tgi_scope_pop(tg_context *ctx, const char *who, tg_site site);

/*
 * Around the trace of a function. The end closes scopes that the callback has
 * left open; tgi_scope_left_open names the innermost of these, NULL if there
 * is none.
 */
tg_status tgi_scope_begin_trace(const tg_context *ctx);
const char *tgi_scope_left_open(void);
void tgi_scope_end_trace(void);

#endif /* TGI_SCOPE_H */
