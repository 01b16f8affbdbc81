/* SPDX-License-Identifier: MIT */
/* llvm_accumulators.c - see llvm_accumulators.h. */
#include "llvm/reduce/llvm_accumulators.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_inst.h"

/* -- Layout ---------------------------------------------------------------- */

static bool is_reassociated(const tgi_llvm_accumulators *acc)
{
    return acc->phase->accumulators.is_reassociated;
}

static const tgi_reduction *reduction_at(const tgi_llvm_kernel *k,
                                         const tgi_llvm_accumulators *acc,
                                         unsigned i)
{
    return &k->loops->reductions.data[acc->phase->reductions[i]];
}

void tgi_llvm_acc_init(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                       unsigned phase, unsigned n_vectors)
{
    *acc = (tgi_llvm_accumulators){.phase = &k->schedule->phases[phase],
                                   .n_vectors = n_vectors};
    for (unsigned i = 0; i < acc->phase->n_reductions; i++) {
        const unsigned n = tgi_llvm_accumulator_parts(
            k, acc->phase->reductions[i], is_reassociated(acc));
        acc->first_part[i] = acc->n_parts;
        for (unsigned j = 0; j < n; j++)
            acc->dtype[acc->n_parts++] =
                tgi_llvm_accumulator_dtype(k, acc->phase->reductions[i], j);
    }
}

static unsigned n_parts_of(const tgi_llvm_accumulators *acc, unsigned i)
{
    const unsigned end = i + 1 < acc->phase->n_reductions
                             ? acc->first_part[i + 1]
                             : acc->n_parts;
    return end - acc->first_part[i];
}

static unsigned value_index(const tgi_llvm_accumulators *acc, unsigned part,
                            unsigned vector)
{
    return part * acc->n_vectors + vector;
}

/* One vector of a reduction, as llvm_reduce.h has it. */
static tgi_llvm_accumulator get(const tgi_llvm_accumulators *acc, unsigned i,
                                unsigned vector)
{
    tgi_llvm_accumulator one;
    for (unsigned j = 0; j < n_parts_of(acc, i); j++)
        one.part[j] =
            acc->values[value_index(acc, acc->first_part[i] + j, vector)];
    return one;
}

static void set(tgi_llvm_accumulators *acc, unsigned i, unsigned vector,
                const tgi_llvm_accumulator *one)
{
    for (unsigned j = 0; j < n_parts_of(acc, i); j++)
        acc->values[value_index(acc, acc->first_part[i] + j, vector)] =
            one->part[j];
}

/* -- Values ---------------------------------------------------------------- */

void tgi_llvm_acc_start(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                        bool keeps_args)
{
    for (unsigned i = 0; i < acc->phase->n_reductions; i++) {
        if (keeps_args && tgi_reduction_is_arg(reduction_at(k, acc, i)))
            continue;
        tgi_llvm_accumulator one;
        tgi_llvm_reduce_start(k, acc->phase->reductions[i],
                              is_reassociated(acc), &one);
        for (unsigned v = 0; v < acc->n_vectors; v++)
            set(acc, i, v, &one);
    }
}

void tgi_llvm_acc_step(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                       unsigned vector)
{
    for (unsigned i = 0; i < acc->phase->n_reductions; i++) {
        tgi_llvm_accumulator one = get(acc, i, vector);
        tgi_llvm_reduce_step(k, acc->phase->reductions[i], is_reassociated(acc),
                             &one);
        set(acc, i, vector, &one);
    }
}

void tgi_llvm_acc_step_first(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                             LLVMValueRef *out_firsts)
{
    for (unsigned i = 0; i < acc->phase->n_reductions; i++) {
        const tgi_reduction *reduction = reduction_at(k, acc, i);
        if (tgi_reduction_is_native_minmax(reduction)) {
            out_firsts[i] = tgi_llvm_value_of(k, reduction->value);
            continue;
        }
        tgi_llvm_accumulator one = get(acc, i, 0);
        tgi_llvm_reduce_step(k, acc->phase->reductions[i], true, &one);
        set(acc, i, 0, &one);
    }
}

void tgi_llvm_acc_step_second(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                              const LLVMValueRef *firsts)
{
    for (unsigned i = 0; i < acc->phase->n_reductions; i++) {
        tgi_llvm_accumulator one = get(acc, i, 0);
        if (tgi_reduction_is_native_minmax(reduction_at(k, acc, i)))
            tgi_llvm_reduce_step_pair(k, acc->phase->reductions[i], firsts[i],
                                      &one);
        else
            tgi_llvm_reduce_step(k, acc->phase->reductions[i], true, &one);
        set(acc, i, 0, &one);
    }
}

void tgi_llvm_acc_loop_begin(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                             tgi_llvm_loop *loop, LLVMValueRef from,
                             LLVMValueRef to, int64_t step)
{
    const unsigned n = acc->n_parts * acc->n_vectors;
    tgi_llvm_loop_begin(k, loop, from, to, step, acc->values, n);
    for (unsigned i = 0; i < n; i++)
        acc->values[i] = loop->carried[i];
}

void tgi_llvm_acc_loop_end(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                           tgi_llvm_loop *loop)
{
    tgi_llvm_loop_end(k, loop, acc->values);
    for (unsigned i = 0; i < acc->n_parts * acc->n_vectors; i++)
        acc->values[i] = loop->carried[i];
}

/* -- On the stack ---------------------------------------------------------- */

void tgi_llvm_acc_allocate(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                           unsigned n)
{
    for (unsigned i = 0; i < acc->n_parts; i++)
        acc->arrays[i] = tgi_llvm_stack_array(
            k, tgi_llvm_element_type(k->e, acc->dtype[i]), n);
}

static LLVMValueRef element_address(tgi_llvm_kernel *k,
                                    const tgi_llvm_accumulators *acc,
                                    unsigned part, LLVMValueRef at)
{
    return LLVMBuildGEP2(k->b, tgi_llvm_element_type(k->e, acc->dtype[part]),
                         acc->arrays[part], &at, 1, "");
}

void tgi_llvm_acc_load(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                       unsigned vector, LLVMValueRef at)
{
    for (unsigned i = 0; i < acc->n_parts; i++) {
        LLVMValueRef value =
            LLVMBuildLoad2(k->b, tgi_llvm_type(k->e, acc->dtype[i]),
                           element_address(k, acc, i, at), "");
        LLVMSetAlignment(value, (unsigned)tgi_dtype_bytes((int)acc->dtype[i]));
        acc->values[value_index(acc, i, vector)] = value;
    }
}

void tgi_llvm_acc_store(tgi_llvm_kernel *k, const tgi_llvm_accumulators *acc,
                        unsigned vector, LLVMValueRef at)
{
    for (unsigned i = 0; i < acc->n_parts; i++)
        LLVMSetAlignment(
            LLVMBuildStore(k->b, acc->values[value_index(acc, i, vector)],
                           element_address(k, acc, i, at)),
            (unsigned)tgi_dtype_bytes((int)acc->dtype[i]));
}

/* -- Results --------------------------------------------------------------- */

void tgi_llvm_acc_halve(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                        unsigned lanes)
{
    for (; k->e->lanes > lanes; k->e->lanes /= 2)
        for (unsigned i = 0; i < acc->phase->n_reductions; i++) {
            tgi_llvm_accumulator one = get(acc, i, 0);
            tgi_llvm_reduce_halve(k, acc->phase->reductions[i], &one);
            set(acc, i, 0, &one);
        }
}

void tgi_llvm_acc_finish(tgi_llvm_kernel *k, const tgi_llvm_accumulators *acc,
                         LLVMValueRef *out)
{
    for (unsigned i = 0; i < acc->phase->n_reductions; i++) {
        const tgi_llvm_accumulator one = get(acc, i, 0);
        out[i] = tgi_llvm_reduce_finish(k, acc->phase->reductions[i],
                                        is_reassociated(acc), &one);
    }
}

void tgi_llvm_acc_horizontal(tgi_llvm_kernel *k, tgi_llvm_accumulators *acc,
                             LLVMValueRef *out)
{
    const unsigned lanes = k->e->lanes;
    for (unsigned i = 0; i < acc->phase->n_reductions; i++) {
        k->e->lanes = lanes;
        out[i] = tgi_llvm_horizontal_reduce(
            k, acc->phase->reductions[i],
            &acc->values[value_index(acc, acc->first_part[i], 0)],
            acc->n_vectors);
    }
}
