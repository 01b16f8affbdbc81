/* SPDX-License-Identifier: MIT */
/*
 * test_schedule_verify.c - the schedule verifier: each rule is violated by hand
 * once, in a schedule that is accepted before, and rejected with a message that
 * names kernel and rule.
 */
#include "support/scheduling.h"

static void fuse_named(fused *fu, const char *name)
{
    size_t n;
    const schedule_case *cases = schedule_cases(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(cases[i].name, name) == 0) {
            fuse_case(fu, &cases[i]);
            return;
        }
    cr_assert_fail("no case %s", name);
}

static void check_rejected(const tgi_schedule *s, const char *rule)
{
    cr_expect_eq(tgi_schedule_verify(s), TG_ERROR_INTERNAL, "%s", rule);
    cr_expect_not_null(strstr(tg_error(NULL), rule), "\"%s\" for \"%s\"",
                       tg_error(NULL), rule);
    cr_expect_not_null(strstr(tg_error(NULL), s->original->name), "%s",
                       tg_error(NULL));
    tg_error_clear();
}

/* Applies a statement to the schedule `s` of a kernel for a target, with phases
   `p`. */
#define REJECTED_FOR(target, rule, name, kernel, statement) \
    do { \
        fused fu; \
        fuse_named(&fu, name); \
        schedule_for(&fu, target); \
        tgi_schedule *s = schedule_of(&fu, kernel); \
        tgi_phase_schedule *p = s->phases; \
        (void)p; \
        statement; \
        check_rejected(s, rule); \
        fuse_end(&fu); \
    } while (0)
#define REJECTED(rule, name, kernel, statement) \
    REJECTED_FOR("avx2", rule, name, kernel, statement)

static void drop_loop(tgi_nest *nest, unsigned number)
{
    nest->n--;
    for (unsigned i = number; i < nest->n; i++)
        nest->loops[i] = nest->loops[i + 1];
}

static tgi_nest_loop *vector_of(tgi_phase_schedule *phase)
{
    unsigned i = 0;
    while (phase->nest.loops[i].kind != TGI_LOOP_VECTOR)
        i++;
    return &phase->nest.loops[i];
}

static void set_lanes(tgi_phase_schedule *phase, int64_t lanes)
{
    vector_of(phase)->step = lanes;
    vector_of(phase)->narrow_lanes = 0;
    vector_of(phase)->tail_lanes = 1;
}

/* The loops of a kernel, to modify them. */
static tgi_kernel_loops *loops_of(const fused *fu, const tgi_schedule *s)
{
    size_t i = 0;
    while (fu->loops->kernels.data[i] != s->loops)
        i++;
    return fu->loops->kernels.data[i];
}

/* The first inst of a kind. */
static uint32_t find_inst(const tgi_schedule *s, int kind)
{
    uint32_t i = 1;
    while (s->loops->insts.data[i].kind != kind)
        i++;
    return i;
}

/* An inst of a phase with fission that is passed on in a slot. */
static uint32_t find_slot(const tgi_schedule *s)
{
    uint32_t i = 1;
    while (!s->insts[i].slot)
        i++;
    return i;
}

/* -- The domain ------------------------------------------------------------ */

Test(schedule_verify, points_are_computed_once)
{
    REJECTED("no loop runs along an axis", "matmul", 1,
             drop_loop(&p[0].nest, 1));
    REJECTED("no loop runs along an axis", "sum_columns", 0,
             (drop_loop(&p[0].nest, 2), drop_loop(&p[0].nest, 0)));
    REJECTED("the last loop along an axis skips elements", "sum_columns", 0,
             drop_loop(&p[0].nest, 2));
    REJECTED("a loop does not divide the step", "sum_rows", 0,
             p[0].nest.loops[1].step = 96);
    REJECTED("a loop does not divide its work item", "matmul", 1,
             s->item_extent[0] = s->matmul.item_rows = 131);
    REJECTED("a nest needs one vector loop", "chain", 0,
             vector_of(p)->kind = TGI_LOOP_SERIAL);
    REJECTED("vectors along another axis", "sum_columns", 0,
             vector_of(p)->axis = 1);
    REJECTED("size of a nest", "chain", 0, p[0].nest.n = 0);
    REJECTED("kind of a loop", "chain", 0, p[0].nest.loops[0].kind = 9);
    REJECTED("axis of a loop", "chain", 0, p[0].nest.loops[0].axis = 3);
    REJECTED("several unrolled loops", "sum_columns", 0,
             p[0].nest.loops[0].kind = TGI_LOOP_UNROLL);
    REJECTED("a phase with inner insts has no loop", "softmax", 0,
             p[2].has_loop = false);
    REJECTED("no loop runs along an axis", "straightline", 0,
             drop_loop(&p[0].nest, 0));
    check_nothing_is_alive();
}

Test(schedule_verify, vectors_are_powers_of_two)
{
    REJECTED("lanes not a power of two", "softmax", 0, set_lanes(&p[2], 24));
    REJECTED("too many lanes", "softmax", 0, set_lanes(&p[2], 128));
    REJECTED("lanes of the narrow loop", "softmax", 0,
             vector_of(&p[2])->narrow_lanes = 12);
    REJECTED("lanes of the narrow loop", "softmax", 0,
             vector_of(&p[2])->narrow_lanes = 64);
    REJECTED("vector bits", "softmax", 0, s->vector_bits = 96);
    REJECTED("vector axis", "softmax", 0, s->vector_axis = 0);
    REJECTED("inner axis", "softmax", 0, s->inner = 0);
    check_nothing_is_alive();
}

Test(schedule_verify, tails_are_computed)
{
    REJECTED("tail is not computed", "softmax", 0,
             vector_of(&p[2])->tail = TGI_TAIL_STACK);
    REJECTED("tail is not computed", "black_scholes", 0,
             vector_of(p)->tail = TGI_TAIL_MASK);
    REJECTED("tail is not computed", "softmax", 0, p[2].can_mask = false);
    REJECTED("lanes of the tail", "softmax", 0,
             vector_of(&p[2])->tail_lanes = 0);
    REJECTED("lanes of the tail", "softmax", 0,
             vector_of(&p[2])->tail_lanes = 64);
    REJECTED("a mask on a load that is not contiguous", "transpose_add", 0,
             ((tgi_access *)s->loops->accesses.data)[s->loops->insts.data[1]
                                                         .number]
                 .stride[s->inner]
                 .distance = 3;
             s->tiles.rows = 0; s->original = s->loops);
    check_nothing_is_alive();
}

Test(schedule_verify, work_items_are_disjoint)
{
    REJECTED("work items divide a row that is reduced", "softmax", 0,
             s->item_extent[s->inner] = 64);
    REJECTED("extent of a work item", "transpose_add", 0,
             s->item_extent[0] = 0);
    REJECTED("no loop runs along an axis", "softmax", 0,
             s->item_extent[0] = 2);
    REJECTED("a loop does not divide its work item", "chain", 0,
             s->item_extent[0] = 72);
    REJECTED("a loop does not divide its work item", "bias_relu", 0,
             s->item_extent[0] = 96);
    REJECTED("work items do not have the columns", "bias_relu", 0,
             s->item_extent[0] = 128);
    REJECTED("work items divide a row that is reduced", "row_epilogue", 0,
             s->item_extent[2] = 64);
    REJECTED("work items of tiles are not one tile wide", "transpose_add", 0,
             s->item_extent[s->inner] = 128);
    REJECTED("work items divide a tile", "transpose_add", 0,
             s->item_extent[0] = 24);
    check_nothing_is_alive();
}

/* -- Facts ----------------------------------------------------------------- */

Test(schedule_verify, facts_follow_from_operands)
{
    REJECTED("wrong uniformity of an inst", "softmax", 0,
             s->insts[1].varies = false);
    REJECTED("wrong level of an inst", "softmax", 0,
             s->insts[1].level = TGI_LEVEL_POINT);
    REJECTED("wrong side of its loop", "softmax", 0,
             s->insts[find_inst(s, TGI_INST_REDUCED)].is_after_loop =
                 !s->insts[find_inst(s, TGI_INST_REDUCED)].is_after_loop);
    check_nothing_is_alive();
}

/* -- Reductions ------------------------------------------------------------ */

Test(schedule_verify, reductions_keep_their_order)
{
    REJECTED("an order that matters is changed", "sum_rows", 0,
             p[0].accumulators.is_reassociated = true);
    REJECTED("an order that matters is changed", "softmax", 0,
             p[1].accumulators.is_reassociated = true);
    REJECTED("accumulators do not hold the lanes of the tree", "sum_rows", 0,
             p[0].accumulators.n_vectors = 1);
    REJECTED("accumulators do not hold the lanes of the tree", "softmax", 0,
             p[1].accumulators.n_vectors = 4);
    REJECTED("no loop over blocks", "sum_rows", 0, drop_loop(&p[0].nest, 0));
    REJECTED("no loop over blocks", "sum_rows", 0,
             p[0].nest.loops[0].step = 2048);
    REJECTED("no loop over blocks", "bias_relu", 1,
             p[0].nest.loops[0].step = 512);
    REJECTED("a loop is longer than a block", "layer_norm", 0,
             p[0].nest.loops[0].step = 8192);
    REJECTED("no loop over the lanes of the tree", "layer_norm", 0,
             drop_loop(&p[0].nest, 0));
    REJECTED("accumulators are not unrolled", "layer_norm", 0,
             (drop_loop(&p[0].nest, 1), p[0].nest.loops[2] =
                                            p[0].nest.loops[1],
              p[0].nest.loops[1] = p[0].nest.loops[0], p[0].nest.n = 3));
    REJECTED("unrolled accumulators on the stack", "layer_norm", 0,
             p[0].accumulators.storage = TGI_ON_STACK);
    REJECTED("accumulators of a reassociated reduction", "softmax", 0,
             p[0].accumulators.n_vectors = 2);
    REJECTED("unrolled vectors of a reassociated reduction", "softmax", 0,
             p[0].nest.loops[0].step *= 2);
    REJECTED("a reduction is missing", "softmax", 0, p[0].n_reductions = 0);
    REJECTED("a reduction is missing", "softmax", 0, p[0].reductions[0] = 1);
    REJECTED("two-stage reduction without blocks", "sum_rows", 0,
             s->split_block = 4096);
    check_nothing_is_alive();
}

Test(schedule_verify, columns_are_accumulated_in_order)
{
    REJECTED("accumulators of columns", "sum_columns", 0,
             p[0].accumulators.n_vectors = 2);
    REJECTED("wide columns divide a vector", "sum_columns", 0,
             s->wide_columns = 2064);
    REJECTED("wide columns exceed the stack", "sum_columns", 0,
             s->wide_columns = 1 << 20);
    REJECTED("wide columns in registers", "sum_columns", 0,
             p[0].accumulators.storage = TGI_IN_REGISTERS);
    REJECTED("wide columns do not take whole rows", "sum_columns", 0,
             p[0].nest.loops[2].kind = TGI_LOOP_SERIAL);
    REJECTED("reassociated columns on the stack", "max_columns", 0,
             (s->wide_columns = 128, s->item_extent[1] = 128));
    REJECTED("an order that matters is changed", "sum_columns", 0,
             p[0].accumulators.is_reassociated = true);
    REJECTED("wide columns of no rows", "sum_columns", 0,
             loops_of(&fu, s)->extent[s->inner] = 0);
    REJECTED("wide columns of rows", "softmax", 0, s->wide_columns = 64);
    check_nothing_is_alive();
}

/* -- Matmuls --------------------------------------------------------------- */

Test(schedule_verify, micro_kernels_cover_c)
{
    REJECTED("too many rows of a micro-kernel", "matmul", 1,
             (s->matmul.mr = p[0].accumulators.n_vectors = 33,
              p[0].nest.loops[0].step = 33));
    REJECTED("loops of a micro-kernel", "matmul", 1,
             p[0].nest.loops[0].step = 3);
    REJECTED("loops of a micro-kernel", "bias_relu", 1,
             p[0].nest.loops[2].kind = TGI_LOOP_UNROLL);
    REJECTED("accumulators of columns", "matmul", 1, s->matmul.mr = 3);
    REJECTED("a micro-kernel is not as wide as the vectors", "matmul", 1,
             s->matmul.nr = 8);
    REJECTED("work items divide a micro-kernel", "matmul", 1,
             s->matmul.item_rows = 66);
    REJECTED("axis of the rows", "row_epilogue", 0,
             s->matmul.row_axis = 0);
    REJECTED("C of a work item exceeds the stack", "matmul", 1,
             s->matmul.item_rows = s->item_extent[0] = 6 << 20);
    REJECTED("a row epilogue is missing", "row_epilogue", 0,
             (s->matmul.reduces_rows = false, s->item_extent[2] = 16));
    REJECTED("a column epilogue is missing", "row_epilogue", 0,
             s->matmul.reduces_columns = true);
    check_nothing_is_alive();
}

/* Kernel 3 of few_pixels is the product. */
Test(schedule_verify, matrices_of_a_work_item_share_b)
{
    REJECTED("B differs between matrices", "few_pixels", 3,
             loops_of(&fu, s)
                 ->accesses.data[s->matmul.b_access]
                 .stride[0]
                 .distance = 1);
    REJECTED("do not have the matrices that are emitted", "few_pixels", 3,
             s->matmul.item_matrices--);
    REJECTED("several points that nothing iterates over", "few_pixels", 3,
             s->matmul.item_matrices = 1);
    REJECTED("no loop runs along an axis", "few_pixels", 3,
             drop_loop(&p[0].nest, 1));
    REJECTED("C of a work item exceeds the stack", "few_pixels", 3,
             s->matmul.item_matrices = s->item_extent[0] = 1 << 18);
    check_nothing_is_alive();
}

Test(schedule_verify, panels_are_packed_before_they_are_read)
{
    REJECTED("packed panels are packed again", "matmul", 1,
             s->matmul.packs_b = true);
    REJECTED("B is transposed but not packed", "matmul", 1,
             s->matmul.transposes_b = true);
    REJECTED("panels of B that are not in memory", "row_epilogue", 0,
             s->matmul.n_panels = 2);
    REJECTED("reads past the end of B", "row_epilogue", 0,
             (s->matmul.calls_function = true,
              s->matmul.packs_masked_for_function = false,
              fu.loops->kernels.data[0]->extent[s->inner] = 257,
              p[0].nest.n = 5, p[0].nest.loops[4] = p[0].nest.loops[3],
              p[0].nest.loops[3] = p[0].nest.loops[2],
              p[0].nest.loops[2] = p[0].nest.loops[1],
              p[0].nest.loops[1] = p[0].nest.loops[0],
              p[0].nest.loops[0] = p[0].nest.loops[2],
              p[0].nest.loops[0].step = 256));
    REJECTED("an operand is missing", "matmul", 1,
             s->insts[s->loops->reductions.data[0].value].operands = 0);
    REJECTED("access of an operand", "matmul", 1, s->matmul.b_access = 99);
    REJECTED("load of an operand", "matmul", 1,
             s->matmul.b_access = s->matmul.a_access);
    REJECTED("a vector reads part of a panel", "matmul", 1,
             ((tgi_access *)s->loops->accesses.data)[s->matmul.b_access]
                 .panel_width = 24);
    REJECTED("a vector stores part of a panel", "matmul", 0,
             ((tgi_access *)s->loops->accesses
                  .data)[s->loops->stores.data[0].access]
                 .panel_width = 48);
    REJECTED("width of packed panels", "matmul", 0, s->pack_width = 8);
    REJECTED("packing transposes what is not contiguous", "matmul", 0,
             s->packs_transposed = true);
    check_nothing_is_alive();
}

/* -- Stages ---------------------------------------------------------------- */

Test(schedule_verify, tiles_are_loaded_before_they_are_read)
{
    REJECTED("a tile is read before it is loaded", "transpose_add", 0,
             s->tiles.uses[s->loops->insts.data[1].number] = TGI_IS_STORED);
    REJECTED("an access without a tile is redirected", "transpose_add", 0,
             s->tiles.uses[s->loops->insts.data[1].number] = 0);
    REJECTED("an access does not move along its tile", "transpose_add", 0,
             ((tgi_access *)s->loops->accesses.data)[s->loops->insts.data[1]
                                                         .number]
                 .offset = 1);
    REJECTED("a tile for an access that is not transposed", "transpose_add", 0,
             s->tiles.uses[s->loops->stores.data[0].access] = TGI_IS_STORED);
    REJECTED("accesses of missing tiles", "transpose_add", 0,
             s->tiles.rows = 0);
    REJECTED("axis of the rows of a tile", "transpose_add", 0,
             s->tiles.row_axis = 1);
    check_nothing_is_alive();
}

Test(schedule_verify, parts_read_what_is_computed)
{
    REJECTED("a part reads what a later one computes", "black_scholes", 0,
             s->insts[find_slot(s)].part = 1);
    REJECTED("a later part reads a value in no slot", "black_scholes", 0,
             s->insts[find_slot(s)].slot = 0);
    REJECTED("a slot is overwritten while its value is live", "black_scholes",
             0, s->insts[14].slot = s->insts[2].slot);
    REJECTED("a slot that does not exist", "black_scholes", 0,
             s->insts[find_slot(s)].slot = 9);
    REJECTED("a slot is too narrow", "black_scholes", 0,
             p[0].fission.slot_bytes = 4);
    REJECTED("a part that does not exist", "black_scholes", 0,
             p[0].fission.n_parts = 1;
             p[0].fission.strip = 0);
    REJECTED("strips of one part", "black_scholes", 0, p[0].fission.strip = 0);
    REJECTED("strips divide a vector", "black_scholes", 0,
             p[0].fission.strip = 100);
    REJECTED("slots exceed the stack", "black_scholes", 0,
             p[0].fission.strip = 1 << 20);
    REJECTED("half of a part is a function", "black_scholes", 0,
             s->insts[find_slot(s)].is_function = true);
    REJECTED("half of the last part is a function", "black_scholes", 0,
             p[0].fission.last_is_function = true);
    REJECTED("slots without fission", "softmax", 0, p[2].fission.n_slots = 1);
    REJECTED("fission of a reduction", "softmax", 0,
             (p[1].fission.n_parts = 1,
              vector_of(&p[1])->tail = TGI_TAIL_STACK));
    REJECTED("fission of a phase that is not elementwise", "straightline", 0,
             (p[0].fission.n_parts = 1, vector_of(p)->tail = TGI_TAIL_STACK));
    check_nothing_is_alive();
}

Test(schedule_verify, non_temporal_stores_are_whole_vectors)
{
    REJECTED("a non-temporal store that is not contiguous", "sum_rows", 0,
             s->non_temporal_stores[0] = p[0].is_non_temporal = true);
    REJECTED("a non-temporal store without a fence", "non_temporal", 0,
             p[0].is_non_temporal = false);
    REJECTED("a non-temporal store of a narrow vector", "non_temporal", 0,
             set_lanes(p, 2));
    REJECTED("a non-temporal phase without such stores", "chain", 0,
             (p[0].is_non_temporal = true, p[0].fission.n_parts = 0,
              vector_of(p)->tail = TGI_TAIL_MASK));
    REJECTED("fission of non-temporal stores", "black_scholes", 0,
             p[0].is_non_temporal = true);
    REJECTED("alignment to a store that is not contiguous", "chain", 0,
             p[0].aligned_store = 2);
    REJECTED("alignment of a loop that cannot be peeled", "black_scholes", 0,
             p[0].aligned_store = 1);
    check_nothing_is_alive();
}

/* The last kernel but one: the last stores the result in order. */
Test(schedule_verify, windows_are_columns_through_a_table)
{
    REJECTED("offsets of B are not looked up", "few_filters", 3,
             s->matmul.packs_b = true);
    REJECTED("offsets of B are not looked up", "few_filters", 3,
             s->matmul.calls_function = true);
    check_nothing_is_alive();
}

Test(schedule_verify, runs_are_contiguous_parts_of_k_blocks)
{
    REJECTED("runs without a table of offsets", "matmul", 1,
             s->matmul.a_run = 8);
    REJECTED("runs without a table of offsets", "few_pixels", 3,
             (s->matmul.a_run = 8, s->matmul.looks_ahead = true));
    REJECTED("runs that are not contiguous", "few_pixels", 3,
             loops_of(&fu, s)->offsets.data[0].stride[2].distance = 2);
    REJECTED("a k-block divides a run", "few_pixels", 3, s->matmul.a_run = 96);
    REJECTED("a k-block divides a run", "few_pixels", 3, s->matmul.a_run = 512);
    check_nothing_is_alive();
}

static void swap_loops(tgi_nest *nest, unsigned first)
{
    const tgi_nest_loop loop = nest->loops[first];
    nest->loops[first] = nest->loops[first + 1];
    nest->loops[first + 1] = loop;
}

/* Kernel 4 of many_pixels is the product. */
Test(schedule_verify, k_blocks_inside_of_rows_are_of_whole_matrices)
{
    REJECTED_FOR("avx512", "no k-blocks inside of the rows", "many_pixels", 4,
                 swap_loops(&p[0].nest, 0));
    REJECTED_FOR("avx512", "loops of a micro-kernel", "many_pixels", 4,
                 s->matmul.blocks_in_rows = false);
    REJECTED_FOR("avx512", "k-blocks inside of the rows without runs",
                 "many_pixels", 4, s->matmul.a_run = 0);
    REJECTED_FOR("avx512", "k-blocks inside of the rows are not packed",
                 "many_pixels", 4, s->matmul.packs_for_function = true);
    check_nothing_is_alive();
}

/* The first inst that is hoisted, or is not, of a kind. */
static uint32_t find_hoisted(const tgi_schedule *s, int kind, bool is_hoisted)
{
    uint32_t i = 1;
    while (s->loops->insts.data[i].kind != kind ||
           s->insts[i].is_hoisted != is_hoisted)
        i++;
    return i;
}

/* The first load of a column. */
static uint32_t find_varying_load(const tgi_schedule *s)
{
    uint32_t i = 1;
    while (s->loops->insts.data[i].kind != TGI_INST_LOAD || !s->insts[i].varies)
        i++;
    return i;
}

/* The access of the first load that is hoisted. */
static uint32_t hoisted_access(const tgi_schedule *s)
{
    return s->loops->insts.data[find_hoisted(s, TGI_INST_LOAD, true)].number;
}

Test(schedule_verify, hoisted_insts_do_not_depend_on_the_loop)
{
    REJECTED("an inst outside of a loop depends on its axis", "depthwise", 0,
             s->insts[find_hoisted(s, TGI_INST_LOAD, false)].is_hoisted = true);
    REJECTED("an inst is hoisted before its operand", "depthwise", 0,
             s->insts[find_hoisted(s, TGI_INST_OP, false)].is_hoisted = true);
    REJECTED("an inst is hoisted that is in no loop", "depthwise", 0,
             (drop_loop(&p[0].nest, 1), s->item_extent[s->inner - 1] = 1));
    REJECTED("a load is hoisted from a buffer that is stored to", "depthwise",
             0,
             loops_of(&fu, s)->accesses.data[hoisted_access(s)].buffer =
                 s->loops->accesses.data[s->loops->stores.data[0].access]
                     .buffer);
    REJECTED("interchange of the inner axis", "depthwise", 0,
             (p[0].nest.loops[1].axis = (uint8_t)s->inner,
              s->item_extent[s->inner - 1] = 1, set_lanes(p, 1)));
    REJECTED("interchange of a kernel that is not elementwise",
             "straightline", 0,
             (p[0].nest.loops[p[0].nest.n] =
                  (tgi_nest_loop){.kind = TGI_LOOP_SERIAL, .step = 1},
              p[0].nest.n++));
    REJECTED("interchange of a loop that is split or peeled", "depthwise", 0,
             p[0].aligned_store = 1);
    REJECTED("an inst outside of a loop depends on its axis", "scatter_rows",
             2, s->insts[find_varying_load(s)].is_hoisted = true);
    check_nothing_is_alive();
}

static void set_carried(fused *fu, const tgi_schedule *s)
{
    loops_of(fu, s)->insts.data[find_inst(s, TGI_INST_OP)].kind =
        TGI_INST_CARRIED;
}

Test(schedule_verify, row_order_keeps_nothing_from_row_to_row)
{
    REJECTED("row order of a kernel that packs, checks or has phases",
             "scatter_rows", 2, s->pack_width = 16);
    REJECTED("row order of carried values without memory", "scatter_rows", 2,
             set_carried(&fu, s));
    REJECTED("row order of carried values without memory", "scan_rows", 0,
             s->wide_columns = 0);
    REJECTED("wide columns divide a vector", "scan_rows", 0,
             s->wide_columns = 48);
    REJECTED("wide columns exceed the stack", "scan_rows", 0,
             s->wide_columns = 1 << 20);
    REJECTED("row order of several rows", "scan_rows", 0,
             (p[0].nest.loops[0].step = 4, p[0].nest.n = 3,
              p[0].nest.loops[2] =
                  (tgi_nest_loop){.kind = TGI_LOOP_UNROLL,
                                  .axis = (uint8_t)s->inner,
                                  .step = 1}));
    REJECTED("row order of a store per column", "scatter_rows", 2,
             loops_of(&fu, s)->stores.data[0].level = TGI_LEVEL_POINT);
    REJECTED("unrolled rows not a power of two", "scatter_elements", 2,
             p[0].nest.loops[1].step = 3);
    check_nothing_is_alive();
}

Test(schedule_verify, string_stores_are_of_equal_bytes)
{
    REJECTED("string stores of elements whose bytes differ", "scatter_rows", 1,
             (p[0].string_store_bytes = 1,
              loops_of(&fu, s)->insts.data[1].bits = 0x3f800000));
    REJECTED("string stores of elements whose bytes differ", "chain", 0,
             p[0].string_store_bytes = 1);
    REJECTED("string stores of a loop that does more", "scatter_rows", 1,
             (p[0].string_store_bytes = 1, p[0].fission.n_parts = 1,
              vector_of(p)->tail = TGI_TAIL_STACK));
    check_nothing_is_alive();
}
