/* SPDX-License-Identifier: MIT */
/*
 * test_llvm_target.c - supported targets, the properties of their objects, and
 * that LLVM's diagnostics become messages.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "support/compiling.h"
#include "support/support.h"

static char reason[256];

static bool find(const char *cpu, unsigned bits, tgi_llvm_target *out)
{
    *reason = '\0';
    const bool is_found =
        tgi_llvm_target_init(cpu, bits, false, out, reason, sizeof(reason));
    cr_assert_eq(is_found, *reason == '\0', "%s", reason);
    return is_found;
}

/* The host's target; skips the test if there is none. */
static tgi_llvm_target host(void)
{
    tgi_llvm_target target;
    if (!find(NULL, 0, &target))
        cr_skip_test("%s", reason);
    return target;
}

/* -- Finding --------------------------------------------------------------- */

Test(llvm_target, no_name_and_host_and_its_name_are_the_host)
{
    const tgi_llvm_target expected = host();
    const char *const names[] = {"", "host", expected.cpu};
    for (int i = 0; i < 3; i++) {
        tgi_llvm_target target;
        cr_assert(find(names[i], 0, &target), "%s", reason);
        cr_expect_eq(target.machine, expected.machine);
        cr_expect_str_eq(target.cpu, expected.cpu);
        cr_expect_str_eq(target.features, expected.features);
    }
}

Test(llvm_target, a_lesser_cpu_has_a_machine_of_its_own)
{
    const tgi_llvm_target best = host();
    tgi_llvm_target target;
    cr_assert(find("x86-64-v3", 128, &target), "%s", reason);
    cr_expect_neq(target.machine, best.machine);
    cr_expect_eq(target.isa->max_vector_bits, 256);
}

Test(llvm_target, a_cpu_without_avx2_or_unknown_is_refused)
{
    host();
    static const char *const names[] = {"x86-64",  "x86-64-v2", "sandybridge",
                                        "core2",   "mips",      "Host",
                                        "haswell "};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        tgi_llvm_target target;
        cr_expect_not(find(names[i], 0, &target), "%s", names[i]);
        cr_expect(strstr(reason, names[i]), "%s", reason);
    }
}

Test(llvm_target, unsupported_features_are_refused)
{
    const tgi_llvm_target best = host();
    tgi_llvm_target target;
    cr_expect_eq(find("x86-64-v4", 0, &target), best.isa->max_vector_bits == 512);
    cr_expect_eq(find(NULL, 512, &target), best.isa->max_vector_bits == 512);
    cr_expect_not(find("x86-64-v3", 512, &target));
    /* No CPU has both Intel's and AMD's features. */
    const bool is_intel = find("skylake", 0, &target);
    cr_expect_not(is_intel && find("bdver4", 0, &target));
}

Test(llvm_target, vectors_have_128_or_256_or_512_bits)
{
    host();
    tgi_llvm_target target;
    for (unsigned bits = 1; bits <= 1024; bits++)
        if (bits != 128 && bits != 256 && bits != 512)
            cr_assert_not(find(NULL, bits, &target));
    cr_expect(find(NULL, 128, &target));
}

Test(llvm_target, code_for_aarch64_is_only_for_other_machines)
{
    host();
    tgi_llvm_target target;
    cr_expect_not(find("neoverse-n1", 0, &target));
    cr_expect(strstr(reason, "neoverse-n1"), "%s", reason);
    if (!tgi_llvm_target_init("neoverse-n1", 128, true, &target, reason,
                              sizeof(reason)))
        cr_skip_test("%s", reason); /* no such back end */
    cr_expect_eq(target.isa, tgi_llvm_isa_of(TGI_ISA_NEON, false));
    cr_expect(strstr(target.triple, "aarch64"));
    cr_expect_not(tgi_llvm_target_init("neoverse-n1", 256, true, &target,
                                       reason, sizeof(reason)));
    cr_expect(strstr(reason, "no 256-bit vectors"), "%s", reason);
}

/* -- Compiling ------------------------------------------------------------- */

/* Stores twice the first parameter to the second, with 4 lanes. */
static void emit_twice(compiling *c, const char *name)
{
    tgi_llvm_emitter *e = &c->emitter;
    e->lanes = 4;
    LLVMValueRef function = compiling_function(c, name, 2);
    LLVMValueRef x = LLVMBuildLoad2(c->builder, tgi_llvm_type(e, TG_F64),
                                    LLVMGetParam(function, 0), "");
    LLVMSetAlignment(x, 8);
    LLVMValueRef sum = LLVMBuildFAdd(c->builder, x, x, "");
    LLVMSetAlignment(LLVMBuildStore(c->builder, sum, LLVMGetParam(function, 1)),
                     8);
    LLVMBuildRetVoid(c->builder);
}

static void check_twice(const tgi_image *image, const char *name)
{
    union {
        void *address;
        void (*call)(const double *, double *);
    } twice = {tgi_image_symbol(image, name)};
    const double in[4] = {1, -2, 3, 0.5};
    double out[4];
    cr_assert_not_null(twice.address);
    twice.call(in, out);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(out[i], 2 * in[i]);
}

static bool has(LLVMMemoryBufferRef buf, const char *text)
{
    return memmem(LLVMGetBufferStart(buf), LLVMGetBufferSize(buf), text,
                  strlen(text)) != NULL;
}

Test(llvm_target, an_object_holds_no_tables_for_unwinding)
{
    compiling c;
    tgi_llvm_compiled compiled;
    compiling_begin(&c);
    emit_twice(&c, "twice");
    cr_assert(tgi_llvm_compile(&c.target, c.module, 0, &compiled, reason,
                               sizeof(reason)));
    cr_expect(has(compiled.object, ".text"));
    cr_expect_not(has(compiled.object, ".eh_frame"));
    cr_expect_null(compiled.assembly);
    cr_expect_null(compiled.ir_before);
    cr_expect_null(compiled.ir_after);
    tgi_llvm_compiled_deinit(&compiled);
    compiling_end(&c);
}

Test(llvm_target, texts_are_returned_on_request)
{
    compiling c;
    tgi_llvm_compiled compiled;
    compiling_begin(&c);
    emit_twice(&c, "twice");
    cr_assert(tgi_llvm_compile(&c.target, c.module, TGI_LLVM_WANT_TEXT,
                               &compiled, reason, sizeof(reason)));
    cr_expect(has(compiled.assembly, "vaddpd"));
    cr_expect(has(compiled.assembly, "rbp"));
    cr_expect(strstr(compiled.ir_before, "fadd <4 x double>"));
    cr_expect(strstr(compiled.ir_after, "fadd <4 x double>"));
    cr_expect_not_null(compiled.object);
    tgi_llvm_compiled_deinit(&compiled);
    compiling_end(&c);
}

Test(llvm_target, a_module_that_is_not_well_formed_gives_a_message)
{
    compiling c;
    tgi_llvm_compiled compiled;
    compiling_begin(&c);
    compiling_function(&c, "endless", 0);
    cr_expect_not(tgi_llvm_compile(&c.target, c.module,
                                   TGI_LLVM_VERIFY | TGI_LLVM_WANT_IR,
                                   &compiled, reason, sizeof(reason)));
    cr_expect(strstr(reason, "terminator"), "%s", reason);
    cr_expect_null(compiled.object);
    cr_expect_not_null(compiled.ir_before);
    tgi_llvm_compiled_deinit(&compiled);
    compiling_end(&c);
}

Test(llvm_target, an_error_of_the_code_generator_gives_a_message)
{
    compiling c;
    tgi_llvm_compiled compiled;
    compiling_begin(&c);
    compiling_function(&c, "nonsense", 0);
    static const char constraint[] = "{no_such_register}";
    LLVMTypeRef of_one = LLVMFunctionType(
        LLVMVoidTypeInContext(c.emitter.context),
        (LLVMTypeRef[]){LLVMInt64TypeInContext(c.emitter.context)}, 1, false);
    LLVMValueRef code =
        LLVMGetInlineAsm(of_one, "", 0, constraint, sizeof(constraint) - 1,
                         true, false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef one = tgi_llvm_scalar_constant(&c.emitter, TG_I64, 1);
    LLVMBuildCall2(c.builder, of_one, code, &one, 1, "");
    LLVMBuildRetVoid(c.builder);
    cr_expect_not(tgi_llvm_compile(&c.target, c.module, TGI_LLVM_VERIFY,
                                   &compiled, reason, sizeof(reason)));
    cr_expect(strstr(reason, "register"), "%s", reason);
    cr_expect_null(compiled.object);
    tgi_llvm_compiled_deinit(&compiled);
    compiling_end(&c);
}

/* -- Threads --------------------------------------------------------------- */

static void *compile_many(void *user)
{
    (void)user;
    for (int i = 0; i < 10; i++) {
        compiling c;
        compiling_begin(&c);
        emit_twice(&c, "twice");
        tgi_image *image = compiling_load(&c);
        check_twice(image, "twice");
        tgi_image_release(image);
        compiling_end(&c);
    }
    return NULL;
}

Test(llvm_target, threads_compile_concurrently)
{
    host();
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, compile_many, NULL), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    check_nothing_is_alive();
}
