/* SPDX-License-Identifier: MIT */
/*
 * image_debug.c - gdb's JIT interface and perf's map file.
 *
 * gdb searches __jit_debug_register_code and __jit_debug_descriptor in the
 * symbol tables of each file of the process, so that it finds ours in addition
 * to LLVM's. They are exported, because a stripped library has no other symbols.
 *
 * Exported names can preempt those of another library, or be preempted, and then
 * two libraries would change one list under two locks. Ours are not preempted,
 * as they are protected: this library binds to its own. They do not preempt
 * those of LLVM either: they have a version of their own (libtgjit.map), and
 * references inside libLLVM name the version of libLLVM.
 */
#include "object/image_debug.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/at_fork.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "object/jitdump.h"

static atomic_uint enabled; /* TGI_DEBUG_* */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

TGI_LOCK_ACROSS_FORK(&lock, (void)0)

void tgi_image_debug_enable(unsigned what, const char *directory)
{
    if (what & TGI_DEBUG_JITDUMP)
        tgi_jitdump_enable(directory);
    atomic_fetch_or(&enabled, what);
}

bool tgi_image_debug_shows_lines(void)
{
    return atomic_load_explicit(&enabled, memory_order_relaxed) &
           (TGI_DEBUG_GDB | TGI_DEBUG_JITDUMP);
}

/* -- gdb ------------------------------------------------------------------- */

/* Names, types and order are specified by gdb ("JIT Compilation Interface"). */

typedef struct jit_code_entry {
    struct jit_code_entry *next_entry, *prev_entry;
    const char *symfile_addr;
    uint64_t symfile_size;
} jit_code_entry;

enum { JIT_NOACTION, JIT_REGISTER_FN, JIT_UNREGISTER_FN };

typedef struct jit_descriptor {
    uint32_t version;
    uint32_t action_flag;
    jit_code_entry *relevant_entry, *first_entry;
} jit_descriptor;

#define EXPORTED __attribute__((visibility("protected")))

EXPORTED extern jit_descriptor __jit_debug_descriptor;
EXPORTED void __jit_debug_register_code(void);

__attribute__((used)) jit_descriptor __jit_debug_descriptor = {
    .version = 1, .action_flag = JIT_NOACTION};

/* gdb sets a breakpoint here. */
__attribute__((noinline, used)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

struct tgi_image_debug {
    jit_code_entry entry;
    unsigned char object[]; /* a copy with section addresses */
};

/* Lock held. */
static void notify_gdb(jit_code_entry *entry, uint32_t action)
{
    __jit_debug_descriptor.relevant_entry = entry;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
    __jit_debug_descriptor.relevant_entry = NULL;
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
}

/*
 * Sets the section addresses in a copy of the object. Unwind tables are not
 * loaded; they get addresses after the image, so that their 32-bit distances
 * to code do not overflow.
 */
static void set_section_addresses(const tgi_object *object, const void *code,
                          unsigned char *copy)
{
    uintptr_t next = (uintptr_t)code + object->image_bytes;
    for (size_t i = 0; i < object->n_sections; i++) {
        Elf64_Shdr section = tgi_object_section(object, i);
        if (!(section.sh_flags & SHF_ALLOC))
            continue;
        if (object->load_offsets[i] != TGI_OBJECT_NOT_LOADED) {
            section.sh_addr = (uintptr_t)code + object->load_offsets[i];
        } else {
            section.sh_addr = (next + 15) & ~(uintptr_t)15;
            next = section.sh_addr + section.sh_size;
        }
        memcpy(copy + object->section_headers_offset + i * sizeof(section),
               &section, sizeof(section));
    }
}

static tg_status add_to_gdb(const tgi_object *object, const void *code,
                            tgi_image_debug **out_entry)
{
    tgi_image_debug *added = tgi_alloc(sizeof(*added) + object->n_bytes);
    if (!added)
        return tgi_error_memory();
    memcpy(added->object, object->bytes, object->n_bytes);
    set_section_addresses(object, code, added->object);
    added->entry = (jit_code_entry){
        .symfile_addr = (const char *)added->object,
        .symfile_size = object->n_bytes,
    };

    pthread_mutex_lock(&lock);
    jit_code_entry *second = __jit_debug_descriptor.first_entry;
    added->entry.next_entry = second;
    if (second)
        second->prev_entry = &added->entry;
    __jit_debug_descriptor.first_entry = &added->entry;
    notify_gdb(&added->entry, JIT_REGISTER_FN);
    pthread_mutex_unlock(&lock);
    *out_entry = added;
    return TG_OK;
}

void tgi_image_debug_remove(tgi_image_debug *removed)
{
    if (!removed)
        return;
    pthread_mutex_lock(&lock);
    jit_code_entry *next = removed->entry.next_entry;
    jit_code_entry *previous = removed->entry.prev_entry;
    if (next)
        next->prev_entry = previous;
    if (previous)
        previous->next_entry = next;
    else
        __jit_debug_descriptor.first_entry = next;
    notify_gdb(&removed->entry, JIT_UNREGISTER_FN);
    pthread_mutex_unlock(&lock);
    tgi_free(removed);
}

/* -- perf ------------------------------------------------------------------ */

/*
 * The file is opened for each image, because its name changes after a fork, and
 * other libraries may append to it. A file in /tmp may belong to another user:
 * symbolic links and foreign files are rejected.
 */
static void append_to_map(const tgi_strbuf *lines)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%ld.map", (long)getpid());
    const int file = open(path,
                          O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW |
                              O_NONBLOCK | O_CLOEXEC,
                          0600);
    if (file < 0)
        return;
    struct stat about;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
        about.st_uid == geteuid()) {
        const ssize_t n_written = write(file, lines->text, lines->n);
        (void)n_written; /* a full disk truncates the last line */
    }
    close(file);
}

static tg_status add_to_perf(const tgi_object *object, const void *code)
{
    tgi_strbuf lines = {0};
    for (size_t i = 0; i < object->n_symbols; i++) {
        const Elf64_Sym symbol = tgi_object_symbol(object, i);
        const uint32_t offset = tgi_object_symbol_offset(object, &symbol);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            offset != TGI_OBJECT_NOT_LOADED)
            tgi_strbuf_addf(&lines, "%llx %llx %s\n",
                            (unsigned long long)((uintptr_t)code + offset),
                            (unsigned long long)symbol.st_size,
                            tgi_object_symbol_name(object, &symbol));
    }
    const bool has_failed = lines.failed;
    if (!has_failed && lines.n > 0)
        append_to_map(&lines);
    tgi_strbuf_deinit(&lines);
    return has_failed ? tgi_error_memory() : TG_OK;
}

/* -- All ------------------------------------------------------------------ */

tg_status tgi_image_debug_add(const tgi_object *object, const void *code,
                              tgi_image_debug **out_entry)
{
    *out_entry = NULL;
    const unsigned what = atomic_load_explicit(&enabled, memory_order_relaxed);
    if (what & TGI_DEBUG_PERF)
        TGI_TRY(add_to_perf(object, code));
    if (what & TGI_DEBUG_JITDUMP)
        TGI_TRY(tgi_jitdump_add(object, code));
    if (what & TGI_DEBUG_GDB)
        TGI_TRY(add_to_gdb(object, code, out_entry));
    return TG_OK;
}
