/* SPDX-License-Identifier: MIT */
/*
 * ops_table.c - prints docs/OPS.md from src/ir/op.def. `make check' compares
 * the two, `make update-ops-doc' rewrites the file. A keyword of op.def that is
 * not described here is an error, so that no row is omitted silently.
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
    {"CAST", "Elementwise, conversion to another dtype"},
    {"BINARY", "Elementwise, two operands"},
    {"TERNARY", "Elementwise, three operands"},
    {"VIEW", "Views: the same elements in another shape"},
    {"INDEX", "Index maps that copy"},
    {"REDUCE", "Reductions"},
    {"MATMUL", "Matrix products"},
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
    {"EXPLICIT", "own"},
    {NULL, NULL},
};

static const keyword gradients[] = {
    {"SMOOTH", "yes"},
    {"KINKED", "yes, except at isolated points"},
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
    fprintf(stderr, "ops_table: unknown keyword %s in op.def\n", key);
    has_unknown_keyword = true;
    return "?";
}

/* -- Markdown -------------------------------------------------------------- */

/* Prints text with markup characters escaped. */
static void print_plain(const char *text)
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
    print_plain(r->doc);
    puts(" |");
}

static void print_class(const keyword *cls)
{
    printf("\n## %s\n\n", cls->text);
    puts("| name | operands | dtypes | result | gradient | meaning |");
    puts("|---|---|---|---|---|---|");
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].cls, cls->key) == 0)
            print_row(&rows[i]);
}

int main(void)
{
    puts("# Operations\n\n"
         "Generated from `src/ir/op.def` by `make update-ops-doc`; edit the "
         "table there.\n\n"
         "Operations take values, variables, tensors and plain numbers. "
         "Shapes broadcast.\nThe dtypes of tensors must be equal; a plain "
         "number takes the dtype of the other\noperands, which must be able "
         "to hold it ([NUMERICS.md](NUMERICS.md#plain-numbers)).\n\n"
         "*dtypes* are those of the first operand with data; *result* is the "
         "dtype of the\nresult. `include/tgjit/ops.h` declares the functions, "
         "including those composed of\nseveral operations.");
    for (const keyword *cls = classes; cls->key; cls++)
        print_class(cls);
    for (int i = 0; i < ROWS; i++)
        (void)describe(classes, rows[i].cls);
    return has_unknown_keyword || fflush(stdout) != 0;
}
