/* SPDX-License-Identifier: MIT */
/*
 * build.h - node builders: check dtypes and shapes, insert broadcasts, contract
 * a*b+c to fma, and record checks of unknown extents. Tracing and gradients use
 * them; passes, which must preserve results, mostly add nodes directly.
 *
 * A failing builder records an error with its site and returns 0. If an operand
 * is 0, a failure is recorded already, and builders return 0.
 */
#ifndef TGI_BUILD_H
#define TGI_BUILD_H

#include "build/einsum.h"
#include "ir/graph.h"
#include "tgjit/ops.h"

typedef struct tgi_builder {
    tgi_graph *graph;
    tg_site site;        /* of the operation being built */
    const char *op_name; /* its public name, static text */
    /* Folds an elementwise node of scalar constants; NULL: passes do. Set while
       tracing, where it decides whether a literal fits a dtype (pass.h). */
    tgi_ref (*fold)(tgi_graph *graph, const tgi_node *node);
    bool no_contraction;
    bool is_fast; /* ops with a fast form are replaced by it */
    tgi_shape_ref compared[2]; /* `shapes` of the checks added, see tgi_check */
    bool is_target;            /* likewise */
    bool has_error; /* a failure is recorded and must not be overwritten */
} tgi_builder;

/* The site of the builder, for a node. */
static inline tgi_site_chain tgi_builder_site(const tgi_builder *b)
{
    return (tgi_site_chain){.file = b->site.file, .line = b->site.line};
}

/* -- Elementwise ----------------------------------------------------------- */

/* Weakly typed operands (plain numbers) take the dtype of the others. */
tgi_ref tgi_build_elementwise(tgi_builder *b, tgi_op op, const tgi_ref *inputs,
                              size_t n_inputs);
static inline tgi_ref tgi_build_1(tgi_builder *b, tgi_op op, tgi_ref x)
{
    return tgi_build_elementwise(b, op, &x, 1);
}
static inline tgi_ref tgi_build_2(tgi_builder *b, tgi_op op, tgi_ref x,
                                  tgi_ref y)
{
    return tgi_build_elementwise(b, op, (tgi_ref[]){x, y}, 2);
}
static inline tgi_ref tgi_build_3(tgi_builder *b, tgi_op op, tgi_ref x,
                                  tgi_ref y, tgi_ref z)
{
    return tgi_build_elementwise(b, op, (tgi_ref[]){x, y, z}, 3);
}
tgi_ref tgi_build_cast(tgi_builder *b, tgi_ref x, tg_dtype dtype);
tgi_ref tgi_build_bitcast(tgi_builder *b, tgi_ref x, tg_dtype dtype);

/* -- Halves (build_half.c) -------------------------------------------------- */

bool tgi_build_is_half(const tgi_builder *b, tgi_ref x);
/* A half as f32, any other x as it is. */
tgi_ref tgi_build_widen(tgi_builder *b, tgi_ref x);
/* x rounded to `dtype` if that is a half, else x. */
tgi_ref tgi_build_narrow(tgi_builder *b, tgi_ref x, tg_dtype dtype);
/* What one CAST converts to `dtype` with the result of casting x. */
tgi_ref tgi_build_cast_step(tgi_builder *b, tgi_ref x, tg_dtype dtype);

/* -- Plain numbers (build_number.c) ---------------------------------------- */

/* A literal of type `c_dtype`, or a typed scalar if `dtype` is not
   TG_DTYPE_NONE. */
tgi_ref tgi_build_number(tgi_builder *b, tg_dtype dtype, tg_dtype c_dtype,
                         tgi_number number);

/* A scalar of the dtype of x, 0 if x is 0; an f64 scalar. */
tgi_ref tgi_build_number_like(tgi_builder *b, tgi_ref x, double value);
tgi_ref tgi_build_f64(tgi_builder *b, double value);

/* A number argument whose value is known while tracing (TG_STATIC). */
tgi_ref tgi_build_static_number(tgi_builder *b, tg_dtype dtype,
                                tgi_number number);

/* TGI_NODE_NUMBER or TGI_NODE_LITERAL if x is weakly typed, else 0. */
static inline uint16_t tgi_build_weakness(const tgi_builder *b, tgi_ref x)
{
    return tgi_graph_node(b->graph, x)->flags & TGI_NODE_WEAK;
}

/* The operand of the highest type rank determines the dtype. */
enum { TGI_TYPE_RANK_TENSOR = 2 };
static inline int tgi_node_type_rank(const tgi_node *node)
{
    return node->flags & TGI_NODE_LITERAL  ? 0
           : node->flags & TGI_NODE_NUMBER ? 1
                                           : TGI_TYPE_RANK_TENSOR;
}

/* Converts in[0 … n-1] to a common dtype; TG_DTYPE_NONE and an error if there
   is none. */
tg_dtype tgi_build_unify(tgi_builder *b, tgi_ref *in, size_t n);

/* Converts a weakly typed `x` to `dtype`; 0 and an error if `x` is not weakly
   typed and has another dtype, or does not fit. */
tgi_ref tgi_build_adapt(tgi_builder *b, tgi_ref x, tg_dtype dtype);

/*
 * Moves the number checks of `inner`, a region or callee with these inputs (one
 * per parameter), to the builder's graph, or decides them. False and an error
 * if one fails.
 */
bool tgi_build_lift_number_checks(tgi_builder *b, const tgi_graph *inner,
                                  const tgi_ref *inputs);

/* -- Leaves ---------------------------------------------------------------- */

tgi_ref tgi_build_constant(tgi_builder *b, tg_dtype dtype, int rank,
                           const int64_t *dims, const void *data);
tgi_ref tgi_build_iota(tgi_builder *b, tg_dtype dtype, int rank,
                       const int64_t *dims, int axis);
tgi_ref tgi_build_extent(tgi_builder *b, tgi_dim dim);
/* Uninitialised elements, for a carried value that its loop sets completely. */
tgi_ref tgi_build_unset(tgi_builder *b, tg_dtype dtype, int rank,
                        const tgi_dim *dims);

/* -- Shapes; extents may be symbolic --------------------------------------- */

tgi_ref tgi_build_broadcast(tgi_builder *b, tgi_ref x, int rank,
                            const int64_t *dims);
tgi_ref tgi_build_reshape(tgi_builder *b, tgi_ref x, int rank,
                          const int64_t *dims);
tgi_ref tgi_build_transpose(tgi_builder *b, tgi_ref x, int n, const int *perm);
tgi_ref tgi_build_slice(tgi_builder *b, tgi_ref x, int axis, int64_t start,
                        int64_t stop, int64_t step);
tgi_ref tgi_build_pad(tgi_builder *b, tgi_ref x, int axis, int64_t low,
                      int64_t high, tgi_ref value);
/* As above, for the first n axes. */
tgi_ref tgi_build_slice_axes(tgi_builder *b, tgi_ref x, int n,
                             const int64_t *starts, const int64_t *stops,
                             const int64_t *steps);
tgi_ref tgi_build_pad_axes(tgi_builder *b, tgi_ref x, int n,
                           const int64_t *low, const int64_t *high,
                           tgi_ref value);
tgi_ref tgi_build_concat(tgi_builder *b, int axis, const tgi_ref *parts,
                         size_t n_parts);
tgi_ref tgi_build_gather(tgi_builder *b, tgi_ref x, tgi_ref indices, int axis,
                         tg_gather_mode mode);
tgi_ref tgi_build_dynamic_slice(tgi_builder *b, tgi_ref x, int axis,
                                tgi_ref start, int64_t size);
tgi_ref tgi_build_dynamic_update(tgi_builder *b, tgi_ref x, tgi_ref update,
                                 int axis, tgi_ref start);
/* As above, for the first n axes, n >= 1. */
tgi_ref tgi_build_dynamic_slice_axes(tgi_builder *b, tgi_ref x, int n,
                                     const tgi_ref *starts,
                                     const int64_t *sizes);
tgi_ref tgi_build_dynamic_update_axes(tgi_builder *b, tgi_ref x,
                                      tgi_ref update, int n,
                                      const tgi_ref *starts);

tgi_ref tgi_build_scatter(tgi_builder *b, tgi_ref x, tgi_ref indices,
                          tgi_ref updates, int axis, tg_scatter_mode mode,
                          tg_scatter_range range);

/* -- Reductions and products ----------------------------------------------- */

/* `op` is one of SUM … REDUCE_MIN. */
tgi_ref tgi_build_reduce(tgi_builder *b, tgi_op op, tgi_ref x, tg_axes axes);
/* The same, but a maximum or minimum of nothing is 0 instead of an error. */
tgi_ref tgi_build_reduce_or_zero(tgi_builder *b, tgi_op op, tgi_ref x,
                                 tg_axes axes);
/* Sum divided by the number of elements; float types only. */
tgi_ref tgi_build_mean(tgi_builder *b, tgi_ref x, tg_axes axes);
/* `op` is ARGMAX or ARGMIN. */
tgi_ref tgi_build_arg_reduce(tgi_builder *b, tgi_op op, tgi_ref x, int axis);
tgi_ref tgi_build_matmul(tgi_builder *b, tgi_ref x, tgi_ref y, int flags);
/* x with one axis in reverse order; the axis is valid. */
tgi_ref tgi_build_reverse(tgi_builder *b, tgi_ref x, int axis);
/* h[i] = x[i] * h[i-1] + y[i] along an axis, where the element before the first
   is 1 or -0; x and y broadcast. */
tgi_ref tgi_build_linear_scan(tgi_builder *b, tgi_ref x, tgi_ref y, int axis,
                              bool starts_at_one);
/* Sliding windows over n axes; appends an axis for each, in axis order. */
tgi_ref tgi_build_window(tgi_builder *b, tgi_ref x, int n, const int *axes,
                         const int64_t *sizes, const int64_t *strides,
                         const int64_t *dilations);
/* The number of windows along an axis of x, or TGI_DIM_NONE and an error. */
tgi_dim tgi_build_window_count(tgi_builder *b, tgi_ref x, int axis,
                               tgi_dim size, int64_t stride, int64_t dilation);
/* Filters reversed along their spatial axes, with channels and filters
   exchanged: those of the transpose of a convolution. */
tgi_ref tgi_build_reversed_filters(tgi_builder *b, tgi_ref w, int n_batch,
                                   int n_spatial);
/* See tgi_attr_conv. */
tgi_ref tgi_build_conv(tgi_builder *b, tgi_ref x, tgi_ref w, int n_batch,
                       const int64_t *strides, const int64_t *dilations);
/*
 * The sum of products of labelled operands (einsum.h), which are converted to a
 * common dtype in place. `spec` is the user's text, for messages, or NULL.
 */
tgi_ref tgi_build_einsum(tgi_builder *b, tgi_ref *operands,
                         const tgi_einsum_term *terms, size_t n,
                         const tgi_einsum_term *result, const char *spec);
tgi_ref tgi_build_random_bits(tgi_builder *b, tg_dtype dtype, tgi_ref key,
                              tgi_ref offset, int rank, const int64_t *dims);

/*
 * Uniform in [0, 1) or standard normal numbers from a stream of 32-bit words,
 * starting at word `offset`. An element consumes tgi_random_words words.
 */
tgi_ref tgi_build_random(tgi_builder *b, bool is_normal, tg_dtype dtype,
                         tgi_ref key, tgi_ref offset, int rank,
                         const int64_t *dims);
int64_t tgi_random_words(tg_dtype dtype, bool is_normal);

/* The product of the extents of the axes, by which tg_mean divides. */
tgi_dim tgi_build_reduced_count(tgi_builder *b, tgi_ref x, tg_axes axes);

/* -- Helpers --------------------------------------------------------------- */

/* Adds a node with the builder's site. */
tgi_ref tgi_build_node(tgi_builder *b, tgi_op op, int dtype,
                       tgi_shape_ref shape, const tgi_ref *inputs,
                       size_t n_inputs, const void *attr, size_t attr_bytes);

/*
 * Returns `added`; if it is 0, a recorded failure, sets has_error. Callers may
 * use 0 for "none" as well: the operation fails whatever they make of it.
 */
tgi_ref tgi_build_added(tgi_builder *b, tgi_ref added);

/*
 * The broadcast extent of two axes; adds a check if it is not known while
 * tracing. False if the extents are incompatible (not recorded) or when out of
 * memory (recorded).
 */
bool tgi_build_common_dim(tgi_builder *b, tgi_dim x, tgi_dim y,
                          tgi_dim *out_dim);

/* Returns `dim`; if it is TGI_DIM_NONE, a recorded failure, sets has_error. */
tgi_dim tgi_build_dim(tgi_builder *b, tgi_dim dim);

/* Sets the shapes that messages of subsequent checks print; 0 and 0 resets
   them. */
void tgi_build_compare(tgi_builder *b, tgi_shape_ref x, tgi_shape_ref y,
                       bool is_target);

/* Adds a check with the builder's site, unless it always holds. False if it
   always fails (not recorded) or when out of memory (recorded). */
bool tgi_build_check(tgi_builder *b, tgi_check_kind kind, tgi_dim x, tgi_dim y,
                     const char *what);

/*
 * Records "file:line: op: types: message" and returns 0. The types are those
 * of the n operands, joined by " x ". Does nothing if has_error is set.
 */
tgi_ref tgi_build_fail(tgi_builder *b, tg_status status,
                       const tgi_ref *operands, size_t n_operands,
                       const char *format, ...) TG_PRINTF(5, 6);

/* The axis counted from the front, or -1 and an error. */
int tgi_build_axis(tgi_builder *b, tgi_ref x, int axis);

/* The axes of x as a bit mask; false and an error if they are invalid. */
bool tgi_build_axes_mask(tgi_builder *b, tgi_ref x, tg_axes axes,
                         uint64_t *out_mask);

/* True if x has at least n axes, and n is not negative; else an error. */
bool tgi_build_check_n_axes(tgi_builder *b, tgi_ref x, int n);

/* x if it has a float dtype, else 0 and an error. */
tgi_ref tgi_build_require_float(tgi_builder *b, tgi_ref x);

/* True if x and y have equal shapes; adds checks of unknown extents. Else an
   error; `what` names the operands ("predictions and targets"). */
bool tgi_build_same_shape(tgi_builder *b, tgi_ref x, tgi_ref y,
                          const char *what);

/* The interned shape for user extents, or 0 and an error. */
tgi_shape_ref tgi_build_shape(tgi_builder *b, int rank, const int64_t *dims);

#endif /* TGI_BUILD_H */
