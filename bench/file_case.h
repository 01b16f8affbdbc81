/* SPDX-License-Identifier: MIT */
/*
 * file_case.h - cases that save and load a checkpoint: variables in a
 * .safetensors file. In C, the same bytes are written and read.
 */
#ifndef BENCH_FILE_CASE_H
#define BENCH_FILE_CASE_H

#include "case.h"

typedef enum file_kind { FILE_SAVE, FILE_LOAD } file_kind;

typedef struct file_case {
    file_kind kind;
} file_case;

extern const case_family file_family;
extern const file_case save_case, load_case;
extern const case_size checkpoint_sizes[];

#endif /* BENCH_FILE_CASE_H */
