/* SPDX-License-Identifier: MIT */
/*
 * onnx_wire.h - protobuf's wire format.
 */
#ifndef TGI_ONNX_WIRE_H
#define TGI_ONNX_WIRE_H

#include "onnx_file.h"
#include "onnx_proto.h"

/*
 * Unpacks a message into the arena; TG_ERROR_FILE if the bytes are no such
 * message. protobuf-c recurses into nested messages without a limit, so their
 * depth is checked first. It also copies all data, so the raw_data of an
 * initializer of a graph is replaced by its place in the source.
 */
TG_MUST_CHECK tg_status tgi_onnx_unpack(
    tgi_onnx_arena *arena, const ProtobufCMessageDescriptor *type,
    tgi_onnx_source *source, ProtobufCMessage **out_message);

/* The contents of the raw_data of an initializer. */
typedef struct tgi_onnx_place {
    uint64_t offset, bytes;
} tgi_onnx_place;

#endif /* TGI_ONNX_WIRE_H */
