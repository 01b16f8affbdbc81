/* SPDX-License-Identifier: MIT */
/*
 * relocation.h - the relocation types of an image. These tables and the ELF
 * machine numbers are the only machine-dependent parts of the loader.
 *
 * An image is contiguous and begins at a multiple of TGI_RELOC_PAGE_BYTES. So a
 * PC-relative relocation has the same value at any address, and also one that
 * takes the low bits of an address, or the distance between two pages. Types
 * that need an absolute address or a GOT are listed only to name them in
 * messages.
 */
#ifndef TGI_RELOCATION_H
#define TGI_RELOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pages of AArch64's ADRP, whatever the pages of the system. */
enum { TGI_RELOC_PAGE_BYTES = 4096 };

/* Writes at `place`, of any alignment and offset `from` in the image, a
   reference to offset `to`; false if it cannot be encoded. Their difference
   does not overflow. */
typedef bool tgi_reloc_store_fn(unsigned char *place, int64_t from, int64_t to);

typedef struct tgi_reloc_kind {
    uint32_t type; /* of ELF */
    const char *name;
    size_t bytes;              /* written */
    tgi_reloc_store_fn *store; /* NULL: unsupported */
} tgi_reloc_kind;

/* e_machine of objects that this process can execute; EM_NONE: none. */
extern const uint16_t tgi_elf_machine;

/* True if objects for this e_machine can be relocated. */
bool tgi_reloc_knows_machine(uint16_t machine);

/* The row of a type of a known machine; NULL if it is unknown. */
const tgi_reloc_kind *tgi_reloc_find(uint16_t machine, uint32_t type);

#endif /* TGI_RELOCATION_H */
