/* SPDX-License-Identifier: MIT */
/*
 * gradient_formulas_layers.c - layers over bundles of variables. See
 * gradient_formulas.h.
 */
#include "api/gradient_formulas.h"

static tg_value dense(const tg_value *in, tg_variable *const *v)
{
    return tg_square(tg_dense(in[0], &(tg_dense_layer){v[0], v[1]}));
}

static tg_value embedding(const tg_value *in, tg_variable *const *v)
{
    return cube(tg_embedding(in[0], &(tg_embedding_layer){v[0]}));
}

static tg_value batch_norm_training(const tg_value *in, tg_variable *const *v)
{
    const tg_batch_norm_layer layer = {v[0], v[1], v[2], v[3]};
    return cube(tg_batch_norm(in[0], &layer, true, 0.1, 1e-3));
}

static tg_value batch_norm_inference(const tg_value *in,
                                     tg_variable *const *v)
{
    const tg_batch_norm_layer layer = {v[0], v[1], v[2], v[3]};
    return tg_square(tg_batch_norm(in[0], &layer, false, 0.1, 1e-3));
}

static tg_value lstm_cell(const tg_value *in, tg_variable *const *v)
{
    const tg_lstm_layer layer = {v[0], v[1], v[2]};
    const tg_lstm_state state = {in[1], in[2]};
    const tg_lstm_state next = tg_lstm_cell(in[0], state, &layer);
    return tg_concat(0, next.h, tg_square(next.c));
}

/* A state [batch, units] as a sequence of one step. */
static tg_value as_step(tg_value h)
{
    return tg_reshape(h, TG_DIMS(1, tg_value_dim(h, 0), tg_value_dim(h, 1)));
}

static tg_value lstm_sequence(const tg_value *in, tg_variable *const *v)
{
    const tg_lstm_layer layer = {v[0], v[1], v[2]};
    const tg_lstm_state zeros = {{0, 0}, {0, 0}};
    tg_value ys;
    const tg_lstm_state last = tg_lstm(in[0], zeros, &layer, &ys);
    return tg_concat(0, tg_square(ys), as_step(last.h), as_step(last.c));
}

static tg_value gru_cell(const tg_value *in, tg_variable *const *v)
{
    const tg_gru_layer layer = {v[0], v[1], v[2], v[3]};
    return tg_square(tg_gru_cell(in[0], in[1], &layer));
}

static tg_value gru_sequence(const tg_value *in, tg_variable *const *v)
{
    const tg_gru_layer layer = {v[0], v[1], v[2], v[3]};
    tg_value ys;
    const tg_value last = tg_gru(in[0], in[1], &layer, &ys);
    return tg_concat(0, tg_square(ys), as_step(last));
}

static tg_value self_attention(const tg_value *in, tg_variable *const *v)
{
    const tg_attention_layer layer = {
        {v[0], v[1]}, {v[2], NULL}, {v[3], v[4]}, {v[5], v[6]}};
    const tg_value mask = tg_causal_mask(tg_value_dim(in[0], 1));
    return tg_square(tg_masked_attention(in[0], in[0], mask, &layer, 2));
}

static tg_value cross_attention(const tg_value *in, tg_variable *const *v)
{
    const tg_attention_layer layer = {
        {v[0], NULL}, {v[1], NULL}, {v[2], NULL}, {v[3], NULL}};
    return tg_square(tg_attention(in[0], in[1], &layer, 2));
}

const formula layers_formulas[] = {
    LAYER(dense, 2),
    LAYER(embedding, 1),
    LAYER(batch_norm_training, 4),
    LAYER(batch_norm_inference, 4),
    LAYER(lstm_cell, 3),
    LAYER(lstm_sequence, 3),
    LAYER(gru_cell, 4),
    LAYER(gru_sequence, 4),
    LAYER(self_attention, 7),
    LAYER_ROUGH(cross_attention, 4, 2),
    FORMULAS_END,
};
