/* SPDX-License-Identifier: MIT */
/*
 * partials.c - see partials.h. a + b is a function of its own: tg_apply never
 * contracts it with a product that computes a or b. Otherwise the bits would
 * depend on which sums are computed here and which by combine.c.
 */
#include "mpi/partials.h"

#include "mpi/function_list.h"
#include "tgjit/ops.h"
#include "tgjit/trace.h"

tg_value tgi_mpi_value(tg_trace *t, const char *name, tg_operand x,
                       tg_site site)
{
    switch ((tg_operand_kind)x.kind) {
    case TG_OPERAND_VALUE:
        return x.as.value;
    case TG_OPERAND_VARIABLE:
    case TG_OPERAND_VARIABLE_VALUE:
        return tg_read_at(tg_in_variable(x.as.variable), site);
    case TG_OPERAND_TENSOR:
        return tg_reshape_at(x, tg_tensor_rank(x.as.tensor),
                             tg_tensor_dims(x.as.tensor), site);
    case TG_OPERAND_INT:
    case TG_OPERAND_UINT:
    case TG_OPERAND_FLOAT:
        return tg_broadcast_at(x, 0, NULL, site);
    default:
        tg_fail_at(t, site, "%s: not a value, variable, tensor or number",
                   name);
        return (tg_value){0, 0};
    }
}

void tgi_mpi_type_of(tg_value x, tgi_mpi_type *out_type)
{
    const int rank = tg_value_rank(x);
    out_type->spec = (tg_host_spec){tg_value_dtype(x), rank, out_type->dims};
    for (int axis = 0; axis < rank; axis++)
        out_type->dims[axis] = tg_value_dim(x, axis);
}

/* -- Combining two values -------------------------------------------------- */

static void add(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_add(in[0], in[1]));
}

static void max(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_max(in[0], in[1]));
}

static void min(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_min(in[0], in[1]));
}

static tg_value combine(tg_mpi *m, tg_mpi_reduction reduction, tg_value a,
                        tg_value b, tg_site site)
{
    tg_callback *callback = reduction == TG_MPI_MAX   ? max
                            : reduction == TG_MPI_MIN ? min
                                                      : add;
    tg_value result = {0, 0};
    tg_function *f = tgi_mpi_function(m, callback, NULL);
    if (f)
        tg_apply_at(f, TG_ARGS(a, b), &result, 1, site);
    return result;
}

/* The value of a node whose shards are all of this rank. */
static tg_value node_value(tg_mpi *m, tg_mpi_reduction reduction,
                           tgi_shard_node node, const tg_value *values,
                           tg_site site)
{
    tgi_shard_node right;
    if (node.level == 0)
        return values[node.first - tg_mpi_first_shard(m)];
    const tg_value left = node_value(m, reduction, tgi_shard_left(node), values,
                                     site);
    if (!tgi_shard_right(&m->shards, node, &right))
        return left;
    return combine(m, reduction, left,
                   node_value(m, reduction, right, values, site), site);
}

size_t tgi_mpi_partials(tg_mpi *m, tg_mpi_reduction reduction,
                        const tg_value *values, tg_value *out_partials,
                        tg_site site)
{
    tgi_shard_node nodes[TGI_MPI_MAX_PARTIALS];
    const size_t n = tgi_shards_partials(&m->shards, m->shards.rank, nodes);
    for (size_t i = 0; i < n; i++)
        out_partials[i] = node_value(m, reduction, nodes[i], values, site);
    return n;
}
