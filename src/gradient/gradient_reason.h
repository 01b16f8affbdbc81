/* SPDX-License-Identifier: MIT */
/*
 * gradient_reason.h - explains gradients that do not exist.
 */
#ifndef TGI_GRADIENT_REASON_H
#define TGI_GRADIENT_REASON_H

#include "gradient/gradient_tape.h"

/* The invalid value for source i, with the reason attached. The tape must have
   been activated for this source alone. Failures stick to the trace. */
tg_value tgi_gradient_missing_value(tgi_tape *tape, const tgi_ref *targets,
                                    size_t n_targets, tgi_ref source, size_t i);

#endif /* TGI_GRADIENT_REASON_H */
