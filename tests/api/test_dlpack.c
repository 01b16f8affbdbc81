/* SPDX-License-Identifier: MIT */
/*
 * test_dlpack.c - tensors exchanged as structs of DLPack. The structs are
 * written down once more here, as in a program with <dlpack/dlpack.h>.
 */
#include <stdlib.h>

#include "support/api.h"

/* -- As <dlpack/dlpack.h> has it ------------------------------------------- */

typedef struct DLTensor {
    void *data;
    struct {
        int32_t device_type, device_id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* -- A producer ------------------------------------------------------------ */

static int n_deleted;

static void count_plain(DLManagedTensor *self)
{
    cr_assert_eq(self->manager_ctx, &n_deleted);
    n_deleted++;
    tg_error_clear(); /* a producer may use the library, too */
}

static void count_versioned(DLManagedTensorVersioned *self)
{
    cr_assert_eq(self->manager_ctx, &n_deleted);
    n_deleted++;
}

enum { INT = 0, UINT = 1, FLOAT = 2, BFLOAT = 4, COMPLEX = 5, BOOL = 6 };

/* f32 elements of a shape. */
static DLTensor describe(void *data, int rank, int64_t *shape,
                         int64_t *strides)
{
    return (DLTensor){.data = data,
                      .device = {1, 0},
                      .ndim = rank,
                      .dtype = {FLOAT, 32, 1},
                      .shape = shape,
                      .strides = strides};
}

static DLManagedTensor managed(DLTensor tensor)
{
    return (DLManagedTensor){tensor, &n_deleted, count_plain};
}

static DLManagedTensorVersioned managed_versioned(DLTensor tensor,
                                                  uint64_t flags)
{
    return (DLManagedTensorVersioned){
        {1, 1}, &n_deleted, count_versioned, flags, tensor};
}

/* -- Import ---------------------------------------------------------------- */

Test(dlpack, dense_memory_is_used_in_place)
{
    session s;
    session_begin(&s);
    float data[] = {9, 1, 2, 3, 4, 5, 6};
    int64_t shape[] = {2, 1, 3}, strides[] = {3, 77, 1};
    for (int with_strides = 0; with_strides < 2; with_strides++) {
        DLTensor t = describe(data, 3, shape, with_strides ? strides : NULL);
        t.byte_offset = 4;
        DLManagedTensor plain = managed(t);
        DLManagedTensorVersioned versioned = managed_versioned(t, 0);
        n_deleted = 0;
        tg_tensor *x = tg_tensor_from_dlpack(s.ctx, &plain);
        tg_tensor *y = tg_tensor_from_dlpack_versioned(s.ctx, &versioned);
        cr_assert_not_null(x, "%s", tg_error(s.ctx));
        cr_assert_not_null(y, "%s", tg_error(s.ctx));
        cr_assert_eq(tg_tensor_data(x), data + 1);
        cr_assert_eq(tg_tensor_data(y), data + 1);
        cr_assert_eq(tg_tensor_rank(x), 3);
        cr_assert_eq(n_deleted, 0);
        check_f32(x, 1, 2, 3, 4, 5, 6);
        cr_assert_eq(n_deleted, 1);
        tg_tensor_release(tg_tensor_retain(y));
        cr_assert_eq(n_deleted, 1);
        check_f32(y, 1, 2, 3, 4, 5, 6);
        cr_assert_eq(n_deleted, 2);
    }
    session_end(&s);
}

Test(dlpack, strides_are_honoured)
{
    session s;
    session_begin(&s);
    float data[] = {1, 2, 3, 4, 5, 6};
    static const struct {
        int64_t shape[2], strides[2];
        uint64_t offset;
        float want[6];
    } cases[] = {
        {{3, 2}, {1, 3}, 0, {1, 4, 2, 5, 3, 6}},
        {{2, 3}, {3, -1}, 8, {3, 2, 1, 6, 5, 4}},
        {{3, 2}, {-2, -1}, 20, {6, 5, 4, 3, 2, 1}},
        {{2, 3}, {0, 2}, 0, {1, 3, 5, 1, 3, 5}},
        {{6, 1}, {0, 0}, 4, {2, 2, 2, 2, 2, 2}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t shape[2], strides[2];
        memcpy(shape, cases[i].shape, sizeof(shape));
        memcpy(strides, cases[i].strides, sizeof(strides));
        DLTensor t = describe(data, 2, shape, strides);
        t.byte_offset = cases[i].offset;
        DLManagedTensor plain = managed(t);
        n_deleted = 0;
        tg_tensor *x = tg_tensor_from_dlpack(s.ctx, &plain);
        cr_assert_not_null(x, "%s", tg_error(s.ctx));
        cr_assert_eq(n_deleted, 1, "a copy does not need the memory");
        check_f32_at(__LINE__, x, cases[i].want, 6);
        cr_assert_eq(n_deleted, 1);
    }
    session_end(&s);
}

Test(dlpack, memory_that_is_not_aligned_is_copied)
{
    session s;
    session_begin(&s);
    char data[16];
    int64_t n = 2;
    memcpy(data + 1, (float[]){3, 4}, 8);
    DLTensor t = describe(data, 1, &n, NULL);
    t.byte_offset = 1;
    DLManagedTensor plain = managed(t);
    n_deleted = 0;
    check_f32(tg_tensor_from_dlpack(s.ctx, &plain), 3, 4);
    cr_assert_eq(n_deleted, 1);
    session_end(&s);
}

Test(dlpack, scalars_and_empty_tensors_are_imported)
{
    session s;
    session_begin(&s);
    float data = 5;
    DLManagedTensor scalar = managed(describe(&data, 0, NULL, NULL));
    check_f32(tg_tensor_from_dlpack(s.ctx, &scalar), 5);
    int64_t shape[] = {3, 0}, strides[] = {INT64_MAX, INT64_MIN};
    DLManagedTensor empty = managed(describe(NULL, 2, shape, strides));
    n_deleted = 0;
    tg_tensor *x = tg_tensor_from_dlpack(s.ctx, &empty);
    cr_assert_not_null(x, "%s", tg_error(s.ctx));
    cr_assert_eq(n_deleted, 1);
    cr_assert_eq(tg_tensor_count(x), 0);
    tg_tensor_release(x);
    /* A producer without a deleter. */
    DLManagedTensor without = {.dl_tensor = describe(&data, 0, NULL, NULL)};
    check_f32(tg_tensor_from_dlpack(s.ctx, &without), 5);
    session_end(&s);
}

Test(dlpack, all_our_dtypes_and_no_others_are_imported)
{
    static const struct {
        uint8_t code, bits;
        uint16_t lanes;
        tg_dtype dtype;
    } cases[] = {
        {BOOL, 8, 1, TG_BOOL},    {INT, 8, 1, TG_I8},
        {INT, 16, 1, TG_I16},     {INT, 32, 1, TG_I32},
        {INT, 64, 1, TG_I64},     {UINT, 8, 1, TG_U8},
        {UINT, 16, 1, TG_U16},    {UINT, 32, 1, TG_U32},
        {UINT, 64, 1, TG_U64},    {FLOAT, 32, 1, TG_F32},
        {FLOAT, 64, 1, TG_F64},   {FLOAT, 16, 1, TG_F16},
        {BFLOAT, 16, 1, TG_BF16},      {COMPLEX, 64, 1, 0},
        {FLOAT, 32, 4, 0},        {FLOAT, 32, 0, 0},
        {BOOL, 1, 1, 0},          {INT, 4, 1, 0},
        {INT, 0, 1, 0},           {3, 64, 1, 0},
        {255, 255, 1, 0},
    };
    session s;
    session_begin(&s);
    _Alignas(8) char data[16] = {1, 0, 1};
    int64_t n = 2;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        DLTensor t = describe(data, 1, &n, NULL);
        t.dtype.code = cases[i].code;
        t.dtype.bits = cases[i].bits;
        t.dtype.lanes = cases[i].lanes;
        DLManagedTensorVersioned v = managed_versioned(t, 0);
        n_deleted = 0;
        tg_tensor *x = tg_tensor_from_dlpack_versioned(s.ctx, &v);
        cr_assert_eq(tg_tensor_dtype(x), cases[i].dtype, "case %zu", i);
        if (!cases[i].dtype)
            check_record(TG_ERROR_DTYPE, "tg_tensor_from_dlpack_versioned: ",
                         "are not supported");
        tg_tensor_release(x);
        cr_assert_eq(n_deleted, 1);
    }
    session_end(&s);
}

Test(dlpack, bad_structs_are_refused_and_given_back_once)
{
    session s;
    session_begin(&s);
    _Alignas(8) char data[64] = {2};
    int64_t shape[] = {2, 2}, strides[] = {2, 1};
    const DLTensor good = describe(data, 2, shape, strides);
    DLTensor bad[9];
    for (int i = 0; i < 9; i++)
        bad[i] = good;
    int64_t negative[] = {2, -1}, many[] = {INT64_MAX, 2};
    int64_t far[] = {INT64_MAX / 4, 1}, farther[] = {INT64_MIN, 1};
    bad[0].device.device_type = 2;
    bad[1].ndim = -1;
    bad[2].ndim = TG_MAX_RANK + 1;
    bad[3].shape = negative;
    bad[4].shape = many;
    bad[5].strides = far;
    bad[6].strides = farther;
    bad[7].data = NULL;
    bad[8].dtype.code = BOOL;
    bad[8].dtype.bits = 8;
    static const struct {
        tg_status status;
        const char *says;
    } want[] = {
        {TG_ERROR_UNSUPPORTED, "device type 2"},
        {TG_ERROR_OVERFLOW, "rank -1"},
        {TG_ERROR_OVERFLOW, "rank 9"},
        {TG_ERROR_SHAPE, "negative"},
        {TG_ERROR_OVERFLOW, "too many elements"},
        {TG_ERROR_OVERFLOW, "of axis 0 exceeds"},
        {TG_ERROR_OVERFLOW, "of axis 0 exceeds"},
        {TG_ERROR_INVALID_ARGUMENT, "no data"},
        {TG_ERROR_INVALID_ARGUMENT, "element 0 is 2, and not a bool"},
    };
    for (int i = 0; i < 9; i++) {
        DLManagedTensor plain = managed(bad[i]);
        DLManagedTensorVersioned versioned = managed_versioned(bad[i], 0);
        n_deleted = 0;
        cr_assert_null(tg_tensor_from_dlpack(s.ctx, &plain), "case %d", i);
        cr_assert_eq(n_deleted, 1);
        check_record(want[i].status, "tg_tensor_from_dlpack: ", want[i].says);
        cr_assert_null(tg_tensor_from_dlpack_versioned(s.ctx, &versioned));
        cr_assert_eq(n_deleted, 2);
    }
    DLManagedTensor plain = managed(good);
    n_deleted = 0;
    cr_assert_null(tg_tensor_from_dlpack(NULL, &plain));
    cr_assert_eq(n_deleted, 1);
    cr_assert_null(tg_tensor_from_dlpack(s.ctx, NULL));
    check_record(TG_ERROR_INVALID_ARGUMENT, "the tensor is NULL");
    tg_error_clear();
    cr_assert_null(tg_tensor_from_dlpack_versioned(s.ctx, NULL));
    check_record(TG_ERROR_INVALID_ARGUMENT, "the tensor is NULL");
    DLManagedTensorVersioned versioned = managed_versioned(good, 0);
    cr_assert_null(tg_tensor_from_dlpack_versioned(NULL, &versioned));
    check_record(TG_ERROR_INVALID_ARGUMENT, "the context is NULL");
    cr_assert_eq(n_deleted, 2);
    /* Memory that lives for ever. */
    plain.deleter = NULL;
    versioned.deleter = NULL;
    tg_tensor_release(tg_tensor_from_dlpack(s.ctx, &plain));
    tg_tensor_release(tg_tensor_from_dlpack_versioned(s.ctx, &versioned));
    cr_assert_eq(n_deleted, 2);
    session_end(&s);
}

Test(dlpack, other_versions_are_given_back_unread)
{
    session s;
    session_begin(&s);
    /* What follows the flags may have another layout. */
    DLManagedTensorVersioned v = {{2, 0}, &n_deleted, count_versioned, 0,
                                  {.data = (void *)1, .ndim = 1,
                                   .shape = (int64_t *)3}};
    n_deleted = 0;
    cr_assert_null(tg_tensor_from_dlpack_versioned(s.ctx, &v));
    check_record(TG_ERROR_UNSUPPORTED, "version 2.0 of DLPack");
    cr_assert_eq(n_deleted, 1);
    session_end(&s);
}

static void double_it(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_mul(in[0], 2));
}

Test(dlpack, read_only_memory_is_not_written)
{
    static const float fixed[] = {1, 2};
    session s;
    session_begin(&s);
    int64_t n = 2;
    DLManagedTensorVersioned v = managed_versioned(
        describe((void *)(uintptr_t)fixed, 1, &n, NULL), 1);
    n_deleted = 0;
    tg_tensor *x = tg_tensor_from_dlpack_versioned(s.ctx, &v);
    tg_tensor *wanted = x;
    tg_function *f = tg_function_create(s.ctx, double_it, NULL, NULL);
    check_f32(call_one(f, TG_ARGS(x)), 2, 4);
    check_fails(tg_call(f, TG_ARGS(x), TG_RESULTS(&wanted)),
                TG_ERROR_INVALID_ARGUMENT, "result 0", "read-only");
    cr_assert_null(tg_tensor_to_dlpack(x));
    check_record(TG_ERROR_INVALID_ARGUMENT, "read-only",
                 "tg_tensor_to_dlpack_versioned");
    DLManagedTensorVersioned *again = tg_tensor_to_dlpack_versioned(x);
    cr_assert_eq(again->flags, 1);
    tg_tensor_release(x);
    cr_assert_eq(n_deleted, 0);
    again->deleter(again);
    cr_assert_eq(n_deleted, 1);
    tg_function_release(f);
    session_end(&s);
}

/* -- Export ---------------------------------------------------------------- */

Test(dlpack, an_export_keeps_the_tensor_alive)
{
    session s;
    session_begin(&s);
    const int64_t dims[] = {2, 1, 3};
    tg_tensor *x = tg_tensor_copy(s.ctx, (float[]){1, 2, 3, 4, 5, 6}, TG_F32,
                                  3, dims);
    DLManagedTensor *plain = tg_tensor_to_dlpack(x);
    DLManagedTensorVersioned *versioned = tg_tensor_to_dlpack_versioned(x);
    cr_assert_not_null(plain);
    cr_assert_not_null(versioned);
    cr_assert_eq(versioned->version.major, 1);
    cr_assert_eq(versioned->flags, 0);
    const void *data = tg_tensor_data(x);
    tg_tensor_release(x);
    const DLTensor *both[] = {&plain->dl_tensor, &versioned->dl_tensor};
    for (int i = 0; i < 2; i++) {
        const DLTensor *t = both[i];
        cr_assert_eq(t->data, data);
        cr_assert(t->device.device_type == 1 && t->device.device_id == 0);
        cr_assert(t->ndim == 3 && t->byte_offset == 0);
        cr_assert(t->dtype.code == FLOAT && t->dtype.bits == 32 &&
                  t->dtype.lanes == 1);
        cr_assert_eq(memcmp(t->shape, dims, sizeof(dims)), 0);
        cr_assert_eq(memcmp(t->strides, (int64_t[]){3, 3, 1}, sizeof(dims)),
                     0);
    }
    /* Back again, over the same memory. */
    tg_tensor *y = tg_tensor_from_dlpack(s.ctx, plain);
    cr_assert_eq(tg_tensor_data(y), data);
    versioned->deleter(versioned);
    check_f32(y, 1, 2, 3, 4, 5, 6);
    cr_assert_null(tg_tensor_to_dlpack(NULL));
    check_record(TG_ERROR_INVALID_ARGUMENT, "the tensor is NULL");
    cr_assert_null(tg_tensor_to_dlpack_versioned(NULL));
    session_end(&s);
}

Test(dlpack, scalars_and_empty_tensors_are_exported)
{
    session s;
    session_begin(&s);
    tg_tensor *x = tg_tensor_create(s.ctx, TG_BOOL, TG_SCALAR, tg_zeros());
    DLManagedTensor *scalar = tg_tensor_to_dlpack(x);
    cr_assert(scalar->dl_tensor.ndim == 0 && scalar->dl_tensor.shape &&
              scalar->dl_tensor.strides);
    cr_assert(scalar->dl_tensor.dtype.code == BOOL &&
              scalar->dl_tensor.dtype.bits == 8);
    scalar->deleter(scalar);
    tg_tensor_release(x);
    x = tg_tensor_create(s.ctx, TG_U16, TG_DIMS(4, 0, 2), tg_zeros());
    DLManagedTensorVersioned *empty = tg_tensor_to_dlpack_versioned(x);
    cr_assert_eq(empty->dl_tensor.shape[1], 0);
    empty->deleter(empty);
    tg_tensor_release(x);
    session_end(&s);
}
