/* SPDX-License-Identifier: MIT */
/*
 * lapack_host_type.h - the host functions for one dtype. Included by
 * lapack_host.c with
 *
 *   T           the C type
 *   FN(name)    the name of a function of this dtype
 *   LAPACK(name) LAPACKE's name
 *   LOG ABS IS_FINITE
 *
 * The functions with work arrays are called: the others look for NaNs first,
 * which here propagate as in other operations, and allocate.
 */

/* -- Parts ----------------------------------------------------------------- */

static T *FN(allocate)(size_t n)
{
    return malloc((n ? n : 1) * sizeof(T));
}

/* to = fromᵀ, which is rows x columns, row-major. */
static void FN(transpose)(const T *from, int rows, int columns, T *to)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            to[(size_t)j * (size_t)rows + (size_t)i] =
                from[(size_t)i * (size_t)columns + (size_t)j];
}

/* The symmetric part of a. */
static void FN(symmetrise)(const T *a, int n, T *to)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            to[(size_t)i * (size_t)n + (size_t)j] =
                (a[(size_t)i * (size_t)n + (size_t)j] +
                 a[(size_t)j * (size_t)n + (size_t)i]) /
                2;
}

static bool FN(is_finite)(const T *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!IS_FINITE(a[i]))
            return false;
    return true;
}

/* Factors aᵀ in place; true if it is singular. */
static bool FN(factor)(T *a, int n, lapack_int *pivots)
{
    return n && LAPACK(getrf_work)(LAPACK_COL_MAJOR, n, n, a, n, pivots) > 0;
}

/* The sign of the permutation and of the diagonal of LU factors. */
static T FN(sign)(const T *lu, int n, const lapack_int *pivots)
{
    T sign = 1;
    for (int i = 0; i < n; i++) {
        const T d = lu[(size_t)i * (size_t)n + (size_t)i];
        if (pivots[i] != i + 1)
            sign = -sign;
        sign = d < 0 ? -sign : d > 0 ? sign : d == 0 ? 0 : d;
    }
    return sign;
}

/* -- Factors of symmetric matrices ----------------------------------------- */

static tg_status FN(cholesky)(const tgi_matrices *m, const tg_host_buffer *in,
                              const tg_host_buffer *out)
{
    const int n = m->rows;
    const size_t size = (size_t)n * (size_t)n;
    for (int64_t k = 0; k < m->n_matrices; k++) {
        T *l = (T *)out[0].data + (size_t)k * size;
        FN(symmetrise)((const T *)in[0].data + (size_t)k * size, n, l);
        /* The upper triangle of the transpose. */
        const lapack_int info =
            LAPACK(potrf_work)(LAPACK_COL_MAJOR, 'U', n, l, leading(n));
        if (info > 0)
            return tgi_lapack_fail(m, k,
                                   "is not positive definite: its leading "
                                   "minor of order %d is not",
                                   (int)info);
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++)
                l[(size_t)i * (size_t)n + (size_t)j] = 0;
    }
    return TG_OK;
}

static tg_status FN(eigh)(const tgi_matrices *m, const tg_host_buffer *in,
                          const tg_host_buffer *out)
{
    const int n = m->rows;
    const size_t size = (size_t)n * (size_t)n;
    T best_work = 0;
    lapack_int best_integers = 0;
    T *vectors = FN(allocate)(size);
    LAPACK(syevd_work)(LAPACK_COL_MAJOR, 'V', 'U', n, vectors, leading(n),
                       &best_work, &best_work, -1, &best_integers, -1);
    T *work = FN(allocate)((size_t)best_work);
    lapack_int *integers = malloc(((size_t)best_integers + 1) *
                                  sizeof(*integers));
    tg_status status =
        vectors && work && integers ? TG_OK : tgi_lapack_fail_memory();
    for (int64_t k = 0; !status && n && k < m->n_matrices; k++) {
        T *values = (T *)out[0].data + (size_t)k * (size_t)n;
        FN(symmetrise)((const T *)in[0].data + (size_t)k * size, n, vectors);
        if (!FN(is_finite)(vectors, size))
            status = tgi_lapack_fail(m, k, "has an infinite element or a NaN");
        else if (LAPACK(syevd_work)(LAPACK_COL_MAJOR, 'V', 'U', n, vectors, n,
                                    values, work, (lapack_int)best_work,
                                    integers, best_integers) > 0)
            status = tgi_lapack_fail(m, k, "has no eigenvalues: the "
                                           "iteration does not converge");
        else
            FN(transpose)(vectors, n, n,
                          (T *)out[1].data + (size_t)k * size);
    }
    free(vectors);
    free(work);
    free(integers);
    return status;
}

/* -- Systems of equations -------------------------------------------------- */

static tg_status FN(triangular_solve)(const tgi_matrices *m,
                                      const tg_host_buffer *in,
                                      const tg_host_buffer *out)
{
    const int n = m->rows, columns = (int)in[1].dims[in[1].rank - 1];
    const size_t size = (size_t)n * (size_t)n;
    const size_t b_size = (size_t)n * (size_t)columns;
    T *x = FN(allocate)(b_size);
    tg_status status = x ? TG_OK : tgi_lapack_fail_memory();
    for (int64_t k = 0; !status && b_size && k < m->n_matrices; k++) {
        const T *a = (const T *)in[0].data + (size_t)k * size;
        FN(transpose)((const T *)in[1].data + (size_t)k * b_size, n, columns,
                      x);
        /* The memory holds aᵀ: the other triangle, transposed once more. */
        const lapack_int info = LAPACK(trtrs_work)(
            LAPACK_COL_MAJOR, m->flags & TG_TRIANGULAR_UPPER ? 'L' : 'U',
            m->flags & TG_TRIANGULAR_TRANSPOSED ? 'N' : 'T',
            m->flags & TG_TRIANGULAR_UNIT ? 'U' : 'N', n, columns, a, n, x, n);
        if (info > 0)
            status = tgi_lapack_fail(m, k,
                                     "is singular: element %d of its diagonal "
                                     "is 0",
                                     (int)info - 1);
        FN(transpose)(x, columns, n, (T *)out[0].data + (size_t)k * b_size);
    }
    free(x);
    return status;
}

/* Memory for the LU factors of a matrix, and `n_more` elements. */
typedef struct FN(lu) {
    T *a, *more;
    lapack_int *pivots;
} FN(lu);

static bool FN(lu_create)(FN(lu) * lu, int n, size_t n_more)
{
    lu->a = FN(allocate)((size_t)n * (size_t)n);
    lu->more = FN(allocate)(n_more);
    lu->pivots = malloc(((size_t)n + 1) * sizeof(*lu->pivots));
    return lu->a && lu->more && lu->pivots;
}

static void FN(lu_destroy)(FN(lu) * lu)
{
    free(lu->a);
    free(lu->more);
    free(lu->pivots);
}

static tg_status FN(solve)(const tgi_matrices *m, const tg_host_buffer *in,
                           const tg_host_buffer *out)
{
    const int n = m->rows, columns = (int)in[1].dims[in[1].rank - 1];
    const size_t size = (size_t)n * (size_t)n;
    const size_t b_size = (size_t)n * (size_t)columns;
    FN(lu) lu;
    tg_status status = FN(lu_create)(&lu, n, b_size)
                           ? TG_OK
                           : tgi_lapack_fail_memory();
    for (int64_t k = 0; !status && n && k < m->n_matrices; k++) {
        memcpy(lu.a, (const T *)in[0].data + (size_t)k * size,
               size * sizeof(T));
        if (FN(factor)(lu.a, n, lu.pivots)) {
            status = tgi_lapack_fail(m, k, "is singular");
            break;
        }
        if (columns == 0)
            continue;
        FN(transpose)((const T *)in[1].data + (size_t)k * b_size, n, columns,
                      lu.more);
        LAPACK(getrs_work)(LAPACK_COL_MAJOR, 'T', n, columns, lu.a, n,
                           lu.pivots, lu.more, n);
        FN(transpose)(lu.more, columns, n,
                      (T *)out[0].data + (size_t)k * b_size);
    }
    FN(lu_destroy)(&lu);
    return status;
}

static tg_status FN(inverse)(const tgi_matrices *m, const tg_host_buffer *in,
                             const tg_host_buffer *out)
{
    const int n = m->rows;
    const size_t size = (size_t)n * (size_t)n;
    T best_work = 0;
    LAPACK(getri_work)(LAPACK_COL_MAJOR, n, out[0].data, leading(n), NULL,
                       &best_work, -1);
    FN(lu) lu;
    tg_status status = FN(lu_create)(&lu, 0, (size_t)best_work)
                           ? TG_OK
                           : tgi_lapack_fail_memory();
    free(lu.pivots);
    lu.pivots = malloc(((size_t)n + 1) * sizeof(*lu.pivots));
    if (!status && !lu.pivots)
        status = tgi_lapack_fail_memory();
    for (int64_t k = 0; !status && n && k < m->n_matrices; k++) {
        T *y = (T *)out[0].data + (size_t)k * size;
        memcpy(y, (const T *)in[0].data + (size_t)k * size, size * sizeof(T));
        if (FN(factor)(y, n, lu.pivots) ||
            LAPACK(getri_work)(LAPACK_COL_MAJOR, n, y, n, lu.pivots, lu.more,
                               (lapack_int)best_work) > 0)
            status = tgi_lapack_fail(m, k, "is singular");
    }
    FN(lu_destroy)(&lu);
    return status;
}

/* -- Determinants ---------------------------------------------------------- */

/* Without `logs`, the determinants; else their signs and logarithms. */
static tg_status FN(determinants)(const tgi_matrices *m, const T *a, T *signs,
                                  T *logs)
{
    const int n = m->rows;
    const size_t size = (size_t)n * (size_t)n;
    FN(lu) lu;
    tg_status status =
        FN(lu_create)(&lu, n, 0) ? TG_OK : tgi_lapack_fail_memory();
    for (int64_t k = 0; !status && k < m->n_matrices; k++) {
        memcpy(lu.a, a + (size_t)k * size, size * sizeof(T));
        FN(factor)(lu.a, n, lu.pivots);
        T product = 1, sum = 0;
        for (int i = 0; i < n; i++) {
            const T d = ABS(lu.a[(size_t)i * (size_t)n + (size_t)i]);
            product *= d;
            sum += LOG(d);
        }
        signs[k] = FN(sign)(lu.a, n, lu.pivots);
        if (logs)
            logs[k] = sum;
        else
            signs[k] *= product;
    }
    FN(lu_destroy)(&lu);
    return status;
}

static tg_status FN(det)(const tgi_matrices *m, const tg_host_buffer *in,
                         const tg_host_buffer *out)
{
    return FN(determinants)(m, in[0].data, out[0].data, NULL);
}

static tg_status FN(slogdet)(const tgi_matrices *m, const tg_host_buffer *in,
                             const tg_host_buffer *out)
{
    return FN(determinants)(m, in[0].data, out[0].data, out[1].data);
}

/* -- Orthogonal factors ---------------------------------------------------- */

/* By the LQ factors of aᵀ, whose memory is that of a. */
static tg_status FN(qr)(const tgi_matrices *m, const tg_host_buffer *in,
                        const tg_host_buffer *out)
{
    const int rows = m->rows, columns = m->columns, least = m->least;
    const size_t size = (size_t)rows * (size_t)columns;
    T best_factor = 0, best_form = 0;
    T *a = FN(allocate)(size), *scales = FN(allocate)((size_t)least);
    LAPACK(gelqf_work)(LAPACK_COL_MAJOR, columns, rows, a, leading(columns),
                       scales, &best_factor, -1);
    LAPACK(orglq_work)(LAPACK_COL_MAJOR, least, rows, least, a, leading(least),
                       scales, &best_form, -1);
    const lapack_int n_work =
        (lapack_int)(best_factor > best_form ? best_factor : best_form);
    T *work = FN(allocate)((size_t)n_work);
    const tg_status status =
        a && scales && work ? TG_OK : tgi_lapack_fail_memory();
    for (int64_t k = 0; !status && least && k < m->n_matrices; k++) {
        T *q = (T *)out[0].data + (size_t)k * (size_t)rows * (size_t)least;
        T *r = (T *)out[1].data + (size_t)k * (size_t)least * (size_t)columns;
        memcpy(a, (const T *)in[0].data + (size_t)k * size, size * sizeof(T));
        LAPACK(gelqf_work)(LAPACK_COL_MAJOR, columns, rows, a, columns, scales,
                           work, n_work);
        for (int i = 0; i < least; i++)
            for (int j = 0; j < columns; j++)
                *r++ = j < i ? 0 : a[(size_t)i * (size_t)columns + (size_t)j];
        for (int i = 0; i < rows; i++)
            memcpy(q + (size_t)i * (size_t)least,
                   a + (size_t)i * (size_t)columns,
                   (size_t)least * sizeof(T));
        LAPACK(orglq_work)(LAPACK_COL_MAJOR, least, rows, least, q, least,
                           scales, work, n_work);
    }
    free(a);
    free(scales);
    free(work);
    return status;
}

/* Memory for the SVD of one matrix. */
typedef struct FN(svd_memory) {
    T *a, *work;
    lapack_int *integers, n_work;
} FN(svd_memory);

static bool FN(svd_create)(FN(svd_memory) * s, const tgi_matrices *m)
{
    T best = 0;
    s->a = FN(allocate)((size_t)m->rows * (size_t)m->columns);
    s->integers = malloc(((size_t)m->least * 8 + 1) * sizeof(*s->integers));
    LAPACK(gesdd_work)(LAPACK_COL_MAJOR, 'S', m->columns, m->rows, s->a,
                       leading(m->columns), s->a, s->a, leading(m->columns),
                       s->a, leading(m->least), &best, -1, s->integers);
    s->n_work = (lapack_int)best;
    s->work = FN(allocate)((size_t)best);
    return s->a && s->integers && s->work;
}

static void FN(svd_destroy)(FN(svd_memory) * s)
{
    free(s->a);
    free(s->work);
    free(s->integers);
}

/* aᵀ = v s uᵀ. */
static tg_status FN(decompose)(FN(svd_memory) * s, const tgi_matrices *m,
                               int64_t matrix, const T *a, T *u, T *values,
                               T *vt)
{
    const size_t size = (size_t)m->rows * (size_t)m->columns;
    if (!FN(is_finite)(a, size))
        return tgi_lapack_fail(m, matrix, "has an infinite element or a NaN");
    memcpy(s->a, a, size * sizeof(T));
    return LAPACK(gesdd_work)(LAPACK_COL_MAJOR, 'S', m->columns, m->rows, s->a,
                              m->columns, values, vt, m->columns, u, m->least,
                              s->work, s->n_work, s->integers) > 0
               ? tgi_lapack_fail(m, matrix, "has no singular values: the "
                                            "iteration does not converge")
               : TG_OK;
}

static tg_status FN(svd)(const tgi_matrices *m, const tg_host_buffer *in,
                         const tg_host_buffer *out)
{
    const size_t size = (size_t)m->rows * (size_t)m->columns;
    const size_t least = (size_t)m->least;
    FN(svd_memory) s;
    tg_status status =
        FN(svd_create)(&s, m) ? TG_OK : tgi_lapack_fail_memory();
    for (size_t k = 0; !status && least && k < (size_t)m->n_matrices; k++)
        status = FN(decompose)(&s, m, (int64_t)k,
                               (const T *)in[0].data + k * size,
                               (T *)out[0].data + k * (size_t)m->rows * least,
                               (T *)out[1].data + k * least,
                               (T *)out[2].data +
                                   k * least * (size_t)m->columns);
    FN(svd_destroy)(&s);
    return status;
}

/*
 * The cofactors of a, which also exist if it is singular:
 * det(u) det(vt) u diag(p) vt, where p[i] is the product of all singular values
 * but the i-th.
 */
static tg_status FN(cofactors)(const tgi_matrices *m, const tg_host_buffer *in,
                               const tg_host_buffer *out)
{
    const int n = m->rows;
    const size_t size = (size_t)n * (size_t)n;
    FN(svd_memory) s;
    FN(lu) lu = {NULL, NULL, NULL};
    tg_status status = FN(svd_create)(&s, m) &&
                               FN(lu_create)(&lu, n, 2 * size + (size_t)n)
                           ? TG_OK
                           : tgi_lapack_fail_memory();
    T *u = lu.more, *vt = u + size, *values = vt + size;
    for (int64_t k = 0; !status && n && k < m->n_matrices; k++) {
        status = FN(decompose)(&s, m, k,
                               (const T *)in[0].data + (size_t)k * size, u,
                               values, vt);
        if (status)
            break;
        T sign = 1;
        for (int i = 0; i < 2; i++) {
            memcpy(lu.a, i ? vt : u, size * sizeof(T));
            FN(factor)(lu.a, n, lu.pivots);
            sign *= FN(sign)(lu.a, n, lu.pivots);
        }
        T *c = (T *)out[0].data + (size_t)k * size;
        memset(c, 0, size * sizeof(T));
        for (int i = 0; i < n; i++) {
            T product = sign;
            for (int j = 0; j < n; j++)
                if (j != i)
                    product *= values[j];
            for (int row = 0; row < n; row++) {
                const T scale =
                    u[(size_t)row * (size_t)n + (size_t)i] * product;
                for (int column = 0; column < n; column++)
                    c[(size_t)row * (size_t)n + (size_t)column] +=
                        scale * vt[(size_t)i * (size_t)n + (size_t)column];
            }
        }
    }
    FN(svd_destroy)(&s);
    FN(lu_destroy)(&lu);
    return status;
}
