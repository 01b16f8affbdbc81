/* SPDX-License-Identifier: MIT */
/*
 * fftw_plan.h - a cache of FFTW plans. FFTW plans in one thread at a time, and
 * runs a plan in any number of threads.
 *
 * A plan depends on its key alone: it is estimated, not measured, and made for
 * one transform at any address, so that a transform has the same bits in every
 * run, alone and in a batch.
 */
#ifndef TGI_FFTW_PLAN_H
#define TGI_FFTW_PLAN_H

#include <stdbool.h>

#include "tgjit/base.h"

typedef enum tgi_fftw_kind {
    TGI_FFTW_FORWARD,
    TGI_FFTW_INVERSE,
    TGI_FFTW_TO_COMPLEX,
    TGI_FFTW_TO_REAL
} tgi_fftw_kind;

/* Compared as bytes. */
typedef struct tgi_fftw_key {
    int kind;
    int is_double;
    int rank;
    int n[TG_MAX_RANK];
} tgi_fftw_key;

typedef struct tgi_fftw_plan tgi_fftw_plan;

/* NULL when out of memory. tgi_fftw_plan_put is due. */
tgi_fftw_plan *tgi_fftw_plan_get(const tgi_fftw_key *key);
void tgi_fftw_plan_put(tgi_fftw_plan *plan);

/* Transforms out of place; `in` is preserved. */
void tgi_fftw_plan_run(const tgi_fftw_plan *plan, const void *in, void *out);

#endif /* TGI_FFTW_PLAN_H */
