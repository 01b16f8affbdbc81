/* SPDX-License-Identifier: MIT */
/*
 * random_gradient.h - random programs whose derivatives are checked, built
 * through the public API only.
 *
 * A program is a number from which its operations are drawn each time it is
 * traced. So the function, its gradients, and the same program in another dtype
 * all have the same operations.
 *
 * Each value has bounds that hold for all arguments. They keep values small,
 * and arguments away from the end of a function's domain and from kinks, so
 * that finite differences approximate derivatives.
 *
 * A value that blocks gradients (tg_stop_gradient, assignments) is not constant
 * for finite differences. At top level it is therefore a result of the program,
 * and an argument when differences are taken: it is frozen. Elsewhere only
 * values that do not depend on a source are stopped, or assigned and read.
 */
#ifndef TGI_TEST_RANDOM_GRADIENT_H
#define TGI_TEST_RANDOM_GRADIENT_H

#include <stdio.h>

#include "support/support_random.h"
#include "tgjit.h"

enum {
    GR_MAX_RANK = 4,
    GR_MAX_COUNT = 512, /* elements of a value */
    GR_MAX_VALUES = 160,
    GR_MAX_INPUTS = 4,
    GR_MAX_VARIABLES = 3,
    GR_MAX_SOURCES = GR_MAX_INPUTS + GR_MAX_VARIABLES,
    GR_MAX_STOPS = 8,
    GR_MAX_RESULTS = 3 + 2 * GR_MAX_SOURCES + GR_MAX_STOPS,
    GR_MAX_DROPPED = 256,
    GR_MAX_DEPTH = 3,
    GR_LARGEST = 4 /* bound on the magnitude of elements */
};

/* -- Programs -------------------------------------------------------------- */

typedef struct gr_shape {
    int rank;
    int64_t dims[GR_MAX_RANK];
} gr_shape;

int64_t gr_count(const gr_shape *shape);
bool gr_same_shape(const gr_shape *a, const gr_shape *b);

/* Operations to leave out, by name. */
typedef struct gr_dropped {
    uint64_t sites[GR_MAX_DROPPED];
    int n;
} gr_dropped;

/* Properties of a program, chosen before it is traced. */
typedef struct gr_program {
    uint64_t seed;
    int n_inputs, n_variables;
    gr_shape inputs[GR_MAX_INPUTS], variables[GR_MAX_VARIABLES];
    unsigned unknown[GR_MAX_INPUTS]; /* bits: axes with unknown extent */
    gr_shape state;                   /* of both assigned variables */
    int64_t iterations;                    /* passed as an argument */
    int n_ops;
    bool has_jvp, has_second; /* further derivatives */
    bool zeros;               /* request zeros for unconnected gradients */
    bool seeds;  /* several targets with seeds instead of their sum */
    bool passes; /* pass variables as arguments instead of capturing them */
    bool shares; /* equal unknown extents are the same symbol */
    bool trains; /* assign the sources at the end */
    bool has_unbounded;  /* may have loops that save unbounded stacks */
    bool is_fast;        /* has fast accuracy */
    gr_dropped dropped;
} gr_program;

/* `quick`: derivatives other than gradients are rare. */
void gr_program_init(gr_program *p, uint64_t seed, bool has_unbounded,
                     bool quick);

static inline int gr_n_sources(const gr_program *p)
{
    return p->n_inputs + p->n_variables;
}

static inline const gr_shape *gr_source_shape(const gr_program *p, int i)
{
    return i < p->n_inputs ? &p->inputs[i] : &p->variables[i - p->n_inputs];
}

/* -- Traces ---------------------------------------------------------------- */

/*
 * Arguments: the inputs, the number of iterations, then for GR_WHOLE a
 * direction per source, else all frozen values; then passed variables.
 */
typedef enum gr_form {
    GR_WHOLE,  /* target, gradients, other derivatives, frozen values */
    GR_TARGET, /* the target */
    GR_FROZEN_GRADIENT /* the target and the gradients */
} gr_form;

/* Effects of a run, in order: prints and host calls, by the number of their
   site. */
typedef struct gr_effects {
    uint64_t n, hash;
} gr_effects;

void gr_note_effect(gr_effects *effects, uint64_t place);

/* Statistics over many programs. */
typedef struct gr_tally {
    uint64_t n_programs, n_differences, n_rejected, n_second, n_compiled;
    uint64_t n_unconnected, n_effects;
    uint64_t made[64]; /* by kind, see gr_kinds */
} gr_tally;

/* Result indices of GR_WHOLE. */
typedef struct gr_results {
    int n, jvp, jvp_source, second, hessian, hessian_source, frozen;
} gr_results;

typedef struct gr_trace {
    const gr_program *program;
    gr_form form;
    tg_dtype dtype;
    tg_context *ctx;
    tg_variable *captured[GR_MAX_VARIABLES];
    tg_variable *state, *sink; /* assigned variables: one that is read, one that
                                  is not */
    tg_variable *generator;
    gr_effects *effects;
    const tg_value *in;
    tg_operand variables[GR_MAX_VARIABLES]; /* captured or passed */
    FILE *log;                               /* or NULL */
    gr_tally *tally;

    /* Of the trace: */
    int next_id, n_stops;
    gr_shape stop_shapes[GR_MAX_STOPS];
    tg_value stops[GR_MAX_STOPS];
    uint64_t sites[GR_MAX_DROPPED]; /* operations recorded */
    int n_sites;
    gr_results results;
    char failure[200]; /* the operation that failed; or "" */

    struct gr_body *bodies; /* list of all bodies */
} gr_trace;

void gr_trace_deinit(gr_trace *root);

/* The callback of a program; user is a gr_trace. */
void gr_callback(tg_trace *t, const tg_value *in, void *user);

/* -- Callbacks being traced ------------------------------------------------ */

typedef struct gr_value {
    tg_value value;
    gr_shape shape;   /* in the call; may be unknown to the trace */
    double low, high; /* bounds on all elements in any call */
    int id;
    bool is_used;
} gr_value;

typedef struct gr_frame {
    gr_trace *root;
    tg_trace *t;
    struct gr_frame *outer; /* its values may be captured */
    uint64_t seed, random;
    int depth;
    bool is_pure; /* has no effects */
    gr_value values[GR_MAX_VALUES];
    int n_values;
    int picked[8], n_picked; /* for the log */
} gr_frame;

static inline int gr_below(gr_frame *f, int n)
{
    return random_below(&f->random, n);
}

static inline bool gr_one_in(gr_frame *f, int n)
{
    return gr_below(f, n) == 0;
}

/* A number in [low, high). */
double gr_uniform(gr_frame *f, double low, double high);

/* Adds a value, scaled down if it may be too large. */
gr_value gr_add(gr_frame *f, const char *name, tg_value value,
                const gr_shape *shape, double low, double high);

/* Likewise for an argument, which is not scaled. */
gr_value gr_take(gr_frame *f, const char *name, tg_value value,
                 const gr_shape *shape);

/* Logs that the operands picked last are returned; n_like of them were
   fitted. */
void gr_log_return(gr_frame *f, int n_like);

/* -- Bodies ---------------------------------------------------------------- */

enum { GR_MAX_PARAMS = 4 };

/* A nested callback: its arguments and results, some of which are known only
   once it has been traced. */
typedef struct gr_body {
    struct gr_body *next; /* next in the trace's list */
    gr_trace *root;
    gr_frame *outer; /* NULL: it captures nothing */
    uint64_t seed;
    int depth, n_ops;
    bool is_pure;
    bool counts;          /* the first argument is the iteration */
    bool steps;           /* … which is a loop value */
    int n_params, n_like; /* results with the types of the first arguments */
    gr_shape params[GR_MAX_PARAMS];
    int n_free;
    gr_shape free[GR_MAX_PARAMS]; /* shapes of the other results */
    double limit;                  /* of a loop's test */
    tg_value iterations;
    tg_function *function; /* owned; or NULL */
} gr_body;

/* A new body one level deeper, owned by the trace. */
gr_body *gr_body_create(gr_frame *f);
void gr_body_param(gr_body *body, const gr_value *x);
tg_callback gr_body_callback;

/* -- Operands -------------------------------------------------------------- */

gr_value gr_pick(gr_frame *f);
/* A value of at least that rank. */
gr_value gr_pick_rank(gr_frame *f, int rank);
/* A value that broadcasts with that shape to at most GR_MAX_COUNT elements. */
gr_value gr_pick_beside(gr_frame *f, const gr_shape *shape);
gr_value gr_pick_scalar(gr_frame *f);
/* A value of exactly this shape, built if there is none. */
gr_value gr_pick_shaped(gr_frame *f, int rank, const int64_t *dims);

gr_shape gr_common(const gr_shape *a, const gr_shape *b);
bool gr_broadcasts(const gr_shape *a, const gr_shape *b);

/* x mapped to [low, high]. */
gr_value gr_between(gr_frame *f, gr_value x, double low, double high);

/* x converted to the exact type of another value, also for the trace. */
tg_value gr_fitted(gr_frame *f, gr_value x, const gr_value *like);

/* True if the frame can capture the program's arguments. */
bool gr_sees_arguments(const gr_frame *f);
/* A number of iterations: the argument, if the callback can capture it; else
   another run-time number. */
tg_value gr_iterations(gr_frame *f);
/* An i64 scalar in 0 … n - 1: a constant, an argument or computed. */
tg_value gr_index(gr_frame *f, int64_t n);
/* A bool scalar. */
tg_value gr_predicate(gr_frame *f);

/* -- Values that are not sources ------------------------------------------- */

/* Shaped like x, elements in [low, high). */
tg_value gr_weights(gr_frame *f, const gr_value *x, double low, double high);
/* Shaped like x, elements -size or size in random order. */
tg_value gr_signs(gr_frame *f, const gr_value *x, double size);
/* Shaped like x, all elements different, at least `gap` apart. */
tg_value gr_steps(gr_frame *f, const gr_value *x, double gap);
tg_value gr_number(gr_frame *f, double number);

/* -- Operations ------------------------------------------------------------ */

/* Each adds at least one value. */
typedef void gr_make(gr_frame *f);

gr_make gr_make_unary, gr_make_binary, gr_make_ternary, gr_make_kinked,
    gr_make_select;
gr_make gr_make_broadcast, gr_make_reshape, gr_make_transpose, gr_make_slice,
    gr_make_pad, gr_make_concat;
gr_make gr_make_gather, gr_make_scatter, gr_make_dynamic_slice,
    gr_make_dynamic_update;
gr_make gr_make_sum, gr_make_prod, gr_make_largest, gr_make_matmul,
    gr_make_einsum, gr_make_network;
gr_make gr_make_cond, gr_make_switch, gr_make_for, gr_make_unrolled,
    gr_make_while, gr_make_scan, gr_make_map;
gr_make gr_make_apply, gr_make_checkpoint, gr_make_custom, gr_make_host;
gr_make gr_make_variable, gr_make_state, gr_make_stop, gr_make_cast;
gr_make gr_make_effect, gr_make_draw;

gr_make gr_make_empty, gr_make_inner_gradient;

/* The name of a differentiable elementwise op that no program has; NULL: none
   is missing. */
const char *gr_forgotten(void);

typedef struct gr_kind {
    const char *name;
    gr_make *make;
    int weight;
    bool is_region;
} gr_kind;

extern const gr_kind gr_kinds[];
extern const int gr_n_kinds;

/* Records `n` random operations. */
void gr_make_some(gr_frame *f, int n);

/* -- Checking -------------------------------------------------------------- */

enum { GR_MAX_TEAMS = 8 };

typedef struct gr_settings {
    bool differences, jit; /* checks to run */
    int teams[GR_MAX_TEAMS], n_teams;
    bool has_unbounded;
    FILE *log;
    gr_dropped dropped;
} gr_settings;

typedef struct gr_failure {
    char what[600];
} gr_failure;

uint64_t gr_seed(uint64_t seed, uint64_t number);

/* Checks a program; returns false, with a message, on failure. */
bool gr_check(const gr_settings *settings, uint64_t seed, gr_tally *tally,
              gr_failure *out_failure);

/* Lists the operations of a program, for dropping some; returns their
   number. */
int gr_list_sites(const gr_settings *settings, uint64_t seed, uint64_t *sites);

/* -- Runs ------------------------------------------------------------------ */

/* A program in its own context, with its variables and arguments. */
typedef struct gr_run {
    const gr_program *program;
    tg_dtype dtype;
    tg_context *ctx;
    gr_trace traces[3]; /* by form */
    tg_function *functions[3];
    tg_bound *bound[3];
    tg_tensor *inputs[GR_MAX_INPUTS], *iterations;
    tg_tensor *directions[GR_MAX_SOURCES], *frozen[GR_MAX_STOPS];
    tg_variable *variables[GR_MAX_VARIABLES], *state, *sink, *generator;
    gr_effects effects; /* of the last run */
    tg_tensor *results[3][GR_MAX_RESULTS];
} gr_run;

/* False, with a failure, if something cannot be created. */
bool gr_run_init(gr_run *run, const gr_program *p, tg_dtype dtype,
                 const tg_context_options *options, FILE *log, gr_tally *tally,
                 gr_failure *failure);
void gr_run_deinit(gr_run *run);

/* A direction of the sources: all or one of them, or one element. */
typedef struct gr_way {
    int number; /* seed of the direction; 0: the one passed as arguments */
    int source; /* -1: all */
    int64_t at; /* -1: all; else it is 1 there */
} gr_way;

double gr_direction(const gr_program *p, const gr_way *way, int source,
                    int64_t i);

/* Runs a form with the sources at their initial values plus `step` times the
   direction. GR_WHOLE must have been run before, without a step. */
bool gr_run_form(gr_run *run, gr_form form, const gr_way *way, double step,
                 gr_failure *failure);

/* An element of a result, as a double. */
double gr_result(const gr_run *run, gr_form form, int result, int64_t i);
int64_t gr_result_count(const gr_run *run, gr_form form, int result);

/* A pseudo-random number in [-1, 1), a function of the arguments. */
double gr_element(const gr_program *p, int purpose, int64_t i);

/* Records a failure; returns false. */
bool gr_fail(gr_failure *failure, const char *format, ...) TG_PRINTF(2, 3);

#endif /* TGI_TEST_RANDOM_GRADIENT_H */
