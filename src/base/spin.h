/* SPDX-License-Identifier: MIT */
/*
 * spin.h - the pause between two polls of a thread that waits without sleeping.
 */
#ifndef TGI_SPIN_H
#define TGI_SPIN_H

/* Leaves the execution units to another thread of the core for a moment. */
static inline void tgi_spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

#endif /* TGI_SPIN_H */
