/* SPDX-License-Identifier: MIT */
/*
 * llvm_register_transpose.c - copies that transpose in registers. A vector is
 * loaded as subvectors of 16 bytes, within which shuffles are cheap, from as
 * many lines. Shuffles transpose such vectors, which are then stored across the
 * lines. Remainders are copied one element at a time.
 */
#include "llvm/emit/llvm_register_transpose.h"
#include "llvm/emit/llvm_access.h"
#include "llvm/emit/llvm_cache_hints.h"
#include "llvm/emit/llvm_emit.h"
#include "llvm/emit/llvm_flow.h"
#include "llvm/emit/llvm_frame.h"
#include "llvm/emit/llvm_kernel_state.h"
#include "llvm/emit/llvm_program.h"

#include <string.h>

enum {
    SUBVECTOR = 16, /* bytes */
    MAX_VECTOR_BYTES = 64
};

/* The lowest address of elements e … e + count - 1 of a line. */
static LLVMValueRef lowest_address(const tgi_llvm_register_transpose *t,
                                   const tgi_llvm_line_array *array,
                                   LLVMValueRef line, LLVMValueRef e, int count)
{
    const tgi_llvm_program *program = t->k->program;
    if (array->is_reversed)
        e = LLVMBuildSub(t->k->b, tgi_llvm_const_i64(t->k->program, 1 - count),
                         e, "");
    LLVMValueRef offset =
        tgi_llvm_add(program, tgi_llvm_mul(program, line, array->line), e);
    return LLVMBuildGEP2(t->k->b, t->element, array->start, &offset, 1, "");
}

static void transpose_element(const tgi_llvm_register_transpose *t,
                              LLVMValueRef line, LLVMValueRef e)
{
    LLVMBuilderRef b = t->k->b;
    LLVMValueRef value = LLVMBuildLoad2(
        b, t->element, lowest_address(t, &t->from, line, e, 1), "");
    LLVMSetAlignment(value, t->bytes);
    LLVMSetAlignment(
        LLVMBuildStore(b, value, lowest_address(t, &t->to, e, line, 1)),
        t->bytes);
}

/* Interleaves the lower or upper halves of each subvector of two vectors. */
static LLVMValueRef interleave(const tgi_llvm_register_transpose *t,
                               LLVMValueRef a, LLVMValueRef b, unsigned lanes,
                               bool upper)
{
    const unsigned n = SUBVECTOR / t->bytes;
    LLVMValueRef order[TGI_MAX_LANES];
    for (unsigned i = 0; i < lanes; i++) {
        const unsigned from = i / n * n + (upper ? n / 2 : 0) + i % n / 2;
        order[i] = LLVMConstInt(t->k->program->i32, i % 2 ? lanes + from : from,
                                false);
    }
    return LLVMBuildShuffleVector(t->k->b, a, b, LLVMConstVector(order, lanes),
                                  "");
}

/* The subvectors at element e of several lines, as one vector. */
static LLVMValueRef load_subvectors(const tgi_llvm_register_transpose *t,
                                    const LLVMValueRef *line,
                                    unsigned n_subvectors, LLVMValueRef e)
{
    LLVMBuilderRef b = t->k->b;
    const unsigned n = SUBVECTOR / t->bytes;
    LLVMValueRef next =
        tgi_llvm_add(t->k->program, e,
                     tgi_llvm_const_i64(t->k->program, t->prefetch_distance));
    for (unsigned i = 0; i < n_subvectors && t->prefetch_distance; i++)
        tgi_llvm_prefetch(t->k, lowest_address(t, &t->from, line[i], next, 1),
                          SUBVECTOR, false);
    LLVMTypeRef type = LLVMVectorType(t->element, n);
    LLVMValueRef all[MAX_VECTOR_BYTES / SUBVECTOR];
    for (unsigned i = 0; i < n_subvectors; i++) {
        all[i] = LLVMBuildLoad2(
            b, type, lowest_address(t, &t->from, line[i], e, (int)n), "");
        LLVMSetAlignment(all[i], t->bytes);
    }
    return tgi_llvm_concat(t->k->e, all, n_subvectors);
}

/*
 * Transposes `lanes` lines x one subvector of n elements, from line and e on.
 * Interleaving the first half of the vectors with the second, log2 n times,
 * transposes each square of n x n elements. If lines are reversed, lines and
 * elements are taken in reverse order.
 */
static void transpose_vectors(const tgi_llvm_register_transpose *t,
                              LLVMValueRef line, LLVMValueRef e)
{
    const unsigned n = SUBVECTOR / t->bytes;
    const unsigned n_subvectors = tgi_llvm_vector_bits(t->k) / 8 / SUBVECTOR;
    const unsigned lanes = n * n_subvectors;
    LLVMValueRef rows[SUBVECTOR], next[SUBVECTOR], row_lines[TGI_MAX_LANES];
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n_subvectors; j++) {
            const unsigned at = j * n + i;
            row_lines[j] = tgi_llvm_add(
                t->k->program, line,
                tgi_llvm_const_i64(t->k->program,
                                   t->to.is_reversed ? lanes - 1 - at : at));
        }
        rows[i] = load_subvectors(t, row_lines, n_subvectors, e);
    }
    for (unsigned done = 1; done < n; done *= 2) {
        for (unsigned i = 0; i < n; i++)
            next[i] =
                interleave(t, rows[i / 2], rows[i / 2 + n / 2], lanes, i % 2);
        memcpy(rows, next, sizeof(rows));
    }
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef to = tgi_llvm_add(
            t->k->program, e,
            tgi_llvm_const_i64(t->k->program,
                               t->from.is_reversed ? n - 1 - i : i));
        LLVMSetAlignment(
            LLVMBuildStore(t->k->b, rows[i],
                           lowest_address(t, &t->to, to, line, (int)lanes)),
            t->bytes);
    }
}

typedef void step_fn(const tgi_llvm_register_transpose *t, LLVMValueRef line,
                     LLVMValueRef e);

/* A range of lines or elements. */
typedef struct range {
    LLVMValueRef from, to;
    int64_t step;
} range;

/* Emits two nested loops; `lines_first`: the outer one is that over lines. */
static void emit_loops(const tgi_llvm_register_transpose *t, range lines,
                       range elements, bool lines_first, step_fn *emit_step)
{
    tgi_llvm_loop outer, inner;
    const range *a = lines_first ? &lines : &elements;
    const range *b = lines_first ? &elements : &lines;
    if (tgi_llvm_are_equal_consts(a->from, a->to) ||
        tgi_llvm_are_equal_consts(b->from, b->to))
        return;
    tgi_llvm_loop_begin(t->k, &outer, a->from, a->to, a->step, NULL, 0);
    tgi_llvm_loop_begin(t->k, &inner, b->from, b->to, b->step, NULL, 0);
    emit_step(t, lines_first ? outer.index : inner.index,
              lines_first ? inner.index : outer.index);
    tgi_llvm_loop_end(t->k, &inner, NULL);
    tgi_llvm_loop_end(t->k, &outer, NULL);
}

void tgi_llvm_register_transpose_emit(const tgi_llvm_register_transpose *t,
                                      bool lines_first)
{
    LLVMValueRef zero = tgi_llvm_const_i64(t->k->program, 0);
    const int64_t n = SUBVECTOR / t->bytes;
    const int64_t lanes = tgi_llvm_vector_bits(t->k) / 8 / t->bytes;
    LLVMValueRef lines_end = tgi_llvm_round_down(t->k, zero, t->n_lines, lanes);
    LLVMValueRef end = tgi_llvm_round_down(t->k, zero, t->n_elements, n);
    emit_loops(t, (range){zero, lines_end, lanes}, (range){zero, end, n},
               lines_first, transpose_vectors);
    emit_loops(t, (range){lines_end, t->n_lines, 1},
               (range){zero, t->n_elements, 1}, lines_first, transpose_element);
    emit_loops(t, (range){zero, lines_end, 1}, (range){end, t->n_elements, 1},
               lines_first, transpose_element);
}

void tgi_llvm_transpose_columns(tgi_llvm_kernel *k, const tgi_access *access,
                                LLVMValueRef to, unsigned width, LLVMValueRef n,
                                LLVMValueRef n_rows)
{
    const tg_dtype dtype =
        tgi_loops_buffer(k->program->loops, access->buffer)->dtype;
    const tgi_llvm_register_transpose transpose = {
        .k = k,
        .element = tgi_llvm_element_type(k->e, dtype),
        .bytes = (unsigned)tgi_dtype_bytes((int)dtype),
        .from = {.start = tgi_llvm_address_from_indices(k, access),
                 .line = tgi_llvm_stride(
                     k, access->stride[k->schedule->vector_axis]),
                 .is_reversed = access->stride[k->schedule->inner].is_negative},
        .to = {.start = to, .line = tgi_llvm_const_i64(k->program, width)},
        .n_lines = n,
        .n_elements = n_rows,
    };
    tgi_llvm_register_transpose_emit(&transpose, false);
}
