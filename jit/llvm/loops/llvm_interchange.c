/* SPDX-License-Identifier: MIT */
/* llvm_interchange.c - see llvm_interchange.h. */
#include "llvm/loops/llvm_interchange.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_inst.h"

void tgi_llvm_interchanged_body_emit(tgi_llvm_kernel *k, unsigned phase,
                                     void *user)
{
    (void)user;
    const int axis = tgi_schedule_interchanged_axis(k->schedule);
    LLVMValueRef size =
        tgi_llvm_const_i64(k->program, k->schedule->item_extent[axis]);
    LLVMValueRef from = tgi_llvm_mul(k->program, k->interchanged_item, size);
    LLVMValueRef to =
        tgi_llvm_min(k->program, tgi_llvm_dim(k, k->loops->extent[axis]),
                     tgi_llvm_add(k->program, from, size));
    tgi_llvm_hoisted_insts_emit(k, phase);
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(k, &loop, from, to, 1, NULL, 0);
    k->index[axis] = loop.index;
    tgi_llvm_body_emit(k, phase);
    k->index[axis] = NULL;
    tgi_llvm_loop_end(k, &loop, NULL);
}
