/* SPDX-License-Identifier: MIT */
/*
 * copy_elision.c - copy elision. If buffer B starts as a copy of A, B shares
 * A's storage and the copying store is deleted, provided that
 *   - nothing but a copy of B is stored to A after the first store to B;
 *   - no read of A follows the first write that makes B differ. The writing
 *     kernel may itself load the elements it overwrites, as x[i] += 1 does.
 * If A is a variable, B must be assigned to it, with no step in between that
 * can fail or observe A. Likewise, a carried value gets one buffer instead of
 * two.
 *
 * Requires:    steps, epochs, live ranges.
 * Preserves:   results and effects; keeps epochs and live ranges current.
 * Invalidates: buffer and kernel ids, step numbers.
 * Terminates:  after MAX_VISITS visited steps; remaining copies stay.
 */
#include "memory/merger.h"

/* Bounds the compile time of programs with very many steps. */
enum { MAX_VISITS = 1 << 22 };

/* A position in the list of steps. */
typedef struct position {
    size_t step;
    uint32_t epoch;
    bool is_straightline;
    bool exists;
} position;

/* True if `a` completes before `b` starts: a barrier separates them, or thread
   0 runs both. */
static bool is_before(const position *a, const position *b)
{
    return a->epoch < b->epoch ||
           (a->step < b->step && a->is_straightline && b->is_straightline);
}

/* -- Accesses of a kernel to two buffers ----------------------------------- */

/* Two buffers to merge: `new` starts as a copy of `old`. */
typedef struct pair {
    tgi_merger *m;
    tgi_buffer_id old, new;
} pair;

/* The access that a store copies from, element by element; NULL: it stores
   another value. */
static const tgi_access *copy_source(const tgi_kernel_loops *k,
                                     const tgi_loop_store *store)
{
    const tgi_inst *value = &k->insts.data[store->value];
    if (value->kind != TGI_INST_LOAD || store->epilogue_op)
        return NULL;
    const tgi_access *from = &k->accesses.data[value->number];
    return tgi_access_is_same_element(k, from, &k->accesses.data[store->access])
               ? from
               : NULL;
}

/* True if two stores store the same value to the same element of two
   buffers. */
static bool are_twins(const tgi_kernel_loops *k, const tgi_loop_store *a,
                      const tgi_loop_store *b)
{
    const tgi_inst *of_a = &k->insts.data[a->value];
    const tgi_inst *of_b = &k->insts.data[b->value];
    const bool is_same = of_a == of_b || (of_a->kind == TGI_INST_REDUCED &&
                                          of_b->kind == TGI_INST_REDUCED &&
                                          of_a->number == of_b->number);
    return a != b && is_same && a->phase == b->phase && a->level == b->level &&
           a->epilogue_op == b->epilogue_op && a->along_rows == b->along_rows &&
           tgi_access_is_same_element(k, &k->accesses.data[a->access],
                                      &k->accesses.data[b->access]);
}

/* True if a store makes an element of `to` equal to that of `from`. */
static bool is_copy(const tgi_merger *m, const tgi_kernel_loops *k,
                    const tgi_loop_store *store, tgi_buffer_id from,
                    tgi_buffer_id to)
{
    if (!tgi_buffer_id_equals(tgi_merger_buffer(m, k, store->access), to))
        return false;
    const tgi_access *access = copy_source(k, store);
    if (access &&
        tgi_buffer_id_equals(tgi_merger_find(m, access->buffer), from))
        return true;
    for (size_t i = 0; i < k->stores.n; i++)
        if (tgi_buffer_id_equals(
                tgi_merger_buffer(m, k, k->stores.data[i].access), from) &&
            are_twins(k, store, &k->stores.data[i]))
            return true;
    return false;
}

/* True if a store to `to` is not a copy of `from`. */
static bool makes_differ(const pair *p, const tgi_kernel_loops *k,
                         const tgi_loop_store *store, tgi_buffer_id from,
                         tgi_buffer_id to)
{
    return tgi_buffer_id_equals(tgi_merger_buffer(p->m, k, store->access),
                                to) &&
           !is_copy(p->m, k, store, from, to);
}

static bool any_changes(const pair *p, const tgi_kernel_loops *k,
                        tgi_buffer_id from, tgi_buffer_id to)
{
    for (size_t i = 0; i < k->stores.n; i++)
        if (makes_differ(p, k, &k->stores.data[i], from, to))
            return true;
    return false;
}

static bool any_loads(const pair *p, const tgi_kernel_loops *k,
                      tgi_buffer_id buffer)
{
    for (size_t i = 1; i < k->insts.n; i++)
        if (k->insts.data[i].kind == TGI_INST_LOAD &&
            tgi_buffer_id_equals(
                tgi_merger_buffer(p->m, k, k->insts.data[i].number), buffer))
            return true;
    return false;
}

static bool any_copies(const pair *p, const tgi_kernel_loops *k,
                       tgi_buffer_id from, tgi_buffer_id to)
{
    for (size_t i = 0; i < k->stores.n; i++)
        if (is_copy(p->m, k, &k->stores.data[i], from, to))
            return true;
    return false;
}

/* True if a kernel that changes `new` loads of `old` only the elements that it
   changes, before it stores them. */
static bool loads_only_changed_elements(const pair *p,
                                        const tgi_kernel_loops *k)
{
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind != TGI_INST_LOAD ||
            !tgi_buffer_id_equals(tgi_merger_buffer(p->m, k, inst->number),
                                  p->old))
            continue;
        for (size_t j = 0; j < k->stores.n; j++) {
            const tgi_loop_store *store = &k->stores.data[j];
            if (makes_differ(p, k, store, p->old, p->new) &&
                (inst->phase > store->phase ||
                 !tgi_access_is_same_element(k, &k->accesses.data[inst->number],
                                             &k->accesses.data[store->access])))
                return false;
        }
    }
    return tgi_kernel_is_single_sweep(k);
}

/* -- Legality -------------------------------------------------------------- */

static void next_step(const tgi_loops *loops, position *at)
{
    at->epoch += loops->steps.data[at->step].kind == TGI_STEP_BARRIER;
    at->step++;
}

/* The kernel of the step, or NULL. */
static const tgi_kernel_loops *enter_step(const tgi_loops *loops, position *at)
{
    const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, at->step);
    at->is_straightline = k && k->is_straightline;
    return k;
}

/* The first step whose kernel satisfies `does`. */
static position
first_step(const pair *p, bool (*does)(const pair *p, const tgi_kernel_loops *k,
                                       tgi_buffer_id from, tgi_buffer_id to))
{
    const tgi_loops *loops = p->m->loops;
    position at = {0};
    for (; at.step < loops->steps.n; next_step(loops, &at)) {
        const tgi_kernel_loops *k = enter_step(loops, &at);
        if (k && does(p, k, p->old, p->new)) {
            at.exists = true;
            break;
        }
    }
    return at;
}

/* The host step that a step is, or NULL. */
static const tgi_host_step *host_at(const pair *p, size_t number)
{
    const tgi_loops *loops = p->m->loops;
    const tgi_loop_step *step = &loops->steps.data[number];
    return step->kind == TGI_STEP_HOST
               ? &loops->hosts.data[tgi_host_id_index(step->host)]
               : NULL;
}

static bool is_host_input(const pair *p, const tgi_host_step *host)
{
    for (uint32_t i = 0; i < host->n_inputs; i++)
        if (tgi_buffer_id_equals(tgi_merger_find(p->m, host->buffers[i]),
                                 p->old))
            return true;
    return false;
}

/* True if a step itself reads `old`: as its operand, or as the base of its
   stacks. */
static bool is_control_input(const pair *p, size_t number)
{
    const tgi_loops *loops = p->m->loops;
    const tgi_loop_step *step = &loops->steps.data[number];
    if (step->kind != TGI_STEP_LOOP && step->kind != TGI_STEP_SWITCH)
        return false;
    const tgi_control_flow *c = tgi_loops_control(loops, step->control);
    return tgi_buffer_id_equals(tgi_merger_find(p->m, c->operand), p->old) ||
           tgi_buffer_id_equals(tgi_merger_find(p->m, c->base), p->old);
}

/* True if a host call writes one of the buffers. */
static bool is_host_output(const pair *p, const tgi_host_step *host)
{
    for (uint32_t i = host->n_inputs; i < host->n_buffers; i++) {
        const tgi_buffer_id buffer = tgi_merger_find(p->m, host->buffers[i]);
        if (tgi_buffer_id_equals(buffer, p->old) ||
            tgi_buffer_id_equals(buffer, p->new))
            return true;
    }
    return false;
}

/* True if merging is legal with respect to one step. `begin` is the first step
   that stores to `new`, `change` the first that makes it differ. */
static bool is_legal_at(const pair *p, const position *at,
                        const position *begin, const position *change)
{
    const tgi_host_step *host = host_at(p, at->step);
    if (host && is_host_output(p, host))
        return false;
    if ((host && is_host_input(p, host)) || is_control_input(p, at->step))
        return !change->exists || is_before(at, change);
    const tgi_kernel_loops *k = tgi_loops_kernel_at(p->m->loops, at->step);
    if (!k)
        return true;
    const bool is_read = any_loads(p, k, p->old);
    const bool is_set = any_changes(p, k, p->new, p->old);
    if (!tgi_memo_id_is_none(k->memo) &&
        (is_read || is_set || any_loads(p, k, p->new)))
        return false;
    if (is_set && !is_before(at, begin))
        return false;
    if (!is_read || !change->exists || is_before(at, change))
        return true;
    return at->step == change->step && loads_only_changed_elements(p, k);
}

/* True if a variable may change as early as `new`: only copies of `new` are
   stored to it, and no step in between can fail or observe it. */
static bool is_assigned_back(const pair *p, const position *change)
{
    const tgi_loops *loops = p->m->loops;
    bool is_set = false, has_observer = false;
    for (size_t i = 0; i < loops->steps.n; i++) {
        const int kind = loops->steps.data[i].kind;
        if (kind != TGI_STEP_RUN) {
            has_observer |=
                kind != TGI_STEP_BARRIER && change->exists && i > change->step;
            continue;
        }
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        /* A change of `new` after the assignment must not reach the
           variable. */
        if (any_changes(p, k, p->new, p->old) ||
            (is_set && any_changes(p, k, p->old, p->new)))
            return false;
        if (!any_copies(p, k, p->new, p->old))
            continue;
        if (has_observer)
            return false;
        is_set = true;
    }
    return is_set;
}

/* The steps of the innermost loop around a step, or all steps. */
typedef struct range {
    size_t begin, end;
} range;

static range enclosing_loop(const tgi_loops *loops, size_t step)
{
    range all = {0, loops->steps.n};
    size_t depth = 0;
    for (size_t i = step; i-- > 0;) {
        const int kind = loops->steps.data[i].kind;
        depth += kind == TGI_STEP_LOOP_END;
        if (kind != TGI_STEP_LOOP || depth-- > 0)
            continue;
        all.begin = i;
        break;
    }
    if (loops->steps.data[all.begin].kind == TGI_STEP_LOOP)
        all.end = tgi_loops_end_of(loops, all.begin);
    return all;
}

/* True if no kernel outside of these steps accesses the buffer. */
static bool is_local(const pair *p, tgi_buffer_id buffer, range within)
{
    const tgi_loops *loops = p->m->loops;
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        if (i == within.begin && within.end < loops->steps.n)
            i = within.end;
        for (uint32_t a = 0; k && a < k->accesses.n; a++)
            if (tgi_buffer_id_equals(tgi_merger_buffer(p->m, k, a), buffer))
                return false;
    }
    return true;
}

/* True if a loop around the change, but not around the beginning, reads `old`:
   in the next iteration it would see the change. */
static bool is_read_in_next_iteration(const pair *p, size_t begin,
                                      size_t change)
{
    const tgi_loops *loops = p->m->loops;
    range loop = enclosing_loop(loops, change);
    while (loop.end < loops->steps.n &&
           !(loop.begin < begin && begin < loop.end)) {
        for (size_t i = loop.begin; i < loop.end; i++) {
            const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
            const tgi_host_step *host = host_at(p, i);
            if ((k && any_loads(p, k, p->old)) ||
                (host && is_host_input(p, host)) || is_control_input(p, i))
                return true;
        }
        loop = enclosing_loop(loops, loop.begin);
    }
    return false;
}

static bool can_merge(const pair *p)
{
    const tgi_loops *loops = p->m->loops;
    const tgi_loop_buffer *before = tgi_loops_buffer(loops, p->old);
    const tgi_loop_buffer *after = tgi_loops_buffer(loops, p->new);
    const bool is_variable = before->place == TGI_PLACE_PARAM;
    if (tgi_buffer_id_equals(p->old, p->new) || before->count != after->count ||
        before->dtype != after->dtype || before->is_pinned ||
        after->is_pinned || !(before->place == TGI_PLACE_TEMP || is_variable) ||
        !(after->place == TGI_PLACE_TEMP ||
          (after->place == TGI_PLACE_RESULT && !is_variable)))
        return false;
    if ((p->m->n_visited += loops->steps.n) > MAX_VISITS)
        return false;
    /* Several branches may store to `new`. A step after the first of these
       stores does not precede `new`, even if it precedes others. */
    const position change = first_step(p, any_changes);
    position begin = first_step(p, any_copies);
    if (change.exists && change.step < begin.step)
        begin = change;
    /* Steps of a loop repeat: both buffers must be local to it. */
    const range around = enclosing_loop(loops, begin.step);
    if (around.end < loops->steps.n &&
        (!is_local(p, p->new, around) ||
         (!is_variable && !is_local(p, p->old, around))))
        return false;
    if (change.exists && is_read_in_next_iteration(p, begin.step, change.step))
        return false;
    for (position at = {0}; at.step < loops->steps.n; next_step(loops, &at)) {
        enter_step(loops, &at);
        if (!is_legal_at(p, &at, &begin, &change))
            return false;
    }
    return !is_variable || is_assigned_back(p, &change);
}

/* -- Carried values -------------------------------------------------------- */

/* True if the body can store the next value over the current one. The first
   change must not be in an inner loop, where it repeats. */
static bool can_carry_in_place(const pair *p, range loop)
{
    const tgi_loops *loops = p->m->loops;
    if ((p->m->n_visited += loops->steps.n) > MAX_VISITS)
        return false;
    const position change = first_step(p, any_changes);
    if (change.exists && enclosing_loop(loops, change.step).begin != loop.begin)
        return false;
    for (position at = {0}; at.step < loop.end; next_step(loops, &at)) {
        enter_step(loops, &at);
        if (at.step > loop.begin && !is_legal_at(p, &at, &at, &change))
            return false;
    }
    return true;
}

/* Merges the second buffers of carried values with the first ones. */
static void carry_in_place(tgi_merger *m, tgi_control_flow *c, range loop)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_moved; i++) {
        const pair p = {m, c->from[i], c->to[i]};
        bool is_second = true; /* not one that the body reads */
        for (uint32_t k = 0; k < c->n_carried; k++)
            is_second &= !tgi_buffer_id_equals(c->carried[k], p.new);
        if (is_second && can_carry_in_place(&p, loop)) {
            m->parent[tgi_buffer_id_index(p.new)] = p.old;
            m->has_merged = true;
            continue;
        }
        c->to[n] = c->to[i];
        c->from[n++] = c->from[i];
    }
    c->n_moved = n;
    /* Delete moves of a buffer to itself. */
    n = 0;
    for (uint32_t i = 0; i < c->n_moved; i++) {
        if (tgi_buffer_id_equals(tgi_merger_find(m, c->from[i]), c->to[i]))
            continue;
        c->to[n] = c->to[i];
        c->from[n++] = c->from[i];
    }
    c->n_moved = n;
}

/* True if a control-flow step refers to the buffer. */
static bool is_control_buffer(const tgi_merger *m, tgi_buffer_id buffer)
{
    for (size_t i = 0; i < m->loops->controls.n; i++) {
        const tgi_control_flow *c = &m->loops->controls.data[i];
        if (tgi_buffer_id_equals(c->operand, buffer) ||
            tgi_buffer_id_equals(c->base, buffer) ||
            (c->has_test && tgi_buffer_id_equals(c->test, buffer)))
            return true;
        for (uint32_t k = 0; k < c->n_moved; k++)
            if (tgi_buffer_id_equals(c->to[k], buffer))
                return true;
    }
    return false;
}

void tgi_merger_elide_carried(tgi_merger *m)
{
    tgi_loops *loops = m->loops;
    for (size_t i = 0; i < loops->steps.n; i++)
        if (loops->steps.data[i].kind == TGI_STEP_LOOP)
            carry_in_place(
                m, tgi_loops_control(loops, loops->steps.data[i].control),
                enclosing_loop(loops, i + 1));
    /* A carried buffer that is not moved may be merged with a result. */
    for (size_t i = 0; i < loops->controls.n; i++) {
        const tgi_control_flow *c = &loops->controls.data[i];
        for (uint32_t k = 0; c->n_cases == 0 && k < c->n_carried; k++)
            if (!is_control_buffer(m, c->carried[k]))
                tgi_loops_buffer(loops, c->carried[k])->is_pinned = false;
    }
}

/* -- Copies ---------------------------------------------------------------- */

static void try_merge(tgi_merger *m, const tgi_kernel_loops *k,
                      const tgi_access *from, const tgi_loop_store *to)
{
    const pair p = {m, tgi_merger_find(m, from->buffer),
                    tgi_merger_buffer(m, k, to->access)};
    if (can_merge(&p))
        tgi_merger_merge(m, p.old, p.new);
}

void tgi_merger_elide_copies(tgi_merger *m)
{
    const tgi_loops *loops = m->loops;
    for (size_t step = 0; step < loops->steps.n; step++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, step);
        for (size_t i = 0; k && i < k->stores.n; i++) {
            const tgi_loop_store *store = &k->stores.data[i];
            const tgi_access *from = copy_source(k, store);
            if (from)
                try_merge(m, k, from, store);
            for (size_t j = 0; j < i; j++)
                if (are_twins(k, store, &k->stores.data[j]))
                    try_merge(m, k, &k->accesses.data[k->stores.data[j].access],
                              store);
        }
    }
}

/* -- Deletion of redundant steps ------------------------------------------- */

/* A copy between two buffers that have been merged. A copy within one buffer is
   kept: a variable may be set back to an earlier value. */
static bool is_redundant_copy(const tgi_merger *m, const tgi_kernel_loops *k,
                              const tgi_access *from,
                              const tgi_loop_store *store)
{
    return from &&
           !tgi_buffer_id_equals(from->buffer,
                                 k->accesses.data[store->access].buffer) &&
           tgi_buffer_id_equals(tgi_merger_find(m, from->buffer),
                                tgi_merger_buffer(m, k, store->access));
}

static void delete_stores(const tgi_merger *m, tgi_kernel_loops *k)
{
    size_t n = 0;
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_loop_store store = k->stores.data[i];
        bool is_redundant =
            is_redundant_copy(m, k, copy_source(k, &store), &store);
        for (size_t j = 0; j < n && !is_redundant; j++) {
            const tgi_loop_store *before = &k->stores.data[j];
            is_redundant = are_twins(k, before, &store) &&
                           is_redundant_copy(
                               m, k, &k->accesses.data[before->access], &store);
        }
        if (!is_redundant)
            k->stores.data[n++] = store;
    }
    k->stores.n = n;
}

/* Renumbers the epochs after a deleted one. */
static void delete_epoch(tgi_loops *loops, uint32_t epoch)
{
    loops->n_epochs--;
    for (size_t i = 0; i < loops->buffers.n; i++) {
        tgi_loop_buffer *b = &loops->buffers.data[i];
        b->first_epoch -= b->first_epoch > epoch;
        b->last_epoch -= b->last_epoch > 0 && b->last_epoch >= epoch;
    }
}

/* True if a barrier follows another one, or no step and precedes a kernel. */
static bool is_redundant_barrier(const tgi_loops *loops, size_t n_kept,
                                 size_t barrier)
{
    if (n_kept)
        return loops->steps.data[n_kept - 1].kind == TGI_STEP_BARRIER;
    return barrier + 1 < loops->steps.n &&
           loops->steps.data[barrier + 1].kind == TGI_STEP_RUN;
}

/* Deletes the runs of deleted kernels, and redundant barriers. */
static void delete_steps(tgi_loops *loops)
{
    size_t n = 0;
    uint32_t epoch = 0;
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_loop_step step = loops->steps.data[i];
        const bool is_barrier = step.kind == TGI_STEP_BARRIER;
        if (step.kind == TGI_STEP_RUN && !tgi_loops_kernel(loops, step.kernel))
            continue;
        if (is_barrier && is_redundant_barrier(loops, n, i)) {
            delete_epoch(loops, epoch);
            continue;
        }
        epoch += is_barrier;
        loops->steps.data[n++] = step;
    }
    if (n && loops->steps.data[n - 1].kind == TGI_STEP_BARRIER) {
        delete_epoch(loops, epoch);
        n--;
    }
    loops->steps.n = n;
}

static void renumber_kernels(tgi_loops *loops)
{
    uint32_t old = 0, number = 0; /* steps are mostly in order */
    for (size_t i = 0; i < loops->steps.n; i++) {
        tgi_loop_step *step = &loops->steps.data[i];
        if (step->kind != TGI_STEP_RUN)
            continue;
        const uint32_t kernel = tgi_kernel_id_index(step->kernel);
        if (kernel < old)
            old = number = 0;
        for (; old < kernel; old++)
            number += loops->kernels.data[old] != NULL;
        step->kernel = tgi_kernel_id_from(number);
    }
    size_t n = 0;
    for (size_t i = 0; i < loops->kernels.n; i++)
        if (loops->kernels.data[i])
            loops->kernels.data[n++] = loops->kernels.data[i];
    loops->kernels.n = n;
}

void tgi_merger_delete_copies(tgi_merger *m)
{
    tgi_loops *loops = m->loops;
    bool is_any = false;
    for (size_t i = 0; i < loops->kernels.n; i++) {
        tgi_kernel_loops *k = loops->kernels.data[i];
        delete_stores(m, k);
        if (k->stores.n || k->reductions.n || k->checks.n)
            continue;
        tgi_kernel_loops_destroy(k);
        loops->kernels.data[i] = NULL;
        is_any = true;
    }
    if (!is_any)
        return;
    delete_steps(loops);
    renumber_kernels(loops);
}
