/* SPDX-License-Identifier: MIT */
/*
 * aot.c - what exported functions need of a library beside themselves: a team
 * of threads. With team.c, work_share.c and fpenv.c it is libtgjit-aot, all that
 * programs with such functions link; those without a team link nothing.
 */
#include "codegen/entry_abi.h"
#include "run/team.h"
#include "run/work_share.h"

void TGI_AOT_RUN(tgi_entry *entry, tgi_frame *frame, int32_t n_threads)
{
    frame->share = tgi_work_share;
    tgi_team_run(entry, frame, tgi_team_size(n_threads));
}
