/* SPDX-License-Identifier: MIT */
/*
 * random_graph.h - random programs for random-graphs. Any string of bytes is a
 * valid program, so random strings, a fuzzer's strings and shortened strings of
 * a failure can all be used.
 *
 * The head of a string describes arguments and variables with their contents;
 * the rest are instructions, each one or more operations of the public API.
 * Every value has a type computed here, independently of the library, for the
 * sizes of the first call. It determines which operations may use the value,
 * and is compared with the library's. No choice depends on the library's
 * extents, so the same operations are recorded whichever extents are known.
 *
 *   random_graph_values.c    elements: edge cases, comparison
 *   random_graph_program.c   the head: arguments, variables, sizes
 *   random_graph_operand.c   choice of operands
 *   random_graph_make*.c     instructions, by class of operation
 *   random_graph_control.c   coverage of branches and loops
 *   random_graph_session.c   a context for a program; tracing
 *   random_graph_buffers.c   memory of a run, optionally guarded
 *   random_graph_outcome.c   observable outcome of a run
 *   random_graph_run.c       runs graphs and calls
 *   random_graph_native.c    runs compiled graphs, with teams of any size
 *   random_graph_check.c     a program under test, in any mode
 *   random_graph_passes.c    mode passes: passes preserve outcomes
 *   random_graph_jit.c       mode jit: compiled code matches the interpreter
 *   random_graph_coverage.c  coverage of ops and dtypes
 *   random_graph_structure.c coverage of structures of graphs and loops
 *   random_graph_minimise.c  shortens failing strings
 *   random_graph_emit.c      compiles for another machine
 *   random_graph_repro.c     writes a run as a C program
 *   random_graph_work.c      checks strings by number
 *   random_graphs.c          the program
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

enum { RG_MAX_TEAMS = 16 };

/* Which programs have branches and loops: some, as their bytes determine; all;
   none. */
typedef enum rg_control {
    RG_CONTROL_SOME,
    RG_CONTROL_ALL,
    RG_CONTROL_NONE
} rg_control;

/* The checks of a program. Mode PASSES uses only the first two members. */
typedef struct rg_settings {
    rg_mode mode;
    rg_control control;
    bool skips_loop_passes;           /* JIT: leave a random subset out */
    int n_teams, teams[RG_MAX_TEAMS]; /* team sizes */
    unsigned vector_bits;              /* 0: chosen for the CPU */
    int n_schedules;                   /* JIT: random schedules with which
                                          everything is repeated */
    const char *cache;                 /* JIT: a cache directory, in which case
                                          everything is repeated with the cached
                                          code; or NULL */
    bool is_filled;                    /* JIT: `cache` has all code, of another
                                          machine; nothing is compiled */
    const char *emits_for;             /* JIT: the tgi_host_cpu of a machine for
                                          which code is compiled into `cache`;
                                          nothing is run. Or NULL */
    const char *repro;                 /* JIT: the file that each run is written
                                          to, as a C program, before it begins;
                                          or NULL */
    const char *repro_dir;             /* directory for reproducers of
                                          failures */
    /* To test failure handling: graphs with this op fail, by a signal if
       `plants_crash`. TGI_OP_NONE: none. */
    tgi_op planted;
    bool plants_crash;
} rg_settings;

/* -- Bytes ----------------------------------------------------------------- */

/* A string being read; zeros follow its end. */
typedef struct rg_bytes {
    const uint8_t *data;
    size_t n, at;
} rg_bytes;

static inline unsigned rg_take(rg_bytes *bytes)
{
    return bytes->at < bytes->n ? bytes->data[bytes->at++] : 0;
}

/* A number in 0 … n - 1; n is at most 256. */
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
    bool is_weak; /* a number, which adopts the dtype of the other operand */
    int8_t rank;
    int64_t dims[TG_MAX_RANK];
} rg_type;

int64_t rg_count(const rg_type *type);
size_t rg_size(const rg_type *type); /* in bytes */

/* Where classes have float types, they have halves, too. */
static inline unsigned rg_classes(unsigned classes)
{
    return classes & TGI_CLASS_FLOAT ? classes | TGI_CLASS_HALF : classes;
}

/* The C type of a number that all of a dtype convert to: there are no halves. */
static inline tg_dtype rg_number_dtype(tg_dtype dtype)
{
    return tgi_dtype_is((int)dtype, TGI_CLASS_HALF) ? TG_F32 : dtype;
}

/* A dtype of these classes. */
tg_dtype rg_take_dtype(rg_bytes *bytes, unsigned classes);

/* Fills n elements from a seed, whose low bits select the kind of contents. */
void rg_fill(tg_dtype dtype, uint64_t seed, void *data, int64_t n);

/* A number whose C type is `dtype`, from an element. */
tg_operand rg_number(tg_dtype dtype, const void *element);

/* -- Programs -------------------------------------------------------------- */

enum {
    RG_MAX_ARGS = 5,
    RG_MAX_VARIABLES = 4,
    RG_SIZES = 3, /* number of argument sizes that a program is called with */
    RG_MAX_RESULTS = 12
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
    int variable;               /* VARIABLE, VALUE_OF: index of the variable */
    rg_type type[RG_SIZES];     /* equal except for extents */
    uint8_t known[TG_MAX_RANK]; /* RG_KNOWN … */
    void *data[RG_SIZES];       /* TENSOR, NUMBER: the elements */
} rg_arg;

typedef struct rg_program {
    tgi_arena arena;
    rg_bytes body;
    uint64_t seed; /* for choices that take no bytes */
    bool no_contraction;
    bool is_fast; /* accuracy */
    bool returns_all;
    bool is_heavy; /* its extents are large */
    bool has_control; /* branches and loops */
    int64_t limit; /* elements of any value in the first size */
    int n_args, n_variables;
    rg_arg args[RG_MAX_ARGS];
    struct {
        rg_type type;
        void *data; /* initial contents */
    } variables[RG_MAX_VARIABLES];
} rg_program;

/* Programs have larger extents in mode JIT, because some parts of compiled
   loops only run for these. */
void rg_program_init(rg_program *program, const uint8_t *bytes, size_t n,
                     const rg_settings *settings);
void rg_program_deinit(rg_program *program);

/* True if the program in these bytes has branches and loops. */
bool rg_has_control(const rg_settings *settings, const uint8_t *bytes,
                    size_t n);

/* True if a general trace differs from the exact one. */
bool rg_program_has_unknowns(const rg_program *program);

/* -- Making a graph -------------------------------------------------------- */

typedef struct rg_session rg_session;
typedef struct rg_function rg_function;

enum {
    RG_MAX_VALUES = 48,
    RG_MAX_SEEN_VARIABLES = RG_MAX_VARIABLES + RG_MAX_ARGS,
    RG_MAX_FUNCTIONS = 6,
    RG_MAX_CALLS = 4,
    RG_MAX_DEPTH = 3,
    RG_MAX_ITERATIONS = 24 /* total of nested loops */
};

/* An operand, and its type. */
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
 * The state of a callback, of the program or of a function in it. Without a
 * session it is dry: types are computed, but nothing is recorded.
 */
typedef struct rg_maker {
    rg_bytes bytes;
    const rg_program *program;
    rg_session *session; /* NULL: dry */
    tg_trace *trace;
    tgi_arena *arena; /* for data that outlives the callback */
    int depth;
    int nesting; /* nesting of regions in this function */
    int iterations;   /* allowed for a loop, including loops inside it */
    tg_value iteration; /* iteration of the enclosing loop, below
                           max_iteration */
    int max_iteration; /* 0: no enclosing loop */
    bool is_plain; /* no choice may depend on extents */

    int n_values;
    rg_operand values[RG_MAX_VALUES];
    int n_variables;
    rg_operand variables[RG_MAX_SEEN_VARIABLES];
    int n_functions;
    rg_function *functions[RG_MAX_FUNCTIONS];
} rg_maker;

typedef struct rg_call {
    int n_args;
    bool is_variable[RG_MAX_ARGS];
    rg_type types[RG_MAX_ARGS];
} rg_call;

/* A function created by a program, with the functions it may call. */
struct rg_function {
    rg_bytes body;
    const rg_program *program;
    rg_session *session;
    int depth;
    int iterations; /* as in rg_maker */
    bool is_plain;
    tg_function *function; /* NULL: dry */
    int n_functions;
    rg_function *functions[RG_MAX_FUNCTIONS];
    rg_call call; /* being recorded */
    int n_calls;
    rg_call calls[RG_MAX_CALLS]; /* recorded, with different arguments */
};

/* Runs the instructions, fills `results` (RG_MAX_RESULTS) and returns their
   number. */
int rg_make(rg_maker *m, rg_operand *results);

/* Runs the instructions without results. */
void rg_make_body(rg_maker *m);

/* Runs the instructions and returns the results from the callback. */
void rg_make_and_return(rg_maker *m);

/* Adds the program's variables as captured ones. */
void rg_see_variables(rg_maker *m);

/* Records an operation, unless dry. */
#define RG_DO(m, ...) ((m)->session ? (__VA_ARGS__) : (tg_value){0, 0})

/* Adds a value for later instructions, while there is space. */
rg_operand rg_keep(rg_maker *m, rg_type type, tg_value value);

/* -- Choosing operands ----------------------------------------------------- */

/* Any operand; a tg_value; an operand with at least one axis. */
rg_operand rg_pick(rg_maker *m);
rg_operand rg_pick_value(rg_maker *m);
rg_operand rg_pick_ranked(rg_maker *m);
/* Indices into n elements; if checked, mostly in range. */
rg_operand rg_take_indices(rg_maker *m, int64_t n, bool is_checked);
/* A scalar of any integer dtype, computed at run time if possible, in range or
   not. */
rg_operand rg_take_start(rg_maker *m);
/* A variable, or NULL. */
const rg_operand *rg_pick_variable(rg_maker *m);

/* x, or a cast of it to a dtype of these classes. */
rg_operand rg_fit_classes(rg_maker *m, rg_operand x, unsigned classes);
rg_operand rg_fit_dtype(rg_maker *m, rg_operand x, tg_dtype dtype);

/* A value of this dtype that broadcasts with `like`. */
rg_operand rg_match(rg_maker *m, const rg_type *like, tg_dtype dtype);

/* A number that adopts `dtype`; a number of exactly that C type. */
rg_operand rg_immediate(rg_maker *m, tg_dtype dtype);
rg_operand rg_immediate_exact(rg_maker *m, tg_dtype dtype);

/* A constant of that type, with contents from the bytes' seed. */
rg_operand rg_constant(rg_maker *m, rg_type type);

/* A scalar of that dtype, a number or a value. */
rg_operand rg_scalar(rg_maker *m, tg_dtype dtype);

/* A small shape. */
rg_type rg_take_shape(rg_maker *m, tg_dtype dtype, int least_rank);

/* The extent of an axis for use in another shape: the library's symbol,
   occasionally the number. */
int64_t rg_dim(rg_maker *m, const rg_operand *x, int axis);

/* Computes the broadcast shape; false if there is none or it is too large. */
bool rg_broadcast(const rg_maker *m, const rg_type *a, const rg_type *b,
                  rg_type *out_type);
bool rg_is_small(const rg_maker *m, const rg_type *type);

/* -- Instructions, by class ------------------------------------------------ */

/* Each records the given op, or does nothing if it cannot. */
typedef void rg_instruction(rg_maker *m, tgi_op op);

rg_instruction rg_make_unary, rg_make_binary, rg_make_ternary;

/* One per other op; an op of op.def without one does not compile. */
#define RG_DECLARE_UNARY(name)
#define RG_DECLARE_BINARY(name)
#define RG_DECLARE_TERNARY(name)
#define RG_DECLARE_CAST RG_DECLARE_LEAF
#define RG_DECLARE_LEAF(name) rg_instruction rg_make_##name;
#define RG_DECLARE_VIEW RG_DECLARE_LEAF
#define RG_DECLARE_INDEX RG_DECLARE_LEAF
#define RG_DECLARE_REDUCE RG_DECLARE_LEAF
#define RG_DECLARE_SCAN RG_DECLARE_LEAF
#define RG_DECLARE_MATMUL RG_DECLARE_LEAF
#define RG_DECLARE_CONV RG_DECLARE_LEAF
#define RG_DECLARE_RANDOM RG_DECLARE_LEAF
#define RG_DECLARE_STATE RG_DECLARE_LEAF
#define RG_DECLARE_EFFECT RG_DECLARE_LEAF
#define RG_DECLARE_REGION RG_DECLARE_LEAF
#define OP(ID, name, cls, ...) RG_DECLARE_##cls(name)
#include "ir/op.def"
#undef OP

/* API operations composed of several ops. */
rg_instruction rg_make_swapped, rg_make_neutral, rg_make_upon, rg_make_clamp,
    rg_make_square, rg_make_contraction, rg_make_typed_scalar, rg_make_flat,
    rg_make_reverse, rg_make_mean, rg_make_quantifier, rg_make_activation,
    rg_make_softmax, rg_make_layer_norm, rg_make_random_numbers,
    rg_make_assign_more, rg_make_assign_view, rg_make_name,
    rg_make_reduced_view, rg_make_normalised, rg_make_swap,
    rg_make_assign_part, rg_make_dynamic_change, rg_make_empty,
    rg_make_reassign, rg_make_stencil, rg_make_row_chain;

/* -- Sessions -------------------------------------------------------------- */

/* A context with a program's variables and functions. */
struct rg_session {
    const rg_program *program;
    tgi_arena arena;
    tg_context *ctx;
    tg_variable *variables[RG_MAX_VARIABLES];
    TGI_VEC(tg_function *) functions; /* created by callbacks, owned */
    tg_function *function;            /* the program itself */
    int size;                         /* index of the current argument size */
    tgi_strbuf text;                  /* what was printed */
    char complaint[256]; /* difference between computed types and the library's,
                            or "" */
};

/* Which extents a trace knows, and whether passes run. */
typedef enum rg_generality { RG_EXACT, RG_GENERAL } rg_generality;
typedef enum rg_passes { RG_RAW, RG_OPTIMISED } rg_passes;

/* How calls are run. */
typedef struct rg_backend {
    bool is_native; /* everything must be compiled; else everything is
                       interpreted */
    int n_threads;
    unsigned vector_bits;
    const char *cache; /* cache directory, or NULL */
    uint32_t skip;     /* bit i: loop pass i is left out, if it is optional */
} rg_backend;

bool rg_session_init(rg_session *s, const rg_program *program,
                     rg_generality generality, rg_passes passes,
                     const rg_backend *backend);
void rg_session_deinit(rg_session *s);

/* The arguments in one size; the caller releases its tensors. */
bool rg_session_args(rg_session *s, int size, tg_operand *operands,
                     tg_tensor **tensors);
void rg_session_release_args(const rg_session *s, tg_tensor **tensors);

/* The trace for one size of arguments, retained. */
tg_status rg_session_trace(rg_session *s, int size, tg_concrete **out_concrete);

/* -- Outcomes -------------------------------------------------------------- */

/* The observable outcome of a run, as bytes: results with types, contents of
   variables, printed text. */
typedef struct rg_outcome {
    tg_status status;
    uint64_t n_elements; /* of results and variables */
    char message[256]; /* "" on success */
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

/* "" if equal, else the first difference. */
const char *rg_outcome_difference(const rg_outcome *a, const rg_outcome *b);

/* -- Buffers --------------------------------------------------------------- */

enum { RG_MAX_PARAMS = RG_MAX_ARGS + RG_MAX_VARIABLES };

/*
 * The memory of one run of a graph: variables, parameters, results, symbols.
 * Guarded buffers have inaccessible pages on both sides, one of them
 * immediately at the end or beginning, and any alignment that is a multiple of
 * the element size; arguments are copied into them. A process has one set of
 * guarded buffers.
 */
typedef struct rg_buffers {
    tgi_arena arena;
    bool is_guarded;
    uint64_t random; /* seed of the placement */
    size_t n_guarded;
    void *variables[RG_MAX_VARIABLES];
    void *params[RG_MAX_PARAMS];
    void *results[RG_MAX_RESULTS];
    int64_t *symbols;
} rg_buffers;

void rg_buffers_init(rg_buffers *b, const rg_session *s,
                     const tg_concrete *concrete, const tgi_graph *graph,
                     int size, bool is_guarded, uint64_t random);
void rg_buffers_deinit(rg_buffers *b);
void rg_buffers_add_result(rg_buffers *b, size_t i, int dtype, size_t bytes);

/* True if a result of that size has not been written. */
bool rg_buffers_is_untouched(const rg_buffers *b, size_t i, size_t bytes);

/* True if the bytes next to guarded buffers are unchanged. */
bool rg_buffers_are_intact(const rg_buffers *b);

/* -- Running --------------------------------------------------------------- */

/* Interprets a graph with the parameters of `concrete`. */
void rg_run_graph(const rg_session *s, const tg_concrete *concrete,
                  const tgi_graph *graph, int size, rg_outcome *out_outcome);

/* Calls the program through the API. */
void rg_run_call(rg_session *s, int size, rg_outcome *out_outcome);

/* The compiled graph of `concrete`, run by a team in one size. */
typedef struct rg_native {
    const rg_session *session;
    const tg_concrete *concrete;
    tgi_program *program;
    int size, n_threads;
    uint64_t random; /* seed of the memory placement */
} rg_native;

/* Returns an error beyond the outcome, or ""; `out_team` is the number of
   threads that took part. */
const char *rg_run_native(const rg_native *of, rg_outcome *out_outcome,
                          int *out_team);

/* -- Checking -------------------------------------------------------------- */

enum { RG_MAX_STRUCTURES = 96 };

/* Counts over all graphs, in memory shared with the parent process. */
typedef struct rg_coverage {
    uint64_t hits[TGI_OPS][TGI_DTYPES];
    uint64_t structures[RG_MAX_STRUCTURES];
    uint64_t control[RG_MAX_STRUCTURES];
    uint64_t n_graphs, n_nodes, n_failing_runs, n_limited_runs;
    uint64_t n_general, n_other_sizes, n_refused_sizes;
    /* Mode jit: compiled graphs, their programs, sizes that were too large;
       runs, runs by a team, runs with a kernel split among threads; programs
       found in the cache, and graphs that were scheduled at random. */
    uint64_t n_native, n_programs, n_large_sizes;
    uint64_t n_runs, n_team_runs, n_parallel_runs;
    uint64_t n_found, n_scheduled;
    /* Elements of results and variables that were compared in runs by a team,
       objects emitted for another machine. */
    uint64_t n_elements, n_emitted;
    /* Graphs with branches and loops that cannot be compiled. */
    uint64_t n_refused_graphs;
} rg_coverage;

void rg_coverage_add(rg_coverage *coverage, const tgi_graph *graph);
void rg_coverage_merge(rg_coverage *coverage, const rg_coverage *other);
void rg_coverage_print(const rg_coverage *coverage, rg_mode mode);

/* Prints allowed pairs of op and dtype, and in mode jit structures, that never
   occurred; returns their number. */
size_t rg_coverage_holes(const rg_coverage *coverage, rg_mode mode);

/* Adds the structures of a compiled program for these values of extents (of the
   graph's table, of the loops'). */
void rg_structure_add(rg_coverage *coverage, const tgi_program *program,
                      const int64_t *graph_values, const int64_t *values);
void rg_structure_print(const rg_coverage *coverage);
size_t rg_structure_holes(const rg_coverage *coverage);

/* The same for branches and loops of a graph, in all modes. */
void rg_control_add(rg_coverage *coverage, const tgi_graph *graph);
void rg_control_print(const rg_coverage *coverage);
size_t rg_control_holes(const rg_coverage *coverage);

/* True if some kernel is split among the threads of a team. */
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

/* Records a failure, with the graph before and after; either may be NULL.
   Returns false. */
bool rg_fail(rg_checker *c, const tgi_graph *before, const tgi_graph *after,
             const char *format, ...) __attribute__((format(printf, 4, 5)));
bool rg_verify(rg_checker *c, const tgi_graph *before, const tgi_graph *graph,
               const char *stage);

/* True if a run may return this status: some errors depend on the data. */
static inline bool rg_may_end(tg_status status)
{
    return status == TG_OK || status == TG_ERROR_INDEX ||
           status == TG_ERROR_LIMIT || status == TG_ERROR_ASSERT;
}

/* Creates a session and traces its first size, which must succeed. Release
   both, whatever is returned. */
bool rg_begin(rg_checker *c, rg_session *s, rg_generality generality,
              rg_passes passes, const rg_backend *backend,
              tg_concrete **out_concrete);

bool rg_check_passes(rg_checker *c);
bool rg_check_jit(rg_checker *c);

/* True if the program in these bytes passes all checks. */
bool rg_check(const rg_settings *settings, const uint8_t *bytes, size_t n,
              rg_coverage *coverage, rg_failure *out_failure);

/* Entry point for fuzzers: aborts on failure. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Compiles a trace for calls whose extents have these values, for the machine
   of settings->emits_for, and saves the code in the cache. */
bool rg_emit(rg_checker *c, tg_concrete *trace, const int64_t *values);

/* Writes the run of a trace in one size as a C program, if requested and if the
   trace makes no host calls. */
void rg_write_repro(const rg_checker *c, const rg_session *s,
                    const tg_concrete *concrete, int size,
                    const tgi_repro_settings *settings);

/* -- Minimising ------------------------------------------------------------ */

/* Shortens a failing string in place and returns its new length. Every attempt
   runs in a child process, so crashes are handled like other failures. */
size_t rg_minimise(const rg_settings *settings, uint8_t *bytes, size_t n);

/* rg_check in a child process, which may crash. */
bool rg_check_apart(const rg_settings *settings, const uint8_t *bytes,
                    size_t n);

/* -- Working --------------------------------------------------------------- */

enum { RG_MAX_BYTES = 4096, RG_MAX_WIDTHS = 4 };

typedef struct rg_work {
    rg_settings settings; /* except vector_bits */
    int n_widths;
    unsigned widths[RG_MAX_WIDTHS]; /* values of vector_bits, in rotation */
    uint64_t seed, count, max_failures;
    int n_jobs;
    bool is_verbose;
} rg_work;

typedef struct rg_totals {
    rg_coverage coverage;
    uint64_t n_passed, n_failed;
} rg_totals;

/* The string of graph k, its name, and its settings. */
size_t rg_work_bytes(const rg_work *work, uint64_t k, uint8_t *bytes);
void rg_work_name(const rg_work *work, uint64_t k, char *name, size_t bytes);
rg_settings rg_work_settings(const rg_work *work, uint64_t k);

/* Checks one string in a child process, which may crash. A failure is
   minimised, printed, and in mode JIT written as a C program named after
   `name`. */
void rg_work_on(const rg_settings *settings, uint8_t *bytes, size_t n,
                const char *name, rg_totals *totals);

/* Checks all numbers. */
void rg_work_all(const rg_work *work, rg_totals *totals);

#endif /* TGI_TEST_RANDOM_GRAPH_H */
