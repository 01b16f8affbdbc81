/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make.c - runs the instructions of a body. Every op of op.def is
 * an instruction, so that a new op takes part automatically. Other instructions
 * record API operations composed of several ops, and patterns that are likely
 * to reveal bugs.
 *
 * The meaning of a byte should survive new ops, so that strings of the corpus
 * keep theirs: an op's position derives from its name, that of other
 * instructions from a list that is only extended at its end.
 */
#include <string.h>

#include "random/random_graph.h"

typedef struct instruction {
    rg_instruction *make;
    tgi_op op;
    bool is_plain; /* choices do not depend on extents */
} instruction;

static const instruction ops[] = {
#define MAKER_UNARY(name) rg_make_unary
#define MAKER_BINARY(name) rg_make_binary
#define MAKER_TERNARY(name) rg_make_ternary
#define MAKER_CAST(name) rg_make_##name
#define MAKER_LEAF(name) rg_make_##name
#define MAKER_VIEW MAKER_LEAF
#define MAKER_INDEX MAKER_LEAF
#define MAKER_REDUCE MAKER_LEAF
#define MAKER_SCAN MAKER_LEAF
#define MAKER_MATMUL MAKER_LEAF
#define MAKER_CONV MAKER_LEAF
#define MAKER_RANDOM MAKER_LEAF
#define MAKER_STATE MAKER_LEAF
#define MAKER_EFFECT MAKER_LEAF
#define MAKER_REGION MAKER_LEAF
#define IS_PLAIN(cls)                                                          \
    (TGI_OPCLASS_##cls <= TGI_OPCLASS_TERNARY ||                               \
     TGI_OPCLASS_##cls == TGI_OPCLASS_RANDOM)
#define OP(ID, name, cls, ...) {MAKER_##cls(name), TGI_OP_##ID, IS_PLAIN(cls)},
#include "ir/op.def"
#undef OP
};

/* Append only. */
static const instruction composed_instructions[] = {
    {rg_make_upon, TGI_OP_NONE, true},
    {rg_make_upon, TGI_OP_NONE, true},
    {rg_make_neutral, TGI_OP_NONE, true},
    {rg_make_contraction, TGI_OP_FMA, true},
    {rg_make_swapped, TGI_OP_LT, true},
    {rg_make_clamp, TGI_OP_MAX, true},
    {rg_make_square, TGI_OP_MUL, true},
    {rg_make_typed_scalar, TGI_OP_CONSTANT, true},
    {rg_make_mean, TGI_OP_SUM, true},
    {rg_make_quantifier, TGI_OP_SUM, true},
    {rg_make_activation, TGI_OP_MAX, true},
    {rg_make_softmax, TGI_OP_SUM, false},
    {rg_make_layer_norm, TGI_OP_SUM, true},
    {rg_make_random_numbers, TGI_OP_RANDOM_BITS, true},
    {rg_make_assign_more, TGI_OP_ASSIGN, false},
    {rg_make_assign_view, TGI_OP_ASSIGN, true},
    {rg_make_flat, TGI_OP_RESHAPE, true},
    {rg_make_reverse, TGI_OP_SLICE, true},
    {rg_make_broadcast, TGI_OP_BROADCAST, false},
    {rg_make_reshape, TGI_OP_RESHAPE, false},
    {rg_make_transpose, TGI_OP_TRANSPOSE, true},
    {rg_make_slice, TGI_OP_SLICE, false},
    {rg_make_pad, TGI_OP_PAD, true},
    {rg_make_concat, TGI_OP_CONCAT, false},
    {rg_make_gather, TGI_OP_GATHER, false},
    {rg_make_matmul, TGI_OP_MATMUL, false},
    {rg_make_sum, TGI_OP_SUM, true},
    {rg_make_cast, TGI_OP_CAST, true},
    {rg_make_call, TGI_OP_CALL, false},
    {rg_make_call, TGI_OP_CALL, false},
    {rg_make_result, TGI_OP_CALL, false},
    {rg_make_assign, TGI_OP_ASSIGN, false},
    {rg_make_read, TGI_OP_READ, true},
    {rg_make_print, TGI_OP_PRINT, true},
    {rg_make_reduced_view, TGI_OP_SUM, false},
    {rg_make_normalised, TGI_OP_SUM, false},
    {rg_make_swap, TGI_OP_ASSIGN, false},
    {rg_make_reduced_view, TGI_OP_SUM, false},
    {rg_make_normalised, TGI_OP_SUM, false},
    {rg_make_swap, TGI_OP_ASSIGN, false},
    {rg_make_reduced_view, TGI_OP_SUM, false},
    {rg_make_dynamic_slice, TGI_OP_DYNAMIC_SLICE, false},
    {rg_make_dynamic_slice, TGI_OP_DYNAMIC_SLICE, false},
    {rg_make_dynamic_update, TGI_OP_DYNAMIC_UPDATE, false},
    {rg_make_dynamic_update, TGI_OP_DYNAMIC_UPDATE, false},
    {rg_make_assign_part, TGI_OP_ASSIGN, false},
    {rg_make_dynamic_change, TGI_OP_DYNAMIC_UPDATE, false},
    {rg_make_dynamic_change, TGI_OP_DYNAMIC_UPDATE, false},
    {rg_make_scatter, TGI_OP_SCATTER, false},
    {rg_make_scatter, TGI_OP_SCATTER, false},
    {rg_make_host_call, TGI_OP_HOST, false},
    {rg_make_host_call, TGI_OP_HOST, false},
    {rg_make_empty, TGI_OP_MATMUL, false},
    {rg_make_empty, TGI_OP_MATMUL, false},
    {rg_make_empty, TGI_OP_MATMUL, false},
    {rg_make_empty, TGI_OP_MATMUL, false},
    {rg_make_fail, TGI_OP_FAIL, true},
    {rg_make_reassign, TGI_OP_ASSIGN, false},
    {rg_make_reassign, TGI_OP_ASSIGN, false},
    {rg_make_conv, TGI_OP_CONV, false},
    {rg_make_conv, TGI_OP_CONV, false},
    {rg_make_window, TGI_OP_WINDOW, false},
    {rg_make_linear_scan, TGI_OP_LINEAR_SCAN, false},
    {rg_make_stencil, TGI_OP_CONCAT, false},
    {rg_make_row_chain, TGI_OP_MATMUL, false},
};

/* Instructions for programs with large extents. */
static const instruction heavy_instructions[] = {
    {rg_make_reduced_view, TGI_OP_SUM, false},
    {rg_make_normalised, TGI_OP_SUM, false},
    {rg_make_sum, TGI_OP_SUM, true},
    {rg_make_matmul, TGI_OP_MATMUL, false},
    {rg_make_upon, TGI_OP_NONE, true},
    {rg_make_softmax, TGI_OP_SUM, false},
    {rg_make_gather, TGI_OP_GATHER, false},
    {rg_make_reduced_view, TGI_OP_SUM, false},
    {rg_make_mean, TGI_OP_SUM, true},
    {rg_make_transpose, TGI_OP_TRANSPOSE, true},
    {rg_make_concat, TGI_OP_CONCAT, false},
    {rg_make_upon, TGI_OP_NONE, true},
    {rg_make_dynamic_slice, TGI_OP_DYNAMIC_SLICE, false},
    {rg_make_dynamic_update, TGI_OP_DYNAMIC_UPDATE, false},
    {rg_make_scatter, TGI_OP_SCATTER, false},
    {rg_make_conv, TGI_OP_CONV, false},
    {rg_make_stencil, TGI_OP_CONCAT, false},
    {rg_make_row_chain, TGI_OP_MATMUL, false},
};

/* Instructions for programs with branches and loops. */
static const instruction control_instructions[] = {
    {rg_make_loop, TGI_OP_LOOP, false},
    {rg_make_switch, TGI_OP_SWITCH, false},
};

/* -- Opcodes of instructions ----------------------------------------------- */

/* Positions: first composed instructions, then these again while there is space
   (in heavy programs: heavy instructions); then ops. Control instructions
   replace some of them in programs with control flow. */
enum {
    N_OPS = sizeof(ops) / sizeof(ops[0]),
    N_OTHERS = sizeof(composed_instructions) / sizeof(composed_instructions[0]),
    N_HEAVY = sizeof(heavy_instructions) / sizeof(heavy_instructions[0]),
    OTHER_PLACES = 80,
    AGAIN = 32,
    OP_PLACES = 256 - OTHER_PLACES
};

_Static_assert(N_OTHERS >= AGAIN && N_OTHERS <= OTHER_PLACES, "others");
_Static_assert(N_OPS <= OP_PLACES, "an instruction needs more than a byte");

typedef const instruction *instructions[256];

static instructions instructions_of[2][2]; /* by is_heavy, has_control */

static bool is_control(const instruction *i)
{
    return i->op == TGI_OP_SWITCH || i->op == TGI_OP_LOOP;
}

static void fill_places(const instruction **places, bool is_heavy,
                        bool has_control)
{
    for (int i = 0; i < OTHER_PLACES; i++)
        places[i] = i < N_OTHERS           ? &composed_instructions[i]
                    : has_control && i % 2 ? &control_instructions[i / 2 % 2]
                    : is_heavy             ? &heavy_instructions[i % N_HEAVY]
                                           : &composed_instructions[i % AGAIN];
    const instruction **of_ops = places + OTHER_PLACES;
    for (int i = 0; i < N_OPS; i++) {
        if (is_control(&ops[i]))
            continue;
        const char *name = tgi_op_table[ops[i].op].name;
        uint64_t at = tgi_hash(name, strlen(name), 0);
        while (of_ops[at % OP_PLACES])
            at++;
        of_ops[at % OP_PLACES] = &ops[i];
    }
    /* Remaining positions belong to the next op. */
    for (int i = 2 * OP_PLACES - 2; i >= 0; i--)
        if (!of_ops[i % OP_PLACES])
            of_ops[i % OP_PLACES] = of_ops[(i + 1) % OP_PLACES];
}

/* The next instruction; a plain body skips those that are not plain. */
static const instruction *take_instruction(rg_maker *m)
{
    const rg_program *p = m->program;
    const instruction **places = instructions_of[p->is_heavy][p->has_control];
    if (!places[0])
        fill_places(places, p->is_heavy, p->has_control);
    unsigned i = rg_take(&m->bytes);
    while (m->is_plain && !places[i]->is_plain)
        i = (i + 1) % 256;
    return places[i];
}

/* -- Bodies ---------------------------------------------------------------- */

void rg_see_variables(rg_maker *m)
{
    for (int i = 0; i < m->program->n_variables; i++) {
        tg_variable *variable = m->session ? m->session->variables[i] : NULL;
        m->variables[m->n_variables++] = (rg_operand){
            m->program->variables[i].type, tg_in_variable(variable), true};
    }
}

void rg_make_body(rg_maker *m)
{
    while (m->bytes.at < m->bytes.n && m->n_values < RG_MAX_VALUES) {
        const instruction *next = take_instruction(m);
        next->make(m, next->op);
    }
}

int rg_make(rg_maker *m, rg_operand *results)
{
    unsigned choice = rg_take(&m->bytes);
    rg_make_body(m);
    bool all = m->depth == 0 && m->program->returns_all;
    int most = all ? RG_MAX_RESULTS : 1 + (int)(choice % 3);
    int n = m->n_values < most ? m->n_values : most;
    for (int i = 0; i < n; i++) {
        /* The last value, then any: some results may be equal, or
           parameters. */
        int back = all || i == 0 ? i : (int)(choice / 4) * i % m->n_values;
        results[i] = m->values[m->n_values - 1 - back];
    }
    return n;
}

void rg_make_and_return(rg_maker *m)
{
    rg_operand results[RG_MAX_RESULTS];
    tg_operand operands[RG_MAX_RESULTS];
    int n = rg_make(m, results);
    for (int i = 0; i < n; i++)
        operands[i] = results[i].operand;
    tg_return_at(m->trace, operands, (size_t)n, TG_HERE);
}
