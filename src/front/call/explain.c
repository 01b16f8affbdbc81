/* SPDX-License-Identifier: MIT */
/*
 * explain.c - why a function was traced again, and what its traces are.
 */
#include <string.h>

#include "front/call/function_object.h"
#include "ir/dump.h"

/* -- Reasons --------------------------------------------------------------- */

/* The extent that a trace requires of a call. For a symbolic one, this is the
   call's extent where the symbol first occurs. */
static int64_t required_dim(const tgi_args *args, const tgi_args *spec,
                            int64_t dim)
{
    for (size_t i = 0; dim < 0 && i < spec->list.n; i++)
        for (int axis = 0; axis < spec->list.data[i].rank; axis++)
            if (spec->list.data[i].dims[axis] == dim)
                return args->list.data[i].dims[axis];
    return dim;
}

/*
 * The first difference between the arguments and a trace, and a score of their
 * similarity: the sum of the reasons of all arguments, which are numbered from
 * the coarsest difference to the finest.
 */
static tg_retrace compare_signatures(const tgi_args *args, const tg_concrete *c,
                                     size_t *out_agreement)
{
    const tgi_args *spec = &c->spec;
    size_t agreement = 0;
    tg_retrace first = {.reason = TG_RETRACE_CAPTURE};
    *out_agreement = 0;
    if (args->list.n != spec->list.n || args->n_operands != spec->n_operands)
        return (tg_retrace){.reason = TG_RETRACE_ARG_COUNT,
                            .before = (int64_t)spec->n_operands,
                            .now = (int64_t)args->n_operands};
    bool differs = false;
    for (size_t i = 0; i < args->list.n; i++) {
        const tgi_arg *a = &args->list.data[i], *b = &spec->list.data[i];
        tg_retrace here = {.arg = i};
        bool same = false;
        tgi_args one = {.list = {.data = args->list.data + i, .n = 1}};
        tgi_args other = {.list = {.data = spec->list.data + i, .n = 1}};
        if (a->kind != b->kind || a->bundle_type != b->bundle_type ||
            a->is_untrainable != b->is_untrainable) {
            here.reason = TG_RETRACE_KIND;
            here.before = b->kind;
            here.now = a->kind;
        } else if (a->dtype != b->dtype) {
            here.reason = a->kind == TGI_ARG_STATIC ? TG_RETRACE_STATIC
                                                    : TG_RETRACE_DTYPE;
            here.before = b->dtype;
            here.now = a->dtype;
        } else if (a->rank != b->rank) {
            here.reason = TG_RETRACE_RANK;
            here.before = b->rank;
            here.now = a->rank;
        } else if (a->kind == TGI_ARG_VARIABLE && a->alias != b->alias) {
            here.reason = TG_RETRACE_ALIAS;
            here.before = b->alias;
            here.now = a->alias;
        } else if (a->kind == TGI_ARG_STATIC) {
            same = tgi_args_fit(&one, &other);
            here.reason = TG_RETRACE_STATIC;
            here.before = b->fixed.as.i;
            here.now = a->fixed.as.i;
        } else {
            same = true;
            for (int axis = 0; axis < a->rank && same; axis++) {
                int64_t required = required_dim(args, spec, b->dims[axis]);
                same = a->dims[axis] == required;
                here.reason = TG_RETRACE_DIM;
                here.dim = axis;
                here.before = required < 0 ? -1 : required;
                here.now = a->dims[axis] < 0 ? -1 : a->dims[axis];
            }
        }
        agreement += same ? TG_RETRACE_CAPTURE : here.reason;
        if (!same && !differs)
            first = here;
        differs |= !same;
    }
    *out_agreement = agreement + 1;
    return first;
}

tg_retrace tgi_function_explain(const tg_function *f, const tgi_args *args,
                                uint64_t hash)
{
    for (size_t i = 0; i < f->evicted.n; i++)
        if (f->evicted.data[i] == hash)
            return (tg_retrace){.reason = TG_RETRACE_DROPPED};
    tg_retrace best = {.reason = TG_RETRACE_FIRST};
    size_t best_agreement = 0, agreement;
    for (size_t i = f->table.n; i-- > 0;) {
        tg_retrace reason =
            compare_signatures(args, f->table.data[i], &agreement);
        if (agreement > best_agreement || best.reason == TG_RETRACE_FIRST) {
            best = reason;
            best_agreement = agreement;
        }
    }
    return best;
}

static const char *kind_name(int64_t kind)
{
    switch (kind) {
    case TGI_ARG_TENSOR:
        return "tensor";
    case TGI_ARG_NUMBER:
        return "number";
    case TGI_ARG_VARIABLE:
        return "variable";
    default:
        return "static value";
    }
}

static void print_extent(int64_t dim, tgi_strbuf *out)
{
    if (dim < 0)
        tgi_strbuf_add(out, "?");
    else
        tgi_strbuf_addf(out, "%lld", (long long)dim);
}

void tgi_retrace_print(const tg_retrace *r, tgi_strbuf *out)
{
    switch (r->reason) {
    case TG_RETRACE_FIRST:
        tgi_strbuf_add(out, "first call");
        return;
    case TG_RETRACE_ARG_COUNT:
        tgi_strbuf_addf(out, "number of arguments: %lld -> %lld",
                        (long long)r->before, (long long)r->now);
        return;
    case TG_RETRACE_KIND:
        if (r->before == r->now)
            tgi_strbuf_addf(out, "arg %zu: another kind of bundle", r->arg);
        else
            tgi_strbuf_addf(out, "arg %zu: %s -> %s", r->arg,
                            kind_name(r->before), kind_name(r->now));
        return;
    case TG_RETRACE_DTYPE:
        tgi_strbuf_addf(out, "arg %zu: %s -> %s", r->arg,
                        tg_dtype_name((tg_dtype)r->before),
                        tg_dtype_name((tg_dtype)r->now));
        return;
    case TG_RETRACE_RANK:
        tgi_strbuf_addf(out, "arg %zu rank: %lld -> %lld", r->arg,
                        (long long)r->before, (long long)r->now);
        return;
    case TG_RETRACE_DIM:
        tgi_strbuf_addf(out, "arg %zu dim %d: ", r->arg, r->dim);
        print_extent(r->before, out);
        tgi_strbuf_add(out, " -> ");
        print_extent(r->now, out);
        if (r->generalised)
            tgi_strbuf_add(out, ", generalised to ?");
        return;
    case TG_RETRACE_STATIC:
        tgi_strbuf_addf(out, "arg %zu: another static value", r->arg);
        return;
    case TG_RETRACE_ALIAS:
        tgi_strbuf_addf(out, "arg %zu: another pattern of equal variables",
                        r->arg);
        return;
    case TG_RETRACE_CAPTURE:
        tgi_strbuf_add(out, "another pattern of arguments that the callback "
                            "captures as well");
        return;
    case TG_RETRACE_DROPPED:
        tgi_strbuf_add(out, "its trace was evicted or cleared");
        return;
    }
}

bool tg_function_retrace(tg_function *f, size_t trace, tg_retrace *out_retrace)
{
    if (!f || !out_retrace)
        return false;
    tgi_fork_lock_acquire(&f->lock);
    size_t first = f->n_traces - f->history.n;
    bool is_known = trace >= first && trace < f->n_traces;
    if (is_known)
        *out_retrace = f->history.data[trace - first];
    tgi_fork_lock_release(&f->lock);
    return is_known;
}

static char *fail_null_function(const char *api_function)
{
    tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                  "%s: the function is NULL", api_function);
    return NULL;
}

/* The text, owned by the caller; NULL when out of memory (recorded). */
static char *take_text(tgi_strbuf *text)
{
    tgi_strbuf_add(text, "");
    char *taken = tgi_strbuf_take(text);
    if (!taken)
        tgi_error_memory();
    return taken;
}

char *tg_explain_retrace(tg_function *f)
{
    tgi_strbuf text = {0};
    if (!f)
        return fail_null_function(__func__);
    tgi_api_frame frame = tgi_api_enter(f->ctx, __func__);
    tgi_fork_lock_acquire(&f->lock);
    for (size_t i = 0; i < f->history.n; i++) {
        tgi_strbuf_addf(&text, "trace %u: ", f->history.data[i].number);
        tgi_retrace_print(&f->history.data[i], &text);
        tgi_strbuf_add(&text, "\n");
    }
    tgi_fork_lock_release(&f->lock);
    char *taken = take_text(&text);
    tgi_api_leave(frame);
    return taken;
}

/* -- Descriptions ---------------------------------------------------------- */

static void print_results(const tg_concrete *c, tgi_strbuf *out)
{
    const tgi_graph *graph = c->graph;
    tgi_strbuf_add(out, " -> (");
    for (size_t i = 0; i < graph->results.n; i++) {
        tgi_strbuf_add(out, i ? ", " : "");
        tgi_type_print(graph, graph->results.data[i], out);
    }
    tgi_strbuf_add(out, ")\n");
}

/* Prints the loops of the variant in which no symbolic extent is 0 or 1; with
   `explains_fusion`, why values are materialised. */
static void print_loops(const tg_concrete *c, bool explains_fusion,
                        tgi_strbuf *out)
{
    int64_t *values = tgi_alloc(
        (tgi_dims_n_values(c->graph->dims) + 1) * sizeof(*values));
    if (!values)
        tgi_error_memory();
    if (!values || tgi_dims_assume(c->graph->dims, values) ||
        tgi_jit_print_loops(c->graph, values, c->ctx->skip_loop_passes,
                            explains_fusion, out))
        tgi_strbuf_addf(out, "no loops: %s\n", tg_error_last()->message);
    tgi_free(values);
}

static void print_concrete(const tg_concrete *c, tg_text_kind kind,
                           tgi_strbuf *out)
{
    switch (kind) {
    case TG_TEXT_GRAPH:
        tgi_graph_dump(c->graph, TGI_DUMP_SITES, out);
        return;
    case TG_TEXT_LOOPS:
    case TG_TEXT_FUSION:
        print_loops(c, kind == TG_TEXT_FUSION, out);
        return;
    case TG_TEXT_DOT:
        tgi_graph_dump_dot(c->graph, out);
        return;
    default:
        break;
    }
    tgi_strbuf_add(out, c->name);
    tgi_args_print(&c->spec, out);
    if (kind == TG_TEXT_SHORT) {
        tgi_strbuf_add(out, "\n");
        return;
    }
    print_results(c, out);
    for (size_t i = 0; i < c->captures.n; i++) {
        const tg_variable *variable = c->captures.data[i];
        char text[256];
        tgi_strbuf_addf(out, "  captures '%s': %s\n", variable->name,
                        tgi_spec_text(variable->spec.dtype,
                                      variable->spec.rank,
                                      variable->spec.dims, text,
                                      sizeof(text)));
    }
    tgi_strbuf_addf(out, "  %u node%s traced, %u after passes\n",
                    c->traced->n_nodes, TGI_PLURAL(c->traced->n_nodes),
                    c->graph->n_nodes);
}

char *tg_concrete_text(tg_concrete *concrete, tg_text_kind kind)
{
    tgi_strbuf text = {0};
    if (!concrete)
        return fail_null_function(__func__);
    tgi_api_frame frame = tgi_api_enter(concrete->ctx, __func__);
    print_concrete(concrete, kind, &text);
    char *taken = take_text(&text);
    tgi_api_leave(frame);
    return taken;
}

char *tg_function_text(tg_function *f, tg_text_kind kind)
{
    tgi_strbuf text = {0};
    if (!f)
        return fail_null_function(__func__);
    tgi_api_frame frame = tgi_api_enter(f->ctx, __func__);
    tgi_fork_lock_acquire(&f->lock);
    for (size_t i = 0; i < f->table.n; i++)
        print_concrete(f->table.data[i], kind, &text);
    tgi_fork_lock_release(&f->lock);
    char *taken = take_text(&text);
    tgi_api_leave(frame);
    return taken;
}

void tg_text_free(char *text)
{
    tgi_free(text);
}
