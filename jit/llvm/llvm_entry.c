/* SPDX-License-Identifier: MIT */
/*
 * llvm_entry.c - the entry of a compiled function (entry_abi.h): its steps, as each
 * thread of the team takes them.
 *
 * A kernel is shared among as many threads as have enough to do (work_share.h).
 * Tiny kernels are in here themselves, for the first thread.
 *
 * Whether the call ends at a step must be the same for all threads: one that
 * is already past the step must not change what the others find there. So a
 * step only looks at failures of what stands before it.
 */
#include "llvm/llvm_straightline.h"

#include <string.h>

/* -- Shares ---------------------------------------------------------------- */

typedef struct range_values {
    LLVMValueRef begin, end;
} range_values;

static LLVMValueRef extent(tgi_llvm_entry *n, const tgi_kernel_loops *loops,
                           int axis)
{
    return tgi_llvm_frame_dim(n->k.program, n->frame, loops->extent[axis]);
}

static LLVMValueRef items_of(tgi_llvm_entry *n, const tgi_kernel_loops *loops,
                             const tgi_llvm_kernel_info *info)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef items = tgi_llvm_const_i64(program, 1);
    for (int axis = 0; axis <= loops->n_outer; axis++)
        if (info->item_extent[axis])
            items =
                tgi_llvm_mul(program, items,
                             tgi_llvm_ceil_div(program, extent(n, loops, axis),
                                               info->item_extent[axis]));
    return items;
}

/* What an item has of an axis, at most `piece`; 0: all of it. */
static LLVMValueRef part_of(tgi_llvm_entry *n, const tgi_kernel_loops *loops,
                            int axis, int64_t piece)
{
    LLVMValueRef all = extent(n, loops, axis);
    return piece ? tgi_llvm_min(n->k.program, all,
                                tgi_llvm_const_i64(n->k.program, piece))
                 : all;
}

/* Picoseconds of an item. */
static LLVMValueRef cost_of(tgi_llvm_entry *n, const tgi_kernel_loops *loops,
                            const tgi_llvm_kernel_info *info)
{
    const tgi_llvm_program *program = n->k.program;
    const int inner = loops->n_outer;
    LLVMValueRef length = part_of(n, loops, inner,
                                  info->split_block ? info->split_block
                                                    : info->item_extent[inner]);
    LLVMValueRef cost = tgi_llvm_mul(
        program, length, tgi_llvm_const_i64(program, info->cost.element));
    if (!info->item_extent[inner]) /* else points are shared by many items */
        cost = tgi_llvm_add(program, cost,
                            tgi_llvm_const_i64(program, info->cost.point));
    for (int axis = 0; axis < inner; axis++)
        if (info->item_extent[axis] > 1)
            cost =
                tgi_llvm_mul(program, cost,
                             part_of(n, loops, axis, info->item_extent[axis]));
    return cost;
}

static range_values share_of_team(tgi_llvm_entry *n, LLVMValueRef items,
                                    LLVMValueRef cost)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMBuilderRef b = n->k.b;
    LLVMTypeRef i64 = program->i64;
    LLVMTypeRef members[] = {i64, i64};
    LLVMTypeRef parameters[] = {program->pointer, i64, i64, i64, i64};
    LLVMTypeRef type = LLVMFunctionType(
        LLVMStructTypeInContext(n->k.e->context, members, 2, false),
        parameters, 5, false);
    LLVMValueRef arguments[] = {n->frame, n->thread, n->n_threads, items,
                                cost};
    LLVMValueRef range = LLVMBuildCall2(
        b, type, tgi_llvm_frame_load(program, n->frame, TGI_FRAME_SHARE),
        arguments, 5, "");
    return (range_values){LLVMBuildExtractValue(b, range, 0, ""),
                            LLVMBuildExtractValue(b, range, 1, "")};
}

/* What the thread does of a kernel. One item is the first thread's. */
static range_values find_share(tgi_llvm_entry *n, uint32_t number)
{
    const tgi_llvm_program *program = n->k.program;
    const tgi_kernel_loops *loops = program->loops->kernels.data[number];
    const tgi_llvm_kernel_info *info = &n->kernels[number];
    LLVMValueRef items = items_of(n, loops, info);
    int64_t n_items;
    if (tgi_llvm_is_const_i64(items, &n_items) && n_items == 1)
        return (range_values){n->thread, items};
    tgi_llvm_branch team;
    tgi_llvm_branch_begin(&n->k, &team, n->is_team);
    const range_values share =
        share_of_team(n, items, cost_of(n, loops, info));
    tgi_llvm_branch_end(&n->k, &team);
    return (range_values){
        tgi_llvm_branch_value(&n->k, &team, share.begin,
                              tgi_llvm_const_i64(program, 0)),
        tgi_llvm_branch_value(&n->k, &team, share.end, items)};
}

/* -- Steps ----------------------------------------------------------------- */

static bool is_tiny(const tgi_llvm_entry *n, size_t at)
{
    const tgi_loops *loops = n->k.program->loops;
    const tgi_kernel_loops *kernel =
        at < loops->steps.n ? tgi_loops_kernel_at(loops, at) : NULL;
    return kernel && kernel->is_straightline;
}

/* True if what a kernel makes of a variable is not there already. */
static LLVMValueRef must_make(tgi_llvm_entry *n, tgi_memo_id kept)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef at = tgi_llvm_const_i64(program, tgi_memo_id_index(kept));
    LLVMValueRef unchanged = LLVMBuildLoad2(
        n->k.b, program->i64,
        LLVMBuildGEP2(n->k.b, program->i64,
                      tgi_llvm_frame_load(program, n->frame,
                                          TGI_FRAME_UNCHANGED),
                      &at, 1, ""),
        "");
    return LLVMBuildICmp(n->k.b, LLVMIntEQ, unchanged,
                         tgi_llvm_const_i64(program, 0), "");
}

static void run_share(tgi_llvm_entry *n, uint32_t number)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_llvm_kernel_info *info = &n->kernels[number];
    const range_values share = find_share(n, number);
    tgi_llvm_branch any;
    tgi_llvm_branch_begin(
        &n->k, &any,
        LLVMBuildICmp(n->k.b, LLVMIntSLT, share.begin, share.end, ""));
    LLVMValueRef arguments[] = {n->frame, n->k.table, share.begin, share.end,
                                n->thread};
    LLVMBuildCall2(n->k.b, program->kernel_type, info->function, arguments, 5,
                   "");
    tgi_llvm_branch_end(&n->k, &any);
}

static void run(tgi_llvm_entry *n, uint32_t number)
{
    const tgi_memo_id kept = n->k.program->loops->kernels.data[number]->memo;
    tgi_llvm_branch branch;
    if (!tgi_memo_id_is_none(kept))
        tgi_llvm_branch_begin(&n->k, &branch, must_make(n, kept));
    run_share(n, number);
    if (!tgi_memo_id_is_none(kept))
        tgi_llvm_branch_end(&n->k, &branch);
}

/* The straightline kernels from step `at` on; gives the step after them. */
static size_t run_tiny(tgi_llvm_entry *n, size_t at)
{
    const tgi_loops *loops = n->k.program->loops;
    tgi_llvm_branch first;
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    tgi_llvm_straightline *straightline =
        tgi_llvm_straightline_begin(n, 0, loops->steps.n);
    for (; straightline && is_tiny(n, at); at++)
        if (!tgi_llvm_straightline_kernel_emit(
                straightline,
                tgi_loops_kernel(loops, loops->steps.data[at].kernel)))
            break;
    if (straightline)
        tgi_llvm_straightline_end(straightline);
    tgi_llvm_branch_end(&n->k, &first);
    return at;
}

LLVMValueRef tgi_llvm_is_thread_zero(tgi_llvm_entry *n)
{
    return LLVMBuildICmp(n->k.b, LLVMIntEQ, n->thread,
                         tgi_llvm_const_i64(n->k.program, 0), "");
}

static size_t run_tiny_loop(tgi_llvm_entry *n, size_t at)
{
    tgi_llvm_branch first;
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    at = tgi_llvm_straightline_loop_emit(n, at);
    tgi_llvm_branch_end(&n->k, &first);
    return at;
}

void tgi_llvm_barrier_emit(tgi_llvm_entry *n)
{
    tgi_llvm_program *program = n->k.program;
    LLVMTypeRef type =
        LLVMFunctionType(program->void_type, &program->pointer, 1, false);
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(&n->k, &branch, n->is_team);
    LLVMBuildCall2(
        n->k.b, type,
        tgi_llvm_frame_load(program, n->frame, TGI_FRAME_BARRIER), &n->frame,
        1, "");
    tgi_llvm_branch_end(&n->k, &branch);
}

/* A host step that ends the call leaves -1 - its number. */
static void host(tgi_llvm_entry *n, uint32_t number)
{
    tgi_llvm_program *program = n->k.program;
    LLVMBuilderRef b = n->k.b;
    LLVMTypeRef parameters[] = {program->pointer, program->i64};
    LLVMTypeRef type = LLVMFunctionType(program->i32, parameters, 2, false);
    LLVMValueRef arguments[] = {n->frame, tgi_llvm_const_i64(program, number)};
    tgi_llvm_branch first, failed;
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    const tgi_host_step *step = &program->loops->hosts.data[number];
    tgi_llvm_control_publish(n, step->buffers, step->n_buffers);
    LLVMValueRef is_fine = LLVMBuildCall2(
        b, type, tgi_llvm_frame_load(program, n->frame, TGI_FRAME_HOST),
        arguments, 2, "");
    tgi_llvm_control_unpublish(n, step->buffers, step->n_buffers);
    tgi_llvm_branch_begin(&n->k, &failed,
                          LLVMBuildICmp(b, LLVMIntEQ, is_fine,
                                        LLVMConstNull(program->i32), ""));
    LLVMBuildStore(
        b, tgi_llvm_const_i64(program, -1 - (int64_t)number),
        tgi_llvm_frame_address(program, n->frame, TGI_FRAME_FAILED_CHECK));
    tgi_llvm_branch_end(&n->k, &failed);
    tgi_llvm_branch_end(&n->k, &first);
}

/* -- Ending the call ------------------------------------------------------- */

/* The step after which failed_check can be `code`; past the last: none. */
static size_t *step_of(const tgi_llvm_entry *n, int64_t code)
{
    return &n->step_of_failure[code + (int64_t)n->k.program->loops->hosts.n];
}

static void find_steps(tgi_llvm_entry *n)
{
    const tgi_loops *loops = n->k.program->loops;
    const int64_t n_hosts = (int64_t)loops->hosts.n;
    for (int64_t code = -n_hosts; code <= (int64_t)loops->runtime_checks.n;
         code++)
        *step_of(n, code) = loops->steps.n;
    for (size_t i = loops->steps.n; i-- > 0;) {
        const tgi_loop_step *step = &loops->steps.data[i];
        if (step->kind == TGI_STEP_HOST)
            *step_of(n, -1 - (int64_t)tgi_host_id_index(step->host)) = i;
        if (step->kind == TGI_STEP_LOOP) {
            const tgi_control_flow *c = tgi_loops_control(loops, step->control);
            if (c->is_limited)
                *step_of(n, 1 + (int64_t)c->limit_check) = i;
            if (!tgi_stack_set_id_is_none(c->stack_set))
                *step_of(n, 1 + (int64_t)c->memory_check) = i;
        }
        if (step->kind != TGI_STEP_RUN)
            continue;
        const tgi_kernel_loops *kernel = tgi_loops_kernel(loops, step->kernel);
        for (size_t j = 0; j < kernel->checks.n; j++)
            *step_of(n, 1 + (int64_t)kernel->checks.data[j].number) = i;
    }
}

/* True if `code` is in first … last. */
static LLVMValueRef is_among(tgi_llvm_entry *n, LLVMValueRef code,
                             int64_t first, int64_t last)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef from_first =
        LLVMBuildSub(n->k.b, code, tgi_llvm_const_i64(program, first), "");
    return LLVMBuildICmp(n->k.b, LLVMIntULE, from_first,
                         tgi_llvm_const_i64(program, last - first), "");
}

static void end_if_failed(tgi_llvm_entry *n, size_t at)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_loops *loops = program->loops;
    const int64_t n_hosts = (int64_t)loops->hosts.n;
    const int64_t n_checks = (int64_t)loops->runtime_checks.n;
    LLVMValueRef code =
        tgi_llvm_frame_load(program, n->frame, TGI_FRAME_FAILED_CHECK);
    LLVMSetOrdering(code, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(code, 8);
    LLVMValueRef has_failed = LLVMConstNull(program->bit);
    for (int64_t first = -n_hosts; first <= n_checks; first++) {
        if (*step_of(n, first) >= at)
            continue;
        int64_t last = first;
        while (last < n_checks && *step_of(n, last + 1) < at)
            last++;
        has_failed = LLVMBuildOr(n->k.b, has_failed,
                                 is_among(n, code, first, last), "");
        first = last;
    }
    LLVMBasicBlockRef next = tgi_llvm_block_append(&n->k, "next");
    LLVMBuildCondBr(n->k.b, has_failed, n->failed, next);
    LLVMPositionBuilderAtEnd(n->k.b, next);
}

/* -- The entry ------------------------------------------------------------- */

static void steps(tgi_llvm_entry *n)
{
    const tgi_loops *loops = n->k.program->loops;
    bool has_host = false; /* since the last barrier */
    for (size_t i = 0; i < loops->steps.n && !n->k.program->failure; i++) {
        const tgi_loop_step *step = &loops->steps.data[i];
        if (is_tiny(n, i)) {
            i = run_tiny(n, i) - 1;
            continue;
        }
        if (step->kind == TGI_STEP_LOOP &&
            tgi_loops_control(loops, step->control)->is_straightline) {
            i = run_tiny_loop(n, i) - 1;
            continue;
        }
        switch ((tgi_loop_step_kind)step->kind) {
        case TGI_STEP_RUN:
            run(n, tgi_kernel_id_index(step->kernel));
            break;
        case TGI_STEP_BARRIER:
            tgi_llvm_barrier_emit(n);
            if (has_host)
                end_if_failed(n, i);
            has_host = false;
            break;
        case TGI_STEP_RETURN_IF_FAILED:
            end_if_failed(n, i);
            break;
        case TGI_STEP_HOST:
            host(n, tgi_host_id_index(step->host));
            has_host = true;
            break;
        case TGI_STEP_LOOP:
        case TGI_STEP_TEST:
        case TGI_STEP_LOOP_END:
        case TGI_STEP_SWITCH:
        case TGI_STEP_CASE:
        case TGI_STEP_SWITCH_END:
            tgi_llvm_control_step_emit(n, step);
            break;
        }
    }
}

static void define(tgi_llvm_entry *n)
{
    const tgi_llvm_program *program = n->k.program;
    find_steps(n);
    LLVMPositionBuilderAtEnd(n->k.b, tgi_llvm_block_append(&n->k, "entry"));
    n->done = tgi_llvm_block_append(&n->k, "done");
    n->failed = tgi_llvm_block_append(&n->k, "failed");
    n->is_team = LLVMBuildICmp(n->k.b, LLVMIntSGT, n->n_threads,
                               tgi_llvm_const_i64(program, 1), "");
    tgi_llvm_control_begin(n);
    steps(n);
    LLVMBuildBr(n->k.b, n->done);
    LLVMPositionBuilderAtEnd(n->k.b, n->failed);
    tgi_llvm_control_failed(n);
    LLVMBuildBr(n->k.b, n->done);
    LLVMPositionBuilderAtEnd(n->k.b, n->done);
    LLVMBuildRetVoid(n->k.b);
}

LLVMValueRef tgi_llvm_entry_define(tgi_llvm_program *program,
                                   const tgi_llvm_kernel_info *kernels,
                                   const char *name)
{
    tgi_llvm_emitter *e = &program->emitter;
    const tgi_loops *loops = program->loops;
    const size_t n_codes = loops->hosts.n + 1 + loops->runtime_checks.n;
    const size_t n_controls = loops->controls.n;
    const size_t bytes = n_controls * sizeof(tgi_llvm_control) +
                         loops->buffers.n * sizeof(LLVMValueRef) +
                         n_codes * sizeof(size_t);
    char *memory = program->alloc(bytes);
    if (!memory) {
        program->is_out_of_memory = true;
        tgi_llvm_fail(program, "out of memory");
        return NULL;
    }
    memset(memory, 0, bytes);
    LLVMTypeRef parameters[] = {program->pointer, program->i64, program->i64};
    LLVMTypeRef type =
        LLVMFunctionType(program->void_type, parameters, 3, false);
    LLVMValueRef function = LLVMAddFunction(e->module, name, type);
    LLVMSetVisibility(function, LLVMHiddenVisibility);
    tgi_llvm_target_set_function(program->target, function);
    tgi_llvm_entry n = {
        .k = {.program = program, .e = e, .b = e->builder,
              .function = function},
        .frame = LLVMGetParam(function, 0),
        .thread = LLVMGetParam(function, 1),
        .n_threads = LLVMGetParam(function, 2),
        .kernels = kernels,
        .controls = (tgi_llvm_control *)memory,
    };
    n.moved = (LLVMValueRef *)(n.controls + n_controls);
    n.step_of_failure = (size_t *)(n.moved + loops->buffers.n);
    define(&n);
    program->free(memory);
    return program->failure ? NULL : function;
}
