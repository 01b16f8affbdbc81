/* SPDX-License-Identifier: MIT */
/*
 * choose_stores.c - non-temporal stores. A result that exceeds the last-level
 * cache and is not read in the call is stored by whole cache lines, which need
 * not be read first: a third of the memory traffic of scaling a vector. Smaller
 * results stay in the cache for their next reader.
 */
#include "schedule/choose.h"

enum {
    MIN_STORE_BYTES = 16, /* of the narrowest non-temporal vector store */
    PREFETCH_BYTES = 256  /* prefetch distance */
};

static void set_read(const tgi_scheduler *r, tgi_buffer_id buffer)
{
    r->is_read[tgi_buffer_id_index(buffer)] = true;
}

void tgi_schedule_find_reads(const tgi_scheduler *r)
{
    const tgi_loops *loops = r->program;
    for (size_t i = 0; i < loops->kernels.n; i++) {
        const tgi_kernel_loops *kernel = loops->kernels.data[i];
        for (uint32_t j = 1; j < kernel->insts.n; j++)
            if (kernel->insts.data[j].kind == TGI_INST_LOAD)
                set_read(
                    r,
                    kernel->accesses.data[kernel->insts.data[j].number].buffer);
    }
    for (size_t i = 0; i < loops->hosts.n; i++)
        for (uint32_t j = 0; j < loops->hosts.data[i].n_buffers; j++)
            set_read(r, loops->hosts.data[i].buffers[j]);
    /* The next iteration of a loop reads what this one stores. */
    for (size_t i = 0; i < loops->controls.n; i++)
        for (uint32_t j = 0; j < loops->controls.data[i].n_moved; j++)
            set_read(r, loops->controls.data[i].to[j]);
}

/* True if a store may be non-temporal, provided that unknown extents are large
   enough. */
static bool is_candidate(const tgi_scheduler *r, const tgi_schedule *s,
                         const tgi_loop_store *store)
{
    const tgi_access *access = &s->loops->accesses.data[store->access];
    const tgi_stride stride = access->stride[s->inner];
    const tgi_loop_buffer *buffer =
        tgi_loops_buffer(r->program, access->buffer);
    const unsigned bytes = (unsigned)tgi_dtype_bytes(buffer->dtype);
    const unsigned lanes = tgi_phase_lanes(&s->phases[store->phase]);
    return store->level == TGI_LEVEL_INNER && stride.distance == 1 &&
           !stride.is_negative && buffer->place != TGI_PLACE_SCRATCH &&
           !access->shift && lanes * bytes >= MIN_STORE_BYTES &&
           !(s->tiles.rows && s->tiles.uses[store->access]) &&
           (!tgi_dim_is_known(buffer->count) ||
            buffer->count > s->non_temporal_bytes / bytes) &&
           !r->is_read[tgi_buffer_id_index(access->buffer)];
}

/* Heavy phases are not bound by memory. */
static bool can_be_non_temporal(const tgi_schedule *s, unsigned phase)
{
    const tgi_phase_schedule *p = &s->phases[phase];
    return p->has_loop && !p->n_reductions &&
           tgi_schedule_body_cost(s, phase) <= TGI_HEAVY_COST;
}

void tgi_schedule_choose_stores(const tgi_scheduler *r, tgi_schedule *s)
{
    s->non_temporal_bytes = r->target->last_level_bytes;
    s->prefetch_bytes = PREFETCH_BYTES;
    if (s->non_temporal_bytes <= 0 || s->loops->vectors != TGI_ROWS ||
        s->loops->is_straightline)
        return;
    for (size_t i = 0; i < s->loops->stores.n; i++) {
        const tgi_loop_store *store = &s->loops->stores.data[i];
        if (can_be_non_temporal(s, store->phase) && is_candidate(r, s, store)) {
            s->non_temporal_stores[i] = true;
            s->phases[store->phase].is_non_temporal = true;
        }
    }
}
