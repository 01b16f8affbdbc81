/* SPDX-License-Identifier: MIT */
/*
 * blas.c - see blas.h.
 */
#include "blas.h"

/* CBLAS_LAYOUT and CBLAS_TRANSPOSE, the same in every CBLAS. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

void blas_product(const blas *with, const product_f32 *p)
{
    const int m = (int)p->m, k = (int)p->k, n = (int)p->n;
    if (n == 1)
        with->sgemv(ROW_MAJOR, NO_TRANS, m, k, p->scale, p->a, k, p->b, 1, 0,
                    p->c, 1);
    else if (m == 1 && !p->is_transposed)
        with->sgemv(ROW_MAJOR, TRANS, k, n, p->scale, p->b, n, p->a, 1, 0,
                    p->c, 1);
    else
        with->sgemm(ROW_MAJOR, NO_TRANS, p->is_transposed ? TRANS : NO_TRANS,
                    m, n, k, p->scale, p->a, k, p->b,
                    p->is_transposed ? k : n, 0, p->c, n);
}

void blas_update(const blas *with, const product_f32 *p)
{
    with->sgemm(ROW_MAJOR, TRANS, NO_TRANS, (int)p->m, (int)p->n, (int)p->k,
                p->scale, p->a, (int)p->a_stride, p->b, (int)p->n, 1, p->c,
                (int)p->n);
}

void blas_matmul(const blas *with, const kernel_buffers *b)
{
    const product_f32 first = {.m = b->rows, .k = b->inner, .n = b->columns,
                               .a = b->in[0], .b = b->in[1], .c = b->out[0],
                               .scale = 1};
    if (b->batch == 1) {
        with->set_threads(b->threads);
        blas_product(with, &first);
        return;
    }
    with->set_threads(1);
#pragma omp parallel for
    for (int64_t i = 0; i < b->batch; i++) {
        product_f32 p = first;
        p.a += i * p.m * p.k;
        p.b += i * p.k * p.n;
        p.c += i * p.m * p.n;
        blas_product(with, &p);
    }
}

void blas_matmul_f64(const blas *with, const kernel_buffers *b)
{
    const int m = (int)b->rows, k = (int)b->inner, n = (int)b->columns;
    with->set_threads(b->threads);
    with->dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, b->in[0], k,
                b->in[1], n, 0, b->out[0], n);
}
