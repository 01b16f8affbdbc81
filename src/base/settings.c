/* SPDX-License-Identifier: MIT */
/*
 * settings.c - parses settings, see settings.h. Numbers in an options struct
 * are formatted as text first, so one parser serves both sources.
 */
#include "base/settings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

const char *tgi_setting_text(const char *option, const char *variable)
{
    if (option || !variable)
        return option;
    const char *value = secure_getenv(variable);
    return value && *value ? value : NULL;
}

/* -- Invalid values -------------------------------------------------------- */

/* A text and its origin. */
typedef struct source {
    const tgi_setting *setting;
    const char *text;
    bool is_option;
    const tgi_log *log; /* for warnings, or NULL */
} source;

static void describe_accepted(const tgi_setting *setting, char *out,
                              size_t room)
{
    if (setting->keywords) {
        size_t used = 0;
        for (const tgi_keyword *k = setting->keywords; k->word && used < room;
             k++)
            used += (size_t)snprintf(out + used, room - used, "%s%s",
                                     k == setting->keywords ? "one of " : ", ",
                                     k->word);
    } else if (setting->kind == TGI_SETTING_BYTES) {
        snprintf(out, room, "a number of bytes, such as 256M");
    } else {
        snprintf(out, room, "a number from 0 to %" PRIu64, setting->max);
    }
}

/* How a warning says that an invalid variable is treated. */
static void describe_fallback(const tgi_setting *setting, char *out,
                              size_t room)
{
    const tgi_keyword *k = setting->keywords;
    while (setting->kind == TGI_SETTING_KEYWORD && k->word &&
           k->bits != setting->fallback)
        k++;
    if (setting->kind == TGI_SETTING_KEYWORD && k->word)
        snprintf(out, room, "using %s", k->word);
    else
        snprintf(out, room, "ignored");
}

/* Records an error for an option; logs a warning for a variable. */
static tg_status reject_token(const source *from, tgi_token token)
{
    const tgi_setting *setting = from->setting;
    char accepted[768], fallback[64];
    describe_accepted(setting, accepted, sizeof accepted);
    if (from->is_option) {
        const char *quote = setting->kind == TGI_SETTING_NUMBER ? "" : "'";
        TGI_FAIL(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                 "%s: %s%.*s%s is not %s", setting->option, quote,
                 (int)token.n, token.text, quote, accepted);
    }
    describe_fallback(setting, fallback, sizeof fallback);
    if (from->log)
        tgi_log_write(from->log, TG_LOG_WARN, TGI_LOG_CONFIG,
                      "%s: '%.*s' is not %s; %s", setting->variable,
                      (int)token.n, token.text, accepted, fallback);
    return TG_OK;
}

static tg_status reject_text(const source *from)
{
    return reject_token(from, (tgi_token){from->text, strlen(from->text)});
}

/* -- Parsing; *value is unchanged if the text is invalid ------------------- */

static tg_status parse_keyword(const source *from, uint64_t *value)
{
    const tgi_keyword *known = tgi_keyword_find(
        from->setting->keywords, (tgi_token){from->text, strlen(from->text)});
    if (!known)
        return reject_text(from);
    *value = known->bits;
    return TG_OK;
}

static tg_status parse_keywords(const source *from, uint64_t *value)
{
    const char *rest = from->text;
    tgi_token word;
    while (tgi_token_next(&rest, &word)) {
        const tgi_keyword *known =
            tgi_keyword_find(from->setting->keywords, word);
        if (known)
            *value = (*value & ~(uint64_t)known->clears) | known->bits;
        else if (!tgi_token_is_repeated(from->text, word))
            TGI_TRY(reject_token(from, word));
    }
    return TG_OK;
}

/* A decimal number and the text after it; false without digits or on
   overflow. */
static bool parse_digits(const char *text, uint64_t *out_number,
                         const char **out_rest)
{
    char *rest;
    errno = 0;
    *out_number = strtoull(text, &rest, 10);
    *out_rest = rest;
    return isdigit((unsigned char)text[0]) && !errno;
}

static bool is_accepted(const tgi_setting *setting, uint64_t number)
{
    const tgi_keyword *known = setting->keywords;
    if (!known)
        return number <= setting->max;
    while (known->word && known->bits != number)
        known++;
    return known->word;
}

static tg_status parse_number(const source *from, uint64_t *value)
{
    uint64_t number;
    const char *rest;
    if (!parse_digits(from->text, &number, &rest) || *rest ||
        !is_accepted(from->setting, number))
        return reject_text(from);
    *value = number;
    return TG_OK;
}

static tg_status parse_bytes(const source *from, uint64_t *value)
{
    static const char units[] = "KMG";
    uint64_t number;
    const char *rest;
    if (!parse_digits(from->text, &number, &rest))
        return reject_text(from);
    const char *unit = *rest ? strchr(units, *rest) : NULL;
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (rest[unit != NULL] || number > UINT64_MAX >> shift)
        return reject_text(from);
    *value = number << shift;
    return TG_OK;
}

/* -- Reading --------------------------------------------------------------- */

/* The option as text, in `buf` if it is a number; NULL if not given. */
static const char *option_text(const tgi_setting *setting, const void *options,
                               char *buf, size_t n)
{
    const char *member = (const char *)options + setting->offset;
    if (!setting->option)
        return NULL;
    if (setting->kind == TGI_SETTING_NUMBER) {
        int number;
        memcpy(&number, member, sizeof number);
        snprintf(buf, n, "%d", number);
        return number ? buf : NULL;
    }
    if (setting->kind == TGI_SETTING_BYTES) {
        uint64_t bytes;
        memcpy(&bytes, member, sizeof bytes);
        snprintf(buf, n, "%" PRIu64, bytes);
        return bytes ? buf : NULL;
    }
    const char *text;
    memcpy(&text, member, sizeof text);
    return text;
}

tg_status tgi_setting_read(const tgi_setting *setting, const void *options,
                           const tgi_log *log, uint64_t *out_value)
{
    char buf[32];
    const char *option = option_text(setting, options, buf, sizeof buf);
    const source from = {setting, tgi_setting_text(option, setting->variable),
                         option != NULL, log};
    *out_value = setting->default_value;
    if (!from.text)
        return TG_OK;
    switch (setting->kind) {
    case TGI_SETTING_KEYWORD:
        *out_value = setting->fallback;
        return parse_keyword(&from, out_value);
    case TGI_SETTING_KEYWORDS:
        return parse_keywords(&from, out_value);
    case TGI_SETTING_NUMBER:
        return parse_number(&from, out_value);
    case TGI_SETTING_BYTES:
        return parse_bytes(&from, out_value);
    }
    return TG_OK;
}
