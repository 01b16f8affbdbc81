/* SPDX-License-Identifier: MIT */
/*
 * recipe_math.h - recipes of the functions that are not arithmetic, for float
 * types, by family.
 */
#include "recipe_parts.h"
#include "recipe_exp.h"
#include "recipe_log.h"
#include "recipe_pow.h"
#include "recipe_trig.h"
#include "recipe_arc.h"
#include "recipe_erf.h"
