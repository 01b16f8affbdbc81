/* SPDX-License-Identifier: MIT */
/*
 * guarded.h - memory for running compiled code in tests. It is surrounded by
 * inaccessible pages, and elements have only the alignment of their size.
 *
 * The memory comes from slots that are mapped once and reused by every run:
 * some pages between two guard pages. A buffer starts at the lower guard page
 * or ends at the upper one, so that an access out of bounds on that side is a
 * signal; on the other side are marker bytes, which are checked afterwards.
 * Buffers therefore often start at odd multiples of the element size.
 */
#ifndef TGI_TEST_GUARDED_H
#define TGI_TEST_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GUARDED_SLOTS = 32 };

/* Returns `bytes` bytes in a slot, replacing its contents. A random number
   selects their position. */
void *guarded_room(size_t slot, size_t bytes, size_t element_bytes,
                   uint64_t random);

/* True if the marker bytes of the first n slots are intact. */
bool guarded_is_intact(size_t n_slots);

#endif /* TGI_TEST_GUARDED_H */
