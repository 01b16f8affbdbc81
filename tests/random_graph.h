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
 *   random_graph_session.c  a context with all a program needs; tracing
 *   random_graph_run.c      running graphs and calls; what they leave behind
 *   random_graph_check.c    what must agree with what
 *   random_graph_coverage.c which operations met which element types
 *   random_graph_minimise.c shorter strings that still fail
 *   random_graphs.c         the program
 */
#ifndef TGI_TESTS_RANDOM_GRAPH_H
#define TGI_TESTS_RANDOM_GRAPH_H

#include "arena.h"
#include "function_object.h"
#include "graph.h"
#include "strbuf.h"
#include "tgjit.h"

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
    int64_t limit; /* elements of any value */
    int n_args, n_variables;
    rg_arg args[RG_MOST_ARGS];
    struct {
        rg_type type;
        void *data; /* the contents at the beginning */
    } variables[RG_MOST_VARIABLES];
} rg_program;

void rg_program_init(rg_program *program, const uint8_t *bytes, size_t n);
void rg_program_deinit(rg_program *program);

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
    RG_MOST_DEPTH = 3
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
#include "op.def"
#undef OP

/* What the API makes of several ops. */
rg_instruction rg_make_swapped, rg_make_neutral, rg_make_upon, rg_make_clamp,
    rg_make_square, rg_make_contraction, rg_make_typed_scalar, rg_make_flat,
    rg_make_reverse, rg_make_mean, rg_make_quantifier, rg_make_activation,
    rg_make_softmax, rg_make_layer_norm, rg_make_random_numbers,
    rg_make_assign_more, rg_make_assign_view, rg_make_name;

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

bool rg_session_init(rg_session *s, const rg_program *program,
                     rg_generality generality, rg_passes passes);
void rg_session_deinit(rg_session *s);

/* The arguments in one size; the tensors among them are to be released. */
bool rg_session_args(rg_session *s, int size, tg_operand *operands,
                     tg_tensor **tensors);
void rg_session_release_args(const rg_session *s, tg_tensor **tensors);

/* The trace for one size of arguments, retained. */
tg_status rg_session_trace(rg_session *s, int size, tg_concrete **out_concrete);

/* -- Running --------------------------------------------------------------- */

/* Everything that can be seen of a run, as bytes: results with their types,
   contents of variables, printed text. */
typedef struct rg_outcome {
    tg_status status;
    TGI_VEC(char) bytes;
    TGI_VEC(struct rg_part {
        char what[24];
        size_t at;
    })
    parts;
} rg_outcome;

void rg_outcome_deinit(rg_outcome *outcome);

/* "" if they are equal, else what differs first. */
const char *rg_outcome_difference(const rg_outcome *a, const rg_outcome *b);

/* A graph with the parameters of `concrete`, interpreted. */
void rg_run_graph(const rg_session *s, const tg_concrete *concrete,
                  const tgi_graph *graph, int size, rg_outcome *out_outcome);

/* The program called through the API. */
void rg_run_call(rg_session *s, int size, rg_outcome *out_outcome);

/* -- Checking -------------------------------------------------------------- */

/* Counts kept over all graphs; lies in memory shared by processes. */
typedef struct rg_coverage {
    uint64_t hits[TGI_OPS][TGI_DTYPES];
    uint64_t n_graphs, n_nodes, n_failing_runs;
    uint64_t n_general, n_other_sizes, n_refused_sizes;
    uint64_t n_current; /* which graph is under way */
} rg_coverage;

void rg_coverage_add(rg_coverage *coverage, const tgi_graph *graph);
void rg_coverage_print(const rg_coverage *coverage);

/* Allowed pairs of op and dtype that were never met, printed; how many. */
size_t rg_coverage_holes(const rg_coverage *coverage);

typedef struct rg_failure {
    char what[512];
    char *before, *after; /* dumps, freed by tgi_free; or NULL */
} rg_failure;

void rg_failure_deinit(rg_failure *failure);

/* True if all holds for the program in these bytes. */
bool rg_check(const uint8_t *bytes, size_t n, rg_coverage *coverage,
              rg_failure *out_failure);

/* The same as a fuzzer wants it: aborts. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* -- Minimising ------------------------------------------------------------ */

/* Shortens a failing string in place; every attempt has a process of its
   own, so crashes are failures like others. Returns the new length. */
size_t rg_minimise(uint8_t *bytes, size_t n);

/* rg_check in a process of its own, where it may also die. */
bool rg_check_apart(const uint8_t *bytes, size_t n);

#endif /* TGI_TESTS_RANDOM_GRAPH_H */
