/* SPDX-License-Identifier: MIT */
/*
 * relocation.h - the relocation types of an image. This table and the ELF
 * machine number are the only machine-dependent parts of the loader.
 *
 * An image is contiguous, so a PC-relative relocation has the same value at any
 * address. Types that need an absolute address or a GOT are listed only to name
 * them in messages.
 */
#ifndef TGI_RELOCATION_H
#define TGI_RELOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes a distance at `place`, of any alignment; false if it overflows. */
typedef bool tgi_reloc_store_fn(unsigned char *place, int64_t distance);

typedef struct tgi_reloc_kind {
    uint32_t type; /* of ELF */
    const char *name;
    size_t bytes;              /* written */
    tgi_reloc_store_fn *store; /* NULL: unsupported */
} tgi_reloc_kind;

/* e_machine of objects that this process can execute; EM_NONE: none. */
extern const uint16_t tgi_elf_machine;

/* The row of a type; NULL if it is unknown. */
const tgi_reloc_kind *tgi_reloc_find(uint32_t type);

#endif /* TGI_RELOCATION_H */
