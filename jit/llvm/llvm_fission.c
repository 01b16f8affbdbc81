/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission.c - long bodies without reductions.
 *
 * A long body is emitted once only: what is left over at the end of a row is
 * copied to the stack, where there is room for a full vector, and goes through
 * the same code; then results are copied back.
 *
 * A very long one is cut into parts, loops over a few hundred elements that
 * each do a part of it; what one leaves for another stays in the first cache.
 * So registers suffice, the processor has the next elements under way before
 * it is done with these, and LLVM takes less time.
 *
 * All stores are in the last part, after all loads of an element.
 */
#include "llvm/llvm_fission.h"

#include <string.h>

/* Bytes for what parts leave for others, and elements of a part: a power of
   two, no less than the lanes of any vector. */
enum {
    MOST_BYTES = 16 << 10,
    MOST_ELEMENTS = 512,
    LEAST_ELEMENTS = TGI_LLVM_MAX_LANES
};

static const tgi_inst *inst_at(const tgi_llvm_kernel *k, uint32_t number)
{
    return &k->loops->insts.data[number];
}

static LLVMValueRef number(const tgi_llvm_kernel *k, int64_t n)
{
    return tgi_llvm_const_i64(k->program, n);
}

static tg_dtype dtype_of(const tgi_llvm_kernel *k, uint32_t access)
{
    return tgi_loops_buffer(k->program->loops,
                            k->loops->accesses.data[access].buffer)
        ->dtype;
}

/* -- Which bodies ---------------------------------------------------------- */

static bool goes_along(const tgi_llvm_kernel *k, uint32_t number)
{
    const tgi_access *access = &k->loops->accesses.data[number];
    const tgi_stride stride = access->stride[k->inner];
    return stride.distance == 1 && !stride.is_negative && !access->index;
}

bool tgi_llvm_can_fission(const tgi_llvm_kernel *k, unsigned phase)
{
    const tgi_llvm_phase *p = &k->phases[phase];
    const tgi_kernel_loops *loops = k->loops;
    if (!p->is_heavy || p->n_reductions || p->lanes == 1)
        return false;
    for (uint32_t i = 1; i < loops->insts.n; i++)
        if (k->values[i].level == TGI_LEVEL_INNER &&
            inst_at(k, i)->phase == phase &&
            (!k->values[i].varies || (inst_at(k, i)->kind == TGI_INST_LOAD &&
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

static void emit_strips(tgi_llvm_fission *s)
{
    for (uint32_t part = 0; part < s->n_parts; part++)
        if (!s->is_function[part] || !tgi_llvm_fission_call_emit(s, part))
            tgi_llvm_fission_loop_emit(s, part);
}

/* Elements of a part; 0: any number, there is only one. */
static int64_t strip_elements(const tgi_llvm_fission *s)
{
    if (s->n_parts == 1)
        return 0;
    int64_t n = MOST_ELEMENTS;
    while (n > LEAST_ELEMENTS && n * s->slot_bytes * s->n_slots > MOST_BYTES)
        n /= 2;
    return n;
}

static void make_slots(tgi_llvm_fission *s)
{
    tgi_llvm_kernel *k = s->k;
    const int64_t elements = strip_elements(s);
    for (uint32_t i = 0; i < s->n_slots; i++)
        s->slots[i] =
            tgi_llvm_stack_array(k, LLVMInt8TypeInContext(k->e->context),
                                 (unsigned)elements * s->slot_bytes);
}

/* -- What is left over ----------------------------------------------------- */

/* Calls `copy` where all lanes that count are done: at once by a mask, or one
   after the other. */
static void copy_all(tgi_llvm_fission *s, LLVMValueRef from, LLVMValueRef to,
                     void copy(tgi_llvm_fission *s, LLVMValueRef lane))
{
    tgi_llvm_kernel *k = s->k;
    const unsigned lanes = k->e->lanes;
    if (k->phases[s->phase].can_mask) {
        k->index[k->inner] = from;
        k->mask = tgi_llvm_tail_mask(k, LLVMBuildSub(k->b, to, from, ""));
        copy(s, number(k, 0));
    } else {
        tgi_llvm_loop loop;
        tgi_llvm_loop_begin_nonempty(k, &loop, from, to, 1);
        k->e->lanes = 1;
        k->index[k->inner] = loop.index;
        copy(s, LLVMBuildSub(k->b, loop.index, from, ""));
        tgi_llvm_loop_end(k, &loop, NULL);
    }
    k->e->lanes = lanes;
    k->index[k->inner] = NULL;
    k->mask = NULL;
}

static LLVMValueRef spare_address(tgi_llvm_fission *s, uint32_t access,
                                  LLVMValueRef lane)
{
    tgi_llvm_kernel *k = s->k;
    return LLVMBuildGEP2(k->b, tgi_llvm_element_type(k->e, dtype_of(k, access)),
                         s->tail_rows[access], &lane, 1, "");
}

static void copy_in(tgi_llvm_fission *s, LLVMValueRef lane)
{
    tgi_llvm_kernel *k = s->k;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (tgi_llvm_fission_in_body(s, i) &&
            inst_at(k, i)->kind == TGI_INST_LOAD) {
            const uint32_t access = inst_at(k, i)->number;
            LLVMSetAlignment(LLVMBuildStore(k->b, tgi_llvm_load(k, access),
                                            spare_address(s, access, lane)),
                             1);
        }
}

static void copy_out(tgi_llvm_fission *s, LLVMValueRef lane)
{
    tgi_llvm_kernel *k = s->k;
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_loop_store *store = &k->loops->stores.data[i];
        if (store->level != TGI_LEVEL_INNER || store->phase != s->phase)
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
static void each_access(tgi_llvm_fission *s,
                        void visit(tgi_llvm_fission *s, uint32_t access))
{
    tgi_llvm_kernel *k = s->k;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (tgi_llvm_fission_in_body(s, i) &&
            inst_at(k, i)->kind == TGI_INST_LOAD)
            visit(s, inst_at(k, i)->number);
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (k->loops->stores.data[i].level == TGI_LEVEL_INNER &&
            k->loops->stores.data[i].phase == s->phase)
            visit(s, k->loops->stores.data[i].access);
}

static void find_head(tgi_llvm_fission *s, uint32_t access)
{
    if (!s->buffer_rows[access])
        s->buffer_rows[access] =
            tgi_llvm_address(s->k, &s->k->loops->accesses.data[access]);
}

static void make_spare(tgi_llvm_fission *s, uint32_t access)
{
    tgi_llvm_kernel *k = s->k;
    if (!s->tail_rows[access])
        s->tail_rows[access] = tgi_llvm_stack_array(
            k, tgi_llvm_element_type(k->e, dtype_of(k, access)), s->lanes);
}

/*
 * Strips are a loop whose blocks are
 *
 *     before ─▶ parts ─▶ done ─▶ after
 *                  ▲        │
 *                  └─ rest ◀┘  once, if something is left over
 *
 * and the heads of accesses change where the rest begins.
 */
typedef struct rows {
    LLVMValueRef from, end, to; /* `end`: of full vectors */
    bool has_rest;
    LLVMBasicBlockRef before, parts, latch, done, rest;
    LLVMValueRef at, until; /* in the loop: where it is, where it ends */
    LLVMValueRef next;      /* at its latch */
} rows;

static LLVMValueRef is_below(const tgi_llvm_fission *s, LLVMValueRef a,
                             LLVMValueRef b)
{
    return LLVMBuildICmp(s->k->b, LLVMIntSLT, a, b, "");
}

static LLVMValueRef phi_of(const tgi_llvm_fission *s, LLVMBasicBlockRef before,
                           LLVMValueRef first)
{
    LLVMValueRef phi = LLVMBuildPhi(s->k->b, LLVMTypeOf(first), "");
    LLVMAddIncoming(phi, &first, &before, 1);
    return phi;
}

static void begin_strips(tgi_llvm_fission *s, rows *r)
{
    tgi_llvm_kernel *k = s->k;
    r->before = LLVMGetInsertBlock(k->b);
    r->parts = tgi_llvm_block_append(k, "parts");
    r->done = tgi_llvm_block_append(k, "done");
    LLVMBuildCondBr(k->b, is_below(s, r->from, r->end), r->parts, r->done);
    LLVMPositionBuilderAtEnd(k->b, r->parts);
    r->at = phi_of(s, r->before, r->from);
    r->until = r->has_rest ? phi_of(s, r->before, r->end) : r->end;
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        s->row_starts[i] = s->buffer_rows[i] && r->has_rest
                               ? phi_of(s, r->before, s->buffer_rows[i])
                               : s->buffer_rows[i];
}

static void end_strips(tgi_llvm_fission *s, rows *r)
{
    tgi_llvm_kernel *k = s->k;
    r->latch = LLVMGetInsertBlock(k->b);
    r->next = tgi_llvm_add(k->program, s->at, s->n);
    if (s->n_parts > 1) {
        LLVMBuildCondBr(k->b, is_below(s, r->next, r->until), r->parts,
                        r->done);
        LLVMAddIncoming(r->at, &r->next, &r->latch, 1);
    } else {
        LLVMBuildBr(k->b, r->done);
    }
    LLVMPositionBuilderAtEnd(k->b, r->done);
    if (!r->has_rest || s->n_parts == 1)
        return;
    LLVMAddIncoming(r->until, &r->until, &r->latch, 1);
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (s->row_starts[i])
            LLVMAddIncoming(s->row_starts[i], &s->row_starts[i], &r->latch, 1);
}

/* Back to the parts with what is left over, in a spare place. */
static void enter_rest(tgi_llvm_fission *s, rows *r)
{
    tgi_llvm_kernel *k = s->k;
    LLVMValueRef reached = phi_of(s, r->before, r->from);
    LLVMAddIncoming(reached, &r->next, &r->latch, 1);
    r->rest = tgi_llvm_block_append(k, "rest");
    LLVMBasicBlockRef after = tgi_llvm_block_append(k, "after");
    LLVMBuildCondBr(k->b, is_below(s, reached, r->to), r->rest, after);

    LLVMPositionBuilderAtEnd(k->b, r->rest);
    k->row_starts = s->buffer_rows;
    copy_all(s, r->end, r->to, copy_in);
    LLVMValueRef back = LLVMBuildNeg(k->b, r->end, "");
    LLVMValueRef until = tgi_llvm_add(k->program, r->end, number(k, s->lanes));
    LLVMBasicBlockRef block = LLVMGetInsertBlock(k->b);
    for (uint32_t i = 0; i < k->loops->accesses.n; i++)
        if (s->row_starts[i]) {
            LLVMValueRef head = spare_address(s, i, back);
            LLVMAddIncoming(s->row_starts[i], &head, &block, 1);
        }
    LLVMAddIncoming(r->at, &r->end, &block, 1);
    LLVMAddIncoming(r->until, &until, &block, 1);
    LLVMBuildBr(k->b, r->parts);
    LLVMPositionBuilderAtEnd(k->b, after);
}

static void leave_rest(tgi_llvm_fission *s, const rows *r)
{
    tgi_llvm_kernel *k = s->k;
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch, is_below(s, r->end, r->to));
    k->row_starts = s->buffer_rows;
    copy_all(s, r->end, r->to, copy_out);
    tgi_llvm_branch_end(k, &branch);
}

static void emit_rows(tgi_llvm_fission *s, LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_kernel *k = s->k;
    const int64_t elements = strip_elements(s);
    rows r = {.from = from,
              .end = tgi_llvm_round_down(k, from, to, s->lanes),
              .to = to,
              .has_rest = tgi_llvm_may_have_tail(k, s->lanes)};
    each_access(s, find_head);
    if (r.has_rest)
        each_access(s, make_spare);
    make_slots(s);
    tgi_llvm_fission_scalars_store(s);
    begin_strips(s, &r);
    s->at = r.at;
    s->n = LLVMBuildSub(k->b, r.until, r.at, "");
    if (elements)
        s->n = tgi_llvm_min(k->program, s->n, number(k, elements));
    k->row_starts = s->row_starts;
    emit_strips(s);
    end_strips(s, &r);
    if (r.has_rest) {
        enter_rest(s, &r);
        leave_rest(s, &r);
    }
    k->row_starts = NULL;
}

/* -- The door -------------------------------------------------------------- */

/* All arrays, one behind the other, the pointers first. */
static void *make_arrays(tgi_llvm_fission *s)
{
    const size_t n_insts = s->k->loops->insts.n + 1;
    const size_t n_accesses = s->k->loops->accesses.n;
    const size_t bytes =
        (3 * n_accesses + 2 * n_insts) * sizeof(LLVMValueRef) +
        n_insts * (sizeof(*s->insts) + sizeof(*s->slot_last_use) +
                   sizeof(*s->is_function));
    void *memory = s->k->program->alloc(bytes);
    if (!memory)
        return NULL;
    memset(memory, 0, bytes);
    s->row_starts = memory;
    s->buffer_rows = s->row_starts + n_accesses;
    s->tail_rows = s->buffer_rows + n_accesses;
    s->slots = s->tail_rows + n_accesses;
    s->scalars = s->slots + n_insts;
    s->insts = (tgi_llvm_fission_inst *)(s->scalars + n_insts);
    s->slot_last_use = (uint32_t *)(s->insts + n_insts);
    s->is_function = (bool *)(s->slot_last_use + n_insts);
    return memory;
}

void tgi_llvm_rows_fission_emit(tgi_llvm_kernel *k, unsigned phase,
                                LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_fission s = {
        .k = k, .phase = phase, .lanes = k->phases[phase].lanes};
    void *memory = make_arrays(&s);
    if (!memory) {
        k->program->is_out_of_memory = true;
        tgi_llvm_fail(k->program, "out of memory");
        return;
    }
    k->e->lanes = s.lanes;
    tgi_llvm_fission_plan(&s);
    emit_rows(&s, from, to);
    k->program->free(memory);
}
