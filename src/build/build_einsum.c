/* SPDX-License-Identifier: MIT */
/*
 * build_einsum.c - sums of products by labels, made of other operations:
 *
 *   a label twice in one operand        a gather of the diagonal
 *   labels that nobody else wants       a sum
 *   all others are wanted               a product of elements
 *   all others are of both operands     a product of elements, and a sum
 *   else                                a matrix product: what is not wanted
 *                                       is its k, labels of one operand its
 *                                       m and n, the others its batch
 *
 * Operands are taken from left to right, pair by pair, and a label goes as
 * soon as no later operand and not the result wants it. Labels that become
 * one axis of a matrix are merged as they lie in memory where that can be:
 * then it is a view. What is built depends on labels alone, not on extents,
 * which may be unknown: so the bits do not depend on that (docs/NUMERICS.md).
 */
#include "base/error.h"
#include "build/build_labelled.h"
#include "ir/dump.h"

/* -- Extents --------------------------------------------------------------- */

/* Records that two axes of one label, which are of these operands, differ. */
static void refuse(tgi_builder *b, const tgi_ref *operands, const char *what,
                   tgi_dim x, tgi_dim y, const char *words)
{
    tgi_strbuf text = {0};
    tgi_dim_print(b->graph->dims, x, &text);
    tgi_strbuf_add(&text, " and ");
    tgi_dim_print(b->graph->dims, y, &text);
    tgi_build_fail(b, TG_ERROR_SHAPE, operands, 2, "%s: %s %s", what,
                   text.text ? text.text : "?", words);
    tgi_strbuf_deinit(&text);
}

/* An axis of an operand. */
typedef struct place {
    tgi_ref operand;
    int axis;
} place;

/*
 * Makes sure that two axes of one label are equally long, or that they
 * broadcast if they are of '...'; *extent is the common one so far. False and
 * an error if they are known to differ.
 */
static bool join_extents(tgi_builder *b, const char *spec, int label, place x,
                         place y, tgi_dim *extent)
{
    const tgi_ref operands[] = {x.operand, y.operand};
    const tgi_dim own = tgi_graph_shape(b->graph, y.operand)->dims[y.axis];
    const tgi_dim before = *extent;
    if (own == before)
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
        fits = tgi_build_common_dim(b, before, own, extent);
        tgi_build_compare(b, 0, 0, false);
        if (!fits)
            refuse(b, operands, what.text, before, own, "do not broadcast");
    } else {
        fits = tgi_build_check(b, TGI_CHECK_EQUAL, before, own, what.text);
        if (!fits)
            refuse(b, operands, what.text, before, own, "are not equal");
    }
    tgi_strbuf_deinit(&what);
    return fits;
}

static bool check_extents(tgi_builder *b, const tgi_ref *operands,
                          const tgi_einsum_term *terms, size_t n,
                          const char *spec)
{
    place first[TGI_LABELS] = {{0}};
    tgi_dim extents[TGI_LABELS];
    for (size_t i = 0; i < n; i++)
        for (int axis = 0; axis < terms[i].rank; axis++) {
            const int label = terms[i].label[axis];
            const place here = {operands[i], axis};
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
 * The elements of equal position on two axes, as one axis behind all others:
 * every (n+1)-th one of both axes as one.
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
    const tgi_ref index =
        tgi_build_2(b, TGI_OP_MUL, tgi_build_iota(b, TG_I64, 1, &n, 0),
                    tgi_build_extent(b, step));
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

/* Sums over all axes whose labels are not wanted. */
static tgi_labelled sum_over(tgi_builder *b, const tgi_labelled *x,
                             uint64_t wanted)
{
    int axes[TG_MAX_RANK];
    size_t n = 0;
    for (int axis = 0; axis < x->term.rank; axis++)
        if (!tgi_label_in(wanted, x->term.label[axis]))
            axes[n++] = axis;
    if (!n)
        return *x;
    return (tgi_labelled){
        tgi_build_reduce(b, TGI_OP_SUM, x->ref, tg_axes_of(n, axes)),
        tgi_einsum_term_pick(&x->term, wanted)};
}

/* -- Two operands ---------------------------------------------------------- */

/* Two operands and their labels by what becomes of them. */
typedef struct pair {
    tgi_labelled a, b;
    tgi_einsum_term batch;          /* of both, or broadcast; wanted */
    tgi_einsum_term kept_a, kept_b; /* of one, wanted */
    tgi_einsum_term inner;          /* of both, summed over */
} pair;

/* What one side keeps: as it lies there, or else in the order of the result,
   since it is copied anyway. */
static tgi_einsum_term kept_of(const tgi_labelled *x, uint64_t kept,
                               const tgi_einsum_term *order)
{
    const tgi_einsum_term own = tgi_einsum_term_pick(&x->term, kept);
    return tgi_einsum_term_has_run(&x->term, &own)
               ? own
               : tgi_einsum_term_pick(order, kept);
}

/* Sorts the labels of two operands; `order` has those that are wanted, in the
   order of the result. */
static pair classify(const tgi_labelled *a, const tgi_labelled *b,
                     const tgi_einsum_term *order)
{
    const uint64_t wanted = tgi_einsum_term_mask(order);
    const uint64_t in_a = tgi_einsum_term_mask(&a->term);
    const uint64_t in_b = tgi_einsum_term_mask(&b->term);
    const uint64_t dots = ~((UINT64_C(1) << TGI_LETTERS) - 1);
    uint64_t common = in_a & in_b;
    if (common & dots)
        common |= (in_a | in_b) & dots;

    pair p = {.a = *a,
              .b = *b,
              .batch = tgi_einsum_term_pick(order, common & wanted),
              .kept_a = kept_of(a, in_a & ~common, order),
              .kept_b = kept_of(b, in_b & ~common, order),
              .inner = tgi_einsum_term_pick(&a->term, common & ~wanted)};
    const tgi_einsum_term inner =
        tgi_einsum_term_pick(&b->term, common & ~wanted);
    if (!tgi_einsum_term_has_run(&a->term, &p.inner) &&
        tgi_einsum_term_has_run(&b->term, &inner))
        p.inner = inner;
    return p;
}

/* The transposed product, if that is what comes nearer to the order of the
   result: (ab)' is b'a'. */
static void swap_sides(pair *p, const tgi_einsum_term *order)
{
    if (!p->kept_a.rank || !p->kept_b.rank ||
        tgi_einsum_term_find(order, p->kept_a.label[0]) <
            tgi_einsum_term_find(order, p->kept_b.label[0]))
        return;
    const pair old = *p;
    p->a = old.b;
    p->b = old.a;
    p->kept_a = old.kept_b;
    p->kept_b = old.kept_a;
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

/* Where no label is of one operand alone, which leaves no matrix: one fused
   loop along memory, whichever labels are summed over. */
static tgi_labelled multiply_and_sum(tgi_builder *b, const pair *p)
{
    const bool is_a = p->a.term.rank >= p->b.term.rank; /* with all of '...' */
    const tgi_labelled all =
        multiply_elements(b, p, is_a ? &p->a.term : &p->b.term);
    return sum_over(b, &all, tgi_einsum_term_mask(&p->batch));
}

/* True if the last label beside those of the batch is of that group. */
static bool ends_in(const pair *p, const tgi_labelled *x,
                    const tgi_einsum_term *group)
{
    int axis = x->term.rank - 1;
    while (tgi_einsum_term_find(&p->batch, x->term.label[axis]) >= 0)
        axis--;
    return tgi_einsum_term_find(group, x->term.label[axis]) >= 0;
}

/* One side as matrices with these rows and columns, or transposed. */
static tgi_ref as_matrices(tgi_builder *b, const pair *p, const tgi_labelled *x,
                           const tgi_einsum_term *rows,
                           const tgi_einsum_term *columns, bool is_flipped)
{
    tgi_axis_groups to = tgi_axis_groups_of(&p->batch);
    to.group[to.n++] = is_flipped ? *columns : *rows;
    to.group[to.n++] = is_flipped ? *rows : *columns;
    return tgi_build_grouped_axes(b, x, &to);
}

static tgi_labelled multiply_matrices(tgi_builder *b, pair *p,
                                      const tgi_einsum_term *order)
{
    swap_sides(p, order);
    if (p->batch.rank + 2 > TG_MAX_RANK) {
        tgi_build_fail(b, TG_ERROR_OVERFLOW, (tgi_ref[]){p->a.ref, p->b.ref}, 2,
                       "%d batch axes and a matrix are more than %d axes",
                       p->batch.rank, TG_MAX_RANK);
        return (tgi_labelled){0};
    }
    const bool flip_a = ends_in(p, &p->a, &p->kept_a);
    const bool flip_b = p->kept_b.rank && ends_in(p, &p->b, &p->inner);
    const tgi_ref left =
        as_matrices(b, p, &p->a, &p->kept_a, &p->inner, flip_a);
    const tgi_ref right =
        as_matrices(b, p, &p->b, &p->inner, &p->kept_b, flip_b);
    const int flags =
        (flip_a ? TG_TRANSPOSE_A : 0) | (flip_b ? TG_TRANSPOSE_B : 0);
    tgi_labelled product = {tgi_build_matmul(b, left, right, flags), p->batch};
    tgi_einsum_term_append(&product.term, &p->kept_a);
    tgi_einsum_term_append(&product.term, &p->kept_b);
    if (!product.ref || (p->kept_a.rank == 1 && p->kept_b.rank == 1))
        return product;

    tgi_dim dims[TG_MAX_RANK];
    int rank = 0;
    for (; rank < p->batch.rank; rank++)
        dims[rank] = tgi_graph_shape(b->graph, product.ref)->dims[rank];
    for (int i = 0; i < p->kept_a.rank; i++)
        dims[rank++] = tgi_labelled_extent(b, &p->a, p->kept_a.label[i]);
    for (int i = 0; i < p->kept_b.rank; i++)
        dims[rank++] = tgi_labelled_extent(b, &p->b, p->kept_b.label[i]);
    product.ref = tgi_build_reshape(b, product.ref, rank, dims);
    return product;
}

/* -- All operands ---------------------------------------------------------- */

/* Labels that the result or operands from number `i` on have. */
static uint64_t wanted_from(const tgi_einsum_term *terms, size_t n, size_t i,
                            const tgi_einsum_term *result)
{
    uint64_t wanted = tgi_einsum_term_mask(result);
    for (; i < n; i++)
        wanted |= tgi_einsum_term_mask(&terms[i]);
    return wanted;
}

/* The labels of a, then those of b alone, as far as they are wanted. False
   if there are more than a tensor has axes. */
static bool order_of(const tgi_einsum_term *a, const tgi_einsum_term *b,
                     uint64_t wanted, tgi_einsum_term *out_order)
{
    *out_order = tgi_einsum_term_pick(a, wanted);
    const tgi_einsum_term more =
        tgi_einsum_term_pick(b, wanted & ~tgi_einsum_term_mask(a));
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
    if (!tgi_dtype_is(dtype, tgi_op_table[TGI_OP_MATMUL].types))
        return tgi_build_fail(b, TG_ERROR_DTYPE, operands, n,
                              "needs a number type");
    if (!check_extents(b, operands, terms, n, spec))
        return 0;

    tgi_labelled all = take_diagonals(b, (tgi_labelled){operands[0], terms[0]});
    all = sum_over(b, &all, wanted_from(terms, n, 1, result));
    for (size_t i = 1; i < n; i++) {
        const uint64_t wanted = wanted_from(terms, n, i + 1, result);
        tgi_labelled next =
            take_diagonals(b, (tgi_labelled){operands[i], terms[i]});
        next = sum_over(b, &next, wanted | tgi_einsum_term_mask(&all.term));
        if (!all.ref || !next.ref)
            return 0;
        tgi_einsum_term order = *result;
        if (i + 1 < n && !order_of(&all.term, &next.term, wanted, &order))
            return tgi_build_fail(b, TG_ERROR_OVERFLOW, operands, i + 1,
                                  "their product has more than %d axes",
                                  TG_MAX_RANK);
        pair p = classify(&all, &next, &order);
        if (!p.inner.rank)
            all = multiply_elements(b, &p, &order);
        else if (!p.kept_a.rank && !p.kept_b.rank)
            all = multiply_and_sum(b, &p);
        else
            all = multiply_matrices(b, &p, &order);
    }
    const tgi_axis_groups to = tgi_axis_groups_of(result);
    return tgi_build_grouped_axes(b, &all, &to);
}
