/* SPDX-License-Identifier: MIT */
/*
 * live_ranges.h - live ranges of buffers over the steps of a program.
 *
 * Points. Step i has the points 2i and 2i + 1, so points increase along the
 * list of steps. An access spans the points at which it may happen: those of
 * its epoch (the steps between two barriers), because threads run the kernels
 * of an epoch in any order; or those of its step alone if the kernel is
 * straight-line, because thread 0 runs these in order. One access completes
 * before another one starts if its span ends before the span of the other.
 *
 * Live ranges. A buffer is live at a point if one of its elements may be read
 * after it, before it is written again. A live range is a sorted list of
 * intervals: the points from the first access to the last one, except for the
 * holes in which the buffer is known to be dead (live_ranges.c).
 */
#ifndef TGI_LIVE_RANGES_H
#define TGI_LIVE_RANGES_H

#include "base/arena.h"
#include "loop/loops.h"

typedef struct tgi_live_span {
    uint32_t first, last; /* points, inclusive */
} tgi_live_span;

static inline bool tgi_live_spans_overlap(tgi_live_span a, tgi_live_span b)
{
    return a.first <= b.last && b.first <= a.last;
}

#define TGI_NO_STEP UINT32_MAX

typedef struct tgi_live_interval {
    tgi_live_span span;
    /* The step whose access ends the interval, and the last point without that
       step. TGI_NO_STEP: the end is no access, and both points are equal. */
    uint32_t last_step, last_without;
} tgi_live_interval;

typedef TGI_VEC(tgi_live_interval) tgi_live_range;

/* The accesses of a step to a buffer. */
typedef struct tgi_live_access {
    uint32_t step;
    bool reads, writes;
    bool kills;      /* writes every element and reads none */
    bool is_in_turn; /* at its step, not at any time of the epoch */
} tgi_live_access;

typedef struct tgi_live_accesses {
    tgi_live_access *data; /* in order of steps */
    size_t n;
} tgi_live_accesses;

/* A node of the tree of control flow. Steps from `begin` to `end` belong to it
   or to its children. Except for a SWITCH, whose children are its cases, the
   steps of a node run in order, once per run of the node. */
typedef struct tgi_live_node {
    enum {
        TGI_LIVE_PROGRAM,
        TGI_LIVE_LOOP, /* its steps: one iteration */
        TGI_LIVE_SWITCH,
        TGI_LIVE_CASE
    } kind;
    uint32_t parent, depth; /* the program is its own parent */
    uint32_t begin, end;    /* LOOP and LOOP_END, SWITCH and SWITCH_END, … */
    uint32_t test;          /* LOOP: its TEST; 0: none */
} tgi_live_node;

typedef struct tgi_live_ranges {
    const tgi_loops *loops;
    tgi_arena arena;              /* of the arrays */
    TGI_VEC(tgi_live_node) nodes; /* [0] is the program */
    uint32_t *node;               /* by step: the innermost node */
    uint32_t *epoch_begin;        /* by step: the first step of its epoch, */
    uint32_t *epoch_end;          /* the last one, */
    uint32_t *last_exit;          /* and the last RETURN_IF_FAILED up to it;
                                       0: none */
    tgi_live_accesses *accesses;  /* by buffer */
    bool *is_memoised;            /* by buffer: live between calls */
} tgi_live_ranges;

/* Finds the accesses of all buffers. Fails when out of memory. In any case
   tgi_live_ranges_deinit is due. The program must not change meanwhile. */
tg_status tgi_live_ranges_init(tgi_live_ranges *live, const tgi_loops *loops);
void tgi_live_ranges_deinit(tgi_live_ranges *live);

/* Appends the live range of a buffer; false when out of memory. */
bool tgi_live_range_of(const tgi_live_ranges *live, tgi_buffer_id buffer,
                       tgi_live_range *out_range);

/* The points at which a step accesses a buffer. */
tgi_live_span tgi_live_span_of(const tgi_live_ranges *live,
                               const tgi_live_access *access);

/* Adds all points of `other` to `range`; false when out of memory. */
bool tgi_live_range_add(tgi_live_range *range, const tgi_live_range *other);

#endif /* TGI_LIVE_RANGES_H */
