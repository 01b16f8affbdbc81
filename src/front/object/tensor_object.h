/* SPDX-License-Identifier: MIT */
/*
 * tensor_object.h - the inside of a tg_tensor, and the check of a user's
 * dtype and shape that tensors and variables share.
 */
#ifndef TGI_TENSOR_OBJECT_H
#define TGI_TENSOR_OBJECT_H

#include "base/refcount.h"
#include "tgjit/tensor.h"

/* A dtype and a shape without unknowns, and what follows from them. */
typedef struct tgi_spec {
    tg_dtype dtype;
    int rank;
    int64_t dims[TG_MAX_RANK];
    int64_t count;
    int64_t bytes;
} tgi_spec;

/* Fills and checks it; errors begin with `who`. */
tg_status tgi_spec_init(tgi_spec *out_spec, const char *who, tg_dtype dtype,
                        int rank, const int64_t *dims);

/* True if dtype and shape are the same. */
bool tgi_spec_equals(const tgi_spec *a, const tgi_spec *b);

/* "f32[64,784]"; unknown extents (see signature.h) are "?0", "?1" …, equal
   ones alike. `n` of 256 is enough for any. */
const char *tgi_spec_text(tg_dtype dtype, int rank, const int64_t *dims,
                          char *buf, size_t n);

struct tg_tensor {
    tgi_refcount refs;
    tg_context *ctx; /* retained */
    tgi_spec spec;
    void *data;
    bool owns_data;
};

#endif /* TGI_TENSOR_OBJECT_H */
