/* SPDX-License-Identifier: MIT */
/*
 * live_ranges.c - live ranges over structured steps.
 *
 * Accesses. A kernel reads what it loads and writes what it stores; a host call
 * reads its inputs and writes its outputs. A control-flow step reads the value
 * that decides: a loop its count at the start of each iteration, a switch its
 * index, which other threads may still read during the first epoch of a case.
 * LOOP reads the initial values of the loop. LOOP_END reads the next values and
 * then, at its second point, writes all carried values that move; a second
 * buffer gets no value there.
 *
 * The hull of a live range is from the first to the last access. Its *scope* is
 * the innermost loop (or the program) that contains all accesses. No value
 * crosses the back edge of the scope: a buffer that is accessed within a loop
 * only is written before it is read in each iteration, because the first
 * iteration is no different; a value that does cross it is a carried one, which
 * LOOP reads, outside of the loop. An access in a loop within the scope happens
 * again in every iteration: it counts for all points of that loop, which is the
 * effect of the back edge. Parameters, variables and constants are live from
 * the beginning to the end of the program, results to the end.
 *
 * Holes. Between two successive accesses to a buffer, it is dead
 *   - before an access that writes every element and reads none, if every path
 *     leads there: from the access before it, or from the beginning of the
 *     iteration or case, or from the last step in between where the loop (TEST)
 *     or the call (RETURN_IF_FAILED) may end. A call that fails leaves its
 *     variables to the caller, so it reads them, and nothing else;
 *   - if they are in two cases of a switch: after the first one if nothing
 *     after the switch accesses the buffer, and before the second one if
 *     nothing before the switch does.
 * An access in a loop within that iteration or case again counts for all of the
 * loop.
 *
 * Requires:    properly nested steps.
 * Preserves:   the program.
 * Terminates:  linear in the accesses, times the nesting depth.
 */
#include "memory/live_ranges.h"

#include "base/error.h"

static uint32_t max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* -- Control flow ---------------------------------------------------------- */

static bool open_node(tgi_live_ranges *live, int kind, uint32_t step,
                      uint32_t *current)
{
    const tgi_live_node node = {
        .kind = kind,
        .parent = *current,
        .depth = live->nodes.n ? live->nodes.data[*current].depth + 1 : 0,
        .begin = step};
    *current = (uint32_t)live->nodes.n;
    return tgi_vec_push(&live->nodes, node);
}

static void close_node(tgi_live_ranges *live, uint32_t end, uint32_t *current)
{
    live->nodes.data[*current].end = end;
    *current = live->nodes.data[*current].parent;
}

/* Builds the tree of control flow. */
static bool find_nodes(tgi_live_ranges *live)
{
    const tgi_loops *loops = live->loops;
    uint32_t current = 0;
    bool good = open_node(live, TGI_LIVE_PROGRAM, 0, &current);
    for (uint32_t i = 0; i < loops->steps.n && good; i++) {
        const int kind = loops->steps.data[i].kind;
        const bool ends_case =
            (kind == TGI_STEP_CASE || kind == TGI_STEP_SWITCH_END) &&
            live->nodes.data[current].kind == TGI_LIVE_CASE;
        if (ends_case)
            close_node(live, i - 1, &current);
        if (kind == TGI_STEP_SWITCH_END)
            close_node(live, i, &current);
        if (kind == TGI_STEP_CASE)
            good = open_node(live, TGI_LIVE_CASE, i, &current);
        if (kind == TGI_STEP_TEST)
            live->nodes.data[current].test = i;
        live->node[i] = current;
        if (kind == TGI_STEP_LOOP)
            good = open_node(live, TGI_LIVE_LOOP, i, &current);
        if (kind == TGI_STEP_SWITCH)
            good = open_node(live, TGI_LIVE_SWITCH, i, &current);
        if (kind == TGI_STEP_LOOP_END)
            close_node(live, i, &current);
    }
    if (good)
        live->nodes.data[0].end = (uint32_t)loops->steps.n;
    return good;
}

/* Control flow is at the beginning of an epoch: the kernels begin after it. */
static void find_epochs(tgi_live_ranges *live)
{
    const tgi_loops *loops = live->loops;
    const uint32_t n = (uint32_t)loops->steps.n;
    uint32_t begin = 0, end = n, exit = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int kind = loops->steps.data[i].kind;
        live->epoch_begin[i] = kind >= TGI_STEP_LOOP ? i : begin;
        if (kind == TGI_STEP_BARRIER || kind >= TGI_STEP_LOOP)
            begin = i + 1;
        if (kind == TGI_STEP_RETURN_IF_FAILED)
            exit = i;
        live->last_exit[i] = exit;
    }
    for (uint32_t i = n; i-- > 0;) {
        live->epoch_end[i] = end - 1;
        if (loops->steps.data[i].kind == TGI_STEP_BARRIER)
            end = i;
    }
}

/* -- Accesses -------------------------------------------------------------- */

typedef enum access_kind { READ, WRITE, KILL } access_kind;

/* Records an access; without arrays for them, counts it. All accesses of a step
   to a buffer are in turn, or none. */
static void record_access(tgi_live_ranges *live, uint32_t step,
                          tgi_buffer_id buffer, access_kind kind,
                          bool is_in_turn)
{
    tgi_live_accesses *list = &live->accesses[tgi_buffer_id_index(buffer)];
    if (!list->data) {
        list->n++;
        return;
    }
    tgi_live_access *last = list->n ? &list->data[list->n - 1] : NULL;
    if (!last || last->step != step) {
        last = &list->data[list->n++];
        *last = (tgi_live_access){.step = step, .is_in_turn = is_in_turn};
    }
    last->reads |= kind == READ;
    last->writes |= kind != READ;
    last->kills = !last->reads && (last->kills || kind == KILL);
}

/* True if a store writes every element of its buffer. */
static bool writes_all(const tgi_loops *loops, const tgi_kernel_loops *k,
                       const tgi_loop_store *store)
{
    const tgi_access *access = &k->accesses.data[store->access];
    const int n_axes = k->n_outer + (store->level == TGI_LEVEL_INNER);
    if (access->index || access->shift || access->panel_width ||
        access->offset != 0 || store->epilogue_op)
        return false;
    /* Each axis steps over all elements that the axes before it cover. */
    tgi_dim covered = 1;
    unsigned remaining = 0;
    for (int axis = 0; axis < n_axes; axis++)
        remaining |= (unsigned)(k->extent[axis] != 1) << axis;
    while (remaining) {
        int axis = 0;
        while (axis < n_axes && !(remaining >> axis & 1 &&
                                  access->stride[axis].distance == covered &&
                                  !access->stride[axis].is_negative))
            axis++;
        if (axis == n_axes)
            return false;
        remaining &= ~(1u << axis);
        covered = tgi_dim_mul(loops->dims, covered, k->extent[axis]);
    }
    return covered == tgi_loops_buffer(loops, access->buffer)->count;
}

static void record_kernel(tgi_live_ranges *live, uint32_t step,
                          const tgi_kernel_loops *k)
{
    const tgi_loops *loops = live->loops;
    for (size_t i = 1; i < k->insts.n; i++)
        if (k->insts.data[i].kind == TGI_INST_LOAD)
            record_access(live, step,
                          k->accesses.data[k->insts.data[i].number].buffer,
                          READ, k->is_straightline);
    for (size_t i = 0; i < k->offsets.n; i++)
        if (!tgi_buffer_id_is_none(k->offsets.data[i].memory))
            record_access(live, step, k->offsets.data[i].memory, WRITE,
                          k->is_straightline);
    for (size_t i = 0; i < k->stores.n; i++) {
        const tgi_buffer_id buffer =
            k->accesses.data[k->stores.data[i].access].buffer;
        /* Only a parameter has contents before its first access. */
        const bool kills =
            tgi_loops_buffer(loops, buffer)->place == TGI_PLACE_PARAM &&
            writes_all(loops, k, &k->stores.data[i]);
        record_access(live, step, buffer, kills ? KILL : WRITE,
                      k->is_straightline);
        live->is_memoised[tgi_buffer_id_index(buffer)] |=
            !tgi_memo_id_is_none(k->memo);
    }
}

static bool is_carried(const tgi_control_flow *c, tgi_buffer_id buffer)
{
    for (uint32_t i = 0; i < c->n_carried; i++)
        if (tgi_buffer_id_equals(c->carried[i], buffer))
            return true;
    return false;
}

static void record_control(tgi_live_ranges *live, uint32_t step, int kind,
                           const tgi_control_flow *c)
{
    if (kind == TGI_STEP_TEST)
        record_access(live, step, c->test, READ, false);
    if (kind == TGI_STEP_SWITCH || kind == TGI_STEP_CASE)
        record_access(live, step, c->operand, READ, false);
    if (kind == TGI_STEP_LOOP || kind == TGI_STEP_LOOP_END) {
        record_access(live, step, c->operand, READ, false);
        if (c->has_base)
            record_access(live, step, c->base, READ, false);
    }
    for (uint32_t i = 0; kind == TGI_STEP_LOOP && i < c->n_carried; i++)
        record_access(live, step, c->carried[i], READ, true);
    for (uint32_t i = 0; kind == TGI_STEP_LOOP_END && i < c->n_moved; i++)
        if (is_carried(c, c->to[i])) {
            record_access(live, step, c->from[i], READ, true);
            record_access(live, step, c->to[i], KILL, true);
        }
}

static void record_steps(tgi_live_ranges *live)
{
    const tgi_loops *loops = live->loops;
    for (uint32_t i = 0; i < loops->steps.n; i++) {
        const tgi_loop_step *step = &loops->steps.data[i];
        if (step->kind == TGI_STEP_RUN)
            record_kernel(live, i, tgi_loops_kernel(loops, step->kernel));
        else if (step->kind >= TGI_STEP_LOOP)
            record_control(live, i, step->kind,
                           tgi_loops_control(loops, step->control));
        if (step->kind != TGI_STEP_HOST)
            continue;
        const tgi_host_step *host =
            &loops->hosts.data[tgi_host_id_index(step->host)];
        for (uint32_t k = 0; k < host->n_buffers; k++)
            record_access(live, i, host->buffers[k],
                          k < host->n_inputs ? READ : WRITE, false);
    }
}

/* Counts the accesses, then records them. */
static bool find_accesses(tgi_live_ranges *live)
{
    const size_t n = live->loops->buffers.n;
    for (size_t i = 0; i < n; i++)
        live->accesses[i] = (tgi_live_accesses){0};
    record_steps(live);
    size_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += live->accesses[i].n;
    tgi_live_access *next =
        tgi_arena_alloc(&live->arena, (all + 1) * sizeof(*next));
    if (!next)
        return false;
    for (size_t i = 0; i < n; i++) {
        const size_t n_accesses = live->accesses[i].n;
        live->accesses[i] = (tgi_live_accesses){.data = next};
        next += n_accesses;
    }
    record_steps(live);
    return true;
}

tg_status tgi_live_ranges_init(tgi_live_ranges *live, const tgi_loops *loops)
{
    const size_t n_steps = loops->steps.n + 1, n = loops->buffers.n + 1;
    *live = (tgi_live_ranges){.loops = loops};
    tgi_arena *arena = &live->arena;
    live->node = tgi_arena_alloc(arena, n_steps * sizeof(*live->node));
    live->epoch_begin =
        tgi_arena_alloc(arena, n_steps * sizeof(*live->epoch_begin));
    live->epoch_end =
        tgi_arena_alloc(arena, n_steps * sizeof(*live->epoch_end));
    live->last_exit =
        tgi_arena_alloc(arena, n_steps * sizeof(*live->last_exit));
    live->accesses = tgi_arena_alloc(arena, n * sizeof(*live->accesses));
    live->is_memoised = tgi_arena_alloc(arena, n * sizeof(*live->is_memoised));
    if (!live->node || !live->epoch_begin || !live->epoch_end ||
        !live->last_exit || !live->accesses || !live->is_memoised)
        return tgi_error_memory();
    for (size_t i = 0; i < n; i++)
        live->is_memoised[i] = false;
    find_epochs(live);
    return find_nodes(live) && find_accesses(live) ? TG_OK : tgi_error_memory();
}

void tgi_live_ranges_deinit(tgi_live_ranges *live)
{
    tgi_vec_deinit(&live->nodes);
    tgi_arena_deinit(&live->arena);
}

/* -- Spans ----------------------------------------------------------------- */

tgi_live_span tgi_live_span_of(const tgi_live_ranges *live,
                               const tgi_live_access *access)
{
    const uint32_t step = access->step;
    if (!access->is_in_turn)
        return (tgi_live_span){2 * live->epoch_begin[step],
                               2 * live->epoch_end[step] + 1};
    if (tgi_loops_kernel_at(live->loops, step))
        return (tgi_live_span){2 * step, 2 * step + 1};
    return (tgi_live_span){2 * step + !access->reads,
                           2 * step + access->writes};
}

/* The innermost node that two nodes are in. Writes its children on the way to
   them; 0 for one that is the result itself. */
static uint32_t common_node(const tgi_live_ranges *live, uint32_t a, uint32_t b,
                            uint32_t *out_child_a, uint32_t *out_child_b)
{
    const tgi_live_node *nodes = live->nodes.data;
    *out_child_a = *out_child_b = 0;
    while (a != b)
        if (nodes[a].depth >= nodes[b].depth) {
            *out_child_a = a;
            a = nodes[a].parent;
        } else {
            *out_child_b = b;
            b = nodes[b].parent;
        }
    return a;
}

/* The span of an access, or of the outermost loop within `node` that contains
   it. */
static tgi_live_span span_within(const tgi_live_ranges *live, uint32_t node,
                                 const tgi_live_access *access)
{
    uint32_t loop = 0;
    for (uint32_t i = live->node[access->step]; i != node;
         i = live->nodes.data[i].parent)
        if (live->nodes.data[i].kind == TGI_LIVE_LOOP)
            loop = i;
    return loop ? (tgi_live_span){2 * live->nodes.data[loop].begin,
                                  2 * live->nodes.data[loop].end + 1}
                : tgi_live_span_of(live, access);
}

/* -- Ranges ---------------------------------------------------------------- */

typedef struct range_builder {
    const tgi_live_ranges *live;
    tgi_live_range *range;
    bool is_param;
    tgi_live_span hull;
    uint32_t first; /* of the current interval */
    /* Of the accesses so far: the last point, the step that has it, and the
       last point without that step. */
    uint32_t last, last_step, last_without;
    bool is_out_of_memory;
} range_builder;

static void add_interval(range_builder *b, uint32_t last)
{
    tgi_live_interval interval = {.span = {b->first, last},
                                  .last_step = TGI_NO_STEP,
                                  .last_without = last};
    if (last == b->last) {
        interval.last_step = b->last_step;
        interval.last_without = b->last_without;
    }
    b->is_out_of_memory |= !tgi_vec_push(b->range, interval);
}

/* The buffer is dead between two points. */
static void add_hole(range_builder *b, uint32_t last, uint32_t first)
{
    if (first <= last || first <= b->first)
        return;
    if (last >= b->first)
        add_interval(b, last);
    b->first = first;
}

/* The hole between two accesses in different cases of a switch. */
static void add_case_hole(range_builder *b, const tgi_live_access *before,
                          const tgi_live_access *after)
{
    const tgi_live_ranges *live = b->live;
    const tgi_live_node *nodes = live->nodes.data;
    uint32_t from, to;
    const tgi_live_node *branch = &nodes[common_node(
        live, live->node[before->step], live->node[after->step], &from, &to)];
    const bool is_born = b->hull.first >= 2 * branch->begin;
    const bool dies = b->hull.last <= 2 * branch->end + 1;
    if (branch->kind != TGI_LIVE_SWITCH || (!is_born && !dies))
        return;
    add_hole(b,
             dies ? max(b->last, span_within(live, from, before).last)
                  : 2 * nodes[from].end + 1,
             is_born ? span_within(live, to, after).first
                     : 2 * nodes[to].begin);
}

/* The hole before an access that kills. */
static void add_kill_hole(range_builder *b, const tgi_live_access *before,
                          const tgi_live_access *after)
{
    const tgi_live_ranges *live = b->live;
    const uint32_t number = live->node[after->step];
    const tgi_live_node *node = &live->nodes.data[number];
    uint32_t last = b->last, child, other;
    if (before && common_node(live, number, live->node[before->step], &child,
                              &other) == number)
        last = max(last, span_within(live, number, before).last);
    if (number)
        last = max(last, 2 * node->begin + 1);
    if (node->test)
        last = max(last, 2 * node->test + 1);
    /* The barrier before an exit precedes all steps of its epoch. */
    if (b->is_param && live->last_exit[after->step])
        last = max(last, 2 * live->last_exit[after->step] - 1);
    add_hole(b, last, tgi_live_span_of(live, after).first);
}

/* The range without holes. */
static tgi_live_span find_hull(const tgi_live_ranges *live,
                               const tgi_live_accesses *list)
{
    tgi_live_span hull = {UINT32_MAX, 0};
    uint32_t scope = live->node[list->data[0].step], child, other;
    for (size_t i = 1; i < list->n; i++)
        scope = common_node(live, scope, live->node[list->data[i].step], &child,
                            &other);
    while (live->nodes.data[scope].kind == TGI_LIVE_SWITCH ||
           live->nodes.data[scope].kind == TGI_LIVE_CASE)
        scope = live->nodes.data[scope].parent;
    for (size_t i = 0; i < list->n; i++) {
        const tgi_live_span span = span_within(live, scope, &list->data[i]);
        hull.first = span.first < hull.first ? span.first : hull.first;
        hull.last = max(hull.last, span.last);
    }
    return hull;
}

bool tgi_live_range_of(const tgi_live_ranges *live, tgi_buffer_id buffer,
                       tgi_live_range *out_range)
{
    const int place = tgi_loops_buffer(live->loops, buffer)->place;
    const tgi_live_accesses *list =
        &live->accesses[tgi_buffer_id_index(buffer)];
    if (!list->n)
        return true;
    range_builder b = {.live = live,
                       .range = out_range,
                       .is_param = place == TGI_PLACE_PARAM,
                       .hull = find_hull(live, list),
                       .last_step = TGI_NO_STEP};
    const bool is_whole = place == TGI_PLACE_PARAM ||
                          place == TGI_PLACE_CONSTANT ||
                          live->is_memoised[tgi_buffer_id_index(buffer)];
    if (is_whole)
        b.hull.first = 0;
    if (is_whole || place == TGI_PLACE_RESULT)
        b.hull.last = 2 * live->nodes.data[0].end + 1;
    b.first = b.hull.first;
    for (size_t i = 0; i < list->n; i++) {
        const tgi_live_access *access = &list->data[i];
        const tgi_live_access *before = i ? access - 1 : NULL;
        if (before)
            add_case_hole(&b, before, access);
        if (access->kills)
            add_kill_hole(&b, before, access);
        const uint32_t last = tgi_live_span_of(live, access).last;
        if (last >= b.last) {
            b.last_without = b.last;
            b.last = last;
            b.last_step = access->step;
        } else {
            b.last_without = max(b.last_without, last);
        }
    }
    add_interval(&b, b.hull.last);
    return !b.is_out_of_memory;
}

/* -- Union ----------------------------------------------------------------- */

/* The union of two intervals that overlap. */
static tgi_live_interval unite(tgi_live_interval a, tgi_live_interval b)
{
    if (a.span.last < b.span.last) {
        const tgi_live_interval swapped = a;
        a = b;
        b = swapped;
    }
    a.last_without =
        max(a.last_without,
            a.last_step != b.last_step ? b.span.last : b.last_without);
    a.span.first = a.span.first < b.span.first ? a.span.first : b.span.first;
    return a;
}

bool tgi_live_range_add(tgi_live_range *range, const tgi_live_range *other)
{
    size_t a = range->n, b = other->n, n = a + b;
    if (!tgi_vec_reserve(range, n))
        return false;
    /* Merge from the end, then unite. */
    tgi_live_interval *all = range->data;
    while (b)
        all[--n] = a && all[a - 1].span.first > other->data[b - 1].span.first
                       ? all[--a]
                       : other->data[--b];
    range->n += other->n;
    n = 0;
    for (size_t i = 0; i < range->n; i++) {
        if (n && tgi_live_spans_overlap(all[n - 1].span, all[i].span))
            all[n - 1] = unite(all[n - 1], all[i]);
        else
            all[n++] = all[i];
    }
    range->n = n;
    return true;
}
