/* SPDX-License-Identifier: MIT */
/*
 * 11_host_function.c - an ordinary C function over a plain array, called from
 * inside a traced function. It runs once per call, in the order of effects.
 */
#include "../check.h"

/* Length of the longest rising run; knows nothing of the library. */
static int64_t longest_rise(const float *x, int64_t n)
{
    int64_t best = 0, length = 0;
    for (int64_t i = 0; i < n; i++) {
        length = i > 0 && x[i] > x[i - 1] ? length + 1 : 1;
        best = length > best ? length : best;
    }
    return best;
}

/* Passes the buffers of the call to it. */
static tg_status on_host(const tg_host_buffer *in, size_t n_in,
                         const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)n_in, (void)n_out, (void)user;
    int64_t *length = out[0].data;
    *length = longest_rise(in[0].data, in[0].dims[0]);
    return TG_OK; /* or tg_host_fail("...") */
}

static void rise_of_squares(tg_trace *t, const tg_value *in, void *user)
{
    const tg_host_spec scalar = {TG_I64, TG_SCALAR};
    tg_value length;
    tg_host_call(t, on_host, user, TG_ARGS(tg_square(in[0])), &scalar, &length,
                 1);
    tg_return(t, length);
}

int main(void)
{
    float data[] = {-3, -1, 2, 4, 5, 1};
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f =
        tg_function_create(ctx, rise_of_squares, NULL, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, data, TG_F32, TG_DIMS(6));
    long length;
    check(ctx && f && x);

    check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&length)));
    printf("longest rise: %ld elements\n", length);
}
