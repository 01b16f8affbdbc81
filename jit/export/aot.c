/* SPDX-License-Identifier: MIT */
/*
 * aot.c - the thread team of exported functions. With team.c, work_share.c and
 * fpenv.c it is libtgjit-aot, the only library such functions need; functions
 * without a team need none.
 */
#include "codegen/entry_abi.h"
#include "run/team.h"
#include "run/work_share.h"

static const _Atomic int64_t never;

void TGI_AOT_RUN(tgi_entry *entry, tgi_frame *frame, int32_t n_threads)
{
    frame->share = tgi_work_share;
    frame->poll = NULL; /* exported functions have no host calls */
    frame->cancel_word = &never; /* … and are not cancelled */
    frame->cancel_seen = 0;
    tgi_team_run(entry, frame, tgi_team_size(n_threads));
}
