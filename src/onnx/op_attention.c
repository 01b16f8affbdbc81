/* SPDX-License-Identifier: MIT */
/*
 * op_attention.c - Attention and RotaryEmbedding.
 */
#include "onnx_known.h"

/* [batch, length, heads * width] as [batch, heads, length, width]. */
static tg_value split_heads(const tgi_onnx_call *c, tg_value x, int64_t heads)
{
    if (tg_value_rank(x) != 3)
        return x;
    const int64_t all = tg_value_dim(x, 2);
    if (heads < 1 || !tg_dim_is_known(all) || all % heads) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%lld numbers for %lld heads",
                      (long long)all, (long long)heads);
        return x;
    }
    const int64_t dims[] = {tg_value_dim(x, 0), tg_value_dim(x, 1), heads,
                            all / heads};
    const tg_value y = tg_reshape_at(TG_IN(x), 4, dims, c->site);
    return tg_transpose_at(TG_IN(y), 4, (const int[]){0, 2, 1, 3}, c->site);
}

static tg_value merge_heads(const tgi_onnx_call *c, tg_value x)
{
    const tg_value y =
        tg_transpose_at(TG_IN(x), 4, (const int[]){0, 2, 1, 3}, c->site);
    return tg_flatten_at(TG_IN(y), 2, 3, c->site);
}

/* Appends x to input `past`, if there is one. */
static tg_value append(const tgi_onnx_call *c, size_t past, tg_value x)
{
    if (!tgi_onnx_has(c, past))
        return x;
    const tg_operand parts[] = {TG_IN(tgi_onnx_in(c, past)), TG_IN(x)};
    return tg_concat_at(2, parts, 2, c->site);
}

/* Repeats heads of keys and values, so that there is one per query head. */
static tg_value match_heads(const tgi_onnx_call *c, tg_value x, tg_value q)
{
    const int64_t n = tg_value_dim(x, 1), n_queries = tg_value_dim(q, 1);
    if (n == n_queries || tgi_onnx_failed(c))
        return x;
    if (n < 1 || n_queries < 1 || n_queries % n) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%lld heads of keys for %lld",
                      (long long)n, (long long)n_queries);
        return x;
    }
    return tg_repeat_at(TG_IN(x), n_queries / n, 1, c->site);
}

/* Inputs: Q, K, V, attn_mask, past_key, past_value. */
void tgi_onnx_build_attention(const tgi_onnx_call *c)
{
    tg_attention_options o = TG_OPTIONS_INIT(tg_attention_options);
    const bool is_merged = tgi_onnx_in_rank(c, 0) == 3;
    const int64_t q_heads = tgi_onnx_int(c, "q_num_heads", 0);
    const int64_t kv_heads = tgi_onnx_int(c, "kv_num_heads", 0);
    const tg_value q = split_heads(c, tgi_onnx_in(c, 0), q_heads);
    tg_value k = split_heads(c, tgi_onnx_in(c, 1), kv_heads);
    tg_value v = split_heads(c, tgi_onnx_in(c, 2), kv_heads);
    if (tgi_onnx_float(c, "softcap", 0) != 0 || tgi_onnx_has_out(c, 3)) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "softcap and the product of Q and K are unsupported");
        return;
    }
    if (tgi_onnx_has(c, 4) && tgi_onnx_int(c, "is_causal", 0)) {
        o.first_query = tg_value_dim(tgi_onnx_in(c, 4), 2);
        if (!tg_dim_is_known(o.first_query)) {
            tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                          "a causal mask after an unknown number of keys");
            return;
        }
    }
    k = append(c, 4, k);
    v = append(c, 5, v);
    tgi_onnx_out(c, 1, k);
    tgi_onnx_out(c, 2, v);
    o.is_causal = tgi_onnx_int(c, "is_causal", 0);
    o.scale = tgi_onnx_float(c, "scale", 0);
    const tg_operand mask =
        TG_IN(tgi_onnx_has(c, 3) ? tgi_onnx_in(c, 3) : q);
    const tg_value y = tg_dot_product_attention_at(
        TG_IN(q), TG_IN(match_heads(c, k, q)), TG_IN(match_heads(c, v, q)),
        tgi_onnx_has(c, 3) ? &mask : NULL, &o, c->site);
    tgi_onnx_out(c, 0, is_merged ? merge_heads(c, y) : y);
}

/* -- Rotary embedding ------------------------------------------------------ */

/* cos or sin caches, one row per position; input 3 says which rows. */
static tg_value cache(const tgi_onnx_call *c, size_t i)
{
    tg_value x = tgi_onnx_in(c, i);
    if (tgi_onnx_has(c, 3))
        x = tg_gather_at(TG_IN(x), TG_IN(tgi_onnx_in(c, 3)), 0, TG_GATHER_CHECK,
                         c->site);
    return tg_expand_dims_at(TG_IN(x), 1, c->site); /* [batch, 1, length, n] */
}

/* Rotates pairs of the first 2 n numbers of each head by the angles of the
   position: halves, or neighbours if interleaved. */
void tgi_onnx_build_rotary_embedding(const tgi_onnx_call *c)
{
    const bool is_merged = tgi_onnx_in_rank(c, 0) == 3;
    const bool is_interleaved = tgi_onnx_int(c, "interleaved", 0);
    const tg_value x =
        split_heads(c, tgi_onnx_in(c, 0), tgi_onnx_int(c, "num_heads", 0));
    const int64_t width = tg_value_dim(x, 3);
    int64_t rotated = tgi_onnx_int(c, "rotary_embedding_dim", 0);
    rotated = rotated ? rotated : width;
    if (tgi_onnx_failed(c))
        return;
    if (tg_value_rank(x) != 4 || !tg_dim_is_known(width) || rotated < 2 ||
        rotated > width || rotated % 2) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "%lld of %lld numbers are rotated",
                      (long long)rotated, (long long)width);
        return;
    }
    const tg_value cosines = cache(c, 1), sines = cache(c, 2);
    const tg_value part =
        tg_slice_at(TG_IN(x), 3, 0, rotated, 1, c->site);
    tg_value a, b, y;
    if (is_interleaved) {
        a = tg_slice_at(TG_IN(part), 3, 0, TG_END, 2, c->site);
        b = tg_slice_at(TG_IN(part), 3, 1, TG_END, 2, c->site);
    } else {
        a = tg_slice_at(TG_IN(part), 3, 0, rotated / 2, 1, c->site);
        b = tg_slice_at(TG_IN(part), 3, rotated / 2, TG_END, 1, c->site);
    }
    const tg_operand turned[] = {
        TG_IN(F2(sub, F2(mul, a, cosines), F2(mul, b, sines))),
        TG_IN(F2(add, F2(mul, a, sines), F2(mul, b, cosines)))};
    if (is_interleaved) {
        y = tg_stack_at(-1, turned, 2, c->site);
        y = tg_flatten_at(TG_IN(y), 3, 4, c->site);
    } else {
        y = tg_concat_at(3, turned, 2, c->site);
    }
    if (rotated < width) {
        const tg_operand parts[] = {
            TG_IN(y),
            TG_IN(tg_slice_at(TG_IN(x), 3, rotated, TG_END, 1, c->site))};
        y = tg_concat_at(3, parts, 2, c->site);
    }
    tgi_onnx_out(c, 0, is_merged ? merge_heads(c, y) : y);
}
