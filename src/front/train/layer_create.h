/* SPDX-License-Identifier: MIT */
/*
 * layer_create.h - creation of the variables of a layer in a scope:
 *
 *     layer_creation c;
 *     if (tgi_layer_begin(&c, ctx, "tg_dense_create", name, &type, layer)) {
 *         layer->weights = tgi_layer_variable(&c, "weights", …);
 *         layer->bias = tgi_layer_variable(&c, "bias", …);
 *     }
 *     return tgi_layer_end(&c);
 */
#ifndef TGI_LAYER_CREATE_H
#define TGI_LAYER_CREATE_H

#include "base/error.h"
#include "tgjit/context.h"
#include "tgjit/variable.h"

typedef struct tgi_layer_creation {
    tg_context *ctx;
    tgi_api_frame frame;
    const tg_bundle_type *type;
    void *layer;
    bool is_in_scope;
    tg_status status;
} tgi_layer_creation;

/* Zeroes the layer, checks the arguments and opens the scope; false on
   failure. tgi_layer_end must be called in any case. */
bool tgi_layer_begin(tgi_layer_creation *c, tg_context *ctx, const char *who,
                     const char *name, const tg_bundle_type *type,
                     void *out_layer);

/* NULL on failure, also after an earlier one. */
tg_variable *tgi_layer_variable(tgi_layer_creation *c, const char *name,
                                tg_dtype dtype, int rank, const int64_t *dims,
                                tg_initial initial);
/* The same, not trainable. */
tg_variable *tgi_layer_statistic(tgi_layer_creation *c, const char *name,
                                 tg_dtype dtype, int rank, const int64_t *dims,
                                 tg_initial initial);

/* Closes the scope; after a failure, releases what has been created. */
tg_status tgi_layer_end(tgi_layer_creation *c);

#endif /* TGI_LAYER_CREATE_H */
