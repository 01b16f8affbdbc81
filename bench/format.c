/* SPDX-License-Identifier: MIT */
/*
 * format.c - see format.h.
 */
#include "format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Digits after the point such that there are three in all. */
static int decimals(double number)
{
    return number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
}

text text_time(double seconds)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    text t = {""};
    size_t i = 0;
    if (!(seconds > 0))
        return t;
    while (i < 3 && seconds >= 999.5 * units[i].seconds)
        i++;
    const double number = seconds / units[i].seconds;
    snprintf(t.text, sizeof(t.text), "%.*f %s", decimals(number), number,
             units[i].unit);
    return t;
}

text text_bytes(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    text t = {""};
    size_t i = 0;
    while (i < 3 && bytes >= 1024) {
        bytes /= 1024;
        i++;
    }
    snprintf(t.text, sizeof(t.text),
             bytes < 10 && bytes > floor(bytes) ? "%.1f %s" : "%.0f %s", bytes,
             units[i]);
    return t;
}

text text_number(double number)
{
    text t = {""};
    if (number > 0)
        snprintf(t.text, sizeof(t.text), "%.*f", decimals(number), number);
    return t;
}

text text_ratio(double ratio)
{
    return text_number(ratio);
}

text text_share(double share)
{
    text t = {""};
    if (share > 0)
        snprintf(t.text, sizeof(t.text), "%.0f %%", 100 * share);
    return t;
}

machine_text text_machine(const machine_facts *machine)
{
    machine_text t = {""};
    int used = snprintf(t.text, sizeof(t.text), "%d-bit vectors",
                        machine->vector_bits);
    for (int level = 1; level <= 3; level++)
        if (machine->cache_bytes[level - 1] > 0)
            used += snprintf(t.text + used, sizeof(t.text) - (size_t)used,
                             ", L%d %s", level,
                             text_bytes(machine->cache_bytes[level - 1]).text);
    snprintf(t.text + used, sizeof(t.text) - (size_t)used, ", %s%s",
             *machine->llvm ? "LLVM " : "no code generator", machine->llvm);
    return t;
}
