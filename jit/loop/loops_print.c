/* SPDX-License-Identifier: MIT */
/*
 * loops_print.c - the loop IR as text: one line per inst, indented by the level
 * it is computed at:
 *
 *   kernel tg_softmax_0_max: rows of 1024 at [64]
 *     phase 0
 *           %1 = load f32 p0[o0*1024 + i]
 *           reduce #0 max f32 %1
 */
#include <stdio.h>

#include "ir/dump.h"
#include "loop/loops.h"

static void print_stride(const tgi_loops *loops, tgi_stride stride,
                         const char *name, bool *is_first, tgi_strbuf *out)
{
    if (stride.distance == 0)
        return;
    tgi_strbuf_add(out, stride.is_negative ? (*is_first ? "-" : " - ")
                                           : (*is_first ? "" : " + "));
    tgi_strbuf_add(out, name);
    if (stride.distance != 1) {
        tgi_strbuf_add(out, "*");
        tgi_dim_print(loops->dims, stride.distance, out);
    }
    *is_first = false;
}

void tgi_loops_print_buffer(const tgi_loops *loops, tgi_buffer_id buffer,
                            tgi_strbuf *out)
{
    static const char letters[] = {
        [TGI_PLACE_PARAM] = 'p',    [TGI_PLACE_RESULT] = 'r',
        [TGI_PLACE_CONSTANT] = 'c', [TGI_PLACE_TEMP] = 't',
        [TGI_PLACE_SCRATCH] = 's',  [TGI_PLACE_BLOCK] = 'b',
        [TGI_PLACE_SSA] = 'v',      [TGI_PLACE_COUNTER] = 'n',
        [TGI_PLACE_STACK] = 'g'};
    const tgi_loop_buffer *b = tgi_loops_buffer(loops, buffer);
    bool is_numbered =
        b->place == TGI_PLACE_PARAM || b->place == TGI_PLACE_RESULT;
    tgi_strbuf_addf(out, "%c%u", letters[b->place],
                    is_numbered ? b->index : tgi_buffer_id_index(buffer));
}

/* The name that the user gave to the value of a buffer; NULL: none. */
static const char *name_of(const tgi_loops *loops, const tgi_loop_buffer *b)
{
    const tgi_graph *graph = b->graph;
    tgi_ref node = b->node;
    if (b->place == TGI_PLACE_PARAM && loops->graph &&
        b->index < loops->graph->params.n) {
        graph = loops->graph;
        node = graph->params.data[b->index].node;
    }
    return graph && node ? tgi_graph_node(graph, node)->name : NULL;
}

void tgi_loops_print_named_buffer(const tgi_loops *loops, tgi_buffer_id buffer,
                                  tgi_strbuf *out)
{
    const char *name = name_of(loops, tgi_loops_buffer(loops, buffer));
    tgi_loops_print_buffer(loops, buffer, out);
    if (!name)
        return;
    tgi_strbuf_add(out, " ");
    tgi_quote(name, '\'', out);
}

/* "offset of 3x192 by 512, 1", "… in s4" */
static void print_offset_table(const tgi_loops *loops,
                               const tgi_offset_table *table, tgi_strbuf *out)
{
    tgi_strbuf_add(out, "offset of ");
    for (int i = 0; i < table->n_axes; i++) {
        tgi_strbuf_add(out, i ? "x" : "");
        tgi_dim_print(loops->dims, table->extent[i], out);
    }
    tgi_strbuf_add(out, " by ");
    for (int i = 0; i < table->n_axes; i++) {
        tgi_strbuf_addf(out, "%s%s", i ? ", " : "",
                        table->stride[i].is_negative ? "-" : "");
        tgi_dim_print(loops->dims, table->stride[i].distance, out);
    }
    if (tgi_buffer_id_is_none(table->memory))
        return;
    tgi_strbuf_add(out, " in ");
    tgi_loops_print_buffer(loops, table->memory, out);
}

static void print_access(const tgi_loops *loops, const tgi_kernel_loops *k,
                         const tgi_access *access, tgi_strbuf *out)
{
    bool is_first = true;
    for (int axis = 0; axis <= k->n_outer; axis++) {
        char name[8] = "i";
        if (axis < k->n_outer)
            name[0] = 'o', name[1] = (char)('0' + axis), name[2] = 0;
        if (access->panel_width && axis == k->n_outer - 1) {
            tgi_strbuf_addf(out, "%s%s%%%u", is_first ? "" : " + ", name,
                            access->panel_width);
            is_first = false;
            snprintf(name + 2, sizeof(name) - 2, "/%u", access->panel_width);
        }
        print_stride(loops, access->stride[axis], name, &is_first, out);
    }
    if (access->index) {
        char name[16];
        snprintf(name, sizeof(name), "%%%u", access->index);
        print_stride(loops, access->index_stride, name, &is_first, out);
    }
    if (access->shift) {
        tgi_strbuf_addf(out, "%s%%%u", is_first ? "" : " + ", access->shift);
        is_first = false;
    }
    if (access->offset != 0 || is_first) {
        if (!is_first)
            tgi_strbuf_add(out, " + ");
        tgi_dim_print(loops->dims, access->offset, out);
    }
}

static void print_element(const tgi_loops *loops, const tgi_kernel_loops *k,
                          uint32_t number, tgi_strbuf *out)
{
    const tgi_access *access = &k->accesses.data[number];
    tgi_loops_print_buffer(loops, access->buffer, out);
    tgi_strbuf_add(out, "[");
    print_access(loops, k, access, out);
    tgi_strbuf_add(out, "]");
}

static const char *dtype_name(int dtype)
{
    return tg_dtype_name((tg_dtype)dtype);
}

static void print_operands(const tgi_inst *inst, tgi_strbuf *out)
{
    for (int i = 0; i < inst->n_operands; i++)
        tgi_strbuf_addf(out, "%s%%%u", i ? ", " : " ", inst->operands[i]);
}

/* Ends a line, with the user's line if it is wanted and known. */
static void end_line(const tgi_kernel_loops *k, tgi_ref node, unsigned flags,
                     tgi_strbuf *out)
{
    if (flags & TGI_LOOPS_SOURCE)
        tgi_site_print(tgi_loops_site(k->graph, node), out);
    tgi_strbuf_add(out, "\n");
}

static void print_inst(const tgi_loops *loops, const tgi_kernel_loops *k,
                       uint32_t number, unsigned flags, tgi_strbuf *out)
{
    static const char *const names[] = {[TGI_INST_RANDOM] = "random",
                                        [TGI_INST_INDEX] = "index",
                                        [TGI_INST_IN_RANGE] = "in_range"};
    const tgi_inst *inst = &k->insts.data[number];
    tgi_strbuf_addf(out, "    %*s%%%u = ", 2 * inst->level, "", number);
    switch ((tgi_inst_kind)inst->kind) {
    case TGI_INST_CONSTANT: {
        char text[64];
        tgi_dtype_format((tg_dtype)inst->dtype, &inst->bits, text,
                         sizeof(text));
        tgi_strbuf_addf(out, "%s %s", dtype_name(inst->dtype), text);
        break;
    }
    case TGI_INST_EXTENT:
        tgi_strbuf_add(out, "extent ");
        tgi_dim_print(loops->dims, inst->dim, out);
        break;
    case TGI_INST_POSITION:
        tgi_strbuf_add(out, "position ");
        print_access(loops, k, &k->accesses.data[inst->number], out);
        break;
    case TGI_INST_LOAD:
        tgi_strbuf_addf(out, "load %s ", dtype_name(inst->dtype));
        print_element(loops, k, inst->number, out);
        break;
    case TGI_INST_OP:
        tgi_strbuf_addf(out, "%s %s", tgi_op_table[inst->op].name,
                        dtype_name(inst->type));
        print_operands(inst, out);
        break;
    case TGI_INST_OFFSET:
        print_offset_table(loops, &k->offsets.data[inst->number], out);
        break;
    case TGI_INST_CARRIED: {
        char text[64];
        tgi_dtype_format((tg_dtype)inst->dtype, &inst->bits, text,
                         sizeof(text));
        tgi_strbuf_addf(out, "carried %s %%%u from %s", dtype_name(inst->dtype),
                        inst->number, text);
        break;
    }
    case TGI_INST_REDUCED:
        tgi_strbuf_addf(out, "reduced #%u", inst->number);
        break;
    case TGI_INST_CAST:
    case TGI_INST_RANDOM:
    case TGI_INST_INDEX:
    case TGI_INST_IN_RANGE:
        tgi_strbuf_addf(out, "%s %s",
                        inst->kind == TGI_INST_CAST
                            ? tgi_op_table[inst->op].name
                            : names[inst->kind],
                        dtype_name(inst->dtype));
        print_operands(inst, out);
        if (inst->kind == TGI_INST_INDEX || inst->kind == TGI_INST_IN_RANGE) {
            tgi_strbuf_add(out, " of ");
            tgi_dim_print(loops->dims, inst->dim, out);
        }
        break;
    }
    end_line(k, inst->node, flags, out);
}

static void print_phase(const tgi_loops *loops, const tgi_kernel_loops *k,
                        unsigned phase, unsigned flags, tgi_strbuf *out)
{
    tgi_strbuf_addf(out, "  phase %u\n", phase);
    for (uint32_t i = 1; i < k->insts.n; i++)
        if (k->insts.data[i].phase == phase)
            print_inst(loops, k, i, flags, out);
    for (size_t i = 0; i < k->reductions.n; i++) {
        const tgi_reduction *r = &k->reductions.data[i];
        if (r->phase != phase)
            continue;
        tgi_strbuf_addf(out, "        reduce #%zu %s %s %%%u", i,
                        tgi_op_table[r->op].name, dtype_name(r->dtype),
                        r->value);
        if (r->other)
            tgi_strbuf_addf(out, ", %%%u", r->other);
        if (r->is_bytes)
            tgi_strbuf_add(out, ", of bytes");
        tgi_strbuf_add(out, r->is_split          ? ", one result per block"
                            : r->combines_blocks ? ", combines blocks"
                                                 : "");
        end_line(k, r->node, flags, out);
    }
    for (size_t i = 0; i < k->checks.n; i++)
        if (k->checks.data[i].phase == phase)
            tgi_strbuf_addf(out, "        check #%u %%%u of %%%u at %%%u\n",
                            k->checks.data[i].number, k->checks.data[i].value,
                            k->checks.data[i].index,
                            k->checks.data[i].position);
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_loop_store *store = &k->stores.data[i];
        if (store->phase != phase)
            continue;
        tgi_strbuf_addf(out, "    %*s", 2 * store->level, "");
        print_element(loops, k, store->access, out);
        tgi_strbuf_add(out, " = ");
        if (store->epilogue_op)
            tgi_strbuf_addf(out, "%s along %s of ",
                            tgi_op_table[store->epilogue_op].name,
                            store->along_rows ? "rows" : "columns");
        tgi_strbuf_addf(out, "%%%u", store->value);
        end_line(k, store->node, flags, out);
    }
}

void tgi_loops_print_kernel(const tgi_loops *loops, const tgi_kernel_loops *k,
                            unsigned flags, tgi_strbuf *out)
{
    tgi_strbuf_addf(out, "kernel %s: %s%s of ", k->name,
                    k->is_straightline ? "straight-line, " : "",
                    k->vectors == TGI_ROWS ? "rows" : "columns");
    tgi_dim_print(loops->dims, k->extent[k->n_outer], out);
    tgi_strbuf_add(out, " at [");
    for (int axis = 0; axis < k->n_outer; axis++) {
        if (axis)
            tgi_strbuf_add(out, ",");
        tgi_dim_print(loops->dims, k->extent[axis], out);
    }
    tgi_strbuf_add(out, "]");
    if (!tgi_memo_id_is_none(k->memo))
        tgi_strbuf_addf(out, ", memoised for p%u",
                        loops->memo_params.data[tgi_memo_id_index(k->memo)]);
    if (!tgi_kernel_id_is_none(k->twin))
        tgi_strbuf_addf(out, ", code of %s",
                        tgi_loops_kernel(loops, k->twin)->name);
    tgi_strbuf_add(out, "\n");
    for (unsigned phase = 0; phase < k->n_phases; phase++)
        print_phase(loops, k, phase, flags, out);
}

static void print_control(const tgi_loops *loops, const tgi_loop_step *step,
                          tgi_strbuf *out)
{
    const tgi_control_flow *c = tgi_loops_control(loops, step->control);
    switch (step->kind) {
    case TGI_STEP_LOOP:
        tgi_strbuf_add(out,
                       c->is_straightline ? "straight-line loop " : "loop ");
        tgi_loops_print_buffer(loops, c->counter, out);
        tgi_strbuf_add(out, " to ");
        tgi_loops_print_buffer(loops, c->operand, out);
        tgi_strbuf_add(out, c->is_limited ? ", limited" : "");
        if (!tgi_stack_set_id_is_none(c->stack_set))
            tgi_strbuf_addf(out, ", pushes onto stacks #%u",
                            tgi_stack_set_id_index(c->stack_set));
        if (c->has_base) {
            tgi_strbuf_add(out, " from ");
            tgi_loops_print_buffer(loops, c->base, out);
        }
        break;
    case TGI_STEP_TEST:
        tgi_strbuf_add(out, "exit unless ");
        tgi_loops_print_buffer(loops, c->test, out);
        break;
    case TGI_STEP_LOOP_END:
        tgi_strbuf_add(out, "end loop");
        for (uint32_t i = 0; i < c->n_moved; i++) {
            tgi_strbuf_add(out, i ? ", " : ", moves ");
            tgi_loops_print_buffer(loops, c->to[i], out);
            tgi_strbuf_add(out, " from ");
            tgi_loops_print_buffer(loops, c->from[i], out);
        }
        break;
    case TGI_STEP_SWITCH:
        tgi_strbuf_add(out, "switch ");
        tgi_loops_print_buffer(loops, c->operand, out);
        break;
    default:
        tgi_strbuf_add(out,
                       step->kind == TGI_STEP_CASE ? "case" : "end switch");
        break;
    }
    tgi_strbuf_add(out, "\n");
}

static void print_rows(const tgi_loops *loops, const tgi_row_blocks *rows,
                       tgi_strbuf *out)
{
    tgi_strbuf_addf(out, "row blocks of %lld of ",
                    (long long)rows->block_rows);
    tgi_dim_print(loops->dims, rows->rows, out);
    if (rows->matrices != 1) {
        tgi_strbuf_add(out, ", in each of ");
        tgi_dim_print(loops->dims, rows->matrices, out);
    }
    tgi_strbuf_add(out, "\n");
}

void tgi_loops_print_step(const tgi_loops *loops, size_t number,
                          tgi_strbuf *out)
{
    const tgi_loop_step *step = &loops->steps.data[number];
    switch ((tgi_loop_step_kind)step->kind) {
    case TGI_STEP_RUN:
        tgi_strbuf_addf(out, "run %s\n",
                        tgi_loops_kernel(loops, step->kernel)->name);
        break;
    case TGI_STEP_BARRIER:
        tgi_strbuf_add(out, "barrier\n");
        break;
    case TGI_STEP_RETURN_IF_FAILED:
        tgi_strbuf_add(out, "return if a check failed\n");
        break;
    case TGI_STEP_HOST:
        tgi_strbuf_addf(out, "host %u\n", tgi_host_id_index(step->host));
        break;
    case TGI_STEP_ROWS:
        print_rows(loops, tgi_loops_rows(loops, step->rows), out);
        break;
    case TGI_STEP_ROWS_END:
        tgi_strbuf_add(out, "end row blocks\n");
        break;
    case TGI_STEP_LOOP:
    case TGI_STEP_TEST:
    case TGI_STEP_LOOP_END:
    case TGI_STEP_SWITCH:
    case TGI_STEP_CASE:
    case TGI_STEP_SWITCH_END:
        print_control(loops, step, out);
        break;
    }
}

void tgi_loops_print(const tgi_loops *loops, unsigned flags, tgi_strbuf *out)
{
    static const char *const places[] = {
        [TGI_PLACE_PARAM] = "parameter",
        [TGI_PLACE_RESULT] = "result",
        [TGI_PLACE_CONSTANT] = "constant",
        [TGI_PLACE_TEMP] = "temporary",
        [TGI_PLACE_SCRATCH] = "scratch",
        [TGI_PLACE_BLOCK] = "row block",
        [TGI_PLACE_SSA] = "SSA values",
        [TGI_PLACE_COUNTER] = "counter",
        [TGI_PLACE_STACK] = "stack, per slice"};
    tgi_strbuf_addf(out, "loops of %s\n", loops->name);
    for (uint32_t i = 0; i < loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &loops->buffers.data[i];
        tgi_strbuf_add(out, "buffer ");
        if (flags & TGI_LOOPS_SOURCE)
            tgi_loops_print_named_buffer(loops, tgi_buffer_id_from(i), out);
        else
            tgi_loops_print_buffer(loops, tgi_buffer_id_from(i), out);
        tgi_strbuf_addf(out, ": %s, ", places[b->place]);
        tgi_dim_print(loops->dims, b->count, out);
        tgi_strbuf_addf(out, " %s\n", dtype_name(b->dtype));
    }
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_kernel_loops *kernel = tgi_loops_kernel_at(loops, i);
        if (kernel)
            tgi_loops_print_kernel(loops, kernel, flags, out);
        else
            tgi_loops_print_step(loops, i, out);
    }
}
