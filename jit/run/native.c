/* SPDX-License-Identifier: MIT */
/*
 * native.c - a program with its memory: extents evaluated, temporaries placed,
 * every buffer's address in one table. Running is then one call.
 */
#include <string.h>

#include "base/error.h"
#include "base/live.h"
#include "memory/memory_plan.h"
#include "program.h"
#include "run/team.h"
#include "run/work_share.h"
#include "runtime/format.h"
#include "runtime/host.h"
#include "runtime/index_check.h"
#include "runtime/unbounded_stack.h"

struct tgi_native {
    tgi_program *program; /* retained */
    tgi_native_options options;
    int64_t *values;       /* of the loops' extents */
    int64_t *graph_values; /* of the graph's */
    void **buffers;        /* by number */
    int64_t *sizes;        /* their bytes */
    char *memory;          /* temporaries and scratch */
    int64_t bytes, least_bytes;
    tgi_memory_budget room; /* what it takes in all, and its limit */
    int n_threads; /* worth having */

    /* Results that are not written directly: NULL ones, those in a
       parameter's buffer, and all of a program that may fail. */
    char **spare;           /* by result; NULL: written directly */
    bool *waits;            /* by result: needs `spare`; for binding */
    int64_t spare_bytes;
    void **results;         /* where they go, or NULL */
    tgi_frame frame;
    tg_status host_status;  /* of the host step that failed */
    tgi_arena arena;        /* of what host calls show */
    tg_host_buffer **calls; /* by number of host step; NULL: a print */
    struct kept *kept;      /* by number of the loops' */
    int64_t *unchanged;     /* the same for the frame */
    tgi_stack_group *stacks; /* by number of the loops'; of buffers */
    int64_t *capacity;      /* the same for the frame */
};

/* Contents of a variable: those now, and those from which what is kept was
   made. */
struct kept {
    tgi_contents_id now, made;
};

/* Parameters and temporaries without elements lie here: an address that may
   be loaded from. */
static _Alignas(TGI_BUFFER_ALIGN) char nothing[TGI_BUFFER_ALIGN];

/* -- Memory ---------------------------------------------------------------- */

static int choose_threads(const tgi_native *native)
{
    const tgi_program *program = native->program;
    return tgi_plan_threads(
        tgi_plan_work(program->loops, program->code->costs, native->values),
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

/* Places temporaries and each thread's scratch in one piece of memory;
   `offsets` has room for those of all buffers. */
static tg_status place(tgi_native *native, int64_t *offsets)
{
    const tgi_loops *loops = native->program->loops;
    tgi_memory_plan plan;
    TGI_TRY(tgi_plan_memory(loops, native->sizes,
                            tgi_team_size(native->options.threads), offsets,
                            &plan));
    TGI_TRY(check_limit(native, plan.bytes));
    native->bytes = plan.bytes;
    native->least_bytes = plan.peak;
    native->room =
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

static tg_status place_buffers(tgi_native *native)
{
    const tgi_loops *loops = native->program->loops;
    for (size_t i = 0; i < loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        native->buffers[i] = nothing;
        if (b->place == TGI_PLACE_CONSTANT && native->sizes[i])
            native->buffers[i] =
                (void *)(uintptr_t)tgi_graph_constant(b->graph, b->node);
    }
    int64_t *offsets =
        tgi_alloc((loops->buffers.n + 1) * sizeof(*offsets));
    tg_status status = offsets ? place(native, offsets) : tgi_error_memory();
    tgi_free(offsets);
    return status;
}

/* -- Steps of the host ----------------------------------------------------- */

static tgi_view view_of(const tgi_native *native, const tgi_graph *graph,
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

static tg_status print(tgi_native *native, const tgi_host_step *step)
{
    const tgi_node *node = tgi_graph_node(step->graph, step->node);
    if (!native->options.host.print)
        return TG_OK;
    tgi_view *views = tgi_alloc((node->n_inputs + 1) * sizeof(*views));
    if (!views)
        return tgi_error_memory();
    for (uint32_t i = 0; i < node->n_inputs; i++)
        views[i] =
            view_of(native, step->graph, node->inputs[i],
                    native->buffers[tgi_buffer_id_index(step->buffers[i])]);
    tgi_strbuf text = {0};
    tgi_format_print(node->attr, views, node->n_inputs, &text);
    tgi_free(views);
    tg_status status = text.failed ? tgi_error_memory() : TG_OK;
    if (!status)
        native->options.host.print(text.text ? text.text : "",
                                   native->options.host.user);
    tgi_strbuf_deinit(&text);
    return status;
}

static tg_status call_host(const tgi_native *native, const tgi_host_step *step,
                           tg_host_buffer *buffers)
{
    for (uint32_t i = 0; i < step->n_buffers; i++)
        buffers[i].data =
            native->buffers[tgi_buffer_id_index(step->buffers[i])];
    return tgi_host_call(tgi_graph_node(step->graph, step->node), buffers);
}

static tg_status prepare_calls(tgi_native *native)
{
    const tgi_loops *loops = native->program->loops;
    native->calls = tgi_arena_alloc(
        &native->arena, (loops->hosts.n + 1) * sizeof(*native->calls));
    if (!native->calls)
        return tgi_error_memory();
    for (size_t i = 0; i < loops->hosts.n; i++) {
        const tgi_host_step *step = &loops->hosts.data[i];
        const tgi_node *node = tgi_graph_node(step->graph, step->node);
        native->calls[i] = NULL;
        if (node->op == TGI_OP_HOST &&
            !(native->calls[i] = tgi_host_prepare(
                  step->graph, node, native->graph_values, &native->arena)))
            return tg_error_last()->status;
    }
    return TG_OK;
}

static int32_t do_host_step(tgi_frame *frame, int64_t number)
{
    tgi_native *native = frame->user;
    const tgi_host_step *step = &native->program->loops->hosts.data[number];
    tg_host_buffer *buffers = native->calls[number];
    native->host_status =
        buffers ? call_host(native, step, buffers) : print(native, step);
    return native->host_status == TG_OK;
}

static tg_status report_check(const tgi_native *native)
{
    const tgi_runtime_check *checked =
        &native->program->loops->runtime_checks
             .data[native->frame.failed_check - 1];
    const tgi_graph *graph = checked->graph;
    const tgi_node *node = tgi_graph_node(graph, checked->node);
    const void *data = native->buffers[tgi_buffer_id_index(checked->buffer)];
    if (node->op == TGI_OP_LOOP)
        return tgi_loop_limit_fail(node, *(const int64_t *)data);
    const int64_t axis = *(const int64_t *)node->attr;
    tgi_view indices =
        view_of(native, graph, node->inputs[1],
                native->buffers[tgi_buffer_id_index(checked->buffer)]);
    const tgi_shape *shape = tgi_graph_shape(graph, node->inputs[0]);
    int64_t position = native->frame.failed_position;
    return tgi_indices_fail(
        node, &indices, position,
        indices.data + position * tgi_dtype_bytes((tg_dtype)indices.dtype),
        tgi_dim_value(shape->dims[axis], native->graph_values));
}

/* -- What grows ------------------------------------------------------------ */

static tg_status make_stacks(tgi_native *native)
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

static int32_t do_grow(tgi_frame *frame, int64_t number, int64_t trips)
{
    tgi_native *native = frame->user;
    tgi_stack_group *stacks = &native->stacks[number];
    const tg_status status = tgi_stack_group_grow(stacks, trips, &native->room);
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

/* -- What is kept ---------------------------------------------------------- */

static tg_status make_kept(tgi_native *native)
{
    const size_t n = native->program->loops->memo_params.n;
    if (!n)
        return TG_OK;
    native->kept = tgi_alloc_zero(n * sizeof(*native->kept));
    native->unchanged = tgi_alloc_zero(n * sizeof(*native->unchanged));
    return native->kept && native->unchanged ? TG_OK : tgi_error_memory();
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
    native->kept[number].now = contents;
}

static void compare_kept(tgi_native *native)
{
    for (size_t i = 0; i < native->program->loops->memo_params.n; i++) {
        const struct kept *kept = &native->kept[i];
        native->unchanged[i] = kept->now.variable != 0 &&
                               kept->now.variable == kept->made.variable &&
                               kept->now.version == kept->made.version;
    }
}

/* After a run; one that has failed may have left anything. */
static void note_kept(tgi_native *native, bool has_failed)
{
    const tgi_contents_id nothing_known = {0};
    for (size_t i = 0; i < native->program->loops->memo_params.n; i++) {
        struct kept *kept = &native->kept[i];
        kept->made = has_failed ? nothing_known : kept->now;
        kept->now = nothing_known;
    }
}

/* -- Creation -------------------------------------------------------------- */

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
    native->spare =
        tgi_alloc_zero((graph->results.n + 1) * sizeof(*native->spare));
    native->waits =
        tgi_alloc_zero((graph->results.n + 1) * sizeof(*native->waits));
    if (!native->values || !native->graph_values || !native->buffers ||
        !native->sizes || !native->results || !native->spare || !native->waits)
        return tgi_error_memory();
    TGI_TRY(tgi_dims_evaluate(loops->dims, symbols, native->values));
    TGI_TRY(tgi_dims_evaluate(graph->dims, symbols, native->graph_values));
    TGI_TRY(tgi_graph_run_checks(graph, native->graph_values));
    TGI_TRY(tgi_plan_sizes(loops, native->values, native->sizes));
    TGI_TRY(place_buffers(native));
    TGI_TRY(make_kept(native));
    TGI_TRY(make_stacks(native));
    if (loops->hosts.n)
        TGI_TRY(prepare_calls(native));
    native->n_threads = choose_threads(native);
    native->frame = (tgi_frame){.buffers = native->buffers,
                                .dims = native->values,
                                .grain = native->options.grain,
                                .share = tgi_work_share,
                                .host = do_host_step,
                                .unchanged = native->unchanged,
                                .capacity = native->capacity,
                                .grow = do_grow,
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
    tg_status status = native_init(native, symbols);
    if (status)
        tgi_native_destroy(native);
    else
        *out_native = native;
    return status;
}

/* Frees the room of result buffer `i`. */
static void free_spare(tgi_native *native, size_t i)
{
    uint32_t result = native->program->loops->buffers.data[i].index;
    if (!native->spare[result])
        return;
    tgi_buffer_free(native->spare[result], (size_t)native->sizes[i]);
    native->spare[result] = NULL;
    native->spare_bytes -= native->sizes[i];
    native->room.bytes -= (uint64_t)native->sizes[i];
}

void tgi_native_destroy(tgi_native *native)
{
    if (!native)
        return;
    const tgi_loops *loops = native->program->loops;
    for (size_t i = 0; i < loops->buffers.n && native->spare; i++)
        if (loops->buffers.data[i].place == TGI_PLACE_RESULT)
            free_spare(native, i);
    if (native->memory)
        tgi_buffer_free(native->memory, (size_t)native->bytes);
    free_stacks(native);
    tgi_arena_deinit(&native->arena);
    tgi_free(native->unchanged);
    tgi_free(native->kept);
    tgi_free(native->waits);
    tgi_free(native->spare);
    tgi_free(native->results);
    tgi_free(native->sizes);
    tgi_free(native->buffers);
    tgi_free(native->graph_values);
    tgi_free(native->values);
    tgi_program_release(native->program);
    tgi_free(native);
    tgi_live_add(TGI_LIVE_NATIVE, -1);
}

uint64_t tgi_native_bytes(const tgi_native *native)
{
    return (uint64_t)native->bytes;
}

uint64_t tgi_native_peak_bytes(const tgi_native *native)
{
    return (uint64_t)native->least_bytes;
}

int tgi_native_threads(const tgi_native *native)
{
    return native->n_threads;
}

/* -- Running --------------------------------------------------------------- */

/* True if a result may not be written while the program still runs. */
static bool must_wait(const tgi_native *native, size_t buffer,
                      void *const *params, const char *result)
{
    const tgi_loops *loops = native->program->loops;
    if (!result || loops->runtime_checks.n || loops->hosts.n)
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

/* Room for result buffer `i`, which must wait, if it has none yet. */
static tg_status ensure_spare(tgi_native *native, size_t i)
{
    const tgi_loop_buffer *b = &native->program->loops->buffers.data[i];
    char **spare = &native->spare[b->index];
    if (*spare)
        return TG_OK;
    TGI_TRY(check_limit(native,
                        (int64_t)native->room.bytes + native->sizes[i]));
    *spare = tgi_buffer_alloc((size_t)native->sizes[i]);
    if (!*spare)
        TGI_FAIL(TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE,
                 "out of memory: the call needs %lld bytes for result %u",
                 (long long)native->sizes[i], b->index);
    native->spare_bytes += native->sizes[i];
    native->room.bytes += (uint64_t)native->sizes[i];
    return TG_OK;
}

/* Frees room that is not in use, of results before buffer `end`. */
static void free_unused_spare(tgi_native *native, size_t end)
{
    const tgi_loops *loops = native->program->loops;
    if (!native->spare_bytes)
        return;
    for (size_t i = 0; i < end; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        if (b->place == TGI_PLACE_RESULT &&
            native->spare[b->index] != native->buffers[i])
            free_spare(native, i);
    }
}

tg_status tgi_native_bind(tgi_native *native, void *const *params,
                          void *const *results)
{
    const tgi_loops *loops = native->program->loops;
    /* What can fail comes first. */
    for (size_t i = 0; i < loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        if (b->place != TGI_PLACE_RESULT || !native->sizes[i])
            continue;
        bool waits = must_wait(native, i, params, results[b->index]);
        native->waits[b->index] = waits;
        tg_status status = waits ? ensure_spare(native, i) : TG_OK;
        if (status) {
            free_unused_spare(native, i);
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
            native->buffers[i] = native->waits[b->index]
                                     ? native->spare[b->index]
                                     : results[b->index];
    }
    free_unused_spare(native, loops->buffers.n);
    return TG_OK;
}

static tg_status finish(tgi_native *native)
{
    const tgi_loops *loops = native->program->loops;
    if (native->frame.failed_check)
        return native->host_status ? native->host_status
                                   : report_check(native);
    if (!native->spare_bytes)
        return TG_OK; /* all were written where they belong */
    for (size_t i = 0; i < loops->buffers.n && native->spare_bytes; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        if (b->place == TGI_PLACE_RESULT && native->spare[b->index] &&
            native->results[b->index])
            memcpy(native->results[b->index], native->spare[b->index],
                   (size_t)native->sizes[i]);
    }
    return TG_OK;
}

tg_status tgi_native_run(tgi_native *native)
{
    native->frame.failed_check = 0;
    native->host_status = TG_OK;
    if (native->kept)
        compare_kept(native);
    if (native->n_threads == 1)
        native->program->entry(&native->frame, 0, 1);
    else
        tgi_team_run(native->program->entry, &native->frame,
                     tgi_team_size(native->n_threads));
    if (native->kept)
        note_kept(native, native->frame.failed_check != 0);
    return finish(native);
}
