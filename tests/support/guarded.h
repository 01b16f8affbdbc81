/* SPDX-License-Identifier: MIT */
/*
 * guarded.h - memory that compiled code is run in by tests: pages beside it
 * may not be touched, and its elements lie at any multiple of their size.
 *
 * It comes from slots that are mapped once and used again by every run: some
 * pages between two that may not be touched. What lies in a slot begins behind
 * the first of these or ends before the second, so that a step too far is a
 * signal; a step to its other side finds marks, looked at in the end. Elements
 * thus lie at odd multiples of their size as often as not.
 */
#ifndef TGI_TEST_GUARDED_H
#define TGI_TEST_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GUARDED_SLOTS = 32 };

/* So many bytes in a slot, in place of what was there; a random number says
   how they lie. */
void *guarded_room(size_t slot, size_t bytes, size_t element_bytes,
                   uint64_t random);

/* Whether what lies beside that in the first n slots is as it was. */
bool guarded_is_intact(size_t n_slots);

#endif /* TGI_TEST_GUARDED_H */
