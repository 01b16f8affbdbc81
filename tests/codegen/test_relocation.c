/* SPDX-License-Identifier: MIT */
/*
 * test_relocation.c - the relocations of AArch64, on any machine: the fields
 * that they write, their limits, and an image that uses them. Nothing is run.
 */
#include "object/relocation.h"

#include "base/alloc.h"
#include "object/elf_reader.h"
#include "support/image_objects.h"
#include "support/support.h"

enum {
    NOTHING = 0, /* all fields zero */
    RET = 0xd65f03c0,
    BL = 0x94000000,
    ADRP_X0 = 0x90000000,
    ADD_X0_X0 = 0x91000000,
    LDR_Q0_X0 = 0x3dc00000
};

/* Writes a reference of this type into `instruction`. */
static bool relocate(uint32_t type, int64_t from, int64_t to,
                     uint32_t *instruction)
{
    const tgi_reloc_kind *kind = tgi_reloc_find(EM_AARCH64, type);
    unsigned char bytes[5];
    cr_assert_not_null(kind);
    cr_assert_eq(kind->bytes, 4);
    memcpy(bytes + 1, instruction, 4); /* not aligned */
    const bool fits = kind->store(bytes + 1, from, to);
    memcpy(instruction, bytes + 1, 4);
    return fits;
}

static void check(uint32_t type, int64_t from, int64_t to, uint32_t before,
                  uint32_t after)
{
    uint32_t instruction = before;
    cr_expect(relocate(type, from, to, &instruction), "type %u", type);
    cr_expect_eq(instruction, after, "type %u: %x, not %x", type, instruction,
                 after);
}

static void check_refused(uint32_t type, int64_t from, int64_t to)
{
    uint32_t instruction = NOTHING;
    cr_expect_not(relocate(type, from, to, &instruction), "type %u", type);
    cr_expect_eq(instruction, (uint32_t)NOTHING);
}

/* -- Types ----------------------------------------------------------------- */

Test(relocation, branches_count_instructions)
{
    check(R_AARCH64_CALL26, 0x1000, 0x1010, BL, 0x94000004);
    check(R_AARCH64_CALL26, 0x1010, 0x1000, BL, 0x97fffffc);
    check(R_AARCH64_JUMP26, 0, (1 << 27) - 4, 0x14000000, 0x15ffffff);
    check_refused(R_AARCH64_JUMP26, 0, 1 << 27);
    check_refused(R_AARCH64_CALL26, (1 << 27) + 4, 0);
    check_refused(R_AARCH64_CALL26, 0, 2);
    check(R_AARCH64_CONDBR19, 8, 0, 0x54000001, 0x54ffffc1);
    check_refused(R_AARCH64_CONDBR19, 0, 1 << 20);
    check(R_AARCH64_TSTBR14, 0, 8, 0x36000000, 0x36000040);
    check_refused(R_AARCH64_TSTBR14, 0, 1 << 15);
    check(R_AARCH64_LD_PREL_LO19, 0, 16, 0x9c000000, 0x9c000080);
}

Test(relocation, a_pair_addresses_a_page_and_an_offset)
{
    /* Only pages count: the same for all places of a page. */
    for (int64_t from = 0x1000; from < 0x2000; from += 0x7fc)
        check(R_AARCH64_ADR_PREL_PG_HI21, from, 0x3ff0, ADRP_X0, 0xd0000000);
    check(R_AARCH64_ADR_PREL_PG_HI21, 0x2004, 0x1ffc, ADRP_X0, 0xf0ffffe0);
    check(R_AARCH64_ADR_PREL_PG_HI21, 0x1ffc, 0x1000, ADRP_X0, ADRP_X0);
    check(R_AARCH64_ADR_PREL_PG_HI21, 0, -1, ADRP_X0, 0xf0ffffe0);
    check_refused(R_AARCH64_ADR_PREL_PG_HI21, 0, INT64_C(1) << 32);
    check_refused(R_AARCH64_ADR_PREL_PG_HI21, (INT64_C(1) << 32) + 4096, 0);
    check(R_AARCH64_ADD_ABS_LO12_NC, 0x88, 0x3ff1, ADD_X0_X0, 0x913fc400);
    check(R_AARCH64_ADR_PREL_LO21, 0x10, 0x15, 0x10000000, 0x30000020);
    check_refused(R_AARCH64_ADR_PREL_LO21, 0, 1 << 20);
}

Test(relocation, offsets_of_loads_count_in_units_of_their_width)
{
    static const uint32_t types[] = {
        R_AARCH64_LDST8_ABS_LO12_NC, R_AARCH64_LDST16_ABS_LO12_NC,
        R_AARCH64_LDST32_ABS_LO12_NC, R_AARCH64_LDST64_ABS_LO12_NC,
        R_AARCH64_LDST128_ABS_LO12_NC};
    for (unsigned i = 0; i < 5; i++) {
        check(types[i], 0, 0x5230, NOTHING, 0x230u >> i << 10);
        if (i > 0)
            check_refused(types[i], 0, 0x5230 + (1 << i) / 2);
    }
    check(R_AARCH64_LDST128_ABS_LO12_NC, 0, 0x5230, LDR_Q0_X0, 0x3dc08c00);
}

Test(relocation, distances_have_32_bits)
{
    check(R_AARCH64_PREL32, 8, 4, NOTHING, UINT32_MAX - 3);
    check(R_AARCH64_PREL32, 0, INT32_MAX, NOTHING, INT32_MAX);
    check_refused(R_AARCH64_PREL32, 0, INT64_C(1) << 31);
}

Test(relocation, absolute_types_are_named_but_not_supported)
{
    static const uint32_t types[] = {R_AARCH64_ABS64, R_AARCH64_ADR_GOT_PAGE,
                                     R_AARCH64_LD64_GOT_LO12_NC};
    for (size_t i = 0; i < 3; i++) {
        const tgi_reloc_kind *kind = tgi_reloc_find(EM_AARCH64, types[i]);
        cr_assert_not_null(kind);
        cr_expect_null(kind->store, "%s", kind->name);
    }
    cr_expect_null(tgi_reloc_find(EM_AARCH64, 12345));
    cr_expect_null(tgi_reloc_find(EM_MIPS, R_AARCH64_PREL32));
}

/* -- Images ---------------------------------------------------------------- */

static uint32_t word_at(const unsigned char *image, size_t at)
{
    uint32_t word;
    memcpy(&word, image + at, sizeof(word));
    return word;
}

/* Code loads a constant that is in the next page of the image. */
Test(relocation, an_image_keeps_offsets_within_pages)
{
    static uint32_t code[1200] = {ADRP_X0, LDR_Q0_X0, RET};
    static const uint64_t constants[] = {1, 2, 3, 4};
    object_builder b;
    object_begin(&b);
    b.machine = EM_AARCH64;
    const unsigned text = object_section(&b, ".text", SHT_PROGBITS, OBJECT_CODE,
                                         4, code, sizeof(code));
    const unsigned rodata =
        object_section(&b, ".rodata.cst16", SHT_PROGBITS, SHF_ALLOC | SHF_MERGE,
                       16, constants, sizeof(constants));
    object_symbol(&b, "load", text, 0, 12, OBJECT_FUNCTION);
    const unsigned constant = object_symbol(
        &b, "", rodata, 0, 0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION));
    object_relocation(&b, text, 0, R_AARCH64_ADR_PREL_PG_HI21, constant, 16);
    object_relocation(&b, text, 4, R_AARCH64_LDST128_ABS_LO12_NC, constant, 16);
    const object_bytes bytes = object_end(&b);
    tgi_object object;
    cr_assert_eq(tgi_object_init(&object, bytes.data, bytes.n), TG_OK, "%s",
                 tg_error(NULL));
    unsigned char *image = tgi_alloc_zero(object.image_bytes);
    cr_assert_eq(tgi_object_write_image(&object, image), TG_OK, "%s",
                 tg_error(NULL));
    const uint32_t from = object.load_offsets[text];
    const uint32_t to = object.load_offsets[rodata] + 16;
    cr_assert(from < 4096 && to >= 4096 && to < 8192);
    cr_expect_eq(word_at(image, from), 0xb0000000, "one page");
    cr_expect_eq(word_at(image, from + 4), LDR_Q0_X0 | (to % 4096 / 16) << 10);
    tgi_free(image);
    tgi_object_deinit(&object);
    free(bytes.data);
    check_nothing_is_alive();
}
