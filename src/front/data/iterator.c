/* SPDX-License-Identifier: MIT */
/*
 * iterator.c - iterators: pull elements and deliver them to result slots or
 * bound calls.
 */
#include <string.h>

#include "base/cancel.h"
#include "base/live.h"
#include "front/call/bound.h"
#include "front/data/dataset_object.h"

struct tg_iterator {
    tg_dataset *dataset; /* retained */
    tgi_cursor *cursor;
    tgi_element element; /* if `is_due` */
    bool is_due;         /* pulled, but not delivered */
    bool is_busy;        /* in tg_next */
};

/* The iterator that the calling thread produces elements for, or NULL. */
static _Thread_local const tg_iterator *current;

void tgi_iterator_enter_thread(const tg_iterator *iterator)
{
    current = iterator;
}

/* True in a callback of the iterator. */
static bool is_in_callback(const tg_iterator *it)
{
    return current == it || it->is_busy;
}

static void destroy(void *iterator)
{
    tg_iterator *it = iterator;
    tgi_cursor_destroy(it->cursor);
    tg_dataset_release(it->dataset);
    tgi_free(it);
    tgi_live_add(TGI_LIVE_ITERATOR, -1);
}

tg_iterator *tg_iterate(tg_dataset *dataset)
{
    tgi_api_frame frame =
        tgi_api_enter(dataset ? dataset->ctx : NULL, "tg_iterate");
    tg_iterator *it = NULL;
    if (dataset) {
        it = tgi_alloc_zero(sizeof(*it));
        if (!it)
            tgi_error_memory();
    } else if (tg_error_last()->status == TG_OK) {
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "tg_iterate: the dataset is NULL");
    }
    if (it) {
        tgi_live_add(TGI_LIVE_ITERATOR, 1);
        it->dataset = tg_dataset_retain(dataset);
        if (tgi_cursor_create(dataset, it, NULL, 1, &it->cursor)) {
            tgi_error_preserve_during(destroy, it);
            it = NULL;
        } else {
            tgi_cursor_start(it->cursor);
        }
    }
    tgi_api_leave(frame);
    return it;
}

void tg_iterator_release(tg_iterator *it)
{
    if (!it)
        return;
    tgi_api_frame frame =
        tgi_api_enter(it->dataset->ctx, "tg_iterator_release");
    if (is_in_callback(it))
        tgi_error_set(TG_ERROR_BUSY, TGI_NO_SITE,
                      "tg_iterator_release: called by a callback of the "
                      "iterator");
    else
        destroy(it);
    tgi_api_leave(frame);
}

/* -- Elements -------------------------------------------------------------- */

/* Pulls the next element, unless one is due. */
static tg_status pull(tg_iterator *it)
{
    if (it->is_due)
        return TG_OK;
    it->is_busy = true;
    const tgi_cancel outer = tgi_cancel_enter(&it->dataset->ctx->cancel_word);
    const tg_status status = tgi_cursor_next(it->cursor, &it->element);
    tgi_cancel_leave(&outer);
    it->is_busy = false;
    it->is_due = status == TG_OK;
    return status;
}

static tg_status check_iterator(const tg_iterator *it, const char *who,
                                tg_site site)
{
    if (!it)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site, "%s: the iterator is NULL",
                 who);
    if (is_in_callback(it))
        TGI_FAIL(TG_ERROR_BUSY, site,
                 "%s: called by a callback of the iterator", who);
    return TG_OK;
}

/* -- Slots ----------------------------------------------------------------- */

static bool takes_tensor(const tg_result *slot)
{
    return slot->kind == TG_RESULT_TENSOR;
}

/* The slot as a fresh one. */
static tg_result fresh(const tg_result *slot)
{
    tg_result result = *slot;
    result.is_fresh = true;
    return result;
}

/* Checks all slots and chooses their tensors. */
static tg_status choose_tensors(const tg_iterator *it, const tg_result *results,
                                size_t n, tg_tensor **tensors, tg_site site)
{
    for (size_t i = 0; i < n; i++) {
        if (results[i].kind == TG_RESULT_NONE)
            continue;
        if (i >= it->element.n)
            TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, site,
                     "tg_next: the element has %zu component%s, but %zu %s "
                     "requested",
                     it->element.n, TGI_PLURAL(it->element.n), n, TGI_WERE(n));
        const tgi_spec *spec = it->element.list[i].spec;
        const tgi_slot_result result = {.who = "tg_next",
                                        .what = "component",
                                        .number = i,
                                        .dtype = spec->dtype,
                                        .rank = spec->rank,
                                        .dims = spec->dims,
                                        .bytes = spec->bytes};
        const tg_result slot = fresh(&results[i]);
        if (takes_tensor(&slot))
            TGI_TRY(tgi_slot_choose_tensor(it->dataset->ctx, &result, &slot,
                                           &tensors[i], site));
        else
            TGI_TRY(tgi_slot_check_number(&result, &slot, site));
    }
    return TG_OK;
}

/* Copies the components. Source and target may be the same tensor. */
static void copy_components(const tg_iterator *it, const tg_result *results,
                            size_t n, tg_tensor *const *tensors)
{
    for (size_t i = 0; i < n; i++) {
        if (results[i].kind == TG_RESULT_NONE)
            continue;
        const tgi_component *component = &it->element.list[i];
        void *to =
            takes_tensor(&results[i]) ? tensors[i]->data : results[i].as.number;
        if (component->spec->bytes)
            memmove(to, component->data, (size_t)component->spec->bytes);
    }
}

static tg_status deliver(const tg_iterator *it, const tg_result *results,
                         size_t n, tg_site site)
{
    tg_tensor *storage[8] = {NULL};
    const bool is_inline = n <= sizeof(storage) / sizeof(storage[0]);
    tg_tensor **tensors =
        is_inline ? storage : tgi_alloc_zero(n * sizeof(*tensors));
    if (!tensors)
        return tgi_error_memory();
    const tg_status status = choose_tensors(it, results, n, tensors, site);
    if (!status)
        copy_components(it, results, n, tensors);
    for (size_t i = 0; i < n; i++)
        if (tensors[i] && tensors[i] != *results[i].as.tensor) {
            const tg_result slot = fresh(&results[i]);
            tgi_result_store(&slot, tensors[i], status);
        }
    if (!is_inline)
        tgi_free(tensors);
    return status;
}

tg_status tg_next_at(tg_iterator *it, const tg_result *results,
                     size_t n_results, tg_site site)
{
    tgi_api_frame frame =
        tgi_api_enter(it ? it->dataset->ctx : NULL, "tg_next");
    tg_status status = check_iterator(it, "tg_next", site);
    if (!status)
        status = pull(it);
    if (!status) {
        status = deliver(it, results, results ? n_results : 0, site);
        it->is_due = status != TG_OK;
    }
    if (status && status != TG_END_OF_DATA)
        tgi_error_locate(site, NULL);
    tgi_api_leave(frame);
    return status;
}

/* -- Bound calls ----------------------------------------------------------- */

static tg_status feed(const tg_iterator *it, tg_bound *bound)
{
    if (!bound)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_next_bound: the bound call is NULL");
    if (bound->function->ctx != it->dataset->ctx)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "tg_next_bound: the bound call belongs to another context");
    for (size_t i = 0; i < it->element.n; i++)
        TGI_TRY(tgi_bound_set_data(bound, i, it->element.list[i].spec,
                                   it->element.list[i].data));
    return tgi_bound_end_set(bound);
}

tg_status tg_next_bound(tg_iterator *it, tg_bound *bound)
{
    tgi_api_frame frame =
        tgi_api_enter(it ? it->dataset->ctx : NULL, "tg_next_bound");
    tg_status status = check_iterator(it, "tg_next_bound", TGI_NO_SITE);
    if (!status)
        status = pull(it);
    if (!status) {
        status = feed(it, bound);
        it->is_due = status != TG_OK;
    }
    tgi_api_leave(frame);
    return status;
}
