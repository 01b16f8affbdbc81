/* SPDX-License-Identifier: MIT */
/*
 * test_image.c - loading valid objects: their functions run, many of them and
 * from many threads, and all memory is returned.
 */
#include "object/image.h"

#include <pthread.h>
#include <stdio.h>

#include "object/executable_pages.h"
#include "support/image_objects.h"
#include "support/mappings.h"
#include "support/support.h"

#if defined(__x86_64__)

typedef int int_function(void);

/* ISO C has no cast from an object pointer to a function pointer. */
static int call(const tgi_image *image, const char *name)
{
    union {
        void *address;
        int_function *function;
    } entry = {tgi_image_symbol(image, name)};
    cr_assert_not_null(entry.address, "%s is missing", name);
    return entry.function();
}

static tgi_image *load(object_bytes object)
{
    tgi_image *image;
    cr_assert_eq(tgi_image_load(object.data, object.n, &image), TG_OK, "%s",
                 tg_error(NULL));
    return image;
}

static tgi_image *load_built(object_builder *b)
{
    const object_bytes object = object_end(b);
    tgi_image *image = load(object);
    free(object.data);
    return image;
}

/* -- Sound objects --------------------------------------------------------- */

Test(image, functions_return_load_constants_and_call_each_other)
{
    object_builder b;
    object_begin_sample(&b);
    tgi_image *image = load_built(&b);
    cr_assert_eq(call(image, "answer"), SAMPLE_ANSWER);
    cr_assert_eq(call(image, "load"), SAMPLE_CONSTANT);
    cr_assert_eq(call(image, "answer_1"), SAMPLE_ANSWER + 1);
    tgi_image_release(image);
    check_nothing_is_alive();
}

Test(image, finds_global_symbols_only)
{
    object_builder b;
    object_begin_sample(&b);
    tgi_image *image = load_built(&b);
    cr_assert_null(tgi_image_symbol(image, ".LCPI0"), "a local one");
    cr_assert_null(tgi_image_symbol(image, "answe"));
    cr_assert_null(tgi_image_symbol(image, ""));
    tgi_image_release(image);
    check_nothing_is_alive();
}

Test(image, takes_bytes_of_any_alignment)
{
    const object_bytes object = object_sample();
    for (size_t shift = 0; shift < 16; shift++) {
        object_bytes moved = {malloc(object.n + shift), object.n};
        cr_assert_not_null(moved.data);
        unsigned char *block = moved.data;
        moved.data += shift;
        memcpy(moved.data, object.data, object.n);
        tgi_image *image = load(moved);
        free(block);
        cr_assert_eq(call(image, "load"), SAMPLE_CONSTANT);
        tgi_image_release(image);
    }
    free(object.data);
    check_nothing_is_alive();
}

Test(image, lives_until_its_last_reference)
{
    object_builder b;
    object_begin_sample(&b);
    tgi_image *image = load_built(&b);
    cr_assert_eq(tgi_image_retain(image), image);
    tgi_image_release(image);
    cr_assert_eq(call(image, "answer"), SAMPLE_ANSWER);
    tgi_image_release(image);
    tgi_image_release(NULL);
    check_nothing_is_alive();
}

Test(image, sections_keep_their_alignment)
{
    static const unsigned char one[] = {1}, many[300] = {7};
    static const unsigned aligns[] = {0, 1, 2, 64, 1, 4096, 16};
    object_builder b;
    object_begin_sample(&b);
    for (size_t i = 0; i < sizeof(aligns) / sizeof(aligns[0]); i++) {
        char name[16];
        snprintf(name, sizeof(name), "constant%zu", i);
        const unsigned section = object_section(
            &b, ".rodata.cst", SHT_PROGBITS, SHF_ALLOC | SHF_MERGE, aligns[i],
            i % 2 ? one : many, i % 2 ? 1 : sizeof(many));
        object_symbol(&b, name, section, 0, 1,
                      ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT));
    }
    tgi_image *image = load_built(&b);
    for (size_t i = 0; i < sizeof(aligns) / sizeof(aligns[0]); i++) {
        char name[16];
        snprintf(name, sizeof(name), "constant%zu", i);
        const unsigned char *constant = tgi_image_symbol(image, name);
        cr_assert_not_null(constant);
        cr_assert_eq(*constant, i % 2 ? 1 : 7);
        if (aligns[i] > 1)
            cr_assert_eq((uintptr_t)constant % aligns[i], 0, "%s", name);
    }
    cr_assert_gt(tgi_image_code_bytes(image), 4096);
    cr_assert_eq(call(image, "answer_1"), SAMPLE_ANSWER + 1);
    tgi_image_release(image);
    check_nothing_is_alive();
}

Test(image, constants_may_hold_distances_to_code)
{
    /* A jump table: jumps to its own address plus an entry.
       lea table(%rip),%rax; movslq (%rax),%rcx; add %rcx,%rax; jmp *%rax */
    static const unsigned char code[] = {0x48, 0x8d, 0x05, 0,    0,
                                         0,    0,    0x48, 0x63, 0x08,
                                         0x48, 0x01, 0xc8, 0xff, 0xe0};
    static const int32_t table[1] = {0};
    object_builder b;
    object_begin_sample(&b);
    const unsigned text = object_section(&b, ".text.jump", SHT_PROGBITS,
                                         OBJECT_CODE, 16, code, sizeof(code));
    const unsigned rodata = object_section(&b, ".rodata.table", SHT_PROGBITS,
                                           SHF_ALLOC, 4, table, sizeof(table));
    object_symbol(&b, "jump", text, 0, sizeof(code), OBJECT_FUNCTION);
    const unsigned symbol = object_symbol(
        &b, "", rodata, 0, 0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION));
    object_relocation(&b, text, 3, R_X86_64_PC32, symbol, -4);
    object_relocation(&b, rodata, 0, R_X86_64_PC32, SAMPLE_SYMBOL_ANSWER, 0);
    tgi_image *image = load_built(&b);
    cr_assert_eq(call(image, "jump"), SAMPLE_ANSWER);
    tgi_image_release(image);
    check_nothing_is_alive();
}

Test(image, ignores_other_sections_than_code_and_constants)
{
    static const unsigned char bytes[16] = {0};
    object_builder b;
    object_begin_sample(&b);
    const unsigned unwind =
        object_section(&b, ".eh_frame", 0x70000001, SHF_ALLOC, 8, bytes, 16);
    object_section(&b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 8, bytes, 16);
    object_section(&b, ".comment", SHT_PROGBITS, SHF_MERGE | SHF_STRINGS, 1,
                   bytes, 16);
    object_section(&b, ".note.GNU-stack", SHT_PROGBITS, 0, 1, bytes, 0);
    object_section(&b, ".llvm_addrsig", 0x6fff4c03, SHF_EXCLUDE, 1, bytes, 0);
    object_section(&b, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 1, bytes,
                   0);
    object_section(&b, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 1, NULL, 0);
    object_symbol(&b, "a.c", SHN_ABS, 0, 0, ELF64_ST_INFO(STB_LOCAL, STT_FILE));
    object_relocation(&b, unwind, 0, R_X86_64_64, SAMPLE_SYMBOL_ANSWER, 0);
    tgi_image *image = load_built(&b);
    cr_assert_eq(call(image, "answer"), SAMPLE_ANSWER);
    cr_assert_leq(tgi_image_code_bytes(image), 64 + 8);
    tgi_image_release(image);
    check_nothing_is_alive();
}

/* -- Many ------------------------------------------------------------------ */

Test(image, ten_thousand_cycles_do_not_leak)
{
    enum { CYCLES = 10000 };
    const object_bytes object = object_sample();
    tgi_image *retained = load(object);
    const mappings before = read_mappings();
    for (int i = 0; i < CYCLES; i++) {
        tgi_image *image = load(object);
        cr_assert_eq(call(image, "answer_1"), SAMPLE_ANSWER + 1);
        tgi_image_release(image);
    }
    const mappings after = read_mappings();
    cr_assert_eq(after.n_executable, before.n_executable);
    cr_assert_leq(after.n, before.n + 8);
    cr_assert_eq(after.n_both, 0);
    cr_assert_eq(call(retained, "load"), SAMPLE_CONSTANT);
    tgi_image_release(retained);
    free(object.data);
    check_nothing_is_alive();
}

static void *load_call_and_free(void *argument)
{
    const object_bytes *object = argument;
    for (int round = 0; round < 300; round++) {
        tgi_image *images[8];
        for (int i = 0; i < 8; i++)
            images[i] = load(*object);
        for (int i = 0; i < 8; i++) {
            cr_assert_eq(call(images[i], "load"), SAMPLE_CONSTANT);
            cr_assert_eq(call(images[i], "answer_1"), SAMPLE_ANSWER + 1);
            tgi_image_release(images[i]);
        }
    }
    return NULL;
}

Test(image, two_threads_load_at_once)
{
    object_bytes object = object_sample();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        cr_assert_eq(
            pthread_create(&threads[i], NULL, load_call_and_free, &object), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    free(object.data);
    check_nothing_is_alive();
}

/* -- Faults ---------------------------------------------------------------- */

static bool load_sample_once(void)
{
    const object_bytes object = object_sample();
    tgi_image *image;
    const tg_status status = tgi_image_load(object.data, object.n, &image);
    tgi_image_release(image);
    free(object.data);
    return status == TG_OK;
}

Test(image, reports_out_of_memory)
{
    check_every_fault(load_sample_once);
}

Test(image, reports_refused_executable_memory)
{
    long n_calls = 0;
    for (;; n_calls++) {
        tg_error_clear();
        tgi_pages_inject_failures(n_calls);
        const bool went_well = load_sample_once();
        tgi_pages_inject_failures(-1);
        check_nothing_is_alive();
        if (went_well)
            break;
        cr_assert_eq(tg_error_last()->status, TG_ERROR_UNSUPPORTED);
        cr_assert_not_null(strstr(tg_error(NULL), "executable memory"));
    }
    cr_assert_eq(n_calls, 3, "a chunk and two protections");
    cr_assert(load_sample_once());
    check_nothing_is_alive();
}

#else

Test(image, refuses_objects_where_there_is_no_code_generator)
{
    const object_bytes object = object_sample();
    tgi_image *image;
    cr_assert_eq(tgi_image_load(object.data, object.n, &image),
                 TG_ERROR_UNSUPPORTED);
    free(object.data);
    check_nothing_is_alive();
}

#endif
