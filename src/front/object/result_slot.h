/* SPDX-License-Identifier: MIT */
/*
 * result_slot.h - checks and fills result slots (tgjit/result.h). Calls and
 * iterators share them.
 */
#ifndef TGI_RESULT_SLOT_H
#define TGI_RESULT_SLOT_H

#include "front/object/tensor_object.h"
#include "tgjit/result.h"

/* The result that a slot receives, for checks and messages. Compilers compare
   a dtype and the rank after it as one word, which waits for their stores;
   therefore they are apart. */
typedef struct tgi_slot_result {
    const char *who;  /* the function */
    const char *what; /* "result" or "component" */
    size_t number;
    tg_dtype dtype;
    const int64_t *dims; /* borrowed; unused for rank 0 */
    int64_t bytes;
    int rank;
} tgi_slot_result;

/* Fails unless a C number can receive the result. */
tg_status tgi_slot_check_number(const tgi_slot_result *result,
                                const tg_result *slot, tg_site site);

/*
 * The tensor for the result: the one in the slot, borrowed, or a new one,
 * filled with zeros, that the caller passes to tgi_result_store.
 */
tg_status tgi_slot_choose_tensor(tg_context *ctx, const tgi_slot_result *result,
                                 const tg_result *slot, tg_tensor **out_tensor,
                                 tg_site site);

/* Stores a new tensor to its slot and takes over the reference to it. Releases
   the tensor if the call has failed, or if the slot has been filled since. */
void tgi_result_store(const tg_result *result, tg_tensor *tensor,
                      tg_status status);

#endif /* TGI_RESULT_SLOT_H */
