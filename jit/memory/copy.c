/* SPDX-License-Identifier: MIT */
/*
 * copy.c - which elements kernels copy and overwrite.
 */
#include "memory/coalesce.h"

static bool is_same_stride(tgi_stride a, tgi_stride b)
{
    return a.distance == b.distance &&
           (a.distance == 0 || a.is_negative == b.is_negative);
}

bool tgi_access_is_same_element(const tgi_kernel_loops *k, const tgi_access *a,
                                const tgi_access *b)
{
    if (a->index || b->index || a->shift != b->shift ||
        a->offset != b->offset || a->panel_width != b->panel_width)
        return false;
    for (int axis = 0; axis <= k->n_outer; axis++)
        if (!is_same_stride(a->stride[axis], b->stride[axis]))
            return false;
    return true;
}

/*
 * False for COLUMNS, checks, two-stage reductions, and accesses that are not
 * contiguous along the inner axis, for which code is generated in tiles.
 */
bool tgi_kernel_is_single_sweep(const tgi_kernel_loops *k)
{
    if (k->vectors != TGI_ROWS || k->checks.n)
        return false;
    for (size_t i = 0; i < k->reductions.n; i++)
        if (k->reductions.data[i].is_split ||
            k->reductions.data[i].combines_blocks)
            return false;
    for (size_t i = 0; i < k->accesses.n; i++) {
        const tgi_dim along = k->accesses.data[i].stride[k->n_outer].distance;
        if (along != 0 && along != 1)
            return false;
    }
    return true;
}

const tgi_access *tgi_copy_source(const tgi_kernel_loops *k,
                                  const tgi_loop_store *store)
{
    const tgi_inst *value = &k->insts.data[store->value];
    if (value->kind != TGI_INST_LOAD || store->epilogue_op)
        return NULL;
    const tgi_access *from = &k->accesses.data[value->number];
    return tgi_access_is_same_element(k, from, &k->accesses.data[store->access])
               ? from
               : NULL;
}

bool tgi_stores_are_twins(const tgi_kernel_loops *k, const tgi_loop_store *a,
                          const tgi_loop_store *b)
{
    const tgi_inst *of_a = &k->insts.data[a->value];
    const tgi_inst *of_b = &k->insts.data[b->value];
    const bool is_same = of_a == of_b || (of_a->kind == TGI_INST_REDUCED &&
                                          of_b->kind == TGI_INST_REDUCED &&
                                          of_a->number == of_b->number);
    return a != b && is_same && a->phase == b->phase && a->level == b->level &&
           a->epilogue_op == b->epilogue_op && a->along_rows == b->along_rows &&
           tgi_access_is_same_element(k, &k->accesses.data[a->access],
                                      &k->accesses.data[b->access]);
}
