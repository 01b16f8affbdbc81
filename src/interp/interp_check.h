/* SPDX-License-Identifier: MIT */
/*
 * interp_check.h - finds the operation that makes the first NaN or infinity of
 * a run (TGJIT_CHECK).
 */
#ifndef TGI_INTERP_CHECK_H
#define TGI_INTERP_CHECK_H

#include "interp/interp.h"
#include "interp/interp_instance.h"

/*
 * After a kernel has run: fails with TG_ERROR_ASSERT if its result has an
 * element of one of these kinds (TGI_CHECK_…) and no operand has any. The
 * message has the user's line, the operation, the position and the operands.
 */
tg_status tgi_interp_check_step(const tgi_instance *instance,
                                const tgi_interp_step *step, unsigned kinds);

#endif /* TGI_INTERP_CHECK_H */
