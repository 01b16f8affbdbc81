/* SPDX-License-Identifier: MIT */
/*
 * recipe_math.h - recipes of elementary functions, for float types, by family.
 */
#include "recipe/recipe_parts.h"
#include "recipe/recipe_exp.h"
#include "recipe/recipe_log.h"
#include "recipe/recipe_pow.h"
#include "recipe/recipe_trig.h"
#include "recipe/recipe_arc.h"
#include "recipe/recipe_erf.h"
#include "recipe/recipe_fast.h"
#include "recipe/recipe_fast_trig.h"
