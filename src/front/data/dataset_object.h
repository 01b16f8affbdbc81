/* SPDX-License-Identifier: MIT */
/*
 * dataset_object.h - tg_dataset, a node of a description, and cursors, which
 * produce its elements in one iteration.
 *
 * A cursor runs one pass after another: start begins a pass, next pulls
 * elements up to TG_END_OF_DATA. After an error, next continues after the
 * element that failed. Chains are at most TG_MAX_NESTING deep, so recursion is
 * bounded.
 */
#ifndef TGI_DATASET_OBJECT_H
#define TGI_DATASET_OBJECT_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/vec.h"
#include "front/object/context_object.h"
#include "front/object/tensor_object.h"
#include "tgjit/dataset.h"

/* -- Elements -------------------------------------------------------------- */

/* A block of tgi_buffer_alloc; NULL if `bytes` is 0. */
typedef struct tgi_memory {
    void *data;
    size_t bytes;
} tgi_memory;

/* Ensures `bytes` bytes at memory->data, which lose their contents. Fails if
   they exceed the memory limit of the context. */
tg_status tgi_memory_reserve(tgi_memory *memory, size_t bytes, tg_context *ctx,
                             const char *who);
void tgi_memory_deinit(tgi_memory *memory);

/* Valid until the next pull from its cursor. */
typedef struct tgi_component {
    const tgi_spec *spec;
    const void *data;
    tgi_memory *home; /* its memory, which may be exchanged; or NULL */
    bool is_stable;   /* the data is valid as long as the cursor */
} tgi_component;

typedef struct tgi_element {
    tgi_component *list; /* of the cursor */
    size_t n;
} tgi_element;

/* An element that outlives the pull. All zero is an empty one. */
typedef struct tgi_stored {
    tgi_element element; /* refers to the arrays below */
    tgi_spec *specs;
    tgi_memory *memory;
    size_t capacity; /* of the arrays */
} tgi_stored;

/*
 * Stores an element, in memory that is reused. Exchanges memory where the
 * element allows it, refers to stable data, and copies the rest.
 */
tg_status tgi_stored_set(tgi_stored *stored, const tgi_element *element,
                         tg_context *ctx, const char *who);
void tgi_stored_deinit(tgi_stored *stored);

/* -- Datasets -------------------------------------------------------------- */

typedef struct tgi_cursor tgi_cursor;

typedef struct tgi_dataset_kind {
    const char *name; /* of the public function */
    size_t cursor_bytes;
    bool is_threaded; /* its inputs run in a thread that it stops */
    /* Each may be NULL. deinit functions get zeros if init failed. */
    void (*deinit)(tg_dataset *dataset);
    tg_status (*cursor_init)(tgi_cursor *cursor);
    void (*cursor_deinit)(tgi_cursor *cursor);
    /* Begins a pass, also that of the inputs. NULL: the inputs only. */
    void (*start)(tgi_cursor *cursor);
    tg_status (*next)(tgi_cursor *cursor, tgi_element *out_element);
    /* Random access, for tensors: number of elements, and element i, which is
       in memory i times its size behind element 0. */
    int64_t (*n_rows)(const tgi_cursor *cursor);
    void (*row)(tgi_cursor *cursor, int64_t i, tgi_element *out_element);
    /* Pulls up to `max` elements that are contiguous in memory: returns how
       many, and the first of them. */
    int64_t (*rows)(tgi_cursor *cursor, int64_t max, tgi_element *out_element);
    /* For steps that may change the order of such elements only: the cursor
       with random access that they come from, or NULL; and a pull of up to
       `max` of them as their numbers, fewer at the end. */
    tgi_cursor *(*row_source)(const tgi_cursor *cursor);
    tg_status (*row_numbers)(tgi_cursor *cursor, int64_t max,
                             int64_t *out_numbers, int64_t *out_n);
} tgi_dataset_kind;

/* Base of the datasets of all kinds. */
struct tg_dataset {
    tgi_refcount refs;
    const tgi_dataset_kind *kind;
    tg_context *ctx; /* retained */
    tg_site site;
    int depth;           /* of the chain; 1 for a source */
    tg_dataset **inputs; /* retained */
    size_t n_inputs;
};

/*
 * Creates a dataset of `bytes` bytes, zero behind the base. Takes over the
 * inputs, also on failure. NULL, with the error record unchanged, if an input
 * is NULL and there is an error already.
 */
void *tgi_dataset_create(const tgi_dataset_kind *kind, size_t bytes,
                         tg_context *ctx, tg_dataset *const *inputs, size_t n,
                         tg_site site);

/* As above, for a step with one input. */
void *tgi_dataset_create_step(const tgi_dataset_kind *kind, size_t bytes,
                              tg_dataset *input, tg_site site);

/* Releases `input` and records an error of the step, unless the input is NULL.
   Returns NULL. */
tg_dataset *tgi_dataset_reject(const tgi_dataset_kind *kind, tg_dataset *input,
                               tg_status status, tg_site site,
                               const char *format, ...) TG_PRINTF(5, 6);

/* -- Cursors --------------------------------------------------------------- */

/* A request to end a pass soon, from the thread that joins its thread. */
typedef struct tgi_stop {
    atomic_bool is_requested;
    const struct tgi_stop *outer; /* a request to a surrounding pass */
} tgi_stop;

/* Base of the cursors of all kinds. */
struct tgi_cursor {
    tg_dataset *dataset;         /* borrowed */
    const tg_iterator *iterator; /* borrowed */
    const tgi_stop *stop;
    tgi_stop own_stop; /* of the inputs, if the kind is threaded */
    int depth;         /* in its iterator */
    bool has_ended;    /* in this pass */
    tgi_cursor **inputs;
    size_t n_inputs;
};

/* Creates the cursors of a dataset, which must outlive them, at this depth of
   the iterator. They must be started. */
tg_status tgi_cursor_create(tg_dataset *dataset, const tg_iterator *iterator,
                            const tgi_stop *stop, int depth,
                            tgi_cursor **out_cursor);
void tgi_cursor_destroy(tgi_cursor *cursor);

/* Begins a pass; a pass that has not ended is abandoned. */
void tgi_cursor_start(tgi_cursor *cursor);
void tgi_cursor_start_inputs(tgi_cursor *cursor);

/* TG_OK, TG_END_OF_DATA, again and again, or the error of an element. */
tg_status tgi_cursor_next(tgi_cursor *cursor, tgi_element *out_element);

/* To be asked between elements by steps that pull many of them; a stopped pass
   returns TG_END_OF_DATA. */
bool tgi_cursor_is_stopped(const tgi_cursor *cursor);

/* Says which iterator the calling thread, a thread of its own, works for. */
void tgi_iterator_enter_thread(const tg_iterator *iterator);

#endif /* TGI_DATASET_OBJECT_H */
