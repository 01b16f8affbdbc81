/* SPDX-License-Identifier: MIT */
/*
 * llvm_straightline_loop.c - loops of straightline kernels, with the loops and branches inside
 * them. What a loop carries is values: phis at its head, one for each vector
 * that the body leaves behind. How these lie is found out by emitting the body
 * once into a function that is thrown away.
 *
 * At a head, and behind a loop or branch, nothing is known any more of memory
 * that is stored to in it. What it carries is stored to its memory at the end.
 */
#include <string.h>

#include "llvm/llvm_straightline.h"

typedef struct emitter {
    tgi_llvm_entry *entry;
    tgi_llvm_straightline *straightline;
    tgi_llvm_program *program;
    const tgi_loops *loops;
    LLVMBuilderRef b;
} emitter;

static size_t emit_steps(emitter *e, size_t at, size_t end);

/* -- Memory ---------------------------------------------------------------- */

static void *allocate(const emitter *e, size_t bytes)
{
    void *memory = e->program->alloc(bytes + 1);
    if (memory) {
        memset(memory, 0, bytes + 1);
    } else {
        e->program->is_out_of_memory = true;
        tgi_llvm_fail(e->program, "out of memory");
    }
    return memory;
}

static size_t count_of(const emitter *e, uint32_t buffer)
{
    return (size_t)e->loops->buffers.data[buffer].count;
}

/* -- What is known --------------------------------------------------------- */

/* All that is known, to go back to; NULL after tgi_llvm_fail. */
static tgi_llvm_forwarded **save(const emitter *e)
{
    const size_t n = e->loops->buffers.n;
    tgi_llvm_forwarded **copy = allocate(e, n * sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++) {
        if (!e->straightline->forwarded[i])
            continue;
        const size_t bytes =
            count_of(e, (uint32_t)i) * sizeof(tgi_llvm_forwarded);
        copy[i] = allocate(e, bytes);
        if (copy[i])
            memcpy(copy[i], e->straightline->forwarded[i], bytes);
    }
    return copy;
}

static void free_saved(const emitter *e, tgi_llvm_forwarded **saved)
{
    for (size_t i = 0; saved && i < e->loops->buffers.n; i++)
        if (saved[i])
            e->program->free(saved[i]);
    if (saved)
        e->program->free(saved);
}

/* Goes back to what was known, which stays saved. */
static void restore(const emitter *e, tgi_llvm_forwarded *const *saved)
{
    for (size_t i = 0; i < e->loops->buffers.n; i++) {
        tgi_llvm_forwarded *now = e->straightline->forwarded[i];
        if (!now)
            continue;
        const size_t bytes =
            count_of(e, (uint32_t)i) * sizeof(tgi_llvm_forwarded);
        if (saved[i])
            memcpy(now, saved[i], bytes);
        else
            memset(now, 0, bytes);
    }
}

/* Nothing is known of what the steps store to. */
static void forget_stored(const emitter *e, size_t at, size_t end)
{
    for (; at < end; at++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(e->loops, at);
        for (size_t i = 0; k && i < k->stores.n; i++) {
            const uint32_t buffer = tgi_buffer_id_index(
                k->accesses.data[k->stores.data[i].access].buffer);
            if (e->straightline->forwarded[buffer])
                memset(e->straightline->forwarded[buffer], 0,
                       count_of(e, buffer) * sizeof(tgi_llvm_forwarded));
        }
    }
}

/* -- Vectors --------------------------------------------------------------- */

static LLVMTypeRef type_of(const emitter *e, uint32_t buffer, unsigned lanes)
{
    tgi_llvm_emitter *emit = &e->program->emitter;
    const unsigned kept = emit->lanes;
    emit->lanes = lanes;
    LLVMTypeRef type = tgi_llvm_type(
        emit, (tg_dtype)e->loops->buffers.data[buffer].dtype);
    emit->lanes = kept;
    return type;
}

static LLVMValueRef address_of(const emitter *e, uint32_t buffer, size_t first)
{
    const int dtype = e->loops->buffers.data[buffer].dtype;
    LLVMValueRef base = LLVMBuildLoad2(
        e->b, e->program->pointer,
        tgi_llvm_buffer_table_entry(e->program, e->straightline->table, buffer),
        "");
    LLVMValueRef offset =
        tgi_llvm_const_i64(e->program, (int64_t)first * tgi_dtype_bytes(dtype));
    LLVMTypeRef byte = LLVMInt8TypeInContext(e->program->emitter.context);
    return LLVMBuildGEP2(e->b, byte, base, &offset, 1, "");
}

/* Elements of a buffer: what is known of them, or what memory has. */
static LLVMValueRef take(const emitter *e, uint32_t buffer, size_t first,
                         unsigned lanes)
{
    const tgi_llvm_forwarded *known = e->straightline->forwarded[buffer];
    bool is_known = known != NULL;
    for (unsigned i = 0; is_known && i < lanes; i++)
        is_known = known[first + i].value != NULL;
    if (is_known)
        return tgi_llvm_forwarded_vector(e->straightline, known + first, lanes);
    /* What is not in memory and was never set is nothing anybody looks at. */
    if (e->loops->buffers.data[buffer].place == TGI_PLACE_SSA)
        return LLVMConstNull(type_of(e, buffer, lanes));
    LLVMValueRef value = LLVMBuildLoad2(e->b, type_of(e, buffer, lanes),
                                        address_of(e, buffer, first), "");
    LLVMSetAlignment(
        value,
        (unsigned)tgi_dtype_bytes(e->loops->buffers.data[buffer].dtype));
    LLVMSetVolatile(value, true);
    return value;
}

static void set_known(const emitter *e, uint32_t buffer, size_t first,
                      LLVMValueRef value)
{
    tgi_llvm_forwarded *known =
        tgi_llvm_forwarded_elements(e->straightline, buffer);
    const unsigned lanes = tgi_llvm_vector_width(value);
    for (unsigned i = 0; known && i < lanes; i++)
        known[first + i] = (tgi_llvm_forwarded){value, i};
}

/* Writes the width of the vector that begins at each element of what a buffer
   holds; 0: it is inside of one. */
static void find_widths(const emitter *e, uint32_t buffer, uint8_t *widths)
{
    const tgi_llvm_forwarded *known = e->straightline->forwarded[buffer];
    const size_t n = count_of(e, buffer);
    for (size_t first = 0; first < n;) {
        LLVMValueRef value = known ? known[first].value : NULL;
        unsigned width = value ? tgi_llvm_vector_width(value) : 1, i = 0;
        if (width > n - first)
            width = 1;
        while (i < width && known && known[first + i].value == value &&
               known[first + i].lane == i)
            i++;
        if (i < width)
            width = 1;
        memset(widths + first, 0, width);
        widths[first] = (uint8_t)width;
        first += width;
    }
}

/* -- Values that meet ------------------------------------------------------ */

/* A value that a loop carries. */
typedef struct carried {
    uint32_t buffer, place;
    uint8_t *widths;    /* of its vectors */
    LLVMValueRef *phis; /* by element at which one begins */
} carried;

typedef struct meeting {
    carried *values;
    uint32_t n;
} meeting;

static void meeting_free(const emitter *e, meeting *m)
{
    for (uint32_t i = 0; m->values && i < m->n; i++) {
        if (m->values[i].widths)
            e->program->free(m->values[i].widths);
        if (m->values[i].phis)
            e->program->free(m->values[i].phis);
    }
    if (m->values)
        e->program->free(m->values);
}

/* All that changes; vectors are single elements at first. */
static bool meeting_init(const emitter *e, const tgi_control_flow *c,
                         meeting *m)
{
    *m = (meeting){.values = allocate(e, c->n_carried * sizeof(carried))};
    for (uint32_t k = 0; m->values && k < c->n_carried; k++) {
        const tgi_loop_buffer *b = tgi_loops_buffer(e->loops, c->carried[k]);
        const bool stays =
            c->n_cases ? b->place != TGI_PLACE_SSA &&
                             !e->straightline
                                  ->is_value[tgi_buffer_id_index(c->carried[k])]
                       : !c->in_registers[k];
        if (stays || b->count == 0)
            continue;
        const size_t n = (size_t)b->count;
        m->values[m->n] =
            (carried){.buffer = tgi_buffer_id_index(c->carried[k]),
                      .place = tgi_buffer_id_index(c->next[k]),
                      .widths = allocate(e, n),
                      .phis = allocate(e, n * sizeof(LLVMValueRef))};
        if (m->values[m->n].widths)
            memset(m->values[m->n].widths, 1, n);
        m->n++;
    }
    return !e->program->failure;
}

/* Phis where the builder stands; they are what is known from here on. */
static void add_phis(const emitter *e, const meeting *m)
{
    for (uint32_t k = 0; k < m->n; k++) {
        const carried *c = &m->values[k];
        for (size_t i = 0; i < count_of(e, c->buffer); i += c->widths[i]) {
            c->phis[i] =
                LLVMBuildPhi(e->b, type_of(e, c->buffer, c->widths[i]), "");
            set_known(e, c->buffer, i, c->phis[i]);
        }
    }
}

/* The values as vectors of these widths, where the builder stands; `next`: the
   ones the body has left. */
static void take_all(const emitter *e, const meeting *m, bool next,
                     LLVMValueRef *out_values)
{
    for (uint32_t k = 0; k < m->n; k++) {
        const carried *c = &m->values[k];
        for (size_t i = 0; i < count_of(e, c->buffer); i += c->widths[i])
            *out_values++ =
                take(e, next ? c->place : c->buffer, i, c->widths[i]);
    }
}

static void add_incoming(const emitter *e, const meeting *m,
                         LLVMValueRef *values, LLVMBasicBlockRef from)
{
    for (uint32_t k = 0; k < m->n; k++) {
        const carried *c = &m->values[k];
        for (size_t i = 0; i < count_of(e, c->buffer); i += c->widths[i])
            LLVMAddIncoming(c->phis[i], values++, &from, 1);
    }
}

static size_t n_elements(const emitter *e, const meeting *m)
{
    size_t n = 0;
    for (uint32_t k = 0; k < m->n; k++)
        n += count_of(e, m->values[k].buffer);
    return n;
}

/* To memory, for those who are not part of this; and known in front of it. */
static void store_all(const emitter *e, const meeting *m)
{
    for (uint32_t k = 0; k < m->n; k++) {
        const carried *c = &m->values[k];
        const unsigned bytes = (unsigned)tgi_dtype_bytes(
            e->loops->buffers.data[c->buffer].dtype);
        for (size_t i = 0; i < count_of(e, c->buffer); i += c->widths[i]) {
            set_known(e, c->buffer, i, c->phis[i]);
            if (e->loops->buffers.data[c->buffer].place == TGI_PLACE_SSA)
                continue;
            LLVMSetAlignment(LLVMBuildStore(e->b, c->phis[i],
                                            address_of(e, c->buffer, i)),
                             bytes);
        }
    }
}

static LLVMBasicBlockRef add_block(const emitter *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->program->emitter.context,
                                         e->straightline->function, name);
}

/* -- Loops ----------------------------------------------------------------- */

/* Goes on where `condition` holds, else to `away`. */
static void leave_unless(const emitter *e, LLVMValueRef condition,
                         LLVMBasicBlockRef away)
{
    LLVMBasicBlockRef next = add_block(e, "next");
    LLVMBuildCondBr(e->b, condition, next, away);
    LLVMPositionBuilderAtEnd(e->b, next);
}

/* The limit is reached: the step behind the loop will see it. */
static void leave_at_limit(const emitter *e, LLVMValueRef has_trips,
                           const tgi_control_flow *c, LLVMBasicBlockRef after)
{
    LLVMBasicBlockRef reached = add_block(e, "limit");
    leave_unless(e, has_trips, reached);
    LLVMBasicBlockRef next = LLVMGetInsertBlock(e->b);
    LLVMPositionBuilderAtEnd(e->b, reached);
    tgi_llvm_failed_check_record(e->program, e->straightline->frame,
                                 c->limit_check);
    LLVMBuildBr(e->b, after);
    LLVMPositionBuilderAtEnd(e->b, next);
}

/* Room for what the next trip saves; without memory for it the loop ends, and
   the step behind it will see that. */
static void make_room(const emitter *e, LLVMValueRef slices,
                      const tgi_control_flow *c, LLVMBasicBlockRef after)
{
    LLVMValueRef frame = e->straightline->frame;
    LLVMBasicBlockRef full = add_block(e, "full");
    LLVMBasicBlockRef failed = add_block(e, "failed");
    LLVMBasicBlockRef next = add_block(e, "next");
    LLVMBuildCondBr(e->b, tgi_llvm_stack_is_full(e->program, frame, c, slices),
                    full, next);
    LLVMPositionBuilderAtEnd(e->b, full);
    LLVMValueRef is_fine = tgi_llvm_stack_grow(e->program, frame, c, slices);
    LLVMBuildCondBr(e->b,
                    LLVMBuildICmp(e->b, LLVMIntNE, is_fine,
                                  LLVMConstNull(e->program->i32), ""),
                    next, failed);
    LLVMPositionBuilderAtEnd(e->b, failed);
    tgi_llvm_failed_check_record(e->program, frame, c->memory_check);
    LLVMBuildBr(e->b, after);
    LLVMPositionBuilderAtEnd(e->b, next);
}

/* Steps at + 1 … end - 1 as a loop that carries `m`. */
static void emit_trips(emitter *e, size_t at, size_t end, const meeting *m,
                       LLVMValueRef *values)
{
    const tgi_control_flow *c =
        tgi_loops_control(e->loops, e->loops->steps.data[at].control);
    LLVMValueRef zero = tgi_llvm_const_i64(e->program, 0);
    LLVMValueRef trips = take(e, tgi_buffer_id_index(c->operand), 0, 1);
    LLVMValueRef base =
        c->has_base ? take(e, tgi_buffer_id_index(c->base), 0, 1) : zero;
    take_all(e, m, false, values);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef head = add_block(e, "trip");
    LLVMBasicBlockRef after = add_block(e, "after");
    LLVMBuildBr(e->b, head);
    LLVMPositionBuilderAtEnd(e->b, head);

    forget_stored(e, at, end);
    LLVMValueRef counter = LLVMBuildPhi(e->b, e->program->i64, "");
    LLVMAddIncoming(counter, &zero, &before, 1);
    add_phis(e, m);
    add_incoming(e, m, values, before);
    set_known(e, tgi_buffer_id_index(c->counter), 0, counter);
    LLVMValueRef has_trips =
        LLVMBuildICmp(e->b, LLVMIntSLT, counter, trips, "");
    if (!c->is_limited)
        leave_unless(e, has_trips, after);
    size_t body = at + 1;
    if (c->has_test) {
        while (e->loops->steps.data[body].kind != TGI_STEP_TEST ||
               !tgi_control_id_equals(e->loops->steps.data[body].control,
                                      e->loops->steps.data[at].control))
            body++;
        emit_steps(e, at + 1, body++);
        LLVMValueRef goes_on = take(e, tgi_buffer_id_index(c->test), 0, 1);
        leave_unless(e,
                     LLVMBuildICmp(e->b, LLVMIntNE, goes_on,
                                   LLVMConstNull(LLVMTypeOf(goes_on)), ""),
                     after);
    }
    if (c->is_limited)
        leave_at_limit(e, has_trips, c, after);
    if (!tgi_stack_set_id_is_none(c->stack_set))
        make_room(e, tgi_llvm_add(e->program, base, counter), c, after);
    emit_steps(e, body, end);

    take_all(e, m, true, values);
    LLVMValueRef next =
        tgi_llvm_add(e->program, counter, tgi_llvm_const_i64(e->program, 1));
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b);
    LLVMAddIncoming(counter, &next, &latch, 1);
    add_incoming(e, m, values, latch);
    LLVMBuildBr(e->b, head);
    LLVMPositionBuilderAtEnd(e->b, after);
}

/* Emits the trips to nowhere, to see how the vectors of what they leave lie. */
static void find_vectors(emitter *e, size_t at, size_t end, meeting *m,
                         LLVMValueRef *values)
{
    tgi_llvm_straightline *straightline = e->straightline;
    tgi_llvm_forwarded **saved = save(e);
    if (e->program->failure) {
        free_saved(e, saved);
        return;
    }
    LLVMBasicBlockRef block = LLVMGetInsertBlock(e->b);
    LLVMValueRef function = straightline->function;
    const bool hoists_loads = straightline->hoists_loads;
    straightline->hoists_loads = false;
    straightline->function =
        LLVMAddFunction(e->program->emitter.module, "",
                        LLVMGlobalGetValueType(e->entry->k.function));
    LLVMPositionBuilderAtEnd(e->b, add_block(e, ""));
    emit_trips(e, at, end, m, values);
    for (uint32_t k = 0; k < m->n; k++)
        find_widths(e, m->values[k].place, m->values[k].widths);
    /* What another value was before lies as that one does. */
    for (uint32_t k = 0; k < m->n; k++)
        for (uint32_t i = 0; i < m->n; i++)
            if (m->values[k].place == m->values[i].buffer && i != k &&
                m->values[i].place != m->values[i].buffer)
                memcpy(m->values[k].widths, m->values[i].widths,
                       count_of(e, m->values[k].buffer));
    restore(e, saved);
    free_saved(e, saved);
    LLVMPositionBuilderAtEnd(e->b, block);
    LLVMDeleteFunction(straightline->function);
    straightline->function = function;
    straightline->hoists_loads = hoists_loads;
}

static void emit_loop(emitter *e, size_t at, size_t end)
{
    const tgi_control_flow *c =
        tgi_loops_control(e->loops, e->loops->steps.data[at].control);
    meeting m;
    LLVMValueRef *values = NULL;
    if (meeting_init(e, c, &m))
        values = allocate(e, n_elements(e, &m) * sizeof(*values));
    if (values)
        find_vectors(e, at, end, &m, values);
    if (values && !e->program->failure) {
        emit_trips(e, at, end, &m, values);
        forget_stored(e, at, end);
        store_all(e, &m);
    }
    if (values)
        e->program->free(values);
    meeting_free(e, &m);
}

/* -- Branches -------------------------------------------------------------- */

typedef struct switching {
    emitter *e;
    tgi_llvm_forwarded **before;
    meeting m;
    LLVMBasicBlockRef after;
    LLVMValueRef *values;
} switching;

/* Steps of a case; its results meet those of the others. */
static void emit_case(switching *s, size_t at, size_t end, bool is_first)
{
    emitter *e = s->e;
    restore(e, s->before);
    emit_steps(e, at, end);
    if (e->program->failure)
        return;
    if (is_first) {
        for (uint32_t k = 0; k < s->m.n; k++)
            find_widths(e, s->m.values[k].buffer, s->m.values[k].widths);
    }
    take_all(e, &s->m, true, s->values);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, s->after);
    if (is_first) {
        LLVMPositionBuilderAtEnd(e->b, s->after);
        add_phis(e, &s->m);
    }
    add_incoming(e, &s->m, s->values, from);
}

static void emit_cases(switching *s, size_t at, size_t end)
{
    emitter *e = s->e;
    const uint32_t number =
        tgi_control_id_index(e->loops->steps.data[at].control);
    const tgi_control_flow *c = &e->loops->controls.data[number];
    LLVMValueRef zero = tgi_llvm_const_i64(e->program, 0);
    LLVMValueRef choice = take(e, tgi_buffer_id_index(c->operand), 0, 1);
    LLVMValueRef is_below = LLVMBuildICmp(e->b, LLVMIntSLT, choice, zero, "");
    choice = LLVMBuildSelect(e->b, is_below, zero, choice, "");
    LLVMBasicBlockRef last = add_block(e, "case");
    s->after = add_block(e, "end");
    LLVMValueRef branch = LLVMBuildSwitch(e->b, choice, last, c->n_cases);
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

static void emit_switch(emitter *e, size_t at, size_t end)
{
    const tgi_control_flow *c =
        tgi_loops_control(e->loops, e->loops->steps.data[at].control);
    switching s = {.e = e, .before = save(e)};
    if (meeting_init(e, c, &s.m))
        s.values = allocate(e, n_elements(e, &s.m) * sizeof(*s.values));
    if (s.values) {
        emit_cases(&s, at, end);
        if (!e->program->failure) {
            restore(e, s.before);
            forget_stored(e, at, end);
            for (uint32_t k = 0; k < s.m.n; k++) {
                const carried *v = &s.m.values[k];
                for (size_t i = 0; i < count_of(e, v->buffer);
                     i += v->widths[i])
                    set_known(e, v->buffer, i, v->phis[i]);
            }
        }
        e->program->free(s.values);
    }
    meeting_free(e, &s.m);
    free_saved(e, s.before);
}

/* -- Steps ----------------------------------------------------------------- */

static size_t emit_steps(emitter *e, size_t at, size_t end)
{
    while (at < end && !e->program->failure) {
        const tgi_loop_step *step = &e->loops->steps.data[at];
        if (step->kind == TGI_STEP_RUN) {
            tgi_llvm_straightline_kernel_emit(
                e->straightline, tgi_loops_kernel(e->loops, step->kernel));
        } else if (step->kind == TGI_STEP_LOOP) {
            const size_t last = tgi_loops_end_of(e->loops, at);
            emit_loop(e, at, last);
            at = last;
        } else if (step->kind == TGI_STEP_SWITCH) {
            const size_t last = tgi_loops_end_of(e->loops, at);
            emit_switch(e, at, last);
            at = last;
        }
        at++;
    }
    return at;
}

/* What loops carry is not stored while they run. */
static void note_values(const emitter *e, size_t at, size_t end)
{
    for (; at < end; at++) {
        const tgi_loop_step *step = &e->loops->steps.data[at];
        if (step->kind != TGI_STEP_LOOP)
            continue;
        const tgi_control_flow *c = tgi_loops_control(e->loops, step->control);
        for (uint32_t k = 0; k < c->n_carried; k++)
            if (c->in_registers[k])
                e->straightline->is_value[tgi_buffer_id_index(c->carried[k])] =
                    true;
    }
}

size_t tgi_llvm_straightline_loop_emit(tgi_llvm_entry *n, size_t at)
{
    emitter e = {.entry = n,
                 .program = n->k.program,
                 .loops = n->k.program->loops,
                 .b = n->k.b};
    const size_t end = tgi_loops_end_of(e.loops, at);
    e.straightline = tgi_llvm_straightline_begin(n, at, end);
    if (e.straightline) {
        note_values(&e, at, end);
        e.straightline->hoists_loads = true;
        emit_loop(&e, at, end);
        tgi_llvm_straightline_end(e.straightline);
    }
    return end + 1;
}
