/* SPDX-License-Identifier: MIT */
/*
 * test_layers.c - layers beyond their gradients, which test_gradient_expected.c
 * compares with PyTorch's: creation, running statistics, dropout, cells against
 * sequences, repeated rows of an embedding, and errors.
 */
#include <math.h>

#include "support/modes.h"

/* -- Creation -------------------------------------------------------------- */

TG_DEFINE_BUNDLE(all_layers, (tg_dense_layer, dense), (tg_conv_layer, conv),
                 (tg_norm_layer, norm),
                 (tg_batch_norm_layer, batch), (tg_embedding_layer, words),
                 (tg_lstm_layer, lstm), (tg_gru_layer, gru),
                 (tg_attention_layer, attention))

static void create_all(tg_context *ctx, tg_dtype dtype, all_layers *all)
{
    check_works(tg_dense_create(ctx, "dense", dtype, 3, 2, tg_he(),
                                &all->dense));
    check_works(tg_conv_create(ctx, "conv", dtype, TG_DIMS(3, 5), 4, 6,
                               tg_he(), &all->conv));
    check_works(tg_layer_norm_create(ctx, "norm", dtype, 2, &all->norm));
    check_works(tg_batch_norm_create(ctx, "batch", dtype, 2, &all->batch));
    check_works(tg_embedding_create(ctx, "words", dtype, 5, 3,
                                    tg_normal(0, 1), &all->words));
    check_works(tg_lstm_create(ctx, "lstm", dtype, 3, 2, &all->lstm));
    check_works(tg_gru_create(ctx, "gru", dtype, 3, 2, &all->gru));
    check_works(tg_attention_create(ctx, "attention", dtype, 4, 6,
                                    &all->attention));
}

Test(layers, variables_are_named_by_scopes_and_nest_in_bundles)
{
    session s;
    session_begin(&s);
    all_layers all;
    create_all(s.ctx, TG_F32, &all);
    cr_assert_str_eq(tg_variable_name(all.dense.weights), "dense/weights");
    cr_assert_str_eq(tg_variable_name(all.attention.key.bias),
                     "attention/key/bias");
    cr_assert_eq(tg_variable_dims(all.attention.value.weights)[0], 6);
    cr_assert_str_eq(tg_variable_name(all.conv.filters), "conv/filters");
    cr_assert(memcmp(tg_variable_dims(all.conv.filters),
                     (int64_t[]){3, 5, 4, 6}, 4 * sizeof(int64_t)) == 0);
    check_variable(all.conv.bias, 0, 0, 0, 0, 0, 0);
    cr_assert_eq(tg_bundle_variables(&all_layers_type, &all, TG_ALL_VARIABLES,
                                     NULL, 0),
                 26);
    cr_assert_eq(tg_bundle_variables(&all_layers_type, &all, TG_TRAINABLE,
                                     NULL, 0),
                 24);
    check_variable(all.batch.mean, 0, 0);
    check_variable(all.batch.variance, 1, 1);
    check_variable(all.norm.scale, 1, 1);
    check_variable(all.lstm.bias, 0, 0, 1, 1, 0, 0, 0, 0);
    cr_assert_str_empty(tg_scope_name(s.ctx));
    tg_bundle_release(&all_layers_type, &all);
    create_all(s.ctx, TG_F64, &all);
    double bias[8];
    check_works(tg_variable_get(all.lstm.bias, bias, sizeof bias));
    cr_assert(bias[2] == 1 && bias[3] == 1 && bias[4] == 0);
    tg_bundle_release(&all_layers_type, &all);
    session_end(&s);
}

Test(layers, a_layer_that_cannot_be_created_is_empty)
{
    session s;
    session_begin(&s);
    all_layers all;
    check_fails(tg_dense_create(s.ctx, "d", TG_F32, 3, -2, tg_he(),
                                &all.dense),
                TG_ERROR_SHAPE, "-2");
    cr_assert(!all.dense.weights && !all.dense.bias);
    check_fails(tg_dense_create(NULL, "d", TG_F32, 3, 2, tg_he(), &all.dense),
                TG_ERROR_INVALID_ARGUMENT, "tg_dense_create",
                "context is NULL");
    check_fails(tg_dense_create(s.ctx, NULL, TG_F32, 3, 2, tg_he(),
                                &all.dense),
                TG_ERROR_INVALID_ARGUMENT, "tg_dense_create", "name is NULL");
    check_fails(tg_dense_create(s.ctx, "d", TG_F32, 3, 2, tg_he(), NULL),
                TG_ERROR_INVALID_ARGUMENT, "tg_dense_create", "layer is NULL");
    check_fails(tg_conv_create(s.ctx, "c", TG_F32, 7, NULL, 3, 2, tg_he(),
                               &all.conv),
                TG_ERROR_INVALID_ARGUMENT, "tg_conv_create", "7 axes");
    check_fails(tg_conv_create(s.ctx, "c", TG_F32, TG_DIMS(3, -1), 3, 2,
                               tg_he(), &all.conv),
                TG_ERROR_SHAPE, "-1");
    cr_assert(!all.conv.filters && !all.conv.bias);
    check_fails(tg_lstm_create(s.ctx, "l", TG_I32, 3, 2, &all.lstm),
                TG_ERROR_DTYPE, "i32");
    check_fails(tg_gru_create(s.ctx, "g", TG_F32, 3, INT64_MAX, &all.gru),
                TG_ERROR_SHAPE, "");
    check_fails(tg_attention_create(s.ctx, "a", TG_F32, 4, -6,
                                    &all.attention),
                TG_ERROR_SHAPE, "-6");
    cr_assert(!all.attention.query.weights && !all.attention.key.weights);
    cr_assert_str_empty(tg_scope_name(s.ctx));
    session_end(&s);
}

/* -- Convolution ----------------------------------------------------------- */

/* in: images */
static void convolve(tg_trace *t, const tg_value *in, void *user)
{
    const tg_conv_layer *layer = user;
    const tg_value direct = tg_add(
        tg_conv2d(in[0], layer->filters, .padding = TG_PADDING_SAME),
        layer->bias);
    tg_return(t, direct, tg_convolve(in[0], layer, .padding = TG_PADDING_SAME),
              tg_convolve(tg_transpose(in[0], TG_PERM(0, 3, 1, 2)), layer,
                          .padding = TG_PADDING_SAME,
                          .layout = TG_CHANNELS_FIRST));
}

static void convolve_without_bias(tg_trace *t, const tg_value *in, void *user)
{
    const tg_conv_layer *layer = user;
    const tg_conv_layer unbiased = {layer->filters, NULL};
    tg_return(t, tg_convolve(in[0], &unbiased));
}

static void convolve_nothing(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_convolve(in[0], NULL));
}

Test(layers, convolution_adds_its_bias_in_any_layout)
{
    session s;
    session_begin(&s);
    tg_conv_layer layer;
    check_works(tg_conv_create(s.ctx, "conv", TG_F32, TG_DIMS(2, 3), 2, 3,
                               tg_he(), &layer));
    set_variable(layer.bias, 1, 20, 300);
    tg_function *f = tg_function_create(s.ctx, convolve, &layer, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 4, 5, 2),
                                    tg_normal(0, 1));
    tg_tensor *y[3] = {NULL};
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y[0], &y[1], &y[2])));
    const float *direct = tg_tensor_data(y[0]), *first = tg_tensor_data(y[2]);
    cr_assert_eq(tg_tensor_count(y[0]), 2 * 4 * 5 * 3);
    check_floats_at(__LINE__, tg_tensor_data(y[1]), direct, 2 * 4 * 5 * 3);
    for (int64_t i = 0; i < 2 * 4 * 5 * 3; i++)
        check_floats_at(__LINE__, &first[(i / 60 * 3 + i % 3) * 20 +
                                         i / 3 % 20],
                        &direct[i], 1);
    tg_function *plain =
        tg_function_create(s.ctx, convolve_without_bias, &layer, NULL);
    tg_tensor *without = call_one(plain, TG_ARGS(x)), *none = NULL;
    cr_assert_eq(tg_tensor_count(without), 2 * 3 * 3 * 3);
    tg_function *null = tg_function_create(s.ctx, convolve_nothing, NULL, NULL);
    check_fails(tg_call(null, TG_ARGS(x), TG_RESULTS(&none)),
                TG_ERROR_INVALID_ARGUMENT, "convolve", "layer is NULL");
    for (int i = 0; i < 3; i++)
        tg_tensor_release(y[i]);
    tg_tensor_release(x);
    tg_tensor_release(without);
    tg_function_release(f);
    tg_function_release(plain);
    tg_function_release(null);
    tg_bundle_release(&tg_conv_layer_type, &layer);
    session_end(&s);
}

/* -- Batch normalisation --------------------------------------------------- */

static void normalise(tg_trace *t, const tg_value *in, void *user)
{
    const tg_batch_norm_layer *layer = user;
    tg_return(t, tg_batch_norm(in[0], layer, true, 0.25, 0));
}

static void check_statistics(session *s)
{
    tg_batch_norm_layer layer;
    check_works(tg_batch_norm_create(s->ctx, "norm", TG_F32, 2, &layer));
    tg_function *f =
        tg_function_create(s->ctx, normalise, &layer,
                           TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN, 2)));
    tg_tensor *x = tg_tensor_copy(s->ctx, (float[]){1, 8, 3, 8, 5, 2, 7, 2},
                                  TG_F32, TG_DIMS(4, 2));
    tg_tensor *y = call_one(f, TG_ARGS(x));
    const float *data = tg_tensor_data(y);
    cr_assert_float_eq(data[0], -3 / sqrtf(5), 1e-6);
    cr_assert_eq(data[1], 1);
    cr_assert_eq(data[7], -1);
    tg_tensor_release(y);
    /* Means 4 and 5, unbiased variances 20/3 and 12. */
    check_variable(layer.mean, 1, 1.25f);
    float is[2];
    check_works(tg_variable_get(layer.variance, is, sizeof is));
    cr_assert_float_eq(is[0], 0.75f + 20 / 12.0f, 1e-6);
    cr_assert_float_eq(is[1], 3.75f, 1e-6);
    tg_tensor_release(x);

    /* A single row has no variance. */
    x = tg_tensor_copy(s->ctx, (float[]){9, 9}, TG_F32, TG_DIMS(1, 2));
    const float before = is[1];
    tg_tensor_release(call_one(f, TG_ARGS(x)));
    check_works(tg_variable_get(layer.variance, is, sizeof is));
    cr_assert_float_eq(is[1], 0.75f * before, 1e-6);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_bundle_release(&tg_batch_norm_layer_type, &layer);
}

Test(layers, batch_norm_keeps_statistics_of_batches)
{
    in_modes(check_statistics);
}

/* -- Dropout --------------------------------------------------------------- */

enum { DROPS = 10000 };

static void drop(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *generator = user;
    const tg_value a = tg_dropout(in[0], 0.25, generator, true);
    const tg_value b = tg_dropout(in[0], 0.25, generator, true);
    const tg_value by_key = tg_dropout(in[0], 0.25, 7, true);
    const tg_value as_double =
        tg_dropout(tg_cast(in[0], TG_F64), 0.25, 7, true);
    tg_return(t, a, b, by_key, as_double, tg_gradient(a, in[0]),
              tg_dropout(in[0], 0.25, generator, false),
              tg_dropout(in[0], 0, generator, true));
}

static void run_dropout(session *s, outcome *out)
{
    tg_variable *generator = tg_generator_create(s->ctx, NULL, 7);
    tg_function *f = tg_function_create(s->ctx, drop, generator, NULL);
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(DROPS / 100, 100),
                                    tg_fill(3));
    tg_tensor *y[7] = {NULL};
    check_works(tg_call(f, TG_ARGS(x),
                        TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4], &y[5],
                                   &y[6])));
    const float *a = tg_tensor_data(y[0]), *b = tg_tensor_data(y[1]);
    const float *by_key = tg_tensor_data(y[2]), *slope = tg_tensor_data(y[4]);
    const double *as_double = tg_tensor_data(y[3]);
    int n_kept = 0, n_common = 0;
    for (int i = 0; i < DROPS; i++) {
        cr_assert(a[i] == 0 || a[i] == 3 * (float)(1 / 0.75));
        cr_assert_eq(slope[i], a[i] / 3);
        cr_assert_eq(as_double[i] == 0, by_key[i] == 0);
        /* The generator begins where the key does. */
        cr_assert_eq(a[i], by_key[i]);
        n_kept += a[i] != 0;
        n_common += a[i] != 0 && b[i] != 0;
    }
    cr_assert(n_kept > 7300 && n_kept < 7700, "%d", n_kept);
    cr_assert(n_common > 5425 && n_common < 5825, "%d", n_common);
    for (int i = 5; i < 7; i++)
        cr_assert_arr_eq(tg_tensor_data(y[i]), tg_tensor_data(x),
                         tg_tensor_bytes(x));
    note(out, a, 20000);
    note(out, b, 20000);
    note(out, slope, 20000);
    note_variable(out, generator);
    for (int i = 0; i < 7; i++)
        tg_tensor_release(y[i]);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_variable_release(generator);
}

Test(layers, dropout_drops_the_same_elements_in_all_modes)
{
    check_modes(run_dropout);
}

/* -- Embedding ------------------------------------------------------------- */

static void look_up(tg_trace *t, const tg_value *in, void *user)
{
    const tg_embedding_layer *layer = user;
    const tg_value y = tg_embedding(in[0], layer);
    tg_return(t, y, tg_gradient(y, layer->table));
}

static void check_embedding(session *s)
{
    tg_embedding_layer layer = {
        tg_variable_create(s->ctx, "table", TG_F32, TG_DIMS(3, 2),
                           tg_from_data((float[]){0, 1, 2, 3, 4, 5}))};
    tg_function *f = tg_function_create(s->ctx, look_up, &layer, NULL);
    tg_tensor *i = i32_vector(s->ctx, 2, 0, 2, 2), *y = NULL, *g = NULL;
    check_works(tg_call(f, TG_ARGS(i), TG_RESULTS(&y, &g)));
    check_f32(y, 4, 5, 0, 1, 4, 5, 4, 5);
    check_f32(g, 1, 1, 0, 0, 3, 3);
    tg_tensor *bad = i32_vector(s->ctx, 2, 0, 2, 3);
    check_fails(tg_call(f, TG_ARGS(bad), TG_RESULTS(NULL)), TG_ERROR_INDEX,
                "gather: index 3", __FILE__);
    tg_tensor_release(bad);
    tg_tensor_release(i);
    tg_function_release(f);
    tg_bundle_release(&tg_embedding_layer_type, &layer);
}

Test(layers, the_gradient_of_an_embedding_adds_up_repeated_rows)
{
    in_modes(check_embedding);
}

/* -- Recurrent layers ------------------------------------------------------ */

typedef struct recurrent {
    tg_lstm_layer lstm;
    tg_gru_layer gru;
    tg_rnn_layer rnn;
} recurrent;

static void cells_and_sequences(tg_trace *t, const tg_value *in, void *user)
{
    const recurrent *r = user;
    tg_value x[4], hs, gs, h = {0, 0};
    tg_lstm_state state = {{0, 0}, {0, 0}};
    tg_unstack(in[0], 0, x, 4);
    const tg_lstm_state last = tg_lstm(in[0], state, &r->lstm, &hs);
    const tg_value last_h = tg_gru(in[0], h, &r->gru, &gs);
    tg_value rs, by_lstm[4], by_gru[4], by_rnn[4], simple = h;
    tg_rnn(in[0], h, &r->rnn, &rs);
    for (int i = 0; i < 4; i++) {
        state = tg_lstm_cell(x[i], state, &r->lstm);
        by_lstm[i] = state.h;
        h = by_gru[i] = tg_gru_cell(x[i], h, &r->gru);
        simple = by_rnn[i] = tg_rnn_cell(x[i], simple, &r->rnn);
    }
    tg_return(t, hs, tg_stack(0, by_lstm[0], by_lstm[1], by_lstm[2],
                              by_lstm[3]),
              gs, tg_stack(0, by_gru[0], by_gru[1], by_gru[2], by_gru[3]),
              last.c, state.c, last_h, h, rs,
              tg_stack(0, by_rnn[0], by_rnn[1], by_rnn[2], by_rnn[3]));
}

static void check_recurrent(session *s, outcome *out)
{
    recurrent r;
    check_works(tg_lstm_create(s->ctx, "lstm", TG_F32, 5, 8, &r.lstm));
    check_works(tg_gru_create(s->ctx, "gru", TG_F32, 5, 8, &r.gru));
    check_works(tg_rnn_create(s->ctx, "rnn", TG_F32, 5, 8, &r.rnn));
    tg_function *f = tg_function_create(
        s->ctx, cells_and_sequences, &r,
        TG_SIGNATURE(TG_SPEC(TG_F32, 4, TG_UNKNOWN, 5)));
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(4, 3, 5),
                                    tg_seeded(tg_normal(0, 1), 1));
    tg_tensor *y[10] = {NULL};
    check_works(tg_call(f, TG_ARGS(x),
                        TG_RESULTS(&y[0], &y[1], &y[2], &y[3], &y[4], &y[5],
                                   &y[6], &y[7], &y[8], &y[9])));
    for (int i = 0; i < 10; i += 2) {
        cr_assert_eq(tg_tensor_bytes(y[i]), tg_tensor_bytes(y[i + 1]));
        cr_assert_arr_eq(tg_tensor_data(y[i]), tg_tensor_data(y[i + 1]),
                         tg_tensor_bytes(y[i]), "results %d and %d", i, i + 1);
        note_tensor(out, y[i]);
    }
    for (int i = 0; i < 10; i++)
        tg_tensor_release(y[i]);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_bundle_release(&tg_rnn_layer_type, &r.rnn);
    tg_bundle_release(&tg_gru_layer_type, &r.gru);
    tg_bundle_release(&tg_lstm_layer_type, &r.lstm);
}

static void simple_step(tg_trace *t, const tg_value *in, void *user)
{
    const tg_rnn_layer *layer = user;
    const tg_value h = tg_rnn_cell(in[0], in[1], layer);
    tg_return(t, h, tg_tanh(tg_add(tg_add(tg_matmul(in[0],
                                                    layer->input_weights),
                                          layer->bias),
                                   tg_matmul(in[1], layer->state_weights))));
}

Test(layers, a_simple_step_is_a_hyperbolic_tangent)
{
    session s;
    session_begin(&s);
    tg_rnn_layer layer;
    check_works(tg_rnn_create(s.ctx, "rnn", TG_F64, 3, 2, &layer));
    check_works(tg_variable_assign(layer.bias, 0.25));
    tg_function *f = tg_function_create(s.ctx, simple_step, &layer, NULL);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F64, TG_DIMS(4, 3),
                                    tg_seeded(tg_normal(0, 1), 1));
    tg_tensor *h = tg_tensor_create(s.ctx, TG_F64, TG_DIMS(4, 2),
                                    tg_seeded(tg_normal(0, 1), 2));
    tg_tensor *y[2] = {NULL};
    check_works(tg_call(f, TG_ARGS(x, h), TG_RESULTS(&y[0], &y[1])));
    for (int i = 0; i < 8; i++)
        cr_assert_float_eq(((const double *)tg_tensor_data(y[0]))[i],
                           ((const double *)tg_tensor_data(y[1]))[i], 1e-15);
    for (int i = 0; i < 2; i++)
        tg_tensor_release(y[i]);
    tg_tensor_release(x);
    tg_tensor_release(h);
    tg_function_release(f);
    tg_bundle_release(&tg_rnn_layer_type, &layer);
    session_end(&s);
}

Test(layers, a_sequence_has_the_bits_of_its_steps)
{
    check_modes(check_recurrent);
}

/* -- Attention ------------------------------------------------------------- */

static void attend(tg_trace *t, const tg_value *in, void *user)
{
    const tg_attention_layer *layer = user;
    const tg_value mask = tg_causal_mask(tg_value_dim(in[0], 1));
    const tg_value none = tg_ne(mask, mask);
    const tg_value first = tg_slice(in[0], 1, 0, 1, 1);
    tg_return(t, tg_slice(tg_masked_attention(in[0], in[0], mask, layer, 2), 1,
                          0, 1, 1),
              tg_attention(first, first, layer, 2),
              tg_masked_attention(in[0], in[0], none, layer, 2));
}

/* The first position sees only itself; a position that sees none sees the mean
   of all. */
static void check_attention(session *s)
{
    tg_attention_layer layer;
    check_works(tg_attention_create(s->ctx, "a", TG_F32, 8, 8, &layer));
    tg_function *f = tg_function_create(
        s->ctx, attend, &layer,
        TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN, TG_UNKNOWN, 8)));
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(2, 5, 8),
                                    tg_seeded(tg_normal(0, 1), 1));
    tg_tensor *is = NULL, *want = NULL, *mean = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&is, &want, &mean)));
    cr_assert_eq(tg_tensor_count(is), 16);
    for (int i = 0; i < 16; i++)
        cr_assert_float_eq(tg_tensor_f32(is)[i], tg_tensor_f32(want)[i], 1e-5);
    for (int i = 0; i < 32; i++)
        cr_assert_float_eq(tg_tensor_f32(mean)[i], tg_tensor_f32(mean)[i + 8],
                           1e-5);
    tg_tensor_release(mean);
    tg_tensor_release(want);
    tg_tensor_release(is);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_bundle_release(&tg_attention_layer_type, &layer);
}

Test(layers, attention_sees_what_the_mask_allows)
{
    in_modes(check_attention);
}

/* -- Errors ---------------------------------------------------------------- */

typedef struct misuse {
    all_layers all;
    int kind;
} misuse;

static void misuse_layers(tg_trace *t, const tg_value *in, void *user)
{
    const misuse *m = user;
    const all_layers *l = &m->all;
    const tg_value x = in[0]; /* f32[2,5] */
    const tg_lstm_state none = {{0, 0}, {0, 0}};
    const tg_value whole = tg_iota(TG_I32, TG_DIMS(3), 0);
    const tg_lstm_layer bad_lstm = {l->lstm.input_weights, l->dense.weights,
                                    NULL};
    switch (m->kind) {
    case 0:
        tg_dense(x, &l->dense);
        break;
    case 1:
        tg_dense(x, (const tg_dense_layer *)NULL);
        break;
    case 2:
        tg_dense(tg_sum(x, TG_ALL_AXES), &l->dense);
        break;
    case 3:
        tg_embedding(x, &l->words);
        break;
    case 4:
        tg_batch_norm(x, &l->batch, true, 0.1, 1e-5);
        break;
    case 5:
        tg_batch_norm(whole, &l->batch, true, 0.1, 1e-5);
        break;
    case 6:
        tg_dropout(x, 1, 7, true);
        break;
    case 7:
        tg_dropout(whole, 0.5, 7, true);
        break;
    case 8:
        tg_lstm_cell(x, none, &l->lstm);
        break;
    case 9:
        tg_lstm(tg_sum(x, TG_AXES(0)), none, &l->lstm, NULL);
        break;
    case 10:
        tg_lstm_cell(x, none, &bad_lstm);
        break;
    case 11:
        tg_gru(x, (tg_value){0, 0}, &l->gru, NULL);
        break;
    case 12:
        tg_attention(tg_broadcast(0.0f, TG_DIMS(3, 4)),
                     tg_broadcast(0.0f, TG_DIMS(3, 6)), &l->attention, 3);
        break;
    case 13:
        tg_attention(tg_sum(x, TG_AXES(0)), x, &l->attention, 2);
        break;
    case 14:
        tg_dense(x, &(tg_dense_layer){NULL, NULL});
        break;
    default:
        tg_causal_mask(-3);
    }
    tg_return(t, 0);
}

Test(layers, misuse_is_an_error_that_names_it)
{
    static const struct {
        tg_status status;
        const char *texts[2];
    } wanted[] = {
        {TG_ERROR_SHAPE,
         {"dense: f32[2,5] x f32[3,2]", "inner dimensions 5 and 3 differ"}},
        {TG_ERROR_INVALID_ARGUMENT, {"dense", "the layer is NULL"}},
        {TG_ERROR_SHAPE, {"dense: f32[] x f32[3,2]", "axis of features"}},
        {TG_ERROR_DTYPE, {"embedding", "integer"}},
        {TG_ERROR_SHAPE, {"batch_norm", "f32[5]"}},
        {TG_ERROR_DTYPE, {"batch_norm", "float"}},
        {TG_ERROR_INVALID_ARGUMENT, {"dropout", "[0, 1)"}},
        {TG_ERROR_DTYPE, {"dropout", "float"}},
        {TG_ERROR_SHAPE, {"lstm_cell: f32[2,5] x f32[3,8]", "inner"}},
        {TG_ERROR_SHAPE, {"lstm: f32[5]", "time"}},
        {TG_ERROR_SHAPE, {"lstm_cell: f32[3,2]", "[units, 4 * units]"}},
        {TG_ERROR_SHAPE, {"gru: f32[2,5] x f32[3,6]", "inner"}},
        {TG_ERROR_SHAPE, {"attention: f32[3,4]", "3 heads"}},
        {TG_ERROR_SHAPE, {"attention", "positions"}},
        {TG_ERROR_INVALID_ARGUMENT, {"dense", "NULL"}},
        {TG_ERROR_SHAPE, {"causal_mask", "-3"}},
    };
    session s;
    session_begin(&s);
    misuse m;
    create_all(s.ctx, TG_F32, &m.all);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        m.kind = (int)i;
        tg_function *f = tg_function_create(s.ctx, misuse_layers, &m, NULL);
        tg_tensor *x =
            tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 5), tg_ones());
        cr_assert_eq(tg_call(f, TG_ARGS(x), TG_RESULTS(NULL)),
                     wanted[i].status, "%zu: %s", i, tg_error(s.ctx));
        cr_assert_not_null(strstr(tg_error(s.ctx), __FILE__), "%zu", i);
        for (int k = 0; k < 2; k++)
            cr_assert_not_null(strstr(tg_error(s.ctx), wanted[i].texts[k]),
                               "%zu: %s", i, tg_error(s.ctx));
        tg_tensor_release(x);
        tg_function_release(f);
    }
    tg_bundle_release(&all_layers_type, &m.all);
    session_end(&s);
}
