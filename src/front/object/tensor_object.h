/* SPDX-License-Identifier: MIT */
/*
 * tensor_object.h - the definition of tg_tensor, and the validation of dtype
 * and shape that tensors and variables share.
 */
#ifndef TGI_TENSOR_OBJECT_H
#define TGI_TENSOR_OBJECT_H

#include <stdbool.h>

#include "base/refcount.h"
#include "tgjit/tensor.h"

/* A dtype and a shape without unknown extents, with sizes. */
typedef struct tgi_spec {
    tg_dtype dtype;
    int rank;
    int64_t dims[TG_MAX_RANK];
    int64_t count;
    int64_t bytes;
} tgi_spec;

/* Validates and sets a spec; errors begin with `who`. */
tg_status tgi_spec_init(tgi_spec *out_spec, const char *who, tg_dtype dtype,
                        int rank, const int64_t *dims);

/* True if dtype and shape are the same. */
bool tgi_spec_equals(const tgi_spec *a, const tgi_spec *b);

/* Formats "f32[64,784]". Unknown extents (see signature.h) are "?0", "?1" …,
   equal ones with equal numbers. A buffer of 256 bytes always suffices. Returns
   `buf`. */
const char *tgi_spec_text(tg_dtype dtype, int rank, const int64_t *dims,
                          char *buf, size_t n);

/* Memory that belongs to something else, such as a mapped file: `release` gets
   `object` when the memory is not used any more. */
typedef struct tgi_owner {
    void (*release)(void *object); /* NULL: nothing is to be done */
    void *object;
} tgi_owner;

struct tg_tensor {
    tgi_refcount refs;
    tg_context *ctx; /* retained */
    tgi_spec spec;
    void *data;
    bool owns_data;
    bool is_read_only; /* rejected as a result of calls */
    tgi_owner owner;   /* of data that the tensor does not own */
    char *text; /* of tg_tensor_text, or NULL; under the context's lock */
};

/* A tensor with memory of its own, which is not set; NULL and a record that
   begins with `who` on failure. */
tg_tensor *tgi_tensor_alloc(tg_context *ctx, const char *who,
                            const tgi_spec *spec);

/* A tensor over `data`, aligned to its elements, which `owner` keeps. NULL
   when out of memory (recorded): then `owner` is still the caller's. */
tg_tensor *tgi_tensor_of_owner(tg_context *ctx, const tgi_spec *spec,
                               void *data, tgi_owner owner);

#endif /* TGI_TENSOR_OBJECT_H */
