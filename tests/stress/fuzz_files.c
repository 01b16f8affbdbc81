/* SPDX-License-Identifier: MIT */
/*
 * fuzz_files.c - feeds mutants of files to their readers: .npy, .npz,
 * .safetensors and CSV, and structs of DLPack to the import.
 *
 * Seeds are files that the library wrote, or that are written here. Edits
 * change bytes, numbers in binary or as text, and lengths; move parts about; or
 * put in words of the format. Half of the ZIP files get checksums that fit. One
 * mutant in 16 is random bytes. A mutant fails if a reader leaves the bytes it
 * was given (they end at a page that may not be touched), if a tensor has
 * memory elsewhere, if memory leaks, or if a failure has no message.
 *
 *     --count N   mutants of each format (default 20000)
 *     --seed S    of the random numbers      --jobs J   processes
 *     --only K    mutant K alone, here
 */
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "front/file/archive.h"
#include "front/file/crc32.h"
#include "front/file/npy.h"
#include "front/file/zip_format.h"
#include "stress/fuzz_files.h"
#include "support/corpus.h"
#include "support/file_samples.h"
#include "support/fuzz_options.h"
#include "support/guarded.h"
#include "support/workers.h"
#include "tgjit.h"

enum format { NPY, NPZ, SAFETENSORS, CSV, DLPACK, N_FORMATS };
static const char *const format_names[] = {".npy", ".npz", ".safetensors",
                                           "CSV", "DLPack"};

enum {
    MAX_SEEDS = 8,
    MAX_EDITS = 4,
    MAX_BYTES = 1 << 14, /* of a mutant */
    MEMORY_LIMIT = 64 << 20,
    MAX_SECONDS = 60
};

/* -- Seeds ----------------------------------------------------------------- */

typedef struct seed {
    unsigned char *data;
    size_t n;
} seed;

static seed seeds[N_FORMATS][MAX_SEEDS];
static size_t n_seeds[N_FORMATS];

static void add_seed(enum format format, const void *data, size_t n)
{
    seed *s = &seeds[format][n_seeds[format]++];
    if (n_seeds[format] > MAX_SEEDS || n > MAX_BYTES / 2)
        abort();
    *s = (seed){malloc(n + 1), n};
    memcpy(s->data, data, n);
}

#define ADD_TEXT(format, text) add_seed(format, text, sizeof(text) - 1)

static void add_file(enum format format, const char *path)
{
    static unsigned char bytes[MAX_BYTES];
    FILE *file = fopen(path, "rb");
    if (!file)
        abort();
    add_seed(format, bytes, fread(bytes, 1, sizeof(bytes), file));
    fclose(file);
    unlink(path);
}

static void must(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    abort();
}

static tg_tensor *sample_tensor(tg_context *ctx, tg_dtype dtype, int rank)
{
    static const int64_t dims[] = {2, 3, 4};
    tg_tensor *x = tg_tensor_create(ctx, dtype, rank, dims, tg_zeros());
    must(x);
    memset(tg_tensor_data(x), 1, tg_tensor_bytes(x));
    return x;
}

static void add_archives(tg_context *ctx, const char *path)
{
    static const tg_dtype dtypes[] = {TG_U8, TG_F32, TG_BOOL, TG_I64};
    tg_archive *a = tg_archive_create(ctx);
    must(a);
    for (int i = 0; i < 4; i++) {
        char name[16];
        tg_tensor *x = sample_tensor(ctx, dtypes[i], i);
        snprintf(name, sizeof(name), "layer.%d", i);
        must(tg_archive_add(a, name, x) == TG_OK);
        tg_tensor_release(x);
    }
    for (int with_metadata = 0; with_metadata < 2; with_metadata++) {
        must(tg_archive_save_as(a, path, TG_ARCHIVE_NPZ) == TG_OK);
        add_file(NPZ, path);
        must(tg_archive_save_as(a, path, TG_ARCHIVE_SAFETENSORS) == TG_OK);
        add_file(SAFETENSORS, path);
        if (!with_metadata)
            must(tg_archive_add_metadata(a, "key", "text") == TG_OK);
    }
    tg_archive_release(a);
}

/* Every field of 64 bits. */
static void add_wide_zip(const char *path)
{
    tgi_atomic_file file;
    must(tgi_atomic_file_begin(&file, path) == 0);
    tgi_zip_writer writer = {.file = &file, .zip64_from = 0};
    const seed *npy = &seeds[NPY][0];
    must(tgi_zip_write(&writer, "a.npy", npy->data, 128, npy->data + 128,
                       npy->n - 128) == 0);
    must(tgi_zip_write(&writer, "b.npy", npy->data, npy->n, "", 0) == 0);
    must(tgi_zip_finish(&writer) == 0);
    must(tgi_atomic_file_end(&file, 0) == 0);
    tgi_strbuf_deinit(&writer.directory);
    add_file(NPZ, path);
}

static void add_seeds(void)
{
    char path[] = "/tmp/tgjit-fuzz-XXXXXX";
    const int fd = mkstemp(path);
    tg_context *ctx = tg_context_create(NULL);
    must(ctx && fd >= 0);
    close(fd);
    for (int i = 0; i < 3; i++) {
        tg_tensor *x = sample_tensor(ctx, i == 2 ? TG_BOOL : TG_F32, i + 1);
        must(tg_npy_save(x, path) == TG_OK);
        add_file(NPY, path);
        tg_tensor_release(x);
    }
    ADD_TEXT(NPY, "\x93NUMPY\2\0\x3c\0\0\0{'descr': '>i2', 'fortran_order': "
                  "True, 'shape': (2L, 3), }\n012345678901");
    ADD_TEXT(NPY, "\x93NUMPY\3\0\x37\0\0\0{\"shape\": (), 'descr': '<f8', "
                  "'fortran_order': False}   01234567");
    add_archives(ctx, path);
    add_wide_zip(path);
    add_seed(NPZ, compressed_npz, sizeof(compressed_npz));
    ADD_TEXT(CSV, "a,b,c\n1,2.5,3e2\n-4,0.125,6\n");
    ADD_TEXT(CSV, "\"x \"\"y\"\"\",b\r\n\"1\",\"2\"\r\n\r\n 3 ,nan\r\n");
    ADD_TEXT(CSV, "\xef\xbb\xbf" "1;2;3\n,,\n18446744073709551615;-1;true");
    tg_context_release(ctx);
}

/* -- Mutants --------------------------------------------------------------- */

typedef struct mutant {
    unsigned char data[MAX_BYTES];
    size_t n;
} mutant;

/* A number that a reader might trip over. */
static uint64_t odd_number(uint64_t *random, uint64_t before, size_t n)
{
    static const uint64_t known[] = {
        0,         1,          2,          0xff,      0x7fff,    0xffff,
        INT32_MAX, UINT32_MAX, 1u << 31,   INT64_MAX, INT64_MIN, UINT64_MAX,
        100000000, 100000001,  UINT64_MAX - 7, (uint64_t)1 << 62};
    switch (below(random, 5)) {
    case 0:
        return known[below(random, LENGTH(known))];
    case 1:
        return before ^ (uint64_t)1 << below(random, 64);
    case 2:
        return before + below(random, 65) - 32;
    case 3:
        return n + below(random, 65) - 32;
    default:
        return random_next(random) >> below(random, 64);
    }
}

/* Replaces `old_bytes` bytes at `at` by others. */
static void replace_bytes(mutant *m, size_t at, size_t old_bytes,
                          const void *data, size_t n)
{
    if (m->n - old_bytes + n > MAX_BYTES)
        return;
    memmove(m->data + at + n, m->data + at + old_bytes,
            m->n - at - old_bytes);
    memmove(m->data + at, data, n);
    m->n = m->n - old_bytes + n;
}

static const char *const words[N_FORMATS][16] = {
    [NPY] = {"'descr'", "'shape'", "'fortran_order'", "True", "False", "(", ")",
             ",", "'<f2'", "'|b1'", "'>f8'", "{", "}", "L", "\\", "["},
    [NPZ] = {"PK\1\2", "PK\3\4", "PK\5\6", "PK\6\6", "PK\6\7", ".npy", "../",
             "__metadata__.json", "\1\0\x10\0", "\xff\xff\xff\xff", "{", "}",
             "layer.0", "\x93NUMPY", "a", "b"},
    [SAFETENSORS] = {"{", "}", "[", "]", "\"", ",", ":", "\"dtype\"",
                     "\"shape\"", "\"data_offsets\"", "\"F16\"", "\"BOOL\"",
                     "\\u0000", "__metadata__", "null", "1e9"},
    [CSV] = {",", ";", "\"", "\"\"", "\n", "\r\n", "nan", "-inf", "1e999",
             "0x1p3", "true", " ", "\t", "18446744073709551616", "1e-400",
             "."},
};

/* Another number in the place of a run of digits. */
static void edit_digits(mutant *m, uint64_t *random)
{
    char text[32];
    size_t at = below(random, m->n), tries = m->n, end;
    while (tries-- > 0 && !(m->data[at] >= '0' && m->data[at] <= '9'))
        at = (at + 1) % m->n;
    for (end = at; end < m->n && m->data[end] >= '0' && m->data[end] <= '9';)
        end++;
    snprintf(text, sizeof(text), "%" PRId64,
             (int64_t)odd_number(random, below(random, 100), m->n));
    replace_bytes(m, at, end - at, text, strlen(text));
}

/* A binary number, in a ZIP file most often in one of its records. */
static void edit_number(enum format format, mutant *m, uint64_t *random)
{
    size_t bytes = (size_t)1 << below(random, 4), at = below(random, m->n);
    if (format == NPZ && below(random, 8)) {
        size_t tries = m->n;
        while (tries-- > 0 &&
               (at + 2 > m->n || memcmp(m->data + at, "PK", 2) != 0))
            at = (at + 1) % m->n;
        at += 2 + below(random, TGI_ZIP_END64_BYTES);
    } else if (format == SAFETENSORS && below(random, 8) == 0) {
        at = 0;
    } else if (format == NPY && below(random, 4) == 0) {
        at = 6;
    }
    if (at + bytes > m->n)
        return;
    uint64_t number = 0;
    memcpy(&number, m->data + at, bytes);
    number = odd_number(random, number, m->n);
    memcpy(m->data + at, &number, bytes);
}

static void edit(enum format format, mutant *m, uint64_t *random)
{
    if (m->n == 0)
        return;
    const size_t at = below(random, m->n), more = below(random, m->n - at);
    const char *word = words[format][below(random, 16)];
    switch (below(random, 16)) {
    case 0: /* cut short */
        m->n = at;
        break;
    case 1: /* cut out, a little more often than much */
        replace_bytes(m, at, below(random, 2) ? more : more % 4, "", 0);
        break;
    case 2: /* written again elsewhere */
        replace_bytes(m, below(random, m->n), 0, m->data + at, more % 64);
        break;
    case 3:
        memset(m->data + at, (int)below(random, 256), more % 16);
        break;
    case 4:
    case 5:
    case 6:
        replace_bytes(m, at,
                      below(random, 2) ? strlen(word) % (m->n - at + 1) : 0,
                      word, strlen(word));
        break;
    case 7:
    case 8:
        m->data[at] = (unsigned char)random_next(random);
        break;
    case 9:
    case 10:
    case 11:
        if (format == NPZ)
            edit_number(format, m, random);
        else
            edit_digits(m, random);
        break;
    default:
        if (format == CSV)
            edit_digits(m, random);
        else
            edit_number(format, m, random);
    }
}

/* Makes the checksums fit what members hold now. */
static void fix_checksums(mutant *m)
{
    tgi_zip_members members = {0};
    tgi_file_bytes *bytes = tgi_file_bytes_lend("mutant", m->data, m->n);
    must(bytes);
    /* Whatever was read, up to the first bad one. */
    (void)!tgi_zip_read(bytes, &members);
    for (size_t i = 0; i < members.n; i++) {
        const tgi_zip_member *member = &members.data[i];
        if (member->method != TGI_ZIP_STORED)
            continue;
        const uint32_t crc =
            tgi_crc32(0, m->data + member->at, member->stored_bytes);
        unsigned char *record =
            (unsigned char *)(uintptr_t)member->name - TGI_ZIP_CENTRAL_BYTES;
        memcpy(m->data + member->begin + TGI_ZIP_LOCAL_CRC, &crc, 4);
        memcpy(record + TGI_ZIP_CENTRAL_CRC, &crc, 4);
    }
    tgi_vec_deinit(&members);
    tgi_file_bytes_release(bytes);
}

static void mutate(enum format format, mutant *m, uint64_t *random)
{
    static const char *const heads[] = {"\x93NUMPY\1", "PK\3\4", "\x10", ""};
    if (below(random, 16) == 0) {
        m->n = below(random, 512);
        for (size_t i = 0; i < m->n; i++)
            m->data[i] = (unsigned char)random_next(random);
        if (below(random, 2) && m->n > 16)
            memcpy(m->data, heads[format], strlen(heads[format]));
        return;
    }
    const seed *s = &seeds[format][below(random, n_seeds[format])];
    memcpy(m->data, s->data, s->n);
    m->n = s->n;
    const size_t n_edits = below(random, 2) ? 1 : 1 + below(random, MAX_EDITS);
    for (size_t i = 0; i < n_edits; i++)
        edit(format, m, random);
    if (format == NPZ && below(random, 2))
        fix_checksums(m);
}

/* -- Checks of files ------------------------------------------------------- */

typedef struct tally {
    uint64_t n[N_FORMATS], n_accepted[N_FORMATS], n_tensors[N_FORMATS];
} tally;

static tg_context *ctx; /* of a process */

bool fuzz_fail(const char *what)
{
    printf("%s: %s\n", what, tg_error(NULL));
    fflush(stdout);
    return false;
}

bool fuzz_has_message(tg_status status)
{
    if (status == TG_OK || status == TG_ERROR_INTERNAL ||
        tg_error_last()->status != status || !*tg_error(NULL))
        return fuzz_fail("a failure without a message");
    return true;
}

/* Its elements can be read, and bools are bools. */
static bool check_tensor(const tg_tensor *x)
{
    static volatile unsigned char sink;
    const unsigned char *data = tg_tensor_data(x);
    unsigned char all = 0;
    for (size_t i = 0; i < tg_tensor_bytes(x); i++)
        all |= data[i];
    sink = all;
    (void)sink;
    if (tg_tensor_dtype(x) == TG_BOOL && all > 1)
        return fuzz_fail("a bool is neither 0 nor 1");
    return true;
}

static bool check_npy(tgi_file_bytes *bytes, tally *t)
{
    tg_tensor *x = NULL;
    const tg_status status =
        tgi_npy_tensor(ctx, bytes, 0, bytes->n, "mutant", &x);
    if (status)
        return fuzz_has_message(status);
    t->n_accepted[NPY]++;
    t->n_tensors[NPY]++;
    const bool is_good = check_tensor(x);
    tg_tensor_release(x);
    return is_good;
}

static bool check_archive(enum format format, tgi_file_bytes *bytes, tally *t)
{
    tg_archive *a = NULL;
    const tg_status status = tgi_archive_of_bytes(ctx, bytes, &a);
    bool is_good = true;
    if (status)
        return fuzz_has_message(status);
    t->n_accepted[format]++;
    for (size_t i = 0; is_good && i < tg_archive_count(a); i++) {
        const char *name = tg_archive_name(a, i);
        const tg_tensor *x = tg_archive_get(a, name);
        is_good = x ? check_tensor(x)
                    : fuzz_has_message(tg_error_last()->status);
        t->n_tensors[format] += x != NULL;
    }
    tg_archive_release(a);
    return is_good;
}

static bool check_bytes(enum format format, const mutant *m, tally *t,
                        uint64_t *random)
{
    /* Often at a multiple of 64, as in a mapping: tensors are views then. */
    const size_t n = below(random, 2) ? m->n : (m->n + 63) / 64 * 64;
    unsigned char *copy = guarded_room(0, n, 1, AT_END);
    memcpy(copy, m->data, m->n);
    tgi_file_bytes *bytes = tgi_file_bytes_lend("mutant", copy, m->n);
    must(bytes);
    bool is_good = format == NPY ? check_npy(bytes, t)
                                 : check_archive(format, bytes, t);
    if (!guarded_is_intact(1))
        is_good = fuzz_fail("something was stored before the file");
    tgi_file_bytes_release(bytes);
    return is_good;
}

/* -- Checks of CSV --------------------------------------------------------- */

static bool check_csv(const mutant *m, tally *t, uint64_t *random)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        must(fd >= 0);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, m->data, m->n, 0) < 0)
        return fuzz_fail("no file");
    static const tg_dtype dtypes[] = {TG_DTYPE_NONE, TG_F64, TG_I8, TG_U64,
                                      TG_BOOL};
    tg_csv_options o = TG_CSV_OPTIONS_INIT;
    o.has_header = below(random, 2);
    o.allow_empty = below(random, 2);
    o.delimiter = below(random, 4) ? 0 : ';';
    o.dtype = dtypes[below(random, LENGTH(dtypes))];
    const tg_csv_columns groups[] = {
        {.dtype = o.dtype, .n = TG_CSV_REST},
        {.dtype = TG_F32, .name = o.has_header ? "b" : NULL, .first = 1},
    };
    tg_tensor *x[2] = {NULL, NULL};
    const tg_status status = tg_csv_load_columns(
        ctx, path, &o, groups, 1 + below(random, 2), x);
    if (status)
        return fuzz_has_message(status);
    t->n_accepted[CSV]++;
    t->n_tensors[CSV]++;
    const bool is_good = check_tensor(x[0]) && (!x[1] || check_tensor(x[1]));
    tg_tensor_release(x[0]);
    tg_tensor_release(x[1]);
    return is_good;
}

/* -- Fuzzers --------------------------------------------------------------- */

static void begin_process(void)
{
    tg_context_options limited = TG_CONTEXT_OPTIONS_INIT;
    limited.memory_limit = MEMORY_LIMIT;
    if (ctx)
        return;
    must((ctx = tg_context_create(&limited)));
    json_set_alloc_funcs(tgi_alloc, tgi_free); /* leaks count, too */
}

/* A string of bytes: how the file is read, then the file. */
static bool check_string(const uint8_t *bytes, size_t n)
{
    static mutant m;
    tally ignored = {0};
    if (n == 0 || n > MAX_BYTES)
        return true;
    begin_process();
    const enum format format = (enum format)(bytes[0] % DLPACK);
    uint64_t random = bytes[0] / DLPACK;
    m.n = n - 1;
    memcpy(m.data, bytes + 1, m.n);
    const size_t n_objects = tg_live_objects(), n_bytes = tg_live_bytes();
    tg_error_clear();
    bool is_good = format == CSV ? check_csv(&m, &ignored, &random)
                                 : check_bytes(format, &m, &ignored, &random);
    if (is_good &&
        (tg_live_objects() != n_objects || tg_live_bytes() != n_bytes))
        is_good = fuzz_fail("memory leaks");
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

/* One string in four is a mutant of a valid file: bytes alone hardly become
   one with the right checksums. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t max,
                               unsigned seed)
{
    static mutant m;
    uint64_t random = seed;
    begin_process();
    if (!n_seeds[NPY])
        add_seeds();
    const enum format format = (enum format)below(&random, DLPACK);
    if (below(&random, 4))
        return LLVMFuzzerMutate(bytes, n, max);
    mutate(format, &m, &random);
    if (m.n + 1 > max)
        return n;
    bytes[0] = (uint8_t)(format + DLPACK * below(&random, 256 / DLPACK));
    memcpy(bytes + 1, m.data, m.n);
    return m.n + 1;
}

#else

/* -- The program ----------------------------------------------------------- */

static bool check_number(const void *user, uint64_t number, void *into)
{
    static mutant m;
    const fuzz_options *o = user;
    tally *t = into;
    const enum format format = (enum format)(number % N_FORMATS);
    uint64_t random = fuzz_options_random(o, number);
    begin_process();
    const size_t n_objects = tg_live_objects(), n_bytes = tg_live_bytes();
    random_next(&random);
    tg_error_clear();
    t->n[format]++;
    bool is_good;
    if (format == DLPACK) {
        bool is_accepted;
        is_good = fuzz_dlpack(ctx, &random, &is_accepted);
        t->n_accepted[format] += is_accepted;
        t->n_tensors[format] += is_accepted;
    } else {
        mutate(format, &m, &random);
        tg_error_clear();
        is_good = format == CSV ? check_csv(&m, t, &random)
                                : check_bytes(format, &m, t, &random);
    }
    if (is_good &&
        (tg_live_objects() != n_objects || tg_live_bytes() != n_bytes))
        is_good = fuzz_fail("memory leaks");
    return is_good;
}

static void report(const void *user, uint64_t number, int status)
{
    const fuzz_options *o = user;
    if (number == o->count * N_FORMATS)
        printf("a process failed at its end, status 0x%x\n", (unsigned)status);
    else
        printf("%s: mutant fails, status 0x%x: fuzz_files --seed %" PRIu64
               " --only %" PRIu64 "\n",
               format_names[number % N_FORMATS], (unsigned)status, o->seed,
               number);
}

static void add_tally(void *sum, const void *of_process)
{
    uint64_t *into = sum;
    const uint64_t *from = of_process;
    for (size_t i = 0; i < sizeof(tally) / sizeof(*into); i++)
        into[i] += from[i];
}

static uint64_t fuzz(const fuzz_options *o)
{
    tally t = {0};
    uint64_t n_passed = 0, n_failed = 0;
    const workers w = {.count = o->count * N_FORMATS,
                       .max_failures = 20,
                       .n_jobs = o->n_jobs,
                       .seconds = MAX_SECONDS,
                       .user = o,
                       .check = check_number,
                       .tally_bytes = sizeof(tally),
                       .report = report,
                       .add = add_tally};
    workers_run(&w, &t, &n_passed, &n_failed);
    for (int i = 0; i < N_FORMATS; i++) {
        printf("%s: %" PRIu64 " mutants, %" PRIu64 " accepted, %" PRIu64
               " tensors\n",
               format_names[i], t.n[i], t.n_accepted[i], t.n_tensors[i]);
        /* Mutants that are all refused, or all accepted, show little. */
        if (t.n[i] >= 1000 && (t.n_accepted[i] < t.n[i] / 100 ||
                               t.n_tensors[i] < t.n[i] / 100 ||
                               t.n_accepted[i] > t.n[i] / 4 * 3))
            n_failed++, printf("mutants are too harmless or too broken\n");
    }
    printf("%" PRIu64 " failures\n", n_failed);
    return n_failed;
}

int main(int argc, char **argv)
{
    fuzz_options o = {.seed = 1, .count = 20000, .n_jobs = workers_default_jobs()};
    if (!fuzz_options_parse("fuzz_files", &o, argc, argv))
        return 2;
    add_seeds();
    uint64_t n_failed = 0;
    if (o.is_only) {
        tally ignored = {0};
        n_failed += !check_number(&o, o.only, &ignored);
        tg_context_release(ctx);
    } else {
        n_failed += fuzz(&o); /* in other processes */
        n_failed += corpus_replay("files.hex", check_string);
        tg_context_release(ctx);
    }
    for (int format = 0; format < N_FORMATS; format++)
        for (size_t i = 0; i < n_seeds[format]; i++)
            free(seeds[format][i].data);
    return n_failed ? 1 : 0;
}

#endif /* TGI_LIBFUZZER */
