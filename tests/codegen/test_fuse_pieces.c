/* SPDX-License-Identifier: MIT */
/*
 * test_fuse_pieces.c - a step of the heat equation written in several ways: as
 * a pad, rolls, a padded operand, repeated edges, concats and updates. Each
 * stores its result once, without temporaries, and gives the bits of the
 * interpreter.
 */
#include "support/fusing.h"
#include "support/modes.h"

enum { N = 40 };

/* -- Steps ----------------------------------------------------------------- */

/* Rows a … b - 1 and columns c … d - 1. */
static tg_value block(tg_value u, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return tg_slice(tg_slice(u, 0, a, b, 1), 1, c, d, 1);
}

static tg_value change(tg_value up, tg_value down, tg_value left,
                       tg_value right, tg_value here)
{
    const tg_value sum = tg_add(tg_add(up, down), tg_add(left, right));
    return tg_mul(tg_sub(sum, tg_mul(here, 4)), 0.1);
}

/* The change of all elements but the border. */
static tg_value inner_change(tg_value u)
{
    return change(block(u, 0, N - 2, 1, N - 1), block(u, 2, N, 1, N - 1),
                  block(u, 1, N - 1, 0, N - 2), block(u, 1, N - 1, 2, N),
                  block(u, 1, N - 1, 1, N - 1));
}

static tg_value bordered(tg_value x)
{
    return tg_pad_axes(x, TG_DIMS(1, 1), TG_DIMS(1, 1), 0);
}

#define CALLBACK(name, expression) \
    static void name(tg_trace *t, const tg_value *in, void *user) \
    { \
        (void)user; \
        const tg_value u = in[0]; \
        tg_return(t, expression); \
    }

CALLBACK(by_pad, tg_add(u, bordered(inner_change(u))))
CALLBACK(by_rolls, tg_add(u, change(tg_roll(u, 0, 1), tg_roll(u, 0, -1),
                                    tg_roll(u, 1, 1), tg_roll(u, 1, -1), u)))

static tg_value of_bordered(tg_value u, tg_value b)
{
    return tg_add(
        u, change(block(b, 0, N, 1, N + 1), block(b, 2, N + 2, 1, N + 1),
                  block(b, 1, N + 1, 0, N), block(b, 1, N + 1, 2, N + 2), u));
}

CALLBACK(by_slices, of_bordered(u, bordered(u)))

static tg_value edged(tg_value x, int64_t low, int64_t high)
{
    return tg_pad_from_axes(x, TG_DIMS(low, low), TG_DIMS(high, high),
                            TG_PAD_EDGE);
}

CALLBACK(by_edges, of_bordered(u, edged(u, 1, 1)))
/* Edges of several elements, none at one end, and of one element. */
CALLBACK(by_wide_edges,
         tg_add(block(edged(tg_mul(u, 2), 3, 2), 5, N + 5, 0, N),
                block(edged(tg_sqrt(u), 0, 7), 7, N + 7, 7, N + 7)))
CALLBACK(by_one_element, edged(block(u, 7, 8, 9, 10), 3, 4))

static tg_value inner(tg_value u)
{
    return tg_add(block(u, 1, N - 1, 1, N - 1), inner_change(u));
}

CALLBACK(by_concats, tg_concat(0, block(u, 0, 1, 0, N),
                               tg_concat(1, block(u, 1, N - 1, 0, 1), inner(u),
                                         block(u, 1, N - 1, N - 1, N)),
                               block(u, N - 1, N, 0, N)))
CALLBACK(by_updates, tg_dynamic_update_slice_axes(u, inner(u), TG_ARGS(1, 1)))

/* The others are not steps: their borders are wider. */
static tg_callback *const steps[] = {
    by_pad,   by_rolls,   by_slices,     by_concats,
    by_edges, by_updates, by_wide_edges, by_one_element};
enum { N_STEPS = 6, N_CALLED = sizeof(steps) / sizeof(*steps) };

/* -- Tests ----------------------------------------------------------------- */

static int64_t temporary_elements(const fused *fu)
{
    int64_t n = 0;
    for (size_t i = 0; i < fu->loops->buffers.n; i++) {
        const tgi_loop_buffer *b = &fu->loops->buffers.data[i];
        n += b->is_used && b->place == TGI_PLACE_TEMP ? b->count : 0;
    }
    return n;
}

Test(fuse_pieces, results_are_stored_once)
{
    for (int i = 0; i < N_STEPS; i++) {
        fused fu;
        fuse(&fu, steps[i], NO_SYMBOLS, F32(N, N));
        cr_assert_eq(temporary_elements(&fu), 0, "step %d", i);
        cr_assert_leq(n_kernels(&fu), 4, "step %d: %d kernels", i,
                      n_kernels(&fu));
        fuse_end(&fu);
    }
    check_nothing_is_alive();
}

static int step; /* the one that the scenario calls */

static void call_step(session *s, outcome *out)
{
    tg_function *f = tg_function_create(s->ctx, steps[step], NULL, NULL);
    tg_tensor *flat = f32_range(s->ctx, N * N);
    tg_tensor *u =
        tg_tensor_wrap(s->ctx, tg_tensor_data(flat), TG_F32, TG_DIMS(N, N));
    tg_tensor *y = call_one(f, TG_ARGS(u));
    note_tensor(out, y);
    tg_tensor_release(y);
    tg_tensor_release(u);
    tg_tensor_release(flat);
    tg_function_release(f);
}

Test(fuse_pieces, have_the_bits_of_the_interpreter)
{
    for (step = 0; step < N_CALLED; step++)
        check_modes(call_step);
}

static void widen(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_pad_from(in[0], 0, 2, 3, TG_PAD_EDGE));
}

/* The interpreter runs the pieces, too, so both could be wrong. */
Test(fuse_pieces, repeated_edges_are_the_first_and_the_last_element)
{
    static const float in[] = {1, 2, 3, 4},
                       expected[] = {1, 1, 1, 2, 3, 4, 4, 4, 4};
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, widen, NULL, NULL);
    tg_tensor *x = tg_tensor_copy(s.ctx, in, TG_F32, TG_DIMS(4));
    tg_tensor *y = call_one(f, TG_ARGS(x));
    cr_assert_arr_eq(tg_tensor_data(y), expected, sizeof(expected));
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
    check_nothing_is_alive();
}
