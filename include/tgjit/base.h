/* SPDX-License-Identifier: MIT */
/*
 * base.h - included by all other headers: status codes, the error record,
 * element types (dtypes), source locations, allocation and logging.
 *
 * Conventions of the whole API:
 *   ownership  tg_x_create returns one reference, owned by the caller;
 *              tg_x_retain adds one; tg_x_release drops one and accepts NULL.
 *              A getter returns a borrowed pointer, valid as long as the
 *              object it was called on. A callee that keeps an object retains
 *              it.
 *   failure    A function reports failure by its tg_status, a NULL pointer or
 *              an invalid tg_value. The reason is in the calling thread's
 *              error record (tg_error). The library never aborts.
 *   threads    Objects may be shared between threads unless their
 *              documentation says otherwise.
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
#define TG_COMPILE_ERROR(message) __attribute__((error(message)))

/* Parameters of a function that accepts any argument, also a struct. */
#ifdef __cplusplus
#define TG_ANYTHING ...
#elif __STDC_VERSION__ > 201710L && \
    (defined __clang__ || (defined __GNUC__ && __GNUC__ > 12))
#define TG_ANYTHING ...
#else
#define TG_ANYTHING
#endif

/*
 * TG_AUTO(tg_tensor) y = NULL; declares a `tg_tensor *` that is released at the
 * end of its block. For every type that has a release function.
 */
#define TG_AUTO(type) __attribute__((cleanup(type##_auto_release))) type *
#define TG_DEFINE_AUTO(type) \
    static inline void type##_auto_release(type **object) \
    { \
        type##_release(*object); \
    }

/* Maximum number of axes of a tensor. */
#define TG_MAX_RANK 8

/*
 * Maximum nesting of callbacks (applied functions, branches, loop bodies and
 * custom gradients), counted from the called function. Deeper nesting fails
 * with TG_ERROR_LIMIT. At this depth tracing, gradients and the interpreter
 * use less than 128 KiB of stack; compilation, which runs afterwards, uses up
 * to 160 KiB.
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

/* A bool is one byte, 0 or 1. The enumerators are part of the ABI. */
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
    TG_F16 = 10,  /* IEEE 754 binary16; half.h has the C type */
    TG_BF16 = 11, /* the upper half of an f32 */
    TG_F32 = 12,
    TG_F64 = 13
} tg_dtype;

/* Size of one element in bytes; 0 if `dtype` is not an element type. */
TG_API size_t tg_dtype_bytes(tg_dtype dtype);

/* A name such as "f32" or "bool"; "?" if `dtype` is not an element type. */
TG_API const char *tg_dtype_name(tg_dtype dtype);

/* -- Status and error record ----------------------------------------------- */

typedef enum tg_status {
    TG_OK = 0,
    TG_ERROR_INVALID_ARGUMENT = 1, /* NULL, foreign handle, bad option */
    TG_ERROR_OUT_OF_MEMORY = 2,    /* or above the context's memory_limit */
    TG_ERROR_OVERFLOW = 3,         /* a size exceeds 64 bits */
    TG_ERROR_DTYPE = 4,            /* dtypes do not match */
    TG_ERROR_SHAPE = 5,            /* shapes, axes or extents do not match */
    TG_ERROR_INDEX = 6,            /* a run-time index is out of range */
    TG_ERROR_TRACE = 7,            /* a value was used outside its trace */
    TG_ERROR_RECURSION = 8,        /* a trace depends on itself */
    TG_ERROR_SIGNATURE = 9,        /* arguments do not match the signature */
    TG_ERROR_STATE = 10,           /* variable exists, is missing, is unset */
    TG_ERROR_BUSY = 11,            /* this thread already holds the lock */
    TG_ERROR_CALLBACK = 12,        /* a callback reported failure */
    TG_ERROR_UNSUPPORTED = 13,     /* not available in this build */
    TG_ERROR_INTERNAL = 14,        /* an invariant of the library is broken */
    TG_ERROR_FILE = 15,            /* a file or directory cannot be used */
    TG_ERROR_LIMIT = 16,           /* too many iterations, too deep nesting */
    TG_ERROR_ASSERT = 17,          /* the condition of a tg_assert is false */
    TG_END_OF_DATA = 18,           /* no element is left; not an error */
    TG_ERROR_CANCELLED = 19,       /* ended by tg_cancel */
    TG_ERROR_DEADLINE = 20         /* the deadline of the call has passed */
} tg_status;

/* A short name such as "shape error" or "out of memory"; never NULL. */
TG_API const char *tg_status_name(tg_status status);

/* The last failure on the calling thread. */
typedef struct tg_error_record {
    tg_status status;
    const char *message;       /* complete text, prefixed with file:line */
    const char *file;          /* the user's source file, or NULL */
    int line;
    const char *function;      /* the API function that failed, or NULL */
    const tg_context *context; /* NULL if the failure had no context */
} tg_error_record;

/*
 * Returns the message of the calling thread's last failure in `ctx`, "" if
 * there was none. NULL stands for any context and includes failures of
 * tg_context_create. Valid until the thread's next failing call.
 */
TG_API const char *tg_error(const tg_context *ctx);

/* The complete record; status is TG_OK if nothing failed on this thread. */
TG_API const tg_error_record *tg_error_last(void);

/* Clears the calling thread's record. */
TG_API void tg_error_clear(void);

/* -- Source locations ------------------------------------------------------ */

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
/* As a default argument it expands to the caller's location. */
#define TG_HERE tg_site_here(__builtin_FILE(), __builtin_LINE())
TG_BEGIN_DECLS
#else
#define TG_HERE ((tg_site){__FILE__, __LINE__})
#endif

/*
 * Sets the calling thread's record and returns `status`, which is not TG_OK: for
 * libraries on top of this one. The message begins with the site if it has a
 * file. NULL as `ctx` is a failure without a context.
 */
TG_API tg_status tg_error_set(const tg_context *ctx, tg_status status,
                              tg_site site, const char *format, ...)
    TG_PRINTF(4, 5);

/* -- Options structs ------------------------------------------------------- */

/* An options struct begins with its size, so that later versions can add
   members; zero members select defaults. A size that no version of the struct
   has had is TG_ERROR_INVALID_ARGUMENT. */
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
 * The source of the library's memory. `allocate` returns `bytes` bytes aligned
 * to `align` (a power of two), or NULL. Both functions must be thread-safe.
 */
typedef struct tg_allocator {
    void *(*allocate)(size_t bytes, size_t align, void *user);
    void (*release)(void *memory, size_t bytes, size_t align, void *user);
    void *user;
} tg_allocator;

/*
 * Replaces the process-wide allocator; NULL restores the default.
 * TG_ERROR_BUSY while any object of the library is alive.
 */
TG_API TG_MUST_CHECK tg_status tg_allocator_set(const tg_allocator *allocator);

/* Number of live objects (contexts, tensors, variables, functions, …) in this
   process. */
TG_API size_t tg_live_objects(void);

/* Bytes currently allocated through the allocator. */
TG_API size_t tg_live_bytes(void);

/* -- Log ------------------------------------------------------------------- */

typedef enum tg_log_level {
    TG_LOG_OFF = 0,
    TG_LOG_WARN = 1,
    TG_LOG_INFO = 2,
    TG_LOG_DEBUG = 3
} tg_log_level;

/* Receives one line without its newline. Called from any thread. */
typedef void tg_log_callback(tg_log_level level, const char *component,
                             const char *message, void *user);

/* -- Version --------------------------------------------------------------- */

#define TG_VERSION_MAJOR 0
#define TG_VERSION_MINOR 2
#define TG_VERSION_PATCH 0

/* Version of the loaded library, such as "0.2.0". */
TG_API const char *tg_version(void);

TG_END_DECLS

#endif /* TGJIT_BASE_H */
