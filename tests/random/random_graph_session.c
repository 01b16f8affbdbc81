/* SPDX-License-Identifier: MIT */
/*
 * random_graph_session.c - a separate context for every trace of a program, so
 * that no trace depends on an earlier one.
 */
#include <stdlib.h>
#include <string.h>

#include "loop/loop_pass.h"
#include "pass/pass.h"
#include "random/random_graph.h"

/* -- The program's callback ------------------------------------------------ */

static void program_callback(tg_trace *t, const tg_value *in, void *user)
{
    rg_session *s = user;
    const rg_program *p = s->program;
    rg_maker m;
    m.bytes = p->body;
    m.program = p;
    m.session = s;
    m.trace = t;
    m.arena = &s->arena;
    m.is_plain = false;
    m.nesting = 0;
    m.iterations = RG_MAX_ITERATIONS;
    m.max_iteration = 0;
    m.depth = m.n_values = m.n_variables = m.n_functions = 0;
    for (int i = 0; i < p->n_args; i++) {
        bool is_variable = p->args[i].kind == RG_VARIABLE;
        rg_operand arg = {p->args[i].type[0], tg_in_value(in[i]), is_variable};
        if (is_variable)
            m.variables[m.n_variables++] = arg;
        else
            m.values[m.n_values++] = arg;
    }
    rg_see_variables(&m);
    rg_make_and_return(&m);
}

static void print(const char *text, void *user)
{
    rg_session *s = user;
    tgi_strbuf_add(&s->text, text);
}

/* -- Beginning and end ----------------------------------------------------- */

static tg_context *make_context(rg_session *s, rg_passes passes,
                                const rg_backend *backend)
{
    tgi_strbuf skipped = {0};
    for (size_t i = 0; i < tgi_n_passes && passes == RG_RAW; i++)
        tgi_strbuf_addf(&skipped, "%s,", tgi_passes[i].name);
    for (size_t i = 0; i < TGI_N_LOOP_PASSES; i++)
        if (tgi_loop_passes[i].is_optional && backend->skip >> i & 1)
            tgi_strbuf_addf(&skipped, "%s,", tgi_loop_passes[i].name);
    tg_context_options options = TG_CONTEXT_OPTIONS_INIT;
    options.print_callback = print;
    options.print_user = s;
    options.no_contraction = s->program->no_contraction;
    options.accuracy =
        s->program->is_fast ? TG_ACCURACY_FAST : TG_ACCURACY_DEFAULT;
    options.skip_passes = skipped.n ? skipped.text : "";
    options.jit = backend->is_native ? "required" : "off";
    options.threads = backend->n_threads;
    options.vector_bits = (int)backend->vector_bits;
    options.cache = backend->cache ? "rw" : "off";
    options.cache_dir = backend->cache;
    tg_context *ctx = tg_context_create(&options);
    tgi_strbuf_deinit(&skipped);
    return ctx;
}

/* The specs of a general trace. */
static void make_specs(const rg_program *p, tg_spec *specs)
{
    for (int i = 0; i < p->n_args; i++) {
        const rg_arg *arg = &p->args[i];
        rg_type type = arg->type[0];
        for (int axis = 0; axis < type.rank; axis++)
            if (arg->known[axis] == RG_ALONE)
                type.dims[axis] = TG_UNKNOWN;
            else if (arg->known[axis] != RG_KNOWN)
                type.dims[axis] = TG_SAME(arg->known[axis]);
        tg_dtype dtype = (tg_dtype)type.dtype;
        specs[i] = arg->kind == RG_VARIABLE
                       ? tg_spec_variable(dtype, type.rank, type.dims)
                       : tg_spec_tensor(dtype, type.rank, type.dims);
    }
}

/* With a declared signature, numbers would have a dtype; then all extents are
   unknown instead. */
static bool can_declare(const rg_program *p)
{
    bool can = p->seed % 4 != 0;
    for (int i = 0; i < p->n_args; i++)
        can &= p->args[i].kind != RG_NUMBER;
    return can;
}

static tg_function *make_function(rg_session *s, rg_generality generality)
{
    const rg_program *p = s->program;
    tg_function_options options = TG_FUNCTION_OPTIONS_INIT;
    tg_spec specs[RG_MAX_ARGS + 1];
    options.name = "program";
    options.policy = TG_EXACT;
    if (generality == RG_GENERAL && can_declare(p)) {
        make_specs(p, specs);
        options.signature = specs;
        options.n_signature = (size_t)p->n_args;
    } else if (generality == RG_GENERAL) {
        options.policy = TG_RELAXED;
    }
    return tg_function_create(s->ctx, program_callback, s, &options);
}

bool rg_session_init(rg_session *s, const rg_program *program,
                     rg_generality generality, rg_passes passes,
                     const rg_backend *backend)
{
    *s = (rg_session){.program = program};
    s->ctx = make_context(s, passes, backend);
    for (int i = 0; s->ctx && i < program->n_variables; i++) {
        const rg_type *type = &program->variables[i].type;
        s->variables[i] = tg_variable_create(
            s->ctx, "v", (tg_dtype)type->dtype, type->rank, type->dims,
            tg_from_data(program->variables[i].data));
        if (!s->variables[i])
            return false;
    }
    s->function = s->ctx ? make_function(s, generality) : NULL;
    return s->function;
}

void rg_session_deinit(rg_session *s)
{
    tg_function_release(s->function);
    for (size_t i = 0; i < s->functions.n; i++)
        tg_function_release(s->functions.data[i]);
    for (int i = 0; i < s->program->n_variables; i++)
        tg_variable_release(s->variables[i]);
    tg_context_release(s->ctx);
    tgi_vec_deinit(&s->functions);
    tgi_strbuf_deinit(&s->text);
    tgi_arena_deinit(&s->arena);
}

/* -- Arguments ------------------------------------------------------------- */

bool rg_session_args(rg_session *s, int size, tg_operand *operands,
                     tg_tensor **tensors)
{
    const rg_program *p = s->program;
    s->size = size;
    for (int i = 0; i < p->n_args; i++) {
        const rg_arg *arg = &p->args[i];
        const rg_type *type = &arg->type[size];
        tensors[i] = NULL;
        switch (arg->kind) {
        case RG_TENSOR:
            tensors[i] =
                tg_tensor_wrap(s->ctx, arg->data[size], (tg_dtype)type->dtype,
                               type->rank, type->dims);
            if (!tensors[i])
                return false;
            operands[i] = tg_in_tensor(tensors[i]);
            break;
        case RG_NUMBER:
            operands[i] = rg_number((tg_dtype)type->dtype, arg->data[size]);
            break;
        case RG_VARIABLE:
            operands[i] = tg_in_variable(s->variables[arg->variable]);
            break;
        case RG_VALUE_OF:
            operands[i] = tg_value_of(s->variables[arg->variable]);
            break;
        }
    }
    return true;
}

void rg_session_release_args(const rg_session *s, tg_tensor **tensors)
{
    for (int i = 0; i < s->program->n_args; i++)
        tg_tensor_release(tensors[i]);
}

tg_status rg_session_trace(rg_session *s, int size, tg_concrete **out_concrete)
{
    tg_operand operands[RG_MAX_ARGS];
    tg_tensor *tensors[RG_MAX_ARGS] = {NULL};
    tgi_inline_args few;
    tgi_args args;
    *out_concrete = NULL;
    if (!rg_session_args(s, size, operands, tensors))
        return tg_error_last()->status;
    tg_status status =
        tgi_args_from_operands(s->ctx, operands, (size_t)s->program->n_args,
                               NULL, TG_HERE, &few, &args);
    if (!status) {
        status = tgi_function_lookup(s->function, &args, false, TG_HERE,
                                     out_concrete);
        tgi_args_deinit(&args);
    }
    rg_session_release_args(s, tensors);
    return status;
}
