/* SPDX-License-Identifier: MIT */
/*
 * stress_cache.c - one disk cache, many programs.
 *
 * Eight processes compile overlapping sets of kernels and check their results.
 * Meanwhile one process verifies the directory, deletes damaged entries and
 * damages others, and another lists it and runs the code it finds. A second set
 * of eight processes finds everything: it compiles nothing and never loads
 * LLVM.
 *
 * A plain program that uses only the public interface. Takes the number of
 * kernels per process, or internal arguments when it starts itself.
 */
#include "config.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tgjit.h"

enum {
    PROCESSES = 8,
    DEFAULT_KERNELS = 100, /* per process; the sets overlap by four fifths */
    WATCHDOG_SECONDS = 540
};

static int n_failed;

#define CHECK(condition) check(condition, #condition, __LINE__)

static bool check(bool good, const char *what, int line)
{
    if (!good && n_failed++ < 20)
        fprintf(stderr, "stress_cache.c:%d: %s: %s\n", line, what,
                tg_error(NULL));
    return good;
}

/* -- Kernels --------------------------------------------------------------- */

/* The number of a kernel determines its steps, the first of which is unique,
   its dtype, and whether it reduces. */
enum { STEPS = 3, ELEMENTS = 9 };

static int step_of(long number, int i)
{
    static const int divisors[STEPS] = {1, 5, 25};
    return (int)(number / divisors[i] % 5);
}

static tg_dtype dtype_of(long number)
{
    static const tg_dtype dtypes[] = {TG_I32, TG_F32, TG_F64};
    return dtypes[number % 3];
}

static bool adds_up(long number)
{
    return number % 2;
}

static void trace(tg_trace *t, const tg_value *in, void *user)
{
    const long number = *(const long *)user;
    tg_value y = tg_add(in[0], number);
    for (int i = 0; i < STEPS; i++)
        switch (step_of(number, i)) {
        case 0:
            y = tg_mul(y, 3);
            break;
        case 1:
            y = tg_max(y, number / 2);
            break;
        case 2:
            y = tg_min(y, number * 2);
            break;
        case 3:
            y = tg_neg(y);
            break;
        default:
            y = tg_sub(y, 7);
        }
    tg_return(t, adds_up(number) ? tg_sum(y, TG_ALL_AXES) : y);
}

/* All numbers are small integers, which are exact in every dtype. */
static double expected(long number, double x)
{
    double y = x + (double)number;
    for (int i = 0; i < STEPS; i++)
        switch (step_of(number, i)) {
        case 0:
            y *= 3;
            break;
        case 1:
            y = y > (double)(number / 2) ? y : (double)(number / 2);
            break;
        case 2:
            y = y < (double)(number * 2) ? y : (double)(number * 2);
            break;
        case 3:
            y = -y;
            break;
        default:
            y -= 7;
        }
    return y;
}

/* -- Elements of any type -------------------------------------------------- */

static void set(void *data, tg_dtype dtype, int i, int value)
{
    if (dtype == TG_I32)
        ((int32_t *)data)[i] = value;
    else if (dtype == TG_F32)
        ((float *)data)[i] = (float)value;
    else
        ((double *)data)[i] = value;
}

static double get(const void *data, tg_dtype dtype, int i)
{
    return dtype == TG_I32   ? ((const int32_t *)data)[i]
           : dtype == TG_F32 ? (double)((const float *)data)[i]
                             : ((const double *)data)[i];
}

static bool is_right(long number, const tg_tensor *y)
{
    const void *data = tg_tensor_data(y);
    const tg_dtype dtype = dtype_of(number);
    bool good = true;
    double sum = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        sum += expected(number, i - 4);
        if (!adds_up(number))
            good &= get(data, dtype, i) == expected(number, i - 4);
    }
    return adds_up(number) ? get(data, dtype, 0) == sum : good;
}

/* Creates a function for the kernel and calls it. */
static void run(tg_context *ctx, long number)
{
    const tg_dtype dtype = dtype_of(number);
    tg_function *f = tg_function_create(ctx, trace, &number, NULL);
    tg_tensor *x = tg_tensor_create(ctx, dtype, TG_DIMS(ELEMENTS), tg_zeros());
    tg_tensor *y = NULL;
    if (CHECK(f && x)) {
        for (int i = 0; i < ELEMENTS; i++)
            set(tg_tensor_data(x), dtype, i, i - 4);
        if (CHECK(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK))
            CHECK(is_right(number, y));
    }
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
}

/* -- Processes ------------------------------------------------------------- */

typedef struct place {
    const char *dir;
    long first, n; /* kernels */
} place;

static void count_compiles(tg_log_level level, const char *component,
                           const char *message, void *user)
{
    uint64_t *n_compiles = user;
    if (level == TG_LOG_DEBUG)
        *n_compiles += strstr(message, ": compiled ") != NULL;
    else if (CHECK(strcmp(component, "cache") != 0))
        return;
    else
        fprintf(stderr, "%s\n", message);
}

static tg_context *open_context(const place *p, const char *jit,
                                const char *cache, uint64_t *n_compiles)
{
    const tg_context_options options = {.struct_bytes = sizeof(options),
                                        .log = "warn,+jit",
                                        .log_callback = count_compiles,
                                        .log_user = n_compiles,
                                        .jit = jit,
                                        .compile = "eager",
                                        .cache = cache,
                                        .cache_dir = p->dir};
    return tg_context_create(&options);
}

static bool is_llvm_open(void)
{
    char line[4096];
    bool is_open = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        is_open |= strstr(line, "libLLVM") || strstr(line, "libtgjit-llvm");
    if (maps)
        fclose(maps);
    return is_open;
}

/* One process of the crowd. Every second one starts at the end. */
static void work(const place *p, bool is_second)
{
    uint64_t n_compiles = 0;
    tg_cache_counters c = TG_CACHE_COUNTERS_INIT;
    tg_context *ctx = open_context(p, "required", "rw", &n_compiles);
    const bool is_backwards = p->first / (p->n / 5) % 2;
    for (long i = 0; i < p->n; i++)
        run(ctx, p->first + (is_backwards ? p->n - 1 - i : i));
    CHECK(tg_cache_counts(ctx, &c) == TG_OK);
    CHECK(c.hits + c.misses == (uint64_t)p->n);
    CHECK(c.misses == n_compiles && c.misses == c.saves);
    CHECK(c.evictions == 0 && c.bad == 0);
    CHECK(is_llvm_open() == (n_compiles > 0));
    if (is_second)
        CHECK(c.misses == 0 && !is_llvm_open());
    tg_context_release(ctx);
    CHECK(tg_live_objects() == 0 && tg_live_bytes() == 0);
    printf("%s run, kernels %4ld to %4ld: %4llu found, %4llu compiled\n",
           is_second ? "second" : "first", p->first, p->first + p->n - 1,
           (unsigned long long)c.hits, (unsigned long long)n_compiles);
}

static volatile sig_atomic_t is_over;

static void end(int unused)
{
    (void)unused;
    is_over = 1;
}

/* Only entries that the sweeper damaged are damaged. */
static void sweep(const place *p)
{
    char name[512];
    long rounds = 0;
    snprintf(name, sizeof(name), "%s/%032d.tgjit", p->dir, 0);
    do {
        const bool is_there = access(p->dir, F_OK) == 0;
        const int file =
            is_there ? open(name, O_WRONLY | O_CREAT | O_EXCL, 0600) : -1;
        CHECK(!is_there || file >= 0);
        CHECK(file < 0 || write(file, "no entry", 8) == 8);
        if (file >= 0)
            close(file);
        tg_cache_report report = TG_CACHE_REPORT_INIT;
        CHECK(tg_cache_verify(p->dir, true, &report) == TG_OK);
        CHECK(report.bad == is_there);
        CHECK(report.foreign == 0 && report.unread == 0);
        CHECK(access(name, F_OK) != 0);
        rounds++;
    } while (!is_over && !n_failed);
    printf("%ld sweeps\n", rounds);
}

static bool count_entry(const tg_cache_entry *entry, void *user)
{
    long *n = user;
    CHECK(strstr(entry->name, ".tgjit") && entry->description);
    return ++*n > 0;
}

/* Has no compiler: interprets what it does not find. */
static void read_all(const place *p)
{
    long rounds = 0;
    uint64_t n_compiles = 0, n_found = 0;
    tg_code_limit(0);
    do {
        tg_cache_counters c = TG_CACHE_COUNTERS_INIT;
        tg_context *ctx = open_context(p, "auto", "ro", &n_compiles);
        long n = 0;
        CHECK(tg_cache_list(p->dir, count_entry, &n) == TG_OK);
        for (long i = 0; i < p->n && !is_over; i++)
            run(ctx, p->first + i);
        CHECK(tg_cache_counts(ctx, &c) == TG_OK);
        CHECK(c.bad == 0 && c.saves == 0);
        n_found += c.hits;
        tg_context_release(ctx);
        rounds++;
    } while (!is_over && !n_failed);
    CHECK(n_compiles == 0 && !is_llvm_open());
    printf("%ld rounds of a reader: %llu found\n", rounds,
           (unsigned long long)n_found);
}

/* Runs the role given by internal arguments. */
static int be(char **words)
{
    const char *what = words[0];
    const place p = {words[1], atol(words[2]), atol(words[3])};
    signal(SIGTERM, end);
    if (strcmp(what, "sweeper") == 0)
        sweep(&p);
    else if (strcmp(what, "reader") == 0)
        read_all(&p);
    else
        work(&p, strcmp(what, "second") == 0);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* -- The crowd ------------------------------------------------------------- */

static pid_t start(const char *what, const place *p)
{
    char first[32], n[32];
    snprintf(first, sizeof(first), "%ld", p->first);
    snprintf(n, sizeof(n), "%ld", p->n);
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        if (strcmp(what, "reader") == 0)
            setenv("TGJIT_MODULE_DIR", "/nonexistent", 1);
        execl("/proc/self/exe", "stress_cache", what, p->dir, first, n,
              (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    CHECK(child > 0);
    return child;
}

static void wait_for(pid_t child)
{
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void stop(pid_t child)
{
    kill(child, SIGTERM);
    wait_for(child);
}

static void crowd(const char *what, const char *dir, long n_kernels, long n_all)
{
    const place all = {dir, 0, n_all};
    pid_t workers[PROCESSES];
    const pid_t sweeper = start("sweeper", &all);
    const pid_t reader = start("reader", &all);
    for (int i = 0; i < PROCESSES; i++)
        workers[i] = start(what, &(place){dir, n_kernels / 5 * i, n_kernels});
    for (int i = 0; i < PROCESSES; i++)
        wait_for(workers[i]);
    stop(sweeper);
    stop(reader);
    size_t n_entries = 0;
    CHECK(tg_cache_size(dir, &n_entries, NULL) == TG_OK);
    CHECK(n_entries == (size_t)n_all);
}

static int remove_one(const char *name, const struct stat *s, int kind,
                      struct FTW *where)
{
    (void)s, (void)kind, (void)where;
    return remove(name);
}

int main(int argc, char **argv)
{
    static char home[] = "/tmp/tgjit-stress-XXXXXX";
    char dir[64];
#ifndef TGJIT_HAVE_LLVM
    return 77;
#endif
    if (argc == 5)
        return be(argv + 1);
    if (argc == 1)
        alarm(WATCHDOG_SECONDS);
    const long n_kernels = argc > 1 ? atol(argv[1]) : DEFAULT_KERNELS;
    if (n_kernels < 5 || n_kernels % 5 || !mkdtemp(home)) {
        perror("not a positive multiple of 5, or no temporary directory");
        return EXIT_FAILURE;
    }
    /* Settings that would bypass the cache or change the keys. */
    unsetenv("TGJIT_INSTRUMENT");
    unsetenv("TGJIT_DUMP");
    snprintf(dir, sizeof(dir), "%s/store", home);
    const long n_all = n_kernels / 5 * (PROCESSES - 1) + n_kernels;
    crowd("first", dir, n_kernels, n_all);
    crowd("second", dir, n_kernels, n_all);
    CHECK(nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
    if (n_failed)
        printf("%d checks failed\n", n_failed);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
