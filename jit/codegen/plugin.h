/* SPDX-License-Identifier: MIT */
/*
 * plugin.h - what libtgjit and its module libtgjit-llvm agree on.
 *
 * The module exports one function, which returns one table. `abi` and
 * `table_bytes` keep their place for ever: they are read before anything else
 * is believed, so that a module left over from another version is refused and
 * never called. Raise TGI_PLUGIN_ABI with every change of the table or of a
 * structure that passes through it.
 */
#ifndef TGI_PLUGIN_H
#define TGI_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codegen/codegen.h"

#define TGI_PLUGIN_ABI 5

struct tgi_plugin {
    uint32_t abi;         /* TGI_PLUGIN_ABI of the module */
    uint32_t table_bytes; /* sizeof(struct tgi_plugin) of the module */

    /* As tgi_jit_describe; never fails. */
    void (*describe)(char *buf, size_t n);

    /* See codegen.h. */
    tgi_codegen_compile *compile;
    tgi_codegen_dispose *dispose;
};

/*
 * The module, opened if need be, to compile once until tgi_plugin_release; else
 * NULL, and the reason in `buf`. There is none when the process ends. The end
 * of the process waits for all compiles. A child that was forked while another
 * thread was compiling may get a copy of its own: LLVM's locks may be held
 * there for ever.
 */
const struct tgi_plugin *tgi_plugin_acquire(char *buf, size_t n);
void tgi_plugin_release(void);

/* Compiles with the module that was entered; forks wait for it, for a while. */
bool tgi_plugin_compile(const struct tgi_plugin *entered,
                        const tgi_loops *loops,
                        const tgi_codegen_options *options, tgi_codegen *out);

_Static_assert(offsetof(struct tgi_plugin, abi) == 0 &&
                   offsetof(struct tgi_plugin, table_bytes) == 4,
               "the handshake is frozen");

/* The module's only exported name, and its type. */
#define TGI_PLUGIN_ENTRY "tgi_plugin_entry"
typedef const struct tgi_plugin *tgi_plugin_entry_fn(void);

#endif /* TGI_PLUGIN_H */
