/* SPDX-License-Identifier: MIT */
/*
 * llvm_offsets.c - see llvm_offsets.h. A lookup costs one load per step of the
 * inner axis. Counting the axes instead takes a branch or several selects per
 * axis, and divisions where a step does not start at 0.
 */
#include "llvm/emit/llvm_offsets.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_program.h"

#include <stdio.h>

/* The offset at a known index of a constant table. */
static int64_t known_offset(const tgi_offset_table *table, int64_t index)
{
    int64_t offset = 0;
    for (int axis = table->n_axes - 1; axis >= 0; axis--) {
        const int64_t step = index % table->extent[axis];
        const int64_t distance = step * table->stride[axis].distance;
        offset += table->stride[axis].is_negative ? -distance : distance;
        index /= table->extent[axis];
    }
    return offset;
}

static LLVMValueRef constant_table(tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_offset_table *table = &k->loops->offsets.data[number];
    char name[32];
    snprintf(name, sizeof(name), "offsets_%u", number);
    LLVMValueRef entries[TGI_MAX_CONSTANT_OFFSETS];
    unsigned n = 1;
    for (int axis = 0; axis < table->n_axes; axis++)
        n *= (unsigned)table->extent[axis];
    for (unsigned i = 0; i < n; i++)
        entries[i] =
            tgi_llvm_const_i64(k->program, known_offset(table, (int64_t)i));
    LLVMTypeRef type = LLVMArrayType2(k->program->i64, n);
    LLVMValueRef global = LLVMAddGlobal(k->e->module, type, name);
    LLVMSetInitializer(global, LLVMConstArray2(k->program->i64, entries, n));
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    return global;
}

static LLVMValueRef table_memory(tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_offset_table *table = &k->loops->offsets.data[number];
    if (!tgi_buffer_id_is_none(table->memory))
        return tgi_llvm_buffer(k, tgi_buffer_id_index(table->memory));
    if (!k->offset_tables[number])
        k->offset_tables[number] = constant_table(k, number);
    return k->offset_tables[number];
}

LLVMValueRef tgi_llvm_offset_address(tgi_llvm_kernel *k, uint32_t table,
                                     LLVMValueRef index)
{
    return LLVMBuildGEP2(k->b, k->program->i64, table_memory(k, table), &index,
                         1, "");
}

LLVMValueRef tgi_llvm_offset(tgi_llvm_kernel *k, uint32_t table)
{
    const tgi_offset_table *t = &k->loops->offsets.data[table];
    LLVMValueRef index = k->index[k->schedule->inner];
    int64_t n;
    if (tgi_buffer_id_is_none(t->memory) && tgi_llvm_is_const_i64(index, &n))
        return tgi_llvm_const_i64(k->program, known_offset(t, n));
    return LLVMBuildLoad2(k->b, k->program->i64,
                          tgi_llvm_offset_address(k, table, index), "");
}

/* Emits the loops from `axis` on. The entries so far are `position`, their
   offset is `offset`. */
static void fill_table(tgi_llvm_kernel *k, uint32_t number, int axis,
                       LLVMValueRef position, LLVMValueRef offset)
{
    const tgi_llvm_program *program = k->program;
    const tgi_offset_table *table = &k->loops->offsets.data[number];
    if (axis == table->n_axes) {
        LLVMBuildStore(k->b, offset,
                       tgi_llvm_offset_address(k, number, position));
        return;
    }
    tgi_llvm_loop loop;
    LLVMValueRef extent = tgi_llvm_dim(k, table->extent[axis]);
    LLVMValueRef stride = tgi_llvm_stride(k, table->stride[axis]);
    tgi_llvm_loop_begin(k, &loop, tgi_llvm_const_i64(program, 0), extent, 1,
                        NULL, 0);
    fill_table(
        k, number, axis + 1,
        tgi_llvm_add(program, tgi_llvm_mul(program, position, extent),
                     loop.index),
        tgi_llvm_add(program, offset,
                     tgi_llvm_mul(program, stride, loop.index)));
    tgi_llvm_loop_end(k, &loop, NULL);
}

void tgi_llvm_offset_tables_emit(tgi_llvm_kernel *k)
{
    LLVMValueRef zero = tgi_llvm_const_i64(k->program, 0);
    for (uint32_t i = 0; i < k->loops->offsets.n; i++)
        if (!tgi_buffer_id_is_none(k->loops->offsets.data[i].memory))
            fill_table(k, i, 0, zero, zero);
}
