/* SPDX-License-Identifier: MIT */
/*
 * test_bad_input_ops.c - operations on mismatched operands are rejected while
 * tracing, with a message that names the operation, the facts and the line.
 *
 * Each row is one test: a status, the operation, a part of the message, and the
 * expression, over
 *     x  f32[2,3]     m  f32[64,784]    i  i32[4]     b  bool[2,3]
 *     v  variable f32[2,3]              s  f32[]      none  f32[0,3]
 *     n  f32[?]
 * The message always begins with the source location and the operation.
 */
#include "support/api.h"

static const tg_spec specs[] = {
    {TG_SPEC_TENSOR, TG_F32, 2, {2, 3}, {0}},
    {TG_SPEC_TENSOR, TG_F32, 2, {64, 784}, {0}},
    {TG_SPEC_TENSOR, TG_I32, 1, {4}, {0}},
    {TG_SPEC_TENSOR, TG_BOOL, 2, {2, 3}, {0}},
    {TG_SPEC_VARIABLE, TG_F32, 2, {2, 3}, {0}},
    {TG_SPEC_TENSOR, TG_F32, 0, {0}, {0}},
    {TG_SPEC_TENSOR, TG_F32, 2, {0, 3}, {0}},
    {TG_SPEC_TENSOR, TG_F32, 1, {TG_UNKNOWN}, {0}},
};

/* Records the line of an expression, in the way operations do. */
#define AT(expression) (line = TG_HERE.line, (expression))
static int line;

/* Traces the callback, which must fail at the recorded line. */
static void check_refused(tg_callback *callback, tg_status wanted,
                          const char *op, const char *piece)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, callback, NULL, NULL);
    cr_assert_null(
        tg_function_concrete(f, specs, sizeof specs / sizeof *specs));
    char begin[256];
    snprintf(begin, sizeof begin, "%s:%d: %s: ", __FILE__, line, op);
    check_record_at(line, wanted, (const char *const[]){begin, piece, NULL});
    cr_assert_eq(tg_error_last()->line, line);
    cr_assert_eq(tg_function_trace_count(f), 0);
    tg_function_release(f);
    session_end(&s);
}

#define REFUSED(name, wanted, op, piece, expression) \
    static void trace_##name(tg_trace *t, const tg_value *in, void *user) \
    { \
        const tg_value x = in[0], m = in[1], i = in[2], b = in[3], v = in[4], \
                       s = in[5], none = in[6], n = in[7]; \
        (void)x, (void)m, (void)i, (void)b, (void)v, (void)s, (void)none; \
        (void)n, (void)user; \
        const tg_value result = (expression); \
        cr_assert_not(tg_is_valid(result)); \
        cr_assert_eq(tg_trace_status(t), wanted); \
        /* The first error stays, whatever follows it. */ \
        cr_assert_not(tg_is_valid(tg_matmul(tg_neg(result), i))); \
        tg_return(t, result); \
    } \
    Test(bad_input, name) \
    { \
        check_refused(trace_##name, wanted, op, piece); \
    }

#define OVERFLOW TG_ERROR_OVERFLOW
#define DTYPE TG_ERROR_DTYPE
#define SHAPE TG_ERROR_SHAPE
#define INVALID TG_ERROR_INVALID_ARGUMENT

/* -- Rank, negative extents, sizes ----------------------------------------- */

REFUSED(rank_over_the_limit_in_broadcast, OVERFLOW, "broadcast", "rank 9",
        AT(tg_broadcast(s, 9, ((int64_t[9]){1}))))
REFUSED(rank_over_the_limit_in_reshape, OVERFLOW, "reshape", "rank 100",
        AT(tg_reshape(s, 100, (int64_t[]){1})))
REFUSED(rank_over_the_limit_in_iota, OVERFLOW, "iota", "rank 9",
        AT(tg_iota(TG_I32, 9, ((int64_t[9]){1}), 0)))
REFUSED(rank_over_the_limit_in_constant, OVERFLOW, "constant", "rank 9",
        AT(tg_constant(TG_F32, 9, ((int64_t[9]){1}), &(float){0})))
REFUSED(rank_over_the_limit_in_random, OVERFLOW, "random_uniform", "rank 9",
        AT(tg_random_uniform(1, TG_F32, 9, ((int64_t[9]){1}))))
REFUSED(rank_over_the_limit_in_gather, OVERFLOW, "gather", "axes",
        AT(tg_gather(tg_broadcast(s, TG_DIMS(1, 1, 1, 1, 1, 1, 1, 1)),
                     tg_cast(b, TG_I32), 0)))
REFUSED(negative_rank, OVERFLOW, "broadcast", "rank -1",
        AT(tg_broadcast(s, -1, (int64_t[]){1})))
REFUSED(negative_extent_in_broadcast, SHAPE, "broadcast", "extent -5",
        AT(tg_broadcast(s, TG_DIMS(-5))))
REFUSED(negative_extent_in_reshape, SHAPE, "reshape", "extent -2",
        AT(tg_reshape(x, TG_DIMS(3, -2))))
REFUSED(negative_extent_in_iota, SHAPE, "iota", "extent -1",
        AT(tg_iota(TG_I32, TG_DIMS(-1), 0)))
REFUSED(negative_extent_in_constant, SHAPE, "constant", "negative",
        AT(tg_constant(TG_F32, TG_DIMS(-1), &(float){0})))
REFUSED(smallest_extent_of_all, SHAPE, "broadcast", "negative",
        AT(tg_broadcast(s, TG_DIMS(INT64_MIN))))
REFUSED(forged_symbol, SHAPE, "broadcast", "negative",
        AT(tg_broadcast(s, TG_DIMS(INT64_MIN + 77))))
REFUSED(null_extents, INVALID, "broadcast", "NULL",
        AT(tg_broadcast(s, 2, NULL)))
REFUSED(null_extents_in_reshape, INVALID, "reshape", "NULL",
        AT(tg_reshape(x, 2, NULL)))
REFUSED(null_data, INVALID, "constant", "NULL",
        AT(tg_constant(TG_F32, TG_DIMS(2), NULL)))
REFUSED(size_overflow_in_broadcast, OVERFLOW, "broadcast", "too many",
        AT(tg_broadcast(s, TG_DIMS(1L << 40, 1L << 40))))
REFUSED(size_overflow_of_bytes, OVERFLOW, "broadcast", "too many",
        AT(tg_broadcast(s, TG_DIMS(1L << 62))))
REFUSED(size_overflow_in_iota, OVERFLOW, "iota", "too many",
        AT(tg_iota(TG_I8, TG_DIMS(INT64_MAX, 2), 0)))
REFUSED(size_overflow_in_pad, OVERFLOW, "pad", "64 bits",
        AT(tg_pad(x, 0, INT64_MAX, INT64_MAX, 0)))
REFUSED(size_overflow_by_padding_once, OVERFLOW, "pad", "64 bits",
        AT(tg_pad(x, 0, INT64_MAX, 0, 0)))
REFUSED(size_overflow_in_matmul, OVERFLOW, "matmul", "too many",
        AT(tg_matmul(tg_broadcast(s, TG_DIMS(1L << 40, 1)),
                     tg_broadcast(s, TG_DIMS(1, 1L << 40)))))
REFUSED(size_overflow_in_elementwise, OVERFLOW, "add", "too many",
        AT(tg_add(tg_broadcast(s, TG_DIMS(1L << 40, 1)),
                  tg_broadcast(s, TG_DIMS(1, 1L << 40)))))
REFUSED(size_overflow_in_gather, OVERFLOW, "gather", "too many",
        AT(tg_gather(tg_broadcast(s, TG_DIMS(2, 1L << 40)),
                     tg_iota(TG_I32, TG_DIMS(1L << 40), 0), 0)))
REFUSED(size_overflow_in_random, OVERFLOW, "random_normal", "too many",
        AT(tg_random_normal(1, TG_F32, TG_DIMS(1L << 40, 1L << 40))))

/* -- Nothing to reduce ----------------------------------------------------- */

REFUSED(max_of_nothing, SHAPE, "reduce_max", "no elements",
        AT(tg_reduce_max(none, TG_AXES(0))))
REFUSED(min_of_nothing, SHAPE, "reduce_min", "[0,3]",
        AT(tg_reduce_min(none, TG_ALL_AXES)))
REFUSED(argmax_of_nothing, SHAPE, "argmax", "no elements",
        AT(tg_argmax(none, 0)))
REFUSED(argmin_of_nothing, SHAPE, "argmin", "no elements",
        AT(tg_argmin(none, 0)))
REFUSED(clamped_gather_from_nothing, SHAPE, "gather", "empty axis",
        AT(tg_gather_with(none, i, 0, TG_GATHER_CLAMP)))

/* -- Axes, permutations, padding, strides ---------------------------------- */

REFUSED(axis_out_of_range_in_sum, SHAPE, "sum",
        "axis 2 is out of range for rank 2", AT(tg_sum(x, TG_AXES(2))))
REFUSED(axis_out_of_range_below, SHAPE, "prod", "axis -3",
        AT(tg_prod(x, TG_AXES(-3))))
REFUSED(axis_out_of_range_by_far, SHAPE, "sum", "out of range",
        AT(tg_sum(x, TG_AXES(1 << 30))))
REFUSED(axis_out_of_range_in_mean, SHAPE, "mean", "axis 2",
        AT(tg_mean(x, TG_AXES(2))))
REFUSED(axis_out_of_range_in_any, SHAPE, "any", "axis 2",
        AT(tg_any(b, TG_AXES(2))))
REFUSED(axis_out_of_range_of_a_scalar, SHAPE, "sum", "axis 0",
        AT(tg_sum(s, TG_AXES(0))))
REFUSED(axis_out_of_range_in_argmax, SHAPE, "argmax", "axis 2",
        AT(tg_argmax(x, 2)))
REFUSED(axis_out_of_range_in_slice, SHAPE, "slice", "axis 2",
        AT(tg_slice(x, 2, 0, 1, 1)))
REFUSED(axis_out_of_range_in_pad, SHAPE, "pad", "axis -3",
        AT(tg_pad(x, -3, 1, 1, 0)))
REFUSED(axis_out_of_range_in_concat, SHAPE, "concat", "axis 2",
        AT(tg_concat(2, x, x)))
REFUSED(axis_out_of_range_in_dynamic_slice, SHAPE, "dynamic_slice", "axis -3",
        AT(tg_dynamic_slice(x, -3, 0, 1)))
REFUSED(axis_out_of_range_in_gather, SHAPE, "gather", "axis 5",
        AT(tg_gather(x, i, 5)))
REFUSED(axis_out_of_range_in_iota, SHAPE, "iota", "axis 1",
        AT(tg_iota(TG_I32, TG_DIMS(3), 1)))
REFUSED(axis_out_of_range_in_extent, SHAPE, "extent", "axis 2",
        AT(tg_extent(x, 2)))
REFUSED(axis_out_of_range_in_softmax, SHAPE, "softmax", "axis 2",
        AT(tg_softmax(x, 2)))
REFUSED(axis_out_of_range_in_log_softmax, SHAPE, "log_softmax", "axis 2",
        AT(tg_log_softmax(x, 2)))
REFUSED(axis_out_of_range_in_stack, SHAPE, "stack", "axis 3",
        AT(tg_stack(3, x, x)))
REFUSED(axis_out_of_range_in_roll, SHAPE, "roll", "axis 2",
        AT(tg_roll(x, 2, 1)))
REFUSED(axis_out_of_range_in_var, SHAPE, "var", "axis 2",
        AT(tg_var(x, TG_AXES(2), 0)))
REFUSED(duplicate_axes, SHAPE, "sum", "axis 1 is repeated",
        AT(tg_sum(x, TG_AXES(1, -1))))
REFUSED(duplicate_axes_in_mean, SHAPE, "mean", "repeated",
        AT(tg_mean(x, TG_AXES(0, 0))))
REFUSED(too_many_axes, SHAPE, "sum", "too many axes",
        AT(tg_sum(x, TG_AXES(0, 1, 2, 3, 4, 5, 6, 7, 8))))
REFUSED(too_many_axes_by_hand, SHAPE, "sum", "too many axes",
        AT(tg_sum(x, ((tg_axes){.n = 127}))))
REFUSED(permutation_of_other_length, SHAPE, "transpose", "length 1",
        AT(tg_transpose(x, TG_PERM(0))))
REFUSED(permutation_of_no_axes, SHAPE, "transpose", "f32[2,3]",
        AT(tg_transpose(x, 0, NULL)))
REFUSED(permutation_that_is_null, SHAPE, "transpose", "f32[2,3]",
        AT(tg_transpose(x, 2, NULL)))
REFUSED(permutation_out_of_range, SHAPE, "transpose", "axis 2",
        AT(tg_transpose(x, TG_PERM(0, 2))))
REFUSED(permutation_with_duplicates, SHAPE, "transpose", "repeated",
        AT(tg_transpose(x, TG_PERM(1, 1))))
REFUSED(padding_below_zero, SHAPE, "pad", "-1", AT(tg_pad(x, 0, -1, 0, 0)))
REFUSED(padding_below_zero_at_the_end, SHAPE, "pad", "negative",
        AT(tg_pad(x, 0, 0, INT64_MIN, 0)))
REFUSED(padding_with_a_tensor, SHAPE, "pad", "not a scalar",
        AT(tg_pad(x, 0, 1, 1, x)))
REFUSED(stride_of_zero, SHAPE, "slice", "invalid step 0",
        AT(tg_slice(x, 0, 0, 1, 0)))
REFUSED(stride_of_the_smallest_number, SHAPE, "slice", "step",
        AT(tg_slice(x, 0, 0, 1, INT64_MIN)))
REFUSED(slice_beyond_the_end, SHAPE, "slice", "out of range",
        AT(tg_slice(x, 1, 0, 4, 1)))
REFUSED(slice_before_the_begin, SHAPE, "slice", "out of range",
        AT(tg_slice(x, 1, -4, 3, 1)))
REFUSED(slice_from_its_end_to_its_begin, SHAPE, "slice", "out of range",
        AT(tg_slice(x, 1, 2, 1, 1)))
REFUSED(slice_from_the_smallest_number, SHAPE, "slice", "out of range",
        AT(tg_slice(x, 1, INT64_MIN, 1, 1)))
REFUSED(slice_down_from_beyond, SHAPE, "slice", "out of range",
        AT(tg_slice(x, 1, 3, 0, -1)))
REFUSED(slice_down_from_the_largest_number, OVERFLOW, "slice", "64 bits",
        AT(tg_slice(x, 1, INT64_MAX, 0, -1)))

/* -- Shapes ---------------------------------------------------------------- */

REFUSED(matmul_of_other_inner_dimensions, SHAPE, "matmul",
        "[64,784] x f32[2,3]: inner dimensions 784 and 2 differ",
        AT(tg_matmul(m, x)))
REFUSED(matmul_of_transposed, SHAPE, "matmul",
        "inner dimensions 64 and 2 differ",
        AT(tg_matmul_with(m, x, TG_TRANSPOSE_A)))
REFUSED(matmul_of_a_scalar, SHAPE, "matmul", "scalar", AT(tg_matmul(x, s)))
REFUSED(matmul_of_other_batches, SHAPE, "matmul", "batch",
        AT(tg_matmul(tg_broadcast(x, TG_DIMS(4, 2, 3)),
                     tg_broadcast(s, TG_DIMS(5, 3, 3)))))
REFUSED(matmul_with_unknown_flags, INVALID, "matmul", "flags 8",
        AT(tg_matmul_with(x, x, 8)))
REFUSED(matmul_of_bytes_in_floats, DTYPE, "matmul", "need i32",
        AT(tg_matmul_with(x, x, TG_MATMUL_BYTES)))
REFUSED(matmul_of_unknown_but_different, SHAPE, "matmul", "inner dimensions",
        AT(tg_matmul(n, tg_pad(n, 0, 0, 1, 0))))
REFUSED(einsum_of_other_extents, SHAPE, "einsum",
        "f32[2,3] x f32[64,784]: label 'j' of \"ij,jk->ik\": 3 and 64 are not "
        "equal",
        AT(tg_einsum("ij,jk->ik", x, m)))
REFUSED(einsum_of_a_diagonal_that_is_none, SHAPE, "einsum",
        "label 'i' of \"ii\": 2 and 3", AT(tg_einsum("ii", x)))
REFUSED(einsum_of_dots_that_do_not_broadcast, SHAPE, "einsum",
        "'...' of \"...,...\": 2 and 64 do not broadcast",
        AT(tg_einsum("...,...", x, m)))
REFUSED(einsum_of_other_ranks, SHAPE, "einsum",
        "f32[2,3] x f32[]: \"ij,j\": character 4: term 2 has rank 1, but its "
        "operand has rank 0",
        AT(tg_einsum("ij,j", x, s)))
REFUSED(einsum_of_unknown_but_different, SHAPE, "einsum", "label 'i'",
        AT(tg_einsum("i,i", n, tg_pad(n, 0, 0, 1, 0))))
REFUSED(einsum_of_more_axes_than_there_are, OVERFLOW, "einsum", "9 axes",
        AT(tg_einsum("abc,def,ghi",
                     tg_broadcast(s, TG_DIMS(1, 1, 1)),
                     tg_broadcast(s, TG_DIMS(1, 1, 1)),
                     tg_broadcast(s, TG_DIMS(1, 1, 1)))))
REFUSED(einsum_of_too_many_elements, OVERFLOW, "einsum", "too many",
        AT(tg_einsum("i,j->ij", tg_broadcast(s, TG_DIMS(1L << 40)),
                     tg_broadcast(s, TG_DIMS(1L << 40)))))
REFUSED(dot_general_of_other_extents, SHAPE, "dot_general",
        "f32[2,3] x f32[64,784]: axes 1 and 0: 3 and 64 are not equal",
        AT(tg_dot_general(x, m,
                          (tg_dot_axes){.contract_a = TG_AXES(-1),
                                        .contract_b = TG_AXES(0)})))
REFUSED(dot_general_of_an_axis_out_of_range, SHAPE, "dot_general",
        "f32[]: axis 0 is out of range for rank 0",
        AT(tg_dot_general(x, s,
                          (tg_dot_axes){.contract_a = TG_AXES(1),
                                        .contract_b = TG_AXES(0)})))
REFUSED(dot_general_of_an_axis_twice, SHAPE, "dot_general",
        "f32[2,3]: axis 1 is repeated",
        AT(tg_dot_general(x, x,
                          (tg_dot_axes){.contract_a = TG_AXES(1),
                                        .contract_b = TG_AXES(1),
                                        .batch_a = TG_AXES(-1),
                                        .batch_b = TG_AXES(0)})))
REFUSED(dot_general_of_unpaired_axes, SHAPE, "dot_general",
        "numbers of contracted axes differ",
        AT(tg_dot_general(x, x, (tg_dot_axes){.contract_a = TG_AXES(1)})))
REFUSED(dot_general_of_an_unpaired_batch, SHAPE, "dot_general",
        "numbers of batch axes differ",
        AT(tg_dot_general(x, x, (tg_dot_axes){.batch_b = TG_AXES(1)})))
REFUSED(dot_general_of_all_axes, SHAPE, "dot_general", "listed explicitly",
        AT(tg_dot_general(x, x,
                          (tg_dot_axes){.contract_a = TG_ALL_AXES,
                                        .contract_b = TG_ALL_AXES})))
REFUSED(dot_general_of_kept_axes, SHAPE, "dot_general", "listed explicitly",
        AT(tg_dot_general(x, x,
                          (tg_dot_axes){.contract_a = tg_keep(TG_AXES(0)),
                                        .contract_b = TG_AXES(0)})))
REFUSED(dot_general_of_too_many_axes, SHAPE, "dot_general", "too many axes",
        AT(tg_dot_general(x, x,
                          (tg_dot_axes){.batch_a = {.n = 127},
                                        .batch_b = {.n = 127}})))
REFUSED(dot_general_of_more_axes_than_there_are, OVERFLOW, "dot_general",
        "the result has 10 axes, more than 8",
        AT(tg_dot_general(tg_broadcast(s, TG_DIMS(1, 1, 1, 1, 1)),
                          tg_broadcast(s, TG_DIMS(1, 1, 1, 1, 1)),
                          (tg_dot_axes){.batch_a = {0}})))
REFUSED(shapes_that_do_not_broadcast, SHAPE, "add", "f32[2,3] x f32[64,784]",
        AT(tg_add(x, m)))
REFUSED(shapes_that_do_not_broadcast_by_three, SHAPE, "select",
        "do not broadcast", AT(tg_select(b, m, s)))
REFUSED(shape_that_does_not_broadcast_to, SHAPE, "broadcast",
        "f32[2,3]: does not broadcast to [2,4]",
        AT(tg_broadcast(x, TG_DIMS(2, 4))))
REFUSED(shape_that_shrinks_by_broadcast, SHAPE, "broadcast", "[3]",
        AT(tg_broadcast(x, TG_DIMS(3))))
REFUSED(reshape_to_other_size, SHAPE, "reshape", "f32[2,3]",
        AT(tg_reshape(x, TG_DIMS(5))))
REFUSED(reshape_to_what_does_not_divide, SHAPE, "reshape", "f32[2,3]",
        AT(tg_reshape(x, TG_DIMS(4, -1))))
REFUSED(reshape_with_two_left_over, SHAPE, "reshape", "negative",
        AT(tg_reshape(x, TG_DIMS(-1, -1))))
REFUSED(reshape_of_nothing_left_over, SHAPE, "reshape", "undetermined",
        AT(tg_reshape(none, TG_DIMS(0, -1))))
REFUSED(concat_of_other_shapes, SHAPE, "concat", "f32[2,3] x f32[64,784]",
        AT(tg_concat(0, x, m)))
REFUSED(concat_of_other_ranks, SHAPE, "concat", "shapes differ",
        AT(tg_concat(0, x, n)))
REFUSED(concat_of_scalars, SHAPE, "concat", "axis 0", AT(tg_concat(0, s, s)))
REFUSED(concat_of_nothing, INVALID, "concat", "no values",
        AT(tg_concat_at(0, NULL, 0, TG_HERE)))
REFUSED(concat_of_null, INVALID, "concat", "NULL",
        AT(tg_concat_at(0, NULL, 3, TG_HERE)))
REFUSED(random_key_of_a_tensor, SHAPE, "random_bits", "scalars",
        AT(tg_random_bits(TG_U32, tg_cast(i, TG_U64), 0, TG_DIMS(3))))
REFUSED(assign_of_other_shape, SHAPE, "assign", "f32[2,3]", AT(tg_assign(v, m)))
REFUSED(assign_of_what_would_broadcast, SHAPE, "assign", "f32[2,3]",
        AT(tg_assign(v, tg_slice(x, 0, 0, 1, 1))))
REFUSED(assign_add_of_other_shape, SHAPE, "assign_add", "f32[64,784]",
        AT(tg_assign_add(v, m)))
REFUSED(constant_of_unknown_extent, SHAPE, "constant", "unknown",
        AT(tg_constant(TG_F32, TG_DIMS(tg_value_dim(n, 0)), &(float){0})))

/* -- Element types --------------------------------------------------------- */

REFUSED(dtypes_differ_in_add, DTYPE, "add", "f32 and i32 differ",
        AT(tg_add(s, i)))
REFUSED(dtypes_differ_in_comparison, DTYPE, "lt", "i32 and f32 differ",
        AT(tg_lt(i, s)))
REFUSED(dtypes_differ_in_select, DTYPE, "select", "f32 and i32",
        AT(tg_select(tg_eq(s, s), s, tg_cast(s, TG_I32))))
REFUSED(dtypes_differ_in_matmul, DTYPE, "matmul", "f32[2,3] x i32[2,3]",
        AT(tg_matmul(x, tg_cast(x, TG_I32))))
REFUSED(dtypes_differ_in_einsum, DTYPE, "einsum",
        "f32[2,3] x i32[4]: dtypes f32 and i32 differ; "
        "convert one with tg_cast",
        AT(tg_einsum("ij,k", x, i)))
REFUSED(dtypes_differ_in_dot_general, DTYPE, "dot_general",
        "f32[2,3] x i32[4]: dtypes f32 and i32 differ; "
        "convert one with tg_cast",
        AT(tg_dot_general(x, i, (tg_dot_axes){.batch_a = {0}})))
REFUSED(einsum_of_bool, DTYPE, "einsum", "bool[2,3]: needs a number type",
        AT(tg_einsum("ij->ji", b)))
REFUSED(dtypes_differ_in_concat, DTYPE, "concat", "f32[2,3] x bool[2,3]",
        AT(tg_concat(0, x, b)))
REFUSED(dtypes_differ_in_pad, DTYPE, "pad", "needs f32",
        AT(tg_pad(x, 0, 1, 1, tg_cast(s, TG_F64))))
REFUSED(dtypes_differ_in_assign, DTYPE, "assign", "the value is i32[4]",
        AT(tg_assign(v, i)))
REFUSED(condition_is_not_bool, DTYPE, "select", "not bool",
        AT(tg_select(x, x, x)))
REFUSED(float_indices, DTYPE, "gather", "integer", AT(tg_gather(x, s, 0)))
REFUSED(scatter_by_floats, DTYPE, "scatter",
        "f32[2,3] x f32[] x f32[2,3]: indices need an integer type",
        AT(tg_scatter(x, s, x, 0, TG_SCATTER_SET)))
REFUSED(scatter_of_another_type, DTYPE, "scatter",
        "f32[2,3] x bool[2,3]: dtypes",
        AT(tg_scatter(x, i, b, 0, TG_SCATTER_SET)))
REFUSED(scatter_of_another_shape, SHAPE, "scatter",
        "f32[2,3] x i32[4] x f32[2,3]: the updates",
        AT(tg_scatter(x, i, x, 0, TG_SCATTER_SET)))
REFUSED(scatter_that_adds_bools, DTYPE, "scatter", "numeric",
        AT(tg_scatter(b, tg_slice(i, 0, 0, 2, 1), b, 0, TG_SCATTER_ADD)))
REFUSED(scatter_along_no_axis, SHAPE, "scatter", "axis 2",
        AT(tg_scatter(x, i, x, 2, TG_SCATTER_SET)))
REFUSED(unknown_scatter_mode, INVALID, "scatter", "mode 7",
        AT(tg_scatter(x, i, x, 0, (tg_scatter_mode)7)))
REFUSED(unknown_scatter_range, INVALID, "scatter", "range 7",
        AT(tg_scatter_with(x, i, x, 0, TG_SCATTER_SET, (tg_scatter_range)7)))
REFUSED(update_of_another_type, DTYPE, "dynamic_update_slice",
        "f32[2,3] x bool[2,3]: dtypes f32 and bool differ; "
        "convert one with tg_cast",
        AT(tg_dynamic_update_slice(x, b, 0, 0)))
REFUSED(update_of_another_shape, SHAPE, "dynamic_update_slice",
        "f32[2,3] x f32[0,3]: shapes differ in an axis other than 1",
        AT(tg_dynamic_update_slice(x, none, 1, 0)))
REFUSED(update_of_too_much, SHAPE, "dynamic_update_slice",
        "f32[0,3] x f32[2,3]: axis 0 has fewer than 2 elements",
        AT(tg_dynamic_update_slice(none, x, 0, 0)))
REFUSED(update_of_another_rank, SHAPE, "dynamic_update_slice",
        "f32[2,3] x f32[]: shapes differ",
        AT(tg_dynamic_update_slice(x, s, 0, 0)))
REFUSED(update_of_a_scalar, SHAPE, "dynamic_update_slice", "axis 0",
        AT(tg_dynamic_update_slice(s, s, 0, 0)))
REFUSED(float_start_of_an_update, DTYPE, "dynamic_update_slice",
        "f32[2,3] x f32[2,3] x f32[]: the start",
        AT(tg_dynamic_update_slice(x, x, 0, s)))
REFUSED(float_start, DTYPE, "dynamic_slice", "f32[2,3] x f32[]: the start",
        AT(tg_dynamic_slice(x, 0, s, 1)))
REFUSED(several_starts, SHAPE, "dynamic_slice",
        "f32[2,3] x i32[4]: the start is not a scalar",
        AT(tg_dynamic_slice(x, 0, i, 1)))
REFUSED(dynamic_slice_of_too_much, SHAPE, "dynamic_slice",
        "axis 1 has fewer than 4 elements", AT(tg_dynamic_slice(x, 1, 0, 4)))
REFUSED(dynamic_slice_of_less_than_nothing, SHAPE, "dynamic_slice",
        "size -1 is negative", AT(tg_dynamic_slice(x, 1, 0, -1)))
REFUSED(sine_of_integers, DTYPE, "sin", "float", AT(tg_sin(i)))
REFUSED(remainder_of_floats, DTYPE, "rem", "integer", AT(tg_rem(x, x)))
REFUSED(sum_of_bool, DTYPE, "sum", "number", AT(tg_sum(b, TG_ALL_AXES)))
REFUSED(any_of_floats, DTYPE, "any", "bool", AT(tg_any(x, TG_ALL_AXES)))
REFUSED(mean_of_integers, DTYPE, "mean", "float", AT(tg_mean(i, TG_ALL_AXES)))
REFUSED(and_of_floats, DTYPE, "and", "an integer type", AT(tg_and(x, x)))
REFUSED(number_that_is_not_whole, DTYPE, "add", "0.5", AT(tg_add(i, 0.5)))
REFUSED(number_that_is_too_large, DTYPE, "add", "representable in i32",
        AT(tg_add(i, 1L << 40)))
REFUSED(number_below_an_unsigned_type, DTYPE, "add", "-1",
        AT(tg_add(tg_cast(i, TG_U8), -1)))
REFUSED(scalar_that_is_not_representable, DTYPE, "scalar", "300",
        AT(tg_scalar(TG_I8, 300)))
REFUSED(cast_to_no_type, DTYPE, "cast", "99", AT(tg_cast(x, (tg_dtype)99)))
REFUSED(cast_to_a_type_after_the_last, DTYPE, "cast", "14",
        AT(tg_cast(x, (tg_dtype)14)))
REFUSED(cast_to_none, DTYPE, "cast", "0", AT(tg_cast(x, TG_DTYPE_NONE)))
REFUSED(iota_of_bool, DTYPE, "iota", "bool",
        AT(tg_iota(TG_BOOL, TG_DIMS(3), 0)))
REFUSED(iota_of_no_type, DTYPE, "iota", "number type",
        AT(tg_iota((tg_dtype)-1, TG_DIMS(3), 0)))
REFUSED(constant_of_no_type, DTYPE, "constant", "14",
        AT(tg_constant((tg_dtype)14, TG_DIMS(1), &(float){0})))
REFUSED(scalar_of_no_type, DTYPE, "scalar", "77",
        AT(tg_scalar((tg_dtype)77, 1)))
REFUSED(random_integers, DTYPE, "random_uniform", "i32",
        AT(tg_random_uniform(1, TG_I32, TG_DIMS(3))))
REFUSED(random_bits_of_floats, DTYPE, "random_bits", "f32",
        AT(tg_random_bits(TG_F32, 1, 0, TG_DIMS(3))))
REFUSED(random_key_of_float, DTYPE, "random_normal", "u64",
        AT(tg_random_normal(s, TG_F32, TG_DIMS(3))))

/* -- Labels ---------------------------------------------------------------- */

REFUSED(labels_that_are_none, INVALID, "einsum",
        "f32[2,3] x f32[2,3]: \"ij,i_->j\": character 5: not a letter",
        AT(tg_einsum("ij,i_->j", x, x)))
REFUSED(labels_with_quotes_and_lines, INVALID, "einsum", "\"i\\\"\\n\": ",
        AT(tg_einsum("i\"\n", x)))
REFUSED(labels_for_fewer_operands, INVALID, "einsum", "operand 2",
        AT(tg_einsum("ij", x, x)))
REFUSED(labels_for_more_operands, INVALID, "einsum", "more terms",
        AT(tg_einsum("ij,jk,kl", x, x)))
REFUSED(label_of_the_result_alone, INVALID, "einsum",
        "\"ij->ik\": character 6: no operand has the label 'k'",
        AT(tg_einsum("ij->ik", x)))
REFUSED(label_twice_in_the_result, INVALID, "einsum", "'i' is repeated",
        AT(tg_einsum("ij->iji", x)))
REFUSED(labels_that_are_null, INVALID, "einsum", "the labels are NULL",
        AT(tg_einsum((const char *)NULL, x)))
REFUSED(labels_of_nothing, INVALID, "einsum", "there are no operands",
        AT(tg_einsum_at("", TG_ARGS(), TG_HERE)))
REFUSED(labels_of_null, INVALID, "einsum", "operands are NULL",
        AT(tg_einsum_at("i", NULL, 1, TG_HERE)))

/* -- Operands that are none ------------------------------------------------ */

REFUSED(invalid_value_in_einsum, INVALID, "einsum", "not a valid value",
        AT(tg_einsum("ij,jk", x, ((tg_value){0, 0}))))
REFUSED(invalid_value_in_dot_general, INVALID, "dot_general",
        "not a valid value",
        AT(tg_dot_general(((tg_value){0, 0}), x,
                          (tg_dot_axes){.batch_a = {0}})))

REFUSED(invalid_value, INVALID, "add", "not a valid value",
        AT(tg_add(x, ((tg_value){0, 0}))))
REFUSED(null_variable, INVALID, "read", "NULL",
        AT(tg_read((tg_variable *)NULL)))
REFUSED(null_variable_as_operand, INVALID, "mul", "NULL",
        AT(tg_mul(x, (tg_variable *)NULL)))
REFUSED(null_tensor, INVALID, "mul", "NULL", AT(tg_mul(x, (tg_tensor *)NULL)))
REFUSED(string_as_operand, INVALID, "mul", "string", AT(tg_mul(x, "two")))
REFUSED(bundle_as_operand, INVALID, "mul", "bundle",
        AT(tg_mul(x, tg_bundle_of(NULL, NULL))))
REFUSED(assign_to_a_value, INVALID, "assign", "not a variable",
        AT(tg_assign(x, 1)))
REFUSED(assign_to_a_number, INVALID, "assign_sub", "not a variable",
        AT(tg_assign_sub(1, 1)))
REFUSED(read_of_a_value, INVALID, "read", "not a variable", AT(tg_read(x)))
REFUSED(scalar_of_a_tensor, INVALID, "scalar", "not a number",
        AT(tg_scalar(TG_F32, x)))
REFUSED(unknown_gather_mode, INVALID, "gather", "mode 9",
        AT(tg_gather_with(x, i, 0, (tg_gather_mode)9)))
REFUSED(operand_of_no_kind, INVALID, "neg", "not an operand",
        AT(tg_neg(((tg_operand){.kind = 77}))))
REFUSED(number_of_no_type, DTYPE, "neg", "not representable",
        AT(tg_neg(((tg_operand){.kind = TG_OPERAND_INT, .dtype = 99}))))

/* -- Around training ------------------------------------------------------- */

static tg_value unstacked(tg_value x, int axis, size_t n)
{
    tg_value parts[4];
    tg_unstack_at(TG_IN(x), axis, parts, n, (tg_site){__FILE__, line});
    for (size_t k = 0; k < n; k++)
        cr_assert_not(tg_is_valid(parts[k]));
    return parts[0];
}

REFUSED(one_hot_of_floats, DTYPE, "one_hot", "f32[2,3]",
        AT(tg_one_hot(x, 4, TG_F32)))
REFUSED(one_hot_of_fewer_than_no_classes, SHAPE, "one_hot", "negative",
        AT(tg_one_hot(i, -4, TG_F32)))
REFUSED(stack_of_two_shapes, SHAPE, "stack", "f32[2,3] x f32[64,784]",
        AT(tg_stack(0, x, m)))
REFUSED(stack_of_two_dtypes, DTYPE, "stack", "f32 and bool",
        AT(tg_stack(0, x, b)))
REFUSED(stack_of_nothing, INVALID, "stack", "no parts",
        AT(tg_stack_at(0, TG_ARGS(), TG_HERE)))
REFUSED(unstack_to_fewer, SHAPE, "unstack", "axis 1 has another extent than 2",
        AT(unstacked(x, 1, 2)))
REFUSED(unstack_of_no_axis, SHAPE, "unstack", "axis 2", AT(unstacked(x, 2, 3)))
REFUSED(roll_by_too_much, INVALID, "roll", "shift",
        AT(tg_roll(x, 0, INT64_MIN)))
REFUSED(var_of_integers, DTYPE, "var", "i32[4]: needs a float type",
        AT(tg_var(i, TG_ALL_AXES, 0)))
REFUSED(std_of_bools, DTYPE, "std", "bool[2,3]: needs a float type",
        AT(tg_std(b, TG_ALL_AXES, 1)))
REFUSED(accuracy_of_other_rows, SHAPE, "accuracy", "i64[2] x i64[4]",
        AT(tg_accuracy(x, i)))
REFUSED(accuracy_of_float_labels, DTYPE, "accuracy", "integer",
        AT(tg_accuracy(x, s)))
REFUSED(confusion_of_two_shapes, SHAPE, "confusion_matrix", "i64[4] x i64[]",
        AT(tg_confusion_matrix(i, tg_scalar(TG_I32, 1), 3)))
REFUSED(confusion_of_floats, DTYPE, "confusion_matrix", "f32[2,3]",
        AT(tg_confusion_matrix(x, x, 3)))
REFUSED(confusion_of_too_many, OVERFLOW, "confusion_matrix", "",
        AT(tg_confusion_matrix(i, i, INT64_MAX)))
REFUSED(sigmoid_of_integers, DTYPE, "sigmoid_cross_entropy", "i32[4]",
        AT(tg_sigmoid_cross_entropy(i, i)))
REFUSED(sigmoid_of_two_shapes, SHAPE, "sigmoid_cross_entropy",
        "f32[2,3] x f32[4]", AT(tg_sigmoid_cross_entropy(x, i)))
REFUSED(error_of_two_shapes, SHAPE, "mean_squared_error",
        "f32[2,3] x f32[]: the shapes of predictions and targets differ",
        AT(tg_mean_squared_error(x, s)))
REFUSED(error_of_integers, DTYPE, "mean_absolute_error", "i32[4]",
        AT(tg_mean_absolute_error(i, i)))
REFUSED(huber_without_delta, INVALID, "huber_loss", "delta",
        AT(tg_huber_loss(x, x, 0)))

/* -- Functions composed of operations -------------------------------------- */

REFUSED(bitcast_to_another_size, DTYPE, "bitcast", "f32 are not those of a f64",
        AT(tg_bitcast(x, TG_F64)))
REFUSED(bitcast_of_bool, DTYPE, "bitcast", "bool", AT(tg_bitcast(b, TG_U8)))
REFUSED(bitcast_of_a_number, DTYPE, "bitcast", "tg_cast",
        AT(tg_bitcast(1, TG_F32)))
REFUSED(bitcast_to_nothing, DTYPE, "bitcast", "99",
        AT(tg_bitcast(x, (tg_dtype)99)))
REFUSED(is_nan_of_integers, DTYPE, "is_nan", "i32[4]: needs a float type",
        AT(tg_is_nan(i)))
REFUSED(copysign_of_integers, DTYPE, "copysign", "float", AT(tg_copysign(i, 1)))
REFUSED(floormod_of_bools, DTYPE, "floormod", "number", AT(tg_floormod(b, b)))
REFUSED(mish_of_integers, DTYPE, "mish", "i32[4]", AT(tg_mish(i)))
REFUSED(elu_of_two_dtypes, DTYPE, "elu", "differ", AT(tg_elu(x, i)))
REFUSED(flatten_backwards, SHAPE, "flatten", "precedes", AT(tg_flatten(x, 1, 0)))
REFUSED(squeeze_of_3, SHAPE, "squeeze", "axis 1 is not 1",
        AT(tg_squeeze(x, TG_AXES(1))))
REFUSED(squeeze_of_unknown, SHAPE, "squeeze", "name the axes",
        AT(tg_squeeze(n, TG_ALL_AXES)))
REFUSED(expand_beyond, SHAPE, "expand_dims", "axis 4",
        AT(tg_expand_dims(x, 4)))
REFUSED(reverse_of_missing_axis, SHAPE, "reverse", "2",
        AT(tg_reverse(x, TG_AXES(2))))
REFUSED(lengths_of_floats, DTYPE, "reverse_sequence", "integer",
        AT(tg_reverse_sequence(x, s, 0, 1)))
REFUSED(lengths_of_another_count, SHAPE, "reverse_sequence", "one length",
        AT(tg_reverse_sequence(x, i, 0, 1)))
REFUSED(tile_of_too_few, SHAPE, "tile", "1 numbers", AT(tg_tile(x, TG_DIMS(2))))
REFUSED(tile_of_negative, INVALID, "tile", "-2",
        AT(tg_tile(x, TG_DIMS(1, -2))))
REFUSED(repeat_of_negative, INVALID, "repeat", "-1", AT(tg_repeat(x, -1, 0)))
REFUSED(pad_from_of_nothing, SHAPE, "pad_from", "empty axis",
        AT(tg_pad_from(none, 0, 1, 1, TG_PAD_EDGE)))
REFUSED(pad_from_of_unknown_kind, INVALID, "pad_from", "kind 7",
        AT(tg_pad_from(x, 0, 1, 1, (tg_pad_kind)7)))
REFUSED(pad_from_of_negative, SHAPE, "pad_from", "-1",
        AT(tg_pad_from(x, 0, -1, 1, TG_PAD_WRAP)))
REFUSED(pad_from_of_two_lists, SHAPE, "pad_from_axes", "1 lows and 2 highs",
        AT(tg_pad_from_axes(x, TG_DIMS(1), TG_DIMS(1, 1), TG_PAD_WRAP)))
REFUSED(depth_of_a_matrix, SHAPE, "depth_to_space", "4 axes",
        AT(tg_depth_to_space(x, 2, 0)))
REFUSED(depth_that_is_not_divisible, SHAPE, "depth_to_space", "divide",
        AT(tg_depth_to_space(tg_reshape(x, TG_DIMS(1, 1, 1, 6)), 2, 0)))
REFUSED(space_that_is_not_divisible, SHAPE, "space_to_depth", "divide",
        AT(tg_space_to_depth(tg_reshape(x, TG_DIMS(1, 2, 3, 1)), 2, 0)))
REFUSED(range_without_step, INVALID, "arange", "by 0",
        AT(tg_arange(TG_F32, 0, 1, 0)))
REFUSED(range_of_fractions, DTYPE, "arange", "0.5",
        AT(tg_arange(TG_I32, 0, 1, 0.5)))
REFUSED(range_of_bools, DTYPE, "arange", "bool", AT(tg_arange(TG_BOOL, 0, 1, 1)))
REFUSED(range_of_too_many, OVERFLOW, "arange", "too long",
        AT(tg_arange(TG_F64, 0, 1e300, 1)))
REFUSED(linspace_of_vectors, SHAPE, "linspace", "scalars",
        AT(tg_linspace(s, x, 3)))
REFUSED(eye_of_negative, SHAPE, "eye", "-3", AT(tg_eye(TG_F32, -3, 2, 0)))
REFUSED(tril_of_a_vector, SHAPE, "tril", "two axes", AT(tg_tril(i, 0)))
REFUSED(gather_nd_of_floats, DTYPE, "gather_nd", "integer",
        AT(tg_gather_nd(x, x, 0)))
REFUSED(gather_nd_of_too_many, SHAPE, "gather_nd", "last axis",
        AT(tg_gather_nd(x, i, 0)))
REFUSED(gather_nd_of_unknown_mode, INVALID, "gather_nd", "mode 9",
        AT(tg_gather_nd_with(x, tg_reshape(i, TG_DIMS(2, 2)), 0,
                             (tg_gather_mode)9)))
REFUSED(scatter_nd_of_another_shape, SHAPE, "scatter_nd", "updates",
        AT(tg_scatter_nd(x, tg_reshape(i, TG_DIMS(2, 2)), x, TG_SCATTER_SET)))
REFUSED(scatter_of_unknown_mode, INVALID, "scatter", "mode 5",
        AT(tg_scatter(x, 0, tg_slice(x, 0, 0, 1, 1), 0, (tg_scatter_mode)5)))
REFUSED(scatter_multiplies_no_bools, DTYPE, "scatter", "to mul",
        AT(tg_scatter(b, i, b, 0, TG_SCATTER_MUL)))
REFUSED(take_along_of_another_rank, SHAPE, "take_along_axis", "another rank",
        AT(tg_take_along_axis(x, i, 0)))
REFUSED(take_along_of_more, SHAPE, "take_along_axis", "exceed",
        AT(tg_take_along_axis(x, tg_reshape(i, TG_DIMS(1, 4)), 0)))
REFUSED(compress_by_a_matrix, SHAPE, "compress", "vector",
        AT(tg_compress(x, b, 0, 2)))
REFUSED(nonzero_of_negative, SHAPE, "nonzero", "-1", AT(tg_nonzero(x, -1)))
REFUSED(resize_of_too_few, SHAPE, "resize", "1 sizes and 2 axes",
        AT(tg_resize(x, TG_AXES(0, 1), TG_DIMS(2))))
REFUSED(resize_of_integers, DTYPE, "resize", "float",
        AT(tg_resize(i, TG_AXES(0), TG_DIMS(2), .mode = TG_RESIZE_LINEAR)))
REFUSED(resize_by_nothing, INVALID, "resize", "scale -1",
        AT(tg_resize(x, TG_AXES(0), TG_DIMS(2), .scale = {-1})))
REFUSED(resize_of_unknown_mode, INVALID, "resize", "mode 8",
        AT(tg_resize(x, TG_AXES(0), TG_DIMS(2), .mode = (tg_resize_mode)8)))
REFUSED(sample_of_a_matrix, SHAPE, "grid_sample", "spatial",
        AT(tg_grid_sample(x, x)))
REFUSED(sort_of_a_scalar, SHAPE, "sort", "axis 0", AT(tg_sort(s, 0)))
REFUSED(sort_of_unknown_flags, INVALID, "sort", "flags 2",
        AT(tg_sort_with(x, 0, 2)))
REFUSED(top_k_of_more, SHAPE, "top_k", "out of range",
        AT(tg_top_k(x, 4, 1, NULL)))
REFUSED(top_k_of_negative, INVALID, "top_k", "-1 elements",
        AT(tg_top_k(x, -1, 1, NULL)))
REFUSED(unique_of_negative, SHAPE, "unique", "-1", AT(tg_unique(x, -1).n))
REFUSED(quantile_beyond_1, INVALID, "quantile", "1.5",
        AT(tg_quantile(x, 1.5, TG_ALL_AXES)))
REFUSED(median_of_integers, DTYPE, "median", "float",
        AT(tg_median(i, TG_ALL_AXES)))
REFUSED(median_of_nothing, SHAPE, "median", "empty",
        AT(tg_median(none, TG_AXES(0))))
REFUSED(logsumexp_of_integers, DTYPE, "logsumexp", "float",
        AT(tg_logsumexp(i, TG_ALL_AXES)))
REFUSED(argmax_of_unknown_selection, INVALID, "argmax_axes", "selection 3",
        AT(tg_argmax_axes(x, TG_ALL_AXES, (tg_arg_select)3)))
REFUSED(gemm_of_a_larger_c, SHAPE, "gemm", "the product and c",
        AT(tg_gemm(x, x, tg_broadcast(s, TG_DIMS(3, 2, 2)), 1, 1,
                   TG_TRANSPOSE_B)))
REFUSED(gemm_of_another_k, SHAPE, "gemm", "", AT(tg_gemm(x, x, s, 1, 1, 0)))
REFUSED(rms_norm_of_integers, DTYPE, "rms_norm", "float",
        AT(tg_rms_norm(i, 1, 1e-5)))
REFUSED(group_norm_of_5, SHAPE, "group_norm", "2 groups do not divide",
        AT(tg_group_norm(x, s, s, 2, 1e-5, TG_CHANNELS_LAST)))
REFUSED(group_norm_of_0, SHAPE, "group_norm", "positive",
        AT(tg_group_norm(x, s, s, 0, 1e-5, TG_CHANNELS_LAST)))
REFUSED(local_norm_of_0, SHAPE, "local_response_norm", "positive size, not 0",
        AT(tg_local_response_norm(x, 0, 1, 1, 1, TG_CHANNELS_LAST)))
REFUSED(attention_of_vectors, SHAPE, "dot_product_attention", "features",
        AT(tg_dot_product_attention(n, n, n)))
REFUSED(attention_of_a_large_mask, SHAPE, "dot_product_attention",
        "scores and mask",
        AT(tg_masked_dot_product_attention(
            x, x, x, tg_broadcast(s, TG_DIMS(2, 2, 2)))))
REFUSED(class_loss_of_floats, DTYPE, "class_loss", "integer",
        AT(tg_class_loss(x, n)))
REFUSED(class_loss_of_other_rows, SHAPE, "class_loss", "label per row",
        AT(tg_class_loss(x, i)))
REFUSED(class_loss_of_unknown_reduction, INVALID, "class_loss", "reduction 4",
        AT(tg_class_loss(x, i, .reduction = (tg_loss_reduction)4)))
REFUSED(integers_of_floats, DTYPE, "random_integers", "f32",
        AT(tg_random_integers(1, TG_F32, 0, 2, TG_DIMS(3))))
REFUSED(integers_that_do_not_fit, INVALID, "random_integers", "u8",
        AT(tg_random_integers(1, TG_U8, 0, 300, TG_DIMS(3))))
REFUSED(integers_of_nothing, INVALID, "random_integers", "5",
        AT(tg_random_integers(1, TG_I32, 5, 5, TG_DIMS(3))))
REFUSED(truncated_integers, DTYPE, "random_truncated_normal", "i32",
        AT(tg_random_truncated_normal(1, TG_I32, TG_DIMS(3))))
REFUSED(bernoulli_of_a_larger_shape, SHAPE, "random_bernoulli", "broadcast",
        AT(tg_random_bernoulli(1, x, TG_DIMS(2))))
REFUSED(bernoulli_of_integers, DTYPE, "random_bernoulli", "float",
        AT(tg_random_bernoulli(1, i, TG_DIMS(4))))
REFUSED(permutation_of_negative, SHAPE, "random_permutation", "-1",
        AT(tg_random_permutation(1, -1)))
REFUSED(categorical_of_a_scalar, SHAPE, "random_categorical", "axis",
        AT(tg_random_categorical(1, s)))
REFUSED(gamma_of_integers, DTYPE, "random_gamma", "float",
        AT(tg_random_gamma(1, i, TG_DIMS(4))))
