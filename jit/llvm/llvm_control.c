/* SPDX-License-Identifier: MIT */
/*
 * llvm_control.c - branches and loops of the entry. Every thread executes
 * them, and all take the same path.
 *
 * Carried values swap buffers after each iteration. Every thread has its own
 * table of addresses, so the swap needs no barrier. It also counts iterations
 * for itself, in memory that its table points to: kernels read the counter
 * like any buffer.
 */
#include "llvm/emit/llvm_check.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_poll.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_quirks.h"
#include "llvm/emit/llvm_stack.h"
#include "llvm/llvm_entry.h"
#include "llvm/llvm_kernel_step.h"

#include <string.h>

static const tgi_control_flow *control_of(const tgi_llvm_entry *n,
                                          uint32_t number)
{
    return &n->k.program->loops->controls.data[number];
}

static LLVMValueRef table_entry(tgi_llvm_entry *n, uint32_t buffer)
{
    return tgi_llvm_buffer_table_entry(n->k.program, n->k.table, buffer);
}

static LLVMValueRef load_address(tgi_llvm_entry *n, uint32_t buffer)
{
    return LLVMBuildLoad2(n->k.b, n->k.program->pointer, table_entry(n, buffer),
                          "");
}

static LLVMValueRef load_i64(tgi_llvm_entry *n, uint32_t buffer)
{
    return LLVMBuildLoad2(n->k.b, n->k.program->i64, load_address(n, buffer),
                          "");
}

/* -- Tables ---------------------------------------------------------------- */

static LLVMValueRef copy_table(tgi_llvm_entry *n, LLVMValueRef from)
{
    const tgi_llvm_program *program = n->k.program;
    const int64_t n_buffers = (int64_t)program->loops->buffers.n;
    LLVMValueRef table = LLVMBuildArrayAlloca(
        n->k.b, program->pointer, tgi_llvm_const_i64(program, n_buffers), "");
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(&n->k, &loop, tgi_llvm_const_i64(program, 0),
                        tgi_llvm_const_i64(program, n_buffers), 1, NULL, 0);
    LLVMValueRef source =
        LLVMBuildGEP2(n->k.b, program->pointer, from, &loop.index, 1, "");
    LLVMValueRef target =
        LLVMBuildGEP2(n->k.b, program->pointer, table, &loop.index, 1, "");
    LLVMBuildStore(n->k.b, LLVMBuildLoad2(n->k.b, program->pointer, source, ""),
                   target);
    tgi_llvm_loop_end(&n->k, &loop, NULL);
    return table;
}

void tgi_llvm_control_begin(tgi_llvm_entry *n)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_loops *loops = program->loops;
    n->k.table = tgi_llvm_frame_load(program, n->frame, TGI_FRAME_BUFFERS);
    bool has_loop = false;
    for (size_t i = 0; i < loops->controls.n; i++) {
        /* A straight-line loop keeps its counter in a register. */
        if (loops->controls.data[i].n_cases ||
            loops->controls.data[i].is_straightline)
            continue;
        n->controls[i].counter = LLVMBuildAlloca(n->k.b, program->i64, "");
        has_loop = true;
    }
    if (!has_loop && !loops->row_blocks.n)
        return;
    n->k.table = copy_table(n, n->k.table);
    for (size_t i = 0; i < loops->controls.n; i++)
        if (n->controls[i].counter)
            tgi_llvm_quirk_store_address(
                n->k.b, n->controls[i].counter,
                table_entry(
                    n, tgi_buffer_id_index(loops->controls.data[i].counter)));
}

/* True if the address in a thread's table can differ from the frame's. */
static bool differs_from_frame(const tgi_loops *loops, uint32_t buffer)
{
    if (loops->buffers.data[buffer].place == TGI_PLACE_COUNTER)
        return true;
    for (size_t i = 0; i < loops->controls.n; i++)
        for (uint32_t j = 0; j < loops->controls.data[i].n_moved; j++)
            if (tgi_buffer_id_index(loops->controls.data[i].to[j]) == buffer)
                return true;
    return false;
}

static LLVMValueRef frame_entry(tgi_llvm_entry *n, uint32_t buffer)
{
    const tgi_llvm_program *program = n->k.program;
    return tgi_llvm_buffer_table_entry(
        program, tgi_llvm_frame_load(program, n->frame, TGI_FRAME_BUFFERS),
        buffer);
}

void tgi_llvm_control_publish(tgi_llvm_entry *n, const tgi_buffer_id *buffers,
                              uint32_t n_buffers)
{
    const tgi_loops *loops = n->k.program->loops;
    memset(n->moved, 0, loops->buffers.n * sizeof(*n->moved));
    for (uint32_t i = 0; i < n_buffers; i++) {
        const uint32_t buffer = tgi_buffer_id_index(buffers[i]);
        if (n->moved[buffer] || !differs_from_frame(loops, buffer))
            continue;
        LLVMValueRef entry = frame_entry(n, buffer);
        n->moved[buffer] =
            LLVMBuildLoad2(n->k.b, n->k.program->pointer, entry, "");
        LLVMBuildStore(n->k.b, load_address(n, buffer), entry);
    }
}

void tgi_llvm_control_unpublish(tgi_llvm_entry *n, const tgi_buffer_id *buffers,
                                uint32_t n_buffers)
{
    for (uint32_t i = 0; i < n_buffers; i++) {
        LLVMValueRef *before = &n->moved[tgi_buffer_id_index(buffers[i])];
        if (*before)
            LLVMBuildStore(n->k.b, *before,
                           frame_entry(n, tgi_buffer_id_index(buffers[i])));
        *before = NULL;
    }
}

void tgi_llvm_control_failed(tgi_llvm_entry *n)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_loops *loops = program->loops;
    tgi_llvm_branch first;
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    LLVMValueRef table =
        tgi_llvm_frame_load(program, n->frame, TGI_FRAME_BUFFERS);
    for (size_t i = 0; i < loops->controls.n; i++)
        for (uint32_t j = 0; j < loops->controls.data[i].n_moved; j++) {
            const uint32_t moved =
                tgi_buffer_id_index(loops->controls.data[i].to[j]);
            LLVMBuildStore(n->k.b, load_address(n, moved),
                           tgi_llvm_buffer_table_entry(program, table, moved));
        }
    tgi_llvm_branch_end(&n->k, &first);
}

/* -- Loops ----------------------------------------------------------------- */

/* Continues if `condition` holds, else branches to `target`. */
static void branch_unless(tgi_llvm_entry *n, LLVMValueRef condition,
                          LLVMBasicBlockRef target)
{
    LLVMBasicBlockRef next = tgi_llvm_block_append(&n->k, "next");
    LLVMBuildCondBr(n->k.b, condition, next, target);
    LLVMPositionBuilderAtEnd(n->k.b, next);
}

static LLVMValueRef iterations_done(tgi_llvm_entry *n,
                                    const tgi_llvm_control *c)
{
    return LLVMBuildLoad2(n->k.b, n->k.program->i64, c->counter, "");
}

static LLVMValueRef has_iterations_left(tgi_llvm_entry *n,
                                        const tgi_llvm_control *c)
{
    return LLVMBuildICmp(n->k.b, LLVMIntSLT, iterations_done(n, c),
                         c->iterations, "");
}

/* -- Stacks ---------------------------------------------------------------- */

/*
 * Before an iteration: grows the stacks if they are full. All threads have the
 * same iteration count and see the same capacity, which changes only between
 * barriers; so they also fail together. Only this code fails memory_check:
 * when a thread tests it, another one may be far ahead.
 */
static void reserve_slice(tgi_llvm_entry *n, const tgi_llvm_control *c,
                          const tgi_control_flow *loops)
{
    tgi_llvm_program *program = n->k.program;
    LLVMBuilderRef b = n->k.b;
    LLVMValueRef n_slices = iterations_done(n, c);
    if (loops->has_base)
        n_slices = tgi_llvm_add(program, c->base, n_slices);
    tgi_llvm_branch full, first, failed;
    tgi_llvm_branch_begin(
        &n->k, &full,
        tgi_llvm_stack_is_full(program, n->frame, loops, n_slices));
    tgi_llvm_barrier_emit(n);
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    LLVMValueRef succeeded =
        tgi_llvm_stack_grow(program, n->frame, loops, n_slices);
    tgi_llvm_branch_begin(&n->k, &failed,
                          LLVMBuildICmp(b, LLVMIntEQ, succeeded,
                                        LLVMConstNull(program->i32), ""));
    tgi_llvm_failed_check_record(program, n->frame, loops->memory_check);
    tgi_llvm_branch_end(&n->k, &failed);
    tgi_llvm_branch_end(&n->k, &first);
    tgi_llvm_barrier_emit(n);
    LLVMValueRef code =
        tgi_llvm_frame_load(program, n->frame, TGI_FRAME_FAILED_CHECK);
    LLVMSetOrdering(code, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(code, 8);
    branch_unless(
        n,
        LLVMBuildICmp(
            b, LLVMIntNE, code,
            tgi_llvm_const_i64(program, (int64_t)loops->memory_check + 1), ""),
        n->failed);
    tgi_llvm_branch_end(&n->k, &full);
}

/* -- Cancelled calls ------------------------------------------------------- */

/* True if all threads wait for each other in every iteration. */
static bool has_barrier(const tgi_llvm_entry *n)
{
    const tgi_loops *loops = n->k.program->loops;
    const tgi_control_id loop = loops->steps.data[n->step].control;
    size_t first = n->step; /* LOOP or TEST */
    while (loops->steps.data[first].kind != TGI_STEP_LOOP ||
           !tgi_control_id_equals(loops->steps.data[first].control, loop))
        first--;
    const size_t end = tgi_loops_end_of(loops, first);
    int depth = 0;
    for (size_t i = first + 1; i < end; i++) {
        const int kind = loops->steps.data[i].kind;
        depth += kind == TGI_STEP_LOOP || kind == TGI_STEP_SWITCH;
        depth -= kind == TGI_STEP_LOOP_END || kind == TGI_STEP_SWITCH_END;
        if (kind == TGI_STEP_BARRIER && depth == 0)
            return true;
    }
    return false;
}

/* Before an iteration. Only at barriers do the threads agree that the call
   ends: a loop without any gets one that most iterations skip. */
static void end_if_cancelled(tgi_llvm_entry *n, const tgi_llvm_control *c,
                             const tgi_control_flow *loops)
{
    enum { ITERATIONS_PER_BARRIER = 64 };
    const tgi_llvm_program *program = n->k.program;
    if (!loops->is_cancellable || !program->can_be_cancelled)
        return;
    if (!has_barrier(n)) {
        LLVMValueRef skipped = LLVMBuildAnd(
            n->k.b, iterations_done(n, c),
            tgi_llvm_const_i64(program, ITERATIONS_PER_BARRIER - 1), "");
        tgi_llvm_branch branch;
        tgi_llvm_branch_begin(
            &n->k, &branch,
            LLVMBuildICmp(
                n->k.b, LLVMIntEQ, skipped,
                tgi_llvm_const_i64(program, ITERATIONS_PER_BARRIER - 1), ""));
        tgi_llvm_barrier_emit(n);
        tgi_llvm_branch_end(&n->k, &branch);
    }
    tgi_llvm_entry_cancel_emit(n);
}

/* -- Iterations ------------------------------------------------------------ */

static void begin_loop(tgi_llvm_entry *n, tgi_llvm_control *c,
                       const tgi_control_flow *loops)
{
    const tgi_llvm_program *program = n->k.program;
    c->iterations = load_i64(n, tgi_buffer_id_index(loops->operand));
    if (loops->has_base)
        c->base = load_i64(n, tgi_buffer_id_index(loops->base));
    LLVMBuildStore(n->k.b, tgi_llvm_const_i64(program, 0), c->counter);
    c->head = tgi_llvm_block_append(&n->k, "loop");
    c->after = tgi_llvm_block_append(&n->k, "after");
    LLVMBuildBr(n->k.b, c->head);
    LLVMPositionBuilderAtEnd(n->k.b, c->head);
    if (!loops->is_limited)
        branch_unless(n, has_iterations_left(n, c), c->after);
    if (!loops->has_test)
        end_if_cancelled(n, c, loops);
    if (!tgi_stack_set_id_is_none(loops->stack_set) && !loops->has_test)
        reserve_slice(n, c, loops);
}

/* All threads reach the limit, and fail together. */
static void fail_at_limit(tgi_llvm_entry *n, const tgi_llvm_control *c,
                          const tgi_control_flow *loops)
{
    tgi_llvm_program *program = n->k.program;
    LLVMBasicBlockRef reached = tgi_llvm_block_append(&n->k, "limit");
    branch_unless(n, has_iterations_left(n, c), reached);
    LLVMBasicBlockRef next = LLVMGetInsertBlock(n->k.b);
    LLVMPositionBuilderAtEnd(n->k.b, reached);
    tgi_llvm_branch first;
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    tgi_llvm_failed_check_record(program, n->frame, loops->limit_check);
    tgi_llvm_branch_end(&n->k, &first);
    LLVMBuildBr(n->k.b, n->failed);
    LLVMPositionBuilderAtEnd(n->k.b, next);
}

static void test_loop(tgi_llvm_entry *n, const tgi_llvm_control *c,
                      const tgi_control_flow *loops)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(n->k.e->context);
    LLVMValueRef test = LLVMBuildLoad2(
        n->k.b, byte, load_address(n, tgi_buffer_id_index(loops->test)), "");
    branch_unless(
        n, LLVMBuildICmp(n->k.b, LLVMIntNE, test, LLVMConstNull(byte), ""),
        c->after);
    if (loops->is_limited)
        fail_at_limit(n, c, loops);
    end_if_cancelled(n, c, loops);
    if (!tgi_stack_set_id_is_none(loops->stack_set))
        reserve_slice(n, c, loops);
}

static void end_iteration(tgi_llvm_entry *n, const tgi_llvm_control *c,
                          const tgi_control_flow *loops)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMBuildStore(n->k.b,
                   tgi_llvm_add(program, iterations_done(n, c),
                                tgi_llvm_const_i64(program, 1)),
                   c->counter);
    /* Source and target buffers are the same set: all are loaded before the
       first store. */
    LLVMValueRef *moved = n->moved;
    for (uint32_t i = 0; i < loops->n_moved; i++)
        moved[i] = load_address(n, tgi_buffer_id_index(loops->from[i]));
    for (uint32_t i = 0; i < loops->n_moved; i++)
        LLVMBuildStore(n->k.b, moved[i],
                       table_entry(n, tgi_buffer_id_index(loops->to[i])));
    tgi_llvm_poll_frame(program, n->k.function, n->frame, n->thread);
    LLVMBuildBr(n->k.b, c->head);
    LLVMPositionBuilderAtEnd(n->k.b, c->after);
}

/* -- Branches -------------------------------------------------------------- */

/* The operand is clamped: negative numbers select the first case, and the last
   case is the default of the switch. */
static void begin_switch(tgi_llvm_entry *n, tgi_llvm_control *c,
                         const tgi_control_flow *loops)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef number = load_i64(n, tgi_buffer_id_index(loops->operand));
    LLVMValueRef zero = tgi_llvm_const_i64(program, 0);
    LLVMValueRef is_below = LLVMBuildICmp(n->k.b, LLVMIntSLT, number, zero, "");
    number = LLVMBuildSelect(n->k.b, is_below, zero, number, "");
    c->head = tgi_llvm_block_append(&n->k, "case"); /* the last one */
    c->after = tgi_llvm_block_append(&n->k, "end");
    c->switch_inst = LLVMBuildSwitch(n->k.b, number, c->head, loops->n_cases);
    c->n_cases = 0;
}

static void begin_case(tgi_llvm_entry *n, tgi_llvm_control *c,
                       const tgi_control_flow *loops)
{
    if (c->n_cases > 0)
        LLVMBuildBr(n->k.b, c->after);
    LLVMBasicBlockRef block = c->head;
    if (c->n_cases + 1 < loops->n_cases) {
        block = tgi_llvm_block_append(&n->k, "case");
        LLVMAddCase(c->switch_inst,
                    tgi_llvm_const_i64(n->k.program, c->n_cases), block);
    }
    c->n_cases++;
    LLVMPositionBuilderAtEnd(n->k.b, block);
}

static void end_switch(tgi_llvm_entry *n, const tgi_llvm_control *c)
{
    LLVMBuildBr(n->k.b, c->after);
    LLVMPositionBuilderAtEnd(n->k.b, c->after);
}

void tgi_llvm_control_step_emit(tgi_llvm_entry *n, const tgi_loop_step *step)
{
    const tgi_control_flow *loops =
        control_of(n, tgi_control_id_index(step->control));
    tgi_llvm_control *c = &n->controls[tgi_control_id_index(step->control)];
    switch (step->kind) {
    case TGI_STEP_LOOP:
        begin_loop(n, c, loops);
        break;
    case TGI_STEP_TEST:
        test_loop(n, c, loops);
        break;
    case TGI_STEP_LOOP_END:
        end_iteration(n, c, loops);
        break;
    case TGI_STEP_SWITCH:
        begin_switch(n, c, loops);
        break;
    case TGI_STEP_CASE:
        begin_case(n, c, loops);
        break;
    default:
        end_switch(n, c);
        break;
    }
}
