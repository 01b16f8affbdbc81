/* SPDX-License-Identifier: MIT */
/* arguments.h - reports invalid command lines of test programs. */
#ifndef TGI_TEST_ARGUMENTS_H
#define TGI_TEST_ARGUMENTS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Reports argument i, an option with an invalid value; returns false. */
static inline bool argument_is_wrong(const char *program, int argc,
                                     char **argv, int i)
{
    if (strncmp(argv[i], "--", 2) != 0)
        fprintf(stderr, "%s: unexpected argument '%s'\n", program, argv[i]);
    else if (i + 1 == argc)
        fprintf(stderr, "%s: '%s' is unknown, or its value is missing\n",
                program, argv[i]);
    else
        fprintf(stderr, "%s: '%s' is unknown, or cannot be '%s'\n", program,
                argv[i], argv[i + 1]);
    return false;
}

#endif /* TGI_TEST_ARGUMENTS_H */
