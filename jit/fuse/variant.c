/* SPDX-License-Identifier: MIT */
/*
 * variant.c - see variant.h.
 */
#include "fuse/variant.h"

#include "base/error.h"

/*
 * Unites symbols that checks prove equal. A broadcast check proves ?0 == ?1 if
 * neither is 1 in this variant.
 */
static void unite_symbols(const tgi_graph *graph, const int64_t *values,
                          tgi_dim *symbols, size_t n)
{
    for (size_t i = 0; i < graph->checks.n; i++) {
        const tgi_check *check = &graph->checks.data[i];
        if (check->kind != TGI_CHECK_EQUAL &&
            check->kind != TGI_CHECK_BROADCAST &&
            check->kind != TGI_CHECK_EXPANDS)
            continue;
        int64_t a = tgi_dim_symbol_number(graph->dims, check->a);
        int64_t b = tgi_dim_symbol_number(graph->dims, check->b);
        if (a < 0 || b < 0 ||
            (check->kind != TGI_CHECK_EQUAL &&
             (tgi_dim_value(check->a, values) == 1 ||
              tgi_dim_value(check->b, values) == 1)))
            continue;
        const tgi_dim united = symbols[a], replaced = symbols[b];
        for (size_t k = 0; k < n; k++)
            if (symbols[k] == replaced)
                symbols[k] = united;
    }
}

/* `symbols` is scratch space: the symbols in the variant's table. */
static tg_status translate(tgi_variant *variant, const tgi_graph *graph,
                           const int64_t *values, tgi_dim *symbols)
{
    size_t n = tgi_dims_n_symbols(graph->dims);
    for (size_t i = 0; i < n; i++) {
        symbols[i] =
            tgi_dim_symbol(variant->dims, tgi_dims_symbol(graph->dims, i));
        if (symbols[i] == TGI_DIM_NONE)
            return tg_error_last()->status;
    }
    unite_symbols(graph, values, symbols, n);
    return tgi_dims_specialise(variant->dims, graph->dims, symbols, values,
                               variant->map);
}

tg_status tgi_variant_init(tgi_variant *variant, const tgi_graph *graph,
                           const int64_t *values)
{
    size_t n_symbols = tgi_dims_n_symbols(graph->dims);
    size_t n_values = tgi_dims_n_values(graph->dims);
    variant->dims = tgi_dims_create();
    variant->map = tgi_alloc((n_values + 1) * sizeof(tgi_dim));
    tgi_dim *symbols = tgi_alloc((n_symbols + 1) * sizeof(tgi_dim));
    tg_status status = variant->dims && variant->map && symbols
                           ? translate(variant, graph, values, symbols)
                           : tgi_error_memory();
    tgi_free(symbols);
    if (status)
        tgi_variant_deinit(variant);
    return status;
}

void tgi_variant_deinit(tgi_variant *variant)
{
    if (variant->dims)
        tgi_dims_release(variant->dims);
    tgi_free(variant->map);
    *variant = (tgi_variant){0};
}

/* 0, 1, or 2 for any other extent. */
static unsigned class_of(int64_t value)
{
    return value == 0 ? 0 : value == 1 ? 1 : 2;
}

bool tgi_variant_is_same(const tgi_graph *graph, const int64_t *values,
                         const int64_t *others)
{
    size_t n = tgi_dims_n_values(graph->dims);
    for (size_t i = 0; i < n; i++)
        if (class_of(values[i]) != class_of(others[i]))
            return false;
    return true;
}
