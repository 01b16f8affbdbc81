/* SPDX-License-Identifier: MIT */
/*
 * emit_eval.h - an emitter for tests: it records a recipe, checks that every
 * primitive has the operands that primitive.def and scalar.h require, counts
 * primitives, and evaluates the recording with C scalars.
 */
#ifndef TGI_TEST_EMIT_EVAL_H
#define TGI_TEST_EMIT_EVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recipe/emit.h"

#define RECORDED_VALUES 4096

/* The type of a recorded value: a tg_dtype or this. */
#define RECORDED_MASK TG_DTYPE_NONE

typedef enum recorded_kind {
    RECORDED_OPERAND,
    RECORDED_CONSTANT,
    RECORDED_WORD,
    RECORDED_LOOKUP
} recorded_kind;

typedef struct recorded {
    uint8_t kind;
    uint8_t type;   /* type of the value */
    uint8_t word;   /* RECORDED_WORD */
    uint8_t dtype;  /* the dtype of the primitive */
    uint16_t in[3]; /* positions of the operands; [0] is the index of a
                       lookup */
    uint64_t bits;  /* value of a constant; number of an operand */
    const void *table;
    size_t table_length;
} recorded;

typedef struct recording {
    tgi_emitter emitter; /* first, because recipes receive it */
    const char *fault;   /* the first error of a recipe; NULL if none */
    int n;
    int n_operands;
    int result;
    recorded values[RECORDED_VALUES];
} recording;

/* Between the two calls the emitter can be used. Operands have the given
   type; the result must have one. False if there was an error. */
void recording_begin(recording *r);
tgi_emitted recording_operand(recording *r, int type);
bool recording_end(recording *r, tgi_emitted result, int type);

/* Records an elementwise op on operands of type `dtype`, or a cast. False if
   there is no recipe or it has an error. */
bool recording_of_op(recording *r, int op, tg_dtype dtype);
bool recording_of_cast(recording *r, tg_dtype from, tg_dtype to);

/* True for each value that the result depends on; RECORDED_VALUES elements. */
void recording_find_used(const recording *r, bool *is_used);

/* The number of primitives that the result depends on, without constants and
   bit casts. */
int recording_words(const recording *r);

/*
 * The bits of the result (0 or 1 for a mask) for the bits of the operands.
 * False, with an error, if the result depends on a primitive whose operands are
 * outside its domain, which is undefined in a code generator.
 */
bool recording_evaluate(recording *r, const uint64_t *operands,
                        uint64_t *out_bits);

#endif /* TGI_TEST_EMIT_EVAL_H */
