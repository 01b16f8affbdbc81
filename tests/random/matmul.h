/* SPDX-License-Identifier: MIT */
/*
 * matmul.h - matmuls for sweep-matmul, in all forms: dtypes, transposes,
 * batches, kinds of operands, uses of the result, and the extents that a trace
 * knows. A form is a list of choices, one word each; the words and five extents
 * identify a failure.
 *
 *   matmul_form.c   choices, their words, valid combinations
 *   matmul_args.c   arguments of a form, and their types
 *   matmul_trace.c  the callback of a form
 *   matmul_check.c  compares interpreted and compiled results
 *   matmul_team.c   … of teams of any size
 *   sweep_matmul.c  the program
 *
 * Elements and outcomes of runs are those of random_graph.h.
 */
#ifndef TGI_TEST_MATMUL_H
#define TGI_TEST_MATMUL_H

#include "random/random_graph.h"

/* -- Choices --------------------------------------------------------------- */

/* clang-format off */
#define PRODUCT_TYPES(X) \
    X(F32, f32) X(F64, f64) X(I32, i32) X(I64, i64) X(U32, u32) \
    X(U64, u64) X(I16, i16) X(U16, u16) X(I8, i8)   X(U8, u8)
/* clang-format on */

/* Bit 0: a is transposed, bit 1: b is. */
#define PRODUCT_FLIPS(X) X(NN, nn) X(TN, tn) X(NT, nt) X(TT, tt)

#define PRODUCT_BATCHES(X) \
    X(SINGLE, single) \
    X(BOTH, both)   /* [b1,m,k] x [b1,k,n] */ \
    X(OF_A, of_a)   /* [b1,m,k] x [k,n] */ \
    X(OF_B, of_b)   /* [m,k] x [b1,k,n] */ \
    X(CROSS, cross) /* [b1,1,m,k] x [1,b2,k,n] */

/* Kinds of operands. */
#define PRODUCT_OPERANDS(X) \
    X(PLAIN, plain)       /* an argument */ \
    X(TRANSPOSED, transposed)     /* a transposed argument */ \
    X(INSIDE, inside)     /* a slice of a larger argument */ \
    X(STEPS, steps)       /* every second row and column */ \
    X(BACK, back)         /* rows and columns reversed */ \
    X(SPREAD, spread)     /* one row for all m; one column for all n */ \
    X(SPREAD_K, spread_k) /* broadcast along k */ \
    X(SCALED, scaled) \
    X(CAST, cast)         /* cast from another dtype */ \
    X(EXP, exp)           /* exp of an argument; abs for integers */ \
    X(ADDED, added)       /* sum of two arguments */ \
    X(GATHERED, gathered) /* gathered by indices */ \
    X(VARIABLE, variable) /* a variable that changes between calls */ \
    X(VECTOR, vector)     /* a vector: no axis m, or n */ \
    X(SAME, same)         /* b only: the same as a */

/* Uses of the product. */
#define PRODUCT_ENDS(X) \
    X(RESULT, result) /* returned as is */ \
    X(BIAS_RELU, bias_relu) \
    X(SCALE, scale) \
    X(ROW_SCALE, row_scale) /* scaled by row */ \
    X(RESIDUAL, residual)   /* added to an argument */ \
    X(IN_PLACE, in_place)   /* added to a variable in place */ \
    X(OVER_A, over_a)       /* assigned to a, a variable */ \
    X(GELU, gelu)           /* a costly elementwise function */ \
    X(OTHER_TYPE, other_type) \
    X(ROW_SUM, row_sum)       /* row reductions; not stored itself */ \
    X(COLUMN_SUM, column_sum) /* column reductions; stored */ \
    X(SOFTMAX, softmax)       /* and row minima and maxima */ \
    X(SEVERAL, several) /* several results */ \
    X(ACROSS, across)   /* stored transposed */ \
    X(HALF, half)       /* every second column stored */ \
    X(PRODUCT, product) /* multiplied by another matrix */ \
    X(TWICE, twice)     /* added to another matmul */

/* Extents unknown to the trace: bits of m, n, k and the batch. */
/* clang-format off */
#define PRODUCT_OPEN(X) \
    X(NONE, none) X(M, m)   X(N, n)   X(MN, mn) \
    X(K, k)       X(MK, mk) X(NK, nk) X(MNK, mnk) \
    X(B, b)       X(BM, bm) X(BN, bn) X(BMN, bmn) \
    X(BK, bk)     X(BMK, bmk) X(BNK, bnk) X(BMNK, bmnk)
/* clang-format on */

/* Bits of vectors. */
#define PRODUCT_WIDTHS(X) X(128, 128) X(256, 256) X(512, 512)

/* Contents, in the order of rg_fill; the last one makes most sums of products
   -0. */
#define PRODUCT_FILLS(X) \
    X(EDGES, edges) X(SMALL, small) X(BITS, bits) X(UNIT, unit) X(TINY, tiny)

/* clang-format off */
#define PRODUCT_FIELDS(X) \
    X(TYPE, PRODUCT_TYPES) \
    X(FLIP, PRODUCT_FLIPS) \
    X(BATCH, PRODUCT_BATCHES) \
    X(A, PRODUCT_OPERANDS) \
    X(B, PRODUCT_OPERANDS) \
    X(END, PRODUCT_ENDS) \
    X(OPEN, PRODUCT_OPEN) \
    X(WIDTH, PRODUCT_WIDTHS) \
    X(FILL, PRODUCT_FILLS)
/* clang-format on */

#define NAME(ID, ...) PRODUCT_FIELD_##ID,
typedef enum product_field {
    PRODUCT_FIELDS(NAME) PRODUCT_N_FIELDS
} product_field;
#undef NAME

#define NAME(ID, word) PRODUCT_##ID,
enum { PRODUCT_TYPES(NAME) };
enum { PRODUCT_BATCHES(NAME) };
enum { PRODUCT_OPERANDS(NAME) };
#undef NAME
#define NAME(ID, word) PRODUCT_END_##ID,
enum { PRODUCT_ENDS(NAME) };
#undef NAME
#define NAME(ID, word) PRODUCT_FILL_##ID,
enum { PRODUCT_FILLS(NAME) };
#undef NAME
enum { PRODUCT_FLIP_A = 1, PRODUCT_FLIP_B = 2 };

/* -- Forms ----------------------------------------------------------------- */

/* Extents, and other values that an axis may have. */
enum {
    PRODUCT_M,
    PRODUCT_N,
    PRODUCT_K,
    PRODUCT_B1,
    PRODUCT_B2,
    PRODUCT_EXTENTS,
    PRODUCT_ONE, /* 1 in all sizes */
    PRODUCT_FEW, /* … PRODUCT_FEW_COLUMNS */
    PRODUCT_ZERO
};

enum { PRODUCT_FEW_COLUMNS = 17 };

typedef struct product_sizes {
    int64_t extent[PRODUCT_EXTENTS];
} product_sizes;

typedef struct product_form {
    uint8_t field[PRODUCT_N_FIELDS];
    uint64_t seed; /* of everything random in the form */
} product_form;

/* Number of choices of a field. */
int product_n_choices(product_field field);

/* A random form, mostly of plain choices. */
void product_form_random(product_form *form, uint64_t seed);

/* Changes invalid combinations, in the form and then in its sizes. */
void product_form_make_valid(product_form *form);
void product_sizes_make_valid(const product_form *form, product_sizes *sizes);

/* True if the extent is unknown to a trace of the form. */
bool product_is_open(const product_form *form, int extent);

/* The words of a form, separated by commas; `text` has PRODUCT_TEXT bytes. */
enum { PRODUCT_TEXT = 128 };
void product_form_print(const product_form *form, char *text);
/* False if the text is not a form. */
bool product_form_parse(const char *text, product_form *form);

static inline tg_dtype product_dtype(const product_form *form)
{
#define NAME(ID, word) TG_##ID,
    static const uint8_t dtypes[] = {PRODUCT_TYPES(NAME)};
#undef NAME
    return (tg_dtype)dtypes[form->field[PRODUCT_FIELD_TYPE]];
}

/* -- Arguments ------------------------------------------------------------- */

/* Roles of arguments. A form has some of them, in this order. */
typedef enum product_role {
    PRODUCT_ARG_A,
    PRODUCT_ARG_MORE_A, /* second summand of a */
    PRODUCT_ARG_B,
    PRODUCT_ARG_MORE_B,
    PRODUCT_ARG_LAST, /* for the use of the product */
    PRODUCT_ARG_LIKE, /* has no elements; provides unknown extents */
    PRODUCT_ROLES
} product_role;

typedef struct product_arg {
    product_role role;
    bool is_variable;
    rg_type type;
    int8_t extent[TG_MAX_RANK]; /* PRODUCT_M …, by axis */
    bool is_changed;            /* its axes M, N and K are larger */
} product_arg;

/* The arguments of a form; returns their number. */
int product_args(const product_form *form, const product_sizes *sizes,
                 product_arg args[PRODUCT_ROLES]);

/* The spec of an argument: the extents that the trace knows. */
tg_spec product_spec(const product_form *form, const product_arg *arg);

/* The callback; `user` is the form. */
tg_callback product_callback;

/* -- Checking -------------------------------------------------------------- */

/* Statistics; uint64_t members only. */
typedef struct product_tally {
    uint64_t n_forms, n_sizes, n_programs;
    uint64_t n_packed; /* programs that pack an operand … */
    uint64_t n_epilogues; /* … or reduce a product in an epilogue */
    /* Runs; runs by a team; of these, runs with a kernel split among
       threads. */
    uint64_t n_runs, n_team_runs, n_split_runs;
} product_tally;

/* Team sizes that all forms run with. */
#define PRODUCT_TEAMS {1, 2, 3, 7}

typedef struct product_failure {
    product_sizes sizes;
    char what[640];
} product_failure;

/* A form under test, in one size. */
typedef struct product_run {
    const product_form *form;
    const tg_concrete *concrete; /* compiled */
    int n_args;
    product_arg args[PRODUCT_ROLES];
    void *data[PRODUCT_ROLES]; /* contents before a call */
    uint64_t random;
    product_tally *tally;
    product_failure *failure;
} product_run;

enum { PRODUCT_MAX_RESULTS = 4 };

/* Records a failure; returns false. */
bool product_fail(product_run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs the compiled code of a call with all teams. */
bool product_check_teams(product_run *r, const rg_outcome *expected);

/* Checks a valid form in these sizes, which differ only in unknown extents.
   Returns false, with a message, on failure. */
bool product_check(const product_form *form, const product_sizes *sizes,
                   size_t n_sizes, product_tally *tally,
                   product_failure *out_failure);

#endif /* TGI_TEST_MATMUL_H */
