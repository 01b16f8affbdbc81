/* SPDX-License-Identifier: MIT */
/*
 * llvm_entry.c - the entry of a compiled function (abi.h): its steps, as each
 * thread of the team takes them.
 *
 * A kernel is shared among as many threads as have enough to do. All threads
 * compute the same shares from the same numbers, so nobody is asked.
 *
 * Whether the call ends at a step must be the same for all threads: one that
 * is already past the step must not change what the others find there. So a
 * step only looks at failures of what stands before it.
 */
#include "llvm_lower.h"

typedef struct entry {
    tgi_llvm_kernel k; /* of it only what flow needs */
    LLVMValueRef frame, thread, n_threads;
    LLVMValueRef is_team; /* there is more than one thread */
    LLVMBasicBlockRef done;
    const tgi_llvm_kernel_info *kernels;
    size_t *step_of_code; /* see step_of */
} entry;

/* -- Shares ---------------------------------------------------------------- */

static LLVMValueRef extent(entry *n, const tgi_kernel_loops *loops, int axis)
{
    return tgi_llvm_dim_of(n->k.program, n->frame, loops->extent[axis]);
}

static LLVMValueRef items_of(entry *n, const tgi_kernel_loops *loops,
                             const tgi_llvm_kernel_info *info)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef items = tgi_llvm_number(program, 1);
    for (int axis = 0; axis <= loops->n_outer; axis++)
        if (info->piece[axis])
            items = tgi_llvm_mul(program, items,
                                 tgi_llvm_pieces(program,
                                                 extent(n, loops, axis),
                                                 info->piece[axis]));
    return items;
}

/* What an item has of an axis, at most `piece`; 0: all of it. */
static LLVMValueRef part_of(entry *n, const tgi_kernel_loops *loops, int axis,
                            int64_t piece)
{
    LLVMValueRef all = extent(n, loops, axis);
    return piece ? tgi_llvm_min(n->k.program, all,
                                tgi_llvm_number(n->k.program, piece))
                 : all;
}

/* Picoseconds of an item. */
static LLVMValueRef cost_of(entry *n, const tgi_kernel_loops *loops,
                            const tgi_llvm_kernel_info *info)
{
    const tgi_llvm_program *program = n->k.program;
    const int inner = loops->n_outer;
    LLVMValueRef length = part_of(
        n, loops, inner, info->block ? info->block : info->piece[inner]);
    LLVMValueRef cost = tgi_llvm_mul(
        program, length, tgi_llvm_number(program, info->cost.element));
    if (!info->piece[inner]) /* else points are shared by many items */
        cost = tgi_llvm_add(program, cost,
                            tgi_llvm_number(program, info->cost.point));
    for (int axis = 0; axis < inner; axis++)
        if (info->piece[axis] > 1)
            cost = tgi_llvm_mul(program, cost,
                                part_of(n, loops, axis, info->piece[axis]));
    return cost;
}

/* Threads that take part: as many as have `grain` to do, one at least. */
static LLVMValueRef parts_of(entry *n, LLVMValueRef items, LLVMValueRef cost)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMBuilderRef b = n->k.b;
    LLVMValueRef one = tgi_llvm_number(program, 1);
    LLVMValueRef grain =
        tgi_llvm_frame_load(program, n->frame, TGI_FRAME_GRAIN);
    grain = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSGT, grain, one, ""),
                            grain, one, "");
    LLVMValueRef parts = LLVMBuildUDiv(
        b, tgi_llvm_mul(program, items, cost), grain, "");
    parts = tgi_llvm_min(program, parts, n->n_threads);
    parts = tgi_llvm_min(program, parts, items);
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSGT, parts, one, ""),
                           parts, one, "");
}

/* The thread's share of the items; shares differ by one at most. */
static void share_of(entry *n, LLVMValueRef items, LLVMValueRef parts,
                     LLVMValueRef *out_begin, LLVMValueRef *out_end)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMBuilderRef b = n->k.b;
    LLVMValueRef size = LLVMBuildUDiv(b, items, parts, "");
    LLVMValueRef rest = LLVMBuildURem(b, items, parts, "");
    LLVMValueRef begin = LLVMBuildAdd(
        b, LLVMBuildMul(b, n->thread, size, ""),
        tgi_llvm_min(program, n->thread, rest), "");
    LLVMValueRef is_larger =
        LLVMBuildICmp(b, LLVMIntSLT, n->thread, rest, "");
    LLVMValueRef end = LLVMBuildAdd(b, begin, size, "");
    end = LLVMBuildAdd(b, end, LLVMBuildZExt(b, is_larger, program->i64, ""),
                       "");
    LLVMValueRef is_part =
        LLVMBuildICmp(b, LLVMIntSLT, n->thread, parts, "");
    *out_begin = begin;
    *out_end = LLVMBuildSelect(b, is_part, end, begin, "");
}

/* The same for a kernel. One item is the first thread's. */
static void find_share(entry *n, uint32_t number, LLVMValueRef *out_begin,
                       LLVMValueRef *out_end)
{
    const tgi_llvm_program *program = n->k.program;
    const tgi_kernel_loops *loops = program->loops->kernels.data[number];
    const tgi_llvm_kernel_info *info = &n->kernels[number];
    LLVMValueRef items = items_of(n, loops, info), begin, end;
    int64_t n_items;
    if (tgi_llvm_is_number(items, &n_items) && n_items == 1) {
        *out_begin = n->thread;
        *out_end = items;
        return;
    }
    tgi_llvm_branch team;
    tgi_llvm_branch_begin(&n->k, &team, n->is_team);
    LLVMValueRef parts = parts_of(n, items, cost_of(n, loops, info));
    share_of(n, items, parts, &begin, &end);
    tgi_llvm_branch_end(&n->k, &team);
    *out_begin = tgi_llvm_branch_value(&n->k, &team, begin,
                                       tgi_llvm_number(program, 0));
    *out_end = tgi_llvm_branch_value(&n->k, &team, end, items);
}

/* -- Steps ----------------------------------------------------------------- */

static void run(entry *n, uint32_t number)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_llvm_kernel_info *info = &n->kernels[number];
    LLVMValueRef begin, end;
    tgi_llvm_branch any;
    find_share(n, number, &begin, &end);
    tgi_llvm_branch_begin(&n->k, &any,
                          LLVMBuildICmp(n->k.b, LLVMIntSLT, begin, end, ""));
    LLVMValueRef arguments[] = {n->frame, begin, end, n->thread};
    LLVMBuildCall2(n->k.b, program->kernel_type, info->function, arguments, 4,
                   "");
    tgi_llvm_branch_end(&n->k, &any);
}

static void barrier(entry *n)
{
    tgi_llvm_program *program = n->k.program;
    LLVMTypeRef type =
        LLVMFunctionType(program->nothing, &program->pointer, 1, false);
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(&n->k, &branch, n->is_team);
    LLVMBuildCall2(
        n->k.b, type,
        tgi_llvm_frame_load(program, n->frame, TGI_FRAME_BARRIER), &n->frame,
        1, "");
    tgi_llvm_branch_end(&n->k, &branch);
}

/* A host step that ends the call leaves -1 - its number. */
static void host(entry *n, uint32_t number)
{
    tgi_llvm_program *program = n->k.program;
    LLVMBuilderRef b = n->k.b;
    LLVMTypeRef parameters[] = {program->pointer, program->i64};
    LLVMTypeRef type = LLVMFunctionType(program->i32, parameters, 2, false);
    LLVMValueRef zero = tgi_llvm_number(program, 0);
    LLVMValueRef arguments[] = {n->frame, tgi_llvm_number(program, number)};
    tgi_llvm_branch first, failed;
    tgi_llvm_branch_begin(&n->k, &first,
                          LLVMBuildICmp(b, LLVMIntEQ, n->thread, zero, ""));
    LLVMValueRef is_fine = LLVMBuildCall2(
        b, type, tgi_llvm_frame_load(program, n->frame, TGI_FRAME_HOST),
        arguments, 2, "");
    tgi_llvm_branch_begin(&n->k, &failed,
                          LLVMBuildICmp(b, LLVMIntEQ, is_fine,
                                        LLVMConstNull(program->i32), ""));
    LLVMBuildStore(b, tgi_llvm_number(program, -1 - (int64_t)number),
                   tgi_llvm_frame_address(program, n->frame,
                                          TGI_FRAME_FAILED_CHECK));
    tgi_llvm_branch_end(&n->k, &failed);
    tgi_llvm_branch_end(&n->k, &first);
}

/* -- Ending the call ------------------------------------------------------- */

/* The step after which failed_check can be `code`; past the last: none. */
static size_t *step_of(const entry *n, int64_t code)
{
    return &n->step_of_code[code + (int64_t)n->k.program->loops->hosts.n];
}

static void find_steps(entry *n)
{
    const tgi_loops *loops = n->k.program->loops;
    const int64_t n_hosts = (int64_t)loops->hosts.n;
    for (int64_t code = -n_hosts; code <= (int64_t)loops->checked.n; code++)
        *step_of(n, code) = loops->steps.n;
    for (size_t i = loops->steps.n; i-- > 0;) {
        const tgi_loop_step *step = &loops->steps.data[i];
        if (step->kind == TGI_STEP_HOST)
            *step_of(n, -1 - (int64_t)step->number) = i;
        if (step->kind != TGI_STEP_RUN)
            continue;
        const tgi_kernel_loops *kernel = loops->kernels.data[step->number];
        for (size_t j = 0; j < kernel->checks.n; j++)
            *step_of(n, 1 + (int64_t)kernel->checks.data[j].number) = i;
    }
}

/* True if `code` is in first … last. */
static LLVMValueRef is_among(entry *n, LLVMValueRef code, int64_t first,
                             int64_t last)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef from_first = LLVMBuildSub(
        n->k.b, code, tgi_llvm_number(program, first), "");
    return LLVMBuildICmp(n->k.b, LLVMIntULE, from_first,
                         tgi_llvm_number(program, last - first), "");
}

static void end_if_failed(entry *n, size_t at)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_loops *loops = program->loops;
    const int64_t n_hosts = (int64_t)loops->hosts.n;
    const int64_t n_checks = (int64_t)loops->checked.n;
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
    LLVMBasicBlockRef next = tgi_llvm_block(&n->k, "next");
    LLVMBuildCondBr(n->k.b, has_failed, n->done, next);
    LLVMPositionBuilderAtEnd(n->k.b, next);
}

/* -- The entry ------------------------------------------------------------- */

static void steps(entry *n)
{
    const tgi_loops *loops = n->k.program->loops;
    bool has_host = false; /* since the last barrier */
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_loop_step *step = &loops->steps.data[i];
        switch ((tgi_step_kind)step->kind) {
        case TGI_STEP_RUN:
            run(n, step->number);
            break;
        case TGI_STEP_BARRIER:
            barrier(n);
            if (has_host)
                end_if_failed(n, i);
            has_host = false;
            break;
        case TGI_STEP_CHECKED:
            end_if_failed(n, i);
            break;
        case TGI_STEP_HOST:
            host(n, step->number);
            has_host = true;
            break;
        }
    }
}

LLVMValueRef tgi_llvm_entry_define(tgi_llvm_program *program,
                                   const tgi_llvm_kernel_info *kernels,
                                   const char *name)
{
    tgi_llvm_emitter *e = &program->emitter;
    const tgi_loops *loops = program->loops;
    size_t *step_of_code = program->alloc(
        (loops->hosts.n + 1 + loops->checked.n) * sizeof(*step_of_code));
    if (!step_of_code) {
        program->is_out_of_memory = true;
        tgi_llvm_fail(program, "out of memory");
        return NULL;
    }
    LLVMTypeRef parameters[] = {program->pointer, program->i64, program->i64};
    LLVMTypeRef type = LLVMFunctionType(program->nothing, parameters, 3, false);
    LLVMValueRef function = LLVMAddFunction(e->module, name, type);
    LLVMSetVisibility(function, LLVMHiddenVisibility);
    tgi_llvm_target_mark(program->target, function);
    entry n = {
        .k = {.program = program, .e = e, .b = e->builder,
              .function = function},
        .frame = LLVMGetParam(function, 0),
        .thread = LLVMGetParam(function, 1),
        .n_threads = LLVMGetParam(function, 2),
        .kernels = kernels,
        .step_of_code = step_of_code,
    };
    find_steps(&n);
    LLVMPositionBuilderAtEnd(e->builder, tgi_llvm_block(&n.k, "entry"));
    n.done = tgi_llvm_block(&n.k, "done");
    n.is_team = LLVMBuildICmp(e->builder, LLVMIntSGT, n.n_threads,
                              tgi_llvm_number(program, 1), "");
    steps(&n);
    LLVMBuildBr(e->builder, n.done);
    LLVMPositionBuilderAtEnd(e->builder, n.done);
    LLVMBuildRetVoid(e->builder);
    program->free(step_of_code);
    return function;
}
