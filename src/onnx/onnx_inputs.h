/* SPDX-License-Identifier: MIT */
/*
 * onnx_inputs.h - the types that a model declares for its inputs and outputs.
 */
#ifndef TGI_ONNX_INPUTS_H
#define TGI_ONNX_INPUTS_H

#include "onnx_model.h"

/* Reads the specs of the inputs, and checks the element types of the outputs. */
TG_MUST_CHECK tg_status tgi_onnx_read_types(tg_onnx_model *model,
                                            const Onnx__GraphProto *graph);

#endif /* TGI_ONNX_INPUTS_H */
