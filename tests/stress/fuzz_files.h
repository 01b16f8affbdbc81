/* SPDX-License-Identifier: MIT */
/* fuzz_files.h - what the files of the program fuzz_files share. */
#ifndef TGI_TEST_FUZZ_FILES_H
#define TGI_TEST_FUZZ_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/support_random.h"
#include "tgjit.h"

enum { AT_END = 2 }; /* for guarded_room */

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* One of 0 … n - 1, or 0. */
static inline size_t below(uint64_t *random, size_t n)
{
    return n ? (size_t)(random_next(random) % n) : 0;
}

/* Says what is wrong; false. */
bool fuzz_fail(const char *what);

/* The last call failed with this status, and says why. */
bool fuzz_has_message(tg_status status);

/* Imports a random struct of DLPack; whether all was right. */
bool fuzz_dlpack(tg_context *ctx, uint64_t *random, bool *out_is_accepted);

#endif /* TGI_TEST_FUZZ_FILES_H */
