/* SPDX-License-Identifier: MIT */
/* test_target.c - targets as data (jit/target/target.h). */
#include "target/target.h"

#include <criterion/criterion.h>

Test(target, a_width_that_is_asked_for_is_the_only_one)
{
    for (unsigned bits = 128; bits <= 512; bits *= 2) {
        tgi_target target;
        tgi_target_init("x86-64-v4", bits, &target);
        cr_expect_eq(target.min_vector_bits, bits);
        cr_expect_eq(target.max_vector_bits, bits);
    }
}

Test(target, the_widest_vectors_follow_from_the_cpu)
{
    tgi_target target;
    tgi_target_init("x86-64-v3", 0, &target);
    cr_expect_str_eq(target.name, "avx2");
    cr_expect_eq(target.max_vector_bits, 256);
    tgi_target_init("znver4", 0, &target);
    cr_expect_str_eq(target.name, "avx512");
    cr_expect_eq(target.max_vector_bits, 512);
    cr_expect_eq(target.n_registers, 32);
}

Test(target, a_cpu_of_aarch64_does_not_depend_on_the_host)
{
    tgi_target target, typical;
    tgi_target_init("neoverse-n1", 0, &target);
    cr_assert(tgi_target_by_name("neon", &typical));
    cr_expect_str_eq(target.name, "neon");
    cr_expect_eq(target.max_vector_bits, 128);
    cr_expect_eq(target.l2_bytes, typical.l2_bytes);
    cr_expect_eq(target.non_temporal_bytes, typical.non_temporal_bytes);
}

Test(target, a_huge_last_level_cache_is_not_believed)
{
    tgi_target target;
    tgi_target_init(NULL, 0, &target);
    cr_expect_leq(target.non_temporal_bytes, 32 << 20);
    cr_expect_leq(target.last_level_bytes, target.non_temporal_bytes);
}

/* Units of another CPU are not those of the host. */
Test(target, units_are_at_most_as_wide_as_vectors)
{
    tgi_target target;
    tgi_target_init("znver4", 0, &target);
    cr_expect_eq(target.unit_bits, 256);
    for (unsigned bits = 0; bits <= 512; bits = bits ? 2 * bits : 128) {
        tgi_target_init(NULL, bits, &target);
        cr_expect_leq(target.unit_bits, target.max_vector_bits);
        cr_expect_geq(target.unit_bits, target.max_vector_bits / 2);
    }
}

Test(target, an_implausible_l2_cache_is_not_believed)
{
    tgi_target target;
    tgi_target_init(NULL, 0, &target);
    cr_expect_geq(target.l2_bytes, 256 << 10);
    cr_expect_leq(target.l2_bytes, 4 << 20);
}

Test(target, instruction_sets_are_known_by_name)
{
    static const char *const names[] = {"sse", "avx2", "avx512", "neon"};
    tgi_target target;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cr_assert(tgi_target_by_name(names[i], &target));
        cr_expect_str_eq(target.name, names[i]);
    }
    cr_expect_not(tgi_target_by_name("abacus", &target));
    cr_assert(tgi_target_by_name("neon", &target));
    cr_expect_eq(target.min_masked_bytes, 0);
}
