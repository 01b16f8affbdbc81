/* SPDX-License-Identifier: MIT */
/*
 * native_object.h - tgi_native, a program with its memory: defined by native.c,
 * timed by native_profile.c.
 */
#ifndef TGI_NATIVE_OBJECT_H
#define TGI_NATIVE_OBJECT_H

#include "base/arena.h"
#include "program.h"
#include "run/pacer.h"
#include "runtime/host_poll.h"
#include "runtime/memory_packing.h"
#include "runtime/unbounded_stack.h"

struct tgi_native {
    tgi_program *program; /* retained */
    tgi_native_options options;
    int64_t *values;       /* of the loops' extents */
    int64_t *graph_values; /* of the graph's extents */
    void **buffers;        /* by buffer: address */
    int64_t *sizes;        /* by buffer: bytes */
    char *memory;          /* temporaries and scratch */
    int64_t bytes, peak_bytes;
    tgi_memory_budget budget; /* all memory in use, and its limit */
    int n_threads;            /* profitable */
    tgi_pacer pacer;          /* fewer of them on a busy machine */

    /* Staging buffers of results that must not be written during the run:
       those that are NULL, overlap a parameter, or may be written by a call
       that then fails. */
    char **staging;    /* by result; NULL: written directly */
    bool *is_staged;   /* by result; scratch of tgi_native_bind */
    bool *may_be_lost; /* by result: a call that fails may have written it */
    int64_t staging_bytes;
    void **results; /* by result: the caller's buffer, or NULL */
    tgi_frame frame;
    tg_status host_status;       /* of the failed host step */
    tgi_host_poller poller;      /* of the run */
    const tgi_cancel_word *cancel_word; /* of the context; never NULL */
    tgi_cancel cancel; /* of the run, if it has a deadline or a host step */
    _Atomic uint32_t cancel_state; /* of the run (native_cancel.h) */
    bool can_end_early; /* it has steps between kernels: else none of these is
                           used, and a run costs nothing more */
    tgi_arena arena;             /* of host_calls and stacks */
    tg_host_buffer **host_calls; /* by host step; NULL: no HOST node */
    struct memo *memos;          /* by memoised parameter */
    int64_t *unchanged;          /* the same for the frame */
    tgi_stack_group *stacks;     /* by loop with unbounded stacks */
    int64_t *capacity;           /* the same for the frame */
    struct tgi_native_profile *profile; /* of profiled runs; NULL before */
};

/* tgi_native_run with another entry, which calls that of the program. */
tg_status tgi_native_run_entry(tgi_native *native, tgi_entry *entry);

#endif /* TGI_NATIVE_OBJECT_H */
