/* SPDX-License-Identifier: MIT */
/*
 * function_object.h - the inside of functions and of their traces.
 *
 * A function has a table of concrete functions, one per signature. The table
 * lock is never held while user code runs: a signature being traced stands
 * in the table as pending, and threads that need it wait for its end.
 */
#ifndef TGI_FUNCTION_OBJECT_H
#define TGI_FUNCTION_OBJECT_H

#include <pthread.h>

#include "front/call/runner_pool.h"
#include "front/call/signature.h"
#include "front/call/variant_table.h"
#include "front/object/context_object.h"
#include "front/trace/trace_state.h"

/* -- Concrete functions ---------------------------------------------------- */

#define TGI_NO_PARAM UINT32_MAX

struct tg_concrete {
    tgi_refcount refs;
    tg_context *ctx; /* retained */
    char *name;
    size_t number; /* which trace of its function it is */

    tgi_args spec;
    bool is_exact; /* all extents are known */
    tgi_key key;
    uint64_t hash;
    tgi_graph *graph;
    tgi_graph *traced; /* before passes: what gradients go back through */

    uint32_t *arg_param; /* per argument: parameter, or TGI_NO_PARAM */
    uint32_t *param_arg; /* per parameter that is an argument */
    size_t n_arg_params; /* captures follow these */
    TGI_VEC(tg_variable *) captures; /* retained, in order of parameters */
    /* Per argument: the variable if the callback also captured it (then only
       calls with this very one fit), else NULL. Retained. */
    tg_variable **arg_capture;

    /* Variables whose initial values the first call computes, as the results
       of a graph with the same parameters. Retained. */
    TGI_VEC(tg_variable *) initials;
    tgi_graph *initial_graph; /* NULL if there are none */

    tgi_runner_pool runners;
    tgi_variant_table variants;
    atomic_bool has_warned_size; /* that it has too many nodes to compile */
    unsigned dump_number; /* in the names of its dumps */

    uint64_t last_use; /* tick of the function; under its lock */
};

/* True if the variables of a call are captured or not as they were traced. */
bool tgi_concrete_fits_captures(const tg_concrete *concrete,
                                const tgi_args *args);

/* Memory it holds on to, for the bound of the table. */
size_t tgi_concrete_bytes(tg_concrete *concrete);

/*
 * Runs the callback for `spec`; `actual` are the arguments of the call that
 * asked, if there is one. No lock is held.
 */
tg_status tgi_concrete_trace(tg_function *function, const tgi_args *spec,
                             const tgi_args *actual, tg_site site,
                             tg_concrete **out_concrete);

/* tg_apply_at, for a callee whose gradient may be given. */
void tgi_apply(tg_function *function, tgi_custom_gradient gradient,
               const tg_operand *operands, size_t n_operands,
               tg_value *out_results, size_t n_results, tg_site site);

/* -- Functions ------------------------------------------------------------- */

/* A signature that some thread is tracing. Counted under the table lock. */
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
    size_t max_traces, max_trace_bytes;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t traced;
    TGI_VEC(tg_concrete *) table; /* retained, in order of tracing */
    tg_concrete *recent;          /* of these the one used last, or NULL */
    tgi_index index;              /* by hash of key: position + 1 */
    TGI_VEC(tgi_pending *) pending;
    TGI_VEC(uint64_t) dropped; /* hashes of keys that left the table */
    TGI_VEC(tg_retrace) history;
    size_t n_traces;
    uint64_t tick;
    bool never_generalise; /* a generalised trace failed once */
    TGI_VEC(tgi_owned_variable) own;
};

/*
 * The concrete function for a call, traced if need be, retained. `args` are
 * adapted to a declared signature. `is_exact` asks for this very spec.
 */
tg_status tgi_function_lookup(tg_function *function, tgi_args *args,
                              bool is_exact, tg_site site,
                              tg_concrete **out_concrete);

/* The function's own variable of that name, lent; NULL if there is none. */
tg_variable *tgi_function_find_variable(tg_function *function, const char *name,
                                        bool *out_has_traces);

/* -- Explaining ------------------------------------------------------------ */

/* Why no trace in the table serves these arguments; table locked. */
tg_retrace tgi_function_explain(const tg_function *function,
                                const tgi_args *args, uint64_t hash);
void tgi_retrace_print(const tg_retrace *retrace, tgi_strbuf *out);

#endif /* TGI_FUNCTION_OBJECT_H */
