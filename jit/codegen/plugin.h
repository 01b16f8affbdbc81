/* SPDX-License-Identifier: MIT */
/*
 * plugin.h - what libtgjit and its module libtgjit-llvm agree on.
 *
 * The module exports one function, which returns one table. `abi` and
 * `table_bytes` keep their place for ever: they are read before anything else
 * is believed, so that a module left over from another version is refused and
 * never called. Raise TGI_MODULE_ABI with every change of the table or of a
 * structure that passes through it.
 */
#ifndef TGI_PLUGIN_H
#define TGI_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codegen/codegen.h"

#define TGI_MODULE_ABI 5

struct tgi_module {
    uint32_t abi;         /* TGI_MODULE_ABI of the module */
    uint32_t table_bytes; /* sizeof(struct tgi_module) of the module */

    /* As tgi_jit_describe; never fails. */
    void (*describe)(char *buf, size_t n);

    /* See codegen.h. */
    tgi_codegen_compile *compile;
    tgi_codegen_dispose *dispose;
};

/*
 * The module, opened if need be, to compile once until tgi_module_leave; else
 * NULL, and the reason in `buf`. There is none when the process ends. The end
 * of the process waits for all compiles. A child that was forked while another
 * thread was compiling may get a copy of its own: LLVM's locks may be held
 * there for ever.
 */
const struct tgi_module *tgi_module_enter(char *buf, size_t n);
void tgi_module_leave(void);

/* Compiles with the module that was entered; forks wait for it, for a while. */
bool tgi_module_compile(const struct tgi_module *entered,
                        const tgi_loops *loops,
                        const tgi_codegen_options *options, tgi_codegen *out);

_Static_assert(offsetof(struct tgi_module, abi) == 0 &&
                   offsetof(struct tgi_module, table_bytes) == 4,
               "the handshake is frozen");

/* The module's only exported name, and its type. */
#define TGI_MODULE_ENTRY "tgi_module_entry"
typedef const struct tgi_module *tgi_module_entry_fn(void);

#endif /* TGI_PLUGIN_H */
