/* SPDX-License-Identifier: MIT */
/*
 * emit.c - all recipes over an emitter, and their table by type and op.
 */
#include "emit.h"

#include "emit_words.h"
#include "kernel_rows.h"
#include "recipe_cast.h"

const tgi_word_info tgi_word_table[TGI_WORDS] = {
#define WORD(ID, n, gives) \
    [TGI_WORD_##ID] = {#ID, n, TGI_WORD_GIVES_##gives},
#include "word.def"
#undef WORD
};

#define TEMPLATE "emit_type.h"
#include "recipe_each.h"

static tgi_emit_recipe *const *const tables[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = recipes_##ID,
#include "dtype.def"
#undef DTYPE
};

tgi_emit_recipe *tgi_emit_recipe_of(int op, tg_dtype dtype)
{
    return tgi_dtype_is_valid((int)dtype) ? tables[dtype][op] : NULL;
}

typedef tgi_emitted emit_cast(tgi_emitter *e, tgi_emitted x);

static emit_cast *const *const casts[TGI_DTYPES] = {
#define DTYPE(ID, ...) [TG_##ID] = casts_##ID,
#include "dtype.def"
#undef DTYPE
};

tgi_emitted tgi_emit_cast(tgi_emitter *e, tg_dtype from, tg_dtype to,
                          tgi_emitted x)
{
    return casts[from][to](e, x);
}
