/* SPDX-License-Identifier: MIT */
/*
 * ops_norm.h - products, normalisation and attention of neural networks, as
 * functions of their parameters. layers.h has layers that own parameters;
 * tg_layer_norm is in ops_nn.h.
 */
#ifndef TGJIT_OPS_NORM_H
#define TGJIT_OPS_NORM_H

#include "ops.h"
#include "ops_conv.h"

TG_BEGIN_DECLS

/* alpha * a b + beta * c, for matrices a and b, transposed as tg_matmul_flags
   say, and a c that broadcasts to their product. */
TG_API tg_value tg_gemm_at(tg_operand a, tg_operand b, tg_operand c,
                           double alpha, double beta, int flags, tg_site site);

/* -- Normalisation --------------------------------------------------------- */

/* x * rsqrt(mean(x * x) + epsilon) * scale, along the last axis. */
TG_API tg_value tg_rms_norm_at(tg_operand x, tg_operand scale, double epsilon,
                               tg_site site);

/*
 * (x - mean) * rsqrt(variance + epsilon) * scale + shift for x [example,
 * spatial …, channel], or with channels first. Mean and variance are those of
 * an example, over the spatial axes and each of n_groups groups of channels;
 * tg_instance_norm: each channel. Scale and shift are vectors, by channel.
 */
TG_API tg_value tg_group_norm_at(tg_operand x, tg_operand scale,
                                 tg_operand shift, int64_t n_groups,
                                 double epsilon, tg_layout layout,
                                 tg_site site);
TG_API tg_value tg_instance_norm_at(tg_operand x, tg_operand scale,
                                    tg_operand shift, double epsilon,
                                    tg_layout layout, tg_site site);

/*
 * x / (bias + alpha / size * sum(x * x))^beta, where the sum is over `size`
 * neighbouring channels: (size - 1) / 2 before and size / 2 after.
 */
TG_API tg_value tg_local_response_norm_at(tg_operand x, int64_t size,
                                          double alpha, double beta,
                                          double bias, tg_layout layout,
                                          tg_site site);

/* -- Attention ------------------------------------------------------------- */

typedef struct tg_attention_options {
    size_t struct_bytes; /* set by the macros */
    double scale;        /* of the scores; 0 means 1 / sqrt(width) */
    bool is_causal;      /* query i sees keys up to first_query + i */
    int64_t first_query; /* position of query 0 among the keys */
} tg_attention_options;

/*
 * softmax(scale * q kᵀ) v over the last two axes: q […, queries, width],
 * k […, keys, width], v [… , keys, values]. A bool mask that broadcasts to the
 * scores […, queries, keys] tells which keys a query sees; a float mask is
 * added to the scores. A query that sees no key gets the mean of v.
 */
TG_API tg_value tg_dot_product_attention_at(tg_operand q, tg_operand k,
                                            tg_operand v,
                                            const tg_operand *mask,
                                            const tg_attention_options *options,
                                            tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_gemm(a, b, c, alpha, beta, flags) \
    tg_gemm_at(TG_IN(a), TG_IN(b), TG_IN(c), alpha, beta, flags, TG_HERE)
#define tg_rms_norm(x, scale, epsilon) \
    tg_rms_norm_at(TG_IN(x), TG_IN(scale), epsilon, TG_HERE)
#define tg_group_norm(x, scale, shift, n_groups, epsilon, layout) \
    tg_group_norm_at(TG_IN(x), TG_IN(scale), TG_IN(shift), n_groups, epsilon, \
                     layout, TG_HERE)
#define tg_instance_norm(x, scale, shift, epsilon, layout) \
    tg_instance_norm_at(TG_IN(x), TG_IN(scale), TG_IN(shift), epsilon, layout, \
                        TG_HERE)
#define tg_local_response_norm(x, size, alpha, beta, bias, layout) \
    tg_local_response_norm_at(TG_IN(x), size, alpha, beta, bias, layout, \
                              TG_HERE)
#define TG_ATTENTION_OPTIONS_(...) \
    &(const tg_attention_options) \
    { \
        .struct_bytes = sizeof(tg_attention_options), __VA_ARGS__ \
    }
#define tg_dot_product_attention(q, k, v, ...) \
    tg_dot_product_attention_at(TG_IN(q), TG_IN(k), TG_IN(v), NULL, \
                                TG_ATTENTION_OPTIONS_(__VA_ARGS__), TG_HERE)
#define tg_masked_dot_product_attention(q, k, v, mask, ...) \
    tg_dot_product_attention_at(TG_IN(q), TG_IN(k), TG_IN(v), \
                                (const tg_operand[]){TG_IN(mask)}, \
                                TG_ATTENTION_OPTIONS_(__VA_ARGS__), TG_HERE)
#else
inline tg_value tg_gemm(tg_in a, tg_in b, tg_in c, double alpha, double beta,
                        int flags, tg_site site = TG_HERE)
{
    return tg_gemm_at(a, b, c, alpha, beta, flags, site);
}
inline tg_value tg_rms_norm(tg_in x, tg_in scale, double epsilon,
                            tg_site site = TG_HERE)
{
    return tg_rms_norm_at(x, scale, epsilon, site);
}
inline tg_value tg_group_norm(tg_in x, tg_in scale, tg_in shift,
                              int64_t n_groups, double epsilon,
                              tg_layout layout = TG_CHANNELS_LAST,
                              tg_site site = TG_HERE)
{
    return tg_group_norm_at(x, scale, shift, n_groups, epsilon, layout, site);
}
inline tg_value tg_instance_norm(tg_in x, tg_in scale, tg_in shift,
                                 double epsilon,
                                 tg_layout layout = TG_CHANNELS_LAST,
                                 tg_site site = TG_HERE)
{
    return tg_instance_norm_at(x, scale, shift, epsilon, layout, site);
}
inline tg_value tg_local_response_norm(tg_in x, int64_t size, double alpha,
                                       double beta, double bias,
                                       tg_layout layout = TG_CHANNELS_LAST,
                                       tg_site site = TG_HERE)
{
    return tg_local_response_norm_at(x, size, alpha, beta, bias, layout, site);
}
inline tg_value tg_dot_product_attention(tg_in q, tg_in k, tg_in v,
                                         tg_attention_options options = {},
                                         tg_site site = TG_HERE)
{
    options.struct_bytes = sizeof(options);
    return tg_dot_product_attention_at(q, k, v, nullptr, &options, site);
}
inline tg_value
tg_masked_dot_product_attention(tg_in q, tg_in k, tg_in v, tg_in mask,
                                tg_attention_options options = {},
                                tg_site site = TG_HERE)
{
    const tg_operand operand = mask;
    options.struct_bytes = sizeof(options);
    return tg_dot_product_attention_at(q, k, v, &operand, &options, site);
}
#endif

#endif /* TGJIT_OPS_NORM_H */
