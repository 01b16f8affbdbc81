/* SPDX-License-Identifier: MIT */
/*
 * ulp_numpy.c - NumPy's validation sets as an independent reference: lines
 * "np.float32,0x3f800000,0x402df854,2" of an input, its correctly rounded
 * result and NumPy's tolerance. Here the tolerance is the function's bound.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/ulp.h"

/* Functions with another name in NumPy. */
static const char *numpy_name(const char *name)
{
    static char longer[32];
    if (name[0] != 'a' || !strcmp(name, "abs") || !strcmp(name, "atan2"))
        return name;
    snprintf(longer, sizeof(longer), "arc%s", name + 1);
    return longer;
}

/* Maps floats to integers in the same order; both zeros are 0. */
static int64_t in_order(int dtype, uint64_t bits)
{
    const uint64_t sign =
        dtype == TG_F32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    const int64_t magnitude = (int64_t)(bits & ~sign);
    return bits & sign ? -magnitude : magnitude;
}

static bool is_nan(int dtype, uint64_t bits)
{
    const int64_t infinity = dtype == TG_F32 ? 0x7f800000 : 0x7ff0000000000000;
    return llabs(in_order(dtype, bits)) > infinity;
}

/* True if a result within the bound can be that far from a correctly rounded
   one. */
static bool is_close(const ulp_function *f, int dtype, uint64_t given,
                     uint64_t expected)
{
    if (is_nan(dtype, given) || is_nan(dtype, expected))
        return is_nan(dtype, given) && is_nan(dtype, expected);
    const int64_t limit = (int64_t)(ulp_bound(f, dtype) + 0.5);
    return llabs(in_order(dtype, given) - in_order(dtype, expected)) <= limit;
}

/* Other lines count as passed. */
static bool check_line(const ulp_function *f, const char *line)
{
    int width;
    uint64_t a, expected, given = 0;
    if (sscanf(line, "np.float%d,%" SCNx64 ",%" SCNx64, &width, &a,
               &expected) != 3 ||
        (width != 32 && width != 64))
        return true;
    const int dtype = width == 32 ? TG_F32 : TG_F64;
    if (dtype == TG_F32) {
        const uint32_t bits = (uint32_t)a;
        float x, y;
        memcpy(&x, &bits, sizeof(x));
        ulp_run_kernel(f, dtype, 1, &x, &x, &y);
        memcpy(&given, &y, sizeof(y)); /* its low half */
    } else {
        double x, y;
        memcpy(&x, &a, sizeof(x));
        ulp_run_kernel(f, dtype, 1, &x, &x, &y);
        memcpy(&given, &y, sizeof(y));
    }
    if (is_close(f, dtype, given, expected))
        return true;
    printf("%s: %#" PRIx64 ", expected %#" PRIx64 " by %s",
           tgi_op_table[f->op].name, given, expected, line);
    return false;
}

void ulp_check_numpy(const char *folder, int *passed, int *failed)
{
    int found = 0;
    for (int i = 0; i < ulp_n_functions; i++) {
        const ulp_function *f = &ulp_functions[i];
        char path[4096], line[256];
        snprintf(path, sizeof(path), "%s/umath-validation-set-%s.csv", folder,
                 numpy_name(tgi_op_table[f->op].name));
        FILE *file = f->arity == 1 ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        bool is_good = true;
        while (fgets(line, sizeof(line), file))
            is_good &= check_line(f, line);
        fclose(file);
        found++;
        *(is_good ? passed : failed) += 1;
    }
    printf("NumPy's validation sets: %d in %s\n", found, folder);
}
