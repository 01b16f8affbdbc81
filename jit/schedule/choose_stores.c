/* SPDX-License-Identifier: MIT */
/*
 * choose_stores.c - how results are stored.
 *
 * Non-temporal stores. A result that exceeds the last-level
 * cache and is not read in the call is stored by whole cache lines, which need
 * not be read first: a third of the memory traffic of scaling a vector. Smaller
 * results stay in the cache for their next reader, unless they and the operands
 * together fill it: then each evicts the other in every call.
 *
 * String stores. Zeros, or other equal bytes, that exceed L2 are stored by
 * string instructions, which write whole lines without reading them first.
 * Measured on Zen 5: 8 MiB of zeros that are in L3, 61 us instead of 83; 64 MiB,
 * as fast as non-temporal stores.
 *
 * Alignment. A vector store as wide as a cache line that is not aligned touches
 * two lines. Loops that are bound by memory peel the elements before the first
 * line of one result.
 */
#include "schedule/choose.h"

enum {
    MIN_ALIGNED_EXTENT = 256, /* of a row whose stores are aligned */
    MIN_STORE_BYTES = 16,     /* of the narrowest non-temporal vector store */
    /* Of a row of non-temporal stores: the lines at both of its ends are stored
       in parts, with other stores. */
    MIN_ROW_LINES = 8,
    /* Of the last-level cache: a result that is non-temporal where operands
       and results fill the cache. Measured on Zen 5 with 32 MiB, calibrated to
       8 MiB: a stencil of 2048 x 2048 f32 takes 501 us instead of 767. */
    MIN_RESULT_DIVISOR = 4,
    /* Cost of a body that runs with half the width where its stores straddle
       lines. */
    MAX_STRADDLING_COST = 24,
    /* Prefetch distance. Hardware prefetchers stop at the end of a page.
       Measured on Zen 5, scale, copy and axpy of 64 MiB: 512 and 1024 bytes
       take 0.99 to 1.10 times as long as hand-written loops, 2048 0.96 to 1.05,
       4096 0.94 to 1.02. */
    PREFETCH_BYTES = 4096
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

/* -- Non-temporal stores --------------------------------------------------- */

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
    const tgi_dim extent = s->loops->extent[s->inner];
    const int64_t min_extent = MIN_ROW_LINES * r->target->line_bytes / bytes;
    return !(tgi_dim_is_known(extent) && extent < min_extent) &&
           store->level == TGI_LEVEL_INNER && stride.distance == 1 &&
           !stride.is_negative && buffer->place != TGI_PLACE_SCRATCH &&
           !access->shift && lanes * bytes >= MIN_STORE_BYTES &&
           !(s->tiles.rows && s->tiles.uses[store->access]) &&
           !s->phases[store->phase].string_store_bytes &&
           (!tgi_dim_is_known(buffer->count) ||
            buffer->count > s->non_temporal_bytes / bytes) &&
           !r->is_read[tgi_buffer_id_index(access->buffer)];
}

/* Bytes of the buffers that a kernel accesses, if they are known; else 0. */
static int64_t footprint(const tgi_scheduler *r, const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    int64_t bytes = 0;
    for (size_t i = 0; i < loops->accesses.n; i++) {
        const tgi_buffer_id id = loops->accesses.data[i].buffer;
        const tgi_loop_buffer *buffer = tgi_loops_buffer(r->program, id);
        bool is_first = true;
        for (size_t j = 0; j < i; j++)
            is_first &= tgi_buffer_id_index(loops->accesses.data[j].buffer) !=
                        tgi_buffer_id_index(id);
        if (!tgi_dim_is_known(buffer->count))
            return 0;
        if (is_first)
            bytes += buffer->count * tgi_dtype_bytes(buffer->dtype);
    }
    return bytes;
}

/* The size of a result from which its stores are non-temporal; 0: none are. */
static int64_t non_temporal_from(const tgi_scheduler *r, const tgi_schedule *s)
{
    const int64_t cache = r->target->last_level_bytes;
    const int64_t least = cache / MIN_RESULT_DIVISOR;
    switch (r->hints->values[TGI_HINT_NON_TEMPORAL]) {
    case TGI_HINT_NO:
        return 0;
    case TGI_HINT_YES:
        return r->target->l2_bytes;
    default:
        return least && least < r->target->non_temporal_bytes &&
                       footprint(r, s) >= cache
                   ? least
                   : r->target->non_temporal_bytes;
    }
}

static bool is_memory_bound(const tgi_schedule *s, unsigned phase)
{
    const tgi_phase_schedule *p = &s->phases[phase];
    return p->has_loop && !p->n_reductions &&
           tgi_schedule_body_cost(s, phase) <= TGI_HEAVY_COST;
}

/* -- String stores --------------------------------------------------------- */

/* True if a phase stores a constant of equal bytes to one buffer, and nothing
   else. */
static bool fills(const tgi_schedule *s, const tgi_loop_store *store)
{
    const tgi_kernel_loops *loops = s->loops;
    const tgi_access *access = &loops->accesses.data[store->access];
    for (uint32_t i = 1; i < loops->insts.n; i++)
        if (loops->insts.data[i].phase == store->phase &&
            s->insts[i].level == TGI_LEVEL_INNER)
            return false;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].phase == store->phase &&
            &loops->stores.data[i] != store)
            return false;
    return loops->checks.n == 0 && store->level == TGI_LEVEL_INNER &&
           !s->tiles.rows && tgi_stride_is_one(access->stride[s->inner]) &&
           !access->index &&
           tgi_schedule_has_equal_bytes(&loops->insts.data[store->value]);
}

static void choose_string_stores(const tgi_scheduler *r, tgi_schedule *s)
{
    for (size_t i = 0; i < s->loops->stores.n; i++) {
        const tgi_loop_store *store = &s->loops->stores.data[i];
        const tgi_loop_buffer *buffer = tgi_loops_buffer(
            r->program, s->loops->accesses.data[store->access].buffer);
        const int64_t from = r->target->string_store_bytes;
        if (from && fills(s, store) &&
            !(tgi_dim_is_known(buffer->count) &&
              buffer->count * tgi_dtype_bytes(buffer->dtype) <= from))
            s->phases[store->phase].string_store_bytes = from;
    }
}

/* -- Alignment ------------------------------------------------------------- */

/* True if the rows of an access begin at cache lines, provided that its buffer
   does, as those of the library do. */
static bool has_aligned_rows(const tgi_scheduler *r, const tgi_schedule *s,
                             const tgi_access *access)
{
    const int64_t elements =
        r->target->line_bytes /
        tgi_dtype_bytes(tgi_loops_buffer(r->program, access->buffer)->dtype);
    bool is_aligned = !access->shift && tgi_dim_is_known(access->offset) &&
                      access->offset % elements == 0;
    for (int axis = 0; axis < s->inner; axis++)
        is_aligned &= tgi_dim_is_known(access->stride[axis].distance) &&
                      access->stride[axis].distance % elements == 0;
    return is_aligned;
}

/* True if every vector store of a phase would straddle two cache lines, and its
   loop is long enough to peel. */
static bool should_align(const tgi_scheduler *r, const tgi_schedule *s,
                         const tgi_loop_store *store)
{
    const tgi_dim extent = s->loops->extent[s->inner];
    const tgi_access *access = &s->loops->accesses.data[store->access];
    const tgi_phase_schedule *p = &s->phases[store->phase];
    return is_memory_bound(s, store->phase) &&
           store->level == TGI_LEVEL_INNER && p->can_mask &&
           s->vector_bits / 8 == r->target->line_bytes &&
           tgi_stride_is_one(access->stride[s->inner]) && !access->index &&
           !has_aligned_rows(r, s, access) &&
           !(tgi_dim_is_known(extent) && extent < MIN_ALIGNED_EXTENT);
}

bool tgi_schedule_straddles_lines(const tgi_scheduler *r, const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    const tgi_dim extent = loops->extent[s->inner];
    if (loops->vectors != TGI_ROWS || loops->is_straightline ||
        s->tiles.rows || loops->n_phases != 1 || loops->reductions.n > 0 ||
        s->vector_bits / 8 != r->target->line_bytes ||
        !tgi_dim_is_known(extent) || extent >= MIN_ALIGNED_EXTENT ||
        tgi_schedule_body_cost(s, 0) > MAX_STRADDLING_COST)
        return false;
    for (size_t i = 0; i < loops->stores.n; i++) {
        const tgi_loop_store *store = &loops->stores.data[i];
        const tgi_access *access = &loops->accesses.data[store->access];
        if (store->level == TGI_LEVEL_INNER && !access->index &&
            tgi_stride_is_one(access->stride[s->inner]) &&
            !has_aligned_rows(r, s, access))
            return true;
    }
    return false;
}

static void choose_alignment(const tgi_scheduler *r, tgi_schedule *s)
{
    for (uint32_t i = 0; i < s->loops->stores.n; i++) {
        const tgi_loop_store *store = &s->loops->stores.data[i];
        tgi_phase_schedule *p = &s->phases[store->phase];
        if (!p->aligned_store &&
            (s->non_temporal_stores[i] || should_align(r, s, store)) &&
            !s->tiles.rows)
            p->aligned_store = i + 1;
    }
}

/* -- Entry point ----------------------------------------------------------- */

void tgi_schedule_choose_stores(const tgi_scheduler *r, tgi_schedule *s)
{
    if (s->loops->vectors != TGI_ROWS || s->loops->is_straightline ||
        tgi_schedule_interchanged_axis(s) >= 0)
        return;
    choose_string_stores(r, s);
    const int64_t bytes_from = non_temporal_from(r, s);
    s->non_temporal_bytes = bytes_from;
    bool has_any = false;
    for (size_t i = 0; i < s->loops->stores.n && bytes_from > 0; i++) {
        const tgi_loop_store *store = &s->loops->stores.data[i];
        if (is_memory_bound(s, store->phase) && is_candidate(r, s, store)) {
            s->non_temporal_stores[i] = has_any = true;
            s->prefetch_bytes = PREFETCH_BYTES;
            s->phases[store->phase].is_non_temporal = true;
        }
    }
    if (!has_any) /* so that the key of the code does not depend on it */
        s->non_temporal_bytes = 0;
    choose_alignment(r, s);
}
