/* SPDX-License-Identifier: MIT */
/*
 * image_debug.h - tells debuggers and profilers about images. Off until
 * somebody asks.
 *
 * gdb: the object, with the addresses of its sections filled in, enters the
 * list of gdb's JIT interface, so that gdb knows functions by name, finds
 * lines if the object has DWARF, and unwinds if it has .eh_frame.
 *
 * perf: a line for each function in /tmp/perf-PID.map, which perf report
 * reads. Lines are never taken back; of code at the same address the later
 * line is true.
 *
 * Both are best effort: if the file cannot be written, there is none.
 */
#ifndef TGI_IMAGE_DEBUG_H
#define TGI_IMAGE_DEBUG_H

#include "object/elf_reader.h"
#include "tgjit/base.h"

enum { TGI_DEBUG_GDB = 1, TGI_DEBUG_PERF = 2 };

/* Adds to what is told, for images loaded from now on, in the whole process. */
void tgi_image_debug_enable(unsigned what);

/* One image as gdb knows it. */
typedef struct tgi_image_debug tgi_image_debug;

/*
 * Tells whom it may concern that the object's image lies, complete, at
 * `code`. The entry is NULL if gdb is not concerned. Fails if memory is out.
 */
TG_MUST_CHECK tg_status tgi_image_debug_add(const tgi_object *object,
                                            const void *code,
                                            tgi_image_debug **out_entry);

/* Before the code goes. NULL is allowed. */
void tgi_image_debug_remove(tgi_image_debug *entry);

#endif /* TGI_IMAGE_DEBUG_H */
