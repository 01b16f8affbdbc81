/* SPDX-License-Identifier: MIT */
/*
 * llvm_entry.c - the entry of a program (entry_abi.h): its steps, executed by
 * every thread of the team.
 *
 * Kernels and barriers are steps of llvm_kernel_step.c. Straight-line kernels
 * are emitted in the entry itself, for thread 0.
 *
 * All threads must agree on whether the call returns at a step. A thread that
 * is ahead may record a failure before another one reaches the step; so a step
 * only tests for failures of earlier steps.
 */
#include "llvm/llvm_entry.h"
#include "llvm/emit/llvm_check.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_store_forwarding.h"
#include "llvm/emit/llvm_target.h"
#include "llvm/kernel/llvm_kernel.h"
#include "llvm/llvm_kernel_step.h"
#include "llvm/straightline/llvm_straightline.h"

#include <string.h>

/* -- Steps ----------------------------------------------------------------- */

static bool is_straightline(const tgi_llvm_entry *n, size_t at)
{
    const tgi_loops *loops = n->k.program->loops;
    const tgi_kernel_loops *kernel =
        at < loops->steps.n ? tgi_loops_kernel_at(loops, at) : NULL;
    return kernel && kernel->is_straightline;
}

/* Emits the straight-line group at step `at`; returns the step after it. */
static size_t emit_straightline_group(tgi_llvm_entry *n, size_t at)
{
    const tgi_loops *loops = n->k.program->loops;
    tgi_llvm_branch first;
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    tgi_llvm_straightline *straightline =
        tgi_llvm_straightline_begin(&n->k, 0, loops->steps.n);
    for (; straightline && is_straightline(n, at); at++)
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

static size_t emit_straightline_loop(tgi_llvm_entry *n, size_t at)
{
    tgi_llvm_branch first;
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    at = tgi_llvm_straightline_loop_emit(&n->k, at);
    tgi_llvm_branch_end(&n->k, &first);
    return at;
}

static void emit_host_step(tgi_llvm_entry *n, uint32_t number)
{
    tgi_llvm_program *program = n->k.program;
    LLVMBuilderRef b = n->k.b;
    tgi_llvm_branch first, failed;
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    const tgi_host_step *step = &program->loops->hosts.data[number];
    tgi_llvm_control_publish(n, step->buffers, step->n_buffers);
    LLVMValueRef succeeded = tgi_llvm_host_call_emit(program, n->frame, number);
    tgi_llvm_control_unpublish(n, step->buffers, step->n_buffers);
    tgi_llvm_branch_begin(&n->k, &failed,
                          LLVMBuildICmp(b, LLVMIntEQ, succeeded,
                                        LLVMConstNull(program->i32), ""));
    tgi_llvm_failed_host_record(program, n->frame, number);
    tgi_llvm_branch_end(&n->k, &failed);
    tgi_llvm_branch_end(&n->k, &first);
}

/* -- Ending the call ------------------------------------------------------- */

/* The step that can set failed_check to `code`; steps.n: none. */
static size_t *failure_step(const tgi_llvm_entry *n, int64_t code)
{
    return &n->step_of_failure[code + (int64_t)n->k.program->loops->hosts.n];
}

static void find_failure_steps(tgi_llvm_entry *n)
{
    const tgi_loops *loops = n->k.program->loops;
    const int64_t n_hosts = (int64_t)loops->hosts.n;
    for (int64_t code = -n_hosts; code <= (int64_t)loops->runtime_checks.n;
         code++)
        *failure_step(n, code) = loops->steps.n;
    for (size_t i = loops->steps.n; i-- > 0;) {
        const tgi_loop_step *step = &loops->steps.data[i];
        if (step->kind == TGI_STEP_HOST)
            *failure_step(n, -1 - (int64_t)tgi_host_id_index(step->host)) = i;
        if (step->kind == TGI_STEP_LOOP) {
            const tgi_control_flow *c = tgi_loops_control(loops, step->control);
            if (c->is_limited)
                *failure_step(n, 1 + (int64_t)c->limit_check) = i;
            if (c->is_cancellable)
                *failure_step(n, 1 + (int64_t)c->cancel_check) = i;
            if (!tgi_stack_set_id_is_none(c->stack_set))
                *failure_step(n, 1 + (int64_t)c->memory_check) = i;
        }
        if (step->kind != TGI_STEP_RUN)
            continue;
        const tgi_kernel_loops *kernel = tgi_loops_kernel(loops, step->kernel);
        for (size_t j = 0; j < kernel->checks.n; j++)
            *failure_step(n, 1 + (int64_t)kernel->checks.data[j].number) = i;
    }
}

/* True if `code` is in first … last. */
static LLVMValueRef is_in_range(tgi_llvm_entry *n, LLVMValueRef code,
                                int64_t first, int64_t last)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef from_first =
        LLVMBuildSub(n->k.b, code, tgi_llvm_const_i64(program, first), "");
    return LLVMBuildICmp(n->k.b, LLVMIntULE, from_first,
                         tgi_llvm_const_i64(program, last - first), "");
}

static void return_if_failed(tgi_llvm_entry *n, size_t at)
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
        if (*failure_step(n, first) >= at)
            continue;
        int64_t last = first;
        while (last < n_checks && *failure_step(n, last + 1) < at)
            last++;
        has_failed = LLVMBuildOr(n->k.b, has_failed,
                                 is_in_range(n, code, first, last), "");
        first = last;
    }
    LLVMBasicBlockRef next = tgi_llvm_block_append(&n->k, "next");
    LLVMBuildCondBr(n->k.b, has_failed, n->failed, next);
    LLVMPositionBuilderAtEnd(n->k.b, next);
}

/* -- Cancelled calls ------------------------------------------------------- */

void tgi_llvm_entry_cancel_emit(tgi_llvm_entry *n)
{
    if (n->k.program->can_be_cancelled)
        tgi_llvm_cancel_emit(n->k.program, n->k.function, n->frame, n->cancel,
                             n->cancel_how, n->failed);
}

static bool is_visible(const tgi_loops *loops, tgi_buffer_id buffer)
{
    const int place = tgi_loops_buffer(loops, buffer)->place;
    return place == TGI_PLACE_PARAM || place == TGI_PLACE_RESULT;
}

/* True if a step writes memory of the caller. */
static bool writes_visibly(const tgi_loops *loops, size_t at)
{
    const tgi_kernel_loops *kernel = tgi_loops_kernel_at(loops, at);
    for (size_t i = 0; kernel && i < kernel->stores.n; i++)
        if (is_visible(loops, kernel->accesses.data[kernel->stores.data[i].access]
                                  .buffer))
            return true;
    if (loops->steps.data[at].kind != TGI_STEP_HOST)
        return false;
    const tgi_host_step *host =
        &loops->hosts.data[tgi_host_id_index(loops->steps.data[at].host)];
    for (uint32_t i = host->n_inputs; i < host->n_buffers; i++)
        if (is_visible(loops, host->buffers[i]))
            return true;
    return false;
}

/* Until the call writes memory of the caller, it can end at barriers outside of
   loops and branches: finds the step where that ends, and how many of these
   barriers share one such place. */
static void find_cancellable_barriers(tgi_llvm_entry *n)
{
    enum { MAX_PLACES = 64 };
    const tgi_loops *loops = n->k.program->loops;
    size_t n_barriers = 0;
    for (n->cancellable_end = 0; n->cancellable_end < loops->steps.n &&
                                 !writes_visibly(loops, n->cancellable_end);
         n->cancellable_end++)
        n_barriers +=
            loops->steps.data[n->cancellable_end].kind == TGI_STEP_BARRIER;
    n->barriers_per_cancel = n_barriers / MAX_PLACES + 1;
}

/* After a barrier. */
static void emit_barrier_cancel(tgi_llvm_entry *n, int depth)
{
    if (n->step < n->cancellable_end && depth == 0 &&
        n->n_barriers++ % n->barriers_per_cancel == 0)
        tgi_llvm_entry_cancel_emit(n);
}

/* -- The entry ------------------------------------------------------------- */

/* The line that traced a step; NULL: none. */
static const tgi_site_chain *step_site(const tgi_loops *loops,
                                       const tgi_loop_step *step)
{
    switch ((tgi_loop_step_kind)step->kind) {
    case TGI_STEP_RUN:
        return tgi_loops_kernel(loops, step->kernel)->main_site;
    case TGI_STEP_HOST: {
        const tgi_host_step *host =
            &loops->hosts.data[tgi_host_id_index(step->host)];
        return tgi_loops_site(host->graph, host->node);
    }
    case TGI_STEP_BARRIER:
    case TGI_STEP_RETURN_IF_FAILED:
    case TGI_STEP_ROWS:
    case TGI_STEP_ROWS_END:
        return NULL;
    case TGI_STEP_LOOP:
    case TGI_STEP_TEST:
    case TGI_STEP_LOOP_END:
    case TGI_STEP_SWITCH:
    case TGI_STEP_CASE:
    case TGI_STEP_SWITCH_END:
        break;
    }
    const tgi_control_flow *control = tgi_loops_control(loops, step->control);
    return tgi_loops_site(control->graph, control->node);
}

/* True if the entry computes something itself. An entry that only calls kernels
   has no lines: breakpoints at a line should stop in the kernel. */
static bool has_lines(const tgi_loops *loops)
{
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_kernel_loops *kernel = tgi_loops_kernel_at(loops, i);
        const int kind = loops->steps.data[i].kind;
        if (kernel
                ? kernel->is_straightline
                : kind != TGI_STEP_BARRIER && kind != TGI_STEP_RETURN_IF_FAILED &&
                      kind != TGI_STEP_ROWS && kind != TGI_STEP_ROWS_END)
            return true;
    }
    return false;
}

static void emit_all_steps(tgi_llvm_entry *n)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_loops *loops = program->loops;
    bool has_host = false; /* since the last barrier */
    int depth = 0;         /* of loops and branches */
    for (size_t i = 0; i < loops->steps.n && !program->failure; i++) {
        const tgi_loop_step *step = &loops->steps.data[i];
        n->step = i;
        /* A barrier has the line of the step before it. */
        tgi_llvm_debug_set(program, step_site(loops, step));
        if (is_straightline(n, i)) {
            i = emit_straightline_group(n, i) - 1;
            tgi_llvm_step_hook_emit(n);
            continue;
        }
        if (step->kind == TGI_STEP_LOOP &&
            tgi_loops_control(loops, step->control)->is_straightline) {
            i = emit_straightline_loop(n, i) - 1;
            tgi_llvm_step_hook_emit(n);
            continue;
        }
        switch ((tgi_loop_step_kind)step->kind) {
        case TGI_STEP_RUN:
            tgi_llvm_kernel_step_emit(n, tgi_kernel_id_index(step->kernel));
            break;
        case TGI_STEP_BARRIER:
            tgi_llvm_barrier_emit(n);
            if (has_host)
                return_if_failed(n, i);
            has_host = false;
            emit_barrier_cancel(n, depth);
            break;
        case TGI_STEP_RETURN_IF_FAILED:
            return_if_failed(n, i);
            break;
        case TGI_STEP_HOST:
            emit_host_step(n, tgi_host_id_index(step->host));
            tgi_llvm_step_hook_emit(n);
            has_host = true;
            break;
        case TGI_STEP_ROWS:
            i = tgi_llvm_row_blocks_emit(n, i) - 1;
            break;
        case TGI_STEP_ROWS_END:
            break;
        case TGI_STEP_LOOP:
        case TGI_STEP_TEST:
        case TGI_STEP_LOOP_END:
        case TGI_STEP_SWITCH:
        case TGI_STEP_CASE:
        case TGI_STEP_SWITCH_END:
            depth += step->kind == TGI_STEP_LOOP ||
                     step->kind == TGI_STEP_SWITCH;
            depth -= step->kind == TGI_STEP_LOOP_END ||
                     step->kind == TGI_STEP_SWITCH_END;
            tgi_llvm_control_step_emit(n, step);
            break;
        }
    }
}

/* Width of the registers of the straight-line kernels, which are emitted into
   the entry. */
static unsigned straightline_bits(const tgi_loops *loops)
{
    unsigned bits = TGI_LLVM_ENTRY_BITS;
    for (size_t i = 0; i < loops->kernels.n; i++)
        if (loops->kernels.data[i]->is_straightline)
            bits = loops->kernels.data[i]->schedule->vector_bits;
    return bits;
}

static void define_body(tgi_llvm_entry *n)
{
    const tgi_llvm_program *program = n->k.program;
    find_failure_steps(n);
    LLVMPositionBuilderAtEnd(n->k.b, tgi_llvm_block_append(&n->k, "entry"));
    n->done = tgi_llvm_block_append(&n->k, "done");
    n->failed = tgi_llvm_block_append(&n->k, "failed");
    n->is_team = LLVMBuildICmp(n->k.b, LLVMIntSGT, n->n_threads,
                               tgi_llvm_const_i64(program, 1), "");
    n->cancel = tgi_llvm_cancel_load(program, n->frame);
    n->cancel_how = LLVMBuildSelect(
        n->k.b, n->is_team, tgi_llvm_const_i64(program, TGI_CANCEL_AGREED),
        tgi_llvm_const_i64(program, TGI_CANCEL_ALONE), "");
    find_cancellable_barriers(n);
    tgi_llvm_control_begin(n);
    tgi_llvm_kernel_steps_begin(n);
    emit_all_steps(n);
    LLVMBuildBr(n->k.b, n->done);
    LLVMPositionBuilderAtEnd(n->k.b, n->failed);
    tgi_llvm_control_failed(n);
    LLVMBuildBr(n->k.b, n->done);
    LLVMPositionBuilderAtEnd(n->k.b, n->done);
    LLVMBuildRetVoid(n->k.b);
}

LLVMValueRef tgi_llvm_entry_define(tgi_llvm_program *program,
                                   const LLVMValueRef *kernels,
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
        tgi_llvm_fail_memory(program);
        return NULL;
    }
    memset(memory, 0, bytes);
    LLVMTypeRef parameters[] = {program->pointer, program->i64, program->i64};
    LLVMTypeRef type =
        LLVMFunctionType(program->void_type, parameters, 3, false);
    LLVMValueRef function = LLVMAddFunction(e->module, name, type);
    LLVMSetVisibility(function, LLVMHiddenVisibility);
    tgi_llvm_target_set_function(program->target, function,
                                 straightline_bits(loops));
    tgi_llvm_entry n = {
        .k = {.program = program,
              .e = e,
              .b = e->builder,
              .function = function,
              .frame = LLVMGetParam(function, 0),
              .thread = LLVMGetParam(function, 1)},
        .frame = LLVMGetParam(function, 0),
        .thread = LLVMGetParam(function, 1),
        .n_threads = LLVMGetParam(function, 2),
        .kernels = kernels,
        .controls = (tgi_llvm_control *)memory,
    };
    n.moved = (LLVMValueRef *)(n.controls + n_controls);
    n.step_of_failure = (size_t *)(n.moved + loops->buffers.n);
    if (has_lines(loops)) {
        const tgi_llvm_debug_place before = tgi_llvm_debug_enter(
            program, function, step_site(loops, &loops->steps.data[0]));
        define_body(&n);
        tgi_llvm_debug_leave(program, before);
    } else {
        define_body(&n);
    }
    program->free(memory);
    return program->failure ? NULL : function;
}
