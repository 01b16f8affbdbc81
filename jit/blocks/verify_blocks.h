/* SPDX-License-Identifier: MIT */
/*
 * verify_blocks.h - checks that row blocks do not change a result.
 */
#ifndef TGI_VERIFY_BLOCKS_H
#define TGI_VERIFY_BLOCKS_H

#include "loop/loops.h"

/*
 * Checks the row blocks of scheduled loops. TG_OK, TG_ERROR_MEMORY, or
 * TG_ERROR_INTERNAL with a message that names a kernel and the violated rule:
 *
 *   - the blocks of a kernel have each of its work items once, whole rows only;
 *   - what is reduced is not divided among blocks, except by the blocks of a
 *     split reduction;
 *   - a buffer that a kernel of the group stores to is accessed by a block only
 *     where no other block accesses it;
 *   - a row of per-thread memory is stored before it is loaded, and lies within
 *     that memory.
 *
 * Addresses are computed as intervals, for assumed extents if they are unknown.
 */
tg_status tgi_row_blocks_verify(const tgi_loops *loops);

#endif /* TGI_VERIFY_BLOCKS_H */
