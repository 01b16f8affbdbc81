/* SPDX-License-Identifier: MIT */
/*
 * onnx_wire.h - protobuf's wire format.
 */
#ifndef TGI_ONNX_WIRE_H
#define TGI_ONNX_WIRE_H

#include "onnx_memory.h"
#include "onnx_proto.h"

/*
 * Unpacks a message into the arena. protobuf-c recurses into nested messages
 * without a limit, so their depth is checked first. TG_ERROR_FILE if the bytes
 * are no such message; `path` is for the error.
 */
TG_MUST_CHECK tg_status tgi_onnx_unpack(
    tgi_onnx_arena *arena, const ProtobufCMessageDescriptor *type,
    const unsigned char *data, size_t bytes, const char *path,
    ProtobufCMessage **out_message);

#endif /* TGI_ONNX_WIRE_H */
