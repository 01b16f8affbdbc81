/* SPDX-License-Identifier: MIT */
/*
 * build.h - makes nodes the way users mean them: checks types and shapes,
 * inserts broadcasts, contracts a*b+c, records conditions on unknown extents.
 * Tracing and gradients build through here; passes, which must not change
 * meaning, add to the graph directly.
 *
 * A failing builder records the error with its site and returns 0. A 0 among
 * the operands means the failure is recorded already: 0 comes back silently.
 */
#ifndef TGI_BUILD_H
#define TGI_BUILD_H

#include "build/einsum.h"
#include "ir/graph.h"
#include "tgjit/ops.h"

typedef struct tgi_builder {
    tgi_graph *graph;
    tg_site site;        /* of the operation being built */
    const char *op_name; /* the user's word for it, static text */
    /* Computes an elementwise node of scalar constants; NULL: left to passes.
       Set where users see whether a literal fits (pass.h). */
    tgi_ref (*fold)(tgi_graph *graph, const tgi_node *node);
    bool no_contraction;
    tgi_shape_ref compared[2]; /* what checks of extents tell: see tgi_check */
    bool is_target;
    bool has_error; /* a failure is in the record: not to be covered up */
} tgi_builder;

/* -- Elementwise ----------------------------------------------------------- */

/* Weak operands (plain numbers) take the dtype of the others. */
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

/* -- Plain numbers (build_number.c) ---------------------------------------- */

/* A literal, or a typed scalar if `dtype` is not TG_DTYPE_NONE. */
tgi_ref tgi_build_number(tgi_builder *b, tg_dtype dtype, tg_dtype c_dtype,
                         tgi_number number);

/* A number that is an argument, of a value known now (TG_STATIC). */
tgi_ref tgi_build_static_number(tgi_builder *b, tg_dtype dtype,
                                tgi_number number);

/* TGI_NODE_NUMBER or TGI_NODE_LITERAL if x comes from plain numbers only. */
static inline uint16_t tgi_build_weakness(const tgi_builder *b, tgi_ref x)
{
    return tgi_graph_node(b->graph, x)->flags & TGI_NODE_WEAK;
}

/* Of two operands the one of the higher rank decides the element type. */
enum { TGI_TYPE_RANK_TENSOR = 2 };
static inline int tgi_node_type_rank(const tgi_node *node)
{
    return node->flags & TGI_NODE_LITERAL  ? 0
           : node->flags & TGI_NODE_NUMBER ? 1
                                           : TGI_TYPE_RANK_TENSOR;
}

/* Gives in[0 … n-1] one dtype; TG_DTYPE_NONE and an error if they differ. */
tg_dtype tgi_build_unify(tgi_builder *b, tgi_ref *in, size_t n);

/* `x` as that dtype if it is weak; if it has another one: 0 and an error. */
tgi_ref tgi_build_adapt(tgi_builder *b, tgi_ref x, tg_dtype dtype);

/*
 * Conditions on numbers that `inner`, a region or a callee, has got as inputs
 * (one per parameter) become conditions of the builder's graph, or are decided
 * now. False and an error if one cannot hold.
 */
bool tgi_build_lift_number_checks(tgi_builder *b, const tgi_graph *inner,
                                  const tgi_ref *inputs);

/* -- Leaves ---------------------------------------------------------------- */

tgi_ref tgi_build_constant(tgi_builder *b, tg_dtype dtype, int rank,
                           const int64_t *dims, const void *data);
tgi_ref tgi_build_iota(tgi_builder *b, tg_dtype dtype, int rank,
                       const int64_t *dims, int axis);
tgi_ref tgi_build_extent(tgi_builder *b, tgi_dim dim);
/* What a loop begins with that sets all of it. */
tgi_ref tgi_build_unset(tgi_builder *b, tg_dtype dtype, int rank,
                        const tgi_dim *dims);

/* -- Shapes; user extents may be symbolic ---------------------------------- */

tgi_ref tgi_build_broadcast(tgi_builder *b, tgi_ref x, int rank,
                            const int64_t *dims);
tgi_ref tgi_build_reshape(tgi_builder *b, tgi_ref x, int rank,
                          const int64_t *dims);
tgi_ref tgi_build_transpose(tgi_builder *b, tgi_ref x, int n, const int *perm);
tgi_ref tgi_build_slice(tgi_builder *b, tgi_ref x, int axis, int64_t start,
                        int64_t stop, int64_t step);
tgi_ref tgi_build_pad(tgi_builder *b, tgi_ref x, int axis, int64_t low,
                      int64_t high, tgi_ref value);
tgi_ref tgi_build_concat(tgi_builder *b, int axis, const tgi_ref *parts,
                         size_t n_parts);
tgi_ref tgi_build_gather(tgi_builder *b, tgi_ref x, tgi_ref indices, int axis,
                         tg_gather_mode mode);
tgi_ref tgi_build_dynamic_slice(tgi_builder *b, tgi_ref x, int axis,
                                tgi_ref start, int64_t size);
tgi_ref tgi_build_dynamic_update(tgi_builder *b, tgi_ref x, tgi_ref update,
                                 int axis, tgi_ref start);

tgi_ref tgi_build_scatter(tgi_builder *b, tgi_ref x, tgi_ref indices,
                          tgi_ref updates, int axis, tg_scatter_mode mode,
                          tg_scatter_range range);

/* -- Reductions and products ----------------------------------------------- */

/* Op is one of SUM … REDUCE_MIN. */
tgi_ref tgi_build_reduce(tgi_builder *b, tgi_op op, tgi_ref x, tg_axes axes);
/* sum / n; float types. */
tgi_ref tgi_build_mean(tgi_builder *b, tgi_ref x, tg_axes axes);
/* ARGMAX or ARGMIN. */
tgi_ref tgi_build_arg_reduce(tgi_builder *b, tgi_op op, tgi_ref x, int axis);
tgi_ref tgi_build_matmul(tgi_builder *b, tgi_ref x, tgi_ref y, int flags);
/*
 * The sum of products of labelled operands (einsum.h), which get one dtype
 * in place. `spec` is what the user wrote, for messages; NULL: no text.
 */
tgi_ref tgi_build_einsum(tgi_builder *b, tgi_ref *operands,
                         const tgi_einsum_term *terms, size_t n,
                         const tgi_einsum_term *result, const char *spec);
tgi_ref tgi_build_random_bits(tgi_builder *b, tg_dtype dtype, tgi_ref key,
                              tgi_ref offset, int rank, const int64_t *dims);

/*
 * Uniform in [0, 1) and standard normal numbers of a stream from word
 * `offset` on; each element takes tgi_random_words of it.
 */
tgi_ref tgi_build_random(tgi_builder *b, bool is_normal, tg_dtype dtype,
                         tgi_ref key, tgi_ref offset, int rank,
                         const int64_t *dims);
int64_t tgi_random_words(tg_dtype dtype, bool is_normal);

/* The product of the extents of the axes: what tg_mean divides by. */
tgi_dim tgi_build_reduced_count(tgi_builder *b, tgi_ref x, tg_axes axes);

/* -- Helpers --------------------------------------------------------------- */

/* Adds a node of the builder's site. */
tgi_ref tgi_build_node(tgi_builder *b, tgi_op op, int dtype,
                       tgi_shape_ref shape, const tgi_ref *inputs,
                       size_t n_inputs, const void *attr, size_t attr_bytes);

/*
 * The common extent of two broadcast axes. True and a condition if only the
 * call can tell; false, recording nothing but lack of memory, if they clash.
 */
bool tgi_build_common_dim(tgi_builder *b, tgi_dim x, tgi_dim y,
                          tgi_dim *out_dim);

/* The extent itself; TGI_DIM_NONE is noted as a recorded failure. */
tgi_dim tgi_build_dim(tgi_builder *b, tgi_dim dim);

/* The checks that follow compare extents of these shapes, which messages will
   name; 0 and 0 ends it. */
void tgi_build_compare(tgi_builder *b, tgi_shape_ref x, tgi_shape_ref y,
                       bool is_target);

/* Records a condition of the builder's site, unless it is known to hold;
   false if it is known not to (nothing recorded) or out of memory. */
bool tgi_build_check(tgi_builder *b, tgi_check_kind kind, tgi_dim x, tgi_dim y,
                     const char *what);

/*
 * Records "file:line: op: types: message" and returns 0. The types are those
 * of the n operands, joined by " x ". Does not replace what has_error.
 */
tgi_ref tgi_build_fail(tgi_builder *b, tg_status status,
                       const tgi_ref *operands, size_t n_operands,
                       const char *format, ...) TG_PRINTF(5, 6);

/* Axis counted from the front, or -1 and an error. */
int tgi_build_axis(tgi_builder *b, tgi_ref x, int axis);

/* The interned shape for user extents, or 0 and an error. */
tgi_shape_ref tgi_build_shape(tgi_builder *b, int rank, const int64_t *dims);

#endif /* TGI_BUILD_H */
