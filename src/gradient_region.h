/* SPDX-License-Identifier: MIT */
/*
 * gradient_region.h - tapes inside tapes: between gradient_region.c and
 * gradient_loop.c.
 */
#ifndef TGI_GRADIENT_REGION_H
#define TGI_GRADIENT_REGION_H

#include "gradient_tape.h"

/* The tape of one graph of a region, whose gradients go to trace t; to be
   deinitialised in any case. */
bool tgi_inner_begin(tgi_tape *inner, tgi_tape *around, tgi_ref region,
                     size_t number, tg_trace *t);

/* Says whether the parameter that input i is depends on a source. */
void tgi_inner_activate_input(tgi_tape *inner, uint32_t i, bool is_active);

/* A node of the graph of around->t, in that of inner->t; 0 on failure. */
tgi_ref tgi_inner_reach(tgi_tape *inner, tgi_ref ref);

/* The first result from `ref` on, in the list of tape->next, that has a
   gradient; 0: none. */
tgi_ref tgi_tape_next_result(const tgi_tape *tape, tgi_ref ref);

/* True if a result of the region grows and has gradients. */
bool tgi_tape_has_slots(const tgi_tape *tape, tgi_ref region);

/* Which result a RESULT node is. */
int64_t tgi_result_index(const tgi_tape *tape, tgi_ref ref);

#endif /* TGI_GRADIENT_REGION_H */
