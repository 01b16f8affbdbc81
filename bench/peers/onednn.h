/* SPDX-License-Identifier: MIT */
/*
 * onednn.h - the part of the interface of oneDNN 2 that the peers use. It is
 * declared here because the library is loaded at run time, if it is installed.
 */
#ifndef BENCH_PEERS_ONEDNN_H
#define BENCH_PEERS_ONEDNN_H

#include <stddef.h>
#include <stdint.h>

enum {
    DNNL_SUCCESS = 0,
    DNNL_CPU = 1,
    DNNL_F32 = 3,
    DNNL_FORMAT_ANY = 1,
    DNNL_FORWARD = 64,
    DNNL_CONV_DIRECT = 1,
    DNNL_ELTWISE_RELU = 0x1f,
    DNNL_ARG_SRC = 1,
    DNNL_ARG_DST = 17,
    DNNL_ARG_WEIGHTS = 33,
    DNNL_ARG_BIAS = 41,
    DNNL_ARG_DIFF_SRC = 129,
    DNNL_ARG_DIFF_DST = 145,
    DNNL_ARG_DIFF_WEIGHTS = 161,
    DNNL_QUERY_WEIGHTS = 131,
    DNNL_QUERY_DIFF_WEIGHTS = 132
};

/* Opaque descriptors, larger than the library's. */
typedef struct memory_desc {
    _Alignas(16) char bytes[1024];
} memory_desc;

typedef struct operation_desc {
    _Alignas(16) char bytes[8192];
} operation_desc;

typedef struct argument {
    int which;
    void *memory;
} argument;

typedef struct onednn_functions {
    int (*sgemm)(char transpose_a, char transpose_b, int64_t m, int64_t n,
                 int64_t k, float alpha, const float *a, int64_t a_stride,
                 const float *b, int64_t b_stride, float beta, float *c,
                 int64_t c_stride);
    int (*engine_create)(void **out_engine, int kind, size_t index);
    int (*stream_create)(void **out_stream, void *engine, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*memory_desc_init)(memory_desc *out_desc, int rank,
                            const int64_t *dims, int dtype,
                            const int64_t *strides);
    int (*memory_desc_init_tag)(memory_desc *out_desc, int rank,
                                const int64_t *dims, int dtype, int tag);
    int (*memory_create)(void **out_memory, const memory_desc *desc,
                         void *engine, void *data);
    int (*memory_set_data)(void *memory, void *data);
    int (*memory_destroy)(void *memory);
    int (*matmul_desc_init)(operation_desc *out_desc, const memory_desc *src,
                            const memory_desc *weights,
                            const memory_desc *bias, const memory_desc *dst);
    int (*conv_forward_desc_init)(
        operation_desc *out_desc, int kind, int algorithm,
        const memory_desc *src, const memory_desc *weights,
        const memory_desc *bias, const memory_desc *dst,
        const int64_t *strides, const int64_t *low, const int64_t *high);
    int (*conv_images_desc_init)(
        operation_desc *out_desc, int algorithm, const memory_desc *diff_src,
        const memory_desc *weights, const memory_desc *diff_dst,
        const int64_t *strides, const int64_t *low, const int64_t *high);
    int (*conv_filters_desc_init)(
        operation_desc *out_desc, int algorithm, const memory_desc *src,
        const memory_desc *diff_weights, const memory_desc *diff_bias,
        const memory_desc *diff_dst, const int64_t *strides,
        const int64_t *low, const int64_t *high);
    int (*reorder_desc_create)(void **out_desc, const memory_desc *from,
                               void *from_engine, const memory_desc *to,
                               void *to_engine, const void *attr);
    const memory_desc *(*query_memory_desc)(const void *desc, int what,
                                            int index);
    int (*attr_create)(void **out_attr);
    int (*attr_set_post_ops)(void *attr, void *post_ops);
    int (*attr_destroy)(void *attr);
    int (*post_ops_create)(void **out_post_ops);
    int (*post_ops_append_eltwise)(void *post_ops, float scale, int kind,
                                   float alpha, float beta);
    int (*post_ops_destroy)(void *post_ops);
    int (*primitive_desc_create)(void **out_desc, const void *what,
                                 const void *attr, void *engine,
                                 const void *hint);
    int (*primitive_desc_destroy)(void *desc);
    int (*primitive_create)(void **out_primitive, void *desc);
    int (*primitive_destroy)(void *primitive);
    int (*execute)(void *primitive, void *stream, int n_args,
                   const argument *args);
} onednn_functions;

extern onednn_functions dnnl;
extern void *onednn_engine, *onednn_stream;

#endif /* BENCH_PEERS_ONEDNN_H */
