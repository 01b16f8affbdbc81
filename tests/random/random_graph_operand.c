/* SPDX-License-Identifier: MIT */
/*
 * random_graph_operand.c - operands of instructions: earlier values, variables
 * (read at that point), constants and numbers; and their conversion.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random/random_graph.h"

/* -- Keeping --------------------------------------------------------------- */

/* Compares the computed type with the library's; unknown extents match any. */
static void compare_types(rg_session *s, const rg_type *type, tg_value value)
{
    if (!tg_is_valid(value) || s->complaint[0])
        return;
    bool same = tg_value_dtype(value) == (tg_dtype)type->dtype &&
                tg_value_rank(value) == type->rank;
    for (int i = 0; same && s->size == 0 && i < type->rank; i++) {
        int64_t dim = tg_value_dim(value, i);
        same = !tg_dim_is_known(dim) || dim == type->dims[i];
    }
    if (same)
        return;
    char *text = s->complaint;
    size_t room = sizeof(s->complaint);
    int at = snprintf(text, room, "node %u is %s of rank %d, expected %s[",
                      value.node, tg_dtype_name(tg_value_dtype(value)),
                      tg_value_rank(value), tg_dtype_name(type->dtype));
    for (int i = 0; i < type->rank; i++)
        at += snprintf(text + at, room - (size_t)at, i ? ",%lld" : "%lld",
                       (long long)type->dims[i]);
    snprintf(text + at, room - (size_t)at, "]");
}

rg_operand rg_keep(rg_maker *m, rg_type type, tg_value value)
{
    rg_operand operand = rg_value(type, value);
    if (m->session)
        compare_types(m->session, &type, value);
    if (m->n_values < RG_MAX_VALUES)
        m->values[m->n_values++] = operand;
    return operand;
}

/* -- Plain numbers and constants ------------------------------------------- */

rg_operand rg_immediate_exact(rg_maker *m, tg_dtype dtype)
{
    uint64_t element[1] = {0};
    rg_fill(dtype, rg_take(&m->bytes), element, 1);
    return (rg_operand){{.dtype = (uint8_t)rg_number_dtype(dtype),
                         .is_weak = true},
                        rg_number(dtype, element),
                        false};
}

rg_operand rg_immediate(rg_maker *m, tg_dtype dtype)
{
    rg_operand number = {.type = {.is_weak = true}};
    unsigned choice = rg_take(&m->bytes);
    if (choice % 4 == 0)
        return rg_immediate_exact(m, dtype);
    if (choice % 4 == 1 && tgi_dtype_is(dtype, TGI_CLASS_REAL)) {
        static const double numbers[] = {0.0, -0.0, 1.0,  -1.0,
                                         0.5, 2.0,  -3.0, 1e30};
        number.operand = tg_in_f64(numbers[choice / 4 % (dtype == TG_F16 ? 7 : 8)]);
    } else if (choice % 4 == 2) { /* valid for bool too */
        number.operand = tg_in_i32((int32_t)(choice / 4 % 2));
    } else {
        int most = dtype == TG_BOOL ? 2 : 16;
        number.operand = tg_in_i64((int64_t)(choice / 4) % most);
        if (choice >= 192 && tgi_dtype_is(dtype, TGI_CLASS_SINT))
            number.operand = tg_in_i8(-1);
    }
    number.type.dtype = number.operand.dtype;
    return number;
}

rg_operand rg_constant(rg_maker *m, rg_type type)
{
    tg_dtype dtype = (tg_dtype)type.dtype;
    uint64_t seed = rg_take(&m->bytes);
    void *data = tgi_arena_alloc(m->arena, rg_size(&type) + 1);
    if (!data)
        abort();
    rg_fill(dtype, seed, data, rg_count(&type));
    return rg_keep(m, type,
                   RG_DO(m, tg_constant(dtype, type.rank, type.dims, data)));
}

rg_operand rg_scalar(rg_maker *m, tg_dtype dtype)
{
    unsigned choice = rg_take(&m->bytes);
    for (int i = 0; choice % 2 == 0 && i < m->n_values; i++) {
        const rg_operand *x =
            &m->values[(choice + (unsigned)i) % (unsigned)m->n_values];
        if (x->type.rank == 0)
            return rg_fit_dtype(m, *x, dtype);
    }
    return rg_immediate(m, dtype);
}

/* -- Shapes ---------------------------------------------------------------- */

bool rg_is_small(const rg_maker *m, const rg_type *type)
{
    return m->is_plain || rg_count(type) <= m->program->limit;
}

bool rg_broadcast(const rg_maker *m, const rg_type *a, const rg_type *b,
                  rg_type *out_type)
{
    rg_type common = *a;
    common.rank = a->rank > b->rank ? a->rank : b->rank;
    for (int i = 0; i < common.rank; i++) {
        int own_a = i - (common.rank - a->rank);
        int own_b = i - (common.rank - b->rank);
        int64_t x = own_a >= 0 ? a->dims[own_a] : 1;
        int64_t y = own_b >= 0 ? b->dims[own_b] : 1;
        if (x != y && x != 1 && y != 1)
            return false;
        common.dims[i] = x == 1 ? y : x;
    }
    *out_type = common;
    return rg_is_small(m, &common);
}

rg_type rg_take_shape(rg_maker *m, tg_dtype dtype, int least_rank)
{
    static const int64_t extents[16] = {2, 3, 1, 4, 1, 5, 2, 3,
                                        2, 1, 3, 2, 4, 1, 2, 0};
    rg_type type = {.dtype = (uint8_t)dtype};
    unsigned choice = rg_take(&m->bytes);
    type.rank = (int8_t)(least_rank + (int)(choice % 4));
    for (int i = 0; i < type.rank; i++) {
        choice = i % 2 ? choice / 16 : rg_take(&m->bytes);
        type.dims[i] = extents[choice % 16];
    }
    return type;
}

int64_t rg_dim(rg_maker *m, const rg_operand *x, int axis)
{
    bool as_number = rg_below(&m->bytes, 16) == 15;
    return m->session && !as_number ? tg_value_dim(x->operand.as.value, axis)
                                    : x->type.dims[axis];
}

/* -- Picking --------------------------------------------------------------- */

rg_operand rg_pick_value(rg_maker *m)
{
    if (m->n_values == 0)
        return rg_constant(
            m, rg_take_shape(m, rg_take_dtype(&m->bytes, TGI_CLASS_ANY), 0));
    /* Prefers new values, to build chains and views of views. */
    unsigned choice = rg_take(&m->bytes);
    int span = choice % 4 == 0 ? m->n_values : choice % 4 == 1 ? 1 : 4;
    span = span < m->n_values ? span : m->n_values;
    return m->values[m->n_values - 1 - (int)(choice / 4) % span];
}

rg_operand rg_pick(rg_maker *m)
{
    unsigned choice = rg_take(&m->bytes);
    switch (choice % 16) {
    case 0:
        if (m->n_variables)
            return m->variables[choice / 16 % (unsigned)m->n_variables];
        break;
    case 1:
        return rg_constant(
            m, rg_take_shape(m, rg_take_dtype(&m->bytes, TGI_CLASS_ANY), 0));
    case 2:
        return rg_immediate_exact(m, rg_take_dtype(&m->bytes, TGI_CLASS_ANY));
    default:
        break;
    }
    return rg_pick_value(m);
}

rg_operand rg_pick_ranked(rg_maker *m)
{
    rg_operand x = rg_pick_value(m);
    for (int i = 0; i < m->n_values && x.type.rank == 0; i++)
        if (m->values[i].type.rank > 0)
            x = m->values[i];
    if (x.type.rank == 0)
        x = rg_constant(
            m, rg_take_shape(m, rg_take_dtype(&m->bytes, TGI_CLASS_ANY), 1));
    return x;
}

/* -- Fitting --------------------------------------------------------------- */

static rg_operand cast(rg_maker *m, rg_operand x, tg_dtype dtype)
{
    rg_type type = x.type;
    type.dtype = (uint8_t)dtype;
    type.is_weak = false;
    return rg_value(type, RG_DO(m, tg_cast(x.operand, dtype)));
}

rg_operand rg_fit_classes(rg_maker *m, rg_operand x, unsigned classes)
{
    /* Occasionally an unnecessary cast, to cover all dtypes. */
    if (tgi_dtype_is(x.type.dtype, rg_classes(classes)) && rg_below(&m->bytes, 3) > 0)
        return x;
    return cast(m, x, rg_take_dtype(&m->bytes, classes));
}

rg_operand rg_fit_dtype(rg_maker *m, rg_operand x, tg_dtype dtype)
{
    /* If the dtype might not hold the number, validity would depend on it. */
    bool adapts = x.type.is_weak && x.operand.kind == TG_OPERAND_VALUE &&
                  tgi_dtype_holds_all(dtype, x.type.dtype);
    if (adapts || (x.type.dtype == dtype && !x.type.is_weak))
        return x;
    return cast(m, x, dtype);
}

rg_operand rg_match(rg_maker *m, const rg_type *like, tg_dtype dtype)
{
    unsigned choice = rg_take(&m->bytes);
    rg_type common;
    /* Of two candidates, prefer one of the right type. */
    int found = -1;
    for (int i = 0; choice % 8 && i < m->n_values; i++) {
        int at = (int)((choice / 8 + (unsigned)i) % (unsigned)m->n_values);
        const rg_type *type = &m->values[at].type;
        if (m->is_plain ? type->rank > 0
                        : !rg_broadcast(m, like, type, &common))
            continue;
        if (found < 0)
            found = at;
        if (type->dtype == dtype) {
            found = at;
            break;
        }
    }
    return found < 0 ? rg_immediate(m, dtype)
                     : rg_fit_dtype(m, m->values[found], dtype);
}
