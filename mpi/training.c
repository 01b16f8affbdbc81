/* SPDX-License-Identifier: MIT */
/*
 * training.c - data-parallel training. The loss of each shard of this rank is
 * differentiated by itself; what they have in common is the callback, so every
 * shard has the same bits wherever it is computed. Gradients are combined along
 * the tree over shards: in the graph as far as this rank has the shards, then
 * in buckets. A host call starts one as soon as the backward pass has computed
 * its gradients; it goes on, polled, while the rest is computed, until another
 * host call finishes it.
 */
#include <stdlib.h>

#include "mpi/function_list.h"
#include "mpi/partials.h"
#include "tgjit/gradient.h"
#include "tgjit/ops.h"
#include "tgjit/ops_arrange.h"
#include "tgjit/trace.h"

/* A step being recorded. Item i is the gradient of variable i, in field order;
   the last one is the loss. */
typedef struct step {
    tg_trace *t;
    tg_mpi *m;
    tg_site site;
    size_t n_variables, n_items;
    size_t n_own; /* shards */
    tg_variable **variables;
    /* [item][shard], [item][partial], [item] */
    tg_value *values, *partials, *results;
    tg_value *args; /* [shard][argument] */
    size_t n_args, n_partials;
} step;

static bool fail(step *s, const char *text)
{
    tg_fail_at(s->t, s->site, "mpi_minimise: %s", text);
    return false;
}

/* -- The shards of the arguments ------------------------------------------- */

/* Cuts axis 0 of an argument into the shards of this rank. */
static void cut(step *s, tg_operand arg, tg_value *out_shards)
{
    int64_t dims[TG_MAX_RANK + 1] = {(int64_t)s->n_own, -1};
    const tg_value x = tgi_mpi_value(s->t, "mpi_minimise", arg, s->site);
    const int rank = tg_value_rank(x);
    if (tg_trace_status(s->t))
        return;
    if (s->n_own == 1) {
        out_shards[0] = x;
        return;
    }
    if (rank < 1 || rank == TG_MAX_RANK) {
        tg_fail_at(s->t, s->site,
                   "mpi_minimise: an argument has rank %d; it must be 1 to %d",
                   rank, TG_MAX_RANK - 1);
        return;
    }
    const int64_t rows = tg_value_dim(x, 0);
    if (tg_dim_is_known(rows)) {
        dims[1] = rows / dims[0];
        if (rows % dims[0]) {
            tg_fail_at(s->t, s->site,
                       "mpi_minimise: %lld rows are not a multiple of the %lld "
                       "shards of rank %d; see tg_mpi_dataset_shard",
                       (long long)rows, (long long)dims[0], s->m->ranks.rank);
            return;
        }
    }
    for (int axis = 1; axis < rank; axis++)
        dims[axis + 1] = tg_value_dim(x, axis);
    tg_unstack_at(
        tg_in_value(tg_reshape_at(tg_in_value(x), rank + 1, dims, s->site)), 0,
        out_shards, s->n_own, s->site);
}

/* -- Losses and gradients of the shards ------------------------------------ */

static void differentiate_shard(step *s, tg_function *loss, size_t shard)
{
    tg_operand *args = malloc((s->n_args + 1) * sizeof(*args));
    tg_value *gradients = malloc((s->n_variables + 1) * sizeof(*gradients));
    tg_value value = {0, 0};
    if (!args || !gradients) {
        fail(s, "out of memory");
    } else {
        for (size_t i = 0; i < s->n_args; i++)
            args[i] = tg_in_value(s->args[i * s->n_own + shard]);
        tg_apply_at(loss, args, s->n_args, &value, 1, s->site);
        tg_gradients_of_variables_at(tg_in_value(value), s->variables,
                                     s->n_variables, gradients, s->site);
        for (size_t i = 0; i < s->n_variables; i++)
            s->values[i * s->n_own + shard] = gradients[i];
        s->values[s->n_variables * s->n_own + shard] = value;
    }
    free(args);
    free(gradients);
}

static bool check_loss(step *s)
{
    const tg_value loss = s->values[s->n_variables * s->n_own];
    if (tg_trace_status(s->t))
        return false;
    if (tg_value_rank(loss) == 0 && (tg_value_dtype(loss) == TG_F32 ||
                                     tg_value_dtype(loss) == TG_F64))
        return true;
    return fail(s, "the loss must be a scalar of floats");
}

/* -- Buckets --------------------------------------------------------------- */

static size_t item_bytes(const step *s, size_t item)
{
    return item < s->n_variables
               ? tg_variable_bytes(s->variables[item])
               : tg_dtype_bytes(
                     tg_value_dtype(s->partials[item * s->n_partials]));
}

static tg_dtype item_dtype(const step *s, size_t item)
{
    return tg_value_dtype(s->partials[item * s->n_partials]);
}

/* A bucket of the items last, last - 1, ... first. */
typedef struct bucket {
    size_t first, last;
    tgi_mpi_call *call;
} bucket;

static void start_bucket(step *s, bucket *b)
{
    const size_t n = b->last - b->first + 1;
    tg_operand *inputs = malloc(n * s->n_partials * sizeof(*inputs));
    b->call = tgi_mpi_call_create(s->m, TGI_MPI_BUCKET, TG_MPI_SUM, 0,
                                  &s->m->shards);
    if (!inputs || !b->call) {
        fail(s, "out of memory");
    } else {
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < s->n_partials; k++)
                inputs[i * s->n_partials + k] = tg_in_value(
                    s->partials[(b->last - i) * s->n_partials + k]);
        tg_host_start_at(s->t, tgi_mpi_bucket_start, b->call, inputs,
                         n * s->n_partials, s->site);
    }
    free(inputs);
}

static void finish_bucket(step *s, const bucket *b)
{
    const size_t n = b->last - b->first + 1;
    tgi_mpi_type *types = malloc(n * sizeof(*types));
    tg_host_spec *specs = malloc(n * sizeof(*specs));
    tg_value *results = malloc(n * sizeof(*results));
    if (!types || !specs || !results) {
        fail(s, "out of memory");
    } else {
        for (size_t i = 0; i < n; i++) {
            tgi_mpi_type_of(s->partials[(b->last - i) * s->n_partials],
                            &types[i]);
            specs[i] = types[i].spec;
        }
        tg_host_call_at(s->t, tgi_mpi_bucket_finish, b->call, NULL, 0, specs,
                        results, n, s->site);
        for (size_t i = 0; i < n; i++)
            s->results[b->last - i] = results[i];
    }
    free(types);
    free(specs);
    free(results);
}

/* Reduces the partials of all items over the ranks. The backward pass computes
   the gradients of the last variables first. */
static void reduce_items(step *s)
{
    bucket *buckets = malloc(s->n_items * sizeof(*buckets));
    size_t n = 0;
    if (!buckets) {
        fail(s, "out of memory");
        return;
    }
    for (size_t end = s->n_items; end;) {
        bucket *b = &buckets[n++];
        size_t bytes = item_bytes(s, end - 1);
        const tg_dtype dtype = item_dtype(s, end - 1);
        *b = (bucket){end - 1, end - 1, NULL};
        while (b->first && item_dtype(s, b->first - 1) == dtype) {
            bytes += item_bytes(s, b->first - 1);
            if (bytes > s->m->bucket_bytes)
                break;
            b->first--;
        }
        end = b->first;
        start_bucket(s, b);
    }
    for (size_t i = 0; i < n && !tg_trace_status(s->t); i++)
        finish_bucket(s, &buckets[i]);
    free(buckets);
}

/* -- The step -------------------------------------------------------------- */

static void combine_items(step *s)
{
    s->n_partials = 0;
    for (size_t i = 0; i < s->n_items; i++) {
        tg_value partials[TGI_MPI_MAX_PARTIALS];
        s->n_partials = tgi_mpi_partials(
            s->m, TG_MPI_SUM, &s->values[i * s->n_own], partials, s->site);
        for (size_t k = 0; k < s->n_partials; k++)
            s->partials[i * s->n_partials + k] = partials[k];
        s->results[i] = partials[0];
    }
}

/* Allocates the arrays; n_own, n_args and n_variables are set. */
static bool step_init(step *s, const tg_bundle_type *model_type,
                      const void *model)
{
    const size_t n = s->n_own * (s->n_items + s->n_args) + 1;
    s->variables = calloc(s->n_variables + 1, sizeof(*s->variables));
    s->values = calloc(n, sizeof(*s->values));
    s->args = calloc(n, sizeof(*s->args));
    s->partials =
        calloc(s->n_items * TGI_MPI_MAX_PARTIALS, sizeof(*s->partials));
    s->results = calloc(s->n_items, sizeof(*s->results));
    if (!s->variables || !s->values || !s->args || !s->partials || !s->results)
        return fail(s, "out of memory");
    tg_bundle_variables(model_type, model, TG_TRAINABLE, s->variables,
                        s->n_variables);
    return true;
}

static void step_deinit(step *s)
{
    free(s->variables);
    free(s->values);
    free(s->args);
    free(s->partials);
    free(s->results);
}

/* Computes the means of all items. */
static bool reduce_step(step *s, tg_callback *loss, void *user,
                        const tg_operand *args)
{
    tg_function *f = tgi_mpi_function(s->m, loss, user);
    if (!f)
        return fail(s, "the function of the loss cannot be created");
    for (size_t i = 0; i < s->n_args; i++)
        cut(s, args[i], &s->args[i * s->n_own]);
    for (size_t shard = 0; shard < s->n_own && !tg_trace_status(s->t); shard++)
        differentiate_shard(s, f, shard);
    if (tg_trace_status(s->t) || !check_loss(s))
        return false;
    combine_items(s);
    if (s->m->ranks.n_ranks > 1)
        reduce_items(s);
    for (size_t i = 0; i < s->n_items && s->m->shards.n_shards > 1; i++)
        s->results[i] = tg_div(s->results[i], s->m->shards.n_shards);
    return tg_trace_status(s->t) == TG_OK;
}

tg_value tg_mpi_minimise_at(tg_trace *t, tg_mpi *mpi, tg_callback *loss,
                            void *user, const tg_operand *args, size_t n_args,
                            tg_operand rate, tg_update_rule rule,
                            const tg_bundle_type *type, const void *model,
                            const void *state, tg_site site)
{
    step s = {.t = t, .m = mpi, .site = site, .n_args = n_args};
    tg_value mean = {0, 0};
    if (!mpi || !loss || !type || !model || (n_args && !args)) {
        fail(&s, "an argument is NULL");
        return mean;
    }
    /* The first member of an optimiser is shaped like the model. */
    const tg_bundle_type *model_type =
        type->n_fields == 3 ? type->fields[0].bundle : NULL;
    if (!model_type) {
        fail(&s, "the type is not one of TG_DEFINE_OPTIMISER");
        return mean;
    }
    s.n_variables =
        tg_bundle_variables(model_type, model, TG_TRAINABLE, NULL, 0);
    s.n_items = s.n_variables + 1;
    s.n_own = (size_t)tg_mpi_own_shards(mpi);
    if (step_init(&s, model_type, model) && reduce_step(&s, loss, user, args)) {
        tg_optimiser_apply_at(rate, rule, type, model, state, s.results,
                              s.n_variables, site);
        mean = s.results[s.n_variables];
    }
    step_deinit(&s);
    return mean;
}
