/* SPDX-License-Identifier: MIT */
/*
 * fuse_buffer.h - buffers of values, created on first use. All functions that
 * return an id return none when out of memory (recorded).
 */
#ifndef TGI_FUSE_BUFFER_H
#define TGI_FUSE_BUFFER_H

#include "fuse/fuse_state.h"

tgi_buffer_id tgi_fuse_add_buffer(tgi_fuse_state *s, tgi_loop_buffer buffer);

/* The buffer that a value is loaded from. */
tgi_buffer_id tgi_fuse_buffer_of(tgi_fuse_state *s, tgi_ref ref);
/* The same for an input of a branch or loop, where a stack may start. */
tgi_buffer_id tgi_fuse_buffer_of_input(tgi_fuse_state *s, tgi_ref region,
                                       uint32_t input);
/* The buffer of the stack that starts at an input of a branch or loop. */
tgi_buffer_id tgi_fuse_stack_of(tgi_fuse_state *s, tgi_ref region,
                                int64_t input);

/* The buffer of carried value k of a loop. They are consecutive; the value of
   the loop node has the first one. */
tgi_buffer_id tgi_fuse_carried_buffer(const tgi_fuse_state *s, tgi_ref loop,
                                      uint32_t k);

/* Elements of a node (of an unbounded stack: of a slice). */
tgi_dim tgi_fuse_n_elements(tgi_fuse_state *s, tgi_ref ref);
/* Strides of its buffer (TG_MAX_RANK of them), which is dense. */
void tgi_fuse_strides(tgi_fuse_state *s, tgi_ref ref, tgi_dim *out_strides);

#endif /* TGI_FUSE_BUFFER_H */
