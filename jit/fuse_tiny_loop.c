/* SPDX-License-Identifier: MIT */
/*
 * fuse_tiny_loop.c - loops that do nothing but what is tiny: straight-line
 * code with a branch at its end, which the first thread runs alone. What they
 * carry is in registers, if it is known which elements are touched; nobody
 * waits for anybody inside.
 */
#include "error.h"
#include "fuse_build.h"

enum {
    MOST_CARRIED = 128, /* elements that are values, of one loop */
    MOST_DEPTH = 3      /* of loops in it: each is emitted twice to find out
                           how its vectors lie */
};

/* The step that ends the loop that begins at step `at`. */
static size_t end_of(const tgi_loops *loops, size_t at)
{
    const uint32_t number = loops->steps.data[at].number;
    while (loops->steps.data[at].kind != TGI_STEP_AGAIN ||
           loops->steps.data[at].number != number)
        at++;
    return at;
}

static bool can_carry(const tgi_loops *loops, size_t begin, size_t end);

/* True if there is nothing but tiny kernels between the two, and loops whose
   values can be carried. */
static bool is_all_tiny(const tgi_loops *loops, size_t begin, size_t end)
{
    int depth = 0;
    for (size_t i = begin; i < end; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        const int kind = loops->steps.data[i].kind;
        depth += kind == TGI_STEP_LOOP;
        depth -= kind == TGI_STEP_AGAIN;
        if ((k && !k->is_tiny) || depth > MOST_DEPTH ||
            kind == TGI_STEP_HOST || kind == TGI_STEP_CHECKED)
            return false;
        if (kind == TGI_STEP_LOOP && !can_carry(loops, i, end_of(loops, i)))
            return false;
    }
    return true;
}

/* True if kernels touch the buffer in known places only. */
static bool has_places(const tgi_loops *loops, size_t begin, size_t end,
                       uint32_t buffer)
{
    for (size_t i = begin; i < end; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        for (size_t a = 0; k && a < k->accesses.n; a++)
            if (k->accesses.data[a].buffer == buffer &&
                !tgi_fuse_has_place(k, &k->accesses.data[a]))
                return false;
    }
    return true;
}

/* True if all that a loop changes can be values. */
static bool can_carry(const tgi_loops *loops, size_t begin, size_t end)
{
    const tgi_control_loops *c =
        &loops->controls.data[loops->steps.data[begin].number];
    int64_t all = 0;
    for (uint32_t k = 0; k < c->n_carried; k++) {
        const tgi_loop_buffer *b = &loops->buffers.data[c->carried[k]];
        if (c->carried[k] == c->place[k])
            continue; /* it stays in memory */
        if (!tgi_dim_is_known(b->count) || b->count > MOST_CARRIED ||
            !has_places(loops, begin, end, c->carried[k]) ||
            !has_places(loops, begin, end, c->place[k]))
            return false;
        all += b->count;
    }
    return all <= MOST_CARRIED;
}

/* What only such a loop touches has no memory. */
static void set_values(tgi_loops *loops, const tgi_control_loops *c)
{
    for (uint32_t i = 0; i < c->n_moved; i++) {
        bool is_carried = false;
        for (uint32_t k = 0; k < c->n_carried; k++)
            is_carried |= c->carried[k] == c->to[i];
        if (!is_carried)
            loops->buffers.data[c->to[i]].place = TGI_PLACE_VALUES;
    }
    if (c->has_test)
        loops->buffers.data[c->test].place = TGI_PLACE_VALUES;
}

tg_status tgi_fuse_tiny_loops(tgi_fuse_state *s)
{
    tgi_loops *loops = s->loops;
    for (size_t i = 0; i < loops->steps.n; i++) {
        if (loops->steps.data[i].kind != TGI_STEP_LOOP)
            continue;
        const size_t end = end_of(loops, i);
        tgi_control_loops *c =
            &loops->controls.data[loops->steps.data[i].number];
        if (!is_all_tiny(loops, i, end))
            continue;
        set_values(loops, c);
        c->is_tiny = true;
        c->n_moved = 0;
        if (s->explain)
            tgi_strbuf_addf(s->explain, "loop %zu: tiny, in registers\n", i);
    }
    return TG_OK;
}
