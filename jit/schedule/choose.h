/* SPDX-License-Identifier: MIT */
/*
 * choose.h - the choice of schedules, from the loop IR and a target.
 *
 *   choose.c          entry point; work items
 *   facts.c           levels and uniformity of insts; accesses
 *   cost.c            costs of insts and kernels
 *   choose_lanes.c    phases: lanes, tails, accumulators; nests
 *   choose_interchange.c
 *                     an outer axis inside the vector loop
 *   choose_row_order.c
 *                     columns row by row
 *   choose_wide.c     reductions down thousands of columns at once
 *   choose_matmul.c   matmuls: work items and packing
 *   choose_micro_kernel.c
 *                     matmuls: mr x nr, prefetching
 *   choose_epilogue.c reduction epilogues of matmuls
 *   choose_tiles.c    transposed tiles
 *   choose_fission.c  loop fission
 *   choose_stores.c   non-temporal stores
 *   hints.c           the same under hints; which hints are worth a try
 */
#ifndef TGI_CHOOSE_H
#define TGI_CHOOSE_H

#include "schedule/hints.h"
#include "schedule/schedule.h"
#include "target/target.h"

/*
 * Schedules every kernel of verified loops: sets its `schedule`, which the
 * loops own. Fails with TG_ERROR_MEMORY, or with TG_ERROR_UNSUPPORTED if a
 * kernel exceeds what code can be generated for.
 */
tg_status tgi_schedule_choose(tgi_loops *loops, const tgi_target *target);
/* As loop pass: tgi_loop_pass_schedule (loop/loop_pass.h). */

/* -- Within jit/schedule --------------------------------------------------- */

/* A program, while its kernels are scheduled. */
typedef struct tgi_scheduler {
    tgi_loops *program;
    const tgi_target *target;
    tgi_arena *arena;                  /* of schedules */
    const tgi_schedule_hints *hints;   /* of the kernel; never NULL */
    /* By buffer: a kernel, a host step or the next iteration of a loop reads
       it. */
    bool *is_read;
    uint32_t op_uses[TGI_OPS][TGI_DTYPES]; /* OP insts of all kernels */
} tgi_scheduler;

/* -- facts.c -- */

/* Sets level, varies and is_after_loop of every inst. */
void tgi_schedule_find_facts(tgi_schedule *s);
/* True if an access is contiguous and masked vectors can access it. */
bool tgi_schedule_is_maskable(const tgi_scheduler *r, const tgi_schedule *s,
                              const tgi_access *access);
/* -- cost.c -- */

/* Sets the cost of every inst. */
void tgi_schedule_find_costs(tgi_schedule *s);
/* Of an element of a phase: its INNER insts that vary, and reductions. */
unsigned tgi_schedule_body_cost(const tgi_schedule *s, unsigned phase);
tgi_kernel_cost tgi_schedule_kernel_cost(const tgi_schedule *s);

/* -- choose_lanes.c -- */

/* Instructions above which a body leaves no registers for the lanes of a
   reduction tree, and is not bound by memory. */
enum { TGI_HEAVY_COST = 14 };

/* Schedules all phases, with matmuls and wide columns. */
tg_status tgi_schedule_choose_lanes(const tgi_scheduler *r, tgi_schedule *s);

/* -- choose_interchange.c -- */

/* The outer axis that a loop inside the vector loop of an elementwise kernel
   should run along; -1: none. Hoists insts, and sets the extent of a work item
   along the axis, and the registers per value, at most. */
int tgi_schedule_choose_interchange(const tgi_scheduler *r, tgi_schedule *s,
                                    unsigned *out_registers);
/* Hoists every inst that does not depend on an outer axis; -1: none. */
void tgi_schedule_hoist(tgi_schedule *s, int axis);

/* -- choose_row_order.c -- */

/* True if a COLUMNS kernel with vectors of `lanes` should run row by row. Sets
   wide_columns if it then carries values. */
bool tgi_schedule_choose_row_order(const tgi_scheduler *r, tgi_schedule *s,
                                   unsigned lanes);

/* -- choose_wide.c -- */

/* Columns of a work item whose accumulators are in memory, for vectors of
   `lanes`; 0: not profitable. Rows that are accumulated at a time, and the
   memory of all columns. */
unsigned tgi_schedule_wide_columns(const tgi_schedule *s, unsigned lanes);
enum { TGI_WIDE_ROWS = 4, TGI_WIDE_BYTES = 16 << 10 };

/* Instructions per point before the loop; more are not computed again for each
   row. */
enum { TGI_MAX_POINT_COST = 4 };
unsigned tgi_schedule_point_cost(const tgi_schedule *s);

/* -- choose_matmul.c -- */

/* Decides whether a kernel is a matmul, and its sizes; sets *out_lanes to the
   lanes of its micro-kernel, or 0. Refines whether columns can be masked. */
tg_status tgi_schedule_choose_matmul(const tgi_scheduler *r, tgi_schedule *s,
                                     unsigned *out_lanes);
/* The access of an operand's load. */
const tgi_access *tgi_schedule_operand(const tgi_schedule *s, uint8_t operand);

/* Rows of C, n_panels vectors wide, that fit the stack: an eighth of L2. */
int64_t tgi_schedule_max_c_rows(const tgi_scheduler *r, const tgi_schedule *s,
                                unsigned n_panels);

/* Lets a work item have several matrices, if its rows and panels are chosen;
   may reduce the panels. */
void tgi_schedule_choose_matrices(const tgi_scheduler *r, tgi_schedule *s);

/* Work items above this number need not divide evenly among threads. */
enum { TGI_ENOUGH_ITEMS = 16 };

/* The most steps of k, a power of two, of which every k-block of A has whole
   runs that are contiguous behind an offset (a_run); 0: A has no offsets. */
unsigned tgi_schedule_longest_run(const tgi_schedule *s);

/* True if work items of `rows` x `columns` are enough for several threads. */
bool tgi_schedule_has_enough_items(const tgi_schedule *s, int64_t rows,
                                   unsigned columns);

/* -- choose_micro_kernel.c -- */

/* Registers of a vector of nr lanes of a matmul. */
unsigned tgi_schedule_nr_registers(const tgi_schedule *s, unsigned nr);

/* Sets mr, nr and the bytes that are prefetched. */
void tgi_schedule_choose_micro_kernel(const tgi_scheduler *r, tgi_schedule *s);

/* -- choose_epilogue.c -- */

/* Sets matmul.reduces_rows and reduces_columns. */
void tgi_schedule_find_epilogues(tgi_schedule *s);
/* Cost of the reduction epilogues per element. */
unsigned tgi_schedule_epilogue_cost(const tgi_schedule *s);
/* Lanes of a micro-kernel, at most: those of the reduction trees of rows. */
unsigned tgi_schedule_max_epilogue_lanes(const tgi_schedule *s);
/* Bytes of the partial results per row that stay on the stack between
   columns. */
int64_t tgi_schedule_row_epilogue_bytes(const tgi_schedule *s);

/* -- choose_tiles.c -- */

/* Decides whether a kernel goes by transposed tiles; then s->loops becomes the
   copy. False when out of memory. */
bool tgi_schedule_choose_tiles(const tgi_scheduler *r, tgi_schedule *s);
/* For schedule_random.c: adds tiles of `rows` along an outer axis, whether they
   pay or not; none if nothing is transposed. False when out of memory. */
bool tgi_schedule_add_tiles(const tgi_scheduler *r, tgi_schedule *s, int axis,
                            unsigned rows);

/* -- choose_fission.c -- */

/* Splits the body of a phase, if it is heavy and can be split. False when out
   of memory. */
bool tgi_schedule_choose_fission(const tgi_scheduler *r, tgi_schedule *s,
                                 unsigned phase);

/* -- choose_stores.c -- */

/* Sets the elements of r->is_read, which are false. */
void tgi_schedule_find_reads(const tgi_scheduler *r);
void tgi_schedule_choose_stores(const tgi_scheduler *r, tgi_schedule *s);
/* True if vectors as wide as cache lines straddle two lines in each store of a
   kernel that is not bound by arithmetic, and rows are too short to align. */
bool tgi_schedule_straddles_lines(const tgi_scheduler *r,
                                  const tgi_schedule *s);

#endif /* TGI_CHOOSE_H */
