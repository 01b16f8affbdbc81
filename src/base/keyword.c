/* SPDX-License-Identifier: MIT */
/*
 * keyword.c - keyword lookup and tokenising, see keyword.h.
 */
#include "base/keyword.h"

#include <string.h>

static bool tokens_are_equal(tgi_token a, tgi_token b)
{
    return a.n == b.n && memcmp(a.text, b.text, a.n) == 0;
}

const tgi_keyword *tgi_keyword_find(const tgi_keyword *table, tgi_token word)
{
    for (; table->word; table++)
        if (tokens_are_equal(word,
                             (tgi_token){table->word, strlen(table->word)}))
            return table;
    return NULL;
}

bool tgi_token_next(const char **list, tgi_token *out_word)
{
    static const char separators[] = ", \t";
    const char *text = *list + strspn(*list, separators);
    *out_word = (tgi_token){text, strcspn(text, separators)};
    *list = text + out_word->n;
    return out_word->n > 0;
}

bool tgi_token_is_repeated(const char *list, tgi_token word)
{
    tgi_token seen;
    while (tgi_token_next(&list, &seen) && seen.text != word.text)
        if (tokens_are_equal(seen, word))
            return true;
    return false;
}
