/* SPDX-License-Identifier: MIT */
/*
 * tgjit_run.c - tgjit-run: runs an ONNX model on tensors from files or random
 * ones, and writes, compares or times its results.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tgjit/onnx.h"

enum { EXIT_USAGE = 2, MAX_INPUTS = 64, MAX_OUTPUTS = 64, MAX_PATH = 4096 };

static const char usage[] =
    "Usage: tgjit-run [OPTION]... MODEL.onnx\n"
    "\n"
    "Runs an ONNX model. Without --input, lists its inputs and outputs.\n"
    "\n"
    "  -i, --input=[NAME=]DATA  give data to input NAME, or to all inputs that\n"
    "                           no other option names. DATA is a .npy file, a\n"
    "                           .pb file with a TensorProto, or random numbers:\n"
    "                           random, with a shape random:2,3,64\n"
    "  -o, --output=DIR         write each result to DIR/NAME.npy\n"
    "      --compare=[NAME=]FILE  compare result NAME, or the next one in\n"
    "                           order, with a .npy or .pb file\n"
    "      --rtol=R, --atol=A   tolerances of --compare (1e-3, 1e-7)\n"
    "      --backend=KIND       jit: compile (default); interp: interpret; auto:\n"
    "                           compile, unless that would take over 10 s\n"
    "      --threads=N          at most N threads\n"
    "      --repeat=N           run N times; print the times\n"
    "      --profile            print the time of each kernel\n"
    "      --seed=N             seed of random inputs\n"
    "      --help, --version\n"
    "\n"
    "Exit status: 1 if the model cannot be run or a comparison fails, 2 if the\n"
    "command line is wrong.\n";

/* An argument of the form [NAME=]WHAT. */
typedef struct assignment {
    char name[256]; /* "": any */
    const char *what;
} assignment;

typedef struct options {
    assignment inputs[MAX_INPUTS], compared[MAX_OUTPUTS];
    size_t n_inputs, n_compared;
    const char *output, *backend;
    double relative, absolute;
    int threads;
    long repeat;
    uint64_t seed;
    bool profiles;
} options;

static bool complain(const char *what)
{
    fprintf(stderr, "tgjit-run: %s%s%s\n", what, *what ? ": " : "",
            tg_error(NULL));
    return false;
}

/* -- Tensors --------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && !strcmp(text + n - k, end);
}

static tg_tensor *load_tensor(tg_context *ctx, const char *path)
{
    return ends_with(path, ".pb") ? tg_onnx_tensor_load(ctx, path)
                                  : tg_npy_load(ctx, path);
}

/* Extents from a text such as "2,3,64". */
static bool parse_dims(const char *text, int *rank, int64_t *dims)
{
    *rank = 0;
    for (char *end; *text; text = end) {
        if (*rank == TG_MAX_RANK || *text < '0' || *text > '9')
            return false;
        dims[(*rank)++] = strtoll(text, &end, 10);
        if (*end == ',')
            end++;
        else if (*end)
            return false;
    }
    return true;
}

/* Uniform in [0, 1); integers are 0. Extents that the model leaves open are
   1, unless they are given. */
static tg_tensor *random_tensor(tg_context *ctx, const tg_spec *spec,
                                const char *shape, uint64_t seed)
{
    int rank = spec->rank < 0 ? 0 : spec->rank;
    int64_t dims[TG_MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = spec->dims[i] < 0 ? 1 : spec->dims[i];
    if (*shape == ':' && !parse_dims(shape + 1, &rank, dims)) {
        tg_error_set(ctx, TG_ERROR_INVALID_ARGUMENT, (tg_site){NULL, 0},
                     "random%s is no shape", shape);
        return NULL;
    }
    const bool is_float = spec->dtype == TG_F32 || spec->dtype == TG_F64 ||
                          spec->dtype == TG_F16 || spec->dtype == TG_BF16;
    return tg_tensor_create(ctx, spec->dtype, rank, dims,
                            is_float ? tg_seeded(tg_uniform(0, 1), seed)
                                     : tg_zeros());
}

/* -- Inputs ---------------------------------------------------------------- */

/* The assignment for a name, or else one without a name. */
static assignment *find(assignment *all, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(all[i].name, name))
            return &all[i];
    for (size_t i = 0; i < n; i++)
        if (!*all[i].name)
            return &all[i];
    return NULL;
}

static void print_inputs(const tg_onnx_model *m)
{
    for (size_t i = 0; i < tg_onnx_input_count(m); i++) {
        const tg_spec *spec = tg_onnx_input_spec(m, i);
        printf("input %s %s[", tg_onnx_input_name(m, i),
               tg_dtype_name(spec->dtype));
        for (int k = 0; k < spec->rank; k++) {
            printf(k ? "," : "");
            if (spec->dims[k] < 0)
                printf("?");
            else
                printf("%lld", (long long)spec->dims[k]);
        }
        printf(spec->rank < 0 ? "...]%s\n" : "]%s\n",
               tg_onnx_input_is_shape(m, i) ? ", decides a shape" : "");
    }
    for (size_t i = 0; i < tg_onnx_output_count(m); i++)
        printf("output %s\n", tg_onnx_output_name(m, i));
}

/* Creates the tensor of input i. */
static tg_tensor *input_tensor(tg_context *ctx, options *o,
                               const tg_onnx_model *m, size_t i)
{
    const char *name = tg_onnx_input_name(m, i);
    assignment *a = find(o->inputs, o->n_inputs, name);
    if (!a) {
        tg_error_set(ctx, TG_ERROR_INVALID_ARGUMENT, (tg_site){NULL, 0},
                     "input '%s' is not given; use --input=%s=FILE", name,
                     name);
        return NULL;
    }
    if (!strncmp(a->what, "random", 6) &&
        (a->what[6] == 0 || a->what[6] == ':'))
        return random_tensor(ctx, tg_onnx_input_spec(m, i), a->what + 6,
                             o->seed + i);
    return load_tensor(ctx, a->what);
}

/* False, with a message, if a name is none of the model's inputs. */
static bool check_names(const options *o, const tg_onnx_model *m)
{
    for (size_t i = 0; i < o->n_inputs; i++) {
        size_t k = 0;
        while (k < tg_onnx_input_count(m) &&
               strcmp(o->inputs[i].name, tg_onnx_input_name(m, k)))
            k++;
        if (*o->inputs[i].name && k == tg_onnx_input_count(m)) {
            fprintf(stderr, "tgjit-run: the model has no input '%s'\n",
                    o->inputs[i].name);
            return false;
        }
    }
    return true;
}

/* Sets the inputs that decide shapes; the others are arguments. */
static bool set_inputs(tg_context *ctx, options *o, tg_onnx_model *m,
                       tg_tensor **args, size_t *n_args)
{
    *n_args = 0;
    if (!check_names(o, m))
        return false;
    for (size_t i = 0; i < tg_onnx_input_count(m); i++) {
        tg_tensor *x = input_tensor(ctx, o, m, i);
        if (!x)
            return complain("");
        if (!tg_onnx_input_is_shape(m, i)) {
            args[(*n_args)++] = x;
            continue;
        }
        const tg_status status = tg_onnx_set_input(m, i, x);
        tg_tensor_release(x);
        if (status)
            return complain("");
    }
    return true;
}

/* -- Runs ------------------------------------------------------------------ */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Runs a bound call and prints the times of the runs. */
static bool repeat(const options *o, tg_bound *bound)
{
    double *times = malloc((size_t)o->repeat * sizeof(*times));
    if (!times) {
        fprintf(stderr, "tgjit-run: out of memory\n");
        return false;
    }
    for (long i = 0; i < o->repeat; i++) {
        const double begin = now();
        if (tg_run(bound)) {
            free(times);
            return complain("");
        }
        times[i] = now() - begin;
    }
    if (o->repeat > 1) {
        printf("first %.3f ms; ", 1e3 * times[0]);
        qsort(times, (size_t)o->repeat, sizeof(*times), compare_times);
        printf("of %ld runs: minimum %.3f ms, median %.3f ms, maximum %.3f "
               "ms\n",
               o->repeat, 1e3 * times[0], 1e3 * times[o->repeat / 2],
               1e3 * times[o->repeat - 1]);
    }
    free(times);
    return true;
}

static bool run(const options *o, tg_onnx_model *m, tg_tensor *const *args,
                size_t n_args, tg_tensor **out)
{
    tg_operand operands[MAX_INPUTS];
    tg_result results[MAX_OUTPUTS];
    const size_t n_out = tg_onnx_output_count(m);
    for (size_t i = 0; i < n_args; i++)
        operands[i] = tg_in_tensor(args[i]);
    for (size_t i = 0; i < n_out; i++)
        results[i] = tg_out_tensor(&out[i]);
    tg_function *f = tg_onnx_function(m);
    const double begin = now();
    tg_bound *bound =
        f ? tg_bind_at(f, operands, n_args, results, n_out, (tg_site){NULL, 0})
          : NULL;
    if (!bound)
        return complain("");
    printf("prepared in %.3f s\n", now() - begin);
    if (o->profiles && tg_profile_start(NULL))
        complain("profile");
    const bool runs = repeat(o, bound);
    tg_bound_release(bound);
    if (runs && o->profiles) {
        tg_profile_stop();
        char *report = tg_profile_report(TG_PROFILE_TABLE);
        fputs(report ? report : "", stdout);
        tg_text_free(report);
    }
    return runs;
}

/* -- Results --------------------------------------------------------------- */

/* The file of a result: its name, without what has a meaning in paths. */
static void output_path(const char *dir, const char *name, char *path)
{
    size_t n = (size_t)snprintf(path, MAX_PATH, "%s/", dir);
    for (size_t i = 0; name[i] && i < 200 && n + 6 < MAX_PATH; i++)
        path[n++] = name[i] == '/' || (i == 0 && name[i] == '.') ? '_'
                                                                 : name[i];
    memcpy(path + n, ".npy", 5);
}

static double element(const tg_tensor *x, int64_t i)
{
    switch (tg_tensor_dtype(x)) {
#define CASE(name, type, dtype) \
    case dtype: \
        return (double)TG_TO_DOUBLE(((const type *)tg_tensor_data(x))[i]);
        TG_TENSOR_TYPES(CASE)
#undef CASE
    default:
        return (double)NAN;
    }
}

/* Prints the largest difference; whether all are within the tolerances. */
static bool is_close(const options *o, const char *name, const tg_tensor *x,
                     const tg_tensor *expected)
{
    const int rank = tg_tensor_rank(x);
    double largest = 0;
    int64_t n_wrong = 0;
    if (tg_tensor_dtype(x) != tg_tensor_dtype(expected) ||
        rank != tg_tensor_rank(expected) ||
        (rank && memcmp(tg_tensor_dims(x), tg_tensor_dims(expected),
                        (size_t)rank * sizeof(int64_t)))) {
        printf("%s: dtype or shape differs: %s, ", name,
               tg_tensor_format(x, "%t"));
        printf("but %s was expected\n", tg_tensor_format(expected, "%t"));
        return false;
    }
    for (int64_t i = 0; i < tg_tensor_count(x); i++) {
        const double a = element(x, i), b = element(expected, i);
        const double difference =
            a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
        largest = difference <= largest ? largest : difference;
        n_wrong += !(difference <= o->absolute + o->relative * fabs(b));
    }
    printf("%s: largest difference %g, %lld of %lld elements beyond the "
           "tolerance\n",
           name, largest, (long long)n_wrong, (long long)tg_tensor_count(x));
    return n_wrong == 0;
}

static bool write_results(const options *o, const tg_onnx_model *m,
                          tg_tensor *const *out)
{
    char path[MAX_PATH];
    if (mkdir(o->output, 0777) && errno != EEXIST) {
        fprintf(stderr, "tgjit-run: cannot create %s: %s\n", o->output,
                strerror(errno));
        return false;
    }
    for (size_t i = 0; i < tg_onnx_output_count(m); i++) {
        output_path(o->output, tg_onnx_output_name(m, i), path);
        if (tg_npy_save(out[i], path))
            return complain("");
    }
    return true;
}

/* Result number k, in the order of --compare, or the one that is named. */
static bool compare_results(tg_context *ctx, const options *o,
                            const tg_onnx_model *m, tg_tensor *const *out)
{
    bool all_close = true;
    const size_t n = tg_onnx_output_count(m);
    for (size_t k = 0; k < o->n_compared; k++) {
        const assignment *a = &o->compared[k];
        size_t i = *a->name ? 0 : k;
        while (*a->name && i < n && strcmp(a->name, tg_onnx_output_name(m, i)))
            i++;
        if (i >= n) {
            fprintf(stderr, "tgjit-run: --compare=%s: no such result\n",
                    a->what);
            return false;
        }
        tg_tensor *expected = load_tensor(ctx, a->what);
        if (!expected)
            return complain("");
        all_close &= is_close(o, tg_onnx_output_name(m, i), out[i], expected);
        tg_tensor_release(expected);
    }
    return all_close;
}

static bool report(tg_context *ctx, const options *o, const tg_onnx_model *m,
                   tg_tensor *const *out)
{
    for (size_t i = 0; i < tg_onnx_output_count(m); i++)
        printf("%s %s\n", tg_onnx_output_name(m, i),
               tg_tensor_format(out[i], "%t"));
    return (!o->output || write_results(o, m, out)) &&
           compare_results(ctx, o, m, out);
}

/* -- Command line ---------------------------------------------------------- */

static bool run_model(tg_context *ctx, options *o, tg_onnx_model *m)
{
    tg_tensor *args[MAX_INPUTS] = {NULL}, *out[MAX_OUTPUTS] = {NULL};
    size_t n_args = 0;
    if (tg_onnx_input_count(m) > MAX_INPUTS ||
        tg_onnx_output_count(m) > MAX_OUTPUTS) {
        fprintf(stderr, "tgjit-run: too many inputs or outputs\n");
        return false;
    }
    if (o->n_inputs == 0 && tg_onnx_input_count(m)) {
        print_inputs(m);
        return true;
    }
    const bool passes = set_inputs(ctx, o, m, args, &n_args) &&
                        run(o, m, args, n_args, out) && report(ctx, o, m, out);
    for (size_t i = 0; i < n_args; i++)
        tg_tensor_release(args[i]);
    for (size_t i = 0; i < MAX_OUTPUTS; i++)
        tg_tensor_release(out[i]);
    return passes;
}

static int load_and_run(options *o, const char *path)
{
    tg_context_options settings = TG_CONTEXT_OPTIONS_INIT;
    tg_onnx_options loading = TG_ONNX_OPTIONS_INIT;
    settings.jit = !strcmp(o->backend, "interp") ? "off"
                   : !strcmp(o->backend, "jit")  ? "required"
                                                 : "auto";
    settings.compile = !strcmp(o->backend, "auto") ? NULL : "eager";
    settings.threads = o->threads;
    loading.shapes = TG_ONNX_EXACT;
    loading.seed = o->seed;
    tg_context *ctx = tg_context_create(&settings);
    tg_onnx_model *m = ctx ? tg_onnx_load(ctx, path, &loading) : NULL;
    const bool passes = m ? run_model(ctx, o, m) : complain("");
    tg_onnx_model_release(m);
    tg_context_release(ctx);
    return passes ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Names of inputs may hold any character but '='. */
static bool assign(assignment *all, size_t *n, size_t capacity,
                   const char *text)
{
    const char *equals = strchr(text, '=');
    if (*n == capacity || (equals && equals - text >= 256))
        return false;
    assignment *a = &all[(*n)++];
    *a = (assignment){.what = equals ? equals + 1 : text};
    if (equals)
        memcpy(a->name, text, (size_t)(equals - text));
    return *a->what;
}

static bool parse_number(const char *text, double least, double most,
                         double *out)
{
    char *end;
    *out = strtod(text, &end);
    return *text && !*end && *out >= least && *out <= most;
}

/* Handles one option; false if it is wrong. */
static bool take_option(options *o, int option)
{
    double number = 0;
    switch (option) {
    case 'i':
        return assign(o->inputs, &o->n_inputs, MAX_INPUTS, optarg);
    case 'c':
        return assign(o->compared, &o->n_compared, MAX_OUTPUTS, optarg);
    case 'o':
        o->output = optarg;
        return *optarg;
    case 'b':
        o->backend = optarg;
        return !strcmp(optarg, "jit") || !strcmp(optarg, "interp") ||
               !strcmp(optarg, "auto");
    case 'R':
        return parse_number(optarg, 0, HUGE_VAL, &o->relative);
    case 'A':
        return parse_number(optarg, 0, HUGE_VAL, &o->absolute);
    case 't':
        if (!parse_number(optarg, 1, 4096, &number))
            return false;
        o->threads = (int)number;
        return true;
    case 'r':
        if (!parse_number(optarg, 1, 1e9, &number))
            return false;
        o->repeat = (long)number;
        return true;
    case 's':
        if (!parse_number(optarg, 0, 9e15, &number))
            return false;
        o->seed = (uint64_t)number;
        return true;
    case 'p':
        o->profiles = true;
        return true;
    default:
        return false;
    }
}

/* The exit status of a wrong command line. */
static int refuse(const char *why)
{
    fprintf(stderr, "%sUsage: tgjit-run [OPTION]... MODEL.onnx; --help lists "
                    "the options\n",
            why);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"input", required_argument, NULL, 'i'},
        {"output", required_argument, NULL, 'o'},
        {"compare", required_argument, NULL, 'c'},
        {"rtol", required_argument, NULL, 'R'},
        {"atol", required_argument, NULL, 'A'},
        {"backend", required_argument, NULL, 'b'},
        {"threads", required_argument, NULL, 't'},
        {"repeat", required_argument, NULL, 'r'},
        {"profile", no_argument, NULL, 'p'},
        {"seed", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0}};
    static options o = {
        .backend = "jit", .relative = 1e-3, .absolute = 1e-7, .repeat = 1};
    int option, number = -1;
    while ((option = getopt_long(argc, argv, "i:o:", known, &number)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        }
        if (option == 'v') {
            printf("tgjit-run %s\n", tg_version());
            return EXIT_SUCCESS;
        }
        if (!take_option(&o, option)) {
            /* getopt_long has reported options that it does not know. */
            if (option != '?')
                fprintf(stderr, "tgjit-run: --%s=%s: wrong value\n",
                        number >= 0     ? known[number].name
                        : option == 'i' ? "input"
                                        : "output",
                        optarg);
            return refuse("");
        }
        number = -1;
    }
    if (optind + 1 != argc)
        return refuse(optind == argc ? "tgjit-run: no model is given\n"
                                     : "tgjit-run: more than one model\n");
    return load_and_run(&o, argv[optind]);
}
