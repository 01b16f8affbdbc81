/* SPDX-License-Identifier: MIT */
/*
 * python.h - peers in Python. A process answers each line that it reads with
 * one line. TGJIT_BENCH_PYTHON names the interpreter; by default it is that of
 * the environment that bench/peers/setup makes.
 */
#ifndef BENCH_PEERS_PYTHON_H
#define BENCH_PEERS_PYTHON_H

#include <stddef.h>

#include "backend.h"

/* False, with the reason, if the interpreter cannot import the module. */
bool python_has_module(const char *module, reason *out_why);

typedef struct python python;

/* Seconds that an answer may take, of processes started from now on. */
void python_set_timeout(double seconds);

/* Runs the interpreter with these arguments, up to NULL. NULL on failure. */
python *python_start(const char *const *arguments, reason *out_why);

/* The same for another program that answers lines: argv, up to NULL. */
python *python_start_program(const char *const *argv, reason *out_why);

/* Stops the process, so that its idle threads do not spin; continues it. */
void python_pause(python *p);
void python_resume(python *p);

/* Ends the process: its input is closed; if it does not exit, it is killed. */
void python_stop(python *p);

/*
 * Sends a line; receives the answer, without its newline. After a failure (the
 * process has exited, or takes too long) every further request fails.
 */
bool python_send(python *p, const char *line, reason *out_why);
bool python_receive(python *p, char *out_answer, size_t bytes,
                    reason *out_why);

/* Both. */
bool python_ask(python *p, const char *line, char *out_answer, size_t bytes,
                reason *out_why);

/* The same for an answer that must be a positive number of seconds. */
bool python_time(python *p, const char *line, double *out_seconds,
                 reason *out_why);

#endif /* BENCH_PEERS_PYTHON_H */
