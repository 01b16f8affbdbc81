/* SPDX-License-Identifier: MIT */
/*
 * test_semantics_bundles.c - promises 27 and 29: bundles, passed or captured as
 * one argument.
 */
#include "support/api.h"

typedef struct layer {
    tg_variable *w, *b;
} layer;
static const tg_bundle_field layer_fields[] = {TG_FIELD(layer, w),
                                               TG_FIELD(layer, b)};
static const tg_bundle_type layer_type = TG_BUNDLE(layer, layer_fields);

typedef struct model {
    layer first;
    tg_variable *scale;
    layer second;
} model;
static const tg_bundle_field model_fields[] = {
    TG_FIELD_BUNDLE(model, first, &layer_type), TG_FIELD(model, scale),
    TG_FIELD_BUNDLE(model, second, &layer_type)};
static const tg_bundle_type model_type = TG_BUNDLE(model, model_fields);

/* w is f32[2], b a scalar, untrainable. */
static layer layer_create(tg_context *ctx, double w, double b)
{
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.untrainable = true;
    return (layer){
        tg_variable_create(ctx, "w", TG_F32, TG_DIMS(2), tg_fill(w)),
        tg_variable_create_with(ctx, "b", TG_F32, TG_SCALAR, tg_fill(b),
                                &options)};
}

static model model_create(tg_context *ctx)
{
    return (model){layer_create(ctx, 1, 2),
                   f32_scalar_variable(ctx, "scale", 10),
                   layer_create(ctx, 3, 4)};
}

/* -- Lists ----------------------------------------------------------------- */

Test(semantics, line_27_a_bundle_lists_and_counts_its_variables)
{
    session s;
    session_begin(&s);
    model m = model_create(s.ctx);
    tg_variable *list[5] = {NULL};
    const size_t n = tg_bundle_variables(&model_type, &m, TG_ALL_VARIABLES,
                                         list, 5);
    tg_variable *const want[] = {m.first.w, m.first.b, m.scale, m.second.w,
                                 m.second.b};
    cr_assert_eq(n, 5);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(list[i], want[i]);
    cr_assert_eq(tg_bundle_count(&model_type, &m, TG_ALL_VARIABLES), 7);

    tg_variable *trained[3] = {NULL};
    cr_assert_eq(
        tg_bundle_variables(&model_type, &m, TG_TRAINABLE, trained, 3), 3);
    cr_assert_eq(trained[0], m.first.w);
    cr_assert_eq(trained[1], m.scale);
    cr_assert_eq(trained[2], m.second.w);
    cr_assert_eq(tg_bundle_count(&model_type, &m, TG_TRAINABLE), 5);

    tg_bundle_release(&model_type, &m);
    cr_assert_null(m.first.w);
    cr_assert_null(m.second.b);
    cr_assert_eq(
        tg_bundle_variables(&model_type, &m, TG_ALL_VARIABLES, list, 5), 0);
    tg_bundle_release(&model_type, &m); /* already empty */
    session_end(&s);
}

Test(semantics, line_27_a_list_may_be_shorter_than_the_bundle)
{
    session s;
    session_begin(&s);
    model m = model_create(s.ctx);
    tg_variable *list[3] = {NULL, NULL, m.scale};
    cr_assert_eq(
        tg_bundle_variables(&model_type, &m, TG_ALL_VARIABLES, list, 2), 5);
    cr_assert_eq(list[1], m.first.b);
    cr_assert_eq(list[2], m.scale); /* unchanged */
    cr_assert_eq(
        tg_bundle_variables(&model_type, &m, TG_ALL_VARIABLES, NULL, 0), 5);
    tg_bundle_release(&model_type, &m);
    session_end(&s);
}

/* -- Passed ---------------------------------------------------------------- */

static void apply_layer(tg_trace *t, const tg_value *in, void *user)
{
    const layer *l = tg_bundle_argument(t, 1, &layer_type);
    (void)user;
    cr_assert_not(tg_is_valid(in[1]));
    cr_assert_eq(tg_variable_dtype(l->w), TG_F32);
    cr_assert_eq(tg_variable_count(l->w), 2);
    tg_value y = tg_add(tg_mul(in[0], l->w), l->b);
    tg_assign_add(l->b, 1);
    tg_return(t, y);
}

Test(semantics, line_27_a_bundle_is_passed_as_one_argument)
{
    session s;
    session_begin(&s);
    layer l = layer_create(s.ctx, 3, 1), other = layer_create(s.ctx, -1, 0);
    tg_function *f = tg_function_create(s.ctx, apply_layer, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x, tg_bundle_of(&layer_type, &l))), 4, 7);
    check_variable(l.b, 2);
    check_f32(call_one(f, TG_ARGS(x, tg_bundle_of(&layer_type, &other))), -1,
              -2);
    check_variable(other.b, 1);
    check_variable(l.b, 2);
    check_f32(call_one(f, TG_ARGS(x, tg_bundle_of(&layer_type, &l))), 5, 8);
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_bundle_release(&layer_type, &l);
    tg_bundle_release(&layer_type, &other);
    tg_function_release(f);
    session_end(&s);
}

static void apply_model(tg_trace *t, const tg_value *in, void *user)
{
    const model *m = tg_bundle_argument(t, 0, &model_type);
    (void)in, (void)user;
    tg_assign(m->second.w, tg_mul(m->first.w, m->scale));
    tg_assign_add(m->first.b, m->second.b);
    tg_return(t, tg_read(m->second.w));
}

Test(semantics, line_27_bundles_nest)
{
    session s;
    session_begin(&s);
    model m = model_create(s.ctx);
    tg_function *f = tg_function_create(s.ctx, apply_model, NULL, NULL);
    check_f32(call_one(f, TG_ARGS(tg_bundle_of(&model_type, &m))), 10, 10);
    check_variable(m.second.w, 10, 10);
    check_variable(m.first.b, 6);
    check_variable(m.second.b, 4);
    tg_bundle_release(&model_type, &m);
    tg_function_release(f);
    session_end(&s);
}

static void add_1_and_10(tg_trace *t, const tg_value *in, void *user)
{
    const layer *l = tg_bundle_argument(t, 0, &layer_type);
    (void)in, (void)user;
    tg_assign_add(l->w, 1);
    tg_assign_add(l->b, 10);
}

Test(semantics, line_27_one_variable_twice_in_a_bundle_is_another_trace)
{
    session s;
    session_begin(&s);
    layer two = {f32_scalar_variable(s.ctx, "a", 0),
                 f32_scalar_variable(s.ctx, "b", 0)};
    layer one = {two.w, two.w};
    tg_function *f = tg_function_create(s.ctx, add_1_and_10, NULL, NULL);
    call_only(f, TG_ARGS(tg_bundle_of(&layer_type, &two)));
    call_only(f, TG_ARGS(tg_bundle_of(&layer_type, &one)));
    cr_assert_eq(tg_function_trace_count(f), 2);
    check_variable(two.w, 12);
    check_variable(two.b, 10);
    call_only(f, TG_ARGS(tg_bundle_of(&layer_type, &two)));
    cr_assert_eq(tg_function_trace_count(f), 2);
    tg_bundle_release(&layer_type, &two);
    tg_function_release(f);
    session_end(&s);
}

static void add_captured_first(tg_trace *t, const tg_value *in, void *user)
{
    const layer *l = tg_bundle_argument(t, 0, &layer_type);
    (void)in;
    tg_assign_add((tg_variable *)user, 100);
    tg_assign_add(l->w, 1);
    tg_assign_add(l->b, 10);
}

Test(semantics, line_27_a_member_may_also_be_captured)
{
    session s;
    session_begin(&s);
    tg_variable *c = f32_scalar_variable(s.ctx, "c", 0);
    layer with = {tg_variable_retain(c), f32_scalar_variable(s.ctx, "b", 0)};
    layer without = {f32_scalar_variable(s.ctx, "a", 0),
                     f32_scalar_variable(s.ctx, "b", 0)};
    tg_function *f = tg_function_create(s.ctx, add_captured_first, c, NULL);
    for (int round = 0; round < 2; round++) {
        call_only(f, TG_ARGS(tg_bundle_of(&layer_type, &without)));
        call_only(f, TG_ARGS(tg_bundle_of(&layer_type, &with)));
    }
    cr_assert_eq(tg_function_trace_count(f), 2);
    check_variable(c, 2 * (100 + 101));
    check_variable(with.b, 20);
    check_variable(without.w, 2);
    tg_bundle_release(&layer_type, &with);
    tg_bundle_release(&layer_type, &without);
    tg_variable_release(c);
    tg_function_release(f);
    session_end(&s);
}

/* -- Captured, nested calls, signatures ------------------------------------ */

static void captured_layer(tg_trace *t, const tg_value *in, void *user)
{
    const layer *l = user;
    tg_return(t, tg_add(tg_mul(in[0], l->w), l->b));
}

Test(semantics, line_27_a_bundle_can_be_captured)
{
    session s;
    session_begin(&s);
    layer l = layer_create(s.ctx, 3, 1);
    tg_function *f = tg_function_create(s.ctx, captured_layer, &l, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x)), 4, 7);
    set_variable(l.b, 2);
    check_f32(call_one(f, TG_ARGS(x)), 5, 8);
    tg_tensor_release(x);
    tg_bundle_release(&layer_type, &l);
    tg_function_release(f);
    session_end(&s);
}

/* Passes the inner bundles of its argument to a nested function. */
static void apply_both_layers(tg_trace *t, const tg_value *in, void *user)
{
    const model *m = tg_bundle_argument(t, 1, &model_type);
    tg_function *f = user;
    tg_value y;
    tg_apply(f, TG_ARGS(in[0], tg_bundle_of(&layer_type, &m->first)), &y, 1);
    tg_apply(f, TG_ARGS(y, tg_bundle_of(&layer_type, &m->second)), &y, 1);
    tg_return(t, tg_mul(y, m->scale));
}

Test(semantics, line_27_members_are_handed_on_to_nested_functions)
{
    session s;
    session_begin(&s);
    model m = model_create(s.ctx); /* w 1, b 2; scale 10; w 3, b 4 */
    tg_function *inner = tg_function_create(s.ctx, apply_layer, NULL, NULL);
    tg_function *f =
        tg_function_create(s.ctx, apply_both_layers, inner, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x, tg_bundle_of(&model_type, &m))), 130, 160);
    check_variable(m.first.b, 3);
    check_variable(m.second.b, 5);
    check_f32(call_one(f, TG_ARGS(x, tg_bundle_of(&model_type, &m))), 170, 200);
    cr_assert_eq(tg_function_trace_count(f), 1);
    cr_assert_eq(tg_function_trace_count(inner), 1);
    tg_tensor_release(x);
    tg_bundle_release(&model_type, &m);
    tg_function_release(f);
    tg_function_release(inner);
    session_end(&s);
}

Test(semantics, line_27_a_signature_can_have_a_bundle)
{
    session s;
    session_begin(&s);
    layer l = layer_create(s.ctx, 3, 1), other = layer_create(s.ctx, 5, 0);
    layer wrong = {
        tg_variable_create(s.ctx, "w", TG_F32, TG_DIMS(3), tg_zeros()),
        f32_scalar_variable(s.ctx, "b", 0)};
    const tg_spec signature[] = {tg_spec_tensor(TG_F32, TG_DIMS(2)),
                                 tg_spec_bundle(&layer_type, &l)};
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.signature = signature;
    options.n_signature = 2;
    tg_function *f = tg_function_create(s.ctx, apply_layer, NULL, &options);
    cr_assert_not_null(f, "%s", tg_error(NULL));
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(x, tg_bundle_of(&layer_type, &l))), 4, 7);
    check_f32(call_one(f, TG_ARGS(x, tg_bundle_of(&layer_type, &other))), 5,
              10);
    check_fails(tg_call(f, TG_ARGS(x, tg_bundle_of(&layer_type, &wrong)),
                        TG_RESULTS()),
                TG_ERROR_SIGNATURE, "argument 1", "'w'", "f32[2]", "f32[3]");
    check_fails(tg_call(f, TG_ARGS(x, x), TG_RESULTS()), TG_ERROR_SIGNATURE,
                "apply_layer");
    cr_assert_eq(tg_function_trace_count(f), 1);
    tg_tensor_release(x);
    tg_bundle_release(&layer_type, &l);
    tg_bundle_release(&layer_type, &other);
    tg_bundle_release(&layer_type, &wrong);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_27_variables_of_a_bundle_may_share_a_group)
{
    session s;
    session_begin(&s);
    tg_variable_options options = TG_VARIABLE_OPTIONS_INIT;
    options.group = tg_group_create(s.ctx);
    layer l = {tg_variable_create_with(s.ctx, "w", TG_F32, TG_SCALAR,
                                       tg_zeros(), &options),
               tg_variable_create_with(s.ctx, "b", TG_F32, TG_SCALAR,
                                       tg_zeros(), &options)};
    tg_group_release(options.group);
    tg_function *f = tg_function_create(s.ctx, add_1_and_10, NULL, NULL);
    call_only(f, TG_ARGS(tg_bundle_of(&layer_type, &l)));
    check_variable(l.w, 1);
    check_variable(l.b, 10);
    cr_assert_not_null(tg_variable_map(l.w, TG_READ));
    check_fails(tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, &l)),
                        TG_RESULTS()),
                TG_ERROR_BUSY, "add_1_and_10");
    cr_assert_not_null(tg_variable_map(l.b, TG_READ)); /* a second mapping is
                                                          allowed */
    check_works(tg_variable_unmap(l.b));
    check_works(tg_variable_unmap(l.w));
    call_only(f, TG_ARGS(tg_bundle_of(&layer_type, &l)));
    check_variable(l.b, 20);
    tg_bundle_release(&layer_type, &l);
    tg_function_release(f);
    session_end(&s);
}

/* -- Bundles that are none ------------------------------------------------- */

typedef struct empty {
    int unused;
} empty;
static const tg_bundle_type empty_type = {"empty", sizeof(empty), NULL, 0};

static void double_last(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[1], 2));
}

Test(semantics, line_27_a_bundle_may_be_empty)
{
    session s;
    session_begin(&s);
    empty e = {0};
    tg_function *f = tg_function_create(s.ctx, double_last, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    check_f32(call_one(f, TG_ARGS(tg_bundle_of(&empty_type, &e), x)), 2, 4);
    cr_assert_eq(tg_bundle_count(&empty_type, &e, TG_ALL_VARIABLES), 0);
    tg_tensor_release(x);
    tg_function_release(f);
    session_end(&s);
}

static void look_at_empty(tg_trace *t, const tg_value *in, void *user)
{
    (void)in;
    *(bool *)user = tg_bundle_argument(t, 0, &empty_type) != NULL;
}

Test(semantics, line_27_an_empty_bundle_can_be_inspected)
{
    session s;
    session_begin(&s);
    empty e = {0};
    bool is_there = false;
    tg_function *f = tg_function_create(s.ctx, look_at_empty, &is_there, NULL);
    check_works(tg_call(f, TG_ARGS(tg_bundle_of(&empty_type, &e)),
                        TG_RESULTS()));
    cr_assert(is_there);
    tg_function_release(f);
    session_end(&s);
}

Test(semantics, line_27_a_bundle_with_a_hole_is_refused)
{
    session s;
    session_begin(&s);
    layer l = layer_create(s.ctx, 3, 1);
    tg_variable_release(l.b);
    l.b = NULL;
    tg_function *f = tg_function_create(s.ctx, apply_layer, NULL, NULL);
    check_fails(tg_call(f, TG_ARGS(1, tg_bundle_of(&layer_type, &l)),
                        TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "b", "NULL");
    check_fails(tg_call(f, TG_ARGS(1, tg_bundle_of(&layer_type, NULL)),
                        TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "bundle");
    check_fails(tg_call(f, TG_ARGS(1, tg_bundle_of(NULL, &l)), TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT, "bundle");
    tg_bundle_release(&layer_type, &l);
    tg_function_release(f);
    session_end(&s);
}

/* -- Bundles of another type ----------------------------------------------- */

typedef struct {
    const tg_bundle_type *type;
    const void *seen;
    int line;
} question;

static void ask_for_type(tg_trace *t, const tg_value *in, void *user)
{
    question *q = user;
    (void)in;
    q->line = __LINE__ + 1;
    q->seen = tg_bundle_argument(t, 0, q->type);
}

Test(semantics, line_29_a_bundle_of_another_type_is_an_error_naming_both)
{
    session s;
    session_begin(&s);
    layer l = layer_create(s.ctx, 1, 2);
    question q = {.type = &model_type};
    tg_function *f = tg_function_create(s.ctx, ask_for_type, &q, NULL);
    char place[64];
    check_fails(tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, &l)),
                        TG_RESULTS()),
                TG_ERROR_INVALID_ARGUMENT,
                "tg_bundle_argument: argument 0 is a bundle 'layer' of 16 "
                "bytes, but 'model' of 40 bytes was requested");
    cr_assert_null(q.seen);
    snprintf(place, sizeof place, "%s:%d: ", __FILE__, q.line);
    check_record(TG_ERROR_INVALID_ARGUMENT, place);
    tg_function_release(f);
    tg_bundle_release(&layer_type, &l);
    session_end(&s);
}

/* A static type in a header has a copy in every file that includes it. */
Test(semantics, line_29_a_copy_of_a_type_is_that_type)
{
    static const tg_bundle_field fields[] = {TG_FIELD(layer, w),
                                             TG_FIELD(layer, b)};
    static const tg_bundle_type copy = TG_BUNDLE(layer, fields);
    static const tg_bundle_field outer_fields[] = {
        TG_FIELD_BUNDLE(model, first, &copy), TG_FIELD(model, scale),
        TG_FIELD_BUNDLE(model, second, &copy)};
    static const tg_bundle_type outer_copy = TG_BUNDLE(model, outer_fields);
    session s;
    session_begin(&s);
    model m = model_create(s.ctx);
    question q = {.type = &outer_copy};
    tg_function *f = tg_function_create(s.ctx, ask_for_type, &q, NULL);
    check_works(tg_call(f, TG_ARGS(tg_bundle_of(&model_type, &m)),
                        TG_RESULTS()));
    cr_assert_not_null(q.seen);
    tg_function_release(f);
    tg_bundle_release(&model_type, &m);
    session_end(&s);
}

Test(semantics, line_29_types_that_differ_in_any_field_are_different)
{
    static const tg_bundle_field swapped[] = {TG_FIELD(layer, b),
                                              TG_FIELD(layer, w)};
    static const tg_bundle_field renamed[] = {TG_FIELD(layer, w),
                                              {"c", offsetof(layer, b), NULL}};
    static const tg_bundle_field shifted[] = {TG_FIELD(layer, w),
                                              {"b", 0, NULL}};
    static const tg_bundle_field nested[] = {
        {"w", 0, &layer_type}, TG_FIELD(layer, b)};
    const tg_bundle_type others[] = {
        {"layer", sizeof(layer), swapped, 2},
        {"layer", sizeof(layer), renamed, 2},
        {"layer", sizeof(layer), shifted, 2},
        {"layer", sizeof(layer), nested, 2},
        {"layer", sizeof(layer), NULL, 2},
        {"layer", sizeof(layer), layer_fields, 1},
        {"layer", sizeof(layer) + 8, layer_fields, 2},
        {"Layer", sizeof(layer), layer_fields, 2},
        {NULL, sizeof(layer), layer_fields, 2},
    };
    session s;
    session_begin(&s);
    layer l = layer_create(s.ctx, 1, 2);
    question q = {0};
    tg_function *f = tg_function_create(s.ctx, ask_for_type, &q, NULL);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        q.type = &others[i];
        check_fails(tg_call(f, TG_ARGS(tg_bundle_of(&layer_type, &l)),
                            TG_RESULTS()),
                    TG_ERROR_INVALID_ARGUMENT, "bundle 'layer' of 16 bytes");
    }
    tg_function_release(f);
    tg_bundle_release(&layer_type, &l);
    session_end(&s);
}
