/* SPDX-License-Identifier: MIT */
/*
 * signature.h - flattened argument lists: the arguments of a call, or, without
 * data and perhaps with symbolic extents, the spec that a trace accepts. A
 * bundle becomes one argument per variable. Equal specs have equal keys.
 *
 * A negative extent is symbolic: ~k is symbol k of the list, and equal k means
 * equal extents.
 */
#ifndef TGI_SIGNATURE_H
#define TGI_SIGNATURE_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "tgjit/function.h"

typedef enum tgi_arg_kind {
    TGI_ARG_TENSOR = 1, /* also the value of a variable */
    TGI_ARG_NUMBER = 2, /* a plain number: run-time data of a weak dtype */
    TGI_ARG_VARIABLE = 3,
    TGI_ARG_STATIC = 4
} tgi_arg_kind;

typedef struct tgi_arg {
    uint8_t kind;
    uint8_t dtype;
    int8_t rank;
    uint32_t operand; /* number of its operand in the call */
    uint32_t alias;   /* VARIABLE: first argument that is the same variable */
    const tg_bundle_type *bundle_type; /* of the operand, or NULL */
    size_t offset;                     /* of the member in that bundle */
    const char *member;                /* its name, or NULL */
    bool is_untrainable; /* of a bundle member: callbacks can query it */

    /* Data of a call; all zero in a spec. */
    tg_tensor *tensor;     /* TENSOR; borrowed */
    tg_variable *variable; /* VARIABLE, or TENSOR that is its value; borrowed */
    const void *data;      /* TENSOR; NUMBER: NULL, or its memory (bound) */
    char number[8];        /* NUMBER: the element */
    uint32_t ref;          /* in a trace: node of the argument; else 0 */

    tg_operand fixed; /* STATIC: the value, see owns_strings; else undefined */
    int64_t dims[TG_MAX_RANK]; /* undefined from `rank` on */
} tgi_arg;

typedef struct tgi_args {
    TGI_VEC(tgi_arg) list;
    tgi_arg *inline_list; /* storage that the list does not own, or NULL */
    size_t n_operands;
    bool owns_strings; /* of static values */
} tgi_args;

/* Storage for the arguments of most calls. */
typedef struct tgi_inline_args {
    tgi_arg list[12];
} tgi_inline_args;

void tgi_args_deinit(tgi_args *args);

/* A copy without data that owns its strings. */
tg_status tgi_args_copy_spec(const tgi_args *from, tgi_args *out_args);

/*
 * Flattens and checks the operands of a call in `ctx`. If `t` is not NULL,
 * this is a call inside that trace, and operands may be values. *out_args uses
 * `storage` (or NULL), which must outlive it, if it is large enough. On
 * success tgi_args_deinit is due.
 */
tg_status tgi_args_from_operands(tg_context *ctx, const tg_operand *operands,
                                 size_t n_operands, tg_trace *t, tg_site site,
                                 tgi_inline_args *storage, tgi_args *out_args);

/* The same for specs. */
tg_status tgi_args_from_specs(tg_context *ctx, const tg_spec *specs,
                              size_t n_specs, tg_site site,
                              tgi_args *out_args);

/* -- Comparison ------------------------------------------------------------ */

/* Appends bytes that are equal if and only if the specs are; false when out of
   memory. */
typedef TGI_VEC(char) tgi_key;
bool tgi_args_key(const tgi_args *args, tgi_key *out_key);

/* True if a call with `args` may use a trace made for `spec`. */
bool tgi_args_fit(const tgi_args *args, const tgi_args *spec);

/* Number of symbolic extents: the fewer, the more specific is the spec. */
size_t tgi_args_n_symbolic(const tgi_args *spec);

/* True if the lists differ only in extents of tensors; *out_n_dims counts the
   extents that differ or are symbolic. */
bool tgi_args_differ_in_dims(const tgi_args *args, const tgi_args *spec,
                             size_t *out_n_dims);

/*
 * Makes the extents of *args that differ from `spec` symbolic. Extents with the
 * same pair of values share a symbol.
 */
void tgi_args_generalise(tgi_args *args, const tgi_args *spec);

/* Makes each extent of a tensor a symbol of its own. */
void tgi_args_generalise_all(tgi_args *args);

/*
 * Checks a call against a declared signature and converts plain numbers to its
 * dtypes. The error message has the argument and both specs.
 */
tg_status tgi_args_conform(tgi_args *args, const tgi_args *signature,
                           const char *function, tg_site site);

/* -- Text ------------------------------------------------------------------ */

/* "f32[64,?]", "variable f32[3]", "static 3" … */
void tgi_arg_print(const tgi_arg *arg, tgi_strbuf *out);
/* "(f32[64,?], variable i64[])" */
void tgi_args_print(const tgi_args *args, tgi_strbuf *out);

#endif /* TGI_SIGNATURE_H */
