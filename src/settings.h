/* SPDX-License-Identifier: MIT */
/*
 * settings.h - reading options structs, and settings that an option or an
 * environment variable gives. The option wins.
 */
#ifndef TGI_SETTINGS_H
#define TGI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"

/* The option if it is given, else the environment variable, else NULL. */
const char *tgi_setting(const char *option, const char *variable);

typedef struct tgi_setting_word {
    const char *word; /* NULL ends the list */
    unsigned bits;
} tgi_setting_word;

/* Bits of a comma-separated list of words; warns of unknown ones. */
unsigned tgi_setting_words(const char *list, const char *setting,
                           const tgi_setting_word *words, const tgi_log *log);

/* The option if it is not 0, else the number the environment variable holds
   (warned of and ignored if it is none, or below 0), else `otherwise`. */
int64_t tgi_setting_number(int64_t option, const char *variable,
                           int64_t otherwise, const tgi_log *log);

/* The same for a number of bytes, which in the variable may end in K, M or
   G. */
uint64_t tgi_setting_bytes(uint64_t option, const char *variable,
                           uint64_t otherwise, const tgi_log *log);

/*
 * Copies a user's options struct, whose first member is its size, so that
 * programs compiled against another version of the struct work: members it
 * does not have are zero, members we do not know must be. NULL is all zero.
 * False and an error if the size is wrong.
 */
bool tgi_settings_copy(void *out_options, size_t bytes, const void *options,
                       const char *name);

#endif /* TGI_SETTINGS_H */
