/* SPDX-License-Identifier: MIT */
/*
 * onednn.c - oneDNN 2: sgemm for plain products; for layers, its matmul
 * primitive with bias and relu, row-major. A primitive is compiled code, so it
 * is created once and cached. Threads are OpenMP's.
 */
#include <string.h>

#include "library.h"
#include "onednn.h"
#include "peers.h"

onednn_functions dnnl;
void *onednn_engine, *onednn_stream;

bool onednn_open(reason *out_why)
{
    const library_function functions[] = {
        {"dnnl_sgemm", &dnnl.sgemm},
        {"dnnl_engine_create", &dnnl.engine_create},
        {"dnnl_stream_create", &dnnl.stream_create},
        {"dnnl_stream_wait", &dnnl.stream_wait},
        {"dnnl_memory_desc_init_by_strides", &dnnl.memory_desc_init},
        {"dnnl_memory_desc_init_by_tag", &dnnl.memory_desc_init_tag},
        {"dnnl_memory_create", &dnnl.memory_create},
        {"dnnl_memory_set_data_handle", &dnnl.memory_set_data},
        {"dnnl_memory_destroy", &dnnl.memory_destroy},
        {"dnnl_matmul_desc_init", &dnnl.matmul_desc_init},
        {"dnnl_convolution_forward_desc_init", &dnnl.conv_forward_desc_init},
        {"dnnl_convolution_backward_data_desc_init",
         &dnnl.conv_images_desc_init},
        {"dnnl_convolution_backward_weights_desc_init",
         &dnnl.conv_filters_desc_init},
        {"dnnl_reorder_primitive_desc_create", &dnnl.reorder_desc_create},
        {"dnnl_primitive_desc_query_md", &dnnl.query_memory_desc},
        {"dnnl_primitive_attr_create", &dnnl.attr_create},
        {"dnnl_primitive_attr_set_post_ops", &dnnl.attr_set_post_ops},
        {"dnnl_primitive_attr_destroy", &dnnl.attr_destroy},
        {"dnnl_post_ops_create", &dnnl.post_ops_create},
        {"dnnl_post_ops_append_eltwise", &dnnl.post_ops_append_eltwise},
        {"dnnl_post_ops_destroy", &dnnl.post_ops_destroy},
        {"dnnl_primitive_desc_create", &dnnl.primitive_desc_create},
        {"dnnl_primitive_desc_destroy", &dnnl.primitive_desc_destroy},
        {"dnnl_primitive_create", &dnnl.primitive_create},
        {"dnnl_primitive_destroy", &dnnl.primitive_destroy},
        {"dnnl_primitive_execute", &dnnl.execute},
        {NULL, NULL},
    };
    if (!library_open("libdnnl.so.2", functions, out_why))
        return false;
    if (dnnl.engine_create(&onednn_engine, DNNL_CPU, 0) == DNNL_SUCCESS &&
        dnnl.stream_create(&onednn_stream, onednn_engine, 0) == DNNL_SUCCESS)
        return true;
    reason_set(out_why, "oneDNN has no engine for this CPU");
    return false;
}

/* -- Plain products -------------------------------------------------------- */

/* Product i of the batch. */
static void multiply(const kernel_buffers *b, int64_t i)
{
    const int64_t m = b->rows, k = b->inner, n = b->columns;
    const float *left = b->in[0], *right = b->in[1];
    float *out = b->out[0];
    dnnl.sgemm('N', 'N', m, n, k, 1, left + i * m * k, k, right + i * k * n, n,
               0, out + i * m * n, n);
}

void onednn_matmul(const kernel_buffers *b)
{
    /* Outside a parallel region, so that the call can use threads. */
    if (b->batch == 1) {
        multiply(b, 0);
        return;
    }
#pragma omp parallel for
    for (int64_t i = 0; i < b->batch; i++)
        multiply(b, i);
}

/* -- Layers ---------------------------------------------------------------- */

enum { SRC, WEIGHTS, BIAS, DST, LAYER_MEMORIES };

/* The parameters that a layer is compiled for. */
typedef struct layer_key {
    int64_t rows, in, out;
    int threads;
    bool has_relu;
} layer_key;

typedef struct layer {
    layer_key key;
    void *primitive;
    void *memories[LAYER_MEMORIES];
} layer;

static void layer_deinit(layer *l)
{
    for (int i = 0; i < LAYER_MEMORIES; i++)
        if (l->memories[i])
            dnnl.memory_destroy(l->memories[i]);
    if (l->primitive)
        dnnl.primitive_destroy(l->primitive);
    *l = (layer){.primitive = NULL};
}

/* The post-operations of a layer; NULL on failure. */
static void *create_attr(bool has_relu)
{
    void *attr = NULL, *post_ops = NULL;
    bool did = dnnl.attr_create(&attr) == DNNL_SUCCESS &&
               dnnl.post_ops_create(&post_ops) == DNNL_SUCCESS;
    if (did && has_relu)
        did = dnnl.post_ops_append_eltwise(post_ops, 1, DNNL_ELTWISE_RELU, 0,
                                           0) == DNNL_SUCCESS;
    did = did && dnnl.attr_set_post_ops(attr, post_ops) == DNNL_SUCCESS;
    if (post_ops)
        dnnl.post_ops_destroy(post_ops);
    if (did)
        return attr;
    if (attr)
        dnnl.attr_destroy(attr);
    return NULL;
}

static bool create_primitive(layer *l, const memory_desc *descs)
{
    operation_desc what;
    void *desc = NULL, *attr = create_attr(l->key.has_relu);
    const bool did =
        attr &&
        dnnl.matmul_desc_init(&what, &descs[SRC], &descs[WEIGHTS],
                              &descs[BIAS], &descs[DST]) == DNNL_SUCCESS &&
        dnnl.primitive_desc_create(&desc, &what, attr, onednn_engine, NULL) ==
            DNNL_SUCCESS &&
        dnnl.primitive_create(&l->primitive, desc) == DNNL_SUCCESS;
    if (desc)
        dnnl.primitive_desc_destroy(desc);
    if (attr)
        dnnl.attr_destroy(attr);
    return did;
}

static bool layer_init(layer *l, const layer_key *key)
{
    const int64_t dims[LAYER_MEMORIES][2] = {
        [SRC] = {key->rows, key->in},
        [WEIGHTS] = {key->in, key->out},
        [BIAS] = {1, key->out},
        [DST] = {key->rows, key->out},
    };
    memory_desc descs[LAYER_MEMORIES];
    bool did = true;
    *l = (layer){.key = *key};
    for (int i = 0; i < LAYER_MEMORIES && did; i++)
        did = dnnl.memory_desc_init(&descs[i], 2, dims[i], DNNL_F32, NULL) ==
                  DNNL_SUCCESS &&
              dnnl.memory_create(&l->memories[i], &descs[i], onednn_engine,
                                 NULL) == DNNL_SUCCESS;
    if (did && create_primitive(l, descs))
        return true;
    layer_deinit(l);
    return false;
}

static bool has_key(const layer *l, const layer_key *key)
{
    return l->primitive && l->key.rows == key->rows && l->key.in == key->in &&
           l->key.out == key->out && l->key.threads == key->threads &&
           l->key.has_relu == key->has_relu;
}

/* A cached layer, or a new one that replaces the oldest; NULL on failure. */
static layer *layer_for(const layer_key *key)
{
    enum { CACHED = 4 };
    static layer cache[CACHED];
    static int next;
    for (int i = 0; i < CACHED; i++)
        if (has_key(&cache[i], key))
            return &cache[i];
    layer *l = &cache[next];
    next = (next + 1) % CACHED;
    layer_deinit(l);
    return layer_init(l, key) ? l : NULL;
}

/* On failure the results are not written, so that verification fails. */
static void run_layer(const layer_key *key, const void *const *in, void *out)
{
    static const int names[LAYER_MEMORIES] = {
        [SRC] = DNNL_ARG_SRC,
        [WEIGHTS] = DNNL_ARG_WEIGHTS,
        [BIAS] = DNNL_ARG_BIAS,
        [DST] = DNNL_ARG_DST,
    };
    layer *l = layer_for(key);
    if (!l)
        return;
    argument args[LAYER_MEMORIES];
    for (int i = 0; i < LAYER_MEMORIES; i++) {
        args[i] = (argument){names[i], l->memories[i]};
        void *data;
        if (i == DST)
            data = out;
        else
            memcpy(&data, &in[i], sizeof(data));
        dnnl.memory_set_data(l->memories[i], data);
    }
    dnnl.execute(l->primitive, onednn_stream, LAYER_MEMORIES, args);
    dnnl.stream_wait(onednn_stream);
}

void onednn_dense(const kernel_buffers *b)
{
    run_layer(&(layer_key){b->rows, b->inner, b->columns, b->threads, true},
              b->in, b->out[0]);
}

void onednn_mlp(const kernel_buffers *b)
{
    float *one = b->scratch, *two = one + b->rows * MLP_FIRST;
    const int64_t rows = b->rows;
    run_layer(&(layer_key){rows, MLP_IN, MLP_FIRST, b->threads, true}, b->in,
              one);
    run_layer(&(layer_key){rows, MLP_FIRST, MLP_SECOND, b->threads, true},
              (const void *[]){one, b->in[3], b->in[4]}, two);
    run_layer(&(layer_key){rows, MLP_SECOND, MLP_OUT, b->threads, false},
              (const void *[]){two, b->in[5], b->in[6]}, b->out[0]);
}
