/* SPDX-License-Identifier: MIT */
/*
 * debug_lines.c - see debug_lines.h. The table is a program for a state machine
 * (DWARF 4, section 6.2). Addresses in it are relocations against sections of
 * code.
 */
#include "object/debug_lines.h"

#include <string.h>

#include "base/error.h"

/* Standard opcodes, then extended ones. */
enum {
    COPY = 1,
    ADVANCE_PC,
    ADVANCE_LINE,
    SET_FILE,
    SET_COLUMN,
    NEGATE_STMT,
    SET_BASIC_BLOCK,
    CONST_ADD_PC,
    FIXED_ADVANCE_PC,
    SET_PROLOGUE_END,
    SET_EPILOGUE_BEGIN,
    SET_ISA,
    END_SEQUENCE = 1,
    SET_ADDRESS
};

/* A cursor. A read past `end` returns 0 and sets is_bad. */
typedef struct reader {
    const unsigned char *start, *at, *end;
    bool is_bad;
} reader;

typedef struct line_header {
    unsigned min_instruction, line_range, opcode_base;
    int line_base;
    const unsigned char *operand_counts; /* by opcode - 1 */
} line_header;

typedef struct machine {
    const tgi_object *object;
    const Elf64_Shdr *relocs; /* of the table; NULL: none */
    tgi_debug_lines *lines;
    line_header header;
    uint64_t address; /* offset in the image; NOT_LOADED: none yet */
    uint64_t file;
    int64_t line;
} machine;

/* -- Numbers --------------------------------------------------------------- */

static bool has(reader *r, size_t n)
{
    r->is_bad |= (size_t)(r->end - r->at) < n;
    return !r->is_bad;
}

static uint64_t read_number(reader *r, unsigned bytes)
{
    uint64_t number = 0;
    if (!has(r, bytes))
        return 0;
    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t)*r->at++ << (8 * i);
    return number;
}

static uint64_t read_leb128(reader *r, bool is_signed)
{
    uint64_t number = 0;
    unsigned shift = 0, byte = 0x80;
    for (; byte & 0x80 && has(r, 1); shift += 7) {
        byte = *r->at++;
        r->is_bad |= shift > 63;
        if (shift <= 63)
            number |= (uint64_t)(byte & 0x7f) << shift;
    }
    if (is_signed && byte & 0x40 && shift < 64)
        number |= ~UINT64_C(0) << shift;
    return number;
}

static const char *read_text(reader *r)
{
    const unsigned char *end =
        has(r, 1) ? memchr(r->at, 0, (size_t)(r->end - r->at)) : NULL;
    r->is_bad |= !end;
    if (!end)
        return "";
    const char *text = (const char *)r->at;
    r->at = end + 1;
    return text;
}

/* -- Sections -------------------------------------------------------------- */

/* The section of this type and name, 0: none; if `info` is not 0, with this
   sh_info. */
static size_t find_section(const tgi_object *object, uint32_t type,
                           const char *name, size_t info)
{
    for (size_t i = 1; i < object->n_sections; i++) {
        const Elf64_Shdr section = tgi_object_section(object, i);
        if (section.sh_type == type &&
            (name ? strcmp(tgi_object_section_name(object, &section), name) == 0
                  : section.sh_info == info))
            return i;
    }
    return 0;
}

/* The offset in the image that the relocation of the address at `at` refers
   to; NOT_LOADED: none. */
static uint64_t find_address(const machine *m, uint64_t at)
{
    const uint32_t absolute =
        m->object->machine == EM_X86_64 ? R_X86_64_64 : R_AARCH64_ABS64;
    const uint64_t bytes = m->relocs ? m->relocs->sh_size : 0;
    for (uint64_t i = 0; i + sizeof(Elf64_Rela) <= bytes;
         i += sizeof(Elf64_Rela)) {
        Elf64_Rela reloc;
        memcpy(&reloc, m->object->bytes + m->relocs->sh_offset + i,
               sizeof(reloc));
        const size_t number = ELF64_R_SYM(reloc.r_info);
        if (reloc.r_offset != at || ELF64_R_TYPE(reloc.r_info) != absolute ||
            number >= m->object->n_symbols)
            continue;
        const Elf64_Sym symbol = tgi_object_symbol(m->object, number);
        const uint32_t base = tgi_object_symbol_offset(m->object, &symbol);
        return base == TGI_OBJECT_NOT_LOADED
                   ? TGI_OBJECT_NOT_LOADED
                   : (uint64_t)base + (uint64_t)reloc.r_addend;
    }
    return TGI_OBJECT_NOT_LOADED;
}

/* -- The header ------------------------------------------------------------ */

/* False when out of memory. */
static bool read_files(machine *m, reader *r)
{
    enum { MAX_DIRECTORIES = 256 };
    const char *directories[MAX_DIRECTORIES] = {NULL};
    uint64_t n = 1; /* 0 is the directory of the compile */
    for (const char *text; *(text = read_text(r)) && !r->is_bad; n++)
        if (n < MAX_DIRECTORIES)
            directories[n] = text;
    for (const char *name; *(name = read_text(r)) && !r->is_bad;) {
        const uint64_t directory = read_leb128(r, false);
        read_leb128(r, false); /* time of change */
        read_leb128(r, false); /* bytes */
        const tgi_debug_file file = {
            directory < MAX_DIRECTORIES ? directories[directory] : NULL, name};
        if (!tgi_vec_push(&m->lines->files, file))
            return false;
    }
    return true;
}

/* Reads the header of a unit, which begins after its length, and leaves the
   reader at its program. False when out of memory. */
static bool read_header(machine *m, reader *r)
{
    line_header *h = &m->header;
    r->is_bad |= read_number(r, 2) != 4; /* version */
    const uint64_t rest = read_number(r, 4);
    const unsigned char *program = r->at + rest;
    if (!has(r, rest))
        return true;
    h->min_instruction = (unsigned)read_number(r, 1);
    read_number(r, 1); /* operations of an instruction: 1 */
    read_number(r, 1); /* default of is_stmt */
    h->line_base = (int8_t)read_number(r, 1);
    h->line_range = (unsigned)read_number(r, 1);
    h->opcode_base = (unsigned)read_number(r, 1);
    h->operand_counts = r->at;
    r->is_bad |= !h->line_range || !h->opcode_base;
    if (r->is_bad || !has(r, h->opcode_base - 1))
        return true;
    r->at += h->opcode_base - 1;
    if (!read_files(m, r))
        return false;
    r->is_bad |= r->at > program;
    r->at = program;
    return true;
}

/* -- The program ----------------------------------------------------------- */

static void begin_sequence(machine *m)
{
    m->address = TGI_OBJECT_NOT_LOADED;
    m->file = 1;
    m->line = 1;
}

/* False when out of memory. */
static bool add_row(machine *m, bool is_end)
{
    if (m->address >= TGI_OBJECT_NOT_LOADED || m->file == 0 ||
        m->file > m->lines->files.n || m->line < 0 || m->line > INT32_MAX)
        return true;
    const tgi_debug_row row = {(uint32_t)m->address, (uint32_t)m->file - 1,
                               (uint32_t)m->line, is_end};
    return tgi_vec_push(&m->lines->rows, row);
}

static void advance(machine *m, uint64_t instructions)
{
    if (m->address < TGI_OBJECT_NOT_LOADED)
        m->address += instructions * m->header.min_instruction;
}

static bool run_extended(machine *m, reader *r)
{
    const uint64_t bytes = read_leb128(r, false);
    if (!bytes || !has(r, bytes))
        return true;
    const unsigned char *end = r->at + bytes;
    const uint64_t opcode = read_number(r, 1);
    bool has_memory = true;
    if (opcode == END_SEQUENCE) {
        has_memory = add_row(m, true);
        begin_sequence(m);
    } else if (opcode == SET_ADDRESS) {
        m->address = find_address(m, (uint64_t)(r->at - r->start));
    }
    r->at = end;
    return has_memory;
}

static bool run_standard(machine *m, reader *r, unsigned opcode)
{
    const line_header *h = &m->header;
    switch (opcode) {
    case COPY:
        return add_row(m, false);
    case ADVANCE_PC:
        advance(m, read_leb128(r, false));
        return true;
    case ADVANCE_LINE:
        m->line = (int64_t)((uint64_t)m->line + read_leb128(r, true));
        return true;
    case SET_FILE:
        m->file = read_leb128(r, false);
        return true;
    case CONST_ADD_PC:
        advance(m, (255 - h->opcode_base) / h->line_range);
        return true;
    case FIXED_ADVANCE_PC:
        if (m->address < TGI_OBJECT_NOT_LOADED)
            m->address += read_number(r, 2);
        return true;
    default:
        for (unsigned i = 0; i < h->operand_counts[opcode - 1]; i++)
            read_leb128(r, false);
        return true;
    }
}

/* False when out of memory. */
static bool run_program(machine *m, reader *r)
{
    const line_header *h = &m->header;
    bool has_memory = true;
    begin_sequence(m);
    while (has_memory && !r->is_bad && r->at < r->end) {
        const unsigned opcode = (unsigned)read_number(r, 1);
        if (opcode >= h->opcode_base) {
            const unsigned special = opcode - h->opcode_base;
            advance(m, special / h->line_range);
            m->line += h->line_base + (int)(special % h->line_range);
            has_memory = add_row(m, false);
        } else {
            has_memory =
                opcode ? run_standard(m, r, opcode) : run_extended(m, r);
        }
    }
    return has_memory;
}

/* -- Entry points ---------------------------------------------------------- */

void tgi_debug_lines_deinit(tgi_debug_lines *lines)
{
    tgi_vec_deinit(&lines->rows);
    tgi_vec_deinit(&lines->files);
}

tg_status tgi_debug_lines_read(const tgi_object *object,
                               tgi_debug_lines *out_lines)
{
    *out_lines = (tgi_debug_lines){0};
    const size_t index = find_section(object, SHT_PROGBITS, ".debug_line", 0);
    if (!index)
        return TG_OK;
    const Elf64_Shdr section = tgi_object_section(object, index);
    const size_t relocs_index = find_section(object, SHT_RELA, NULL, index);
    const Elf64_Shdr relocs = tgi_object_section(object, relocs_index);
    const unsigned char *start = object->bytes + section.sh_offset;
    reader r = {start, start, start + section.sh_size, false};
    machine m = {.object = object,
                 .relocs = relocs_index ? &relocs : NULL,
                 .lines = out_lines};
    /* LLVM emits one unit. */
    const uint64_t bytes = read_number(&r, 4);
    if (has(&r, bytes))
        r.end = r.at + bytes;
    const bool has_memory =
        read_header(&m, &r) && (r.is_bad || run_program(&m, &r));
    if (!has_memory || r.is_bad)
        tgi_debug_lines_deinit(out_lines);
    return has_memory ? TG_OK : tgi_error_memory();
}
