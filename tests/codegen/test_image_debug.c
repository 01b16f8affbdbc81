/* SPDX-License-Identifier: MIT */
/*
 * test_image_debug.c - registration with gdb and perf. The list for gdb is read
 * the way gdb reads it.
 */
#include "object/image_debug.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object/image.h"
#include "support/image_objects.h"
#include "support/support.h"

#if defined(__x86_64__)

/* As declared in gdb's documentation. */
struct jit_code_entry {
    struct jit_code_entry *next_entry, *prev_entry;
    const char *symfile_addr;
    uint64_t symfile_size;
};

extern struct jit_descriptor {
    uint32_t version, action_flag;
    struct jit_code_entry *relevant_entry, *first_entry;
} __jit_debug_descriptor;

static tgi_image *load_sample(void)
{
    const object_bytes object = object_sample();
    tgi_image *image;
    cr_assert_eq(tgi_image_load(object.data, object.n, &image), TG_OK, "%s",
                 tg_error(NULL));
    free(object.data);
    return image;
}

static Elf64_Shdr section_of(const struct jit_code_entry *entry, unsigned i)
{
    Elf64_Ehdr header;
    Elf64_Shdr section;
    memcpy(&header, entry->symfile_addr, sizeof(header));
    memcpy(&section, entry->symfile_addr + header.e_shoff + i * sizeof(section),
           sizeof(section));
    return section;
}

static void map_path(char path[64])
{
    snprintf(path, 64, "/tmp/perf-%ld.map", (long)getpid());
}

Test(image_debug, registers_nothing_unless_requested)
{
    char path[64];
    map_path(path);
    unlink(path);
    tgi_image *image = load_sample();
    cr_assert_null(__jit_debug_descriptor.first_entry);
    cr_assert_neq(access(path, F_OK), 0);
    tgi_image_release(image);
    check_nothing_is_alive();
}

Test(image_debug, gdb_sees_objects_at_their_addresses)
{
    tgi_image_debug_enable(TGI_DEBUG_GDB, ".");
    tgi_image *image = load_sample();
    const struct jit_code_entry *entry = __jit_debug_descriptor.first_entry;
    cr_assert_eq(__jit_debug_descriptor.version, 1);
    cr_assert_not_null(entry);
    cr_assert_null(entry->next_entry);
    cr_assert_eq(memcmp(entry->symfile_addr, ELFMAG, SELFMAG), 0);
    cr_assert_eq(section_of(entry, SAMPLE_TEXT).sh_addr,
                 (uintptr_t)tgi_image_symbol(image, "answer"));
    const Elf64_Shdr rodata = section_of(entry, SAMPLE_RODATA);
    int32_t constant;
    memcpy(&constant, (const char *)(uintptr_t)rodata.sh_addr + 4,
           sizeof(constant));
    cr_assert_eq(constant, SAMPLE_CONSTANT);
    tgi_image_release(image);
    cr_assert_null(__jit_debug_descriptor.first_entry);
    check_nothing_is_alive();
}

Test(image_debug, the_list_for_gdb_stays_linked_in_any_order)
{
    tgi_image_debug_enable(TGI_DEBUG_GDB, ".");
    tgi_image *images[5];
    for (int i = 0; i < 5; i++)
        images[i] = load_sample();
    static const int order[] = {2, 0, 4, 3, 1};
    for (int i = 0; i < 5; i++) {
        tgi_image_release(images[order[i]]);
        int n = 0;
        const struct jit_code_entry *previous = NULL;
        for (const struct jit_code_entry *entry =
                 __jit_debug_descriptor.first_entry;
             entry; previous = entry, entry = entry->next_entry, n++)
            cr_assert_eq(entry->prev_entry, previous);
        cr_assert_eq(n, 4 - i);
    }
    check_nothing_is_alive();
}

Test(image_debug, unwind_tables_are_near_the_code_for_gdb)
{
    static const unsigned char bytes[16] = {0};
    tgi_image_debug_enable(TGI_DEBUG_GDB, ".");
    object_builder b;
    object_begin_sample(&b);
    const unsigned unwind =
        object_section(&b, ".eh_frame", 0x70000001, SHF_ALLOC, 8, bytes, 16);
    const object_bytes object = object_end(&b);
    tgi_image *image;
    cr_assert_eq(tgi_image_load(object.data, object.n, &image), TG_OK);
    free(object.data);
    const struct jit_code_entry *entry = __jit_debug_descriptor.first_entry;
    const uint64_t address = section_of(entry, unwind).sh_addr;
    const Elf64_Shdr last = section_of(entry, SAMPLE_RODATA);
    const uint64_t end = last.sh_addr + last.sh_size;
    cr_assert_geq(address, end);
    cr_assert_lt(address, end + 16);
    tgi_image_release(image);
    check_nothing_is_alive();
}

Test(image_debug, perf_gets_a_line_for_each_function)
{
    char path[64];
    map_path(path);
    unlink(path);
    tgi_image_debug_enable(TGI_DEBUG_PERF, ".");
    tgi_image *first = load_sample(), *second = load_sample();

    char expected[512];
    int n = 0;
    const tgi_image *images[] = {first, second};
    for (int i = 0; i < 2; i++)
        n += snprintf(expected + n, sizeof(expected) - (size_t)n,
                      "%lx 6 answer\n%lx 7 load\n%lx 9 answer_1\n",
                      (unsigned long)tgi_image_symbol(images[i], "answer"),
                      (unsigned long)tgi_image_symbol(images[i], "load"),
                      (unsigned long)tgi_image_symbol(images[i], "answer_1"));
    char found[512] = "";
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    cr_assert_eq(fread(found, 1, sizeof(found) - 1, file), (size_t)n);
    fclose(file);
    unlink(path);
    cr_assert_str_eq(found, expected);
    tgi_image_release(first);
    tgi_image_release(second);
    check_nothing_is_alive();
}

Test(image_debug, perf_lines_are_not_written_through_a_link)
{
    char path[64], target[] = "/tmp/tgjit-test-XXXXXX";
    const int file = mkstemp(target);
    cr_assert_geq(file, 0);
    map_path(path);
    unlink(path);
    cr_assert_eq(symlink(target, path), 0);
    tgi_image_debug_enable(TGI_DEBUG_PERF, ".");
    tgi_image *image = load_sample();
    struct stat about;
    cr_assert_eq(fstat(file, &about), 0);
    close(file);
    unlink(path);
    unlink(target);
    cr_assert_eq(about.st_size, 0);
    tgi_image_release(image);
    check_nothing_is_alive();
}

static bool load_with_tools(void)
{
    const object_bytes object = object_sample();
    tgi_image *image;
    const tg_status status = tgi_image_load(object.data, object.n, &image);
    tgi_image_release(image);
    free(object.data);
    return status == TG_OK;
}

Test(image_debug, reports_out_of_memory)
{
    char path[64];
    map_path(path);
    tgi_image_debug_enable(TGI_DEBUG_GDB | TGI_DEBUG_PERF, ".");
    check_every_fault(load_with_tools);
    unlink(path);
}

#endif
