/* SPDX-License-Identifier: MIT */
/*
 * compile_queue.h - the background compiler: a queue of variants, and the
 * threads of the process that compile them. Until then, calls are interpreted.
 *
 * The queue has two lanes with a thread each, so that compiles of milliseconds
 * do not wait for compiles of seconds.
 */
#ifndef TGI_COMPILE_QUEUE_H
#define TGI_COMPILE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "tgjit/context.h"
#include "tgjit/function.h"

/*
 * Queues a variant of a trace, which is held until it is compiled; copies the n
 * extents. False when out of memory, or if no thread can be started.
 * tg_compile_wait waits for the queue to drain. Thread-safe.
 */
bool tgi_compile_queue_push(tg_concrete *concrete, const int64_t *values,
                            size_t n, bool is_long);

#endif /* TGI_COMPILE_QUEUE_H */
