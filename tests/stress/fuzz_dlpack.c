/* SPDX-License-Identifier: MIT */
/*
 * fuzz_dlpack.c - random structs of DLPack, over just the memory that they
 * need: strides of any sign, offsets, types that are not ours. Some get a field
 * that no memory could go with. Elements are compared one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "stress/fuzz_files.h"
#include "support/guarded.h"

/* As <dlpack/dlpack.h> has it. */
struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    void *data;
    int32_t device, device_id, rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

static int n_deleted;

static void delete_one(struct DLManagedTensorVersioned *self)
{
    (void)self;
    n_deleted++;
}

/* What the library takes, as this program knows it. */
static bool is_supported(const struct DLManagedTensorVersioned *d)
{
    const bool is_whole = d->bits == 8 || d->bits == 16 || d->bits == 32 ||
                          d->bits == 64;
    return d->major == 1 && d->device == 1 && d->lanes == 1 &&
           ((d->code <= 1 && is_whole) ||
            (d->code == 2 && is_whole && d->bits != 8) ||
            (d->code == 4 && d->bits == 16) || /* bf16 */
            (d->code == 6 && d->bits == 8));
}

/* The elements, one by one. */
static bool has_elements(const tg_tensor *x,
                         const struct DLManagedTensorVersioned *d,
                         int64_t count)
{
    const size_t bytes = d->bits / 8;
    const char *is = tg_tensor_data(x);
    const char *from = (const char *)d->data + d->byte_offset;
    if (tg_tensor_count(x) != count || tg_tensor_rank(x) != d->rank)
        return false;
    for (int64_t i = 0; i < count; i++, is += bytes) {
        int64_t left = i, at = 0;
        for (int axis = d->rank; axis-- > 0; left /= d->shape[axis])
            at += left % d->shape[axis] * d->strides[axis];
        if (memcmp(is, from + at * (int64_t)bytes, bytes) != 0)
            return false;
    }
    return true;
}

/* -- Random structs -------------------------------------------------------- */

typedef struct sample {
    struct DLManagedTensorVersioned d;
    int64_t shape[TG_MAX_RANK + 2], strides[TG_MAX_RANK + 2];
    int64_t count;
    bool is_bad; /* to be refused */
} sample;

static void choose_type(sample *s, uint64_t *random)
{
    static const uint8_t all_bits[] = {8, 16, 32, 64, 64, 32, 1, 4, 0, 128};
    s->d = (struct DLManagedTensorVersioned){
        .major = below(random, 32) ? 1 : (uint32_t)random_next(random),
        .deleter = delete_one,
        .flags = below(random, 4),
        .device = below(random, 32) ? 1 : (int32_t)random_next(random),
        .rank = (int32_t)below(random, TG_MAX_RANK + 1),
        .code = (uint8_t)below(random, below(random, 2) ? 3 : 8),
        .bits = all_bits[below(random, LENGTH(all_bits))],
        .lanes = below(random, 16) ? 1 : (uint16_t)random_next(random),
        .shape = s->shape,
        .strides = s->strides};
    s->is_bad = !is_supported(&s->d);
}

static void choose_shape(sample *s, uint64_t *random)
{
    const int rank = s->d.rank;
    s->count = 1;
    for (int i = 0; i < rank; i++) {
        s->shape[i] = (int64_t)below(random, rank > 4 ? 3 : 6) + (rank > 4);
        s->strides[i] = (int64_t)below(random, 13) - 4;
        s->count *= s->shape[i];
    }
    /* Row-major now and then, as it is used in place. */
    if (below(random, 3) == 0)
        for (int64_t i = rank - 1, stride = 1; i >= 0; i--) {
            s->strides[i] = stride;
            stride *= s->shape[i] ? s->shape[i] : 1;
        }
}

/* The memory from its first element to its last ends at a guard page. */
static void choose_memory(sample *s, uint64_t *random)
{
    int64_t low = 0, high = 0;
    for (int i = 0; i < s->d.rank && s->count > 0; i++) {
        const int64_t span = s->strides[i] * (s->shape[i] - 1);
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
    }
    const size_t element = s->d.bits / 8 ? s->d.bits / 8 : 1;
    const size_t offset = below(random, 4) ? 0 : below(random, 16);
    const size_t bytes =
        offset + (s->count > 0 ? (size_t)(high - low + 1) * element : 0);
    char *memory = guarded_room(1, bytes, 1, AT_END);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = s->d.code == 6 ? (char)below(random, 2)
                                   : (char)random_next(random);
    s->d.byte_offset = offset + (size_t)-low * element;
    s->d.data = memory;
}

static void break_field(sample *s, uint64_t *random)
{
    const int last = s->d.rank - 1;
    switch (below(random, 24)) {
    case 0:
        s->d.rank = below(random, 2) ? TG_MAX_RANK + 1 : -1 - s->d.rank;
        s->is_bad = true;
        break;
    case 1:
        if (last >= 0) {
            s->shape[last] = -s->shape[last] - 1;
            s->is_bad = true;
        }
        break;
    case 2:
        if (last >= 0 && s->count > 0 && s->shape[last] > 1) {
            s->strides[last] = below(random, 2) ? INT64_MAX : INT64_MIN;
            s->is_bad = true;
        }
        break;
    case 3:
        s->d.data = NULL;
        s->is_bad |= s->count > 0;
        break;
    default:
        break;
    }
}

bool fuzz_dlpack(tg_context *ctx, uint64_t *random, bool *out_is_accepted)
{
    sample s = {.count = 0};
    choose_type(&s, random);
    choose_shape(&s, random);
    choose_memory(&s, random);
    break_field(&s, random);
    n_deleted = 0;
    tg_tensor *x = tg_tensor_from_dlpack_versioned(ctx, &s.d);
    *out_is_accepted = x != NULL;
    if (!x && n_deleted != 1)
        return fuzz_fail("the deleter was not called once");
    if (!x)
        return s.is_bad ? fuzz_has_message(tg_error_last()->status)
                        : fuzz_fail("a good struct was refused");
    if (s.is_bad)
        return fuzz_fail("a bad struct was taken");
    if (!has_elements(x, &s.d, s.count))
        return fuzz_fail("other elements");
    tg_tensor_release(x);
    return n_deleted == 1 || fuzz_fail("the deleter was not called once");
}
