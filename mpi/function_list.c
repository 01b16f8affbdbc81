/* SPDX-License-Identifier: MIT */
/*
 * function_list.c - see function_list.h.
 */
#include "mpi/function_list.h"

#include <stdlib.h>

#include "tgjit/host.h"

typedef struct tgi_mpi_function {
    struct tgi_mpi_function *next;
    tg_callback *callback;
    void *user;
    tg_function *function;
} tgi_mpi_function_entry;

tg_function *tgi_mpi_function(tg_mpi *m, tg_callback *callback, void *user)
{
    for (tgi_mpi_function_entry *f = m->functions; f; f = f->next)
        if (f->callback == callback && f->user == user)
            return f->function;
    tgi_mpi_function_entry *f = calloc(1, sizeof(*f));
    if (!f) {
        tg_host_fail("out of memory");
        return NULL;
    }
    f->callback = callback;
    f->user = user;
    f->function = tg_function_create(m->ctx, callback, user, NULL);
    if (!f->function) {
        free(f);
        return NULL;
    }
    f->next = m->functions;
    m->functions = f;
    return f->function;
}

void tgi_mpi_functions_free(tg_mpi *m)
{
    while (m->functions) {
        tgi_mpi_function_entry *f = m->functions;
        m->functions = f->next;
        tg_function_release(f->function);
        free(f);
    }
}
