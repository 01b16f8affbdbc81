/* SPDX-License-Identifier: MIT */
/*
 * function.h - functions: callbacks that are traced once per signature, then
 * called, or bound to buffers and run many times.
 */
#ifndef TGJIT_FUNCTION_H
#define TGJIT_FUNCTION_H

#include "context.h"
#include "result.h"
#include "tensor.h"
#include "trace.h"

TG_BEGIN_DECLS

/*
 * Records operations on `in`, which has one value per argument. The value of a
 * variable argument can be assigned. Static strings and bundles are invalid
 * values; read them with tg_static_string and tg_bundle_argument.
 */
typedef void tg_callback(tg_trace *t, const tg_value *in, void *user);

/* -- Specs: types of arguments --------------------------------------------- */

/* In a spec: an extent that is unknown until the call. */
#define TG_UNKNOWN (-1)
/* Unknown, but equal for all TG_SAME(k), k >= 1, of a signature. */
#define TG_SAME(k) (-1 - (k))

typedef enum tg_spec_kind {
    TG_SPEC_TENSOR = 0,   /* tensors, plain numbers, tg_value_of */
    TG_SPEC_VARIABLE = 1, /* a variable; all extents are known */
    TG_SPEC_BUNDLE = 2,
    TG_SPEC_STATIC = 3
} tg_spec_kind;

typedef struct tg_spec {
    tg_spec_kind kind;
    tg_dtype dtype;
    int rank;
    int64_t dims[TG_MAX_RANK];
    tg_operand operand; /* bundle (type and variables) or static value */
} tg_spec;

/* These do not validate; the function that receives the specs does. */
TG_API tg_spec tg_spec_tensor(tg_dtype dtype, int rank, const int64_t *dims);
TG_API tg_spec tg_spec_variable(tg_dtype dtype, int rank, const int64_t *dims);
/* A bundle whose variables have the dtypes and shapes of this one's. */
TG_API tg_spec tg_spec_bundle(const tg_bundle_type *type, const void *bundle);
TG_API tg_spec tg_spec_static(tg_operand value);

/* -- Functions ------------------------------------------------------------- */

typedef enum tg_policy {
    TG_GENERALISE = 0, /* the second trace leaves differing extents unknown */
    TG_EXACT = 1,      /* one trace per shape */
    TG_RELAXED = 2     /* all extents are unknown from the first trace on */
} tg_policy;

typedef struct tg_function_options {
    size_t struct_bytes;      /* sizeof(tg_function_options) */
    const char *name;         /* for dumps and messages */
    const tg_spec *signature; /* copied; all calls must match it */
    size_t n_signature;
    tg_policy policy;
    size_t max_traces;      /* 0: 256; the least recently used are evicted */
    size_t max_trace_bytes; /* 0: 256 MiB */
    /* Of the operations of the callback, its branches and loops; a function
       that it calls has its own. */
    tg_accuracy_level accuracy;
    const char *plan; /* "estimate" or "measure" (tg_context_options); NULL:
                         that of the context. Of its calls and bound calls. */
} tg_function_options;

#define TG_FUNCTION_OPTIONS_INIT TG_OPTIONS_INIT(tg_function_options)

/* Creates a function without tracing it. `user` is passed to the callback. */
TG_API TG_MUST_CHECK tg_function *
tg_function_create_named(tg_context *ctx, const char *name,
                         tg_callback *callback, void *user,
                         const tg_function_options *options);

/* As above, named after the callback. */
#define tg_function_create(ctx, callback, user, options) \
    tg_function_create_named(ctx, #callback, callback, user, options)

TG_API tg_function *tg_function_retain(tg_function *function);
TG_API void tg_function_release(tg_function *function);
TG_DEFINE_AUTO(tg_function)
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

/* Drops all traces. Calls in progress finish with the trace they use. */
TG_API void tg_function_clear(tg_function *function);

/* -- Calls ----------------------------------------------------------------- */

/*
 * Calls the function; traces it first if no trace matches. Results go to the
 * slots of TG_RESULTS (result.h); those without a slot are discarded. On
 * failure no result is stored or changed. The call fails with
 * TG_ERROR_DTYPE, before it runs, if the dtype that a plain number is converted
 * to cannot hold it.
 */
TG_API tg_status tg_call_at(tg_function *function, const tg_operand *args,
                            size_t n_args, const tg_result *results,
                            size_t n_results, tg_site site);

/* -- Bound calls ----------------------------------------------------------- */

/*
 * Binds a function to its arguments and result tensors. The trace, the
 * compiled code and all buffers are chosen here, so that tg_run only runs. The
 * bound call retains its function, arguments and results; plain numbers keep
 * their value. Results as in tg_call_at: new ones are created now and
 * overwritten by every run. Not thread-safe: one thread at a time may use a
 * bound call.
 */
TG_API TG_MUST_CHECK tg_bound *
tg_bind_at(tg_function *function, const tg_operand *args, size_t n_args,
           const tg_result *results, size_t n_results, tg_site site);
TG_API void tg_bound_release(tg_bound *bound);
TG_DEFINE_AUTO(tg_bound)

/* Runs a bound call, without lookup and, unless it prints or an assert fails,
   without allocation. */
TG_API tg_status tg_run(tg_bound *bound);

/*
 * Makes `data` the memory of argument `arg`, a tensor or plain number. It has
 * the size of the argument and must outlive the runs. Variables cannot be
 * replaced. Afterwards every tg_run checks plain numbers as tg_call_at does.
 */
TG_API TG_MUST_CHECK tg_status tg_bound_set(tg_bound *bound, size_t arg,
                                            const void *data);

/*
 * Makes the tensor argument `arg`. It has the dtype and rank of the argument
 * but may have other extents, as the last batch of an epoch. The bound call
 * retains it. The next tg_run prepares the call for the new extents, and fails
 * if the function rejects them. The last 16 sets of extents stay prepared, so
 * that returning to one allocates nothing. Where the shape
 * of a result depends on them, the run writes to another tensor: see
 * tg_bound_result.
 */
TG_API TG_MUST_CHECK tg_status tg_bound_set_tensor(tg_bound *bound, size_t arg,
                                                   tg_tensor *tensor);

/*
 * The tensor that the last run wrote result `result` to, borrowed; before the
 * first run, the tensor of tg_bind. It is valid until the bound call runs with
 * other extents. NULL if the result has no tensor. A run also stores it in a
 * slot that was marked TG_FRESH in tg_bind, whose address must be valid then.
 */
TG_API tg_tensor *tg_bound_result(const tg_bound *bound, size_t result);

/* Makes `data` the memory that result `result` is written to. Runs fail while
   the result has another size. */
TG_API TG_MUST_CHECK tg_status tg_bound_set_result(tg_bound *bound,
                                                   size_t result, void *data);

/*
 * Bytes the bound call owns, without arguments, results, variables and the
 * stacks of loops of unknown length. *out_peak_bytes, if not NULL: the peak of
 * the bytes in use at one time, a lower bound for any memory plan; 0 if
 * unknown, as in the interpreter.
 */
TG_API uint64_t tg_bound_bytes(const tg_bound *bound,
                               uint64_t *out_peak_bytes);

/* -- Concrete functions ---------------------------------------------------- */

/*
 * Returns the trace for these specs, retained for the caller; traces if there
 * is none. Equal specs return the same object.
 */
TG_API TG_MUST_CHECK tg_concrete *
tg_function_concrete_at(tg_function *function, const tg_spec *specs,
                        size_t n_specs, tg_site site);
TG_API tg_concrete *tg_concrete_retain(tg_concrete *concrete);
TG_API void tg_concrete_release(tg_concrete *concrete);
TG_DEFINE_AUTO(tg_concrete)

/* As tg_call_at, but the arguments must match this trace. */
TG_API tg_status tg_concrete_call_at(tg_concrete *concrete,
                                     const tg_operand *args, size_t n_args,
                                     const tg_result *results,
                                     size_t n_results, tg_site site);

/* -- Introspection --------------------------------------------------------- */

typedef enum tg_text_kind {
    TG_TEXT_SHORT = 0,   /* one line per trace: dtypes and shapes */
    TG_TEXT_VERBOSE = 1, /* also captures, results, sizes, passes */
    TG_TEXT_GRAPH = 2,   /* optimised graphs */
    TG_TEXT_DOT = 3,     /* optimised graphs, for Graphviz */
    TG_TEXT_LOOPS = 4,   /* loop IR */
    TG_TEXT_FUSION = 5   /* which values are materialised, and why */
} tg_text_kind;

/*
 * Describes all current traces, oldest first. The caller frees the text with
 * tg_text_free; NULL on failure.
 */
TG_API TG_MUST_CHECK char *tg_function_text(tg_function *function,
                                            tg_text_kind kind);
TG_API TG_MUST_CHECK char *tg_concrete_text(tg_concrete *concrete,
                                            tg_text_kind kind);
TG_API void tg_text_free(char *text);

/*
 * Writes a page about a trace to a file, which it replaces: one self-contained
 * HTML file with the graph, the decisions of fusion, loops, schedules, memory
 * plan, assembly beside the source lines, and the profile (profile.h) if there
 * is one. The trace is compiled for it; where that fails, the page says why. Its
 * extents are those of the first call that was compiled. Fails with
 * TG_ERROR_FILE if the file cannot be written. Thread-safe.
 */
TG_API TG_MUST_CHECK tg_status tg_concrete_inspect(tg_concrete *concrete,
                                                   const char *path);

/* Number of successful traces of the callback so far. */
TG_API size_t tg_function_trace_count(const tg_function *function);

/* Why a call could not use an existing trace. */
typedef enum tg_retrace_reason {
    TG_RETRACE_FIRST = 0,    /* there was no trace */
    TG_RETRACE_ARG_COUNT = 1,
    TG_RETRACE_KIND = 2,     /* tensor, variable, static, … */
    TG_RETRACE_DTYPE = 3,
    TG_RETRACE_RANK = 4,
    TG_RETRACE_DIM = 5,
    TG_RETRACE_STATIC = 6,   /* a static value differs */
    TG_RETRACE_ALIAS = 7,    /* other variable arguments are equal */
    TG_RETRACE_CAPTURE = 8,  /* an argument is, or no longer is, a captured
                                variable */
    TG_RETRACE_DROPPED = 9   /* the matching trace was evicted or cleared */
} tg_retrace_reason;

/* The reason for one trace, in comparison with the most similar earlier one. */
typedef struct tg_retrace {
    unsigned number;    /* of the trace among those of the context, as in logs,
                           dumps, pages and profiles */
    tg_retrace_reason reason;
    size_t arg;         /* flat index of the argument that differs */
    int dim;            /* its axis, for TG_RETRACE_DIM */
    int64_t before;     /* the earlier dtype, rank, extent or alias */
    int64_t now;        /* that of this call */
    bool generalised;   /* the extent is unknown in the new trace */
} tg_retrace;

/* Describes trace `trace` of this function, counted from 0. Returns false if
   there is no such trace or its record has been discarded. */
TG_API bool tg_function_retrace(tg_function *function, size_t trace,
                                tg_retrace *out_retrace);

/*
 * Lists the latest traces and their reasons, one line each, such as
 * "trace 1: arg 0 dim 0: 32 -> 48, generalised to ?", with the number of the
 * trace in its context. The caller frees the text with tg_text_free; NULL on
 * failure.
 */
TG_API TG_MUST_CHECK char *tg_explain_retrace(tg_function *function);

TG_END_DECLS

#ifndef __cplusplus

/* From here on compilers omit the expansions of macros from their messages. */
#pragma GCC system_header

#define tg_call(function, ...) \
    TG_WITH_LISTS(tg_call_at, tg_lists_expected, __VA_ARGS__) \
    (function, __VA_ARGS__ __VA_OPT__(, ) TG_HERE)
#define tg_bind(function, ...) \
    TG_WITH_LISTS(tg_bind_at, tg_bind_lists_expected, __VA_ARGS__) \
    (function, __VA_ARGS__ __VA_OPT__(, ) TG_HERE)
#define tg_concrete_call(concrete, ...) \
    TG_WITH_LISTS(tg_concrete_call_at, tg_lists_expected, __VA_ARGS__) \
    (concrete, __VA_ARGS__ __VA_OPT__(, ) TG_HERE)
#define tg_function_concrete(function, specs, n_specs) \
    tg_function_concrete_at(function, specs, n_specs, TG_HERE)

/* The spec of a tensor argument: TG_SPEC(TG_F32, TG_UNKNOWN, 10). */
#define TG_SPEC(dtype, ...) tg_spec_tensor(dtype, TG_DIMS(__VA_ARGS__))
#define TG_SPEC_VARIABLE_OF(dtype, ...) \
    tg_spec_variable(dtype, TG_DIMS(__VA_ARGS__))

/* Function options with this signature and defaults for the rest:
   tg_function_create(ctx, f, user, TG_SIGNATURE(TG_SPEC(TG_F32, 3))). */
#define TG_SIGNATURE(...) \
    (&(const tg_function_options){ \
        .struct_bytes = sizeof(tg_function_options), \
        .signature = (const tg_spec[]){__VA_ARGS__}, \
        .n_signature = (size_t)TG_LENGTH(tg_spec, __VA_ARGS__)})

#else /* __cplusplus */

#define TG_SPEC(dtype, ...) tg_spec_tensor(dtype, TG_DIMS(__VA_ARGS__))
#define TG_SPEC_VARIABLE_OF(dtype, ...) \
    tg_spec_variable(dtype, TG_DIMS(__VA_ARGS__))
#define TG_SIGNATURE(...) tg_signature{__VA_ARGS__}

inline tg_spec tg_spec_tensor(tg_dtype dtype, tg_dims dims)
{
    return tg_spec_tensor(dtype, (int)dims.size(), dims.begin());
}
inline tg_spec tg_spec_variable(tg_dtype dtype, tg_dims dims)
{
    return tg_spec_variable(dtype, (int)dims.size(), dims.begin());
}

/* Function options for the call that it is an argument of. */
struct tg_signature {
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    tg_signature(std::initializer_list<tg_spec> specs)
    {
        options.signature = specs.begin();
        options.n_signature = specs.size();
    }
    operator const tg_function_options *() const { return &options; }
};

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
