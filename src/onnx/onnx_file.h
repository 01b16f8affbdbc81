/* SPDX-License-Identifier: MIT */
/*
 * onnx_file.h - the bytes of models and of their external data.
 */
#ifndef TGI_ONNX_FILE_H
#define TGI_ONNX_FILE_H

#include "onnx_memory.h"
#include "onnx_proto.h"

/* Reads a regular file completely. */
TG_MUST_CHECK tg_status tgi_onnx_file_read(tgi_onnx_arena *arena,
                                           const char *path,
                                           const unsigned char **out_data,
                                           size_t *out_bytes);

/*
 * Reads the external data of a tensor, of which there must be `bytes` bytes. The
 * location is a path below `folder`, without "..", and neither the file nor a
 * folder on the way is a symbolic link.
 */
TG_MUST_CHECK tg_status tgi_onnx_file_external(tgi_onnx_arena *arena,
                                               const Onnx__TensorProto *tensor,
                                               const char *folder, tg_site site,
                                               size_t bytes,
                                               const void **out_data);

#endif /* TGI_ONNX_FILE_H */
