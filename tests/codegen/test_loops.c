/* SPDX-License-Identifier: MIT */
/*
 * test_loops.c - the verifier of the loop IR: it accepts what loops.h allows
 * and names what it rejects.
 */
#include "support/loops_building.h"
#include "support/support.h"

enum { ROWS = 4, COLUMNS = 10 };

/* Indices into the lists that right_loops() creates. */
enum { X, INDICES, Y, SUMS };        /* buffers */
enum { LOAD = 1, INDEX_LOAD, INDEX, IN_RANGE, PICKED, SUM, DOUBLED, SCALED };
enum { X_ACCESS, INDEX_ACCESS, PICKED_ACCESS, Y_ACCESS, SUM_ACCESS };

/* Two phases that use everything the verifier checks: selected elements of a
   row are summed, then scaled by twice the sum. */
static tgi_loops *right_loops(void)
{
    static const tgi_dim extent[] = {ROWS, COLUMNS};
    tgi_loops *loops = new_loops("right");
    add_buffer(loops, TG_F32, ROWS * COLUMNS);
    add_buffer(loops, TG_I32, COLUMNS);
    add_buffer(loops, TG_F32, ROWS * COLUMNS);
    add_buffer(loops, TG_F32, ROWS);
    tgi_kernel_loops *k = add_kernel(loops, "k", TGI_ROWS, 1, extent);
    k->n_phases = 2;
    cr_assert_eq(add_access(k, X, 0, (int64_t[]){COLUMNS, 1}), X_ACCESS);
    cr_assert_eq(add_access(k, INDICES, 0, (int64_t[]){0, 1}), INDEX_ACCESS);
    cr_assert_eq(add_access(k, X, 0, (int64_t[]){COLUMNS, 0}), PICKED_ACCESS);
    cr_assert_eq(add_access(k, Y, 0, (int64_t[]){COLUMNS, 1}), Y_ACCESS);
    cr_assert_eq(add_access(k, SUMS, 0, (int64_t[]){1, 0}), SUM_ACCESS);

    cr_assert_eq(add_load(loops, k, 1, X_ACCESS), LOAD);
    cr_assert_eq(add_load(loops, k, 0, INDEX_ACCESS), INDEX_LOAD);
    cr_assert_eq(add_index(k, TGI_INST_INDEX, INDEX_LOAD, COLUMNS), INDEX);
    cr_assert_eq(add_index(k, TGI_INST_IN_RANGE, INDEX_LOAD, COLUMNS),
                 IN_RANGE);
    k->accesses.data[PICKED_ACCESS].index = INDEX;
    k->accesses.data[PICKED_ACCESS].index_stride = (tgi_stride){1, false};
    cr_assert_eq(add_load(loops, k, 0, PICKED_ACCESS), PICKED);
    cr_assert_eq(add_reduction(k, 0, TGI_OP_SUM, PICKED, 0), SUM);
    cr_assert_eq(add_op(k, 1, TGI_OP_ADD, SUM, SUM, 0), DOUBLED);
    cr_assert_eq(add_op(k, 1, TGI_OP_MUL, LOAD, DOUBLED, 0), SCALED);
    add_store(k, 1, SCALED, Y_ACCESS, TGI_LEVEL_INNER);
    add_store(k, 0, SUM, SUM_ACCESS, TGI_LEVEL_POINT);
    ADD(&k->checks, (tgi_loop_check){.value = IN_RANGE,
                                     .position = INDEX,
                                     .index = INDEX_LOAD});
    ADD(&loops->runtime_checks,
        (tgi_runtime_check){.buffer = tgi_buffer_id_from(INDICES)});
    add_step(loops, TGI_STEP_BARRIER, 0);
    add_step(loops, TGI_STEP_RETURN_IF_FAILED, 0);
    return loops;
}

static tgi_kernel_loops *kernel_of(tgi_loops *loops)
{
    return loops->kernels.data[0];
}

static tgi_inst *inst_of(tgi_loops *loops, int number)
{
    return &kernel_of(loops)->insts.data[number];
}

static tgi_access *access_of(tgi_loops *loops, int number)
{
    return &kernel_of(loops)->accesses.data[number];
}

static tgi_loop_store *store_of(tgi_loops *loops, int number)
{
    return &kernel_of(loops)->stores.data[number];
}

Test(loops, right_ones_are_accepted)
{
    tgi_loops *loops = right_loops();
    cr_assert_eq(tgi_loops_verify(loops), TG_OK, "%s", tg_error(NULL));
    tgi_loops_destroy(loops);
    check_nothing_is_alive();
}

/* Applies a statement to valid loops; the verifier must reject them. */
/* The loops that `make` creates are valid before the statement. */
#define REFUSED_OF(make, message, statement) \
    do { \
        tgi_loops *l = make(); \
        cr_expect_eq(tgi_loops_verify(l), TG_OK, "%s", tg_error(NULL)); \
        statement; \
        cr_expect_eq(tgi_loops_verify(l), TG_ERROR_INTERNAL, "%s", message); \
        cr_expect_not_null(strstr(tg_error(NULL), message), \
                           "\"%s\" for \"%s\"", tg_error(NULL), message); \
        tgi_loops_destroy(l); \
        tg_error_clear(); \
    } while (0)

#define REFUSED(message, statement) \
    REFUSED_OF(right_loops, message, statement)

Test(loops, wrong_kernels_are_refused)
{
    REFUSED("no phases", kernel_of(l)->n_phases = 0);
    REFUSED("too many axes", kernel_of(l)->n_outer = TGI_LOOP_AXES);
    REFUSED("COLUMNS kernel without outer axes",
            (kernel_of(l)->vectors = TGI_COLUMNS, kernel_of(l)->n_outer = 0));
    REFUSED("undefined extent", kernel_of(l)->extent[0] = -77);
    REFUSED("undefined buffer size", l->buffers.data[X].count = -77);
    REFUSED("step operand out of range",
            l->steps.data[0].kernel = tgi_kernel_id_from(1));
    REFUSED("step operand out of range", l->steps.data[0].kind = TGI_STEP_HOST);
    check_nothing_is_alive();
}

/* Then a switch of two cases without kernels, and an empty loop. */
static tgi_loops *loops_with_control(void)
{
    static const int kinds[] = {TGI_STEP_SWITCH,  TGI_STEP_CASE,
                                TGI_STEP_BARRIER, TGI_STEP_CASE,
                                TGI_STEP_BARRIER, TGI_STEP_SWITCH_END,
                                TGI_STEP_LOOP,    TGI_STEP_BARRIER,
                                TGI_STEP_LOOP_END};
    tgi_loops *loops = right_loops();
    const tgi_buffer_id operand = tgi_buffer_id_from(INDICES);
    for (uint32_t n_cases = 0; n_cases <= 2; n_cases += 2)
        ADD(&loops->controls, (tgi_control_flow){.n_cases = n_cases,
                                                 .operand = operand,
                                                 .base = operand});
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const bool is_loop = kinds[i] < TGI_STEP_SWITCH;
        add_step(loops, kinds[i], 0);
        loops->steps.data[loops->steps.n - 1].control =
            tgi_control_id_from(!is_loop);
    }
    return loops;
}

/* Deletes the barrier that is this many steps before the last one. */
static void delete_barrier(tgi_loops *loops, size_t from_end)
{
    const size_t n = loops->steps.n;
    tgi_loop_step *step = &loops->steps.data[n - 1 - from_end];
    cr_assert_eq(step->kind, TGI_STEP_BARRIER);
    memmove(step, step + 1, from_end * sizeof(*step));
    loops->steps.n--;
}

Test(loops, cases_and_iterations_end_with_a_barrier)
{
    static const char message[] =
        "no barrier at the end of a case or iteration";
    REFUSED_OF(loops_with_control, message, delete_barrier(l, 1));
    REFUSED_OF(loops_with_control, message, delete_barrier(l, 4));
    REFUSED_OF(loops_with_control, message, delete_barrier(l, 6));
    check_nothing_is_alive();
}

Test(loops, wrong_accesses_are_refused)
{
    REFUSED("buffer out of range",
            access_of(l, X_ACCESS)->buffer = tgi_buffer_id_from(4));
    REFUSED("undefined offset", access_of(l, X_ACCESS)->offset = -77);
    REFUSED("undefined stride",
            access_of(l, X_ACCESS)->stride[0].distance = -77);
    REFUSED("a missing axis",
            access_of(l, X_ACCESS)->stride[2].distance = 1);
    REFUSED("index out of range", access_of(l, X_ACCESS)->index = 99);
    REFUSED("index is not i64", access_of(l, PICKED_ACCESS)->index = IN_RANGE);
    REFUSED("shift out of range", access_of(l, X_ACCESS)->shift = 99);
    REFUSED("shift is not a kernel-invariant i64",
            access_of(l, PICKED_ACCESS)->shift = INDEX);
    REFUSED("undefined index stride",
            access_of(l, PICKED_ACCESS)->index_stride.distance = -77);
    check_nothing_is_alive();
}

Test(loops, wrong_insts_are_refused)
{
    REFUSED("inst phase out of range", inst_of(l, LOAD)->phase = 2);
    REFUSED("unknown inst kind", inst_of(l, LOAD)->kind = 99);
    REFUSED("operand after its user", inst_of(l, SCALED)->operands[0] = SCALED);
    REFUSED("operand out of range", inst_of(l, SCALED)->operands[0] = 0);
    REFUSED("operand at a deeper level",
            inst_of(l, SCALED)->level = TGI_LEVEL_POINT);
    REFUSED("operand in another phase", inst_of(l, LOAD)->phase = 0);
    REFUSED("operand in a later phase", (inst_of(l, SUM)->phase = 1,
                                         inst_of(l, DOUBLED)->phase = 0));
    REFUSED("access out of range", inst_of(l, LOAD)->number = 9);
    REFUSED("index or shift after its user",
            access_of(l, X_ACCESS)->index = INDEX);
    REFUSED("load above its loop level",
            inst_of(l, INDEX_LOAD)->level = TGI_LEVEL_POINT);
    REFUSED("operand at a deeper level",
            inst_of(l, PICKED)->level = TGI_LEVEL_POINT);
    REFUSED("load dtype mismatch", inst_of(l, LOAD)->dtype = TG_I32);
    REFUSED("reduction out of range", inst_of(l, SUM)->number = 1);
    REFUSED("reduced above level POINT",
            inst_of(l, SUM)->level = TGI_LEVEL_KERNEL);
    REFUSED("reduced before its phase",
            kernel_of(l)->reductions.data[0].phase = 1);
    REFUSED("not an elementwise op", inst_of(l, SCALED)->op = TGI_OP_SUM);
    REFUSED("number of operands", inst_of(l, SCALED)->n_operands = 1);
    REFUSED("operand dtype mismatch", inst_of(l, SCALED)->type = TG_F64);
    REFUSED("undefined extent", inst_of(l, INDEX)->dim = -77);
    check_nothing_is_alive();
}

Test(loops, wrong_uses_of_values_are_refused)
{
    REFUSED("reduction phase out of range",
            add_reduction(kernel_of(l), 1, TGI_OP_SUM, SCALED, 0);
            kernel_of(l)->reductions.data[1].phase = 2;
            kernel_of(l)->insts.n--);
    REFUSED("operand out of range",
            kernel_of(l)->reductions.data[0].value = 99);
    REFUSED("operand out of range",
            kernel_of(l)->reductions.data[0].other = 99);
    REFUSED("reduction without an inner axis", kernel_of(l)->has_inner = false);
    REFUSED("not a reduction",
            kernel_of(l)->reductions.data[0].op = TGI_OP_ADD);
    REFUSED("reduction dtype mismatch",
            kernel_of(l)->reductions.data[0].dtype = TG_F64);
    REFUSED("store phase out of range", store_of(l, 0)->phase = 2);
    REFUSED("store access out of range", store_of(l, 0)->access = 9);
    REFUSED("operand out of range", store_of(l, 0)->value = 0);
    REFUSED("operand in another phase", store_of(l, 0)->phase = 0);
    REFUSED("store dtype mismatch", store_of(l, 0)->access = INDEX_ACCESS);
    REFUSED("scatter outside a COLUMNS kernel",
            (store_of(l, 0)->access = PICKED_ACCESS,
             store_of(l, 0)->value = SCALED));
    REFUSED("store above its loop level", store_of(l, 1)->access = Y_ACCESS);
    REFUSED("store to a constant",
            l->buffers.data[Y].place = TGI_PLACE_CONSTANT);
    REFUSED("operand out of range", kernel_of(l)->checks.data[0].value = 99);
    REFUSED("operand out of range", kernel_of(l)->checks.data[0].position = 0);
    REFUSED("operand out of range", kernel_of(l)->checks.data[0].index = 0);
    REFUSED("check index is not an integer",
            kernel_of(l)->checks.data[0].index = IN_RANGE);
    REFUSED("check phase out of range", kernel_of(l)->checks.data[0].phase = 2);
    REFUSED("run-time check out of range",
            kernel_of(l)->checks.data[0].number = 1);
    REFUSED("check is not bool", kernel_of(l)->checks.data[0].value = INDEX);
    REFUSED("check position is not i64",
            kernel_of(l)->checks.data[0].position = IN_RANGE);
    check_nothing_is_alive();
}

Test(loops, lanes_of_one_phase_are_of_one_width)
{
    tgi_loops *loops = right_loops();
    tgi_kernel_loops *k = kernel_of(loops);
    const uint32_t wide = add_cast(k, 0, PICKED, TG_F64);
    add_reduction(k, 0, TGI_OP_SUM, wide, 0);
    cr_assert_eq(tgi_loops_verify(loops), TG_ERROR_INTERNAL);
    cr_assert_not_null(strstr(tg_error(NULL), "lane counts differ"));
    tgi_loops_destroy(loops);
    check_nothing_is_alive();
}

Test(loops, columns_are_reduced_in_the_first_phase_alone)
{
    tgi_loops *loops = right_loops();
    tgi_kernel_loops *k = kernel_of(loops);
    add_reduction(k, 1, TGI_OP_SUM, SCALED, 0);
    cr_assert_eq(tgi_loops_verify(loops), TG_OK, "%s", tg_error(NULL));
    k->vectors = TGI_COLUMNS;
    cr_assert_eq(tgi_loops_verify(loops), TG_ERROR_INTERNAL);
    cr_assert_not_null(strstr(tg_error(NULL), "in a later phase"));
    tgi_loops_destroy(loops);
    check_nothing_is_alive();
}

/* -- Reduction epilogues --------------------------------------------------- */

enum { INNER = 7, RESULT_STORE = 0, ROW_EPILOGUE, COLUMN_EPILOGUE };

/* A stored matrix product with sums of its rows and columns. */
static tgi_loops *valid_epilogues(void)
{
    static const tgi_dim extent[] = {ROWS, COLUMNS, INNER};
    tgi_loops *loops = new_loops("right");
    add_buffer(loops, TG_F32, ROWS * INNER);
    add_buffer(loops, TG_F32, INNER * COLUMNS);
    add_buffer(loops, TG_F32, ROWS * COLUMNS);
    add_buffer(loops, TG_F32, ROWS);
    add_buffer(loops, TG_F32, COLUMNS);
    tgi_kernel_loops *k = add_kernel(loops, "k", TGI_COLUMNS, 2, extent);
    add_access(k, 0, 0, (int64_t[]){INNER, 0, 1});
    add_access(k, 1, 0, (int64_t[]){0, 1, COLUMNS});
    add_access(k, 2, 0, (int64_t[]){COLUMNS, 1, 0});
    add_access(k, 3, 0, (int64_t[]){1, 0, 0});
    add_access(k, 4, 0, (int64_t[]){0, 1, 0});
    const uint32_t a = add_load(loops, k, 0, 0), b = add_load(loops, k, 0, 1);
    const uint32_t c = add_reduction(k, 0, TGI_OP_MATMUL, a, b);
    for (uint32_t access = 2; access < 5; access++)
        add_store(k, 0, c, access, TGI_LEVEL_POINT);
    k->stores.data[ROW_EPILOGUE].epilogue_op = TGI_OP_SUM;
    k->stores.data[ROW_EPILOGUE].along_rows = true;
    k->stores.data[COLUMN_EPILOGUE].epilogue_op = TGI_OP_REDUCE_MAX;
    return loops;
}

#define REFUSED_EPILOGUE(message, statement) \
    REFUSED_OF(valid_epilogues, message, statement)

Test(loops, wrong_epilogues_are_refused)
{
    REFUSED_EPILOGUE("epilogue op is not a reduction",
                     store_of(l, ROW_EPILOGUE)->epilogue_op = TGI_OP_ARGMAX);
    REFUSED_EPILOGUE("epilogue outside a matmul",
                     kernel_of(l)->reductions.data[0].op = TGI_OP_SUM);
    REFUSED_EPILOGUE("epilogue outside a matmul",
                     kernel_of(l)->reductions.data[0].is_split = true);
    REFUSED_EPILOGUE("epilogue outside a matmul",
                     kernel_of(l)->is_straightline = true);
    REFUSED_EPILOGUE("epilogue outside a matmul",
                     kernel_of(l)->vectors = TGI_ROWS);
    REFUSED_EPILOGUE("epilogue not at level POINT",
                     store_of(l, ROW_EPILOGUE)->level = TGI_LEVEL_INNER);
    REFUSED_EPILOGUE("epilogue moves along its axis",
                     store_of(l, ROW_EPILOGUE)->along_rows = false);
    REFUSED_EPILOGUE("epilogue moves along its axis",
                     store_of(l, COLUMN_EPILOGUE)->along_rows = true);
    REFUSED_EPILOGUE("epilogue moves along its axis",
                     store_of(l, RESULT_STORE)->epilogue_op = TGI_OP_SUM);
    REFUSED_EPILOGUE("epilogue of several blocks",
                     kernel_of(l)->extent[0] = 257);
    REFUSED_EPILOGUE("epilogue of several blocks",
                     kernel_of(l)->extent[1] = 4097);
    REFUSED_EPILOGUE("epilogue of several blocks", kernel_of(l)->extent[0] = 0);
    check_nothing_is_alive();
}

Test(loops, epilogues_have_their_own_lines)
{
    tgi_loops *loops = valid_epilogues();
    tgi_strbuf text = {0};
    tgi_loops_print(loops, 0, &text);
    cr_assert_not_null(strstr(text.text, "= sum along rows of %3"));
    cr_assert_not_null(strstr(text.text, "= reduce_max along columns of %3"));
    tgi_strbuf_deinit(&text);
    tgi_loops_destroy(loops);
    check_nothing_is_alive();
}

/* -- Straight-line kernels ------------------------------------------------- */

/* `right_loops` has a check and an index, which straight-line kernels cannot
   have. */
static tgi_loops *valid_straightline_loops(void)
{
    static const tgi_dim extent[] = {ROWS, COLUMNS};
    tgi_loops *loops = new_loops("right");
    add_buffer(loops, TG_F32, ROWS * COLUMNS);
    add_buffer(loops, TG_F32, ROWS * COLUMNS);
    loops->buffers.data[1].place = TGI_PLACE_SSA;
    for (int i = 0; i < 2; i++) {
        tgi_kernel_loops *k =
            add_kernel(loops, i ? "second" : "first", TGI_ROWS, 1, extent);
        k->is_straightline = true;
        add_access(k, (uint32_t)i, 0, (int64_t[]){COLUMNS, 1});
        add_access(k, (uint32_t)!i, 0, (int64_t[]){COLUMNS, 1});
        add_store(k, 0, add_load(loops, k, 0, 0), 1, TGI_LEVEL_INNER);
    }
    return loops;
}

#define REFUSED_STRAIGHTLINE(message, statement) \
    REFUSED_OF(valid_straightline_loops, message, statement)

Test(loops, ssa_buffers_belong_to_one_straightline_group)
{
    REFUSED("straight-line kernel with a check",
            kernel_of(l)->is_straightline = true);
    REFUSED("straight-line kernel with split blocks",
            (kernel_of(l)->is_straightline = true, kernel_of(l)->checks.n = 0,
             kernel_of(l)->reductions.data[0].is_split = true));
    REFUSED("straight-line kernel of several blocks",
            (kernel_of(l)->is_straightline = true, kernel_of(l)->checks.n = 0,
             kernel_of(l)->extent[1] = 257));
    REFUSED_STRAIGHTLINE("too many SSA elements",
                         l->buffers.data[1].count = TGI_MAX_SSA_ELEMENTS + 1);
    REFUSED_STRAIGHTLINE("SSA values outside straight-line code",
                         l->kernels.data[1]->is_straightline = false);
    REFUSED_STRAIGHTLINE("SSA values in two groups",
                         (add_step(l, TGI_STEP_BARRIER, 0),
                          l->steps.data[2] = l->steps.data[1],
                          l->steps.data[1].kind = TGI_STEP_BARRIER));
    check_nothing_is_alive();
}

/* -- Offset tables --------------------------------------------------------- */

enum { IMAGE, FILTERS, PRODUCT, TABLE }; /* buffers */

/* A product of windows of 2 x 3 elements and 10 filters, at 4 points; the table
   is computed. */
static tgi_loops *loops_with_offsets(void)
{
    static const tgi_dim extent[] = {ROWS, COLUMNS, 6};
    tgi_loops *loops = new_loops("windows");
    add_buffer(loops, TG_F32, 100);
    add_buffer(loops, TG_F32, 6 * COLUMNS);
    add_buffer(loops, TG_F32, ROWS * COLUMNS);
    add_buffer(loops, TG_I64, 6);
    loops->buffers.data[TABLE].place = TGI_PLACE_SCRATCH;
    tgi_kernel_loops *k = add_kernel(loops, "k", TGI_COLUMNS, 2, extent);
    ADD(&k->offsets, (tgi_offset_table){.n_axes = 2,
                                        .extent = {2, 3},
                                        .stride = {{20, false}, {1, false}},
                                        .memory = tgi_buffer_id_from(TABLE)});
    const uint32_t image = add_access(k, IMAGE, 0, (int64_t[]){1, 0, 0});
    const uint32_t filters = add_access(k, FILTERS, 0,
                                        (int64_t[]){0, 1, COLUMNS});
    const uint32_t out = add_access(k, PRODUCT, 0, (int64_t[]){COLUMNS, 1, 0});
    ADD(&k->insts, (tgi_inst){.kind = TGI_INST_OFFSET,
                              .dtype = TG_I64,
                              .level = TGI_LEVEL_INNER});
    const uint32_t offset = (uint32_t)k->insts.n - 1;
    k->accesses.data[image].index = offset;
    k->accesses.data[image].index_stride = (tgi_stride){1, false};
    const uint32_t a = add_load(loops, k, 0, image);
    const uint32_t b = add_load(loops, k, 0, filters);
    const uint32_t sum = add_reduction(k, 0, TGI_OP_MATMUL, a, b);
    add_store(k, 0, sum, out, TGI_LEVEL_POINT);
    add_step(loops, TGI_STEP_BARRIER, 0);
    return loops;
}

#define OFFSETS_REFUSED(message, statement) \
    REFUSED_OF(loops_with_offsets, message, \
               tgi_offset_table *table = &kernel_of(l)->offsets.data[0]; \
               (void)table; statement)

Test(loops, wrong_offset_tables_are_refused)
{
    OFFSETS_REFUSED("offset table out of range", inst_of(l, 1)->number = 1);
    OFFSETS_REFUSED("offset is not an i64 of level INNER",
                    inst_of(l, 1)->level = TGI_LEVEL_POINT);
    OFFSETS_REFUSED("number of axes of an offset table", table->n_axes = 1);
    OFFSETS_REFUSED("undefined axis of an offset table",
                    table->extent[1] = -77);
    OFFSETS_REFUSED("undefined axis of an offset table",
                    table->stride[0].distance = -77);
    OFFSETS_REFUSED("an offset table does not cover the inner axis",
                    table->extent[0] = 3);
    OFFSETS_REFUSED("buffer out of range",
                    table->memory = tgi_buffer_id_from(9));
    OFFSETS_REFUSED("memory of an offset table",
                    table->memory = tgi_buffer_id_from(IMAGE));
    OFFSETS_REFUSED("memory of an offset table",
                    l->buffers.data[TABLE].count = 5);
    OFFSETS_REFUSED("memory of an offset table",
                    l->buffers.data[TABLE].dtype = TG_F64);
    OFFSETS_REFUSED("offsets outside a COLUMNS kernel",
                    kernel_of(l)->vectors = TGI_ROWS);
    /* A constant table must be known, and small. */
    OFFSETS_REFUSED("a constant offset table is not known",
                    table->memory = (tgi_buffer_id){0};
                    table->extent[0] = kernel_of(l)->extent[2] = 5000;
                    table->extent[1] = 1);
    check_nothing_is_alive();
}
