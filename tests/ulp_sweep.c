/* SPDX-License-Identifier: MIT */
/*
 * ulp_sweep.c - the worst error over many inputs. Threads take chunks of
 * inputs from a counter and run the library's kernel over each; the result
 * does not depend on who took which.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "ulp.h"

#define CHUNK 8192
/* How far the quick error may be off. */
#define UNCERTAIN 1e-5

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

/* -- One chunk ------------------------------------------------------------- */

typedef struct sweep {
    const ulp_function *f;
    int dtype;
    uint64_t n_searched; /* inputs of ulp_inputs.c, before the bits */
    uint64_t stride;
    uint64_t n;
    _Atomic uint64_t next; /* the first input nobody has taken */
} sweep;

typedef struct worker {
    sweep *all;
    pthread_t thread;
    ulp_numbers numbers;
    uint64_t where; /* index of the worst input */
    ulp_result result;
    _Alignas(8) char a[CHUNK * 8], b[CHUNK * 8], out[CHUNK * 8];
} worker;

static double element(int dtype, const char *elements, int64_t i)
{
    if (dtype == TG_F32) {
        float x;
        memcpy(&x, elements + 4 * i, sizeof(x));
        return (double)x;
    }
    double x;
    memcpy(&x, elements + 8 * i, sizeof(x));
    return x;
}

static void set_element(int dtype, char *elements, int64_t i, double x)
{
    const float half = (float)x;
    if (dtype == TG_F32)
        memcpy(elements + 4 * i, &half, sizeof(half));
    else
        memcpy(elements + 8 * i, &x, sizeof(x));
}

static void fill(worker *w, uint64_t first, int64_t n)
{
    const sweep *s = w->all;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t index = first + (uint64_t)i;
        double operands[2];
        if (index >= s->n_searched) {
            const uint32_t bits =
                (uint32_t)((index - s->n_searched) * s->stride);
            memcpy(w->a + 4 * i, &bits, sizeof(bits));
            continue;
        }
        ulp_input(s->dtype, s->f->arity, index, operands);
        set_element(s->dtype, w->a, i, operands[0]);
        if (s->f->arity == 2)
            set_element(s->dtype, w->b, i, operands[1]);
    }
}

/* Of equally bad inputs the first counts, whichever thread met it. */
static bool is_worse(double error, uint64_t index, double worst, uint64_t where)
{
    return error > worst || (error == worst && index < where);
}

static void look_at(worker *w, uint64_t index, int64_t i)
{
    const sweep *s = w->all;
    const double given = element(s->dtype, w->out, i);
    const double operands[2] = {element(s->dtype, w->a, i),
                                s->f->arity == 2 ? element(s->dtype, w->b, i)
                                                 : 0};
    if (s->dtype == TG_F32 &&
        ulp_error_quick(s->f, given, operands) <= w->result.worst - UNCERTAIN)
        return;
    const double error =
        ulp_error_exact(s->f, s->dtype, given, operands, &w->numbers);
    if (!is_worse(error, index, w->result.worst, w->where))
        return;
    w->where = index;
    w->result.worst = error;
    w->result.given = given;
    w->result.where[0] = operands[0];
    w->result.where[1] = operands[1];
}

static void *work(void *argument)
{
    worker *w = argument;
    sweep *s = w->all;
    ulp_numbers_init(&w->numbers);
    for (;;) {
        const uint64_t first = atomic_fetch_add(&s->next, CHUNK);
        if (first >= s->n)
            break;
        const int64_t n =
            s->n - first < CHUNK ? (int64_t)(s->n - first) : CHUNK;
        fill(w, first, n);
        ulp_run_kernel(s->f, s->dtype, n, w->a, w->b, w->out);
        for (int64_t i = 0; i < n; i++)
            look_at(w, first + (uint64_t)i, i);
    }
    ulp_numbers_deinit(&w->numbers);
    return NULL;
}

/* -- All of them ----------------------------------------------------------- */

bool ulp_sweep(const ulp_function *f, int dtype, uint64_t stride, uint64_t n,
               int threads, ulp_result *result)
{
    sweep all = {.f = f, .dtype = dtype, .stride = stride};
    const bool has_bits = dtype == TG_F32 && f->arity == 1;
    const bool is_exhaustive = has_bits && stride == 1;
    if (!is_exhaustive)
        all.n_searched = ulp_n_specials(f->arity) + n;
    all.n = all.n_searched;
    if (has_bits)
        all.n += ((UINT64_C(1) << 32) + stride - 1) / stride;

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
        if (is_worse(w->result.worst, w->where, result->worst, where)) {
            *result = w->result;
            where = w->where;
        }
    }
    result->n = all.n;
    result->is_exhaustive = is_exhaustive;
    free(workers);
    return started > 0;
}
