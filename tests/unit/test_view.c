/* SPDX-License-Identifier: MIT */
/* test_view.c - strided views and copies of them. */
#include "runtime/view.h"

#include <string.h>

#include "base/dtype.h"
#include "support/support.h"

Test(view, rows_follow_each_other_without_gaps)
{
    float data[24];
    tgi_view view;
    tgi_view_init(&view, data, TG_F32, 3, (int64_t[]){2, 3, 4});
    cr_assert_eq(view.data, (char *)data);
    cr_assert_eq(view.dtype, TG_F32);
    cr_assert_eq(view.rank, 3);
    cr_assert_eq(view.strides[0], 12);
    cr_assert_eq(view.strides[1], 4);
    cr_assert_eq(view.strides[2], 1);
    cr_assert_eq(tgi_view_count(&view), 24);
    cr_assert(tgi_view_is_dense(&view));
}

Test(view, scalars_and_empty_views_are_dense)
{
    tgi_view view;
    tgi_view_init(&view, NULL, TG_I8, 0, NULL);
    cr_assert_eq(tgi_view_count(&view), 1);
    cr_assert(tgi_view_is_dense(&view));
    tgi_view_init(&view, NULL, TG_I8, 2, (int64_t[]){0, 5});
    view.strides[1] = -3;
    cr_assert_eq(tgi_view_count(&view), 0);
    cr_assert(tgi_view_is_dense(&view));
}

Test(view, gaps_and_repeats_are_not_dense)
{
    tgi_view view;
    tgi_view_init(&view, NULL, TG_I8, 3, (int64_t[]){2, 1, 4});
    view.strides[1] = 99; /* extent 1: the stride is irrelevant */
    cr_assert(tgi_view_is_dense(&view));
    view.strides[0] = 5;
    cr_assert_not(tgi_view_is_dense(&view));
    view.strides[0] = 0;
    cr_assert_not(tgi_view_is_dense(&view));
    view.strides[0] = 4, view.strides[2] = -1;
    cr_assert_not(tgi_view_is_dense(&view));
}

/* -- Copies, compared with a naive loop ------------------------------------ */

enum { ROOM = 1 << 14 };

/* Offset in elements of row-major position i. */
static int64_t offset_of(const tgi_view *view, int64_t i)
{
    int64_t offset = 0;
    for (int axis = view->rank - 1; axis >= 0; axis--) {
        offset += i % view->dims[axis] * view->strides[axis];
        i /= view->dims[axis];
    }
    return offset;
}

/*
 * Gives the view strides in a shuffled order of axes, with gaps and some
 * reversed; a source may also have broadcast axes. Its data pointer is set so
 * that all elements lie in the buffer.
 */
static void shuffle(tgi_view *view, char *room, bool is_source, uint64_t *seed)
{
    int order[TG_MAX_RANK];
    for (int i = 0; i < view->rank; i++) {
        const int k = random_below(seed, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    int64_t stride = 1 + random_below(seed, 2), first = 0;
    for (int i = 0; i < view->rank; i++) {
        const int axis = order[i];
        view->strides[axis] = stride;
        stride *= view->dims[axis] + random_below(seed, 2);
        if (is_source && random_below(seed, 6) == 0)
            view->strides[axis] = 0;
        if (random_below(seed, 4) == 0) {
            first += view->strides[axis] * (view->dims[axis] - 1);
            view->strides[axis] *= -1;
        }
    }
    view->data = room + first * tgi_dtype_bytes(view->dtype);
}

Test(view, copies_agree_with_element_by_element)
{
    static const tg_dtype dtypes[] = {TG_BOOL, TG_I16, TG_F32, TG_F64};
    /* One byte off: elements are unaligned. */
    static char source[8 * ROOM], got[8 * ROOM], wanted[8 * ROOM];
    uint64_t seed = 3;
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (char)random_next(&seed);
    for (int round = 0; round < 3000; round++) {
        const tg_dtype dtype = dtypes[round % 4];
        const int64_t bytes = tgi_dtype_bytes(dtype);
        const int rank = random_below(&seed, 6);
        int64_t dims[TG_MAX_RANK];
        for (int axis = 0; axis < rank; axis++)
            dims[axis] = 1 + random_below(&seed, 4);
        tgi_view from, to;
        tgi_view_init(&from, source, dtype, rank, dims);
        tgi_view_init(&to, got, dtype, rank, dims);
        if (random_below(&seed, 4) != 0)
            shuffle(&from, source + 1, true, &seed);
        if (random_below(&seed, 2) != 0)
            shuffle(&to, got, false, &seed);

        memset(got, 0, sizeof got);
        memset(wanted, 0, sizeof wanted);
        for (int64_t i = 0; i < tgi_view_count(&to); i++)
            memcpy(wanted + (to.data - got) + offset_of(&to, i) * bytes,
                   from.data + offset_of(&from, i) * bytes, (size_t)bytes);
        tgi_view_copy(&to, &from);
        cr_assert_eq(memcmp(got, wanted, sizeof got), 0, "round %d", round);
    }
}

Test(view, copying_nothing_touches_nothing)
{
    tgi_view to, from;
    tgi_view_init(&to, NULL, TG_F32, 2, (int64_t[]){3, 0});
    tgi_view_init(&from, NULL, TG_F32, 2, (int64_t[]){3, 0});
    tgi_view_copy(&to, &from);
    cr_assert_null(to.data);
}
