/* SPDX-License-Identifier: MIT */
/*
 * relocation.h - the relocations an image may have, and all that the loader
 * knows about the machine: its number in ELF and one table.
 *
 * An image is moved as a whole, so a relocation that measures the distance
 * between two of its places has the same value wherever it lies. Others,
 * which want an absolute address or the tables of a dynamic linker, are
 * known by name only, to be refused with it.
 */
#ifndef TGI_RELOCATION_H
#define TGI_RELOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes a distance at `place`, of any alignment; false if it has no room. */
typedef bool tgi_reloc_store_fn(unsigned char *place, int64_t distance);

typedef struct tgi_reloc_kind {
    uint32_t type; /* as in ELF */
    const char *name;
    size_t bytes;           /* written at the place */
    tgi_reloc_store_fn *store; /* NULL: an image may not have it */
} tgi_reloc_kind;

/* e_machine of objects that this process can run. */
extern const uint16_t tgi_elf_machine;

/* The row of a type; NULL if it is not known. */
const tgi_reloc_kind *tgi_reloc_find(uint32_t type);

#endif /* TGI_RELOCATION_H */
