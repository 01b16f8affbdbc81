/* SPDX-License-Identifier: MIT */
/*
 * emit_eval.c - see emit_eval.h. The handle of a value is its position, from 1.
 * A value may be undefined during evaluation, as long as every SELECT between
 * it and the result selects the other arm.
 */
#include "support/emit_eval.h"

#include <stdlib.h>
#include <string.h>

#include "recipe/recipe_cast.h"
#include "recipe/scalar.h"

#define TEMPLATE "support/emit_eval_type.h"
#include "recipe/recipe_each.h"

typedef bool evaluate_primitive(tgi_primitive primitive, int to,
                                const uint64_t *in, uint64_t *out);

static evaluate_primitive *const evaluators[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = evaluate_##ID,
#include "base/dtype.def"
#undef DTYPE
};

static int fail(recording *r, const char *fault)
{
    if (!r->fault)
        r->fault = fault;
    return 0;
}

/* -- Recording ------------------------------------------------------------- */

static tgi_emitted append(recording *r, recorded value)
{
    if (r->n == RECORDED_VALUES) {
        fail(r, "the recipe is too long");
        r->n--;
    }
    r->values[r->n++] = value;
    return (tgi_emitted)(intptr_t)r->n;
}

static int position_of(recording *r, tgi_emitted value)
{
    const intptr_t position = (intptr_t)value - 1;
    if (position < 0 || position >= r->n)
        return fail(r, "a value that was never returned");
    return (int)position;
}

static int type_of(const recording *r, int position)
{
    return r->values[position].type;
}

static int integer_like(int dtype)
{
    switch (tgi_dtype_bytes(dtype)) {
    case 1:
        return TG_U8;
    case 2:
        return TG_U16;
    case 4:
        return TG_U32;
    default:
        return TG_U64;
    }
}

static tgi_emitted record_constant(tgi_emitter *e, tg_dtype dtype,
                                   uint64_t bits)
{
    recording *r = (recording *)e;
    if (!tgi_dtype_is_valid((int)dtype))
        fail(r, "a constant of an invalid type");
    return append(r, (recorded){.kind = RECORDED_CONSTANT,
                                .type = (uint8_t)dtype,
                                .bits = bits});
}

/* The required type of operand i of a primitive on dtype; -1: any. */
static int wanted_type(tgi_primitive primitive, int dtype, int i)
{
    switch (primitive) {
    case TGI_PRIMITIVE_MASK_AND:
    case TGI_PRIMITIVE_MASK_OR:
    case TGI_PRIMITIVE_MASK_NOR:
        return RECORDED_MASK;
    case TGI_PRIMITIVE_SELECT:
        return i == 0 ? RECORDED_MASK : -1;
    case TGI_PRIMITIVE_FLOAT_OF:
    case TGI_PRIMITIVE_IADD:
    case TGI_PRIMITIVE_ISUB:
    case TGI_PRIMITIVE_IMUL:
    case TGI_PRIMITIVE_IAND:
    case TGI_PRIMITIVE_IOR:
    case TGI_PRIMITIVE_IXOR:
    case TGI_PRIMITIVE_ISHL:
    case TGI_PRIMITIVE_ISHR:
    case TGI_PRIMITIVE_ISAR:
    case TGI_PRIMITIVE_IEQ:
    case TGI_PRIMITIVE_ILT:
    case TGI_PRIMITIVE_IULT:
    case TGI_PRIMITIVE_TO_FLOAT:
        return integer_like(dtype);
    case TGI_PRIMITIVE_CONVERT: /* also of a mask, which is 0 or 1 */
        return -1;
    default:
        return dtype;
    }
}

static tgi_emitted record_primitive(tgi_emitter *e, tgi_primitive primitive,
                                    tg_dtype dtype, tg_dtype other,
                                    const tgi_emitted *operands)
{
    recording *r = (recording *)e;
    if (primitive >= TGI_PRIMITIVES || !tgi_dtype_is_valid((int)dtype)) {
        fail(r, "an invalid primitive or type");
        return operands[0];
    }
    const tgi_primitive_info *info = &tgi_primitive_table[primitive];
    recorded value = {.kind = RECORDED_PRIMITIVE,
                      .primitive = (uint8_t)primitive,
                      .dtype = (uint8_t)dtype};
    for (int i = 0; i < info->n_operands; i++) {
        const int position = position_of(r, operands[i]);
        const int wanted = wanted_type(primitive, (int)dtype, i);
        if (wanted >= 0 && type_of(r, position) != wanted)
            fail(r, "an operand of the wrong type");
        value.in[i] = (uint16_t)position;
    }
    switch ((tgi_primitive_result)info->result) {
    case TGI_PRIMITIVE_GIVES_VALUE:
        value.type = (uint8_t)dtype;
        break;
    case TGI_PRIMITIVE_GIVES_MASK:
        value.type = RECORDED_MASK;
        break;
    case TGI_PRIMITIVE_GIVES_INTEGER:
        value.type = (uint8_t)integer_like((int)dtype);
        break;
    case TGI_PRIMITIVE_GIVES_ARM:
        value.type = (uint8_t)type_of(r, value.in[2]);
        if (value.type != type_of(r, value.in[1]))
            fail(r, "arms of different types");
        break;
    case TGI_PRIMITIVE_GIVES_OTHER:
        value.type = (uint8_t)other;
        if (!tgi_dtype_is_valid((int)other))
            fail(r, "a conversion to an invalid type");
        if (type_of(r, value.in[0]) != (int)dtype &&
            type_of(r, value.in[0]) != RECORDED_MASK)
            fail(r, "a conversion of an operand of the wrong type");
        break;
    }
    return append(r, value);
}

static tgi_emitted record_lookup(tgi_emitter *e, tg_dtype dtype,
                                 const void *table, size_t n, tgi_emitted index)
{
    recording *r = (recording *)e;
    const int position = position_of(r, index);
    if (type_of(r, position) != integer_like((int)dtype))
        fail(r, "an index that is not an integer");
    return append(r, (recorded){.kind = RECORDED_LOOKUP,
                                .type = (uint8_t)dtype,
                                .in = {(uint16_t)position},
                                .table = table,
                                .table_length = n});
}

tgi_emitted recording_operand(recording *r, int type)
{
    return append(r, (recorded){.kind = RECORDED_OPERAND,
                                .type = (uint8_t)type,
                                .bits = (uint64_t)r->n_operands++});
}

void recording_begin(recording *r)
{
    r->emitter = (tgi_emitter){.constant = record_constant,
                               .primitive = record_primitive,
                               .lookup = record_lookup};
    r->fault = NULL;
    r->n = r->n_operands = r->result = 0;
}

bool recording_end(recording *r, tgi_emitted result, int type)
{
    r->result = position_of(r, result);
    if (!r->fault && type_of(r, r->result) != type)
        fail(r, "a result of the wrong type");
    return !r->fault;
}

bool recording_of_op(recording *r, int op, tg_dtype dtype)
{
    recording_begin(r);
    tgi_emit_recipe *recipe = tgi_emit_recipe_of(op, dtype);
    if (!recipe)
        return fail(r, "no recipe");
    const tgi_op_info *info = &tgi_op_table[op];
    tgi_emitted operands[3];
    for (int i = 0; i < info->arity; i++)
        operands[i] = recording_operand(
            r, op == TGI_OP_SELECT && i == 0 ? RECORDED_MASK : (int)dtype);
    return recording_end(r, recipe(&r->emitter, operands),
                         info->result == TGI_RESULT_BOOL ? RECORDED_MASK
                                                         : (int)dtype);
}

bool recording_of_cast(recording *r, int op, tg_dtype from, tg_dtype to)
{
    recording_begin(r);
    const tgi_emitted x = recording_operand(r, (int)from);
    return recording_end(r, tgi_emit_cast(&r->emitter, op, from, to, x),
                         (int)to);
}

/* -- Use of a recording ---------------------------------------------------- */

static int n_inputs(const recorded *value)
{
    return value->kind == RECORDED_PRIMITIVE
               ? tgi_primitive_table[value->primitive].n_operands
               : value->kind == RECORDED_LOOKUP;
}

void recording_find_used(const recording *r, bool *is_used)
{
    memset(is_used, 0, RECORDED_VALUES * sizeof(*is_used));
    is_used[r->result] = true;
    for (int i = r->result; i >= 0; i--)
        for (int k = 0; is_used[i] && k < n_inputs(&r->values[i]); k++)
            is_used[r->values[i].in[k]] = true;
}

int recording_primitives(const recording *r)
{
    bool is_used[RECORDED_VALUES];
    int n = 0;
    recording_find_used(r, is_used);
    for (int i = 0; i <= r->result; i++) {
        const recorded *value = &r->values[i];
        n += is_used[i] && (value->kind == RECORDED_LOOKUP ||
                            (value->kind == RECORDED_PRIMITIVE &&
                             value->primitive != TGI_PRIMITIVE_BITS_OF &&
                             value->primitive != TGI_PRIMITIVE_FLOAT_OF));
    }
    return n;
}

typedef struct evaluated {
    uint64_t bits;
    bool is_defined;
} evaluated;

static evaluated look_up(recording *r, const recorded *value, evaluated index)
{
    evaluated found = {0, index.is_defined};
    if (index.is_defined && index.bits >= value->table_length) {
        /* Code reads memory even if the value is not selected. */
        fail(r, "an index out of its table");
        found.is_defined = false;
    } else if (index.is_defined) {
        const size_t bytes = (size_t)tgi_dtype_bytes(value->type);
        memcpy(&found.bits, (const char *)value->table + index.bits * bytes,
               bytes);
    }
    return found;
}

static evaluated evaluate_one(const recording *r, const recorded *value,
                              const evaluated *all)
{
    uint64_t in[3] = {0};
    bool is_defined = true;
    for (int k = 0; k < n_inputs(value); k++) {
        in[k] = all[value->in[k]].bits;
        is_defined &= all[value->in[k]].is_defined;
    }
    evaluated out = {0, is_defined};
    switch (value->primitive) {
    case TGI_PRIMITIVE_SELECT:
        return all[value->in[0]].is_defined ? all[value->in[in[0] ? 1 : 2]]
                                            : (evaluated){0, false};
    case TGI_PRIMITIVE_MASK_AND:
        out.bits = in[0] & in[1];
        return out;
    case TGI_PRIMITIVE_MASK_OR:
        out.bits = in[0] | in[1];
        return out;
    case TGI_PRIMITIVE_MASK_NOR:
        out.bits = !(in[0] | in[1]);
        return out;
    default:
        break;
    }
    int dtype = value->dtype;
    if (value->primitive == TGI_PRIMITIVE_CONVERT)
        dtype = type_of(r, value->in[0]) == RECORDED_MASK
                    ? TG_BOOL
                    : type_of(r, value->in[0]);
    out.is_defined =
        is_defined && evaluators[dtype]((tgi_primitive)value->primitive,
                                        value->type, in, &out.bits);
    return out;
}

bool recording_evaluate(recording *r, const uint64_t *operands,
                        uint64_t *out_bits)
{
    evaluated all[RECORDED_VALUES];
    for (int i = 0; i <= r->result; i++) {
        const recorded *value = &r->values[i];
        switch ((recorded_kind)value->kind) {
        case RECORDED_OPERAND:
            all[i] = (evaluated){operands[value->bits], true};
            break;
        case RECORDED_CONSTANT:
            all[i] = (evaluated){value->bits, true};
            break;
        case RECORDED_LOOKUP:
            all[i] = look_up(r, value, all[value->in[0]]);
            break;
        case RECORDED_PRIMITIVE:
            all[i] = evaluate_one(r, value, all);
            break;
        }
    }
    *out_bits = all[r->result].bits;
    if (!all[r->result].is_defined)
        fail(r, "an undefined result");
    return !r->fault;
}
