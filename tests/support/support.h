/* SPDX-License-Identifier: MIT */
/*
 * support.h - shared by most unit tests: the check that no object is alive,
 * reproducible random numbers, and fault injection.
 */
#ifndef TGI_TEST_SUPPORT_H
#define TGI_TEST_SUPPORT_H

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "support/support_random.h"
#include "tgjit/base.h"
#include "tgjit/context.h"

/* To be called at the end of every test that creates objects. */
#define check_nothing_is_alive() \
    do { \
        cr_assert_eq(tg_compile_wait(NULL), TG_OK); \
        cr_assert_eq(tg_live_objects(), 0, "%zu objects are alive", \
                     tg_live_objects()); \
        cr_assert_eq(tg_live_bytes(), 0, "%zu bytes are alive", \
                     tg_live_bytes()); \
    } while (0)

/* True if the last error is that of a function that takes a source location. */
static inline bool takes_site(void)
{
    static const char *const names[] = {"tg_call", "tg_bind", "tg_run",
                                        "tg_concrete_call",
                                        "tg_function_concrete"};
    const char *function = tg_error_last()->function;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (function && strcmp(function, names[i]) == 0)
            return true;
    return false;
}

/*
 * Runs a scenario once for each of its allocations, which fails, alone and with
 * all later ones. The scenario returns whether it succeeded. If not, the error
 * record must be TG_ERROR_OUT_OF_MEMORY, with the location if known. No object
 * may remain alive in either case.
 */
static inline void check_every_fault(bool (*scenario)(void))
{
    for (int forever = 0; forever <= 1; forever++) {
        for (long nth = 0;; nth++) {
            tg_error_clear();
            tgi_alloc_inject_failure(nth, forever);
            const bool went_well = scenario();
            const bool has_failed = tgi_alloc_inject_failure(-1, 0) > nth;
            check_nothing_is_alive();
            if (!has_failed) {
                cr_assert(went_well, "without a fault: %s", tg_error(NULL));
                break;
            }
            cr_assert(went_well ||
                          tg_error_last()->status == TG_ERROR_OUT_OF_MEMORY,
                      "allocation %ld failed, the record says: %s", nth,
                      tg_error(NULL));
            cr_assert(went_well || tg_error_last()->file || !takes_site(),
                      "allocation %ld failed, no file and line: %s: %s", nth,
                      tg_error_last()->function, tg_error(NULL));
        }
    }
}

#endif /* TGI_TEST_SUPPORT_H */
