/* SPDX-License-Identifier: MIT */
/*
 * relocation.c - the relocation table of this machine. A port adds a table and
 * the functions that write its fields.
 */
#include "object/relocation.h"

#include <elf.h>
#include <string.h>

#define SUPPORTED(type, bytes, store) {type, #type, bytes, store}
#define UNSUPPORTED(type) {type, #type, 0, NULL}

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
 * For symbols of the same object, LLVM 19 emits two types in position-
 * independent code: PLT32 for calls, PC32 otherwise, including jump tables.
 * GOTPCREL and similar types take the address of a symbol that another object
 * may define; the static relocation model emits 32S and 64.
 */
static const tgi_reloc_kind kinds[] = {
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

#else

/* Not supported yet: every object is for another machine. */
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
