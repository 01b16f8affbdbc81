/* SPDX-License-Identifier: MIT */
/*
 * kernel_cast_type.h - template of kernel_cast.c: casts and bitcasts from one
 * dtype to all others, and their tables.
 */
#define NAMED(prefix, TO) CAT4(prefix, DT, _to_, TO)

#define DEFINE(RECIPE, loop, kernel, TO, type, cls) \
    static void NAMED(loop, TO)(tgi_run run) \
    { \
        for (int64_t i = 0; i < run.n; i++) { \
            T x = AT(T, 1); \
            AT(type, 0) = CAT4(RECIPE, CLASS, _, cls)(TO, x); \
        } \
    } \
    static tg_status NAMED(kernel, TO)(const tgi_kernel_args *args) \
    { \
        return run_loop(args, NAMED(loop, TO)); \
    }
#define DTYPE(TO, name, type, cls) \
    DEFINE(CAST_, cast_loop_, cast_, TO, type, cls) \
    DEFINE(BITCAST_, bitcast_loop_, bitcast_, TO, type, cls)
#include "base/dtype.def"
#undef DTYPE
#undef DEFINE

static tgi_kernel *const CAT(casts_, DT)[TGI_DTYPES] = {
#define DTYPE(TO, ...) [TG_##TO] = NAMED(cast_, TO),
#include "base/dtype.def"
#undef DTYPE
};

static tgi_kernel *const CAT(bitcasts_, DT)[TGI_DTYPES] = {
#define DTYPE(TO, ...) [TG_##TO] = NAMED(bitcast_, TO),
#include "base/dtype.def"
#undef DTYPE
};

#undef NAMED
