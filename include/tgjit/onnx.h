/* SPDX-License-Identifier: MIT */
/*
 * onnx.h - ONNX models as functions. In a library of its own, libtgjit-onnx
 * (pkg-config tgjit-onnx), which tgjit.h does not include.
 *
 *     tg_onnx_model *m = tg_onnx_load(ctx, "model.onnx", NULL);
 *     tg_call(tg_onnx_function(m), TG_ARGS(x), TG_RESULTS(&y));
 *
 * The function is traced and compiled like any other; in a callback, tg_apply
 * makes it part of another function, through which gradients flow to the
 * weights. docs/ONNX.md lists the operators.
 *
 * Models are untrusted: sizes, names and nesting are checked, and external data
 * is read from below the folder of the model only. A message names the model,
 * the operator, the node and its number: "m.onnx: Conv 'conv1':3: ...".
 */
#ifndef TGJIT_ONNX_H
#define TGJIT_ONNX_H

#include "tgjit.h"

TG_BEGIN_DECLS

typedef struct tg_onnx_model tg_onnx_model;

typedef enum tg_onnx_weights {
    TG_ONNX_VARIABLES = 0, /* initializers of float dtypes with an axis are
                              variables, unless they decide a shape */
    TG_ONNX_CONSTANTS = 1  /* all are constants of the function */
} tg_onnx_weights;

typedef enum tg_onnx_shapes {
    TG_ONNX_DECLARED = 0, /* a trace serves all sizes of the extents that the
                             model leaves open; operators that need to know one
                             while tracing fail */
    TG_ONNX_EXACT = 1,    /* one trace per shape of the arguments */
    TG_ONNX_ANY = 2       /* the same, also for shapes other than declared */
} tg_onnx_shapes;

typedef struct tg_onnx_options {
    size_t struct_bytes; /* sizeof(tg_onnx_options) */
    tg_onnx_weights weights;
    tg_onnx_shapes shapes;
    const char *prefix; /* of the names of variables; NULL: none */
    uint64_t seed; /* of random numbers without a seed of their own */
} tg_onnx_options;

#define TG_ONNX_OPTIONS_INIT TG_OPTIONS_INIT(tg_onnx_options)

/*
 * Loads a model. NULL on failure: UNSUPPORTED for an operator, opset or
 * feature; DTYPE for an element type; FILE if the file cannot be read or is
 * damaged; LIMIT if graphs or functions nest too deeply; RECURSION if a function
 * of the model calls itself. Errors of dtypes and shapes are found by the first
 * trace.
 */
TG_API TG_MUST_CHECK tg_onnx_model *
tg_onnx_load(tg_context *ctx, const char *path, const tg_onnx_options *options);

/* The same from memory, without external data. `name` is for messages. */
TG_API TG_MUST_CHECK tg_onnx_model *
tg_onnx_parse(tg_context *ctx, const char *name, const void *data, size_t bytes,
              const tg_onnx_options *options);

TG_API tg_onnx_model *tg_onnx_model_retain(tg_onnx_model *model);
TG_API void tg_onnx_model_release(tg_onnx_model *model);
TG_DEFINE_AUTO(tg_onnx_model)

/* -- Inputs and outputs ---------------------------------------------------- */

/* Inputs are those of the graph that have no initializer. Names are NULL if i is
   out of range, specs and tensors too. All are lent. */
TG_API size_t tg_onnx_input_count(const tg_onnx_model *model);
TG_API const char *tg_onnx_input_name(const tg_onnx_model *model, size_t i);
/* Unknown extents with the same name are TG_SAME(k). */
TG_API const tg_spec *tg_onnx_input_spec(const tg_onnx_model *model, size_t i);
TG_API size_t tg_onnx_output_count(const tg_onnx_model *model);
TG_API const char *tg_onnx_output_name(const tg_onnx_model *model, size_t i);

/* The operator of node i of the main graph, such as "Conv", lent. */
TG_API size_t tg_onnx_node_count(const tg_onnx_model *model);
TG_API const char *tg_onnx_node_operator(const tg_onnx_model *model, size_t i);

/*
 * Whether the value of an input decides a shape, as that of the second input of
 * Reshape. Results have shapes that are known while tracing, so such an input is
 * set with tg_onnx_set_input before the function is used.
 */
TG_API bool tg_onnx_input_is_shape(const tg_onnx_model *model, size_t i);

/*
 * Makes a copy of a tensor the value of an input, which is no argument of the
 * function any more. The model gets a new function. Not thread-safe. DTYPE or
 * SHAPE if the tensor does not match the spec.
 */
TG_API TG_MUST_CHECK tg_status tg_onnx_set_input(tg_onnx_model *model, size_t i,
                                                 const tg_tensor *tensor);

/* -- Function and variables ------------------------------------------------ */

/*
 * The function, lent: its arguments are the inputs that are not set, in order,
 * and its results the outputs. Valid until an input is set; the model must
 * outlive its traces. NULL on failure.
 */
TG_API TG_MUST_CHECK tg_function *tg_onnx_function(tg_onnx_model *model);

/* The variable of an initializer, lent; NULL if there is none. */
TG_API tg_variable *tg_onnx_variable(const tg_onnx_model *model,
                                     const char *name);

/*
 * Writes up to `capacity` variables to out_variables, in the order of the file,
 * and returns how many there are. They are lent. Running means and variances of
 * BatchNormalization are not trainable.
 */
TG_API size_t tg_onnx_variables(const tg_onnx_model *model,
                                tg_variable_filter filter,
                                tg_variable **out_variables, size_t capacity);

/* -- Tensors --------------------------------------------------------------- */

/* Loads a file with one TensorProto, such as input_0.pb of ONNX's tests. NULL on
   failure: FILE or DTYPE. */
TG_API TG_MUST_CHECK tg_tensor *tg_onnx_tensor_load(tg_context *ctx,
                                                    const char *path);

TG_END_DECLS

#endif /* TGJIT_ONNX_H */
