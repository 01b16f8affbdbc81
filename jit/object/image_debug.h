/* SPDX-License-Identifier: MIT */
/*
 * image_debug.h - registers images with debuggers and profilers. Disabled by
 * default.
 *
 * gdb: the object, with the addresses of its sections filled in, is added to
 * the list of gdb's JIT interface. gdb then knows function names, lines if the
 * object has DWARF, and unwinds if it has .eh_frame.
 *
 * perf: one line per function in /tmp/perf-PID.map, which perf report reads.
 * Lines are never removed; for reused addresses the last line is valid. I/O
 * errors are ignored.
 *
 * jitdump: the code and its lines, for perf annotate (jitdump.h).
 */
#ifndef TGI_IMAGE_DEBUG_H
#define TGI_IMAGE_DEBUG_H

#include "object/elf_reader.h"
#include "tgjit/base.h"

enum { TGI_DEBUG_GDB = 1, TGI_DEBUG_PERF = 2, TGI_DEBUG_JITDUMP = 4 };

/* Enables tools, for images that the process loads from now on. A jitdump file
   is written to `directory`. */
void tgi_image_debug_enable(unsigned what, const char *directory);

/* True if an enabled tool can show debug information. */
bool tgi_image_debug_shows_lines(void);

/* The registration of an image with gdb. */
typedef struct tgi_image_debug tgi_image_debug;

/* Registers the complete image of the object at `code` with the enabled tools.
   *out_entry is NULL unless gdb is enabled. Fails only when out of memory. */
TG_MUST_CHECK tg_status tgi_image_debug_add(const tgi_object *object,
                                            const void *code,
                                            tgi_image_debug **out_entry);

/* To be called before the code is freed. NULL is allowed. */
void tgi_image_debug_remove(tgi_image_debug *entry);

#endif /* TGI_IMAGE_DEBUG_H */
