/* SPDX-License-Identifier: MIT */
/*
 * export_cases.c - export-cases FOLDER [CPU]: exports functions of many kinds to
 * the folder and writes main.c there, a program that calls each with the data of
 * an interpreted call and compares the bytes. check-export.sh compiles and runs
 * it; long-aarch64.sh does for another machine.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgjit.h>

enum { MAX_ARGS = 4, CALLS = 2 };

typedef struct argument {
    tg_spec_kind kind; /* TENSOR or VARIABLE */
    tg_dtype dtype;
    int rank;
    int64_t dims[2];
    int from, below; /* range of integers; 0, 0: any */
} argument;

typedef struct test_case {
    const char *name;
    tg_callback *callback;
    argument args[MAX_ARGS]; /* ends at one without a dtype */
    bool captures;       /* captures a variable f32[7] */
    bool fails;
    int n_results;
    tg_export_memory memory;
    int threads;
} test_case;

static FILE *out;

static void die(const char *what)
{
    fprintf(stderr, "export-cases: %s: %s\n", what, tg_error(NULL));
    exit(1);
}

static void put(const char *format, ...) TG_PRINTF(1, 2);

static void put(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(out, format, args);
    va_end(args);
}

/* -- Functions ------------------------------------------------------------- */

static void chain(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_sub(tg_mul(tg_tanh(tg_add(tg_mul(in[0], in[1]), 0.5)),
                               tg_sigmoid(in[0])),
                        tg_mul(in[0], 0.5)));
}

static void softmax(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_softmax(in[0], -1));
}

static void layer_norm(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_layer_norm(in[0], in[1], in[2], 1e-5));
}

/* Has several kernels, hence temporaries. */
static void reductions(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value e = tg_exp(tg_mul(in[0], 0.01));
    tg_value columns = tg_sum(e, TG_AXES(0));
    tg_return(t, tg_sum(e, TG_ALL_AXES), tg_reduce_max(in[0], TG_AXES(1)),
              tg_div(e, columns), tg_argmax(in[0], 1));
}

static void product(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_matmul(tg_sqrt(tg_abs(in[0])),
                           tg_transpose(in[0], TG_PERM(1, 0))));
}

static void straight_line(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value s = tg_sum(tg_mul(in[0], in[1]), TG_ALL_AXES);
    tg_return(t, tg_add(in[0], s), s);
}

/* in: x, v, w (w is only assigned) */
static void update(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value before = tg_read(in[1]);
    tg_assign_add(in[1], tg_mul(tg_sub(in[0], in[1]), 0.25));
    tg_assign(in[2], tg_mul(before, 2));
    tg_return(t, before);
}

static void captured(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *v = user;
    tg_assign_add(v, in[0]);
    tg_return(t, tg_mul(v, 3));
}

static void integers(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    static const int32_t table[] = {3, -1, 4, 1, -5, 9, 2, -6};
    tg_value constant = tg_constant(TG_I32, TG_DIMS(8), table);
    tg_value remainder = tg_rem(in[0], tg_sub(in[1], 3));
    tg_return(t, tg_add(tg_div(in[0], in[1]), constant),
              tg_cast(remainder, TG_I8), tg_lt(in[0], constant));
}

/* Small dtypes, passed by value. */
static void small(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_select(in[1], tg_add(in[0], in[2]), in[0]),
              tg_cast(in[3], TG_F64));
}

static void gather(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(tg_gather(in[0], in[1], 0), 2));
}

/* Sets a row of a variable and adds to others. */
static void place(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_assign(in[0], tg_dynamic_update_slice(in[0], in[1], 0, in[2]));
    tg_value rows = tg_broadcast(in[1], TG_DIMS(20, 5));
    tg_assign(in[0], tg_scatter(in[0], in[3], rows, 0, TG_SCATTER_ADD));
    tg_return(t, tg_dynamic_slice(in[0], 0, in[2], 3));
}

/* No inputs; returns a constant and an empty tensor. */
static void empty(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], 1), tg_sum(in[0], TG_ALL_AXES),
              tg_iota(TG_I64, TG_DIMS(5), 0));
}

#define ARGUMENT(kind_, dtype_, rank_, from_, below_, ...) \
    {.kind = TG_SPEC_##kind_, .dtype = TG_##dtype_, .rank = rank_, \
     .dims = {__VA_ARGS__}, .from = from_, .below = below_}
#define TENSOR(dtype, rank, ...) \
    ARGUMENT(TENSOR, dtype, rank, 0, 0, __VA_ARGS__)
#define VARIABLE(dtype, rank, ...) \
    ARGUMENT(VARIABLE, dtype, rank, 0, 0, __VA_ARGS__)
#define INDICES(from, below, dtype, rank, ...) \
    ARGUMENT(TENSOR, dtype, rank, from, below, __VA_ARGS__)

static const test_case cases[] = {
    {"chain", chain,
     {TENSOR(F32, 1, 1003), TENSOR(F32, 0, 0)}, .n_results = 1},
    {"chain_of_doubles", chain,
     {TENSOR(F64, 2, 3, 37), TENSOR(F64, 0, 0)}, .n_results = 1,
     .memory = TG_EXPORT_CALLER},
    {"chain_of_team", chain,
     {TENSOR(F32, 2, 100, 1003), TENSOR(F32, 1, 1003)},
     .n_results = 1, .threads = 2},
    {"softmax_rows", softmax, {TENSOR(F32, 2, 33, 129)}, .n_results = 1},
    {"softmax_of_team", softmax, {TENSOR(F32, 2, 257, 300)},
     .n_results = 1, .threads = 4, .memory = TG_EXPORT_CALLER},
    {"layer_norm", layer_norm,
     {TENSOR(F32, 2, 17, 100), TENSOR(F32, 1, 100),
      TENSOR(F32, 1, 100)}, .n_results = 1},
    {"reductions", reductions, {TENSOR(F32, 2, 150, 41)},
     .n_results = 4},
    {"reductions_of_caller", reductions, {TENSOR(F64, 2, 150, 41)},
     .n_results = 4, .memory = TG_EXPORT_CALLER},
    {"reductions_of_team", reductions, {TENSOR(F32, 2, 1500, 210)},
     .n_results = 4, .threads = 3},
    {"product", product, {TENSOR(F32, 2, 20, 30)}, .n_results = 1},
    {"straight_line", straight_line,
     {TENSOR(F32, 1, 3), TENSOR(F32, 1, 3)}, .n_results = 2},
    {"update", update,
     {TENSOR(F32, 1, 70), VARIABLE(F32, 1, 70),
      VARIABLE(F32, 1, 70)}, .n_results = 1},
    {"captured", captured, {TENSOR(F32, 1, 7)}, .captures = true,
     .n_results = 1},
    {"integers", integers,
     {TENSOR(I32, 1, 8), TENSOR(I32, 0, 0)}, .n_results = 3},
    {"small", small,
     {TENSOR(I16, 1, 9), INDICES(0, 2, BOOL, 0, 0),
      TENSOR(I16, 0, 0), TENSOR(U8, 0, 0)}, .n_results = 2},
    {"gather_good", gather,
     {TENSOR(F32, 2, 10, 5), INDICES(0, 10, I64, 1, 20)},
     .n_results = 1},
    {"gather_bad", gather,
     {TENSOR(F32, 2, 10, 5), INDICES(5, 12, I64, 1, 20)},
     .n_results = 1, .fails = true},
    {"gather_bad_of_team", gather,
     {TENSOR(F32, 2, 10, 500), INDICES(5, 12, I64, 1, 2000)},
     .n_results = 1, .fails = true, .threads = 2},
    {"place_good", place,
     {VARIABLE(F32, 2, 10, 5), TENSOR(F32, 2, 1, 5), INDICES(0, 12, I64, 0, 0),
      INDICES(0, 10, I64, 1, 20)}, .n_results = 1},
    {"place_bad", place,
     {VARIABLE(F32, 2, 10, 5), TENSOR(F32, 2, 1, 5), INDICES(0, 12, I64, 0, 0),
      INDICES(5, 12, I64, 1, 20)}, .n_results = 1, .fails = true},
    {"empty", empty, {TENSOR(F32, 2, 0, 4)}, .n_results = 3},
};

/* -- Data ------------------------------------------------------------------ */

static int64_t count_of(const argument *arg)
{
    int64_t n = 1;
    for (int axis = 0; axis < arg->rank; axis++)
        n *= arg->dims[axis];
    return n;
}

static double number_of(const argument *arg, uint64_t random, bool is_float)
{
    if (arg->below)
        return arg->from +
               (double)(random % (uint64_t)(arg->below - arg->from));
    if (is_float && random % 17 == 0)
        return 1e-39 * (double)(random % 9); /* a denormal float */
    return is_float ? (double)(random % 2001) / 250 - 4
                    : (double)(random % 101);
}

/* Reproducible elements. */
static void fill(const argument *arg, size_t number, void *data)
{
    uint64_t state = 88172645463325252u + number;
    for (int64_t i = 0; i < count_of(arg); i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const double x = number_of(
            arg, state >> 20, arg->dtype == TG_F32 || arg->dtype == TG_F64);
        switch (arg->dtype) {
        case TG_F32:
            ((float *)data)[i] = (float)x;
            break;
        case TG_F64:
            ((double *)data)[i] = x;
            break;
        case TG_I64:
            ((int64_t *)data)[i] = (int64_t)x;
            break;
        case TG_I32:
            ((int32_t *)data)[i] = (int32_t)x - 50;
            break;
        case TG_I16:
            ((int16_t *)data)[i] = (int16_t)(x - 50);
            break;
        default:
            ((uint8_t *)data)[i] = (uint8_t)x;
        }
    }
}

static void put_data(const char *name, const char *what, size_t number,
                     const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    put("static _Alignas(64) unsigned char %s_%s%zu[] = {", name, what, number);
    for (size_t i = 0; i < bytes; i++)
        put("%s%u,", i % 24 ? "" : "\n", byte[i]);
    put("0};\n");
}

/* -- A case ---------------------------------------------------------------- */

static const argument captured_spec = VARIABLE(F32, 1, 7);

typedef struct run {
    const test_case *test;
    tg_context *ctx;
    size_t n_args;
    tg_tensor *tensors[MAX_ARGS];
    tg_variable *variables[MAX_ARGS + 1]; /* the last is captured */
    tg_operand operands[MAX_ARGS];
    tg_spec specs[MAX_ARGS];
    tg_tensor *results[MAX_ARGS];
} run;

static tg_variable *make_variable(run *r, const argument *arg, size_t number)
{
    char name[32];
    snprintf(name, sizeof(name), "*/ v%zu", number);
    tg_variable *v = tg_variable_create(r->ctx, name, arg->dtype, arg->rank,
                                        arg->dims, tg_zeros());
    if (!v)
        die("variable");
    void *data = tg_variable_map(v, TG_WRITE);
    fill(arg, number, data);
    put_data(r->test->name, "data", number, data, tg_variable_bytes(v));
    if (tg_variable_unmap(v))
        die("unmap");
    return v;
}

static void make_arguments(run *r)
{
    for (size_t i = 0; i < MAX_ARGS && r->test->args[i].dtype;
         i++, r->n_args++) {
        const argument *arg = &r->test->args[i];
        if (arg->kind == TG_SPEC_VARIABLE) {
            r->specs[i] = tg_spec_variable(arg->dtype, arg->rank, arg->dims);
            r->variables[i] = make_variable(r, arg, i);
            r->operands[i] = TG_IN(r->variables[i]);
            continue;
        }
        r->specs[i] = tg_spec_tensor(arg->dtype, arg->rank, arg->dims);
        r->tensors[i] = tg_tensor_create(r->ctx, arg->dtype, arg->rank,
                                         arg->dims, tg_zeros());
        if (!r->tensors[i])
            die("tensor");
        fill(arg, i, tg_tensor_data(r->tensors[i]));
        put_data(r->test->name, "data", i, tg_tensor_data(r->tensors[i]),
                 tg_tensor_bytes(r->tensors[i]));
        r->operands[i] = TG_IN(r->tensors[i]);
    }
    if (r->test->captures)
        r->variables[MAX_ARGS] = make_variable(r, &captured_spec, MAX_ARGS);
}

static const char *c_name(tg_dtype dtype)
{
    return dtype == TG_F32   ? "float"
           : dtype == TG_F64 ? "double"
           : dtype == TG_I32 ? "int32_t"
           : dtype == TG_I16 ? "int16_t"
                             : "uint8_t";
}

static void put_call(const run *r)
{
    const char *name = r->test->name;
    const char *between = "";
    put("        failed = %s(", name);
    for (size_t i = 0; i < r->n_args; i++, between = ", ")
        if (r->test->args[i].rank || r->variables[i])
            put("%s(void *)%s_data%zu", between, name, i);
        else
            put("%s*(%s *)(void *)%s_data%zu", between,
                c_name(r->test->args[i].dtype), name, i);
    if (r->test->captures)
        put("%s(void *)%s_data%d", between, name, MAX_ARGS);
    for (int i = 0; i < r->test->n_results; i++)
        put(", (void *)%s_got%d", name, i);
    put("%s);\n", r->test->memory == TG_EXPORT_CALLER ? ", memory" : "");
}

/* Runs the interpreter, and writes a function that compares. */
static void put_check(run *r, tg_concrete *f)
{
    const test_case *test = r->test;
    tg_result results[MAX_ARGS];
    for (int i = 0; i < MAX_ARGS; i++)
        results[i] = TG_OUT(&r->results[i]);
    for (int call = 0; call < CALLS; call++)
        if (!tg_concrete_call(f, r->operands, r->n_args, results,
                              (size_t)test->n_results) == test->fails)
            die(test->name);
    for (size_t i = 0; i < (size_t)test->n_results && !test->fails; i++) {
        put_data(test->name, "want", i, tg_tensor_data(r->results[i]),
                 tg_tensor_bytes(r->results[i]));
    }
    for (int i = 0; i < test->n_results; i++)
        put("static _Alignas(64) unsigned char %s_got%d[%zu];\n", test->name,
            i, test->fails ? 1 << 20 : tg_tensor_bytes(r->results[i]) + 1);
    for (size_t i = 0; i <= MAX_ARGS; i++)
        if (r->variables[i]) {
            put_data(test->name, "after", i,
                     tg_variable_map(r->variables[i], TG_READ),
                     tg_variable_bytes(r->variables[i]));
            if (tg_variable_unmap(r->variables[i]))
                die("unmap");
        }

    put("static void check_%s(void)\n{\n", test->name);
    if (test->memory == TG_EXPORT_CALLER)
        put("    static _Alignas(64) char memory[%s_memory_bytes + 1];\n",
            test->name);
    put("    int failed = 0;\n"
        "    for (int call = 0; call < %d; call++) {\n", CALLS);
    put_call(r);
    put("        check(\"%s\", failed == %d);\n    }\n", test->name,
        test->fails);
    for (int i = 0; i < test->n_results && !test->fails; i++)
        put("    check(\"%s, result %d\", !memcmp(%s_got%d, %s_want%d, "
            "sizeof(%s_want%d)));\n",
            test->name, i, test->name, i, test->name, i, test->name, i);
    for (int i = 0; i <= MAX_ARGS; i++)
        if (r->variables[i])
            put("    check(\"%s, variable %d\", !memcmp(%s_data%d, "
                "%s_after%d, sizeof(%s_after%d)));\n",
                test->name, i, test->name, i, test->name, i, test->name, i);
    put("}\n\n");
}

static void write_case(const test_case *test, const char *folder,
                       const char *cpu)
{
    tg_context_options context_options = TG_CONTEXT_OPTIONS_INIT;
    context_options.jit = "off";
    run r = {.test = test, .ctx = tg_context_create(&context_options)};
    if (!r.ctx)
        die("context");
    put("#include \"%s.h\"\n", test->name);
    make_arguments(&r);
    tg_function *function = tg_function_create_named(
        r.ctx, "a */ name", test->callback, r.variables[MAX_ARGS], NULL);
    tg_concrete *f =
        function ? tg_function_concrete(function, r.specs, r.n_args) : NULL;
    if (!f)
        die(test->name);

    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, test->name);
    tg_export_options options = TG_EXPORT_OPTIONS_INIT;
    options.symbol = test->name;
    options.memory = test->memory;
    options.threads = test->threads;
    options.cpu = cpu;
    if (tg_concrete_export(f, path, &options))
        die(test->name);
    put_check(&r, f);

    tg_concrete_release(f);
    tg_function_release(function);
    for (int i = 0; i < MAX_ARGS; i++) {
        tg_tensor_release(r.tensors[i]);
        tg_tensor_release(r.results[i]);
    }
    for (int i = 0; i <= MAX_ARGS; i++)
        tg_variable_release(r.variables[i]);
    tg_context_release(r.ctx);
}

/* -- The program ----------------------------------------------------------- */

/* The host flushes denormals and rounds down: results must not depend on
   that, and the mode must not change. */
static const char head[] =
    "#include <stdint.h>\n"
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "\n"
    "#ifdef __aarch64__\n"
    "enum { MODE = 0x1800000 };\n"
    "static uint64_t get_mode(void)\n"
    "{\n"
    "    uint64_t mode;\n"
    "    __asm__ volatile(\"mrs %0, fpcr\" : \"=r\"(mode));\n"
    "    return mode;\n"
    "}\n"
    "static void set_mode(uint64_t mode)\n"
    "{\n"
    "    __asm__ volatile(\"msr fpcr, %0\" : : \"r\"(mode));\n"
    "}\n"
    "#else\n"
    "#include <xmmintrin.h>\n"
    "enum { MODE = 0xbfc0 };\n"
    "static uint64_t get_mode(void)\n"
    "{\n"
    "    return _mm_getcsr() & 0xffc0;\n"
    "}\n"
    "static void set_mode(uint64_t mode)\n"
    "{\n"
    "    _mm_setcsr((unsigned)mode);\n"
    "}\n"
    "#endif\n"
    "static int n_checks, n_bad;\n"
    "\n"
    "static void check(const char *what, int is_good)\n"
    "{\n"
    "    n_checks++;\n"
    "    if (is_good && get_mode() == MODE)\n"
    "        return;\n"
    "    n_bad++;\n"
    "    printf(\"%s: wrong\\n\", what);\n"
    "}\n"
    "\n";

int main(int argc, char **argv)
{
    enum { N = sizeof(cases) / sizeof(*cases) };
    char path[4096];
    if (argc != 2 && argc != 3)
        return 2;
    snprintf(path, sizeof(path), "%s/main.c", argv[1]);
    out = fopen(path, "w");
    if (!out)
        return 1;
    put("%s", head);
    for (size_t i = 0; i < N; i++)
        write_case(&cases[i], argv[1], argv[2]);
    put("int main(void)\n{\n    set_mode(MODE);\n");
    for (size_t i = 0; i < N; i++)
        put("    check_%s();\n", cases[i].name);
    put("    printf(\"%%d checks, %%d bad\\n\", n_checks, n_bad);\n"
        "    return n_bad != 0;\n}\n");
    return fclose(out) != 0;
}
