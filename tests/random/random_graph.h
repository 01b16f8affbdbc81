/* SPDX-License-Identifier: MIT */
/*
 * random_graph.h - random programs for random-graphs: any string of bytes is
 * a valid program, so that random strings, a fuzzer's strings and shortened
 * strings of a failure all serve alike.
 *
 * The head of a string describes arguments and variables with their contents;
 * the rest are instructions, each one or more operations of the public API.
 * Every value has a type of our own reckoning beside the library's, for the
 * sizes of the first call: it steers what may be done with the value, and is
 * compared with what the library says. Nothing is chosen by looking at the
 * library's extents, so the same operations are recorded whatever is known.
 *
 *   random_graph_values.c   elements: numbers at the edges, comparing
 *   random_graph_program.c  the head: arguments, variables, sizes
 *   random_graph_operand.c  choosing operands
 *   random_graph_make*.c    instructions, by class of operation
 *   random_graph_control.c  which branches and loops were met
 *   random_graph_session.c  a context with all a program needs; tracing
 *   random_graph_buffers.c  memory of a run, guarded if need be
 *   random_graph_outcome.c  what a run leaves behind
 *   random_graph_run.c      running graphs and calls
 *   random_graph_native.c   running compiled graphs, by teams of any size
 *   random_graph_check.c    a program under test, in the mode asked for
 *   random_graph_passes.c   what passes must keep
 *   random_graph_jit.c      what compiled code must do
 *   random_graph_coverage.c which operations met which element types
 *   random_graph_structure.c which structures were met, of graphs and loops
 *   random_graph_minimise.c shorter strings that still fail
 *   random_graph_repro.c    a run as a C program
 *   random_graph_work.c     strings by their number
 *   random_graphs.c         the program
 */
#ifndef TGI_TEST_RANDOM_GRAPH_H
#define TGI_TEST_RANDOM_GRAPH_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "front/call/dump_repro.h"
#include "front/call/function_object.h"
#include "ir/graph.h"
#include "jit.h"
#include "tgjit.h"

/* -- Settings -------------------------------------------------------------- */

typedef enum rg_mode { RG_PASSES, RG_JIT } rg_mode;

enum { RG_MOST_TEAMS = 16 };

/* Which programs have branches and loops: a part of them, which their bytes
   say; or all or none. */
typedef enum rg_control {
    RG_CONTROL_SOME,
    RG_CONTROL_ALL,
    RG_CONTROL_NONE
} rg_control;

/* What is asked of a program. Of PASSES only the first two count. */
typedef struct rg_settings {
    rg_mode mode;
    rg_control control;
    int n_teams, teams[RG_MOST_TEAMS]; /* numbers of threads */
    unsigned vector_bits;              /* 0: what suits the CPU */
    const char *cache;                 /* JIT: a directory for code, and all is
                                          done once more with what is there;
                                          or NULL */
    const char *repro;                 /* JIT: where each run is written as a
                                          program before it begins, or NULL */
    const char *repro_dir;             /* where those of failures are kept */
    /* For tests of what a failure leads to: graphs with this op fail, by a
       signal if `plants_crash`. TGI_OP_NONE: all are as they are. */
    tgi_op planted;
    bool plants_crash;
} rg_settings;

/* -- Bytes ----------------------------------------------------------------- */

/* A string being read; past its end there are zeros. */
typedef struct rg_bytes {
    const uint8_t *data;
    size_t n, at;
} rg_bytes;

static inline unsigned rg_take(rg_bytes *bytes)
{
    return bytes->at < bytes->n ? bytes->data[bytes->at++] : 0;
}

/* One of 0 … n - 1; n is at most 256. */
static inline int rg_below(rg_bytes *bytes, int n)
{
    return (int)(rg_take(bytes) % (unsigned)n);
}

/* splitmix64: any seed is good. */
static inline uint64_t rg_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* -- Types and elements ---------------------------------------------------- */

typedef struct rg_type {
    uint8_t dtype;
    bool is_weak; /* a plain number, which takes the type of what it meets */
    int8_t rank;
    int64_t dims[TG_MAX_RANK];
} rg_type;

int64_t rg_count(const rg_type *type);
size_t rg_size(const rg_type *type); /* in bytes */

/* An element type of these classes. */
tg_dtype rg_take_dtype(rg_bytes *bytes, unsigned classes);

/* Fills n elements from a seed, in the manner its low bits choose. */
void rg_fill(tg_dtype dtype, uint64_t seed, void *data, int64_t n);

/* Makes all NaNs one: which of them it is says nothing. */
void rg_unify_nans(tg_dtype dtype, void *data, int64_t n);

/* A plain number whose C type is `dtype`, from an element. */
tg_operand rg_number(tg_dtype dtype, const void *element);

/* -- Programs -------------------------------------------------------------- */

enum {
    RG_MOST_ARGS = 5,
    RG_MOST_VARIABLES = 4,
    RG_SIZES = 3, /* sizes of arguments a program is called with */
    RG_MOST_RESULTS = 12
};

typedef enum rg_arg_kind {
    RG_TENSOR,
    RG_NUMBER,
    RG_VARIABLE,
    RG_VALUE_OF
} rg_arg_kind;

/* How a general trace knows an extent. */
enum { RG_KNOWN = 0, RG_SAME_1 = 1, RG_SAME_2 = 2, RG_ALONE = 3 };

typedef struct rg_arg {
    rg_arg_kind kind;
    int variable;               /* VARIABLE, VALUE_OF: which one */
    rg_type type[RG_SIZES];     /* the same but for extents */
    uint8_t known[TG_MAX_RANK]; /* RG_KNOWN … */
    void *data[RG_SIZES];       /* TENSOR, NUMBER: the elements */
} rg_arg;

typedef struct rg_program {
    tgi_arena arena;
    rg_bytes body;
    uint64_t seed; /* for choices that are not worth bytes */
    bool no_contraction;
    bool returns_all;
    bool is_heavy; /* its extents are large */
    bool has_control; /* branches and loops */
    int64_t limit; /* elements of any value, in the first size */
    int n_args, n_variables;
    rg_arg args[RG_MOST_ARGS];
    struct {
        rg_type type;
        void *data; /* the contents at the beginning */
    } variables[RG_MOST_VARIABLES];
} rg_program;

/* Programs have larger extents where code is compiled: its loops have parts
   that small ones never enter. */
void rg_program_init(rg_program *program, const uint8_t *bytes, size_t n,
                     const rg_settings *settings);
void rg_program_deinit(rg_program *program);

/* Whether a program in these bytes has branches and loops. */
bool rg_has_control(const rg_settings *settings, const uint8_t *bytes,
                    size_t n);

/* Whether a general trace differs from the exact one. */
bool rg_program_has_unknowns(const rg_program *program);

/* -- Making a graph -------------------------------------------------------- */

typedef struct rg_session rg_session;
typedef struct rg_function rg_function;

enum {
    RG_MOST_VALUES = 48,
    RG_MOST_SEEN_VARIABLES = RG_MOST_VARIABLES + RG_MOST_ARGS,
    RG_MOST_FUNCTIONS = 6,
    RG_MOST_CALLS = 4,
    RG_MOST_DEPTH = 3,
    RG_MOST_TRIPS = 24 /* of loops in one another, together */
};

/* A value, or what else an operation takes, and its type. */
typedef struct rg_operand {
    rg_type type;
    tg_operand operand;
    bool is_variable;
} rg_operand;

static inline rg_operand rg_value(rg_type type, tg_value value)
{
    rg_operand operand = {type, tg_in_value(value), false};
    return operand;
}

/*
 * The callback of a program or of a function in it, at work. Without a
 * session it works dry: nothing is recorded, only types are reckoned.
 */
typedef struct rg_maker {
    rg_bytes bytes;
    const rg_program *program;
    rg_session *session; /* NULL: dry */
    tg_trace *trace;
    tgi_arena *arena; /* of what must outlive the callback */
    int depth;
    int nesting; /* of regions around, in this function */
    int trips;   /* that a loop may have, and those in it with it */
    tg_value trip; /* number of that of the loop around, below most_trip */
    int most_trip; /* 0: none is around */
    bool is_plain; /* no choice may depend on extents */

    int n_values;
    rg_operand values[RG_MOST_VALUES];
    int n_variables;
    rg_operand variables[RG_MOST_SEEN_VARIABLES];
    int n_functions;
    rg_function *functions[RG_MOST_FUNCTIONS];
} rg_maker;

typedef struct rg_call {
    int n_args;
    bool is_variable[RG_MOST_ARGS];
    rg_type types[RG_MOST_ARGS];
} rg_call;

/* A function made by a program, with those it may call. */
struct rg_function {
    rg_bytes body;
    const rg_program *program;
    rg_session *session;
    int depth;
    int trips; /* as in makers */
    bool is_plain;
    tg_function *function; /* NULL: dry */
    int n_functions;
    rg_function *functions[RG_MOST_FUNCTIONS];
    rg_call call; /* that is being recorded */
    int n_calls;
    rg_call calls[RG_MOST_CALLS]; /* that were, with different arguments */
};

/* Runs the instructions; fills `results` (RG_MOST_RESULTS), returns how
   many. */
int rg_make(rg_maker *m, rg_operand *results);

/* Only runs them. */
void rg_make_body(rg_maker *m);

/* The same, returning the results from the callback. */
void rg_make_and_return(rg_maker *m);

/* Adds the program's variables, as captured ones. */
void rg_see_variables(rg_maker *m);

/* Records an operation, unless dry. */
#define RG_DO(m, ...) ((m)->session ? (__VA_ARGS__) : (tg_value){0, 0})

/* A new value, kept for later instructions while there is room. */
rg_operand rg_keep(rg_maker *m, rg_type type, tg_value value);

/* -- Choosing operands ----------------------------------------------------- */

/* Any operand; one that is a tg_value; one with at least one axis. */
rg_operand rg_pick(rg_maker *m);
rg_operand rg_pick_value(rg_maker *m);
rg_operand rg_pick_ranked(rg_maker *m);
/* Indices for n places; if they are checked, mostly below n. */
rg_operand rg_take_indices(rg_maker *m, int64_t n, bool is_checked);
/* A scalar of any integer type: computed by the run if it can be, in range or
   not. */
rg_operand rg_take_start(rg_maker *m);
/* A variable; NULL: there is none. */
const rg_operand *rg_pick_variable(rg_maker *m);

/* It, or a cast of it, with an element type of these classes. */
rg_operand rg_fit_classes(rg_maker *m, rg_operand x, unsigned classes);
rg_operand rg_fit_dtype(rg_maker *m, rg_operand x, tg_dtype dtype);

/* Something of type `dtype` that broadcasts with `like`. */
rg_operand rg_match(rg_maker *m, const rg_type *like, tg_dtype dtype);

/* A plain number that becomes `dtype` by itself; one of that very C type. */
rg_operand rg_immediate(rg_maker *m, tg_dtype dtype);
rg_operand rg_immediate_exact(rg_maker *m, tg_dtype dtype);

/* A constant with that type, its elements from the bytes' seed. */
rg_operand rg_constant(rg_maker *m, rg_type type);

/* A scalar of that dtype, a number or a value. */
rg_operand rg_scalar(rg_maker *m, tg_dtype dtype);

/* A small shape. */
rg_type rg_take_shape(rg_maker *m, tg_dtype dtype, int least_rank);

/* Extent of an axis of a value for use in another shape: the library's word
   for it, now and then the number. */
int64_t rg_dim(rg_maker *m, const rg_operand *x, int axis);

/* The common shape; false if there is none or it is too large. */
bool rg_broadcast(const rg_maker *m, const rg_type *a, const rg_type *b,
                  rg_type *out_type);
bool rg_is_small(const rg_maker *m, const rg_type *type);

/* -- Instructions, by class ------------------------------------------------ */

/* Each takes the op it is to make, and does nothing where it cannot. */
typedef void rg_instruction(rg_maker *m, tgi_op op);

rg_instruction rg_make_unary, rg_make_binary, rg_make_ternary, rg_make_cast;

/* One per other op: a row of the table without one does not compile. */
#define RG_DECLARE_UNARY(name)
#define RG_DECLARE_BINARY(name)
#define RG_DECLARE_TERNARY(name)
#define RG_DECLARE_CAST(name)
#define RG_DECLARE_LEAF(name) rg_instruction rg_make_##name;
#define RG_DECLARE_VIEW RG_DECLARE_LEAF
#define RG_DECLARE_INDEX RG_DECLARE_LEAF
#define RG_DECLARE_REDUCE RG_DECLARE_LEAF
#define RG_DECLARE_MATMUL RG_DECLARE_LEAF
#define RG_DECLARE_RANDOM RG_DECLARE_LEAF
#define RG_DECLARE_STATE RG_DECLARE_LEAF
#define RG_DECLARE_EFFECT RG_DECLARE_LEAF
#define RG_DECLARE_REGION RG_DECLARE_LEAF
#define OP(ID, name, cls, ...) RG_DECLARE_##cls(name)
#include "ir/op.def"
#undef OP

/* What the API makes of several ops. */
rg_instruction rg_make_swapped, rg_make_neutral, rg_make_upon, rg_make_clamp,
    rg_make_square, rg_make_contraction, rg_make_typed_scalar, rg_make_flat,
    rg_make_reverse, rg_make_mean, rg_make_quantifier, rg_make_activation,
    rg_make_softmax, rg_make_layer_norm, rg_make_random_numbers,
    rg_make_assign_more, rg_make_assign_view, rg_make_name,
    rg_make_reduced_view, rg_make_normalised, rg_make_swap,
    rg_make_assign_part, rg_make_dynamic_change, rg_make_empty;

/* -- Sessions -------------------------------------------------------------- */

/* A context of its own, with a program's variables and functions in it. */
struct rg_session {
    const rg_program *program;
    tgi_arena arena;
    tg_context *ctx;
    tg_variable *variables[RG_MOST_VARIABLES];
    TGI_VEC(tg_function *) functions; /* made by callbacks, owned */
    tg_function *function;            /* the program itself */
    int size;                         /* of the arguments now */
    tgi_strbuf text;                  /* what was printed */
    char complaint[256]; /* our types and the library's differ; "" if not */
};

/* How much a trace knows, and what becomes of the graph. */
typedef enum rg_generality { RG_EXACT, RG_GENERAL } rg_generality;
typedef enum rg_passes { RG_RAW, RG_OPTIMISED } rg_passes;

/* What runs calls. */
typedef struct rg_backend {
    bool is_native; /* all must be compiled; else all is interpreted */
    int n_threads;
    unsigned vector_bits;
    const char *cache; /* where code is kept, or NULL */
} rg_backend;

bool rg_session_init(rg_session *s, const rg_program *program,
                     rg_generality generality, rg_passes passes,
                     const rg_backend *backend);
void rg_session_deinit(rg_session *s);

/* The arguments in one size; the tensors among them are to be released. */
bool rg_session_args(rg_session *s, int size, tg_operand *operands,
                     tg_tensor **tensors);
void rg_session_release_args(const rg_session *s, tg_tensor **tensors);

/* The trace for one size of arguments, retained. */
tg_status rg_session_trace(rg_session *s, int size, tg_concrete **out_concrete);

/* -- Outcomes -------------------------------------------------------------- */

/* Everything that can be seen of a run, as bytes: results with their types,
   contents of variables, printed text. */
typedef struct rg_outcome {
    tg_status status;
    char message[256]; /* "" if it did not fail */
    TGI_VEC(char) bytes;
    TGI_VEC(struct rg_part {
        char what[24];
        size_t at;
    })
    parts;
} rg_outcome;

void rg_outcome_init(rg_outcome *outcome);
void rg_outcome_deinit(rg_outcome *outcome);
void rg_outcome_set_status(rg_outcome *outcome, tg_status status);
void rg_outcome_add_result(rg_outcome *outcome, size_t i, int dtype, int rank,
                           const int64_t *dims, const void *data);
void rg_outcome_add_variable(rg_outcome *outcome, int i, const rg_type *type,
                             const void *data);
void rg_outcome_add_text(rg_outcome *outcome, const tgi_strbuf *text);

/* "" if they are equal, else what differs first. */
const char *rg_outcome_difference(const rg_outcome *a, const rg_outcome *b);

/* -- Buffers --------------------------------------------------------------- */

enum { RG_MOST_PARAMS = RG_MOST_ARGS + RG_MOST_VARIABLES };

/*
 * The memory of one run of a graph: contents of variables, parameters,
 * results, values of symbols. Guarded memory has pages beside it that may not
 * be touched, one of them right at its end or its beginning, and elements at
 * any multiple of their size; arguments are copied into it then. There is one
 * set of guarded buffers in a process.
 */
typedef struct rg_buffers {
    tgi_arena arena;
    bool is_guarded;
    uint64_t random; /* how they lie */
    size_t n_guarded;
    void *variables[RG_MOST_VARIABLES];
    void *params[RG_MOST_PARAMS];
    void *results[RG_MOST_RESULTS];
    int64_t *symbols;
} rg_buffers;

void rg_buffers_init(rg_buffers *b, const rg_session *s,
                     const tg_concrete *concrete, const tgi_graph *graph,
                     int size, bool is_guarded, uint64_t random);
void rg_buffers_deinit(rg_buffers *b);
void rg_buffers_add_result(rg_buffers *b, size_t i, int dtype, size_t bytes);

/* Whether nobody has written a result of that size. */
bool rg_buffers_is_untouched(const rg_buffers *b, size_t i, size_t bytes);

/* Whether what lies beside guarded buffers is as it was. */
bool rg_buffers_are_intact(const rg_buffers *b);

/* -- Running --------------------------------------------------------------- */

/* A graph with the parameters of `concrete`, interpreted. */
void rg_run_graph(const rg_session *s, const tg_concrete *concrete,
                  const tgi_graph *graph, int size, rg_outcome *out_outcome);

/* The program called through the API. */
void rg_run_call(rg_session *s, int size, rg_outcome *out_outcome);

/* The compiled graph of `concrete`, run by a team for one size. */
typedef struct rg_native {
    const rg_session *session;
    const tg_concrete *concrete;
    tgi_program *program;
    int size, n_threads;
    uint64_t random; /* how its memory lies */
} rg_native;

/* Returns what went wrong beside the outcome, "" if nothing did; `out_team` is
   the number of threads that took part. */
const char *rg_run_native(const rg_native *of, rg_outcome *out_outcome,
                          int *out_team);

/* -- Checking -------------------------------------------------------------- */

enum { RG_MOST_STRUCTURES = 96 };

/* Counts kept over all graphs; lies in memory shared with the parent. */
typedef struct rg_coverage {
    uint64_t hits[TGI_OPS][TGI_DTYPES];
    uint64_t structures[RG_MOST_STRUCTURES];
    uint64_t control[RG_MOST_STRUCTURES];
    uint64_t n_graphs, n_nodes, n_failing_runs, n_limited_runs;
    uint64_t n_general, n_other_sizes, n_refused_sizes;
    /* Mode jit: graphs that were compiled, programs they became, sizes that
       were too large; runs, those by a team, those of them with a kernel that
       was split; programs that were found in the cache. */
    uint64_t n_native, n_programs, n_large_sizes;
    uint64_t n_runs, n_team_runs, n_parallel_runs;
    uint64_t n_found;
    /* Graphs with branches and loops that cannot be compiled. */
    uint64_t n_refused_graphs;
} rg_coverage;

void rg_coverage_add(rg_coverage *coverage, const tgi_graph *graph);
void rg_coverage_merge(rg_coverage *coverage, const rg_coverage *other);
void rg_coverage_print(const rg_coverage *coverage, rg_mode mode);

/* Allowed pairs of op and dtype that were never met, and in mode jit
   structures, printed; how many. */
size_t rg_coverage_holes(const rg_coverage *coverage, rg_mode mode);

/* Structures of a compiled program whose extents have these values (of the
   graph's table, of the loops'). */
void rg_structure_add(rg_coverage *coverage, const tgi_program *program,
                      const int64_t *graph_values, const int64_t *values);
void rg_structure_print(const rg_coverage *coverage);
size_t rg_structure_holes(const rg_coverage *coverage);

/* The same for branches and loops of a graph, in all modes. */
void rg_control_add(rg_coverage *coverage, const tgi_graph *graph);
void rg_control_print(const rg_coverage *coverage);
size_t rg_control_holes(const rg_coverage *coverage);

/* Whether a team has shares of some kernel. */
bool rg_structure_is_split(const tgi_program *program, const int64_t *values);

typedef struct rg_failure {
    char what[512];
    char *before, *after; /* dumps, freed by tgi_free; or NULL */
} rg_failure;

void rg_failure_deinit(rg_failure *failure);

/* A program under test. */
typedef struct rg_checker {
    const rg_settings *settings;
    const rg_program *program;
    rg_coverage *coverage;
    rg_failure *failure;
    uint64_t random;
} rg_checker;

/* Records the failure of a graph and what it became; either may be NULL.
   False. */
bool rg_fail(rg_checker *c, const tgi_graph *before, const tgi_graph *after,
             const char *format, ...) __attribute__((format(printf, 4, 5)));
bool rg_verify(rg_checker *c, const tgi_graph *before, const tgi_graph *graph,
               const char *stage);

/* Whether a run may end so: what goes wrong is up to the data. */
static inline bool rg_may_end(tg_status status)
{
    return status == TG_OK || status == TG_ERROR_INDEX ||
           status == TG_ERROR_LIMIT;
}

/* A session, and the trace for its first size, which must succeed. To be
   released and deinitialised whatever is returned. */
bool rg_begin(rg_checker *c, rg_session *s, rg_generality generality,
              rg_passes passes, const rg_backend *backend,
              tg_concrete **out_concrete);

bool rg_check_passes(rg_checker *c);
bool rg_check_jit(rg_checker *c);

/* True if all holds for the program in these bytes. */
bool rg_check(const rg_settings *settings, const uint8_t *bytes, size_t n,
              rg_coverage *coverage, rg_failure *out_failure);

/* The same as a fuzzer wants it: aborts. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Writes the run of a trace in one size as a program, if that is asked for and
   the trace calls nothing. */
void rg_write_repro(const rg_checker *c, const rg_session *s,
                    const tg_concrete *concrete, int size,
                    const tgi_repro_settings *settings);

/* -- Minimising ------------------------------------------------------------ */

/* Shortens a failing string in place; every attempt has a process of its
   own, so crashes are failures like others. Returns the new length. */
size_t rg_minimise(const rg_settings *settings, uint8_t *bytes, size_t n);

/* rg_check in a process of its own, where it may also die. */
bool rg_check_apart(const rg_settings *settings, const uint8_t *bytes,
                    size_t n);

/* -- Working --------------------------------------------------------------- */

enum { RG_MOST_BYTES = 4096, RG_MOST_WIDTHS = 4 };

typedef struct rg_work {
    rg_settings settings; /* but for vector_bits */
    int n_widths;
    unsigned widths[RG_MOST_WIDTHS]; /* vector_bits, in turn */
    uint64_t seed, count, most_failures;
    int n_jobs;
    bool is_verbose;
} rg_work;

typedef struct rg_totals {
    rg_coverage coverage;
    uint64_t n_passed, n_failed;
} rg_totals;

/* The string of graph k, what it is called, and what is asked of it. */
size_t rg_work_bytes(const rg_work *work, uint64_t k, uint8_t *bytes);
void rg_work_name(const rg_work *work, uint64_t k, char *name, size_t bytes);
rg_settings rg_work_settings(const rg_work *work, uint64_t k);

/* One string, in another process since it may crash; a failure is minimised,
   printed, and in mode JIT written as a program named after `name`. */
void rg_work_on(const rg_settings *settings, uint8_t *bytes, size_t n,
                const char *name, rg_totals *totals);

/* All numbers. */
void rg_work_all(const rg_work *work, rg_totals *totals);

#endif /* TGI_TEST_RANDOM_GRAPH_H */
