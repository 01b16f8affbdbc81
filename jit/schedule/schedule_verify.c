/* SPDX-License-Identifier: MIT */
/* schedule_verify.c - the entry point of the schedule verifier (verify.h). */
#include "schedule/verify.h"

tg_status tgi_schedule_violation(const tgi_schedule *s, const char *rule,
                                 int64_t number)
{
    const char *name = s->original->name;
    return tgi_error_set(TG_ERROR_INTERNAL, TGI_NO_SITE,
                         "schedule: kernel %s: %s (%lld)", name ? name : "?",
                         rule, (long long)number);
}

static tg_status verify_axes(const tgi_schedule *s)
{
    const tgi_kernel_loops *loops = s->loops;
    TGI_REQUIRE(s->vector_bits == 128 || s->vector_bits == 256 ||
                    s->vector_bits == 512,
                "vector bits", s->vector_bits);
    TGI_REQUIRE(s->inner == loops->n_outer, "inner axis", s->inner);
    TGI_REQUIRE(s->vector_axis == s->inner - (loops->vectors == TGI_COLUMNS) &&
                    s->vector_axis >= 0,
                "vector axis", s->vector_axis);
    return TG_OK;
}

tg_status tgi_schedule_verify(const tgi_schedule *s)
{
    TGI_TRY(verify_axes(s));
    TGI_TRY(tgi_schedule_verify_facts(s));
    TGI_TRY(tgi_schedule_verify_tiles(s));
    for (unsigned i = 0; i < s->loops->n_phases; i++) {
        TGI_TRY(tgi_schedule_verify_nest(s, i));
        TGI_TRY(tgi_schedule_verify_reductions(s, i));
        TGI_TRY(tgi_schedule_verify_fission(s, i));
    }
    TGI_TRY(tgi_schedule_verify_interchange(s));
    TGI_TRY(tgi_schedule_verify_matmul(s));
    TGI_TRY(tgi_schedule_verify_items(s));
    TGI_TRY(tgi_schedule_verify_panels(s));
    return tgi_schedule_verify_stores(s);
}

tg_status tgi_schedule_verify_all(const tgi_loops *loops)
{
    for (size_t i = 0; i < loops->kernels.n; i++)
        TGI_TRY(tgi_schedule_verify(loops->kernels.data[i]->schedule));
    return TG_OK;
}
