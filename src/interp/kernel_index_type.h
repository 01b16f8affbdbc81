/* SPDX-License-Identifier: MIT */
/*
 * kernel_index_type.h - template of kernel_index.c: IOTA of one dtype.
 */
#if TAKES(NUM)

static tg_status KERNEL(IOTA)(const tgi_kernel_args *args)
{
    const tgi_attr_index *attr = args->node->attr;
    int64_t n = args->out.dims[attr->index];
    int64_t repeat = args->out.strides[attr->index];
    int64_t count = tgi_view_count(&args->out);
    T *out = (T *)args->out.data, *end = out + count;
    while (out < end)
        for (int64_t position = 0; position < n; position++)
            for (int64_t i = 0; i < repeat; i++)
                *out++ = CAT(CAST_SINT_, CLASS)(DT, position);
    return TG_OK;
}

#else
#define kernel_IOTA_BOOL NULL
#define kernel_IOTA_F16 NULL
#define kernel_IOTA_BF16 NULL
#endif
