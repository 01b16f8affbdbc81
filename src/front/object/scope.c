/* SPDX-License-Identifier: MIT */
/*
 * scope.c - stacks of variable scopes. One array of frames per thread holds
 * the scopes of all contexts, innermost last; a context finds its own by its
 * id, so that a frame left open does not keep a context alive. The array is
 * freed with its last frame, and at the end of the thread.
 */
#include "front/object/scope.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/vec.h"
#include "front/object/context_object.h"

typedef struct scope_frame {
    uint64_t context; /* its id */
    char *name;       /* full name; NULL: where a trace begins */
    tg_reuse reuse;
    tgi_name_counts defaults; /* given out by tg_scope_push_default */
} scope_frame;

typedef struct scope_stack {
    TGI_VEC(scope_frame) frames;
} scope_stack;

/* -- The stack of a thread ------------------------------------------------- */

static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;
static bool has_stack_key;

static void frame_deinit(scope_frame *frame)
{
    tgi_free(frame->name);
    tgi_name_counts_deinit(&frame->defaults);
}

static void free_stack(void *memory)
{
    scope_stack *stack = memory;
    while (stack->frames.n)
        frame_deinit(&stack->frames.data[--stack->frames.n]);
    tgi_vec_deinit(&stack->frames);
    tgi_free(stack);
}

static void create_stack_key(void)
{
    has_stack_key = pthread_key_create(&stack_key, free_stack) == 0;
}

/* NULL: the thread has no frames. */
static scope_stack *current_stack(void)
{
    pthread_once(&stack_once, create_stack_key);
    return has_stack_key ? pthread_getspecific(stack_key) : NULL;
}

/* Takes over what the frame holds, also on failure. */
static tg_status push_frame(scope_frame frame)
{
    scope_stack *stack = current_stack();
    if (!stack && has_stack_key) {
        stack = tgi_alloc_zero(sizeof(*stack));
        if (stack && pthread_setspecific(stack_key, stack)) {
            tgi_free(stack);
            stack = NULL;
        }
    }
    if (stack && tgi_vec_push(&stack->frames, frame))
        return TG_OK;
    frame_deinit(&frame);
    if (stack && !stack->frames.n) {
        pthread_setspecific(stack_key, NULL);
        free_stack(stack);
    }
    return tgi_error_memory();
}

static void pop_frame(scope_stack *stack)
{
    frame_deinit(&stack->frames.data[--stack->frames.n]);
    if (stack->frames.n)
        return;
    pthread_setspecific(stack_key, NULL);
    free_stack(stack);
}

/* The innermost frame of a context, or NULL. */
static scope_frame *find_frame(const tg_context *ctx)
{
    scope_stack *stack = current_stack();
    for (size_t i = stack ? stack->frames.n : 0; i-- > 0;)
        if (stack->frames.data[i].context == ctx->id)
            return &stack->frames.data[i];
    return NULL;
}

/* -- Questions ------------------------------------------------------------- */

void tgi_scope_add_prefix(const tg_context *ctx, tgi_strbuf *out)
{
    const scope_frame *frame = find_frame(ctx);
    if (!frame || !frame->name)
        return;
    tgi_strbuf_add(out, frame->name);
    tgi_strbuf_add(out, "/");
}

tg_reuse tgi_scope_reuse(const tg_context *ctx)
{
    const scope_frame *frame = find_frame(ctx);
    return frame ? frame->reuse : TG_REUSE_OFF;
}

const char *tg_scope_name(tg_context *ctx)
{
    const scope_frame *frame = ctx ? find_frame(ctx) : NULL;
    return frame && frame->name ? frame->name : "";
}

/* -- Opening and closing --------------------------------------------------- */

static tg_status check_push(const tg_context *ctx, const char *name,
                            tg_reuse reuse, const char *who, tg_site site)
{
    if (!ctx)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site, "%s: the context is NULL",
                 who);
    if (!name || !*name)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site, "%s: the name is empty",
                 who);
    if ((unsigned)reuse > TG_REUSE_AUTO)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                 "%s: %d is not a tg_reuse value", who, (int)reuse);
    return TG_OK;
}

/* `number` > 0 is appended to the name as _number. */
static tg_status push_scope(const tg_context *ctx, const char *name,
                            uint64_t number, tg_reuse reuse)
{
    tgi_strbuf full = {0};
    tgi_scope_add_prefix(ctx, &full);
    tgi_strbuf_add(&full, name);
    if (number)
        tgi_strbuf_addf(&full, "_%llu", (unsigned long long)number);
    scope_frame frame = {
        .context = ctx->id,
        .name = tgi_strbuf_take(&full),
        .reuse = reuse == TG_REUSE_OFF ? tgi_scope_reuse(ctx) : reuse};
    return frame.name ? push_frame(frame) : tgi_error_memory();
}

tg_status tgi_scope_push(tg_context *ctx, const char *name, tg_reuse reuse,
                         const char *who, tg_site site)
{
    TGI_TRY(check_push(ctx, name, reuse, who, site));
    return push_scope(ctx, name, 0, reuse);
}

tg_status tgi_scope_push_default(tg_context *ctx, const char *name,
                                 tg_reuse reuse, const char *who, tg_site site)
{
    TGI_TRY(check_push(ctx, name, reuse, who, site));
    scope_frame *frame = find_frame(ctx);
    uint64_t number;
    if (!frame)
        tgi_fork_lock_acquire(&ctx->lock);
    const bool is_counted = tgi_name_counts_next(
        frame ? &frame->defaults : &ctx->default_scopes, name, &number);
    if (!frame)
        tgi_fork_lock_release(&ctx->lock);
    return is_counted ? push_scope(ctx, name, number, reuse)
                      : tgi_error_memory();
}

tg_status tgi_scope_pop(tg_context *ctx, const char *who, tg_site site)
{
    if (!ctx)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site, "%s: the context is NULL",
                 who);
    scope_stack *stack = current_stack();
    const scope_frame *frame =
        stack ? &stack->frames.data[stack->frames.n - 1] : NULL;
    if (!find_frame(ctx) || !find_frame(ctx)->name)
        TGI_FAIL(TG_ERROR_STATE, site, "%s: no scope is open", who);
    if (frame->context != ctx->id)
        TGI_FAIL(TG_ERROR_STATE, site,
                 "%s: scope '%s' of another context was opened later; close "
                 "that one first",
                 who, frame->name ? frame->name : "");
    pop_frame(stack);
    return TG_OK;
}

/* -- Traces ---------------------------------------------------------------- */

tg_status tgi_scope_begin_trace(const tg_context *ctx)
{
    return push_frame((scope_frame){.context = ctx->id});
}

const char *tgi_scope_left_open(void)
{
    const scope_stack *stack = current_stack();
    return stack->frames.data[stack->frames.n - 1].name;
}

void tgi_scope_end_trace(void)
{
    scope_stack *stack = current_stack();
    while (tgi_scope_left_open())
        pop_frame(stack);
    pop_frame(stack);
}
