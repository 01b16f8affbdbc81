/* SPDX-License-Identifier: MIT */
/*
 * settings.c - see settings.h.
 */
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

const char *tgi_setting(const char *option, const char *variable)
{
    if (option)
        return option;
    const char *value = secure_getenv(variable);
    return value && *value ? value : NULL;
}

unsigned tgi_setting_words(const char *list, const char *setting,
                           const tgi_setting_word *words, const tgi_log *log)
{
    unsigned bits = 0;
    while (list && *list) {
        size_t n = strcspn(list, ",");
        const tgi_setting_word *known = words;
        while (known->word && (strlen(known->word) != n ||
                               strncmp(known->word, list, n) != 0))
            known++;
        if (known->word)
            bits |= known->bits;
        else if (n)
            tgi_log_write(log, TG_LOG_WARN, TGI_LOG_CONFIG,
                          "%s: '%.*s' is unknown", setting, (int)n, list);
        list += n + (list[n] == ',');
    }
    return bits;
}

int64_t tgi_setting_number(int64_t option, const char *variable,
                           int64_t otherwise, const tgi_log *log)
{
    if (option > 0)
        return option;
    const char *text = tgi_setting(NULL, variable);
    if (!text)
        return otherwise;
    char *end;
    long long number = strtoll(text, &end, 10);
    if (*end == 0 && number >= 0 && number < INT32_MAX)
        return number;
    tgi_log_write(log, TG_LOG_WARN, TGI_LOG_CONFIG,
                  "%s: '%s' is not a number from 0 on", variable, text);
    return otherwise;
}

uint64_t tgi_setting_bytes(uint64_t option, const char *variable,
                           uint64_t otherwise, const tgi_log *log)
{
    if (option > 0)
        return option;
    const char *text = tgi_setting(NULL, variable);
    if (!text)
        return otherwise;
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    const uint64_t number = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (isdigit((unsigned char)text[0]) && !errno && !end[unit != NULL] &&
        number <= UINT64_MAX >> shift)
        return number << shift;
    tgi_log_write(log, TG_LOG_WARN, TGI_LOG_CONFIG,
                  "%s: '%s' is not a number of bytes, such as 256M", variable,
                  text);
    return otherwise;
}

bool tgi_settings_copy(void *out_options, size_t bytes, const void *options,
                       const char *name)
{
    memset(out_options, 0, bytes);
    if (!options)
        return true;
    size_t given;
    memcpy(&given, options, sizeof(given));
    if (given < sizeof(given) || given > 4096) {
        tgi_error_set(TG_ERROR_INVALID_ARGUMENT, TGI_NO_SITE,
                      "%s: struct_bytes is %zu, not the size of the struct",
                      name, given);
        return false;
    }
    const char *from = options;
    for (size_t i = bytes; i < given; i++)
        if (from[i]) {
            tgi_error_set(TG_ERROR_UNSUPPORTED, TGI_NO_SITE,
                          "%s: the struct is newer than the library, and uses "
                          "an option this one does not have",
                          name);
            return false;
        }
    memcpy(out_options, options, given < bytes ? given : bytes);
    return true;
}
