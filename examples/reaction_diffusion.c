/* SPDX-License-Identifier: MIT */
/*
 * reaction_diffusion.c - spots that grow and divide (the model of Gray and
 * Scott): two substances that diffuse and react. Thousands of steps are one
 * call. Prints a small picture, or writes a large one:
 *
 *     reaction_diffusion [FILE.ppm [STEPS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>
#include <time.h>

static const double feed = 0.035, kill = 0.062;

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* The sum over neighbours minus the element, on a torus. */
static tg_value laplacian(tg_value u)
{
    const tg_value sides = tg_add(tg_add(tg_roll(u, 0, 1), tg_roll(u, 0, -1)),
                                  tg_add(tg_roll(u, 1, 1), tg_roll(u, 1, -1)));
    return tg_sub(tg_mul(sides, 0.25), u);
}

/* Receives the iteration and both concentrations. */
static void step(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value u = in[1], v = in[2];
    const tg_value reaction = tg_mul(u, tg_square(v));
    const tg_value gain = tg_mul(tg_sub(1, u), feed);
    const tg_value loss = tg_mul(v, feed + kill);
    tg_return(t,
              tg_add(u, tg_add(tg_sub(tg_mul(laplacian(u), 0.8), reaction),
                               gain)),
              tg_add(v, tg_sub(tg_add(tg_mul(laplacian(v), 0.4), reaction),
                               loss)));
}

static void run(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_value end[2];
    tg_for(in[2], step, NULL, TG_ARGS(in[0], in[1]), end, 2);
    tg_return(t, end[1]);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Of rows, every second one: characters are twice as high as wide. */
static void print(const float *v, int n)
{
    static const char ink[] = " .:-=+*#%@";
    for (int i = 0; i < n; i += 2, putchar('\n'))
        for (int j = 0; j < n; j++) {
            const int shade = (int)(v[i * n + j] * 25);
            putchar(ink[shade < 0 ? 0 : shade > 9 ? 9 : shade]);
        }
}

static bool write_ppm(const char *path, const float *v, int n)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    fprintf(file, "P6\n%d %d\n255\n", n, n);
    for (int i = 0; i < n * n; i++) {
        const float s = v[i] * 2.5f, t = s < 0 ? 0 : s > 1 ? 1 : s;
        fputc((int)(255 * t * t), file);
        fputc((int)(220 * t), file);
        fputc((int)(60 + 150 * t), file);
    }
    return fclose(file) == 0;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL;
    const int n = path ? 384 : 72;
    const int64_t steps = argc > 2 ? atol(argv[2]) : path ? 8000 : 2500;
    float *u = malloc(sizeof(float[2]) * (size_t)(n * n)), *v = u + n * n;
    if (!u)
        return 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) { /* a few squares of the second substance */
            const bool is_seed = (i * 5 / n + j * 3 / n) % 3 == 0 &&
                                 i % (n / 5) < 6 && j % (n / 3) < 6;
            u[i * n + j] = is_seed ? 0.5f : 1;
            v[i * n + j] = is_seed ? 0.25f : 0;
        }

    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, run, NULL, NULL);
    TG_AUTO(tg_tensor) first = tg_tensor_wrap(ctx, u, TG_F32, TG_DIMS(n, n));
    TG_AUTO(tg_tensor) second = tg_tensor_wrap(ctx, v, TG_F32, TG_DIMS(n, n));
    TG_AUTO(tg_tensor) end = NULL;
    check(f && first && second);
    TG_AUTO(tg_bound) b =
        tg_bind(f, TG_ARGS(first, second, steps), TG_RESULTS(&end));
    check(b);
    const double begin = now();
    check(!tg_run(b));
    fprintf(stderr, "%d x %d, %lld steps: %.0f ms\n", n, n, (long long)steps,
            (now() - begin) * 1e3);
    bool is_good = true;
    if (path)
        is_good = write_ppm(path, tg_tensor_f32(end), n);
    else
        print(tg_tensor_f32(end), n);
    free(u);
    return is_good ? 0 : (perror(path), 1);
}
