/* SPDX-License-Identifier: MIT */
/*
<<<<<<< HEAD
 * ops_table.c - prints docs/OPS.md from src/ir/op.def. `make check' compares
 * the two, `make update-ops-doc' regenerates the file. A keyword of op.def
 * without a description here is an error, so that no row is omitted silently.
=======
 * ops_table.c - prints docs/OPS.md from src/ir/op.def. `make check' compares the
 * two, `make update-ops-doc' writes the file anew. A word of op.def that is
 * not explained here is an error, so that no row is left out silently.
>>>>>>> refs/heads/docs
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

/* -- What the words of op.def are for a reader ----------------------------- */

typedef struct word {
    const char *key, *text;
} word;

static const word classes[] = {
    {"UNARY", "Elementwise, one operand"},
    {"CAST", "Elementwise, to another element type"},
    {"BINARY", "Elementwise, two operands"},
    {"TERNARY", "Elementwise, three operands"},
<<<<<<< HEAD
    {"VIEW", "Views: the same elements with another shape or order"},
    {"INDEX", "Slices, gathers and scatters"},
=======
    {"VIEW", "Views: the same elements seen through another shape"},
    {"INDEX", "Index maps that copy"},
>>>>>>> refs/heads/docs
    {"REDUCE", "Reductions"},
    {"MATMUL", "Products"},
    {"RANDOM", "Random numbers"},
    {"STATE", "State"},
    {"EFFECT", "Effects"},
    {"LEAF", "Leaves of a graph"},
    {"REGION", "Regions: functions called by functions"},
    {NULL, NULL},
};

static const word types[] = {
    {"ANY", "all"},
    {"NUM", "all but bool"},
    {"INT", "integers"},
    {"BITS", "bool, integers"},
    {"FLOAT", "f32, f64"},
    {NULL, NULL},
};

static const word results[] = {
    {"SAME", "same"},
    {"BOOL", "bool"},
    {"I64", "i64"},
<<<<<<< HEAD
    {"EXPLICIT", "given"},
=======
    {"EXPLICIT", "its own"},
>>>>>>> refs/heads/docs
    {NULL, NULL},
};

static const word gradients[] = {
    {"SMOOTH", "yes"},
<<<<<<< HEAD
    {"KINKED", "almost everywhere"},
=======
    {"KINKED", "yes, but for points"},
>>>>>>> refs/heads/docs
    {"ZERO", "zero"},
    {"NONE", "none"},
    {NULL, NULL},
};

static const word arities[] = {
    {"0", "0"}, {"1", "1"}, {"2", "2"}, {"3", "3"}, {"ANY", "any"},
    {NULL, NULL},
};

static bool has_unknown_word;

static const char *explain(const word *words, const char *key)
{
<<<<<<< HEAD
    for (; keywords->key; keywords++)
        if (strcmp(keywords->key, key) == 0)
            return keywords->text;
    fprintf(stderr, "ops_table: no description of %s in op.def\n", key);
    has_unknown_keyword = true;
=======
    for (; words->key; words++)
        if (strcmp(words->key, key) == 0)
            return words->text;
    fprintf(stderr, "ops_table: op.def says %s, which is unknown here\n", key);
    has_unknown_word = true;
>>>>>>> refs/heads/docs
    return "?";
}

/* -- Markdown -------------------------------------------------------------- */

<<<<<<< HEAD
/* Text with Markdown escaped. */
static void print_escaped(const char *text)
=======
/* Text with a backslash before what would be markup. */
static void print_plain(const char *text)
>>>>>>> refs/heads/docs
{
    for (; *text; text++) {
        if (strchr("*|<", *text))
            putchar('\\');
        putchar(*text);
    }
}

static void print_row(const row *r)
{
<<<<<<< HEAD
    printf("| %s | %s | %s | %s | %s | ", r->name, describe(arities, r->arity),
           describe(types, r->types), describe(results, r->result),
           describe(gradients, r->gradient));
    print_escaped(r->doc);
=======
    printf("| %s | %s | %s | %s | %s | ", r->name, explain(arities, r->arity),
           explain(types, r->types), explain(results, r->result),
           explain(gradients, r->gradient));
    print_plain(r->doc);
>>>>>>> refs/heads/docs
    puts(" |");
}

static void print_class(const word *cls)
{
    printf("\n## %s\n\n", cls->text);
    puts("| name | operands | element types | result | gradient | |");
    puts("|---|---|---|---|---|---|");
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].cls, cls->key) == 0)
            print_row(&rows[i]);
}

int main(void)
{
    puts("# Operations\n\n"
<<<<<<< HEAD
         "Generated from `src/ir/op.def` by `make update-ops-doc`: edit the "
         "table there.\n\n"
         "Operands are values, variables, tensors and plain numbers. Shapes "
         "broadcast.\nDtypes must be equal; a plain number is converted to "
         "the dtype of the other\noperands, which must be able to represent "
         "it\n([NUMERICS.md](NUMERICS.md#plain-numbers)). *Element types* are "
         "the dtypes that the\nfirst data operand may have, *result* is the "
         "dtype of the result.\n`include/tgjit/ops.h` declares the functions, "
         "including those composed of several\noperations.");
    for (const keyword *cls = classes; cls->key; cls++)
=======
         "Written from `src/ir/op.def` by `make update-ops-doc`: edit the table "
         "there.\n\n"
         "Operations take values, variables, tensors and plain numbers. "
         "Shapes broadcast;\nelement types must be equal, and plain numbers "
         "take the type of the others,\nwhich must hold them "
         "([NUMERICS.md](NUMERICS.md#plain-numbers)).\nHere *element types* "
         "are those of the first operand with data, and *result* is\nthe "
         "element type that comes out. `include/tgjit/ops.h` has the "
         "functions, also\nthose made of several operations.");
    for (const word *cls = classes; cls->key; cls++)
>>>>>>> refs/heads/docs
        print_class(cls);
    for (int i = 0; i < ROWS; i++)
        (void)explain(classes, rows[i].cls);
    return has_unknown_word || fflush(stdout) != 0;
}
