/* SPDX-License-Identifier: MIT */
/*
 * random_gradient.h - random programs whose derivatives are checked, made
 * through the public interface alone.
 *
 * A program is a number: whatever it is traced for, its operations are drawn
 * anew from it, so that the function itself, its gradients and those of the
 * same program in another element type all have the same ones. Each value
 * comes with bounds that hold whatever the arguments: they keep values small,
 * and arguments away from where a function ends or has a kink. So differences
 * say what derivatives are.
 *
 * What gradients do not pass (tg_stop_gradient, assignments) is no constant
 * for differences. At top level such a value is a result of the program, and
 * an argument instead when differences are taken: it is frozen. Elsewhere only
 * values that depend on no source are stopped or assigned and read.
 */
#ifndef TGI_TEST_RANDOM_GRADIENT_H
#define TGI_TEST_RANDOM_GRADIENT_H

#include <stdio.h>

#include "support/support_random.h"
#include "tgjit.h"

enum {
    GR_MOST_RANK = 4,
    GR_MOST_COUNT = 512, /* elements of a value */
    GR_MOST_VALUES = 160,
    GR_MOST_INPUTS = 4,
    GR_MOST_VARIABLES = 3,
    GR_MOST_SOURCES = GR_MOST_INPUTS + GR_MOST_VARIABLES,
    GR_MOST_STOPS = 8,
    GR_MOST_RESULTS = 3 + 2 * GR_MOST_SOURCES + GR_MOST_STOPS,
    GR_MOST_DROPPED = 256,
    GR_MOST_DEPTH = 3,
    GR_LARGEST = 4 /* no element is larger */
};

/* -- Programs -------------------------------------------------------------- */

typedef struct gr_shape {
    int rank;
    int64_t dims[GR_MOST_RANK];
} gr_shape;

int64_t gr_count(const gr_shape *shape);
bool gr_same_shape(const gr_shape *a, const gr_shape *b);

/* Operations that are left out, by their names. */
typedef struct gr_dropped {
    uint64_t sites[GR_MOST_DROPPED];
    int n;
} gr_dropped;

/* What is known of a program before it is traced. */
typedef struct gr_program {
    uint64_t seed;
    int n_inputs, n_variables;
    gr_shape inputs[GR_MOST_INPUTS], variables[GR_MOST_VARIABLES];
    unsigned unknown[GR_MOST_INPUTS]; /* bits: axes the trace does not know */
    gr_shape state;                   /* of both variables it assigns */
    int64_t trips;                    /* an argument */
    int n_ops;
    bool has_jvp, has_second; /* what is asked for beside gradients */
    bool zeros;               /* unconnected gradients are zeros at once */
    bool seeds;  /* several targets with seeds instead of their sum */
    bool passes; /* variables are arguments, not captured */
    bool shares; /* unknown extents that are equal are the same one */
    bool trains; /* assigns its sources at the end */
    bool grows;  /* may have loops that save an unknown number of values */
    gr_dropped dropped;
} gr_program;

/* `quick`: other derivatives than gradients are rare. */
void gr_program_init(gr_program *p, uint64_t seed, bool grows, bool quick);

static inline int gr_n_sources(const gr_program *p)
{
    return p->n_inputs + p->n_variables;
}

static inline const gr_shape *gr_source_shape(const gr_program *p, int i)
{
    return i < p->n_inputs ? &p->inputs[i] : &p->variables[i - p->n_inputs];
}

/* -- What it is traced for ------------------------------------------------- */

/*
 * Arguments: the inputs, the number of trips, then for GR_WHOLE a direction
 * for each source, else all that is frozen; then variables that are passed.
 */
typedef enum gr_form {
    GR_WHOLE,  /* target, gradients, other derivatives, what is frozen */
    GR_TARGET, /* the target */
    GR_FROZEN_GRADIENT /* the target and the gradients */
} gr_form;

/* What a run has done outside of its results, in its order: prints and host
   calls, by the number of the place that asked for them. */
typedef struct gr_effects {
    uint64_t n, hash;
} gr_effects;

void gr_note_effect(gr_effects *effects, uint64_t place);

/* Counts what was made, over many programs. */
typedef struct gr_tally {
    uint64_t n_programs, n_differences, n_rejected, n_second, n_compiled;
    uint64_t n_unconnected, n_effects;
    uint64_t made[64]; /* by kind, see gr_kinds */
} gr_tally;

/* Where the results of GR_WHOLE are. */
typedef struct gr_results {
    int n, jvp, jvp_source, second, hessian, hessian_source, frozen;
} gr_results;

typedef struct gr_trace {
    const gr_program *program;
    gr_form form;
    tg_dtype dtype;
    tg_context *ctx;
    tg_variable *captured[GR_MOST_VARIABLES];
    tg_variable *state, *sink; /* what is assigned: read by all; by nobody */
    tg_variable *generator;
    gr_effects *effects;
    const tg_value *in;
    tg_operand variables[GR_MOST_VARIABLES]; /* captured or passed */
    FILE *log;                               /* or NULL */
    gr_tally *tally;

    /* Of the trace: */
    int next_id, n_stops;
    gr_shape stop_shapes[GR_MOST_STOPS];
    tg_value stops[GR_MOST_STOPS];
    uint64_t sites[GR_MOST_DROPPED]; /* operations made */
    int n_sites;
    gr_results results;
    char failure[200]; /* what was made when something failed; or "" */

    struct gr_body *bodies; /* all there are */
} gr_trace;

void gr_trace_deinit(gr_trace *root);

/* The callback of a program; user is a gr_trace. */
void gr_callback(tg_trace *t, const tg_value *in, void *user);

/* -- Callbacks being traced ------------------------------------------------ */

typedef struct gr_value {
    tg_value value;
    gr_shape shape;   /* in the call: the trace need not know it */
    double low, high; /* of any element, whatever the call */
    int id;
    bool is_used;
} gr_value;

typedef struct gr_frame {
    gr_trace *root;
    tg_trace *t;
    struct gr_frame *around; /* whose values may be used as they are */
    uint64_t seed, random;
    int depth;
    bool is_pure; /* has no effects */
    gr_value values[GR_MOST_VALUES];
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

/* One of [low, high). */
double gr_uniform(gr_frame *f, double low, double high);

/* Adds a value, made smaller if it may be too large. */
gr_value gr_add(gr_frame *f, const char *name, tg_value value,
                const gr_shape *shape, double low, double high);

/* Likewise for what comes from outside: it is not made smaller. */
gr_value gr_take(gr_frame *f, const char *name, tg_value value,
                 const gr_shape *shape);

/* Logs that what was picked last is returned, so many of them fitted. */
void gr_log_return(gr_frame *f, int n_like);

/* -- Bodies ---------------------------------------------------------------- */

enum { GR_MOST_PARAMS = 4 };

/* A callback inside: what it gets and gives, also where that is known only
   when it has been traced. */
typedef struct gr_body {
    struct gr_body *next; /* of all of a trace */
    gr_trace *root;
    gr_frame *around; /* NULL: it sees nothing of it */
    uint64_t seed;
    int depth, n_ops;
    bool is_pure;
    bool counts;          /* the first argument is a number of trips */
    bool steps;           /* … which is a loop value */
    int n_params, n_like; /* that many results are like the first arguments */
    gr_shape params[GR_MOST_PARAMS];
    int n_free;
    gr_shape free[GR_MOST_PARAMS]; /* shapes of those that follow */
    double limit;                  /* of a loop */
    tg_value trips;
    tg_function *function; /* owned; or NULL */
} gr_body;

/* A new body one level deeper, kept until the trace is gone. */
gr_body *gr_body_create(gr_frame *f);
void gr_body_param(gr_body *body, const gr_value *x);
tg_callback gr_body_callback;

/* -- Operands -------------------------------------------------------------- */

gr_value gr_pick(gr_frame *f);
/* One of at least that many axes. */
gr_value gr_pick_rank(gr_frame *f, int rank);
/* One that broadcasts with that shape to no more than GR_MOST_COUNT. */
gr_value gr_pick_beside(gr_frame *f, const gr_shape *shape);
gr_value gr_pick_scalar(gr_frame *f);
/* One of exactly this shape, made if there is none. */
gr_value gr_pick_shaped(gr_frame *f, int rank, const int64_t *dims);

gr_shape gr_common(const gr_shape *a, const gr_shape *b);
bool gr_broadcasts(const gr_shape *a, const gr_shape *b);

/* x as it is needed: in [low, high]. */
gr_value gr_between(gr_frame *f, gr_value x, double low, double high);

/* x as a value of the very type of another one, also for the trace. */
tg_value gr_fitted(gr_frame *f, gr_value x, const gr_value *like);

/* True if it sees the arguments of the program. */
bool gr_sees_arguments(const gr_frame *f);
/* The number of trips: an argument, where the callback sees it; else some
   number that the run decides. */
tg_value gr_trips(gr_frame *f);
/* An i64 scalar in 0 … n - 1: a number, an argument or computed. */
tg_value gr_index(gr_frame *f, int64_t n);
/* A bool scalar. */
tg_value gr_predicate(gr_frame *f);

/* -- Elements that are no sources ------------------------------------------ */

/* Like x, each in [low, high). */
tg_value gr_weights(gr_frame *f, const gr_value *x, double low, double high);
/* Like x, each one of -size and size, in no order. */
tg_value gr_signs(gr_frame *f, const gr_value *x, double size);
/* Like x, all different, at least `gap` apart. */
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

/* An elementwise operation with a derivative that no program has; NULL: all
   are made. */
const char *gr_forgotten(void);

typedef struct gr_kind {
    const char *name;
    gr_make *make;
    int weight;
    bool is_region;
} gr_kind;

extern const gr_kind gr_kinds[];
extern const int gr_n_kinds;

/* `n` random operations. */
void gr_make_some(gr_frame *f, int n);

/* -- Checking -------------------------------------------------------------- */

enum { GR_MOST_TEAMS = 8 };

typedef struct gr_settings {
    bool differences, jit; /* what is checked */
    int teams[GR_MOST_TEAMS], n_teams;
    bool grows;
    FILE *log;
    gr_dropped dropped;
} gr_settings;

typedef struct gr_failure {
    char what[600];
} gr_failure;

uint64_t gr_seed(uint64_t seed, uint64_t number);

/* Whether all holds for a program; else says what does not. */
bool gr_check(const gr_settings *settings, uint64_t seed, gr_tally *tally,
              gr_failure *out_failure);

/* The operations it has, for dropping some: how many. */
int gr_list_sites(const gr_settings *settings, uint64_t seed, uint64_t *sites);

/* -- Runs ------------------------------------------------------------------ */

/* A program in a context of its own, with its variables and arguments. */
typedef struct gr_run {
    const gr_program *program;
    tg_dtype dtype;
    tg_context *ctx;
    gr_trace traces[3]; /* by form */
    tg_function *functions[3];
    tg_bound *bound[3];
    tg_tensor *inputs[GR_MOST_INPUTS], *trips;
    tg_tensor *directions[GR_MOST_SOURCES], *frozen[GR_MOST_STOPS];
    tg_variable *variables[GR_MOST_VARIABLES], *state, *sink, *generator;
    gr_effects effects; /* of the last run */
    tg_tensor *results[3][GR_MOST_RESULTS];
} gr_run;

/* False and a failure if something cannot be made. */
bool gr_run_init(gr_run *run, const gr_program *p, tg_dtype dtype,
                 const tg_context_options *options, FILE *log, gr_tally *tally,
                 gr_failure *failure);
void gr_run_deinit(gr_run *run);

/* Which way the sources go: all or one of them, or one of its elements. */
typedef struct gr_way {
    int number; /* of the direction; 0 is that of the arguments */
    int source; /* -1: all */
    int64_t at; /* -1: all; else it is 1 there */
} gr_way;

double gr_direction(const gr_program *p, const gr_way *way, int source,
                    int64_t i);

/* Runs a form with the sources as they are at first plus `step` times the
   direction; GR_WHOLE must have been run, without a step, before the others. */
bool gr_run_form(gr_run *run, gr_form form, const gr_way *way, double step,
                 gr_failure *failure);

/* Elements of a result, as numbers. */
double gr_result(const gr_run *run, gr_form form, int result, int64_t i);
int64_t gr_result_count(const gr_run *run, gr_form form, int result);

/* In [-1, 1): the same for the same numbers. */
double gr_element(const gr_program *p, int purpose, int64_t i);

/* False and a failure. */
bool gr_fail(gr_failure *failure, const char *format, ...) TG_PRINTF(2, 3);

#endif /* TGI_TEST_RANDOM_GRADIENT_H */
