/* SPDX-License-Identifier: MIT */
/*
 * profile_kmeans.c - finding a slow line with a profile (docs/PROFILING.md).
 *
 * A step of k-means assigns each point to its nearest centre and moves the
 * centres. The first version computes distances by their definition. Its
 * profile names the line that takes the time; the second version has another
 * formula there. Profiles go to stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

enum { POINTS = 20000, CENTRES = 64, FEATURES = 32, STEPS = 10 };

static void check(tg_context *ctx, bool is_good)
{
    if (is_good)
        return;
    printf("%s\n", tg_error(ctx));
    exit(1);
}

/* |x - c|^2 = sum (x - c)^2 */
static tg_value distances(tg_value x, tg_value c)
{
    tg_value points = tg_reshape(x, TG_DIMS(POINTS, 1, FEATURES));
    tg_value difference = tg_sub(points, c);
    return tg_sum(tg_mul(difference, difference), TG_AXES(-1));
}

/* |x - c|^2 - |x|^2 = |c|^2 - 2 x c: the nearest centre is the same. */
static tg_value distances_by_matmul(tg_value x, tg_value c)
{
    tg_value products = tg_matmul(x, tg_transpose(c, TG_PERM(1, 0)));
    return tg_sub(tg_sum(tg_mul(c, c), TG_AXES(-1)), tg_mul(products, 2));
}

static void move_centres(tg_trace *t, tg_value x, tg_value c, tg_value distance)
{
    tg_value nearest = tg_argmin(distance, -1);
    tg_value is_member = tg_one_hot(nearest, CENTRES, TG_F32);
    tg_value sums = tg_matmul(tg_transpose(is_member, TG_PERM(1, 0)), x);
    tg_value counts = tg_sum(is_member, TG_AXES(0));
    tg_value size = tg_reshape(tg_max(counts, 1), TG_DIMS(CENTRES, 1));
    tg_assign(c, tg_div(sums, size));
    tg_return(t, nearest);
}

static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value c = tg_read(in[1]);
    move_centres(t, in[0], in[1], distances(in[0], c));
}

static void fast_step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value c = tg_read(in[1]);
    move_centres(t, in[0], in[1], distances_by_matmul(in[0], c));
}

/* In [0, 1); the same numbers on every machine. */
static float random_number(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return (float)(state >> 8) * 0x1p-24f;
}

/* Runs and profiles the steps; prints how many points centre 0 has. */
static void run(tg_context *ctx, tg_callback *callback, const char *name,
                float *points)
{
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.name = name;
    TG_AUTO(tg_function) f = tg_function_create(ctx, callback, NULL, &options);
    TG_AUTO(tg_tensor) x =
        tg_tensor_wrap(ctx, points, TG_F32, TG_DIMS(POINTS, FEATURES));
    TG_AUTO(tg_variable) c =
        tg_variable_create(ctx, name, TG_F32, TG_DIMS(CENTRES, FEATURES),
                           tg_from_data(points));
    TG_AUTO(tg_tensor) nearest = NULL;
    check(ctx, f && x && c);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(x, c), TG_RESULTS(&nearest));
    check(ctx, b && tg_profile_start(NULL) == TG_OK);
    for (int i = 0; i < STEPS; i++)
        check(ctx, tg_run(b) == TG_OK);
    tg_profile_stop();
    char *text = tg_profile_report(TG_PROFILE_TABLE);
    fprintf(stderr, "%s\n", text ? text : tg_error(NULL));
    tg_text_free(text);
    tg_profile_clear();

    const int64_t *centre = tg_tensor_data(nearest);
    int n_members = 0;
    for (int i = 0; i < POINTS; i++)
        n_members += centre[i] == 0;
    printf("%s: %d points are nearest to centre 0\n", name, n_members);
}

int main(void)
{
    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    check(NULL, ctx);
    float *points = malloc(sizeof(float[POINTS][FEATURES]));
    if (!points)
        return 1;
    for (int i = 0; i < POINTS * FEATURES; i++)
        points[i] = random_number();
    run(ctx, step, "step", points);
    run(ctx, fast_step, "fast_step", points);
    free(points);
    return 0;
}
