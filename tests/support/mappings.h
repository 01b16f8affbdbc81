/* SPDX-License-Identifier: MIT */
/* mappings.h - the memory mappings of this process, from /proc/self/maps. */
#ifndef TGI_TEST_MAPPINGS_H
#define TGI_TEST_MAPPINGS_H

#include <criterion/criterion.h>
#include <stdio.h>

typedef struct mappings {
    int n;            /* all mappings */
    int n_executable; /* anonymous and executable */
    int n_both;       /* writable and executable */
} mappings;

static inline mappings read_mappings(void)
{
    mappings found = {0};
    FILE *file = fopen("/proc/self/maps", "r");
    cr_assert_not_null(file);
    char line[4096];
    while (fgets(line, sizeof(line), file)) {
        char protection[5] = "", path[2] = "";
        unsigned long inode = 0;
        cr_assert_geq(sscanf(line, "%*x-%*x %4s %*x %*s %lu %1s", protection,
                             &inode, path),
                      2, "%s", line);
        found.n++;
        found.n_executable += protection[2] == 'x' && !*path;
        found.n_both += protection[1] == 'w' && protection[2] == 'x';
    }
    fclose(file);
    return found;
}

#endif /* TGI_TEST_MAPPINGS_H */
