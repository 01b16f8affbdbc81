/* SPDX-License-Identifier: MIT */
/*
 * test_llvm_non_temporal.c - non-temporal stores: results are the same at every
 * address and length, and values that are read again or fit the cache are
 * stored normally.
 */
#include "support/loops_building.h"
#include "support/support.h"

static const unsigned widths[] = {128, 256};
#define each_width(w) for (size_t w = 0; w < 2; w++)
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static bool is_streaming(const code *c)
{
    return strstr(c->codegen.assembly, "vmovnt") != NULL;
}

/* -- Maps ------------------------------------------------------------------ */

/* Two results of x + y: the sum, and its cast to another dtype. */
static code compile_two(int dtype, int other, tgi_dim n, tgi_loops *loops,
                        unsigned bits, int64_t cache_bytes)
{
    const uint32_t x = add_buffer(loops, dtype, n);
    const uint32_t y = add_buffer(loops, dtype, n);
    const uint32_t out = add_buffer(loops, dtype, n);
    const uint32_t cast = add_buffer(loops, other, n);
    tgi_kernel_loops *k = add_kernel(loops, "tg_two", TGI_ROWS, 0, &n);
    const int64_t one[] = {1};
    const uint32_t a = add_load(loops, k, 0, add_access(k, x, 0, one));
    const uint32_t b = add_load(loops, k, 0, add_access(k, y, 0, one));
    const uint32_t sum = add_op(k, 0, TGI_OP_ADD, a, b, 0);
    add_store(k, 0, sum, add_access(k, out, 0, one), TGI_LEVEL_INNER);
    add_store(k, 0, add_cast(k, 0, sum, other), add_access(k, cast, 0, one),
              TGI_LEVEL_INNER);
    return compile_loops_for(loops, bits, cache_bytes);
}

/* Memory in which elements start `skip` after a page boundary and end at
   another. */
typedef struct part {
    guarded memory;
    void *data;
} part;

static part new_part(int dtype, int64_t n, int64_t skip, uint64_t seed)
{
    const size_t bytes = (size_t)tgi_dtype_bytes(dtype);
    part p = {new_guarded((size_t)(n + skip) * bytes, seed % 2), NULL};
    for (size_t i = 0; i < p.memory.bytes / bytes; i++) {
        uint64_t bits = random_next(&seed) % 50;
        if (tgi_dtype_is(dtype, TGI_CLASS_FLOAT))
            cr_assert(tgi_dtype_store(dtype,
                                      (tgi_number){.kind = TGI_NUMBER_FLOAT,
                                                   .as = {.f = (double)bits}},
                                      &bits));
        memcpy(p.memory.data + i * bytes, &bits, bytes);
    }
    p.data = p.memory.data + (size_t)skip * bytes;
    return p;
}

static void check_two(const code *c, int dtype, int other, int64_t n,
                      int64_t skip, int n_threads)
{
    part p[] = {new_part(dtype, n, 0, 1), new_part(dtype, n, skip, 2),
                new_part(dtype, n, skip, 3), new_part(other, n, skip / 3, 4)};
    void *const buffers[] = {p[0].data, p[1].data, p[2].data, p[3].data};
    tgi_frame frame = {.buffers = buffers, .dims = &n};
    run_code(c, &frame, n_threads);
    for (int64_t i = 0; i < n; i++) {
        double value[4];
        for (int j = 0; j < 4; j++) {
            const int type = j < 3 ? dtype : other;
            const tgi_number number = tgi_dtype_load(
                type, (char *)p[j].data + i * tgi_dtype_bytes(type));
            value[j] = number.kind == TGI_NUMBER_FLOAT ? number.as.f
                                                       : (double)number.as.u;
        }
        cr_assert(value[2] == value[0] + value[1] && value[3] == value[2],
                  "dtype %d, element %lld of %lld", dtype, (long long)i,
                  (long long)n);
    }
    for (size_t i = 0; i < LENGTH(p); i++)
        free_guarded(&p[i].memory);
}

static const int dtypes[][2] = {{TG_U8, TG_U8},   {TG_U16, TG_U32},
                                {TG_F32, TG_U32}, {TG_F32, TG_F64},
                                {TG_F64, TG_F32}, {TG_U64, TG_U8}};

Test(llvm_non_temporal, results_are_right_at_every_address_and_length)
{
    each_width(w)
        for (size_t d = 0; d < LENGTH(dtypes); d++) {
            tgi_loops *loops = new_loops("two");
            const tgi_dim n =
                tgi_dim_symbol(loops->dims, (tgi_symbol){0, 0});
            code c = compile_two(dtypes[d][0], dtypes[d][1], n, loops,
                                 widths[w], 800);
            cr_expect(is_streaming(&c));
            for (int64_t skip = 0; skip <= 16; skip += 1 + skip / 4)
                for (int64_t size = 0; size <= 2000; size += 1 + size / 3)
                    check_two(&c, dtypes[d][0], dtypes[d][1], size, skip,
                              1 + (int)(size + skip) % 3);
            free_code(&c);
        }
    check_nothing_is_alive();
}

Test(llvm_non_temporal, results_of_known_size_are_right_too)
{
    for (size_t d = 0; d < LENGTH(dtypes); d++) {
        code c = compile_two(dtypes[d][0], dtypes[d][1], 3000,
                             new_loops("two"), 256, 800);
        cr_expect(is_streaming(&c));
        for (int64_t skip = 0; skip < 20; skip++)
            check_two(&c, dtypes[d][0], dtypes[d][1], 3000, skip,
                      1 + (int)skip % 3);
        free_code(&c);
    }
    check_nothing_is_alive();
}

/* -- Choice of stores ------------------------------------------------------ */

Test(llvm_non_temporal, a_fence_follows_non_temporal_stores)
{
    code c = compile_two(TG_F32, TG_F32, 3000, new_loops("two"), 256, 800);
    cr_expect(strstr(c.codegen.assembly, "sfence"));
    free_code(&c);
    check_nothing_is_alive();
}

Test(llvm_non_temporal, small_results_are_stored_normally)
{
    const int64_t caches[] = {0, 12000, 1 << 20};
    for (size_t i = 0; i < LENGTH(caches); i++) {
        code c = compile_two(TG_F32, TG_F32, 3000, new_loops("two"), 256,
                             caches[i]);
        cr_expect_not(is_streaming(&c));
        cr_expect_not(strstr(c.codegen.assembly, "sfence"));
        free_code(&c);
    }
    check_nothing_is_alive();
}

/* y = -x, then z = -y; or x = -x. */
static code compile_twice(bool is_in_place)
{
    const tgi_dim n = 3000;
    const int64_t one[] = {1};
    tgi_loops *loops = new_loops("twice");
    uint32_t from = add_buffer(loops, TG_F32, n);
    for (int i = 0; i < 2 - is_in_place; i++) {
        const uint32_t to =
            is_in_place ? from : add_buffer(loops, TG_F32, n);
        tgi_kernel_loops *k =
            add_kernel(loops, i ? "tg_second" : "tg_first", TGI_ROWS, 0, &n);
        const uint32_t x = add_load(loops, k, 0, add_access(k, from, 0, one));
        add_store(k, 0, add_op(k, 0, TGI_OP_NEG, x, 0, 0),
                  add_access(k, to, 0, one), TGI_LEVEL_INNER);
        add_step(loops, TGI_STEP_BARRIER, 0);
        from = to;
    }
    return compile_loops_for(loops, 256, 800);
}

Test(llvm_non_temporal, values_read_in_the_call_are_stored_normally)
{
    code c = compile_twice(true);
    cr_expect_not(is_streaming(&c));
    free_code(&c);

    c = compile_twice(false);
    const char *second = strstr(c.codegen.assembly, "tg_second:");
    cr_assert(second);
    const char *first = strstr(c.codegen.assembly, "vmovnt");
    cr_expect(first && first > second);
    free_code(&c);
    check_nothing_is_alive();
}
