/* SPDX-License-Identifier: MIT */
/*
 * profile_report.h - the text of a profile.
 */
#ifndef TGI_PROFILE_REPORT_H
#define TGI_PROFILE_REPORT_H

#include "base/strbuf.h"
#include "profile/profile.h"
#include "run/roof.h"

void tgi_profile_print_table(const tgi_profile_view *view,
                             const tgi_roof *roof, tgi_strbuf *out);
void tgi_profile_print_json(const tgi_profile_view *view, const tgi_roof *roof,
                            tgi_strbuf *out);

/* The part of the time that the machine needs at least for the unit's work; 0
   if that is unknown. */
static inline double tgi_profile_roof_share(const tgi_roof *roof,
                                            const tgi_profile_unit *unit)
{
    if (!unit->n_runs || !unit->total_ns)
        return 0;
    const double n = (double)unit->n_runs;
    return n *
           tgi_roof_seconds(roof, unit->threads, unit->bytes / n,
                            unit->flops / n, unit->element_bytes) /
           (1e-9 * (double)unit->total_ns);
}

/* Not below the minimum, though histograms are coarse. */
static inline uint64_t tgi_profile_median_ns(const tgi_profile_unit *unit)
{
    const uint64_t median = tgi_histogram_median(&unit->times);
    return unit->n_runs && median < unit->min_ns ? unit->min_ns : median;
}

/* Maximum of the threads' times over their mean: 1 if they are balanced. */
static inline double tgi_profile_imbalance(const tgi_profile_unit *unit)
{
    const double mean_threads =
        unit->n_runs ? unit->thread_runs / (double)unit->n_runs : 1;
    return unit->threads_ns
               ? (double)unit->total_ns * mean_threads /
                     (double)unit->threads_ns
               : 1;
}

/* The part of a trace's time that no unit, barrier or host step accounts for:
   locks, snapshots, teams. */
static inline uint64_t tgi_profile_other_ns(const tgi_profile_trace *trace)
{
    uint64_t known = trace->barrier_ns + trace->host_ns;
    for (size_t i = 0; i < trace->units.n; i++)
        known += trace->units.data[i]->total_ns;
    return trace->total_ns > known ? trace->total_ns - known : 0;
}

#endif /* TGI_PROFILE_REPORT_H */
