/* SPDX-License-Identifier: MIT */
/* kernel_key.h - a kernel and its schedule as bytes. */
#ifndef TGI_KERNEL_KEY_H
#define TGI_KERNEL_KEY_H

#include "base/strbuf.h"
#include "loop/loops.h"

/* Numbers for buffers. */
typedef struct tgi_buffer_name {
    uint64_t (*of)(struct tgi_buffer_name *name, tgi_buffer_id buffer);
} tgi_buffer_name;

/*
 * Appends all that the function of the kernel depends on but its checks: bytes
 * that are equal if and only if that is. Buffers are named by `name`; NULL: by
 * their ids.
 */
void tgi_kernel_key(const tgi_kernel_loops *kernel, tgi_buffer_name *name,
                    tgi_strbuf *key);

#endif /* TGI_KERNEL_KEY_H */
