/* SPDX-License-Identifier: MIT */
/*
 * matmul_form.c - forms of matmuls: lists of choices. Any list can be turned
 * into a valid one, so forms may be picked at random.
 */
#include <stdio.h>
#include <string.h>

#include "random/matmul.h"

/* -- Words ----------------------------------------------------------------- */

#define WORD(ID, word) #word,
#define WORDS(ID, list) static const char *const words_##ID[] = {list(WORD)};
PRODUCT_FIELDS(WORDS)
#undef WORDS
#undef WORD

static const struct {
    const char *const *words;
    int n;
} fields[PRODUCT_N_FIELDS] = {
#define FIELD(ID, list)                                                        \
    {words_##ID, (int)(sizeof(words_##ID) / sizeof(words_##ID[0]))},
    PRODUCT_FIELDS(FIELD)
#undef FIELD
};

int product_n_choices(product_field field)
{
    return fields[field].n;
}

void product_form_print(const product_form *form, char *text)
{
    *text = 0;
    for (int i = 0; i < PRODUCT_N_FIELDS; i++) {
        strcat(text, i ? "," : "");
        strcat(text, fields[i].words[form->field[i]]);
    }
}

static bool parse_word(const char *word, size_t n, int field, uint8_t *out)
{
    for (int i = 0; i < fields[field].n; i++)
        if (strlen(fields[field].words[i]) == n &&
            strncmp(fields[field].words[i], word, n) == 0) {
            *out = (uint8_t)i;
            return true;
        }
    return false;
}

bool product_form_parse(const char *text, product_form *form)
{
    for (int i = 0; i < PRODUCT_N_FIELDS; i++) {
        const size_t n = strcspn(text, ",");
        if (!parse_word(text, n, i, &form->field[i]))
            return false;
        text += n;
        if (*text != (i + 1 < PRODUCT_N_FIELDS ? ',' : 0))
            return false;
        text += *text == ',';
    }
    return true;
}

/* -- Picking --------------------------------------------------------------- */

void product_form_random(product_form *form, uint64_t seed)
{
    uint64_t state = seed;
    form->seed = rg_random(&state);
    for (int i = 0; i < PRODUCT_N_FIELDS; i++) {
        const uint64_t random = rg_random(&state);
        const bool is_free = i == PRODUCT_FIELD_WIDTH ||
                             i == PRODUCT_FIELD_FILL || i == PRODUCT_FIELD_FLIP;
        form->field[i] = 0;
        if (is_free || random % 8 < 5)
            form->field[i] = (uint8_t)((random >> 8) % (uint64_t)fields[i].n);
    }
    product_form_make_valid(form);
}

/* -- Valid combinations ---------------------------------------------------- */

static uint8_t *field(product_form *form, product_field which)
{
    return &form->field[which];
}

static void fix_vectors(product_form *form)
{
    uint8_t *a = field(form, PRODUCT_FIELD_A);
    uint8_t *b = field(form, PRODUCT_FIELD_B);
    uint8_t *batch = field(form, PRODUCT_FIELD_BATCH);
    uint8_t *end = field(form, PRODUCT_FIELD_END);
    if (*a == PRODUCT_VECTOR) {
        *field(form, PRODUCT_FIELD_FLIP) &= (uint8_t)~PRODUCT_FLIP_A;
        *batch = *batch == PRODUCT_SINGLE ? PRODUCT_SINGLE : PRODUCT_OF_B;
    }
    if (*b == PRODUCT_VECTOR) {
        *field(form, PRODUCT_FIELD_FLIP) &= (uint8_t)~PRODUCT_FLIP_B;
        *batch = *batch == PRODUCT_SINGLE || *a == PRODUCT_VECTOR
                     ? PRODUCT_SINGLE
                     : PRODUCT_OF_A;
    }
    /* A dot product has no axes. */
    if (*a == PRODUCT_VECTOR && *b == PRODUCT_VECTOR &&
        *end != PRODUCT_END_RESULT && *end != PRODUCT_END_GELU &&
        *end != PRODUCT_END_OTHER_TYPE)
        *end = PRODUCT_END_SCALE;
}

/* b is a, so one of them is transposed. */
static void fix_same_operand(product_form *form)
{
    uint8_t *flip = field(form, PRODUCT_FIELD_FLIP);
    uint8_t *batch = field(form, PRODUCT_FIELD_BATCH);
    if (*field(form, PRODUCT_FIELD_A) == PRODUCT_VECTOR) {
        *field(form, PRODUCT_FIELD_B) = PRODUCT_VECTOR;
        return;
    }
    *flip = *flip & PRODUCT_FLIP_A ? PRODUCT_FLIP_A : PRODUCT_FLIP_B;
    *batch = *batch == PRODUCT_SINGLE ? PRODUCT_SINGLE : PRODUCT_BOTH;
}

/* The result must have the shape of a. */
static void fix_over_a(product_form *form)
{
    uint8_t *b = field(form, PRODUCT_FIELD_B);
    *field(form, PRODUCT_FIELD_A) = PRODUCT_VARIABLE;
    *field(form, PRODUCT_FIELD_FLIP) &= (uint8_t)~PRODUCT_FLIP_A;
    *field(form, PRODUCT_FIELD_BATCH) = PRODUCT_SINGLE;
    if (*b == PRODUCT_SAME || *b == PRODUCT_VECTOR)
        *b = PRODUCT_PLAIN;
}

/* Extents of variables are known, as are those that no argument has. */
static void fix_open_extents(product_form *form)
{
    enum { M = 1 << PRODUCT_M, N = 1 << PRODUCT_N, K = 1 << PRODUCT_K };
    enum { B = 1 << PRODUCT_B1 };
    const uint8_t a = *field(form, PRODUCT_FIELD_A);
    const uint8_t b = *field(form, PRODUCT_FIELD_B);
    const uint8_t end = *field(form, PRODUCT_FIELD_END);
    unsigned known = 0;
    if (a == PRODUCT_VARIABLE)
        known |= M | K | B;
    if (b == PRODUCT_VARIABLE)
        known |= N | K | B;
    if (end == PRODUCT_END_IN_PLACE)
        known |= M | N | B;
    if (end == PRODUCT_END_OVER_A)
        known |= M | N | K | B;
    if (a == PRODUCT_VECTOR)
        known |= M;
    if (b == PRODUCT_VECTOR)
        known |= N;
    if (*field(form, PRODUCT_FIELD_BATCH) == PRODUCT_SINGLE)
        known |= B;
    if (b == PRODUCT_SAME) /* n is m */
        known |= N;
    *field(form, PRODUCT_FIELD_OPEN) &= (uint8_t)~known;
}

void product_form_make_valid(product_form *form)
{
    if (*field(form, PRODUCT_FIELD_A) == PRODUCT_SAME)
        *field(form, PRODUCT_FIELD_A) = PRODUCT_PLAIN;
    if (*field(form, PRODUCT_FIELD_END) == PRODUCT_END_OVER_A)
        fix_over_a(form);
    if (*field(form, PRODUCT_FIELD_B) == PRODUCT_SAME)
        fix_same_operand(form);
    fix_vectors(form);
    fix_open_extents(form);
}

bool product_is_open(const product_form *form, int extent)
{
    const int bit = extent == PRODUCT_B2 ? PRODUCT_B1 : extent;
    return extent < PRODUCT_EXTENTS &&
           form->field[PRODUCT_FIELD_OPEN] >> bit & 1;
}

/* True if an operation of the form is undefined without elements: last or
   largest element, clamped index. */
static bool needs_some(const product_form *form)
{
    for (int side = 0; side < 2; side++) {
        const int operand = form->field[PRODUCT_FIELD_A + side];
        if (operand == PRODUCT_BACK || operand == PRODUCT_GATHERED)
            return true;
    }
    return form->field[PRODUCT_FIELD_END] == PRODUCT_END_SOFTMAX;
}

void product_sizes_make_valid(const product_form *form, product_sizes *sizes)
{
    const uint8_t a = form->field[PRODUCT_FIELD_A];
    const uint8_t b = form->field[PRODUCT_FIELD_B];
    const uint8_t end = form->field[PRODUCT_FIELD_END];
    int64_t *extent = sizes->extent;
    for (int i = 0; i < PRODUCT_EXTENTS; i++)
        if (extent[i] == 0 && needs_some(form))
            extent[i] = 1;
    if (a == PRODUCT_VECTOR)
        extent[PRODUCT_M] = 1;
    if (b == PRODUCT_VECTOR)
        extent[PRODUCT_N] = 1;
    if (b == PRODUCT_SAME)
        extent[PRODUCT_N] = extent[PRODUCT_M];
    if (end == PRODUCT_END_OVER_A)
        extent[PRODUCT_N] = extent[PRODUCT_K];
    if (form->field[PRODUCT_FIELD_BATCH] == PRODUCT_SINGLE)
        extent[PRODUCT_B1] = 1;
    if (form->field[PRODUCT_FIELD_BATCH] != PRODUCT_CROSS)
        extent[PRODUCT_B2] = 1;
}
