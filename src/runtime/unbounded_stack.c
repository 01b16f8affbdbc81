/* SPDX-License-Identifier: MIT */
/*
 * unbounded_stack.c - growth by doubling, so that a slice is moved O(1) times
 * on average. The first capacity is large enough that short loops grow once,
 * and small enough that large slices do not waste memory.
 */
#include "runtime/unbounded_stack.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"

enum {
    TARGET_FIRST_BYTES = 16384, /* approximate first size of the largest
                                   stack */
    MIN_FIRST_SLICES = 4,       /* slices */
    MAX_FIRST_SLICES = 1024
};

static int64_t next_capacity(const tgi_stack_group *stacks)
{
    int64_t largest = 1;
    if (stacks->capacity)
        return stacks->capacity > INT64_MAX / 2 ? INT64_MAX
                                                : 2 * stacks->capacity;
    for (size_t i = 0; i < stacks->n; i++)
        if (stacks->all[i].slice_bytes > largest)
            largest = stacks->all[i].slice_bytes;
    const int64_t slices = TARGET_FIRST_BYTES / largest;
    return slices < MIN_FIRST_SLICES   ? MIN_FIRST_SLICES
           : slices > MAX_FIRST_SLICES ? MAX_FIRST_SLICES
                                       : slices;
}

static tg_status grow_stack(tgi_stack *stack, int64_t n_slices,
                            int64_t capacity, tgi_memory_budget *budget)
{
    int64_t bytes;
    if (!tgi_checked_mul(stack->slice_bytes, capacity, &bytes))
        return tgi_error_memory();
    if (bytes <= stack->bytes) /* Slices without elements; or an earlier run
                                  failed after this stack had grown. */
        return TG_OK;
    const uint64_t all = budget->bytes + (uint64_t)(bytes - stack->bytes);
    if (budget->limit && all > budget->limit)
        TGI_FAIL(
            TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE,
            "out of memory: after %lld iteration%s of a loop that saves "
            "values, the call needs %llu bytes of temporaries, the limit "
            "is %llu",
            (long long)n_slices, TGI_PLURAL(n_slices), (unsigned long long)all,
            (unsigned long long)budget->limit);
    char *data = tgi_buffer_alloc((size_t)bytes);
    if (!data)
        TGI_FAIL(TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE,
                 "out of memory: after %lld iteration%s of a loop that saves "
                 "values, the call needs %llu bytes of temporaries",
                 (long long)n_slices, TGI_PLURAL(n_slices),
                 (unsigned long long)all);
    if (stack->data) {
        memcpy(data, stack->data, (size_t)(n_slices * stack->slice_bytes));
        tgi_buffer_free(stack->data, (size_t)stack->bytes);
    }
    budget->bytes = all;
    stack->data = data;
    stack->bytes = bytes;
    return TG_OK;
}

tg_status tgi_stack_group_grow(tgi_stack_group *stacks, int64_t n_slices,
                               tgi_memory_budget *budget)
{
    const int64_t capacity = next_capacity(stacks);
    for (size_t i = 0; i < stacks->n; i++)
        TGI_TRY(grow_stack(&stacks->all[i], n_slices, capacity, budget));
    stacks->capacity = capacity;
    return TG_OK;
}

void tgi_stack_group_deinit(tgi_stack_group *stacks)
{
    for (size_t i = 0; i < stacks->n; i++)
        if (stacks->all[i].data)
            tgi_buffer_free(stacks->all[i].data,
                            (size_t)stacks->all[i].bytes);
    stacks->capacity = 0;
    stacks->n = 0;
}
