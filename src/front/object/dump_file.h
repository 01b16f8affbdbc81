/* SPDX-License-Identifier: MIT */
/*
 * dump_file.h - writes dumps of a context to files.
 */
#ifndef TGI_DUMP_FILE_H
#define TGI_DUMP_FILE_H

#include "tgjit/base.h"

/*
 * Writes <dump_dir>/<name>_<number>.<stage>.<suffix>. If it cannot be written
 * (or `text` is NULL, for lack of memory), a warning is logged; a dump never
 * fails a call.
 */
void tgi_dump_text(const tg_context *ctx, const char *name, unsigned number,
                   const char *stage, const char *suffix, const char *text);

#endif /* TGI_DUMP_FILE_H */
