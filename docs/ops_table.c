/* SPDX-License-Identifier: MIT */
/*
 * ops_table.c - prints docs/OPS.md from src/ir/op.def. `make check' compares
 * the two, `make update-ops-doc' regenerates the file. A keyword of op.def
 * without a description here is an error, so that no row is omitted silently.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct row {
    const char *name, *cls, *arity, *types, *result, *gradient, *doc;
} row;

static const row rows[] = {
#define OP(ID, name, cls, arity, types, result, gradient, domain, flags, doc) \
    {#name, #cls, #arity, #types, #result, #gradient, doc},
#include "ir/op.def"
#undef OP
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* -- Descriptions of the keywords of op.def -------------------------------- */

typedef struct keyword {
    const char *key, *text;
} keyword;

static const keyword classes[] = {
    {"UNARY", "Elementwise, one operand"},
    {"CAST", "Elementwise, to another element type"},
    {"BINARY", "Elementwise, two operands"},
    {"TERNARY", "Elementwise, three operands"},
    {"VIEW", "Views: the same elements with another shape or order"},
    {"INDEX", "Slices, gathers and scatters"},
    {"REDUCE", "Reductions"},
    {"SCAN", "Scans"},
    {"MATMUL", "Matrix products"},
    {"CONV", "Convolutions"},
    {"RANDOM", "Random numbers"},
    {"STATE", "State"},
    {"EFFECT", "Effects"},
    {"LEAF", "Leaves of a graph"},
    {"REGION", "Calls, branches and loops"},
    {NULL, NULL},
};

static const keyword types[] = {
    {"ANY", "all"},
    {"NUM", "all but bool"},
    {"INT", "integers"},
    {"BITS", "bool, integers"},
    {"FLOAT", "f32, f64"},
    {NULL, NULL},
};

static const keyword results[] = {
    {"SAME", "same"},
    {"BOOL", "bool"},
    {"I64", "i64"},
    {"EXPLICIT", "given"},
    {NULL, NULL},
};

static const keyword gradients[] = {
    {"SMOOTH", "yes"},
    {"KINKED", "almost everywhere"},
    {"ZERO", "zero"},
    {"NONE", "none"},
    {NULL, NULL},
};

static const keyword arities[] = {
    {"0", "0"}, {"1", "1"}, {"2", "2"}, {"3", "3"}, {"ANY", "any"},
    {NULL, NULL},
};

static bool has_unknown_keyword;

static const char *describe(const keyword *keywords, const char *key)
{
    for (; keywords->key; keywords++)
        if (strcmp(keywords->key, key) == 0)
            return keywords->text;
    fprintf(stderr, "ops_table: no description of %s in op.def\n", key);
    has_unknown_keyword = true;
    return "?";
}

/* -- Markdown -------------------------------------------------------------- */

/* Text with Markdown escaped. */
static void print_escaped(const char *text)
{
    for (; *text; text++) {
        if (strchr("*|<", *text))
            putchar('\\');
        putchar(*text);
    }
}

static void print_row(const row *r)
{
    printf("| %s | %s | %s | %s | %s | ", r->name, describe(arities, r->arity),
           describe(types, r->types), describe(results, r->result),
           describe(gradients, r->gradient));
    print_escaped(r->doc);
    puts(" |");
}

static void print_class(const keyword *cls)
{
    printf("\n## %s\n\n", cls->text);
    puts("| name | operands | element types | result | gradient | |");
    puts("|---|---|---|---|---|---|");
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].cls, cls->key) == 0)
            print_row(&rows[i]);
}

/* -- Functions composed of operations -------------------------------------- */

static const struct {
    const char *name, *header, *doc;
} functions[] = {
    {"square, gt, ge, clamp, mean, any, all, einsum", "ops.h",
     "see the header"},
    {"relu", "ops_nn.h", "max(x, 0)"},
    {"softmax, log_softmax", "ops_nn.h", "along an axis"},
    {"layer_norm", "ops_nn.h", "along the last axis"},
    {"softmax_cross_entropy", "ops_nn.h",
     "per row; labels are weights or class indices"},
    {"one_hot", "ops_arrange.h", "class indices as rows of 0 and 1"},
    {"stack, unstack", "ops_arrange.h", "along a new axis, and back"},
    {"roll", "ops_arrange.h", "elements moved along an axis, cyclically"},
    {"var, std", "ops_statistics.h",
     "variance and standard deviation, with a correction"},
    {"accuracy", "ops_statistics.h", "fraction of rows classified correctly"},
    {"confusion_matrix", "ops_statistics.h", "counts of label and prediction"},
    {"conv, conv1d, conv2d, conv3d", "ops_conv.h",
     "strides, dilations, padding, groups, channels first or last"},
    {"conv_transpose, conv2d_transpose", "ops_conv.h",
     "the gradient of conv with respect to its operand"},
    {"max_pool, avg_pool, lp_pool", "ops_conv.h",
     "reductions of sliding windows"},
    {"global_max_pool, global_avg_pool", "ops_conv.h",
     "over all spatial axes"},
    {"sigmoid_cross_entropy", "losses.h", "per element"},
    {"mean_squared_error, mean_absolute_error, huber_loss", "losses.h",
     "means over all elements"},
};

static void print_functions(void)
{
    puts("\n## Functions composed of operations\n\n"
         "They have gradients where their operations do. Layers, optimisers "
         "and schedules are\nin [TRAINING.md](TRAINING.md).\n\n"
         "| name | header | |\n|---|---|---|");
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        printf("| %s | `%s` | %s |\n", functions[i].name,
               functions[i].header, functions[i].doc);
}

int main(void)
{
    puts("# Operations\n\n"
         "Generated from `src/ir/op.def` by `make update-ops-doc`: edit the "
         "table there.\n\n"
         "Operands are values, variables, tensors and plain numbers. Shapes "
         "broadcast.\nDtypes must be equal; a plain number is converted to "
         "the dtype of the other\noperands, which must be able to represent "
         "it\n([NUMERICS.md](NUMERICS.md#plain-numbers)). *Element types* are "
         "the dtypes that the\nfirst data operand may have, *result* is the "
         "dtype of the result.\n`include/tgjit/ops.h` declares the "
         "functions.");
    for (const keyword *cls = classes; cls->key; cls++)
        print_class(cls);
    print_functions();
    for (int i = 0; i < ROWS; i++)
        (void)describe(classes, rows[i].cls);
    return has_unknown_keyword || fflush(stdout) != 0;
}
