/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_control.c - branches and loops. The bytes of a region are
 * ordinary instructions, which use its parameters and values and variables of
 * enclosing callbacks. A region returns results of the types of its parameters.
 * Loops terminate: they count, and nested loops have lower limits, so that the
 * total number of iterations is small.
 */
#include <string.h>

#include "random/random_graph.h"

enum {
    MAX_SLOTS = 4, /* values that a region takes and returns */
    MAX_SEEN = 16, /* values of enclosing callbacks that it can use */
    MAX_BRANCHES = 4,
    MAX_NESTING = 4
};

/* A branch, body or test under construction. */
typedef struct region {
    rg_maker *outer;
    rg_bytes body;
    int n_slots;
    rg_operand slots[MAX_SLOTS]; /* its parameters */
    bool has_iteration;          /* … after the iteration */
    bool is_counted; /* slot 0 is a counter: the body of a while */
    bool is_strong;  /* returns no weakly typed numbers */
    int max_iterations; /* of its loop; 1 for branches */
    unsigned choice;
    int64_t bound; /* test: bound of the counter */
} region;

/* -- Choosing -------------------------------------------------------------- */

static rg_bytes take_body(rg_maker *m)
{
    const size_t length = 2 + (size_t)rg_below(&m->bytes, 72);
    const size_t left = m->bytes.n - m->bytes.at;
    const rg_bytes body = {m->bytes.data + m->bytes.at,
                           length < left ? length : left, 0};
    m->bytes.at += body.n;
    return body;
}

static const rg_type i64_type = {.dtype = TG_I64};
static const rg_type bool_type = {.dtype = TG_BOOL};

/* The sum of all elements, as one number. */
static rg_operand total(const rg_maker *m, rg_operand x)
{
    tg_value sum =
        RG_DO(m, tg_sum(tg_cast(x.operand, TG_I64), TG_ALL_AXES));
    return rg_value(i64_type, sum);
}

/* A data-dependent number between least and most. */
static rg_operand take_number(rg_maker *m, int64_t least, int64_t most)
{
    rg_operand x = total(m, rg_pick(m));
    x.operand = tg_in_value(
        RG_DO(m, tg_min(tg_max(x.operand, least), most)));
    return x;
}

/* A number of iterations, at most `most`. */
static rg_operand take_iterations(rg_maker *m, int most)
{
    const unsigned choice = rg_take(&m->bytes);
    if (choice & 16 && m->max_iteration > 0 && m->max_iteration - 1 <= most)
        return rg_value(i64_type, m->iteration);
    if (choice % 4 == 0)
        return take_number(m, -1, most);
    if (choice % 4 == 1)
        return (rg_operand){.operand = tg_in_i64((int)(choice / 4) %
                                                 (most + 1))};
    rg_operand iterations = take_number(m, 0, most);
    iterations.operand = tg_in_value(RG_DO(
        m, tg_cast(iterations.operand, choice % 4 == 2 ? TG_U8 : TG_I32)));
    return iterations;
}

static rg_operand take_predicate(rg_maker *m)
{
    const unsigned choice = rg_take(&m->bytes);
    if (choice % 8 == 0)
        return (rg_operand){.operand = tg_in_bool(choice & 8)};
    rg_operand x = total(m, rg_pick(m));
    return rg_value(bool_type,
                    choice % 2
                        ? RG_DO(m, tg_gt(x.operand, (int64_t)choice / 32))
                        : RG_DO(m, tg_eq(tg_and(x.operand, 1), 0)));
}

static void take_slots(rg_maker *m, region *r, tg_operand *operands)
{
    static const uint8_t numbers[] = {1, 2, 3, 2, 1, 3, 4, 0};
    r->n_slots = numbers[rg_below(&m->bytes, 8)];
    for (int i = 0; i < r->n_slots; i++) {
        r->slots[i] = rg_pick(m);
        /* Two of one type can be swapped. */
        if (i > 0 && r->choice >> i & 1)
            r->slots[i] = r->slots[i - 1];
        operands[i] = r->slots[i].operand;
    }
}

/* -- Execution of regions -------------------------------------------------- */

/* The maker of a region, dry if `t` is NULL; `in` has its parameters. */
static void enter(const region *r, tg_trace *t, const tg_value *in,
                  rg_maker *m)
{
    const rg_maker *outer = r->outer;
    const int n = outer->n_values < MAX_SEEN ? outer->n_values : MAX_SEEN;
    *m = *outer;
    m->bytes = r->body;
    m->session = t ? outer->session : NULL;
    m->trace = t;
    m->nesting++;
    m->iterations =
        outer->iterations / (r->max_iterations > 0 ? r->max_iterations : 1);
    memmove(m->values, outer->values + outer->n_values - n,
            (size_t)n * sizeof(*m->values));
    m->n_values = n;
    const tg_value none = {0, 0};
    if (r->has_iteration) {
        m->iteration = t ? in[0] : none;
        m->max_iteration = r->max_iterations;
        rg_keep(m, i64_type, m->iteration);
    }
    for (int i = 0; i < r->n_slots; i++) {
        rg_type type = r->slots[i].type;
        type.is_weak = false;
        rg_keep(m, type, t ? in[r->has_iteration + i] : none);
    }
}

/* The parameter of slot i, as the region sees it. */
static rg_operand slot_value(const region *r, const rg_operand *slots, int i)
{
    return slots[r->has_iteration + i];
}

static bool same_type(const rg_type *a, const rg_type *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           (a->rank == 0 ||
            memcmp(a->dims, b->dims, (size_t)a->rank * sizeof(*a->dims)) == 0);
}

/* Reshapes a value with as many elements to the extents of a slot. */
static tg_value reshape_like(rg_maker *m, rg_operand x, rg_operand slot)
{
    int64_t dims[TG_MAX_RANK];
    for (int i = 0; i < slot.type.rank; i++)
        dims[i] = m->session ? tg_value_dim(slot.operand.as.value, i) : 0;
    return RG_DO(m, tg_reshape(x.operand, slot.type.rank, dims));
}

/* A new value of the type of a slot. */
static tg_value combine(rg_maker *m, rg_operand slot, unsigned choice)
{
    const tg_dtype dtype = (tg_dtype)slot.type.dtype;
    rg_operand last = m->values[m->n_values - 1];
    tg_value number = RG_DO(m, tg_cast(total(m, last).operand, dtype));
    if (!tgi_dtype_is(dtype, rg_classes(TGI_CLASS_NUM)))
        return RG_DO(m, tg_ne(slot.operand, number));
    switch (choice % 3) {
    case 0:
        return RG_DO(m, tg_add(slot.operand, number));
    case 1:
        return RG_DO(m, tg_mul(tg_sub(slot.operand, number), 2));
    default:
        return RG_DO(m, tg_max(slot.operand, number));
    }
}

/* The result of slot i: unchanged, another slot, a computed value, or a new
   one. */
static rg_operand result_of(const region *r, rg_maker *m,
                            const rg_operand *slots, int i)
{
    const unsigned choice = r->choice >> (2 * i);
    rg_operand slot = slot_value(r, slots, i);
    if (choice % 4 == 0)
        return slot;
    for (int k = 1; choice % 4 == 1 && k < r->n_slots; k++) {
        rg_operand other = slot_value(r, slots, (i + k) % r->n_slots);
        if (same_type(&other.type, &slot.type))
            return rg_value(slot.type, reshape_like(m, other, slot));
    }
    for (int k = 0; choice % 4 == 2 && k < m->n_values; k++) {
        /* Values of the region are last, captured ones first. */
        rg_operand x = m->values[r->choice & 64 ? k : m->n_values - 1 - k];
        if (rg_count(&x.type) != rg_count(&slot.type) ||
            (x.type.dtype != slot.type.dtype && k % 2))
            continue;
        if (x.type.rank == 0 && x.type.is_weak && slot.type.rank == 0 &&
            !r->is_strong)
            return rg_fit_dtype(m, x, (tg_dtype)slot.type.dtype);
        x.operand =
            tg_in_value(RG_DO(m, tg_cast(x.operand, slot.type.dtype)));
        return rg_value(slot.type, reshape_like(m, x, slot));
    }
    return rg_value(slot.type, combine(m, slot, r->choice));
}

/* Prints the iteration or parameters of a region, which otherwise are not
   observable for most iterations. */
static void print_iteration(const rg_maker *m, const rg_operand *slots, int n)
{
    if (m->session && n > 0)
        tg_print(m->trace, "%v, %v\n", slots[0].operand,
                 slots[n - 1].operand);
}

static int make_region(const region *r, tg_trace *t, const tg_value *in,
                       tg_operand *results)
{
    rg_maker m;
    rg_operand slots[1 + MAX_SLOTS];
    enter(r, t, in, &m);
    const int n_in = r->has_iteration + r->n_slots;
    memcpy(slots, &m.values[m.n_values - n_in],
           (size_t)n_in * sizeof(*slots));
    if (r->choice & 32)
        print_iteration(&m, slots, n_in);
    rg_make_body(&m);
    if (r->choice & 128)
        print_iteration(&m, slots, n_in);
    for (int i = 0; i < r->n_slots; i++)
        results[i] = result_of(r, &m, slots, i).operand;
    if (r->is_counted)
        results[0] = tg_in_value(RG_DO(&m, tg_add(slots[0].operand, 1)));
    return r->n_slots;
}

static void region_callback(tg_trace *t, const tg_value *in, void *user)
{
    tg_operand results[MAX_SLOTS];
    const int n = make_region(user, t, in, results);
    tg_return_at(t, results, (size_t)n, TG_HERE);
}

/* Continues while slot 0 is below the bound, optionally with a condition on the
   other slots. */
static void test_callback(tg_trace *t, const tg_value *in, void *user)
{
    const region *r = user;
    rg_maker m;
    enter(r, t, in, &m);
    tg_value goes_on = RG_DO(&m, tg_lt(in[0], r->bound));
    rg_make_body(&m);
    if (r->choice & 1) {
        rg_operand last = total(&m, m.values[m.n_values - 1]);
        goes_on = RG_DO(&m, tg_and(goes_on, tg_ne(last.operand, 1)));
    }
    if (t)
        tg_return(t, goes_on);
}

/* Computes types without recording. */
static void compute_types(const region *r)
{
    tg_operand results[MAX_SLOTS];
    make_region(r, NULL, NULL, results);
}

/* -- Instructions ---------------------------------------------------------- */

static bool may_nest(const rg_maker *m)
{
    return m->nesting < MAX_NESTING && m->bytes.at < m->bytes.n;
}

static void keep_results(rg_maker *m, const region *r, const tg_value *results,
                         int n)
{
    for (int i = 0; i < n; i++) {
        rg_type type = r->slots[i].type;
        type.is_weak = false;
        rg_keep(m, type, results[i]);
    }
}

/* The callbacks of a switch share one `user`: each takes the next region. */
typedef struct branches {
    region all[MAX_BRANCHES];
    int next;
} branches;

static void branch_callback(tg_trace *t, const tg_value *in, void *user)
{
    branches *b = user;
    region_callback(t, in, &b->all[b->next++]);
}

void rg_make_switch(rg_maker *m, tgi_op op)
{
    (void)op;
    if (!may_nest(m))
        return;
    branches b = {.next = 0};
    region first = {.outer = m, .max_iterations = 1};
    tg_operand operands[MAX_SLOTS];
    tg_value results[MAX_SLOTS] = {{0, 0}};
    const unsigned choice = rg_take(&m->bytes);
    const int n = choice % 2 ? 2 : 1 + (int)(choice / 4 % MAX_BRANCHES);
    first.choice = rg_take(&m->bytes);
    rg_operand index =
        choice % 2 ? take_predicate(m) : take_number(m, -1, n);
    take_slots(m, &first, operands);
    for (int i = 0; i < n; i++) {
        b.all[i] = first;
        b.all[i].is_strong = i == 0;
        b.all[i].choice += (unsigned)i * (choice / 16);
        b.all[i].body = take_body(m);
    }
    const size_t n_slots = (size_t)first.n_slots;
    tg_callback *const callbacks[] = {branch_callback, branch_callback,
                                      branch_callback, branch_callback};
    for (int i = 0; i < n && !m->session; i++)
        compute_types(&b.all[i]);
    if (m->session && choice % 2)
        tg_cond_at(index.operand, branch_callback, branch_callback, &b,
                   operands, n_slots, results, n_slots, TG_HERE);
    else if (m->session)
        tg_switch_at(index.operand, callbacks, (size_t)n, &b, operands,
                     n_slots, results, n_slots, TG_HERE);
    keep_results(m, &first, results, first.n_slots);
}

/* A limit of iterations, within those that the maker may still use. */
static int max_iterations(rg_maker *m, unsigned choice)
{
    const int most = 1 + (int)(choice % 4);
    return most < m->iterations ? most : m->iterations;
}

static void make_for(rg_maker *m, region *r, unsigned choice)
{
    tg_operand operands[MAX_SLOTS];
    tg_value results[MAX_SLOTS] = {{0, 0}};
    r->has_iteration = true;
    const bool is_unrolled = choice % 8 == 0;
    rg_operand iterations = {.type = i64_type};
    if (!is_unrolled)
        iterations = take_iterations(m, r->max_iterations);
    take_slots(m, r, operands);
    const size_t n = (size_t)r->n_slots;
    r->body = take_body(m);
    const int64_t times = (int64_t)choice / 8 % (r->max_iterations + 1);
    if (!m->session) {
        for (int64_t i = 0; i < (is_unrolled ? times : 1); i++)
            compute_types(r);
    } else if (is_unrolled) {
        tg_for_unrolled_at(times, region_callback, r, operands, n, results, n,
                           TG_HERE);
    } else {
        tg_for_at(iterations.operand, region_callback, r, operands, n, results,
                  n, TG_HERE);
    }
    keep_results(m, r, results, r->n_slots);
}

/* Test and body share one `user`, and are traced in this order. */
typedef struct loop {
    region test, body;
} loop;

static void loop_test(tg_trace *t, const tg_value *in, void *user)
{
    test_callback(t, in, &((loop *)user)->test);
}

static void loop_body(tg_trace *t, const tg_value *in, void *user)
{
    region_callback(t, in, &((loop *)user)->body);
}

static void make_while(rg_maker *m, region *r, unsigned choice)
{
    tg_operand operands[MAX_SLOTS];
    tg_value results[MAX_SLOTS] = {{0, 0}};
    r->bound = choice / 4 % 2 ? r->max_iterations : 2;
    rg_operand start =
        take_number(m, r->bound - r->max_iterations, r->bound + 1);
    take_slots(m, r, operands);
    if (r->n_slots == 0)
        r->n_slots = 1;
    r->slots[0] = start;
    operands[0] = start.operand;
    loop l = {.test = *r, .body = *r};
    l.test.body = take_body(m);
    l.body.body = take_body(m);
    l.body.is_counted = true;
    const size_t n = (size_t)r->n_slots;
    const int64_t most = choice / 8 % 8;
    if (!m->session) {
        test_callback(NULL, NULL, &l.test);
        compute_types(&l.body);
    } else if (choice & 128) {
        tg_while_limit_at(most, loop_test, loop_body, &l, operands, n, results,
                          n, TG_HERE);
    } else {
        tg_while_at(loop_test, loop_body, &l, operands, n, results, n,
                    TG_HERE);
    }
    keep_results(m, r, results, r->n_slots);
}

void rg_make_loop(rg_maker *m, tgi_op op)
{
    (void)op;
    if (!may_nest(m) || m->iterations < 1)
        return;
    const unsigned choice = rg_take(&m->bytes);
    region r = {.outer = m,
                .max_iterations = max_iterations(m, rg_take(&m->bytes))};
    r.choice = rg_take(&m->bytes);
    if (choice % 2)
        make_while(m, &r, choice);
    else
        make_for(m, &r, choice / 2);
}

static void take_slice(tg_trace *t, const tg_value *in, void *user)
{
    (void)user;
    tg_return(t, in[0]);
}

/* The stacked results of a loop are initially unset: takes a value apart and
   stacks it again. */
void rg_make_unset(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_ranked(m);
    if (!m->program->has_control || x.type.dims[0] > m->iterations)
        return;
    rg_type type = x.type;
    type.is_weak = false;
    tg_value stacked = {0, 0};
    if (m->session)
        tg_map_at(take_slice, NULL, &x.operand, 1, &stacked, 1, TG_HERE);
    rg_keep(m, type, stacked);
}
