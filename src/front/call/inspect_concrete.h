/* SPDX-License-Identifier: MIT */
/*
 * inspect_concrete.h - pages about traces: those of TGJIT_INSPECT.
 */
#ifndef TGI_INSPECT_CONCRETE_H
#define TGI_INSPECT_CONCRETE_H

#include "jit.h"
#include "tgjit/function.h"

/* Why calls are interpreted in mode TGI_JIT_OFF. */
#define TGI_JIT_OFF_REASON "the option jit (TGJIT_JIT) is off"

/*
 * Writes a page about the variant of these extents, if the context wants pages:
 * calls run `program`, or, if it is NULL, are interpreted for this reason.
 * Failures are logged.
 */
void tgi_concrete_write_page(tg_concrete *concrete, const int64_t *values,
                             const tgi_program *program, const char *reason);

#endif /* TGI_INSPECT_CONCRETE_H */
