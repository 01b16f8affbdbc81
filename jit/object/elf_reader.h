/* SPDX-License-Identifier: MIT */
/*
 * elf_reader.h - reads and verifies a relocatable ELF object. The bytes, from
 * the code generator or the disk cache, may have any alignment and contents;
 * the loader may trust the accessors below.
 *
 * A tgi_object is read-only and borrows the bytes. It also has the layout of
 * the image: the offsets of code sections, then constant sections. Other
 * sections are not loaded.
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
    uint16_t machine;              /* e_machine: one with relocations */
    size_t section_headers_offset; /* offset of the section headers */
    size_t n_sections;
    Elf64_Shdr section_names, symbols, symbol_names;
    size_t symbols_index; /* of the section `symbols` */
    size_t n_symbols;

    uint32_t *load_offsets; /* by section: in the image, or NOT_LOADED */
    size_t image_bytes;
} tgi_object;

/* Verifies everything except relocations and whether this machine can run the
   code. INVALID_ARGUMENT for a malformed
   object, UNSUPPORTED for one that needs features that generated code must not
   use. On success tgi_object_deinit is due. */
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

/* Offset of a symbol in the image; TGI_OBJECT_NOT_LOADED if it is in no section
   or in one that is not loaded. */
uint32_t tgi_object_symbol_offset(const tgi_object *object,
                                  const Elf64_Sym *symbol);

/*
 * Writes the relocated image to `image`, image_bytes bytes of zeros. The result
 * may be moved to any multiple of TGI_RELOC_PAGE_BYTES. Verifies relocations;
 * after a failure the contents are undefined.
 */
TG_MUST_CHECK tg_status tgi_object_write_image(const tgi_object *object,
                                               unsigned char *image);

#endif /* TGI_ELF_READER_H */
