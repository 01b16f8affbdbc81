/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_stencil.c - stencils: a value combined with copies of
 * itself that are shifted by pads and slices, or in pieces of a concat. Such
 * expressions are computed piece by piece.
 */
#include "random/random_graph.h"

enum { MAX_TERMS = 3, MAX_SHIFT = 3, LARGE = 600 };

/* A shifted copy, and how it is combined with the terms before it. */
typedef struct term {
    int axis;
    bool is_moved;
    int64_t low, high, start; /* moved: padding; start of the slice */
    int64_t cut;              /* joined: length of the first piece */
    bool is_swapped;          /* joined: the first piece becomes the last */
    int combination;
} term;

static term take_term(rg_maker *m, const rg_type *type)
{
    term t = {.axis = rg_below(&m->bytes, type->rank),
              .is_moved = rg_below(&m->bytes, 2),
              .low = rg_below(&m->bytes, MAX_SHIFT),
              .high = rg_below(&m->bytes, MAX_SHIFT),
              .is_swapped = rg_below(&m->bytes, 2),
              .combination = rg_below(&m->bytes, 4)};
    t.start = rg_below(&m->bytes, (int)(t.low + t.high) + 1);
    const int64_t extent = type->dims[t.axis];
    t.cut = t.low < extent ? t.low : extent;
    return t;
}

static tg_value shifted(const rg_operand *x, const term *t)
{
    if (t->is_moved) {
        const int64_t rest = t->low + t->high - t->start;
        return tg_slice(tg_pad(x->operand, t->axis, t->low, t->high, 0),
                        t->axis, t->start, rest ? -rest : TG_END, 1);
    }
    const tg_value head = tg_slice(x->operand, t->axis, 0, t->cut, 1);
    const tg_value tail =
        tg_neg(tg_slice(x->operand, t->axis, t->cut, TG_END, 1));
    return t->is_swapped ? tg_concat(t->axis, tail, head)
                         : tg_concat(t->axis, head, tail);
}

static tg_value combine(tg_value a, tg_value b, int combination)
{
    switch (combination) {
    case 0:
        return tg_mul(a, b);
    case 1:
        return tg_max(tg_neg(a), b);
    case 2:
        return tg_add(tg_mul(a, b), b);
    default:
        return tg_add(a, b);
    }
}

/* Repeats a value along a new first axis, so that it is not straight-line
   code. */
static rg_operand enlarge(rg_maker *m, const rg_operand *x)
{
    rg_type type = x->type;
    int64_t dims[TG_MAX_RANK];
    dims[0] = type.dims[0] = LARGE / rg_count(&x->type) + 1;
    for (int i = 0; i < x->type.rank; i++) {
        dims[i + 1] = rg_dim(m, x, i);
        type.dims[i + 1] = x->type.dims[i];
    }
    type.rank++;
    return rg_value(type, RG_DO(m, tg_broadcast(x->operand, type.rank, dims)));
}

void rg_make_stencil(rg_maker *m, tgi_op op)
{
    (void)op;
    const rg_operand picked =
        rg_fit_classes(m, rg_pick_ranked(m), TGI_CLASS_NUM);
    rg_type type = picked.type;
    type.is_weak = false;
    const int64_t n = rg_count(&type);
    const bool is_enlarged = n > 0 && n < LARGE && type.rank < TG_MAX_RANK;
    const rg_operand x = is_enlarged ? enlarge(m, &picked) : picked;
    const int n_terms = 1 + rg_below(&m->bytes, MAX_TERMS);
    tg_value y = RG_DO(m, tg_neg(x.operand));
    for (int i = 0; i < n_terms; i++) {
        const term t = take_term(m, &x.type);
        y = RG_DO(m, combine(y, shifted(&x, &t), t.combination));
    }
    rg_keep(m, type, is_enlarged ? RG_DO(m, tg_sum(y, TG_AXES(0))) : y);
}
