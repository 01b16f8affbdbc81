/* SPDX-License-Identifier: MIT */
/*
 * data.c - datasets, parameters and checkpoints of several ranks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mpi/function_list.h"
#include "mpi/message.h"
#include "tgjit/file.h"
#include "tgjit/host.h"
#include "tgjit/ops.h"
#include "tgjit/trace.h"

/* -- Datasets -------------------------------------------------------------- */

/* The rows of a batch, as a multiple of the number of shards; -1 and an error
   if they are not known. */
static int64_t rows_of(tg_trace *t, tg_value x)
{
    const int64_t rows = tg_value_rank(x) > 0 ? tg_value_dim(x, 0) : -1;
    if (!tg_dim_is_known(rows))
        tg_fail(t, "mpi_dataset_shard: a component is not a batch of rows");
    return rows;
}

static void has_rows(tg_trace *t, const tg_value *in, void *user)
{
    const tg_mpi *m = user;
    const int64_t rows = rows_of(t, in[0]);
    if (rows >= 0)
        tg_return(t, (bool)(rows >= m->shards.n_shards));
}

static void own_rows(tg_trace *t, const tg_value *in, void *user)
{
    const tg_mpi *m = user;
    const size_t n = tg_argument_count(t);
    tg_operand *results = malloc(n * sizeof(*results));
    if (!results) {
        tg_fail(t, "mpi_dataset_shard: out of memory");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t rows = rows_of(t, in[i]) / m->shards.n_shards;
        const int64_t first = tg_mpi_first_shard(m);
        results[i] = tg_in_value(tg_slice(
            in[i], 0, first * rows, (first + tg_mpi_own_shards(m)) * rows, 1));
    }
    tg_return_at(t, results, n, TG_HERE);
    free(results);
}

tg_dataset *tg_mpi_dataset_shard(tg_mpi *mpi, tg_dataset *dataset)
{
    if (!dataset)
        return NULL;
    if (!mpi) {
        tg_host_fail("mpi_dataset_shard: the tg_mpi is NULL");
        tg_dataset_release(dataset);
        return NULL;
    }
    const tg_function_options options = {
        .struct_bytes = sizeof(options), .policy = TG_EXACT};
    TG_AUTO(tg_function) filter =
        tg_function_create(mpi->ctx, has_rows, mpi, &options);
    TG_AUTO(tg_function) map =
        tg_function_create(mpi->ctx, own_rows, mpi, &options);
    if (!filter || !map) {
        tg_dataset_release(dataset);
        return NULL;
    }
    return tg_dataset_map(tg_dataset_filter(dataset, filter), map);
}

/* -- Parameters ------------------------------------------------------------ */

/* Broadcasts memory from rank 0. */
static tg_status broadcast(tg_mpi *m, char *data, size_t bytes)
{
    tg_status status = TG_OK;
    for (size_t i = 0; i < tgi_mpi_n_messages(bytes) && !status; i++) {
        MPI_Request request;
        const int error =
            MPI_Ibcast(data + i * TGI_MPI_MAX_MESSAGE,
                       tgi_mpi_message_bytes(bytes, i), MPI_BYTE, 0, m->comm,
                       &request);
        status = tgi_mpi_check(m, error, "broadcast of a bundle");
        if (!status)
            status = tgi_mpi_wait(m, request, "broadcast of a bundle");
    }
    return status;
}

static tg_status broadcast_variable(tg_mpi *m, tg_variable *variable)
{
    char *data =
        tg_variable_map(variable, m->ranks.rank ? TG_WRITE : TG_READ);
    if (!data)
        return tgi_mpi_fail(m, "broadcast of variable '%s': rank %d: %s",
                            tg_variable_name(variable), m->ranks.rank,
                            tg_error(NULL));
    const tg_status status = broadcast(m, data, tg_variable_bytes(variable));
    tg_variable_unmap(variable);
    return status;
}

tg_status tg_mpi_broadcast_bundle(tg_mpi *mpi, const tg_bundle_type *type,
                                  const void *bundle)
{
    if (!mpi || !type || !bundle)
        return tg_host_fail("mpi_broadcast_bundle: an argument is NULL");
    tg_status status = tgi_mpi_begin(mpi);
    if (status)
        return status;
    const size_t n =
        tg_bundle_variables(type, bundle, TG_ALL_VARIABLES, NULL, 0);
    tg_variable **variables = malloc((n + 1) * sizeof(*variables));
    char text[TGI_MPI_CALL_TEXT];
    snprintf(text, sizeof(text),
             "broadcast of a bundle '%s' of %zu variables, %lld elements",
             type->name, n,
             (long long)tg_bundle_count(type, bundle, TG_ALL_VARIABLES));
    if (!variables)
        return tgi_mpi_fail(mpi, "%s: rank %d is out of memory", text,
                            mpi->ranks.rank);
    tg_bundle_variables(type, bundle, TG_ALL_VARIABLES, variables, n);
    status = tgi_mpi_compare_calls(mpi, text);
    for (size_t i = 0; i < n && !status; i++)
        status = broadcast_variable(mpi, variables[i]);
    free(variables);
    return status;
}

/* -- Checkpoints ----------------------------------------------------------- */

/* What rank 0 did has this status: the others get it, too. */
static tg_status share_status(tg_mpi *m, tg_status status, const char *text)
{
    char unused = 0;
    if (status)
        return tg_mpi_report(m, status);
    status = tgi_mpi_begin(m);
    if (!status)
        status = tgi_mpi_compare_calls(m, text);
    return status ? status : broadcast(m, &unused, 1);
}

tg_status tg_mpi_bundle_save(tg_mpi *mpi, const tg_bundle_type *type,
                             const void *bundle, const char *path)
{
    if (!mpi)
        return tg_host_fail("mpi_bundle_save: the tg_mpi is NULL");
    if (mpi->has_failed)
        return tgi_mpi_fail_again(mpi);
    const tg_status status =
        mpi->ranks.rank ? TG_OK : tg_bundle_save(type, bundle, path);
    return share_status(mpi, status, "mpi_bundle_save");
}

tg_status tg_mpi_bundle_load(tg_mpi *mpi, const tg_bundle_type *type,
                             const void *bundle, const char *path)
{
    if (!mpi)
        return tg_host_fail("mpi_bundle_load: the tg_mpi is NULL");
    if (mpi->has_failed)
        return tgi_mpi_fail_again(mpi);
    tg_status status =
        mpi->ranks.rank ? TG_OK : tg_bundle_load(type, bundle, path);
    status = share_status(mpi, status, "mpi_bundle_load");
    return status ? status : tg_mpi_broadcast_bundle(mpi, type, bundle);
}
