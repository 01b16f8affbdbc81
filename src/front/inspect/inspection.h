/* SPDX-License-Identifier: MIT */
/*
 * inspection.h - a trace and what became of it: the subject of a page.
 */
#ifndef TGI_INSPECTION_H
#define TGI_INSPECTION_H

#include "inspect.h"
#include "ir/graph.h"
#include "profile/profile.h"

typedef struct tgi_inspection {
    char *function; /* strings are owned */
    size_t number;  /* of the trace in its context, from 0 */
    char *file;     /* of the call that traced it, or NULL */
    int line;
    char *reason;     /* why it was traced */
    char *machine;    /* CPU and code generator, or NULL */
    char *signature;  /* "step(f32[?0,4], variable f32[4])" */
    tgi_graph *graph; /* after passes; retained */
    int64_t *values;  /* of its extents, of the call it is shown for */
    size_t n_values;
    uint64_t phase_ns[TGI_N_PHASES];
    bool has_source; /* the code that calls run comes from … */
    tgi_code_source source;
    /* Why calls are interpreted, or NULL. */
    char *interpreted;
    /* Without loops if the graph has none. */
    tgi_inspected_code code;
} tgi_inspection;

/*
 * Appends the page, with the profile of the trace if there is one. The source
 * files are read now. False when out of memory (recorded).
 */
bool tgi_inspection_print(const tgi_inspection *inspection, tgi_strbuf *out);

/* Writes the page to a file, which it replaces as a whole. */
tg_status tgi_inspection_write(const tgi_inspection *inspection,
                               const char *path);
/* True if the profile has calls of the trace. */
bool tgi_inspection_has_profile(const tgi_inspection *inspection);
void tgi_inspection_deinit(tgi_inspection *inspection);

#endif /* TGI_INSPECTION_H */
