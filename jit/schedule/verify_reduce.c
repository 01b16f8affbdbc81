/* SPDX-License-Identifier: MIT */
/*
 * verify_reduce.c - reductions have the order of reduce_tree.h: along rows, the
 * lanes of the tree in vectors, block by block; down columns, rows in order,
 * block by block. Only reductions whose order does not matter may have another.
 */
#include "schedule/verify.h"

enum { MAX_CARRIED = 64 }; /* values that a loop of jit/llvm carries */

static const tgi_reduction *reduction_at(const tgi_schedule *s, unsigned phase,
                                         unsigned i)
{
    return &s->loops->reductions.data[s->phases[phase].reductions[i]];
}

/* The list has all reductions of the phase, in order. */
static tg_status verify_list(const tgi_schedule *s, unsigned number)
{
    const tgi_phase_schedule *phase = &s->phases[number];
    unsigned n = 0;
    TGI_REQUIRE(phase->n_reductions <= TGI_MAX_PHASE_REDUCTIONS,
                "too many reductions", phase->n_reductions);
    for (uint32_t i = 0; i < s->loops->reductions.n; i++) {
        if (s->loops->reductions.data[i].phase != number)
            continue;
        TGI_REQUIRE(n < phase->n_reductions && phase->reductions[n] == i,
                    "a reduction is missing", i);
        n++;
    }
    TGI_REQUIRE(n == phase->n_reductions, "a reduction of another phase", n);
    for (unsigned i = 0; i < n; i++)
        TGI_REQUIRE(reduction_at(s, number, i)->combines_blocks ==
                        reduction_at(s, number, 0)->combines_blocks,
                    "first and second stages in one phase", i);
    return TG_OK;
}

/* -- Blocks ---------------------------------------------------------------- */

static int64_t block_size(const tgi_schedule *s, unsigned phase)
{
    return s->loops->vectors == TGI_COLUMNS
               ? TGI_BLOCK_ROWS
               : TGI_BLOCK_STEPS *
                     (int64_t)tgi_tree_lanes(reduction_at(s, phase, 0)->dtype);
}

static bool is_split(const tgi_schedule *s)
{
    for (size_t i = 0; i < s->loops->reductions.n; i++)
        if (s->loops->reductions.data[i].is_split)
            return true;
    return false;
}

/* More than one block needs a loop over blocks; the loops inside it have
   smaller steps (verify_nest.c). */
static tg_status verify_blocks(const tgi_schedule *s, unsigned number)
{
    const tgi_nest *nest = &s->phases[number].nest;
    const int64_t size = block_size(s, number);
    const bool is_one_block =
        s->split_block || tgi_extent_is_at_most(s, s->inner, size);
    unsigned i = 0;
    while (i < nest->n && nest->loops[i].axis != s->inner)
        i++;
    if (is_one_block)
        TGI_REQUIRE(i == nest->n || nest->loops[i].step <= size,
                    "a loop is longer than a block", i);
    else
        TGI_REQUIRE(i < nest->n && nest->loops[i].kind == TGI_LOOP_SERIAL &&
                        nest->loops[i].step == size,
                    "no loop over blocks", i);
    return TG_OK;
}

/* -- Rows ------------------------------------------------------------------ */

static tg_status verify_any_order(const tgi_schedule *s, unsigned number)
{
    const tgi_phase_schedule *phase = &s->phases[number];
    const unsigned n_unrolled = tgi_nest_unrolled(&phase->nest);
    for (unsigned i = 0; i < phase->n_reductions; i++)
        TGI_REQUIRE(tgi_reduction_is_reassociable(reduction_at(s, number, i)),
                    "an order that matters is changed", i);
    TGI_REQUIRE(!s->loops->is_straightline && !s->wide_columns && !s->matmul.mr,
                "reassociated columns on the stack", number);
    TGI_REQUIRE(phase->accumulators.n_vectors == 1 &&
                    phase->accumulators.storage == TGI_IN_REGISTERS,
                "accumulators of a reassociated reduction",
                phase->accumulators.n_vectors);
    /* jit/llvm accumulates one vector at a time, or two. */
    TGI_REQUIRE(n_unrolled <= 2 || s->loops->vectors == TGI_COLUMNS,
                "unrolled vectors of a reassociated reduction", n_unrolled);
    return TG_OK;
}

/* The vectors of an accumulator are the lanes of the tree. Lanes past the end
   of a short row hold the identity and may be missing; but that of MATMUL is
   not one, as -0 + +0 is +0. */
static tg_status verify_tree(const tgi_schedule *s, unsigned number)
{
    const tgi_phase_schedule *phase = &s->phases[number];
    const int64_t tree = tgi_phase_tree_lanes(phase);
    const int64_t lanes = tgi_tree_lanes(reduction_at(s, number, 0)->dtype);
    bool has_matmul = false;
    for (unsigned i = 0; i < phase->n_reductions; i++) {
        has_matmul |= reduction_at(s, number, i)->op == TGI_OP_MATMUL;
        TGI_REQUIRE(tgi_tree_lanes(reduction_at(s, number, i)->dtype) == lanes,
                    "trees of one phase differ", i);
    }
    TGI_REQUIRE(
        tgi_is_power_of_two(tree) &&
            (tree == lanes || (tree < lanes && !has_matmul &&
                               tgi_extent_is_at_most(s, s->inner, tree))),
        "accumulators do not hold the lanes of the tree", tree);
    TGI_REQUIRE(phase->accumulators.n_vectors <= TGI_MAX_TREE_VECTORS,
                "too many vectors of accumulators",
                phase->accumulators.n_vectors);
    TGI_REQUIRE(phase->fission.n_parts == 0, "fission of a reduction", number);
    return TG_OK;
}

/* In registers, an iteration takes all lanes of the tree: it is unrolled into
   the vectors of the accumulators. On the stack, it takes one vector. */
static tg_status verify_row_loops(const tgi_schedule *s, unsigned number)
{
    const tgi_phase_schedule *phase = &s->phases[number];
    const tgi_accumulators *acc = &phase->accumulators;
    const tgi_nest *nest = &phase->nest;
    const int64_t tree = tgi_phase_tree_lanes(phase);
    const bool has_tree_loop =
        nest->n > 1 + (acc->n_vectors > 1) &&
        nest->loops[nest->n - 2 - (acc->n_vectors > 1)].kind ==
            TGI_LOOP_SERIAL &&
        nest->loops[nest->n - 2 - (acc->n_vectors > 1)].step == tree;
    if (s->loops->is_straightline)
        return TG_OK;
    if (acc->storage == TGI_ON_STACK) {
        TGI_REQUIRE(tgi_nest_unrolled(nest) == 1,
                    "unrolled accumulators on the stack", number);
        return TG_OK;
    }
    TGI_REQUIRE(has_tree_loop, "no loop over the lanes of the tree", tree);
    TGI_REQUIRE(tgi_nest_unrolled(nest) == acc->n_vectors,
                "accumulators are not unrolled", acc->n_vectors);
    TGI_REQUIRE(phase->n_reductions * acc->n_vectors <= MAX_CARRIED,
                "accumulators exceed the registers of a loop", acc->n_vectors);
    return TG_OK;
}

/* -- Columns --------------------------------------------------------------- */

/* All columns of a wide item take a few rows at a time. */
static tg_status verify_wide(const tgi_schedule *s)
{
    const tgi_nest *nest = &s->phases[0].nest;
    const int64_t lanes = tgi_phase_lanes(&s->phases[0]);
    const bool is_matmul = s->loops->reductions.n == 1 &&
                           s->loops->reductions.data[0].op == TGI_OP_MATMUL;
    int64_t bytes = 0;
    for (size_t i = 0; i < s->loops->reductions.n; i++)
        bytes += tgi_dtype_bytes(s->loops->reductions.data[i].dtype) +
                 (int64_t)sizeof(int64_t);
    TGI_REQUIRE(s->loops->reductions.n > 0 && !s->matmul.mr &&
                    !s->loops->is_straightline,
                "wide columns without reductions of their own", 0);
    TGI_REQUIRE(lanes > 1 && s->wide_columns % lanes == 0,
                "wide columns divide a vector", s->wide_columns);
    TGI_REQUIRE(s->wide_columns * bytes <= TGI_MAX_STACK_BYTES,
                "wide columns exceed the stack", s->wide_columns);
    /* Partial results of blocks other than sums of k-blocks have no memory. */
    TGI_REQUIRE(is_matmul || s->split_block ||
                    tgi_extent_is_at_most(s, s->inner, TGI_BLOCK_ROWS),
                "wide columns of several blocks", 0);
    /* Accumulators start from the identity, which is -0 for sums; the result of
       no rows is +0. */
    TGI_REQUIRE(is_matmul || s->split_block || s->loops->extent[s->inner] > 0,
                "wide columns of no rows", 0);
    TGI_REQUIRE(nest->loops[nest->n - 1].kind == TGI_LOOP_UNROLL &&
                    nest->loops[nest->n - 1].axis == s->inner &&
                    nest->loops[nest->n - 2].kind == TGI_LOOP_VECTOR &&
                    tgi_is_power_of_two(tgi_nest_unrolled(nest)) &&
                    tgi_nest_unrolled(nest) < TGI_BLOCK_ROWS,
                "wide columns do not take whole rows", 0);
    TGI_REQUIRE(s->phases[0].accumulators.storage == TGI_ON_STACK,
                "wide columns in registers", 0);
    return TG_OK;
}

/* Elements of a column are accumulated in order: the loops over rows are
   SERIAL or unrolled, and their vectors have a column per lane. */
static tg_status verify_columns(const tgi_schedule *s, unsigned number)
{
    const tgi_accumulators *acc = &s->phases[number].accumulators;
    TGI_REQUIRE(acc->n_vectors == (s->matmul.mr ? s->matmul.mr : 1),
                "accumulators of columns", acc->n_vectors);
    TGI_REQUIRE(s->wide_columns || acc->storage == TGI_IN_REGISTERS,
                "accumulators of columns on the stack", number);
    return s->wide_columns ? verify_wide(s) : TG_OK;
}

/* -- Entry point ----------------------------------------------------------- */

tg_status tgi_schedule_verify_reductions(const tgi_schedule *s, unsigned number)
{
    const tgi_phase_schedule *phase = &s->phases[number];
    TGI_TRY(verify_list(s, number));
    if (number == 0) {
        TGI_REQUIRE(!s->wide_columns || s->loops->vectors == TGI_COLUMNS,
                    "wide columns of rows", s->wide_columns);
        TGI_REQUIRE((s->split_block != 0) == is_split(s),
                    "two-stage reduction without blocks", s->split_block);
        TGI_REQUIRE(!s->wide_columns || phase->n_reductions ||
                        tgi_schedule_is_row_order(s),
                    "wide columns without a reduction", s->wide_columns);
    }
    if (!phase->n_reductions)
        return TG_OK;
    TGI_REQUIRE(!s->split_block || s->split_block == block_size(s, number),
                "size of the blocks of a two-stage reduction", s->split_block);
    if (phase->accumulators.is_reassociated)
        return verify_any_order(s, number);
    if (reduction_at(s, number, 0)->combines_blocks) {
        TGI_REQUIRE(s->loops->vectors == TGI_COLUMNS ||
                        tgi_phase_lanes(phase) == 1,
                    "blocks are combined out of order", number);
        TGI_REQUIRE(!s->wide_columns && !s->matmul.mr,
                    "blocks are combined like rows", number);
        return TG_OK;
    }
    if (!s->loops->is_straightline)
        TGI_TRY(verify_blocks(s, number));
    if (s->loops->vectors == TGI_COLUMNS)
        return verify_columns(s, number);
    TGI_TRY(verify_tree(s, number));
    return verify_row_loops(s, number);
}
