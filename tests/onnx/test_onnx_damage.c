/* SPDX-License-Identifier: MIT */
/*
 * test_onnx_damage.c - models that are unsupported, malformed or hostile: each
 * is an error that names the node and its operator. fuzz_onnx tries mutants.
 */
#include "onnx/onnx_models.h"
#include "support/files.h"
#include "tgjit/onnx.h"

static void check_rejected(tg_context *ctx, const proto *m, tg_status status,
                           const char *text)
{
    tg_error_clear();
    tg_onnx_model *x = tg_onnx_parse(ctx, "m.onnx", m->data, m->n, NULL);
    cr_assert_null(x);
    cr_assert_eq(tg_error_last()->status, status, "%s", tg_error(NULL));
    cr_assert(strstr(tg_error(NULL), text), "%s", tg_error(NULL));
}

/* y = op(x), for a float x; with a second node "Abs" that reads `from`. */
static proto two_nodes(const char *op, const char *from, const char *to)
{
    proto g = {.n = 0};
    const proto first = node(op, "x", "h"), second = node("Abs", from, to);
    add_node(&g, &first);
    add_node(&g, &second);
    add_in(&g, "x", MESSAGE_F32, 1, DIMS(3));
    add_out(&g, to);
    return g;
}

Test(onnx_damage, what_is_unsupported_is_named)
{
    session s;
    session_begin(&s);
    proto g = two_nodes("Frobnicate", "h", "y");
    proto m = model(&g, 13);
    check_rejected(s.ctx, &m, TG_ERROR_UNSUPPORTED,
                   "m.onnx: Frobnicate 'n':0: operator Frobnicate of opset 13");
    g = two_nodes("Mish", "h", "y");
    m = model(&g, 13);
    check_rejected(s.ctx, &m, TG_ERROR_UNSUPPORTED, "Mish at opset 13");
    m = model(&g, 99);
    check_rejected(s.ctx, &m, TG_ERROR_UNSUPPORTED, "opset 99");
    g = two_nodes("Neg", "h", "y");
    add_in(&g, "text", MESSAGE_STRING, 1, DIMS(3));
    m = model(&g, 13);
    check_rejected(s.ctx, &m, TG_ERROR_DTYPE,
                   "'text' has the unsupported dtype STRING (8)");
    g = two_nodes("Neg", "h", "y");
    add_in(&g, "deep", MESSAGE_F32, 9, DIMS(1, 1, 1, 1, 1, 1, 1, 1, 1));
    m = model(&g, 13);
    check_rejected(s.ctx, &m, TG_ERROR_UNSUPPORTED, "9 axes");
    session_end(&s);
}

Test(onnx_damage, names_are_defined_once_and_before_use)
{
    session s;
    session_begin(&s);
    proto g = two_nodes("Neg", "y", "y");
    proto m = model(&g, 13);
    check_rejected(s.ctx, &m, TG_ERROR_FILE,
                   "m.onnx: Abs 'n':1: no earlier node computes 'y'");
    g = two_nodes("Neg", "h", "h");
    m = model(&g, 13);
    check_rejected(s.ctx, &m, TG_ERROR_FILE,
                   "Abs 'n':1: the value 'h' is defined twice");
    g = two_nodes("Neg", "h", "y");
    add_out(&g, "nowhere");
    m = model(&g, 13);
    check_rejected(s.ctx, &m, TG_ERROR_FILE, "'nowhere'");
    session_end(&s);
}

Test(onnx_damage, nodes_have_the_inputs_of_their_operator)
{
    session s;
    session_begin(&s);
    proto g = two_nodes("Add", "h", "y");
    proto m = model(&g, 13);
    check_rejected(s.ctx, &m, TG_ERROR_FILE, "Add 'n':0: 1 inputs; Add has 2");
    g = two_nodes("Constant", "h", "y");
    m = model(&g, 13);
    check_rejected(s.ctx, &m, TG_ERROR_FILE, "Constant 'n':0: 1 inputs");
    session_end(&s);
}

Test(onnx_damage, shapes_are_checked_by_the_first_trace)
{
    session s;
    session_begin(&s);
    proto g = two_nodes("Neg", "h", "y");
    proto bad = node("MatMul", "x,wide", "z");
    add_node(&g, &bad);
    add_in(&g, "wide", MESSAGE_F32, 2, DIMS(5, 2));
    add_out(&g, "z");
    const proto m = model(&g, 13);
    tg_onnx_model *x = tg_onnx_parse(s.ctx, "m.onnx", m.data, m.n, NULL);
    cr_assert_not_null(x, "%s", tg_error(NULL));
    const tg_spec specs[] = {*tg_onnx_input_spec(x, 0),
                             *tg_onnx_input_spec(x, 1)};
    cr_assert_null(tg_function_concrete(tg_onnx_function(x), specs, 2));
    cr_assert(strstr(tg_error(s.ctx), "m.onnx: MatMul 'n':2: matmul: "), "%s",
              tg_error(s.ctx));
    tg_onnx_model_release(x);
    session_end(&s);
}

Test(onnx_damage, dims_match_the_data)
{
    session s;
    session_begin(&s);
    static const float data[] = {1, 2, 3};
    static const struct {
        int64_t dim;
        tg_status status;
    } cases[] = {{4, TG_ERROR_FILE},
                 {-1, TG_ERROR_FILE},
                 {INT64_MAX, TG_ERROR_OVERFLOW},
                 {0, TG_ERROR_FILE}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        proto g = two_nodes("Neg", "h", "y");
        const proto x = tensor("w", MESSAGE_F32, 2, DIMS(1, cases[i].dim),
                                 data, sizeof(data));
        add_initial(&g, &x);
        const proto m = model(&g, 13);
        check_rejected(s.ctx, &m, cases[i].status, "tensor 'w'");
    }
    session_end(&s);
}

Test(onnx_damage, functions_do_not_call_themselves)
{
    session s;
    session_begin(&s);
    proto f = function("f", "p", "q", 13);
    proto again = node("f", "p", "q");
    put_text(&again, 7, "local");
    put_message(&f, 7, &again);
    proto g = {.n = 0};
    proto call = node("f", "x", "y");
    put_text(&call, 7, "local");
    add_node(&g, &call);
    add_in(&g, "x", MESSAGE_F32, 0, NULL);
    add_out(&g, "y");
    proto m = model(&g, 13);
    put_message(&m, 25, &f);
    check_rejected(s.ctx, &m, TG_ERROR_RECURSION, "f: f 'n':0");
    session_end(&s);
}

/* Functions f0 to f<n>, of which each calls the next one twice. */
Test(onnx_damage, nested_calls_do_not_explode)
{
    session s;
    session_begin(&s);
    enum { N = 28 };
    proto g = {.n = 0};
    proto call = node("f0", "x", "y");
    put_text(&call, 7, "local");
    add_node(&g, &call);
    add_in(&g, "x", MESSAGE_F32, 0, NULL);
    add_out(&g, "y");
    proto m = model(&g, 13);
    for (int i = 0; i <= N; i++) {
        char name[8], next[8];
        snprintf(name, sizeof(name), "f%d", i);
        snprintf(next, sizeof(next), "f%d", i + 1);
        proto f = function(name, "p", "q", 13);
        proto a = node(i < N ? next : "Neg", "p", "h");
        proto b = node(i < N ? next : "Neg", "h", "q");
        if (i < N) {
            put_text(&a, 7, "local");
            put_text(&b, 7, "local");
        }
        put_message(&f, 7, &a);
        put_message(&f, 7, &b);
        put_message(&m, 25, &f);
    }
    tg_onnx_model *x = tg_onnx_parse(s.ctx, "m.onnx", m.data, m.n, NULL);
    cr_assert_not_null(x, "%s", tg_error(NULL));
    float y;
    cr_assert_eq(tg_call(tg_onnx_function(x), TG_ARGS(1.0f), TG_RESULTS(&y)),
                 TG_ERROR_LIMIT, "%s", tg_error(NULL));
    tg_onnx_model_release(x);
    session_end(&s);
}

/* -- Bytes ----------------------------------------------------------------- */

Test(onnx_damage, deep_messages_are_rejected)
{
    session s;
    session_begin(&s);
    /* Attribute 6 holds a graph, whose field 1 is a node, whose field 5 is an
       attribute. Lengths grow from the innermost message outwards. */
    enum { DEPTH = 20000 };
    static const unsigned char keys[] = {1 << 3 | 2, 5 << 3 | 2, 6 << 3 | 2};
    const size_t room = 8 * (size_t)DEPTH + 16;
    unsigned char *all = malloc(room);
    cr_assert_not_null(all);
    size_t at = room;
    for (int i = 0; i < DEPTH; i++) {
        const size_t n = room - at;
        unsigned char length[10];
        size_t k = 0;
        for (size_t rest = n; k == 0 || rest; rest >>= 7)
            length[k++] = (unsigned char)((rest & 127) | (rest > 127 ? 128 : 0));
        cr_assert_gt(at, k + 1);
        at -= k;
        memcpy(all + at, length, k);
        all[--at] = i == DEPTH - 1 ? 7 << 3 | 2 : keys[(DEPTH - 2 - i) % 3];
    }
    cr_assert_null(tg_onnx_parse(s.ctx, "m.onnx", all + at, room - at, NULL));
    cr_assert_eq(tg_error_last()->status, TG_ERROR_FILE, "%s", tg_error(NULL));
    free(all);
    session_end(&s);
}

Test(onnx_damage, truncated_models_are_rejected_or_complete)
{
    session s;
    session_begin(&s);
    proto g = two_nodes("Neg", "h", "y");
    static const float data[] = {1, 2, 3};
    const proto w = tensor("w", MESSAGE_F32, 1, DIMS(3), data, sizeof(data));
    add_initial(&g, &w);
    const proto m = model(&g, 13);
    for (size_t n = 0; n < m.n; n++) {
        /* At the end of the memory, so that ASan finds reads beyond it. */
        unsigned char *bytes = malloc(n + 1);
        memcpy(bytes, m.data, n);
        tg_error_clear();
        tg_onnx_model *x = tg_onnx_parse(s.ctx, "m.onnx", bytes, n, NULL);
        cr_assert(x || *tg_error(NULL), "no message at byte %zu", n);
        cr_assert_null(x, "accepted %zu of %zu bytes", n, m.n);
        free(bytes);
    }
    session_end(&s);
}

/* -- External data --------------------------------------------------------- */

static proto external_model(const char *location, const char *offset)
{
    proto g = two_nodes("Neg", "h", "y"), w = {.n = 0};
    const char *const pairs[] = {"location", location, "offset", offset};
    put_int(&w, 1, 3);
    put_int(&w, 2, MESSAGE_F32);
    put_text(&w, 8, "w");
    for (int i = 0; i < 4; i += 2) {
        proto pair = {.n = 0};
        put_text(&pair, 1, pairs[i]);
        put_text(&pair, 2, pairs[i + 1]);
        put_message(&w, 13, &pair);
    }
    put_int(&w, 14, 1);
    add_initial(&g, &w);
    return model(&g, 13);
}

Test(onnx_damage, external_data_is_below_the_model)
{
    file_session f;
    files_begin(&f);
    static const float data[] = {0, 1, 2, 3};
    static const struct {
        const char *location, *offset, *error;
    } cases[] = {
        {"w.bin", "4", NULL},
        {"w.bin", "8", "are not the external data"},
        {"w.bin", "x", "is invalid"},
        {"w.bin", "99999999999999999999999", "is invalid"},
        {"../w.bin", "4", "not a path below the model"},
        {"/etc/passwd", "4", "not a path below the model"},
        {"missing", "4", "cannot open"},
        {"link", "4", "symbolic link"},
        {"", "4", "not a path below the model"},
        {".", "4", "not a regular file"},
    };
    file_write(&f, "w.bin", data, sizeof(data));
    cr_assert_eq(symlink("w.bin", file_path(&f, "link")), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const proto m = external_model(cases[i].location, cases[i].offset);
        tg_onnx_model *x = tg_onnx_load(
            f.s.ctx, file_write(&f, "m.onnx", m.data, m.n), NULL);
        if (!cases[i].error) {
            cr_assert_not_null(x, "%s", tg_error(NULL));
            float w[3] = {0};
            check_works(tg_variable_get(tg_onnx_variable(x, "w"), w, sizeof(w)));
            cr_assert_eq(memcmp(w, data + 1, sizeof(w)), 0);
        } else {
            cr_assert_null(x, "%s", cases[i].location);
            cr_assert(strstr(tg_error(NULL), cases[i].error), "%s: %s",
                      cases[i].location, tg_error(NULL));
        }
        tg_onnx_model_release(x);
    }
    files_end(&f, 3);
}

/* -- Misuse ---------------------------------------------------------------- */

Test(onnx_damage, misuse_is_an_error)
{
    session s;
    session_begin(&s);
    tg_onnx_options options = {.struct_bytes = 1};
    cr_assert_null(tg_onnx_load(NULL, "m.onnx", NULL));
    cr_assert_null(tg_onnx_load(s.ctx, NULL, NULL));
    cr_assert_null(tg_onnx_load(s.ctx, "/nowhere/m.onnx", NULL));
    cr_assert_eq(tg_error_last()->status, TG_ERROR_FILE);
    cr_assert_null(tg_onnx_load(s.ctx, "/", NULL));
    cr_assert_eq(tg_error_last()->status, TG_ERROR_FILE);
    cr_assert_null(tg_onnx_parse(s.ctx, "m.onnx", NULL, 1, NULL));
    cr_assert_null(tg_onnx_parse(s.ctx, "m.onnx", "", 0, &options));
    cr_assert_eq(tg_error_last()->status, TG_ERROR_INVALID_ARGUMENT);
    cr_assert_null(tg_onnx_parse(s.ctx, "m.onnx", "", 0, NULL));
    cr_assert_null(tg_onnx_tensor_load(s.ctx, NULL));
    cr_assert_null(tg_onnx_function(NULL));
    cr_assert_eq(tg_onnx_input_count(NULL), 0);
    cr_assert_eq(tg_onnx_set_input(NULL, 0, NULL), TG_ERROR_INVALID_ARGUMENT);
    tg_onnx_model_release(NULL);
    session_end(&s);
}
