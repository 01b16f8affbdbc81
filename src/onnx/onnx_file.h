/* SPDX-License-Identifier: MIT */
/*
 * onnx_file.h - the bytes of models and of their external data.
 */
#ifndef TGI_ONNX_FILE_H
#define TGI_ONNX_FILE_H

#include "onnx_memory.h"
#include "onnx_proto.h"

/*
 * The bytes of a model: memory, or an open file of which a window is in memory.
 * Weights are read from it once, to where they stay.
 */
typedef struct tgi_onnx_source {
    const char *path;            /* for messages */
    const unsigned char *window; /* bytes from `from` to `to` */
    size_t from, to, bytes;
    int file;               /* -1: the window is everything */
    unsigned char *buffer;  /* of the window; NULL without a file */
} tgi_onnx_source;

tgi_onnx_source tgi_onnx_source_memory(const char *path, const void *data,
                                       size_t bytes);

/* Opens a regular file; tgi_onnx_source_close is needed in any case. */
TG_MUST_CHECK tg_status tgi_onnx_source_open(tgi_onnx_source *source,
                                             const char *path);
void tgi_onnx_source_close(tgi_onnx_source *source);

/* Copies bytes, which must be below source->bytes. */
TG_MUST_CHECK tg_status tgi_onnx_source_read(tgi_onnx_source *source,
                                             size_t offset, size_t bytes,
                                             void *out_data);

/* Moves the window so that it begins at `offset`. */
TG_MUST_CHECK tg_status tgi_onnx_source_move(tgi_onnx_source *source,
                                             size_t offset);

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
