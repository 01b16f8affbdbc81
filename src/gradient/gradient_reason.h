/* SPDX-License-Identifier: MIT */
/*
 * gradient_reason.h - gradients that do not exist.
 */
#ifndef TGI_GRADIENT_REASON_H
#define TGI_GRADIENT_REASON_H

#include "gradient/gradient_tape.h"

/* The invalid value for source number i, which knows why it is. The tape knows
   what depends on this source alone. */
tg_value tgi_gradient_missing_value(tgi_tape *tape, const tgi_ref *targets,
                                    size_t n_targets, tgi_ref source, size_t i);

#endif /* TGI_GRADIENT_REASON_H */
