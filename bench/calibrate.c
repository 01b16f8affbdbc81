/* SPDX-License-Identifier: MIT */
/* calibrate.c - see calibrate.h. */
#include "calibrate.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tgjit.h>

/* A number with its unit, or that it is unknown. */
static void print_number(const char *what, int64_t number, const char *unit)
{
    if (number)
        printf("%-42s %8lld %s\n", what, (long long)number, unit);
    else
        printf("%-42s %8s\n", what, "unknown");
}

static void print_calibration(const tg_calibration *c)
{
    print_number("widest registers that pay", c->vector_bits, "bits");
    print_number("operations with 512 bits, of those with 256",
                 c->wide_percent, "%");
    print_number("effective level-2 cache", c->l2_bytes / 1024, "KiB");
    if (c->non_temporal_bytes == INT64_MAX)
        printf("%-42s %8s\n", "non-temporal stores pay from", "never");
    else
        print_number("non-temporal stores pay from",
                     c->non_temporal_bytes / 1024, "KiB");
    print_number("threads", c->threads, "");
    print_number("start of all threads, and their end", c->team_ns, "ns");
    print_number("barrier", c->barrier_ns, "ns");
    print_number("level-2 cache, one thread", c->l2_bandwidth, "MB/s");
    print_number("level-2 cache, all threads", c->l2_bandwidth_team, "MB/s");
    print_number("memory, one thread", c->memory_bandwidth, "MB/s");
    print_number("memory, all threads", c->memory_bandwidth_team, "MB/s");
}

int calibrate_machine(void)
{
    tg_calibration c = TG_CALIBRATION_INIT;
    tg_context *ctx = tg_context_create(NULL);
    const bool is_fine = ctx && tg_calibrate(ctx, &c) == TG_OK;
    if (is_fine)
        print_calibration(&c);
    else
        fprintf(stderr, "tgjit-bench: %s\n", tg_error(NULL));
    if (is_fine && !c.is_saved)
        fprintf(stderr, "tgjit-bench: the disk cache cannot be written, so "
                        "this is not kept\n");
    tg_context_release(ctx);
    return is_fine && c.is_saved ? EXIT_SUCCESS : EXIT_FAILURE;
}
