/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission_function.c - parts as functions
 *
 *     void part(void *array or scalar …, i64 n)
 *
 * Equal parts, anywhere in a program, share one function. So compile time grows
 * with the number of different parts. The cost of one call per strip is
 * negligible.
 *
 * Parts are equal if their keys are: a list of words that encodes each inst and
 * the origins of its operands.
 */
#include "llvm/emit/llvm_debug.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_inst.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_target.h"
#include "llvm/loops/llvm_fission.h"

#include <string.h>

enum { MAX_KEY_WORDS = 512, MAX_ARGUMENTS = 32 };

/* Arguments of a function; `number` is that of an access or inst. */
typedef enum argument_kind {
    LOADED, /* elements through an access */
    STORED,
    SLOT_READ,    /* values of an inst of an earlier part */
    SLOT_WRITTEN, /* values of an inst of this part */
    SCALAR        /* a uniform operand */
} argument_kind;

typedef struct argument {
    uint8_t kind;
    uint32_t number;
} argument;

typedef struct function_key {
    uint32_t n_words, n_arguments;
    bool is_unsupported;
    uint64_t words[MAX_KEY_WORDS];
    argument arguments[MAX_ARGUMENTS];
} function_key;

struct tgi_llvm_fission_functions {
    struct tgi_llvm_fission_functions *next;
    LLVMValueRef function;
    LLVMTypeRef type;
    uint32_t n_words;
    uint64_t words[];
};

/* -- Keys ------------------------------------------------------------------ */

/* Origin of an operand: the upper half of its first word. */
enum { FROM_ARGUMENT = 1, FROM_PART, FROM_CONSTANT };

static void key_add(function_key *key, uint64_t word)
{
    if (key->n_words < MAX_KEY_WORDS)
        key->words[key->n_words++] = word;
    else
        key->is_unsupported = true;
}

static void key_add_argument(function_key *key, argument_kind kind,
                             uint32_t number, int dtype)
{
    uint32_t i = 0;
    while (i < key->n_arguments && (key->arguments[i].kind != kind ||
                                    key->arguments[i].number != number))
        i++;
    if (i == MAX_ARGUMENTS) {
        key->is_unsupported = true;
        return;
    }
    if (i == key->n_arguments)
        key->arguments[key->n_arguments++] =
            (argument){.kind = (uint8_t)kind, .number = number};
    key_add(key, (uint64_t)FROM_ARGUMENT << 32 | (uint64_t)kind << 16 |
                     (uint64_t)dtype);
    key_add(key, i);
}

static void key_add_operand(const tgi_llvm_fission *s, uint32_t part,
                            uint32_t operand, function_key *key)
{
    const tgi_inst *inst = tgi_llvm_fission_inst_at(s, operand);
    if (tgi_llvm_fission_in_part(s, operand, part)) {
        key_add(key, (uint64_t)FROM_PART << 32 | s->insts[operand].local);
    } else if (inst->kind == TGI_INST_CONSTANT) {
        key_add(key, (uint64_t)FROM_CONSTANT << 32 | inst->dtype);
        key_add(key, inst->bits);
    } else if (!tgi_llvm_fission_in_body(s, operand)) {
        key_add_argument(key, SCALAR, operand, inst->dtype);
    } else if (inst->kind == TGI_INST_LOAD) {
        key_add_argument(key, LOADED, inst->number, inst->dtype);
    } else if (inst->kind == TGI_INST_POSITION) {
        key->is_unsupported = true; /* depends on the strip */
    } else {
        key_add_argument(key, SLOT_READ, operand, inst->dtype);
    }
}

static void key_add_inst(const tgi_llvm_fission *s, uint32_t part,
                         uint32_t number, function_key *key)
{
    const tgi_inst *inst = tgi_llvm_fission_inst_at(s, number);
    if (inst->kind != TGI_INST_OP && inst->kind != TGI_INST_CAST)
        key->is_unsupported = true; /* not defined by its operands alone */
    key_add(key, (uint64_t)inst->kind | (uint64_t)inst->op << 8 |
                     (uint64_t)inst->dtype << 16 | (uint64_t)inst->type << 24);
    for (int i = 0; i < inst->n_operands; i++)
        key_add_operand(s, part, inst->operands[i], key);
    if (tgi_llvm_fission_placed(s, number)->slot)
        key_add_argument(key, SLOT_WRITTEN, number, inst->dtype);
}

/* False if the part cannot be a function. */
static bool make_key(tgi_llvm_fission *s, uint32_t part, function_key *key)
{
    const tgi_kernel_loops *loops = s->k->loops;
    uint32_t n = 0;
    key->n_words = key->n_arguments = 0;
    key->is_unsupported = false;
    key_add(key, (uint64_t)tgi_llvm_vector_bits(s->k) << 32 | s->lanes);
    for (uint32_t i = 1; i < loops->insts.n && !key->is_unsupported; i++)
        if (tgi_llvm_fission_in_part(s, i, part)) {
            s->insts[i].local = ++n;
            key_add_inst(s, part, i, key);
        }
    if (part == s->plan->n_parts - 1)
        for (size_t i = 0; i < loops->stores.n; i++) {
            const tgi_loop_store *store = &loops->stores.data[i];
            if (!tgi_llvm_fission_has_store(s, store))
                continue;
            key_add_operand(s, part, store->value, key);
            key_add_argument(
                key, STORED, store->access,
                (int)tgi_llvm_fission_access_dtype(s, store->access));
        }
    return !key->is_unsupported;
}

/* -- Functions ------------------------------------------------------------- */

/* The place in `s` that holds the address of an array. */
static LLVMValueRef *array_place(tgi_llvm_fission *s, const argument *a)
{
    return a->kind == LOADED || a->kind == STORED
               ? &s->row_starts[a->number]
               : &s->slots[tgi_llvm_fission_placed(s, a->number)->slot - 1];
}

/* The loop of a part finds its operands in `s` and in the values of the kernel,
   so parameters replace those while the function is emitted. */
static void define_function(tgi_llvm_fission *s, uint32_t part,
                            const function_key *key, LLVMValueRef function)
{
    LLVMValueRef arrays[MAX_ARGUMENTS];
    tgi_llvm_value scalars[MAX_ARGUMENTS];
    LLVMBasicBlockRef block = LLVMGetInsertBlock(s->k->b);
    tgi_llvm_kernel inner = *s->k;
    tgi_llvm_fission callee = *s;
    callee.k = &inner;
    inner.function = function;
    inner.entry = tgi_llvm_block_append(&inner, "entry");
    inner.splat_lanes = s->lanes;
    const tgi_llvm_debug_place before =
        tgi_llvm_debug_enter_shared(s->k, function);
    LLVMPositionBuilderAtEnd(inner.b, inner.entry);
    for (uint32_t i = 0; i < key->n_arguments; i++) {
        const argument *a = &key->arguments[i];
        LLVMValueRef parameter = LLVMGetParam(function, i);
        if (a->kind != SCALAR) {
            arrays[i] = *array_place(s, a);
            *array_place(s, a) = parameter;
            continue;
        }
        tgi_llvm_value *value = &inner.values[a->number];
        scalars[i] = *value;
        value->mask = value->splat = value->splat_mask = NULL;
        value->value = LLVMBuildLoad2(
            inner.b,
            tgi_llvm_element_type(
                inner.e, tgi_llvm_fission_inst_at(s, a->number)->dtype),
            parameter, "");
        value->splat = tgi_llvm_value_of(&inner, a->number);
    }
    callee.at = tgi_llvm_const_i64(inner.program, 0);
    callee.n = LLVMGetParam(function, key->n_arguments);
    tgi_llvm_fission_loop_emit(&callee, part);
    LLVMBuildRetVoid(inner.b);
    tgi_llvm_debug_leave(s->k->program, before);
    LLVMPositionBuilderAtEnd(inner.b, block);
    for (uint32_t i = key->n_arguments; i-- > 0;)
        if (key->arguments[i].kind == SCALAR)
            inner.values[key->arguments[i].number] = scalars[i];
        else
            *array_place(s, &key->arguments[i]) = arrays[i];
}

static LLVMTypeRef function_type(const tgi_llvm_program *program,
                                 const function_key *key)
{
    LLVMTypeRef parameters[MAX_ARGUMENTS + 1];
    for (uint32_t i = 0; i < key->n_arguments; i++)
        parameters[i] = program->pointer;
    parameters[key->n_arguments] = program->i64;
    return LLVMFunctionType(program->void_type, parameters,
                            key->n_arguments + 1, false);
}

static struct tgi_llvm_fission_functions *
add_function(tgi_llvm_fission *s, uint32_t part, const function_key *key)
{
    tgi_llvm_program *program = s->k->program;
    const size_t bytes = key->n_words * sizeof(key->words[0]);
    struct tgi_llvm_fission_functions *shared =
        program->alloc(sizeof(*shared) + bytes);
    if (!shared) {
        tgi_llvm_fail_memory(program);
        return NULL;
    }
    shared->n_words = key->n_words;
    memcpy(shared->words, key->words, bytes);
    shared->type = function_type(program, key);
    shared->function =
        LLVMAddFunction(s->k->e->module, "tg_fission_part", shared->type);
    LLVMSetLinkage(shared->function, LLVMInternalLinkage);
    tgi_llvm_target_set_function(program->target, shared->function,
                                 tgi_llvm_vector_bits(s->k));
    shared->next = program->fission_functions;
    program->fission_functions = shared;
    define_function(s, part, key, shared->function);
    return shared;
}

static struct tgi_llvm_fission_functions *
find_function(const tgi_llvm_program *program, const function_key *key)
{
    struct tgi_llvm_fission_functions *shared = program->fission_functions;
    while (shared && (shared->n_words != key->n_words ||
                      memcmp(shared->words, key->words,
                             key->n_words * sizeof(key->words[0]))))
        shared = shared->next;
    return shared;
}

void tgi_llvm_fission_functions_free(tgi_llvm_program *program)
{
    while (program->fission_functions) {
        struct tgi_llvm_fission_functions *next =
            program->fission_functions->next;
        program->free(program->fission_functions);
        program->fission_functions = next;
    }
}

/* -- Calls ----------------------------------------------------------------- */

bool tgi_llvm_fission_is_function(const tgi_llvm_fission *s, uint32_t part)
{
    for (uint32_t i = 1; i < s->k->loops->insts.n; i++)
        if (tgi_llvm_fission_in_part(s, i, part))
            return tgi_llvm_fission_placed(s, i)->is_function;
    return s->plan->last_is_function; /* it has no insts, but stores */
}

static void store_scalar(tgi_llvm_fission *s, uint32_t inst)
{
    tgi_llvm_kernel *k = s->k;
    if (tgi_llvm_fission_in_body(s, inst) || s->scalars[inst] ||
        tgi_llvm_fission_inst_at(s, inst)->kind == TGI_INST_CONSTANT)
        return;
    s->scalars[inst] = tgi_llvm_stack_array(
        k,
        tgi_llvm_element_type(k->e, tgi_llvm_fission_inst_at(s, inst)->dtype),
        1);
    LLVMBuildStore(k->b, tgi_llvm_value_of(k, inst), s->scalars[inst]);
}

void tgi_llvm_fission_scalars_store(tgi_llvm_fission *s)
{
    tgi_llvm_kernel *k = s->k;
    const unsigned lanes = k->e->lanes;
    k->e->lanes = 1;
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        if (!tgi_llvm_fission_in_body(s, i) ||
            !tgi_llvm_fission_placed(s, i)->is_function)
            continue;
        for (int j = 0; j < tgi_llvm_fission_inst_at(s, i)->n_operands; j++)
            store_scalar(s, tgi_llvm_fission_inst_at(s, i)->operands[j]);
    }
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (tgi_llvm_fission_has_store(s, &k->loops->stores.data[i]) &&
            s->plan->last_is_function)
            store_scalar(s, k->loops->stores.data[i].value);
    k->e->lanes = lanes;
}

static LLVMValueRef argument_address(tgi_llvm_fission *s, const argument *a)
{
    tgi_llvm_kernel *k = s->k;
    if (a->kind == SCALAR)
        return s->scalars[a->number];
    LLVMValueRef array = *array_place(s, a);
    if (a->kind != LOADED && a->kind != STORED)
        return array;
    return LLVMBuildGEP2(k->b,
                         tgi_llvm_element_type(
                             k->e, tgi_llvm_fission_access_dtype(s, a->number)),
                         array, &s->at, 1, "");
}

bool tgi_llvm_fission_call_emit(tgi_llvm_fission *s, uint32_t part)
{
    tgi_llvm_kernel *k = s->k;
    function_key key;
    if (!make_key(s, part, &key))
        return false;
    struct tgi_llvm_fission_functions *shared = find_function(k->program, &key);
    if (!shared)
        shared = add_function(s, part, &key);
    if (!shared)
        return true; /* out of memory: the compile fails */
    LLVMValueRef arguments[MAX_ARGUMENTS + 1];
    for (uint32_t i = 0; i < key.n_arguments; i++)
        arguments[i] = argument_address(s, &key.arguments[i]);
    arguments[key.n_arguments] = s->n;
    tgi_llvm_debug_call(k, shared->function);
    LLVMBuildCall2(k->b, shared->type, shared->function, arguments,
                   key.n_arguments + 1, "");
    return true;
}
