/* SPDX-License-Identifier: MIT */
/*
 * verify.h - the parts of the schedule verifier. Its rules imply that code
 * emitted from a schedule has the result bits that the loop IR defines,
 * provided that jit/llvm emits what the schedule says:
 *
 *   verify_facts.c    levels and uniformity of insts
 *   verify_nest.c     every point of the domain is computed once: work items,
 *                     nests, tails, masks
 *   verify_interchange.c
 *                     a loop inside the vector loop, and what is hoisted
 *   verify_reduce.c   reductions run in the order of reduce_tree.h, unless it
 *                     does not matter
 *   verify_matmul.c   micro-kernels, packing and epilogues of matmuls
 *   verify_stages.c   tiles, packed panels, slots and non-temporal stores
 *
 * They repeat no code of choose_*.c: a fault there must not hide here. Some
 * rules are limits of jit/llvm; they say so.
 */
#ifndef TGI_VERIFY_SCHEDULE_H
#define TGI_VERIFY_SCHEDULE_H

#include "base/error.h"
#include "schedule/schedule.h"

/* Bytes of the stack of a thread that one array of a kernel may take. */
enum { TGI_MAX_STACK_BYTES = 512 << 10 };

/* Fails with a message that names the kernel and the rule. */
tg_status tgi_schedule_violation(const tgi_schedule *s, const char *rule,
                                 int64_t number);

#define TGI_REQUIRE(condition, rule, number) \
    do { \
        if (!(condition)) \
            return tgi_schedule_violation(s, rule, (int64_t)(number)); \
    } while (0)

static inline bool tgi_is_power_of_two(int64_t n)
{
    return n > 0 && !(n & (n - 1));
}

/* True if an extent is known and at most n. */
static inline bool tgi_extent_is_at_most(const tgi_schedule *s, int axis,
                                         int64_t n)
{
    const tgi_dim extent = s->loops->extent[axis];
    return tgi_dim_is_known(extent) && extent <= n;
}

/* Operand n of an inst, then the index and shift of its access; 0: no more. */
static inline uint32_t tgi_schedule_dependence(const tgi_schedule *s,
                                               const tgi_inst *inst, int n)
{
    if (n < inst->n_operands)
        return inst->operands[n];
    if (inst->kind != TGI_INST_LOAD && inst->kind != TGI_INST_POSITION)
        return 0;
    const tgi_access *access = &s->loops->accesses.data[inst->number];
    uint32_t rest[3] = {0};
    unsigned count = 0;
    if (access->index)
        rest[count++] = access->index;
    if (access->shift)
        rest[count++] = access->shift;
    return rest[n - inst->n_operands];
}

/* True if each element of the inner axis is computed by itself. */
bool tgi_schedule_is_elementwise(const tgi_schedule *s);

tg_status tgi_schedule_verify_facts(const tgi_schedule *s);
tg_status tgi_schedule_verify_items(const tgi_schedule *s);
tg_status tgi_schedule_verify_nest(const tgi_schedule *s, unsigned phase);
tg_status tgi_schedule_verify_interchange(const tgi_schedule *s);
tg_status tgi_schedule_verify_reductions(const tgi_schedule *s, unsigned phase);
tg_status tgi_schedule_verify_matmul(const tgi_schedule *s);
tg_status tgi_schedule_verify_tiles(const tgi_schedule *s);
tg_status tgi_schedule_verify_panels(const tgi_schedule *s);
tg_status tgi_schedule_verify_fission(const tgi_schedule *s, unsigned phase);
tg_status tgi_schedule_verify_stores(const tgi_schedule *s);

#endif /* TGI_VERIFY_SCHEDULE_H */
