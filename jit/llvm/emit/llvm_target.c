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
#include <stdlib.h>
#include <string.h>

/* -- CPUs ------------------------------------------------------------------ */

static const struct {
    const char *name;
    tgi_isa isa;
    bool has_vnni; /* instructions for products of bytes */
} cpus[] = {
#define HAS_VNNI true
#define HAS_NONE false
#define CPU(id, name, isa, products) {name, TGI_ISA_##isa, HAS_##products},
#include "target/cpu.def"
#undef CPU
};

enum { HOST, CPUS = sizeof(cpus) / sizeof(cpus[0]) };

/* -- Architectures, per process -------------------------------------------- */

static const tgi_llvm_isa *isa_of(int cpu)
{
    return tgi_llvm_isa_of(cpus[cpu].isa, cpus[cpu].has_vnni);
}

/* The host's is that of its entry in cpu.def. */
static tgi_llvm_architecture architecture_of(int cpu)
{
    return isa_of(cpu)->architecture;
}

/* LLVM's back end of an architecture, and the triple to compile for. */
static struct {
    LLVMTargetRef target;
    const char *triple;
    char failure[256]; /* "": none */
} back_ends[TGI_LLVM_ARCHITECTURES];

static struct {
    char *triple, *cpu, *features;
    const tgi_llvm_isa *isa; /* NULL: not one that compiled code can use */
    pthread_key_t machines;
    bool has_machines; /* the key */
} host;

static void dispose_machines(void *thread_machines);

static void lose_back_end(tgi_llvm_architecture a, const char *reason)
{
    snprintf(back_ends[a].failure, sizeof(back_ends[a].failure), "%s", reason);
}

static void find_back_end(tgi_llvm_architecture a, const char *triple)
{
    char *reason = NULL;
    back_ends[a].triple = triple;
    if (LLVMGetTargetFromTriple(triple, &back_ends[a].target, &reason))
        lose_back_end(a, reason);
    LLVMDisposeMessage(reason);
}

/* Objects for AArch64 are for Linux, on every host. */
static void init_back_ends(void)
{
    if (LLVMInitializeNativeTarget() || LLVMInitializeNativeAsmPrinter() ||
        LLVMInitializeNativeAsmParser())
        lose_back_end(TGI_LLVM_X86_64,
                      "LLVM has no code generator for the host");
    else
        find_back_end(TGI_LLVM_X86_64, host.triple);
#ifdef TGJIT_LLVM_HAS_AARCH64
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    find_back_end(TGI_LLVM_AARCH64, "aarch64-unknown-linux-gnu");
#else
    lose_back_end(TGI_LLVM_AARCH64,
                  "this LLVM has no code generator for AArch64");
#endif
}

static void init_host(void)
{
    host.triple = LLVMGetDefaultTargetTriple();
    host.cpu = LLVMGetHostCPUName();
    host.features = LLVMGetHostCPUFeatures();
    host.isa = tgi_llvm_isa_of_features(host.features);
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
    const tgi_llvm_architecture a = architecture_of(cpu);
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

/* Does this process run the code, or at least a CPU of its architecture? */
static bool check_host(int cpu, bool is_foreign, char *message, size_t n)
{
    const bool is_same = architecture_of(cpu) == TGI_LLVM_X86_64;
    if (!is_same && !is_foreign)
        return fail(message, n,
                    "the host CPU '%s' does not run code for CPU '%s'; it can "
                    "only be exported",
                    host.cpu, cpus[cpu].name);
    if (is_same && !host.isa)
        return fail(message, n,
                    "the host CPU '%s' lacks %s, which compiled code needs",
                    host.cpu, tgi_llvm_isa_needed);
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
                    "CPU '%s' is unknown, or lacks %s, which compiled code "
                    "needs",
                    name, tgi_llvm_isa_needed);
    const tgi_llvm_architecture a = architecture_of(cpu);
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
        .isa = cpu == HOST ? host.isa : isa_of(cpu),
    };
    if (vector_bits > out->isa->max_vector_bits)
        return fail(message, n, "CPU '%s' has no %u-bit vectors", out->cpu,
                    vector_bits);
    if (!out->machine)
        return fail(message, n, "LLVM cannot generate code for CPU '%s'",
                    out->cpu);
    if (a == TGI_LLVM_X86_64 && !host_covers(cpu))
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

static const char width_attribute[] = "prefer-vector-width";

unsigned tgi_llvm_target_function_bits(LLVMValueRef function)
{
    enum { MIN_BITS = 128 };
    unsigned length;
    LLVMAttributeRef attribute = LLVMGetStringAttributeAtIndex(
        function, LLVMAttributeFunctionIndex, width_attribute,
        sizeof(width_attribute) - 1);
    if (!attribute)
        return MIN_BITS;
    return (unsigned)strtoul(LLVMGetStringAttributeValue(attribute, &length),
                             NULL, 10);
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
    set_attribute(function, width_attribute, bits);
    set_attribute(function, "min-legal-vector-width", bits);
    set_attribute(function, "no-builtins", "");
    set_attribute(function, "frame-pointer", "all");
    if (LLVMGetLinkage(function) == LLVMExternalLinkage)
        LLVMSetVisibility(function, LLVMHiddenVisibility);
}
