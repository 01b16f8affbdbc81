/* SPDX-License-Identifier: MIT */
/*
 * test_assembly_cost.c - the cost model counts the instructions that the code
 * generator emits: the innermost loop of one operation has as many as
 * recipe/cost.h says, within a few percent.
 */
#include "codegen/assembling.h"
#include "recipe/cost.h"

/* -- Kernels of one op ----------------------------------------------------- */

typedef struct one_op {
    int op;
    tg_dtype dtype;
    tg_dtype to;       /* of a cast */
    bool has_constant; /* as the last operand */
} one_op;

static one_op current; /* of the callback */

static tg_value apply(const tg_operand *in)
{
    switch (current.op) {
#define APPLY_UNARY(name) return tg_##name##_at(in[0], TG_HERE)
#define APPLY_BINARY(name) return tg_##name##_at(in[0], in[1], TG_HERE)
#define APPLY_TERNARY(name) return tg_##name##_at(in[0], in[1], in[2], TG_HERE)
#define APPLY_CAST(name) return tg_##name##_at(in[0], current.to, TG_HERE)
#define APPLY_LEAF(name) break
#define APPLY_VIEW(name) break
#define APPLY_INDEX(name) break
#define APPLY_REDUCE(name) break
#define APPLY_MATMUL(name) break
#define APPLY_CONV(name) break
#define APPLY_SCAN(name) break
#define APPLY_RANDOM(name) \
    return tg_random_bits_at(current.dtype, TG_IN(1), TG_IN(2), \
                             TG_DIMS(1 << 20), TG_HERE)
#define APPLY_STATE(name) break
#define APPLY_EFFECT(name) break
#define APPLY_REGION(name) break
#define OP(ID, name, cls, ...) \
    case TGI_OP_##ID: \
        APPLY_##cls(name);
#include "ir/op.def"
#undef OP
    default:
        break;
    }
    cr_assert_fail("op %d is not elementwise", current.op);
    return (tg_value){0};
}

static void one_operation(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_operand operands[3];
    for (int i = 0; i < 3; i++)
        operands[i] = TG_IN(in[i]);
    if (current.has_constant)
        operands[tgi_op_table[current.op].arity - 1] = TG_IN(3);
    tg_return(t, apply(operands));
}

/* -- Instructions ---------------------------------------------------------- */

/* Not loads and stores of vectors, copies, and loop control. */
static bool is_counted(const assembly_line *line)
{
    static const char *const moves[] = {"vmova", "vmovu", "vmovdq"};
    if (line->is_label || line->name[0] != 'v')
        return false;
    for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++)
        if (!strncmp(line->name, moves[i], strlen(moves[i])))
            return false;
    return true;
}

/* Instructions per full vector of the innermost loop with the most. */
static double count_emitted(one_op o)
{
    static assembly a;
    assembled as;
    current = o;
    const tg_spec x = tg_spec_tensor(o.dtype, TG_DIMS(1 << 20));
    assemble(&as, one_operation, NO_SYMBOLS, x, x, x);
    cr_assert(assembly_read(&a, as.text), "%s", a.fault);
    int64_t bytes = tgi_dtype_bytes((int)o.dtype);
    if (o.op == TGI_OP_CAST && tgi_dtype_bytes((int)o.to) > bytes)
        bytes = tgi_dtype_bytes((int)o.to);
    double most = 0;
    for (int i = 0; i < a.n_loops; i++) {
        const int step = assembly_step(&a, &a.loops[i]);
        const int n = assembly_count(&a, &a.loops[i], is_counted);
        if (a.loops[i].is_innermost && step > 0 &&
            (double)n * REGISTER_BYTES / (double)(bytes * step) > most)
            most = (double)n * REGISTER_BYTES / (double)(bytes * step);
    }
    assemble_end(&as);
    return most;
}

static void check_count(one_op o, tgi_cost cost)
{
    const double emitted = count_emitted(o);
    const double error = cost.instructions > emitted
                             ? cost.instructions - emitted
                             : emitted - cost.instructions;
    cr_expect(error <= 2 || error <= 0.15 * emitted,
              "%s %s %s%s: %u instructions, but the code has %.1f",
              tgi_op_table[o.op].name, tg_dtype_name(o.dtype),
              o.op == TGI_OP_CAST ? tg_dtype_name(o.to) : "",
              o.has_constant ? "constant" : "", cost.instructions, emitted);
}

Test(assembly_cost, float_recipes_have_as_many_instructions_as_counted)
{
    for (int op = 1; op < TGI_OPS; op++)
        for (int dtype = TG_F32; dtype <= TG_F64; dtype++) {
            const tgi_op_info *info = &tgi_op_table[op];
            /* Bools are packed to bytes, which is not part of the op. */
            if (!tgi_op_is_elementwise(op) || info->cls == TGI_OPCLASS_CAST ||
                op == TGI_OP_SELECT || info->result == TGI_RESULT_BOOL ||
                !tgi_dtype_is(dtype, info->types))
                continue;
            check_count((one_op){.op = op, .dtype = (tg_dtype)dtype},
                        tgi_cost_of_op(op, (tg_dtype)dtype, 0, TGI_COST_256));
            if (info->arity == 2)
                check_count(
                    (one_op){op, (tg_dtype)dtype, 0, true},
                    tgi_cost_of_op(op, (tg_dtype)dtype, 2, TGI_COST_256));
        }
}

Test(assembly_cost, integer_recipes_have_as_many_instructions_as_counted)
{
    static const int dtypes[] = {TG_I8,  TG_I16, TG_I32, TG_I64,
                                 TG_U16, TG_U32, TG_U64};
    static const int ops[] = {TGI_OP_ADD, TGI_OP_MUL, TGI_OP_SHL,
                              TGI_OP_AND, TGI_OP_ABS, TGI_OP_MAX};
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++)
        for (size_t j = 0; j < sizeof(ops) / sizeof(*ops); j++)
            check_count(
                (one_op){.op = ops[j], .dtype = (tg_dtype)dtypes[i]},
                tgi_cost_of_op(ops[j], (tg_dtype)dtypes[i], 0, TGI_COST_256));
    /* The range of a constant count is not tested. */
    check_count((one_op){TGI_OP_SHL, TG_I32, 0, true},
                tgi_cost_of_op(TGI_OP_SHL, TG_I32, 2, TGI_COST_256));
    for (int dtype = TG_I16; dtype <= TG_I32; dtype++)
        check_count(
            (one_op){.op = TGI_OP_DIV, .dtype = (tg_dtype)dtype},
            tgi_cost_of_op(TGI_OP_DIV, (tg_dtype)dtype, 0, TGI_COST_256));
}

Test(assembly_cost, casts_and_random_bits_have_as_many_instructions_as_counted)
{
    static const int casts[][2] = {
        {TG_I32, TG_F32}, {TG_F32, TG_I32}, {TG_F32, TG_F64},
        {TG_F64, TG_I64}, {TG_I64, TG_F64}, {TG_U32, TG_F32},
        {TG_I16, TG_F32}, {TG_F64, TG_F32}, {TG_I32, TG_I64}};
    for (size_t i = 0; i < sizeof(casts) / sizeof(*casts); i++) {
        const tg_dtype from = (tg_dtype)casts[i][0], to = (tg_dtype)casts[i][1];
        check_count((one_op){TGI_OP_CAST, from, to, false},
                    tgi_cost_of_cast(TGI_OP_CAST, from, to, TGI_COST_256));
    }
    check_count((one_op){.op = TGI_OP_RANDOM_BITS, .dtype = TG_U32},
                tgi_cost_of_random(TG_U32, TGI_COST_256));
    check_count((one_op){.op = TGI_OP_RANDOM_BITS, .dtype = TG_U64},
                tgi_cost_of_random(TG_U64, TGI_COST_256));
}
