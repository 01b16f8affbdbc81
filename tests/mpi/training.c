/* SPDX-License-Identifier: MIT */
/*
 * training.c - trains a small network on 12 shards, with any number of ranks,
 * and writes the weights and losses to a file: it must be the same for all.
 * Every rank checks that its weights are those of rank 0, and that a restart
 * from a checkpoint continues with the same bits.
 *
 *     training FILE
 *     training FILE die     the last rank is killed in the second epoch; the
 *                           others get a status in time, and end
 *     training FILE resume  the second epoch from the checkpoint of `die`
 */
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "mpi/ranks.h"

enum { ROWS = 100, BATCH = 24, SHARDS = 12, INPUTS = 7, HIDDEN = 33 };
enum { EPOCHS = 2 };

TG_DEFINE_BUNDLE(model, (tg_dense_layer, first), (tg_dense_layer, second))
TG_DEFINE_OPTIMISER(model_optimiser, model)
TG_DEFINE_BUNDLE(training, (model, net), (model_optimiser, adam))

typedef struct program {
    setting s;
    training r;
} program;

static tg_update_rule rule(void)
{
    return tg_with_clipping(tg_adam(0.9, 0.999, 1e-8), 1);
}

static training training_create(const setting *s)
{
    training r;
    /* Other initial values on every rank, until they are broadcast. */
    const tg_initial initial = tg_seeded(tg_he(), (uint64_t)s->rank + 1);
    CHECK(!tg_dense_create(s->ctx, "first", TG_F32, INPUTS, HIDDEN, initial,
                           &r.net.first));
    CHECK(!tg_dense_create(s->ctx, "second", TG_F32, HIDDEN, 1, initial,
                           &r.net.second));
    CHECK(!tg_optimiser_create(s->ctx, "adam", rule(), &model_optimiser_type,
                               &r.net, &r.adam));
    return r;
}

static void loss(tg_trace *t, const tg_value *in, void *user)
{
    const program *p = user;
    tg_value y = tg_tanh(tg_dense(in[0], &p->r.net.first));
    y = tg_reshape(tg_dense(y, &p->r.net.second), TG_DIMS(-1));
    tg_return(t, tg_mean_squared_error(y, in[1]));
}

static void step(tg_trace *t, const tg_value *in, void *user)
{
    const program *p = user;
    tg_return(t, tg_mpi_minimise(t, p->s.mpi, loss, user, TG_ARGS(in[0], in[1]),
                                 1e-2, rule(), &model_optimiser_type, &p->r.net,
                                 &p->r.adam));
}

static tg_dataset *batches(const setting *s)
{
    static float x[ROWS * INPUTS], y[ROWS];
    for (int i = 0; i < ROWS; i++) {
        y[i] = 0;
        for (int k = 0; k < INPUTS; k++) {
            x[i * INPUTS + k] = (float)((i * 37 + k * 11) % 29) / 29 - 0.5f;
            y[i] += x[i * INPUTS + k] * (float)k;
        }
    }
    TG_AUTO(tg_tensor) a = tg_tensor_copy(s->ctx, x, TG_F32,
                                          TG_DIMS(ROWS, INPUTS));
    TG_AUTO(tg_tensor) b = tg_tensor_copy(s->ctx, y, TG_F32, TG_DIMS(ROWS));
    tg_dataset *d = tg_dataset_from(s->ctx, TG_ARGS(a, b));
    d = tg_dataset_shuffle(d, ROWS, 3, TG_SAME_ORDER);
    return tg_mpi_dataset_shard(s->mpi,
                                tg_dataset_batch(d, BATCH, TG_KEEP_REMAINDER));
}

/* An epoch; appends the losses to the file, if it is not NULL. After `deadly`
   steps the last rank is killed; returns the status of the others then. */
static tg_status train(program *p, FILE *file, int deadly)
{
    TG_AUTO(tg_function) f = tg_function_create(p->s.ctx, step, p, NULL);
    TG_AUTO(tg_dataset) d = batches(&p->s);
    TG_AUTO(tg_iterator) it = tg_iterate(d);
    TG_AUTO(tg_tensor) x = NULL;
    TG_AUTO(tg_tensor) y = NULL;
    float value;
    int n = 0;
    for (; tg_next(it, TG_RESULTS(&x, &y)) == TG_OK; n++) {
        if (n == deadly && p->s.rank == p->s.n_ranks - 1)
            raise(SIGKILL);
        const tg_status status = tg_mpi_report(
            p->s.mpi, tg_call(f, TG_ARGS(x, y), TG_RESULTS(&value)));
        if (status && n == deadly)
            return status;
        CHECK(!status);
        CHECK(isfinite(value));
        if (file)
            CHECK(fwrite(&value, sizeof(value), 1, file) == 1);
    }
    CHECK(n == ROWS / BATCH); /* the last 4 rows are less than 12 shards */
    return TG_OK;
}

/* Appends all weights to the file; they are those of rank 0. */
static void write_weights(const program *p, FILE *file)
{
    tg_variable *v[64];
    const size_t n = tg_bundle_variables(&training_type, &p->r,
                                         TG_ALL_VARIABLES, v, 64);
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = tg_variable_bytes(v[i]);
        char *mine = malloc(bytes), *first = malloc(bytes);
        CHECK(mine && first && !tg_variable_get(v[i], mine, bytes));
        memcpy(first, mine, bytes);
        MPI_Bcast(first, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        CHECK(memcmp(mine, first, bytes) == 0);
        if (file)
            CHECK(fwrite(mine, 1, bytes, file) == bytes);
        free(mine);
        free(first);
    }
}

/* -- A rank that dies ------------------------------------------------------ */

enum { STEPS_BEFORE_DEATH = 2 };

/* The ranks that live know it after the timeout, and at once from then on. */
static void lose_a_rank(program *p, const char *checkpoint)
{
    const double begin = MPI_Wtime();
    CHECK(!train(p, NULL, -1));
    CHECK(!tg_mpi_bundle_save(p->s.mpi, &training_type, &p->r, checkpoint));
    CHECK(train(p, NULL, STEPS_BEFORE_DEATH) == TG_ERROR_CALLBACK);
    CHECK(strstr(tg_error(NULL), "for the other ranks") ||
          strstr(tg_error(NULL), "MPI"));
    CHECK(tg_mpi_bundle_save(p->s.mpi, &training_type, &p->r, "unused"));
    CHECK(access("unused", F_OK) != 0);
    tg_mpi_release(p->s.mpi);
    tg_mpi_options options = options_of(SHARDS);
    options.timeout = 0.2;
    CHECK(!tg_mpi_create(p->s.ctx, MPI_COMM_WORLD, &options));
    CHECK(strstr(tg_error(NULL), "for the other ranks") ||
          strstr(tg_error(NULL), "MPI has failed"));
    CHECK(MPI_Wtime() - begin < 30);
    printf("rank %d lives\n", p->s.rank);
    fflush(stdout);
    _exit(0); /* MPI_Finalize would wait for the dead */
}

static void resume(program *p, const char *checkpoint, FILE *file)
{
    CHECK(!tg_mpi_bundle_load(p->s.mpi, &training_type, &p->r, checkpoint));
    CHECK(!train(p, file, -1));
    write_weights(p, file);
    if (file)
        CHECK(fclose(file) == 0);
    tg_bundle_release(&training_type, &p->r);
    setting_close(&p->s);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *mode = argc > 2 ? argv[2] : "";
    tg_mpi_options options = options_of(SHARDS);
    options.bucket_bytes = 512; /* several buckets */
    if (strcmp(mode, "die") == 0)
        options.timeout = 1;
    program p = {.s = setting_open(&options)};
    FILE *file = NULL;
    char checkpoint[4096];
    CHECK(argc == 2 || argc == 3);
    snprintf(checkpoint, sizeof(checkpoint), "%s.safetensors", argv[1]);
    if (p.s.rank == 0)
        CHECK((file = fopen(argv[1], "wb")));
    p.r = training_create(&p.s);
    CHECK(!tg_mpi_broadcast_bundle(p.s.mpi, &training_type, &p.r));
    if (strcmp(mode, "die") == 0)
        lose_a_rank(&p, checkpoint);
    if (strcmp(mode, "resume") == 0) {
        resume(&p, checkpoint, file);
        return 0;
    }
    CHECK(!train(&p, file, -1));
    CHECK(!tg_mpi_bundle_save(p.s.mpi, &training_type, &p.r, checkpoint));
    CHECK(!train(&p, file, -1));
    write_weights(&p, file);

    /* The same from the checkpoint, on a new tg_mpi. */
    program again = {.s = {.ctx = p.s.ctx, .rank = p.s.rank}};
    again.s.mpi = tg_mpi_create(p.s.ctx, MPI_COMM_WORLD, &options);
    CHECK(again.s.mpi);
    again.r = training_create(&again.s);
    CHECK(!tg_mpi_bundle_load(again.s.mpi, &training_type, &again.r,
                              checkpoint));
    CHECK(!train(&again, NULL, -1));
    tg_variable *v[64], *w[64];
    const size_t n = tg_bundle_variables(&training_type, &p.r, TG_ALL_VARIABLES,
                                         v, 64);
    tg_bundle_variables(&training_type, &again.r, TG_ALL_VARIABLES, w, 64);
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = tg_variable_bytes(v[i]);
        const void *a = tg_variable_map(v[i], TG_READ);
        const void *b = tg_variable_map(w[i], TG_READ);
        CHECK(a && b && memcmp(a, b, bytes) == 0);
        tg_variable_unmap(v[i]);
        tg_variable_unmap(w[i]);
    }
    if (p.s.rank == 0) {
        unlink(checkpoint);
        CHECK(fclose(file) == 0);
    }
    tg_bundle_release(&training_type, &again.r);
    tg_bundle_release(&training_type, &p.r);
    CHECK(!tg_compile_wait(p.s.ctx));
    tg_mpi_release(again.s.mpi);
    setting_close(&p.s);
    MPI_Finalize();
    return 0;
}
