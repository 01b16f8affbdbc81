/* SPDX-License-Identifier: MIT */
/*
 * compile_policy.h - which traces are compiled, and how long a call waits for
 * its code. Compile times are estimated in units of about 0.1 ms (jit.h).
 */
#ifndef TGI_COMPILE_POLICY_H
#define TGI_COMPILE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tgjit/function.h"

enum {
    /* In mode `auto`, a longer compile (about 10 s) is not done: bound calls
       and the exit of the process may have to wait for it. */
    TGI_MAX_COMPILE_WORK = 100000,
    /* A longer compile goes to the second lane of the queue. */
    TGI_LONG_COMPILE_WORK = 2000
};

/* True if the context compiles this trace. The first rejection because of
   size is logged as a warning. */
bool tgi_compile_is_wanted(tg_concrete *concrete);

/*
 * The compile budget of a call: the longest compile it waits for; 0 if it
 * never waits. `value_bytes` is the total size of the values it computes;
 * `is_eager` is set for bound calls and eager contexts; calls of measured
 * functions wait likewise.
 */
size_t tgi_compile_budget(const tg_concrete *concrete, bool is_eager,
                          int64_t value_bytes);

#endif /* TGI_COMPILE_POLICY_H */
