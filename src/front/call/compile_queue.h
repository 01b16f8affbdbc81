/* SPDX-License-Identifier: MIT */
/*
 * compile_queue.h - traces that wait to be compiled, and the threads of the
 * process that do it. Calls are interpreted meanwhile (runner.h).
 *
 * There are two lanes with a thread each, so that what takes milliseconds does
 * not wait for what takes seconds.
 */
#ifndef TGI_COMPILE_QUEUE_H
#define TGI_COMPILE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "tgjit/context.h"
#include "tgjit/function.h"

/*
 * Puts a trace into a lane, to be compiled for extents of these values, of
 * which there are n. False if that cannot be: out of memory, or no thread.
 */
bool tgi_compile_queue_push(tg_concrete *concrete, const int64_t *values,
                            size_t n, bool is_long);

#endif /* TGI_COMPILE_QUEUE_H */
