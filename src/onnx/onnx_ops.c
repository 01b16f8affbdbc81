/* SPDX-License-Identifier: MIT */
/*
 * onnx_ops.c - the table of operators, and the builders that many share.
 */
#include <string.h>

#include "onnx_run.h"

/* -- Shared builders ------------------------------------------------------- */

static void build_unary(const tgi_onnx_call *c)
{
    const tg_value x = tgi_onnx_in(c, 0);
    tgi_onnx_out(c, 0, c->node->op->unary(TG_IN(x), c->site));
}

/*
 * Before opset 7 the second operand broadcast only if an attribute said so, and
 * its axes began at another attribute.
 */
static tg_value align_axes(const tgi_onnx_call *c, tg_value a, tg_value b)
{
    int64_t dims[TG_MAX_RANK];
    const int64_t axis = tgi_onnx_int(c, "axis", -1);
    const int rank = tgi_onnx_dims(b, dims), to_rank = tg_value_rank(a);
    if (c->opset >= 7 || !tgi_onnx_int(c, "broadcast", 0) || axis < 0)
        return b;
    if (axis + rank > to_rank) {
        tgi_onnx_fail(c, TG_ERROR_SHAPE, "axis %lld: %d axes do not fit into %d",
                      (long long)axis, rank, to_rank);
        return b;
    }
    int n = rank;
    for (; n < to_rank - axis; n++)
        dims[n] = 1;
    return tg_reshape_at(TG_IN(b), n, dims, c->site);
}

static void build_binary(const tgi_onnx_call *c)
{
    const tg_value a = tgi_onnx_in(c, 0), b = tgi_onnx_in(c, 1);
    const tg_value aligned = align_axes(c, a, b);
    tgi_onnx_out(c, 0, c->node->op->binary(TG_IN(a), TG_IN(aligned), c->site));
}

/* -- The table ------------------------------------------------------------- */

#define ANY TGI_ONNX_ANY_COUNT
#define RANDOM TGI_ONNX_RANDOM

static const tgi_onnx_op table[] = {
#define UNARY(name_, since_, op) \
    {.name = #name_, .since = since_, .until = TGI_ONNX_LATEST, \
     .min_inputs = 1, .max_inputs = 1, .max_outputs = 1, \
     .build = build_unary, .unary = tg_##op##_at},
#define BINARY(name_, since_, op) \
    {.name = #name_, .since = since_, .until = TGI_ONNX_LATEST, \
     .min_inputs = 2, .max_inputs = 2, .max_outputs = 1, \
     .build = build_binary, .binary = tg_##op##_at},
#define OP(name_, since_, until_, min_in, max_in, max_out, needs_, build_) \
    {.name = #name_, .since = since_, .until = until_, .min_inputs = min_in, \
     .max_inputs = max_in, .max_outputs = max_out, .needs = needs_, \
     .build = tgi_onnx_build_##build_},
#include "onnx_ops.def"
};

const tgi_onnx_op *tgi_onnx_op_find(const char *name, int64_t opset,
                                    bool *out_is_known)
{
    *out_is_known = false;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (!strcmp(table[i].name, name)) {
            *out_is_known = true;
            if (opset >= table[i].since && opset <= table[i].until)
                return &table[i];
        }
    return NULL;
}
