/* SPDX-License-Identifier: MIT */
/*
 * python.h - peers in Python. A process runs a program that answers each line
 * it reads with one line. TGJIT_BENCH_PYTHON names the interpreter; without this
 * variable there are no such peers.
 */
#ifndef BENCH_PEERS_PYTHON_H
#define BENCH_PEERS_PYTHON_H

#include <stddef.h>

#include "backend.h"

/* False, with the reason, if the interpreter cannot import the module. */
bool python_has_module(const char *module, reason *out_why);

typedef struct python python;

/* Runs a program with these arguments, up to NULL. NULL on failure. */
python *python_start(const char *program, const char *const *arguments,
                     reason *out_why);
void python_stop(python *p);

/* Sends a line and receives the answer, without its newline. */
bool python_ask(python *p, const char *line, char *out_answer, size_t bytes,
                reason *out_why);

#endif /* BENCH_PEERS_PYTHON_H */
