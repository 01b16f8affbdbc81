/* SPDX-License-Identifier: MIT */
/*
 * machine_memory.h - the memory available to the process: physical memory, or
 * the limit of a control group (cgroup) if that is lower.
 */
#ifndef TGI_MACHINE_MEMORY_H
#define TGI_MACHINE_MEMORY_H

#include <stdint.h>

/*
 * The lowest memory limit, in bytes, of the process's cgroups (version 1 and
 * 2) and their ancestors; UINT64_MAX: none. `root` is prefixed to all paths;
 * only tests pass a non-empty one.
 */
uint64_t tgi_cgroup_memory_limit(const char *root);

/* The lower of that limit and physical memory, in bytes, computed by the first
   call; UINT64_MAX: unknown. */
uint64_t tgi_machine_memory(void);

#endif /* TGI_MACHINE_MEMORY_H */
