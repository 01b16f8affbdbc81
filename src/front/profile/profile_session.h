/* SPDX-License-Identifier: MIT */
/*
 * profile_session.h - profiles that a context's settings ask for. They last
 * until the process exits, and are written then.
 */
#ifndef TGI_PROFILE_SESSION_H
#define TGI_PROFILE_SESSION_H

#include "tgjit/base.h"

/*
 * Begins a profile whose report goes to `target`: "table" or "json" (stderr),
 * or a file, which is created now; as JSON if its name ends with ".json". The
 * first target of the process stays. FILE if it cannot be created.
 */
tg_status tgi_profile_session_begin(const char *target);

/* Begins a timeline. The first file of the process stays. */
tg_status tgi_timeline_session_begin(const char *path);

#endif /* TGI_PROFILE_SESSION_H */
