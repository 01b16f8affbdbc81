/* SPDX-License-Identifier: MIT */
/*
 * fuzz_objects.c - feeds mutants of serialised code to its readers: the object
 * loader, the reader of cached values, and the disk cache, with a valid
 * checksum. Seeds are a hand-made object and, with LLVM, objects of the code
 * generator.
 *
 * Most mutations replace one field of an ELF header, section header, symbol or
 * relocation by a number near a limit; others change bytes, the size, or what
 * is before the object: number of kernels, plan, entry's name. Nothing that
 * loads is run. A mutant fails if a reader reads out of bounds (the bytes end at
 * a guard page), if something it accepts lies outside the image, or if memory
 * leaks.
 *
 *     --count N   mutants (default 20000)     --seed S   of the random numbers
 *     --only K    mutant K alone, here        --jobs J   processes
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/live.h"
#include "cache/code.h"
#include "cache/disk_cache.h"
#include "loop/leb128.h"
#include "object/elf_reader.h"
#include "object/image_debug.h"
#include "support/corpus.h"
#include "support/guarded.h"
#include "support/image_objects.h"
#include "support/support_random.h"
#include "support/workers.h"
#include "tgjit.h"

#if defined(__x86_64__)

enum {
    MAX_SEEDS = 16,
    MAX_TABLES = 32,
    MAX_EDITS = 4,
    GROWTH = 64,     /* maximum bytes that a mutant is longer than its seed */
    DISK_EVERY = 64, /* one of this many mutants goes through a file */
    MAX_SECONDS = 60 /* timeout of one mutant */
};

#define ROOM ((uint64_t)1 << 30)
#define MAX_IMAGE_BYTES \
    ((size_t)64 << 20) /* of images that this program
                                               loads */

/* -- Seeds ----------------------------------------------------------------- */

typedef struct field {
    size_t at, bytes;
} field;

#define FIELD(type, name) {offsetof(type, name), sizeof(((type *)0)->name)}

static const field header_fields[] = {
    FIELD(Elf64_Ehdr, e_type),      FIELD(Elf64_Ehdr, e_machine),
    FIELD(Elf64_Ehdr, e_version),   FIELD(Elf64_Ehdr, e_shoff),
    FIELD(Elf64_Ehdr, e_ehsize),    FIELD(Elf64_Ehdr, e_shentsize),
    FIELD(Elf64_Ehdr, e_shnum),     FIELD(Elf64_Ehdr, e_shstrndx),
    {EI_CLASS, 1},                  {EI_DATA, 1},
};
static const field section_fields[] = {
    FIELD(Elf64_Shdr, sh_name),      FIELD(Elf64_Shdr, sh_type),
    FIELD(Elf64_Shdr, sh_flags),     FIELD(Elf64_Shdr, sh_addr),
    FIELD(Elf64_Shdr, sh_offset),    FIELD(Elf64_Shdr, sh_size),
    FIELD(Elf64_Shdr, sh_link),      FIELD(Elf64_Shdr, sh_info),
    FIELD(Elf64_Shdr, sh_addralign), FIELD(Elf64_Shdr, sh_entsize),
};
static const field symbol_fields[] = {
    FIELD(Elf64_Sym, st_name),  FIELD(Elf64_Sym, st_info),
    FIELD(Elf64_Sym, st_other), FIELD(Elf64_Sym, st_shndx),
    FIELD(Elf64_Sym, st_value), FIELD(Elf64_Sym, st_size),
};
static const field reloc_fields[] = {
    FIELD(Elf64_Rela, r_offset),
    {offsetof(Elf64_Rela, r_info), 4},     /* type */
    {offsetof(Elf64_Rela, r_info) + 4, 4}, /* symbol */
    FIELD(Elf64_Rela, r_addend),
};
static const field byte_fields[] = {{0, 1}};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Records of one kind, at an offset in the value. */
typedef struct table {
    size_t at, n, record_bytes;
    const field *fields;
    size_t n_fields;
} table;

/* A value of the disk cache: number of kernels, plan, entry's name, object. */
typedef struct seed {
    unsigned char *value;
    size_t n, object_at, n_kernels;
    table tables[MAX_TABLES];
    size_t n_tables;
} seed;

static seed seeds[MAX_SEEDS];
static size_t n_seeds;

static void add_table(seed *s, size_t at, size_t n, size_t record_bytes,
                      const field *fields, size_t n_fields)
{
    if (n && s->n_tables < MAX_TABLES)
        s->tables[s->n_tables++] = (table){at, n, record_bytes, fields,
                                           n_fields};
}

#define ADD_TABLE(s, at, n, record_bytes, fields) \
    add_table(s, at, n, record_bytes, fields, LENGTH(fields))

/* Finds the records of a valid object. */
static void find_tables(seed *s)
{
    const unsigned char *object = s->value + s->object_at;
    Elf64_Ehdr header;
    memcpy(&header, object, sizeof(header));
    ADD_TABLE(s, 0, s->object_at, 1, byte_fields);
    ADD_TABLE(s, s->object_at, 1, sizeof(header), header_fields);
    ADD_TABLE(s, s->object_at + header.e_shoff, header.e_shnum,
              sizeof(Elf64_Shdr), section_fields);
    for (size_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, object + header.e_shoff + i * sizeof(section),
               sizeof(section));
        const size_t at = s->object_at + section.sh_offset;
        if (section.sh_type == SHT_SYMTAB)
            ADD_TABLE(s, at, section.sh_size / sizeof(Elf64_Sym),
                      sizeof(Elf64_Sym), symbol_fields);
        else if (section.sh_type == SHT_RELA)
            ADD_TABLE(s, at, section.sh_size / sizeof(Elf64_Rela),
                      sizeof(Elf64_Rela), reloc_fields);
        else if (section.sh_type == SHT_STRTAB)
            ADD_TABLE(s, at, section.sh_size, 1, byte_fields);
    }
}

/* Copies a value. False if the library did not write it. */
static bool add_seed(const void *value, size_t n)
{
    const unsigned char *at = value, *end = at + n;
    uint64_t n_kernels, number; /* of bytes of the plan, then of the name */
    bool is_good = tgi_leb128_get(&at, end, &n_kernels);
    for (int i = 0; is_good && i < 2; i++) {
        is_good = tgi_leb128_get(&at, end, &number) &&
                  number < (uint64_t)(end - at);
        at += is_good ? number : 0;
    }
    if (!is_good || n_seeds == MAX_SEEDS)
        return is_good;
    seed *s = &seeds[n_seeds++];
    *s = (seed){.value = malloc(n), .n = n, .n_kernels = n_kernels};
    if (!s->value)
        abort();
    memcpy(s->value, value, n);
    s->object_at = (size_t)(at - (const unsigned char *)value);
    find_tables(s);
    return true;
}

static void add_sample(void)
{
    const object_bytes object = object_sample();
    const tgi_codegen codegen = {.object = object.data,
                                 .object_bytes = object.n,
                                 .entry = "answer_1",
                                 .n_kernels = 2};
    tgi_strbuf value = {0};
    tgi_code_serialise(&codegen, NULL, 0, &value);
    if (value.failed || !add_seed(value.text, value.n))
        abort();
    tgi_strbuf_deinit(&value);
    free(object.data);
}

/* -- Seeds of the code generator ------------------------------------------- */

static void chain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_tanh(tg_mul(tg_sub(in[0], 0.5f), 3.0f)));
}

static void product(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(in[0], in[0]), tg_sum(tg_exp(in[0]), TG_ALL_AXES));
}

/* Compiles functions with a disk cache in the directory. Runs in a child,
   which loads LLVM; the parent stays small and without threads. */
static void fill_directory(const char *path)
{
    static tg_callback *const callbacks[] = {chain, product};
    const tg_context_options options = {.struct_bytes = sizeof(options),
                                        .jit = "required",
                                        .cache = "rw",
                                        .cache_dir = path,
                                        .threads = 1};
    tg_context *ctx = tg_context_create(&options);
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(40, 40), tg_zeros());
    for (size_t i = 0; i < LENGTH(callbacks); i++) {
        tg_tensor *results[2] = {NULL, NULL};
        tg_function *f = tg_function_create(ctx, callbacks[i], NULL, NULL);
        if (i == 0)
            (void)!tg_call(f, TG_ARGS(x), TG_RESULTS(&results[0]));
        else
            (void)!tg_call(f, TG_ARGS(x), TG_RESULTS(&results[0], &results[1]));
        tg_function_release(f);
        tg_tensor_release(results[0]);
        tg_tensor_release(results[1]);
    }
    tg_tensor_release(x);
    tg_context_release(ctx);
}

/* Reads the value of a cache file (docs/CACHE.md). */
static bool add_file(int dir, const char *name)
{
    enum { HEADER_BYTES = 48, SIZES_AT = 32, MAX_BYTES = 1 << 20 };
    static unsigned char file[MAX_BYTES];
    uint64_t sizes[2]; /* of key and value */
    const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, file, sizeof(file));
    if (fd >= 0)
        close(fd);
    if (n < HEADER_BYTES)
        return false;
    memcpy(sizes, file + SIZES_AT, sizeof(sizes));
    return HEADER_BYTES + sizes[0] + sizes[1] == (uint64_t)n &&
           add_seed(file + HEADER_BYTES + sizes[0], sizes[1]);
}

/* False if a file cannot be read. */
static bool add_files(const char *path)
{
    bool is_good = true;
    DIR *dir = opendir(path);
    for (struct dirent *d; dir && (d = readdir(dir));)
        if (strstr(d->d_name, ".tgjit"))
            is_good &= add_file(dirfd(dir), d->d_name);
    if (dir)
        closedir(dir);
    return is_good;
}

static bool add_compiled(const char *path)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        fill_directory(path);
        exit(0);
    }
    return child > 0 && waitpid(child, NULL, 0) == child && add_files(path);
}

/* -- Mutants --------------------------------------------------------------- */

typedef struct mutant {
    const seed *of;
    unsigned char *value;
    size_t n;
} mutant;

/* A number near a limit. */
static uint64_t odd_number(uint64_t *random, uint64_t before, size_t n)
{
    static const uint64_t known[] = {
        0,          1,           2,         SHN_LORESERVE, SHN_ABS,
        SHN_COMMON, SHN_XINDEX,  INT32_MAX, UINT32_MAX,    INT64_MAX,
        UINT64_MAX, R_X86_64_64, 4095,      4096,          SHT_SYMTAB,
        SHT_NOBITS, SHT_STRTAB,  SHT_RELA,  SHT_PROGBITS,  SHF_ALLOC,
    };
    switch (random_below(random, 6)) {
    case 0:
        return known[random_below(random, LENGTH(known))];
    case 1:
        return (uint64_t)1 << random_below(random, 64);
    case 2:
        return before ^ (uint64_t)1 << random_below(random, 64);
    case 3:
        return before + (uint64_t)random_below(random, 65) - 32;
    case 4: /* near the size of the object */
        return n + (uint64_t)random_below(random, 65) - 32;
    default:
        return random_next(random) >> random_below(random, 64);
    }
}

static int pick(size_t n, uint64_t *random)
{
    return random_below(random, (int)n);
}

/* Sets a field of a record to a number, or rarely to the value of another
   record. */
static void edit_field(mutant *m, const table *t, size_t record,
                       uint64_t *random)
{
    const seed *s = m->of;
    const field *f = &t->fields[pick(t->n_fields, random)];
    const size_t first = t->at + f->at;
    unsigned char *to = m->value + first + record * t->record_bytes;
    uint64_t number = 0;
    memcpy(&number, to, f->bytes);
    if (pick(8, random) == 0)
        memcpy(&number,
               s->value + first +
                   (size_t)pick(t->n, random) * t->record_bytes,
               f->bytes);
    else
        number = odd_number(random, number, s->n - s->object_at);
    memcpy(to, &number, f->bytes);
}

/* Mutates a record: some of its fields, or a copy of another record with one
   changed field. */
static void edit_record(mutant *m, uint64_t *random)
{
    const table *t = &m->of->tables[pick(m->of->n_tables, random)];
    const size_t record = (size_t)pick(t->n, random);
    const size_t at = t->at + record * t->record_bytes;
    if (at + t->record_bytes > m->n)
        return; /* truncated */
    if (pick(4, random) == 0)
        memcpy(m->value + at,
               m->of->value + t->at +
                   (size_t)pick(t->n, random) * t->record_bytes,
               t->record_bytes);
    for (int i = pick(3, random); i >= 0; i--)
        edit_field(m, t, record, random);
}

static void edit(mutant *m, uint64_t *random)
{
    const int kind = random_below(random, 32);
    if (kind == 0 && m->n > 1) {
        m->n -= (size_t)random_below(random, (int)m->n);
    } else if (kind == 1) {
        const size_t more = (size_t)random_below(
            random, (int)(m->of->n + GROWTH - m->n) + 1);
        memset(m->value + m->n, random_below(random, 256), more);
        m->n += more;
    } else if (kind < 6) {
        m->value[random_below(random, (int)m->n)] =
            (unsigned char)random_below(random, 256);
    } else {
        edit_record(m, random);
    }
}

static void mutate(mutant *m, uint64_t *random)
{
    m->of = &seeds[random_below(random, (int)n_seeds)];
    m->value = malloc(m->of->n + GROWTH);
    if (!m->value)
        abort();
    memcpy(m->value, m->of->value, m->of->n);
    m->n = m->of->n;
    for (int i = random_below(random, MAX_EDITS) + 1; i > 0; i--)
        edit(m, random);
}

/* -- Checks ---------------------------------------------------------------- */

typedef struct tally {
    uint64_t n_mutants, n_objects, n_images, n_values, n_files; /* numbers of
                                                                   accepted ones
                                                                   */
} tally;

typedef struct options {
    uint64_t seed, count, only;
    bool is_only;
    int n_jobs;
    const char *path; /* path of a directory */
} options;

static bool fail(const char *what)
{
    printf("%s\n", what);
    fflush(stdout);
    return false;
}

/* Checks everything that users of an accepted object read. */
static bool check_contents(const tgi_object *object)
{
    for (size_t i = 0; i < object->n_sections; i++) {
        const Elf64_Shdr section = tgi_object_section(object, i);
        (void)strlen(tgi_object_section_name(object, &section));
        if (object->load_offsets[i] != TGI_OBJECT_NOT_LOADED &&
            (object->load_offsets[i] > object->image_bytes ||
             section.sh_size > object->image_bytes - object->load_offsets[i]))
            return fail("a section lies outside the image");
    }
    for (size_t i = 0; i < object->n_symbols; i++) {
        const Elf64_Sym symbol = tgi_object_symbol(object, i);
        const uint32_t place = tgi_object_symbol_offset(object, &symbol);
        (void)strlen(tgi_object_symbol_name(object, &symbol));
        if (place != TGI_OBJECT_NOT_LOADED && place > object->image_bytes)
            return fail("a symbol lies outside the image");
    }
    return true;
}

/* The bytes, and the image made from them, end at guard pages. */
static bool check_object(const unsigned char *bytes, size_t n, tally *t)
{
    enum { AT_END = 2 };
    unsigned char *copy = guarded_room(0, n, 1, AT_END);
    tgi_object object;
    memcpy(copy, bytes, n);
    if (tgi_object_init(&object, copy, n) != TG_OK)
        return true;
    t->n_objects++;
    bool is_good = check_contents(&object);
    if (is_good && object.image_bytes <= MAX_IMAGE_BYTES) {
        unsigned char *image = guarded_room(1, object.image_bytes, 1, AT_END);
        memset(image, 0, object.image_bytes);
        (void)!tgi_object_write_image(&object, image);
        if (!guarded_is_intact(2))
            is_good = fail("something was stored outside the image");
    }
    tgi_object_deinit(&object);
    return is_good;
}

static void load_object(const unsigned char *bytes, size_t n, tally *t)
{
    tgi_image *image;
    if (tgi_image_load(bytes, n, &image) == TG_OK)
        t->n_images++;
    tgi_image_release(image);
}

static bool read_value(const void *bytes, size_t n, size_t n_kernels)
{
    tgi_code *code;
    const bool is_good =
        tgi_code_deserialise(bytes, n, n_kernels, &code) == TG_OK;
    tgi_code_release(code);
    return is_good;
}

/* A saved value is loaded unchanged, since its checksum is valid. */
static bool check_file(const mutant *m, const char *path, tally *t)
{
    tgi_disk_cache *store = NULL;
    const tgi_byte_span key = {"mutant", 6}, value = {m->value, m->n};
    static tgi_log log;
    bool is_good = false;
    size_t n = 0;
    if (tgi_disk_cache_open(path, TGI_DISK_CACHE_READ_WRITE, ROOM, &store) !=
            TG_OK ||
        !store)
        return fail("no store");
    void *bytes = tgi_disk_cache_save(store, key, value, &log)
                      ? tgi_disk_cache_load(store, key, &log, &n)
                      : NULL;
    if (bytes && n == m->n && memcmp(bytes, m->value, n) == 0) {
        is_good = true;
        t->n_files += read_value(bytes, n, m->of->n_kernels);
    }
    tgi_free(bytes);
    tgi_disk_cache_release(store);
    return is_good || fail("the store lost a mutant");
}

/* -- Fuzzers --------------------------------------------------------------- */

/* A string of bytes: the number of kernels of a serialised program, then that;
   the object is behind its first bytes, or all of it. */
static bool check_string(const uint8_t *bytes, size_t n)
{
    tally ignored = {0};
    if (n < 2)
        return true;
    const size_t skipped = bytes[1] < n - 2 ? bytes[1] : 0;
    bool is_good = check_object(bytes + 2 + skipped, n - 2 - skipped, &ignored);
    if (is_good) {
        load_object(bytes + 2 + skipped, n - 2 - skipped, &ignored);
        (void)!read_value(bytes + 2, n - 2, bytes[0]);
    }
    if (is_good && (tg_live_objects() != 0 || tg_live_bytes() != 0))
        is_good = fail("memory leaks");
    return is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (!check_string(bytes, n))
        abort();
    return 0;
}

#ifdef TGI_LIBFUZZER

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t max,
                               unsigned seed);

/* One string in four is a mutant of an object that the library accepts: bytes
   alone do not become one. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t max,
                               unsigned seed)
{
    uint64_t random = seed;
    if (!n_seeds)
        add_sample();
    if (pick(4, &random))
        return LLVMFuzzerMutate(bytes, n, max);
    mutant m;
    mutate(&m, &random);
    const size_t n_new = m.n + 2 < max ? m.n + 2 : max;
    if (n_new > 2) {
        bytes[0] = (uint8_t)m.of->n_kernels;
        bytes[1] = (uint8_t)m.of->object_at;
        memcpy(bytes + 2, m.value, n_new - 2);
    }
    free(m.value);
    return n_new > 2 ? n_new : n;
}

#else

static bool check_number(const void *user, uint64_t number, void *into)
{
    const options *o = user;
    tally *t = into;
    uint64_t random = o->seed * 0x2545f4914f6cdd1du + number;
    mutant m;
    mutate(&m, &random);
    t->n_mutants++;
    bool is_good = true;
    if (m.n > m.of->object_at) {
        unsigned char *object = m.value + m.of->object_at;
        const size_t n = m.n - m.of->object_at;
        is_good = check_object(object, n, t);
        if (is_good)
            load_object(object, n, t);
    }
    if (is_good) {
        /* An exact allocation, so that a sanitizer detects more. */
        m.value = realloc(m.value, m.n);
        t->n_values += read_value(m.value, m.n, m.of->n_kernels);
    }
    if (is_good && number % DISK_EVERY == 0) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%d", o->path, (int)getpid());
        is_good = check_file(&m, path, t);
    }
    free(m.value);
    if (is_good && (tg_live_objects() != 0 || tg_live_bytes() != 0))
        is_good = fail("memory leaks");
    return is_good;
}

/* -- The program ----------------------------------------------------------- */

static void report(const void *user, uint64_t number, int status)
{
    const options *o = user;
    if (number == o->count)
        printf("a process failed at its end, status 0x%x\n", (unsigned)status);
    else
        printf("mutant fails, status 0x%x: fuzz_objects --seed %" PRIu64
               " --only %" PRIu64 "\n",
               (unsigned)status, o->seed, number);
}

static void add(void *sum, const void *of_process)
{
    uint64_t *into = sum;
    const uint64_t *from = of_process;
    for (size_t i = 0; i < sizeof(tally) / sizeof(*into); i++)
        into[i] += from[i];
}

static uint64_t fuzz(const options *o)
{
    tally t = {0};
    uint64_t n_passed = 0, n_failed = 0;
    const workers w = {.count = o->count,
                       .max_failures = 20,
                       .n_jobs = o->n_jobs,
                       .seconds = MAX_SECONDS,
                       .user = o,
                       .check = check_number,
                       .tally_bytes = sizeof(tally),
                       .report = report,
                       .add = add};
    workers_run(&w, &t, &n_passed, &n_failed);
    printf("%" PRIu64 " mutants of %zu seeds; accepted: %" PRIu64
           " objects verified, %" PRIu64 " loaded, %" PRIu64
           " values, %" PRIu64 " values from files; %" PRIu64 " failures\n",
           t.n_mutants, n_seeds, t.n_objects, t.n_images, t.n_values,
           t.n_files, n_failed);
    /* If all mutants were rejected, or all accepted, the test would show
       little. */
    if (t.n_mutants >= 1000 &&
        (t.n_objects < t.n_mutants / 100 || t.n_images < t.n_mutants / 100 ||
         t.n_objects > t.n_mutants / 4 * 3))
        n_failed++, printf("mutants are too harmless or too broken\n");
    return n_failed;
}

static bool parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return false;
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--count") == 0)
            o->count = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--seed") == 0)
            o->seed = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--only") == 0)
            o->only = strtoull(value, NULL, 0), o->is_only = true;
        else if (strcmp(argv[i], "--jobs") == 0)
            o->n_jobs = atoi(value);
        else
            return false;
    }
    return o->n_jobs >= 1 && o->n_jobs <= WORKERS_MAX;
}

static int remove_one(const char *path, const struct stat *s, int type,
                      struct FTW *where)
{
    (void)s, (void)type, (void)where;
    return remove(path);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/tgjit-fuzz-XXXXXX";
    options o = {.seed = 1,
                 .count = 20000,
                 .n_jobs = workers_default_jobs(),
                 .path = dir};
    if (!parse(argc, argv, &o)) {
        fprintf(stderr, "usage: fuzz_objects [--count N] [--seed S] "
                        "[--only K] [--jobs J]\n");
        return 2;
    }
    if (!mkdtemp(dir))
        abort();
    uint64_t n_failed = 0;
    tgi_image_debug_enable(TGI_DEBUG_GDB, ".");
    add_sample();
    if (!add_compiled(dir))
        n_failed++, printf("compiled seeds cannot be read\n");
    if (o.is_only) {
        tally ignored = {0};
        n_failed += !check_number(&o, o.only, &ignored);
    } else {
        n_failed += fuzz(&o);
        n_failed += corpus_replay("objects.hex", check_string);
    }
    for (size_t i = 0; i < n_seeds; i++)
        free(seeds[i].value);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return n_failed ? 1 : 0;
}

#endif /* TGI_LIBFUZZER */

#else

int main(void)
{
    return 77; /* compiled code does not run on this machine */
}

#endif
