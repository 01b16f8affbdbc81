/* SPDX-License-Identifier: MIT */
/*
 * layer_create.c - the create functions of layers.h.
 */
#include "front/train/layer_create.h"

#include <string.h>

#include "base/dtype.h"
#include "front/object/scope.h"
#include "tgjit/layers.h"

/* -- Creation in a scope --------------------------------------------------- */

bool tgi_layer_begin(tgi_layer_creation *c, tg_context *ctx, const char *who,
                     const char *name, const tg_bundle_type *type,
                     void *out_layer)
{
    *c = (tgi_layer_creation){ctx, tgi_api_enter(ctx, who), type, out_layer,
                              false, TG_OK};
    const char *null = !ctx         ? "context"
                       : !name      ? "name"
                       : !out_layer ? "layer"
                                    : NULL;
    if (out_layer)
        memset(out_layer, 0, type->bytes);
    c->status = null ? tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                                     "%s: the %s is NULL", who, null)
                     : tgi_scope_push(ctx, name, TG_REUSE_OFF, who,
                                      TGI_NO_SITE);
    c->is_in_scope = c->status == TG_OK;
    return c->is_in_scope;
}

static tg_variable *create(tgi_layer_creation *c, const char *name,
                           tg_dtype dtype, int rank, const int64_t *dims,
                           tg_initial initial, bool is_trainable)
{
    const tg_variable_options options = {sizeof(options), NULL, !is_trainable};
    if (c->status)
        return NULL;
    tg_variable *made = tg_variable_create_with(c->ctx, name, dtype, rank,
                                                dims, initial, &options);
    if (!made)
        c->status = tg_error_last()->status;
    return made;
}

tg_variable *tgi_layer_variable(tgi_layer_creation *c, const char *name,
                                tg_dtype dtype, int rank, const int64_t *dims,
                                tg_initial initial)
{
    return create(c, name, dtype, rank, dims, initial, true);
}

tg_variable *tgi_layer_statistic(tgi_layer_creation *c, const char *name,
                                 tg_dtype dtype, int rank, const int64_t *dims,
                                 tg_initial initial)
{
    return create(c, name, dtype, rank, dims, initial, false);
}

static void release_layer(void *user)
{
    const tgi_layer_creation *c = user;
    tg_bundle_release(c->type, c->layer);
}

tg_status tgi_layer_end(tgi_layer_creation *c)
{
    if (c->is_in_scope)
        tgi_scope_pop(c->ctx, tgi_api_function(), TGI_NO_SITE);
    if (c->status && c->layer)
        tgi_error_preserve_during(release_layer, c);
    tgi_api_leave(c->frame);
    return c->status;
}

/* -- Layers ---------------------------------------------------------------- */

static void create_dense(tgi_layer_creation *c, tg_dtype dtype, int64_t n_in,
                         int64_t n_out, tg_initial initial,
                         tg_dense_layer *layer)
{
    layer->weights = tgi_layer_variable(c, "weights", dtype, 2,
                                        (int64_t[]){n_in, n_out}, initial);
    layer->bias = tgi_layer_variable(c, "bias", dtype, 1, &n_out, tg_zeros());
}

tg_status tg_dense_create(tg_context *ctx, const char *name, tg_dtype dtype,
                          int64_t n_in, int64_t n_out, tg_initial initial,
                          tg_dense_layer *out_layer)
{
    tgi_layer_creation c;
    if (tgi_layer_begin(&c, ctx, "tg_dense_create", name,
                        &tg_dense_layer_type, out_layer))
        create_dense(&c, dtype, n_in, n_out, initial, out_layer);
    return tgi_layer_end(&c);
}

tg_status tg_conv_create(tg_context *ctx, const char *name, tg_dtype dtype,
                         int n_spatial, const int64_t *window, int64_t n_in,
                         int64_t n_out, tg_initial initial,
                         tg_conv_layer *out_layer)
{
    tgi_layer_creation c;
    if (tgi_layer_begin(&c, ctx, "tg_conv_create", name, &tg_conv_layer_type,
                        out_layer)) {
        int64_t dims[TG_MAX_RANK];
        if (n_spatial < 0 || n_spatial > TG_MAX_SPATIAL ||
            (n_spatial > 0 && !window)) {
            c.status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                                     "tg_conv_create: a window with %d axes",
                                     n_spatial);
            return tgi_layer_end(&c);
        }
        for (int i = 0; i < n_spatial; i++)
            dims[i] = window[i];
        dims[n_spatial] = n_in;
        dims[n_spatial + 1] = n_out;
        out_layer->filters = tgi_layer_variable(&c, "filters", dtype,
                                                n_spatial + 2, dims, initial);
        out_layer->bias =
            tgi_layer_variable(&c, "bias", dtype, 1, &n_out, tg_zeros());
    }
    return tgi_layer_end(&c);
}

/* Scale and shift of normalised features. */
static void create_affine(tgi_layer_creation *c, tg_dtype dtype,
                          int64_t n_features, tg_variable **out_scale,
                          tg_variable **out_shift)
{
    *out_scale =
        tgi_layer_variable(c, "scale", dtype, 1, &n_features, tg_ones());
    *out_shift =
        tgi_layer_variable(c, "shift", dtype, 1, &n_features, tg_zeros());
}

tg_status tg_layer_norm_create(tg_context *ctx, const char *name,
                               tg_dtype dtype, int64_t n_features,
                               tg_norm_layer *out_layer)
{
    tgi_layer_creation c;
    if (tgi_layer_begin(&c, ctx, "tg_layer_norm_create", name,
                        &tg_norm_layer_type, out_layer))
        create_affine(&c, dtype, n_features, &out_layer->scale,
                      &out_layer->shift);
    return tgi_layer_end(&c);
}

tg_status tg_batch_norm_create(tg_context *ctx, const char *name,
                               tg_dtype dtype, int64_t n_features,
                               tg_batch_norm_layer *out_layer)
{
    tgi_layer_creation c;
    if (tgi_layer_begin(&c, ctx, "tg_batch_norm_create", name,
                        &tg_batch_norm_layer_type, out_layer)) {
        create_affine(&c, dtype, n_features, &out_layer->scale,
                      &out_layer->shift);
        out_layer->mean = tgi_layer_statistic(&c, "mean", dtype, 1,
                                              &n_features, tg_zeros());
        out_layer->variance = tgi_layer_statistic(&c, "variance", dtype, 1,
                                                  &n_features, tg_ones());
    }
    return tgi_layer_end(&c);
}

tg_status tg_embedding_create(tg_context *ctx, const char *name,
                              tg_dtype dtype, int64_t n_entries,
                              int64_t n_features, tg_initial initial,
                              tg_embedding_layer *out_layer)
{
    tgi_layer_creation c;
    if (tgi_layer_begin(&c, ctx, "tg_embedding_create", name,
                        &tg_embedding_layer_type, out_layer))
        out_layer->table =
            tgi_layer_variable(&c, "table", dtype, 2,
                               (int64_t[]){n_entries, n_features}, initial);
    return tgi_layer_end(&c);
}

/* n_gates * n_units; -1, which is no extent, on overflow. */
static int64_t gates(int64_t n_units, int64_t n_gates)
{
    return n_units < 0 || n_units > INT64_MAX / n_gates ? -1
                                                        : n_gates * n_units;
}

/* The bias of an LSTM: 1 for the forget gate, the second of four. */
static tg_variable *create_lstm_bias(tgi_layer_creation *c, tg_dtype dtype,
                                     int64_t n_units)
{
    const int64_t n = gates(n_units, 4);
    tg_variable *bias =
        tgi_layer_variable(c, "bias", dtype, 1, &n, tg_zeros());
    if (!bias)
        return NULL;
    void *data = tg_variable_map(bias, TG_WRITE);
    const int64_t bytes = tgi_dtype_bytes((int)dtype);
    for (int64_t i = n_units; data && i < 2 * n_units; i++)
        tgi_dtype_store((int)dtype, (tgi_number){TGI_NUMBER_INT, {.i = 1}},
                        (char *)data + i * bytes);
    if (data)
        tg_variable_unmap(bias);
    else
        c->status = tg_error_last()->status;
    return bias;
}

tg_status tg_lstm_create(tg_context *ctx, const char *name, tg_dtype dtype,
                         int64_t n_in, int64_t n_units,
                         tg_lstm_layer *out_layer)
{
    tgi_layer_creation c;
    const int64_t n = gates(n_units, 4);
    if (tgi_layer_begin(&c, ctx, "tg_lstm_create", name, &tg_lstm_layer_type,
                        out_layer)) {
        /* The orthogonal initialiser accepts float dtypes only. */
        out_layer->state_weights =
            tgi_layer_variable(&c, "state_weights", dtype, 2,
                               (int64_t[]){n_units, n}, tg_orthogonal(1));
        out_layer->input_weights =
            tgi_layer_variable(&c, "input_weights", dtype, 2,
                               (int64_t[]){n_in, n}, tg_glorot());
        out_layer->bias = create_lstm_bias(&c, dtype, n_units);
    }
    return tgi_layer_end(&c);
}

tg_status tg_gru_create(tg_context *ctx, const char *name, tg_dtype dtype,
                        int64_t n_in, int64_t n_units, tg_gru_layer *out_layer)
{
    tgi_layer_creation c;
    const int64_t n = gates(n_units, 3);
    if (tgi_layer_begin(&c, ctx, "tg_gru_create", name, &tg_gru_layer_type,
                        out_layer)) {
        out_layer->input_weights =
            tgi_layer_variable(&c, "input_weights", dtype, 2,
                               (int64_t[]){n_in, n}, tg_glorot());
        out_layer->state_weights =
            tgi_layer_variable(&c, "state_weights", dtype, 2,
                               (int64_t[]){n_units, n}, tg_orthogonal(1));
        out_layer->input_bias =
            tgi_layer_variable(&c, "input_bias", dtype, 1, &n, tg_zeros());
        out_layer->state_bias =
            tgi_layer_variable(&c, "state_bias", dtype, 1, &n, tg_zeros());
    }
    return tgi_layer_end(&c);
}

tg_status tg_rnn_create(tg_context *ctx, const char *name, tg_dtype dtype,
                        int64_t n_in, int64_t n_units, tg_rnn_layer *out_layer)
{
    tgi_layer_creation c;
    if (tgi_layer_begin(&c, ctx, "tg_rnn_create", name, &tg_rnn_layer_type,
                        out_layer)) {
        out_layer->input_weights =
            tgi_layer_variable(&c, "input_weights", dtype, 2,
                               (int64_t[]){n_in, n_units}, tg_glorot());
        out_layer->state_weights =
            tgi_layer_variable(&c, "state_weights", dtype, 2,
                               (int64_t[]){n_units, n_units}, tg_orthogonal(1));
        out_layer->bias =
            tgi_layer_variable(&c, "bias", dtype, 1, &n_units, tg_zeros());
    }
    return tgi_layer_end(&c);
}

/* A projection in a scope of its own. */
static void create_projection(tgi_layer_creation *c, const char *name,
                              tg_dtype dtype, int64_t n_in, int64_t n_out,
                              tg_dense_layer *layer)
{
    if (c->status)
        return;
    c->status = tg_dense_create(c->ctx, name, dtype, n_in, n_out, tg_glorot(),
                                layer);
}

tg_status tg_attention_create(tg_context *ctx, const char *name,
                              tg_dtype dtype, int64_t n_features,
                              int64_t n_context_features,
                              tg_attention_layer *out_layer)
{
    tgi_layer_creation c;
    const int64_t n = n_features, m = n_context_features;
    if (tgi_layer_begin(&c, ctx, "tg_attention_create", name,
                        &tg_attention_layer_type, out_layer)) {
        create_projection(&c, "query", dtype, n, n, &out_layer->query);
        create_projection(&c, "key", dtype, m, n, &out_layer->key);
        create_projection(&c, "value", dtype, m, n, &out_layer->value);
        create_projection(&c, "output", dtype, n, n, &out_layer->output);
    }
    return tgi_layer_end(&c);
}
