/* SPDX-License-Identifier: MIT */
/*
 * collectives.c - records collectives: a host call with a gradient, between
 * operations that arrange the parts of ranks along axis 0.
 */
#include <stdlib.h>

#include "mpi/partials.h"
#include "tgjit/gradient.h"
#include "tgjit/ops.h"
#include "tgjit/ops_arrange.h"
#include "tgjit/trace.h"

/* -- Recording ------------------------------------------------------------- */

/* The operation being recorded. */
typedef struct recording {
    tg_trace *t;
    tg_mpi *m;
    const char *name;
    tg_site site;
} recording;

/* True, or an error, if the tg_mpi is NULL. */
static bool has_mpi(const recording *r)
{
    if (!r->m)
        tg_fail_at(r->t, r->site, "%s: the tg_mpi is NULL", r->name);
    return r->m != NULL;
}

static bool is_float(tg_dtype dtype)
{
    return dtype == TG_F32 || dtype == TG_F64 || dtype == TG_F16 ||
           dtype == TG_BF16;
}

static bool can_reduce(const recording *r, tg_value x,
                       tg_mpi_reduction reduction)
{
    const tg_dtype dtype = tg_value_dtype(x);
    if ((int)reduction < TG_MPI_SUM || reduction > TG_MPI_MIN)
        tg_fail_at(r->t, r->site, "%s: %d is not a tg_mpi_reduction", r->name,
                   (int)reduction);
    else if (dtype == TG_BOOL ||
             (reduction == TG_MPI_MEAN && !is_float(dtype)))
        tg_fail_at(r->t, r->site, "%s: a %s of %s; convert it with tg_cast",
                   r->name, reduction == TG_MPI_MEAN ? "mean" : "reduction",
                   tg_dtype_name(dtype));
    else
        return true;
    return false;
}

/* Records the host call of `call` on n values of one type; its result has the
   type `spec`, or it has none. */
static tg_value record(const recording *r, tgi_mpi_call *call,
                       const tg_value *x, size_t n, const tg_host_spec *spec,
                       tg_callback *backward)
{
    tg_operand inputs[TGI_MPI_MAX_PARTIALS];
    tg_value result = {0, 0};
    for (size_t i = 0; i < n; i++)
        inputs[i] = tg_in_value(x[i]);
    if (!call)
        tg_fail_at(r->t, r->site, "%s: out of memory", r->name);
    else
        tg_host_call_with_gradient_at(r->t, tgi_mpi_call_run, backward, call,
                                      inputs, n, spec, &result, spec ? 1 : 0,
                                      r->site);
    return result;
}

/* The same for a result of the type of x. */
static tg_value record_like(const recording *r, tgi_mpi_call *call,
                            const tg_value *x, size_t n, tg_callback *backward)
{
    tgi_mpi_type type;
    if (tg_trace_status(r->t))
        return (tg_value){0, 0};
    tgi_mpi_type_of(x[0], &type);
    return record(r, call, x, n, &type.spec, backward);
}

/* -- Arranging parts ------------------------------------------------------- */

/* x with axis 0 divided into as many parts as there are ranks. */
static tg_value into_parts(const recording *r, tg_value x)
{
    int64_t dims[TG_MAX_RANK + 1] = {r->m->ranks.n_ranks, -1};
    const int rank = tg_value_rank(x);
    if (rank < 1 || rank == TG_MAX_RANK) {
        tg_fail_at(r->t, r->site, "%s: rank %d; it must be 1 to %d", r->name,
                   rank, TG_MAX_RANK - 1);
        return (tg_value){0, 0};
    }
    const int64_t extent = tg_value_dim(x, 0);
    if (tg_dim_is_known(extent) && extent % dims[0]) {
        tg_fail_at(r->t, r->site,
                   "%s: axis 0 has extent %lld, which is not a multiple of the "
                   "%lld ranks",
                   r->name, (long long)extent, (long long)dims[0]);
        return (tg_value){0, 0};
    }
    if (tg_dim_is_known(extent))
        dims[1] = extent / dims[0];
    for (int axis = 1; axis < rank; axis++)
        dims[axis + 1] = tg_value_dim(x, axis);
    return tg_reshape_at(tg_in_value(x), rank + 1, dims, r->site);
}

/* x with its first two axes, parts and rows, as one. */
static tg_value from_parts(const recording *r, tg_value x)
{
    int64_t dims[TG_MAX_RANK + 1] = {-1};
    const int rank = tg_value_rank(x);
    const int64_t rows = rank > 1 ? tg_value_dim(x, 1) : 1;
    if (tg_dim_is_known(rows))
        dims[0] = r->m->ranks.n_ranks * rows;
    for (int axis = 2; axis < rank; axis++)
        dims[axis - 1] = tg_value_dim(x, axis);
    return tg_reshape_at(tg_in_value(x), rank > 1 ? rank - 1 : 1, dims,
                         r->site);
}

/* sum / n for a mean, else the value. */
static tg_value mean_of(tg_value sum, tg_mpi_reduction reduction, int64_t n)
{
    return reduction == TG_MPI_MEAN ? tg_div(sum, n) : sum;
}

/* -- all_reduce ------------------------------------------------------------ */

static tg_value all_sum(tg_trace *t, tg_mpi *m, tg_value x)
{
    return tg_mpi_all_reduce(t, m, x, TG_MPI_SUM);
}

/* `in` is n_partials values, the result, and its gradient. */
static void all_reduce_backward(tg_trace *t, const tg_value *in, void *user)
{
    const tgi_mpi_call *call = user;
    const size_t n = call->n_partials;
    tg_operand results[TGI_MPI_MAX_PARTIALS];
    tg_value total = all_sum(t, call->m, in[n + 1]);
    if (call->reduction == TG_MPI_SUM) {
        for (size_t i = 0; i < n; i++)
            results[i] = tg_in_value(total);
        tg_return_at(t, results, n, TG_HERE);
        return;
    }
    /* Divided among the partials that have the extreme value. */
    tg_value masks[TGI_MPI_MAX_PARTIALS], n_equal = {0, 0};
    for (size_t i = 0; i < n; i++) {
        masks[i] = tg_cast(tg_eq(in[i], in[n]), tg_value_dtype(in[i]));
        n_equal = i ? tg_add(n_equal, masks[i]) : masks[i];
    }
    total = tg_div(total, all_sum(t, call->m, n_equal));
    for (size_t i = 0; i < n; i++)
        results[i] = tg_in_value(tg_mul(masks[i], total));
    tg_return_at(t, results, n, TG_HERE);
}

/* The reduction of this rank's partials with those of the others. */
static tg_value record_all_reduce(const recording *r, const tgi_shards *shards,
                                  tg_mpi_reduction reduction, const tg_value *x,
                                  size_t n)
{
    const tg_mpi_reduction sum =
        reduction == TG_MPI_MEAN ? TG_MPI_SUM : reduction;
    tgi_mpi_call *call =
        tgi_mpi_call_create(r->m, TGI_MPI_ALL_REDUCE, sum, 0, shards);
    return mean_of(record_like(r, call, x, n, all_reduce_backward), reduction,
                   shards->n_shards);
}

tg_value tg_mpi_all_reduce_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                              tg_mpi_reduction reduction, tg_site site)
{
    const recording r = {t, mpi, "mpi_all_reduce", site};
    const tg_value value = tgi_mpi_value(t, r.name, x, site);
    if (!has_mpi(&r) || tg_trace_status(t) || !can_reduce(&r, value, reduction))
        return (tg_value){0, 0};
    return record_all_reduce(&r, &mpi->ranks, reduction, &value, 1);
}

tg_value tg_mpi_reduce_shards_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                                 tg_mpi_reduction reduction, tg_site site)
{
    const recording r = {t, mpi, "mpi_reduce_shards", site};
    const tg_value value = tgi_mpi_value(t, r.name, x, site), none = {0, 0};
    if (!has_mpi(&r) || tg_trace_status(t) || !can_reduce(&r, value, reduction))
        return none;
    const int64_t n = tg_mpi_own_shards(mpi);
    if (tg_value_rank(value) < 1 || tg_value_dim(value, 0) != n) {
        tg_fail_at(t, site, "%s: axis 0 must be the %lld shards of rank %d",
                   r.name, (long long)n, mpi->ranks.rank);
        return none;
    }
    tg_value *values = malloc((size_t)n * sizeof(*values));
    if (!values) {
        tg_fail_at(t, site, "%s: out of memory", r.name);
        return none;
    }
    tg_value partials[TGI_MPI_MAX_PARTIALS];
    tg_unstack_at(tg_in_value(value), 0, values, (size_t)n, site);
    const size_t n_partials =
        tgi_mpi_partials(mpi, reduction, values, partials, site);
    free(values);
    return record_all_reduce(&r, &mpi->shards, reduction, partials, n_partials);
}

/* -- The others ------------------------------------------------------------ */

static void scatter_backward(tg_trace *t, const tg_value *in, void *user);

static void gather_backward(tg_trace *t, const tg_value *in, void *user)
{
    const tgi_mpi_call *call = user;
    const recording r = {t, call->m, "mpi_all_gather", TG_HERE};
    /* The gradient of the result has an axis of parts. */
    tgi_mpi_call *scatter =
        tgi_mpi_call_create(call->m, TGI_MPI_REDUCE_SCATTER, TG_MPI_SUM, 0,
                            &call->m->ranks);
    tgi_mpi_type type;
    tgi_mpi_type_of(in[0], &type);
    tg_return(t, record(&r, scatter, &in[2], 1, &type.spec,
                        scatter_backward));
}

static void scatter_backward(tg_trace *t, const tg_value *in, void *user)
{
    const tgi_mpi_call *call = user;
    const recording r = {t, call->m, "mpi_reduce_scatter", TG_HERE};
    tgi_mpi_call *gather = tgi_mpi_call_create(
        call->m, TGI_MPI_ALL_GATHER, TG_MPI_SUM, 0, &call->m->ranks);
    tgi_mpi_type type;
    tgi_mpi_type_of(in[0], &type);
    tg_return(t, record(&r, gather, &in[2], 1, &type.spec, gather_backward));
}

tg_value tg_mpi_all_gather_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                              tg_site site)
{
    const recording r = {t, mpi, "mpi_all_gather", site};
    const tg_value value = tgi_mpi_value(t, r.name, x, site), none = {0, 0};
    if (!has_mpi(&r) || tg_trace_status(t))
        return none;
    const int rank = tg_value_rank(value);
    if (rank == TG_MAX_RANK) {
        tg_fail_at(t, site, "%s: rank %d; it must be at most %d", r.name, rank,
                   TG_MAX_RANK - 1);
        return none;
    }
    tgi_mpi_call *call = tgi_mpi_call_create(mpi, TGI_MPI_ALL_GATHER,
                                             TG_MPI_SUM, 0, &mpi->ranks);
    tgi_mpi_type type;
    tgi_mpi_type_of(value, &type);
    int64_t dims[TG_MAX_RANK] = {mpi->ranks.n_ranks};
    for (int axis = 0; axis < rank; axis++)
        dims[axis + 1] = type.dims[axis];
    const tg_host_spec spec = {type.spec.dtype, rank + 1, dims};
    const tg_value parts =
        record(&r, call, &value, 1, &spec, gather_backward);
    return tg_trace_status(t) ? none : from_parts(&r, parts);
}

tg_value tg_mpi_reduce_scatter_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                                  tg_mpi_reduction reduction, tg_site site)
{
    const recording r = {t, mpi, "mpi_reduce_scatter", site};
    const tg_value value = tgi_mpi_value(t, r.name, x, site), none = {0, 0};
    if (!has_mpi(&r) || tg_trace_status(t) || !can_reduce(&r, value, reduction))
        return none;
    const tg_value parts = into_parts(&r, value);
    if (tg_trace_status(t))
        return none;
    const tg_mpi_reduction sum =
        reduction == TG_MPI_MEAN ? TG_MPI_SUM : reduction;
    tgi_mpi_call *call = tgi_mpi_call_create(mpi, TGI_MPI_REDUCE_SCATTER, sum,
                                             0, &mpi->ranks);
    tgi_mpi_type type;
    tgi_mpi_type_of(parts, &type);
    const tg_host_spec spec = {type.spec.dtype, type.spec.rank - 1,
                               type.dims + 1};
    return mean_of(record(&r, call, &parts, 1, &spec,
                          sum == TG_MPI_SUM ? scatter_backward : NULL),
                   reduction, mpi->ranks.n_ranks);
}

static void broadcast_backward(tg_trace *t, const tg_value *in, void *user)
{
    const tgi_mpi_call *call = user;
    const tg_value total = all_sum(t, call->m, in[2]);
    tgi_mpi_type type;
    tgi_mpi_type_of(total, &type);
    const tg_value zeros = tg_cast(
        tg_broadcast(0.0, type.spec.rank, type.dims), type.spec.dtype);
    tg_return(t, call->m->ranks.rank == call->argument ? total : zeros);
}

tg_value tg_mpi_broadcast_at(tg_trace *t, tg_mpi *mpi, tg_operand x, int root,
                             tg_site site)
{
    const recording r = {t, mpi, "mpi_broadcast", site};
    const tg_value value = tgi_mpi_value(t, r.name, x, site), none = {0, 0};
    if (!has_mpi(&r) || tg_trace_status(t))
        return none;
    if (root < 0 || root >= mpi->ranks.n_ranks) {
        tg_fail_at(t, site, "%s: there is no rank %d among %d", r.name, root,
                   mpi->ranks.n_ranks);
        return none;
    }
    tgi_mpi_call *call = tgi_mpi_call_create(mpi, TGI_MPI_BROADCAST, TG_MPI_SUM,
                                             root, &mpi->ranks);
    return record_like(&r, call, &value, 1, broadcast_backward);
}

static void all_to_all_backward(tg_trace *t, const tg_value *in, void *user)
{
    const tgi_mpi_call *call = user;
    tg_return(t, tg_mpi_all_to_all(t, call->m, in[2]));
}

tg_value tg_mpi_all_to_all_at(tg_trace *t, tg_mpi *mpi, tg_operand x,
                              tg_site site)
{
    const recording r = {t, mpi, "mpi_all_to_all", site};
    const tg_value value = tgi_mpi_value(t, r.name, x, site), none = {0, 0};
    if (!has_mpi(&r) || tg_trace_status(t))
        return none;
    /* Only to check the extent, now or when the call knows it. */
    const tg_value parts = into_parts(&r, value);
    if (tg_trace_status(t))
        return none;
    tgi_mpi_call *call = tgi_mpi_call_create(mpi, TGI_MPI_ALL_TO_ALL,
                                             TG_MPI_SUM, 0, &mpi->ranks);
    tgi_mpi_type type;
    tgi_mpi_type_of(value, &type);
    return tg_reshape_at(
        tg_in_value(record_like(&r, call, &parts, 1, all_to_all_backward)),
        type.spec.rank, type.dims, site);
}

static void shift_backward(tg_trace *t, const tg_value *in, void *user)
{
    const tgi_mpi_call *call = user;
    tg_return(t, tg_mpi_shift(t, call->m, in[2], -call->argument));
}

tg_value tg_mpi_shift_at(tg_trace *t, tg_mpi *mpi, tg_operand x, int distance,
                         tg_site site)
{
    const recording r = {t, mpi, "mpi_shift", site};
    const tg_value value = tgi_mpi_value(t, r.name, x, site);
    if (!has_mpi(&r) || tg_trace_status(t))
        return (tg_value){0, 0};
    tgi_mpi_call *call = tgi_mpi_call_create(mpi, TGI_MPI_SHIFT, TG_MPI_SUM,
                                             distance, &mpi->ranks);
    return record_like(&r, call, &value, 1, shift_backward);
}

void tg_mpi_barrier_at(tg_trace *t, tg_mpi *mpi, tg_site site)
{
    const recording r = {t, mpi, "mpi_barrier", site};
    if (has_mpi(&r))
        record(&r,
               tgi_mpi_call_create(mpi, TGI_MPI_BARRIER, TG_MPI_SUM, 0,
                                   &mpi->ranks),
               NULL, 0, NULL, NULL);
}
