/* SPDX-License-Identifier: MIT */
/*
 * ops_table.c - prints docs/OPS.md from src/ir/op.def and op_names.def. `make
 * check' compares the two, `make update-ops-doc' regenerates the file. An error
 * is reported for a keyword of op.def without a description here, and for a
 * function without names, so that nothing is omitted silently.
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
    {"square, reciprocal", "ops.h", "x * x, 1 / x"},
    {"gt, ge, clamp", "ops.h", "a > b, a >= b, min(max(a, b), c)"},
    {"is_nan, is_inf, is_finite, signbit", "ops.h", "bool, of floats"},
    {"floordiv, floormod", "ops.h", "quotient rounded down, its remainder"},
    {"fmod", "ops.h", "remainder with the sign of a, of floats"},
    {"copysign, nextafter", "ops.h", "signs and neighbours of floats"},
    {"logical_xor", "ops.h", "(a != 0) != (b != 0)"},
    {"mean, any, all", "ops.h", "over axes"},
    {"dot_general, einsum", "ops.h", "sums of products"},
    {"quantize, dequantize, quantize_dynamic", "ops_quantize.h",
     "integers for floats, with scales and zero points"},
    {"matmul_integer", "ops_quantize.h", "i8 and u8 operands, i32 result"},
    {"cumsum, cumprod", "ops_cumulative.h",
     "along an axis; exclusive, reverse"},
    {"relu", "ops_nn.h", "max(x, 0)"},
    {"relu6, softsign, log_sigmoid, selu, gelu_tanh, mish, hard_swish",
     "ops_activation.h", "activation functions without parameters"},
    {"leaky_relu, prelu, elu, celu, thresholded_relu, hard_sigmoid, shrink",
     "ops_activation.h", "activation functions with parameters"},
    {"softmax, log_softmax", "ops_nn.h", "along an axis"},
    {"layer_norm", "ops_nn.h", "along the last axis"},
    {"softmax_cross_entropy", "ops_nn.h",
     "per row; labels are weights or class indices"},
    {"one_hot", "ops_arrange.h", "class indices as rows of 0 and 1"},
    {"stack, unstack", "ops_arrange.h", "along a new axis, and back"},
    {"roll", "ops_arrange.h", "elements moved along an axis, cyclically"},
    {"flatten, squeeze, expand_dims", "ops_shape.h",
     "axes merged, removed, inserted"},
    {"split", "ops_shape.h", "parts along an axis, equal or of given sizes"},
    {"reverse, reverse_sequence", "ops_shape.h",
     "along axes; sequences of different lengths"},
    {"tile, repeat", "ops_shape.h", "the whole, or every element, repeated"},
    {"pad_from", "ops_shape.h",
     "padding from the elements: edge, reflect, symmetric, wrap"},
    {"depth_to_space, space_to_depth", "ops_shape.h",
     "channels moved into spatial blocks, and back"},
    {"arange, linspace", "ops_shape.h", "numbers at equal distances"},
    {"eye, triangle, tril, triu", "ops_shape.h",
     "diagonals and triangles of matrices"},
    {"gather_nd, scatter_nd", "ops_index.h",
     "elements or slices selected by several indices"},
    {"take_along_axis, put_along_axis", "ops_index.h",
     "one index along an axis per element"},
    {"count_nonzero, nonzero, compress", "ops_index.h",
     "elements selected by a condition, up to a declared maximum"},
    {"resize", "ops_resize.h", "nearest, linear and cubic resampling"},
    {"grid_sample", "ops_resize.h", "images sampled at given positions"},
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
    {"class_loss", "losses.h",
     "of class labels, with class weights and a label to ignore"},
    {"gemm", "ops_norm.h", "alpha * a b + beta * c"},
    {"rms_norm, group_norm, instance_norm, local_response_norm", "ops_norm.h",
     "normalisation"},
    {"dot_product_attention", "ops_norm.h", "with a mask, or causal"},
    {"sort, argsort, top_k", "ops_order.h",
     "stable, along an axis; NaN is largest, -0 \\< +0"},
    {"nonmax_suppression", "ops_detection.h",
     "boxes by score, without those that overlap"},
    {"cosine_window, hann_window, hamming_window, blackman_window",
     "ops_signal.h", "vectors"},
    {"cholesky, triangular_solve, solve, inverse", "lapack.h",
     "of matrices; host calls"},
    {"det, slogdet, qr, svd, eigh", "lapack.h", "likewise"},
    {"fft, ifft, rfft, irfft, stft", "fftw.h",
     "Fourier transforms; host calls"},
    {"vmap", "vmap.h", "a callback for each element of a batch"},
    {"unique", "ops_order.h",
     "different elements, up to a declared maximum, and their counts"},
    {"quantile, median", "ops_order.h", "over axes"},
    {"logsumexp, norm_l1, norm_l2, sum_square", "ops_reduce.h", "over axes"},
    {"argmax_axes, argmin_axes", "ops_reduce.h",
     "first or last position over several axes"},
    {"random_uniform, random_normal, random_truncated_normal", "ops_random.h",
     "from a key or a generator"},
    {"random_bernoulli, random_integers, random_permutation, "
     "random_categorical, random_gamma",
     "ops_random.h", "likewise"},
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
