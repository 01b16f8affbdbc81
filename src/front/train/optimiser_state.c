/* SPDX-License-Identifier: MIT */
/*
 * optimiser_state.c - the state of an optimiser: two bundles of the model's
 * type, whose members are the moments of the model's members at the same
 * offsets, and a count of steps.
 */
#include "front/train/optimiser_state.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "front/object/bundle.h"
#include "front/object/scope.h"
#include "front/object/variable_object.h"

/* -- Rules and types ------------------------------------------------------- */

static bool is_fraction(double x)
{
    return x >= 0 && x < 1;
}

const char *tgi_rule_error(const tg_update_rule *rule)
{
    if ((int)rule->kind < TG_RULE_SGD || rule->kind > TG_RULE_ADAGRAD)
        return "the rule is unknown";
    if (!is_fraction(rule->beta1) || !is_fraction(rule->beta2))
        return "momentum and decay must be in [0, 1)";
    if (!isfinite(rule->epsilon) || rule->epsilon < 0)
        return "epsilon must not be negative";
    if (!isfinite(rule->weight_decay) || rule->weight_decay < 0)
        return "the weight decay must not be negative";
    if (!isfinite(rule->max_norm) || rule->max_norm < 0)
        return "the norm to clip to must not be negative";
    return NULL;
}

const tg_bundle_type *tgi_optimiser_model(const tg_bundle_type *type)
{
    if (!type || type->n_fields != 3 || !type->fields)
        return NULL;
    const tg_bundle_type *first = type->fields[0].bundle;
    const tg_bundle_type *second = type->fields[1].bundle;
    return first && first == second && !type->fields[2].bundle ? first : NULL;
}

/* -- Lists ----------------------------------------------------------------- */

typedef struct parameter_walk {
    const tg_bundle_type *type;
    const char *state; /* or NULL */
    tgi_parameters *list;
    bool is_out_of_memory;
} parameter_walk;

static tg_variable *moment(const parameter_walk *walk, int field,
                           size_t offset)
{
    return walk->state ? *(tg_variable *const *)(const void *)(
                             walk->state + walk->type->fields[field].offset +
                             offset)
                       : NULL;
}

static bool list_parameter(const tgi_bundle_path *path,
                           tg_variable *const *member, size_t offset,
                           void *user)
{
    parameter_walk *walk = user;
    (void)path;
    if (!*member || !(*member)->is_trainable)
        return true;
    tgi_parameter p = {*member, moment(walk, 0, offset),
                       moment(walk, 1, offset), false};
    for (size_t i = 0; i < walk->list->n; i++)
        p.is_repeated |= walk->list->data[i].variable == *member;
    walk->is_out_of_memory = !tgi_vec_push(walk->list, p);
    return !walk->is_out_of_memory;
}

bool tgi_parameters_list(const tg_bundle_type *type, const void *model,
                         const void *state, tgi_parameters *out_list)
{
    parameter_walk walk = {type, state, out_list, false};
    tgi_bundle_walk(tgi_optimiser_model(type), model, list_parameter, &walk);
    if (walk.is_out_of_memory)
        tgi_error_memory();
    return !walk.is_out_of_memory;
}

/* -- Creation -------------------------------------------------------------- */

typedef struct creation {
    tg_context *ctx;
    const tg_update_rule *rule;
    const tg_bundle_type *type;
    char *state;
    tgi_parameters seen;
} creation;

static tg_variable **member_at(const creation *c, size_t offset)
{
    return (tg_variable **)(void *)(c->state + offset);
}

/* A variable of the type of `like`, filled with zeros. */
static tg_variable *create_moment(const creation *c, const char *moment_name,
                                  const tgi_bundle_path *path,
                                  const tg_variable *like)
{
    const tg_variable_options options = {sizeof(options), NULL, true};
    tgi_strbuf name = {0};
    tg_variable *made = NULL;
    tgi_strbuf_addf(&name, "%s.", moment_name);
    if (!tgi_bundle_path_text(path, &name))
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "%s: a field of the bundle has no name",
                      tgi_api_function());
    else if (name.failed)
        tgi_error_memory();
    else
        made = tg_variable_create_with(
            c->ctx, name.text, tg_variable_dtype(like), tg_variable_rank(like),
            tg_variable_dims(like), tg_zeros(), &options);
    tgi_strbuf_deinit(&name);
    return made;
}

static bool create_moments(const tgi_bundle_path *path,
                           tg_variable *const *member, size_t offset,
                           void *user)
{
    creation *c = user;
    const tg_bundle_field *fields = c->type->fields;
    if (!*member || !(*member)->is_trainable)
        return true;
    for (size_t i = 0; i < c->seen.n; i++)
        if (c->seen.data[i].variable == *member)
            return true;
    if (!tgi_vec_push(&c->seen, ((tgi_parameter){.variable = *member}))) {
        tgi_error_memory();
        return false;
    }
    tg_variable **first = member_at(c, fields[0].offset + offset);
    tg_variable **second = member_at(c, fields[1].offset + offset);
    if (tgi_rule_has_first(c->rule) &&
        !(*first = create_moment(c, fields[0].name, path, *member)))
        return false;
    return !tgi_rule_has_second(c->rule) ||
           (*second = create_moment(c, fields[1].name, path, *member));
}

static tg_status create_state(creation *c, const void *model)
{
    tg_variable **steps = member_at(c, c->type->fields[2].offset);
    *steps = tg_variable_create(c->ctx, c->type->fields[2].name, TG_I64, 0,
                                NULL, tg_zeros());
    if (*steps && tgi_bundle_walk(tgi_optimiser_model(c->type), model,
                                  create_moments, c))
        return TG_OK;
    tgi_error_copy error;
    tgi_error_save(&error);
    tg_bundle_release(c->type, c->state);
    tgi_error_restore(&error);
    return error.record.status;
}

static tg_status check_and_create(creation *c, const char *name,
                                  const void *model)
{
    const char *who = tgi_api_function(), *reason = tgi_rule_error(c->rule);
    const char *null = !c->ctx     ? "context"
                       : !c->state ? "state"
                       : !model    ? "model"
                       : !name     ? "name"
                                   : NULL;
    if (null)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE, "%s: the %s is NULL",
                 who, null);
    if (reason)
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE, "%s: %s", who,
                 reason);
    TGI_TRY(tgi_scope_push(c->ctx, name, TG_REUSE_OFF, who, TGI_NO_SITE));
    const tg_status status = create_state(c, model);
    tgi_scope_pop(c->ctx, who, TGI_NO_SITE);
    return status;
}

tg_status tg_optimiser_create(tg_context *ctx, const char *name,
                              tg_update_rule rule, const tg_bundle_type *type,
                              const void *model, void *out_state)
{
    tgi_api_frame frame = tgi_api_enter(ctx, "tg_optimiser_create");
    creation c = {ctx, &rule, type, out_state, {0}};
    tg_status status;
    if (!tgi_optimiser_model(type)) {
        status = tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                               "tg_optimiser_create: the type is not one of "
                               "TG_DEFINE_OPTIMISER");
    } else {
        if (out_state)
            memset(out_state, 0, type->bytes);
        status = check_and_create(&c, name, model);
    }
    tgi_vec_deinit(&c.seen);
    tgi_api_leave(frame);
    return status;
}
