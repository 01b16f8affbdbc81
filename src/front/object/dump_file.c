/* SPDX-License-Identifier: MIT */
/*
 * dump_file.c - file names of dumps, and writing them.
 */
#include "front/object/dump_file.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "front/object/context_object.h"

/* Function names are arbitrary, for instance the text of an expression; file
   names should need no quotes in a shell. */
void tgi_dump_file_name(tgi_strbuf *path, const char *name, unsigned number)
{
    for (; *name; name++) {
        const bool is_plain = isalnum((unsigned char)*name) ||
                              (unsigned char)*name >= 0x80 ||
                              strchr("_-.", *name);
        tgi_strbuf_add_bytes(path, is_plain ? name : "_", 1);
    }
    tgi_strbuf_addf(path, "_%u", number);
}

void tgi_dump_text(const tg_context *ctx, const char *name, unsigned number,
                   const char *stage, const char *suffix, const char *text)
{
    tgi_strbuf path = {0};
    tgi_strbuf_addf(&path, "%s/", ctx->dump_dir);
    tgi_dump_file_name(&path, name, number);
    tgi_strbuf_addf(&path, ".%s.%s", stage, suffix);
    FILE *file = path.failed || !text ? NULL : fopen(path.text, "w");
    if (!file || fputs(text, file) == EOF)
        tgi_log_write(&ctx->log, TG_LOG_WARN, TGI_LOG_CONFIG,
                      "cannot write %s", path.failed ? name : path.text);
    if (file)
        fclose(file);
    tgi_strbuf_deinit(&path);
}
