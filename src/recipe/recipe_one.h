/* SPDX-License-Identifier: MIT */
/*
 * recipe_one.h - one step of recipe_each.h: the recipes of DT, then TEMPLATE.
 */
_Static_assert((int)CAT(class_, DT) == (int)CAT(TGI_CLASS_, CLASS),
               "the class must be that of dtype.def");
#define AGREES(set) (TAKES(set) == ((TGI_CLASS_##set & CAT(class_, DT)) != 0))
_Static_assert(AGREES(ANY) && AGREES(NUM) && AGREES(INT) && AGREES(BITS) &&
                   AGREES(BOOL) && AGREES(SINT) && AGREES(UINT) &&
                   AGREES(FLOAT) && AGREES(HALF) && AGREES(STORED),
               "sets of classes must be those of dtype.h");
#undef AGREES

#include "recipe/recipe.h"
#include TEMPLATE

#undef DT
#undef CLASS
