/* SPDX-License-Identifier: MIT */
/*
 * loss_scale.h - training in f16 or bf16 with variables in f32 (mixed
 * precision).
 *
 * A layer of f32 variables takes halves: tg_dense, tg_convolve and tg_attention
 * round their variables to the dtype of x, tg_batch_norm uses its f32 variables;
 * the result has the dtype of x. So a model computes in f16 if its input is cast
 * to it, while the optimiser updates f32 variables, from f32 gradients.
 *
 * Small gradients are 0 in f16, unless the loss, and so all gradients, are
 * multiplied by a scale:
 *
 *     tg_value logits = tg_cast(model_of(r, tg_cast(x, TG_F16)), TG_F32);
 *     tg_value loss = …                                        // in f32
 *     tg_minimise_scaled(loss, 1e-3, rule, &model_optimiser_type, &r->net,
 *                        &r->adam, &r->scaler, 2000);
 *
 * bf16 has the range of f32 and needs no scale: tg_minimise does.
 */
#ifndef TGJIT_LOSS_SCALE_H
#define TGJIT_LOSS_SCALE_H

#include "optimiser.h"

/* scale is an f32 scalar; steps, an i64 scalar, counts updates since the scale
   changed. */
TG_DEFINE_BUNDLE(tg_loss_scaler, scale, steps)

TG_BEGIN_DECLS

/* Creates the variables, not trainable, in the scope `name`; 65536 is a usual
   scale. On failure both are NULL. */
TG_API TG_MUST_CHECK tg_status
tg_loss_scaler_create(tg_context *ctx, const char *name, double scale,
                      tg_loss_scaler *out_scaler);

/*
 * As tg_minimise, from the gradients of loss * scale divided by the scale. If any
 * is infinite or NaN, nothing is updated. Returns a bool scalar: whether all were
 * finite.
 *
 * If `interval` is 0, the scale is static. Else it is dynamic: halved, but not
 * below 1, by gradients that are not finite, and doubled, up to 2^40, after
 * `interval` updates in a row.
 */
TG_API tg_value tg_minimise_scaled_at(tg_operand loss, tg_operand rate,
                                      tg_update_rule rule,
                                      const tg_bundle_type *type,
                                      const void *model, const void *state,
                                      const tg_loss_scaler *scaler,
                                      int64_t interval, tg_site site);

TG_END_DECLS

#ifndef __cplusplus
#define tg_minimise_scaled(loss, rate, rule, type, model, state, scaler, \
                           interval) \
    tg_minimise_scaled_at(TG_IN(loss), TG_IN(rate), rule, type, model, state, \
                          scaler, interval, TG_HERE)
#else
inline tg_value tg_minimise_scaled(tg_in loss, tg_in rate, tg_update_rule rule,
                                   const tg_bundle_type *type,
                                   const void *model, const void *state,
                                   const tg_loss_scaler *scaler,
                                   int64_t interval, tg_site site = TG_HERE)
{
    return tg_minimise_scaled_at(loss, rate, rule, type, model, state, scaler,
                                 interval, site);
}
#endif

#endif /* TGJIT_LOSS_SCALE_H */
