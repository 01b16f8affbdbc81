/* SPDX-License-Identifier: MIT */
/*
 * call.c - runs collectives. A run with the sizes of the one before needs no
 * preparation: it allocates nothing and sends nothing but the data.
 */
#include "mpi/call.h"
#include "mpi/simulated_time.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- Types ----------------------------------------------------------------- */

MPI_Datatype tgi_mpi_datatype(tg_dtype dtype)
{
    switch (dtype) {
    case TG_I8: return MPI_INT8_T;
    case TG_I16: return MPI_INT16_T;
    case TG_I32: return MPI_INT32_T;
    case TG_I64: return MPI_INT64_T;
    case TG_U8: return MPI_UINT8_T;
    case TG_U16: return MPI_UINT16_T;
    case TG_U32: return MPI_UINT32_T;
    case TG_U64: return MPI_UINT64_T;
    case TG_F32: return MPI_FLOAT;
    case TG_F64: return MPI_DOUBLE;
    case TG_F16:
    case TG_BF16: return MPI_UINT16_T; /* to be moved, not reduced */
    default: return MPI_BYTE; /* bool */
    }
}

MPI_Op tgi_mpi_op(tg_mpi_reduction reduction)
{
    return reduction == TG_MPI_MAX   ? MPI_MAX
           : reduction == TG_MPI_MIN ? MPI_MIN
                                     : MPI_SUM;
}

tgi_mpi_operation tgi_mpi_operation_of(tg_mpi_reduction reduction)
{
    return reduction == TG_MPI_MAX   ? TGI_MPI_MAX
           : reduction == TG_MPI_MIN ? TGI_MPI_MIN
                                     : TGI_MPI_SUM;
}

int64_t tgi_mpi_count(const tg_host_buffer *buffer)
{
    int64_t count = 1;
    for (int axis = 0; axis < buffer->rank; axis++)
        count *= buffer->dims[axis];
    return count;
}

/* -- Records --------------------------------------------------------------- */

tgi_mpi_call *tgi_mpi_call_create(tg_mpi *m, tgi_mpi_call_kind kind,
                                  tg_mpi_reduction reduction, int argument,
                                  const tgi_shards *shards)
{
    tgi_shard_node partials[TGI_MPI_MAX_PARTIALS];
    tgi_mpi_call *call = calloc(1, sizeof(*call));
    if (!call)
        return NULL;
    call->m = m;
    call->kind = kind;
    call->reduction = reduction;
    call->argument = argument;
    call->shards = shards;
    call->n_partials = tgi_shards_partials(shards, shards->rank, partials);
    call->pending.request = MPI_REQUEST_NULL;
    call->pending.text = call->text;
    call->next = m->calls;
    m->calls = call;
    return call;
}

static void free_run(tgi_mpi_call *call)
{
    if (call->schedule)
        tgi_mpi_transfer_deinit(&call->pending.transfer);
    tgi_mpi_schedule_free(call->schedule);
    call->schedule = NULL;
    free(call->memory);
    call->memory = NULL;
    call->is_prepared = false;
}

void tgi_mpi_calls_free(tg_mpi *m)
{
    while (m->calls) {
        tgi_mpi_call *call = m->calls;
        m->calls = call->next;
        /* A message that is still on its way keeps its memory. */
        if (call->pending.is_listed || call->pending.transfer.keeps_work ||
            call->pending.request != MPI_REQUEST_NULL)
            call->memory = NULL;
        free_run(call);
        free(call);
    }
}

/* -- Preparation ----------------------------------------------------------- */

static void describe(tgi_mpi_call *call)
{
    static const char *const kinds[] = {
        [TGI_MPI_ALL_REDUCE] = "all_reduce",
        [TGI_MPI_ALL_GATHER] = "all_gather",
        [TGI_MPI_REDUCE_SCATTER] = "reduce_scatter",
        [TGI_MPI_BROADCAST] = "broadcast",
        [TGI_MPI_ALL_TO_ALL] = "all_to_all",
        [TGI_MPI_SHIFT] = "shift",
        [TGI_MPI_BARRIER] = "barrier",
        [TGI_MPI_BUCKET] = "reduction of gradients",
    };
    static const char *const reductions[] = {
        [TG_MPI_SUM] = " sum",
        [TG_MPI_MEAN] = " mean",
        [TG_MPI_MAX] = " max",
        [TG_MPI_MIN] = " min",
    };
    char *text = call->text;
    const size_t size = sizeof(call->text);
    const bool reduces = call->kind == TGI_MPI_ALL_REDUCE ||
                         call->kind == TGI_MPI_REDUCE_SCATTER;
    int at = snprintf(text, size, "%s%s", kinds[call->kind],
                      reduces ? reductions[call->reduction] : "");
    if (call->shards == &call->m->shards)
        at += snprintf(text + at, size - (size_t)at, " of %lld shards",
                       (long long)call->shards->n_shards);
    if (call->kind == TGI_MPI_BARRIER)
        return;
    at += snprintf(text + at, size - (size_t)at, " %s[",
                   tg_dtype_name(call->dtype));
    for (int axis = 0; axis < call->rank; axis++)
        at += snprintf(text + at, size - (size_t)at, "%s%lld", axis ? "," : "",
                       (long long)call->dims[axis]);
    at += snprintf(text + at, size - (size_t)at, "]");
    if (call->kind == TGI_MPI_BROADCAST)
        snprintf(text + at, size - (size_t)at, " from rank %d", call->argument);
    else if (call->kind == TGI_MPI_SHIFT)
        snprintf(text + at, size - (size_t)at, " by %d", call->argument);
}

/* The schedule of the call, or NULL and is_mpis: MPI does it. */
static tgi_mpi_schedule *make_schedule(const tgi_mpi_call *call, bool *is_mpis)
{
    const tg_mpi *m = call->m;
    const size_t bytes = tg_dtype_bytes(call->dtype);
    const tgi_mpi_operation operation = tgi_mpi_operation_of(call->reduction);
    /* MPI has no operations on halves. */
    const bool any_order = m->order == TG_REDUCE_ANY_ORDER &&
                           call->dtype != TG_F16 && call->dtype != TG_BF16;
    *is_mpis = false;
    switch (call->kind) {
    case TGI_MPI_SHIFT:
        return tgi_mpi_schedule_shift(&m->ranks, call->dtype, bytes,
                                      call->count, call->argument);
    case TGI_MPI_ALL_REDUCE:
    case TGI_MPI_BUCKET:
        if (!any_order)
            return tgi_mpi_schedule_reduction(call->shards, call->dtype, bytes,
                                              operation, call->count,
                                              TGI_MPI_EVERYTHING);
        break;
    case TGI_MPI_REDUCE_SCATTER:
        if (!any_order)
            return tgi_mpi_schedule_reduction(call->shards, call->dtype, bytes,
                                              operation, call->count,
                                              TGI_MPI_OWN_PART);
        break;
    default:
        break;
    }
    *is_mpis = true;
    return NULL;
}

/* The sizes of the call are `type`; the number of the collective is new. */
static tg_status prepare(tgi_mpi_call *call, tg_dtype dtype, int rank,
                         const int64_t *dims)
{
    tg_mpi *m = call->m;
    bool is_mpis;
    free_run(call);
    call->dtype = dtype;
    call->rank = rank;
    call->count = 1;
    for (int axis = 0; axis < rank; axis++) {
        call->dims[axis] = dims[axis];
        call->count *= dims[axis];
    }
    describe(call);
    tg_status status = tgi_mpi_compare_calls(m, call->text);
    if (status)
        return status;
    call->schedule = make_schedule(call, &is_mpis);
    if (is_mpis && call->count > INT_MAX)
        return tgi_mpi_fail(m, "%s: MPI takes at most %d elements", call->text,
                            INT_MAX);
    if (!is_mpis &&
        (!call->schedule || !tgi_mpi_transfer_init(&call->pending.transfer,
                                                   call->schedule, m->comm)))
        return tgi_mpi_fail(m, "%s: rank %d is out of memory", call->text,
                            m->ranks.rank);
    call->is_prepared = true;
    return TG_OK;
}

static bool has_sizes(const tgi_mpi_call *call, tg_dtype dtype, int rank,
                      const int64_t *dims)
{
    return call->is_prepared && call->dtype == dtype && call->rank == rank &&
           (rank == 0 ||
            memcmp(call->dims, dims, (size_t)rank * sizeof(*dims)) == 0);
}

/* Begins the next collective, with these sizes. */
static tg_status begin(tgi_mpi_call *call, tg_dtype dtype, int rank,
                       const int64_t *dims)
{
    const tg_status status = tgi_mpi_begin(call->m);
    return status || has_sizes(call, dtype, rank, dims)
               ? status
               : prepare(call, dtype, rank, dims);
}

/* -- MPI's own collectives ------------------------------------------------- */

/* Combines the partials of this rank into `out`. */
static void combine_partials(const tgi_mpi_call *call, const char *const *in,
                             char *out)
{
    const size_t bytes = (size_t)call->count * tg_dtype_bytes(call->dtype);
    memcpy(out, in[0], bytes);
    for (size_t k = 1; k < call->n_partials; k++)
        tgi_mpi_combine(call->dtype, tgi_mpi_operation_of(call->reduction), out,
                        out, in[k], call->count);
}

/* Starts it. Returns an MPI error code. */
static int start_mpis(tgi_mpi_call *call, const char *const *in, char *out)
{
    const tg_mpi *m = call->m;
    MPI_Request *request = &call->pending.request;
    const MPI_Datatype type = tgi_mpi_datatype(call->dtype);
    const int count = (int)call->count, part = count / m->ranks.n_ranks;
    const size_t bytes = (size_t)count * tg_dtype_bytes(call->dtype);
    switch (call->kind) {
    case TGI_MPI_ALL_GATHER:
        return MPI_Iallgather(in[0], count, type, out, count, type, m->comm,
                              request);
    case TGI_MPI_ALL_TO_ALL:
        return MPI_Ialltoall(in[0], part, type, out, part, type, m->comm,
                             request);
    case TGI_MPI_BROADCAST:
        if (m->ranks.rank == call->argument)
            memcpy(out, in[0], bytes);
        return MPI_Ibcast(out, count, type, call->argument, m->comm, request);
    case TGI_MPI_REDUCE_SCATTER:
        return MPI_Ireduce_scatter_block(in[0], out, part, type,
                                         tgi_mpi_op(call->reduction), m->comm,
                                         request);
    case TGI_MPI_BARRIER:
        return MPI_Ibarrier(m->comm, request);
    default:
        combine_partials(call, in, out);
        return MPI_Iallreduce(MPI_IN_PLACE, out, count, type,
                              tgi_mpi_op(call->reduction), m->comm, request);
    }
}

/* -- Runs ------------------------------------------------------------------ */

static tg_status start(tgi_mpi_call *call, const char *const *in, char *out)
{
    tg_mpi *m = call->m;
    int error;
    if (call->schedule) {
        for (size_t k = 0; k < call->n_partials; k++)
            call->pending.transfer.in[k] = in[k];
        call->pending.transfer.out = out;
        error = tgi_mpi_transfer_start(&call->pending.transfer, tgi_mpi_tag(m));
    } else {
        error = start_mpis(call, in, out);
    }
    return tgi_mpi_check(m, error, call->text);
}

static tg_status run(tgi_mpi_call *call, const tg_host_buffer *in, size_t n_in,
                     const tg_host_buffer *out, size_t n_out)
{
    const char *data[TGI_MPI_MAX_PARTIALS];
    for (size_t k = 0; k < n_in; k++)
        data[k] = in[k].data;
    tg_status status =
        n_in ? begin(call, in[0].dtype, in[0].rank, in[0].dims)
             : begin(call, TG_BOOL, 0, NULL);
    if (status || (n_in && call->count == 0))
        return status;
    status = start(call, data, n_out ? out[0].data : NULL);
    if (status)
        return status;
    tgi_mpi_pending_add(call->m, &call->pending);
    return tgi_mpi_finish(call->m, &call->pending);
}

tg_status tgi_mpi_call_run(const tg_host_buffer *in, size_t n_in,
                           const tg_host_buffer *out, size_t n_out, void *user)
{
    tgi_mpi_call *call = user;
    tgi_mpi_enter(&call->m->left);
    const tg_status status = run(call, in, n_in, out, n_out);
    tgi_mpi_leave(&call->m->left);
    return status;
}

/* -- Buckets --------------------------------------------------------------- */

static tg_status start_bucket(tgi_mpi_call *call, const tg_host_buffer *in,
                              size_t n_in)
{
    tg_mpi *m = call->m;
    const char *data[TGI_MPI_MAX_PARTIALS];
    int64_t count = 0;
    for (size_t i = 0; i < n_in; i += call->n_partials)
        count += tgi_mpi_count(&in[i]);
    tg_status status = begin(call, in[0].dtype, 1, &count);
    if (status || count == 0)
        return status;
    const size_t bytes = (size_t)count * tg_dtype_bytes(call->dtype);
    if (!call->memory)
        call->memory = malloc((call->n_partials + 1) * bytes);
    if (!call->memory)
        return tgi_mpi_fail(m, "%s: rank %d is out of memory", call->text,
                            m->ranks.rank);
    for (size_t k = 0; k < call->n_partials; k++) {
        char *at = call->memory + k * bytes;
        data[k] = at;
        for (size_t i = k; i < n_in; i += call->n_partials) {
            const size_t n = (size_t)tgi_mpi_count(&in[i]) *
                             tg_dtype_bytes(call->dtype);
            memcpy(at, in[i].data, n);
            at += n;
        }
    }
    status = start(call, data, call->memory + call->n_partials * bytes);
    if (!status) {
        tgi_mpi_pending_add(m, &call->pending);
        call->is_started = true;
        tg_host_poll(tgi_mpi_poll_quietly, m);
    }
    return status;
}

tg_status tgi_mpi_bucket_start(const tg_host_buffer *in, size_t n_in,
                               const tg_host_buffer *out, size_t n_out,
                               void *user)
{
    tgi_mpi_call *call = user;
    (void)out;
    (void)n_out;
    tgi_mpi_enter(&call->m->left);
    const tg_status status = start_bucket(call, in, n_in);
    tgi_mpi_leave(&call->m->left);
    return status;
}

static tg_status finish_bucket(tgi_mpi_call *call, const tg_host_buffer *out,
                               size_t n_out)
{
    tg_mpi *m = call->m;
    if (m->has_failed)
        return tgi_mpi_fail_again(m);
    if (!call->is_started)
        return TG_OK; /* no elements */
    call->is_started = false;
    const tg_status status = tgi_mpi_finish(m, &call->pending);
    const size_t element = tg_dtype_bytes(call->dtype);
    const char *at = call->memory +
                     call->n_partials * (size_t)call->count * element;
    for (size_t i = 0; !status && i < n_out; i++) {
        const size_t bytes = (size_t)tgi_mpi_count(&out[i]) * element;
        memcpy(out[i].data, at, bytes);
        at += bytes;
    }
    return status;
}

tg_status tgi_mpi_bucket_finish(const tg_host_buffer *in, size_t n_in,
                                const tg_host_buffer *out, size_t n_out,
                                void *user)
{
    tgi_mpi_call *call = user;
    (void)in;
    (void)n_in;
    tgi_mpi_enter(&call->m->left);
    const tg_status status = finish_bucket(call, out, n_out);
    tgi_mpi_leave(&call->m->left);
    return status;
}
