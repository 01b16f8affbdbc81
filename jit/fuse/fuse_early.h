/* SPDX-License-Identifier: MIT */
/*
 * fuse_early.h - small operands of epilogues are computed before the first
 * contraction, so that no epilogue has to wait for one.
 */
#ifndef TGI_FUSE_EARLY_H
#define TGI_FUSE_EARLY_H

#include "fuse/fuse_state.h"

/*
 * Moves nodes in the order in which fusion takes them, which is NULL if it is
 * that of the refs. *io_order is allocated if it has to change; the caller frees
 * it.
 */
tg_status tgi_fuse_move_early(const tgi_fuse_state *s, tgi_ref **io_order);

#endif /* TGI_FUSE_EARLY_H */
