/* SPDX-License-Identifier: MIT */
/*
 * test_code_key.c - the key of the code caches: a change of anything that the
 * code generator reads changes the key, member by member; names and source
 * locations do not, unless the code has debug information.
 */
#include "cache/code.h"

#include "support/fusing.h"

/* -- Keys ------------------------------------------------------------------ */

static tgi_strbuf key_of(const tgi_loops *loops,
                         const tgi_codegen_options *options)
{
    tgi_strbuf key = {0};
    tgi_code_key(loops, options, &key);
    cr_assert_not(key.failed);
    return key;
}

static bool is_equal(const tgi_strbuf *a, const tgi_strbuf *b)
{
    return a->n == b->n && memcmp(a->text, b->text, a->n) == 0;
}

/* Loops, and their original key. */
typedef struct subject {
    fused fu;
    tgi_strbuf key;
    int n_changes;
} subject;

static const tgi_codegen_options no_options;

static bool has_other_key(const subject *s)
{
    tgi_strbuf key = key_of(s->fu.loops, &no_options);
    const bool is_other = !is_equal(&key, &s->key);
    tgi_strbuf_deinit(&key);
    return is_other;
}

/* Changes a member (to or from 0), checks that the key changes, and restores
   it. */
#define check_change(s, member, counts) \
    do { \
        const __typeof__(member) saved = (member); \
        (member) = (__typeof__(member))!saved; \
        cr_assert_eq(has_other_key(s), counts, "%s of %s", #member, \
                     (s)->fu.loops->name); \
        (member) = saved; \
        (s)->n_changes++; \
    } while (0)

#define check_counts(s, member) check_change(s, member, true)
#define check_counts_not(s, member) check_change(s, member, false)

/* Changes the last element of a list. */
#define check_length(s, list) \
    do { \
        if ((list).n > 1) { \
            (list).n--; \
            cr_assert(has_other_key(s), "%s", #list); \
            (list).n++; \
        } \
    } while (0)

/* -- Every member ---------------------------------------------------------- */

static void change_stride(subject *s, tgi_stride *stride)
{
    check_counts(s, stride->distance);
    check_counts(s, stride->is_negative);
}

static void change_inst(subject *s, tgi_inst *inst)
{
    check_counts(s, inst->kind);
    check_counts(s, inst->op);
    check_counts(s, inst->dtype);
    check_counts(s, inst->type);
    check_counts(s, inst->level);
    check_counts(s, inst->phase);
    check_counts(s, inst->n_operands);
    for (int i = 0; i < inst->n_operands; i++)
        check_counts(s, inst->operands[i]);
    switch ((tgi_inst_kind)inst->kind) {
    case TGI_INST_CONSTANT:
        check_counts(s, inst->bits);
        inst->bits ^= UINT64_C(1) << 63;
        cr_assert(has_other_key(s));
        inst->bits ^= UINT64_C(1) << 63;
        break;
    case TGI_INST_EXTENT:
    case TGI_INST_INDEX:
    case TGI_INST_IN_RANGE:
        check_counts(s, inst->dim);
        break;
    case TGI_INST_CARRIED:
        check_counts(s, inst->bits);
        check_counts(s, inst->number);
        break;
    case TGI_INST_POSITION:
    case TGI_INST_LOAD:
    case TGI_INST_OFFSET:
    case TGI_INST_REDUCED:
        check_counts(s, inst->number);
        break;
    case TGI_INST_OP:
    case TGI_INST_CAST:
    case TGI_INST_RANDOM:
        break;
    }
    check_counts_not(s, inst->node);
}

static void change_accesses(subject *s, tgi_kernel_loops *k)
{
    for (size_t i = 0; i < k->accesses.n; i++) {
        tgi_access *access = &k->accesses.data[i];
        check_counts(s, access->buffer.raw);
        check_counts(s, access->offset);
        for (int axis = 0; axis <= k->n_outer; axis++)
            change_stride(s, &access->stride[axis]);
        check_counts(s, access->index);
        if (access->index)
            change_stride(s, &access->index_stride);
        check_counts(s, access->shift);
    }
}

static void change_offsets(subject *s, tgi_kernel_loops *k)
{
    for (size_t i = 0; i < k->offsets.n; i++) {
        tgi_offset_table *table = &k->offsets.data[i];
        check_counts(s, table->n_axes);
        check_counts(s, table->memory.raw);
        for (int axis = 0; axis < table->n_axes; axis++) {
            check_counts(s, table->extent[axis]);
            change_stride(s, &table->stride[axis]);
        }
    }
}

static void change_uses(subject *s, tgi_kernel_loops *k)
{
    for (size_t i = 0; i < k->stores.n; i++) {
        check_counts(s, k->stores.data[i].value);
        check_counts(s, k->stores.data[i].access);
        check_counts(s, k->stores.data[i].phase);
        check_counts(s, k->stores.data[i].level);
        check_counts(s, k->stores.data[i].epilogue_op);
        check_counts(s, k->stores.data[i].along_rows);
    }
    for (size_t i = 0; i < k->reductions.n; i++) {
        tgi_reduction *reduction = &k->reductions.data[i];
        check_counts(s, reduction->op);
        check_counts(s, reduction->dtype);
        check_counts(s, reduction->phase);
        check_counts(s, reduction->is_split);
        check_counts(s, reduction->combines_blocks);
        check_counts(s, reduction->value);
        check_counts(s, reduction->other);
    }
    for (size_t i = 0; i < k->checks.n; i++) {
        check_counts(s, k->checks.data[i].value);
        check_counts(s, k->checks.data[i].position);
        check_counts(s, k->checks.data[i].index);
        check_counts(s, k->checks.data[i].number);
        check_counts(s, k->checks.data[i].phase);
    }
}

static void change_kernel(subject *s, tgi_kernel_loops *k)
{
    check_counts(s, k->vectors);
    check_counts(s, k->has_inner);
    check_counts(s, k->is_straightline);
    check_counts(s, k->n_phases);
    check_counts(s, k->n_outer);
    for (int axis = 0; axis <= k->n_outer; axis++)
        check_counts(s, k->extent[axis]);
    for (size_t i = 1; i < k->insts.n; i++)
        change_inst(s, &k->insts.data[i]);
    change_accesses(s, k);
    change_offsets(s, k);
    change_uses(s, k);
    check_length(s, k->insts);
    check_length(s, k->accesses);
    check_length(s, k->offsets);
    check_length(s, k->stores);
    check_length(s, k->reductions);
    check_length(s, k->checks);
    const char *name = k->name;
    k->name = "another";
    cr_assert_not(has_other_key(s));
    k->name = name;
}

static void change_buffers(subject *s)
{
    for (size_t i = 0; i < s->fu.loops->buffers.n; i++) {
        tgi_loop_buffer *buffer = &s->fu.loops->buffers.data[i];
        check_counts(s, buffer->place);
        check_counts(s, buffer->dtype);
        check_counts(s, buffer->index);
        check_counts(s, buffer->count);
        check_counts(s, buffer->is_used);
        check_counts(s, buffer->first_epoch);
        check_counts(s, buffer->last_epoch);
        check_counts_not(s, buffer->node);
    }
}

static void change_control(subject *s, tgi_control_flow *control)
{
    check_counts(s, control->n_cases);
    check_counts(s, control->operand.raw);
    check_counts(s, control->counter.raw);
    check_counts(s, control->has_test);
    check_counts(s, control->test.raw);
    check_counts(s, control->is_limited);
    check_counts(s, control->limit_check);
    check_counts(s, control->stack_set.raw);
    check_counts(s, control->memory_check);
    check_counts(s, control->is_straightline);
    for (uint32_t i = 0; i < control->n_carried; i++) {
        check_counts(s, control->carried[i].raw);
        check_counts(s, control->next[i].raw);
    }
    for (uint32_t i = 0; i < control->n_moved; i++) {
        check_counts(s, control->from[i].raw);
        check_counts(s, control->to[i].raw);
    }
    check_counts_not(s, control->node);
}

static void change_loops(subject *s)
{
    tgi_loops *loops = s->fu.loops;
    change_buffers(s);
    for (size_t i = 0; i < loops->kernels.n; i++)
        change_kernel(s, loops->kernels.data[i]);
    for (size_t i = 0; i < loops->steps.n; i++) {
        check_counts(s, loops->steps.data[i].kind);
        check_counts(s, loops->steps.data[i].kernel.raw);
    }
    for (size_t i = 0; i < loops->hosts.n; i++)
        check_counts(s, loops->hosts.data[i].buffers[0].raw);
    for (size_t i = 0; i < loops->runtime_checks.n; i++) {
        check_counts(s, loops->runtime_checks.data[i].buffer.raw);
        check_counts_not(s, loops->runtime_checks.data[i].node);
    }
    for (size_t i = 0; i < loops->controls.n; i++)
        change_control(s, &loops->controls.data[i]);
    check_counts(s, loops->n_epochs);
    check_length(s, loops->buffers);
    check_length(s, loops->kernels);
    check_length(s, loops->steps);
    const char *name = loops->name;
    loops->name = "another";
    cr_assert_not(has_other_key(s));
    loops->name = name;
}

/* -- Loops of all kinds ---------------------------------------------------- */

/* in: x [4096,100], i [7] */
static void of_rows(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value picked = tg_gather(in[0], in[1], 0);
    tg_print(t, "%v and %v", tg_sum(picked, TG_ALL_AXES), in[1]);
    tg_value centred = tg_sub(in[0], tg_mean(in[0], TG_AXES(0)));
    tg_return(t, tg_mul(centred, 3), picked,
              tg_reduce_max(tg_slice(in[0], 0, -1, TG_END, -1), TG_AXES(0)),
              tg_argmax(in[0], 0));
}

/* in: a variable [3], x [?,?] */
static void of_extents(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign_add(in[0], 1);
    tg_return(t, tg_matmul(in[1], tg_transpose(in[1], TG_PERM(1, 0))),
              tg_cast(tg_sum(in[1], TG_AXES(0)), TG_F64));
}

/* in: images, filters */
static void of_windows(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_conv(in[0], in[1]), tg_cumsum(in[0], 1));
}

/* in: x [3] */
static void of_few(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value e = tg_exp(in[0]);
    tg_return(t, tg_div(e, tg_sum(e, TG_ALL_AXES)));
}

static void is_small(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_lt(tg_sum(in[0], TG_ALL_AXES), 100.0));
}

static void grow(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], tg_slice(in[0], 0, -1, TG_END, -1)));
}

/* in: x [5000] */
static void of_loop(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value y;
    tg_while_limit(20, is_small, grow, NULL, TG_ARGS(in[0]), &y, 1);
    tg_cond(tg_lt(tg_reduce_max(y, TG_ALL_AXES), 10), grow, grow, NULL,
            TG_ARGS(y), &y, 1);
    tg_return(t, y);
}

static void subject_begin(subject *s)
{
    s->key = key_of(s->fu.loops, &no_options);
    s->n_changes = 0;
}

static void subject_end(subject *s)
{
    cr_assert_gt(s->n_changes, 40);
    cr_assert_not(has_other_key(s));
    tgi_strbuf_deinit(&s->key);
    fuse_end(&s->fu);
    check_nothing_is_alive();
}

Test(code_key, all_of_loops_over_rows_counts)
{
    subject s;
    fuse(&s.fu, of_rows, NO_SYMBOLS, F32(4096, 100), I32(7));
    subject_begin(&s);
    cr_assert(s.fu.loops->hosts.n && s.fu.loops->runtime_checks.n);
    change_loops(&s);
    subject_end(&s);
}

Test(code_key, all_of_loops_over_unknown_extents_counts)
{
    subject s;
    fuse(&s.fu, of_extents, SYMBOLS(300, 200), V32(3),
         F32(TG_UNKNOWN, TG_UNKNOWN));
    subject_begin(&s);
    change_loops(&s);
    subject_end(&s);
}

Test(code_key, offset_tables_count)
{
    subject s;
    fuse(&s.fu, of_windows, NO_SYMBOLS, F32(8, 20, 20, 3), F32(3, 3, 3, 16));
    subject_begin(&s);
    cr_assert_eq(s.fu.loops->kernels.data[0]->offsets.n, 1);
    change_loops(&s);
    subject_end(&s);
    fuse(&s.fu, of_windows, SYMBOLS(8, 20, 20),
         F32(TG_UNKNOWN, TG_UNKNOWN, TG_UNKNOWN, 3), F32(3, 3, 3, 16));
    subject_begin(&s);
    change_loops(&s);
    subject_end(&s);
}

/* Row blocks need values that exceed L2, so they are written here. */
Test(code_key, row_blocks_count)
{
    subject s;
    tgi_row_kernel kernel = {.n_axes = 1, .per_row = 1, .rows_per_index = 1};
    tgi_block_buffer buffer = {tgi_buffer_id_from(0), 7};
    tgi_row_blocks blocks = {1, 100, 10, 1, 1, &kernel, &buffer};
    fuse(&s.fu, of_rows, NO_SYMBOLS, F32(4096, 100), I32(7));
    cr_assert(tgi_vec_push(&s.fu.loops->row_blocks, blocks));
    subject_begin(&s);
    change_loops(&s);
    tgi_row_blocks *rows = &s.fu.loops->row_blocks.data[0];
    check_counts(&s, rows->matrices);
    check_counts(&s, rows->rows);
    check_counts(&s, rows->block_rows);
    check_counts(&s, kernel.n_axes);
    check_counts(&s, kernel.per_row);
    check_counts(&s, kernel.rows_per_index);
    check_counts(&s, buffer.buffer.raw);
    check_counts(&s, buffer.row_elements);
    subject_end(&s);
}

Test(code_key, straightline_loops_are_part_of_the_key)
{
    subject s;
    fuse(&s.fu, of_few, NO_SYMBOLS, F32(3));
    subject_begin(&s);
    cr_assert(s.fu.loops->kernels.data[0]->is_straightline);
    change_loops(&s);
    subject_end(&s);
}

Test(code_key, all_of_branches_and_loops_counts)
{
    subject s;
    fuse(&s.fu, of_loop, NO_SYMBOLS, F32(5000));
    subject_begin(&s);
    cr_assert_eq(s.fu.loops->controls.n, 2);
    change_loops(&s);
    subject_end(&s);
}

/* -- Beside the loops ------------------------------------------------------ */

Test(code_key, the_same_from_another_trace_is_the_same)
{
    subject s;
    fused other;
    fuse(&s.fu, of_rows, NO_SYMBOLS, F32(4096, 100), I32(7));
    subject_begin(&s);
    const tg_spec specs[] = {F32(4096, 100), I32(7)};
    fuse_at(__LINE__, &other, "another", of_rows, NO_SYMBOLS, specs, 2);
    tgi_strbuf key = key_of(other.loops, &no_options);
    cr_assert(is_equal(&key, &s.key));
    tgi_strbuf_deinit(&key);
    fuse_end(&other);
    fuse(&other, of_rows, NO_SYMBOLS, F32(4096, 101), I32(7));
    key = key_of(other.loops, &no_options);
    cr_assert_not(is_equal(&key, &s.key));
    tgi_strbuf_deinit(&key);
    fuse_end(&other);
    tgi_strbuf_deinit(&s.key);
    fuse_end(&s.fu);
    check_nothing_is_alive();
}

static void check_options(const subject *s, tgi_codegen_options options,
                          bool counts)
{
    tgi_strbuf key = key_of(s->fu.loops, &options);
    cr_assert_eq(!is_equal(&key, &s->key), counts, "%s", key.text);
    tgi_strbuf_deinit(&key);
}

Test(code_key, options_count_that_change_code)
{
    subject s;
    fuse(&s.fu, of_few, NO_SYMBOLS, F32(3));
    subject_begin(&s);
    check_options(&s, (tgi_codegen_options){.cpu = "x86-64-v3"}, true);
    check_options(&s, (tgi_codegen_options){.vector_bits = 128}, true);
    check_options(&s, (tgi_codegen_options){.instruments = true}, true);
    check_options(&s, (tgi_codegen_options){.cpu = ""}, false);
    check_options(&s, (tgi_codegen_options){.verify = true}, false);
    check_options(&s, (tgi_codegen_options){.wants_ir = true}, false);
    check_options(&s, (tgi_codegen_options){.wants_assembly = true}, false);
    tgi_strbuf_deinit(&s.key);
    fuse_end(&s.fu);
    check_nothing_is_alive();
}

/* The origin of the last inst that has a line; NULL: none has. */
static tgi_ref *last_origin(tgi_kernel_loops *k)
{
    for (size_t i = k->insts.n; i-- > 1;)
        if (tgi_loops_site(k->graph, k->insts.data[i].node))
            return &k->insts.data[i].node;
    return NULL;
}

Test(code_key, names_and_lines_count_with_debug_information)
{
    const tgi_codegen_options debug = {.debug_directory = "/a"};
    subject s;
    fuse(&s.fu, of_rows, NO_SYMBOLS, F32(4096, 100), I32(7));
    tgi_loops *loops = s.fu.loops;
    tgi_kernel_loops *k = NULL; /* one that computes and stores */
    for (size_t i = 0; i < loops->kernels.n && !k; i++)
        if (loops->kernels.data[i]->stores.n > 0 &&
            last_origin(loops->kernels.data[i]))
            k = loops->kernels.data[i];
    cr_assert(k && loops->hosts.n > 0);
    s.key = key_of(loops, &debug);
    check_options(&s, debug, false);
    check_options(&s, no_options, true);
    check_options(&s, (tgi_codegen_options){.debug_directory = "/b"}, true);

    const char *name = k->name;
    k->name = "another";
    check_options(&s, debug, true);
    k->name = name;
    name = loops->name;
    loops->name = "another";
    check_options(&s, debug, true);
    loops->name = name;

    tgi_ref *refs[] = {&k->stores.data[0].node, last_origin(k),
                       &loops->hosts.data[0].node};
    for (size_t i = 0; i < sizeof(refs) / sizeof(refs[0]); i++) {
        cr_assert_neq(*refs[i], 0);
        const tgi_ref ref = *refs[i];
        *refs[i] = 0;
        check_options(&s, debug, true);
        *refs[i] = ref;
    }
    const tgi_site_chain *site = k->main_site;
    cr_assert_not_null(site);
    tgi_site_chain other = *site;
    k->main_site = &other;
    other.line++;
    check_options(&s, debug, true);
    other = *site;
    other.caller = site;
    check_options(&s, debug, true);
    k->main_site = site;
    check_options(&s, debug, false);
    tgi_strbuf_deinit(&s.key);
    fuse_end(&s.fu);
    check_nothing_is_alive();
}

Test(code_key, it_begins_with_a_line_for_people)
{
    subject s;
    fuse(&s.fu, of_few, NO_SYMBOLS, F32(3));
    subject_begin(&s);
    const char *end = memchr(s.key.text, '\n', s.key.n);
    cr_assert_not_null(end);
    for (const char *at = s.key.text; at < end; at++)
        cr_assert_geq((unsigned char)*at, ' ');
    const char *ops = strstr(s.key.text, "exp");
    cr_assert(ops && ops < end, "%s", s.key.text);
    tgi_strbuf_deinit(&s.key);
    fuse_end(&s.fu);
    check_nothing_is_alive();
}
