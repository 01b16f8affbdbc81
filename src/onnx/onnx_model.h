/* SPDX-License-Identifier: MIT */
/*
 * onnx_model.h - the struct behind tg_onnx_model.
 */
#ifndef TGI_ONNX_MODEL_H
#define TGI_ONNX_MODEL_H

#include "onnx_body.h"
#include "tgjit/onnx.h"

struct tg_onnx_model {
    size_t refs;
    tg_context *ctx;
    tgi_onnx_arena arena;
    const char *name;
    tgi_onnx_body *body;
    tg_spec *specs; /* by input */
    tg_onnx_shapes shapes;
    const tgi_onnx_array **set; /* by input; NULL: an argument */
    tg_group *group;
    tg_variable *generator; /* NULL if no operator draws random numbers */
    tg_function *function;  /* created when needed */
};

/* The callback of the function. */
void tgi_onnx_trace_model(tg_trace *t, const tg_value *in, void *user);

#endif /* TGI_ONNX_MODEL_H */
