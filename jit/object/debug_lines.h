/* SPDX-License-Identifier: MIT */
/*
 * debug_lines.h - reads the line table of an object: .debug_line of DWARF 4, as
 * LLVM emits it. Nothing in it is trusted; a table that is damaged or of another
 * version is taken for missing.
 */
#ifndef TGI_DEBUG_LINES_H
#define TGI_DEBUG_LINES_H

#include "base/vec.h"
#include "object/elf_reader.h"

/* The code from `offset` up to the next row is of this line. */
typedef struct tgi_debug_row {
    uint32_t offset; /* in the image */
    uint32_t file;   /* index of `files` */
    uint32_t line;
    bool is_end; /* the end of a sequence: no line */
} tgi_debug_row;

/* The strings are those of the object. */
typedef struct tgi_debug_file {
    const char *directory; /* NULL: that of the compile */
    const char *name;
} tgi_debug_file;

typedef struct tgi_debug_lines {
    TGI_VEC(tgi_debug_row) rows; /* ascending within a sequence */
    TGI_VEC(tgi_debug_file) files;
} tgi_debug_lines;

/* Without a table, *out_lines is empty. Fails only when out of memory.
   tgi_debug_lines_deinit is due on success. */
TG_MUST_CHECK tg_status tgi_debug_lines_read(const tgi_object *object,
                                             tgi_debug_lines *out_lines);
void tgi_debug_lines_deinit(tgi_debug_lines *lines);

#endif /* TGI_DEBUG_LINES_H */
