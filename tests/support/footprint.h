/* SPDX-License-Identifier: MIT */
/*
 * footprint.h - what a process has: resident memory, mappings, file
 * descriptors.
 */
#ifndef TGI_TEST_FOOTPRINT_H
#define TGI_TEST_FOOTPRINT_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

typedef struct footprint {
    long kib, mappings, files;
} footprint;

static inline long footprint_count_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    long n = 0;
    for (int c; file && (c = fgetc(file)) != EOF;)
        n += c == '\n';
    if (file)
        fclose(file);
    return n;
}

static inline footprint footprint_measure(void)
{
    footprint now = {.mappings = footprint_count_lines("/proc/self/maps")};
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%*d %ld", &now.kib) != 1)
            now.kib = 0;
        now.kib *= sysconf(_SC_PAGESIZE) / 1024;
        fclose(file);
    }
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        now.files++;
    if (dir)
        closedir(dir);
    return now;
}

/* Raises `most` to `now`. */
static inline void footprint_max(footprint *most, const footprint *now)
{
    if (now->kib > most->kib)
        most->kib = now->kib;
    if (now->mappings > most->mappings)
        most->mappings = now->mappings;
    if (now->files > most->files)
        most->files = now->files;
}

/* Prints both; true if a process did not grow by more than a tenth. */
static inline bool footprint_is_flat(const footprint *first,
                                     const footprint *most)
{
    enum { FEW_MAPPINGS = 64, FEW_FILES = 8, TENTHS = 11 };
    printf("at first %ld KiB, %ld mappings, %ld files; later at most %ld KiB, "
           "%ld mappings, %ld files\n",
           first->kib, first->mappings, first->files, most->kib, most->mappings,
           most->files);
    return most->kib * 10 <= first->kib * TENTHS &&
           most->mappings <= first->mappings + FEW_MAPPINGS &&
           most->files <= first->files + FEW_FILES;
}

#endif /* TGI_TEST_FOOTPRINT_H */
