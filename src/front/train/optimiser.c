/* SPDX-License-Identifier: MIT */
/*
 * optimiser.c - update rules. An update of one variable reads the variable, its
 * gradient and its moments and assigns all of them: elementwise, so that fusion
 * makes one kernel of it. Factors that do not depend on elements are f64
 * scalars, converted to the dtype of the variable at their use.
 */
#include "tgjit/optimiser.h"

#include <math.h>

#include "base/alloc.h"
#include "front/trace/trace_state.h"
#include "front/train/optimiser_state.h"
#include "ir/dump.h"
#include "tgjit/gradient.h"

/* -- Global norm ----------------------------------------------------------- */

static tgi_ref build_global_norm(tgi_builder *b, const tgi_ref *x, size_t n)
{
    tgi_ref sum = tgi_build_f64(b, 0);
    for (size_t i = 0; i < n; i++) {
        tgi_ref value = tgi_build_require_float(b, x[i]);
        tgi_ref squares = tgi_build_2(b, TGI_OP_MUL, value, value);
        tgi_ref part = tgi_build_reduce(b, TGI_OP_SUM, squares,
                                        (tg_axes){.n = -1});
        sum = tgi_build_2(b, TGI_OP_ADD, sum, tgi_build_cast(b, part, TG_F64));
    }
    return tgi_build_1(b, TGI_OP_SQRT, sum);
}

/* x * scale, in the dtype of x. */
static tgi_ref build_scaled(tgi_builder *b, tgi_ref x, tgi_ref scale)
{
    if (!x)
        return 0;
    const tg_dtype dtype = tgi_graph_node(b->graph, x)->dtype;
    return tgi_build_2(b, TGI_OP_MUL, x, tgi_build_cast(b, scale, dtype));
}

/* Scales x[0 … n-1] so that their global norm is at most max_norm; returns the
   norm before. */
static tgi_ref build_clip(tgi_builder *b, tgi_ref *x, size_t n,
                          double max_norm)
{
    tgi_ref norm = build_global_norm(b, x, n);
    tgi_ref limit = tgi_build_f64(b, max_norm);
    tgi_ref scale = tgi_build_2(b, TGI_OP_DIV, limit,
                                tgi_build_2(b, TGI_OP_MAX, norm, limit));
    for (size_t i = 0; i < n; i++)
        x[i] = build_scaled(b, x[i], scale);
    return scale ? norm : 0;
}

/* The nodes of the values, to be freed; NULL on error. */
static tgi_ref *value_nodes(tgi_operation *o, const tg_value *values,
                            size_t n)
{
    if (n && !values) {
        tgi_build_fail(&o->b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                       "the values are NULL");
        return NULL;
    }
    tgi_ref *refs = tgi_alloc((n + 1) * sizeof(*refs));
    if (!refs)
        tgi_error_memory();
    for (size_t i = 0; refs && i < n; i++)
        refs[i] = tgi_operation_operand(o, tg_in_value(values[i]));
    return refs;
}

tg_value tg_global_norm_at(const tg_value *values, size_t n_values,
                           tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0;
    if (tgi_operation_begin(&o, "global_norm", site)) {
        tgi_ref *refs = value_nodes(&o, values, n_values);
        result = refs ? build_global_norm(&o.b, refs, n_values) : 0;
        tgi_free(refs);
    }
    return tgi_operation_end(&o, result);
}

tg_value tg_clip_by_global_norm_at(tg_value *values, size_t n_values,
                                   double max_norm, tg_site site)
{
    tgi_operation o;
    tgi_ref result = 0, *refs = NULL;
    if (tgi_operation_begin(&o, "clip_by_global_norm", site)) {
        if (!(isfinite(max_norm) && max_norm > 0))
            tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                           "the norm to clip to must be positive, not %g",
                           max_norm);
        else
            refs = value_nodes(&o, values, n_values);
        if (refs)
            result = build_clip(&o.b, refs, n_values, max_norm);
    }
    const tg_value norm = tgi_operation_end(&o, result);
    for (size_t i = 0; refs && i < n_values; i++)
        values[i] = tgi_operation_end(&o, refs[i]);
    tgi_free(refs);
    return norm;
}

/* -- One variable ---------------------------------------------------------- */

/* Factors of an update, f64 scalars. */
typedef struct factors {
    tgi_ref rate;
    tgi_ref step_size;  /* Adam: rate / (1 - beta1^t) */
    tgi_ref correction; /* Adam: 1 / sqrt(1 - beta2^t) */
} factors;

/* One update: the builder, the rule and the type of the variable. */
typedef struct update {
    tgi_operation *o;
    const tg_update_rule *rule;
    const factors *f;
    tgi_ref variable; /* its node */
} update;

static tgi_ref scalar_of(const update *u, double value)
{
    return tgi_build_number_like(&u->o->b, u->variable, value);
}

/* An f64 scalar in the dtype of the variable. */
static tgi_ref factor_of(const update *u, tgi_ref scalar)
{
    return tgi_build_cast(&u->o->b, scalar,
                          tgi_graph_node(u->o->t->graph, u->variable)->dtype);
}

static tgi_ref mul(const update *u, tgi_ref x, tgi_ref y)
{
    return tgi_build_2(&u->o->b, TGI_OP_MUL, x, y);
}

static tgi_ref add(const update *u, tgi_ref x, tgi_ref y)
{
    return tgi_build_2(&u->o->b, TGI_OP_ADD, x, y);
}

static tgi_ref sub(const update *u, tgi_ref x, tgi_ref y)
{
    return tgi_build_2(&u->o->b, TGI_OP_SUB, x, y);
}

/* x if it has the type of the variable; else 0 and an error. */
static tgi_ref require_type(const update *u, tgi_ref x, const char *what)
{
    tgi_graph *g = u->o->t->graph;
    if (!x || (tgi_graph_node(g, x)->dtype ==
                   tgi_graph_node(g, u->variable)->dtype &&
               tgi_graph_node(g, x)->shape ==
                   tgi_graph_node(g, u->variable)->shape))
        return x;
    const char *name = tgi_graph_node(g, u->variable)->name;
    tgi_strbuf text = {0};
    tgi_strbuf_addf(&text, "variable '%s' is ", name ? name : "?");
    tgi_type_print(g, u->variable, &text);
    tgi_strbuf_addf(&text, ", but its %s is ", what);
    tgi_type_print(g, x, &text);
    tgi_build_fail(&u->o->b, TG_ERROR_SHAPE, NULL, 0, "%s",
                   text.text ? text.text : "?");
    tgi_strbuf_deinit(&text);
    return 0;
}

/* A moment of the variable: its node and its contents. */
typedef struct moment {
    tgi_ref node, value;
} moment;

static moment read_moment(const update *u, tg_variable *variable,
                          const char *what)
{
    tgi_operation *o = u->o;
    moment m = {0, 0};
    if (!variable) {
        const char *name = tgi_graph_node(o->t->graph, u->variable)->name;
        tgi_build_fail(&o->b, TG_ERROR_STATE, NULL, 0,
                       "the state has no %s for variable '%s'; it was created "
                       "for another rule or model",
                       what, name ? name : "?");
        return m;
    }
    m.node = tgi_trace_variable(o->t, variable, o->b.op_name, o->b.site);
    m.value = m.node ? tgi_trace_read(o->t, m.node, o->b.site) : 0;
    m.value = require_type(u, m.value, what);
    return m;
}

/* Assigns the node of a variable; 0 on failure. */
static tgi_ref assign(const update *u, tgi_ref node, tgi_ref value)
{
    return value ? tgi_trace_write(u->o->t, node, value, u->o->b.site) : 0;
}

/* decay * m + (1 - decay) * x, assigned to the moment. */
static tgi_ref advance_average(const update *u, tg_variable *variable,
                               const char *what, double decay, tgi_ref x)
{
    moment m = read_moment(u, variable, what);
    tgi_ref next = mul(u, m.value, scalar_of(u, decay));
    next = add(u, next, mul(u, x, scalar_of(u, 1 - decay)));
    return assign(u, m.node, next) ? next : 0;
}

/* factor * m + x, assigned to the moment. */
static tgi_ref advance_sum(const update *u, tg_variable *variable,
                           const char *what, double factor, tgi_ref x)
{
    moment m = read_moment(u, variable, what);
    tgi_ref before =
        factor == 1 ? m.value : mul(u, m.value, scalar_of(u, factor));
    tgi_ref next = add(u, before, x);
    return assign(u, m.node, next) ? next : 0;
}

static const char first_moment[] = "first moment";
static const char second_moment[] = "second moment";

/* rate * x / (sqrt(v) * correction + epsilon) */
static tgi_ref build_quotient(const update *u, tgi_ref rate, tgi_ref x,
                              tgi_ref v, tgi_ref correction)
{
    tgi_builder *b = &u->o->b;
    tgi_ref root = tgi_build_1(b, TGI_OP_SQRT, v);
    if (correction)
        root = mul(u, root, factor_of(u, correction));
    tgi_ref divisor = add(u, root, scalar_of(u, u->rule->epsilon));
    return tgi_build_2(b, TGI_OP_DIV, mul(u, x, factor_of(u, rate)), divisor);
}

/* What the rule subtracts from the variable; assigns the moments. */
static tgi_ref build_change(const update *u, const tgi_parameter *p, tgi_ref g)
{
    const tg_update_rule *rule = u->rule;
    const tgi_ref rate = u->f->rate;
    tgi_ref m = 0, v = 0;
    if (rule->kind == TG_RULE_ADAM)
        m = advance_average(u, p->first, first_moment, rule->beta1, g);
    else if (tgi_rule_has_first(rule))
        m = advance_sum(u, p->first, first_moment, rule->beta1, g);
    if (rule->kind == TG_RULE_ADAGRAD)
        v = advance_sum(u, p->second, second_moment, 1, mul(u, g, g));
    else if (tgi_rule_has_second(rule))
        v = advance_average(u, p->second, second_moment, rule->beta2,
                            mul(u, g, g));

    switch (rule->kind) {
    case TG_RULE_MOMENTUM:
        return mul(u, m, factor_of(u, rate));
    case TG_RULE_NESTEROV: {
        const tgi_ref ahead = mul(u, m, scalar_of(u, rule->beta1));
        const tgi_ref step = add(u, ahead, g);
        return mul(u, step, factor_of(u, rate));
    }
    case TG_RULE_ADAM:
        return build_quotient(u, u->f->step_size, m, v, u->f->correction);
    case TG_RULE_RMSPROP:
    case TG_RULE_ADAGRAD:
        return build_quotient(u, rate, g, v, 0);
    default:
        return mul(u, g, factor_of(u, rate));
    }
}

/* Updates one variable and its state; false on error. */
static bool build_update(tgi_operation *o, const tg_update_rule *rule,
                         const factors *f, const tgi_parameter *p, tgi_ref g)
{
    update u = {o, rule, f, 0};
    u.variable = tgi_trace_variable(o->t, p->variable, o->b.op_name,
                                    o->b.site);
    if (!u.variable)
        return false;
    tgi_ref x = tgi_trace_read(o->t, u.variable, o->b.site);
    g = require_type(&u, g, "gradient");
    if (rule->weight_decay > 0 && rule->is_decoupled) {
        tgi_ref decay = tgi_build_2(&o->b, TGI_OP_MUL, f->rate,
                                    tgi_build_f64(&o->b, rule->weight_decay));
        x = sub(&u, x, mul(&u, x, factor_of(&u, decay)));
    } else if (rule->weight_decay > 0) {
        g = add(&u, mul(&u, x, scalar_of(&u, rule->weight_decay)), g);
    }
    return assign(&u, u.variable, sub(&u, x, build_change(&u, p, g)));
}

/* -- All variables --------------------------------------------------------- */

/* Counts the step, and computes the factors. */
static bool build_factors(tgi_operation *o, const tg_update_rule *rule,
                          tg_operand rate, tg_variable *steps, factors *out)
{
    tgi_builder *b = &o->b;
    tgi_ref x = tgi_operation_operand(o, rate);
    if (x && tgi_graph_shape(b->graph, x)->rank != 0)
        x = tgi_build_fail(b, TG_ERROR_SHAPE, &x, 1,
                           "the rate must be a scalar");
    if (x && !tgi_build_weakness(b, x))
        x = tgi_build_require_float(b, x);
    out->rate = tgi_build_cast(b, x, TG_F64);
    if (!out->rate)
        return false;

    tgi_ref node = tgi_trace_variable(o->t, steps, b->op_name, b->site);
    if (!node)
        return false;
    if (tgi_graph_node(b->graph, node)->dtype != TG_I64 ||
        tgi_graph_shape(b->graph, node)->rank != 0)
        return tgi_build_fail(b, TG_ERROR_STATE, &node, 1,
                              "the count of steps must be an i64 scalar");
    tgi_ref count = tgi_trace_read(o->t, node, b->site);
    tgi_ref next =
        tgi_build_2(b, TGI_OP_ADD, count, tgi_build_number_like(b, count, 1));
    if (!next || !tgi_trace_write(o->t, node, next, b->site))
        return false;
    if (rule->kind != TG_RULE_ADAM)
        return true;

    tgi_ref t = tgi_build_cast(b, next, TG_F64), one = tgi_build_f64(b, 1);
    tgi_ref first = tgi_build_2(b, TGI_OP_SUB, one,
                                tgi_build_2(b, TGI_OP_POW,
                                            tgi_build_f64(b, rule->beta1), t));
    tgi_ref second = tgi_build_2(b, TGI_OP_SUB, one,
                                 tgi_build_2(b, TGI_OP_POW,
                                             tgi_build_f64(b, rule->beta2), t));
    out->step_size = tgi_build_2(b, TGI_OP_DIV, out->rate, first);
    out->correction = tgi_build_2(b, TGI_OP_DIV, one,
                                  tgi_build_1(b, TGI_OP_SQRT, second));
    return out->step_size && out->correction;
}

bool tgi_optimiser_check(tgi_operation *o, const tg_update_rule *rule,
                         const tg_bundle_type *type, const void *model,
                         const void *state)
{
    const char *reason =
        !tgi_optimiser_model(type)
            ? "the type is not one of TG_DEFINE_OPTIMISER"
        : !model || !state ? "the model or the state is NULL"
                           : tgi_rule_error(rule);
    if (reason)
        tgi_build_fail(&o->b, TG_ERROR_INVALID_ARGUMENT, NULL, 0, "%s",
                       reason);
    else if (!tgi_optimiser_steps(type, state))
        tgi_build_fail(&o->b, TG_ERROR_STATE, NULL, 0,
                       "the state has not been created");
    else
        return true;
    return false;
}

/* Removes repeated variables and their gradients, which are those of the first
   occurrence. */
static void drop_repeated(tgi_parameters *list, tgi_ref *g)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (!list->data[i].is_repeated) {
            list->data[n] = list->data[i];
            g[n++] = g[i];
        }
    list->n = n;
}

/* g has a gradient per parameter; both are overwritten. */
static bool build_updates(tgi_operation *o, const tg_update_rule *rule,
                          tg_operand rate, tg_variable *steps,
                          tgi_parameters *list, tgi_ref *g)
{
    factors f = {0};
    drop_repeated(list, g);
    if (rule->max_norm > 0 && list->n &&
        !build_clip(&o->b, g, list->n, rule->max_norm))
        return false;
    if (!build_factors(o, rule, rate, steps, &f))
        return false;
    for (size_t i = 0; i < list->n; i++)
        if (!build_update(o, rule, &f, &list->data[i], g[i]))
            return false;
    return true;
}

/* Updates from values; consumes the list. */
static void update_all(tgi_operation *o, const tg_update_rule *rule,
                       tg_operand rate, const tg_bundle_type *type,
                       const void *state, tgi_parameters *list,
                       const tg_value *gradients)
{
    tgi_ref *g = value_nodes(o, gradients, list->n);
    if (!g || !build_updates(o, rule, rate, tgi_optimiser_steps(type, state),
                             list, g))
        tgi_operation_end(o, 0);
    tgi_free(g);
}

void tg_optimiser_apply_at(tg_operand rate, tg_update_rule rule,
                           const tg_bundle_type *type, const void *model,
                           const void *state, const tg_value *gradients,
                           size_t n_gradients, tg_site site)
{
    tgi_operation o;
    tgi_parameters list = {0};
    if (!tgi_operation_begin(&o, "optimiser_apply", site))
        return;
    if (!tgi_optimiser_check(&o, &rule, type, model, state) ||
        !tgi_parameters_list(type, model, state, &list)) {
        tgi_operation_end(&o, 0);
    } else if (list.n != n_gradients) {
        tgi_build_fail(&o.b, TG_ERROR_INVALID_ARGUMENT, NULL, 0,
                       "the model has %zu trainable variable%s, but %zu "
                       "gradient%s %s given",
                       list.n, TGI_PLURAL(list.n), n_gradients,
                       TGI_PLURAL(n_gradients), TGI_WERE(n_gradients));
        tgi_operation_end(&o, 0);
    } else {
        update_all(&o, &rule, rate, type, state, &list, gradients);
    }
    tgi_vec_deinit(&list);
}

bool tgi_parameters_differentiate(tgi_operation *o, tg_operand loss,
                                  const tgi_parameters *list, tg_value *out)
{
    tg_operand *sources = tgi_alloc((list->n + 1) * sizeof(*sources));
    if (!sources) {
        tgi_error_memory();
        tgi_operation_end(o, 0);
        return false;
    }
    for (size_t i = 0; i < list->n; i++)
        sources[i] = tg_in_variable(list->data[i].variable);
    tg_gradients_of_operands_at(loss, sources, list->n, out, o->b.site);
    tgi_free(sources);
    for (size_t i = 0; o->t->status == TG_OK && i < list->n; i++)
        if (!tg_is_valid(out[i]))
            tgi_trace_fail(o->t, TG_ERROR_INVALID_ARGUMENT, o->b.site,
                           "%s: variable '%s' has no gradient: %s",
                           o->b.op_name,
                           tg_variable_name(list->data[i].variable),
                           tg_gradient_reason(out[i]));
    return o->t->status == TG_OK;
}

void tg_minimise_at(tg_operand loss, tg_operand rate, tg_update_rule rule,
                    const tg_bundle_type *type, const void *model,
                    const void *state, tg_site site)
{
    tgi_operation o;
    tgi_parameters list = {0};
    tg_value *gradients = NULL;
    if (!tgi_operation_begin(&o, "minimise", site))
        return;
    if (!tgi_optimiser_check(&o, &rule, type, model, state) ||
        !tgi_parameters_list(type, model, state, &list)) {
        tgi_operation_end(&o, 0);
    } else if (!(gradients =
                     tgi_alloc((list.n + 1) * sizeof(*gradients)))) {
        tgi_error_memory();
        tgi_operation_end(&o, 0);
    } else if (tgi_parameters_differentiate(&o, loss, &list, gradients)) {
        /* Gradients have set the name and site of the current operation. */
        tgi_operation_begin(&o, "minimise", site);
        update_all(&o, &rule, rate, type, state, &list, gradients);
    }
    tgi_free(gradients);
    tgi_vec_deinit(&list);
}
