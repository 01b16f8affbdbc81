/* SPDX-License-Identifier: MIT */
/*
 * kernel_cast_type.h - template of kernel_cast.c: casts from one dtype to all
 * others, and their table.
 */
#define NAMED(prefix, TO) CAT4(prefix, DT, _to_, TO)

#define DTYPE(TO, name, type, cls) \
    static void NAMED(loop_, TO)(tgi_run run) \
    { \
        for (int64_t i = 0; i < run.n; i++) { \
            T x = AT(T, 1); \
            AT(type, 0) = CAT4(CAST_, CLASS, _, cls)(TO, x); \
        } \
    } \
    static tg_status NAMED(kernel_, TO)(const tgi_kernel_args *args) \
    { \
        return run_loop(args, NAMED(loop_, TO)); \
    }
#include "base/dtype.def"
#undef DTYPE

static tgi_kernel *const TABLE[TGI_DTYPES] = {
#define DTYPE(TO, ...) [TG_##TO] = NAMED(kernel_, TO),
#include "base/dtype.def"
#undef DTYPE
};

#undef NAMED
