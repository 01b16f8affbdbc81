/* SPDX-License-Identifier: MIT */
/*
 * onnx_ops.h - the table of operators.
 */
#ifndef TGI_ONNX_OPS_H
#define TGI_ONNX_OPS_H

#include "tgjit/value.h"

struct tgi_onnx_call;

/* Bits of tgi_onnx_op.needs: properties, and the inputs whose contents must be known while
   tracing; NEED_n for input n. */
enum {
    NEED_0 = 1,
    NEED_1 = 2,
    NEED_2 = 4,
    NEED_3 = 8,
    NEED_4 = 16,
    NEED_ALL = 0x7fff,
    TGI_ONNX_RANDOM = 0x8000 /* the operator draws random numbers */
};

enum { TGI_ONNX_ANY_COUNT = 255, TGI_ONNX_LATEST = 23 };

typedef struct tgi_onnx_op {
    const char *name;
    uint8_t since, until; /* the first and the last opset with this meaning */
    uint8_t min_inputs, max_inputs, max_outputs;
    uint16_t needs;
    void (*build)(const struct tgi_onnx_call *c);
    /* For the builders that many operators share. */
    tg_value (*unary)(tg_operand x, tg_site site);
    tg_value (*binary)(tg_operand a, tg_operand b, tg_site site);
} tgi_onnx_op;

/* The row of an operator of the default domain at an opset. NULL if there is
   none; *out_is_known tells if the operator exists at another opset. */
const tgi_onnx_op *tgi_onnx_op_find(const char *name, int64_t opset,
                                    bool *out_is_known);

#endif /* TGI_ONNX_OPS_H */
