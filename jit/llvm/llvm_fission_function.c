/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission_function.c - parts as functions
 *
 *     void part(void *array or scalar …, i64 n)
 *
 * of which those that do the same, anywhere in a program, are one. So what a
 * long graph costs to compile are its different parts, and a call is nothing
 * beside a part.
 *
 * Strips do the same if their *description* is the same: a list of numbers
 * that says what each inst is and where its operands come from.
 */
#include "llvm/llvm_fission.h"

#include <string.h>

enum { MOST_NUMBERS = 512, MOST_ARGUMENTS = 32 };

/* What a part gets from outside; `number` is that of an access or inst. */
typedef enum argument_kind {
    LOADED, /* elements through an access */
    STORED,
    FETCHED, /* values of an inst of an earlier part */
    KEPT,    /* room for those of one of its own */
    SCALAR   /* one for all lanes */
} argument_kind;

typedef struct argument {
    uint8_t kind;
    uint32_t number;
} argument;

typedef struct description {
    uint32_t n_numbers, n_arguments;
    bool is_too_long;
    uint64_t numbers[MOST_NUMBERS];
    argument arguments[MOST_ARGUMENTS];
} description;

struct tgi_llvm_fission_functions {
    struct tgi_llvm_fission_functions *next;
    LLVMValueRef function;
    LLVMTypeRef type;
    uint32_t n_numbers;
    uint64_t numbers[];
};

static const tgi_inst *inst_at(const tgi_llvm_fission *s, uint32_t number)
{
    return &s->k->loops->insts.data[number];
}

static bool is_store_of(const tgi_llvm_fission *s, const tgi_loop_store *store)
{
    return store->level == TGI_LEVEL_INNER && store->phase == s->phase;
}

static tg_dtype dtype_of_access(const tgi_llvm_fission *s, uint32_t access)
{
    const uint32_t buffer =
        tgi_buffer_id_index(s->k->loops->accesses.data[access].buffer);
    return s->k->program->loops->buffers.data[buffer].dtype;
}

/* -- Descriptions ---------------------------------------------------------- */

/* What numbers begin with that say where an operand comes from. */
enum { FROM_ARGUMENT = 1, FROM_STRIP, FROM_CONSTANT };

static void say(description *d, uint64_t number)
{
    if (d->n_numbers < MOST_NUMBERS)
        d->numbers[d->n_numbers++] = number;
    else
        d->is_too_long = true;
}

static void say_argument(description *d, argument_kind kind, uint32_t number,
                         int dtype)
{
    uint32_t i = 0;
    while (i < d->n_arguments &&
           (d->arguments[i].kind != kind || d->arguments[i].number != number))
        i++;
    if (i == MOST_ARGUMENTS) {
        d->is_too_long = true;
        return;
    }
    if (i == d->n_arguments)
        d->arguments[d->n_arguments++] =
            (argument){.kind = (uint8_t)kind, .number = number};
    say(d,
        (uint64_t)FROM_ARGUMENT << 32 | (uint64_t)kind << 16 | (uint64_t)dtype);
    say(d, i);
}

static void say_operand(const tgi_llvm_fission *s, uint32_t part,
                        uint32_t operand, description *d)
{
    const tgi_inst *inst = inst_at(s, operand);
    if (tgi_llvm_fission_in_part(s, operand, part)) {
        say(d, (uint64_t)FROM_STRIP << 32 | s->insts[operand].local);
    } else if (inst->kind == TGI_INST_CONSTANT) {
        say(d, (uint64_t)FROM_CONSTANT << 32 | inst->dtype);
        say(d, inst->bits);
    } else if (!tgi_llvm_fission_in_body(s, operand)) {
        say_argument(d, SCALAR, operand, inst->dtype);
    } else if (inst->kind == TGI_INST_LOAD) {
        say_argument(d, LOADED, inst->number, inst->dtype);
    } else if (inst->kind == TGI_INST_POSITION) {
        d->is_too_long = true; /* depends on where the part is */
    } else {
        say_argument(d, FETCHED, operand, inst->dtype);
    }
}

static void say_inst(const tgi_llvm_fission *s, uint32_t part, uint32_t number,
                     description *d)
{
    const tgi_inst *inst = inst_at(s, number);
    if (inst->kind != TGI_INST_OP && inst->kind != TGI_INST_CAST)
        d->is_too_long = true; /* has more to it than its operands */
    say(d, (uint64_t)inst->kind | (uint64_t)inst->op << 8 |
               (uint64_t)inst->dtype << 16 | (uint64_t)inst->type << 24);
    for (int i = 0; i < inst->n_operands; i++)
        say_operand(s, part, inst->operands[i], d);
    if (s->insts[number].slot)
        say_argument(d, KEPT, number, inst->dtype);
}

/* False: it cannot be a function. */
static bool describe(tgi_llvm_fission *s, uint32_t part, description *d)
{
    const tgi_kernel_loops *loops = s->k->loops;
    uint32_t n = 0;
    d->n_numbers = d->n_arguments = 0;
    d->is_too_long = false;
    say(d, s->lanes);
    for (uint32_t i = 1; i < loops->insts.n && !d->is_too_long; i++)
        if (tgi_llvm_fission_in_part(s, i, part)) {
            s->insts[i].local = ++n;
            say_inst(s, part, i, d);
        }
    if (part == s->n_parts - 1)
        for (size_t i = 0; i < loops->stores.n; i++) {
            const tgi_loop_store *store = &loops->stores.data[i];
            if (!is_store_of(s, store))
                continue;
            say_operand(s, part, store->value, d);
            say_argument(d, STORED, store->access,
                         (int)dtype_of_access(s, store->access));
        }
    return !d->is_too_long;
}

/* -- Functions ------------------------------------------------------------- */

/* Where the address of an array is looked up. */
static LLVMValueRef *array_of(tgi_llvm_fission *s, const argument *a)
{
    return a->kind == LOADED || a->kind == STORED
               ? &s->row_starts[a->number]
               : &s->slots[s->insts[a->number].slot - 1];
}

/* A part finds its arguments where it would find them outside, so they take
   that place for a while. */
static void define(tgi_llvm_fission *s, uint32_t part, const description *d,
                   LLVMValueRef function)
{
    LLVMValueRef arrays[MOST_ARGUMENTS];
    tgi_llvm_value scalars[MOST_ARGUMENTS];
    LLVMBasicBlockRef block = LLVMGetInsertBlock(s->k->b);
    tgi_llvm_kernel inner = *s->k;
    tgi_llvm_fission own = *s;
    own.k = &inner;
    inner.function = function;
    inner.entry = tgi_llvm_block_append(&inner, "entry");
    inner.splat_lanes = s->lanes;
    LLVMPositionBuilderAtEnd(inner.b, inner.entry);
    for (uint32_t i = 0; i < d->n_arguments; i++) {
        const argument *a = &d->arguments[i];
        LLVMValueRef parameter = LLVMGetParam(function, i);
        if (a->kind != SCALAR) {
            arrays[i] = *array_of(s, a);
            *array_of(s, a) = parameter;
            continue;
        }
        tgi_llvm_value *value = &inner.values[a->number];
        scalars[i] = *value;
        value->mask = value->splat = value->splat_mask = NULL;
        value->value = LLVMBuildLoad2(
            inner.b,
            tgi_llvm_element_type(inner.e, inst_at(s, a->number)->dtype),
            parameter, "");
        value->splat = tgi_llvm_value_of(&inner, a->number);
    }
    own.at = tgi_llvm_const_i64(inner.program, 0);
    own.n = LLVMGetParam(function, d->n_arguments);
    tgi_llvm_fission_loop_emit(&own, part);
    LLVMBuildRetVoid(inner.b);
    LLVMPositionBuilderAtEnd(inner.b, block);
    for (uint32_t i = d->n_arguments; i-- > 0;)
        if (d->arguments[i].kind == SCALAR)
            inner.values[d->arguments[i].number] = scalars[i];
        else
            *array_of(s, &d->arguments[i]) = arrays[i];
}

static LLVMTypeRef type_of(const tgi_llvm_program *program,
                           const description *d)
{
    LLVMTypeRef parameters[MOST_ARGUMENTS + 1];
    for (uint32_t i = 0; i < d->n_arguments; i++)
        parameters[i] = program->pointer;
    parameters[d->n_arguments] = program->i64;
    return LLVMFunctionType(program->void_type, parameters, d->n_arguments + 1,
                            false);
}

static struct tgi_llvm_fission_functions *
add(tgi_llvm_fission *s, uint32_t part, const description *d)
{
    tgi_llvm_program *program = s->k->program;
    const size_t bytes = d->n_numbers * sizeof(d->numbers[0]);
    struct tgi_llvm_fission_functions *shared =
        program->alloc(sizeof(*shared) + bytes);
    if (!shared) {
        program->is_out_of_memory = true;
        tgi_llvm_fail(program, "out of memory");
        return NULL;
    }
    shared->n_numbers = d->n_numbers;
    memcpy(shared->numbers, d->numbers, bytes);
    shared->type = type_of(program, d);
    shared->function =
        LLVMAddFunction(s->k->e->module, "tg_strip", shared->type);
    LLVMSetLinkage(shared->function, LLVMInternalLinkage);
    tgi_llvm_target_set_function(program->target, shared->function);
    shared->next = program->fission_functions;
    program->fission_functions = shared;
    define(s, part, d, shared->function);
    return shared;
}

static struct tgi_llvm_fission_functions *find(const tgi_llvm_program *program,
                                               const description *d)
{
    struct tgi_llvm_fission_functions *shared = program->fission_functions;
    while (shared && (shared->n_numbers != d->n_numbers ||
                      memcmp(shared->numbers, d->numbers,
                             d->n_numbers * sizeof(d->numbers[0]))))
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

static void share_scalar(tgi_llvm_fission *s, uint32_t inst)
{
    tgi_llvm_kernel *k = s->k;
    if (tgi_llvm_fission_in_body(s, inst) || s->scalars[inst] ||
        inst_at(s, inst)->kind == TGI_INST_CONSTANT)
        return;
    s->scalars[inst] = tgi_llvm_stack_array(
        k, tgi_llvm_element_type(k->e, inst_at(s, inst)->dtype), 1);
    LLVMBuildStore(k->b, tgi_llvm_value_of(k, inst), s->scalars[inst]);
}

void tgi_llvm_fission_scalars_store(tgi_llvm_fission *s)
{
    tgi_llvm_kernel *k = s->k;
    const unsigned lanes = k->e->lanes;
    k->e->lanes = 1;
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        if (!tgi_llvm_fission_in_body(s, i) ||
            !s->is_function[s->insts[i].part])
            continue;
        for (int j = 0; j < inst_at(s, i)->n_operands; j++)
            share_scalar(s, inst_at(s, i)->operands[j]);
    }
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (is_store_of(s, &k->loops->stores.data[i]) &&
            s->is_function[s->n_parts - 1])
            share_scalar(s, k->loops->stores.data[i].value);
    k->e->lanes = lanes;
}

static LLVMValueRef address_of(tgi_llvm_fission *s, const argument *a)
{
    tgi_llvm_kernel *k = s->k;
    if (a->kind == SCALAR)
        return s->scalars[a->number];
    LLVMValueRef array = *array_of(s, a);
    if (a->kind != LOADED && a->kind != STORED)
        return array;
    return LLVMBuildGEP2(
        k->b, tgi_llvm_element_type(k->e, dtype_of_access(s, a->number)), array,
        &s->at, 1, "");
}

bool tgi_llvm_fission_call_emit(tgi_llvm_fission *s, uint32_t part)
{
    tgi_llvm_kernel *k = s->k;
    description d;
    if (!describe(s, part, &d))
        return false;
    struct tgi_llvm_fission_functions *shared = find(k->program, &d);
    if (!shared)
        shared = add(s, part, &d);
    if (!shared)
        return true; /* all has failed */
    LLVMValueRef arguments[MOST_ARGUMENTS + 1];
    for (uint32_t i = 0; i < d.n_arguments; i++)
        arguments[i] = address_of(s, &d.arguments[i]);
    arguments[d.n_arguments] = s->n;
    LLVMBuildCall2(k->b, shared->type, shared->function, arguments,
                   d.n_arguments + 1, "");
    return true;
}
