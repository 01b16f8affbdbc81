/* SPDX-License-Identifier: MIT */
/*
 * settings.h - settings that a member of an options struct or an environment
 * variable gives. Tables describe them, one parser reads both sources. The
 * option wins; one that is wrong is an error, a wrong variable a warning.
 */
#ifndef TGI_SETTINGS_H
#define TGI_SETTINGS_H

#include "base/keyword.h"
#include "base/log.h"

typedef enum tgi_setting_kind {
    TGI_SETTING_KEYWORD,  /* a string: one of the keywords */
    TGI_SETTING_KEYWORDS, /* a string: any of the keywords, between commas */
    TGI_SETTING_NUMBER,   /* an int or enum: from 0 to `max`, or the bits of
                           one of the keywords; 0: not given */
    TGI_SETTING_BYTES     /* a uint64_t; in a variable K, M or G may follow;
                           0: not given */
} tgi_setting_kind;

typedef struct tgi_setting {
    const char *option; /* "struct.member"; NULL: there is no such option */
    size_t offset;      /* of the member */
    const char *variable; /* of the environment; NULL: none */
    tgi_setting_kind kind;
    const tgi_keyword *keywords;
    uint64_t max;
    uint64_t default_value; /* the value if nothing is given */
    uint64_t fallback;      /* WORD: the value for a wrong variable */
} tgi_setting;

/* The first two members of a tgi_setting. */
#define TGI_OPTION(type, member) \
    .option = #type "." #member, .offset = offsetof(type, member)

/*
 * Reads a setting: the bits of keywords, or a number. `options` is the struct
 * that has the member. INVALID_ARGUMENT if the option is wrong; the message
 * names it, its value and what is accepted. Wrong variables are warned of, if
 * there is a log, each word once.
 */
tg_status tgi_setting_read(const tgi_setting *setting, const void *options,
                           const tgi_log *log, uint64_t *out_value);

/* The option if it is given, else the environment variable, else NULL. */
const char *tgi_setting_text(const char *option, const char *variable);

#endif /* TGI_SETTINGS_H */
