/* SPDX-License-Identifier: MIT */
/*
 * onnx_memory.h - memory that is released at once: that of a model, and that of
 * one trace.
 */
#ifndef TGI_ONNX_MEMORY_H
#define TGI_ONNX_MEMORY_H

#include "tgjit/base.h"

typedef struct tgi_onnx_arena {
    struct tgi_onnx_block *blocks;
} tgi_onnx_arena;

/* `n` elements of `size` bytes, zero, aligned to 64 bytes if they fill as many.
   NULL, with the record set, on failure. */
void *tgi_onnx_alloc(tgi_onnx_arena *arena, size_t n, size_t size);

/* `bytes` bytes with any contents, aligned likewise. */
void *tgi_onnx_alloc_bytes(tgi_onnx_arena *arena, size_t bytes);

/* A formatted string; NULL on failure. */
char *tgi_onnx_text(tgi_onnx_arena *arena, const char *format, ...)
    TG_PRINTF(2, 3);

void tgi_onnx_arena_release(tgi_onnx_arena *arena);

#endif /* TGI_ONNX_MEMORY_H */
