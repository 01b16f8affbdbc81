/* SPDX-License-Identifier: MIT */
/*
 * native.c - a program with its memory: extents are evaluated, temporaries
 * allocated, and the addresses of all buffers are in one table. A run is then
 * one call of the entry.
 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/live.h"
#include "memory/memory_plan.h"
#include "run/native_cancel.h"
#include "run/native_object.h"
#include "run/native_profile.h"
#include "run/team.h"
#include "run/work_share.h"
#include "runtime/host.h"
#include "runtime/index_check.h"
#include "runtime/unbounded_stack.h"

/* Contents of a memoised parameter: for the next run, and when the operand was
   last computed. */
struct memo {
    tgi_contents_id current, computed;
};

/* The address of buffers without elements: readable, because code may load from
   it. */
static _Alignas(TGI_BUFFER_ALIGN) char no_elements[TGI_BUFFER_ALIGN];

/* -- Memory ---------------------------------------------------------------- */

static int choose_threads(const tgi_native *native)
{
    const tgi_program *program = native->program;
    return tgi_plan_threads(
        tgi_plan_work(program->loops, native->values),
        native->options.grain, tgi_team_size(native->options.threads));
}

static tg_status check_limit(const tgi_native *native, int64_t bytes)
{
    uint64_t limit = native->options.memory_limit;
    if (limit && (uint64_t)bytes > limit)
        TGI_FAIL(TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE,
                 "out of memory: the call needs %lld bytes of temporaries, "
                 "the limit is %llu",
                 (long long)bytes, (unsigned long long)limit);
    return TG_OK;
}

/* Allocates temporaries and the scratch of all threads as one block; `offsets`
   is working memory, one element per buffer. */
static tg_status alloc_temporaries(tgi_native *native, int64_t *offsets)
{
    const tgi_loops *loops = native->program->loops;
    tgi_memory_plan plan;
    TGI_TRY(tgi_plan_memory(loops, native->sizes,
                            tgi_team_size(native->options.threads), offsets,
                            &plan));
    TGI_TRY(check_limit(native, plan.bytes));
    native->bytes = plan.bytes;
    native->peak_bytes = plan.peak;
    native->budget =
        (tgi_memory_budget){(uint64_t)plan.bytes, native->options.memory_limit};
    native->memory = tgi_buffer_alloc((size_t)native->bytes);
    if (!native->memory)
        TGI_FAIL(TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE,
                 "out of memory: the call needs %lld bytes of temporaries",
                 (long long)native->bytes);
    for (size_t i = 0; i < loops->buffers.n; i++)
        if (offsets[i] >= 0 && native->sizes[i])
            native->buffers[i] = native->memory + offsets[i];
    return TG_OK;
}

static tg_status set_buffer_addresses(tgi_native *native)
{
    const tgi_loops *loops = native->program->loops;
    for (size_t i = 0; i < loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        native->buffers[i] = no_elements;
        if (b->place == TGI_PLACE_CONSTANT && native->sizes[i])
            native->buffers[i] =
                (void *)(uintptr_t)tgi_graph_constant(b->graph, b->node);
    }
    int64_t *offsets =
        tgi_alloc((loops->buffers.n + 1) * sizeof(*offsets));
    tg_status status =
        offsets ? alloc_temporaries(native, offsets) : tgi_error_memory();
    tgi_free(offsets);
    return status;
}

/* -- Host steps and checks ------------------------------------------------- */

static tgi_view value_view(const tgi_native *native, const tgi_graph *graph,
                           tgi_ref ref, void *data)
{
    const tgi_shape *shape = tgi_graph_shape(graph, ref);
    int64_t dims[TG_MAX_RANK];
    for (int axis = 0; axis < shape->rank; axis++)
        dims[axis] = tgi_dim_value(shape->dims[axis], native->graph_values);
    tgi_view view;
    tgi_view_init(&view, data, (tg_dtype)tgi_graph_node(graph, ref)->dtype,
                  shape->rank, dims);
    return view;
}

/* A print or a failed assert. */
static tg_status print_step(const tgi_native *native,
                            const tgi_host_step *step)
{
    const tgi_node *node = tgi_graph_node(step->graph, step->node);
    tgi_view *views = tgi_alloc((node->n_inputs + 1) * sizeof(*views));
    if (!views)
        return tgi_error_memory();
    for (uint32_t i = 0; i < node->n_inputs; i++)
        views[i] =
            value_view(native, step->graph, node->inputs[i],
                       native->buffers[tgi_buffer_id_index(step->buffers[i])]);
    const tg_status status =
        tgi_host_print(&native->options.host, node, views);
    tgi_free(views);
    return status;
}

static tg_status call_host(const tgi_native *native, const tgi_host_step *step,
                           tg_host_buffer *buffers)
{
    for (uint32_t i = 0; i < step->n_buffers; i++)
        buffers[i].data =
            native->buffers[tgi_buffer_id_index(step->buffers[i])];
    return tgi_host_call(&native->options.host,
                         tgi_graph_node(step->graph, step->node), buffers);
}

static tg_status prepare_host_calls(tgi_native *native)
{
    const tgi_loops *loops = native->program->loops;
    native->host_calls = tgi_arena_alloc(
        &native->arena, (loops->hosts.n + 1) * sizeof(*native->host_calls));
    if (!native->host_calls)
        return tgi_error_memory();
    for (size_t i = 0; i < loops->hosts.n; i++) {
        const tgi_host_step *step = &loops->hosts.data[i];
        const tgi_node *node = tgi_graph_node(step->graph, step->node);
        native->host_calls[i] = NULL;
        if (node->op == TGI_OP_HOST &&
            !(native->host_calls[i] = tgi_host_prepare(
                  step->graph, node, native->graph_values, &native->arena)))
            return tg_error_last()->status;
    }
    return TG_OK;
}

/* Of work items between two polls, in picoseconds. */
enum { POLLED_PS = 25000000 };

/* frame->poll. */
static int64_t poll_items(tgi_frame *frame, int64_t thread, int64_t begin,
                          int64_t end, int64_t item_cost)
{
    tgi_native *native = frame->user;
    if (thread != 0 || !native->poller.function)
        return end;
    tgi_host_poller_poll(&native->poller);
    const int64_t n = item_cost > 0 ? POLLED_PS / item_cost : POLLED_PS;
    return end - begin > n + 1 ? begin + n + 1 : end;
}

/* frame->host. */
static int32_t run_host_step(tgi_frame *frame, int64_t number)
{
    tgi_native *native = frame->user;
    const tgi_host_step *step = &native->program->loops->hosts.data[number];
    tg_host_buffer *buffers = native->host_calls[number];
    tgi_native_note_cancel(native);
    native->host_status =
        buffers ? call_host(native, step, buffers) : print_step(native, step);
    frame->poll = native->poller.function ? poll_items : NULL;
    return native->host_status == TG_OK;
}

/* The error of the check that has failed. */
static tg_status fail_check(const tgi_native *native)
{
    const tgi_runtime_check *checked =
        &native->program->loops->runtime_checks
             .data[native->frame.failed_check - 1];
    const tgi_graph *graph = checked->graph;
    const tgi_node *node = tgi_graph_node(graph, checked->node);
    if (node->op == TGI_OP_LOOP) {
        const size_t operand = tgi_buffer_id_index(checked->buffer);
        return tgi_loop_limit_fail(node,
                                   *(const int64_t *)native->buffers[operand]);
    }
    /* The index itself is in the frame: the values may be in no buffer. */
    const int64_t axis = *(const int64_t *)node->attr;
    const tgi_view indices = value_view(native, graph, node->inputs[1], NULL);
    const tgi_shape *shape = tgi_graph_shape(graph, node->inputs[0]);
    return tgi_indices_fail(
        node, &indices, native->frame.failed_position,
        &native->frame.failed_index,
        tgi_dim_value(shape->dims[axis], native->graph_values));
}

/* -- Unbounded stacks ------------------------------------------------------ */

static tg_status create_stacks(tgi_native *native)
{
    const tgi_loops *loops = native->program->loops;
    const size_t n = loops->n_stack_sets;
    if (!n)
        return TG_OK;
    native->stacks = tgi_alloc_zero(n * sizeof(*native->stacks));
    native->capacity = tgi_alloc_zero(n * sizeof(*native->capacity));
    tgi_stack *all = tgi_arena_alloc(&native->arena,
                                     loops->buffers.n * sizeof(*all));
    if (!native->stacks || !native->capacity || !all)
        return tgi_error_memory();
    for (size_t i = 0; i < n; i++) {
        tgi_stack_group *stacks = &native->stacks[i];
        stacks->all = all;
        for (uint32_t k = 0; k < loops->buffers.n; k++)
            if (loops->buffers.data[k].place == TGI_PLACE_STACK &&
                loops->buffers.data[k].index == i)
                stacks->all[stacks->n++] = (tgi_stack){
                    .number = k, .slice_bytes = native->sizes[k]};
        all += stacks->n;
    }
    return TG_OK;
}

/* frame->grow. */
static int32_t grow_stacks(tgi_frame *frame, int64_t number, int64_t iterations)
{
    tgi_native *native = frame->user;
    tgi_stack_group *stacks = &native->stacks[number];
    const tg_status status =
        tgi_stack_group_grow(stacks, iterations, &native->budget);
    for (size_t i = 0; i < stacks->n; i++)
        if (stacks->all[i].data)
            native->buffers[stacks->all[i].number] = stacks->all[i].data;
    native->capacity[number] = stacks->capacity;
    if (status)
        native->host_status = status;
    return status == TG_OK;
}

static void free_stacks(tgi_native *native)
{
    for (size_t i = 0;
         native->stacks && i < native->program->loops->n_stack_sets; i++)
        tgi_stack_group_deinit(&native->stacks[i]);
    tgi_free(native->stacks);
    tgi_free(native->capacity);
}

/* -- Memoised operands ----------------------------------------------------- */

static tg_status create_memos(tgi_native *native)
{
    const size_t n = native->program->loops->memo_params.n;
    if (!n)
        return TG_OK;
    native->memos = tgi_alloc_zero(n * sizeof(*native->memos));
    native->unchanged = tgi_alloc_zero(n * sizeof(*native->unchanged));
    return native->memos && native->unchanged ? TG_OK : tgi_error_memory();
}

size_t tgi_native_memoised_params(const tgi_native *native,
                                  const uint32_t **out_params)
{
    *out_params = native->program->loops->memo_params.data;
    return native->program->loops->memo_params.n;
}

void tgi_native_set_contents(tgi_native *native, size_t number,
                             tgi_contents_id contents)
{
    native->memos[number].current = contents;
}

/* Before a run: finds the operands that are still valid. */
static void compare_memos(tgi_native *native)
{
    for (size_t i = 0; i < native->program->loops->memo_params.n; i++) {
        const struct memo *memo = &native->memos[i];
        native->unchanged[i] =
            memo->current.variable != 0 &&
            memo->current.variable == memo->computed.variable &&
            memo->current.version == memo->computed.version;
    }
}

/* After a run: a failed one may have left operands incomplete. */
static void update_memos(tgi_native *native, bool has_failed)
{
    const tgi_contents_id unknown = {0};
    for (size_t i = 0; i < native->program->loops->memo_params.n; i++) {
        struct memo *memo = &native->memos[i];
        memo->computed = has_failed ? unknown : memo->current;
        memo->current = unknown;
    }
}

/* -- Creation -------------------------------------------------------------- */

/* A call that fails leaves results as they were. */
static void find_results_to_keep(tgi_native *native)
{
    const tgi_loops *loops = native->program->loops;
    for (size_t i = 0; i < loops->buffers.n; i++)
        if (loops->buffers.data[i].place == TGI_PLACE_RESULT)
            native->may_be_lost[loops->buffers.data[i].index] =
                (loops->runtime_checks.n || loops->hosts.n) &&
                tgi_loops_may_write_and_fail(loops, tgi_buffer_id_from(i));
}

static tg_status native_init(tgi_native *native, const int64_t *symbols)
{
    const tgi_loops *loops = native->program->loops;
    const tgi_graph *graph = native->program->graph;
    size_t n = loops->buffers.n + 1;
    native->values = tgi_alloc_zero((tgi_dims_n_values(loops->dims) + 1) *
                                    sizeof(int64_t));
    native->graph_values = tgi_alloc_zero(
        (tgi_dims_n_values(graph->dims) + 1) * sizeof(int64_t));
    native->buffers = tgi_alloc_zero(n * sizeof(void *));
    native->sizes = tgi_alloc_zero(n * sizeof(int64_t));
    native->results =
        tgi_alloc_zero((graph->results.n + 1) * sizeof(*native->results));
    native->staging =
        tgi_alloc_zero((graph->results.n + 1) * sizeof(*native->staging));
    native->is_staged =
        tgi_alloc_zero((graph->results.n + 1) * sizeof(*native->is_staged));
    native->may_be_lost =
        tgi_alloc_zero((graph->results.n + 1) * sizeof(*native->may_be_lost));
    if (!native->values || !native->graph_values || !native->buffers ||
        !native->sizes || !native->results || !native->staging ||
        !native->is_staged || !native->may_be_lost)
        return tgi_error_memory();
    find_results_to_keep(native);
    TGI_TRY(tgi_dims_evaluate(loops->dims, symbols, native->values));
    TGI_TRY(tgi_dims_evaluate(graph->dims, symbols, native->graph_values));
    TGI_TRY(tgi_graph_run_checks(graph, native->graph_values));
    TGI_TRY(tgi_plan_sizes(loops, native->values, native->sizes));
    TGI_TRY(set_buffer_addresses(native));
    TGI_TRY(create_memos(native));
    TGI_TRY(create_stacks(native));
    if (loops->hosts.n)
        TGI_TRY(prepare_host_calls(native));
    native->n_threads = choose_threads(native);
    native->can_end_early = loops->steps.n > 1;
    native->frame = (tgi_frame){.buffers = native->buffers,
                                .dims = native->values,
                                .grain = native->options.grain,
                                .share = tgi_work_share,
                                .host = run_host_step,
                                .unchanged = native->unchanged,
                                .capacity = native->capacity,
                                .grow = grow_stacks,
                                .cancel_word = &tgi_native_no_word,
                                .must_end = tgi_native_must_end,
                                .user = native};
    return TG_OK;
}

tg_status tgi_native_create(tgi_program *program, const int64_t *symbols,
                            const tgi_native_options *options,
                            tgi_native **out_native)
{
    *out_native = NULL;
    tgi_native *native = tgi_alloc_zero(sizeof(*native));
    if (!native)
        return tgi_error_memory();
    tgi_live_add(TGI_LIVE_NATIVE, 1);
    native->program = tgi_program_retain(program);
    native->options = *options;
    native->options.host.poller = &native->poller;
    native->options.host.cancel = &native->cancel;
    native->cancel_word = options->host.cancel_word ? options->host.cancel_word
                                                    : &tgi_native_no_word;
    tg_status status = native_init(native, symbols);
    if (status)
        tgi_native_destroy(native);
    else
        *out_native = native;
    return status;
}

/* Frees the staging buffer of result buffer i. */
static void free_staging(tgi_native *native, size_t i)
{
    uint32_t result = native->program->loops->buffers.data[i].index;
    if (!native->staging[result])
        return;
    tgi_buffer_free(native->staging[result], (size_t)native->sizes[i]);
    native->staging[result] = NULL;
    native->staging_bytes -= native->sizes[i];
    native->budget.bytes -= (uint64_t)native->sizes[i];
}

void tgi_native_destroy(tgi_native *native)
{
    if (!native)
        return;
    const tgi_loops *loops = native->program->loops;
    for (size_t i = 0; i < loops->buffers.n && native->staging; i++)
        if (loops->buffers.data[i].place == TGI_PLACE_RESULT)
            free_staging(native, i);
    if (native->memory)
        tgi_buffer_free(native->memory, (size_t)native->bytes);
    free_stacks(native);
    tgi_native_profile_destroy(native->profile);
    tgi_arena_deinit(&native->arena);
    tgi_free(native->unchanged);
    tgi_free(native->memos);
    tgi_free(native->is_staged);
    tgi_free(native->may_be_lost);
    tgi_free(native->staging);
    tgi_free(native->results);
    tgi_free(native->sizes);
    tgi_free(native->buffers);
    tgi_free(native->graph_values);
    tgi_free(native->values);
    tgi_program_release(native->program);
    tgi_free(native);
    tgi_live_add(TGI_LIVE_NATIVE, -1);
}

void tgi_native_set_host_log(tgi_native *native, tgi_host_log *log)
{
    native->options.host.log = log;
}

uint64_t tgi_native_bytes(const tgi_native *native)
{
    return (uint64_t)native->bytes;
}

uint64_t tgi_native_peak_bytes(const tgi_native *native)
{
    return (uint64_t)native->peak_bytes;
}

int tgi_native_threads(const tgi_native *native)
{
    return native->n_threads;
}

/* -- Binding --------------------------------------------------------------- */

/* True if a result must not be written while the program runs. */
static bool needs_staging(const tgi_native *native, size_t buffer,
                          void *const *params, const char *result)
{
    const tgi_loops *loops = native->program->loops;
    if (!result || native->may_be_lost[loops->buffers.data[buffer].index])
        return true;
    for (size_t i = 0; i < loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        if (b->place != TGI_PLACE_PARAM)
            continue;
        const char *param = params[b->index];
        if (param && param < result + native->sizes[buffer] &&
            result < param + native->sizes[i])
            return true;
    }
    return false;
}

/* Allocates the staging buffer of result buffer i if it has none. */
static tg_status ensure_staging(tgi_native *native, size_t i)
{
    const tgi_loop_buffer *b = &native->program->loops->buffers.data[i];
    char **staging = &native->staging[b->index];
    if (*staging)
        return TG_OK;
    TGI_TRY(
        check_limit(native, (int64_t)native->budget.bytes + native->sizes[i]));
    *staging = tgi_buffer_alloc((size_t)native->sizes[i]);
    if (!*staging)
        TGI_FAIL(TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE,
                 "out of memory: the call needs %lld bytes for result %u",
                 (long long)native->sizes[i], b->index);
    native->staging_bytes += native->sizes[i];
    native->budget.bytes += (uint64_t)native->sizes[i];
    return TG_OK;
}

/* Frees the staging buffers of buffers before `end` that are not bound. */
static void free_unused_staging(tgi_native *native, size_t end)
{
    const tgi_loops *loops = native->program->loops;
    if (!native->staging_bytes)
        return;
    for (size_t i = 0; i < end; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        if (b->place == TGI_PLACE_RESULT &&
            native->staging[b->index] != native->buffers[i])
            free_staging(native, i);
    }
}

tg_status tgi_native_bind(tgi_native *native, void *const *params,
                          void *const *results)
{
    const tgi_loops *loops = native->program->loops;
    /* Allocations come first: a failure leaves the old binding. */
    for (size_t i = 0; i < loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        if (b->place != TGI_PLACE_RESULT || !native->sizes[i])
            continue;
        bool is_staged = needs_staging(native, i, params, results[b->index]);
        native->is_staged[b->index] = is_staged;
        tg_status status = is_staged ? ensure_staging(native, i) : TG_OK;
        if (status) {
            free_unused_staging(native, i);
            return status;
        }
    }
    for (size_t i = 0; i < native->program->graph->results.n; i++)
        native->results[i] = results[i];
    for (size_t i = 0; i < loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        if (!native->sizes[i])
            continue;
        if (b->place == TGI_PLACE_PARAM)
            native->buffers[i] = params[b->index];
        else if (b->place == TGI_PLACE_RESULT)
            native->buffers[i] = native->is_staged[b->index]
                                     ? native->staging[b->index]
                                     : results[b->index];
    }
    free_unused_staging(native, loops->buffers.n);
    return TG_OK;
}

/* -- Running --------------------------------------------------------------- */

/* After the entry: reports a failure, or copies staged results. */
static tg_status finish_run(tgi_native *native)
{
    const tgi_loops *loops = native->program->loops;
    if (native->can_end_early && tgi_native_is_cancelled(native)) {
        tgi_native_note_cancel(native);
        return tgi_cancel_fail(&native->cancel);
    }
    if (native->frame.failed_check)
        return native->host_status ? native->host_status : fail_check(native);
    if (!native->staging_bytes)
        return TG_OK; /* all results were written directly */
    for (size_t i = 0; i < loops->buffers.n && native->staging_bytes; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        if (b->place == TGI_PLACE_RESULT && native->staging[b->index] &&
            native->results[b->index])
            memcpy(native->results[b->index], native->staging[b->index],
                   (size_t)native->sizes[i]);
    }
    return TG_OK;
}

/* Runs the entry on a team, of fewer threads if other processes have CPUs. */
static void run_paced(tgi_native *native, tgi_entry *entry)
{
    tgi_pacer *pacer = &native->pacer;
    const int n_max = tgi_team_size(native->n_threads);
    const uint32_t n_before = tgi_team_preemptions();
    const uint64_t begin = pacer->is_active ? tgi_clock_ns() : 0;
    tgi_team_run(entry, &native->frame, tgi_pacer_threads(pacer, n_max));
    const uint32_t n_preempted = tgi_team_preemptions() - n_before;
    if (n_preempted || begin) {
        const uint64_t end = tgi_clock_ns();
        tgi_pacer_add(pacer, n_max, end, begin ? end - begin : 0, n_preempted);
    }
}

static inline tg_status run_entry(tgi_native *native, tgi_entry *entry)
{
    native->frame.failed_check = 0;
    native->frame.poll = NULL;
    if (native->can_end_early)
        tgi_native_begin_cancel(native);
    native->poller.function = NULL;
    native->host_status = TG_OK;
    if (native->memos)
        compare_memos(native);
    if (native->n_threads == 1)
        entry(&native->frame, 0, 1);
    else
        run_paced(native, entry);
    if (native->memos)
        update_memos(native, native->frame.failed_check != 0 ||
                                 tgi_native_is_cancelled(native));
    return finish_run(native);
}

tg_status tgi_native_run(tgi_native *native)
{
    return run_entry(native, native->program->entry);
}

tg_status tgi_native_run_entry(tgi_native *native, tgi_entry *entry)
{
    return run_entry(native, entry);
}
