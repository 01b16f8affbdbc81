/* SPDX-License-Identifier: MIT */
/*
 * stress_forks.c - children forked while other threads compile or run. Each
 * child compiles new functions, runs them, and exits.
 *
 *     running  teams of threads run kernels: the child's are serial
 *     short    compiles of milliseconds: fork waits for them
 *     long     a compile of seconds: the child loads a second copy of LLVM
 *     locks    threads take the locks of a context, a function and an archive
 *              all the time: the child uses these, too
 *
 * A plain program. Takes the number of children of the part "short", or "locks":
 * that part only.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit.h"
#include "tgjit.h"

enum {
    COMPILERS = 2, /* threads */
    DEFAULT_CHILDREN = 40,
    LONG_CHILDREN = 3,
    RUNNERS = 3, /* threads */
    RUNNING_CHILDREN = 12,
    RUNNING_N = 200000, /* elements: enough for a team */
    LONG_OPS = 16000,
    CHILD_SECONDS = 120,
    OBJECTS = 3,   /* with locks: a context, a function, an archive */
    ENTRIES = 200, /* of each */
    LOCKS_CHILDREN = 100,
    LOCKS_SECONDS = 30,
    N = 5
};

/*
 * A sanitizer's run time cannot be loaded twice, so a child without LLVM would
 * interpret. Memory referenced only by threads that do not exist in the child
 * would count as a leak.
 */
#ifdef __has_feature /* clang */
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    HAS_FEATURE(address_sanitizer) || HAS_FEATURE(thread_sanitizer)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

static int n_passed, n_failed;
static atomic_bool is_over;
static atomic_int n_compiled, n_run;
static atomic_int *n_copied; /* number of children that loaded a copy; shared
                                with them */

/* -- Functions that are all different -------------------------------------- */

typedef struct job {
    double factor; /* unique in this process and its parents */
    int n_ops;
} job;

static void scale(tg_trace *t, const tg_value *in, void *user)
{
    const job *j = user;
    tg_value y = tg_mul(in[0], (float)j->factor);
    /* Kernels with different constants share no code. */
    for (int i = 1; i < j->n_ops; i++)
        y = tg_tanh(tg_add(y, i));
    tg_return(t, y);
}

/* Compiles and runs a new function in a new context. */
static bool compile(const char *jit, double factor, int n_ops)
{
    job j = {factor, n_ops};
    const tg_context_options options = {.struct_bytes = sizeof(options),
                                        .jit = jit,
                                        .log = "off",
                                        .cache = "off"};
    tg_context *ctx = tg_context_create(&options);
    tg_function *f = tg_function_create(ctx, scale, &j, NULL);
    tg_tensor *x = tg_tensor_create(ctx, TG_F32, TG_DIMS(N), tg_zeros()),
              *y = NULL;
    float *in = tg_tensor_data(x);
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    bool is_good = tg_call(f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK;
    if (!is_good)
        printf("%s: %s\n", jit, tg_error(NULL));
    for (int i = 0; is_good && n_ops == 1 && i < N; i++)
        is_good = ((const float *)tg_tensor_data(y))[i] ==
                  (float)i * (float)factor;
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_context_release(ctx);
    return is_good;
}

/* Number of copies of LLVM in this process. */
static int count_copies(void)
{
    char line[4096];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        n += strstr(line, "libLLVM") && strstr(line, " r-xp ");
    if (maps)
        fclose(maps);
    return n;
}

/* -- Functions that run ---------------------------------------------------- */

static void smooth(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value x = tg_tanh(tg_add(in[0], 0.5));
    tg_return(t, x, tg_sum(x, TG_ALL_AXES));
}

typedef struct running {
    tg_context *ctx;
    tg_function *f;
    tg_tensor *x;
    float sum;
} running;

static bool create_running(running *r)
{
    const tg_context_options options = {.struct_bytes = sizeof(options),
                                        .jit = "required",
                                        .threads = 3,
                                        .cache = "off"};
    r->ctx = tg_context_create(&options);
    r->f = tg_function_create(r->ctx, smooth, NULL, NULL);
    r->x = tg_tensor_create(r->ctx, TG_F32, TG_DIMS(RUNNING_N), tg_ones());
    return tg_call(r->f, TG_ARGS(r->x), TG_RESULTS(NULL, &r->sum)) == TG_OK;
}

static void release_running(running *r)
{
    tg_tensor_release(r->x);
    tg_function_release(r->f);
    tg_context_release(r->ctx);
}

static bool run_once(const running *r)
{
    float sum = 0;
    return tg_call(r->f, TG_ARGS(r->x), TG_RESULTS(NULL, &sum)) == TG_OK &&
           sum == r->sum;
}

static const running *used_by_children;

/* -- Children -------------------------------------------------------------- */

/* In the child: 0 on success. Caches are disabled. */
static int work_in_child(int number)
{
    alarm(CHILD_SECONDS); /* so that a hang fails */
    const char *jit = IS_SANITIZED ? "auto" : "required";
    const bool is_good = compile(jit, 1000.5 + number, 1) &&
                         compile("auto", 2000.5 + number, 1) &&
                         compile(jit, 3000.5 + number, 20) &&
                         (!used_by_children || run_once(used_by_children));
    tg_code_counters counts = TG_CODE_COUNTERS_INIT;
    const bool has_made = tg_code_counts(&counts) == TG_OK &&
                          (IS_SANITIZED || counts.misses >= 2);
    atomic_fetch_add(n_copied, count_copies() > 1);
    fflush(stdout);
    return is_good && has_made && tg_compile_wait(NULL) == TG_OK ? 0 : 1;
}

static void fork_one(int number, int (*work)(int number))
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const int status = work(number);
        if (number % 2 || IS_SANITIZED)
            _exit(status);
        exit(status); /* runs the exit handlers of both copies of LLVM */
    }
    int status = -1;
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0) {
        n_passed++;
    } else {
        n_failed++;
        printf("child %d: status 0x%x\n", number, (unsigned)status);
    }
}

/* -- Parts ----------------------------------------------------------------- */

static void *compile_on_and_on(void *user)
{
    const int number = *(const int *)user;
    for (int i = 0; !atomic_load(&is_over); i++)
        if (compile("required", number + 0.001 * i, 20))
            atomic_fetch_add(&n_compiled, 1);
    return NULL;
}

static void check_short(int n_children)
{
    pthread_t threads[COMPILERS];
    int numbers[COMPILERS];
    for (int i = 0; i < COMPILERS; i++) {
        numbers[i] = i + 1;
        if (pthread_create(&threads[i], NULL, compile_on_and_on, &numbers[i]))
            abort();
    }
    for (int i = 0; i < n_children; i++) {
        fork_one(i, work_in_child);
        usleep((useconds_t)(i * 317 % 5000)); /* vary the time */
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < COMPILERS; i++)
        pthread_join(threads[i], NULL);
    if (atomic_load(&n_compiled) < COMPILERS)
        n_failed++, printf("nothing was compiled meanwhile\n");
}

static atomic_bool has_compiled_long;

static void *compile_long(void *user)
{
    *(bool *)user = compile("required", 0.75, LONG_OPS);
    atomic_store(&has_compiled_long, true);
    return NULL;
}

static void check_long(void)
{
    pthread_t thread;
    bool is_good = false;
    if (IS_SANITIZED)
        return;
    if (pthread_create(&thread, NULL, compile_long, &is_good))
        abort();
    /* LLVM is busy only after tracing and fusion, which take long on a loaded
       machine. */
    for (int i = 0; i < LONG_CHILDREN || (atomic_load(n_copied) == 0 &&
                                          !atomic_load(&has_compiled_long));
         i++) {
        usleep(100000);
        fork_one(1000 + i, work_in_child);
    }
    pthread_join(thread, NULL);
    if (!is_good)
        n_failed++, printf("the long compile failed\n");
    if (atomic_load(n_copied) == 0)
        n_failed++, printf("no child was forked amid the long compile\n");
}

/* -- Locks of objects ------------------------------------------------------ */

static struct {
    tg_context *ctx;
    tg_function *f;
    tg_function *unused[ENTRIES]; /* more locks for fork to acquire */
    tg_archive *archive;
    tg_tensor *x;
} shared;

static atomic_int n_used;

static void twice(tg_trace *t, const tg_value *in, void *user)
{
    char name[16];
    (void)user;
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(name, sizeof(name), "v%d", i);
        tg_own_variable(t, name, TG_F32, TG_SCALAR, tg_zeros());
    }
    tg_return(t, tg_mul(in[0], 2));
}

static bool fill_shared(void)
{
    const tg_context_options options = {.struct_bytes = sizeof(options),
                                        .jit = "off",
                                        .log = "off",
                                        .cache = "off"};
    char name[16];
    shared.ctx = tg_context_create(&options);
    shared.f = tg_function_create(shared.ctx, twice, NULL, NULL);
    shared.archive = tg_archive_create(shared.ctx);
    shared.x = tg_tensor_create(shared.ctx, TG_F32, TG_DIMS(3), tg_ones());
    bool is_good = tg_archive_add(shared.archive, "x", shared.x) == TG_OK;
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(name, sizeof(name), "v%d", i);
        is_good &= tg_get_variable(shared.ctx, name, TG_F32, TG_SCALAR,
                                   tg_zeros()) != NULL &&
                   tg_archive_add_metadata(shared.archive, name, "") == TG_OK;
        shared.unused[i] = tg_function_create(shared.ctx, twice, NULL, NULL);
        is_good &= shared.unused[i] != NULL;
    }
    return is_good;
}

/* Holds the lock of one of the objects most of the time. */
static bool query(int object)
{
    tg_variable *all[1];
    switch (object) {
    case 0:
        return tg_context_variables(shared.ctx, TG_TRAINABLE, all, 0) > 0;
    case 1:
        return tg_function_variables(shared.f, TG_TRAINABLE, all, 0) > 0;
    default:
        return tg_archive_metadata(shared.archive, "none") == NULL;
    }
}

/* Takes every lock: also those of a trace, its variants and its runners. Traces
   anew every few times. */
static bool use_shared(int i)
{
    const float in[] = {(float)i, 1, 2, 3, 4, 5, 6, 7};
    tg_tensor *x = tg_tensor_copy(shared.ctx, in, TG_F32, TG_DIMS(i % 7 + 1));
    tg_tensor *y = NULL;
    const bool is_good =
        x && tg_call(shared.f, TG_ARGS(x), TG_RESULTS(&y)) == TG_OK &&
        ((const float *)tg_tensor_data(y))[0] == 2 * in[0];
    tg_tensor_release(x);
    tg_tensor_release(y);
    if (i % 64 == 0)
        tg_function_clear(shared.f);
    return is_good && query(0) && query(1) && query(2);
}

typedef struct user_thread {
    int object; /* of query; OBJECTS: all of use_shared */
    bool is_good;
} user_thread;

static void *use_on_and_on(void *user)
{
    user_thread *u = user;
    for (int i = 0; !atomic_load(&is_over) && u->is_good; i++) {
        u->is_good = u->object < OBJECTS ? query(u->object) : use_shared(i);
        atomic_fetch_add(&n_used, 1);
    }
    if (!u->is_good)
        printf("locks: thread %d: %s\n", u->object, tg_error(NULL));
    return NULL;
}

static int use_in_child(int number)
{
    bool is_good = true;
    alarm(LOCKS_SECONDS);
    for (int i = number; i < number + 70 && is_good; i++)
        is_good = use_shared(i);
    if (!is_good)
        printf("child %d: %s\n", number, tg_error(NULL));
    fflush(stdout);
    return is_good ? 0 : 1;
}

static void check_locks(void)
{
    pthread_t threads[OBJECTS + 1];
    user_thread users[OBJECTS + 1];
    if (!fill_shared() || !use_shared(1))
        abort();
    for (int i = 0; i <= OBJECTS; i++) {
        users[i] = (user_thread){i, true};
        if (pthread_create(&threads[i], NULL, use_on_and_on, &users[i]))
            abort();
    }
    for (int i = 0; i < LOCKS_CHILDREN && n_failed == 0; i++) {
        usleep((useconds_t)(i * 317 % 1000));
        fork_one(3000 + i, use_in_child);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i <= OBJECTS; i++) {
        pthread_join(threads[i], NULL);
        n_failed += !users[i].is_good;
    }
    atomic_store(&is_over, false);
    tg_tensor_release(shared.x);
    tg_archive_release(shared.archive);
    tg_function_release(shared.f);
    for (int i = 0; i < ENTRIES; i++)
        tg_function_release(shared.unused[i]);
    tg_context_release(shared.ctx);
    if (atomic_load(&n_used) <= OBJECTS)
        n_failed++, printf("locks: the parent did nothing meanwhile\n");
}

/* -- Running --------------------------------------------------------------- */

static void *run_on_and_on(void *user)
{
    const running *r = user;
    while (!atomic_load(&is_over))
        if (run_once(r))
            atomic_fetch_add(&n_run, 1);
    return NULL;
}

/* Threads call functions of their own; one that none of them uses is called in
   the children, too: its results have the same bits. */
static void check_running(void)
{
    static running all[RUNNERS + 1];
    const running *idle = &all[RUNNERS];
    pthread_t threads[RUNNERS];
    bool is_good = true;
    for (int i = 0; i <= RUNNERS; i++)
        is_good &= create_running(&all[i]);
    for (int i = 0; i < RUNNERS; i++)
        if (pthread_create(&threads[i], NULL, run_on_and_on, &all[i]))
            abort();
    used_by_children = idle;
    for (int i = 0; i < RUNNING_CHILDREN && is_good; i++) {
        fork_one(2000 + i, work_in_child);
        is_good = run_once(idle);
        usleep((useconds_t)(i * 731 % 5000));
    }
    used_by_children = NULL;
    atomic_store(&is_over, true);
    for (int i = 0; i < RUNNERS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&is_over, false);
    for (int i = 0; i <= RUNNERS; i++)
        release_running(&all[i]);
    if (!is_good || atomic_load(&n_run) < RUNNERS)
        n_failed++, printf("the calls of the parent failed\n");
}

int main(int argc, char **argv)
{
    char text[1024];
    const bool is_locks_only = argc > 1 && strcmp(argv[1], "locks") == 0;
    const int n_children = argc > 1 ? atoi(argv[1]) : DEFAULT_CHILDREN;
    if (!is_locks_only && !tgi_jit_describe(text, sizeof(text)))
        return 77;
    n_copied = mmap(NULL, sizeof(*n_copied), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (n_copied == MAP_FAILED)
        abort();
    check_locks();
    if (!is_locks_only) {
        check_running();
        check_long();
        check_short(n_children);
    }
    printf("%d children passed, %d failed; %d had a copy of LLVM; %d functions "
           "compiled and %d calls run meanwhile\n",
           n_passed, n_failed, atomic_load(n_copied),
           atomic_load(&n_compiled), atomic_load(&n_run));
    return n_failed ? 1 : 0;
}
