/* SPDX-License-Identifier: MIT */
/*
 * pass_driver.h - runs a list of passes; shared by graph passes (pass/pass.h)
 * and loop passes (jit/loop/loop_pass.h). The driver alone times, verifies,
 * shows and skips.
 */
#ifndef TGI_PASS_DRIVER_H
#define TGI_PASS_DRIVER_H

#include "base/log.h"

typedef struct tgi_pass_driver {
    const char *name;   /* of the function, for the log */
    const char *unit;   /* of size: "node" */
    const tgi_log *log; /* NULL: none */
    uint32_t skip;      /* bit i: skip pass i */
    bool verifies;      /* after each pass */
    void *user;         /* for the callbacks */
    const char *(*pass_name)(size_t pass);
    tg_status (*run)(size_t pass, void *user);
    size_t (*size)(void *user);
    tg_status (*verify)(void *user);
    /* Called after each pass; or NULL. */
    void (*observe)(const char *stage, void *user);
} tgi_pass_driver;

/* Verifies and observes the subject of the passes, as after a pass `stage`. */
tg_status tgi_pass_driver_inspect(const tgi_pass_driver *driver,
                                  const char *stage);

/* Runs the n passes that are not skipped, in order, up to the first failure. */
tg_status tgi_pass_driver_run(const tgi_pass_driver *driver, size_t n);

#endif /* TGI_PASS_DRIVER_H */
