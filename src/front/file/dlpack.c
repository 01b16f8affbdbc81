/* SPDX-License-Identifier: MIT */
/*
 * dlpack.c - tensors as structs of DLPack, and the reverse. The layout below is
 * that of <dlpack/dlpack.h>, of DLPack 0.x for the first struct and of 1.x for
 * the second; it is an ABI, and pinned.
 */
#include "tgjit/dlpack.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "front/file/file_bytes.h"
#include "front/file/file_error.h"
#include "front/file/strided_copy.h"

/* -- The ABI --------------------------------------------------------------- */

enum { DEVICE_CPU = 1 };
enum {
    CODE_INT = 0,
    CODE_UINT = 1,
    CODE_FLOAT = 2,
    CODE_BFLOAT = 4,
    CODE_BOOL = 6
};
enum { VERSION_MAJOR = 1, VERSION_MINOR = 0 };
enum { FLAG_READ_ONLY = 1 };

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t rank;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: row-major without gaps */
    uint64_t byte_offset;
} dl_tensor;

struct DLManagedTensor {
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    dl_tensor tensor;
};

#if __SIZEOF_POINTER__ == 8
_Static_assert(sizeof(dl_tensor) == 48, "DLTensor");
_Static_assert(offsetof(dl_tensor, dtype) == 20, "DLTensor");
_Static_assert(sizeof(struct DLManagedTensor) == 64, "DLManagedTensor");
_Static_assert(sizeof(struct DLManagedTensorVersioned) == 80,
               "DLManagedTensorVersioned");
_Static_assert(offsetof(struct DLManagedTensorVersioned, tensor) == 32,
               "DLManagedTensorVersioned");
#endif

/* The code of a class of types. */
static uint8_t code_of(tg_dtype dtype)
{
    switch (tgi_dtype_table[dtype].cls) {
    case TGI_CLASS_BOOL:
        return CODE_BOOL;
    case TGI_CLASS_SINT:
        return CODE_INT;
    case TGI_CLASS_UINT:
        return CODE_UINT;
    default:
        return dtype == TG_BF16 ? CODE_BFLOAT : CODE_FLOAT;
    }
}

/* TG_DTYPE_NONE if the library does not have it. */
static tg_dtype dtype_of(const dl_tensor *from)
{
    for (int dtype = 1; dtype < TGI_DTYPES; dtype++)
        if (tgi_dtype_is_valid(dtype) && from->dtype.lanes == 1 &&
            from->dtype.code == code_of((tg_dtype)dtype) &&
            from->dtype.bits == 8 * tgi_dtype_bytes(dtype))
            return (tg_dtype)dtype;
    return TG_DTYPE_NONE;
}

/* -- Export ---------------------------------------------------------------- */

/* One block: either struct, and the arrays that it points to. */
typedef struct exported {
    union {
        struct DLManagedTensor plain;
        struct DLManagedTensorVersioned versioned;
    } as;
    int64_t shape[TG_MAX_RANK], strides[TG_MAX_RANK];
    tg_tensor *tensor; /* retained */
} exported;

static void exported_free(exported *e)
{
    tg_tensor_release(e->tensor);
    tgi_free(e);
}

static void delete_plain(struct DLManagedTensor *self)
{
    if (self)
        exported_free(self->manager);
}

static void delete_versioned(struct DLManagedTensorVersioned *self)
{
    if (self)
        exported_free(self->manager);
}

/* Fills the block but for what the two structs differ in. */
static exported *exported_create(tg_tensor *tensor)
{
    if (!tensor) {
        tgi_bad_argument("the tensor is NULL");
        return NULL;
    }
    exported *e = tgi_alloc_zero(sizeof(*e));
    if (!e) {
        tgi_error_memory();
        return NULL;
    }
    memcpy(e->shape, tensor->spec.dims, sizeof(e->shape));
    tgi_dense_strides(tensor->spec.rank, tensor->spec.dims, e->strides);
    e->tensor = tg_tensor_retain(tensor);
    return e;
}

static dl_tensor describe(exported *e)
{
    const tg_dtype dtype = e->tensor->spec.dtype;
    return (dl_tensor){.data = e->tensor->data,
                       .device = {DEVICE_CPU, 0},
                       .rank = e->tensor->spec.rank,
                       .dtype = {code_of(dtype),
                                 (uint8_t)(8 * tgi_dtype_bytes(dtype)), 1},
                       .shape = e->shape,
                       .strides = e->strides};
}

struct DLManagedTensor *tg_tensor_to_dlpack(tg_tensor *tensor)
{
    tgi_api_frame frame = tgi_api_enter(tensor ? tensor->ctx : NULL, __func__);
    exported *e = NULL;
    if (tensor && tensor->is_read_only)
        tgi_bad_argument("the memory of the tensor is read-only; use "
                         "tg_tensor_to_dlpack_versioned");
    else
        e = exported_create(tensor);
    if (e)
        e->as.plain = (struct DLManagedTensor){describe(e), e, delete_plain};
    tgi_api_leave(frame);
    return e ? &e->as.plain : NULL;
}

struct DLManagedTensorVersioned *
tg_tensor_to_dlpack_versioned(tg_tensor *tensor)
{
    tgi_api_frame frame = tgi_api_enter(tensor ? tensor->ctx : NULL, __func__);
    exported *e = exported_create(tensor);
    if (e)
        e->as.versioned = (struct DLManagedTensorVersioned){
            .version = {VERSION_MAJOR, VERSION_MINOR},
            .manager = e,
            .deleter = delete_versioned,
            .flags = tensor->is_read_only ? FLAG_READ_ONLY : 0,
            .tensor = describe(e)};
    tgi_api_leave(frame);
    return e ? &e->as.versioned : NULL;
}

/* -- Import ---------------------------------------------------------------- */

static void release_plain(void *object)
{
    struct DLManagedTensor *managed = object;
    if (managed && managed->deleter)
        managed->deleter(managed);
}

static void release_versioned(void *object)
{
    struct DLManagedTensorVersioned *managed = object;
    if (managed && managed->deleter)
        managed->deleter(managed);
}

static void release_tensor(void *object)
{
    tg_tensor_release(object);
}

static tg_status read_spec(const dl_tensor *from, tgi_spec *out_spec)
{
    if (from->device.type != DEVICE_CPU)
        return tgi_error_set(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                             "%s: the tensor is on device type %d; copy it to "
                             "the CPU first",
                             tgi_api_function(), from->device.type);
    const tg_dtype dtype = dtype_of(from);
    if (!dtype)
        return tgi_error_set(TG_ERROR_DTYPE, TGI_NO_SITE,
                             "%s: elements of type code %u, %u bits and %u "
                             "lane%s are not supported",
                             tgi_api_function(), from->dtype.code,
                             from->dtype.bits, from->dtype.lanes,
                             TGI_PLURAL(from->dtype.lanes));
    return tgi_spec_init(out_spec, tgi_api_function(), dtype, from->rank,
                         from->shape);
}

/* Strides in bytes, and whether these are row-major without gaps; OVERFLOW if
   the tensor would not fit into the address space. */
static tg_status read_strides(const dl_tensor *from, const tgi_spec *spec,
                              int64_t *out_strides, bool *out_is_dense)
{
    int64_t dense[TG_MAX_RANK], extent = 0;
    tgi_dense_strides(spec->rank, spec->dims, dense);
    *out_is_dense = true;
    for (int i = 0; i < spec->rank; i++) {
        const int64_t stride = from->strides ? from->strides[i] : dense[i];
        int64_t bytes, span;
        /* Any stride will do where there is no step along the axis. */
        if (spec->count == 0 || spec->dims[i] == 1) {
            out_strides[i] = dense[i] * tgi_dtype_bytes(spec->dtype);
            continue;
        }
        *out_is_dense &= stride == dense[i];
        if (__builtin_mul_overflow(stride, tgi_dtype_bytes(spec->dtype),
                                   &bytes) ||
            __builtin_mul_overflow(bytes, spec->dims[i], &span) ||
            span == INT64_MIN ||
            __builtin_add_overflow(extent, span < 0 ? -span : span, &extent))
            return tgi_error_set(TG_ERROR_OVERFLOW, TGI_NO_SITE,
                                 "%s: stride %lld of axis %d exceeds the "
                                 "address space",
                                 tgi_api_function(), (long long)stride, i);
        out_strides[i] = bytes;
    }
    return TG_OK;
}

/* Makes the tensor; if it uses the producer's memory, `owner` is taken over and
   *out_is_copy false. */
static tg_status import_tensor(tg_context *ctx, const dl_tensor *from,
                               tgi_owner owner, tg_tensor **out_tensor,
                               bool *out_is_copy)
{
    int64_t strides[TG_MAX_RANK];
    tgi_spec spec;
    bool is_dense;
    TGI_TRY(read_spec(from, &spec));
    TGI_TRY(read_strides(from, &spec, strides, &is_dense));
    if (!from->data && spec.bytes > 0)
        return tgi_bad_argument("the tensor has elements, but no data");
    char *data = spec.bytes > 0 ? (char *)from->data + from->byte_offset : NULL;
    *out_is_copy = !is_dense || spec.bytes == 0 ||
                   (uintptr_t)data % (uintptr_t)tgi_dtype_bytes(spec.dtype);
    *out_tensor = *out_is_copy
                      ? tgi_tensor_alloc(ctx, tgi_api_function(), &spec)
                      : tgi_tensor_of_owner(ctx, &spec, data, owner);
    if (!*out_tensor)
        return tg_error_last()->status;
    if (*out_is_copy)
        tgi_strided_copy(&spec, (*out_tensor)->data, data, strides);
    return TG_OK;
}

/* Elements of bools are checked last: the tensor may own the memory by then. */
static tg_tensor *import_owned(tg_context *ctx, const dl_tensor *from,
                               bool is_read_only, tgi_owner owner)
{
    tg_tensor *tensor = NULL;
    bool is_copy = true;
    if (import_tensor(ctx, from, owner, &tensor, &is_copy) != TG_OK)
        tensor = NULL;
    /* The deleter is the producer's, and may call the library. */
    if (!tensor || is_copy)
        tgi_error_preserve_during(owner.release, owner.object);
    if (!tensor)
        return NULL;
    tensor->is_read_only = is_read_only && !is_copy;
    if (tgi_check_bools(&tensor->spec, tensor->data, "the tensor",
                        TG_ERROR_INVALID_ARGUMENT)) {
        tgi_error_preserve_during(release_tensor, tensor);
        return NULL;
    }
    return tensor;
}

tg_tensor *tg_tensor_from_dlpack(tg_context *ctx,
                                 struct DLManagedTensor *managed)
{
    tgi_api_frame frame = tgi_api_enter(ctx, __func__);
    const tgi_owner owner = {release_plain, managed};
    tg_tensor *tensor = NULL;
    if (!ctx || !managed) {
        tgi_bad_argument("the %s is NULL", ctx ? "tensor" : "context");
        tgi_error_preserve_during(owner.release, managed);
    } else {
        tensor = import_owned(ctx, &managed->tensor, false, owner);
    }
    tgi_api_leave(frame);
    return tensor;
}

tg_tensor *
tg_tensor_from_dlpack_versioned(tg_context *ctx,
                                struct DLManagedTensorVersioned *managed)
{
    tgi_api_frame frame = tgi_api_enter(ctx, __func__);
    const tgi_owner owner = {release_versioned, managed};
    tg_tensor *tensor = NULL;
    if (!ctx || !managed) {
        tgi_bad_argument("the %s is NULL", ctx ? "tensor" : "context");
        tgi_error_preserve_during(owner.release, managed);
    } else if (managed->version.major != VERSION_MAJOR) {
        /* Only what stands before the flags is the same in all versions. */
        tgi_error_set(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                      "%s: the tensor has version %u.%u of DLPack, which is "
                      "not %d.x",
                      __func__, managed->version.major, managed->version.minor,
                      VERSION_MAJOR);
        tgi_error_preserve_during(owner.release, managed);
    } else {
        tensor = import_owned(ctx, &managed->tensor,
                              managed->flags & FLAG_READ_ONLY, owner);
    }
    tgi_api_leave(frame);
    return tensor;
}
