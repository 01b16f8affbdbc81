/* SPDX-License-Identifier: MIT */
/*
 * bundle.h - defines bundles, structs of variables (variable.h), in one line:
 *
 *     TG_DEFINE_BUNDLE(layer, weights, bias)
 *     TG_DEFINE_BUNDLE(model, (layer, first), (layer, second), temperature)
 *
 * A name is a member of type tg_variable *. A type and a name in parentheses
 * are a nested bundle, whose type has been defined in this way. The second
 * line defines the struct `model` with the members `layer first`, `layer
 * second` and `tg_variable *temperature`, and its description `model_type`, for
 * tg_bundle_of, tg_bundle_argument, tg_bundle_count and the like. A bundle has
 * 1 to 32 members. No semicolon follows. In a header, every file that includes
 * it gets its own `model_type`; they all describe the same type.
 */
#ifndef TGJIT_BUNDLE_H
#define TGJIT_BUNDLE_H

#pragma GCC system_header /* shortens messages about expansions */

#include "map.h"
#include "variable.h"

#define TG_DEFINE_BUNDLE(type, ...) \
    TG_EXCESS(TG_BUNDLE_EXCESS, type, __VA_ARGS__) \
    typedef struct type { \
        TG_EACH(TG_BUNDLE_MEMBER, type, __VA_ARGS__) \
    } type; \
    __attribute__((unused)) static const tg_bundle_field type##_fields[] = { \
        TG_EACH(TG_BUNDLE_FIELD, type, __VA_ARGS__)}; \
    __attribute__((unused)) static const tg_bundle_type type##_type = \
        TG_BUNDLE(type, type##_fields);

#ifdef __cplusplus
#define TG_BUNDLE_EXCESS(type, member) \
    static_assert(false, "bundle " #type " has more than 32 members");
#else
#define TG_BUNDLE_EXCESS(type, member) \
    _Static_assert(0, "bundle " #type " has more than 32 members");
#endif

/* A member of the struct: NAME or (TYPE, NAME). */
#define TG_BUNDLE_MEMBER(type, member) \
    TG_MAP_CAT(TG_BUNDLE_MEMBER_, TG_IN_PARENTHESES(member))(member)
#define TG_BUNDLE_MEMBER_0(name) tg_variable *name;
#define TG_BUNDLE_MEMBER_1(pair) TG_BUNDLE_MEMBER_PAIR pair
#define TG_BUNDLE_MEMBER_PAIR(inner, name) inner name;

/* Its description, an element of the array of fields. */
#define TG_BUNDLE_FIELD(type, member) \
    TG_MAP_CAT(TG_BUNDLE_FIELD_, TG_IN_PARENTHESES(member))(type, member)
#define TG_BUNDLE_FIELD_0(type, name) TG_FIELD(type, name),
#define TG_BUNDLE_FIELD_1(type, pair) \
    TG_BUNDLE_FIELD_PAIR(type, TG_MAP_UNWRAP pair)
#define TG_BUNDLE_FIELD_PAIR(...) TG_BUNDLE_FIELD_PAIR_(__VA_ARGS__)
#define TG_BUNDLE_FIELD_PAIR_(type, inner, name) \
    {#name, offsetof(type, name), &inner##_type},

#endif /* TGJIT_BUNDLE_H */
