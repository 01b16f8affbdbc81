/* SPDX-License-Identifier: MIT */
/*
 * llvm_columns_step.c - one vector of columns, with fewer lanes or a mask at
 * the right edge of a matrix.
 */
#include "llvm/loops/llvm_columns_step.h"
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_kernel_state.h"

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

/* Calls `body` for n_active of the current lanes, from `column` on. */
static void emit_masked(tgi_llvm_kernel *k, LLVMValueRef column, LLVMValueRef n,
                        unsigned n_active, tgi_llvm_columns_fn *body,
                        void *user)
{
    k->n_active_lanes = n_active;
    if (n_active != k->e->lanes)
        k->mask = tgi_llvm_tail_mask(k, LLVMBuildSub(k->b, n, column, ""));
    body(k, column, user);
    k->mask = NULL;
    k->n_active_lanes = 0;
}

/* Known tails: vectors as wide as tgi_schedule_tail_lanes says. Returns the
   column after them. */
static LLVMValueRef emit_known_vectors(tgi_llvm_kernel *k, LLVMValueRef column,
                                       LLVMValueRef n, unsigned left,
                                       tgi_llvm_columns_fn *body, void *user)
{
    while (left) {
        const unsigned lanes = tgi_schedule_tail_lanes(k->schedule, left);
        const unsigned n_active = left < lanes ? left : lanes;
        if (n_active < lanes && !k->schedule->phases[0].can_mask)
            break;
        k->e->lanes = lanes;
        emit_masked(k, column, n, n_active, body, user);
        column = tgi_llvm_add(k->program, column,
                              tgi_llvm_const_i64(k->program, n_active));
        left -= n_active;
    }
    return column;
}

/* Unknown tails: vectors of the width of a packed panel, the last one masked if
   possible. Returns the column after them. */
static LLVMValueRef emit_unknown_vectors(tgi_llvm_kernel *k,
                                         LLVMValueRef column, LLVMValueRef n,
                                         tgi_llvm_columns_fn *body, void *user)
{
    const bool can_mask = k->schedule->phases[0].can_mask;
    const bool is_wide = k->schedule->matmul.mr &&
                         k->e->lanes > tgi_schedule_panel_lanes(k->schedule);
    if (!is_wide && can_mask)
        emit_masked(k, column, n, 0, body, user);
    if (!is_wide)
        return column;
    const unsigned lanes = tgi_schedule_panel_lanes(k->schedule);
    LLVMValueRef end = can_mask ? n : tgi_llvm_round_down(k, column, n, lanes);
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, column, end, lanes, NULL, 0);
    k->e->lanes = lanes;
    emit_masked(k, loop.index, n, can_mask ? 0 : lanes, body, user);
    tgi_llvm_loop_end(k, &loop, NULL);
    return end;
}

void tgi_llvm_columns_tail(tgi_llvm_kernel *k, LLVMValueRef column,
                           LLVMValueRef n, tgi_llvm_columns_fn *body,
                           void *user)
{
    const unsigned panel_width = k->schedule->pack_width;
    const unsigned lanes = tgi_phase_lanes(&k->schedule->phases[0]);
    if (k->schedule->phases[0].can_mask && panel_width) {
        emit_tail_panels(k, column, n, panel_width, body, user);
        return;
    }
    int64_t number;
    LLVMValueRef at =
        tgi_llvm_is_const_i64(n, &number)
            ? emit_known_vectors(k, column, n, (unsigned)(number % lanes), body,
                                 user)
            : emit_unknown_vectors(k, column, n, body, user);
    if (k->schedule->phases[0].can_mask)
        return;
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, at, n, 1, NULL, 0);
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
