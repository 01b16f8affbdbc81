/* SPDX-License-Identifier: MIT */
/*
 * onnx_body.h - a model after reading: graphs whose nodes refer to rows of the
 * operator table and to numbered values.
 *
 * A body is the main graph or that of a local function, with the graphs nested
 * in it (branches and loop bodies). The values of a body are numbered together,
 * so that one array holds them while it is traced.
 */
#ifndef TGI_ONNX_BODY_H
#define TGI_ONNX_BODY_H

#include "onnx_array.h"
#include "onnx_ops.h"

typedef uint32_t tgi_onnx_id;
#define TGI_ONNX_ABSENT UINT32_MAX /* an optional input or output */

typedef struct tgi_onnx_node {
    const Onnx__NodeProto *proto;
    const tgi_onnx_op *op;                /* NULL: a call of `function` */
    struct tgi_onnx_body *function;
    int64_t opset;
    tg_site site; /* "model.onnx: Conv 'name'" and the number of the node */
    tgi_onnx_id *inputs, *outputs;
    size_t n_inputs, n_outputs;
    struct tgi_onnx_graph *graphs; /* those of its attributes, in order */
    size_t n_graphs;
} tgi_onnx_node;

typedef struct tgi_onnx_initial {
    tgi_onnx_id id;
    tgi_onnx_array array;
    size_t offset;         /* in the source, while array.data is NULL */
    tg_variable *variable; /* NULL: a constant */
} tgi_onnx_initial;

typedef struct tgi_onnx_graph {
    const char *attribute; /* the name of the attribute; NULL: of a body */
    tgi_onnx_node *nodes;
    size_t n_nodes;
    tgi_onnx_id *inputs, *outputs; /* without inputs that have an initial */
    size_t n_inputs, n_outputs;
    tgi_onnx_initial *initials;
    size_t n_initials;
} tgi_onnx_graph;

/* Facts about a value, found by tgi_onnx_find_needs. */
enum {
    TGI_ONNX_NEEDED = 1,   /* its contents must be known while tracing */
    TGI_ONNX_STATISTIC = 2 /* a running mean or variance */
};

typedef struct tgi_onnx_body {
    const Onnx__FunctionProto *function; /* NULL: the main graph */
    const Onnx__AttributeProto *const *defaults; /* of the function */
    size_t n_defaults;
    tgi_onnx_graph graph;
    const char **names; /* of the values */
    uint8_t *facts;
    bool is_swept;     /* by tgi_onnx_find_needs, */
    bool draws_random; /* which finds this too */
    size_t n_values;
} tgi_onnx_body;

#endif /* TGI_ONNX_BODY_H */
