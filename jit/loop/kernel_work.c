/* SPDX-License-Identifier: MIT */
/*
 * kernel_work.c - see kernel_work.h.
 */
#include "loop/kernel_work.h"

#include "loop/inst_cost.h"

typedef struct domain {
    double points, elements; /* elements of all points */
} domain;

/* The axis that counts the blocks of a two-stage reduction, or -1. Each block
   runs over its part of the inner axis. */
static int block_axis(const tgi_kernel_loops *k)
{
    for (size_t i = 0; i < k->reductions.n; i++)
        if (k->reductions.data[i].is_split)
            return k->n_outer - (k->vectors == TGI_ROWS ? 1 : 2);
    return -1;
}

static domain domain_of(const tgi_kernel_loops *k, const int64_t *values)
{
    domain d = {1, (double)tgi_dim_value(k->extent[k->n_outer], values)};
    for (int axis = 0; axis < k->n_outer; axis++) {
        const double extent = (double)tgi_dim_value(k->extent[axis], values);
        d.points *= extent;
        if (axis != block_axis(k))
            d.elements *= extent;
    }
    return d;
}

static double runs_of(domain d, int level)
{
    return level == TGI_LEVEL_INNER   ? d.elements
           : level == TGI_LEVEL_POINT ? d.points
                                      : 1;
}

/* -- Operations ------------------------------------------------------------ */

static double inst_flops(const tgi_kernel_loops *k, const tgi_inst *inst)
{
    if (inst->kind == TGI_INST_OP && inst->op == TGI_OP_FMA)
        return 2;
    if (inst->kind == TGI_INST_OP || inst->kind == TGI_INST_CAST ||
        inst->kind == TGI_INST_RANDOM)
        return tgi_inst_cost(k, inst, TGI_COST_ASSUMED).instructions;
    return 0;
}

static void add_flops(const tgi_kernel_loops *k, domain d,
                      tgi_kernel_work *work)
{
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        const double flops = inst_flops(k, inst);
        const unsigned bytes =
            (unsigned)tgi_dtype_bytes(inst->type ? inst->type : inst->dtype);
        work->flops += flops * runs_of(d, inst->level);
        if (flops > 0 && inst->level != TGI_LEVEL_KERNEL &&
            bytes > work->element_bytes)
            work->element_bytes = bytes;
    }
    for (size_t i = 0; i < k->reductions.n; i++) {
        const tgi_reduction *r = &k->reductions.data[i];
        const unsigned bytes = (unsigned)tgi_dtype_bytes(r->dtype);
        work->flops += (r->is_bytes                ? 8
                        : r->op == TGI_OP_MATMUL ? 2
                                                 : 1) *
                       d.elements;
        if (bytes > work->element_bytes)
            work->element_bytes = bytes;
    }
}

/* -- Bytes ----------------------------------------------------------------- */

/* Elements of the domain at which an access has different addresses. An index
   or a shift may repeat addresses; the size of the buffer is the limit. */
static double accessed_elements(const tgi_kernel_loops *k,
                                const tgi_access *access, domain d,
                                const int64_t *values)
{
    if (access->index)
        return runs_of(d, k->insts.data[access->index].level);
    double elements = 1;
    for (int axis = 0; axis <= k->n_outer; axis++)
        if (access->stride[axis].distance != 0)
            elements *= (double)tgi_dim_value(k->extent[axis], values);
    return elements;
}

/* The bytes that loads, or stores, move between a buffer and the kernel. */
static double moved_bytes(const tgi_loops *loops, const tgi_kernel_loops *k,
                          domain d, const int64_t *values,
                          const int64_t *sizes, uint32_t buffer, bool is_store)
{
    double bytes = 0;
    const double element =
        (double)tgi_dtype_bytes(loops->buffers.data[buffer].dtype);
    const size_t n = is_store ? k->stores.n : k->insts.n;
    for (size_t i = is_store ? 0 : 1; i < n; i++) {
        if (!is_store && k->insts.data[i].kind != TGI_INST_LOAD)
            continue;
        const tgi_access *access =
            &k->accesses.data[is_store ? k->stores.data[i].access
                                       : k->insts.data[i].number];
        if (tgi_buffer_id_index(access->buffer) == buffer)
            bytes += element * accessed_elements(k, access, d, values);
    }
    return bytes < (double)sizes[buffer] ? bytes : (double)sizes[buffer];
}

/* True if an earlier access has the same buffer. */
static bool is_repeated(const tgi_kernel_loops *k, size_t access)
{
    for (size_t i = 0; i < access; i++)
        if (tgi_buffer_id_equals(k->accesses.data[i].buffer,
                                 k->accesses.data[access].buffer))
            return true;
    return false;
}

tgi_kernel_work tgi_kernel_work_of(const tgi_loops *loops,
                                   const tgi_kernel_loops *k,
                                   const int64_t *values, const int64_t *sizes)
{
    const domain d = domain_of(k, values);
    tgi_kernel_work work = {0};
    add_flops(k, d, &work);
    for (size_t i = 0; i < k->accesses.n; i++) {
        const uint32_t buffer =
            tgi_buffer_id_index(k->accesses.data[i].buffer);
        const uint8_t place = loops->buffers.data[buffer].place;
        /* Scratch rows, row blocks and values in registers stay in the core. */
        if (is_repeated(k, i) || place == TGI_PLACE_SCRATCH ||
            place == TGI_PLACE_BLOCK || place == TGI_PLACE_SSA)
            continue;
        work.bytes +=
            moved_bytes(loops, k, d, values, sizes, buffer, false) +
            moved_bytes(loops, k, d, values, sizes, buffer, true);
    }
    return work;
}
