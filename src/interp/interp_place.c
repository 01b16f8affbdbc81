/* SPDX-License-Identifier: MIT */
/*
 * interp_place.c - memory of the temporaries of all instances. Nothing in a
 * region's temporaries outlives its run, so they are placed inside a buffer of
 * the enclosing graph that is live while the region runs. Branches share that
 * memory, as do regions that run one after the other. Only a graph that several
 * nodes run has its own memory.
 */
#include "base/checked.h"
#include "base/error.h"
#include "interp/interp_instance.h"

/* Places temporaries from offset 0, the memory of nested regions included. */
static tg_status place_temporaries(tgi_instance *instance)
{
    for (size_t i = 0; i < instance->calls.n; i++) {
        const tgi_interp_call *call = &instance->calls.data[i];
        int64_t *region_bytes =
            &instance->buffers.data[call->region_memory].bytes;
        for (size_t k = 0; call->region_memory && k < call->n_regions; k++)
            if (call->regions[k]->n_calls == 1 &&
                call->regions[k]->bytes > *region_bytes)
                *region_bytes = call->regions[k]->bytes;
    }
    return tgi_memory_pack(instance->buffers.data, instance->buffers.n,
                           instance->graph->n_nodes + 1, 0, &instance->bytes);
}

/* Sets the offsets of regions whose memory is part of this instance's. */
static void set_region_offsets(const tgi_instance *instance)
{
    for (size_t i = 0; i < instance->calls.n; i++) {
        const tgi_interp_call *call = &instance->calls.data[i];
        for (size_t k = 0; call->region_memory && k < call->n_regions; k++)
            if (call->regions[k]->n_calls == 1)
                call->regions[k]->offset =
                    instance->offset +
                    instance->buffers.data[call->region_memory].offset;
    }
}

/* A region that is part of another instance follows it in the list. */
tg_status tgi_instances_place(tgi_instances *instances, int64_t *out_bytes)
{
    int64_t bytes = 0;
    for (size_t i = instances->all.n; i-- > 0;)
        TGI_TRY(place_temporaries(instances->all.data[i]));
    for (size_t i = 0; i < instances->all.n; i++) {
        tgi_instance *instance = instances->all.data[i];
        if (instance->n_calls != 1) {
            instance->offset = bytes;
            if (!tgi_checked_add(bytes, instance->bytes, &bytes))
                TGI_FAIL(TG_ERROR_OUT_OF_MEMORY, TGI_NO_SITE,
                         "out of memory: the bytes of all temporaries do not "
                         "fit 64 bits");
        }
        set_region_offsets(instance);
    }
    *out_bytes = bytes;
    return TG_OK;
}
