/* SPDX-License-Identifier: MIT */
/*
 * matmul.h - matrix products for sweep-matmul, in all forms: element types,
 * transposes, batches, what the operands are and what is done with the result,
 * and which extents a trace knows. A form is a list of choices, one word each;
 * the words, with five extents, name what failed.
 *
 *   matmul_form.c    choices, their words, those that go together
 *   matmul_args.c    arguments of a form, and their types
 *   matmul_trace.c   the callback of a form
 *   matmul_check.c   interpreted and compiled
 *   matmul_team.c    … by teams of any size
 *   sweep_matmul.c  the program
 *
 * Elements, and all that can be seen of a run, are those of random_graph.h.
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

#define PRODUCT_BATCHES(X)                                                     \
    X(SINGLE, single)                                                          \
    X(BOTH, both)   /* [b1,m,k] x [b1,k,n] */                                  \
    X(OF_A, of_a)   /* [b1,m,k] x [k,n] */                                     \
    X(OF_B, of_b)   /* [m,k] x [b1,k,n] */                                     \
    X(CROSS, cross) /* [b1,1,m,k] x [1,b2,k,n] */

/* What an operand is made of. */
#define PRODUCT_OPERANDS(X)                                                    \
    X(PLAIN, plain)       /* an argument */                                    \
    X(TURNED, turned)     /* the transpose of one */                           \
    X(INSIDE, inside)     /* the inside of a larger one */                     \
    X(STEPS, steps)       /* every second row and column */                    \
    X(BACK, back)         /* backwards, rows and columns */                    \
    X(SPREAD, spread)     /* one row for all m; one column for all n */        \
    X(SPREAD_K, spread_k) /* the same for all k */                             \
    X(SCALED, scaled)                                                          \
    X(CAST, cast)         /* from another element type */                      \
    X(EXP, exp)           /* of an argument; of integers: the magnitude */     \
    X(ADDED, added)       /* two arguments, added */                           \
    X(GATHERED, gathered) /* by indices */                                     \
    X(VARIABLE, variable) /* what changes between calls */                     \
    X(VECTOR, vector)     /* without an axis of m, or n */                     \
    X(SAME, same)         /* b only: it is a */

/* What is done with the product. */
#define PRODUCT_ENDS(X)                                                        \
    X(RESULT, result) /* nothing */                                            \
    X(BIAS_RELU, bias_relu)                                                    \
    X(SCALE, scale)                                                            \
    X(ROW_SCALE, row_scale) /* by a number for each row */                     \
    X(RESIDUAL, residual)   /* an argument is added */                         \
    X(IN_PLACE, in_place)   /* it is added to a variable */                    \
    X(OVER_A, over_a)       /* it becomes a, which is a variable */            \
    X(GELU, gelu)           /* much for each element */                        \
    X(OTHER_TYPE, other_type)                                                  \
    X(ROW_SUM, row_sum)       /* and others; not stored itself */              \
    X(COLUMN_SUM, column_sum) /* and others; stored */                         \
    X(SOFTMAX, softmax)       /* with smallest and largest elements */         \
    X(SEVERAL, several) /* results */                                          \
    X(ACROSS, across)   /* its transpose is stored */                          \
    X(HALF, half)       /* every second column is */                           \
    X(PRODUCT, product) /* times another matrix */                             \
    X(TWICE, twice)     /* added to another product */

/* Extents that the trace does not know: bits of m, n, k, and those of the
   batch. */
/* clang-format off */
#define PRODUCT_OPEN(X) \
    X(NONE, none) X(M, m)   X(N, n)   X(MN, mn) \
    X(K, k)       X(MK, mk) X(NK, nk) X(MNK, mnk) \
    X(B, b)       X(BM, bm) X(BN, bn) X(BMN, bmn) \
    X(BK, bk)     X(BMK, bmk) X(BNK, bnk) X(BMNK, bmnk)
/* clang-format on */

/* Bits of vectors. */
#define PRODUCT_WIDTHS(X) X(128, 128) X(256, 256)

/* Elements, in the order of rg_fill; then such that sums of products are -0,
   with few exceptions. */
#define PRODUCT_FILLS(X)                                                       \
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

/* Extents, and what else an axis may be. */
enum {
    PRODUCT_M,
    PRODUCT_N,
    PRODUCT_K,
    PRODUCT_B1,
    PRODUCT_B2,
    PRODUCT_EXTENTS,
    PRODUCT_ONE, /* it is 1 in all sizes */
    PRODUCT_FEW, /* … PRODUCT_FEW_COLUMNS */
    PRODUCT_ZERO
};

enum { PRODUCT_FEW_COLUMNS = 17 };

typedef struct product_sizes {
    int64_t extent[PRODUCT_EXTENTS];
} product_sizes;

typedef struct product_form {
    uint8_t field[PRODUCT_N_FIELDS];
    uint64_t seed; /* of all that is random in it */
} product_form;

/* How many choices a field has. */
int product_n_choices(product_field field);

/* A form: mostly plain, of any choices. */
void product_form_random(product_form *form, uint64_t seed);

/* Changes what does not go together, in the form or then in its sizes. */
void product_form_settle(product_form *form);
void product_sizes_settle(const product_form *form, product_sizes *sizes);

/* True if a trace of the form does not know the extent. */
bool product_is_open(const product_form *form, int extent);

/* Its words, with commas between; the text has room for all. */
enum { PRODUCT_TEXT = 128 };
void product_form_print(const product_form *form, char *text);
/* False if they are none. */
bool product_form_parse(const char *text, product_form *form);

static inline tg_dtype product_dtype(const product_form *form)
{
#define NAME(ID, word) TG_##ID,
    static const uint8_t dtypes[] = {PRODUCT_TYPES(NAME)};
#undef NAME
    return (tg_dtype)dtypes[form->field[PRODUCT_FIELD_TYPE]];
}

/* -- Arguments ------------------------------------------------------------- */

/* Which one it is. A form has some of them, in this order. */
typedef enum product_role {
    PRODUCT_ARG_A,
    PRODUCT_ARG_MORE_A, /* what is added to it */
    PRODUCT_ARG_B,
    PRODUCT_ARG_MORE_B,
    PRODUCT_ARG_LAST, /* of what is done in the end */
    PRODUCT_ARG_LIKE, /* has no elements, but all extents */
    PRODUCT_ROLES
} product_role;

typedef struct product_arg {
    product_role role;
    bool is_variable;
    rg_type type;
    int8_t extent[TG_MAX_RANK]; /* PRODUCT_M …, by axis */
    bool is_changed;            /* the axes of M, N and K are larger */
} product_arg;

/* Those of a form; returns how many. */
int product_args(const product_form *form, const product_sizes *sizes,
                 product_arg args[PRODUCT_ROLES]);

/* What the trace is to know of one. */
tg_spec product_spec(const product_form *form, const product_arg *arg);

/* The callback; `user` is the form. */
tg_callback product_callback;

/* -- Checking -------------------------------------------------------------- */

/* What was done; numbers all through. */
typedef struct product_tally {
    uint64_t n_forms, n_sizes, n_programs;
    uint64_t n_packed; /* programs that pack a side … */
    uint64_t n_folded; /* … or reduce a product where it is computed */
    /* Runs, those by a team, those of them with a kernel that is split. */
    uint64_t n_runs, n_team_runs, n_split_runs;
} product_tally;

/* Teams that all forms are run by. */
#define PRODUCT_TEAMS {1, 2, 3, 7}

typedef struct product_failure {
    product_sizes sizes;
    char what[640];
} product_failure;

/* A form under test, in the size under way. */
typedef struct product_run {
    const product_form *form;
    const tg_concrete *concrete; /* that is compiled */
    int n_args;
    product_arg args[PRODUCT_ROLES];
    void *data[PRODUCT_ROLES]; /* contents before a call */
    uint64_t random;
    product_tally *tally;
    product_failure *failure;
} product_run;

enum { PRODUCT_MOST_RESULTS = 4 };

/* Notes what failed. False. */
bool product_fail(product_run *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs what a call has compiled by all teams. */
bool product_check_teams(product_run *r, const rg_outcome *expected);

/* Checks a form in these sizes, settled, of which only open extents differ.
   False, and why, if it fails. */
bool product_check(const product_form *form, const product_sizes *sizes,
                   size_t n_sizes, product_tally *tally,
                   product_failure *out_failure);

#endif /* TGI_TEST_MATMUL_H */
