/* SPDX-License-Identifier: MIT */
/*
 * dataset_map.c - tg_dataset_map and tg_dataset_filter. A cursor binds the
 * function to its first element and sets the arguments for each further one, so
 * that it allocates nothing for shapes that have occurred.
 */
#include "front/call/bound.h"
#include "front/data/dataset_object.h"

typedef struct map_dataset {
    tg_dataset base;
    tg_function *function; /* retained */
} map_dataset;

typedef struct map_cursor {
    tgi_cursor base;
    tg_bound *bound;     /* NULL before the first element */
    tgi_component *list; /* map: the results */
} map_cursor;

static void deinit(tg_dataset *dataset)
{
    tg_function_release(((map_dataset *)dataset)->function);
}

static void cursor_deinit(tgi_cursor *cursor)
{
    map_cursor *c = (map_cursor *)cursor;
    tg_bound_release(c->bound);
    tgi_free(c->list);
}

/* -- Calls ----------------------------------------------------------------- */

static tg_status bind_operands(map_cursor *c, const tgi_element *e,
                               tg_operand *operands)
{
    const map_dataset *d = (const map_dataset *)c->base.dataset;
    tg_status status = TG_OK;
    size_t n = 0;
    for (; n < e->n && !status; n++) {
        const tgi_spec *spec = e->list[n].spec;
        tg_tensor *tensor =
            tg_tensor_wrap(d->base.ctx, (void *)(uintptr_t)e->list[n].data,
                           spec->dtype, spec->rank, spec->dims);
        operands[n] = tg_in_tensor(tensor);
        status = tensor ? TG_OK : tg_error_last()->status;
    }
    if (!status)
        status =
            tgi_bind_all(d->function, operands, e->n, d->base.site, &c->bound);
    for (size_t i = 0; i < n; i++)
        tg_tensor_release(operands[i].as.tensor);
    return status;
}

static tg_status bind_element(map_cursor *c, const tgi_element *e)
{
    tg_bound_release(c->bound);
    c->bound = NULL;
    tg_operand *operands = tgi_alloc_zero(e->n * sizeof(*operands));
    const tg_status status =
        operands ? bind_operands(c, e, operands) : tgi_error_memory();
    tgi_free(operands);
    if (status)
        return status;
    const size_t n = tgi_bound_n_results(c->bound);
    tgi_free(c->list);
    c->list = tgi_alloc_zero((n + 1) * sizeof(*c->list));
    if (c->list)
        return TG_OK;
    tg_bound_release(c->bound);
    c->bound = NULL;
    return tgi_error_memory();
}

/* True if the element differs from earlier ones in extents only. */
static bool fits_bound(const map_cursor *c, const tgi_element *e)
{
    if (!c->bound || c->bound->args.n_operands != e->n)
        return false;
    for (size_t i = 0; i < e->n; i++) {
        const tgi_arg *arg = &c->bound->args.list.data[i];
        if (arg->dtype != e->list[i].spec->dtype ||
            arg->rank != e->list[i].spec->rank)
            return false;
    }
    return true;
}

static tg_status call(map_cursor *c, const tgi_element *e)
{
    if (!fits_bound(c, e)) {
        TGI_TRY(bind_element(c, e));
    } else {
        for (size_t i = 0; i < e->n; i++)
            TGI_TRY(tgi_bound_set_data(c->bound, i, e->list[i].spec,
                                       e->list[i].data));
        TGI_TRY(tgi_bound_end_set(c->bound));
    }
    return tgi_bound_run(c->bound);
}

/* -- Map ------------------------------------------------------------------- */

static tg_status map_element(map_cursor *c, const tgi_element *e,
                             tgi_element *out_element)
{
    TGI_TRY(call(c, e));
    const size_t n = tgi_bound_n_results(c->bound);
    if (n == 0)
        TGI_FAIL(
            TG_ERROR_SHAPE, c->base.dataset->site,
            "tg_dataset_map: %s returns no results, so that elements would "
            "have no components",
            tg_function_name(c->bound->function));
    for (size_t i = 0; i < n; i++) {
        const tg_tensor *tensor = tg_bound_result(c->bound, i);
        c->list[i] =
            (tgi_component){.spec = &tensor->spec, .data = tensor->data};
    }
    *out_element = (tgi_element){c->list, n};
    return TG_OK;
}

static tg_status map_next(tgi_cursor *cursor, tgi_element *out_element)
{
    tgi_element e;
    TGI_TRY(tgi_cursor_next(cursor->inputs[0], &e));
    const tg_status status = map_element((map_cursor *)cursor, &e, out_element);
    if (status)
        tgi_error_locate(cursor->dataset->site, "tg_dataset_map");
    return status;
}

static const tgi_dataset_kind map_kind = {
    .name = "tg_dataset_map",
    .cursor_bytes = sizeof(map_cursor),
    .deinit = deinit,
    .cursor_deinit = cursor_deinit,
    .next = map_next,
};

/* -- Filter ---------------------------------------------------------------- */

static tg_status test_element(map_cursor *c, const tgi_element *e,
                              bool *out_is_wanted)
{
    TGI_TRY(call(c, e));
    const size_t n = tgi_bound_n_results(c->bound);
    const tg_tensor *tensor = tg_bound_result(c->bound, 0);
    char text[256] = "nothing";
    if (tensor)
        tgi_spec_text(tensor->spec.dtype, tensor->spec.rank, tensor->spec.dims,
                      text, sizeof(text));
    if (n != 1 || tensor->spec.dtype != TG_BOOL || tensor->spec.rank != 0)
        TGI_FAIL(n == 1 && tensor->spec.dtype != TG_BOOL ? TG_ERROR_DTYPE
                                                         : TG_ERROR_SHAPE,
                 c->base.dataset->site,
                 "tg_dataset_filter: %s returns %zu result%s%s%s, but must "
                 "return bool[]",
                 tg_function_name(c->bound->function), n, TGI_PLURAL(n),
                 n == 1 ? ", " : "", n == 1 ? text : "");
    *out_is_wanted = *(const bool *)tensor->data;
    return TG_OK;
}

static tg_status filter_next(tgi_cursor *cursor, tgi_element *out_element)
{
    while (!tgi_cursor_is_stopped(cursor)) {
        bool is_wanted;
        TGI_TRY(tgi_cursor_next(cursor->inputs[0], out_element));
        const tg_status status =
            test_element((map_cursor *)cursor, out_element, &is_wanted);
        if (status)
            tgi_error_locate(cursor->dataset->site, "tg_dataset_filter");
        if (status || is_wanted)
            return status;
    }
    return TG_END_OF_DATA;
}

static const tgi_dataset_kind filter_kind = {
    .name = "tg_dataset_filter",
    .cursor_bytes = sizeof(map_cursor),
    .deinit = deinit,
    .cursor_deinit = cursor_deinit,
    .next = filter_next,
};

/* -- Datasets -------------------------------------------------------------- */

static tg_dataset *create(const tgi_dataset_kind *kind, tg_dataset *dataset,
                          tg_function *function, tg_site site)
{
    if (!function)
        return tgi_dataset_reject(kind, dataset, TG_ERROR_INVALID_ARGUMENT,
                                  site, "the function is NULL");
    if (dataset && dataset->ctx != function->ctx)
        return tgi_dataset_reject(kind, dataset, TG_ERROR_INVALID_ARGUMENT,
                                  site,
                                  "function %s belongs to another context",
                                  tg_function_name(function));
    map_dataset *d = tgi_dataset_create_step(kind, sizeof(*d), dataset, site);
    if (!d)
        return NULL;
    d->function = tg_function_retain(function);
    return &d->base;
}

tg_dataset *tg_dataset_map_at(tg_dataset *dataset, tg_function *function,
                              tg_site site)
{
    return create(&map_kind, dataset, function, site);
}

tg_dataset *tg_dataset_filter_at(tg_dataset *dataset, tg_function *function,
                                 tg_site site)
{
    return create(&filter_kind, dataset, function, site);
}
