/* SPDX-License-Identifier: MIT */
/*
 * hints.c - see hints.h: which hints are worth a try. The answer is generous: a
 * value without effect gives a schedule that was timed before, which costs
 * nothing, and an illegal one is rejected by the verifier.
 */
#include "schedule/hints.h"

#include <assert.h>

#define HINT_NAME(id, name) name,
const char *const tgi_hint_names[TGI_N_HINTS] = {TGI_HINTS(HINT_NAME)};

/* The values of each hint, up to a 0. */
static const uint16_t all_values[TGI_N_HINTS][TGI_MAX_ALTERNATIVES] = {
    [TGI_HINT_WIDTH] = {512, 256, 128},
    [TGI_HINT_INTERCHANGE] = {TGI_HINT_NO, TGI_HINT_YES},
    [TGI_HINT_REGISTERS] = {4, 2, 8, 1},
    [TGI_HINT_MICRO_WIDTH] = {1, 2, 4},
    [TGI_HINT_MICRO_HEIGHT] = {12, 8, 6, 4},
    [TGI_HINT_PANELS] = {1, 2, 4, 8},
    [TGI_HINT_ITEM_ROWS] = {32, 16, 8, 64},
    [TGI_HINT_PACKS_B] = {TGI_HINT_NO, TGI_HINT_YES},
    [TGI_HINT_WIDE_COLUMNS] = {TGI_HINT_NO},
    [TGI_HINT_PART_COST] = {60, 200, UINT16_MAX},
    [TGI_HINT_TILES] = {TGI_HINT_NO},
    [TGI_HINT_NON_TEMPORAL] = {TGI_HINT_NO, TGI_HINT_YES}};

/* True if a target can have schedules with this value. */
static bool is_value(const tgi_target *target, tgi_hint hint, uint16_t value)
{
    bool is_known = false;
    for (int i = 0; i < TGI_MAX_ALTERNATIVES; i++)
        is_known |= value && all_values[hint][i] == value;
    return is_known &&
           (hint != TGI_HINT_WIDTH || (value >= target->min_vector_bits &&
                                       value <= target->max_vector_bits));
}

bool tgi_hints_are_valid(const tgi_schedule_hints *hints,
                         const tgi_target *target)
{
    bool are_valid = true;
    for (int i = 0; i < TGI_N_HINTS; i++)
        are_valid &= !hints->values[i] ||
                     is_value(target, (tgi_hint)i, hints->values[i]);
    return are_valid;
}

/* -- Which apply to a schedule --------------------------------------------- */

static bool is_matmul(const tgi_schedule *s)
{
    return s->matmul.mr > 0;
}

static bool has_fission(const tgi_schedule *s)
{
    bool has_any = false;
    for (unsigned i = 0; i < s->loops->n_phases; i++)
        has_any |= s->phases[i].fission.n_parts > 0;
    return has_any;
}

static bool has_non_temporal_stores(const tgi_schedule *s)
{
    bool has_any = false;
    for (size_t i = 0; i < s->loops->stores.n; i++)
        has_any |= s->non_temporal_stores[i];
    return has_any;
}

/* True if a value may change the schedule. */
static bool may_change(const tgi_schedule *s, tgi_hint hint, uint16_t value)
{
    const bool is_yes = value == TGI_HINT_YES;
    switch (hint) {
    case TGI_HINT_WIDTH:
        return value != s->vector_bits;
    case TGI_HINT_INTERCHANGE:
        return s->loops->n_phases == 1 && s->loops->reductions.n == 0 &&
               (tgi_schedule_interchanged_axis(s) >= 0 ||
                tgi_schedule_is_row_order(s)) != is_yes;
    case TGI_HINT_REGISTERS:
        return !is_matmul(s);
    case TGI_HINT_MICRO_WIDTH:
    case TGI_HINT_MICRO_HEIGHT:
        return is_matmul(s);
    case TGI_HINT_PANELS:
        return s->matmul.n_panels > 1;
    case TGI_HINT_ITEM_ROWS:
        return is_matmul(s) && s->matmul.n_panels <= 1;
    case TGI_HINT_PACKS_B:
        return is_matmul(s) && s->matmul.packs_b != is_yes;
    case TGI_HINT_WIDE_COLUMNS:
        return s->wide_columns;
    case TGI_HINT_PART_COST:
        return has_fission(s);
    case TGI_HINT_TILES:
        return s->tiles.rows;
    case TGI_HINT_NON_TEMPORAL:
        return s->loops->vectors == TGI_ROWS &&
               has_non_temporal_stores(s) != is_yes;
    case TGI_N_HINTS:
        break;
    }
    assert(false);
    return false;
}

unsigned tgi_hint_alternatives(const tgi_schedule *s, const tgi_target *target,
                               tgi_hint hint,
                               uint16_t out_values[TGI_MAX_ALTERNATIVES])
{
    unsigned n = 0;
    for (int i = 0; i < TGI_MAX_ALTERNATIVES; i++) {
        const uint16_t value = all_values[hint][i];
        if (is_value(target, hint, value) && may_change(s, hint, value))
            out_values[n++] = value;
    }
    return n;
}
