/* SPDX-License-Identifier: MIT */
/*
 * dataset_shuffle.c - tg_dataset_shuffle. A buffer has the next elements; each
 * pull draws one of them and replaces it by a new one. Over tensors the buffer
 * has numbers of elements only, with the same order.
 *
 * Draws are 64-bit halves of blocks of Philox4x32-10. Its key is the seed, its
 * counter the number of the block and of the pass. Several blocks are computed
 * at a time, because their rounds can overlap in the CPU.
 */
#include <Random123/philox.h>

#include "front/data/dataset_object.h"

enum { BLOCKS = 8, DRAWS = 2 * BLOCKS }; /* computed at a time */

typedef struct shuffle_dataset {
    tg_dataset base;
    int64_t buffer;
    uint64_t seed;
    bool reshuffles;
    atomic_uint n_iterations; /* cursors created so far */
} shuffle_dataset;

/* An element of the buffer. */
typedef struct slot {
    int64_t row;        /* of random-access inputs … */
    tgi_stored *stored; /* … of others; owned */
} slot;

typedef struct shuffle_cursor {
    tgi_cursor base;
    uint32_t iteration, pass; /* `pass` counts from 1 */
    uint64_t n_draws;
    uint64_t draws[DRAWS]; /* the current ones */
    TGI_VEC(slot) slots; /* data[n …] are kept for their memory */
    size_t n_stored;     /* slots that have a `stored` */
    int64_t next_row;
    bool is_full; /* filled at the beginning of the pass */
    bool has_gap; /* the element of slot `gap` was emitted */
    bool input_ended;
    size_t gap;
} shuffle_cursor;

static const shuffle_dataset *dataset_of(const shuffle_cursor *c)
{
    return (const shuffle_dataset *)c->base.dataset;
}

/* -- Random numbers -------------------------------------------------------- */

/* Computes the next draws. */
static void draw_blocks(shuffle_cursor *c)
{
    const shuffle_dataset *d = dataset_of(c);
    const philox4x32_key_t key = {
        {(uint32_t)d->seed, (uint32_t)(d->seed >> 32)}};
    for (size_t i = 0; i < BLOCKS; i++) {
        const uint64_t number = c->n_draws / 2 + i;
        const philox4x32_ctr_t counter = {{(uint32_t)number,
                                           (uint32_t)(number >> 32),
                                           d->reshuffles ? c->iteration : 0,
                                           d->reshuffles ? c->pass - 1 : 0}};
        const philox4x32_ctr_t block = philox4x32(counter, key);
        for (size_t half = 0; half < 2; half++)
            c->draws[2 * i + half] = block.v[2 * half] |
                                     (uint64_t)block.v[2 * half + 1] << 32;
    }
}

static uint64_t draw(shuffle_cursor *c)
{
    if (c->n_draws % DRAWS == 0)
        draw_blocks(c);
    return c->draws[c->n_draws++ % DRAWS];
}

/* A number below n; the bias is below n / 2^64. */
static size_t draw_below(shuffle_cursor *c, size_t n)
{
    return (size_t)(((unsigned __int128)draw(c) * n) >> 64);
}

/* -- The buffer ------------------------------------------------------------ */

static bool has_rows(const shuffle_cursor *c)
{
    return c->base.inputs[0]->dataset->kind->row != NULL;
}

/* Pulls an element into slot i. TG_END_OF_DATA if there is none. */
static tg_status fill_slot(shuffle_cursor *c, size_t i)
{
    tgi_cursor *input = c->base.inputs[0];
    slot *s = &c->slots.data[i];
    if (has_rows(c)) {
        if (c->next_row >= input->dataset->kind->n_rows(input))
            return TG_END_OF_DATA;
        s->row = c->next_row++;
        return TG_OK;
    }
    tgi_element e;
    TGI_TRY(tgi_cursor_next(input, &e));
    return tgi_stored_set(s->stored, &e, c->base.dataset->ctx,
                          c->base.dataset->kind->name);
}

/* Appends an element to the buffer. */
static tg_status append(shuffle_cursor *c)
{
    const size_t i = c->slots.n;
    if (!tgi_vec_reserve(&c->slots, i + 1))
        return tgi_error_memory();
    if (!has_rows(c) && i == c->n_stored) {
        c->slots.data[i].stored = tgi_alloc_zero(sizeof(tgi_stored));
        if (!c->slots.data[i].stored)
            return tgi_error_memory();
        c->n_stored++;
    }
    TGI_TRY(fill_slot(c, i));
    c->slots.n++;
    return TG_OK;
}

/* Replaces the element emitted last, by a new one or the last of the buffer. */
static tg_status close_gap(shuffle_cursor *c)
{
    const tg_status status =
        c->input_ended ? TG_END_OF_DATA : fill_slot(c, c->gap);
    if (status != TG_OK && status != TG_END_OF_DATA)
        return status;
    if (status == TG_END_OF_DATA) {
        c->input_ended = true;
        const slot last = c->slots.data[--c->slots.n];
        c->slots.data[c->slots.n] = c->slots.data[c->gap];
        c->slots.data[c->gap] = last;
    }
    c->has_gap = false;
    return TG_OK;
}

/* -- Cursor ---------------------------------------------------------------- */

static tg_status cursor_init(tgi_cursor *cursor)
{
    shuffle_dataset *d = (shuffle_dataset *)cursor->dataset;
    ((shuffle_cursor *)cursor)->iteration =
        atomic_fetch_add(&d->n_iterations, 1);
    return TG_OK;
}

static void cursor_deinit(tgi_cursor *cursor)
{
    shuffle_cursor *c = (shuffle_cursor *)cursor;
    for (size_t i = 0; i < c->n_stored; i++) {
        tgi_stored_deinit(c->slots.data[i].stored);
        tgi_free(c->slots.data[i].stored);
    }
    tgi_vec_deinit(&c->slots);
}

static void start(tgi_cursor *cursor)
{
    shuffle_cursor *c = (shuffle_cursor *)cursor;
    c->pass++;
    c->n_draws = 0;
    c->slots.n = 0;
    c->next_row = 0;
    c->is_full = c->has_gap = c->input_ended = false;
    tgi_cursor_start_inputs(cursor);
}

/* Fills the buffer at the beginning of a pass. TG_END_OF_DATA if stopped. */
static tg_status fill_buffer(shuffle_cursor *c)
{
    const size_t buffer = (size_t)dataset_of(c)->buffer;
    while (!c->is_full && c->slots.n < buffer) {
        if (tgi_cursor_is_stopped(&c->base))
            return TG_END_OF_DATA;
        const tg_status status = append(c);
        if (status == TG_END_OF_DATA)
            c->input_ended = c->is_full = true;
        else
            TGI_TRY(status);
    }
    c->is_full = true;
    return TG_OK;
}

/* Draws the slot to emit, which becomes the gap. */
static tg_status draw_slot(shuffle_cursor *c)
{
    if (!c->is_full)
        TGI_TRY(fill_buffer(c));
    if (c->has_gap)
        TGI_TRY(close_gap(c));
    if (c->slots.n == 0)
        return TG_END_OF_DATA;
    c->gap = draw_below(c, c->slots.n);
    c->has_gap = true;
    return TG_OK;
}

static tg_status next(tgi_cursor *cursor, tgi_element *out_element)
{
    shuffle_cursor *c = (shuffle_cursor *)cursor;
    TGI_TRY(draw_slot(c));
    const slot *s = &c->slots.data[c->gap];
    if (has_rows(c)) {
        tgi_cursor *input = cursor->inputs[0];
        input->dataset->kind->row(input, s->row, out_element);
    } else {
        *out_element = s->stored->element;
    }
    return TG_OK;
}

static tgi_cursor *row_source(const tgi_cursor *cursor)
{
    return has_rows((const shuffle_cursor *)cursor) ? cursor->inputs[0] : NULL;
}

static tg_status row_numbers(tgi_cursor *cursor, int64_t max,
                             int64_t *out_numbers, int64_t *out_n)
{
    shuffle_cursor *c = (shuffle_cursor *)cursor;
    tg_status status = TG_OK;
    int64_t n = 0;
    while (n < max && !(status = draw_slot(c)))
        out_numbers[n++] = c->slots.data[c->gap].row;
    *out_n = n;
    return status == TG_END_OF_DATA ? TG_OK : status;
}

static const tgi_dataset_kind shuffle_kind = {
    .name = "tg_dataset_shuffle",
    .cursor_bytes = sizeof(shuffle_cursor),
    .cursor_init = cursor_init,
    .cursor_deinit = cursor_deinit,
    .start = start,
    .next = next,
    .row_source = row_source,
    .row_numbers = row_numbers,
};

tg_dataset *tg_dataset_shuffle(tg_dataset *dataset, int64_t buffer,
                               uint64_t seed, tg_shuffle_order order)
{
    if (buffer <= 0)
        return tgi_dataset_reject(&shuffle_kind, dataset,
                                  TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                                  "the buffer has %lld elements, but must have "
                                  "at least 1",
                                  (long long)buffer);
    if (order != TG_RESHUFFLE && order != TG_SAME_ORDER)
        return tgi_dataset_reject(&shuffle_kind, dataset,
                                  TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                                  "%d is not a tg_shuffle_order", (int)order);
    shuffle_dataset *d = tgi_dataset_create_step(&shuffle_kind, sizeof(*d),
                                                 dataset, TGI_NO_SITE);
    if (!d)
        return NULL;
    d->buffer = buffer;
    d->seed = seed;
    d->reshuffles = order == TG_RESHUFFLE;
    return &d->base;
}
