/* SPDX-License-Identifier: MIT */
/*
 * export.h - ahead of time: a concrete function as an object and a C header,
 * for programs that have neither libtgjit nor LLVM.
 */
#ifndef TGJIT_EXPORT_H
#define TGJIT_EXPORT_H

#include "function.h"

TG_BEGIN_DECLS

/* Where the temporaries of an exported function are. */
typedef enum tg_export_memory {
    TG_EXPORT_STATIC = 0, /* in the object: one call at a time */
    TG_EXPORT_CALLER = 1  /* where a last argument of each call points */
} tg_export_memory;

typedef struct tg_export_options {
    size_t struct_bytes; /* sizeof(tg_export_options) */

    const char *symbol; /* of the C function; NULL: the function's name */
    const char *cpu;    /* the least CPU it is to run on, by LLVM's name;
                           NULL: "x86-64-v3" (AVX2 and FMA); "host": this one,
                           which must have what is asked for in any case */
    int vector_bits;    /* 128, 256, 512; 0: what suits */
    tg_export_memory memory;
    int threads; /* of a call, at most; 0 and 1: the caller's alone. With more,
                    programs link libtgjit-aot. */
} tg_export_options;

#define TG_EXPORT_OPTIONS_INIT TG_OPTIONS_INIT(tg_export_options)

/*
 * Writes PATH.o and PATH.h. The header says what the parameters of the one
 * function are: inputs (those without axes by value), variables, captured ones
 * too, whose memory is the caller's, then results. It computes the same bits
 * as a call here would.
 *
 * SHAPE if an extent of an argument is unknown; UNSUPPORTED if the function
 * prints, or cannot be compiled; FILE if a file cannot be written. Then
 * neither file is there or changed, unless one of them was replaced before the
 * other could not be: then it is gone. Compiles each time, past all caches.
 */
TG_API TG_MUST_CHECK tg_status
tg_concrete_export(tg_concrete *concrete, const char *path,
                   const tg_export_options *options);

TG_END_DECLS

#endif /* TGJIT_EXPORT_H */
