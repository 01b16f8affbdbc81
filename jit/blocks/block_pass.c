/* SPDX-License-Identifier: MIT */
/*
 * block_pass.c - loop pass `row-blocks`: kernels that have rows in common run
 * block of rows by block of rows (loops.h).
 *
 * A segment is a sequence of steps that are kernels and barriers. Within it,
 * kernels that do not conflict may change places; barriers follow from
 * conflicts again.
 *
 * Requires:   schedules.
 * Preserves:  results and effects: each kernel computes what it did, and
 *             conflicting kernels keep their order.
 * Terminates: every kernel of a segment is tried as the first of a group once.
 */
#include "base/error.h"
#include "blocks/blocks.h"
#include "blocks/verify_blocks.h"
#include "schedule/schedule.h"

/* -- Segments -------------------------------------------------------------- */

static bool is_in_segment(const tgi_loops *loops, size_t step)
{
    const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, step);
    return k ? !k->is_straightline
             : loops->steps.data[step].kind == TGI_STEP_BARRIER;
}

/* Collects the kernels from a step on; the end of the segment, or the step if
   there is none. False when out of memory. */
static bool find_segment(tgi_blocks *b, size_t step, size_t *out_end)
{
    const tgi_loops *loops = b->loops;
    uint32_t epoch = 0;
    b->units.n = 0;
    for (; step < loops->steps.n && is_in_segment(loops, step); step++) {
        const tgi_loop_step *s = &loops->steps.data[step];
        if (s->kind == TGI_STEP_BARRIER)
            epoch += 2;
        else if (!tgi_vec_push(&b->units,
                               ((tgi_block_unit){
                                   .kernel = tgi_loops_kernel(loops, s->kernel),
                                   .epoch = epoch})))
            return false;
    }
    *out_end = step;
    return true;
}

/* -- Barriers -------------------------------------------------------------- */

/* The new steps of a segment, whose RUN steps have kernels instead of ids. */
typedef struct step_writer {
    tgi_blocks *b;
    TGI_VEC(tgi_loop_step) steps;
    TGI_VEC(tgi_kernel_loops *) kernels; /* in order */
    size_t since;          /* first unit since the last barrier */
    bool is_after_barrier; /* no unit of the segment, nor a step before it */
} step_writer;

static bool add_step(step_writer *w, tgi_loop_step step)
{
    return tgi_vec_push(&w->steps, step);
}

static bool add_barrier(step_writer *w, size_t unit)
{
    w->since = unit;
    w->is_after_barrier = true;
    return add_step(w, (tgi_loop_step){.kind = TGI_STEP_BARRIER});
}

/* True if units first … end - 1 conflict with one since the last barrier, or
   were after a barrier that separated them from what precedes the segment. */
static bool needs_barrier(const step_writer *w, size_t first, size_t end)
{
    const tgi_block_unit *units = w->b->units.data;
    for (size_t i = first; i < end; i++) {
        if (!w->is_after_barrier && units[i].epoch > 1)
            return true;
        for (size_t j = w->since; j < first; j++)
            if (units[i].epoch != units[j].epoch &&
                tgi_kernels_conflict(w->b->loops, units[i].kernel,
                                     units[j].kernel))
                return true;
    }
    return false;
}

/* One kernel, or the row blocks that begin with it. */
static bool add_units(step_writer *w, size_t *at)
{
    const tgi_block_units *units = &w->b->units;
    const size_t first = *at;
    const tgi_rows_id rows = units->data[first].rows;
    size_t end = first + 1;
    while (!tgi_rows_id_is_none(rows) && end < units->n &&
           tgi_rows_id_equals(units->data[end].rows, rows))
        end++;
    if (needs_barrier(w, first, end) && !add_barrier(w, first))
        return false;
    if (!tgi_rows_id_is_none(rows) &&
        !add_step(w, (tgi_loop_step){.kind = TGI_STEP_ROWS, .rows = rows}))
        return false;
    for (size_t i = first; i < end; i++)
        if (!add_step(w, (tgi_loop_step){.kind = TGI_STEP_RUN}) ||
            !tgi_vec_push(&w->kernels, units->data[i].kernel))
            return false;
    *at = end;
    return tgi_rows_id_is_none(rows) ||
           add_step(w, (tgi_loop_step){.kind = TGI_STEP_ROWS_END, .rows = rows});
}

/* True if a later step may conflict with a unit that a barrier of the segment
   separated from it. */
static bool needs_last_barrier(const step_writer *w, size_t step, size_t end)
{
    const tgi_loops *loops = w->b->loops;
    if (loops->steps.data[end - 1].kind == TGI_STEP_BARRIER)
        return true;
    uint32_t last = 0;
    for (size_t i = step; i < end; i++)
        last += 2 * (loops->steps.data[i].kind == TGI_STEP_BARRIER);
    if (end == loops->steps.n)
        return false;
    for (size_t i = w->since; i < w->b->units.n; i++)
        if (w->b->units.data[i].epoch < last)
            return true;
    return last > 0 && !w->is_after_barrier;
}

/* Writes the segment of steps first … end - 1. */
static bool write_segment(step_writer *w, size_t first, size_t end)
{
    const tgi_loops *loops = w->b->loops;
    w->since = 0;
    w->is_after_barrier =
        first == 0 || loops->steps.data[first - 1].kind == TGI_STEP_BARRIER;
    for (size_t i = 0; i < w->b->units.n;)
        if (!add_units(w, &i))
            return false;
    return !needs_last_barrier(w, first, end) ||
           add_barrier(w, w->b->units.n);
}

static bool copy_step(step_writer *w, size_t step)
{
    const tgi_loops *loops = w->b->loops;
    const tgi_loop_step *s = &loops->steps.data[step];
    return add_step(w, *s) &&
           (s->kind != TGI_STEP_RUN ||
            tgi_vec_push(&w->kernels, tgi_loops_kernel(loops, s->kernel)));
}

/* Installs the steps, and puts the kernels into their order. */
static void install(step_writer *w)
{
    tgi_loops *loops = w->b->loops;
    size_t n = 0;
    for (size_t i = 0; i < w->steps.n; i++)
        if (w->steps.data[i].kind == TGI_STEP_RUN)
            w->steps.data[i].kernel = tgi_kernel_id_from(n++);
    for (size_t i = 0; i < n; i++)
        loops->kernels.data[i] = w->kernels.data[i];
    tgi_vec_deinit(&loops->steps);
    loops->steps.data = w->steps.data;
    loops->steps.n = w->steps.n;
    loops->steps.capacity = w->steps.capacity;
    w->steps.data = NULL;
}

/* -- Groups ---------------------------------------------------------------- */

static void explain(const tgi_blocks *b, size_t first, size_t end)
{
    tgi_strbuf *out = b->pass->explain;
    const tgi_row_blocks *rows =
        &b->loops->row_blocks.data[b->loops->row_blocks.n - 1];
    if (!out)
        return;
    for (size_t i = first; i < end; i++)
        if (!tgi_rows_id_is_none(b->units.data[i].rows))
            tgi_strbuf_addf(out, "kernel %s: in row blocks of %lld\n",
                            b->units.data[i].kernel->name,
                            (long long)rows->block_rows);
}

/* Tries the rows of a first kernel, those of its last outer axis first. Sets
   *out_end to the unit after the row blocks, if there are any. */
static tg_status try_rows(tgi_blocks *b, size_t first, int n_axes,
                          bool *out_is_small, size_t *out_end)
{
    *out_is_small = false;
    for (; n_axes > 0; n_axes--) {
        tgi_block_group g;
        bool pays = false;
        tg_status status = tgi_blocks_find(b, first, n_axes, &g);
        if (!status && g.n_members > 1)
            status = tgi_blocks_choose(b, &g, &pays);
        *out_is_small |= g.is_small;
        if (!status && pays) {
            TGI_TRY(tgi_blocks_commit(b, &g, out_end));
            explain(b, first, *out_end);
            return TG_OK;
        }
        tgi_blocks_undo(b, &g);
        TGI_TRY(status);
    }
    return TG_OK;
}

/* Sets *unit to the next one to try. */
static tg_status try_unit(tgi_blocks *b, size_t *unit)
{
    bool is_large, is_small;
    const size_t first = *unit;
    const tgi_kernel_loops *k = b->units.data[first].kernel;
    *unit = first + 1;
    TGI_TRY(tgi_blocks_is_large(b, k, &is_large));
    if (!is_large)
        return TG_OK;
    const int n_axes = k->n_outer;
    TGI_TRY(try_rows(b, first, n_axes, &is_small, unit));
    if (!is_small || !tgi_rows_id_is_none(b->units.data[first].rows) ||
        *unit != first + 1)
        return TG_OK;
    b->takes_small = true;
    const tg_status status = try_rows(b, first, n_axes, &is_small, unit);
    b->takes_small = false;
    return status;
}

static tg_status find_in_segment(tgi_blocks *b, size_t first, size_t *out_end)
{
    if (!find_segment(b, first, out_end))
        return tgi_error_memory();
    for (size_t i = 0; i < b->units.n;)
        TGI_TRY(try_unit(b, &i));
    return TG_OK;
}

static tg_status find_in_steps(tgi_blocks *b, step_writer *w)
{
    for (size_t step = 0; step < b->loops->steps.n;) {
        const size_t n_before = b->loops->row_blocks.n;
        size_t end = step;
        TGI_TRY(find_in_segment(b, step, &end));
        bool good = true;
        if (b->loops->row_blocks.n > n_before)
            good = write_segment(w, step, end);
        else
            for (size_t i = step; i < end && good; i++)
                good = copy_step(w, i);
        if (good && end == step)
            good = copy_step(w, end++);
        if (!good)
            return tgi_error_memory();
        step = end;
    }
    return TG_OK;
}

tg_status tgi_loop_pass_row_blocks(tgi_loop_pass_state *s)
{
    if (!s->target)
        return TG_OK;
    tgi_blocks b = {.pass = s,
                    .loops = s->loops,
                    .random = s->schedule_seed * 0x9e3779b97f4a7c15u};
    step_writer w = {.b = &b};
    b.n_values = SIZE_MAX; /* not evaluated yet */
    tg_status status = find_in_steps(&b, &w);
    if (!status && s->loops->row_blocks.n)
        install(&w);
    tgi_vec_deinit(&w.steps);
    tgi_vec_deinit(&w.kernels);
    tgi_vec_deinit(&b.units);
    tgi_vec_deinit(&b.uses);
    tgi_vec_deinit(&b.others);
    tgi_free(b.values);
    if (!status && s->verifies)
        status = tgi_schedule_verify_all(s->loops);
    return status ? status
           : s->verifies ? tgi_row_blocks_verify(s->loops)
                         : TG_OK;
}
