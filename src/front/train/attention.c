/* SPDX-License-Identifier: MIT */
/*
 * attention.c - multi-head attention.
 */
#include <float.h>
#include <math.h>

#include "front/ops/ops_nn.h"
#include "front/train/layer_parts.h"

/* Exchanges axes -3 and -2. */
static tgi_ref swap_rows_and_heads(tgi_builder *b, tgi_ref x)
{
    int perm[TG_MAX_RANK];
    if (!x)
        return 0;
    const int rank = tgi_graph_shape(b->graph, x)->rank;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 3] = rank - 2;
    perm[rank - 2] = rank - 3;
    return tgi_build_transpose(b, x, rank, perm);
}

/* [..., rows, features] to [..., heads, rows, features / heads]. */
static tgi_ref split_heads(tgi_builder *b, tgi_ref x, int n_heads)
{
    if (!x)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, x);
    const tgi_dim width = shape->dims[shape->rank - 1];
    tgi_dim dims[TG_MAX_RANK + 1];
    if (!tgi_dim_is_known(width) || n_heads <= 0 || width % n_heads)
        return tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                              "%d heads do not divide the features", n_heads);
    for (int i = 0; i + 1 < shape->rank; i++)
        dims[i] = shape->dims[i];
    dims[shape->rank - 1] = n_heads;
    dims[shape->rank] = width / n_heads;
    return swap_rows_and_heads(
        b, tgi_build_reshape(b, x, shape->rank + 1, dims));
}

/* The reverse. */
static tgi_ref merge_heads(tgi_builder *b, tgi_ref x)
{
    tgi_ref rows = swap_rows_and_heads(b, x);
    if (!rows)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, rows);
    tgi_dim dims[TG_MAX_RANK];
    for (int i = 0; i + 2 < shape->rank; i++)
        dims[i] = shape->dims[i];
    dims[shape->rank - 2] =
        shape->dims[shape->rank - 2] * shape->dims[shape->rank - 1];
    return tgi_build_reshape(b, rows, shape->rank - 1, dims);
}

/* Scores where the mask is true, else a number whose exponential is 0 beside
   any other. `mask` may be 0. */
static tgi_ref mask_scores(tgi_builder *b, tgi_ref scores, tgi_ref mask)
{
    if (!mask || !scores)
        return scores;
    tgi_ref masked =
        tgi_build_3(b, TGI_OP_SELECT, mask, scores,
                    tgi_build_number_like(b, scores, (double)-FLT_MAX));
    return tgi_build_same_shape(b, scores, masked, "scores and mask") ? masked
                                                                      : 0;
}

static tgi_ref build_attention(tgi_operation *o, tgi_ref x, tgi_ref context,
                               tgi_ref mask, const tg_attention_layer *layer,
                               int n_heads)
{
    tgi_builder *b = &o->b;
    if (!x || !context)
        return 0;
    if (tgi_graph_shape(b->graph, x)->rank < 2 ||
        tgi_graph_shape(b->graph, context)->rank < 2)
        return tgi_build_fail(b, TG_ERROR_SHAPE, (tgi_ref[]){x, context}, 2,
                              "needs axes of positions and features");
    tgi_ref q = split_heads(b,
                            tgi_layer_project(o, x, layer->query.weights,
                                              layer->query.bias),
                            n_heads);
    tgi_ref k = split_heads(b,
                            tgi_layer_project(o, context, layer->key.weights,
                                              layer->key.bias),
                            n_heads);
    tgi_ref v = split_heads(b,
                            tgi_layer_project(o, context,
                                              layer->value.weights,
                                              layer->value.bias),
                            n_heads);
    if (!q || !k || !v)
        return 0;
    const tgi_shape *shape = tgi_graph_shape(b->graph, q);
    const double width = (double)shape->dims[shape->rank - 1];
    tgi_ref scores = tgi_build_matmul(b, q, k, TG_TRANSPOSE_B);
    scores = tgi_build_2(b, TGI_OP_MUL, scores,
                         tgi_build_number_like(b, q, 1 / sqrt(width)));
    tgi_ref weights = tgi_build_softmax(b, mask_scores(b, scores, mask), -1);
    tgi_ref heads = tgi_build_matmul(b, weights, v, TG_MATMUL_PLAIN);
    return tgi_layer_project(o, merge_heads(b, heads), layer->output.weights,
                             layer->output.bias);
}

/* `mask` may be NULL. */
static tg_value attend(const char *name, tg_operand x, tg_operand context,
                       const tg_operand *mask, const tg_attention_layer *layer,
                       int n_heads, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin_wide(&o, name, site) && tgi_layer_check(&o, layer)) {
        tgi_ref queries = tgi_operation_operand(&o, x);
        tgi_ref keys = tgi_operation_operand(&o, context);
        tgi_ref is_seen = mask ? tgi_operation_operand(&o, *mask) : 0;
        if (is_seen || !mask)
            result = build_attention(&o, queries, keys, is_seen, layer,
                                     n_heads);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_attention_at(tg_operand x, tg_operand context,
                         const tg_attention_layer *layer, int n_heads,
                         tg_site site)
{
    return attend("attention", x, context, NULL, layer, n_heads, site);
}

tg_value tg_masked_attention_at(tg_operand x, tg_operand context,
                                tg_operand mask,
                                const tg_attention_layer *layer, int n_heads,
                                tg_site site)
{
    return attend("masked_attention", x, context, &mask, layer, n_heads, site);
}

tg_value tg_causal_mask_at(int64_t n, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "causal_mask", site)) {
        const tgi_dim dims[] = {n, n};
        tgi_ref key = tgi_build_iota(&o.b, TG_I32, 2, dims, 1);
        tgi_ref query = key ? tgi_build_iota(&o.b, TG_I32, 2, dims, 0) : 0;
        result = tgi_build_2(&o.b, TGI_OP_LE, key, query);
    }
    return tgi_operation_end(&o, result);
}
