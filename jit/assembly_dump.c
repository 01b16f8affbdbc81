/* SPDX-License-Identifier: MIT */
/* assembly_dump.c - see assembly_dump.h. */
#include "assembly_dump.h"

#include <stdlib.h>
#include <string.h>

#include "ir/dump.h"

/* -- Buffers --------------------------------------------------------------- */

/* Kernels load addresses from a table with 8 bytes per buffer. */
static void print_buffers(const tgi_loops *loops, tgi_strbuf *out)
{
    tgi_strbuf_addf(out, "# %s: offsets in the table of buffers\n",
                    loops->name);
    for (uint32_t i = 0; i < loops->buffers.n; i++) {
        if (loops->buffers.data[i].place == TGI_PLACE_SSA)
            continue;
        tgi_strbuf_addf(out, "#   %4u  ", 8 * i);
        tgi_loops_print_named_buffer(loops, tgi_buffer_id_from(i), out);
        tgi_strbuf_add(out, "\n");
    }
}

/* -- Lines ----------------------------------------------------------------- */

/* The inlined site of a .loc directive; NULL: another line. */
static const tgi_site_chain *inlined_site(const tgi_codegen *codegen,
                                          const char *line, size_t n)
{
    static const char directive[] = "\t.loc\t", key[] = "discriminator ";
    if (n < sizeof(directive) || strncmp(line, directive, strlen(directive)))
        return NULL;
    const char *found = memmem(line, n, key, strlen(key));
    const unsigned long number =
        found ? strtoul(found + strlen(key), NULL, 10) : 0;
    return number > 0 && number <= codegen->n_inlined_sites
               ? codegen->inlined_sites[number - 1]
               : NULL;
}

void tgi_assembly_dump(const tgi_loops *loops, const tgi_codegen *codegen,
                       tgi_strbuf *out)
{
    print_buffers(loops, out);
    for (const char *line = codegen->assembly; *line;) {
        const size_t n = strcspn(line, "\n");
        const tgi_site_chain *site = inlined_site(codegen, line, n);
        tgi_strbuf_add_bytes(out, line, n);
        if (site)
            tgi_site_print_calls(site, out);
        tgi_strbuf_add(out, "\n");
        line += n + (line[n] == '\n');
    }
}
