/* SPDX-License-Identifier: MIT */
/*
 * recognise.c - reads a drawn digit. Learns from the images of digits_mlp.c in a
 * fraction of a second, then recognises a digit of any size: an image in PGM or PPM
 * format, which paint programs export, or text of '#' on '.' or blanks, from a file
 * or, for "-", from the terminal (end with Ctrl-D):
 *
 *     recognise [DRAWING]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tgjit.h>

#ifndef EXAMPLE_DATA
#define EXAMPLE_DATA "examples/data"
#endif

enum { SIDE = 8, PIXELS = SIDE * SIDE, HIDDEN = 64, DIGITS = 10, EPOCHS = 30 };

static const char own_drawing[] = "..########..\n"
                                  "..########..\n"
                                  "........##..\n"
                                  ".......##...\n"
                                  "......##....\n"
                                  "....#####...\n"
                                  ".....##.....\n"
                                  ".....##.....\n"
                                  "....##......\n"
                                  "....##......\n";

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* -- The model ------------------------------------------------------------- */

TG_DEFINE_BUNDLE(model, (tg_dense_layer, hidden), (tg_dense_layer, output))
TG_DEFINE_OPTIMISER(model_optimiser, model)
TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, adam))

/* Pixels are 0 to 16. */
static tg_value logits_of(const training *r, tg_value x)
{
    const tg_value hidden =
        tg_relu(tg_dense(tg_div(x, 16), &r->net.hidden));
    return tg_dense(hidden, &r->net.output);
}

static void step(tg_trace *t, const tg_value *in, void *user)
{
    const training *r = user;
    const tg_value loss =
        tg_mean(tg_softmax_cross_entropy(logits_of(r, in[0]), in[1]),
                TG_ALL_AXES);
    tg_minimise(loss, 3e-3, tg_adam(0.9, 0.999, 1e-8), &model_optimiser_type,
                &r->net, &r->adam);
    tg_return(t, loss);
}

static void classify(tg_trace *t, const tg_value *in, void *user)
{
    tg_return(t, tg_softmax(logits_of(user, in[0]), -1));
}

static void train(tg_context *ctx, training *r)
{
    const tg_csv_columns columns[] = {{.dtype = TG_F32, .n = PIXELS},
                                      {.dtype = TG_I64, .first = PIXELS}};
    TG_AUTO(tg_function) f = tg_function_create(ctx, step, r, NULL);
    TG_AUTO(tg_tensor) x = NULL;
    TG_AUTO(tg_tensor) y = NULL;
    tg_dataset *d = tg_dataset_cache(tg_dataset_from_csv(
        ctx, EXAMPLE_DATA "/digits.csv", NULL, columns, 2));
    TG_AUTO(tg_dataset) batches = tg_dataset_batch(
        tg_dataset_shuffle(d, 2000, 1, TG_RESHUFFLE), 32, TG_DROP_REMAINDER);
    check(f && batches);
    for (int i = 0; i < EPOCHS; i++) {
        TG_AUTO(tg_iterator) it = tg_iterate(batches);
        while (tg_next(it, TG_RESULTS(&x, &y)) == TG_OK)
            check(!tg_call(f, TG_ARGS(x, y), TG_RESULTS()));
    }
}

/* -- Drawings -------------------------------------------------------------- */

enum { MOST = 1024 }; /* pixels along each axis of a drawing */

typedef struct drawing {
    int width, height;
    float ink[MOST * MOST]; /* 0 to 1 */
} drawing;

static void read_text(const char *text, drawing *d)
{
    for (; *text && d->height < MOST; d->height++) {
        const int length = (int)strcspn(text, "\n");
        for (int i = 0; i < length && i < MOST; i++)
            d->ink[d->height * MOST + i] = text[i] == '#';
        d->width = length > d->width ? length : d->width;
        text += length + (text[length] == '\n');
    }
    d->width = d->width < MOST ? d->width : MOST;
}

/* The ink of a pixel is its distance from the colour of the first one, so that a
   digit may be dark on light or light on dark. */
static bool read_image(const unsigned char *text, size_t length, drawing *d)
{
    int most, begin = 0;
    const int n_channels = text[1] == '6' ? 3 : 1;
    if (sscanf((const char *)text + 2, " %d %d %d%n", &d->width, &d->height,
               &most, &begin) != 3 ||
        d->width < 1 || d->width > MOST || d->height < 1 || d->height > MOST ||
        most < 1 || most > 255)
        return false;
    const unsigned char *pixel = text + 2 + begin + 1;
    if ((size_t)(d->width * d->height * n_channels) + 3 + (size_t)begin > length)
        return false;
    for (int i = 0; i < d->height * d->width; i++) {
        int distance = 0;
        for (int k = 0; k < n_channels; k++)
            distance += abs(pixel[i * n_channels + k] - pixel[k]);
        d->ink[i / d->width * MOST + i % d->width] =
            (float)distance / (float)(most * n_channels);
    }
    return true;
}

/* The ink of each of 8 x 8 cells of the part that has been drawn on, which is
   made a square first, as in the training data. The darkest cell is 16. */
static bool to_pixels(const drawing *d, float *pixels)
{
    int top = MOST, left = MOST, bottom = -1, right = -1;
    for (int i = 0; i < d->height; i++)
        for (int j = 0; j < d->width; j++)
            if (d->ink[i * MOST + j] > 0.3f) {
                top = i < top ? i : top;
                bottom = i;
                left = j < left ? j : left;
                right = j > right ? j : right;
            }
    if (bottom < 0)
        return false;
    const int height = bottom - top + 1, width = right - left + 1;
    const double size = height > width ? height : width;
    const double shift_x = (size - width) / 2, shift_y = (size - height) / 2;
    memset(pixels, 0, PIXELS * sizeof(*pixels));
    /* Each element of the drawing is 8 x 8 points, which fall into cells. */
    enum { FINE = 8 };
    float most = 0;
    for (int i = 0; i < height * width; i++)
        for (int k = 0; k < FINE * FINE; k++) {
            const double x = i % width + shift_x + (k % FINE + 0.5) / FINE;
            const double y = i / width + shift_y + (k / FINE + 0.5) / FINE;
            float *cell = &pixels[(int)(y / size * SIDE) * SIDE +
                                  (int)(x / size * SIDE)];
            *cell += d->ink[(top + i / width) * MOST + left + i % width];
            most = *cell > most ? *cell : most;
        }
    for (int i = 0; i < PIXELS; i++)
        pixels[i] *= 16 / most;
    return true;
}

int main(int argc, char **argv)
{
    static char text[4 * MOST * MOST];
    static drawing d;
    size_t length = (size_t)snprintf(text, sizeof(text), "%s", own_drawing);
    if (argc > 1) {
        const bool is_terminal = strcmp(argv[1], "-") == 0;
        FILE *file = is_terminal ? stdin : fopen(argv[1], "rb");
        if (!file)
            return perror(argv[1]), 1;
        length = fread(text, 1, sizeof(text) - 1, file);
        text[length] = '\0';
        if (!is_terminal)
            fclose(file);
    }
    if (text[0] != 'P')
        read_text(text, &d);
    else if ((text[1] != '5' && text[1] != '6') ||
             !read_image((const unsigned char *)text, length, &d))
        return fprintf(stderr, "%s: not a binary PGM or PPM image of at most "
                               "%d x %d pixels\n", argv[1], MOST, MOST), 1;
    float pixels[PIXELS];
    if (!to_pixels(&d, pixels))
        return fprintf(stderr, "nothing is drawn\n"), 1;

    TG_AUTO(tg_context) ctx = tg_context_create(NULL);
    training r;
    check(!tg_dense_create(ctx, "hidden", TG_F32, PIXELS, HIDDEN, tg_he(),
                           &r.net.hidden));
    check(!tg_dense_create(ctx, "output", TG_F32, HIDDEN, DIGITS, tg_glorot(),
                           &r.net.output));
    check(!tg_optimiser_create(ctx, "adam", tg_adam(0.9, 0.999, 1e-8),
                               &model_optimiser_type, &r.net, &r.adam));
    train(ctx, &r);
    TG_AUTO(tg_function) f = tg_function_create(ctx, classify, &r, NULL);
    TG_AUTO(tg_tensor) x = tg_tensor_wrap(ctx, pixels, TG_F32,
                                          TG_DIMS(1, PIXELS));
    TG_AUTO(tg_tensor) scores = NULL;
    check(f && x);
    check(!tg_call(f, TG_ARGS(x), TG_RESULTS(&scores)));

    static const char ink[] = " .:-=+*#@";
    for (int i = 0; i < PIXELS; i++)
        printf("%c%s", ink[(int)(pixels[i] / 2)], i % SIDE == SIDE - 1 ? "\n" : " ");
    const float *score = tg_tensor_f32(scores);
    int best = 0;
    for (int i = 1; i < DIGITS; i++)
        best = score[i] > score[best] ? i : best;
    printf("this is a %d (%.0f %%)\n", best, (double)score[best] * 100);
    tg_bundle_release(&training_type, &r);
    return 0;
}
