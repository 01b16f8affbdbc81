/* SPDX-License-Identifier: MIT */
/*
 * assembly.h - the compiler's assembly (GNU syntax, with .loc directives) as
 * functions and lines, without directives.
 */
#ifndef TGI_ASSEMBLY_H
#define TGI_ASSEMBLY_H

#include "base/vec.h"
#include "tgjit/base.h"

/* A part of the text. */
typedef struct tgi_assembly_span {
    const char *text;
    size_t n;
} tgi_assembly_span;

/* An instruction or a label. */
typedef struct tgi_assembly_line {
    tgi_assembly_span text;
    uint32_t file; /* number of a .file directive … */
    int line;      /* … and a line of it; 0: unknown */
} tgi_assembly_line;

typedef struct tgi_assembly_function {
    tgi_assembly_span name;
    size_t first_line, n_lines;
} tgi_assembly_function;

typedef struct tgi_assembly_file {
    uint32_t number;
    tgi_assembly_span folder, name; /* folder: perhaps empty */
} tgi_assembly_file;

typedef struct tgi_assembly {
    TGI_VEC(tgi_assembly_line) lines;
    TGI_VEC(tgi_assembly_function) functions;
    TGI_VEC(tgi_assembly_file) files;
} tgi_assembly;

/* Refers to `text`. False when out of memory (recorded). */
bool tgi_assembly_parse(tgi_assembly *assembly, const char *text);
void tgi_assembly_deinit(tgi_assembly *assembly);

/* The function with this name, or NULL. */
const tgi_assembly_function *tgi_assembly_find(const tgi_assembly *assembly,
                                               const char *name);

/* True if a .file directive names this file. */
bool tgi_assembly_is_file(const tgi_assembly *assembly, uint32_t number,
                          const char *path);

#endif /* TGI_ASSEMBLY_H */
