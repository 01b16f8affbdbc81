/* SPDX-License-Identifier: MIT */
/*
 * stress_mixed.c - eight threads of one context do at random what programs do:
 * trace, compile, call, bind, assign, evict, save, load, iterate datasets, drop
 * last references, cancel and set deadlines. For ThreadSanitizer
 * (tests/scripts/long-tsan.sh) and as a soak.
 *
 *     --rounds N    of each thread (default 150)
 *     --seconds S   instead: so long; memory, mappings and file descriptors must
 *                   be flat after the first quarter
 *     --seed S      of the random numbers
 *     --plant       a data race, which ThreadSanitizer must report
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/arguments.h"
#include "support/footprint.h"
#include "support/support_random.h"
#include "tgjit.h"

enum { THREADS = 8, HANDED = 4, N = 256, WATCHDOG_SECONDS = 240 };

typedef struct shared {
    tg_context *ctx;
    tg_function *f, *g;
    tg_variable *v, *counter;
    atomic_long n_counted, n_cancelled, n_failed, n_steps;
    _Atomic(tg_tensor *) handed[HANDED]; /* the taker releases it */
    _Atomic(tg_function *) handed_functions[HANDED];
    long rounds;
    time_t end; /* 0: by rounds */
    uint64_t seed;
    bool plants;
    long planted;
    char dir[64];
} shared;

typedef struct worker {
    shared *s;
    uint64_t random;
    int number;
    pthread_t thread;
} worker;

static void check(worker *w, bool good, const char *what)
{
    if (!good && atomic_fetch_add(&w->s->n_failed, 1) < 10)
        fprintf(stderr, "stress_mixed: %s: %s\n", what, tg_error(NULL));
}

/* A status that is good, or that another thread's tg_cancel explains. */
static bool is_fine(worker *w, tg_status status)
{
    if (status == TG_ERROR_CANCELLED)
        atomic_fetch_add(&w->s->n_cancelled, 1);
    return status == TG_OK || status == TG_ERROR_CANCELLED;
}

/* -- Functions ------------------------------------------------------------- */

static void body(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_tanh(tg_add(in[1], tg_mean(in[1], TG_ALL_AXES))));
}

static void smooth(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_for(in[1], body, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

static void update(tg_trace *t, const tg_value *in, void *user)
{
    shared *s = user;
    tg_assign(s->v, tg_add(tg_mul(tg_read(s->v), 0.5), tg_mul(in[0], 0.5)));
    tg_assign_add(s->counter, 1);
    tg_return(t, tg_sum(tg_read(s->v), TG_ALL_AXES));
}

static void fresh(tg_trace *t, const tg_value *in, void *user)
{
    const double factor = (double)(uintptr_t)user;
    tg_return(t, tg_softmax(tg_mul(in[0], factor), -1));
}

/* -- Steps ----------------------------------------------------------------- */

/* Its elements are computed by a call, which may be cancelled: it tries again. */
static tg_tensor *vector(worker *w, int64_t n)
{
    tg_tensor *x;
    do
        x = tg_tensor_create(w->s->ctx, TG_F32, TG_DIMS(n), tg_ones());
    while (!x && tg_error_last()->status == TG_ERROR_CANCELLED);
    check(w, x, "tg_tensor_create");
    return x;
}

static void call_smooth(worker *w)
{
    tg_tensor *x = vector(w, 1 + random_below(&w->random, 40) * 7), *y = NULL;
    const int64_t n = random_below(&w->random, 30);
    tg_status status = random_below(&w->random, 4)
                           ? tg_call(w->s->f, TG_ARGS(x, n), TG_RESULTS(&y))
                           : tg_call_within(w->s->f, 100, TG_ARGS(x, n),
                                            TG_RESULTS(&y));
    check(w, is_fine(w, status), "smooth");
    check(w, status || tg_tensor_bytes(y) == tg_tensor_bytes(x), "its result");
    tg_tensor_release(x);
    tg_tensor_release(y);
}

static void call_update(worker *w)
{
    tg_tensor *x = vector(w, N);
    float sum;
    const tg_status status =
        tg_call(w->s->g, TG_ARGS(x), TG_RESULTS(&sum));
    check(w, is_fine(w, status), "update");
    if (status == TG_OK)
        atomic_fetch_add(&w->s->n_counted, 1);
    tg_tensor_release(x);
}

static void bind_and_run(worker *w)
{
    tg_tensor *x = vector(w, 64);
    tg_bound *b = tg_bind(w->s->f, TG_ARGS(x, (int64_t)5), TG_RESULTS());
    check(w, b || tg_error_last()->status == TG_ERROR_CANCELLED, "tg_bind");
    for (int i = 0; b && i < 8; i++)
        check(w, is_fine(w, tg_run(b)), "tg_run");
    tg_bound_release(b);
    tg_tensor_release(x);
}

static void trace_fresh(worker *w)
{
    const uintptr_t factor = 1 + (uintptr_t)random_below(&w->random, 5);
    tg_function *f =
        tg_function_create(w->s->ctx, fresh, (void *)factor, NULL);
    tg_tensor *x = vector(w, 3 + random_below(&w->random, 3)), *y = NULL;
    check(w, f && is_fine(w, tg_call(f, TG_ARGS(x), TG_RESULTS(&y))), "fresh");
    tg_tensor_release(x);
    tg_tensor_release(y);
    const int slot = random_below(&w->random, HANDED);
    f = atomic_exchange(&w->s->handed_functions[slot], f);
    tg_function_release(f);
}

static void hand_over(worker *w)
{
    tg_tensor *x = vector(w, 16);
    const int slot = random_below(&w->random, HANDED);
    tg_tensor_release(atomic_exchange(&w->s->handed[slot], x));
}

static void assign(worker *w)
{
    float *data = tg_variable_map(w->s->v, TG_WRITE);
    check(w, data, "tg_variable_map");
    for (int i = 0; data && i < N; i++)
        data[i] = 1;
    if (data)
        check(w, tg_variable_unmap(w->s->v) == TG_OK, "tg_variable_unmap");
    check(w, tg_variable_assign(w->s->v, 1.0f) == TG_OK, "tg_variable_assign");
}

static void save_and_load(worker *w)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%d.npz", w->s->dir, w->number);
    tg_archive *a = tg_archive_create(w->s->ctx);
    tg_tensor *x = vector(w, 100);
    check(w, a && !tg_archive_add(a, "x", x) && !tg_archive_save(a, path),
          "tg_archive_save");
    tg_archive_release(a);
    a = tg_archive_load(w->s->ctx, path);
    tg_tensor *y = a ? tg_archive_get(a, "x") : NULL;
    check(w, y, "tg_archive_get");
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_archive_release(a);
}

static void iterate(worker *w)
{
    tg_tensor *x = vector(w, 50), *y = NULL;
    tg_dataset *d = tg_dataset_batch(
        tg_dataset_shuffle(tg_dataset_from(w->s->ctx, TG_ARGS(x)), 10,
                           (uint64_t)w->number, TG_RESHUFFLE),
        8, TG_KEEP_REMAINDER);
    d = tg_dataset_prefetch(d, 2);
    tg_iterator *it = tg_iterate(d);
    check(w, it, "tg_iterate");
    /* Sometimes it is dropped in the middle. */
    for (int i = random_below(&w->random, 12); it && i > 0; i--) {
        const tg_status status = tg_next(it, TG_RESULTS(TG_FRESH(&y)));
        check(w, is_fine(w, status) || status == TG_END_OF_DATA, "tg_next");
    }
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_iterator_release(it);
    tg_dataset_release(d);
}

static void step(worker *w)
{
    switch (random_below(&w->random, 24)) {
    case 0:
    case 1:
        trace_fresh(w);
        break;
    case 2:
        tg_function_clear(random_below(&w->random, 2) ? w->s->f : w->s->g);
        break;
    case 3:
        tg_cancel(w->s->ctx);
        break;
    case 4:
        check(w, tg_compile_wait(w->s->ctx) == TG_OK, "tg_compile_wait");
        break;
    case 5:
    case 6:
        save_and_load(w);
        break;
    case 7:
    case 8:
        iterate(w);
        break;
    case 9:
    case 10:
        assign(w);
        break;
    case 11:
    case 12:
        hand_over(w);
        break;
    case 13:
    case 14:
        bind_and_run(w);
        break;
    case 15:
    case 16:
    case 17:
        call_update(w);
        break;
    default:
        call_smooth(w);
    }
    if (w->s->plants)
        w->s->planted++; /* the race */
    atomic_fetch_add(&w->s->n_steps, 1);
}

static void *run_worker(void *user)
{
    worker *w = user;
    const shared *s = w->s;
    for (long i = 0; s->end ? time(NULL) < s->end : i < s->rounds; i++)
        step(w);
    return NULL;
}

/* -- The process ----------------------------------------------------------- */

/* Waits until the end; false if the process has grown since the first
   quarter. */
static bool watch(const shared *s, long seconds)
{
    sleep((unsigned)(seconds / 4));
    const footprint first = footprint_measure();
    footprint most = first;
    while (time(NULL) < s->end) {
        sleep(1);
        const footprint now = footprint_measure();
        footprint_max(&most, &now);
    }
    return footprint_is_flat(&first, &most);
}

static bool create(shared *s)
{
    tg_function_options few = TG_FUNCTION_OPTIONS_INIT;
    few.max_traces = 3; /* evictions */
    few.policy = TG_EXACT;
    strcpy(s->dir, "/tmp/tgjit-mixed-XXXXXX");
    s->ctx = tg_context_create(NULL);
    if (!s->ctx || !mkdtemp(s->dir))
        return false;
    s->f = tg_function_create(s->ctx, smooth, s, &few);
    s->g = tg_function_create(s->ctx, update, s, NULL);
    s->v = tg_variable_create(s->ctx, "v", TG_F32, TG_DIMS(N), tg_ones());
    s->counter = tg_variable_create(s->ctx, "counter", TG_I64, TG_SCALAR,
                                    tg_zeros());
    return s->f && s->g && s->v && s->counter;
}

static void destroy(shared *s)
{
    (void)!tg_compile_wait(s->ctx);
    for (int i = 0; i < HANDED; i++) {
        tg_tensor_release(atomic_exchange(&s->handed[i], NULL));
        tg_function_release(atomic_exchange(&s->handed_functions[i], NULL));
    }
    tg_function_release(s->f);
    tg_function_release(s->g);
    tg_variable_release(s->v);
    tg_variable_release(s->counter);
    tg_context_release(s->ctx);
    for (int i = 0; i < THREADS; i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%d.npz", s->dir, i);
        unlink(path);
    }
    rmdir(s->dir);
}

/* A cancelled call has assigned nothing, or has finished. */
static bool is_counted(const shared *s)
{
    int64_t n = 0;
    return tg_variable_get(s->counter, &n, sizeof(n)) == TG_OK &&
           n >= atomic_load(&s->n_counted) &&
           n <= atomic_load(&s->n_counted) + atomic_load(&s->n_cancelled);
}

static bool parse(shared *s, long *out_seconds, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--plant"))
            s->plants = true;
        else if (value && !strcmp(argv[i], "--rounds"))
            s->rounds = atol(argv[++i]);
        else if (value && !strcmp(argv[i], "--seconds"))
            *out_seconds = atol(argv[++i]);
        else if (value && !strcmp(argv[i], "--seed"))
            s->seed = strtoull(argv[++i], NULL, 0);
        else
            return argument_is_wrong("stress_mixed", argc, argv, i);
    }
    return true;
}

int main(int argc, char **argv)
{
    static shared s;
    static worker workers[THREADS];
    long seconds = 0;
    s.rounds = 150;
    s.seed = 1;
    if (!parse(&s, &seconds, argc, argv))
        return 2;
    if (!create(&s)) {
        fprintf(stderr, "stress_mixed: %s\n", tg_error(NULL));
        return 1;
    }
    s.end = seconds ? time(NULL) + seconds : 0;
    alarm((unsigned)seconds + WATCHDOG_SECONDS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){
            .s = &s, .random = s.seed * 1000 + (uint64_t)i, .number = i};
        if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]))
            return 1;
    }
    bool good = !seconds || watch(&s, seconds);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    good &= is_counted(&s);
    destroy(&s);
    good &= atomic_load(&s.n_failed) == 0 && tg_live_objects() == 0;
    printf("%ld steps of %d threads, %ld cancelled calls, %ld failed, %zu "
           "objects left\n",
           atomic_load(&s.n_steps), THREADS, atomic_load(&s.n_cancelled),
           atomic_load(&s.n_failed), tg_live_objects());
    return good ? 0 : 1;
}
