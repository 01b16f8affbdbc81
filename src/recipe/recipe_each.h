/* SPDX-License-Identifier: MIT */
/*
 * recipe_each.h - includes the file TEMPLATE once per element type, with DT,
 * CLASS and the recipes of that type, expanded by the primitives included
 * before (scalar.h or emit_primitives.h). The list repeats dtype.def, because a
 * macro cannot include a file. recipe_one.h checks the class, and the tables
 * that templates define per DT are collected through dtype.def, so a missing
 * type does not compile. Halves stand last, because their casts use parts of f32.
 */

#define DT BOOL
#define CLASS BOOL
#include "recipe/recipe_one.h"

#define DT I8
#define CLASS SINT
#include "recipe/recipe_one.h"

#define DT I16
#define CLASS SINT
#include "recipe/recipe_one.h"

#define DT I32
#define CLASS SINT
#include "recipe/recipe_one.h"

#define DT I64
#define CLASS SINT
#include "recipe/recipe_one.h"

#define DT U8
#define CLASS UINT
#include "recipe/recipe_one.h"

#define DT U16
#define CLASS UINT
#include "recipe/recipe_one.h"

#define DT U32
#define CLASS UINT
#include "recipe/recipe_one.h"

#define DT U64
#define CLASS UINT
#include "recipe/recipe_one.h"

#define DT F32
#define CLASS FLOAT
#include "recipe/recipe_one.h"

#define DT F64
#define CLASS FLOAT
#include "recipe/recipe_one.h"

#define DT F16
#define CLASS HALF
#include "recipe/recipe_one.h"

#define DT BF16
#define CLASS HALF
#include "recipe/recipe_one.h"
