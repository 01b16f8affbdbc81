/* SPDX-License-Identifier: MIT */
/*
 * test_host_calibration.c - a calibration as text, and what it does to a target
 * (jit/target/host_calibration.h). Nothing is measured here.
 */
#include "target/host_calibration.h"

#include <stdlib.h>
#include <string.h>

#include "support/support.h"

static const tgi_calibration sample = {.vector_bits = 256,
                                       .l2_bytes = 768 << 10,
                                       .non_temporal_bytes = 16 << 20,
                                       .team_ns = 3000,
                                       .barrier_ns = 200,
                                       .wide_percent = 90,
                                       .l2_bandwidth = 100000,
                                       .l2_bandwidth_team = 200000,
                                       .memory_bandwidth = 20000,
                                       .memory_bandwidth_team = 40000};

static tgi_strbuf text_of(const tgi_calibration *c)
{
    tgi_strbuf text = {0};
    tgi_calibration_print(c, &text);
    cr_assert_not(text.failed);
    return text;
}

/* Parses a copy that ends at the end of its allocation. A failure leaves no
   part of the text behind. */
static bool parse(const char *text, size_t n, tgi_calibration *out)
{
    const tgi_calibration none = {0};
    char *copy = malloc(n ? n : 1);
    if (n)
        memcpy(copy, text, n);
    memset(out, 1, sizeof(*out));
    const bool is_valid = tgi_calibration_parse(copy, n, out);
    cr_assert(is_valid || memcmp(out, &none, sizeof(none)) == 0);
    free(copy);
    return is_valid;
}

Test(host_calibration, is_read_back)
{
    tgi_calibration c, none = {0};
    tgi_strbuf text = text_of(&sample);
    cr_assert(parse(text.text, text.n, &c));
    cr_expect_arr_eq(&c, &sample, sizeof(c));
    tgi_strbuf_deinit(&text);
    text = text_of(&none);
    cr_assert(parse(text.text, text.n, &c));
    cr_expect_arr_eq(&c, &none, sizeof(c));
    tgi_strbuf_deinit(&text);
}

Test(host_calibration, truncated_text_is_refused)
{
    tgi_calibration c;
    tgi_strbuf text = text_of(&sample);
    for (size_t n = 0; n < text.n; n++)
        cr_expect_not(parse(text.text, n, &c), "%zu bytes", n);
    tgi_strbuf_add(&text, "\n");
    cr_expect_not(parse(text.text, text.n, &c));
    tgi_strbuf_deinit(&text);
}

Test(host_calibration, implausible_values_are_refused)
{
    tgi_calibration c = sample, out;
    int64_t *const members[] = {&c.vector_bits, &c.l2_bytes,
                                &c.non_temporal_bytes, &c.team_ns,
                                &c.barrier_ns, &c.vector_bits};
    static const int64_t values[] = {1024,      1000,    4096,
                                     2000000000, 1000001, 300};
    for (int i = 0; i < 6; i++) {
        c = sample;
        *members[i] = values[i];
        tgi_strbuf text = text_of(&c);
        cr_expect_not(parse(text.text, text.n, &out), "case %d", i);
        tgi_strbuf_deinit(&text);
    }
    static const char *const texts[] = {
        "vector_bits -256\n", "vector_bits 99999999999999999999\n",
        "vector_bits\n", "vector_bits x\n", "bits 256\n"};
    for (int i = 0; i < 5; i++)
        cr_expect_not(parse(texts[i], strlen(texts[i]), &out));
}

Test(host_calibration, replaces_assumptions_of_a_target)
{
    tgi_target target, before;
    tgi_calibration c = sample;
    cr_assert(tgi_target_by_name("avx512", &target));
    before = target;
    tgi_calibration_apply(&sample, &target);
    cr_expect_eq(target.max_vector_bits, 256);
    cr_expect_eq(target.min_vector_bits, 256);
    cr_expect_eq(target.l2_bytes, 768 << 10);
    cr_expect_eq(target.non_temporal_bytes, 16 << 20);
    c.non_temporal_bytes = INT64_MAX;
    tgi_calibration_apply(&c, &target);
    cr_expect_eq(target.non_temporal_bytes, 0);
    /* What was not measured stays as it was. */
    target = before;
    c = (tgi_calibration){0};
    tgi_calibration_apply(&c, &target);
    cr_expect_arr_eq(&target, &before, sizeof(target));
}

Test(host_calibration, keeps_the_width_that_was_asked_for)
{
    tgi_target target;
    tgi_calibration c = sample;
    tgi_target_init("x86-64-v4", 512, &target);
    tgi_calibration_apply(&c, &target);
    cr_expect_eq(target.max_vector_bits, 512);
    tgi_target_init("x86-64-v3", 0, &target);
    c.vector_bits = 512;
    tgi_calibration_apply(&c, &target);
    cr_expect_eq(target.max_vector_bits, 256);
}

Test(host_calibration, the_grain_follows_from_the_start_of_a_team)
{
    tgi_calibration c = sample;
    cr_expect_eq(tgi_calibration_grain(&c), 4500000);
    c.team_ns = 1;
    cr_expect_eq(tgi_calibration_grain(&c), 1000000);
    c.team_ns = 1000000;
    cr_expect_eq(tgi_calibration_grain(&c), 20000000);
    c.team_ns = 0;
    cr_expect_eq(tgi_calibration_grain(&c), 0);
}

Test(host_calibration, another_number_of_cpus_is_another_machine)
{
    tgi_strbuf two = {0}, three = {0};
    tgi_calibration_key(2, &two);
    tgi_calibration_key(3, &three);
    cr_expect_str_neq(two.text, three.text);
    cr_expect_eq(two.text[two.n - 1], '\n');
    tgi_strbuf_deinit(&two);
    tgi_strbuf_deinit(&three);
}
