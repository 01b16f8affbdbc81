/* SPDX-License-Identifier: MIT */
/*
 * test_fuse_windows.c - index maps through sliding windows: users of windows
 * that select elements at positions known only at run time, or that take
 * windows of windows. Maps that fit are composed; others take the windows from
 * memory. In all modes, with known and unknown extents.
 */
#include "support/fusing.h"
#include "support/modes.h"

/* -- Callbacks ------------------------------------------------------------- */

/* in[0]: [n, m]; in[1]: starts or indices, i32 [2] */

/* Windows of 3 elements, every second one dilated: [n', m, 3]. */
static tg_value rows_of_windows(tg_value x)
{
    return tg_windows(x, 1, (const int[]){0}, (const int64_t[]){3},
                      (const int64_t[]){2}, (const int64_t[]){2});
}

static tg_value start(const tg_value *in, int i)
{
    return tg_reshape(tg_slice(in[1], 0, i, i + 1, 1), TG_SCALAR);
}

#define CALLBACK(name, expression) \
    static void name(tg_trace *t, const tg_value *in, void *user) \
    { \
        (void)user; \
        const tg_value w = rows_of_windows(in[0]); \
        tg_return(t, expression); \
    } \
    static void name##_cast(tg_trace *t, const tg_value *in, void *user) \
    { \
        (void)user; \
        const tg_value w = tg_cast(rows_of_windows(in[0]), TG_F64); \
        tg_return(t, expression); \
    }

CALLBACK(of_windows, tg_dynamic_slice(w, 0, start(in, 0), 2))
CALLBACK(of_elements, tg_dynamic_slice(w, 2, start(in, 0), 2))
CALLBACK(of_both, tg_dynamic_slice(tg_dynamic_slice(w, 2, start(in, 0), 2), 0,
                                   start(in, 1), 2))
CALLBACK(twice, tg_dynamic_slice(tg_dynamic_slice(w, 0, start(in, 0), 3), 0,
                                 start(in, 1), 2))
CALLBACK(gathered_windows, tg_gather(w, in[1], 0))
CALLBACK(gathered_elements, tg_gather(w, in[1], 2))
CALLBACK(windows_of_windows, rows_of_windows(w))
CALLBACK(windows_of_elements,
         tg_windows(w, 1, (const int[]){2}, (const int64_t[]){2}, NULL, NULL))
CALLBACK(sums, tg_sum(tg_dynamic_slice(w, 2, start(in, 1), 2), TG_AXES(-1)))
CALLBACK(updated, tg_dynamic_update_slice(
                      w, tg_mul(tg_dynamic_slice(w, 2, start(in, 0), 2), 3), 2,
                      start(in, 1)))

#define BOTH(name) \
    {#name, name}, \
    { \
        #name "_cast", name##_cast \
    }

static const struct {
    const char *name;
    tg_callback *callback;
} uses[] = {
    BOTH(of_windows),
    BOTH(of_elements),
    BOTH(of_both),
    BOTH(twice),
    BOTH(gathered_windows),
    BOTH(gathered_elements),
    BOTH(windows_of_windows),
    BOTH(windows_of_elements),
    BOTH(sums),
    BOTH(updated),
};
enum { N_USES = sizeof(uses) / sizeof(*uses) };

/* -- Values ---------------------------------------------------------------- */

static void call_use(session *s, outcome *out, tg_callback *callback,
                     const tg_function_options *options)
{
    tg_function *f = tg_function_create(s->ctx, callback, NULL, options);
    tg_tensor *flat = f32_range(s->ctx, 13 * 17);
    tg_tensor *x =
        tg_tensor_wrap(s->ctx, tg_tensor_data(flat), TG_F32, TG_DIMS(13, 17));
    int32_t starts[] = {1, 0};
    tg_tensor *at = tg_tensor_wrap(s->ctx, starts, TG_I32, TG_DIMS(2));
    tg_tensor *y = call_one(f, TG_ARGS(x, at));
    note_tensor(out, y);
    tg_tensor_release(y);
    tg_tensor_release(at);
    tg_tensor_release(x);
    tg_tensor_release(flat);
    tg_function_release(f);
}

static int use; /* the one that the scenarios call */

static void with_known_extents(session *s, outcome *out)
{
    call_use(s, out, uses[use].callback, NULL);
}

static void with_unknown_extents(session *s, outcome *out)
{
    call_use(s, out, uses[use].callback,
             TG_SIGNATURE(TG_SPEC(TG_F32, TG_UNKNOWN, TG_UNKNOWN),
                          TG_SPEC(TG_I32, 2)));
}

Test(fuse_windows, selected_at_run_time_have_the_bits_of_the_interpreter)
{
    for (use = 0; use < N_USES; use++)
        check_modes(with_known_extents);
}

Test(fuse_windows, of_unknown_extents_have_the_bits_of_the_interpreter)
{
    for (use = 0; use < N_USES; use++)
        check_modes(with_unknown_extents);
}

/* -- Memory ---------------------------------------------------------------- */

#define CHECK_KERNELS(n, callback) \
    do { \
        fused fu; \
        fuse(&fu, callback, NO_SYMBOLS, F32(13, 17), I32(2)); \
        cr_assert_eq(n_kernels(&fu), n, #callback ": %d kernels", \
                     n_kernels(&fu)); \
        fuse_end(&fu); \
        check_nothing_is_alive(); \
    } while (0)

Test(fuse_windows, one_shift_is_composed_with_windows)
{
    CHECK_KERNELS(1, of_windows);
    CHECK_KERNELS(1, of_elements_cast);
    CHECK_KERNELS(1, twice);
}

Test(fuse_windows, two_shifts_and_gathers_take_windows_from_memory)
{
    CHECK_KERNELS(2, of_both);
    CHECK_KERNELS(2, windows_of_elements);
    /* One kernel checks the indices. */
    CHECK_KERNELS(3, gathered_elements_cast);
}
