/* SPDX-License-Identifier: MIT */
/*
 * llvm_frame.h - the frame (entry_abi.h) in generated code: its members,
 * extents, strides and addresses of buffers.
 */
#ifndef TGI_LLVM_FRAME_H
#define TGI_LLVM_FRAME_H

#include "llvm/emit/llvm_kernel_state.h"

/* Members of tgi_frame, in its order. */
typedef enum tgi_frame_member {
    TGI_FRAME_BUFFERS,
    TGI_FRAME_DIMS,
    TGI_FRAME_GRAIN,
    TGI_FRAME_SHARE,
    TGI_FRAME_BARRIER,
    TGI_FRAME_HOST,
    TGI_FRAME_FAILED_CHECK,
    TGI_FRAME_FAILED_POSITION,
    TGI_FRAME_FAILED_INDEX,
    TGI_FRAME_UNCHANGED,
    TGI_FRAME_CAPACITY,
    TGI_FRAME_GROW,
    TGI_FRAME_STEP_DONE,
    TGI_FRAME_POLL,
    TGI_FRAME_CANCEL_WORD,
    TGI_FRAME_CANCEL_SEEN,
    TGI_FRAME_MUST_END,
    TGI_FRAME_MEMBERS
} tgi_frame_member;

/* Creates the type of a frame. */
void tgi_llvm_frame_init(tgi_llvm_program *program);

/* The address and the value of a member. */
LLVMValueRef tgi_llvm_frame_address(const tgi_llvm_program *program,
                                    LLVMValueRef frame,
                                    tgi_frame_member member);
LLVMValueRef tgi_llvm_frame_load(const tgi_llvm_program *program,
                                 LLVMValueRef frame, tgi_frame_member member);

/* An extent, loaded at the builder's position unless it is known. */
LLVMValueRef tgi_llvm_frame_dim(const tgi_llvm_program *program,
                                LLVMValueRef frame, tgi_dim dim);

/* An extent, a stride and the address of a buffer. They are loaded in the entry
   block of the kernel and dominate all of it. */
LLVMValueRef tgi_llvm_dim(tgi_llvm_kernel *k, tgi_dim dim);
LLVMValueRef tgi_llvm_stride(tgi_llvm_kernel *k, tgi_stride stride);
LLVMValueRef tgi_llvm_buffer(tgi_llvm_kernel *k, uint32_t buffer);

/* The address of a thread's own part of a SCRATCH or BLOCK buffer, each of
   `count` elements. */
LLVMValueRef tgi_llvm_thread_part(const tgi_llvm_kernel *k,
                                  const tgi_loop_buffer *buffer,
                                  LLVMValueRef count, LLVMValueRef address);

/* The address of a buffer's entry in a table of buffers. */
LLVMValueRef tgi_llvm_buffer_table_entry(const tgi_llvm_program *program,
                                         LLVMValueRef table, uint32_t buffer);

#endif /* TGI_LLVM_FRAME_H */
