/* SPDX-License-Identifier: MIT */
/*
 * test_calibration.c - tg_calibrate, and what contexts do with the entry that
 * it leaves in the cache directory. Entries with made-up numbers show whether
 * one is used; what is measured here is only checked for plausibility.
 */
#include <stdlib.h>
#include <unistd.h>

#include "front/object/context_object.h"
#include "support/folders.h"
#include "support/modes.h"
#include "tgjit/cache.h"

static char store[] = "/tmp/tgjit-calibration-XXXXXX";

static tg_context_options with_store(const char *cache)
{
    return (tg_context_options){.cache = cache, .cache_dir = store};
}

static const char made_up[] = "vector_bits 256\nl2_bytes 524288\n"
                              "non_temporal_bytes 1048576\nteam_ns 4000\n"
                              "barrier_ns 100\nwide_percent 80\n"
                              "l2_bandwidth 1\nl2_bandwidth_team 1\n"
                              "memory_bandwidth 1\nmemory_bandwidth_team 1\n";

/* Saves an entry for a machine with so many CPUs more than this one. */
static void save_entry(const char *text, int n_more_cpus)
{
    session s;
    tgi_strbuf key = {0};
    session_begin_with(&s, with_store("rw"));
    tgi_calibration_key(tgi_calibration_cpus() + n_more_cpus, &key);
    cr_assert(tgi_disk_cache_save(tgi_context_disk_cache(s.ctx),
                                  (tgi_byte_span){key.text, key.n},
                                  (tgi_byte_span){text, strlen(text)}, NULL));
    tgi_strbuf_deinit(&key);
    session_end(&s);
}

/* The calibration of a context with these options. */
static tgi_calibration used_with(tg_context_options options)
{
    session s;
    session_begin_with(&s, options);
    const tgi_calibration c = tgi_context_calibration(s.ctx);
    session_end(&s);
    return c;
}

Test(calibration, of_the_disk_cache_is_used)
{
    cr_assert_not_null(mkdtemp(store));
    cr_expect_eq(used_with(with_store("rw")).vector_bits, 0);
    save_entry(made_up, 0);
    cr_expect_eq(used_with(with_store("rw")).vector_bits, 256);
    cr_expect_eq(used_with(with_store("ro")).team_ns, 4000);
    cr_expect_eq(used_with(with_store("off")).vector_bits, 0);
    remove_folder(store);
}

Test(calibration, can_be_turned_off)
{
    cr_assert_not_null(mkdtemp(store));
    save_entry(made_up, 0);
    tg_context_options options = with_store("rw");
    options.calibration = "off";
    cr_expect_eq(used_with(options).vector_bits, 0);
    setenv("TGJIT_CALIBRATION", "off", 1);
    cr_expect_eq(used_with(with_store("rw")).vector_bits, 0);
    options.calibration = "on";
    cr_expect_eq(used_with(options).vector_bits, 256);
    options.calibration = "maybe";
    options.struct_bytes = sizeof(options);
    cr_expect_null(tg_context_create(&options));
    cr_expect_not_null(strstr(tg_error(NULL), "'maybe' is not one of on, off"));
    remove_folder(store);
}

Test(calibration, of_another_machine_or_implausible_is_ignored)
{
    cr_assert_not_null(mkdtemp(store));
    save_entry(made_up, 1);
    cr_expect_eq(used_with(with_store("rw")).vector_bits, 0);
    save_entry("vector_bits 256\n", 0);
    cr_expect_eq(used_with(with_store("rw")).vector_bits, 0);
    save_entry("", 0);
    cr_expect_eq(used_with(with_store("rw")).vector_bits, 0);
    save_entry(made_up, 0);
    cr_expect_eq(used_with(with_store("rw")).vector_bits, 256);
    remove_folder(store);
}

Test(calibration, decides_the_grain_unless_it_is_set)
{
    session s;
    cr_assert_not_null(mkdtemp(store));
    save_entry(made_up, 0);
    unsetenv("TGJIT_GRAIN");
    session_begin_with(&s, with_store("rw"));
    cr_expect_eq(tgi_context_grain(s.ctx), 6000000);
    session_end(&s);
    setenv("TGJIT_GRAIN", "7000", 1);
    session_begin_with(&s, with_store("rw"));
    cr_expect_eq(tgi_context_grain(s.ctx), 7000000);
    session_end(&s);
    setenv("TGJIT_GRAIN", "0", 1);
    session_begin_with(&s, with_store("rw"));
    cr_expect_eq(tgi_context_grain(s.ctx), 0);
    session_end(&s);
    remove_folder(store);
}

static void scale(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, tg_exp(tg_mul(in[0], 0.25F)));
}

/* The code of a call; returns the number of compiles. */
static uint64_t compiles_of(tg_context_options options, float *out, int n)
{
    session s;
    tg_cache_counters counts = TG_CACHE_COUNTERS_INIT;
    options.jit = "required";
    session_begin_with(&s, options);
    tg_function *f = tg_function_create(s.ctx, scale, NULL, NULL);
    tg_tensor *x = f32_range(s.ctx, n), *y = NULL;
    check_works(tg_call(f, TG_ARGS(x), TG_RESULTS(&y)));
    memcpy(out, tg_tensor_data(y), (size_t)n * sizeof(*out));
    check_works(tg_cache_counts(s.ctx, &counts));
    tg_tensor_release(x);
    tg_tensor_release(y);
    tg_function_release(f);
    session_end(&s);
    return counts.saves;
}

/* A calibration that changes no schedule invalidates no code, and one that
   does changes no bits. */
Test(calibration, invalidates_only_what_it_changes)
{
    enum { N = 5000 };
    static float plain[N], calibrated[N];
    static const char stores_only[] =
        "vector_bits 0\nl2_bytes 0\nnon_temporal_bytes 9000000\nteam_ns 0\n"
        "barrier_ns 0\nwide_percent 0\nl2_bandwidth 0\nl2_bandwidth_team 0\n"
        "memory_bandwidth 0\nmemory_bandwidth_team 0\n";
    need_compiler();
    cr_assert_not_null(mkdtemp(store));
    cr_expect_eq(compiles_of(with_store("rw"), plain, N), 1);
    save_entry(stores_only, 0); /* the result is smaller */
    cr_expect_eq(compiles_of(with_store("rw"), calibrated, N), 0);
    save_entry(made_up, 0);
    compiles_of(with_store("rw"), calibrated, N);
    cr_expect_arr_eq(calibrated, plain, sizeof(plain));
    remove_folder(store);
}

Test(calibration, measures_and_keeps_what_it_finds)
{
    session s;
    tg_calibration c = TG_CALIBRATION_INIT;
    cr_assert_not_null(mkdtemp(store));
    session_begin_with(&s, with_store("rw"));
    check_works(tg_calibrate(s.ctx, &c));
    cr_expect_eq(c.is_saved, 1);
    cr_expect_geq(c.threads, 1);
    cr_expect_eq(c.team_ns != 0, c.threads > 1);
    cr_expect_eq(tgi_context_calibration(s.ctx).team_ns, c.team_ns);
    session_end(&s);
    cr_expect_eq(used_with(with_store("ro")).team_ns, c.team_ns);
    remove_folder(store);
}

Test(calibration, without_a_place_is_not_kept)
{
    session s;
    tg_calibration c = TG_CALIBRATION_INIT;
    session_begin_with(&s, (tg_context_options){.cache = "off"});
    check_works(tg_calibrate(s.ctx, NULL));
    check_works(tg_calibrate(s.ctx, &c));
    cr_expect_eq(c.is_saved, 0);
    cr_expect_eq(tgi_context_calibration(s.ctx).l2_bytes, c.l2_bytes);
    cr_expect_eq(tg_calibrate(NULL, &c), TG_ERROR_INVALID_ARGUMENT);
    c.struct_bytes = 12;
    cr_expect_eq(tg_calibrate(s.ctx, &c), TG_ERROR_INVALID_ARGUMENT);
    session_end(&s);
}
