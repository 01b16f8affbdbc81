/* SPDX-License-Identifier: MIT */
/*
 * image_objects.h - builds relocatable ELF objects by hand, valid ones and ones
 * that no assembler would produce. A test edits the lists of the builder before
 * the object is finished, or its bytes afterwards.
 *
 *     object_builder b;
 *     object_begin(&b);
 *     const unsigned text = object_section(&b, ".text", …);
 *     object_symbol(&b, "entry", text, …);
 *     object_relocation(&b, text, …);
 *     object_bytes object = object_end(&b);
 *     … object.data, object.n …
 *     free(object.data);
 */
#ifndef TGI_TEST_IMAGE_OBJECTS_H
#define TGI_TEST_IMAGE_OBJECTS_H

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECT_LIST_MAX = 16, OBJECT_BYTES_MAX = 8192 };

/* Errors of the builder; does not require Criterion. */
#define object_check(condition) ((condition) ? (void)0 : abort())

typedef struct object_builder {
    uint16_t machine;
    struct object_section {
        Elf64_Shdr header;
        const void *data;
        char name[32];
    } sections[OBJECT_LIST_MAX]; /* [0] is the null section */
    unsigned n_sections;
    Elf64_Sym symbols[OBJECT_LIST_MAX]; /* [0] is the null symbol */
    unsigned n_symbols;
    struct object_relocation {
        unsigned section;
        Elf64_Rela rela;
    } relocations[OBJECT_LIST_MAX];
    unsigned n_relocations;
    char names[512];
    unsigned n_name_bytes;
} object_builder;

/* An exact allocation, so that a sanitizer detects a read past its end. */
typedef struct object_bytes {
    unsigned char *data;
    size_t n;
} object_bytes;

static inline void object_begin(object_builder *b)
{
    *b = (object_builder){.machine = EM_X86_64,
                          .n_sections = 1,
                          .n_symbols = 1,
                          .n_name_bytes = 1};
}

static inline unsigned object_name(object_builder *b, const char *name)
{
    const unsigned at = b->n_name_bytes;
    if (!*name)
        return 0;
    object_check(at + strlen(name) < sizeof(b->names));
    strcpy(b->names + at, name);
    b->n_name_bytes += (unsigned)strlen(name) + 1;
    return at;
}

/* `data` is borrowed until object_end; NULL if the section has none in the
   file. */
static inline unsigned object_section(object_builder *b, const char *name,
                                      unsigned type, uint64_t flags,
                                      uint64_t align, const void *data,
                                      size_t n)
{
    object_check(b->n_sections < OBJECT_LIST_MAX);
    struct object_section *section = &b->sections[b->n_sections];
    section->header = (Elf64_Shdr){.sh_name = object_name(b, name),
                                   .sh_type = type,
                                   .sh_flags = flags,
                                   .sh_addralign = align,
                                   .sh_size = n};
    section->data = data;
    snprintf(section->name, sizeof(section->name), "%s", name);
    return b->n_sections++;
}

static inline unsigned object_symbol(object_builder *b, const char *name,
                                     unsigned section, uint64_t value,
                                     uint64_t size, unsigned info)
{
    object_check(b->n_symbols < OBJECT_LIST_MAX);
    b->symbols[b->n_symbols] = (Elf64_Sym){.st_name = object_name(b, name),
                                           .st_info = (unsigned char)info,
                                           .st_shndx = (Elf64_Half)section,
                                           .st_value = value,
                                           .st_size = size};
    return b->n_symbols++;
}

static inline void object_relocation(object_builder *b, unsigned section,
                                     uint64_t offset, unsigned type,
                                     unsigned symbol, int64_t addend)
{
    object_check(b->n_relocations < OBJECT_LIST_MAX);
    b->relocations[b->n_relocations++] = (struct object_relocation){
        section, {offset, ELF64_R_INFO((uint64_t)symbol, type), addend}};
}

/* Adds the relocation sections, each an array inside `relas`. */
static inline void object_add_relas(object_builder *b, Elf64_Rela *relas,
                                    unsigned symtab)
{
    const unsigned n_targets = b->n_sections;
    for (unsigned target = 0; target < n_targets; target++) {
        Elf64_Rela *first = relas;
        for (unsigned i = 0; i < b->n_relocations; i++)
            if (b->relocations[i].section == target)
                *relas++ = b->relocations[i].rela;
        if (relas == first)
            continue;
        char name[64];
        snprintf(name, sizeof(name), ".rela%s", b->sections[target].name);
        const unsigned at =
            object_section(b, name, SHT_RELA, SHF_INFO_LINK, 8, first,
                           (size_t)(relas - first) * sizeof(*first));
        b->sections[at].header.sh_link = symtab;
        b->sections[at].header.sh_info = target;
        b->sections[at].header.sh_entsize = sizeof(Elf64_Rela);
    }
}

/* LLVM's order: contents, then section headers at the end. */
static inline object_bytes object_end(object_builder *b)
{
    Elf64_Rela relas[OBJECT_LIST_MAX];
    const unsigned strtab = b->n_sections + 1;
    const unsigned symtab =
        object_section(b, ".symtab", SHT_SYMTAB, 0, 8, b->symbols,
                       b->n_symbols * sizeof(b->symbols[0]));
    b->sections[symtab].header.sh_link = strtab;
    b->sections[symtab].header.sh_info = 1;
    b->sections[symtab].header.sh_entsize = sizeof(Elf64_Sym);
    object_section(b, ".strtab", SHT_STRTAB, 0, 1, b->names, 0);
    object_add_relas(b, relas, symtab);
    b->sections[strtab].header.sh_size = b->n_name_bytes;

    static _Thread_local unsigned char file[OBJECT_BYTES_MAX];
    size_t at = sizeof(Elf64_Ehdr);
    memset(file, 0, sizeof(file));
    for (unsigned i = 1; i < b->n_sections; i++) {
        struct object_section *section = &b->sections[i];
        at = (at + 15) & ~(size_t)15;
        section->header.sh_offset = at;
        if (!section->data)
            continue;
        object_check(at + section->header.sh_size <= sizeof(file));
        memcpy(file + at, section->data, section->header.sh_size);
        at += section->header.sh_size;
    }
    at = (at + 7) & ~(size_t)7;
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                    EV_CURRENT},
        .e_type = ET_REL,
        .e_machine = b->machine,
        .e_version = EV_CURRENT,
        .e_shoff = at,
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (Elf64_Half)b->n_sections,
        .e_shstrndx = (Elf64_Half)strtab,
    };
    memcpy(file, &header, sizeof(header));
    object_check(at + b->n_sections * sizeof(Elf64_Shdr) <= sizeof(file));
    for (unsigned i = 0; i < b->n_sections; i++) {
        memcpy(file + at, &b->sections[i].header, sizeof(Elf64_Shdr));
        at += sizeof(Elf64_Shdr);
    }

    object_bytes object = {malloc(at), at};
    object_check(object.data != NULL);
    memcpy(object.data, file, at);
    return object;
}

/* -- A small sound object -------------------------------------------------- */

#define OBJECT_FUNCTION ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define OBJECT_CODE (SHF_ALLOC | SHF_EXECINSTR)

enum { SAMPLE_ANSWER = 42, SAMPLE_CONSTANT = 1234567 };

/* Section and symbol indices, for tests that edit the object. */
enum { SAMPLE_TEXT = 1, SAMPLE_RODATA = 2 };
enum { SAMPLE_SYMBOL_CONSTANT = 1, SAMPLE_SYMBOL_ANSWER = 2 };

/*
 * int answer(void)   { return 42; }
 * int load(void)     { return constant; }
 * int answer_1(void) { return answer() + 1; }
 */
static inline void object_begin_sample(object_builder *b)
{
    static const unsigned char code[] = {
        0xb8, SAMPLE_ANSWER,
        0,    0,
        0,    0xc3,
        0x90, 0x90, /* answer */
        0x8b, 0x05,
        0,    0,
        0,    0,
        0xc3, 0x90, /* load */
        0xe8, 0,
        0,    0,
        0,    0x83,
        0xc0, 0x01,
        0xc3, 0x90,
        0x90, /* answer_1 */
    };
    static const int32_t constants[] = {0, SAMPLE_CONSTANT};

    object_begin(b);
    object_section(b, ".text", SHT_PROGBITS, OBJECT_CODE, 16, code,
                   sizeof(code));
    object_section(b, ".rodata", SHT_PROGBITS, SHF_ALLOC, 4, constants,
                   sizeof(constants));
    object_symbol(b, ".LCPI0", SAMPLE_RODATA, 4, 0,
                  ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE));
    object_symbol(b, "answer", SAMPLE_TEXT, 0, 6, OBJECT_FUNCTION);
    object_symbol(b, "load", SAMPLE_TEXT, 8, 7, OBJECT_FUNCTION);
    object_symbol(b, "answer_1", SAMPLE_TEXT, 16, 9, OBJECT_FUNCTION);
    object_relocation(b, SAMPLE_TEXT, 10, R_X86_64_PC32, SAMPLE_SYMBOL_CONSTANT,
                      -4);
    object_relocation(b, SAMPLE_TEXT, 17, R_X86_64_PLT32, SAMPLE_SYMBOL_ANSWER,
                      -4);
}

static inline object_bytes object_sample(void)
{
    object_builder b;
    object_begin_sample(&b);
    return object_end(&b);
}

#endif /* TGI_TEST_IMAGE_OBJECTS_H */
