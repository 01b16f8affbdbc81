/* SPDX-License-Identifier: MIT */
/*
 * api.h - for tests that use only the public interface: a context that records
 * prints and log lines, calls that must succeed, and checks of results,
 * variables and the error record.
 *
 * A failing check reports the line of the test that called it.
 */
#ifndef TGI_TEST_API_H
#define TGI_TEST_API_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"
#include "tgjit.h"

/* -- Sessions -------------------------------------------------------------- */

typedef struct session {
    tg_context *ctx;
    char printed[4096]; /* all prints, each followed by a newline */
    char logged[4096];
} session;

static inline void keep_line(char *lines, size_t room, const char *text)
{
    const size_t used = strlen(lines), n = strlen(text);
    cr_assert_lt(used + n + 1, room, "there is no room for: %s", text);
    memcpy(lines + used, text, n);
    memcpy(lines + used + n, "\n", 2);
}

static inline void keep_print(const char *text, void *user)
{
    session *s = user;
    keep_line(s->printed, sizeof s->printed, text);
}

static inline void keep_log(tg_log_level level, const char *component,
                            const char *message, void *user)
{
    session *s = user;
    (void)level, (void)component;
    keep_line(s->logged, sizeof s->logged, message);
}

/* Begins a session with these options; prints and log go to the session. */
static inline void session_begin_with(session *s, tg_context_options options)
{
    memset(s, 0, sizeof *s);
    options.struct_bytes = sizeof options;
    options.print_callback = keep_print;
    options.print_user = s;
    options.log_callback = keep_log;
    options.log_user = s;
    s->ctx = tg_context_create(&options);
    cr_assert_not_null(s->ctx, "%s", tg_error(NULL));
}

static inline void session_begin(session *s)
{
    session_begin_with(s, (tg_context_options){0});
}

/* The test must have released all other objects. */
static inline void session_end(session *s)
{
    tg_context_release(s->ctx);
    check_nothing_is_alive();
}

/* -- Errors ---------------------------------------------------------------- */

/* The record has this status, and its message contains all these texts. */
static inline void check_record_at(int line, tg_status wanted,
                                   const char *const *pieces)
{
    const tg_error_record *record = tg_error_last();
    cr_assert_eq(record->status, wanted, "line %d: wanted %s, got %s: %s", line,
                 tg_status_name(wanted), tg_status_name(record->status),
                 record->message);
    for (; *pieces; pieces++)
        cr_assert_not_null(strstr(record->message, *pieces),
                           "line %d: no \"%s\" in \"%s\"", line, *pieces,
                           record->message);
}

static inline void check_failure_at(int line, tg_status status,
                                    tg_status wanted, const char *const *pieces)
{
    cr_assert_eq(status, wanted, "line %d: wanted %s, got %s: %s", line,
                 tg_status_name(wanted), tg_status_name(status),
                 status ? tg_error(NULL) : "");
    check_record_at(line, wanted, pieces);
}

#define check_record(wanted, ...) \
    check_record_at(__LINE__, wanted, (const char *const[]){__VA_ARGS__, NULL})
#define check_fails(call, wanted, ...) \
    check_failure_at(__LINE__, call, wanted, \
                     (const char *const[]){__VA_ARGS__, NULL})

static inline void check_works_at(int line, tg_status status)
{
    cr_assert_eq(status, TG_OK, "line %d: %s: %s", line, tg_status_name(status),
                 tg_error(NULL));
}

#define check_works(call) check_works_at(__LINE__, call)

/* -- Calls ----------------------------------------------------------------- */

/* The first result of a call that must succeed. */
static inline tg_tensor *call_one(tg_function *f, const tg_operand *args,
                                  size_t n_args)
{
    tg_tensor *y = NULL;
    const tg_status status = tg_call(f, args, n_args, TG_RESULTS(&y));
    cr_assert_eq(status, TG_OK, "%s: %s", tg_function_name(f), tg_error(NULL));
    cr_assert_not_null(y);
    return y;
}

/* A call that must succeed; its results are ignored. */
static inline void call_only(tg_function *f, const tg_operand *args,
                             size_t n_args)
{
    const tg_status status = tg_call(f, args, n_args, TG_RESULTS());
    cr_assert_eq(status, TG_OK, "%s: %s", tg_function_name(f), tg_error(NULL));
}

/* -- Tensors and variables ------------------------------------------------- */

#define LENGTH_OF(type, ...) \
    ((int64_t)(sizeof((const type[]){__VA_ARGS__}) / sizeof(type)))

#define f32_vector(ctx, ...) \
    tg_tensor_copy(ctx, (const float[]){__VA_ARGS__}, TG_F32, \
                   TG_DIMS(LENGTH_OF(float, __VA_ARGS__)))
#define i32_vector(ctx, ...) \
    tg_tensor_copy(ctx, (const int32_t[]){__VA_ARGS__}, TG_I32, \
                   TG_DIMS(LENGTH_OF(int32_t, __VA_ARGS__)))

static inline tg_variable *f32_scalar_variable(tg_context *ctx,
                                               const char *name, double value)
{
    tg_variable *v =
        tg_variable_create(ctx, name, TG_F32, TG_SCALAR, tg_fill(value));
    cr_assert_not_null(v, "%s", tg_error(ctx));
    return v;
}

static inline void check_floats_at(int line, const float *is, const float *want,
                                   int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        cr_assert_eq(memcmp(&is[i], &want[i], sizeof *is), 0,
                     "line %d: element %lld is %.9g, not %.9g", line,
                     (long long)i, (double)is[i], (double)want[i]);
}

/* Compares an f32 tensor of any shape, and releases it. */
static inline void check_f32_at(int line, tg_tensor *tensor, const float *want,
                                int64_t n)
{
    cr_assert_eq(tg_tensor_dtype(tensor), TG_F32, "line %d", line);
    cr_assert_eq(tg_tensor_count(tensor), n, "line %d: %lld elements", line,
                 (long long)tg_tensor_count(tensor));
    check_floats_at(line, tg_tensor_data(tensor), want, n);
    tg_tensor_release(tensor);
}

#define check_f32(tensor, ...) \
    check_f32_at(__LINE__, tensor, (const float[]){__VA_ARGS__}, \
                 LENGTH_OF(float, __VA_ARGS__))

/* The same for i64. */
static inline void check_i64_at(int line, tg_tensor *tensor,
                                const int64_t *want, int64_t n)
{
    cr_assert_eq(tg_tensor_dtype(tensor), TG_I64, "line %d", line);
    cr_assert_eq(tg_tensor_count(tensor), n, "line %d: %lld elements", line,
                 (long long)tg_tensor_count(tensor));
    const int64_t *is = tg_tensor_data(tensor);
    for (int64_t i = 0; i < n; i++)
        cr_assert_eq(is[i], want[i], "line %d: element %lld is %lld, not %lld",
                     line, (long long)i, (long long)is[i], (long long)want[i]);
    tg_tensor_release(tensor);
}

#define check_i64(tensor, ...) \
    check_i64_at(__LINE__, tensor, (const int64_t[]){__VA_ARGS__}, \
                 LENGTH_OF(int64_t, __VA_ARGS__))

enum { VARIABLE_ROOM = 64 };

static inline void check_variable_at(int line, tg_variable *v,
                                     const float *want, int64_t n)
{
    float is[VARIABLE_ROOM];
    cr_assert(n <= VARIABLE_ROOM);
    cr_assert_eq(tg_variable_dtype(v), TG_F32, "line %d", line);
    cr_assert_eq(tg_variable_get(v, is, (size_t)n * sizeof *is), TG_OK,
                 "line %d: %s", line, tg_error(NULL));
    check_floats_at(line, is, want, n);
}

#define check_variable(v, ...) \
    check_variable_at(__LINE__, v, (const float[]){__VA_ARGS__}, \
                      LENGTH_OF(float, __VA_ARGS__))

static inline void check_set_at(int line, tg_variable *v, const float *data,
                                int64_t n)
{
    cr_assert_eq(tg_variable_set(v, data, (size_t)n * sizeof *data), TG_OK,
                 "line %d: %s", line, tg_error(NULL));
}

#define set_variable(v, ...) \
    check_set_at(__LINE__, v, (const float[]){__VA_ARGS__}, \
                 LENGTH_OF(float, __VA_ARGS__))

#endif /* TGI_TEST_API_H */
