/* SPDX-License-Identifier: MIT */
/*
 * onednn_conv.c - convolutions of oneDNN. Images and results stay as they are
 * (NHWC). Filters have the format that oneDNN prefers: every call converts
 * them, or their gradient. A primitive is compiled code, so it is created once
 * and cached. Threads are OpenMP's.
 */
#include <stdbool.h>
#include <string.h>

#include "onednn.h"
#include "peers.h"

typedef enum conv_kind { CONV_FORWARD, CONV_IMAGES, CONV_FILTERS } conv_kind;

/* The parameters that a convolution is compiled for. */
typedef struct conv_key {
    int64_t batch, side, n_in, n_out, groups;
    int threads;
    conv_kind kind;
} conv_key;

/* FILTERS are ours, PACKED those that the primitive uses. */
enum { IMAGES, FILTERS, RESULTS, PACKED, CONV_MEMORIES };

typedef struct conv {
    conv_key key;
    void *primitive;
    void *reorder; /* between FILTERS and PACKED */
    void *memories[CONV_MEMORIES];
} conv;

static void conv_deinit(conv *c)
{
    for (int i = 0; i < CONV_MEMORIES; i++)
        if (c->memories[i])
            dnnl.memory_destroy(c->memories[i]);
    if (c->reorder)
        dnnl.primitive_destroy(c->reorder);
    if (c->primitive)
        dnnl.primitive_destroy(c->primitive);
    *c = (conv){.primitive = NULL};
}

/* -- Descriptors ----------------------------------------------------------- */

/* Logical axes are those of oneDNN, N C H W; strides are those of NHWC. */
static bool init_images(memory_desc *out_desc, const conv_key *key,
                        int64_t depth)
{
    const int64_t side = key->side;
    const int64_t dims[] = {key->batch, depth, side, side};
    const int64_t strides[] = {side * side * depth, 1, side * depth, depth};
    return !dnnl.memory_desc_init(out_desc, 4, dims, DNNL_F32, strides);
}

/* Axes are O I H W, after G if there are groups; ours are H W I O, where O is
   that of all groups. */
static bool init_filters(memory_desc *out_plain, memory_desc *out_any,
                         const conv_key *key)
{
    const int64_t n_in = key->n_in / key->groups, n_out = key->n_out;
    const int64_t per_group = n_out / key->groups;
    const int64_t dims[] = {key->groups, per_group, n_in, CONV_WINDOW,
                            CONV_WINDOW};
    const int64_t strides[] = {per_group, 1, n_out,
                               CONV_WINDOW * n_in * n_out, n_in * n_out};
    const int from = key->groups == 1, rank = 5 - from;
    return !dnnl.memory_desc_init(out_plain, rank, dims + from, DNNL_F32,
                                  strides + from) &&
           !dnnl.memory_desc_init_tag(out_any, rank, dims + from, DNNL_F32,
                                      DNNL_FORMAT_ANY);
}

static bool init_operation(operation_desc *out_desc, conv_kind kind,
                           const memory_desc *images,
                           const memory_desc *filters,
                           const memory_desc *results)
{
    static const int64_t strides[] = {1, 1};
    static const int64_t border[] = {CONV_WINDOW / 2, CONV_WINDOW / 2};
    switch (kind) {
    case CONV_FORWARD:
        return !dnnl.conv_forward_desc_init(
            out_desc, DNNL_FORWARD, DNNL_CONV_DIRECT, images, filters, NULL,
            results, strides, border, border);
    case CONV_IMAGES:
        return !dnnl.conv_images_desc_init(out_desc, DNNL_CONV_DIRECT, images,
                                           filters, results, strides, border,
                                           border);
    case CONV_FILTERS:
        break;
    }
    return !dnnl.conv_filters_desc_init(out_desc, DNNL_CONV_DIRECT, images,
                                        filters, NULL, results, strides,
                                        border, border);
}

/* Backward passes are created with that of the forward pass as a hint. */
static void *create_desc(conv_kind kind, const memory_desc *images,
                         const memory_desc *filters,
                         const memory_desc *results)
{
    operation_desc what;
    void *hint = NULL, *desc = NULL;
    if (kind != CONV_FORWARD) {
        hint = create_desc(CONV_FORWARD, images, filters, results);
        if (!hint)
            return NULL;
    }
    if (!init_operation(&what, kind, images, filters, results) ||
        dnnl.primitive_desc_create(&desc, &what, NULL, onednn_engine, hint))
        desc = NULL;
    if (hint)
        dnnl.primitive_desc_destroy(hint);
    return desc;
}

/* -- Primitives ------------------------------------------------------------ */

enum { NO_DATA, OWN_DATA };

/* A memory without data gets that of each call. */
static bool create_memory(conv *c, int which, const memory_desc *desc,
                          int data)
{
    void *const allocate = (void *)UINTPTR_MAX;
    return !dnnl.memory_create(&c->memories[which], desc, onednn_engine,
                               data == OWN_DATA ? allocate : NULL);
}

static bool create_reorder(conv *c, const memory_desc *from,
                           const memory_desc *to)
{
    void *desc = NULL;
    if (dnnl.reorder_desc_create(&desc, from, onednn_engine, to, onednn_engine,
                                 NULL))
        return false;
    const bool did = !dnnl.primitive_create(&c->reorder, desc);
    dnnl.primitive_desc_destroy(desc);
    return did;
}

static bool conv_init(conv *c, const conv_key *key)
{
    memory_desc images, results, plain, any;
    const bool is_gradient = key->kind == CONV_FILTERS;
    *c = (conv){.key = *key};
    if (!init_images(&images, key, key->n_in) ||
        !init_images(&results, key, key->n_out) ||
        !init_filters(&plain, &any, key))
        return false;
    void *desc = create_desc(key->kind, &images, &any, &results);
    if (!desc)
        return false;
    const memory_desc *packed = dnnl.query_memory_desc(
        desc, is_gradient ? DNNL_QUERY_DIFF_WEIGHTS : DNNL_QUERY_WEIGHTS, 0);
    bool did = packed && !dnnl.primitive_create(&c->primitive, desc) &&
               create_memory(c, IMAGES, &images, NO_DATA) &&
               create_memory(c, RESULTS, &results, NO_DATA) &&
               create_memory(c, FILTERS, &plain, NO_DATA) &&
               create_memory(c, PACKED, packed, OWN_DATA);
    if (did)
        did = is_gradient ? create_reorder(c, packed, &plain)
                          : create_reorder(c, &plain, packed);
    dnnl.primitive_desc_destroy(desc);
    if (!did)
        conv_deinit(c);
    return did;
}

static bool has_key(const conv *c, const conv_key *key)
{
    return c->primitive && c->key.batch == key->batch &&
           c->key.side == key->side && c->key.n_in == key->n_in &&
           c->key.n_out == key->n_out && c->key.groups == key->groups &&
           c->key.threads == key->threads && c->key.kind == key->kind;
}

/* The cached convolution, or a new one that replaces it; NULL on failure. */
static conv *conv_for(const conv_key *key)
{
    static conv cached;
    if (has_key(&cached, key))
        return &cached;
    conv_deinit(&cached);
    return conv_init(&cached, key) ? &cached : NULL;
}

/* -- Kernels --------------------------------------------------------------- */

static void set_data(const conv *c, int which, const void *data)
{
    void *as_output;
    memcpy(&as_output, &data, sizeof(as_output));
    dnnl.memory_set_data(c->memories[which], as_output);
}

static void reorder(const conv *c, int from, int to)
{
    const argument args[] = {{DNNL_ARG_SRC, c->memories[from]},
                             {DNNL_ARG_DST, c->memories[to]}};
    dnnl.execute(c->reorder, onednn_stream, 2, args);
}

/* On failure the results are not written, so that verification fails. */
static void run_conv(const conv_key *key, const void *images,
                     const void *filters, const void *results)
{
    static const int names[][3] = {
        [CONV_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
        [CONV_IMAGES] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS,
                         DNNL_ARG_DIFF_DST},
        [CONV_FILTERS] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS,
                          DNNL_ARG_DIFF_DST},
    };
    conv *c = conv_for(key);
    if (!c)
        return;
    const int *name = names[key->kind];
    const argument args[] = {{name[0], c->memories[IMAGES]},
                             {name[1], c->memories[PACKED]},
                             {name[2], c->memories[RESULTS]}};
    set_data(c, IMAGES, images);
    set_data(c, FILTERS, filters);
    set_data(c, RESULTS, results);
    if (key->kind != CONV_FILTERS)
        reorder(c, FILTERS, PACKED);
    dnnl.execute(c->primitive, onednn_stream, 3, args);
    if (key->kind == CONV_FILTERS)
        reorder(c, PACKED, FILTERS);
    dnnl.stream_wait(onednn_stream);
}

static conv_key key_of(const kernel_buffers *b, conv_kind kind)
{
    return (conv_key){b->batch, b->rows, b->inner, b->columns, 1, b->threads,
                      kind};
}

void onednn_conv(const kernel_buffers *b)
{
    const conv_key key = key_of(b, CONV_FORWARD);
    run_conv(&key, b->in[0], b->in[1], b->out[0]);
}

void onednn_conv_images(const kernel_buffers *b)
{
    const conv_key key = key_of(b, CONV_IMAGES);
    run_conv(&key, b->out[0], b->in[1], b->in[2]);
}

void onednn_conv_filters(const kernel_buffers *b)
{
    const conv_key key = key_of(b, CONV_FILTERS);
    run_conv(&key, b->in[0], b->out[0], b->in[2]);
}

void onednn_depthwise(const kernel_buffers *b)
{
    conv_key key = key_of(b, CONV_FORWARD);
    key.n_in = key.groups = b->columns;
    run_conv(&key, b->in[0], b->in[1], b->out[0]);
}
