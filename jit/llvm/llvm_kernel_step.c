/* SPDX-License-Identifier: MIT */
/*
 * llvm_kernel_step.c - kernels and barriers among the steps of an entry.
 *
 * The items of a kernel are divided among as many threads as have enough work
 * (work_share.h). A program with many kernels or barriers does this in two
 * functions of its own, which the steps call: inline it is half a dozen blocks
 * per step, a fifth of the compile time of a training step. A call takes about
 * 1 ns more, so short programs have it inline.
 */
#include "llvm/llvm_kernel_step.h"
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_poll.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_target.h"

/* Steps of a kind that are emitted inline if a program has no more. */
enum { MAX_INLINE_STEPS = 2 };

/* A step whose operands are constants and extents, or parameters of a function
   that many steps call. */
typedef struct kernel_step {
    LLVMValueRef function; /* of the kernel */
    LLVMValueRef table;    /* of buffers */
    LLVMValueRef n_items, item_cost, number;
} kernel_step;

/* -- The code of a step ---------------------------------------------------- */

/*
 * Calls frame->step_done, if it is set. Without a profile this is a load and a
 * branch that is never taken, about 0.3 ns; the call itself is out of the way.
 * So profiled runs need no second compile. A program with one kernel has no
 * hooks: the call is timed as a whole.
 */
static void emit_hook(tgi_llvm_entry *n, LLVMValueRef number)
{
    const tgi_llvm_program *program = n->k.program;
    if (!program->has_step_hooks)
        return;
    LLVMTypeRef parameters[] = {program->pointer, program->i64, program->i64};
    LLVMTypeRef type =
        LLVMFunctionType(program->void_type, parameters, 3, false);
    LLVMValueRef hook =
        tgi_llvm_frame_load(program, n->frame, TGI_FRAME_STEP_DONE);
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(&n->k, &branch,
                          LLVMBuildIsNotNull(n->k.b, hook, ""));
    tgi_llvm_branch_is_unlikely(&branch);
    LLVMValueRef arguments[] = {n->frame, n->thread, number};
    LLVMBuildCall2(n->k.b, type, hook, arguments, 3, "");
    tgi_llvm_branch_end(&n->k, &branch);
}

/* The end of the items that are executed before the next poll: frame->poll's if
   it is set, else all. Without a poll this is a load and a branch that is never
   taken, once per kernel. */
static LLVMValueRef emit_poll(tgi_llvm_entry *n, const kernel_step *step,
                              LLVMValueRef begin, LLVMValueRef end)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef hook = tgi_llvm_frame_load(program, n->frame, TGI_FRAME_POLL);
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(&n->k, &branch, LLVMBuildIsNotNull(n->k.b, hook, ""));
    tgi_llvm_branch_is_unlikely(&branch);
    LLVMValueRef stop = tgi_llvm_poll_call(program, hook, n->frame, n->thread,
                                           begin, end, step->item_cost);
    tgi_llvm_branch_end(&n->k, &branch);
    return tgi_llvm_branch_value(&n->k, &branch, stop, end);
}

static void emit_call(tgi_llvm_entry *n, const kernel_step *step,
                      LLVMValueRef begin, LLVMValueRef end)
{
    LLVMValueRef arguments[] = {n->frame, step->table, begin, end, n->thread};
    LLVMBuildCall2(n->k.b, n->k.program->kernel_type, step->function, arguments,
                   5, "");
}

/* The items from `begin` to `end`, with polls in between. */
static void emit_polled_items(tgi_llvm_entry *n, const kernel_step *step,
                              tgi_llvm_item_range share)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMBuilderRef b = n->k.b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef body = tgi_llvm_block_append(&n->k, "polled");
    LLVMBasicBlockRef after = tgi_llvm_block_append(&n->k, "items_done");
    LLVMBuildBr(b, body);
    LLVMPositionBuilderAtEnd(b, body);
    LLVMValueRef begin = LLVMBuildPhi(b, program->i64, "");
    LLVMValueRef stop = emit_poll(n, step, begin, share.end);
    emit_call(n, step, begin, stop);
    LLVMBasicBlockRef last = LLVMGetInsertBlock(b);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, stop, share.end, ""), body,
                    after);
    LLVMAddIncoming(begin, &share.begin, &before, 1);
    LLVMAddIncoming(begin, &stop, &last, 1);
    LLVMPositionBuilderAtEnd(b, after);
}

/* Runs some items of a kernel. */
static void emit_items(tgi_llvm_entry *n, const kernel_step *step,
                       tgi_llvm_item_range items)
{
    tgi_llvm_branch any;
    tgi_llvm_branch_begin(
        &n->k, &any,
        LLVMBuildICmp(n->k.b, LLVMIntSLT, items.begin, items.end, ""));
    if (n->k.program->has_polls)
        emit_polled_items(n, step, items);
    else
        emit_call(n, step, items.begin, items.end);
    tgi_llvm_branch_end(&n->k, &any);
    emit_hook(n, step->number);
}

static void emit_kernel(tgi_llvm_entry *n, const kernel_step *step)
{
    emit_items(n, step, tgi_llvm_share(n, step->n_items, step->item_cost));
}

static void emit_barrier(tgi_llvm_entry *n, LLVMValueRef number)
{
    tgi_llvm_program *program = n->k.program;
    LLVMTypeRef type =
        LLVMFunctionType(program->void_type, &program->pointer, 1, false);
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(&n->k, &branch, n->is_team);
    LLVMBuildCall2(n->k.b, type,
                   tgi_llvm_frame_load(program, n->frame, TGI_FRAME_BARRIER),
                   &n->frame, 1, "");
    emit_hook(n, number);
    tgi_llvm_branch_end(&n->k, &branch);
}

/* -- Functions that steps call --------------------------------------------- */

/* Parameters of both; those of kernels follow. */
enum { FRAME, THREAD, N_THREADS, NUMBER, N_BARRIER_PARAMETERS };
enum {
    TABLE = N_BARRIER_PARAMETERS,
    KERNEL,
    N_ITEMS,
    ITEM_COST,
    N_KERNEL_PARAMETERS
};

static LLVMTypeRef function_type(const tgi_llvm_program *program, unsigned n)
{
    LLVMTypeRef types[N_KERNEL_PARAMETERS] = {
        [FRAME] = program->pointer, [THREAD] = program->i64,
        [N_THREADS] = program->i64, [NUMBER] = program->i64,
        [TABLE] = program->pointer, [KERNEL] = program->pointer,
        [N_ITEMS] = program->i64,   [ITEM_COST] = program->i64};
    return LLVMFunctionType(program->void_type, types, n, false);
}

/* Defines the function of barriers, or of kernels, by their number of
   parameters. The builder stays where it is. */
static LLVMValueRef define_function(const tgi_llvm_entry *n, const char *name,
                                    unsigned n_parameters)
{
    tgi_llvm_program *program = n->k.program;
    LLVMBasicBlockRef block = LLVMGetInsertBlock(n->k.b);
    LLVMValueRef function =
        LLVMAddFunction(n->k.e->module, name,
                        function_type(program, n_parameters));
    LLVMSetLinkage(function, LLVMInternalLinkage);
    tgi_llvm_target_set_function(program->target, function,
                                 TGI_LLVM_ENTRY_BITS);
    const tgi_llvm_debug_place before =
        tgi_llvm_debug_enter(program, function, NULL);
    tgi_llvm_entry f = {.k = {.program = program,
                              .e = n->k.e,
                              .b = n->k.b,
                              .function = function},
                        .frame = LLVMGetParam(function, FRAME),
                        .thread = LLVMGetParam(function, THREAD),
                        .n_threads = LLVMGetParam(function, N_THREADS)};
    LLVMPositionBuilderAtEnd(f.k.b, tgi_llvm_block_append(&f.k, "entry"));
    f.is_team = LLVMBuildICmp(f.k.b, LLVMIntSGT, f.n_threads,
                              tgi_llvm_const_i64(program, 1), "");
    LLVMValueRef number = LLVMGetParam(function, NUMBER);
    if (n_parameters == N_BARRIER_PARAMETERS) {
        emit_barrier(&f, number);
    } else {
        const kernel_step step = {.function = LLVMGetParam(function, KERNEL),
                                  .table = LLVMGetParam(function, TABLE),
                                  .n_items = LLVMGetParam(function, N_ITEMS),
                                  .item_cost =
                                      LLVMGetParam(function, ITEM_COST),
                                  .number = number};
        emit_kernel(&f, &step);
    }
    LLVMBuildRetVoid(f.k.b);
    tgi_llvm_debug_leave(program, before);
    LLVMPositionBuilderAtEnd(n->k.b, block);
    return function;
}

static LLVMValueRef number_of_step(const tgi_llvm_entry *n)
{
    return tgi_llvm_const_i64(n->k.program, (int64_t)n->step);
}

/* True if the program has so many steps like the one at `step` that they call a
   function. */
static bool calls_function(const tgi_llvm_entry *n, tgi_loop_step_kind kind)
{
    const tgi_loops *loops = n->k.program->loops;
    int count = 0;
    for (size_t i = 0; i < loops->steps.n && count <= MAX_INLINE_STEPS; i++) {
        const tgi_kernel_loops *kernel = tgi_loops_kernel_at(loops, i);
        count += loops->steps.data[i].kind == kind &&
                 !(kernel && kernel->is_straightline);
    }
    return count > MAX_INLINE_STEPS;
}

/* -- Twins ----------------------------------------------------------------- */

/* The number of buffers that the code of twins may look up. */
static uint32_t twin_table_size(const tgi_llvm_program *program)
{
    const tgi_loops *loops = program->loops;
    uint32_t size = 0;
    for (size_t i = 0; i < loops->kernels.n; i++) {
        const tgi_kernel_loops *kernel = loops->kernels.data[i];
        if (!tgi_llvm_kernel_has_twin(program, kernel))
            continue;
        kernel = tgi_loops_kernel(loops, kernel->twin);
        for (size_t j = 0; j < kernel->accesses.n; j++)
            if (size < kernel->accesses.data[j].buffer.raw)
                size = kernel->accesses.data[j].buffer.raw;
        for (size_t j = 0; j < kernel->offsets.n; j++)
            if (size < kernel->offsets.data[j].memory.raw)
                size = kernel->offsets.data[j].memory.raw;
    }
    return size;
}

void tgi_llvm_kernel_steps_begin(tgi_llvm_entry *n)
{
    const tgi_llvm_program *program = n->k.program;
    const uint32_t size = twin_table_size(program);
    if (size)
        n->twin_table = LLVMBuildArrayAlloca(
            n->k.b, program->pointer, tgi_llvm_const_i64(program, size), "");
}

static void copy_address(tgi_llvm_entry *n, tgi_buffer_id from,
                         tgi_buffer_id to)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef address = LLVMBuildLoad2(
        n->k.b, program->pointer,
        tgi_llvm_buffer_table_entry(program, n->k.table,
                                    tgi_buffer_id_index(from)),
        "");
    LLVMBuildStore(n->k.b, address,
                   tgi_llvm_buffer_table_entry(program, n->twin_table,
                                               tgi_buffer_id_index(to)));
}

/* True if an access before access i is to the same buffer. */
static bool is_repeated(const tgi_kernel_loops *kernel, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (tgi_buffer_id_equals(kernel->accesses.data[j].buffer,
                                 kernel->accesses.data[i].buffer))
            return true;
    return false;
}

/* A table in which the buffers of the kernel are where its twin has its own; any
   table if no twin accesses a buffer, as of empty results. */
static LLVMValueRef emit_twin_table(tgi_llvm_entry *n,
                                    const tgi_kernel_loops *kernel)
{
    const tgi_kernel_loops *twin =
        tgi_loops_kernel(n->k.program->loops, kernel->twin);
    for (size_t i = 0; i < kernel->accesses.n; i++)
        if (!is_repeated(kernel, i))
            copy_address(n, kernel->accesses.data[i].buffer,
                         twin->accesses.data[i].buffer);
    for (size_t i = 0; i < kernel->offsets.n; i++)
        if (!tgi_buffer_id_is_none(kernel->offsets.data[i].memory))
            copy_address(n, kernel->offsets.data[i].memory,
                         twin->offsets.data[i].memory);
    return n->twin_table ? n->twin_table : n->k.table;
}

/* -- Steps ----------------------------------------------------------------- */

/* True if the memoised results of a kernel must be recomputed. */
static LLVMValueRef memo_is_stale(tgi_llvm_entry *n, tgi_memo_id memo)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef at = tgi_llvm_const_i64(program, tgi_memo_id_index(memo));
    LLVMValueRef is_unchanged =
        LLVMBuildLoad2(n->k.b, program->i64,
                       LLVMBuildGEP2(n->k.b, program->i64,
                                     tgi_llvm_frame_load(program, n->frame,
                                                         TGI_FRAME_UNCHANGED),
                                     &at, 1, ""),
                       "");
    return LLVMBuildICmp(n->k.b, LLVMIntEQ, is_unchanged,
                         tgi_llvm_const_i64(program, 0), "");
}

void tgi_llvm_step_hook_emit(tgi_llvm_entry *n)
{
    emit_hook(n, number_of_step(n));
}

/* A step that runs a kernel, without its items. */
static kernel_step step_of(tgi_llvm_entry *n, uint32_t number)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_kernel_loops *loops = program->loops->kernels.data[number];
    const bool has_twin = tgi_llvm_kernel_has_twin(program, loops);
    return (kernel_step){.function = n->kernels[number],
                         .table = has_twin ? emit_twin_table(n, loops)
                                           : n->k.table,
                         .number = number_of_step(n)};
}

void tgi_llvm_kernel_items_emit(tgi_llvm_entry *n, uint32_t number,
                                tgi_llvm_item_range items)
{
    const tgi_llvm_program *program = n->k.program;
    kernel_step step = step_of(n, number);
    if (program->has_polls)
        step.item_cost =
            tgi_llvm_item_cost(n, program->loops->kernels.data[number]);
    emit_items(n, &step, items);
}

static void emit_kernel_call(tgi_llvm_entry *n, uint32_t number)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_kernel_loops *loops = program->loops->kernels.data[number];
    kernel_step step = step_of(n, number);
    step.n_items = tgi_llvm_n_items(n, loops, 0);
    step.item_cost = tgi_llvm_item_cost(n, loops);
    if (!calls_function(n, TGI_STEP_RUN)) {
        emit_kernel(n, &step);
        return;
    }
    if (!n->kernel_function)
        n->kernel_function =
            define_function(n, "tg_run_kernel", N_KERNEL_PARAMETERS);
    LLVMValueRef arguments[N_KERNEL_PARAMETERS] = {
        [FRAME] = n->frame,         [THREAD] = n->thread,
        [N_THREADS] = n->n_threads, [NUMBER] = step.number,
        [TABLE] = step.table,       [KERNEL] = step.function,
        [N_ITEMS] = step.n_items,   [ITEM_COST] = step.item_cost};
    LLVMBuildCall2(n->k.b, function_type(program, N_KERNEL_PARAMETERS),
                   n->kernel_function, arguments, N_KERNEL_PARAMETERS, "");
}

void tgi_llvm_kernel_step_emit(tgi_llvm_entry *n, uint32_t number)
{
    const tgi_memo_id memo = n->k.program->loops->kernels.data[number]->memo;
    tgi_llvm_branch branch;
    if (!tgi_memo_id_is_none(memo))
        tgi_llvm_branch_begin(&n->k, &branch, memo_is_stale(n, memo));
    emit_kernel_call(n, number); /* no hook if the kernel is skipped */
    if (!tgi_memo_id_is_none(memo))
        tgi_llvm_branch_end(&n->k, &branch);
}

void tgi_llvm_barrier_emit(tgi_llvm_entry *n)
{
    tgi_llvm_program *program = n->k.program;
    if (!calls_function(n, TGI_STEP_BARRIER)) {
        emit_barrier(n, number_of_step(n));
        return;
    }
    if (!n->barrier_function)
        n->barrier_function =
            define_function(n, "tg_wait_at_barrier", N_BARRIER_PARAMETERS);
    LLVMValueRef arguments[N_BARRIER_PARAMETERS] = {
        [FRAME] = n->frame,
        [THREAD] = n->thread,
        [N_THREADS] = n->n_threads,
        [NUMBER] = number_of_step(n)};
    LLVMBuildCall2(n->k.b, function_type(program, N_BARRIER_PARAMETERS),
                   n->barrier_function, arguments, N_BARRIER_PARAMETERS, "");
}
