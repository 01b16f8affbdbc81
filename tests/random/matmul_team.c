/* SPDX-License-Identifier: MIT */
/*
 * matmul_team.c - runs a compiled form with teams, with all kernels split that
 * can be, in guarded memory.
 */
#include <stdlib.h>
#include <string.h>

#include "random/matmul.h"
#include "run/team.h"
#include "support/guarded.h"
#include "support/watched.h"

static const int teams[] = PRODUCT_TEAMS;
enum { N_TEAMS = sizeof(teams) / sizeof(teams[0]) };

/* A compiled trace for one size. */
typedef struct native {
    const tgi_graph *graph;
    tgi_program *program;
    int64_t *symbols;
    int64_t *values; /* of the graph's extents, then of the loops' */
    bool is_split;
} native;

static int64_t *values_of(const tgi_dims *dims, const int64_t *symbols)
{
    int64_t *values =
        tgi_alloc((tgi_dims_n_values(dims) + 1) * sizeof(*values));
    if (!values || tgi_dims_evaluate(dims, symbols, values))
        abort();
    return values;
}

/* The program that the call compiled; false if there is none. */
static bool find_native(const product_run *r, native *out)
{
    const tg_concrete *concrete = r->concrete;
    const tgi_variant_table *table = &concrete->variants;
    const size_t n = tgi_dims_n_symbols(concrete->graph->dims);
    *out = (native){.graph = concrete->graph};
    out->symbols = tgi_alloc((n + 1) * sizeof(*out->symbols));
    if (!out->symbols)
        abort();
    for (size_t i = 0; i < n; i++) {
        const tgi_symbol source = tgi_dims_symbol(concrete->graph->dims, i);
        out->symbols[i] =
            r->args[concrete->param_arg[source.param]].type.dims[source.axis];
    }
    out->values = values_of(concrete->graph->dims, out->symbols);
    for (size_t i = 0; i < table->list.n; i++)
        if (tgi_variant_is_same(concrete->graph, out->values,
                                table->list.data[i].values))
            out->program = table->list.data[i].program;
    if (!out->program)
        return false;
    int64_t *values = values_of(out->program->loops->dims, out->symbols);
    out->is_split = rg_structure_is_split(out->program, values);
    tgi_free(values);
    return true;
}

static void native_deinit(native *n)
{
    tgi_free(n->symbols);
    tgi_free(n->values);
}

/* Memory of one run. */
typedef struct buffers {
    size_t n_slots;
    char *args[PRODUCT_ROLES];
    void *params[PRODUCT_ROLES], *results[PRODUCT_MAX_RESULTS];
    rg_type types[PRODUCT_MAX_RESULTS];
    int aliased; /* argument that shares memory with the first result; -1:
                    none */
} buffers;

static void *guarded(product_run *r, buffers *b, const rg_type *type)
{
    return guarded_room(b->n_slots++, rg_size(type),
                        (size_t)tgi_dtype_bytes(type->dtype),
                        rg_random(&r->random));
}

/* Sometimes a result shares the memory of an argument. */
static int find_alias(product_run *r, const buffers *b)
{
    for (int i = 0; i < r->n_args && rg_random(&r->random) % 4 == 0; i++)
        if (!r->args[i].is_variable &&
            r->args[i].type.dtype == b->types[0].dtype &&
            rg_size(&r->args[i].type) == rg_size(&b->types[0]) &&
            rg_size(&b->types[0]) > 0)
            return i;
    return -1;
}

static void place(product_run *r, const native *n, buffers *b)
{
    *b = (buffers){.aliased = -1};
    for (int i = 0; i < r->n_args; i++) {
        b->args[i] = guarded(r, b, &r->args[i].type);
        memcpy(b->args[i], r->data[i], rg_size(&r->args[i].type));
    }
    for (size_t i = 0; i < r->concrete->n_arg_params; i++)
        b->params[i] = b->args[r->concrete->param_arg[i]];
    for (size_t i = 0; i < n->graph->results.n; i++) {
        const tgi_ref ref = n->graph->results.data[i];
        const tgi_shape *shape = tgi_graph_shape(n->graph, ref);
        rg_type *type = &b->types[i];
        *type = (rg_type){.dtype = tgi_graph_node(n->graph, ref)->dtype,
                          .rank = (int8_t)shape->rank};
        for (int axis = 0; axis < shape->rank; axis++)
            type->dims[axis] = tgi_dim_value(shape->dims[axis], n->values);
        b->results[i] = guarded(r, b, type);
    }
    if (n->graph->results.n)
        b->aliased = find_alias(r, b);
    if (b->aliased >= 0)
        b->results[0] = b->args[b->aliased];
}

static const char *run_team(product_run *r, const native *n, int n_threads,
                            buffers *b, rg_outcome *o)
{
    const tgi_native_options options = {.threads = n_threads};
    tgi_native *made = NULL;
    int team = 0;
    rg_outcome_init(o);
    tg_status status =
        tgi_native_create(n->program, n->symbols, &options, &made);
    if (!status)
        status = tgi_native_bind(made, b->params, b->results);
    if (!status)
        status = run_watched(n->program, made, false, &team);
    tgi_native_destroy(made);
    rg_outcome_set_status(o, status);
    for (size_t i = 0; i < n->graph->results.n && !status; i++)
        rg_outcome_add_result(o, i, b->types[i].dtype, b->types[i].rank,
                              b->types[i].dims, b->results[i]);
    for (int i = 0; i < r->n_args; i++)
        if (r->args[i].is_variable)
            rg_outcome_add_variable(o, i, &r->args[i].type, b->args[i]);
    r->tally->n_runs++;
    r->tally->n_team_runs += team > 1;
    r->tally->n_split_runs += team > 1 && n->is_split;
    if (!guarded_is_intact(b->n_slots))
        return "memory beside a buffer is written";
    for (int i = 0; i < r->n_args; i++)
        if (!r->args[i].is_variable && i != b->aliased &&
            memcmp(b->args[i], r->data[i], rg_size(&r->args[i].type)) != 0)
            return "an argument is written";
    return team == tgi_team_size(n_threads) ? ""
                                            : "the team has not its threads";
}

bool product_check_teams(product_run *r, const rg_outcome *expected)
{
    native n;
    bool good = find_native(r, &n) || product_fail(r, "it is not compiled");
    for (int i = 0; i < N_TEAMS && good; i++) {
        buffers b;
        rg_outcome outcome;
        place(r, &n, &b);
        const char *wrong = run_team(r, &n, teams[i], &b, &outcome);
        if (!*wrong)
            wrong = rg_outcome_difference(expected, &outcome);
        if (*wrong)
            good = product_fail(r, "by a team of %d%s: %s", teams[i],
                                b.aliased >= 0 ? ", in place" : "", wrong);
        rg_outcome_deinit(&outcome);
    }
    native_deinit(&n);
    return good;
}
