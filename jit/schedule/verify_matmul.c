/* SPDX-License-Identifier: MIT */
/*
 * verify_matmul.c - a matmul accumulates k in order, in k-blocks, and every
 * element of C is in one micro-kernel. Its operands are what the micro-kernel
 * computes again or packs: one load each, with elementwise insts. B is packed
 * before it is read.
 */
#include "schedule/verify.h"

enum { MAX_MR = 12 }; /* rows of a micro-kernel of jit/llvm */

static const tgi_reduction *reduction_of(const tgi_schedule *s)
{
    return &s->loops->reductions.data[0];
}

static const tgi_access *access_at(const tgi_schedule *s, uint32_t number)
{
    return &s->loops->accesses.data[number];
}

/* -- Operands -------------------------------------------------------------- */

static bool is_marked(const tgi_schedule *s, uint32_t inst, uint8_t operand)
{
    return (s->insts[inst].operands & operand) &&
           s->insts[inst].level != TGI_LEVEL_KERNEL;
}

/* The marked insts are the root and all that it depends on, up to values that
   are invariant in the kernel: one load through `access`, and elementwise
   insts. */
static tg_status verify_operand(const tgi_schedule *s, uint32_t root,
                                uint8_t operand, uint32_t access)
{
    unsigned n_loads = 0;
    TGI_REQUIRE(access < s->loops->accesses.n, "access of an operand", access);
    TGI_REQUIRE(s->insts[root].operands & operand, "an operand is missing",
                root);
    for (uint32_t i = 1; i < s->loops->insts.n; i++) {
        const tgi_inst *inst = &s->loops->insts.data[i];
        if (!is_marked(s, i, operand))
            continue;
        TGI_REQUIRE(inst->kind == TGI_INST_LOAD || inst->kind == TGI_INST_OP ||
                        inst->kind == TGI_INST_CAST ||
                        inst->kind == TGI_INST_OFFSET,
                    "an operand that is not elementwise", i);
        for (int j = 0; j < inst->n_operands; j++)
            TGI_REQUIRE(s->insts[inst->operands[j]].operands & operand,
                        "part of an operand is missing", i);
        if (inst->kind != TGI_INST_LOAD)
            continue;
        n_loads++;
        TGI_REQUIRE(inst->number == access, "load of an operand", i);
        const uint32_t index = access_at(s, access)->index;
        TGI_REQUIRE(!index ||
                        (s->loops->insts.data[index].kind == TGI_INST_OFFSET &&
                         is_marked(s, index, operand)),
                    "gathered operand", i);
        /* Packing and the function read B at multiples of a stride. */
        TGI_REQUIRE(!index || operand == TGI_OPERAND_A ||
                        (!s->matmul.packs_b && !s->matmul.calls_function),
                    "offsets of B are not looked up", i);
        TGI_REQUIRE(
            operand == TGI_OPERAND_A ||
                access_at(s, access)->stride[s->matmul.row_axis].distance == 0,
            "B differs between rows", i);
    }
    TGI_REQUIRE(n_loads == 1, "loads of an operand", n_loads);
    return TG_OK;
}

static tg_status verify_operands(const tgi_schedule *s)
{
    const tgi_reduction *r = reduction_of(s);
    const uint32_t b = s->insts[r->value].varies ? r->value : r->other;
    const uint32_t a = b == r->value ? r->other : r->value;
    TGI_REQUIRE(!s->insts[a].varies && s->insts[b].varies,
                "A varies or B is uniform", a);
    TGI_TRY(verify_operand(s, a, TGI_OPERAND_A, s->matmul.a_access));
    TGI_TRY(verify_operand(s, b, TGI_OPERAND_B, s->matmul.b_access));
    /* Nothing else runs at every k. */
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        TGI_REQUIRE(s->insts[i].level != TGI_LEVEL_INNER ||
                        s->insts[i].operands,
                    "an inner inst that is in no operand", i);
    for (size_t i = 0; i < s->loops->stores.n; i++)
        TGI_REQUIRE(s->loops->stores.data[i].level != TGI_LEVEL_INNER,
                    "an inner store in a matmul", i);
    TGI_REQUIRE(s->loops->checks.n == 0, "a check in a matmul", 0);
    return TG_OK;
}

/* -- Packing --------------------------------------------------------------- */

static bool is_plain_load(const tgi_schedule *s, uint32_t inst)
{
    return s->loops->insts.data[inst].kind == TGI_INST_LOAD;
}

/* True if vectors that reach past the last column read the next row of B, and
   the last row is never a k-block by itself. */
static bool can_overread(const tgi_schedule *s)
{
    const tgi_stride row = access_at(s, s->matmul.b_access)->stride[s->inner];
    const tgi_dim n = s->loops->extent[s->vector_axis];
    const tgi_dim k = s->loops->extent[s->inner];
    return tgi_dim_is_known(n) && tgi_dim_is_known(k) &&
           tgi_dim_is_known(row.distance) && !row.is_negative &&
           row.distance >= n && k % TGI_BLOCK_ROWS != 1;
}

/* The function reads full contiguous vectors of B: its panel is packed first
   where B has none. */
static tg_status verify_function(const tgi_schedule *s)
{
    const tgi_matmul_schedule *m = &s->matmul;
    const tgi_access *b = access_at(s, m->b_access);
    const bool is_contiguous = tgi_schedule_is_contiguous(s, b);
    TGI_REQUIRE(is_plain_load(s, s->insts[reduction_of(s)->value].varies
                                     ? reduction_of(s)->other
                                     : reduction_of(s)->value),
                "a micro-kernel function for a computed A", 0);
    TGI_REQUIRE(m->packs_b || is_plain_load(s, tgi_schedule_operand_b(s)),
                "a micro-kernel function reads B before it is computed", 0);
    TGI_REQUIRE(b->panel_width || is_contiguous || m->packs_for_function,
                "a micro-kernel function reads B before it is packed", 0);
    TGI_REQUIRE(b->panel_width || m->packs_masked_for_function ||
                    (is_contiguous && can_overread(s)),
                "a micro-kernel function reads past the end of B", 0);
    return TG_OK;
}

/* Every k-block of A consists of whole runs of contiguous elements. */
static tg_status verify_run(const tgi_schedule *s)
{
    const tgi_matmul_schedule *m = &s->matmul;
    const uint32_t index = access_at(s, m->a_access)->index;
    if (!m->a_run)
        return TG_OK;
    TGI_REQUIRE(index && !m->looks_ahead, "runs without a table of offsets",
                m->a_run);
    const tgi_offset_table *table =
        &s->loops->offsets.data[s->loops->insts.data[index].number];
    const tgi_stride last = table->stride[table->n_axes - 1];
    const tgi_dim extent = table->extent[table->n_axes - 1];
    TGI_REQUIRE(tgi_stride_is_one(last), "runs that are not contiguous",
                m->a_run);
    TGI_REQUIRE(tgi_dim_is_known(extent) && extent % m->a_run == 0 &&
                    TGI_BLOCK_ROWS % m->a_run == 0 &&
                    s->split_block % m->a_run == 0,
                "a k-block divides a run", m->a_run);
    return TG_OK;
}

/* Only the function has k-blocks inside of rows: where it has runs, at least
   one step of k, and a matrix B that is packed for all k-blocks. */
static tg_status verify_blocks_in_rows(const tgi_schedule *s)
{
    const tgi_matmul_schedule *m = &s->matmul;
    const tgi_dim k = s->loops->extent[s->inner];
    TGI_REQUIRE(!m->blocks_in_rows || (m->calls_function && m->a_run),
                "k-blocks inside of the rows without runs", 0);
    TGI_REQUIRE(!m->blocks_in_rows ||
                    (access_at(s, m->b_access)->panel_width &&
                     !m->packs_for_function && !m->packs_masked_for_function &&
                     m->item_matrices <= 1 && !s->split_block &&
                     tgi_dim_is_known(k) && k > 0),
                "k-blocks inside of the rows are not packed", 0);
    return TG_OK;
}

static tg_status verify_packing(const tgi_schedule *s)
{
    const tgi_matmul_schedule *m = &s->matmul;
    const tgi_access *b = access_at(s, m->b_access);
    TGI_REQUIRE(!b->panel_width || !m->packs_b,
                "packed panels are packed again", 0);
    TGI_REQUIRE(!m->transposes_b ||
                    (m->packs_b && b->stride[s->inner].distance == 1 &&
                     !b->panel_width && !tgi_schedule_is_contiguous(s, b) &&
                     is_plain_load(s, tgi_schedule_operand_b(s))),
                "B is transposed but not packed as it is in memory", 0);
    TGI_REQUIRE(m->n_panels <= 1 ||
                    (b->panel_width && m->nr % b->panel_width == 0 &&
                     !m->packs_b && !s->split_block),
                "panels of B that are not in memory", m->n_panels);
    TGI_REQUIRE((!m->prefetched_a_bytes && !m->prefetched_b_bytes) ||
                    (m->row_axis > 0 &&
                     tgi_extent_is_at_most(s, m->row_axis, INT32_MAX) &&
                     tgi_extent_is_at_most(s, s->vector_axis, INT32_MAX)),
                "prefetch of matrices of unknown size", 0);
    TGI_REQUIRE(!m->looks_ahead || access_at(s, m->a_access)->index,
                "a micro-kernel looks ahead in no table of offsets", 0);
    TGI_TRY(verify_run(s));
    TGI_TRY(verify_blocks_in_rows(s));
    return m->calls_function ? verify_function(s) : TG_OK;
}

/* -- Matrices -------------------------------------------------------------- */

/* Several matrices of a work item share each k-block of B, and have room for C
   until the last one. */
static tg_status verify_matrices(const tgi_schedule *s)
{
    const tgi_matmul_schedule *m = &s->matmul;
    const tgi_access *b = access_at(s, m->b_access);
    if (m->item_matrices <= 1)
        return TG_OK;
    TGI_REQUIRE(m->row_axis > 0 && !reduction_of(s)->is_split,
                "several matrices without an axis", 0);
    TGI_REQUIRE(!m->reduces_rows && !m->reduces_columns,
                "several matrices whose C is reduced", 0);
    TGI_REQUIRE(b->stride[m->row_axis - 1].distance == 0,
                "B differs between matrices", m->row_axis);
    TGI_REQUIRE(s->item_extent[m->row_axis - 1] == m->item_matrices,
                "work items do not have the matrices that are emitted",
                m->item_matrices);
    TGI_REQUIRE(tgi_nest_has_blocks(&s->phases[0].nest, s->inner,
                                    TGI_BLOCK_ROWS),
                "several matrices without k-blocks", 0);
    return TG_OK;
}

/* -- Epilogues ------------------------------------------------------------- */

static tg_status verify_epilogues(const tgi_schedule *s)
{
    const tgi_matmul_schedule *m = &s->matmul;
    bool rows = false, columns = false;
    for (size_t i = 0; i < s->loops->stores.n; i++) {
        const tgi_loop_store *store = &s->loops->stores.data[i];
        if (!store->epilogue_op)
            continue;
        TGI_REQUIRE(m->mr && m->nr, "a reduction epilogue without a matmul", i);
        rows |= store->along_rows;
        columns |= !store->along_rows;
        TGI_REQUIRE(!store->along_rows || tgi_schedule_row_fits_vector(s) ||
                        tgi_schedule_epilogue_lanes(s, store) % m->nr == 0,
                    "vectors of a row epilogue divide the tree", i);
        TGI_REQUIRE(!store->along_rows ||
                        m->item_rows *
                                (int64_t)tgi_schedule_epilogue_lanes(s, store) *
                                8 <=
                            TGI_MAX_STACK_BYTES,
                    "a row epilogue exceeds the stack", m->item_rows);
    }
    TGI_REQUIRE(m->reduces_rows == rows, "a row epilogue is missing", 0);
    TGI_REQUIRE(m->reduces_columns == columns, "a column epilogue is missing",
                0);
    /* Work items with all columns: verify_nest.c. */
    TGI_REQUIRE(!columns || tgi_extent_is_at_most(s, m->row_axis, m->item_rows),
                "work items divide a column that is reduced", m->item_rows);
    return TG_OK;
}

/* -- Entry point ----------------------------------------------------------- */

/* Around the k-loop: the rows of an item, mr at a time, and k-blocks, around
   the rows or inside of them. In it: these rows
   unrolled, and the vector. */
static tg_status verify_order(const tgi_schedule *s)
{
    const tgi_nest *nest = &s->phases[0].nest;
    const tgi_nest_loop *last = &nest->loops[nest->n - 1];
    const tgi_nest_loop *rows = last - (s->matmul.blocks_in_rows ? 4 : 3);
    TGI_REQUIRE(!s->matmul.blocks_in_rows ||
                    (nest->n >= 5 && last[-3].kind == TGI_LOOP_SERIAL &&
                     last[-3].axis == s->inner &&
                     last[-3].step == TGI_BLOCK_ROWS),
                "no k-blocks inside of the rows", nest->n);
    TGI_REQUIRE(nest->n >= 4 && last->kind == TGI_LOOP_VECTOR &&
                    last[-1].kind == TGI_LOOP_UNROLL &&
                    last[-1].axis == s->matmul.row_axis &&
                    (last[-2].kind == TGI_LOOP_SERIAL ||
                     (last[-2].kind == TGI_LOOP_UNROLL &&
                      tgi_extent_is_at_most(s, s->inner, TGI_BLOCK_ROWS))) &&
                    last[-2].axis == s->inner && last[-2].step == 1 &&
                    rows->kind == TGI_LOOP_SERIAL &&
                    rows->axis == s->matmul.row_axis &&
                    rows->step == s->matmul.mr,
                "loops of a micro-kernel", nest->n);
    return TG_OK;
}

tg_status tgi_schedule_verify_matmul(const tgi_schedule *s)
{
    const tgi_matmul_schedule *m = &s->matmul;
    TGI_TRY(verify_epilogues(s));
    if (!m->mr)
        return TG_OK;
    TGI_REQUIRE(
        s->loops->vectors == TGI_COLUMNS && s->loops->reductions.n == 1 &&
            reduction_of(s)->op == TGI_OP_MATMUL &&
            !reduction_of(s)->combines_blocks && !s->loops->is_straightline,
        "a micro-kernel without a matmul", 0);
    TGI_REQUIRE(m->row_axis >= 0 &&
                    m->row_axis ==
                        s->vector_axis - 1 - reduction_of(s)->is_split,
                "axis of the rows", m->row_axis);
    TGI_REQUIRE(m->mr <= MAX_MR, "too many rows of a micro-kernel", m->mr);
    TGI_REQUIRE(m->nr == tgi_phase_lanes(&s->phases[0]),
                "a micro-kernel is not as wide as the vectors", m->nr);
    TGI_REQUIRE(m->item_rows > 0 && m->item_rows % m->mr == 0 &&
                    m->item_rows == s->item_extent[m->row_axis],
                "work items divide a micro-kernel", m->item_rows);
    TGI_REQUIRE(m->item_rows <= TGI_MAX_STACK_BYTES &&
                    m->item_matrices <= TGI_MAX_STACK_BYTES &&
                    m->item_rows * (m->n_panels > 1 ? m->n_panels : 1) *
                            (m->item_matrices > 1 ? m->item_matrices : 1) *
                            m->nr * 8 <=
                        TGI_MAX_STACK_BYTES,
                "C of a work item exceeds the stack", m->item_rows);
    TGI_TRY(verify_order(s));
    TGI_TRY(verify_operands(s));
    TGI_TRY(verify_matrices(s));
    return verify_packing(s);
}
