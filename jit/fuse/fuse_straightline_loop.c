/* SPDX-License-Identifier: MIT */
/*
 * fuse_straightline_loop.c - loops that do nothing but what is tiny: straight-line
 * code with a branch at its end, which the first thread runs alone. What they
 * carry is in registers, if it is known which elements are touched; nobody
 * waits for anybody inside.
 */
#include "base/error.h"
#include "fuse/fuse_straightline.h"

enum {
    MOST_CARRIED = 128, /* elements that are values, of one loop */
    MOST_DEPTH = 3      /* of loops in it: each is emitted twice to find out
                           how its vectors lie */
};

/* Steps from a loop to its end. What is a value in a loop is one in all of the
   tiny loop that is around it: that one's steps count. */
typedef struct stretch {
    size_t begin, end;
} stretch;

static bool can_carry(const tgi_loops *loops, size_t loop, stretch around);

/* True if there is nothing but tiny kernels between the two, and loops whose
   values can be carried. */
static bool is_all_tiny(const tgi_loops *loops, stretch around)
{
    int depth = 0;
    for (size_t i = around.begin; i < around.end; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        const int kind = loops->steps.data[i].kind;
        depth += kind == TGI_STEP_LOOP;
        depth -= kind == TGI_STEP_LOOP_END;
        if ((k && !k->is_straightline) || depth > MOST_DEPTH ||
            kind == TGI_STEP_HOST || kind == TGI_STEP_RETURN_IF_FAILED)
            return false;
        if (kind == TGI_STEP_LOOP && !can_carry(loops, i, around))
            return false;
    }
    return true;
}

/* What kernels of a loop do to a buffer. */
typedef struct use {
    bool is_stored;
    bool has_places; /* it is known which elements they touch */
} use;

static use use_of(const tgi_loops *loops, stretch around, tgi_buffer_id buffer)
{
    use u = {.has_places = true};
    for (size_t i = around.begin; i < around.end; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        for (size_t a = 0; k && a < k->accesses.n; a++)
            if (tgi_buffer_id_equals(k->accesses.data[a].buffer, buffer))
                u.has_places &= tgi_access_is_static(k, &k->accesses.data[a]);
        for (size_t j = 0; k && j < k->stores.n; j++)
            u.is_stored |= tgi_buffer_id_equals(
                k->accesses.data[k->stores.data[j].access].buffer, buffer);
    }
    return u;
}

/* True if value k of a loop can be in registers. */
static bool can_be_value(const tgi_loops *loops, stretch around,
                         const tgi_control_flow *c, uint32_t k)
{
    const tgi_dim count = tgi_loops_buffer(loops, c->carried[k])->count;
    return tgi_dim_is_known(count) && count <= MOST_CARRIED &&
           use_of(loops, around, c->carried[k]).has_places &&
           use_of(loops, around, c->next[k]).has_places;
}

/* True if all that a loop changes can be values, or is changed in memory where
   it is. */
static bool can_carry(const tgi_loops *loops, size_t loop, stretch around)
{
    const tgi_control_flow *c =
        tgi_loops_control(loops, loops->steps.data[loop].control);
    int64_t all = 0;
    for (uint32_t k = 0; k < c->n_carried; k++) {
        if (can_be_value(loops, around, c, k))
            all += tgi_loops_buffer(loops, c->carried[k])->count;
        else if (!tgi_buffer_id_equals(c->carried[k], c->next[k]))
            return false;
    }
    return all <= MOST_CARRIED;
}

/* Which of its values are in registers; what only the loop touches has no
   memory. */
static tg_status set_values(tgi_loops *loops, size_t loop, stretch around)
{
    const stretch own = {loop, tgi_loops_end_of(loops, loop)};
    tgi_control_flow *c =
        tgi_loops_control(loops, loops->steps.data[loop].control);
    c->in_registers = tgi_arena_alloc(&loops->arena, c->n_carried + 1);
    if (!c->in_registers)
        return tgi_error_memory();
    for (uint32_t k = 0; k < c->n_carried; k++) {
        c->in_registers[k] =
            can_be_value(loops, around, c, k) &&
            (!tgi_buffer_id_equals(c->carried[k], c->next[k]) ||
             use_of(loops, own, c->carried[k]).is_stored);
        bool is_second = true;
        for (uint32_t i = 0; i < c->n_carried; i++)
            is_second &= !tgi_buffer_id_equals(c->carried[i], c->next[k]);
        if (is_second)
            tgi_loops_buffer(loops, c->next[k])->place = TGI_PLACE_SSA;
    }
    if (c->has_test)
        tgi_loops_buffer(loops, c->test)->place = TGI_PLACE_SSA;
    c->is_straightline = true;
    c->n_moved = 0;
    return TG_OK;
}

tg_status tgi_fuse_straightline_loops(tgi_fuse_state *s)
{
    tgi_loops *loops = s->loops;
    stretch around = {0, 0}; /* the outermost tiny loop */
    for (size_t i = 0; i < loops->steps.n; i++) {
        if (loops->steps.data[i].kind != TGI_STEP_LOOP)
            continue;
        if (i >= around.end) {
            const stretch own = {i, tgi_loops_end_of(loops, i)};
            if (!is_all_tiny(loops, own))
                continue;
            around = own;
        }
        TGI_TRY(set_values(loops, i, around));
        if (s->explain)
            tgi_strbuf_addf(s->explain, "loop %zu: tiny, in registers\n", i);
    }
    return TG_OK;
}
