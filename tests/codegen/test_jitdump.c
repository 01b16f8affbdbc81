/* SPDX-License-Identifier: MIT */
/*
 * test_jitdump.c - perf's jitdump file. It is parsed the way perf parses it.
 */
#include "object/jitdump.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "codegen/assembling.h"
#include "object/image.h"
#include "object/image_debug.h"

static int line_of_mul, line_of_sum;

#define AT(line, expression) (line = __LINE__, (expression))

static void squares(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = AT(line_of_mul, tg_mul(in[0], in[0]));
    tg_return(t, AT(line_of_sum, tg_sum(x, TG_AXES(-1))));
}

/* An object with lines, in memory that the library does not count. */
static unsigned char object[1 << 16];
static size_t n_object;

static void make_object(void)
{
    assembled as;
    assemble(&as, squares, NO_SYMBOLS, F32(300, 64));
    tgi_llvm_codegen_dispose(&as.codegen);
    const tgi_codegen_options options = {.cpu = "x86-64-v3",
                                         .vector_bits = 8 * REGISTER_BYTES,
                                         .debug_directory = "/source",
                                         .alloc = tgi_alloc,
                                         .free = tgi_free};
    cr_assert(tgi_llvm_codegen(as.fu.loops, &options, &as.codegen));
    n_object = as.codegen.object_bytes;
    cr_assert_leq(n_object, sizeof(object));
    memcpy(object, as.codegen.object, n_object);
    assemble_end(&as);
}

static tgi_image *load_object(void)
{
    tgi_image *image;
    cr_assert_eq(tgi_image_load(object, n_object, &image), TG_OK, "%s",
                 tg_error(NULL));
    return image;
}

static char folder[] = "/tmp/tgjit-jitdump-XXXXXX";
static char path[128];

static void name_file(long pid)
{
    snprintf(path, sizeof(path), "%s/jit-%ld.dump", folder, pid);
}

static void begin(void)
{
    make_object();
    cr_assert_not_null(mkdtemp(folder));
    name_file((long)getpid());
    tgi_image_debug_enable(TGI_DEBUG_JITDUMP, folder);
}

static void end(void)
{
    unlink(path);
    cr_assert_eq(rmdir(folder), 0);
    check_nothing_is_alive();
}

/* -- Parsing --------------------------------------------------------------- */

static unsigned char bytes[1 << 18];
static size_t n_bytes, at;

static void read_file(void)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    n_bytes = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    at = 0;
}

static uint64_t number(unsigned width)
{
    uint64_t n = 0;
    cr_assert_leq(at + width, n_bytes);
    memcpy(&n, bytes + at, width);
    at += width;
    return n;
}

static const char *text(void)
{
    const char *start = (const char *)bytes + at;
    at += strlen(start) + 1;
    cr_assert_leq(at, n_bytes);
    return start;
}

static void check_header(uint64_t before, uint64_t after)
{
    cr_assert_eq(number(4), 0x4A695444); /* magic */
    cr_assert_eq(number(4), 1);          /* version */
    cr_assert_eq(number(4), 40);         /* bytes of the header */
    cr_assert_eq(number(4), EM_X86_64);
    number(4);
    cr_assert_eq(number(4), (uint64_t)getpid());
    const uint64_t stamp = number(8);
    cr_assert(stamp >= before && stamp <= after);
    cr_assert_eq(number(8), 0); /* flags */
    cr_assert_eq(at, 40);
}

/* What a file has said so far. */
typedef struct state {
    uint64_t before, after;                   /* limits of stamps */
    uint64_t lines_of, last_row, n_rows;      /* of the last lines */
    bool has_mul, has_sum, is_closed;
    int n_loads;
} state;

static void check_lines(state *s)
{
    s->lines_of = number(8);
    s->n_rows = number(8);
    s->last_row = s->lines_of;
    cr_assert_gt(s->n_rows, 1);
    for (uint64_t i = 0; i < s->n_rows; i++) {
        const uint64_t address = number(8);
        const int line = (int)number(4);
        number(4); /* discriminator */
        const char *file = text();
        cr_assert_geq(address, s->last_row);
        cr_assert_eq(file[0], '/', "%s", file);
        cr_assert_not_null(strstr(file, __FILE__), "%s", file);
        s->last_row = address;
        s->has_mul |= line == line_of_mul;
        s->has_sum |= line == line_of_sum;
    }
}

static void check_load(state *s)
{
    cr_assert_eq(number(4), (uint64_t)getpid());
    number(4); /* thread */
    const uint64_t address = number(8);
    cr_assert_eq(number(8), address);
    const uint64_t size = number(8);
    cr_assert_eq(number(8), (uint64_t)s->n_loads);
    const char *name = text();
    cr_assert_eq(strncmp(name, "tg_squares", 10), 0, "%s", name);
    /* The lines of a kernel come first, and end where it does. The entry, which
       only calls the kernel, has none. */
    if (!strncmp(name, "tg_squares_0", 12)) {
        cr_assert_eq(s->lines_of, address);
        cr_assert_eq(s->last_row, address + size);
    } else {
        cr_assert_neq(s->lines_of, address);
    }
    cr_assert_leq(at + size, n_bytes);
    cr_assert_eq(memcmp(bytes + at, (const void *)(uintptr_t)address, size), 0);
    at += size;
    s->n_loads++;
}

static state check_records(uint64_t before, uint64_t after)
{
    enum { LOAD = 0, LINES = 2, CLOSE = 3 };
    state s = {.before = before, .after = after};
    while (at < n_bytes) {
        const size_t start = at;
        const uint64_t kind = number(4), size = number(4), stamp = number(8);
        cr_assert(stamp >= s.before && stamp <= s.after);
        cr_assert_not(s.is_closed);
        s.before = stamp;
        if (kind == LINES)
            check_lines(&s);
        else if (kind == LOAD)
            check_load(&s);
        else
            cr_assert_eq(kind, CLOSE);
        s.is_closed = kind == CLOSE;
        cr_assert_eq(at, start + size);
    }
    return s;
}

/* -- Tests ----------------------------------------------------------------- */

Test(jitdump, has_the_code_and_the_lines_of_functions)
{
    begin();
    const uint64_t before = tgi_clock_ns();
    tgi_image *first = load_object(), *second = load_object();
    const uint64_t after = tgi_clock_ns();
    read_file();
    check_header(before, after);
    const state s = check_records(before, after);
    cr_assert_eq(s.n_loads, 4); /* kernel and entry, twice */
    cr_assert(s.has_mul && s.has_sum);
    cr_assert_not(s.is_closed);
    tgi_jitdump_close();
    read_file();
    check_header(before, after);
    cr_assert(check_records(before, tgi_clock_ns()).is_closed);
    tgi_image_release(first);
    tgi_image_release(second);
    end();
}

/* perf record finds the file by its executable mapping. */
Test(jitdump, is_mapped_executable)
{
    begin();
    tgi_image *image = load_object();
    char line[512];
    bool is_mapped = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    cr_assert_not_null(maps);
    while (fgets(line, sizeof(line), maps))
        is_mapped |= strstr(line, path) && strstr(line, " r-xp ");
    fclose(maps);
    cr_assert(is_mapped);
    tgi_image_release(image);
    tgi_jitdump_close();
    end();
}

Test(jitdump, a_forked_child_has_a_file_of_its_own)
{
    begin();
    tgi_image *image = load_object();
    struct stat before, after;
    cr_assert_eq(stat(path, &before), 0);
    const pid_t child = fork();
    if (child == 0) {
        tgi_image_release(load_object());
        name_file((long)getpid());
        const bool has_file = access(path, R_OK) == 0;
        unlink(path);
        _exit(has_file ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    cr_assert_eq(stat(path, &after), 0);
    cr_assert_eq(before.st_size, after.st_size);
    tgi_image_release(image);
    tgi_jitdump_close();
    end();
}

Test(jitdump, is_not_written_through_a_link)
{
    begin();
    char target[] = "/tmp/tgjit-test-XXXXXX";
    const int file = mkstemp(target);
    struct stat about;
    cr_assert_geq(file, 0);
    cr_assert_eq(symlink(target, path), 0);
    tgi_image_release(load_object());
    cr_assert_eq(fstat(file, &about), 0);
    cr_assert_eq(about.st_size, 0);
    close(file);
    unlink(target);
    end();
}

Test(jitdump, a_folder_that_does_not_exist_is_ignored)
{
    make_object();
    tgi_image_debug_enable(TGI_DEBUG_JITDUMP, "/tmp/tgjit-none/none");
    tgi_image_release(load_object());
    check_nothing_is_alive();
}

static bool load(void)
{
    tgi_image *image;
    const tg_status status = tgi_image_load(object, n_object, &image);
    tgi_image_release(image);
    return status == TG_OK;
}

Test(jitdump, reports_out_of_memory)
{
    begin();
    check_every_fault(load);
    tgi_jitdump_close();
    end();
}
