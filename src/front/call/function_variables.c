/* SPDX-License-Identifier: MIT */
/*
 * function_variables.c - tg_own_variable: variables that a callback creates.
 * Its function owns them: the first trace creates them, later ones find them
 * again, a failed trace rolls back. The initial value may be a traced value;
 * then the first call computes it.
 */
#include <string.h>

#include "front/call/function_object.h"
#include "front/object/variable_object.h"

/* -- The function's list --------------------------------------------------- */

/* The variable of that name, shared or not, lent; NULL if there is none. */
static tg_variable *find_owned(tg_function *function, const char *name,
                               bool is_shared, bool *out_has_traces)
{
    tg_variable *found = NULL;
    tgi_fork_lock_acquire(&function->lock);
    *out_has_traces = function->n_traces > 0;
    for (size_t i = 0; i < function->variables.n && !found; i++) {
        const tgi_owned_variable *own = &function->variables.data[i];
        if (own->is_shared == is_shared && strcmp(own->name, name) == 0)
            found = own->variable;
    }
    tgi_fork_lock_release(&function->lock);
    return found;
}

/* One that a trace of the same function, which has called this one, has just
   created; NULL: none. */
static tg_variable *find_in_outer_traces(const tg_trace *t, const char *name,
                                    bool is_shared)
{
    for (const tg_trace *outer = t->parent; outer; outer = outer->parent)
        for (size_t i = 0;
             outer->function == t->function && i < outer->new_variables.n;
             i++) {
            const tgi_owned_variable *own = &outer->new_variables.data[i];
            if (own->is_shared == is_shared && strcmp(own->name, name) == 0)
                return own->variable;
        }
    return NULL;
}

size_t tg_function_variables(tg_function *function, tg_variable_filter filter,
                             tg_variable **out_variables, size_t capacity)
{
    size_t n = 0;
    if (!function)
        return 0;
    tgi_fork_lock_acquire(&function->lock);
    for (size_t i = 0; i < function->variables.n; i++) {
        tg_variable *variable = function->variables.data[i].variable;
        if (filter == TG_TRAINABLE && !variable->is_trainable)
            continue;
        if (out_variables && n < capacity)
            out_variables[n] = tg_variable_retain(variable);
        n++;
    }
    tgi_fork_lock_release(&function->lock);
    return n;
}

/* -- Shared variables ------------------------------------------------------ */

bool tgi_function_hold_variable(tg_trace *root, const char *name,
                                tg_variable *variable)
{
    const tgi_owned_variable own = {tgi_graph_intern(root->graph, name),
                                    variable, true};
    if (!own.name || !tgi_vec_push(&root->new_variables, own))
        return false;
    tg_variable_retain(variable);
    return true;
}

tg_variable *tgi_function_find_shared(tg_trace *root, const char *name,
                                      bool *out_has_traces)
{
    tg_variable *found =
        find_owned(root->function, name, true, out_has_traces);
    return found ? found : find_in_outer_traces(root, name, true);
}

void tgi_function_roll_back_variables(const tgi_owned_variable *variables,
                                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (variables[i].is_shared)
            tgi_variable_unshare(variables[i].variable);
        tg_variable_release(variables[i].variable);
    }
}

/* -- Variables of the function alone --------------------------------------- */

/* True if this trace has already created or found the variable. */
static bool was_used(const tg_trace *t, const char *name)
{
    for (size_t i = 0; i < t->used_variables.n; i++)
        if (strcmp(t->used_variables.data[i], name) == 0)
            return true;
    return false;
}

/* The existing variable; NULL, and the trace fails, if its spec differs. */
static tg_variable *reuse_variable(tg_trace *t, tg_variable *variable,
                                   const char *name, const tgi_spec *spec,
                                   tg_site site)
{
    const tgi_spec *own = &variable->spec;
    char was[256], wanted[256];
    if (tgi_spec_equals(own, spec))
        return variable;
    tgi_trace_fail(
        t, TG_ERROR_STATE, site,
        "own variable '%s' is %s since the first trace, but is now requested "
        "as %s",
        name, tgi_spec_text(own->dtype, own->rank, own->dims, was, sizeof(was)),
        tgi_spec_text(spec->dtype, spec->rank, spec->dims, wanted,
                      sizeof(wanted)));
    return NULL;
}

/* The trace takes over the reference to a new variable, until it succeeds. */
static bool add_new_variable(tg_trace *t, tg_variable *variable)
{
    /* find_or_create has just pushed the graph's copy of the name. */
    const char *interned = t->used_variables.data[t->used_variables.n - 1];
    if (tgi_vec_push(&t->new_variables,
                     ((tgi_owned_variable){interned, variable, false})))
        return true;
    tg_variable_release(variable);
    tgi_error_memory();
    tgi_trace_record_error(t);
    return false;
}

static tg_variable *create_variable(tg_trace *t, const char *name,
                                    const tgi_spec *spec,
                                    const tg_initial *initial)
{
    tgi_strbuf full = {0};
    tgi_strbuf_addf(&full, "%s/%s", t->function->name, name);
    tg_variable *variable = NULL;
    if (full.failed)
        tgi_error_memory();
    else
        variable = tgi_variable_create(t->ctx, "own variable", full.text,
                                       spec->dtype, spec->rank, spec->dims,
                                       initial ? *initial : tg_zeros(), NULL,
                                       false, NULL);
    tgi_strbuf_deinit(&full);
    if (!variable) {
        tgi_trace_record_error(t);
        return NULL;
    }
    atomic_store(&variable->is_set, initial != NULL);
    return add_new_variable(t, variable) ? variable : NULL;
}

/*
 * The function's variable `name`: found, or created on the first trace. Without
 * an initial value it is uninitialised. NULL on failure, recorded in the root
 * trace.
 */
static tg_variable *find_or_create(tg_trace *t, const char *name,
                                   const tgi_spec *spec,
                                   const tg_initial *initial, tg_site site)
{
    bool has_traces;
    t = tgi_trace_root(t); /* regions share the variables of the function */
    if (was_used(t, name)) {
        tgi_trace_fail(t, TG_ERROR_STATE, site,
                       "own variable '%s' is created twice in one trace", name);
        return NULL;
    }
    const char *interned = tgi_graph_intern(t->graph, name);
    if (!interned || !tgi_vec_push(&t->used_variables, interned)) {
        tgi_error_memory();
        tgi_trace_record_error(t);
        return NULL;
    }
    tg_variable *found =
        find_owned(t->function, name, false, &has_traces);
    if (!found && (found = find_in_outer_traces(t, name, false))) {
        /* If this trace succeeds, the variable stays even if the outer trace
           fails. */
        if (!add_new_variable(t, tg_variable_retain(found)))
            return NULL;
    }
    if (found)
        return reuse_variable(t, found, name, spec, site);
    if (!has_traces)
        return create_variable(t, name, spec, initial);
    tgi_trace_fail(t, TG_ERROR_STATE, site,
                   "own variable '%s' is new in a later trace; create all "
                   "variables in the first one",
                   name);
    return NULL;
}

static bool check_name(tg_trace *t, const char *name, tg_site site)
{
    if (!tgi_trace_is_usable(t, "own variable", site))
        return false;
    if (name && *name)
        return true;
    tgi_trace_fail(t, TG_ERROR_INVALID_ARGUMENT, site,
                   "own variable: the name is NULL or empty");
    return false;
}

tg_variable *tg_own_variable_at(tg_trace *t, const char *name, tg_dtype dtype,
                                int rank, const int64_t *dims,
                                tg_initial initial, tg_site site)
{
    tgi_spec spec;
    if (!check_name(t, name, site))
        return NULL;
    if (tgi_spec_init(&spec, "own variable", dtype, rank, dims)) {
        tgi_trace_record_error(t);
        return NULL;
    }
    tg_variable *variable = find_or_create(t, name, &spec, &initial, site);
    if (!variable)
        tgi_trace_record_error(
            t); /* the root trace has failed: so does this one */
    return variable;
}

tg_variable *tg_own_variable_from_at(tg_trace *t, const char *name,
                                     tg_operand initial, tg_site site)
{
    tgi_spec spec;
    if (!check_name(t, name, site))
        return NULL;
    if (t->outer) {
        tgi_trace_fail(t, TG_ERROR_STATE, site,
                       "own variable '%s': the initial value is computed in "
                       "a branch or loop, which may not run",
                       name);
        return NULL;
    }
    tgi_ref value = tgi_trace_operand(t, initial, "own variable", site);
    if (!value)
        return NULL;
    const tgi_shape *shape = tgi_graph_shape(t->graph, value);
    if (!tgi_shape_is_static(shape)) {
        tgi_trace_fail(t, TG_ERROR_SHAPE, site,
                       "own variable '%s': the initial value has an unknown "
                       "extent",
                       name);
        return NULL;
    }
    if (tgi_spec_init(&spec, "own variable",
                      tgi_graph_node(t->graph, value)->dtype, shape->rank,
                      shape->dims)) {
        tgi_trace_record_error(t);
        return NULL;
    }
    tg_variable *variable = find_or_create(t, name, &spec, NULL, site);
    /* Captured even if unused: a call that initialises it must lock it. */
    if (!variable || !tgi_trace_variable(t, variable, "own variable", site))
        return NULL;
    /* Every trace has the initial value: any may be called first. */
    if (!tgi_vec_push(&t->initials, ((tgi_traced_initial){variable, value}))) {
        tgi_error_memory();
        tgi_trace_record_error(t);
        return NULL;
    }
    tg_variable_retain(variable);
    return variable;
}
