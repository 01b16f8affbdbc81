/* SPDX-License-Identifier: MIT */
/*
 * verify_blocks.c - see verify_blocks.h. It shares no code with what finds and
 * chooses row blocks: it computes the work items of some blocks, the first and
 * last ones of all rows and of a matrix, and from these the elements that they
 * access.
 */
#include "blocks/verify_blocks.h"

#include "base/error.h"
#include "schedule/schedule.h"

enum { N_BLOCKS = 8, MAX_SAMPLES = 128 /* indices of rows, in a block */ };

typedef struct interval {
    int64_t first, last; /* inclusive; empty if last < first */
} interval;

typedef struct verifier {
    const tgi_loops *loops;
    const tgi_row_blocks *rows;
    size_t step; /* ROWS */
    const int64_t *values;
    int64_t n_rows, n_matrices, per_matrix;
    int n_blocks;
    int64_t blocks[N_BLOCKS]; /* numbers, ascending */
} verifier;

static tg_status report(const verifier *v, uint32_t kernel, const char *rule,
                        int64_t number)
{
    const tgi_kernel_loops *k =
        tgi_loops_kernel_at(v->loops, v->step + 1 + kernel);
    return tgi_error_set(TG_ERROR_INTERNAL, TGI_NO_SITE,
                         "row blocks: kernel %s: %s (%lld)",
                         k && k->name ? k->name : "?", rule, (long long)number);
}

#define REQUIRE_OF(kernel, condition, rule, number) \
    do { \
        if (!(condition)) \
            return report(v, kernel, rule, (int64_t)(number)); \
    } while (0)

static const tgi_kernel_loops *kernel_of(const verifier *v, uint32_t i)
{
    return tgi_loops_kernel_at(v->loops, v->step + 1 + i);
}

static int64_t value(const verifier *v, tgi_dim dim)
{
    return tgi_dim_value(dim, v->values);
}

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* -- Work items ------------------------------------------------------------ */

static int64_t items_along(const verifier *v, const tgi_kernel_loops *k,
                           int axis)
{
    const int64_t item = k->schedule->item_extent[axis];
    return item ? ceil_div(value(v, k->extent[axis]), item) : 1;
}

static int64_t items_from(const verifier *v, const tgi_kernel_loops *k,
                          int axis)
{
    int64_t n = 1;
    for (; axis <= k->n_outer; axis++)
        n *= items_along(v, k, axis);
    return n;
}

/* Items of the axes of rows, of the first n rows of a matrix. */
static int64_t items_of_rows(const verifier *v, uint32_t kernel, int64_t n)
{
    const tgi_row_kernel *map = &v->rows->kernels[kernel];
    const tgi_kernel_loops *k = kernel_of(v, kernel);
    return ceil_div(n * value(v, map->per_row),
                    map->rows_per_index *
                        k->schedule->item_extent[map->n_axes - 1]);
}

static int64_t first_row(const verifier *v, int64_t block)
{
    return block % v->per_matrix * v->rows->block_rows;
}

static int64_t end_row(const verifier *v, int64_t block)
{
    const int64_t end = first_row(v, block) + v->rows->block_rows;
    return end < v->n_rows ? end : v->n_rows;
}

/* The items of the axes of rows in a block. */
static interval items_of_block(const verifier *v, uint32_t kernel,
                               int64_t block)
{
    const int64_t before =
        block / v->per_matrix * items_of_rows(v, kernel, v->n_rows);
    return (interval){
        before + items_of_rows(v, kernel, first_row(v, block)),
        before + items_of_rows(v, kernel, end_row(v, block)) - 1};
}

/* Blocks are consecutive and have all items. */
static tg_status verify_items(const verifier *v, uint32_t kernel)
{
    const tgi_kernel_loops *k = kernel_of(v, kernel);
    const tgi_row_kernel *map = &v->rows->kernels[kernel];
    const int64_t n = v->n_matrices * v->per_matrix;
    int64_t all = 1;
    REQUIRE_OF(kernel, k->schedule->item_extent[map->n_axes - 1] > 0,
               "the axis of rows is not divided into work items", map->n_axes);
    for (int axis = 0; axis < map->n_axes; axis++)
        all *= items_along(v, k, axis);
    for (int i = 0; i < v->n_blocks; i++) {
        const int64_t block = v->blocks[i];
        const interval items = items_of_block(v, kernel, block);
        REQUIRE_OF(kernel,
                   block || items.first == 0,
                   "the first block does not begin with the first item", block);
        REQUIRE_OF(kernel,
                   block + 1 == n
                       ? items.last + 1 == all
                       : items_of_block(v, kernel, block + 1).first ==
                             items.last + 1,
                   "blocks do not have all work items once", block);
    }
    return TG_OK;
}

/* A reduction is computed by one block; rows that it reduces are those of the
   blocks of a split one. */
static tg_status verify_reductions(const verifier *v, uint32_t kernel)
{
    const tgi_kernel_loops *k = kernel_of(v, kernel);
    const tgi_row_kernel *map = &v->rows->kernels[kernel];
    const int64_t split = k->schedule->split_block;
    REQUIRE_OF(kernel, map->rows_per_index == (split ? split : 1),
               "rows of the blocks of a split reduction", map->rows_per_index);
    REQUIRE_OF(kernel,
               v->rows->block_rows % map->rows_per_index == 0 ||
                   v->per_matrix == 1,
               "a row block divides a block of a split reduction",
               v->rows->block_rows);
    REQUIRE_OF(kernel, k->reductions.n == 0 || map->n_axes <= k->n_outer,
               "rows are divided that are reduced", map->n_axes);
    REQUIRE_OF(kernel,
               !k->schedule->matmul.reduces_columns ||
                   k->schedule->matmul.row_axis >= map->n_axes,
               "columns of a reduction epilogue are divided", map->n_axes);
    return TG_OK;
}

/* -- Elements -------------------------------------------------------------- */

/* The elements of an access at one item of the axes of rows. */
static interval elements_at(const verifier *v, uint32_t kernel,
                            const tgi_access *access, int64_t item)
{
    const tgi_kernel_loops *k = kernel_of(v, kernel);
    const int n_axes = v->rows->kernels[kernel].n_axes;
    const int64_t *size = k->schedule->item_extent;
    interval all = {value(v, access->offset), value(v, access->offset)};
    int64_t block = 0;
    for (int axis = k->n_outer; axis >= 0; axis--) {
        interval index = {0, value(v, k->extent[axis]) - 1};
        if (axis < n_axes) {
            const int64_t n = items_along(v, k, axis);
            index.first = item % n * size[axis];
            if (index.first + size[axis] - 1 < index.last)
                index.last = index.first + size[axis] - 1;
            item /= n;
        }
        if (axis == n_axes - 1)
            block = index.first;
        if (index.last < index.first)
            return (interval){0, -1};
        const int64_t stride = value(v, access->stride[axis].distance) *
                               (access->stride[axis].is_negative ? -1 : 1);
        if (axis == k->n_outer && k->schedule->split_block)
            continue;
        all.first += stride * (stride < 0 ? index.last : index.first);
        all.last += stride * (stride < 0 ? index.first : index.last);
    }
    if (k->schedule->split_block) { /* the block's part of the inner axis */
        const int64_t rows = k->schedule->split_block;
        const int64_t n = value(v, k->extent[k->n_outer]);
        const int64_t stride =
            value(v, access->stride[k->n_outer].distance) *
            (access->stride[k->n_outer].is_negative ? -1 : 1);
        const int64_t end = (block + 1) * rows < n ? (block + 1) * rows : n;
        all.first += stride * (stride < 0 ? end - 1 : block * rows);
        all.last += stride * (stride < 0 ? block * rows : end - 1);
    }
    return all;
}

static interval unite(interval a, interval b)
{
    if (a.last < a.first)
        return b;
    if (b.last < b.first)
        return a;
    return (interval){a.first < b.first ? a.first : b.first,
                      a.last > b.last ? a.last : b.last};
}

/* The elements of an access in a block: of its first and last items, and of
   some between. */
static interval elements_of(const verifier *v, uint32_t kernel,
                            const tgi_access *access, int64_t block)
{
    const interval items = items_of_block(v, kernel, block);
    const int64_t step = (items.last - items.first) / MAX_SAMPLES + 1;
    interval all = {0, -1};
    for (int64_t item = items.first; item <= items.last; item += step)
        all = unite(all, elements_at(v, kernel, access, item));
    return items.last < items.first
               ? all
               : unite(all, elements_at(v, kernel, access, items.last));
}

/* -- Buffers --------------------------------------------------------------- */

/* Calls `visit` for the accesses of a kernel to a buffer. */
static tg_status walk(const verifier *v, uint32_t kernel, tgi_buffer_id buffer,
                      tg_status visit(const verifier *v, uint32_t kernel,
                                      const tgi_access *access,
                                      const tgi_loop_store *store, void *user),
                      void *user)
{
    const tgi_kernel_loops *k = kernel_of(v, kernel);
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind == TGI_INST_LOAD &&
            tgi_buffer_id_equals(k->accesses.data[inst->number].buffer, buffer))
            TGI_TRY(visit(v, kernel, &k->accesses.data[inst->number], NULL,
                          user));
    }
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_loop_store *store = &k->stores.data[i];
        if (tgi_buffer_id_equals(k->accesses.data[store->access].buffer,
                                 buffer))
            TGI_TRY(visit(v, kernel, &k->accesses.data[store->access], store,
                          user));
    }
    return TG_OK;
}

static tg_status count_access(const verifier *v, uint32_t kernel,
                              const tgi_access *access,
                              const tgi_loop_store *store, void *user)
{
    int *n = user;
    (void)v;
    (void)kernel;
    (void)access;
    (void)store;
    ++*n;
    return TG_OK;
}

static tg_status add_elements(const verifier *v, uint32_t kernel,
                              const tgi_access *access,
                              const tgi_loop_store *store, void *user)
{
    interval *all = user;
    (void)store;
    REQUIRE_OF(kernel,
               !access->index && !access->shift && !access->panel_width,
               "an access to a shared buffer that is not affine",
               tgi_buffer_id_index(access->buffer));
    for (int i = 0; i < v->n_blocks; i++)
        all[i] = unite(all[i], elements_of(v, kernel, access, v->blocks[i]));
    return TG_OK;
}

/* Per-thread memory: the first kernel that uses it stores every element of a
   block, and loads none before. */
static tg_status verify_stored_first(const verifier *v, uint32_t kernel,
                                     const tgi_block_buffer *block)
{
    const tgi_kernel_loops *k = kernel_of(v, kernel);
    const int64_t elements = value(v, block->row_elements);
    unsigned phase = UINT32_MAX;
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_loop_store *store = &k->stores.data[i];
        const tgi_access *access = &k->accesses.data[store->access];
        int64_t n = value(v, v->rows->matrices) * v->n_rows;
        int64_t stored = 1;
        if (!tgi_buffer_id_equals(access->buffer, block->buffer))
            continue;
        for (int axis = 0; axis <= k->n_outer; axis++)
            if (access->stride[axis].distance)
                stored *= value(v, k->extent[axis]);
        n *= elements;
        if (stored == n && store->phase < phase)
            phase = store->phase;
    }
    REQUIRE_OF(kernel, phase != UINT32_MAX,
               "per-thread memory is not stored by its first kernel",
               tgi_buffer_id_index(block->buffer));
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        REQUIRE_OF(kernel,
                   inst->kind != TGI_INST_LOAD || inst->phase > phase ||
                       !tgi_buffer_id_equals(
                           k->accesses.data[inst->number].buffer,
                           block->buffer),
                   "per-thread memory is loaded before it is stored", i);
    }
    return TG_OK;
}

static tg_status verify_block_buffer(const verifier *v, uint32_t first,
                                     const tgi_block_buffer *block,
                                     const interval *all)
{
    const tgi_loop_buffer *buffer = tgi_loops_buffer(v->loops, block->buffer);
    const int64_t elements = value(v, block->row_elements);
    const int64_t per_line =
        TGI_BUFFER_ALIGN / (int64_t)tgi_dtype_bytes(buffer->dtype);
    for (int i = 0; i < v->n_blocks; i++) {
        const int64_t row = v->blocks[i] / v->per_matrix * v->n_rows +
                            first_row(v, v->blocks[i]);
        const int64_t base = row * elements / per_line * per_line;
        REQUIRE_OF(first,
                   all[i].last < all[i].first ||
                       (all[i].first >= row * elements &&
                        all[i].last - base < value(v, buffer->count)),
                   "a row is outside of per-thread memory",
                   tgi_buffer_id_index(block->buffer));
    }
    return verify_stored_first(v, first, block);
}

static const tgi_block_buffer *block_of(const verifier *v, tgi_buffer_id buffer)
{
    for (uint32_t i = 0; i < v->rows->n_buffers; i++)
        if (tgi_buffer_id_equals(v->rows->buffers[i].buffer, buffer))
            return &v->rows->buffers[i];
    return NULL;
}

/* A buffer that a member stores to. */
static tg_status verify_buffer(const verifier *v, tgi_buffer_id buffer)
{
    interval all[N_BLOCKS];
    uint32_t first = UINT32_MAX, n_members = 0;
    const tgi_block_buffer *block = block_of(v, buffer);
    for (int i = 0; i < N_BLOCKS; i++)
        all[i] = (interval){0, -1};
    for (uint32_t i = 0; i < v->rows->n_kernels; i++) {
        int n = 0;
        TGI_TRY(walk(v, i, buffer, count_access, &n));
        n_members += n > 0;
        if (n > 0 && first == UINT32_MAX)
            first = i;
    }
    if (n_members < 2 && !block)
        return TG_OK;
    for (uint32_t i = 0; i < v->rows->n_kernels; i++)
        TGI_TRY(walk(v, i, buffer, add_elements, all));
    for (int i = 0; i < v->n_blocks; i++)
        for (int j = 0; j < i; j++)
            REQUIRE_OF(first,
                       all[i].last < all[i].first ||
                           all[j].last < all[j].first ||
                           all[j].last < all[i].first ||
                           all[i].last < all[j].first,
                       "two blocks access the same elements",
                       tgi_buffer_id_index(buffer));
    return block ? verify_block_buffer(v, first, block, all) : TG_OK;
}

/* Only members access per-thread memory. */
static tg_status verify_is_local(const verifier *v, tgi_buffer_id buffer)
{
    for (size_t i = 0; i < v->loops->steps.n; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(v->loops, i);
        if (i > v->step && i <= v->step + v->rows->n_kernels)
            continue;
        for (size_t j = 0; k && j < k->accesses.n; j++)
            REQUIRE_OF(0,
                       !tgi_buffer_id_equals(k->accesses.data[j].buffer,
                                             buffer),
                       "another kernel accesses per-thread memory",
                       tgi_buffer_id_index(buffer));
    }
    return TG_OK;
}

/* -- Groups ---------------------------------------------------------------- */

static void add_block(verifier *v, int64_t number)
{
    const int64_t n = v->n_matrices * v->per_matrix;
    if (number >= 0 && number < n && v->n_blocks < N_BLOCKS &&
        (!v->n_blocks || v->blocks[v->n_blocks - 1] < number))
        v->blocks[v->n_blocks++] = number;
}

static tg_status verify_group(verifier *v)
{
    v->n_rows = value(v, v->rows->rows);
    v->n_matrices = value(v, v->rows->matrices);
    v->per_matrix = ceil_div(v->n_rows, v->rows->block_rows);
    v->n_blocks = 0;
    if (!v->n_rows || !v->n_matrices)
        return TG_OK;
    const int64_t n = v->n_matrices * v->per_matrix;
    const int64_t examined[N_BLOCKS] = {
        0,     1,     v->per_matrix - 1, v->per_matrix, v->per_matrix + 1,
        n - 3, n - 2, n - 1};
    for (int i = 0; i < N_BLOCKS; i++)
        add_block(v, examined[i]);
    for (uint32_t i = 0; i < v->rows->n_kernels; i++) {
        const tgi_kernel_loops *k = kernel_of(v, i);
        TGI_TRY(verify_reductions(v, i));
        if (!items_from(v, k, v->rows->kernels[i].n_axes))
            continue;
        TGI_TRY(verify_items(v, i));
    }
    for (uint32_t i = 0; i < v->rows->n_kernels; i++) {
        const tgi_kernel_loops *k = kernel_of(v, i);
        for (size_t j = 0; j < k->stores.n; j++) {
            const tgi_buffer_id buffer =
                k->accesses.data[k->stores.data[j].access].buffer;
            if (tgi_loops_buffer(v->loops, buffer)->place != TGI_PLACE_SCRATCH)
                TGI_TRY(verify_buffer(v, buffer));
        }
    }
    for (uint32_t i = 0; i < v->rows->n_buffers; i++)
        TGI_TRY(verify_is_local(v, v->rows->buffers[i].buffer));
    return TG_OK;
}

tg_status tgi_row_blocks_verify(const tgi_loops *loops)
{
    if (!loops->row_blocks.n)
        return TG_OK;
    int64_t *values = tgi_alloc_zero(
        (tgi_dims_n_values(loops->dims) + 1) * sizeof(*values));
    tg_status status =
        values ? tgi_dims_assume(loops->dims, values) : tgi_error_memory();
    for (size_t i = 0; i < loops->steps.n && !status; i++) {
        if (loops->steps.data[i].kind != TGI_STEP_ROWS)
            continue;
        verifier v = {.loops = loops,
                      .rows = tgi_loops_rows(loops, loops->steps.data[i].rows),
                      .step = i,
                      .values = values};
        status = verify_group(&v);
    }
    tgi_free(values);
    return status;
}
