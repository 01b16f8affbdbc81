/* SPDX-License-Identifier: MIT */
/*
 * jitdump.h - perf's jitdump file: the code of each function, with its lines,
 * from which `perf inject --jit` makes objects that perf can annotate.
 *
 * The file is jit-PID.dump. It is created when the first code is loaded; a
 * forked child has its own. I/O errors are ignored: a record that cannot be
 * written whole is removed, and nothing is written any more.
 */
#ifndef TGI_JITDUMP_H
#define TGI_JITDUMP_H

#include "object/elf_reader.h"

/* Code that is loaded from now on is written to a file in `directory`. The first
   call counts, as a process has one file. */
void tgi_jitdump_enable(const char *directory);

/* Adds the functions of an object that is loaded at `code`. Fails only when out
   of memory. */
TG_MUST_CHECK tg_status tgi_jitdump_add(const tgi_object *object,
                                        const void *code);

/* Writes the last record and closes the file, as the end of the process does.
   The next tgi_jitdump_add begins a new file of the same name. */
void tgi_jitdump_close(void);

#endif /* TGI_JITDUMP_H */
