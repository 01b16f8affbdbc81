/* SPDX-License-Identifier: MIT */
/*
 * fuzz_calls.c - sequences of API calls, valid and not, against a model. Bytes
 * decide what is called: any string of bytes is a sequence. The model knows the
 * contents of every tensor and variable, and which calls must fail; a failure
 * must have a message and change nothing. Some sequences run on several threads
 * of one context, with functions and a counter in common.
 *
 *     --count N   sequences (default 800)    --seed S   of their bytes
 *     --only K    sequence K alone, here      --jobs J   processes
 *
 * With libFuzzer (configure --enable-fuzz) the bytes are the fuzzer's.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "support/corpus.h"
#include "support/fuzz_options.h"
#include "support/support_random.h"
#include "support/workers.h"
#include "tgjit.h"

enum {
    MAX_EXTENT = 6,
    SLOTS = 4,
    MAX_BYTES = 256,
    MAX_THREADS = 3,
    MAX_SECONDS = 60
};

/* -- The model ------------------------------------------------------------- */

/* A vector of i64: what its tensor or variable must contain. */
typedef struct vector {
    int64_t n, data[MAX_EXTENT];
} vector;

typedef struct array {
    tg_tensor *tensor;     /* or … */
    tg_variable *variable;
    vector is;
} array;

typedef enum function_kind { ADD, LOOP, BRANCH, PICK, CHECKED, NESTED, KINDS }
    function_kind;

/* In common to the threads of a sequence. */
typedef struct common {
    tg_context *ctx;
    tg_function *f[KINDS], *count;
    tg_variable *counter;
    atomic_long n_counted;
    atomic_bool has_failed;
    bool is_alone; /* one thread */
} common;

typedef struct binding {
    tg_bound *bound;
    function_kind kind;
    int variable;    /* slot, or -1 */
    vector argument; /* the contents of its tensor */
    tg_tensor *tensor;
    int64_t number;
} binding;

typedef struct world {
    common *c;
    const uint8_t *bytes;
    size_t n, at;
    array x[SLOTS], v[SLOTS];
    binding b;
} world;

static unsigned take(world *w)
{
    return w->at < w->n ? w->bytes[w->at++] : 0;
}

static unsigned take_below(world *w, unsigned n)
{
    return take(w) % n;
}

/* Reports a contradiction to the model; the sequence ends. */
static void contradict(world *w, const char *what)
{
    if (!atomic_exchange(&w->c->has_failed, true)) {
        printf("%s, after %zu of %zu bytes: %s\n", what, w->at, w->n,
               tg_error(NULL));
        fflush(stdout);
    }
}

/* A call that must have failed, with a message. */
static void must_fail(world *w, tg_status status, const char *what)
{
    if (status == TG_OK || status == TG_ERROR_INTERNAL || !*tg_error(NULL) ||
        tg_error_last()->status != status)
        contradict(w, what);
    tg_error_clear();
}

static void must_work(world *w, tg_status status, const char *what)
{
    if (status != TG_OK)
        contradict(w, what);
}

static void check_data(world *w, const void *data, const vector *want,
                       const char *what)
{
    if (memcmp(data, want->data, (size_t)want->n * sizeof(*want->data)) != 0)
        contradict(w, what);
}

static void check_variable(world *w, const array *v)
{
    int64_t data[MAX_EXTENT];
    must_work(w,
              tg_variable_get(v->variable, data,
                              (size_t)v->is.n * sizeof(*data)),
              "tg_variable_get");
    check_data(w, data, &v->is, "a variable differs");
}

/* -- Functions ------------------------------------------------------------- */

/* in: a variable, a vector. Adds it, returns twice the sum. */
static void add(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign_add(in[0], in[1]);
    tg_return(t, tg_mul(tg_read(in[0]), 2));
}

static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(tg_mul(in[1], 3), in[0]));
}

/* in: a vector, a number of iterations. */
static void loop(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_for(in[1], step, user, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

static void increase(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], 1));
}

static void decrease(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sub(in[0], 1));
}

static void branch(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    tg_cond(tg_gt(tg_sum(in[0], TG_ALL_AXES), 0), increase, decrease, user,
            TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

/* in: a variable, a vector, an index. The variable changes first. */
static void pick(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign_add(in[0], 1);
    tg_return(t, tg_gather(in[1], tg_reshape(in[2], TG_DIMS(1)), 0));
}

static void checked(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign_add(in[0], 1);
    tg_assert(t, tg_ge(tg_sum(in[1], TG_ALL_AXES), 0), "negative");
    tg_assign_add(in[0], in[1]);
}

static void nested(tg_trace *t, const tg_value *in, void *user)
{
    tg_value y;
    const common *c = user;
    tg_apply(c->f[LOOP], TG_ARGS(in[0], in[1]), &y, 1);
    tg_return(t, tg_neg(y));
}

static void count(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    tg_assign_add(((common *)user)->counter, 1);
    tg_return(t, tg_read(((common *)user)->counter));
}

static tg_callback *const callbacks[KINDS] = {add,  loop,    branch,
                                              pick, checked, nested};

static int64_t sum_of(const vector *x)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < x->n; i++)
        sum += (uint64_t)x->data[i];
    return (int64_t)sum;
}

static void add_to(vector *v, const vector *x, int64_t more)
{
    for (int64_t i = 0; i < v->n; i++)
        v->data[i] = (int64_t)((uint64_t)v->data[i] +
                               (x ? (uint64_t)x->data[i] : 0) +
                               (uint64_t)more);
}

/* What a function does, by the model: writes its result (n is 0 if it has none)
   and returns its status. */
static tg_status predict(function_kind kind, array *v, const vector *x,
                         int64_t number, vector *y)
{
    *y = *x;
    switch (kind) {
    case ADD:
        if (x->n != v->is.n)
            return TG_ERROR_SHAPE;
        add_to(&v->is, x, 0);
        *y = v->is;
        add_to(y, &v->is, 0);
        break;
    case LOOP:
    case NESTED:
        for (int64_t k = 0; k < number; k++)
            for (int64_t i = 0; i < y->n; i++)
                y->data[i] =
                    (int64_t)((uint64_t)y->data[i] * 3 + (uint64_t)k);
        for (int64_t i = 0; kind == NESTED && i < y->n; i++)
            y->data[i] = (int64_t)(0 - (uint64_t)y->data[i]);
        break;
    case BRANCH:
        add_to(y, NULL, sum_of(x) > 0 ? 1 : -1);
        break;
    case PICK:
        add_to(&v->is, NULL, 1);
        if (number < 0 || number >= x->n)
            return TG_ERROR_INDEX;
        *y = (vector){1, {x->data[number]}};
        break;
    default:
        y->n = 0;
        if (x->n != v->is.n)
            return TG_ERROR_SHAPE;
        add_to(&v->is, NULL, 1);
        if (sum_of(x) < 0)
            return TG_ERROR_ASSERT;
        add_to(&v->is, x, 0);
    }
    return TG_OK;
}

/* Writes the arguments of a function; returns how many. */
static size_t arguments_of(function_kind kind, tg_variable *v, tg_tensor *x,
                           int64_t number, tg_operand *out)
{
    size_t n = 0;
    if (kind == ADD || kind == PICK || kind == CHECKED)
        out[n++] = TG_IN(v);
    out[n++] = TG_IN(x);
    if (kind == LOOP || kind == NESTED || kind == PICK)
        out[n++] = TG_IN(number);
    return n;
}

/* -- Steps of a sequence --------------------------------------------------- */

static array *take_array(world *w, array *list)
{
    return &list[take_below(w, SLOTS)];
}

static void fill(world *w, vector *x)
{
    x->n = 1 + take_below(w, MAX_EXTENT);
    for (int64_t i = 0; i < x->n; i++)
        x->data[i] = (int8_t)take(w);
}

static void create_tensor(world *w)
{
    array *x = take_array(w, w->x);
    tg_tensor_release(x->tensor);
    fill(w, &x->is);
    x->tensor = tg_tensor_copy(w->c->ctx, x->is.data, TG_I64, 1, &x->is.n);
    if (!x->tensor)
        contradict(w, "tg_tensor_copy");
}

static void create_variable(world *w)
{
    const size_t slot = take_below(w, SLOTS);
    array *v = &w->v[slot];
    if (w->b.bound && w->b.variable == (int)slot)
        return;
    tg_variable_release(v->variable);
    fill(w, &v->is);
    v->variable = tg_variable_create(w->c->ctx, "v", TG_I64, 1, &v->is.n,
                                     tg_from_data(v->is.data));
    if (!v->variable)
        contradict(w, "tg_variable_create");
}

/* Only CHECKED has no result. */
static tg_status call_kind(const world *w, function_kind kind, unsigned how,
                           const tg_operand *args, size_t n, tg_tensor **result)
{
    tg_function *f = w->c->f[kind];
    const double seconds = how % 8 == 1 ? 0 : 1000;
    if (kind == CHECKED)
        return how % 8 < 2 ? tg_call_within(f, seconds, args, n, TG_RESULTS())
                           : tg_call(f, args, n, TG_RESULTS());
    return how % 8 < 2 ? tg_call_within(f, seconds, args, n, TG_RESULTS(result))
                       : tg_call(f, args, n, TG_RESULTS(result));
}

static void call(world *w)
{
    const function_kind kind = (function_kind)take_below(w, KINDS);
    array *v = take_array(w, w->v), *x = take_array(w, w->x);
    array *slot = take_array(w, w->x);
    const int64_t number = (int64_t)take_below(w, 12) - 2;
    const unsigned how = take(w);
    tg_operand args[3];
    if (!x->tensor || !v->variable)
        return;
    const size_t n = arguments_of(kind, v->variable, x->tensor, number, args);
    const vector before = v->is;
    vector y;
    tg_tensor *result = NULL;
    const bool is_late = how % 8 == 1;
    const tg_status want = is_late ? TG_ERROR_DEADLINE
                                   : predict(kind, v, &x->is, number, &y);
    const tg_status status = call_kind(w, kind, how, args, n, &result);
    if (want == TG_ERROR_SHAPE)
        v->is = before;
    if (want) {
        must_fail(w, status, "a call that must fail");
        if (status != want)
            contradict(w, "another status");
    } else {
        must_work(w, status, "tg_call");
        if (kind == CHECKED)
            y.n = 0;
        else if (result &&
                 tg_tensor_bytes(result) == (size_t)y.n * sizeof(int64_t))
            check_data(w, tg_tensor_data(result), &y, "a result differs");
        else
            contradict(w, "a result has another size");
    }
    check_variable(w, v);
    if (result && slot != x) {
        tg_tensor_release(slot->tensor);
        slot->tensor = result;
        slot->is = y;
    } else {
        tg_tensor_release(result);
    }
}

static void unbind(world *w)
{
    tg_bound_release(w->b.bound);
    tg_tensor_release(w->b.tensor);
    w->b = (binding){.variable = -1};
}

static void bind(world *w)
{
    const function_kind kind = (function_kind)take_below(w, KINDS);
    const int slot = (int)take_below(w, SLOTS);
    array *v = &w->v[slot], *x = take_array(w, w->x);
    const int64_t number = (int64_t)take_below(w, 12) - 2;
    tg_operand args[3];
    unbind(w);
    if (!x->tensor || !v->variable || kind == CHECKED)
        return;
    array unchanged = *v;
    vector y;
    const size_t n = arguments_of(kind, v->variable, x->tensor, number, args);
    const bool fits =
        predict(kind, &unchanged, &x->is, number, &y) != TG_ERROR_SHAPE;
    tg_bound *bound = tg_bind(w->c->f[kind], args, n, TG_RESULTS());
    if (!fits) {
        must_fail(w, bound ? TG_OK : tg_error_last()->status,
                  "a bind that must fail");
    } else if (!bound) {
        contradict(w, "tg_bind");
    } else {
        w->b = (binding){bound, kind,
                         kind == ADD || kind == PICK ? slot : -1,
                         x->is, tg_tensor_retain(x->tensor), number};
    }
}

static void run(world *w)
{
    binding *b = &w->b;
    vector y;
    array none = {.is = {.n = 1}};
    if (!b->bound)
        return;
    array *v = b->variable >= 0 ? &w->v[b->variable] : &none;
    const tg_status want = predict(b->kind, v, &b->argument, b->number, &y);
    const tg_status status = take_below(w, 4) ? tg_run(b->bound)
                                              : tg_run_within(b->bound, 1e3);
    if (want)
        must_fail(w, status, "a run that must fail");
    else
        must_work(w, status, "tg_run");
    if (v->variable)
        check_variable(w, v);
}

static void map(world *w)
{
    array *v = take_array(w, w->v), *x = take_array(w, w->x);
    const int64_t more = (int8_t)take(w);
    if (!v->variable)
        return;
    int64_t *data = tg_variable_map(v->variable, TG_WRITE);
    if (!data) {
        contradict(w, "tg_variable_map");
        return;
    }
    for (int64_t i = 0; i < v->is.n; i++)
        data[i] += more;
    add_to(&v->is, NULL, more);
    if (x->tensor && x->is.n == v->is.n)
        must_fail(w, tg_call(w->c->f[ADD], TG_ARGS(v->variable, x->tensor),
                             TG_RESULTS()),
                  "a call with a mapped variable");
    must_work(w, tg_variable_unmap(v->variable), "tg_variable_unmap");
    check_variable(w, v);
}

static void assign(world *w)
{
    array *v = take_array(w, w->v), *x = take_array(w, w->x);
    if (!v->variable || !x->tensor)
        return;
    const tg_status status = tg_variable_assign(v->variable, x->tensor);
    if (x->is.n == v->is.n) {
        must_work(w, status, "tg_variable_assign");
        v->is = x->is;
    } else {
        must_fail(w, status, "an assignment of another shape");
    }
    check_variable(w, v);
}

static void misuse(world *w)
{
    const array *v = take_array(w, w->v), *x = take_array(w, w->x);
    tg_function *f = w->c->f[take_below(w, KINDS)];
    tg_tensor *y = NULL;
    tg_status status = TG_OK;
    switch (take_below(w, 8)) {
    case 0:
        status = tg_call(NULL, TG_ARGS(1), TG_RESULTS());
        break;
    case 1:
        status = tg_bind(NULL, TG_ARGS(1), TG_RESULTS())
                     ? TG_OK
                     : tg_error_last()->status;
        break;
    case 2:
        status = tg_call(f, TG_ARGS((tg_tensor *)NULL, 3), TG_RESULTS(&y));
        break;
    case 3:
        status = tg_run(NULL);
        break;
    case 4: /* a variable where none is expected, and the reverse */
        status = tg_call(w->c->f[ADD], TG_ARGS(x->tensor, v->variable),
                         TG_RESULTS(&y));
        break;
    case 5:
        status = tg_call(w->c->f[LOOP], TG_ARGS(x->tensor, 0.5),
                         TG_RESULTS(&y));
        break;
    case 6:
        status = tg_variable_set(v->variable, &w->at, 3);
        break;
    default:
        status = tg_tensor_create(w->c->ctx, TG_I64, TG_DIMS(-1), tg_zeros())
                     ? TG_OK
                     : tg_error_last()->status;
    }
    must_fail(w, status, "misuse");
    if (y)
        contradict(w, "a failed call has a result");
}

static void count_once(world *w)
{
    int64_t now = 0;
    must_work(w, tg_call(w->c->count, TG_ARGS(), TG_RESULTS(&now)), "count");
    const long n = atomic_fetch_add(&w->c->n_counted, 1) + 1;
    if (now < 1 || (w->c->is_alone && now != n))
        contradict(w, "the counter differs");
}

static void iterate(world *w)
{
    const array *x = take_array(w, w->x);
    const int64_t size = 1 + take_below(w, 3);
    if (!x->tensor)
        return;
    tg_dataset *d = tg_dataset_batch(tg_dataset_from(w->c->ctx,
                                                     TG_ARGS(x->tensor)),
                                     size, TG_KEEP_REMAINDER);
    if (take_below(w, 4) == 0)
        d = tg_dataset_prefetch(d, 1);
    tg_iterator *it = tg_iterate(d);
    int64_t at = 0;
    for (tg_tensor *y = NULL; it && tg_next(it, TG_RESULTS(&y)) == TG_OK;) {
        const int64_t n = (int64_t)(tg_tensor_bytes(y) / sizeof(int64_t));
        vector want = {n, {0}};
        if (n > size || at + n > x->is.n) {
            contradict(w, "a batch is too long");
        } else {
            memcpy(want.data, x->is.data + at, (size_t)n * sizeof(at));
            check_data(w, tg_tensor_data(y), &want, "a batch differs");
        }
        at += n;
        tg_tensor_release(y);
        y = NULL;
    }
    if (!it || at != x->is.n)
        contradict(w, "an iteration ends early");
    tg_iterator_release(it);
    tg_dataset_release(d);
}

static void take_step(world *w)
{
    switch (take_below(w, 16)) {
    case 0:
    case 1:
        create_tensor(w);
        break;
    case 2:
        create_variable(w);
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        call(w);
        break;
    case 7:
        bind(w);
        break;
    case 8:
        run(w);
        break;
    case 9:
        map(w);
        break;
    case 10:
        assign(w);
        break;
    case 11:
        misuse(w);
        break;
    case 12:
        count_once(w);
        break;
    case 13:
        iterate(w);
        break;
    case 14:
        tg_function_clear(w->c->f[take_below(w, KINDS)]);
        break;
    default:
        if (w->c->is_alone)
            tg_cancel(w->c->ctx); /* nothing runs */
    }
}

/* -- Sequences ------------------------------------------------------------- */

static void *run_world(void *user)
{
    world *w = user;
    w->b.variable = -1;
    /* Something to begin with. */
    for (int i = 0; i < 2; i++) {
        create_tensor(w);
        create_variable(w);
    }
    while (w->at < w->n && !atomic_load(&w->c->has_failed))
        take_step(w);
    unbind(w);
    for (int i = 0; i < SLOTS; i++) {
        tg_tensor_release(w->x[i].tensor);
        tg_variable_release(w->v[i].variable);
    }
    return NULL;
}

/* Runs the sequence in these bytes; false if it contradicts the model. */
static bool run_sequence(const uint8_t *bytes, size_t n)
{
    static const char *const modes[] = {"off", "off", "auto", "required"};
    const unsigned head = n ? bytes[0] : 0, more = n > 1 ? bytes[1] : 0;
    const size_t n_threads = more % 4 == 3 ? MAX_THREADS : 1;
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.jit = modes[head % 4];
    options.threads = 1 + (int)(head / 4 % 3);
    options.cache = "off";
    options.log = "off";
    common c = {.ctx = tg_context_create(&options),
                .is_alone = n_threads == 1};
    if (!c.ctx && tg_error_last()->status == TG_ERROR_UNSUPPORTED)
        return true; /* no compiler */
    for (int i = 0; i < KINDS; i++)
        c.f[i] = tg_function_create(c.ctx, callbacks[i], &c, NULL);
    c.count = tg_function_create(c.ctx, count, &c, NULL);
    c.counter = tg_variable_create(c.ctx, "counter", TG_I64, TG_SCALAR,
                                   tg_zeros());
    world worlds[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    const size_t part = n > 2 ? (n - 2) / n_threads : 0;
    memset(worlds, 0, sizeof(worlds));
    for (size_t i = 0; i < n_threads; i++) {
        worlds[i].c = &c;
        worlds[i].bytes = n > 2 ? bytes + 2 + i * part : NULL;
        worlds[i].n = part;
    }
    size_t n_started = 1;
    while (n_started < n_threads &&
           pthread_create(&threads[n_started], NULL, run_world,
                          &worlds[n_started]) == 0)
        n_started++;
    run_world(&worlds[0]);
    for (size_t i = 1; i < n_started; i++)
        pthread_join(threads[i], NULL);
    int64_t counted = 0;
    must_work(&worlds[0],
              tg_variable_get(c.counter, &counted, sizeof(counted)),
              "tg_variable_get");
    if (counted != atomic_load(&c.n_counted))
        contradict(&worlds[0], "the counter differs at the end");
    must_work(&worlds[0], tg_compile_wait(c.ctx), "tg_compile_wait");
    for (int i = 0; i < KINDS; i++)
        tg_function_release(c.f[i]);
    tg_function_release(c.count);
    tg_variable_release(c.counter);
    tg_context_release(c.ctx);
    return !atomic_load(&c.has_failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (!run_sequence(bytes, n < MAX_BYTES ? n : MAX_BYTES))
        abort();
    return 0;
}

#ifndef TGI_LIBFUZZER

/* -- The program ----------------------------------------------------------- */

static bool check_number(const void *user, uint64_t number, void *tally)
{
    const fuzz_options *o = user;
    uint64_t random = fuzz_options_random(o, number);
    uint8_t bytes[MAX_BYTES];
    random_next(&random);
    const size_t n = 2 + (size_t)random_below(&random, MAX_BYTES - 2);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)random_next(&random);
    *(uint64_t *)tally += n;
    tg_error_clear();
    bool is_good = run_sequence(bytes, n);
    if (is_good && (tg_live_objects() || tg_live_bytes())) {
        printf("memory leaks\n");
        is_good = false;
    }
    return is_good;
}

static void report(const void *user, uint64_t number, int status)
{
    const fuzz_options *o = user;
    printf("sequence fails, status 0x%x: fuzz_calls --seed %" PRIu64
           " --only %" PRIu64 "\n",
           (unsigned)status, o->seed, number);
}

static void add_bytes(void *sum, const void *of_process)
{
    *(uint64_t *)sum += *(const uint64_t *)of_process;
}

int main(int argc, char **argv)
{
    fuzz_options o = {
        .seed = 1, .count = 800, .n_jobs = workers_default_jobs()};
    uint64_t n_bytes = 0, n_passed = 0, n_failed = 0;
    if (!fuzz_options_parse("fuzz_calls", &o, argc, argv))
        return 2;
    setenv("TGJIT_GRAIN", "0", 1);
    if (o.is_only) {
        n_failed = !check_number(&o, o.only, &n_bytes);
    } else {
        n_failed += corpus_replay("calls.hex", run_sequence);
        const workers w = {.count = o.count,
                           .max_failures = 10,
                           .n_jobs = o.n_jobs,
                           .seconds = MAX_SECONDS,
                           .user = &o,
                           .check = check_number,
                           .tally_bytes = sizeof(n_bytes),
                           .report = report,
                           .add = add_bytes};
        workers_run(&w, &n_bytes, &n_passed, &n_failed);
    }
    printf("%" PRIu64 " sequences of %" PRIu64 " bytes, %" PRIu64 " failed\n",
           o.count, n_bytes, n_failed);
    return n_failed != 0;
}

#endif /* TGI_LIBFUZZER */
