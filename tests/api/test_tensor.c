/* SPDX-License-Identifier: MIT */
/* test_tensor.c - tensors: contents and invalid arguments. */
#include <stdlib.h>

#include "support/api.h"

Test(tensor, own_memory_is_aligned_and_zero)
{
    session s;
    session_begin(&s);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_I16, TG_DIMS(3, 5), tg_zeros());
    cr_assert_not_null(x);
    cr_assert_eq((uintptr_t)tg_tensor_data(x) % 64, 0);
    const int16_t *data = tg_tensor_data(x);
    for (int i = 0; i < 15; i++)
        cr_assert_eq(data[i], 0);
    cr_assert_eq(tg_tensor_dtype(x), TG_I16);
    cr_assert_eq(tg_tensor_rank(x), 2);
    cr_assert_eq(tg_tensor_dims(x)[0], 3);
    cr_assert_eq(tg_tensor_dims(x)[1], 5);
    cr_assert_eq(tg_tensor_count(x), 15);
    cr_assert_eq(tg_tensor_bytes(x), 30);
    tg_tensor_release(x);
    session_end(&s);
}

Test(tensor, wrapped_memory_is_the_users_own)
{
    session s;
    session_begin(&s);
    float data[] = {1, 2, 3};
    tg_tensor *x = tg_tensor_wrap(s.ctx, data + 1, TG_F32, TG_DIMS(2));
    cr_assert_eq(tg_tensor_data(x), data + 1);
    tg_tensor_release(x);
    cr_assert_eq(data[1], 2);
    session_end(&s);
}

Test(tensor, a_copy_does_not_change_with_its_source)
{
    session s;
    session_begin(&s);
    float data[] = {1, 2, 3};
    tg_tensor *x = tg_tensor_copy(s.ctx, data, TG_F32, TG_DIMS(3));
    data[0] = 9;
    check_f32(x, 1, 2, 3);
    session_end(&s);
}

Test(tensor, scalars_and_empty_tensors)
{
    session s;
    session_begin(&s);
    tg_tensor *scalar = tg_tensor_create(s.ctx, TG_F64, TG_SCALAR, tg_zeros());
    cr_assert_eq(tg_tensor_rank(scalar), 0);
    cr_assert_eq(tg_tensor_count(scalar), 1);
    cr_assert_eq(tg_tensor_bytes(scalar), 8);
    tg_tensor *empty =
        tg_tensor_create(s.ctx, TG_F64, TG_DIMS(3, 0), tg_zeros());
    cr_assert_eq(tg_tensor_count(empty), 0);
    cr_assert_eq(tg_tensor_bytes(empty), 0);
    /* An empty tensor has no data. */
    tg_tensor *wrapped = tg_tensor_wrap(s.ctx, NULL, TG_F64, TG_DIMS(0));
    tg_tensor *copied = tg_tensor_copy(s.ctx, NULL, TG_F64, TG_DIMS(0));
    cr_assert(wrapped && copied);
    tg_tensor_release(scalar);
    tg_tensor_release(empty);
    tg_tensor_release(wrapped);
    tg_tensor_release(copied);
    session_end(&s);
}

static int count_dims(int rank, const int64_t *dims)
{
    cr_assert(rank == 0 || dims);
    return rank;
}

/* Commas inside braces are not separators of extents. */
Test(tensor, extents_may_be_elements_of_arrays)
{
    session s;
    int i = 1;
    session_begin(&s);
    tg_tensor *x = tg_tensor_create(
        s.ctx, TG_F32, TG_DIMS((int[]){1, 2, 3}[i], (int[]){4, 5}[0]),
        tg_zeros());
    cr_assert_not_null(x, "%s", tg_error(NULL));
    cr_assert_eq(tg_tensor_rank(x), 2);
    cr_assert_eq(tg_tensor_dims(x)[0], 2);
    cr_assert_eq(tg_tensor_dims(x)[1], 4);
    tg_tensor_release(x);
    cr_assert_eq(count_dims(TG_DIMS()), 0);
    cr_assert_eq(count_dims(TG_DIMS(i++)), 1);
    cr_assert_eq(i, 2, "an extent is evaluated once");
    const tg_spec specs[] = {TG_SPEC(TG_F32, 3), TG_SPEC(TG_F32, 4)};
    const tg_function_options *options =
        TG_SIGNATURE((tg_spec[]){specs[0], specs[1]}[1], specs[0]);
    cr_assert_eq(options->n_signature, 2);
    cr_assert_eq(options->signature[0].dims[0], 4);
    session_end(&s);
    check_nothing_is_alive();
}

Test(tensor, references_are_counted_and_keep_the_context)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = f32_vector(ctx, 1, 2);
    cr_assert_eq(tg_tensor_retain(x), x);
    tg_context_release(ctx);
    tg_tensor_release(x);
    cr_assert_eq(tg_live_objects(), 2);
    check_f32(x, 1, 2);
    check_nothing_is_alive();
}

Test(tensor, invalid_tensors_are_reported)
{
    cr_assert_null(tg_tensor_retain(NULL));
    tg_tensor_release(NULL);
    cr_assert_null(tg_tensor_data(NULL));
    cr_assert_eq(tg_tensor_dtype(NULL), TG_DTYPE_NONE);
    cr_assert_eq(tg_tensor_rank(NULL), -1);
    cr_assert_null(tg_tensor_dims(NULL));
    cr_assert_eq(tg_tensor_count(NULL), 0);
    cr_assert_eq(tg_tensor_bytes(NULL), 0);
}

#define check_no_tensor(tensor, status, ...) \
    do { \
        cr_assert_null(tensor); \
        check_record(status, __VA_ARGS__); \
    } while (0)

Test(tensor, bad_arguments_are_refused)
{
    session s;
    session_begin(&s);
    _Alignas(8) char data[16] = {0};
    const int64_t ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    check_no_tensor(tg_tensor_create(NULL, TG_F32, TG_SCALAR, tg_zeros()),
                    TG_ERROR_INVALID_ARGUMENT,
                    "tg_tensor_create: the context is NULL");
    check_no_tensor(
        tg_tensor_create(s.ctx, TG_DTYPE_NONE, TG_SCALAR, tg_zeros()),
        TG_ERROR_DTYPE, "tg_tensor_create: 0 is not an element type");
    check_no_tensor(
        tg_tensor_create(s.ctx, (tg_dtype)-7, TG_SCALAR, tg_zeros()),
        TG_ERROR_DTYPE, "-7 is not an element type");
    check_no_tensor(tg_tensor_create(s.ctx, TG_F32, 9, ones, tg_zeros()),
                    TG_ERROR_OVERFLOW, "rank 9 is not in 0");
    check_no_tensor(tg_tensor_create(s.ctx, TG_F32, -1, ones, tg_zeros()),
                    TG_ERROR_OVERFLOW, "rank -1 is not in 0");
    check_no_tensor(tg_tensor_create(s.ctx, TG_F32, 1, NULL, tg_zeros()),
                    TG_ERROR_INVALID_ARGUMENT, "extents are NULL");
    check_no_tensor(tg_tensor_create(s.ctx, TG_F32, TG_DIMS(2, -1), tg_zeros()),
                    TG_ERROR_SHAPE, "extent -1 of axis 1 is negative");
    check_no_tensor(tg_tensor_create(s.ctx, TG_F32,
                                     TG_DIMS(1LL << 40, 1LL << 40), tg_zeros()),
                    TG_ERROR_OVERFLOW,
                    "f32[1099511627776,1099511627776] has too many elements");
    check_no_tensor(
        tg_tensor_create(s.ctx, TG_F64, TG_DIMS(1LL << 61), tg_zeros()),
        TG_ERROR_OVERFLOW, "too many elements");
    /* An extent of 0 does not make the other extents valid. */
    check_no_tensor(
        tg_tensor_create(s.ctx, TG_F64, TG_DIMS(INT64_MAX, 0), tg_zeros()),
        TG_ERROR_OVERFLOW, "too many elements");
    check_no_tensor(tg_tensor_wrap(s.ctx, NULL, TG_F32, TG_DIMS(2)),
                    TG_ERROR_INVALID_ARGUMENT,
                    "tg_tensor_wrap: data is NULL");
    check_no_tensor(tg_tensor_wrap(s.ctx, data + 2, TG_F32, TG_DIMS(2)),
                    TG_ERROR_INVALID_ARGUMENT,
                    "data is not aligned to its elements of 4 bytes");
    check_no_tensor(tg_tensor_copy(s.ctx, NULL, TG_F32, TG_DIMS(2)),
                    TG_ERROR_INVALID_ARGUMENT,
                    "tg_tensor_copy: the initial data is NULL");
    cr_assert_str_eq(tg_error_last()->function, "tg_tensor_copy");
    cr_assert_eq(tg_error_last()->context, s.ctx);
    session_end(&s);
}

Test(tensor, data_needs_element_alignment_only)
{
    session s;
    session_begin(&s);
    _Alignas(64) char memory[32] = {0};
    tg_tensor *x = tg_tensor_wrap(s.ctx, memory + 4, TG_F32, TG_DIMS(2));
    tg_tensor *y = tg_tensor_wrap(s.ctx, memory + 1, TG_U8, TG_DIMS(2));
    cr_assert(x && y);
    tg_tensor_release(x);
    tg_tensor_release(y);
    session_end(&s);
}

/* A user's allocator, which records the largest request. */
static size_t largest;

static void *allocate_little(size_t bytes, size_t align, void *user)
{
    (void)user;
    if (bytes > largest)
        largest = bytes;
    return bytes > 1 << 20 ? NULL : aligned_alloc(align, (bytes + align - 1) /
                                                             align * align);
}

static void release_little(void *memory, size_t bytes, size_t align,
                           void *user)
{
    (void)bytes, (void)align, (void)user;
    free(memory);
}

Test(tensor, tensors_larger_than_memory_are_refused)
{
    const tg_allocator little = {allocate_little, release_little, NULL};
    check_works(tg_allocator_set(&little));
    session s;
    session_begin_with(&s, (tg_context_options){.memory_limit = UINT64_MAX});
    check_no_tensor(
        tg_tensor_create(s.ctx, TG_U8, TG_DIMS(INT64_MAX), tg_zeros()),
        TG_ERROR_OUT_OF_MEMORY, "out of memory");
    cr_assert_geq(largest, (size_t)INT64_MAX, "the size has wrapped");
    session_end(&s);
    check_works(tg_allocator_set(NULL));
}

Test(tensor, a_context_may_set_a_limit)
{
    session s;
    tg_context_options options = {.memory_limit = 1000};
    session_begin_with(&s, options);
    check_no_tensor(tg_tensor_create(s.ctx, TG_F32, TG_DIMS(251), tg_zeros()),
                    TG_ERROR_OUT_OF_MEMORY,
                    "tg_tensor_create needs 1004 bytes, the limit is 1000");
    tg_tensor *x = tg_tensor_create(s.ctx, TG_F32, TG_DIMS(250), tg_zeros());
    cr_assert_not_null(x);
    tg_tensor_release(x);
    session_end(&s);
}

static bool make_tensors(void)
{
    tg_context *ctx = tg_context_create(NULL);
    tg_tensor *x = ctx ? f32_vector(ctx, 1, 2, 3) : NULL;
    tg_tensor *y =
        x ? tg_tensor_create(ctx, TG_F32, TG_DIMS(100), tg_zeros()) : NULL;
    tg_tensor *z = y ? tg_tensor_wrap(ctx, tg_tensor_data(y), TG_F32,
                                      TG_DIMS(100))
                     : NULL;
    const bool good = z != NULL;
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_tensor_release(z);
    tg_context_release(ctx);
    return good;
}

Test(tensor, every_lack_of_memory_is_reported)
{
    check_every_fault(make_tensors);
}
