/* SPDX-License-Identifier: MIT */
/*
 * onnx_run.h - running the nodes of a body inside a trace, and what the builder
 * of a node sees.
 *
 * Builders need no error checks: the first error of a trace is sticky, and later
 * operations do nothing. They must not trust ranks and extents after an error,
 * which are -1; tgi_onnx_failed tells.
 */
#ifndef TGI_ONNX_RUN_H
#define TGI_ONNX_RUN_H

#include "onnx_body.h"
#include "tgjit.h"

/*
 * An element of a small array of integers that is known while tracing: a
 * number, or the symbol of an unknown extent. A symbol that is the sum of
 * another one and a number has these in `base` and `offset`; otherwise they
 * are 0.
 */
typedef struct tgi_onnx_extent {
    int64_t n;
    bool is_symbol;
    int64_t base, offset;
} tgi_onnx_extent;

enum { TGI_ONNX_MAX_EXTENTS = 64 };

/* i64 or i32, of rank 0 or 1. */
typedef struct tgi_onnx_extents {
    tg_dtype dtype;
    int rank;
    size_t n;
    tgi_onnx_extent e[TGI_ONNX_MAX_EXTENTS];
} tgi_onnx_extents;

/* What is known about a value. `value` is of the trace of its frame, or invalid
   until it is used. */
typedef struct tgi_onnx_value {
    tg_value value;
    const tgi_onnx_array *array;     /* its contents; or NULL */
    const tgi_onnx_extents *extents; /* its contents, with symbols; or NULL */
    tg_variable *variable;
    bool is_set;
} tgi_onnx_value;

/* What all frames of a trace share. */
typedef struct tgi_onnx_trace {
    tgi_onnx_arena arena;
    tg_context *evaluator; /* a context that interprets; created when needed */
    size_t n_nodes;        /* run so far */
    tg_variable *generator; /* of random numbers; NULL if none are drawn */
} tgi_onnx_trace;

/* The execution of a body. */
typedef struct tgi_onnx_frame {
    tgi_onnx_trace *shared;
    const tgi_onnx_body *body;
    tgi_onnx_value *values;
    tg_trace *home; /* where the frame was created */
    tg_trace *t;    /* the current one: `home`, or that of a branch or loop */
    /* Of a local function: the call, whose attributes it refers to. */
    const struct tgi_onnx_call *caller;
} tgi_onnx_frame;

/* A node that is being built. */
typedef struct tgi_onnx_call {
    tgi_onnx_frame *frame;
    const tgi_onnx_node *node;
    tg_site site;
    int64_t opset;
} tgi_onnx_call;

/* A frame with no values; false, with the trace failed, if memory is short. */
bool tgi_onnx_frame_init(tgi_onnx_frame *frame, tgi_onnx_trace *shared,
                         const tgi_onnx_body *body, tg_trace *t);

/* Sets the initial values of a graph, then runs its nodes. */
void tgi_onnx_run_graph(tgi_onnx_frame *frame, const tgi_onnx_graph *graph);

/* Runs one node. */
void tgi_onnx_run_node(tgi_onnx_frame *frame, const tgi_onnx_node *node);

/* The value in the current trace. */
tg_value tgi_onnx_frame_value(tgi_onnx_frame *frame, tgi_onnx_id id,
                              tg_site site);
void tgi_onnx_frame_set(tgi_onnx_frame *frame, tgi_onnx_id id, tg_value value);

/* -- For builders ---------------------------------------------------------- */

bool tgi_onnx_failed(const tgi_onnx_call *c);
void tgi_onnx_fail(const tgi_onnx_call *c, tg_status status, const char *format,
                   ...) TG_PRINTF(3, 4);

/* Whether the node has input or output i. */
bool tgi_onnx_has(const tgi_onnx_call *c, size_t i);
bool tgi_onnx_has_out(const tgi_onnx_call *c, size_t i);

/* Input i, which must be present. */
tg_value tgi_onnx_in(const tgi_onnx_call *c, size_t i);
/* Facts about it. */
tg_dtype tgi_onnx_in_dtype(const tgi_onnx_call *c, size_t i);
int tgi_onnx_in_rank(const tgi_onnx_call *c, size_t i);

void tgi_onnx_out(const tgi_onnx_call *c, size_t i, tg_value value);

/* Attributes; of the function's caller, if the node refers to one. */
const Onnx__AttributeProto *tgi_onnx_attribute(const tgi_onnx_call *c,
                                               const char *name);
int64_t tgi_onnx_int(const tgi_onnx_call *c, const char *name,
                     int64_t otherwise);
double tgi_onnx_float(const tgi_onnx_call *c, const char *name,
                      double otherwise);
/* Whether a string attribute, or `otherwise` without one, is `text`. */
bool tgi_onnx_is(const tgi_onnx_call *c, const char *name, const char *text,
                 const char *otherwise);
/* Integers; NULL and 0 without the attribute. */
const int64_t *tgi_onnx_ints(const tgi_onnx_call *c, const char *name,
                             size_t *out_n);
/* The graph that an attribute holds; NULL, with the trace failed, if none. */
const tgi_onnx_graph *tgi_onnx_graph_of(const tgi_onnx_call *c,
                                        const char *name);

/* An axis from -rank to rank - 1, as one from 0; fails the trace otherwise. */
int tgi_onnx_axis(const tgi_onnx_call *c, int64_t axis, int rank);

/* A scalar of the dtype of x. */
tg_value tgi_onnx_scalar_like(const tgi_onnx_call *c, tg_value x,
                              double number);

/* The current values of the dims of x. Returns the rank, 0 after an error. */
int tgi_onnx_dims(tg_value x, int64_t *out_dims);

/* The builders of the table. */
#define UNARY(name, since, op)
#define BINARY(name, since, op)
#define OP(name, since, until, min_in, max_in, max_out, needs, build) \
    void tgi_onnx_build_##build(const tgi_onnx_call *c);
#include "onnx_ops.def"
#undef UNARY
#undef BINARY
#undef OP

/* Applies an operation at the site of the node; `c` is in scope. */
#define F1(name, x) tg_##name##_at(TG_IN(x), c->site)
#define F2(name, x, y) tg_##name##_at(TG_IN(x), TG_IN(y), c->site)
#define F3(name, x, y, z) tg_##name##_at(TG_IN(x), TG_IN(y), TG_IN(z), c->site)

#endif /* TGI_ONNX_RUN_H */
