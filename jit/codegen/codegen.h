/* SPDX-License-Identifier: MIT */
/*
 * codegen.h - what is asked of the code generator and what it answers. It is
 * a module of its own (plugin.h), so all it needs comes through here.
 */
#ifndef TGI_CODEGEN_H
#define TGI_CODEGEN_H

#include <stdbool.h>
#include <stddef.h>

#include "loop/loops.h"

/* Picoseconds a kernel takes, roughly: at each point, and at each element. */
typedef struct tgi_kernel_cost {
    int64_t point, element;
} tgi_kernel_cost;

/* -- Functions for other programs ------------------------------------------ */

/* Where a buffer of an exported function is. */
typedef enum tgi_export_storage {
    TGI_EXPORT_NONE,   /* it has no elements, or no memory */
    TGI_EXPORT_PARAM,  /* parameter `param` points to it, or is it */
    TGI_EXPORT_MEMORY, /* at `offset` of the temporaries */
    TGI_EXPORT_DATA    /* `bytes` of `data`, to be in the object */
} tgi_export_storage;

typedef struct tgi_export_buffer {
    uint8_t place; /* tgi_export_storage */
    uint32_t param;
    int64_t offset;
    const void *data;
    int64_t bytes;
} tgi_export_buffer;

typedef struct tgi_export_param {
    uint8_t dtype;
    bool is_by_value; /* else a pointer */
} tgi_export_param;

/*
 * A function that a program calls without a frame: it makes the frame, runs
 * the entry and returns 0, or 1 if a check has failed. All extents are known.
 */
typedef struct tgi_codegen_export {
    const char *symbol;
    const tgi_export_param *params;
    size_t n_params;
    const tgi_export_buffer *buffers; /* by buffer of the loops */
    int64_t memory_bytes;             /* of temporaries … */
    bool takes_memory; /* … to which a last parameter points, else static */
    int64_t grain;     /* as in the frame */
    /* How many threads a call is to have, at most; 1: no team. */
    int (*choose_threads)(const tgi_kernel_cost *costs, const void *user);
    const void *user;
} tgi_codegen_export;

/* -- Compiling ------------------------------------------------------------- */

typedef struct tgi_codegen_options {
    const char *cpu;      /* by LLVM's name; NULL: the host */
    unsigned vector_bits; /* 128, 256, 512; 0: what suits the CPU */
    int64_t cache_bytes;  /* of the last cache; 0: not known */
    bool verify;          /* LLVM's verifier, before its passes */
    /* For AddressSanitizer: fails in a program without it. Such objects hold
       addresses of this process, and are good for no other. */
    bool instruments;
    bool wants_ir, wants_assembly;
    /* NULL: the entry is the only symbol; else it is this function. */
    const tgi_codegen_export *export;
    /* Memory: tgi_alloc and tgi_free. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
} tgi_codegen_options;

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

    void *impl; /* owned by the plugin */
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
