/* SPDX-License-Identifier: MIT */
/*
 * row_map.h - rows of a kernel, for row blocks (loops.h): the axes that count
 * them, and the accesses that stay within a row of their buffer.
 */
#ifndef TGI_ROW_MAP_H
#define TGI_ROW_MAP_H

#include "loop/loops.h"

/* Rows that kernels may have in common. */
typedef struct tgi_row_domain {
    tgi_dim matrices, rows; /* rows of each matrix */
    /* Extents of axes after the rows: one row may be this many indices of
       another kernel, whose axes are merged. */
    int n_inside;
    tgi_dim inside[TGI_LOOP_AXES];
} tgi_row_domain;

/* How a kernel uses a buffer. */
typedef struct tgi_row_use {
    tgi_buffer_id buffer;
    /* Elements between rows, if every access stays within the row at hand; 0:
       an access may not. */
    tgi_dim row_elements;
    bool reads, writes;
    /* The kernel stores the whole row before it loads from it. */
    bool is_complete;
    bool moves_with_matrices; /* row_elements == 0: differs between matrices */
} tgi_row_use;

typedef TGI_VEC(tgi_row_use) tgi_row_uses;

/* The axes of a scheduled kernel that count the rows of a domain; false: there
   are none, or its work items have other boundaries. */
bool tgi_row_kernel_find(const tgi_loops *loops, const tgi_kernel_loops *k,
                         const tgi_row_domain *domain, tgi_row_kernel *out);

/* Replaces *out by the uses of all buffers but scratch. False when out of
   memory. */
bool tgi_row_uses_find(const tgi_loops *loops, const tgi_kernel_loops *k,
                       const tgi_row_kernel *map, tgi_row_uses *out);

const tgi_row_use *tgi_row_use_of(const tgi_row_uses *uses,
                                  tgi_buffer_id buffer);

/* True if a kernel stores to a buffer that the other one accesses. */
bool tgi_kernels_conflict(const tgi_loops *loops, const tgi_kernel_loops *a,
                          const tgi_kernel_loops *b);

#endif /* TGI_ROW_MAP_H */
