/* SPDX-License-Identifier: MIT */
/*
 * test_op_matrix.c - every operation with every dtype it accepts, traced and
 * called through the public interface, returns the values of tests/op_matrix.
 * Each case runs in several ways that must make no difference: with arguments,
 * with constants (so that constant folding computes it), with all extents
 * unknown, without passes, and with operands swapped if the operation commutes.
 */
#include "api/op_matrix_functions.h"

#include "interp/kernel.h"
#include "ir/op.h"
#include "jit.h"
#include "support/instrument.h"
#include "tgjit.h"

static const char *const files[] = {"unary", "binary", "ternary",  "cast",
                                    "leaf",  "view",   "index",    "reduce",
                                    "matmul", "random", "composite",
                                    "dynamic", "scatter", "conv", "scan",
                                    "elementwise", "shapes", "places",
                                    "images", "order", "reductions",
                                    "networks", "halves", "halves_functions"};

/* -- Operations by name ---------------------------------------------------- */

typedef struct elementwise {
    const char *name;
    tg_value (*one)(tg_operand, tg_site);
    tg_value (*two)(tg_operand, tg_operand, tg_site);
    tg_value (*three)(tg_operand, tg_operand, tg_operand, tg_site);
} elementwise;

static const elementwise elementwise_ops[] = {
#define X1(op) {.name = #op, .one = tg_##op##_at},
#define X2(op) {.name = #op, .two = tg_##op##_at},
#define X3(op) {.name = #op, .three = tg_##op##_at},
    TG_ELEMENTWISE_OPS(X1, X2, X3)
    TG_ACTIVATIONS(X1, X2, X3)
    X1(relu) X2(softmax_cross_entropy)
    X1(read) X2(assign) X2(assign_add) X2(assign_sub)
};


static tg_value do_cast(const op_case *c, const tg_operand *in)
{
    return tg_cast_at(in[0], c->out[0].dtype, TG_HERE);
}

static tg_value do_bitcast(const op_case *c, const tg_operand *in)
{
    return tg_bitcast_at(in[0], c->out[0].dtype, TG_HERE);
}

static tg_value do_constant(const op_case *c, const tg_operand *in)
{
    (void)in;
    return tg_constant(c->in[0].dtype, c->in[0].rank, c->in[0].dims,
                       c->in[0].data);
}

/* Arguments and variables are returned as they are: tg_return reads them. */
static tg_value do_nothing(const op_case *c, const tg_operand *in)
{
    (void)c;
    return in[0].as.value;
}

static tg_value do_iota(const op_case *c, const tg_operand *in)
{
    int64_t dims[MAX_NUMBERS];
    const int rank = attribute_list(c, "dims", dims);
    (void)in;
    return tg_iota(c->out[0].dtype, rank, dims, (int)attribute(c, "axis"));
}

static tg_value do_extent(const op_case *c, const tg_operand *in)
{
    return tg_extent_at(in[0], (int)attribute(c, "axis"), TG_HERE);
}

static tg_value do_broadcast(const op_case *c, const tg_operand *in)
{
    int64_t dims[MAX_NUMBERS];
    const int rank = attribute_list(c, "dims", dims);
    return tg_broadcast_at(in[0], rank, dims, TG_HERE);
}

static tg_value do_reshape(const op_case *c, const tg_operand *in)
{
    int64_t dims[MAX_NUMBERS];
    const int rank = attribute_list(c, "dims", dims);
    return tg_reshape_at(in[0], rank, dims, TG_HERE);
}


static tg_value do_transpose(const op_case *c, const tg_operand *in)
{
    int perm[MAX_NUMBERS];
    const int n = int_list(c, "perm", perm);
    return tg_transpose_at(in[0], n, perm, TG_HERE);
}

static tg_value do_window(const op_case *c, const tg_operand *in)
{
    int axes[MAX_NUMBERS];
    int64_t sizes[MAX_NUMBERS], strides[MAX_NUMBERS], dilations[MAX_NUMBERS];
    attribute_list(c, "sizes", sizes);
    attribute_list(c, "strides", strides);
    attribute_list(c, "dilations", dilations);
    return tg_windows_at(in[0], int_list(c, "axes", axes), axes, sizes,
                         strides, dilations, TG_HERE);
}

static tg_value do_conv(const op_case *c, const tg_operand *in)
{
    tg_conv_options options = {.struct_bytes = sizeof(options)};
    int64_t strides[MAX_NUMBERS], dilations[MAX_NUMBERS];
    const int n = attribute_list(c, "strides", strides);
    attribute_list(c, "dilations", dilations);
    for (int i = 0; i < n; i++) {
        options.stride[i] = strides[i];
        options.dilation[i] = dilations[i];
    }
    return tg_conv_at(in[0], in[1], n, &options, TG_HERE);
}

static tg_value do_linear_scan(const op_case *c, const tg_operand *in)
{
    return tg_linear_scan_at(in[0], in[1], (int)attribute(c, "axis"),
                             attribute(c, "one") != 0, TG_HERE);
}

static tg_value do_slice(const op_case *c, const tg_operand *in)
{
    return tg_slice_at(in[0], (int)attribute(c, "axis"),
                       attribute(c, "start"), attribute(c, "stop"),
                       attribute(c, "step"), TG_HERE);
}

static tg_value do_pad(const op_case *c, const tg_operand *in)
{
    return tg_pad_at(in[0], (int)attribute(c, "axis"), attribute(c, "low"),
                     attribute(c, "high"), in[1], TG_HERE);
}

static tg_value do_concat(const op_case *c, const tg_operand *in)
{
    return tg_concat_at((int)attribute(c, "axis"), in, c->n_in, TG_HERE);
}

static tg_value do_gather(const op_case *c, const tg_operand *in)
{
    return tg_gather_at(in[0], in[1], (int)attribute(c, "axis"),
                        (tg_gather_mode)attribute(c, "mode"), TG_HERE);
}

static tg_value do_dynamic_slice(const op_case *c, const tg_operand *in)
{
    return tg_dynamic_slice_at(in[0], (int)attribute(c, "axis"), in[1],
                               attribute(c, "size"), TG_HERE);
}

static tg_value do_dynamic_update(const op_case *c, const tg_operand *in)
{
    return tg_dynamic_update_slice_at(in[0], in[1], (int)attribute(c, "axis"),
                                      in[2], TG_HERE);
}

static tg_value do_scatter(const op_case *c, const tg_operand *in)
{
    return tg_scatter_at(in[0], in[1], in[2], (int)attribute(c, "axis"),
                         (tg_scatter_mode)attribute(c, "mode"),
                         (tg_scatter_range)attribute(c, "range"), TG_HERE);
}


#define DEFINE_REDUCTION(name) \
    static tg_value do_##name(const op_case *c, const tg_operand *in) \
    { \
        return tg_##name##_at(in[0], axes_of(c), TG_HERE); \
    }
DEFINE_REDUCTION(sum)
DEFINE_REDUCTION(prod)
DEFINE_REDUCTION(reduce_max)
DEFINE_REDUCTION(reduce_min)
DEFINE_REDUCTION(mean)
DEFINE_REDUCTION(any)
DEFINE_REDUCTION(all)

#define DEFINE_BY_AXIS(name) \
    static tg_value do_##name(const op_case *c, const tg_operand *in) \
    { \
        return tg_##name##_at(in[0], (int)attribute(c, "axis"), TG_HERE); \
    }
DEFINE_BY_AXIS(argmax)
DEFINE_BY_AXIS(argmin)
DEFINE_BY_AXIS(softmax)
DEFINE_BY_AXIS(log_softmax)

static tg_value do_layer_norm(const op_case *c, const tg_operand *in)
{
    (void)c;
    return tg_layer_norm_at(in[0], in[1], in[2], 1e-5, TG_HERE);
}

static tg_value do_matmul(const op_case *c, const tg_operand *in)
{
    return tg_matmul_with_at(in[0], in[1], (int)attribute(c, "flags"),
                             TG_HERE);
}

static tg_value do_random_bits(const op_case *c, const tg_operand *in)
{
    int64_t dims[MAX_NUMBERS];
    const int rank = attribute_list(c, "dims", dims);
    return tg_random_bits_at(c->out[0].dtype, in[0], in[1], rank, dims,
                             TG_HERE);
}

static tg_value do_random_uniform(const op_case *c, const tg_operand *in)
{
    int64_t dims[MAX_NUMBERS];
    const int rank = attribute_list(c, "dims", dims);
    return tg_random_uniform_at(in[0], c->out[0].dtype, rank, dims, TG_HERE);
}

static tg_value do_random_normal(const op_case *c, const tg_operand *in)
{
    int64_t dims[MAX_NUMBERS];
    const int rank = attribute_list(c, "dims", dims);
    return tg_random_normal_at(in[0], c->out[0].dtype, rank, dims, TG_HERE);
}

static tg_function *swapping; /* returns its two arguments swapped */

static tg_value do_call(const op_case *c, const tg_operand *in)
{
    tg_value results[2];
    tg_apply_at(swapping, in, 2, results, 2, TG_HERE);
    return results[attribute(c, "index")];
}

static void return_first(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[0]);
}

static void return_second(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[1]);
}

static tg_value do_switch(const op_case *c, const tg_operand *in)
{
    tg_callback *const branches[] = {return_first, return_second};
    tg_value result;
    tg_switch_at(tg_in_i64(attribute(c, "index")), branches, 2, NULL, in, 2,
                 &result, 1, TG_HERE);
    return result;
}

static void swap_carried(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[2], in[1]);
}

static tg_value do_loop(const op_case *c, const tg_operand *in)
{
    tg_value result;
    tg_for_at(tg_in_i64(attribute(c, "iterations")), swap_carried, NULL, in, 2,
              &result, 1, TG_HERE);
    return result;
}

static const struct {
    const char *name;
    apply_function *apply;
} other_ops[] = {
#define ROW(name) {#name, do_##name}
    ROW(cast),        ROW(bitcast),        ROW(constant),       ROW(iota),
    ROW(extent),      ROW(broadcast),      ROW(reshape),
    ROW(transpose),   ROW(slice),          ROW(pad),
    ROW(concat),      ROW(gather),         ROW(sum),
    ROW(prod),        ROW(reduce_max),     ROW(reduce_min),
    ROW(mean),        ROW(any),            ROW(all),
    ROW(argmax),      ROW(argmin),         ROW(softmax),
    ROW(log_softmax), ROW(layer_norm),     ROW(matmul),
    ROW(random_bits), ROW(random_uniform), ROW(random_normal),
    ROW(call),        {"result", do_call}, {"param", do_nothing},
    {"variable", do_nothing},
    ROW(dynamic_slice), ROW(dynamic_update), ROW(scatter),
    ROW(switch),      ROW(loop),           ROW(window),
    ROW(conv),        ROW(linear_scan),
};

/* The value of the case's operation; invalid if there is no such operation. */
static tg_value apply_named(const op_case *c, const tg_operand *in)
{
    for (size_t i = 0; i < sizeof(other_ops) / sizeof(*other_ops); i++)
        if (strcmp(other_ops[i].name, c->name) == 0)
            return other_ops[i].apply(c, in);
    for (const named_function *f = matrix_functions; f->name; f++)
        if (strcmp(f->name, c->name) == 0)
            return f->apply(c, in);
    for (size_t i = 0; i < sizeof(elementwise_ops) / sizeof(*elementwise_ops);
         i++) {
        const elementwise *op = &elementwise_ops[i];
        if (strcmp(op->name, c->name) != 0)
            continue;
        const size_t n = op->one ? 1 : op->two ? 2 : 3;
        cr_assert_eq(c->n_in, n, "%s:%d: %s", c->file, c->line, c->name);
        return op->one   ? op->one(in[0], TG_HERE)
               : op->two ? op->two(in[0], in[1], TG_HERE)
                         : op->three(in[0], in[1], in[2], TG_HERE);
    }
    cr_assert_fail("%s:%d: %s is unknown", c->file, c->line, c->name);
    return (tg_value){0, 0};
}

static int row_named(const char *name)
{
    for (int op = 1; op < TGI_OPS; op++)
        if (strcmp(tgi_op_table[op].name, name) == 0)
            return op;
    return TGI_OP_NONE;
}

/* -- Running a case -------------------------------------------------------- */

typedef enum way { ARGUMENTS, CONSTANTS, RELAXED, NO_PASSES, SWAPPED } way;
enum { WAYS = 5 };
static const char *const way_names[WAYS] = {
    "with arguments", "with constants", "with unknown extents",
    "without passes", "with operands swapped"};

static bool takes_variable(const op_case *c)
{
    static const char *const names[] = {"variable", "read", "assign",
                                        "assign_add", "assign_sub"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i], c->name) == 0)
            return true;
    return false;
}

static bool is_done(const op_case *c, way how)
{
    const int op = row_named(c->name);
    if (how == CONSTANTS)
        return !takes_variable(c) && strcmp(c->name, "param") != 0;
    if (how == SWAPPED)
        return op && tgi_op_has(op, TGI_FLAG_COMMUTATIVE);
    return true;
}

typedef struct run {
    const op_case *c;
    way how;
    tg_tensor *tensors[MAX_INPUTS];
    tg_variable *variable;
} run;

static void callback(tg_trace *t, const tg_value *in, void *user)
{
    const run *r = user;
    tg_operand operands[MAX_INPUTS];
    for (size_t i = 0; i < r->c->n_in; i++)
        operands[i] = r->how == CONSTANTS ? tg_in_tensor(r->tensors[i])
                                          : tg_in_value(in[i]);
    if (r->c->has_text)
        tg_print(t, "%v", operands[0]);
    else
        tg_return(t, apply_named(r->c, operands));
}

static void swap_arguments(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[1], in[0]);
}

static char printed[160];

static void keep_printed(const char *text, void *user)
{
    (void)user;
    snprintf(printed, sizeof(printed), "%s", text);
}

static void show(tg_dtype dtype, const void *element, char text[64])
{
    uint64_t bits = 0;
    char number[40];
    memcpy(&bits, element, tg_dtype_bytes(dtype));
    tgi_dtype_format(dtype, element, number, sizeof(number));
    snprintf(text, 64, "%s (%0*" PRIx64 ")", number,
             2 * (int)tg_dtype_bytes(dtype), bits);
}

static void compare(const run *r, const expected *want, const void *got)
{
    const op_case *c = r->c;
    for (int64_t i = 0; i < want->reference.count; i++) {
        if (element_fits(want, got, i))
            continue;
        char is[64], should[64];
        const size_t bytes = tg_dtype_bytes(want->dtype);
        const size_t width = tg_dtype_bytes(want->reference.dtype);
        show(want->dtype, (const char *)got + (size_t)i * bytes, is);
        show(want->reference.dtype,
             (const char *)want->reference.data + (size_t)i * width, should);
        cr_assert_fail("%s.txt:%d: %s%s of %s %s: element %" PRId64
                       " is %s, not %s",
                       c->file, c->line, c->name, c->attributes,
                       c->n_in ? tg_dtype_name(c->in[0].dtype) : "nothing",
                       way_names[r->how], i, is, should);
    }
}

static void check_result(const run *r, tg_tensor *result)
{
    const op_case *c = r->c;
    const expected *want = &c->out[0];
    cr_assert_eq(tg_tensor_dtype(result), want->dtype, "%s.txt:%d: %s",
                 c->file, c->line, c->name);
    cr_assert(tg_tensor_rank(result) == want->reference.rank &&
                  memcmp(tg_tensor_dims(result), want->reference.dims,
                         (size_t)want->reference.rank * sizeof(int64_t)) == 0,
              "%s.txt:%d: %s %s: another shape", c->file, c->line, c->name,
              way_names[r->how]);
    compare(r, want, tg_tensor_data(result));
    if (!r->variable)
        return;
    compare(r, &c->out[c->n_out - 1], tg_variable_map(r->variable, TG_READ));
    tg_variable_unmap(r->variable);
}

static void run_case(tg_context *ctx, const op_case *c, way how)
{
    run r = {.c = c, .how = how};
    tg_operand args[MAX_INPUTS];
    for (size_t i = 0; i < c->n_in; i++) {
        const elements *e = &c->in[how == SWAPPED ? c->n_in - 1 - i : i];
        r.tensors[i] =
            tg_tensor_wrap(ctx, e->data, e->dtype, e->rank, e->dims);
        cr_assert_not_null(r.tensors[i]);
        args[i] = tg_in_tensor(r.tensors[i]);
    }
    if (takes_variable(c)) {
        r.variable = tg_variable_create(ctx, "v", c->in[0].dtype,
                                        c->in[0].rank, c->in[0].dims,
                                        tg_from_data(c->in[0].data));
        cr_assert_not_null(r.variable);
        args[0] = tg_in_variable(r.variable);
    }
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.policy = how == RELAXED ? TG_RELAXED : TG_EXACT;
    tg_function *f =
        tg_function_create_named(ctx, c->name, callback, &r, &options);
    tg_tensor *result = NULL;
    printed[0] = '\0';
    const tg_status status = tg_call_at(f, args, how == CONSTANTS ? 0 : c->n_in,
                                        (const tg_result[]){TG_OUT(&result)},
                                        c->n_out ? 1 : 0, TG_HERE);
    cr_assert_eq(status, TG_OK, "%s.txt:%d: %s %s: %s", c->file, c->line,
                 c->name, way_names[how], tg_error(ctx));
    if (c->has_text)
        cr_assert_str_eq(printed, c->text, "%s.txt:%d: %s", c->file, c->line,
                         printed);
    else
        check_result(&r, result);
    tg_tensor_release(result);
    tg_function_release(f);
    tg_variable_release(r.variable);
    for (size_t i = 0; i < c->n_in; i++)
        tg_tensor_release(r.tensors[i]);
}

/* Selects the cases of a file whose number is `first` modulo `step`. */
typedef struct share {
    const char *jit;
    size_t first, step;
} share;

static void run_file(const char *file, way how, share of)
{
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.print_callback = keep_printed;
    options.jit = of.jit;
    if (how == NO_PASSES) /* calls that are not inlined are not compiled */
        options.skip_passes =
            strcmp(of.jit, "off") == 0
                ? "inline,layout,crop,shape,distribute,fold,simplify,hoist,dead"
                : "layout,crop,shape,distribute,fold,simplify,dead";
    tg_context *ctx = tg_context_create(&options);
    swapping = tg_function_create(ctx, swap_arguments, NULL, NULL);
    matrix m = matrix_open(file);
    op_case c;
    size_t n = 0;
    for (; read_case(&m, &c); n++) {
        if (n % of.step == of.first && is_done(&c, how))
            run_case(ctx, &c, how);
        free_case(&c);
    }
    cr_assert_gt(n, 0, "%s.txt has no cases", file);
    matrix_close(&m);
    tg_function_release(swapping);
    tg_context_release(ctx);
    check_nothing_is_alive();
}

static void run_files(way how, share of)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        run_file(files[i], how, of);
}

#define RUN(how) run_files(how, (share){"off", 0, 1})

Test(op_matrix, holds_for_arguments)
{
    RUN(ARGUMENTS);
}

Test(op_matrix, holds_for_constants)
{
    RUN(CONSTANTS);
}

Test(op_matrix, holds_for_unknown_extents)
{
    RUN(RELAXED);
}

Test(op_matrix, holds_without_passes)
{
    RUN(NO_PASSES);
}

Test(op_matrix, holds_for_swapped_operands_where_they_commute)
{
    RUN(SWAPPED);
}

/* The same, compiled: each case in one way, every second one skipped.
   TGJIT_TEST_ALL: all cases in all ways, which takes minutes. */
static void run_compiled(way how, size_t first)
{
    char text[256];
    if (!tgi_jit_describe(text, sizeof(text)))
        cr_skip_test("%s", text);
    instrument_compiled_code();
    run_files(how, getenv("TGJIT_TEST_ALL") ? (share){"required", 0, 1}
                                            : (share){"required", first, 8});
}

Test(op_matrix, holds_compiled_for_arguments)
{
    run_compiled(ARGUMENTS, 0);
}

Test(op_matrix, holds_compiled_for_unknown_extents)
{
    run_compiled(RELAXED, 2);
}

Test(op_matrix, holds_compiled_without_passes)
{
    run_compiled(NO_PASSES, 4);
}

Test(op_matrix, holds_compiled_for_swapped_operands)
{
    run_compiled(SWAPPED, 6);
}

/* -- Failed allocations ---------------------------------------------------- */

static const op_case *failing; /* the case whose allocations fail */

/* Traces and calls the function of a case. False if that fails. */
static bool fault_scenario(void)
{
    const op_case *c = failing;
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.print_callback = keep_printed;
    options.jit = "off";
    options.log = "off";
    run r = {.c = c, .how = ARGUMENTS};
    tg_operand args[MAX_INPUTS];
    tg_function *f = NULL;
    tg_tensor *result = NULL;
    tg_context *ctx = tg_context_create(&options);
    swapping = ctx ? tg_function_create(ctx, swap_arguments, NULL, NULL) : NULL;
    bool good = swapping != NULL;
    for (size_t i = 0; i < c->n_in && good; i++) {
        const elements *e = &c->in[i];
        r.tensors[i] =
            tg_tensor_wrap(ctx, e->data, e->dtype, e->rank, e->dims);
        args[i] = tg_in_tensor(r.tensors[i]);
        good = r.tensors[i] != NULL;
    }
    if (good && takes_variable(c)) {
        r.variable = tg_variable_create(ctx, "v", c->in[0].dtype,
                                        c->in[0].rank, c->in[0].dims,
                                        tg_from_data(c->in[0].data));
        good = r.variable != NULL;
        args[0] = tg_in_variable(r.variable);
    }
    good = good && (f = tg_function_create(ctx, callback, &r, NULL)) &&
           tg_call_at(f, args, c->n_in,
                      (const tg_result[]){TG_OUT(&result)}, c->n_out ? 1 : 0,
                      TG_HERE) == TG_OK;
    if (good && !c->has_text)
        check_result(&r, result);
    tg_tensor_release(result);
    tg_function_release(f);
    tg_function_release(swapping);
    tg_variable_release(r.variable);
    for (size_t i = 0; i < c->n_in; i++)
        tg_tensor_release(r.tensors[i]);
    tg_context_release(ctx);
    return good;
}

/* The first case of each operation, by every allocation that it makes. */
Test(op_matrix, survives_every_failed_allocation)
{
    enum { MANY = 400, LEAST = 190 };
    static char names[MANY][32];
    size_t n_names = 0;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        matrix m = matrix_open(files[i]);
        for (op_case c; read_case(&m, &c); free_case(&c)) {
            size_t k = 0;
            while (k < n_names && strcmp(names[k], c.name) != 0)
                k++;
            if (k < n_names)
                continue;
            cr_assert_lt(n_names, MANY);
            strcpy(names[n_names++], c.name);
            failing = &c;
            check_every_fault(fault_scenario);
        }
        matrix_close(&m);
    }
    cr_assert_gt(n_names, LEAST, "only %zu operations", n_names);
}

/* -- Nothing is missing ---------------------------------------------------- */

/* The dtype of a case: that of the first data operand, or else of the
   result. */
static tg_dtype type_of(const op_case *c, int op)
{
    if (op == TGI_OP_SELECT)
        return c->in[1].dtype;
    if (op == TGI_OP_RANDOM_BITS || c->n_in == 0)
        return c->out[0].dtype;
    return c->in[0].dtype;
}

/* Random words have two dtypes, whatever the key's. test_host_call.c tests
   host calls, test_semantics_assert.c FAIL. */
static bool is_taken(int op, int dtype)
{
    return tgi_dtype_is_valid(dtype) && op != TGI_OP_HOST &&
           op != TGI_OP_FAIL &&
           op != TGI_OP_UNSET && /* its elements are unspecified */
           (op == TGI_OP_RANDOM_BITS
                ? tgi_kernel_random(dtype) != NULL
                : tgi_dtype_is(dtype, tgi_op_table[op].types));
}

/* True for rows that are computed for halves too. */
static bool computes(int op)
{
    switch (tgi_op_table[op].cls) {
    case TGI_OPCLASS_UNARY:
    case TGI_OPCLASS_BINARY:
    case TGI_OPCLASS_TERNARY:
    case TGI_OPCLASS_REDUCE:
    case TGI_OPCLASS_SCAN:
    case TGI_OPCLASS_MATMUL:
    case TGI_OPCLASS_CONV:
        return true;
    default:
        return false;
    }
}

Test(op_matrix, has_every_row_of_the_table_with_every_type_it_takes)
{
    static bool has[TGI_OPS][TGI_DTYPES];
    static bool casts[TGI_DTYPES][TGI_DTYPES];
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        matrix m = matrix_open(files[i]);
        op_case c;
        while (read_case(&m, &c)) {
            const int op = row_named(c.name);
            has[op][op ? type_of(&c, op) : 0] = true;
            if (op == TGI_OP_CAST)
                casts[c.in[0].dtype][c.out[0].dtype] = true;
            free_case(&c);
        }
        matrix_close(&m);
    }
    for (int op = 1; op < TGI_OPS; op++)
        for (int dtype = 0; dtype < TGI_DTYPES; dtype++) {
            const char *name = tg_dtype_name((tg_dtype)dtype);
            /* Not rows of halves, but built of rows of f32. */
            if (tgi_dtype_is(dtype, TGI_CLASS_HALF) &&
                tgi_op_table[op].types & TGI_CLASS_FLOAT &&
                !is_taken(op, dtype)) {
                cr_expect(has[op][dtype] || !computes(op),
                          "%s of %s has no expected values",
                          tgi_op_table[op].name, name);
                continue;
            }
            cr_expect_eq(has[op][dtype], is_taken(op, dtype), "%s of %s %s",
                         tgi_op_table[op].name, name,
                         has[op][dtype] ? "has expected values but is no row"
                                        : "has no expected values");
            for (int to = 0; op == TGI_OP_CAST && to < TGI_DTYPES; to++)
                cr_expect_eq(casts[dtype][to],
                             is_taken(op, dtype) && is_taken(op, to),
                             "cast of %s to %s", name,
                             tg_dtype_name((tg_dtype)to));
        }
}

/* Also operations that are not rows: names of the lists in ops.h. */
Test(op_matrix, has_every_elementwise_function)
{
    for (size_t i = 0; i < sizeof(elementwise_ops) / sizeof(*elementwise_ops);
         i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++) {
            matrix m = matrix_open(files[k]);
            op_case c;
            while (read_case(&m, &c)) {
                found |= strcmp(c.name, elementwise_ops[i].name) == 0;
                free_case(&c);
            }
            matrix_close(&m);
        }
        cr_expect(found, "%s has no expected values",
                  elementwise_ops[i].name);
    }
}

/* An operand that the operation accepts: an integer, a bool or x. */
static tg_value operand_of(const char *name, tg_value x)
{
    for (size_t op = 1; op < TGI_OPS; op++) {
        const unsigned types = tgi_op_table[op].types;
        if (strcmp(tgi_op_table[op].name, name) == 0 &&
            !(types & TGI_CLASS_FLOAT))
            return tg_cast(x, TG_I32);
    }
    return strcmp(name, "select") == 0 ? tg_gt(x, 0) : x;
}

static void use_macros(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value x = in[0];
    (void)user;
#define CHECK(op, ...) \
    cr_assert(tg_is_valid(__VA_ARGS__), "%s: %s", #op, tg_error(NULL));
#define USE_1(op) CHECK(op, tg_##op(operand_of(#op, x)))
#define USE_2(op) CHECK(op, tg_##op(operand_of(#op, x), operand_of(#op, x)))
#define USE_3(op) CHECK(op, tg_##op(operand_of(#op, x), x, x))
    TG_ELEMENTWISE_OPS(USE_1, USE_2, USE_3)
    TG_ACTIVATIONS(USE_1, USE_2, USE_3)
    tg_return(t, x);
}

/* A name of the list without a macro in ops_macros.h does not compile. */
Test(op_matrix, every_elementwise_function_has_its_macro)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_function *f = tg_function_create(ctx, use_macros, NULL, NULL);
    cr_assert_eq(tg_call(f, TG_ARGS(0.5), TG_RESULTS()), TG_OK, "%s",
                 tg_error(ctx));
    tg_function_release(f);
    tg_context_release(ctx);
    check_nothing_is_alive();
}
