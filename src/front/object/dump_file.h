/* SPDX-License-Identifier: MIT */
/*
 * dump_file.h - writes dumps of a context to files.
 */
#ifndef TGI_DUMP_FILE_H
#define TGI_DUMP_FILE_H

#include "base/strbuf.h"

/* Appends "<name>_<number>", with characters that suit a file name. */
void tgi_dump_file_name(tgi_strbuf *path, const char *name, unsigned number);

/*
 * Writes <dump_dir>/<name>_<number>.<stage>.<suffix>. If it cannot be written
 * (or `text` is NULL, for lack of memory), a warning is logged; a dump never
 * fails a call.
 */
void tgi_dump_text(const tg_context *ctx, const char *name, unsigned number,
                   const char *stage, const char *suffix, const char *text);

#endif /* TGI_DUMP_FILE_H */
