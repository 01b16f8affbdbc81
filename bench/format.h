/* SPDX-License-Identifier: MIT */
/*
 * format.h - times and sizes as text.
 */
#ifndef BENCH_FORMAT_H
#define BENCH_FORMAT_H

#include "machine.h"

typedef struct text {
    char text[64];
} text;

/* "123 us": three significant digits and a unit; "" for 0. */
text text_time(double seconds);

/* "32 KiB" */
text text_bytes(double bytes);

/* "12.3", three significant digits; "" for 0. */
text text_number(double number);

/* "0.97", two decimals below 10, else as text_number. */
text text_ratio(double ratio);

/* "37 %" */
text text_share(double share);

/* "512-bit vectors, L1 32 KiB, L2 1 MiB, L3 32 MiB, LLVM 19.1.7" */
typedef struct machine_text {
    char text[160];
} machine_text;

machine_text text_machine(const machine_facts *machine);

#endif /* BENCH_FORMAT_H */
