/* SPDX-License-Identifier: MIT */
/*
 * schedule_print.c - schedules as text, for dumps and goldens. Axes and insts
 * have the names of the loops dump: outer axes o0, o1 …, the inner axis i,
 * insts %1, %2 … docs/SCHEDULES.md explains how to read it.
 */
#include "schedule/schedule.h"

/* -- Axes ------------------------------------------------------------------ */

static void print_axis(const tgi_schedule *s, int axis, tgi_strbuf *out)
{
    if (axis == s->inner)
        tgi_strbuf_add(out, "i");
    else
        tgi_strbuf_addf(out, "o%d", axis);
}

static void print_size(const tgi_schedule *s, int axis, int64_t size,
                       tgi_strbuf *out)
{
    print_axis(s, axis, out);
    tgi_strbuf_addf(out, ":%lld", (long long)size);
}

/* The axes that work items divide. */
static void print_items(const tgi_schedule *s, tgi_strbuf *out)
{
    const char *separator = "";
    tgi_strbuf_add(out, "; items [");
    for (int axis = 0; axis <= s->inner; axis++) {
        if (!s->item_extent[axis])
            continue;
        tgi_strbuf_add(out, separator);
        print_size(s, axis, s->item_extent[axis], out);
        separator = " ";
    }
    tgi_strbuf_add(out, "]");
}

/* -- Nests ----------------------------------------------------------------- */

/* True if some vector may not be full. */
static bool may_have_tail(const tgi_schedule *s, const tgi_nest_loop *loop)
{
    const tgi_dim extent = s->loops->extent[loop->axis];
    return !tgi_dim_is_known(extent) || extent % loop->step;
}

static void print_tail(const tgi_nest_loop *loop, tgi_strbuf *out)
{
    static const char *const names[] = {[TGI_TAIL_SCALAR] = "scalar",
                                        [TGI_TAIL_MASK] = "mask",
                                        [TGI_TAIL_STACK] = "stack"};
    if (loop->narrow_lanes && loop->tail != TGI_TAIL_STACK)
        tgi_strbuf_addf(out, ", narrow %u", loop->narrow_lanes);
    tgi_strbuf_addf(out, ", %s", names[loop->tail]);
    if (loop->tail == TGI_TAIL_MASK)
        tgi_strbuf_addf(out, " %u", loop->tail_lanes);
}

static void print_nest(const tgi_schedule *s, const tgi_nest *nest,
                       tgi_strbuf *out)
{
    static const char *const kinds[] = {[TGI_LOOP_SERIAL] = "serial",
                                        [TGI_LOOP_UNROLL] = "unroll",
                                        [TGI_LOOP_VECTOR] = "vector"};
    for (unsigned i = 0; i < nest->n; i++) {
        const tgi_nest_loop *loop = &nest->loops[i];
        tgi_strbuf_addf(out, "%s%s(", i ? " " : "", kinds[loop->kind]);
        print_size(s, loop->axis, loop->step, out);
        if (loop->kind == TGI_LOOP_VECTOR && may_have_tail(s, loop))
            print_tail(loop, out);
        tgi_strbuf_add(out, ")");
    }
}

/* -- Phases ---------------------------------------------------------------- */

static void print_accumulators(const tgi_schedule *s,
                               const tgi_phase_schedule *phase, tgi_strbuf *out)
{
    const tgi_accumulators *acc = &phase->accumulators;
    const tgi_reduction *first =
        &s->loops->reductions.data[phase->reductions[0]];
    tgi_strbuf_addf(out, "; accumulators: %u vector%s %s, ", acc->n_vectors,
                    acc->n_vectors == 1 ? "" : "s",
                    acc->storage == TGI_IN_REGISTERS ? "in registers"
                                                     : "on the stack");
    tgi_strbuf_add(out, acc->is_reassociated            ? "any order"
                        : first->combines_blocks        ? "order of blocks"
                        : s->loops->vectors == TGI_ROWS ? "order of the tree"
                                                        : "order of rows");
}

static bool is_in_part(const tgi_schedule *s, unsigned phase, uint32_t number,
                       uint32_t part)
{
    const tgi_inst *inst = &s->loops->insts.data[number];
    return s->insts[number].level == TGI_LEVEL_INNER && inst->phase == phase &&
           inst->kind != TGI_INST_LOAD && inst->kind != TGI_INST_POSITION &&
           s->insts[number].part == part;
}

/* A part: its insts, with the slots that they are stored to. */
static void print_part(const tgi_schedule *s, unsigned phase, uint32_t part,
                       tgi_strbuf *out)
{
    const tgi_fission *f = &s->phases[phase].fission;
    const bool is_last = part == f->n_parts - 1;
    bool is_function = is_last && f->last_is_function;
    tgi_strbuf_addf(out, "    part %u:", part);
    for (uint32_t i = 1; i < s->loops->insts.n; i++) {
        if (!is_in_part(s, phase, i, part))
            continue;
        is_function |= s->insts[i].is_function;
        tgi_strbuf_addf(out, " %%%u", i);
        if (s->insts[i].slot)
            tgi_strbuf_addf(out, ">s%u", s->insts[i].slot - 1);
    }
    tgi_strbuf_add(out, is_last ? " stores" : "");
    tgi_strbuf_add(out, is_function ? "; function\n" : "\n");
}

static void print_fission(const tgi_schedule *s, unsigned phase,
                          tgi_strbuf *out)
{
    const tgi_fission *f = &s->phases[phase].fission;
    if (!f->n_parts)
        return;
    tgi_strbuf_addf(out, "    fission: %u part%s", f->n_parts,
                    f->n_parts == 1 ? "" : "s");
    if (f->strip)
        tgi_strbuf_addf(out, ", strip %lld", (long long)f->strip);
    if (f->n_slots)
        tgi_strbuf_addf(out, ", %u slot%s of %u bytes", f->n_slots,
                        f->n_slots == 1 ? "" : "s", f->slot_bytes);
    tgi_strbuf_add(out, "\n");
    for (uint32_t part = 0; part < f->n_parts; part++)
        print_part(s, phase, part, out);
}

static void print_non_temporal(const tgi_schedule *s, unsigned number,
                               tgi_strbuf *out)
{
    if (!s->phases[number].is_non_temporal)
        return;
    tgi_strbuf_add(out, "    non-temporal stores of");
    for (size_t i = 0; i < s->loops->stores.n; i++)
        if (s->non_temporal_stores[i] &&
            s->loops->stores.data[i].phase == number)
            tgi_strbuf_addf(out, " %%%u", s->loops->stores.data[i].value);
    tgi_strbuf_addf(out, " beyond %lld bytes; prefetch distance %lld bytes\n",
                    (long long)s->non_temporal_bytes,
                    (long long)s->prefetch_bytes);
}

static void print_string_store(const tgi_phase_schedule *phase, tgi_strbuf *out)
{
    if (phase->string_store_bytes)
        tgi_strbuf_addf(out, "    string stores beyond %lld bytes\n",
                        (long long)phase->string_store_bytes);
}

/* Insts before the interchanged loop, or that along columns. */
static void print_hoisted(const tgi_schedule *s, tgi_strbuf *out)
{
    if (tgi_schedule_interchanged_axis(s) < 0 && !tgi_schedule_is_row_order(s))
        return;
    tgi_strbuf_add(out, "    hoists");
    for (uint32_t i = 1; i < s->loops->insts.n; i++)
        if (s->insts[i].is_hoisted)
            tgi_strbuf_addf(out, " %%%u", i);
    tgi_strbuf_add(out, "\n");
}

static void print_phase(const tgi_schedule *s, unsigned number, tgi_strbuf *out)
{
    const tgi_phase_schedule *phase = &s->phases[number];
    tgi_strbuf_addf(out, "  phase %u: ", number);
    if (phase->has_loop || s->loops->vectors == TGI_COLUMNS)
        print_nest(s, &phase->nest, out);
    else
        tgi_strbuf_add(out, "once per point");
    if (phase->keeps_operand_widths)
        tgi_strbuf_add(out, "; keeps operand widths");
    if (phase->n_reductions)
        print_accumulators(s, phase, out);
    if (phase->aligned_store)
        tgi_strbuf_addf(out, "; aligned to the store of %%%u",
                        s->loops->stores.data[phase->aligned_store - 1].value);
    tgi_strbuf_add(out, "\n");
    print_hoisted(s, out);
    print_fission(s, number, out);
    print_non_temporal(s, number, out);
    print_string_store(phase, out);
}

/* -- Stages ---------------------------------------------------------------- */

/* Loads and stores that go through tiles. */
static void print_tiles(const tgi_schedule *s, tgi_strbuf *out)
{
    const tgi_kernel_loops *loops = s->loops;
    if (!s->tiles.rows)
        return;
    tgi_strbuf_add(out, "  tiles [");
    print_size(s, s->tiles.row_axis, s->tiles.rows, out);
    tgi_strbuf_add(out, " ");
    print_size(s, s->inner, TGI_ITEM_ELEMENTS, out);
    tgi_strbuf_add(out, "]: transposes");
    for (uint32_t i = 1; i < loops->insts.n; i++)
        if (loops->insts.data[i].kind == TGI_INST_LOAD &&
            s->tiles.uses[loops->insts.data[i].number] & TGI_IS_LOADED)
            tgi_strbuf_addf(out, " load %%%u", i);
    for (size_t i = 0; i < loops->stores.n; i++)
        if (s->tiles.uses[loops->stores.data[i].access] & TGI_IS_STORED)
            tgi_strbuf_addf(out, " store of %%%u", loops->stores.data[i].value);
    tgi_strbuf_add(out, "\n");
}

/* The function, and more than one k-block, accumulate in memory. */
static bool has_register_epilogue(const tgi_schedule *s)
{
    const tgi_nest_loop *k =
        tgi_nest_find(&s->phases[0].nest, TGI_LOOP_SERIAL, s->inner);
    return s->matmul.epilogue_in_registers && !s->matmul.calls_function && k &&
           k->step != TGI_BLOCK_ROWS;
}

static void print_matmul(const tgi_schedule *s, tgi_strbuf *out)
{
    const tgi_matmul_schedule *m = &s->matmul;
    if (!m->mr)
        return;
    tgi_strbuf_addf(out, "  matmul: micro-kernel %u x %u", m->mr, m->nr);
    tgi_strbuf_add(out, m->calls_function ? ", a function" : "");
    tgi_strbuf_addf(out, "; k-blocks of %d", TGI_BLOCK_ROWS);
    if (m->n_panels > 1)
        tgi_strbuf_addf(out, "; %u panels", m->n_panels);
    if (m->item_matrices > 1)
        tgi_strbuf_addf(out, "; %lld matrices", (long long)m->item_matrices);
    if (m->a_run && m->calls_function)
        tgi_strbuf_addf(out, "; runs of %u", m->a_run);
    tgi_strbuf_add(out, m->prefetches_panels ? "; prefetches panels" : "");
    if (m->packs_b)
        tgi_strbuf_add(out, m->transposes_b ? "; packs and transposes B"
                                            : "; packs B");
    else if (m->calls_function && m->packs_for_function)
        tgi_strbuf_add(out, "; packs B for the function");
    else if (m->calls_function && m->packs_masked_for_function)
        tgi_strbuf_add(out, "; packs masked columns of B for the function");
    tgi_strbuf_add(out, has_register_epilogue(s) ? "; epilogue in registers"
                                                 : "; epilogue over rows");
    tgi_strbuf_add(out, m->reduces_rows ? "; reduces rows" : "");
    tgi_strbuf_add(out, m->reduces_columns ? "; reduces columns" : "");
    if (m->prefetched_a_bytes || m->prefetched_b_bytes)
        tgi_strbuf_addf(out, "; prefetches %lld bytes of A, %lld of B",
                        (long long)m->prefetched_a_bytes,
                        (long long)m->prefetched_b_bytes);
    tgi_strbuf_add(out, "\n");
}

static void print_packing(const tgi_schedule *s, tgi_strbuf *out)
{
    if (s->pack_width)
        tgi_strbuf_addf(out, "  packs panels of %u columns%s\n", s->pack_width,
                        s->packs_transposed ? ", transposed" : "");
}

/* -- Kernels --------------------------------------------------------------- */

void tgi_schedule_print(const tgi_schedule *s, tgi_strbuf *out)
{
    const tgi_kernel_loops *loops = s->loops;
    tgi_strbuf_addf(out, "schedule %s: %u bits", loops->name, s->vector_bits);
    if (loops->is_straightline)
        tgi_strbuf_add(out, "; straight-line");
    else
        print_items(s, out);
    if (s->split_block)
        tgi_strbuf_addf(out, "; blocks of %lld", (long long)s->split_block);
    if (s->wide_columns)
        tgi_strbuf_addf(out, "; wide columns");
    tgi_strbuf_add(out, "\n");
    print_matmul(s, out);
    print_packing(s, out);
    print_tiles(s, out);
    for (unsigned i = 0; i < loops->n_phases; i++)
        print_phase(s, i, out);
}
