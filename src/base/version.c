/* SPDX-License-Identifier: MIT */
/*
 * version.c - the version of the library, which may differ from that of the
 * headers a program was compiled with.
 */
#include "tgjit/base.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *tg_version(void)
{
    return TEXT(TG_VERSION_MAJOR) "." TEXT(TG_VERSION_MINOR) "." TEXT(
        TG_VERSION_PATCH);
}
