/* SPDX-License-Identifier: MIT */
/*
 * llvm_tiny.c - tiny kernels as straight-line code: every point and every
 * vector is written out, with numbers for positions. There is no loop, no
 * branch, no mask: what is left over of a row goes by vectors of half the
 * lanes, of a quarter, and so on.
 *
 * What a region has stored is known element by element; later kernels of it
 * take these values instead of loading them. Buffers that are nothing but
 * such values (TGI_PLACE_VALUES) have no memory at all.
 *
 * Of what the program stores to, such as a variable, loads are volatile: LLVM
 * 19 for x86 may repeat the load of a vector when it needs one of its lanes
 * in all of another, behind stores that have changed it.
 *
 * Reductions of rows follow the tree of reduce_tree.h. Lanes that a row does
 * not reach hold the start value, which changes nothing, and are left out; of
 * products it is +0, which turns -0 into +0, once.
 */
#include "llvm_lower.h"

#include <assert.h>
#include <string.h>

/* An element of a buffer; `value` NULL: nothing is known. */
typedef struct known {
    LLVMValueRef value;
    unsigned lane; /* of a vector */
} known;

struct tgi_llvm_tiny {
    tgi_llvm_program *program;
    LLVMValueRef function, frame, thread;
    LLVMBasicBlockRef entry; /* addresses are loaded here */
    LLVMValueRef *buffers;   /* by buffer: its address */
    known **known;           /* by buffer: its elements; NULL: none */
    bool *is_stored;         /* by buffer: something is stored to it */
};

/* -- Values instead of memory ---------------------------------------------- */

static LLVMValueRef lane_number(const tgi_llvm_kernel *k, unsigned lane)
{
    return LLVMConstInt(k->program->i32, lane, false);
}

static unsigned width_of(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind
               ? LLVMGetVectorSize(type)
               : 1;
}

static int64_t distance_of(tgi_stride stride)
{
    return stride.is_negative ? -stride.distance : stride.distance;
}

/* The element of lane 0, and the step to the next lane; false: they are not
   known. */
static bool find_element(const tgi_llvm_kernel *k, const tgi_access *access,
                         int64_t *out_first, int64_t *out_step)
{
    if (access->index || access->shift ||
        !tgi_dim_is_known(access->offset))
        return false;
    int64_t at = access->offset, index;
    for (int axis = 0; axis <= k->inner; axis++) {
        const tgi_stride stride = access->stride[axis];
        if (stride.distance == 0 || !k->index[axis])
            continue;
        if (!tgi_dim_is_known(stride.distance) ||
            !tgi_llvm_is_number(k->index[axis], &index))
            return false;
        at += distance_of(stride) * index;
    }
    const tgi_stride step = access->stride[k->vector_axis];
    if (!tgi_dim_is_known(step.distance))
        return false;
    *out_first = at;
    *out_step = distance_of(step);
    return true;
}

/* The elements of a buffer, all unknown at first; NULL: too many, or out of
   memory. */
static known *elements_of(tgi_llvm_kernel *k, uint32_t buffer)
{
    tgi_llvm_tiny *tiny = k->tiny;
    const tgi_dim count = k->program->loops->buffers.data[buffer].count;
    if (tiny->known[buffer] || !tgi_dim_is_known(count) || count == 0 ||
        count > TGI_MOST_VALUES)
        return tiny->known[buffer];
    const size_t bytes = (size_t)count * sizeof(known);
    tiny->known[buffer] = k->program->alloc(bytes);
    if (tiny->known[buffer]) {
        memset(tiny->known[buffer], 0, bytes);
    } else {
        k->program->is_out_of_memory = true;
        tgi_llvm_fail(k->program, "out of memory");
    }
    return tiny->known[buffer];
}

/* Something is stored, nobody knows where. */
static void forget(tgi_llvm_kernel *k, uint32_t buffer)
{
    const tgi_dim count = k->program->loops->buffers.data[buffer].count;
    memset(k->tiny->known[buffer], 0, (size_t)count * sizeof(known));
}

static LLVMValueRef element(tgi_llvm_kernel *k, known from)
{
    return width_of(from.value) == 1
               ? from.value
               : LLVMBuildExtractElement(k->b, from.value,
                                         lane_number(k, from.lane), "");
}

/* Lanes of at most two vectors of one type by a shuffle; NULL: they are from
   elsewhere. */
static LLVMValueRef shuffled(tgi_llvm_kernel *k, const known *lanes)
{
    const unsigned n = k->e->lanes;
    LLVMValueRef first = lanes[0].value, second = NULL;
    LLVMValueRef order[TGI_LLVM_LANES];
    const unsigned width = width_of(first);
    bool is_same = width == n;
    if (width == 1)
        return NULL;
    for (unsigned i = 0; i < n; i++) {
        if (lanes[i].value != first && !second)
            second = lanes[i].value;
        if (lanes[i].value != first && lanes[i].value != second)
            return NULL;
        is_same &= lanes[i].value == first && lanes[i].lane == i;
        order[i] = lane_number(
            k, lanes[i].lane + (lanes[i].value == first ? 0 : width));
    }
    if (second && width_of(second) != width)
        return NULL;
    return is_same ? first
                   : LLVMBuildShuffleVector(
                         k->b, first,
                         second ? second : LLVMGetPoison(LLVMTypeOf(first)),
                         LLVMConstVector(order, n), "");
}

LLVMValueRef tgi_llvm_tiny_load(tgi_llvm_kernel *k, const tgi_access *access)
{
    known *elements = k->tiny->known[access->buffer];
    known lanes[TGI_LLVM_LANES];
    int64_t first, step;
    if (!elements || !find_element(k, access, &first, &step))
        return NULL;
    for (unsigned i = 0; i < k->e->lanes; i++) {
        lanes[i] = elements[first + i * step];
        if (!lanes[i].value)
            return NULL;
    }
    if (k->e->lanes == 1)
        return element(k, lanes[0]);
    LLVMValueRef vector = shuffled(k, lanes);
    if (vector)
        return vector;
    const tg_dtype dtype =
        k->program->loops->buffers.data[access->buffer].dtype;
    vector = LLVMGetPoison(tgi_llvm_type(k->e, dtype));
    for (unsigned i = 0; i < k->e->lanes; i++)
        vector = LLVMBuildInsertElement(k->b, vector, element(k, lanes[i]),
                                        lane_number(k, i), "");
    return vector;
}

bool tgi_llvm_tiny_store(tgi_llvm_kernel *k, const tgi_access *access,
                         LLVMValueRef value)
{
    const uint32_t buffer = access->buffer;
    const bool is_value =
        k->program->loops->buffers.data[buffer].place == TGI_PLACE_VALUES;
    int64_t first, step;
    known *elements = elements_of(k, buffer);
    if (elements && find_element(k, access, &first, &step))
        for (unsigned i = 0; i < k->e->lanes; i++)
            elements[first + i * step] = (known){value, i};
    else if (is_value)
        tgi_llvm_fail(k->program, "a value has no place");
    else if (elements)
        forget(k, buffer);
    return is_value;
}

/* -- Reductions of rows ---------------------------------------------------- */

/* Some lanes of the tree. */
typedef struct lanes {
    LLVMValueRef value; /* NULL: start values */
    bool is_raised;     /* +0 was added, as far as it can be seen */
} lanes;

static bool is_product(const tgi_llvm_kernel *k, uint32_t reduction)
{
    return k->loops->reductions.data[reduction].op == TGI_OP_MATMUL;
}

/* Lanes first … first + n - 1 of a vector of `width`. */
static LLVMValueRef part_of(tgi_llvm_kernel *k, LLVMValueRef vector,
                            unsigned width, unsigned first, unsigned n)
{
    LLVMValueRef order[TGI_LLVM_LANES];
    if (n == width)
        return vector;
    for (unsigned i = 0; i < n; i++)
        order[i] = lane_number(k, first + i);
    if (n == 1)
        return LLVMBuildExtractElement(k->b, vector, order[0], "");
    return LLVMBuildShuffleVector(k->b, vector,
                                  LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(order, n), "");
}

/* Takes elements into the lanes that are theirs. */
static void take(tgi_llvm_kernel *k, uint32_t reduction, LLVMValueRef x,
                 LLVMValueRef other, lanes *to)
{
    if (!is_product(k, reduction)) {
        to->value = to->value
                        ? tgi_llvm_combine(k, reduction, to->value, x)
                        : x;
        return;
    }
    tgi_llvm_state state = {.part = {to->value}};
    if (!to->value)
        tgi_llvm_start(k, reduction, false, &state);
    const tgi_emitted in[] = {x, other, state.part[0]};
    const int dtype = k->loops->reductions.data[reduction].dtype;
    to->value =
        tgi_emit_step_of(TGI_OP_MATMUL, (tg_dtype)dtype)(&k->e->base, in);
}

static void combine(tgi_llvm_kernel *k, uint32_t reduction, lanes *left,
                    const lanes *right)
{
    LLVMValueRef other = right->value;
    if (!left->value)
        return; /* then so is what lies to the right of it */
    if (!other) {
        if (!is_product(k, reduction) || left->is_raised)
            return;
        tgi_llvm_state start;
        tgi_llvm_start(k, reduction, false, &start);
        other = start.part[0];
    }
    left->is_raised |= right->is_raised || !right->value;
    left->value = tgi_llvm_combine(k, reduction, left->value, other);
}

/* One phase of a row of n > 0 elements, in vectors that hold a whole number
   of `wide` lanes of the tree. */
static void reduce_row(tgi_llvm_kernel *k, unsigned phase, int64_t n)
{
    const tgi_llvm_phase *p = &k->phases[phase];
    const unsigned tree = tgi_llvm_tree_lanes(k, p);
    unsigned wide = p->lanes < tree ? p->lanes : tree;
    lanes all[TGI_LLVM_REDUCTIONS][TGI_LANES_4] = {{{NULL, false}}};
    if (n % wide)
        wide = 1;
    unsigned width = p->lanes;
    for (int64_t at = 0; at < n; at += width) {
        while (width > n - at)
            width /= 2;
        k->e->lanes = width;
        k->index[k->inner] = tgi_llvm_number(k->program, at);
        tgi_llvm_body(k, phase);
        for (unsigned i = 0; i < p->n_reductions; i++) {
            const uint32_t number = p->reductions[i];
            const tgi_reduction *r = &k->loops->reductions.data[number];
            k->e->lanes = width;
            LLVMValueRef x = tgi_llvm_value_of(k, r->value), other = NULL;
            if (r->other)
                other = tgi_llvm_value_of(k, r->other);
            k->e->lanes = wide;
            for (unsigned lane = 0; lane < width; lane += wide)
                take(k, number, part_of(k, x, width, lane, wide),
                     other ? part_of(k, other, width, lane, wide) : NULL,
                     &all[i][((unsigned)at + lane) % tree / wide]);
        }
    }
    k->index[k->inner] = NULL;
    for (unsigned i = 0; i < p->n_reductions; i++) {
        const uint32_t number = p->reductions[i];
        k->e->lanes = wide;
        for (unsigned half = tree / wide / 2; half > 0; half /= 2)
            for (unsigned j = 0; j < half; j++)
                combine(k, number, &all[i][j], &all[i][j + half]);
        LLVMValueRef result =
            tgi_llvm_fold(k, number, &all[i][0].value, 1);
        k->e->lanes = 1;
        tgi_llvm_set_reduced(k, number, result);
    }
}

static void set_empty(tgi_llvm_kernel *k, const tgi_llvm_phase *p)
{
    for (unsigned i = 0; i < p->n_reductions; i++)
        tgi_llvm_set_reduced(k, p->reductions[i],
                             tgi_llvm_empty(k, p->reductions[i]));
}

/* -- Points ---------------------------------------------------------------- */

static void map_row(tgi_llvm_kernel *k, unsigned phase, int64_t n)
{
    unsigned width = k->phases[phase].lanes;
    for (int64_t at = 0; at < n; at += width) {
        while (width > n - at)
            width /= 2;
        k->e->lanes = width;
        k->index[k->inner] = tgi_llvm_number(k->program, at);
        tgi_llvm_body(k, phase);
    }
    k->index[k->inner] = NULL;
}

static void row(tgi_llvm_kernel *k)
{
    const int64_t n = k->loops->extent[k->inner];
    for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
        const tgi_llvm_phase *p = &k->phases[phase];
        k->e->lanes = 1;
        tgi_llvm_point_insts(k, phase, false);
        if (p->n_reductions && n == 0)
            set_empty(k, p);
        else if (p->n_reductions)
            reduce_row(k, phase, n);
        else if (p->has_loop)
            map_row(k, phase, n);
        k->e->lanes = 1;
        tgi_llvm_point_insts(k, phase, true);
        tgi_llvm_point_stores(k, phase);
    }
}

/* All rows of some columns, in order. */
static void reduce_rows(tgi_llvm_kernel *k, unsigned phase, int64_t n)
{
    const tgi_llvm_phase *p = &k->phases[phase];
    tgi_llvm_state states[TGI_LLVM_REDUCTIONS];
    for (unsigned i = 0; i < p->n_reductions; i++)
        tgi_llvm_start(k, p->reductions[i], false, &states[i]);
    for (int64_t at = 0; at < n; at++) {
        k->index[k->inner] = tgi_llvm_number(k->program, at);
        tgi_llvm_body(k, phase);
        for (unsigned i = 0; i < p->n_reductions; i++)
            tgi_llvm_step(k, p->reductions[i], false, &states[i]);
    }
    k->index[k->inner] = NULL;
    for (unsigned i = 0; i < p->n_reductions; i++)
        tgi_llvm_set_reduced(
            k, p->reductions[i],
            tgi_llvm_finish(k, p->reductions[i], false, &states[i]));
}

static void columns(tgi_llvm_kernel *k)
{
    const int64_t n = k->loops->extent[k->inner];
    const int64_t n_columns = k->loops->extent[k->vector_axis];
    unsigned width = k->phases[0].lanes;
    for (int64_t column = 0; column < n_columns; column += width) {
        while (width > n_columns - column)
            width /= 2;
        k->e->lanes = width;
        k->index[k->vector_axis] = tgi_llvm_number(k->program, column);
        for (unsigned phase = 0; phase < k->loops->n_phases; phase++) {
            const tgi_llvm_phase *p = &k->phases[phase];
            tgi_llvm_point_insts(k, phase, false);
            if (p->n_reductions && n == 0)
                set_empty(k, p);
            else if (p->has_loop)
                reduce_rows(k, phase, n);
            tgi_llvm_point_insts(k, phase, true);
            tgi_llvm_point_stores(k, phase);
        }
    }
    k->index[k->vector_axis] = NULL;
}

/* -- Kernels --------------------------------------------------------------- */

static void all_points(tgi_llvm_kernel *k)
{
    const bool is_rows = k->loops->vectors == TGI_ROWS;
    const int n_axes = is_rows ? k->inner : k->vector_axis;
    int64_t at[TGI_LOOP_AXES] = {0};
    for (int axis = 0; axis < n_axes; axis++)
        if (k->loops->extent[axis] == 0)
            return;
    k->e->lanes = 1;
    tgi_llvm_kernel_insts(k);
    for (int axis = 0; axis >= 0;) {
        for (axis = 0; axis < n_axes; axis++)
            k->index[axis] = tgi_llvm_number(k->program, at[axis]);
        tgi_llvm_point_addresses(k);
        if (is_rows)
            row(k);
        else
            columns(k);
        for (axis = n_axes - 1; axis >= 0; axis--) {
            if (++at[axis] < k->loops->extent[axis])
                break;
            at[axis] = 0;
        }
    }
}

bool tgi_llvm_tiny_kernel(tgi_llvm_tiny *tiny, const tgi_kernel_loops *loops)
{
    tgi_llvm_kernel k;
    if (tgi_llvm_kernel_begin(&k, tiny->program, loops)) {
        k.function = tiny->function;
        k.frame = tiny->frame;
        k.thread = tiny->thread;
        k.entry = tiny->entry;
        k.buffers = tiny->buffers;
        k.tiny = tiny;
        all_points(&k);
    }
    tgi_llvm_kernel_end(&k);
    return !tiny->program->failure;
}

/* -- Regions --------------------------------------------------------------- */

static void note_stores(tgi_llvm_tiny *tiny)
{
    const tgi_loops *loops = tiny->program->loops;
    for (size_t i = 0; i < loops->kernels.n; i++) {
        const tgi_kernel_loops *kernel = loops->kernels.data[i];
        for (size_t j = 0; j < kernel->stores.n; j++)
            tiny->is_stored[kernel->accesses
                                .data[kernel->stores.data[j].access]
                                .buffer] = true;
    }
}

bool tgi_llvm_tiny_is_stored(const tgi_llvm_kernel *k, uint32_t buffer)
{
    return k->tiny->is_stored[buffer];
}

tgi_llvm_tiny *tgi_llvm_tiny_begin(tgi_llvm_program *program,
                                   LLVMValueRef function, LLVMValueRef frame,
                                   LLVMValueRef thread)
{
    const size_t n = program->loops->buffers.n;
    const size_t bytes = sizeof(tgi_llvm_tiny) +
                         n * (sizeof(LLVMValueRef) + sizeof(known *) +
                              sizeof(bool));
    tgi_llvm_tiny *tiny = program->alloc(bytes);
    if (!tiny) {
        program->is_out_of_memory = true;
        tgi_llvm_fail(program, "out of memory");
        return NULL;
    }
    memset(tiny, 0, bytes);
    tiny->program = program;
    tiny->function = function;
    tiny->frame = frame;
    tiny->thread = thread;
    tiny->buffers = (LLVMValueRef *)(tiny + 1);
    tiny->known = (known **)(tiny->buffers + n);
    tiny->is_stored = (bool *)(tiny->known + n);
    note_stores(tiny);
    LLVMBuilderRef b = program->emitter.builder;
    tiny->entry = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(
        program->emitter.context, function, "tiny");
    LLVMBuildBr(b, block);
    LLVMPositionBuilderAtEnd(b, block);
    return tiny;
}

void tgi_llvm_tiny_end(tgi_llvm_tiny *tiny)
{
    tgi_llvm_program *program = tiny->program;
    for (size_t i = 0; i < program->loops->buffers.n; i++)
        if (tiny->known[i])
            program->free(tiny->known[i]);
    program->free(tiny);
}
