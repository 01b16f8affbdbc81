/* SPDX-License-Identifier: MIT */
/*
 * random_gradient_program.c - whole random programs: arguments, operations, a
 * target, and the requested derivatives.
 */
#include <string.h>

#include "random/random_gradient.h"

uint64_t gr_seed(uint64_t seed, uint64_t number)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u ^ number;
    return random_next(&state);
}

/* -- Kinds of operations --------------------------------------------------- */

const gr_kind gr_kinds[] = {
    {"unary", gr_make_unary, 24, false},
    {"binary", gr_make_binary, 24, false},
    {"fma", gr_make_ternary, 3, false},
    {"select", gr_make_select, 4, false},
    {"kinked", gr_make_kinked, 8, false},
    {"cast", gr_make_cast, 2, false},
    {"broadcast", gr_make_broadcast, 4, false},
    {"reshape", gr_make_reshape, 4, false},
    {"transpose", gr_make_transpose, 4, false},
    {"slice", gr_make_slice, 5, false},
    {"pad", gr_make_pad, 3, false},
    {"concat", gr_make_concat, 4, false},
    {"gather", gr_make_gather, 5, false},
    {"scatter", gr_make_scatter, 5, false},
    {"dynamic_slice", gr_make_dynamic_slice, 4, false},
    {"dynamic_update", gr_make_dynamic_update, 4, false},
    {"sum", gr_make_sum, 6, false},
    {"prod", gr_make_prod, 4, false},
    {"largest", gr_make_largest, 4, false},
    {"matmul", gr_make_matmul, 8, false},
    {"einsum", gr_make_einsum, 4, false},
    {"network", gr_make_network, 6, false},
    {"variable", gr_make_variable, 5, false},
    {"state", gr_make_state, 4, false},
    {"stop", gr_make_stop, 4, false},
    {"custom", gr_make_custom, 3, false},
    {"host", gr_make_host, 1, false},
    {"effect", gr_make_effect, 3, false},
    {"draw", gr_make_draw, 2, false},
    {"empty", gr_make_empty, 2, false},
    {"inner gradient", gr_make_inner_gradient, 2, true},
    {"cond", gr_make_cond, 4, true},
    {"switch", gr_make_switch, 3, true},
    {"for", gr_make_for, 6, true},
    {"unrolled", gr_make_unrolled, 1, true},
    {"while", gr_make_while, 4, true},
    {"scan", gr_make_scan, 4, true},
    {"map", gr_make_map, 3, true},
    {"apply", gr_make_apply, 3, true},
    {"checkpoint", gr_make_checkpoint, 3, true},
};
const int gr_n_kinds = sizeof(gr_kinds) / sizeof(*gr_kinds);

static int pick_kind(gr_frame *f)
{
    const bool can_nest = f->depth < GR_MAX_DEPTH;
    int total = 0, i = 0;
    for (int k = 0; k < gr_n_kinds; k++)
        total += can_nest || !gr_kinds[k].is_region ? gr_kinds[k].weight : 0;
    for (int left = gr_below(f, total);; i++) {
        const gr_kind *kind = &gr_kinds[i];
        if (kind->is_region && !can_nest)
            continue;
        if (left < kind->weight)
            return i;
        left -= kind->weight;
    }
}

static bool is_dropped(const gr_dropped *dropped, uint64_t site)
{
    for (int i = 0; i < dropped->n; i++)
        if (dropped->sites[i] == site)
            return true;
    return false;
}

/* Each operation has its own random numbers, so that those after a dropped one
   keep their choices, apart from operands. */
void gr_make_some(gr_frame *f, int n)
{
    gr_trace *root = f->root;
    for (int i = 0; i < n && f->n_values < GR_MAX_VALUES - 8; i++) {
        const uint64_t site = gr_seed(f->seed, (uint64_t)i);
        if (is_dropped(&root->program->dropped, site))
            continue;
        if (root->n_sites < GR_MAX_DROPPED)
            root->sites[root->n_sites++] = site;
        f->random = site;
        const int kind = pick_kind(f);
        if (root->form == GR_WHOLE)
            root->tally->made[kind]++;
        gr_kinds[kind].make(f);
    }
    f->random = gr_seed(f->seed, 1u << 20);
}

/* -- Programs -------------------------------------------------------------- */

static gr_shape some_shape(uint64_t *random, bool large)
{
    static const int extents[] = {1, 2, 3, 3, 4, 5}, wide[] = {8, 9, 17, 33};
    gr_shape shape = {.rank = random_below(random, 4)};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = extents[random_below(random, 6)];
    if (large && shape.rank && shape.rank < 3)
        shape.dims[shape.rank - 1] = wide[random_below(random, 4)];
    return shape;
}

void gr_program_init(gr_program *p, uint64_t seed, bool has_unbounded,
                     bool quick)
{
    uint64_t random = seed;
    *p = (gr_program){.seed = seed, .has_unbounded = has_unbounded};
    const bool large = random_below(&random, 5) == 0;
    const bool unknown = random_below(&random, 4) == 0;
    p->n_inputs = 1 + random_below(&random, 3);
    p->n_variables = random_below(&random, GR_MAX_VARIABLES);
    for (int i = 0; i < p->n_inputs; i++) {
        p->inputs[i] = some_shape(&random, large);
        p->unknown[i] = unknown ? (unsigned)random_below(&random, 16) : 0;
    }
    for (int i = 0; i < p->n_variables; i++)
        p->variables[i] = some_shape(&random, large);
    /* Often an existing shape. */
    p->state =
        random_below(&random, 2) ? p->inputs[0] : some_shape(&random, false);
    p->iterations = random_below(&random, 6);
    p->n_ops = 5 + random_below(&random, random_below(&random, 4) ? 12 : 36);
    p->has_jvp = random_below(&random, 4) == 0 || !quick;
    p->has_second = random_below(&random, quick ? 12 : 3) == 0;
    p->zeros = random_below(&random, 2);
    p->trains = random_below(&random, 3) == 0;
    p->seeds = random_below(&random, 3) == 0;
    p->passes = random_below(&random, 4) == 0;
    p->shares = random_below(&random, 2) == 0;
    p->is_fast = random_below(&random, 4) == 0;
}

/* -- The callback ---------------------------------------------------------- */

enum { MAX_TARGETS = 10 };

/* Target values, with a weight for each element. */
typedef struct targets {
    size_t n;
    tg_operand values[MAX_TARGETS], weights[MAX_TARGETS];
    tg_value sum; /* weighted sum of all elements */
} targets;

/* Targets: all unused values, and the last one. */
static void make_targets(gr_frame *f, targets *t)
{
    t->n = 0;
    t->sum = gr_number(f, 0);
    for (int i = f->n_values - 1; i >= 0 && t->n < MAX_TARGETS; i--) {
        const gr_value x = f->values[i];
        if (x.is_used && t->n)
            continue;
        const tg_value weights = gr_weights(f, &x, -1, 1);
        const tg_value weighted = tg_mul(x.value, weights);
        t->sum = tg_add(t->sum, tg_sum(weighted, TG_ALL_AXES));
        t->values[t->n] = TG_IN(x.value);
        t->weights[t->n++] = TG_IN(weights);
    }
}

static tg_operand source(const gr_trace *root, int i)
{
    const int n = root->program->n_inputs;
    return i < n ? TG_IN(root->in[i]) : root->variables[i - n];
}

/* Zeros of the type of a source. */
static tg_value zeros_of(const gr_trace *root, int i)
{
    const int n = root->program->n_inputs;
    const tg_value x = i < n ? root->in[i] : tg_read(root->variables[i - n]);
    int64_t dims[GR_MAX_RANK];
    const int rank = tg_value_rank(x);
    for (int k = 0; k < rank; k++)
        dims[k] = tg_value_dim(x, k);
    return tg_broadcast(tg_scalar(root->dtype, 0.0), rank, dims);
}

static void make_gradients(const gr_trace *root, const targets *t,
                           tg_value *gradients)
{
    const int n = gr_n_sources(root->program);
    tg_operand sources[GR_MAX_SOURCES];
    const tg_unconnected unconnected =
        root->program->zeros ? TG_UNCONNECTED_ZEROS : TG_UNCONNECTED_NONE;
    for (int i = 0; i < n; i++)
        sources[i] = source(root, i);
    const tg_operand sum = TG_IN(t->sum);
    if (root->program->seeds)
        tg_gradients_with(t->values, t->n, t->weights, unconnected, sources,
                          (size_t)n, gradients);
    else
        tg_gradients_with(&sum, 1, NULL, unconnected, sources, (size_t)n,
                          gradients);
    for (int i = 0; i < n && !root->program->zeros; i++)
        if (!tg_is_valid(gradients[i])) {
            root->tally->n_unconnected++;
            gradients[i] = zeros_of(root, i);
        }
}

static tg_value direction(const gr_trace *root, int i)
{
    return root->in[root->program->n_inputs + 1 + i];
}

/* The derivative of the gradients along all directions. */
static void make_second(const gr_trace *root, const tg_value *gradients,
                        tg_value *second)
{
    const int n = gr_n_sources(root->program);
    tg_operand sources[GR_MAX_SOURCES];
    tg_value along = tg_scalar(root->dtype, 0.0);
    for (int i = 0; i < n; i++) {
        const tg_value product = tg_mul(gradients[i], direction(root, i));
        along = tg_add(along, tg_sum(product, TG_ALL_AXES));
        sources[i] = source(root, i);
    }
    const tg_operand target = TG_IN(along);
    tg_gradients_with(&target, 1, NULL, TG_UNCONNECTED_ZEROS, sources,
                      (size_t)n, second);
}

/* Builds the derivatives that follow the gradients. */
static int make_others(gr_frame *f, tg_value target, const tg_value *gradients,
                       tg_value *results, int n)
{
    const gr_trace *root = f->root;
    const int n_sources = gr_n_sources(root->program);
    gr_results *at = &f->root->results;
    *at = (gr_results){.jvp = n,
                       .jvp_source = gr_below(f, n_sources),
                       .hessian_source = gr_below(f, n_sources)};
    if (root->program->has_jvp)
        results[n++] = tg_jvp(target, source(root, at->jvp_source),
                              direction(root, at->jvp_source));
    if (root->program->has_second) {
        at->second = n;
        make_second(root, gradients, &results[n]);
        n += n_sources;
        at->hessian = n;
        results[n] = tg_hessian_vector(target, source(root, at->hessian_source),
                                       direction(root, at->hessian_source));
        if (!tg_is_valid(results[n]))
            results[n] = zeros_of(root, at->hessian_source);
        n++;
    }
    at->frozen = n;
    for (int i = 0; i < GR_MAX_STOPS; i++)
        results[n++] =
            i < root->n_stops ? root->stops[i] : tg_scalar(root->dtype, 0.0);
    return n;
}

static void take_sources(gr_frame *f)
{
    const gr_trace *root = f->root;
    for (int i = 0; i < root->program->n_inputs; i++)
        gr_take(f, "input", root->in[i], &root->program->inputs[i]);
    for (int i = 0; i < root->program->n_variables; i++)
        gr_take(f, "variable", tg_read(root->variables[i]),
                &root->program->variables[i]);
}

/* The variables, or the arguments that represent them. */
static void find_variables(gr_trace *root)
{
    const gr_program *p = root->program;
    const int n_before =
        p->n_inputs + 1 +
        (root->form == GR_WHOLE ? gr_n_sources(p) : GR_MAX_STOPS);
    for (int i = 0; i < p->n_variables; i++)
        root->variables[i] = p->passes ? TG_IN(root->in[n_before + i])
                                       : TG_IN(root->captured[i]);
}

void gr_callback(tg_trace *trace, const tg_value *in, void *user)
{
    gr_trace *root = user;
    gr_frame f = {.root = root, .t = trace, .seed = root->program->seed};
    targets t;
    root->in = in;
    find_variables(root);
    root->n_stops = root->next_id = root->n_sites = 0;
    f.random = gr_seed(f.seed, 0);
    take_sources(&f);
    gr_make_some(&f, root->program->n_ops);
    make_targets(&f, &t);
    const tg_value target = t.sum;
    tg_value results[GR_MAX_RESULTS] = {target};
    tg_operand operands[GR_MAX_RESULTS];
    int n = 1;
    if (root->form != GR_TARGET) {
        make_gradients(root, &t, &results[1]);
        n += gr_n_sources(root->program);
    }
    if (root->form == GR_WHOLE)
        n = make_others(&f, target, &results[1], results, n);
    if (root->form == GR_WHOLE && root->program->trains)
        for (int i = 0; i < root->program->n_variables; i++)
            tg_assign_sub(
                root->variables[i],
                tg_mul(results[1 + root->program->n_inputs + i], 0.1));
    root->results.n = n;
    for (int i = 0; i < n; i++)
        operands[i] = TG_IN(results[i]);
    tg_return_at(trace, operands, (size_t)n, TG_HERE);
}
