/* SPDX-License-Identifier: MIT */
/*
 * check.h - error handling of the examples in folders: print the library's message
 * and stop. A status of 0 is TG_OK, so a call is checked by check(!tg_call(...)).
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

static inline void check(bool went_well)
{
    if (went_well)
        return;
    fprintf(stderr, "%s\n", tg_error(NULL));
    exit(1);
}

#endif /* CHECK_H */
