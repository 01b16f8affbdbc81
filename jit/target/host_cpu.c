/* SPDX-License-Identifier: MIT */
/*
 * host_cpu.c - see host_cpu.h. On x86 the text has the model, every CPUID
 * feature word that LLVM reads, and the register sets that the operating system
 * saves. On AArch64 it has the model and the features that the operating system
 * reports. On other machines nothing is compiled or cached.
 */
#include "target/host_cpu.h"

#include <pthread.h>
#include <stdio.h>

static char text[160] = "unknown";
static bool has_string_stores;

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

typedef struct leaf {
    unsigned eax, ebx, ecx, edx;
} leaf;

static leaf read_cpuid(unsigned number, unsigned subleaf)
{
    leaf l = {0};
    __get_cpuid_count(number, subleaf, &l.eax, &l.ebx, &l.ecx, &l.edx);
    return l;
}

/* The register sets that the operating system saves (XCR0); 0 if unknown. */
static unsigned saved_registers(const leaf *basic)
{
    unsigned low = 0, high;
    if (basic->ecx & bit_OSXSAVE)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static void identify_cpu(void)
{
    const leaf vendor = read_cpuid(0, 0), basic = read_cpuid(1, 0),
               more = read_cpuid(7, 0);
    const leaf newest = read_cpuid(7, 1), save = read_cpuid(0xd, 1),
               trace = read_cpuid(0x14, 0);
    const leaf locker = read_cpuid(0x19, 0), avx10 = read_cpuid(0x24, 0);
    const leaf amd = read_cpuid(0x80000001, 0),
               amd_more = read_cpuid(0x80000008, 0);
    snprintf(text, sizeof(text),
             "x86-%x-%x-%x.%x-%x.%x.%x-%x.%x-%x-%x.%x.%x-%x.%x.%x-%x",
             vendor.ebx, basic.eax, basic.ecx, basic.edx, more.ebx, more.ecx,
             more.edx, newest.eax, newest.edx, save.eax, trace.ebx, locker.ebx,
             avx10.ebx, amd.ecx, amd.edx, amd_more.ebx,
             saved_registers(&basic));
    enum { ERMS = 1 << 9 };
    has_string_stores = more.ebx & ERMS;
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

/* The kernel lets programs read MIDR_EL1 if it reports this feature. */
#ifndef HWCAP_CPUID
#define HWCAP_CPUID (1 << 11)
#endif

static void identify_cpu(void)
{
    const unsigned long features = getauxval(AT_HWCAP);
    unsigned long model = 0;
    if (features & HWCAP_CPUID)
        __asm__("mrs %0, midr_el1" : "=r"(model));
    snprintf(text, sizeof(text), "aarch64-%lx-%lx-%lx", model, features,
             getauxval(AT_HWCAP2));
}

#else

static void identify_cpu(void)
{
}

#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *tgi_host_cpu(void)
{
    pthread_once(&once, identify_cpu);
    return text;
}

bool tgi_host_has_string_stores(void)
{
    pthread_once(&once, identify_cpu);
    return has_string_stores;
}
