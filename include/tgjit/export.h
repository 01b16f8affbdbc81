/* SPDX-License-Identifier: MIT */
/*
 * export.h - ahead-of-time compilation: writes a concrete function as an
 * object file and a C header, for programs without libtgjit and LLVM.
 */
#ifndef TGJIT_EXPORT_H
#define TGJIT_EXPORT_H

#include "function.h"

TG_BEGIN_DECLS

/* Memory for the temporaries of an exported function. */
typedef enum tg_export_memory {
    TG_EXPORT_STATIC = 0, /* in the object file: one call at a time */
    TG_EXPORT_CALLER = 1  /* passed by the caller as the last argument */
} tg_export_memory;

typedef struct tg_export_options {
    size_t struct_bytes; /* sizeof(tg_export_options) */

    const char *symbol; /* name of the C function; NULL: the function's name */
    const char *cpu;    /* minimum CPU of the target, as LLVM names it. NULL:
                           "x86-64-v3" (AVX2 and FMA); "host": this CPU. An
                           x86-64 CPU must be supported by this one; others,
                           such as "neoverse-n1", are AArch64 ones. */
    int vector_bits;    /* 128, 256, 512; 0: automatic */
    tg_export_memory memory;
    int threads; /* maximum per call; 0 and 1: only the caller's thread. With
                    more, programs link libtgjit-aot. */
} tg_export_options;

#define TG_EXPORT_OPTIONS_INIT TG_OPTIONS_INIT(tg_export_options)

/*
 * Writes PATH.o and PATH.h, which declares one function. Its parameters are
 * the inputs (scalars by value), the variables including captured ones (in
 * memory of the caller), then the results. It computes the same bits as a call
 * through the library. Compiles every time; the caches are not used.
 *
 * TG_ERROR_SHAPE if an extent of an argument is unknown; TG_ERROR_UNSUPPORTED
 * if the function prints, asserts, calls the host or cannot be compiled;
 * TG_ERROR_FILE if a file cannot be written. On failure both files are left as
 * they were; if one had already been replaced, it is deleted.
 */
TG_API TG_MUST_CHECK tg_status
tg_concrete_export(tg_concrete *concrete, const char *path,
                   const tg_export_options *options);

TG_END_DECLS

#endif /* TGJIT_EXPORT_H */
