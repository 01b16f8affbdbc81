/* SPDX-License-Identifier: MIT */
/*
 * fftw_plan.c - a cache of FFTW plans: a list under a lock, which is held while
 * planning. A full cache drops the plan that has not been used for longest,
 * unless a thread runs it.
 */
#include "fftw_plan.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLANS = 64 };

struct tgi_fftw_plan {
    tgi_fftw_key key;
    union {
        fftw_plan f64;
        fftwf_plan f32;
    } plan;
    int n_users;
    uint64_t last_use;
    tgi_fftw_plan *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static tgi_fftw_plan *plans;
static int n_plans;
static uint64_t tick;

/* -- Plans ----------------------------------------------------------------- */

#define PLAN_FLAGS (FFTW_ESTIMATE | FFTW_UNALIGNED | FFTW_PRESERVE_INPUT)

static bool make_f64(tgi_fftw_plan *p, void *in, void *out)
{
    const tgi_fftw_key *k = &p->key;
    switch ((tgi_fftw_kind)k->kind) {
    case TGI_FFTW_FORWARD:
    case TGI_FFTW_INVERSE:
        p->plan.f64 = fftw_plan_dft(
            k->rank, k->n, in, out,
            k->kind == TGI_FFTW_FORWARD ? FFTW_FORWARD : FFTW_BACKWARD,
            PLAN_FLAGS);
        break;
    case TGI_FFTW_TO_COMPLEX:
        p->plan.f64 = fftw_plan_dft_r2c_1d(k->n[0], in, out, PLAN_FLAGS);
        break;
    case TGI_FFTW_TO_REAL:
        p->plan.f64 = fftw_plan_dft_c2r_1d(k->n[0], in, out, PLAN_FLAGS);
        break;
    }
    return p->plan.f64 != NULL;
}

static bool make_f32(tgi_fftw_plan *p, void *in, void *out)
{
    const tgi_fftw_key *k = &p->key;
    switch ((tgi_fftw_kind)k->kind) {
    case TGI_FFTW_FORWARD:
    case TGI_FFTW_INVERSE:
        p->plan.f32 = fftwf_plan_dft(
            k->rank, k->n, in, out,
            k->kind == TGI_FFTW_FORWARD ? FFTW_FORWARD : FFTW_BACKWARD,
            PLAN_FLAGS);
        break;
    case TGI_FFTW_TO_COMPLEX:
        p->plan.f32 = fftwf_plan_dft_r2c_1d(k->n[0], in, out, PLAN_FLAGS);
        break;
    case TGI_FFTW_TO_REAL:
        p->plan.f32 = fftwf_plan_dft_c2r_1d(k->n[0], in, out, PLAN_FLAGS);
        break;
    }
    return p->plan.f32 != NULL;
}

static tgi_fftw_plan *make(const tgi_fftw_key *key)
{
    /* Estimating reads no elements, but compares addresses. */
    static double in[64], out[64];
    tgi_fftw_plan *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->key = *key;
    if (key->is_double ? make_f64(p, in, out) : make_f32(p, in, out))
        return p;
    free(p);
    return NULL;
}

static void destroy(tgi_fftw_plan *p)
{
    if (p->key.is_double)
        fftw_destroy_plan(p->plan.f64);
    else
        fftwf_destroy_plan(p->plan.f32);
    free(p);
}

/* -- The cache ------------------------------------------------------------- */

static void drop_oldest(void)
{
    tgi_fftw_plan **oldest = NULL;
    for (tgi_fftw_plan **p = &plans; *p; p = &(*p)->next)
        if ((*p)->n_users == 0 &&
            (!oldest || (*p)->last_use < (*oldest)->last_use))
            oldest = p;
    if (!oldest)
        return;
    tgi_fftw_plan *dropped = *oldest;
    *oldest = dropped->next;
    destroy(dropped);
    n_plans--;
}

tgi_fftw_plan *tgi_fftw_plan_get(const tgi_fftw_key *key)
{
    pthread_mutex_lock(&lock);
    tgi_fftw_plan *p = plans;
    while (p && memcmp(&p->key, key, sizeof(*key)) != 0)
        p = p->next;
    if (!p && (p = make(key))) {
        if (n_plans >= MAX_PLANS)
            drop_oldest();
        p->next = plans;
        plans = p;
        n_plans++;
    }
    if (p) {
        p->n_users++;
        p->last_use = ++tick;
    }
    pthread_mutex_unlock(&lock);
    return p;
}

void tgi_fftw_plan_put(tgi_fftw_plan *plan)
{
    pthread_mutex_lock(&lock);
    plan->n_users--;
    pthread_mutex_unlock(&lock);
}

static void *writable(const void *memory)
{
    return (void *)(uintptr_t)memory;
}

void tgi_fftw_plan_run(const tgi_fftw_plan *plan, const void *in, void *out)
{
    const bool is_double = plan->key.is_double;
    switch ((tgi_fftw_kind)plan->key.kind) {
    case TGI_FFTW_FORWARD:
    case TGI_FFTW_INVERSE:
        if (is_double)
            fftw_execute_dft(plan->plan.f64, writable(in), out);
        else
            fftwf_execute_dft(plan->plan.f32, writable(in), out);
        break;
    case TGI_FFTW_TO_COMPLEX:
        if (is_double)
            fftw_execute_dft_r2c(plan->plan.f64, writable(in), out);
        else
            fftwf_execute_dft_r2c(plan->plan.f32, writable(in), out);
        break;
    case TGI_FFTW_TO_REAL:
        if (is_double)
            fftw_execute_dft_c2r(plan->plan.f64, writable(in), out);
        else
            fftwf_execute_dft_c2r(plan->plan.f32, writable(in), out);
        break;
    }
}

/* -- Processes ------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void load(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

__attribute__((destructor)) static void unload(void)
{
    for (tgi_fftw_plan *p = plans; p;) {
        tgi_fftw_plan *next = p->next;
        destroy(p);
        p = next;
    }
}
