/* SPDX-License-Identifier: MIT */
/*
 * memory_packing.h - where the temporaries of a run lie: buffers packed into one
 * piece of memory, so that those in use at the same time do not overlap.
 */
#ifndef TGI_MEMORY_PACKING_H
#define TGI_MEMORY_PACKING_H

#include "ir/graph.h"

typedef enum tgi_storage {
    TGI_STORAGE_TEMPORARY, /* in memory of the interpreter */
    TGI_STORAGE_PARAM,     /* in a parameter's buffer, known only at the run */
    TGI_STORAGE_FIXED /* elsewhere: in a literal; or a stack, which grows */
} tgi_storage;

/* A piece of memory that one or more values live in. */
typedef struct tgi_buffer {
    int64_t bytes;
    tgi_ref first, last; /* nodes that use it, and all between */
    uint32_t param;      /* PARAM: which one */
    uint8_t storage;     /* tgi_storage */
    int64_t offset;      /* TEMPORARY: place from the start of all memory */
    char *data;          /* all but PARAM: the address */
} tgi_buffer;

/*
 * Gives every TEMPORARY an offset (a multiple of TGI_BUFFER_ALIGN) from
 * `base` on; their order is that of `first`. Writes where the memory ends.
 * Takes time linear in the buffers.
 */
tg_status tgi_memory_pack(tgi_buffer *buffers, size_t n_buffers,
                          tgi_ref last_ref, int64_t base, int64_t *out_end);

#endif /* TGI_MEMORY_PACKING_H */
