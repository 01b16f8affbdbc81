/* SPDX-License-Identifier: MIT */
/*
 * llvm_strips.c - long bodies without reductions.
 *
 * A long body is emitted once only: what is left over at the end of a row is
 * copied to the stack, where there is room for a full vector, and goes through
 * the same code; then results are copied back.
 *
 * A very long one is cut into strips, loops over a few hundred elements that
 * each do a part of it; what one leaves for another stays in the first cache.
 * So registers suffice, the processor has the next elements under way before
 * it is done with these, and LLVM takes less time. Ops that a program has
 * often are functions over strips.
 *
 * All stores are in the last strip, after all loads of an element.
 */
#include "llvm_strips.h"

#include <assert.h>
#include <string.h>

/* Bytes for what strips leave for others, and elements of a strip: a power of
   two, no less than the lanes of any vector. */
enum {
    MOST_BYTES = 16 << 10,
    MOST_ELEMENTS = 512,
    LEAST_ELEMENTS = TGI_LLVM_LANES
};

static const tgi_inst *inst_at(const tgi_llvm_kernel *k, uint32_t number)
{
    return &k->loops->insts.data[number];
}

static LLVMValueRef number(const tgi_llvm_kernel *k, int64_t n)
{
    return tgi_llvm_number(k->program, n);
}

static tg_dtype dtype_of(const tgi_llvm_kernel *k, uint32_t access)
{
    return k->program->loops->buffers
        .data[k->loops->accesses.data[access].buffer]
        .dtype;
}

/* -- Which bodies ---------------------------------------------------------- */

static bool goes_along(const tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_access *access = &k->loops->accesses.data[number];
    const tgi_stride stride = access->stride[k->inner];
    return stride.distance == 1 && !stride.is_negative && !access->index;
}

bool tgi_llvm_has_strips(const tgi_llvm_kernel *k, unsigned phase)
{
    const tgi_llvm_phase *p = &k->phases[phase];
    const tgi_kernel_loops *loops = k->loops;
    if (!p->is_heavy || p->n_reductions || p->lanes == 1)
        return false;
    for (uint32_t i = 1; i < loops->insts.n; i++)
        if (tgi_llvm_is_in_body(k, i, phase) &&
            (!k->values[i].varies ||
             (inst_at(k, i)->kind == TGI_INST_LOAD &&
              !goes_along(k, inst_at(k, i)->number))))
            return false;
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].phase == phase &&
            loops->stores.data[i].level == TGI_LEVEL_INNER &&
            !goes_along(k, loops->stores.data[i].access))
            return false;
    for (size_t i = 0; i < loops->checks.n; i++)
        if (loops->checks.data[i].phase == phase)
            return false;
    return true;
}

/* -- Strips ---------------------------------------------------------------- */

/* Emission of one phase. */
typedef struct state {
    tgi_llvm_kernel *k;
    tgi_llvm_plan plan;
    LLVMValueRef at, n; /* of strips: where they begin, how long they are */
} state;

static LLVMValueRef kept_address(state *s, uint32_t inst, LLVMValueRef index)
{
    tgi_llvm_kernel *k = s->k;
    return LLVMBuildGEP2(
        k->b, tgi_llvm_element_type(k->e, inst_at(k, inst)->dtype),
        s->plan.slots[s->plan.placed[inst].slot - 1], &index, 1, "");
}

/* Sees to it that an operand has its value in this strip. */
static void fetch(state *s, uint32_t inst, uint32_t strip, LLVMValueRef index)
{
    tgi_llvm_kernel *k = s->k;
    tgi_llvm_placed *placed = &s->plan.placed[inst];
    if (!tgi_llvm_is_in_body(k, inst, s->plan.phase) ||
        placed->fetched == strip + 1)
        return;
    if (tgi_llvm_is_anew(inst_at(k, inst))) {
        tgi_llvm_inst(k, inst);
    } else if (placed->strip < strip) {
        LLVMValueRef value =
            LLVMBuildLoad2(k->b, tgi_llvm_type(k->e, inst_at(k, inst)->dtype),
                           kept_address(s, inst, index), "");
        LLVMSetAlignment(value, 1);
        k->values[inst].value = value;
        k->values[inst].mask = NULL;
    }
    placed->fetched = strip + 1;
}

static void keep(state *s, uint32_t strip, LLVMValueRef index)
{
    tgi_llvm_kernel *k = s->k;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (s->plan.placed[i].slot && s->plan.placed[i].strip == strip)
            LLVMSetAlignment(LLVMBuildStore(k->b, tgi_llvm_value_of(k, i),
                                            kept_address(s, i, index)),
                             1);
}

static void store_results(state *s, uint32_t strip, LLVMValueRef index)
{
    tgi_llvm_kernel *k = s->k;
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_store *store = &k->loops->stores.data[i];
        if (store->level == TGI_LEVEL_INNER && store->phase == s->plan.phase)
            fetch(s, store->value, strip, index);
    }
    tgi_llvm_inner_stores(k, s->plan.phase);
}

static void emit_loop(state *s, uint32_t strip)
{
    tgi_llvm_kernel *k = s->k;
    tgi_llvm_loop loop;
    tgi_llvm_loop_enter(k, &loop, number(k, 0), s->n, s->plan.lanes);
    k->index[k->inner] = tgi_llvm_add(k->program, s->at, loop.index);
    for (uint32_t i = 1; i < k->loops->insts.n; i++) {
        const tgi_inst *inst = inst_at(k, i);
        if (!tgi_llvm_is_in_body(k, i, s->plan.phase) ||
            tgi_llvm_is_anew(inst) || s->plan.placed[i].strip != strip)
            continue;
        for (int j = 0; j < inst->n_operands; j++)
            fetch(s, inst->operands[j], strip, loop.index);
        tgi_llvm_inst(k, i);
    }
    keep(s, strip, loop.index);
    if (strip == s->plan.n_strips - 1)
        store_results(s, strip, loop.index);
    k->index[k->inner] = NULL;
    tgi_llvm_loop_end(k, &loop, NULL);
}

/* Loads and kept values lie in memory: a function takes their addresses. */
static void emit_call(state *s, uint32_t number_of_inst)
{
    tgi_llvm_kernel *k = s->k;
    const tgi_inst *inst = inst_at(k, number_of_inst);
    LLVMValueRef arguments[5];
    unsigned n = 0;
    for (int i = 0; i < inst->n_operands; i++) {
        const tgi_inst *operand = inst_at(k, inst->operands[i]);
        arguments[n++] =
            operand->kind == TGI_INST_LOAD
                ? LLVMBuildGEP2(k->b,
                                tgi_llvm_element_type(k->e, operand->dtype),
                                k->heads[operand->number], &s->at, 1, "")
                : kept_address(s, inst->operands[i], number(k, 0));
    }
    arguments[n++] = kept_address(s, number_of_inst, number(k, 0));
    arguments[n++] = s->n;
    LLVMBuildCall2(k->b, tgi_llvm_strip_function_type(k->program, inst),
                   tgi_llvm_strip_function(k, inst, s->plan.lanes), arguments,
                   n, "");
}

static void emit_strips(state *s)
{
    for (uint32_t strip = 0; strip < s->plan.n_strips; strip++)
        if (!s->plan.calls[strip])
            emit_loop(s, strip);
        else if (s->plan.placed[s->plan.calls[strip]].slot)
            emit_call(s, s->plan.calls[strip]);
}

/* Elements of a strip; 0: any number, there is only one. */
static int64_t strip_elements(const tgi_llvm_plan *plan)
{
    if (plan->n_strips == 1)
        return 0;
    int64_t n = MOST_ELEMENTS;
    while (n > LEAST_ELEMENTS && n * plan->slot_bytes * plan->n_slots >
                                     MOST_BYTES)
        n /= 2;
    return n;
}

static void make_slots(state *s)
{
    tgi_llvm_kernel *k = s->k;
    const int64_t elements = strip_elements(&s->plan);
    for (uint32_t i = 0; i < s->plan.n_slots; i++)
        s->plan.slots[i] = tgi_llvm_array(
            k, LLVMInt8TypeInContext(k->e->context),
            (unsigned)elements * s->plan.slot_bytes);
}

/* -- What is left over ----------------------------------------------------- */

/* Calls `copy` where all lanes that count are done: at once by a mask, or one
   after the other. */
static void copy_all(state *s, LLVMValueRef from, LLVMValueRef to,
                     void copy(state *s, LLVMValueRef lane))
{
    tgi_llvm_kernel *k = s->k;
    const unsigned lanes = k->e->lanes;
    if (k->phases[s->plan.phase].can_mask) {
        k->index[k->inner] = from;
        k->mask = tgi_llvm_first_lanes(k, LLVMBuildSub(k->b, to, from, ""));
        copy(s, number(k, 0));
    } else {
        tgi_llvm_loop loop;
        tgi_llvm_loop_enter(k, &loop, from, to, 1);
        k->e->lanes = 1;
        k->index[k->inner] = loop.index;
        copy(s, LLVMBuildSub(k->b, loop.index, from, ""));
        tgi_llvm_loop_end(k, &loop, NULL);
    }
    k->e->lanes = lanes;
    k->index[k->inner] = NULL;
    k->mask = NULL;
}

static LLVMValueRef spare_address(state *s, uint32_t access, LLVMValueRef lane)
{
    tgi_llvm_kernel *k = s->k;
    return LLVMBuildGEP2(k->b, tgi_llvm_element_type(k->e, dtype_of(k, access)),
                         s->plan.spares[access], &lane, 1, "");
}

static void copy_in(state *s, LLVMValueRef lane)
{
    tgi_llvm_kernel *k = s->k;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (tgi_llvm_is_in_body(k, i, s->plan.phase) &&
            inst_at(k, i)->kind == TGI_INST_LOAD) {
            const uint32_t access = inst_at(k, i)->number;
            LLVMSetAlignment(LLVMBuildStore(k->b, tgi_llvm_load(k, access),
                                            spare_address(s, access, lane)),
                             1);
        }
}

static void copy_out(state *s, LLVMValueRef lane)
{
    tgi_llvm_kernel *k = s->k;
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_store *store = &k->loops->stores.data[i];
        if (store->level != TGI_LEVEL_INNER || store->phase != s->plan.phase)
            continue;
        tgi_llvm_value *value = &k->values[store->value];
        if (value->varies) {
            value->value = LLVMBuildLoad2(
                k->b, tgi_llvm_type(k->e, dtype_of(k, store->access)),
                spare_address(s, store->access, lane), "");
            LLVMSetAlignment(value->value, 1);
        }
        tgi_llvm_store(k, store);
    }
}

/* -- Rows ------------------------------------------------------------------ */

/* Calls `visit` for each access of the phase's loops, but may do so twice. */
static void each_access(state *s, void visit(state *s, uint32_t access))
{
    tgi_llvm_kernel *k = s->k;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (tgi_llvm_is_in_body(k, i, s->plan.phase) &&
            inst_at(k, i)->kind == TGI_INST_LOAD)
            visit(s, inst_at(k, i)->number);
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (k->loops->stores.data[i].level == TGI_LEVEL_INNER &&
            k->loops->stores.data[i].phase == s->plan.phase)
            visit(s, k->loops->stores.data[i].access);
}

static void find_head(state *s, uint32_t access)
{
    if (!s->plan.real[access])
        s->plan.real[access] = tgi_llvm_address(
            s->k, &s->k->loops->accesses.data[access]);
}

static void make_spare(state *s, uint32_t access)
{
    tgi_llvm_kernel *k = s->k;
    if (!s->plan.spares[access])
        s->plan.spares[access] = tgi_llvm_array(
            k, tgi_llvm_element_type(k->e, dtype_of(k, access)), s->plan.lanes);
}

/*
 * Strips are a loop whose blocks are
 *
 *     before ─▶ strips ─▶ done ─▶ after
 *                  ▲        │
 *                  └─ rest ◀┘  once, if something is left over
 *
 * and the heads of accesses change where the rest begins.
 */
typedef struct rows {
    LLVMValueRef from, end, to; /* `end`: of full vectors */
    bool has_rest;
    LLVMBasicBlockRef before, strips, latch, done, rest;
    LLVMValueRef at, until; /* in the loop: where it is, where it ends */
    LLVMValueRef next;      /* at its latch */
} rows;

static LLVMValueRef is_below(const state *s, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(s->k->b, LLVMIntSLT, a, b, "");
}

static LLVMValueRef phi_of(const state *s, LLVMBasicBlockRef before,
                           LLVMValueRef first)
{
    LLVMValueRef phi = LLVMBuildPhi(s->k->b, LLVMTypeOf(first), "");
    LLVMAddIncoming(phi, &first, &before, 1);
    return phi;
}

static void begin_strips(state *s, rows *r)
{
    tgi_llvm_kernel *k = s->k;
    r->before = LLVMGetInsertBlock(k->b);
    r->strips = tgi_llvm_block(k, "strips");
    r->done = tgi_llvm_block(k, "done");
    LLVMBuildCondBr(k->b, is_below(s, r->from, r->end), r->strips, r->done);
    LLVMPositionBuilderAtEnd(k->b, r->strips);
    r->at = phi_of(s, r->before, r->from);
    r->until = r->has_rest ? phi_of(s, r->before, r->end) : r->end;
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        s->plan.heads[i] = s->plan.real[i] && r->has_rest
                               ? phi_of(s, r->before, s->plan.real[i])
                               : s->plan.real[i];
}

static void end_strips(state *s, rows *r)
{
    tgi_llvm_kernel *k = s->k;
    r->latch = LLVMGetInsertBlock(k->b);
    r->next = tgi_llvm_add(k->program, s->at, s->n);
    LLVMBuildCondBr(k->b, is_below(s, r->next, r->until), r->strips, r->done);
    LLVMAddIncoming(r->at, &r->next, &r->latch, 1);
    LLVMPositionBuilderAtEnd(k->b, r->done);
    if (!r->has_rest)
        return;
    LLVMAddIncoming(r->until, &r->until, &r->latch, 1);
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (s->plan.heads[i])
            LLVMAddIncoming(s->plan.heads[i], &s->plan.heads[i], &r->latch,
                            1);
}

/* Back to the strips with what is left over, in a spare place. */
static void enter_rest(state *s, rows *r)
{
    tgi_llvm_kernel *k = s->k;
    LLVMValueRef reached = phi_of(s, r->before, r->from);
    LLVMAddIncoming(reached, &r->next, &r->latch, 1);
    r->rest = tgi_llvm_block(k, "rest");
    LLVMBasicBlockRef after = tgi_llvm_block(k, "after");
    LLVMBuildCondBr(k->b, is_below(s, reached, r->to), r->rest, after);

    LLVMPositionBuilderAtEnd(k->b, r->rest);
    k->heads = s->plan.real;
    copy_all(s, r->end, r->to, copy_in);
    LLVMValueRef back = LLVMBuildNeg(k->b, r->end, "");
    LLVMValueRef until = tgi_llvm_add(k->program, r->end,
                                      number(k, s->plan.lanes));
    LLVMBasicBlockRef block = LLVMGetInsertBlock(k->b);
    for (uint32_t i = 0; i < k->loops->accesses.n; i++)
        if (s->plan.heads[i]) {
            LLVMValueRef head = spare_address(s, i, back);
            LLVMAddIncoming(s->plan.heads[i], &head, &block, 1);
        }
    LLVMAddIncoming(r->at, &r->end, &block, 1);
    LLVMAddIncoming(r->until, &until, &block, 1);
    LLVMBuildBr(k->b, r->strips);
    LLVMPositionBuilderAtEnd(k->b, after);
}

static void leave_rest(state *s, const rows *r)
{
    tgi_llvm_kernel *k = s->k;
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch, is_below(s, r->end, r->to));
    k->heads = s->plan.real;
    copy_all(s, r->end, r->to, copy_out);
    tgi_llvm_branch_end(k, &branch);
}

static void emit_rows(state *s, LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_kernel *k = s->k;
    const int64_t elements = strip_elements(&s->plan);
    rows r = {.from = from,
              .end = tgi_llvm_full_end(k, from, to, s->plan.lanes),
              .to = to,
              .has_rest = tgi_llvm_has_rest(k, s->plan.lanes)};
    each_access(s, find_head);
    if (r.has_rest)
        each_access(s, make_spare);
    make_slots(s);
    begin_strips(s, &r);
    s->at = r.at;
    s->n = LLVMBuildSub(k->b, r.until, r.at, "");
    if (elements)
        s->n = tgi_llvm_min(k->program, s->n, number(k, elements));
    k->heads = s->plan.heads;
    emit_strips(s);
    end_strips(s, &r);
    if (r.has_rest) {
        enter_rest(s, &r);
        leave_rest(s, &r);
    }
    k->heads = NULL;
}

/* -- The door -------------------------------------------------------------- */

/* Arrays of a plan, one behind the other, the pointers first. */
static void *make_arrays(const tgi_llvm_kernel *k, tgi_llvm_plan *plan)
{
    const size_t n_insts = k->loops->insts.n + 1;
    const size_t n_accesses = k->loops->accesses.n;
    const size_t bytes =
        (3 * n_accesses + n_insts) * sizeof(LLVMValueRef) +
        n_insts * (sizeof(*plan->placed) + sizeof(*plan->calls) +
                   sizeof(*plan->slot_last));
    void *memory = k->program->alloc(bytes);
    if (!memory)
        return NULL;
    memset(memory, 0, bytes);
    plan->heads = memory;
    plan->real = plan->heads + n_accesses;
    plan->spares = plan->real + n_accesses;
    plan->slots = plan->spares + n_accesses;
    plan->placed = (tgi_llvm_placed *)(plan->slots + n_insts);
    plan->calls = (uint32_t *)(plan->placed + n_insts);
    plan->slot_last = plan->calls + n_insts;
    return memory;
}

void tgi_llvm_strips(tgi_llvm_kernel *k, unsigned phase, LLVMValueRef from,
                     LLVMValueRef to)
{
    state s = {.k = k,
               .plan = {.phase = phase, .lanes = k->phases[phase].lanes}};
    void *memory = make_arrays(k, &s.plan);
    if (!memory) {
        k->program->is_out_of_memory = true;
        tgi_llvm_fail(k->program, "out of memory");
        return;
    }
    k->e->lanes = s.plan.lanes;
    tgi_llvm_plan_strips(k, &s.plan);
    emit_rows(&s, from, to);
    k->program->free(memory);
}
