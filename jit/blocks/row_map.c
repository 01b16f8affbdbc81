/* SPDX-License-Identifier: MIT */
/* row_map.c - see row_map.h. */
#include "blocks/row_map.h"

#include "schedule/schedule.h"

/* -- Axes ------------------------------------------------------------------ */

static bool is_split(const tgi_kernel_loops *k)
{
    for (size_t i = 0; i < k->reductions.n; i++)
        if (k->reductions.data[i].is_split)
            return true;
    return false;
}

/* The axis that counts the blocks of a split reduction. */
static int block_axis(const tgi_kernel_loops *k)
{
    return k->n_outer - (k->vectors == TGI_ROWS ? 1 : 2);
}

/* The indices of a row, if `points` are those of all rows; 0: none. */
static tgi_dim indices_of_row(tgi_dims *dims, const tgi_row_domain *domain,
                              tgi_dim points)
{
    tgi_dim all = tgi_dim_mul(dims, domain->matrices, domain->rows);
    tgi_dim per_row = 1;
    if (all == points)
        return per_row;
    for (int i = 0; i < domain->n_inside; i++) {
        per_row = tgi_dim_mul(dims, per_row, domain->inside[i]);
        all = tgi_dim_mul(dims, all, domain->inside[i]);
        if (all == points && all != TGI_DIM_NONE)
            return per_row;
    }
    return 0;
}

/* True if the work items of an axis begin with each matrix: those along it have
   one index, or the axis is that of the rows of one matrix. */
static bool has_items_of_rows(const tgi_loops *loops, const tgi_kernel_loops *k,
                              const tgi_row_domain *domain,
                              const tgi_row_kernel *map, tgi_dim before)
{
    const int last = map->n_axes - 1;
    const int64_t *item = k->schedule->item_extent;
    for (int axis = 0; axis < last; axis++)
        if (item[axis] != 1)
            return false;
    return item[last] == 1 ||
           (item[last] > 1 && before == domain->matrices &&
            k->extent[last] ==
                tgi_dim_mul(loops->dims, domain->rows, map->per_row));
}

static bool find_split(const tgi_loops *loops, const tgi_kernel_loops *k,
                       const tgi_row_domain *domain, tgi_row_kernel *out)
{
    const int axis = block_axis(k);
    tgi_dim before = 1;
    for (int i = 0; i < axis; i++)
        before = tgi_dim_mul(loops->dims, before, k->extent[i]);
    *out = (tgi_row_kernel){.n_axes = (uint8_t)(axis + 1),
                            .per_row = 1,
                            .rows_per_index = k->schedule->split_block};
    return before == domain->matrices &&
           k->extent[k->n_outer] == domain->rows &&
           has_items_of_rows(loops, k, domain, out, before);
}

bool tgi_row_kernel_find(const tgi_loops *loops, const tgi_kernel_loops *k,
                         const tgi_row_domain *domain, tgi_row_kernel *out)
{
    if (k->is_straightline || !tgi_memo_id_is_none(k->memo))
        return false;
    if (is_split(k))
        return find_split(loops, k, domain, out);
    /* Items divide the inner axis only of kernels without reductions. */
    const bool divides_inner = k->schedule->item_extent[k->n_outer] > 0;
    tgi_dim points = 1;
    for (int axis = 0; axis < k->n_outer + divides_inner; axis++) {
        const tgi_dim before = points;
        points = tgi_dim_mul(loops->dims, points, k->extent[axis]);
        const tgi_dim per_row = indices_of_row(loops->dims, domain, points);
        if (!per_row)
            continue;
        *out = (tgi_row_kernel){.n_axes = (uint8_t)(axis + 1),
                                .per_row = per_row,
                                .rows_per_index = 1};
        return has_items_of_rows(loops, k, domain, out, before);
    }
    return false;
}

/* -- Accesses -------------------------------------------------------------- */

/* The axes of an access that move within a row. */
typedef struct row_axes {
    int n;
    tgi_dim stride[TGI_LOOP_AXES + 1], extent[TGI_LOOP_AXES + 1];
    bool is_negative;
} row_axes;

static void add_axis(row_axes *r, tgi_stride stride, tgi_dim extent)
{
    if (tgi_stride_is_zero(stride) || extent == 1)
        return;
    r->stride[r->n] = stride.distance;
    r->extent[r->n++] = extent;
    r->is_negative |= stride.is_negative;
}

/* The elements that the axes cover without gaps, from the first on; 0: there
   are gaps. */
static tgi_dim covered_by(const tgi_loops *loops, const row_axes *r)
{
    tgi_dim covered = 1;
    unsigned remaining = (1u << r->n) - 1;
    while (remaining) {
        int axis = 0;
        while (axis < r->n &&
               !(remaining >> axis & 1 && r->stride[axis] == covered))
            axis++;
        if (axis == r->n)
            return 0;
        remaining &= ~(1u << axis);
        covered = tgi_dim_mul(loops->dims, covered, r->extent[axis]);
    }
    return covered;
}

/* True if all offsets are below `n`. */
static bool fits_in(const tgi_loops *loops, const row_axes *r, tgi_dim offset,
                    tgi_dim n)
{
    if (r->is_negative)
        return false;
    bool is_known = tgi_dim_is_known(n) && tgi_dim_is_known(offset);
    int64_t last = is_known ? offset : 0;
    for (int i = 0; i < r->n; i++) {
        is_known &= tgi_dim_is_known(r->stride[i]) &&
                    tgi_dim_is_known(r->extent[i]);
        int64_t length = 0;
        if (is_known &&
            (__builtin_mul_overflow(r->stride[i], r->extent[i] - 1, &length) ||
             __builtin_add_overflow(last, length, &last)))
            return false;
    }
    if (is_known)
        return last < n;
    return offset == 0 && (r->n == 0 || covered_by(loops, r) == n);
}

/* Elements between rows, if the access stays within its row; else 0. */
static tgi_dim row_elements(const tgi_loops *loops, const tgi_kernel_loops *k,
                            const tgi_row_kernel *map, const tgi_access *access,
                            row_axes *within)
{
    tgi_dims *dims = loops->dims;
    const int last = map->n_axes - 1;
    const bool is_split = map->rows_per_index != 1;
    const int row_axis = is_split ? k->n_outer : last;
    const tgi_stride step = access->stride[row_axis];
    *within = (row_axes){.n = 0};
    if (access->index || access->shift || access->panel_width ||
        tgi_stride_is_zero(step) || step.is_negative ||
        (is_split && access->stride[last].distance != 0))
        return 0;
    tgi_dim matrix = tgi_dim_mul(dims, step.distance, k->extent[row_axis]);
    for (int axis = last - 1; axis >= 0; axis--) {
        const tgi_stride stride = access->stride[axis];
        if (k->extent[axis] == 1)
            continue;
        if (stride.distance != matrix || stride.is_negative)
            return 0;
        matrix = tgi_dim_mul(dims, matrix, k->extent[axis]);
    }
    add_axis(within, step, map->per_row);
    for (int axis = last + 1; axis <= k->n_outer; axis++)
        if (axis != row_axis)
            add_axis(within, access->stride[axis], k->extent[axis]);
    const tgi_dim n = tgi_dim_mul(dims, step.distance, map->per_row);
    return n != TGI_DIM_NONE && fits_in(loops, within, access->offset, n) ? n
                                                                          : 0;
}

/* -- Uses ------------------------------------------------------------------ */

const tgi_row_use *tgi_row_use_of(const tgi_row_uses *uses,
                                  tgi_buffer_id buffer)
{
    for (size_t i = 0; i < uses->n; i++)
        if (tgi_buffer_id_equals(uses->data[i].buffer, buffer))
            return &uses->data[i];
    return NULL;
}

static bool is_in_memory(const tgi_loops *loops, tgi_buffer_id buffer)
{
    return tgi_loops_buffer(loops, buffer)->place != TGI_PLACE_SCRATCH;
}

/* Adds an access; NULL when out of memory. */
static tgi_row_use *add_use(const tgi_loops *loops, const tgi_kernel_loops *k,
                            const tgi_row_kernel *map, const tgi_access *access,
                            tgi_row_uses *out, row_axes *within)
{
    const tgi_dim elements = row_elements(loops, k, map, access, within);
    size_t i = 0;
    while (i < out->n &&
           !tgi_buffer_id_equals(out->data[i].buffer, access->buffer))
        i++;
    if (i == out->n &&
        !tgi_vec_push(out, ((tgi_row_use){.buffer = access->buffer,
                                          .row_elements = elements})))
        return NULL;
    tgi_row_use *use = &out->data[i];
    if (use->row_elements != elements)
        use->row_elements = 0;
    for (int axis = 0; axis < map->n_axes - 1; axis++)
        use->moves_with_matrices |= access->stride[axis].distance != 0;
    return use;
}

static bool add_load(const tgi_loops *loops, const tgi_kernel_loops *k,
                     const tgi_row_kernel *map, const tgi_inst *inst,
                     tgi_row_uses *out)
{
    const tgi_access *access = &k->accesses.data[inst->number];
    row_axes within;
    if (!is_in_memory(loops, access->buffer))
        return true;
    tgi_row_use *use = add_use(loops, k, map, access, out, &within);
    if (use)
        use->reads = true;
    return use;
}

/* True if all loads from a buffer are in phases after `phase`. */
static bool is_loaded_after(const tgi_kernel_loops *k, tgi_buffer_id buffer,
                            unsigned phase)
{
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind == TGI_INST_LOAD && inst->phase <= phase &&
            tgi_buffer_id_equals(k->accesses.data[inst->number].buffer, buffer))
            return false;
    }
    return true;
}

static bool add_store(const tgi_loops *loops, const tgi_kernel_loops *k,
                      const tgi_row_kernel *map, const tgi_loop_store *store,
                      tgi_row_uses *out)
{
    const tgi_access *access = &k->accesses.data[store->access];
    row_axes within;
    if (!is_in_memory(loops, access->buffer))
        return true;
    tgi_row_use *use = add_use(loops, k, map, access, out, &within);
    if (!use)
        return false;
    use->writes = true;
    use->is_complete |= use->row_elements && access->offset == 0 &&
                        covered_by(loops, &within) == use->row_elements &&
                        is_loaded_after(k, access->buffer, store->phase);
    return true;
}

bool tgi_row_uses_find(const tgi_loops *loops, const tgi_kernel_loops *k,
                       const tgi_row_kernel *map, tgi_row_uses *out)
{
    out->n = 0;
    for (size_t i = 1; i < k->insts.n; i++)
        if (k->insts.data[i].kind == TGI_INST_LOAD &&
            !add_load(loops, k, map, &k->insts.data[i], out))
            return false;
    for (size_t i = 0; i < k->stores.n; i++)
        if (!add_store(loops, k, map, &k->stores.data[i], out))
            return false;
    return true;
}

/* -- Conflicts ------------------------------------------------------------- */

static bool accesses(const tgi_kernel_loops *k, tgi_buffer_id buffer)
{
    for (size_t i = 1; i < k->insts.n; i++)
        if (k->insts.data[i].kind == TGI_INST_LOAD &&
            tgi_buffer_id_equals(
                k->accesses.data[k->insts.data[i].number].buffer, buffer))
            return true;
    for (size_t i = 0; i < k->stores.n; i++)
        if (tgi_buffer_id_equals(
                k->accesses.data[k->stores.data[i].access].buffer, buffer))
            return true;
    return false;
}

static bool stores_to_buffer_of(const tgi_loops *loops,
                                const tgi_kernel_loops *a,
                                const tgi_kernel_loops *b)
{
    for (size_t i = 0; i < a->stores.n; i++) {
        const tgi_buffer_id buffer =
            a->accesses.data[a->stores.data[i].access].buffer;
        if (is_in_memory(loops, buffer) && accesses(b, buffer))
            return true;
    }
    return false;
}

bool tgi_kernels_conflict(const tgi_loops *loops, const tgi_kernel_loops *a,
                          const tgi_kernel_loops *b)
{
    return stores_to_buffer_of(loops, a, b) || stores_to_buffer_of(loops, b, a);
}
