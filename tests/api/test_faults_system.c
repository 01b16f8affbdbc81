/* SPDX-License-Identifier: MIT */
/*
 * test_faults_system.c - calls of the system that fail: each one in turn, once
 * and from then on, is interrupted, or transfers only a part. Files give a
 * status with a message; code pages, the disk cache, threads and background
 * compiles do without. Nothing leaks: no object, file descriptor or temporary
 * file.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "support/files.h"
#include "support/folders.h"
#include "support/modes.h"
#include "support/system_faults.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[4][128];
    static int next;
    char *out = path[next++ % 4];
    snprintf(out, sizeof(path[0]), "%s/%s", folder, name);
    return out;
}

static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;
    cr_assert_not_null(dir, "%s", path);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* Empties the folder of files with these names; none may be left. */
static void empty_folder(void)
{
    static const char *const names[] = {"x.npy", "x.npz", "x.safetensors",
                                        "x.csv", "f.html", "trace.json",
                                        "f.o", "f.h", "f.c"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unlink(in_folder(names[i]));
}

/* -- Every call of a scenario ---------------------------------------------- */

typedef struct scenario_kind {
    bool (*run)(void);
    bool must_work; /* whatever fails */
} scenario_kind;

static long n_injected;

/* Runs the scenario with one fault; false if there were fewer calls. */
static bool check_one(const scenario_kind *s, system_call call, long nth,
                      system_fault fault)
{
    const int n_files = count_entries("/proc/self/fd");
    tg_error_clear();
    system_fault_inject(call, nth, fault);
    const bool went_well = s->run();
    const bool has_failed = system_fault_inject(call, -1, FAULT_ERROR) > nth;
    const char *name = system_call_names[call];
    check_nothing_is_alive();
    cr_assert(went_well || (has_failed && !s->must_work),
              "%s %ld, fault %d: %s", name, nth, (int)fault, tg_error(NULL));
    cr_assert(went_well || fault < FAULT_INTERRUPTED,
              "%s %ld: a short or interrupted call is an error: %s", name, nth,
              tg_error(NULL));
    if (!went_well) {
        const tg_status status = tg_error_last()->status;
        cr_assert(status == TG_ERROR_FILE || status == TG_ERROR_OUT_OF_MEMORY,
                  "%s %ld: %s: %s", name, nth, tg_status_name(status),
                  tg_error(NULL));
        cr_assert_gt(strlen(tg_error(NULL)), 10);
    }
    cr_assert_leq(count_entries("/proc/self/fd"), n_files,
                  "%s %ld, fault %d leaks a file descriptor", name, nth,
                  (int)fault);
    empty_folder();
    n_injected += has_failed;
    return has_failed;
}

static bool has_fault(system_call call, system_fault fault)
{
    const bool is_transfer = call == SYSTEM_read || call == SYSTEM_pread ||
                             call == SYSTEM_write;
    return fault < FAULT_INTERRUPTED || is_transfer;
}

/* `folders` are left in the folder, which is a temporary one. */
static void check_all(const scenario_kind *s, int n_left)
{
    strcpy(folder, "/tmp/tgjit-system-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    cr_assert(s->run(), "without a fault: %s", tg_error(NULL)); /* warm */
    empty_folder();
    n_injected = 0;
    for (int call = 0; call < SYSTEM_N_CALLS; call++)
        for (int fault = 0; fault < N_FAULTS; fault++)
            for (long nth = 0; has_fault((system_call)call,
                                         (system_fault)fault) &&
                               check_one(s, (system_call)call, nth,
                                         (system_fault)fault);)
                nth++;
    cr_assert_gt(n_injected, 0, "no call of the system was wrapped");
    const int n = count_entries(folder) - 2;
    cr_assert_eq(n, n_left, "%d entries are left in %s", n, folder);
    remove_folder(folder);
}

static tg_context *begin(tg_context_options options)
{
    options.struct_bytes = sizeof(options);
    options.log = "off";
    if (!options.cache)
        options.cache = "off";
    return tg_context_create(&options);
}

/* -- Files ----------------------------------------------------------------- */

static tg_tensor *counted(tg_context *ctx, int64_t n)
{
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(n), tg_zeros());
    for (int64_t i = 0; x && i < n; i++)
        ((float *)tg_tensor_data(x))[i] = (float)i;
    return x;
}

static bool equals(const tg_tensor *x, const tg_tensor *y)
{
    return x && y && tg_tensor_bytes(x) == tg_tensor_bytes(y) &&
           memcmp(tg_tensor_data(x), tg_tensor_data(y), tg_tensor_bytes(x)) ==
               0;
}

static bool files_scenario(void)
{
    static const char *const names[] = {"x.npz", "x.safetensors"};
    tg_load_options copied = TG_LOAD_OPTIONS_INIT;
    copied.no_map = true;
    tg_context *ctx = begin((tg_context_options){.jit = "off"});
    tg_tensor *x = ctx ? counted(ctx, 3000) : NULL;
    tg_tensor *y = NULL, *z = NULL;
    bool good = x && !tg_npy_save(x, in_folder("x.npy")) &&
                (y = tg_npy_load(ctx, in_folder("x.npy"))) &&
                (z = tg_npy_load_with(ctx, in_folder("x.npy"), &copied));
    cr_assert(!good || (equals(x, y) && equals(x, z)));
    for (int i = 0; i < 2 && good; i++) {
        tg_archive *a = tg_archive_create(ctx);
        good = a && !tg_archive_add(a, "x", x) &&
               !tg_archive_save(a, in_folder(names[i]));
        tg_archive_release(a);
        a = good ? tg_archive_load(ctx, in_folder(names[i])) : NULL;
        const tg_tensor *read = a ? tg_archive_get(a, "x") : NULL; /* lent */
        good = read != NULL;
        cr_assert(!good || equals(x, read));
        tg_archive_release(a);
    }
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_context_release(ctx);
    return good;
}

Test(faults_system, files_give_a_status)
{
    check_all(&(scenario_kind){files_scenario, false}, 0);
}

static bool csv_scenario(void)
{
    static const tg_csv_columns groups[] = {{.name = "a", .dtype = TG_I64},
                                            {.first = 1, .n = TG_CSV_REST}};
    tg_csv_options options = TG_CSV_OPTIONS_INIT;
    options.has_header = true;
    FILE *file = fopen(in_folder("x.csv"), "w");
    cr_assert_not_null(file);
    fputs("a,b,c\n1,2,3\n4,5,6\n", file);
    cr_assert_eq(fclose(file), 0);
    tg_context *ctx = begin((tg_context_options){.jit = "off"});
    tg_tensor *t[2] = {NULL, NULL};
    bool good = ctx && !tg_csv_load_columns(ctx, in_folder("x.csv"), &options,
                                            groups, 2, t);
    cr_assert(!good || ((const int64_t *)tg_tensor_data(t[0]))[1] == 4);
    tg_tensor_release(t[0]);
    tg_tensor_release(t[1]);
    tg_dataset *d = good ? tg_dataset_from_csv(ctx, in_folder("x.csv"),
                                               &options, groups, 2)
                         : NULL;
    tg_iterator *it = d ? tg_iterate(d) : NULL;
    tg_tensor *x = NULL;
    int64_t a = 0;
    good = it && !tg_next(it, TG_RESULTS(&a, &x)) &&
           !tg_next(it, TG_RESULTS(&a, &x));
    cr_assert(!good || a == 4);
    tg_tensor_release(x);
    tg_iterator_release(it);
    tg_dataset_release(d);
    tg_context_release(ctx);
    return good;
}

Test(faults_system, csv_files_give_a_status)
{
    check_all(&(scenario_kind){csv_scenario, false}, 0);
}

/* -- Code ------------------------------------------------------------------ */

static void scale_and_sum(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = tg_mul(in[0], tg_sum(in[0], TG_ALL_AXES));
    tg_return(t, tg_add(x, 1), tg_reduce_max(x, TG_ALL_AXES));
}

/* Calls a function on 10, 11 … elements; its results are right. */
static bool call_with(tg_context_options options)
{
    tg_context *ctx = begin(options);
    tg_function *f =
        ctx ? tg_function_create(ctx, scale_and_sum, NULL, NULL) : NULL;
    tg_tensor *x = f ? counted(ctx, 1000) : NULL, *y = NULL;
    float max = 0;
    const bool good = x && !tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &max));
    if (good) {
        cr_assert_eq(max, 999 * 499500.0f);
        cr_assert_eq(((const float *)tg_tensor_data(y))[2], 2 * 499500.0f + 1);
    }
    if (ctx)
        cr_assert_eq(tg_compile_wait(ctx), TG_OK);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    tg_context_release(ctx);
    return good;
}

static bool pages_scenario(void)
{
    return call_with((tg_context_options){.compile = "eager", .threads = 1});
}

Test(faults_system, calls_without_code_pages_are_interpreted)
{
    need_compiler();
    check_all(&(scenario_kind){pages_scenario, true}, 0);
}

/* The second context finds the code, the third verifies and empties the
   cache. */
static bool cache_scenario(void)
{
    const tg_context_options options = {.compile = "eager",
                                        .threads = 1,
                                        .cache = "rw",
                                        .cache_dir = in_folder("cache")};
    return call_with(options) && call_with(options);
}

Test(faults_system, calls_without_the_disk_cache_compile)
{
    need_compiler();
    check_all(&(scenario_kind){cache_scenario, true}, 1);
}

static bool background_scenario(void)
{
    return call_with((tg_context_options){.compile = "background",
                                          .threads = 1});
}

Test(faults_system, calls_without_background_threads_work)
{
    need_compiler();
    check_all(&(scenario_kind){background_scenario, true}, 0);
}

/* Each run asks for one thread more than any before. */
static bool team_scenario(void)
{
    static int threads = 2;
    return call_with((tg_context_options){.compile = "eager",
                                          .threads = ++threads});
}

Test(faults_system, teams_without_threads_are_smaller)
{
    need_compiler();
    setenv("TGJIT_GRAIN", "0", 1);
    check_all(&(scenario_kind){team_scenario, true}, 0);
}

/* -- Datasets -------------------------------------------------------------- */

static bool prefetch_scenario(void)
{
    tg_context *ctx = begin((tg_context_options){.jit = "off"});
    tg_tensor *x = ctx ? counted(ctx, 20) : NULL;
    tg_dataset *d = x ? tg_dataset_prefetch(
                            tg_dataset_batch(tg_dataset_from(ctx, TG_ARGS(x)),
                                             4, TG_KEEP_REMAINDER),
                            2)
                      : NULL;
    tg_iterator *it = d ? tg_iterate(d) : NULL;
    bool good = it != NULL;
    for (int i = 0; i < 5 && good; i++) {
        tg_tensor *y = NULL;
        good = tg_next(it, TG_RESULTS(&y)) == TG_OK;
        cr_assert(!good ||
                  ((const float *)tg_tensor_data(y))[0] == (float)(4 * i));
        tg_tensor_release(y);
    }
    tg_iterator_release(it);
    tg_dataset_release(d);
    tg_tensor_release(x);
    tg_context_release(ctx);
    return good;
}

Test(faults_system, datasets_without_threads_work)
{
    check_all(&(scenario_kind){prefetch_scenario, true}, 0);
}

/* -- Reports --------------------------------------------------------------- */

static bool report_scenario(void)
{
    tg_context *ctx = begin((tg_context_options){.jit = "off"});
    tg_function *f =
        ctx ? tg_function_create(ctx, scale_and_sum, NULL, NULL) : NULL;
    const tg_spec spec = tg_spec_tensor(TG_F32, TG_DIMS(100));
    tg_concrete *c = f ? tg_function_concrete(f, &spec, 1) : NULL;
    tg_profile_options options = TG_PROFILE_OPTIONS_INIT;
    options.trace_file = in_folder("trace.json");
    bool good = c && !tg_concrete_inspect(c, in_folder("f.html")) &&
                !tg_profile_start(&options);
    if (good) {
        tg_tensor *x = counted(ctx, 100);
        good = x && !tg_call(f, TG_ARGS(x), TG_RESULTS());
        tg_tensor_release(x);
        good &= !tg_profile_stop();
    }
    tg_concrete_release(c);
    tg_function_release(f);
    tg_context_release(ctx);
    (void)!tg_profile_stop(); /* if it has been started */
    tg_profile_clear();
    return good;
}

Test(faults_system, reports_give_a_status)
{
    check_all(&(scenario_kind){report_scenario, false}, 0);
}
