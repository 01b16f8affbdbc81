/* SPDX-License-Identifier: MIT */
/*
 * interp_place.c - where the temporaries of all instances lie. A region leaves
 * nothing behind in its temporaries, so their memory is one more temporary of
 * the graph around, in use while the region runs: branches share it, and so do
 * regions that run one after another. Only a graph that several nodes call has
 * memory of its own.
 */
#include "base/checked.h"
#include "base/error.h"
#include "interp/interp_instance.h"

/* From 0 on; the memory of regions of its own is part of it. */
static tg_status place(tgi_instance *instance)
{
    for (size_t i = 0; i < instance->calls.n; i++) {
        const tgi_interp_call *call = &instance->calls.data[i];
        int64_t *room = &instance->buffers.data[call->room].bytes;
        for (size_t k = 0; call->room && k < call->n_regions; k++)
            if (call->regions[k]->n_calls == 1 &&
                call->regions[k]->bytes > *room)
                *room = call->regions[k]->bytes;
    }
    return tgi_memory_pack(instance->buffers.data, instance->buffers.n,
                           instance->graph->n_nodes + 1, 0, &instance->bytes);
}

/* Where the regions of an instance begin that are part of it. */
static void place_regions(const tgi_instance *instance)
{
    for (size_t i = 0; i < instance->calls.n; i++) {
        const tgi_interp_call *call = &instance->calls.data[i];
        for (size_t k = 0; call->room && k < call->n_regions; k++)
            if (call->regions[k]->n_calls == 1)
                call->regions[k]->offset =
                    instance->offset +
                    instance->buffers.data[call->room].offset;
    }
}

/* What is part of another one stands behind it in the list. */
tg_status tgi_instances_place(tgi_instances *instances, int64_t *out_bytes)
{
    int64_t bytes = 0;
    for (size_t i = instances->all.n; i-- > 0;)
        TGI_TRY(place(instances->all.data[i]));
    for (size_t i = 0; i < instances->all.n; i++) {
        tgi_instance *instance = instances->all.data[i];
        if (instance->n_calls != 1) {
            instance->offset = bytes;
            if (!tgi_checked_add(bytes, instance->bytes, &bytes))
                TGI_FAIL(TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE,
                         "out of memory: the bytes of all temporaries do not "
                         "fit 64 bits");
        }
        place_regions(instance);
    }
    *out_bytes = bytes;
    return TG_OK;
}
