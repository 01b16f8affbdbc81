/* SPDX-License-Identifier: MIT */
/*
 * base.h - what every other header stands on: status codes, the error
 * record, element types, source places, allocation and logging.
 *
 * Conventions of the whole API, said once:
 *   ownership  tg_x_create gives the caller one reference; tg_x_retain adds
 *              one; tg_x_release drops one and accepts NULL. Getters lend:
 *              what they return lives as long as the object asked. A callee
 *              that keeps an object retains it.
 *   failure    functions return a tg_status, or a pointer that is NULL, or a
 *              tg_value that is invalid. The reason is in the calling
 *              thread's error record (tg_error). Nothing aborts.
 *   threads    objects may be shared between threads unless said otherwise.
 */
#ifndef TGJIT_BASE_H
#define TGJIT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TG_BEGIN_DECLS extern "C" {
#define TG_END_DECLS }
#else
#define TG_BEGIN_DECLS
#define TG_END_DECLS
#endif

#define TG_API __attribute__((visibility("default")))
#define TG_MUST_CHECK __attribute__((warn_unused_result))
#define TG_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* Tensors have at most this many axes. */
#define TG_MAX_RANK 8

/*
 * Functions applied by callbacks, branches, loops and other callbacks inside
 * of callbacks nest at most this deep, counted from the function that is
 * called; deeper ones fail with TG_ERROR_LIMIT. At this depth, tracing,
 * gradients and the interpreter use less than half of a stack of 256 KiB.
 * Compiling, after that, uses up to 160 KiB of it.
 */
#define TG_MAX_NESTING 100

TG_BEGIN_DECLS

typedef struct tg_context tg_context;
typedef struct tg_tensor tg_tensor;
typedef struct tg_variable tg_variable;
typedef struct tg_group tg_group;
typedef struct tg_function tg_function;
typedef struct tg_concrete tg_concrete;
typedef struct tg_bound tg_bound;
typedef struct tg_trace tg_trace;

/* -- Element types --------------------------------------------------------- */

/* Bool is one byte, 0 or 1. The numbers are part of the ABI. */
typedef enum tg_dtype {
    TG_DTYPE_NONE = 0,
    TG_BOOL = 1,
    TG_I8 = 2,
    TG_I16 = 3,
    TG_I32 = 4,
    TG_I64 = 5,
    TG_U8 = 6,
    TG_U16 = 7,
    TG_U32 = 8,
    TG_U64 = 9,
    /* 10 and 11 are kept for f16 and bf16. */
    TG_F32 = 12,
    TG_F64 = 13
} tg_dtype;

/* Bytes of one element; 0 if `dtype` is not an element type. */
TG_API size_t tg_dtype_bytes(tg_dtype dtype);

/* "f32", "i64", "bool" …; "?" if `dtype` is not an element type. */
TG_API const char *tg_dtype_name(tg_dtype dtype);

/* -- Status and error record ----------------------------------------------- */

typedef enum tg_status {
    TG_OK = 0,
    TG_ERROR_INVALID_ARGUMENT = 1, /* NULL, foreign handle, bad option */
    TG_ERROR_OUT_OF_MEMORY = 2,    /* also: over the context's limit */
    TG_ERROR_OVERFLOW = 3,         /* a size does not fit 64 bits */
    TG_ERROR_DTYPE = 4,            /* element types do not fit */
    TG_ERROR_SHAPE = 5,            /* shapes, axes or extents do not fit */
    TG_ERROR_INDEX = 6,            /* a run-time index is out of range */
    TG_ERROR_TRACE = 7,            /* a value used outside its trace */
    TG_ERROR_RECURSION = 8,        /* a function needs itself to be traced */
    TG_ERROR_SIGNATURE = 9,        /* a call does not fit the signature */
    TG_ERROR_STATE = 10,           /* variable exists, is missing, is unset */
    TG_ERROR_BUSY = 11,            /* this thread already holds the variable */
    TG_ERROR_CALLBACK = 12,        /* the callback itself reported failure */
    TG_ERROR_UNSUPPORTED = 13,     /* not in this build */
    TG_ERROR_INTERNAL = 14,        /* a broken invariant of the library */
    TG_ERROR_FILE = 15,            /* a file or directory cannot be used */
    TG_ERROR_LIMIT = 16            /* too many iterations, nested too deeply */
} tg_status;

/* "shape error", "out of memory" …: a short name, never NULL. */
TG_API const char *tg_status_name(tg_status status);

/* The last failure on the calling thread. */
typedef struct tg_error_record {
    tg_status status;
    const char *message;       /* whole text, with file:line in front */
    const char *file;          /* the user's source file, or NULL */
    int line;
    const char *function;      /* the API function that failed, or NULL */
    const tg_context *context; /* NULL if it failed before there was one */
} tg_error_record;

/*
 * Message of the calling thread's last failure in `ctx`, "" if there was
 * none. With NULL: the last failure in any context, also of a failed
 * tg_context_create. Valid until the thread's next failing call.
 */
TG_API const char *tg_error(const tg_context *ctx);

/* The whole record; its status is TG_OK if nothing failed on this thread. */
TG_API const tg_error_record *tg_error_last(void);

/* Forgets the calling thread's record. */
TG_API void tg_error_clear(void);

/* -- Places in the user's source ------------------------------------------- */

typedef struct tg_site {
    const char *file;
    int line;
} tg_site;

#ifdef __cplusplus
TG_END_DECLS
inline tg_site tg_site_here(const char *file, int line)
{
    tg_site site = {file, line};
    return site;
}
/* As a default argument it names the caller's line. */
#define TG_HERE tg_site_here(__builtin_FILE(), __builtin_LINE())
TG_BEGIN_DECLS
#else
#define TG_HERE ((tg_site){__FILE__, __LINE__})
#endif

/* -- Options structs ------------------------------------------------------- */

/* Begin with their size, so that they can grow; all else zero is defaults. A
   size that no version of the struct had is TG_ERROR_INVALID_ARGUMENT. */
#ifdef __cplusplus
TG_END_DECLS
template <typename type> inline type tg_options_init()
{
    type options = {};
    options.struct_bytes = sizeof(options);
    return options;
}
#define TG_OPTIONS_INIT(type) tg_options_init<type>()
TG_BEGIN_DECLS
#else
#define TG_OPTIONS_INIT(type) {.struct_bytes = sizeof(type)}
#endif

/* -- Memory ---------------------------------------------------------------- */

/*
 * Where the library takes its memory. `allocate` returns `bytes` bytes at a
 * multiple of `align` (a power of two), or NULL. Both may be called from any
 * thread.
 */
typedef struct tg_allocator {
    void *(*allocate)(size_t bytes, size_t align, void *user);
    void (*release)(void *memory, size_t bytes, size_t align, void *user);
    void *user;
} tg_allocator;

/*
 * Replaces the process-wide allocator; NULL restores the default. Only while
 * no object of the library is alive, else TG_ERROR_BUSY.
 */
TG_API TG_MUST_CHECK tg_status tg_allocator_set(const tg_allocator *allocator);

/* Objects alive in this process: contexts, tensors, variables, functions … */
TG_API size_t tg_live_objects(void);

/* Bytes the library holds from its allocator. */
TG_API size_t tg_live_bytes(void);

/* -- Log ------------------------------------------------------------------- */

typedef enum tg_log_level {
    TG_LOG_OFF = 0,
    TG_LOG_WARN = 1,
    TG_LOG_INFO = 2,
    TG_LOG_DEBUG = 3
} tg_log_level;

/* Receives one line without newline. May be called from any thread. */
typedef void tg_log_callback(tg_log_level level, const char *component,
                             const char *message, void *user);

/* -- Version --------------------------------------------------------------- */

#define TG_VERSION_MAJOR 0
#define TG_VERSION_MINOR 1
#define TG_VERSION_PATCH 0

/* The version of the library that is running, such as "0.1.0". */
TG_API const char *tg_version(void);

TG_END_DECLS

#endif /* TGJIT_BASE_H */
