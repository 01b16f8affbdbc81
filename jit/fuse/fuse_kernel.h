/* SPDX-License-Identifier: MIT */
/*
 * fuse_kernel.h - kernels as fusion forms them: lists of tasks with a common
 * iteration domain. A split kernel becomes two of the loop IR.
 */
#ifndef TGI_FUSE_KERNEL_H
#define TGI_FUSE_KERNEL_H

#include "fuse/fuse_task.h"

typedef struct tgi_fuse_kernel {
    bool is_closed; /* accepts no more tasks */
    bool has_reduction;
    bool has_matmul; /* COLUMNS, by micro-kernels */
    bool is_split;   /* each block of its reductions is a point (split-K) */
    uint8_t vectors; /* tgi_vectors */
    uint16_t n_phases;
    tgi_domain outer, inner;
    TGI_VEC(tgi_task_id) tasks;
    uint32_t n_instructions; /* of its tasks */
} tgi_fuse_kernel;

static inline tgi_fuse_kernel *tgi_fuse_kernel_at(const tgi_fuse_state *s,
                                                  tgi_fuse_kernel_id id)
{
    return &s->kernels.data[tgi_fuse_kernel_id_index(id)];
}

/* Task i of a kernel. */
static inline tgi_task *tgi_fuse_kernel_task(const tgi_fuse_state *s,
                                             const tgi_fuse_kernel *k, size_t i)
{
    return tgi_fuse_task(s, k->tasks.data[i]);
}

/* fuse_kernel.c: appends the kernel to the loops, as none if it has no points,
   as two if it is split. */
tg_status tgi_fuse_build_kernel(tgi_fuse_state *s, const tgi_fuse_kernel *k);

/* fuse_sites.c: sets the sites of a kernel of the loops. */
tg_status tgi_fuse_set_sites(tgi_fuse_state *s, const tgi_fuse_kernel *k,
                             tgi_kernel_loops *loops);

/* -- fuse_place.c ---------------------------------------------------------- */

/* Places all tasks into kernels, or sets must_restart. */
tg_status tgi_fuse_place(tgi_fuse_state *s);

/* True if a load through `map` of a value that `writer` stores in the same
   kernel reads the element that the same point has stored. */
bool tgi_fuse_is_aligned(const tgi_fuse_state *s, const tgi_task *writer,
                         const tgi_expr_node *node, const tgi_map *map);

/* -- fuse_reduction_epilogue.c --------------------------------------------- */

/* True if a task can be a reduction epilogue of a kernel, profitably. */
bool tgi_fuse_can_be_epilogue(tgi_fuse_state *s, tgi_fuse_kernel_id kernel,
                              const tgi_task *task);
void tgi_fuse_make_epilogue(const tgi_fuse_state *s, const tgi_fuse_kernel *k,
                            tgi_task *task);

/* -- fuse_order.c ---------------------------------------------------------- */

/* The task that stores the value that a node of `task` loads; NULL: none. */
tgi_task *tgi_fuse_writer(tgi_fuse_state *s, const tgi_task *task,
                          tgi_expr_id id);

/* The last kernel that a task depends on. The task goes into a later one, or
   into that one if can_join. */
typedef struct tgi_fuse_bounds {
    tgi_fuse_kernel_id last; /* none: any kernel will do */
    bool can_join;
} tgi_fuse_bounds;
tgi_fuse_bounds tgi_fuse_bounds_of(tgi_fuse_state *s, const tgi_task *task);

/* True if a kernel may access the variables that a task reads or writes, given
   its own accesses to them. */
bool tgi_fuse_can_access_variables(tgi_fuse_state *s, tgi_fuse_kernel_id kernel,
                                   const tgi_task *task);
/* A READ of the task that sees other contents by the time of `kernel`; 0:
   none. */
tgi_ref tgi_fuse_find_stale_read(const tgi_fuse_state *s, const tgi_task *task,
                                 tgi_fuse_kernel_id kernel);
/* True if an assignment reads other elements of its variable than the one it
   writes at the same point. */
bool tgi_fuse_reads_other_points(const tgi_fuse_state *s, const tgi_task *task);
/* True if the elements of `indices` are in 0 … extent - 1 when `kernel` runs: a
   check in an earlier one would have ended the call. */
bool tgi_fuse_is_in_range(const tgi_fuse_state *s, tgi_ref indices,
                          tgi_dim extent, tgi_fuse_kernel_id kernel);
/* Records the reads and writes of a placed task. */
void tgi_fuse_record_accesses(tgi_fuse_state *s, const tgi_task *task);

#endif /* TGI_FUSE_KERNEL_H */
