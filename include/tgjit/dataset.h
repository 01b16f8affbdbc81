/* SPDX-License-Identifier: MIT */
/*
 * dataset.h - datasets: descriptions of sequences of elements, and iterators,
 * which produce the elements. An element is a list of components, tensors.
 *
 *     tg_dataset *d = tg_dataset_from(ctx, TG_ARGS(images, labels));
 *     d = tg_dataset_shuffle(d, 1024, seed, TG_RESHUFFLE);
 *     d = tg_dataset_prefetch(tg_dataset_batch(d, 64, TG_KEEP_REMAINDER), 2);
 *     tg_iterator *it = tg_iterate(d);
 *     while (tg_next(it, TG_RESULTS(&x, &y)) == TG_OK)
 *         tg_call(step, TG_ARGS(x, y), TG_RESULTS(&loss));
 *
 * A dataset is immutable and may be shared by threads. A step, such as
 * tg_dataset_batch, takes over the caller's reference to its input, also on
 * failure; retain the input to use it twice. A step of NULL is NULL and leaves
 * the error record alone, so steps can be composed and checked once.
 *
 * Errors. A function that a step calls may fail for one element. The tg_next
 * that should deliver this element returns the error; the following one
 * continues behind it. take, skip, repeat and enumerate do not count such
 * elements, batch and shuffle leave them out, zip drops their whole row.
 */
#ifndef TGJIT_DATASET_H
#define TGJIT_DATASET_H

#include "file.h"
#include "function.h"
#include "result.h"
#include "tensor.h"

TG_BEGIN_DECLS

typedef struct tg_dataset tg_dataset;
typedef struct tg_iterator tg_iterator;

TG_API tg_dataset *tg_dataset_retain(tg_dataset *dataset);
TG_API void tg_dataset_release(tg_dataset *dataset);
TG_DEFINE_AUTO(tg_dataset)

/* -- Sources --------------------------------------------------------------- */

/*
 * Element i has the slices i of all tensors along axis 0, as in
 * tg_dataset_from(ctx, TG_ARGS(images, labels)). The tensors need equal extents
 * of that axis (else TG_ERROR_SHAPE). They are retained, not copied: do not
 * write to them during an iteration.
 */
TG_API TG_MUST_CHECK tg_dataset *
tg_dataset_from_at(tg_context *ctx, const tg_operand *tensors, size_t n,
                   tg_site site);

/*
 * The same for the arrays of n .npy files, mapped into memory as tg_npy_load
 * does it: tg_dataset_from_npy(ctx, (const char *[]){"x.npy", "y.npy"}, 2).
 */
TG_API TG_MUST_CHECK tg_dataset *
tg_dataset_from_npy_at(tg_context *ctx, const char *const *paths, size_t n,
                       tg_site site);

/*
 * The rows of a CSV file, which each iteration reads from its beginning.
 * Component i of an element is group i of columns, as in tg_csv_load_columns: a
 * scalar, or a vector of n columns. Without groups there is one component, all
 * columns with the dtype of `options`. Options and groups are copied. A row with
 * a wrong number of fields or a field that is no number is an error of this
 * element that names file, line and column. A file that cannot be read further
 * ends the iteration after the error.
 */
TG_API TG_MUST_CHECK tg_dataset *
tg_dataset_from_csv(tg_context *ctx, const char *path,
                    const tg_csv_options *options,
                    const tg_csv_columns *groups, size_t n_groups);

/* The element that a generator is to fill. */
typedef struct tg_element tg_element;

/*
 * The memory of component i, 64-byte aligned and uninitialised; the generator
 * must set all of it. For a component whose extents are all known. NULL on
 * failure, with the reason in the error record.
 */
TG_API TG_MUST_CHECK void *tg_element_data(tg_element *element, size_t i);

/* The same for a component with unknown extents, which become these:
   tg_element_resize(element, 0, TG_DIMS(n, 3)). */
TG_API TG_MUST_CHECK void *tg_element_resize(tg_element *element, size_t i,
                                             int rank, const int64_t *dims);

/*
 * A source of elements in C. `open` begins an iteration; *out_state, `user` at
 * first, is passed to the others. `next` fills an element and returns TG_OK,
 * returns TG_END_OF_DATA, or fails: with tg_host_fail or the status of a
 * library call. After TG_END_OF_DATA it is not called again. `close` is called
 * once per successful `open`. Calls with one state never overlap but may come
 * from several threads, and no lock is held. Only `next` is required. An
 * iterator that is released waits for a running `next`, which must return.
 */
typedef struct tg_generator {
    tg_status (*open)(void *user, void **out_state);
    tg_status (*next)(void *state, tg_element *element);
    void (*close)(void *state);
} tg_generator;

/*
 * Elements of a generator, which is copied. Component i has the dtype and shape
 * of specs[i]; extents may be TG_UNKNOWN. `user` must outlive the dataset and
 * its iterators.
 */
TG_API TG_MUST_CHECK tg_dataset *
tg_dataset_from_generator(tg_context *ctx, const tg_spec *specs, size_t n,
                          const tg_generator *generator, void *user);

/* -- Steps ----------------------------------------------------------------- */

/* The last batch, if there are too few elements for a full one. */
typedef enum tg_remainder {
    TG_KEEP_REMAINDER = 0,
    TG_DROP_REMAINDER = 1
} tg_remainder;

/*
 * Stacks `size` consecutive elements along a new axis 0. The elements of a
 * batch need equal dtypes and shapes (else TG_ERROR_DTYPE or TG_ERROR_SHAPE at
 * the element that differs).
 */
TG_API TG_MUST_CHECK tg_dataset *
tg_dataset_batch(tg_dataset *dataset, int64_t size, tg_remainder remainder);

typedef enum tg_shuffle_order {
    TG_RESHUFFLE = 0, /* another order in each iteration and repetition */
    TG_SAME_ORDER = 1
} tg_shuffle_order;

/*
 * Draws each element at random from a buffer of the next `buffer` ones. A
 * buffer as large as the dataset shuffles uniformly. The order is a function of
 * `seed` and, with TG_RESHUFFLE, of how many iterations of this step precede
 * and of the repetition; it is the same on all machines.
 */
TG_API TG_MUST_CHECK tg_dataset *
tg_dataset_shuffle(tg_dataset *dataset, int64_t buffer, uint64_t seed,
                   tg_shuffle_order order);

#define TG_FOREVER ((int64_t)-1)

/* Repeats the elements `count` times, or TG_FOREVER. A repetition without an
   element is the last one. */
TG_API TG_MUST_CHECK tg_dataset *tg_dataset_repeat(tg_dataset *dataset,
                                                   int64_t count);

/* The first `count` elements; all others. */
TG_API TG_MUST_CHECK tg_dataset *tg_dataset_take(tg_dataset *dataset,
                                                 int64_t count);
TG_API TG_MUST_CHECK tg_dataset *tg_dataset_skip(tg_dataset *dataset,
                                                 int64_t count);

/* The components of one element of each dataset, as one element; ends with the
   shortest: tg_dataset_zip(TG_DATASETS(a, b)). Takes over all. */
TG_API TG_MUST_CHECK tg_dataset *tg_dataset_zip(tg_dataset *const *datasets,
                                                size_t n);

/* Adds a component in front: the number of the element, an i64 from 0 on. */
TG_API TG_MUST_CHECK tg_dataset *tg_dataset_enumerate(tg_dataset *dataset);

/*
 * Calls a function with the components of each element as arguments. Its
 * results, at least one, become the components. The function is retained.
 */
TG_API TG_MUST_CHECK tg_dataset *tg_dataset_map_at(tg_dataset *dataset,
                                                   tg_function *function,
                                                   tg_site site);

/* The elements for which the function returns true, a bool scalar. */
TG_API TG_MUST_CHECK tg_dataset *tg_dataset_filter_at(tg_dataset *dataset,
                                                      tg_function *function,
                                                      tg_site site);

/*
 * Keeps copies of all elements in memory. The first iteration that reaches the
 * end without an error fills the cache; later iterations, also of other
 * iterators, read it. It lives as long as the dataset.
 */
TG_API TG_MUST_CHECK tg_dataset *tg_dataset_cache(tg_dataset *dataset);

/*
 * Produces up to `depth` elements (1 to 65536) ahead in a thread of the
 * iterator, in order. Without a thread, for lack of resources, elements are
 * produced on demand.
 */
TG_API TG_MUST_CHECK tg_dataset *tg_dataset_prefetch(tg_dataset *dataset,
                                                     int64_t depth);

/*
 * Takes `block` elements of each dataset in turn; those that have ended are
 * left out: tg_dataset_interleave(TG_DATASETS(a, b), 1). Takes over all.
 */
TG_API TG_MUST_CHECK tg_dataset *
tg_dataset_interleave(tg_dataset *const *datasets, size_t n, int64_t block);

/* Returns the dataset for an element, owned by the caller; NULL fails this
   element. The tensors are valid until it returns unless retained. */
typedef tg_dataset *tg_dataset_callback(tg_tensor *const *components, size_t n,
                                        void *user);

/*
 * Interleaves the datasets that `callback` returns for the elements, `cycle` (1
 * to 4096) of them at a time: one that has ended is replaced by the next. A
 * cycle of 1 concatenates them. No lock is held in the callback.
 */
TG_API TG_MUST_CHECK tg_dataset *
tg_dataset_interleave_map(tg_dataset *dataset, tg_dataset_callback *callback,
                          void *user, int64_t cycle, int64_t block);

/* -- Iterators ------------------------------------------------------------- */

/*
 * Begins an iteration, independent of all others. The iterator retains the
 * dataset. One thread at a time may use an iterator. After fork, a child cannot
 * continue an iteration with prefetch (TG_ERROR_STATE, then TG_END_OF_DATA).
 */
TG_API TG_MUST_CHECK tg_iterator *tg_iterate(tg_dataset *dataset);

/*
 * Cancels the iteration and waits for its threads, which finish at most the
 * element they are working on. In a callback of this iterator it does nothing
 * and records TG_ERROR_BUSY.
 */
TG_API void tg_iterator_release(tg_iterator *iterator);
TG_DEFINE_AUTO(tg_iterator)

/*
 * Stores the components of the next element to the slots (result.h); those
 * without a slot are dropped. Every tensor slot is as TG_FRESH: a tensor of
 * another dtype or shape, as for the short last batch, is replaced.
 *
 * Returns TG_OK; TG_END_OF_DATA after the last element, which sets no error
 * record; or an error. If the slots do not fit, or memory is short, the element
 * is not lost: the next tg_next delivers it. TG_ERROR_BUSY in a callback of this
 * iterator.
 */
TG_API tg_status tg_next_at(tg_iterator *iterator, const tg_result *results,
                            size_t n_results, tg_site site);

/*
 * Makes the components of the next element the first arguments of a bound call,
 * without copying or, once each shape has occurred, allocating:
 *
 *     while (tg_next_bound(it, step) == TG_OK)
 *         tg_run(step);
 *
 * Extents may differ from element to element as in tg_bound_set_tensor; dtypes
 * and ranks must match. The memory belongs to the iterator, and is valid until
 * its next tg_next or tg_next_bound, or its release: run the call before, or
 * set the arguments again. Returns as tg_next.
 */
TG_API tg_status tg_next_bound(tg_iterator *iterator, tg_bound *bound);

TG_END_DECLS

#ifndef __cplusplus

#define tg_dataset_from(ctx, ...) \
    TG_WITH_ARGS(tg_dataset_from_at, __VA_ARGS__) \
    (ctx, __VA_ARGS__, TG_HERE)
#define tg_dataset_from_npy(ctx, ...) \
    tg_dataset_from_npy_at(ctx, __VA_ARGS__, TG_HERE)
#define tg_dataset_map(dataset, function) \
    tg_dataset_map_at(dataset, function, TG_HERE)
#define tg_dataset_filter(dataset, function) \
    tg_dataset_filter_at(dataset, function, TG_HERE)
#define tg_next(iterator, ...) \
    TG_WITH_RESULTS(tg_next_at, __VA_ARGS__)(iterator, __VA_ARGS__, TG_HERE)

/* Expands to two arguments: an array of up to 32 datasets, and its length. */
#define TG_DATASETS(...) \
    TG_ARRAY(tg_dataset *, TG_ITSELF, __VA_ARGS__), \
        (size_t)TG_LENGTH(tg_dataset *, __VA_ARGS__)

#else /* __cplusplus */

#define TG_DATASETS(...) {__VA_ARGS__}

inline tg_dataset *tg_dataset_from(tg_context *ctx, tg_ins tensors,
                                   tg_site site = TG_HERE)
{
    return tg_dataset_from_at(ctx, tensors.begin(), tensors.size(), site);
}
inline tg_dataset *tg_dataset_from_npy(tg_context *ctx,
                                       const char *const *paths, size_t n,
                                       tg_site site = TG_HERE)
{
    return tg_dataset_from_npy_at(ctx, paths, n, site);
}
inline tg_dataset *tg_dataset_map(tg_dataset *dataset, tg_function *function,
                                  tg_site site = TG_HERE)
{
    return tg_dataset_map_at(dataset, function, site);
}
inline tg_dataset *tg_dataset_filter(tg_dataset *dataset,
                                     tg_function *function,
                                     tg_site site = TG_HERE)
{
    return tg_dataset_filter_at(dataset, function, site);
}
inline tg_dataset *tg_dataset_zip(std::initializer_list<tg_dataset *> datasets)
{
    return tg_dataset_zip(datasets.begin(), datasets.size());
}
inline tg_dataset *
tg_dataset_interleave(std::initializer_list<tg_dataset *> datasets,
                      int64_t block)
{
    return tg_dataset_interleave(datasets.begin(), datasets.size(), block);
}
inline void *tg_element_resize(tg_element *element, size_t i, tg_dims dims)
{
    return tg_element_resize(element, i, (int)dims.size(), dims.begin());
}
inline tg_status tg_next(tg_iterator *iterator, tg_outs results,
                         tg_site site = TG_HERE)
{
    return tg_next_at(iterator, results.begin(), results.size(), site);
}

#endif /* __cplusplus */

#endif /* TGJIT_DATASET_H */
