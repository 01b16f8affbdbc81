/* SPDX-License-Identifier: MIT */
/*
 * fftw_host.c - runs plans on the elements of a host call.
 */
#include "fftw_host.h"

#include <limits.h>
#include <math.h>

/* The shape of the real side is that of the transform. */
static const tg_host_buffer *shaped(const tgi_fftw_call *call,
                                    const tg_host_buffer *in,
                                    const tg_host_buffer *out)
{
    return call->kind == TGI_FFTW_TO_REAL ? out : in;
}

static tg_status fill_key(const tgi_fftw_call *call, const tg_host_buffer *b,
                          tgi_fftw_key *key)
{
    const bool is_complex =
        call->kind == TGI_FFTW_FORWARD || call->kind == TGI_FFTW_INVERSE;
    const int first = b->rank - is_complex - call->n_axes;
    *key = (tgi_fftw_key){.kind = (int)call->kind,
                          .is_double = b->dtype == TG_F64,
                          .rank = call->n_axes};
    for (int i = 0; i < call->n_axes; i++) {
        const int64_t n = b->dims[first + i];
        if (n < 1 || n > INT_MAX)
            return tg_host_fail("an axis of %lld elements cannot be "
                                "transformed",
                                (long long)n);
        key->n[i] = (int)n;
    }
    return TG_OK;
}

/* The number of elements of the last n axes, or of those before them. */
static size_t count(const tg_host_buffer *b, int n, bool is_last)
{
    size_t product = 1;
    for (int i = 0; i < b->rank; i++)
        if ((i >= b->rank - n) == is_last)
            product *= (size_t)b->dims[i];
    return product;
}

static void scale(void *data, size_t n, bool is_double, double factor)
{
    for (size_t i = 0; i < n; i++)
        if (is_double)
            ((double *)data)[i] *= factor;
        else
            ((float *)data)[i] *= (float)factor;
}

tg_status tgi_fftw_transform(const tg_host_buffer *in, size_t n_in,
                             const tg_host_buffer *out, size_t n_out,
                             void *user)
{
    (void)n_in, (void)n_out;
    const tgi_fftw_call call = tgi_fftw_call_of(user);
    const int in_axes = call.n_axes + (call.kind != TGI_FFTW_TO_COMPLEX);
    const int out_axes = call.n_axes + (call.kind != TGI_FFTW_TO_REAL);
    const size_t n_transforms = count(in, in_axes, false);
    if (n_transforms == 0)
        return TG_OK;
    tgi_fftw_key key;
    const tg_status status = fill_key(&call, shaped(&call, in, out), &key);
    if (status)
        return status;
    tgi_fftw_plan *plan = tgi_fftw_plan_get(&key);
    if (!plan)
        return TG_ERROR_OUT_OF_MEMORY;
    const size_t element = key.is_double ? sizeof(double) : sizeof(float);
    const size_t in_step = count(in, in_axes, true) * element;
    const size_t out_step = count(out, out_axes, true) * element;
    for (size_t i = 0; i < n_transforms; i++)
        tgi_fftw_plan_run(plan, (const char *)in->data + i * in_step,
                          (char *)out->data + i * out_step);
    tgi_fftw_plan_put(plan);
    double n = 1;
    for (int i = 0; i < key.rank; i++)
        n *= key.n[i];
    if (call.divisor)
        scale(out->data, n_transforms * (out_step / element), key.is_double,
              1 / (call.divisor == 1 ? sqrt(n) : n));
    return TG_OK;
}
