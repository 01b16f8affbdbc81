/* SPDX-License-Identifier: MIT */
/*
 * memory_plan.c - sizes and offsets of temporaries. The packing itself is
 * shared with the interpreter (runtime/memory_packing.h); here, time is in
 * epochs.
 */
#include "memory/memory_plan.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/error.h"
#include "runtime/memory_packing.h"

tg_status tgi_plan_sizes(const tgi_loops *loops, const int64_t *values,
                         int64_t *out_sizes)
{
    for (size_t i = 0; i < loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        int64_t count = tgi_dim_value(b->count, values);
        if (!tgi_checked_mul(count, tgi_dtype_bytes((tg_dtype)b->dtype),
                             &out_sizes[i]))
            TGI_FAIL(TG_ERROR_OVERFLOW, TGI_NO_SITE,
                     "%s: the size of a value exceeds 64 bits", loops->name);
    }
    return TG_OK;
}

/* -- Offsets --------------------------------------------------------------- */

/* The largest sum of live buffers over all epochs. */
static tg_status find_peak(const tgi_buffer *buffers, size_t n,
                           uint32_t n_epochs, int64_t *out_peak_bytes)
{
    int64_t *change = tgi_alloc_zero(((size_t)n_epochs + 2) * sizeof(*change));
    if (!change)
        return tgi_error_memory();
    for (size_t i = 0; i < n; i++) {
        if (buffers[i].storage != TGI_STORAGE_TEMPORARY)
            continue;
        change[buffers[i].first] += buffers[i].bytes;
        change[buffers[i].last + 1] -= buffers[i].bytes;
    }
    int64_t now = 0;
    *out_peak_bytes = 0;
    for (uint32_t epoch = 0; epoch <= n_epochs; epoch++) {
        now += change[epoch];
        *out_peak_bytes = now > *out_peak_bytes ? now : *out_peak_bytes;
    }
    tgi_free(change);
    return TG_OK;
}

static int compare_first(const void *a, const void *b)
{
    const tgi_buffer *left = a, *right = b;
    if (left->first != right->first)
        return left->first < right->first ? -1 : 1;
    return left->param < right->param ? -1 : left->param > right->param;
}

static tg_status place_buffers(const tgi_loops *loops, const int64_t *sizes,
                               int n_threads, tgi_buffer *placed,
                               int64_t *out_offsets, tgi_memory_plan *out_plan)
{
    const size_t n = loops->buffers.n;
    for (size_t i = 0; i < n; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        const bool is_scratch = b->place == TGI_PLACE_SCRATCH;
        const bool is_of_thread = is_scratch || b->place == TGI_PLACE_BLOCK;
        const bool is_planned = is_of_thread || b->place == TGI_PLACE_TEMP;
        placed[i] = (tgi_buffer){
            .bytes = is_planned ? sizes[i] : 0,
            .first = is_scratch ? 0 : b->first_epoch,
            .last = is_scratch ? loops->n_epochs : b->last_epoch,
            .param = (uint32_t)i,
            .storage = is_planned ? TGI_STORAGE_TEMPORARY : TGI_STORAGE_FIXED};
        if (is_of_thread) {
            const int64_t each =
                (sizes[i] + TGI_BUFFER_ALIGN - 1) & -(int64_t)TGI_BUFFER_ALIGN;
            if (!tgi_checked_mul(each, n_threads, &placed[i].bytes))
                return tgi_error_memory();
        }
    }
    TGI_TRY(find_peak(placed, n, loops->n_epochs, &out_plan->peak));
    qsort(placed, n, sizeof(*placed), compare_first);
    TGI_TRY(
        tgi_memory_pack(placed, n, loops->n_epochs + 1, 0, &out_plan->bytes));
    for (size_t i = 0; i < n; i++)
        out_offsets[placed[i].param] =
            placed[i].storage == TGI_STORAGE_TEMPORARY ? placed[i].offset : -1;
    return TG_OK;
}

tg_status tgi_plan_memory(const tgi_loops *loops, const int64_t *sizes,
                          int n_threads, int64_t *out_offsets,
                          tgi_memory_plan *out_plan)
{
    *out_plan = (tgi_memory_plan){0};
    tgi_buffer *placed = tgi_alloc((loops->buffers.n + 1) * sizeof(*placed));
    tg_status status = placed ? place_buffers(loops, sizes, n_threads, placed,
                                              out_offsets, out_plan)
                              : tgi_error_memory();
    tgi_free(placed);
    return status;
}

/* -- Threads --------------------------------------------------------------- */

static double kernel_work(const tgi_kernel_loops *k, const int64_t *values)
{
    const tgi_kernel_cost *cost = &k->schedule->cost;
    double points = 1;
    for (int axis = 0; axis < k->n_outer; axis++)
        points *= (double)tgi_dim_value(k->extent[axis], values);
    return points *
           ((double)cost->point +
            (double)cost->element *
                (double)tgi_dim_value(k->extent[k->n_outer], values));
}

static int64_t limit_work(double work)
{
    return work < 1e15 ? (int64_t)work : (int64_t)1e15;
}

int64_t tgi_plan_work(const tgi_loops *loops, const int64_t *values)
{
    double work = 0;
    for (size_t i = 0; i < loops->kernels.n; i++)
        work += kernel_work(loops->kernels.data[i], values);
    return limit_work(work);
}

int64_t tgi_plan_kernel_work(const tgi_kernel_loops *kernel,
                             const int64_t *values)
{
    return limit_work(kernel_work(kernel, values));
}

int tgi_plan_threads(int64_t work, int64_t grain, int max)
{
    if (grain <= 0)
        return max;
    const int64_t useful = work / grain;
    return useful < 2 ? 1 : useful < max ? (int)useful : max;
}

/* -- Report ---------------------------------------------------------------- */

static bool is_in_arena(const tgi_loop_buffer *b)
{
    return b->place == TGI_PLACE_TEMP || b->place == TGI_PLACE_SCRATCH ||
           b->place == TGI_PLACE_BLOCK;
}

/* True if the sizes of all temporaries are known. */
static bool has_known_sizes(const tgi_loops *loops)
{
    for (size_t i = 0; i < loops->buffers.n; i++)
        if (is_in_arena(&loops->buffers.data[i]) &&
            !tgi_dim_is_known(loops->buffers.data[i].count))
            return false;
    return true;
}

/* Both tables have the same symbols. */
tg_status tgi_plan_values(const tgi_loops *loops, const int64_t *graph_values,
                          int64_t *out_values)
{
    const tgi_dims *dims = loops->graph->dims;
    const size_t n = tgi_dims_n_values(dims);
    int64_t *symbols =
        tgi_alloc_zero((tgi_dims_n_symbols(dims) + 1) * sizeof(*symbols));
    if (!symbols)
        return tgi_error_memory();
    for (size_t i = 0; i < n; i++) {
        const tgi_dim dim = (tgi_dim)i + TGI_DIM_NONE + 1;
        const int64_t number = tgi_dim_symbol_number(dims, dim);
        if (number >= 0)
            symbols[number] = graph_values[i];
    }
    const tg_status status =
        tgi_dims_evaluate(loops->dims, symbols, out_values);
    tgi_free(symbols);
    return status;
}

static void print_plan(const tgi_memory_plan *plan, tgi_strbuf *out)
{
    if (plan->bytes)
        tgi_strbuf_addf(out,
                        "plan: %lld bytes of temporaries, %lld live at once\n",
                        (long long)plan->bytes, (long long)plan->peak);
    else
        tgi_strbuf_add(out, "plan: no temporaries\n");
}

tg_status tgi_plan_print(const tgi_loops *loops, const int64_t *values,
                         tgi_strbuf *out)
{
    if (!values && !has_known_sizes(loops)) {
        tgi_strbuf_add(out,
                       "plan: temporaries depend on the extents of a call\n");
        return TG_OK;
    }
    const size_t n = loops->buffers.n + 1;
    int64_t *sizes = tgi_alloc_zero(n * sizeof(*sizes));
    int64_t *offsets = tgi_alloc_zero(n * sizeof(*offsets));
    int64_t *loop_values = tgi_alloc_zero((tgi_dims_n_values(loops->dims) + 1) *
                                          sizeof(*loop_values));
    tgi_memory_plan plan;
    tg_status status =
        sizes && offsets && loop_values ? TG_OK : tgi_error_memory();
    if (!status && values)
        status = tgi_plan_values(loops, values, loop_values);
    if (!status)
        status = tgi_plan_sizes(loops, loop_values, sizes);
    if (!status)
        status = tgi_plan_memory(loops, sizes, 1, offsets, &plan);
    if (!status)
        print_plan(&plan, out);
    tgi_free(sizes);
    tgi_free(offsets);
    tgi_free(loop_values);
    return status;
}
