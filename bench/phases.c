/* SPDX-License-Identifier: MIT */
/*
 * phases.c - see phases.h.
 */
#include "phases.h"

#include <jansson.h>

void profile_phases(double out_seconds[N_ROW_PHASES])
{
    static const char *const names[] = {
#define PHASE_NAME(name) #name,
        ROW_PHASES(PHASE_NAME)
#undef PHASE_NAME
    };
    char *text = tg_profile_report(TG_PROFILE_JSON);
    json_t *profile = text ? json_loads(text, 0, NULL) : NULL;
    const json_t *traces = json_object_get(profile, "traces");
    const json_t *phases =
        json_object_get(json_array_get(traces, 0), "phases_ns");
    for (int i = 0; phases && i < N_ROW_PHASES; i++)
        out_seconds[i] =
            json_number_value(json_object_get(phases, names[i])) * 1e-9;
    json_decref(profile);
    tg_text_free(text);
}
