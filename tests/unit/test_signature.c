/* SPDX-License-Identifier: MIT */
/*
 * test_signature.c - argument lists: keys, matching, generalisation and text.
 */
#include "front/call/signature.h"
#include "front/object/tensor_object.h"
#include "support/api.h"

static tgi_args args_of_specs(tg_context *ctx, const tg_spec *specs, size_t n)
{
    tgi_args args;
    check_works(
        tgi_args_from_specs(ctx, specs, n, (tg_site){"user.c", 3}, &args));
    return args;
}

#define specs_of(ctx, ...) \
    args_of_specs(ctx, (const tg_spec[]){__VA_ARGS__}, \
                  sizeof((const tg_spec[]){__VA_ARGS__}) / sizeof(tg_spec))

/* Reused buffers for argument lists; a test has few at a time. */
static tgi_inline_args *few_args(void)
{
    static tgi_inline_args rooms[16];
    static size_t n;
    return &rooms[n++ % (sizeof(rooms) / sizeof(*rooms))];
}

static tgi_args args_of_operands(tg_context *ctx, const tg_operand *operands,
                                 size_t n)
{
    tgi_args args;
    check_works(tgi_args_from_operands(ctx, operands, n, NULL,
                                       (tg_site){"user.c", 3}, few_args(),
                                       &args));
    return args;
}

#define f32_spec(...) tg_spec_tensor(TG_F32, TG_DIMS(__VA_ARGS__))

static bool keys_are_equal(const tgi_args *a, const tgi_args *b)
{
    tgi_key p = {0}, q = {0};
    cr_assert(tgi_args_key(a, &p) && tgi_args_key(b, &q));
    const bool equal = p.n == q.n && memcmp(p.data, q.data, p.n) == 0;
    tgi_vec_deinit(&p);
    tgi_vec_deinit(&q);
    return equal;
}

/* -- Keys ------------------------------------------------------------------ */

typedef struct pair_bundle {
    tg_variable *v, *w;
} pair_bundle;

static const tg_bundle_field pair_fields[] = {TG_FIELD(pair_bundle, v),
                                              TG_FIELD(pair_bundle, w)};
static const tg_bundle_type pair_type = TG_BUNDLE(pair_bundle, pair_fields);
static const tg_bundle_type other_type = TG_BUNDLE(pair_bundle, pair_fields);

/* All of these have different keys; each equals itself. */
Test(signature, keys_are_equal_for_equal_calls_only)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 0);
    tg_variable *w = f32_scalar_variable(s.ctx, "w", 0);
    tg_tensor *scalar = tg_tensor_create(s.ctx, TG_F32, TG_SCALAR, tg_zeros());
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, 3), tg_zeros());
    tg_tensor *y = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(3, 2), tg_zeros());
    tg_tensor *z = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(6), tg_zeros());
    tg_tensor *i = tg_tensor_create(s.ctx, TG_I32, TG_DIMS(2, 3), tg_zeros());
    const pair_bundle two = {v, w}, one = {v, v};
    const tg_operand blank = tg_in_i32(0);
    const struct {
        tg_operand operands[3];
        size_t n;
    } calls[] = {
        {{blank}, 0},
        {{tg_in_tensor(x)}, 1},
        {{tg_in_tensor(y)}, 1},
        {{tg_in_tensor(z)}, 1},
        {{tg_in_tensor(i)}, 1},
        {{tg_in_tensor(scalar)}, 1},
        {{tg_in_f32(1)}, 1},
        {{tg_in_f64(1)}, 1},
        {{tg_in_i32(1)}, 1},
        {{tg_in_variable(v)}, 1},
        {{tg_in_tensor(x), tg_in_tensor(x)}, 2},
        {{tg_in_variable(v), tg_in_variable(v)}, 2},
        {{tg_in_variable(v), tg_in_variable(w)}, 2},
        {{tg_in_variable(v), tg_in_variable(w), tg_in_variable(v)}, 3},
        {{tg_in_variable(v), tg_in_variable(w), tg_in_variable(w)}, 3},
        {{tg_bundle_of(&pair_type, &two)}, 1},
        {{tg_bundle_of(&other_type, &two)}, 1},
        {{tg_bundle_of(&pair_type, &one)}, 1},
        {{tg_make_static(tg_in_i32(1))}, 1},
        {{tg_make_static(tg_in_i32(2))}, 1},
        {{tg_make_static(tg_in_i64(1))}, 1},
        {{tg_make_static(tg_in_u32(1))}, 1},
        {{tg_make_static(tg_in_f64(1))}, 1},
        {{tg_make_static(tg_in_f64(-0.0))}, 1},
        {{tg_make_static(tg_in_f64(0.0))}, 1},
        {{tg_make_static(tg_in_bool(true))}, 1},
        {{tg_make_static(tg_in_string("1"))}, 1},
        {{tg_make_static(tg_in_string(""))}, 1},
        {{tg_make_static(tg_in_string("a")),
          tg_make_static(tg_in_string("bc"))}, 2},
        {{tg_make_static(tg_in_string("ab")),
          tg_make_static(tg_in_string("c"))}, 2},
    };
    const size_t n = sizeof(calls) / sizeof(*calls);
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            tgi_args p =
                args_of_operands(s.ctx, calls[a].operands, calls[a].n);
            tgi_args q =
                args_of_operands(s.ctx, calls[b].operands, calls[b].n);
            cr_expect_eq(keys_are_equal(&p, &q), a == b, "calls %zu and %zu",
                         a, b);
            cr_expect_eq(tgi_args_fit(&p, &q), a == b, "calls %zu and %zu", a,
                         b);
            tgi_args_deinit(&p);
            tgi_args_deinit(&q);
        }
    tg_tensor *const tensors[] = {scalar, x, y, z, i};
    for (int k = 0; k < 5; k++)
        tg_tensor_release(tensors[k]);
    tg_variable_release(v);
    tg_variable_release(w);
    session_end(&s);
}

Test(signature, identity_of_tensors_and_variables_does_not_count)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 0);
    tg_variable *w = f32_scalar_variable(s.ctx, "w", 0);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 3, 4);
    tgi_args p = args_of_operands(s.ctx, TG_ARGS(x, v, 1.5));
    tgi_args q = args_of_operands(s.ctx, TG_ARGS(y, w, 2.5));
    cr_assert(keys_are_equal(&p, &q));
    cr_assert(tgi_args_fit(&p, &q));
    tgi_args_deinit(&p);
    tgi_args_deinit(&q);
    /* The contents of a variable count as a tensor. */
    tg_tensor *scalar = tg_tensor_create(s.ctx, TG_F32, TG_SCALAR, tg_zeros());
    p = args_of_operands(s.ctx, TG_ARGS(tg_value_of(v)));
    q = args_of_operands(s.ctx, TG_ARGS(scalar));
    cr_assert(keys_are_equal(&p, &q));
    tgi_args_deinit(&p);
    tgi_args_deinit(&q);
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(scalar);
    tg_variable_release(v);
    tg_variable_release(w);
    session_end(&s);
}

/* -- Matching -------------------------------------------------------------- */

Test(signature, unknown_extents_fit_any_and_equal_names_equal_ones)
{
    session s;
    session_begin(&s);
    tgi_args spec =
        specs_of(s.ctx, f32_spec(TG_SAME(1), TG_UNKNOWN),
                 f32_spec(TG_UNKNOWN, TG_SAME(1)), f32_spec(4, TG_SAME(2)));
    cr_assert_eq(tgi_args_n_symbolic(&spec), 5);
    tgi_args good = specs_of(s.ctx, f32_spec(3, 7), f32_spec(8, 3),
                             f32_spec(4, 3));
    tgi_args bad = specs_of(s.ctx, f32_spec(3, 7), f32_spec(8, 4),
                            f32_spec(4, 3));
    tgi_args worse = specs_of(s.ctx, f32_spec(3, 7), f32_spec(8, 3),
                              f32_spec(5, 3));
    cr_assert_eq(tgi_args_n_symbolic(&good), 0);
    cr_assert(tgi_args_fit(&good, &spec));
    cr_assert_not(tgi_args_fit(&bad, &spec));
    cr_assert_not(tgi_args_fit(&worse, &spec));
    cr_assert_not(tgi_args_fit(&spec, &good), "unknown is not known");
    cr_assert(tgi_args_fit(&spec, &spec));
    tgi_args_deinit(&spec);
    tgi_args_deinit(&good);
    tgi_args_deinit(&bad);
    tgi_args_deinit(&worse);
    session_end(&s);
}

Test(signature, same_0_is_any_extent)
{
    session s;
    session_begin(&s);
    tgi_args a = specs_of(s.ctx, f32_spec(TG_SAME(0), TG_SAME(0)));
    tgi_args b = specs_of(s.ctx, f32_spec(TG_UNKNOWN, TG_UNKNOWN));
    cr_assert(keys_are_equal(&a, &b));
    tgi_args_deinit(&a);
    tgi_args_deinit(&b);
    session_end(&s);
}

/* -- Generalisation -------------------------------------------------------- */

Test(signature, only_extents_of_tensors_are_generalised)
{
    session s;
    session_begin(&s);
    size_t n;
    const int64_t two = 2, three = 3;
    tgi_args a = specs_of(s.ctx, f32_spec(2, 5), f32_spec(7));
    tgi_args b = specs_of(s.ctx, f32_spec(3, 5), f32_spec(8));
    tgi_args v = specs_of(s.ctx, tg_spec_variable(TG_F32, 1, &two));
    tgi_args w = specs_of(s.ctx, tg_spec_variable(TG_F32, 1, &three));
    tgi_args other = specs_of(s.ctx, f32_spec(2, 5));
    tgi_args integers =
        specs_of(s.ctx, tg_spec_tensor(TG_I32, TG_DIMS(2, 5)), f32_spec(7));
    cr_assert(tgi_args_differ_in_dims(&a, &b, &n));
    cr_assert_eq(n, 2);
    cr_assert(tgi_args_differ_in_dims(&a, &a, &n));
    cr_assert_eq(n, 0);
    cr_assert_not(tgi_args_differ_in_dims(&v, &w, &n));
    cr_assert_not(tgi_args_differ_in_dims(&a, &other, &n));
    cr_assert_not(tgi_args_differ_in_dims(&a, &integers, &n));

    tgi_args_generalise(&a, &b);
    cr_assert_eq(tgi_args_n_symbolic(&a), 2);
    cr_assert_eq(a.list.data[0].dims[1], 5);
    cr_assert(tgi_args_fit(&b, &a));
    tgi_args *const all[] = {&a, &b, &v, &w, &other, &integers};
    for (int i = 0; i < 6; i++)
        tgi_args_deinit(all[i]);
    session_end(&s);
}

Test(signature, extents_that_change_together_stay_equal)
{
    session s;
    session_begin(&s);
    tgi_args before = specs_of(s.ctx, f32_spec(2, 9), f32_spec(2, 2));
    tgi_args now = specs_of(s.ctx, f32_spec(5, 9), f32_spec(5, 6));
    tgi_args_generalise(&now, &before);
    cr_assert_eq(now.list.data[0].dims[0], now.list.data[1].dims[0]);
    cr_assert_neq(now.list.data[0].dims[0], now.list.data[1].dims[1]);
    cr_assert_eq(now.list.data[0].dims[1], 9);
    tgi_args split = specs_of(s.ctx, f32_spec(5, 9), f32_spec(4, 6));
    cr_assert_not(tgi_args_fit(&split, &now));
    /* Extents that differed before stay distinct, though equal now. */
    tgi_args two_three = specs_of(s.ctx, f32_spec(2, 3));
    tgi_args equal = specs_of(s.ctx, f32_spec(5, 5));
    tgi_args_generalise(&equal, &two_three);
    cr_assert_neq(equal.list.data[0].dims[0], equal.list.data[0].dims[1]);
    tgi_args *const all[] = {&before, &now, &split, &two_three, &equal};
    for (int i = 0; i < 5; i++)
        tgi_args_deinit(all[i]);
    session_end(&s);
}

Test(signature, relaxing_makes_every_extent_its_own)
{
    session s;
    session_begin(&s);
    const int64_t two = 2;
    tgi_args a = specs_of(s.ctx, f32_spec(2, 2), f32_spec(2),
                          tg_spec_variable(TG_F32, 1, &two));
    tgi_args_generalise_all(&a);
    cr_assert_eq(tgi_args_n_symbolic(&a), 3);
    cr_assert_eq(a.list.data[2].dims[0], 2, "variables are as they are");
    tgi_args b = specs_of(s.ctx, f32_spec(7, 8), f32_spec(9),
                          tg_spec_variable(TG_F32, 1, &two));
    cr_assert(tgi_args_fit(&b, &a));
    tgi_args_deinit(&a);
    tgi_args_deinit(&b);
    session_end(&s);
}

static void count(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    ++*(int *)user;
    tg_return(t, tg_scalar(TG_F32, 0));
}

/* More unknown extents than there are names. */
Test(signature, calls_with_very_many_extents_work)
{
    session s;
    session_begin(&s);
    int n_runs = 0;
    tg_function *f = tg_function_create(s.ctx, count, &n_runs, NULL);
    tg_operand args[32];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 32; i++) {
            const int64_t n = 1 + i + 40 * round;
            args[i] = tg_in_tensor(tg_tensor_create(
                s.ctx, TG_BOOL, TG_DIMS(n, 2 * n, n + 7, 1), tg_zeros()));
            cr_assert_not_null(args[i].as.tensor);
        }
        check_works(tg_call(f, args, 32, TG_RESULTS()));
        check_works(tg_call(f, args, 32, TG_RESULTS()));
        for (int i = 0; i < 32; i++)
            tg_tensor_release(args[i].as.tensor);
    }
    cr_assert_leq(n_runs, 6, "%d traces", n_runs);
    tg_function_release(f);
    session_end(&s);
}

/* -- Declared signatures --------------------------------------------------- */

Test(signature, numbers_are_converted_to_the_declared_dtype)
{
    session s;
    session_begin(&s);
    const tg_site site = {"user.c", 3};
    tgi_args want = specs_of(s.ctx, tg_spec_tensor(TG_U8, TG_SCALAR));
    tgi_args good = args_of_operands(s.ctx, TG_ARGS(200));
    check_works(tgi_args_conform(&good, &want, "f", site));
    cr_assert_eq(good.list.data[0].kind, TGI_ARG_TENSOR);
    cr_assert_eq((uint8_t)good.list.data[0].number[0], 200);
    tgi_args large = args_of_operands(s.ctx, TG_ARGS(256));
    check_fails(tgi_args_conform(&large, &want, "f", site),
                TG_ERROR_SIGNATURE,
                "user.c:3: f: argument 0: the signature has u8[], in which "
                "the number 256 is not representable");
    tgi_args broken = args_of_operands(s.ctx, TG_ARGS(1.5));
    check_fails(tgi_args_conform(&broken, &want, "f", site),
                TG_ERROR_SIGNATURE, "number 1.5 is not representable");
    tgi_args_deinit(&want);
    tgi_args_deinit(&good);
    tgi_args_deinit(&large);
    tgi_args_deinit(&broken);
    session_end(&s);
}

Test(signature, static_values_must_be_those_of_the_signature)
{
    session s;
    session_begin(&s);
    const tg_site site = {"user.c", 3};
    char text[] = "mode";
    tgi_args given =
        specs_of(s.ctx, tg_spec_static(tg_in_string(text)),
                 tg_spec_static(tg_in_i32(2)));
    tgi_args want;
    check_works(tgi_args_copy_spec(&given, &want));
    text[0] = 'X'; /* the signature has a copy */
    tgi_args same = args_of_operands(
        s.ctx, TG_ARGS(TG_STATIC("mode"), TG_STATIC(2)));
    check_works(tgi_args_conform(&same, &want, "f", site));
    tgi_args other = args_of_operands(
        s.ctx, TG_ARGS(TG_STATIC("mood"), TG_STATIC(2)));
    check_fails(
        tgi_args_conform(&other, &want, "f", site), TG_ERROR_SIGNATURE,
        "argument 0: the signature has static \"mode\", but the call has "
        "static \"mood\"");
    tgi_args number = args_of_operands(
        s.ctx, TG_ARGS(TG_STATIC("mode"), TG_STATIC(2.0)));
    check_fails(
        tgi_args_conform(&number, &want, "f", site), TG_ERROR_SIGNATURE,
        "argument 1: the signature has static i32 2, but the call has static "
        "f64 2");
    tgi_args_deinit(&given);
    tgi_args_deinit(&want);
    tgi_args_deinit(&same);
    tgi_args_deinit(&other);
    tgi_args_deinit(&number);
    session_end(&s);
}

/* -- Text ------------------------------------------------------------------ */

Test(signature, lists_are_printed)
{
    session s;
    session_begin(&s);
    tg_variable *v = f32_scalar_variable(s.ctx, "v", 0);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_BOOL, TG_DIMS(2, 0), tg_zeros());
    tgi_args args = args_of_operands(
        s.ctx, TG_ARGS(x, v, v, 2.5, TG_STATIC((bool)1), TG_STATIC(-7),
                       TG_STATIC(0.5f), TG_STATIC("a b"),
                       TG_STATIC(18446744073709551615ul)));
    tgi_strbuf text = {0};
    tgi_args_print(&args, &text);
    cr_assert_str_eq(text.text,
                     "(bool[2,0], variable f32[], variable f32[] = argument "
                     "1, number f64, static bool true, static i32 -7, static "
                     "f32 0.5, static \"a b\", static u64 "
                     "18446744073709551615)");
    tgi_strbuf_deinit(&text);
    tgi_args_deinit(&args);
    tg_tensor_release(x);
    tg_variable_release(v);
    session_end(&s);
}

/* -- Operands -------------------------------------------------------------- */

Test(signature, operands_that_are_no_arguments_are_refused)
{
    session s, other;
    session_begin(&s);
    session_begin(&other);
    tg_tensor *foreign = f32_vector(other.ctx, 1);
    const tg_value value = {3, 4};
    const tg_operand typeless = tg_in_blank(TG_OPERAND_INT, TG_DTYPE_NONE);
    const struct {
        tg_operand operand;
        tg_status status;
        const char *message;
    } cases[] = {
        {tg_in_string("text"), TG_ERROR_INVALID_ARGUMENT,
         "argument 0: a string must be static"},
        {tg_make_static(tg_in_string(NULL)), TG_ERROR_INVALID_ARGUMENT,
         "argument 0: the static string is NULL"},
        {tg_make_static(tg_in_tensor(foreign)), TG_ERROR_INVALID_ARGUMENT,
         "argument 0: only numbers and strings can be static"},
        {tg_in_tensor(NULL), TG_ERROR_INVALID_ARGUMENT,
         "argument 0: the tensor is NULL"},
        {tg_in_tensor(foreign), TG_ERROR_INVALID_ARGUMENT,
         "argument 0: the tensor belongs to another context"},
        {tg_in_variable(NULL), TG_ERROR_INVALID_ARGUMENT,
         "argument: the variable is NULL"},
        {tg_value_of(NULL), TG_ERROR_INVALID_ARGUMENT,
         "argument: the variable is NULL"},
        {tg_in_value(value), TG_ERROR_TRACE,
         "argument 0 is a value of a trace; calls take tensors, variables and "
         "numbers; in a callback use tg_apply"},
        {typeless, TG_ERROR_INVALID_ARGUMENT, "argument 0 is not a number"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        tgi_args args;
        check_fails(tgi_args_from_operands(s.ctx, &cases[i].operand, 1, NULL,
                                           (tg_site){"user.c", 3}, few_args(),
                                           &args),
                    cases[i].status, "user.c:3: ", cases[i].message);
    }
    tgi_args args;
    check_fails(tgi_args_from_operands(s.ctx, NULL, 1, NULL,
                                       (tg_site){"user.c", 3}, few_args(),
                                       &args),
                TG_ERROR_INVALID_ARGUMENT, "the arguments are NULL");
    tg_tensor_release(foreign);
    tg_context_release(other.ctx);
    session_end(&s);
}
