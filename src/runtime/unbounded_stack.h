/* SPDX-License-Identifier: MIT */
/*
 * unbounded_stack.h - memory that grows while a loop runs. A loop that saves
 * something in each trip, and whose trips nobody can count beforehand, carries
 * values whose first extent is TGI_UNBOUNDED: stacks, with one slice for each trip
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
typedef struct tgi_memory_budget {
    uint64_t bytes;
    uint64_t limit; /* 0: none */
} tgi_memory_budget;

typedef struct tgi_stack {
    uint32_t number; /* what it is for the owner */
    int64_t slice_bytes;
    int64_t bytes; /* of its memory */
    char *data;    /* NULL as long as there is no slice */
} tgi_stack;

/* Those that grow together. */
typedef struct tgi_stack_group {
    size_t n;
    tgi_stack *all;
    int64_t capacity; /* slices that each has room for */
} tgi_stack_group;

/*
 * Makes room for more than the n_slices that are in use, which is all there
 * is room for. What is in use is moved. If it fails (recorded), all is as it
 * was, but for addresses.
 */
tg_status tgi_stack_group_grow(tgi_stack_group *stacks, int64_t n_slices,
                               tgi_memory_budget *room);

/* Frees the memory, but not the list. */
void tgi_stack_group_deinit(tgi_stack_group *stacks);

#endif /* TGI_UNBOUNDED_STACK_H */
