/* SPDX-License-Identifier: MIT */
/* block_sums.c - see block_sums.h. */
#include "blocks/block_sums.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* -- Conditions ------------------------------------------------------------ */

/* True if the kernel is a sweep along its inner axis, alone or in the blocks of
   a split reduction. */
static bool is_sweep(const tgi_kernel_loops *k)
{
    const bool is_split = k->reductions.n && k->reductions.data[0].is_split;
    return k->vectors == TGI_ROWS && k->has_inner && k->n_phases == 1 &&
           k->n_outer == is_split && !k->is_straightline && !k->checks.n &&
           tgi_memo_id_is_none(k->memo) && k->reductions.n > 0 &&
           !k->reductions.data[0].combines_blocks;
}

static const tgi_access *load_of(const tgi_kernel_loops *k, uint32_t inst)
{
    const tgi_inst *value = &k->insts.data[inst];
    return value->kind == TGI_INST_LOAD ? &k->accesses.data[value->number]
                                        : NULL;
}

/* True if one element per row is accessed, along the inner axis. */
static bool is_of_rows(const tgi_kernel_loops *k, const tgi_access *access)
{
    return tgi_stride_is_one(access->stride[k->n_outer]) &&
           access->offset == 0 && !access->index && !access->shift;
}

static bool has_row_store(const tgi_kernel_loops *k)
{
    for (size_t i = 0; i < k->stores.n; i++)
        if (k->stores.data[i].level == TGI_LEVEL_INNER)
            return true;
    return false;
}

/* True if a value that is loaded once, for `sums` too, is from a buffer that
   `rows` stores to. */
static bool loads_what_rows_store(const tgi_kernel_loops *k)
{
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_access *access = load_of(k, (uint32_t)i);
        if (!access || k->insts.data[i].level == TGI_LEVEL_INNER)
            continue;
        for (size_t j = 0; j < k->stores.n; j++)
            if (k->stores.data[j].level == TGI_LEVEL_INNER &&
                tgi_buffer_id_equals(
                    k->accesses.data[k->stores.data[j].access].buffer,
                    access->buffer))
                return true;
    }
    return false;
}

bool tgi_block_sums_can_split(const tgi_kernel_loops *k, tgi_dim n_rows)
{
    if (!is_sweep(k) || k->extent[k->n_outer] != n_rows || !has_row_store(k) ||
        loads_what_rows_store(k))
        return false;
    for (size_t i = 0; i < k->reductions.n; i++) {
        const tgi_reduction *r = &k->reductions.data[i];
        if (k->insts.data[r->value].level != TGI_LEVEL_INNER ||
            (r->other && k->insts.data[r->other].level != TGI_LEVEL_INNER))
            return false;
    }
    return true;
}

/* -- Kernels --------------------------------------------------------------- */

/* A copy of a kernel without its schedule; NULL when out of memory. */
static tgi_kernel_loops *copy_kernel(const tgi_kernel_loops *k)
{
    tgi_kernel_loops *copy = tgi_alloc_zero(sizeof(*copy));
    if (!copy)
        return NULL;
    *copy = *k;
    copy->schedule = NULL;
    memset(&copy->insts, 0, sizeof(copy->insts));
    memset(&copy->accesses, 0, sizeof(copy->accesses));
    memset(&copy->offsets, 0, sizeof(copy->offsets));
    memset(&copy->stores, 0, sizeof(copy->stores));
    memset(&copy->reductions, 0, sizeof(copy->reductions));
    memset(&copy->checks, 0, sizeof(copy->checks));
    bool good = true;
    for (size_t i = 0; i < k->insts.n; i++)
        good &= tgi_vec_push(&copy->insts, k->insts.data[i]);
    for (size_t i = 0; i < k->accesses.n; i++)
        good &= tgi_vec_push(&copy->accesses, k->accesses.data[i]);
    for (size_t i = 0; i < k->stores.n; i++)
        good &= tgi_vec_push(&copy->stores, k->stores.data[i]);
    for (size_t i = 0; i < k->reductions.n; i++)
        good &= tgi_vec_push(&copy->reductions, k->reductions.data[i]);
    if (good)
        return copy;
    tgi_kernel_loops_destroy(copy);
    return NULL;
}

static void keep_stores(tgi_kernel_loops *k, bool keeps_inner)
{
    size_t n = 0;
    for (size_t i = 0; i < k->stores.n; i++)
        if ((k->stores.data[i].level == TGI_LEVEL_INNER) == keeps_inner)
            k->stores.data[n++] = k->stores.data[i];
    k->stores.n = n;
}

/* -- Unused insts ---------------------------------------------------------- */

static void mark_users(const tgi_kernel_loops *k, uint32_t *used)
{
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_access *access =
            &k->accesses.data[k->stores.data[i].access];
        used[k->stores.data[i].value] = 1;
        used[access->index] = used[access->shift] = 1;
    }
    for (size_t i = 0; i < k->reductions.n; i++) {
        used[k->reductions.data[i].value] = 1;
        used[k->reductions.data[i].other] = 1;
    }
    for (size_t i = k->insts.n; i-- > 1;) {
        const tgi_inst *inst = &k->insts.data[i];
        if (!used[i])
            continue;
        for (int o = 0; o < inst->n_operands; o++)
            used[inst->operands[o]] = 1;
        if (inst->kind == TGI_INST_LOAD || inst->kind == TGI_INST_POSITION) {
            const tgi_access *access = &k->accesses.data[inst->number];
            used[access->index] = used[access->shift] = 1;
        }
    }
    used[0] = 0;
}

/* Deletes insts that nothing uses, and renumbers the others. False when out of
   memory. */
static bool delete_unused(tgi_kernel_loops *k)
{
    uint32_t *number = tgi_alloc_zero((k->insts.n + 1) * sizeof(*number));
    uint32_t *accessed = tgi_alloc_zero((k->accesses.n + 1) * sizeof(*accessed));
    if (!number || !accessed) {
        tgi_free(number);
        tgi_free(accessed);
        return false;
    }
    mark_users(k, number);
    uint32_t n = 1;
    for (uint32_t i = 1; i < k->insts.n; i++) {
        if (!number[i])
            continue;
        tgi_inst inst = k->insts.data[i];
        for (int o = 0; o < inst.n_operands; o++)
            inst.operands[o] = number[inst.operands[o]];
        if (inst.kind == TGI_INST_LOAD || inst.kind == TGI_INST_POSITION)
            accessed[inst.number] = 1;
        number[i] = n;
        k->insts.data[n++] = inst;
    }
    k->insts.n = n;
    for (size_t i = 0; i < k->stores.n; i++) {
        k->stores.data[i].value = number[k->stores.data[i].value];
        accessed[k->stores.data[i].access] = 1;
    }
    for (size_t i = 0; i < k->reductions.n; i++) {
        k->reductions.data[i].value = number[k->reductions.data[i].value];
        k->reductions.data[i].other = number[k->reductions.data[i].other];
    }
    n = 0;
    for (uint32_t i = 0; i < k->accesses.n; i++) {
        if (!accessed[i])
            continue;
        tgi_access access = k->accesses.data[i];
        access.index = number[access.index];
        access.shift = number[access.shift];
        accessed[i] = n;
        k->accesses.data[n++] = access;
    }
    k->accesses.n = n;
    for (uint32_t i = 1; i < k->insts.n; i++)
        if (k->insts.data[i].kind == TGI_INST_LOAD ||
            k->insts.data[i].kind == TGI_INST_POSITION)
            k->insts.data[i].number = accessed[k->insts.data[i].number];
    for (size_t i = 0; i < k->stores.n; i++)
        k->stores.data[i].access = accessed[k->stores.data[i].access];
    tgi_free(number);
    tgi_free(accessed);
    return true;
}

/* -- Splitting ------------------------------------------------------------- */

typedef struct splitter {
    tgi_loops *loops;
    const tgi_kernel_loops *original;
    tgi_kernel_loops *rows, *sums;
} splitter;

static bool is_stored(const tgi_kernel_loops *k, tgi_buffer_id buffer)
{
    for (size_t i = 0; i < k->stores.n; i++)
        if (tgi_buffer_id_equals(
                k->accesses.data[k->stores.data[i].access].buffer, buffer))
            return true;
    return false;
}

/* The store of a value of each row that nothing else in the kernel overwrites;
   NULL: none. */
static const tgi_loop_store *find_store(const tgi_kernel_loops *k,
                                        uint32_t value)
{
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_loop_store *store = &k->stores.data[i];
        const tgi_access *access = &k->accesses.data[store->access];
        int n = 0;
        for (size_t j = 0; j < k->stores.n; j++)
            n += tgi_buffer_id_equals(
                k->accesses.data[k->stores.data[j].access].buffer,
                access->buffer);
        if (store->value == value && store->level == TGI_LEVEL_INNER &&
            n == 1 && is_of_rows(k, access))
            return store;
    }
    return NULL;
}

/* A temporary that `rows` stores the value to; NULL when out of memory. */
static const tgi_loop_store *add_store(splitter *s, uint32_t value)
{
    const tgi_kernel_loops *k = s->original;
    const tgi_loop_buffer buffer = {
        .place = TGI_PLACE_TEMP,
        .dtype = k->insts.data[value].dtype,
        .count = k->extent[k->n_outer]};
    tgi_access access = {.buffer = tgi_buffer_id_from(s->loops->buffers.n)};
    access.stride[k->n_outer].distance = 1;
    const tgi_loop_store store = {
        .value = value,
        .access = (uint32_t)s->rows->accesses.n,
        .level = TGI_LEVEL_INNER,
        .node = k->insts.data[value].node};
    if (!tgi_vec_push(&s->loops->buffers, buffer) ||
        !tgi_vec_push(&s->rows->accesses, access) ||
        !tgi_vec_push(&s->rows->stores, store))
        return NULL;
    return &s->rows->stores.data[s->rows->stores.n - 1];
}

/* Makes `sums` load a value that it reduces. */
static bool load_value(splitter *s, uint32_t value)
{
    const tgi_access *loaded = load_of(s->original, value);
    if (loaded && !is_stored(s->original, loaded->buffer))
        return true; /* an operand that stays as it is */
    const tgi_loop_store *store = find_store(s->rows, value);
    if (!store)
        store = add_store(s, value);
    if (!store)
        return false;
    tgi_access access = s->rows->accesses.data[store->access];
    tgi_inst *inst = &s->sums->insts.data[value];
    *inst = (tgi_inst){.kind = TGI_INST_LOAD,
                       .dtype = inst->dtype,
                       .level = TGI_LEVEL_INNER,
                       .number = (uint32_t)s->sums->accesses.n,
                       .node = inst->node};
    return tgi_vec_push(&s->sums->accesses, access);
}

/* Removes the axis of the blocks of a split reduction. */
static void drop_block_axis(tgi_kernel_loops *k)
{
    for (int axis = 0; axis < k->n_outer; axis++)
        k->extent[axis] = k->extent[axis + 1];
    for (size_t i = 0; i < k->accesses.n; i++) {
        tgi_access *access = &k->accesses.data[i];
        memmove(&access->stride[0], &access->stride[1],
                sizeof(access->stride) - sizeof(access->stride[0]));
        access->stride[TGI_LOOP_AXES - 1] = (tgi_stride){.distance = 0};
    }
    k->n_outer--;
}

static bool set_name(splitter *s)
{
    char name[160];
    const int n = snprintf(name, sizeof(name), "%s_rows", s->original->name);
    s->rows->name = tgi_arena_copy(&s->loops->arena, name, (size_t)n + 1);
    return s->rows->name;
}

static bool split(splitter *s)
{
    const tgi_kernel_loops *k = s->original;
    keep_stores(s->rows, true);
    keep_stores(s->sums, false);
    for (size_t i = 0; i < k->reductions.n; i++) {
        const tgi_reduction *r = &k->reductions.data[i];
        if (!load_value(s, r->value) || (r->other && !load_value(s, r->other)))
            return false;
    }
    s->rows->reductions.n = 0;
    if (!delete_unused(s->rows) || !delete_unused(s->sums))
        return false;
    if (k->n_outer)
        drop_block_axis(s->rows);
    return set_name(s);
}

tg_status tgi_block_sums_split(tgi_loops *loops, const tgi_kernel_loops *k,
                               tgi_kernel_loops **out_rows,
                               tgi_kernel_loops **out_sums)
{
    splitter s = {.loops = loops,
                  .original = k,
                  .rows = copy_kernel(k),
                  .sums = copy_kernel(k)};
    if (s.rows && s.sums && split(&s)) {
        *out_rows = s.rows;
        *out_sums = s.sums;
        return TG_OK;
    }
    tgi_kernel_loops_destroy(s.rows);
    tgi_kernel_loops_destroy(s.sums);
    return tgi_error_memory();
}
