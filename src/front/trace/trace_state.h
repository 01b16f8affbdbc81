/* SPDX-License-Identifier: MIT */
/*
 * trace_state.h - a trace under way: the graph being recorded, and what its
 * arguments and variables are. Traces of one thread form a stack (a callback
 * may call functions that need tracing, and has branches and loops, which are
 * traces of their own: trace_region.h); the top one is current.
 */
#ifndef TGI_TRACE_STATE_H
#define TGI_TRACE_STATE_H

#include "base/error.h"
#include "build/build.h"
#include "front/object/variable_object.h"
#include "ir/graph.h"
#include "tgjit/trace.h"

/* What argument `arg` of the callback is, beside its value. */
typedef struct tgi_trace_arg {
    tg_operand operand; /* static value (string owned by the signature) */
    void *bundle;       /* struct of stand-ins, owned by the trace */
    const tg_bundle_type *bundle_type; /* NULL: not a bundle */
} tgi_trace_arg;

/* A variable of the trace and the node that stands for it. */
typedef struct tgi_capture {
    tg_variable *variable; /* retained */
    tgi_ref node;
} tgi_capture;

/* A variable made by the callback of a function. */
typedef struct tgi_owned_variable {
    const char *name;      /* as the callback calls it; shared: full name */
    tg_variable *variable; /* retained */
    bool is_shared;        /* created by tg_get_variable */
} tgi_owned_variable;

/* A variable whose initial value this graph computes. */
typedef struct tgi_traced_initial {
    tg_variable *variable; /* retained */
    tgi_ref value;
} tgi_traced_initial;

/* Values behind the last argument say that they are missing: so many. */
enum { TGI_MISSING_ARGS = 16 };

static inline tg_value tgi_missing_arg(uint32_t arg)
{
    return (tg_value){.node = UINT32_MAX - arg};
}

typedef TGI_VEC(tgi_ref) tgi_refs;

struct tg_trace {
    uint32_t id; /* the trace of tg_value; never 0, never used again */
    tg_trace *parent;
    uint32_t depth;   /* levels of callbacks on this thread's stack, this one
                         included: tgi_trace_check_nesting */
    tg_trace *outer;  /* a branch or loop body: whose part it is; or NULL */
    tg_context *ctx;
    tg_function *function;
    tgi_graph *graph;

    tg_site site;        /* of what the callback does just now … */
    const char *op_name; /* … if it is an operation */
    tg_status status; /* of the first error, which sticks … */
    tgi_error_copy error;

    TGI_VEC(tgi_trace_arg) args;
    TGI_VEC(tg_variable *) placeholders; /* retained */

    TGI_VEC(tgi_capture) captures; /* variables met that are no arguments */
    tgi_index capture_index;       /* by address; order is that of captures */
    /* Argument variables, for callbacks that capture them too: which of
       them were met that way decides whom the trace fits. */
    TGI_VEC(tgi_capture) arg_variables;
    TGI_VEC(bool) arg_captured; /* per arg_variables */

    TGI_VEC(tgi_ref) last_write; /* per parameter: node, or 0 */

    /* Of a region: per parameter, what it is in the graph outer; those that
       the callback has captured can be found by it. */
    TGI_VEC(tgi_ref) region_inputs;
    tgi_index region_index;

    /* Why gradients are missing: an invalid value {i + 1, 0} names the i-th.
       Of the trace of a function; texts are the graph's. */
    TGI_VEC(const char *) reasons;

    TGI_VEC(tgi_owned_variable)
    new_variables;                        /* made by this trace, retained */
    TGI_VEC(const char *) used_variables; /* asked for in this trace */
    TGI_VEC(tgi_traced_initial) initials;
    tgi_refs results;
    bool has_returned;
    int64_t n_unrolled; /* iterations of unrolled loops; of the function's */
};

/* The calling thread's current trace, or NULL. */
tg_trace *tgi_trace_current(void);

/* True if `t` is the current trace and has not failed; fails for `who`
   otherwise. */
bool tgi_trace_is_usable(tg_trace *t, const char *who, tg_site site);

/*
 * TG_ERROR_LIMIT if so many levels more, inside the current trace if there is
 * one, exceed TG_MAX_NESTING. Each level recurses through a callback of the
 * user's, and code that follows regions and callees recurses by level, too.
 * The limit covers both, whether a callee has been traced before or not:
 * graphs are no higher, and tracing takes no more than half of 256 KiB.
 */
tg_status tgi_trace_check_nesting(uint32_t levels, const char *what,
                                  tg_site site);

/* For functions called beside a callback by those that run one: their frames
   are not to be part of what each level of nested callbacks takes. */
#define TGI_NOINLINE __attribute__((noinline))

/*
 * Makes an empty trace current; NULL when out of memory or nested too deeply
 * (recorded). Ended by tgi_trace_end in any case, which makes the parent
 * current again.
 */
tg_trace *tgi_trace_begin(tg_context *ctx, tg_function *function,
                          tg_site site);
/* The same for a region of `outer`, the current trace; the builder says
   which operation opens it, and where. */
tg_trace *tgi_trace_begin_region(tg_trace *outer, const char *name,
                                 const tgi_builder *b);
void tgi_trace_end(tg_trace *t);

/* The trace of the function that `t` is, or is a region of. */
static inline tg_trace *tgi_trace_root(tg_trace *t)
{
    while (t->outer)
        t = t->outer;
    return t;
}

/* True if trace `id` is `t` itself or one that it is a region of. */
bool tgi_trace_is_within(const tg_trace *t, uint32_t id);

/* A value of such a trace as a node of `t`; 0 on failure, which sticks. */
tgi_ref tgi_trace_capture_value(tg_trace *t, tg_value value);

/* A variable as a node of region `t`; 0 on failure, which sticks. */
tgi_ref tgi_region_variable(tg_trace *t, tg_variable *variable, const char *op,
                            tg_site site);

/* Keeps the thread's error record as the first error of the trace. */
void tgi_trace_record_error(tg_trace *t);

/* The status of the record just made by a failed callee, kept as above. */
tg_status tgi_trace_fail(tg_trace *t, tg_status status, tg_site site,
                         const char *format, ...) TG_PRINTF(4, 5);

/* A value handle for a node; 0 gives the invalid value. */
tg_value tgi_trace_value(const tg_trace *t, tgi_ref ref);

/*
 * Runs a callback whose operations become part of `t` itself, for the
 * operation that the builder names. What it returns is not what the callback
 * outer it does: it goes to out_results, to be deinitialised in any case.
 * False after a failure, which sticks.
 */
bool tgi_trace_run_inline(tg_trace *t, tg_callback *callback,
                          const tg_value *in, void *user, const tgi_builder *b,
                          tgi_refs *out_results);

/* Why a value is invalid, if a gradient that is missing; else NULL. */
const char *tgi_trace_reason(const tg_trace *t, tg_value value);

/* -- Operands to nodes ----------------------------------------------------- */

/* The node a value names; 0 and a (sticking) error if it is not of `t`. */
tgi_ref tgi_trace_ref(tg_trace *t, tg_value value, const char *op,
                      tg_site site);

/* The node of a variable, captured if it is new here; 0 on error. */
tgi_ref tgi_trace_variable(tg_trace *t, tg_variable *variable, const char *op,
                           tg_site site);

/* The VARIABLE node an operand names; 0 and an error if it is a value. */
tgi_ref tgi_trace_variable_operand(tg_trace *t, tg_operand operand,
                                   const char *op, tg_site site);

/* The operand as a value: variables are read, tensors and numbers become
   constants. 0 on error. */
tgi_ref tgi_trace_operand(tg_trace *t, tg_operand operand, const char *op,
                          tg_site site);

/* The number in an operand of one of the three number kinds. */
tgi_number tgi_operand_number(const tg_operand *operand);

/* Contents of a VARIABLE node now, and their replacement. */
tgi_ref tgi_trace_read(tg_trace *t, tgi_ref variable, tg_site site);
tgi_ref tgi_trace_write(tg_trace *t, tgi_ref variable, tgi_ref value,
                        tg_site site);

/* Notes that `node` writes the variable: later reads name it. */
bool tgi_trace_note_write(tg_trace *t, tgi_ref variable, tgi_ref node);

/* -- One operation --------------------------------------------------------- */

/*
 * What an operation of the API works with: begin gives the current trace and
 * a builder for it (false: no trace, or the trace has failed), end turns the
 * result into a value and keeps an error.
 */
typedef struct tgi_operation {
    tg_trace *t;
    tgi_builder b;
} tgi_operation;

bool tgi_operation_begin(tgi_operation *op, const char *name, tg_site site);
tgi_ref tgi_operation_operand(tgi_operation *op, tg_operand operand);
tg_value tgi_operation_end(tgi_operation *op, tgi_ref result);

#endif /* TGI_TRACE_STATE_H */
