/* SPDX-License-Identifier: MIT */
/*
 * aot.c - the thread team of exported functions. With team.c, work_share.c and
 * fpenv.c it is libtgjit-aot, the only library such functions need; functions
 * without a team need none.
 */
#include "codegen/entry_abi.h"
#include "run/team.h"
#include "run/work_share.h"

void TGI_AOT_RUN(tgi_entry *entry, tgi_frame *frame, int32_t n_threads)
{
    frame->share = tgi_work_share;
    frame->poll = NULL; /* exported functions have no host calls */
    tgi_team_run(entry, frame, tgi_team_size(n_threads));
}
