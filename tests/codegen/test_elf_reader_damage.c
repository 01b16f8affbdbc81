/* SPDX-License-Identifier: MIT */
/*
 * test_elf_reader_damage.c - loading objects that are damaged, hostile, or need
 * something that generated code must not need: each is rejected with a reason,
 * and no input does harm. Nothing that is loaded here is run.
 */
#include "object/image.h"

#include "support/image_objects.h"
#include "support/support.h"

#if defined(__x86_64__)

/* Loads an object without running it, and releases the image. */
static bool can_load(object_bytes object)
{
    tgi_image *image;
    const tg_status status = tgi_image_load(object.data, object.n, &image);
    cr_assert_eq(status == TG_OK, image != NULL);
    tgi_image_release(image);
    return status == TG_OK;
}

/* -- Refusals -------------------------------------------------------------- */

static void check_refused_bytes(object_bytes object, tg_status status,
                                const char *words)
{
    tg_error_clear();
    tgi_image *image;
    cr_assert_eq(tgi_image_load(object.data, object.n, &image), status,
                 "wanted '%s', got '%s'", words, tg_error(NULL));
    cr_assert_null(image);
    cr_assert_not_null(strstr(tg_error(NULL), words), "wanted '%s' in '%s'",
                       words, tg_error(NULL));
    check_nothing_is_alive();
}

static void check_refused(object_builder *b, tg_status status,
                          const char *words)
{
    const object_bytes object = object_end(b);
    check_refused_bytes(object, status, words);
    free(object.data);
}

Test(image_damage, refuses_symbols_that_it_does_not_define)
{
    object_builder b;
    object_begin_sample(&b);
    object_symbol(&b, "memset", SHN_UNDEF, 0, 0,
                  ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE));
    check_refused(&b, TG_ERROR_UNSUPPORTED, "'memset'");
}

Test(image_damage, refuses_symbols_outside_sections)
{
    static const struct {
        unsigned section, info;
        const char *words;
    } cases[] = {
        {SHN_ABS, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), "'odd' is absolute"},
        {SHN_COMMON, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), "'odd' is common"},
        {SHN_XINDEX, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), "'odd'"},
        {SAMPLE_TEXT, ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
         "'odd' is thread-local"},
        {SAMPLE_TEXT, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC),
         "'odd' is of an unknown type"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        object_builder b;
        object_begin_sample(&b);
        object_symbol(&b, "odd", cases[i].section, 0, 0, cases[i].info);
        check_refused(&b, TG_ERROR_UNSUPPORTED, cases[i].words);
    }
}

Test(image_damage, refuses_sections_that_code_must_not_need)
{
    static const struct {
        const char *name;
        unsigned type;
        uint64_t flags;
        const char *words;
    } cases[] = {
        {".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE,
         "writable data in .data"},
        {".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, "writable data in .bss"},
        {".zero", SHT_NOBITS, SHF_ALLOC, "writable data in .zero"},
        {".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS,
         "thread-local data in .tdata"},
        {".text.rw", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR,
         "writable data in .text.rw"},
        {".packed", SHT_PROGBITS, SHF_ALLOC | SHF_COMPRESSED,
         "unknown flags 0x802"},
        {".init_array", SHT_INIT_ARRAY, SHF_ALLOC | SHF_WRITE,
         ".init_array has unknown type"},
        {".rel.text", SHT_REL, 0, ".rel.text has unknown type"},
    };
    static const unsigned char bytes[16] = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        object_builder b;
        object_begin_sample(&b);
        object_section(&b, cases[i].name, cases[i].type, cases[i].flags, 8,
                       cases[i].type == SHT_NOBITS ? NULL : bytes, 16);
        check_refused(&b, TG_ERROR_UNSUPPORTED, cases[i].words);
    }
}

Test(image_damage, refuses_relocations_that_are_not_distances)
{
    static const struct {
        unsigned type;
        const char *words;
    } cases[] = {
        {R_X86_64_64, "R_X86_64_64 in .text by 'answer'"},
        {R_X86_64_32S, "R_X86_64_32S in .text"},
        {R_X86_64_REX_GOTPCRELX, "R_X86_64_REX_GOTPCRELX in .text"},
        {R_X86_64_TPOFF32, "R_X86_64_TPOFF32 in .text"},
        {R_X86_64_NONE, "R_X86_64_NONE in .text"},
        {12345, "unknown type 12345 in .text"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        object_builder b;
        object_begin_sample(&b);
        object_relocation(&b, SAMPLE_TEXT, 0, cases[i].type,
                          SAMPLE_SYMBOL_ANSWER, 0);
        check_refused(&b, TG_ERROR_UNSUPPORTED, cases[i].words);
    }
}

Test(image_damage, refuses_relocations_out_of_bounds)
{
    static const struct {
        uint64_t offset;
        unsigned symbol;
        int64_t addend;
        tg_status status;
        const char *words;
    } cases[] = {
        {24, SAMPLE_SYMBOL_ANSWER, 0, TG_ERROR_INVALID_ARGUMENT, "outside"},
        {UINT64_MAX, SAMPLE_SYMBOL_ANSWER, 0, TG_ERROR_INVALID_ARGUMENT,
         "outside"},
        {UINT64_MAX - 3, SAMPLE_SYMBOL_ANSWER, 0, TG_ERROR_INVALID_ARGUMENT,
         "outside"},
        {0, 0, 0, TG_ERROR_INVALID_ARGUMENT, "has no symbol"},
        {0, 5, 0, TG_ERROR_INVALID_ARGUMENT, "has no symbol"},
        {0, UINT32_MAX, 0, TG_ERROR_INVALID_ARGUMENT, "has no symbol"},
        {0, SAMPLE_SYMBOL_ANSWER, INT64_C(1) << 31, TG_ERROR_OVERFLOW,
         "R_X86_64_PC32 in .text by 'answer' is out of range"},
        {0, SAMPLE_SYMBOL_ANSWER, -(INT64_C(1) << 31) - 1, TG_ERROR_OVERFLOW,
         "out of range"},
        {8, SAMPLE_SYMBOL_ANSWER, INT64_MIN, TG_ERROR_OVERFLOW, "out of range"},
        {0, SAMPLE_SYMBOL_CONSTANT, INT64_MAX, TG_ERROR_OVERFLOW,
         "out of range"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        object_builder b;
        object_begin_sample(&b);
        object_relocation(&b, SAMPLE_TEXT, cases[i].offset, R_X86_64_PC32,
                          cases[i].symbol, cases[i].addend);
        check_refused(&b, cases[i].status, cases[i].words);
    }

    /* The limits themselves are valid. */
    object_builder b;
    object_begin_sample(&b);
    object_relocation(&b, SAMPLE_TEXT, 23, R_X86_64_PC32, SAMPLE_SYMBOL_ANSWER,
                      23 + (INT64_C(1) << 31) - 1);
    object_relocation(&b, SAMPLE_TEXT, 0, R_X86_64_PC32, SAMPLE_SYMBOL_ANSWER,
                      -(INT64_C(1) << 31));
    const object_bytes object = object_end(&b);
    cr_assert(can_load(object), "%s", tg_error(NULL));
    free(object.data);
    check_nothing_is_alive();
}

Test(image_damage, refuses_relocations_to_unloaded_sections)
{
    static const unsigned char bytes[16] = {0};
    object_builder b;
    object_begin_sample(&b);
    const unsigned section =
        object_section(&b, ".debug_str", SHT_PROGBITS, 0, 1, bytes, 16);
    const unsigned symbol = object_symbol(
        &b, "", section, 0, 0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION));
    object_relocation(&b, SAMPLE_TEXT, 0, R_X86_64_PC32, symbol, 0);
    check_refused(&b, TG_ERROR_INVALID_ARGUMENT,
                  "by '.debug_str' targets a section that is not "
                  "loaded");
}

Test(image_damage, refuses_symbols_past_their_section)
{
    static const struct {
        unsigned section;
        uint64_t value, size;
    } cases[] = {
        {SAMPLE_TEXT, 28, 0},         {SAMPLE_TEXT, 0, 28},
        {SAMPLE_TEXT, 20, 8},         {SAMPLE_TEXT, UINT64_MAX, 1},
        {SAMPLE_TEXT, 1, UINT64_MAX}, {200, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        object_builder b;
        object_begin_sample(&b);
        object_symbol(&b, "far", cases[i].section, cases[i].value,
                      cases[i].size, OBJECT_FUNCTION);
        check_refused(&b, TG_ERROR_INVALID_ARGUMENT, "'far'");
    }
}

/* Symbol 0 is read like any other when names and addresses are collected. */
Test(image_damage, refuses_a_null_symbol_that_is_not_zero)
{
    static const Elf64_Sym cases[] = {
        {.st_name = UINT32_MAX,
         .st_info = OBJECT_FUNCTION,
         .st_shndx = SAMPLE_TEXT},
        {.st_info = OBJECT_FUNCTION,
         .st_shndx = SAMPLE_TEXT,
         .st_value = UINT32_MAX},
        {.st_name = 1 << 20},
        {.st_value = 1},
        {.st_size = 1},
        {.st_other = STV_HIDDEN},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        object_builder b;
        object_begin_sample(&b);
        b.symbols[0] = cases[i];
        check_refused(&b, TG_ERROR_INVALID_ARGUMENT, "symbol 0");
    }
}

Test(image_damage, refuses_alignments_beyond_a_page_and_odd_ones)
{
    static const uint64_t aligns[] = {3, 48, 1 << 20, UINT64_MAX,
                                      UINT64_C(1) << 63};
    for (size_t i = 0; i < sizeof(aligns) / sizeof(aligns[0]); i++) {
        object_builder b;
        object_begin_sample(&b);
        b.sections[SAMPLE_TEXT].header.sh_addralign = aligns[i];
        check_refused(&b, TG_ERROR_INVALID_ARGUMENT, ".text is aligned to");
    }
}

Test(image_damage, refuses_objects_of_other_machines_and_without_code)
{
    object_builder b;
    object_begin_sample(&b);
    b.machine = EM_AARCH64;
    check_refused(&b, TG_ERROR_UNSUPPORTED, "machine 183");

    object_begin(&b);
    check_refused(&b, TG_ERROR_INVALID_ARGUMENT, "no code");

    check_refused_bytes((object_bytes){NULL, 0}, TG_ERROR_INVALID_ARGUMENT,
                        "0 bytes are too few");
}

static void edit(object_bytes object, size_t at, size_t bytes, uint64_t value)
{
    memcpy(object.data + at, &value, bytes);
}

/* Member `member` of the header of section `name`. */
#define EDITED(name, member, value)                                            \
    {name, offsetof(Elf64_Shdr, member), sizeof(((Elf64_Shdr *)0)->member),    \
     value}

Test(image_damage, refuses_tables_of_a_wrong_shape)
{
    static const struct {
        struct {
            const char *name;
            size_t at, bytes;
            uint64_t value;
        } edited;
        const char *words;
    } cases[] = {
        {EDITED(".strtab", sh_size, 9), "string table"},
        {EDITED(".strtab", sh_size, 0), "string table"},
        {EDITED(".strtab", sh_type, SHT_PROGBITS), "string table"},
        {EDITED(".symtab", sh_entsize, 0), "symbol table"},
        {EDITED(".symtab", sh_entsize, 16), "symbol table"},
        {EDITED(".symtab", sh_size, 25), "symbol table"},
        {EDITED(".symtab", sh_link, 200), "symbol table"},
        {EDITED(".symtab", sh_link, SAMPLE_TEXT), "string table"},
        {EDITED(".symtab", sh_type, SHT_NOTE), "symbol table"},
        {EDITED(".text", sh_type, SHT_SYMTAB), "no code"},
        {EDITED(".rodata", sh_type, SHT_SYMTAB), "symbol table"},
        {EDITED(".rodata", sh_type, SHT_NULL), "must not have type 0"},
        {EDITED(".rodata", sh_size, UINT64_MAX), "lies outside"},
        {EDITED(".rodata", sh_offset, UINT64_MAX), "lies outside"},
        {EDITED(".rodata", sh_name, 1 << 20), "name of section 2"},
        {EDITED(".rela.text", sh_entsize, 16), ".rela.text are damaged"},
        {EDITED(".rela.text", sh_size, 25), ".rela.text are damaged"},
        {EDITED(".rela.text", sh_link, SAMPLE_TEXT), ".rela.text are damaged"},
        {EDITED(".rela.text", sh_info, 200), ".rela.text relocates no"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        object_builder b;
        object_begin_sample(&b);
        const object_bytes object = object_end(&b);
        unsigned section = 1;
        while (strcmp(b.sections[section].name, cases[i].edited.name) != 0)
            cr_assert_lt(++section, b.n_sections);
        const size_t headers = object.n - b.n_sections * sizeof(Elf64_Shdr);
        edit(object,
             headers + section * sizeof(Elf64_Shdr) + cases[i].edited.at,
             cases[i].edited.bytes, cases[i].edited.value);
        check_refused_bytes(object, TG_ERROR_INVALID_ARGUMENT, cases[i].words);
        free(object.data);
    }
}

/* -- Damage ---------------------------------------------------------------- */

Test(image_damage, refuses_every_truncation)
{
    const object_bytes object = object_sample();
    for (size_t n = 0; n < object.n; n++) {
        object_bytes part = {malloc(n ? n : 1), n};
        cr_assert_not_null(part.data);
        memcpy(part.data, object.data, n);
        cr_assert_not(can_load(part), "%zu of %zu bytes", n, object.n);
        free(part.data);
    }
    free(object.data);
    check_nothing_is_alive();
}

Test(image_damage, survives_every_flipped_bit)
{
    const object_bytes object = object_sample();
    size_t n_refused = 0;
    for (size_t bit = 0; bit < object.n * 8; bit++) {
        object.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        n_refused += !can_load(object);
        object.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    cr_assert_gt(n_refused, object.n, "%zu of %zu", n_refused, object.n * 8);
    cr_assert(can_load(object));
    free(object.data);
    check_nothing_is_alive();
}

Test(image_damage, validates_every_number_at_every_offset)
{
    const object_bytes object = object_sample();
    const uint64_t numbers[] = {
        0,
        1,
        UINT64_MAX,
        INT64_MAX,
        UINT64_C(1) << 63,
        UINT32_MAX,
        INT32_MAX,
        0xffff,
        0xff00,
        object.n,
        object.n - 1,
        UINT64_MAX - object.n,
        UINT64_MAX - 63,
        4096,
    };
    static const size_t sizes[] = {2, 4, 8};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (size_t at = 0; at + sizes[s] <= object.n; at += 2)
            for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
                unsigned char saved[8];
                memcpy(saved, object.data + at, sizes[s]);
                edit(object, at, sizes[s], numbers[i]);
                can_load(object);
                memcpy(object.data + at, saved, sizes[s]);
            }
    cr_assert(can_load(object));
    free(object.data);
    check_nothing_is_alive();
}

Test(image_damage, survives_random_damage)
{
    const object_bytes object = object_sample();
    object_bytes damaged = {malloc(object.n), object.n};
    cr_assert_not_null(damaged.data);
    uint64_t random = 4;
    for (int round = 0; round < 20000; round++) {
        memcpy(damaged.data, object.data, object.n);
        for (int i = 0; i < 4; i++)
            damaged.data[random_below(&random, (int)object.n)] =
                (unsigned char)random_below(&random, 256);
        can_load(damaged);
    }
    free(damaged.data);
    free(object.data);
    check_nothing_is_alive();
}

#endif
