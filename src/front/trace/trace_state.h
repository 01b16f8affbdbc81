/* SPDX-License-Identifier: MIT */
/*
 * trace_state.h - a trace in progress: the graph being recorded, its arguments
 * and its variables. The traces of a thread form a stack, because a callback
 * may call functions that need tracing, and branches and loops are traces of
 * their own (trace_region.h). The top one is current.
 */
#ifndef TGI_TRACE_STATE_H
#define TGI_TRACE_STATE_H

#include "base/error.h"
#include "build/build.h"
#include "front/object/variable_object.h"
#include "ir/graph.h"
#include "tgjit/trace.h"

/* An argument of the callback, beside its value. */
typedef struct tgi_trace_arg {
    tg_operand operand; /* static value; the signature owns strings */
    void *bundle;       /* struct of placeholder variables, owned by the
                           trace */
    const tg_bundle_type *bundle_type; /* NULL: not a bundle */
} tgi_trace_arg;

/* A variable and its node in the trace. */
typedef struct tgi_capture {
    tg_variable *variable; /* retained */
    tgi_ref node;
} tgi_capture;

/* A variable that the callback of a function created. */
typedef struct tgi_owned_variable {
    const char *name;      /* within the callback; shared: full name */
    tg_variable *variable; /* retained */
    bool is_shared;        /* created by tg_get_variable */
} tgi_owned_variable;

/* A variable whose initial value the traced graph computes. */
typedef struct tgi_traced_initial {
    tg_variable *variable; /* retained */
    tgi_ref value;
} tgi_traced_initial;

/* Number of values after the last argument that report a missing argument. */
enum { TGI_MISSING_ARGS = 16 };

static inline tg_value tgi_missing_arg(uint32_t arg)
{
    return (tg_value){.node = UINT32_MAX - arg};
}

typedef TGI_VEC(tgi_ref) tgi_refs;

struct tg_trace {
    uint32_t id; /* tg_value.trace; never 0, never reused */
    tg_trace *parent;
    uint32_t depth;  /* nesting of callbacks on this thread, this one included;
                        see tgi_trace_check_nesting */
    tg_trace *outer; /* of a branch or loop body: the enclosing trace; else
                        NULL */
    tg_context *ctx;
    tg_function *function;
    tgi_graph *graph;
    bool is_fast; /* accuracy of the function */

    tg_site site;        /* site of the callback's current operation … */
    const char *op_name; /* … and its name, or NULL */
    tg_status status;    /* of the first error, which sticks */
    tgi_error_copy error;

    TGI_VEC(tgi_trace_arg) args;
    TGI_VEC(tg_variable *) placeholders; /* retained */

    TGI_VEC(tgi_capture)
    captures;                /* captured variables, other than arguments */
    tgi_index capture_index; /* by address of the variable */
    /* Variables passed as arguments. If the callback also captures one, the
       trace fits only calls that pass the same variable. */
    TGI_VEC(tgi_capture) arg_variables;
    TGI_VEC(bool) arg_captured; /* per arg_variables */

    TGI_VEC(tgi_ref) last_write; /* by parameter: node, or 0 */

    /* Of a region, by parameter: the node in the enclosing graph. The index
       finds captures by that node. */
    TGI_VEC(tgi_ref) region_inputs;
    tgi_index region_index;

    /* Reasons of missing gradients: the invalid value {i + 1, 0} refers to
       reason i. Of the function's trace; the graph owns the texts. */
    TGI_VEC(const char *) reasons;

    TGI_VEC(tgi_owned_variable)
    new_variables;                        /* created by this trace */
    TGI_VEC(const char *) used_variables; /* names requested in this trace */
    TGI_VEC(tgi_traced_initial) initials;
    tgi_refs results;
    bool has_returned;
    int64_t n_unrolled; /* iterations of unrolled loops; of the function's
                           trace */
};

/* The calling thread's current trace, or NULL. */
tg_trace *tgi_trace_current(void);

/* True if `t` is the current trace and has not failed; else records an error
   that names `who`. */
bool tgi_trace_is_usable(tg_trace *t, const char *who, tg_site site);

/*
 * TG_ERROR_LIMIT if `levels` more levels inside the current trace, if any,
 * exceed TG_MAX_NESTING. Each level recurses through a user's callback, and
 * code that visits regions and callees recurses by level too. The limit covers
 * both, whether or not a callee has been traced before: graphs are nested no
 * deeper, and tracing takes at most half of 256 KiB of stack.
 */
tg_status tgi_trace_check_nesting(uint32_t levels, const char *what,
                                  tg_site site);

/* For functions that are called next to a callback: keeps their frames out of
   the stack space of each nesting level. */
#define TGI_NOINLINE __attribute__((noinline))

/*
 * Makes an empty trace current; NULL when out of memory or nested too deeply
 * (recorded). tgi_trace_end must be called, which makes the parent current
 * again.
 */
tg_trace *tgi_trace_begin(tg_context *ctx, tg_function *function,
                          bool is_fast, tg_site site);
/* The same for a region of `outer`, the current trace; the builder names the
   operation and its site. */
tg_trace *tgi_trace_begin_region(tg_trace *outer, const char *name,
                                 const tgi_builder *b);
void tgi_trace_end(tg_trace *t);

/* The trace of the function that `t` belongs to. */
static inline tg_trace *tgi_trace_root(tg_trace *t)
{
    while (t->outer)
        t = t->outer;
    return t;
}

/* True if trace `id` is `t` or encloses it. */
bool tgi_trace_is_within(const tg_trace *t, uint32_t id);

/* Captures a value of such a trace as a node of `t`; 0 on failure, which
   sticks. */
tgi_ref tgi_trace_capture_value(tg_trace *t, tg_value value);

/* Captures a variable as a node of region `t`; 0 on failure, which sticks. */
tgi_ref tgi_region_variable(tg_trace *t, tg_variable *variable, const char *op,
                            tg_site site);

/* Makes the thread's error record the error of the trace, if it is its
   first. */
void tgi_trace_record_error(tg_trace *t);

/* Sets the thread's error record and makes it the error of the trace, unless
   the trace has failed before. Returns the status of the trace. */
tg_status tgi_trace_fail(tg_trace *t, tg_status status, tg_site site,
                         const char *format, ...) TG_PRINTF(4, 5);

/* The value handle of a node; invalid for 0. */
tg_value tgi_trace_value(const tg_trace *t, tgi_ref ref);

/*
 * Runs a callback whose operations are recorded in `t` itself, for the
 * operation that the builder names. Its results go to out_results, to be
 * deinitialised in any case, and not to those of the callback that `t` runs.
 * False after a failure, which sticks.
 */
bool tgi_trace_run_inline(tg_trace *t, tg_callback *callback,
                          const tg_value *in, void *user, const tgi_builder *b,
                          tgi_refs *out_results);

/* The reason of a missing gradient, or NULL if `value` is not one. */
const char *tgi_trace_reason(const tg_trace *t, tg_value value);

/* -- Operands to nodes ----------------------------------------------------- */

/* The node of a value, captured if `t` is a region; 0 on error, which
   sticks. */
tgi_ref tgi_trace_ref(tg_trace *t, tg_value value, const char *op,
                      tg_site site);

/* The node of a variable, captured if new in `t`; 0 on error, which sticks. */
tgi_ref tgi_trace_variable(tg_trace *t, tg_variable *variable, const char *op,
                           tg_site site);

/* The VARIABLE node of an operand; 0 on error, for instance if it is a
   value. */
tgi_ref tgi_trace_variable_operand(tg_trace *t, tg_operand operand,
                                   const char *op, tg_site site);

/* The operand as a value: variables are read, tensors and numbers become
   constants. 0 on error, which sticks. */
tgi_ref tgi_trace_operand(tg_trace *t, tg_operand operand, const char *op,
                          tg_site site);

/* The number of an operand of kind INT, UINT or FLOAT. */
tgi_number tgi_operand_number(const tg_operand *operand);

/* Adds a READ or ASSIGN of a VARIABLE node; 0 on failure (recorded). */
tgi_ref tgi_trace_read(tg_trace *t, tgi_ref variable, tg_site site);
tgi_ref tgi_trace_write(tg_trace *t, tgi_ref variable, tgi_ref value,
                        tg_site site);

/* Records that `node` writes the variable, so that later reads name it. False
   if `node` is 0. */
bool tgi_trace_note_write(tg_trace *t, tgi_ref variable, tgi_ref node);

/* -- One operation --------------------------------------------------------- */

/*
 * The state of an API operation. `begin` sets the current trace and a builder
 * for it (false: no trace, or it has failed); `end` turns the result into a
 * value and makes a failure stick.
 */
typedef struct tgi_operation {
    tg_trace *t;
    tgi_builder b;
    bool is_wide;
    tg_dtype real; /* is_wide: the float dtype of the operands so far, or 0 */
} tgi_operation;

bool tgi_operation_begin(tgi_operation *op, const char *name, tg_site site);
/* For functions of several steps: operands that are halves become f32, and the
   result, if it is f32, a half again, so that it is rounded once. */
bool tgi_operation_begin_wide(tgi_operation *op, const char *name,
                              tg_site site);
tgi_ref tgi_operation_operand(tgi_operation *op, tg_operand operand);
tg_value tgi_operation_end(tgi_operation *op, tgi_ref result);

#endif /* TGI_TRACE_STATE_H */
