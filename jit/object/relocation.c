/* SPDX-License-Identifier: MIT */
/*
 * relocation.c - the relocation tables, for all machines: objects can be
 * relocated on any of them. A port adds a table and the functions that write
 * its fields.
 */
#include "object/relocation.h"

#include <elf.h>
#include <string.h>

#if defined(__x86_64__)
const uint16_t tgi_elf_machine = EM_X86_64;
#elif defined(__aarch64__)
const uint16_t tgi_elf_machine = EM_AARCH64;
#else
const uint16_t tgi_elf_machine = EM_NONE;
#endif

#define SUPPORTED(type, bytes, store) {type, #type, bytes, store}
#define UNSUPPORTED(type) {type, #type, 0, NULL}

/* -- Distances ------------------------------------------------------------- */

static bool store_signed_32(unsigned char *place, int64_t from, int64_t to)
{
    const int32_t field = (int32_t)(to - from);
    if (field != to - from)
        return false;
    memcpy(place, &field, sizeof(field));
    return true;
}

/* -- x86-64 ---------------------------------------------------------------- */

/*
 * For symbols of the same object, LLVM 19 emits two types in position-
 * independent code: PLT32 for calls, PC32 otherwise, including jump tables.
 * GOTPCREL and similar types take the address of a symbol that another object
 * may define; the static relocation model emits 32S and 64.
 */
static const tgi_reloc_kind x86_64[] = {
    SUPPORTED(R_X86_64_PC32, 4, store_signed_32),
    SUPPORTED(R_X86_64_PLT32, 4, store_signed_32),
    UNSUPPORTED(R_X86_64_NONE),
    UNSUPPORTED(R_X86_64_64),
    UNSUPPORTED(R_X86_64_32),
    UNSUPPORTED(R_X86_64_32S),
    UNSUPPORTED(R_X86_64_16),
    UNSUPPORTED(R_X86_64_8),
    UNSUPPORTED(R_X86_64_PC8),
    UNSUPPORTED(R_X86_64_PC16),
    UNSUPPORTED(R_X86_64_PC64),
    UNSUPPORTED(R_X86_64_GOT32),
    UNSUPPORTED(R_X86_64_GOT64),
    UNSUPPORTED(R_X86_64_GOTPC32),
    UNSUPPORTED(R_X86_64_GOTPC64),
    UNSUPPORTED(R_X86_64_GOTOFF64),
    UNSUPPORTED(R_X86_64_GOTPCREL),
    UNSUPPORTED(R_X86_64_GOTPCRELX),
    UNSUPPORTED(R_X86_64_REX_GOTPCRELX),
    UNSUPPORTED(R_X86_64_TLSGD),
    UNSUPPORTED(R_X86_64_TLSLD),
    UNSUPPORTED(R_X86_64_DTPOFF32),
    UNSUPPORTED(R_X86_64_GOTTPOFF),
    UNSUPPORTED(R_X86_64_TPOFF32),
    UNSUPPORTED(R_X86_64_SIZE32),
    UNSUPPORTED(R_X86_64_SIZE64),
};

/* -- AArch64 --------------------------------------------------------------- */

static void store_field(unsigned char *place, unsigned at, unsigned bits,
                        int64_t value)
{
    const uint32_t mask = ((UINT32_C(1) << bits) - 1) << at;
    uint32_t instruction;
    memcpy(&instruction, place, sizeof(instruction));
    instruction = (instruction & ~mask) | ((uint32_t)value << at & mask);
    memcpy(place, &instruction, sizeof(instruction));
}

/* Stores a number as a signed field, in units of 2^shift. */
static bool store_signed(unsigned char *place, unsigned at, unsigned bits,
                         unsigned shift, int64_t value)
{
    const int64_t limit = INT64_C(1) << (bits + shift - 1);
    if (value < -limit || value >= limit || value & ((INT64_C(1) << shift) - 1))
        return false;
    store_field(place, at, bits, value >> shift);
    return true;
}

static bool store_branch_26(unsigned char *place, int64_t from, int64_t to)
{
    return store_signed(place, 0, 26, 2, to - from);
}

static bool store_branch_19(unsigned char *place, int64_t from, int64_t to)
{
    return store_signed(place, 5, 19, 2, to - from);
}

static bool store_branch_14(unsigned char *place, int64_t from, int64_t to)
{
    return store_signed(place, 5, 14, 2, to - from);
}

/* A signed number of 21 bits, of which the lower two are apart. */
static bool store_adr(unsigned char *place, int64_t value)
{
    if (value < -(1 << 20) || value >= 1 << 20)
        return false;
    store_field(place, 29, 2, value & 3);
    store_field(place, 5, 19, value >> 2);
    return true;
}

static bool store_adr_21(unsigned char *place, int64_t from, int64_t to)
{
    return store_adr(place, to - from);
}

/* ADRP: the distance between two pages. Right shifts round down. */
static bool store_page_21(unsigned char *place, int64_t from, int64_t to)
{
    return store_adr(place, (to >> 12) - (from >> 12));
}

/* The offset in a page, in units of the bytes that are accessed. */
static bool store_low_12(unsigned char *place, unsigned shift, int64_t to)
{
    const int64_t offset = to & (TGI_RELOC_PAGE_BYTES - 1);
    if (offset & ((1 << shift) - 1))
        return false;
    store_field(place, 10, 12, offset >> shift);
    return true;
}

#define STORE_LOW_12(name, shift)                                            \
    static bool name(unsigned char *place, int64_t from, int64_t to)         \
    {                                                                        \
        (void)from;                                                          \
        return store_low_12(place, shift, to);                               \
    }
STORE_LOW_12(store_low_12_of_1, 0)
STORE_LOW_12(store_low_12_of_2, 1)
STORE_LOW_12(store_low_12_of_4, 2)
STORE_LOW_12(store_low_12_of_8, 3)
STORE_LOW_12(store_low_12_of_16, 4)
#undef STORE_LOW_12

/* With the small code model, LLVM 19 emits pairs of ADRP and an instruction
   with the low 12 bits, branches, and 32-bit distances. */
static const tgi_reloc_kind aarch64[] = {
    SUPPORTED(R_AARCH64_PREL32, 4, store_signed_32),
    SUPPORTED(R_AARCH64_ADR_PREL_LO21, 4, store_adr_21),
    SUPPORTED(R_AARCH64_ADR_PREL_PG_HI21, 4, store_page_21),
    SUPPORTED(R_AARCH64_ADD_ABS_LO12_NC, 4, store_low_12_of_1),
    SUPPORTED(R_AARCH64_LDST8_ABS_LO12_NC, 4, store_low_12_of_1),
    SUPPORTED(R_AARCH64_LDST16_ABS_LO12_NC, 4, store_low_12_of_2),
    SUPPORTED(R_AARCH64_LDST32_ABS_LO12_NC, 4, store_low_12_of_4),
    SUPPORTED(R_AARCH64_LDST64_ABS_LO12_NC, 4, store_low_12_of_8),
    SUPPORTED(R_AARCH64_LDST128_ABS_LO12_NC, 4, store_low_12_of_16),
    SUPPORTED(R_AARCH64_LD_PREL_LO19, 4, store_branch_19),
    SUPPORTED(R_AARCH64_TSTBR14, 4, store_branch_14),
    SUPPORTED(R_AARCH64_CONDBR19, 4, store_branch_19),
    SUPPORTED(R_AARCH64_JUMP26, 4, store_branch_26),
    SUPPORTED(R_AARCH64_CALL26, 4, store_branch_26),
    UNSUPPORTED(R_AARCH64_NONE),
    UNSUPPORTED(R_AARCH64_ABS64),
    UNSUPPORTED(R_AARCH64_ABS32),
    UNSUPPORTED(R_AARCH64_ABS16),
    UNSUPPORTED(R_AARCH64_PREL64),
    UNSUPPORTED(R_AARCH64_PREL16),
    UNSUPPORTED(R_AARCH64_ADR_PREL_PG_HI21_NC),
    UNSUPPORTED(R_AARCH64_ADR_GOT_PAGE),
    UNSUPPORTED(R_AARCH64_LD64_GOT_LO12_NC),
    UNSUPPORTED(R_AARCH64_GOT_LD_PREL19),
    UNSUPPORTED(R_AARCH64_MOVW_UABS_G0),
    UNSUPPORTED(R_AARCH64_MOVW_UABS_G3),
    UNSUPPORTED(R_AARCH64_TLSDESC_CALL),
};

/* -- Tables ---------------------------------------------------------------- */

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
    uint16_t machine;
    const tgi_reloc_kind *kinds;
    size_t n;
} machines[] = {
    {EM_X86_64, x86_64, LENGTH(x86_64)},
    {EM_AARCH64, aarch64, LENGTH(aarch64)},
};

bool tgi_reloc_knows_machine(uint16_t machine)
{
    for (size_t i = 0; i < LENGTH(machines); i++)
        if (machines[i].machine == machine)
            return true;
    return false;
}

const tgi_reloc_kind *tgi_reloc_find(uint16_t machine, uint32_t type)
{
    for (size_t i = 0; i < LENGTH(machines); i++)
        for (size_t k = 0; k < machines[i].n; k++)
            if (machines[i].machine == machine &&
                machines[i].kinds[k].type == type)
                return &machines[i].kinds[k];
    return NULL;
}
