/* SPDX-License-Identifier: MIT */
/*
 * unbounded_stack.h - memory that grows while a loop runs. A loop that saves
 * something in each trip, and whose trips nobody can count beforehand, carries
 * values whose first extent is TGI_GROWS: stacks, with one slice for each trip
 * that is done. Stacks that have as many slices have room for as many.
 *
 * Memory is kept from run to run, so that only the first ones grow. Used by
 * the interpreter, where a value that grows is the address of such a stack,
 * and by those who run compiled code.
 */
#ifndef TGI_UNBOUNDED_STACK_H
#define TGI_UNBOUNDED_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "tgjit/base.h"

/* What all stacks of a run and its other temporaries take together. */
typedef struct tgi_room {
    uint64_t bytes;
    uint64_t limit; /* 0: none */
} tgi_room;

typedef struct tgi_stack {
    uint32_t number; /* what it is for the owner */
    int64_t slice_bytes;
    int64_t bytes; /* of its memory */
    char *data;    /* NULL as long as there is no slice */
} tgi_stack;

/* Those that grow together. */
typedef struct tgi_stacks {
    size_t n;
    tgi_stack *all;
    int64_t capacity; /* slices that each has room for */
} tgi_stacks;

/*
 * Makes room for more than the n_slices that are in use, which is all there
 * is room for. What is in use is moved. If it fails (recorded), all is as it
 * was, but for addresses.
 */
tg_status tgi_stacks_grow(tgi_stacks *stacks, int64_t n_slices,
                          tgi_room *room);

/* Frees the memory, but not the list. */
void tgi_stacks_deinit(tgi_stacks *stacks);

#endif /* TGI_UNBOUNDED_STACK_H */
