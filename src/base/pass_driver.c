/* SPDX-License-Identifier: MIT */
/*
 * pass_driver.c - see pass_driver.h.
 */
#include "base/pass_driver.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"

tg_status tgi_pass_driver_inspect(const tgi_pass_driver *driver,
                                  const char *stage)
{
    tg_status status = driver->verifies ? driver->verify(driver->user) : TG_OK;
    if (status == TG_ERROR_INTERNAL) {
        tgi_error_copy copy;
        tgi_error_save(&copy);
        return tgi_error_set(status, TGI_NO_SITE, "after %s: %s", stage,
                             copy.message);
    }
    if (status == TG_OK && driver->observe)
        driver->observe(stage, driver->user);
    return status;
}

static tg_status run_pass(const tgi_pass_driver *driver, size_t pass)
{
    const tgi_log *log = driver->log;
    const char *name = driver->pass_name(pass);
    const bool is_timed =
        log && tgi_log_is_enabled(log, TG_LOG_DEBUG, TGI_LOG_PASS);
    const size_t before = is_timed ? driver->size(driver->user) : 0;
    const uint64_t start = is_timed ? tgi_clock_ns() : 0;
    TGI_TRY(driver->run(pass, driver->user));
    if (is_timed) {
        const double ms = 1e-6 * (double)(tgi_clock_ns() - start);
        const size_t after = driver->size(driver->user);
        tgi_log_write(log, TG_LOG_DEBUG, TGI_LOG_PASS,
                      "%s: %s: %zu to %zu %s%s, %.3f ms", driver->name, name,
                      before, after, driver->unit, TGI_PLURAL(after), ms);
    }
    return tgi_pass_driver_inspect(driver, name);
}

tg_status tgi_pass_driver_run(const tgi_pass_driver *driver, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(driver->skip >> i & 1)) {
            TGI_TRY(tgi_cancel_check());
            TGI_TRY(run_pass(driver, i));
        }
    return TG_OK;
}
