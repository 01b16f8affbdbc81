/* SPDX-License-Identifier: MIT */
/*
 * layers.h - layers of neural networks, as plain functions over bundles.
 *
 * A layer is a bundle of variables. tg_X_create creates them in the scope
 * `name`, outside of callbacks; a model nests layers and is passed, saved,
 * differentiated and released as one:
 *
 *     TG_DEFINE_BUNDLE(model, (tg_dense_layer, hidden), (tg_dense_layer, out))
 *
 *     tg_dense_create(ctx, "hidden", TG_F32, 64, 32, tg_he(), &m.hidden)
 *     tg_dense_create(ctx, "out", TG_F32, 32, 10, tg_glorot(), &m.out)
 *
 * In a callback, functions apply layers to values:
 *
 *     tg_value h = tg_relu(tg_dense(x, &m->hidden));
 *     tg_value logits = tg_dense(h, &m->out);
 *
 * A layer can also be filled with other variables of the same shapes, such as
 * shared ones (tg_get_variable). A bias may be NULL: then there is none.
 *
 * If a create function fails, all members are NULL.
 */
#ifndef TGJIT_LAYERS_H
#define TGJIT_LAYERS_H

#include "bundle.h"
#include "context.h"
#include "ops.h"
#include "ops_conv.h"

/* weights [in, out], bias [out] */
TG_DEFINE_BUNDLE(tg_dense_layer, weights, bias)
/* filters [spatial …, in / groups, out], bias [out] */
TG_DEFINE_BUNDLE(tg_conv_layer, filters, bias)
/* scale [features], shift [features] */
TG_DEFINE_BUNDLE(tg_norm_layer, scale, shift)
/* Of [features] each; mean and variance, of past batches, are not trainable. */
TG_DEFINE_BUNDLE(tg_batch_norm_layer, scale, shift, mean, variance)
/* table [entries, features] */
TG_DEFINE_BUNDLE(tg_embedding_layer, table)
/* input_weights [in, 4 * units], state_weights [units, 4 * units],
   bias [4 * units]; input, forget, cell and output gate, in this order */
TG_DEFINE_BUNDLE(tg_lstm_layer, input_weights, state_weights, bias)
/* input_weights [in, 3 * units], state_weights [units, 3 * units], biases
   [3 * units]; reset, update and new gate, in this order */
TG_DEFINE_BUNDLE(tg_gru_layer, input_weights, state_weights, input_bias,
                 state_bias)
/* input_weights [in, units], state_weights [units, units], bias [units] */
TG_DEFINE_BUNDLE(tg_rnn_layer, input_weights, state_weights, bias)
/* Projections of queries, keys and values, and of the result. */
TG_DEFINE_BUNDLE(tg_attention_layer, (tg_dense_layer, query),
                 (tg_dense_layer, key), (tg_dense_layer, value),
                 (tg_dense_layer, output))

TG_BEGIN_DECLS

/* -- Creation -------------------------------------------------------------- */

/* Weights by `initial`; the bias is 0. */
TG_API TG_MUST_CHECK tg_status
tg_dense_create(tg_context *ctx, const char *name, tg_dtype dtype,
                int64_t n_in, int64_t n_out, tg_initial initial,
                tg_dense_layer *out_layer);

/* Filters by `initial`, with windows of these sizes, one per spatial axis:
   tg_conv_create(ctx, "c", TG_F32, TG_DIMS(3, 3), 1, 16, tg_he(), &layer). If
   there are groups, n_in is the number of channels of one. The bias is 0. */
TG_API TG_MUST_CHECK tg_status
tg_conv_create(tg_context *ctx, const char *name, tg_dtype dtype, int n_spatial,
               const int64_t *window, int64_t n_in, int64_t n_out,
               tg_initial initial, tg_conv_layer *out_layer);

/* Scale 1, shift 0. To be applied by tg_layer_norm (ops_nn.h):
   tg_layer_norm(x, layer->scale, layer->shift, 1e-5). */
TG_API TG_MUST_CHECK tg_status
tg_layer_norm_create(tg_context *ctx, const char *name, tg_dtype dtype,
                     int64_t n_features, tg_norm_layer *out_layer);

/* Scale 1, shift 0, mean 0, variance 1. */
TG_API TG_MUST_CHECK tg_status
tg_batch_norm_create(tg_context *ctx, const char *name, tg_dtype dtype,
                     int64_t n_features, tg_batch_norm_layer *out_layer);

/* The table by `initial`. */
TG_API TG_MUST_CHECK tg_status
tg_embedding_create(tg_context *ctx, const char *name, tg_dtype dtype,
                    int64_t n_entries, int64_t n_features, tg_initial initial,
                    tg_embedding_layer *out_layer);

/* Input weights by tg_glorot, state weights by tg_orthogonal; biases are 0, but
   for the forget gate of an LSTM, where they are 1. */
TG_API TG_MUST_CHECK tg_status
tg_lstm_create(tg_context *ctx, const char *name, tg_dtype dtype, int64_t n_in,
               int64_t n_units, tg_lstm_layer *out_layer);
TG_API TG_MUST_CHECK tg_status
tg_gru_create(tg_context *ctx, const char *name, tg_dtype dtype, int64_t n_in,
              int64_t n_units, tg_gru_layer *out_layer);
TG_API TG_MUST_CHECK tg_status
tg_rnn_create(tg_context *ctx, const char *name, tg_dtype dtype, int64_t n_in,
              int64_t n_units, tg_rnn_layer *out_layer);

/* For queries and results of `n_features`, keys and values of
   `n_context_features`. Weights by tg_glorot. */
TG_API TG_MUST_CHECK tg_status
tg_attention_create(tg_context *ctx, const char *name, tg_dtype dtype,
                    int64_t n_features, int64_t n_context_features,
                    tg_attention_layer *out_layer);

/* -- Layers without memory ------------------------------------------------- */

/* x * weights + bias, along the last axis of x. */
TG_API tg_value tg_dense_at(tg_operand x, const tg_dense_layer *layer,
                            tg_site site);

/* The convolution of x by the filters, plus the bias. The options are those of
   tg_conv, of which the layout is that of x and the result alone. */
TG_API tg_value tg_convolve_at(tg_operand x, const tg_conv_layer *layer,
                               const tg_conv_options *options, tg_site site);

/* The rows of the table at integer indices; an index out of range fails the
   call. The gradient adds up rows that are used several times. */
TG_API tg_value tg_embedding_at(tg_operand indices,
                                const tg_embedding_layer *layer, tg_site site);

/*
 * (x - mean) / sqrt(variance + epsilon) * scale + shift, for each feature, the
 * last axis of x. While training, mean and variance are those of the batch, and
 * the layer's are moved towards them: layer += momentum * (batch - layer), with
 * the unbiased variance of the batch. Else they are the layer's.
 */
TG_API tg_value tg_batch_norm_at(tg_operand x,
                                 const tg_batch_norm_layer *layer,
                                 bool is_training, double momentum,
                                 double epsilon, tg_site site);

/*
 * While training, sets elements of x to 0 with probability `rate`, in [0, 1),
 * and divides the others by 1 - rate. Else x. `source` is a generator or a key,
 * as in tg_random_uniform: one seed drops the same elements everywhere,
 * whatever the dtype.
 */
TG_API tg_value tg_dropout_at(tg_operand x, double rate, tg_operand source,
                              bool is_training, tg_site site);

/* -- Recurrent layers ------------------------------------------------------ */

/* The output h and the cell c, [batch, units] each. As an initial state, zero
   members ({0}) stand for zeros. */
typedef struct tg_lstm_state {
    tg_value h, c;
} tg_lstm_state;

/*
 * One step, for x [batch, in]. With gates i, f, g, o = x * input_weights + bias
 * + h * state_weights:
 *
 *     c = sigmoid(f) * c + sigmoid(i) * tanh(g); h = sigmoid(o) * tanh(c)
 */
TG_API tg_lstm_state tg_lstm_cell_at(tg_operand x, tg_lstm_state state,
                                     const tg_lstm_layer *layer, tg_site site);

/*
 * One step, for x [batch, in] and h [batch, units]; returns the next h. With
 * gates a = x * input_weights + input_bias, b = h * state_weights + state_bias:
 *
 *     r = sigmoid(a_r + b_r); z = sigmoid(a_z + b_z); n = tanh(a_n + r * b_n);
 *     h = n + z * (h - n)
 */
TG_API tg_value tg_gru_cell_at(tg_operand x, tg_value h,
                               const tg_gru_layer *layer, tg_site site);

/* The same for a simple layer: h = tanh(x * input_weights + bias +
   h * state_weights). */
TG_API tg_value tg_rnn_cell_at(tg_operand x, tg_value h,
                               const tg_rnn_layer *layer, tg_site site);

/*
 * All steps of a sequence, x [time, batch, in], by tg_scan; x * input_weights
 * is one product. Return the final state. out_outputs, if not NULL, receives h
 * after each step, [time, batch, units].
 */
TG_API tg_lstm_state tg_lstm_at(tg_operand x, tg_lstm_state state,
                                const tg_lstm_layer *layer,
                                tg_value *out_outputs, tg_site site);
TG_API tg_value tg_gru_at(tg_operand x, tg_value h, const tg_gru_layer *layer,
                          tg_value *out_outputs, tg_site site);
TG_API tg_value tg_rnn_at(tg_operand x, tg_value h, const tg_rnn_layer *layer,
                          tg_value *out_outputs, tg_site site);

/* -- Attention ------------------------------------------------------------- */

/*
 * Multi-head attention of x [..., queries, features] to `context` [..., keys,
 * context features], which may be x. Queries, keys and values are split into
 * n_heads heads, whose number divides their features; each head computes
 * softmax(q * k^T / sqrt(features / n_heads)) * v.
 */
TG_API tg_value tg_attention_at(tg_operand x, tg_operand context,
                                const tg_attention_layer *layer, int n_heads,
                                tg_site site);

/* The same, where a query attends only to keys for which the bool `mask`, which
   broadcasts to [..., heads, queries, keys], is true. A query without any
   attends to all keys alike. */
TG_API tg_value tg_masked_attention_at(tg_operand x, tg_operand context,
                                       tg_operand mask,
                                       const tg_attention_layer *layer,
                                       int n_heads, tg_site site);

/* Bool [n, n], true where key <= query; n as in tg_value_dim. */
TG_API tg_value tg_causal_mask_at(int64_t n, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
/* Arguments that are not operands are variadic: they may contain commas, as
   tg_dense(x, &(tg_dense_layer){w, b}) does. */
#define tg_dense(x, ...) tg_dense_at(TG_IN(x), __VA_ARGS__, TG_HERE)
/* x, layer (without commas), then options by name:
   tg_convolve(x, &m->conv, .stride = {2, 2}, .padding = TG_PADDING_SAME) */
#define tg_convolve(x, layer, ...) \
    tg_convolve_at(TG_IN(x), layer, \
                   &(const tg_conv_options){ \
                       .struct_bytes = sizeof(tg_conv_options), __VA_ARGS__}, \
                   TG_HERE)
#define tg_embedding(indices, ...) \
    tg_embedding_at(TG_IN(indices), __VA_ARGS__, TG_HERE)
/* x, layer, is_training, momentum, epsilon */
#define tg_batch_norm(x, ...) tg_batch_norm_at(TG_IN(x), __VA_ARGS__, TG_HERE)
#define tg_dropout(x, rate, source, is_training) \
    tg_dropout_at(TG_IN(x), rate, TG_IN(source), is_training, TG_HERE)
/* x, state, layer */
#define tg_lstm_cell(x, ...) tg_lstm_cell_at(TG_IN(x), __VA_ARGS__, TG_HERE)
#define tg_gru_cell(x, ...) tg_gru_cell_at(TG_IN(x), __VA_ARGS__, TG_HERE)
/* x, state, layer, out_outputs */
#define tg_lstm(x, ...) tg_lstm_at(TG_IN(x), __VA_ARGS__, TG_HERE)
#define tg_gru(x, ...) tg_gru_at(TG_IN(x), __VA_ARGS__, TG_HERE)
#define tg_rnn_cell(x, ...) tg_rnn_cell_at(TG_IN(x), __VA_ARGS__, TG_HERE)
#define tg_rnn(x, ...) tg_rnn_at(TG_IN(x), __VA_ARGS__, TG_HERE)
/* x, context, layer, n_heads */
#define tg_attention(x, context, ...) \
    tg_attention_at(TG_IN(x), TG_IN(context), __VA_ARGS__, TG_HERE)
#define tg_masked_attention(x, context, mask, ...) \
    tg_masked_attention_at(TG_IN(x), TG_IN(context), TG_IN(mask), \
                           __VA_ARGS__, TG_HERE)
#define tg_causal_mask(n) tg_causal_mask_at(n, TG_HERE)
#else
inline tg_value tg_dense(tg_in x, const tg_dense_layer *layer,
                         tg_site site = TG_HERE)
{
    return tg_dense_at(x, layer, site);
}
inline tg_status tg_conv_create(tg_context *ctx, const char *name,
                                tg_dtype dtype, tg_dims window, int64_t n_in,
                                int64_t n_out, tg_initial initial,
                                tg_conv_layer *out_layer)
{
    return tg_conv_create(ctx, name, dtype, (int)window.size(), window.begin(),
                          n_in, n_out, initial, out_layer);
}
inline tg_value tg_convolve(tg_in x, const tg_conv_layer *layer,
                            tg_conv_options options = {},
                            tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_convolve_at(x, layer, &options, site);
}
inline tg_value tg_embedding(tg_in indices, const tg_embedding_layer *layer,
                             tg_site site = TG_HERE)
{
    return tg_embedding_at(indices, layer, site);
}
inline tg_value tg_batch_norm(tg_in x, const tg_batch_norm_layer *layer,
                              bool is_training, double momentum,
                              double epsilon, tg_site site = TG_HERE)
{
    return tg_batch_norm_at(x, layer, is_training, momentum, epsilon, site);
}
inline tg_value tg_dropout(tg_in x, double rate, tg_in source,
                           bool is_training, tg_site site = TG_HERE)
{
    return tg_dropout_at(x, rate, source, is_training, site);
}
inline tg_lstm_state tg_lstm_cell(tg_in x, tg_lstm_state state,
                                  const tg_lstm_layer *layer,
                                  tg_site site = TG_HERE)
{
    return tg_lstm_cell_at(x, state, layer, site);
}
inline tg_value tg_gru_cell(tg_in x, tg_value h, const tg_gru_layer *layer,
                            tg_site site = TG_HERE)
{
    return tg_gru_cell_at(x, h, layer, site);
}
inline tg_lstm_state tg_lstm(tg_in x, tg_lstm_state state,
                             const tg_lstm_layer *layer, tg_value *out_outputs,
                             tg_site site = TG_HERE)
{
    return tg_lstm_at(x, state, layer, out_outputs, site);
}
inline tg_value tg_gru(tg_in x, tg_value h, const tg_gru_layer *layer,
                       tg_value *out_outputs, tg_site site = TG_HERE)
{
    return tg_gru_at(x, h, layer, out_outputs, site);
}
inline tg_value tg_rnn_cell(tg_in x, tg_value h, const tg_rnn_layer *layer,
                            tg_site site = TG_HERE)
{
    return tg_rnn_cell_at(x, h, layer, site);
}
inline tg_value tg_rnn(tg_in x, tg_value h, const tg_rnn_layer *layer,
                       tg_value *out_outputs, tg_site site = TG_HERE)
{
    return tg_rnn_at(x, h, layer, out_outputs, site);
}
inline tg_value tg_attention(tg_in x, tg_in context,
                             const tg_attention_layer *layer, int n_heads,
                             tg_site site = TG_HERE)
{
    return tg_attention_at(x, context, layer, n_heads, site);
}
inline tg_value tg_masked_attention(tg_in x, tg_in context, tg_in mask,
                                    const tg_attention_layer *layer,
                                    int n_heads, tg_site site = TG_HERE)
{
    return tg_masked_attention_at(x, context, mask, layer, n_heads, site);
}
inline tg_value tg_causal_mask(int64_t n, tg_site site = TG_HERE)
{
    return tg_causal_mask_at(n, site);
}
#endif

#endif /* TGJIT_LAYERS_H */
