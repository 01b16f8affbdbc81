/* SPDX-License-Identifier: MIT */
/*
 * fuse_straightline_loop.c - selects straight-line loops: loops that contain
 * only straight-line kernels, asserts and such loops. Thread 0 runs them,
 * without barriers. Carried values are in registers if all accesses to them are
 * static. A failed assert leaves the outermost loop, and the step behind it
 * ends the call.
 *
 * Requires:    steps; merged buffers.
 * Preserves:   results and effects.
 * Invalidates: moves of these loops; places of buffers.
 */
#include "base/error.h"
#include "fuse/fuse_straightline.h"

enum {
    MAX_CARRIED = 128, /* elements in registers, of one loop */
    MAX_DEPTH = 3      /* of nested loops: the code generator emits each twice,
                          to find the layout of its vectors */
};

/* The steps of a loop. A value in registers is so in all of the outermost
   straight-line loop, whose steps therefore count. */
typedef struct step_range {
    size_t begin, end;
} step_range;

static bool can_carry(const tgi_loops *loops, size_t loop, step_range around);

static bool is_assert(const tgi_loops *loops, size_t step)
{
    return loops->steps.data[step].kind == TGI_STEP_HOST &&
           tgi_host_step_is_assert(&loops->hosts.data[tgi_host_id_index(
               loops->steps.data[step].host)]);
}

/* True if the code leaves this loop at its end when it fails. */
static bool fails_at_end(const tgi_control_flow *c)
{
    return c->is_limited || !tgi_stack_set_id_is_none(c->stack_set);
}

/* True if this RETURN_IF_FAILED, which follows a barrier, can only be due to an
   assert or a cancelled loop: those leave the outermost loop. */
static bool is_return_of_assert(const tgi_loops *loops, size_t step)
{
    const tgi_loop_step *cause = &loops->steps.data[step - 2];
    return is_assert(loops, step - 2) ||
           (cause->kind == TGI_STEP_LOOP_END &&
            !fails_at_end(tgi_loops_control(loops, cause->control)));
}

/* True if there are only straight-line kernels in between, and loops whose
   values can be carried. */
static bool is_all_straightline(const tgi_loops *loops, step_range around)
{
    int depth = 0;
    for (size_t i = around.begin; i < around.end; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        const int kind = loops->steps.data[i].kind;
        depth += kind == TGI_STEP_LOOP;
        depth -= kind == TGI_STEP_LOOP_END;
        if ((k && !k->is_straightline) || depth > MAX_DEPTH)
            return false;
        if (kind == TGI_STEP_HOST && !is_assert(loops, i))
            return false;
        if (kind == TGI_STEP_RETURN_IF_FAILED && !is_return_of_assert(loops, i))
            return false;
        if (kind == TGI_STEP_LOOP && !can_carry(loops, i, around))
            return false;
    }
    return true;
}

/* Accesses to a buffer in a range of steps. */
typedef struct use {
    bool is_stored;
    bool is_static; /* all of them are (tgi_access_is_static) */
} use;

static use find_use(const tgi_loops *loops, step_range around,
                    tgi_buffer_id buffer)
{
    use u = {.is_static = true};
    for (size_t i = around.begin; i < around.end; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        for (size_t a = 0; k && a < k->accesses.n; a++)
            if (tgi_buffer_id_equals(k->accesses.data[a].buffer, buffer))
                u.is_static &= tgi_access_is_static(k, &k->accesses.data[a]);
        for (size_t j = 0; k && j < k->stores.n; j++)
            u.is_stored |= tgi_buffer_id_equals(
                k->accesses.data[k->stores.data[j].access].buffer, buffer);
    }
    return u;
}

/* True if carried value k can be in registers. */
static bool can_be_in_registers(const tgi_loops *loops, step_range around,
                                const tgi_control_flow *c, uint32_t k)
{
    const tgi_dim count = tgi_loops_buffer(loops, c->carried[k])->count;
    return tgi_dim_is_known(count) && count <= MAX_CARRIED &&
           find_use(loops, around, c->carried[k]).is_static &&
           find_use(loops, around, c->next[k]).is_static;
}

/* True if every carried value of a loop can be in registers or is updated in
   place. */
static bool can_carry(const tgi_loops *loops, size_t loop, step_range around)
{
    const tgi_control_flow *c =
        tgi_loops_control(loops, loops->steps.data[loop].control);
    int64_t all = 0;
    for (uint32_t k = 0; k < c->n_carried; k++) {
        if (can_be_in_registers(loops, around, c, k))
            all += tgi_loops_buffer(loops, c->carried[k])->count;
        else if (!tgi_buffer_id_equals(c->carried[k], c->next[k]))
            return false;
    }
    return all <= MAX_CARRIED;
}

static bool is_host_input(const tgi_loops *loops, tgi_buffer_id buffer)
{
    for (size_t i = 0; i < loops->hosts.n; i++) {
        const tgi_host_step *host = &loops->hosts.data[i];
        for (uint32_t j = 0; j < host->n_inputs; j++)
            if (tgi_buffer_id_equals(host->buffers[j], buffer))
                return true;
    }
    return false;
}

/* Marks a loop as straight-line, and its values that are in registers. Second
   buffers need no memory, unless an assert reports them. */
static tg_status mark_loop(tgi_loops *loops, size_t loop, step_range around)
{
    const step_range own = {loop, tgi_loops_end_of(loops, loop)};
    tgi_control_flow *c =
        tgi_loops_control(loops, loops->steps.data[loop].control);
    c->in_registers = tgi_arena_alloc(&loops->arena, c->n_carried + 1);
    if (!c->in_registers)
        return tgi_error_memory();
    for (uint32_t k = 0; k < c->n_carried; k++) {
        c->in_registers[k] =
            can_be_in_registers(loops, around, c, k) &&
            (!tgi_buffer_id_equals(c->carried[k], c->next[k]) ||
             find_use(loops, own, c->carried[k]).is_stored);
        bool is_second = true;
        for (uint32_t i = 0; i < c->n_carried; i++)
            is_second &= !tgi_buffer_id_equals(c->carried[i], c->next[k]);
        if (is_second && !is_host_input(loops, c->next[k]))
            tgi_loops_buffer(loops, c->next[k])->place = TGI_PLACE_SSA;
    }
    if (c->has_test && !is_host_input(loops, c->test))
        tgi_loops_buffer(loops, c->test)->place = TGI_PLACE_SSA;
    c->is_straightline = true;
    c->n_moved = 0;
    return TG_OK;
}

tg_status tgi_straightline_loops(tgi_loops *loops, tgi_strbuf *explain)
{
    step_range around = {0, 0}; /* the outermost straight-line loop */
    for (size_t i = 0; i < loops->steps.n; i++) {
        if (loops->steps.data[i].kind != TGI_STEP_LOOP)
            continue;
        if (i >= around.end) {
            const step_range own = {i, tgi_loops_end_of(loops, i)};
            if (!is_all_straightline(loops, own))
                continue;
            around = own;
        }
        TGI_TRY(mark_loop(loops, i, around));
        if (explain)
            tgi_strbuf_addf(explain,
                            "loop %zu: straight-line code, in registers\n", i);
    }
    return TG_OK;
}
