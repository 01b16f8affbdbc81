/* SPDX-License-Identifier: MIT */
/*
 * llvm_fission.c - loop fission and strip-mining of heavy elementwise phases
 * (choose_fission.c). Each part of a body is a loop over a strip; parts pass
 * values in *slots*, stack arrays that fit L1.
 *
 * The body is emitted once: the tail of a row is copied to a stack array of one
 * vector, goes through the same code, and its results are copied back.
 *
 * Requires:  no reductions or checks; unit-stride loads and stores.
 * Preserves: an element's loads precede its stores, all in the last part.
 */
#include "llvm/loops/llvm_fission.h"
#include "llvm/emit/llvm_access.h"
#include "schedule/schedule.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_poll.h"
#include "llvm/emit/llvm_program.h"

#include <string.h>

/* -- Strips ---------------------------------------------------------------- */

static void emit_parts(tgi_llvm_fission *s)
{
    for (uint32_t part = 0; part < s->plan->n_parts; part++)
        if (!tgi_llvm_fission_is_function(s, part) ||
            !tgi_llvm_fission_call_emit(s, part))
            tgi_llvm_fission_loop_emit(s, part);
}

static void allocate_slots(tgi_llvm_fission *s)
{
    tgi_llvm_kernel *k = s->k;
    for (uint32_t i = 0; i < s->plan->n_slots; i++)
        s->slots[i] = tgi_llvm_stack_array(
            k, LLVMInt8TypeInContext(k->e->context),
            (unsigned)s->plan->strip * s->plan->slot_bytes);
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
    if (k->schedule->phases[s->phase].can_mask) {
        k->index[k->schedule->inner] = from;
        k->mask = tgi_llvm_tail_mask(k, LLVMBuildSub(k->b, to, from, ""));
        copy(s, tgi_llvm_const_i64(k->program, 0));
    } else {
        tgi_llvm_loop loop;
        tgi_llvm_loop_begin_nonempty(k, &loop, from, to, 1);
        k->e->lanes = 1;
        k->index[k->schedule->inner] = loop.index;
        copy(s, LLVMBuildSub(k->b, loop.index, from, ""));
        tgi_llvm_loop_end(k, &loop, NULL);
    }
    k->e->lanes = lanes;
    k->index[k->schedule->inner] = NULL;
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
        if (k->schedule->insts[store->value].varies) {
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
    if (s->plan->n_parts > 1) {
        LLVMBuildCondBr(k->b, build_less(s, r->next, r->until), r->parts,
                        r->done);
        LLVMAddIncoming(r->at, &r->next, &r->latch, 1);
    } else {
        LLVMBuildBr(k->b, r->done);
    }
    LLVMPositionBuilderAtEnd(k->b, r->done);
    if (!r->has_tail || s->plan->n_parts == 1)
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

/* True if a row, or a work item's part of it, may not be a multiple of a
   vector. */
static bool may_have_tail(const tgi_llvm_fission *s)
{
    const tgi_dim extent = s->k->loops->extent[s->k->schedule->inner];
    return !tgi_dim_is_known(extent) || extent % s->lanes;
}

static void emit_rows(tgi_llvm_fission *s, LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_kernel *k = s->k;
    row_loop r = {.from = from,
                  .end = tgi_llvm_round_down(k, from, to, s->lanes),
                  .to = to,
                  .has_tail = may_have_tail(s)};
    for_each_access(s, find_row_start);
    if (r.has_tail)
        for_each_access(s, allocate_tail_row);
    allocate_slots(s);
    tgi_llvm_fission_scalars_store(s);
    begin_strip_loop(s, &r);
    if (tgi_llvm_has_long_rows(k))
        tgi_llvm_poll(k);
    s->at = r.at;
    s->n = LLVMBuildSub(k->b, r.until, r.at, "");
    if (s->plan->strip)
        s->n = tgi_llvm_min(k->program, s->n,
                            tgi_llvm_const_i64(k->program, s->plan->strip));
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
    const size_t bytes = (3 * n_accesses + 2 * n_insts) * sizeof(LLVMValueRef) +
                         n_insts * sizeof(*s->insts);
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
    return memory;
}

void tgi_llvm_fission_emit(tgi_llvm_kernel *k, unsigned phase,
                                LLVMValueRef from, LLVMValueRef to)
{
    tgi_llvm_fission s = {.k = k,
                          .phase = phase,
                          .lanes = tgi_phase_lanes(&k->schedule->phases[phase]),
                          .plan = &k->schedule->phases[phase].fission};
    void *memory = allocate_arrays(&s);
    if (!memory) {
        tgi_llvm_fail_memory(k->program);
        return;
    }
    k->e->lanes = s.lanes;
    emit_rows(&s, from, to);
    k->program->free(memory);
}
