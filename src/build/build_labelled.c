/* SPDX-License-Identifier: MIT */
/*
 * build_labelled.c - reorders and merges axes by label. Adjacent axes are
 * merged before they are transposed, which gives a view; a reshape after a
 * transpose would copy.
 */
#include "build/build_labelled.h"

#include <string.h>

tgi_dim tgi_labelled_extent(const tgi_builder *b, const tgi_labelled *x,
                            int label)
{
    const int axis = tgi_einsum_term_find(&x->term, label);
    return axis < 0 ? 1 : tgi_graph_shape(b->graph, x->ref)->dims[axis];
}

tgi_axis_groups tgi_axis_groups_of(const tgi_einsum_term *labels)
{
    tgi_axis_groups to = {.n = labels->rank, .n_optional = labels->rank};
    for (int i = 0; i < labels->rank; i++)
        to.group[i] = (tgi_einsum_term){1, {labels->label[i]}};
    return to;
}

static bool has_group(const tgi_labelled *x, const tgi_einsum_term *group)
{
    return group->rank && tgi_einsum_term_find(&x->term, group->label[0]) >= 0;
}

static tgi_dim group_extent(tgi_builder *b, const tgi_labelled *x,
                            const tgi_einsum_term *group)
{
    tgi_dim product = 1;
    for (int i = 0; i < group->rank; i++)
        product = tgi_dim_mul(b->graph->dims, product,
                              tgi_labelled_extent(b, x, group->label[i]));
    return tgi_build_dim(b, product);
}

tgi_ref tgi_build_permute(tgi_builder *b, tgi_ref x, int n, const int *perm)
{
    for (int i = 0; i < n; i++)
        if (perm[i] != i)
            return tgi_build_transpose(b, x, n, perm);
    return x;
}

/*
 * The labels of each group are adjacent in x: merges them, then transposes,
 * which is a view if x is contiguous. Groups that x lacks become axes of extent
 * 1, added by the same reshape, in their final position if possible.
 */
static tgi_ref merge_then_transpose(tgi_builder *b, const tgi_labelled *x,
                                    const tgi_einsum_term *groups, int n)
{
    int sequence[TG_MAX_RANK], n_present = 0, n_all;
    for (int axis = 0; axis < x->term.rank;) {
        int g = 0;
        while (tgi_einsum_term_find(&groups[g], x->term.label[axis]) < 0)
            g++;
        sequence[n_present++] = g;
        axis += groups[g].rank;
    }
    n_all = n_present;
    for (int g = 0; g < n; g++) {
        if (has_group(x, &groups[g]))
            continue;
        int at = 0;
        while (at < n_all && sequence[at] < g)
            at++;
        memmove(sequence + at + 1, sequence + at,
                (size_t)(n_all++ - at) * sizeof(sequence[0]));
        sequence[at] = g;
    }

    tgi_ref ref = x->ref;
    tgi_dim dims[TG_MAX_RANK] = {0};
    int perm[TG_MAX_RANK] = {0};
    for (int i = 0; i < n; i++) {
        dims[i] = group_extent(b, x, &groups[sequence[i]]);
        perm[sequence[i]] = i;
    }
    if (n_present != n || n_present != x->term.rank)
        ref = tgi_build_reshape(b, ref, n, dims);
    return tgi_build_permute(b, ref, n, perm);
}

tgi_ref tgi_build_grouped_axes(tgi_builder *b, const tgi_labelled *x,
                               const tgi_axis_groups *to)
{
    const tgi_einsum_term *groups = to->group, *const end = groups + to->n;
    const tgi_einsum_term *const required = groups + to->n_optional;
    bool are_adjacent = true;
    if (!x->ref)
        return 0;
    while (groups < required && !has_group(x, groups))
        groups++;
    for (const tgi_einsum_term *group = groups; group < end; group++)
        are_adjacent &=
            !has_group(x, group) || tgi_einsum_term_has_run(&x->term, group);
    if (are_adjacent)
        return merge_then_transpose(b, x, groups, (int)(end - groups));

    /* A copy: transpose to make the labels of each group adjacent. */
    tgi_dim dims[TG_MAX_RANK];
    int perm[TG_MAX_RANK], rank = 0, n = 0;
    for (; groups < end; groups++) {
        dims[rank++] = group_extent(b, x, groups);
        for (int i = 0; has_group(x, groups) && i < groups->rank; i++)
            perm[n++] = tgi_einsum_term_find(&x->term, groups->label[i]);
    }
    return tgi_build_reshape(b, tgi_build_permute(b, x->ref, n, perm), rank,
                             dims);
}
