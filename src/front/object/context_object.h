/* SPDX-License-Identifier: MIT */
/*
 * context_object.h - the definition of tg_context.
 */
#ifndef TGI_CONTEXT_OBJECT_H
#define TGI_CONTEXT_OBJECT_H

#include "base/fork_lock.h"
#include "base/log.h"
#include "base/name_counts.h"
#include "base/refcount.h"
#include "base/vec.h"
#include "front/object/cache_object.h"
#include "runtime/host.h"
#include "tgjit/context.h"

enum { TGI_EXPLAIN_RETRACE = 1, TGI_EXPLAIN_FUSION = 2 };
enum {
    TGI_DUMP_GRAPH = 1,
    TGI_DUMP_PASSES = 2,
    TGI_DUMP_DOT = 4,
    TGI_DUMP_LOOPS = 8,
    TGI_DUMP_LLVM = 16,
    TGI_DUMP_ASM = 32,
    TGI_DUMP_REPRO = 64
};

/* When to compile. */
typedef enum tgi_jit_mode {
    TGI_JIT_AUTO = 1, /* compile, unless the estimate exceeds the budget */
    TGI_JIT_OFF,
    TGI_JIT_REQUIRED /* compile, or fail */
} tgi_jit_mode;

/* How schedules are chosen (tg_context_options). */
enum { TGI_PLAN_ESTIMATE = 1, TGI_PLAN_MEASURE = 2 };

struct tg_context {
    tgi_refcount refs;    /* objects of the context, and all handles as one */
    tgi_refcount handles; /* references that the program holds */
    uint64_t id;          /* unique in the process; never 0 */
    uint64_t seed;        /* of initial values without a seed of their own */
    tgi_log log;
    tgi_cancel_word cancel_word; /* advanced by tg_cancel */
    tgi_host host;
    uint64_t memory_limit; /* UINT64_MAX: none */
    uint32_t skip_passes, skip_loop_passes; /* bits: pass.h, loop_pass.h */
    unsigned explain;
    unsigned dump;
    char *dump_dir;
    char *inspect_dir; /* of pages (TGJIT_INSPECT), or NULL */
    bool no_contraction;
    bool is_fast;           /* the accuracy of functions that do not choose */
    bool verifies;          /* verify graphs and loops after each pass, and the
                               schedules and IR of compiled code */
    uint64_t schedule_seed; /* of random schedules, for tests; 0: none */
    unsigned plan;          /* TGI_PLAN_… of functions that do not choose */
    uint64_t plan_budget_ns;
    bool is_calibrated;     /* estimates use the calibration, if there is one */
    bool has_default_grain; /* nobody has chosen `grain` */
    unsigned checks;        /* TGI_CHECK_… (interp.h) */
    unsigned jit;           /* tgi_jit_mode */
    bool is_eager;          /* calls wait for their compile */
    const char *cpu;        /* NULL: the host */
    unsigned vector_bits;   /* 0: chosen for the CPU */
    bool instruments;       /* instrument compiled code for AddressSanitizer */
    int threads;            /* 0: one per CPU */
    int64_t grain;          /* picoseconds */
    tgi_context_cache cache;
    atomic_bool has_warned_no_jit;
    atomic_uint n_traces; /* begun so far: their numbers */

    tgi_fork_lock lock; /* guards all below, and opening the disk cache */
    /* Of all variables only those that tg_get_variable creates (is_shared) are
       retained. The list is in the order of creation. */
    TGI_VEC(tg_variable *) variables;
    tgi_name_counts default_scopes; /* opened outside of all scopes */
    bool is_closed;                 /* no handle is left */
    bool has_read_calibration;
    tgi_calibration calibration; /* all 0: none */
};

/* The values of tg_accuracy_level. */
extern const tgi_keyword tgi_accuracy_keywords[];
/* Of plans; the bits are TGI_PLAN_…. */
extern const tgi_keyword tgi_plan_keywords[];

/* A reference held by an object of the library. It keeps the context alive,
   but not the variables that the context owns. */
tg_context *tgi_context_ref(tg_context *ctx);
void tgi_context_unref(tg_context *ctx);

/* The calibration of this machine that the context uses: that of its disk
   cache, read on the first call, or of its last tg_calibrate; all 0 without
   one. */
tgi_calibration tgi_context_calibration(tg_context *ctx);

/* Work, in picoseconds, that justifies one more thread. */
int64_t tgi_context_grain(tg_context *ctx);

/* Fails with TG_ERROR_OUT_OF_MEMORY at `site` if `bytes` bytes, for `what` of
   `who`, exceed the memory limit of the context. */
tg_status tgi_context_check_memory(const tg_context *ctx, uint64_t bytes,
                                   const char *who, const char *what,
                                   tg_site site);

#endif /* TGI_CONTEXT_OBJECT_H */
