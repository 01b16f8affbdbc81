/* SPDX-License-Identifier: MIT */
/*
 * test_host_call.c - promises 14 and 25: host functions are called in program
 * order with the actual elements, also in branches and loops; their results are
 * used, and their failures fail the call.
 */
#include <stdarg.h>
#include <unistd.h>

#include "support/control.h"

/* -- Functions to call ----------------------------------------------------- */

/* Records host calls among the printed lines, which shows the common order. */
static session *watching;

static void say(const char *format, ...) TG_PRINTF(1, 2);
static void say(const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    keep_print(text, watching);
}

static int64_t count_of(const tg_host_buffer *b)
{
    int64_t n = 1;
    for (int axis = 0; axis < b->rank; axis++)
        n *= b->dims[axis];
    return n;
}

/* Prints the f32 elements of all inputs; `user` is a name. */
static tg_status show(const tg_host_buffer *in, size_t n_in,
                      const tg_host_buffer *out, size_t n_out, void *user)
{
    char text[200];
    size_t at = 0;
    (void)out;
    cr_assert_eq(n_out, 0);
    for (size_t i = 0; i < n_in; i++) {
        const float *x = in[i].data;
        cr_assert_not_null(x);
        cr_assert_eq(in[i].dtype, TG_F32);
        for (int64_t k = 0; k < count_of(&in[i]); k++)
            at += (size_t)snprintf(text + at, sizeof text - at, " %g",
                                   (double)x[k]);
    }
    text[at] = '\0';
    say("%s%s", (const char *)user, text);
    return TG_OK;
}

/* Twice the input, and its sum as f64. */
static tg_status twice_and_sum(const tg_host_buffer *in, size_t n_in,
                               const tg_host_buffer *out, size_t n_out,
                               void *user)
{
    (void)user;
    cr_assert_eq(n_in, 1);
    cr_assert_eq(n_out, 2);
    cr_assert_eq(out[0].dtype, TG_F32);
    cr_assert_eq(out[0].rank, in[0].rank);
    cr_assert_eq(count_of(&out[0]), count_of(&in[0]));
    cr_assert_eq(out[1].dtype, TG_F64);
    cr_assert_eq(out[1].rank, 0);
    const float *x = in[0].data;
    float *y = out[0].data;
    double sum = 0;
    for (int64_t i = 0; i < count_of(&in[0]); i++) {
        sum += (double)x[i];
        y[i] = 2 * x[i];
    }
    memcpy(out[1].data, &sum, sizeof sum);
    say("called with %lld", (long long)count_of(&in[0]));
    return TG_OK;
}

/* tg_host_call of the above. */
static void call_twice(tg_trace *t, tg_value x, tg_value *out)
{
    int64_t dims[TG_MAX_RANK];
    const int rank = tg_value_rank(x);
    for (int axis = 0; axis < rank; axis++)
        dims[axis] = tg_value_dim(x, axis);
    const tg_host_spec specs[] = {{TG_F32, rank, dims}, {TG_F64, 0, NULL}};
    tg_host_call(t, twice_and_sum, NULL, TG_ARGS(x), specs, out, 2);
}

/* -- Order, values, unused results ----------------------------------------- */

CALLBACK(ordered)
{
    tg_variable *v = user;
    tg_host_call(t, show, "first", TG_ARGS(in[0], v), NULL, NULL, 0);
    tg_print(t, "print %v", v);
    tg_assign_add(v, 1.0);
    tg_host_call(t, show, "second", TG_ARGS(v), NULL, NULL, 0);
    tg_value old = tg_read(v);
    tg_assign(v, tg_mul(v, 10.0));
    tg_print(t, "print %v", v);
    tg_host_call(t, show, "third", TG_ARGS(old, v, tg_neg(in[0])), NULL, NULL,
                 0);
    tg_host_call(t, show, "none", TG_ARGS(), NULL, NULL, 0);
    tg_assign_add(v, 0.5);
}

static void check_order(session *s)
{
    watching = s;
    tg_variable *v = f32_scalar_variable(s->ctx, "v", 1);
    tg_function *f = tg_function_create(s->ctx, ordered, v, NULL);
    tg_tensor *x = f32_vector(s->ctx, 5, 6);
    call_only(f, TG_ARGS(x));
    check_printed(s, "first 5 6 1\nprint 1\nsecond 2\nprint 20\n"
                     "third 2 20 -5 -6\nnone\n");
    check_variable(v, 20.5f);
    call_only(f, TG_ARGS(x));
    check_printed(s, "first 5 6 20.5\nprint 20.5\nsecond 21.5\nprint 215\n"
                     "third 21.5 215 -5 -6\nnone\n");
    tg_tensor_release(x);
    tg_function_release(f);
    tg_variable_release(v);
}

Test(host_call, is_ordered_with_prints_and_assignments)
{
    check_control(check_order);
}

CALLBACK(use_outputs)
{
    tg_value y[2], z[2];
    call_twice(t, tg_add(in[0], 1.0), y);
    call_twice(t, tg_transpose(y[0], TG_PERM(1, 0)), z);
    tg_return(t, tg_add(z[0], 0.25), tg_add(tg_cast(y[1], TG_F32), 0.5), y[0],
              z[1]);
}

static void check_outputs(session *s)
{
    watching = s;
    tg_function *f = tg_function_create(s->ctx, use_outputs, NULL, NULL);
    const float data[] = {1, 2, 3, 4, 5, 6};
    tg_tensor *x = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(2, 3));
    tg_tensor *y[4] = {0};
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y[0], &y[1], &y[2], &y[3])));
    check_f32(y[0], 8.25f, 20.25f, 12.25f, 24.25f, 16.25f, 28.25f);
    check_f32(y[1], 27.5f);
    check_f32(y[2], 4, 6, 8, 10, 12, 14);
    cr_assert_eq(*(const double *)tg_tensor_data(y[3]), 54.0);
    tg_tensor_release(y[3]);
    check_printed(s, "called with 6\ncalled with 6\n");
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(host_call, outputs_are_values_like_others)
{
    check_control(check_outputs);
}

CALLBACK(use_nothing)
{
    tg_value y[2];
    call_twice(t, in[0], y);
    call_twice(t, in[0], y);
    tg_return(t, y[1]);
}

static void check_unused(session *s)
{
    watching = s;
    tg_function *f = tg_function_create(s->ctx, use_nothing, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2, 3, 4);
    call_only(f, TG_ARGS(x));
    check_printed(s, "called with 4\ncalled with 4\n");
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(host_call, is_called_even_if_its_results_are_unused)
{
    check_control(check_unused);
}

/* Enough work for several threads, before and after. */
CALLBACK(wide)
{
    tg_value y[2];
    call_twice(t, tg_mul(in[0], 3.0), y);
    tg_return(t, tg_sum(tg_add(y[0], in[0]), TG_ALL_AXES), tg_sub(y[0], in[0]));
}

static void check_wide(session *s)
{
    enum { N = 10000 };
    watching = s;
    tg_function *f = tg_function_create(s->ctx, wide, NULL, NULL);
    tg_tensor *x = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(N), tg_zeros());
    float *data = tg_tensor_data(x);
    for (int i = 0; i < N; i++)
        data[i] = (float)(i % 8);
    tg_tensor *sum = NULL, *y = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&sum, &y)));
    check_f32(sum, 7.0f * 3.5f * N);
    for (int i = 0; i < N; i++)
        cr_assert_eq(((float *)tg_tensor_data(y))[i], 5.0f * (float)(i % 8));
    check_printed(s, "called with 10000\n");
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
}

Test(host_call, is_synchronised_with_all_threads)
{
    check_control(check_wide);
}

/* -- Extents --------------------------------------------------------------- */

static void check_sizes(session *s)
{
    watching = s;
    const tg_function_options options = {
        .struct_bytes = sizeof options,
        .signature =
            (const tg_spec[]){
                tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN, TG_UNKNOWN))},
        .n_signature = 1};
    tg_function *f = tg_function_create(s->ctx, use_outputs, NULL, &options);
    cr_assert_not_null(f, "%s", tg_error(NULL));
    for (int64_t n = 0; n < 3; n++) {
        const float data[] = {1, 2, 3, 4};
        tg_tensor *x = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(n, 2));
        tg_tensor *y = call_one(f, TG_ARGS(x));
        cr_assert_eq(tg_tensor_dims(y)[0], 2);
        cr_assert_eq(tg_tensor_dims(y)[1], n);
        if (n == 2)
            check_f32(y, 8.25f, 16.25f, 12.25f, 20.25f);
        else
            tg_tensor_release(y);
        tg_tensor_release(x);
    }
    check_printed(s, "called with 0\ncalled with 0\ncalled with 2\n"
                     "called with 2\ncalled with 4\ncalled with 4\n");
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_function_release(f);
}

Test(host_call, works_for_unknown_extents_and_no_elements)
{
    check_control(check_sizes);
}

/* A function applied by another has its own extents: its first unknown
   extent is the third here. */
CALLBACK(call_inner)
{
    tg_value y[3];
    tg_value nothing = tg_mul(tg_sum(in[0], TG_ALL_AXES), 0.0);
    tg_apply(user, TG_ARGS(tg_add(in[1], nothing)), y, 3);
    tg_return(t, y[0], y[2]);
}

static void check_nested(session *s)
{
    watching = s;
    tg_function *g = tg_function_create(s->ctx, use_outputs, NULL, NULL);
    const tg_function_options options = {
        .struct_bytes = sizeof options,
        .signature =
            (const tg_spec[]){
                tg_spec_tensor(TG_F32, TG_DIMS(TG_UNKNOWN, TG_UNKNOWN)),
                tg_spec_tensor(TG_F32, TG_DIMS(3, TG_UNKNOWN))},
        .n_signature = 2};
    tg_tensor *w = tg_tensor_create(s->ctx, TG_F32, TG_DIMS(5, 4), tg_zeros());
    memset(tg_tensor_data(w), 0, tg_tensor_bytes(w));
    tg_function *f = tg_function_create(s->ctx, call_inner, g, &options);
    for (int64_t n = 2; n >= 0; n--) {
        const float data[] = {1, 2, 3, 4, 5, 6};
        tg_tensor *x = tg_tensor_copy(s->ctx, data, TG_F32, TG_DIMS(3, n));
        tg_tensor *y = call_one(f, TG_ARGS(w, x));
        if (n == 1)
            check_f32(y, 8.25f, 12.25f, 16.25f);
        else
            tg_tensor_release(y);
        tg_tensor_release(x);
    }
    check_printed(s, "called with 6\ncalled with 6\ncalled with 3\n"
                     "called with 3\ncalled with 0\ncalled with 0\n");
    tg_tensor_release(w);
    tg_function_release(f);
    tg_function_release(g);
}

Test(host_call, is_part_of_a_function_called_by_another)
{
    check_control(check_nested);
}

/* -- Branches and loops ---------------------------------------------------- */

CALLBACK(show_then)
{
    tg_value y[2];
    tg_host_call(t, show, "then", TG_ARGS(in[0]), NULL, NULL, 0);
    call_twice(t, in[0], y);
    tg_return(t, y[0]);
}

CALLBACK(show_else)
{
    tg_host_call(t, show, "else", TG_ARGS(in[0]), NULL, NULL, 0);
    tg_return(t, tg_neg(in[0]));
}

CALLBACK(branch)
{
    tg_value y;
    tg_cond(in[0], show_then, show_else, NULL, TG_ARGS(in[1]), &y, 1);
    tg_host_call(t, show, "after", TG_ARGS(y), NULL, NULL, 0);
    tg_return(t, tg_add(y, 1.0));
}

static void check_branch(session *s)
{
    watching = s;
    tg_function *f = tg_function_create(s->ctx, branch, NULL, NULL);
    tg_tensor *yes = bool_scalar(s->ctx, true), *x = f32_vector(s->ctx, 1, 2);
    tg_tensor *no = bool_scalar(s->ctx, false);
    check_f32(call_one(f, TG_ARGS(yes, x)), 3, 5);
    check_printed(s, "then 1 2\ncalled with 2\nafter 2 4\n");
    check_f32(call_one(f, TG_ARGS(no, x)), 0, -1);
    check_printed(s, "else 1 2\nafter -1 -2\n");
    tg_tensor_release(yes);
    tg_tensor_release(no);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(host_call, is_called_in_the_branch_taken_only)
{
    check_control(check_branch);
}

/* The carried value is the output itself, which is read again. */
CALLBACK(double_it)
{
    tg_value y[2];
    tg_host_call(t, show, "iteration", TG_ARGS(in[1], in[2]), NULL, NULL, 0);
    call_twice(t, in[1], y);
    tg_return(t, y[0], tg_add(in[2], tg_sum(in[1], TG_ALL_AXES)));
}

CALLBACK(loop)
{
    tg_value y[2], first[2];
    call_twice(t, in[1], first);
    tg_for(in[0], double_it, NULL, TG_ARGS(first[0], 0.0f), y, 2);
    tg_print(t, "done %v", y[0]);
    tg_return(t, y[0], y[1]);
}

static void check_loop(session *s)
{
    watching = s;
    tg_function *f = tg_function_create(s->ctx, loop, NULL, NULL);
    tg_tensor *iterations = i64_scalar(s->ctx, 3);
    tg_tensor *x = f32_vector(s->ctx, 1, 2);
    tg_tensor *none = i64_scalar(s->ctx, 0), *y = NULL, *z = NULL;
    check_works(tg_call(f, TG_ARGS(iterations, x), TG_RESULTS(&y, &z)));
    check_f32(y, 16, 32);
    check_f32(z, 6 + 12 + 24);
    check_printed(s, "called with 2\niteration 2 4 0\ncalled with 2\n"
                     "iteration 4 8 6\ncalled with 2\niteration 8 16 18\n"
                     "called with 2\ndone [16 32]\n");
    check_f32(call_one(f, TG_ARGS(none, x)), 2, 4);
    check_printed(s, "called with 2\ndone [2 4]\n");
    tg_tensor_release(iterations);
    tg_tensor_release(none);
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(host_call, sees_the_values_of_each_iteration)
{
    check_control(check_loop);
}

/* The test of a loop calls the host. */
static tg_status is_less(const tg_host_buffer *in, size_t n_in,
                         const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)n_in, (void)n_out;
    *(bool *)out[0].data = *(const float *)in[0].data < *(const float *)user;
    return TG_OK;
}

static const float most = 100;

CALLBACK(ask)
{
    const tg_host_spec spec = {TG_BOOL, 0, NULL};
    tg_value goes_on;
    union {
        const void *in;
        void *out;
    } limit = {&most};
    tg_host_call(t, is_less, limit.out, TG_ARGS(in[0]), &spec, &goes_on, 1);
    tg_return(t, goes_on);
}

CALLBACK(triple)
{
    tg_return(t, tg_mul(in[0], 3.0));
}

CALLBACK(until_host_stops)
{
    tg_value y;
    tg_while(ask, triple, NULL, TG_ARGS(in[0]), &y, 1);
    tg_return(t, y);
}

static void check_asked(session *s)
{
    tg_function *f = tg_function_create(s->ctx, until_host_stops, NULL, NULL);
    check_f32(call_one(f, TG_ARGS(1.0f)), 243);
    check_f32(call_one(f, TG_ARGS(100.0f)), 100);
    tg_function_release(f);
}

Test(host_call, decides_when_a_loop_ends)
{
    check_control(check_asked);
}

/* -- Failures -------------------------------------------------------------- */

/* Fails if the first element is above 3; `user` selects how. */
typedef enum how { WITH_WORDS, WITH_STATUS, WITH_NONSENSE } how;

static tg_status refuse(const tg_host_buffer *in, size_t n_in,
                        const tg_host_buffer *out, size_t n_out, void *user)
{
    const float x = *(const float *)in[0].data;
    (void)n_in, (void)out, (void)n_out;
    if (x <= 3)
        return TG_OK;
    switch (*(how *)user) {
    case WITH_WORDS:
        return tg_host_fail("%g is too %s", (double)x, "much");
    case WITH_STATUS:
        return TG_ERROR_FILE;
    default:
        return (tg_status)1234;
    }
}

typedef struct failing {
    tg_variable *v;
    how how;
    int line;
} failing;

CALLBACK(add_or_fail)
{
    failing *f = user;
    tg_assign_add(f->v, in[1]);
    f->line = __LINE__ + 1;
    tg_host_call(t, refuse, &f->how, TG_ARGS(in[1]), NULL, NULL, 0);
    tg_print(t, "fine %v", in[1]);
    tg_assign_add(f->v, 100.0);
    tg_return(t, tg_add(in[1], 1.0));
}

CALLBACK(loop_or_fail)
{
    failing *f = user;
    tg_value y;
    tg_for(in[0], add_or_fail, user, TG_ARGS(1.0f), &y, 1);
    tg_print(t, "all done");
    tg_assign(f->v, 0.0);
    tg_return(t, y);
}

static void check_place(const failing *of)
{
    cr_assert_str_eq(tg_error_last()->file, __FILE__);
    cr_assert_eq(tg_error_last()->line, of->line);
}

static void check_failing(session *s)
{
    failing of = {.v = f32_scalar_variable(s->ctx, "v", 0)};
    tg_function *f = tg_function_create(s->ctx, loop_or_fail, &of, NULL);
    tg_tensor *few = i64_scalar(s->ctx, 2), *many = i64_scalar(s->ctx, 9);
    check_f32(call_one(f, TG_ARGS(few)), 3);
    check_printed(s, "fine 1\nfine 2\nall done\n");
    check_variable(of.v, 0);

    tg_tensor *unset = NULL;
    check_fails(tg_call(f, TG_ARGS(many), TG_RESULTS(&unset)),
                TG_ERROR_CALLBACK, "test_host_call.c:",
                "host_call: 4 is too much");
    cr_assert_null(unset);
    check_place(&of);
    check_printed(s, "fine 1\nfine 2\nfine 3\n");
    check_variable(of.v, 1 + 2 + 3 + 4 + 300);

    of.how = WITH_STATUS;
    check_fails(tg_call(f, TG_ARGS(many), TG_RESULTS()), TG_ERROR_FILE,
                "host_call: the function failed: file error");
    check_place(&of);
    of.how = WITH_NONSENSE;
    check_fails(tg_call(f, TG_ARGS(many), TG_RESULTS()), TG_ERROR_CALLBACK,
                "host_call: ", "1234");
    check_place(&of);
    s->printed[0] = '\0';

    /* Later calls work. */
    check_f32(call_one(f, TG_ARGS(few)), 3);
    check_printed(s, "fine 1\nfine 2\nall done\n");
    tg_tensor_release(few);
    tg_tensor_release(many);
    tg_function_release(f);
    tg_variable_release(of.v);
}

Test(host_call, a_failure_ends_the_call_and_keeps_earlier_effects)
{
    check_control(check_failing);
}

/* A failure that the host function handled does not fail the call. */
static tg_status stumble(const tg_host_buffer *in, size_t n_in,
                         const tg_host_buffer *out, size_t n_out, void *user)
{
    (void)in, (void)n_in, (void)out, (void)n_out;
    tg_host_fail("never mind");
    return *(tg_status *)user;
}

CALLBACK(call_stumble)
{
    tg_host_call(t, stumble, user, TG_ARGS(), NULL, NULL, 0);
}

static void check_stumble(session *s)
{
    tg_status status = TG_OK;
    tg_function *f = tg_function_create(s->ctx, call_stumble, &status, NULL);
    call_only(f, TG_ARGS());
    status = TG_ERROR_INDEX;
    check_fails(tg_call(f, TG_ARGS(), TG_RESULTS()), TG_ERROR_INDEX,
                "the function failed: index error");
    tg_function_release(f);
}

Test(host_call, its_status_is_used)
{
    check_control(check_stumble);
}

static void check_record_is_kept(session *s)
{
    watching = s;
    tg_function *f = tg_function_create(s->ctx, use_nothing, NULL, NULL);
    tg_tensor *x = f32_vector(s->ctx, 1, 2);
    call_only(f, TG_ARGS(x));
    tg_host_fail("an old one");
    call_only(f, TG_ARGS(x));
    check_record(TG_ERROR_CALLBACK, "an old one");
    tg_error_clear();
    tg_tensor_release(x);
    tg_function_release(f);
}

Test(host_call, leaves_an_older_failure_in_the_record)
{
    check_control(check_record_is_kept);
}

/* -- Calling back ---------------------------------------------------------- */

typedef struct echo {
    tg_function *f, *g;
    tg_variable *used, *free;
    int depth;
    tg_status on_used, on_get, on_free, on_itself;
} echo;

static tg_status call_back(const tg_host_buffer *in, size_t n_in,
                           const tg_host_buffer *out, size_t n_out, void *user)
{
    echo *e = user;
    float number;
    (void)in, (void)n_in, (void)out, (void)n_out;
    if (e->depth++ > 0)
        return TG_OK;
    e->on_used = tg_call(e->g, TG_ARGS(e->used), TG_RESULTS());
    e->on_get = tg_variable_get(e->used, &number, sizeof number);
    e->on_free = tg_call(e->g, TG_ARGS(e->free), TG_RESULTS());
    e->on_itself = tg_call(e->f, TG_ARGS(e->free), TG_RESULTS());
    return TG_OK;
}

CALLBACK(call_and_add)
{
    tg_assign_add(in[0], 1);
    tg_host_call(t, call_back, user, TG_ARGS(), NULL, NULL, 0);
    tg_assign_add(in[0], 10);
}

CALLBACK(add_one)
{
    tg_assign_add(in[0], 1);
}

static void check_calling_back(session *s)
{
    echo e = {0};
    e.f = tg_function_create(s->ctx, call_and_add, &e, NULL);
    e.g = tg_function_create(s->ctx, add_one, NULL, NULL);
    e.used = f32_scalar_variable(s->ctx, "used", 0);
    e.free = f32_scalar_variable(s->ctx, "free", 0);
    check_works(tg_call(e.f, TG_ARGS(e.used), TG_RESULTS()));
    cr_assert_eq(e.on_used, TG_ERROR_BUSY);
    cr_assert_eq(e.on_get, TG_ERROR_BUSY);
    cr_assert_eq(e.on_free, TG_OK);
    cr_assert_eq(e.on_itself, TG_OK);
    cr_assert_eq(e.depth, 2);
    check_variable(e.used, 11);
    check_variable(e.free, 12);
    tg_variable_release(e.used);
    tg_variable_release(e.free);
    tg_function_release(e.f);
    tg_function_release(e.g);
}

Test(host_call, may_call_the_library_but_not_for_its_own_variables)
{
    alarm(60); /* so that a hang fails */
    check_control(check_calling_back);
}

/* -- Used wrongly ---------------------------------------------------------- */

typedef struct wrong {
    tg_host_function *function;
    size_t n_inputs, n_results;
    tg_host_spec spec;
    bool has_no_specs, has_no_values;
    tg_status status;
    const char *piece;
} wrong;

CALLBACK(use_wrongly)
{
    const wrong *w = user;
    tg_value y = {1, 1};
    tg_host_call_at(t, w->function, NULL, NULL, w->n_inputs,
                    w->has_no_specs ? NULL : &w->spec,
                    w->has_no_values ? NULL : &y, w->n_results, TG_HERE);
    cr_assert(w->has_no_values || !tg_is_valid(y));
}

Test(host_call, reports_invalid_arguments)
{
    static const int64_t negative[] = {-3}, huge[] = {INT64_MAX / 2, 9};
    static const wrong rows[] = {
        {NULL, 0, 1, {TG_F32, 0, NULL}, false, false,
         TG_ERROR_INVALID_ARGUMENT, "host_call: the function is NULL"},
        {show, 2, 1, {TG_F32, 0, NULL}, false, false,
         TG_ERROR_INVALID_ARGUMENT, "host_call: the inputs are NULL"},
        {show, 0, 1, {TG_F32, 0, NULL}, true, false,
         TG_ERROR_INVALID_ARGUMENT, "the specs of the outputs are NULL"},
        {show, 0, 1, {TG_F32, 0, NULL}, false, true,
         TG_ERROR_INVALID_ARGUMENT, "the values of the outputs are NULL"},
        {show, 0, 1, {TG_DTYPE_NONE, 0, NULL}, false, false, TG_ERROR_DTYPE,
         "host_call: output 0: 0 is not an element type"},
        {show, 0, 1, {(tg_dtype)(TG_F64 + 1), 0, NULL}, false, false,
         TG_ERROR_DTYPE, "output 0: 14 is not"},
        {show, 0, 1, {TG_F32, 9, NULL}, false, false, TG_ERROR_OVERFLOW,
         "host_call: rank 9"},
        {show, 0, 1, {TG_F32, -1, NULL}, false, false, TG_ERROR_OVERFLOW,
         "host_call: rank -1"},
        {show, 0, 1, {TG_F32, 1, NULL}, false, false,
         TG_ERROR_INVALID_ARGUMENT, "host_call: extents are NULL"},
        {show, 0, 1, {TG_F32, 1, negative}, false, false, TG_ERROR_SHAPE,
         "host_call: extent -3"},
        {show, 0, 1, {TG_F32, 2, huge}, false, false, TG_ERROR_OVERFLOW,
         "host_call: the shape has too many elements"},
    };
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        wrong w = rows[i];
        tg_function *f = tg_function_create(s.ctx, use_wrongly, &w, NULL);
        check_fails(tg_call(f, TG_ARGS(), TG_RESULTS()), w.status,
                    "test_host_call.c:", w.piece);
        tg_function_release(f);
    }
    session_end(&s);
}

/* Outside a trace nothing can be recorded. */
Test(host_call, does_nothing_outside_of_a_callback)
{
    const tg_host_spec spec = {TG_F32, 0, NULL};
    tg_value y = {1, 1};
    tg_host_call(NULL, show, NULL, TG_ARGS(), &spec, &y, 1);
    cr_assert_not(tg_is_valid(y));
    tg_error_clear();
    check_nothing_is_alive();
}

CALLBACK(make_from_host)
{
    const tg_host_spec specs[] = {{TG_F32, 0, NULL}, {TG_F64, 0, NULL}};
    tg_value y[2];
    tg_host_call(t, twice_and_sum, NULL, TG_ARGS(in[0]), specs, y, 2);
    tg_variable *v = tg_own_variable_from(t, "v", y[0]);
    tg_return(t, tg_read(v));
}

Test(host_call, makes_no_initial_values)
{
    session s;
    session_begin_with(&s, (tg_context_options){.jit = "off"});
    tg_function *f = tg_function_create(s.ctx, make_from_host, NULL, NULL);
    check_fails(tg_call(f, TG_ARGS(1.0f), TG_RESULTS()), TG_ERROR_STATE,
                "host_call: the initial value of a variable depends on a host "
                "call");
    tg_function_release(f);
    session_end(&s);
}
