/* SPDX-License-Identifier: MIT */
/*
 * ops_table.c - prints docs/OPS.md from src/ir/op.def, op_names.def and the
 * bounds of tests/ulp. `make
 * check' compares the two, `make update-ops-doc' regenerates the file. An error
 * is reported for a keyword of op.def without a description here, and for a
 * function without names, so that nothing is omitted silently.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct row {
    const char *id, *name, *cls, *arity, *types, *result, *gradient, *doc;
} row;

static const row rows[] = {
#define OP(ID, name, cls, arity, types, result, gradient, domain, flags, doc) \
    {#ID, #name, #cls, #arity, #types, #result, #gradient, doc},
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
    {"STORED", "all"},
    {"NUM", "all but bool"},
    {"NUM_HALF", "all but bool"},
    {"INT", "integers"},
    {"BITS", "bool, integers"},
    {"FLOAT", "floats"},
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

/* What follows the heading of a class. */
static const keyword shape_rules[] = {
    {"UNARY",
     "The result has the shape of the operand. Outside of its domain a "
     "function gives\nNaN; at infinities and zeros it has the limits of the "
     "functions of C."},
    {"CAST", "The result has the shape of the operand."},
    {"BINARY",
     "The operands broadcast to the shape of the result, as in NumPy."},
    {"TERNARY", "The operands broadcast to the shape of the result."},
    {NULL, NULL},
};

/* Shapes of the results of other operations. */
static const keyword shapes[] = {
    {"broadcast", "given; axes are aligned at the last one"},
    {"reshape", "given; one extent may be computed (-1)"},
    {"transpose", "permuted"},
    {"slice", "ceil((stop - start) / step) along the axis"},
    {"window", "windows along each axis, then their elements"},
    {"pad", "low + extent + high"},
    {"concat", "the sum along the axis"},
    {"gather", "that of the indices instead of the axis"},
    {"dynamic_slice", "the size along the axis"},
    {"dynamic_update", "that of the first operand"},
    {"scatter", "that of the first operand"},
    {"sum", "without the axes, or 1 there (tg_keep)"},
    {"prod", "likewise"},
    {"reduce_max", "likewise"},
    {"reduce_min", "likewise"},
    {"argmax", "without the axis"},
    {"argmin", "without the axis"},
    {"linear_scan", "that of the operands"},
    {"matmul", "[…,m,k] […,k,n]: […,m,n]; … broadcast"},
    {"conv", "batch, windows, filters"},
    {"random_bits", "given"},
    {NULL, NULL},
};

/* Bounds of errors in ulp, of f32 and f64. */
static const struct {
    const char *id;
    double f32, f64;
} bounds[] = {
#define ULP_1(ID, f32, f64, quick, exact) {#ID, f32, f64},
#define ULP_2 ULP_1
#include "../tests/ulp/ulp_bounds.def"
#undef ULP_1
#undef ULP_2
    {"ADD", 0.5, 0.5}, {"SUB", 0.5, 0.5}, {"MUL", 0.5, 0.5},
    {"DIV", 0.5, 0.5}, {"FMA", 0.5, 0.5}, {"CAST", 0.5, 0.5},
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

static bool is_elementwise(const char *cls)
{
    for (const keyword *k = shape_rules; k->key; k++)
        if (strcmp(k->key, cls) == 0)
            return true;
    return false;
}

/* Operations that are not among the bounds are exact. */
static void print_accuracy(const row *r)
{
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        if (strcmp(bounds[i].id, r->id) == 0 && bounds[i].f32 > 0) {
            printf("%g", bounds[i].f32);
            if (bounds[i].f64 > bounds[i].f32)
                printf("; f64: %g", bounds[i].f64);
            printf(" | ");
            return;
        }
    printf("exact | ");
}

static bool has_shape(const char *cls)
{
    static const char *const named[] = {"VIEW", "INDEX",  "REDUCE", "SCAN",
                                        "CONV", "MATMUL", "RANDOM"};
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        if (strcmp(cls, named[i]) == 0)
            return true;
    return false;
}

static void print_row(const row *r)
{
    printf("| %s | %s | %s | %s | %s | ", r->name, describe(arities, r->arity),
           describe(types, r->types), describe(results, r->result),
           describe(gradients, r->gradient));
    if (is_elementwise(r->cls))
        print_accuracy(r);
    if (has_shape(r->cls))
        printf("%s | ", describe(shapes, r->name));
    print_escaped(r->doc);
    puts(" |");
}

static void print_class(const keyword *cls)
{
    printf("\n## %s\n\n", cls->text);
    const bool has_column = is_elementwise(cls->key) || has_shape(cls->key);
    if (is_elementwise(cls->key))
        printf("%s\n\n", describe(shape_rules, cls->key));
    printf("| name | operands | element types | result | gradient | %s|\n",
           is_elementwise(cls->key) ? "error (ulp) | "
           : has_shape(cls->key)    ? "shape | "
                                    : "");
    printf("|---|---|---|---|---|---|%s\n", has_column ? "---|" : "");
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].cls, cls->key) == 0)
            print_row(&rows[i]);
}

/* -- Functions composed of operations -------------------------------------- */

static const struct {
    const char *name, *header, *types, *shape, *gradient, *doc;
} functions[] = {
    {"square, reciprocal", "ops.h", "floats", "of x", "yes",
     "x * x, 1 / x"},
    {"gt, ge, clamp", "ops.h", "all", "common", "clamp: yes",
     "a > b, a >= b, min(max(a, b), c)"},
    {"is_nan, is_inf, is_finite, signbit", "ops.h", "floats", "of x", "-",
     "bool, of floats"},
    {"floordiv, floormod", "ops.h", "all but bool", "common", "yes",
     "quotient rounded down, its remainder"},
    {"fmod", "ops.h", "floats", "common", "yes",
     "remainder with the sign of a, of floats"},
    {"copysign, nextafter", "ops.h", "floats", "common", "copysign: yes",
     "signs and neighbours of floats"},
    {"logical_xor", "ops.h", "all", "common", "-",
     "(a != 0) != (b != 0)"},
    {"mean, any, all",
     "ops.h", "mean: floats; bool", "without the axes", "mean: yes",
     "over axes"},
    {"dot_general, einsum",
     "ops.h", "all but bool", "batch axes, others of a, others of b; labels",
     "yes",
     "sums of products"},
    {"quantize, dequantize, quantize_dynamic",
     "ops_quantize.h", "floats; i8 … i32", "of x", "dequantize: of scale",
     "integers for floats, with scales and zero points"},
    {"matmul_integer", "ops_quantize.h", "i8, u8", "as matmul", "-",
     "i8 and u8 operands, i32 result"},
    {"cumsum, cumprod", "ops_cumulative.h", "all but bool", "of x", "yes",
     "along an axis; exclusive, reverse"},
    {"relu", "ops_nn.h", "all but bool", "of x", "yes",
     "max(x, 0)"},
    {"relu6, softsign, log_sigmoid, selu, gelu_tanh, mish, hard_swish",
     "ops_activation.h", "floats", "of x", "yes",
     "activation functions without parameters"},
    {"leaky_relu, prelu, elu, celu, thresholded_relu, hard_sigmoid, shrink",
     "ops_activation.h", "floats", "common", "yes",
     "activation functions with parameters"},
    {"softmax, log_softmax", "ops_nn.h", "floats", "of x", "yes",
     "along an axis"},
    {"layer_norm", "ops_nn.h", "floats", "of x", "yes",
     "along the last axis"},
    {"softmax_cross_entropy",
     "ops_nn.h", "floats", "without the last axis", "yes",
     "per row; labels are weights or class indices"},
    {"one_hot", "ops_arrange.h", "integers", "and the classes", "-",
     "class indices as rows of 0 and 1"},
    {"stack, unstack", "ops_arrange.h", "all", "with, without the axis", "yes",
     "along a new axis, and back"},
    {"roll", "ops_arrange.h", "all", "of x", "yes",
     "elements moved along an axis, cyclically"},
    {"flatten, squeeze, expand_dims", "ops_shape.h", "all", "as named", "yes",
     "axes merged, removed, inserted"},
    {"split", "ops_shape.h", "all", "of x but the axis", "yes",
     "parts along an axis, equal or of given sizes"},
    {"reverse, reverse_sequence", "ops_shape.h", "all", "of x", "yes",
     "along axes; sequences of different lengths"},
    {"tile, repeat", "ops_shape.h", "all", "multiplied", "yes",
     "the whole, or every element, repeated"},
    {"pad_from", "ops_shape.h", "all", "and low + high", "yes",
     "padding from the elements: edge, reflect, symmetric, wrap"},
    {"depth_to_space, space_to_depth",
     "ops_shape.h", "all", "channels / or * block^2", "yes",
     "channels moved into spatial blocks, and back"},
    {"arange, linspace", "ops_shape.h", "all but bool", "a vector", "-",
     "numbers at equal distances"},
    {"eye, triangle, tril, triu",
     "ops_shape.h", "all", "given; of x", "tril, triu: yes",
     "diagonals and triangles of matrices"},
    {"gather_nd, scatter_nd",
     "ops_index.h", "all", "indices but the last axis, then slices; of x",
     "yes",
     "elements or slices selected by several indices"},
    {"take_along_axis, put_along_axis",
     "ops_index.h", "all", "of the indices; of x", "yes",
     "one index along an axis per element"},
    {"count_nonzero, nonzero, compress",
     "ops_index.h", "all", "the maximum first", "compress: yes",
     "elements selected by a condition, up to a declared maximum"},
    {"resize", "ops_resize.h", "floats", "of x but the axes", "yes",
     "nearest, linear and cubic resampling"},
    {"grid_sample",
     "ops_resize.h", "floats", "batch, channels, those of the grid", "yes",
     "images sampled at given positions"},
    {"var, std", "ops_statistics.h", "floats", "without the axes", "yes",
     "variance and standard deviation, with a correction"},
    {"accuracy", "ops_statistics.h", "all", "scalar", "-",
     "fraction of rows classified correctly"},
    {"confusion_matrix",
     "ops_statistics.h", "integers", "classes by classes", "-",
     "counts of label and prediction"},
    {"conv, conv1d, conv2d, conv3d",
     "ops_conv.h", "floats", "batch, windows, filters", "yes",
     "strides, dilations, padding, groups, channels first or last"},
    {"conv_transpose, conv2d_transpose",
     "ops_conv.h", "floats", "as named", "yes",
     "the gradient of conv with respect to its operand"},
    {"max_pool, avg_pool, lp_pool",
     "ops_conv.h", "floats", "batch, windows, channels", "yes",
     "reductions of sliding windows"},
    {"global_max_pool, global_avg_pool",
     "ops_conv.h", "floats", "batch, channels", "yes",
     "over all spatial axes"},
    {"sigmoid_cross_entropy", "losses.h", "floats", "common", "yes",
     "per element"},
    {"mean_squared_error, mean_absolute_error, huber_loss",
     "losses.h", "floats", "scalar", "yes",
     "means over all elements"},
    {"class_loss", "losses.h", "floats", "scalar, or of the labels", "yes",
     "of class labels, with class weights and a label to ignore"},
    {"gemm", "ops_norm.h", "floats", "as matmul", "yes",
     "alpha * a b + beta * c"},
    {"rms_norm, group_norm, instance_norm, local_response_norm",
     "ops_norm.h", "floats", "of x", "yes",
     "normalisation"},
    {"dot_product_attention",
     "ops_norm.h", "floats", "of q, columns of v", "yes",
     "with a mask, or causal"},
    {"dense, embedding, attention",
     "layers.h", "floats", "of x, units last", "yes",
     "layers whose weights are variables"},
    {"rnn, gru, lstm", "layers.h", "floats", "a state", "yes",
     "layers over sequences, which may differ in length"},
    {"batch_norm, dropout", "layers.h", "floats", "of x", "yes",
     "layers that differ between training and use"},
    {"sort, argsort, top_k",
     "ops_order.h", "all", "of x; k along the axis", "sort, top_k: yes",
     "stable, along an axis; NaN is largest, -0 \\< +0"},
    {"nonmax_suppression", "ops_detection.h", "floats", "the maximum by 3", "-",
     "boxes by score, without those that overlap"},
    {"cosine_window, hann_window, hamming_window, blackman_window",
     "ops_signal.h", "floats", "a vector", "-",
     "vectors"},
    {"cholesky, triangular_solve, solve, inverse",
     "lapack.h", "f32, f64", "of a or b", "yes",
     "of matrices; host calls"},
    {"det, slogdet, qr, svd, eigh",
     "lapack.h", "f32, f64", "batch axes, then factors", "yes",
     "likewise"},
    {"fft, ifft, rfft, irfft, stft",
     "fftw.h", "f32, f64", "of x, complex pairs last", "yes",
     "Fourier transforms; host calls"},
    {"vmap", "vmap.h", "all", "with the batch", "yes",
     "a callback for each element of a batch"},
    {"unique", "ops_order.h", "all", "the maximum", "-",
     "different elements, up to a declared maximum, and their counts"},
    {"quantile, median", "ops_order.h", "floats", "without the axes", "yes",
     "over axes"},
    {"logsumexp, norm_l1, norm_l2, sum_square",
     "ops_reduce.h", "floats", "without the axes", "yes",
     "over axes"},
    {"argmax_axes, argmin_axes", "ops_reduce.h", "all", "without the axes", "-",
     "first or last position over several axes"},
    {"random_uniform, random_normal, random_truncated_normal",
     "ops_random.h", "floats", "given", "-",
     "from a key or a generator"},
    {"random_bernoulli, random_integers, random_permutation, "
     "random_categorical, random_gamma",
     "ops_random.h", "as named", "given", "-",
     "likewise"},
};

static void print_functions(void)
{
    puts("\n## Functions composed of operations\n\n"
         "*Shape* is that of the result: \"of x\" is that of the first "
         "operand, \"common\" the\none to which all broadcast. The accuracy "
         "follows from the operations. Headers and\nmanual pages (`man "
         "tg_sort`) state edge cases and options. More on "
         "layers,\noptimisers and schedules is in [TRAINING.md](TRAINING.md).\n\n"
         "| name | header | element types | shape | gradient | |\n"
         "|---|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        printf("| %s | `%s` | %s | %s | %s | %s |\n", functions[i].name,
               functions[i].header, functions[i].types, functions[i].shape,
               functions[i].gradient, functions[i].doc);
}

/* -- Names elsewhere ------------------------------------------------------- */

static const struct {
    const char *name, *numpy, *tensorflow, *onnx;
} names[] = {
#define NAMES(name, numpy, tensorflow, onnx) {#name, numpy, tensorflow, onnx},
#include "op_names.def"
#undef NAMES
};
enum { N_NAMES = sizeof(names) / sizeof(names[0]) };

static bool has_names(const char *name, size_t length)
{
    for (int i = 0; i < N_NAMES; i++)
        if (strlen(names[i].name) == length &&
            strncmp(names[i].name, name, length) == 0)
            return true;
    return false;
}

/* Every function has a row, if only "-"; convolutions of 1 to 3 axes share that
   of conv. */
static void check_names(void)
{
    const size_t n = sizeof(functions) / sizeof(functions[0]);
    for (size_t i = 0; i < n; i++)
        for (const char *at = functions[i].name; *at;) {
            const size_t length = strcspn(at, ",");
            const bool is_by_rank =
                strncmp(at, "conv", 4) == 0 && strchr("123", at[4]);
            if (!has_names(at, length) && !is_by_rank) {
                fprintf(stderr, "ops_table: no names of %.*s in op_names.def\n",
                        (int)length, at);
                has_unknown_keyword = true;
            }
            at += length;
            at += strspn(at, ", ");
        }
}

static void print_names(void)
{
    puts("\n## Names elsewhere\n\n"
         "A name of NumPy (`numpy.…`), TensorFlow (`tf.…`) or ONNX finds the "
         "function\nhere: `where` finds `tg_select`. Edge cases may differ; "
         "the headers state them.\n\n"
         "| tgjit | NumPy | TensorFlow | ONNX |\n|---|---|---|---|");
    for (int i = 0; i < N_NAMES; i++)
        printf("| tg_%s | %s | %s | %s |\n", names[i].name, names[i].numpy,
               names[i].tensorflow, names[i].onnx);
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
         "dtype of the result.\n*Floats* are f16, bf16, f32 and f64; the first "
         "two are computed in f32\n([NUMERICS.md](NUMERICS.md)). "
         "`include/tgjit/ops.h` declares the functions.");
    for (const keyword *cls = classes; cls->key; cls++)
        print_class(cls);
    print_functions();
    check_names();
    print_names();
    for (int i = 0; i < ROWS; i++)
        (void)describe(classes, rows[i].cls);
    return has_unknown_keyword || fflush(stdout) != 0;
}
