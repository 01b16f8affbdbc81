/* SPDX-License-Identifier: MIT */
/*
 * plugin.h - the interface between libtgjit and its plugin libtgjit-llvm.
 *
 * The plugin exports one function, which returns a table. The offsets of `abi`
 * and `table_bytes` never change: they are checked before anything else is
 * used, so that a plugin of another version is rejected. Increment
 * TGI_PLUGIN_ABI with every change of the table or of a structure that passes
 * through it.
 */
#ifndef TGI_PLUGIN_H
#define TGI_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codegen/codegen.h"

#define TGI_PLUGIN_ABI 8

struct tgi_plugin {
    uint32_t abi;         /* TGI_PLUGIN_ABI of the plugin */
    uint32_t table_bytes; /* sizeof(struct tgi_plugin) of the plugin */

    /* As tgi_jit_describe; never fails. */
    void (*describe)(char *buf, size_t n);

    /* See codegen.h. */
    tgi_codegen_compile *compile;
    tgi_codegen_dispose *dispose;
};

/*
 * The plugin, loaded if necessary, for one compile until tgi_plugin_release.
 * NULL, with the reason in `buf`, if it cannot be loaded or the process exits.
 * Process exit waits for acquired plugins. A child that was forked during a
 * compile of another thread gets a second copy of the plugin, because LLVM's
 * locks may be held in the first.
 */
const struct tgi_plugin *tgi_plugin_acquire(char *buf, size_t n);
void tgi_plugin_release(void);

/* Compiles with an acquired plugin. A fork waits for the compile, up to a time
   limit. */
bool tgi_plugin_compile(const struct tgi_plugin *acquired,
                        const tgi_loops *loops,
                        const tgi_codegen_options *options, tgi_codegen *out);

_Static_assert(offsetof(struct tgi_plugin, abi) == 0 &&
                   offsetof(struct tgi_plugin, table_bytes) == 4,
               "the offsets of abi and table_bytes never change");

/* The only exported symbol of the plugin, and its type. */
#define TGI_PLUGIN_ENTRY "tgi_plugin_entry"
typedef const struct tgi_plugin *tgi_plugin_entry_fn(void);

#endif /* TGI_PLUGIN_H */
