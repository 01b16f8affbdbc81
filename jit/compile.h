/* SPDX-License-Identifier: MIT */
/*
 * compile.h - from verified loops to code: in-memory cache, disk cache, code
 * generator, in this order.
 */
#ifndef TGI_COMPILE_H
#define TGI_COMPILE_H

#include "cache/code.h"
#include "jit.h"
#include "target/target.h"

/* The target of a compile. */
void tgi_compile_target(const tgi_jit_options *options, tgi_target *out_target);

/*
 * The code of verified loops, which were scheduled for `target`, for a call
 * whose extents in the graph have these values; retained. The plugin is loaded
 * only if neither cache has it. With measured planning the loops get other
 * schedules. If `cached_only`, generates no code and does not wait for another
 * thread that does: *out_code is NULL on a miss. UNSUPPORTED if the code
 * generator is missing or fails.
 */
tg_status tgi_compile(tgi_loops *loops, const int64_t *graph_values,
                      const tgi_target *target, const tgi_jit_options *options,
                      bool cached_only, tgi_code **out_code);

/* Code of scheduled loops that is in no cache and not logged, for timing. */
tg_status tgi_compile_alone(tgi_loops *loops, const tgi_jit_options *options,
                            tgi_code **out_code);

/* What the code generator is asked for, but for debug information. */
tgi_codegen_options tgi_compile_request(const tgi_loops *loops,
                                        const tgi_jit_options *options);

/* Whether the options' observer wants a stage; passes its text (or NULL) to the
   observer if so. */
bool tgi_jit_wants_stage(const tgi_jit_options *options, const char *stage);
void tgi_jit_report_stage(const tgi_jit_options *options, const char *stage,
                          const char *text);

#endif /* TGI_COMPILE_H */
