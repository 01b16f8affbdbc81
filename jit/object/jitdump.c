/* SPDX-License-Identifier: MIT */
/*
 * jitdump.c - see jitdump.h. The format is that of jitdump-specification.txt in
 * the sources of perf, version 1; all numbers are in the byte order of the
 * machine.
 *
 * What perf expects beyond the format:
 *   - The file is mapped executable for as long as the process runs. perf record
 *     sees the mapping and notes the name of the file.
 *   - Stamps are of CLOCK_MONOTONIC (perf record -k mono).
 *   - The lines of a function precede its code.
 *   - perf 6.1 drops the last line of a function, because it ends the table
 *     where that line begins. So a last row, at the end of the function, repeats
 *     it.
 *
 * There is no record of unwinding: functions have frame pointers.
 */
#include "object/jitdump.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/at_fork.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "object/debug_lines.h"

#define MAGIC UINT32_C(0x4A695444)

enum { VERSION = 1 };
enum { RECORD_LOAD = 0, RECORD_LINES = 2, RECORD_CLOSE = 3 };

typedef struct file_header {
    uint32_t magic, version, header_bytes, machine, padding, pid;
    uint64_t stamp, flags;
} file_header;

typedef struct record_header {
    uint32_t kind, bytes;
    uint64_t stamp;
} record_header;

typedef struct load_record {
    record_header head;
    uint32_t pid, tid;
    uint64_t address, code_address, code_bytes, number;
    /* name and code follow */
} load_record;

typedef struct lines_record {
    record_header head;
    uint64_t code_address, n_rows;
    /* rows follow: */
} lines_record;

typedef struct lines_row {
    uint64_t address;
    int32_t line, discriminator;
    /* the name of the file follows */
} lines_row;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    char directory[4000]; /* "": not enabled */
    int file;             /* if is_open */
    bool is_open, has_failed, has_exit_handler;
    void *marker;
    size_t marker_bytes;
    uint64_t n_functions;
} dump;

static void close_file(void)
{
    if (!dump.is_open)
        return;
    munmap(dump.marker, dump.marker_bytes);
    close(dump.file);
    dump.is_open = false;
}

TGI_LOCK_ACROSS_FORK(&lock, (close_file(), dump.has_failed = false))

/* -- The file -------------------------------------------------------------- */

/* Writes all or nothing; after a failure, nothing more is written. */
static void write_bytes(const void *bytes, size_t n)
{
    const off_t before = lseek(dump.file, 0, SEEK_END);
    const ssize_t written = write(dump.file, bytes, n);
    if (written >= 0 && (size_t)written == n)
        return;
    dump.has_failed = true;
    if (before >= 0 && ftruncate(dump.file, before) != 0)
        close_file(); /* perf ignores an incomplete record at the end */
}

static void write_header(void)
{
    const file_header header = {.magic = MAGIC,
                                .version = VERSION,
                                .header_bytes = sizeof(header),
                                .machine = tgi_elf_machine,
                                .pid = (uint32_t)getpid(),
                                .stamp = tgi_clock_ns()};
    write_bytes(&header, sizeof(header));
}

void tgi_jitdump_close(void)
{
    pthread_mutex_lock(&lock);
    const record_header last = {RECORD_CLOSE, sizeof(last), tgi_clock_ns()};
    if (dump.is_open && !dump.has_failed)
        write_bytes(&last, sizeof(last));
    close_file();
    dump.has_failed = false;
    pthread_mutex_unlock(&lock);
}

/* Lock held. The directory may be /tmp: symbolic links and files of others are
   rejected. */
static void open_file(void)
{
    char path[4096];
    if (dump.is_open || dump.has_failed || !dump.directory[0])
        return;
    dump.has_failed = true;
    snprintf(path, sizeof(path), "%s/jit-%ld.dump", dump.directory,
             (long)getpid());
    dump.file = open(
        path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (dump.file < 0)
        return;
    struct stat about;
    dump.marker_bytes = (size_t)sysconf(_SC_PAGESIZE);
    dump.marker = MAP_FAILED;
    if (fstat(dump.file, &about) == 0 && S_ISREG(about.st_mode) &&
        about.st_uid == geteuid() && ftruncate(dump.file, 0) == 0)
        dump.marker = mmap(NULL, dump.marker_bytes, PROT_READ | PROT_EXEC,
                           MAP_PRIVATE, dump.file, 0);
    if (dump.marker == MAP_FAILED) {
        close(dump.file);
        return;
    }
    dump.is_open = true;
    dump.has_failed = false;
    if (!dump.has_exit_handler)
        dump.has_exit_handler = atexit(tgi_jitdump_close) == 0;
    write_header();
}

void tgi_jitdump_enable(const char *directory)
{
    pthread_mutex_lock(&lock);
    if (!dump.directory[0] && strlen(directory) < sizeof(dump.directory))
        memcpy(dump.directory, directory, strlen(directory) + 1);
    pthread_mutex_unlock(&lock);
}

/* -- Records --------------------------------------------------------------- */

/* A function of the object. */
typedef struct function {
    const char *name;
    uint32_t offset; /* in the image */
    uint64_t bytes;
} function;

static void add_bytes(tgi_strbuf *out, const void *bytes, size_t n)
{
    tgi_strbuf_add_bytes(out, bytes, n);
}

/* Completes the record that begins at `start`. */
static void end_record(tgi_strbuf *out, size_t start)
{
    if (out->failed)
        return;
    record_header head;
    memcpy(&head, out->text + start, sizeof(head));
    head.bytes = (uint32_t)(out->n - start);
    memcpy(out->text + start, &head, sizeof(head));
}

/* perf looks for absolute names only. Code is compiled with the current
   directory as that of relative names. */
static void add_file_name(tgi_strbuf *out, const tgi_debug_file *file)
{
    char current[4096];
    const char *directory = file->directory ? file->directory : "";
    if (file->name[0] != '/' && directory[0] != '/' &&
        getcwd(current, sizeof(current)))
        tgi_strbuf_addf(out, "%s/", current);
    if (file->name[0] != '/' && directory[0])
        tgi_strbuf_addf(out, "%s/", directory);
    tgi_strbuf_add(out, file->name);
    add_bytes(out, "", 1);
}

static void add_row(tgi_strbuf *out, const unsigned char *code, uint64_t offset,
                    uint32_t line, const tgi_debug_file *file)
{
    const lines_row row = {.address = (uintptr_t)code + offset,
                           .line = (int32_t)line};
    add_bytes(out, &row, sizeof(row));
    add_file_name(out, file);
}

/* The lines of a function; nothing if it has none. */
static void add_lines(tgi_strbuf *out, const tgi_debug_lines *lines,
                      const function *f, const unsigned char *code)
{
    const size_t start = out->n;
    lines_record record = {
        .head = {.kind = RECORD_LINES, .stamp = tgi_clock_ns()},
        .code_address = (uintptr_t)code + f->offset};
    const tgi_debug_row *last = NULL;
    add_bytes(out, &record, sizeof(record));
    for (size_t i = 0; i < lines->rows.n; i++) {
        const tgi_debug_row *row = &lines->rows.data[i];
        if (row->is_end || row->offset < f->offset ||
            row->offset >= f->offset + f->bytes)
            continue;
        add_row(out, code, row->offset, row->line,
                &lines->files.data[row->file]);
        record.n_rows++;
        last = row;
    }
    if (!last) {
        tgi_strbuf_truncate(out, start);
        return;
    }
    add_row(out, code, f->offset + f->bytes, last->line,
            &lines->files.data[last->file]);
    record.n_rows++;
    if (!out->failed)
        memcpy(out->text + start, &record, sizeof(record));
    end_record(out, start);
}

/* Lock held. */
static void add_load(tgi_strbuf *out, const function *f,
                     const unsigned char *code)
{
    const size_t start = out->n;
    const uint64_t address = (uintptr_t)code + f->offset;
    const load_record record = {
        .head = {.kind = RECORD_LOAD, .stamp = tgi_clock_ns()},
        .pid = (uint32_t)getpid(),
        .tid = (uint32_t)syscall(SYS_gettid),
        .address = address,
        .code_address = address,
        .code_bytes = f->bytes,
        .number = dump.n_functions++};
    add_bytes(out, &record, sizeof(record));
    add_bytes(out, f->name, strlen(f->name) + 1);
    add_bytes(out, code + f->offset, f->bytes);
    end_record(out, start);
}

/* Lock held. */
static void add_functions(const tgi_object *object,
                          const tgi_debug_lines *lines,
                          const unsigned char *code, tgi_strbuf *out)
{
    for (size_t i = 0; i < object->n_symbols; i++) {
        const Elf64_Sym symbol = tgi_object_symbol(object, i);
        const function f = {tgi_object_symbol_name(object, &symbol),
                            tgi_object_symbol_offset(object, &symbol),
                            symbol.st_size};
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
            f.offset == TGI_OBJECT_NOT_LOADED || f.bytes == 0)
            continue;
        add_lines(out, lines, &f, code);
        add_load(out, &f, code);
    }
}

tg_status tgi_jitdump_add(const tgi_object *object, const void *code)
{
    tgi_debug_lines lines;
    TGI_TRY(tgi_debug_lines_read(object, &lines));
    tgi_strbuf records = {0};
    pthread_mutex_lock(&lock);
    open_file();
    if (dump.is_open && !dump.has_failed) {
        add_functions(object, &lines, code, &records);
        if (!records.failed)
            write_bytes(records.text, records.n);
    }
    pthread_mutex_unlock(&lock);
    const bool has_memory = !records.failed;
    tgi_strbuf_deinit(&records);
    tgi_debug_lines_deinit(&lines);
    return has_memory ? TG_OK : tgi_error_memory();
}
