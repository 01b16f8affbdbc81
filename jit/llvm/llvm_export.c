/* SPDX-License-Identifier: MIT */
/*
 * llvm_export.c - the exported C function of an ahead-of-time object. It takes
 * plain parameters, builds the frame on its stack, runs the entry under the
 * floating-point mode of fpenv.c, and returns 0, or 1 if a check failed.
 *
 * The object is self-contained: it holds constants and static temporaries. Its
 * only undefined symbol is TGI_AOT_RUN (entry_abi.h), if it runs a team.
 */
#include "llvm/llvm_export.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_target.h"

#include "base/alloc.h"
#include "codegen/entry_abi.h"

typedef struct exporter {
    tgi_llvm_kernel k; /* only the members that llvm_flow.c uses */
    const tgi_codegen_export *export;
    LLVMValueRef frame;
    LLVMValueRef memory; /* of temporaries; NULL: there are none */
    LLVMValueRef empty;  /* the address of empty buffers; NULL: not added yet */
} exporter;

static LLVMTypeRef bytes_type(const exporter *x, int64_t bytes)
{
    return LLVMArrayType2(LLVMInt8TypeInContext(x->k.e->context),
                          (uint64_t)bytes);
}

static LLVMTypeRef scalar_type(const exporter *x, int dtype)
{
    LLVMContextRef context = x->k.e->context;
    switch (dtype) {
    case TG_F32:
        return LLVMFloatTypeInContext(context);
    case TG_F64:
        return LLVMDoubleTypeInContext(context);
    default:
        return LLVMIntTypeInContext(context,
                                    8 * (unsigned)tgi_dtype_bytes(dtype));
    }
}

/* -- Globals --------------------------------------------------------------- */

static LLVMValueRef add_global(exporter *x, LLVMValueRef contents,
                               bool is_constant, const char *name)
{
    LLVMValueRef global =
        LLVMAddGlobal(x->k.e->module, LLVMTypeOf(contents), name);
    LLVMSetInitializer(global, contents);
    LLVMSetGlobalConstant(global, is_constant);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetAlignment(global, TGI_BUFFER_ALIGN);
    return global;
}

static LLVMValueRef add_zeros(exporter *x, int64_t bytes, const char *name)
{
    return add_global(x, LLVMConstNull(bytes_type(x, bytes)), false, name);
}

static void find_temporaries(exporter *x)
{
    const tgi_codegen_export *export = x->export;
    if (export->takes_memory)
        x->memory = LLVMGetParam(x->k.function, (unsigned)export->n_params);
    else if (export->memory_bytes)
        x->memory = add_zeros(x, export->memory_bytes, "memory");
}

/* -- The frame ------------------------------------------------------------- */

static LLVMValueRef add_alloca(exporter *x, LLVMTypeRef type)
{
    return LLVMBuildAlloca(x->k.b, type, "");
}

static LLVMValueRef param_address(exporter *x, uint32_t number)
{
    LLVMValueRef param = LLVMGetParam(x->k.function, number);
    const tgi_export_param *p = &x->export->params[number];
    if (!p->is_by_value)
        return param;
    LLVMValueRef slot = add_alloca(x, scalar_type(x, p->dtype));
    LLVMBuildStore(x->k.b, param, slot);
    return slot;
}

static LLVMValueRef buffer_address(exporter *x, const tgi_export_buffer *buffer)
{
    LLVMContextRef context = x->k.e->context;
    switch ((tgi_export_storage)buffer->place) {
    case TGI_EXPORT_PARAM:
        return param_address(x, buffer->param);
    case TGI_EXPORT_MEMORY: {
        LLVMValueRef offset = tgi_llvm_const_i64(x->k.program, buffer->offset);
        return LLVMBuildGEP2(x->k.b, LLVMInt8TypeInContext(context), x->memory,
                             &offset, 1, "");
    }
    case TGI_EXPORT_DATA:
        return add_global(x,
                          LLVMConstStringInContext(context, buffer->data,
                                                   (unsigned)buffer->bytes,
                                                   true),
                          true, "constant");
    case TGI_EXPORT_NONE:
        break;
    }
    if (!x->empty)
        x->empty = add_zeros(x, TGI_BUFFER_ALIGN, "empty");
    return x->empty;
}

static void set_member(exporter *x, tgi_frame_member member, LLVMValueRef value)
{
    LLVMBuildStore(x->k.b, value,
                   tgi_llvm_frame_address(x->k.program, x->frame, member));
}

/* Leaves unset the members that only teams and host steps use. */
static void emit_frame(exporter *x)
{
    const tgi_llvm_program *program = x->k.program;
    const size_t n = program->loops->buffers.n;
    LLVMTypeRef array = LLVMArrayType2(program->pointer, n);
    x->frame = add_alloca(x, bytes_type(x, sizeof(tgi_frame)));
    LLVMSetAlignment(x->frame, _Alignof(tgi_frame));
    LLVMValueRef buffers = add_alloca(x, array);
    for (size_t i = 0; i < n; i++) {
        LLVMValueRef index = tgi_llvm_const_i64(program, (int64_t)i);
        LLVMValueRef address = buffer_address(x, &x->export->buffers[i]);
        LLVMBuildStore(
            x->k.b, address,
            LLVMBuildGEP2(x->k.b, program->pointer, buffers, &index, 1, ""));
    }
    set_member(x, TGI_FRAME_BUFFERS, buffers);
    set_member(x, TGI_FRAME_DIMS, LLVMConstNull(program->pointer));
    set_member(x, TGI_FRAME_GRAIN,
               tgi_llvm_const_i64(program, x->export->grain));
    set_member(x, TGI_FRAME_FAILED_CHECK, tgi_llvm_const_i64(program, 0));
}

/* -- The floating-point mode ----------------------------------------------- */

/* Returns the current mode, and sets `wanted` if it differs. */
static LLVMValueRef exchange_fp_mode(exporter *x, LLVMValueRef slot,
                                     LLVMValueRef wanted)
{
    const tgi_llvm_isa *isa = x->k.e->isa;
    LLVMBuilderRef b = x->k.b;
    LLVMTypeRef i32 = x->k.program->i32;
    LLVMValueRef control = LLVMConstInt(i32, isa->fp_control, false);
    isa->save_fp_mode(b, slot);
    LLVMValueRef now = LLVMBuildLoad2(b, i32, slot, "");
    LLVMValueRef change =
        LLVMBuildAnd(b, LLVMBuildXor(b, now, wanted, ""), control, "");
    tgi_llvm_branch differs;
    tgi_llvm_branch_begin(
        &x->k, &differs,
        LLVMBuildICmp(b, LLVMIntNE, change, LLVMConstNull(i32), ""));
    LLVMBuildStore(b, LLVMBuildXor(b, now, change, ""), slot);
    isa->restore_fp_mode(b, slot);
    tgi_llvm_branch_end(&x->k, &differs);
    return now;
}

/* -- The function ---------------------------------------------------------- */

/* Renames an internal symbol that has the name of the exported function. */
static void reserve_symbol(exporter *x, const char *symbol)
{
    static const char other[] = "tg_internal";
    LLVMValueRef function = LLVMGetNamedFunction(x->k.e->module, symbol);
    LLVMValueRef global = LLVMGetNamedGlobal(x->k.e->module, symbol);
    if (function)
        LLVMSetValueName2(function, other, sizeof(other) - 1);
    if (global)
        LLVMSetValueName2(global, other, sizeof(other) - 1);
}

static LLVMValueRef declare_function(exporter *x)
{
    const tgi_codegen_export *export = x->export;
    tgi_llvm_program *program = x->k.program;
    const unsigned n =
        (unsigned)export->n_params + (export->takes_memory ? 1 : 0);
    LLVMTypeRef *types = program->alloc((n + 1) * sizeof(LLVMTypeRef));
    if (!types) {
        tgi_llvm_fail_memory(program);
        return NULL;
    }
    for (unsigned i = 0; i < n; i++)
        types[i] = i < export->n_params && export->params[i].is_by_value
                       ? scalar_type(x, export->params[i].dtype)
                       : program->pointer;
    reserve_symbol(x, export->symbol);
    LLVMValueRef function =
        LLVMAddFunction(x->k.e->module, export->symbol,
                        LLVMFunctionType(program->i32, types, n, false));
    program->free(types);
    tgi_llvm_target_set_function(program->target, function,
                                 TGI_LLVM_ENTRY_BITS);
    /* So that a shared library can export it. */
    LLVMSetVisibility(function, LLVMDefaultVisibility);
    return function;
}

static void emit_team_call(exporter *x, LLVMValueRef entry, int n_threads)
{
#define TEXT_OF(name) #name
#define NAME_OF(macro) TEXT_OF(macro)
    const tgi_llvm_program *program = x->k.program;
    LLVMTypeRef parameters[] = {program->pointer, program->pointer,
                                program->i32};
    LLVMTypeRef type =
        LLVMFunctionType(program->void_type, parameters, 3, false);
    LLVMValueRef run =
        LLVMAddFunction(x->k.e->module, NAME_OF(TGI_AOT_RUN), type);
    LLVMValueRef arguments[] = {
        entry, x->frame,
        LLVMConstInt(program->i32, (unsigned)n_threads, false)};
    LLVMBuildCall2(x->k.b, type, run, arguments, 3, "");
#undef NAME_OF
#undef TEXT_OF
}

static void emit_entry_call(exporter *x, LLVMValueRef entry)
{
    const int n_threads = x->export->n_threads;
    const tgi_llvm_program *program = x->k.program;
    LLVMValueRef arguments[] = {x->frame, tgi_llvm_const_i64(program, 0),
                                tgi_llvm_const_i64(program, 1)};
    if (n_threads > 1)
        emit_team_call(x, entry, n_threads);
    else
        LLVMBuildCall2(x->k.b, LLVMGlobalGetValueType(entry), entry, arguments,
                       3, "");
}

bool tgi_llvm_export_define(tgi_llvm_program *program, LLVMValueRef entry,
                            const tgi_codegen_export *export)
{
    tgi_llvm_emitter *e = &program->emitter;
    exporter x = {.k = {.program = program, .e = e, .b = e->builder},
                  .export = export};
    x.k.function = declare_function(&x);
    if (!x.k.function)
        return false;
    LLVMSetLinkage(entry, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(e->builder, tgi_llvm_block_append(&x.k, ""));
    find_temporaries(&x);
    LLVMValueRef mode_slot = add_alloca(&x, program->i32);
    emit_frame(&x);
    LLVMValueRef before = exchange_fp_mode(
        &x, mode_slot, LLVMConstInt(program->i32, e->isa->fp_mode, false));
    emit_entry_call(&x, entry);
    exchange_fp_mode(&x, mode_slot, before);
    LLVMValueRef failed =
        tgi_llvm_frame_load(program, x.frame, TGI_FRAME_FAILED_CHECK);
    LLVMBuildRet(
        e->builder,
        LLVMBuildZExt(e->builder,
                      LLVMBuildICmp(e->builder, LLVMIntNE, failed,
                                    tgi_llvm_const_i64(program, 0), ""),
                      program->i32, ""));
    return true;
}
