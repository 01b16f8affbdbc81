/* SPDX-License-Identifier: MIT */
/*
 * hot_loop.c - bind once, run many times. A bound call has its trace, its
 * buffers and all checks done, so a run does not allocate; a counting allocator
 * proves it. tg_bound_set exchanges buffers between runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

enum { FRAME = 256, FRAMES = 1000 };

static void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

/* -- A counting allocator -------------------------------------------------- */

static void *allocate(size_t bytes, size_t align, void *user)
{
    ++*(long *)user;
    void *memory = NULL;
    if (align < sizeof(void *))
        align = sizeof(void *);
    return posix_memalign(&memory, align, bytes) ? NULL : memory;
}

static void release(void *memory, size_t bytes, size_t align, void *user)
{
    (void)bytes, (void)align, (void)user;
    free(memory);
}

/* -- The loop -------------------------------------------------------------- */

/* Energy of a frame; a variable holds the maximum so far. */
static void meter(tg_trace *t, const tg_value *in, void *user)
{
    tg_variable *loudest = user;
    tg_value energy = tg_mean(tg_square(in[0]), TG_ALL_AXES);
    tg_assign(loudest, tg_max(loudest, energy));
    tg_return(t, energy);
}

static void record(float *frame, int number)
{
    for (int i = 0; i < FRAME; i++)
        frame[i] = (float)((number * 37 + i) % 11) / 8;
}

int main(void)
{
    long allocations = 0;
    check(!tg_allocator_set(&(tg_allocator){allocate, release, &allocations}));
    tg_context *ctx = tg_context_create(NULL);
    check(ctx);
    tg_variable *loudest =
        tg_variable_create(ctx, "loudest", TG_F32, TG_SCALAR, tg_zeros());
    tg_function *f = tg_function_create(ctx, meter, loudest, NULL);
    static float buffers[2][FRAME]; /* one is filled while the other is used */
    tg_tensor *x = tg_tensor_wrap(ctx, buffers[0], TG_F32, TG_DIMS(FRAME));
    tg_tensor *y = NULL;
    check(loudest && f && x);

    tg_bound *b = tg_bind(f, TG_ARGS(x), TG_RESULTS(&y));
    check(b);
    const float *energy = tg_tensor_data(y); /* every run writes here */
    double total = 0;

    const long before = allocations;
    for (int i = 0; i < FRAMES; i++) {
        float *frame = buffers[i % 2];
        record(frame, i);
        check(!tg_bound_set(b, 0, frame));
        check(!tg_run(b));
        total += (double)*energy;
    }
    printf("%d runs, %ld allocations\n", FRAMES, allocations - before);

    float max = 0;
    check(!tg_variable_get(loudest, &max, sizeof(max)));
    printf("mean energy %.6f, loudest %.6f\n", total / FRAMES, (double)max);

    tg_bound_release(b);
    tg_tensor_release(y);
    tg_tensor_release(x);
    tg_function_release(f);
    tg_variable_release(loudest);
    tg_context_release(ctx);
    printf("left at the end: %zu objects, %zu bytes\n", tg_live_objects(),
           tg_live_bytes());
    return 0;
}
