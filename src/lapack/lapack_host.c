/* SPDX-License-Identifier: MIT */
/*
 * lapack_host.c - host functions: sizes, failures, and the choice of a dtype.
 * lapack_host_type.h has the functions of one dtype.
 */
#include "lapack_host.h"

#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tgjit/lapack.h"

/* -- Failures -------------------------------------------------------------- */

/* "the matrix", or "matrix [1, 2] of the batch". */
static void print_matrix(const tgi_matrices *m, int64_t matrix, char *text,
                         size_t room)
{
    const int n_batch = m->buffer->rank - 2;
    if (n_batch <= 0) {
        snprintf(text, room, "the matrix");
        return;
    }
    int64_t position[TG_MAX_RANK];
    for (int i = n_batch - 1; i >= 0; i--) {
        position[i] = matrix % m->buffer->dims[i];
        matrix /= m->buffer->dims[i];
    }
    size_t used = (size_t)snprintf(text, room, "matrix [");
    for (int i = 0; i < n_batch && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%lld",
                                 i ? ", " : "", (long long)position[i]);
    if (used < room)
        snprintf(text + used, room - used, "] of the batch");
}

tg_status tgi_lapack_fail(const tgi_matrices *m, int64_t matrix,
                          const char *format, ...)
{
    char where[32 + 24 * TG_MAX_RANK], what[200];
    print_matrix(m, matrix, where, sizeof(where));
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return tg_host_fail("%s %s", where, what);
}

tg_status tgi_lapack_fail_memory(void)
{
    return TG_ERROR_OUT_OF_MEMORY;
}

/* -- Sizes ----------------------------------------------------------------- */

static tg_status measure(const tg_host_buffer *buffer, void *user,
                         tgi_matrices *out)
{
    const int64_t rows = buffer->dims[buffer->rank - 2];
    const int64_t columns = buffer->dims[buffer->rank - 1];
    if (rows > INT_MAX || columns > INT_MAX)
        return tg_host_fail("a matrix has %lld x %lld elements, LAPACK takes "
                            "at most %d rows and columns",
                            (long long)rows, (long long)columns, INT_MAX);
    *out = (tgi_matrices){.buffer = buffer,
                          .n_matrices = 1,
                          .rows = (int)rows,
                          .columns = (int)columns,
                          .least = (int)(rows < columns ? rows : columns),
                          .flags = (unsigned)(uintptr_t)user};
    for (int i = 0; i < buffer->rank - 2; i++)
        out->n_matrices *= buffer->dims[i];
    return TG_OK;
}

/* Leading dimensions are at least 1, even of empty matrices. */
static int leading(int n)
{
    return n > 1 ? n : 1;
}

/* -- Functions of one dtype ------------------------------------------------ */

#define T float
#define FN(name) name##_f32
#define LAPACK(name) LAPACKE_s##name
#define LOG logf
#define ABS fabsf
#define IS_FINITE(x) isfinite(x)
#include "lapack_host_type.h"
#undef T
#undef FN
#undef LAPACK
#undef LOG
#undef ABS
#undef IS_FINITE

#define T double
#define FN(name) name##_f64
#define LAPACK(name) LAPACKE_d##name
#define LOG log
#define ABS fabs
#define IS_FINITE(x) isfinite(x)
#include "lapack_host_type.h"

/* -- The choice of a dtype ------------------------------------------------- */

#define DEFINE(name) \
    tg_status tgi_lapack_##name(const tg_host_buffer *in, size_t n_in, \
                                const tg_host_buffer *out, size_t n_out, \
                                void *user) \
    { \
        (void)n_in, (void)n_out; \
        tgi_matrices m; \
        const tg_status status = measure(&in[0], user, &m); \
        if (status) \
            return status; \
        return in[0].dtype == TG_F32 ? name##_f32(&m, in, out) \
                                     : name##_f64(&m, in, out); \
    }

DEFINE(cholesky)
DEFINE(triangular_solve)
DEFINE(solve)
DEFINE(det)
DEFINE(slogdet)
DEFINE(inverse)
DEFINE(cofactors)
DEFINE(qr)
DEFINE(svd)
DEFINE(eigh)
