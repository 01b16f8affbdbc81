/* SPDX-License-Identifier: MIT */
/*
 * llvm_lookup.c - tables of constants. A table of up to 16 floats is one or two
 * vectors, looked up by a permutation: one instruction for 8 lanes instead of 8
 * loads and 8 inserts. Other tables are private constants of the module, loaded
 * lane by lane: a gather instruction is not faster, nor is LLVM's scalarised
 * gather (tgi_llvm_quirk_permutes_table).
 */
#include "llvm/emit/llvm_lookup.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_quirks.h"

#include <string.h>

enum { PERMUTE_LANES = TGI_LLVM_PERMUTE_LANES };

static LLVMValueRef table_element(const tgi_llvm_emitter *e, tg_dtype dtype,
                                  const void *table, size_t i)
{
    const size_t bytes = (size_t)tgi_dtype_bytes((int)dtype);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)table + i * bytes, bytes);
    return tgi_llvm_scalar_constant(e, dtype, bits);
}

static LLVMValueRef i32_constant(const tgi_llvm_emitter *e, uint64_t value)
{
    return tgi_llvm_scalar_constant(e, TG_U32, value);
}

/* -- By permutation -------------------------------------------------------- */

/* n lanes of x from `first` on; poison past its end. */
static LLVMValueRef lanes_of(const tgi_llvm_emitter *e, LLVMValueRef x,
                             unsigned first, unsigned n)
{
    const unsigned n_lanes = LLVMGetVectorSize(LLVMTypeOf(x));
    LLVMValueRef lanes[PERMUTE_LANES];
    for (unsigned i = 0; i < n; i++)
        lanes[i] = first + i < n_lanes
                       ? i32_constant(e, first + i)
                       : LLVMGetPoison(LLVMInt32TypeInContext(e->context));
    return LLVMBuildShuffleVector(e->builder, x, LLVMGetPoison(LLVMTypeOf(x)),
                                  LLVMConstVector(lanes, n), "");
}

/* Looks up 8 indices, by their low 3 bits, in the 8 elements from `first`
   on. */
static LLVMValueRef permute_eight(const tgi_llvm_emitter *e, const float *table,
                                  size_t first, size_t n, LLVMValueRef index)
{
    LLVMValueRef elements[PERMUTE_LANES];
    for (size_t i = 0; i < PERMUTE_LANES; i++)
        elements[i] = first + i < n ? table_element(e, TG_F32, table, first + i)
                                    : LLVMGetPoison(e->floats[0]);
    return e->isa->permute(
        e->builder, LLVMConstVector(elements, PERMUTE_LANES), index);
}

static LLVMValueRef look_up_eight(const tgi_llvm_emitter *e, const float *table,
                                  size_t n, LLVMValueRef index)
{
    LLVMValueRef found = permute_eight(e, table, 0, n, index);
    if (n <= PERMUTE_LANES)
        return found;
    LLVMValueRef limit[PERMUTE_LANES];
    for (int i = 0; i < PERMUTE_LANES; i++)
        limit[i] = i32_constant(e, PERMUTE_LANES);
    LLVMValueRef is_first =
        LLVMBuildICmp(e->builder, LLVMIntSLT, index,
                      LLVMConstVector(limit, PERMUTE_LANES), "");
    return LLVMBuildSelect(e->builder, is_first, found,
                           permute_eight(e, table, PERMUTE_LANES, n, index),
                           "");
}

static LLVMValueRef look_up_by_permutation(const tgi_llvm_emitter *e,
                                           const float *table, size_t n,
                                           LLVMValueRef index)
{
    LLVMValueRef parts[TGI_MAX_LANES / PERMUTE_LANES];
    unsigned n_parts = 0;
    for (unsigned i = 0; i < e->lanes; i += PERMUTE_LANES)
        parts[n_parts++] =
            look_up_eight(e, table, n, lanes_of(e, index, i, PERMUTE_LANES));
    if (e->lanes < PERMUTE_LANES)
        return lanes_of(e, parts[0], 0, e->lanes);

    /* Concatenated pairwise: their number is a power of two. */
    LLVMValueRef all[TGI_MAX_LANES];
    for (unsigned i = 0; i < e->lanes; i++)
        all[i] = i32_constant(e, i);
    for (unsigned n_lanes = PERMUTE_LANES; n_parts > 1; n_lanes *= 2) {
        n_parts /= 2;
        for (unsigned i = 0; i < n_parts; i++)
            parts[i] = LLVMBuildShuffleVector(
                e->builder, parts[2 * i], parts[2 * i + 1],
                LLVMConstVector(all, 2 * n_lanes), "");
    }
    return parts[0];
}

/* -- In memory ------------------------------------------------------------- */

/* As bytes: host and target have the same byte order. */
static LLVMValueRef add_global(tgi_llvm_emitter *e, const void *table,
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

static LLVMValueRef table_global(tgi_llvm_emitter *e, const void *table,
                                 size_t bytes)
{
    for (int i = 0; i < e->n_tables; i++)
        if (e->tables[i].table == table)
            return e->tables[i].global;
    LLVMValueRef global = add_global(e, table, bytes);
    if (e->n_tables < TGI_LLVM_MAX_TABLES) {
        e->tables[e->n_tables].table = table;
        e->tables[e->n_tables++].global = global;
    }
    return global;
}

static LLVMValueRef load_element(const tgi_llvm_emitter *e, LLVMTypeRef type,
                                 LLVMValueRef global, LLVMValueRef index)
{
    LLVMValueRef address =
        LLVMBuildGEP2(e->builder, type, global, &index, 1, "");
    return LLVMBuildLoad2(e->builder, type, address, "");
}

LLVMValueRef tgi_llvm_lookup(tgi_llvm_emitter *e, tg_dtype dtype,
                             const void *table, size_t n, LLVMValueRef index)
{
    if (tgi_llvm_quirk_permutes_table(e, dtype, n))
        return look_up_by_permutation(e, table, n, index);
    LLVMTypeRef type = tgi_llvm_element_type(e, dtype);
    LLVMValueRef global =
        table_global(e, table, n * (size_t)tgi_dtype_bytes((int)dtype));
    if (e->lanes == 1)
        return load_element(e, type, global, index);
    LLVMValueRef found = LLVMGetPoison(tgi_llvm_type(e, dtype));
    for (unsigned i = 0; i < e->lanes; i++) {
        LLVMValueRef lane = i32_constant(e, i);
        LLVMValueRef at = LLVMBuildExtractElement(e->builder, index, lane, "");
        found = LLVMBuildInsertElement(
            e->builder, found, load_element(e, type, global, at), lane, "");
    }
    return found;
}
