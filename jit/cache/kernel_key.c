/* SPDX-License-Identifier: MIT */
/*
 * kernel_key.c - see kernel_key.h. Each list is preceded by its length, so that
 * different kernels have different keys.
 */
#include "cache/kernel_key.h"

#include "cache/code.h"

#include "loop/leb128.h"
#include "schedule/schedule.h"

static void put(tgi_strbuf *key, uint64_t number)
{
    tgi_leb128_put(key, number);
}

static void put_dim(tgi_strbuf *key, tgi_dim dim)
{
    put(key, (uint64_t)dim);
}

static void put_stride(tgi_strbuf *key, tgi_stride stride)
{
    put_dim(key, stride.distance);
    put(key, stride.is_negative);
}

static uint64_t name_of(tgi_buffer_name *name, tgi_buffer_id buffer)
{
    return name ? name->of(name, buffer) : buffer.raw;
}

/* -- Accesses and insts ---------------------------------------------------- */

static void put_access(tgi_strbuf *key, const tgi_kernel_loops *kernel,
                       const tgi_access *access, tgi_buffer_name *name)
{
    put(key, name_of(name, access->buffer));
    put(key, access->panel_width);
    put_dim(key, access->offset);
    for (int axis = 0; axis <= kernel->n_outer; axis++)
        put_stride(key, access->stride[axis]);
    put(key, access->index);
    if (access->index)
        put_stride(key, access->index_stride);
    put(key, access->shift);
}

static void put_offset_table(tgi_strbuf *key, const tgi_offset_table *table,
                             tgi_buffer_name *name)
{
    put(key, (uint64_t)table->n_axes);
    for (int axis = 0; axis < table->n_axes; axis++) {
        put_dim(key, table->extent[axis]);
        put_stride(key, table->stride[axis]);
    }
    put(key, name_of(name, table->memory));
}

static void put_inst(tgi_strbuf *key, const tgi_inst *inst)
{
    put(key, inst->kind);
    put(key, inst->op);
    put(key, inst->dtype);
    put(key, inst->type);
    put(key, inst->level);
    put(key, inst->phase);
    put(key, inst->n_operands);
    for (int i = 0; i < inst->n_operands; i++)
        put(key, inst->operands[i]);
    switch ((tgi_inst_kind)inst->kind) {
    case TGI_INST_CARRIED:
        put(key, inst->number);
        put(key, inst->bits);
        break;
    case TGI_INST_CONSTANT:
        put(key, inst->bits);
        break;
    case TGI_INST_EXTENT:
    case TGI_INST_INDEX:
    case TGI_INST_IN_RANGE:
        put_dim(key, inst->dim);
        break;
    case TGI_INST_POSITION:
    case TGI_INST_LOAD:
    case TGI_INST_OFFSET:
    case TGI_INST_REDUCED:
        put(key, inst->number);
        break;
    case TGI_INST_OP:
    case TGI_INST_CAST:
    case TGI_INST_RANDOM:
        break;
    }
}

static void put_reduction(tgi_strbuf *key, const tgi_reduction *reduction)
{
    put(key, reduction->op);
    put(key, reduction->dtype);
    put(key, reduction->phase);
    put(key, reduction->is_split);
    put(key, reduction->combines_blocks);
    put(key, reduction->is_bytes);
    put(key, reduction->value);
    put(key, reduction->other);
}

/* -- Schedules ------------------------------------------------------------- */

static void put_nest(tgi_strbuf *key, const tgi_nest *nest)
{
    put(key, nest->n);
    for (unsigned i = 0; i < nest->n; i++) {
        put(key, nest->loops[i].kind);
        put(key, nest->loops[i].axis);
        put(key, nest->loops[i].tail);
        put(key, nest->loops[i].tail_lanes);
        put(key, nest->loops[i].narrow_lanes);
        put(key, (uint64_t)nest->loops[i].step);
    }
}

static void put_phase(tgi_strbuf *key, const tgi_phase_schedule *phase)
{
    put(key, phase->can_mask);
    put(key, phase->keeps_operand_widths);
    put_nest(key, &phase->nest);
    put(key, phase->accumulators.storage);
    put(key, phase->accumulators.is_reassociated);
    put(key, phase->accumulators.n_vectors);
    put(key, phase->fission.n_parts);
    put(key, phase->fission.last_is_function);
    put(key, (uint64_t)phase->fission.strip);
    put(key, phase->is_non_temporal);
    put(key, phase->aligned_store);
    put(key, (uint64_t)phase->string_store_bytes);
}

static void put_matmul(tgi_strbuf *key, const tgi_matmul_schedule *m)
{
    put(key, m->mr);
    put(key, m->nr);
    put(key, (uint64_t)m->item_rows);
    put(key, m->n_panels);
    put(key, (uint64_t)m->item_matrices);
    put(key, m->prefetches_panels);
    put(key, m->packs_b);
    put(key, m->transposes_b);
    put(key, m->epilogue_in_registers);
    put(key, m->calls_function);
    put(key, m->packs_for_function);
    put(key, m->packs_masked_for_function);
    put(key, m->has_few_rows);
    put(key, m->looks_ahead);
    put(key, m->a_run);
    put(key, m->blocks_in_rows);
    put(key, (uint64_t)m->prefetched_a_bytes);
    put(key, (uint64_t)m->prefetched_b_bytes);
}

/* All choices. Facts that follow from the kernel are not repeated. */
static void put_schedule(tgi_strbuf *key, const tgi_schedule *s)
{
    const tgi_kernel_loops *kernel = s->original;
    put(key, s->vector_bits);
    for (int axis = 0; axis <= kernel->n_outer; axis++)
        put(key, (uint64_t)s->item_extent[axis]);
    put(key, s->wide_columns);
    for (unsigned i = 0; i < kernel->n_phases; i++)
        put_phase(key, &s->phases[i]);
    for (size_t i = 1; i < kernel->insts.n; i++) {
        put(key, s->insts[i].part);
        put(key, s->insts[i].slot);
        put(key, s->insts[i].is_function);
        put(key, s->insts[i].is_hoisted);
    }
    if (s->matmul.mr)
        put_matmul(key, &s->matmul);
    put(key, s->tiles.rows);
    for (size_t i = 0; s->tiles.rows && i < kernel->accesses.n; i++)
        put(key, s->tiles.uses[i]);
    for (size_t i = 0; i < kernel->stores.n; i++)
        put(key, s->non_temporal_stores[i]);
    put(key, (uint64_t)s->non_temporal_bytes);
    put(key, (uint64_t)s->prefetch_bytes);
    put(key, (uint64_t)s->cost.point);
    put(key, (uint64_t)s->cost.element);
}

void tgi_code_key_of_schedule(const tgi_kernel_loops *kernel,
                              tgi_strbuf *out_key)
{
    put_schedule(out_key, kernel->schedule);
}

/* -- Kernels --------------------------------------------------------------- */

void tgi_kernel_key(const tgi_kernel_loops *kernel, tgi_buffer_name *name,
                    tgi_strbuf *key)
{
    put(key, kernel->vectors);
    put(key, kernel->n_outer);
    put(key, kernel->has_inner);
    put(key, kernel->n_phases);
    for (int axis = 0; axis <= kernel->n_outer; axis++)
        put_dim(key, kernel->extent[axis]);
    put(key, kernel->insts.n);
    for (size_t i = 1; i < kernel->insts.n; i++)
        put_inst(key, &kernel->insts.data[i]);
    put(key, kernel->accesses.n);
    for (size_t i = 0; i < kernel->accesses.n; i++)
        put_access(key, kernel, &kernel->accesses.data[i], name);
    put(key, kernel->offsets.n);
    for (size_t i = 0; i < kernel->offsets.n; i++)
        put_offset_table(key, &kernel->offsets.data[i], name);
    put(key, kernel->stores.n);
    for (size_t i = 0; i < kernel->stores.n; i++) {
        put(key, kernel->stores.data[i].value);
        put(key, kernel->stores.data[i].access);
        put(key, kernel->stores.data[i].phase);
        put(key, kernel->stores.data[i].level);
        put(key, kernel->stores.data[i].epilogue_op);
        put(key, kernel->stores.data[i].along_rows);
    }
    put(key, kernel->reductions.n);
    for (size_t i = 0; i < kernel->reductions.n; i++)
        put_reduction(key, &kernel->reductions.data[i]);
    if (kernel->schedule)
        put_schedule(key, kernel->schedule);
}
