/* SPDX-License-Identifier: MIT */
/*
 * ulp_sweep.c - the worst error over many inputs. Threads take chunks of inputs
 * from an atomic counter; quick errors select results that may be the worst so
 * far, and MPFR decides. The result does not depend on the order of chunks.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "interp/kernel.h"
#include "ulp/ulp.h"

enum {
    CHUNK = 4096,
    SAMPLE = 1024,         /* every SAMPLE-th input is checked … */
    MANY_INPUTS = 1 << 20, /* … from this number of inputs on */
};

void ulp_run_kernel(const ulp_function *f, int dtype, int64_t n, void *a,
                    void *b, void *out)
{
    tgi_view in[2];
    tgi_kernel_args args = {.in = in};
    tgi_view_init(&args.out, out, (tg_dtype)dtype, 1, &n);
    tgi_view_init(&in[0], a, (tg_dtype)dtype, 1, &n);
    tgi_view_init(&in[1], b, (tg_dtype)dtype, 1, &n);
    tgi_kernel_elementwise(f->op, dtype, dtype)(&args);
}

/* -- Inputs of a chunk ----------------------------------------------------- */

typedef union elements {
    float f32[CHUNK];
    uint32_t bits[CHUNK];
    double f64[CHUNK];
} elements;

typedef struct sweep {
    const ulp_function *f;
    int dtype;
    const ulp_many *many; /* NULL: not f32 with one operand */
    int64_t sample;       /* distance between inputs that are checked */
    uint64_t n_searched;  /* inputs of ulp_inputs.c, before bit patterns */
    uint64_t stride;
    uint64_t n;
    _Atomic uint64_t next; /* the next chunk to take */
} sweep;

typedef struct worker {
    sweep *all;
    pthread_t thread;
    ulp_numbers numbers;
    uint64_t where; /* index of the worst input */
    ulp_result result;
    elements a, b, out, again;
    double errors[CHUNK]; /* quick errors; Inf if unknown */
} worker;

static double element(int dtype, const elements *e, int64_t i)
{
    return dtype == TG_F32 ? (double)e->f32[i] : e->f64[i];
}

static void set_element(int dtype, elements *e, int64_t i, double x)
{
    if (dtype == TG_F32)
        e->f32[i] = (float)x;
    else
        e->f64[i] = x;
}

static void fill(worker *w, uint64_t first, int64_t n)
{
    const sweep *s = w->all;
    int64_t i = 0;
    for (; i < n && first + (uint64_t)i < s->n_searched; i++) {
        double operands[2];
        ulp_input(s->dtype, s->f->arity, first + (uint64_t)i, operands);
        set_element(s->dtype, &w->a, i, operands[0]);
        if (s->f->arity == 2)
            set_element(s->dtype, &w->b, i, operands[1]);
    }
    for (; i < n; i++)
        w->a.bits[i] =
            (uint32_t)((first + (uint64_t)i - s->n_searched) * s->stride);
}

static void operands_of(const worker *w, int64_t i, double *operands)
{
    const sweep *s = w->all;
    operands[0] = element(s->dtype, &w->a, i);
    operands[1] = s->f->arity == 2 ? element(s->dtype, &w->b, i) : 0;
}

/* -- Errors of a chunk ----------------------------------------------------- */

static bool is_same(float a, float b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

/* Compares two errors of one result. */
static bool is_close(const sweep *s, double a, double b)
{
    const double off = ulp_uncertainty(s->f, s->dtype);
    return a == b || fabs(a - b) <= off * fmax(a, 1);
}

static void doubt(worker *w, const double *operands)
{
    w->result.is_doubtful = true;
    memcpy(w->result.where, operands, sizeof(w->result.where));
}

/* Each chunk has different inputs checked. */
static int64_t first_checked(const sweep *s, uint64_t first)
{
    return (int64_t)(first / CHUNK * 389) % s->sample;
}

/* Compares `many` with the library's kernel and with scalar functions. */
static void check_many(worker *w, uint64_t first, int64_t n)
{
    const sweep *s = w->all;
    int64_t m = 0;
    const int64_t begin = first_checked(s, first);
    for (int64_t i = begin; i < n; i += s->sample)
        w->b.f32[m++] = w->a.f32[i];
    ulp_run_kernel(s->f, TG_F32, m, w->b.f32, w->b.f32, w->again.f32);
    for (int64_t i = begin, k = 0; k < m; i += s->sample, k++) {
        double operands[2];
        operands_of(w, i, operands);
        const double error =
            ulp_error_quick(s->f, (double)w->out.f32[i], operands);
        if (!is_same(w->out.f32[i], w->again.f32[k]) ||
            !is_close(s, w->errors[i], error))
            doubt(w, operands);
    }
}

/* Compares quick errors with exact ones; Inf means unknown. */
static void check_errors(worker *w, uint64_t first, int64_t n)
{
    const sweep *s = w->all;
    for (int64_t i = first_checked(s, first); i < n; i += s->sample) {
        double operands[2];
        operands_of(w, i, operands);
        const double given = element(s->dtype, &w->out, i);
        const double error =
            ulp_error_exact(s->f, s->dtype, given, operands, &w->numbers);
        if (w->errors[i] != HUGE_VAL && !is_close(s, w->errors[i], error))
            doubt(w, operands);
    }
}

/* Runs the function, computes quick errors, and returns how many exceed the
   limit. */
static int64_t run_chunk(worker *w, uint64_t first, int64_t n, double limit)
{
    const sweep *s = w->all;
    if (s->many) {
        s->many->kernel(n, w->a.f32, w->out.f32);
        const int64_t n_above =
            s->many->errors(n, w->a.f32, w->out.f32, limit, w->errors);
        check_many(w, first, n);
        return n_above;
    }
    ulp_run_kernel(s->f, s->dtype, n, &w->a, &w->b, &w->out);
    for (int64_t i = 0; i < n; i++) {
        double operands[2];
        operands_of(w, i, operands);
        const double given = element(s->dtype, &w->out, i);
        w->errors[i] = s->dtype == TG_F32
                           ? ulp_error_quick(s->f, given, operands)
                           : ulp_error_wide(s->f, given, operands);
    }
    check_errors(w, first, n);
    return n;
}

/* Among equal errors the input with the lowest index wins. */
static bool is_worse(double error, uint64_t index, double worst, uint64_t where)
{
    return error > worst || (error == worst && index < where);
}

static void measure_exactly(worker *w, uint64_t index, int64_t i)
{
    const sweep *s = w->all;
    const double given = element(s->dtype, &w->out, i);
    double operands[2];
    operands_of(w, i, operands);
    const double error =
        ulp_error_exact(s->f, s->dtype, given, operands, &w->numbers);
    if (!is_worse(error, index, w->result.worst, w->where))
        return;
    w->where = index;
    w->result.worst = error;
    w->result.given = given;
    memcpy(w->result.where, operands, sizeof(operands));
}

/*
 * The begin of the k-th chunk to take, in a scattered order: where errors
 * increase slowly with the input, the natural order would make every input the
 * worst so far. The factor is a prime larger than the number of chunks, so that
 * every chunk is taken once.
 */
static uint64_t begin_of(const sweep *s, uint64_t k)
{
    const uint64_t n_chunks = (s->n + CHUNK - 1) / CHUNK;
    return k * 2654435761 % n_chunks * CHUNK;
}

static void *work(void *argument)
{
    worker *w = argument;
    sweep *s = w->all;
    const double uncertainty = ulp_uncertainty(s->f, s->dtype);
    ulp_numbers_init(&w->numbers);
    while (!w->result.is_doubtful) {
        const uint64_t k = atomic_fetch_add(&s->next, 1);
        if (k * CHUNK >= s->n)
            break;
        const uint64_t first = begin_of(s, k);
        const int64_t n =
            s->n - first < CHUNK ? (int64_t)(s->n - first) : CHUNK;
        fill(w, first, n);
        if (!run_chunk(w, first, n, w->result.worst - uncertainty))
            continue;
        for (int64_t i = 0; i < n && !w->result.is_doubtful; i++)
            if (w->errors[i] > w->result.worst - uncertainty)
                measure_exactly(w, first + (uint64_t)i, i);
    }
    ulp_numbers_deinit(&w->numbers);
    return NULL;
}

/* -- All chunks ------------------------------------------------------------ */

bool ulp_sweep(const ulp_function *f, int dtype, uint64_t stride, uint64_t n,
               int threads, const ulp_many *many, ulp_result *result)
{
    sweep all = {.f = f, .dtype = dtype, .stride = stride};
    const bool has_bits = dtype == TG_F32 && f->arity == 1;
    const bool is_exhaustive = has_bits && stride == 1;
    if (!is_exhaustive)
        all.n_searched = ulp_n_specials(dtype, f->arity) + n;
    all.n = all.n_searched;
    if (has_bits) {
        all.n += ((UINT64_C(1) << 32) + stride - 1) / stride;
        all.many = many;
    }
    all.sample = all.n < MANY_INPUTS ? 1 : SAMPLE;

    worker *workers = calloc((size_t)threads, sizeof(*workers));
    int started = 0;
    for (; workers && started < threads; started++) {
        worker *w = &workers[started];
        w->all = &all;
        w->result.worst = -1;
        if (pthread_create(&w->thread, NULL, work, w))
            break;
    }
    *result = (ulp_result){.worst = -1};
    uint64_t where = 0;
    for (int i = 0; i < started; i++) {
        const worker *w = &workers[i];
        pthread_join(w->thread, NULL);
        if (result->is_doubtful)
            continue;
        if (w->result.is_doubtful ||
            is_worse(w->result.worst, w->where, result->worst, where)) {
            *result = w->result;
            where = w->where;
        }
    }
    result->n = all.n;
    result->is_exhaustive = is_exhaustive;
    free(workers);
    return started > 0;
}
