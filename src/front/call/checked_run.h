/* SPDX-License-Identifier: MIT */
/*
 * checked_run.h - runs of code that looks for NaNs and infinities
 * (TGJIT_CHECK).
 */
#ifndef TGI_CHECKED_RUN_H
#define TGI_CHECKED_RUN_H

#include "front/call/launch.h"

/*
 * As tgi_runner_run, or tgi_runner_run_profiled with `call`, of the launch's
 * runner, whose code has value checks (pass/value_checks.h). If that run fails,
 * the variables get their previous contents, and the interpreter runs the call
 * from the start, with what prints and host calls have already returned. It
 * finds the operation that makes the value, or completes the call if the value
 * came from the data.
 */
tg_status tgi_checked_run(tgi_launch *launch, tgi_profile_trace *trace,
                          tgi_profile_call *call);

#endif /* TGI_CHECKED_RUN_H */
