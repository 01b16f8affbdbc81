/* SPDX-License-Identifier: MIT */
/*
 * host_cpu.c - see host_cpu.h. On x86 it is the model and every word of
 * features that LLVM asks the processor for, and what the system saves of its
 * registers. Elsewhere nothing is compiled, and nothing kept.
 */
#include "target/host_cpu.h"

#include <pthread.h>
#include <stdio.h>

static char text[160] = "unknown";

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

typedef struct leaf {
    unsigned eax, ebx, ecx, edx;
} leaf;

static leaf ask(unsigned number, unsigned part)
{
    leaf l = {0};
    __get_cpuid_count(number, part, &l.eax, &l.ebx, &l.ecx, &l.edx);
    return l;
}

/* Which registers the system keeps; 0 if it cannot be asked. */
static unsigned saved_registers(const leaf *basic)
{
    unsigned low = 0, high;
    if (basic->ecx & bit_OSXSAVE)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static void find(void)
{
    const leaf vendor = ask(0, 0), basic = ask(1, 0), more = ask(7, 0);
    const leaf newest = ask(7, 1), save = ask(0xd, 1), trace = ask(0x14, 0);
    const leaf locker = ask(0x19, 0), avx10 = ask(0x24, 0);
    const leaf amd = ask(0x80000001, 0), amd_more = ask(0x80000008, 0);
    snprintf(text, sizeof(text),
             "x86-%x-%x-%x.%x-%x.%x.%x-%x.%x-%x-%x.%x.%x-%x.%x.%x-%x",
             vendor.ebx, basic.eax, basic.ecx, basic.edx, more.ebx, more.ecx,
             more.edx, newest.eax, newest.edx, save.eax, trace.ebx, locker.ebx,
             avx10.ebx, amd.ecx, amd.edx, amd_more.ebx,
             saved_registers(&basic));
}

#else

static void find(void)
{
}

#endif

const char *tgi_host_cpu(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return text;
}
