/* SPDX-License-Identifier: MIT */
/*
 * llvm_share.c - work items in the entry: their number and cost, and those of a
 * thread. As many threads take part as have enough work (work_share.h).
 */
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/llvm_entry.h"

static LLVMValueRef extent_value(tgi_llvm_entry *n,
                                 const tgi_kernel_loops *loops, int axis)
{
    return tgi_llvm_frame_dim(n->k.program, n->frame, loops->extent[axis]);
}

LLVMValueRef tgi_llvm_n_items(tgi_llvm_entry *n, const tgi_kernel_loops *loops,
                              int first_axis)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef items = tgi_llvm_const_i64(program, 1);
    for (int axis = first_axis; axis <= loops->n_outer; axis++)
        if (loops->schedule->item_extent[axis])
            items = tgi_llvm_mul(
                program, items,
                tgi_llvm_ceil_div(program, extent_value(n, loops, axis),
                                  loops->schedule->item_extent[axis]));
    return items;
}

/* Extent of a work item along an axis, at most `max`; 0: the whole axis. */
static LLVMValueRef item_length(tgi_llvm_entry *n,
                                const tgi_kernel_loops *loops, int axis,
                                int64_t max)
{
    LLVMValueRef all = extent_value(n, loops, axis);
    return max ? tgi_llvm_min(n->k.program, all,
                              tgi_llvm_const_i64(n->k.program, max))
               : all;
}

LLVMValueRef tgi_llvm_item_cost(tgi_llvm_entry *n,
                                const tgi_kernel_loops *loops)
{
    const tgi_llvm_program *program = n->k.program;
    const int inner = loops->n_outer;
    LLVMValueRef length = item_length(
        n, loops, inner,
        loops->schedule->split_block ? loops->schedule->split_block
                                     : loops->schedule->item_extent[inner]);
    LLVMValueRef cost = tgi_llvm_mul(
        program, length,
        tgi_llvm_const_i64(program, loops->schedule->cost.element));
    if (!loops->schedule->item_extent[inner]) /* else a point has many items */
        cost = tgi_llvm_add(
            program, cost,
            tgi_llvm_const_i64(program, loops->schedule->cost.point));
    for (int axis = 0; axis < inner; axis++)
        if (loops->schedule->item_extent[axis] > 1)
            cost =
                tgi_llvm_mul(program, cost,
                             item_length(n, loops, axis,
                                         loops->schedule->item_extent[axis]));
    return cost;
}

static tgi_llvm_item_range emit_share_call(tgi_llvm_entry *n, LLVMValueRef items,
                                  LLVMValueRef cost)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMBuilderRef b = n->k.b;
    LLVMTypeRef i64 = program->i64;
    LLVMTypeRef members[] = {i64, i64};
    LLVMTypeRef parameters[] = {program->pointer, i64, i64, i64, i64};
    LLVMTypeRef type = LLVMFunctionType(
        LLVMStructTypeInContext(n->k.e->context, members, 2, false), parameters,
        5, false);
    LLVMValueRef arguments[] = {n->frame, n->thread, n->n_threads, items, cost};
    LLVMValueRef range = LLVMBuildCall2(
        b, type, tgi_llvm_frame_load(program, n->frame, TGI_FRAME_SHARE),
        arguments, 5, "");
    return (tgi_llvm_item_range){LLVMBuildExtractValue(b, range, 0, ""),
                        LLVMBuildExtractValue(b, range, 1, "")};
}

tgi_llvm_item_range tgi_llvm_share(tgi_llvm_entry *n, LLVMValueRef items,
                                   LLVMValueRef cost)
{
    const tgi_llvm_program *program = n->k.program;
    int64_t n_items;
    if (tgi_llvm_is_const_i64(items, &n_items) && n_items == 1)
        return (tgi_llvm_item_range){n->thread, items};
    tgi_llvm_branch team;
    tgi_llvm_branch_begin(&n->k, &team, n->is_team);
    const tgi_llvm_item_range share = emit_share_call(n, items, cost);
    tgi_llvm_branch_end(&n->k, &team);
    return (tgi_llvm_item_range){
        tgi_llvm_branch_value(&n->k, &team, share.begin,
                              tgi_llvm_const_i64(program, 0)),
        tgi_llvm_branch_value(&n->k, &team, share.end, items)};
}
