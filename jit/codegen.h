/* SPDX-License-Identifier: MIT */
/*
 * codegen.h - what is asked of the code generator and what it answers. It is
 * a module of its own (module.h), so all it needs comes through here.
 */
#ifndef TGI_CODEGEN_H
#define TGI_CODEGEN_H

#include <stdbool.h>
#include <stddef.h>

#include "loops.h"

typedef struct tgi_codegen_options {
    const char *cpu;      /* by LLVM's name; NULL: the host */
    unsigned vector_bits; /* 128, 256, 512; 0: what suits the CPU */
    int64_t cache_bytes;  /* of the last cache; 0: not known */
    bool verify;          /* LLVM's verifier, before its passes */
    /* For AddressSanitizer: fails in a program without it. Such objects hold
       addresses of this process, and are good for no other. */
    bool instruments;
    bool wants_ir, wants_assembly;
    /* Memory: tgi_alloc and tgi_free. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
} tgi_codegen_options;

/* Picoseconds a kernel takes, roughly: at each point, and at each element. */
typedef struct tgi_kernel_cost {
    int64_t point, element;
} tgi_kernel_cost;

typedef struct tgi_codegen {
    const void *object; /* the bytes of an ELF object … */
    size_t object_bytes;
    const char *entry; /* … and the global symbol of its tgi_entry */
    /* Symbols of the kernels, in the order of the loops; NULL: a tiny one. */
    const char *const *kernels;
    const tgi_kernel_cost *costs; /* of each */
    size_t n_kernels;

    /* If asked for, else NULL; also of a compile that failed, as far as it
       got. */
    const char *ir_before, *ir_after;
    const char *assembly;

    /* Milliseconds: making the IR, LLVM's passes, its code generator. */
    double build_time, passes_time, codegen_time;

    bool is_out_of_memory; /* why it failed; `error` says so too */
    char error[512];       /* "" if it did not */

    void *own; /* the module's */
} tgi_codegen;

/*
 * Compiles verified loops. True if `out` holds an object; else it holds the
 * reason. tgi_codegen_dispose either way. Thread-safe; nothing is printed.
 */
typedef bool tgi_codegen_compile(const tgi_loops *loops,
                                 const tgi_codegen_options *options,
                                 tgi_codegen *out);
typedef void tgi_codegen_dispose(tgi_codegen *codegen);

#endif /* TGI_CODEGEN_H */
