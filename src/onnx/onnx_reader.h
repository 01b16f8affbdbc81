/* SPDX-License-Identifier: MIT */
/*
 * onnx_reader.h - ModelProto to bodies.
 */
#ifndef TGI_ONNX_READER_H
#define TGI_ONNX_READER_H

#include "onnx_body.h"

typedef struct tgi_onnx_reader {
    tgi_onnx_arena *arena;
    const Onnx__ModelProto *proto;
    const char *path; /* for messages */
    tgi_onnx_origin origin;
} tgi_onnx_reader;

/*
 * Resolves the names of a model. Fails if a node has an unsupported operator or
 * opset, uses a value that no earlier node computes, or a name is defined twice.
 */
TG_MUST_CHECK tg_status tgi_onnx_read(const tgi_onnx_reader *reader,
                                      tgi_onnx_body **out_main);

/* Finds the facts about the values of a body and of those that it calls. */
void tgi_onnx_find_needs(tgi_onnx_body *body);

/* The attribute of a node; NULL if it has none. */
const Onnx__AttributeProto *
tgi_onnx_node_attribute(const Onnx__NodeProto *node, const char *name);

#endif /* TGI_ONNX_READER_H */
