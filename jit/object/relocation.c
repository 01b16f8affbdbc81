/* SPDX-License-Identifier: MIT */
/*
 * relocation.c - the table of relocations of the machine we run on. A new
 * machine is one more table and the functions that write its fields.
 */
#include "object/relocation.h"

#include <elf.h>
#include <string.h>

#define ALLOWED(type, bytes, store) {type, #type, bytes, store}
#define REFUSED(type) {type, #type, 0, NULL}

#if defined(__x86_64__)

const uint16_t tgi_elf_machine = EM_X86_64;

static bool store_signed_32(unsigned char *place, int64_t distance)
{
    const int32_t field = (int32_t)distance;
    if (field != distance)
        return false;
    memcpy(place, &field, sizeof(field));
    return true;
}

/*
 * The two that LLVM 19 makes from position-independent code for symbols of
 * its own object: PLT32 for calls, PC32 for all else, jump tables included.
 * GOTPCREL and its like are how the address of a symbol is taken that another
 * object might define; the static model makes 32S and 64.
 */
static const tgi_reloc_kind kinds[] = {
    ALLOWED(R_X86_64_PC32, 4, store_signed_32),
    ALLOWED(R_X86_64_PLT32, 4, store_signed_32),
    REFUSED(R_X86_64_NONE),
    REFUSED(R_X86_64_64),
    REFUSED(R_X86_64_32),
    REFUSED(R_X86_64_32S),
    REFUSED(R_X86_64_16),
    REFUSED(R_X86_64_8),
    REFUSED(R_X86_64_PC8),
    REFUSED(R_X86_64_PC16),
    REFUSED(R_X86_64_PC64),
    REFUSED(R_X86_64_GOT32),
    REFUSED(R_X86_64_GOT64),
    REFUSED(R_X86_64_GOTPC32),
    REFUSED(R_X86_64_GOTPC64),
    REFUSED(R_X86_64_GOTOFF64),
    REFUSED(R_X86_64_GOTPCREL),
    REFUSED(R_X86_64_GOTPCRELX),
    REFUSED(R_X86_64_REX_GOTPCRELX),
    REFUSED(R_X86_64_TLSGD),
    REFUSED(R_X86_64_TLSLD),
    REFUSED(R_X86_64_DTPOFF32),
    REFUSED(R_X86_64_GOTTPOFF),
    REFUSED(R_X86_64_TPOFF32),
    REFUSED(R_X86_64_SIZE32),
    REFUSED(R_X86_64_SIZE64),
};

#else

/* No machine code for this machine yet: every object is for another one. */
const uint16_t tgi_elf_machine = EM_NONE;
static const tgi_reloc_kind kinds[] = {{0, "none", 0, NULL}};

#endif

const tgi_reloc_kind *tgi_reloc_find(uint32_t type)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].type == type)
            return &kinds[i];
    return NULL;
}
