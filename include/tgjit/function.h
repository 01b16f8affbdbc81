/* SPDX-License-Identifier: MIT */
/*
 * function.h - callbacks become functions: traced once per signature, then
 * called, or bound to buffers and run many times.
 */
#ifndef TGJIT_FUNCTION_H
#define TGJIT_FUNCTION_H

#include "context.h"
#include "tensor.h"
#include "trace.h"

TG_BEGIN_DECLS

/*
 * Records operations on `in`, one value per argument. A variable argument is
 * a value that can be assigned; a static string and a bundle are invalid
 * values (tg_static_string, tg_bundle_argument give them).
 */
typedef void tg_callback(tg_trace *t, const tg_value *in, void *user);

/* -- Specs: what an argument may be ---------------------------------------- */

/* In a spec: an extent that is not known before the call. */
#define TG_UNKNOWN (-1)
/* Unknown, but one and the same for all TG_SAME(k), k >= 1, of a signature. */
#define TG_SAME(k) (-1 - (k))

typedef enum tg_spec_kind {
    TG_SPEC_TENSOR = 0,   /* tensors, plain numbers, tg_value_of */
    TG_SPEC_VARIABLE = 1, /* a variable: all extents known */
    TG_SPEC_BUNDLE = 2,
    TG_SPEC_STATIC = 3
} tg_spec_kind;

typedef struct tg_spec {
    tg_spec_kind kind;
    tg_dtype dtype;
    int rank;
    int64_t dims[TG_MAX_RANK];
    tg_operand operand; /* the bundle (type and variables) or static value */
} tg_spec;

/* Specs check nothing; the function that takes them does. */
TG_API tg_spec tg_spec_tensor(tg_dtype dtype, int rank, const int64_t *dims);
TG_API tg_spec tg_spec_variable(tg_dtype dtype, int rank, const int64_t *dims);
/* A bundle whose variables have the specs of this one's. */
TG_API tg_spec tg_spec_bundle(const tg_bundle_type *type, const void *bundle);
TG_API tg_spec tg_spec_static(tg_operand value);

/* -- Functions ------------------------------------------------------------- */

typedef enum tg_policy {
    TG_GENERALISE = 0, /* a second shape makes the differing dims unknown */
    TG_EXACT = 1,      /* every shape has a trace of its own */
    TG_RELAXED = 2     /* all extents unknown from the first trace on */
} tg_policy;

typedef struct tg_function_options {
    size_t struct_bytes;      /* sizeof(tg_function_options) */
    const char *name;         /* for dumps and messages */
    const tg_spec *signature; /* copied; all calls must fit it */
    size_t n_signature;
    tg_policy policy;
    size_t max_traces;      /* least recently used go first; 0: 256 */
    size_t max_trace_bytes; /* 0: 256 MiB */
} tg_function_options;

#define TG_FUNCTION_OPTIONS_INIT TG_OPTIONS_INIT(tg_function_options)

/* Makes a function; nothing is traced yet. `user` goes to the callback. */
TG_API TG_MUST_CHECK tg_function *
tg_function_create_named(tg_context *ctx, const char *name,
                         tg_callback *callback, void *user,
                         const tg_function_options *options);

/* Takes the callback's own name as the function's. */
#define tg_function_create(ctx, callback, user, options) \
    tg_function_create_named(ctx, #callback, callback, user, options)

TG_API tg_function *tg_function_retain(tg_function *function);
TG_API void tg_function_release(tg_function *function);
TG_API const char *tg_function_name(const tg_function *function);

/*
 * Writes up to `capacity` of the variables that the callback has created
 * (tg_own_variable, tg_get_variable) into `out_variables`, in the order of
 * creation, and returns how many there are. Each one written is retained for
 * the caller.
 */
TG_API size_t tg_function_variables(tg_function *function,
                                    tg_variable_filter filter,
                                    tg_variable **out_variables,
                                    size_t capacity);

/* Drops all traces; calls under way finish with theirs. */
TG_API void tg_function_clear(tg_function *function);

/* -- Calls ----------------------------------------------------------------- */

/*
 * Calls the function, tracing first if no trace fits. Result i goes to
 * *results[i]: if that is NULL, a new tensor owned by the caller is stored
 * there, else the tensor must have the result's dtype and shape and is
 * overwritten. results[i] NULL, or n_results smaller than the number of
 * results, discards. On failure no result is stored or changed. Nothing runs
 * (TG_ERROR_DTYPE) if a number does not fit a type that it is converted to.
 */
TG_API tg_status tg_call_at(tg_function *function, const tg_operand *args,
                            size_t n_args, tg_tensor **const *results,
                            size_t n_results, tg_site site);

/* -- Bound calls ----------------------------------------------------------- */

/*
 * Binds a function to its arguments and result tensors: signature, trace and
 * all buffers are settled here, so that tg_run only runs. A bound call belongs
 * to one thread at a time; it keeps what it is bound to alive. Plain numbers
 * keep the value they had. Results as in tg_call_at; new ones exist at once
 * and are overwritten by every run.
 */
TG_API TG_MUST_CHECK tg_bound *
tg_bind_at(tg_function *function, const tg_operand *args, size_t n_args,
           tg_tensor **const *results, size_t n_results, tg_site site);
TG_API void tg_bound_release(tg_bound *bound);

/* Runs it: no lookup and, unless it prints, no allocation. */
TG_API tg_status tg_run(tg_bound *bound);

/*
 * Replaces the memory of tensor or number argument `arg` by `data`, of the
 * same size; it must outlive the runs. Variables are not replaced this way.
 * From then on every tg_run checks that numbers fit the types they are
 * converted to, as they are at that time, and fails before it does anything.
 */
TG_API TG_MUST_CHECK tg_status tg_bound_set(tg_bound *bound, size_t arg,
                                            const void *data);

/* Likewise for the memory result `result` is written to. */
TG_API TG_MUST_CHECK tg_status tg_bound_set_result(tg_bound *bound,
                                                   size_t result, void *data);

/*
 * Bytes of memory a run has beside arguments, results and variables; what
 * loops of unknown length save for gradients is not counted. *out_peak_bytes, if
 * not NULL: how many of them are in use at once, at the most, so that it could
 * not do with less; 0 if that is not known, as in the interpreter.
 */
TG_API uint64_t tg_bound_bytes(const tg_bound *bound, uint64_t *out_peak_bytes);

/* -- Concrete functions ---------------------------------------------------- */

/*
 * The trace for these specs, made if need be; equal specs give the very same
 * object, retained for the caller.
 */
TG_API TG_MUST_CHECK tg_concrete *
tg_function_concrete_at(tg_function *function, const tg_spec *specs,
                        size_t n_specs, tg_site site);
TG_API tg_concrete *tg_concrete_retain(tg_concrete *concrete);
TG_API void tg_concrete_release(tg_concrete *concrete);

/* As tg_call_at, but the arguments must fit this very trace. */
TG_API tg_status tg_concrete_call_at(tg_concrete *concrete,
                                     const tg_operand *args, size_t n_args,
                                     tg_tensor **const *results,
                                     size_t n_results, tg_site site);

/* -- Looking inside -------------------------------------------------------- */

typedef enum tg_text_kind {
    TG_TEXT_SHORT = 0,   /* one line per trace: dtypes and shapes */
    TG_TEXT_VERBOSE = 1, /* also captures, results, sizes, passes */
    TG_TEXT_GRAPH = 2,   /* the optimised graphs */
    TG_TEXT_DOT = 3,     /* the same for Graphviz */
    TG_TEXT_LOOPS = 4,   /* the kernels they are compiled to */
    TG_TEXT_FUSION = 5   /* why values are stored between kernels */
} tg_text_kind;

/*
 * Description of all traces now in the table, oldest first. The caller frees
 * it with tg_text_free; NULL on failure.
 */
TG_API TG_MUST_CHECK char *tg_function_text(tg_function *function,
                                            tg_text_kind kind);
TG_API TG_MUST_CHECK char *tg_concrete_text(tg_concrete *concrete,
                                            tg_text_kind kind);
TG_API void tg_text_free(char *text);

/* How often the callback was traced so far, failures not counted. */
TG_API size_t tg_function_trace_count(const tg_function *function);

/* Why a call could not use an existing trace. */
typedef enum tg_retrace_reason {
    TG_RETRACE_FIRST = 0,    /* there was none */
    TG_RETRACE_ARG_COUNT = 1,
    TG_RETRACE_KIND = 2,     /* tensor, variable, static … */
    TG_RETRACE_DTYPE = 3,
    TG_RETRACE_RANK = 4,
    TG_RETRACE_DIM = 5,
    TG_RETRACE_STATIC = 6,   /* another static value */
    TG_RETRACE_ALIAS = 7,    /* another pattern of equal variables */
    TG_RETRACE_CAPTURE = 8,  /* an argument is (or no longer is) a captured
                                variable */
    TG_RETRACE_DROPPED = 9   /* its trace was evicted or cleared */
} tg_retrace_reason;

/* One trace and why it was made; compared with the most similar one before. */
typedef struct tg_retrace {
    tg_retrace_reason reason;
    size_t arg;         /* flat number of the argument that differs */
    int dim;            /* its axis, for TG_RETRACE_DIM */
    int64_t before;     /* dtype, rank, extent or alias, before … */
    int64_t now;        /* … and in this call */
    bool generalised;   /* the extent is unknown in the new trace */
} tg_retrace;

/* Fills `out_retrace` for trace number `trace`, from 0 on; false if there is
   none, or it is too old to be remembered. */
TG_API bool tg_function_retrace(tg_function *function, size_t trace,
                                tg_retrace *out_retrace);

/*
 * The newest traces and their reasons as text, one line each, such as
 * "trace 1: arg 0 dim 0: 32 -> 48, generalised to ?". Free with tg_text_free.
 */
TG_API TG_MUST_CHECK char *tg_explain_retrace(tg_function *function);

TG_END_DECLS

#ifndef __cplusplus

/* Two arguments, addresses of tg_tensor * (or NULL) and how many. */
#define TG_RESULTS(...) \
    (tg_tensor **const[]){__VA_ARGS__}, (size_t)TG_COUNT(__VA_ARGS__)
#define TG_NO_RESULTS NULL, (size_t)0

#define tg_call(function, ...) tg_call_at(function, __VA_ARGS__, TG_HERE)
#define tg_bind(function, ...) tg_bind_at(function, __VA_ARGS__, TG_HERE)
#define tg_concrete_call(concrete, ...) \
    tg_concrete_call_at(concrete, __VA_ARGS__, TG_HERE)
#define tg_function_concrete(function, specs, n_specs) \
    tg_function_concrete_at(function, specs, n_specs, TG_HERE)

#else /* __cplusplus */

#define TG_RESULTS(...) {__VA_ARGS__}
#define TG_NO_RESULTS {}
using tg_outs = std::initializer_list<tg_tensor **>;

inline tg_status tg_call(tg_function *function, tg_ins args, tg_outs results,
                         tg_site site = TG_HERE)
{
    return tg_call_at(function, args.begin(), args.size(), results.begin(),
                      results.size(), site);
}
inline tg_bound *tg_bind(tg_function *function, tg_ins args, tg_outs results,
                         tg_site site = TG_HERE)
{
    return tg_bind_at(function, args.begin(), args.size(), results.begin(),
                      results.size(), site);
}
inline tg_status tg_concrete_call(tg_concrete *concrete, tg_ins args,
                                  tg_outs results, tg_site site = TG_HERE)
{
    return tg_concrete_call_at(concrete, args.begin(), args.size(),
                               results.begin(), results.size(), site);
}
inline tg_concrete *tg_function_concrete(tg_function *function,
                                         const tg_spec *specs, size_t n_specs,
                                         tg_site site = TG_HERE)
{
    return tg_function_concrete_at(function, specs, n_specs, site);
}

#endif /* __cplusplus */

#endif /* TGJIT_FUNCTION_H */
