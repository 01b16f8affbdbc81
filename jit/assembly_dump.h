/* SPDX-License-Identifier: MIT */
/*
 * assembly_dump.h - the assembly of a program as text for readers.
 */
#ifndef TGI_ASSEMBLY_DUMP_H
#define TGI_ASSEMBLY_DUMP_H

#include "base/strbuf.h"
#include "codegen/codegen.h"

/*
 * Appends the assembly of the code generator, after a comment that names the
 * buffers of the program. Lines of the user are in directives
 *
 *     .loc FILE LINE 0 …   # file.c:12:0
 *
 * where FILE is a number that a .file directive defines. If a nested function
 * was inlined, the comment continues with the calls:
 *
 *     # file.c:12:0 in square, called at file.c:30 in norm, called at …
 */
void tgi_assembly_dump(const tgi_loops *loops, const tgi_codegen *codegen,
                       tgi_strbuf *out);

#endif /* TGI_ASSEMBLY_DUMP_H */
