/* SPDX-License-Identifier: MIT */
/*
 * schedules.c - learning rates as f64 scalars of the graph.
 */
#include "tgjit/schedules.h"

#include <math.h>

#include "front/trace/trace_state.h"

/* The step as an f64 scalar; 0 and an error if it is not an integer scalar, or
   if `period` is not positive. */
static tgi_ref step_operand(tgi_operation *o, tg_operand operand,
                            int64_t period)
{
    tgi_ref step = tgi_operation_operand(o, operand);
    if (!step)
        return 0;
    if (!tgi_dtype_is(tgi_graph_node(o->t->graph, step)->dtype,
                      TGI_CLASS_INT) ||
        tgi_graph_shape(o->t->graph, step)->rank != 0)
        return tgi_build_fail(&o->b, TG_ERROR_INVALID_ARGUMENT, &step, 1,
                              "the step must be an integer scalar");
    if (period <= 0)
        return tgi_build_fail(&o->b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                              "the number of steps must be positive, not %lld",
                              (long long)period);
    return tgi_build_cast(&o->b, step, TG_F64);
}

static tg_value build_decay(const char *name, bool is_stepwise,
                            tg_operand step, double rate, int64_t every,
                            double factor, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, name, site)) {
        tgi_builder *b = &o.b;
        tgi_ref exponent = step_operand(&o, step, every);
        exponent = tgi_build_2(b, TGI_OP_DIV, exponent,
                               tgi_build_f64(b, (double)every));
        if (is_stepwise)
            exponent = tgi_build_1(b, TGI_OP_FLOOR, exponent);
        const tgi_ref power = tgi_build_2(
            b, TGI_OP_POW, tgi_build_f64(b, factor), exponent);
        result = tgi_build_2(b, TGI_OP_MUL, tgi_build_f64(b, rate), power);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_step_decay_at(tg_operand step, double rate, int64_t every,
                          double factor, tg_site site)
{
    return build_decay("step_decay", true, step, rate, every, factor, site);
}

tg_value tg_exponential_decay_at(tg_operand step, double rate, int64_t every,
                                 double factor, tg_site site)
{
    return build_decay("exponential_decay", false, step, rate, every, factor,
                       site);
}

tg_value tg_cosine_decay_at(tg_operand step, double rate, int64_t n_steps,
                            double final_rate, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "cosine_decay", site)) {
        tgi_builder *b = &o.b;
        tgi_ref n = tgi_build_f64(b, (double)n_steps);
        tgi_ref done = tgi_build_2(b, TGI_OP_MIN,
                                   step_operand(&o, step, n_steps), n);
        tgi_ref angle = tgi_build_2(b, TGI_OP_DIV, done, n);
        angle = tgi_build_2(b, TGI_OP_MUL, angle, tgi_build_f64(b, M_PI));
        tgi_ref cosine = tgi_build_1(b, TGI_OP_COS, angle);
        tgi_ref twice =
            tgi_build_2(b, TGI_OP_ADD, tgi_build_f64(b, 1), cosine);
        tgi_ref half = tgi_build_f64(b, (rate - final_rate) / 2);
        tgi_ref excess = tgi_build_2(b, TGI_OP_MUL, half, twice);
        result = tgi_build_2(b, TGI_OP_ADD, tgi_build_f64(b, final_rate),
                             excess);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_warm_up_at(tg_operand step, int64_t n_steps, tg_operand rate,
                       tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "warm_up", site)) {
        tgi_builder *b = &o.b;
        tgi_ref n = tgi_build_f64(b, (double)n_steps);
        tgi_ref done = step_operand(&o, step, n_steps);
        done = tgi_build_2(b, TGI_OP_ADD, done, tgi_build_f64(b, 1));
        tgi_ref fraction =
            tgi_build_2(b, TGI_OP_DIV, tgi_build_2(b, TGI_OP_MIN, done, n), n);
        tgi_ref full = fraction ? tgi_operation_operand(&o, rate) : 0;
        result = tgi_build_2(b, TGI_OP_MUL, tgi_build_cast(b, full, TG_F64),
                             fraction);
    }
    return tgi_operation_end(&o, result);
}
