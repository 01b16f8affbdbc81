/* SPDX-License-Identifier: MIT */
/*
 * emit.h - recipes for code generators: instead of computing, a recipe calls an
 * emitter for each of its primitives. Interpreter and compiled code agree
 * because both expand the same text.
 *
 * The code generator implements the emitter; its values may be vectors.
 */
#ifndef TGI_EMIT_H
#define TGI_EMIT_H

#include <stddef.h>
#include <stdint.h>

#include "ir/op.h"

typedef enum tgi_primitive {
#define PRIMITIVE(ID, ...) TGI_PRIMITIVE_##ID,
#include "recipe/primitive.def"
#undef PRIMITIVE
    TGI_PRIMITIVES
} tgi_primitive;

typedef enum tgi_primitive_result {
    TGI_PRIMITIVE_GIVES_VALUE,
    TGI_PRIMITIVE_GIVES_MASK,
    TGI_PRIMITIVE_GIVES_INTEGER,
    TGI_PRIMITIVE_GIVES_ARM,
    TGI_PRIMITIVE_GIVES_OTHER
} tgi_primitive_result;

typedef struct tgi_primitive_info {
    const char *name;
    uint8_t n_operands;
    uint8_t result;
} tgi_primitive_info;

extern const tgi_primitive_info tgi_primitive_table[TGI_PRIMITIVES];

/* An opaque handle of an emitted value. */
typedef void *tgi_emitted;

typedef struct tgi_emitter tgi_emitter;

struct tgi_emitter {
    /* A constant of type `dtype`, given by the bits of one element. */
    tgi_emitted (*constant)(tgi_emitter *emitter, tg_dtype dtype,
                            uint64_t bits);
    /* A primitive on `dtype`; `other` is the target type of CONVERT. */
    tgi_emitted (*primitive)(tgi_emitter *emitter, tgi_primitive primitive,
                             tg_dtype dtype, tg_dtype other,
                             const tgi_emitted *operands);
    /* Element `index` of a table of n constants with static storage. */
    tgi_emitted (*lookup)(tgi_emitter *emitter, tg_dtype dtype,
                          const void *table, size_t n, tgi_emitted index);
    /* Begins code that may be skipped where no lane of the mask is true, and
       ends it: values[i], from inside, becomes otherwise[i] if it was skipped.
       Both may be NULL: the code always runs, and selects by the mask. */
    void (*rare_begin)(tgi_emitter *emitter, tgi_emitted mask);
    void (*rare_end)(tgi_emitter *emitter, tgi_emitted *values,
                     const tgi_emitted *otherwise, int n);
};

/*
 * Emits an elementwise op for operands of type `dtype` (for select, the second
 * and third). Comparisons return a mask; the first operand of select is one.
 * NULL if the op has no recipe for the type.
 */
typedef tgi_emitted tgi_emit_recipe(tgi_emitter *emitter,
                                    const tgi_emitted *operands);
tgi_emit_recipe *tgi_emit_recipe_of(int op, tg_dtype dtype);

/*
 * Reductions. `step` of SUM, PROD, REDUCE_MAX and REDUCE_MIN takes the
 * accumulator and an element. For ARGMAX and ARGMIN it returns a mask, true if
 * the element replaces the best one. For MATMUL it takes both factors, then the
 * accumulator. `start` is the initial accumulator of the lanes and blocks of
 * reduce_tree.h, `empty` the result of an empty reduction (for MATMUL both are
 * +0; ARGMAX and ARGMIN have neither). NULL if the op or type has none.
 */
tgi_emit_recipe *tgi_emit_step_of(int op, tg_dtype dtype);
typedef tgi_emitted tgi_emit_constant(tgi_emitter *emitter);
tgi_emit_constant *tgi_emit_start_of(int op, tg_dtype dtype);
tgi_emit_constant *tgi_emit_empty_of(int op, tg_dtype dtype);

/* SCALE in other primitives, with the same bits, for an emitter that has no
   instruction for it. */
tgi_emitted tgi_emit_scale(tgi_emitter *emitter, tg_dtype dtype, tgi_emitted x,
                           tgi_emitted sum);

/* NARROW to `half` and WIDEN from it, likewise. */
tgi_emitted tgi_emit_narrow(tgi_emitter *emitter, tg_dtype half, tgi_emitted x);
tgi_emitted tgi_emit_widen(tgi_emitter *emitter, tg_dtype half, tgi_emitted x);

/* CAST or BITCAST. */
tgi_emitted tgi_emit_cast(tgi_emitter *emitter, int op, tg_dtype from,
                          tg_dtype to, tgi_emitted x);

#endif /* TGI_EMIT_H */
