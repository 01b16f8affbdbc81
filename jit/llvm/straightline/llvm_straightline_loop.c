/* SPDX-License-Identifier: MIT */
/*
 * llvm_straightline_loop.c - loops of straight-line kernels, with the loops and
 * branches inside them. Carried values are phis in the loop header, one for
 * each vector that the body leaves. Their widths are found by emitting the body
 * once into a function that is then deleted.
 *
 * Forwarded elements of a buffer are invalidated in the header of a loop, and
 * after a loop or branch, that stores to the buffer. Carried values are stored
 * to their buffers after the loop, or before a failed assert that reports them.
 */
#include <string.h>

#include "llvm/emit/llvm_cancel.h"
#include "llvm/emit/llvm_check.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_poll.h"
#include "llvm/emit/llvm_program.h"
#include "llvm/emit/llvm_stack.h"
#include "llvm/emit/llvm_store_forwarding.h"
#include "llvm/straightline/llvm_straightline.h"

typedef struct loop_emitter {
    tgi_llvm_kernel *entry;
    tgi_llvm_straightline *group;
    tgi_llvm_program *program;
    const tgi_loops *loops;
    LLVMBuilderRef b;
    LLVMBasicBlockRef failed; /* behind the outermost loop, where a failed
                                 assert goes; NULL outside of loops */
} loop_emitter;

static size_t emit_steps(loop_emitter *e, size_t at, size_t end);

/* -- Memory ---------------------------------------------------------------- */

static void *allocate(const loop_emitter *e, size_t bytes)
{
    void *memory = e->program->alloc(bytes + 1);
    if (memory) {
        memset(memory, 0, bytes + 1);
    } else {
        tgi_llvm_fail_memory(e->program);
    }
    return memory;
}

static size_t buffer_count(const loop_emitter *e, uint32_t buffer)
{
    return (size_t)e->loops->buffers.data[buffer].count;
}

/* -- Forwarded elements ---------------------------------------------------- */

/* A copy of all forwarded elements; NULL after tgi_llvm_fail. */
static tgi_llvm_forwarded **save_forwarded(const loop_emitter *e)
{
    const size_t n = e->loops->buffers.n;
    tgi_llvm_forwarded **copy = allocate(e, n * sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++) {
        if (!e->group->forwarded[i])
            continue;
        const size_t bytes =
            buffer_count(e, (uint32_t)i) * sizeof(tgi_llvm_forwarded);
        copy[i] = allocate(e, bytes);
        if (copy[i])
            memcpy(copy[i], e->group->forwarded[i], bytes);
    }
    return copy;
}

static void free_saved(const loop_emitter *e, tgi_llvm_forwarded **saved)
{
    for (size_t i = 0; saved && i < e->loops->buffers.n; i++)
        if (saved[i])
            e->program->free(saved[i]);
    if (saved)
        e->program->free(saved);
}

/* Restores a copy, which stays valid. */
static void restore_forwarded(const loop_emitter *e,
                              tgi_llvm_forwarded *const *saved)
{
    for (size_t i = 0; i < e->loops->buffers.n; i++) {
        tgi_llvm_forwarded *now = e->group->forwarded[i];
        if (!now)
            continue;
        const size_t bytes =
            buffer_count(e, (uint32_t)i) * sizeof(tgi_llvm_forwarded);
        if (saved[i])
            memcpy(now, saved[i], bytes);
        else
            memset(now, 0, bytes);
    }
}

/* Invalidates the buffers that steps at … end - 1 store to. */
static void invalidate_stored(const loop_emitter *e, size_t at, size_t end)
{
    for (; at < end; at++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(e->loops, at);
        for (size_t i = 0; k && i < k->stores.n; i++) {
            const uint32_t buffer = tgi_buffer_id_index(
                k->accesses.data[k->stores.data[i].access].buffer);
            if (e->group->forwarded[buffer])
                memset(e->group->forwarded[buffer], 0,
                       buffer_count(e, buffer) * sizeof(tgi_llvm_forwarded));
        }
    }
}

/* -- Vectors --------------------------------------------------------------- */

static LLVMTypeRef vector_type(const loop_emitter *e, uint32_t buffer,
                               unsigned lanes)
{
    tgi_llvm_emitter *emit = &e->program->emitter;
    const unsigned saved_lanes = emit->lanes;
    emit->lanes = lanes;
    LLVMTypeRef type =
        tgi_llvm_type(emit, (tg_dtype)e->loops->buffers.data[buffer].dtype);
    emit->lanes = saved_lanes;
    return type;
}

static LLVMValueRef element_address(const loop_emitter *e, uint32_t buffer,
                                    size_t first)
{
    const int dtype = e->loops->buffers.data[buffer].dtype;
    LLVMValueRef base = LLVMBuildLoad2(
        e->b, e->program->pointer,
        tgi_llvm_buffer_table_entry(e->program, e->group->table, buffer), "");
    LLVMValueRef offset =
        tgi_llvm_const_i64(e->program, (int64_t)first * tgi_dtype_bytes(dtype));
    LLVMTypeRef byte = LLVMInt8TypeInContext(e->program->emitter.context);
    return LLVMBuildGEP2(e->b, byte, base, &offset, 1, "");
}

/* Elements of a buffer: forwarded if all of them are, else loaded. */
static LLVMValueRef load_elements(const loop_emitter *e, uint32_t buffer,
                                  size_t first, unsigned lanes)
{
    const tgi_llvm_forwarded *forwarded = e->group->forwarded[buffer];
    bool is_forwarded = forwarded != NULL;
    for (unsigned i = 0; is_forwarded && i < lanes; i++)
        is_forwarded = forwarded[first + i].value != NULL;
    if (is_forwarded)
        return tgi_llvm_forwarded_vector(e->group, forwarded + first, lanes);
    /* Elements of SSA buffers that were never stored are never used. */
    if (e->loops->buffers.data[buffer].place == TGI_PLACE_SSA)
        return LLVMConstNull(vector_type(e, buffer, lanes));
    LLVMValueRef value = LLVMBuildLoad2(e->b, vector_type(e, buffer, lanes),
                                        element_address(e, buffer, first), "");
    LLVMSetAlignment(
        value, (unsigned)tgi_dtype_bytes(e->loops->buffers.data[buffer].dtype));
    LLVMSetVolatile(value, true);
    return value;
}

static void set_forwarded(const loop_emitter *e, uint32_t buffer, size_t first,
                          LLVMValueRef value)
{
    tgi_llvm_forwarded *forwarded =
        tgi_llvm_forwarded_elements(e->group, buffer);
    const unsigned lanes = tgi_llvm_vector_width(value);
    for (unsigned i = 0; forwarded && i < lanes; i++)
        forwarded[first + i] = (tgi_llvm_forwarded){value, i};
}

/* Writes, by element, the width of the forwarded vector that begins there, or 0
   inside of one. */
static void find_widths(const loop_emitter *e, uint32_t buffer, uint8_t *widths)
{
    const tgi_llvm_forwarded *forwarded = e->group->forwarded[buffer];
    const size_t n = buffer_count(e, buffer);
    for (size_t first = 0; first < n;) {
        LLVMValueRef value = forwarded ? forwarded[first].value : NULL;
        unsigned width = value ? tgi_llvm_vector_width(value) : 1, i = 0;
        if (width > n - first)
            width = 1;
        while (i < width && forwarded && forwarded[first + i].value == value &&
               forwarded[first + i].lane == i)
            i++;
        if (i < width)
            width = 1;
        memset(widths + first, 0, width);
        widths[first] = (uint8_t)width;
        first += width;
    }
}

/* -- Phis ------------------------------------------------------------------ */

/* A carried value of a loop, or a result of a switch. */
typedef struct carried {
    uint32_t buffer;
    uint32_t next_buffer; /* LOOP: holds the next value after the body */
    uint8_t *widths;      /* as find_widths */
    LLVMValueRef *phis;   /* by element at which one begins */
} carried;

typedef struct phi_set {
    carried *values;
    uint32_t n;
} phi_set;

static void phi_set_free(const loop_emitter *e, phi_set *set)
{
    for (uint32_t i = 0; set->values && i < set->n; i++) {
        if (set->values[i].widths)
            e->program->free(set->values[i].widths);
        if (set->values[i].phis)
            e->program->free(set->values[i].phis);
    }
    if (set->values)
        e->program->free(set->values);
}

/* The values that are not in memory; all widths are 1 at first. */
static bool phi_set_init(const loop_emitter *e, const tgi_control_flow *c,
                         phi_set *set)
{
    *set = (phi_set){.values = allocate(e, c->n_carried * sizeof(carried))};
    for (uint32_t k = 0; set->values && k < c->n_carried; k++) {
        const tgi_loop_buffer *b = tgi_loops_buffer(e->loops, c->carried[k]);
        const bool in_memory =
            c->n_cases
                ? b->place != TGI_PLACE_SSA &&
                      !e->group
                           ->in_registers[tgi_buffer_id_index(c->carried[k])]
                : !c->in_registers[k];
        if (in_memory || b->count == 0)
            continue;
        const size_t n = (size_t)b->count;
        set->values[set->n] =
            (carried){.buffer = tgi_buffer_id_index(c->carried[k]),
                      .next_buffer = tgi_buffer_id_index(c->next[k]),
                      .widths = allocate(e, n),
                      .phis = allocate(e, n * sizeof(LLVMValueRef))};
        if (set->values[set->n].widths)
            memset(set->values[set->n].widths, 1, n);
        set->n++;
    }
    return !e->program->failure;
}

/* Adds phis at the builder, and forwards them. */
static void add_phis(const loop_emitter *e, const phi_set *set)
{
    for (uint32_t k = 0; k < set->n; k++) {
        const carried *c = &set->values[k];
        for (size_t i = 0; i < buffer_count(e, c->buffer); i += c->widths[i]) {
            c->phis[i] =
                LLVMBuildPhi(e->b, vector_type(e, c->buffer, c->widths[i]), "");
            set_forwarded(e, c->buffer, i, c->phis[i]);
        }
    }
}

/* Loads all values, as vectors of the set's widths; `next`: those that the body
   leaves. */
static void load_all(const loop_emitter *e, const phi_set *set, bool next,
                     LLVMValueRef *out_values)
{
    for (uint32_t k = 0; k < set->n; k++) {
        const carried *c = &set->values[k];
        for (size_t i = 0; i < buffer_count(e, c->buffer); i += c->widths[i])
            *out_values++ = load_elements(e, next ? c->next_buffer : c->buffer,
                                          i, c->widths[i]);
    }
}

static void add_incoming(const loop_emitter *e, const phi_set *set,
                         LLVMValueRef *values, LLVMBasicBlockRef from)
{
    for (uint32_t k = 0; k < set->n; k++) {
        const carried *c = &set->values[k];
        for (size_t i = 0; i < buffer_count(e, c->buffer); i += c->widths[i])
            LLVMAddIncoming(c->phis[i], values++, &from, 1);
    }
}

static size_t total_elements(const loop_emitter *e, const phi_set *set)
{
    size_t n = 0;
    for (uint32_t k = 0; k < set->n; k++)
        n += buffer_count(e, set->values[k].buffer);
    return n;
}

/* Forwards the phis, and stores those of buffers that have memory. */
static void store_all(const loop_emitter *e, const phi_set *set)
{
    for (uint32_t k = 0; k < set->n; k++) {
        const carried *c = &set->values[k];
        const unsigned bytes =
            (unsigned)tgi_dtype_bytes(e->loops->buffers.data[c->buffer].dtype);
        for (size_t i = 0; i < buffer_count(e, c->buffer); i += c->widths[i]) {
            set_forwarded(e, c->buffer, i, c->phis[i]);
            if (e->loops->buffers.data[c->buffer].place == TGI_PLACE_SSA)
                continue;
            LLVMSetAlignment(LLVMBuildStore(e->b, c->phis[i],
                                            element_address(e, c->buffer, i)),
                             bytes);
        }
    }
}

static LLVMBasicBlockRef add_block(const loop_emitter *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->program->emitter.context,
                                         e->group->function, name);
}

/* -- Loops ----------------------------------------------------------------- */

/* Branches to exit_block unless `condition` holds; continues in a new block. */
static void exit_unless(const loop_emitter *e, LLVMValueRef condition,
                        LLVMBasicBlockRef exit_block)
{
    LLVMBasicBlockRef next = add_block(e, "next");
    LLVMBuildCondBr(e->b, condition, next, exit_block);
    LLVMPositionBuilderAtEnd(e->b, next);
}

/* Exits if no iterations are left, recording the failed check, which the step
   after the loop tests. */
static void exit_at_limit(const loop_emitter *e, LLVMValueRef has_iterations,
                          const tgi_control_flow *c, LLVMBasicBlockRef after)
{
    LLVMBasicBlockRef reached = add_block(e, "limit");
    exit_unless(e, has_iterations, reached);
    LLVMBasicBlockRef next = LLVMGetInsertBlock(e->b);
    LLVMPositionBuilderAtEnd(e->b, reached);
    tgi_llvm_failed_check_record(e->program, e->group->frame, c->limit_check);
    LLVMBuildBr(e->b, after);
    LLVMPositionBuilderAtEnd(e->b, next);
}

/* Makes room on the stacks for the slices of the next iteration. If that fails,
   records the failed check and exits. */
static void grow_stacks(const loop_emitter *e, LLVMValueRef slices,
                        const tgi_control_flow *c, LLVMBasicBlockRef after)
{
    LLVMValueRef frame = e->group->frame;
    LLVMBasicBlockRef full = add_block(e, "full");
    LLVMBasicBlockRef failed = add_block(e, "failed");
    LLVMBasicBlockRef next = add_block(e, "next");
    LLVMBuildCondBr(e->b, tgi_llvm_stack_is_full(e->program, frame, c, slices),
                    full, next);
    LLVMPositionBuilderAtEnd(e->b, full);
    LLVMValueRef has_room = tgi_llvm_stack_grow(e->program, frame, c, slices);
    LLVMBuildCondBr(e->b,
                    LLVMBuildICmp(e->b, LLVMIntNE, has_room,
                                  LLVMConstNull(e->program->i32), ""),
                    next, failed);
    LLVMPositionBuilderAtEnd(e->b, failed);
    tgi_llvm_failed_check_record(e->program, frame, c->memory_check);
    LLVMBuildBr(e->b, after);
    LLVMPositionBuilderAtEnd(e->b, next);
}

/* Leaves the outermost loop if the call must end. */
static void leave_if_cancelled(const loop_emitter *e, const tgi_control_flow *c,
                               tgi_llvm_cancel cancel)
{
    LLVMValueRef frame = e->group->frame;
    LLVMBasicBlockRef cancelled = add_block(e, "cancelled");
    tgi_llvm_cancel_emit(e->program, e->group->function, frame, cancel, NULL,
                         cancelled);
    LLVMBasicBlockRef next = LLVMGetInsertBlock(e->b);
    LLVMPositionBuilderAtEnd(e->b, cancelled);
    tgi_llvm_failed_check_record(e->program, frame, c->cancel_check);
    LLVMBuildBr(e->b, e->failed);
    LLVMPositionBuilderAtEnd(e->b, next);
}

/* Polls once in some iterations; only thread 0 runs the loop. */
static void poll(const loop_emitter *e, LLVMValueRef counter)
{
    if (!e->program->has_polls)
        return;
    LLVMValueRef zero = tgi_llvm_const_i64(e->program, 0);
    LLVMValueRef rest = LLVMBuildAnd(
        e->b, counter,
        tgi_llvm_const_i64(e->program, TGI_LLVM_POLLED_ITERATIONS - 1), "");
    LLVMBasicBlockRef now = add_block(e, "poll");
    LLVMBasicBlockRef next = add_block(e, "steps");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, rest, zero, ""), now,
                    next);
    LLVMPositionBuilderAtEnd(e->b, now);
    tgi_llvm_poll_frame(e->program, e->group->function, e->group->frame, zero);
    LLVMBuildBr(e->b, next);
    LLVMPositionBuilderAtEnd(e->b, next);
}

/* Emits steps at + 1 … end - 1 as a loop with these phis. */
static void emit_iterations(loop_emitter *e, size_t at, size_t end,
                            const phi_set *set, LLVMValueRef *values)
{
    const tgi_control_flow *c =
        tgi_loops_control(e->loops, e->loops->steps.data[at].control);
    LLVMValueRef zero = tgi_llvm_const_i64(e->program, 0);
    LLVMValueRef n_iterations =
        load_elements(e, tgi_buffer_id_index(c->operand), 0, 1);
    LLVMValueRef base =
        c->has_base ? load_elements(e, tgi_buffer_id_index(c->base), 0, 1)
                    : zero;
    const bool is_cancellable =
        c->is_cancellable && e->program->can_be_cancelled;
    tgi_llvm_cancel cancel = {.word = NULL};
    if (is_cancellable)
        cancel = tgi_llvm_cancel_load(e->program, e->group->frame);
    load_all(e, set, false, values);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef header = add_block(e, "iteration");
    LLVMBasicBlockRef after = add_block(e, "after");
    LLVMBasicBlockRef outer_failed = e->failed;
    e->failed = outer_failed ? outer_failed : after;
    LLVMBuildBr(e->b, header);
    LLVMPositionBuilderAtEnd(e->b, header);

    invalidate_stored(e, at, end);
    LLVMValueRef counter = LLVMBuildPhi(e->b, e->program->i64, "");
    LLVMAddIncoming(counter, &zero, &before, 1);
    add_phis(e, set);
    add_incoming(e, set, values, before);
    set_forwarded(e, tgi_buffer_id_index(c->counter), 0, counter);
    LLVMValueRef has_iterations =
        LLVMBuildICmp(e->b, LLVMIntSLT, counter, n_iterations, "");
    if (!c->is_limited)
        exit_unless(e, has_iterations, after);
    size_t body = at + 1;
    if (c->has_test) {
        while (e->loops->steps.data[body].kind != TGI_STEP_TEST ||
               !tgi_control_id_equals(e->loops->steps.data[body].control,
                                      e->loops->steps.data[at].control))
            body++;
        emit_steps(e, at + 1, body++);
        LLVMValueRef continues =
            load_elements(e, tgi_buffer_id_index(c->test), 0, 1);
        exit_unless(e,
                    LLVMBuildICmp(e->b, LLVMIntNE, continues,
                                  LLVMConstNull(LLVMTypeOf(continues)), ""),
                    after);
    }
    if (c->is_limited)
        exit_at_limit(e, has_iterations, c, after);
    if (is_cancellable)
        leave_if_cancelled(e, c, cancel);
    if (!tgi_stack_set_id_is_none(c->stack_set))
        grow_stacks(e, tgi_llvm_add(e->program, base, counter), c, after);
    poll(e, counter);
    emit_steps(e, body, end);

    load_all(e, set, true, values);
    LLVMValueRef next =
        tgi_llvm_add(e->program, counter, tgi_llvm_const_i64(e->program, 1));
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b);
    LLVMAddIncoming(counter, &next, &latch, 1);
    add_incoming(e, set, values, latch);
    LLVMBuildBr(e->b, header);
    LLVMPositionBuilderAtEnd(e->b, after);
    e->failed = outer_failed;
}

/* Finds the widths of the phis, by emitting the loop into a temporary
   function. */
static void find_phi_widths(loop_emitter *e, size_t at, size_t end,
                            phi_set *set, LLVMValueRef *values)
{
    tgi_llvm_straightline *group = e->group;
    tgi_llvm_forwarded **saved = save_forwarded(e);
    if (e->program->failure) {
        free_saved(e, saved);
        return;
    }
    LLVMBasicBlockRef block = LLVMGetInsertBlock(e->b);
    LLVMValueRef function = group->function;
    LLVMBasicBlockRef failed = e->failed;
    const bool hoists_loads = group->hoists_loads;
    group->hoists_loads = false;
    e->failed = NULL;
    group->function =
        LLVMAddFunction(e->program->emitter.module, "",
                        LLVMGlobalGetValueType(e->entry->function));
    LLVMPositionBuilderAtEnd(e->b, add_block(e, ""));
    emit_iterations(e, at, end, set, values);
    for (uint32_t k = 0; k < set->n; k++)
        find_widths(e, set->values[k].next_buffer, set->values[k].widths);
    /* A value that is the previous value of another one has its widths. */
    for (uint32_t k = 0; k < set->n; k++)
        for (uint32_t i = 0; i < set->n; i++)
            if (set->values[k].next_buffer == set->values[i].buffer && i != k &&
                set->values[i].next_buffer != set->values[i].buffer)
                memcpy(set->values[k].widths, set->values[i].widths,
                       buffer_count(e, set->values[k].buffer));
    restore_forwarded(e, saved);
    free_saved(e, saved);
    LLVMPositionBuilderAtEnd(e->b, block);
    LLVMDeleteFunction(group->function);
    group->function = function;
    group->hoists_loads = hoists_loads;
    e->failed = failed;
}

static void emit_loop(loop_emitter *e, size_t at, size_t end)
{
    const tgi_control_flow *c =
        tgi_loops_control(e->loops, e->loops->steps.data[at].control);
    phi_set set;
    LLVMValueRef *values = NULL;
    if (phi_set_init(e, c, &set))
        values = allocate(e, total_elements(e, &set) * sizeof(*values));
    if (values)
        find_phi_widths(e, at, end, &set, values);
    if (values && !e->program->failure) {
        emit_iterations(e, at, end, &set, values);
        invalidate_stored(e, at, end);
        store_all(e, &set);
    }
    if (values)
        e->program->free(values);
    phi_set_free(e, &set);
}

/* -- Branches -------------------------------------------------------------- */

typedef struct switch_emitter {
    loop_emitter *e;
    tgi_llvm_forwarded **before;
    phi_set set;
    LLVMBasicBlockRef after;
    LLVMValueRef *values;
} switch_emitter;

/* Emits the steps of a case, and adds its results to the phis. */
static void emit_case(switch_emitter *s, size_t at, size_t end, bool is_first)
{
    loop_emitter *e = s->e;
    restore_forwarded(e, s->before);
    emit_steps(e, at, end);
    if (e->program->failure)
        return;
    if (is_first) {
        for (uint32_t k = 0; k < s->set.n; k++)
            find_widths(e, s->set.values[k].buffer, s->set.values[k].widths);
    }
    load_all(e, &s->set, true, s->values);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, s->after);
    if (is_first) {
        LLVMPositionBuilderAtEnd(e->b, s->after);
        add_phis(e, &s->set);
    }
    add_incoming(e, &s->set, s->values, from);
}

static void emit_cases(switch_emitter *s, size_t at, size_t end)
{
    loop_emitter *e = s->e;
    const uint32_t number =
        tgi_control_id_index(e->loops->steps.data[at].control);
    const tgi_control_flow *c = &e->loops->controls.data[number];
    LLVMValueRef zero = tgi_llvm_const_i64(e->program, 0);
    LLVMValueRef index =
        load_elements(e, tgi_buffer_id_index(c->operand), 0, 1);
    LLVMValueRef is_below = LLVMBuildICmp(e->b, LLVMIntSLT, index, zero, "");
    index = LLVMBuildSelect(e->b, is_below, zero, index, "");
    LLVMBasicBlockRef last = add_block(e, "case");
    s->after = add_block(e, "end");
    LLVMValueRef branch = LLVMBuildSwitch(e->b, index, last, c->n_cases);
    uint32_t n = 0;
    for (size_t first = at + 1; first < end && !e->program->failure;) {
        size_t next = first + 1;
        while (next < end &&
               (e->loops->steps.data[next].kind != TGI_STEP_CASE ||
                tgi_control_id_index(e->loops->steps.data[next].control) !=
                    number))
            next++;
        LLVMBasicBlockRef block = last;
        if (n + 1 < c->n_cases) {
            block = add_block(e, "case");
            LLVMAddCase(branch, tgi_llvm_const_i64(e->program, n), block);
        }
        LLVMPositionBuilderAtEnd(e->b, block);
        emit_case(s, first + 1, next, n == 0);
        n++;
        first = next;
    }
    LLVMPositionBuilderAtEnd(e->b, s->after);
}

static void emit_switch(loop_emitter *e, size_t at, size_t end)
{
    const tgi_control_flow *c =
        tgi_loops_control(e->loops, e->loops->steps.data[at].control);
    switch_emitter s = {.e = e, .before = save_forwarded(e)};
    if (phi_set_init(e, c, &s.set))
        s.values = allocate(e, total_elements(e, &s.set) * sizeof(*s.values));
    if (s.values) {
        emit_cases(&s, at, end);
        if (!e->program->failure) {
            restore_forwarded(e, s.before);
            invalidate_stored(e, at, end);
            for (uint32_t k = 0; k < s.set.n; k++) {
                const carried *v = &s.set.values[k];
                for (size_t i = 0; i < buffer_count(e, v->buffer);
                     i += v->widths[i])
                    set_forwarded(e, v->buffer, i, v->phis[i]);
            }
        }
        e->program->free(s.values);
    }
    phi_set_free(e, &s.set);
    free_saved(e, s.before);
}

/* -- Asserts --------------------------------------------------------------- */

/* Stores a carried value that is in registers. */
static void store_carried(const loop_emitter *e, uint32_t buffer)
{
    const size_t n = buffer_count(e, buffer);
    uint8_t *widths = allocate(e, n);
    if (!widths)
        return;
    find_widths(e, buffer, widths);
    for (size_t i = 0; i < n; i += widths[i])
        LLVMSetAlignment(
            LLVMBuildStore(e->b, load_elements(e, buffer, i, widths[i]),
                           element_address(e, buffer, i)),
            (unsigned)tgi_dtype_bytes(e->loops->buffers.data[buffer].dtype));
    e->program->free(widths);
}

/* Memory for an i64, allocated once per call. */
static LLVMValueRef stack_slot(const loop_emitter *e)
{
    LLVMBasicBlockRef block = LLVMGetInsertBlock(e->b);
    LLVMMetadataRef location = LLVMGetCurrentDebugLocation2(e->b);
    LLVMPositionBuilderBefore(
        e->b, LLVMGetFirstInstruction(
                  LLVMGetEntryBasicBlock(e->entry->function)));
    LLVMSetCurrentDebugLocation2(e->b, NULL);
    LLVMValueRef slot = LLVMBuildAlloca(e->b, e->program->i64, "");
    LLVMPositionBuilderAtEnd(e->b, block);
    LLVMSetCurrentDebugLocation2(e->b, location);
    return slot;
}

/* The address of an input of an assert. A counter of iterations that is in a
   register gets memory for the report. */
static LLVMValueRef reported_address(const loop_emitter *e, uint32_t buffer)
{
    const tgi_llvm_forwarded *forwarded = e->group->forwarded[buffer];
    if (e->group->in_registers[buffer])
        store_carried(e, buffer);
    if (e->loops->buffers.data[buffer].place == TGI_PLACE_COUNTER &&
        forwarded && forwarded[0].value) {
        LLVMValueRef slot = stack_slot(e);
        LLVMBuildStore(e->b, load_elements(e, buffer, 0, 1), slot);
        return slot;
    }
    return LLVMBuildLoad2(
        e->b, e->program->pointer,
        tgi_llvm_buffer_table_entry(e->program, e->group->table, buffer), "");
}

/*
 * The host formats the message from the addresses in the frame: those of this
 * thread, which a failed call leaves there anyway (llvm_control.c), unless they
 * are on its stack. The rest of the case is unreachable.
 */
static void emit_failed_assert(const loop_emitter *e, uint32_t number)
{
    tgi_llvm_program *program = e->program;
    LLVMValueRef frame = e->group->frame;
    const tgi_host_step *step = &e->loops->hosts.data[number];
    LLVMValueRef of_frame =
        tgi_llvm_frame_load(program, frame, TGI_FRAME_BUFFERS);
    LLVMValueRef *before = allocate(e, step->n_inputs * sizeof(*before));
    for (uint32_t i = 0; before && i < step->n_inputs; i++) {
        const uint32_t buffer = tgi_buffer_id_index(step->buffers[i]);
        LLVMValueRef entry =
            tgi_llvm_buffer_table_entry(program, of_frame, buffer);
        if (e->loops->buffers.data[buffer].place == TGI_PLACE_COUNTER)
            before[i] = LLVMBuildLoad2(e->b, program->pointer, entry, "");
        LLVMBuildStore(e->b, reported_address(e, buffer), entry);
    }
    (void)tgi_llvm_host_call_emit(program, frame, number); /* fails */
    tgi_llvm_failed_host_record(program, frame, number);
    for (uint32_t i = step->n_inputs; before && i-- > 0;)
        if (before[i])
            LLVMBuildStore(
                e->b, before[i],
                tgi_llvm_buffer_table_entry(
                    program, of_frame, tgi_buffer_id_index(step->buffers[i])));
    if (before)
        program->free(before);
    LLVMBuildBr(e->b, e->failed);
    LLVMPositionBuilderAtEnd(e->b, add_block(e, "unreachable"));
}

/* -- Steps ----------------------------------------------------------------- */

static size_t emit_steps(loop_emitter *e, size_t at, size_t end)
{
    while (at < end && !e->program->failure) {
        const tgi_loop_step *step = &e->loops->steps.data[at];
        if (step->kind == TGI_STEP_RUN) {
            tgi_llvm_straightline_kernel_emit(
                e->group, tgi_loops_kernel(e->loops, step->kernel));
        } else if (step->kind == TGI_STEP_LOOP) {
            const size_t last = tgi_loops_end_of(e->loops, at);
            emit_loop(e, at, last);
            at = last;
        } else if (step->kind == TGI_STEP_SWITCH) {
            const size_t last = tgi_loops_end_of(e->loops, at);
            emit_switch(e, at, last);
            at = last;
        } else if (step->kind == TGI_STEP_HOST) {
            emit_failed_assert(e, tgi_host_id_index(step->host));
        }
        at++;
    }
    return at;
}

/* Marks carried values that are not in memory while their loops run. */
static void mark_carried_values(const loop_emitter *e, size_t at, size_t end)
{
    for (; at < end; at++) {
        const tgi_loop_step *step = &e->loops->steps.data[at];
        if (step->kind != TGI_STEP_LOOP)
            continue;
        const tgi_control_flow *c = tgi_loops_control(e->loops, step->control);
        for (uint32_t k = 0; k < c->n_carried; k++)
            if (c->in_registers[k])
                e->group->in_registers[tgi_buffer_id_index(c->carried[k])] =
                    true;
    }
}

size_t tgi_llvm_straightline_loop_emit(tgi_llvm_kernel *n, size_t at)
{
    loop_emitter e = {.entry = n,
                      .program = n->program,
                      .loops = n->program->loops,
                      .b = n->b};
    const size_t end = tgi_loops_end_of(e.loops, at);
    e.group = tgi_llvm_straightline_begin(n, at, end);
    if (e.group) {
        mark_carried_values(&e, at, end);
        e.group->hoists_loads = true;
        emit_loop(&e, at, end);
        tgi_llvm_straightline_end(e.group);
    }
    return end + 1;
}
