/* SPDX-License-Identifier: MIT */
/*
 * control.h - for tests of branches and loops: every scenario runs interpreted,
 * with all passes and with some skipped, and compiled for several threads if
 * there is a compiler. All runs must agree.
 */
#ifndef TGI_TEST_CONTROL_H
#define TGI_TEST_CONTROL_H

#include <stdlib.h>

#include "jit.h"
#include "support/api.h"
#include "support/vector_widths.h"

/* How functions with branches and loops are compiled. */
#define CONTROL_JIT "required"

static inline void check_control(void (*check)(session *s))
{
    static const tg_context_options modes[] = {
        {.jit = "off"},
        {.jit = "off", .skip_passes = "inline"},
        {.jit = "off", .skip_passes = "fold,simplify,shape,dead"},
        {.jit = "off", .skip_passes = "fold,simplify,hoist,shape,dead,inline"},
        {.jit = CONTROL_JIT, .threads = 1},
        {.jit = CONTROL_JIT, .threads = 2, .vector_bits = 128},
        {.jit = CONTROL_JIT, .threads = 3, .vector_bits = 256},
        {.jit = CONTROL_JIT, .threads = 2, .vector_bits = 512},
        {.jit = CONTROL_JIT, .skip_passes = "fold,simplify,shape,dead"},
    };
    char text[1024];
    const bool can_compile = tgi_jit_describe(text, sizeof(text));
    setenv("TGJIT_GRAIN", "0", 1); /* divide all work */
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        session s;
        if (!can_compile && strcmp(modes[i].jit, CONTROL_JIT) == 0)
            continue;
        tg_context_options options = modes[i];
        options.vector_bits = host_vector_bits(options.vector_bits);
        session_begin_with(&s, options);
        check(&s);
        session_end(&s);
    }
}

/* A callback that may leave parameters unused. */
#define CALLBACK(name) \
    static void name(__attribute__((unused)) tg_trace *t, \
                     __attribute__((unused)) const tg_value *in, \
                     __attribute__((unused)) void *user)

/* -- Scalars --------------------------------------------------------------- */

static inline tg_tensor *bool_scalar(tg_context *ctx, bool value)
{
    return tg_tensor_copy(ctx, &value, TG_BOOL, TG_SCALAR);
}

static inline tg_tensor *i32_scalar(tg_context *ctx, int32_t value)
{
    return tg_tensor_copy(ctx, &value, TG_I32, TG_SCALAR);
}

static inline tg_tensor *i64_scalar(tg_context *ctx, int64_t value)
{
    return tg_tensor_copy(ctx, &value, TG_I64, TG_SCALAR);
}

static inline tg_tensor *f32_scalar(tg_context *ctx, float value)
{
    return tg_tensor_copy(ctx, &value, TG_F32, TG_SCALAR);
}

/* Checks the text printed since the last check. */
#define check_printed(s, text) \
    do { \
        cr_assert_str_eq((s)->printed, text); \
        (s)->printed[0] = '\0'; \
    } while (0)

#endif /* TGI_TEST_CONTROL_H */
