/* SPDX-License-Identifier: MIT */
/*
 * settings.h - settings, given by a member of an options struct or by an
 * environment variable. Tables describe them; one parser reads both sources.
 * The option takes precedence. An invalid option is an error, an invalid
 * variable a warning.
 */
#ifndef TGI_SETTINGS_H
#define TGI_SETTINGS_H

#include "base/keyword.h"
#include "base/log.h"

typedef enum tgi_setting_kind {
    TGI_SETTING_KEYWORD,  /* a string: one keyword */
    TGI_SETTING_KEYWORDS, /* a string: a list of keywords */
    TGI_SETTING_NUMBER,   /* an int or enum: from 0 to `max`, or the bits of
                             one keyword; 0: not given */
    TGI_SETTING_BYTES     /* a uint64_t, in a variable with an optional suffix
                             K, M or G; 0: not given */
} tgi_setting_kind;

typedef struct tgi_setting {
    const char *option;   /* "struct.member"; NULL: none */
    size_t offset;        /* of the member */
    const char *variable; /* environment variable; NULL: none */
    tgi_setting_kind kind;
    const tgi_keyword *keywords;
    uint64_t max;
    uint64_t default_value; /* if neither is given */
    uint64_t fallback;      /* KEYWORD: for an invalid variable */
} tgi_setting;

/* The first two members of a tgi_setting. */
#define TGI_OPTION(type, member) \
    .option = #type "." #member, .offset = offsetof(type, member)

/*
 * Reads a setting: the bits of its keywords, or a number. `options` is the
 * struct that has the member. INVALID_ARGUMENT if the option is invalid; the
 * message has its name, its value and the accepted values. If `log` is not
 * NULL, each distinct invalid word of a variable is logged as a warning.
 */
tg_status tgi_setting_read(const tgi_setting *setting, const void *options,
                           const tgi_log *log, uint64_t *out_value);

/* The option if it is given, else the environment variable, else NULL. */
const char *tgi_setting_text(const char *option, const char *variable);

#endif /* TGI_SETTINGS_H */
