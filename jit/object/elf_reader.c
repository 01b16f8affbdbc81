/* SPDX-License-Identifier: MIT */
/*
 * elf_reader.c - verifies an object and lays out its image.
 *
 * No number of the file is used before it has been checked. The order matters:
 * file header, bounds of sections, their names (for messages), their kinds,
 * symbols.
 */
#include "object/elf_reader.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "object/executable_pages.h"

/* Distances within an image must fit 32 bits. */
#define IMAGE_BYTES_MAX ((uint64_t)1 << 30)

/* Not loaded; missing in some versions of <elf.h>. */
#define SECTION_X86_64_UNWIND 0x70000001u
#define SECTION_LLVM_ADDRSIG 0x6fff4c03u

/* A longer name is damage; strnlen bounds the time to check all names. */
#define SYMBOL_NAME_MAX 1024

/* Zeros at the start of an image: a caller built with clang's
   -fsanitize=function reads the bytes before a function, and the page before
   the first one may be unmapped. */
#define LEAD_BYTES 16

/* Constants and code do not share cache lines. */
#define CONSTANTS_ALIGN 64

/* -- Accessors ------------------------------------------------------------- */

static bool is_inside(const tgi_object *object, uint64_t at, uint64_t bytes)
{
    return at <= object->n_bytes && bytes <= object->n_bytes - at;
}

Elf64_Shdr tgi_object_section(const tgi_object *object, size_t index)
{
    assert(index < object->n_sections);
    Elf64_Shdr section;
    memcpy(&section,
           object->bytes + object->section_headers_offset +
               index * sizeof(section),
           sizeof(section));
    return section;
}

const char *tgi_object_section_name(const tgi_object *object,
                                    const Elf64_Shdr *section)
{
    return (const char *)object->bytes + object->section_names.sh_offset +
           section->sh_name;
}

Elf64_Sym tgi_object_symbol(const tgi_object *object, size_t index)
{
    assert(index < object->n_symbols);
    Elf64_Sym symbol;
    memcpy(&symbol,
           object->bytes + object->symbols.sh_offset + index * sizeof(symbol),
           sizeof(symbol));
    return symbol;
}

const char *tgi_object_symbol_name(const tgi_object *object,
                                   const Elf64_Sym *symbol)
{
    return (const char *)object->bytes + object->symbol_names.sh_offset +
           symbol->st_name;
}

uint32_t tgi_object_symbol_offset(const tgi_object *object,
                                  const Elf64_Sym *symbol)
{
    if (symbol->st_shndx >= object->n_sections)
        return TGI_OBJECT_NOT_LOADED; /* no section: a file name */
    const uint32_t offset = object->load_offsets[symbol->st_shndx];
    if (offset == TGI_OBJECT_NOT_LOADED)
        return TGI_OBJECT_NOT_LOADED;
    return offset + (uint32_t)symbol->st_value;
}

/* -- File header and section bounds ---------------------------------------- */

static tg_status read_header(tgi_object *object)
{
    Elf64_Ehdr header;
    if (object->n_bytes < sizeof(header))
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: %zu bytes are too few", object->n_bytes);
    memcpy(&header, object->bytes, sizeof(header));
    const unsigned char *ident = header.e_ident;
    if (memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_CLASS] != ELFCLASS64 ||
        ident[EI_DATA] != ELFDATA2LSB || ident[EI_VERSION] != EV_CURRENT ||
        header.e_version != EV_CURRENT || header.e_type != ET_REL ||
        header.e_ehsize != sizeof(header))
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: not a relocatable 64-bit ELF file");
    if (!tgi_reloc_knows_machine(header.e_machine))
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "the object is for ELF machine %u, not for this one (%u)",
                 header.e_machine, tgi_elf_machine);
    object->machine = header.e_machine;
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 ||
        header.e_shnum >= SHN_LORESERVE ||
        header.e_shstrndx >= header.e_shnum ||
        !is_inside(object, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)))
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: the section table is damaged");
    object->section_headers_offset = header.e_shoff;
    object->n_sections = header.e_shnum;

    for (size_t i = 0; i < object->n_sections; i++) {
        const Elf64_Shdr section = tgi_object_section(object, i);
        if (section.sh_type != SHT_NOBITS &&
            !is_inside(object, section.sh_offset, section.sh_size))
            TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                     "bad object: section %zu lies outside the file", i);
    }
    object->section_names = tgi_object_section(object, header.e_shstrndx);
    return TG_OK;
}

/* Checks that the table ends with a NUL: then every offset inside it starts a
   terminated string. */
static tg_status check_string_table(const tgi_object *object,
                                    const Elf64_Shdr *section)
{
    if (section->sh_type != SHT_STRTAB || section->sh_size == 0 ||
        object->bytes[section->sh_offset + section->sh_size - 1] != 0)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: a string table is damaged");
    return TG_OK;
}

/* -- Section kinds and image layout ---------------------------------------- */

typedef enum section_use { USE_NONE, USE_CODE, USE_CONSTANTS } section_use;

static tg_status classify_contents(const Elf64_Shdr *section, const char *name,
                                   section_use *out_use)
{
    const uint64_t known_flags =
        SHF_ALLOC | SHF_EXECINSTR | SHF_MERGE | SHF_STRINGS | SHF_GROUP;

    *out_use = USE_NONE;
    if (!(section->sh_flags & SHF_ALLOC) || section->sh_size == 0 ||
        strcmp(name, ".eh_frame") == 0)
        return TG_OK;
    if (section->sh_flags & SHF_TLS)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "generated code has thread-local data in %.64s", name);
    if (section->sh_flags & SHF_WRITE || section->sh_type == SHT_NOBITS)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "generated code has writable data in %.64s", name);
    if (section->sh_flags & ~known_flags)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "section %.64s has unknown flags 0x%llx", name,
                 (unsigned long long)section->sh_flags);
    *out_use = section->sh_flags & SHF_EXECINSTR ? USE_CODE : USE_CONSTANTS;
    return TG_OK;
}

static tg_status classify_section(const tgi_object *object, size_t index,
                                  section_use *out_use)
{
    const Elf64_Shdr section = tgi_object_section(object, index);
    if (section.sh_name >= object->section_names.sh_size)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: the name of section %zu lies outside its table",
                 index);
    const char *name = tgi_object_section_name(object, &section);
    if ((index == 0) != (section.sh_type == SHT_NULL))
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: section %zu must not have type %u", index,
                 section.sh_type);

    *out_use = USE_NONE;
    switch (section.sh_type) {
    case SHT_PROGBITS:
    case SHT_NOBITS:
        return classify_contents(&section, name, out_use);
    case SHT_NULL:
    case SHT_STRTAB:
    case SHT_SYMTAB:
    case SHT_RELA: /* see image_write.c */
    case SHT_NOTE:
    case SHT_GROUP:
    case SECTION_X86_64_UNWIND:
    case SECTION_LLVM_ADDRSIG:
        return TG_OK;
    default:
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "section %.64s has unknown type 0x%x", name, section.sh_type);
    }
}

/* Appends a section to the image, aligned to at least min_align. */
static tg_status append_section(tgi_object *object, size_t index,
                                uint64_t min_align)
{
    const Elf64_Shdr section = tgi_object_section(object, index);
    const uint64_t align =
        section.sh_addralign > min_align ? section.sh_addralign : min_align;
    if ((align & (align - 1)) != 0 || align > tgi_pages_page_bytes())
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: section %.64s is aligned to %llu bytes",
                 tgi_object_section_name(object, &section),
                 (unsigned long long)align);
    const uint64_t at = (object->image_bytes + align - 1) & ~(align - 1);
    if (section.sh_size > IMAGE_BYTES_MAX - at)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "generated code is larger than %llu bytes",
                 (unsigned long long)IMAGE_BYTES_MAX);
    object->load_offsets[index] = (uint32_t)at;
    object->image_bytes = at + section.sh_size;
    return TG_OK;
}

static tg_status append_sections(tgi_object *object, section_use wanted)
{
    uint64_t min_align = wanted == USE_CONSTANTS ? CONSTANTS_ALIGN : 1;
    for (size_t i = 0; i < object->n_sections; i++) {
        section_use use = USE_NONE;
        TGI_TRY(classify_section(object, i, &use));
        if (use != wanted)
            continue;
        TGI_TRY(append_section(object, i, min_align));
        min_align = 1;
    }
    return TG_OK;
}

static tg_status lay_out_image(tgi_object *object)
{
    object->load_offsets =
        tgi_alloc(object->n_sections * sizeof(object->load_offsets[0]));
    if (!object->load_offsets)
        return tgi_error_memory();
    for (size_t i = 0; i < object->n_sections; i++)
        object->load_offsets[i] = TGI_OBJECT_NOT_LOADED;
    object->image_bytes = LEAD_BYTES;
    TGI_TRY(append_sections(object, USE_CODE));
    if (object->image_bytes == LEAD_BYTES)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE, "bad object: no code");
    return append_sections(object, USE_CONSTANTS);
}

/* -- Symbols --------------------------------------------------------------- */

static tg_status find_symbols(tgi_object *object)
{
    size_t n_found = 0;
    for (size_t i = 0; i < object->n_sections; i++) {
        const Elf64_Shdr section = tgi_object_section(object, i);
        if (section.sh_type != SHT_SYMTAB)
            continue;
        n_found++;
        object->symbols = section;
        object->symbols_index = i;
    }
    if (n_found != 1 || object->symbols.sh_entsize != sizeof(Elf64_Sym) ||
        object->symbols.sh_size % sizeof(Elf64_Sym) != 0 ||
        object->symbols.sh_link >= object->n_sections)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: the symbol table is damaged");
    object->n_symbols = object->symbols.sh_size / sizeof(Elf64_Sym);
    object->symbol_names = tgi_object_section(object, object->symbols.sh_link);
    return check_string_table(object, &object->symbol_names);
}

static tg_status check_symbol(const tgi_object *object, size_t index)
{
    const Elf64_Sym symbol = tgi_object_symbol(object, index);
    if (symbol.st_name >= object->symbol_names.sh_size)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: the name of symbol %zu lies outside its table",
                 index);
    const char *name = tgi_object_symbol_name(object, &symbol);
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);

    if (strnlen(name, SYMBOL_NAME_MAX + 1) > SYMBOL_NAME_MAX)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: the name of symbol %zu is too long", index);
    if (type == STT_FILE && symbol.st_shndx == SHN_ABS)
        return TG_OK;
    if (symbol.st_shndx == SHN_UNDEF)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                 "generated code needs the symbol '%.128s', which it does not "
                 "define",
                 name);
    if (symbol.st_shndx >= SHN_LORESERVE)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE, "the symbol '%.128s' is %s",
                 name,
                 symbol.st_shndx == SHN_ABS      ? "absolute"
                 : symbol.st_shndx == SHN_COMMON ? "common"
                                                 : "in no known section");
    if (type > STT_FILE)
        TGI_FAIL(TG_ERROR_UNSUPPORTED, TGI_NO_SITE, "the symbol '%.128s' is %s",
                 name, type == STT_TLS ? "thread-local" : "of an unknown type");
    if (symbol.st_shndx >= object->n_sections)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: the section of symbol '%.128s' does not exist",
                 name);
    const Elf64_Shdr section = tgi_object_section(object, symbol.st_shndx);
    if (symbol.st_value > section.sh_size ||
        symbol.st_size > section.sh_size - symbol.st_value)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: the symbol '%.128s' lies outside its section",
                 name);
    return TG_OK;
}

/* ELF requires that symbol 0 is all zero. Readers of symbols need not skip it:
   it is local, without a section, and its name is "". */
static tg_status check_null_symbol(const tgi_object *object)
{
    static const Elf64_Sym null;
    if (object->n_symbols == 0)
        return TG_OK;
    const Elf64_Sym symbol = tgi_object_symbol(object, 0);
    if (memcmp(&symbol, &null, sizeof(null)) != 0)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "bad object: symbol 0 is not the null symbol");
    return TG_OK;
}

/* -- Entry points ---------------------------------------------------------- */

static tg_status verify_object(tgi_object *object)
{
    TGI_TRY(read_header(object));
    TGI_TRY(check_string_table(object, &object->section_names));
    TGI_TRY(lay_out_image(object));
    TGI_TRY(find_symbols(object));
    TGI_TRY(check_null_symbol(object));
    for (size_t i = 1; i < object->n_symbols; i++)
        TGI_TRY(check_symbol(object, i));
    return TG_OK;
}

tg_status tgi_object_init(tgi_object *object, const void *bytes, size_t n_bytes)
{
    *object = (tgi_object){.bytes = bytes, .n_bytes = n_bytes};
    const tg_status status = verify_object(object);
    if (status != TG_OK)
        tgi_object_deinit(object);
    return status;
}

void tgi_object_deinit(tgi_object *object)
{
    tgi_free(object->load_offsets);
    *object = (tgi_object){0};
}
