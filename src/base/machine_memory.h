/* SPDX-License-Identifier: MIT */
/*
 * machine_memory.h - how much memory the process can have: what the machine
 * has, or less, if a control group limits it.
 */
#ifndef TGI_MACHINE_MEMORY_H
#define TGI_MACHINE_MEMORY_H

#include <stdint.h>

/*
 * The least limit on memory of the control groups that this process is in, of
 * version 2 and 1, and of the groups around them; UINT64_MAX: none. `root` is
 * put in front of all paths: "" but for tests.
 */
uint64_t tgi_cgroup_memory_limit(const char *root);

/* That, or the physical memory if it is less, as found by the first call of
   the process; UINT64_MAX: unknown. */
uint64_t tgi_machine_memory(void);

#endif /* TGI_MACHINE_MEMORY_H */
