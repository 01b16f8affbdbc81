/* SPDX-License-Identifier: MIT */
/*
 * llvm_target.c - see llvm_target.h. Each thread has its own target machines,
 * because LLVM objects that are written to are not thread-safe.
 */
#include "config.h"

#include "llvm/emit/llvm_target.h"

#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* -- CPUs ------------------------------------------------------------------ */

static const struct {
    const char *name;
    tgi_isa isa;
} cpus[] = {
#define CPU(id, name, isa) {name, TGI_ISA_##isa},
#include "target/cpu.def"
#undef CPU
};

enum { HOST, CPUS = sizeof(cpus) / sizeof(cpus[0]) };

/* -- Architectures, per process -------------------------------------------- */

typedef enum architecture { X86_64, AARCH64, ARCHITECTURES } architecture;

static architecture architecture_of(tgi_isa isa)
{
    return isa == TGI_ISA_NEON ? AARCH64 : X86_64;
}

/* LLVM's back end of an architecture, and the triple to compile for. */
static struct {
    LLVMTargetRef target;
    const char *triple;
    char failure[256]; /* "": none */
} back_ends[ARCHITECTURES];

static struct {
    char *triple, *cpu, *features;
    bool has_avx2_fma;
    tgi_isa isa;
    pthread_key_t machines;
    bool has_machines; /* the key */
} host;

static bool host_has_feature(const char *feature)
{
    const size_t length = strlen(feature);
    for (const char *at = host.features; (at = strstr(at, feature));
         at += length)
        if (at != host.features && at[-1] == '+' &&
            (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

static void dispose_machines(void *thread_machines);

static void find_back_end(architecture a, const char *triple)
{
    char *reason = NULL;
    back_ends[a].triple = triple;
    if (LLVMGetTargetFromTriple(triple, &back_ends[a].target, &reason))
        snprintf(back_ends[a].failure, sizeof(back_ends[a].failure), "%s",
                 reason);
    LLVMDisposeMessage(reason);
}

/* Objects for AArch64 are for Linux, on every host. */
static void init_back_ends(void)
{
    if (LLVMInitializeNativeTarget() || LLVMInitializeNativeAsmPrinter())
        snprintf(back_ends[X86_64].failure, sizeof(back_ends[X86_64].failure),
                 "LLVM has no code generator for the host");
    else
        find_back_end(X86_64, host.triple);
#ifdef TGJIT_LLVM_HAS_AARCH64
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    find_back_end(AARCH64, "aarch64-unknown-linux-gnu");
#else
    snprintf(back_ends[AARCH64].failure, sizeof(back_ends[AARCH64].failure),
             "this LLVM has no code generator for AArch64");
#endif
}

static void init_host(void)
{
    host.triple = LLVMGetDefaultTargetTriple();
    host.cpu = LLVMGetHostCPUName();
    host.features = LLVMGetHostCPUFeatures();
    host.has_avx2_fma = host_has_feature("avx2") && host_has_feature("fma");
    host.isa = host_has_feature("avx512f") && host_has_feature("avx512bw") &&
                       host_has_feature("avx512cd") &&
                       host_has_feature("avx512dq") &&
                       host_has_feature("avx512vl")
                   ? TGI_ISA_AVX512
                   : TGI_ISA_AVX2;
    host.has_machines =
        pthread_key_create(&host.machines, dispose_machines) == 0;
    init_back_ends();
}

/* -- Target machines, per thread ------------------------------------------- */

static _Thread_local LLVMTargetMachineRef machines[CPUS];

static void dispose_machines(void *thread_machines)
{
    LLVMTargetMachineRef *all = thread_machines;
    for (int i = 0; i < CPUS; i++)
        if (all[i])
            LLVMDisposeTargetMachine(all[i]);
}

static LLVMTargetMachineRef thread_machine(int cpu)
{
    const architecture a = architecture_of(cpus[cpu].isa);
    if (!machines[cpu])
        machines[cpu] = LLVMCreateTargetMachine(
            back_ends[a].target, back_ends[a].triple,
            cpu == HOST ? host.cpu : cpus[cpu].name,
            cpu == HOST ? host.features : "", LLVMCodeGenLevelDefault,
            LLVMRelocPIC, LLVMCodeModelSmall);
    /* If this fails, the thread's machines leak, which is harmless. */
    if (machines[cpu])
        pthread_setspecific(host.machines, machines);
    return machines[cpu];
}

/* -- Does the host have all features of a CPU? ----------------------------- */

static void set_attribute(LLVMValueRef function, const char *key,
                          const char *value)
{
    LLVMAddTargetDependentFunctionAttr(function, key, value);
}

static LLVMValueRef add_probe_function(LLVMModuleRef module, const char *name,
                                       const char *cpu, const char *features)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef type =
        LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, false);
    LLVMValueRef function = LLVMAddFunction(module, name, type);
    LLVMAppendBasicBlockInContext(context, function, "");
    set_attribute(function, "target-cpu", cpu);
    set_attribute(function, "target-features", features);
    return function;
}

/*
 * The C API does not list the features of a CPU. But the inliner inlines a
 * function only if the caller's features include those of the callee.
 */
static bool inliner_accepts(int cpu)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("", context);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMValueRef inner =
        add_probe_function(module, "inner", cpus[cpu].name, "");
    LLVMValueRef outer =
        add_probe_function(module, "outer", host.cpu, host.features);
    LLVMPositionBuilderAtEnd(builder, LLVMGetFirstBasicBlock(inner));
    LLVMBuildRetVoid(builder);
    LLVMPositionBuilderAtEnd(builder, LLVMGetFirstBasicBlock(outer));
    LLVMBuildCall2(builder, LLVMGlobalGetValueType(inner), inner, NULL, 0, "");
    LLVMBuildRetVoid(builder);

    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error =
        LLVMRunPasses(module, "cgscc(inline)", thread_machine(HOST), options);
    LLVMDisposePassBuilderOptions(options);
    LLVMConsumeError(error);
    const bool is_inlined = LLVMIsAReturnInst(
        LLVMGetFirstInstruction(LLVMGetFirstBasicBlock(outer)));

    LLVMDisposeBuilder(builder);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return is_inlined;
}

/* The answer is cached per CPU, because the test takes milliseconds. */
static bool host_covers(int cpu)
{
    enum { UNKNOWN, NO, YES };
    static _Atomic char known[CPUS] = {[HOST] = YES};
    if (known[cpu] == UNKNOWN)
        known[cpu] = inliner_accepts(cpu) ? YES : NO;
    return known[cpu] == YES;
}

/* -- Targets --------------------------------------------------------------- */

static int find_cpu(const char *name)
{
    if (!name || !*name || !strcmp(name, host.cpu))
        return HOST;
    int cpu = 0;
    while (cpu < CPUS && strcmp(name, cpus[cpu].name))
        cpu++;
    return cpu;
}

/* A failure, by its message. */
static bool fail(char *message, size_t n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(char *message, size_t n, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, n, format, args);
    va_end(args);
    return false;
}

static bool has_width(tgi_isa isa, unsigned vector_bits)
{
    const unsigned widest = isa == TGI_ISA_AVX512 ? 512
                            : isa == TGI_ISA_NEON ? 128
                                                  : 256;
    return vector_bits <= widest;
}

/* Does this process run the code, or at least a CPU of its architecture? */
static bool check_host(int cpu, bool is_foreign, char *message, size_t n)
{
    const bool is_same = architecture_of(cpus[cpu].isa) == X86_64;
    if (!is_same && !is_foreign)
        return fail(message, n,
                    "the host CPU '%s' does not run code for CPU '%s'; it can "
                    "only be exported",
                    host.cpu, cpus[cpu].name);
    if (is_same && !host.has_avx2_fma)
        return fail(message, n,
                    "the host CPU '%s' lacks AVX2 or FMA, which compiled code "
                    "needs",
                    host.cpu);
    return true;
}

bool tgi_llvm_target_init(const char *name, unsigned vector_bits,
                          bool is_foreign, tgi_llvm_target *out, char *message,
                          size_t n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_host);

    const int cpu = find_cpu(name);
    if (!host.has_machines)
        return fail(message, n, "cannot create a thread-specific key");
    if (cpu == CPUS)
        return fail(message, n,
                    "CPU '%s' is unknown, or lacks AVX2 or FMA, which compiled "
                    "code needs",
                    name);
    const architecture a = architecture_of(cpus[cpu].isa);
    if (*back_ends[a].failure)
        return fail(message, n, "%s", back_ends[a].failure);
    if (!check_host(cpu, is_foreign, message, n))
        return false;
    if (vector_bits != 0 && vector_bits != 128 && vector_bits != 256 &&
        vector_bits != 512)
        return fail(message, n,
                    "vector width is %u bits, but must be 128, 256 or 512",
                    vector_bits);
    *out = (tgi_llvm_target){
        .machine = thread_machine(cpu),
        .triple = back_ends[a].triple,
        .cpu = cpu == HOST ? host.cpu : cpus[cpu].name,
        .features = cpu == HOST ? host.features : "",
        .isa = cpu == HOST ? host.isa : cpus[cpu].isa,
    };
    if (!has_width(out->isa, vector_bits))
        return fail(message, n, "CPU '%s' has no %u-bit vectors", out->cpu,
                    vector_bits);
    if (!out->machine)
        return fail(message, n, "LLVM cannot generate code for CPU '%s'",
                    out->cpu);
    if (a == X86_64 && !host_covers(cpu))
        return fail(message, n, "the host CPU '%s' lacks features of CPU '%s'",
                    host.cpu, out->cpu);
    return true;
}

void tgi_llvm_target_set_module(const tgi_llvm_target *target,
                                LLVMModuleRef module)
{
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(target->machine);
    LLVMSetModuleDataLayout(module, layout);
    LLVMSetTarget(module, target->triple);
    LLVMDisposeTargetData(layout);
}

void tgi_llvm_target_set_function(const tgi_llvm_target *target,
                                  LLVMValueRef function, unsigned vector_bits)
{
    LLVMContextRef context =
        LLVMGetModuleContext(LLVMGetGlobalParent(function));
    static const char nounwind[] = "nounwind";
    const unsigned kind =
        LLVMGetEnumAttributeKindForName(nounwind, sizeof(nounwind) - 1);
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(context, kind, 0));
    char bits[16];
    snprintf(bits, sizeof(bits), "%u", vector_bits);
    set_attribute(function, "target-cpu", target->cpu);
    set_attribute(function, "target-features", target->features);
    set_attribute(function, "prefer-vector-width", bits);
    set_attribute(function, "min-legal-vector-width", bits);
    set_attribute(function, "no-builtins", "");
    set_attribute(function, "frame-pointer", "all");
    if (LLVMGetLinkage(function) == LLVMExternalLinkage)
        LLVMSetVisibility(function, LLVMHiddenVisibility);
}

/* LLVM's model of this CPU has no post-RA scheduler; those of AMD's CPUs do. */
void tgi_llvm_target_skip_post_ra_scheduler(const tgi_llvm_target *target,
                                            LLVMValueRef function)
{
    if (architecture_of(target->isa) == X86_64)
        set_attribute(function, "tune-cpu", "skylake");
}
