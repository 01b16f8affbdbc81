/* SPDX-License-Identifier: MIT */
/*
 * copy_elision.c - copy elision. If buffer B starts as a copy of A (an update or
 * a scatter) and no read of A follows the first write that makes them differ, B
 * shares A's storage and the copying store is deleted. The writing kernel may
 * itself load the elements it overwrites, as x[i] += 1 does. If A is a variable,
 * B must be assigned to it. Likewise, a loop-carried value gets one buffer
 * instead of two.
 *
 * Requires:    steps, epochs, live ranges.
 * Preserves:   results and effects.
 * Invalidates: buffer, kernel and step numbers.
 * Terminates:  after MOST_LOOKS visited steps; remaining copies stay.
 */
#include "memory/merger.h"

/* Steps that are looked at for all merges, at most: what has very many keeps
   some copies. */
enum { MOST_LOOKS = 1 << 22 };

/* A place in the list of steps. */
typedef struct place {
    size_t step;
    uint32_t epoch;
    bool is_straightline;
    bool is_there;
} place;

/* True if all of `a` is done when `b` begins: there is a barrier between, or
   one thread does both. */
static bool is_before(const place *a, const place *b)
{
    return a->epoch < b->epoch ||
           (a->step < b->step && a->is_straightline && b->is_straightline);
}

/* -- What a kernel does to two buffers ------------------------------------- */

typedef struct pair {
    tgi_merger *m;
    tgi_buffer_id old, new;
} pair;

/* The access that a store copies from, element by element; NULL: it does
   something else. */
static const tgi_access *copied(const tgi_kernel_loops *k,
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

/* True if two stores put the same into the same element of two buffers. */
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

/* True if a store makes `to` what `from` is: one way or the other. */
static bool is_copy(const tgi_merger *m, const tgi_kernel_loops *k,
                    const tgi_loop_store *store, tgi_buffer_id from,
                    tgi_buffer_id to)
{
    if (!tgi_buffer_id_equals(tgi_merger_buffer(m, k, store->access), to))
        return false;
    const tgi_access *access = copied(k, store);
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

/* True if a store of `to` does more than to copy `from`. */
static bool changes(const pair *p, const tgi_kernel_loops *k,
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
        if (changes(p, k, &k->stores.data[i], from, to))
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

/* True if all that a kernel which changes `new` loads of `old` is what it
   changes, and it does so before. */
static bool loads_what_it_changes(const pair *p, const tgi_kernel_loops *k)
{
    for (size_t i = 1; i < k->insts.n; i++) {
        const tgi_inst *inst = &k->insts.data[i];
        if (inst->kind != TGI_INST_LOAD ||
            !tgi_buffer_id_equals(tgi_merger_buffer(p->m, k, inst->number),
                                  p->old))
            continue;
        for (size_t j = 0; j < k->stores.n; j++) {
            const tgi_loop_store *store = &k->stores.data[j];
            if (changes(p, k, store, p->old, p->new) &&
                (inst->phase > store->phase ||
                 !tgi_access_is_same_element(k, &k->accesses.data[inst->number],
                                             &k->accesses.data[store->access])))
                return false;
        }
    }
    return tgi_kernel_is_single_sweep(k);
}

/* -- Is it legal? ---------------------------------------------------------- */

/* Goes to the next step. */
static void advance(const tgi_loops *loops, place *at)
{
    at->epoch += loops->steps.data[at->step].kind == TGI_STEP_BARRIER;
    at->step++;
}

/* The kernel of the step, if it runs one. */
static const tgi_kernel_loops *enter(const tgi_loops *loops, place *at)
{
    const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, at->step);
    at->is_straightline = k && k->is_straightline;
    return k;
}

/* The first step whose kernel does this to `new`. */
static place first_step(const pair *p,
                        bool (*does)(const pair *p, const tgi_kernel_loops *k,
                                     tgi_buffer_id from, tgi_buffer_id to))
{
    const tgi_loops *loops = p->m->loops;
    place at = {0};
    for (; at.step < loops->steps.n; advance(loops, &at)) {
        const tgi_kernel_loops *k = enter(loops, &at);
        if (k && does(p, k, p->old, p->new)) {
            at.is_there = true;
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

static bool is_shown(const pair *p, const tgi_host_step *host)
{
    for (uint32_t i = 0; i < host->n_inputs; i++)
        if (tgi_buffer_id_equals(tgi_merger_find(p->m, host->buffers[i]),
                                 p->old))
            return true;
    return false;
}

/* True if a step looks at the old contents itself: to choose a branch, or to
   see how often a loop goes round and where its stacks go on. */
static bool decides(const pair *p, size_t number)
{
    const tgi_loops *loops = p->m->loops;
    const tgi_loop_step *step = &loops->steps.data[number];
    if (step->kind != TGI_STEP_LOOP && step->kind != TGI_STEP_SWITCH)
        return false;
    const tgi_control_flow *c = tgi_loops_control(loops, step->control);
    return tgi_buffer_id_equals(tgi_merger_find(p->m, c->operand), p->old) ||
           tgi_buffer_id_equals(tgi_merger_find(p->m, c->base), p->old);
}

/* Changes by kernels are looked at closely; those of the host are not. */
static bool is_set_by(const pair *p, const tgi_host_step *host)
{
    for (uint32_t i = host->n_inputs; i < host->n_buffers; i++) {
        const tgi_buffer_id buffer = tgi_merger_find(p->m, host->buffers[i]);
        if (tgi_buffer_id_equals(buffer, p->old) ||
            tgi_buffer_id_equals(buffer, p->new))
            return true;
    }
    return false;
}

/* True if a step does nothing that the two as one could not take. `begin` is
   the first that stores to `new`, `change` the first that changes it. */
static bool allows(const pair *p, const place *at, const place *begin,
                   const place *change)
{
    const tgi_host_step *host = host_at(p, at->step);
    if (host && is_set_by(p, host))
        return false;
    if ((host && is_shown(p, host)) || decides(p, at->step))
        return !change->is_there || is_before(at, change);
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
    if (!is_read || !change->is_there || is_before(at, change))
        return true;
    return at->step == change->step && loads_what_it_changes(p, k);
}

/* True if a variable may change as soon as `new` does: it is set to nothing
   else, and no step between could fail or look. */
static bool is_set_again(const pair *p, const place *change)
{
    const tgi_loops *loops = p->m->loops;
    bool is_set = false, has_stop = false;
    for (size_t i = 0; i < loops->steps.n; i++) {
        const int kind = loops->steps.data[i].kind;
        if (kind != TGI_STEP_RUN) {
            has_stop |= kind != TGI_STEP_BARRIER && change->is_there &&
                        i > change->step;
            continue;
        }
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
        /* What changes after it was assigned is something else. */
        if (any_changes(p, k, p->new, p->old) ||
            (is_set && any_changes(p, k, p->old, p->new)))
            return false;
        if (!any_copies(p, k, p->new, p->old))
            continue;
        if (has_stop)
            return false;
        is_set = true;
    }
    return is_set;
}

/* Steps of the innermost loop that a step is in; all of them if it is in
   none. */
typedef struct range {
    size_t begin, end;
} range;

static range loop_around(const tgi_loops *loops, size_t step)
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

/* True if nothing outside of these steps touches the buffer. */
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

/* True if a loop that is not around the beginning, but around the change, reads
   the old contents: it does so after the change, in the next trip. */
static bool is_read_again(const pair *p, size_t begin, size_t change)
{
    const tgi_loops *loops = p->m->loops;
    range loop = loop_around(loops, change);
    while (loop.end < loops->steps.n &&
           !(loop.begin < begin && begin < loop.end)) {
        for (size_t i = loop.begin; i < loop.end; i++) {
            const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, i);
            const tgi_host_step *host = host_at(p, i);
            if ((k && any_loads(p, k, p->old)) || (host && is_shown(p, host)) ||
                decides(p, i))
                return true;
        }
        loop = loop_around(loops, loop.begin);
    }
    return false;
}

static bool can_be_one(const pair *p)
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
    if ((p->m->n_visited += loops->steps.n) > MOST_LOOKS)
        return false;
    /* Each of several branches may store to it. What comes behind the first
       of these steps is not before `new`, also if it is before others. */
    const place change = first_step(p, any_changes);
    place begin = first_step(p, any_copies);
    if (change.is_there && change.step < begin.step)
        begin = change;
    /* In a loop, steps come again: what is there before is there after. */
    const range around = loop_around(loops, begin.step);
    if (around.end < loops->steps.n &&
        (!is_local(p, p->new, around) ||
         (!is_variable && !is_local(p, p->old, around))))
        return false;
    if (change.is_there && is_read_again(p, begin.step, change.step))
        return false;
    for (place at = {0}; at.step < loops->steps.n; advance(loops, &at)) {
        enter(loops, &at);
        if (!allows(p, &at, &begin, &change))
            return false;
    }
    return !is_variable || is_set_again(p, &change);
}

/* -- What loops carry ------------------------------------------------------ */

/* True if steps of the loop leave what `new` is to become where `old` was. The
   first change must not be in a loop inside: there it comes again. */
static bool can_carry_in_place(const pair *p, range loop)
{
    const tgi_loops *loops = p->m->loops;
    if ((p->m->n_visited += loops->steps.n) > MOST_LOOKS)
        return false;
    const place change = first_step(p, any_changes);
    if (change.is_there && loop_around(loops, change.step).begin != loop.begin)
        return false;
    for (place at = {0}; at.step < loop.end; advance(loops, &at)) {
        enter(loops, &at);
        if (at.step > loop.begin && !allows(p, &at, &at, &change))
            return false;
    }
    return true;
}

/* The second buffer of a carried value is left over: it is the first one. */
static void carry_in_place(tgi_merger *m, tgi_control_flow *c, range loop)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n_moved; i++) {
        const pair p = {m, c->from[i], c->to[i]};
        bool is_second = true; /* and not one that the body reads */
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
    /* What is where it is wanted need not be moved. */
    n = 0;
    for (uint32_t i = 0; i < c->n_moved; i++) {
        if (tgi_buffer_id_equals(tgi_merger_find(m, c->from[i]), c->to[i]))
            continue;
        c->to[n] = c->to[i];
        c->from[n++] = c->from[i];
    }
    c->n_moved = n;
}

/* True if steps look at the buffer that are no kernels. */
static bool is_watched(const tgi_merger *m, tgi_buffer_id buffer)
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
                loop_around(loops, i + 1));
    /* What does not move is a buffer like any other: a result may lie there. */
    for (size_t i = 0; i < loops->controls.n; i++) {
        const tgi_control_flow *c = &loops->controls.data[i];
        for (uint32_t k = 0; c->n_cases == 0 && k < c->n_carried; k++)
            if (!is_watched(m, c->carried[k]))
                tgi_loops_buffer(loops, c->carried[k])->is_pinned = false;
    }
}

/* -- Copies ---------------------------------------------------------------- */

static void try_merge(tgi_merger *m, const tgi_kernel_loops *k,
                      const tgi_access *from, const tgi_loop_store *to)
{
    const pair p = {m, tgi_merger_find(m, from->buffer),
                    tgi_merger_buffer(m, k, to->access)};
    if (can_be_one(&p))
        tgi_merger_merge(m, p.old, p.new);
}

void tgi_merger_elide_copies(tgi_merger *m)
{
    const tgi_loops *loops = m->loops;
    for (size_t step = 0; step < loops->steps.n; step++) {
        const tgi_kernel_loops *k = tgi_loops_kernel_at(loops, step);
        for (size_t i = 0; k && i < k->stores.n; i++) {
            const tgi_loop_store *store = &k->stores.data[i];
            const tgi_access *from = copied(k, store);
            if (from)
                try_merge(m, k, from, store);
            for (size_t j = 0; j < i; j++)
                if (are_twins(k, store, &k->stores.data[j]))
                    try_merge(m, k, &k->accesses.data[k->stores.data[j].access],
                              store);
        }
    }
}

/* -- What is left ---------------------------------------------------------- */

/* A copy between buffers that have become one. What was one before may have
   been changed in between: a variable can be set back to what it was. */
static bool is_idle_copy(const tgi_merger *m, const tgi_kernel_loops *k,
                         const tgi_access *from, const tgi_loop_store *store)
{
    return from &&
           !tgi_buffer_id_equals(from->buffer,
                                 k->accesses.data[store->access].buffer) &&
           tgi_buffer_id_equals(tgi_merger_find(m, from->buffer),
                                tgi_merger_buffer(m, k, store->access));
}

static void drop_stores(const tgi_merger *m, tgi_kernel_loops *k)
{
    size_t n = 0;
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_loop_store store = k->stores.data[i];
        bool is_idle = is_idle_copy(m, k, copied(k, &store), &store);
        for (size_t j = 0; j < n && !is_idle; j++) {
            const tgi_loop_store *before = &k->stores.data[j];
            is_idle =
                are_twins(k, before, &store) &&
                is_idle_copy(m, k, &k->accesses.data[before->access], &store);
        }
        if (!is_idle)
            k->stores.data[n++] = store;
    }
    k->stores.n = n;
}

/* An epoch is gone: those behind it have other numbers. */
static void drop_epoch(tgi_loops *loops, uint32_t epoch)
{
    loops->n_epochs--;
    for (size_t i = 0; i < loops->buffers.n; i++) {
        tgi_loop_buffer *b = &loops->buffers.data[i];
        b->first_epoch -= b->first_epoch > epoch;
        b->last_epoch -= b->last_epoch > 0 && b->last_epoch >= epoch;
    }
}

/* True if a barrier is between nothing and something that needs none. */
static bool is_needless(const tgi_loops *loops, size_t n_kept, size_t barrier)
{
    if (n_kept)
        return loops->steps.data[n_kept - 1].kind == TGI_STEP_BARRIER;
    return barrier + 1 < loops->steps.n &&
           loops->steps.data[barrier + 1].kind == TGI_STEP_RUN;
}

/* Takes away runs of kernels that are gone, and barriers behind nothing. */
static void drop_steps(tgi_loops *loops)
{
    size_t n = 0;
    uint32_t epoch = 0;
    for (size_t i = 0; i < loops->steps.n; i++) {
        const tgi_loop_step step = loops->steps.data[i];
        const bool is_barrier = step.kind == TGI_STEP_BARRIER;
        if (step.kind == TGI_STEP_RUN && !tgi_loops_kernel(loops, step.kernel))
            continue;
        if (is_barrier && is_needless(loops, n, i)) {
            drop_epoch(loops, epoch);
            continue;
        }
        epoch += is_barrier;
        loops->steps.data[n++] = step;
    }
    if (n && loops->steps.data[n - 1].kind == TGI_STEP_BARRIER) {
        drop_epoch(loops, epoch);
        n--;
    }
    loops->steps.n = n;
}

static void renumber_kernels(tgi_loops *loops)
{
    uint32_t old = 0, number = 0; /* steps mostly go by number */
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
        drop_stores(m, k);
        if (k->stores.n || k->reductions.n || k->checks.n)
            continue;
        tgi_kernel_loops_destroy(k);
        loops->kernels.data[i] = NULL;
        is_any = true;
    }
    if (!is_any)
        return;
    drop_steps(loops);
    renumber_kernels(loops);
}
