/* SPDX-License-Identifier: MIT */
/*
 * fuse_map.h - index maps: which element of a value belongs to a point of the
 * loops, and how views change that. Fusion ignores axes of extent 1: the axes
 * of loops are those of other extents.
 */
#ifndef TGI_FUSE_MAP_H
#define TGI_FUSE_MAP_H

#include "fuse/fuse_state.h"

/* -- Domains --------------------------------------------------------------- */

/* The extents of a list of loop axes, none of them 1 (but see
   tgi_domain_ensure_lanes). */
typedef struct tgi_domain {
    int n;
    tgi_dim extent[TGI_LOOP_AXES];
} tgi_domain;

/* The axes of a node whose extents are not 1. */
tgi_domain tgi_domain_of(const tgi_fuse_state *s, tgi_ref ref);
bool tgi_domain_equals(const tgi_domain *a, const tgi_domain *b);
/* The axes of a, then those of b. */
tgi_domain tgi_domain_join(const tgi_domain *a, const tgi_domain *b);
/* Strides of a dense array with these axes. */
void tgi_domain_dense_strides(tgi_fuse_state *s, const tgi_domain *domain,
                              tgi_stride *out_strides);

/* A COLUMNS kernel has an outer axis, if only one of extent 1. */
static inline void tgi_domain_ensure_lanes(tgi_domain *outer)
{
    if (outer->n == 0)
        *outer = (tgi_domain){1, {1}};
}

/* -- Shifts ---------------------------------------------------------------- */

/* Where a DYNAMIC_SLICE or DYNAMIC_UPDATE starts, clamped to
   0 … n_starts - 1, plus outer_step times another shift. Kernel-invariant.
   Compared bytewise. */
typedef struct tgi_shift {
    tgi_ref start;
    tgi_shift_id outer; /* or none */
    int64_t outer_step;
    tgi_dim n_starts;
} tgi_shift;

/* The shift by which a DYNAMIC_SLICE or DYNAMIC_UPDATE offsets `part`, on top
   of `outer`; existing or new. None when out of memory (recorded). */
tgi_shift_id tgi_fuse_find_shift(tgi_fuse_state *s, tgi_ref ref, tgi_ref part,
                                 tgi_shift_id outer, int64_t outer_step);

/* -- Maps ------------------------------------------------------------------ */

/* Values of tgi_map_axis.axis that are not loop axes. */
enum {
    TGI_AXIS_NONE = -1,    /* invariant */
    TGI_AXIS_GATHERED = -2 /* the index of a gather */
};

/* Position on one axis of a value: start + step * loop index
   + window_step * index in a window + shift_step * shift. */
typedef struct tgi_map_axis {
    int32_t axis;       /* loop axis, or TGI_AXIS_… */
    tgi_shift_id shift; /* or none */
    tgi_dim start;
    int64_t step;
    int64_t shift_step;
    int64_t window; /* loop axis of the window, if window_step is not 0 */
    int64_t window_step;
} tgi_map_axis;

/* Compared and hashed bytewise, so it has no padding; axes past the rank are
   0. */
typedef struct tgi_map {
    int32_t rank;
    tgi_expr_id index; /* the index of a GATHERED axis, else none */
    tgi_map_axis axis[TG_MAX_RANK];
} tgi_map;

_Static_assert(sizeof(tgi_map_axis) == 48 &&
                   sizeof(tgi_map) == 8 + TG_MAX_RANK * sizeof(tgi_map_axis),
               "maps have no padding");

/* The identity: axes of extent other than 1 are the loop axes, in order. */
void tgi_map_init(const tgi_fuse_state *s, tgi_ref ref, tgi_map *out_map);
bool tgi_map_is_identity(const tgi_fuse_state *s, tgi_ref ref,
                         const tgi_map *map);

/* A view, or a DYNAMIC_SLICE: a view but for its run-time start. */
static inline bool tgi_fuse_is_view(const tgi_node *node)
{
    return tgi_op_table[node->op].cls == TGI_OPCLASS_VIEW ||
           node->op == TGI_OP_DYNAMIC_SLICE;
}

/* True if a map can be composed with the node: a view that is not a reshape
   of axes. */
bool tgi_fuse_is_affine(const tgi_fuse_state *s, tgi_ref ref);

/* From the map of an affine view to that of its input. False if there is no
   such map: windows of windows, or of which a gather or two dynamic slices
   select elements, must be in memory. */
bool tgi_map_compose(const tgi_fuse_state *s, tgi_ref view, const tgi_map *map,
                     tgi_map *out_map);
/* The same for a DYNAMIC_SLICE; false when out of memory (recorded). */
bool tgi_map_compose_dynamic(tgi_fuse_state *s, tgi_ref slice,
                             const tgi_map *map, tgi_map *out_map);

#endif /* TGI_FUSE_MAP_H */
