/* SPDX-License-Identifier: MIT */
/* host_calibration.c - see host_calibration.h. */
#include "target/host_calibration.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "target/cpu_cache.h"
#include "target/host_cpu.h"

/* Increment it when a measurement changes its meaning. */
enum { VERSION = 1 };

void tgi_calibration_key(int n_cpus, tgi_strbuf *out)
{
    tgi_strbuf_addf(out,
                    "calibration %d of %s, %d CPUs, L2 %lld, last level %lld\n",
                    VERSION, tgi_host_cpu(), n_cpus,
                    (long long)tgi_cpu_l2_bytes(),
                    (long long)tgi_cpu_cache_bytes());
}

/* -- Text ------------------------------------------------------------------ */

/* A line "name value" per member. */
void tgi_calibration_print(const tgi_calibration *c, tgi_strbuf *out)
{
#define PRINT(member, min, max) \
    tgi_strbuf_addf(out, #member " %" PRId64 "\n", c->member);
    TGI_CALIBRATED(PRINT)
#undef PRINT
}

/* Reads the line of a member at *at, and advances *at past it. */
static bool parse_line(const char **at, const char *end, const char *name,
                       int64_t min, int64_t max, int64_t *out_value)
{
    const size_t n = strlen(name);
    uint64_t value = 0;
    if ((size_t)(end - *at) < n + 3 || memcmp(*at, name, n) || (*at)[n] != ' ')
        return false;
    const char *digit = *at + n + 1;
    const char *first = digit;
    for (; digit < end && *digit >= '0' && *digit <= '9'; digit++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*digit - '0'), &value))
            return false;
    if (digit == first || digit == end || *digit != '\n' || value > INT64_MAX)
        return false;
    *at = digit + 1;
    *out_value = (int64_t)value;
    return !value || (*out_value >= min && *out_value <= max);
}

bool tgi_calibration_parse(const void *text, size_t n, tgi_calibration *out)
{
    const char *at = text, *end = at + n;
    tgi_calibration c = {0};
    bool is_valid = true;
#define PARSE(member, min, max) \
    is_valid = \
        is_valid && parse_line(&at, end, #member, min, max, &c.member);
    TGI_CALIBRATED(PARSE)
#undef PARSE
    is_valid = is_valid && at == end &&
               (c.vector_bits & (c.vector_bits - 1)) == 0;
    *out = is_valid ? c : (tgi_calibration){0};
    return is_valid;
}

/* -- Use ------------------------------------------------------------------- */

void tgi_calibration_apply(const tgi_calibration *c, tgi_target *target)
{
    if (c->vector_bits >= target->min_vector_bits &&
        c->vector_bits < target->max_vector_bits)
        target->max_vector_bits = (unsigned)c->vector_bits;
    if (c->l2_bytes)
        target->l2_bytes = c->l2_bytes;
    if (c->non_temporal_bytes)
        target->non_temporal_bytes =
            c->non_temporal_bytes == INT64_MAX ? 0 : c->non_temporal_bytes;
}

/* A thread pays if the work that it takes over exceeds a start of the team by
   half. The limits are what machines were seen to need, and a guard against a
   disturbed measurement. */
int64_t tgi_calibration_grain(const tgi_calibration *c)
{
    enum { MIN_NS = 1000, MAX_NS = 20000 };
    const int64_t ns = c->team_ns + c->team_ns / 2;
    return !c->team_ns   ? 0
           : ns < MIN_NS ? 1000 * (int64_t)MIN_NS
           : ns > MAX_NS ? 1000 * (int64_t)MAX_NS
                         : 1000 * ns;
}
