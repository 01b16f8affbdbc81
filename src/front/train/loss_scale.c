/* SPDX-License-Identifier: MIT */
/*
 * loss_scale.c - updates from gradients of a scaled loss. The update and the
 * change of the scale are the two branches of a tg_cond, so that a step whose
 * gradients are not finite writes nothing but the scale.
 */
#include "tgjit/loss_scale.h"

#include <math.h>

#include "base/alloc.h"
#include "front/trace/trace_state.h"
#include "front/train/layer_create.h"
#include "front/train/optimiser_state.h"
#include "tgjit/control.h"
#include "tgjit/trace.h"

static const double largest_scale = 0x1p40;

tg_status tg_loss_scaler_create(tg_context *ctx, const char *name,
                                double scale, tg_loss_scaler *out_scaler)
{
    tgi_layer_creation c;
    if (tgi_layer_begin(&c, ctx, "tg_loss_scaler_create", name,
                        &tg_loss_scaler_type, out_scaler)) {
        if (!(scale >= 1 && scale <= largest_scale))
            c.status = tgi_error_set(
                TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                "tg_loss_scaler_create: the scale must be in 1 … 2^40, not %g",
                scale);
        out_scaler->scale = tgi_layer_statistic(&c, "scale", TG_F32, 0, NULL,
                                                tg_fill(scale));
        out_scaler->steps =
            tgi_layer_statistic(&c, "steps", TG_I64, 0, NULL, tg_zeros());
    }
    return tgi_layer_end(&c);
}

/* -- The two branches ------------------------------------------------------ */

typedef struct scaled_update {
    tg_operand rate;
    tg_update_rule rule;
    const tg_bundle_type *type;
    const void *model, *state;
    const tg_loss_scaler *scaler;
    int64_t interval;
    const tg_value *gradients;
    size_t n;
    tg_site site;
} scaled_update;

static tg_operand operand_of(tg_value value)
{
    return tg_in_value(value);
}

static void assign(const scaled_update *u, tg_variable *variable, tg_value x)
{
    tg_assign_at(tg_in_variable(variable), operand_of(x), u->site);
}

/* Updates the model; counts, and doubles the scale after `interval` steps. */
static void apply(tg_trace *t, const tg_value *in, void *user)
{
    const scaled_update *u = user;
    (void)in;
    tg_optimiser_apply_at(u->rate, u->rule, u->type, u->model, u->state,
                          u->gradients, u->n, u->site);
    if (u->interval) {
        const tg_site at = u->site;
        const tg_operand scale = tg_in_variable(u->scaler->scale);
        const tg_value steps = tg_add_at(tg_in_variable(u->scaler->steps),
                                         tg_in_i64(1), at);
        const tg_value grows =
            tg_le_at(tg_in_i64(u->interval), operand_of(steps), at);
        const tg_value twice =
            tg_min_at(operand_of(tg_mul_at(scale, tg_in_f64(2), at)),
                      tg_in_f64(largest_scale), at);
        assign(u, u->scaler->scale,
               tg_select_at(operand_of(grows), operand_of(twice), scale, at));
        assign(u, u->scaler->steps,
               tg_select_at(operand_of(grows), tg_in_i64(0),
                            operand_of(steps), at));
    }
    tg_return_at(t, NULL, 0, u->site);
}

/* Halves the scale. */
static void skip(tg_trace *t, const tg_value *in, void *user)
{
    const scaled_update *u = user;
    (void)in;
    if (u->interval) {
        const tg_value half = tg_mul_at(tg_in_variable(u->scaler->scale),
                                        tg_in_f64(0.5), u->site);
        assign(u, u->scaler->scale,
               tg_max_at(operand_of(half), tg_in_f64(1), u->site));
        tg_assign_at(tg_in_variable(u->scaler->steps), tg_in_i64(0), u->site);
    }
    tg_return_at(t, NULL, 0, u->site);
}

/* -- Updates --------------------------------------------------------------- */

/* Divides the gradients by the scale; returns whether all are finite. */
static tg_value unscale(const scaled_update *u, tg_value *gradients)
{
    const tg_axes all = {.n = -1};
    tg_value is_finite = {0, 0};
    for (size_t i = 0; i < u->n; i++) {
        const tg_value scale =
            tg_cast_at(tg_in_variable(u->scaler->scale),
                       tg_value_dtype(gradients[i]), u->site);
        gradients[i] = tg_div_at(operand_of(gradients[i]), operand_of(scale),
                                 u->site);
        const tg_value fits = tg_all_at(
            operand_of(tg_is_finite_at(operand_of(gradients[i]), u->site)),
            all, u->site);
        is_finite = i ? tg_and_at(operand_of(is_finite), operand_of(fits),
                                  u->site)
                      : fits;
    }
    return is_finite;
}

/* The gradients of loss * scale; NULL on error, which sticks. */
static tg_value *differentiate_scaled(tgi_operation *o, tg_operand loss,
                                      const tg_loss_scaler *scaler,
                                      const tgi_parameters *list)
{
    const tg_site site = o->b.site;
    tg_value *gradients = tgi_alloc((list->n + 1) * sizeof(*gradients));
    if (!gradients) {
        tgi_error_memory();
        tgi_operation_end(o, 0);
        return NULL;
    }
    const tg_value value = tg_mul_at(loss, tg_in_f64(1), site);
    const tg_value scale = tg_cast_at(tg_in_variable(scaler->scale),
                                      tg_value_dtype(value), site);
    const tg_value scaled = tg_mul_at(loss, operand_of(scale), site);
    tgi_operation_begin(o, "minimise_scaled", site);
    if (tgi_parameters_differentiate(o, operand_of(scaled), list, gradients))
        return gradients;
    tgi_free(gradients);
    return NULL;
}

tg_value tg_minimise_scaled_at(tg_operand loss, tg_operand rate,
                               tg_update_rule rule, const tg_bundle_type *type,
                               const void *model, const void *state,
                               const tg_loss_scaler *scaler, int64_t interval,
                               tg_site site)
{
    tgi_operation o;
    tgi_parameters list = {0};
    tg_value *gradients = NULL, result = {0, 0};
    if (!tgi_operation_begin(&o, "minimise_scaled", site))
        return result;
    const bool is_scaler = scaler && scaler->scale && scaler->steps;
    if (!is_scaler || interval < 0)
        tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                       is_scaler ? "the interval %lld is negative"
                                 : "the scaler has not been created",
                       (long long)interval);
    if (!is_scaler || interval < 0 ||
        !tgi_optimiser_check(&o, &rule, type, model, state) ||
        !tgi_parameters_list(type, model, state, &list))
        tgi_operation_end(&o, 0);
    else
        gradients = differentiate_scaled(&o, loss, scaler, &list);
    if (gradients && list.n) {
        scaled_update u = {rate,   rule,     type,      model,  state,
                           scaler, interval, gradients, list.n, site};
        result = unscale(&u, gradients);
        tg_cond_at(operand_of(result), apply, skip, &u, NULL, 0, NULL, 0, site);
    }
    tgi_free(gradients);
    tgi_vec_deinit(&list);
    return result;
}
