/* SPDX-License-Identifier: MIT */
/*
 * test_llvm_quirks.c - are the workarounds of llvm_quirks.h still needed? Each
 * test compiles plain IR and asserts that LLVM still generates the bad code
 * which the workaround avoids, and that it does not with the workaround. If the
 * first half fails with a new version of LLVM, delete the workaround.
 */
#include <criterion/criterion.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Support.h>
#include <stdio.h>
#include <string.h>

#include "llvm/emit/llvm_quirks.h"
#include "llvm/emit/llvm_target.h"
#include "llvm/llvm_compile.h"

/* -- Compiling IR ---------------------------------------------------------- */

enum { MAX_TEXT = 1 << 16 };

typedef struct compiled {
    char ir[MAX_TEXT], assembly[MAX_TEXT];
} compiled;

static void append(char *text, const char *more)
{
    cr_assert_lt(strlen(text) + strlen(more), MAX_TEXT);
    strcat(text, more);
}

/* Skips the test if LLVM cannot compile for that CPU here. */
static void compile_for(const char *cpu, const char *ir, const char *passes,
                        void prepare(LLVMValueRef function), compiled *out)
{
    char reason[256], *message = NULL;
    tgi_llvm_target target;
    if (!tgi_llvm_target_init(cpu, 0, false, &target, reason,
                              sizeof(reason)))
        cr_skip_test("%s", reason);
    LLVMSetTargetMachineAsmVerbosity(target.machine, true);
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef buf =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, strlen(ir), "test");
    LLVMModuleRef module;
    cr_assert_not(LLVMParseIRInContext(context, buf, &module, &message), "%s",
                  message);
    tgi_llvm_target_set_module(&target, module);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f)) {
            tgi_llvm_target_set_function(&target, f, 256);
            if (prepare)
                prepare(f);
        }
    cr_assert(tgi_llvm_run_passes(&target, module, passes, reason,
                                  sizeof(reason)),
              "%s", reason);
    char *text = LLVMPrintModuleToString(module);
    *out = (compiled){0};
    append(out->ir, text);
    LLVMDisposeMessage(text);
    cr_assert_not(LLVMTargetMachineEmitToMemoryBuffer(
                      target.machine, module, LLVMAssemblyFile, &message, &buf),
                  "%s", message);
    append(out->assembly, LLVMGetBufferStart(buf));
    LLVMDisposeMemoryBuffer(buf);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
}

static void compile(const char *ir, compiled *out)
{
    compile_for("x86-64-v3", ir, tgi_llvm_quirk_passes, NULL, out);
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

#define STILL_NEEDED \
    "LLVM improved: this workaround of llvm_quirks.h can go\n%s"
#define FAILS "the workaround has no effect\n%s"

/* Compiles both forms and compares how often `what` occurs. */
static void check_count(const char *plain, const char *worked_around,
                        const char *what, int at_least)
{
    static compiled code;
    compile(plain, &code);
    cr_assert_geq(count(code.assembly, what), at_least, STILL_NEEDED,
                  code.assembly);
    compile(worked_around, &code);
    cr_assert_eq(count(code.assembly, what), 0, FAILS, code.assembly);
}

#define FUNCTION(body) "define void @f(ptr %p, ptr %q) {\n" body "ret void\n}\n"

/* -- Masks ----------------------------------------------------------------- */

#define COMPARED \
    "%a = load <16 x float>, ptr %p, align 4\n" \
    "%b = load <16 x float>, ptr %q, align 4\n" \
    "%m0 = fcmp olt <16 x float> %a, %b\n" \
    "%m1 = fcmp une <16 x float> %b, zeroinitializer\n" \
    "%m2 = fcmp ogt <16 x float> %a, zeroinitializer\n"
#define SELECTED \
    "%s = select <16 x i1> %m4, <16 x float> %a, <16 x float> %b\n" \
    "store <16 x float> %s, ptr %q, align 4\n"
#define WIDE(to, op, a, b) \
    "%a" to " = sext <16 x i1> " a " to <16 x i32>\n" \
    "%b" to " = sext <16 x i1> " b " to <16 x i32>\n" \
    "%w" to " = " op " <16 x i32> %a" to ", %b" to "\n" \
    "%m" to " = icmp slt <16 x i32> %w" to ", zeroinitializer\n"

static const char plain_masks[] =
    FUNCTION(COMPARED "%m3 = or <16 x i1> %m0, %m1\n"
                      "%m4 = and <16 x i1> %m3, %m2\n" SELECTED);
static const char wide_masks[] = FUNCTION(
    COMPARED WIDE("3", "or", "%m0", "%m1") WIDE("4", "and", "%m3", "%m2")
        SELECTED);

Test(llvm_quirks, masks_of_several_registers_are_packed)
{
    check_count(plain_masks, wide_masks, "vpackss", 3);
}

Test(llvm_quirks, instcombine_narrows_wide_masks)
{
    static compiled code;
    compile(wide_masks, &code);
    cr_assert_eq(count(code.ir, " sext "), 4, FAILS, code.ir);
    compile_for("x86-64-v3", wide_masks, "function(instcombine)", NULL, &code);
    cr_assert_eq(count(code.ir, " sext "), 0, STILL_NEEDED, code.ir);
}

Test(llvm_quirks, two_tests_for_nan_are_two_compares)
{
    static compiled code;
    compile(FUNCTION("%a = load <8 x float>, ptr %p, align 4\n"
                     "%b = load <8 x float>, ptr %q, align 4\n"
                     "%m = fcmp oeq <8 x float> %a, %a\n"
                     "%n = fcmp oeq <8 x float> %b, %b\n"
                     "%o = and <8 x i1> %m, %n\n"
                     "%s = select <8 x i1> %o, <8 x float> %a, <8 x float> %b\n"
                     "store <8 x float> %s, ptr %q, align 4\n"),
            &code);
    cr_assert_gt(count(code.assembly, "vcmp"), 1, STILL_NEEDED, code.assembly);
}

/* -- One lane at a time ---------------------------------------------------- */

Test(llvm_quirks, constants_are_broadcast_by_an_instruction)
{
#define WITH(constant) \
    FUNCTION("%a = load <8 x float>, ptr %p, align 4\n" constant \
             "store <8 x float> %b, ptr %q, align 4\n")
    static const char pooled[] =
        "@c = private externally_initialized constant <8 x float> "
        "splat (float 3.0), align 32\n" WITH(
            "%c = load <8 x float>, ptr @c, align 32\n"
            "%b = fmul <8 x float> %a, %c\n");
    check_count(WITH("%b = fmul <8 x float> %a, splat (float 3.0)\n"), pooled,
                "vbroadcastss", 1);
#undef WITH
}

Test(llvm_quirks, conversions_of_i64_are_scalar)
{
    static compiled code;
    compile(FUNCTION("%a = load <4 x double>, ptr %p, align 8\n"
                     "%b = fptosi <4 x double> %a to <4 x i64>\n"
                     "store <4 x i64> %b, ptr %q, align 8\n"),
            &code);
    cr_assert_eq(count(code.assembly, "vcvttsd2si"), 4, STILL_NEEDED,
                 code.assembly);
    compile(FUNCTION("%a = load <4 x i64>, ptr %p, align 8\n"
                     "%b = sitofp <4 x i64> %a to <4 x double>\n"
                     "store <4 x double> %b, ptr %q, align 8\n"),
            &code);
    cr_assert_eq(count(code.assembly, "vcvtsi2sd"), 4, STILL_NEEDED,
                 code.assembly);
}

Test(llvm_quirks, integer_divisions_are_scalar)
{
    static compiled code;
    compile(FUNCTION("%a = load <8 x i32>, ptr %p, align 4\n"
                     "%b = load <8 x i32>, ptr %q, align 4\n"
                     "%c = sdiv <8 x i32> %a, %b\n"
                     "store <8 x i32> %c, ptr %q, align 4\n"),
            &code);
    cr_assert_eq(count(code.assembly, "idivl"), 8, STILL_NEEDED, code.assembly);
}

Test(llvm_quirks, small_tables_are_gathered)
{
    static compiled code;
    compile("@t = private constant [8 x float] [float 1.0, float 2.5, "
            "float 3.0, float 4.0, float 7.0, float 6.0, float 2.0, "
            "float 8.0]\n"
            "declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, "
            "i32, <8 x i1>, <8 x float>)\n" FUNCTION(
                "%i = load <8 x i32>, ptr %p, align 4\n"
                "%g = getelementptr float, ptr @t, <8 x i32> %i\n"
                "%v = call <8 x float> @llvm.masked.gather.v8f32.v8p0("
                "<8 x ptr> %g, i32 4, <8 x i1> splat (i1 true), "
                "<8 x float> poison)\n"
                "store <8 x float> %v, ptr %q, align 4\n"),
            &code);
    cr_assert_eq(count(code.assembly, "vpermps"), 0, STILL_NEEDED,
                 code.assembly);
}

/* -- Code motion ----------------------------------------------------------- */

/* The bad load is a vpbroadcastd after the store of 0. */
Test(llvm_quirks, lanes_are_loaded_again_after_a_store)
{
#define WITH(load) \
    FUNCTION("%v = " load " <8 x i16>, ptr %p, align 2\n" \
             "%m = getelementptr i16, ptr %p, i64 4\n" \
             "store <2 x i16> zeroinitializer, ptr %m, align 2\n" \
             "%s = shufflevector <8 x i16> %v, <8 x i16> poison, " \
             "<2 x i32> <i32 4, i32 5>\n" \
             "%t = add <2 x i16> %s, splat (i16 64)\n" \
             "store <2 x i16> %t, ptr %q, align 2\n" \
             "%z = getelementptr i16, ptr %q, i64 2\n" \
             "store <2 x i16> %s, ptr %z, align 2\n")
    static compiled code;
    compile(WITH("load"), &code);
    const char *store = strstr(code.assembly, "$0, 8(%rdi)");
    cr_assert_not_null(store, "%s", code.assembly);
    cr_assert_not_null(strstr(store, "vpbroadcastd\t8(%rdi)"), STILL_NEEDED,
                       code.assembly);
    compile(WITH("load volatile"), &code);
    store = strstr(code.assembly, "$0, 8(%rdi)");
    cr_assert_not_null(store, "%s", code.assembly);
    cr_assert_null(strstr(store, "8(%rdi), %"), FAILS, code.assembly);
#undef WITH
}

/* A micro-kernel of six rows; its addresses are computed from the index, or
   carried as integers. */
static const char *micro_kernel(bool carries_integers)
{
    static char ir[MAX_TEXT];
    char line[512];
    strcpy(ir, "declare <16 x float> @llvm.fma.v16f32(<16 x float>, "
               "<16 x float>, <16 x float>)\n"
               "define void @f(ptr %a, ptr %b, ptr %c, i64 %lda, i64 %ldb, "
               "i64 %n) {\nentry:\n"
               "%a0 = ptrtoint ptr %a to i64\n"
               "%b0 = ptrtoint ptr %b to i64\n"
               "br label %loop\nloop:\n"
               "%k = phi i64 [0, %entry], [%next, %loop]\n");
    if (carries_integers)
        append(ir, "%ai = phi i64 [%a0, %entry], [%an, %loop]\n"
                   "%bi = phi i64 [%b0, %entry], [%bn, %loop]\n");
    for (int r = 0; r < 6; r++) {
        snprintf(line, sizeof(line),
                 "%%s%d = phi <16 x float> [zeroinitializer, %%entry], "
                 "[%%t%d, %%loop]\n",
                 r, r);
        append(ir, line);
    }
    append(ir, carries_integers
                   ? "%ap = inttoptr i64 %ai to ptr\n"
                     "%bp = inttoptr i64 %bi to ptr\n"
                     "%an = add i64 %ai, 4\n%bn = add i64 %bi, %ldb\n"
                   : "%ap = getelementptr float, ptr %a, i64 %k\n"
                     "%kb = mul i64 %k, %ldb\n"
                     "%bp = getelementptr i8, ptr %b, i64 %kb\n");
    append(ir, "%row = load <16 x float>, ptr %bp, align 4\n");
    for (int r = 0; r < 6; r++) {
        snprintf(line, sizeof(line),
                 "%%x%d = mul i64 %%lda, %d\n"
                 "%%p%d = getelementptr i8, ptr %%ap, i64 %%x%d\n"
                 "%%e%d = load float, ptr %%p%d, align 4\n"
                 "%%i%d = insertelement <16 x float> poison, float %%e%d, "
                 "i32 0\n"
                 "%%v%d = shufflevector <16 x float> %%i%d, "
                 "<16 x float> poison, <16 x i32> zeroinitializer\n",
                 r, r, r, r, r, r, r, r, r, r);
        append(ir, line);
        snprintf(line, sizeof(line),
                 "%%t%d = call <16 x float> @llvm.fma.v16f32("
                 "<16 x float> %%v%d, <16 x float> %%row, "
                 "<16 x float> %%s%d)\n",
                 r, r, r);
        append(ir, line);
    }
    append(ir, "%next = add i64 %k, 1\n%goes = icmp slt i64 %next, %n\n"
               "br i1 %goes, label %loop, label %end\nend:\n");
    for (int r = 0; r < 6; r++) {
        snprintf(line, sizeof(line),
                 "%%q%d = getelementptr <16 x float>, ptr %%c, i64 %d\n"
                 "store <16 x float> %%t%d, ptr %%q%d, align 4\n",
                 r, r, r, r);
        append(ir, line);
    }
    append(ir, "ret void\n}\n");
    return ir;
}

/* Sets an option of LLVM for the rest of this process. */
static void set_llvm_option(const char *option)
{
    const char *const args[] = {"test", option};
    LLVMParseCommandLineOptions(2, args, NULL);
}

Test(llvm_quirks, loop_strength_reduction_rewrites_addresses)
{
    static compiled plain, ours, code;
    compile(micro_kernel(false), &plain);
    compile(micro_kernel(true), &ours);
    set_llvm_option("-disable-lsr");
    compile(micro_kernel(false), &code);
    cr_assert_neq(strcmp(plain.assembly, code.assembly), 0, STILL_NEEDED,
                  code.assembly);
    compile(micro_kernel(true), &code);
    cr_assert_str_eq(ours.assembly, code.assembly, FAILS, code.assembly);
}

static void tune_for_zen(LLVMValueRef function)
{
    LLVMAddTargetDependentFunctionAttr(function, "tune-cpu", "znver3");
}

static void tune_for_zen_and_skip(LLVMValueRef function)
{
    tune_for_zen(function);
    tgi_llvm_quirk_skip_post_ra_scheduler(tgi_llvm_isa_of(TGI_ISA_AVX2, false),
                                          function);
}

Test(llvm_quirks, models_of_amd_have_a_post_ra_scheduler)
{
    static compiled plain, ours, code;
    static const char cpu[] = "x86-64-v3";
    const char *ir = micro_kernel(true);
    compile_for(cpu, ir, tgi_llvm_quirk_passes, tune_for_zen, &plain);
    compile_for(cpu, ir, tgi_llvm_quirk_passes, tune_for_zen_and_skip, &ours);
    set_llvm_option("-post-RA-scheduler=false");
    compile_for(cpu, ir, tgi_llvm_quirk_passes, tune_for_zen, &code);
    cr_assert_neq(strcmp(plain.assembly, code.assembly), 0, STILL_NEEDED,
                  code.assembly);
    compile_for(cpu, ir, tgi_llvm_quirk_passes, tune_for_zen_and_skip, &code);
    cr_assert_str_eq(ours.assembly, code.assembly, FAILS, code.assembly);
}

/* Loops in a loop, each with a counter whose address is in a table. */
static const char *counting_loops(bool stores_once)
{
    enum { LOOPS = 10 };
    static char ir[MAX_TEXT];
    char line[512], store[128];
    strcpy(ir, "define void @f(ptr %f, i64 %n) {\nentry:\n"
               "%table = alloca [10 x ptr], align 8\n");
    for (int i = 0; i < LOOPS; i++) {
        snprintf(store, sizeof(store), "store ptr %%c%d, ptr %%e%d, align 8\n",
                 i, i);
        snprintf(line, sizeof(line),
                 "%%c%d = alloca i64, align 8\n"
                 "%%e%d = getelementptr ptr, ptr %%table, i64 %d\n%s",
                 i, i, i, stores_once ? store : "");
        append(ir, line);
    }
    append(ir, "br label %outer\nouter:\n"
               "%k = phi i64 [0, %entry], [%next, %latch]\n"
               "br label %loop0\n");
    for (int i = 0; i < LOOPS; i++) {
        char before[16], after[16];
        snprintf(store, sizeof(store), "store ptr %%c%d, ptr %%e%d, align 8\n",
                 i, i);
        snprintf(before, sizeof(before), "loop%d", i - 1);
        snprintf(after, sizeof(after), "loop%d", i + 1);
        snprintf(line, sizeof(line),
                 "loop%d:\n%%k%d = phi i64 [0, %%%s], [%%n%d, %%loop%d]\n%s"
                 "store i64 %%k%d, ptr %%c%d, align 8\n"
                 "call void %%f(ptr %%table)\n"
                 "%%n%d = add i64 %%k%d, 1\n"
                 "%%d%d = icmp ult i64 %%n%d, %%n\n"
                 "br i1 %%d%d, label %%loop%d, label %%%s\n",
                 i, i, i ? before : "outer", i, i, stores_once ? "" : store, i,
                 i, i, i, i, i, i, i, i + 1 < LOOPS ? after : "latch");
        append(ir, line);
    }
    append(ir, "latch:\n%next = add i64 %k, 1\n"
               "%d = icmp ult i64 %next, %n\n"
               "br i1 %d, label %outer, label %end\nend:\nret void\n}\n");
    return ir;
}

Test(llvm_quirks, addresses_are_hoisted_and_spilled)
{
    static char plain[MAX_TEXT];
    strcpy(plain, counting_loops(false));
    check_count(plain, counting_loops(true), "Spill", 1);
}
