/* SPDX-License-Identifier: MIT */
/*
 * image_write.c - writes the image of a verified object: copies sections, then
 * applies relocations, each verified first. Relocations of sections that are
 * not loaded (unwind tables, debug information) are ignored.
 */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "object/elf_reader.h"

static void copy_sections(const tgi_object *object, unsigned char *image)
{
    for (size_t i = 0; i < object->n_sections; i++) {
        if (object->load_offsets[i] == TGI_OBJECT_NOT_LOADED)
            continue;
        const Elf64_Shdr section = tgi_object_section(object, i);
        memcpy(image + object->load_offsets[i],
               object->bytes + section.sh_offset, section.sh_size);
    }
}

/* The name of a symbol for messages; of a section symbol, the section's. */
static const char *display_name(const tgi_object *object,
                                const Elf64_Sym *symbol)
{
    if (ELF64_ST_TYPE(symbol->st_info) != STT_SECTION)
        return tgi_object_symbol_name(object, symbol);
    const Elf64_Shdr section = tgi_object_section(object, symbol->st_shndx);
    return tgi_object_section_name(object, &section);
}

/* Applies one relocation of loaded section `target`. */
static tg_status apply_relocation(const tgi_object *object, size_t target,
                                  const Elf64_Rela *reloc, unsigned char *image)
{
    const Elf64_Shdr section = tgi_object_section(object, target);
    const char *section_name = tgi_object_section_name(object, &section);
    const uint32_t type = ELF64_R_TYPE(reloc->r_info);
    const size_t symbol_index = ELF64_R_SYM(reloc->r_info);

    if (symbol_index == 0 || symbol_index >= object->n_symbols)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: a relocation in %.64s has no symbol",
                 section_name);
    const Elf64_Sym symbol = tgi_object_symbol(object, symbol_index);
    const char *symbol_name = display_name(object, &symbol);

    const tgi_reloc_kind *kind = tgi_reloc_find(object->machine, type);
    if (!kind)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "generated code has a relocation of unknown type %u in %.64s "
                 "by '%.128s'",
                 type, section_name, symbol_name);
    if (!kind->store)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "generated code has a relocation %s in %.64s by '%.128s'; "
                 "only PC-relative ones are supported",
                 kind->name, section_name, symbol_name);
    if (reloc->r_offset > section.sh_size ||
        kind->bytes > section.sh_size - reloc->r_offset)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: a relocation lies outside %.64s", section_name);
    const uint32_t to = tgi_object_symbol_offset(object, &symbol);
    if (to == TGI_OBJECT_NOT_LOADED)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: a relocation in %.64s by '%.128s' targets a "
                 "section that is not loaded",
                 section_name, symbol_name);

    const uint32_t from =
        object->load_offsets[target] + (uint32_t)reloc->r_offset;
    int64_t reference, distance;
    if (!tgi_checked_add((int64_t)to, reloc->r_addend, &reference) ||
        !tgi_checked_sub(reference, (int64_t)from, &distance) ||
        !kind->store(image + from, (int64_t)from, reference))
        TGI_FAIL(TG_ERROR_OVERFLOW, TGI_NO_SITE,
                 "a relocation %s in %.64s by '%.128s' is out of range",
                 kind->name, section_name, symbol_name);
    return TG_OK;
}

static tg_status apply_relocations(const tgi_object *object,
                                   const Elf64_Shdr *relocs,
                                   unsigned char *image)
{
    if (relocs->sh_info >= object->n_sections)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: %.64s relocates no section",
                 tgi_object_section_name(object, relocs));
    if (object->load_offsets[relocs->sh_info] == TGI_OBJECT_NOT_LOADED)
        return TG_OK;
    if (relocs->sh_link != object->symbols_index ||
        relocs->sh_entsize != sizeof(Elf64_Rela) ||
        relocs->sh_size % sizeof(Elf64_Rela) != 0)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: the relocations in %.64s are damaged",
                 tgi_object_section_name(object, relocs));

    for (uint64_t at = 0; at < relocs->sh_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela reloc;
        memcpy(&reloc, object->bytes + relocs->sh_offset + at, sizeof(reloc));
        TGI_TRY(apply_relocation(object, relocs->sh_info, &reloc, image));
    }
    return TG_OK;
}

tg_status tgi_object_write_image(const tgi_object *object, unsigned char *image)
{
    copy_sections(object, image);
    for (size_t i = 0; i < object->n_sections; i++) {
        const Elf64_Shdr section = tgi_object_section(object, i);
        if (section.sh_type == SHT_RELA)
            TGI_TRY(apply_relocations(object, &section, image));
    }
    return TG_OK;
}
