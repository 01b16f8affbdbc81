/* SPDX-License-Identifier: MIT */
/*
 * function_object.h - tg_function and tg_concrete: functions and their traces.
 *
 * A function has a table of concrete functions, one per signature. The table
 * lock is never held while user code runs: a signature being traced is listed
 * as pending, and threads that need it wait (pending.h).
 */
#ifndef TGI_FUNCTION_OBJECT_H
#define TGI_FUNCTION_OBJECT_H

#include <pthread.h>

#include "front/call/runner_pool.h"
#include "front/call/signature.h"
#include "front/call/variant_table.h"
#include "front/inspect/inspect_session.h"
#include "front/object/context_object.h"
#include "front/trace/trace_state.h"

/* -- Concrete functions ---------------------------------------------------- */

#define TGI_NO_PARAM UINT32_MAX

struct tg_concrete {
    tgi_refcount refs;  /* of functions, calls and the program */
    tgi_refcount holds; /* of background compiles, and one for all `refs` */
    tg_context *ctx; /* retained */
    char *name;
    unsigned number; /* of the trace in its context, from 0: in profiles, logs
                        and the file names of dumps and pages */

    tgi_args spec;
    bool is_exact; /* no extent is symbolic */
    size_t n_symbols; /* of the graph's extents */
    tgi_key key;
    uint64_t hash;
    tgi_graph *graph;
    tgi_graph *traced; /* before passes; differentiated by gradients */
    bool is_measured;   /* its plan */
    tgi_graph *checked; /* compiled instead, to look for NaNs; or NULL */

    uint32_t *arg_param; /* by argument: parameter, or TGI_NO_PARAM */
    uint32_t *param_arg; /* by parameter below n_arg_params: its argument */
    size_t n_arg_params; /* parameters from here on are captures */
    TGI_VEC(tg_variable *) captures; /* retained, in order of parameters */
    /* By argument: the variable if the callback also captured it (then only
       calls with this variable match), else NULL. Retained. */
    tg_variable **arg_capture;

    /* Variables whose initial values the first call computes: the results of
       initial_graph, which has the same parameters. Retained. */
    TGI_VEC(tg_variable *) initials;
    tgi_graph *initial_graph; /* NULL if there are none */

    tgi_runner_pool runners;
    tgi_variant_table variants;
    atomic_bool has_warned_size; /* that it has too many nodes to compile */
    atomic_bool has_logged_interpreted;
    atomic_bool has_interpreted_page;
    tgi_inspect_page *pages; /* of TGJIT_INSPECT */

    uint64_t last_use; /* tick of the function; guarded by its lock */

    /* For profiles. */
    tg_site site;      /* of the call that traced it */
    tg_retrace reason; /* of the trace; set when it enters the table */
    uint64_t phase_ns[TGI_N_PHASES]; /* TRACE and PASSES */
    tgi_profile_trace *profile; /* of tgi_profile_trace_get, or NULL */
};

/* Keeps what a compile needs, but not the variables: they end with the last
   reference of the program, not with a compile. */
void tgi_concrete_hold(tg_concrete *concrete);
void tgi_concrete_unhold(tg_concrete *concrete);

/* True if exactly those variable arguments are captured variables that were
   when the trace was made. */
bool tgi_concrete_fits_captures(const tg_concrete *concrete,
                                const tgi_args *args);

/* Bytes of memory it owns, for the limit of the table. */
size_t tgi_concrete_bytes(tg_concrete *concrete);

/*
 * Runs the callback for `spec`, then the passes. `actual`: the arguments of the
 * call, or NULL. The caller holds no lock and owns the result.
 */
tg_status tgi_concrete_trace(tg_function *function, const tgi_args *spec,
                             const tgi_args *actual, tg_site site,
                             tg_concrete **out_concrete);

/* tg_apply_at with an optional custom gradient of the callee. */
void tgi_apply(tg_function *function, tgi_custom_gradient gradient,
               const tg_operand *operands, size_t n_operands,
               tg_value *out_results, size_t n_results, tg_site site);

/* -- Functions ------------------------------------------------------------- */

/* A signature being traced (pending.h). */
typedef struct tgi_pending tgi_pending;

struct tg_function {
    tgi_refcount refs;
    tg_context *ctx; /* retained */
    char *name;
    tg_callback *callback;
    void *user;
    bool has_signature;
    tgi_args signature;
    tg_policy policy;
    bool is_fast; /* accuracy */
    bool is_measured; /* plan */
    size_t max_traces, max_trace_bytes;

    tgi_fork_lock lock; /* guards all below */
    pthread_cond_t traced;
    TGI_VEC(tg_concrete *) table; /* retained, in order of tracing */
    tg_concrete *recent;          /* most recently used of the table, or NULL */
    tgi_index index;              /* by hash of key: position + 1 */
    TGI_VEC(tgi_pending *) pending;
    TGI_VEC(uint64_t) evicted; /* hashes of keys removed from the table */
    TGI_VEC(tg_retrace) history;
    size_t n_traces;
    uint64_t tick;
    bool never_generalise;                 /* a generalised trace has failed */
    TGI_VEC(tgi_owned_variable) variables; /* created by its callback */
};

/*
 * The concrete function for a call, retained; traced if none matches. Adapts
 * the numbers of `args` to a declared signature. If `is_exact`, the trace has
 * exactly these extents. Thread-safe.
 */
tg_status tgi_function_lookup(tg_function *function, tgi_args *args,
                              bool is_exact, tg_site site,
                              tg_concrete **out_concrete);

/* -- Shared variables that a function creates (function_variables.c) ------- */

/* Retains a variable for the trace of the function that has created it; false
   when out of memory. `name` is its full name. */
bool tgi_function_hold_variable(tg_trace *root, const char *name,
                                tg_variable *variable);

/* The variable of that full name which the function has created on its first
   trace, lent; NULL if there is none. */
tg_variable *tgi_function_find_shared(tg_trace *root, const char *name,
                                      bool *out_has_traces);

/* Releases the variables that a failed trace, which has ended, has created. */
void tgi_function_roll_back_variables(const tgi_owned_variable *variables,
                                      size_t n);

/* -- Explanations ---------------------------------------------------------- */

/* Why no trace in the table matches these arguments. Table locked. */
tg_retrace tgi_function_explain(const tg_function *function,
                                const tgi_args *args, uint64_t hash);
void tgi_retrace_print(const tg_retrace *retrace, tgi_strbuf *out);

#endif /* TGI_FUNCTION_OBJECT_H */
