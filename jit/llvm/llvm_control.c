/* SPDX-License-Identifier: MIT */
/*
 * llvm_control.c - branches and loops of the entry. All threads go through
 * them, each for itself, and all the same way.
 *
 * Where buffers change places after each trip, every thread has a table of
 * addresses of its own, so that nobody has to wait for the change. The trips
 * done are counted by every thread, too, in memory that its table names: to
 * kernels they are a buffer like any other.
 */
#include "llvm/llvm_entry.h"

#include <string.h>

static const tgi_control_flow *loops_of(const tgi_llvm_entry *n,
                                        uint32_t number)
{
    return &n->k.program->loops->controls.data[number];
}

static LLVMValueRef entry_of(tgi_llvm_entry *n, uint32_t buffer)
{
    return tgi_llvm_buffer_table_entry(n->k.program, n->k.table, buffer);
}

static LLVMValueRef address_of(tgi_llvm_entry *n, uint32_t buffer)
{
    return LLVMBuildLoad2(n->k.b, n->k.program->pointer, entry_of(n, buffer),
                          "");
}

static LLVMValueRef load_number(tgi_llvm_entry *n, uint32_t buffer)
{
    return LLVMBuildLoad2(n->k.b, n->k.program->i64, address_of(n, buffer),
                          "");
}

/* -- Tables ---------------------------------------------------------------- */

static LLVMValueRef copy_table(tgi_llvm_entry *n, LLVMValueRef from)
{
    const tgi_llvm_program *program = n->k.program;
    const int64_t n_buffers = (int64_t)program->loops->buffers.n;
    LLVMValueRef table = LLVMBuildArrayAlloca(
        n->k.b, program->pointer, tgi_llvm_const_i64(program, n_buffers), "");
    tgi_llvm_loop loop;
    tgi_llvm_loop_begin(&n->k, &loop, tgi_llvm_const_i64(program, 0),
                        tgi_llvm_const_i64(program, n_buffers), 1, NULL, 0);
    LLVMValueRef source = LLVMBuildGEP2(n->k.b, program->pointer, from,
                                        &loop.index, 1, "");
    LLVMValueRef target = LLVMBuildGEP2(n->k.b, program->pointer, table,
                                        &loop.index, 1, "");
    LLVMBuildStore(n->k.b,
                   LLVMBuildLoad2(n->k.b, program->pointer, source, ""),
                   target);
    tgi_llvm_loop_end(&n->k, &loop, NULL);
    return table;
}

void tgi_llvm_control_begin(tgi_llvm_entry *n)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_loops *loops = program->loops;
    n->k.table = tgi_llvm_frame_load(program, n->frame, TGI_FRAME_BUFFERS);
    bool has_loop = false;
    for (size_t i = 0; i < loops->controls.n; i++) {
        /* A straightline loop has all it needs in registers. */
        if (loops->controls.data[i].n_cases ||
            loops->controls.data[i].is_straightline)
            continue;
        n->controls[i].counter = LLVMBuildAlloca(n->k.b, program->i64, "");
        has_loop = true;
    }
    if (!has_loop)
        return;
    n->k.table = copy_table(n, n->k.table);
    /* Here, once: LLVM would move these addresses out of all loops, and have
       each of them live through the whole entry. */
    for (size_t i = 0; i < loops->controls.n; i++)
        if (n->controls[i].counter)
            LLVMBuildStore(n->k.b, n->controls[i].counter,
                           entry_of(n, tgi_buffer_id_index(
                                           loops->controls.data[i].counter)));
}

/* True if a thread's table has an address that the frame has not. */
static bool has_moved(const tgi_loops *loops, uint32_t buffer)
{
    if (loops->buffers.data[buffer].place == TGI_PLACE_COUNTER)
        return true;
    for (size_t i = 0; i < loops->controls.n; i++)
        for (uint32_t j = 0; j < loops->controls.data[i].n_moved; j++)
            if (tgi_buffer_id_index(loops->controls.data[i].to[j]) == buffer)
                return true;
    return false;
}

static LLVMValueRef frame_entry(tgi_llvm_entry *n, uint32_t buffer)
{
    const tgi_llvm_program *program = n->k.program;
    return tgi_llvm_buffer_table_entry(
        program, tgi_llvm_frame_load(program, n->frame, TGI_FRAME_BUFFERS),
        buffer);
}

void tgi_llvm_control_publish(tgi_llvm_entry *n, const tgi_buffer_id *buffers,
                              uint32_t n_buffers)
{
    const tgi_loops *loops = n->k.program->loops;
    memset(n->moved, 0, loops->buffers.n * sizeof(*n->moved));
    for (uint32_t i = 0; i < n_buffers; i++) {
        const uint32_t buffer = tgi_buffer_id_index(buffers[i]);
        if (n->moved[buffer] || !has_moved(loops, buffer))
            continue;
        LLVMValueRef entry = frame_entry(n, buffer);
        n->moved[buffer] =
            LLVMBuildLoad2(n->k.b, n->k.program->pointer, entry, "");
        LLVMBuildStore(n->k.b, address_of(n, buffer), entry);
    }
}

void tgi_llvm_control_unpublish(tgi_llvm_entry *n, const tgi_buffer_id *buffers,
                                uint32_t n_buffers)
{
    for (uint32_t i = 0; i < n_buffers; i++) {
        LLVMValueRef *before = &n->moved[tgi_buffer_id_index(buffers[i])];
        if (*before)
            LLVMBuildStore(n->k.b, *before,
                           frame_entry(n, tgi_buffer_id_index(buffers[i])));
        *before = NULL;
    }
}

void tgi_llvm_control_failed(tgi_llvm_entry *n)
{
    tgi_llvm_program *program = n->k.program;
    const tgi_loops *loops = program->loops;
    tgi_llvm_branch first;
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    LLVMValueRef table =
        tgi_llvm_frame_load(program, n->frame, TGI_FRAME_BUFFERS);
    for (size_t i = 0; i < loops->controls.n; i++)
        for (uint32_t j = 0; j < loops->controls.data[i].n_moved; j++) {
            const uint32_t moved =
                tgi_buffer_id_index(loops->controls.data[i].to[j]);
            LLVMBuildStore(n->k.b, address_of(n, moved),
                           tgi_llvm_buffer_table_entry(program, table, moved));
        }
    tgi_llvm_branch_end(&n->k, &first);
}

/* -- Loops ----------------------------------------------------------------- */

/* Goes on where `condition` holds, else to `away`. */
static void leave_unless(tgi_llvm_entry *n, LLVMValueRef condition,
                         LLVMBasicBlockRef away)
{
    LLVMBasicBlockRef next = tgi_llvm_block_append(&n->k, "next");
    LLVMBuildCondBr(n->k.b, condition, next, away);
    LLVMPositionBuilderAtEnd(n->k.b, next);
}

static LLVMValueRef trips_done(tgi_llvm_entry *n, const tgi_llvm_control *c)
{
    return LLVMBuildLoad2(n->k.b, n->k.program->i64, c->counter, "");
}

static LLVMValueRef has_trips(tgi_llvm_entry *n, const tgi_llvm_control *c)
{
    return LLVMBuildICmp(n->k.b, LLVMIntSLT, trips_done(n, c), c->iterations,
                         "");
}

/* -- Stacks ---------------------------------------------------------------- */

LLVMValueRef tgi_llvm_stack_is_full(const tgi_llvm_program *program,
                                    LLVMValueRef frame,
                                    const tgi_control_flow *loop,
                                    LLVMValueRef trips)
{
    LLVMBuilderRef b = program->emitter.builder;
    LLVMValueRef at =
        tgi_llvm_const_i64(program, tgi_stack_set_id_index(loop->stack_set));
    LLVMValueRef capacity = LLVMBuildLoad2(
        b, program->i64,
        LLVMBuildGEP2(b, program->i64,
                      tgi_llvm_frame_load(program, frame, TGI_FRAME_CAPACITY),
                      &at, 1, ""),
        "");
    return LLVMBuildICmp(b, LLVMIntSGE, trips, capacity, "");
}

LLVMValueRef tgi_llvm_stack_grow(const tgi_llvm_program *program,
                                 LLVMValueRef frame,
                                 const tgi_control_flow *loop,
                                 LLVMValueRef trips)
{
    LLVMTypeRef parameters[] = {program->pointer, program->i64, program->i64};
    LLVMTypeRef type = LLVMFunctionType(program->i32, parameters, 3, false);
    LLVMValueRef arguments[] = {
        frame,
        tgi_llvm_const_i64(program, tgi_stack_set_id_index(loop->stack_set)),
        trips};
    LLVMValueRef call = LLVMBuildCall2(
        program->emitter.builder, type,
        tgi_llvm_frame_load(program, frame, TGI_FRAME_GROW), arguments, 3, "");
    /* It is hardly ever called: all else stays in registers. */
    static const char cold[] = "cold";
    LLVMAddCallSiteAttribute(
        call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(
            program->emitter.context,
            LLVMGetEnumAttributeKindForName(cold, sizeof(cold) - 1), 0));
    return call;
}

void tgi_llvm_failed_check_record(const tgi_llvm_program *program,
                                  LLVMValueRef frame, uint32_t check)
{
    LLVMBuildStore(
        program->emitter.builder,
        tgi_llvm_const_i64(program, (int64_t)check + 1),
        tgi_llvm_frame_address(program, frame, TGI_FRAME_FAILED_CHECK));
}

/*
 * Before a trip: room for what it saves. All threads have done as many trips
 * and see the same capacity, which changes only when all of them wait; so
 * they leave together, too, if there is no memory. The check is one that
 * nothing else can fail: a thread may be far ahead by the time another one
 * looks.
 */
static void make_room(tgi_llvm_entry *n, const tgi_llvm_control *c,
                      const tgi_control_flow *loops)
{
    tgi_llvm_program *program = n->k.program;
    LLVMBuilderRef b = n->k.b;
    LLVMValueRef trips = trips_done(n, c);
    if (loops->has_base)
        trips = tgi_llvm_add(program, c->base, trips);
    tgi_llvm_branch full, first, failed;
    tgi_llvm_branch_begin(
        &n->k, &full, tgi_llvm_stack_is_full(program, n->frame, loops, trips));
    tgi_llvm_barrier_emit(n);
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    LLVMValueRef is_fine = tgi_llvm_stack_grow(program, n->frame, loops, trips);
    tgi_llvm_branch_begin(&n->k, &failed,
                          LLVMBuildICmp(b, LLVMIntEQ, is_fine,
                                        LLVMConstNull(program->i32), ""));
    tgi_llvm_failed_check_record(program, n->frame, loops->memory_check);
    tgi_llvm_branch_end(&n->k, &failed);
    tgi_llvm_branch_end(&n->k, &first);
    tgi_llvm_barrier_emit(n);
    LLVMValueRef code =
        tgi_llvm_frame_load(program, n->frame, TGI_FRAME_FAILED_CHECK);
    LLVMSetOrdering(code, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(code, 8);
    leave_unless(
        n,
        LLVMBuildICmp(
            b, LLVMIntNE, code,
            tgi_llvm_const_i64(program, (int64_t)loops->memory_check + 1), ""),
        n->failed);
    tgi_llvm_branch_end(&n->k, &full);
}

/* -- Trips ----------------------------------------------------------------- */

static void begin_loop(tgi_llvm_entry *n, tgi_llvm_control *c,
                       const tgi_control_flow *loops)
{
    const tgi_llvm_program *program = n->k.program;
    c->iterations = load_number(n, tgi_buffer_id_index(loops->operand));
    if (loops->has_base)
        c->base = load_number(n, tgi_buffer_id_index(loops->base));
    LLVMBuildStore(n->k.b, tgi_llvm_const_i64(program, 0), c->counter);
    c->head = tgi_llvm_block_append(&n->k, "loop");
    c->after = tgi_llvm_block_append(&n->k, "after");
    LLVMBuildBr(n->k.b, c->head);
    LLVMPositionBuilderAtEnd(n->k.b, c->head);
    if (!loops->is_limited)
        leave_unless(n, has_trips(n, c), c->after);
    if (!tgi_stack_set_id_is_none(loops->stack_set) && !loops->has_test)
        make_room(n, c, loops);
}

/* All threads see that the limit is reached, and leave. */
static void fail_at_limit(tgi_llvm_entry *n, const tgi_llvm_control *c,
                          const tgi_control_flow *loops)
{
    tgi_llvm_program *program = n->k.program;
    LLVMBasicBlockRef reached = tgi_llvm_block_append(&n->k, "limit");
    leave_unless(n, has_trips(n, c), reached);
    LLVMBasicBlockRef next = LLVMGetInsertBlock(n->k.b);
    LLVMPositionBuilderAtEnd(n->k.b, reached);
    tgi_llvm_branch first;
    tgi_llvm_branch_begin(&n->k, &first, tgi_llvm_is_thread_zero(n));
    tgi_llvm_failed_check_record(program, n->frame, loops->limit_check);
    tgi_llvm_branch_end(&n->k, &first);
    LLVMBuildBr(n->k.b, n->failed);
    LLVMPositionBuilderAtEnd(n->k.b, next);
}

static void test_loop(tgi_llvm_entry *n, const tgi_llvm_control *c,
                      const tgi_control_flow *loops)
{
    LLVMTypeRef byte = LLVMInt8TypeInContext(n->k.e->context);
    LLVMValueRef goes_on = LLVMBuildLoad2(
        n->k.b, byte, address_of(n, tgi_buffer_id_index(loops->test)), "");
    leave_unless(n,
                 LLVMBuildICmp(n->k.b, LLVMIntNE, goes_on,
                               LLVMConstNull(byte), ""),
                 c->after);
    if (loops->is_limited)
        fail_at_limit(n, c, loops);
    if (!tgi_stack_set_id_is_none(loops->stack_set))
        make_room(n, c, loops);
}

static void repeat_loop(tgi_llvm_entry *n, const tgi_llvm_control *c,
                        const tgi_control_flow *loops)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMBuildStore(
        n->k.b,
        tgi_llvm_add(program, trips_done(n, c), tgi_llvm_const_i64(program, 1)),
        c->counter);
    /* The same buffers on both sides: each of them is loaded once, as what it
       was before the first store. */
    LLVMValueRef *moved = n->moved;
    for (uint32_t i = 0; i < loops->n_moved; i++)
        moved[i] = address_of(n, tgi_buffer_id_index(loops->from[i]));
    for (uint32_t i = 0; i < loops->n_moved; i++)
        LLVMBuildStore(n->k.b, moved[i],
                       entry_of(n, tgi_buffer_id_index(loops->to[i])));
    LLVMBuildBr(n->k.b, c->head);
    LLVMPositionBuilderAtEnd(n->k.b, c->after);
}

/* -- Branches -------------------------------------------------------------- */

/* Past either end of the cases lies the nearest one. The last is where all
   others go. */
static void begin_switch(tgi_llvm_entry *n, tgi_llvm_control *c,
                         const tgi_control_flow *loops)
{
    const tgi_llvm_program *program = n->k.program;
    LLVMValueRef number = load_number(n, tgi_buffer_id_index(loops->operand));
    LLVMValueRef zero = tgi_llvm_const_i64(program, 0);
    LLVMValueRef is_below =
        LLVMBuildICmp(n->k.b, LLVMIntSLT, number, zero, "");
    number = LLVMBuildSelect(n->k.b, is_below, zero, number, "");
    c->head = tgi_llvm_block_append(&n->k, "case"); /* the last one */
    c->after = tgi_llvm_block_append(&n->k, "end");
    c->switch_inst = LLVMBuildSwitch(n->k.b, number, c->head, loops->n_cases);
    c->n_cases = 0;
}

static void begin_case(tgi_llvm_entry *n, tgi_llvm_control *c,
                       const tgi_control_flow *loops)
{
    if (c->n_cases > 0)
        LLVMBuildBr(n->k.b, c->after);
    LLVMBasicBlockRef block = c->head;
    if (c->n_cases + 1 < loops->n_cases) {
        block = tgi_llvm_block_append(&n->k, "case");
        LLVMAddCase(c->switch_inst,
                    tgi_llvm_const_i64(n->k.program, c->n_cases), block);
    }
    c->n_cases++;
    LLVMPositionBuilderAtEnd(n->k.b, block);
}

static void end_switch(tgi_llvm_entry *n, const tgi_llvm_control *c)
{
    LLVMBuildBr(n->k.b, c->after);
    LLVMPositionBuilderAtEnd(n->k.b, c->after);
}

void tgi_llvm_control_step_emit(tgi_llvm_entry *n, const tgi_loop_step *step)
{
    const tgi_control_flow *loops =
        loops_of(n, tgi_control_id_index(step->control));
    tgi_llvm_control *c = &n->controls[tgi_control_id_index(step->control)];
    switch (step->kind) {
    case TGI_STEP_LOOP:
        begin_loop(n, c, loops);
        break;
    case TGI_STEP_TEST:
        test_loop(n, c, loops);
        break;
    case TGI_STEP_LOOP_END:
        repeat_loop(n, c, loops);
        break;
    case TGI_STEP_SWITCH:
        begin_switch(n, c, loops);
        break;
    case TGI_STEP_CASE:
        begin_case(n, c, loops);
        break;
    default:
        end_switch(n, c);
        break;
    }
}
