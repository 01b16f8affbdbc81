/* SPDX-License-Identifier: MIT */
/*
 * fuse_straightline.h - which kernels and loops become straight-line code, and
 * which buffers need no memory because of that.
 */
#ifndef TGI_FUSE_STRAIGHTLINE_H
#define TGI_FUSE_STRAIGHTLINE_H

#include "fuse/fuse_state.h"

/* Maximum number of elements of a straight-line kernel. */
enum { TGI_STRAIGHTLINE_ELEMENTS = 512 };

/* Instructions of a kernel once unrolled; 0: it is not eligible. */
uint32_t tgi_fuse_straightline_cost(const tgi_kernel_loops *k);

/* Finds the straight-line loops, and which of their values stay in registers
   (fuse_straightline_loop.c). If `explain` is not NULL, a line per loop is
   appended to it. */
tg_status tgi_straightline_loops(tgi_loops *loops, tgi_strbuf *explain);

/* True if the elements that an access touches are known at compile time. */
bool tgi_access_is_static(const tgi_kernel_loops *k, const tgi_access *access);

#endif /* TGI_FUSE_STRAIGHTLINE_H */
