/* SPDX-License-Identifier: MIT */
/*
 * schedules.h - learning rates that change in the course of training, as values
 * of the step's graph. `step` is an integer scalar that counts updates from 0,
 * such as the member `steps` of an optimiser's state before the update:
 *
 *     tg_value decay = tg_cosine_decay(r->adam.steps, 1e-3, 5000, 0);
 *     tg_value rate = tg_warm_up(r->adam.steps, 100, decay);
 *     tg_minimise(loss, rate, rule, &model_optimiser_type, &r->net, &r->adam);
 *
 * The rates are f64 scalars. A constant rate is a plain number.
 */
#ifndef TGJIT_SCHEDULES_H
#define TGJIT_SCHEDULES_H

#include "ops.h"

TG_BEGIN_DECLS

/* rate * factor^floor(step / every) */
TG_API tg_value tg_step_decay_at(tg_operand step, double rate, int64_t every,
                                 double factor, tg_site site);

/* rate * factor^(step / every) */
TG_API tg_value tg_exponential_decay_at(tg_operand step, double rate,
                                        int64_t every, double factor,
                                        tg_site site);

/* From `rate` to `final_rate` in n_steps steps, along half a period of a
   cosine; constant afterwards. */
TG_API tg_value tg_cosine_decay_at(tg_operand step, double rate,
                                   int64_t n_steps, double final_rate,
                                   tg_site site);

/* rate * min((step + 1) / n_steps, 1), where `rate` is a number or another
   schedule. */
TG_API tg_value tg_warm_up_at(tg_operand step, int64_t n_steps,
                              tg_operand rate, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_step_decay(step, rate, every, factor) \
    tg_step_decay_at(TG_IN(step), rate, every, factor, TG_HERE)
#define tg_exponential_decay(step, rate, every, factor) \
    tg_exponential_decay_at(TG_IN(step), rate, every, factor, TG_HERE)
#define tg_cosine_decay(step, rate, n_steps, final_rate) \
    tg_cosine_decay_at(TG_IN(step), rate, n_steps, final_rate, TG_HERE)
#define tg_warm_up(step, n_steps, rate) \
    tg_warm_up_at(TG_IN(step), n_steps, TG_IN(rate), TG_HERE)
#else
inline tg_value tg_step_decay(tg_in step, double rate, int64_t every,
                              double factor, tg_site site = TG_HERE)
{
    return tg_step_decay_at(step, rate, every, factor, site);
}
inline tg_value tg_exponential_decay(tg_in step, double rate, int64_t every,
                                     double factor, tg_site site = TG_HERE)
{
    return tg_exponential_decay_at(step, rate, every, factor, site);
}
inline tg_value tg_cosine_decay(tg_in step, double rate, int64_t n_steps,
                                double final_rate, tg_site site = TG_HERE)
{
    return tg_cosine_decay_at(step, rate, n_steps, final_rate, site);
}
inline tg_value tg_warm_up(tg_in step, int64_t n_steps, tg_in rate,
                           tg_site site = TG_HERE)
{
    return tg_warm_up_at(step, n_steps, rate, site);
}
#endif

#endif /* TGJIT_SCHEDULES_H */
