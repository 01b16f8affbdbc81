/* SPDX-License-Identifier: MIT */
/*
 * build_einsum.c - lowers Einstein summation to other operations. A label is
 * live if a later operand or the result has it.
 *
 *   a label repeated in one operand      gather of the diagonal
 *   dead labels of one operand           sum
 *   pair, all labels live                elementwise product
 *   pair, all labels shared              elementwise product, then sum
 *   pair, otherwise                      matmul: dead labels are k, labels of
 *                                        one operand are m and n, the others
 *                                        are batch axes
 *
 * Operands are combined from left to right. Labels that form one axis of a
 * matrix are merged in memory order where possible, which gives a view. The
 * lowering depends only on labels, not on extents, which may be unknown; so
 * neither do the bits (docs/NUMERICS.md).
 */
#include "base/error.h"
#include "build/build_labelled.h"
#include "ir/dump.h"

/* -- Extents --------------------------------------------------------------- */

/* Records that the extents x and y of two axes with one label conflict. */
static void fail_extents(tgi_builder *b, const tgi_ref *operands,
                         const char *what, tgi_dim x, tgi_dim y,
                         const char *problem)
{
    tgi_strbuf text = {0};
    tgi_dim_print(b->graph->dims, x, &text);
    tgi_strbuf_add(&text, " and ");
    tgi_dim_print(b->graph->dims, y, &text);
    tgi_build_fail(b, TG_ERROR_SHAPE, operands, 2, "%s: %s %s", what,
                   text.text ? text.text : "?", problem);
    tgi_strbuf_deinit(&text);
}

typedef struct operand_axis {
    tgi_ref operand;
    int axis;
} operand_axis;

/*
 * Checks that two axes with one label have equal extents, or broadcast if they
 * belong to '...'; updates the common extent. False and an error if they are
 * known to conflict.
 */
static bool join_extents(tgi_builder *b, const char *spec, int label,
                         operand_axis x, operand_axis y, tgi_dim *extent)
{
    const tgi_ref operands[] = {x.operand, y.operand};
    const tgi_dim extent_y = tgi_graph_shape(b->graph, y.operand)->dims[y.axis];
    const tgi_dim previous = *extent;
    if (extent_y == previous)
        return true;
    tgi_strbuf what = {0};
    bool fits = false;
    if (!spec) {
        tgi_strbuf_addf(&what, "axes %d and %d", x.axis, y.axis);
    } else {
        if (tgi_label_is_letter(label))
            tgi_strbuf_addf(&what, "label '%c' of ", tgi_label_letter(label));
        else
            tgi_strbuf_add(&what, "'...' of ");
        tgi_quote(spec, '"', &what);
    }
    if (what.failed) {
        tgi_error_memory();
    } else if (!tgi_label_is_letter(label)) {
        tgi_build_compare(b, tgi_graph_node(b->graph, x.operand)->shape,
                          tgi_graph_node(b->graph, y.operand)->shape, false);
        fits = tgi_build_common_dim(b, previous, extent_y, extent);
        tgi_build_compare(b, 0, 0, false);
        if (!fits)
            fail_extents(b, operands, what.text, previous, extent_y,
                         "do not broadcast");
    } else {
        fits =
            tgi_build_check(b, TGI_CHECK_EQUAL, previous, extent_y, what.text);
        if (!fits)
            fail_extents(b, operands, what.text, previous, extent_y,
                         "are not equal");
    }
    tgi_strbuf_deinit(&what);
    return fits;
}

static bool check_extents(tgi_builder *b, const tgi_ref *operands,
                          const tgi_einsum_term *terms, size_t n,
                          const char *spec)
{
    operand_axis first[TGI_LABELS] = {{0}};
    tgi_dim extents[TGI_LABELS];
    for (size_t i = 0; i < n; i++)
        for (int axis = 0; axis < terms[i].rank; axis++) {
            const int label = terms[i].label[axis];
            const operand_axis here = {operands[i], axis};
            if (!first[label].operand) {
                first[label] = here;
                extents[label] =
                    tgi_graph_shape(b->graph, operands[i])->dims[axis];
            } else if (!join_extents(b, spec, label, first[label], here,
                                     &extents[label])) {
                return false;
            }
        }
    return true;
}

/* -- One operand ----------------------------------------------------------- */

/*
 * The diagonal of two axes, as a new last axis: merges the axes and gathers
 * every (n+1)-th element.
 */
static tgi_labelled take_diagonal(tgi_builder *b, const tgi_labelled *x,
                                  int first, int second)
{
    const tgi_einsum_term label = {1, {x->term.label[first]}};
    const tgi_shape *shape = tgi_graph_shape(b->graph, x->ref);
    const tgi_dim n = shape->dims[first];
    tgi_labelled y = {0};
    tgi_dim dims[TG_MAX_RANK];
    int perm[TG_MAX_RANK];
    for (int axis = 0; axis < x->term.rank; axis++)
        if (axis != first && axis != second) {
            perm[y.term.rank] = axis;
            dims[y.term.rank] = shape->dims[axis];
            y.term.label[y.term.rank++] = x->term.label[axis];
        }
    const int last = y.term.rank;
    perm[last] = first;
    perm[last + 1] = second;
    dims[last] =
        tgi_build_dim(b, tgi_dim_mul(b->graph->dims, n, shape->dims[second]));
    tgi_einsum_term_append(&y.term, &label);

    tgi_ref flat = tgi_build_permute(b, x->ref, last + 2, perm);
    flat = tgi_build_reshape(b, flat, last + 1, dims);
    const tgi_dim step = tgi_build_dim(b, tgi_dim_add(b->graph->dims, n, 1));
    tgi_ref index = tgi_build_iota(b, TG_I64, 1, &n, 0);
    index = tgi_build_2(b, TGI_OP_MUL, index, tgi_build_extent(b, step));
    y.ref = tgi_build_gather(b, flat, index, last, TG_GATHER_ZERO);
    return y;
}

static tgi_labelled take_diagonals(tgi_builder *b, tgi_labelled x)
{
    for (int axis = 1; x.ref && axis < x.term.rank; axis++) {
        const int first = tgi_einsum_term_find(&x.term, x.term.label[axis]);
        if (first == axis)
            continue;
        x = take_diagonal(b, &x, first, axis);
        axis = 0;
    }
    return x;
}

/* Sums over all axes with dead labels. */
static tgi_labelled sum_dead_labels(tgi_builder *b, const tgi_labelled *x,
                                    uint64_t live)
{
    int axes[TG_MAX_RANK];
    size_t n = 0;
    for (int axis = 0; axis < x->term.rank; axis++)
        if (!tgi_label_in(live, x->term.label[axis]))
            axes[n++] = axis;
    if (!n)
        return *x;
    return (tgi_labelled){
        tgi_build_reduce(b, TGI_OP_SUM, x->ref, tg_axes_of(n, axes)),
        tgi_einsum_term_pick(&x->term, live)};
}

/* -- Two operands ---------------------------------------------------------- */

/* Two operands, and their labels by role in a matmul. */
typedef struct pair {
    tgi_labelled a, b;
    tgi_einsum_term batch;          /* live, of both operands or broadcast */
    tgi_einsum_term free_a, free_b; /* live, of one operand: m and n */
    tgi_einsum_term inner;          /* dead, of both operands: k */
} pair;

/* The free labels of one operand: in its order if they are adjacent, else in
   the order of the result, because they are copied anyway. */
static tgi_einsum_term free_labels(const tgi_labelled *x, uint64_t free_mask,
                                   const tgi_einsum_term *order)
{
    const tgi_einsum_term in_x = tgi_einsum_term_pick(&x->term, free_mask);
    return tgi_einsum_term_has_run(&x->term, &in_x)
               ? in_x
               : tgi_einsum_term_pick(order, free_mask);
}

/* Classifies the labels of two operands; `order` has the live ones, in the
   order of the result. */
static pair classify_labels(const tgi_labelled *a, const tgi_labelled *b,
                            const tgi_einsum_term *order)
{
    const uint64_t live = tgi_einsum_term_mask(order);
    const uint64_t in_a = tgi_einsum_term_mask(&a->term);
    const uint64_t in_b = tgi_einsum_term_mask(&b->term);
    const uint64_t dots = ~((UINT64_C(1) << TGI_LETTERS) - 1);
    uint64_t common = in_a & in_b;
    if (common & dots)
        common |= (in_a | in_b) & dots;

    pair p = {.a = *a,
              .b = *b,
              .batch = tgi_einsum_term_pick(order, common & live),
              .free_a = free_labels(a, in_a & ~common, order),
              .free_b = free_labels(b, in_b & ~common, order),
              .inner = tgi_einsum_term_pick(&a->term, common & ~live)};
    const tgi_einsum_term inner =
        tgi_einsum_term_pick(&b->term, common & ~live);
    if (!tgi_einsum_term_has_run(&a->term, &p.inner) &&
        tgi_einsum_term_has_run(&b->term, &inner))
        p.inner = inner;
    return p;
}

/* Swaps the operands if the transposed product, (ab)' = b'a', is closer to the
   order of the result. */
static void swap_operands(pair *p, const tgi_einsum_term *order)
{
    if (!p->free_a.rank || !p->free_b.rank ||
        tgi_einsum_term_find(order, p->free_a.label[0]) <
            tgi_einsum_term_find(order, p->free_b.label[0]))
        return;
    const pair old = *p;
    p->a = old.b;
    p->b = old.a;
    p->free_a = old.free_b;
    p->free_b = old.free_a;
}

static tgi_labelled multiply_elements(tgi_builder *b, const pair *p,
                                      const tgi_einsum_term *order)
{
    const tgi_axis_groups to = tgi_axis_groups_of(order);
    const tgi_ref left = tgi_build_grouped_axes(b, &p->a, &to);
    return (tgi_labelled){
        tgi_build_2(b, TGI_OP_MUL, left, tgi_build_grouped_axes(b, &p->b, &to)),
        *order};
}

/* All labels are shared, so there is no matrix: an elementwise product and a
   sum, which fuse into one loop. */
static tgi_labelled multiply_and_sum(tgi_builder *b, const pair *p)
{
    /* The operand of higher rank has all axes of '...'. */
    const bool is_a = p->a.term.rank >= p->b.term.rank;
    const tgi_labelled all =
        multiply_elements(b, p, is_a ? &p->a.term : &p->b.term);
    return sum_dead_labels(b, &all, tgi_einsum_term_mask(&p->batch));
}

/* True if the last label of x, apart from batch labels, is in the group. */
static bool last_label_is_in(const pair *p, const tgi_labelled *x,
                             const tgi_einsum_term *group)
{
    int axis = x->term.rank - 1;
    while (tgi_einsum_term_find(&p->batch, x->term.label[axis]) >= 0)
        axis--;
    return tgi_einsum_term_find(group, x->term.label[axis]) >= 0;
}

/* One operand as batched matrices of these rows and columns, or transposed. */
static tgi_ref as_matrices(tgi_builder *b, const pair *p, const tgi_labelled *x,
                           const tgi_einsum_term *rows,
                           const tgi_einsum_term *columns, bool is_transposed)
{
    tgi_axis_groups to = tgi_axis_groups_of(&p->batch);
    to.group[to.n++] = is_transposed ? *columns : *rows;
    to.group[to.n++] = is_transposed ? *rows : *columns;
    return tgi_build_grouped_axes(b, x, &to);
}

static tgi_labelled multiply_matrices(tgi_builder *b, pair *p,
                                      const tgi_einsum_term *order)
{
    swap_operands(p, order);
    if (p->batch.rank + 2 > TG_MAX_RANK) {
        tgi_build_fail(b, TG_ERROR_OVERFLOW, (tgi_ref[]){p->a.ref, p->b.ref}, 2,
                       "%d batch axes and 2 matrix axes exceed the limit of %d",
                       p->batch.rank, TG_MAX_RANK);
        return (tgi_labelled){0};
    }
    const bool transpose_a = last_label_is_in(p, &p->a, &p->free_a);
    const bool transpose_b =
        p->free_b.rank && last_label_is_in(p, &p->b, &p->inner);
    const tgi_ref left =
        as_matrices(b, p, &p->a, &p->free_a, &p->inner, transpose_a);
    const tgi_ref right =
        as_matrices(b, p, &p->b, &p->inner, &p->free_b, transpose_b);
    const int flags =
        (transpose_a ? TG_TRANSPOSE_A : 0) | (transpose_b ? TG_TRANSPOSE_B : 0);
    tgi_labelled product = {tgi_build_matmul(b, left, right, flags), p->batch};
    tgi_einsum_term_append(&product.term, &p->free_a);
    tgi_einsum_term_append(&product.term, &p->free_b);
    if (!product.ref || (p->free_a.rank == 1 && p->free_b.rank == 1))
        return product;

    tgi_dim dims[TG_MAX_RANK];
    int rank = 0;
    for (; rank < p->batch.rank; rank++)
        dims[rank] = tgi_graph_shape(b->graph, product.ref)->dims[rank];
    for (int i = 0; i < p->free_a.rank; i++)
        dims[rank++] = tgi_labelled_extent(b, &p->a, p->free_a.label[i]);
    for (int i = 0; i < p->free_b.rank; i++)
        dims[rank++] = tgi_labelled_extent(b, &p->b, p->free_b.label[i]);
    product.ref = tgi_build_reshape(b, product.ref, rank, dims);
    return product;
}

/* -- All operands ---------------------------------------------------------- */

/* The labels of the result and of operands i … n - 1. */
static uint64_t live_labels(const tgi_einsum_term *terms, size_t n, size_t i,
                            const tgi_einsum_term *result)
{
    uint64_t live = tgi_einsum_term_mask(result);
    for (; i < n; i++)
        live |= tgi_einsum_term_mask(&terms[i]);
    return live;
}

/* The live labels of a, then those only of b. False if there are more than
   TG_MAX_RANK. */
static bool product_order(const tgi_einsum_term *a, const tgi_einsum_term *b,
                          uint64_t live, tgi_einsum_term *out_order)
{
    *out_order = tgi_einsum_term_pick(a, live);
    const tgi_einsum_term more =
        tgi_einsum_term_pick(b, live & ~tgi_einsum_term_mask(a));
    if (out_order->rank + more.rank > TG_MAX_RANK)
        return false;
    tgi_einsum_term_append(out_order, &more);
    return true;
}

tgi_ref tgi_build_einsum(tgi_builder *b, tgi_ref *operands,
                         const tgi_einsum_term *terms, size_t n,
                         const tgi_einsum_term *result, const char *spec)
{
    for (size_t i = 0; i < n; i++)
        if (!operands[i])
            return 0;
    tg_dtype dtype = tgi_build_unify(b, operands, n);
    if (dtype == TG_DTYPE_NONE)
        return 0;
    if (!tgi_dtype_is(dtype, TGI_CLASS_NUM_HALF))
        return tgi_build_fail(b, TG_ERROR_DTYPE, operands, n,
                              "needs a number type");
    if (!check_extents(b, operands, terms, n, spec))
        return 0;

    for (size_t i = 0; i < n; i++)
        if (!(operands[i] = tgi_build_widen(b, operands[i])))
            return 0;

    tgi_labelled all = take_diagonals(b, (tgi_labelled){operands[0], terms[0]});
    all = sum_dead_labels(b, &all, live_labels(terms, n, 1, result));
    for (size_t i = 1; i < n; i++) {
        const uint64_t live = live_labels(terms, n, i + 1, result);
        tgi_labelled next =
            take_diagonals(b, (tgi_labelled){operands[i], terms[i]});
        next = sum_dead_labels(b, &next,
                               live | tgi_einsum_term_mask(&all.term));
        if (!all.ref || !next.ref)
            return 0;
        tgi_einsum_term order = *result;
        if (i + 1 < n && !product_order(&all.term, &next.term, live, &order))
            return tgi_build_fail(b, TG_ERROR_OVERFLOW, operands, i + 1,
                                  "the product has more than %d axes",
                                  TG_MAX_RANK);
        pair p = classify_labels(&all, &next, &order);
        if (!p.inner.rank)
            all = multiply_elements(b, &p, &order);
        else if (!p.free_a.rank && !p.free_b.rank)
            all = multiply_and_sum(b, &p);
        else
            all = multiply_matrices(b, &p, &order);
    }
    const tgi_axis_groups to = tgi_axis_groups_of(result);
    return tgi_build_narrow(b, tgi_build_grouped_axes(b, &all, &to), dtype);
}
