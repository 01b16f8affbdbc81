/* SPDX-License-Identifier: MIT */
/*
 * op_ngrams.c - TfIdfVectorizer of integers. An n-gram of a pool is counted by
 * comparing its items with the slices of the input at their distances.
 */
#include "onnx_run.h"

/* The attributes. Grams of k items begin at starts[k - 1] of the pool. */
typedef struct pool {
    const int64_t *items, *starts, *columns;
    const float *weights;
    size_t n_items, n_starts, n_columns;
    int64_t shortest, longest, most_skipped;
} pool;

static bool read_pool(const tgi_onnx_call *c, pool *p)
{
    const Onnx__AttributeProto *a = tgi_onnx_attribute(c, "weights");
    p->items = tgi_onnx_ints(c, "pool_int64s", &p->n_items);
    p->starts = tgi_onnx_ints(c, "ngram_counts", &p->n_starts);
    p->columns = tgi_onnx_ints(c, "ngram_indexes", &p->n_columns);
    p->weights = a && a->n_floats ? a->floats : NULL;
    p->shortest = tgi_onnx_int(c, "min_gram_length", 1);
    p->longest = tgi_onnx_int(c, "max_gram_length", 1);
    p->most_skipped = tgi_onnx_int(c, "max_skip_count", 0);
    if (!p->items)
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "a pool of strings, or none");
    bool is_valid = p->shortest >= 1 && p->longest >= p->shortest &&
                    p->n_starts >= (size_t)p->longest && p->most_skipped >= 0 &&
                    p->most_skipped <= 1024 && p->n_columns > 0 &&
                    (!p->weights || a->n_floats == p->n_columns);
    for (size_t k = 0; k < p->n_starts; k++) {
        const int64_t end = k + 1 < p->n_starts ? p->starts[k + 1]
                                                : (int64_t)p->n_items;
        is_valid &= p->starts[k] >= 0 && p->starts[k] <= end &&
                    end <= (int64_t)p->n_items &&
                    (end - p->starts[k]) % (int64_t)(k + 1) == 0;
    }
    if (!is_valid)
        tgi_onnx_fail(c, TG_ERROR_FILE, "the n-grams are invalid");
    return !tgi_onnx_failed(c);
}

/* How often the gram of `length` items occurs in the first n columns of each
   row of x. */
static tg_value count(const tgi_onnx_call *c, const pool *p, tg_value x,
                      const int64_t *gram, int64_t length, int64_t n)
{
    const int columns = 1;
    tg_value all = {0, 0};
    for (int64_t skip = 0; skip <= (length > 1 ? p->most_skipped : 0); skip++) {
        const int64_t width = n - (length - 1) * (skip + 1);
        tg_value is_equal = {0, 0};
        for (int64_t i = 0; i < length && width > 0; i++) {
            const int64_t from = i * (skip + 1);
            const tg_value items = tg_slice_at(TG_IN(x), 1, from, from + width,
                                               1, c->site);
            const tg_value item =
                tg_scalar_at(TG_I64, tg_in_i64(gram[i]), c->site);
            const tg_value one = F2(eq, items, item);
            is_equal = i ? F2(and, is_equal, one) : one;
        }
        if (width <= 0 && skip)
            break;
        if (width <= 0)
            is_equal = F2(ne, x, x);
        const tg_value sum = tg_sum_at(
            TG_IN(tg_cast_at(TG_IN(is_equal), TG_F32, c->site)),
            tg_axes_of(1, &columns), c->site);
        all = skip ? F2(add, all, sum) : sum;
    }
    return all;
}

/* The counts of grams by column; a column without a gram is zero. */
static tg_value count_all(const tgi_onnx_call *c, const pool *p, tg_value x,
                          int64_t n, int64_t n_columns)
{
    tg_operand *parts = tgi_onnx_alloc(&c->frame->shared->arena,
                                       (size_t)n_columns, sizeof(*parts));
    if (!parts) {
        tgi_onnx_fail(c, TG_ERROR_OUT_OF_MEMORY, "out of memory");
        return x;
    }
    const bool idf = tgi_onnx_is(c, "mode", "IDF", "");
    const bool is_weighted = p->weights && !tgi_onnx_is(c, "mode", "TF", "");
    const tg_value zero = tg_scalar_at(TG_F32, tg_in_f32(0), c->site);
    const tg_value none = count(c, p, x, p->items, 1, 0);
    for (int64_t i = 0; i < n_columns; i++)
        parts[i] = TG_IN(tg_expand_dims_at(TG_IN(none), 1, c->site));
    size_t gram = 0;
    for (int64_t length = 1; length <= (int64_t)p->n_starts; length++) {
        const int64_t end = length < (int64_t)p->n_starts
                                ? p->starts[length]
                                : (int64_t)p->n_items;
        for (int64_t at = p->starts[length - 1]; at < end; at += length) {
            if (gram == p->n_columns)
                break;
            const size_t k = gram++;
            if (length < p->shortest || length > p->longest)
                continue;
            tg_value y = count(c, p, x, p->items + at, length, n);
            if (idf)
                y = tg_cast_at(TG_IN(F2(gt, y, zero)), TG_F32, c->site);
            if (is_weighted)
                y = F2(mul, y, tgi_onnx_scalar_like(c, y,
                                                    (double)p->weights[k]));
            parts[p->columns[k]] =
                TG_IN(tg_expand_dims_at(TG_IN(y), 1, c->site));
        }
    }
    return tg_concat_at(1, parts, (size_t)n_columns, c->site);
}

void tgi_onnx_build_tf_idf_vectorizer(const tgi_onnx_call *c)
{
    tg_value x = tg_cast_at(TG_IN(tgi_onnx_in(c, 0)), TG_I64, c->site);
    const int rank = tgi_onnx_in_rank(c, 0);
    pool p;
    if (!read_pool(c, &p))
        return;
    int64_t n_columns = 0;
    for (size_t i = 0; i < p.n_columns; i++) {
        if (p.columns[i] < 0 || p.columns[i] > 65535) {
            tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED, "ngram_indexes[%zu] is %lld",
                          i, (long long)p.columns[i]);
            return;
        }
        n_columns = p.columns[i] >= n_columns ? p.columns[i] + 1 : n_columns;
    }
    if (rank == 1)
        x = tg_expand_dims_at(TG_IN(x), 0, c->site);
    const int64_t n = rank > 0 ? tg_value_dim(x, 1) : 0;
    if (rank < 1 || rank > 2 || !tg_dim_is_known(n)) {
        tgi_onnx_fail(c, TG_ERROR_UNSUPPORTED,
                      "the length of the text is not known");
        return;
    }
    const tg_value y = count_all(c, &p, x, n, n_columns);
    tgi_onnx_out(c, 0,
                 rank == 1 ? tg_reshape_at(TG_IN(y), 1, &n_columns, c->site)
                           : y);
}
