/* SPDX-License-Identifier: MIT */
/*
 * memory_packing.h - packs temporaries into one allocation, so that buffers
 * with overlapping live ranges do not overlap in memory.
 */
#ifndef TGI_MEMORY_PACKING_H
#define TGI_MEMORY_PACKING_H

#include "ir/graph.h"

typedef enum tgi_storage {
    TGI_STORAGE_TEMPORARY, /* in the packed memory */
    TGI_STORAGE_PARAM,     /* in a parameter's buffer; address known at the
                              start of a run */
    TGI_STORAGE_FIXED      /* elsewhere: a literal, or an unbounded stack */
} tgi_storage;

/* Memory that one or more values occupy. */
typedef struct tgi_buffer {
    int64_t bytes;
    tgi_ref first, last; /* live range: first and last node that uses it */
    uint32_t param;      /* PARAM: parameter index */
    uint8_t storage;     /* tgi_storage */
    int64_t offset;      /* TEMPORARY: offset in the packed memory */
    char *data;          /* TEMPORARY and FIXED: the address */
} tgi_buffer;

/*
 * Assigns every TEMPORARY an offset, a multiple of TGI_BUFFER_ALIGN, from
 * `base` on. Buffers must be sorted by `first`. Writes the end of the memory.
 * Linear in the number of buffers.
 */
tg_status tgi_memory_pack(tgi_buffer *buffers, size_t n_buffers,
                          tgi_ref last_ref, int64_t base, int64_t *out_end);

#endif /* TGI_MEMORY_PACKING_H */
