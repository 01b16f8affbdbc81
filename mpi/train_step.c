/* SPDX-License-Identifier: MIT */
/*
 * train_step.c - a training step as a function.
 */
#include "mpi/train_step.h"

#include <stdlib.h>

#include "tgjit/host.h"
#include "tgjit/trace.h"

typedef struct tgi_mpi_train_step {
    struct tgi_mpi_train_step *next;
    tg_mpi *m;
    tg_callback *loss;
    void *user;
    double rate;
    tg_update_rule rule;
    const tg_bundle_type *type;
    const void *model, *state;
} tgi_mpi_train_step;

static void train_step(tg_trace *t, const tg_value *in, void *user)
{
    const tgi_mpi_train_step *s = user;
    const size_t n = tg_argument_count(t);
    tg_operand *args = malloc((n + 1) * sizeof(*args));
    if (!args) {
        tg_fail(t, "mpi_train_step: out of memory");
        return;
    }
    for (size_t i = 0; i < n; i++)
        args[i] = tg_in_value(in[i]);
    tg_return(t, tg_mpi_minimise_at(t, s->m, s->loss, s->user, args, n,
                                    tg_in_f64(s->rate), s->rule, s->type,
                                    s->model, s->state, TG_HERE));
    free(args);
}

tg_function *tg_mpi_train_step(tg_mpi *mpi, tg_callback *loss,
                                      void *user, double rate,
                                      tg_update_rule rule,
                                      const tg_bundle_type *type,
                                      const void *model, const void *state)
{
    if (!mpi || !loss || !type || !model || !state) {
        tg_host_fail("mpi_train_step: an argument is NULL");
        return NULL;
    }
    if (type->n_fields != 3 || !type->fields[0].bundle) {
        tg_host_fail("mpi_train_step: the type is not one of "
                     "TG_DEFINE_OPTIMISER");
        return NULL;
    }
    tgi_mpi_train_step *s = malloc(sizeof(*s));
    if (!s) {
        tgi_mpi_fail(mpi, "mpi_train_step: rank %d is out of memory",
                     mpi->ranks.rank);
        return NULL;
    }
    *s = (tgi_mpi_train_step){mpi->train_steps, mpi,  loss, user, rate, rule,
                              type,             model, state};
    mpi->train_steps = s;
    if (tg_mpi_broadcast_bundle(mpi, type->fields[0].bundle, model) ||
        tg_mpi_broadcast_bundle(mpi, type, state))
        return NULL;
    return tg_function_create(mpi->ctx, train_step, s, NULL);
}

void tgi_mpi_train_steps_free(tg_mpi *m)
{
    while (m->train_steps) {
        tgi_mpi_train_step *s = m->train_steps;
        m->train_steps = s->next;
        free(s);
    }
}
