/* SPDX-License-Identifier: MIT */
/*
 * llvm_frame.c - loads from the frame (entry_abi.h): addresses of buffers and
 * extents. A kernel loads each of them once, in its entry block.
 */
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"

#include <assert.h>

#include "base/alloc.h"
#include "codegen/entry_abi.h"

/* Members are in the order of tgi_frame; each has 8 bytes. */
#define CHECK_OFFSET(member, number) \
    _Static_assert(offsetof(tgi_frame, member) == 8 * (number), \
                   "generated code relies on the layout of tgi_frame")
CHECK_OFFSET(buffers, TGI_FRAME_BUFFERS);
CHECK_OFFSET(dims, TGI_FRAME_DIMS);
CHECK_OFFSET(grain, TGI_FRAME_GRAIN);
CHECK_OFFSET(share, TGI_FRAME_SHARE);
CHECK_OFFSET(barrier, TGI_FRAME_BARRIER);
CHECK_OFFSET(host, TGI_FRAME_HOST);
CHECK_OFFSET(failed_check, TGI_FRAME_FAILED_CHECK);
CHECK_OFFSET(failed_position, TGI_FRAME_FAILED_POSITION);
CHECK_OFFSET(failed_index, TGI_FRAME_FAILED_INDEX);
CHECK_OFFSET(unchanged, TGI_FRAME_UNCHANGED);
CHECK_OFFSET(capacity, TGI_FRAME_CAPACITY);
CHECK_OFFSET(grow, TGI_FRAME_GROW);
CHECK_OFFSET(step_done, TGI_FRAME_STEP_DONE);
CHECK_OFFSET(poll, TGI_FRAME_POLL);
CHECK_OFFSET(cancel_word, TGI_FRAME_CANCEL_WORD);
CHECK_OFFSET(cancel_seen, TGI_FRAME_CANCEL_SEEN);
CHECK_OFFSET(must_end, TGI_FRAME_MUST_END);

void tgi_llvm_frame_init(tgi_llvm_program *program)
{
    LLVMContextRef context = program->emitter.context;
    LLVMTypeRef pointer = program->pointer, i64 = program->i64;
    LLVMTypeRef members[TGI_FRAME_MEMBERS] = {
        [TGI_FRAME_BUFFERS] = pointer,   [TGI_FRAME_DIMS] = pointer,
        [TGI_FRAME_GRAIN] = i64,         [TGI_FRAME_SHARE] = pointer,
        [TGI_FRAME_BARRIER] = pointer,   [TGI_FRAME_HOST] = pointer,
        [TGI_FRAME_FAILED_CHECK] = i64,  [TGI_FRAME_FAILED_POSITION] = i64,
        [TGI_FRAME_FAILED_INDEX] = i64,  [TGI_FRAME_UNCHANGED] = pointer,
        [TGI_FRAME_CAPACITY] = pointer,  [TGI_FRAME_GROW] = pointer,
        [TGI_FRAME_STEP_DONE] = pointer, [TGI_FRAME_POLL] = pointer,
        [TGI_FRAME_CANCEL_WORD] = pointer,
        [TGI_FRAME_CANCEL_SEEN] = i64,   [TGI_FRAME_MUST_END] = pointer,
    };
    program->frame_type = LLVMStructCreateNamed(context, "tgi_frame");
    LLVMStructSetBody(program->frame_type, members, TGI_FRAME_MEMBERS, false);
}

LLVMValueRef tgi_llvm_frame_address(const tgi_llvm_program *program,
                                    LLVMValueRef frame, tgi_frame_member member)
{
    return LLVMBuildStructGEP2(program->emitter.builder, program->frame_type,
                               frame, (unsigned)member, "");
}

LLVMValueRef tgi_llvm_frame_load(const tgi_llvm_program *program,
                                 LLVMValueRef frame, tgi_frame_member member)
{
    LLVMTypeRef type =
        LLVMStructGetTypeAtIndex(program->frame_type, (unsigned)member);
    return LLVMBuildLoad2(program->emitter.builder, type,
                          tgi_llvm_frame_address(program, frame, member), "");
}

/* Loads element `number` of an array that a member of the frame points to. */
static LLVMValueRef load_element(const tgi_llvm_program *program,
                                 LLVMValueRef frame, tgi_frame_member array,
                                 LLVMTypeRef type, size_t number)
{
    LLVMValueRef index = tgi_llvm_const_i64(program, (int64_t)number);
    LLVMValueRef address = LLVMBuildGEP2(
        program->emitter.builder, type,
        tgi_llvm_frame_load(program, frame, array), &index, 1, "");
    return LLVMBuildLoad2(program->emitter.builder, type, address, "");
}

LLVMValueRef tgi_llvm_frame_dim(const tgi_llvm_program *program,
                                LLVMValueRef frame, tgi_dim dim)
{
    if (tgi_dim_is_known(dim))
        return tgi_llvm_const_i64(program, dim);
    return load_element(program, frame, TGI_FRAME_DIMS, program->i64,
                        tgi_dim_index(dim));
}

LLVMValueRef tgi_llvm_dim(tgi_llvm_kernel *k, tgi_dim dim)
{
    if (tgi_dim_is_known(dim))
        return tgi_llvm_const_i64(k->program, dim);
    for (unsigned i = 0; i < k->n_dims; i++)
        if (k->dims[i].dim == dim)
            return k->dims[i].value;
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    LLVMValueRef value = tgi_llvm_frame_dim(k->program, k->frame, dim);
    tgi_llvm_position_restore(k, block);
    if (k->n_dims < TGI_LLVM_MAX_CACHED_DIMS) {
        k->dims[k->n_dims].dim = dim;
        k->dims[k->n_dims++].value = value;
    }
    return value;
}

LLVMValueRef tgi_llvm_stride(tgi_llvm_kernel *k, tgi_stride stride)
{
    LLVMValueRef distance = tgi_llvm_dim(k, stride.distance);
    if (!stride.is_negative)
        return distance;
    LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
    LLVMValueRef negative = LLVMBuildNeg(k->b, distance, "");
    tgi_llvm_position_restore(k, block);
    return negative;
}

LLVMValueRef tgi_llvm_thread_part(const tgi_llvm_kernel *k,
                                  const tgi_loop_buffer *buffer,
                                  LLVMValueRef count, LLVMValueRef address)
{
    const tgi_llvm_program *program = k->program;
    LLVMValueRef bytes = tgi_llvm_mul(
        program, count,
        tgi_llvm_const_i64(program, tgi_dtype_bytes(buffer->dtype)));
    bytes = tgi_llvm_add(program, bytes,
                         tgi_llvm_const_i64(program, TGI_BUFFER_ALIGN - 1));
    bytes = LLVMBuildAnd(k->b, bytes,
                         tgi_llvm_const_i64(program, -TGI_BUFFER_ALIGN), "");
    LLVMValueRef start = tgi_llvm_mul(program, k->thread, bytes);
    return LLVMBuildGEP2(k->b, LLVMInt8TypeInContext(k->e->context), address,
                         &start, 1, "");
}

LLVMValueRef tgi_llvm_buffer_table_entry(const tgi_llvm_program *program,
                                         LLVMValueRef table, uint32_t buffer)
{
    LLVMValueRef index = tgi_llvm_const_i64(program, buffer);
    return LLVMBuildGEP2(program->emitter.builder, program->pointer, table,
                         &index, 1, "");
}

/* Loads the current address of an unbounded stack from the frame: it changes
   when the stack grows, and the tables of threads do not have it. */
static LLVMValueRef load_stack_address(tgi_llvm_kernel *k, uint32_t number)
{
    return load_element(k->program, k->frame, TGI_FRAME_BUFFERS,
                        k->program->pointer, number);
}

LLVMValueRef tgi_llvm_buffer(tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_llvm_program *program = k->program;
    assert(number < program->loops->buffers.n);
    const bool is_stack =
        program->loops->buffers.data[number].place == TGI_PLACE_STACK;
    if (is_stack && k->straightline) /* its loop may grow it */
        return load_stack_address(k, number);
    if (!k->buffers[number]) {
        const tgi_loop_buffer *buffer = &program->loops->buffers.data[number];
        LLVMBasicBlockRef block = tgi_llvm_position_at_entry(k);
        LLVMValueRef address =
            is_stack ? load_stack_address(k, number)
                     : LLVMBuildLoad2(k->b, program->pointer,
                                      tgi_llvm_buffer_table_entry(
                                          program, k->table, number),
                                      "");
        if (buffer->place == TGI_PLACE_SCRATCH)
            address = tgi_llvm_thread_part(
                k, buffer, tgi_llvm_dim(k, buffer->count), address);
        tgi_llvm_position_restore(k, block);
        k->buffers[number] = address;
    }
    return k->buffers[number];
}
