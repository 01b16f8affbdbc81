/* SPDX-License-Identifier: MIT */
/*
 * emit_eval.h - an emitter for tests: it records the primitives of a recipe,
 * checks that they have the operands that primitive.def and scalar.h require,
 * counts them, and evaluates the recording with C scalars.
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
    RECORDED_PRIMITIVE,
    RECORDED_LOOKUP
} recorded_kind;

typedef struct recorded {
    uint8_t kind;
    uint8_t type;      /* of the value */
    uint8_t primitive; /* RECORDED_PRIMITIVE */
    uint8_t dtype;     /* its element type */
    uint16_t in[3];    /* positions of its operands; [0]: index of a lookup */
    uint64_t bits;     /* of a constant; the number of an operand */
    const void *table;
    size_t table_length;
} recorded;

typedef struct recording {
    tgi_emitter emitter; /* must be first: recipes receive its address */
    const char *fault;   /* the first error of a recipe, or NULL */
    int n;
    int n_operands;
    int result;
    recorded values[RECORDED_VALUES];
} recording;

/*
 * The emitter can be used between begin and end, which takes the expected type
 * of the result. False if there was an error.
 */
void recording_begin(recording *r);
tgi_emitted recording_operand(recording *r, int type);
bool recording_end(recording *r, tgi_emitted result, int type);

/*
 * Records an elementwise op for operands of type `dtype`, or a cast. False if
 * there is no recipe or it has an error.
 */
bool recording_of_op(recording *r, int op, tg_dtype dtype);
bool recording_of_cast(recording *r, int op, tg_dtype from, tg_dtype to);

/* Sets is_used (RECORDED_VALUES entries) of the values the result needs. */
void recording_find_used(const recording *r, bool *is_used);

/*
 * The number of primitives the result needs, without constants and bit casts.
 */
int recording_primitives(const recording *r);

/*
 * The bits of the result (0 or 1 for a mask) for the bits of the operands.
 * False, with a fault, if it depends on a primitive whose operands are outside
 * its domain, which is undefined.
 */
bool recording_evaluate(recording *r, const uint64_t *operands,
                        uint64_t *out_bits);

#endif /* TGI_TEST_EMIT_EVAL_H */
