/* SPDX-License-Identifier: MIT */
/*
 * test_cumulative.c - tg_cumsum, tg_cumprod and tg_linear_scan: their values,
 * gradients, and errors, interpreted and compiled, with known and unknown
 * extents.
 */
#include <math.h>

#include "support/modes.h"

enum { MAX_ELEMENTS = 1 << 13 };

typedef struct form {
    int rank, axis;
    int64_t dims[3];
    unsigned flags;
    bool is_product, is_open;
    tg_dtype dtype;
} form;

static void callback(tg_trace *t, const tg_value *in, void *user)
{
    const form *f = user;
    tg_value x = tg_add(in[0], 0);
    tg_value y = f->is_product ? tg_cumprod_with(x, f->axis, f->flags)
                               : tg_cumsum_with(x, f->axis, f->flags);
    if (f->dtype != TG_F32) {
        tg_return(t, y);
        return;
    }
    tg_value g = tg_gradient(tg_sum(tg_mul(y, tg_sin(y)), TG_ALL_AXES), in[0]);
    tg_return(t, y, g);
}

static tg_tensor *make_operand(session *s, const form *f)
{
    tg_tensor *x =
        tg_tensor_create(s->ctx, f->dtype, f->rank, f->dims, tg_zeros());
    cr_assert_not_null(x);
    const size_t n = tg_tensor_bytes(x) / (size_t)tg_dtype_bytes(f->dtype);
    for (size_t i = 0; i < n; i++)
        if (f->dtype == TG_F32)
            ((float *)tg_tensor_data(x))[i] =
                (f->is_product ? 0.9f : 0.0f) + 0.01f * (float)(i * 37 % 101) -
                0.5f * (float)!f->is_product;
        else
            ((int16_t *)tg_tensor_data(x))[i] = (int16_t)(i * 379);
    return x;
}

/* The elements of a line, in the order in which they are combined. */
static void check_line(const form *f, const void *x, const void *y,
                       int64_t first, int64_t stride)
{
    const int64_t n = f->dims[f->axis];
    float sum = f->is_product ? 1 : 0;
    int16_t count = f->is_product;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = f->flags & TG_CUMULATIVE_REVERSE ? n - 1 - k : k;
        const int64_t at = first + i * stride;
        const bool is_exclusive = f->flags & TG_CUMULATIVE_EXCLUSIVE;
        const float before = sum;
        const int16_t count_before = count;
        if (f->dtype == TG_F32) {
            const float element = ((const float *)x)[at];
            sum = f->is_product ? sum * element : sum + element;
            cr_assert_eq(((const float *)y)[at], is_exclusive ? before : sum);
        } else {
            const int16_t element = ((const int16_t *)x)[at];
            count = (int16_t)(f->is_product ? count * element
                                            : count + element);
            cr_assert_eq(((const int16_t *)y)[at],
                         is_exclusive ? count_before : count);
        }
    }
}

static void check_values(const form *f, const void *x, const void *y)
{
    int64_t before = 1, after = 1;
    for (int i = 0; i < f->axis; i++)
        before *= f->dims[i];
    for (int i = f->axis + 1; i < f->rank; i++)
        after *= f->dims[i];
    for (int64_t i = 0; i < before; i++)
        for (int64_t j = 0; j < after; j++)
            check_line(f, x, y, i * f->dims[f->axis] * after + j, after);
}

static form current;

static void run_form(session *s, outcome *out)
{
    int64_t open[3];
    for (int i = 0; i < current.rank; i++)
        open[i] = current.is_open ? TG_UNKNOWN : current.dims[i];
    const tg_spec spec = tg_spec_tensor(current.dtype, current.rank, open);
    TG_AUTO(tg_function) f = tg_function_create(s->ctx, callback, &current,
                                                TG_SIGNATURE(spec));
    TG_AUTO(tg_tensor) x = make_operand(s, &current);
    TG_AUTO(tg_tensor) y = NULL;
    TG_AUTO(tg_tensor) g = NULL;
    if (current.dtype == TG_F32)
        check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y, &g)));
    else
        check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    check_values(&current, tg_tensor_data(x), tg_tensor_data(y));
    note_tensor(out, y);
    if (g)
        note_tensor(out, g);
}

static void check_shape(int rank, const int64_t *dims)
{
    for (int axis = 0; axis < rank; axis++)
        for (unsigned choice = 0; choice < 32; choice++) {
            current = (form){.rank = rank,
                             .axis = axis,
                             .flags = choice & 3,
                             .is_product = choice >> 2 & 1,
                             .is_open = choice >> 3 & 1,
                             .dtype = choice >> 4 ? TG_I16 : TG_F32};
            memcpy(current.dims, dims, sizeof(current.dims));
            check_modes(run_form);
        }
}

Test(cumulative, one_axis)
{
    check_shape(1, (const int64_t[3]){37});
}

Test(cumulative, several_axes)
{
    check_shape(3, (const int64_t[3]){3, 19, 5});
}

Test(cumulative, of_one_element_or_none)
{
    check_shape(2, (const int64_t[3]){1, 7});
    check_shape(2, (const int64_t[3]){0, 3});
}

Test(cumulative, of_many_columns)
{
    check_shape(2, (const int64_t[3]){11, 300});
}

/* -- Linear recurrences ---------------------------------------------------- */

static void recurrence(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value h = tg_linear_scan(in[0], in[1], 0, false);
    tg_value g[2];
    tg_gradients(tg_sum(tg_mul(h, h), TG_ALL_AXES), in, 2, g);
    tg_return(t, h, g[0], g[1]);
}

static void run_recurrence(session *s, outcome *out)
{
    const float a[] = {7, 0.5f, -1, 0, 2}, b[] = {1, 2, 3, 4, 5};
    TG_AUTO(tg_function) f =
        tg_function_create(s->ctx, recurrence, NULL, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_copy(s->ctx, a, TG_F32, TG_DIMS(5));
    TG_AUTO(tg_tensor) y = tg_tensor_copy(s->ctx, b, TG_F32, TG_DIMS(5));
    TG_AUTO(tg_tensor) h = NULL;
    TG_AUTO(tg_tensor) of_a = NULL;
    TG_AUTO(tg_tensor) of_b = NULL;
    check_works(tg_call(f, TG_ARGS(x, y), TG_RESULTS(&h, &of_a, &of_b)));
    /* h = 1, 2.5, 0.5, 4, 13; r[i] = 2 h[i] + a[i+1] r[i+1] */
    const float wanted[] = {1, 2.5f, 0.5f, 4, 13};
    const float r[] = {2 + 0.5f * 4, 5 - 1 * 1.0f, 1, 8 + 2 * 26, 26};
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(((float *)tg_tensor_data(h))[i], wanted[i]);
        cr_assert_eq(((float *)tg_tensor_data(of_b))[i], r[i]);
        cr_assert_eq(((float *)tg_tensor_data(of_a))[i],
                     i ? r[i] * wanted[i - 1] : 0);
    }
    note_tensor(out, of_a);
}

Test(cumulative, recurrences_and_their_gradients)
{
    check_all_modes(run_recurrence);
}

/* -- Zeros ----------------------------------------------------------------- */

static void signs(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_cumsum(in[0], 0), tg_cumprod(in[0], 0));
}

static void run_signs(session *s, outcome *out)
{
    const float x[] = {-0.0f, -0.0f, 0.0f, -1};
    TG_AUTO(tg_function) f = tg_function_create(s->ctx, signs, NULL, NULL);
    TG_AUTO(tg_tensor) in = tg_tensor_copy(s->ctx, x, TG_F32, TG_DIMS(4));
    TG_AUTO(tg_tensor) sum = NULL;
    TG_AUTO(tg_tensor) product = NULL;
    check_works(tg_call(f, TG_ARGS(in), TG_RESULTS(&sum, &product)));
    const float *sums = tg_tensor_data(sum), *products = tg_tensor_data(product);
    cr_assert(signbit(sums[0]) && signbit(sums[1]) && !signbit(sums[2]));
    cr_assert(signbit(products[0]) && !signbit(products[1]) &&
              !signbit(products[2]) && signbit(products[3]));
    note_tensor(out, sum);
    note_tensor(out, product);
}

Test(cumulative, zeros_keep_their_sign)
{
    check_all_modes(run_signs);
}

/* -- Errors ---------------------------------------------------------------- */

static void bad_axis(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_cumsum(in[0], 2));
}

static void bad_shapes(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_linear_scan(in[0], tg_slice(in[0], 0, 0, 2, 1), 0, false));
}

static void bad_dtype(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_cumprod(tg_lt(in[0], 1), 0));
}

Test(cumulative, errors_name_operation_and_types)
{
    session s;
    session_begin(&s);
    TG_AUTO(tg_tensor) x = f32_range(s.ctx, 5);
    static const struct {
        tg_callback *callback;
        tg_status status;
        const char *text;
    } cases[] = {
        {bad_axis, TG_ERROR_SHAPE, "cumsum: f32[5]"},
        {bad_shapes, TG_ERROR_SHAPE, "linear_scan: f32[5] x f32[2]"},
        {bad_dtype, TG_ERROR_DTYPE, "cumprod: bool[5]"},
    };
    for (size_t i = 0; i < 3; i++) {
        TG_AUTO(tg_function) f =
            tg_function_create(s.ctx, cases[i].callback, NULL, NULL);
        TG_AUTO(tg_tensor) y = NULL;
        check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)), cases[i].status,
                    cases[i].text, "test_cumulative.c:");
    }
    tg_tensor_release(x);
    x = NULL;
    session_end(&s);
}
