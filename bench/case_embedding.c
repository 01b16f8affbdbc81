/* SPDX-License-Identifier: MIT */
/*
 * case_embedding.c - rows of a table selected by words, and the gradient of the
 * table, to which rows are added. A size is words x columns. The same for
 * single elements: gather and scatter_add.
 */
#include "cases.h"

#define TABLE SHAPE(EMBEDDING_WORDS, COLUMNS)

static tg_value embedding_of(const tg_value *in)
{
    return tg_gather(in[0], tg_cast(in[1], TG_I64), 0);
}

static void trace_embedding(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, embedding_of(in));
}

/* in[2] is the gradient of the result. */
static void trace_gradient(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value loss = tg_sum(tg_mul(embedding_of(in), in[2]), TG_ALL_AXES);
    tg_return(t, tg_gradient(loss, in[0]));
}

const tensor_case embedding_case = {
    .callback = trace_embedding,
    .kernels = {[BACKEND_C] = plain_embedding},
    .inputs = {INPUT(TG_F32, TABLE, -1, 1),
               INPUT_INDEX(SHAPE(ROWS), EMBEDDING_WORDS)},
    .results = {{TG_F32, SHAPE_WHOLE}},
    .expression = "embedding",
    .engines = ENGINES_ARRAY,
};

const tensor_case embedding_gradient_case = {
    .callback = trace_gradient,
    .kernels = {[BACKEND_C] = plain_embedding_gradient},
    .inputs = {INPUT(TG_F32, TABLE, -1, 1),
               INPUT_INDEX(SHAPE(ROWS), EMBEDDING_WORDS),
               INPUT(TG_F32, SHAPE_WHOLE, -1, 1)},
    .results = {{TG_F32, TABLE}},
    .absolute = 1e-5,
    .expression = "embedding_gradient",
    .engines = ENGINES_GRADIENT | ENGINE(BACKEND_NUMPY),
};

const case_size embedding_sizes[] = {
    SIZE_TIMED("4096x256", 4096, 256),
    SIZE_CHECKED("1x1", 1, 1),
    SIZE_CHECKED("37x5", 37, 5),
    SIZES_END,
};

/* -- gather, scatter_add: single elements ---------------------------------- */

/* Numbers below GATHER_TABLE - 1 are rounded to f32, up to that. */

const tensor_case gather_case = {
    .callback = trace_embedding,
    .kernels = {[BACKEND_C] = plain_gather},
    .inputs = {INPUT(TG_F32, SHAPE(GATHER_TABLE), -1, 1),
               INPUT_INDEX(SHAPE(COLUMNS), GATHER_TABLE - 1)},
    .results = {{TG_F32, SHAPE(COLUMNS)}},
    .expression = "gather",
    .engines = ENGINES_ARRAY,
};

const tensor_case scatter_add_case = {
    .callback = trace_gradient,
    .kernels = {[BACKEND_C] = plain_scatter_add},
    .inputs = {INPUT(TG_F32, SHAPE(GATHER_TABLE), -1, 1),
               INPUT_INDEX(SHAPE(COLUMNS), GATHER_TABLE - 1),
               INPUT(TG_F32, SHAPE(COLUMNS), -1, 1)},
    .results = {{TG_F32, SHAPE(GATHER_TABLE)}},
    .absolute = 1e-5,
    .expression = "scatter_add",
    .engines = ENGINES_GRADIENT | ENGINE(BACKEND_NUMPY),
};

const case_size gather_sizes[] = {
    SIZE_TIMED("1e6", 0, 1000000),
    SIZE_CHECKED("1", 0, 1),
    SIZE_CHECKED("1003", 0, 1003),
    SIZES_END,
};
