/* SPDX-License-Identifier: MIT */
/*
 * onnx_memory.c - memory that is released at once.
 */
#include "onnx_memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 16384, ALIGNMENT = 64 };

typedef struct tgi_onnx_block {
    struct tgi_onnx_block *next;
    size_t used, bytes;
    _Alignas(ALIGNMENT) unsigned char data[];
} tgi_onnx_block;

static tgi_onnx_block *add_block(tgi_onnx_arena *arena, size_t bytes)
{
    if (bytes < BLOCK_BYTES)
        bytes = BLOCK_BYTES;
    if (bytes > SIZE_MAX - 2 * ALIGNMENT - sizeof(tgi_onnx_block))
        return NULL;
    const size_t all = (sizeof(tgi_onnx_block) + bytes + ALIGNMENT - 1) /
                       ALIGNMENT * ALIGNMENT;
    tgi_onnx_block *block = aligned_alloc(ALIGNMENT, all);
    if (!block)
        return NULL;
    block->next = arena->blocks;
    block->used = 0;
    block->bytes = bytes;
    arena->blocks = block;
    return block;
}

void *tgi_onnx_alloc_bytes(tgi_onnx_arena *arena, size_t bytes)
{
    tgi_onnx_block *block = arena->blocks;
    if (bytes > SIZE_MAX / 2)
        goto failed;
    const size_t align = bytes < ALIGNMENT ? 16 : ALIGNMENT;
    size_t start = block ? (block->used + align - 1) / align * align : 0;
    if (!block || start > block->bytes || block->bytes - start < bytes) {
        block = add_block(arena, bytes);
        if (!block)
            goto failed;
        start = 0;
    }
    block->used = start + bytes;
    return block->data + start;
failed:
    tg_error_set(NULL, TG_ERROR_OUT_OF_MEMORY, (tg_site){NULL, 0},
                 "out of memory");
    return NULL;
}

void *tgi_onnx_alloc(tgi_onnx_arena *arena, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        bytes = SIZE_MAX;
    void *memory = tgi_onnx_alloc_bytes(arena, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

char *tgi_onnx_text(tgi_onnx_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text =
        length < 0 ? NULL : tgi_onnx_alloc(arena, (size_t)length + 1, 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void tgi_onnx_arena_release(tgi_onnx_arena *arena)
{
    for (tgi_onnx_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    arena->blocks = NULL;
}
