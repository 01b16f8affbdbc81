/* SPDX-License-Identifier: MIT */
/*
 * unbounded_stack.h - memory that grows while a loop runs. A loop that saves a
 * value per iteration, and whose number of iterations is not known in advance,
 * carries stacks: values whose first extent is TGI_UNBOUNDED, with one slice
 * per completed iteration. Stacks with the same number of slices form a group
 * and share a capacity.
 *
 * Memory is reused from run to run, so that only the first runs grow. In the
 * interpreter, an unbounded value is the address of such a stack; compiled code
 * gets the addresses of the data from the frame.
 */
#ifndef TGI_UNBOUNDED_STACK_H
#define TGI_UNBOUNDED_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "tgjit/base.h"

/* Bytes of all stacks and other temporaries of a run. */
typedef struct tgi_memory_budget {
    uint64_t bytes;
    uint64_t limit; /* 0: none */
} tgi_memory_budget;

typedef struct tgi_stack {
    uint32_t number; /* id chosen by the owner */
    int64_t slice_bytes;
    int64_t bytes; /* size of the allocation */
    char *data;    /* NULL until the first slice */
} tgi_stack;

/* Stacks that grow together. */
typedef struct tgi_stack_group {
    size_t n;
    tgi_stack *all;
    int64_t capacity; /* capacity of each, in slices */
} tgi_stack_group;

/*
 * Increases the capacity beyond n_slices, all of which are in use and are
 * moved. On failure (recorded), contents and capacity are unchanged; addresses
 * may have changed.
 */
tg_status tgi_stack_group_grow(tgi_stack_group *stacks, int64_t n_slices,
                               tgi_memory_budget *budget);

/* Frees the memory of the stacks, but not the array. */
void tgi_stack_group_deinit(tgi_stack_group *stacks);

#endif /* TGI_UNBOUNDED_STACK_H */
