/* SPDX-License-Identifier: MIT */
/*
 * codegen.h - request and result of the code generator. These structures are
 * the whole interface to it, because it is a plugin (plugin.h).
 */
#ifndef TGI_CODEGEN_H
#define TGI_CODEGEN_H

#include <stdbool.h>
#include <stddef.h>

#include "schedule/schedule.h"

/* -- Exported functions ---------------------------------------------------- */

/* Where a buffer of an exported function is. */
typedef enum tgi_export_storage {
    TGI_EXPORT_NONE,   /* no elements, or no memory */
    TGI_EXPORT_PARAM,  /* parameter `param` points to it, or is its value */
    TGI_EXPORT_MEMORY, /* at `offset` of the temporaries */
    TGI_EXPORT_DATA    /* `bytes` of `data`, copied into the object */
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
 * An exported function builds the frame from C parameters, runs the entry and
 * returns 0, or 1 if a check has failed. All extents are known.
 */
typedef struct tgi_codegen_export {
    const char *symbol;
    const tgi_export_param *params;
    size_t n_params;
    const tgi_export_buffer *buffers; /* by buffer of the loops */
    int64_t memory_bytes;             /* of temporaries … */
    bool takes_memory; /* … passed as last parameter; else static */
    int64_t grain;     /* as in the frame */
    int n_threads;     /* at most, of a call; 1: no team */
} tgi_codegen_export;

/* -- Compilation ----------------------------------------------------------- */

typedef struct tgi_codegen_options {
    const char *cpu;      /* LLVM's name; NULL: the host */
    /* The tgi_host_cpu of another machine, which runs the code; NULL: this
       one. An exported function may run anywhere. */
    const char *host;
    unsigned vector_bits; /* that the CPU must have; 0: any */
    bool verify;          /* run LLVM's verifier before its passes */
    /* Instrument for AddressSanitizer; fails in a program without it. The
       object contains addresses of this process. */
    bool instruments;
    bool has_step_hooks; /* the entry calls frame->step_done after steps */
    bool has_polls;      /* the entry calls frame->poll in kernels */
    bool can_be_cancelled; /* it reads frame->cancel_word */
    bool wants_ir, wants_assembly;
    /* If set, the object has debug information (DWARF); relative names of files
       are relative to this directory. It does not change the code. */
    const char *debug_directory;
    /* The only global symbol of the object; NULL: the entry. */
    const tgi_codegen_export *export;
    /* tgi_alloc and tgi_free. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
} tgi_codegen_options;

typedef struct tgi_codegen {
    const void *object; /* an ELF object */
    size_t object_bytes;
    const char *entry; /* global symbol of its tgi_entry */
    /* By kernel of the loops: its symbol; NULL: straight-line. */
    const char *const *kernels;
    size_t n_kernels;

    /* NULL unless requested. A failed compile has those it has reached. */
    const char *ir_before, *ir_after;
    const char *assembly;
    /* Of .loc directives in it, by discriminator, from 1: lines that were
       reached through calls. */
    const tgi_site_chain *const *inlined_sites;
    size_t n_inlined_sites;

    /* Milliseconds: emission of IR, LLVM's passes, LLVM's code generator. */
    double build_time, passes_time, codegen_time;

    bool is_out_of_memory; /* reason of the failure; `error` is set too */
    char error[512];       /* "" on success */

    void *impl; /* owned by the plugin */
} tgi_codegen;

/*
 * Compiles verified loops with schedules. On success `out` has an object, else
 * the error. tgi_codegen_dispose is due in both cases. Thread-safe; prints
 * nothing.
 */
typedef bool tgi_codegen_compile(const tgi_loops *loops,
                                 const tgi_codegen_options *options,
                                 tgi_codegen *out);
typedef void tgi_codegen_dispose(tgi_codegen *codegen);

#endif /* TGI_CODEGEN_H */
