/* SPDX-License-Identifier: MIT */
/*
 * native_profile.h - the measurements of a prepared program, made on its first
 * profiled run (tgi_native_run_profiled).
 */
#ifndef TGI_NATIVE_PROFILE_H
#define TGI_NATIVE_PROFILE_H

typedef struct tgi_native_profile tgi_native_profile;

void tgi_native_profile_destroy(tgi_native_profile *profile);

#endif /* TGI_NATIVE_PROFILE_H */
