/* SPDX-License-Identifier: MIT */
/*
 * mpi.h - more than one process: collectives of MPI as operations of a graph,
 * and data-parallel training. In libtgjit-mpi (pkg-config tgjit-mpi); tgjit.h
 * does not include this header.
 *
 *     MPI_Init(&argc, &argv);
 *     tg_mpi *mpi = tg_mpi_create(ctx, MPI_COMM_WORLD, NULL);
 *     ...
 *     static void f(tg_trace *t, const tg_value *in, void *mpi)
 *     {
 *         tg_return(t, tg_mpi_all_reduce(t, mpi, in[0], TG_MPI_SUM));
 *     }
 *
 * The program initialises and finalises MPI. All ranks make the same calls in
 * the same order. A collective is an ordered effect, as a host call is
 * (host.h): it runs on the thread that made the call, also in branches, which
 * all ranks must take alike, and loops. Threads of the library do not call
 * MPI: MPI_Init, or MPI_THREAD_FUNNELED, is enough if only the thread that
 * initialised MPI calls functions with collectives. On others they are an error
 * below MPI_THREAD_SERIALIZED.
 *
 * Bits. A sum is computed in the order of a fixed tree. The leaves are ranks,
 * or, for data-parallel training, shards of the global batch: then the results
 * are the same, bit for bit, for every number of ranks and either MPI.
 *
 * Failures. If collectives of different ranks do not match, all ranks get an
 * error. A rank that fails elsewhere tells the others with tg_mpi_report. After
 * a failure every collective of this tg_mpi fails at once; release it, and
 * create another to continue.
 */
#ifndef TGJIT_MPI_H
#define TGJIT_MPI_H

#include <mpi.h>

#include "bundle.h"
#include "dataset.h"
#include "function.h"
#include "optimiser.h"

TG_BEGIN_DECLS

typedef struct tg_mpi tg_mpi;

/* The order in which shards are reduced. */
typedef enum tg_mpi_order {
    TG_REDUCE_IN_ORDER = 0, /* the tree over shards */
    TG_REDUCE_ANY_ORDER = 1 /* that of MPI_Iallreduce; bits may differ */
} tg_mpi_order;

typedef struct tg_mpi_options {
    size_t struct_bytes; /* sizeof(tg_mpi_options) */
    /* Shards of a global batch, at least one per rank; 0: TGJIT_MPI_SHARDS of
       the environment, else one per rank. Rank r owns those from r * n_shards /
       n_ranks on. */
    int64_t n_shards;
    tg_mpi_order order;
    /* Seconds that a rank waits for the others; 0: 600; negative: for ever. */
    double timeout;
    /* Bytes of gradients that are reduced together. 0: as many as take ten
       times as long as a message of no length, which tg_mpi_create measures. */
    size_t bucket_bytes;
} tg_mpi_options;

#define TG_MPI_OPTIONS_INIT TG_OPTIONS_INIT(tg_mpi_options)

/*
 * Duplicates the communicator. Called by all of its ranks, with equal options.
 * NULL on failure, on all ranks. A tg_mpi serves one thread at a time.
 */
TG_API TG_MUST_CHECK tg_mpi *tg_mpi_create(tg_context *ctx, MPI_Comm comm,
                                           const tg_mpi_options *options);
/* By all ranks, after the functions that use it. After MPI_Finalize, which has
   freed its communicator, it only frees memory. */
TG_API void tg_mpi_release(tg_mpi *mpi);
TG_DEFINE_AUTO(tg_mpi)

TG_API int tg_mpi_rank(const tg_mpi *mpi);
TG_API int tg_mpi_size(const tg_mpi *mpi);
TG_API int64_t tg_mpi_shards(const tg_mpi *mpi);
/* The shards of this rank: the first one, and how many. */
TG_API int64_t tg_mpi_first_shard(const tg_mpi *mpi);
TG_API int64_t tg_mpi_own_shards(const tg_mpi *mpi);
/* As in the options, or as measured. */
TG_API size_t tg_mpi_bucket_bytes(const tg_mpi *mpi);

/*
 * Returns `status`. If it is an error, first tells all other ranks, whose
 * current or next collective fails with the message of this rank; on a thread
 * that must not call MPI, other ranks are not told. For a status that not all
 * ranks get, such as that of every tg_call with collectives:
 *
 *     if (tg_mpi_report(mpi, tg_call(step, TG_ARGS(x), TG_RESULTS(&loss))))
 */
TG_API tg_status tg_mpi_report(tg_mpi *mpi, tg_status status);

/* -- Collectives, in a callback -------------------------------------------- */

/* In order over the ranks. Numbers; a mean is of floats. */
typedef enum tg_mpi_reduction {
    TG_MPI_SUM = 0,
    TG_MPI_MEAN = 1,
    TG_MPI_MAX = 2,
    TG_MPI_MIN = 3
} tg_mpi_reduction;

/*
 * Combines x of all ranks, of one dtype and shape; all get the result. The
 * gradient of a sum or mean is the sum or mean of the gradients; that of a
 * maximum or minimum is divided equally among the ranks that have it.
 */
TG_API tg_value tg_mpi_all_reduce_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                                     tg_mpi_reduction reduction, tg_site site);

/*
 * Combines x[i] of all ranks, over the shards: axis 0 has the tg_mpi_own_shards
 * of this rank, and the result has the other axes.
 */
TG_API tg_value tg_mpi_reduce_shards_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                                        tg_mpi_reduction reduction,
                                        tg_site site);

/* Concatenates x of all ranks along axis 0. The gradient is a
   tg_mpi_reduce_scatter of the gradients. */
TG_API tg_value tg_mpi_all_gather_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                                     tg_site site);

/*
 * Combines x of all ranks; rank r gets part r of as many equal ones along axis
 * 0 as there are ranks. Sums and means have a gradient, a tg_mpi_all_gather.
 */
TG_API tg_value tg_mpi_reduce_scatter_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                                         tg_mpi_reduction reduction,
                                         tg_site site);

/* x of rank `root`. Its gradient is the sum of all gradients, 0 elsewhere. */
TG_API tg_value tg_mpi_broadcast_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                                    int root, tg_site site);

/* Axis 0 of x consists of one equal part for each rank; the result of rank r
   has part r of each rank. */
TG_API tg_value tg_mpi_all_to_all_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                                     tg_site site);

/* Sends x along the ring of ranks: the result of rank r is x of rank r -
   distance. */
TG_API tg_value tg_mpi_shift_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                                int distance, tg_site site);

/* Waits until all ranks are here. */
TG_API void tg_mpi_barrier_at(tg_trace *t, tg_mpi *mpi, tg_site site);

/* -- Data-parallel training ------------------------------------------------ */

/*
 * The rows of this rank of each element, a global batch, which is the same on
 * all ranks: each component is cut along axis 0 to the rows of this rank's
 * shards. A batch whose rows are not a multiple of n_shards loses the last
 * ones; one with less than n_shards rows is left out. Takes over the dataset.
 */
TG_API TG_MUST_CHECK tg_dataset *tg_mpi_dataset_shard(tg_mpi *mpi,
                                                      tg_dataset *dataset);

/*
 * As tg_minimise, for the mean over all shards of the loss that `loss` returns,
 * a float scalar, for the rows of one shard. `args` are the rows of this rank:
 * axis 0 of each is cut into its shards. The gradients are reduced in buckets.
 * Returns the mean of the losses, on all ranks.
 *
 *     tg_mpi_minimise(t, mpi, loss, user, TG_ARGS(in[0], in[1]), 1e-3,
 *                     tg_sgd(), &model_optimiser_type, &r->net, &r->state)
 */
TG_API tg_value tg_mpi_minimise_at(tg_trace *t, tg_mpi *mpi, tg_callback *loss,
                                   void *user, const tg_operand *args,
                                   size_t n_args, tg_operand rate,
                                   tg_update_rule rule,
                                   const tg_bundle_type *type,
                                   const void *model, const void *state,
                                   tg_site site);

/*
 * A function whose call is a training step: tg_mpi_minimise of `loss`, which
 * gets the arguments of the call, with a constant rate. It returns the mean of
 * the losses. First copies model and state from rank 0 to all others. All
 * pointers must remain valid. NULL on failure.
 */
TG_API TG_MUST_CHECK tg_function *
tg_mpi_train_step(tg_mpi *mpi, tg_callback *loss, void *user,
                         double rate, tg_update_rule rule,
                         const tg_bundle_type *type, const void *model,
                         const void *state);

/* -- Outside of callbacks -------------------------------------------------- */

/* Copies the variables of a bundle from rank 0 to all others. */
TG_API tg_status tg_mpi_broadcast_bundle(tg_mpi *mpi,
                                         const tg_bundle_type *type,
                                         const void *bundle);

/* tg_bundle_save on rank 0; all ranks get its status. */
TG_API tg_status tg_mpi_bundle_save(tg_mpi *mpi, const tg_bundle_type *type,
                                    const void *bundle, const char *path);

/* tg_bundle_load on rank 0, then tg_mpi_broadcast_bundle: a checkpoint of any
   number of ranks, which only rank 0 must be able to read. */
TG_API tg_status tg_mpi_bundle_load(tg_mpi *mpi, const tg_bundle_type *type,
                                    const void *bundle, const char *path);

TG_END_DECLS

#ifndef __cplusplus

#define tg_mpi_all_reduce(t, mpi, x, reduction) \
    tg_mpi_all_reduce_at(t, mpi, TG_IN(x), reduction, TG_HERE)
#define tg_mpi_reduce_shards(t, mpi, x, reduction) \
    tg_mpi_reduce_shards_at(t, mpi, TG_IN(x), reduction, TG_HERE)
#define tg_mpi_all_gather(t, mpi, x) \
    tg_mpi_all_gather_at(t, mpi, TG_IN(x), TG_HERE)
#define tg_mpi_reduce_scatter(t, mpi, x, reduction) \
    tg_mpi_reduce_scatter_at(t, mpi, TG_IN(x), reduction, TG_HERE)
#define tg_mpi_broadcast(t, mpi, x, root) \
    tg_mpi_broadcast_at(t, mpi, TG_IN(x), root, TG_HERE)
#define tg_mpi_all_to_all(t, mpi, x) \
    tg_mpi_all_to_all_at(t, mpi, TG_IN(x), TG_HERE)
#define tg_mpi_shift(t, mpi, x, distance) \
    tg_mpi_shift_at(t, mpi, TG_IN(x), distance, TG_HERE)
#define tg_mpi_barrier(t, mpi) tg_mpi_barrier_at(t, mpi, TG_HERE)
/* `...` begins with TG_ARGS(...), which expands to two arguments. */
#define tg_mpi_minimise(t, mpi, loss, user, ...) \
    TG_MPI_MINIMISE(t, mpi, loss, user, __VA_ARGS__)
#define TG_MPI_MINIMISE(t, mpi, loss, user, args, n_args, rate, ...) \
    TG_WITH_ARGS(tg_mpi_minimise_at, args) \
    (t, mpi, loss, user, args, n_args, TG_IN(rate), __VA_ARGS__, TG_HERE)

#else /* __cplusplus */

inline tg_value tg_mpi_all_reduce(tg_trace *t, tg_mpi *mpi, tg_in x,
                                  tg_mpi_reduction reduction,
                                  tg_site site = TG_HERE)
{
    return tg_mpi_all_reduce_at(t, mpi, x, reduction, site);
}
inline tg_value tg_mpi_reduce_shards(tg_trace *t, tg_mpi *mpi, tg_in x,
                                     tg_mpi_reduction reduction,
                                     tg_site site = TG_HERE)
{
    return tg_mpi_reduce_shards_at(t, mpi, x, reduction, site);
}
inline tg_value tg_mpi_all_gather(tg_trace *t, tg_mpi *mpi, tg_in x,
                                  tg_site site = TG_HERE)
{
    return tg_mpi_all_gather_at(t, mpi, x, site);
}
inline tg_value tg_mpi_reduce_scatter(tg_trace *t, tg_mpi *mpi, tg_in x,
                                      tg_mpi_reduction reduction,
                                      tg_site site = TG_HERE)
{
    return tg_mpi_reduce_scatter_at(t, mpi, x, reduction, site);
}
inline tg_value tg_mpi_broadcast(tg_trace *t, tg_mpi *mpi, tg_in x, int root,
                                 tg_site site = TG_HERE)
{
    return tg_mpi_broadcast_at(t, mpi, x, root, site);
}
inline tg_value tg_mpi_all_to_all(tg_trace *t, tg_mpi *mpi, tg_in x,
                                  tg_site site = TG_HERE)
{
    return tg_mpi_all_to_all_at(t, mpi, x, site);
}
inline tg_value tg_mpi_shift(tg_trace *t, tg_mpi *mpi, tg_in x, int distance,
                             tg_site site = TG_HERE)
{
    return tg_mpi_shift_at(t, mpi, x, distance, site);
}
inline void tg_mpi_barrier(tg_trace *t, tg_mpi *mpi, tg_site site = TG_HERE)
{
    tg_mpi_barrier_at(t, mpi, site);
}
inline tg_value tg_mpi_minimise(tg_trace *t, tg_mpi *mpi, tg_callback *loss,
                                void *user, tg_ins args, tg_in rate,
                                tg_update_rule rule,
                                const tg_bundle_type *type, const void *model,
                                const void *state, tg_site site = TG_HERE)
{
    return tg_mpi_minimise_at(t, mpi, loss, user, args.begin(), args.size(),
                              rate, rule, type, model, state, site);
}

#endif /* __cplusplus */

#endif /* TGJIT_MPI_H */
