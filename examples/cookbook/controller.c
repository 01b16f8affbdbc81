/* SPDX-License-Identifier: MIT */
/*
 * controller.c - a controller of 16 joints, called once per period: proportional,
 * integral and differential parts with limits. Its state is variables, and a
 * run of the bound call takes a fraction of a microsecond.
 */
#include "compare.h"

enum { JOINTS = 16, PERIODS = 1000 };
#define TIME 1e-3f
#define LIMIT 10.0f

TG_DEFINE_BUNDLE(controller, sum, last)

/* Receives wanted and measured angles; returns the torques. */
static void control(tg_trace *t, const tg_value *in, void *user)
{
    const controller *c = user;
    const tg_value error = tg_sub(in[0], in[1]);
    const tg_value sum =
        tg_clamp(tg_add(c->sum, tg_mul(error, TIME)), -1, 1);
    const tg_value slope = tg_mul(tg_sub(error, c->last), 1 / TIME);
    const tg_value torque =
        tg_add(tg_add(tg_mul(error, 40), tg_mul(sum, 5)), tg_mul(slope, 0.5));
    tg_assign(c->sum, sum);
    tg_assign(c->last, error);
    tg_return(t, tg_clamp(torque, -LIMIT, LIMIT));
}

/* -- Plain C --------------------------------------------------------------- */

static float wanted[JOINTS], measured[JOINTS], torques[JOINTS];
static float sums[JOINTS], last[JOINTS];

static float clamped(float x, float most)
{
    return x < -most ? -most : x > most ? most : x;
}

static void plain_control(void)
{
    for (int i = 0; i < JOINTS; i++) {
        const float error = wanted[i] - measured[i];
        sums[i] = clamped(sums[i] + TIME * error, 1);
        const float torque =
            40 * error + 5 * sums[i] + 0.5f * (error - last[i]) / TIME;
        last[i] = error;
        torques[i] = clamped(torque, LIMIT);
    }
}

/* The time of a period, in nanoseconds; the joints follow the torques. */
static double periods(tg_bound *b, const float *from)
{
    float speed[JOINTS] = {0};
    memset(measured, 0, sizeof(measured));
    double spent = 0;
    for (int k = 0; k < PERIODS; k++) {
        const double begin = now_us();
        if (b)
            check(!tg_run(b));
        else
            plain_control();
        spent += now_us() - begin;
        for (int i = 0; i < JOINTS; i++) {
            speed[i] += TIME * from[i];
            measured[i] += TIME * speed[i];
        }
    }
    return spent * 1e3 / PERIODS;
}

int main(void)
{
    for (int i = 0; i < JOINTS; i++)
        wanted[i] = random_number();
    TG_AUTO(tg_context) ctx = one_thread();
    controller c = {tg_variable_create(ctx, "sum", TG_F32, TG_DIMS(JOINTS),
                                       tg_zeros()),
                    tg_variable_create(ctx, "last", TG_F32, TG_DIMS(JOINTS),
                                       tg_zeros())};
    TG_AUTO(tg_function) f = tg_function_create(ctx, control, &c, NULL);
    TG_AUTO(tg_tensor) w =
        tg_tensor_wrap(ctx, wanted, TG_F32, TG_DIMS(JOINTS));
    TG_AUTO(tg_tensor) m =
        tg_tensor_wrap(ctx, measured, TG_F32, TG_DIMS(JOINTS));
    TG_AUTO(tg_tensor) out = NULL;
    check(c.sum && c.last && f && w && m);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(w, m), TG_RESULTS(&out));
    check(b);

    const double ours = periods(b, tg_tensor_data(out));
    const float end = measured[0];
    const double theirs = periods(NULL, torques);
    printf("controller, 16 joints, a period: libtgjit %.0f ns, C %.0f ns, %.2f\n",
           ours, theirs, ours / theirs);
    printf("both end %s\n", fabsf(end - measured[0]) < 1e-4f
                                ? "at the same place" : "apart");
    tg_bundle_release(&controller_type, &c);
    return 0;
}
