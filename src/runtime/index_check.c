/* SPDX-License-Identifier: MIT */
/*
 * index_check.c - index readers by dtype, and the search for an index that is
 * out of range.
 */
#include "runtime/index_check.h"

#include <stdio.h>

#include "base/error.h"
#include "runtime/walk.h"

/* -- Indices --------------------------------------------------------------- */

#define READ_SINT(ID, type) \
    static int64_t read_##ID(const char *element) \
    { \
        return *(const type *)element; \
    }
#define READ_UINT(ID, type) \
    static int64_t read_##ID(const char *element) \
    { \
        uint64_t index = *(const type *)element; \
        return index > INT64_MAX ? INT64_MAX : (int64_t)index; \
    }
#define READ_BOOL(ID, type)
#define READ_FLOAT(ID, type)
#define READ_HALF(ID, type)
#define DTYPE(ID, name, type, cls) READ_##cls(ID, type)
#include "base/dtype.def"
#undef DTYPE

static tgi_read_index *const readers[TGI_DTYPES] = {
#define ENTRY_SINT(ID) [TG_##ID] = read_##ID,
#define ENTRY_UINT ENTRY_SINT
#define ENTRY_BOOL(ID)
#define ENTRY_FLOAT(ID)
#define ENTRY_HALF(ID)
#define DTYPE(ID, name, type, cls) ENTRY_##cls(ID)
#include "base/dtype.def"
#undef DTYPE
};

tgi_read_index *tgi_index_reader(int dtype)
{
    return tgi_dtype_is_valid(dtype) ? readers[dtype] : NULL;
}

/* -- The first index that is out of range ---------------------------------- */

typedef struct search {
    tgi_read_index *read;
    int64_t extent;
    int64_t position;     /* of the next index, in row-major order */
    int64_t bad_position;
    const char *bad; /* NULL: none found yet */
} search;

static void find_out_of_range(tgi_run run)
{
    search *s = run.user;
    for (int64_t i = 0; i < run.n && !s->bad; i++) {
        const char *element = run.data[0] + i * run.strides[0];
        int64_t index = s->read(element);
        if (index < 0 || index >= s->extent) {
            s->bad_position = s->position + i;
            s->bad = element;
        }
    }
    s->position += run.n;
}

/* Writes a row-major position as "[0,3]"; `text` has space for TG_MAX_RANK
   numbers. */
static void print_position(const tgi_view *view, int64_t position, char *text,
                           size_t n)
{
    int64_t at[TG_MAX_RANK];
    for (int axis = view->rank - 1; axis >= 0; axis--) {
        at[axis] = position % view->dims[axis];
        position /= view->dims[axis];
    }
    size_t used = (size_t)snprintf(text, n, "[");
    for (int axis = 0; axis < view->rank; axis++)
        used += (size_t)snprintf(text + used, n - used, "%s%lld",
                                 axis ? "," : "", (long long)at[axis]);
    snprintf(text + used, n - used, "]");
}

tg_status tgi_indices_fail(const tgi_node *node, const tgi_view *indices,
                           int64_t position, const void *element,
                           int64_t extent)
{
    const int64_t axis = *(const int64_t *)node->attr;
    char where[24 * TG_MAX_RANK], index[32];
    print_position(indices, position, where, sizeof(where));
    tgi_dtype_format(indices->dtype, element, index, sizeof(index));
    TGI_FAIL(TG_ERROR_INDEX, tgi_node_site(node),
             "%s: index %s at position %s is out of range for axis %lld "
             "of extent %lld",
             tgi_op_table[node->op].name, index, where, (long long)axis,
             (long long)extent);
}

tg_status tgi_indices_check(const tgi_node *node, const tgi_view *indices,
                            int64_t extent)
{
    search s = {.read = readers[indices->dtype], .extent = extent};
    tgi_walk_views(1, &indices, find_out_of_range, &s);
    if (!s.bad)
        return TG_OK;
    return tgi_indices_fail(node, indices, s.bad_position, s.bad, extent);
}
