/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission.c - loop fission and strip-mining of heavy elementwise phases.
 * Above MAX_PART_COST instructions, a body is split into *parts*: one loop each
 * over a strip of at most MAX_STRIP elements. Parts pass values in *slots*,
 * stack arrays that fit L1. A part needs fewer registers than the whole body,
 * its iterations overlap in the CPU's window, and LLVM compiles it faster.
 *
 * The body is emitted once: the tail of a row is copied to a stack array of one
 * vector, goes through the same code, and its results are copied back.
 *
 * Requires:  no reductions or checks; unit-stride loads and stores.
 * Preserves: an element's loads precede its stores, all in the last part.
 */
#include "llvm/rows/llvm_fission.h"
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_analysis.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"

#include <string.h>

/* Bytes of all slots; elements of a strip, a power of two and no less than the
   lanes of any vector. */
enum {
    MAX_SLOTS_BYTES = 16 << 10,
    MAX_STRIP = 512,
    MIN_STRIP = TGI_LLVM_MAX_LANES
};

/* -- Legality -------------------------------------------------------------- */

static bool has_unit_stride(const tgi_llvm_analysis *a, uint32_t number)
{
    const tgi_access *access = &a->loops->accesses.data[number];
    const tgi_stride stride = access->stride[a->inner];
    return stride.distance == 1 && !stride.is_negative && !access->index;
}

bool tgi_llvm_can_fission(const tgi_llvm_analysis *a, unsigned phase)
{
    const tgi_llvm_phase *p = &a->phases[phase];
    const tgi_kernel_loops *loops = a->loops;
    if (!p->is_heavy || p->n_reductions || p->lanes == 1)
        return false;
    for (uint32_t i = 1; i < loops->insts.n; i++) {
        const tgi_inst *inst = &loops->insts.data[i];
        if (a->insts[i].level == TGI_LEVEL_INNER && inst->phase == phase &&
            (!a->insts[i].varies || (inst->kind == TGI_INST_LOAD &&
                                     !has_unit_stride(a, inst->number))))
            return false;
    }
    for (size_t i = 0; i < loops->stores.n; i++)
        if (loops->stores.data[i].phase == phase &&
            loops->stores.data[i].level == TGI_LEVEL_INNER &&
            !has_unit_stride(a, loops->stores.data[i].access))
            return false;
    for (size_t i = 0; i < loops->checks.n; i++)
        if (loops->checks.data[i].phase == phase)
            return false;
    return true;
}

/* -- Strips ---------------------------------------------------------------- */

static void emit_parts(tgi_llvm_fission *s)
{
    for (uint32_t part = 0; part < s->n_parts; part++)
        if (!s->is_function[part] || !tgi_llvm_fission_call_emit(s, part))
            tgi_llvm_fission_loop_emit(s, part);
}

/* Elements of a strip; 0: one part needs no strips. */
static int64_t strip_length(const tgi_llvm_fission *s)
{
    if (s->n_parts == 1)
        return 0;
    int64_t n = MAX_STRIP;
    while (n > MIN_STRIP && n * s->slot_bytes * s->n_slots > MAX_SLOTS_BYTES)
        n /= 2;
    return n;
}

static void allocate_slots(tgi_llvm_fission *s)
{
    tgi_llvm_kernel *k = s->k;
    const int64_t length = strip_length(s);
    for (uint32_t i = 0; i < s->n_slots; i++)
        s->slots[i] =
            tgi_llvm_stack_array(k, LLVMInt8TypeInContext(k->e->context),
                                 (unsigned)length * s->slot_bytes);
}

/* -- Tails ----------------------------------------------------------------- */

/* Emits `copy` for elements from … to - 1: once under a mask, or in a scalar
   loop. */
static void emit_tail_copy(tgi_llvm_fission *s, LLVMValueRef from,
                           LLVMValueRef to,
                           void copy(tgi_llvm_fission *s, LLVMValueRef lane))
{
    tgi_llvm_kernel *k = s->k;
    const unsigned lanes = k->e->lanes;
    if (k->analysis.phases[s->phase].can_mask) {
        k->index[k->analysis.inner] = from;
        k->mask = tgi_llvm_tail_mask(k, LLVMBuildSub(k->b, to, from, ""));
        copy(s, tgi_llvm_const_i64(k->program, 0));
    } else {
        tgi_llvm_loop loop;
        tgi_llvm_loop_begin_nonempty(k, &loop, from, to, 1);
        k->e->lanes = 1;
        k->index[k->analysis.inner] = loop.index;
        copy(s, LLVMBuildSub(k->b, loop.index, from, ""));
        tgi_llvm_loop_end(k, &loop, NULL);
    }
    k->e->lanes = lanes;
    k->index[k->analysis.inner] = NULL;
    k->mask = NULL;
}

static LLVMValueRef tail_address(tgi_llvm_fission *s, uint32_t access,
                                 LLVMValueRef lane)
{
    tgi_llvm_kernel *k = s->k;
    return LLVMBuildGEP2(
        k->b,
        tgi_llvm_element_type(k->e, tgi_llvm_fission_access_dtype(s, access)),
        s->tail_rows[access], &lane, 1, "");
}

static void copy_tail_in(tgi_llvm_fission *s, LLVMValueRef lane)
{
    tgi_llvm_kernel *k = s->k;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (tgi_llvm_fission_in_body(s, i) &&
            tgi_llvm_fission_inst_at(s, i)->kind == TGI_INST_LOAD) {
            const uint32_t access = tgi_llvm_fission_inst_at(s, i)->number;
            LLVMSetAlignment(LLVMBuildStore(k->b, tgi_llvm_load(k, access),
                                            tail_address(s, access, lane)),
                             1);
        }
}

static void copy_tail_out(tgi_llvm_fission *s, LLVMValueRef lane)
{
    tgi_llvm_kernel *k = s->k;
    for (size_t i = 0; i < k->loops->stores.n; i++) {
        const tgi_loop_store *store = &k->loops->stores.data[i];
        if (!tgi_llvm_fission_has_store(s, store))
            continue;
        tgi_llvm_value *value = &k->values[store->value];
        if (k->analysis.insts[store->value].varies) {
            value->value = LLVMBuildLoad2(
                k->b,
                tgi_llvm_type(k->e,
                              tgi_llvm_fission_access_dtype(s, store->access)),
                tail_address(s, store->access, lane), "");
            LLVMSetAlignment(value->value, 1);
        }
        tgi_llvm_store(k, store);
    }
}

/* -- Rows ------------------------------------------------------------------ */

/* Calls `visit` for each access of the body, possibly more than once. */
static void for_each_access(tgi_llvm_fission *s,
                            void visit(tgi_llvm_fission *s, uint32_t access))
{
    tgi_llvm_kernel *k = s->k;
    for (uint32_t i = 1; i < k->loops->insts.n; i++)
        if (tgi_llvm_fission_in_body(s, i) &&
            tgi_llvm_fission_inst_at(s, i)->kind == TGI_INST_LOAD)
            visit(s, tgi_llvm_fission_inst_at(s, i)->number);
    for (size_t i = 0; i < k->loops->stores.n; i++)
        if (tgi_llvm_fission_has_store(s, &k->loops->stores.data[i]))
            visit(s, k->loops->stores.data[i].access);
}

static void find_row_start(tgi_llvm_fission *s, uint32_t access)
{
    if (!s->buffer_rows[access])
        s->buffer_rows[access] =
            tgi_llvm_address(s->k, &s->k->loops->accesses.data[access]);
}

static void allocate_tail_row(tgi_llvm_fission *s, uint32_t access)
{
    tgi_llvm_kernel *k = s->k;
    if (!s->tail_rows[access])
        s->tail_rows[access] = tgi_llvm_stack_array(
            k,
            tgi_llvm_element_type(k->e,
                                  tgi_llvm_fission_access_dtype(s, access)),
            s->lanes);
}

/*
 * The loop over the strips of a row:
 *
 *     before ─▶ parts ─▶ done ─▶ after
 *                 ▲        │
 *                 └─ tail ◀┘  once, if there is a tail
 *
 * `tail` sets the row starts, which are phis of `parts`, to the padded copies.
 */
typedef struct row_loop {
    LLVMValueRef from, end, to; /* full vectors end at `end` */
    bool has_tail;
    LLVMBasicBlockRef before, parts, latch, done, tail;
    LLVMValueRef at, until; /* phis: start of the strip, end of the loop */
    LLVMValueRef next;      /* start of the next strip */
} row_loop;

static LLVMValueRef build_less(const tgi_llvm_fission *s, LLVMValueRef a,
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

static void begin_strip_loop(tgi_llvm_fission *s, row_loop *r)
{
    tgi_llvm_kernel *k = s->k;
    r->before = LLVMGetInsertBlock(k->b);
    r->parts = tgi_llvm_block_append(k, "parts");
    r->done = tgi_llvm_block_append(k, "done");
    LLVMBuildCondBr(k->b, build_less(s, r->from, r->end), r->parts, r->done);
    LLVMPositionBuilderAtEnd(k->b, r->parts);
    r->at = phi_of(s, r->before, r->from);
    r->until = r->has_tail ? phi_of(s, r->before, r->end) : r->end;
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        s->row_starts[i] = s->buffer_rows[i] && r->has_tail
                               ? phi_of(s, r->before, s->buffer_rows[i])
                               : s->buffer_rows[i];
}

static void end_strip_loop(tgi_llvm_fission *s, row_loop *r)
{
    tgi_llvm_kernel *k = s->k;
    r->latch = LLVMGetInsertBlock(k->b);
    r->next = tgi_llvm_add(k->program, s->at, s->n);
    if (s->n_parts > 1) {
        LLVMBuildCondBr(k->b, build_less(s, r->next, r->until), r->parts,
                        r->done);
        LLVMAddIncoming(r->at, &r->next, &r->latch, 1);
    } else {
        LLVMBuildBr(k->b, r->done);
    }
    LLVMPositionBuilderAtEnd(k->b, r->done);
    if (!r->has_tail || s->n_parts == 1)
        return;
    LLVMAddIncoming(r->until, &r->until, &r->latch, 1);
    for (size_t i = 0; i < k->loops->accesses.n; i++)
        if (s->row_starts[i])
            LLVMAddIncoming(s->row_starts[i], &s->row_starts[i], &r->latch, 1);
}

/* Copies the tail to the stack, and branches back to the parts. */
static void enter_tail(tgi_llvm_fission *s, row_loop *r)
{
    tgi_llvm_kernel *k = s->k;
    LLVMValueRef reached = phi_of(s, r->before, r->from);
    LLVMAddIncoming(reached, &r->next, &r->latch, 1);
    r->tail = tgi_llvm_block_append(k, "tail");
    LLVMBasicBlockRef after = tgi_llvm_block_append(k, "after");
    LLVMBuildCondBr(k->b, build_less(s, reached, r->to), r->tail, after);

    LLVMPositionBuilderAtEnd(k->b, r->tail);
    k->row_starts = s->buffer_rows;
    emit_tail_copy(s, r->end, r->to, copy_tail_in);
    LLVMValueRef back = LLVMBuildNeg(k->b, r->end, "");
    LLVMValueRef until = tgi_llvm_add(k->program, r->end,
                                      tgi_llvm_const_i64(k->program, s->lanes));
    LLVMBasicBlockRef block = LLVMGetInsertBlock(k->b);
    for (uint32_t i = 0; i < k->loops->accesses.n; i++)
        if (s->row_starts[i]) {
            LLVMValueRef start = tail_address(s, i, back);
            LLVMAddIncoming(s->row_starts[i], &start, &block, 1);
        }
    LLVMAddIncoming(r->at, &r->end, &block, 1);
    LLVMAddIncoming(r->until, &until, &block, 1);
    LLVMBuildBr(k->b, r->parts);
    LLVMPositionBuilderAtEnd(k->b, after);
}

/* Copies the results of the tail back. */
static void leave_tail(tgi_llvm_fission *s, const row_loop *r)
{
    tgi_llvm_kernel *k = s->k;
    tgi_llvm_branch branch;
    tgi_llvm_branch_begin(k, &branch, build_less(s, r->end, r->to));
    k->row_starts = s->buffer_rows;
    emit_tail_copy(s, r->end, r->to, copy_tail_out);
    tgi_llvm_branch_end(k, &branch);
}

static void emit_rows(tgi_llvm_fission *s, LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_kernel *k = s->k;
    const int64_t length = strip_length(s);
    row_loop r = {.from = from,
                  .end = tgi_llvm_round_down(k, from, to, s->lanes),
                  .to = to,
                  .has_tail = tgi_llvm_may_have_tail(&k->analysis, s->lanes)};
    for_each_access(s, find_row_start);
    if (r.has_tail)
        for_each_access(s, allocate_tail_row);
    allocate_slots(s);
    tgi_llvm_fission_scalars_store(s);
    begin_strip_loop(s, &r);
    s->at = r.at;
    s->n = LLVMBuildSub(k->b, r.until, r.at, "");
    if (length)
        s->n = tgi_llvm_min(k->program, s->n,
                            tgi_llvm_const_i64(k->program, length));
    k->row_starts = s->row_starts;
    emit_parts(s);
    end_strip_loop(s, &r);
    if (r.has_tail) {
        enter_tail(s, &r);
        leave_tail(s, &r);
    }
    k->row_starts = NULL;
}

/* -- Entry point ----------------------------------------------------------- */

/* Allocates all arrays in one block; pointers first, for alignment. */
static void *allocate_arrays(tgi_llvm_fission *s)
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
        .k = k, .phase = phase, .lanes = k->analysis.phases[phase].lanes};
    void *memory = allocate_arrays(&s);
    if (!memory) {
        tgi_llvm_fail_memory(k->program);
        return;
    }
    k->e->lanes = s.lanes;
    tgi_llvm_fission_plan(&s);
    emit_rows(&s, from, to);
    k->program->free(memory);
}
