/* SPDX-License-Identifier: MIT */
/*
 * signature.h - the arguments of a call as the trace table sees them.
 *
 * Operands are flattened (a bundle gives an argument per variable). A list
 * of arguments is both what a call passes and, with unknown extents and
 * without data, what a trace accepts; the key is the same for equal specs.
 *
 * Unknown extents are negative: ~k names symbol k of the list, and equal k
 * means equal extents.
 */
#ifndef TGI_SIGNATURE_H
#define TGI_SIGNATURE_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "tgjit/function.h"

typedef enum tgi_arg_kind {
    TGI_ARG_TENSOR = 1, /* also the value of a variable */
    TGI_ARG_NUMBER = 2, /* a plain number: run-time data, adapts its dtype */
    TGI_ARG_VARIABLE = 3,
    TGI_ARG_STATIC = 4
} tgi_arg_kind;

typedef struct tgi_arg {
    uint8_t kind;
    uint8_t dtype;
    int8_t rank;
    uint32_t operand; /* which operand of the call it came from */
    uint32_t alias;   /* VARIABLE: first argument that is the same variable */
    int64_t dims[TG_MAX_RANK];
    const tg_bundle_type *bundle_type; /* of the operand, or NULL */
    size_t offset;                     /* of the member in that bundle */
    const char *member;                /* its name, or NULL */
    bool is_untrainable; /* the member is: callbacks can tell */
    tg_operand fixed; /* STATIC: the value; a string is owned if is_owned */

    /* What a call passes; all zero in a spec. */
    tg_tensor *tensor;     /* TENSOR, lent */
    tg_variable *variable; /* VARIABLE, or TENSOR: a variable's value; lent */
    const void *data;      /* TENSOR; NULL for numbers */
    char number[8];        /* NUMBER: the element */
    uint32_t ref;          /* in a trace: node of the argument, else 0 */
} tgi_arg;

typedef struct tgi_args {
    TGI_VEC(tgi_arg) list;
    tgi_arg *lent; /* memory of the list that is not its own, or NULL */
    size_t n_operands;
    bool owns_strings;
} tgi_args;

/* Room for the arguments of most calls. */
typedef struct tgi_inline_args {
    tgi_arg list[4];
} tgi_inline_args;

void tgi_args_deinit(tgi_args *args);

/* A copy without data, owning its strings. */
tg_status tgi_args_copy_spec(const tgi_args *from, tgi_args *out_args);

/*
 * The operands of a call in `ctx`; in a trace, values are allowed too. `few`
 * (or NULL) is used if it suffices, and must live as long.
 */
tg_status tgi_args_from_operands(tg_context *ctx, const tg_operand *operands,
                                 size_t n_operands, tg_trace *t, tg_site site,
                                 tgi_inline_args *few, tgi_args *out_args);

/* The same from specs. */
tg_status tgi_args_from_specs(tg_context *ctx, const tg_spec *specs,
                              size_t n_specs, tg_site site,
                              tgi_args *out_args);

/* -- Comparing ------------------------------------------------------------- */

/* The bytes that are equal for equal specs, appended to `out_key`. */
typedef TGI_VEC(char) tgi_key;
bool tgi_args_key(const tgi_args *args, tgi_key *out_key);

/* True if a call with `args` may use a trace made for `spec`. */
bool tgi_args_fit(const tgi_args *args, const tgi_args *spec);

/* Extents of `spec` that are unknown: fewer is more specific. */
size_t tgi_args_n_symbolic(const tgi_args *spec);

/*
 * True if the lists differ in extents of tensors only; then counts them.
 */
bool tgi_args_differ_in_dims(const tgi_args *args, const tgi_args *spec,
                             size_t *out_n_dims);

/*
 * Makes the extents of *args in which it differs from `spec` unknown; those
 * that differ alike stay equal.
 */
void tgi_args_generalise(tgi_args *args, const tgi_args *spec);

/* Makes all extents of tensors unknown, each for itself. */
void tgi_args_generalise_all(tgi_args *args);

/*
 * Checks a call against a function's declared signature and adapts plain
 * numbers to it; the error names the argument and both specs.
 */
tg_status tgi_args_conform(tgi_args *args, const tgi_args *signature,
                           const char *function, tg_site site);

/* -- Text ------------------------------------------------------------------ */

/* "f32[64,?]", "variable f32[3]", "static 3" … */
void tgi_arg_print(const tgi_arg *arg, tgi_strbuf *out);
/* "(f32[64,?], variable i64[])" */
void tgi_args_print(const tgi_args *args, tgi_strbuf *out);

#endif /* TGI_SIGNATURE_H */
