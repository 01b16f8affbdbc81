/* SPDX-License-Identifier: MIT */
/*
 * test_build_shape.c - operations that change shapes: their results, and the
 * message of every error. Extents are known here; test_build_symbolic.c tests
 * unknown ones.
 */
#include "support/api.h"
#include "support/building.h"

#define DIMS(...) \
    (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
        (const int64_t[]){__VA_ARGS__}
#define PERM(...) \
    (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), \
        (const int[]){__VA_ARGS__}

/* -- Shapes ---------------------------------------------------------------- */

Test(build_shape, bad_shapes_are_refused)
{
    building w = building_begin();
    tgi_ref x = f32_scalar(&w);
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    check_refused(&w, tgi_build_broadcast(&w.b, x, 9, nine),
                  TG_ERROR_OVERFLOW, "rank 9 is not in 0 … 8");
    check_refused(&w, tgi_build_broadcast(&w.b, x, -1, nine),
                  TG_ERROR_OVERFLOW, "rank -1 is not in 0 … 8");
    check_refused(&w, tgi_build_broadcast(&w.b, x, 2, NULL),
                  TG_ERROR_INVALID_ARGUMENT, "extents are NULL");
    check_refused(&w, tgi_build_broadcast(&w.b, x, DIMS(2, -3)),
                  TG_ERROR_SHAPE, "extent -3 of axis 1 is negative");
    check_refused(&w, tgi_build_broadcast(&w.b, x, DIMS(INT64_MIN)),
                  TG_ERROR_SHAPE,
                  "extent -9223372036854775808 of axis 0 is negative");
    check_refused(&w, tgi_build_broadcast(&w.b, x, DIMS(1LL << 62, 4)),
                  TG_ERROR_OVERFLOW, "the shape has too many elements");
    check_refused(&w, tgi_build_broadcast(&w.b, x, DIMS(1LL << 61)),
                  TG_ERROR_OVERFLOW, "the shape has too many elements");
    building_end(&w);
}

/* -- Leaves ---------------------------------------------------------------- */

Test(build_shape, constants)
{
    building w = building_begin();
    const float data[6] = {0, 1, 2, 3, 4, 5};
    tgi_ref x = tgi_build_constant(&w.b, TG_F32, DIMS(2, 3), data);
    check_type(&w, x, "f32[2,3]");
    cr_assert_arr_eq(tgi_graph_constant(w.graph, x), data, sizeof(data));
    check_type(&w, tgi_build_constant(&w.b, TG_I8, DIMS(0, 3), NULL),
               "i8[0,3]");
    check_refused(&w, tgi_build_constant(&w.b, TG_F32, DIMS(2), NULL),
                  TG_ERROR_INVALID_ARGUMENT, "data is NULL");
    check_refused(
        &w, tgi_build_constant(&w.b, (tg_dtype)(TG_F64 + 1), DIMS(2), data),
        TG_ERROR_DTYPE, "14 is not an element type");
    tgi_dim n = symbol(w.graph, 0, 0);
    check_refused(&w, tgi_build_constant(&w.b, TG_F32, DIMS(n), data),
                  TG_ERROR_SHAPE, "a constant cannot have unknown extents");
    building_end(&w);
}

Test(build_shape, iota)
{
    building w = building_begin();
    check_type(&w, tgi_build_iota(&w.b, TG_U8, DIMS(2, 3), -1), "u8[2,3]");
    cr_assert_eq(tgi_build_iota(&w.b, TG_U8, DIMS(2, 3), -1),
                 tgi_build_iota(&w.b, TG_U8, DIMS(2, 3), 1));
    check_refused(&w, tgi_build_iota(&w.b, TG_BOOL, DIMS(2), 0),
                  TG_ERROR_DTYPE, "needs a number type, not bool");
    check_refused(&w, tgi_build_iota(&w.b, (tg_dtype)77, DIMS(2), 0),
                  TG_ERROR_DTYPE, "needs a number type, not ?");
    check_refused(&w, tgi_build_iota(&w.b, TG_U8, DIMS(2), 1), TG_ERROR_SHAPE,
                  "axis 1 is out of range for rank 1");
    check_refused(&w, tgi_build_iota(&w.b, TG_U8, 0, NULL, 0), TG_ERROR_SHAPE,
                  "axis 0 is out of range for rank 0");
    building_end(&w);
}

/* -- Views ----------------------------------------------------------------- */

Test(build_shape, broadcast)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 3, 1);
    check_type(&w, tgi_build_broadcast(&w.b, x, DIMS(2, 3, 4)), "f32[2,3,4]");
    cr_assert_eq(tgi_build_broadcast(&w.b, x, DIMS(3, 1)), x);
    check_refused(&w, tgi_build_broadcast(&w.b, x, DIMS(2, 4)),
                  TG_ERROR_SHAPE, "f32[3,1]: does not broadcast to [2,4]");
    check_refused(&w, tgi_build_broadcast(&w.b, x, DIMS(3)), TG_ERROR_SHAPE,
                  "f32[3,1]: does not broadcast to [3]");
    check_refused(&w, tgi_build_broadcast(&w.b, x, DIMS(1, 1)), TG_ERROR_SHAPE,
                  "f32[3,1]: does not broadcast to [1,1]");
    check_refused(&w, tgi_build_broadcast(&w.b, x, DIMS(0, 1)), TG_ERROR_SHAPE,
                  "f32[3,1]: does not broadcast to [0,1]");
    check_type(&w, tgi_build_broadcast(&w.b, x, DIMS(3, 0)), "f32[3,0]");
    building_end(&w);
}

Test(build_shape, reshape)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 6);
    check_type(&w, tgi_build_reshape(&w.b, x, DIMS(3, 4)), "f32[3,4]");
    check_type(&w, tgi_build_reshape(&w.b, x, DIMS(3, -1)), "f32[3,4]");
    check_type(&w, tgi_build_reshape(&w.b, f32_of(&w, 1), 0, NULL), "f32[]");
    check_type(&w, tgi_build_reshape(&w.b, f32_of(&w, 0, 5), DIMS(7, -1)),
               "f32[7,0]");
    /* An identity reshape is recorded, because it prevents contraction. */
    cr_assert_neq(tgi_build_reshape(&w.b, x, DIMS(-1, 6)), x);
    check_refused(&w, tgi_build_reshape(&w.b, x, DIMS(5)), TG_ERROR_SHAPE,
                  "f32[2,6]: cannot reshape 12 elements to [5] (5 elements)");
    check_refused(&w, tgi_build_reshape(&w.b, x, DIMS(5, -1)), TG_ERROR_SHAPE,
                  "f32[2,6]: cannot reshape 12 elements to [5,2] (10 "
                  "elements)");
    check_refused(&w, tgi_build_reshape(&w.b, x, DIMS(-1, -1)),
                  TG_ERROR_SHAPE, "f32[2,6]: extent -1 of axis 1 is negative");
    check_refused(&w, tgi_build_reshape(&w.b, x, DIMS(4, -3)), TG_ERROR_SHAPE,
                  "f32[2,6]: extent -3 of axis 1 is negative");
    check_refused(&w, tgi_build_reshape(&w.b, f32_of(&w, 0), DIMS(0, -1)),
                  TG_ERROR_SHAPE,
                  "f32[0]: an extent of -1 is undetermined beside one of 0");
    check_refused(&w, tgi_build_reshape(&w.b, x, 0, NULL), TG_ERROR_SHAPE,
                  "f32[2,6]: cannot reshape 12 elements to [] (1 element)");
    check_refused(&w, tgi_build_reshape(&w.b, x, 9, NULL), TG_ERROR_OVERFLOW,
                  "rank 9 is not in 0 … 8");
    check_refused(&w, tgi_build_reshape(&w.b, x, 1, NULL),
                  TG_ERROR_INVALID_ARGUMENT, "extents are NULL");
    building_end(&w);
}

Test(build_shape, reshape_to_extents_whose_product_overflows)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 4);
    cr_expect_eq(tgi_build_reshape(&w.b, x, DIMS(1LL << 40, 1LL << 40, -1)),
                 0);
    cr_expect_eq(tg_error_last()->status, TG_ERROR_OVERFLOW, "%s",
                 tg_error(NULL));
    building_end(&w);
}

Test(build_shape, transpose)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 3, 4);
    check_type(&w, tgi_build_transpose(&w.b, x, PERM(2, 0, 1)), "f32[4,2,3]");
    check_type(&w, tgi_build_transpose(&w.b, x, PERM(-1, 0, -2)),
               "f32[4,2,3]");
    check_refused(&w, tgi_build_transpose(&w.b, x, PERM(0, 1)), TG_ERROR_SHAPE,
                  "f32[2,3,4]: the permutation has length 2");
    check_refused(&w, tgi_build_transpose(&w.b, x, 3, NULL), TG_ERROR_SHAPE,
                  "f32[2,3,4]: the permutation has length 3");
    check_refused(&w, tgi_build_transpose(&w.b, x, PERM(0, 1, 3)),
                  TG_ERROR_SHAPE,
                  "f32[2,3,4]: axis 3 is out of range for rank 3");
    check_refused(&w, tgi_build_transpose(&w.b, x, PERM(0, 1, -2)),
                  TG_ERROR_SHAPE,
                  "f32[2,3,4]: axis 1 is repeated in the permutation");
    building_end(&w);
}

Test(build_shape, slice)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 9);
    static const struct {
        int64_t start, stop, step, n;
    } good[] = {
        {0, 9, 1, 9},    {0, TG_END, 1, 9}, {0, TG_END, 2, 5}, {3, 3, 1, 0},
        {9, TG_END, 1, 0}, {-9, -1, 3, 3},  {8, TG_END, -1, 9}, {8, 0, -1, 8},
        {-1, -9, -2, 4}, {0, TG_END, -1, 1}, {4, 4, -1, 0},
        {0, 9, INT64_MAX, 1}, {8, TG_END, INT64_MIN + 1, 1},
    };
    for (size_t i = 0; i < N_OF(good); i++) {
        tgi_ref y = tgi_build_slice(&w.b, x, 1, good[i].start, good[i].stop,
                                    good[i].step);
        cr_assert_neq(y, 0, "slice %zu: %s", i, tg_error(NULL));
        cr_expect_eq(tgi_graph_shape(w.graph, y)->dims[1], good[i].n,
                     "slice %zu", i);
    }
    static const struct {
        int64_t start, stop, step;
    } bad[] = {
        {0, 10, 1},  {10, TG_END, 1}, {5, 4, 1},    {-10, 3, 1},
        {0, -10, 1}, {9, TG_END, -1}, {-10, 0, -1}, {3, 4, -1},
        {8, 9, -1},  {8, -11, -1},    {INT64_MIN, 3, 1},
        {0, INT64_MIN, 1}, {INT64_MAX - 1, TG_END, 1},
        {0, INT64_MAX - 1, 1},
    };
    for (size_t i = 0; i < N_OF(bad); i++)
        check_refused(&w,
                      tgi_build_slice(&w.b, x, 1, bad[i].start, bad[i].stop,
                                      bad[i].step),
                      TG_ERROR_SHAPE,
                      "f32[2,9]: positions are out of range for axis 1");
    check_refused(&w, tgi_build_slice(&w.b, x, 1, 0, 1, 0), TG_ERROR_SHAPE,
                  "f32[2,9]: invalid step 0");
    check_refused(&w, tgi_build_slice(&w.b, x, 1, 0, 1, INT64_MIN),
                  TG_ERROR_SHAPE,
                  "f32[2,9]: invalid step -9223372036854775808");
    check_refused(&w, tgi_build_slice(&w.b, x, 2, 0, 1, 1), TG_ERROR_SHAPE,
                  "f32[2,9]: axis 2 is out of range for rank 2");
    check_refused(&w, tgi_build_slice(&w.b, f32_scalar(&w), 0, 0, 0, 1),
                  TG_ERROR_SHAPE, "f32[]: axis 0 is out of range for rank 0");
    building_end(&w);
}

/* -- Index maps ------------------------------------------------------------ */

Test(build_shape, pad)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 3), zero = weak_int(&w, 0);
    check_type(&w, tgi_build_pad(&w.b, x, -1, 1, 2, zero), "f32[2,6]");
    check_refused(&w, tgi_build_pad(&w.b, x, 0, -1, 2, zero), TG_ERROR_SHAPE,
                  "f32[2,3]: padding of -1 and 2 is negative");
    check_refused(&w, tgi_build_pad(&w.b, x, 2, 1, 2, zero), TG_ERROR_SHAPE,
                  "f32[2,3]: axis 2 is out of range for rank 2");
    check_refused(&w, tgi_build_pad(&w.b, x, 0, 1, 2, x), TG_ERROR_SHAPE,
                  "f32[2,3] x f32[2,3]: the padding value is not a scalar");
    tgi_ref f64 = param(w.graph, TG_F64, scalar_shape(w.graph));
    check_refused(&w, tgi_build_pad(&w.b, x, 0, 1, 2, f64), TG_ERROR_DTYPE,
                  "f64[]: needs f32");
    check_refused(&w, tgi_build_pad(&w.b, x, 0, 1LL << 61, 0, zero),
                  TG_ERROR_OVERFLOW, "the shape has too many elements");
    cr_expect_eq(tgi_build_pad(&w.b, x, 0, INT64_MAX, 1, zero), 0);
    cr_expect_eq(tg_error_last()->status, TG_ERROR_OVERFLOW);
    building_end(&w);
}

Test(build_shape, concat)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 3), y = f32_of(&w, 1, 3);
    check_type(&w, tgi_build_concat(&w.b, -2, (tgi_ref[]){x, y, x}, 3),
               "f32[5,3]");
    check_type(&w, tgi_build_concat(&w.b, 0, (tgi_ref[]){x}, 1), "f32[2,3]");
    check_refused(&w, tgi_build_concat(&w.b, 0, NULL, 0),
                  TG_ERROR_INVALID_ARGUMENT, "no values to concatenate");
    check_refused(&w, tgi_build_concat(&w.b, 1, (tgi_ref[]){x, y}, 2),
                  TG_ERROR_SHAPE,
                  "f32[2,3] x f32[1,3]: shapes differ in an axis other than 1");
    check_refused(&w,
                  tgi_build_concat(&w.b, 0, (tgi_ref[]){x, f32_of(&w, 3)}, 2),
                  TG_ERROR_SHAPE,
                  "f32[2,3] x f32[3]: shapes differ in an axis other than 0");
    check_refused(
        &w,
        tgi_build_concat(&w.b, 0,
                         (tgi_ref[]){x, of_type(&w, TG_F64, 2, 3)}, 2),
        TG_ERROR_DTYPE,
        "f32[2,3] x f64[2,3]: dtypes differ; "
        "convert one with tg_cast");
    check_refused(&w, tgi_build_concat(&w.b, 2, (tgi_ref[]){x, x}, 2),
                  TG_ERROR_SHAPE,
                  "f32[2,3]: axis 2 is out of range for rank 2");
    check_refused(&w,
                  tgi_build_concat(&w.b, 0, (tgi_ref[]){f32_scalar(&w)}, 1),
                  TG_ERROR_SHAPE, "f32[]: axis 0 is out of range for rank 0");
    building_end(&w);
}

Test(build_shape, gather)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 5, 2, 3), at = of_type(&w, TG_U8, 4, 6);
    check_type(&w, tgi_build_gather(&w.b, x, at, 1, TG_GATHER_CHECK),
               "f32[5,4,6,3]");
    tgi_ref one = param(w.graph, TG_I64, scalar_shape(w.graph));
    check_type(&w, tgi_build_gather(&w.b, x, one, -1, TG_GATHER_ZERO),
               "f32[5,2]");
    check_refused(&w, tgi_build_gather(&w.b, x, x, 0, TG_GATHER_CHECK),
                  TG_ERROR_DTYPE,
                  "f32[5,2,3] x f32[5,2,3]: indices need an integer type");
    check_refused(&w, tgi_build_gather(&w.b, x, at, 3, TG_GATHER_CHECK),
                  TG_ERROR_SHAPE,
                  "f32[5,2,3]: axis 3 is out of range for rank 3");
    check_refused(&w, tgi_build_gather(&w.b, x, at, 0, (tg_gather_mode)3),
                  TG_ERROR_INVALID_ARGUMENT,
                  "f32[5,2,3] x u8[4,6]: invalid mode 3");
    check_refused(&w,
                  tgi_build_gather(&w.b, x,
                                   of_type(&w, TG_I64, 1, 1, 1, 1, 1, 1, 1),
                                   0, TG_GATHER_CHECK),
                  TG_ERROR_OVERFLOW,
                  "f32[5,2,3] x i64[1,1,1,1,1,1,1]: the result has more than "
                  "8 axes");
    check_refused(&w,
                  tgi_build_gather(&w.b, f32_of(&w, 0, 2), at, 0,
                                   TG_GATHER_CLAMP),
                  TG_ERROR_SHAPE,
                  "f32[0,2] x u8[4,6]: cannot clamp indices to an empty axis");
    building_end(&w);
}

/* -- Reductions ------------------------------------------------------------ */

Test(build_shape, reductions)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 3, 4);
    tgi_builder *b = &w.b;
    check_type(&w, tgi_build_reduce(b, TGI_OP_SUM, x, TG_ALL_AXES), "f32[]");
    check_type(&w, tgi_build_reduce(b, TGI_OP_SUM, x, TG_AXES(0, -1)),
               "f32[3]");
    check_type(&w, tgi_build_reduce(b, TGI_OP_SUM, x, tg_keep(TG_AXES(1))),
               "f32[2,1,4]");
    check_type(&w, tgi_build_reduce(b, TGI_OP_SUM, x, tg_axes_of(0, NULL)),
               "f32[2,3,4]");
    check_type(&w, tgi_build_arg_reduce(b, TGI_OP_ARGMAX, x, -2), "i64[2,4]");
    check_refused(&w, tgi_build_reduce(b, TGI_OP_SUM, x, TG_AXES(3)),
                  TG_ERROR_SHAPE,
                  "f32[2,3,4]: axis 3 is out of range for rank 3");
    check_refused(&w, tgi_build_reduce(b, TGI_OP_SUM, x, TG_AXES(0, -3)),
                  TG_ERROR_SHAPE, "f32[2,3,4]: axis 0 is repeated");
    check_refused(&w,
                  tgi_build_reduce(b, TGI_OP_SUM, x,
                                   TG_AXES(0, 1, 2, 3, 4, 5, 6, 7, 8)),
                  TG_ERROR_SHAPE, "f32[2,3,4]: too many axes");
    check_refused(&w, tgi_build_reduce(b, TGI_OP_SUM, x, tg_axes_of(1, NULL)),
                  TG_ERROR_SHAPE, "f32[2,3,4]: too many axes");
    check_refused(&w, tgi_build_reduce(b, TGI_OP_SUM, x, TG_AXES(1000)),
                  TG_ERROR_SHAPE,
                  "f32[2,3,4]: axis 127 is out of range for rank 3");
    check_refused(&w, tgi_build_arg_reduce(b, TGI_OP_ARGMIN, x, 3),
                  TG_ERROR_SHAPE,
                  "f32[2,3,4]: axis 3 is out of range for rank 3");
    tgi_ref truth = of_type(&w, TG_BOOL, 2);
    check_refused(&w, tgi_build_reduce(b, TGI_OP_SUM, truth, TG_ALL_AXES),
                  TG_ERROR_DTYPE, "bool[2]: needs a number type");
    check_refused(&w,
                  tgi_build_mean(b, of_type(&w, TG_I32, 2), TG_ALL_AXES),
                  TG_ERROR_DTYPE, "i32[2]: needs a float type");
    building_end(&w);
}

Test(build_shape, the_largest_of_nothing_is_refused_and_its_sum_is_not)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 2, 0, 4);
    tgi_builder *b = &w.b;
    check_type(&w, tgi_build_reduce(b, TGI_OP_SUM, x, TG_AXES(1)), "f32[2,4]");
    check_type(&w, tgi_build_reduce(b, TGI_OP_PROD, x, TG_ALL_AXES), "f32[]");
    check_type(&w, tgi_build_reduce(b, TGI_OP_REDUCE_MAX, x, TG_AXES(0)),
               "f32[0,4]");
    check_refused(&w, tgi_build_reduce(b, TGI_OP_REDUCE_MAX, x, TG_AXES(1)),
                  TG_ERROR_SHAPE, "f32[2,0,4]: axis 1 has no elements");
    check_refused(&w, tgi_build_reduce(b, TGI_OP_REDUCE_MIN, x, TG_ALL_AXES),
                  TG_ERROR_SHAPE, "f32[2,0,4]: axis 1 has no elements");
    check_refused(&w, tgi_build_arg_reduce(b, TGI_OP_ARGMAX, x, 1),
                  TG_ERROR_SHAPE, "f32[2,0,4]: axis 1 has no elements");
    building_end(&w);
}

/* -- Products -------------------------------------------------------------- */

Test(build_shape, matmul)
{
    building w = building_begin();
    static const struct {
        int flags;
        int64_t x[4], y[4]; /* terminated by 0 */
        const char *type;
    } good[] = {
        {0, {2, 3}, {3, 4}, "f32[2,4]"},
        {0, {3}, {3, 4}, "f32[4]"},
        {0, {2, 3}, {3}, "f32[2]"},
        {0, {3}, {3}, "f32[]"},
        {0, {5, 2, 3}, {3, 4}, "f32[5,2,4]"},
        {0, {5, 1, 3}, {5, 3, 4}, "f32[5,1,4]"},
        {0, {3}, {5, 3, 4}, "f32[5,4]"},
        {TG_TRANSPOSE_A, {3, 2}, {3, 4}, "f32[2,4]"},
        {TG_TRANSPOSE_B, {2, 3}, {4, 3}, "f32[2,4]"},
        {TG_TRANSPOSE_A | TG_TRANSPOSE_B, {3, 2}, {4, 3}, "f32[2,4]"},
        {TG_TRANSPOSE_A | TG_TRANSPOSE_B, {3}, {3}, "f32[]"},
    };
    for (size_t i = 0; i < N_OF(good); i++) {
        int p = 0, q = 0;
        while (p < 4 && good[i].x[p])
            p++;
        while (q < 4 && good[i].y[q])
            q++;
        tgi_ref x = param(w.graph, TG_F32,
                          tgi_shape_intern(w.graph->dims, p, good[i].x));
        tgi_ref y = param(w.graph, TG_F32,
                          tgi_shape_intern(w.graph->dims, q, good[i].y));
        check_type(&w, tgi_build_matmul(&w.b, x, y, good[i].flags),
                   good[i].type);
    }
    building_end(&w);
}

Test(build_shape, matrices_that_do_not_fit_are_refused)
{
    building w = building_begin();
    tgi_ref x = f32_of(&w, 64, 784), y = f32_of(&w, 128, 10);
    check_refused(&w, tgi_build_matmul(&w.b, x, y, 0), TG_ERROR_SHAPE,
                  "f32[64,784] x f32[128,10]: inner dimensions 784 and 128 "
                  "differ");
    check_refused(&w, tgi_build_matmul(&w.b, x, x, 0), TG_ERROR_SHAPE,
                  "f32[64,784] x f32[64,784]: inner dimensions 784 and 64 "
                  "differ");
    check_refused(&w, tgi_build_matmul(&w.b, f32_of(&w, 3), y, 0),
                  TG_ERROR_SHAPE,
                  "f32[3] x f32[128,10]: inner dimensions 3 and 128 differ");
    check_refused(&w, tgi_build_matmul(&w.b, f32_scalar(&w), y, 0),
                  TG_ERROR_SHAPE,
                  "f32[] x f32[128,10]: a scalar is not a matrix");
    check_refused(&w,
                  tgi_build_matmul(&w.b, f32_of(&w, 2, 4, 4),
                                   f32_of(&w, 3, 4, 4), 0),
                  TG_ERROR_SHAPE,
                  "f32[2,4,4] x f32[3,4,4]: batch axes do not broadcast");
    check_refused(&w,
                  tgi_build_matmul(&w.b, x, of_type(&w, TG_F64, 784, 2), 0),
                  TG_ERROR_DTYPE,
                  "f32[64,784] x f64[784,2]: dtypes differ; "
                  "convert one with tg_cast");
    tgi_ref truth = of_type(&w, TG_BOOL, 2, 2);
    check_refused(&w, tgi_build_matmul(&w.b, truth, truth, 0), TG_ERROR_DTYPE,
                  "bool[2,2] x bool[2,2]: needs a number type");
    check_refused(&w, tgi_build_matmul(&w.b, x, y, 8),
                  TG_ERROR_INVALID_ARGUMENT,
                  "f32[64,784] x f32[128,10]: invalid flags 8");
    building_end(&w);
}

/* -- Random words ---------------------------------------------------------- */

Test(build_shape, random_words)
{
    building w = building_begin();
    tgi_ref key = param(w.graph, TG_U64, scalar_shape(w.graph));
    tgi_ref zero = weak_int(&w, 0);
    check_type(&w, tgi_build_random_bits(&w.b, TG_U32, key, zero, DIMS(2, 3)),
               "u32[2,3]");
    check_refused(&w, tgi_build_random_bits(&w.b, TG_I32, key, key, DIMS(2)),
                  TG_ERROR_DTYPE, "the dtype must be u32 or u64, not i32");
    check_refused(&w,
                  tgi_build_random_bits(&w.b, TG_U32, of_type(&w, TG_U64, 1),
                                        key, DIMS(2)),
                  TG_ERROR_SHAPE,
                  "u64[1] x u64[]: key and offset are not scalars");
    check_refused(&w,
                  tgi_build_random_bits(&w.b, TG_U32, f32_scalar(&w), key,
                                        DIMS(2)),
                  TG_ERROR_DTYPE, "f32[]: needs u64");
    check_refused(&w,
                  tgi_build_random_bits(&w.b, TG_U32, weak_int(&w, -1), key,
                                        DIMS(2)),
                  TG_ERROR_DTYPE, "the number -1 is not representable in u64");
    check_refused(&w, tgi_build_random(&w.b, false, TG_U32, key, key, DIMS(2)),
                  TG_ERROR_DTYPE,
                  "the dtype must be f16, bf16, f32 or f64, not u32");
    check_refused(&w,
                  tgi_build_random(&w.b, true, TG_F64, key, key, DIMS(-2)),
                  TG_ERROR_SHAPE, "extent -2 of axis 0 is negative");
    building_end(&w);
}

/* -- Through the public functions ------------------------------------------ */

static void named_operands(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value weights = tg_name(in[0], "weights");
    tg_return(t, tg_add(weights, in[1]));
}

/* Messages contain the user's names of values, with file and line. */
Test(build_shape, messages_name_the_values_and_the_place)
{
    session s;
    session_begin(&s);
    tg_function *f = tg_function_create(s.ctx, named_operands, NULL, NULL);
    tg_tensor *x = f32_vector(s.ctx, 1, 2), *y = f32_vector(s.ctx, 1, 2, 3);
    check_fails(tg_call(f, TG_ARGS(x, y), TG_RESULTS()), TG_ERROR_SHAPE,
                "test_build_shape.c:",
                ": add: 'weights' f32[2] x f32[3]: shapes do not broadcast");
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
}

typedef struct refusal {
    tg_value (*build)(tg_value x);
    tg_status status;
    const char *message;
} refusal;

static tg_value relu_of_bool(tg_value x)
{
    return tg_relu(tg_lt(x, 0));
}

static tg_value sigmoid_of_int(tg_value x)
{
    return tg_sigmoid(tg_cast(x, TG_I32));
}

static tg_value softmax_of_int(tg_value x)
{
    return tg_softmax(tg_cast(x, TG_I32), 0);
}

static tg_value softmax_out_of_range(tg_value x)
{
    return tg_softmax(x, 1);
}

static tg_value log_softmax_out_of_range(tg_value x)
{
    return tg_log_softmax(x, -2);
}

static tg_value norm_of_scalar(tg_value x)
{
    return tg_layer_norm(tg_sum(x, TG_ALL_AXES), 1, 0, 1e-5);
}

static tg_value norm_of_int(tg_value x)
{
    return tg_layer_norm(tg_cast(x, TG_I32), 1, 0, 1e-5);
}

static tg_value any_of_number(tg_value x)
{
    return tg_any(x, TG_ALL_AXES);
}

static tg_value all_of_number(tg_value x)
{
    return tg_all(x, TG_ALL_AXES);
}

static tg_value bad_scalar(tg_value x)
{
    (void)x;
    return tg_scalar(TG_U8, 256);
}

static tg_value scalar_of_value(tg_value x)
{
    return tg_scalar(TG_F32, x);
}

static tg_value scalar_of_nothing(tg_value x)
{
    (void)x;
    return tg_scalar((tg_dtype)0, 1);
}

static tg_value null_tensor(tg_value x)
{
    return tg_add(x, (tg_tensor *)NULL);
}

static tg_value string_operand(tg_value x)
{
    return tg_add(x, "two");
}

static tg_value bundle_operand(tg_value x)
{
    return tg_add(x, tg_bundle_of(NULL, NULL));
}

static tg_value null_parts(tg_value x)
{
    (void)x;
    return tg_concat_at(0, NULL, 2, TG_HERE);
}

static tg_value extent_out_of_range(tg_value x)
{
    return tg_extent(x, 1);
}

static tg_value uniform_of_int(tg_value x)
{
    (void)x;
    return tg_random_uniform(1, TG_I32, TG_DIMS(2));
}

static tg_value invalid_operand(tg_value x)
{
    const tg_value invalid = {0, 0};
    return tg_add(x, invalid);
}

static const refusal refusals[] = {
    {relu_of_bool, TG_ERROR_DTYPE, ": relu: bool[2]: needs a number type"},
    {sigmoid_of_int, TG_ERROR_DTYPE, ": sigmoid: i32[2]: needs a float type"},
    {softmax_of_int, TG_ERROR_DTYPE, ": softmax: i32[2]: needs a float type"},
    {softmax_out_of_range, TG_ERROR_SHAPE,
     ": softmax: f32[2]: axis 1 is out of range for rank 1"},
    {log_softmax_out_of_range, TG_ERROR_SHAPE,
     ": log_softmax: f32[2]: axis -2 is out of range for rank 1"},
    {norm_of_scalar, TG_ERROR_SHAPE,
     ": layer_norm: f32[]: axis -1 is out of range for rank 0"},
    {norm_of_int, TG_ERROR_DTYPE, ": layer_norm: i32[2]: needs a float type"},
    {any_of_number, TG_ERROR_DTYPE, ": any: f32[2]: needs bool"},
    {all_of_number, TG_ERROR_DTYPE, ": all: f32[2]: needs bool"},
    {bad_scalar, TG_ERROR_DTYPE,
     ": scalar: the number 256 is not representable in u8"},
    {scalar_of_value, TG_ERROR_INVALID_ARGUMENT,
     ": scalar: the operand is not a number"},
    {scalar_of_nothing, TG_ERROR_DTYPE, ": scalar: 0 is not an element type"},
    {null_tensor, TG_ERROR_INVALID_ARGUMENT,
     ": add: a tensor operand is NULL"},
    {string_operand, TG_ERROR_INVALID_ARGUMENT,
     ": add: a string is not an operand"},
    {bundle_operand, TG_ERROR_INVALID_ARGUMENT,
     ": add: a bundle is not an operand"},
    {null_parts, TG_ERROR_INVALID_ARGUMENT, ": concat: parts are NULL"},
    {extent_out_of_range, TG_ERROR_SHAPE,
     ": extent: f32[2]: axis 1 is out of range for rank 1"},
    {uniform_of_int, TG_ERROR_DTYPE,
     ": random_uniform: the dtype must be f16, bf16, f32 or f64, "
     "not i32"},
    {invalid_operand, TG_ERROR_INVALID_ARGUMENT,
     ": add: an operand is not a valid value"},
};

static void refused(tg_trace *t, const tg_value *in, void *user)
{
    const refusal *r = user;
    tg_value result = r->build(in[0]);
    cr_assert_not(tg_is_valid(result));
    cr_assert_eq(tg_trace_status(t), r->status);
    /* The first error is sticky: later operations do nothing. */
    cr_assert_not(tg_is_valid(tg_add(in[0], 1)));
    tg_return(t, result);
}

Test(build_shape, composite_functions_report_errors_under_their_own_name)
{
    session s;
    session_begin(&s);
    tg_tensor *x = f32_vector(s.ctx, 1, 2);
    for (size_t i = 0; i < N_OF(refusals); i++) {
        refusal r = refusals[i];
        tg_function *f = tg_function_create(s.ctx, refused, &r, NULL);
        check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS()), r.status,
                    "test_build_shape.c:", r.message);
        cr_assert_eq(tg_function_trace_count(f), 0);
        tg_function_release(f);
    }
    tg_tensor_release(x);
    session_end(&s);
}
