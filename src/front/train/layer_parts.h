/* SPDX-License-Identifier: MIT */
/*
 * layer_parts.h - steps that several layers share.
 */
#ifndef TGI_LAYER_PARTS_H
#define TGI_LAYER_PARTS_H

#include "front/trace/trace_state.h"
#include "tgjit/layers.h"

/* True if the layer is not NULL; else an error. */
bool tgi_layer_check(tgi_operation *o, const void *layer);

/* The contents of a variable of a layer; 0 and an error if it is NULL. */
tgi_ref tgi_layer_read(tgi_operation *o, tg_variable *variable);

/*
 * x * weights + bias along the last axis of x, with any axes before it. The
 * bias may be NULL. 0 on error.
 */
tgi_ref tgi_layer_project(tgi_operation *o, tgi_ref x, tg_variable *weights,
                          tg_variable *bias);

#endif /* TGI_LAYER_PARTS_H */
