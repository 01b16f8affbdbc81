/* SPDX-License-Identifier: MIT */
/*
 * mandelbrot.c - the Mandelbrot set. The iterations of a pixel are unrolled into
 * one kernel, which keeps them in registers; a loop repeats the kernel. Prints a
 * small picture, or writes a large one:
 *
 *     mandelbrot [FILE.ppm [X Y WIDTH]]    (try -0.7454 0.1130 0.01)
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>
#include <time.h>

enum { UNROLLED = 16, ROUNDS = 16, ITERATIONS = UNROLLED * ROUNDS };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* Receives the iteration, z, and the number of iterations in the disc. */
static void iterate(tg_trace *t, const tg_value *in, void *user)
{
    const tg_value *c = user, x = in[1], y = in[2];
    const tg_value xx = tg_square(x), yy = tg_square(y);
    const tg_value is_inside = tg_le(tg_add(xx, yy), 4);
    tg_return(t, tg_add(tg_sub(xx, yy), c[0]),
              tg_add(tg_mul(tg_mul(x, y), 2), c[1]),
              tg_add(in[3], tg_cast(is_inside, TG_F32)));
}

static void round_of(tg_trace *t, const tg_value *in, void *user)
{
    tg_value end[3];
    tg_for_unrolled(UNROLLED, iterate, user, TG_ARGS(in[1], in[2], in[3]), end,
                    3);
    tg_return(t, end[0], end[1], end[2]);
}

/* Receives the coordinates of columns and rows; returns shades of 0 to 1. */
static void shades(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    const tg_value zero =
        tg_mul(tg_add(in[0], tg_expand_dims(in[1], 1)), 0);
    tg_value c[] = {tg_add(in[0], zero),
                    tg_add(tg_expand_dims(in[1], 1), zero)};
    tg_value end[3];
    tg_for(ROUNDS, round_of, c, TG_ARGS(zero, zero, zero), end, 3);
    tg_return(t, tg_sqrt(tg_mul(end[2], 1.0 / ITERATIONS)));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void print(const float *shade, int width, int height)
{
    static const char ink[] = " .:-=+*%@#";
    for (int i = 0; i < height; i++, putchar('\n'))
        for (int j = 0; j < width; j++)
            putchar(ink[(int)(shade[i * width + j] * 9.99f)]);
}

static bool write_ppm(const char *path, const float *shade, int width,
                      int height)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    fprintf(file, "P6\n%d %d\n255\n", width, height);
    for (int i = 0; i < width * height; i++) {
        const float s = shade[i] < 1 ? shade[i] : 0;
        fputc((int)(255 * s * s), file);
        fputc((int)(255 * s), file);
        fputc((int)(255 * (s < 0.5f ? 2 * s : 1)), file);
    }
    return fclose(file) == 0;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL;
    const int width = path ? 1280 : 72, height = path ? 960 : 28;
    const double wide = argc > 4 ? atof(argv[4]) : 3;
    const double x = argc > 4 ? atof(argv[2]) : -0.6;
    const double y = argc > 4 ? atof(argv[3]) : 0;
    static float columns[1280], rows[960];
    const double tall = path ? wide * height / width : 2.4;
    for (int i = 0; i < width; i++)
        columns[i] = (float)(x + wide * ((i + 0.5) / width - 0.5));
    for (int i = 0; i < height; i++)
        rows[i] = (float)(y - tall * ((i + 0.5) / height - 0.5));

    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    TG_AUTO(tg_function) f = tg_function_create(ctx, shades, NULL, NULL);
    TG_AUTO(tg_tensor) r = tg_tensor_wrap(ctx, columns, TG_F32, TG_DIMS(width));
    TG_AUTO(tg_tensor) i = tg_tensor_wrap(ctx, rows, TG_F32, TG_DIMS(height));
    TG_AUTO(tg_tensor) picture = NULL;
    check(f && r && i);
    TG_AUTO(tg_bound) b = tg_bind(f, TG_ARGS(r, i), TG_RESULTS(&picture));
    check(b);
    const double begin = now();
    check(!tg_run(b));
    fprintf(stderr, "%d x %d, %d iterations: %.1f ms\n", width, height,
            ITERATIONS, (now() - begin) * 1e3);
    const float *shade = tg_tensor_f32(picture);
    if (!path)
        print(shade, width, height);
    else if (!write_ppm(path, shade, width, height))
        return perror(path), 1;
    return 0;
}
