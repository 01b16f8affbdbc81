/* SPDX-License-Identifier: MIT */
/*
 * elf_reader.h - the bytes of a relocatable ELF object, verified. Between
 * the bytes (from the code generator or from the disk, of any alignment and
 * of any contents) and the loader, which may believe what it reads here.
 *
 * An object is read-only and borrows the bytes. It also has the layout of the
 * image: its sections of code and then those of constants, each at an offset
 * from the image's start. Other sections have no place in it.
 */
#ifndef TGI_ELF_READER_H
#define TGI_ELF_READER_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "object/relocation.h"
#include "tgjit/base.h"

#define TGI_OBJECT_NOT_LOADED UINT32_MAX

typedef struct tgi_object {
    const unsigned char *bytes;
    size_t n_bytes;
    size_t section_headers_offset; /* offset of the section headers */
    size_t n_sections;
    Elf64_Shdr section_names, symbols, symbol_names;
    size_t symbols_index; /* of the section `symbols` */
    size_t n_symbols;

    uint32_t *load_offsets; /* by section: offset in the image, or NOT_PLACED */
    size_t image_bytes;
} tgi_object;

/* Verifies all but relocations. On success tgi_object_deinit is due. */
TG_MUST_CHECK tg_status tgi_object_init(tgi_object *object, const void *bytes,
                                        size_t n_bytes);
void tgi_object_deinit(tgi_object *object);

/* Header of section `index` < n_sections, and its name. */
Elf64_Shdr tgi_object_section(const tgi_object *object, size_t index);
const char *tgi_object_section_name(const tgi_object *object,
                                    const Elf64_Shdr *section);

/* Symbol `index` < n_symbols, and its name ("" if it has none). */
Elf64_Sym tgi_object_symbol(const tgi_object *object, size_t index);
const char *tgi_object_symbol_name(const tgi_object *object,
                                   const Elf64_Sym *symbol);

/*
 * Offset of a symbol in the image; TGI_OBJECT_NOT_LOADED for symbols of
 * sections that have no place and for those of no section.
 */
uint32_t tgi_object_symbol_offset(const tgi_object *object,
                                  const Elf64_Sym *symbol);

/*
 * Writes the image, relocated, into image_bytes zero bytes at `image`; it is
 * the same for every address. Relocations are verified on the way: what is
 * there after a failure is of no use.
 */
TG_MUST_CHECK tg_status tgi_object_write_image(const tgi_object *object,
                                               unsigned char *image);

#endif /* TGI_ELF_READER_H */
