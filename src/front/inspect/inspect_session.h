/* SPDX-License-Identifier: MIT */
/*
 * inspect_session.h - the pages of TGJIT_INSPECT. A page is written when its
 * code is ready, so that a program that crashes leaves it behind, and again
 * with the profile: when its trace ends, or at exit.
 */
#ifndef TGI_INSPECT_SESSION_H
#define TGI_INSPECT_SESSION_H

#include "front/inspect/inspection.h"

typedef struct tgi_inspect_page tgi_inspect_page;

/*
 * Writes the page to dir/FUNCTION_NUMBER.html, where `number` is that of the
 * trace, and adds it to the list of its trace, at first NULL. Further
 * pages of a list, and those of other contexts than the first, have longer
 * names. Takes over `inspection`, also on failure. Thread-safe.
 */
tg_status tgi_inspect_add_page(tgi_inspect_page **list, const char *dir,
                               uint64_t context, unsigned number,
                               tgi_inspection *inspection);

/* Writes the pages of a list again if they have a profile, and frees them. */
void tgi_inspect_close_pages(tgi_inspect_page *list);

#endif /* TGI_INSPECT_SESSION_H */
