/* SPDX-License-Identifier: MIT */
/*
 * coalesce.c - the interference test, and classes of buffers by union-find.
 *
 * Two classes interfere if a write to one happens while the other is live,
 * unless the write leaves both equal or comes after the last read:
 *   - It copies the element from the other class, or the same kernel stores the
 *     same value to the same element of both. Then shared storage has the value
 *     of both. Hence two buffers with equal contents do not interfere, until a
 *     write makes one of them differ while the other is live.
 *   - A kernel stores to one class and has the last read of the other, of which
 *     each load is at the element of the store and not in a later phase
 *     (x[i] += 1). An element is loaded before it is stored, and belongs to one
 *     work item of one thread.
 *
 * Why this suffices: by induction over the accesses of a run, shared storage
 * has every element of each member that is live. A write to one member changes
 * nothing that another member still needs: that one is dead, or gets its own
 * value. It therefore does not matter which member a write or read names. All
 * else is a matter of live ranges (live_ranges.c): back edges, branches, and
 * that a call that fails leaves its variables as they are.
 *
 * Cost: a test takes one binary search, in the larger class, per write and
 * interval of the smaller one, and another one where they overlap. A class that
 * grows along the program, as by successive updates of one value, is appended
 * to.
 */
#include "memory/coalesce.h"

#include "base/error.h"
#include "loop/explain.h"

typedef struct storage_write {
    uint32_t step;
    uint32_t store; /* its number in the kernel; NO_STORE: not by a kernel */
    tgi_live_span span;
} storage_write;

#define NO_STORE UINT32_MAX

struct tgi_storage_class {
    bool is_known; /* the live range and writes have been found */
    tgi_live_range range;
    TGI_VEC(storage_write) writes; /* in order of steps */
};

/* -- Classes --------------------------------------------------------------- */

tg_status tgi_coalescer_init(tgi_coalescer *c, tgi_loops *loops,
                             tgi_strbuf *explain)
{
    const size_t n = loops->buffers.n;
    *c = (tgi_coalescer){.loops = loops,
                         .explain = explain,
                         .n_buffers = n,
                         .parent = tgi_alloc_zero((n + 1) * sizeof(*c->parent)),
                         .classes =
                             tgi_alloc_zero((n + 1) * sizeof(*c->classes))};
    for (size_t i = 0; c->parent && i < n; i++)
        c->parent[i] = tgi_buffer_id_from(i);
    TGI_TRY(tgi_live_ranges_init(&c->live, loops));
    return c->parent && c->classes ? TG_OK : tgi_error_memory();
}

void tgi_coalescer_deinit(tgi_coalescer *c)
{
    for (size_t i = 0; c->classes && i < c->n_buffers; i++) {
        tgi_vec_deinit(&c->classes[i].range);
        tgi_vec_deinit(&c->classes[i].writes);
    }
    tgi_free(c->parent);
    tgi_free(c->classes);
    tgi_live_ranges_deinit(&c->live);
}

tgi_buffer_id tgi_coalescer_find(const tgi_coalescer *c, tgi_buffer_id buffer)
{
    tgi_buffer_id root = buffer;
    while (!tgi_buffer_id_equals(c->parent[tgi_buffer_id_index(root)], root))
        root = c->parent[tgi_buffer_id_index(root)];
    while (!tgi_buffer_id_equals(buffer, root)) {
        const tgi_buffer_id next = c->parent[tgi_buffer_id_index(buffer)];
        c->parent[tgi_buffer_id_index(buffer)] = root;
        buffer = next;
    }
    return root;
}

/* Adds the stores of a step to a class of one buffer; false when out of
   memory. */
static bool add_stores(const tgi_coalescer *c, tgi_storage_class *class,
                       tgi_buffer_id buffer, const tgi_live_access *access)
{
    const tgi_kernel_loops *k = tgi_loops_kernel_at(c->loops, access->step);
    storage_write write = {access->step, NO_STORE,
                           tgi_live_span_of(&c->live, access)};
    if (!k)
        return tgi_vec_push(&class->writes, write);
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const tgi_loop_store *store = &k->stores.data[i];
        write.store = i;
        if (tgi_buffer_id_equals(k->accesses.data[store->access].buffer,
                                 buffer) &&
            !tgi_vec_push(&class->writes, write))
            return false;
    }
    return true;
}

/* The class of a root; NULL when out of memory. */
static tgi_storage_class *class_of(tgi_coalescer *c, tgi_buffer_id root)
{
    tgi_storage_class *class = &c->classes[tgi_buffer_id_index(root)];
    const tgi_live_accesses *list =
        &c->live.accesses[tgi_buffer_id_index(root)];
    if (class->is_known)
        return class;
    bool good = tgi_live_range_of(&c->live, root, &class->range);
    for (size_t i = 0; i < list->n && good; i++) {
        tgi_live_access access = list->data[i];
        access.reads = false;
        if (access.writes)
            good = add_stores(c, class, root, &access);
    }
    class->is_known = good;
    c->is_out_of_memory |= !good;
    return good ? class : NULL;
}

/* Adds the writes of `other` to a class; false when out of memory. */
static bool add_writes(tgi_storage_class *class, const tgi_storage_class *other)
{
    size_t a = class->writes.n, b = other->writes.n, n = a + b;
    if (!tgi_vec_reserve(&class->writes, n))
        return false;
    class->writes.n = n;
    storage_write *all = class->writes.data;
    while (b)
        all[--n] = a && all[a - 1].step > other->writes.data[b - 1].step
                       ? all[--a]
                       : other->writes.data[--b];
    return true;
}

/* -- Interference ---------------------------------------------------------- */

/* The first write of a class at a step or later. */
static size_t find_write(const tgi_storage_class *class, uint32_t step)
{
    size_t first = 0, end = class->writes.n;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (class->writes.data[middle].step < step)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* True if the kernel of a step also stores the value of a store to the same
   element of class `other`. */
static bool has_twin(const tgi_coalescer *c, uint32_t step,
                     const tgi_loop_store *store, tgi_buffer_id other)
{
    const tgi_kernel_loops *k = tgi_loops_kernel_at(c->loops, step);
    const tgi_storage_class *class = &c->classes[tgi_buffer_id_index(other)];
    for (size_t i = find_write(class, step);
         i < class->writes.n && class->writes.data[i].step == step; i++)
        if (tgi_stores_are_twins(
                k, store, &k->stores.data[class->writes.data[i].store]))
            return true;
    return false;
}

/* True if a store of the kernel of a step leaves the element of class `other`
   equal to the stored one; or if it copies within its class, and will be
   deleted. */
static bool keeps_equal(const tgi_coalescer *c, uint32_t step,
                        const tgi_loop_store *store, tgi_buffer_id other)
{
    const tgi_kernel_loops *k = tgi_loops_kernel_at(c->loops, step);
    const tgi_access *from = tgi_copy_source(k, store);
    const tgi_buffer_id to = k->accesses.data[store->access].buffer;
    if (from) {
        const tgi_buffer_id source = tgi_coalescer_find(c, from->buffer);
        if (tgi_buffer_id_equals(source, other) ||
            (tgi_buffer_id_equals(source, tgi_coalescer_find(c, to)) &&
             !tgi_buffer_id_equals(from->buffer, to)))
            return true;
    }
    return has_twin(c, step, store, other);
}

/* True if a write makes its buffer differ from class `other`. */
static bool makes_differ(const tgi_coalescer *c, const storage_write *write,
                         tgi_buffer_id other)
{
    return write->store == NO_STORE ||
           !keeps_equal(c, write->step,
                        &tgi_loops_kernel_at(c->loops, write->step)
                             ->stores.data[write->store],
                        other);
}

/* True if the kernel of a step loads only those elements of `old` that it stores
   to `new`, before it stores them. */
static bool updates_in_place(const tgi_coalescer *c, uint32_t step,
                             tgi_buffer_id old, tgi_buffer_id new)
{
    const tgi_kernel_loops *k = tgi_loops_kernel_at(c->loops, step);
    if (!k || !tgi_kernel_is_single_sweep(k))
        return false;
    for (size_t j = 0; j < k->stores.n; j++) {
        const tgi_loop_store *store = &k->stores.data[j];
        const tgi_buffer_id to = tgi_coalescer_of_access(c, k, store->access);
        if (tgi_buffer_id_equals(to, old))
            return false;
        if (!tgi_buffer_id_equals(to, new))
            continue;
        /* Without this copy, another store to the element would be the last. */
        if (keeps_equal(c, step, store, old))
            return false;
        for (size_t i = 1; i < k->insts.n; i++) {
            const tgi_inst *inst = &k->insts.data[i];
            if (inst->kind == TGI_INST_LOAD &&
                tgi_buffer_id_equals(
                    tgi_coalescer_of_access(c, k, inst->number), old) &&
                (inst->phase > store->phase ||
                 !tgi_access_is_same_element(k, &k->accesses.data[inst->number],
                                             &k->accesses.data[store->access])))
                return false;
        }
    }
    return true;
}

/* True if a write to class `new`, which makes it differ from class `old`, needs
   storage of its own: it overlaps with a live interval of `old`. */
static bool is_conflict(const tgi_coalescer *c, tgi_buffer_id new,
                        const storage_write *write, tgi_buffer_id old,
                        const tgi_live_interval *live)
{
    return live->last_step != write->step ||
           live->last_without >= write->span.first ||
           !updates_in_place(c, write->step, old, new);
}

/* True if the write conflicts with class `old`. Searches its intervals. */
static bool hits_range(tgi_coalescer *c, tgi_buffer_id new,
                       const storage_write *write, tgi_buffer_id old)
{
    const tgi_live_range *range = &class_of(c, old)->range;
    size_t first = 0, end = range->n;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (range->data[middle].span.last < write->span.first)
            first = middle + 1;
        else
            end = middle;
    }
    if (first == range->n || range->data[first].span.first > write->span.last ||
        !makes_differ(c, write, old))
        return false;
    for (;
         first < range->n && range->data[first].span.first <= write->span.last;
         first++)
        if (is_conflict(c, new, write, old, &range->data[first]))
            return true;
    return false;
}

/* True if a write to class `new` conflicts with an interval of class `old`.
   Searches the writes; their epochs are in order. */
static bool is_hit(tgi_coalescer *c, tgi_buffer_id new, tgi_buffer_id old,
                   const tgi_live_interval *live)
{
    const tgi_storage_class *class = class_of(c, new);
    const storage_write *writes = class->writes.data;
    size_t first = 0, end = class->writes.n;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (2 * c->live.epoch_end[writes[middle].step] + 1 < live->span.first)
            first = middle + 1;
        else
            end = middle;
    }
    for (; first < class->writes.n &&
           2 * c->live.epoch_begin[writes[first].step] <= live->span.last;
         first++)
        if (tgi_live_spans_overlap(writes[first].span, live->span) &&
            makes_differ(c, &writes[first], old) &&
            is_conflict(c, new, &writes[first], old, live))
            return true;
    return false;
}

/* True if a write to class `new` conflicts with class `old`. */
static bool overwrites(tgi_coalescer *c, tgi_buffer_id new, tgi_buffer_id old)
{
    const tgi_storage_class *writer = class_of(c, new);
    const tgi_live_range *range = &class_of(c, old)->range;
    if (writer->writes.n <= range->n) {
        for (size_t i = 0; i < writer->writes.n; i++)
            if (hits_range(c, new, &writer->writes.data[i], old))
                return true;
        return false;
    }
    for (size_t i = 0; i < range->n; i++)
        if (is_hit(c, new, old, &range->data[i]))
            return true;
    return false;
}

/* -- Union ----------------------------------------------------------------- */

static bool is_eligible(const tgi_coalescer *c, tgi_buffer_id buffer)
{
    const int place = tgi_loops_buffer(c->loops, buffer)->place;
    return (place == TGI_PLACE_TEMP || place == TGI_PLACE_RESULT ||
            place == TGI_PLACE_PARAM) &&
           !c->live.is_memoised[tgi_buffer_id_index(buffer)];
}

/* Unites two classes; `root` stands for them. */
static bool unite(tgi_coalescer *c, tgi_buffer_id root, tgi_buffer_id other)
{
    tgi_storage_class *a = class_of(c, root), *b = class_of(c, other);
    if (a->writes.n + a->range.n < b->writes.n + b->range.n) {
        const tgi_storage_class swapped = *a;
        *a = *b;
        *b = swapped;
    }
    if (!tgi_live_range_add(&a->range, &b->range) || !add_writes(a, b)) {
        c->is_out_of_memory = true;
        return false;
    }
    tgi_vec_deinit(&b->range);
    tgi_vec_deinit(&b->writes);
    c->parent[tgi_buffer_id_index(other)] = root;
    return c->has_united = true;
}

bool tgi_coalescer_try_pinned(tgi_coalescer *c, tgi_buffer_id old,
                              tgi_buffer_id new)
{
    old = tgi_coalescer_find(c, old);
    new = tgi_coalescer_find(c, new);
    const tgi_loop_buffer *before = tgi_loops_buffer(c->loops, old);
    const tgi_loop_buffer *after = tgi_loops_buffer(c->loops, new);
    if (tgi_buffer_id_equals(old, new))
        return true;
    if (before->count != after->count || before->dtype != after->dtype ||
        !is_eligible(c, old) || !is_eligible(c, new) ||
        (before->place != TGI_PLACE_TEMP && after->place != TGI_PLACE_TEMP) ||
        !class_of(c, old) || !class_of(c, new) || overwrites(c, new, old) ||
        overwrites(c, old, new))
        return false;
    return after->place == TGI_PLACE_TEMP ? unite(c, old, new)
                                          : unite(c, new, old);
}

bool tgi_coalescer_try(tgi_coalescer *c, tgi_buffer_id old, tgi_buffer_id new)
{
    old = tgi_coalescer_find(c, old);
    new = tgi_coalescer_find(c, new);
    tgi_loop_buffer *before = tgi_loops_buffer(c->loops, old);
    tgi_loop_buffer *after = tgi_loops_buffer(c->loops, new);
    if (tgi_buffer_id_equals(old, new))
        return true;
    if (before->is_pinned || after->is_pinned ||
        !tgi_coalescer_try_pinned(c, old, new))
        return false;
    if (after->place == TGI_PLACE_PARAM) {
        tgi_loop_buffer *variable = after;
        after = before;
        before = variable;
    }
    if (after->graph == before->graph)
        tgi_explain_node(c->explain, after->graph, after->node,
                         "in place of %%%u", before->node);
    if (after->place == TGI_PLACE_TEMP) {
        before->node = after->node;
        before->graph = after->graph;
    }
    return true;
}
