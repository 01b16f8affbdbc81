/* SPDX-License-Identifier: MIT */
/*
 * instrument.h - for tests that run a lot of compiled code: in a build with
 * AddressSanitizer, that code is instrumented too.
 */
#ifndef TGI_TEST_INSTRUMENT_H
#define TGI_TEST_INSTRUMENT_H

#include <stdlib.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define UNDER_ADDRESS_SANITIZER
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define UNDER_ADDRESS_SANITIZER
#endif

/* Later contexts instrument compiled code, unless the environment has a
   setting. */
static inline void instrument_compiled_code(void)
{
#ifdef UNDER_ADDRESS_SANITIZER
    setenv("TGJIT_INSTRUMENT", "address", 0);
#endif
}

#endif /* TGI_TEST_INSTRUMENT_H */
