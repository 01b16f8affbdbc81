/* SPDX-License-Identifier: MIT */
/*
 * random_graph_outcome.c - serialises the observable outcome of a run, so that
 * two runs can be compared bytewise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random/random_graph.h"

void rg_outcome_init(rg_outcome *o)
{
    *o = (rg_outcome){.status = TG_OK};
}

void rg_outcome_deinit(rg_outcome *o)
{
    tgi_vec_deinit(&o->bytes);
    tgi_vec_deinit(&o->parts);
}

void rg_outcome_set_status(rg_outcome *o, tg_status status)
{
    o->status = status;
    if (status)
        snprintf(o->message, sizeof(o->message), "%s",
                 tg_error_last()->message);
}

/* -- Parts ----------------------------------------------------------------- */

static void *add_room(rg_outcome *o, size_t bytes)
{
    if (!tgi_vec_reserve(&o->bytes, o->bytes.n + bytes + 1))
        abort();
    void *room = o->bytes.data + o->bytes.n;
    o->bytes.n += bytes;
    return room;
}

static void add_bytes(rg_outcome *o, const void *data, size_t bytes)
{
    if (bytes)
        memcpy(add_room(o, bytes), data, bytes);
}

/* Begins the part of result (or variable) i. */
static void add_part(rg_outcome *o, const char *what, size_t i)
{
    struct rg_part part = {.at = o->bytes.n};
    snprintf(part.what, sizeof(part.what), "%s %zu", what, i);
    if (!tgi_vec_push(&o->parts, part))
        abort();
}

static void add_elements(rg_outcome *o, const rg_type *type, const void *data)
{
    /* Aligned to eight bytes, so that elements can be read in place. */
    while (o->bytes.n % 8)
        add_bytes(o, "", 1);
    size_t at = o->bytes.n;
    add_bytes(o, data, rg_size(type));
    o->n_elements += (uint64_t)rg_count(type);
    /* The bits of NaNs are unspecified. */
    if (o->bytes.n > at)
        tgi_dtype_unify_nans((tg_dtype)type->dtype, o->bytes.data + at,
                             rg_count(type));
}

void rg_outcome_add_result(rg_outcome *o, size_t i, int dtype, int rank,
                           const int64_t *dims, const void *data)
{
    rg_type type = {.dtype = (uint8_t)dtype, .rank = (int8_t)rank};
    if (rank)
        memcpy(type.dims, dims, (size_t)rank * sizeof(*dims));
    add_part(o, "result", i);
    add_bytes(o, &dtype, sizeof(dtype));
    add_bytes(o, &rank, sizeof(rank));
    add_bytes(o, dims, (size_t)rank * sizeof(*dims));
    add_elements(o, &type, data);
}

void rg_outcome_add_variable(rg_outcome *o, int i, const rg_type *type,
                             const void *data)
{
    add_part(o, "variable", (size_t)i);
    add_elements(o, type, data);
}

void rg_outcome_add_text(rg_outcome *o, const tgi_strbuf *text)
{
    add_part(o, "text", 0);
    add_bytes(o, text->text, text->n);
}

/* -- Comparing ------------------------------------------------------------- */

const char *rg_outcome_difference(const rg_outcome *a, const rg_outcome *b)
{
    static char text[640];
    if (a->status != b->status) {
        snprintf(text, sizeof(text), "\"%s\" becomes \"%s\" (%s)",
                 tg_status_name(a->status), tg_status_name(b->status),
                 b->status ? b->message : a->message);
        return text;
    }
    size_t n = a->bytes.n < b->bytes.n ? a->bytes.n : b->bytes.n;
    if (a->bytes.n == b->bytes.n &&
        (n == 0 || memcmp(a->bytes.data, b->bytes.data, n) == 0))
        return "";
    size_t at = 0, part = 0;
    while (at < n && a->bytes.data[at] == b->bytes.data[at])
        at++;
    for (size_t i = 0; i < a->parts.n && a->parts.data[i].at <= at; i++)
        part = i;
    snprintf(text, sizeof(text), "%s differs at byte %zu",
             a->parts.data[part].what, at - a->parts.data[part].at);
    return text;
}
