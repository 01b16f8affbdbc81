/* SPDX-License-Identifier: MIT */
/*
 * llvm_columns_step.c - one vector of columns, with fewer lanes or a mask at
 * the right edge of a matrix.
 */
#include "llvm/matmul/llvm_columns_step.h"
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/matmul/llvm_pack.h"

/* The last panels, one at a time. */
static void emit_tail_panels(tgi_llvm_kernel *k, LLVMValueRef column,
                             LLVMValueRef n, unsigned panel_width,
                             tgi_llvm_columns_fn *body, void *user)
{
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, column, n, panel_width, NULL, 0);
    k->e->lanes = panel_width;
    k->mask = tgi_llvm_tail_mask(k, LLVMBuildSub(k->b, n, loop.index, ""));
    body(k, loop.index, user);
    k->mask = NULL;
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* Lanes of the last columns; a micro-kernel need not be wider than they are. */
static unsigned tail_lanes(const tgi_llvm_kernel *k, LLVMValueRef n)
{
    unsigned lanes = k->e->lanes;
    int64_t number;
    if (!k->schedule->matmul.mr || k->schedule->matmul.n_panels > 1 ||
        !tgi_llvm_is_const_i64(n, &number))
        return lanes;
    while (lanes / 2 >= number % tgi_phase_lanes(&k->schedule->phases[0]))
        lanes /= 2;
    return lanes;
}

void tgi_llvm_columns_tail(tgi_llvm_kernel *k, LLVMValueRef column,
                           LLVMValueRef n, tgi_llvm_columns_fn *body,
                           void *user)
{
    const unsigned panel_width = k->schedule->pack_width;
    if (k->schedule->phases[0].can_mask && panel_width) {
        emit_tail_panels(k, column, n, panel_width, body, user);
        return;
    }
    if (k->schedule->phases[0].can_mask) {
        LLVMValueRef left = LLVMBuildSub(k->b, n, column, "");
        int64_t number;
        k->e->lanes = tail_lanes(k, n);
        k->n_active_lanes =
            tgi_llvm_is_const_i64(n, &number)
                ? (unsigned)(number % tgi_phase_lanes(&k->schedule->phases[0]))
                : 0;
        if (k->n_active_lanes != k->e->lanes)
            k->mask = tgi_llvm_tail_mask(k, left);
        body(k, column, user);
        k->mask = NULL;
        k->n_active_lanes = 0;
        return;
    }
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, column, n, 1, NULL, 0);
    k->e->lanes = 1;
    body(k, loop.index, user);
    tgi_llvm_loop_end(k, &loop, NULL);
}

void tgi_llvm_columns_step(tgi_llvm_kernel *k, LLVMValueRef column,
                           LLVMValueRef n, tgi_llvm_columns_fn *body,
                           void *user)
{
    const unsigned lanes = tgi_phase_lanes(&k->schedule->phases[0]);
    int64_t number;
    k->e->lanes = lanes;
    if (tgi_llvm_is_const_i64(n, &number) && number % lanes == 0) {
        body(k, column, user);
        return;
    }
    if (tgi_llvm_is_const_i64(n, &number) && number < lanes) {
        tgi_llvm_columns_tail(k, column, n, body, user);
        return;
    }
    LLVMValueRef end =
        tgi_llvm_add(k->program, column, tgi_llvm_const_i64(k->program, lanes));
    LLVMBasicBlockRef full = tgi_llvm_block_append(k, "full");
    LLVMBasicBlockRef tail = tgi_llvm_block_append(k, "part");
    LLVMBasicBlockRef after = tgi_llvm_block_append(k, "after");
    LLVMBuildCondBr(k->b, LLVMBuildICmp(k->b, LLVMIntSLE, end, n, ""), full,
                    tail);
    LLVMPositionBuilderAtEnd(k->b, full);
    body(k, column, user);
    LLVMBuildBr(k->b, after);
    LLVMPositionBuilderAtEnd(k->b, tail);
    tgi_llvm_columns_tail(k, column, n, body, user);
    LLVMBuildBr(k->b, after);
    LLVMPositionBuilderAtEnd(k->b, after);
}
