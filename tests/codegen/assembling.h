/* SPDX-License-Identifier: MIT */
/*
 * assembling.h - for tests of compiled code: the assembly of a callback after
 * the whole pipeline (trace, passes, fusion, loops, LLVM), for one CPU, so that
 * it is the same on every machine.
 */
#ifndef TGI_TEST_ASSEMBLING_H
#define TGI_TEST_ASSEMBLING_H

#include "codegen/assembly.h"
#include "llvm/llvm_codegen.h"
#include "llvm/emit/llvm_target.h"
#include "schedule/choose.h"
#include "support/fusing.h"

enum { REGISTER_BYTES = 32 };

#define F64(...) tg_spec_tensor(TG_F64, TG_DIMS(__VA_ARGS__))

typedef struct assembled {
    fused fu;
    tgi_codegen codegen;
    const char *text;
} assembled;

/* Skips the test if LLVM does not support that CPU. */
static inline void assemble_at(int line, assembled *as, const char *name,
                               tg_callback *callback, const int64_t *symbols,
                               const tg_spec *specs, size_t n_specs)
{
    static const char cpu[] = "x86-64-v3";
    char reason[256];
    tgi_llvm_target target;
    if (!tgi_llvm_target_init(cpu, 0, false, &target, reason,
                              sizeof(reason)))
        cr_skip_test("%s", reason);
    const tgi_codegen_options options = {.cpu = cpu,
                                         .vector_bits = 8 * REGISTER_BYTES,
                                         .wants_assembly = true,
                                         .alloc = tgi_alloc,
                                         .free = tgi_free};
    fuse_at(line, &as->fu, name, callback, symbols, specs, n_specs);
    tgi_target scheduled;
    tgi_target_init(cpu, options.vector_bits, &scheduled);
    cr_assert_eq(tgi_schedule_choose(as->fu.loops, &scheduled), TG_OK);
    cr_assert(tgi_llvm_codegen(as->fu.loops, &options, &as->codegen),
              "line %d: %s", line, as->codegen.error);
    as->text = as->codegen.assembly;
}

/* Compiles for arguments of these specs. */
#define assemble(as, callback, symbols, ...)                                   \
    assemble_at(__LINE__, as, #callback, callback, symbols,                    \
                (const tg_spec[]){__VA_ARGS__},                                \
                sizeof((const tg_spec[]){__VA_ARGS__}) / sizeof(tg_spec))

static inline void assemble_end(assembled *as)
{
    tgi_llvm_codegen_dispose(&as->codegen);
    fuse_end(&as->fu);
    check_nothing_is_alive();
}

#endif /* TGI_TEST_ASSEMBLING_H */
