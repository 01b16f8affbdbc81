/* SPDX-License-Identifier: MIT */
/*
 * dump_file.h - dumps of a context as files in its folder.
 */
#ifndef TGI_DUMP_FILE_H
#define TGI_DUMP_FILE_H

#include "tgjit/base.h"

/*
 * Writes <folder>/<name>_<number>.<stage>.<suffix>. A file that cannot be
 * written (NULL text: there was no memory for it) is warned of; a dump never
 * fails a call.
 */
void tgi_dump_text(const tg_context *ctx, const char *name, unsigned number,
                   const char *stage, const char *suffix, const char *text);

#endif /* TGI_DUMP_FILE_H */
