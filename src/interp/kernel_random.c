/* SPDX-License-Identifier: MIT */
/*
 * kernel_random.c - kernel of RANDOM_BITS. A stream is a function of its key
 * and a position: 32-bit word w is word w % 4 of block w / 4 of Philox4x32-10.
 * So any thread can generate any part of a stream, with the same bits.
 */
#include <Random123/philox.h>

#include "interp/kernel.h"

/* A stream, and the last block it generated. */
typedef struct stream {
    philox4x32_key_t key;
    philox4x32_ctr_t block;
    uint64_t block_number;
    bool has_block;
} stream;

static uint32_t stream_word(stream *s, uint64_t w)
{
    uint64_t number = w / 4;
    if (!s->has_block || s->block_number != number) {
        philox4x32_ctr_t counter = {
            {(uint32_t)number, (uint32_t)(number >> 32), 0, 0}};
        s->block = philox4x32(counter, s->key);
        s->block_number = number;
        s->has_block = true;
    }
    return s->block.v[w % 4];
}

static stream stream_init(const tgi_kernel_args *args)
{
    uint64_t key = *(const uint64_t *)args->in[0].data;
    return (stream){.key = {{(uint32_t)key, (uint32_t)(key >> 32)}}};
}

static tg_status random_u32(const tgi_kernel_args *args)
{
    stream s = stream_init(args);
    uint64_t w = *(const uint64_t *)args->in[1].data;
    uint32_t *out = (uint32_t *)args->out.data;
    int64_t n = tgi_view_count(&args->out);
    for (int64_t i = 0; i < n; i++)
        out[i] = stream_word(&s, w++);
    return TG_OK;
}

/* Two words per element, the low half first. */
static tg_status random_u64(const tgi_kernel_args *args)
{
    stream s = stream_init(args);
    uint64_t w = *(const uint64_t *)args->in[1].data;
    uint64_t *out = (uint64_t *)args->out.data;
    int64_t n = tgi_view_count(&args->out);
    for (int64_t i = 0; i < n; i++) {
        uint64_t low = stream_word(&s, w++);
        out[i] = low | (uint64_t)stream_word(&s, w++) << 32;
    }
    return TG_OK;
}

tgi_kernel *tgi_kernel_random(int dtype)
{
    switch (dtype) {
    case TG_U32:
        return random_u32;
    case TG_U64:
        return random_u64;
    default:
        return NULL;
    }
}
