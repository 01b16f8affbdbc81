/* SPDX-License-Identifier: MIT */
/*
 * share_kernels.c - finds kernels whose code is that of an earlier one, their
 * *twin*, but for the buffers: layers of a network, or iterations that the user
 * has unrolled. They are compiled once (jit/llvm/llvm_kernel_step.c).
 *
 * Kernels are equal if their keys are, in which buffers are numbered in the
 * order of their first access. Then corresponding accesses are to corresponding
 * buffers, so no pairs are stored.
 *
 * Requires:    schedules.
 * Preserves:   everything; it sets `twin` only.
 * Invalidates: nothing.
 */
#include "base/error.h"
#include "base/hash.h"
#include "cache/kernel_key.h"
#include "loop/leb128.h"
#include "loop/loop_pass.h"

#include <string.h>

/* -- Keys ------------------------------------------------------------------ */

/* Buffers by their first access in a kernel. */
typedef struct first_accesses {
    tgi_buffer_name name;
    const tgi_loops *loops;
    TGI_VEC(tgi_buffer_id) buffers;
    tgi_strbuf *key; /* gets what code depends on of each buffer */
    bool is_shareable, has_failed;
} first_accesses;

/* A stack is not in the table of buffers that a twin replaces, and an SSA value
   is not in memory. */
static bool can_replace(const tgi_loop_buffer *buffer)
{
    return buffer->place != TGI_PLACE_STACK && buffer->place != TGI_PLACE_SSA;
}

static uint64_t number_of(tgi_buffer_name *name, tgi_buffer_id buffer)
{
    first_accesses *first = (first_accesses *)name;
    if (tgi_buffer_id_is_none(buffer))
        return 0;
    for (size_t i = 0; i < first->buffers.n; i++)
        if (tgi_buffer_id_equals(first->buffers.data[i], buffer))
            return i + 1;
    const tgi_loop_buffer *b = tgi_loops_buffer(first->loops, buffer);
    first->is_shareable &= can_replace(b);
    tgi_leb128_put(first->key, b->place == TGI_PLACE_SCRATCH);
    tgi_leb128_put(first->key, b->dtype);
    tgi_leb128_put(first->key, (uint64_t)b->count);
    first->has_failed |= !tgi_vec_push(&first->buffers, buffer);
    return first->buffers.n;
}

/* Sets *key to the key of a kernel; to nothing if it shares no code. */
static tg_status put_key(first_accesses *first, const tgi_kernel_loops *kernel)
{
    first->buffers.n = 0;
    first->is_shareable =
        !kernel->is_straightline && kernel->checks.n == 0 && kernel->schedule;
    tgi_strbuf_truncate(first->key, 0);
    if (first->is_shareable)
        tgi_kernel_key(kernel, &first->name, first->key);
    if (!first->is_shareable)
        tgi_strbuf_truncate(first->key, 0);
    return first->has_failed || first->key->failed ? tgi_error_memory() : TG_OK;
}

/* -- Kernels by key -------------------------------------------------------- */

/* A kernel with code of its own; its key is n bytes of `keys`. */
typedef struct owner {
    tgi_kernel_id kernel;
    size_t key, n;
} owner;

typedef struct owners {
    TGI_VEC(owner) list;
    tgi_index index; /* of positions in the list, from 1 */
    tgi_strbuf keys;
} owners;

static void owners_deinit(owners *o)
{
    tgi_vec_deinit(&o->list);
    tgi_index_deinit(&o->index);
    tgi_strbuf_deinit(&o->keys);
}

/* The kernel with this key; none: `kernel` becomes it. */
static tg_status find_or_add(owners *o, const tgi_strbuf *key,
                             tgi_kernel_id kernel, tgi_kernel_id *out_twin)
{
    const uint64_t hash = tgi_hash(key->text, key->n, 0);
    size_t probe = 0;
    *out_twin = (tgi_kernel_id){0};
    for (uint32_t at; (at = tgi_index_next(&o->index, hash, &probe)) != 0;) {
        const owner *known = &o->list.data[at - 1];
        if (known->n == key->n &&
            memcmp(o->keys.text + known->key, key->text, key->n) == 0) {
            *out_twin = known->kernel;
            return TG_OK;
        }
    }
    const owner new = {kernel, o->keys.n, key->n};
    tgi_strbuf_add_bytes(&o->keys, key->text, key->n);
    return tgi_vec_push(&o->list, new) && !o->keys.failed &&
                   tgi_index_add(&o->index, hash, (uint32_t)o->list.n)
               ? TG_OK
               : tgi_error_memory();
}

static tg_status find_twins(tgi_loop_pass_state *s, first_accesses *first,
                            owners *o)
{
    for (size_t i = 0; i < s->loops->kernels.n; i++) {
        tgi_kernel_loops *kernel = s->loops->kernels.data[i];
        TGI_TRY(put_key(first, kernel));
        if (!first->key->n)
            continue;
        TGI_TRY(find_or_add(o, first->key, tgi_kernel_id_from(i),
                            &kernel->twin));
        if (!tgi_kernel_id_is_none(kernel->twin) && s->explain)
            tgi_strbuf_addf(s->explain, "kernel %s: code of %s\n",
                            kernel->name,
                            tgi_loops_kernel(s->loops, kernel->twin)->name);
    }
    return TG_OK;
}

tg_status tgi_loop_pass_share(tgi_loop_pass_state *s)
{
    tgi_strbuf key = {0};
    owners o = {0};
    first_accesses first = {
        .name = {number_of}, .loops = s->loops, .key = &key};
    const tg_status status = find_twins(s, &first, &o);
    tgi_vec_deinit(&first.buffers);
    owners_deinit(&o);
    tgi_strbuf_deinit(&key);
    return status;
}
