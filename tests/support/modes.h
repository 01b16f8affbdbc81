/* SPDX-License-Identifier: MIT */
/*
 * modes.h - runs one scenario interpreted and compiled in several ways, and
 * compares everything it observes byte by byte.
 */
#ifndef TGI_TEST_MODES_H
#define TGI_TEST_MODES_H

#include <stdlib.h>

#include "jit.h"
#include "support/api.h"
#include "support/vector_widths.h"

typedef struct mode {
    const char *name, *jit;
    int threads, vector_bits;
    const char *skip_passes; /* or NULL */
} mode;

/* The first mode is the reference. All work is divided among the threads. */
static const mode all_modes[] = {
    {"interpreted", "off", 1, 0, NULL},
    {"compiled", "required", 1, 0, NULL},
    {"compiled for 2 threads", "required", 2, 128, NULL},
    {"compiled for 3 threads", "required", 3, 256, NULL},
    {"compiled for 7 threads", "required", 7, 128, NULL},
    {"compiled for 2 threads, 512 bits", "required", 2, 512, NULL},
    {"compiled without loop passes", "required", 2, 256,
     "elide-copies,in-place,group,share"},
};
enum { N_MODES = sizeof(all_modes) / sizeof(*all_modes) };

/* Skips the test if nothing can be compiled. */
static inline void need_compiler(void)
{
    char text[1024];
    if (!tgi_jit_describe(text, sizeof(text)))
        cr_skip_test("%s", text);
}

/* -3, -2.75 … 246.75, repeated. */
static inline tg_tensor *f32_range(tg_context *ctx, int64_t n)
{
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(n), tg_zeros());
    cr_assert_not_null(x);
    float *data = tg_tensor_data(x);
    for (int64_t i = 0; i < n; i++)
        data[i] = 0.25f * (float)(i % 1000) - 3;
    return x;
}

static inline void session_begin_mode(session *s, const mode *m)
{
    setenv("TGJIT_GRAIN", "0", 1);
    session_begin_with(
        s, (tg_context_options){.jit = m->jit,
                                .threads = m->threads,
                                .skip_passes = m->skip_passes,
                                .vector_bits =
                                    host_vector_bits(m->vector_bits)});
}

/* Runs a check with TGJIT_JIT off, auto and required; it releases what it
   creates. */
static inline void in_modes(void check(session *s))
{
    static const char *const modes[] = {"off", "auto", "required"};
    need_compiler();
    for (size_t i = 0; i < 3; i++) {
        session s;
        session_begin_with(&s, (tg_context_options){.jit = modes[i]});
        check(&s);
        session_end(&s);
    }
}

/* -- Outcome of a scenario ------------------------------------------------- */

typedef struct outcome {
    char bytes[1 << 16];
    size_t n;
} outcome;

static inline void note(outcome *out, const void *data, size_t bytes)
{
    cr_assert_leq(out->n + bytes, sizeof(out->bytes));
    if (bytes)
        memcpy(out->bytes + out->n, data, bytes);
    out->n += bytes;
}

static inline void note_tensor(outcome *out, const tg_tensor *tensor)
{
    note(out, tg_tensor_data(tensor), tg_tensor_bytes(tensor));
}

static inline void note_variable(outcome *out, tg_variable *v)
{
    char contents[4096];
    const size_t bytes = tg_variable_bytes(v);
    cr_assert_leq(bytes, sizeof(contents));
    check_works(tg_variable_get(v, contents, bytes));
    note(out, contents, bytes);
}

/* A status and an error message. */
static inline tg_status note_status(outcome *out, tg_status status)
{
    note(out, &status, sizeof(status));
    if (status)
        note(out, tg_error(NULL), strlen(tg_error(NULL)));
    return status;
}

/* Notes the status and message of a call whose assert fails with these
   texts. */
#define check_asserts(out, call, ...) \
    check_fails(note_status(out, call), TG_ERROR_ASSERT, __VA_ARGS__)

/* -- Comparing ------------------------------------------------------------- */

typedef void scenario(session *s, outcome *out);

/* Runs a scenario in all modes and compares its outcomes with that of the
   first. A scenario releases the objects it creates. */
static inline void check_modes(scenario *run)
{
    static outcome want, is;
    need_compiler();
    for (int i = 0; i < N_MODES; i++) {
        session s;
        outcome *out = i ? &is : &want;
        out->n = 0;
        session_begin_mode(&s, &all_modes[i]);
        run(&s, out);
        note(out, s.printed, strlen(s.printed));
        session_end(&s);
        cr_assert_eq(want.n, out->n, "%s: %zu bytes, not %zu",
                     all_modes[i].name, out->n, want.n);
        for (size_t k = 0; k < want.n; k++)
            cr_assert_eq(want.bytes[k], out->bytes[k],
                         "%s: differs at byte %zu of %zu:\n%.*s\nnot\n%.*s",
                         all_modes[i].name, k, want.n, (int)(want.n - k),
                         out->bytes + k, (int)(want.n - k), want.bytes + k);
    }
}

/* The same, also in mode auto; without a compiler, runs the scenario there and
   interpreted. */
static inline void check_all_modes(scenario *run)
{
    static outcome out;
    static const char *const modes[] = {"off", "auto"}; /* need no compiler */
    for (int i = 0; i < 2; i++) {
        session s;
        out.n = 0;
        session_begin_with(&s, (tg_context_options){.jit = modes[i]});
        run(&s, &out);
        session_end(&s);
    }
    check_modes(run);
}

#endif /* TGI_TEST_MODES_H */
