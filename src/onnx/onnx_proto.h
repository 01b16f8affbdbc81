/* SPDX-License-Identifier: MIT */
/*
 * onnx_proto.h - the messages of ONNX, which protoc-c has translated from the
 * onnx.proto that is installed.
 */
#ifndef TGI_ONNX_PROTO_H
#define TGI_ONNX_PROTO_H

#include <onnx.pb-c.h>

#endif /* TGI_ONNX_PROTO_H */
