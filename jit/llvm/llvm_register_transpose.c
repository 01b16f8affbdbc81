/* SPDX-License-Identifier: MIT */
/*
 * llvm_register_transpose.c - turning a piece of a matrix on its way from one place to
 * another: vectors of lines are loaded by pieces of 16 bytes, within which
 * shuffles are cheap, turned in registers and stored as vectors of what lay
 * across. What is left over is moved one by one.
 */
#include "llvm/llvm_lower.h"

#include <string.h>

enum {
    PIECE = 16, /* bytes */
    WIDEST = 64 /* bytes of a vector, at most */
};

static LLVMValueRef number(const tgi_llvm_register_transpose *t, int64_t n)
{
    return tgi_llvm_const_i64(t->k->program, n);
}

/* The lowest address of elements e … e + count - 1 of a line. */
static LLVMValueRef lowest_of(const tgi_llvm_register_transpose *t,
                              const tgi_llvm_line_array *side,
                              LLVMValueRef line, LLVMValueRef e, int count)
{
    const tgi_llvm_program *program = t->k->program;
    if (side->is_reversed)
        e = LLVMBuildSub(t->k->b, number(t, 1 - count), e, "");
    LLVMValueRef offset =
        tgi_llvm_add(program, tgi_llvm_mul(program, line, side->line), e);
    return LLVMBuildGEP2(t->k->b, t->element, side->start, &offset, 1, "");
}

static void turn_one(const tgi_llvm_register_transpose *t, LLVMValueRef line,
                     LLVMValueRef e)
{
    LLVMBuilderRef b = t->k->b;
    LLVMValueRef value =
        LLVMBuildLoad2(b, t->element, lowest_of(t, &t->from, line, e, 1), "");
    LLVMSetAlignment(value, t->bytes);
    LLVMSetAlignment(LLVMBuildStore(b, value, lowest_of(t, &t->to, e, line, 1)),
                     t->bytes);
}

/* In each piece of two vectors: their lower or upper halves, one element of
   each by turns. */
static LLVMValueRef interleaved(const tgi_llvm_register_transpose *t,
                                LLVMValueRef a, LLVMValueRef b, unsigned lanes,
                                bool upper)
{
    const unsigned n = PIECE / t->bytes;
    LLVMValueRef order[TGI_LLVM_MAX_LANES];
    for (unsigned i = 0; i < lanes; i++) {
        const unsigned from = i / n * n + (upper ? n / 2 : 0) + i % n / 2;
        order[i] = LLVMConstInt(t->k->program->i32, i % 2 ? lanes + from : from,
                                false);
    }
    return LLVMBuildShuffleVector(t->k->b, a, b, LLVMConstVector(order, lanes),
                                  "");
}

/* The pieces at one place of many lines, side by side. */
static LLVMValueRef load_pieces(const tgi_llvm_register_transpose *t,
                                const LLVMValueRef *line, unsigned n_pieces,
                                LLVMValueRef e)
{
    LLVMBuilderRef b = t->k->b;
    const unsigned n = PIECE / t->bytes;
    LLVMValueRef next =
        tgi_llvm_add(t->k->program, e, number(t, t->prefetch_distance));
    for (unsigned i = 0; i < n_pieces && t->prefetch_distance; i++)
        tgi_llvm_prefetch(t->k, lowest_of(t, &t->from, line[i], next, 1), PIECE,
                          false);
    LLVMTypeRef type = LLVMVectorType(t->element, n);
    LLVMValueRef all[WIDEST / PIECE];
    LLVMValueRef order[TGI_LLVM_MAX_LANES];
    for (unsigned i = 0; i < n_pieces; i++) {
        all[i] = LLVMBuildLoad2(b, type,
                                lowest_of(t, &t->from, line[i], e, (int)n), "");
        LLVMSetAlignment(all[i], t->bytes);
    }
    for (unsigned size = 1; size < n_pieces; size *= 2) {
        for (unsigned i = 0; i < 2 * size * n; i++)
            order[i] = LLVMConstInt(t->k->program->i32, i, false);
        for (unsigned i = 0; i < n_pieces; i += 2 * size)
            all[i] = LLVMBuildShuffleVector(
                b, all[i], all[i + size], LLVMConstVector(order, 2 * size * n),
                "");
    }
    return all[0];
}

/*
 * A vector of lines by a piece of elements, from line and e on. Interleaving
 * the first half of the vectors with the second, as often as halves can be
 * made, turns each square of pieces. What is backwards comes out forwards by
 * taking lines and elements in the other order.
 */
static void turn_vectors(const tgi_llvm_register_transpose *t,
                         LLVMValueRef line, LLVMValueRef e)
{
    const unsigned n = PIECE / t->bytes;
    const unsigned n_pieces = t->k->program->target->vector_bits / 8 / PIECE;
    const unsigned lanes = n * n_pieces;
    LLVMValueRef rows[PIECE], next[PIECE], of_row[TGI_LLVM_MAX_LANES];
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n_pieces; j++) {
            const unsigned at = j * n + i;
            of_row[j] = tgi_llvm_add(
                t->k->program, line,
                number(t, t->to.is_reversed ? lanes - 1 - at : at));
        }
        rows[i] = load_pieces(t, of_row, n_pieces, e);
    }
    for (unsigned done = 1; done < n; done *= 2) {
        for (unsigned i = 0; i < n; i++)
            next[i] =
                interleaved(t, rows[i / 2], rows[i / 2 + n / 2], lanes, i % 2);
        memcpy(rows, next, sizeof(rows));
    }
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef to = tgi_llvm_add(
            t->k->program, e, number(t, t->from.is_reversed ? n - 1 - i : i));
        LLVMSetAlignment(
            LLVMBuildStore(t->k->b, rows[i],
                           lowest_of(t, &t->to, to, line, (int)lanes)),
            t->bytes);
    }
}

typedef void visit(const tgi_llvm_register_transpose *t, LLVMValueRef line,
                   LLVMValueRef e);

/* A range of lines or elements, and a step. */
typedef struct range {
    LLVMValueRef from, to;
    int64_t step;
} range;

/* Two loops, of which the one over lines is the outer or the inner one. */
static void for_all(const tgi_llvm_register_transpose *t, range lines_of,
                    range elements, bool lines_first, visit *do_at)
{
    tgi_llvm_loop outer, inner;
    const range *a = lines_first ? &lines_of : &elements;
    const range *b = lines_first ? &elements : &lines_of;
    if (tgi_llvm_are_equal_consts(a->from, a->to) ||
        tgi_llvm_are_equal_consts(b->from, b->to))
        return;
    tgi_llvm_loop_begin(t->k, &outer, a->from, a->to, a->step, NULL, 0);
    tgi_llvm_loop_begin(t->k, &inner, b->from, b->to, b->step, NULL, 0);
    do_at(t, lines_first ? outer.index : inner.index,
          lines_first ? inner.index : outer.index);
    tgi_llvm_loop_end(t->k, &inner, NULL);
    tgi_llvm_loop_end(t->k, &outer, NULL);
}

void tgi_llvm_register_transpose_emit(const tgi_llvm_register_transpose *t,
                                      bool lines_first)
{
    LLVMValueRef zero = number(t, 0);
    const int64_t n = PIECE / t->bytes;
    const int64_t lanes = t->k->program->target->vector_bits / 8 / t->bytes;
    LLVMValueRef lines_end = tgi_llvm_round_down(t->k, zero, t->n_lines, lanes);
    LLVMValueRef end = tgi_llvm_round_down(t->k, zero, t->n_elements, n);
    for_all(t, (range){zero, lines_end, lanes}, (range){zero, end, n},
            lines_first, turn_vectors);
    for_all(t, (range){lines_end, t->n_lines, 1},
            (range){zero, t->n_elements, 1}, lines_first, turn_one);
    for_all(t, (range){zero, lines_end, 1}, (range){end, t->n_elements, 1},
            lines_first, turn_one);
}

void tgi_llvm_transpose_columns(tgi_llvm_kernel *k, const tgi_access *access,
                                LLVMValueRef to, unsigned width, LLVMValueRef n,
                                LLVMValueRef n_rows)
{
    const tg_dtype dtype =
        tgi_loops_buffer(k->program->loops, access->buffer)->dtype;
    const tgi_llvm_register_transpose turn = {
        .k = k,
        .element = tgi_llvm_element_type(k->e, dtype),
        .bytes = (unsigned)tgi_dtype_bytes((int)dtype),
        .from = {.start = tgi_llvm_address_from_indices(k, access),
                 .line = tgi_llvm_stride(k, access->stride[k->vector_axis]),
                 .is_reversed = access->stride[k->inner].is_negative},
        .to = {.start = to, .line = tgi_llvm_const_i64(k->program, width)},
        .n_lines = n,
        .n_elements = n_rows,
    };
    tgi_llvm_register_transpose_emit(&turn, false);
}
