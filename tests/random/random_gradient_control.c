/* SPDX-License-Identifier: MIT */
/*
 * random_gradient_control.c - branches, loops and other nested callbacks of
 * random programs; their bodies are random programs again.
 */
#include <stdlib.h>

#include "random/random_gradient.h"

/* -- Bodies ---------------------------------------------------------------- */

gr_body *gr_body_create(gr_frame *f)
{
    gr_body *body = calloc(1, sizeof(*body));
    if (!body)
        abort();
    *body = (gr_body){.next = f->root->bodies,
                      .root = f->root,
                      .outer = f,
                      .seed = random_next(&f->random),
                      .depth = f->depth + 1,
                      .n_ops = 1 + gr_below(f, f->depth ? 3 : 5),
                      .is_pure = f->is_pure};
    f->root->bodies = body;
    return body;
}

void gr_trace_deinit(gr_trace *root)
{
    while (root->bodies) {
        gr_body *body = root->bodies;
        root->bodies = body->next;
        tg_function_release(body->function);
        free(body);
    }
}

void gr_body_param(gr_body *body, const gr_value *x)
{
    body->params[body->n_params++] = x->shape;
}

/* Begins a frame with the arguments of a body. */
static void begin_frame(gr_frame *f, gr_body *body, tg_trace *t,
                        const tg_value *in, uint64_t branch)
{
    *f = (gr_frame){.root = body->root,
                    .t = t,
                    .outer = body->outer,
                    .seed = gr_seed(body->seed, branch),
                    .random = gr_seed(body->seed, branch + 100),
                    .depth = body->depth,
                    .is_pure = body->is_pure};
    for (int i = 0; i < body->n_params; i++)
        gr_take(f, "param", in[body->counts + i], &body->params[i]);
    if (body->counts && gr_one_in(f, 2)) {
        const tg_value number = tg_cast(in[0], body->root->dtype);
        const gr_shape scalar = {0};
        gr_add(f, "iteration", tg_sin(number), &scalar, -1, 1);
    }
}

static void finish(gr_frame *f, gr_body *body, const tg_value *in)
{
    tg_operand results[1 + 2 * GR_MAX_PARAMS];
    size_t n = 0;
    if (body->steps)
        results[n++] = TG_IN(tg_add(in[0], (int64_t)1));
    for (int i = 0; i < body->n_like; i++) {
        const gr_value like = f->values[i]; /* arguments come first */
        results[n++] = TG_IN(gr_fitted(f, gr_pick(f), &like));
    }
    for (int i = 0; i < body->n_free; i++) {
        gr_value x = gr_pick(f);
        if (x.shape.rank == GR_MAX_RANK || gr_count(&x.shape) > 64) {
            x.value = tg_mean(x.value, TG_ALL_AXES);
            x.shape.rank = 0;
        }
        body->free[i] = x.shape;
        results[n++] = TG_IN(x.value);
    }
    gr_log_return(f, body->n_like);
    tg_return_at(f->t, results, n, TG_HERE);
}

static void trace_branch(gr_body *body, tg_trace *t, const tg_value *in,
                         uint64_t branch)
{
    gr_frame f;
    begin_frame(&f, body, t, in, branch);
    gr_make_some(&f, branch == 2 ? 0 : body->n_ops);
    finish(&f, body, in);
}

void gr_body_callback(tg_trace *t, const tg_value *in, void *user)
{
    trace_branch(user, t, in, 0);
}

static void branch_1(tg_trace *t, const tg_value *in, void *user)
{
    trace_branch(user, t, in, 1);
}

static void branch_2(tg_trace *t, const tg_value *in, void *user)
{
    trace_branch(user, t, in, 2);
}

/* -- Arguments and results ------------------------------------------------- */

typedef struct region {
    gr_body *body;
    gr_value args[GR_MAX_PARAMS];
    tg_operand operands[1 + GR_MAX_PARAMS];
    size_t n;
    tg_value results[1 + 2 * GR_MAX_PARAMS];
} region;

static void add_arg(region *r, gr_value x)
{
    gr_body_param(r->body, &x);
    r->args[r->body->n_params - 1] = x;
    r->operands[r->n++] = TG_IN(x.value);
}

/* Picks one to three values; the region returns results of their types. */
static void begin_region(gr_frame *f, region *r)
{
    *r = (region){.body = gr_body_create(f)};
    const int n = 1 + gr_below(f, 3);
    for (int i = 0; i < n; i++)
        add_arg(r, gr_pick(f));
    r->body->n_like = n;
}

/* Adds the results with the types of the arguments, from `first` on. */
static void add_results(gr_frame *f, const region *r, const char *name,
                        int first)
{
    for (int i = 0; i < r->body->n_like; i++)
        gr_take(f, name, r->results[first + i], &r->args[i].shape);
}

/* -- Branches -------------------------------------------------------------- */

void gr_make_cond(gr_frame *f)
{
    region r;
    begin_region(f, &r);
    tg_cond(gr_predicate(f), gr_body_callback,
            gr_one_in(f, 4) ? branch_2 : branch_1, r.body, r.operands, r.n,
            r.results, r.n);
    add_results(f, &r, "cond", 0);
}

void gr_make_switch(gr_frame *f)
{
    static tg_callback *const branches[] = {branch_1, gr_body_callback,
                                            branch_2};
    region r;
    begin_region(f, &r);
    const tg_value index = gr_index(f, 4);
    const size_t n = 1 + (size_t)gr_below(f, 3);
    tg_switch(index, branches, n, r.body, r.operands, r.n, r.results, r.n);
    add_results(f, &r, "switch", 0);
}

/* -- Loops ----------------------------------------------------------------- */

void gr_make_for(gr_frame *f)
{
    region r;
    begin_region(f, &r);
    r.body->counts = true;
    const bool has_unbounded =
        f->root->program->has_unbounded && gr_one_in(f, 2);
    if (has_unbounded)
        tg_for(gr_iterations(f), gr_body_callback, r.body, r.operands, r.n,
               r.results, r.n);
    else
        tg_for((int64_t)gr_below(f, 6), gr_body_callback, r.body, r.operands,
               r.n, r.results, r.n);
    add_results(f, &r, has_unbounded ? "for, unbounded" : "for", 0);
}

void gr_make_unrolled(gr_frame *f)
{
    region r;
    begin_region(f, &r);
    r.body->counts = true;
    tg_for_unrolled(gr_below(f, 4), gr_body_callback, r.body, r.operands, r.n,
                    r.results, r.n);
    add_results(f, &r, "for_unrolled", 0);
}

/* The test: an iteration limit and, if there is a bound, a mean above it. */
static void test_callback(tg_trace *t, const tg_value *in, void *user)
{
    const gr_body *body = user;
    tg_value goes = tg_lt(in[0], body->iterations);
    if (body->limit < GR_LARGEST) {
        const tg_value mean = tg_mean(in[1], TG_ALL_AXES);
        goes = tg_and(goes, tg_gt(mean, body->limit));
    }
    tg_return(t, goes);
}

void gr_make_while(gr_frame *f)
{
    if (!f->root->program->has_unbounded) {
        gr_make_for(f);
        return;
    }
    region r = {.body = gr_body_create(f)};
    const int n = 1 + gr_below(f, 3);
    r.operands[r.n++] = TG_IN(tg_scalar(TG_I64, (int64_t)0));
    for (int i = 0; i < n; i++)
        add_arg(&r, gr_pick(f));
    r.body->n_like = n;
    r.body->counts = r.body->steps = true;
    r.body->iterations =
        gr_one_in(f, 2) ? tg_scalar(TG_I64, (int64_t)5) : gr_iterations(f);
    r.body->limit = gr_one_in(f, 2) ? GR_LARGEST : gr_uniform(f, -1, 0.3);
    if (gr_one_in(f, 2))
        tg_while(test_callback, gr_body_callback, r.body, r.operands, r.n,
                 r.results, r.n);
    else
        tg_while_limit(100, test_callback, gr_body_callback, r.body, r.operands,
                       r.n, r.results, r.n);
    add_results(f, &r, "while", 1);
}

/* -- Scans and maps -------------------------------------------------------- */

static gr_shape without_first(const gr_shape *x)
{
    gr_shape shape = {.rank = x->rank - 1};
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = x->dims[i + 1];
    return shape;
}

static gr_shape with_first(int64_t n, const gr_shape *x)
{
    gr_shape shape = {.rank = x->rank + 1, .dims = {n}};
    for (int i = 0; i < x->rank; i++)
        shape.dims[i + 1] = x->dims[i];
    return shape;
}

/* Picks one or two sequences of equal length; returns their number. */
static size_t pick_sequences(gr_frame *f, gr_body *body, tg_operand *sequences,
                             int64_t *out_length)
{
    const gr_value first = gr_pick_rank(f, 1);
    const size_t n = 1 + (size_t)gr_below(f, 2);
    *out_length = first.shape.dims[0];
    for (size_t i = 0; i < n; i++) {
        gr_value x = first;
        if (i)
            x.value = tg_mul(tg_sin(x.value), gr_weights(f, &x, -1, 1));
        sequences[i] = TG_IN(x.value);
        x.shape = without_first(&x.shape);
        gr_body_param(body, &x);
    }
    return n;
}

static void add_stacked(gr_frame *f, const gr_body *body, const char *name,
                        const tg_value *stacked, int64_t length)
{
    for (int i = 0; i < body->n_free; i++) {
        const gr_shape shape = with_first(length, &body->free[i]);
        gr_take(f, name, stacked[i], &shape);
    }
}

void gr_make_scan(gr_frame *f)
{
    region r = {.body = gr_body_create(f)};
    tg_operand sequences[2];
    tg_value stacked[2];
    int64_t length;
    const int n = 1 + gr_below(f, 2);
    for (int i = 0; i < n; i++)
        add_arg(&r, gr_pick(f));
    r.body->n_like = n;
    r.body->n_free = gr_below(f, 3);
    const size_t n_sequences = pick_sequences(f, r.body, sequences, &length);
    tg_scan(gr_body_callback, r.body, r.operands, r.n, sequences, n_sequences,
            r.results, r.n, stacked, (size_t)r.body->n_free);
    add_results(f, &r, "scan", 0);
    add_stacked(f, r.body, "scan stacked", stacked, length);
}

void gr_make_map(gr_frame *f)
{
    gr_body *body = gr_body_create(f);
    tg_operand sequences[2];
    tg_value stacked[2];
    int64_t length;
    body->n_free = 1 + gr_below(f, 2);
    const size_t n = pick_sequences(f, body, sequences, &length);
    tg_map(gr_body_callback, body, sequences, n, stacked, (size_t)body->n_free);
    add_stacked(f, body, "map", stacked, length);
}

/* -- Other callbacks ------------------------------------------------------- */

static void begin_call(gr_frame *f, region *r)
{
    *r = (region){.body = gr_body_create(f)};
    const int n = 1 + gr_below(f, 3);
    for (int i = 0; i < n; i++)
        add_arg(r, gr_pick(f));
    r->body->n_like = gr_below(f, n + 1);
    r->body->n_free = r->body->n_like ? gr_below(f, 2) : 1;
}

static void add_call_results(gr_frame *f, const region *r, const char *name)
{
    add_results(f, r, name, 0);
    for (int i = 0; i < r->body->n_free; i++)
        gr_take(f, name, r->results[r->body->n_like + i], &r->body->free[i]);
}

static size_t n_results(const region *r)
{
    return (size_t)(r->body->n_like + r->body->n_free);
}

/* Applies a function once or twice, the second time to its first result. */
void gr_make_apply(gr_frame *f)
{
    region r;
    begin_call(f, &r);
    gr_body *body = r.body;
    body->outer = NULL;
    body->function = tg_function_create_named(f->root->ctx, "inner",
                                              gr_body_callback, body, NULL);
    tg_apply(body->function, r.operands, r.n, r.results, n_results(&r));
    add_call_results(f, &r, "apply");
    if (body->n_like && gr_one_in(f, 2)) {
        r.operands[0] = TG_IN(r.results[0]);
        tg_apply(body->function, r.operands, r.n, r.results, n_results(&r));
        add_call_results(f, &r, "apply again");
    }
}

void gr_make_checkpoint(gr_frame *f)
{
    region r;
    begin_call(f, &r);
    r.body->is_pure = true;
    tg_checkpoint(gr_body_callback, r.body, r.operands, r.n, r.results,
                  n_results(&r));
    add_call_results(f, &r, "checkpoint");
}
