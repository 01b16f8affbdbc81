/* SPDX-License-Identifier: MIT */
/*
 * llvm_target.c - see llvm_target.h. Each thread has its own target machines,
 * because LLVM objects that are written to are not thread-safe.
 */
#include "llvm/emit/llvm_target.h"

#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* -- CPUs ------------------------------------------------------------------ */

static const struct {
    const char *name;
    bool has_512_bits;
} cpus[] = {
#define CPU(id, name, has_512_bits) {name, has_512_bits},
#include "target/cpu.def"
#undef CPU
};

enum { HOST, CPUS = sizeof(cpus) / sizeof(cpus[0]) };

/* -- Host, per process ----------------------------------------------------- */

static struct {
    LLVMTargetRef target;
    char *triple, *cpu, *features;
    const tgi_llvm_isa *isa; /* NULL: not one that compiled code can use */
    char failure[256]; /* "": none */
    pthread_key_t machines;
} host;

static void dispose_machines(void *thread_machines);

static void init_host(void)
{
    host.triple = LLVMGetDefaultTargetTriple();
    host.cpu = LLVMGetHostCPUName();
    host.features = LLVMGetHostCPUFeatures();
    host.isa = tgi_llvm_isa_of_features(host.features);
    char *reason = NULL;
    if (LLVMInitializeNativeTarget() || LLVMInitializeNativeAsmPrinter())
        snprintf(host.failure, sizeof(host.failure),
                 "LLVM has no code generator for the host");
    else if (LLVMGetTargetFromTriple(host.triple, &host.target, &reason))
        snprintf(host.failure, sizeof(host.failure), "%s", reason);
    else if (pthread_key_create(&host.machines, dispose_machines))
        snprintf(host.failure, sizeof(host.failure),
                 "cannot create a thread-specific key");
    LLVMDisposeMessage(reason);
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
    if (!machines[cpu])
        machines[cpu] = LLVMCreateTargetMachine(
            host.target, host.triple, cpu == HOST ? host.cpu : cpus[cpu].name,
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

bool tgi_llvm_target_init(const char *name, unsigned vector_bits,
                          tgi_llvm_target *out, char *message, size_t n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_host);

    const int cpu = find_cpu(name);
    if (*host.failure) {
        snprintf(message, n, "%s", host.failure);
        return false;
    }
    if (!host.isa) {
        snprintf(message, n,
                 "the host CPU '%s' lacks %s, which compiled code needs",
                 host.cpu, tgi_llvm_isa_needed);
        return false;
    }
    if (cpu == CPUS) {
        snprintf(message, n,
                 "CPU '%s' is unknown, or lacks %s, which compiled code needs",
                 name, tgi_llvm_isa_needed);
        return false;
    }
    if (vector_bits != 0 && vector_bits != 128 && vector_bits != 256 &&
        vector_bits != 512) {
        snprintf(message, n,
                 "vector width is %u bits, but must be 128, 256 or 512",
                 vector_bits);
        return false;
    }
    *out = (tgi_llvm_target){
        .machine = thread_machine(cpu),
        .cpu = cpu == HOST ? host.cpu : cpus[cpu].name,
        .features = cpu == HOST ? host.features : "",
        .isa = cpu == HOST ? host.isa
                           : tgi_llvm_isa_of_cpu(cpus[cpu].has_512_bits),
    };
    if (vector_bits == 512 && !out->isa->has_512_bits) {
        snprintf(message, n, "CPU '%s' has no 512-bit vectors", out->cpu);
        return false;
    }
    if (!out->machine) {
        snprintf(message, n, "LLVM cannot generate code for CPU '%s'",
                 out->cpu);
        return false;
    }
    if (!host_covers(cpu)) {
        snprintf(message, n, "the host CPU '%s' lacks features of CPU '%s'",
                 host.cpu, out->cpu);
        return false;
    }
    return true;
}

void tgi_llvm_target_set_module(const tgi_llvm_target *target,
                                LLVMModuleRef module)
{
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(target->machine);
    LLVMSetModuleDataLayout(module, layout);
    LLVMSetTarget(module, host.triple);
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
