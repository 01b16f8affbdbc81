/* SPDX-License-Identifier: MIT */
/*
 * random_graph_make_state.c - variables, prints, host calls, and functions
 * called by functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random/random_graph.h"

/* -- Variables ------------------------------------------------------------- */

const rg_operand *rg_pick_variable(rg_maker *m)
{
    return m->n_variables ? &m->variables[rg_below(&m->bytes, m->n_variables)]
                          : NULL;
}

/* A variable used as a value is read at that point. */
void rg_make_variable(rg_maker *m, tgi_op op)
{
    (void)op;
    const rg_operand *variable = rg_pick_variable(m);
    if (!variable)
        return;
    rg_operand x = rg_fit_classes(m, *variable, TGI_CLASS_NUM);
    rg_operand y = rg_match(m, &x.type, (tg_dtype)x.type.dtype);
    rg_type type;
    if (rg_broadcast(m, &x.type, &y.type, &type))
        rg_keep(m, type, RG_DO(m, tg_add(x.operand, y.operand)));
}

void rg_make_read(rg_maker *m, tgi_op op)
{
    (void)op;
    const rg_operand *variable = rg_pick_variable(m);
    if (variable)
        rg_keep(m, variable->type, RG_DO(m, tg_read(variable->operand)));
}

/* A value to assign: a scalar, or a value reshaped to fit. */
static rg_operand take_contents(rg_maker *m, const rg_type *type)
{
    rg_operand x = rg_fit_dtype(m, rg_pick_value(m), (tg_dtype)type->dtype);
    if (x.type.rank == 0)
        return x;
    if (rg_count(&x.type) == rg_count(type)) {
        /* Extents of variables are known, so those of the value must be. */
        x.operand = tg_in_value(
            RG_DO(m, tg_reshape(x.operand, type->rank, type->dims)));
        return x;
    }
    return rg_scalar(m, (tg_dtype)type->dtype);
}

void rg_make_assign(rg_maker *m, tgi_op op)
{
    (void)op;
    const rg_operand *variable = rg_pick_variable(m);
    if (!variable)
        return;
    rg_operand x = take_contents(m, &variable->type);
    rg_keep(m, variable->type,
            RG_DO(m, tg_assign(variable->operand, x.operand)));
}

void rg_make_assign_more(rg_maker *m, tgi_op op)
{
    (void)op;
    const rg_operand *variable = rg_pick_variable(m);
    if (!variable || !tgi_dtype_is(variable->type.dtype, rg_classes(TGI_CLASS_NUM)))
        return;
    bool is_add = rg_below(&m->bytes, 2);
    rg_operand x = take_contents(m, &variable->type);
    rg_keep(m, variable->type,
            RG_DO(m, is_add ? tg_assign_add(variable->operand, x.operand)
                            : tg_assign_sub(variable->operand, x.operand)));
}

/* Assigns a reversed or transposed view of a variable to itself. */
void rg_make_assign_view(rg_maker *m, tgi_op op)
{
    (void)op;
    const rg_operand *variable = rg_pick_variable(m);
    if (!variable || variable->type.rank == 0)
        return;
    const rg_type *type = &variable->type;
    int axis = rg_below(&m->bytes, type->rank);
    bool is_transposed = rg_below(&m->bytes, 2);
    int perm[TG_MAX_RANK];
    for (int i = 0; i < type->rank; i++)
        perm[i] = type->rank - 1 - i;
    tg_value view = RG_DO(m, tg_read(variable->operand));
    if (is_transposed) {
        view = RG_DO(m, tg_transpose(view, type->rank, perm));
        view = RG_DO(m, tg_reshape(view, type->rank, type->dims));
    } else {
        view = RG_DO(m, tg_slice(view, axis, -1, TG_END, -1));
    }
    rg_keep(m, *type, RG_DO(m, tg_assign(variable->operand, view)));
}

/* Swaps two variables, directly or reversed. */
void rg_make_swap(rg_maker *m, tgi_op op)
{
    (void)op;
    const rg_operand *a = rg_pick_variable(m), *b = a;
    unsigned choice = rg_take(&m->bytes);
    for (int i = 0; a && i < m->n_variables && b == a; i++) {
        const rg_operand *other = &m->variables[(choice / 4 + (unsigned)i) %
                                                (unsigned)m->n_variables];
        if (other->type.dtype == a->type.dtype &&
            rg_count(&other->type) == rg_count(&a->type))
            b = other;
    }
    if (!a || b == a)
        return;
    tg_value from_a = RG_DO(m, tg_read(a->operand));
    tg_value from_b = RG_DO(m, tg_read(b->operand));
    if (choice & 1 && a->type.rank > 0)
        from_a = RG_DO(m, tg_slice(from_a, 0, -1, TG_END, -1));
    from_a = RG_DO(m, tg_reshape(from_a, b->type.rank, b->type.dims));
    from_b = RG_DO(m, tg_reshape(from_b, a->type.rank, a->type.dims));
    rg_keep(m, a->type, RG_DO(m, tg_assign(a->operand, from_b)));
    rg_keep(m, b->type, RG_DO(m, tg_assign(b->operand, from_a)));
}

/* -- Print ----------------------------------------------------------------- */

void rg_make_print(rg_maker *m, tgi_op op)
{
    (void)op;
    static const char *const formats[] = {"here\n", "%v\n", "%v%%, %v\n"};
    int n = rg_below(&m->bytes, 3);
    tg_operand operands[3] = {tg_in_string(formats[n])};
    for (int i = 0; i < n; i++)
        operands[1 + i] = rg_pick(m).operand;
    if (m->session)
        tg_print_at(m->trace, operands, (size_t)n + 1, TG_HERE);
}

/* -- Assert ---------------------------------------------------------------- */

/* Most hold for all data; some fail if an element is 21, as host calls do. */
void rg_make_fail(rg_maker *m, tgi_op op)
{
    /* An assert is recorded as a branch. */
    if (!m->program->has_control) {
        rg_make_print(m, op);
        return;
    }
    static const char *const formats[] = {"not here", "%v", "%v%%, %v"};
    const rg_operand x = rg_pick_value(m);
    const int n = rg_below(&m->bytes, 3);
    const bool may_fail =
        rg_below(&m->bytes, 4) == 0 && x.type.dtype != TG_BOOL;
    tg_operand operands[3] = {tg_in_string(formats[n])};
    for (int i = 0; i < n; i++)
        operands[1 + i] = i ? rg_pick(m).operand : x.operand;
    if (!m->session)
        return;
    /* A cast, since x may be a constant: two literals must agree in dtype. */
    tg_value holds = may_fail ? tg_ne(x.operand, tg_cast(21, x.type.dtype))
                              : tg_or(tg_eq(x.operand, x.operand),
                                      tg_ne(x.operand, x.operand));
    tg_assert_at(m->trace, tg_in_value(holds), operands, (size_t)n + 1,
                 TG_HERE);
}

/* -- Host calls ------------------------------------------------------------ */

static size_t bytes_of(const tg_host_buffer *b)
{
    size_t n = tg_dtype_bytes(b->dtype);
    for (int axis = 0; axis < b->rank; axis++)
        n *= (size_t)b->dims[axis];
    return n;
}

/* Output 0: the elements of input 0 in reverse, padded with 0. Output 1: the
   number of bytes of all inputs. Fails for some integers, as a gather may. */
static tg_status reverse_on_host(const tg_host_buffer *in, size_t n_in,
                                 const tg_host_buffer *out, size_t n_out,
                                 void *user)
{
    (void)user;
    const size_t n = bytes_of(&in[0]), room = bytes_of(&out[0]);
    const size_t size = tg_dtype_bytes(in[0].dtype);
    const char *from = in[0].data;
    char *to = out[0].data;
    if (n_out != 2 || out[0].dtype != in[0].dtype)
        return TG_ERROR_INTERNAL;
    memset(to, 0, room);
    for (size_t at = 0; at < n && at < room; at += size)
        memcpy(to + at, from + n - size - at, size);
    int64_t all = 0;
    for (size_t i = 0; i < n_in; i++)
        all += (int64_t)bytes_of(&in[i]);
    memcpy(out[1].data, &all, sizeof(all));
    return tgi_dtype_is(in[0].dtype, TGI_CLASS_INT) && n && (*from & 31) == 21
               ? TG_ERROR_INDEX
               : TG_OK;
}

void rg_make_host_call(rg_maker *m, tgi_op op)
{
    (void)op;
    rg_operand x = rg_pick_value(m), more = rg_pick(m);
    const size_t n = 1 + (size_t)rg_below(&m->bytes, 2);
    const int used = rg_below(&m->bytes, 4);
    const tg_operand operands[] = {x.operand, more.operand};
    rg_type type = x.type;
    type.is_weak = false;
    int64_t dims[TG_MAX_RANK];
    for (int axis = 0; axis < type.rank; axis++)
        dims[axis] = rg_dim(m, &x, axis);
    const tg_host_spec specs[] = {{(tg_dtype)type.dtype, type.rank, dims},
                                  {TG_I64, 0, NULL}};
    tg_value results[2] = {{0, 0}};
    if (m->session)
        tg_host_call_at(m->trace, reverse_on_host, NULL, operands, n, specs,
                        results, 2, TG_HERE);
    if (used != 0)
        rg_keep(m, type, results[0]);
    if (used == 1)
        rg_keep(m, (rg_type){.dtype = TG_I64}, results[1]);
}

/* -- Functions ------------------------------------------------------------- */

/* The maker of a function's body, with the arguments of its call. */
static void function_maker(const rg_function *f, tg_trace *trace,
                           const tg_value *in, tgi_arena *arena, rg_maker *m)
{
    m->bytes = f->body;
    m->program = f->program;
    m->session = trace ? f->session : NULL;
    m->trace = trace;
    m->arena = arena;
    m->depth = f->depth;
    m->nesting = 0;
    m->iterations = f->iterations;
    m->max_iteration = 0;
    m->is_plain = f->is_plain;
    m->n_values = m->n_variables = 0;
    m->n_functions = f->n_functions;
    memcpy(m->functions, f->functions, sizeof(m->functions));
    for (int i = 0; i < f->call.n_args; i++) {
        rg_operand arg =
            rg_value(f->call.types[i], trace ? in[i] : (tg_value){0, 0});
        arg.is_variable = f->call.is_variable[i];
        if (arg.is_variable)
            m->variables[m->n_variables++] = arg;
        else
            m->values[m->n_values++] = arg;
    }
    rg_see_variables(m);
}

static void function_callback(tg_trace *t, const tg_value *in, void *user)
{
    rg_function *f = user;
    rg_maker m;
    function_maker(f, t, in, &f->session->arena, &m);
    rg_make_and_return(&m);
}

/* The result types of a call with these arguments, computed dry. */
static int result_types(const rg_function *f, tgi_arena *arena,
                        rg_operand *results)
{
    rg_maker m;
    function_maker(f, NULL, NULL, arena, &m);
    return rg_make(&m, results);
}

static void take_args(rg_maker *m, rg_call *call, tg_operand *operands)
{
    static const uint8_t numbers[] = {1, 2, 1, 3, 2, 1, 2, 0};
    call->n_args = numbers[rg_below(&m->bytes, 8)];
    for (int i = 0; i < call->n_args; i++) {
        const rg_operand *variable =
            rg_below(&m->bytes, 4) == 3 ? rg_pick_variable(m) : NULL;
        rg_operand arg = variable ? *variable : rg_pick(m);
        call->is_variable[i] = arg.is_variable;
        call->types[i] = arg.type;
        operands[i] = arg.operand;
    }
}

/* True if one trace may serve both calls; also whether they are equal. */
static bool is_similar(const rg_call *a, const rg_call *b, bool *out_is_equal)
{
    bool similar = a->n_args == b->n_args;
    *out_is_equal = true;
    for (int i = 0; i < a->n_args && similar; i++) {
        const rg_type *x = &a->types[i], *y = &b->types[i];
        similar = a->is_variable[i] == b->is_variable[i] &&
                  x->dtype == y->dtype && x->rank == y->rank &&
                  x->is_weak == y->is_weak;
        for (int axis = 0; axis < x->rank; axis++)
            *out_is_equal &= x->dims[axis] == y->dims[axis];
    }
    return similar;
}

/*
 * A trace may serve calls of other extents. Bodies whose choices depend on
 * extents are therefore only called with equal ones. In a loop, a function must
 * not have loops of too many iterations.
 */
static bool may_call(const rg_maker *m, rg_function *f)
{
    bool is_equal;
    if (f->iterations > m->iterations)
        return false;
    if (f->is_plain)
        return true;
    for (int i = 0; i < f->n_calls; i++)
        if (is_similar(&f->calls[i], &f->call, &is_equal))
            return is_equal;
    if (f->n_calls == RG_MAX_CALLS)
        return false;
    f->calls[f->n_calls++] = f->call;
    return true;
}

static void call(rg_maker *m, rg_function *f)
{
    tg_operand operands[RG_MAX_ARGS];
    rg_operand results[RG_MAX_RESULTS];
    tg_value values[RG_MAX_RESULTS] = {{0, 0}};
    take_args(m, &f->call, operands);
    if (!may_call(m, f))
        return;
    int n = result_types(f, m->arena, results);
    if (m->session)
        tg_apply_at(f->function, operands, (size_t)f->call.n_args, values,
                    (size_t)n, TG_HERE);
    for (int i = 0; i < n; i++) {
        results[i].type.is_weak = false;
        rg_keep(m, results[i].type, values[i]);
    }
}

static void create(rg_maker *m, rg_function *f, tg_policy policy)
{
    char name[32];
    snprintf(name, sizeof(name), "inner_%d_%d", m->depth, m->n_functions);
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    options.name = name;
    options.policy = policy;
    f->function =
        tg_function_create(m->session->ctx, function_callback, f, &options);
    if (!f->function || !tgi_vec_push(&m->session->functions, f->function))
        abort();
}

/* Creates a function from the next bytes and calls it. */
void rg_make_call(rg_maker *m, tgi_op op)
{
    static const tg_policy policies[] = {TG_GENERALISE, TG_EXACT, TG_RELAXED,
                                         TG_RELAXED};
    if (m->depth == RG_MAX_DEPTH || m->n_functions == RG_MAX_FUNCTIONS) {
        rg_make_result(m, op);
        return;
    }
    rg_function *f = tgi_arena_alloc(m->arena, sizeof(*f));
    if (!f)
        abort();
    size_t length = 8 + (size_t)rg_below(&m->bytes, 56);
    unsigned choice = rg_take(&m->bytes);
    size_t left = m->bytes.n - m->bytes.at;
    *f = (rg_function){
        .body = {m->bytes.data + m->bytes.at, length < left ? length : left, 0},
        .program = m->program,
        .session = m->session,
        .depth = m->depth + 1,
        .iterations = m->iterations,
        .is_plain = choice / 4 % 2,
        .n_functions = m->n_functions,
    };
    m->bytes.at += f->body.n;
    memcpy(f->functions, m->functions, sizeof(f->functions));
    if (m->session)
        create(m, f, policies[choice % 4]);
    m->functions[m->n_functions++] = f;
    call(m, f);
}

/* Calls an earlier function with other arguments. */
void rg_make_result(rg_maker *m, tgi_op op)
{
    (void)op;
    if (m->n_functions)
        call(m, m->functions[rg_below(&m->bytes, m->n_functions)]);
}
