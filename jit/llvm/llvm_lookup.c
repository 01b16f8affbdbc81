/* SPDX-License-Identifier: MIT */
/*
 * llvm_lookup.c - tables of constants. A table of up to 16 floats stands in
 * one or two vectors and is looked up by a permutation: one instruction for 8
 * lanes, where loads take 8 and as many to put them together. Any other is a
 * private constant of the module, read lane by lane: a gather instruction is
 * not faster, and LLVM's own way without one takes the lanes of the index out
 * again for every table.
 */
#include "llvm/llvm_lookup.h"
#include "llvm/llvm_emit.h"

#include <string.h>

enum { PERMUTED = 8 }; /* lanes, and elements of a table, of vpermps */

static LLVMValueRef element(const tgi_llvm_emitter *e, tg_dtype dtype,
                            const void *table, size_t i)
{
    const size_t bytes = (size_t)tgi_dtype_bytes((int)dtype);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)table + i * bytes, bytes);
    return tgi_llvm_scalar_constant(e, dtype, bits);
}

static LLVMValueRef i32(const tgi_llvm_emitter *e, uint64_t value)
{
    return tgi_llvm_scalar_constant(e, TG_U32, value);
}

/* -- By permutation -------------------------------------------------------- */

/* n lanes of x from `first` on; those past its end are anything. */
static LLVMValueRef lanes_of(const tgi_llvm_emitter *e, LLVMValueRef x,
                             unsigned first, unsigned n)
{
    const unsigned n_lanes = LLVMGetVectorSize(LLVMTypeOf(x));
    LLVMValueRef lanes[PERMUTED];
    for (unsigned i = 0; i < n; i++)
        lanes[i] = first + i < n_lanes
                       ? i32(e, first + i)
                       : LLVMGetPoison(LLVMInt32TypeInContext(e->context));
    return LLVMBuildShuffleVector(e->builder, x, LLVMGetPoison(LLVMTypeOf(x)),
                                  LLVMConstVector(lanes, n), "");
}

/* Elements of the table, from `first` on, by the low bits of 8 indices. */
static LLVMValueRef permuted(const tgi_llvm_emitter *e, const float *table,
                             size_t first, size_t n, LLVMValueRef index)
{
    LLVMValueRef elements[PERMUTED];
    for (size_t i = 0; i < PERMUTED; i++)
        elements[i] = first + i < n ? element(e, TG_F32, table, first + i)
                                    : LLVMGetPoison(e->floats[0]);
    static const char name[] = "llvm.x86.avx2.permps";
    const unsigned id = LLVMLookupIntrinsicID(name, sizeof(name) - 1);
    return LLVMBuildCall2(
        e->builder, LLVMIntrinsicGetType(e->context, id, NULL, 0),
        LLVMGetIntrinsicDeclaration(e->module, id, NULL, 0),
        (LLVMValueRef[]){LLVMConstVector(elements, PERMUTED), index}, 2, "");
}

static LLVMValueRef look_up_eight(const tgi_llvm_emitter *e, const float *table,
                                  size_t n, LLVMValueRef index)
{
    LLVMValueRef found = permuted(e, table, 0, n, index);
    if (n <= PERMUTED)
        return found;
    LLVMValueRef limit[PERMUTED];
    for (int i = 0; i < PERMUTED; i++)
        limit[i] = i32(e, PERMUTED);
    LLVMValueRef is_first = LLVMBuildICmp(e->builder, LLVMIntSLT, index,
                                          LLVMConstVector(limit, PERMUTED), "");
    return LLVMBuildSelect(e->builder, is_first, found,
                           permuted(e, table, PERMUTED, n, index), "");
}

static LLVMValueRef look_up_permuted(const tgi_llvm_emitter *e,
                                     const float *table, size_t n,
                                     LLVMValueRef index)
{
    LLVMValueRef pieces[TGI_LLVM_MAX_LANES / PERMUTED];
    unsigned n_pieces = 0;
    for (unsigned i = 0; i < e->lanes; i += PERMUTED)
        pieces[n_pieces++] =
            look_up_eight(e, table, n, lanes_of(e, index, i, PERMUTED));
    if (e->lanes < PERMUTED)
        return lanes_of(e, pieces[0], 0, e->lanes);

    /* Joined two by two: their number is a power of two. */
    LLVMValueRef all[TGI_LLVM_MAX_LANES];
    for (unsigned i = 0; i < e->lanes; i++)
        all[i] = i32(e, i);
    for (unsigned n_lanes = PERMUTED; n_pieces > 1; n_lanes *= 2) {
        n_pieces /= 2;
        for (unsigned i = 0; i < n_pieces; i++)
            pieces[i] = LLVMBuildShuffleVector(
                e->builder, pieces[2 * i], pieces[2 * i + 1],
                LLVMConstVector(all, 2 * n_lanes), "");
    }
    return pieces[0];
}

/* -- In memory ------------------------------------------------------------- */

/* As bytes: host and target are the same machine. */
static LLVMValueRef new_global(tgi_llvm_emitter *e, const void *table,
                               size_t bytes)
{
    LLVMValueRef contents = LLVMConstStringInContext(
        e->context, table, (unsigned)bytes, /* no NUL */ true);
    LLVMValueRef global =
        LLVMAddGlobal(e->module, LLVMTypeOf(contents), "table");
    LLVMSetInitializer(global, contents);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, 8);
    return global;
}

static LLVMValueRef global_of(tgi_llvm_emitter *e, const void *table,
                              size_t bytes)
{
    for (int i = 0; i < e->n_tables; i++)
        if (e->tables[i].table == table)
            return e->tables[i].global;
    LLVMValueRef global = new_global(e, table, bytes);
    if (e->n_tables < TGI_LLVM_MAX_TABLES) {
        e->tables[e->n_tables].table = table;
        e->tables[e->n_tables++].global = global;
    }
    return global;
}

static LLVMValueRef loaded(const tgi_llvm_emitter *e, LLVMTypeRef type,
                           LLVMValueRef global, LLVMValueRef index)
{
    LLVMValueRef address =
        LLVMBuildGEP2(e->builder, type, global, &index, 1, "");
    return LLVMBuildLoad2(e->builder, type, address, "");
}

LLVMValueRef tgi_llvm_lookup(tgi_llvm_emitter *e, tg_dtype dtype,
                             const void *table, size_t n, LLVMValueRef index)
{
    if (dtype == TG_F32 && n <= 2 * PERMUTED && e->lanes > 1)
        return look_up_permuted(e, table, n, index);
    LLVMTypeRef type = tgi_llvm_element_type(e, dtype);
    LLVMValueRef global =
        global_of(e, table, n * (size_t)tgi_dtype_bytes((int)dtype));
    if (e->lanes == 1)
        return loaded(e, type, global, index);
    LLVMValueRef found = LLVMGetPoison(tgi_llvm_type(e, dtype));
    for (unsigned i = 0; i < e->lanes; i++) {
        LLVMValueRef lane = i32(e, i);
        LLVMValueRef at = LLVMBuildExtractElement(e->builder, index, lane, "");
        found = LLVMBuildInsertElement(e->builder, found,
                                       loaded(e, type, global, at), lane, "");
    }
    return found;
}
