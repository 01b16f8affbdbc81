/* SPDX-License-Identifier: MIT */
/*
 * emit_eval.h - an emitter for tests: it records what a recipe says, checks
 * that every word has the operands primitive.def and scalar.h ask for, counts the
 * words, and evaluates the recording with C scalars.
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
    uint8_t type;   /* of the value */
    uint8_t word;   /* RECORDED_WORD */
    uint8_t dtype;  /* … the type the word is used for */
    uint16_t in[3]; /* positions of its operands; [0] the index of a lookup */
    uint64_t bits;  /* of a constant; which one of an operand */
    const void *table;
    size_t table_length;
} recorded;

typedef struct recording {
    tgi_emitter emitter; /* first: it is what recipes get */
    const char *fault;   /* what a recipe did wrong first, NULL if nothing */
    int n;
    int n_operands;
    int result;
    recorded values[RECORDED_VALUES];
} recording;

/*
 * Between the two the emitter can be used; operands get their type, and the
 * result must have one. False if something was at fault.
 */
void recording_begin(recording *r);
tgi_emitted recording_operand(recording *r, int type);
bool recording_end(recording *r, tgi_emitted result, int type);

/*
 * Records an elementwise op for operands of type `dtype`, or a cast. False
 * if there is no recipe or it is at fault.
 */
bool recording_of_op(recording *r, int op, tg_dtype dtype);
bool recording_of_cast(recording *r, tg_dtype from, tg_dtype to);

/* By value: the result needs it. There is room for RECORDED_VALUES. */
void recording_find_used(const recording *r, bool *is_used);

/*
 * How many words the result needs. Constants are not counted, nor what only
 * sees the same bits as another type.
 */
int recording_words(const recording *r);

/*
 * The bits of the result (of a mask 0 or 1) for the bits of the operands.
 * False, with a fault, if it depends on a word whose operands are not in its
 * domain: what a code generator may make of that is anything.
 */
bool recording_evaluate(recording *r, const uint64_t *operands,
                        uint64_t *out_bits);

#endif /* TGI_TEST_EMIT_EVAL_H */
