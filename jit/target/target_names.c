/* SPDX-License-Identifier: MIT */
/*
 * target_names.c - see target_names.h. Whether this machine supports a CPU is
 * checked by the compile.
 */
#include "target/target_names.h"

#define CPU(id, name, isa, products) CPU_##id,
enum {
#include "target/cpu.def"
};
#undef CPU

#define CPU(id, name, isa, products) {name, CPU_##id, 0},
const tgi_keyword tgi_jit_cpus[] = {
#include "target/cpu.def"
    {NULL, 0, 0},
};
#undef CPU

const tgi_keyword tgi_jit_widths[] = {
    {"0", 0, 0},     {"128", 128, 0}, {"256", 256, 0},
    {"512", 512, 0}, {NULL, 0, 0},
};
