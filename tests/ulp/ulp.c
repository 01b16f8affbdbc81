/* SPDX-License-Identifier: MIT */
/*
 * ulp.c - measures the errors of elementary functions and compares them with
 * their bounds (ulp_bounds.def). f32 functions of one operand can be tested
 * exhaustively; others are searched. See --help.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ulp/ulp.h"

#define NUMPY "/usr/lib/python3/dist-packages/numpy/core/tests/data"

static const char usage[] =
    "Usage: ulp [OPTION]...\n"
    "\n"
    "Measures the worst errors of elementary functions, in ulp of the\n"
    "correctly rounded result, and compares them with ulp_bounds.def.\n"
    "Default options: --all --stride 16381.\n"
    "\n"
    "  --all           every function, and NumPy's validation sets\n"
    "  --function F    only this function\n"
    "  --type T        f32 or f64 only\n"
    "  --stride N      every N-th of all f32 numbers (default 1: all)\n"
    "  --count N       random inputs for f64, two operands, or with a stride\n"
    "                  (default 10000000, divided by the stride)\n"
    "  --threads N     number of threads (default: one per processor)\n"
    "  --plain         do not use the loops compiled for AVX2 and FMA\n"
    "  --numpy FOLDER  the folder of NumPy's validation sets\n"
    "                  (default " NUMPY ")\n"
    "  --cost          print primitives and time per element instead\n"
    "  --list          print the functions and their bounds instead\n";

typedef struct options {
    int op;    /* 0: all */
    int dtype; /* 0: both */
    uint64_t stride;
    uint64_t count;
    int threads;
    bool is_plain;
    const char *numpy;
} options;

typedef struct totals {
    int passed, failed;
} totals;

static void print_operands(const ulp_function *f, const double *operands)
{
    printf("%a", operands[0]);
    if (f->arity == 2)
        printf(", %a", operands[1]);
    printf(" (%.9g", operands[0]);
    if (f->arity == 2)
        printf(", %.9g", operands[1]);
    putchar(')');
}

static const ulp_many *many_of(const options *o, int op)
{
#ifdef ULP_HAS_VECTOR
    if (!o->is_plain && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("fma"))
        return ulp_many_vector(op);
#endif
    (void)o;
    return ulp_many_plain(op);
}

static void measure(const options *o, const ulp_function *f, int dtype,
                    totals *t)
{
    ulp_result result;
    const char *name = tgi_op_table[f->op].name;
    const char *type = tg_dtype_name((tg_dtype)dtype);
    if (!ulp_sweep(f, dtype, o->stride, o->count, o->threads,
                   many_of(o, f->op), &result)) {
        printf("FAILED %s %s: out of memory or threads\n", name, type);
        t->failed++;
        return;
    }
    if (result.is_doubtful) {
        printf("FAILED %s %s: quick and exact errors disagree at ",
               name, type);
        print_operands(f, result.where);
        putchar('\n');
        t->failed++;
        return;
    }
    const bool is_good = result.worst <= ulp_bound(f, dtype);
    printf("%s %-9s%s %7.4f, bound %g, at ", is_good ? "ok    " : "FAILED",
           name, type, result.worst, ulp_bound(f, dtype));
    print_operands(f, result.where);
    printf(" -> %a, %" PRIu64 " %sinputs\n", result.given, result.n,
           result.is_exhaustive ? "(all) " : "");
    fflush(stdout);
    *(is_good ? &t->passed : &t->failed) += 1;
}

static void measure_all(const options *o, totals *t)
{
    for (int op = 1; op < TGI_OPS; op++) {
        const ulp_function *f = ulp_function_of(op);
        if (o->op && o->op != op)
            continue;
        if (!f && (o->op || ulp_function_is_wanted(op))) {
            printf("FAILED %s: has no bound\n", tgi_op_table[op].name);
            t->failed++;
        }
        for (int dtype = TG_F32; f && dtype <= TG_F64; dtype++)
            if (!o->dtype || o->dtype == dtype)
                measure(o, f, dtype, t);
    }
}

static void list(void)
{
    for (int i = 0; i < ulp_n_functions; i++)
        printf("%-9s f32 %g, f64 %g\n", tgi_op_table[ulp_functions[i].op].name,
               ulp_functions[i].bound[0], ulp_functions[i].bound[1]);
}

/* -- Options --------------------------------------------------------------- */

static int die(const char *what, const char *value)
{
    fprintf(stderr, "ulp: %s: %s\n%s", what, value, usage);
    exit(2);
}

static int op_named(const char *name)
{
    for (int op = 1; op < TGI_OPS; op++)
        if (!strcmp(tgi_op_table[op].name, name))
            return op;
    return die("no such function", name);
}

static int type_named(const char *name)
{
    if (!strcmp(name, "f32"))
        return TG_F32;
    return !strcmp(name, "f64") ? TG_F64 : die("no such type", name);
}

static uint64_t number(const char *text, uint64_t highest)
{
    char *end;
    const unsigned long long value = strtoull(text, &end, 0);
    if (*end || end == text || value == 0 || value > highest)
        die("out of range or not a number", text);
    return value;
}

int main(int argc, char **argv)
{
    enum { ALL, FUNCTION, TYPE, STRIDE, COUNT, THREADS, PLAIN, FOLDER, COST,
           LIST, HELP };
    static const struct option known[] = {
        {"all", no_argument, NULL, ALL},
        {"function", required_argument, NULL, FUNCTION},
        {"type", required_argument, NULL, TYPE},
        {"stride", required_argument, NULL, STRIDE},
        {"count", required_argument, NULL, COUNT},
        {"threads", required_argument, NULL, THREADS},
        {"plain", no_argument, NULL, PLAIN},
        {"numpy", required_argument, NULL, FOLDER},
        {"cost", no_argument, NULL, COST},
        {"list", no_argument, NULL, LIST},
        {"help", no_argument, NULL, HELP},
        {0}};
    options o = {.stride = argc == 1 ? 16381 : 1, .numpy = NUMPY};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    o.threads = processors < 1                 ? 1
                : processors > ULP_THREADS_MAX ? ULP_THREADS_MAX
                                               : (int)processors;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) >= 0;)
        switch (option) {
        case ALL:
            o.op = 0;
            break;
        case FUNCTION:
            o.op = op_named(optarg);
            break;
        case TYPE:
            o.dtype = type_named(optarg);
            break;
        case STRIDE:
            o.stride = number(optarg, UINT32_MAX);
            break;
        case COUNT:
            o.count = number(optarg, UINT32_MAX);
            break;
        case THREADS:
            o.threads = (int)number(optarg, ULP_THREADS_MAX);
            break;
        case PLAIN:
            o.is_plain = true;
            break;
        case FOLDER:
            o.numpy = optarg;
            break;
        case COST:
            ulp_print_cost();
            return 0;
        case LIST:
            list();
            return 0;
        case HELP:
            fputs(usage, stdout);
            return 0;
        default:
            die("bad option", argv[optind - 1]);
        }
    if (optind < argc)
        die("not an option", argv[optind]);
    if (!o.count)
        o.count = 10000000 / o.stride + 2000;

    ulp_angles_init();
    totals t = {0, 0};
    measure_all(&o, &t);
    if (!o.op && !o.dtype)
        ulp_check_numpy(o.numpy, &t.passed, &t.failed);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed > 0;
}
